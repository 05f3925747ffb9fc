"""Reciprocal rank fusion is the sum of 1 / (k + rank)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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


BIG = 2**53
ROWS = {"bm25": [3.0, 2.0, 1.0, 5.0], "cosine": [1.0, None, 2.0, 2.0]}
OF_ROWS = np.array([0, 0, 0, 1])


@pytest.mark.parametrize(
    "table", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=range(4)
)
def test_lists_may_have_names_and_weights(table):
    scores = np.array([*ROWS.values()], dtype=float)
    shares = np.array([0.7, 0.3])
    expected = sum(
        share * by_definition([one], OF_ROWS, 60)
        for share, one in zip(shares, scores, strict=True)
    )
    for weights in (shares, {"cosine": 0.3, "bm25": 0.7}):
        found = reciprocal_rank_fusion(table(ROWS), groups=OF_ROWS, weights=weights)
        assert_allclose(found, expected, rtol=1e-12)
    found = reciprocal_rank_fusion(table(ROWS), groups=OF_ROWS)
    assert_allclose(found, by_definition(scores, OF_ROWS, 60), rtol=1e-12)
    alone = reciprocal_rank_fusion(table(ROWS), groups=OF_ROWS, weights=[0, 1])
    assert_allclose(alone, by_definition(scores[1:], OF_ROWS, 60), rtol=1e-12)


@pytest.mark.parametrize(
    "column",
    [
        np.array,
        list,
        pd.Series,
        pl.Series,
        pa.array,
        lambda values: pd.Series(values, dtype="Int64"),
        lambda values: pd.Series(values, dtype="int64[pyarrow]"),
    ],
)
def test_integers_that_floats_cannot_tell_apart_are_not_tied(column):
    three = [BIG, BIG + 1, BIG - 1]
    found = reciprocal_rank_fusion([column(three)], groups=[1, 1, 1], k=0)
    assert_allclose(found, [1 / 2, 1, 1 / 3])
    if column not in (np.array, pd.Series):  # these have no whole numbers beside None
        two = column([BIG, BIG + 1, None])
        found = reciprocal_rank_fusion([two], groups=[1, 1, 1], k=0)
        assert_allclose(found, [1 / 2, 1, 0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y_scores": {}}, "y_scores must hold the scores of a retriever"),
        ({"y_scores": {"a": [1.0]}}, "groups has 2 values for 1 rows"),
        ({"y_scores": {"a": [1.0, np.inf]}}, r"y_scores\['a'\] must be finite"),
        (
            {"y_scores": pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])},
            "y_scores has two columns of one name",
        ),
        ({"weights": [1.0]}, "weights must hold one number for each of the 2 "),
        ({"weights": [1.0, -1.0]}, "weights must be finite and >= 0"),
        ({"weights": [0, 0]}, "weights are zero for every retriever"),
        ({"weights": {"a": 1.0}}, r"weights must have the names of y_scores, \[0, 1\]"),
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
