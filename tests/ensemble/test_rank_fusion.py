"""Reciprocal rank fusion is the sum of 1 / (k + rank)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import rankdata

from sklearn_ltr.ensemble import reciprocal_rank_fusion

RNG = np.random.default_rng(0)
GROUPS = np.sort(RNG.integers(0, 8, 120))
SCORES = np.round(RNG.normal(size=(3, 120)), 1)
SCORES[1, RNG.random(120) < 0.4] = np.nan


def by_definition(y_scores, groups, k):
    fused = np.zeros(len(groups))
    for scores in y_scores:
        for query in np.unique(groups):
            rows = np.flatnonzero((groups == query) & ~np.isnan(scores))
            fused[rows] += 1 / (k + rankdata(-scores[rows]))
    return fused


@pytest.mark.parametrize("k", [0, 60, 1.5])
def test_it_is_the_formula_in_any_order_of_rows(k):
    found = reciprocal_rank_fusion(list(SCORES), groups=GROUPS, k=k)
    assert_allclose(found, by_definition(SCORES, GROUPS, k), rtol=1e-12)
    order = RNG.permutation(len(GROUPS))
    shuffled = reciprocal_rank_fusion(SCORES[:, order], groups=GROUPS[order], k=k)
    assert shuffled.tobytes() == found[order].tobytes()


def test_a_document_that_nothing_has_found_is_last():
    none = [np.full(3, np.nan), [1.0, np.nan, 2.0]]
    assert reciprocal_rank_fusion(none, groups=[1, 1, 1])[1] == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y_scores": []}, "y_scores must hold the scores of a retriever"),
        ({"y_scores": "bm25"}, "y_scores must be a list of arrays"),
        ({"y_scores": [[1.0, 2.0], [np.inf, 0.0]]}, r"y_scores\[1\] must be finite"),
        ({"y_scores": [[1.0, 2.0], [0.0]]}, r"y_scores\[1\]"),
        ({"k": -1}, "k must be"),
        ({"groups": [1]}, "groups"),
    ],
)
def test_what_cannot_be_joined_is_refused_by_name(given, message):
    good = {"y_scores": [[1.0, 2.0], [0.0, 1.0]], "groups": [1, 1]}
    with pytest.raises((TypeError, ValueError), match=message):
        reciprocal_rank_fusion(**good | given)
