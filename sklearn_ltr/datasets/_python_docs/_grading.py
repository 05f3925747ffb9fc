"""Queries and their grades, from the structure of the documentation.

A query is the summary of one document, the very item.  For it, a document has grade

* 4, if its summary is the query: the very item, and its twins word for word;
* 3, if it has the very item's name in another class of the same module: the same
  operation on something else (dunder names do not count: every class has them);
* 2, if it is of the same class: a method and its class, or two methods of one class;
* 1, if it is of the same module;
* 0, otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.datasets._python_docs._document import Document
from sklearn_ltr.datasets._python_docs._index import home_of, numbers_of
from sklearn_ltr.datasets._python_docs._text import words

Numbers = NDArray[np.int64]

VERY_ITEM, SAME_OPERATION, SAME_CLASS, SAME_MODULE = 4, 3, 2, 1

STARTS_AS_PROSE = re.compile(r"[A-Za-z][\w'-]*\s")
FEWEST_WORDS, MOST_WORDS, MOST_TWINS = 4, 25, 3


def sameness(document: Document) -> str:
    """Return what two summaries have in common that differ only in punctuation."""
    return " ".join(re.findall(r"\w+", document.summary.lower()))


def askable(documents: list[Document]) -> Numbers:
    """Return the documents whose summaries make queries, shuffled by a checksum.

    A query is a sentence of 4 to 25 words (no call, no doctest), and at most three
    documents share it; of those the first stands for all.  Whether a document is
    public plays no part: it would teach a ranker our choice, not search.
    """
    keys = [sameness(document) for document in documents]
    shared = Counter(keys)
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    chosen = [
        i
        for i, (document, key) in enumerate(zip(documents, keys, strict=True))
        if first[key] == i
        and shared[key] <= MOST_TWINS
        and STARTS_AS_PROSE.match(document.summary)
        and len(document.summary.split()) <= MOST_WORDS
        and len(set(words(document.summary))) >= FEWEST_WORDS
    ]
    chosen.sort(key=lambda i: (crc32(documents[i].name.encode()), i))
    return np.array(chosen, dtype=np.int64)


def grade(
    documents: list[Document], very_items: Numbers, candidates: Numbers
) -> Numbers:
    """Grade candidates by where they stand from the very item.

    Parameters
    ----------
    documents : list of Document
    very_items : (n_queries,) int64, the documents the queries were taken from
    candidates : (n_queries, n_candidates) int64

    Returns
    -------
    (n_queries, n_candidates) int64
    """
    shared_traits = (
        (SAME_MODULE, [document.module for document in documents]),
        (SAME_CLASS, [home_of(document) for document in documents]),
        (SAME_OPERATION, [operation_of(document) for document in documents]),
        (VERY_ITEM, [sameness(document) for document in documents]),
    )
    grades = np.zeros(candidates.shape, dtype=np.int64)
    for value, traits in shared_traits:  # ascending: a closer tie overwrites
        trait = numbers_of(traits)
        grades[trait[candidates] == trait[very_items][:, None]] = value
    return grades


def operation_of(document: Document) -> str:
    """Return what methods of one name in one module share; others stand alone."""
    if document.kind == "method" and not document.is_dunder:
        return f"{document.module}:{document.own_name}"
    return document.name
