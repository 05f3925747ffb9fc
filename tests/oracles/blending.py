"""The metric of every blend of two rankers, by trying out all of them: exact and slow.

Floats are fractions, so crossings, the order between them and what is tied are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

List = tuple[Sequence[float], Sequence[float], Sequence[float]]  # scores twice, grades


def crossing_points(lists: Sequence[List]) -> list[Fraction]:
    """0, every alpha at which two documents of a query have the same score, and 1."""
    points = {Fraction(0), Fraction(1)}
    for scores_1, scores_2, _ in lists:
        lines = [
            (Fraction(a), Fraction(b)) for a, b in zip(scores_1, scores_2, strict=True)
        ]
        for (a1, a2), (b1, b2) in combinations(lines, 2):
            slope = (a1 - a2) - (b1 - b2)
            if slope:
                points.add((b2 - a2) / slope)
    return sorted(point for point in points if 0 <= point <= 1)


def ranked_grades(of_query: List, alpha: Fraction) -> list[float]:
    """Grades by falling score, the lower grade first where scores are equal."""
    rows = sorted(
        (-(alpha * Fraction(a) + (1 - alpha) * Fraction(b)), grade)
        for a, b, grade in zip(*of_query, strict=True)
    )
    return [grade for _, grade in rows]


def mean_at(
    lists: Sequence[List],
    alpha: Fraction,
    value: Callable[[list[float]], float],
    weights: Sequence[float],
) -> float:
    values = [value(ranked_grades(of_query, alpha)) for of_query in lists]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def curve(
    lists: Sequence[List],
    value: Callable[[list[float]], float],
    weights: Sequence[float],
) -> tuple[list[Fraction], list[float]]:
    """All crossing points, and the mean in the middle between neighbours."""
    points = crossing_points(lists)
    middles = [(a + b) / 2 for a, b in zip(points, points[1:], strict=False)]
    return points, [mean_at(lists, middle, value, weights) for middle in middles]
