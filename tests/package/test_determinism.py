"""The same bytes of model, whoever fits it: threads, processes, or several at once."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.compile import INTERPRETED, one_blas_thread, threads
from sklearn_ltr._core.networks import perceptron
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.networks import threads_of_blas
from tests.rankers.test_lambdamart import REPORT

TREES = {
    "n_estimators": 3 if INTERPRETED else 6,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 3,
    "max_bins": 32,
}
# batches of more than one block of documents, which several threads share
NETWORK = {"hidden_layer_sizes": (12, 7), "max_iter": 2, "batch_size": 100}
MODES = {
    "default": (LambdaMARTRanker, TREES),
    "report": (
        LambdaMARTRanker,
        TREES | REPORT,
    ),
    "drawn": (
        LambdaMARTRanker,
        TREES | {"subsample": 0.6, "max_features": 0.5, "early_stopping": True},
    ),
    "without a metric": (LambdaMARTRanker, TREES | {"metric": None}),
    "best first": (
        LambdaMARTRanker,
        TREES | {"grow_policy": "best_first", "subsample": 0.6, "max_features": 0.5},
    ),
    "additive bias": (LambdaMARTRanker, TREES | {"position_bias": "additive"}),
    "pairwise bias": (LambdaMARTRanker, TREES | {"position_bias": "pairwise"}),
    "bias of a network": (LambdaRankRanker, NETWORK | {"position_bias": "additive"}),
    "classifier": (MARTClassifier, TREES | {"subsample": 0.5, "max_features": 2}),
    "regressor": (MARTRegressor, TREES),
    "ranknet": (RankNetRanker, NETWORK | {"tied_pairs": True}),
    "lambdarank": (LambdaRankRanker, NETWORK | {"early_stopping": True}),
}
of_either_kind = pytest.mark.parametrize("mode", ["default", "lambdarank"])
SECONDS = 120  # a process that takes longer hangs

N_QUERIES = 20 if INTERPRETED else 400  # enough rows to be moved by several threads


def model(mode: str = "default", n_jobs: int | None = 1, seed: int = 0) -> bytes:
    """Fit, and return the model with its scores as bytes."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(N_QUERIES), rng.integers(2, 25, N_QUERIES))
    X = rng.normal(size=(len(groups), 20)).astype(np.float32)
    y = np.clip(X[:, 0] + rng.normal(size=len(groups)), 0, 3).round()
    kind, options = MODES[mode]
    if "MART" in kind.__name__:
        X[rng.uniform(size=X.shape) < 0.05] = np.nan
    ranker = kind(random_state=0, n_jobs=n_jobs, **options)
    if kind in (MARTClassifier, MARTRegressor):
        ranker.fit(X, y > 0 if kind is MARTClassifier else y)
    else:
        positions = np.arange(len(groups)) - np.searchsorted(groups, groups)
        given = {"positions": positions} if "position_bias" in options else {}
        ranker.fit(X, y, groups=groups, **given)
    learned = {name: value for name, value in vars(ranker).items() if name[-1] == "_"}
    return pickle.dumps((learned, ranker.predict(X)))


def model_sent(connection, *modes: str) -> None:
    """What a child process does: fit with two threads and send the models."""
    # as for all tests of this process
    threads.MIN_SHARED_TIME = threads.MIN_TIME_TO_BEGIN = -np.inf
    perceptron.MIN_SHARED_PRODUCTS = 0
    connection.send([model(mode, n_jobs=2) for mode in modes])
    connection.close()


def models_of_child(context: str, *modes: str) -> list[bytes]:
    """Fit in a child process; fail instead of waiting for one that hangs or dies."""
    start = multiprocessing.get_context(context)
    here, there = start.Pipe(duplex=False)
    child = start.Process(target=model_sent, args=(there, *modes))
    child.start()
    there.close()
    try:
        assert here.poll(SECONDS), f"the child of {context} hangs"
        return here.recv()
    except EOFError:
        child.join()
        pytest.fail(f"the child of {context} died with exit code {child.exitcode}")
    finally:
        child.kill()
        child.join()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.usefixtures("four_cores")
def test_the_number_of_threads_does_not_matter(mode):
    # one, two, three, and all four
    assert len({model(mode, n_jobs) for n_jobs in (None, 2, 3, -1)}) == 1


def test_python_threads_may_fit_at_once():
    expected = [model(mode) for mode in MODES]
    barrier = threading.Barrier(len(MODES))

    def together(mode, n_jobs):
        barrier.wait(SECONDS)
        return model(mode, n_jobs)

    with ThreadPoolExecutor(len(MODES)) as pool:
        for n_jobs in (1, 2):
            given = MODES, [n_jobs] * len(MODES)
            assert list(pool.map(together, *given)) == expected


needs_fork = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux forks safely"
)
# Python 3.12 warns of any fork of a process with threads; scikit-learn's users fork
allow_fork = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@needs_fork
@allow_fork
@of_either_kind
def test_a_forked_child_of_a_process_that_has_fitted_gives_the_same_model(mode):
    expected = model(mode, n_jobs=2)
    assert models_of_child("fork", mode) == [expected]


@needs_fork
@allow_fork
@of_either_kind
def test_a_child_forked_in_the_middle_of_a_fit_gives_the_same_model(mode):
    expected = model(mode)
    stop = threading.Event()

    def keep_fitting():
        while not stop.is_set():
            model(mode, n_jobs=2)

    other = threading.Thread(target=keep_fitting)
    other.start()
    try:
        assert models_of_child("fork", mode) == [expected]
    finally:
        stop.set()
        other.join()


@needs_fork
@allow_fork
def test_a_child_forked_while_blas_is_being_limited_does_not_hang():
    """Nor does it inherit a limit that only a thread of its parent had asked for."""
    stop = threading.Event()

    def keep_limiting():
        while not stop.is_set():
            with one_blas_thread:
                pass

    before = threads_of_blas()
    other = threading.Thread(target=keep_limiting)
    other.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                signal.alarm(10)  # ends a child that hangs
                try:
                    with one_blas_thread:
                        limited = set(threads_of_blas()) == {1}
                    os._exit(0 if limited and threads_of_blas() == before else 1)
                finally:
                    os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        other.join()
    assert threads_of_blas() == before


def test_a_spawned_child_gives_the_same_model():
    modes = ("default", "lambdarank")
    assert models_of_child("spawn", *modes) == [model(mode) for mode in modes]


@of_either_kind
@pytest.mark.usefixtures("four_cores")
def test_no_thread_is_left_behind(mode):
    before = threading.active_count()
    model(mode, n_jobs=4)
    assert threading.active_count() <= before
