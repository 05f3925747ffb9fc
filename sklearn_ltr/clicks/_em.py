r"""Expectation-maximisation, accelerated, for rates of examination and attraction.

A cell is a (unit u, position k), shown n_uk and clicked c_uk times, with

    P(click) = theta_k gamma_u.

A click needs two hidden events: the position was examined (theta_k), and the unit was
attractive (gamma_u).  Given no click,

    P(examined  | no click) = theta_k (1 - gamma_u) / (1 - theta_k gamma_u),
    P(attracted | no click) = gamma_u (1 - theta_k) / (1 - theta_k gamma_u),

and a step of EM sets theta_k to the mean of the first over everything shown at k
(1 where there was a click), and gamma_u to the mean of the second.

Two steps give an extrapolated third point (SQUAREM: R. Varadhan and C. Roland, "Simple
and globally convergent methods for accelerating the convergence of any EM algorithm",
Scandinavian Journal of Statistics 35, 2008).  It is kept only if the likelihood is not
lower there, so the likelihood never falls.

The standard errors take queries as the independent units: they are the sandwich of a
maximum of a sum over queries, with the rates of units profiled out.  With
a_k = log theta_k and b_u = log gamma_u, a cell of p = theta_k gamma_u has the score
s = (c - n p) / (1 - p) by both, and the information w = (n - c) p / (1 - p)^2.  The
profile of b leaves the information

    S = diag(sum_u w_uk) - sum_u w_uk w_ul / sum_k w_uk

about a, and the score  s_uk - (w_uk / sum_l w_ul) sum_l s_ul.  With the sum B of the
outer products of a query's scores, the variance of a, with a_0 fixed, is S^-1 B S^-1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import xlog1py, xlogy
from sklearn.exceptions import ConvergenceWarning

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.typing import FloatArray, IntArray
from sklearn_ltr.clicks._log import ClickLog, check_from_zero, sum_by

BOUND_MARGIN = 0.01  # part of the distance to 0 and to 1 that an extrapolation leaves
AT_BOUND = 1e-6  # a rate above one minus this is at its bound, 1
LARGEST_CONDITION = 1e12  # of the information matrix; above it, errors are only noise


TO_COMPARE = (
    "log lists of several rankers, or with random swaps; or give the features of "
    "documents to RegressionEM, which compares similar ones"
)


class Cells(NamedTuple):
    """Cells of a unit at a position; sums over them are in their order."""

    unit: IntArray  # (n_cells,) 0 to n_units - 1
    position: IntArray  # (n_cells,)
    shown: FloatArray  # (n_cells,) > 0
    clicked: FloatArray  # (n_cells,) from 0 to shown

    def by_unit(self, values: FloatArray) -> FloatArray:
        """Return the sums of the values of each unit."""
        return sum_by(self.unit, values)

    def by_position(self, values: FloatArray) -> FloatArray:
        """Return the sums of the values of each position."""
        return sum_by(self.position, values)


def count_cells(log: ClickLog) -> tuple[Cells, IntArray]:
    """Return showings and clicks of pairs at positions, and the positions shown."""
    # cells are sorted by pair, then by the number of the position among those shown
    positions, position = np.unique(log.lists.positions, return_inverse=True)
    check_from_zero(log.lists)
    if not log.clicks[log.lists.positions == 0].any():
        raise ValueError(
            "positions: no click is at position 0, but propensities are relative to "
            "position 0: number positions from 0, or give a longer log"
        )
    clicked = log.clicks.astype(np.float64)
    rows = Cells(log.pair, position, np.ones(len(clicked)), clicked)
    return sum_rows(rows), positions


def sum_rows(rows: Cells) -> Cells:
    """Return the cells: one for all rows of a unit at a position."""
    n_positions = int(rows.position.max()) + 1
    key = rows.unit * n_positions + rows.position
    cells, cell = np.unique(key, return_inverse=True)
    shown, clicked = sum_by(cell, rows.shown), sum_by(cell, rows.clicked)
    return Cells(cells // n_positions, cells % n_positions, shown, clicked)


def ratio(
    part: FloatArray, whole: FloatArray, otherwise: FloatArray | float = 0.0
) -> FloatArray:
    """Return part / whole, and `otherwise` where the whole is 0."""
    result: FloatArray = np.array(np.broadcast_to(otherwise, whole.shape))
    np.divide(part, whole, out=result, where=whole > 0)
    return result


def at_positions(values: FloatArray, positions: IntArray) -> FloatArray:
    """Return the values by position, NaN at positions that were not shown."""
    result = np.full(int(positions[-1]) + 1, np.nan)
    result[positions] = values
    return result


def maximise(
    step: Callable[[FloatArray], FloatArray],
    log_likelihood: Callable[[FloatArray], float],
    start: FloatArray,
    max_iter: int,
    tol: float,
    watched: slice = slice(None),
) -> tuple[FloatArray, FloatArray]:
    """Repeat an EM step on rates in [0, 1] until no `watched` one changes by `tol`.

    Return the rates, and the log-likelihood before and after each iteration.
    """
    rates, curve = start, [log_likelihood(start)]
    for _ in range(max_iter):
        # two steps, and one from the point that the three extrapolate to
        one = step(rates)
        two = step(one)
        likelihood, best = log_likelihood(two), two
        first = one - rates
        bend = two - one - first
        length = float(np.sqrt((bend * bend).sum()))
        alpha = float(np.sqrt((first * first).sum())) / length if length > 0 else 0.0
        if alpha > 1.0:
            jump = rates + 2 * alpha * first + alpha * alpha * bend
            lowest, highest = BOUND_MARGIN * two, 1 - BOUND_MARGIN * (1 - two)
            three = step(np.clip(jump, lowest, highest))
            if (likelihood_of_three := log_likelihood(three)) >= likelihood:
                likelihood, best = likelihood_of_three, three
        change = float(np.abs(best - rates)[watched].max())
        rates = best
        curve.append(likelihood)
        if change <= tol:
            return rates, np.array(curve)
    warn_caller(
        f"EM has not converged in max_iter={max_iter} iterations, the last changed "
        f"rates by {change:.2g}: increase max_iter, or tol",
        ConvergenceWarning,
    )
    return rates, np.array(curve)


def cells_log_likelihood(cells: Cells, theta: FloatArray, gamma: FloatArray) -> float:
    """Return the sum of c log(theta gamma) + (n - c) log(1 - theta gamma)."""
    click = theta[cells.position] * gamma[cells.unit]
    missed = cells.shown - cells.clicked
    return float((xlogy(cells.clicked, click) + xlog1py(missed, -click)).sum())


def cells_step(
    cells: Cells, theta: FloatArray, gamma: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return theta and gamma after one step of EM."""
    examine_rate, attract_rate = theta[cells.position], gamma[cells.unit]
    missed = cells.shown - cells.clicked
    no_click = 1 - examine_rate * attract_rate
    # a cell that is certainly clicked has nothing missed
    weight = ratio(missed, no_click)
    examined = cells.clicked + weight * examine_rate * (1 - attract_rate)
    attracted = cells.clicked + weight * attract_rate * (1 - examine_rate)
    theta = cells.by_position(examined) / cells.by_position(cells.shown)
    gamma = cells.by_unit(attracted) / cells.by_unit(cells.shown)
    return theta, gamma


