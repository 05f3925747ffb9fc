"""A small search engine: counted words, BM25, and the features of a query and document.

BM25 is that of Robertson and Zaragoza, "The probabilistic relevance framework" (2009):
the sum over the words that query and text share of

    idf tf (k1 + 1) / (tf + k1 (1 - b + b length / mean length)),
    idf = log(1 + (n - df + 1/2) / (df + 1/2)),

where tf is how often the text has the word, df the number of texts that have it, and n
the number of texts.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer

from python_docs.documents import Document

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
K1, B = 1.2, 0.75
QUERIES_AT_ONCE = 256  # bounds the memory of a dense (n_queries, n_documents) array

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


@cache
def singular(word: str) -> str:
    """Remove a plural s by the three rules of Harman (1991), the "S stemmer"."""
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


def words(text: str) -> list[str]:
    """Return the words of a text in lower case and singular, in order.

    A word is a run of letters or of digits. Identifiers are split at underscores and
    where the case changes: ``BaseHTTPServer`` is base, http, server.
    """
    return [singular(word.lower()) for word in WORD.findall(text)]


def bm25_weights(counts: csr_array) -> csr_array:
    """Return the (n_texts, n_words) matrix whose product with a query is BM25."""
    n_texts, n_words = counts.shape
    length = counts.sum(axis=1)
    df = np.bincount(counts.indices, minlength=n_words)
    idf = np.log1p((n_texts - df + 0.5) / (df + 0.5))
    relative_length = np.repeat(length / length.mean(), np.diff(counts.indptr))
    tf = counts.data
    saturation = tf * (K1 + 1) / (tf + K1 * (1 - B + B * relative_length))
    weights = idf[counts.indices] * saturation
    return csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)


def numbered(labels: list[str]) -> Numbers:
    """Return an integer for each label, equal for equal labels."""
    return np.unique(np.array(labels), return_inverse=True)[1].astype(np.int64)


def field_texts(documents: list[Document]) -> dict[str, list[str]]:
    """Return the text of each field of each document; no field has a summary.

    Candidates are found in ``all``: name, class, arguments and the rest of the
    docstring. ``code`` holds the identifiers that a function uses or the members of a
    class; ``owner`` the rest of the docstring and the members of a method's class.
    """
    by_name = {document.name: document for document in documents}
    texts: dict[str, list[str]] = {}
    for d in documents:
        owner = by_name.get(d.owner)
        owner_name = d.owner.removeprefix(d.module)
        arguments = " ".join(d.arguments)
        fields = {
            "all": " ".join([d.short_name, owner_name, arguments, d.rest]),
            "rest": d.rest,
            "name": d.short_name,
            "path": f"{d.module} {owner_name}",
            "arguments": arguments,
            "code": " ".join(d.identifiers),
            "owner": " ".join([owner.rest, *owner.identifiers]) if owner else "",
            "module": d.module_text,
        }
        for field, text in fields.items():
            texts.setdefault(field, []).append(text)
    return texts


class SearchIndex:
    """Counted words of all documents, field by field.

    Attributes
    ----------
    documents : list of Document
    counts, weights : dict of str to (n_documents, n_words) sparse arrays
        Word counts and BM25 weights of each field; all fields have the same words.
    module, home : (n_documents,) int64
        Equal for documents of the same module, and of the same class.
    """

    def __init__(self, documents: list[Document]) -> None:
        self.documents = documents
        texts = field_texts(documents)
        self._vectorizer = CountVectorizer(analyzer=words, dtype=np.float64)
        every_text = [text for of_field in texts.values() for text in of_field]
        counts = csr_array(self._vectorizer.fit_transform(every_text))
        n = len(documents)
        self.counts = {
            field: counts[i * n : (i + 1) * n] for i, field in enumerate(texts)
        }
        self.weights = {name: bm25_weights(c) for name, c in self.counts.items()}
        self.module = numbered([document.module for document in documents])
        self.home = numbered([document.class_name for document in documents])

    def query_words(self, queries: list[str]) -> csr_array:
        """Return (n_queries, n_words), 1 where a query has a word, else 0."""
        counts = csr_array(self._vectorizer.transform(queries))
        return (counts > 0).astype(np.float64)

    def find(self, queries: list[str], n_candidates: int) -> Numbers:
        """Return the documents with the highest BM25 in the field ``all``.

        Returns
        -------
        (n_queries, n_candidates) int64
            Indices of documents, ascending in each row, so that their order tells
            nothing. Of equal scores the earlier documents are returned.
        """
        weights = self.weights["all"].T.tocsr()
        marked = self.query_words(queries)
        found = []
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            scores = (marked[start : start + QUERIES_AT_ONCE] @ weights).toarray()
            order = np.argsort(-scores, axis=1, kind="stable")
            found.append(np.sort(order[:, :n_candidates], axis=1))
        return np.concatenate(found)


def compute_features(
    index: SearchIndex, queries: list[str], candidates: Numbers
) -> dict[str, Array]:
    """Compute every feature of every pair of a query and a candidate.

    Nothing here sees which document a query was made of, nor any grade.

    Parameters
    ----------
    index : SearchIndex
    queries : list of str
    candidates : (n_queries, n_candidates) int64, indices of documents

    Returns
    -------
    dict of str to (n_queries * n_candidates,) float64, query by query
    """
    document = candidates.ravel()
    query = np.repeat(np.arange(len(candidates)), candidates.shape[1])
    marked = index.query_words(queries)

    def shared(field: csr_array) -> Array:
        """Sum a field's values of the words that a document shares with a query."""
        return field[document].multiply(marked[query]).sum(axis=1)

    features = {f"bm25_{name}": shared(field) for name, field in index.weights.items()}
    length = {name: counts.sum(axis=1) for name, counts in index.counts.items()}
    features["name_words_in_query"] = shared(index.counts["name"]) / np.maximum(
        length["name"][document], 1
    )
    # Shares of the BM25 of a query's candidates: of the best candidate, of the
    # candidate's module, of its class. Related documents are often found together.
    bm25 = features["bm25_all"].reshape(candidates.shape)
    features["bm25_to_best"] = (bm25 / bm25.max(axis=1, keepdims=True)).ravel()
    share = (bm25 / bm25.sum(axis=1, keepdims=True)).ravel()
    for name, home in ("module_share", index.module), ("class_share", index.home):
        key = query * len(index.documents) + home[document]
        number = np.unique(key, return_inverse=True)[1]
        features[name] = np.bincount(number, share)[number]
    for name, values in describe(index, length).items():
        features[name] = values[document]
    features["query_length"] = marked.sum(axis=1)[query]
    return features


def describe(index: SearchIndex, length: dict[str, Array]) -> dict[str, Array]:
    """Return the features that do not depend on a query: (n_documents,) each."""
    documents = index.documents
    values = {
        "name_length": length["name"],
        "rest_length": length["rest"],
        "code_length": length["code"],
        "n_arguments": [len(d.arguments) for d in documents],
        "module_size": np.bincount(index.module)[index.module],
        "class_size": np.bincount(index.home)[index.home],
        "is_method": [d.kind == "method" for d in documents],
        "is_class": [d.kind == "class" for d in documents],
        "is_private": [d.is_private for d in documents],
        "is_dunder": [d.is_dunder for d in documents],
    }
    return {name: np.asarray(v, dtype=np.float64) for name, v in values.items()}
