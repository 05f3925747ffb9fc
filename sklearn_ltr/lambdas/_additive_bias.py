r"""A bias of each position that is added to the scores during training.

Clicks are explained by s_i + b_k, where document i was shown at position k: by its
relevance and by its place.  The derivatives of the cost by b_k are sums of those by the
scores (its second derivative without the mixed terms, as for the leaf of a tree), so

    b_k  <-  b_k  -  eta  (sum over i at k of dC/ds_i) / (sum over i at k of d2C/ds_i^2)

is a Newton step like that of a leaf.  The costs of pairs do not change if all b_k of
a list grow by a constant, so b_0 = 0.  (The idea is LightGBM's.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._parameters import LARGEST_SCORE

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class AdditiveBias:
    """The bias of each position, as learned so far.

    Parameters
    ----------
    positions : ndarray of shape (n_documents,), int64
        Position of each document, from 0.
    start : ndarray of shape (n_start,), float64, or None
        The bias to begin with; 0 for further positions.

    Attributes
    ----------
    values : ndarray of shape (n_positions,), float64
        b: 0 at position 0, and at positions that no document has.
    path : list of such ndarrays
        The values before the first step and after each.
    """

    def __init__(self, positions: IntArray, start: FloatArray | None) -> None:
        n_start = 0 if start is None else len(start)
        self.positions = positions
        self.values = np.zeros(max(n_start, int(positions.max()) + 1))
        self.values[:n_start] = 0.0 if start is None else start
        self.path = [self.values]

    def add_to(self, scores: FloatArray) -> FloatArray:
        """Return the scores of the documents, (n_documents,), plus their biases."""
        return scores + self.values[self.positions]

    def step(self, gradient: FloatArray, hessian: FloatArray, rate: float) -> None:
        """Make a Newton step times `rate`, from dC/ds and d2C/ds2 of all documents.

        Raises
        ------
        ValueError
            If the bias is no longer of a size to compute with.
        """
        n = len(self.values)
        # one sum after another in the order of the documents, in a single thread
        total = np.bincount(self.positions, gradient, n)
        curvature = np.bincount(self.positions, hessian, n)
        change = np.zeros(n)
        np.divide(total, curvature, out=change, where=curvature > 0)
        values = self.values - rate * change
        self.values = values - values[0]
        self.path.append(self.values)
        largest = np.abs(self.values).max()
        if not largest <= LARGEST_SCORE:
            raise ValueError(
                f"the bias of a position diverges, to {largest:.3g}: lower "
                "learning_rate, or fit with position_bias=None"
            )
