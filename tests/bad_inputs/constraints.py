"""Constraints that name no feature, hold no sign, or contradict categories."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tests.bad_inputs import Case, accepted
from tests.bad_inputs.categories import NAMES
from tests.bad_inputs.features import MAKE, given

N = 30
TABLE = np.random.default_rng(0).normal(size=(N, 3))
FRAME = pd.DataFrame(TABLE, columns=["a", "b", "c"])
NAN = float("nan")
SIGNS = "monotonic_cst must hold -1, 0 or 1, got"
INDEX = "must give features by name, or by an index from 0 to 2, got"
#: a parameter, its value, X, error and message
WRONG: dict[str, tuple[str, Any, Any, type[Exception], str]] = {
    "a sign of 2": ("monotonic_cst", [2, 0, 0], TABLE, ValueError, f"{SIGNS} 2"),
    "half a sign": ("monotonic_cst", [0.5, 0, 0], TABLE, ValueError, f"{SIGNS} 0.5"),
    "a NaN as a sign": (
        "monotonic_cst", [NAN, 0, 0], TABLE, ValueError, f"{SIGNS} nan",
    ),
    "True as a sign": (
        "monotonic_cst", [True, 0, 0], TABLE, ValueError, f"{SIGNS} True",
    ),
    "a word as a sign": (
        "monotonic_cst", {"a": "up"}, FRAME, ValueError, f"{SIGNS} 'up'",
    ),
    "too few signs": (
        "monotonic_cst", [1, 0], TABLE, ValueError,
        "for each of the 3 features, got shape (2,)",
    ),
    "a table of signs": (
        "monotonic_cst", [[1, 0, 0]], TABLE, ValueError,
        "for each of the 3 features, got shape (1, 3)",
    ),
    "one sign": ("monotonic_cst", 1, TABLE, TypeError, "monotonic_cst must be None"),
    "a word": ("monotonic_cst", "up", TABLE, TypeError, "monotonic_cst must be None"),
    "a set of signs": (
        "monotonic_cst", {1, 0}, TABLE, TypeError, "monotonic_cst must be None",
    ),
    "a sign of an unknown name": (
        "monotonic_cst", {"d": 1}, FRAME, ValueError,
        "monotonic_cst names 'd', which is no column of X: it has ['a', 'b', 'c']",
    ),
    "a sign of a name without names": (
        "monotonic_cst", {"a": 1}, TABLE, ValueError,
        "monotonic_cst names 'a', which is no column of X: it has no names",
    ),
    "a sign of an index beyond": (
        "monotonic_cst", {3: 1}, TABLE, ValueError, f"monotonic_cst {INDEX} 3",
    ),
    "a sign of a category": (
        "monotonic_cst", [0, 0, 1],
        FRAME.assign(c=pd.Categorical(np.arange(N) % 3)), ValueError,
        "monotonic_cst has a sign for feature 'c', which is categorical",
    ),
    "an unknown word of sets": (
        "interaction_cst", "pairs", TABLE, ValueError,
        'interaction_cst must be None, "pairwise", "no_interactions" or a list',
    ),
    "a number of sets": (
        "interaction_cst", 2, TABLE, TypeError, "interaction_cst must be None, a name",
    ),
    "a dict of sets": (
        "interaction_cst", {"a": "b"}, FRAME, TypeError, "interaction_cst must be None",
    ),
    "a set of numbers": (
        "interaction_cst", [0, 1], TABLE, TypeError,
        "interaction_cst must hold sets of features, got 0",
    ),
    "a set of one word": (
        "interaction_cst", ["ab"], FRAME, TypeError,
        "interaction_cst must hold sets of features, got 'ab'",
    ),
    "a set with an unknown name": (
        "interaction_cst", [{"a", "d"}], FRAME, ValueError,
        "interaction_cst names 'd', which is no column of X",
    ),
    "a set with an index beyond": (
        "interaction_cst", [{0, 7}], TABLE, ValueError, f"interaction_cst {INDEX} 7",
    ),
    "a set with a negative index": (
        "interaction_cst", [{-1}], TABLE, ValueError, f"interaction_cst {INDEX} -1",
    ),
    "a set with half an index": (
        "interaction_cst", [{0.5}], TABLE, ValueError, f"interaction_cst {INDEX} 0.5",
    ),
}  # fmt: skip


def fit(name: str, table: Any, **parameters: Any) -> Any:
    return MAKE[name]().set_params(**parameters).fit(table, **given(name))


def same_as_index(name: str) -> bool:
    by_name = fit(name, FRAME, monotonic_cst={"b": 1}, interaction_cst=[["a", "b"]])
    by_index = fit(name, TABLE, monotonic_cst=(0, 1, 0), interaction_cst=[(0, 1)])
    values = by_name.ensemble_.value, by_index.ensemble_.value
    return bool(np.array_equal(*values))


CASES = [
    Case(f"{case} to {name}", partial(fit, name, table, **{parameter: value}), error,
         message)
    for name in NAMES
    for case, (parameter, value, table, error, message) in WRONG.items()
] + [
    accepted(f"constraints by name to {name}", partial(same_as_index, name))
    for name in NAMES
]  # fmt: skip
