"""What a search engine knows of a query and a document: words, never an answer.

A query enters as a string, and a document without its summary (the sentence queries
are made of).  Nothing here sees which document a query was taken from, nor any grade.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.datasets._python_docs._index import FIELDS, Index
from sklearn_ltr.datasets._python_docs._scoring import Array, Matches


def compute_features(
    index: Index, queries: list[str], candidates: NDArray[np.int64]
) -> dict[str, Array]:
    """Compute every feature of every pair of query and candidate.

    Parameters
    ----------
    index : Index
    queries : list of str
    candidates : (n_queries, n_candidates) int64, positions in ``index.documents``

    Returns
    -------
    dict of str to (n_queries * n_candidates,) float64, query by query
    """
    marked = index.query_words(queries)
    matches = {f: Matches(index.fields[f], marked, candidates) for f in FIELDS}
    found = {f"bm25_{field}": matches[field].bm25() for field in FIELDS}
    for field in ("all", "rest", "code", "module"):
        found[f"cosine_{field}"] = matches[field].cosine()
    for field in ("all", "rest"):
        found[f"dirichlet_{field}"] = matches[field].dirichlet()
        found[f"jelinek_mercer_{field}"] = matches[field].jelinek_mercer()
    for field in ("all", "name", "code"):
        found[f"coverage_{field}"] = matches[field].coverage()
    for field in ("name", "arguments"):
        found[f"overlap_{field}"] = matches[field].overlap()
    letters = index.query_trigrams(queries)
    pairs = index.query_pairs(queries)
    found["overlap_name_trigrams"] = Matches(
        index.name_trigrams, letters, candidates
    ).overlap()
    found["bm25_phrases"] = Matches(index.phrases, pairs, candidates).bm25()
    found["name_verbatim"] = name_verbatim(index, queries, candidates)
    found |= standing(index, found["bm25_all"], candidates)
    for name, values in index.static_features().items():
        found[name] = values[candidates.ravel()]
    query = matches["all"].query
    found["query_length"] = matches["all"].query_words
    found["query_idf"] = (marked @ index.fields["all"].idf)[query]
    return found


def name_verbatim(
    index: Index, queries: list[str], candidates: NDArray[np.int64]
) -> Array:
    """Tell whether the query has the document's own name as one of its words."""
    names = [document.own_name.lower() for document in index.documents]
    typed = [set(query.lower().replace(".", " ").split()) for query in queries]
    return np.array(
        [
            float(names[document] in spoken)
            for spoken, row in zip(typed, candidates.tolist(), strict=True)
            for document in row
        ]
    )


def standing(
    index: Index, bm25: Array, candidates: NDArray[np.int64]
) -> dict[str, Array]:
    """Compare a candidate with the others of its query.

    ``bm25_to_best`` is its BM25 divided by the highest.  ``module_share`` and
    ``class_share`` are the shares of the candidates' BM25 that its module and its class
    hold: documents that belong together are often relevant together.
    """
    query = np.repeat(np.arange(len(candidates)), candidates.shape[1])
    per_query = bm25.reshape(candidates.shape)
    best = np.maximum(per_query.max(axis=1), 1e-12)
    total = np.maximum(per_query.sum(axis=1), 1e-12)
    found = {"bm25_to_best": bm25 / best[query]}
    for name, home in (("module_share", index.module), ("class_share", index.home)):
        here = query * len(index.documents) + home[candidates.ravel()]
        held = np.unique(here, return_inverse=True)[1]
        found[name] = np.bincount(held, bm25)[held].astype(np.float64) / total[query]
    return found
