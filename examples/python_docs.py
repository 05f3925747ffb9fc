"""Search data made on this machine: the documentation of the installed Python.

The examples learn from these data.  To use them elsewhere, copy this file.
"""

from __future__ import annotations

import ast
import platform
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import Bunch

if TYPE_CHECKING:
    from sqlite3 import Connection

SOURCE_GRADE = 3
MAX_QUERIES = 2000

# Documents

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
    """A function, method or class and its docstring."""

    name: str  # qualified: "json.decoder.JSONDecoder.decode"
    module: str  # "json.decoder"
    owner: str  # qualified name of the enclosing class, or ""
    kind: str  # "function", "method" or "class"
    arguments: tuple[str, ...]
    identifiers: tuple[str, ...]  # used in the body; of a class, its members
    summary: str  # first sentence of the docstring
    rest: str  # the docstring without it

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]

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
    """Read the documents of modules in a folder, by default the standard library.

    Sources are parsed, never imported, in sorted order.
    """
    library = library or Path(sysconfig.get_path("stdlib"))
    documents: dict[str, Document] = {}
    for top in sorted(modules):
        if top in SKIPPED or top.startswith(DUPLICATE_PREFIX):
            continue
        for path in [library / f"{top}.py", *sorted((library / top).rglob("*.py"))]:
            parts = path.relative_to(library).with_suffix("").parts
            if path.is_file() and SKIPPED.isdisjoint(parts):
                module = ".".join(part for part in parts if part != "__init__")
                for document in documents_in(ast.parse(path.read_bytes()).body, module):
                    documents.setdefault(document.name, document)
    if not documents:
        raise FileNotFoundError(
            f"No sources of these modules in {str(library)!r}: use a Python that is "
            "installed with its .py files"
        )
    return list(documents.values())


def documents_in(
    body: list[ast.stmt], module: str, owner: str = ""
) -> Iterator[Document]:
    """Yield what a module or class body defines, also inside ``if`` and ``try``."""
    for node in body:
        if isinstance(node, Definition):
            name = f"{owner or module}.{node.name}"
            if docstring := ast.get_docstring(node):
                yield make_document(node, docstring, name, module, owner)
            if isinstance(node, ast.ClassDef):
                yield from documents_in(node.body, module, name)
        elif isinstance(node, ast.If | ast.Try):
            yield from documents_in([*node.body, *node.orelse], module, owner)


