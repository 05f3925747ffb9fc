"""The base class of all that gradient and hessian of documents are computed by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.typing import FloatArray, IntArray


class Lambdas(ABC):
    """Gradient and hessian of documents, from what is known about whole queries.

    Attributes
    ----------
    offsets : ndarray of shape (n_queries + 1,), int64
        Query q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``.
    documents : ndarray of shape (n_documents,)
        Index of each document in the data, which differs from its position only after
        `reordered`.
    """

    offsets: IntArray
    documents: NDArray[np.integer]

    def derivatives(
        self, scores: FloatArray, first: int = 0, last: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1.

        `scores` are of all documents, of which only those of these queries are read;
        None stands for the last query.  The next call may overwrite what is returned.
        """
        return self.compute(
            scores, first, len(self.offsets) - 1 if last is None else last
        )

    @abstractmethod
    def compute(
        self, scores: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the same: `derivatives`, where the last query is given."""

    @abstractmethod
    def reordered(self, queries: IntArray) -> Self:
        """Return the lambdas of these queries (n_selected,), in their order."""


class NoLambdas(Lambdas):
    """The lambdas of no documents: a worker may have none of a label."""

    offsets = np.zeros(1, dtype=np.int64)
    documents = np.empty(0, dtype=np.int64)

    def compute(
        self, scores: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return two empty arrays."""
        return np.empty(0), np.empty(0)

    def reordered(self, queries: IntArray) -> Self:
        """Return the same."""
        return self
