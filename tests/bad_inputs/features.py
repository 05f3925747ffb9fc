"""Feature tables that hold no numbers, or others than they seem to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.bad_inputs import Case, accepted
from tests.bad_inputs.parameters import GROUPS, NETWORK, TREES, Y, fit
from tests.bad_inputs.parameters import X as NUMBERS

N = len(NUMBERS)
X = NUMBERS[:, :2].copy()
NAN, INF = float("nan"), float("inf")
GRADES = {"y": Y, "groups": GROUPS}
VALIDATION = {"y_val": Y, "groups_val": GROUPS}
MAKE: dict[str, Callable[[], Any]] = {
    "LambdaMART": lambda: LambdaMARTRanker(**TREES),
    "LambdaRank": lambda: LambdaRankRanker(**NETWORK),
    "RankNet": lambda: RankNetRanker(**NETWORK),
    "MARTClassifier": lambda: MARTClassifier(**TREES),
    "MARTRegressor": lambda: MARTRegressor(**TREES),
}


def given(name: str) -> dict[str, Any]:
    """Return what `fit` needs beside X."""
    if name.startswith("MART"):
        return {"y": Y > 1 if name == "MARTClassifier" else Y}
    return GRADES


FITTED = {name: make().fit(X, **given(name)) for name, make in MAKE.items()}
FITS = {
    f"{name} fit": lambda table, name=name: MAKE[name]().fit(table, **given(name))
    for name in MAKE
}
FITS |= {
    f"{name} partial_fit": lambda table, name=name: MAKE[name]().partial_fit(
        table, **GRADES
    )
    for name in ("LambdaRank", "RankNet")
}
FITS["RankNet fit with pairs"] = lambda table: MAKE["RankNet"]().fit(
    table, pairs=[[0, 1]]
)
PREDICTIONS: dict[str, Callable[[Any], Any]] = {
    **{f"{name} predict": model.predict for name, model in FITTED.items()},
    "decision_function": FITTED["MARTClassifier"].decision_function,
    "predict_proba": FITTED["MARTClassifier"].predict_proba,
    "staged_predict_proba": lambda table: list(
        FITTED["MARTClassifier"].staged_predict_proba(table)
    ),
    "staged_predict": lambda table: list(FITTED["LambdaMART"].staged_predict(table)),
    "rank": lambda table: FITTED["LambdaMART"].rank(table, groups=GROUPS),
    "shap_values": lambda table: shap_values(FITTED["LambdaMART"], table).values,
    "shap_values background": lambda table: (
        shap_values(FITTED["MARTRegressor"], X, background=table).values
    ),
    "score": lambda table: FITTED["RankNet"].score(table, Y, groups=GROUPS),
    "predict_pair_proba X_i": lambda table: FITTED["RankNet"].predict_pair_proba(
        table, X
    ),
    "predict_pair_proba X_j": lambda table: FITTED["RankNet"].predict_pair_proba(
        X, table
    ),
}
X_VAL = {
    f"{name} X_val": lambda table, name=name: MAKE[name]().fit(
        X, **given(name), X_val=table,
        **({"y_val": given(name)["y"]} if name.startswith("MART") else VALIDATION),
    )
    for name in MAKE
}  # fmt: skip


def damaged(form: str, attribute: str, place: int, number: int) -> Any:
    """Return a sparse matrix of which one index points outside of it."""
    table = sparse.csr_matrix(X).asformat(form)
    array = getattr(table, attribute).copy()
    array[place] = number
    setattr(table, attribute, array)
    return table


def replaced(value: Any, row: int = 3) -> Any:
    """Return rows of objects, one of which is replaced."""
    table = X.astype(object)
    table[row, 1] = value
    return table


def changed(value: float) -> Any:
    """Return numbers, one of which is replaced."""
    table = X.copy()
    table[3, 1] = value
    return table


def framed(column: Any) -> Any:
    return pd.DataFrame({"a": X[:, 0], "b": column})


DAY, HOUR = dt.datetime(2020, 1, 1), dt.timedelta(hours=1)
DATES = "holds dates or times"
TEXT = "must be numeric, but holds text"
OUTSIDE = "is a damaged sparse matrix"
#: X, error and message after the name of the argument, for all entries
BAD: dict[str, tuple[Any, type[Exception], str]] = {
    # numpy would take them for numbers
    "dates": (np.full((N, 2), "2020-01-01", "datetime64[D]"), ValueError, DATES),
    "time spans": (np.full((N, 2), 3, "timedelta64[h]"), ValueError, DATES),
    "a list of dates": ([[np.datetime64("2020-01-01")] * 2] * N, ValueError, DATES),
    "a date of numpy": (replaced(np.datetime64("2020-01-01")), ValueError, DATES),
    "a time span of numpy": (replaced(np.timedelta64(3, "D")), ValueError, DATES),
    "a date": (replaced(DAY.date()), ValueError, DATES),
    "a time": (replaced(DAY.time()), ValueError, DATES),
    "a time span": (replaced(HOUR), ValueError, DATES),
    "a timestamp": (replaced(pd.Timestamp(DAY)), ValueError, DATES),
    "a list with a date": ([[1.0, DAY]] * N, ValueError, DATES),
    "a frame of dates": (framed(pd.Timestamp(DAY)), ValueError, f"'b' {DATES}"),
    "a frame of zoned dates": (
        framed(pd.Timestamp(DAY, tz="UTC")), ValueError, f"'b' {DATES}",
    ),
    "a frame of time spans": (framed(pd.Timedelta(HOUR)), ValueError, f"'b' {DATES}"),
    "a frame of objects, dates": (
        framed(pd.Series([DAY.date()] * N, dtype=object)), ValueError, f"'b' {DATES}",
    ),
    "a frame of polars, dates": (
        pl.DataFrame({"a": X[:, 0], "b": [DAY.date()] * N}), ValueError, f"'b' {DATES}",
    ),
    "a frame of polars, time spans": (
        pl.DataFrame({"a": X[:, 0], "b": [HOUR] * N}), ValueError, f"'b' {DATES}",
    ),
    "a frame of polars, times": (
        pl.DataFrame({"a": X[:, 0], "b": [DAY.time()] * N}), ValueError, f"'b' {DATES}",
    ),
    "numbers as text": (X.astype(str), ValueError, TEXT),
    "numbers as bytes": (X.astype(bytes), ValueError, TEXT),
    "numbers as objects of text": (X.astype(str).astype(object), ValueError, TEXT),
    "a list of text": (X.astype(str).tolist(), ValueError, TEXT),
    "one text": (replaced("2"), ValueError, TEXT),
    "one number in bytes": (replaced(b"2"), ValueError, TEXT),
    "words": ([["good", "bad"]] * N, ValueError, TEXT),
    "a frame of text": (framed("2"), ValueError, f"'b' {TEXT}"),
    "a frame of categories": (
        framed(pd.Categorical(["1"] * N)), ValueError, f"'b' {TEXT}",
    ),
    "a frame of polars, text": (
        pl.DataFrame({"a": X[:, 0], "b": ["2"] * N}), ValueError, f"'b' {TEXT}",
    ),
    "periods": (framed(pd.Period(DAY, "D")), ValueError, f"'b' {DATES} (Period)"),
    "an Arrow table of dates": (
        pa.table({"a": X[:, 0], "b": [DAY.date()] * N}), ValueError, f"'b' {DATES}",
    ),
    "an Arrow table of times": (
        pa.table({"a": X[:, 0], "b": [DAY] * N}), ValueError, f"'b' {DATES}",
    ),
    "an Arrow table of text": (
        pa.table({"a": X[:, 0], "b": ["2"] * N}), ValueError, f"'b' {TEXT}",
    ),
    "an Arrow table of categories": (
        pa.table({"a": X[:, 0], "b": pa.array(["2"] * N).dictionary_encode()}),
        ValueError, f"'b' {TEXT}",
    ),
    "a frame of intervals": (
        framed(pd.Interval(0, 1)), TypeError, "'b' holds values of the type Interval",
    ),
    "a frame of lists": (
        framed(pd.Series([[1, 2]] * N)), TypeError, "'b' holds values of the type list",
    ),
    "a frame of polars, lists": (
        pl.DataFrame({"a": X[:, 0], "b": [[1, 2]] * N}), TypeError,
        "'b' holds values of the type ndarray",
    ),
    "a lazy frame": (
        pl.DataFrame(X, schema=["a", "b"]).lazy(), ValueError,
        "is a LazyFrame, without values yet: give its collect()",
    ),
    "masked values": (np.ma.masked_greater(X, 0), ValueError, "is a masked array"),
    # scipy would read and write outside of its arrays
    "a CSR index": (damaged("csr", "indices", 3, 999), ValueError, OUTSIDE),
    "a negative CSR index": (damaged("csr", "indices", 3, -7), ValueError, OUTSIDE),
    "a CSC index": (damaged("csc", "indices", 3, 999), ValueError, OUTSIDE),
    "a CSR start": (damaged("csr", "indptr", 2, 10**6), ValueError, OUTSIDE),
    "a first CSR start": (damaged("csr", "indptr", 0, 1), ValueError, OUTSIDE),
    "a last CSR start": (damaged("csr", "indptr", -1, 10**6), ValueError, OUTSIDE),
    "a CSC start": (damaged("csc", "indptr", 1, -1), ValueError, OUTSIDE),
    # what they refuse, with the name of the argument
    "infinity": (changed(INF), ValueError, "contains infinity"),
    "minus infinity": (changed(-INF), ValueError, "contains infini"),
    "sparse infinity": (
        sparse.csr_matrix(changed(INF)), ValueError,
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
    "a set": ({1, 2}, TypeError, "not 'set'"),
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
    text_of_any_length = X.astype(np.dtypes.StringDType())
    BAD["numbers as text of any length"] = (text_of_any_length, ValueError, TEXT)
OF_NETWORKS: dict[str, tuple[Any, type[Exception], str]] = {
    "NaN": (changed(NAN), ValueError, "contains NaN at row 3, colum"),
    "None": (replaced(None), ValueError, "contains NaN at row 3, column 1"),
    "sparse NaN": (
        sparse.csr_matrix(changed(NAN)), ValueError,
        "contains NaN at row 3, column 1",
    ),
    "beyond float32": (
        changed(1e39), ValueError,
        "in single precision contains infinity (inf) at row 3, column 1",
    ),
}  # fmt: skip
OF_TREES_ACCEPTED = (
    "a frame of categories",
    "an Arrow table of categories",
)  # see categories.py
TREE_FITS = ("LambdaMART fit", "MARTClassifier fit", "MARTRegressor fit")
NETWORK_ENTRIES = ("LambdaRank", "RankNet", "score", "predict_pair")


def cases(entry: str, call: Callable[[Any], Any], name: str) -> list[Case]:
    """Return the cases of all bad tables for one entry."""
    of_entry = BAD | (OF_NETWORKS if entry.startswith(NETWORK_ENTRIES) else {})
    if entry in TREE_FITS:
        of_entry = {k: bad for k, bad in of_entry.items() if k not in OF_TREES_ACCEPTED}
    if name == "X_val" or "background" in entry:  # None: there is none
        of_entry = {kind: bad for kind, bad in of_entry.items() if kind != "nothing"}
    return [
        Case(f"{kind} to {entry}", partial(call, table), error, message)
        for kind, (table, error, message) in of_entry.items()
    ]


CASES = [
    case
    for entries, name in ((FITS, "X"), (PREDICTIONS, "X"), (X_VAL, "X_val"))
    for entry, call in entries.items()
    for case in cases(entry, call, name)
]

# --- the name of the argument stands first, and MART does not speak of ranking -------


def message_of(call: Callable[[Any], Any], table: Any) -> str:
    try:
        call(table)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


CASES += [
    accepted(
        f"the message for {kind} to {entry}",
        lambda call=call, table=table, name=name: (
            message_of(call, table).startswith((f"{name}:", f"{name} "))
            and "rank" not in message_of(call, table).replace("Ranker", "")
        ),
    )
    for entries, name in ((FITS, "X"), (X_VAL, "X_val"))
    for entry, call in entries.items()
    for kind, (table, _, _) in BAD.items()
    if not (name == "X_val" and kind == "nothing")
    and not (entry in TREE_FITS and kind in OF_TREES_ACCEPTED)
]

# --- the number and the names of the columns ------------------------------------------

NAMED = fit(MARTRegressor).fit(pd.DataFrame(X, columns=["a", "b"]), Y)
CASES += [
    Case(
        f"{n} columns to {entry}",
        partial(call, np.ones((N, n))),
        ValueError,
        f"X has {n} features, but ",
    )
    for entry, call in (PREDICTIONS | X_VAL).items()
    for n in (1, 3)
]
CASES += [
    Case(
        f"columns {columns} after ['a', 'b']",
        partial(NAMED.predict, pd.DataFrame(X, columns=columns)),
        ValueError,
        "The feature names should match those that were passed during fit",
    )
    for columns in (["b", "a"], ["a", "c"])
]

# --- other forms of the same numbers --------------------------------------------------

WHOLE = np.round(X * 4).astype(np.int64)
SAME = {
    "integers": WHOLE,
    "bytes": WHOLE.astype(np.int8),
    "half precision": WHOLE.astype(np.float16),
    "extended precision": WHOLE.astype(np.longdouble),
    "another byte order": WHOLE.astype(">f8"),
    "objects": WHOLE.astype(object),
    "decimals": np.vectorize(Decimal, otypes=[object])(WHOLE),
    "fractions": np.vectorize(Fraction, otypes=[object])(WHOLE),
    "lists": WHOLE.tolist(),
    "tuples": tuple(map(tuple, WHOLE.tolist())),
    "columns after columns": np.asfortranarray(WHOLE.astype(float)),
    "a view of every other row": np.repeat(WHOLE, 2, axis=0)[::2],
    "a read-only array": np.frombuffer(WHOLE.tobytes(), dtype=np.int64).reshape(N, 2),
    "nothing masked": np.ma.masked_greater(WHOLE, 99),
    "a frame": pd.DataFrame(WHOLE, columns=["a", "b"]),
    "a frame of nullable numbers": pd.DataFrame(WHOLE, columns=["a", "b"]).astype(
        "Int64"
    ),
    "a frame of categories of numbers": pd.DataFrame(
        WHOLE, columns=["a", "b"]
    ).astype("category"),
    "a frame of polars": pl.DataFrame(WHOLE, schema=["a", "b"]),
    "CSR": sparse.csr_matrix(WHOLE),
    "CSR array": sparse.csr_array(WHOLE),
    "CSC": sparse.csc_matrix(WHOLE),
    "COO": sparse.coo_matrix(WHOLE),
    "LIL": sparse.lil_matrix(WHOLE),
    "DIA": sparse.dia_matrix(WHOLE),
    "BSR": sparse.bsr_matrix(WHOLE),
    "duplicate entries": sparse.coo_matrix(
        (np.r_[WHOLE.ravel() - 1, np.ones(2 * N)], (np.tile(np.arange(N).repeat(2), 2),
         np.tile([0, 1], 2 * N))), shape=(N, 2),
    ).tocsr(),
}  # fmt: skip


OTHER_FOR_TREES = ("a frame of categories of numbers",)  # categories, no numbers


def scores_alike(name: str, table: Any) -> bool:
    expected = MAKE[name]().fit(WHOLE.astype(float), **given(name))
    found = MAKE[name]().fit(table, **given(name)).predict(table)
    return expected.predict(WHOLE.astype(float)).tobytes() == found.tobytes()


CASES += [
    accepted(f"{kind} to {name}", partial(scores_alike, name, table))
    for name in ("LambdaMART", "RankNet", "MARTRegressor")
    for kind, table in SAME.items()
    if not (kind in OTHER_FOR_TREES and name != "RankNet")
]
