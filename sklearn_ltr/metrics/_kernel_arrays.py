"""What the kernels of the metrics read and write, as named tuples of arrays.

All arrays are in canonical order (:mod:`sklearn_ltr._data`): query q owns the
entries ``offsets[q]`` to ``offsets[q + 1] - 1``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class RankedLists(NamedTuple):
    """The ranked lists of a data set."""

    scores: FloatArray  # (n_documents,)
    grades: FloatArray  # (n_documents,)
    order: IntArray  # (n_documents,) order[offsets[q] + p]: document at position p of q
    offsets: IntArray  # (n_queries + 1,)


class MetricArrays(NamedTuple):
    """What a metric computes from the grades, before there are scores."""

    gain: FloatArray  # (n_documents,) gain, relevance (0 or 1), or probability R
    discount: FloatArray  # (longest list,) by position, zero from position k on
    scale: FloatArray  # (n_queries,) factor of a query's value and swap deltas
    limit: IntArray  # (n_queries,) cutoff of a query; bpref: documents above that count
    k: int  # cutoff, at most the length of the longest list


class JudgedLists(NamedTuple):
    """All judged documents of a data set, those missing from the lists included."""

    gain: FloatArray  # (n_judged,) as in MetricArrays
    discount: FloatArray  # (most judged documents of a query,) by position
    offsets: IntArray  # (n_queries + 1,)
    k: int  # cutoff, at most the length of `discount`
    n_ranked: IntArray  # (n_queries,) number of documents in the ranked list


class SwapFactors(NamedTuple):
    """Factors of the swap deltas (see :mod:`sklearn_ltr.metrics`).

    Either of all lists, (n_documents,), with position p of query q at
    ``offsets[q] + p``; or, where they are the same for any order, (longest list,) by
    position.
    """

    multiplier: FloatArray
    discount_above: FloatArray  # effective discount as the upper document of a pair
    discount_below: FloatArray  # effective discount as the lower document of a pair
