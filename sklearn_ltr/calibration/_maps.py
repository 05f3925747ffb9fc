"""Maps from scores to the probability of a grade or better.

isotonic:   the rising step function of least squares, joined by straight lines
sigmoid:    1 / (1 + exp(-(slope (s - center) + intercept))),   slope >= 0

An isotonic one may be of  s + weight * (mean score of the query)  in place of s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from sklearn_ltr._core.saving import saved_part
from sklearn_ltr._core.typing import BoolArray, FloatArray, IntArray

ROUNDING = 1e-12  # means that vary by less, in units of the largest score, are equal


@saved_part
@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """Probabilities at some scores, joined by lines, and constant beyond the ends.

    Attributes
    ----------
    scores : ndarray of shape (n_points,), float64
        Increasing.
    probabilities : ndarray of shape (n_points,), float64
        From 0 to 1, never decreasing.
    """

    scores: FloatArray
    probabilities: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probability of each score, (n_documents,) float64."""
        joined = np.interp(scores, self.scores, self.probabilities)
        # rounded, a line may end above its right point, where the next one begins
        right = np.searchsorted(self.scores, scores).clip(max=len(self.scores) - 1)
        return np.asarray(np.minimum(joined, self.probabilities[right]))


@saved_part
@dataclass(frozen=True)
class SigmoidMap:
    """The logistic function of a score.

    Attributes
    ----------
    slope : float of at least 0
    center : float
        The mean score, subtracted first: scores may be large and differ by little.
    intercept : float
    """

    slope: float
    center: float
    intercept: float

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probability of each score, (n_documents,) float64."""
        log_odds = self.slope * (scores - self.center) + self.intercept
        return np.asarray(expit(log_odds))


def query_means(scores: FloatArray, query: IntArray) -> FloatArray:
    """Return the mean score of each document's query, (n_documents,) float64."""
    # added up in the order of the scores, so that the order of rows does not matter
    order = np.lexsort((scores, query))
    starts = np.flatnonzero(np.diff(query[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(query)))
    means = np.empty_like(scores)
    sums = np.add.reduceat(scores[order], starts)
    means[order] = np.repeat(sums / sizes, sizes)
    return means


def fit_mean_weight(
    scores: FloatArray, means: FloatArray, is_reached: BoolArray, weight: FloatArray
) -> float:
    """Return how much the mean of a query counts beside a score, by their logits."""
    columns = np.column_stack((scores, means))
    deviation = columns.std(axis=0)
    if np.ptp(scores) == 0 or deviation[1] <= ROUNDING * np.abs(scores).max():
        return 0.0
    model = LogisticRegression(tol=1e-8, max_iter=1000).fit(
        (columns - columns.mean(axis=0)) / deviation, is_reached, weight / weight.mean()
    )
    of_score, of_mean = model.coef_[0] / deviation
    return float(of_mean / of_score) if of_score > 0 else 0.0


def fit_isotonic(
    scores: FloatArray, is_reached: BoolArray, weight: FloatArray
) -> IsotonicMap:
    """Return the isotonic regression of whether a grade is reached."""
    # scikit-learn merges scores that differ by less than 1e-15, whatever their size
    _, exponent = np.frexp(np.abs(scores).max())
    model = IsotonicRegression(y_min=0.0, y_max=1.0)
    model.fit(np.ldexp(scores, -exponent), is_reached, weight)
    points = np.ldexp(model.X_thresholds_, exponent)
    return IsotonicMap(points, np.asarray(model.y_thresholds_, np.float64))


def fit_sigmoid(
    scores: FloatArray, is_reached: BoolArray, weight: FloatArray
) -> SigmoidMap:
    """Return the logistic regression of whether a grade is reached, by Platt (1999)."""
    # His targets, (n+ + 1) / (n+ + 2) and 1 / (n- + 2) in place of 1 and 0, keep the
    # slope finite where scores tell all documents apart.  A document of target t counts
    # t times among those that reach the grade, and 1 - t times among the others.
    weight = weight / weight.mean()
    n_reached = weight[is_reached].sum()
    n_others = weight.sum() - n_reached
    target = np.where(is_reached, (n_reached + 1) / (n_reached + 2), 1 / (n_others + 2))
    constant = SigmoidMap(0.0, 0.0, float(logit(np.average(target, weights=weight))))
    if np.ptp(scores) == 0:
        return constant
    center, deviation = float(scores.mean()), float(scores.std())
    standardised = (scores - center) / deviation
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(
        np.tile(standardised, 2)[:, np.newaxis],
        np.repeat([1, 0], len(scores)),
        np.concatenate((weight * target, weight * (1 - target))),
    )
    slope = float(model.coef_[0, 0]) / deviation
    fitted = SigmoidMap(slope, center, float(model.intercept_[0]))
    return fitted if slope > 0 else constant
