"""The documents: what the standard library documents, read from where it is installed.

Everything is visited in sorted order: the same Python gives the same documents in the
same order.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sklearn_ltr.datasets._python_docs._document import Document
from sklearn_ltr.datasets._python_docs._in_c import documents_in_c
from sklearn_ltr.datasets._python_docs._in_source import documents_in_source

# Tests, applications, codecs (a hundred modules alike) and data: nobody searches for
# them, and they cost time.
SKIPPED = frozenset(
    "encodings ensurepip idlelib lib2to3 pydoc_data test tests turtledemo".split()
)
# Pure Python twins of modules in C (_pydecimal) would document everything twice.
TWIN_PREFIX = "_py"


@dataclass(frozen=True)
class Corpus:
    """All documents, and the docstring of each module that has one."""

    documents: list[Document]
    module_texts: dict[str, str]


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
        for document in documents_in_source(tree.body, module, owner=""):
            documents.setdefault(document.name, document)
    if not documents:
        raise FileNotFoundError(
            f"No sources of the standard library in {str(library)!r}. Python's "
            "documentation is read from them: use a Python that has its .py files."
        )
    if with_c:
        for document in documents_in_c():
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