def make_document(
    node: Definition, docstring: str, name: str, module: str, owner: str
) -> Document:
    if isinstance(node, ast.ClassDef):
        kind, arguments = "class", []
        found = [child.name for child in node.body if isinstance(child, Definition)]
    else:
        kind = "method" if owner else "function"
        a = node.args
        names = [arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
        arguments = [arg for arg in names if arg not in ("self", "cls")]
        found = [
            child.id if isinstance(child, ast.Name) else child.attr
            for child in ast.walk(node)
            if isinstance(child, ast.Name | ast.Attribute)
        ]
    first, _, more = docstring.strip().partition("\n\n")
    paragraph = " ".join(first.split())
    sentence = SENTENCE.match(paragraph)
    summary = sentence.group() if sentence else paragraph
    rest = f"{paragraph[len(summary) :]}\n{more}".strip()
    return Document(
        name, module, owner, kind, tuple(arguments), tuple(found), summary, rest
    )


# Queries and grades

STARTS_AS_PROSE = re.compile(r"[A-Za-z][\w'-]*\s")  # no call, no doctest
MIN_WORDS, MAX_WORDS, MAX_SAME_SUMMARY = 4, 25, 3


def query_sources(documents: list[Document]) -> np.ndarray:
    """Return the documents whose summaries make queries, in a fixed random order.

    A query has 4 to 25 words, and at most three documents share it; the first of them
    is the source.
    """
    summaries = [same_summary(document) for document in documents]
    n_sharing = Counter(summaries)
    first = {summary: i for i, summary in reversed(list(enumerate(summaries)))}
    sources = [
        i
        for i, document in enumerate(documents)
        if first[summaries[i]] == i
        and n_sharing[summaries[i]] <= MAX_SAME_SUMMARY
        and STARTS_AS_PROSE.match(document.summary)
        and len(document.summary.split()) <= MAX_WORDS
        and len(query_words(document.summary)) >= MIN_WORDS
    ]
    return np.random.default_rng(0).permutation(np.array(sources))


def grade(source: Document, candidate: Document) -> int:
    """Grade a candidate by its relation to the source of the query."""
    if same_summary(candidate) == same_summary(source):
        return SOURCE_GRADE
    if class_of(candidate) == class_of(source):
        return 2
    return int(candidate.module == source.module)


def same_summary(document: Document) -> str:
    """Return the first sentence without punctuation and case."""
    return " ".join(re.findall(r"\w+", document.summary.lower()))


def class_of(document: Document) -> str:
    """Return the class this is, or belongs to; a function is its own class."""
    return document.owner or document.name


# The index and the features

COLUMNS = ("name", "class", "module", "arguments", "docstring", "code")
# How much a match in each column counts: twice in the name
WEIGHTS = (2, 1, 1, 1, 1, 1)
CASE_CHANGES = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
STOP_WORDS = frozenset(
    "a an and are as at be by for from if in into is it its not of on or that the "
    "this to when which with".split()
)


def split_words(text: str) -> list[str]:
    """Return words in lower case: ``BaseHTTPServer`` is base, http, server."""
    return re.findall(r"[^\W_]+", CASE_CHANGES.sub(" ", text).lower())


def query_words(query: str) -> list[str]:
    """Return the different words of a query, without stop words."""
    return [
        word for word in dict.fromkeys(split_words(query)) if word not in STOP_WORDS
    ]


def build_index(documents: list[Document]) -> Connection:
    """Return a database in memory: its table ``docs`` is the index of the documents."""
    import sqlite3  # which not every Python has

    index = sqlite3.connect(":memory:")
    try:
        index.execute(
            f"CREATE VIRTUAL TABLE docs USING fts5({', '.join(COLUMNS)}, "
            "tokenize = 'porter')"
        )
    except sqlite3.OperationalError as error:
        raise RuntimeError(
            f"SQLite {sqlite3.sqlite_version} of this Python has no full-text index "
            f"FTS5 ({error}): use the Python of python.org, conda-forge, Debian, "
            "Fedora or Homebrew"
        ) from error
    rows = [
        (d.short_name, d.owner.removeprefix(d.module), d.module)
        + (" ".join(d.arguments), d.rest, " ".join(d.identifiers))
        for d in documents
    ]
    values = ", ".join("?" * (1 + len(COLUMNS)))
    index.executemany(
        f"INSERT INTO docs(rowid, {', '.join(COLUMNS)}) VALUES ({values})",
        [
            (number, *(" ".join(split_words(text)) for text in row))
            for number, row in enumerate(rows)
        ],
    )
    return index


def find(index: Connection, query: str, n_candidates: int) -> np.ndarray:
    """Return the candidates of a query.

    Returns
    -------
    (n_found, 8) float64
        The number of each document, its BM25, and its BM25 in each column alone; by
        number, so that the order tells nothing.
    """
    # FTS5's own function gives weights to columns; lower is better.
    in_columns = [
        f"-bm25(docs, {', '.join('1' if c == column else '0' for c in COLUMNS)})"
        for column in COLUMNS
    ]
    found = index.execute(
        f"SELECT rowid, -rank, {', '.join(in_columns)} FROM docs "
        f"WHERE docs MATCH ? AND rank MATCH 'bm25{WEIGHTS}' ORDER BY rank LIMIT ?",
        (" OR ".join(f'"{word}"' for word in query_words(query)), n_candidates),
    )
    return np.array(sorted(found), dtype=np.float64).reshape(-1, 2 + len(COLUMNS))


def describe(
    documents: list[Document], query: str, found: np.ndarray
) -> list[dict[str, float]]:
    """Return the features of a query and each of its candidates, by name."""
    words = set(query_words(query))
    candidates = [documents[int(number)] for number in found[:, 0]]
    bm25 = found[:, 1]
    # Related documents are often found together.
    of_module, of_class = Counter[str](), Counter[str]()
    for d, share in zip(candidates, bm25 / bm25.sum(), strict=True):
        of_module[d.module] += share
        of_class[class_of(d)] += share
    features = []
    for d, values in zip(candidates, found, strict=True):
        name = split_words(d.short_name)
        matched = {f"bm25_{c}": x for c, x in zip(COLUMNS, values[2:], strict=True)}
        features.append(
            {
                "bm25": values[1],
                **matched,
                "bm25_to_best": values[1] / bm25.max(),
                "module_share": of_module[d.module],
                "class_share": of_class[class_of(d)],
                "name_in_query": len(words & set(name)) / max(1, len(name)),
                "query_length": len(words),
                "name_length": len(name),
                "docstring_length": len(d.rest.split()),
                "code_length": len(d.identifiers),
                "n_arguments": len(d.arguments),
                "is_method": d.kind == "method",
                "is_class": d.kind == "class",
                "is_private": d.is_private,
                "is_dunder": d.is_dunder,
            }
        )
    return features


def load_python_docs(*, n_candidates: int = 50) -> Bunch:
    """Make search data from the documentation of the Python that runs this.

    Real text, without a download, in some seconds.  Documents
    are the functions, methods and classes of the standard library that have a
    docstring, about 7,000.  A query is the first sentence of one of the docstrings, its
    source; these sentences are not searched.  The full-text index FTS5 of SQLite, which
    comes with Python, finds up to `n_candidates` documents for each query, those with
    the highest BM25.  A candidate has grade

    - 3 if its first sentence is the query: the source, and others with that sentence;
    - 2 if it is of the same class: a method and its class, or two methods of a class;
    - 1 if it is in the same module;
    - 0 otherwise.

    Features are computed from a query and its candidates, never from the source or a
    grade.  The data depend on the versions of Python and SQLite, and on nothing else.

    Parameters
    ----------
    n_candidates : int, default=50
        Largest number of documents of a query.  Queries whose source is not among them
        are dropped, so all lists contain the source.

    Returns
    -------
    Bunch
        ``data`` : (n_rows, n_features) float32;
        ``target`` : (n_rows,) int64, the grades, 0 to 3;
        ``groups`` : (n_rows,) int64, the index of each row's query in ``queries``;
        ``feature_names``, ``queries`` : lists of str; there are up to 2,000 queries;
        ``documents`` : (n_rows,) object, the qualified name of each row's document;
        ``recall`` : float, the share of the queries that were kept;
        ``DESCR`` : str.

    Raises
    ------
    RuntimeError
        If SQLite has no full-text index.
    FileNotFoundError
        If this Python is installed without the sources of its library.
    """
    return make_data(read_documents(), MAX_QUERIES, n_candidates)


def make_data(documents: list[Document], max_queries: int, n_candidates: int) -> Bunch:
    """Make the data of `load_python_docs` from documents."""
    rows: list[dict[str, float]] = []
    grades: list[int] = []
    names: list[str] = []
    groups: list[int] = []
    queries: list[str] = []
    n_tried = 0
    with closing(build_index(documents)) as index:
        for source in query_sources(documents):
            if len(queries) == max_queries:
                break
            n_tried += 1
            query = documents[source].summary
            found = find(index, query, n_candidates)
            if source not in found[:, 0]:
                continue
            candidates = [documents[int(number)] for number in found[:, 0]]
            rows += describe(documents, query, found)
            grades += [grade(documents[source], candidate) for candidate in candidates]
            names += [candidate.name for candidate in candidates]
            groups += [len(queries)] * len(candidates)
            queries.append(query)
    recall = len(queries) / n_tried
    feature_names = list(rows[0])
    return Bunch(
        data=np.array([list(row.values()) for row in rows], dtype=np.float32),
        target=np.array(grades),
        groups=np.array(groups),
        feature_names=feature_names,
        queries=queries,
        documents=np.array(names, dtype=object),
        recall=recall,
        DESCR=(
            f"Documentation of Python {platform.python_version()}: {len(documents)} "
            f"documents, {len(queries)} queries with\nup to {n_candidates} candidates, "
            f"found by BM25 of SQLite; {len(feature_names)} "
            f"features, grades 0 to 3.\nThe source of {recall:.0%} of the queries is "
            "among the candidates; the others are left out."
        ),
    )
