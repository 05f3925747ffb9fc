"""The mean over queries, and how far from the truth chance may have put it.

    mean = sum w x / sum w,
    SE^2 = n / (n - 1)  sum w^2 (x - mean)^2 / (sum w)^2,

with n the number of queries that count.  With equal weights SE is s / sqrt(n), s the
standard deviation of the sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def mean_and_standard_error(
    values: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    """Mean over queries and its standard error, NaN where one query counts.

    Parameters
    ----------
    values : (n_queries,) float64
        NaN for a query that does not count.
    weights : (n_queries,) float64
        Finite and >= 0; a query of weight 0 does not count.

    Raises
    ------
    ValueError
        If no query counts.
    """
    counts = ~np.isnan(values) & (weights > 0)
    n = int(np.count_nonzero(counts))
    if n == 0:
        raise ValueError(
            'there is no query to average: no_relevant="skip" left out all that have a '
            "weight above zero"
        )
    x, w = values[counts], weights[counts] / weights[counts].sum()
    mean = float(w @ x)
    if n == 1:
        return mean, np.nan
    return mean, float(np.sqrt(n / (n - 1)) * np.linalg.norm(w * (x - mean)))
