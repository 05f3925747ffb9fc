"""Reading raw groups of any type, and checking grades, scores and weights."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
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
DAY_1, DAY_2 = dt.date(2024, 5, 1), dt.date(2024, 5, 2)
NOON = dt.datetime(2024, 5, 1, 12)
COLUMNS = {
    "integers": [
        [3, -1, 3, 2, -1],
        [2**70, -1, 2**63, 2**70, 5],
        [2**63 + 1, 2**63, 2**63 + 1],
        [-1, 2**63, 2**63 + 1, -1],  # float64 would merge the large ones
    ],
    "floats and booleans": [[0.5, -1.0, 0.5, 1e300], [True, False, True]],
    "strings and bytes": [["b", "a", "b", "ab"], [b"b", b"a", b"b"]],
    "dates and times": [
        [DAY_2, DAY_1, DAY_2],
        [NOON, NOON.replace(hour=3), NOON],
    ],
    "tuples and fractions": [
        [(1, "b"), (1, "a"), (1, "b"), (0, "z")],
        [(1, 2), (0, 3), (1, 2)],
        [Fraction(1, 2), Fraction(1, 3), Fraction(1, 2)],
    ],
}


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_queries_may_be_named_by_python(columns):
    for values in columns:
        for container in (values, tuple(values), dict(enumerate(values)).values()):
            queries = QueryGroups.from_groups(container, len(values))
            assert grouped(queries) == grouped_slowly(values)
            assert list(queries.labels) == sorted(set(values))


NUMPY_COLUMNS = {
    "numbers of any dtype": [
        np.array([3, 1, 3, 2, 1], dtype=dtype)
        for dtype in ("i1", "u1", "i2", "u4", "i8", "u8", "f4", "f8", ">i4")
    ],
    "extreme integers": [
        np.array([-128, 127, 0, -128], dtype="i1"),
        np.array([2**63, 1, 2**63], dtype="u8"),
        np.array([-(2**63), 2**63 - 1, 0, -(2**63)]),
    ],
    "strings, bytes and objects": [
        np.array(["b", "a", "b"]),
        np.array([b"b", b"a", b"b"]),
        np.array(["b", "a", "b"], dtype=object),
    ],
    "booleans": [np.array([True, False, True])],
    "a strided array": [np.arange(10)[::-2]],
}


@pytest.mark.parametrize("columns", NUMPY_COLUMNS.values(), ids=NUMPY_COLUMNS)
def test_queries_may_be_named_by_numpy(columns):
    for column in columns:
        queries = QueryGroups.from_groups(column, len(column))
        assert grouped(queries) == grouped_slowly(column.tolist())


def test_queries_may_be_named_by_dates_of_numpy():
    for unit in ("D", "s", "ns"):
        column = np.array(["2024-05-02", "2024-05-01", "2024-05-02"]).astype(
            f"M8[{unit}]"
        )
        queries = QueryGroups.from_groups(column, 3)
        assert list(grouped(queries).values()) == [[1], [0, 2]]
        assert queries.describe(0).startswith("2024-05-01")


def test_values_that_do_not_compare_are_sorted_by_kind_and_value():
    queries = QueryGroups.from_groups([2, "b", (1,), "a", 10, 2], 6)
    assert queries.labels == [2, 10, "a", "b", (1,)]
    assert queries.offsets.tolist() == [0, 2, 3, 4, 5, 6]
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


@pytest.mark.parametrize(
    "columns",
    [pandas_columns, polars_columns, arrow_columns],
    ids=["pandas", "polars", "pyarrow"],
)
def test_queries_may_be_named_by_columns_of_strings_of(columns):
    for column in columns():
        queries = QueryGroups.from_groups(column, 4)
        # an unused category ("z") is no query, and the order of categories is ignored
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


def test_queries_may_be_named_by_columns_of_numbers():
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


def test_queries_may_be_named_by_columns_of_times():
    for column in time_columns():
        queries = QueryGroups.from_groups(column, 3)
        assert list(grouped(queries).values()) == [[1], [0, 2]]


def test_queries_may_be_named_by_an_object_with_to_numpy():
    class Column:
        def __init__(self, values):
            self.values = values

        def __iter__(self):
            return iter(self.values)

        def to_numpy(self):
            return np.array(self.values)

    assert grouped(QueryGroups.from_groups(Column([2, 1, 2]), 3)) == {1: [1], 2: [0, 2]}


def columns_with_a_missing_value():
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
    for column in columns_with_a_missing_value():
        with pytest.raises(ValueError, match="groups has a missing value at row 1"):
            QueryGroups.from_groups(column, 2)


NO_GROUPS = {
    "missing": (None, 2, "groups is None: give one value per row"),
    "too long": ([1, 2, 3], 2, "groups has 3 values for 2 rows"),
    "sizes of queries": (
        np.array([5, 5]),
        10,
        r"groups has 2 values for 10 rows.*sizes.*np.repeat\(np.arange\(len\(sizes",
    ),
    "sizes of some queries": (
        np.array([5, 4]),
        10,
        r"groups has 2 values for 10 rows.*not the sizes",
    ),
    "a table": (np.zeros((2, 2)), 2, r"one dimension, got shape \(2, 2\)"),
    "a number in an array": (np.array(3), 1, r"one dimension, got shape \(\)"),
    "a string": ("query", 5, "one value per row, got 'query'"),
    "a number": (3, 1, "one value per row, got 3"),
    "empty": ([], 0, "groups is empty"),
}


@pytest.mark.parametrize(("groups", "n", "message"), NO_GROUPS.values(), ids=NO_GROUPS)
def test_groups_are_refused_if(groups, n, message):
    with pytest.raises(ValueError, match=message):
        QueryGroups.from_groups(groups, n)


def test_a_frame_of_two_columns_is_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"query": [1, 2], "other": [1, 2]})
    with pytest.raises(ValueError, match=r"one dimension, got shape \(2, 2\)"):
        QueryGroups.from_groups(frame, 2)


def test_what_is_missing_in_a_tuple_is_found_however_deep():
    pd = pytest.importorskip("pandas")
    missing_values = (None, NAN, pd.NA, pd.NaT, np.datetime64("NaT"))
    for missing in (*missing_values, Decimal("NaN"), Decimal("sNaN")):
        for value in ((1, missing), (1, (2, (missing,)))):
            with pytest.raises(ValueError, match="groups has a missing value at row 1"):
                QueryGroups.from_groups([(1, 2), value], 2)


def test_a_missing_level_of_a_multi_index_is_refused():
    pd = pytest.importorskip("pandas")
    index = pd.MultiIndex.from_arrays([[1, 1, 2], [NAN, NAN, 3]])
    with pytest.raises(ValueError, match=r"missing value at row 0 \(\(1, nan\)\)"):
        QueryGroups.from_groups(index, 3)


# --- ids of several types, and of types that name no query --------------------------

UTC = dt.UTC
ROME = dt.timezone(dt.timedelta(hours=2))
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
        DAY_1,
        NOON,
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


@dataclass(frozen=True, order=True)
class Query:
    number: int


class Color(Enum):
    RED = 0


NO_IDS = {
    "frozenset": frozenset([1]),
    "complex": 1 + 0j,
    "complex128": np.complex128(1),
    "Query": Query(1),
    "Color": Color.RED,
    "object": object(),
    "list": [1],
    "dict": {},
    "ndarray": np.zeros(2),
    "Interval": None,  # of pandas
}


@pytest.mark.parametrize("kind", NO_IDS)
def test_a_type_that_names_no_query_is_refused_with_its_row(kind):
    value = NO_IDS[kind]
    if kind == "Interval":
        value = pytest.importorskip("pandas").Interval(0, 1)
    must = "groups must hold numbers, text, dates, booleans or tuples of these, but "
    for values, found in (
        (["a", value, value], f"row 1 holds a {kind}: name each query by"),
        (["a", "b", (1, (2, value))], f"row 2 holds a tuple with a {kind}: name"),
    ):
        with pytest.raises(TypeError, match=must + found):
            QueryGroups.from_groups(values, 3)


def test_a_column_of_complex_numbers_is_refused():
    with pytest.raises(TypeError, match="row 0 holds a complex: name each query"):
        QueryGroups.from_groups(np.array([1j, 2j]), 2)


def test_times_with_and_without_a_zone_are_refused():
    for values in (
        [NOON, NOON.replace(tzinfo=UTC)],
        [(1, NOON.replace(tzinfo=UTC)), (1, NOON)],
    ):
        with pytest.raises(TypeError, match="groups holds values that have no order"):
            QueryGroups.from_groups(values, 2)


# --- one column -------------------------------------------------------------------


def one_column_tables(values):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    yield pd.DataFrame({"q": values}, index=range(len(values), 0, -1))
    yield pl.DataFrame({"q": values})
    yield pa.table({"q": values})
    yield np.array(values)[:, None]


def test_a_table_with_one_column_is_that_column():
    for values in (["b", "a", "b"], [7, 3, 7], [0.5, -1.0, 0.5]):
        for table in one_column_tables(values):
            queries = QueryGroups.from_groups(table, 3)
            assert grouped(queries) == grouped_slowly(values)
    for table in one_column_tables([2, 1, 0]):
        with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
            assert check_grades(table, QUERIES).tolist() == [1.0, 2.0, 0.0]
        assert check_scores(table, QUERIES).tolist() == [1.0, 2.0, 0.0]
    for table in one_column_tables([2, 5, 2]):
        assert check_sample_weight(table, QUERIES).tolist() == [5.0, 2.0]


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


def test_grades_may_be_columns_of_other_libraries():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    for column in (
        pd.Series([2, 1, 0]),
        pd.Series([2, 1, 0], dtype="Int64"),
        pd.Series([2, 1, 0], dtype="Float32"),
        pl.Series([2, 1, 0]),
    ):
        assert check_grades(column, QUERIES).tolist() == [1.0, 2.0, 0.0]


def test_checked_arrays_are_contiguous_and_writeable():
    read_only = np.arange(6.0)[::2]
    read_only.flags.writeable = False
    rows = check_scores(read_only, QueryGroups.single(3))
    assert rows.flags.c_contiguous
    assert rows.flags.writeable


BAD_GRADES = {
    "negative": ([0, -1, 0], r"y must hold.*row 1 \(query 'a'\) has -1.0"),
    "NaN": ([0, 0, NAN], r"y must hold.*row 2 \(query 'b'\) has nan"),
    "infinite": ([np.inf, 0, 0], r"y must hold.*row 0 \(query 'b'\) has inf"),
    "None": ([1, 2, None], r"row 2 \(query 'b'\) has None, of type NoneType"),
    "too few": (
        [0, 0],
        r"y must hold one number for each of the 3 rows, got shape \(2,\)",
    ),
    "a table": (np.zeros((3, 2)), r"y must hold one number.*shape \(3, 2\)"),
    "strings": (["0", "1", "2"], "y must be numeric, got dtype <U1"),
    "a string among objects": (
        np.array(["0", 1, 2], dtype=object),
        r"y must be numeric, but row 0 \(query 'b'\) has '0', of type str",
    ),
    "complex": ([1, 2, 1j], "y must be numeric, got dtype complex128"),
    "objects": (
        [1, 2, object()],
        r"numeric, but row 2 \(query 'b'\) has <object",
    ),
    "dates": (np.array(["2024"] * 3, dtype="M8[Y]"), "y must be numeric"),
}


@pytest.mark.parametrize(("y", "message"), BAD_GRADES.values(), ids=BAD_GRADES)
def test_grades_are_refused_if_they_are(y, message):
    with pytest.raises(ValueError, match=message):
        check_grades(y, QUERIES)


def test_a_missing_grade_of_pandas_is_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="y"):
        check_grades(pd.Series([1, 2, None], dtype="Int64"), QUERIES)


MERGED = {
    "integers": np.array([2**53 + 1, 0, 2**53]),
    "unsigned integers": np.array([2**63 + 1, 0, 2**63], dtype=np.uint64),
    "a list": [2**53 + 1, 0.5, 2**53],
    "a list of both signs": [2**63 + 1, -1, 2**63],
    "decimals": [Decimal("0.30000000000000000001"), 0, Decimal("0.3")],
}


@pytest.mark.parametrize("numbers", MERGED.values(), ids=MERGED)
def test_numbers_that_float64_merges_are_refused_or_ranked(numbers):
    with pytest.raises(ValueError, match=r"equal in float64: row 2 .* and row 0 "):
        check_scores(numbers, QUERIES)
    ranks = check_scores(numbers, QUERIES, only_order=True)
    assert ranks.tolist() == [0.0, 2.0, 1.0]


def test_large_numbers_that_float64_tells_apart_are_taken():
    for numbers in ([2**60, 2**61, 0], [2.0**60, 1e300, -1e300], [2**53 + 2, 2**53, 1]):
        rows = check_scores(numbers, QUERIES)
        assert rows.tolist() == [float(numbers[i]) for i in (1, 0, 2)]


def test_masked_values_are_refused():
    masked = np.ma.array([1, 2, 1], mask=[False, True, False])
    for read in (check_grades, check_scores, check_sample_weight):
        with pytest.raises(ValueError, match="is a masked array with masked values"):
            read(masked, QUERIES)
    with pytest.raises(ValueError, match="groups is a masked array"):
        QueryGroups.from_groups(masked, 3)


def test_errors_name_the_argument_as_the_caller_does():
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


BAD_WEIGHTS = {
    "change within a query": (
        [1, 5, 2],
        r"constant within a query, but query 'b' has both 1.0 and 2.0",
    ),
    "are negative": ([-1, 5, -1], r">= 0, but row 0 \(query 'b'\) has -1"),
    "are infinite": ([1, np.inf, 1], r">= 0, but row 1 \(query 'a'\) has inf"),
    "are all zero": ([0, 0, 0], "sample_weight is zero for every query"),
    "are too few": ([1, 1], "one number for each of the 3 rows"),
}


@pytest.mark.parametrize(("weights", "message"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_weights_are_refused_if_they(weights, message):
    with pytest.raises(ValueError, match=message):
        check_sample_weight(weights, QUERIES)


def test_messages_show_a_numpy_label_without_its_type():
    queries = QueryGroups.from_groups(np.array([7, 3]), 2)
    assert (queries.describe(0), queries.describe_row(0)) == ("3", "row 0 (query 7)")
