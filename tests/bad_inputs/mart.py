"""Targets and weights of rows that MART cannot use."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.bad_inputs import Case, accepted
from tests.bad_inputs.parameters import TREES, X

N = len(X)
NAN, INF = float("nan"), float("inf")
NUMBERS = np.arange(N) % 5
LABELS = NUMBERS > 1


def changed(value: Any, row: int = 3) -> Any:
    """Return objects, one of which is replaced."""
    values = NUMBERS.astype(object)
    values[row] = value
    return values


def regress(y: Any, weight: Any = None) -> Any:
    return MARTRegressor(**TREES).fit(X, y, weight)


def classify(y: Any, weight: Any = None) -> Any:
    return MARTClassifier(**TREES).fit(X, y, weight)


def validate_regression(y: Any, weight: Any = None) -> Any:
    return MARTRegressor(**TREES).fit(
        X, NUMBERS, X_val=X, y_val=y, sample_weight_val=weight
    )


def validate_classes(y: Any, weight: Any = None) -> Any:
    return MARTClassifier(**TREES).fit(
        X, LABELS, X_val=X, y_val=y, sample_weight_val=weight
    )


DAYS = np.datetime64("2020-01-01") + NUMBERS
HOURS = NUMBERS.astype("timedelta64[h]")
NUMERIC = "{name} must be numeric"
#: of targets and of weights: what is no number
NOT_NUMBERS: dict[str, tuple[Any, str]] = {
    "dates": (DAYS, NUMERIC),
    "time spans": (HOURS, NUMERIC),
    "a list of dates": (list(DAYS), NUMERIC),
    "a list of time spans": (list(HOURS), NUMERIC),
    "datetimes": ([dt.datetime(2020, 1, 1)] * N, NUMERIC),
    "timedeltas": ([dt.timedelta(1)] * N, NUMERIC),
    "one date": (changed(dt.date(2020, 1, 1)), NUMERIC),
    "one time span of numpy": (changed(np.timedelta64(3, "D")), NUMERIC),
    "a series of dates": (pd.Series(DAYS), NUMERIC),
    "a series of zoned dates": (
        pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("UTC"), NUMERIC,
    ),
    "a series of time spans": (pd.Series(HOURS), NUMERIC),
    "text": (NUMBERS.astype(str), NUMERIC),
    "a list of text": (NUMBERS.astype(str).tolist(), NUMERIC),
    "one text": (changed("3"), NUMERIC),
    "bytes": (NUMBERS.astype(bytes), NUMERIC),
    "one complex number of numpy": (changed(np.complex64(1j)), NUMERIC),
    "one complex number": (changed(1j), NUMERIC),
    "a list in a cell": (changed([1]), NUMERIC),
    "None among them": (changed(None), NUMERIC),
    "an integer beyond float64": (changed(10**400), "{name} must fit in float64"),
    "a dict": (dict.fromkeys(range(N), 1.0), "{name} is a dict"),
    "a set": ({1, 2}, "{name} is a set"),
    "an iterator": (iter(NUMBERS), "{name} is a "),
    "one text for all": ("1", "{name} must hold one number per row"),
    "one number for all": (3.0, "{name} must hold one number per row"),
    "masked numbers": (np.ma.masked_less(NUMBERS, 2), "{name} is a masked array"),
}  # fmt: skip
NOT_FINITE: dict[str, tuple[Any, str]] = {
    "NaN": (changed(NAN), "{name} must be finite"),
    "infinity": (changed(INF), "{name} must be finite"),
    "minus infinity": (changed(-INF), "{name} must be finite"),
}
OTHER_SHAPES: dict[str, tuple[Any, str]] = {
    "too few": (NUMBERS[:-1], "{name} has 29 values for 30 rows of X"),
    "too many": (np.append(NUMBERS, 1), "{name} has 31 values for 30 rows of X"),
    "none": (NUMBERS[:0], "{name} has 0 values for 30 rows of X"),
    "two columns": (np.c_[NUMBERS, NUMBERS], "{name}: y should be a 1d array"),
    "a scalar array": (np.array(3.0), "{name} must hold one number per row"),
}
CASES = [
    Case(
        f"{kind} as {name} of a regressor",
        partial(call, values),
        ValueError,
        message.format(name=name),
    )
    for call, name in ((regress, "y"), (validate_regression, "y_val"))
    for kind, (values, message) in (NOT_NUMBERS | NOT_FINITE | OTHER_SHAPES).items()
    if kind not in ("an iterator", "a scalar array")
]
CASES += [
    Case(
        f"{kind} as {name} of a {call.__name__} call",
        partial(call, target, values),
        ValueError,
        message.format(name=name),
    )
    for call, name, target in (
        (regress, "sample_weight", NUMBERS),
        (validate_regression, "sample_weight_val", NUMBERS),
        (classify, "sample_weight", LABELS),
        (validate_classes, "sample_weight_val", LABELS),
    )
    for kind, (values, message) in {
        **NOT_NUMBERS,
        **NOT_FINITE,
        "too few": (NUMBERS[:-1], "{name} must hold one number for each of the 30 row"),
        "two columns": (
            np.c_[NUMBERS, NUMBERS],
            "{name} must hold one number for each of the 30 rows, got shape (30, 2)",
        ),
        "all zero": (np.zeros(N), "{name} is zero for every row: nothing would count"),
        "one below zero": (changed(-1.0), "{name} must be finite and >= 0, but row 3 "),
    }.items()
    if kind != "an iterator"
]
CASES += [
    Case(f"{kind} as y of a classifier", partial(classify, values), ValueError, message)
    for kind, values, message in [
        ("one class", np.zeros(N), "y has only one class, [0.0]"),
        (
            "three classes",
            NUMBERS % 3,
            "3 classes; scikit-learn's HistGradientBoostingC",
        ),
        ("numbers with fractions", NUMBERS + 0.5 * X[:, 0], "y: Unknown label type"),
        (
            "NaN",
            np.where(NUMBERS == 2, NAN, LABELS),
            "y must hold classes, but row 2 has",
        ),
        ("too few labels", LABELS[:-1], "y has 29 values for 30 rows of X"),
        ("two columns", np.c_[LABELS, LABELS], "y: y should be a 1d array"),
        ("masked labels", np.ma.masked_array(LABELS, LABELS), "y is a masked array"),
        ("a dict of labels", {"a": 1}, "y is a dict"),
        ("nothing", None, "y is None: MARTClassifier requires y to be passed"),
    ]
]
CASES += [
    Case("labels that cannot be sorted", partial(classify, changed("a")), ValueError,
         "y: Unknown label type"),
    Case("another class in y_val", partial(validate_classes, np.where(LABELS, 7, 0)),
         ValueError, "y_val has the classes [0, 7], but y has [False, True]"),
    Case("nothing as y of a regressor", partial(regress, None), ValueError,
         "y is None: MARTRegressor requires y to be passed"),
    Case("nothing as y_val", partial(validate_regression, None), ValueError,
         "y_val is None: MARTRegressor requires y to be passed"),
]  # fmt: skip


def predicts_alike(y: Any, weight: Any = None) -> bool:
    plain = regress(NUMBERS.astype(float), None if weight is None else NUMBERS + 1.0)
    return regress(y, weight).predict(X).tobytes() == plain.predict(X).tobytes()


FORMS = {
    "bytes": NUMBERS.astype(np.uint8),
    "half precision": NUMBERS.astype(np.float16),
    "decimals": np.array([Decimal(int(n)) for n in NUMBERS]),
    "fractions": [Fraction(int(n)) for n in NUMBERS],
    "a nullable series": pd.Series(NUMBERS, dtype="Int64"),
    "a list": NUMBERS.tolist(),
    "another byte order": NUMBERS.astype(">i4"),
}
CASES += [
    accepted(f"{kind} as y", partial(predicts_alike, values))
    for kind, values in FORMS.items()
]
CASES += [
    accepted(f"{kind} as sample_weight", partial(predicts_alike, NUMBERS, values))
    for kind, values in {
        "bytes": (NUMBERS + 1).astype(np.uint8),
        "a column": (NUMBERS + 1.0)[:, np.newaxis],
        "a list": (NUMBERS + 1).tolist(),
        "a nullable series": pd.Series(NUMBERS + 1, dtype="Float64"),
    }.items()
]
