"""Random weights and noise of rows, and what trees make of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._data.query_index import RowNumbers
from sklearn_ltr._data.row_hashes import COLUMN_STEP, FACTOR_1, FACTOR_2
from sklearn_ltr._trees.boosting import bayesian_weights, noisy_scores
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.trees import all_rows, grow_on

N = 20_000
ALL = all_rows(N)
DATA = make_ranking(60, n_features=6, n_informative=3, random_state=0)
OPTIONS = {"n_estimators": 8, "min_samples_leaf": 5, "split_noise": 0.0}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_weights_are_exponential_to_the_power_of_the_temperature(temperature):
    weights = bayesian_weights(rng(), ALL, temperature)
    assert (weights > 0).all()
    assert stats.kstest(weights ** (1 / temperature), "expon").pvalue > 0.01


def test_noise_is_logistic_with_the_standard_deviation():
    scores = rng(1).normal(size=N)
    noise = noisy_scores(rng(), ALL, scores, 0.25) - scores
    scale = 0.25 * np.sqrt(3) / np.pi
    assert stats.kstest(noise, "logistic", args=(0, scale)).pvalue > 0.01
    assert noise.std() == pytest.approx(0.25, rel=0.03)


@pytest.mark.parametrize("draw", [bayesian_weights, noisy_scores])
def test_draws_are_independent_of_each_other_and_follow_the_generator(draw):
    rows = (ALL,) if draw is bayesian_weights else (ALL, np.zeros(N))
    one, other, again = (draw(rng(seed), *rows, 1.0) for seed in (0, 1, 0))
    np.testing.assert_array_equal(again, one)
    # within four standard errors of no correlation
    for a, b in ((one, other), (one[1:], one[:-1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(N)


def test_a_row_draws_by_its_number_wherever_it_is():
    # rows 5 to 7, then 100 to 149: two runs of the numbers of all rows
    part = RowNumbers(np.array([5, 100]), np.array([0, 3, 53]), N)
    rows = np.append(np.arange(5, 8), np.arange(100, 150))
    scores = rng(1).normal(size=N)
    np.testing.assert_array_equal(
        bayesian_weights(rng(), part, 0.5), bayesian_weights(rng(), ALL, 0.5)[rows]
    )
    np.testing.assert_array_equal(
        noisy_scores(rng(), part, scores[rows], 0.3),
        noisy_scores(rng(), ALL, scores, 0.3)[rows],
    )


class Fixed:
    """A generator whose one number makes the first row draw these bits."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def integers(self, high: int, dtype: type) -> np.uint64:
        size = 2**64
        key = invert_shift(self.bits, 31)
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
    (weight, *_) = bayesian_weights(Fixed(bits), ALL, 1.0)
    assert weight == pytest.approx(-np.log(u), rel=1e-9)
    (noise, *_) = noisy_scores(Fixed(bits), ALL, np.zeros(N), 1.0)
    logistic = (np.log(u) - np.log1p(-u)) * np.sqrt(3) / np.pi
    assert noise == pytest.approx(logistic, rel=1e-9, abs=1e-15)
    assert (bayesian_weights(Fixed(bits), ALL, 2.0) > 0).all()


def test_splits_are_sought_with_the_weights_and_leaf_values_without():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    gradient, hessian = np.array([-1.0, -3.0, 1.0, 2.0]), np.ones(4)
    plain = grow_on(X, gradient, hessian, max_leaf_nodes=2)
    # the rows of which feature 0 is good count for little
    weights = np.array([1e-3, 1.0, 1.0, 1e-3])
    weighted = grow_on(X, gradient, hessian, max_leaf_nodes=2, weights=weights)
    assert plain.tree.feature[0] == 0
    weighted_sums = gradient * weights
    gains = [
        sum(
            weighted_sums[X[:, j] == side].sum() ** 2 / weights[X[:, j] == side].sum()
            for side in (0, 1)
        )
        for j in (0, 1)
    ]
    assert weighted.tree.feature[0] == int(np.argmax(gains))
    column = X[:, weighted.tree.feature[0]]
    expected = [-gradient[column == side].mean() for side in (0, 1)]
    np.testing.assert_allclose(weighted.tree.value[1:3], expected, rtol=1e-12)


def fit(kind, **options):
    model = kind(**OPTIONS | {"random_state": 0} | options)
    if kind is LambdaMARTRanker:
        for name in {"bagging_temperature", "score_noise"} - options.keys():
            model.set_params(**{name: 0.0})
        return model.fit(DATA.data, DATA.target, groups=DATA.groups)
    y = DATA.target > 1 if kind is MARTClassifier else DATA.target
    return model.fit(DATA.data, y)


def scores_of(model):
    scores = model.ensemble_.value
    return np.concatenate((scores, model.ensemble_.threshold)).tobytes()


DRAWS = [
    (LambdaMARTRanker, {"bagging_temperature": 1.0}),
    (LambdaMARTRanker, {"score_noise": 0.5}),
    (MARTClassifier, {"bagging_temperature": 0.5}),
    (MARTRegressor, {"bagging_temperature": 1.0}),
]
of_each = pytest.mark.parametrize(("kind", "option"), DRAWS)


@of_each
def test_the_seed_decides_and_each_tree_has_draws_of_its_own(kind, option):
    drawn = scores_of(fit(kind, **option))
    assert drawn == scores_of(fit(kind, **option, n_jobs=2))
    assert drawn != scores_of(fit(kind))
    assert drawn != scores_of(fit(kind, **option, random_state=1))
    halves = fit(kind, **option, n_estimators=4, warm_start=True)
    halves.set_params(n_estimators=8)
    again = kind.fit(halves, *_arguments(kind), **_groups(kind))
    assert scores_of(again) == drawn


def _arguments(kind):
    y = DATA.target > 1 if kind is MARTClassifier else DATA.target
    return DATA.data, y


def _groups(kind):
    return {"groups": DATA.groups} if kind is LambdaMARTRanker else {}


def test_the_noise_of_scores_is_in_units_of_one_over_sigma():
    one = fit(LambdaMARTRanker, score_noise=0.5)
    other = fit(LambdaMARTRanker, score_noise=0.5, sigma=4.0)
    np.testing.assert_allclose(
        other.predict(DATA.data) * 4, one.predict(DATA.data), rtol=1e-9
    )
