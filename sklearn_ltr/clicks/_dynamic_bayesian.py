r"""The dynamic Bayesian network of Chapelle and Zhang, fitted by EM.

A user reads from the top.  An examined document i is clicked with probability a_i; a
clicked one satisfies with probability s_i, which ends the session; else the user goes
on to the next document with probability gamma.

Down to the last click, at position l, all is known: every document was examined, and no
click but the last one satisfied.  Hidden are whether click l satisfied, and how far the
user read below it.  With

    T_j = P(no click from j on | j examined) = (1 - a_j) W_j,    T_n = 1,
    W_j = (1 - gamma) + gamma T_{j+1},

for a list of n documents, the part below the last click has the probability
L = s_l + (1 - s_l) W_l (T_0, if there is no click), and

    P(click l satisfied)          = s_l / L,
    P(j + 1 examined | j examined, not satisfied) = gamma T_{j+1} / W_j.

A click on the last document of a list tells nothing about satisfaction, since nothing
is below it.
"""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from sklearn_ltr._parameters import Range, at_least, check_ranges, positive
from sklearn_ltr.clicks._base import ClickModel
from sklearn_ltr.clicks._cascade import check_no_gaps
from sklearn_ltr.clicks._em import maximise, sum_by
from sklearn_ltr.clicks._log import ClickLog
from sklearn_ltr.clicks._patterns import Patterns, count_patterns

FloatArray = NDArray[np.float64]


class Rates(NamedTuple):
    """The parameters of the network."""

    attraction: FloatArray  # (n_pairs,)
    satisfaction: FloatArray  # (n_pairs,)
    perseverance: float


class Hidden(NamedTuple):
    """What is hidden, given the clicks; both are (n_patterns, n_positions)."""

    examined: FloatArray  # probability that a position was examined
    satisfied: FloatArray  # probability that a click satisfied; 0 without a click


def no_click_below(patterns: Patterns, rates: Rates) -> tuple[FloatArray, FloatArray]:
    """Return T and W by position, (n_patterns, n_positions) each."""
    attraction = np.append(rates.attraction, 0.0)[patterns.pair]
    n_patterns, width = attraction.shape
    tail, goes_on = np.ones((n_patterns, width)), np.ones((n_patterns, width))
    gamma, length = rates.perseverance, patterns.length[:, 0]
    for j in range(width - 1, -1, -1):
        below = tail[:, j + 1] if j + 1 < width else np.ones(n_patterns)
        goes_on[:, j] = (1 - gamma) + gamma * below
        tail[:, j] = np.where(j < length, (1 - attraction[:, j]) * goes_on[:, j], 1.0)
    return tail, goes_on


def log_likelihood(patterns: Patterns, rates: Rates) -> float:
    """Return the log-likelihood of all sessions."""
    tail, goes_on = no_click_below(patterns, rates)
    attraction = np.append(rates.attraction, 0.0)[patterns.pair]
    satisfaction = np.append(rates.satisfaction, 0.0)[patterns.pair]
    position, last = patterns.position, patterns.last_click
    seen = np.where(patterns.clicked, xlogy(1.0, attraction), xlog1py(1.0, -attraction))
    unsatisfied = xlog1py(patterns.clicked & (position < last), -satisfaction)
    known = np.where(position <= last, seen, 0.0) + unsatisfied
    at = np.maximum(last, 0)
    s, w = (np.take_along_axis(x, at, axis=1) for x in (satisfaction, goes_on))
    below = np.where(last < 0, tail[:, :1], s + (1 - s) * w)
    each = known.sum(axis=1, keepdims=True) + xlogy(at, rates.perseverance)
    return float((patterns.n_sessions * (each + np.log(below))).sum())


def infer(patterns: Patterns, rates: Rates) -> Hidden:
    """Return the probabilities of what is hidden, given the clicks."""
    tail, goes_on = no_click_below(patterns, rates)
    satisfaction = np.append(rates.satisfaction, 0.0)[patterns.pair]
    position, last = patterns.position, patterns.last_click
    below = satisfaction + (1 - satisfaction) * goes_on
    is_last = patterns.clicked & (position == last)
    satisfied = np.divide(
        satisfaction, below, out=np.zeros_like(below), where=is_last & (below > 0)
    )
    reached = np.divide(
        rates.perseverance * tail[:, 1:],
        goes_on[:, :-1],
        out=np.zeros_like(tail[:, 1:]),
        where=goes_on[:, :-1] > 0,
    )
    examined = np.ones_like(tail)
    for j in range(1, tail.shape[1]):
        follows = examined[:, j - 1] * (1 - satisfied[:, j - 1]) * reached[:, j - 1]
        examined[:, j] = np.where(j <= last[:, 0], 1.0, follows)
    return Hidden(np.where(position < patterns.length, examined, 0.0), satisfied)


def em_step(patterns: Patterns, rates: Rates) -> Rates:
    """Return the rates after one step of EM; a rate without evidence stays."""
    examined, satisfied = infer(patterns, rates)
    count, is_inner = patterns.n_sessions, patterns.position < patterns.length - 1
    # a document below which others are shown, so that satisfaction has an effect
    inner_click = patterns.clicked & is_inner
    goes = (count * examined[:, 1:]).sum()
    could_go = (count * examined * (1 - satisfied) * is_inner).sum()
    return Rates(
        _ratio(patterns, count * patterns.clicked, count * examined, rates.attraction),
        _ratio(
            patterns,
            count * satisfied * inner_click,
            count * inner_click,
            rates.satisfaction,
        ),
        float(goes / could_go) if could_go > 0 else rates.perseverance,
    )


