"""Documents of what is written in C, which has no source to parse.

Only modules are imported that every process has loaded, or can load without side
effects and without a warning.
"""

from __future__ import annotations

import importlib
import re
import types
from collections.abc import Iterator
from dataclasses import replace

from sklearn_ltr.datasets._python_docs._document import Document, split_docstring

C_MODULES = (
    "array binascii builtins bz2 cmath collections datetime decimal errno fcntl "
    "functools gc hashlib io itertools lzma marshal math mmap operator os pickle "
    "random re select signal socket sqlite3 ssl struct sys threading time types "
    "unicodedata weakref zlib"
).split()

# Notebooks and test runners put functions of their own here.
OFTEN_REPLACED = frozenset(
    "breakpointhook displayhook excepthook input open print unraisablehook".split()
)
PUBLIC_HOMES = {"posix": "os", "nt": "os", "_thread": "threading"}
C_METHODS = (
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.BuiltinFunctionType,
)


def documents_in_c() -> Iterator[Document]:
    """Yield what the listed modules offer that is written in C."""
    for module in C_MODULES:
        try:
            offered = importlib.import_module(module)
        except ImportError:  # not on this platform, or not built
            continue
        for name, thing in sorted(vars(offered).items()):
            if name.startswith("_") or name in OFTEN_REPLACED:
                continue
            if _public_home(thing) != module:
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
    if isinstance(docstring, str) and docstring:
        summary, rest = split_docstring(docstring)
        signature = getattr(thing, "__text_signature__", None) or ""
        found = re.findall(r"[a-z_]\w*(?=[,=)])", signature)
        arguments = tuple(arg for arg in found if arg not in ("self", "type"))
        yield Document(name, module, owner, kind, True, arguments, (), summary, rest)
