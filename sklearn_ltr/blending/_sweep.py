r"""The best blend of two rankers, over all blends (section 7.1 of the report).

    Z(alpha) = sum_q w_q Z_q(list of q by alpha s1 + (1 - alpha) s2) / sum_q w_q

is constant between the crossings of :mod:`sklearn_ltr.blending._crossings`.  So its
value just above alpha = 0, and the changes of all queries in the order of alpha, added
up one after another, are all of Z.  At a crossing itself two documents are tied, which
counts as the worse of both orders: the best is always an interval, or a ranker alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._queries import (
    QueryGroups,
    check_grades,
    check_sample_weight,
    check_scores,
)
from sklearn_ltr.blending._crossings import changes_of_list, crossings
from sklearn_ltr.metrics import (
    BoundMetric,
    ClosedFormMetric,
    Metric,
    get_metric,
    rank_documents,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class BlendCurve:
    """A metric of ``alpha * scores_1 + (1 - alpha) * scores_2``, for all alpha.

    Attributes
    ----------
    alpha : float in [0, 1]
        The best: in the middle of an interval, or a ranker alone.
    value : float
        The metric there, as measured on the blended scores.
    change_points : ndarray of shape (n_changes,), float64
        Where the metric changes: they rise, and lie between 0 and 1.
    values : ndarray of shape (n_changes + 1,), float64
        The metric below, between and above them, but for the rounding of one addition
        for each change.
    """

    alpha: float
    value: float
    change_points: FloatArray
    values: FloatArray


def best_blend(
    scores_1: Any,
    scores_2: Any,
    y: Any,
    *,
    groups: Any,
    metric: str | Metric = "ndcg@10",
    sample_weight: Any = None,
) -> BlendCurve:
    r"""Find the best of all blends of two rankers.

    As alpha goes from 0 to 1, the list of a query by

    .. math::

        \alpha s^1_i + (1 - \alpha) s^2_i

    changes only where the lines of two of its documents cross.  The mean of the metric
    is followed through all these changes (section 7.1 of the report, after [1]_), so no
    alpha is better than the one returned.  Of the intervals where the metric is highest
    the widest is taken, of those the one at the smallest alpha, and its middle.

    Parameters
    ----------
    scores_1, scores_2 : array-likes of shape (n_documents,)
        Scores of the two rankers, finite; higher is ranked first.  Their scales may
        differ.
    y : array-like of shape (n_documents,)
        Relevance grades, finite and >= 0.
    groups : array-like of shape (n_documents,)
        The query of each document: any hashable values, in any row order.
    metric : str or Metric, default="ndcg@10"
        A name, a metric object, or an object of a class of your own derived from
        :class:`sklearn_ltr.metrics.Metric`, with ``ties="pessimistic"``.  One of your
        own is evaluated at each change of a list; the others follow in constant time.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of a query in the mean, constant within it.

    Returns
    -------
    curve : BlendCurve
        With the best ``alpha``, the ``value`` there, and the metric for every other
        alpha.

    Raises
    ------
    ValueError
        For other ties than pessimistic ones, and what else the metric refuses, naming
        the argument, and the row and query where there is one.
    TypeError
        If `metric` is neither a name nor a metric object.

    Notes
    -----
    The lists are those of exact arithmetic.  Where two lines are so close that rounded
    scores do not show which is higher, the metric of the scores can differ from the
    curve; an interval whose middle does not show what the curve says is passed over.

    A metric of your own for which a worse order may count more is only sought between
    the crossings.

    References
    ----------
    .. [1] Q. Wu, C. Burges, K. Svore and J. Gao, "Adapting boosting for information
       retrieval measures", Information Retrieval 13(3), 2010.

    Examples
    --------
    >>> from sklearn_ltr.blending import best_blend
    >>> y, groups = [2, 1, 0, 2, 1, 0], ["a", "a", "a", "b", "b", "b"]
    >>> one, other = [3, 0, 1, 1, 2, 0], [0, 1, 2, 2, 0, 1]
    >>> curve = best_blend(one, other, y, groups=groups, metric="ndcg")
    >>> round(curve.alpha, 3), round(curve.value, 3)
    (0.583, 0.982)
    >>> curve.change_points.round(3), curve.values.round(3)
    (array([0.25 , 0.333, 0.5  , 0.667]), array([0.775, 0.811, 0.83 , 0.982, 0.88 ]))
    """
    metric = get_metric(metric)
    check_ties(metric)
    queries = QueryGroups.from_groups(groups, len(y))
    bound = metric.bind(check_grades(y, queries), queries.offsets, queries.labels)
    one = check_scores(scores_1, queries, "scores_1")
    other = check_scores(scores_2, queries, "scores_2")
    weights = check_sample_weight(sample_weight, queries)
    change_points, values = _curve(bound, one, other, weights)

    def measure(alpha: float) -> float:
        return bound.mean(alpha * one + (1.0 - alpha) * other, weights)

    n_additions = len(change_points) + queries.n_queries
    way = float(np.abs(np.diff(values)).sum())
    slack = EPSILON * (n_additions * float(np.abs(values).max()) + 8 * way)
    alpha, value = _highest(change_points, values, slack, measure)
    return BlendCurve(alpha, value, change_points, values)


def check_ties(metric: Metric) -> None:
    """Raise a ValueError unless the best blend is sure to be an interval."""
    if metric.ties != "pessimistic":
        raise ValueError(
            f'metric must break ties pessimistically, got ties="{metric.ties}": '
            "otherwise a single alpha, where lines cross, could be the best"
        )


def _highest(
    change_points: FloatArray,
    values: FloatArray,
    slack: float,
    measure: Callable[[float], float],
) -> tuple[float, float]:
    """Return the best alpha and what it measures.

    Intervals are measured in their middles, the highest by the curve first, until none
    is left that could measure more.
    """
    edges = np.concatenate(([0.0], change_points, [1.0]))
    widths = np.diff(edges)
    best = max((measure(alpha), 0.0, -alpha) for alpha in (0.0, 1.0))
    for i in np.argsort(-values, kind="stable"):
        if values[i] < best[0] - slack:
            break
        alpha = float(edges[i] + widths[i] / 2)
        best = max(best, (measure(alpha), float(widths[i]), -alpha))
    return abs(best[2]), best[0]


def _curve(
    bound: BoundMetric, one: FloatArray, other: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return where the mean changes, and its values between."""
    one, other = _within_range(one, other)
    order = _order_above_zero(bound, one, other)
    falling = np.empty(len(order))
    falling[order] = -np.arange(len(order), dtype=np.float64)
    start = bound.mean(falling, weights)
    if bound.metric.no_relevant == "skip":
        weights = weights * bound.has_relevant
    share = weights / weights.sum()
    alphas, changes = _changes(bound, one, other, order, share)

    by_alpha = np.argsort(alphas, kind="stable")
    alphas = alphas[by_alpha]
    starts = np.flatnonzero(np.diff(alphas, prepend=-1.0))
    points, steps = alphas[starts], np.add.reduceat(changes[by_alpha], starts)
    start += float(steps[points == 0.0].sum())
    inside = (points > 0.0) & (points < 1.0)
    points = points[inside]
    values = np.cumsum(np.append(start, steps[inside]))
    changed = np.diff(values) != 0.0
    return points[changed], values[np.append(True, changed)]


