"""Raw ids of queries of any type: read, sorted, or refused by name."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.data import QueryGroups
from sklearn_ltr.metrics import MAP, ndcg_score
from sklearn_ltr.model_selection import LetorFolds, group_train_test_split
from tests.bad_inputs import GROUPS, NAN, N, X, Y, each, fit, refused


def grouped(queries: QueryGroups) -> dict:
    """Rows of each query by its label."""
    starts = queries.offsets[:-1], queries.offsets[1:]
    return {
        label: queries.order[lo:hi].tolist()
        for label, lo, hi in zip(queries.query_ids, *starts, strict=True)
    }


def grouped_slowly(groups) -> dict:
    rows: dict = {}
    for row, label in enumerate(groups):
        rows.setdefault(label, []).append(row)
    return {label: rows[label] for label in sorted(rows)}


#: In all, row 1 is the first query, rows 0 and 2 the second, row 3 the third
TEXT, NUMBERS, HOURS = ["b", "a", "b", "c"], [7, -2, 7, 9], [9, 3, 9, 12]
TIMES = [dt.datetime(2024, 5, 1, hour) for hour in HOURS]
COLUMNS = [
    NUMBERS,
    tuple(TEXT),
    dict(enumerate(TEXT)).values(),
    [2**70, -1, 2**70, 2**71],
    [2**63 + 1, 2**63, 2**63 + 1, 2**63 + 2],  # float64 would merge them
    [2**63, -1, 2**63, 2**63 + 1],
    [0.5, -1.0, 0.5, 1e300],
    [b"b", b"a", b"b", b"ba"],
    [(1, "b"), (0, "z"), (1, "b"), (1, "c")],
    [Fraction(1, n) for n in (2, 3, 2, 1)],
    TIMES,
    [time.date().replace(day=time.hour) for time in TIMES],
    *(np.array([2, 1, 2, 3], dtype=t) for t in ("i1", "u1", "u8", "f4", "f8", ">i4")),
    np.array([0, -128, 0, 127], dtype="i1"),
    np.array([2**63, 1, 2**63, 2**63 + 1], dtype="u8"),
    np.array([0, -(2**63), 0, 2**63 - 1]),
    np.array(TEXT),
    np.array(TEXT, dtype=object),
    np.array(NUMBERS[::-1])[::-1],
    *(np.array(TIMES, dtype=f"M8[{unit}]") for unit in ("h", "s", "ns")),
    pd.Series(TEXT, index=[9, 3, 3, 1]),
    pd.Series(TEXT, dtype="string"),
    pd.Series(TEXT, dtype="string[pyarrow]"),
    pd.Series(TEXT, dtype="category"),
    # an unused category is no query, and the order of categories is ignored
    pd.Categorical(TEXT, categories=["z", "c", "b", "a"], ordered=True),
    pd.Index(TEXT),
    *(
        pd.Series(NUMBERS, dtype=dtype)
        for dtype in ("int64", "Int32", "Float64", "int64[pyarrow]", "category")
    ),
    pd.Series(TIMES),
    pd.Series(TIMES).dt.tz_localize("Europe/Rome"),
    pd.Series(TIMES).dt.to_period("h"),
    pl.Series(TEXT),
    pl.Series(TEXT, dtype=pl.Categorical),
    pl.Series(TEXT, dtype=pl.Enum(["z", "c", "b", "a"])),
    pl.Series(NUMBERS, dtype=pl.Int8),
    pl.Series(TIMES),
    pa.array(TEXT),
    pa.chunked_array([["b", "a"], ["b", "c"]]),
    pa.array(TEXT).dictionary_encode(),
    *(pd.DataFrame({"q": values}, index=range(4, 0, -1)) for values in (TEXT, NUMBERS)),
    *(pl.DataFrame({"q": values}) for values in (TEXT, NUMBERS)),
    *(pa.table({"q": values}) for values in (TEXT, NUMBERS)),
    *(np.array(values)[:, None] for values in (TEXT, NUMBERS)),
]


@pytest.mark.parametrize("column", COLUMNS, ids=range(len(COLUMNS)))
def test_queries_may_be_named_by_columns_of_any_kind(column):
    found = grouped(QueryGroups.from_groups(column, 4))
    assert list(found.values()) == [[1], [0, 2], [3]]
    if isinstance(column, list | tuple):
        assert found == grouped_slowly(column)


def test_labels_are_those_of_python():
    assert list(QueryGroups.from_groups([True, False, True], 3).query_ids) == [
        False,
        True,
    ]
    dates = np.array(["2024-05-02", "2024-05-01"], dtype="M8[D]")
    assert QueryGroups.from_groups(dates, 2).describe(0).startswith("2024-05-01")
    assert list(QueryGroups.from_groups(TEXT, 4).query_ids) == ["a", "b", "c"]


# --- what names no queries ------------------------------------------------------------

NOW = dt.datetime(2024, 5, 1)
MISSING = [
    *([value, missing] for value, missing in (
        (1, None), (NOW, None), (NOW, pd.NaT), (1, pd.NA), ("a", NAN), ("a", None))),
    np.array([1.0, NAN]),
    np.array([1, "NaT"], dtype="m8[s]"),
    np.array([NOW, "NaT"], dtype="M8[s]"),
    *(pd.Series(["a", None], dtype=dtype) for dtype in ("object", "category")),
    *(pd.Series([1, None], dtype=dtype) for dtype in ("Int64", "Float64")),
    pd.Series([NOW, None]),
    *(pl.Series([value, None]) for value in (1, "a", NOW)),
    pd.MultiIndex.from_tuples([(1, 2), (1, NAN)]),
    *([(1, 2), value]
      for missing in (np.datetime64("NaT", "s"), Decimal("NaN"), Decimal("sNaN"),
                      pd.NA, pd.NaT, NAN, None)
      for value in ((1, missing), (1, (2, (missing,))))),
]  # fmt: skip


@pytest.mark.parametrize("column", MISSING, ids=range(len(MISSING)))
def test_a_missing_value_is_refused_with_its_row(column):
    with pytest.raises(ValueError, match="groups has a missing value at row 1"):
        QueryGroups.from_groups(column, 2)


class Color(Enum):
    RED = 0


@pytest.mark.parametrize(
    "value",
    [1j, np.complex128(1), Color.RED, {}, [1], frozenset([1]), object(), np.zeros(2),
     pd.Interval(0, 1)],
)  # fmt: skip
def test_a_type_that_names_no_query_is_refused_with_its_row(value):
    kind = type(value).__name__
    for values, found in (
        (["a", value, value], f"row 1 holds a {kind}: name each query by"),
        (["a", "b", (1, (2, value))], f"row 2 holds a tuple with a {kind}: name"),
    ):
        with pytest.raises(TypeError, match=f"groups must hold numbers, .*{found}"):
            QueryGroups.from_groups(values, 3)


def test_times_with_and_without_a_zone_are_refused():
    zoned = NOW.replace(tzinfo=dt.UTC)
    for values in ([NOW, zoned], [(1, zoned), (1, NOW)]):
        with pytest.raises(TypeError, match="groups holds values that have no order"):
            QueryGroups.from_groups(values, 2)


ONE_PER_ROW, NO_ORDER = "must hold one value per row, got", "which has no order"
ONCE = "which can be read only once: give list("
SIZES = "values for 30 rows that add up to 30, so they are the sizes of the queri"
NO_SIZES = "values for 30 rows: give one value per row (not the sizes of the queries)"
NO_COLUMNS: dict[str, tuple[Any, str]] = {
    "None": (None, "is None: give one value per row"),
    "a dict": (dict(enumerate(GROUPS)), f"is a dict, {NO_ORDER}"),
    "a set": (set(range(N)), f"is a set, {NO_ORDER}"),
    "keys of a dict": (dict(enumerate(GROUPS)).keys(), f"is a dict_keys, {NO_ORDER}"),
    "an iterator": (iter(GROUPS), f"is a iterator, {ONCE}"),
    "a map": (map(str, GROUPS), f"is a map, {ONCE}"),
    "a string": ("a" * N, f"{ONE_PER_ROW} 'aaa"),
    "a name": ("qid", f"{ONE_PER_ROW} 'qid': give the column itself, as in frame['q"),
    "bytes": (b"a" * N, f"{ONE_PER_ROW} b'aaa"),
    "a number": (3, f"{ONE_PER_ROW} 3"),
    "a row": (GROUPS[None, :], "must have one dimension, got shape (1, 30"),
    "two columns": (
        pd.DataFrame({"a": GROUPS, "b": GROUPS}),
        "must have one dimension, got shape (30, 2)",
    ),
    "masked values": (
        np.ma.array(GROUPS, mask=GROUPS == 1), "is a masked array with masked values",
    ),
    "the sizes of queries": ([5] * 6, f"has 6 {SIZES}"),
    "counted ids": (
        pd.Series(GROUPS).value_counts(),
        f"has {len(set(GROUPS))} {SIZES}es: give one value per row (the column of ids",
    ),
    "sizes as floats": (np.array([10.0, 0, 20]), f"has 3 {SIZES}"),
    "numbers that are no sizes": ([5] * 5, f"has 5 {NO_SIZES}"),
    "numbers below 0": ([-1, 31], f"has 2 {NO_SIZES}"),
    "nothing": ([], f"has 0 {NO_SIZES}"),
}  # fmt: skip


@pytest.mark.parametrize(("groups", "message"), each(NO_COLUMNS))
def test_what_is_no_column_of_ids_is_refused(groups, message):
    call = lambda: QueryGroups.from_groups(groups, N)  # noqa: E731
    refused(call, ValueError, f"groups {message}")


#: Entries with a name or a number of rows of their own
ENTRIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "fit": ("groups", lambda g: fit(LambdaMARTRanker, {"groups": g})),
    "X_val": ("groups_val", lambda g: fit(
        LambdaMARTRanker, {"X_val": X, "y_val": Y, "groups_val": g})),
    "y_missing": ("groups_missing", lambda g: ndcg_score(
        Y, X[:, 0], groups=GROUPS, y_missing=Y, groups_missing=g)),
    "per_query": ("groups", lambda g: MAP().per_query(Y, X[:, 0], groups=g)),
    "split": ("groups", lambda g: list(LetorFolds(GROUPS % 3).split(X, Y, g))),
}  # fmt: skip


def test_errors_name_the_argument_and_the_number_of_rows():
    missing = ["a"] * (N - 1) + [None]
    for name, call in ENTRIES.values():
        for groups, message in (
            (GROUPS[1:], "has 29 values for 30 rows"),
            (missing, "has a missing value at row 29 (None)"),
        ):
            refused(lambda c=call, g=groups: c(g), ValueError, f"{name} {message}")
    refused(lambda: LetorFolds(missing), ValueError, "parts has a missing")
    call = lambda: group_train_test_split(X, groups=missing)  # noqa: E731
    refused(call, ValueError, "groups has a missing")
    sparse_column = sparse.csr_matrix(np.ones((N, 1)))
    call = lambda: fit(LambdaMARTRanker, {"groups": sparse_column})  # noqa: E731
    refused(call, TypeError, "row 0 holds a csr_matrix")


# --- order, sorting and back ------------------------------------------------------


def test_values_that_do_not_compare_are_sorted_by_kind_and_value():
    queries = QueryGroups.from_groups([2, "b", (1,), "a", 10, 2], 6)
    assert queries.query_ids == [2, 10, "a", "b", (1,)]
    assert queries.offsets.tolist() == [0, 2, 3, 4, 5, 6]
    assert grouped(QueryGroups.from_groups(["1", 1, "1"], 3)) == {1: [1], "1": [0, 2]}


UTC, ROME = dt.UTC, dt.timezone(dt.timedelta(hours=2))
SEVERAL_TYPES = {
    "equal numbers of several types": [1, 1.0, True, Fraction(1), 0.5, "a", 2, 2.0],
    "numbers of all types": [1, Decimal("0.3"), 0.3, np.float32(0.1), np.True_, "a"],
    "numbers of numpy and tuples": [np.float32(0.25), (np.float32(0.25),), (1, 2), 3],
    "large numbers and floats": [2**53 + 1, 2.0**53, 2**53, 2**53 + 2, ""],
    "times of several zones": [
        dt.datetime(2024, 1, 1, 12, tzinfo=UTC),
        dt.datetime(2024, 1, 1, 14, tzinfo=ROME),  # the same time
        dt.datetime(2024, 1, 1, 13, tzinfo=ROME), "today",
    ],
    "everything": [
        (1, "a"), (1, 2), "a", b"a", 1, NOW.date(), NOW, dt.timedelta(1),
        np.timedelta64(2, "D"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("values", SEVERAL_TYPES.values(), ids=SEVERAL_TYPES)
def test_the_order_of_queries_does_not_depend_on_the_order_of_rows(values):
    expected = None
    for seed in range(30):
        rows = np.random.default_rng(seed).permutation(len(values))
        queries = QueryGroups.from_groups([values[row] for row in rows], len(rows))
        lists = np.split(rows[queries.order], queries.offsets[1:-1])
        found = [sorted(of_query.tolist()) for of_query in lists]
        expected = found if expected is None else expected
        assert found == expected
    assert sorted(sum(expected, [])) == list(range(len(values)))


def test_the_column_of_groups_can_be_read_again():
    for groups in ([3, 1, 3], ["b", "a", "b"], [(1, 2), (0, 1), (1, 2)]):
        queries = QueryGroups.from_groups(groups, 3)
        assert list(queries.column) == groups
        assert grouped(QueryGroups.from_groups(queries.column, 3)) == grouped(queries)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40))
def test_sorting_groups_the_rows_and_unsorting_undoes_it(groups):
    queries = QueryGroups.from_groups(groups, len(groups))
    rows = np.arange(len(groups))
    assert grouped(queries) == grouped_slowly(groups)
    assert queries.n_documents == len(groups)
    assert queries.n_queries == len(set(groups)) == len(queries.sizes)
    assert queries.sizes.tolist() == [groups.count(g) for g in sorted(set(groups))]
    np.testing.assert_array_equal(np.array(groups)[queries.order], sorted(groups))
    np.testing.assert_array_equal(queries.sort(rows), queries.order)
    np.testing.assert_array_equal(queries.unsort(queries.sort(rows)), rows)
    assert (queries.order.dtype, queries.offsets.dtype) == (np.intp, np.int64)
    table = np.stack([rows, -rows], axis=1)
    np.testing.assert_array_equal(queries.unsort(queries.sort(table)), table)


def test_rows_in_canonical_order_are_not_copied():
    rows = np.arange(4)
    in_order = QueryGroups.from_groups(["a", "a", "b", "c"], 4)
    assert in_order.in_order
    assert in_order.sort(rows) is rows
    assert in_order.unsort(rows) is rows
    assert not QueryGroups.from_groups(["b", "a"], 2).in_order


def test_messages_show_a_numpy_label_without_its_type():
    queries = QueryGroups.from_groups(np.array([7, 3]), 2)
    assert (queries.describe(0), queries.describe_row(0)) == ("3", "row 0 (query 7)")
