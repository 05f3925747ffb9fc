"""Feature tables, categories and constraints that cannot be used."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr._core.cluster.summaries import read_columns
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.inspection import model_report, shap_values
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.model_selection import RankerSearch, group_train_test_split
from sklearn_ltr.preprocessing import SmoothClipScaler, TableVectorizer
from tests.bad_inputs import (
    GROUPS,
    INF,
    NAN,
    OF_TREES,
    RANKERS,
    SMALL,
    TREES,
    Bad,
    N,
    Y,
    fit,
    refused,
    targets,
)
from tests.bad_inputs import X as NUMBERS

X = NUMBERS[:, :2].copy()


def damaged(form: str, attribute: str, place: int, number: Any) -> Any:
    """Return a sparse matrix of which one index points outside of it."""
    table = sparse.csr_matrix(X).asformat(form)
    if form == "dok":  # which checks what is set
        table._dict[(place, number)] = 1.0
        return table
    array = getattr(table, attribute).copy()
    array[place] = number
    setattr(table, attribute, array)
    return table


def cut(form: str, attribute: str) -> Any:
    """Return a sparse matrix without the last of what it stores."""
    table = sparse.csr_matrix(X).asformat(form)
    setattr(table, attribute, getattr(table, attribute)[:-1])
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
NO_ROWS = "0 sample(s)"
DATES, TEXT = "holds dates or times", "must be numeric, but holds text"
OUTSIDE = "is a damaged sparse matrix"
#: numpy would take them for numbers
NO_NUMBERS: dict[str, tuple[Any, ...]] = {
    DATES: (
        np.full((N, 2), "2020-01-01", "datetime64[D]"),
        np.full((N, 2), 3, "timedelta64[h]"), [[np.datetime64("2020-01-01")] * 2] * N,
        *map(replaced, (np.timedelta64(3, "D"), DAY.date(), DAY.time(), HOUR)),
        replaced(pd.Timestamp(DAY)),
    ),
    f"'b' {DATES}": (
        framed(pd.Timestamp(DAY, tz="UTC")), framed(pd.Timedelta(HOUR)),
        framed(pd.Series([DAY.date()] * N)), framed(pd.Period(DAY, "D")),
        of_polars([DAY.date()] * N), of_polars([HOUR] * N), of_arrow([DAY] * N),
    ),
    TEXT: (
        X.astype(str), X.astype(bytes), X.astype(str).tolist(), replaced("2"),
        replaced(b"2"),
    ),
    f"'b' {TEXT}": (framed("2"), of_polars(["2"] * N), of_arrow(["2"] * N)),
}  # fmt: skip
if hasattr(np.dtypes, "StringDType"):  # numpy 2
    NO_NUMBERS[TEXT] += (X.astype(np.dtypes.StringDType()),)
#: scipy would read and write outside of its arrays
NO_NUMBERS[OUTSIDE] = tuple(
    damaged(form, attribute, place, number)
    for form, attribute, place, number in [
        ("csr", "indices", 3, 999), ("csr", "indices", 3, -7),
        ("csc", "indices", 3, 999), ("csr", "indptr", 2, 10**6),
        ("csr", "indptr", 0, 1), ("csr", "indptr", -1, 10**6), ("csc", "indptr", 1, -1),
        ("coo", "row", 3, N), ("coo", "col", 3, 999), ("coo", "col", 3, -1),
        ("bsr", "indices", 3, 999), ("bsr", "indptr", 2, 10**6),
        *(("lil", "rows", 3, row) for row in ([2], [-1, 0], [0, 1, 1], [0.5, 1])),
        ("dok", "", 3, 999), ("dok", "", N, 0), ("dia", "offsets", 0, 999),
        ("dia", "offsets", 0, -N),
    ]
) + tuple(
    cut(form, attribute)
    for form, attribute in [
        ("csr", "indices"), ("csr", "data"), ("csc", "indptr"), ("coo", "col"),
        ("coo", "data"), ("bsr", "data"), ("lil", "rows"), ("lil", "data"),
        ("dia", "offsets"), ("dia", "data"),
    ]
)  # fmt: skip
BAD: list[Bad] = [
    *((table, ValueError, message)
      for message, tables in NO_NUMBERS.items() for table in tables),
    (framed(pd.Interval(0, 1)), TypeError, "'b' holds values of the type Interval"),
    *((framed(pd.Series([nested] * N)), TypeError,
       f"'b' holds values of the type {type(nested).__name__}, but a feature is one nu")
      for nested in ([1, 2], (1, 2), np.ones(2), {"a": 1}, {1})),
    (of_polars(pl.Series([[1, 2]] * N, dtype=pl.Array(int, 2))), TypeError,
     "but a feature is one number, or one category, in each"),
    (of_arrow([[1, 2]] * N), TypeError, "or, of lists of documents, a row for each"),
    (X.reshape(-1, 2, X.shape[1]), ValueError,
     f"{N // 2}, 2, {X.shape[1]}), but a document is a row: of padded lists, give X.r"),
    (X.reshape(-1, 2, X.shape[1]).tolist(), ValueError, "np.repeat(np.arange("),
    ([X[:2], X[2:]], ValueError, "Of a table for each query: give np.concatenate("),
    ([X[:2].tolist(), X[2:].tolist()], ValueError, "give np.concatenate("),
    (of_polars([[1, 2]] * N), TypeError, "'b' holds values of the type ndarray"),
    (of_polars([1] * N).lazy(), ValueError,
     "is a LazyFrame, without values yet: give its collect()"),
    (np.ma.masked_greater(X, 0), ValueError, "is a masked array"),
    (replaced(-INF, dtype=float), ValueError, "contains infinity"),
    (sparse.csr_matrix(replaced(INF, dtype=float)), ValueError,
     "contains infinity (inf) at row 3, column 1"),
    (replaced(10**400), ValueError, "beyond float64"),
    # what scikit-learn refuses, with the name of the argument
    (X + 1j, ValueError, "Complex data not supported"),
    (replaced({"a": 1}), TypeError, "not 'dict'"),
    (None, ValueError, "Expected 2D array"),
    ("abc", ValueError, "could not convert string to float"),
    ({"a": [1]}, TypeError, "is a dict, and columns would have no order: give pandas."),
    ([{"a": 1}] * N, TypeError, "is a list of dicts, and columns would have no order"),
    ([[1, 2], [3]], ValueError, "inhomogeneous shape"),
    (X[0], ValueError, "Expected 2D array, got 1D array"),
    *((column, ValueError, "got 1D array instead, of 30 values: the table of features")
      for column in (pd.Series(X[:, 0]), pl.Series(X[:, 0]), X[:, 0].tolist())),
    (X[:0], ValueError, NO_ROWS),
    (X[:, :0], ValueError, "Found array with 0 feature(s)"),
    (pd.DataFrame(X, columns=["a", 1]), TypeError, "Feature names are only suppor"),
]  # fmt: skip
OF_NETWORKS = [
    (framed(pd.Categorical(["1"] * N)), f"'b' {TEXT}"),
    (replaced(None), "contains NaN at row 3, column 1"),
    (sparse.csr_matrix(replaced(NAN, dtype=float)), "contains NaN at row 3, column 1"),
    (replaced(1e39, dtype=float),
     "in single precision contains infinity (inf) at row 3, column 1"),
]  # fmt: skip


@cache
def on_two(estimator: type) -> Any:
    """Return a model of two columns."""
    return fit(estimator, {"X": X})


@pytest.mark.parametrize(("table", "error", "message"), BAD)
@pytest.mark.parametrize("estimator", [RankNetRanker, MARTRegressor])
def test_a_bad_table_is_refused_by_each_reader(estimator, table, error, message):
    """Each reads X, and X of a fitted model; MART does not speak of ranking."""
    with pytest.raises(error) as raised:
        fit(estimator, {"X": table})
    said = str(raised.value)
    assert raised.type is error and message in said
    assert said.startswith(("X:", "X "))
    assert "rank" not in said.replace("Ranker", "")
    # trees read text as categories, and no rows have no scores
    is_read = estimator is MARTRegressor and message.endswith(TEXT)
    if not (is_read or message == NO_ROWS):
        refused(lambda: on_two(estimator).predict(table), error, message)


#: whole numbers of which three are equal in float64, at column 1
LARGE = [2**60 + row % 4 for row in range(N)]
BESIDE = np.c_[X[:, 0], X[:, 0]].astype(object)
BESIDE[:, 1] = LARGE
MISSING = [None, *LARGE[1:]]
MERGED: dict[str, Any] = {
    "int64": np.c_[np.zeros(N, dtype=np.int64), LARGE],
    "uint64": np.c_[[0] * N, np.array(LARGE)].astype(np.uint64) + np.uint64(2**63),
    "other bytes": np.c_[np.zeros(N, dtype=np.int64), LARGE].astype(">i8"),
    "objects": BESIDE,
    "objects with NA": replaced(pd.NA, BESIDE),
    "decimals": np.c_[X[:, 0], [Decimal(n) for n in LARGE]],
    "beside fractions": BESIDE.tolist(),
    "both signs": [[0, 2**63 + row % 4 if row else -1] for row in range(N)],
    "beyond 64 bits": [[0, 2**80 + row % 4] for row in range(N)],
    "csr": sparse.csr_matrix(np.c_[np.zeros(N, dtype=np.int64), LARGE]),
    "coo": sparse.coo_matrix(np.c_[np.zeros(N, dtype=np.int64), LARGE]),
    "pandas": framed(LARGE),
    "Int64": framed(pd.array(MISSING, dtype="Int64")),
    "Int64 of Arrow": framed(pd.array(MISSING, dtype="int64[pyarrow]")),
    "pandas objects": framed(pd.Series([pd.NA, *LARGE[1:]], dtype=object)),
    "polars": of_polars(LARGE),
    "polars with null": of_polars(MISSING),
    "arrow": of_arrow(LARGE),
    "arrow with null": of_arrow(MISSING),
    "decimals of arrow": of_arrow(pa.array(MISSING, type=pa.decimal128(30, 0))),
}


@pytest.mark.parametrize("kind", MERGED)
def test_whole_numbers_that_float64_merges_are_refused(kind):
    table = MERGED[kind]
    named = hasattr(table, "columns")
    message = f"X in column {'b' if named else 1!r} holds different whole numbers that "
    refused(lambda: fit(MARTRegressor, {"X": table}), ValueError, message)
    given = {"X": framed(X[:, 1]) if named else X, "X_val": table, "y_val": Y}
    message = message.replace("X ", "X_val ")
    refused(lambda: fit(MARTRegressor, given), ValueError, message)
    # a row alone is equal to no other
    model = fit(MARTRegressor, {"X": framed(np.arange(N)) if named else X})
    row = table[:1] if not hasattr(table, "tocsr") else table.tocsr()[:1]
    assert np.isfinite(model.predict(row)).all()


def test_large_whole_numbers_that_float64_tells_apart_are_taken():
    table = np.c_[2**60 + 2**10 * (np.arange(N) % 4), np.arange(N)]
    found, expected = (fit(MARTRegressor, {"X": t}) for t in (table, table * 1.0))
    np.testing.assert_array_equal(found.predict(table), expected.predict(table * 1.0))
    nothing = framed(pd.array([None] * N, dtype="Int64"))
    assert fit(MARTRegressor, {"X": nothing}).predict(nothing[:1]).shape == (1,)


@pytest.mark.parametrize(("table", "message"), OF_NETWORKS)
def test_networks_need_numbers_in_single_precision(table, message):
    refused(lambda: fit(RankNetRanker, {"X": table}), ValueError, message)
    refused(lambda: on_two(RankNetRanker).predict(table), ValueError, message)


#: Every entry for X goes through a reader that knows the number of columns
METHODS = (
    (LambdaMARTRanker, "apply"), (MARTClassifier, "decision_function"),
    (MARTClassifier, "predict_proba"), (LambdaMARTRanker, "staged_predict"),
    (MARTClassifier, "staged_predict_proba"), (LambdaMARTRanker, "rank"),
    *((estimator, "predict") for estimator in SMALL),
)  # fmt: skip
ENTRIES: dict[str, Any] = {
    **{
        f"{e.__name__} {name}": lambda t, e=e, n=name: list(getattr(on_two(e), n)(t))
        for e, name in METHODS
    },
    **{
        f"{e.__name__} X_val": lambda t, e=e: fit(
            e,
            {"X": X, "X_val": t, "y_val": targets(e)["y"]}
            | ({"groups_val": GROUPS} if e in RANKERS else {}),
        )
        for e in (*RANKERS, MARTRegressor, MARTClassifier)
    },
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


def fitted_in(*steps: Any) -> Any:
    """Return a Pipeline that is fitted to a sparse table."""
    with sklearn.config_context(enable_metadata_routing=True):
        return make_pipeline(*steps).fit(sparse.csr_matrix(X), Y, groups=GROUPS)


SPARSE = sparse.csr_matrix(X)
#: Where scikit-learn's estimators would be given a sparse table first
AROUND: dict[str, Any] = {
    **{f"{name} {e.__name__}": lambda t, e=e, n=name: getattr(e(), n)(t)
       for e in (TableVectorizer, SmoothClipScaler)
       for name in ("fit", "fit_transform")},
    "transform": lambda t: TableVectorizer().fit(SPARSE).transform(t),
    "bag of pipelines": lambda t: BaggingRanker(
        make_pipeline(MaxAbsScaler(), LambdaMARTRanker()), 2).fit(t, Y, groups=GROUPS),
    "blend of others": lambda t: BlendedRanker([Ridge(), Ridge()]).fit(
        t, Y, groups=GROUPS),
    "blend predicts": lambda t: BlendedRanker([Ridge(), Ridge()]).fit(
        SPARSE, Y, groups=GROUPS).predict(t),
    "calibrated": lambda t: CalibratedRanker(Ridge(), cv=2).fit(t, Y, groups=GROUPS),
    "search": lambda t: RankerSearch(
        Ridge(), param_distributions={"alpha": [1.0]}, n_iter=1).fit(
        t, Y, groups=GROUPS),
    "init": lambda t: fit(LambdaMARTRanker, {"X": t}, init=Ridge()),
    "shap of a pipeline": lambda t: shap_values(
        fitted_in(MaxAbsScaler(), LambdaMARTRanker(**TREES)), t),
    "report": lambda t: model_report(on_two(LambdaMARTRanker), t, Y, groups=GROUPS),
    "X_reference": lambda t: model_report(
        on_two(LambdaMARTRanker), X, Y, groups=GROUPS, X_reference=t),
    "split": lambda t: group_train_test_split(t, Y, groups=GROUPS),
    "partial_fit": lambda t: RankNetRanker().partial_fit(t, Y, groups=GROUPS),
    "partition": lambda t: read_columns(t, "X"),
}  # fmt: skip


@pytest.mark.parametrize("form", ["csr", "coo", "bsr", "lil"])
@pytest.mark.parametrize("entry", ENTRIES | AROUND)
def test_a_damaged_sparse_table_is_refused_wherever_it_is_given(entry, form):
    bad = next(t for t in NO_NUMBERS[OUTSIDE] if t.format == form)
    refused(lambda: (ENTRIES | AROUND)[entry](bad), ValueError, OUTSIDE)


# --- categorical features -------------------------------------------------------------

CODES = np.column_stack([np.arange(N) % 4, np.arange(N) % 3, np.linspace(-1, 1, N)])
WORDS = np.array(["one", "two", "three"])[np.arange(N) % 3]
FRAME = framed(WORDS)
MUST_BE = "categorical_features must be 'from_dtype', None, or a list"
NO_COLUMNS = "no columns of X: it has no names"
FROM_0_TO_2 = "indices from 0 to 2"
#: the parameter, X, error and message
NAMED_WRONGLY: list[tuple[Any, Any, type[Exception], str]] = [
    *((given, table, TypeError, MUST_BE)
      for given, table in [
          ("b", FRAME), ("auto", FRAME), (1, CODES), (True, CODES),
          (np.array([1.0]), CODES), ([[0, 1]], CODES), ({"b": True}, FRAME),
          ({"b"}, FRAME), ([None], FRAME), (["b", 1], FRAME), ([True, 1, 0], CODES)]),
    (["b", "c"], FRAME, ValueError,
     "categorical_features names ['c'], which are no columns of X: it has ['a', 'b'"),
    (["b"], CODES, ValueError, NO_COLUMNS),
    ([0, 3], CODES, ValueError, "from 0 to 2, got [0, 3]"),
    ([-1], CODES, ValueError, f"{FROM_0_TO_2}, got [-1]"),
    ([True, False], CODES, ValueError, "a mask of 2 booleans, but X has 3 features"),
    (np.ones(0, bool), CODES[:0], ValueError, "0 sample(s)"),
]  # fmt: skip
IN_COLUMN = "X in column 1 is categorical, but row 3 holds"


def code(value: Any, dtype: Any = np.float64) -> Any:
    return replaced(value, CODES, dtype)


#: X whose column 1 is categorical, and the message
NO_CATEGORIES: list[tuple[Any, str]] = [
    (code(0.5), f"{IN_COLUMN} 0.5: the codes of categories are whole"),
    (code(-1, np.int8), f"{IN_COLUMN} -1: "),
    (code(INF), f"{IN_COLUMN} inf: "),
    (code(2**64 - 1, np.uint64), IN_COLUMN),
    (code(2**53 + 1, np.int64), IN_COLUMN),
    (code(2.0**25, np.float32), "from 0 to 16777216"),
    (code(4096.0, np.float16), "from 0 to 2048"),
    (code(0.5, object).tolist(), f"{IN_COLUMN} 0.5: "),
    (code(2**53 + 1, object), "holds 9007199254740993, which float64 cannot"),
    (code("x", object).tolist(), "both text and numbers"),
    (code(b"x", object), "holds b'x': categories are text or numbers"),
    (code([1], object), "row 3 holds [1], but a feature is one number, or one cat"),
    (sparse.csr_matrix(CODES), "X is sparse, so values that it does not"),
]


def category(labels: list[Any]) -> Any:
    return pd.Categorical([labels[row % len(labels)] for row in range(N)])


#: columns of a frame with a categorical dtype, and the message
NO_LABELS: list[tuple[Any, str]] = [
    (category([pd.Timestamp(2020, 1, d) for d in (1, 2)]), "holds Timestamp("),
    (pd.cut(CODES[:, 2], 3), "in column 'b' is categorical, but holds"),
    (category(["x", 1]), "holds both text and numbers"),
    (category([2**53 + 1, 0]), "cannot hold exactly: make"),
    (category([INF, 0.0]), "holds inf, which float64"),
]


def with_categories(table: Any, features: Any) -> Any:
    return fit(MARTRegressor, {"X": table}, categorical_features=features)


@pytest.mark.parametrize(("features", "table", "error", "message"), NAMED_WRONGLY)
def test_categorical_features_that_are_no_columns_are_refused(
    features, table, error, message
):
    refused(lambda: with_categories(table, features), error, message)


@pytest.mark.parametrize(("table", "message"), NO_CATEGORIES)
def test_columns_without_categories_are_refused(table, message):
    refused(lambda: with_categories(table, [1]), ValueError, message)
    of_codes = with_categories(CODES, [1])
    refused(lambda: of_codes.predict(table), ValueError, message)
    given = {"X": CODES, "X_val": table, "y_val": Y}
    refused(
        lambda: fit(MARTRegressor, given, categorical_features=[1]), ValueError,
        message.replace("X ", "X_val ") if message.startswith("X ") else message,
    )  # fmt: skip


@pytest.mark.parametrize(("column", "message"), NO_LABELS)
def test_categories_that_are_no_labels_are_refused(column, message):
    refused(lambda: with_categories(framed(column), "from_dtype"), ValueError, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a\0", "holds 'a\\x00', which ends in a NUL that "),
     ("\0", "holds '\\x00', which ends in a NUL that "),
     ("b\udc80", "holds 'b\\udc80', which has a lone surrogate")],
)  # fmt: skip
def test_text_that_cannot_be_saved_is_no_category(text, message):
    def table(label: str) -> Any:
        labels = ["a", label, "b"]
        return framed(pd.Series([labels[r % 3] for r in range(N)], dtype=object))

    message = f"is categorical, but {message}"
    for given in (table(text), table(text).to_numpy()):
        refused(lambda g=given: with_categories(g, [1]), ValueError, message)
    # at prediction it is text that `fit` has not seen
    model = with_categories(table("a\0b"), [1])
    unseen = model.predict(table("unseen"))
    np.testing.assert_array_equal(model.predict(table(text)), unseen)


HAD_TEXT = "in column 'b' holds numbers, but its categories were text when the model"
HAD_NUMBERS = "in column 'b' holds text, but its categories were numbers when the model"
AFTER_TEXT: list[tuple[Any, str]] = [
    (framed(CODES[:, 1]), HAD_TEXT),
    (of_polars(CODES[:, 1]), HAD_TEXT),
    (FRAME[["b", "a"]], "feature names should match"),
    (pd.DataFrame({"a": WORDS, "b": WORDS}), "in column 'a' must be numeric, but holds "
     "text"),
]  # fmt: skip
AFTER_NUMBERS: list[tuple[Any, str]] = [
    (framed(WORDS), HAD_NUMBERS),
    (framed(np.full(N, 0.5)), "row 0 h"),
]


@pytest.mark.parametrize(
    ("labels", "table", "message"),
    [(list(WORDS[:3]), *row) for row in AFTER_TEXT]
    + [([1, 2, 3], *row) for row in AFTER_NUMBERS],
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
SETS = "must hold sets of features, got"
INDEX = "must give features by name, or by an index from 0 to 2, got"
CONSTRAINTS: list[tuple[str, Any, Any, type[Exception], str]] = [
    *(("monotonic_cst", [sign, 0, 0], TABLE, ValueError, f"{SIGNS} {sign}")
      for sign in (2, 0.5, NAN, True)),
    ("monotonic_cst", {"a": "up"}, NAMED, ValueError, f"{SIGNS} 'up'"),
    *(("monotonic_cst", signs, TABLE, ValueError, "for each of the 3 features, got sha")
      for signs in ([1, 0], [[1, 0, 0]])),
    *(("monotonic_cst", v, TABLE, TypeError, "must be None") for v in (1, "up", {1})),
    ("monotonic_cst", {"a": 1}, TABLE, ValueError,
     "names 'a', which is not a column of X: it has no names"),
    ("monotonic_cst", {"d": 1}, NAMED, ValueError,
     "names 'd', which is not a column of X: it has ['a', 'b', 'c']"),
    ("monotonic_cst", {3: 1}, TABLE, ValueError, f"{INDEX} 3"),
    ("monotonic_cst", [0, 0, 1], NAMED.assign(c=pd.Categorical(np.arange(N) % 3)),
     ValueError, "has a sign for feature 'c', which is categorical"),
    ("interaction_cst", "pairs", TABLE, ValueError,
     'must be None, "pairwise", "no_interactions" or a list'),
    *(("interaction_cst", v, NAMED, TypeError, "must be None")
      for v in (2, {"a": "b"})),
    ("interaction_cst", [0, 1], TABLE, TypeError, f"{SETS} 0"),
    ("interaction_cst", ["ab"], NAMED, TypeError, f"{SETS} 'ab'"),
    ("interaction_cst", [{"a", "d"}], NAMED, ValueError, "names 'd', which is no"),
    *(("interaction_cst", [{v}], TABLE, ValueError, f"{INDEX} {v}")
      for v in (7, -1, 0.5)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "table", "error", "message"), CONSTRAINTS)
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


# --- text that can be categories ------------------------------------------------------


@pytest.mark.parametrize("form", ["pandas", "polars", "array", "list"])
@pytest.mark.parametrize("kind", ["ranker", "bag", "mart"])
def test_columns_of_text_are_named_as_categorical_features_take_them(form, kind):
    text = np.where(X[:, 1] > 0, "a", "b")
    columns = {"price": X[:, 0], "brand": text, "shop": text[::-1]}
    frame = pd.DataFrame(columns)
    table = {
        "pandas": lambda: frame,
        "polars": lambda: pl.DataFrame(columns),
        "array": lambda: frame.to_numpy(),
        "list": lambda: frame.to_numpy().tolist(),
    }[form]()

    def learn(**options):
        model = MARTRegressor if kind == "mart" else LambdaMARTRanker
        model = model(n_estimators=2, **options)
        given = {} if kind == "mart" else {"groups": GROUPS}
        if kind == "bag":
            model = BaggingRanker(model, n_estimators=2)
        return model.fit(table, Y, **given)

    with pytest.raises(ValueError, match="must be numeric, but holds text") as error:
        learn()
    assert type(error.value) is ValueError
    cure = str(error.value).rpartition("categorical_features=")[2]
    named = ["brand", "shop"] if form in ("pandas", "polars") else [1, 2]
    assert eval(cure) == named
    assert len(learn(categorical_features=eval(cure)).predict(table)) == len(Y)


def test_columns_that_are_categorical_already_stay_so_in_the_advice():
    text = np.where(X[:, 1] > 0, "a", "b")
    frame = pd.DataFrame({"shop": pd.Categorical(text), "x": X[:, 0], "brand": text})
    with pytest.raises(ValueError, match=r"categorical_features=\['shop', 'brand'\]$"):
        LambdaMARTRanker().fit(frame, Y, groups=GROUPS)
    with pytest.raises(ValueError, match=r"trees also take it as categories\)$"):
        RankNetRanker().fit(frame[["x", "brand"]], Y, groups=GROUPS)
