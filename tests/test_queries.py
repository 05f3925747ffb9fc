"""Raw groups of every kind, and the checks of what comes with them."""

from __future__ import annotations

import datetime as dt
import sys
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._queries import (
    QueryGroups,
    check_grades,
    check_sample_weight,
    check_scores,
)


def grouped(queries: QueryGroups) -> dict:
    """Rows of each query by its label: what grouping must get right."""
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
DAY_1, DAY_2 = dt.date(2024, 5, 1), dt.date(2024, 5, 2)
NOON = dt.datetime(2024, 5, 1, 12)
COLUMNS = {
    "integers": [3, -1, 3, 2, -1],
    "integers beyond 64 bits": [2**70, -1, 2**63, 2**70, 5],
    "integers beyond signed 64 bits": [2**63 + 1, 2**63, 2**63 + 1],
    "integers that float64 would merge": [-1, 2**63, 2**63 + 1, -1],
    "floats": [0.5, -1.0, 0.5, 1e300],
    "booleans": [True, False, True],
    "strings": ["b", "a", "b", "ab"],
    "bytes": [b"b", b"a", b"b"],
    "dates": [DAY_2, DAY_1, DAY_2],
    "datetimes": [NOON, NOON.replace(hour=3), NOON],
    "tuples of one length": [(1, "b"), (1, "a"), (1, "b"), (0, "z")],
    "pairs of numbers": [(1, 2), (0, 3), (1, 2)],
    "fractions": [Fraction(1, 2), Fraction(1, 3), Fraction(1, 2)],
}


@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("container", [list, tuple, lambda v: iter(list(v))])
def test_python_values_of_any_kind_name_queries(values, container):
    queries = QueryGroups.from_groups(container(values), len(values))
    assert grouped(queries) == grouped_slowly(values)
    assert list(queries.labels) == sorted(set(values))


@pytest.mark.parametrize(
    "column",
    [
        np.array([3, 1, 3, 2, 1], dtype=dtype)
        for dtype in ("i1", "u1", "i2", "u4", "i8", "u8", "f4", "f8", ">i4")
    ]
    + [
        np.array([-128, 127, 0, -128], dtype="i1"),
        np.array([2**63, 1, 2**63], dtype="u8"),
        np.array([-(2**63), 2**63 - 1, 0, -(2**63)]),
        np.array(["b", "a", "b"]),
        np.array([b"b", b"a", b"b"]),
        np.array(["b", "a", "b"], dtype=object),
        np.array([True, False, True]),
        np.arange(10)[::-2],
    ],
    ids=lambda column: f"{column.dtype} {column[:2]}",
)
def test_numpy_columns_of_any_dtype_name_queries(column):
    queries = QueryGroups.from_groups(column, len(column))
    assert grouped(queries) == grouped_slowly(column.tolist())


def test_numpy_dates_name_queries():
    for unit in ("D", "s", "ns"):
        column = np.array(["2024-05-02", "2024-05-01", "2024-05-02"]).astype(
            f"M8[{unit}]"
        )
        queries = QueryGroups.from_groups(column, 3)
        assert list(grouped(queries).values()) == [[1], [0, 2]]
        assert queries.describe(0).startswith("2024-05-01")


def test_values_that_do_not_compare_are_sorted_by_type_and_repr():
    queries = QueryGroups.from_groups([2, "b", (1,), "a", 10, 2], 6)
    assert queries.labels == [10, 2, "a", "b", (1,)]
    assert queries.offsets.tolist() == [0, 1, 3, 4, 5, 6]
    assert grouped(QueryGroups.from_groups(["1", 1, "1"], 3)) == {1: [1], "1": [0, 2]}


# --- columns of other libraries ---------------------------------------------------


def pandas_columns():
    pd = pytest.importorskip("pandas")
    values = ["b", "a", "b", "c"]
    yield pd.Series(values, index=[9, 3, 3, 1])
    yield pd.Series(values, dtype="string")
    yield pd.Series(values, dtype="category")
    yield pd.Categorical(values, categories=["z", "c", "b", "a"], ordered=True)
    yield pd.Index(values)
    yield pd.DataFrame({"query": values})["query"]
    pytest.importorskip("pyarrow")
    yield pd.Series(values, dtype="string[pyarrow]")


def polars_columns():
    pl = pytest.importorskip("polars")
    values = ["b", "a", "b", "c"]
    yield pl.Series(values)
    yield pl.Series(values, dtype=pl.Categorical)
    yield pl.Series(values, dtype=pl.Enum(["z", "c", "b", "a"]))
    yield pl.DataFrame({"query": values})["query"]


