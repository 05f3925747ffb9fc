r"""Standard errors, with queries as the independent units.

Clicks of one query are not independent: its documents, and often its users, are the
same.  So sums over the rows of a query are what varies.

A ratio :math:`R = \sum_q A_q / \sum_q B_q` over Q queries has

.. math:: SE^2 = \frac{Q}{Q - 1} \frac{\sum_q (A_q - R B_q)^2}{(\sum_q B_q)^2},

and what EM estimates has the sandwich of a maximum of a sum over queries, with the
rates of units profiled out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from sklearn_ltr.clicks._em import Table

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

AT_BOUND = 1e-6  # a rate above one minus this is at its bound, 1
LARGEST_CONDITION = 1e12  # of the information: beyond, errors would be noise


def ratio_and_error(
    numerators: FloatArray, denominators: FloatArray
) -> tuple[float, float]:
    """Return the ratio of two sums over queries, and its standard error.

    The error of one query is NaN.
    """
    total = float(denominators.sum())
    ratio = float(numerators.sum()) / total
    n = int(np.count_nonzero(denominators))
    if n < 2:
        return ratio, np.nan
    rest = numerators - ratio * denominators
    variance = n / (n - 1) * float((rest * rest).sum())
    return ratio, float(np.sqrt(variance)) / total


def propensity_errors(
    rows: Table, query: IntArray, theta: FloatArray, gamma: FloatArray
) -> FloatArray:
    r"""Return the standard errors of theta / theta_0, (n_positions,).

    With a_k = log theta_k and b_u = log gamma_u, a cell of p = theta_k gamma_u has the
    score s = (c - n p) / (1 - p) by both, and the information
    w = (n - c) p / (1 - p)^2.
    The profile of b leaves the information

        S = diag(sum_u w_uk) - sum_u w_uk w_ul / sum_k w_uk

    about a, and the score  s_uk - (w_uk / sum_l w_ul) sum_l s_ul.  With the sum B of
    the outer products of a query's scores, the variance of a, with a_0 fixed, is
    S^-1 B S^-1.  A unit whose rate is at its bound, 1, is known, and not profiled.

    Parameters
    ----------
    rows : Table
        Several rows may be of the same cell, from different queries.
    query : (n_rows,) int64
        The query of each row.
    theta, gamma : (n_positions,), (n_units,) float64
        theta_0 is 1.

    Returns
    -------
    (n_positions,) float64
        0 for position 0, NaN for a position without clicks, and everywhere if there is
        one query only or the information is singular.
    """
    errors = np.full(len(theta), np.nan)
    errors[0] = 0.0
    estimated = np.flatnonzero(theta[1:] > 0) + 1
    queries, query = np.unique(query, return_inverse=True)
    if len(queries) < 2 or not len(estimated):
        return errors
    click = theta[rows.position] * gamma[rows.unit]
    missed = rows.shown - rows.clicked
    is_sure = click > 1 - AT_BOUND
    inverse = np.divide(1.0, 1 - click, out=np.zeros_like(click), where=~is_sure)
    score = (rows.clicked - rows.shown * click) * inverse
    weight = _sums(
        rows.unit, rows.position, missed * click * inverse**2, (len(gamma), len(theta))
    )
    of_unit = np.asarray(weight.sum(axis=1)).ravel()
    part = weight.copy()
    is_free = gamma * theta.max() <= 1 - AT_BOUND
    whole, free = (np.repeat(x, np.diff(part.indptr)) for x in (of_unit, is_free))
    part.data = np.divide(part.data, whole, out=np.zeros_like(whole), where=free)
    information = np.diag(np.asarray(weight.sum(axis=0)).ravel())
    information -= (weight.T @ part).toarray()
    scores = _sums(query, rows.position, score, (len(queries), len(theta)))
    of_units = _sums(query, rows.unit, score, (len(queries), len(gamma)))
    scores = (scores - of_units @ part).toarray()
    information = information[np.ix_(estimated, estimated)]
    scores = scores[:, estimated]
    if not np.linalg.cond(information) < LARGEST_CONDITION:
        return errors
    n = len(queries)
    deviations = np.linalg.solve(information, scores.T)
    variance = n / (n - 1) * (deviations * deviations).sum(axis=1)
    errors[estimated] = theta[estimated] * np.sqrt(variance)
    return errors


def _sums(
    row: IntArray, column: IntArray, values: FloatArray, shape: tuple[int, int]
) -> csr_array:
    """Return the sums of values by row and column, without those that are 0."""
    sums = coo_array((values, (row, column)), shape=shape).tocsr()
    sums.eliminate_zeros()
    return sums
