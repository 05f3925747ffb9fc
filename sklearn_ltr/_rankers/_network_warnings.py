"""Warnings of a network that will hardly learn, or has stopped to."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_ltr._data.tables import Table
from sklearn_ltr._rankers._network_training import CHECKED_ROWS
from sklearn_ltr._rankers.reading import caller_stacklevel

LARGE_FEATURE = 100.0  # root mean square of a feature above which a warning is given


class UnscaledFeaturesWarning(UserWarning):
    """Features of X are so large that a network will hardly learn from them.

    Examples
    --------
    >>> import warnings
    >>> from sklearn_ltr import RankNetRanker, UnscaledFeaturesWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ranker = RankNetRanker(max_iter=1, random_state=0).fit(
    ...         [[1000.0], [2000.0]], [0, 1], groups=[7, 7]
    ...     )
    >>> caught[0].category is UnscaledFeaturesWarning
    True
    """


def warn_unless_scaled(X: Table, rows: NDArray[np.intp]) -> None:
    """Warn of features far larger than 1 in these rows; reads some of them only."""
    sample = X[rows[:: max(1, len(rows) // CHECKED_ROWS)]].astype(np.float64)
    squares = sample.multiply(sample) if issparse(sample) else sample**2
    size = np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
    if size.max() > LARGE_FEATURE:
        column = int(size.argmax())
        warnings.warn(
            f"column {column} of X has root mean square {size[column]:.3g}, and "
            "networks learn well from columns of about unit size; put StandardScaler "
            "before the ranker in a Pipeline",
            UnscaledFeaturesWarning,
            stacklevel=caller_stacklevel(),
        )


def warn_if_constant(scores: NDArray[np.float64]) -> None:
    """Warn of a network that gives all documents the same score."""
    if len(scores) > 1 and np.ptp(scores) == 0:
        warnings.warn(
            "the network gives all documents the same score: its units no longer react "
            "to X. Scale the columns of X, or lower learning_rate_init or alpha",
            UserWarning,
            stacklevel=caller_stacklevel(),
        )
