"""Metrics that a user may write."""

from __future__ import annotations

import numpy as np

from sklearn_ltr.metrics import Metric


class FirstGrade(Metric):
    """A metric of which only the value is known."""

    def value(self, ranked_grades):
        return float(ranked_grades[0] + 0.5 * ranked_grades[-1])


class NDCGOfAUser(Metric):
    """NDCG by its definition: no closed form, so every swap is tried out."""

    def value(self, ranked_grades):
        n = len(ranked_grades) if self.k is None else self.k
        gains = [2**grade - 1 for grade in ranked_grades]
        best = sorted(gains, reverse=True)
        discounts = [1 / np.log2(2 + p) for p in range(len(gains))][:n]
        dcg = sum(g * d for g, d in zip(gains, discounts, strict=False))
        return dcg / sum(g * d for g, d in zip(best, discounts, strict=False))


class SwapDeltaOne(Metric):
    """A metric whose swap deltas are all 1: only the force is left."""

    def value(self, ranked_grades):
        return 0.5

    def swap_delta(self, ranked_grades):
        return np.ones((len(ranked_grades), len(ranked_grades)))
