"""An exponential in plain arithmetic, which LLVM can vectorize inside a loop.

    e^x = 2^m e^r,    m = x / ln 2, rounded,    r = x - m ln 2, so |r| <= ln 2 / 2

with e^r from its Taylor series up to r^13 / 13!, whose truncation error is below 1e-17.
"""

from __future__ import annotations

import numpy as np

from sklearn_ltr._compile import exp2_integer, subkernel

LOWEST = -700.0  # for smaller x, 2^m would be subnormal and lose digits
# ln 2 in two parts.  The first has so few bits that m times it is exact.
LN_2_HIGH, LN_2_LOW = 1488522236 / 2**31, -4.2009150726810846e-11


@subkernel
def exponential(x: float) -> float:
    """Return e^x within one ulp for x <= 0; for x below LOWEST, e^LOWEST."""
    x = max(x, LOWEST)
    m = np.rint(x / np.log(2.0))
    # The maximum never changes the value; it keeps LLVM from reassociating the two
    # subtractions, which must be done in this order.
    r = max(x - m * LN_2_HIGH, -1.0) - m * LN_2_LOW
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
