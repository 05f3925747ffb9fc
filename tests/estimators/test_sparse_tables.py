"""Trees of a sparse table are those of the same dense one, bit for bit."""

from __future__ import annotations

import tracemalloc
from dataclasses import fields
from itertools import product

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_ltr import LambdaMARTRanker, NothingLearnedWarning
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.strategies import SparseRows, sparse_rows

TREES = {"n_estimators": 4, "max_leaf_nodes": 8, "random_state": 0}
N_COLUMNS = SparseRows(0).X.shape[1]
SIGNS = np.resize([1, 0, -1, 0, 0], N_COLUMNS)
SETS = [[*range(0, N_COLUMNS, 2)], [*range(1, N_COLUMNS, 2), 0]]
some_examples = settings(
    max_examples=settings().max_examples // (8 if INTERPRETED else 1)
)
parameters = st.fixed_dictionaries(
    {
        "grow_policy": st.sampled_from(["best_first", "symmetric"]),
        "min_samples_leaf": st.sampled_from([1, 1, 2, 5, 20]),
        "subsample": st.sampled_from([1.0, "auto", 0.6]),
        "max_features": st.sampled_from([1.0, 0.5]),
        "colsample_bytree": st.sampled_from([1.0, 0.6]),
        "monotonic_cst": st.sampled_from([None, SIGNS]),
        "interaction_cst": st.sampled_from([None, SETS]),
        "split_gain": st.sampled_from(["second_order", "least_squares"]),
        "l2_regularization": st.sampled_from([0.0, 1.0]),
        "max_bins": st.sampled_from([2, 4, 255]),
        "n_jobs": st.sampled_from([1, 2, 3]),
    }
)


