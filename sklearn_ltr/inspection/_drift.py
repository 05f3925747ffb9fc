r"""Measure how far the distribution of a column has moved from that of a reference.

With shares p_b of bin b in the reference and q_b now, the population stability index
is

    PSI = sum_b (q_b - p_b) log(q_b / p_b),

the sum of the Kullback-Leibler divergences in both directions.  (N. Siddiqi, "Credit
Risk Scorecards", Wiley 2006.)  Without drift, for independent rows, N of
the reference and M now, PSI / (1/N + 1/M) is about chi-squared with B - 1 degrees of
freedom.  (B. Yurdakul and J. Naranjo, "Statistical properties of the population
stability index", Journal of Risk Model Validation 14(4), 2020.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.stats import chi2

from sklearn_ltr._core.data.features import (
    CodedColumn,
    NumberColumn,
    as_table,
    get_column,
    is_frame,
)
from sklearn_ltr._core.data.rows import check_indices
from sklearn_ltr._core.trees.binning import find_bin_thresholds
from sklearn_ltr._core.typing import FloatArray, IntArray, MatrixLike

N_BINS = 10  # of numbers, or of categories by themselves; missing ones not counted
CHANCE = 0.95  # of a PSI without drift that is below `by_chance`


class Drift(NamedTuple):
    """The population stability index of a column, and its bins."""

    psi: float
    by_chance: float  # without drift, PSI is below it in 95% of all samples
    bins: list[str]  # (n_bins,) what they hold; at least one row of either table
    before: IntArray  # (n_bins,) rows of the reference
    now: IntArray


def named_table(X: Any, name: str) -> tuple[Any, list[str]]:
    """Return X as a table whose columns can be read, and their names."""
    check_indices(X, name)
    table: Any = X.tocsc() if issparse(X) else as_table(X)
    if is_frame(table):
        return table, [str(name) for name in table.columns]
    return table, [f"x{column}" for column in range(table.shape[1])]


def column_of(X: Any, feature: int) -> NumberColumn | CodedColumn:
    """Return what a column of a table of any kind holds."""
    if issparse(X):
        values = X[:, [feature]].toarray()[:, 0]
        return NumberColumn(f"x{feature}", values.astype(np.float64), 2**53)
    return get_column(X, feature, "X")


def drift_of_columns(X_reference: MatrixLike, X: MatrixLike) -> dict[str, Drift]:
    """Return the drift of each column, by name."""
    shape = getattr(X_reference, "shape", None) or np.shape(as_table(X_reference))
    if len(shape) != 2:
        raise ValueError(
            "X_reference must be a table with a row for each document, got "
            f"{type(X_reference).__name__} of shape {shape}"
        )
    before, old_names = named_table(X_reference, "X_reference")
    now, names = named_table(X, "X")
    if before.shape[1] != len(names) or (
        is_frame(before) and is_frame(now) and old_names != names
    ):
        raise ValueError(
            f"X_reference has the columns {shortened(old_names)}, but X has "
            f"{shortened(names)}: give a table of the same columns"
        )
    if before.shape[0] == 0:
        raise ValueError("X_reference is empty: give at least one row")
    drifts = {}
    for j, name in enumerate(names):
        old, new = column_of(before, j), column_of(now, j)
        if isinstance(old, NumberColumn) and isinstance(new, NumberColumn):
            drifts[name] = drift_of_numbers(old.values, new.values)
        elif isinstance(old, CodedColumn) and isinstance(new, CodedColumn):
            drifts[name] = drift_of_categories(old, new)
        else:
            raise ValueError(
                f"column {name!r} holds numbers in one of X_reference and X, but "
                "categories in the other: give it one dtype in both"
            )
    return drifts


def shortened(names: list[str]) -> str:
    """Return the first names of columns, and how many there are, for a message."""
    shown = ", ".join(map(repr, names[:3]))
    return shown if len(names) <= 3 else f"{shown}, ... ({len(names)} in all)"


def drift_of_numbers(before: FloatArray, now: FloatArray) -> Drift:
    """Return the drift of numbers, by bins that hold about as many rows before."""
    thresholds = find_bin_thresholds(before.copy(), N_BINS)
    last = len(thresholds) + 1  # the bin of missing values
    counts = [
        np.bincount(
            np.where(np.isnan(x), last, np.searchsorted(thresholds, x)),
            minlength=last + 1,
        )
        for x in (before, now)
    ]
    ends = [f"{threshold:.4g}" for threshold in thresholds]
    bins = [f"{low} to {high}" for low, high in zip(ends, ends[1:], strict=False)]
    if ends:
        bins = [f"up to {ends[0]}", *bins, f"above {ends[-1]}"]
    else:
        bins = ["all numbers"]
    return drift_of_counts([*bins, "missing"], *counts)


def drift_of_categories(before: CodedColumn, now: CodedColumn) -> Drift:
    """Return the drift of categories; those that are rarer share a bin."""
    known = np.bincount(before.codes[before.codes >= 0], minlength=len(before.labels))
    # the most frequent first; equally frequent ones by name, as labels have no order
    by_name = sorted(range(len(known)), key=lambda code: str(before.labels[code]))
    by_count = sorted(by_name, key=lambda code: -known[code])
    listed = [code for code in by_count if known[code]][:N_BINS]
    bin_of = {before.labels[code]: place for place, code in enumerate(listed)}
    others, unseen, missing = (len(listed) + i for i in range(3))
    in_reference = {before.labels[code] for code in np.flatnonzero(known)}
    counts = []
    for column in (before, now):
        place = [
            bin_of.get(label, others if label in in_reference else unseen)
            for label in column.labels
        ]
        bins = np.array([*place, missing])[column.codes]  # code -1 is the last
        counts.append(np.bincount(bins, minlength=missing + 1))
    names = [str(before.labels[code]) for code in listed]
    return drift_of_counts(
        [*names, "other categories", "not in the reference", "missing"], *counts
    )


def drift_of_counts(bins: list[str], before: IntArray, now: IntArray) -> Drift:
    """Return the drift of counts by bin; bins that are empty in both are left out."""
    used = np.flatnonzero(before + now)
    before, now = before[used], now[used]
    # half a row more in each bin, as otherwise an empty one would make PSI infinite
    p, q = ((n + 0.5) / (n.sum() + 0.5 * len(n)) for n in (before, now))
    psi = float(((q - p) * np.log(q / p)).sum())
    freedom = len(used) - 1
    scale = 1 / before.sum() + 1 / now.sum()
    by_chance = float(chi2.ppf(CHANCE, freedom) * scale) if freedom else 0.0
    return Drift(psi, by_chance, [bins[b] for b in used], before, now)
