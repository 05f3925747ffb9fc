"""The scores of a text for a query are their formulas, summed here by loops."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr.datasets._python_docs._scoring import Field, Matches
from sklearn_ltr.datasets._python_docs._text import count, numbered, words

TEXTS = ["read a file a file", "write to a file", "", "close the door"]
QUERIES = ["read the file", "door to nowhere"]


@pytest.fixture
def small() -> Matches:
    split = [text.split() for text in TEXTS]
    numbers = numbered(split)
    asked = count([query.split() for query in QUERIES], numbers)
    everything = np.tile(np.arange(len(TEXTS)), (len(QUERIES), 1))
    return Matches(Field(count(split, numbers)), asked, everything)


def looped(term) -> list[float]:
    """Add up term(tf, df, p, length) over what each query shares with each text."""
    split = [text.split() for text in TEXTS]
    everything = [word for text in split for word in text]
    return [
        sum(
            term(
                text.count(word),
                sum(word in other for other in split),
                everything.count(word) / len(everything),
                len(text),
            )
            for word in query.split()
            if word in text
        )
        for query in QUERIES
        for text in split
    ]


def idf(df: int) -> float:
    return np.log(1 + (4 - df + 0.5) / (df + 0.5))


MEAN_LENGTH = 12 / 4


def test_bm25_is_its_formula(small):
    def term(tf, df, p, length):
        return idf(df) * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / MEAN_LENGTH))

    np.testing.assert_allclose(small.bm25(), looped(term))
    product = (small.queries @ small.field.bm25_weights().T).toarray()
    np.testing.assert_allclose(small.bm25(), product.ravel())


def test_the_language_models_are_log_ratios_of_smoothed_probabilities(small):
    mixed = looped(lambda tf, df, p, n: np.log((0.5 * tf / n + 0.5 * p) / (0.5 * p)))
    np.testing.assert_allclose(small.jelinek_mercer(), mixed)
    mu = MEAN_LENGTH
    shared = looped(
        lambda tf, df, p, n: (
            np.log((tf + mu * p) / (n + mu) / p) - np.log(mu / (n + mu))
        )
    )
    lengths = np.tile([len(text.split()) for text in TEXTS], 2)
    known = np.repeat([3, 2], 4)  # nobody writes "nowhere"
    expected = shared + known * np.log(mu / (lengths + mu))
    np.testing.assert_allclose(small.dirichlet(), expected)


def test_cosine_coverage_and_overlap_are_their_formulas(small):
    dot = looped(lambda tf, df, p, n: (1 + np.log(tf)) * idf(df) ** 2)
    split = [text.split() for text in TEXTS]
    dfs = {w: sum(w in t for t in split) for text in split for w in text}
    norms = [
        np.sqrt(sum(((1 + np.log(t.count(w))) * idf(dfs[w])) ** 2 for w in set(t)))
        for t in split
    ]
    asked = [[dfs[w] for w in query.split() if w in dfs] for query in QUERIES]
    query_norms = [np.sqrt(sum(idf(df) ** 2 for df in known)) for known in asked]
    scale = np.outer(query_norms, norms).ravel()
    expected = np.divide(dot, scale, out=np.zeros(8), where=scale > 0)
    np.testing.assert_allclose(small.cosine(), expected)
    total = np.repeat([sum(map(idf, known)) for known in asked], 4)
    shared = looped(lambda tf, df, p, n: idf(df))
    np.testing.assert_allclose(small.coverage(), shared / total)
    np.testing.assert_allclose(small.overlap(), looped(lambda tf, df, p, n: tf / n))


def test_identifiers_fall_into_words():
    assert words("BaseHTTPServer.get_entries(b64)") == (
        "base http server get entry b 64".split()
    )
    assert words("classes, statuses and a class") == (
        "classe statuse and a class".split()
    )
