r"""The best blend of two rankers over all alphas (Burges 2010, section 7.1).

With Z_q(alpha) the metric of query q, ranked by alpha * s1 + (1 - alpha) * s2, and w_q
the weight of the query, the mean

    Z(alpha) = sum_q w_q Z_q(alpha) / sum_q w_q

is piecewise constant: it changes only where two documents of a query swap ranks.  All
its values are Z just above alpha = 0 plus the cumulative sum of the changes of all
queries, sorted by alpha.  At a crossing itself two documents are tied, which counts as
the worse of both orders.  So the maximum is reached on a whole interval, or at an end.

The score of document i is a line in alpha,

    s_i(alpha) = alpha * s1_i + (1 - alpha) * s2_i,    0 < alpha < 1.

Just above alpha = 0 the documents are ordered by s2, and by s1 where s2 is equal.  A
document j that is ranked below i there rises above i if and only if s1_j > s1_i.  Their
lines then cross at

    alpha = deficit / (deficit + advantage) = 1 / (1 + advantage / deficit),

where deficit = s2_i - s2_j >= 0 is how far j is below i at alpha = 0, and
advantage = s1_j - s1_i > 0 how far it is above i at alpha = 1.  Whether two lines cross
is decided by a comparison of scores, so it is exact; only the alpha is rounded.

The ranking changes by swaps of adjacent documents, each pair of documents at most once.
A sweep over alpha applies the earliest crossing of adjacent documents again and again.
It is the root of a tournament tree over positions, where each inner node holds the
child with the earlier crossing.  A swap at position p changes the crossings at p - 1, p
and p + 1; updating their paths to the root takes O(log n).

With a cutoff k, only the k-skyband matters: the documents that fewer than k others beat
in both scores.  All others are never among the first k and are removed beforehand.  Of
n documents with two independent scores, about k (1 + log(n / k)) remain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._core.compile import kernel, subkernel
from sklearn_ltr._core.data import (
    QueryGroups,
    check_grades,
    check_sample_weight,
    check_scores,
    count_rows,
    rescale,
)
from sklearn_ltr._core.ranking.measures import BoundLabel, mean_of_bound
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.metrics._closed_form import ClosedFormMetric, cut_at
from sklearn_ltr.metrics._metric import BoundMetric, value_of_list
from sklearn_ltr.metrics._ranked_list import rank_documents

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class BlendCurve:
    """A metric of ``alpha * scores_1 + (1 - alpha) * scores_2``, for all alpha.

    Attributes
    ----------
    alpha : float in [0, 1]
        The best alpha: the middle of an interval, or 0 or 1.
    value : float
        The metric at `alpha`, evaluated on the blended scores.
    change_points : ndarray of shape (n_changes,), float64
        The alphas at which the metric changes: increasing, between 0 and 1.
    values : ndarray of shape (n_changes + 1,), float64
        The metric below, between and above the change points, up to the rounding of
        one addition per change.
    """

    alpha: float
    value: float
    change_points: FloatArray
    values: FloatArray


def best_blend(
    scores_1: ArrayLike,
    scores_2: ArrayLike,
    y: ArrayLike,
    *,
    groups: IdsLike | None,
    metric: str | Metric = "ndcg@10",
    sample_weight: ArrayLike | None = None,
) -> BlendCurve:
    r"""Find the best of all blends of two rankers.

    As alpha increases from 0 to 1, the ranking of a query by

    .. math::

        \alpha s^1_i + (1 - \alpha) s^2_i

    changes only where the lines of two of its documents cross.  The mean of the metric
    is tracked through all these changes (section 7.1 of Burges, 2010, after [1]_), so
    no alpha is better than the one returned.  Of the intervals where the metric is
    highest the widest is chosen, of those the one at the smallest alpha, and `alpha`
    is its middle.

    Parameters
    ----------
    scores_1, scores_2 : array-likes of shape (n_documents,)
        Scores of the two rankers, finite; higher is ranked first.  Their scales may
        differ.
    y : array-like of shape (n_documents,)
        Relevance grades, finite and >= 0.
    groups : array-like of shape (n_documents,)
        The query of each document: numbers, text, dates, or tuples of these.
    metric : str or Metric, default="ndcg@10"
        A name, a metric object, or an object of a class of your own derived from
        :class:`sklearn_ltr.metrics.Metric`, with ``ties="pessimistic"``.  A metric of
        your own is evaluated at each change of a ranking; a built-in metric is updated
        in constant time.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of a query in the mean, constant within it.

    Returns
    -------
    curve : BlendCurve
        The best ``alpha``, the ``value`` there, and the metric for all other alphas.

    Raises
    ------
    ValueError
        If the metric does not break ties pessimistically, if different scores are equal
        in float64, and for whatever the metric refuses; the message names the argument,
        and the row and query if there is one.
    TypeError
        If `metric` is neither a name nor a metric object.

    Notes
    -----
    The rankings are as in exact arithmetic.  Where two lines are so close that
    rounded scores do not show which is higher, the metric of the blended scores can
    differ from the curve.  An interval whose middle does not reach the value of the
    curve is not chosen.

    With a metric of your own that may value a worse ranking higher, the alphas at which
    documents are tied are not evaluated.

    References
    ----------
    .. [1] Q. Wu, C. Burges, K. Svore and J. Gao, "Adapting boosting for information
       retrieval measures", Information Retrieval 13(3), 2010.

    Examples
    --------
    >>> from sklearn_ltr.ensemble import best_blend
    >>> y, groups = [2, 1, 0, 2, 1, 0], ["a", "a", "a", "b", "b", "b"]
    >>> scores_1, scores_2 = [3, 0, 1, 1, 2, 0], [0, 1, 2, 2, 0, 1]
    >>> curve = best_blend(scores_1, scores_2, y, groups=groups, metric="ndcg")
    >>> round(curve.alpha, 3), round(curve.value, 3)
    (0.583, 0.982)
    >>> curve.change_points.round(3), curve.values.round(3)
    (array([0.25 , 0.333, 0.5  , 0.667]), array([0.775, 0.811, 0.83 , 0.982, 0.88 ]))
    """
    metric = get_metric(metric)
    check_ties(metric)
    queries = QueryGroups.from_groups(groups, count_rows(y, "y"))
    bound = metric.bind(check_grades(y, queries), queries.offsets, queries.query_ids)
    first = check_scores(scores_1, queries, "scores_1")
    second = check_scores(scores_2, queries, "scores_2")
    weights = check_sample_weight(sample_weight, queries)
    only = BoundLabel(np.arange(len(first)), bound, weights, 1.0)
    return sweep_alphas([only], first, second)


def sweep_alphas(
    labels: Sequence[BoundLabel], scores_1: FloatArray, scores_2: FloatArray
) -> BlendCurve:
    """Return the best blend for the weighted mean of the metric of labels."""
    curves = [_curve(one, scores_1, scores_2) for one in labels]
    change_points = np.unique(np.concatenate([points for points, _ in curves]))
    values = np.zeros(len(change_points) + 1)
    for one, (points, own_values) in zip(labels, curves, strict=True):
        # the first interval begins at 0, the others at the change points
        values[0] += one.weight * own_values[0]
        place = np.searchsorted(points, change_points, side="right")
        values[1:] += one.weight * own_values[place]

    def evaluate(alpha: float) -> float:
        return mean_of_bound(labels, alpha * scores_1 + (1.0 - alpha) * scores_2)

    n_queries = sum(len(one.sample_weight) for one in labels)
    n_additions = len(change_points) + n_queries
    total_variation = float(np.abs(np.diff(values)).sum())
    tolerance = EPSILON * (
        n_additions * float(np.abs(values).max()) + 8 * total_variation
    )
    alpha, value = _best_alpha(change_points, values, tolerance, evaluate)
    return BlendCurve(alpha, value, change_points, values)


def check_ties(metric: Metric) -> None:
    """Raise a ValueError unless ties are pessimistic, so that an interval is best."""
    if metric.ties != "pessimistic":
        raise ValueError(
            f'metric must break ties pessimistically, got ties="{metric.ties}": '
            "otherwise a single alpha, where lines cross, could be the best"
        )


def _best_alpha(
    change_points: FloatArray,
    values: FloatArray,
    tolerance: float,
    evaluate: Callable[[float], float],
) -> tuple[float, float]:
    """Return the best alpha and the metric there."""
    # Intervals are evaluated at their middles, in decreasing order of their value on
    # the curve, until the curve is below the best value found by more than its rounding
    # error `tolerance`.
    edges = np.concatenate(([0.0], change_points, [1.0]))
    widths = np.diff(edges)
    # compared by value, then width of the interval, then the smaller alpha
    best = max((evaluate(alpha), 0.0, -alpha) for alpha in (0.0, 1.0))
    for i in np.argsort(-values, kind="stable"):
        if values[i] < best[0] - tolerance:
            break
        alpha = float(edges[i] + widths[i] / 2)
        best = max(best, (evaluate(alpha), float(widths[i]), -alpha))
    return abs(best[2]), best[0]


def _curve(
    label: BoundLabel, scores_1: FloatArray, scores_2: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the alphas where the mean changes, and its values between them."""
    bound, weights = label.bound, label.sample_weight
    scores_1, scores_2 = _scale_to_one(scores_1[label.rows], scores_2[label.rows])
    order = _order_above_zero(bound, scores_1, scores_2)
    decreasing = np.empty(len(order))
    decreasing[order] = -np.arange(len(order), dtype=np.float64)
    start = bound.mean(decreasing, weights)
    if bound.metric.no_relevant == "skip":
        weights = weights * bound.has_relevant
    weights, _ = rescale(weights)
    alphas, changes = _changes(
        bound, scores_1, scores_2, order, weights / weights.sum()
    )

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


