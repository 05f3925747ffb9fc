r"""Click models: position-based ones, and models of users who read from the top.

**Position-based model.**  A click on document d of query q at position k needs two
hidden events, examination and attraction: P(click) = theta_k gamma_qd.

**Intervention harvesting** compares a document with itself at another position.  For
each set {k, l} of two positions, only the pairs that were shown at both count.  A pair
has the weight v = n_k n_l / (n_k + n_l), with n the times it was shown at each, so its
attraction counts the same at both positions:

    clicks at k = sum of v c_k / n_k,     showings at k = sum of v.

The rate of clicks of a set is  theta_k r_kl  at k and  theta_l r_kl  at l, with r the
mean attraction in the set: the position-based model with a unit per set.

**Cascade.**  Users read from the top and stop at the first click, so that a document
was examined unless one above it was clicked:

    P(click at position k) = gamma_k * product over i < k of (1 - gamma_i).

**Dynamic Bayesian network.**  Users read from the top.  An examined document i is
clicked with probability a_i; a clicked one satisfies with probability s_i, which ends
the session; else they go on to the next document with probability gamma.  Down to the
last click, at position l, every document was examined, and no click but the last one
satisfied.  Hidden are whether click l satisfied, and how far the user read below it.
With

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

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlog1py, xlogy

from sklearn_ltr._core.data import places_in_queries
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.estimators.base import Estimator, refit
from sklearn_ltr._core.parameters import POSITIVE, integer, read_parameters, real
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray
from sklearn_ltr.clicks._em import (
    TO_COMPARE,
    Cells,
    at_positions,
    check_connected,
    count_cells,
    fit_cells,
    maximise,
    propensity_errors,
    ratio,
    sum_rows,
)
from sklearn_ltr.clicks._log import (
    ClickLog,
    Lists,
    Patterns,
    check_from_zero,
    count_patterns,
    ratio_and_error,
    read_click_log,
    sum_by,
)


@dataclass(frozen=True)
class EMParameters:
    """When EM ends."""

    max_iter: Annotated[int, integer(1)]
    tol: Annotated[float, POSITIVE]


@dataclass(frozen=True)
class DynamicBayesianParameters(EMParameters):
    """The parameters of the dynamic Bayesian network."""

    perseverance: Annotated[float | None, real(0, 1, "right", optional=True)]


@dataclass(frozen=True)
class NoParameters:
    """The parameters of a model that has none."""


OF_PAIRS: Attributes = {
    "propensities_": Attribute("(n_positions,)"),
    "attractiveness_": Attribute("(n_pairs,)"),
    "groups_": Attribute("(n_pairs,)"),
    "documents_": Attribute("(n_pairs,)"),
}
STANDARD_ERRORS: Attributes = {"standard_errors_": Attribute("(n_positions,)")}
EM_ATTRIBUTES: Attributes = {
    "log_likelihoods_": Attribute("(n_iter + 1,)"),
    "n_iter_": Attribute(),
}


class ClickModel(Estimator):
    """A model of clicks that is fitted to a log."""

    _parameters: ClassVar[type]  # a dataclass that declares them
    groups_: NDArray[Any]
    documents_: NDArray[Any]
    _attributes: ClassVar[Attributes] = OF_PAIRS

    def fit(
        self,
        clicks: ArrayLike,
        *,
        groups: IdsLike,
        documents: IdsLike,
        positions: ArrayLike,
        sessions: IdsLike,
    ) -> Self:
        """Fit the model to a log: one row per shown document, in any order.

        Parameters
        ----------
        clicks : array-like of shape (n_rows,)
            1 if the document was clicked in this session, else 0.
        groups : array-like of shape (n_rows,)
            The query: numbers, text, dates or tuples of these.
        documents : array-like of shape (n_rows,)
            The document, named in the same way.  Documents of different queries are
            different, even if they share a name.
        positions : array-like of shape (n_rows,)
            Position at which the document was shown; integers, 0 is first.
        sessions : array-like of shape (n_rows,)
            The session: one list, shown once for one query.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, columns of different lengths, missing
            values, and clicks other than 0 and 1.  For positions that are not
            integers >= 0, or are repeated in a session.  For a document twice in a
            session, and a session of two queries.  If the log does not determine the
            model.  The estimator is left as it was.
        """
        with refit(self) as model:
            parameters: Any = read_parameters(self._parameters, model)
            log = read_click_log(clicks, groups, documents, positions, sessions)
            model.__dict__.update(self._estimate(log, parameters))
            model.groups_, model.documents_ = log.groups, log.documents
        return self

    @staticmethod
    @abstractmethod
    def _estimate(log: ClickLog, parameters: Any) -> dict[str, object]:
        """Return the fitted attributes, without the names of the pairs."""


# --- position-based models ------------------------------------------------------------


def estimate_propensities(
    cells: Cells,
    rows: Cells,  # of single queries, which the cells sum
    query: IntArray,  # (n_rows,)
    positions: IntArray,
    parameters: EMParameters,
) -> tuple[dict[str, Any], FloatArray]:
    """Return what EM gives, attributes by name, and the attraction of the units."""
    check_connected(cells, positions)
    theta, gamma, curve = fit_cells(cells, parameters.max_iter, parameters.tol)
    # only products of theta and gamma matter, so the scale is that of position 0
    theta, gamma = theta / theta[0], gamma * theta[0]
    errors = propensity_errors(rows, query, theta, gamma)
    fitted = {
        "propensities_": at_positions(theta, positions),
        "standard_errors_": at_positions(errors, positions),
        "log_likelihoods_": curve,
        "n_iter_": len(curve) - 1,
    }
    return fitted, gamma


class PositionBasedModel(ClickModel):
    r"""A click model (PBM) in which the position decides if users see a document.

    The position-based model is fitted by EM.

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
    max_iter : int of at least 1, default=1000
        Most iterations of EM, each of three steps.
    tol : float above 0, default=1e-6
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
    Each pair has its own parameter.  Where pairs are shown only a few times, the
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

    _parameters = EMParameters
    _attributes: ClassVar[Attributes] = {**STANDARD_ERRORS, **EM_ATTRIBUTES}

    def __init__(self, max_iter: int = 1000, tol: float = 1e-6) -> None:
        self.max_iter = max_iter
        self.tol = tol

    @staticmethod
    def _estimate(log: ClickLog, parameters: EMParameters) -> dict[str, object]:
        """Return the fitted attributes, without the names of the pairs."""
        cells, positions = count_cells(log)
        query = log.query_of_pair[cells.unit]
        fitted, gamma = estimate_propensities(
            cells, cells, query, positions, parameters
        )
        return {**fitted, "attractiveness_": gamma}


