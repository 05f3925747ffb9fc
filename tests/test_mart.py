"""MART for two classes and for regression: sections 5 and 6 of the report."""

from __future__ import annotations

import inspect
import pickle
from math import exp, log

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, mean_squared_error, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from sklearn_ltr._data import TrainingData
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


#: before 1.9 these checks merge three classes into two by the label of the first row,
#: which differs between the two fits that they compare
BROKEN_CHECKS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "other classes for each fit"
    for kind in ("dense", "sparse")
    if RELEASE < (1, 9)
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@both
def test_the_checks_of_scikit_learn_pass(estimator, y):
    expected = BROKEN_CHECKS if estimator is MARTClassifier else {}
    results = check_estimator(
        estimator(n_estimators=10), expected_failed_checks=expected, on_skip=None
    )
    failed = {r["check_name"] for r in results if r["status"] == "xfail"}
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert failed <= set(expected)
    assert skipped <= {"check_array_api_input"}  # needs a variable of the environment
    passed = [r for r in results if r["status"] == "passed"]
    assert len(passed) == len(results) - len(skipped) - len(failed) > 50


# --- the objectives ---------------------------------------------------------------


def softplus(x: float) -> float:
    return max(x, 0) + log(1 + exp(-abs(x)))


def training_data(y, weights=None) -> TrainingData:
    """Rows without features, each a query of its own."""
    y = np.array(y, dtype=np.float64)
    weights = np.ones(len(y)) if weights is None else np.array(weights)
    rows = np.arange(len(y))
    return TrainingData(None, rows, y, np.arange(len(y) + 1), weights, labels=None)


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
    gradient, hessian = objective(np.array([score]), 0.1)
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
        assert np.isfinite(objective(np.full(2, score), 0.1)).all()


def test_the_gradient_of_half_the_squared_error_is_minus_the_residuals():
    objective = HalfSquaredError(training_data(F, WEIGHT))
    scores = np.random.default_rng(1).normal(size=120)
    gradient, hessian = objective(scores, 0.1)
    np.testing.assert_array_equal(gradient, WEIGHT * (scores - F))
    np.testing.assert_array_equal(hessian, WEIGHT)
    np.testing.assert_array_equal(objective.costs(scores), 0.5 * (F - scores) ** 2)


def test_an_objective_reports_minus_the_weighted_mean_cost_of_updated_scores():
    objective = HalfSquaredError(training_data(F, WEIGHT))
    for scores in np.random.default_rng(1).normal(size=(2, 120)):
        objective.update(scores)
        expected = -0.5 * mean_squared_error(F, scores, sample_weight=WEIGHT)
        assert objective.value() == pytest.approx(expected, rel=1e-12)


def test_the_initial_score_is_the_constant_of_least_cost():
    y = np.where(Y == 1, 1.0, -1.0)
    classes = CrossEntropy(training_data(y, WEIGHT), sigma=2.0)
    numbers = HalfSquaredError(training_data(F, WEIGHT))
    for objective in (classes, numbers):
        gradient, _ = objective(np.full(120, objective.initial_score()), 0.1)
        assert abs(gradient.sum()) < 1e-12 * np.abs(gradient).sum()


# --- equations of the report on one tree ------------------------------------------


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


def test_the_balanced_step_is_not_that_of_weighted_pseudo_responses():
    # the report warns that z_bar (2 sigma - z_bar) is not w y_bar (2 sigma - y_bar)
    stump = classifier(
        n_estimators=1, max_leaf_nodes=2, learning_rate=1.0, class_weight="balanced"
    )
    n_plus, n_minus = (Y == 1).sum(), (Y == 0).sum()
    z_bar = np.where(Y == 1, 1 / n_plus, -1 / n_minus)  # y_bar is y at F = 0
    leaf = is_left(stump)
    other = z_bar[leaf].sum() / (np.abs(z_bar) * (2 - np.abs(z_bar)))[leaf].sum()
    step = stump.decision_function(X[leaf])[0]
    assert abs(other - step) > 0.1 * abs(step)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_one_least_squares_tree_is_that_of_scikit_learn(weight):
    tree = DecisionTreeRegressor(max_leaf_nodes=6, min_samples_leaf=3, random_state=0)
    tree.fit(X, F, sample_weight=weight)
    options = {"n_estimators": 1, "learning_rate": 1.0, "max_leaf_nodes": 6}
    ours = fitted(MARTRegressor, F, weight, **options)
    np.testing.assert_allclose(ours.predict(X), tree.predict(X), rtol=1e-9)


