"""Rows of minimal variance against the formula, and what trees on them promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data.row_hashes import COLUMN_STEP, FACTOR_1, FACTOR_2
from sklearn_ltr._core.parameters import read_parameters
from sklearn_ltr._core.trees.growth.quantization import RowDerivatives
from sklearn_ltr._core.trees.growth.sampling import uniform
from sklearn_ltr._core.trees.parameters import TreeParameters
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTRegressor
from tests import from_python
from tests.oracles import trees as oracle
from tests.trees import STREAM, prepare

N = 2000
DATA = make_ranking(n_queries=120, n_documents=30, random_state=0)
GIVEN = {"X": DATA.data, "y": DATA.target, "groups": DATA.groups}

number_of_stream = from_python(uniform)
UNIFORM = np.array([number_of_stream(STREAM, i) for i in range(N)])


def draw(derivatives, subsample, *, n_threads=1, **options):
    with ThreadTeam(n_threads) as team:
        return prepare(derivatives, subsample, team=team, **options)[1]


def heavy_tailed(seed, n=N, zeros=0.0) -> RowDerivatives:
    rng = np.random.default_rng(seed)
    gradient = rng.standard_t(2, n) * (rng.random(n) >= zeros)
    return RowDerivatives(gradient, np.abs(rng.normal(size=n)) * (gradient != 0))


@settings(max_examples=settings().max_examples // 2)
@given(
    seed=st.integers(0, 10**6),
    subsample=st.floats(0.01, 0.99),
    exponent=st.integers(-300, 300),
    zeros=st.sampled_from([0.0, 0.5, 0.95]),
)
def test_a_row_is_kept_with_its_probability_and_counts_as_one_over_it(
    seed, subsample, exponent, zeros
):
    gradient, hessian = heavy_tailed(seed, zeros=zeros)
    unit = 2.0**exponent
    sample = draw(RowDerivatives(gradient * unit, hessian), subsample)
    p = oracle.sampling_probabilities(gradient, hessian, subsample * N)
    kept = np.zeros(N, dtype=bool)
    kept[sample.rows] = True
    # mu is found to a fraction of a percent, so only rows with u close to p may differ
    assert (kept == (UNIFORM < p))[np.abs(UNIFORM - p) > 0.005 * p].all()
    assert (np.diff(sample.rows) > 0).all()
    expected = np.array([gradient * unit, hessian])[:, sample.rows] / p[sample.rows]
    np.testing.assert_allclose(sample.derivatives, expected, rtol=0.005)


def test_the_number_of_rows_and_the_sums_are_right_in_the_mean():
    derivatives = heavy_tailed(0, 200_000)
    sample = draw(derivatives, 0.3)
    assert len(sample.rows) == pytest.approx(60_000, rel=0.01)
    for whole, sampled_values in zip(derivatives, sample.derivatives, strict=True):
        total = np.abs(whole).sum()
        assert np.abs(sampled_values).sum() == pytest.approx(total, rel=0.02)
    rows = draw(derivatives, 0.3, second_order=False).derivatives.hessian
    assert rows.sum() == pytest.approx(200_000, rel=0.05)  # least squares counts them


def test_rows_without_derivatives_are_never_kept():
    some = RowDerivatives(*np.array([[0.0, 1, 0, -2], [0.0, 0, 0, 1]]))
    sample = draw(some, 0.9)  # there are fewer than 3.6 others: all of them
    assert sample.rows.tolist() == [1, 3]
    np.testing.assert_array_equal(sample.derivatives, [[1.0, -2], [0.0, 1]])
    assert len(draw(RowDerivatives(*np.zeros((2, 4))), 0.5).rows) == 0


def test_a_row_is_drawn_by_its_number_whatever_threads_and_workers():
    derivatives, order = heavy_tailed(1), np.random.default_rng(2).permutation(N)
    sample = draw(derivatives, 0.3)
    moved = RowDerivatives(*(one[order] for one in derivatives))
    for n_threads in (1, 2, 3):
        other = draw(moved, 0.3, numbers=order, n_threads=n_threads)
        assert sorted(order[other.rows]) == sample.rows.tolist()
        np.testing.assert_array_equal(other.row_numbers, order[other.rows])


# --- random numbers -----------------------------------------------------------------


def stream_of(bits: int) -> np.uint64:
    """The stream whose number 0 is made of these bits."""
    size = 2**64
    key = invert_shift(bits, 31)
    key = invert_shift(key * pow(int(FACTOR_2), -1, size) % size, 27)
    key = invert_shift(key * pow(int(FACTOR_1), -1, size) % size, 30)
    return np.uint64((key - int(COLUMN_STEP)) % size)


def invert_shift(mixed: int, shift: int) -> int:
    """Return the key of which ``key ^ (key >> shift)`` is given."""
    key = mixed
    while mixed := mixed >> shift:
        key ^= mixed
    return key


@pytest.mark.parametrize(
    ("bits", "u"),
    [
        (0, 2.0**-54),
        (2**63, 0.5 + 2.0**-54),
        (2**64 - 2**12, 1 - 2.0**-52),
        (2**64 - 2**11, 1 - 2.0**-53),  # and half of the last bit would round to 1
        (2**64 - 1, 1 - 2.0**-53),
    ],
)
def test_no_draw_rounds_to_0_or_1(bits, u):
    with np.errstate(over="ignore"):
        assert number_of_stream(stream_of(bits), 0) == u


# --- trees ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split_gain": "least_squares"},
        {"monotonic_cst": [1, -1] + [0] * 18},
        {"max_leaf_nodes": 300, "min_samples_leaf": 2},
        {"position_bias": None, "max_features": 0.5},
    ],
    ids=str,
)
def test_values_and_numbers_of_rows_of_leaves_are_those_of_all_rows(options):
    ranker = LambdaMARTRanker(
        n_estimators=3, learning_rate=0.5, random_state=0, **options
    ).fit(**GIVEN)
    trees, leaves = ranker.ensemble_, ranker.apply(DATA.data)
    firsts = [*trees.first_node, len(trees.feature)]
    for m, (first, last) in enumerate(zip(firsts, firsts[1:], strict=False)):
        counts = np.bincount(leaves[:, m], minlength=last - first)
        # queries with one grade have no pairs, so that trees do not see them
        is_leaf = trees.feature[first:last] < 0
        seen = trees.n_rows[first:last]
        assert (seen[is_leaf] <= counts[is_leaf]).all()
        assert seen[is_leaf].sum() == trees.n_rows[firsts[0] : firsts[1]].sum()
    *_, last_stage = ranker.staged_predict(DATA.data)
    np.testing.assert_array_equal(last_stage, ranker.predict(DATA.data))


def test_a_leaf_of_a_sample_is_the_mean_of_all_of_its_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), rng.normal(size=600)
    regressor = MARTRegressor(
        n_estimators=1, learning_rate=1.0, subsample=0.2, early_stopping=False,
        min_samples_leaf=10, random_state=0,
    ).fit(X, y)  # fmt: skip
    leaf = regressor.apply(X)[:, 0]
    means = np.bincount(leaf, y) / np.maximum(np.bincount(leaf), 1)
    np.testing.assert_allclose(regressor.predict(X), means[leaf], rtol=1e-9)
    assert len(np.unique(leaf)) > 5


def test_the_automatic_fraction_is_a_fifth_or_500_rows_up_to_four_fifths():
    n_rows = (10, 625, 1000, 2500, 10**6)
    parameters = read_parameters(TreeParameters, MARTRegressor(subsample="auto"))
    found = [parameters.sampled_fraction(n) for n in n_rows]
    assert found == [0.8, 0.8, 0.5, 0.2, 0.2]


def test_a_sample_follows_the_seed_and_changes_from_tree_to_tree():
    options = {"n_estimators": 2}
    options |= {"subsample": 0.2, "learning_rate": 1e-9}  # the same gradients
    a, again, b = (
        LambdaMARTRanker(**options, random_state=seed).fit(**GIVEN).ensemble_
        for seed in (0, 0, 1)
    )
    assert a.threshold.tobytes() == again.threshold.tobytes() != b.threshold.tobytes()
    first, second = a.part(0, 1), a.part(1, 2)
    assert first.threshold.tobytes() != second.threshold.tobytes()


def test_splits_of_a_sample_find_what_all_rows_show():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 4))
    y = np.where(X[:, 2] > 0.3, 1.0, -1.0) + 0.1 * rng.normal(size=5000)

    def split(subsample, seed=0):
        return (
            MARTRegressor(
                n_estimators=1, max_leaf_nodes=2, subsample=subsample,
                early_stopping=False, random_state=seed,
            )
            .fit(X, y)
            .ensemble_
        )  # fmt: skip

    sampled, whole = [split(0.1, seed) for seed in range(20)], split(1.0)
    for tree in (*sampled, whole):
        assert tree.feature[0] == 2
        assert tree.threshold[0] == pytest.approx(0.3, abs=0.03)
    # a gain is that of all rows, in the mean
    gains = [tree.gain[0] for tree in sampled]
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert np.mean(gains) == pytest.approx(whole.gain[0], abs=3 * error)
    assert error < 0.03 * whole.gain[0]
