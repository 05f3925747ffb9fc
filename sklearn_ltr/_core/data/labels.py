"""Grades of several labels, such as clicks and purchases: a column of y for each.

A document that a label has not judged (NaN) takes no part in this label: neither in its
pairs, nor in the list that its metric ranks, nor in the ideal list.  So a label learns
from the documents that it has judged, and is measured on them, as if there were no
others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.data.features import is_na
from sklearn_ltr._core.data.groups import QueryGroups, QueryIds
from sklearn_ltr._core.data.rows import check_each, numeric_column, read_numbers
from sklearn_ltr._core.typing import FloatArray, IntArray, LabelWeightsLike


@dataclass(frozen=True, eq=False)
class LabelGrades:
    """The grades of one or several labels, in canonical order.

    Attributes
    ----------
    values : ndarray of shape (n_labels, n_rows), float64
        Grades >= 0 (of MART: targets); NaN: not judged by this label.
    mean : ndarray of shape (n_rows,), float64
        Their weighted mean, see `in_units`; of one label, its grades.
    weights : ndarray of shape (n_labels,), float64
        Share of each label; they sum to 1.
    names : tuple of str
        Those of the columns of a DataFrame, else "0", "1", ...
    """

    values: FloatArray
    mean: FloatArray
    weights: FloatArray
    names: tuple[str, ...]

    @classmethod
    def of_one(cls, grades: FloatArray) -> Self:
        """Return the grades of one label, (n_rows,)."""
        return cls(grades[np.newaxis], grades, np.ones(1), ("0",))

    def __getitem__(self, rows: NDArray[Any] | slice) -> Self:
        """Return the grades of some rows."""
        values = self.values[:, rows]
        mean = values[0] if self.n_labels == 1 else self.mean[rows]
        return replace(self, values=values, mean=mean)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.names)

    @property
    def counted(self) -> FloatArray:
        """Grades of the labels of a weight above 0, (n_counted, n_rows)."""
        return self.values[self.weights > 0]

    def have_pairs(
        self, starts: NDArray[Any], counts: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]:
        """Return whether a label of a weight above 0 has different grades in a query.

        Only rows that `counts`, (n_rows,) bool, selects are looked at; None: all.
        """
        found = np.zeros(len(starts), dtype=np.bool_)
        for grades in self.counted:
            own = grades if counts is None else np.where(counts, grades, np.nan)
            # a query without a grade has NaN for both, which is not above NaN
            found |= np.fmax.reduceat(own, starts) > np.fmin.reduceat(own, starts)
        return found

    def largest(self, counts: NDArray[np.bool_]) -> FloatArray:
        """Return the largest grade of each label in the rows that `counts` selects."""
        counted = np.where(counts, self.values, 0.0)
        return np.asarray(np.fmax.reduce(counted, axis=1, initial=0.0))

    def in_units(self, largest: FloatArray) -> Self:
        """Return the same grades, their mean in units of each label.

        The unit is the largest grade, which is given.  A grade that is missing counts
        as 0 in the mean.  The grades of one label stay as they are.
        """
        if self.n_labels == 1:
            return self
        # in the mean of the units, so that labels of one unit keep their grades' bits
        units = np.where(largest == 0.0, 1.0, largest)
        factors = self.weights * ((self.weights * units).sum() / units)
        mean = np.zeros(self.values.shape[1])
        for factor, grades in zip(factors, np.nan_to_num(self.values), strict=True):
            mean += factor * grades
        return replace(self, mean=mean)


def n_label_columns(y: Any) -> int:
    """Return the number of columns of y, which is 1 if y is no table."""
    shape = getattr(y, "shape", None)
    if shape is not None:
        return int(shape[1]) if len(shape) == 2 else 1
    if isinstance(y, list | tuple) and len(y) > 0:
        row = y[0]
        is_row = isinstance(row, list | tuple) or np.ndim(row) == 1
        return len(row) if is_row else 1
    return 1


def names_of_columns(y: Any) -> tuple[str, ...]:
    """Return the names of the columns of a table, "0", "1", ... if it has none."""
    columns = getattr(y, "column_names", None)  # of Arrow
    if columns is None:
        columns = getattr(y, "columns", None)
    names = range(n_label_columns(y)) if columns is None else list(columns)
    return tuple(map(str, names))


def is_label(label: object) -> bool:
    """Return whether this may be the name or the number of a column of y."""
    is_number = isinstance(label, Integral) and not isinstance(label, bool)
    return is_number or isinstance(label, str)


def check_label(label: object) -> None:
    """Raise a ValueError unless this may be a column of y, or None."""
    if label is not None and not is_label(label):
        raise ValueError(
            f"label must be the number or the name of a column of y, got {label!r}"
        )


def label_number(label: int | str, names: tuple[str, ...], argument: str) -> int:
    """Return the column that a name or number of a label means."""
    if isinstance(label, str) and label in names:
        return names.index(label)
    if is_label(label) and not isinstance(label, str) and 0 <= label < len(names):
        return int(label)
    raise ValueError(
        f"{argument}={label!r} is no column of y: give an integer from 0 to "
        f"{len(names) - 1}, or one of the names {list(names)}"
    )


def check_several(
    label: int | str | None,
    n_labels: int,
    name: str = "y",
    otherwise: str = "label=None",
) -> None:
    """Raise a ValueError if a label is named of a y that has one column."""
    if label is not None and n_labels == 1:
        raise ValueError(
            f"label={label!r} names one of several labels, but {name} has one column: "
            f"give all of them, or {otherwise}"
        )


def label_shares(
    label_weights: LabelWeightsLike | None, names: tuple[str, ...]
) -> FloatArray:
    """Return the share of each label, (n_labels,) float64, with a sum of 1."""
    n_labels = len(names)
    if label_weights is None:
        return np.full(n_labels, 1.0 / n_labels)
    if isinstance(label_weights, Mapping):
        by_number = {
            label_number(label, names, "label_weights: label"): weight
            for label, weight in label_weights.items()
        }
        if missing := [n for i, n in enumerate(names) if i not in by_number]:
            raise ValueError(
                f"label_weights has no weight of label {missing[0]!r}: give one for "
                f"each of {list(names)}, 0 to leave it out"
            )
        label_weights = [by_number[number] for number in range(n_labels)]
    if isinstance(label_weights, str | bytes) or np.ndim(label_weights) != 1:
        raise ValueError(
            f"label_weights must hold one number per label, got {label_weights!r}"
        )
    weights = read_numbers(label_weights, n_labels, "label_weights", item="label")
    if not ((weights >= 0) & (weights < np.inf)).all() or not weights.any():
        raise ValueError(
            "label_weights must be finite and >= 0, and one of them above 0; got "
            f"{weights.tolist()}"
        )
    weights = weights / weights.max()  # whose sum is finite
    return np.asarray(weights / weights.sum())


def select_rows(
    selected: NDArray[np.bool_], offsets: IntArray, ids: QueryIds | None
) -> tuple[IntArray, QueryIds | None, NDArray[np.bool_]]:
    """Return offsets and ids of queries with selected rows, and which these are."""
    before = np.concatenate(([0], np.cumsum(selected)))[offsets]
    has_rows = np.diff(before) > 0
    if ids is not None:
        ids = [ids[query] for query in np.flatnonzero(has_rows).tolist()]
    return np.concatenate(([0], before[1:][has_rows])), ids, has_rows


def read_label_grades(
    y: Any,
    queries: QueryGroups,
    label_weights: LabelWeightsLike | None,
    name: str = "y",
) -> LabelGrades:
    """Return the grades of several labels in canonical order, checked."""
    names = names_of_columns(y)
    if len(set(names)) < len(names):
        raise ValueError(f"{name} has two columns of one name: {list(names)}")
    table, n = numeric_column(y, name), queries.n_documents
    if table.shape != (n, len(names)):
        raise ValueError(
            f"{name} must hold one number for each of the {n} rows, got shape "
            f"{table.shape}; of several labels, a dense column for each; of padded "
            "lists, y.ravel()"
        )
    values = np.empty((len(names), n))
    for number, label in enumerate(names):
        column, own = table[:, number], f"{name}[:, {label}]"
        if column.dtype.kind == "O":  # where a missing grade may be None or pandas.NA
            is_none = [value is None or is_na(value) for value in column]
            column = np.where(is_none, np.nan, column)
        rows = read_numbers(column, n, own, describe=queries.describe_row)
        required = (
            f"{own} must hold finite relevance grades >= 0, or NaN for documents that "
            "this label has not judged"
        )
        valid = ~((rows < 0) | (rows == np.inf))
        check_each(valid, rows, queries.describe_row, required)
        values[number] = queries.sort(rows)
    weights = label_shares(label_weights, names)
    return LabelGrades(values, values[0], weights, names)


def check_have_judged(
    have_judged: NDArray[np.bool_], names: tuple[str, ...], name: str = "y"
) -> None:
    """Raise a ValueError that names the first label without a grade."""
    if not have_judged.all():
        label = names[int(np.argmin(have_judged))]
        raise ValueError(
            f"{name}[:, {label}] is NaN in every row: leave a label out that has "
            "judged nothing"
        )
