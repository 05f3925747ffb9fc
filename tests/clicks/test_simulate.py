"""Simulated logs follow their model, and their seed decides them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_ltr.clicks import simulate_clicks
from tests.clicks.logs import ranking

ONE_LIST = {"y": [0, 3, 1, 0], "scores": [1, 2, 3, 4], "groups": ["q"] * 4}


def simulate(**options):
    return simulate_clicks(**ONE_LIST | {"random_state": 0} | options)


def test_the_seed_decides_the_log_whatever_the_order_of_rows():
    data, scores = ranking()
    rows = np.random.default_rng(0).permutation(len(data.target))
    one, moved, other = (
        simulate_clicks(
            data.target[order],
            scores[order],
            groups=data.groups[order],
            n_sessions=500,
            random_state=seed,
        )
        for order, seed in ((slice(None), 3), (rows, 3), (slice(None), 4))
    )
    for name in one.keys() - {"documents", "attractiveness"}:
        assert_array_equal(one[name], moved[name])
    assert_array_equal(one.documents, rows[moved.documents])
    assert_array_equal(one.attractiveness[rows], moved.attractiveness)
    assert not np.array_equal(one.clicks, other.clicks)


def test_lists_are_in_the_order_of_the_scores():
    log = simulate(n_sessions=2, k=3)
    assert log.documents.tolist() == [3, 2, 1] * 2
    assert log.positions.tolist() == [0, 1, 2] * 2
    assert log.sessions.tolist() == [0] * 3 + [1] * 3
    assert log.groups.tolist() == ["q"] * 6
    assert log.clicks.dtype == log.documents.dtype == np.int64
    # of equal scores the lower grade is first
    log = simulate(scores=[1, 1, 1, 0], n_sessions=1)
    assert log.documents.tolist() == [0, 2, 1, 3]


def test_every_query_and_every_ranker_is_drawn_or_one_session_of_each_query():
    given = {"y": [1, 0, 0, 1], "groups": [7, 7, 7, 2]}
    log = simulate_clicks(
        scores=[[1, 3], [2, 2], [3, 1], [1, 2]], n_sessions=200, random_state=0, **given
    )
    first = log.documents[log.positions == 0]
    assert set(first.tolist()) == {2, 0, 3}
    sizes = np.bincount(log.sessions)
    assert_array_equal(sizes, np.where(log.groups[log.positions == 0] == 7, 3, 1))
    assert_allclose(log.propensities, 1 / np.arange(1, 4))
    log = simulate_clicks(scores=[1, 2, 3, 4], n_sessions=None, **given)
    assert log.groups.tolist() == [2, 7, 7, 7]
    assert log.documents.tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize("model", ["pbm", "cascade", "dbn"])
def test_clicks_have_the_rates_of_their_model(model):
    log = simulate(n_sessions=20_000, model=model, eta=0.5, perseverance=0.8)
    satisfaction = np.array([0, 1 / 7, 1, 0])
    attraction = 0.1 + 0.9 * satisfaction
    goes = {
        "cascade": 1 - attraction,
        "dbn": 0.8 * (1 - attraction * satisfaction),
    }.get(model)
    examined = np.arange(1, 5) ** -0.5
    if model != "pbm":
        examined = np.cumprod(np.append(1, goes[:-1]))
    assert_allclose(log.propensities, examined)
    rates = np.bincount(log.positions, log.clicks) / np.bincount(log.positions)
    assert_allclose(rates, attraction * examined, atol=0.015)  # 4 standard errors
    clicks = np.bincount(log.sessions, log.clicks)
    assert (clicks.max() == 1) == (model == "cascade")


@pytest.mark.parametrize("unit", [1e-200, 1.0, 300.0])
def test_grades_of_any_size_have_their_relevance(unit):
    log = simulate(y=[0, 4 * unit, 3 * unit, 0], n_sessions=10)
    middle = {1e-200: 3 / 4, 1.0: 7 / 15, 300.0: 0.0}[unit]
    assert_allclose(log.attractiveness, [0.1, 1, 0.1 + 0.9 * middle, 0.1])
