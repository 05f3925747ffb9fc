"""Models that cannot be used, continued, loaded or stopped early."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.bad_inputs import Case, accepted
from tests.bad_inputs.parameters import GROUPS, NETWORK, TREES, Y, fit
from tests.bad_inputs.parameters import X as NUMBERS

X, N_ROWS = NUMBERS, len(NUMBERS)
N = len(X)
NAN, INF = float("nan"), float("inf")
ESTIMATORS = (
    LambdaMARTRanker, LambdaRankRanker, RankNetRanker, MARTClassifier, MARTRegressor,
)  # fmt: skip
OF_TREES = (LambdaMARTRanker, MARTClassifier, MARTRegressor)
OF_NETWORKS = (LambdaRankRanker, RankNetRanker)

# --- before fit -----------------------------------------------------------------------

METHODS = {
    "predict": (X,),
    "apply": (X,),
    "rank": (X,),
    "score": (X, Y),
    "staged_predict": (X,),
    "predict_proba": (X,),
    "decision_function": (X,),
    "staged_predict_proba": (X,),
    "predict_pair_proba": (X, X),
}


def call(model: Any, method: str) -> Any:
    result = getattr(model, method)(*METHODS[method])
    return list(result) if method.startswith("staged") else result


CASES = [
    Case(
        f"{method} of a {estimator.__name__} before fit",
        partial(call, estimator(), method),
        NotFittedError,
        f"This {estimator.__name__} instance is not fitted yet",
    )
    for estimator in ESTIMATORS
    for method in METHODS
    if hasattr(estimator, method)
]
CASES += [
    Case(
        f"feature_importances_ of a {estimator.__name__} before fit",
        lambda estimator=estimator: estimator().feature_importances_,
        NotFittedError,
        f"This {estimator.__name__} instance is not fitted yet",
    )
    for estimator in OF_TREES
]

# --- fits that continue ---------------------------------------------------------------


def again(estimator: type, changes: dict[str, Any], **options: Any) -> Any:
    """Fit for a warm start, change parameters, and fit again."""
    model = fit(estimator, warm_start=True, **options).set_params(**changes)
    if estimator.__name__.startswith("MART"):
        return model.fit(X, Y > 1 if estimator is MARTClassifier else Y)
    return model.fit(X, Y, groups=GROUPS)


def stream(estimator: type, changes: dict[str, Any]) -> Any:
    """Fit, change parameters, and continue with partial_fit."""
    return fit(estimator).set_params(**changes).partial_fit(X, Y, groups=GROUPS)


CASES += [
    Case(
        f"{estimator.__name__} with fewer trees than a warm start keeps",
        partial(again, estimator, {"n_estimators": 1}),
        ValueError,
        "n_estimators=1 is less than the 2 trees that warm_start keeps",
    )
    for estimator in OF_TREES
]
CASES += [
    Case(
        "a warm start with another sigma of a classifier",
        partial(again, MARTClassifier, {"n_estimators": 4, "sigma": 2.0}),
        ValueError,
        "sigma=2.0 has changed since the trees that warm_start keeps were grown, with "
        "sigma=1.0",
    ),
    Case(
        "a warm start with a base model, after one without",
        partial(again, LambdaMARTRanker, {"n_estimators": 4, "init": Ridge()}),
        ValueError,
        "init is a model, unlike when the trees",
    ),
    Case(
        "a warm start without a base model, after one with",
        partial(
            again, LambdaMARTRanker, {"n_estimators": 4, "init": None}, init=Ridge()
        ),
        ValueError,
        "init is no model, unlike when the trees",
    ),
]
CASES += [
    Case(
        f"{continued.__name__} of a {estimator.__name__} with another {name}",
        partial(continued, estimator, {name: value}),
        ValueError,
        "hidden_layer_sizes, activation or network has changed",
    )
    for continued in (again, stream)
    for estimator in OF_NETWORKS
    for name, value in [("hidden_layer_sizes", (4,)), ("activation", "tanh")]
]
CASES += [
    Case(
        f"partial_fit of a {estimator.__name__} with another {name}",
        partial(stream, estimator, {name: value}),
        ValueError,
        "solver or a parameter of it has changed since the last fit",
    )
    for estimator in OF_NETWORKS
    for name, value in [
        ("solver", "sgd"),
        ("learning_rate_init", 0.002),
        ("beta_1", 0.5),
        ("beta_2", 0.5),
        ("epsilon", 1e-3),
    ]
]
CASES += [
    accepted(
        f"{continued.__name__} of a {estimator.__name__} with another {name}",
        partial(continued, estimator, {name: value}),
    )
    for continued, estimator, name, value in [
        (again, RankNetRanker, "solver", "sgd"),
        (again, RankNetRanker, "sigma", 2.0),
        (stream, RankNetRanker, "sigma", 2.0),
        (stream, LambdaRankRanker, "alpha", 0.1),
        (stream, LambdaRankRanker, "momentum", 0.1),  # which adam has not
    ]
]

# --- values that overflow ------------------------------------------------------------


def weighted(estimator: type, weight: Any) -> Any:
    """Fit with the weight of a query, or of the rows of MART."""
    model = estimator(**(NETWORK if estimator in OF_NETWORKS else TREES))
    weights = np.where(GROUPS == GROUPS[0], weight, 0.5)
    if estimator in OF_NETWORKS or estimator is LambdaMARTRanker:
        return model.fit(X, Y, groups=GROUPS, sample_weight=weights)
    return model.fit(X, Y > 1 if estimator is MARTClassifier else Y, weights)


def started(scores: Any) -> Any:
    return LambdaMARTRanker(**TREES).fit(X, Y, groups=GROUPS, init_score=scores)


CASES += [
    Case(
        f"a weight of {weight} to {estimator.__name__}",
        partial(weighted, estimator, weight),
        ValueError,
        f"sample_weight has a largest value of {weight:.3g}, out of [",
    )
    for estimator in ESTIMATORS
    for weight in (1e51, 1e150, 1e308)
]
CASES += [
    Case(
        f"class_weight={weight} of a class",
        partial(fit, MARTClassifier, class_weight={True: weight, False: 1}),
        ValueError,
        "class_weight[True] must be a number in [1e-50, 1e+50], got ",
    )
    for weight in (0, -1, 1e-320, 1e-51, 1e51, 1e308, INF, NAN, 10**400)
]
CASES += [
    Case(
        f"class_weight={weight!r} of a class",
        partial(fit, MARTClassifier, class_weight={True: weight, False: 1}),
        TypeError,
        "class_weight[True] must be a number in [1e-50, 1e+50], got ",
    )
    for weight in ("1", None, True, [1.0])
]
CASES += [
    Case(f"class_weight={given!r}", partial(fit, MARTClassifier, class_weight=given),
         ValueError, "class_weight")
    for given in ("other", {"no class": 2.0}, [1.0, 2.0], 3)
]  # fmt: skip
CASES += [
    Case(
        f"targets of {size}",
        lambda size=size: MARTRegressor(**TREES).fit(X, Y * size),
        ValueError,
        message,
    )
    for size, message in [
        (1e91, "y must be finite, and at most 1e+90 in size, but row"),
        (1e300, "y must be finite, and at most 1e+90 in size, but row"),
        (1e-100, "y holds no number larger than"),
        (1e-320, "y holds no number larger than"),
    ]
]
CASES += [
    Case(f"init_score of {size}", partial(started, np.full(N, size)), ValueError,
         "sigma=1 times init_score (or what init predicts) is as large as")
    for size in (1e13, -1e13, 1e300)
]  # fmt: skip
CASES += [
    Case(
        "steps that diverge",
        partial(fit, MARTRegressor, learning_rate=1e49, n_estimators=20),
        ValueError,
        "lower learning_rate=1e+49",
    )
]

# --- early stopping of MART -----------------------------------------------------------


def stopped(labels: Any, fraction: float = 0.1) -> Any:
    model = MARTClassifier(
        **TREES, early_stopping=True, validation_fraction=fraction
    )  # fmt: skip
    return model.fit(X[: len(labels)], labels)


ONE_RARE = np.where(np.arange(N) == 7, "rare", "often")
TWO_RARE = np.where(np.arange(N) % 20 == 7, "rare", "often")


def has_both(fraction: float) -> bool:
    """Whether both parts have rows of a class of two rows, for any seed."""
    for seed in range(20):
        model = MARTClassifier(
            **TREES | {"random_state": seed},
            early_stopping=True,
            validation_fraction=fraction,
        ).fit(X, TWO_RARE)
        of_no_rare_row = np.log1p(np.exp(-2 * np.abs(model.base_score_)))
        if not (
            np.isfinite(model.base_score_)
            and -model.validation_score_[0] > of_no_rare_row + 1e-9
        ):
            return False
    return True


CASES += [
    Case(
        "a class of one row that should be divided",
        partial(stopped, ONE_RARE),
        ValueError,
        "y has only one row of the class 'rare', and early_stopping=True must both",
    ),
    Case(
        "classes of two rows, of which nine tenths should be held out",
        partial(stopped, TWO_RARE[:8], 0.95),
        ValueError,
        "y has only one row of the class 'rare'",
    ),
    Case(
        "three rows that should be divided",
        partial(stopped, np.array([0, 1, 1])),
        ValueError,
        "y has only one row of the class 0",
    ),
    Case(
        "ten rows, all to be held out",
        partial(stopped, np.arange(10) % 2, 0.95),
        ValueError,
        "validation_fraction=0.95 of 10 rows leaves too few to learn from",
    ),
    Case(
        "one row that should be divided",
        lambda: MARTRegressor(**TREES, early_stopping=True).fit(X[:1], [1.0]),
        ValueError,
        "validation_fraction=0.1 of 1 rows leaves too few to learn from",
    ),
    *(accepted(f"a rare class, held out {f}", partial(has_both, f))
      for f in (0.05, 0.1, 0.5, 0.9)),
]  # fmt: skip

# --- saved models, one part of which is changed ---------------------------------------

Change = Callable[[Any], None]
MODELS = {estimator: fit(estimator, n_jobs=1) for estimator in ESTIMATORS}
MODELS["sgd"] = fit(RankNetRanker, solver="sgd")
CATEGORIES = pd.DataFrame(
    {
        "code": pd.Categorical(np.arange(N_ROWS) % 7),
        "number": X[:, 0],
        "word": pd.Categorical(
            np.array(["one", "two", "three"])[np.arange(N_ROWS) % 3]
        ),
    }
)
MODELS["categories"] = MARTRegressor(
    **TREES, min_samples_category=1, category_smoothing=0.0
).fit(CATEGORIES, np.arange(N_ROWS) % 7 % 2 + np.arange(N_ROWS) % 3 % 2 * 0.5)


def saved_with(key: Any, change: Change) -> Any:
    """Return a model that was changed, saved and loaded."""
    model = deepcopy(MODELS[key])
    change(model)
    return pickle.loads(pickle.dumps(model))


def in_trees(name: str, change: Callable[[Any], Any]) -> Change:
    """Return a change of one array of the ensemble."""

    def apply(model: Any) -> None:
        arrays = vars(model.ensemble_)
        arrays[name] = change(arrays[name].copy())

    return apply


def put(place: int, number: Any) -> Callable[[Any], Any]:
    def apply(array: Any) -> Any:
        array[place] = number
        return array

    return apply


def set_to(*path: str, value: Any) -> Change:
    """Return a change of one attribute."""

    def apply(model: Any) -> None:
        for name in path[:-1]:
            model = getattr(model, name)
        vars(model)[path[-1]] = value

    return apply


def without(name: str) -> Change:
    return lambda model: vars(model).pop(name)


def bad_byte(array: Any) -> Any:
    array.view(np.uint8)[0] = 2
    return array


CHANGES_OF_TREES: dict[str, Change] = {
    **{
        f"{name} {how}": in_trees(name, change)
        for name in ("first_node", "feature", "threshold", "missing_left", "left",
                     "right", "value", "gain", "n_rows")
        for how, change in {
            "short": lambda array: array[:-1],
            "long": lambda array: np.append(array, array[-1:]),
            "empty": lambda array: array[:0],
            "a table": lambda array: array[:, np.newaxis],
            "of another type": lambda array: array.astype(np.float32),
            "of objects": lambda array: array.astype(object),
        }.items()
        if (name, how) != ("first_node", "long")
    },
    "a first node after its tree": in_trees("first_node", put(0, 1)),
    "a second tree that begins with the first": in_trees("first_node", put(1, 0)),
    "a tree that begins behind the nodes": in_trees("first_node", put(1, 10**9)),
    "a negative feature": in_trees("feature", put(0, -2)),
    "an inner node as a leaf": in_trees("feature", put(0, -1)),
    "a feature that X has not": in_trees("feature", put(0, 4)),
    "a huge feature": in_trees("feature", put(0, 2**31 - 1)),
    "a threshold NaN": in_trees("threshold", put(0, NAN)),
    "no truth value": in_trees("missing_left", bad_byte),
    "a node that is its own child": in_trees("left", put(0, 0)),
    "a child twice": in_trees("right", lambda array: put(0, array[0] - 1)(array)),
    "a child before its parent": in_trees("left", put(0, -5)),
    "a child in another tree": in_trees("right", put(0, 10**6)),
    "a leaf with a child": in_trees("left", put(-1, 1)),
    "a value NaN": in_trees("value", put(0, NAN)),
    "a value inf": in_trees("value", put(0, INF)),
    "values whose sum overflows": in_trees("value", lambda a: np.full_like(a, 1e308)),
    "a gain NaN": in_trees("gain", put(0, NAN)),
    "a gain below 0": in_trees("gain", put(0, -1.0)),
    "rows below 0": in_trees("n_rows", put(0, -1)),
    "another number of features": set_to("n_features_in_", value=1),
    "more features": set_to("n_features_in_", value=40),
    "no number of features": set_to("n_features_in_", value="4"),
    "another number of trees": set_to("n_iter_", value=7),
    "an ensemble that is none": set_to("ensemble_", value=[]),
    "no ensemble": without("ensemble_"),
    "no bins": without("_mapper"),
    "no seed": without("_seed"),
    "bins of too few features": set_to("_mapper", "bin_thresholds", value=[]),
    "bins that fall": set_to(
        "_mapper", "bin_thresholds", value=[np.array([2.0, 1.0])] * 4
    ),
    "bins NaN": set_to("_mapper", "bin_thresholds", value=[np.array([NAN])] * 4),
    "too many bins": set_to("_mapper", "bin_thresholds", value=[np.arange(300.0)] * 4),
    "bins of integers": set_to("_mapper", "bin_thresholds", value=[np.arange(3)] * 4),
}  # fmt: skip


def in_categories(name: str, change: Callable[[Any], Any]) -> Change:
    """Return a change of one array of the bins of categories."""

    def apply(model: Any) -> None:
        arrays = vars(model._mapper.categories)
        arrays[name] = change(arrays[name].copy())

    return apply


ARRAY_CHANGES: dict[str, Callable[[Any], Any]] = {
    "short": lambda array: array[:-1],
    "long": lambda array: np.append(array, array[-1:], axis=0),
    "empty": lambda array: array[:0],
    "of another type": lambda array: array.astype(np.float32),
}
CHANGES_OF_CATEGORIES: dict[str, Change] = {
    **{
        f"{name} {how}": in_trees(name, change)
        for name in ("category_node", "category_set")
        for how, change in ARRAY_CHANGES.items()
    },
    **{
        f"the categories' {name} {how}": in_categories(name, change)
        for name in ("feature", "first", "value", "bin")
        for how, change in ARRAY_CHANGES.items()
    },
    "a set at a leaf": in_trees("category_node", put(-1, 4)),
    "a set at no node": in_trees("category_node", put(-1, 10**9)),
    "a set at a negative node": in_trees("category_node", put(0, -1)),
    "two sets at a node": in_trees("category_node", lambda a: put(1, a[0])(a)),
    "a set that sends the missing elsewhere": in_trees(
        "category_set", lambda a: put((0, 31), a[0, 31] ^ 128)(a)
    ),
    "categories of a feature that X has not": in_categories("feature", put(1, 3)),
    "categories of a negative feature": in_categories("feature", put(0, -1)),
    "categories of a feature twice": in_categories("feature", put(1, 0)),
    "categories that begin behind the others": in_categories("first", put(1, 99)),
    "categories that begin before the others": in_categories("first", put(1, -1)),
    "categories that fall": in_categories("value", put(0, 1.0)),
    "a category NaN": in_categories("value", put(-1, NAN)),
    "a category inf": in_categories("value", put(-1, INF)),
    "a category in a bin too many": in_categories("bin", put(0, 7)),
    "a category in the missing bin": in_categories("bin", put(-1, 255)),
    "no categories of the features": without("_categories"),
    "no bins of the categories": lambda model: vars(model._mapper).pop("categories"),
    "other categorical features": set_to(
        "_categories", "feature", value=np.array([0, 1])
    ),
    "a set of a feature of numbers": in_trees(
        "feature", lambda array: np.where(array == 2, np.int32(1), array)
    ),
    "text of too few features": set_to("_categories", "text", value=[]),
    "text that falls": set_to(
        "_categories", "text", value=[np.array([], "U1"), np.array(["b", "a", "c"])]
    ),
    "text of bytes": set_to(
        "_categories", "text", value=[np.array([], "U1"), np.array([b"a", b"b"])]
    ),
    "text of numbers": set_to("_categories", "is_text", value=np.array([1, 1])),
}
CHANGES_OF_MART: dict[str, Change] = {
    "a base score NaN": set_to("base_score_", value=NAN),
    "a base score inf": set_to("base_score_", value=INF),
    "a base score of text": set_to("base_score_", value="0"),
    "no base score": without("base_score_"),
}
CHANGES_OF_CLASSES: dict[str, Change] = {
    "one class": set_to("classes_", value=np.array([1])),
    "no classes": without("classes_"),
    "no sigma": without("_sigma"),
    "a sigma NaN": set_to("_sigma", value=NAN),
    "a sigma of text": set_to("_sigma", value="1"),
}
CHANGES_OF_LAMBDAMART: dict[str, Change] = {
    "no base model": without("init_"),
    "no record of scores": without("_uses_init_score"),
}


def in_layer(kind: str, number: int, change: Callable[[Any], Any]) -> Change:
    def apply(model: Any) -> None:
        layers = getattr(model.network_, kind)
        layers[number] = change(layers[number].copy())

    return apply


CHANGES_OF_NETWORKS: dict[str, Change] = {
    **{
        f"{kind} {number} {how}": in_layer(kind, number, change)
        for kind, number in (("coefs", 0), ("coefs", 1), ("intercepts", 0))
        for how, change in {
            "short": lambda array: array[:-1],
            "flat": lambda array: array.ravel()[:-1],
            "of another type": lambda array: array.astype(np.float64),
            "with NaN": lambda array: array * np.float32(NAN),
            "with inf": lambda array: array + np.float32(INF),
        }.items()
    },
    "a layer missing": lambda model: model.network_.coefs.pop(),
    "a bias missing": lambda model: model.network_.intercepts.pop(),
    "an unknown activation": set_to("network_", "activation", value="rely"),
    "another number of features": set_to("n_features_in_", value=5),
    "no network": without("network_"),
    "no optimizer": without("_optimizer"),
    "an optimizer that is none": set_to("_optimizer", value=3),
    "no sigma": without("_sigma"),
    "a sigma of 0": set_to("_sigma", value=0.0),
    "a rate NaN": set_to("_optimizer", "rate", value=NAN),
    "a rate of text": set_to("_optimizer", "rate", value="0.1"),
    "no rate": lambda model: vars(model._optimizer).pop("rate"),
}
CHANGES_OF_ADAM: dict[str, Change] = {
    "moments short": lambda model: model._optimizer.moments.pop(),
    "moments of one weight": set_to(
        "_optimizer", "moments", value=[np.zeros((2, 1), np.float32)] * 3
    ),
    "moments of another type": lambda model: model._optimizer.moments.__setitem__(
        0, model._optimizer.moments[0].astype(np.float64)
    ),
    "moments NaN": lambda model: model._optimizer.moments[0].fill(NAN),
    "a negative step": set_to("_optimizer", "n_steps", value=-1),
}
CHANGES_OF_SGD: dict[str, Change] = {
    "velocities short": lambda model: model._optimizer.velocities.pop(),
    "velocities inf": lambda model: model._optimizer.velocities[0].fill(INF),
    "velocities of one weight": set_to(
        "_optimizer", "velocities", value=[np.zeros(1, np.float32)] * 3
    ),
}
CHANGES: dict[Any, dict[str, Change]] = {
    LambdaMARTRanker: CHANGES_OF_TREES | CHANGES_OF_LAMBDAMART,
    MARTClassifier: CHANGES_OF_TREES | CHANGES_OF_MART | CHANGES_OF_CLASSES,
    MARTRegressor: CHANGES_OF_TREES | CHANGES_OF_MART,
    "categories": CHANGES_OF_CATEGORIES,
    LambdaRankRanker: CHANGES_OF_NETWORKS | CHANGES_OF_ADAM,
    RankNetRanker: CHANGES_OF_NETWORKS | CHANGES_OF_ADAM,
    "sgd": CHANGES_OF_NETWORKS | CHANGES_OF_SGD,
}
CASES += [
    Case(
        f"{what} in a saved {getattr(key, '__name__', key)}",
        partial(saved_with, key, change),
        ValueError,
        "is damaged (",
    )
    for key, changes in CHANGES.items()
    for what, change in changes.items()
]
