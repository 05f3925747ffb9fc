"""The order of training rows: decided by what they hold, not by how they were given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.learners._row_hashes import hash_bins, hash_values
from sklearn_ltr.learners._trees.binning import BinnedData


def order_by_values(data: TrainingData, team: ThreadTeam) -> NDArray[np.intp]:
    """Return the order of the entries by their values of X, targets and weights."""
    return data.content_order(hash_values(data.X, data.rows, team))


def order_by_bins(
    data: TrainingData,
    binned: BinnedData,
    base_score: NDArray[np.float64],
    team: ThreadTeam,
) -> NDArray[np.intp]:
    """Return the order by what trees see: bins, targets, weights and initial scores.

    Another scale of a feature, which leaves its bins as they are, leaves the order.
    """
    return data.content_order(hash_bins(binned, team), base_score)
