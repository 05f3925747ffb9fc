"""Simulated logs follow their model, and their seed decides them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_ltr.clicks import simulate_clicks
from tests.clicks.logs import ranking, simulated

ONE_LIST = {"y": [0, 3, 1, 0], "scores": [1, 2, 3, 4], "groups": ["q"] * 4}


def simulate(**options):
    return simulate_clicks(**ONE_LIST | {"random_state": 0} | options)


def rates(log):
    """Fraction of sessions with a click, by position."""
    return np.bincount(log.positions, log.clicks) / np.bincount(log.positions)


def test_the_seed_decides_the_log():
    data, scores = ranking()
    one, again, other = (
        simulate_clicks(data.target, scores, groups=data.groups, random_state=seed)
        for seed in (3, 3, 4)
    )
    for name in one:
        assert_array_equal(one[name], again[name])
    assert not np.array_equal(one.clicks, other.clicks)


def test_lists_are_in_the_order_of_the_scores():
    log = simulate(n_sessions=2, k=3)
    assert log.documents.tolist() == [3, 2, 1] * 2
    assert log.positions.tolist() == [0, 1, 2] * 2
    assert log.sessions.tolist() == [0] * 3 + [1] * 3
    assert log.groups.tolist() == ["q"] * 6
    assert log.clicks.dtype == log.documents.dtype == np.int64
    expected = 0.1 + 0.9 * np.array([0, 7, 1, 0]) / 7
    assert_allclose(log.attractiveness, expected)


def test_of_equal_scores_the_lower_grade_is_shown_first():
    log = simulate(scores=[1, 1, 1, 0], n_sessions=1)
    assert log.documents.tolist() == [0, 2, 1, 3]


def test_every_query_and_every_ranker_is_drawn():
    log = simulate_clicks(
        [1, 0, 0, 1, 1],
        [[1, 3], [2, 2], [3, 1], [1, 2], [2, 1]],
        groups=[7, 7, 7, 2, 2],
        n_sessions=200,
        random_state=0,
    )
    first = log.documents[log.positions == 0]
    assert set(first.tolist()) == {2, 0, 4, 3}
    assert np.bincount(log.sessions)[log.groups[log.positions == 0] == 2].max() == 2


def test_one_session_for_each_query():
    log = simulate_clicks(
        [1, 0, 0, 1], [1, 2, 3, 4], groups=[7, 7, 7, 2], n_sessions=None
    )
    assert log.groups.tolist() == [2, 7, 7, 7]
    assert log.documents.tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize("eta", [0, 0.5, 2])
def test_clicks_of_the_position_based_model_have_its_rates(eta):
    log = simulate(n_sessions=20_000, eta=eta)
    attraction = np.array([0.1, 0.1 + 0.9 / 7, 1, 0.1])
    truth = (1 / np.arange(1, 5)) ** eta
    assert_allclose(log.propensities, truth)
    assert_allclose(rates(log), attraction * truth, atol=0.015)  # 4 standard errors


def test_clicks_of_the_cascade_have_its_rates():
    log = simulate(n_sessions=20_000, model="cascade")
    attraction = np.array([0.1, 0.1 + 0.9 / 7, 1, 0.1])
    examined = np.cumprod(np.append(1, 1 - attraction[:-1]))
    assert_allclose(log.propensities, examined)
    assert_allclose(rates(log), attraction * examined, atol=0.015)
    assert np.bincount(log.sessions, log.clicks).max() == 1


def test_clicks_of_the_network_have_its_rates():
    log = simulate(n_sessions=20_000, model="dbn", perseverance=0.8)
    attraction = np.array([0.1, 0.1 + 0.9 / 7, 1, 0.1])
    satisfaction = np.array([0, 1 / 7, 1, 0])
    goes = 0.8 * (1 - attraction * satisfaction)
    examined = np.cumprod(np.append(1, goes[:-1]))
    assert_allclose(log.propensities, examined)
    assert_allclose(rates(log), attraction * examined, atol=0.015)
    assert np.bincount(log.sessions, log.clicks).max() > 1


def test_queries_of_different_lengths_have_their_own_lists():
    log = simulate_clicks(
        [2, 0, 1, 1, 2], [5, 4, 3, 2, 1], groups=[1, 1, 1, 1, 2], random_state=0
    )
    sizes = np.bincount(log.sessions)
    assert set(sizes.tolist()) == {1, 4}
    assert_allclose(log.propensities, 1 / np.arange(1, 5))


@pytest.mark.parametrize("unit", [1e-200, 1.0, 300.0])
def test_grades_of_any_size_have_their_relevance(unit):
    log = simulate(y=[0, 4 * unit, 3 * unit, 0], n_sessions=10)
    middle = {1e-200: 3 / 4, 1.0: 7 / 15, 300.0: 0.0}[unit]
    assert_allclose(log.attractiveness, [0.1, 1, 0.1 + 0.9 * middle, 0.1])


def test_logs_of_other_rows_of_the_same_documents_are_the_same():
    data, scores = ranking()
    rows = np.random.default_rng(0).permutation(len(data.target))
    log = simulated(n_sessions=500)
    other = simulate_clicks(
        data.target[rows],
        scores[rows],
        groups=data.groups[rows],
        n_sessions=500,
        random_state=0,
    )
    assert_array_equal(rows[other.documents], log.documents)
    assert_array_equal(other.clicks, log.clicks)
