"""Short lists side by side give the bits of each list alone."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import RowColumns, TrainingData
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.lambdas import graded_pairs
from sklearn_ltr._core.lambdas.graded_pairs import GradedLambdas
from sklearn_ltr._core.lambdas.pair import PairOptions
from sklearn_ltr.metrics._ranked_list import rank_documents
from sklearn_ltr.metrics._short_lists import LONGEST_SHORT, WINDOW
from tests.lambdas.test_lambdas import every_metric, metric_of
from tests.oracles import metrics as oracle

SIZES = {  # lengths of lists
    "all lengths": np.random.default_rng(0).integers(1, LONGEST_SHORT + 9, 400),
    "threes": np.full(WINDOW + 3, 3),
    "two threes": np.full(2, 3),
    "one short among long": np.array([40, 5, 40]),
    "singles and the longest short": np.repeat([1, LONGEST_SHORT], 30),
}
OPTIONS = {
    "plain": PairOptions(1.0),
    "by distance": PairOptions(0.5, by_distance=True),
    "by query": PairOptions(3.0, by_query=True),
    "both": PairOptions(1.0, True, True),
}
every_size = pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)


def lists_of(sizes):
    """Scores, grades and offsets, with ties, equal grades and scores far apart."""
    rng = np.random.default_rng(len(sizes))
    n = int(sizes.sum())
    scores, grades = rng.normal(size=n), rng.integers(0, 5, n).astype(float)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    for query, (start, stop) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        if query % 3 == 1:
            scores[start:stop] = scores[start:stop].round()
        if query % 7 == 2:
            grades[start:stop] = 1.0
        if query % 11 == 5:
            scores[start:stop] *= 1e4  # e^-s underflows
    return scores, grades, offsets


def lambdas_of(scores, grades, offsets, metric, options, weights, n_threads=1):
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2, len(offsets) - 1)
    columns = RowColumns(sample_weight=weight)
    data = TrainingData(LabelGrades.of_one(grades), offsets, None, columns)
    with ThreadTeam(n_threads) as team:
        objective = GradedLambdas(data, metric, options, team, weights)
        gradient, hessian = objective.derivatives(scores)
    return gradient.tobytes(), hessian.tobytes()


@pytest.fixture
def alone(monkeypatch):
    """Whether a query was computed by itself: those that were, once one has run."""
    computed = []

    def record(*arguments, compute=graded_pairs.compute_query_lambdas):
        thread, n_threads, bounds, counters, remains, *_ = arguments
        computed.extend(np.flatnonzero(remains).tolist())
        compute(*arguments)

    monkeypatch.setattr(graded_pairs, "compute_query_lambdas", record)
    return computed


@every_metric
@every_size
@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_bits_are_those_of_each_list_alone(
    name, sizes, k, options, alone, monkeypatch
):
    given = (*lists_of(sizes), metric_of(name, k), options, None)
    together = lambdas_of(*given)
    n_alone = len(alone)
    monkeypatch.setattr(graded_pairs, "LONGEST_SHORT", 0)
    assert lambdas_of(*given) == together
    assert len(alone) - n_alone == len(sizes) >= n_alone
    if len(sizes) > WINDOW:
        assert n_alone < len(sizes) / 2  # so this test is about something


@every_size
@pytest.mark.parametrize("name", ["none", "ndcg"])
def test_weights_of_pairs_give_the_bits_of_each_list_alone(name, sizes, monkeypatch):
    scores, grades, offsets = lists_of(sizes)
    weights = np.random.default_rng(2).integers(1, 4, (2, len(scores))) / 2
    given = (scores, grades, offsets, metric_of(name, 5), OPTIONS["both"], weights)
    together = lambdas_of(*given)
    monkeypatch.setattr(graded_pairs, "LONGEST_SHORT", 0)
    assert lambdas_of(*given) == together


def test_neither_neighbours_nor_threads_matter():
    scores, grades, offsets = lists_of(SIZES["all lengths"])
    given = (metric_of("ndcg", None), OPTIONS["both"], None)
    expected = lambdas_of(scores, grades, offsets, *given)
    for n_threads in (2, 3):
        assert lambdas_of(scores, grades, offsets, *given, n_threads) == expected


@every_size
@pytest.mark.parametrize("stable", [False, True])
def test_short_lists_are_in_order(sizes, stable):
    scores, grades, offsets = lists_of(sizes)
    order = np.full(len(scores), -1)
    longest = int(sizes.max())
    rank_documents(0, len(sizes), scores, grades, offsets, longest, order, stable)
    for start, stop in zip(offsets[:-1], offsets[1:], strict=True):
        expected = (
            oracle.ranked_in_row_order(scores[start:stop])
            if stable
            else oracle.ranked_against_the_model(scores[start:stop], grades[start:stop])
        )
        assert (order[start:stop] - start).tolist() == expected


def test_lists_without_documents_are_skipped():
    order, offsets = np.full(3, -1), np.array([0, 0, 3, 3, 3])
    scores, grades = np.array([1.0, 3.0, 2.0]), np.ones(3)
    rank_documents(0, 4, scores, grades, offsets, 3, order, False)
    assert order.tolist() == [1, 2, 0]
