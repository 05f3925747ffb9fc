"""The documents: what the standard library documents, read from where it is installed.

Python modules are parsed, never imported.  Of the modules written in C, a fixed list
that every process has loaded, or can load without side effects, is looked at with
:mod:`inspect`.  Everything is visited in sorted order: the same Python gives the same
documents in the same order.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import sysconfig
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

# Tests, applications, codecs (a hundred modules alike) and data: nobody searches for
# them, and they cost time.
SKIPPED = frozenset(
    "encodings ensurepip idlelib lib2to3 pydoc_data test tests turtledemo".split()
)
# Pure Python twins of modules in C (_pydecimal) would document everything twice.
TWIN_PREFIX = "_py"

C_MODULES = (
    "array binascii builtins bz2 cmath collections datetime decimal errno fcntl "
    "functools gc hashlib io itertools lzma marshal math mmap operator os pickle "
    "random re select signal socket sqlite3 ssl struct sys threading time types "
    "unicodedata weakref zlib"
).split()

PUBLIC_HOMES = {"posix": "os", "nt": "os", "_thread": "threading"}
C_METHODS = (
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.BuiltinFunctionType,
)

SIGNATURE_LINE = re.compile(r"[\w.]+\(.*\)(\s*->\s*[\w.]+)?")
SENTENCE = re.compile(r".*?[.!?](?=\s|$)")


@dataclass(frozen=True)
class Document:
    """One documented function, method or class.

    ``summary`` is the first sentence of the docstring and appears in no other field:
    what a query is made of must not be what is searched.
    """

    name: str  # qualified: "json.decoder.JSONDecoder.decode"
    module: str  # "json.decoder"
    owner: str  # qualified name of the class it stands in, or ""
    kind: str  # "function", "method" or "class"
    in_c: bool
    arguments: tuple[str, ...]
    mentions: tuple[str, ...]  # identifiers in its code; of a class, its members
    summary: str
    rest: str  # the docstring without its summary

    @property
    def own_name(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]

    @property
    def is_dunder(self) -> bool:
        """Whether the last part of the name is like ``__init__``."""
        return self.own_name.startswith("__") and self.own_name.endswith("__")

    @property
    def is_private(self) -> bool:
        """Whether a part of the name begins with an underscore, dunders aside."""
        parts = self.name.split(".")
        return any(p.startswith("_") and not p.endswith("__") for p in parts)


@dataclass(frozen=True)
class Corpus:
    """All documents, and the docstring of each module that has one."""

    documents: list[Document]
    module_texts: dict[str, str]


def split_docstring(docstring: str) -> tuple[str, str]:
    """Return the first sentence, and the rest, of a docstring.

    Functions in C may begin with lines like ``max(a, b) -> value``: they belong to
    the rest.
    """
    lines = inspect.cleandoc(docstring).splitlines()
    start = 0
    while start < len(lines) and (
        not lines[start].strip() or SIGNATURE_LINE.fullmatch(lines[start].strip())
    ):
        start += 1
    stop = start
    while stop < len(lines) and lines[stop].strip():
        stop += 1
    paragraph = " ".join(line.strip() for line in lines[start:stop])
    sentence = SENTENCE.match(paragraph)
    summary = sentence.group() if sentence else paragraph
    rest = [*lines[:start], paragraph[len(summary) :], *lines[stop:]]
    return summary, "\n".join(rest).strip()


def read_corpus(library: Path | None = None, *, with_c: bool = True) -> Corpus:
    """Read the documents of a folder of modules, by default the standard library.

    Raises
    ------
    FileNotFoundError
        The folder holds no source of a documented module of the standard library.
    """
    library = library or Path(sysconfig.get_path("stdlib"))
    documents: dict[str, Document] = {}
    module_texts: dict[str, str] = {}
    for path, module in _modules(library):
        tree = ast.parse(path.read_bytes())
        module_texts[module] = ast.get_docstring(tree) or ""
        for document in _in_source(tree.body, module, owner=""):
            documents.setdefault(document.name, document)
    if not documents:
        raise FileNotFoundError(
            f"No sources of the standard library in {str(library)!r}. Python's "
            "documentation is read from them: use a Python that has its .py files."
        )
    if with_c:
        for document in _in_c_modules():
            documents.setdefault(document.name, document)
    return Corpus(list(documents.values()), module_texts)


def _modules(library: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of the standard library's modules, in order, and their names."""
    for top in sorted(sys.stdlib_module_names):
        if top in SKIPPED or top.startswith(TWIN_PREFIX):
            continue
        for path in [library / f"{top}.py", *sorted((library / top).rglob("*.py"))]:
            parts = path.relative_to(library).with_suffix("").parts
            if path.is_file() and SKIPPED.isdisjoint(parts):
                yield path, ".".join(part for part in parts if part != "__init__")


