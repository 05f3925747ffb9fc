"""MART for two classes and for regression: sections 5 and 6 of Burges (2010)."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

from sklearn_ltr._core.data import RowColumns, TrainingData
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.mart._objectives import CrossEntropy, HalfSquaredError

RELEASE = tuple(map(int, sklearn.__version__.split(".")[:2]))
SMALL = {
    "n_estimators": 8,
    "max_leaf_nodes": 5,
    "min_samples_leaf": 3,
    "random_state": 0,
    "n_jobs": 1,
}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)).round(1)
F = X[:, 0] - np.abs(X[:, 1]) + 0.5 * RNG.normal(size=120)
Y = (F > F.mean() + 0.3).astype(int)  # about one in three
WEIGHT = RNG.uniform(0.5, 2, 120)
BOTH = {"classifier": (MARTClassifier, Y), "regressor": (MARTRegressor, F)}
both = pytest.mark.parametrize(("estimator", "y"), BOTH.values(), ids=BOTH)


def fitted(estimator, y, weight=None, **options):
    return estimator(**SMALL | options).fit(X, y, weight)


def classifier(weight=None, **options) -> MARTClassifier:
    return fitted(MARTClassifier, Y, weight, **options)


def output(model, X=X) -> np.ndarray:
    """F of each row."""
    of = getattr(model, "decision_function", model.predict)
    return of(X)


def is_left(model) -> np.ndarray:
    """Whether each row goes to the left leaf of the first tree, which has two."""
    first = model.ensemble_
    return X[:, first.feature[0]] <= first.threshold[0]


# --- the objectives ---------------------------------------------------------------


def softplus(x: float) -> float:
    return max(x, 0) + log(1 + exp(-abs(x)))


def training_data(y, weights=None) -> TrainingData:
    """Rows without features, each a query of its own."""
    y = np.array(y, dtype=np.float64)
    weights = np.ones(len(y)) if weights is None else np.array(weights)
    columns = RowColumns(sample_weight=weights)
    return TrainingData(
        LabelGrades.of_one(y), np.arange(len(y) + 1), query_ids=None, columns=columns
    )


@pytest.mark.parametrize(
    ("y", "score", "sigma"),
    [(1.0, -4.0, 0.5), (-1.0, -0.3, 1.0), (1.0, 0.0, 3.0), (-1.0, 1.7, 3.0)],
)
def test_cross_entropy_is_equation_14_with_its_derivatives(y, score, sigma):
    weight, step = 1.5, 1e-4
    objective = CrossEntropy(training_data([y], [weight]), sigma)

    def by_hand(F: float) -> float:
        return weight * softplus(-2 * y * sigma * F)

    above, at, below = by_hand(score + step), by_hand(score), by_hand(score - step)
    gradient, hessian = objective.derivatives(np.array([score]))
    cost = objective.costs(np.array([score]))[0]
    assert weight * cost == pytest.approx(at, rel=1e-12)
    # the next terms of the differences are sigma^2 step^2 = 1e-7 times as large, and
    # costs of 20 are rounded by 3e-15
    assert gradient[0] == pytest.approx((above - below) / (2 * step), rel=1e-6)
    second = (above - 2 * at + below) / step**2
    assert hessian[0] == pytest.approx(second, rel=1e-5, abs=3e-6)
    y_bar = 2 * y * sigma / (1 + exp(2 * y * sigma * score))
    assert gradient[0] == pytest.approx(-weight * y_bar, rel=1e-12)
    by_report = abs(y_bar) * (2 * sigma - abs(y_bar))
    assert hessian[0] == pytest.approx(weight * by_report, rel=1e-9)


def test_cross_entropy_has_finite_derivatives_at_any_finite_score():
    objective = CrossEntropy(training_data([-1.0, 1.0]), 1.0)
    for score in (-1e300, 1e300):
        assert np.isfinite(objective.derivatives(np.full(2, score))).all()


def test_the_initial_score_is_the_constant_of_least_cost():
    y = np.where(Y == 1, 1.0, -1.0)
    classes = CrossEntropy(training_data(y, WEIGHT), sigma=2.0)
    numbers = HalfSquaredError(training_data(F, WEIGHT))
    for objective in (classes, numbers):
        gradient, _ = objective.derivatives(np.full(120, objective.initial_score()))
        assert abs(gradient.sum()) < 1e-12 * np.abs(gradient).sum()


# --- equations of Burges (2010) on one tree --------------------------------------


@pytest.mark.parametrize(
    ("class_weight", "sigma", "split_gain"),
    [
        (None, 0.5, "least_squares"),
        (None, 2.0, "second_order"),
        ("balanced", 1.0, "second_order"),
        ("balanced", 2.0, "least_squares"),
    ],
)
def test_the_value_of_a_leaf_is_the_newton_step(class_weight, sigma, split_gain):
    """Equation 15 for balanced classes; else the unweighted step above it."""
    rate = 0.25
    stump = classifier(
        n_estimators=1, max_leaf_nodes=2, learning_rate=rate, sigma=sigma,
        class_weight=class_weight, split_gain=split_gain,
    )  # fmt: skip
    n_plus, n_minus = (Y == 1).sum(), (Y == 0).sum()
    F_0 = stump.base_score_
    if class_weight is None:
        assert F_0 == pytest.approx(0.5 * log(n_plus / n_minus) / sigma)
    else:
        assert abs(F_0) < 1e-15
    left = is_left(stump)
    for leaf in (left, ~left):
        above = below = 0.0
        for y in Y[leaf]:
            sign = 1 if y == 1 else -1
            y_bar = 2 * sign * sigma / (1 + exp(2 * sign * sigma * F_0))
            w = 1 / n_plus if y == 1 else 1 / n_minus
            w = 1.0 if class_weight is None else w
            above += y_bar * w
            below += abs(y_bar) * (2 * sigma - abs(y_bar)) * w
        step = stump.decision_function(X[leaf]) - F_0
        np.testing.assert_allclose(step, rate * above / below, rtol=1e-9)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_one_least_squares_tree_is_that_of_scikit_learn(weight):
    tree = DecisionTreeRegressor(max_leaf_nodes=6, min_samples_leaf=3, random_state=0)
    tree.fit(X, F, sample_weight=weight)
    options = {"n_estimators": 1, "learning_rate": 1.0, "max_leaf_nodes": 6}
    ours = fitted(MARTRegressor, F, weight, **options)
    np.testing.assert_allclose(ours.predict(X), tree.predict(X), rtol=1e-9)


def test_mart_is_the_gradient_boosting_of_scikit_learn():
    """Both are Friedman's algorithms 3 and 5, and so is MART in Burges (2010)."""
    shared = {"n_estimators": 12, "max_leaf_nodes": 5, "min_samples_leaf": 3}
    theirs = {"max_depth": None, "random_state": 0}
    if RELEASE < (1, 9):
        theirs["criterion"] = "squared_error"
    of_numbers = GradientBoostingRegressor(**shared, **theirs).fit(X, F)
    ours = MARTRegressor(**shared).fit(X, F)
    np.testing.assert_allclose(ours.predict(X), of_numbers.predict(X), rtol=1e-6)
    of_classes = GradientBoostingClassifier(**shared, **theirs).fit(X, Y)
    ours = MARTClassifier(**shared, sigma=0.5, split_gain="least_squares").fit(X, Y)
    # their F is log(p / (1 - p)), which is our F at sigma = 1/2
    np.testing.assert_allclose(
        ours.decision_function(X), of_classes.decision_function(X), rtol=1e-6
    )


