"""What cannot name the queries of rows, given to all that take `groups`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import Ridge

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker, best_blend
from sklearn_ltr.inspection import compute_lambdas, local_optimality, weight_curves
from sklearn_ltr.metrics import MAP, ndcg_score, rank_scores
from sklearn_ltr.model_selection import LetorFolds, group_train_test_split
from sklearn_ltr.scorers import make_ranking_scorer
from tests.bad_inputs import Case, accepted

DATA = make_ranking(6, n_documents=5, n_features=5, n_informative=3, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
N = len(Y)
SCORES = X[:, 0]
TREES = LambdaMARTRanker(n_estimators=2, min_samples_leaf=2, random_state=0)
LINEAR = {"hidden_layer_sizes": (), "max_iter": 2, "random_state": 0}
FITTED = RankNetRanker(**LINEAR).fit(X, Y, groups=GROUPS)
PAIRS = [[0, 1]]
NAN = float("nan")


def fitted_trees() -> Any:
    return LambdaMARTRanker(n_estimators=2, random_state=0).fit(X, Y, groups=GROUPS)


FITTED_TREES = fitted_trees()
BAGGING = BaggingRanker(Ridge(), 2).fit(X, Y, groups=GROUPS)


def fit(ranker: Any, groups: Any) -> Any:
    return type(ranker)(**ranker.get_params(deep=False)).fit(X, Y, groups=groups)


def fit_with_validation(groups: Any) -> Any:
    return fitted_trees().fit(
        X, Y, groups=GROUPS, X_val=X, y_val=Y, groups_val=groups
    )  # fmt: skip


# Public entries, and the name of their argument; None is legal to those of the first
WITH_DEFAULT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "LambdaMART fit": (partial(fit, TREES), "groups"),
    "LambdaMART fit with init": (
        partial(fit, LambdaMARTRanker(n_estimators=1, init=TREES, random_state=0)),
        "groups",
    ),
    "LambdaMART fit groups_val": (fit_with_validation, "groups_val"),
    "LambdaRank fit": (partial(fit, LambdaRankRanker(**LINEAR)), "groups"),
    "RankNet fit": (partial(fit, RankNetRanker(**LINEAR)), "groups"),
    "BlendedRanker fit": (
        partial(fit, BlendedRanker([Ridge(), Ridge(alpha=9)], cv=2)),
        "groups",
    ),
    "BaggingRanker fit": (
        partial(fit, BaggingRanker(Ridge(), 2, bootstrap=True, random_state=0)),
        "groups",
    ),
    "BaggingRanker predict_std": (
        lambda groups: BAGGING.predict_std(X, groups=groups),
        "groups",
    ),
    "RankNet fit with pairs": (
        lambda groups: RankNetRanker(**LINEAR).fit(X, pairs=PAIRS, groups=groups),
        "groups",
    ),
    "score": (lambda groups: FITTED.score(X, Y, groups=groups), "groups"),
    "rank": (lambda groups: FITTED.rank(X, groups=groups), "groups"),
    "LambdaMART score": (
        lambda groups: FITTED_TREES.score(X, Y, groups=groups),
        "groups",
    ),
    "LetorFolds.split": (
        lambda groups: list(LetorFolds(GROUPS % 3).split(X, Y, groups)),
        "groups",
    ),
}
REQUIRED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "ndcg_score": (lambda groups: ndcg_score(Y, SCORES, groups=groups), "groups"),
    "per_query": (lambda groups: MAP().per_query(Y, SCORES, groups=groups), "groups"),
    "rank_scores": (lambda groups: rank_scores(SCORES, groups=groups), "groups"),
    "compute_lambdas": (
        lambda groups: compute_lambdas(SCORES, Y, groups=groups),
        "groups",
    ),
    "best_blend": (
        lambda groups: best_blend(SCORES, X[:, 1], Y, groups=groups),
        "groups",
    ),
    "group_train_test_split": (
        lambda groups: group_train_test_split(X, Y, groups=groups),
        "groups",
    ),
    "local_optimality": (
        lambda groups: local_optimality(
            FITTED, X, Y, groups=groups, n_directions=2, random_state=0
        ),
        "groups",
    ),
    "weight_curves": (
        lambda groups: weight_curves(FITTED, X, Y, groups=groups, moves=[0, 1]),
        "groups",
    ),
}
NOT_NONE = {
    name: entry
    for name, entry in (WITH_DEFAULT | REQUIRED).items()
    if name != "LetorFolds.split"
} | {
    "scorer": (
        lambda groups: make_ranking_scorer()(FITTED, X, Y, groups=groups),
        "groups",
    ),
}
PLOTS: dict[str, tuple[Callable[[Any], Any], str]] = {}
if find_spec("matplotlib"):
    from sklearn_ltr import plotting

    PLOTS = {
        "CutoffCurveDisplay": (
            lambda groups: plotting.CutoffCurveDisplay.from_predictions(
                Y, SCORES, groups=groups
            ),
            "groups",
        ),
        "QueryComparisonDisplay": (
            lambda groups: plotting.QueryComparisonDisplay.from_predictions(
                Y, SCORES, X[:, 1], groups=groups
            ),
            "groups",
        ),
        "BlendCurveDisplay": (
            lambda groups: plotting.BlendCurveDisplay.from_predictions(
                Y, SCORES, X[:, 1], groups=groups
            ),
            "groups",
        ),
    }
SAME_LENGTH = (
    NOT_NONE
    | PLOTS
    | {
        "groups_missing": (
            lambda groups: ndcg_score(
                Y, SCORES, groups=GROUPS, y_missing=Y, groups_missing=groups
            ),
            "groups_missing",
        ),
        "LetorFolds.split": WITH_DEFAULT["LetorFolds.split"],
        "LetorFolds": (LetorFolds, "parts"),
    }
)


class Plain:
    """Has neither an order nor a repr."""


class Silent:
    """All objects show the same."""

    def __repr__(self) -> str:
        return "Silent"


@dataclass(frozen=True)
class Query:
    """A group value of the user."""

    number: float


def rows(last: Any, first: Any = "a") -> list[Any]:
    """One value per row, of which the last is another."""
    return [first] * (N - 1) + [last]


TUPLES = [(1, int(group)) for group in GROUPS]
#: Of the right length where there is one: what is given, the error, its message
BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "a dict": (dict(enumerate(GROUPS)), ValueError, "is a dict, which has no order"),
    "a set": (set(range(N)), ValueError, "is a set, which has no order of rows"),
    "keys of a dict": (
        dict(enumerate(GROUPS)).keys(),
        ValueError,
        "is a dict_keys, which has no order",
    ),
    "a string": ("a" * N, ValueError, "must hold one value per row, got 'aaa"),
    "bytes": (b"a" * N, ValueError, "must hold one value per row, got b'aaa"),
    "a number": (3, ValueError, "must hold one value per row, got 3"),
    "two columns": (
        np.zeros((N, 2)),
        ValueError,
        "must have one dimension, got shape (30, 2)",
    ),
    "a frame of two columns": (
        pd.DataFrame({"a": GROUPS, "b": GROUPS}),
        ValueError,
        "must have one dimension, got shape (30, 2)",
    ),
    "a row": (
        GROUPS[None, :],
        ValueError,
        "must have one dimension, got shape (1, 30)",
    ),
    "NaN": (
        np.append(GROUPS[1:], NAN),
        ValueError,
        "has a missing value at row 29 (nan)",
    ),
    "None among strings": (
        rows(None),
        ValueError,
        "has a missing value at row 29 (None)",
    ),
    "NaN among strings": (rows(NAN), ValueError, "has a missing value at row 29 (nan)"),
    "NaT": (
        np.array(["2024-05-01"] * (N - 1) + ["NaT"], dtype="M8[s]"),
        ValueError,
        "has a missing value at row 29 (NaT)",
    ),
    "NA of pandas": (
        pd.Series([*GROUPS[1:], None], dtype="Int64"),
        ValueError,
        "has a missing value at row 29",
    ),
    "NaN in a tuple": (
        [*TUPLES[1:], (1, NAN)],
        ValueError,
        "has a missing value at row 29 ((1, nan))",
    ),
    "NaN in every tuple": (
        [(float("nan"), 1) for _ in range(N)],
        ValueError,
        "has a missing value at row 0 ((nan, 1))",
    ),
    "None in a tuple": (
        [*TUPLES[1:], (1, None)],
        ValueError,
        "has a missing value at row 29 ((1, None))",
    ),
    "NaT in a tuple": (
        [*TUPLES[1:], (1, pd.NaT)],
        ValueError,
        "has a missing value at row 29 ((1, NaT))",
    ),
    "NA in a tuple": (
        [*TUPLES[1:], (1, pd.NA)],
        ValueError,
        "has a missing value at row 29 ((1, <NA>))",
    ),
    "NaN in a tuple in a tuple": (
        [*TUPLES[1:], (1, (2, NAN))],
        ValueError,
        "has a missing value at row 29 ((1, (2, nan)))",
    ),
    "NaN in a frozenset": (
        rows(frozenset([NAN]), frozenset([1])),
        ValueError,
        "has a missing value at row 29 (frozenset({nan}))",
    ),
    "NaN in a dataclass": (
        rows(Query(NAN), Query(1)),
        ValueError,
        "has a missing value at row 29 (Query(number=nan))",
    ),
    "NaN in a MultiIndex": (
        pd.MultiIndex.from_tuples([*TUPLES[1:], (1, NAN)]),
        ValueError,
        "has a missing value at row 29 ((1, nan))",
    ),
    "masked values": (
        np.ma.array(GROUPS, mask=GROUPS == 1),
        ValueError,
        "is a masked array with masked values",
    ),
    "a list among strings": (
        rows([1]),
        TypeError,
        "must hold hashable values, but row 29 holds a list",
    ),
    "objects without order": (
        [Plain() for _ in range(N)],
        TypeError,
        "must hold values that can be sorted",
    ),
    "an object without order in tuples": (
        rows((1, Plain()), (1, Plain())),
        TypeError,
        "whose class defines no order",
    ),
    "objects that look the same": (
        [Silent() for _ in range(N)],
        TypeError,
        "holds Silent, whose order cannot be told from that of Silent",
    ),
    "times with and without a zone": (
        rows(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
        TypeError,
        "is neither before nor after it",
    ),
    "a sparse column": (
        sparse.csr_matrix(np.ones((N, 1))),
        TypeError,
        "must hold hashable values, but row 0 holds a csr_matrix",
    ),
}
#: Of another length than X
WRONG_LENGTH: dict[str, tuple[Any, str]] = {
    "the sizes of queries": (
        [5] * 6,
        "has 6 values for 30 rows and these add up to 30, so they are the sizes of the "
        "queries; give one value per row, such as np.repeat(np.arange(len(sizes)), s",
    ),
    "sizes as an array of floats": (
        np.array([10.0, 0.0, 20.0]),
        "has 3 values for 30 rows and these add up to 30, so they are the sizes",
    ),
    "numbers that are no sizes": (
        [5] * 5,
        "has 5 values for 30 rows; give one value per row (not the sizes of the qu",
    ),
    "numbers that add up by being negative": (
        [-1, 31],
        "has 2 values for 30 rows; give one value per row (not the sizes of the qu",
    ),
    "one value too few": (GROUPS[1:], "has 29 values for 30 rows"),
    "nothing": ([], "has 0 values for 30 rows"),
    "a frame that is too short": (
        pd.DataFrame({"query": GROUPS[1:]}),
        "has 29 values for 30 rows",
    ),
}
#: Can be read only once, so they are made anew for each call
ITERATORS: dict[str, tuple[Callable[[], Any], str]] = {
    "a generator": (
        lambda: (group for group in GROUPS),
        "is a generator, which can be read only once: give list(",
    ),
    "an iterator": (
        lambda: iter(GROUPS.tolist()),
        "is a list_iterator, which can be read only once: give list(",
    ),
    "a map": (lambda: map(str, GROUPS), "is a map, which can be read only once"),
}
#: The same queries under other names, in the same order
GOOD: dict[str, Any] = {
    "a list": GROUPS.tolist(),
    "a tuple": tuple(GROUPS.tolist()),
    "values of a dict": dict(enumerate(GROUPS.tolist())).values(),
    "strings": [f"query {group}" for group in GROUPS],
    "tuples": TUPLES,
    "tuples of several types": [(g, "a") if g < 3 else ("b", g) for g in GROUPS],
    "a MultiIndex": pd.MultiIndex.from_tuples(TUPLES),
    "dates": [dt.date(2024, 5, 1 + group) for group in GROUPS],
    "fractions": [Fraction(int(group), 7) for group in GROUPS],
    "numbers of several types": [
        (g, float(g))[row % 2] for row, g in enumerate(GROUPS)
    ],
    "numbers and strings": [g if g < 3 else f"query {g}" for g in GROUPS.tolist()],
    "frozensets": [frozenset([group, 10 * (group + 1)]) for group in GROUPS.tolist()],
    "a class of the user": [Query(group) for group in GROUPS.tolist()],
    "integers beyond 64 bits": [2**70 + group for group in GROUPS.tolist()],
    "a column of numpy": GROUPS[:, None],
    "a frame": pd.DataFrame({"query": GROUPS}),
    "a frame of strings": pd.DataFrame({"query": [f"query {g}" for g in GROUPS]}),
    "a masked array without masked values": np.ma.array(GROUPS),
}


def outcome(result: Any) -> Any:
    """Return numbers that a call has computed."""
    if hasattr(result, "predict"):
        return result.predict(X)
    if hasattr(result, "values"):
        return result.values
    if isinstance(result, list):
        return np.concatenate([np.ravel(part) for pair in result[:4] for part in pair])
    return np.asarray(result)


EXPECTED = {
    name: outcome(call(GROUPS))
    for name, (call, _) in SAME_LENGTH.items()
    if name not in ("LetorFolds", "group_train_test_split", "groups_missing", *PLOTS)
}


def is_as_expected(entry: str, call: Callable[[Any], Any], groups: Any) -> bool:
    return bool(np.array_equal(outcome(call(groups)), EXPECTED[entry], equal_nan=True))


CASES = [
    Case(f"{what} to {entry}", partial(call, value), error, f"{name} {message}"
         if message.startswith(("is a", "must", "has a")) else message)
    for entry, (call, name) in SAME_LENGTH.items()
    for what, (value, error, message) in BAD.items()
]  # fmt: skip
CASES += [
    Case(f"{what} to {entry}", partial(call, value), ValueError, f"{name} {message}")
    for entry, (call, name) in SAME_LENGTH.items()
    for what, (value, message) in WRONG_LENGTH.items()
    if entry not in ("LetorFolds", "group_train_test_split")
]
CASES += [
    Case(
        f"{what} to {entry}",
        lambda call=call, make=make: call(make()),
        ValueError,
        f"{name} {message}",
    )
    for entry, (call, name) in SAME_LENGTH.items()
    for what, (make, message) in ITERATORS.items()
]
CASES += [
    Case(f"None to {entry}", partial(call, None), ValueError, f"{name} is None: give")
    for entry, (call, name) in (
        REQUIRED | {"groups_missing": SAME_LENGTH["groups_missing"]}
    ).items()
]
CASES += [
    accepted(f"{what} to {entry}", partial(is_as_expected, entry, SAME_LENGTH[entry][0],
                                           value))
    for entry in EXPECTED
    for what, value in GOOD.items()
]  # fmt: skip
