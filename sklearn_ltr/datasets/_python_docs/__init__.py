"""Search data made on the user's machine from Python's own documentation.

The files follow the data: a document (``_document``), those of the library
(``_corpus``, from ``_in_source`` and ``_in_c``), their words (``_text``), classic
scores (``_scoring``), the search engine's view (``_index``), what it computes for a
query and a document (``_features``), and how good each document is (``_grading``).
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from numbers import Integral
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch, check_scalar

from sklearn_ltr.datasets._python_docs._corpus import Corpus, read_corpus
from sklearn_ltr.datasets._python_docs._features import compute_features
from sklearn_ltr.datasets._python_docs._grading import askable, grade
from sklearn_ltr.datasets._python_docs._index import Index

# Part of the cache's key: raise it whenever the same Python would give other data.
BUILDER = 1

Arrays = dict[str, NDArray[Any]]


def load_python_docs(
    *,
    max_queries: int = 2000,
    n_candidates: int = 50,
    data_home: str | os.PathLike[str] | None = None,
    cache: bool = True,
) -> Bunch:
    """Make search data from the documentation of Python's standard library.

    **Documents** are the functions, methods and classes that have a docstring, about
    8,000, read from the installed sources (parsed, not imported) and from the modules
    written in C.  A **query** is the summary of one of them, the first sentence of its
    docstring: "Return the largest item in an iterable."  The summaries, all of them,
    are then taken out: a document is searched by its name, its arguments and the rest
    of its docstring, so that no query finds its document by repeating it.  (Where the
    library itself says a thing twice, say in a module's docstring, it may be found.)

    **Candidates** are the `n_candidates` documents with the highest BM25.  A query is
    kept if the document it was taken from, the *very item*, is one of them; the share
    that is kept (about two thirds) is ``recall``.  Every number measured on these
    data is therefore about re-ranking lists that hold the answer.

    **Grades** follow from where a candidate stands:

    * 4: the very item, and documents with the same summary, word for word;
    * 3: a method of the same name in another class of the same module;
    * 2: of the same class (a method and its class, two methods of one class);
    * 1: of the same module;
    * 0: anything else.

    **Features** are what a search engine knows of the words of a query and of a
    document: BM25, TF-IDF cosine and language-model scores by field (name, path,
    arguments, rest of the docstring, identifiers in the code, docstrings of the class
    and of the module), overlaps, how the candidate compares with the others of the
    query, lengths and kinds.  None is computed from the very item or a grade.

    The result depends on the version of Python, its build and platform, and on nothing
    else.  The first call takes some seconds; later ones read a file.

    Parameters
    ----------
    max_queries : int, default=2000
        At most so many queries, in an order given by a checksum of names.
    n_candidates : int, default=50
        Documents per query, at least 2.
    data_home : str or path-like, default=None
        Folder of the cache; by default scikit-learn's, see
        :func:`sklearn.datasets.get_data_home`.
    cache : bool, default=True
        Whether to read the result from the cache, and write it there.

    Returns
    -------
    Bunch
        ``data`` : (n_rows, n_features) float32;
        ``target`` : (n_rows,) int64, the grades 0 to 4;
        ``groups`` : (n_rows,) int64, the position of each row's query in ``queries``;
        ``feature_names`` : list of str;
        ``queries`` : list of str;
        ``documents`` : (n_rows,) object, the qualified name of each row's document;
        ``summaries`` : (n_rows,) object, its summary, for a reader (no feature);
        ``recall`` : float, the share of the queries tried that were kept;
        ``DESCR`` : str.

    Raises
    ------
    FileNotFoundError
        Python is installed without the sources of its standard library.
    ValueError, TypeError
        An argument is out of range or of the wrong type.

    Examples
    --------
    >>> from sklearn_ltr.datasets import load_python_docs
    >>> docs = load_python_docs()  # doctest: +SKIP
    >>> docs.data.shape  # doctest: +SKIP
    (100000, 42)
    """
    check_scalar(max_queries, "max_queries", Integral, min_val=1)
    check_scalar(n_candidates, "n_candidates", Integral, min_val=2)
    if not cache:
        return _bunch(build(read_corpus(), max_queries, n_candidates))
    path = _cache_path(data_home, max_queries, n_candidates)
    if not path.exists():
        _write(path, build(read_corpus(), max_queries, n_candidates))
    with np.load(path, allow_pickle=False) as stored:
        return _bunch(dict(stored))


def build(corpus: Corpus, max_queries: int, n_candidates: int) -> Arrays:
    """Make the data, as arrays of numbers and of text."""
    index = Index(corpus)
    documents = corpus.documents
    if n_candidates > len(documents):
        raise ValueError(
            f"n_candidates={n_candidates} is more than the {len(documents)} documents. "
            "Ask for fewer."
        )
    items, candidates, n_tried = _ask(index, max_queries, n_candidates)
    queries = [documents[item].summary for item in items]
    features = compute_features(index, queries, candidates)
    return {
        "data": np.column_stack(list(features.values())).astype(np.float32),
        "target": grade(documents, items, candidates).ravel(),
        "groups": np.repeat(np.arange(len(items)), n_candidates),
        "feature_names": np.array(list(features)),
        "queries": np.array(queries),
        "row_document": candidates.ravel(),
        "names": np.array([document.name for document in documents]),
        "summaries": np.array([document.summary for document in documents]),
        "recall": np.array(len(items) / n_tried),
    }


def _ask(
    index: Index, max_queries: int, n_candidates: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the very items found, the candidates, and how many queries were tried."""
    items = askable(index.documents)
    kept: list[int] = []
    rows: list[NDArray[np.int64]] = []
    for start in range(0, len(items), 256):
        chunk = items[start : start + 256]
        summaries = [index.documents[item].summary for item in chunk]
        found = index.candidates(summaries, n_candidates)
        for place, (item, row) in enumerate(zip(chunk, found, strict=True)):
            if item in row:
                kept.append(int(item))
                rows.append(row)
            if len(kept) == max_queries:
                return np.array(kept), np.array(rows), start + place + 1
    return np.array(kept), np.array(rows), len(items)


def _cache_path(
    data_home: str | os.PathLike[str] | None, max_queries: int, n_candidates: int
) -> Path:
    """Name the file after everything the data depend on."""
    python = f"{sys.implementation.name}-{platform.python_version()}-{sys.platform}"
    name = f"python_docs-{BUILDER}-{python}-{max_queries}x{n_candidates}.npz"
    return Path(get_data_home(data_home), "sklearn_ltr", name)


def _write(path: Path, arrays: Arrays) -> None:
    """Write in one step: another process sees the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=path.parent, suffix=".unfinished")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **cast(dict[str, Any], arrays))
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


def _bunch(arrays: Arrays) -> Bunch:
    """Give the arrays the shape that users see."""
    names = arrays["names"].astype(object)
    summaries = arrays["summaries"].astype(object)
    rows = arrays["row_document"]
    recall = float(arrays["recall"])
    description = (
        f"Search data from the documentation of Python {platform.python_version()}.\n"
        f"{len(arrays['queries'])} queries (first sentences of docstrings) with "
        f"{len(rows)} candidates,\n"
        f"found by BM25 among {len(names)} documents; {arrays['data'].shape[1]} "
        f"features, grades 0 to 4.\n"
        f"{recall:.0%} of the queries tried had their document among the candidates\n"
        "and were kept.  How: sklearn_ltr.datasets.load_python_docs."
    )
    return Bunch(
        data=arrays["data"],
        target=arrays["target"],
        groups=arrays["groups"],
        feature_names=arrays["feature_names"].tolist(),
        queries=arrays["queries"].tolist(),
        documents=names[rows],
        summaries=summaries[rows],
        recall=recall,
        DESCR=description,
    )