def arrow_columns():
    pa = pytest.importorskip("pyarrow")
    yield pa.array(["b", "a", "b", "c"])
    yield pa.chunked_array([["b", "a"], ["b", "c"]])
    yield pa.array(["b", "a", "b", "c"]).dictionary_encode()


@pytest.mark.parametrize("columns", [pandas_columns, polars_columns, arrow_columns])
def test_columns_of_strings_name_queries(columns):
    for column in columns():
        queries = QueryGroups.from_groups(column, 4)
        # unobserved categories ("z") make no query; their order does not count
        assert grouped(queries) == {"a": [1], "b": [0, 2], "c": [3]}


def number_columns():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    values = [7, -2, 7, 3]
    yield from (
        pd.Series(values, dtype=dtype) for dtype in ("int64", "Int32", "Float64")
    )
    yield pd.Series(values, dtype="int64[pyarrow]")
    yield pd.Series(values, dtype="category")
    yield pl.Series(values)
    yield pl.Series(values, dtype=pl.Int8)


def test_columns_of_numbers_name_queries():
    for column in number_columns():
        assert grouped(QueryGroups.from_groups(column, 4)) == {
            -2: [1],
            3: [3],
            7: [0, 2],
        }


def time_columns():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    values = [NOON, NOON.replace(hour=3), NOON]
    yield pd.Series(values)
    yield pd.Series(values).dt.tz_localize("Europe/Rome")
    yield pd.Series(values).dt.to_period("h")
    yield pl.Series(values)
    yield pl.Series([DAY_2, DAY_1, DAY_2])


def test_columns_of_times_name_queries():
    for column in time_columns():
        queries = QueryGroups.from_groups(column, 3)
        assert list(grouped(queries).values()) == [[1], [0, 2]]


def test_a_column_that_only_has_to_numpy_names_queries():
    class Column:
        def __init__(self, values):
            self.values = values

        def __iter__(self):
            return iter(self.values)

        def to_numpy(self):
            return np.array(self.values)

    assert grouped(QueryGroups.from_groups(Column([2, 1, 2]), 3)) == {1: [1], 2: [0, 2]}


def columns_with_a_hole():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    yield from ([1.0, NAN], [1, None], ["a", None], ["a", NAN], [NOON, None])
    yield np.array([1.0, NAN])
    yield np.array(["2024-05-01", "NaT"], dtype="M8[s]")
    yield np.array([1, "NaT"], dtype="m8[s]")
    yield pd.Series(["a", None])
    yield pd.Series(["a", None], dtype="category")
    yield pd.Series([1, None], dtype="Int64")
    yield pd.Series([1.5, None], dtype="Float64")
    yield pd.Series([NOON, None])
    yield [1, pd.NA]
    yield [NOON, pd.NaT]
    yield pl.Series([1, None])
    yield pl.Series(["a", None])
    yield pl.Series([NOON, None])


def test_a_missing_group_value_is_refused_with_its_row():
    for column in columns_with_a_hole():
        with pytest.raises(ValueError, match="groups has a missing value at row 1"):
            QueryGroups.from_groups(column, 2)


@pytest.mark.parametrize(
    ("groups", "n", "message"),
    [
        (None, 2, "groups is None: give one value per row"),
        ([1, 2, 3], 2, "groups has 3 values for 2 rows"),
        (np.array([5, 5]), 10, r"groups has 2 values for 10 rows.*not the sizes"),
        (np.zeros((2, 2)), 2, r"one dimension, got shape \(2, 2\)"),
        (np.zeros((2, 1)), 2, r"one dimension, got shape \(2, 1\)"),
        (np.array(3), 1, r"one dimension, got shape \(\)"),
        ("query", 5, "one value per row, got 'query'"),
        (3, 1, "one value per row, got 3"),
        ([], 0, "groups is empty"),
    ],
)
def test_groups_that_are_no_column_are_refused(groups, n, message):
    with pytest.raises(ValueError, match=message):
        QueryGroups.from_groups(groups, n)


def test_a_table_is_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"one dimension, got shape \(2, 1\)"):
        QueryGroups.from_groups(pd.DataFrame({"query": [1, 2]}), 2)


def test_values_without_a_hash_are_refused_with_their_row():
    with pytest.raises(TypeError, match="hashable values, but row 1 holds a list"):
        QueryGroups.from_groups(["a", [1], [2]], 3)


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


def a_million_rows():
    numbers = np.repeat(np.arange(10_000) * 7 - 20_000, 100)
    shuffled = np.random.default_rng(0).permutation(numbers)
    yield "sorted integers", numbers, 0.05
    yield "shuffled integers", shuffled, 0.3
    yield "shuffled integers far apart", shuffled * 10**9, 0.5
    yield "strings in a list", [f"query {g}" for g in shuffled.tolist()], 0.6
    yield "strings in an array", shuffled.astype(str), 0.6
    yield "strings as objects", shuffled.astype(str).astype(object), 0.6


