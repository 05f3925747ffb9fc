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
from sklearn_ltr.metrics import DCG, RBP
from tests.clicks.logs import ranking, simulated
from tests.oracles import clicks as oracle

WEIGHTS = {
    "dcg@3": lambda rank: 1 / log2(1 + rank) if rank <= 3 else 0.0,
    "dcg": lambda rank: 1 / log2(1 + rank),
    "cg@2": lambda rank: float(rank <= 2),
    "precision@4": lambda rank: 0.25 if rank <= 4 else 0.0,
    "rbp": lambda rank: 0.2 * 0.8 ** (rank - 1),
}
LOG = simulated(n_sessions=300, n_queries=20)
SCORES = np.random.default_rng(0).normal(size=len(LOG.clicks))


def judge(scores, log=LOG, rows=slice(None), **options):
    given = {name: log[name][rows] for name in ("groups", "positions", "sessions")}
    given["propensities"] = log.propensities
    return counterfactual_score(log.clicks[rows], scores, **given | options)


@pytest.mark.parametrize("metric", WEIGHTS)
@pytest.mark.parametrize("max_weight", [None, 2.5])
def test_an_estimate_is_that_of_the_definition(metric, max_weight):
    sessions = [[] for _ in range(300)]
    rows = (LOG.sessions, LOG.positions, LOG.clicks, SCORES)
    for session, *row in zip(*(column.tolist() for column in rows), strict=True):
        sessions[session].append(tuple(row))
    ips, snips = oracle.counterfactual(
        sessions, LOG.propensities, WEIGHTS[metric], max_weight
    )
    metric = RBP(persistence=0.8) if metric == "rbp" else metric
    options = {"metric": metric, "max_weight": max_weight}
    assert_allclose(judge(SCORES, **options).value, ips)
    result = judge(SCORES, estimator="snips", **options)
    assert_allclose(result.value, snips)
    assert (result.n_sessions, result.n_clicks) == (300, LOG.clicks.sum())
    assert result.n_queries == len(np.unique(LOG.groups))
    weight = 1 / LOG.propensities[LOG.positions[LOG.clicks == 1]]
    weight = np.minimum(weight, max_weight or np.inf)
    effective = weight.sum() ** 2 / (weight**2).sum()
    assert_allclose(result.effective_n_clicks, effective)


def test_the_standard_error_is_that_of_a_ratio_over_queries():
    weight = LOG.clicks / LOG.propensities[LOG.positions]
    per_session, weights = np.zeros((2, 300))
    for session in range(300):
        rows = np.flatnonzero(LOG.sessions == session)
        rank = 1 + (SCORES[rows][:, None] < SCORES[rows]).sum(axis=1)
        per_session[session] = (weight[rows] / np.log2(1 + rank)).sum()
        weights[session] = weight[rows].sum()
    query = LOG.groups[LOG.positions == 0]
    for estimator, below in (("ips", np.ones(300)), ("snips", weights)):
        ratio = per_session.sum() / below.sum()
        queries = np.unique(query[below > 0])  # those without a click inform no ratio
        n = len(queries)
        rest = [(per_session - ratio * below)[query == q].sum() for q in queries]
        expected = np.sqrt(n / (n - 1) * np.square(rest).sum()) / below.sum()
        found = judge(SCORES, estimator=estimator).standard_error
        assert_allclose(found, expected)
    assert np.isnan(judge(SCORES[LOG.groups == 3], rows=LOG.groups == 3).standard_error)


def test_equal_scores_have_the_mean_weight():
    constant = judge(np.zeros(len(LOG.clicks)), metric="precision@1")
    # every document of a list is equally likely to be the first
    length = np.bincount(LOG.sessions)[LOG.sessions]
    weight = LOG.clicks / LOG.propensities[LOG.positions]
    assert_allclose(constant.value, (weight / length).sum() / 300)


def test_differences_factors_and_the_order_of_rows():
    logged = -LOG.positions
    both = judge(SCORES, baseline_score=logged)
    assert_allclose(both.value, judge(SCORES).value - judge(logged).value)
    assert judge(SCORES, baseline_score=SCORES).standard_error == 0
    one = judge(SCORES, estimator="snips")
    # without a common factor of propensities
    quarter = LOG.propensities / 4
    assert one == judge(SCORES, estimator="snips", propensities=quarter)
    rows = np.random.default_rng(0).permutation(len(SCORES))
    assert one == judge(SCORES[rows], rows=rows, estimator="snips")


def test_estimates_are_the_metric_of_the_attractiveness():
    """The truth is known: DCG with attraction as gain, of the shown documents."""
    data, _ = ranking()
    log = simulated()
    score = np.random.default_rng(1).normal(size=len(data.target))[log.documents]
    estimate = judge(score, log, metric="dcg@3")
    attraction = log.attractiveness[log.documents]
    truth = DCG(3, gain="linear")(attraction, score, groups=log.sessions)
    # the truth is of the same sessions, so this is less than the standard error
    assert abs(estimate.value - truth) < 2 * estimate.standard_error
    # clicks as they are have the gain of examination and attraction, which is less
    examined = attraction * log.propensities[log.positions]
    seen = DCG(3, gain="linear")(examined, score, groups=log.sessions)
    naive = judge(score, log, metric="dcg@3", propensities=[1] * 10)
    assert abs(naive.value - seen) < 2 * naive.standard_error < truth - seen


# --- interleaving ---------------------------------------------------------------------


def test_a_draft_gives_each_ranker_its_best_remaining_document():
    rng = np.random.default_rng(0)
    groups = np.append(np.repeat(np.arange(200), 7), 200)
    a, b = rng.normal(size=(2, 1401))
    lists, again = (
        interleave(a, b, groups=groups, k=5, random_state=0) for _ in range(2)
    )
    assert all((lists[name] == again[name]).all() for name in lists)
    assert np.bincount(lists.groups).tolist() == [5] * 200 + [1]  # all that it has
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


@pytest.mark.parametrize("is_better", [False, True])
def test_the_better_ranker_wins_and_equal_ones_do_not(is_better):
    data, _ = ranking(n_queries=300)
    b = np.random.default_rng(0).normal(size=len(data.target))
    lists = interleave(
        data.utility if is_better else b, b, groups=data.groups, random_state=0
    )
    log = simulate_clicks(
        data.target[lists.documents], -lists.positions, groups=lists.groups,
        n_sessions=3000, random_state=0,
    )  # fmt: skip
    teams = lists.teams[log.documents]
    result = interleaving_test(log.clicks, teams=teams, sessions=log.sessions)
    assert result.n_wins_a + result.n_wins_b + result.n_ties == 3000
    two_errors = 2 * 0.5 / np.sqrt(3000)
    is_preferred = result.preference_a > 0.5 + two_errors
    assert (result.p_value < 0.01) == is_preferred == is_better


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (0, 1), (3, 3), (9, 1), (2, 11)])
def test_the_p_value_is_that_of_a_fair_coin(wins, losses):
    teams = ["a"] * wins + ["b"] * losses + ["a"]
    sessions = range(wins + losses + 1)
    clicks = [1] * (wins + losses) + [0]
    result = interleaving_test(clicks, teams=teams, sessions=list(sessions))
    assert (result.n_wins_a, result.n_wins_b, result.n_ties) == (wins, losses, 1)
    assert_allclose(result.p_value, oracle.sign_test(wins, losses))
    assert_allclose(result.preference_a, (wins + 0.5) / (wins + losses + 1))
