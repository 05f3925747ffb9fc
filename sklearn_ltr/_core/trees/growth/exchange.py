"""Several workers, each of which has some of the rows, grow a tree together.

A worker makes histograms of its own rows, and splits are sought in the sums of these
histograms over all workers; so every worker grows the same tree, and keeps its own rows
in the leaves.  Where sums are needed, the loop returns (:mod:`loop`), and
:class:`HistogramExchange` adds the histograms up before it is called again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import kernel, uint64
from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.trees.growth.blocks import HISTOGRAM_BINS, Blocks
from sklearn_ltr._core.typing import IntArray


class HistogramExchange:
    """Adds up histograms over all workers.

    Parameters
    ----------
    blocks : Blocks
    n_histograms : int
        The most that are added up at once.
    comm : Comm
    """

    def __init__(self, blocks: Blocks, n_histograms: int, comm: Comm) -> None:
        self._blocks, self._comm = blocks, comm
        self._used = numbers_in_use(blocks)
        # The message is kept: pages that are new to the process are slow.
        self._message = np.empty(n_histograms * len(self._used), dtype=np.int64)

    def add_up(self, histograms: IntArray, blocks: Blocks) -> None:
        """Replace histograms by their sums over all workers, in one exchange."""
        # `blocks` are those of all features, or of the features of a tree
        used = self._used if blocks is self._blocks else numbers_in_use(blocks)
        histograms = histograms.reshape(len(histograms), -1)
        message = self._message[: len(histograms) * len(used)]
        message = message.reshape(len(histograms), -1)
        take_used(histograms, used, message)
        put_used(self._comm.sum(message), used, histograms)


def numbers_in_use(blocks: Blocks) -> NDArray[np.intp]:
    """Return the places in use in the histograms of all blocks of a leaf."""
    bins = np.arange(HISTOGRAM_BINS)
    is_used = (bins < blocks.n_bins[:, None]) | (bins == MISSING_BIN)
    return np.flatnonzero(is_used[:, :, None] & (blocks.feature >= 0)[:, None])


@kernel
def take_used(histograms: IntArray, used: NDArray[np.intp], message: IntArray) -> None:
    """Write the numbers that are used in each histogram into a message."""
    for h in range(len(histograms)):
        for i in range(len(used)):
            message[h, i] = histograms[h, uint64(used[i])]


@kernel
def put_used(message: IntArray, used: NDArray[np.intp], histograms: IntArray) -> None:
    """Write the numbers of a message where they are used in each histogram."""
    for h in range(len(histograms)):
        for i in range(len(used)):
            histograms[h, uint64(used[i])] = message[h, i]