class InterventionHarvesting(ClickModel):
    r"""A click model (AllPairs) that compares documents shown at several positions.

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
    max_iter : int of at least 1, default=1000
        Most iterations of EM, each of three steps.
    tol : float above 0, default=1e-6
        EM ends when no rate changes by more in an iteration.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,), float64
        Propensity of each position relative to position 0; NaN where nothing was shown,
        and 0 where no document that is compared was clicked.
    standard_errors_ : ndarray of shape (n_positions,), float64
        Their standard errors, with queries as the independent units; NaN where a
        propensity is 0, and everywhere but at 0 if the log has one query.
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
    document at that position.  Logs seldom have it, so here a pair has the weight
    n_k n_l / (n_k + n_l), from the times it was shown at each position.  The estimate
    needs equal weights at both; pairs that were seldom shown have small ones.

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

    _parameters = EMParameters
    _attributes: ClassVar[Attributes] = {**STANDARD_ERRORS, **EM_ATTRIBUTES}

    def __init__(self, max_iter: int = 1000, tol: float = 1e-6) -> None:
        self.max_iter = max_iter
        self.tol = tol

    @staticmethod
    def _estimate(log: ClickLog, parameters: EMParameters) -> dict[str, object]:
        """Return the fitted attributes, without the names of the pairs."""
        cells, positions = count_cells(log)
        # cells are sorted by pair, so the other positions of a pair are close by
        first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for distance in range(1, len(positions)):
            same = cells.unit[distance:] == cells.unit[:-distance]
            if not same.any():
                break
            first.append(np.flatnonzero(same))
            second.append(first[-1] + distance)
        a, b = np.concatenate(first), np.concatenate(second)
        if not len(a):
            raise ValueError(
                "documents: none was shown at two positions for the same query, so "
                "effects of positions and documents cannot be separated: "
                f"{TO_COMPARE}"
            )
        # a unit is a set of two positions; a pair has two rows for each set
        set_key = cells.position[a] * len(positions) + cells.position[b]
        sets = np.tile(np.unique(set_key, return_inverse=True)[1], 2)
        weight = cells.shown[a] * cells.shown[b] / (cells.shown[a] + cells.shown[b])
        weights, both = np.tile(weight, 2), np.concatenate((a, b))
        clicked = weights * cells.clicked[both] / cells.shown[both]
        rows = Cells(sets, cells.position[both], weights, clicked)
        compared = np.bincount(rows.position, minlength=len(positions)) > 0
        if not compared.all():
            raise ValueError(
                f"position {positions[np.argmin(compared)]} shows no document that was "
                "shown at another position for the same query: leave its rows out; or "
                f"{TO_COMPARE}"
            )
        if not rows.clicked[rows.position == 0].any():
            raise ValueError(
                "positions: no document that was shown at position 0 and at another "
                "for the same query was clicked at position 0, to which propensities "
                "are relative: give a longer log, or use PositionBasedModel"
            )
        fitted, _ = estimate_propensities(
            sum_rows(rows),
            rows,
            log.query_of_pair[cells.unit[both]],
            positions,
            parameters,
        )
        propensities = fitted["propensities_"][positions[cells.position]]
        examined = cells.by_unit(cells.shown * propensities)
        clicked = cells.by_unit(cells.clicked)
        return {**fitted, "attractiveness_": ratio(clicked, examined, np.nan)}


# --- users who read from the top ------------------------------------------------------


def check_no_gaps(lists: Lists) -> None:
    """Raise a ValueError if a session shows a position, but not all above it."""
    check_from_zero(lists)
    expected = places_in_queries(lists.offsets)
    if (gap := lists.positions != expected).any():
        at = int(np.argmax(gap))
        session = int(lists.session_of_row[at])
        raise ValueError(
            f"positions: session {lists.sessions.describe(session)} shows position "
            f"{lists.positions[at]} but not {expected[at]}, and the model needs every "
            "document above: log all positions from 0 down, or use PositionBasedModel"
        )


class CascadeModel(ClickModel):
    r"""A click model (cascade) of users who read from the top to the first click.

    .. math:: P(\text{click at position } k)
              = \gamma_k \prod_{i < k} (1 - \gamma_i)

    with :math:`\gamma_i` the attractiveness of the document at position i.  So a
    document was examined unless one above it was clicked, and counting gives the
    maximum of the likelihood: attractiveness is clicks over examinations.

    A session has one click at most, and its list no gaps.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,), float64
        Fraction of lists in which users examined the position, among lists that have
        it.  In this model it depends on the lists of the log.
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

    _parameters = NoParameters
    _attributes: ClassVar[Attributes] = STANDARD_ERRORS

    @staticmethod
    def _estimate(log: ClickLog, parameters: NoParameters) -> dict[str, object]:
        """Return the fitted attributes, without the names of the pairs."""
        lists = log.lists
        check_no_gaps(lists)
        before = np.cumsum(log.clicks) - log.clicks  # in all rows above
        above = before - before[lists.offsets[:-1]][lists.session_of_row]
        if (second := (above > 0) & (log.clicks > 0)).any():
            session = int(lists.session_of_row[np.argmax(second)])
            raise ValueError(
                f"clicks: session {lists.sessions.describe(session)} has several, but "
                "in the cascade model a user stops at the first: use "
                "DynamicBayesianNetwork, or leave such sessions out"
            )
        examined = above == 0
        n_examined = sum_by(log.pair, examined, log.n_pairs)
        clicked = sum_by(log.pair, log.clicks, log.n_pairs)
        shape = (lists.n_positions, lists.queries.n_queries)
        shown, seen = np.zeros(shape), np.zeros(shape)
        np.add.at(shown, (lists.positions, log.query_of_row), 1.0)
        np.add.at(seen, (lists.positions, log.query_of_row), examined)
        ratios = [ratio_and_error(*sums) for sums in zip(seen, shown, strict=True)]
        propensities, errors = np.array(ratios).T.copy()
        errors[0] = 0.0
        return {
            "propensities_": propensities,
            "standard_errors_": errors,
            "attractiveness_": ratio(clicked, n_examined, np.nan),
        }


