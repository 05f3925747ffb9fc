"""The metric as a function of one weight, the others as they were learned.

M_i(v)  =  M(w*_1, ..., w*_(i-1), v, w*_(i+1), ..., w*_n),

for every i: if each is highest at v = w*_i, the gradient of M vanishes at w*, at the
scale at which the curves look smooth.  (It could still be a saddle point: see
``_local_optimality``.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.inspection._mean_metric import MeanMetric
from sklearn_ltr.metrics import Metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOVES = np.linspace(-3, 3, 61)


@dataclass(frozen=True, eq=False)
class WeightCurves:
    """M as a function of single weights.

    Attributes
    ----------
    metric : Metric
        What M is the mean of.
    value : float
        M at the learned weights w*.
    names : list of str, one for each curve
        The weights: by the name of the column if the network has no hidden layers, else
        by the expression that finds one in `network_`, ``coefs[0][3, 1]``.
    learned : ndarray of shape (n_curves,), float64
        Their values in w*.
    moved : ndarray of shape (n_curves, n_points), float64
        The values they were given.
    values : ndarray of shape (n_curves, n_points), float64
        M there.
    peaks : ndarray of shape (n_curves,), bool
        Whether M is nowhere on the curve higher than at w*.
    """

    metric: Metric
    value: float
    names: list[str]
    learned: FloatArray
    moved: FloatArray
    values: FloatArray
    peaks: NDArray[np.bool_]


def weight_curves(
    ranker: Any,
    X: Any,
    y: Any,
    *,
    groups: Any,
    metric: str | Metric | None = None,
    weights: Any = None,
    moves: Any = None,
    sample_weight: Any = None,
) -> WeightCurves:
    r"""Move one weight of a network at a time, and measure the metric.

    Section 4.2 of the report: "fixing all weights but one".  With :math:`w^*` the
    learned weights, :math:`e_i` the unit vector of weight i and :math:`M` the mean of
    the metric over queries (equation 8), the curve of weight i is

    .. math::

        t \mapsto M(w^* + t \, r \, e_i), \qquad
        r = \sqrt{\frac{1}{n} \sum_{j=1}^{n} {w^*_j}^2},

    for each t of `moves`: moves are relative to the root mean square of all weights.

    Parameters
    ----------
    ranker : estimator instance
        A fitted RankNetRanker or LambdaRankRanker, with a network of your own too, or a
        Pipeline or a search that ends in one.  It is not changed.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        What it was trained on, for the report's question.
    y : array-like of shape (n_documents,)
        Grades, finite and >= 0.
    groups : array-like of shape (n_documents,)
        The query of each document: any hashable values, in any row order.
    metric : str, Metric or None, default=None
        What M is the mean of: a name, a metric object; None: what the ranker's `score`
        reports.
    weights : array-like of int or str, default=None
        Which weights to move: by their place in ``network_.parameters``, all arrays
        read one after the other in C order, or by name, as in ``names`` of the result.
        None: all; each point of each curve takes a pass over X.
    moves : array-like of shape (n_points,), default=None
        How far to move them, 0 for not at all; None: 61 points from -3 to 3.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of a query in the mean, constant within it.

    Returns
    -------
    curves : WeightCurves

    Raises
    ------
    NotFittedError
        Before `fit`.
    TypeError
        If the ranker has no weights (a LambdaMARTRanker, say).
    ValueError
        For a weight that there is not, moves that are not finite numbers or so long
        that scores are not finite, weights that are all zero, and whatever the ranker's
        `score` refuses.

    See Also
    --------
    local_optimality : Move all weights at once, along random directions.
    sklearn_ltr.plotting.WeightCurvesDisplay : Draw the curves.

    Examples
    --------
    Only the first column tells the documents apart:

    >>> from sklearn_ltr import RankNetRanker
    >>> from sklearn_ltr.inspection import weight_curves
    >>> X = [[0.1, 0.5], [0.9, 0.5], [0.4, 0.5], [0.8, 0.5]]
    >>> y, groups = [0, 1, 0, 1], ["a", "a", "b", "b"]
    >>> ranker = RankNetRanker(
    ...     hidden_layer_sizes=(), learning_rate_init=0.1, random_state=0
    ... ).fit(X, y, groups=groups)
    >>> curves = weight_curves(ranker, X, y, groups=groups, moves=[-9, 0, 9])
    >>> curves.names
    ['x0', 'x1']
    >>> curves.values.round(2)
    array([[0.63, 1.  , 1.  ],
           [1.  , 1.  , 1.  ]])
    """
    mean = MeanMetric(ranker, X, y, groups, metric, sample_weight)
    names = mean.names()
    chosen = np.arange(len(names)) if weights is None else read_weights(weights, names)
    size = mean.length / np.sqrt(len(names))
    moved = mean.learned[chosen, None] + size * read_moves(moves)
    flat = mean.at(one_moved(mean.learned, chosen, moved))
    values = flat.reshape(moved.shape)
    return WeightCurves(
        mean.metric,
        mean.value,
        [names[i] for i in chosen],
        mean.learned[chosen],
        moved,
        values,
        np.logical_not(mean.rises(values).any(axis=1)),
    )


def one_moved(
    learned: FloatArray, chosen: IntArray, moved: FloatArray
) -> Iterator[FloatArray]:
    """Give vectors of all weights, one of them moved, curve by curve."""
    for i, points in zip(chosen, moved, strict=True):
        for v in points:
            w = learned.copy()
            w[i] = v
            yield w


def read_weights(weights: Any, names: list[str]) -> IntArray:
    """Return the places of weights that are given by place or by name."""
    place = {name: i for i, name in enumerate(names)}
    given = weights.tolist() if isinstance(weights, np.ndarray) else weights
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise ValueError(f"weights must be a list of places or names, got {weights!r}")
    chosen = [place.get(w, -1) if isinstance(w, str) else w for w in given]
    for w, i in zip(given, chosen, strict=True):
        whole = isinstance(i, Integral) and not isinstance(i, bool)
        if not whole or not 0 <= i < len(names):
            raise ValueError(
                f"weights holds {w!r}, but the {len(names)} weights have the places 0 "
                f"to {len(names) - 1}, and the names {', '.join(names[:3])}, ..."
            )
    if not chosen:
        raise ValueError("weights is empty: name at least one, or None for all")
    return np.array(chosen, dtype=np.int64)


def read_moves(moves: Any) -> FloatArray:
    """Return how far to move a weight, (n_points,)."""
    if moves is None:
        return MOVES
    try:
        read = np.asarray(moves, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"moves must be numbers: {error}") from None
    if read.ndim != 1 or not len(read) or not np.isfinite(read).all():
        raise ValueError(
            f"moves must be a list of finite numbers, at least one, got {moves!r}"
        )
    return read
