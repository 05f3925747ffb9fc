r"""Intervention harvesting: compare a document with itself at another position.

For each set {k, l} of two positions, only the pairs that were shown at both count.  A
pair has the weight v = n_k n_l / (n_k + n_l), with n the times it was shown at each, so
its attraction counts the same at both positions:

    clicks at k = sum of v c_k / n_k,     showings at k = sum of v.

The rate of clicks of a set is  theta_k r_kl  at k and  theta_l r_kl  at l, with r the
mean attraction in the set.  This is the table of `_em`, with a unit per set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.clicks._em import Table, sum_by
from sklearn_ltr.clicks._log import ClickLog
from sklearn_ltr.clicks._position_based import EMModel, count_cells

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def positions_of_pairs(cells: Table) -> tuple[Table, IntArray]:
    """Return both positions of each pair at each set of two positions.

    Parameters
    ----------
    cells : Table
        Of (query, document) pairs, sorted by pair, then position.

    Returns
    -------
    rows : Table
        A unit is a set of two positions; a pair has two rows for each set.
    pair : (n_rows,) int64
        The pair of each row.
    """
    n_positions = int(cells.position.max()) + 1
    first, second = [], []
    for distance in range(1, n_positions):
        same = cells.unit[distance:] == cells.unit[:-distance]
        if not same.any():
            break
        first.append(np.flatnonzero(same))
        second.append(first[-1] + distance)
    if not first:
        raise ValueError(
            "documents: none was shown at two positions for the same query, so nothing "
            "tells positions from documents. Log lists of several rankers, or with "
            "random swaps"
        )
    a, b = np.concatenate(first), np.concatenate(second)
    _, of_set = np.unique(
        cells.position[a] * n_positions + cells.position[b], return_inverse=True
    )
    weight = cells.shown[a] * cells.shown[b] / (cells.shown[a] + cells.shown[b])
    both = np.concatenate((a, b))
    weights = np.concatenate((weight, weight))
    rows = Table(
        np.concatenate((of_set, of_set)),
        cells.position[both],
        weights,
        weights * cells.clicked[both] / cells.shown[both],
    )
    return rows, cells.unit[both]


def sum_rows(rows: Table) -> Table:
    """Return the table that has one cell for all rows of a unit at a position."""
    n_positions = int(rows.position.max()) + 1
    key = rows.unit * n_positions + rows.position
    cells, cell = np.unique(key, return_inverse=True)
    return Table(
        cells // n_positions,
        cells % n_positions,
        sum_by(cell, rows.shown, len(cells)),
        sum_by(cell, rows.clicked, len(cells)),
    )


class InterventionHarvesting(EMModel):
    r"""Propensities from documents that were shown at several positions (AllPairs).

    For each two positions k and l, the (query, document) pairs that were shown at both
    are compared with themselves.  With :math:`\hat c_k^{kl}` their weighted clicks and
    :math:`\hat n^{kl}_k` the clicks missed at k, the propensities maximise

    .. math:: \sum_{k \ne l} \hat c_k^{kl} \log(\theta_k r_{kl})
              + \hat n_k^{kl} \log(1 - \theta_k r_{kl}), \qquad r_{kl} = r_{lk},

    where :math:`r_{kl}` is the mean attraction of the documents of a set.  There is a
    parameter for two positions, not for each document, so documents may be shown only a
    few times each.

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
        Rate of clicks of each (query, document) pair at position 0: its clicks, divided
        by the sum of the propensities of its showings.  By chance it may exceed 1; NaN
        where that sum is 0.
    groups_, documents_ : ndarrays of shape (n_pairs,)
        Query and document of each pair, sorted.
    log_likelihoods_ : ndarray of shape (n_iter + 1,), float64
        What is maximised, before EM and after each iteration; never falls.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    The paper weighs a click by one over the probability that a ranker in use shows the
    document at that position.  Logs seldom have that, so a pair has here the weight
    n_k n_l / (n_k + n_l), from the times it was shown at each position: the same at
    both, which is what the estimate needs, and small where it was hardly shown.

    References
    ----------
    A. Agarwal, I. Zaitsev, X. Wang, C. Li, M. Najork and T. Joachims, "Estimating
    Position Bias without Intrusive Interventions", WSDM 2019.

    Examples
    --------
    >>> from sklearn_ltr.clicks import InterventionHarvesting
    >>> model = InterventionHarvesting().fit(
    ...     [1, 0, 1, 1] * 2 + [0, 0, 1, 0] * 2,
    ...     groups=["q"] * 16,
    ...     documents=["a", "b", "b", "a"] * 4,
    ...     positions=[0, 1] * 8,
    ...     sessions=[i // 2 for i in range(16)],
    ... )
    >>> model.propensities_.round(2)
    array([1.  , 0.33])
    """

    def __init__(self, max_iter: int = 1000, tol: float = 1e-6) -> None:
        self.max_iter = max_iter
        self.tol = tol

    def _fit_log(self, log: ClickLog) -> None:
        cells, positions = count_cells(log)
        rows, pair = positions_of_pairs(cells)
        compared = np.bincount(rows.position, minlength=len(positions)) > 0
        if not compared.all():
            raise ValueError(
                f"position {positions[np.argmin(compared)]} shows no document that was "
                "shown at another position for the same query: leave its rows out"
            )
        self._fit_table(sum_rows(rows), rows, log.query_of_pair[pair], positions)
        examined = cells.by_unit(
            cells.shown * self.propensities_[positions[cells.position]]
        )
        clicked = cells.by_unit(cells.clicked)
        self.attractiveness_ = np.divide(
            clicked, examined, out=np.full(log.n_pairs, np.nan), where=examined > 0
        )
