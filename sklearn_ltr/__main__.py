"""The command line, ``python -m sklearn_ltr``: train, rank, evaluate, compare, ...

All commands but ``compile`` are in ``_commands``.

numba compiles kernels when they are first called, and caches them on disk for the CPU.
For a container image, or an installation that is read-only later, fill the cache
before: run ``compile`` once, on the kind of CPU that will be used,
with ``NUMBA_CACHE_DIR`` set as it will be set later (or not at all).
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    RankNetRanker,
    __version__,
    _commands,
    metrics,
)
from sklearn_ltr._comm import ONE_PROCESS, OneProcess
from sklearn_ltr._compile import INTERPRETED, ONE_THREAD
from sklearn_ltr._compile.shared_kernels import new_announcements, release, serve
from sklearn_ltr._parameters import read_parameters
from sklearn_ltr._trees.binning import BinnedData
from sklearn_ltr._trees.constraints import NO_CONSTRAINTS
from sklearn_ltr._trees.growth.grower import TreeGrower
from sklearn_ltr._trees.growth.quantization import RowDerivatives
from sklearn_ltr._trees.growth.sampling import TreeSampler
from sklearn_ltr._trees.parameters import (
    GROW_POLICIES,
    TreeParameters,
    growth_parameters,
)
from sklearn_ltr._typing import FloatArray
from sklearn_ltr.dask._fit import WorkerRows, fit_rows
from sklearn_ltr.dask._tables import PartRows
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import best_blend
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics._metric import METRICS

# Enough rows times trees for a prediction that is worth compiling (`MOST_WALKS`)
N_QUERIES, N_TREES = 300, 30


def compile_kernels(*, verbose: bool = False) -> None:
    """Compile every kernel that is not in the cache; print the steps if `verbose`."""
    # A kernel is compiled when it is first called, for each type of its arguments: so
    # fit and evaluate small models of all kinds, in float64 and float32.
    data = make_ranking(N_QUERIES, n_features=4, n_informative=2, random_state=0)
    for name, step in _steps(data).items():
        start = time.perf_counter()
        step()
        if verbose:
            print(f"{name:<24}{time.perf_counter() - start:6.1f} s", flush=True)


def _steps(data: Bunch) -> dict[str, Callable[[], object]]:
    """Return functions that together call every kernel, by name."""
    X = data.data
    return {
        "threads": _let_threads_serve,
        "LambdaMART, float64": partial(_fit_trees, X, data),
        "LambdaMART, float32": partial(_fit_trees, X.astype(np.float32), data),
        "LambdaMART, sparse X": partial(_fit_trees, csr_matrix(X), data),
        "categories": partial(_fit_categories, data),
        "a fit on a cluster": partial(_fit_on_worker, data),
        "trees on a cluster": _grow_together,
        "objectives": partial(_compute_objectives, data),
        "weighted pairs": partial(_fit_clicks, data),
        "weights of documents": partial(_weigh_documents, data),
        "MART": partial(_fit_mart, data),
        "SHAP values": partial(_explain, data),
        "networks": partial(_fit_networks, data),
        "pairs": partial(_fit_pairs, data),
        "metrics": partial(_evaluate_metrics, data),
        "blends": partial(_blend, data),
    }


class _FirstGrade(metrics.Metric):
    """A metric without a closed form, as users write it."""

    def value(self, ranked_grades: FloatArray) -> float:
        return float(ranked_grades[0])


def _all_metrics() -> list[metrics.Metric]:
    """Return every metric, with a cutoff shorter than the lists."""
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


def _fit_trees(X: Any, data: Bunch) -> None:
    y, groups = data.target, data.groups
    ranker = LambdaMARTRanker(n_estimators=N_TREES, subsample=0.5, random_state=0)
    ranker.set_params(early_stopping=True).fit(X, y, groups=groups)
    ranker.set_params(early_stopping=False).fit(X, y, groups=groups).predict(X)
    ranker.predict(X[:1])


def _fit_categories(data: Bunch) -> None:
    X = np.abs(data.data).astype(np.int64)
    for policy in GROW_POLICIES:
        ranker = LambdaMARTRanker(n_estimators=N_TREES, categorical_features=[0, 1])
        ranker.set_params(grow_policy=policy)
        ranker.fit(X, data.target, groups=data.groups).predict(X)
    ranker = LambdaMARTRanker(n_estimators=2, monotonic_cst=[1] * X.shape[1])
    ranker.fit(X, data.target, groups=data.groups)


def _fit_on_worker(data: Bunch) -> None:
    numbers, n_rows = np.arange(N_QUERIES), len(data.target)
    others = {"y": data.target, "groups": data.groups}
    attributes = {"init_": None, "_uses_init_score": False}
    for X in (data.data, data.data.astype(np.float32)):
        rows = PartRows("X", [{"X": X}], [None], [n_rows])
        ranker = LambdaMARTRanker(n_estimators=2, subsample=0.5)
        given = [WorkerRows(rows, others, numbers)]
        fit_rows(vars(ranker) | attributes, 0, given, False, ONE_PROCESS)


class _OneOfTwo(OneProcess):
    """The Comm of one of two workers, of which the other has no rows."""

    n_workers = 2


def _grow_together() -> None:
    """Grow a tree as one of several workers, without and with categories."""
    n_features, n_rows = 2, 100
    columns = np.arange(n_features * n_rows, dtype=np.uint8).reshape(n_features, -1)
    derivatives = RowDerivatives(np.arange(float(n_rows)), np.ones(n_rows))
    parameters = read_parameters(TreeParameters, MARTRegressor())
    for symmetric, n_categories in product((False, True), (0, 255)):
        growth = growth_parameters(parameters, NO_CONSTRAINTS, n_rows, symmetric)
        n_nodes = 2 * growth.max_leaf_nodes - 1
        sampler = TreeSampler(1.0, n_features, n_features, n_features, n_nodes, seed=0)
        binned = BinnedData(columns, np.full(2, 255), np.full(2, n_categories))
        grower = TreeGrower(
            binned,
            growth,
            ONE_THREAD,
            np.arange(n_rows, dtype=np.uint32),
            _OneOfTwo(),
        )
        grower.grow(derivatives, sampler.draw(0), 0.1, np.zeros(n_rows))


def _compute_objectives(data: Bunch) -> None:
    for metric in (*_all_metrics(), None):
        ranker = LambdaMARTRanker(metric, n_estimators=2, random_state=0)
        ranker.set_params(regression_weight=1.0)
        ranker.fit(data.data, data.target, groups=data.groups)


def _weigh_documents(data: Bunch) -> None:
    options = {"groups": data.groups, "document_weight": np.ones(len(data.target))}
    trees = LambdaMARTRanker(None, n_estimators=2, regression_weight=1.0)
    network = RankNetRanker(max_iter=1, learning_rate_init=1e-6, tied_pairs=True)
    for ranker in (trees, network):
        ranker.fit(data.data, data.target, **options)


def _fit_clicks(data: Bunch) -> None:
    clicks, groups = data.target > 0, data.groups
    sizes = np.unique(groups, return_counts=True)[1]
    positions = np.concatenate([np.arange(n) for n in sizes])
    for metric in ("ndcg", None):
        ranker = LambdaMARTRanker(metric, n_estimators=2, position_bias="pairwise")
        ranker.fit(data.data, clicks, groups=groups, positions=positions)
        ranker.set_params(position_bias=None)
        ranker.fit(data.data, clicks, groups=groups, propensities=np.ones(len(clicks)))


def _fit_mart(data: Bunch) -> None:
    options: dict[str, Any] = {"n_estimators": 2, "early_stopping": True}
    MARTRegressor(**options).fit(data.data, data.target)
    classifier = MARTClassifier(**options).fit(data.data, data.target > 0)
    classifier.predict_proba(data.data)


def _explain(data: Bunch) -> None:
    X = data.data
    regressor = MARTRegressor(n_estimators=2).fit(X, data.target)
    shap_values(regressor, X)
    shap_values(regressor, X, background=X)


def _fit_networks(data: Bunch) -> None:
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


def _fit_pairs(data: Bunch) -> None:
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


def _evaluate_metrics(data: Bunch) -> None:
    scores = data.data[:, 0]
    for metric in _all_metrics():
        metric(data.target, scores, groups=data.groups)
    metrics.rank_scores(scores, groups=data.groups)


def _blend(data: Bunch) -> None:
    one, other = data.data[:, 0], data.data[:, 1]
    for metric in _all_metrics():
        best_blend(one, other, data.target, groups=data.groups, metric=metric)


def _compile(given: argparse.Namespace) -> None:
    """Compile all kernels, and print the steps."""
    logger = logging.getLogger("sklearn_ltr")
    level = logger.level
    logger.setLevel(logging.ERROR)  # no line that tells to run this command
    try:
        compile_kernels(verbose=True)
    finally:
        logger.setLevel(level)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status: 0, 1 after an error (argparse has 2)."""
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_ltr", description="Learning to rank on files."
    )
    parser.add_argument(
        "--version", action="version", version=f"sklearn_ltr {__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _commands.add_commands(commands)
    commands.add_parser(
        "compile", help="compile all kernels, and store the machine code on disk"
    ).set_defaults(run=_compile)
    given, left = parser.parse_known_args(arguments)
    # argparse takes files up to the first option after them
    if left and (not hasattr(given, "files") or any(w.startswith("-") for w in left)):
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    if left:
        given.files += left
    try:
        given.run(given)
    except (ValueError, TypeError, OSError, ImportError) as error:
        message = " ".join(str(error).split("\n"))  # long ones have several lines
        print(f"{parser.prog} {given.command}: error: {message}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
