"""Gain (a function of the grade) and discount (a function of the rank)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import exp2_of, log2_of
from sklearn_ltr._data import Labels, count_rows, describe_query, read_numbers

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Gain = Literal["exponential", "linear"] | Sequence[float] | Callable[[Any], Any]
Discount = Literal["log2", "letor"]


def check_gain(gain: Gain) -> Gain:
    """Validate a gain; an array becomes a tuple, which compares and hashes."""
    if callable(gain) or (isinstance(gain, str) and gain in ("exponential", "linear")):
        return gain
    if isinstance(gain, str) or not hasattr(gain, "__len__"):
        raise ValueError(
            'gain must be "exponential", "linear", one value per integer grade or a '
            f"function of an array of grades, got {gain!r}"
        )
    n_grades = count_rows(gain, "gain")
    values = read_numbers(gain, n_grades, "gain", "grade")
    finite = (values >= 0) & (values < np.inf)
    if n_grades == 0 or not finite.all() or (values[1:] < values[:-1]).any():
        raise ValueError(
            "gain must hold finite values >= 0 that do not fall from one grade to the "
            f"next, got {tuple(values.tolist())}"
        )
    return tuple(values.tolist())


def gain_of(gain: Gain, grades: FloatArray) -> FloatArray:
    """Return the gain of each grade: 2^grade - 1, the grade, a table or a function."""
    if isinstance(gain, str):
        if gain == "linear":
            return grades
        with np.errstate(over="ignore"):
            return exp2_of(grades) - 1.0
    if callable(gain):
        values = np.asarray(gain(grades))
        if values.dtype.kind not in "biuf":
            raise ValueError(f"gain must return numbers, got dtype {values.dtype}")
        return values.astype(np.float64)
    return np.asarray(gain)[grades.astype(np.int64)]


def gain_per_document(
    gain: Gain, grades: FloatArray, offsets: IntArray, labels: Labels | None
) -> FloatArray:
    """Return the gain of every document, validated.

    Raises
    ------
    ValueError
        If a table has no value for a grade, or a gain is negative, NaN, or so large
        that the sum over a list could overflow float64; names the grade and a query.
    """
    if isinstance(gain, tuple):
        bad = (grades >= len(gain)) | (grades != np.floor(grades))
        if bad.any():
            raise ValueError(
                f"gain is a table of {len(gain)} values for the grades 0 to "
                f"{len(gain) - 1}, but {_describe_first(bad, grades, offsets, labels)}"
            )
    values = gain_of(gain, grades)
    if values.shape != grades.shape:
        raise ValueError(
            f"gain must return one value per grade: shape {grades.shape}, "
            f"got {values.shape}"
        )
    largest = np.finfo(np.float64).max / np.diff(offsets).max()
    bad = ~((values >= 0) & (values <= largest))
    if bad.any():
        first_bad = values[int(np.argmax(bad))]
        raise ValueError(
            f"gain {gain!r} must be >= 0 and have a finite float64 sum over any list, "
            f"but it is {first_bad} where "
            f"{_describe_first(bad, grades, offsets, labels)}"
        )
    return values


def _describe_first(
    bad: NDArray[np.bool_],
    grades: FloatArray,
    offsets: IntArray,
    labels: Labels | None,
) -> str:
    position = int(np.argmax(bad))
    query = int(np.searchsorted(offsets, position, side="right")) - 1
    return f"query {describe_query(labels, query)} has grade {grades[position]}"


def discount_per_position(discount: Discount, n: int, k: int) -> FloatArray:
    """Return the discount of positions 0 to n - 1, zero from k on.

    "log2" is 1 / log2(1 + rank) (equation 5 of the report; the base of the logarithm
    cancels in NDCG).  "letor" is that of the LETOR 4.0 evaluation script: 1 at ranks 1
    and 2, 1 / log2(rank) from rank 3.
    """
    ranks = np.arange(1, n + 1, dtype=np.float64)
    shifted = 1.0 + ranks if discount == "log2" else np.maximum(ranks, 2.0)
    return cut_at(k, 1.0 / log2_of(shifted))


def reciprocal_ranks(n: int, k: int) -> FloatArray:
    """Return 1 / rank for positions 0 to n - 1, zero from k on."""
    return cut_at(k, 1.0 / np.arange(1, n + 1, dtype=np.float64))


def cut_at(k: int, discount: FloatArray) -> FloatArray:
    """Set a discount to zero from position k on."""
    return np.where(np.arange(len(discount)) < k, discount, 0.0)
