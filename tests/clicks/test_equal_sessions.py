"""A group of weight n is n equal sessions, as benchmarks/clicks_protocol.py has it.

True without draws for each group (`bagging_temperature`, `score_noise`) and limits that
count rows.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.clicks import simulate_clicks
from sklearn_ltr.datasets import make_ranking


@pytest.fixture(scope="module")
def sessions():
    """Matrices (n_sessions, 10) of the documents shown and of their clicks."""
    data = make_ranking(20, n_documents=15, integers=1.0, random_state=0)
    log = simulate_clicks(
        data.target,
        data.utility + np.random.default_rng(0).normal(size=len(data.target)),
        groups=data.groups,
        n_sessions=600,
        k=5,
        random_state=0,
    )
    n = int(log.sessions.max()) + 1
    shown, clicked = np.zeros((2, n, 5), dtype=np.int64) - 1
    shown[log.sessions, log.positions] = log.documents
    clicked[log.sessions, log.positions] = log.clicks
    whole = (shown >= 0).all(axis=1)
    learnable = whole & (clicked.max(axis=1) != clicked.min(axis=1))
    return data.data, shown[learnable], clicked[learnable]


def fit(X, shown, clicked, weight, method):
    n, k = shown.shape
    positions = np.tile(np.arange(k), n)
    ranker = LambdaMARTRanker(
        n_estimators=10,
        max_leaf_nodes=6,
        min_samples_leaf=1,
        bagging_temperature=0.0,
        score_noise=0.0,
        early_stopping=False,
        random_state=0,
    )
    given = {}
    if method in ("additive", "pairwise"):
        ranker.set_params(position_bias=method, regression_weight=0.0)
        given = {"positions": positions}
    elif method == "propensities":
        ranker.set_params(regression_weight=0.0)
        given = {"propensities": 1.0 / (1 + positions)}
    return ranker.fit(
        X[shown.ravel()],
        clicked.ravel(),
        groups=np.repeat(np.arange(n), k),
        sample_weight=np.repeat(weight, k),
        **given,
    )


@pytest.mark.parametrize("method", ["naive", "additive", "pairwise", "propensities"])
def test_a_weighted_group_is_as_many_equal_sessions(sessions, method):
    X, shown, clicked = sessions
    both, first, count = np.unique(
        np.hstack((shown, clicked)), axis=0, return_index=True, return_counts=True
    )
    assert len(both) < 0.8 * len(shown)
    one = fit(X, shown[first], clicked[first], count, method)
    other = fit(X, shown, clicked, np.ones(len(shown)), method)
    # sums of float64 in another order
    assert_allclose(one.predict(X), other.predict(X), atol=1e-9)
    if method in ("additive", "pairwise"):
        assert_allclose(one.position_bias_, other.position_bias_, atol=1e-9)
