"""The scores of the members: their mean, and how far they are apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import QueryGroups

FloatArray = NDArray[np.float64]


def mean_scores(scores: Sequence[FloatArray]) -> FloatArray:
    """Return the mean over members, added up from the first to the last."""
    total = scores[0].copy()
    for scores_m in scores[1:]:
        total += scores_m
    return total / len(scores)


def deviations(scores: Sequence[FloatArray], groups: Any) -> FloatArray:
    """Return the standard deviation over members of scores minus their query's mean."""
    n_documents = len(scores[0])
    if groups is None:
        queries = QueryGroups.single(n_documents)
    else:
        queries = QueryGroups.from_groups(groups, n_documents)
    centred = np.array([queries.sort(of_member) for of_member in scores])
    sums = np.add.reduceat(centred, queries.offsets[:-1], axis=1)
    centred -= np.repeat(sums / queries.sizes, queries.sizes, axis=1)
    return queries.unsort(centred.std(axis=0))
