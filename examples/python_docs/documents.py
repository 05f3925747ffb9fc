"""The documents: functions, methods and classes of the installed standard library.

Source files are parsed, never imported, and visited in sorted order: the same Python
gives the same documents in the same order.
"""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Tests, applications, codecs (a hundred similar modules) and data.
SKIPPED = frozenset(
    "encodings ensurepip idlelib lib2to3 pydoc_data test tests turtledemo".split()
)
# Python versions of modules written in C, like _pydecimal, document the same twice.
DUPLICATE_PREFIX = "_py"
SENTENCE = re.compile(r".*?[.!?](?=\s|$)")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Document:
    """One documented function, method or class.

    ``summary`` is the first sentence of the docstring. It appears in no other field,
    because queries are made of summaries and the other fields are what is searched.
    """

    name: str  # qualified: "json.decoder.JSONDecoder.decode"
    module: str  # "json.decoder"
    owner: str  # qualified name of the enclosing class, or ""
    kind: str  # "function", "method" or "class"
    arguments: tuple[str, ...]
    identifiers: tuple[str, ...]  # in the body; of a class, names of its members
    summary: str
    rest: str  # the docstring without its summary
    module_text: str  # docstring of the module

    @property
    def short_name(self) -> str:
        """Last part of the name."""
        return self.name.rpartition(".")[2]

    @property
    def class_name(self) -> str:
        """The class this is, or belongs to; a function counts as its own class."""
        return self.owner or self.name

    @property
    def is_dunder(self) -> bool:
        """Whether the short name is like ``__init__``."""
        return self.short_name.startswith("__") and self.short_name.endswith("__")

    @property
    def is_private(self) -> bool:
        """Whether a part of the name starts with an underscore, except dunders."""
        parts = self.name.split(".")
        return any(p.startswith("_") and not p.endswith("__") for p in parts)


def read_documents(
    library: Path | None = None, modules: Iterable[str] = sys.stdlib_module_names
) -> list[Document]:
    """Read all documents of modules in a folder, by default the standard library.

    Raises
    ------
    FileNotFoundError
        The folder has no source file of a documented module.
    """
    library = library or Path(sysconfig.get_path("stdlib"))
    documents: dict[str, Document] = {}
    for path, module in _source_files(library, modules):
        tree = ast.parse(path.read_bytes())
        text = ast.get_docstring(tree) or ""
        for document in _documents_in(tree.body, module, "", text):
            documents.setdefault(document.name, document)
    if not documents:
        raise FileNotFoundError(
            f"No sources of these modules in {str(library)!r}. "
            "Use a Python that is installed with its .py files."
        )
    return list(documents.values())


def _source_files(library: Path, modules: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Yield the path and the name of each module of the standard library."""
    for top in sorted(modules):
        if top in SKIPPED or top.startswith(DUPLICATE_PREFIX):
            continue
        for path in [library / f"{top}.py", *sorted((library / top).rglob("*.py"))]:
            parts = path.relative_to(library).with_suffix("").parts
            if path.is_file() and SKIPPED.isdisjoint(parts):
                yield path, ".".join(part for part in parts if part != "__init__")


def _documents_in(
    body: list[ast.stmt], module: str, owner: str, module_text: str
) -> Iterator[Document]:
    """Yield what a module or class body defines, also inside ``if`` and ``try``."""
    for node in body:
        if isinstance(node, Definition):
            name = f"{owner or module}.{node.name}"
            docstring = ast.get_docstring(node)
            if docstring:
                yield _document(node, docstring, name, module, owner, module_text)
            if isinstance(node, ast.ClassDef):
                yield from _documents_in(node.body, module, name, module_text)
        elif isinstance(node, ast.If | ast.Try):
            inner = [*node.body, *node.orelse]
            yield from _documents_in(inner, module, owner, module_text)


def _document(
    node: Definition,
    docstring: str,
    name: str,
    module: str,
    owner: str,
    module_text: str,
) -> Document:
    arguments: tuple[str, ...] = ()
    if isinstance(node, ast.ClassDef):
        kind = "class"
        found = [child.name for child in node.body if isinstance(child, Definition)]
    else:
        kind = "method" if owner else "function"
        a = node.args
        names = [arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
        arguments = tuple(arg for arg in names if arg not in ("self", "cls"))
        found = [
            child.id if isinstance(child, ast.Name) else child.attr
            for child in ast.walk(node)
            if isinstance(child, ast.Name | ast.Attribute)
        ]
    summary, rest = split_docstring(docstring)
    return Document(
        name=name,
        module=module,
        owner=owner,
        kind=kind,
        arguments=arguments,
        identifiers=tuple(found),
        summary=summary,
        rest=rest,
        module_text=module_text,
    )


def split_docstring(docstring: str) -> tuple[str, str]:
    """Return the first sentence of a docstring, and the rest."""
    first, _, more = docstring.strip().partition("\n\n")
    paragraph = " ".join(first.split())
    sentence = SENTENCE.match(paragraph)
    summary = sentence.group() if sentence else paragraph
    return summary, f"{paragraph[len(summary) :]}\n{more}".strip()
