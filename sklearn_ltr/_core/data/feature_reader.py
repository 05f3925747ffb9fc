"""What reads X, in a fit and in predictions: the columns that a fit has seen of it.

A `FeatureReader` is a value of its own, made from fitted attributes, or from the first
X of a new fit.  `SuppliedX` stands for an X that brings its table along.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from sklearn_ltr._core.data.categories import FeatureCategories
from sklearn_ltr._core.data.features import (
    as_table,
    check_columns,
    check_finite,
    column_kinds,
    find_features,
    is_frame,
    read_feature_table,
)
from sklearn_ltr._core.data.tables import Matrix, Table, table_of
from sklearn_ltr._core.typing import FeaturesLike, MatrixLike

COLUMNS_OF_X = ("n_features_in_", "feature_names_in_")  # as scikit-learn stores them
NO_CATEGORIES = FeatureCategories(
    np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_), []
)


class FeatureReader:
    """Reads X, given what a fit has seen of its columns, or sees now.

    Parameters
    ----------
    owner : class of an estimator
        Messages name it, and its tags say whether NaN is allowed.  For networks X
        becomes float32, and has no categories.
    known : mapping of str to object
        Fitted attributes, of which those about columns are used.  Without any, the
        columns of the first X that is read become known.

    Attributes
    ----------
    categories : FeatureCategories
    """

    def __init__(self, owner: type[Any], known: Mapping[str, Any]) -> None:
        self.is_for_network: bool = owner._is_network
        # scikit-learn stores columns in an estimator, and compares them with its own
        self._holder: Any = object.__new__(owner)
        self._holder.__dict__ = {n: known[n] for n in COLUMNS_OF_X if n in known}
        self.categories: FeatureCategories = known.get("_categories", NO_CATEGORIES)
        self._absent_is_missing = known.get("_absent_is_missing", False)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self._holder.n_features_in_)

    @property
    def names(self) -> NDArray[Any] | None:
        """Names of the columns, None if they have none."""
        names: NDArray[Any] | None = getattr(self._holder, "feature_names_in_", None)
        return names

    @property
    def attributes(self) -> dict[str, Any]:
        """The fitted attributes that say what is known."""
        known = dict(vars(self._holder))
        return (
            known if self.is_for_network else known | {"_categories": self.categories}
        )

    def learn_categories(self, X: MatrixLike, given: FeaturesLike) -> None:
        """Learn the categories of X; those that are known must be of its columns."""
        if not vars(self._holder):
            self.categories = FeatureCategories.learn(X, given)
            return
        features = find_features(X, given, "X")
        if not np.array_equal(features, self.categories.feature):
            raise ValueError(
                f"categorical_features are the columns {features.tolist()} of X, but "
                "the trees that warm_start keeps have "
                f"{self.categories.feature.tolist()}: give the same, or fit with "
                "warm_start=False"
            )

    def table(self, X: MatrixLike, name: str) -> Table:
        """Return X as a table that a fit reads."""
        if isinstance(X, SuppliedX):
            return X.table(self, name)
        return table_of(self.read(X, name))

    def read(
        self, X: MatrixLike, name: str = "X", *, check_values: bool = True
    ) -> Matrix:
        """Return X as a checked matrix, with numbers in its categorical columns."""
        # without `check_values`, infinite values are found by who scores the rows
        is_first, features = not vars(self._holder), self.categories.feature.tolist()
        if self._absent_is_missing and issparse(X):
            raise ValueError(
                f"{name} is sparse, but this model comes from XGBoost, which takes "
                "entries that a sparse matrix does not store as missing, not as 0: "
                "give a dense array, with NaN where a value is missing"
            )
        given = X
        if features:
            if not is_first:
                check_columns(self._holder, X, name)
            X = self.categories.encode(X, name)
        try:
            table = read_feature_table(
                self._holder, X, reset=is_first, name=name, check_values=check_values
            )
        except ValueError as error:
            takes_text = is_first and not self.is_for_network
            kinds = column_kinds(given) if takes_text else []
            text = {j for j, kind in enumerate(kinds) if kind == "text"} - {*features}
            if not text:
                raise
            named: list[Any] = sorted({*text, *features})
            frame = as_table(given)
            if is_frame(frame):
                names = [list(frame.columns)[j] for j in named]
                named = names if all(isinstance(n, str) for n in names) else named
            raise ValueError(
                f"{error}. Make text categorical, by astype('category'), or give "
                f"categorical_features={named!r}"
            ) from None
        if self.is_for_network:
            with np.errstate(over="ignore"):
                table = table.astype(np.float32, copy=False)
            if not issparse(table):
                table = np.ascontiguousarray(table)
            check_finite(table, f"{name} in single precision", allow_nan=False)
        return table


class SuppliedX(ABC):
    """An X with a table of its own: members of a bag share bins, workers have parts.

    Attributes
    ----------
    known : mapping of str to object
        Fitted attributes of its columns, where these have been read.
    """

    known: Mapping[str, Any]

    @abstractmethod
    def as_given(self) -> MatrixLike:
        """Return X as the user has given it, or some of its rows."""

    @abstractmethod
    def table(self, reader: FeatureReader, name: str) -> Table:
        """Return X as a table."""

    def predict(self, model: BaseEstimator) -> ArrayLike:
        """Return the scores of all rows by a model of the user."""
        scores: ArrayLike = model.predict(self.as_given())
        return scores


def given_values(X: MatrixLike) -> MatrixLike:
    """Return X as the user has given it."""
    return X.as_given() if isinstance(X, SuppliedX) else X
