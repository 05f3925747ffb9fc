"""Data to rank: read it, invent it, or make it from Python's own documentation.

Every loader returns a :class:`sklearn.utils.Bunch` with ``data`` (one row per
document), ``target`` (the grades) and ``groups`` (the query of each row): the three
arguments of ``fit(X, y, groups=groups)``.
"""

from sklearn_ltr.datasets._letor import load_letor
from sklearn_ltr.datasets._python_docs import load_python_docs
from sklearn_ltr.datasets._synthetic import make_ranking

__all__ = ["load_letor", "load_python_docs", "make_ranking"]
