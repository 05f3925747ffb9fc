"""Several validation sets and several metrics that do not fit together."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import MAP
from sklearn_ltr.plotting import TrainingCurveDisplay
from tests.bad_inputs import Case, accepted
from tests.bad_inputs.parameters import GROUPS, NETWORK, TREES, X, Y, fit

RANKERS = (LambdaMARTRanker, LambdaRankRanker, RankNetRanker)
TWO = {"X_val": (X, X), "y_val": (Y, Y), "groups_val": (GROUPS, GROUPS)}


def validated(estimator: type, **given: Any) -> Any:
    """Fit with two validation sets, some of them changed."""
    if estimator is MARTRegressor:
        two = {name: value for name, value in TWO.items() if name != "groups_val"}
        return estimator(**TREES).fit(X, Y, **two | given)
    small = TREES if estimator is LambdaMARTRanker else NETWORK
    return estimator(**small).fit(X, Y, groups=GROUPS, **TWO | given)


OF_ALL: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    (
        "an empty tuple",
        {"X_val": (), "y_val": ()},
        ValueError,
        "X_val is an empty tuple: give a table for each set, or None",
    ),
    (
        "grades of one set",
        {"y_val": Y},
        ValueError,
        "X_val is a tuple of 2 sets, so y_val must be a tuple of 2, or None; got nd",
    ),
    (
        "grades of three sets",
        {"y_val": (Y, Y, Y)},
        ValueError,
        "X_val is a tuple of 2 sets, so y_val must be a tuple of 2, or None; got 3",
    ),
    (
        "a list of grades",
        {"y_val": [Y, Y]},
        ValueError,
        "y_val must be a tuple of 2, or None; got list",
    ),
    ("no grades", {"y_val": None}, ValueError, "y_val[0] is None"),
    ("no grades of one", {"y_val": (Y, None)}, ValueError, "y_val[1] is None"),
    (
        "too few grades of one",
        {"y_val": (Y, Y[:-1])},
        ValueError,
        "y_val[1]",
    ),
    (
        "another number of columns",
        {"X_val": (X, X[:, :2])},
        ValueError,
        "X_val[1]: X has 2 features",
    ),
    (
        "an infinite value",
        {"X_val": (X, np.where(X == X[0, 0], np.inf, X))},
        ValueError,
        "X_val[1]",
    ),
    ("rows as a tuple", {"X_val": tuple(X)}, ValueError, "X_val is a tuple of 30 sets"),
    (
        "weights of one set",
        {"sample_weight_val": np.ones(len(Y))},
        ValueError,
        "sample_weight_val must be a tuple of 2, or None; got ndarray",
    ),
    (
        "negative weights",
        {"sample_weight_val": (None, -np.ones(len(Y)))},
        ValueError,
        "sample_weight_val[1]",
    ),
    ("no tables", {"X_val": None}, ValueError, "X_val is None, but y_val"),
]
CASES = [
    Case(
        f"{estimator.__name__}: {name}",
        partial(validated, estimator, **given),
        error,
        message,
    )
    for estimator in (*RANKERS, MARTRegressor)
    for name, given, error, message in OF_ALL
]
CASES += [
    Case(
        f"{estimator.__name__}: {name}",
        partial(validated, estimator, **given),
        ValueError,
        message,
    )
    for estimator in RANKERS
    for name, given, message in [
        (
            "groups of one set",
            {"groups_val": GROUPS},
            "groups_val must be a tuple of 2",
        ),
        (
            "too few groups of one",
            {"groups_val": (GROUPS, GROUPS[1:])},
            "groups_val[1]",
        ),
        ("negative grades", {"y_val": (Y, -1 - Y)}, "y_val[1]"),
    ]
]
CASES += [
    Case(
        "LambdaMARTRanker: initial scores of one set",
        partial(
            validated,
            LambdaMARTRanker,
            init_score=np.zeros(len(Y)),
            init_score_val=np.zeros(len(Y)),
        ),
        ValueError,
        "init_score_val must be a tuple of 2, or None; got ndarray",
    ),
    Case(
        "LambdaMARTRanker: initial scores without validation data",
        partial(
            validated,
            LambdaMARTRanker,
            init_score=np.zeros(len(Y)),
            init_score_val=np.zeros(len(Y)),
            **dict.fromkeys(TWO),
        ),
        ValueError,
        "X_val is None, but y_val, groups_val, sample_weight_val or init_score_val is",
    ),
    Case(
        "LambdaMARTRanker: initial scores of one of two sets",
        partial(
            validated,
            LambdaMARTRanker,
            init_score=np.zeros(len(Y)),
            init_score_val=(np.zeros(len(Y)), None),
        ),
        ValueError,
        "no init_score_val[1]",
    ),
]

# --- scoring ------------------------------------------------------------------------

CASES += [
    Case(
        f"{ranker.__name__}: scoring={scoring!r}",
        partial(fit, ranker, scoring=scoring),
        error,
        message,
    )
    for ranker in RANKERS
    for scoring, error, message in [
        ([], ValueError, "scoring is an empty list: name a metric, or give None"),
        ((), ValueError, "scoring is an empty list"),
        (["map", "map"], ValueError, "scoring holds MAP() twice"),
        (["map", MAP()], ValueError, "scoring holds MAP() twice"),
        (["map", "ndgc"], ValueError, "unknown metric 'ndgc'"),
        (["map", None], TypeError, "metric must be a name such as 'ndcg@10'"),
        ([["map"]], TypeError, "metric must be a name such as 'ndcg@10'"),
        ({"map": MAP()}, TypeError, "metric must be a name such as 'ndcg@10'"),
        ({"map"}, TypeError, "metric must be a name such as 'ndcg@10'"),
        (5, TypeError, "metric must be a name such as 'ndcg@10'"),
    ]
]
CASES += [
    accepted(f"{ranker.__name__}: scoring={scoring!r}", partial(fit, ranker, scoring=s))
    for ranker in RANKERS
    for scoring in (["map"], ("map", "ndcg@3"), [MAP(), MAP(3)])
    for s in [scoring]
]

# --- TrainingCurveDisplay -----------------------------------------------------------

CASES += [
    Case(
        f"TrainingCurveDisplay({curves!r})",
        partial(TrainingCurveDisplay, curves),
        error,
        message,
    )
    for curves, error, message in [
        (None, TypeError, "curves must be a dict of dicts"),
        ([0.1, 0.2], TypeError, "curves must be a dict of dicts"),
        ({"train": [0.1, 0.2]}, TypeError, "curves must be a dict of dicts"),
        ({}, ValueError, "curves holds no values: nothing to draw"),
        ({"a": {"b": [1], "c": [1, 2]}}, ValueError, "curves['a']['c']"),
        ({"a": {"b": ["x"]}}, ValueError, "curves['a']['b']"),
    ]
]
