"""The categories of categorical features, as numbers.

A category that is a number stands for itself.  Text is replaced by its position among
the text of the column at `fit`, sorted; text that is new since `fit`, and missing
values, by NaN.  So neither the order of the categories in a dtype nor their codes
matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_ltr._core.data.features import (
    CodedColumn,
    NumberColumn,
    as_table,
    find_features,
    get_column,
    holds_values,
    is_frame,
    sparse_message,
)
from sklearn_ltr._core.saving import ChecksummedArrays, saved_part
from sklearn_ltr._core.typing import FeaturesLike, MatrixLike


@saved_part
@dataclass(frozen=True)
class FeatureCategories(ChecksummedArrays):
    """The categorical features, and the text of their categories.

    Attributes
    ----------
    feature : ndarray of shape (n_categorical,), int64
        The categorical features, ascending.
    is_text : ndarray of shape (n_categorical,), bool
        Whether the categories of each are text; else they are numbers.
    text : list of n_categorical ndarrays of str
        The text of the categories, ascending; empty for numbers.
    """

    feature: NDArray[np.int64]
    is_text: NDArray[np.bool_]
    text: list[NDArray[np.str_]]

    @classmethod
    def learn(
        cls, X: MatrixLike, categorical_features: FeaturesLike, name: str = "X"
    ) -> FeatureCategories:
        """Find the categorical features, and the text of their categories."""
        features = find_features(X, categorical_features, name)
        table = as_table(X) if len(features) > 0 else None
        columns = [get_column(table, j, name) for j in features.tolist()]
        is_text = np.array([holds_text(column) for column in columns], dtype=np.bool_)
        text = []
        for column, has_text in zip(columns, is_text, strict=True):
            labels = occurring(column) if has_text else []
            for label in labels:
                if label.endswith("\0"):
                    raise ValueError(
                        f"{column.name} is categorical, but holds {label!r}, which "
                        "ends in a NUL that numpy would drop: remove it"
                    )
                try:
                    label.encode()
                except UnicodeEncodeError:
                    raise ValueError(
                        f"{column.name} is categorical, but holds {label!r}, which has "
                        "a lone surrogate and so is no text of Unicode: replace it"
                    ) from None
            text.append(np.array(sorted(labels), dtype=np.str_))
        return cls(features, is_text, text)

    def mask(self, n_features: int) -> NDArray[np.bool_]:
        """Return whether each feature is categorical, (n_features,)."""
        is_categorical = np.zeros(n_features, dtype=np.bool_)
        is_categorical[self.feature] = True
        return is_categorical

    def encode(self, X: MatrixLike, name: str) -> Any:
        """Return X with numbers in its categorical columns, or raise a ValueError."""
        # errors are sparse X, text where `fit` saw numbers, and the reverse
        if len(self.feature) == 0:
            return X
        if issparse(X):
            raise ValueError(sparse_message(name))
        table, columns = as_table(X), {}
        for j, is_text, text in zip(
            self.feature.tolist(), self.is_text, self.text, strict=True
        ):
            column = get_column(table, j, name)
            if is_text and len(text) > 0 or holds_text(column):
                if holds_text(column) != is_text and holds_values(column):
                    had, has = ("text", "numbers")[:: 1 if is_text else -1]
                    raise ValueError(
                        f"{column.name} holds {has}, but its categories were {had} "
                        f"when the model was fitted: give {had}, or fit again"
                    )
            if isinstance(column, NumberColumn):
                check_codes(column)
            elif is_text:
                columns[j] = positions(column, text)
            else:
                columns[j] = numbers_of(column)
        return replace_columns(table, columns)

    def restrict(
        self, table: NDArray[np.floating], rows: NDArray[np.intp]
    ) -> FeatureCategories:
        """Return the categories without text that is in none of these rows."""
        # the codes in the table are changed to the new positions of the text
        text = list(self.text)
        for number in np.flatnonzero(self.is_text):
            column = table[:, self.feature[number]]
            used = np.unique(column[rows][~np.isnan(column[rows])])
            if len(used) < len(text[number]):
                column[~np.isin(column, used)] = np.nan
                is_known = ~np.isnan(column)
                column[is_known] = np.searchsorted(used, column[is_known])
                text[number] = text[number][used.astype(np.intp)]
        return replace(self, text=text)

    def check(self, n_features: int) -> None:
        """Raise a ValueError unless these are some of `n_features` features."""
        feature, ascends = self.feature, (np.diff(self.feature) > 0).all()
        if not (
            feature.dtype == np.int64
            and ascends
            and ((feature >= 0) & (feature < n_features)).all()
            and self.is_text.shape == feature.shape
            and self.is_text.dtype == np.bool_
            and len(self.text) == len(feature)
            and all(t.dtype.kind == "U" and (t[1:] > t[:-1]).all() for t in self.text)
        ):
            raise ValueError(f"its categories are not those of {n_features} features")


def occurring(column: NumberColumn | CodedColumn) -> list[Any]:
    """Return the labels that occur in a row; none of numbers."""
    if isinstance(column, NumberColumn):
        return []
    return [column.labels[code] for code in np.unique(column.codes) if code >= 0]


def holds_text(column: NumberColumn | CodedColumn) -> bool:
    """Return whether categories are text; ValueError for both kinds or others."""
    # if all are missing, the dtype of the column decides
    if isinstance(column, NumberColumn):
        return False
    found = occurring(column)
    n_text = sum(isinstance(label, str) for label in found)
    others = [label for label in found if not isinstance(label, str | Real)]
    if others:
        raise ValueError(
            f"{column.name} is categorical, but holds {others[0]!r}: categories are "
            "text or numbers: convert them, for example by astype(str)"
        )
    if 0 < n_text < len(found):
        raise ValueError(
            f"{column.name} is categorical, but holds both text and numbers: make all "
            "of them text"
        )
    return n_text == len(found)


def check_codes(column: NumberColumn) -> None:
    """Raise a ValueError for numbers that are not whole, negative, or too large."""
    values, largest = column.values, column.largest
    with np.errstate(invalid="ignore"):
        is_code = (values >= 0) & (values <= largest) & (values == np.floor(values))
    valid = is_code | np.isnan(values)
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            f"{column.name} is categorical, but row {row} holds {values[row]:.17g}: "
            f"the codes of categories are whole numbers from 0 to {largest}, and NaN "
            "where they are missing; or make the column text"
        )


def positions(column: CodedColumn, text: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return the position of each row's text, NaN if it is missing or not there."""
    position = {label: i for i, label in enumerate(text.tolist())}
    values = [position.get(label, np.nan) for label in column.labels]
    return np.append(values, np.nan)[column.codes]


