"""Rank-biased precision: a user goes on to the next document with probability p.

    RBP@k = (1 - p) * sum over relevant positions i < k of  p^i

(Moffat and Zobel, 2008, "Rank-biased precision for measurement of retrieval
effectiveness").  The sum is not normalised: a list of n documents reaches at most
1 - p^n.  The swap delta is that of a discounted sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._parameters import real
from sklearn_ltr._typing import FloatArray, IdsLike
from sklearn_ltr.metrics._closed_form import (
    BinaryMetric,
    JudgedLists,
    cut_at,
)
from sklearn_ltr.metrics._metric import (
    NoRelevant,
    Ties,
    compute_score,
    score_function,
)

__all__ = ["RBP", "rbp_score"]


@dataclass(frozen=True, repr=False)
class RBP(BinaryMetric):
    """Rank-biased precision: a user goes on to the next document with probability p.

    Parameters
    ----------
    k, ties, no_relevant
        As in :class:`Metric`.
    relevant_from : float above 0 or None, default=None
        The lowest relevant grade; None: every grade above zero.
    persistence : float in (0, 1), default=0.8
        Probability p that the user goes on to the next document; 1 / (1 - p) documents
        are read on average.

    Examples
    --------
    >>> from sklearn_ltr.metrics import RBP
    >>> RBP(persistence=0.5)([1, 0, 1, 0], [4, 3, 2, 1], groups=[7, 7, 7, 7])
    0.625
    """

    persistence: float = field(default=0.8, kw_only=True)

    short_name: ClassVar[str] = "rbp"

    def __post_init__(self) -> None:
        super().__post_init__()
        real(0, 1, "neither").read_as("persistence", self.persistence)

    def value(self, ranked_grades: FloatArray) -> float:
        """(1 - p) times the sum of p^i over relevant positions i < k."""
        relevant = self.relevance(ranked_grades)
        n = len(relevant)
        found = (relevant * self.discounts(n, self.cutoff(n))).sum()
        return float((1.0 - self.persistence) * found)

    def discounts(self, n: int, k: int) -> FloatArray:
        """p^i for positions i = 0 to k - 1, then 0."""
        steps = np.full(n, self.persistence, dtype=np.float64)
        steps[:1] = 1.0
        powers = np.cumprod(steps, dtype=np.float64)  # the same on any CPU
        return cut_at(k, powers)

    def _scales(self, judged: JudgedLists) -> FloatArray:
        """1 - p."""
        return np.full(len(judged.n_ranked), 1.0 - float(self.persistence))


@score_function(RBP)
def rbp_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: IdsLike,
    k: int | None = None,
    persistence: float = 0.8,
    relevant_from: float | None = None,
    ties: Ties = "pessimistic",
    no_relevant: NoRelevant = "zero",
    sample_weight: ArrayLike | None = None,
    y_missing: ArrayLike | None = None,
    groups_missing: IdsLike | None = None,
) -> float:
    """Mean rank-biased precision of queries.

    RBP = (1 - p) * sum over ranks r of relevant documents of p^(r - 1), where p is the
    persistence (Moffat and Zobel, 2008).

    Examples
    --------
    >>> from sklearn_ltr.metrics import rbp_score
    >>> round(rbp_score([2, 0, 1], [0.3, 0.9, 0.5], groups=[7, 7, 7]), 4)
    0.288
    """
    return compute_score(RBP, **locals())