def _ratio(
    patterns: Patterns, part: FloatArray, whole: FloatArray, otherwise: FloatArray
) -> FloatArray:
    """Return the ratio of two sums over each pair, (n_pairs,)."""
    pair, n = patterns.pair.ravel(), patterns.n_pairs + 1
    parts = sum_by(pair, part.ravel(), n)[:-1]
    wholes = sum_by(pair, whole.ravel(), n)[:-1]
    return np.divide(parts, wholes, out=otherwise.copy(), where=wholes > 0)


class DynamicBayesianNetwork(ClickModel):
    r"""The dynamic Bayesian network (DBN) of Chapelle and Zhang, fitted by EM.

    A user reads a list from the top.  An examined document d of query q is clicked with
    probability :math:`a_{qd}`, its attractiveness.  A click satisfies with probability
    :math:`s_{qd}`, and a satisfied user stops; another goes on to the next document
    with probability :math:`\gamma`, the perseverance.  A document is relevant by both:
    :math:`a_{qd} s_{qd}`.

    A list has no gaps.

    Parameters
    ----------
    perseverance : float in (0, 1] or None, default=None
        Probability :math:`\gamma` that an unsatisfied user goes on; 1 is the simplified
        network.  None: estimated.
    max_iter : int >= 1, default=1000
        Most iterations of EM, each of three steps.
    tol : float > 0, default=1e-4
        EM ends when no rate changes by more in an iteration.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,), float64
        Mean probability that a position was examined, given the clicks, among the lists
        that have it.  In this model it depends on the lists, and is that of the lists
        of the log.
    attractiveness_ : ndarray of shape (n_pairs,), float64
        Probability of a click on each (query, document) pair if it is examined; NaN if
        it never was.
    satisfaction_ : ndarray of shape (n_pairs,), float64
        Probability that a click on it satisfies; NaN if it was never clicked above
        another document.
    groups_, documents_ : ndarrays of shape (n_pairs,)
        Query and document of each pair, sorted.
    perseverance_ : float
        The probability :math:`\gamma`.
    log_likelihoods_ : ndarray of shape (n_iter + 1,), float64
        Log-likelihood of the log before EM and after each iteration; never falls.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    Each pair has two parameters of its own.  Where pairs are clicked only a few times,
    satisfaction is overestimated, and examination of low positions underestimated.
    There are no standard errors; fit the model to resampled queries instead.

    References
    ----------
    O. Chapelle and Y. Zhang, "A Dynamic Bayesian Network Click Model for Web Search
    Ranking", WWW 2009.

    Examples
    --------
    >>> from sklearn_ltr.clicks import DynamicBayesianNetwork
    >>> model = DynamicBayesianNetwork(perseverance=1.0).fit(
    ...     [0, 1, 1, 0, 1, 1],
    ...     groups=["q"] * 6,
    ...     documents=["a", "b", "a", "b", "a", "b"],
    ...     positions=[0, 1] * 3,
    ...     sessions=[1, 1, 2, 2, 3, 3],
    ... )
    >>> model.attractiveness_.round(2), model.satisfaction_.round(2)
    (array([0.67, 1.  ]), array([0.5, nan]))
    """

    satisfaction_: FloatArray
    perseverance_: float
    log_likelihoods_: FloatArray
    n_iter_: int
    _fitted_state = (
        *ClickModel._fitted_state, "satisfaction_", "perseverance_", "log_likelihoods_",
        "n_iter_",
    )  # fmt: skip

    def __init__(
        self,
        perseverance: float | None = None,
        max_iter: int = 1000,
        tol: float = 1e-4,
    ) -> None:
        self.perseverance = perseverance
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        perseverance = Range("perseverance", Real, 0, 1, "right", optional=True)
        check_ranges(self, [perseverance, at_least("max_iter", 1), positive("tol")])

    def _fit_log(self, log: ClickLog) -> None:
        check_no_gaps(log.lists)
        patterns = count_patterns(log)
        n = log.n_pairs

        def unpack(rates: FloatArray) -> Rates:
            return Rates(
                rates[:n],
                rates[n : 2 * n],
                float(rates[-1]) if self.perseverance is None else self.perseverance,
            )

        def step(rates: FloatArray) -> FloatArray:
            attraction, satisfaction, gamma = em_step(patterns, unpack(rates))
            if self.perseverance is not None:
                gamma = self.perseverance
            return np.concatenate((attraction, satisfaction, [gamma]))

        start = np.full(2 * n + 1, 0.5)
        start[-1] = 0.9 if self.perseverance is None else self.perseverance
        rates, curve = maximise(
            step,
            lambda rates: log_likelihood(patterns, unpack(rates)),
            start,
            self.max_iter,
            self.tol,
        )
        self.log_likelihoods_, self.n_iter_ = curve, len(curve) - 1
        self._set_rates(patterns, unpack(rates))

    def _set_rates(self, patterns: Patterns, rates: Rates) -> None:
        examined = infer(patterns, rates).examined
        count, unknown = patterns.n_sessions, np.full(patterns.n_pairs, np.nan)
        is_shown = count * (patterns.position < patterns.length)
        self.propensities_ = (count * examined).sum(axis=0) / is_shown.sum(axis=0)
        is_seen = _ratio(patterns, count * examined, count * examined, unknown)
        inner = count * (patterns.clicked & (patterns.position < patterns.length - 1))
        self.attractiveness_ = rates.attraction * is_seen  # 1, or NaN if never seen
        self.satisfaction_ = rates.satisfaction * _ratio(
            patterns, inner, inner, unknown
        )
        self.perseverance_ = rates.perseverance