def _scale_to_one(
    scores_1: FloatArray, scores_2: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Multiply both by one power of two, exactly, so that no difference overflows."""
    _, exponent = np.frexp(max(np.abs(scores_1).max(), np.abs(scores_2).max()))
    return np.ldexp(scores_1, -exponent), np.ldexp(scores_2, -exponent)


def _order_above_zero(
    bound: BoundMetric, scores_1: FloatArray, scores_2: FloatArray
) -> IntArray:
    """Return the documents as ranked just above alpha = 0, (n_documents,)."""
    # they are ordered by `scores_2`, then by `scores_1`, then pessimistically
    n_documents, n_queries = len(scores_1), len(bound.offsets) - 1
    longest = len(bound.discount)
    order = np.empty(n_documents, dtype=np.int64)
    position = np.empty(n_documents)
    given = bound.offsets, longest, order, False
    rank_documents(0, n_queries, scores_1, bound.grades, *given)
    position[order] = np.arange(n_documents)
    # passed as grades, of which the lower one is ranked first in a tie
    rank_documents(0, n_queries, scores_2, position, *given)
    return order


def _changes(
    bound: BoundMetric,
    scores_1: FloatArray,
    scores_2: FloatArray,
    order: IntArray,
    weights: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the alphas where rankings change, and the change of the mean at each."""
    # `weights`, (n_queries,), add up to 1
    offsets, gain = bound.offsets, bound.gain
    lowest = np.minimum.reduceat(gain, offsets[:-1])
    highest = np.maximum.reduceat(gain, offsets[:-1])
    can_change = (weights > 0) & bound.has_relevant & (lowest < highest)
    alphas, changes = [np.empty(0)], [np.empty(0)]
    metric = bound.metric
    for query in np.flatnonzero(can_change):
        ranked = order[offsets[query] : offsets[query + 1]]
        if isinstance(metric, ClosedFormMetric) and metric.cascade_coefficients:
            k, discount = bound.k, bound.discount
            if bound.limit[query] < k:
                k = int(bound.limit[query])
                discount = cut_at(k, discount)
            at, change = changes_of_list(
                scores_1, scores_2, gain, ranked, k, discount,
                *metric.cascade_coefficients,
            )  # fmt: skip
            change *= bound.scale[query]
        else:
            grades = bound.grades[ranked]
            at, positions = crossings(scores_1[ranked], scores_2[ranked], grades.copy())
            change = _changes_by_evaluation(metric, grades, positions)
        alphas.append(at)
        changes.append(change * weights[query])
    return np.concatenate(alphas), np.concatenate(changes)


def _changes_by_evaluation(
    metric: Metric, grades: FloatArray, positions: IntArray
) -> FloatArray:
    """Return the change by each swap of a metric without coefficients."""
    values = [value_of_list(metric, grades.copy())]
    for p in positions:
        grades[p], grades[p + 1] = grades[p + 1], grades[p]
        values.append(value_of_list(metric, grades.copy()))
    return np.diff(values)


# --- the swaps of one query ---------------------------------------------------------


@subkernel
def crossing_alpha(scores_1: FloatArray, scores_2: FloatArray, p: int) -> float:
    """Return the alpha at which document p + 1 rises above p; infinity if never."""
    advantage = float(scores_1[p + 1] - scores_1[p])
    deficit = float(scores_2[p] - scores_2[p + 1])
    # with deficit 0 the quotient is infinite, and alpha is 0
    return 1.0 / (1.0 + advantage / deficit) if advantage > 0 else np.inf


@subkernel
def update_winner(alphas: FloatArray, winner: IntArray, node: int) -> None:
    """Store the earlier crossing of the two children; of equal ones, the upper."""
    left, right = winner[2 * node], winner[2 * node + 1]
    winner[node] = right if alphas[right] < alphas[left] else left


@subkernel
def grow_array(values: Any) -> Any:
    """Return an array of twice the length whose first half is `values`."""
    result = np.empty(2 * len(values), values.dtype)
    # not by a slice, whose check of shapes takes seconds to compile
    for i in range(len(values)):
        result[i] = values[i]
    return result


@kernel
def crossings(
    scores_1: FloatArray, scores_2: FloatArray, gain: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Return (alphas, positions) of the swaps of one list between alpha = 0 and 1."""
    # The documents come in their order just above alpha = 0; all three arrays are
    # CHANGED to that just below 1.  Alphas do not decrease; at ``alphas[i]`` the
    # documents at ``positions[i]`` and ``positions[i] + 1`` swap.  Swaps of equal gains
    # are left out.
    n, size, n_swaps = len(scores_1), 1, 0
    while size < n:
        size *= 2
    next_alpha = np.full(size, np.inf)  # of the swap at each position
    winner = np.empty(2 * size, np.int64)  # tree: root 1, children of i 2i and 2i + 1
    for p in range(size):
        winner[size + p] = p
        if p < n - 1:
            next_alpha[p] = crossing_alpha(scores_1, scores_2, p)
    for node in range(size - 1, 0, -1):
        update_winner(next_alpha, winner, node)
    alphas, positions = np.empty(n), np.empty(n, np.int64)
    alpha, p = 0.0, winner[1]
    while next_alpha[p] < np.inf:
        # rounding must not make a later swap come at a smaller alpha
        alpha = max(alpha, next_alpha[p])
        if gain[p] != gain[p + 1]:
            if n_swaps == len(alphas):
                alphas, positions = grow_array(alphas), grow_array(positions)
            alphas[n_swaps], positions[n_swaps] = alpha, p
            n_swaps += 1
        for values in (scores_1, scores_2, gain):
            values[p], values[p + 1] = values[p + 1], values[p]
        for q in range(max(p - 1, 0), min(p + 2, n - 1)):
            next_alpha[q] = crossing_alpha(scores_1, scores_2, q)
            node = (size + q) // 2
            while node > 0:
                update_winner(next_alpha, winner, node)
                node //= 2
        p = winner[1]
    return alphas[:n_swaps], positions[:n_swaps]


@subkernel
def k_skyband(scores_1: FloatArray, k: int) -> IntArray:
    """Return the indices of documents that fewer than k others beat in both scores."""
    # `scores_1` is in the order just above alpha = 0.  There, all documents before j
    # are ranked above j; they stay above it for every alpha if their `scores_1` is not
    # lower.
    kept = np.empty(len(scores_1), np.int64)
    highest = np.full(k, -np.inf)  # the k highest scores so far, non-increasing
    n_kept = 0
    for j in range(len(scores_1)):
        if j >= k and scores_1[j] <= highest[k - 1]:
            continue
        hole = min(j, k - 1)
        while hole > 0 and highest[hole - 1] < scores_1[j]:
            highest[hole] = highest[hole - 1]
            hole -= 1
        highest[hole] = scores_1[j]
        kept[n_kept] = j
        n_kept += 1
    return kept[:n_kept]


@subkernel
def changes_by_swaps(
    gain: FloatArray, positions: IntArray, discount: FloatArray, u: float, v: float
) -> FloatArray:
    """Return the change of a closed-form metric by each swap of neighbours."""
    # ``metrics/_closed_form.py`` derives the formula and defines c, u and v.  `gain` is
    # CHANGED from the order before the first swap to that after the last.
    c = np.ones(len(gain))
    for p in range(len(gain) - 1):
        c[p + 1] = c[p] + gain[p] * (u + v * c[p])
    changes = np.empty(len(positions))
    for i in range(len(positions)):
        p = positions[i]
        c_p = c[p]
        difference = gain[p + 1] - gain[p]
        changes[i] = difference * (discount[p] - discount[p + 1]) * c_p
        gain[p], gain[p + 1] = gain[p + 1], gain[p]
        c[p + 1] = c_p + gain[p] * (u + v * c_p)
    return changes


@kernel
def changes_of_list(
    scores_1: FloatArray,
    scores_2: FloatArray,
    gain: FloatArray,
    ranked: IntArray,
    k: int,
    discount: FloatArray,
    u: float,
    v: float,
) -> tuple[FloatArray, FloatArray]:
    """Return where a closed-form metric of one query changes, and by how much."""
    # `ranked` are the documents of the query, in the order just above alpha = 0; u and
    # v are the metric's ``cascade_coefficients``.  The changes, none of them zero, are
    # for the metric with scale 1; the alphas do not decrease.
    if k < len(ranked):
        ranked = ranked[k_skyband(scores_1[ranked], k)]
    gains = gain[ranked]
    alphas, positions = crossings(scores_1[ranked], scores_2[ranked], gains.copy())
    changes = changes_by_swaps(gains, positions, discount, u, v)
    nonzero = changes != 0
    return alphas[nonzero], changes[nonzero]
