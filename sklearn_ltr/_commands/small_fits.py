"""Small fits and calls that together run every kernel, so that numba compiles them.

A kernel is compiled when it is first called, for each type of its arguments: so these
are of all kinds, in float64 and float32.  The command ``compile`` runs processes that
each take all steps (`main`), and claim what they compile.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker, metrics
from sklearn_ltr._core.comm import ONE_PROCESS, Comm, OneProcess
from sklearn_ltr._core.compile import INTERPRETED, ONE_THREAD
from sklearn_ltr._core.compile.cache import leave_shipped_aside
from sklearn_ltr._core.compile.shared_kernels import new_announcements, release, serve
from sklearn_ltr._core.data.tables import hash_values
from sklearn_ltr._core.trees.growth import POLICIES
from sklearn_ltr._core.trees.growth.ahead_of_time import (
    CATEGORIES,
    PLAIN,
    SPARSE,
    grow_a_tree,
    kind_of_growth,
)
from sklearn_ltr._core.typing import FloatArray, IntArray

# Enough rows times trees for a prediction that is worth compiling (`MOST_WALKS`)
N_QUERIES, N_TREES = 300, 30


@functools.cache
def _data() -> tuple[Any, IntArray, IntArray]:
    """Return features, grades and queries to fit."""
    from sklearn_ltr.datasets import make_ranking

    data = make_ranking(N_QUERIES, n_features=4, n_informative=2, random_state=0)
    return data.data, data.target, data.groups


class _FirstGrade(metrics.Metric):
    """A metric without a closed form, as users write it."""

    def value(self, ranked_grades: FloatArray) -> float:
        return float(ranked_grades[0])


def _all_metrics() -> list[metrics.Metric]:
    """Return every metric, with a cutoff shorter than the lists."""
    from sklearn_ltr.metrics._metric import METRICS

    return [*(metric(3) for metric in METRICS.values()), _FirstGrade(3)]


class _LinearNetwork:
    """A network in float64, as users write it."""

    def __init__(self, n_features: int) -> None:
        self.parameters = [np.zeros(n_features)]

    def forward(self, X: NDArray[np.float32]) -> FloatArray:
        self._X = X
        return X @ self.parameters[0]

    def backward(self, score_gradient: NDArray[np.floating]) -> list[FloatArray]:
        return [self._X.T @ score_gradient]


def _let_threads_serve() -> None:
    if INTERPRETED:
        return
    announcements = new_announcements()
    release(announcements)  # so that the thread that serves returns at once
    serve(1, 2, announcements, 0)


def _fit_trees(kind: Callable[[FloatArray], Any]) -> None:
    X, y, groups = _data()
    X = kind(X)
    ranker = LambdaMARTRanker(n_estimators=N_TREES, subsample=0.5, random_state=0)
    ranker.set_params(early_stopping=True).fit(X, y, groups=groups)
    ranker.set_params(early_stopping=False).fit(X, y, groups=groups).predict(X)
    ranker.predict(X[:1])


def _fit_sparse_tables() -> None:
    for dtype in (np.float64, np.float32):
        X = csr_matrix(_data()[0].astype(dtype))
        hash_values(X, np.arange(X.shape[0]), ONE_THREAD)  # as of large tables
    _fit_trees(csr_matrix)


def _fit_categories() -> None:
    X, y, groups = _data()
    X = np.abs(X).astype(np.int64)
    for policy in POLICIES:
        ranker = LambdaMARTRanker(n_estimators=N_TREES, categorical_features=[0, 1])
        ranker.set_params(grow_policy=policy)
        ranker.fit(X, y, groups=groups).predict(X)
    ranker = LambdaMARTRanker(n_estimators=2, monotonic_cst=[1] * X.shape[1])
    ranker.fit(X, y, groups=groups)


def _fit_on_worker() -> None:
    from sklearn_ltr._core.cluster.fit import WorkerRows, fit_rows
    from sklearn_ltr._core.cluster.tables import PartRows

    X, y, groups = _data()
    numbers, n_rows = np.arange(N_QUERIES), len(y)
    others = {"y": y, "groups": groups}
    attributes = {"init_": None, "_uses_init_score": False}
    for table in (X, X.astype(np.float32)):
        rows = PartRows("X", [{"X": table}], [None], [n_rows])
        ranker = LambdaMARTRanker(n_estimators=2, subsample=0.5)
        given = [WorkerRows(rows, others, numbers)]
        fit_rows(vars(ranker) | attributes, 0, given, False, OneProcess())


class _OneOfTwo(OneProcess):
    """The Comm of one of two workers, of which the other has no rows."""

    n_workers = 2


def _compute_objectives() -> None:
    X, y, groups = _data()
    for metric in (*_all_metrics(), None):
        ranker = LambdaMARTRanker(metric, n_estimators=2, random_state=0)
        ranker.set_params(regression_weight=1.0)
        ranker.fit(X, y, groups=groups)


def _weigh_documents() -> None:
    X, y, groups = _data()
    options = {"groups": groups, "document_weight": np.ones(len(y))}
    trees = LambdaMARTRanker(None, n_estimators=2, regression_weight=1.0)
    network = RankNetRanker(max_iter=1, learning_rate_init=1e-6, tied_pairs=True)
    for ranker in (trees, network):
        ranker.fit(X, y, **options)


def _fit_clicks() -> None:
    X, y, groups = _data()
    clicks = y > 0
    sizes = np.unique(groups, return_counts=True)[1]
    positions = np.concatenate([np.arange(n) for n in sizes])
    for metric in ("ndcg", None):
        ranker = LambdaMARTRanker(metric, n_estimators=2, position_bias="pairwise")
        ranker.fit(X, clicks, groups=groups, positions=positions)
        ranker.set_params(position_bias=None)
        ranker.fit(X, clicks, groups=groups, propensities=np.ones(len(clicks)))


def _fit_mart() -> None:
    from sklearn_ltr.mart import MARTClassifier, MARTRegressor

    X, y, groups = _data()
    options: dict[str, Any] = {"n_estimators": 2, "early_stopping": True}
    MARTRegressor(**options).fit(X, y)
    dart = MARTRegressor(n_estimators=2, dart={"rate_drop": 1, "skip_drop": 0})
    dart.set_params(path_smooth=1.0).fit(X, y)
    classifier = MARTClassifier(**options).fit(X, y > 0)
    classifier.predict_proba(X)


def _explain() -> None:
    from sklearn_ltr.inspection import shap_values
    from sklearn_ltr.mart import MARTRegressor

    X, y, _ = _data()
    regressor = MARTRegressor(n_estimators=2).fit(X, y)
    shap_values(regressor, X)
    shap_values(regressor, X, background=X)


def _fit_networks() -> None:
    X, y, groups = _data()
    for ranker in (
        LambdaRankRanker(),
        RankNetRanker(solver="sgd", tied_pairs=True),
        LambdaRankRanker(network=_LinearNetwork(X.shape[1])),
        LambdaRankRanker(network=_LinearNetwork(X.shape[1]), solver="sgd"),
    ):
        ranker.set_params(max_iter=1, learning_rate_init=1e-6, random_state=0)
        ranker.fit(X, y, groups=groups).predict(X)
    RankNetRanker(max_iter=1, random_state=0).fit(X, pairs=[[0, 1], [2, 3]])


def _fit_pairs() -> None:
    X, y, groups = _data()
    query = np.flatnonzero(groups == groups[np.argmax(y)])
    best = query[np.argmax(y[query])]
    others = query[query != best]
    X = X.copy()
    X[others[0]] = X[others[1]]  # the pairs of equal rows are hashed
    pairs = [[best, row] for row in others]
    for metric in ("ndcg", "map", None):
        ranker = LambdaMARTRanker(metric, n_estimators=1, min_samples_leaf=1)
        ranker.fit(X, y if metric else None, groups=groups, pairs=pairs)


def _evaluate_metrics() -> None:
    X, y, groups = _data()
    scores = X[:, 0]
    for metric in _all_metrics():
        metric(y, scores, groups=groups)
    metrics.rank_scores(scores, groups=groups)


def _blend() -> None:
    from sklearn_ltr.ensemble import best_blend

    X, y, groups = _data()
    one, other = X[:, 0], X[:, 1]
    for metric in _all_metrics():
        best_blend(one, other, y, groups=groups, metric=metric)


# --- the steps ------------------------------------------------------------------------


def _steps_of_growth(
    comm: Comm, kinds: Iterable[tuple[bool, bool]], where: str = ""
) -> dict[str, Callable[[], object]]:
    """Return steps that grow trees of both policies, from features of some kinds."""
    return {
        kind_of_growth(policy, *kind) + where: partial(grow_a_tree, comm, policy, *kind)
        for kind, policy in product(kinds, POLICIES.values())
    }


#: functions that together call every kernel, by name
STEPS: dict[str, Callable[[], object]] = {
    "LambdaMART": partial(_fit_trees, np.asarray),
    "metrics": _evaluate_metrics,
    **_steps_of_growth(ONE_PROCESS, (PLAIN, CATEGORIES)),
    "networks": _fit_networks,
    "categories": _fit_categories,
    "float32": partial(_fit_trees, np.float32),
    "sparse X": _fit_sparse_tables,
    **_steps_of_growth(ONE_PROCESS, (SPARSE,)),
    "objectives": _compute_objectives,
    "weighted pairs": _fit_clicks,
    "weights of documents": _weigh_documents,
    "pairs": _fit_pairs,
    "MART": _fit_mart,
    "SHAP values": _explain,
    "blends": _blend,
    "threads": _let_threads_serve,
    "a fit on a cluster": _fit_on_worker,
    **_steps_of_growth(_OneOfTwo(), (PLAIN, CATEGORIES), ", on a cluster"),
}


def main(*names: str) -> None:
    """Take some steps, then all others, and print the name of each when it is done."""
    leave_shipped_aside()
    logging.getLogger("sklearn_ltr").setLevel(logging.ERROR)  # no line that tells of it
    for name in dict.fromkeys([*names, *STEPS]):
        STEPS[name]()
        print(name, flush=True)