def _within_range(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Multiply both by one power of two, lest a difference overflow."""
    _, exponent = np.frexp(max(np.abs(one).max(), np.abs(other).max()))
    return np.ldexp(one, -exponent), np.ldexp(other, -exponent)


def _order_above_zero(
    bound: BoundMetric, one: FloatArray, other: FloatArray
) -> IntArray:
    """Order by `other`, then `one`, then against the ranker: (n_documents,)."""
    n_documents, n_queries = len(one), len(bound.offsets) - 1
    longest = len(bound.discount)
    order = np.empty(n_documents, dtype=np.int64)
    place = np.empty(n_documents)
    rank_documents(one, bound.grades, bound.offsets, 0, n_queries, longest, order)
    place[order] = np.arange(n_documents)
    rank_documents(other, place, bound.offsets, 0, n_queries, longest, order)
    return order


def _changes(
    bound: BoundMetric,
    one: FloatArray,
    other: FloatArray,
    order: IntArray,
    share: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return where the lists change, and by how much that raises the mean."""
    offsets, worth = bound.offsets, bound.worth
    lowest = np.minimum.reduceat(worth, offsets[:-1])
    highest = np.maximum.reduceat(worth, offsets[:-1])
    counts = (share > 0) & bound.has_relevant & (lowest < highest)
    alphas, changes = [np.empty(0)], [np.empty(0)]
    for query in np.flatnonzero(counts):
        ranked = order[offsets[query] : offsets[query + 1]]
        if isinstance(bound.metric, ClosedFormMetric):
            at, change = changes_of_list(
                one, other, worth, ranked, bound.k, bound.discount,
                *bound.metric.from_above,
            )  # fmt: skip
            change *= bound.scale[query]
        else:
            grades = bound.grades[ranked]
            at, positions = crossings(one[ranked], other[ranked], grades.copy())
            change = _changes_of_value(bound.metric, grades, positions)
        alphas.append(at)
        changes.append(change * share[query])
    return np.concatenate(alphas), np.concatenate(changes)


def _changes_of_value(
    metric: Metric, grades: FloatArray, positions: IntArray
) -> FloatArray:
    """Return by how much each swap raises a measure without a closed form."""
    values = [metric.value(grades.copy())]
    for p in positions:
        grades[p], grades[p + 1] = grades[p + 1], grades[p]
        values.append(metric.value(grades.copy()))
    return np.diff(values)