def fit_cells(
    cells: Cells,
    max_iter: int,
    tol: float,
    regress: Callable[[FloatArray], FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return theta, gamma, and the likelihood before and after each iteration.

    `regress`, if given, replaces the gamma of each step; then EM ends when no theta
    changes by more than `tol`.
    """
    n_positions = int(cells.position.max()) + 1

    def step(rates: FloatArray) -> FloatArray:
        theta, gamma = cells_step(cells, rates[:n_positions], rates[n_positions:])
        return np.concatenate((theta, gamma if regress is None else regress(gamma)))

    def log_likelihood(rates: FloatArray) -> float:
        return cells_log_likelihood(cells, rates[:n_positions], rates[n_positions:])

    rate = cells.by_position(cells.clicked) / cells.by_position(cells.shown)
    # what was never clicked has a rate of 0, where EM stays
    theta = np.clip(0.9 * rate / rate.max(), 1e-3, 0.9) * (rate > 0)
    expected = cells.by_unit(cells.shown * theta[cells.position])
    clicked = cells.by_unit(cells.clicked)
    gamma = (clicked + 0.5) / (expected + 1.0)
    gamma = np.clip(gamma, 1e-3, 0.9) * (clicked > 0)
    start, watched = np.concatenate((theta, gamma)), slice(None)
    if regress is not None:
        start, watched = step(start), slice(n_positions)
    rates, curve = maximise(step, log_likelihood, start, max_iter, tol, watched)
    if regress is not None:
        rates = step(rates)  # so that the last regression is that of the result
    return rates[:n_positions], rates[n_positions:], curve


def check_connected(cells: Cells, positions: IntArray) -> None:
    """Raise a ValueError unless clicked units connect all positions to the first."""
    # a clicked position that shares no clicked unit with the others has a theta of any
    # value; a position without a click has 0, which connects no others, if it shows one
    n_positions = len(positions)
    is_clicked = cells.by_position(cells.clicked) > 0
    clicked = cells.by_unit(cells.clicked)
    informs = clicked[cells.unit] > 0
    has_one = np.bincount(cells.position[informs], minlength=n_positions) > 0
    informs &= is_clicked[cells.position]
    nodes = (cells.position[informs], n_positions + cells.unit[informs])
    size = n_positions + len(clicked)
    graph = coo_array((np.ones(len(nodes[0])), nodes), shape=(size, size))
    _, part = connected_components(graph, directed=False)
    known = np.where(is_clicked, part[:n_positions] == part[0], has_one)
    alone = positions[~known]
    if len(alone):
        names = ", ".join(map(str, alone[:5].tolist()))
        more = ", ..." if len(alone) > 5 else ""
        raise ValueError(
            f"positions {names}{more} cannot be compared with position "
            f"{positions[0]}, because no chain of clicked (query, document) pairs "
            "shown at several positions connects them: leave the rows of these "
            f"positions out; or {TO_COMPARE}"
        )


def propensity_errors(
    rows: Cells,  # several may be of one cell, from different queries
    query: IntArray,  # (n_rows,)
    theta: FloatArray,  # theta_0 is 1
    gamma: FloatArray,
) -> FloatArray:
    """Return the standard errors of theta / theta_0, (n_positions,)."""
    # NaN for a position without clicks, and everywhere but at 0 if there is one query
    # only or the information is singular
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
    unit_weight = np.asarray(weight.sum(axis=1)).ravel()
    part = weight.copy()
    # a unit whose rate is at its bound, 1, is known, and not profiled
    is_free = gamma * theta.max() <= 1 - AT_BOUND
    whole, free = (np.repeat(x, np.diff(part.indptr)) for x in (unit_weight, is_free))
    part.data = np.divide(part.data, whole, out=np.zeros_like(whole), where=free)
    information = np.diag(np.asarray(weight.sum(axis=0)).ravel())
    information -= (weight.T @ part).toarray()
    scores = _sums(query, rows.position, score, (len(queries), len(theta)))
    unit_scores = _sums(query, rows.unit, score, (len(queries), len(gamma)))
    scores = (scores - unit_scores @ part).toarray()
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
