"""The metric of every blend of two rankers, by evaluating all of them: exact and slow.

Scores are converted to fractions, so that crossings, their order and ties are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

# Scores of ranker 1, scores of ranker 2 and grades of the documents of one query.
Query = tuple[Sequence[float], Sequence[float], Sequence[float]]


def crossing_points(queries: Sequence[Query]) -> list[Fraction]:
    """0, every alpha at which two documents of a query have equal scores, and 1."""
    points = {Fraction(0), Fraction(1)}
    for scores_1, scores_2, _ in queries:
        lines = [
            (Fraction(a), Fraction(b)) for a, b in zip(scores_1, scores_2, strict=True)
        ]
        for (a1, a2), (b1, b2) in combinations(lines, 2):
            slope = (a1 - a2) - (b1 - b2)
            if slope:
                points.add((b2 - a2) / slope)
    return sorted(point for point in points if 0 <= point <= 1)


def ranked_grades(query: Query, alpha: Fraction) -> list[float]:
    """Grades by decreasing score; of equal scores, the lower grade first."""
    rows = sorted(
        (-(alpha * Fraction(a) + (1 - alpha) * Fraction(b)), grade)
        for a, b, grade in zip(*query, strict=True)
    )
    return [grade for _, grade in rows]


def mean_at(
    queries: Sequence[Query],
    alpha: Fraction,
    value: Callable[[list[float]], float],
    weights: Sequence[float],
) -> float:
    values = [value(ranked_grades(query, alpha)) for query in queries]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def curve(
    queries: Sequence[Query],
    value: Callable[[list[float]], float],
    weights: Sequence[float],
) -> tuple[list[Fraction], list[float]]:
    """All crossing points, and the mean in the middle between adjacent ones."""
    points = crossing_points(queries)
    middles = [(a + b) / 2 for a, b in zip(points, points[1:], strict=False)]
    return points, [mean_at(queries, middle, value, weights) for middle in middles]
