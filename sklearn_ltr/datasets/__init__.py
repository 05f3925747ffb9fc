"""Ranking data: read files in LETOR's format, or make synthetic data.

Both functions return a :class:`sklearn.utils.Bunch` with ``data`` (one row per
document), ``target`` (the grades) and ``groups`` (the query of each row), the three
arguments of ``fit(X, y, groups=groups)``.
"""

from sklearn_ltr.datasets._letor import load_letor
from sklearn_ltr.datasets._synthetic import make_ranking

__all__ = ["load_letor", "make_ranking"]