def _in_source(body: list[ast.stmt], module: str, owner: str) -> Iterator[Document]:
    """Yield what a module or class defines, also under ``if`` and ``try``."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{owner or module}.{node.name}"
            docstring = ast.get_docstring(node)
            if docstring:
                yield _from_node(node, docstring, name, module, owner)
            if isinstance(node, ast.ClassDef):
                yield from _in_source(node.body, module, owner=name)
        elif isinstance(node, ast.If | ast.Try):
            yield from _in_source([*node.body, *node.orelse], module, owner)


def _from_node(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    docstring: str,
    name: str,
    module: str,
    owner: str,
) -> Document:
    summary, rest = split_docstring(docstring)
    if isinstance(node, ast.ClassDef):
        kind, mentions = "class", _members(node)
        arguments: tuple[str, ...] = ()
    else:
        kind, mentions = "method" if owner else "function", _identifiers(node)
        arguments = _arguments(node.args)
    return Document(
        name, module, owner, kind, False, arguments, mentions, summary, rest
    )


def _arguments(given: ast.arguments) -> tuple[str, ...]:
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return tuple(arg.arg for arg in named if arg.arg not in ("self", "cls"))


def _members(node: ast.ClassDef) -> tuple[str, ...]:
    return tuple(
        child.name
        for child in node.body
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )


def _identifiers(node: ast.AST) -> tuple[str, ...]:
    names = []
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            names.append(child.id)
        elif isinstance(child, ast.Attribute):
            names.append(child.attr)
    return tuple(names)


def _in_c_modules() -> Iterator[Document]:
    """Yield what the listed modules offer that is written in C."""
    for module in C_MODULES:
        try:
            offered = importlib.import_module(module)
        except ImportError:  # not on this platform, or not built
            continue
        for name, thing in sorted(vars(offered).items()):
            if name.startswith("_") or _public_home(thing) != module:
                continue
            if isinstance(thing, types.BuiltinFunctionType):
                yield from _from_c(thing, f"{module}.{name}", module, "", "function")
            elif isinstance(thing, type) and thing.__name__ == name:
                yield from _class_from_c(thing, module)


def _public_home(thing: object) -> str:
    """Return the module in which a user finds a function or class of C."""
    home = getattr(thing, "__module__", None) or ""
    return PUBLIC_HOMES.get(home, home.removeprefix("_"))


def _class_from_c(thing: type, module: str) -> Iterator[Document]:
    """Yield a class and its methods, less the dunders: C fills in generic texts."""
    name = f"{module}.{thing.__name__}"
    methods = {
        member: value
        for member, value in sorted(vars(thing).items())
        if isinstance(value, C_METHODS) and not member.startswith("__")
    }
    for document in _from_c(thing, name, module, "", "class"):
        yield replace(document, mentions=tuple(methods))
    for member, value in methods.items():
        yield from _from_c(value, f"{name}.{member}", module, name, "method")


def _from_c(
    thing: object, name: str, module: str, owner: str, kind: str
) -> Iterator[Document]:
    """Yield the document of one C object, if it has a docstring."""
    docstring = getattr(thing, "__doc__", None)
    summary, rest = split_docstring(docstring if isinstance(docstring, str) else "")
    if summary:
        signature = getattr(thing, "__text_signature__", None) or ""
        found = re.findall(r"[a-z_]\w*(?=[,=)])", signature)
        arguments = tuple(arg for arg in found if arg not in ("self", "type"))
        yield Document(name, module, owner, kind, True, arguments, (), summary, rest)
