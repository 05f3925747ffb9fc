r"""Compare rankers by clicks: counterfactual estimates, and interleaving.

**Counterfactual estimates** of a metric are for a ranker that was not in use, from the
clicks on other rankers.  A click counts 1 / propensity, since users click only what
they examine; :func:`counterfactual_score` has the formula.

**Team-draft interleaving**: two rankers share one list, and clicks tell who is better.
In each round a coin decides which ranker is first, and each ranker
adds its best document that is not in the list yet.  A click counts for the ranker that
added the document.  A session is won by the ranker with more clicks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from sklearn.utils import Bunch, check_random_state

from sklearn_ltr._core.data import (
    QueryGroups,
    as_array,
    check_scores,
    count_rows,
    places_in_queries,
    read_numbers,
)
from sklearn_ltr._core.data.rows import check_each
from sklearn_ltr._core.parameters import Choice, integer, real
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, Seed
from sklearn_ltr.clicks._log import (
    Lists,
    check_from_zero,
    count_clicks,
    ratio_and_error,
    read_clicks,
    read_labels,
    read_lists,
    sum_by,
)
from sklearn_ltr.metrics import CG, NDCG, RBP, Metric, Precision, get_metric

TEAMS = ("a", "b")


# --- counterfactual estimates ---------------------------------------------------------


@dataclass(frozen=True)
class CounterfactualEstimate:
    """Result of :func:`counterfactual_score`.

    Attributes
    ----------
    value : float
        The estimate.
    standard_error : float
        Its standard error, with queries as the independent units; NaN for one query.
    n_queries, n_sessions : int
        What it was estimated from.
    n_clicks : int
        Number of clicks.
    effective_n_clicks : float
        Number of equally weighted clicks that would have the same noise: the squared
        sum of the weights, divided by the sum of their squares.
    """

    value: float
    standard_error: float
    n_queries: int
    n_sessions: int
    n_clicks: int
    effective_n_clicks: float


def counterfactual_score(
    clicks: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: IdsLike,
    positions: ArrayLike,
    sessions: IdsLike,
    propensities: ArrayLike,
    metric: str | Metric = "dcg@10",
    estimator: str = "ips",
    max_weight: float | None = None,
    baseline_score: ArrayLike | None = None,
) -> CounterfactualEstimate:
    r"""Estimate a metric of a new ranker from the click log of other rankers.

    `y_score` is the new ranker: it reorders the documents that each session showed.  By
    inverse propensity scoring (IPS), with :math:`w(r)` the weight of rank r in the
    metric and :math:`r_i` the rank of row i by the scores,

    .. math:: V = \frac{1}{n_{sessions}} \sum_{i \text{ clicked}}
              \frac{w(r_i)}{p_{k_i}}.

    Its expected value is that of the metric with a grade of 1 for relevant documents,
    if the propensities are right and every position has one above zero.  Propensities
    relative to position 0, as the click models have them, give the metric with the
    rate of clicks at position 0 in place of relevance.

    Parameters
    ----------
    clicks : array-like of shape (n_rows,)
        1 if the document was clicked in this session, else 0.
    y_score : array-like of shape (n_rows,)
        Score by the ranker to judge, finite; higher is ranked first.  Equal scores
        share their ranks: each has the mean of their weights.  Not of a ranker that has
        learned from these clicks, or others on the same queries (see Notes).
    groups, positions, sessions : array-likes of shape (n_rows,)
        Query, position (0 is first) and session of each row, as for the click models.
    propensities : array-like of shape (n_positions,)
        Probability that each position (not row) is examined, > 0 at all positions of
        the log: the `propensities_` of a click model.
    metric : str or Metric, default="dcg@10"
        A sum over documents: DCG, CG, Precision or RBP, with a cutoff or without.
    estimator : {"ips", "snips"}, default="ips"
        "snips" divides by the sum of the weights :math:`1 / p` of all clicks in place
        of the number of sessions: the mean weight :math:`w(r)` of a relevant document.
        It is less noisy, and a common factor of the propensities has no effect.
    max_weight : float above 0 or None, default=None
        Larger weights :math:`1 / p` are clipped to it, for less noise and some bias.
        None: no limit.
    baseline_score : array-like of shape (n_rows,), default=None
        Scores of another ranker, as `y_score`.  The estimate is then the difference to
        it, with the standard error of the difference.  ``-positions`` is the logged
        order.

    Returns
    -------
    CounterfactualEstimate
        The value and its standard error.

    Raises
    ------
    ValueError, TypeError
        For columns that are no click log, positions without a 0, scores that are not
        finite, propensities of rows, or that are missing or not above zero at a
        position of the log, a metric that is no sum over documents, and other arguments
        out of their range.

    Notes
    -----
    Documents that were not shown have no clicks to count, so the estimate is that of
    the shown documents in a new order.

    On clicks that it has learned from a ranker looks better than it is, most of all if
    it corrects them by the same `propensities`.  Scores do not tell, so there is no
    warning: put a part of the log aside before, by time or, for new queries, by query
    (:func:`~sklearn_ltr.model_selection.group_train_test_split`).

    References
    ----------
    T. Joachims, A. Swaminathan and T. Schnabel, "Unbiased Learning-to-Rank with Biased
    Feedback", WSDM 2017; A. Swaminathan and T. Joachims, "The Self-Normalized Estimator
    for Counterfactual Learning", NIPS 2015.

    Examples
    --------
    >>> from sklearn_ltr.clicks import counterfactual_score
    >>> estimate = counterfactual_score(
    ...     [0, 1, 1, 0],
    ...     [1, 2, 4, 3],
    ...     groups=[7, 7, 8, 8],
    ...     positions=[0, 1, 0, 1],
    ...     sessions=[1, 1, 2, 2],
    ...     propensities=[1, 0.5],
    ...     metric="precision@1",
    ... )
    >>> estimate.value, estimate.standard_error
    (1.5, 0.5)
    """
    Choice("ips", "snips").read_as("estimator", estimator)
    real(0, closed="neither", optional=True).read_as("max_weight", max_weight)
    metric = get_metric(metric)
    if not isinstance(metric, CG | Precision | RBP) or isinstance(metric, NDCG):
        raise ValueError(
            f"metric={metric!r} is not a sum of weights of ranks over documents, so "
            "clicks cannot estimate it: give DCG, CG, Precision or RBP"
        )
    if not metric.value(np.ones(1)) > 0:
        raise ValueError(
            f"metric={metric!r} has no gain for the grade 1 of a click: change its gain"
        )
    lists, clicked, _ = read_lists(clicks, groups, positions, sessions)
    n = count_rows(propensities, "propensities")
    values = read_numbers(propensities, n, "propensities", "position")
    check_from_zero(lists)
    if n == len(lists.positions) > lists.n_positions:
        raise ValueError(
            f"propensities has a value for each of the {n} rows, but is read as one "
            f"for each position: give those of positions 0 to {lists.n_positions - 1} "
            "alone"
        )
    if n < lists.n_positions:
        raise ValueError(
            f"propensities has {n} values, but the log has position "
            f"{lists.n_positions - 1}: give one for each position, or leave the "
            "rows of lower positions out"
        )
    shown = np.unique(lists.positions)
    check_each(
        (values[shown] > 0) & (values[shown] < np.inf),
        values[shown],
        lambda number: f"position {shown[number]}",
        "propensities must be finite and > 0 at every position of the log",
        ": leave its rows out",
    )
    inverse = 1 / values[lists.positions]
    if max_weight is not None:
        inverse = np.minimum(inverse, max_weight)
    gain = weight_by_score(y_score, "y_score", lists, metric)
    if baseline_score is not None:
        gain = gain - weight_by_score(baseline_score, "baseline_score", lists, metric)
    weight = clicked * inverse
    query = lists.query[lists.session_of_row]
    n_queries = lists.queries.n_queries
    totals = sum_by(query, weight * gain, n_queries)
    if estimator == "snips":
        size = sum_by(query, weight, n_queries)
    else:
        size = sum_by(lists.query, np.ones(len(lists.query)), n_queries)
    value, error = ratio_and_error(totals, size)
    return CounterfactualEstimate(
        value,
        error,
        n_queries=n_queries,
        n_sessions=len(lists.query),
        n_clicks=int(clicked.sum()),
        effective_n_clicks=float(weight.sum() ** 2 / (weight * weight).sum()),
    )


def weight_by_score(
    scores: ArrayLike, name: str, lists: Lists, metric: Metric
) -> FloatArray:
    """Return the weight that a metric gives to each row of lists sorted by scores."""
    n = len(lists.order)
    values = read_numbers(scores, n, name, only_order=True)
    check_each(np.isfinite(values), values, "row {}".format, f"{name} must be finite")
    values, session = values[lists.order], lists.session_of_row
    ranked = np.lexsort((-values, session))
    length = np.diff(lists.offsets)
    position = places_in_queries(lists.offsets)
    by_rank = np.empty(n)
    for size in np.unique(length).tolist():
        weights = np.array([metric.value(row) for row in np.eye(size)])
        has_size = length[session] == size  # sessions are adjacent, and stay so
        by_rank[has_size] = weights[position[has_size]]
    starts = np.ones(n, dtype=np.bool_)
    starts[1:] = (values[ranked][1:] != values[ranked][:-1]) | (np.diff(session) > 0)
    run = np.cumsum(starts) - 1
    # rows of equal score have the mean of their weights
    mean = np.bincount(run, weights=by_rank) / np.bincount(run)
    result = np.empty(n)
    result[ranked] = mean[run]
    return result


# --- interleaving ---------------------------------------------------------------------


class InterleavedLists(Bunch):
    """Result of :func:`interleave`."""

    documents: IntArray
    groups: NDArray[Any]
    positions: IntArray
    teams: NDArray[np.str_]


def interleave(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    *,
    groups: IdsLike,
    k: int = 10,
    random_state: Seed = None,
) -> InterleavedLists:
    """Merge the lists of two rankers into one list per query, by team draft.

    For several lists of a query, give the query as several groups.

    Parameters
    ----------
    scores_a, scores_b : array-likes of shape (n_documents,)
        Scores of the two rankers, finite; higher is ranked first.
    groups : array-like of shape (n_documents,)
        The query of each document: numbers, text, dates or tuples of these, in any
        row order.
    k : int of at least 1, default=10
        Number of documents shown; all, where a query has fewer.
    random_state : int, RandomState or None, default=None
        Seed or generator of the coins.

    Returns
    -------
    Bunch
        A row for each shown document, by query and position:
        ``documents`` : (n_rows,) int64, the row of the scores;
        ``groups`` : (n_rows,) array, the query;
        ``positions`` : (n_rows,) int64, from 0;
        ``teams`` : (n_rows,) array of "a" and "b", the ranker that added the document.

    Raises
    ------
    ValueError, TypeError
        If scores are not one finite number per row, groups are of another length, or k
        is not an integer >= 1.

    Notes
    -----
    Documents of equal score are in a random order, drawn for each list and the same for
    both rankers.

    References
    ----------
    F. Radlinski, M. Kurup and T. Joachims, "How Does Clickthrough Data Reflect
    Retrieval Quality?", CIKM 2008.

    Examples
    --------
    >>> from sklearn_ltr.clicks import interleave
    >>> lists = interleave([3, 2, 1], [1, 2, 3], groups=[7] * 3, k=2, random_state=0)
    >>> sorted(zip(lists.documents.tolist(), lists.teams.tolist()))
    [(0, 'a'), (2, 'b')]
    """
    integer(1).read_as("k", k)
    queries = QueryGroups.from_groups(groups, count_rows(scores_a, "scores_a"))
    a, b = (
        check_scores(scores, queries, name, only_order=True)
        for scores, name in ((scores_a, "scores_a"), (scores_b, "scores_b"))
    )
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    query = queries.query
    tie_break = rng.random(queries.n_documents)
    best_a, best_b = (np.lexsort((tie_break, -scores, query)) for scores in (a, b))
    sizes = np.minimum(queries.sizes, k)
    rounds = int(sizes.max() + 1) // 2
    a_is_first = rng.random((queries.n_queries, rounds)) < 0.5
    shown: list[int] = []
    teams: list[bool] = []
    for q, size in enumerate(sizes.tolist()):
        rows = slice(queries.offsets[q], queries.offsets[q + 1])
        remaining = {
            True: iter(best_a[rows].tolist()),
            False: iter(best_b[rows].tolist()),
        }
        by_a: dict[int, bool] = {}  # of each document of the list, whether A added it
        for a_begins in a_is_first[q].tolist():
            for is_a in (a_begins, not a_begins):
                if len(by_a) < size:
                    by_a[next(d for d in remaining[is_a] if d not in by_a)] = is_a
        shown += by_a
        teams += by_a.values()
    return InterleavedLists(
        documents=queries.order[shown].astype(np.int64),
        groups=as_array(queries.query_ids)[np.repeat(np.arange(len(sizes)), sizes)],
        positions=places_in_queries(np.append(0, np.cumsum(sizes))),
        teams=np.where(teams, *TEAMS),
    )


@dataclass(frozen=True)
class InterleavingResult:
    """Result of :func:`interleaving_test`.

    Attributes
    ----------
    n_wins_a, n_wins_b, n_ties : int
        Sessions in which more clicks were on documents of A, of B, or as many.
    preference_a : float
        Fraction of the sessions won by A, ties counted half; above 0.5, A is preferred.
    p_value : float
        Of the two-sided sign test: the probability of wins at least as unequal, if both
        rankers were equally good.  1 if there are only ties.
    """

    n_wins_a: int
    n_wins_b: int
    n_ties: int
    preference_a: float
    p_value: float


def interleaving_test(
    clicks: ArrayLike, *, teams: IdsLike, sessions: IdsLike
) -> InterleavingResult:
    """Test which of two interleaved rankers users prefer.

    A session is won by the ranker whose documents got more clicks.  Without a
    difference between the rankers, each wins with probability 1/2, and the number of
    wins is binomial.

    Parameters
    ----------
    clicks : array-like of shape (n_rows,)
        1 if the document was clicked in this session, else 0.
    teams : array-like of shape (n_rows,)
        "a" or "b": the ranker that added the document.
    sessions : array-like of shape (n_rows,)
        The session: numbers, text, dates or tuples of these.  Sessions without a click
        are ties; give them, too.

    Returns
    -------
    InterleavingResult
        Wins, ties, preference and the p-value.

    Raises
    ------
    ValueError
        For columns of different lengths, clicks other than 0 and 1, or teams other than
        "a" and "b".

    Notes
    -----
    The test assumes independent sessions.  If a few users or queries have most
    sessions, give one session of each.

    References
    ----------
    O. Chapelle, T. Joachims, F. Radlinski and Y. Yue, "Large-Scale Validation and
    Analysis of Interleaved Search Evaluation", ACM TOIS 30(1), 2012.

    Examples
    --------
    >>> from sklearn_ltr.clicks import interleaving_test
    >>> result = interleaving_test(
    ...     [1, 0, 1, 0, 0, 1], teams=["a", "b"] * 3, sessions=[1, 1, 2, 2, 3, 3]
    ... )
    >>> result.n_wins_a, result.n_wins_b, result.p_value
    (2, 1, 1.0)
    """
    n = count_clicks(clicks)
    clicked = read_clicks(clicks, n, lambda row: f"row {row}")
    by_session = read_labels(sessions, n, "sessions", "session")
    by_team = read_labels(teams, n, "teams", "team")
    for label in by_team.query_ids:
        if label not in TEAMS:
            raise ValueError(f"teams must be 'a' or 'b', got {label!r}")
    is_a = np.array([label == "a" for label in by_team.query_ids])[by_team.query_of_row]
    for_a = np.where(is_a, clicked, -clicked)
    lead = np.bincount(by_session.query_of_row, weights=for_a)
    wins_a, wins_b = int((lead > 0).sum()), int((lead < 0).sum())
    n_ties = len(lead) - wins_a - wins_b
    decided = wins_a + wins_b
    preference = (wins_a + n_ties / 2) / len(lead)
    p_value = float(binomtest(wins_a, decided).pvalue) if decided else 1.0
    return InterleavingResult(wins_a, wins_b, n_ties, preference, p_value)
