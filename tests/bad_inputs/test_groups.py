"""What cannot name the queries of rows: one reader, given all of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.metrics import MAP, ndcg_score, rank_scores
from sklearn_ltr.model_selection import LetorFolds, group_train_test_split
from tests.bad_inputs import GROUPS, NAN, Bad, N, X, Y, each, fit, refused


def read(groups: Any) -> Any:
    return rank_scores(X[:, 0], groups=groups)


class Plain:
    """Neither an order nor a repr."""


@dataclass(frozen=True, order=True)
class Query:
    number: float


def ids(last: Any, first: Any = "a") -> list[Any]:
    """Return one id per row, of which the last is another."""
    return [first] * (N - 1) + [last]


TUPLES = [(1, int(group)) for group in GROUPS]
ONE_PER_ROW = "must hold one value per row, got"
MISSING = "has a missing value at row 29"
TYPES = "must hold numbers, text, dates, booleans or tuples of these, but row"
SIZES = "values for 30 rows and these add up to 30, so they are the sizes of the queri"
NO_SIZES = "values for 30 rows; give one value per row (not the sizes of the queries)"
BAD: dict[str, Bad] = {
    "None": (None, ValueError, "is None: give one value per row"),
    "a dict": (dict(enumerate(GROUPS)), ValueError, "is a dict, which has no order"),
    "a set": (set(range(N)), ValueError, "is a set, which has no order of rows"),
    "keys of a dict": (
        dict(enumerate(GROUPS)).keys(), ValueError, "is a dict_keys, which has no ord",
    ),
    "a string": ("a" * N, ValueError, f"{ONE_PER_ROW} 'aaa"),
    "bytes": (b"a" * N, ValueError, f"{ONE_PER_ROW} b'aaa"),
    "a number": (3, ValueError, f"{ONE_PER_ROW} 3"),
    "a row": (GROUPS[None, :], ValueError, "must have one dimension, got shape (1, 30"),
    **{
        f"two columns of {type(table).__name__}": (
            table, ValueError, "must have one dimension, got shape (30, 2)",
        )
        for table in (np.zeros((N, 2)), pd.DataFrame({"a": GROUPS, "b": GROUPS}))
    },
    "masked values": (
        np.ma.array(GROUPS, mask=GROUPS == 1), ValueError,
        "is a masked array with masked values",
    ),
    # missing
    "NaN": (np.append(GROUPS[1:], NAN), ValueError, f"{MISSING} (nan)"),
    "None among strings": (ids(None), ValueError, f"{MISSING} (None)"),
    "NaN among strings": (ids(NAN), ValueError, f"{MISSING} (nan)"),
    "NaT": (
        np.array(["2024-05-01"] * (N - 1) + ["NaT"], dtype="M8[s]"), ValueError,
        f"{MISSING} (NaT)",
    ),
    "NA of pandas": (
        pd.Series([*GROUPS[1:], None], dtype="Int64"), ValueError, MISSING,
    ),
    **{
        f"{value} in a tuple": (
            [*TUPLES[1:], (1, value)], ValueError, f"{MISSING} ((1, {value}))",
        )
        for value in (NAN, None, pd.NaT, pd.NA, (2, NAN))
    },
    "NaN in every tuple": (
        [(float("nan"), 1) for _ in range(N)], ValueError,
        "has a missing value at row 0 ((nan, 1))",
    ),
    "NaN in a MultiIndex": (
        pd.MultiIndex.from_tuples([*TUPLES[1:], (1, NAN)]), ValueError,
        f"{MISSING} ((1, nan))",
    ),
    # of other types
    "a list among strings": (ids([1]), TypeError, f"{TYPES} 29 holds a list"),
    "objects": ([Plain() for _ in range(N)], TypeError, f"{TYPES} 0 holds a Plain"),
    "an object in tuples": (
        ids((1, Plain()), (1, 2)), TypeError, f"{TYPES} 29 holds a tuple with a Plain",
    ),
    "a class of the user": (ids(Query(1), Query(0)), TypeError, f"{TYPES} 0 holds a Q"),
    "frozensets": (ids(frozenset([1])), TypeError, f"{TYPES} 29 holds a frozenset"),
    "complex numbers": (ids(1j, 2j), TypeError, f"{TYPES} 0 holds a complex"),
    "times with and without a zone": (
        ids(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
        TypeError, "holds values that have no order",
    ),
    "a sparse column": (
        sparse.csr_matrix(np.ones((N, 1))), TypeError, f"{TYPES} 0 holds a csr_matrix",
    ),
    # of another length
    "the sizes of queries": ([5] * 6, ValueError, f"has 6 {SIZES}"),
    "sizes as floats": (np.array([10.0, 0, 20]), ValueError, f"has 3 {SIZES}"),
    "numbers that are no sizes": ([5] * 5, ValueError, f"has 5 {NO_SIZES}"),
    "numbers below 0": ([-1, 31], ValueError, f"has 2 {NO_SIZES}"),
    "too few": (GROUPS[1:], ValueError, f"has 29 {NO_SIZES}"),
    "nothing": ([], ValueError, f"has 0 {NO_SIZES}"),
}  # fmt: skip


@pytest.mark.parametrize(("groups", "error", "message"), each(BAD))
def test_what_names_no_queries_is_refused(groups, error, message):
    refused(lambda: read(groups), error, f"groups {message}")


@pytest.mark.parametrize(
    "make", [iter, list.__iter__, lambda values: map(str, values), enumerate]
)
def test_what_can_be_read_once_is_refused(make):
    message = ", which can be read only once: give list("
    refused(lambda: read(make(GROUPS.tolist())), ValueError, message)


#: Entries with a name or a number of rows of their own
ENTRIES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "groups_val": (
        lambda groups: fit(
            LambdaMARTRanker, {"X_val": X, "y_val": Y, "groups_val": groups}
        ),
        "groups_val",
    ),
    "groups_missing": (
        lambda groups: ndcg_score(
            Y, X[:, 0], groups=GROUPS, y_missing=Y, groups_missing=groups
        ),
        "groups_missing",
    ),
    "fit": (lambda groups: fit(LambdaMARTRanker, {"groups": groups}), "groups"),
    "per_query": (lambda groups: MAP().per_query(Y, X[:, 0], groups=groups), "groups"),
    "split": (
        lambda groups: list(LetorFolds(GROUPS % 3).split(X, Y, groups)), "groups",
    ),
}  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES)
def test_errors_name_the_argument_and_the_number_of_rows(entry):
    call, name = ENTRIES[entry]
    refused(lambda: call(GROUPS[1:]), ValueError, f"{name} has 29 values for 30 rows")
    refused(lambda: call(ids(None)), ValueError, f"{name} {MISSING} (None)")


def test_other_readers_of_ids_have_no_number_of_rows():
    refused(lambda: LetorFolds(ids(None)), ValueError, f"parts {MISSING}")
    call = lambda: group_train_test_split(X, groups=ids(None))  # noqa: E731
    refused(call, ValueError, f"groups {MISSING}")


GOOD: dict[str, Any] = {
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
    "integers beyond 64 bits": [2**70 + group for group in GROUPS.tolist()],
    "a column of numpy": GROUPS[:, None],
    "a frame of strings": pd.DataFrame({"query": [f"query {g}" for g in GROUPS]}),
    "a masked array without masked values": np.ma.array(GROUPS),
}


@pytest.mark.parametrize("form", GOOD)
def test_the_same_queries_under_other_names_are_the_same(form):
    np.testing.assert_array_equal(read(GOOD[form]), read(GROUPS))
