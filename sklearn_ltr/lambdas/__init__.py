"""Lambdas: the pair loop, and nothing else.

    gradient of document i = sum over its pairs of force(s_i - s_j) * |swap delta|

RankNet's force alone makes RankNet; with the swap delta of a metric it makes LambdaRank
and LambdaMART.  The sign is that of a cost's derivative, dC/ds: a positive lambda
pushes its document down.

For a metric with a cutoff k, only pairs with one document in the current top k have a
swap delta; the loop runs over those n x k pairs, which is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._queries import QueryGroups, check_grades, check_scores
from sklearn_ltr.lambdas._objective import LambdaGradient
from sklearn_ltr.lambdas._preferences import preference_cost, push_preferences
from sklearn_ltr.lambdas._ranknet_cost import pair_costs, pull_together
from sklearn_ltr.metrics import Metric, get_metric

__all__ = [
    "LambdaGradient",
    "compute_lambdas",
    "pair_costs",
    "preference_cost",
    "pull_together",
    "push_preferences",
]


def compute_lambdas(
    scores: Any,
    grades: Any,
    queries: QueryGroups,
    metric: str | Metric | None = "ndcg@10",
    sigma: float = 1.0,
    *,
    distance_normalization: bool = False,
    query_normalization: bool = False,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Gradient and hessian of every document, at the order of the given scores.

    With :math:`\rho_{ij} = 1 / (1 + e^{\sigma (s_i - s_j)})` for a pair whose document
    i has the higher grade (sections 4.1 and 7 of the report, equation 6),

    .. math::

        \lambda_{ij} = -\sigma |\Delta Z_{ij}| \rho_{ij}, \qquad
        \frac{\partial C}{\partial s_i}
        = \sum_{j: i \triangleright j} \lambda_{ij}
        - \sum_{j: j \triangleright i} \lambda_{ji}, \qquad
        \frac{\partial^2 C}{\partial s_i^2}
        = \sum_j \sigma^2 |\Delta Z_{ij}| \rho_{ij} (1 - \rho_{ij}).

    Documents equal in score and in grade get their mean: which of them stands where is
    an accident of row order.

    Parameters
    ----------
    scores : array-like of shape (n_documents,)
        Finite; in the order of the rows.
    grades : array-like of shape (n_documents,)
        Finite, >= 0; in the order of the rows.
    queries : QueryGroups
        Which rows belong together.
    metric : str, Metric or None, default="ndcg@10"
        Whose change by a swap multiplies the force.  None: every pair counts 1, and the
        result is the derivative of RankNet's cost (section 2, equation 4).
    sigma : float > 0, default=1.0
        Steepness of the sigmoid.
    distance_normalization : bool, default=False
        Divide a pair's swap delta by ``0.01 + sigma |s_i - s_j|`` in queries whose
        scores differ.  Not in the report.
    query_normalization : bool, default=False
        Multiply the lambdas of a query by ``log2(1 + S) / S``, where S is the sum of
        ``2 |lambda_ij| / sigma`` over its pairs.  Not in the report.
    n_jobs : int or None, default=None
        Threads; None: all there are.  The result is the same for any number.

    Returns
    -------
    gradient, hessian : ndarrays of shape (n_documents,), float64
        In the order of the rows.

    Raises
    ------
    ValueError
        For scores or grades that are not one finite number per row, a negative grade,
        an unknown metric, or sigma <= 0.

    Examples
    --------
    >>> from sklearn_ltr.lambdas import compute_lambdas
    >>> from sklearn_ltr._queries import QueryGroups
    >>> queries = QueryGroups.from_groups(["a", "a"], 2)
    >>> gradient, hessian = compute_lambdas([0.0, 0.0], [1, 0], queries, metric=None)
    >>> gradient
    array([-0.5,  0.5])
    >>> hessian
    array([0.25, 0.25])
    """
    if not (np.isfinite(sigma) and sigma > 0):
        raise ValueError(f"sigma must be a finite number > 0, got {sigma!r}")
    canonical_scores = check_scores(scores, queries, "scores")
    canonical_grades = check_grades(grades, queries, "grades")
    with ThreadTeam(effective_n_threads(n_jobs, 32 * queries.n_documents)) as team:
        lambdas = LambdaGradient(
            canonical_grades,
            queries.offsets,
            None if metric is None else get_metric(metric),
            sigma,
            labels=queries.labels,
            query_weight=None,
            distance_normalization=distance_normalization,
            query_normalization=query_normalization,
            team=team,
        )
        gradient, hessian = lambdas(canonical_scores)
    return queries.unsort(gradient), queries.unsort(hessian)
