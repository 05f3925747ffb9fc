"""The position-based model: clicks need examination and attraction.

P(click on document d of query q at position k) = theta_k gamma_qd
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._parameters import at_least, check_ranges, positive
from sklearn_ltr.clicks._base import ClickModel
from sklearn_ltr.clicks._em import Table, check_connected, fit_table, sum_by
from sklearn_ltr.clicks._log import ClickLog
from sklearn_ltr.clicks._standard_errors import propensity_errors

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def count_cells(log: ClickLog) -> tuple[Table, IntArray]:
    """Count showings and clicks of each pair at each position.

    Returns
    -------
    table : Table
        Sorted by pair, then position; positions are numbered among those shown.
    positions : (n_shown_positions,) int64
        The positions that the table numbers.

    Raises
    ------
    ValueError
        If no document was clicked at position 0.
    """
    positions, position = np.unique(log.lists.positions, return_inverse=True)
    at_0 = log.lists.positions == 0
    if not log.clicks[at_0].any():
        what = "no click" if at_0.any() else "no row"
        raise ValueError(
            f"positions: {what} is at position 0, and propensities are relative to "
            "position 0, the first of a list"
        )
    cells, cell = np.unique(log.pair * len(positions) + position, return_inverse=True)
    table = Table(
        cells // len(positions),
        cells % len(positions),
        np.bincount(cell).astype(np.float64),
        sum_by(cell, log.clicks, len(cells)),
    )
    return table, positions


def at_positions(values: FloatArray, positions: IntArray) -> FloatArray:
    """Return the values by position, NaN at positions that were not shown."""
    result = np.full(int(positions[-1]) + 1, np.nan)
    result[positions] = values
    return result


class EMModel(ClickModel):
    """A click model whose rates of examination and attraction are found by EM."""

    max_iter: int
    tol: float
    standard_errors_: FloatArray
    log_likelihoods_: FloatArray
    n_iter_: int
    _fitted_state = (
        *ClickModel._fitted_state, "standard_errors_", "log_likelihoods_", "n_iter_",
    )  # fmt: skip

    def _check_parameters(self) -> None:
        check_ranges(self, [at_least("max_iter", 1), positive("tol")])

    def _fit_table(
        self, table: Table, rows: Table, query: IntArray, positions: IntArray
    ) -> FloatArray:
        """Set what EM gives, and return the attraction of the units of a table.

        `rows` are those of single queries that the table sums, and `query` (n_rows,)
        their queries.
        """
        check_connected(table, positions)
        theta, gamma, curve = fit_table(table, self.max_iter, self.tol)
        errors = propensity_errors(rows, query, theta, gamma)
        self.propensities_ = at_positions(theta, positions)
        self.standard_errors_ = at_positions(errors, positions)
        self.log_likelihoods_, self.n_iter_ = curve, len(curve) - 1
        return gamma


class PositionBasedModel(EMModel):
    r"""The position-based model (PBM), fitted by EM.

    .. math:: P(\text{click on } d \text{ at position } k) = \theta_k \gamma_{qd}

    with :math:`\theta_k` the probability that position k is examined and
    :math:`\gamma_{qd}` the probability that document d attracts a click for query q.
    Only their products can be observed, so both are on the scale of position 0:
    `propensities_` is :math:`\theta_k / \theta_0` and `attractiveness_` is
    :math:`\theta_0 \gamma_{qd}`, the rate of clicks at position 0.

    The same documents must be shown at several positions, as they are in the logs of
    several rankers and with random swaps.

    Parameters
    ----------
    max_iter : int >= 1, default=1000
        Most iterations of EM, each of three steps.
    tol : float > 0, default=1e-6
        EM ends when no rate changes by more in an iteration.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,), float64
        Propensity of each position relative to position 0; NaN where nothing was shown.
    standard_errors_ : ndarray of shape (n_positions,), float64
        Their standard errors, with queries as the independent units; NaN where a
        position has no click, and everywhere but at 0 if the log has one query.
    attractiveness_ : ndarray of shape (n_pairs,), float64
        Rate of clicks of each (query, document) pair at position 0.
    groups_, documents_ : ndarrays of shape (n_pairs,)
        Query and document of each pair, sorted.
    log_likelihoods_ : ndarray of shape (n_iter + 1,), float64
        Log-likelihood of the log before EM and after each iteration; never falls.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    InterventionHarvesting : Needs fewer showings of each document.

    Notes
    -----
    Each pair has a parameter of its own.  Where pairs are shown only a few times, the
    estimated curve is biased, however long the log: pairs that were clicked by chance
    count as attractive.

    References
    ----------
    M. Richardson, E. Dominowska and R. Ragno, "Predicting Clicks: Estimating the
    Click-Through Rate for New Ads", WWW 2007; A. Chuklin, I. Markov and M. de Rijke,
    "Click Models for Web Search", Morgan & Claypool, 2015.

    Examples
    --------
    >>> from sklearn_ltr.clicks import PositionBasedModel
    >>> model = PositionBasedModel().fit(
    ...     [1, 0, 1, 1] * 2 + [0, 0, 1, 0] * 2,
    ...     groups=["q"] * 16,
    ...     documents=["a", "b", "b", "a"] * 4,
    ...     positions=[0, 1] * 8,
    ...     sessions=[i // 2 for i in range(16)],
    ... )
    >>> model.propensities_.round(2)
    array([1.  , 0.28])
    """

    def __init__(self, max_iter: int = 1000, tol: float = 1e-6) -> None:
        self.max_iter = max_iter
        self.tol = tol

    def _fit_log(self, log: ClickLog) -> None:
        table, positions = count_cells(log)
        query: Any = log.query_of_pair[table.unit]
        self.attractiveness_ = self._fit_table(table, table, query, positions)
