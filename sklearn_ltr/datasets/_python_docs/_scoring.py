"""Classic scores of a text for a query: BM25, TF-IDF and two language models.

All are sums over the words that query and text share; a formula gives one word's term.
tf is how often the text has the word, df the number of texts that have it, n the
number of texts, p the word's share of all words of the collection.

* BM25: Robertson and Zaragoza, "The probabilistic relevance framework" (2009).
* Language models: Zhai and Lafferty, "A study of smoothing methods" (2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Array = NDArray[np.float64]

K1, B = 1.2, 0.75
JELINEK_MERCER_LAMBDA = 0.5


def inverse_document_frequency(df: Array, n: int) -> Array:
    """Return log(1 + (n - df + 1/2) / (df + 1/2)), always positive."""
    return np.log1p((n - df + 0.5) / (df + 0.5))


def bm25_term(tf: Array, relative_length: Array, idf: Array) -> Array:
    """Return idf tf (k1 + 1) / (tf + k1 (1 - b + b length / mean length))."""
    return idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * relative_length))


def tfidf_term(tf: Array, idf: Array) -> Array:
    """Return (1 + log tf) idf."""
    return (1 + np.log(tf)) * idf


def dirichlet_term(tf: Array, p: Array, mu: float) -> Array:
    """Return log(1 + tf / (mu p))."""
    return np.log1p(tf / (mu * p))


def jelinek_mercer_term(tf: Array, length: Array, p: Array) -> Array:
    """Return log(1 + (1 - lambda) / lambda  (tf / length) / p)."""
    odds = (1 - JELINEK_MERCER_LAMBDA) / JELINEK_MERCER_LAMBDA
    return np.log1p(odds * tf / length / p)


@dataclass(frozen=True)
class Field:
    """One field of every document, counted: ``counts`` is (n_texts, n_words)."""

    counts: csr_array

    @cached_property
    def length(self) -> Array:
        """(n_texts,) number of words of each text."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64)

    @cached_property
    def mean_length(self) -> float:
        """Mean number of words of a text."""
        return float(self.length.mean())

    @cached_property
    def idf(self) -> Array:
        """(n_words,) inverse document frequencies."""
        df = np.bincount(self.counts.indices, minlength=self.counts.shape[1])
        return inverse_document_frequency(df.astype(np.float64), self.counts.shape[0])

    @cached_property
    def p(self) -> Array:
        """(n_words,) share of each word of all words."""
        total = np.asarray(self.counts.sum(axis=0), dtype=np.float64)
        return np.asarray(total / max(total.sum(), 1.0))

    @cached_property
    def norm(self) -> Array:
        """(n_texts,) Euclidean length of each text's TF-IDF vector."""
        weights = tfidf_term(self.counts.data, self.idf[self.counts.indices])
        return np.sqrt(np.bincount(self._rows, weights**2, len(self.length)))

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.length)), np.diff(self.counts.indptr))

    def bm25_weights(self) -> csr_array:
        """Return the matrix whose product with a query's words is BM25."""
        relative = self.length[self._rows] / self.mean_length
        weights = bm25_term(self.counts.data, relative, self.idf[self.counts.indices])
        return csr_array(
            (weights, self.counts.indices, self.counts.indptr), shape=self.counts.shape
        )


class Matches:
    """The words that the queries and their candidates share in one field.

    Parameters
    ----------
    field : Field
    queries : (n_queries, n_words) sparse, 1 where a query has a word
    candidates : (n_queries, n_candidates) int, rows of the field

    A method returns one score for each pair of query and candidate, shape
    (n_queries * n_candidates,), query by query.
    """

    def __init__(
        self, field: Field, queries: csr_array, candidates: NDArray[np.int64]
    ) -> None:
        self.field = field
        self.queries = queries
        self.text = candidates.ravel()
        self.query = np.repeat(np.arange(len(candidates)), candidates.shape[1])
        # Row by row, so that memory does not grow with the number of queries.
        shared = field.counts[self.text].multiply(queries[self.query]).tocsr()
        self.pair = np.repeat(np.arange(len(self.text)), np.diff(shared.indptr))
        self.word = shared.indices
        self.tf = shared.data
        n_words = np.asarray(queries.sum(axis=1), dtype=np.float64)
        self.query_words = n_words[self.query]

    def sum(self, terms: Array) -> Array:
        """Add up, for each pair, the terms of its shared words."""
        return np.bincount(self.pair, terms, len(self.text)).astype(np.float64)

    def bm25(self) -> Array:
        """Return BM25."""
        relative = self.field.length[self.text[self.pair]] / self.field.mean_length
        return self.sum(bm25_term(self.tf, relative, self.field.idf[self.word]))

    def cosine(self) -> Array:
        """Return the cosine of the TF-IDF vectors; 0 if one has no words."""
        idf = self.field.idf
        dot = self.sum(tfidf_term(self.tf, idf[self.word]) * idf[self.word])
        query_norm = np.sqrt(self.queries @ idf**2)[self.query]
        norms = self.field.norm[self.text] * query_norm
        return np.asarray(dot / np.maximum(norms, 1e-12))

    def dirichlet(self) -> Array:
        """Return the log likelihood ratio of the query, Dirichlet smoothing."""
        mu = self.field.mean_length
        terms = dirichlet_term(self.tf, self.field.p[self.word], mu)
        length = self.field.length[self.text]
        return self.sum(terms) + self.query_words * np.log(mu / (mu + length))

    def jelinek_mercer(self) -> Array:
        """Return the log likelihood ratio of the query, linear smoothing."""
        length = self.field.length[self.text[self.pair]]
        p = self.field.p[self.word]
        return self.sum(jelinek_mercer_term(self.tf, length, p))

    def coverage(self) -> Array:
        """Return the share of the query's idf that the text has."""
        total = (self.queries @ self.field.idf)[self.query]
        shared = self.sum(self.field.idf[self.word])
        return np.asarray(shared / np.maximum(total, 1e-12))

    def overlap(self) -> Array:
        """Return the share of the text's words that the query has."""
        return self.sum(self.tf) / np.maximum(self.field.length[self.text], 1)
