"""Reading raw groups of any type, and checking grades, scores and weights."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from sklearn_ltr._data import (
    QueryGroups,
    check_grades,
    check_sample_weight,
    check_scores,
)


def grouped(queries: QueryGroups) -> dict:
    """Rows of each query by its label."""
    starts = queries.offsets[:-1], queries.offsets[1:]
    return {
        label: queries.order[lo:hi].tolist()
        for label, lo, hi in zip(queries.labels, *starts, strict=True)
    }


def grouped_slowly(groups) -> dict:
    rows: dict = {}
    for row, label in enumerate(groups):
        rows.setdefault(label, []).append(row)
    return {label: rows[label] for label in sorted(rows)}


NAN = float("nan")


class Column:
    """A column of an unknown library."""

    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def to_numpy(self):
        return np.array(self.values)


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
    np.array(TEXT, dtype="S1"),
    np.array(TEXT, dtype=object),
    np.array(NUMBERS[::-1])[::-1],
    *(np.array(TIMES, dtype=f"M8[{unit}]") for unit in ("h", "s", "ns")),
    Column(NUMBERS),
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
    assert list(QueryGroups.from_groups([True, False, True], 3).labels) == [False, True]
    dates = np.array(["2024-05-02", "2024-05-01"], dtype="M8[D]")
    assert QueryGroups.from_groups(dates, 2).describe(0).startswith("2024-05-01")
    assert list(QueryGroups.from_groups(TEXT, 4).labels) == ["a", "b", "c"]


NOW = dt.datetime(2024, 5, 1)
MISSING = [
    [1, None],
    [NOW, None],
    [NOW, pd.NaT],
    [1, pd.NA],
    np.array([1.0, NAN]),
    np.array([1, "NaT"], dtype="m8[s]"),
    *(pd.Series(["a", None], dtype=dtype) for dtype in ("object", "category")),
    *(pd.Series([1, None], dtype=dtype) for dtype in ("Int64", "Float64")),
    pd.Series([NOW, None]),
    *(pl.Series([value, None]) for value in (1, "a", NOW)),
    *(
        [(1, 2), value]
        for missing in (
            np.datetime64("NaT", "s"),
            Decimal("NaN"),
            Decimal("sNaN"),
            pd.NA,
        )
        for value in ((1, missing), (1, (2, (missing,))))
    ),
]


@pytest.mark.parametrize("column", MISSING, ids=range(len(MISSING)))
def test_a_missing_value_is_refused_with_its_row(column):
    with pytest.raises(ValueError, match="groups has a missing value at row 1"):
        QueryGroups.from_groups(column, 2)


class Color(Enum):
    RED = 0


@pytest.mark.parametrize(
    "value", [1j, np.complex128(1), Color.RED, {}, np.zeros(2), pd.Interval(0, 1)]
)
def test_a_type_that_names_no_query_is_refused_with_its_row(value):
    kind = type(value).__name__
    for values, found in (
        (["a", value, value], f"row 1 holds a {kind}: name each query by"),
        (["a", "b", (1, (2, value))], f"row 2 holds a tuple with a {kind}: name"),
    ):
        with pytest.raises(TypeError, match=f"groups must hold numbers, .*{found}"):
            QueryGroups.from_groups(values, 3)


def test_times_with_and_without_a_zone_in_tuples_are_refused():
    values = [(1, NOW.replace(tzinfo=dt.UTC)), (1, NOW)]
    with pytest.raises(TypeError, match="groups holds values that have no order"):
        QueryGroups.from_groups(values, 2)


def test_values_that_do_not_compare_are_sorted_by_kind_and_value():
    queries = QueryGroups.from_groups([2, "b", (1,), "a", 10, 2], 6)
    assert queries.labels == [2, 10, "a", "b", (1,)]
    assert queries.offsets.tolist() == [0, 2, 3, 4, 5, 6]
    assert grouped(QueryGroups.from_groups(["1", 1, "1"], 3)) == {1: [1], "1": [0, 2]}


# --- ids of several types -----------------------------------------------------------

UTC, ROME = dt.UTC, dt.timezone(dt.timedelta(hours=2))
SEVERAL_TYPES = {
    "equal numbers of several types": [1, 1.0, True, Fraction(1), 0.5, "a", 2, 2.0],
    "numbers of all types": [1, Decimal("0.3"), 0.3, np.float32(0.1), np.True_, "a"],
    "numbers of numpy and tuples": [np.float32(0.25), (np.float32(0.25),), (1, 2), 3],
    "large numbers and floats": [
        2**53 + 1,
        2.0**53,
        2**53,
        2**53 + 2,
        np.float64(7),
        "",
    ],
    "times of several zones": [
        dt.datetime(2024, 1, 1, 12, tzinfo=UTC),
        dt.datetime(2024, 1, 1, 14, tzinfo=ROME),  # the same time
        dt.datetime(2024, 1, 1, 13, tzinfo=ROME),
        "today",
    ],
    "everything": [
        (1, "a"),
        (1, 2),
        "a",
        b"a",
        1,
        NOW.date(),
        NOW,
        dt.timedelta(1),
        np.timedelta64(2, "D"),
    ],
}


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


def test_a_table_with_one_column_is_that_column():
    values = [2, 1, 0]
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        table = make({"q": values})
        with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
            assert check_grades(table, QUERIES).tolist() == [1.0, 2.0, 0.0]
        assert check_scores(table, QUERIES).tolist() == [1.0, 2.0, 0.0]
        weights = make({"q": [2, 5, 2]})
        assert check_sample_weight(weights, QUERIES).tolist() == [5.0, 2.0]


def test_the_column_of_groups_can_be_read_again():
    for groups in ([3, 1, 3], ["b", "a", "b"], [(1, 2), (0, 1), (1, 2)]):
        queries = QueryGroups.from_groups(groups, 3)
        assert list(queries.column) == groups
        assert grouped(QueryGroups.from_groups(queries.column, 3)) == grouped(queries)


# --- order, sorting and back ------------------------------------------------------


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


def test_all_rows_may_be_one_query():
    queries = QueryGroups.single(3)
    assert (queries.n_queries, queries.sizes.tolist()) == (1, [3])
    assert queries.in_order


# --- grades, scores, weights ------------------------------------------------------

QUERIES = QueryGroups.from_groups(["b", "a", "b"], 3)


def test_grades_and_scores_are_returned_in_canonical_order_as_float64():
    for column in ([2, 1, 0], np.array([2, 1, 0], dtype="u1"), (2.0, True, False)):
        for check in (check_grades, check_scores):
            rows = check(column, QUERIES)
            assert rows.dtype == np.float64
            assert rows.tolist() == [1.0, 2.0, 0.0]


def test_checked_arrays_are_contiguous_and_writeable():
    read_only = np.arange(6.0)[::2]
    read_only.flags.writeable = False
    rows = check_scores(read_only, QueryGroups.single(3))
    assert rows.flags.c_contiguous
    assert rows.flags.writeable


def test_large_numbers_that_float64_tells_apart_are_taken():
    for numbers in ([2**60, 2**61, 0], [2.0**60, 1e300, -1e300], [2**53 + 2, 2**53, 1]):
        rows = check_scores(numbers, QUERIES)
        assert rows.tolist() == [float(numbers[i]) for i in (1, 0, 2)]


def test_a_query_has_the_weight_of_its_rows():
    assert check_sample_weight([2, 5, 2], QUERIES).tolist() == [5.0, 2.0]
    assert check_sample_weight([0, 5, 0], QUERIES).tolist() == [5.0, 0.0]
    assert check_sample_weight(None, QUERIES).tolist() == [1.0, 1.0]


def test_messages_show_a_numpy_label_without_its_type():
    queries = QueryGroups.from_groups(np.array([7, 3]), 2)
    assert (queries.describe(0), queries.describe_row(0)) == ("3", "row 0 (query 7)")
