"""The mean metric as a function of one weight of a network, with all others fixed.

M_i(v)  =  M(w*_1, ..., w*_(i-1), v, w*_(i+1), ..., w*_n)

for every weight i.  If each curve has its maximum at v = w*_i, the gradient of M
vanishes at w*, at the scale at which the curves look smooth.  w* could still be a
saddle point; ``_local_optimality`` tests for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import count_rows, read_numbers
from sklearn_ltr.inspection._mean_metric import MeanMetric
from sklearn_ltr.metrics import Metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DEFAULT_MOVES = np.linspace(-3, 3, 61)


@dataclass(frozen=True, eq=False)
class WeightCurves:
    """The mean metric M as a function of single weights.

    Attributes
    ----------
    metric : Metric
        The metric of each query.
    value : float
        M at the trained weights w*.
    names : list of str, one for each curve
        Names of the weights: the name of the feature if the network has no hidden
        layers, else the expression that finds the weight in `network_`, such as
        ``coefs[0][3, 1]``.
    learned : ndarray of shape (n_curves,), float64
        Values of these weights in w*.
    moved : ndarray of shape (n_curves, n_points), float64
        Values of the weight along each curve.
    values : ndarray of shape (n_curves, n_points), float64
        M at these values.
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
    r"""Compute a metric as a function of each weight of a network.

    Section 4.2 of the report: "fixing all weights but one".  With :math:`w^*` the
    trained weights, :math:`e_i` the unit vector of weight i and :math:`M` the mean of
    the metric over queries (equation 8), the curve of weight i is

    .. math::

        t \mapsto M(w^* + t \, r \, e_i), \qquad
        r = \sqrt{\frac{1}{n} \sum_{j=1}^{n} {w^*_j}^2},

    for each t of `moves`, which are relative to the root mean square r of all weights.

    Parameters
    ----------
    ranker : estimator instance
        A fitted RankNetRanker or LambdaRankRanker (also with a network of your own), or
        a Pipeline or a search that ends in one.  It is not changed.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Documents to rank.  The report uses the training data.
    y : array-like of shape (n_documents,)
        Grades, finite and >= 0.
    groups : array-like of shape (n_documents,)
        The query of each document: any sortable values, in any row order.
    metric : str, Metric or None, default=None
        A name or a metric object.  None: the metric of the ranker's `score`.
    weights : array-like of int or str, default=None
        Weights to compute curves of: by index in ``network_.parameters``, whose arrays
        are concatenated in C order, or by name, as in ``names`` of the result.  None:
        all.  Each point of each curve takes one prediction of X.
    moves : array-like of shape (n_points,), default=None
        Changes t of the weight; 0 is its trained value.  None: 61 points from -3 to 3.
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
        If the ranker is not a network (such as a LambdaMARTRanker).
    ValueError
        For an unknown weight, moves that are not finite numbers or so long that scores
        are not finite, weights that are all zero, and whatever the ranker's `score`
        refuses.

    See Also
    --------
    local_optimality : Change all weights at once, along random directions.
    sklearn_ltr.plotting.WeightCurvesDisplay : Draw the curves.

    Examples
    --------
    Only the first feature differs between documents:

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
    names = mean.weight_names()
    index = np.arange(len(names)) if weights is None else read_weights(weights, names)
    root_mean_square = mean.norm / np.sqrt(len(names))
    moved = mean.trained[index, None] + root_mean_square * read_moves(moves)
    flat = mean.evaluate(change_one_weight(mean.trained, index, moved))
    values = flat.reshape(moved.shape)
    return WeightCurves(
        mean.metric,
        mean.value,
        [names[i] for i in index],
        mean.trained[index],
        moved,
        values,
        np.logical_not(mean.exceeds_trained(values).any(axis=1)),
    )


def change_one_weight(
    trained: FloatArray, index: IntArray, moved: FloatArray
) -> Iterator[FloatArray]:
    """Yield vectors of all weights, one of which is changed, curve by curve."""
    for i, points in zip(index, moved, strict=True):
        for v in points:
            w = trained.copy()
            w[i] = v
            yield w


def read_weights(weights: Any, names: list[str]) -> IntArray:
    """Return the indices of weights that are given by index or by name."""
    index_of_name = {name: i for i, name in enumerate(names)}
    if isinstance(weights, str | Mapping | Set) or not hasattr(weights, "__iter__"):
        raise ValueError(f"weights must be a list of indices or names, got {weights!r}")
    given = weights.tolist() if isinstance(weights, np.ndarray) else list(weights)
    indices = [index_of_name.get(w, -1) if isinstance(w, str) else w for w in given]
    for w, i in zip(given, indices, strict=True):
        is_integer = isinstance(i, Integral) and not isinstance(i, bool)
        if not is_integer or not 0 <= i < len(names):
            raise ValueError(
                f"weights holds {w!r}, but the {len(names)} weights have the indices 0 "
                f"to {len(names) - 1}, and the names {', '.join(names[:3])}, ..."
            )
    if not indices:
        raise ValueError("weights is empty: name at least one, or None for all")
    return np.array(indices, dtype=np.int64)


def read_moves(moves: Any) -> FloatArray:
    """Return the changes of a weight in units of the root mean square, (n_points,)."""
    if moves is None:
        return DEFAULT_MOVES
    read = read_numbers(moves, count_rows(moves, "moves"), "moves", "point")
    if not len(read) or not np.isfinite(read).all():
        raise ValueError(
            f"moves must be a list of finite numbers, at least one, got {moves!r}"
        )
    return read