def test_mart_is_the_gradient_boosting_of_scikit_learn():
    """Both are Friedman's algorithms 3 and 5, and so is MART in the report."""
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


@pytest.mark.parametrize(
    ("sigma", "split_gain"), [(0.25, "least_squares"), (4.0, "second_order")]
)
def test_sigma_only_scales_the_scores_without_regularization(sigma, split_gain):
    # multiplying by a power of two is exact
    one = classifier(split_gain=split_gain)
    other = classifier(sigma=sigma, split_gain=split_gain)
    np.testing.assert_array_equal(
        sigma * other.decision_function(X), one.decision_function(X)
    )
    np.testing.assert_array_equal(other.predict_proba(X), one.predict_proba(X))
    np.testing.assert_array_equal(other.predict(X), one.predict(X))


def test_sigma_changes_the_probabilities_with_l2_regularization():
    one = classifier(l2_regularization=1.0)
    other = classifier(l2_regularization=1.0, sigma=4.0)
    assert (other.predict_proba(X) != one.predict_proba(X)).any()


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


def test_balanced_class_weights_increase_the_probability_of_the_rare_class():
    plain, balanced = (
        classifier(class_weight=weight).predict_proba(X)[:, 1].mean()
        for weight in (None, "balanced")
    )
    assert plain == pytest.approx(Y.mean(), abs=0.02)
    assert balanced > plain + 0.03


# --- stages, early stopping, warm start -------------------------------------------


@both
def test_the_last_stage_is_the_prediction(estimator, y):
    model = fitted(estimator, y)
    if estimator is MARTClassifier:
        stages, last = list(model.staged_predict_proba(X)), model.predict_proba(X)
        first = fitted(estimator, y, n_estimators=1).predict_proba(X)
    else:
        stages, last = list(model.staged_predict(X)), model.predict(X)
        first = fitted(estimator, y, n_estimators=1).predict(X)
    assert len(stages) == model.n_iter_ == 8
    np.testing.assert_array_equal(stages[-1], last)
    np.testing.assert_array_equal(stages[0], first)


def test_a_warm_start_grows_the_trees_of_one_long_fit():
    whole = classifier()
    model = classifier(n_estimators=3, warm_start=True)
    model.set_params(n_estimators=8).fit(X, Y)
    assert pickle.dumps(model.ensemble_) == pickle.dumps(whole.ensemble_)
    assert output(model).tobytes() == output(whole).tobytes()


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


def test_a_validation_weight_of_two_is_the_row_twice():
    doubled = np.r_[X[:40], X[:10]], np.r_[F[:40], F[:10]]
    weights = np.where(np.arange(40) < 10, 2.0, 1.0)
    model = MARTRegressor(**SMALL)
    one = model.fit(X, F, X_val=X[:40], y_val=F[:40], sample_weight_val=weights)
    by_weight = one.validation_score_
    other = model.fit(X, F, X_val=doubled[0], y_val=doubled[1])
    np.testing.assert_allclose(by_weight, other.validation_score_, rtol=1e-12)


def test_verbose_prints_the_score_of_every_so_many_trees(capsys):
    model = classifier(verbose=4)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith("step 8: train ")
    assert lines[-1].endswith(f"{model.train_score_[8]:.4f}")


# --- weights, tables, threads -----------------------------------------------------


