"""Weighted mean over queries and its standard error.

    mean = sum w x / sum w,
    SE^2 = n / (n - 1)  sum w^2 (x - mean)^2 / (sum w)^2,

with n the number of queries of weight > 0.  With equal weights SE is s / sqrt(n), where
s is the standard deviation of the sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def mean_and_standard_error(
    values: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    """Return the mean over queries and its standard error (NaN for one query).

    Parameters
    ----------
    values : (n_queries,) float64
        NaN for a query to leave out.
    weights : (n_queries,) float64
        Finite and >= 0; a query of weight 0 is left out.

    Raises
    ------
    ValueError
        If all queries are left out.
    """
    included = ~np.isnan(values) & (weights > 0)
    n = int(np.count_nonzero(included))
    if n == 0:
        raise ValueError(
            'there is no query to average: no_relevant="skip" left out all that have a '
            "weight above zero"
        )
    x, w = values[included], weights[included] / weights[included].sum()
    mean = float(w @ x)
    if n == 1:
        return mean, np.nan
    return mean, float(np.sqrt(n / (n - 1)) * np.linalg.norm(w * (x - mean)))