# --- sigma, probabilities, classes ------------------------------------------------


def test_probabilities_are_those_of_equation_13():
    model = classifier(sigma=2.0)
    scores, probabilities = model.decision_function(X), model.predict_proba(X)
    expected = [1 / (1 + exp(-2 * 2.0 * F)) for F in scores]
    np.testing.assert_allclose(probabilities[:, 1], expected, rtol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_array_equal(model.predict(X), (scores > 0).astype(int))
    assert model.score(X, Y) == (model.predict(X) == Y).mean()


@pytest.mark.parametrize("names", [("no", "yes"), (3, 7)], ids=["text", "numbers"])
def test_classes_may_be_any_values_that_can_be_sorted(names):
    y = np.array(names)[Y]
    model = MARTClassifier(**SMALL).fit(X, y)
    assert model.classes_.tolist() == list(names)
    expected = classifier()
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(
        model.predict(X), np.array(names)[expected.predict(X)]
    )


# --- stages, early stopping, warm start -------------------------------------------


def loss(model, X, y) -> float:
    if isinstance(model, MARTClassifier):
        return log_loss(y, model.predict_proba(X))
    return 0.5 * mean_squared_error(y, model.predict(X))


@both
def test_early_stopping_keeps_the_best_iteration(estimator, y):
    parts = train_test_split(X, y, random_state=0)
    X_train, X_val, y_train, y_val = parts
    model = estimator(**SMALL | {"n_estimators": 100, "learning_rate": 0.5})
    model.set_params(n_iter_no_change=4)
    model.fit(X_train, y_train, X_val=X_val, y_val=y_val)
    best = int(np.argmax(model.validation_score_))
    assert model.n_iter_ == len(model.ensemble_) == best
    assert len(model.validation_score_) == best + 4 + 1 < 100
    reached = -model.validation_score_[best]
    assert reached == pytest.approx(loss(model, X_val, y_val), rel=1e-9)
    at_train = -model.train_score_[best]
    assert at_train == pytest.approx(loss(model, X_train, y_train), rel=1e-9)


def test_a_fraction_of_the_rows_is_held_out_for_early_stopping():
    options = {"early_stopping": True, "validation_fraction": 0.25}
    model = fitted(MARTRegressor, F, **options)
    assert len(model.validation_score_) == len(model.train_score_) > 1
    tree = model.ensemble_.part(0, 1)
    assert tree.n_rows[tree.feature < 0].sum() == 90  # of 120
    again = fitted(MARTRegressor, F, **options)
    assert output(model).tobytes() == output(again).tobytes()


def test_the_held_out_rows_have_the_class_frequencies_of_all():
    rare = np.zeros(120, dtype=int)
    rare[:4] = 1
    for seed in range(5):
        options = {"early_stopping": True, "validation_fraction": 0.25}
        model = MARTClassifier(**SMALL | options | {"random_state": seed})
        model.fit(X, rare)
        of_one_in_30 = 29 / 30 * log(87 / 90) + 1 / 30 * log(3 / 90)
        assert model.validation_score_[0] == pytest.approx(of_one_in_30)