@both
def test_an_integer_weight_is_the_row_repeated(estimator, y):
    times = np.random.default_rng(1).integers(0, 4, 120)
    repeated = np.repeat(np.arange(120), times)
    options = SMALL | {"min_samples_leaf": 1, "max_leaf_nodes": 4}
    by_weight = estimator(**options).fit(X, y, times)
    by_rows = estimator(**options).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(output(by_weight), output(by_rows), rtol=1e-6)


@both
def test_rows_of_weight_zero_are_left_out(estimator, y):
    kept = np.arange(120) % 3 > 0
    by_weight = fitted(estimator, y, kept.astype(float))
    by_rows = estimator(**SMALL).fit(X[kept], y[kept])
    assert output(by_weight).tobytes() == output(by_rows).tobytes()


def test_sparse_rows_give_the_same_model_bit_for_bit():
    some = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = MARTRegressor(**SMALL).fit(some, F)
    sparse = MARTRegressor(**SMALL).fit(csr_matrix(some), F)
    assert output(sparse, csr_matrix(some)).tobytes() == output(dense, some).tobytes()


def test_missing_values_are_learned_from():
    X_missing = X.copy()
    X_missing[Y == 1, 2] = np.nan  # reveals the class
    model = MARTClassifier(**SMALL).fit(X_missing, Y)
    assert model.feature_importances_[2] > 0.3
    assert np.isfinite(output(model, X_missing)).all()


def test_the_number_of_threads_does_not_matter():
    many = np.tile(X, (300, 1)) + np.random.default_rng(1).normal(size=(36_000, 4))
    targets = np.tile(Y, 300)
    options = SMALL | {"max_features": 2, "colsample_bytree": 3, "subsample": 0.5}
    one, two = (
        MARTClassifier(**options | {"n_jobs": n}).fit(many, targets).ensemble_
        for n in (1, 2)
    )
    assert pickle.dumps(one) == pickle.dumps(two)


def test_column_names_are_kept_and_checked():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = MARTRegressor(**SMALL).fit(frame, F)
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("badc")])


@both
def test_parameters_survive_clone_set_params_and_a_pickle(estimator, y):
    model = fitted(estimator, y, colsample_bytree=0.5)
    again = pickle.loads(pickle.dumps(model))
    assert output(again).tobytes() == output(model).tobytes()
    unfitted = clone(model)
    assert unfitted.get_params() == model.get_params() == again.get_params()
    assert not hasattr(unfitted, "ensemble_")
    assert repr(estimator()) == f"{estimator.__name__}()"
    assert "colsample_bytree=0.5" in repr(model)
    assert unfitted.set_params(max_features=2).max_features == 2
    given = {name: object() for name in model.get_params()}
    assert estimator(**given).get_params(deep=False) == given
    assert inspect.signature(estimator).parameters.keys() == given.keys()


@both
def test_a_tree_and_its_nodes_use_only_the_features_drawn_for_them(estimator, y):
    options = {"n_estimators": 30, "split_noise": 0.0}
    model = fitted(estimator, y, colsample_bytree=2, **options)
    trees = [model.ensemble_.part(m, m + 1) for m in range(30)]
    used = [set(tree.feature[tree.feature >= 0]) for tree in trees]
    assert max(map(len, used)) == 2
    model = fitted(estimator, y, max_features=1, **options)
    trees = [model.ensemble_.part(m, m + 1) for m in range(30)]
    assert max(len(set(tree.feature[tree.feature >= 0])) for tree in trees) > 2
    assert {int(tree.feature[0]) for tree in trees} == {0, 1, 2, 3}


def test_grid_search_and_cross_validation():
    X, y = load_breast_cancer(return_X_y=True)
    grid = {"learning_rate": [0.1, 0.3], "max_leaf_nodes": [2, 4]}
    search = GridSearchCV(MARTClassifier(n_estimators=20), grid, scoring="roc_auc")
    assert search.fit(X, y).best_score_ > 0.98
    X, y = load_diabetes(return_X_y=True)
    model = MARTRegressor(n_estimators=40, max_leaf_nodes=4)
    assert cross_val_score(model, X, y).mean() > 0.4


