"""Fits that cannot start, continue, stop early, or follow a function of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import MAP
from tests.bad_inputs import (
    GROUPS,
    INF,
    NAN,
    OF_TREES,
    RANKERS,
    SMALL,
    N,
    X,
    Y,
    fit,
    refused,
    targets,
)

OF_NETWORKS = (LambdaRankRanker, RankNetRanker)

# --- before fit -----------------------------------------------------------------------

METHODS = {
    "predict": (X,), "apply": (X,), "rank": (X,), "score": (X, Y),
    "staged_predict": (X,), "predict_proba": (X,), "decision_function": (X,),
    "staged_predict_proba": (X,), "predict_pair_proba": (X, X), "predict_std": (X,),
}  # fmt: skip


@pytest.mark.parametrize("estimator", SMALL)
def test_an_unfitted_model_says_so(estimator):
    model = estimator(**SMALL[estimator])
    message = f"This {estimator.__name__} instance is not fitted yet"
    for method, given in METHODS.items():
        if hasattr(estimator, method):
            call = lambda m=method, g=given: list(getattr(model, m)(*g))  # noqa: E731
            refused(call, NotFittedError, message)
    if estimator in OF_TREES:
        refused(lambda: model.feature_importances_, NotFittedError, message)


# --- fits that continue ---------------------------------------------------------------


def again(estimator: type, changes: dict[str, Any], **options: Any) -> Any:
    """Fit for a warm start, change parameters, and fit again."""
    model = fit(estimator, warm_start=True, **options).set_params(**changes)
    return model.fit(X, **targets(estimator))


def stream(estimator: type, changes: dict[str, Any]) -> Any:
    """Fit, change parameters, and continue with partial_fit."""
    return fit(estimator).set_params(**changes).partial_fit(X, Y, groups=GROUPS)


FEWER = "n_estimators=1 is less than the 2 trees that warm_start keeps"
LAYERS = "hidden_layer_sizes, activation or network has changed"
SOLVER = "solver or solver_params has changed since the last fit"
CHANGED: list[tuple[Any, type, dict[str, Any], dict[str, Any], str]] = [
    *((again, estimator, {"n_estimators": 1}, {}, FEWER) for estimator in OF_TREES),
    (again, MARTClassifier, {"n_estimators": 4, "sigma": 2.0}, {},
     "sigma=2.0 differs from sigma=1.0, which scales the trees that warm_start"),
    (again, LambdaMARTRanker, {"n_estimators": 4, "init": Ridge()}, {},
     "init is a model, unlike in the fit"),
    (again, LambdaMARTRanker, {"n_estimators": 4, "init": None}, {"init": Ridge()},
     "init is no model, unlike in the fit"),
    *((continued, estimator, changes, {}, LAYERS)
      for continued in (again, stream)
      for estimator in OF_NETWORKS
      for changes in ({"hidden_layer_sizes": (4,)}, {"activation": "tanh"})),
    *((stream, estimator, changes, {}, SOLVER)
      for estimator in OF_NETWORKS
      for changes in ({"solver": "sgd"}, {"learning_rate_init": 0.002},
                      {"solver_params": {"beta_1": 0.5}},
                      {"solver_params": {"epsilon": 1e-3}})),
]  # fmt: skip


@pytest.mark.parametrize(
    ("continued", "estimator", "changes", "options", "message"), CHANGED
)
def test_a_fit_does_not_continue_another(
    continued, estimator, changes, options, message
):
    refused(lambda: continued(estimator, changes, **options), ValueError, message)


@pytest.mark.parametrize(
    ("continued", "estimator", "changes"),
    [
        (again, RankNetRanker, {"solver": "sgd"}),
        (again, RankNetRanker, {"sigma": 2.0}),
        (stream, RankNetRanker, {"sigma": 2.0}),
        (stream, LambdaRankRanker, {"alpha": 0.1}),
    ],
)
def test_a_fit_continues_with_other_values_where_it_can(continued, estimator, changes):
    assert continued(estimator, changes)


@pytest.mark.parametrize("estimator", OF_TREES)
@pytest.mark.parametrize("name", ["max_features", "colsample_bytree"])
def test_more_features_than_there_are_cannot_be_drawn(estimator, name):
    for value in (5, 10**30):
        message = f"{name}={value} is more than the 4 col"
        refused(lambda v=value: fit(estimator, **{name: v}), ValueError, message)


# --- early stopping of MART -----------------------------------------------------------

ONE_RARE, TWO_RARE = (
    np.where(np.isin(np.arange(N), rows), "rare", "often") for rows in ([7], [7, 27])
)
ONE_ROW = "y has only one row of the class "
TOO_FEW = "rows leaves too few to learn from"


@pytest.mark.parametrize(
    ("estimator", "labels", "fraction", "message"),
    [
        (MARTClassifier, ONE_RARE, 0.1,
         f"{ONE_ROW}'rare', but early_stopping=True"),
        (MARTClassifier, TWO_RARE[:8], 0.95, f"{ONE_ROW}'rare'"),
        (MARTClassifier, np.array([0, 1, 1]), 0.1, f"{ONE_ROW}0"),
        (MARTClassifier, np.arange(10) % 2, 0.95,
         f"validation_fraction=0.95 of 10 {TOO_FEW}"),
        (MARTRegressor, np.ones(1), 0.1, f"validation_fraction=0.1 of 1 {TOO_FEW}"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_divided_are_refused(estimator, labels, fraction, message):
    given = {"X": X[: len(labels)], "y": labels}
    options = {"early_stopping": True, "validation_fraction": fraction}
    refused(lambda: fit(estimator, given, **options), ValueError, message)


@pytest.mark.parametrize("fraction", [0.05, 0.5, 0.9])
def test_both_parts_have_rows_of_a_rare_class(fraction):
    for seed in range(8):
        model = fit(
            MARTClassifier, {"y": TWO_RARE}, random_state=seed, early_stopping=True,
            validation_fraction=fraction, n_estimators=1,
        )  # fmt: skip
        of_no_rare_row = np.log1p(np.exp(-2 * np.abs(model.base_score_)))
        assert np.isfinite(model.base_score_)
        assert -model.validation_score_[0] > of_no_rare_row + 1e-9


# --- objectives and learning rates of the user ----------------------------------------

ONES = np.ones
Made = Callable[[int], Any]


def first(value: Any, n: int) -> Any:
    """Return 1, 2, ... with another first number."""
    return np.concatenate([[value], np.arange(2.0, n + 1)])


PAIR = "objective must return (gradient, hessian), two arrays of shape ("
HESSIAN = "objective must return finite hessians >= 0, but returned"
OUTCOMES: list[tuple[Made, type[Exception], tuple[str, ...]]] = [
    (lambda n: None, TypeError, ("got NoneType", PAIR)),
    (ONES, TypeError, ("got an array of shape (",)),
    (lambda n: (ONES(n),) * 3, TypeError, ("got tuple of length 3", PAIR)),
    (lambda n: (ONES(n - 1), ONES(n)), ValueError, ("its gradient has shape (", PAIR)),
    (lambda n: (ONES(n), 1.0), ValueError, ("its hessian has shape ()",)),
    (lambda n: (ONES((n, 1)), ONES(n)), ValueError, ("its gradient has shape (",)),
    (lambda n: (["1"] * n, ONES(n)), TypeError, ("its gradient is list", PAIR)),
    (lambda n: (ONES(n) * 1j, ONES(n)), TypeError, ("dtype complex128",)),
    (lambda n: (ONES(n), None), TypeError, ("its hessian is NoneType", PAIR)),
    (lambda n: (ONES(n) > 0, ONES(n)), TypeError, ("dtype bool",)),
    (lambda n: (first(NAN, n), ONES(n)), ValueError,
     ("objective must return finite gradients, but returned nan for row ",)),
    *((lambda n, h=h: (first(2, n), first(h, n)), ValueError, (f"{HESSIAN} {h} for",))
      for h in (INF, -0.25)),
    (lambda n: (first(1e200, n), ONES(n)), ValueError,
     ("objective returned a gradient that adds up to 1e+200, more than 1e+150",)),
    (lambda n: (first(2, n), first(1e160, n)), ValueError,
     ("objective returned a hessian that adds up to 1e+160",)),
    (lambda n: (np.zeros(n), ONES(n)), ValueError, ("add up to 0, out of [",)),
    (lambda n: (first(1, n) * 1e-200, ONES(n)), ValueError, ("out of [",)),
]  # fmt: skip


def learn(ranker: type, make: Made) -> Any:
    """Fit with an objective that returns what `make` makes for n documents."""
    return fit(ranker, objective=lambda scores, grades, offsets: make(len(scores)))


@pytest.mark.parametrize(("make", "error", "messages"), OUTCOMES)
@pytest.mark.parametrize("ranker", [LambdaMARTRanker, LambdaRankRanker])
def test_what_an_objective_must_not_return_is_refused(ranker, make, error, messages):
    for message in messages:
        refused(lambda: learn(ranker, make), error, message)


def test_only_trees_need_a_hessian():
    of_zeros: Made = lambda n: (first(0, n), ONES(n) * 0)  # noqa: E731
    message = "objective returned a hessian of zeros"
    refused(lambda: learn(LambdaMARTRanker, of_zeros), ValueError, message)
    assert learn(LambdaRankRanker, of_zeros)
    whole: Made = lambda n: (np.arange(n), np.ones(n, dtype=np.int8))  # noqa: E731
    assert learn(LambdaMARTRanker, whole)


@pytest.mark.parametrize("ranker", [LambdaMARTRanker, LambdaRankRanker])
def test_an_objective_has_three_arguments_and_a_metric_to_report(ranker):
    message = "metric=None learns from pairs, but objective is a function"
    three = lambda scores, grades, offsets: None  # noqa: E731
    two = lambda scores, grades: None  # noqa: E731
    refused(lambda: fit(ranker, metric=None, objective=three), ValueError, message)
    message = "takes 2 positional arguments but 3 were given"
    refused(lambda: fit(ranker, objective=two), TypeError, message)


# --- several validation sets and several metrics --------------------------------------

TWO = {"X_val": (X, X), "y_val": (Y, Y)}
GROUPS_OF_TWO = {"groups_val": (GROUPS, GROUPS)}
OF_TWO = "must be a tuple of 2, or None; got"
START = {"init_score": np.zeros(N)}
RANKED, ALL = (LambdaMARTRanker, RankNetRanker), (LambdaMARTRanker, MARTRegressor)
BOOSTED = (LambdaMARTRanker,)
SETS: list[tuple[tuple[type, ...], dict[str, Any], str]] = [
    (ALL, {"X_val": (), "y_val": ()},
     "X_val is an empty tuple: give a table for each set, or None"),
    (ALL, {"X_val": [(X, Y)], "y_val": None}, "X_val holds pairs such as (X, y), as"),
    (ALL, {"X_val": [(X.tolist(), Y.tolist())], "y_val": None}, "X_val holds pairs"),
    (ALL, {"X_val": (X, Y), "y_val": None}, "X_val holds pairs such as (X, y), as"),
    (ALL, {"X_val": ((X, Y), (X, Y))}, "X_val holds pairs such as (X, y), as eval_set"),
    (ALL, {"X_val": [X, X]}, "X_val is a list of tables: give a tuple for several"),
    (ALL, {"y_val": Y}, f"X_val is a tuple of 2 sets, so y_val {OF_TWO} nd"),
    (ALL, {"y_val": (Y, Y, Y)}, f"X_val is a tuple of 2 sets, so y_val {OF_TWO} 3"),
    (ALL, {"y_val": None}, "y_val[0] is None"),
    (ALL, {"y_val": (Y, None)}, "y_val[1] is None"),
    (ALL, {"y_val": (Y, Y[:-1])}, "y_val[1]"),
    (ALL, {"X_val": (X, X[:, :2])}, "X_val[1]: X has 2 features"),
    (ALL, {"X_val": (X, np.where(X == X[0, 0], INF, X))}, "X_val[1]"),
    (ALL, {"X_val": tuple(X)}, "X_val is a tuple of 30 sets"),
    (ALL, {"sample_weight_val": np.ones(N)}, f"sample_weight_val {OF_TWO} ndarray"),
    (ALL, {"sample_weight_val": (None, -np.ones(N))}, "sample_weight_val[1]"),
    (ALL, {"X_val": None}, "X_val is None, but y_val"),
    (RANKED, {"groups_val": GROUPS}, "groups_val must be a tuple of 2"),
    (RANKED, {"groups_val": (GROUPS, GROUPS[1:])}, "groups_val[1]"),
    (RANKED, {"y_val": (Y, -1 - Y)}, "y_val[1]"),
    (BOOSTED, START | {"init_score_val": np.zeros(N)},
     f"init_score_val {OF_TWO} ndarray"),
    (BOOSTED, START | dict.fromkeys(TWO | GROUPS_OF_TWO) | {"init_score_val": START},
     "X_val is None, but y_val, groups_val, sample_weight_val or init_score_val was"),
    (BOOSTED, START | {"init_score_val": (np.zeros(N), None)}, "no init_score_val[1]"),
]  # fmt: skip


@pytest.mark.parametrize(("estimators", "given", "message"), SETS)
def test_validation_sets_must_go_together(estimators, given, message):
    for estimator in estimators:
        sets = TWO if estimator is MARTRegressor else TWO | GROUPS_OF_TWO
        refused(lambda e=estimator, s=sets: fit(e, s | given), ValueError, message)


NO_METRIC = "metric must be a name such as 'ndcg@10'"


@pytest.mark.parametrize("ranker", RANKERS)
def test_scoring_names_metrics(ranker):
    of_labels = ValueError, "is for several labels, but y has one column"
    for scoring, error, message in [
        ([], ValueError, "scoring is an empty list: name a metric, or give None"),
        ((), ValueError, "scoring is an empty list"),
        (["map", "map"], ValueError, "scoring holds MAP() twice"),
        (["map", MAP()], ValueError, "scoring holds MAP() twice"),
        (["map", "ndgc"], ValueError, "unknown metric 'ndgc'"),
        *((bad, TypeError, NO_METRIC)
          for bad in (["map", None], [["map"]], {"map"}, 5)),
        ({"map": MAP()}, *of_labels),
    ]:  # fmt: skip
        refused(lambda s=scoring: fit(ranker, scoring=s), error, message)
    for scoring in (["map"], ("map", "ndcg@3"), [MAP(), MAP(3)]):
        assert fit(ranker, scoring=scoring)


# --- numbers of unusual types are what they are equal to ------------------------------

SAME: list[tuple[type, str, Any, Any]] = [
    *((estimator, "early_stopping", 1, True) for estimator in OF_TREES),
    *((estimator, "n_jobs", jobs, 1)
      for estimator in (LambdaMARTRanker, RankNetRanker)
      for jobs in (np.int8(1), -(10**30), 10**30)),
    *((estimator, "random_state", np.uint8(7), 7) for estimator in RANKERS),
    *((MARTRegressor, name, 10**30, plain)
      for name, plain in [("max_leaf_nodes", 30), ("max_depth", None),
                          ("min_samples_leaf", 31), ("n_iter_no_change", 20)]),
    (LambdaMARTRanker, "normalize_lambdas", np.False_, False),
    (LambdaMARTRanker, "truncation_level", 10**30, None),
    (LambdaRankRanker, "batch_size", 10**30, 6),
    (RankNetRanker, "hidden_layer_sizes", [np.int8(3), np.uint16(2)], (3, 2)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:no tree has a split")
@pytest.mark.parametrize(("estimator", "name", "value", "plain"), SAME)
def test_values_of_other_types_give_the_model_of_plain_ones(
    estimator, name, value, plain
):
    one, other = (fit(estimator, **{name: v}) for v in (value, plain))
    assert one.get_params()[name] is value
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
