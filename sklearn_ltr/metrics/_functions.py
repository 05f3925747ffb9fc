"""The measures as functions, one line each over the metric objects.

All take the grades, the scores and one group value per row (any hashable values, in any
row order), and return the mean over queries; ``sample_weight`` gives a query's weight
on each of its rows.  ``ties`` and ``no_relevant`` are explained at :class:`Metric`.
"""

from __future__ import annotations

from typing import Any, Literal

from sklearn_ltr.metrics._average_precision import MAP
from sklearn_ltr.metrics._dcg import CG, DCG, NDCG
from sklearn_ltr.metrics._err import ERR
from sklearn_ltr.metrics._gains import Discount, Gain
from sklearn_ltr.metrics._metric import NoRelevant, Ties
from sklearn_ltr.metrics._precision import Precision, Recall
from sklearn_ltr.metrics._reciprocal_rank import MRR, HitRate


def ndcg_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    gain: Gain = "exponential",
    discount: Discount = "log2",
    short_lists: Literal["cut", "zero"] = "cut",
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
) -> float:
    """Mean NDCG@k: DCG@k over that of the best order."""
    metric = NDCG(
        k,
        ties=ties,
        no_relevant=no_relevant,
        gain=gain,
        discount=discount,
        short_lists=short_lists,
    )
    return metric(y_true, y_score, groups=groups, sample_weight=sample_weight)


def dcg_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    gain: Gain = "exponential",
    discount: Discount = "log2",
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
) -> float:
    """Mean DCG@k: the sum of gain times discount (equation 5 of the report)."""
    metric = DCG(k, ties=ties, no_relevant=no_relevant, gain=gain, discount=discount)
    return metric(y_true, y_score, groups=groups, sample_weight=sample_weight)


def cg_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    gain: Gain = "exponential",
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
) -> float:
    """Mean CG@k: the sum of the gains of the first k documents."""
    metric = CG(k, ties=ties, no_relevant=no_relevant, gain=gain)
    return metric(y_true, y_score, groups=groups, sample_weight=sample_weight)


def map_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
) -> float:
    """Mean average precision at k."""
    metric = MAP(k, ties=ties, no_relevant=no_relevant, relevant_from=relevant_from)
    return metric(y_true, y_score, groups=groups, sample_weight=sample_weight)


def mrr_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
) -> float:
    """Mean reciprocal rank of the first relevant document."""
    metric = MRR(k, ties=ties, no_relevant=no_relevant, relevant_from=relevant_from)
    return metric(y_true, y_score, groups=groups, sample_weight=sample_weight)


def err_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    max_grade: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
) -> float:
    """Mean expected reciprocal rank at k (section 3 of the report)."""
    metric = ERR(k, ties=ties, no_relevant=no_relevant, max_grade=max_grade)
    return metric(y_true, y_score, groups=groups, sample_weight=sample_weight)


def precision_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
) -> float:
    """Mean share of relevant documents among the first k."""
    metric = Precision(
        k, ties=ties, no_relevant=no_relevant, relevant_from=relevant_from
    )
    return metric(y_true, y_score, groups=groups, sample_weight=sample_weight)


def recall_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
) -> float:
    """Mean share of the relevant documents that are among the first k."""
    metric = Recall(k, ties=ties, no_relevant=no_relevant, relevant_from=relevant_from)
    return metric(y_true, y_score, groups=groups, sample_weight=sample_weight)


def hit_rate_score(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any,
    k: int | None = None,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: Any = None,
) -> float:
    """Share of queries with a relevant document among the first k."""
    metric = HitRate(k, ties=ties, no_relevant=no_relevant, relevant_from=relevant_from)
    return metric(y_true, y_score, groups=groups, sample_weight=sample_weight)