@pytest.mark.skipif(sys.gettrace() is not None, reason="times the tracer instead")
def test_a_million_rows_take_well_under_a_second():
    for kind, groups, limit in a_million_rows():
        seconds = []
        for _ in range(2):  # the quicker one: other work on the machine only adds
            start = time.perf_counter()
            queries = QueryGroups.from_groups(groups, 1_000_000)
            seconds.append(time.perf_counter() - start)
        assert queries.n_queries == 10_000
        assert min(seconds) < limit, kind


# --- grades, scores, weights ------------------------------------------------------

QUERIES = QueryGroups.from_groups(["b", "a", "b"], 3)


def test_rows_come_out_in_canonical_order_as_float64():
    for column in ([2, 1, 0], np.array([2, 1, 0], dtype="u1"), (2.0, True, False)):
        for check in (check_grades, check_scores):
            rows = check(column, QUERIES)
            assert rows.dtype == np.float64
            assert rows.tolist() == [1.0, 2.0, 0.0]


def test_columns_of_other_libraries_hold_grades():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    for column in (
        pd.Series([2, 1, 0]),
        pd.Series([2, 1, 0], dtype="Int64"),
        pd.Series([2, 1, 0], dtype="Float32"),
        pl.Series([2, 1, 0]),
    ):
        assert check_grades(column, QUERIES).tolist() == [1.0, 2.0, 0.0]


def test_kernels_always_get_plain_writeable_arrays():
    frozen = np.arange(6.0)[::2]
    frozen.flags.writeable = False
    rows = check_scores(frozen, QueryGroups.single(3))
    assert rows.flags.c_contiguous
    assert rows.flags.writeable


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, -1, 0], r"y must hold.*row 1 \(query 'a'\) has -1.0"),
        ([0, 0, NAN], r"y must hold.*row 2 \(query 'b'\) has nan"),
        ([np.inf, 0, 0], r"y must hold.*row 0 \(query 'b'\) has inf"),
        ([0, 0], r"y must hold one number for each of the 3 rows, got shape \(2,\)"),
        (np.zeros((3, 1)), r"y must hold one number.*shape \(3, 1\)"),
        (["0", "1", "2"], "y must be numeric, got dtype <U1"),
        (np.array(["0", 1, 2], dtype=object), "y must be numeric, got dtype object"),
        ([1, 2, None], r"row 2 \(query 'b'\) has nan"),
        ([1, 2, 1j], "y must be numeric, got dtype complex128"),
        ([1, 2, object()], "y must be numeric: .*object"),
        (np.array(["2024"] * 3, dtype="M8[Y]"), "y must be numeric"),
    ],
)
def test_bad_grades_are_refused_with_row_and_query(y, message):
    with pytest.raises(ValueError, match=message):
        check_grades(y, QUERIES)


def test_a_missing_grade_of_pandas_is_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="y"):
        check_grades(pd.Series([1, 2, None], dtype="Int64"), QUERIES)


def test_the_argument_is_called_what_the_caller_calls_it():
    with pytest.raises(ValueError, match="y_val must hold"):
        check_grades([-1, 0, 0], QUERIES, "y_val")
    with pytest.raises(ValueError, match="scores must be finite"):
        check_scores([NAN, 0, 0], QUERIES, "scores")
    with pytest.raises(ValueError, match="sample_weight_val must be finite"):
        check_sample_weight([NAN, 0, 0], QUERIES, "sample_weight_val")


def test_a_query_has_the_weight_of_its_rows():
    assert check_sample_weight([2, 5, 2], QUERIES).tolist() == [5.0, 2.0]
    assert check_sample_weight([0, 5, 0], QUERIES).tolist() == [5.0, 0.0]
    assert check_sample_weight(None, QUERIES).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 5, 2], r"constant within a query, but query 'b' has both 1.0 and 2.0"),
        ([-1, 5, -1], r">= 0, but row 0 \(query 'b'\) has -1"),
        ([1, np.inf, 1], r">= 0, but row 1 \(query 'a'\) has inf"),
        ([0, 0, 0], "sample_weight is zero for every query"),
        ([1, 1], "one number for each of the 3 rows"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        check_sample_weight(weights, QUERIES)


def test_a_numpy_label_is_named_without_its_type():
    queries = QueryGroups.from_groups(np.array([7, 3]), 2)
    assert (queries.describe(0), queries.describe_row(0)) == ("3", "row 0 (query 7)")