@pytest.fixture(scope="module", autouse=True)
def _four_cores():
    """Let n_jobs ask for several threads, whatever this machine has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joblib, "cpu_count", lambda: 4)
        yield


def bytes_of(model) -> list[bytes]:
    """The arrays of all trees of a model."""
    trees = getattr(model, "ensembles_", None) or [model.ensemble_]
    return [getattr(one, f.name).tobytes() for one in trees for f in fields(one)]


def assert_same(found, expected) -> None:
    """Check that arrays, or nested lists of arrays, are the same bit for bit."""
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


# --- fits ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn_ltr.NothingLearnedWarning")
@some_examples
@given(sparse_rows, parameters)
def test_a_fit_to_a_sparse_table_is_that_to_the_dense_one(d, options):
    ranker = LambdaMARTRanker(**TREES | options)
    expected = bytes_of(ranker.fit(d.X, d.y, groups=d.groups))
    table = d.csr
    assert bytes_of(ranker.fit(table, d.y, groups=d.groups)) == expected
    order = d.rng.permutation(len(d.y))
    ranker.fit(table[order], d.y[order], groups=d.groups[order])
    assert bytes_of(ranker) == expected
    if not INTERPRETED:
        ranker.set_params(n_jobs=1 + ranker.n_jobs % 3)
        assert bytes_of(ranker.fit(table, d.y, groups=d.groups)) == expected


KINDS = {
    "bag": lambda options: BaggingRanker(
        LambdaMARTRanker(**options), 3, max_samples=0.7, random_state=0
    ),
    "bag of symmetric trees": lambda options: BaggingRanker(
        LambdaMARTRanker(**options, grow_policy="symmetric"), 2, random_state=0
    ),
    "classifier": lambda options: MARTClassifier(**options, subsample=0.7),
    "regressor": lambda options: MARTRegressor(**options),
    "on a base model": lambda options: LambdaMARTRanker(
        **options, init=MARTRegressor(n_estimators=2, max_leaf_nodes=4)
    ),
    "early stopping": lambda options: LambdaMARTRanker(
        **options, early_stopping=True, n_iter_no_change=1, validation_fraction=0.3
    ),
    "shallow": lambda options: LambdaMARTRanker(**options, max_depth=2),
}


def fit(kind, X, d):
    """Fit a model of a kind to another form of X."""
    model = KINDS[kind](TREES | {"min_samples_leaf": 3})
    if kind in ("classifier", "regressor"):
        return model.fit(X, d.y > 0 if kind == "classifier" else d.y)
    return model.fit(X, d.y, groups=d.groups)


def trees_in(model) -> list[bytes]:
    """The trees of a model, or of the members of a bag."""
    members = getattr(model, "estimators_", [model])
    return [one for member in members for one in bytes_of(member)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_kind_of_model_has_the_trees_of_the_dense_table(kind, seed):
    d = SparseRows(seed)
    dense, found = fit(kind, d.X, d), fit(kind, d.csr, d)
    assert trees_in(found) == trees_in(dense)
    assert_same(found.predict(d.csr), dense.predict(d.X))
    if hasattr(dense, "validation_score_"):
        assert_same(found.validation_score_, dense.validation_score_)


@pytest.mark.parametrize("grow_policy", ["best_first", "symmetric"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_model_reads_a_sparse_table_as_the_dense_one(grow_policy, dtype):
    d = SparseRows(3)
    d.X = d.X.astype(dtype)
    ranker = LambdaMARTRanker(**TREES, grow_policy=grow_policy, min_samples_leaf=2)
    ranker.fit(d.csr, d.y, groups=d.groups)
    many = np.resize(np.arange(len(d.y)), 1500)  # more than numpy's own walks take
    for rows in (np.arange(7), many, np.arange(0)):
        dense, table = d.X[rows], d.csr[rows]
        assert_same(ranker.predict(table), ranker.predict(dense))
        staged = [list(ranker.staged_predict(X)) for X in (table, dense)]
        assert_same(*staged)
        if len(rows) > 0:
            assert_same(ranker.apply(table), ranker.apply(dense))
            groups = np.arange(len(rows)) // 7
            ranks = [ranker.rank(X, groups=groups) for X in (table, dense)]
            assert_same(*ranks)
    for background in (None, 50):
        found, expected = (
            shap_values(ranker, X, background=background and X[:background])
            for X in (d.csr, d.X)
        )
        assert_same(found.values, expected.values)


def test_a_value_that_no_tree_reads_must_be_finite_too():
    d = SparseRows(4)
    ranker = LambdaMARTRanker(**TREES).fit(d.csr, d.y, groups=d.groups)
    (unread, *_) = np.setdiff1d(np.arange(N_COLUMNS), ranker.ensemble_.feature)
    d.X[5, unread] = np.inf
    for read in (ranker.predict, ranker.apply, lambda X: [*ranker.staged_predict(X)]):
        with pytest.raises(ValueError, match=f"infinity.*row 5, column {unread}"):
            read(d.csr)


@pytest.mark.parametrize("forms", [*product(["dense", "csr"], repeat=2)])
def test_validation_curves_are_the_same_whatever_is_sparse(forms):
    d = SparseRows(5)
    part = d.groups % 3 == 0
    curves = []
    for form_of_X, form_of_X_val in (forms, ("dense", "dense")):
        form = {"dense": np.asarray, "csr": sparse.csr_array}
        ranker = LambdaMARTRanker(**TREES, min_samples_leaf=2, n_iter_no_change=2)
        ranker.fit(
            form[form_of_X](d.X[~part]),
            d.y[~part],
            groups=d.groups[~part],
            X_val=form[form_of_X_val](d.X[part]),
            y_val=d.y[part],
            groups_val=d.groups[part],
        )
        curves.append((ranker.train_score_, ranker.validation_score_))
    found, expected = curves
    assert_same(found[0], expected[0])
    assert_same(found[1], expected[1])


@pytest.mark.parametrize("forms", [*product([np.asarray, sparse.csr_array], repeat=2)])
def test_a_warm_start_goes_on_from_either_form(forms):
    d = SparseRows(6)
    whole = LambdaMARTRanker(**TREES, min_samples_leaf=2).fit(d.X, d.y, groups=d.groups)
    ranker = LambdaMARTRanker(**TREES, min_samples_leaf=2, warm_start=True)
    for n_estimators, form in zip((2, 4), forms, strict=True):
        ranker.set_params(n_estimators=n_estimators)
        ranker.fit(form(d.X), d.y, groups=d.groups)
    assert bytes_of(ranker) == bytes_of(whole)


def test_a_fit_that_learns_nothing_says_the_same():
    d = SparseRows(7)
    messages = []
    for X in (d.X, d.csr):
        n_rows = len(d.y) // 2
        ranker = LambdaMARTRanker(**TREES, min_samples_leaf=n_rows)
        with pytest.warns(NothingLearnedWarning) as warned:
            ranker.fit(X, d.y, groups=d.groups)
        said = [one for one in warned if one.category is NothingLearnedWarning]
        messages.append([str(one.message) for one in said])
    assert messages[0] == messages[1]
    assert "in its smaller leaf" in messages[0][0]


# --- memory ---------------------------------------------------------------------------


@pytest.mark.skipif(INTERPRETED, reason="loops over many rows")
@pytest.mark.parametrize("grow_policy", ["best_first", "symmetric"])
def test_neither_fits_nor_predictions_make_a_wide_table_dense(grow_policy):
    rng = np.random.default_rng(0)
    n_rows, n_columns, in_a_row = (3000, 10_000, 5)
    words = (n_columns * rng.uniform(size=(n_rows, in_a_row)) ** 4).astype(int)
    rows = np.arange(n_rows).repeat(in_a_row)
    X = sparse.csr_array(
        (np.ones(words.size), (rows, words.ravel())), shape=(n_rows, n_columns)
    )
    groups = np.arange(n_rows) // 10
    y = (words < 10).sum(axis=1)
    ranker = LambdaMARTRanker(
        n_estimators=3, grow_policy=grow_policy, subsample=0.5, random_state=0
    )
    ranker.fit(X[:200], y[:200], groups=groups[:200])  # compiles
    tracemalloc.start()
    ranker.fit(X, y, groups=groups)
    ranker.predict(X)
    ranker.apply(X)
    shap_values(ranker, X[:100])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (ranker.ensemble_.feature >= 0).any()
    assert peak < n_rows * n_columns / 2  # half of a byte for each value
