"""Queries and grades, derived from the structure of the documentation.

A query is the summary of one document, its source. A candidate has grade

* 3 if its summary is the query: the source, and documents with the same summary;
* 2 if it is in the same class: a method and its class, or two methods of one class;
* 1 if it is in the same module;
* 0 otherwise.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from python_docs.documents import Document
from python_docs.search import Numbers, numbered, words

STARTS_AS_PROSE = re.compile(r"[A-Za-z][\w'-]*\s")  # no call, no doctest
MIN_WORDS, MAX_WORDS, MAX_SAME_SUMMARY = 4, 25, 3

SOURCE_GRADE = 3


def normalized_summary(document: Document) -> str:
    """Return the summary without punctuation and case."""
    return " ".join(re.findall(r"\w+", document.summary.lower()))


def query_sources(documents: list[Document]) -> Numbers:
    """Return the documents whose summaries make queries, in a fixed random order.

    A query is a sentence of 4 to 25 words that at most three documents share; the
    first of them is the source.
    """
    summaries = [normalized_summary(document) for document in documents]
    n_sharing = Counter(summaries)
    first = {summary: i for i, summary in reversed(list(enumerate(summaries)))}
    sources = [
        i
        for i, (document, summary) in enumerate(zip(documents, summaries, strict=True))
        if first[summary] == i
        and n_sharing[summary] <= MAX_SAME_SUMMARY
        and STARTS_AS_PROSE.match(document.summary)
        and len(document.summary.split()) <= MAX_WORDS
        and len(set(words(document.summary))) >= MIN_WORDS
    ]
    return np.random.default_rng(0).permutation(np.array(sources, dtype=np.int64))


def grade(documents: list[Document], sources: Numbers, candidates: Numbers) -> Numbers:
    """Grade candidates by their relation to the source of the query.

    Parameters
    ----------
    documents : list of Document
    sources : (n_queries,) int64, the document that each query is the summary of
    candidates : (n_queries, n_candidates) int64

    Returns
    -------
    (n_queries, n_candidates) int64
    """
    relations = (
        (1, [document.module for document in documents]),
        (2, [document.class_name for document in documents]),
        (SOURCE_GRADE, [normalized_summary(document) for document in documents]),
    )
    grades = np.zeros(candidates.shape, dtype=np.int64)
    for value, labels in relations:  # ascending: the closest relation counts
        label = numbered(labels)
        grades[label[candidates] == label[sources][:, np.newaxis]] = value
    return grades
