r"""Whether a trained network is at a local maximum of the metric.

Section 4.2 of Burges (2010, MSR-TR-2010-82).

**The mean metric** as a function of the weights of a network,

    M(w)  =  1/n  sum over queries of  metric(query, ranked by a network of weights w)

is equation 8.  The weights of all layers, including
biases, form one vector w; w* are the trained weights.  M is piecewise constant: it
jumps where two documents swap ranks.

**Random directions**: the one-sided Monte Carlo test of Burges (2010).
Let p be the fraction of all directions in weight space along which the mean metric M
rises.  If n directions are drawn at random, M rises along none of them with probability
(1 - p)^n.  To conclude p <= p0 with confidence 1 - delta, this probability must be at
most delta at p = p0:

    (1 - p0)^n <= delta,    so    n >= log(delta) / log(1 - p0)            (equation 9)

directions are needed, and M must rise along none of them: n = 459 for
delta = p0 = 0.01.

**Single weights**, with all others fixed:

    M_i(v)  =  M(w*_1, ..., w*_(i-1), v, w*_(i+1), ..., w*_n)

for every weight i.  If each curve has its maximum at v = w*_i, the gradient of M
vanishes at w*, at the scale at which the curves look smooth.  w* could still be a
saddle point; random directions test for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass, field
from math import ceil, log, log1p
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, binom
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.compile import ThreadTeam, effective_n_threads
from sklearn_ltr._core.data import (
    QueryGroups,
    check_grades,
    check_sample_weight,
    count_rows,
    read_numbers,
)
from sklearn_ltr._core.networks import MultilayerPerceptron, Network, predict
from sklearn_ltr._core.parameters import POSITIVE, integer, real
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike, Seed
from sklearn_ltr.inspection._models import (
    find_model,
    hint,
    metric_of,
    transform_for_model,
)
from sklearn_ltr.metrics import Metric

# Relative rounding error of a mean over queries.  A jump of M is far larger.
MEAN_ROUNDING = 1e-12
DEFAULT_MOVES = np.linspace(-3, 3, 61)


class MeanMetric:
    """M(w), for a copy of a fitted ranker's network; the ranker itself never changes.

    Attributes
    ----------
    metric : Metric
    network : Network
        The copy.  Its weights are those of the last evaluation.
    trained : (n_weights,) float64
        w*: all weights, in the order of ``network.parameters``.
    norm : float above 0
        Euclidean norm of w*.
    value : float
        M(w*).
    feature_names : array-like of str or None
        Names of the inputs of the network, if known.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        groups: IdsLike,
        metric: str | Metric | None,
        sample_weight: ArrayLike | None,
    ) -> None:
        ranker, self.feature_names = find_model(estimator)
        check_is_fitted(ranker)
        if not hasattr(ranker, "network_"):
            raise TypeError(
                f"ranker is a {type(ranker).__name__}, not a network"
                f"{hint(ranker, 'network_')}, so it has no weights to change: give a "
                "RankNetRanker or a LambdaRankRanker, or a Pipeline, search or "
                "CalibratedRanker of one"
            )
        self.metric = metric_of(ranker, metric)
        X = transform_for_model(estimator, X)
        ranker.predict(X)  # raises if X is invalid, with the ranker's message
        self._X = check_array(X, accept_sparse="csr", dtype=np.float32, order="C")
        self._queries = QueryGroups.from_groups(groups, self._X.shape[0])
        queries = self._queries
        grades = check_grades(y, queries)
        self._query_weights = check_sample_weight(sample_weight, queries)
        self._bound = self.metric.bind(grades, queries.offsets, queries.query_ids)
        self._n_threads = effective_n_threads(ranker.n_jobs, self._X.size)
        self.network: Network = deepcopy(ranker.network_)
        arrays = [np.ravel(array) for array in self.network.parameters]
        self.trained: FloatArray = np.concatenate(arrays).astype(np.float64)
        self.norm = float(np.linalg.norm(self.trained))
        if self.norm == 0:
            raise ValueError(
                "the weights of the ranker are all zero, so relative steps have length "
                "zero: train it first"
            )
        self.value = float(self.evaluate([self.trained])[0])

    def evaluate(self, weight_vectors: Iterable[FloatArray]) -> FloatArray:
        """Return M at each of several vectors of all weights, (n_vectors,)."""
        with ThreadTeam(self._n_threads) as team:
            return np.array([self._evaluate_one(w, team) for w in weight_vectors])

    def _evaluate_one(self, weights: FloatArray, team: ThreadTeam) -> float:
        """Return M at one vector of weights."""
        start = 0
        with np.errstate(over="ignore"):  # `predict` checks that scores are finite
            for array in self.network.parameters:
                array[...] = weights[start : start + array.size].reshape(array.shape)
                start += array.size
        try:
            scores = predict(self.network, self._X, team)
        except FloatingPointError:
            raise ValueError(
                "the scores of X are not finite after so long a step of the weights: "
                "take smaller steps"
            ) from None
        return self._bound.mean(self._queries.sort(scores), self._query_weights)

    def exceeds_trained(self, values: FloatArray) -> NDArray[np.bool_]:
        """Return whether values are above M(w*) by more than rounding."""
        above: NDArray[np.bool_] = values - self.value > MEAN_ROUNDING * abs(self.value)
        return above

    def weight_names(self) -> list[str]:
        """Return a name for each weight."""
        # Without hidden layers a weight has the name of its feature.  Otherwise its
        # name is the expression that finds it in the network: ``coefs[0][3, 1]``.
        network = self.network
        if not isinstance(network, MultilayerPerceptron):
            return names_of_entries({"parameters": network.parameters})
        if network.intercepts:
            layers = {"coefs": network.coefs, "intercepts": network.intercepts}
            return names_of_entries(layers)
        if self.feature_names is None:
            return [f"x{feature}" for feature in range(len(self.trained))]
        return [str(name) for name in self.feature_names]


