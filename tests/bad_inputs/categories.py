"""Categorical features that are named wrongly, or whose columns hold no categories."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from tests.bad_inputs import Case, accepted
from tests.bad_inputs.features import MAKE, TREE_FITS, given

NAMES = [entry.removesuffix(" fit") for entry in TREE_FITS]
N = 30
CODES = np.column_stack([np.arange(N) % 4, np.arange(N) % 3, np.linspace(-1, 1, N)])
WORDS = np.array(["one", "two", "three"])[np.arange(N) % 3]
NAN, INF = float("nan"), float("inf")


def fit(name: str, table: Any, features: Any, **options: Any) -> Any:
    model = MAKE[name]().set_params(categorical_features=features)
    return model.fit(table, **given(name), **options)


def replaced(value: Any, dtype: Any = np.float64) -> Any:
    """Return codes of which one, of column 1, is replaced."""
    table = CODES.astype(dtype)
    table[3, 1] = value
    return table


def framed(column: Any) -> Any:
    return pd.DataFrame({"a": CODES[:, 2], "b": column})


def category(labels: list[Any]) -> Any:
    return pd.Categorical([labels[row % len(labels)] for row in range(N)])


FRAME = framed(WORDS)
MUST_BE = "categorical_features must be 'from_dtype', None, or a list"
#: the parameter, X, error and message
NAMED_WRONGLY: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "a name": ("b", FRAME, TypeError, f"{MUST_BE} of names"),
    "another word": ("auto", FRAME, TypeError, MUST_BE),
    "a number": (1, CODES, TypeError, MUST_BE),
    "a truth value": (True, CODES, TypeError, MUST_BE),
    "floats": ([0.0, 1.0], CODES, TypeError, MUST_BE),
    "an array of floats": (np.array([1.0]), CODES, TypeError, MUST_BE),
    "a table": ([[0, 1]], CODES, TypeError, MUST_BE),
    "a dict": ({"b": True}, FRAME, TypeError, MUST_BE),
    "a set": ({"b"}, FRAME, TypeError, MUST_BE),
    "None in a list": ([None], FRAME, TypeError, MUST_BE),
    "names and indices": (["b", 1], FRAME, TypeError, MUST_BE),
    "booleans and indices": ([True, 1, 0], CODES, TypeError, MUST_BE),
    "an unknown name": (
        ["b", "c"], FRAME, ValueError,
        "categorical_features names ['c'], which are no columns of X: it has ['a', 'b'",
    ),
    "names for an array": (
        ["b"], CODES, ValueError, "no columns of X: it has no names",
    ),
    "names for lists": (["b"], CODES.tolist(), ValueError, "it has no names"),
    "an index too large": ([0, 3], CODES, ValueError, "from 0 to 2, got [0, 3]"),
    "a negative index": ([-1], CODES, ValueError, "indices from 0 to 2, got [-1]"),
    "a huge index": ([10**30], CODES, ValueError, "indices from 0 to 2"),
    "a short mask": (
        [True, False], CODES, ValueError, "a mask of 2 booleans, and X has 3 features",
    ),
    "a long mask": (np.ones(4, bool), CODES, ValueError, "a mask of 4 booleans"),
    "an empty mask": (np.ones(0, bool), CODES[:0], ValueError, "0 sample(s)"),
}  # fmt: skip
IN_COLUMN = "X in column 1 is categorical, but row 3 holds"
#: X whose column 1 is categorical, and the message
NO_CATEGORIES: dict[str, tuple[Any, str]] = {
    "halves": (replaced(0.5), f"{IN_COLUMN} 0.5: the codes of categories are whole"),
    "a negative code": (replaced(-1), f"{IN_COLUMN} -1: "),
    "a negative integer": (replaced(-1, np.int8), f"{IN_COLUMN} -1: "),
    "an infinite code": (replaced(INF), f"{IN_COLUMN} inf: "),
    "a minus infinite code": (replaced(-INF), f"{IN_COLUMN} -inf: "),
    "a code beyond float64": (replaced(2.0**54), "from 0 to 9007199254740992"),
    "an integer beyond float64": (replaced(2**63 - 1, np.int64), IN_COLUMN),
    "an unsigned integer beyond float64": (replaced(2**64 - 1, np.uint64), IN_COLUMN),
    "a code beyond float32": (replaced(2.0**25, np.float32), "from 0 to 16777216"),
    "a code beyond float16": (replaced(4096.0, np.float16), "from 0 to 2048"),
    "a half in objects": (replaced(0.5, object), f"{IN_COLUMN} 0.5: "),
    "a half in lists": (replaced(0.5).tolist(), f"{IN_COLUMN} 0.5: "),
    "an integer of objects beyond float64": (
        replaced(2**53 + 1, object), "holds 9007199254740993, which float64 cannot",
    ),
    "text and numbers": (replaced("x", object), "both text and numbers"),
    "text and numbers in lists": (replaced("x", object).tolist(), "both text and"),
    "bytes": (replaced(b"x", object), "holds b'x': categories are text or numbers"),
    "a date": (replaced(dt.date(2020, 1, 1), object), "holds datetime.date(2020, 1, 1"),
    "a list in a cell": (replaced([1], object), "but row 3 holds [1]: categories are"),
    "a sparse matrix": (sparse.csr_matrix(CODES), "X is sparse, and categorical feat"),
}  # fmt: skip
#: columns of a frame with a categorical dtype, and the message
NO_LABELS: dict[str, tuple[Any, str]] = {
    "dates": (category([pd.Timestamp(2020, 1, d) for d in (1, 2)]), "holds Timestamp("),
    "intervals": (
        pd.cut(CODES[:, 2], 3),
        "in column 'b' is categorical, but holds",
    ),
    "tuples": (category([(1, 2), (3, 4)]), "holds (1, 2): categories are text or"),
    "text and numbers": (category(["x", 1]), "holds both text and numbers"),
    "integers beyond float64": (category([2**53 + 1, 0]), "cannot hold exactly: make"),
    "infinity": (category([INF, 0.0]), "holds inf, which float64"),
}
CASES = [
    Case(f"{kind} to {name}", partial(fit, name, table, features), error, message)
    for name in NAMES
    for kind, (features, table, error, message) in NAMED_WRONGLY.items()
]
CASES += [
    Case(f"{kind} to {name}", partial(fit, name, table, [1]), ValueError, message)
    for name in NAMES
    for kind, (table, message) in NO_CATEGORIES.items()
]
CASES += [
    Case(
        f"categories that are {kind} to {name}",
        partial(fit, name, framed(column), "from_dtype"),
        ValueError,
        message,
    )
    for name in NAMES
    for kind, (column, message) in NO_LABELS.items()
]

# --- after the fit ------------------------------------------------------------------

OF_CODES = {name: fit(name, CODES, [1]) for name in NAMES}
OF_TEXT = {name: fit(name, framed(category(list(WORDS[:3]))), "from_dtype")
           for name in NAMES}  # fmt: skip
OF_FRAMES = {
    name: fit(name, framed(category([1, 2, 3])), "from_dtype") for name in NAMES
}
CASES += [
    Case(f"{kind} to a fitted {name}", partial(model.predict, table), ValueError, text)
    for name, model in OF_CODES.items()
    for kind, (table, text) in NO_CATEGORIES.items()
]
HAD_TEXT = "in column 'b' holds numbers, but its categories were text when the model"
HAD_NUMBERS = "in column 'b' holds text, but its categories were numbers when the model"
OTHERS: dict[str, tuple[dict[str, Any], Any, type[Exception], str]] = {
    "numbers after text": (OF_TEXT, framed(CODES[:, 1]), ValueError, HAD_TEXT),
    "numbers as categories after text": (
        OF_TEXT, framed(category([1, 2])), ValueError, HAD_TEXT,
    ),
    "numbers of polars after text": (
        OF_TEXT, pl.DataFrame({"a": CODES[:, 2], "b": CODES[:, 1]}), ValueError,
        HAD_TEXT,
    ),
    "text after numbers": (OF_FRAMES, framed(WORDS), ValueError, HAD_NUMBERS),
    "text as categories after numbers": (
        OF_FRAMES, framed(category(["x", "y"])), ValueError, HAD_NUMBERS,
    ),
    "text as numbers after numbers": (
        OF_FRAMES, framed(category(["1", "2"])), ValueError, HAD_NUMBERS,
    ),
    "halves after numbers": (OF_FRAMES, framed(np.full(N, 0.5)), ValueError, "row 0 h"),
    "text and numbers after text": (
        OF_TEXT, framed(category(["x", 1])), ValueError, "both text and numbers",
    ),
    "dates after text": (
        OF_TEXT, framed(pd.Timestamp(2020, 1, 1)), ValueError, "holds Timestamp(",
    ),
    "columns in another order": (
        OF_TEXT, framed(WORDS)[["b", "a"]], ValueError, "feature names should match",
    ),
    "too few columns": (OF_TEXT, framed(WORDS)[["a"]], ValueError, "names should"),
    "a column too many": (
        OF_CODES, np.hstack([CODES, CODES]), ValueError, "X has 6 features, but ",
    ),
    "text in the other column": (
        OF_TEXT, pd.DataFrame({"a": WORDS, "b": WORDS}), ValueError,
        "in column 'a' must be numeric, but holds text",
    ),
}  # fmt: skip
CASES += [
    Case(f"{kind} to {name}", partial(models[name].predict, table), error, message)
    for name in NAMES
    for kind, (models, table, error, message) in OTHERS.items()
]


def of_validation(name: str, table: Any) -> dict[str, Any]:
    names = {"X": "X_val", "y": "y_val", "groups": "groups_val"}
    return {names[key]: value for key, value in {"X": table, **given(name)}.items()}


CASES += [
    Case(
        f"{kind} as X_val of {name}",
        partial(fit, name, CODES, [1], **of_validation(name, table)),
        ValueError,
        message.replace("X ", "X_val ") if message.startswith("X ") else message,
    )
    for name in NAMES
    for kind, (table, message) in NO_CATEGORIES.items()
]

# --- what is accepted ---------------------------------------------------------------

ACCEPTED: dict[str, Callable[[str], bool]] = {
    "no features": lambda name: (
        not fit(name, CODES, []).is_categorical_.any()
        and not fit(name, CODES, None).is_categorical_.any()
        and not fit(name, sparse.csr_matrix(CODES), "from_dtype").is_categorical_.any()
    ),
    "no features in a mask": lambda name: (
        not fit(name, sparse.csr_matrix(CODES), np.zeros(3, bool)).is_categorical_.any()
    ),
    "a feature twice": lambda name: (
        fit(name, CODES, [1, 1]).is_categorical_.tolist() == [False, True, False]
    ),
    "a column without categories": lambda name: fit(
        name, framed(category([None])), "from_dtype"
    ).is_categorical_[1],
    "a missing column after text": lambda name: np.isfinite(
        OF_TEXT[name].predict(framed(np.full(N, NAN)))
    ).all(),
    "a missing column after numbers": lambda name: np.isfinite(
        OF_FRAMES[name].predict(framed(category([None])))
    ).all(),
}
CASES += [
    accepted(f"{kind} to {name}", partial(call, name))
    for name in NAMES
    for kind, call in ACCEPTED.items()
]
