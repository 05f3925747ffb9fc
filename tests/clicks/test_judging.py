"""Rankers judged by clicks: counterfactual estimates and interleaving."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_ltr.clicks import (
    counterfactual_score,
    interleave,
    interleaving_test,
    simulate_clicks,
)
from sklearn_ltr.metrics import DCG, RBP, dcg_score
from tests.clicks.logs import ranking, simulated
from tests.oracles import clicks as oracle

WEIGHTS = {
    "dcg@3": lambda rank: 1 / log2(1 + rank) if rank <= 3 else 0.0,
    "dcg": lambda rank: 1 / log2(1 + rank),
    "cg@2": lambda rank: float(rank <= 2),
    "precision@4": lambda rank: 0.25 if rank <= 4 else 0.0,
    "rbp": lambda rank: 0.2 * 0.8 ** (rank - 1),
}


def judge(log, scores, **options):
    given = {name: log[name] for name in ("groups", "positions", "sessions")}
    given["propensities"] = log.propensities
    return counterfactual_score(log.clicks, scores, **given | options)


@pytest.fixture(scope="module")
def log():
    return simulated(n_sessions=300, n_queries=20)


@pytest.fixture(scope="module")
def scores(log):
    return np.random.default_rng(0).normal(size=len(log.clicks))


@pytest.mark.parametrize("metric", WEIGHTS)
@pytest.mark.parametrize("max_weight", [None, 2.5])
def test_an_estimate_is_that_of_the_definition(log, scores, metric, max_weight):
    sessions = [[] for _ in range(300)]
    rows = (log.sessions, log.positions, log.clicks, scores)
    for session, *row in zip(*(column.tolist() for column in rows), strict=True):
        sessions[session].append(tuple(row))
    ips, snips = oracle.counterfactual(
        sessions, log.propensities, WEIGHTS[metric], max_weight
    )
    metric = RBP(persistence=0.8) if metric == "rbp" else metric
    options = {"metric": metric, "max_weight": max_weight}
    assert_allclose(judge(log, scores, **options).value, ips)
    result = judge(log, scores, estimator="snips", **options)
    assert_allclose(result.value, snips)
    assert (result.n_sessions, result.n_clicks) == (300, log.clicks.sum())
    assert result.n_queries == len(np.unique(log.groups))


def test_the_standard_error_is_that_of_a_ratio_over_queries(log, scores):
    weight = log.clicks / log.propensities[log.positions]
    per_session = np.zeros(300)
    for session in range(300):
        rows = np.flatnonzero(log.sessions == session)
        rank = 1 + (scores[rows][:, None] < scores[rows]).sum(axis=1)
        per_session[session] = (weight[rows] / np.log2(1 + rank)).sum()
    query = log.groups[log.positions == 0]
    queries = np.unique(query)
    mean = per_session.mean()
    rest = [(per_session[query == q] - mean).sum() for q in queries]
    n = len(queries)
    expected = np.sqrt(n / (n - 1) * np.square(rest).sum()) / 300
    assert_allclose(judge(log, scores).standard_error, expected)


def test_equal_scores_have_the_mean_weight(log):
    constant = judge(log, np.zeros(len(log.clicks)), metric="precision@1")
    # every document of a list is equally likely to be the first
    length = np.bincount(log.sessions)[log.sessions]
    weight = log.clicks / log.propensities[log.positions]
    assert_allclose(constant.value, (weight / length).sum() / 300)


def test_a_difference_is_that_of_two_estimates(log, scores):
    logged = -log.positions
    new, old = judge(log, scores), judge(log, logged)
    both = judge(log, scores, baseline_score=logged)
    assert_allclose(both.value, new.value - old.value)
    assert judge(log, scores, baseline_score=scores).standard_error == 0


def test_a_common_factor_of_propensities_changes_no_self_normalised_estimate(
    log, scores
):
    one = judge(log, scores, estimator="snips")
    other = judge(log, scores, estimator="snips", propensities=log.propensities / 4)
    assert one == other


def test_clipped_weights_count_for_more_clicks(log, scores):
    plain, clipped = judge(log, scores), judge(log, scores, max_weight=1.5)
    assert clipped.value < plain.value
    assert plain.effective_n_clicks < clipped.effective_n_clicks <= plain.n_clicks
    equal = judge(log, scores, max_weight=1.0)
    assert_allclose(equal.effective_n_clicks, equal.n_clicks)


def test_estimates_are_the_metric_of_the_attractiveness():
    """The truth is known: DCG with attraction as gain, of the shown documents."""
    data, logging = ranking()
    for metric, k in (("dcg@3", 3), ("dcg", None)):
        log = simulated(n_sessions=20_000)
        score = np.random.default_rng(1).normal(size=len(data.target))
        estimate = judge(log, score[log.documents], metric=metric)
        truth = DCG(k, gain="linear").per_query(
            log.attractiveness[log.documents],
            score[log.documents],
            groups=log.sessions,
        )
        # the truth is of the same sessions, so this is less than the standard error
        assert abs(estimate.value - truth.mean()) < 2 * estimate.standard_error
        naive = judge(log, score[log.documents], metric=metric, propensities=[1] * 10)
        assert naive.value < 0.6 * truth.mean()


# --- interleaving ---------------------------------------------------------------------


def test_a_draft_gives_each_ranker_its_best_remaining_document():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(200), 7)
    a, b = rng.normal(size=(2, 1400))
    lists = interleave(a, b, groups=groups, k=5, random_state=0)
    assert (np.bincount(lists.groups) == 5).all()
    first = lists.teams[lists.positions == 0]
    assert 70 < (first == "a").sum() < 130  # a fair coin: 100 +- 7
    for query in range(200):
        rows = lists.groups == query
        assert lists.positions[rows].tolist() == [0, 1, 2, 3, 4]
        documents, teams = lists.documents[rows], lists.teams[rows]
        remaining = set(range(7 * query, 7 * query + 7))
        for document, team in zip(documents.tolist(), teams, strict=True):
            scores = a if team == "a" else b
            assert document == max(remaining, key=lambda d: scores[d])
            remaining.remove(document)
        for i in (0, 2):  # both have one document of each round
            assert set(teams[i : i + 2]) == {"a", "b"}


def test_a_short_query_is_shown_whole_and_the_seed_decides():
    given = {"groups": [1, 1, 1, 2], "random_state": 5}
    lists = interleave([1, 2, 3, 4], [3, 2, 1, 4], **given)
    again = interleave([1, 2, 3, 4], [3, 2, 1, 4], **given)
    assert lists.groups.tolist() == [1, 1, 1, 2]
    assert sorted(lists.documents.tolist()) == [0, 1, 2, 3]
    assert all((lists[name] == again[name]).all() for name in lists)


def test_equal_rankers_are_equally_preferred():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=2000)
    groups, grades = np.repeat(np.arange(400), 5), rng.integers(0, 3, 2000)
    lists = interleave(scores, scores, groups=groups, random_state=0)
    log = simulate_clicks(
        grades[lists.documents], -lists.positions, groups=lists.groups,
        n_sessions=None, random_state=0,
    )  # fmt: skip
    teams = lists.teams[log.documents]
    result = interleaving_test(log.clicks, teams=teams, sessions=log.sessions)
    assert 0.43 < result.preference_a < 0.57  # 0.5 +- 0.025
    assert result.p_value > 0.01
    assert result.n_wins_a + result.n_wins_b + result.n_ties == 400


def test_the_better_ranker_wins():
    data, _ = ranking(n_queries=300)
    a, b = data.utility, np.random.default_rng(0).normal(size=len(data.target))
    assert dcg_score(data.target, a, groups=data.groups) > dcg_score(
        data.target, b, groups=data.groups
    )
    lists = interleave(a, b, groups=data.groups, random_state=0)
    log = simulate_clicks(
        data.target[lists.documents], -lists.positions, groups=lists.groups,
        n_sessions=3000, random_state=0,
    )  # fmt: skip
    teams = lists.teams[log.documents]
    result = interleaving_test(log.clicks, teams=teams, sessions=log.sessions)
    assert result.preference_a > 0.52
    assert result.p_value < 0.01


@pytest.mark.parametrize(("wins", "losses"), [(0, 1), (3, 3), (9, 1), (2, 11)])
def test_the_p_value_is_that_of_a_fair_coin(wins, losses):
    teams = ["a"] * wins + ["b"] * losses + ["a"]
    sessions = range(wins + losses + 1)
    clicks = [1] * (wins + losses) + [0]
    result = interleaving_test(clicks, teams=teams, sessions=list(sessions))
    assert (result.n_wins_a, result.n_wins_b, result.n_ties) == (wins, losses, 1)
    assert_allclose(result.p_value, oracle.sign_test(wins, losses))
    assert_allclose(result.preference_a, (wins + 0.5) / (wins + losses + 1))


def test_ties_alone_prefer_nobody():
    result = interleaving_test([0, 0], teams=["a", "b"], sessions=[1, 2])
    assert (result.preference_a, result.p_value) == (0.5, 1.0)
