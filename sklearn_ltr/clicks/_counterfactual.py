r"""Estimate a metric of a ranker that was not in use, from the clicks of others.

With p_k the propensity of position k, a click at k counts 1 / p_k, since it is only
made if k is examined.  With w(r) the weight of rank r in the metric,

    V = (1 / number of sessions)  sum over clicks of  w(new rank) / p_k

has the expected value of the metric with relevance in place of clicks: the mean sum of
w(new rank) over relevant documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import count_rows, read_numbers
from sklearn_ltr._parameters import Range
from sklearn_ltr.clicks._em import sum_by
from sklearn_ltr.clicks._log import Lists, read_clicks, read_lists
from sklearn_ltr.clicks._standard_errors import ratio_and_error
from sklearn_ltr.metrics import CG, NDCG, RBP, Metric, Precision, get_metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ESTIMATORS = ("ips", "snips")


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
    clicks: Any,
    y_score: Any,
    *,
    groups: Any,
    positions: Any,
    sessions: Any,
    propensities: Any,
    metric: str | Metric = "dcg@10",
    estimator: str = "ips",
    max_weight: float | None = None,
    baseline_score: Any = None,
) -> CounterfactualEstimate:
    r"""Estimate a metric of a ranker from a log of other rankers.

    The ranker is `y_score`: it orders again the documents that each session showed.  By
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
        share their ranks: each has the mean of their weights.
    groups, positions, sessions : array-likes of shape (n_rows,)
        Query, position (0 is first) and session of each row, as for the click models.
    propensities : array-like of shape (n_positions,)
        Probability that each position is examined, > 0 at all positions of the log: the
        `propensities_` of a click model.
    metric : str or Metric, default="dcg@10"
        A sum over documents: DCG, CG, Precision or RBP, with a cutoff or without.
    estimator : {"ips", "snips"}, default="ips"
        "snips" divides by the sum of the weights :math:`1 / p` of all clicks in place
        of the number of sessions: the mean weight :math:`w(r)` of a relevant document.
        It is less noisy, and a common factor of the propensities has no effect.
    max_weight : float > 0 or None, default=None
        Larger weights :math:`1 / p` are clipped to it, for less noise and some bias.
        None: no limit.
    baseline_score : array-like of shape (n_rows,), default=None
        Scores of another ranker.  The estimate is then the difference to it, with the
        standard error of the difference.  ``-positions`` is the logged order.

    Returns
    -------
    CounterfactualEstimate
        The value and its standard error.

    Raises
    ------
    ValueError, TypeError
        For columns that are no click log, scores that are not finite, propensities that
        are missing or not above zero at a position of the log, a metric that is no sum
        over documents, and other arguments out of their range.

    Notes
    -----
    Documents that were not shown have no clicks to count, so the estimate is that of
    the shown documents in a new order.

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
    if not isinstance(estimator, str) or estimator not in ESTIMATORS:
        raise ValueError(f"estimator must be one of {ESTIMATORS}, got {estimator!r}")
    Range("max_weight", Real, 0, np.inf, "neither", optional=True).read(max_weight)
    metric = read_sum(metric)
    n = count_rows(clicks, "clicks")
    lists, describe = read_lists(n, groups, positions, sessions)
    clicked = read_clicks(clicks, n, describe)[lists.order]
    if not clicked.any():
        raise ValueError("clicks has no 1: a log without a click says nothing")
    inverse = 1 / read_propensities(propensities, lists)[lists.positions]
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


def read_sum(metric: str | Metric) -> Metric:
    """Return the metric; an error unless it is a sum over documents."""
    metric = get_metric(metric)
    if not isinstance(metric, CG | Precision | RBP) or isinstance(metric, NDCG):
        raise ValueError(
            f"metric={metric!r} is no sum of weights of ranks over documents, which "
            "single clicks can estimate: give DCG, CG, Precision or RBP"
        )
    if not metric.value(np.ones(1)) > 0:
        raise ValueError(f"metric={metric!r} has no gain for the grade 1 of a click")
    return metric


def read_propensities(propensities: Any, lists: Lists) -> FloatArray:
    """Return the propensity of each position, checked at those of the log."""
    n = count_rows(propensities, "propensities")
    values = read_numbers(propensities, n, "propensities", "position")
    if n < lists.n_positions:
        raise ValueError(
            f"propensities has {n} values, but the log has position "
            f"{lists.n_positions - 1}: give one for each position, or leave the "
            "rows of lower positions out"
        )
    shown = np.unique(lists.positions)
    valid = (values[shown] > 0) & (values[shown] < np.inf)
    if not valid.all():
        position = int(shown[np.argmin(valid)])
        raise ValueError(
            f"propensities must be finite and > 0 at every position of the log, but "
            f"position {position} has {values[position]}: leave its rows out"
        )
    return values


def weight_by_score(scores: Any, name: str, lists: Lists, metric: Metric) -> FloatArray:
    """Return the metric's weight of each row, (n_rows,), its lists ordered by scores.

    Rows of equal score have the mean of their weights.
    """
    n = len(lists.order)
    values = read_numbers(scores, n, name, only_order=True)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"{name} must be finite, but row {row} has {values[row]}")
    values, session = values[lists.order], lists.session_of_row
    ranked = np.lexsort((-values, session))
    length = np.diff(lists.offsets)
    position = np.arange(n) - np.repeat(lists.offsets[:-1], length)
    by_rank = np.empty(n)
    for size in np.unique(length).tolist():
        weights = np.array([metric.value(row) for row in np.eye(size)])
        of_size = length[session] == size  # sessions are adjacent, and stay so
        by_rank[of_size] = weights[position[of_size]]
    starts = np.ones(n, dtype=np.bool_)
    starts[1:] = (values[ranked][1:] != values[ranked][:-1]) | (np.diff(session) > 0)
    run = np.cumsum(starts) - 1
    mean = np.bincount(run, weights=by_rank) / np.bincount(run)
    result = np.empty(n)
    result[ranked] = mean[run]
    return result
