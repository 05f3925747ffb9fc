"""Ranking data: read and write files of LETOR and TREC, or make synthetic data.

:func:`load_letor` and :func:`make_ranking` return a :class:`sklearn.utils.Bunch` with
``data`` (one row per document), ``target`` (the grades) and ``groups`` (the query of
each row), the three arguments of ``fit(X, y, groups=groups)``.

:func:`load_run` and :func:`load_qrels` read ranked lists and relevance judgements in
TREC's formats; :func:`join_run` makes of both the arguments of a metric:
``map_score(**join_run(run, qrels))`` is trec_eval's ``map``.
"""

from sklearn_ltr._saved import publish
from sklearn_ltr.datasets._letor import load_letor
from sklearn_ltr.datasets._synthetic import make_ranking
from sklearn_ltr.datasets._trec import (
    dump_qrels,
    dump_run,
    join_run,
    load_qrels,
    load_run,
)

__all__ = [
    "dump_qrels",
    "dump_run",
    "join_run",
    "load_letor",
    "load_qrels",
    "load_run",
    "make_ranking",
]
publish(globals())
