"""What cannot be the grades, weights or initial scores of rows."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import Ridge

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker, best_blend
from sklearn_ltr.inspection import compute_lambdas, local_optimality, weight_curves
from sklearn_ltr.metrics import MAP, MRR, ndcg_score
from sklearn_ltr.model_selection import group_train_test_split
from sklearn_ltr.scorers import make_ranking_scorer
from tests.bad_inputs import Case, accepted
from tests.bad_inputs.groups import (
    FITTED,
    FITTED_TREES,
    GROUPS,
    LINEAR,
    PAIRS,
    SCORES,
    N,
    X,
    Y,
    fitted_trees,
    outcome,
)

Entry = tuple[Callable[[Any], Any], str]
NAN, INF = float("nan"), float("inf")
QUERIES = {"groups": GROUPS}
GOOD_WEIGHT = 1.0 + GROUPS % 3
#: One number per row, constant within queries, so that it may be anything
NUMBERS = GROUPS % 3
RANKERS: dict[str, Callable[[], Any]] = {
    "LambdaMART": lambda: LambdaMARTRanker(n_estimators=2, random_state=0),
    "LambdaMART with init": lambda: LambdaMARTRanker(
        n_estimators=2, init=Ridge(), random_state=0
    ),
    "LambdaRank": lambda: LambdaRankRanker(**LINEAR),
    "RankNet": lambda: RankNetRanker(**LINEAR),
    "BlendedRanker": lambda: BlendedRanker([Ridge(), Ridge(alpha=9)], cv=2),
    "BaggingRanker": lambda: BaggingRanker(Ridge(), 2, bootstrap=True, random_state=0),
}
#: The number of rows is that of y itself
META_RANKERS = ("BlendedRanker fit", "BaggingRanker fit")
FITS = {
    f"{name} fit": lambda y, weight=None, make=make: make().fit(
        X, y, groups=GROUPS, sample_weight=weight
    )
    for name, make in RANKERS.items()
}


def validated(name: str, values: Any) -> Any:
    """Fit with an argument for early stopping."""
    given = {"X_val": X, "y_val": Y, "groups_val": GROUPS} | {name: values}
    return fitted_trees().fit(X, Y, groups=GROUPS, **given)


def inspect_directions(y: Any, weight: Any = None) -> Any:
    return local_optimality(
        FITTED, X, y, groups=GROUPS, sample_weight=weight, n_directions=2,
        random_state=0,
    )  # fmt: skip


def inspect_curves(y: Any, weight: Any = None) -> Any:
    return weight_curves(
        FITTED, X, y, groups=GROUPS, sample_weight=weight, moves=[0, 1]
    )


def blend(y: Any, weight: Any = None) -> Any:
    return best_blend(SCORES, X[:, 1], y, groups=GROUPS, sample_weight=weight)


def score_by_scorer(y: Any, weight: Any = None) -> Any:
    scorer = make_ranking_scorer(["ndcg@10", "mrr"])
    values = scorer(FITTED, X, y, groups=GROUPS, sample_weight=weight)
    return np.array(list(values.values()))


GRADES: dict[str, Entry] = {
    **{name: (fit, "y") for name, fit in FITS.items() if name not in META_RANKERS},
    "LambdaMART fit y_val": (partial(validated, "y_val"), "y_val"),
    "score": (lambda y: FITTED.score(X, y, groups=GROUPS), "y"),
    "LambdaMART score": (lambda y: FITTED_TREES.score(X, y, groups=GROUPS), "y"),
    "scorer": (score_by_scorer, "y"),
    "local_optimality": (inspect_directions, "y"),
    "weight_curves": (inspect_curves, "y"),
    "compute_lambdas": (
        lambda y: compute_lambdas(SCORES, y, metric="map", groups=GROUPS),
        "grades",
    ),
    "stratify": (
        lambda y: group_train_test_split(
            X, groups=GROUPS, test_size=2, stratify=y, random_state=0
        ),
        "stratify",
    ),
}
#: The number of rows is that of y itself
GRADES_OF_ROWS: dict[str, Entry] = {
    **{name: (FITS[name], "y") for name in META_RANKERS},
    "ndcg_score": (lambda y: ndcg_score(y, SCORES, groups=GROUPS), "y_true"),
    "per_query": (lambda y: MAP().per_query(y, SCORES, groups=GROUPS), "y_true"),
    "best_blend": (blend, "y"),
    "y_missing": (
        lambda y: ndcg_score(
            Y, SCORES, groups=GROUPS, y_missing=y, groups_missing=GROUPS
        ),
        "y_missing",
    ),
}
WEIGHTS: dict[str, Entry] = {
    **{
        name: (partial(fit, Y), "sample_weight")
        for name, fit in FITS.items()
        if name != "LambdaMART with init fit"
    },
    "LambdaMART fit weights_val": (
        partial(validated, "sample_weight_val"),
        "sample_weight_val",
    ),
    "score": (
        lambda weight: FITTED.score(X, Y, groups=GROUPS, sample_weight=weight),
        "sample_weight",
    ),
    "scorer": (partial(score_by_scorer, Y), "sample_weight"),
    "mrr": (
        lambda weight: MRR()(Y, SCORES, groups=GROUPS, sample_weight=weight),
        "sample_weight",
    ),
    "ndcg_score": (
        lambda weight: ndcg_score(Y, SCORES, groups=GROUPS, sample_weight=weight),
        "sample_weight",
    ),
    "best_blend": (partial(blend, Y), "sample_weight"),
    "local_optimality": (partial(inspect_directions, Y), "sample_weight"),
    "weight_curves": (partial(inspect_curves, Y), "sample_weight"),
    "RankNet fit with pairs": (
        lambda weight: RankNetRanker(**LINEAR).fit(
            X, pairs=PAIRS, groups=GROUPS, sample_weight=weight
        ),
        "sample_weight",
    ),
}


def fit_on_scores(scores: Any) -> Any:
    ranker = LambdaMARTRanker(n_estimators=2, random_state=0)
    ranker.fit(X, Y, groups=GROUPS, init_score=scores)
    return ranker.predict(X, init_score=SCORES)


ON_SCORES = LambdaMARTRanker(n_estimators=2, random_state=0).fit(
    X, Y, groups=GROUPS, init_score=SCORES
)
INITIAL_SCORES: dict[str, Entry] = {
    "init_score": (fit_on_scores, "init_score"),
    "predict": (lambda scores: ON_SCORES.predict(X, init_score=scores), "init_score"),
    "rank": (
        lambda scores: ON_SCORES.rank(X, groups=GROUPS, init_score=scores),
        "init_score",
    ),
    "score": (
        lambda scores: ON_SCORES.score(X, Y, groups=GROUPS, init_score=scores),
        "init_score",
    ),
}


def last(value: Any) -> Any:
    """Return numbers of which the last is another; the row is the 30th."""
    values: list[Any] = NUMBERS.tolist()
    return [*values[:-1], value]


#: No column of numbers, whatever they stand for
NO_NUMBERS: dict[str, tuple[Any, str]] = {
    "a dict": (dict(enumerate(NUMBERS)), "is a dict, which has no order of rows"),
    "a set": (set(range(N)), "is a set, which has no order of rows"),
    "a string": ("0" * N, "must hold one number per row, got '000"),
    "a number": (1, "must hold one number per row, got 1"),
    "two columns": (
        np.zeros((N, 2)),
        "must hold one number for each of the 30 rows, got shape (30, 2)",
    ),
    "a frame of two columns": (
        pd.DataFrame({"a": NUMBERS, "b": NUMBERS}),
        "must hold one number for each of the 30 rows, got shape (30, 2)",
    ),
    "strings": (NUMBERS.astype(str), "must be numeric, got dtype <U"),
    "a string among numbers": (last("1"), "must be numeric, got dtype <U"),
    "strings of pandas": (pd.Series(NUMBERS.astype(str)), "must be numeric, but row 0"),
    "None": (last(None), "must be numeric, but row 29"),
    "NA of pandas": (last(pd.NA), "must be numeric, but row 29"),
    "an object": (last(object()), "must be numeric, but row 29"),
    "complex numbers": (last(1j), "must be numeric, got dtype complex128"),
    "dates": (np.array(["2024"] * N, dtype="M8[Y]"), "must be numeric, got dtype"),
    "a number beyond float64": (last(10**400), "must fit in float64, but row 29"),
    "a signalling NaN": (last(Decimal("sNaN")), "must be numeric, but row 29"),
    "lists of several lengths": ([[1], [1, 2]] * (N // 2), "must be numeric: "),
    "masked values": (
        np.ma.array(NUMBERS, mask=NUMBERS == 1),
        "is a masked array with masked values",
    ),
}
TOO_FEW: dict[str, tuple[Any, str]] = {
    "too few": (NUMBERS[1:], "must hold one number for each of the 30 rows, got shape"),
    "a sparse column": (
        sparse.csr_array(NUMBERS[:, None]),
        "must hold one number for each of the 30 rows, got shape ()",
    ),
    "a row": (
        NUMBERS[None, :],
        "must hold one number for each of the 30 rows, got shape (1, 30)",
    ),
    "nothing": ([], "must hold one number for each of the 30 rows, got shape (0,)"),
}
ROW = "row 29 (query 5) has"
BAD_GRADES: dict[str, tuple[Any, str]] = {
    "NaN": (last(NAN), f"must hold finite relevance grades >= 0, but {ROW} nan"),
    "infinity": (last(INF), f"must hold finite relevance grades >= 0, but {ROW} inf"),
    "a negative number": (last(-1), f"grades >= 0, but {ROW} -1.0"),
    "a missing value of pandas": (
        pd.Series(last(None), dtype="float64"),
        f"must hold finite relevance grades >= 0, but {ROW} nan",
    ),
    "a missing value of polars": (
        pl.Series(last(None)),
        f"must hold finite relevance grades >= 0, but {ROW} nan",
    ),
    "a missing value of pyarrow": (
        pa.array(last(None)),
        f"must hold finite relevance grades >= 0, but {ROW} nan",
    ),
    "integers that float64 merges": (
        [2**53 + row % 2 for row in range(N)],
        "has different numbers that are equal in float64",
    ),
}
BAD_WEIGHTS: dict[str, tuple[Any, str]] = {
    "NaN": (last(NAN), f"must be finite and >= 0, but {ROW} nan"),
    "infinity": (last(INF), f"must be finite and >= 0, but {ROW} inf"),
    "a negative number": (last(-1), f"must be finite and >= 0, but {ROW} -1.0"),
    "weights of documents": (
        np.arange(1.0, N + 1),
        "weighs whole queries, so it must be constant within a query, but query 0",
    ),
    "zeros": (np.zeros(N), "is zero for every query: nothing would count"),
}
BAD_SCORES: dict[str, tuple[Any, str]] = {
    "NaN": (last(NAN), "must be finite, but is nan at row 29"),
    "infinity": (last(INF), "must be finite, but is inf at row 29"),
    "integers that float64 merges": (
        [2**53 + row % 2 for row in range(N)],
        "has different numbers that are equal in float64",
    ),
}
GENERATORS: dict[str, tuple[Callable[[], Any], str]] = {
    "a generator": (
        lambda: (number for number in NUMBERS),
        "is a generator, which can be read only once: give list(",
    ),
    "a zip": (lambda: zip(NUMBERS, strict=True), "is a zip, which can be read only"),
}


def cases(
    kind: str, entries: dict[str, Entry], *tables: dict[str, tuple[Any, str]]
) -> list[Case]:
    """Return the cases of what is in the tables, for each entry."""
    found = [
        Case(
            f"{what} as {kind} to {entry}",
            partial(call, value),
            ValueError,
            message if message.startswith("grades") else f"{name} {message}",
        )
        for entry, (call, name) in entries.items()
        for table in tables
        for what, (value, message) in table.items()
    ]
    return found + [
        Case(
            f"{what} as {kind} to {entry}",
            lambda call=call, make=make: call(make()),
            ValueError,
            f"{name} {message}",
        )
        for entry, (call, name) in entries.items()
        for what, (make, message) in GENERATORS.items()
    ]


CASES = (
    cases("grades", GRADES, NO_NUMBERS, TOO_FEW, BAD_GRADES)
    + cases("grades", GRADES_OF_ROWS, NO_NUMBERS, BAD_GRADES)
    + cases("weights", WEIGHTS, NO_NUMBERS, TOO_FEW, BAD_WEIGHTS)
    + cases("scores", INITIAL_SCORES, NO_NUMBERS, TOO_FEW, BAD_SCORES)
)
CASES += [
    Case(
        f"too few grades to {entry}",
        partial(call, Y[1:]),
        ValueError,
        ("groups_missing" if entry == "y_missing" else "groups")
        + " has 30 values for 29 rows",
    )
    for entry, (call, _) in GRADES_OF_ROWS.items()
]
CASES += [
    Case(f"no grades to {entry}", partial(call, None), ValueError, f"{name} is None: ")
    for entry, (call, name) in (GRADES | GRADES_OF_ROWS).items()
    if entry not in ("stratify", "RankNet fit")
]

GOOD: dict[str, Callable[[Any], Any]] = {
    "a list": lambda numbers: numbers.tolist(),
    "a tuple": lambda numbers: tuple(numbers.tolist()),
    "a column of numpy": lambda numbers: numbers[:, None],
    "a list of lists": lambda numbers: numbers[:, None].tolist(),
    "a frame": lambda numbers: pd.DataFrame({"y": numbers}),
    "a frame with an index": lambda numbers: pd.DataFrame(
        {"y": numbers}, index=np.arange(N)[::-1]
    ),
    "a nullable frame": lambda numbers: pd.DataFrame({"y": numbers}, dtype="Int64"),
    "a series": lambda numbers: pd.Series(numbers, index=np.arange(N)[::-1]),
    "a frame of polars": lambda numbers: pl.DataFrame({"y": numbers}),
    "a table of pyarrow": lambda numbers: pa.table({"y": numbers}),
    "an array of pyarrow": lambda numbers: pa.array(numbers),
    "objects": lambda numbers: numbers.astype(object),
    "decimals": lambda numbers: [Decimal(n) for n in numbers.tolist()],
    "fractions": lambda numbers: [Fraction(n) for n in numbers.tolist()],
    "longdouble": lambda numbers: numbers.astype(np.longdouble),
    "float16": lambda numbers: numbers.astype(np.float16),
    "unsigned bytes": lambda numbers: numbers.astype(np.uint8),
    "another byte order": lambda numbers: numbers.astype(">f8"),
    "a strided array": lambda numbers: np.repeat(numbers, 2)[::2],
}


def read_only(numbers: Any) -> Any:
    array = numbers.astype(np.float64)
    array.flags.writeable = False
    return array


GOOD["a read-only array"] = read_only


def is_as_expected(call: Callable[[Any], Any], numbers: Any, like: Any) -> bool:
    """Whether a call has the same outcome for numbers in another container."""
    return bool(np.array_equal(outcome(call(like(numbers))), outcome(call(numbers))))


def warns_of_column(call: Callable[[Any], Any], numbers: Any, like: Any) -> bool:
    """Whether grades in a column get a warning, and have the outcome of others."""
    with pytest.warns(DataConversionWarning, match="A column-vector .*1d array was"):
        return is_as_expected(call, numbers, like)


CASES += [
    accepted(
        f"{what} as {kind} to {entry}",
        partial(
            warns_of_column
            if kind == "grades" and np.ndim(np.asarray(like(numbers))) == 2
            else is_as_expected,
            call,
            numbers,
            like,
        ),
    )
    for kind, entries, numbers in (
        ("grades", GRADES | GRADES_OF_ROWS, Y),
        ("weights", WEIGHTS, (1 + GROUPS % 3)),
        ("scores", INITIAL_SCORES, np.arange(N) % 7),
    )
    for entry, (call, _) in entries.items()
    if entry != "stratify"
    for what, like in GOOD.items()
]