class Rates(NamedTuple):
    """The parameters of the network."""

    attraction: FloatArray  # (n_pairs,)
    satisfaction: FloatArray  # (n_pairs,)
    perseverance: float


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


def infer(patterns: Patterns, rates: Rates) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities of what is hidden, given the clicks.

    They are (n_patterns, n_positions): that a position was examined, and that a click
    satisfied, 0 without a click.
    """
    tail, goes_on = no_click_below(patterns, rates)
    satisfaction = np.append(rates.satisfaction, 0.0)[patterns.pair]
    position, last = patterns.position, patterns.last_click
    below = satisfaction + (1 - satisfaction) * goes_on
    is_last = patterns.clicked & (position == last)
    satisfied = np.where(is_last, ratio(satisfaction, below), 0.0)
    reached = ratio(rates.perseverance * tail[:, 1:], goes_on[:, :-1])
    examined = np.ones_like(tail)
    for j in range(1, tail.shape[1]):
        follows = examined[:, j - 1] * (1 - satisfied[:, j - 1]) * reached[:, j - 1]
        examined[:, j] = np.where(j <= last[:, 0], 1.0, follows)
    return np.where(position < patterns.length, examined, 0.0), satisfied


def em_step(patterns: Patterns, rates: Rates) -> Rates:
    """Return the rates after one step of EM; a rate without evidence stays."""
    examined, satisfied = infer(patterns, rates)
    count, is_inner = patterns.n_sessions, patterns.position < patterns.length - 1
    # a document below which others are shown, so that satisfaction has an effect
    inner_click = patterns.clicked & is_inner
    goes = (count * examined[:, 1:]).sum()
    could_go = (count * examined * (1 - satisfied) * is_inner).sum()
    clicked, seen = count * patterns.clicked, count * examined
    satisfying, inner = count * satisfied * inner_click, count * inner_click
    return Rates(
        ratio_by_pair(patterns, clicked, seen, rates.attraction),
        ratio_by_pair(patterns, satisfying, inner, rates.satisfaction),
        float(goes / could_go) if could_go > 0 else rates.perseverance,
    )


def ratio_by_pair(
    patterns: Patterns, part: FloatArray, whole: FloatArray, otherwise: FloatArray
) -> FloatArray:
    """Return the ratio of two sums over each pair, (n_pairs,)."""
    pair, n = patterns.pair.ravel(), patterns.n_pairs + 1
    parts = sum_by(pair, part.ravel(), n)[:-1]
    wholes = sum_by(pair, whole.ravel(), n)[:-1]
    return ratio(parts, wholes, otherwise)


class DynamicBayesianNetwork(ClickModel):
    r"""A click model (DBN) of users who read from the top until a click satisfies them.

    This is the dynamic Bayesian network of Chapelle and Zhang, fitted by EM.

    A user reads a list from the top.  An examined document d of query q is clicked with
    probability :math:`a_{qd}`, its attractiveness.  A click satisfies with probability
    :math:`s_{qd}`, and a satisfied user stops; another goes on to the next document
    with probability :math:`\gamma`, the perseverance.  A document is relevant by both:
    :math:`a_{qd} s_{qd}`.

    A list has no gaps.

    Parameters
    ----------
    perseverance : float in (0, 1], or None, default=None
        Probability :math:`\gamma` that an unsatisfied user goes on; 1 is the simplified
        network.  None: estimated.
    max_iter : int of at least 1, default=1000
        Most iterations of EM, each of three steps.
    tol : float above 0, default=1e-4
        EM ends when no rate changes by more in an iteration.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,), float64
        Mean probability that a position was examined, given the clicks, among the lists
        that have it.  In this model it depends on the lists of the log.
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
    Each pair has two parameters.  Where pairs are clicked only a few times,
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

    _parameters = DynamicBayesianParameters
    _attributes: ClassVar[Attributes] = {
        "satisfaction_": Attribute("(n_pairs,)"),
        "perseverance_": Attribute(),
        **EM_ATTRIBUTES,
    }

    def __init__(
        self, perseverance: float | None = None, max_iter: int = 1000, tol: float = 1e-4
    ) -> None:
        self.perseverance = perseverance
        self.max_iter = max_iter
        self.tol = tol

    @staticmethod
    def _estimate(
        log: ClickLog, parameters: DynamicBayesianParameters
    ) -> dict[str, object]:
        """Return the fitted attributes, without the names of the pairs."""
        check_no_gaps(log.lists)
        patterns, known = count_patterns(log), parameters.perseverance
        n = log.n_pairs

        def unpack(rates: FloatArray) -> Rates:
            gamma = float(rates[-1]) if known is None else known
            return Rates(rates[:n], rates[n : 2 * n], gamma)

        def step(rates: FloatArray) -> FloatArray:
            attraction, satisfaction, gamma = em_step(patterns, unpack(rates))
            gamma = gamma if known is None else known
            return np.concatenate((attraction, satisfaction, [gamma]))

        start = np.full(2 * n + 1, 0.5)
        start[-1] = 0.9 if known is None else known
        found, curve = maximise(
            step,
            lambda rates: log_likelihood(patterns, unpack(rates)),
            start,
            parameters.max_iter,
            parameters.tol,
        )
        rates = unpack(found)
        examined, _ = infer(patterns, rates)
        count, unknown = patterns.n_sessions, np.full(n, np.nan)
        seen, is_shown = count * examined, patterns.position < patterns.length
        inner = patterns.clicked & (patterns.position < patterns.length - 1)
        # 1, or NaN for pairs that were never seen, or never clicked above another
        is_seen = ratio_by_pair(patterns, seen, seen, unknown)
        is_inner = ratio_by_pair(patterns, count * inner, count * inner, unknown)
        return {
            "propensities_": seen.sum(axis=0) / (count * is_shown).sum(axis=0),
            "attractiveness_": rates.attraction * is_seen,
            "satisfaction_": rates.satisfaction * is_inner,
            "perseverance_": rates.perseverance,
            "log_likelihoods_": curve,
            "n_iter_": len(curve) - 1,
        }
