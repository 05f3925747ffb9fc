r"""The report's one-sided Monte Carlo test of local optimality, by random directions.

Let p be the fraction of all directions in weight space along which the mean metric M
rises.  If n directions are drawn at random, M rises along none of them with probability
(1 - p)^n.  To conclude p <= p0 with confidence 1 - delta, this probability must be at
most delta at p = p0:

    (1 - p0)^n <= delta,    so    n >= log(delta) / log(1 - p0)            (equation 9)

directions are needed, and M must rise along none of them: n = 459 for
delta = p0 = 0.01.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, log, log1p
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom
from sklearn.utils import check_random_state

from sklearn_ltr._parameters import Range, at_least, positive
from sklearn_ltr.inspection._mean_metric import MeanMetric
from sklearn_ltr.metrics import Metric

FloatArray = NDArray[np.float64]


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

        which is the report's :math:`1 - (1 - p_0)^n` if none ascends.
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
    ranker: Any,
    X: Any,
    y: Any,
    *,
    groups: Any,
    metric: str | Metric | None = None,
    n_directions: int | None = None,
    delta: float = 0.01,
    p0: float = 0.01,
    step_size: float = 0.1,
    sample_weight: Any = None,
    random_state: Any = None,
) -> LocalOptimality:
    r"""Test whether a metric rises along random directions of a network's weights.

    Section 4.2 of the report.  With :math:`w^*` the trained weights of all layers,
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
        a Pipeline or a search that ends in one.  It is not changed.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Documents to rank.  The report uses the training data.
    y : array-like of shape (n_documents,)
        Grades, finite and >= 0.
    groups : array-like of shape (n_documents,)
        The query of each document: any sortable values, in any row order.
    metric : str, Metric or None, default=None
        A name or a metric object.  None: the metric of the ranker's `score`.
    n_directions : int >= 1 or None, default=None
        Number of directions to try.  None: the number of equation 9, 459 for the
        defaults.
    delta : float in (0, 1), default=0.01
        One minus the required confidence.
    p0 : float in (0, 1), default=0.01
        Fraction of ascending directions to rule out.
    step_size : float > 0, default=0.1
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
    at_least("n_directions", 1, optional=True).read(n_directions)
    Range("delta", Real, 0, 1, "neither").read(delta)
    Range("p0", Real, 0, 1, "neither").read(p0)
    positive("step_size").read(step_size)
    mean = MeanMetric(ranker, X, y, groups, metric, sample_weight)
    step = step_size * mean.norm
    n = directions_needed(delta, p0) if n_directions is None else int(n_directions)
    rng = check_random_state(random_state)
    directions = unit_vectors(rng, n, len(mean.trained))
    values = mean.evaluate(mean.trained + step * u for u in directions)
    ascends = mean.exceeds_trained(values)
    return LocalOptimality(mean.metric, mean.value, values, ascends, step, delta, p0)


def unit_vectors(
    rng: np.random.RandomState, n: int, n_weights: int
) -> Iterator[FloatArray]:
    """Draw directions uniformly on the unit sphere, one at a time."""
    for _ in range(n):
        u = rng.standard_normal(n_weights)
        yield u / np.linalg.norm(u)
