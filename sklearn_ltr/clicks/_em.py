r"""Expectation-maximisation, accelerated, for rates of examination and attraction.

A table has cells (unit u, position k), each shown n_uk and clicked c_uk times, with

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
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import xlog1py, xlogy
from sklearn.exceptions import ConvergenceWarning

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

CLEARANCE = 0.01  # part of the distance to 0 and to 1 that an extrapolation leaves


class Table(NamedTuple):
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


def sum_by(key: IntArray, values: NDArray[Any], n: int = 0) -> FloatArray:
    """Return the sums of values by key, in their order; at least n of them."""
    sums = np.bincount(key, weights=values, minlength=n)
    return sums.astype(np.float64, copy=False)


class Fit(NamedTuple):
    """Where EM ended."""

    rates: FloatArray
    log_likelihoods: FloatArray  # (n_iterations + 1,), never falling


def maximise(
    step: Callable[[FloatArray], FloatArray],
    log_likelihood: Callable[[FloatArray], float],
    start: FloatArray,
    max_iter: int,
    tol: float,
    watched: slice = slice(None),
) -> Fit:
    """Repeat an EM step on rates in [0, 1] until none changes by more than `tol`.

    An iteration takes three steps: two, and one from the extrapolation.  It ends by
    the changes of the `watched` rates.  A ConvergenceWarning is given after `max_iter`
    iterations.
    """
    rates, curve = start, [log_likelihood(start)]
    for _ in range(max_iter):
        one = step(rates)
        two = step(one)
        likelihood, best = log_likelihood(two), two
        jump = extrapolate(rates, one, two)
        if jump is not None:
            three = step(jump)
            if (likelihood_of_three := log_likelihood(three)) >= likelihood:
                likelihood, best = likelihood_of_three, three
        change = float(np.abs(best - rates)[watched].max())
        rates = best
        curve.append(likelihood)
        if change <= tol:
            return Fit(rates, np.array(curve))
    warnings.warn(
        f"EM has not converged in max_iter={max_iter} iterations: rates still change "
        f"by {change:.2g} in one. Increase max_iter, or tol",
        ConvergenceWarning,
        stacklevel=2,
    )
    return Fit(rates, np.array(curve))


def extrapolate(
    zero: FloatArray, one: FloatArray, two: FloatArray
) -> FloatArray | None:
    """Return the point that three successive ones lead to, None if that is the last."""
    first = one - zero
    bend = two - one - first
    length = float(np.sqrt((bend * bend).sum()))
    if length == 0.0:
        return None
    alpha = float(np.sqrt((first * first).sum())) / length
    if alpha <= 1.0:
        return None
    point = zero + 2 * alpha * first + alpha * alpha * bend
    return np.clip(point, CLEARANCE * two, 1 - CLEARANCE * (1 - two))


def table_log_likelihood(table: Table, theta: FloatArray, gamma: FloatArray) -> float:
    """Return the sum of c log(theta gamma) + (n - c) log(1 - theta gamma)."""
    click = theta[table.position] * gamma[table.unit]
    missed = table.shown - table.clicked
    return float((xlogy(table.clicked, click) + xlog1py(missed, -click)).sum())


def table_step(
    table: Table, theta: FloatArray, gamma: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return theta and gamma after one step of EM."""
    of_position, of_unit = theta[table.position], gamma[table.unit]
    missed = table.shown - table.clicked
    no_click = 1 - of_position * of_unit
    # a cell that is certainly clicked has nothing missed
    weight = np.divide(missed, no_click, out=np.zeros_like(missed), where=no_click > 0)
    examined = table.clicked + weight * of_position * (1 - of_unit)
    attracted = table.clicked + weight * of_unit * (1 - of_position)
    return (
        table.by_position(examined) / table.by_position(table.shown),
        table.by_unit(attracted) / table.by_unit(table.shown),
    )


def start_rates(table: Table) -> FloatArray:
    """Return theta and gamma to begin with, one after the other."""
    rate = table.by_position(table.clicked) / table.by_position(table.shown)
    # what was never clicked has a rate of 0, where EM stays
    theta = np.clip(0.9 * rate / rate.max(), 1e-3, 0.9) * (rate > 0)
    expected = table.by_unit(table.shown * theta[table.position])
    clicked = table.by_unit(table.clicked)
    gamma = (clicked + 0.5) / (expected + 1.0)
    gamma = np.clip(gamma, 1e-3, 0.9) * (clicked > 0)
    return np.concatenate((theta, gamma))


def fit_table(
    table: Table, max_iter: int, tol: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return theta / theta_0, gamma theta_0 and the likelihood after each iteration.

    Only products of theta and gamma matter, so the scale is that of position 0: a
    propensity is relative to position 0, and an attraction is the rate of clicks there.
    """
    start = start_rates(table)
    n_positions = int(table.position.max()) + 1

    def step(rates: FloatArray) -> FloatArray:
        parts = table_step(table, rates[:n_positions], rates[n_positions:])
        return np.concatenate(parts)

    def log_likelihood(rates: FloatArray) -> float:
        return table_log_likelihood(table, rates[:n_positions], rates[n_positions:])

    rates, curve = maximise(step, log_likelihood, start, max_iter, tol)
    theta, gamma = rates[:n_positions], rates[n_positions:]
    return theta / theta[0], gamma * theta[0], curve


def check_connected(table: Table, positions: IntArray) -> None:
    """Raise a ValueError unless clicked units connect all positions to position 0.

    `positions` (n_positions,) are the positions that the table numbers from 0.  A
    position that no clicked unit shares with the others has a theta of any value.
    """
    n_positions = len(positions)
    clicked = table.by_unit(table.clicked)
    informs = clicked[table.unit] > 0
    nodes = (table.position[informs], n_positions + table.unit[informs])
    size = n_positions + len(clicked)
    graph = coo_array((np.ones(len(nodes[0])), nodes), shape=(size, size))
    _, part = connected_components(graph, directed=False)
    alone = positions[part[:n_positions] != part[0]]
    if len(alone):
        names = ", ".join(map(str, alone[:5].tolist()))
        more = ", ..." if len(alone) > 5 else ""
        raise ValueError(
            f"positions {names}{more} cannot be compared with position "
            f"{positions[0]}: no chain of clicked (query, document) pairs that were "
            "shown at several positions connects them. Log lists of several rankers, "
            "or with random swaps; or leave the rows of these positions out"
        )
