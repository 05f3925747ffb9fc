"""An exponential for loops: plain arithmetic, which a compiler turns into vectors.

    e^x = 2^m e^r,    m = x / ln 2, rounded,    r = x - m ln 2, so |r| <= ln 2 / 2

and e^r from its series up to r^13 / 13!, which leaves out less than 1e-17 of it.
"""

from __future__ import annotations

import numpy as np

from sklearn_ltr._compile import exp2_integer, subkernel

LOWEST = -700.0  # down to here 2^m has all its digits
# ln 2 in two parts: the first has so few digits that m times it is exact
LN_2, LN_2_REST = 1488522236 / 2**31, -4.2009150726810846e-11


@subkernel
def exponential(x: float) -> float:
    """Return e^x within an ulp for x <= 0; below LOWEST, e^LOWEST."""
    x = max(x, LOWEST)
    m = np.rint(x / np.log(2.0))
    # the maximum changes nothing; it keeps sums on either side from being rearranged
    r = max(x - m * LN_2, -1.0) - m * LN_2_REST
    series = 1 / 6227020800
    series = series * r + 1 / 479001600
    series = series * r + 1 / 39916800
    series = series * r + 1 / 3628800
    series = series * r + 1 / 362880
    series = series * r + 1 / 40320
    series = series * r + 1 / 5040
    series = series * r + 1 / 720
    series = series * r + 1 / 120
    series = series * r + 1 / 24
    series = series * r + 1 / 6
    series = series * r + 1 / 2
    result: float = (1.0 + r * (1.0 + r * series)) * exp2_integer(m)
    return result
