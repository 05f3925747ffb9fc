"""One pair of documents: its cost, its lambda and its curvature.

A pair (i, j) says that document i beats document j with probability P (P-bar in Burges
2010, MSR-TR-2010-82, section 2).  P is 1 if i has the higher grade, 1/2 if both have
the same one, and given for judged pairs.  With x = sigma (s_i - s_j),

    rho         =  1 / (1 + exp(x))                             section 7
    C           =  (1 - P) x + log(1 + exp(-x))                 section 2
    dC/ds_i     =  sigma (1 - P - rho)   =  -dC/ds_j            equations 1 and 3
    d2C/ds_i^2  =  sigma^2 rho (1 - rho) =  d2C/ds_j^2          section 7

rho is the model's probability that j beats i.  The first derivative is lambda_ij.
LambdaRank and LambdaMART multiply all three by the swap delta of the pair (equation 6).

Here, everything is computed from exp(-|x|), which does not overflow.  The vectorized
loops over the pairs of grades (`add_pairs_of_lanes`, `add_side_by_side`) do without an
exponential for each pair: with e = exp(sigma s), rho = e_j / (e_i + e_j).
"""

from __future__ import annotations

from typing import NamedTuple

from sklearn_ltr._core.compile import LN_2, exp, log1p, softplus, subkernel
from sklearn_ltr._core.parameters import Choice

MIN_SCORE_DISTANCE = 0.01  # keeps the division by distances from that by zero
NORMALIZATIONS = Choice(True, False, "distance", "query")  # of lambdas


class PairOptions(NamedTuple):
    """How a pair counts."""

    # exactly of these types, since numba compiles kernels anew for others
    sigma: float  # > 0, steepness of the sigmoid
    by_distance: bool = False  # divide a pair by MIN_SCORE_DISTANCE + |x|
    by_query: bool = False  # multiply the lambdas of a query by `query_factor`

    @classmethod
    def read(cls, sigma: float, normalize_lambdas: bool | str) -> PairOptions:
        """Return the options that a value of `normalize_lambdas` stands for."""
        return cls(
            sigma,
            normalize_lambdas in (True, "distance"),
            normalize_lambdas in (True, "query"),
        )


@subkernel
def pair_cost(x: float, probability: float) -> float:
    """Return C, the cross entropy of a pair."""
    return (1.0 - probability) * x + softplus(-x)


@subkernel
def pair_rho(x: float) -> float:
    """Return rho; 1 - rho is that of -x, with all its digits."""
    small = exp(-abs(x))
    return (small if x > 0 else 1.0) / (1.0 + small)


@subkernel
def pair_curvature(x: float, weight: float) -> float:
    """Return weight * rho (1 - rho)."""
    small = exp(-abs(x))
    return weight * small / ((1.0 + small) * (1.0 + small))


@subkernel
def tied_lambda(x: float, sigma: float) -> float:
    """Return sigma (1/2 - rho), of P = 1/2, with all its digits."""
    small = exp(-abs(x))
    size = 0.5 * sigma * (1.0 - small) / (1.0 + small)
    return size if x > 0 else -size


@subkernel
def query_factor(abs_lambda_sum: float) -> float:
    """Return log2(1 + S) / S, where S is twice the sum of |lambda| / sigma, > 0."""
    return log1p(2.0 * abs_lambda_sum) / (2.0 * abs_lambda_sum * LN_2)
