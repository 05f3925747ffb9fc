"""What the tools around the rankers cannot use: scorers, splitters, inspection."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence
from sklearn.linear_model import Ridge

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr.datasets import load_letor, make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker, best_blend
from sklearn_ltr.inspection import (
    ScoreRegressor,
    compute_lambdas,
    local_optimality,
    shap_values,
    weight_curves,
)
from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.model_selection import LetorFolds, group_train_test_split
from sklearn_ltr.scorers import make_ranking_scorer
from sklearn_ltr.scorers._missing_groups import MissingGroupsValueError
from tests.bad_inputs import Case, accepted
from tests.bad_inputs.groups import FITTED, FITTED_TREES, GROUPS, LINEAR, N, X, Y

Outcome = tuple[Any, type[Exception], str]
NAN, INF, HUGE = float("nan"), float("inf"), 10**400


def table(
    entry: str, call: Callable[..., Any], rows: dict[str, list[Outcome]]
) -> list[Case]:
    """Return the cases of parameters by name: a value, the error, its message."""
    return [
        Case(f"{name} number {number} of {entry}", partial(call, **{name: value}),
             error, message)
        for name, outcomes in rows.items()
        for number, (value, error, message) in enumerate(outcomes)
    ]  # fmt: skip


def out_of(name: str, words: str, *values: Any) -> list[Outcome]:
    """Return outcomes of values out of a range."""
    message = f"{name} must be {words}, got "
    return [(value, ValueError, message) for value in values]


def of_type(name: str, words: str, *values: Any) -> list[Outcome]:
    """Return outcomes of values of another type."""
    message = f"{name} must be {words}, got "
    return [(value, TypeError, message) for value in values]


# --- data -------------------------------------------------------------------------

SHARE = "a number in [0, 1]"
CASES = table(
    "make_ranking",
    make_ranking,
    {
        **{
            name: out_of(name, "an integer >= 1", 0, -1)
            + of_type(name, "an integer >= 1", 2.0, "3", None, True, NAN)
            for name in ("n_queries", "n_features", "n_informative")
        },
        "n_query_features": out_of("n_query_features", "an integer >= 0", -1)
        + of_type("n_query_features", "an integer >= 0", 1.5, None, True),
        "n_documents": out_of("n_documents", "a number >= 1", 0.5, -1, NAN, INF, HUGE)
        + of_type("n_documents", "a number >= 1", "5", None, True, 1j),
        **{
            name: out_of(name, SHARE, -0.1, 1.1, NAN, INF, HUGE)
            + of_type(name, SHARE, "0", None, True)
            for name in ("heavy_tails", "integers", "zeros", "missing")
        },
        "noise": out_of("noise", "a number >= 0", -1, NAN, INF, HUGE)
        + of_type("noise", "a number >= 0", "0", None, True),
        "grade_shares": [
            ([0.5, 0.4], ValueError, "must be numbers >= 0 that sum to 1"),
            ([1.5, -0.5], ValueError, "must be numbers >= 0 that sum to 1"),
            ([0.5, NAN], ValueError, "must be numbers >= 0 that sum to 1"),
            ([INF, 0.5], ValueError, "must be numbers >= 0 that sum to 1"),
            ([], ValueError, "must be numbers >= 0 that sum to 1"),
            (None, ValueError, "grade_shares is None"),
            (1.0, ValueError, "grade_shares must hold one number per row, got 1.0"),
            (["1"], ValueError, "grade_shares must be numeric"),
            ({0: 1.0}, ValueError, "grade_shares is a dict"),
            (np.eye(2), ValueError, "grade_shares must hold one number for each of"),
        ],
        "dtype": [
            (int, ValueError, "dtype must be a floating type, got <class 'int'>"),
            (bool, ValueError, "dtype must be a floating type"),
            (object, ValueError, "dtype must be a floating type"),
            ("float", TypeError, "") if False else
            ("number", TypeError, "dtype must be a floating type, got 'number'"),
        ],
        "random_state": [("seed", ValueError, "cannot be used to seed")],
    },
)  # fmt: skip
CASES += [
    Case(
        "more informative features than features",
        partial(make_ranking, n_features=3, n_informative=3),
        ValueError,
        "n_features=3 is fewer than n_informative + n_query_features = 3 + 2",
    ),
]


def load(text: str, **options: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "letor.txt"
        path.write_text(text)
        return load_letor(path, **options)


CASES += table(
    "load_letor",
    partial(load, "1 qid:1 1:2\n"),
    {
        "n_features": out_of("n_features", "an integer >= 1 or None", 0, -1)
        + of_type("n_features", "an integer >= 1 or None", 2.0, "3", True),
        "dtype": [
            (int, ValueError, "dtype must be a floating type"),
            ("number", TypeError, "dtype must be a floating type, got 'number'"),
        ],
    },
)
CASES += [
    Case(f"{what} to load_letor", partial(load_letor, path), TypeError,
         "path must be a string or a path-like object, got")
    for what, path in {"None": None, "a number": 0, "bytes": b"x", "a list": []}.items()
] + [
    Case("an empty file", partial(load, ""), ValueError, "holds no documents"),
    Case("a line without a query", partial(load, "1 qid:1 1:2\n0 1:1\n"), ValueError,
         "has 2 documents but only 1 of its lines name a query"),
    Case("a feature 0", partial(load, "1 qid:1 0:2\n"), ValueError, "index 0"),
    Case("a feature beyond n_features", partial(load, "1 qid:1 3:2\n", n_features=2),
         ValueError, "n_features was set to 2"),
    Case("text", partial(load, "some words\n"), ValueError, "could not convert string"),
]  # fmt: skip

# --- splitting --------------------------------------------------------------------

split = partial(group_train_test_split, X, groups=GROUPS)
CASES += table(
    "group_train_test_split",
    split,
    {
        "test_size": [
            (0, ValueError, "test_size"),
            (1.5, ValueError, "test_size"),
            (NAN, ValueError, "test_size"),
            (7, ValueError, "there are 6"),
            ("half", ValueError, "test_size"),
        ],
        "train_size": [(0.0, ValueError, "train_size"), (6, ValueError, "there are 6")],
        "shuffle": [
            (None, ValueError, "shuffle must be True or False, got None"),
            ("no", ValueError, "shuffle must be True or False, got 'no'"),
            (1, ValueError, "shuffle must be True or False, got 1"),
        ],
    },
)
ARRAYS: dict[str, tuple[Any, str]] = {
    "too few rows": (X[1:], "a ndarray, has 29 rows for the 30 values of groups"),
    "None": (None, "a NoneType, has 0 rows for the 30 values"),
    "a number": (3, "a int, has 0 rows for the 30 values"),
    "an array without rows": (np.array(3), "a ndarray, has 0 rows for the 30 values"),
    "a generator": ((x for x in X), "a generator, has 0 rows for the 30 values"),
    "a dict": (dict(enumerate(Y)), "is a dict, which has no rows that can be split"),
    "a set": (set(range(N)), "is a set, which has no rows that can be split"),
    "a string": ("a" * N, "is a str, which has no rows that can be split"),
}
CASES += [
    Case(
        f"{what} to group_train_test_split",
        partial(split, array),
        ValueError,
        f"array number 1 (from 0), {message}"
        if message.startswith("a ")
        else f"array number 1 (from 0) {message}",
    )
    for what, (array, message) in ARRAYS.items()
] + [
    Case("stratify without shuffle", partial(split, shuffle=False, stratify=Y),
         ValueError, "stratify draws queries at random: it needs shuffle=True"),
]  # fmt: skip

PARTS = GROUPS % 3
FOLDS = LetorFolds(PARTS)
CASES += [
    Case("None to LetorFolds", partial(LetorFolds, None), ValueError,
         "parts is None: give one value per row"),
    Case("an empty list to LetorFolds", partial(LetorFolds, []), ValueError,
         "parts is empty"),
    Case("two parts", partial(LetorFolds, [1, 2, 1]), ValueError,
         "parts must have at least three different values"),
    Case("a wrong score_on", partial(LetorFolds, PARTS, score_on="train"), ValueError,
         'score_on must be "validation" or "test", got \'train\''),
    Case("an X of other length", lambda: list(FOLDS.split(X[1:])), ValueError,
         "X has 29 rows, but parts has 30 values"),
    Case("an X without rows", lambda: list(FOLDS.split(np.array(3))), ValueError,
         "X has 0 rows, but parts has 30 values"),
    Case("a query in two parts", lambda: list(FOLDS.split(X, Y, GROUPS // 2)),
         ValueError, "a query must be whole"),
]  # fmt: skip

# --- scorers ----------------------------------------------------------------------


class Told(BaseEstimator):
    """Answers what it is told to."""

    def __init__(self, answer: Any = None, classes: Any = (0, 1)) -> None:
        self.answer = answer
        self.classes_ = classes

    def fit(self, X: Any, y: Any = None) -> Told:
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.answer


def score_classes(answer: Any, classes: Any) -> Any:
    scorer = make_ranking_scorer(response_method="predict_proba")
    return scorer(Told(answer, classes), X, Y, groups=GROUPS)


HALVES = np.full((N, 2), 0.5)
CASES += [
    Case(f"{what} to make_ranking_scorer", partial(make_ranking_scorer, **given), error,
         message)
    for what, given, error, message in (
        ("an unknown metric", {"metric": "auc"}, ValueError, "unknown metric 'auc'"),
        ("None", {"metric": None}, TypeError, "metric must be a name such as"),
        ("a class", {"metric": NDCG}, TypeError, "metric must be a name such as"),
        ("a list with None", {"metric": ["map", None]}, TypeError, "metric must be a"),
        ("no metric", {"metric": []}, ValueError, "metric is empty: give at least one"),
        ("an empty dict", {"metric": {}}, ValueError, "metric is empty"),
        ("one metric twice", {"metric": ["map", MAP()]}, ValueError, "two of one name"),
        ("an unknown method", {"response_method": "transform"}, ValueError,
         "response_method must be one of"),
        ("no method", {"response_method": None}, ValueError, "response_method must be"),
    )
] + [
    Case(f"{what} to a scorer", partial(make_ranking_scorer(), *given[:3], **given[3]),
         error, message)
    for what, given, error, message in (
        ("no groups", (FITTED, X, Y, {}), MissingGroupsValueError, "got no groups"),
        ("None as groups", (FITTED, X, Y, {"groups": None}), MissingGroupsValueError,
         "enable_metadata_routing=True"),
        ("None as y", (FITTED, X, None, {"groups": GROUPS}), ValueError, "y is None"),
        ("an unfitted ranker", (RankNetRanker(), X, Y, {"groups": GROUPS}),
         NotFittedError, "not fitted"),
        ("an object", (object(), X, Y, {"groups": GROUPS}), AttributeError, "predict"),
        ("init_score of another length",
         (FITTED_TREES, X, Y, {"groups": GROUPS, "init_score": [1]}), ValueError,
         "init_score"),
    )
] + [
    Case("probabilities of strings", partial(score_classes, HALVES, ["a", "b"]),
         ValueError, "Told.classes_, the grades, must be numeric"),
    Case("probabilities of other classes", partial(score_classes, HALVES, [0, 1, 2]),
         ValueError, "one probability for each of the 3 classes, got shape (30, 2)"),
    Case("probabilities of one class", partial(score_classes, HALVES[:, 0], [0, 1]),
         ValueError, "one probability for each of the 2 classes, got shape (30,)"),
    Case("no probabilities", partial(score_classes, None, [0, 1]), ValueError,
         "one probability for each of the 2 classes, got shape ()"),
    Case("classes of grades that are NaN", partial(score_classes, HALVES, [0, NAN]),
         ValueError, "Told.predict_proba(X) must be finite to be ranked"),
]  # fmt: skip

# --- inspection -------------------------------------------------------------------

CASES += [
    Case(f"{name} in shap_values", partial(shap_values, model, X), error, message)
    for name, model, error, message in (
        ("a network", FITTED, TypeError, "RankNetRanker is not made of boosted trees"),
        ("a model of scikit-learn", Ridge().fit(X, Y), TypeError,
         "Ridge is not made of boosted trees of this package"),
        ("an unfitted model", LambdaMARTRanker(), NotFittedError, "not fitted"),
        ("a class", LambdaMARTRanker, TypeError, "is a class, not an instance"),
        ("an object", object(), TypeError, "is not an estimator instance"),
    )
]  # fmt: skip
EXPLAINED = shap_values(FITTED_TREES, X)
CASES += table(
    "ShapValues.difference",
    partial(EXPLAINED.difference, document=0, other=0),
    {
        name: [(value, ValueError, f"{name} is row {value}, but X has {N} rows")
               for value in (N, -N - 1, HUGE)]
        + of_type(name, "the number of a row of X", 1.0, "0", None, True, NAN)
        for name in ("document", "other")
    },
)  # fmt: skip
directions = partial(local_optimality, FITTED, X, Y, groups=GROUPS)
curves = partial(weight_curves, FITTED, X, Y, groups=GROUPS)
CHANCE = "a number in (0, 1)"
CASES += table(
    "local_optimality",
    directions,
    {
        "n_directions": out_of("n_directions", "an integer >= 1 or None", 0, -1)
        + of_type("n_directions", "an integer >= 1 or None", 2.0, "3", True, NAN),
        **{
            name: out_of(name, CHANCE, 0, 1, -0.1, NAN, INF, HUGE)
            + of_type(name, CHANCE, "0.1", None, True)
            for name in ("delta", "p0")
        },
        "step_size": [
            (value, error, "step_size must be a number")
            for error, values in (
                (ValueError, (0, -1, NAN, INF, HUGE)),
                (TypeError, ("1", None, True)),
            )
            for value in values
        ],
        "metric": [
            ("auc", ValueError, "unknown metric 'auc'"),
            (3, TypeError, "metric must be a name such as"),
        ],
    },
)
CASES += table(
    "weight_curves",
    curves,
    {
        "moves": [
            ([], ValueError, "moves must be a list of finite numbers, at least one"),
            ([0, NAN], ValueError, "moves must be a list of finite numbers"),
            ([INF], ValueError, "moves must be a list of finite numbers"),
            (["1"], ValueError, "moves must be numeric"),
            ("1", ValueError, "moves must hold one number per row, got '1'"),
            (1, ValueError, "moves must hold one number per row, got 1"),
            (np.eye(2), ValueError, "moves must hold one number for each of the 2"),
            ([0, None], ValueError, "moves must be numeric, but point 1 has None"),
        ],
        "weights": [
            ([], ValueError, "weights is empty"),
            ("x0", ValueError, "weights must be a list of indices or names, got 'x0'"),
            (0, ValueError, "weights must be a list of indices or names, got 0"),
            ({0: 1}, ValueError, "weights must be a list of indices or names"),
            ({0}, ValueError, "weights must be a list of indices or names"),
            ([99], ValueError, "weights holds 99, but the 5 weights have the indices"),
            ([-1], ValueError, "weights holds -1, but the 5 weights"),
            ([True], ValueError, "weights holds True, but the 5 weights"),
            ([0.0], ValueError, "weights holds 0.0, but the 5 weights"),
            ([None], ValueError, "weights holds None, but the 5 weights"),
            (["bm25"], ValueError, "weights holds 'bm25', but the 5 weights"),
        ],
    },
)
CASES += [
    Case(f"{what} to {name}", partial(call, model, X, Y, groups=GROUPS), error, message)
    for name, call in (("local_optimality", local_optimality),
                       ("weight_curves", weight_curves))
    for what, model, error, message in (
        ("trees", FITTED_TREES, TypeError, "is not a network, so it has no weights"),
        ("a regressor", Ridge().fit(X, Y), TypeError, "Ridge is not a network"),
        ("an unfitted ranker", RankNetRanker(), NotFittedError, "not fitted"),
    )
] + [
    accepted(
        "an iterator of weights",
        lambda: curves(weights=iter([0, 1]), moves=[0, 1]).names == ["x0", "x1"],
    ),
]  # fmt: skip

# --- lambdas and preferences ------------------------------------------------------

lambdas = partial(compute_lambdas, X[:, 0], Y, groups=GROUPS)
CASES += table(
    "compute_lambdas",
    lambdas,
    {
        "sigma": [
            (value, error, "sigma must be a number")
            for error, values in (
                (ValueError, (0, -1, NAN, INF, HUGE)),
                (TypeError, ("1", None, True, [1.0])),
            )
            for value in values
        ],
        "metric": [
            ("auc", ValueError, "unknown metric 'auc'"),
            (3, TypeError, "metric must be a name such as"),
        ],
        "distance_normalization": [
            ("no", ValueError, "distance_normalization must be True or False"),
            (None, ValueError, "distance_normalization must be True or False"),
        ],
        "query_normalization": [
            (0.5, ValueError, "query_normalization must be True or False"),
        ],
        "n_jobs": [
            (0, ValueError, "n_jobs must be"),
            (True, ValueError, "n_jobs must be"),
            (1.5, ValueError, "n_jobs must be"),
            ("2", ValueError, "n_jobs must be"),
        ],
    },
)


def prefer(pairs: Any, probabilities: Any = None, **given: Any) -> Any:
    ranker = RankNetRanker(**LINEAR)
    return ranker.fit(X, pairs=pairs, pair_probabilities=probabilities, **given)


PAIRS = [[0, 1], [2, 3]]
ONE_EACH = "pair_probabilities must hold one number for each of the 2 pairs, got shape"
CASES += [
    Case(f"{what} as pairs", partial(prefer, pairs), ValueError, message)
    for what, pairs, message in (
        ("nothing", [], "pairs must have shape (n_pairs, 2) with at least one pair"),
        ("a number", 3, "pairs must have shape (n_pairs, 2)"),
        ("one column", [[0], [1]], "pairs must have shape (n_pairs, 2)"),
        ("a flat list", [0, 1], "pairs must have shape (n_pairs, 2)"),
        ("lists of two lengths", [[0, 1], [2]], "pairs must have shape (n_pairs, 2)"),
        ("a generator", (pair for pair in PAIRS), "pairs must have shape (n_pairs, 2)"),
        ("floats", [[0.0, 1.0]], "pairs must hold integers, rows of X; got dtype"),
        ("strings", [["0", "1"]], "pairs must hold integers, rows of X; got dtype <U1"),
        ("booleans", [[True, False]], "pairs must hold integers, rows of X; got dtype"),
        ("a row beyond X", [[0, 1], [0, N]], "but pair 1 is [0, 30]"),
        ("a negative row", [[0, -1]], "but pair 0 is [0, -1]"),
        ("a huge row", [[0, 2**62]], "pairs must hold rows of X, 0 to 29, but pair 0"),
        ("one row twice", [[0, 1], [2, 2]], "two rows, but pair 1 is [2, 2]"),
    )
] + [
    Case(f"{what} as pair_probabilities", partial(prefer, PAIRS, value), ValueError,
         message)
    for what, value, message in (
        ("a number", 0.5, "pair_probabilities must hold one number per row, got 0.5"),
        ("too few", [0.5], ONE_EACH),
        ("a table", np.eye(2), ONE_EACH),
        ("strings", ["1", "0"], "pair_probabilities must be numeric, got dtype <U1"),
        ("None", [None, 1], "pair_probabilities must be numeric, but pair 0 has None"),
        ("NaN", [0.5, NAN], "must lie in [0, 1], but pair 1 has nan"),
        ("more than 1", [1.5, 0], "must lie in [0, 1], but pair 0 has 1.5"),
        ("less than 0", [1, -0.5], "must lie in [0, 1], but pair 1 has -0.5"),
        ("a dict", {0: 1, 1: 0}, "pair_probabilities is a dict"),
    )
] + [
    Case("weights without groups", partial(prefer, PAIRS, sample_weight=np.ones(N)),
         ValueError, "sample_weight weighs queries, and without groups"),
    Case("pairs of two queries", partial(prefer, [[0, N - 1]], groups=GROUPS),
         ValueError, "pairs must lie within queries when groups are given"),
    accepted("a frame of pairs", partial(prefer, pd.DataFrame(PAIRS))),
    accepted("a frame of probabilities",
             partial(prefer, PAIRS, pd.DataFrame({"p": [0.5, 1.0]}))),
]  # fmt: skip

# --- blending ---------------------------------------------------------------------


class Wide(Ridge):
    """Predicts in one column, as a regressor of several targets does."""

    def predict(self, X: Any) -> Any:
        return super().predict(X)[:, None]


class Broken(Ridge):
    """Predicts NaN for the rows of another X than it was fitted to."""

    def predict(self, X: Any) -> Any:
        scores = super().predict(X)
        return scores if len(scores) > 1 else scores * NAN


def blend(**options: Any) -> Any:
    given = {"rankers": [Ridge(), Ridge(alpha=9)], "cv": 2} | options
    return BlendedRanker(**given).fit(X, Y, groups=GROUPS)


CASES += table(
    "BlendedRanker",
    blend,
    {
        "rankers": [
            (None, TypeError, "rankers must be a list of rankers, got None"),
            ("two", TypeError, "rankers must be a list of rankers, got 'two'"),
            ([], ValueError, "rankers must hold at least two rankers, got 0"),
            ([Ridge()], ValueError, "rankers must hold at least two rankers, got 1"),
            ([Ridge(), Ridge], TypeError, "rankers[1] must be an estimator"),
            ([("a", Ridge()), ("b", 3)], TypeError, "rankers[1] must be an estimator"),
            ([("a", Ridge()), ("a", Ridge())], ValueError, "no '__'; got 'a'"),
            ([("cv", Ridge()), Ridge()], ValueError, "no '__'; got 'cv'"),
            ([("a__b", Ridge()), Ridge()], ValueError, "no '__'; got 'a__b'"),
            ([Ridge(), None], TypeError, "rankers[1] must be an estimator"),
        ],
        "metric": [
            ("auc", ValueError, "unknown metric 'auc'"),
            (None, TypeError, "metric must be a name such as"),
            (
                NDCG(ties="average"),
                ValueError,
                "metric must break ties pessimistically",
            ),
        ],
        "method": [
            ("mean", ValueError, "method must be one of"),
            (None, ValueError, "method must be one of"),
        ],
        "n_jobs": [
            (0, ValueError, "n_jobs must be None or an integer but 0, got 0"),
            (True, ValueError, "n_jobs must be None or an integer but 0, got True"),
            ("2", ValueError, "n_jobs must be None or an integer but 0, got '2'"),
        ],
        "cv": [
            (1, ValueError, "cv must be at least 2 folds and no more than there are"),
            (7, ValueError, "got 7 folds for 6 queries"),
            ("none", ValueError, "cv must be a number of folds, a splitter, splits or"),
        ],
    },
)

# --- bagging ----------------------------------------------------------------------


def bag(**options: Any) -> Any:
    given = {"estimator": Ridge(), "n_estimators": 2} | options
    return BaggingRanker(**given).fit(X, Y, groups=GROUPS)


FRACTION = "max_samples must be a number in (0, 1]"
CASES += table(
    "BaggingRanker",
    bag,
    {
        "estimator": [
            (Ridge, TypeError, "estimator must be an estimator with fit and predict"),
            ("ridge", TypeError, "estimator must be an estimator with fit and predict"),
            (3, TypeError, "estimator must be an estimator with fit and predict"),
        ],
        "n_estimators": [
            (0, ValueError, "n_estimators must be an integer >= 1, got 0"),
            (2.0, TypeError, "n_estimators must be an integer >= 1, got 2.0"),
            (None, TypeError, "n_estimators must be an integer >= 1, got None"),
        ],
        "max_samples": [
            (0, ValueError, "max_samples must be an integer >= 1, got 0"),
            (0.0, ValueError, f"{FRACTION}, got 0.0"),
            (1.5, ValueError, f"{FRACTION}, got 1.5"),
            (NAN, ValueError, f"{FRACTION}, got nan"),
            ("all", TypeError, f"{FRACTION}, got 'all'"),
            (7, ValueError, "max_samples=7 is more than the 6 queries"),
        ],
        "bootstrap": [(None, ValueError, "bootstrap must be one of (True, False)")],
        "oob_score": [
            ("yes", ValueError, "oob_score must be one of (True, False)"),
            (True, ValueError, "oob_score=True needs queries that a member is not"),
        ],
        "metric": [
            ("auc", ValueError, "unknown metric 'auc'"),
            (None, TypeError, "metric must be a name such as"),
        ],
        "random_state": [("a", ValueError, "random_state='a' is no seed")],
        "verbose": [(-1, ValueError, "verbose must be an integer >= 0, got -1")],
        "n_jobs": [
            (0, ValueError, "n_jobs must be None or an integer but 0, got 0"),
            ("2", ValueError, "n_jobs must be None or an integer but 0, got '2'"),
        ],
    },
)
CASES += [
    Case(
        "X and y of different lengths to bagging",
        lambda: BaggingRanker(Ridge(), bootstrap=True).fit(X[1:], Y, groups=GROUPS),
        ValueError,
        f"X has {N - 1} rows and y {N} values",
    ),
    Case(
        "a regressor to merge",
        lambda: bag().merge(),
        TypeError,
        "estimators_[0] is a Ridge",
    ),
    Case(
        "trees on a base model to merge",
        lambda: bag(estimator=LambdaMARTRanker(n_estimators=2, init=Ridge())).merge(),
        ValueError,
        "estimators_[0] adds trees to a base model (init)",
    ),
    Case(
        "a bagged ranker before fit",
        lambda: BaggingRanker().predict(X),
        NotFittedError,
        "not fitted",
    ),
    Case(
        "NaN as the prediction of a member",
        lambda: bag(estimator=Broken()).predict(X[:1]),
        ValueError,
        "what estimators_[0] predicts must be finite, but is nan at row 0",
    ),
]
CASES += [
    Case(
        "an unfitted ranker to a blend of fitted ones",
        partial(blend, cv="prefit"),
        NotFittedError,
        "rankers[0], a Ridge, is not fitted, as cv='prefit' says it is",
    ),
    Case(
        "NaN as the prediction of a ranker",
        lambda: blend(rankers=[Ridge(), Broken()]).predict(X[:1]),
        ValueError,
        "what rankers[1] predicts must be finite, but is nan at row 0",
    ),
    Case(
        "ties of best_blend",
        partial(best_blend, Y, Y, Y, groups=GROUPS, metric=NDCG(ties="stable")),
        ValueError,
        "metric must break ties pessimistically",
    ),
    accepted(
        "a ranker that predicts one column",
        lambda: np.array_equal(
            blend(rankers=[Ridge(), Wide(alpha=9)]).predict(X), blend().predict(X)
        ),
    ),
    accepted(
        "a base model that predicts one column",
        lambda: np.array_equal(
            *(
                LambdaMARTRanker(n_estimators=2, init=init, random_state=0)
                .fit(X, Y, groups=GROUPS)
                .predict(X)
                for init in (Ridge(), Wide())
            )
        ),
    ),
]

# --- partial dependence ---------------------------------------------------------------

CASES += [
    Case("partial dependence of a ranker", partial(partial_dependence, FITTED, X, [0]),
         ValueError, "must be a fitted regressor or classifier"),
    accepted("partial dependence of a ScoreRegressor",
             partial(partial_dependence, ScoreRegressor(FITTED), X, [0])),
    Case("partial dependence before fit",
         partial(partial_dependence, ScoreRegressor(LambdaMARTRanker()), X, [0]),
         NotFittedError, "is not fitted yet"),
    Case("partial dependence of other columns",
         partial(partial_dependence, ScoreRegressor(FITTED), X[:, 1:], [0]),
         ValueError, "features, but "),
]  # fmt: skip