def numbers_of(column: CodedColumn) -> NDArray[np.float64]:
    """Return the category of each row, a number, NaN if it is missing."""
    used = np.unique(column.codes[column.codes >= 0])
    values = np.full(len(column.labels) + 1, np.nan)
    for code in used:
        label = column.labels[code]
        if not (abs(label) <= 2**53 and float(label) == label):
            raise ValueError(
                f"{column.name} is categorical, but holds {label!r}, which float64 "
                "cannot hold exactly: make the column text"
            )
        values[code] = label
    values = values[column.codes]
    if not column.is_categorical:
        check_codes(NumberColumn(column.name, values, 2**53))
    return values


def replace_columns(table: Any, columns: dict[int, NDArray[np.float64]]) -> Any:
    """Return a frame or an array with other numbers in some of its columns."""
    if not columns:
        return table
    if not is_frame(table):
        table = table.astype(object if table.dtype.kind in "OUS" else np.float64)
        for feature, values in columns.items():
            table[:, feature] = values
    elif hasattr(table, "isetitem"):
        table = table.copy(deep=False)
        for feature, values in columns.items():
            table.isetitem(feature, values)
    else:  # polars
        old = {feature: table[:, feature] for feature in columns}
        new = [type(old[j])(old[j].name, values) for j, values in columns.items()]
        table = table.with_columns(new)
    return table
