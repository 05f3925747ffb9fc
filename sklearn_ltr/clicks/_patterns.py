"""Distinct sessions of a log: their documents, clicks and number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.clicks._log import ClickLog

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Patterns(NamedTuple):
    """Distinct sessions; equal ones (documents and clicks) are counted, not repeated.

    Lists are padded with the pair `n_pairs`, which is never clicked.
    """

    pair: IntArray  # (n_patterns, n_positions)
    clicked: BoolArray  # (n_patterns, n_positions)
    n_sessions: FloatArray  # (n_patterns, 1) of each pattern
    length: IntArray  # (n_patterns, 1) documents of the list
    last_click: IntArray  # (n_patterns, 1) position, -1 if there is none
    n_pairs: int

    @property
    def position(self) -> IntArray:
        """Positions, (1, n_positions)."""
        return np.arange(self.pair.shape[1])[None, :]


def count_patterns(log: ClickLog) -> Patterns:
    """Return the distinct sessions of a log, sorted by their documents and clicks."""
    lists = log.lists
    n_sessions, width = len(lists.offsets) - 1, lists.n_positions
    coded = np.full((n_sessions, width), 2 * log.n_pairs)
    coded[lists.session_of_row, lists.positions] = 2 * log.pair + log.clicks
    pattern = np.zeros(n_sessions, dtype=np.int64)
    for column in coded.T:  # sort by one position after another
        _, pattern = np.unique(
            pattern * (2 * log.n_pairs + 1) + column, return_inverse=True
        )
    _, first, count = np.unique(pattern, return_index=True, return_counts=True)
    coded = coded[first]
    clicked = coded % 2 == 1
    position = np.arange(width)
    return Patterns(
        coded // 2,
        clicked,
        count[:, None].astype(np.float64),
        (coded < 2 * log.n_pairs).sum(axis=1, keepdims=True),
        np.where(clicked, position, -1).max(axis=1, keepdims=True),
        log.n_pairs,
    )
