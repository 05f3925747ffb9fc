r"""The report's one-sided Monte Carlo test, by random directions.

Let p be the share of all directions in weight space along which M rises.  Of n random
ones all miss them with probability (1 - p)^n.  For p <= p0 with confidence 1 - delta,

    (1 - p0)^n <= delta,    so    n >= log(delta) / log(1 - p0)            (equation 9)

directions must all fail to rise: 459 for delta = p0 = 0.01.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, log, log1p
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom
from sklearn.utils import check_random_state, check_scalar

from sklearn_ltr.inspection._mean_metric import MeanMetric
from sklearn_ltr.metrics import Metric

FloatArray = NDArray[np.float64]


def directions_needed(delta: float, p0: float) -> int:
    """Return the smallest n of equation 9."""
    return ceil(log(delta) / log1p(-p0))


@dataclass(frozen=True, eq=False)
class LocalOptimality:
    r"""What random directions say of the learned weights w*.

    Attributes
    ----------
    metric : Metric
        What M is the mean of.
    value : float
        M at w*.
    values : ndarray of shape (n_directions,), float64
        M after the step along each direction.
    ascends : ndarray of shape (n_directions,), bool
        Whether M is higher there than at w*.
    step : float
        Length of the step, in the units of the weights.
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

        Where there are many, the step is too small to say anything.
        """
        return int((self.values == self.value).sum())

    @property
    def fraction_ascending(self) -> float:
        """Share of the directions along which M rises: an estimate of p."""
        return self.n_ascending / self.n_directions

    @property
    def confidence(self) -> float:
        r"""Confidence that p <= p0.

        With k of n directions ascending, it is one minus the probability that so few
        would ascend if p were p0,

        .. math:: 1 - \sum_{i=0}^{k} \binom{n}{i} p_0^i (1 - p_0)^{n - i},

        the report's :math:`1 - (1 - p_0)^n` if none ascends.
        """
        return float(binom.sf(self.n_ascending, self.n_directions, self.p0))

    @property
    def upper_bound(self) -> float:
        r"""Upper bound of p at confidence 1 - delta, by Clopper and Pearson.

        The p at which so few ascending directions have probability delta:
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
    r"""Move a network's weights along random directions, and see if the metric rises.

    Section 4.2 of the report.  With :math:`w^*` the learned weights, those of all
    layers and their biases in one vector, and :math:`u` uniform on the unit sphere (a
    spherical Gaussian, divided by its length),

    .. math::

        M(w) = \frac{1}{n} \sum_{q=1}^{n} Z_q(w), \qquad
        w = w^* + h \, \|w^*\| \, u,

    where :math:`Z_q` is the metric of query q as the network with weights w ranks it
    (equation 8), and h is `step_size`: the step is relative to the length of
    :math:`w^*`.  If M rises along none of ``log(delta) / log(1 - p0)`` directions
    (equation 9), then with confidence ``1 - delta`` it rises along at most a share `p0`
    of all.

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
    n_directions : int >= 1 or None, default=None
        How many directions to try.  None: as many as equation 9 asks for, 459 for the
        defaults.
    delta : float in (0, 1), default=0.01
        One minus the confidence asked for.
    p0 : float in (0, 1), default=0.01
        The share of ascending directions to rule out.
    step_size : float > 0, default=0.1
        Length of the step, divided by that of :math:`w^*`.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of a query in the mean, constant within it.
    random_state : int, RandomState instance or None, default=None
        Draws the directions.

    Returns
    -------
    result : LocalOptimality
        M at :math:`w^*` and after each step, the share of directions that ascend, and
        what that says of all directions.

    Raises
    ------
    NotFittedError
        Before `fit`.
    TypeError
        If the ranker has no weights (a LambdaMARTRanker, say), or for a parameter of
        another type.
    ValueError
        For a parameter out of its range, weights that are all zero, a step so long that
        scores are not finite, and whatever the ranker's `score` refuses.

    Notes
    -----
    Zoomed in far enough, M is a step function: a step must be long enough to change the
    order of many pairs, and ``result.n_level`` counts the directions that changed
    nothing.  A longer step asks whether there is a higher place some way off, not
    whether the gradient vanishes.  So the answer belongs to a step size, and it is
    worth asking for several.

    The weight of a constant column changes no order of documents, but counts in the
    length of :math:`w^*` and of the directions: leave such columns out.

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
    if n_directions is not None:
        check_scalar(n_directions, "n_directions", Integral, min_val=1)
    for name, share in {"delta": delta, "p0": p0}.items():
        inside: dict[str, Any] = {"min_val": 0, "max_val": 1}
        check_scalar(share, name, Real, include_boundaries="neither", **inside)
    check_scalar(step_size, "step_size", Real, min_val=0, include_boundaries="neither")
    mean = MeanMetric(ranker, X, y, groups, metric, sample_weight)
    step = step_size * mean.length
    n = directions_needed(delta, p0) if n_directions is None else int(n_directions)
    rng = check_random_state(random_state)
    directions = unit_vectors(rng, n, len(mean.learned))
    values = mean.at(mean.learned + step * u for u in directions)
    return LocalOptimality(
        mean.metric, mean.value, values, mean.rises(values), step, delta, p0
    )


def unit_vectors(
    rng: np.random.RandomState, n: int, n_weights: int
) -> Iterator[FloatArray]:
    """Draw directions, uniform on the sphere, one at a time."""
    for _ in range(n):
        u = rng.standard_normal(n_weights)
        yield u / np.linalg.norm(u)