def names_of_entries(
    arrays: Mapping[str, Sequence[NDArray[np.floating]]],
) -> list[str]:
    """Name every entry of lists of arrays: ``coefs[0][3, 1]``."""
    return [
        f"{name}[{number}]{list(index)}"
        for name, list_of_arrays in arrays.items()
        for number, array in enumerate(list_of_arrays)
        for index in np.ndindex(array.shape)
    ]


def directions_needed(delta: float, p0: float) -> int:
    """Return the smallest n of equation 9."""
    return ceil(log(delta) / log1p(-p0))


@dataclass(frozen=True, eq=False)
class LocalOptimality:
    r"""Result of :func:`local_optimality` for the trained weights w*.

    Attributes
    ----------
    metric : Metric
        The metric of each query.
    value : float
        Mean metric M at w*.
    values : ndarray of shape (n_directions,), float64
        M after a step along each direction.
    ascends : ndarray of shape (n_directions,), bool
        Whether M is higher there than at w*.
    step : float
        Euclidean length of a step, in the units of the weights.
    delta, p0 : float
        As given to :func:`local_optimality`.
    """

    metric: Metric
    value: float
    values: FloatArray = field(repr=False)
    ascends: NDArray[np.bool_] = field(repr=False)
    step: float
    delta: float
    p0: float

    @property
    def n_directions(self) -> int:
        """Number of directions."""
        return len(self.values)

    @property
    def n_ascending(self) -> int:
        """Number of directions along which M rises."""
        return int(self.ascends.sum())

    @property
    def n_level(self) -> int:
        """Number of directions along which M does not change at all.

        If there are many, the step is too short for a conclusion.
        """
        return int((self.values == self.value).sum())

    @property
    def fraction_ascending(self) -> float:
        """Fraction of the directions along which M rises: an estimate of p."""
        return self.n_ascending / self.n_directions

    @property
    def confidence(self) -> float:
        r"""Confidence that p <= p0.

        With k of n directions ascending, it is one minus the probability that at most k
        ascend if p = p0,

        .. math:: 1 - \sum_{i=0}^{k} \binom{n}{i} p_0^i (1 - p_0)^{n - i},

        which is Burges's :math:`1 - (1 - p_0)^n` if none ascends.
        """
        return float(binom.sf(self.n_ascending, self.n_directions, self.p0))

    @property
    def upper_bound(self) -> float:
        r"""Clopper-Pearson upper bound of p at confidence 1 - delta.

        The p at which at most k of n directions ascend with probability delta:
        :math:`1 - \delta^{1/n}` if none ascends, 1 if all do.
        """
        k, n = self.n_ascending, self.n_directions
        return 1.0 if k == n else float(beta.ppf(1 - self.delta, k + 1, n - k))


