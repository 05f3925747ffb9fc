"""Predictions from raw values equal predictions from bins, bit for bit."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sklearn_ltr._core.compile import INTERPRETED, ThreadTeam
from sklearn_ltr._core.data.tables import table_of
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.growth.leaf_values import add_binned
from tests.trees import ONE_THREAD, Grown, grow_on

NAN = float("nan")
RNG = np.random.default_rng(5)


def by_bins(grown: Grown) -> np.ndarray:
    scores = np.zeros(grown.binned.stored.columns.shape[1])
    add_binned(grown.binned, grown.tree, scores, ONE_THREAD)
    return scores


def forest(n=60, n_features=20, n_trees=5, dtype=np.float64, seed=0):
    """A table with missing values, and some trees grown on it, all on the same bins."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).astype(dtype)
    X[rng.uniform(size=X.shape) < 0.2] = NAN
    grown = [
        grow_on(
            X, rng.normal(size=n), rng.uniform(0.1, 1, n), max_leaf_nodes=6, max_bins=20
        )
        for _ in range(n_trees)
    ]
    return X, grown


def joined(grown: list[Grown]) -> TreeEnsemble:
    return TreeEnsemble.from_grown([g.tree for g in grown], grown[0].mapper)


@pytest.mark.parametrize("categorical", [(), (2,)])
def test_trees_are_taken_apart_as_they_were_joined(categorical):
    X, grown = forest()
    X[:, 2] = np.arange(len(X)) % 7
    grown = [
        grow_on(
            X, RNG.normal(size=60), np.ones(60), max_bins=20, categorical=categorical
        )
        for _ in range(4)
    ]
    ensemble, mapper = joined(grown), grown[0].mapper
    for found, one in zip(ensemble.grown(mapper), grown, strict=True):
        scores = np.zeros(60)
        add_binned(one.binned, found, scores, ONE_THREAD)
        np.testing.assert_array_equal(scores, one.scores)
    again = TreeEnsemble.from_grown(ensemble.grown(mapper), mapper)
    assert pickle.dumps(again) == pickle.dumps(ensemble)


def test_trees_of_other_bins_are_refused():
    X, grown = forest()
    ensemble = joined(grown)
    between = replace(ensemble, threshold=ensemble.threshold - 1e-9)
    with pytest.raises(ValueError, match="other thresholds .* warm_start=False"):
        between.grown(grown[0].mapper)


# --- raw values and bins ----------------------------------------------------------


@given(
    X=hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        st.tuples(st.integers(2, 25), st.integers(1, 3)),
        elements=st.one_of(
            st.floats(-2, 2, width=16),
            st.floats(width=32, allow_infinity=False),
            st.sampled_from([0.0, -0.0, NAN, 1.0, 1.0000001, 3e38, -3e38]).map(
                lambda x: float(np.float32(x))
            ),
        ),
    ),
    seed=st.integers(0, 1000),
    max_bins=st.sampled_from([2, 4, 255]),
)
def test_a_training_row_reaches_the_same_leaf_by_value_as_by_bin(X, seed, max_bins):
    rng = np.random.default_rng(seed)
    n = len(X)
    grown = grow_on(
        X,
        rng.normal(size=n),
        rng.uniform(0.1, 1, n),
        max_leaf_nodes=8,
        max_bins=max_bins,
    )
    raw = grown.ensemble.predict(X, ONE_THREAD)
    np.testing.assert_array_equal(raw, grown.scores)
    np.testing.assert_array_equal(by_bins(grown), grown.scores)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_new_row_reaches_the_same_leaf_by_value_as_by_bin(dtype):
    _, grown = forest(dtype=dtype)
    rng = np.random.default_rng(1)
    new = rng.normal(scale=2, size=(500, 20)).astype(dtype)
    new[rng.uniform(size=new.shape) < 0.3] = NAN
    mapper = grown[0].mapper
    # some values equal a threshold
    new[:20] = [[some[len(some) // 2] for some in mapper.bin_thresholds]]
    binned = mapper.transform(table_of(new), np.arange(500), ONE_THREAD)
    for one in grown:
        scores = np.zeros(500)
        add_binned(binned, one.tree, scores, ONE_THREAD)
        np.testing.assert_array_equal(one.ensemble.predict(new, ONE_THREAD), scores)


# --- sums of trees ----------------------------------------------------------------


def test_predictions_start_from_the_base_score():
    X, grown = forest()
    ensemble, base_score = joined(grown), np.arange(len(X), dtype=np.float64)
    before = base_score.copy()
    scores = ensemble.predict(X, ONE_THREAD, base_score)
    (*_, last) = ensemble.staged_predict(X, base_score)
    np.testing.assert_array_equal(base_score, before)
    np.testing.assert_array_equal(last, scores)
    for one in grown:
        before += by_bins(one)
    np.testing.assert_array_equal(scores, before)


def test_an_empty_ensemble_predicts_zero():
    none = TreeEnsemble.empty()
    assert len(none) == 0
    assert none.predict(np.ones((3, 2)), ONE_THREAD).tolist() == [0, 0, 0]
    assert none.gain_by_feature(2).tolist() == [0, 0]


def test_gains_are_summed_by_feature():
    _, grown = forest()
    expected = np.zeros(20)
    for one in grown:
        for node in np.flatnonzero(one.tree.feature >= 0):
            expected[one.tree.feature[node]] += one.tree.gain[node]
    np.testing.assert_allclose(joined(grown).gain_by_feature(20), expected, rtol=1e-14)


@pytest.mark.parametrize("n", [1, 511, 513, 1500, 40_000])
def test_the_number_of_threads_and_the_blocks_of_rows_do_not_matter(n):
    if INTERPRETED and n > 1500:
        pytest.skip("loops over many rows")
    _, grown = forest()
    ensemble = joined(grown)
    X = np.random.default_rng(2).normal(size=(n, 20))
    one_by_one = [
        ensemble.predict(X[i : i + 1], ONE_THREAD)[0] for i in range(0, n, 97)
    ]
    for n_threads in (1,) if INTERPRETED else (1, 2, 4):
        with ThreadTeam(n_threads) as team:
            scores = ensemble.predict(X, team)
        np.testing.assert_array_equal(scores[::97], one_by_one)
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_array_equal(ensemble.predict(other, ONE_THREAD), scores)
