"""Ranking data: read and write files of LETOR and TREC, or make synthetic data.

:func:`load_letor` and :func:`make_ranking` return a :class:`sklearn.utils.Bunch` with
``data`` (one row per document), ``target`` (the grades) and ``groups`` (the query of
each row), the three arguments of ``fit(X, y, groups=groups)``.

:func:`load_run` and :func:`load_qrels` read ranked lists and relevance judgements in
TREC's formats; :func:`join_run` makes of both the arguments of a metric:
``map_score(**join_run(run, qrels))`` is trec_eval's ``map``.

:func:`load_judgments`, :func:`load_feature_log` and :func:`load_ubi` read what search
engines write: judgements, logged features, and the queries and events of users.
:func:`join_features` makes rows to fit of features and judgements, or clicks.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.datasets._feature_log import join_features, load_feature_log
from sklearn_ltr.datasets._judgments import load_judgments
from sklearn_ltr.datasets._letor import load_letor
from sklearn_ltr.datasets._synthetic import make_ranking
from sklearn_ltr.datasets._trec import (
    dump_qrels,
    dump_run,
    join_run,
    load_qrels,
    load_run,
)
from sklearn_ltr.datasets._ubi import load_ubi

__all__ = [
    "dump_qrels",
    "dump_run",
    "join_features",
    "join_run",
    "load_feature_log",
    "load_judgments",
    "load_letor",
    "load_qrels",
    "load_run",
    "load_ubi",
    "make_ranking",
]
publish(globals())
