"""Types that signatures share: arrays, tables of features, names, ids and seeds."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float32Array: TypeAlias = NDArray[np.float32]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]


class DataFrameLike(Protocol):
    """A table of pandas, polars or Arrow."""

    @property
    def columns(self) -> Any:
        """Names of the columns (of Arrow, the columns)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, number of columns."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a column."""


class SparseMatrix(Protocol):
    """A sparse matrix or array of scipy."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, number of columns."""

    def tocsr(self) -> Any:
        """Return the same numbers, row by row."""


MatrixLike: TypeAlias = ArrayLike | DataFrameLike | SparseMatrix
NamesLike: TypeAlias = Sequence[str] | NDArray[Any]
IdsLike: TypeAlias = ArrayLike | Sequence[Hashable]  # of queries, documents, sessions
Seed: TypeAlias = int | np.integer[Any] | np.random.RandomState | None

# Of validation data: of one set, or a tuple of several
MatricesLike: TypeAlias = MatrixLike | tuple[MatrixLike, ...]
ArraysLike: TypeAlias = ArrayLike | tuple[ArrayLike | None, ...]
IdArraysLike: TypeAlias = IdsLike | tuple[IdsLike | None, ...]

# Of parameters of estimators
LabelWeightsLike: TypeAlias = ArrayLike | Mapping[str, float] | Mapping[int, float]
FeaturesLike: TypeAlias = ArrayLike | None  # names, indices or a mask; a word
MonotonicConstraints: TypeAlias = ArrayLike | Mapping[str, int] | None
InteractionConstraints: TypeAlias = str | Sequence[Collection[int | str]] | None
