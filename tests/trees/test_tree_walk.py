"""Walks end in the leaf that the conditions lead to; small predictions are walks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._core.compile import INTERPRETED, ROW_BLOCK, ThreadTeam
from sklearn_ltr._core.trees.evaluate import ensemble as ensemble_module
from sklearn_ltr._core.trees.evaluate.bit_sliced import BitSlicedEvaluator
from sklearn_ltr._core.trees.evaluate.compiled_walk import CompiledWalk, walk_trees
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.evaluate.tree_walk import TreeWalk
from tests.trees.forests import INF, NAN, SHAPES, by_walking, grow, nodes_of, table

ALONE = ThreadTeam(1)


all_ways = pytest.mark.parametrize(
    "evaluator", [TreeWalk, CompiledWalk, BitSlicedEvaluator]
)


# --- walks, and what takes their place ----------------------------------------------


@all_ways
@given(
    sizes=st.lists(st.integers(1, 100), min_size=1, max_size=6),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from([np.float32, np.float64]),
    n_rows=st.integers(0, 20),
    seed=st.integers(0, 10_000),
)
def test_scores_are_added_of_the_leaves_that_the_conditions_lead_to(
    evaluator, sizes, shape, dtype, n_rows, seed
):
    rng = np.random.default_rng(seed)
    ensemble = sum((grow(size, shape, rng) for size in sizes), TreeEnsemble.empty())
    X, scores = table(n_rows, dtype, rng), rng.normal(scale=1e3, size=n_rows)
    before, expected = X.copy(), scores.copy()
    for tree in range(len(sizes)):  # in their order
        expected += by_walking(ensemble.part(tree, tree + 1), X)
    X.flags.writeable = False
    evaluator(nodes_of(ensemble)).add_to(scores, X)
    assert scores.tobytes() == expected.tobytes()
    assert X.tobytes() == before.tobytes()


@all_ways
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [INF, -INF])
def test_a_row_with_an_infinite_value_gets_nan_and_the_others_their_scores(
    value, dtype, evaluator
):
    rng = np.random.default_rng(0)
    ensemble, n = grow(30, "any", rng), ROW_BLOCK + 70
    # features 5 to 44 are not tested
    X = np.hstack([table(n, dtype, rng), np.ones((n, 40), dtype)])
    expected, scores = by_walking(ensemble, X), np.zeros(n)
    rows = [0, 63, 64, ROW_BLOCK - 1, ROW_BLOCK, ROW_BLOCK + 69]
    X[rows, [44, 0, 17, 43, 4, 1]] = value
    expected[rows] = NAN
    evaluator(nodes_of(ensemble)).add_to(scores, X)
    np.testing.assert_array_equal(scores, expected)


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


@pytest.mark.parametrize(("n_leaves", "few_rows"), [(9, 2), (60, 8)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_rows_walk_by_a_kernel_and_more_do_not_but_score_alike(
    dtype, n_leaves, few_rows, monkeypatch
):
    monkeypatch.setattr(ensemble_module, "MOST_WALKS", -1)
    rng = np.random.default_rng(0)
    forest = [grow(n_leaves, "any", rng) for _ in range(4)]
    for tree in forest:  # no two conditions are equal
        tree.threshold[:] = rng.normal(size=tree.threshold.size)
    for n_rows in (0, 1, few_rows, few_rows + 1):
        ensemble = sum(forest, TreeEnsemble.empty())
        X = table(n_rows, dtype, rng)
        scores = ensemble.predict(X, ALONE)
        prepared = {"_compiled_walk" if n_rows <= few_rows else "_evaluator"}
        ways = {"_walk", "_compiled_walk", "_evaluator"}
        assert vars(ensemble).keys() & ways == prepared
        assert scores.tobytes() == by_walking(ensemble, X).tobytes()


def test_the_walk_is_compiled_once_for_each_dtype_whatever_the_flags():
    rng = np.random.default_rng(0)
    ensemble = grow(20, "any", rng) + grow(9, "any", rng)
    for array in ensemble._arrays().values():
        array.flags.writeable = False  # as of a model that is mapped from a file
    for dtype in (np.float32, np.float64):
        X = table(3, dtype, rng)
        read_only = X.copy()
        read_only.flags.writeable = False
        for layout in (X, read_only, np.asfortranarray(X)):
            scores = np.zeros(3)
            CompiledWalk(nodes_of(ensemble)).add_to(scores, layout)
            assert scores.tobytes() == by_walking(ensemble, X).tobytes()
    if not INTERPRETED:
        assert len(walk_trees.signatures) == 2


@pytest.mark.parametrize("n_threads", [1, 3])
def test_portions_of_a_table_walk_as_the_whole_does(n_threads):
    rng = np.random.default_rng(0)
    ensemble = grow(10, "any", rng) + grow(10, "any", rng)
    X = table(3 * ROW_BLOCK + 7, np.float32, rng)
    with ThreadTeam(n_threads) as team:
        scores = ensemble.predict(X, team)
    assert scores.tobytes() == by_walking(ensemble, X).tobytes()
