"""The lambdas of given scores and grades, as a function."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.compile import ThreadTeam, effective_n_threads
from sklearn_ltr._core.data import (
    GivenColumns,
    QueryGroups,
    RowColumns,
    TrainingData,
    check_grades,
    check_scores,
    count_rows,
)
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.lambdas.graded_pairs import GradedLambdas
from sklearn_ltr._core.lambdas.pair import NORMALIZATIONS, PairOptions
from sklearn_ltr._core.lambdas.position_bias import pair_weights_of
from sklearn_ltr._core.parameters import POSITIVE
from sklearn_ltr._core.typing import IdsLike
from sklearn_ltr.metrics import Metric, get_metric


def compute_lambdas(
    scores: ArrayLike,
    grades: ArrayLike,
    metric: str | Metric | None = "ndcg@10",
    sigma: float = 1.0,
    *,
    groups: IdsLike,
    document_weight: ArrayLike | None = None,
    normalize_lambdas: bool | Literal["distance", "query"] = False,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Compute the gradient and hessian of every document for the given scores.

    They are what LambdaRank and LambdaMART learn from (Burges, "From RankNet to
    LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82, 2010).
    With :math:`\rho_{ij} = 1 / (1 + e^{\sigma (s_i - s_j)})` for a pair whose document
    i has the higher grade (its sections 4.1 and 7, equation 6),

    .. math::

        \lambda_{ij} = -\sigma |\Delta Z_{ij}| \rho_{ij}, \qquad
        \frac{\partial C}{\partial s_i}
        = \sum_{j: i \triangleright j} \lambda_{ij}
        - \sum_{j: j \triangleright i} \lambda_{ji}, \qquad
        \frac{\partial^2 C}{\partial s_i^2}
        = \sum_j \sigma^2 |\Delta Z_{ij}| \rho_{ij} (1 - \rho_{ij}).

    With weights of documents, each :math:`|\Delta Z_{ij}|` is multiplied by
    :math:`w_i w_j`.  Documents of equal score and equal grade (and weight) all get the
    mean of their values, so the result does not depend on the order of the rows.

    Parameters
    ----------
    scores : array-like of shape (n_documents,)
        Score of each document, finite.
    grades : array-like of shape (n_documents,)
        Relevance grade of each document, finite and >= 0.
    metric : str, Metric or None, default="ndcg@10"
        Metric whose change by a swap, :math:`|\Delta Z_{ij}|`, multiplies the lambda
        of the pair.
        None: 1 for every pair, which gives the derivatives of RankNet's cost (section
        2, equation 4).
    sigma : float above 0, default=1.0
        Steepness of the sigmoid.
    groups : array-like of shape (n_documents,)
        Query of each document: numbers, text, dates, or tuples of these.
    document_weight : array-like of shape (n_documents,), default=None
        How certain the grade of each document is, w >= 0, some above 0 in each query.
        None: 1.
    normalize_lambdas : bool, "distance" or "query", default=False
        "distance": divide a pair's swap delta by ``0.01 + sigma |s_i - s_j|`` in
        queries whose scores are not all equal.  "query": multiply the lambdas of a
        query by ``log2(1 + S) / S``, where S is the sum of ``2 |lambda_ij| / sigma``
        over its pairs.  True: both.  Not in Burges (2010);
        LambdaMARTRanker does both by default.
    n_jobs : int or None, default=None
        Number of threads.  None: more for larger data.  The result does not depend on
        it.

    Returns
    -------
    gradient, hessian : ndarrays of shape (n_documents,), float64
        In the order of the rows.

    Raises
    ------
    ValueError
        For scores, grades or weights that are not one finite number per row, different
        scores that are equal in float64, a negative grade or weight, groups of another
        length or with missing values, an unknown metric, or a parameter out of its
        range.
    TypeError
        If `groups` holds anything but numbers, text, dates, booleans or tuples of
        these, or `sigma` is not a number.

    Examples
    --------
    >>> from sklearn_ltr.inspection import compute_lambdas
    >>> gradient, hessian = compute_lambdas(
    ...     scores=[0.0, 0.0], grades=[1, 0], metric=None, groups=["a", "a"]
    ... )
    >>> gradient
    array([-0.5,  0.5])
    >>> hessian
    array([0.25, 0.25])
    """
    sigma = POSITIVE.read_as("sigma", sigma)
    normalize = NORMALIZATIONS.read_as("normalize_lambdas", normalize_lambdas)
    queries = QueryGroups.from_groups(groups, count_rows(scores, "scores"))
    columns: GivenColumns = RowColumns(document_weight=document_weight)
    data = TrainingData(
        LabelGrades.of_one(check_grades(grades, queries, "grades")),
        offsets=queries.offsets,
        query_ids=queries.query_ids,
        columns=columns.read(queries),
    )
    canonical_scores = check_scores(scores, queries, "scores")
    with ThreadTeam(effective_n_threads(n_jobs, 32 * queries.n_documents)) as team:
        swaps = None if metric is None else get_metric(metric)
        options = PairOptions.read(sigma, normalize)
        weights = pair_weights_of(data, None, 1.0)
        lambdas = GradedLambdas(data, swaps, options, team, weights)
        gradient, hessian = lambdas.derivatives(canonical_scores)
    return queries.unsort(gradient), queries.unsort(hessian)
