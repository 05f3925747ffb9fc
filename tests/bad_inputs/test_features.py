"""Feature tables, categories and constraints that cannot be used."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.bad_inputs import (
    GROUPS,
    INF,
    NAN,
    OF_TREES,
    RANKERS,
    SMALL,
    Bad,
    N,
    Y,
    each,
    fit,
    refused,
    targets,
)
from tests.bad_inputs import X as NUMBERS

X = NUMBERS[:, :2].copy()


def damaged(form: str, attribute: str, place: int, number: int) -> Any:
    """Return a sparse matrix of which one index points outside of it."""
    table = sparse.csr_matrix(X).asformat(form)
    array = getattr(table, attribute).copy()
    array[place] = number
    setattr(table, attribute, array)
    return table


def replaced(value: Any, table: Any = X, dtype: Any = object) -> Any:
    """Return a table of which one value, at row 3 and column 1, is replaced."""
    table = table.astype(dtype)
    table[3, 1] = value
    return table


def framed(column: Any) -> Any:
    return pd.DataFrame({"a": X[:, 0], "b": column})


def of_polars(column: Any) -> Any:
    return pl.DataFrame({"a": X[:, 0], "b": column})


def of_arrow(column: Any) -> Any:
    return pa.table({"a": X[:, 0], "b": column})


DAY, HOUR = dt.datetime(2020, 1, 1), dt.timedelta(hours=1)
DATES, TEXT = "holds dates or times", "must be numeric, but holds text"
OUTSIDE = "is a damaged sparse matrix"
#: numpy would take them for numbers
NO_NUMBERS: dict[str, Bad] = {
    name: (table, ValueError, message)
    for message, tables in {
        DATES: {
            "dates": np.full((N, 2), "2020-01-01", "datetime64[D]"),
            "time spans": np.full((N, 2), 3, "timedelta64[h]"),
            "a list of dates": [[np.datetime64("2020-01-01")] * 2] * N,
            "a date of numpy": replaced(np.datetime64("2020-01-01")),
            "a time span of numpy": replaced(np.timedelta64(3, "D")),
            "a date": replaced(DAY.date()),
            "a time": replaced(DAY.time()),
            "a time span": replaced(HOUR),
            "a timestamp": replaced(pd.Timestamp(DAY)),
            "a list with a date": [[1.0, DAY]] * N,
        },
        f"'b' {DATES}": {
            "a frame of dates": framed(pd.Timestamp(DAY)),
            "a frame of zoned dates": framed(pd.Timestamp(DAY, tz="UTC")),
            "a frame of time spans": framed(pd.Timedelta(HOUR)),
            "a frame of objects, dates": framed(pd.Series([DAY.date()] * N)),
            "a frame of periods": framed(pd.Period(DAY, "D")),
            "a frame of polars, dates": of_polars([DAY.date()] * N),
            "a frame of polars, time spans": of_polars([HOUR] * N),
            "a frame of polars, times": of_polars([DAY.time()] * N),
            "an Arrow table of dates": of_arrow([DAY.date()] * N),
            "an Arrow table of times": of_arrow([DAY] * N),
        },
        TEXT: {
            "numbers as text": X.astype(str),
            "numbers as bytes": X.astype(bytes),
            "numbers as objects of text": X.astype(str).astype(object),
            "a list of text": X.astype(str).tolist(),
            "one text": replaced("2"),
            "one number in bytes": replaced(b"2"),
        },
        f"'b' {TEXT}": {
            "a frame of text": framed("2"),
            "a frame of polars, text": of_polars(["2"] * N),
            "an Arrow table of text": of_arrow(["2"] * N),
        },
    }.items()
    for name, table in tables.items()
}
#: scipy would read and write outside of its arrays
DAMAGED: dict[str, Bad] = {
    f"{form} {attribute}[{place}]={number}": (
        damaged(form, attribute, place, number), ValueError, OUTSIDE,
    )
    for form, attribute, place, number in [
        ("csr", "indices", 3, 999), ("csr", "indices", 3, -7),
        ("csc", "indices", 3, 999), ("csr", "indptr", 2, 10**6),
        ("csr", "indptr", 0, 1), ("csr", "indptr", -1, 10**6), ("csc", "indptr", 1, -1),
    ]
}  # fmt: skip
BAD: dict[str, Bad] = {
    "a frame of intervals": (
        framed(pd.Interval(0, 1)), TypeError, "'b' holds values of the type Interval",
    ),
    "a frame of lists": (
        framed(pd.Series([[1, 2]] * N)), TypeError, "'b' holds values of the type list",
    ),
    "a frame of polars, lists": (
        of_polars([[1, 2]] * N), TypeError, "'b' holds values of the type ndarray",
    ),
    "a lazy frame": (
        of_polars([1] * N).lazy(), ValueError,
        "is a LazyFrame, without values yet: give its collect()",
    ),
    "masked values": (np.ma.masked_greater(X, 0), ValueError, "is a masked array"),
    # what scikit-learn refuses, with the name of the argument
    "infinity": (replaced(INF, dtype=float), ValueError, "contains infinity"),
    "minus infinity": (replaced(-INF, dtype=float), ValueError, "contains infini"),
    "sparse infinity": (
        sparse.csr_matrix(replaced(INF, dtype=float)), ValueError,
        "contains infinity (inf) at row 3, column 1",
    ),
    "an integer beyond float64": (replaced(10**400), ValueError, "beyond float64"),
    "complex numbers": (X + 1j, ValueError, "Complex data not supported"),
    "a complex number": (replaced(1j), TypeError, "not 'complex'"),
    "a dict": (replaced({"a": 1}), TypeError, "not 'dict'"),
    "a list in a cell": (replaced([1.0]), ValueError, "element with a sequence"),
    "records": (np.zeros(N, dtype=[("a", float)]), ValueError, "Expected 2D array"),
    "nothing": (None, ValueError, "Expected 2D array"),
    "a number": (3.0, ValueError, "Expected 2D array"),
    "text": ("abc", ValueError, "could not convert string to float"),
    "a dict of columns": ({"a": [1]}, TypeError, "not 'dict'"),
    "a generator": ((row for row in X), TypeError, "not 'generator'"),
    "rows of two lengths": ([[1, 2], [3]], ValueError, "inhomogeneous shape"),
    "one dimension": (X[0], ValueError, "Expected 2D array, got 1D array"),
    "three dimensions": (X[None], ValueError, "Found array with dim 3"),
    "a series": (pd.Series(X[:, 0]), ValueError, "Expected a 2-dimensional container"),
    "no rows": (X[:0], ValueError, "Found array with 0 sample(s)"),
    "no columns": (X[:, :0], ValueError, "Found array with 0 feature(s)"),
    "a column without a name": (
        pd.DataFrame(X, columns=["a", 1]), TypeError, "Feature names are only suppor",
    ),
}  # fmt: skip
if hasattr(np.dtypes, "StringDType"):  # numpy 2
    of_any_length = X.astype(np.dtypes.StringDType())
    BAD["numbers as text of any length"] = (of_any_length, ValueError, TEXT)
OF_NETWORKS: dict[str, Bad] = {
    "categories": (framed(pd.Categorical(["1"] * N)), ValueError, f"'b' {TEXT}"),
    "NaN": (replaced(NAN, dtype=float), ValueError, "contains NaN at row 3, column 1"),
    "None": (replaced(None), ValueError, "contains NaN at row 3, column 1"),
    "sparse NaN": (
        sparse.csr_matrix(replaced(NAN, dtype=float)), ValueError,
        "contains NaN at row 3, column 1",
    ),
    "beyond float32": (
        replaced(1e39, dtype=float), ValueError,
        "in single precision contains infinity (inf) at row 3, column 1",
    ),
}  # fmt: skip


@cache
def on_two(estimator: type) -> Any:
    """Return a model of two columns."""
    return fit(estimator, {"X": X})


@pytest.mark.parametrize(("table", "error", "message"), each(NO_NUMBERS, DAMAGED, BAD))
@pytest.mark.parametrize("estimator", [RankNetRanker, MARTRegressor])
def test_a_bad_table_is_refused_by_each_reader(estimator, table, error, message):
    """Each reads X, and X of a fitted model; MART does not speak of ranking."""
    with pytest.raises(error) as raised:
        fit(estimator, {"X": table})
    said = str(raised.value)
    assert raised.type is error and message in said
    assert said.startswith(("X:", "X "))
    assert "rank" not in said.replace("Ranker", "")
    if not (estimator is MARTRegressor and message.endswith(TEXT)):
        refused(lambda: on_two(estimator).predict(table), error, message)


@pytest.mark.parametrize(("table", "error", "message"), each(OF_NETWORKS))
def test_networks_need_numbers_in_single_precision(table, error, message):
    refused(lambda: fit(RankNetRanker, {"X": table}), error, message)
    refused(lambda: on_two(RankNetRanker).predict(table), error, message)


#: Every entry for X goes through a reader that knows the number of columns
ENTRIES: dict[str, Any] = {
    **{f"{e.__name__} predict": lambda t, e=e: on_two(e).predict(t) for e in SMALL},
    **{
        f"{e.__name__} X_val": lambda t, e=e: fit(
            e,
            {"X": X, "X_val": t, "y_val": targets(e)["y"]}
            | ({"groups_val": GROUPS} if e in RANKERS else {}),
        )
        for e in (*RANKERS, MARTRegressor, MARTClassifier)
    },
    "apply": lambda t: on_two(LambdaMARTRanker).apply(t),
    "decision_function": lambda t: on_two(MARTClassifier).decision_function(t),
    "predict_proba": lambda t: on_two(MARTClassifier).predict_proba(t),
    "staged_predict": lambda t: list(on_two(LambdaMARTRanker).staged_predict(t)),
    "staged_predict_proba": lambda t: list(
        on_two(MARTClassifier).staged_predict_proba(t)
    ),
    "rank": lambda t: on_two(LambdaMARTRanker).rank(t, groups=GROUPS),
    "score": lambda t: on_two(RankNetRanker).score(t, Y, groups=GROUPS),
    "shap_values": lambda t: shap_values(on_two(LambdaMARTRanker), t),
    "background": lambda t: shap_values(on_two(MARTRegressor), X, background=t),
    "X_i": lambda t: on_two(RankNetRanker).predict_pair_proba(t, X),
    "X_j": lambda t: on_two(RankNetRanker).predict_pair_proba(X, t),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_another_number_of_columns_is_refused(entry):
    for n in (1, 3):
        message = f"X has {n} features, but "
        refused(lambda n=n: ENTRIES[entry](np.ones((N, n))), ValueError, message)
    refused(lambda: ENTRIES[entry](np.full((N, 2), INF)), ValueError, "infinity")


@pytest.mark.parametrize("columns", [["b", "a"], ["a", "c"]])
def test_columns_of_other_names_are_refused(columns):
    model = fit(MARTRegressor, {"X": pd.DataFrame(X, columns=["a", "b"])})
    table = pd.DataFrame(X, columns=columns)
    refused(
        lambda: model.predict(table), ValueError, "The feature names should match those"
    )


WHOLE = np.round(X * 4).astype(np.int64)
SAME = {
    "bytes": WHOLE.astype(np.int8),
    "half precision": WHOLE.astype(np.float16),
    "extended precision": WHOLE.astype(np.longdouble),
    "another byte order": WHOLE.astype(">f8"),
    "decimals": np.vectorize(Decimal, otypes=[object])(WHOLE),
    "fractions": np.vectorize(Fraction, otypes=[object])(WHOLE),
    "lists": WHOLE.tolist(),
    "tuples": tuple(map(tuple, WHOLE.tolist())),
    "columns after columns": np.asfortranarray(WHOLE.astype(float)),
    "a view of every other row": np.repeat(WHOLE, 2, axis=0)[::2],
    "a read-only array": np.frombuffer(WHOLE.tobytes(), dtype=np.int64).reshape(N, 2),
    "nothing masked": np.ma.masked_greater(WHOLE, 99),
    "a frame": pd.DataFrame(WHOLE, columns=["a", "b"]),
    "nullable numbers": pd.DataFrame(WHOLE, columns=["a", "b"]).astype("Int64"),
    "a frame of polars": pl.DataFrame(WHOLE, schema=["a", "b"]),
    "CSR array": sparse.csr_array(WHOLE),
    **{form: sparse.csr_matrix(WHOLE).asformat(form)
       for form in ("csr", "csc", "coo", "lil", "dia", "bsr")},
    "duplicate entries": sparse.coo_matrix(
        (np.r_[WHOLE.ravel() - 1, np.ones(2 * N)], (np.tile(np.arange(N).repeat(2), 2),
         np.tile([0, 1], 2 * N))), shape=(N, 2),
    ).tocsr(),
}  # fmt: skip


@pytest.mark.parametrize("form", SAME)
@pytest.mark.parametrize("estimator", [RankNetRanker, MARTRegressor])
def test_other_forms_of_the_same_numbers_give_the_same_scores(estimator, form):
    table, numbers = SAME[form], WHOLE.astype(float)
    expected = fit(estimator, {"X": numbers}).predict(numbers)
    assert fit(estimator, {"X": table}).predict(table).tobytes() == expected.tobytes()


# --- categorical features -------------------------------------------------------------

CODES = np.column_stack([np.arange(N) % 4, np.arange(N) % 3, np.linspace(-1, 1, N)])
WORDS = np.array(["one", "two", "three"])[np.arange(N) % 3]
FRAME = framed(WORDS)
MUST_BE = "categorical_features must be 'from_dtype', None, or a list"
NO_COLUMNS = "no columns of X: it has no names"
FROM_0_TO_2 = "indices from 0 to 2"
#: the parameter, X, error and message
NAMED_WRONGLY: dict[str, tuple[Any, Any, type[Exception], str]] = {
    **{
        f"{given}": (given, table, TypeError, MUST_BE)
        for given, table in [
            ("b", FRAME), ("auto", FRAME), (1, CODES), (True, CODES),
            ([0.0, 1.0], CODES), (np.array([1.0]), CODES), ([[0, 1]], CODES),
            ({"b": True}, FRAME), ({"b"}, FRAME), ([None], FRAME), (["b", 1], FRAME),
            ([True, 1, 0], CODES),
        ]
    },
    "an unknown name": (
        ["b", "c"], FRAME, ValueError,
        "categorical_features names ['c'], which are no columns of X: it has ['a', 'b'",
    ),
    "names for an array": (["b"], CODES, ValueError, NO_COLUMNS),
    "names for lists": (["b"], CODES.tolist(), ValueError, NO_COLUMNS),
    "an index too large": ([0, 3], CODES, ValueError, "from 0 to 2, got [0, 3]"),
    "a negative index": ([-1], CODES, ValueError, f"{FROM_0_TO_2}, got [-1]"),
    "a huge index": ([10**30], CODES, ValueError, FROM_0_TO_2),
    "a short mask": (
        [True, False], CODES, ValueError, "a mask of 2 booleans, and X has 3 features",
    ),
    "a long mask": (np.ones(4, bool), CODES, ValueError, "a mask of 4 booleans"),
    "an empty mask": (np.ones(0, bool), CODES[:0], ValueError, "0 sample(s)"),
}  # fmt: skip
IN_COLUMN = "X in column 1 is categorical, but row 3 holds"


def code(value: Any, dtype: Any = np.float64) -> Any:
    return replaced(value, CODES, dtype)


#: X whose column 1 is categorical, and the message
NO_CATEGORIES: dict[str, tuple[Any, str]] = {
    "halves": (code(0.5), f"{IN_COLUMN} 0.5: the codes of categories are whole"),
    "a negative code": (code(-1), f"{IN_COLUMN} -1: "),
    "a negative integer": (code(-1, np.int8), f"{IN_COLUMN} -1: "),
    "an infinite code": (code(INF), f"{IN_COLUMN} inf: "),
    "a minus infinite code": (code(-INF), f"{IN_COLUMN} -inf: "),
    "a code beyond float64": (code(2.0**54), "from 0 to 9007199254740992"),
    "an integer beyond float64": (code(2**63 - 1, np.int64), IN_COLUMN),
    "an unsigned integer beyond float64": (code(2**64 - 1, np.uint64), IN_COLUMN),
    "a code beyond float32": (code(2.0**25, np.float32), "from 0 to 16777216"),
    "a code beyond float16": (code(4096.0, np.float16), "from 0 to 2048"),
    "a half in objects": (code(0.5, object), f"{IN_COLUMN} 0.5: "),
    "a half in lists": (code(0.5).tolist(), f"{IN_COLUMN} 0.5: "),
    "an integer of objects beyond float64": (
        code(2**53 + 1, object), "holds 9007199254740993, which float64 cannot",
    ),
    "text and numbers": (code("x", object), "both text and numbers"),
    "text and numbers in lists": (code("x", object).tolist(), "both text and"),
    "bytes": (code(b"x", object), "holds b'x': categories are text or numbers"),
    "a date": (code(dt.date(2020, 1, 1), object), "holds datetime.date(2020, 1, 1"),
    "a list in a cell": (code([1], object), "but row 3 holds [1]: categories are"),
    "a sparse matrix": (sparse.csr_matrix(CODES), "X is sparse, and categorical feat"),
}  # fmt: skip


def category(labels: list[Any]) -> Any:
    return pd.Categorical([labels[row % len(labels)] for row in range(N)])


#: columns of a frame with a categorical dtype, and the message
NO_LABELS: dict[str, tuple[Any, str]] = {
    "dates": (category([pd.Timestamp(2020, 1, d) for d in (1, 2)]), "holds Timestamp("),
    "intervals": (pd.cut(CODES[:, 2], 3), "in column 'b' is categorical, but holds"),
    "tuples": (category([(1, 2), (3, 4)]), "holds (1, 2): categories are text or"),
    "text and numbers": (category(["x", 1]), "holds both text and numbers"),
    "integers beyond float64": (category([2**53 + 1, 0]), "cannot hold exactly: make"),
    "infinity": (category([INF, 0.0]), "holds inf, which float64"),
}


def with_categories(table: Any, features: Any, estimator: Any = MARTRegressor) -> Any:
    return fit(estimator, {"X": table}, categorical_features=features)


@pytest.mark.parametrize(("features", "table", "error", "message"), each(NAMED_WRONGLY))
def test_categorical_features_that_are_no_columns_are_refused(
    features, table, error, message
):
    refused(lambda: with_categories(table, features), error, message)


@pytest.mark.parametrize(("table", "message"), each(NO_CATEGORIES))
def test_columns_without_categories_are_refused(table, message):
    refused(lambda: with_categories(table, [1]), ValueError, message)
    of_codes = with_categories(CODES, [1])
    refused(lambda: of_codes.predict(table), ValueError, message)
    given = {"X": CODES, "X_val": table, "y_val": Y}
    refused(
        lambda: fit(MARTRegressor, given, categorical_features=[1]), ValueError,
        message.replace("X ", "X_val ") if message.startswith("X ") else message,
    )  # fmt: skip


@pytest.mark.parametrize(("column", "message"), each(NO_LABELS))
def test_categories_that_are_no_labels_are_refused(column, message):
    refused(lambda: with_categories(framed(column), "from_dtype"), ValueError, message)


#: text that numpy or a file would not keep as it is, and the message
NO_TEXT = {
    "a NUL at the end": ("a\0", "holds 'a\\x00', which ends in a NUL: "),
    "NUL alone": ("\0", "holds '\\x00', which ends in a NUL: "),
    "a lone surrogate": ("b\udc80", "holds 'b\\udc80', which has a lone surrogate"),
}


@pytest.mark.parametrize(("text", "message"), each(NO_TEXT))
@pytest.mark.parametrize("estimator", OF_TREES)
def test_text_that_cannot_be_saved_is_no_category(estimator, text, message):
    def table(label: str) -> Any:
        labels = ["a", label, "b"]
        return framed(pd.Series([labels[r % 3] for r in range(N)], dtype=object))

    message = f"is categorical, but {message}"
    for given in (table(text), table(text).to_numpy()):
        refused(lambda: with_categories(given, [1], estimator), ValueError, message)  # noqa: B023
    # at prediction it is text that `fit` has not seen
    model = with_categories(table("a\0b"), [1], estimator)
    unseen = model.predict(table("unseen"))
    np.testing.assert_array_equal(model.predict(table(text)), unseen)


HAD_TEXT = "in column 'b' holds numbers, but its categories were text when the model"
HAD_NUMBERS = "in column 'b' holds text, but its categories were numbers when the model"
AFTER_TEXT: dict[str, tuple[Any, str]] = {
    "numbers": (framed(CODES[:, 1]), HAD_TEXT),
    "numbers as categories": (framed(category([1, 2])), HAD_TEXT),
    "numbers of polars": (of_polars(CODES[:, 1]), HAD_TEXT),
    "text and numbers": (framed(category(["x", 1])), "both text and numbers"),
    "dates": (framed(pd.Timestamp(2020, 1, 1)), "holds Timestamp("),
    "columns in another order": (FRAME[["b", "a"]], "feature names should match"),
    "too few columns": (FRAME[["a"]], "names should"),
    "text in the other column": (
        pd.DataFrame({"a": WORDS, "b": WORDS}),
        "in column 'a' must be numeric, but holds text",
    ),
}
AFTER_NUMBERS: dict[str, tuple[Any, str]] = {
    "text": (framed(WORDS), HAD_NUMBERS),
    "text as categories": (framed(category(["x", "y"])), HAD_NUMBERS),
    "numbers in text": (framed(category(["1", "2"])), HAD_NUMBERS),
    "halves": (framed(np.full(N, 0.5)), "row 0 h"),
}


@pytest.mark.parametrize(
    ("labels", "table", "message"),
    [
        pytest.param(labels, *row, id=f"{kind} after {labels[0]}")
        for labels, rows in ((list(WORDS[:3]), AFTER_TEXT), ([1, 2, 3], AFTER_NUMBERS))
        for kind, row in rows.items()
    ],
)
def test_categories_of_another_kind_than_those_of_the_fit_are_refused(
    labels, table, message
):
    model = with_categories(framed(category(labels)), "from_dtype")
    refused(lambda: model.predict(table), ValueError, message)
    missing = framed(category([None])) if labels == [1, 2, 3] else framed(NAN)
    assert np.isfinite(model.predict(missing)).all()


@pytest.mark.parametrize(
    ("table", "features", "expected"),
    [
        (CODES, [], [False] * 3),
        (CODES, None, [False] * 3),
        (sparse.csr_matrix(CODES), "from_dtype", [False] * 3),
        (sparse.csr_matrix(CODES), np.zeros(3, bool), [False] * 3),
        (CODES, [1, 1], [False, True, False]),
        (framed(category([None])), "from_dtype", [False, True]),
    ],
)
def test_which_features_are_categorical(table, features, expected):
    assert with_categories(table, features).is_categorical_.tolist() == expected


# --- constraints ----------------------------------------------------------------------

TABLE = np.random.default_rng(0).normal(size=(N, 3))
NAMED = pd.DataFrame(TABLE, columns=["a", "b", "c"])
SIGNS = "must hold -1, 0 or 1, got"
INDEX = "must give features by name, or by an index from 0 to 2, got"
#: the value, X, error and message after the name of the parameter
MONOTONIC: dict[str, tuple[Any, Any, type[Exception], str]] = {
    **{
        f"a sign of {sign}": ([sign, 0, 0], TABLE, ValueError, f"{SIGNS} {sign}")
        for sign in (2, 0.5, NAN, True)
    },
    "a word as a sign": ({"a": "up"}, NAMED, ValueError, f"{SIGNS} 'up'"),
    "too few signs": (
        [1, 0], TABLE, ValueError, "for each of the 3 features, got shape (2,)",
    ),
    "a table of signs": (
        [[1, 0, 0]], TABLE, ValueError, "for each of the 3 features, got shape (1, 3)",
    ),
    "one sign": (1, TABLE, TypeError, "must be None"),
    "a word": ("up", TABLE, TypeError, "must be None"),
    "a set of signs": ({1, 0}, TABLE, TypeError, "must be None"),
    "an unknown name": (
        {"d": 1}, NAMED, ValueError,
        "names 'd', which is no column of X: it has ['a', 'b', 'c']",
    ),
    "a name without names": (
        {"a": 1}, TABLE, ValueError,
        "names 'a', which is no column of X: it has no names",
    ),
    "an index beyond": ({3: 1}, TABLE, ValueError, f"{INDEX} 3"),
    "a sign of a category": (
        [0, 0, 1], NAMED.assign(c=pd.Categorical(np.arange(N) % 3)), ValueError,
        "has a sign for feature 'c', which is categorical",
    ),
}  # fmt: skip
SETS = "must hold sets of features, got"
INTERACTION: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "an unknown word": (
        "pairs", TABLE, ValueError,
        'must be None, "pairwise", "no_interactions" or a list',
    ),
    "a number": (2, TABLE, TypeError, "must be None, a name"),
    "a dict": ({"a": "b"}, NAMED, TypeError, "must be None"),
    "a set of numbers": ([0, 1], TABLE, TypeError, f"{SETS} 0"),
    "a set of one word": (["ab"], NAMED, TypeError, f"{SETS} 'ab'"),
    "an unknown name": (
        [{"a", "d"}], NAMED, ValueError, "names 'd', which is no column of X",
    ),
    "an index beyond": ([{0, 7}], TABLE, ValueError, f"{INDEX} 7"),
    "a negative index": ([{-1}], TABLE, ValueError, f"{INDEX} -1"),
    "half an index": ([{0.5}], TABLE, ValueError, f"{INDEX} 0.5"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "table", "error", "message"),
    [
        pytest.param(name, *row, id=f"{name}: {kind}")
        for name, rows in (
            ("monotonic_cst", MONOTONIC),
            ("interaction_cst", INTERACTION),
        )
        for kind, row in rows.items()
    ],
)
def test_constraints_that_fit_no_features_are_refused(
    name, value, table, error, message
):
    call = lambda: fit(MARTRegressor, {"X": table}, **{name: value})  # noqa: E731
    refused(call, error, f"{name} {message}" if "for each" not in message else message)


@pytest.mark.parametrize("estimator", OF_TREES)
def test_constraints_by_name_are_those_by_index(estimator):
    by_name = fit(
        estimator, {"X": NAMED}, monotonic_cst={"b": 1}, interaction_cst=[["a", "b"]]
    )
    by_index = fit(
        estimator, {"X": TABLE}, monotonic_cst=(0, 1, 0), interaction_cst=[(0, 1)]
    )
    np.testing.assert_array_equal(by_name.ensemble_.value, by_index.ensemble_.value)
