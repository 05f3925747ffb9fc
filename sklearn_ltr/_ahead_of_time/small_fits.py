"""Small fits and calls that together run every kernel, so that numba compiles them.

A kernel is compiled when it is first called, for each type of its arguments: so these
are of all kinds, in float64 and float32.  What is needed after a first fit stands
first.  Each step imports what it needs, so that a process that helps begins at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker, metrics
from sklearn_ltr._core.comm import ONE_PROCESS, Comm, OneProcess
from sklearn_ltr._core.compile import INTERPRETED, ONE_THREAD
from sklearn_ltr._core.compile.shared_kernels import new_announcements, release, serve
from sklearn_ltr._core.data.binned_columns import (
    BinnedColumns,
    SparseColumns,
    sort_entries,
)
from sklearn_ltr._core.data.tables import hash_values
from sklearn_ltr._core.parameters import read_parameters
from sklearn_ltr._core.trees.binning import BinnedData, hash_bins
from sklearn_ltr._core.trees.constraints import NO_CONSTRAINTS
from sklearn_ltr._core.trees.growth.grower import TreeGrower
from sklearn_ltr._core.trees.growth.quantization import RowDerivatives
from sklearn_ltr._core.trees.growth.sampling import TreeSampler
from sklearn_ltr._core.trees.parameters import (
    GROW_POLICIES,
    TreeParameters,
    growth_parameters,
    step_of_growth,
)
from sklearn_ltr._core.typing import FloatArray

# Enough rows times trees for a prediction that is worth compiling (`MOST_WALKS`)
N_QUERIES, N_TREES = 300, 30


@functools.cache
def _data() -> Bunch:
    """Return data to fit."""
    from sklearn_ltr.datasets import make_ranking

    return make_ranking(N_QUERIES, n_features=4, n_informative=2, random_state=0)


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
    X, y, groups = kind(_data().data), _data().target, _data().groups
    ranker = LambdaMARTRanker(n_estimators=N_TREES, subsample=0.5, random_state=0)
    ranker.set_params(early_stopping=True).fit(X, y, groups=groups)
    ranker.set_params(early_stopping=False).fit(X, y, groups=groups).predict(X)
    ranker.predict(X[:1])


def _fit_sparse_tables() -> None:
    for dtype in (np.float64, np.float32):
        X = csr_matrix(_data().data.astype(dtype))
        hash_values(X, np.arange(X.shape[0]), ONE_THREAD)  # as of large tables
    _fit_trees(csr_matrix)


def _fit_categories() -> None:
    data = _data()
    X = np.abs(data.data).astype(np.int64)
    for policy in GROW_POLICIES:
        ranker = LambdaMARTRanker(n_estimators=N_TREES, categorical_features=[0, 1])
        ranker.set_params(grow_policy=policy)
        ranker.fit(X, data.target, groups=data.groups).predict(X)
    ranker = LambdaMARTRanker(n_estimators=2, monotonic_cst=[1] * X.shape[1])
    ranker.fit(X, data.target, groups=data.groups)


def _fit_on_worker() -> None:
    from sklearn_ltr.dask._fit import WorkerRows, fit_rows
    from sklearn_ltr.dask._tables import PartRows

    data = _data()
    numbers, n_rows = np.arange(N_QUERIES), len(data.target)
    others = {"y": data.target, "groups": data.groups}
    attributes = {"init_": None, "_uses_init_score": False}
    for X in (data.data, data.data.astype(np.float32)):
        rows = PartRows("X", [{"X": X}], [None], [n_rows])
        ranker = LambdaMARTRanker(n_estimators=2, subsample=0.5)
        given = [WorkerRows(rows, others, numbers)]
        fit_rows(vars(ranker) | attributes, 0, given, False, OneProcess())


class _OneOfTwo(OneProcess):
    """The Comm of one of two workers, of which the other has no rows."""

    n_workers = 2


def _grow(comm: Comm, symmetric: bool, has_categories: bool, is_sparse: bool) -> None:
    """Grow a tree; the kernels that take longest to compile are called first."""
    n_features, n_rows = 2, 100
    columns = np.arange(n_features * n_rows, dtype=np.uint8).reshape(n_features, -1)
    sparse = None
    if is_sparse:  # the last of them
        columns, rows = columns[:-1], np.arange(n_rows // 2)
        entries = sort_entries(np.zeros_like(rows), np.ones_like(rows), rows)
        default_bin = np.zeros(1, dtype=np.uint8)
        sparse = SparseColumns(np.ones(1, dtype=np.int64), default_bin, entries, n_rows)
    derivatives = RowDerivatives(np.arange(float(n_rows)), np.ones(n_rows))
    ranker = LambdaMARTRanker().set_params(grow_policy=GROW_POLICIES[symmetric])
    parameters = read_parameters(TreeParameters, ranker)
    growth = growth_parameters(parameters, NO_CONSTRAINTS, n_rows, symmetric)
    n_nodes = 2 * growth.max_leaf_nodes - 1
    sampler = TreeSampler(1.0, n_features, n_features, n_features, n_nodes, seed=0)
    stored, n_categories = BinnedColumns(columns, sparse), 255 * has_categories
    binned = BinnedData(stored, np.full(2, 255), np.full(2, n_categories))
    numbers, drawn = np.arange(n_rows, dtype=np.uint32), sampler.draw(0)
    grower = TreeGrower(binned, growth, ONE_THREAD, numbers, comm)
    scores = np.zeros(n_rows)
    grower.call_kernels(derivatives, drawn, scores)
    grower.grow(derivatives, drawn, 0.1, scores)
    if is_sparse:
        hash_bins(binned, ONE_THREAD)


def _compute_objectives() -> None:
    data = _data()
    for metric in (*_all_metrics(), None):
        ranker = LambdaMARTRanker(metric, n_estimators=2, random_state=0)
        ranker.set_params(regression_weight=1.0)
        ranker.fit(data.data, data.target, groups=data.groups)


def _weigh_documents() -> None:
    data = _data()
    options = {"groups": data.groups, "document_weight": np.ones(len(data.target))}
    trees = LambdaMARTRanker(None, n_estimators=2, regression_weight=1.0)
    network = RankNetRanker(max_iter=1, learning_rate_init=1e-6, tied_pairs=True)
    for ranker in (trees, network):
        ranker.fit(data.data, data.target, **options)


def _fit_clicks() -> None:
    data = _data()
    clicks, groups = data.target > 0, data.groups
    sizes = np.unique(groups, return_counts=True)[1]
    positions = np.concatenate([np.arange(n) for n in sizes])
    for metric in ("ndcg", None):
        ranker = LambdaMARTRanker(metric, n_estimators=2, position_bias="pairwise")
        ranker.fit(data.data, clicks, groups=groups, positions=positions)
        ranker.set_params(position_bias=None)
        ranker.fit(data.data, clicks, groups=groups, propensities=np.ones(len(clicks)))


def _fit_mart() -> None:
    from sklearn_ltr.mart import MARTClassifier, MARTRegressor

    data = _data()
    options: dict[str, Any] = {"n_estimators": 2, "early_stopping": True}
    MARTRegressor(**options).fit(data.data, data.target)
    classifier = MARTClassifier(**options).fit(data.data, data.target > 0)
    classifier.predict_proba(data.data)


def _explain() -> None:
    from sklearn_ltr.inspection import shap_values
    from sklearn_ltr.mart import MARTRegressor

    data = _data()
    X = data.data
    regressor = MARTRegressor(n_estimators=2).fit(X, data.target)
    shap_values(regressor, X)
    shap_values(regressor, X, background=X)


def _fit_networks() -> None:
    data = _data()
    X, y, groups = data.data, data.target, data.groups
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
    data = _data()
    X, y, groups = data.data, data.target, data.groups
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
    data = _data()
    scores = data.data[:, 0]
    for metric in _all_metrics():
        metric(data.target, scores, groups=data.groups)
    metrics.rank_scores(scores, groups=data.groups)


def _blend() -> None:
    from sklearn_ltr.ensemble import best_blend

    data = _data()
    one, other = data.data[:, 0], data.data[:, 1]
    for metric in _all_metrics():
        best_blend(one, other, data.target, groups=data.groups, metric=metric)


# --- the steps ------------------------------------------------------------------------


def _steps_of_growth(
    comm: Comm, kinds: Iterable[tuple[bool, bool]], where: str = ""
) -> dict[str, Callable[[], object]]:
    """Return steps that grow trees of both policies, by features of some kinds."""
    # a kind is whether there are categories, and whether there are sparse columns
    return {
        step_of_growth(symmetric, *kind) + where: partial(_grow, comm, symmetric, *kind)
        for kind, symmetric in product(kinds, (False, True))
    }


PLAIN, CATEGORIES, SPARSE = (False, False), (True, False), (False, True)
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
