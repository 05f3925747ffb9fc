"""What a fit on Ray refuses, and what becomes of it if an actor is lost."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

pytest.importorskip("ray.data")
import ray  # noqa: E402

from sklearn_ltr.ray import RayLambdaMARTRanker, _engine  # noqa: E402
from tests.ray import Rate  # noqa: E402
from tests.ray.test_fit import FRAME, OPTIONS, fit, local_fit, on_ray  # noqa: E402

pytestmark = pytest.mark.usefixtures("cluster")
ROWS = FRAME.assign(day=np.datetime64("2024-01-01"))


def check_nothing_is_left(ranker):
    assert vars(ranker) == vars(RayLambdaMARTRanker(**ranker.get_params()))
    check_all_is_free()


def check_all_is_free(seconds=30):
    """Whether no actor runs, and all CPUs are free, soon."""
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        if ray.available_resources().get("CPU") == ray.cluster_resources()["CPU"]:
            return
        time.sleep(0.2)
    pytest.fail(f"reserved: {ray.available_resources()} of {ray.cluster_resources()}")


WRONG = {
    "no such column": ({"groups": "qid"}, ValueError, "groups: the Dataset has no colu"
                       "mn 'qid'; it has f0, f1"),
    "no such label": ({"y": ["y", "z"]}, ValueError, "y: the Dataset has no column '"),
    "no such weight": ({"sample_weight": "w"}, ValueError, "sample_weight: the Dataset "
                       "has no column 'w'"),
    "an array": ({"y": FRAME["y"]}, TypeError, "y must be the name of a column of X, "
                 "got Series"),
    "weights": ({"sample_weight": np.ones(3)}, TypeError, "sample_weight must be the "),
    "no queries": ({"groups": None}, ValueError, "groups is None"),
    "no grades": ({"y": None}, ValueError, "y is None"),
    "a frame": ({"X": FRAME}, TypeError, "X must be a ray.data.Dataset, got DataFrame"),
    "another": ({"X_val": 3}, TypeError, "X_val must be a ray.data.Dataset, got int"),
    "no workers": ({"n_workers": 0}, ValueError, "n_workers"),
    "half a worker": ({"n_workers": 1.5}, TypeError, "n_workers"),
    "unknown": ({"weight": "w"}, TypeError, "weight"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused(name):
    given, kind, message = WRONG[name]
    ranker = RayLambdaMARTRanker(**OPTIONS)
    arguments = {"X": on_ray(FRAME, 1), "y": "y", "groups": "query", "n_workers": 1}
    with pytest.raises(kind, match=re.escape(message)):
        ranker.fit(**arguments | given)
    check_nothing_is_left(ranker)


def test_wrong_parameters_are_refused():
    dataset = on_ray(FRAME, 1)
    with pytest.raises(ValueError, match="learning_rate"):
        fit(dataset, options={"learning_rate": -1})
    with pytest.raises(ValueError, match="n_jobs=3, but no machine .* more than 2 CPU"):
        fit(dataset, options={"n_jobs": 3})
    with pytest.raises(ValueError, match="X has no features"):
        fit(dataset.select_columns(["y", "query"]))
    with pytest.raises(ValueError, match="callbacks are not called"):
        RayLambdaMARTRanker().set_callbacks(print)
    val = on_ray(FRAME.drop(columns=["f3"]), 1)
    with pytest.raises(ValueError, match="X_val: the Dataset has no column 'f3'"):
        fit(dataset, X_val=val)
    for empty in (ray.data.from_items([]), dataset.limit(0)):
        with pytest.raises(ValueError, match="X is empty"):
            fit(empty)
    check_all_is_free()


BAD = {
    "a missing grade": ("y", None, {}, r"partition \d: y must .*query"),
    "a negative grade": ("y", -1.0, {}, r"partition \d: y must .*query"),
    "a missing query": ("query", None, {}, r"partition \d: groups has"),
    "a missing weight": ("f8", None, {"sample_weight": "f8"}, "sample_weight"),
    "infinity": ("f2", np.inf, {}, "X contains infinity.*'f2'"),
    "a huge start": ("f8", 1e300, {"init_score": "f8"}, "rounding would erase"),
    "times": ("day", None, {}, "day"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_refused(name):
    """By one actor; the other ends."""
    column, value, given, message = BAD[name]
    frame = ROWS if column == "day" else FRAME.assign(f8=1.0)
    frame = frame.copy()
    frame.loc[7, column] = value
    ranker = RayLambdaMARTRanker(**OPTIONS)
    with pytest.raises((ValueError, TypeError), match=message):
        ranker.fit(on_ray(frame), "y", groups="query", n_workers=2, **given)
    check_nothing_is_left(ranker)


@pytest.mark.slow
@pytest.mark.parametrize("tree", [2, 7])
def test_a_fit_goes_on_without_a_lost_actor(tmp_path, tree):
    options = {"learning_rate": Rate(str(tmp_path), tree), "n_estimators": 8}
    with pytest.warns(RuntimeWarning, match=f"goes on without it from tree {tree}"):
        ranker = fit(on_ray(FRAME), options=options, n_workers=3)
    expected = local_fit(options=options)
    same = [pickle.dumps(model.ensemble_) for model in (ranker, expected)]
    assert same[0] == same[1]
    check_all_is_free()


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"early_stopping": True}])
def test_a_fit_that_cannot_go_on_says_so(tmp_path, more):
    """Before the first tree, and where a score may stop it."""
    options = {"learning_rate": Rate(str(tmp_path), 3 if more else 0)} | more
    ranker = RayLambdaMARTRanker(**OPTIONS | {"n_estimators": 6} | options)
    with pytest.raises(RuntimeError, match="a worker of the fit was lost.* fit again"):
        ranker.fit(on_ray(FRAME), "y", groups="query", n_workers=2)
    check_nothing_is_left(ranker)


@pytest.mark.slow
def test_a_machine_that_goes_away_with_its_rows(cluster, tmp_path):
    """Its blocks are computed again, where there are others."""
    machine = cluster.add_node(num_cpus=2)
    rate = Rate(str(tmp_path), 4, signal.SIGSTOP)

    def remove():
        while not (tmp_path / "came").exists():
            time.sleep(0.1)
        cluster.remove_node(machine, allow_graceful=False)

    thread = threading.Thread(target=remove)
    thread.start()
    options = {"learning_rate": rate, "n_estimators": 6}
    with pytest.warns(RuntimeWarning, match="goes on without it"):
        ranker = fit(on_ray(FRAME, 9), options=options, n_workers=6)
    thread.join()
    expected = local_fit(options=options)
    same = [pickle.dumps(model.ensemble_) for model in (ranker, expected)]
    assert same[0] == same[1]


@pytest.mark.slow
def test_a_fit_with_an_actor_that_hangs_can_be_interrupted(tmp_path):
    rate = Rate(str(tmp_path), 1, signal.SIGSTOP)
    ranker = RayLambdaMARTRanker(**OPTIONS | {"learning_rate": rate})

    def interrupt():
        while not (tmp_path / "came").exists():
            time.sleep(0.1)
        time.sleep(2.0)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(on_ray(FRAME), "y", groups="query", n_workers=2)
    thread.join()
    check_nothing_is_left(ranker)


class Idle:
    """Has CPUs, and does not use them."""

    def answer(self):
        pass


def test_cpus_that_do_not_become_free(monkeypatch):
    monkeypatch.setattr(_engine, "PLACE_SECONDS", 1)
    held = ray.remote(num_cpus=2)(Idle).remote()
    ray.get(held.answer.remote())
    ranker = RayLambdaMARTRanker(**OPTIONS | {"n_jobs": 2})
    try:
        with pytest.raises(RuntimeError, match="2 workers of 2 CPUs at once, and"):
            ranker.fit(on_ray(FRAME, 2), "y", groups="query", n_workers=2)
    finally:
        ray.kill(held)
    check_nothing_is_left(ranker)


PROGRAM = """
import ray, sys
from sklearn_ltr.ray import RayLambdaMARTRanker
from tests.ray import Rate
from tests.ray.test_fit import FRAME, OPTIONS, on_ray
ray.init(sys.argv[1], logging_level="error")
rate = Rate(sys.argv[2], 1, 0)
options = OPTIONS | {"n_estimators": 100_000, "learning_rate": rate}
RayLambdaMARTRanker(**options).fit(on_ray(FRAME), "y", groups="query", n_workers=2)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_program_that_ends_leaves_no_actor(cluster, tmp_path, number):
    program = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    running = subprocess.Popen([*program, cluster.address, str(tmp_path)])
    while not (tmp_path / "came").exists():
        assert running.poll() is None
        time.sleep(0.2)
    assert ray.available_resources().get("CPU", 0) < ray.cluster_resources()["CPU"]
    running.send_signal(number)
    running.wait(timeout=60)
    check_all_is_free(60)
