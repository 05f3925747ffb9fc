"""Parameters of estimators: of another type, out of range, or of unusual types."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.bad_inputs import Case, accepted

NAN, INF = float("nan"), float("inf")
DATA = make_ranking(6, n_documents=5, n_features=4, n_informative=2, random_state=0)
X, Y, GROUPS = np.arctan(DATA.data), DATA.target, DATA.groups
TREES = {"n_estimators": 2, "min_samples_leaf": 2, "random_state": 0}
NETWORK = {"max_iter": 2, "hidden_layer_sizes": (3,), "random_state": 0}


def fit(estimator: type, **options: Any) -> Any:
    """Fit a small model with some parameters."""
    if estimator is MARTClassifier:
        return estimator(**TREES | options).fit(X, Y > 1)
    if estimator is MARTRegressor:
        return estimator(**TREES | options).fit(X, Y)
    small = TREES if estimator is LambdaMARTRanker else NETWORK
    return estimator(**small | options).fit(X, Y, groups=GROUPS)


def partial_fit(estimator: type, **options: Any) -> Any:
    return estimator(**NETWORK | options).partial_fit(X, Y, groups=GROUPS)


# Parameter: its range in words, and values that are not in it
SCALE = "a number in [1e-50, 1e+50]"
NOT_SCALES = [0, 0.0, -1, 1e-51, 1e51, 1e-320, 1.7e308, INF, NAN, 10**400]
NOT_SCALES += [np.float32("inf"), Fraction(1, 10**400), np.longdouble("1e400")]
NOT_FRACTIONS = [0, 0.0, 1.5, -0.1, NAN, INF, np.float64(2)]
Ranges = dict[str, tuple[str, list[Any]]]
OF_TREES: Ranges = {
    "n_estimators": ("an integer >= 1", [0, -1, np.int8(-3)]),
    "learning_rate": (SCALE, NOT_SCALES),
    "max_leaf_nodes": ("an integer >= 2", [1, 0, -(10**30)]),
    "max_depth": ("an integer >= 1 or None", [0, -1]),
    "min_samples_leaf": ("an integer >= 1", [0, -1]),
    "l2_regularization": ("a number in [0, 1e+50]", [-1e-320, 1e51, INF, NAN, 10**400]),
    "max_bins": ("an integer in [2, 255]", [1, 256, 10**30, 10**5000]),
    "category_smoothing": ("a number in [0, 1e+50]", [-1e-320, 1e51, INF, NAN]),
    "min_samples_category": ("an integer >= 1", [0, -1]),
    "max_split_categories": ("an integer >= 1", [0, -1]),
    "subsample": ("a number in (0, 1]", NOT_FRACTIONS),
    "split_noise": ("a number in [0, 100]", [-1, 101, INF, NAN]),
    "bagging_temperature": ("a number in [0, 10]", [-1, 10.1, INF, NAN, 10**400]),
    "validation_fraction": ("a number in (0, 1)", [*NOT_FRACTIONS, 1]),
    "n_iter_no_change": ("an integer >= 1", [0]),
    "tol": ("a number >= 0", [-1e-9, INF, NAN, 10**400]),
    "verbose": ("an integer >= 0", [-1]),
}
SIGMA: Ranges = {"sigma": (SCALE, NOT_SCALES)}
GRADIENT = "a number in [1e-19, 1e+19]"
OF_NETWORKS: Ranges = {
    "sigma": (GRADIENT, [*NOT_SCALES, 1e-20, 1e20]),
    "alpha": ("a number in [0, 1e+19]", [-1e-320, 1e20, INF, NAN, 10**400]),
    "learning_rate_init": ("a number >= 1.17549e-38", [0, -1, 1e-39, INF, NAN]),
    "power_t": ("a number in [0, 10]", [-1, 11, 1e300, INF, NAN]),
    "max_iter": ("an integer >= 1", [0, -5]),
    "tol": ("a number >= 0", [-1e-9, INF, NAN]),
    "momentum": ("a number in [0, 1]", [-0.1, 1.1, INF, NAN]),
    "beta_1": ("a number in [0, 1)", [-0.1, 1, 1.0, INF, NAN]),
    "beta_2": ("a number in [0, 1)", [-0.1, 1, 1.0, INF, NAN]),
    "epsilon": ("a number in [1.17549e-38, 1e+19]", [0, 1e-39, 1e20, INF, NAN]),
    "validation_fraction": ("a number in (0, 1)", [*NOT_FRACTIONS, 1]),
    "n_iter_no_change": ("an integer >= 1", [0]),
    "batch_size": ("an integer >= 1", [0, -1]),
    "hidden_layer_sizes": ("an integer in [1, 2.14748e+09]", [0, (3, 0), (2**31,)]),
    "verbose": ("an integer >= 0", [-1]),
}
TRUNCATION: Ranges = {"truncation_level": ("an integer >= 1 or None", [0, -1])}
SCORE_NOISE: Ranges = {
    "score_noise": ("a number in [0, 100]", [-1, 101, INF, NAN]),
    "regression_weight": ("a number in [0, 1e+06]", [-1, 1.1e6, INF, NAN]),
}
RANGES = {
    LambdaMARTRanker: OF_TREES | SIGMA | TRUNCATION | SCORE_NOISE,
    MARTClassifier: OF_TREES | SIGMA,
    MARTRegressor: OF_TREES,
    LambdaRankRanker: OF_NETWORKS | TRUNCATION,
    RankNetRanker: OF_NETWORKS,
}
#: no numbers at all, or no single ones; None where it has no meaning
NOT_NUMBERS = [
    "1",
    b"1",
    np.timedelta64(3),
    True,
    False,
    np.True_,
    [1],
    np.array(1),
    1j,
    Decimal(1),
    {},
]
NOT_INTEGERS = [1.0, 2.5, np.float64(2), Fraction(2), INF, NAN]
LISTS = ("hidden_layer_sizes",)
ONE_SIZE = ("list [1]", "ndarray 1")  # which are right for these

TREE_CHOICES = {
    "split_gain": ["", "SECOND_ORDER", 0, None, b"second_order"],
    "early_stopping": ["yes", "True", 2, -1, 0.0, 1.0, None, np.array([True, False])],
    "warm_start": ["no", 2, None, "auto", [True]],
}
FLAGS = ["no", 2, None, 1.0, [True], np.array([1, 0])]
NETWORK_CHOICES = {
    "activation": ["sigmoid", None, ["relu"], 0],
    "solver": ["lbfgs", None, "Adam"],
    "learning_rate": ["optimal", 0.1, None],
    "nesterovs_momentum": FLAGS,
    "early_stopping": TREE_CHOICES["early_stopping"],
    "warm_start": FLAGS,
}
CHOICES: dict[type, dict[str, list[Any]]] = {
    LambdaMARTRanker: TREE_CHOICES
    | {"distance_normalization": FLAGS, "query_normalization": FLAGS},
    MARTClassifier: TREE_CHOICES,
    MARTRegressor: TREE_CHOICES,
    LambdaRankRanker: NETWORK_CHOICES,
    RankNetRanker: NETWORK_CHOICES | {"tied_pairs": FLAGS},
}
NOT_N_JOBS = [
    np.timedelta64(3),
    0,
    1.5,
    2.0,
    "2",
    True,
    False,
    np.True_,
    [1],
    NAN,
    np.int64(0),
    0j,
]
NOT_SEEDS = [-1, 2**32, 10**400, "seed", 1.5, NAN, [0.5], np.random.default_rng(0)]


def named(value: Any) -> str:
    """Return the value for the name of a case."""
    if type(value) is int and abs(value) > 10**40:
        return f"an int of {value.bit_length()} bits"
    if isinstance(value, np.bool_):
        return f"numpy {value}"
    return f"{type(value).__name__} {str(value)[:30]}"


def case(
    estimator: type, name: str, value: Any, error: type[Exception], message: str
) -> Case:
    label = f"{estimator.__name__} {name}={named(value)}"
    return Case(label, partial(fit, estimator, **{name: value}), error, message)


CASES = [
    case(estimator, name, value, ValueError, f"{name} must be {words}, got ")
    for estimator, ranges in RANGES.items()
    for name, (words, values) in ranges.items()
    for value in values
]
CASES += [
    case(estimator, name, value, TypeError, f"{name} must be {words}, got ")
    for estimator, ranges in RANGES.items()
    for name, (words, _) in ranges.items()
    for value in [
        *(v for v in NOT_NUMBERS if not (name in LISTS and named(v) in ONE_SIZE)),
        *(NOT_INTEGERS if words.startswith("an integer") else []),
        *([] if "None" in words else [None]),
    ]
]
CASES += [
    case(estimator, name, value, ValueError, f"{name} must be one of (")
    for estimator, choices in CHOICES.items()
    for name, values in choices.items()
    for value in values
]
CASES += [
    case(estimator, "n_jobs", value, ValueError, "n_jobs must be None or an integer")
    for estimator in RANGES
    for value in NOT_N_JOBS
]
CASES += [
    case(estimator, "random_state", value, ValueError, "random_state=")
    for estimator in RANGES
    for value in NOT_SEEDS
]
CASES += [
    case(estimator, name, value, error, f"{name} must be {words}, got ")
    for estimator in (LambdaMARTRanker, MARTClassifier, MARTRegressor)
    for name in ("max_features", "colsample_bytree")
    for value, error, words in [
        *((value, ValueError, "a number in (0, 1]") for value in (0.0, 1.5, NAN, INF)),
        *((value, ValueError, "an integer >= 1") for value in (0, -1, -(10**30))),
        ("all", TypeError, "a number in (0, 1]"),
        (None, TypeError, "a number in (0, 1]"),
        (True, TypeError, "an integer >= 1"),
    ]
]
CASES += [
    case(estimator, name, value, ValueError, f"{name}={value} is more than the 4 col")
    for estimator in (LambdaMARTRanker, MARTClassifier, MARTRegressor)
    for name in ("max_features", "colsample_bytree")
    for value in (5, 10**30)
]

# --- partial_fit checks them, too; compute_lambdas has some of them ----------------

CASES += [
    Case(
        f"{estimator.__name__} partial_fit {name}={named(value)}",
        partial(partial_fit, estimator, **{name: value}),
        ValueError,
        name,
    )
    for estimator in (LambdaRankRanker, RankNetRanker)
    for name, value in [
        ("sigma", 1e-150),
        ("alpha", INF),
        ("learning_rate_init", 0),
        ("activation", "sigmoid"),
        ("hidden_layer_sizes", 0),
        ("n_jobs", True),
        ("random_state", -1),
    ]
]


def lambdas(**options: Any) -> Any:
    return compute_lambdas([1.0, 2.0], [1, 0], groups=[0, 0], **options)


CASES += [
    *(
        Case(
            f"compute_lambdas sigma={named(value)}",
            partial(lambdas, sigma=value),
            ValueError,
            f"sigma must be {SCALE}, got ",
        )
        for value in NOT_SCALES
    ),
    *(
        Case(
            f"compute_lambdas sigma={named(value)}",
            partial(lambdas, sigma=value),
            TypeError,
            f"sigma must be {SCALE}, got ",
        )
        for value in [*NOT_NUMBERS, None]
    ),
    *(
        Case(
            f"compute_lambdas n_jobs={named(value)}",
            partial(lambdas, n_jobs=value),
            ValueError,
            "n_jobs must be None or an integer but 0",
        )
        for value in NOT_N_JOBS
    ),
    *(
        Case(
            f"compute_lambdas {name}={named(value)}",
            partial(lambdas, **{name: value}),
            ValueError,
            f"{name} must be True or False",
        )
        for name in ("distance_normalization", "query_normalization")
        for value in FLAGS
    ),
]

# --- numbers of unusual types are what they are equal to ----------------------------

FORMS: dict[str, list[Callable[[int], Any]]] = {
    "an integer": [np.int8, np.uint8, np.int32, np.uint64],
    "a number": [np.float16, np.float32, np.longdouble, Fraction],
}
FORMED = {  # powers of two, which all forms hold exactly
    LambdaMARTRanker: {"sigma": 2, "learning_rate": 0.25, "max_leaf_nodes": 4,
        "max_depth": 3, "min_samples_leaf": 2, "l2_regularization": 0.5, "max_bins": 64,
        "max_features": 0.5, "colsample_bytree": 2, "subsample": 0.5, "split_noise": 2,
        "truncation_level": 4, "n_estimators": 3},
    MARTClassifier: {"sigma": 0.5, "learning_rate": 0.25, "max_leaf_nodes": 4},
    MARTRegressor: {"learning_rate": 0.5, "max_bins": 16, "max_features": 2},
    LambdaRankRanker: {"sigma": 2, "alpha": 0.25, "learning_rate_init": 0.125,
        "beta_1": 0.5, "beta_2": 0.5, "epsilon": 0.25, "batch_size": 2, "max_iter": 3,
        "hidden_layer_sizes": 4},
    RankNetRanker: {"sigma": 0.5, "alpha": 0.5, "hidden_layer_sizes": 2},
}  # fmt: skip


def is_same(estimator: type, name: str, value: Any, plain: Any) -> bool:
    """Whether a value of another type gives the model of the plain one."""
    one, other = (fit(estimator, **{name: v}) for v in (value, plain))
    assert one.get_params()[name] is value
    output = "decision_function" if estimator is MARTClassifier else "predict"
    scores = [getattr(model, output)(X).tobytes() for model in (one, other)]
    return scores[0] == scores[1]


CASES += [
    accepted(
        f"{estimator.__name__} {name}={form.__name__}({plain})",
        partial(is_same, estimator, name, form(plain), plain),
    )
    for estimator, values in FORMED.items()
    for name, plain in values.items()
    for form in FORMS["an integer" if isinstance(plain, int) else "a number"]
]
CASES += [
    accepted(
        f"{estimator.__name__} {name}={named(value)}",
        partial(is_same, estimator, name, value, plain),
    )
    for estimator, name, value, plain in [
        *((estimator, "early_stopping", np.False_, False) for estimator in RANGES),
        *((estimator, "early_stopping", 1, True) for estimator in RANGES),
        *((estimator, "warm_start", np.True_, True) for estimator in RANGES),
        *((estimator, "n_jobs", np.int8(1), 1) for estimator in RANGES),
        *((estimator, "n_jobs", -(10**30), 1) for estimator in RANGES),
        *((estimator, "n_jobs", 10**30, 1) for estimator in RANGES),
        *((estimator, "random_state", np.uint8(7), 7) for estimator in RANGES),
        *(
            (estimator, name, 10**30, plain)
            for estimator in (LambdaMARTRanker, MARTClassifier, MARTRegressor)
            for name, plain in [
                ("max_leaf_nodes", 30), ("max_depth", None), ("min_samples_leaf", 31),
                ("n_iter_no_change", 20),
            ]
        ),
        (LambdaMARTRanker, "truncation_level", 10**30, None),
        (LambdaMARTRanker, "query_normalization", np.False_, False),
        (LambdaRankRanker, "truncation_level", 10**30, None),
        (LambdaRankRanker, "batch_size", 10**30, 6),
        (LambdaRankRanker, "nesterovs_momentum", 0, False),
        (RankNetRanker, "tied_pairs", np.True_, True),
        (RankNetRanker, "hidden_layer_sizes", np.array([3, 2]), (3, 2)),
        (RankNetRanker, "hidden_layer_sizes", [np.int8(3), np.uint16(2)], (3, 2)),
    ]
]  # fmt: skip
