"""Walks end in the leaf that the conditions lead to; small predictions are walks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr._compile import ROW_BLOCK, ThreadTeam
from sklearn_ltr._trees import ensemble as ensemble_module
from sklearn_ltr._trees.bit_sliced import BitSlicedEvaluator
from sklearn_ltr._trees.ensemble import TreeEnsemble
from sklearn_ltr._trees.tree_walk import TreeWalk
from tests.trees.forests import INF, NAN, SHAPES, by_walking, grow, nodes_of, table

ALONE = ThreadTeam(1)


def walked(ensemble, X) -> np.ndarray:
    scores = np.zeros(len(X))
    TreeWalk(nodes_of(ensemble)).add_to(scores, X)
    return scores


# --- walks ------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 100), min_size=1, max_size=6),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 10_000),
)
def test_a_walk_ends_in_the_leaf_that_the_conditions_lead_to(sizes, shape, dtype, seed):
    rng = np.random.default_rng(seed)
    ensemble = sum((grow(size, shape, rng) for size in sizes), TreeEnsemble.empty())
    X = table(20, dtype, rng)
    assert walked(ensemble, X).tobytes() == by_walking(ensemble, X).tobytes()


@pytest.mark.parametrize("value", [INF, -INF])
def test_a_row_with_an_infinite_value_gets_nan_and_the_others_their_scores(value):
    rng = np.random.default_rng(0)
    ensemble = grow(30, "any", rng)
    X = np.hstack([table(9, np.float32, rng), np.ones((9, 3), dtype=np.float32)])
    expected = by_walking(ensemble, X)
    X[[0, 4, 8], [0, 7, 5]] = value  # features 5 to 7 are not tested
    expected[[0, 4, 8]] = NAN
    np.testing.assert_array_equal(walked(ensemble, X), expected)


def test_values_are_added_in_the_order_of_the_trees():
    rng = np.random.default_rng(0)
    ensemble = sum((grow(50, "any", rng) for _ in range(9)), TreeEnsemble.empty())
    X = table(30, np.float64, rng)
    scores = rng.normal(scale=1e3, size=30)
    expected = scores.copy()
    for tree in range(9):
        expected += by_walking(ensemble.part(tree, tree + 1), X)
    TreeWalk(nodes_of(ensemble)).add_to(scores, X)
    assert scores.tolist() == expected.tolist()


def test_no_rows_take_no_walk():
    ensemble = grow(5, "any", np.random.default_rng(0))
    assert walked(ensemble, np.empty((0, 5))).tolist() == []


def test_a_walk_leaves_the_rows_as_they_are():
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        X = table(20, dtype, rng)
        before = X.copy()
        X.flags.writeable = False
        walked(grow(9, "any", rng), X)
        assert X.tobytes() == before.tobytes()


# --- the choice -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_model_s_first_predictions_walk_and_later_ones_do_not_but_score_alike(
    dtype, monkeypatch
):
    rng = np.random.default_rng(0)
    ensemble = sum((grow(31, "any", rng) for _ in range(10)), TreeEnsemble.empty())
    X = table(50, dtype, rng)
    prepared = []

    class Recorded(BitSlicedEvaluator):
        def __init__(self, nodes):
            prepared.append(nodes)
            super().__init__(nodes)

    monkeypatch.setattr(ensemble_module, "BitSlicedEvaluator", Recorded)
    monkeypatch.setattr(ensemble_module, "MOST_WALKS", 1_200)
    scores = []
    for expected in (0, 0, 1, 1):  # each is 500 walks
        scores.append(ensemble.predict(X, ALONE).tobytes())
        assert len(prepared) == expected
    assert set(scores) == {by_walking(ensemble, X).tobytes()}
    # another model makes its own choice
    other = replace(ensemble)
    assert other.predict(X, ALONE).tobytes() == scores[0]
    assert len(prepared) == 1
    stages = list(other.staged_predict(X))
    assert len(prepared) == 1
    monkeypatch.setattr(ensemble_module, "MOST_WALKS", 0)
    assert (
        np.array(list(other.staged_predict(X))).tobytes() == np.array(stages).tobytes()
    )
    assert len(prepared) == 1 + len(ensemble)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_portions_of_a_table_walk_as_the_whole_does(n_threads):
    rng = np.random.default_rng(0)
    ensemble = grow(10, "any", rng) + grow(10, "any", rng)
    X = table(3 * ROW_BLOCK + 7, np.float32, rng)
    with ThreadTeam(n_threads) as team:
        scores = ensemble.predict(X, team)
    assert scores.tobytes() == walked(ensemble, X).tobytes()