# --- errors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": Y[:-1]}, "y has 119 values for 120 rows of X"),
        ({"y": None}, "y is None.*requires y"),
        ({"sample_weight": np.ones(3)}, "sample_weight must hold one number"),
        ({"sample_weight": -np.ones(120)}, "sample_weight must be .*row 0 has -1"),
        (
            {"sample_weight": np.full(120, np.nan)},
            "sample_weight must be finite.*row 0 has nan",
        ),
        ({"sample_weight": np.zeros(120)}, "sample_weight is zero for every row"),
        ({"y_val": Y}, "X_val is None, but y_val"),
        ({"X_val": X, "y_val": Y[:3]}, "y_val has 3 values for 120 rows of X_val"),
        ({"X_val": X}, "y_val is None"),
    ],
)
def test_wrong_arguments_of_fit_are_named(given, message):
    model = MARTClassifier(**SMALL)
    with pytest.raises(ValueError, match=message):
        model.fit(**{"X": X, "y": Y} | given)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(120), r"y has only one class, \[0.0\]"),
        (np.arange(120) % 3, "Only binary classification.*y has 3 classes"),
        (F, "Unknown label type"),
    ],
)
def test_targets_other_than_two_classes_raise_an_error(y, message):
    with pytest.raises(ValueError, match=message):
        MARTClassifier(**SMALL).fit(X, y)


def test_a_validation_class_that_y_does_not_have_raises_an_error():
    model = MARTClassifier(**SMALL)
    with pytest.raises(
        ValueError, match=r"y_val has the classes \[0, 2\], but y has \[0, 1\]"
    ):
        model.fit(X, Y, X_val=X, y_val=2 * Y)


def test_weights_that_leave_one_class_raise_an_error():
    with pytest.raises(ValueError, match="only one class"):
        classifier(weight=(Y == 1).astype(float))
    with pytest.raises(ValueError, match=r"class_weight\[0\] must be a number in"):
        classifier(class_weight={0: 0.0, 1: 1.0})


def test_the_targets_of_the_regressor_must_be_finite():
    y = np.where(np.arange(120) == 5, np.nan, F)
    with pytest.raises(ValueError, match="y must be finite.*row 5 has nan"):
        MARTRegressor(**SMALL).fit(X, y)


@both
@pytest.mark.parametrize(
    ("name", "value"), [("max_leaf_nodes", 1), ("colsample_bytree", 1.5)]
)
def test_a_parameter_out_of_its_range_is_named(estimator, y, name, value):
    with pytest.raises(ValueError, match=name):
        estimator(**{name: value}).fit(X, y)


def test_sigma_must_be_above_0():
    with pytest.raises(ValueError, match="sigma"):
        classifier(sigma=0.0)


@both
def test_predict_before_fit_raises_not_fitted_error(estimator, y):
    with pytest.raises(NotFittedError):
        estimator().predict(X)


# --- it learns --------------------------------------------------------------------


def test_it_learns_real_classes_and_numbers():
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = MARTClassifier(max_leaf_nodes=4).fit(X, y)
    assert roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]) > 0.98
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = MARTRegressor(n_estimators=40, max_leaf_nodes=4).fit(X, y)
    assert r2_score(y_test, model.predict(X_test)) > 0.25


def test_a_callback_is_called_after_every_tree_and_may_end_the_fit():
    pytest.importorskip("sklearn.callback", reason="since scikit-learn 1.9")

    class Three:
        n_trees = 0

        def setup(self, estimator, context):
            pass

        teardown = setup

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, **_):
            if context.task_name != "tree":
                return False
            self.n_trees += 1
            assert len(fitted_estimator.ensemble_) == self.n_trees
            assert np.isfinite(output(fitted_estimator)).all()
            return self.n_trees == 3

    model = MARTClassifier(**SMALL).set_callbacks(Three()).fit(X, Y)
    assert model.n_iter_ == 3