def local_optimality(
    ranker: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    groups: IdsLike,
    metric: str | Metric | None = None,
    n_directions: int | None = None,
    delta: float = 0.01,
    p0: float = 0.01,
    step_size: float = 0.1,
    sample_weight: ArrayLike | None = None,
    random_state: Seed = None,
) -> LocalOptimality:
    r"""Test whether a metric rises along random directions of a network's weights.

    Section 4.2 of Burges (2010).  With :math:`w^*` the trained weights of all layers,
    including biases, as one vector, and :math:`u` uniform on the unit sphere (a
    spherical Gaussian divided by its norm),

    .. math::

        M(w) = \frac{1}{n} \sum_{q=1}^{n} Z_q(w), \qquad
        w = w^* + h \, \|w^*\| \, u,

    where :math:`Z_q` is the metric of query q as ranked by the network with weights w
    (equation 8), and h is `step_size`: the step is relative to the norm of
    :math:`w^*`.  If M rises along none of ``log(delta) / log(1 - p0)`` directions
    (equation 9), then with confidence ``1 - delta`` it rises along at most a fraction
    `p0` of all directions.

    Parameters
    ----------
    ranker : estimator instance
        A fitted RankNetRanker or LambdaRankRanker (also with a network of your own), or
        a Pipeline, search or CalibratedRanker of one.  It is not changed.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Documents to rank.  Burges (2010) uses the training data.
    y : array-like of shape (n_documents,)
        Grades, finite and >= 0.
    groups : array-like of shape (n_documents,)
        The query of each document: numbers, text, dates, or tuples of these.
    metric : str, Metric or None, default=None
        A name or a metric object.  None: the metric of the ranker's `score`.
    n_directions : int of at least 1 or None, default=None
        Number of directions to try.  None: the number of equation 9, 459 for the
        defaults.
    delta : float in (0, 1), default=0.01
        One minus the required confidence.
    p0 : float in (0, 1), default=0.01
        Fraction of ascending directions to rule out.
    step_size : float above 0, default=0.1
        Length of a step relative to the norm of :math:`w^*`.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of a query in the mean, constant within it.
    random_state : int, RandomState instance or None, default=None
        Seed of the directions.

    Returns
    -------
    result : LocalOptimality
        M at :math:`w^*` and after each step, the fraction of ascending directions, and
        the bounds on the fraction of all directions that ascend.

    Raises
    ------
    NotFittedError
        Before `fit`.
    TypeError
        If the ranker is not a network (such as a LambdaMARTRanker), or for a parameter
        of another type.
    ValueError
        For a parameter out of its range, weights that are all zero, a step so long that
        scores are not finite, and whatever the ranker's `score` refuses.

    Notes
    -----
    M is a step function, so a step must be long enough to swap many pairs of documents;
    ``result.n_level`` counts the directions along which M did not change.  A very long
    step tests whether there is a better model at that distance, not whether the
    gradient vanishes.  So the result depends on `step_size`; try several.

    The weight of a constant feature never changes a ranking, but it adds to the norm of
    :math:`w^*` and of the directions: leave such features out.

    References
    ----------
    C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", Microsoft
    Research Technical Report MSR-TR-2010-82, 2010; P. Donmez, K. Svore and C. Burges,
    "On the Local Optimality of LambdaRank", SIGIR 2009; Y. Yue and C. Burges, "On Using
    Simultaneous Perturbation Stochastic Approximation for Learning to Rank, and the
    Empirical Optimality of LambdaRank", Microsoft Research Technical Report
    MSR-TR-2007-115, 2007.

    Examples
    --------
    >>> from sklearn_ltr import LambdaRankRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr.inspection import local_optimality
    >>> data = make_ranking(50, n_features=5, n_informative=3, random_state=0)
    >>> X, y, groups = data.data, data.target, data.groups
    >>> ranker = LambdaRankRanker(hidden_layer_sizes=(), random_state=0)
    >>> ranker = ranker.fit(X, y, groups=groups)
    >>> result = local_optimality(ranker, X, y, groups=groups, random_state=0)
    >>> result.n_directions, result.value == ranker.score(X, y, groups=groups)
    (459, True)
    """
    integer(1, optional=True).read_as("n_directions", n_directions)
    real(0, 1, "neither").read_as("delta", delta)
    real(0, 1, "neither").read_as("p0", p0)
    POSITIVE.read_as("step_size", step_size)
    mean = MeanMetric(ranker, X, y, groups, metric, sample_weight)
    step = step_size * mean.norm
    n = directions_needed(delta, p0) if n_directions is None else int(n_directions)
    rng = check_random_state(random_state)
    normal = (rng.standard_normal(len(mean.trained)) for _ in range(n))
    values = mean.evaluate(
        mean.trained + step * (u / np.linalg.norm(u)) for u in normal
    )
    ascends = mean.exceeds_trained(values)
    return LocalOptimality(mean.metric, mean.value, values, ascends, step, delta, p0)


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
    ranker: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    groups: IdsLike,
    metric: str | Metric | None = None,
    weights: Sequence[int | str] | IntArray | None = None,
    moves: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> WeightCurves:
    r"""Compute a metric as a function of each weight of a network.

    Section 4.2 of Burges (2010): "fixing all weights but one".  With :math:`w^*` the
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
        a Pipeline, search or CalibratedRanker of one.  It is not changed.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Documents to rank.  Burges (2010) uses the training data.
    y : array-like of shape (n_documents,)
        Grades, finite and >= 0.
    groups : array-like of shape (n_documents,)
        The query of each document: numbers, text, dates, or tuples of these.
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
    every = np.arange(len(names))
    index = every
    if weights is not None:
        if isinstance(weights, str | Mapping | Set) or not hasattr(weights, "__iter__"):
            raise ValueError(
                f"weights must be a list of indices or names, got {weights!r}"
            )
        given = weights.tolist() if isinstance(weights, np.ndarray) else list(weights)
        index_of = {name: i for i, name in enumerate(names)}
        indices = [index_of.get(w, -1) if isinstance(w, str) else w for w in given]
        for w, i in zip(given, indices, strict=True):
            is_integer = isinstance(i, Integral) and not isinstance(i, bool)
            if not is_integer or not 0 <= i < len(names):
                raise ValueError(
                    f"weights holds {w!r}: give indices from 0 to {len(names) - 1}, or "
                    f"names, {', '.join(names[:3])}, ..."
                )
        if not indices:
            raise ValueError("weights is empty: name at least one, or None for all")
        index = np.array(indices, dtype=np.int64)
    changes = DEFAULT_MOVES
    if moves is not None:
        changes = read_numbers(moves, count_rows(moves, "moves"), "moves", "point")
        if not len(changes) or not np.isfinite(changes).all():
            raise ValueError(
                f"moves must be a list of finite numbers, at least one, got {moves!r}"
            )
    root_mean_square = mean.norm / np.sqrt(len(names))
    moved = mean.trained[index, None] + root_mean_square * changes
    flat = mean.evaluate(
        np.where(every == i, value, mean.trained)
        for i, points in zip(index, moved, strict=True)
        for value in points
    )
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
