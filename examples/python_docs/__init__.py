"""Search data made on this machine from the documentation of Python's standard library.

``documents`` reads them, ``search`` finds candidates and computes features, ``grades``
makes the queries and says how relevant each candidate is. Nothing is downloaded.
"""

from __future__ import annotations

import platform

import numpy as np
from sklearn.utils import Bunch

from python_docs.documents import read_documents
from python_docs.grades import SOURCE_GRADE, grade, query_sources
from python_docs.search import SearchIndex, compute_features

__all__ = ["SOURCE_GRADE", "load_python_docs"]


def load_python_docs(*, max_queries: int = 2000, n_candidates: int = 50) -> Bunch:
    """Make search data from the docstrings of the standard library.

    **Documents** are the functions, methods and classes with a docstring, about 7,000,
    read from the installed sources. A **query** is the first sentence of the docstring
    of one of them, the source. These sentences are removed from what is searched
    (name, arguments, rest of the docstring), so that no query finds its source by
    repeating it.

    **Candidates** are the `n_candidates` documents with the highest BM25. A query is
    kept if its source is one of them; ``recall`` is the share of kept queries. All
    numbers measured on these data are therefore about re-ranking lists that contain
    the source.

    **Grades** 0 to 3 follow from where a candidate is in the library: see
    :mod:`python_docs.grades`. **Features** are computed from the words of the query and
    of the candidates, never from the source or a grade: see :mod:`python_docs.search`.

    The data depend on the version of Python. It takes some seconds to make them.

    Parameters
    ----------
    max_queries : int, default=2000
        Maximum number of queries.
    n_candidates : int, default=50
        Documents per query.

    Returns
    -------
    Bunch
        ``data`` : (n_rows, n_features) float32;
        ``target`` : (n_rows,) int64, the grades;
        ``groups`` : (n_rows,) int64, the index of each row's query in ``queries``;
        ``feature_names``, ``queries`` : lists of str;
        ``documents`` : (n_rows,) object, the qualified name of each row's document;
        ``recall`` : float;
        ``DESCR`` : str.
    """
    return make_data(SearchIndex(read_documents()), max_queries, n_candidates)


def make_data(index: SearchIndex, max_queries: int, n_candidates: int) -> Bunch:
    """Make the data of `load_python_docs` from an index."""
    documents = index.documents
    sources = query_sources(documents)
    candidates = index.find([documents[i].summary for i in sources], n_candidates)
    found = np.any(candidates == sources[:, np.newaxis], axis=1)
    sources, candidates = sources[found][:max_queries], candidates[found][:max_queries]
    queries = [documents[source].summary for source in sources]
    features = compute_features(index, queries, candidates)
    X = np.column_stack(list(features.values())).astype(np.float32)
    names = np.array([document.name for document in documents], dtype=object)
    recall = float(found.mean())
    description = (
        f"Search data from the documentation of Python {platform.python_version()}:\n"
        f"{len(queries)} queries (first sentences of docstrings) with {n_candidates} "
        f"candidates each,\nfound by BM25 among {len(documents)} documents; "
        f"{X.shape[1]} features, grades 0 to 3.\n"
        f"BM25 found the document of {recall:.0%} of the queries; the others are left "
        "out."
    )
    return Bunch(
        data=X,
        target=grade(documents, sources, candidates).ravel(),
        groups=np.repeat(np.arange(len(queries)), n_candidates),
        feature_names=list(features),
        queries=queries,
        documents=names[candidates.ravel()],
        recall=recall,
        DESCR=description,
    )
