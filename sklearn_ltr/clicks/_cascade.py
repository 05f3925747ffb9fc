"""The cascade model: users read from the top and stop at the first click.

    P(click at position k) = gamma_k * product over i < k of (1 - gamma_i)

with gamma the attractiveness of the documents of the list.  Whether a document was
examined can be seen: it was, unless a document above it was clicked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.clicks._base import ClickModel
from sklearn_ltr.clicks._em import sum_by
from sklearn_ltr.clicks._log import ClickLog, Lists
from sklearn_ltr.clicks._standard_errors import ratio_and_error

FloatArray = NDArray[np.float64]


def check_no_gaps(lists: Lists) -> None:
    """Raise a ValueError if a session shows a position, but not all above it."""
    expected = np.arange(len(lists.positions)) - lists.offsets[lists.session_of_row]
    if (gap := lists.positions != expected).any():
        at = int(np.argmax(gap))
        session = int(lists.session_of_row[at])
        raise ValueError(
            f"positions: session {lists.sessions.describe(session)} shows position "
            f"{lists.positions[at]} but not {expected[at]}, and what a user who reads "
            "from the top has seen depends on every document above: log all positions "
            "from 0 down, or use PositionBasedModel"
        )


class CascadeModel(ClickModel):
    r"""The cascade model: users read from the top and stop at the first click.

    .. math:: P(\text{click at position } k)
              = \gamma_k \prod_{i < k} (1 - \gamma_i)

    with :math:`\gamma_i` the attractiveness of the document at position i.  So a
    document was examined unless one above it was clicked, and counting gives the
    maximum of the likelihood: attractiveness is clicks over examinations.

    A session has one click at most, and its list no gaps.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,), float64
        Fraction of the lists whose position was examined, among those that have it.  In
        this model it depends on the lists, and is that of the lists of the log.
    standard_errors_ : ndarray of shape (n_positions,), float64
        Their standard errors, with queries as the independent units; NaN everywhere but
        at 0 if the log has one query.
    attractiveness_ : ndarray of shape (n_pairs,), float64
        Probability of a click on each (query, document) pair if it is examined; NaN if
        it never was.
    groups_, documents_ : ndarrays of shape (n_pairs,)
        Query and document of each pair, sorted.

    See Also
    --------
    DynamicBayesianNetwork : For sessions with several clicks.

    References
    ----------
    N. Craswell, O. Zoeter, M. Taylor and B. Ramsey, "An Experimental Comparison of
    Click Position-Bias Models", WSDM 2008.

    Examples
    --------
    >>> from sklearn_ltr.clicks import CascadeModel
    >>> model = CascadeModel().fit(
    ...     [0, 1, 1, 0],
    ...     groups=["q"] * 4,
    ...     documents=["a", "b", "a", "b"],
    ...     positions=[0, 1, 0, 1],
    ...     sessions=[1, 1, 2, 2],
    ... )
    >>> model.propensities_, model.attractiveness_
    (array([1. , 0.5]), array([0.5, 1. ]))
    """

    standard_errors_: FloatArray
    _fitted_state = (*ClickModel._fitted_state, "standard_errors_")

    def _fit_log(self, log: ClickLog) -> None:
        lists = log.lists
        check_no_gaps(lists)
        before = np.cumsum(log.clicks) - log.clicks  # in all rows above
        above = before - before[lists.offsets[:-1]][lists.session_of_row]
        if (second := (above > 0) & (log.clicks > 0)).any():
            session = int(lists.session_of_row[np.argmax(second)])
            raise ValueError(
                f"clicks: session {lists.sessions.describe(session)} has several, and "
                "in the cascade model a user stops at the first: use "
                "DynamicBayesianNetwork, or leave such sessions out"
            )
        examined = above == 0
        n_examined = sum_by(log.pair, examined, log.n_pairs)
        clicked = sum_by(log.pair, log.clicks, log.n_pairs)
        self.attractiveness_ = np.divide(
            clicked, n_examined, out=np.full(log.n_pairs, np.nan), where=n_examined > 0
        )
        shape = (lists.n_positions, lists.queries.n_queries)
        shown, seen = np.zeros(shape), np.zeros(shape)
        np.add.at(shown, (lists.positions, log.query_of_row), 1.0)
        np.add.at(seen, (lists.positions, log.query_of_row), examined)
        ratios = [ratio_and_error(*sums) for sums in zip(seen, shown, strict=True)]
        self.propensities_, self.standard_errors_ = np.array(ratios).T
        self.standard_errors_[0] = 0.0
