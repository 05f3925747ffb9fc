"""The documents as a search engine holds them: fields of counted words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sklearn_ltr.datasets._python_docs._corpus import Corpus
from sklearn_ltr.datasets._python_docs._document import Document
from sklearn_ltr.datasets._python_docs._scoring import Array, Field
from sklearn_ltr.datasets._python_docs._text import (
    count,
    numbered,
    pairs_of_words,
    trigrams,
    words,
)

FIELDS = ("all", "rest", "name", "path", "arguments", "code", "owner", "module")


def field_texts(corpus: Corpus) -> dict[str, list[list[str]]]:
    """Return the words of every field of every document; no field has a summary.

    ``all`` is what candidates are found by: name, class, arguments and the rest of
    the docstring.  ``code`` holds the identifiers a function uses, or the members of a
    class; ``owner`` the rest of the docstring and the members of a method's class.
    """
    by_name = {document.name: document for document in corpus.documents}
    module_words = {name: words(text) for name, text in corpus.module_texts.items()}
    texts: dict[str, list[list[str]]] = {field: [] for field in FIELDS}
    for document in corpus.documents:
        owner = by_name.get(document.owner)
        name, rest = words(document.own_name), words(document.rest)
        owner_name = words(document.owner.removeprefix(document.module))
        arguments = words(" ".join(document.arguments))
        texts["all"].append([*name, *owner_name, *arguments, *rest])
        texts["rest"].append(rest)
        texts["name"].append(name)
        texts["path"].append([*words(document.module), *owner_name])
        texts["arguments"].append(arguments)
        texts["code"].append(words(" ".join(document.mentions)))
        about_owner = [owner.rest, *owner.mentions] if owner else []
        texts["owner"].append(words(" ".join(about_owner)))
        texts["module"].append(module_words.get(document.module, []))
    return texts


def numbers_of(labels: list[str]) -> NDArray[np.int64]:
    """Return equal numbers for equal strings."""
    return np.unique(np.array(labels), return_inverse=True)[1].astype(np.int64)


def home_of(document: Document) -> str:
    """Return the class a document is, or is part of; a function stands for itself."""
    return document.owner or document.name


class Index:
    """Count the words of a corpus, and find candidates by BM25.

    Attributes
    ----------
    documents : list of Document
    fields : dict of str to Field, all over the same words
    name_trigrams, phrases : Field
        Runs of three letters of a name; pairs of neighbouring words of the rest.
    module, home : (n_documents,) int64
        Equal for documents of one module, of one class.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.documents = corpus.documents
        texts = field_texts(corpus)
        names = [trigrams(document.own_name) for document in corpus.documents]
        pairs = [pairs_of_words(document.rest) for document in corpus.documents]
        self._words = numbered([text for field in FIELDS for text in texts[field]])
        self._trigrams = numbered(names)
        self._pairs = numbered(pairs)
        self.fields = {
            field: Field(count(texts[field], self._words)) for field in FIELDS
        }
        self.name_trigrams = Field(count(names, self._trigrams))
        self.phrases = Field(count(pairs, self._pairs))
        self.module = numbers_of([document.module for document in corpus.documents])
        self.home = numbers_of([home_of(document) for document in corpus.documents])

    def query_words(self, queries: list[str]) -> csr_array:
        """Mark the words of each query: (n_queries, n_words), 1 or 0."""
        return count([sorted(set(words(query))) for query in queries], self._words)

    def query_trigrams(self, queries: list[str]) -> csr_array:
        """Mark the runs of three letters of each query."""
        distinct = [sorted(set(trigrams(query))) for query in queries]
        return count(distinct, self._trigrams)

    def query_pairs(self, queries: list[str]) -> csr_array:
        """Mark the pairs of neighbouring words of each query."""
        distinct = [sorted(set(pairs_of_words(query))) for query in queries]
        return count(distinct, self._pairs)

    def candidates(self, queries: list[str], n_candidates: int) -> NDArray[np.int64]:
        """Return the documents with the highest BM25, in an order that tells nothing.

        Returns
        -------
        (n_queries, n_candidates) int64
            Positions in ``documents``, ascending in each row.  Of equal scores the
            earlier documents are taken.
        """
        weights = self.fields["all"].bm25_weights().T.tocsr()
        best = []
        for start in range(0, len(queries), 256):  # 256 x n_documents floats at a time
            scores = self.query_words(queries[start : start + 256]) @ weights
            order = np.argsort(-scores.toarray(), axis=1, kind="stable")
            best.append(np.sort(order[:, :n_candidates], axis=1))
        return np.concatenate(best)

    def static_features(self) -> dict[str, Array]:
        """Describe each document without any query: (n_documents,) each."""
        docs = self.documents
        described = {
            "name_length": self.fields["name"].length,
            "rest_length": self.fields["rest"].length,
            "code_length": self.fields["code"].length,
            "module_text_length": self.fields["module"].length,
            "n_arguments": [len(document.arguments) for document in docs],
            "module_depth": [document.module.count(".") for document in docs],
            "module_size": np.bincount(self.module)[self.module],
            "class_size": np.bincount(self.home)[self.home],
            "is_method": [document.kind == "method" for document in docs],
            "is_class": [document.kind == "class" for document in docs],
            "is_private": [document.is_private for document in docs],
            "is_dunder": [document.is_dunder for document in docs],
            "is_in_c": [document.in_c for document in docs],
        }
        return {name: np.asarray(x, dtype=np.float64) for name, x in described.items()}
