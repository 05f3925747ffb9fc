"""Processes that share a folder compile each kernel once, and never wait for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import joblib
import numba
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.compile import claims, helper
from sklearn_ltr._core.compile.kernels import USES_INTERNALS
from sklearn_ltr.datasets import make_ranking

pytestmark = pytest.mark.skipif(
    not USES_INTERNALS or claims.fcntl is None, reason="nothing is claimed"
)

HOLD = """
import sys
from sklearn_ltr._core.compile import claims
claims.claim(*sys.argv[1:])
print("claimed", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process, which has claimed the kernel "a" of a folder."""
    command = [sys.executable, "-c", HOLD, str(tmp_path), "a"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdout.readline() == "claimed\n"
        yield process
        process.kill()


def seconds_to_claim(folder, name):
    start = time.monotonic()
    claims.claim(str(folder), name)
    return time.monotonic() - start


def test_another_kernel_is_not_waited_for(holder, tmp_path):
    assert seconds_to_claim(tmp_path, "b") < 5.0


def test_a_claim_ends_with_its_process(holder, tmp_path, monkeypatch):
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        holder.kill()
        holder.wait()

    monkeypatch.setattr(claims.time, "sleep", sleep)
    claims.claim(str(tmp_path), "a")
    assert len(waits) == 1


def test_a_stopped_process_is_not_waited_for_for_ever(holder, tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "MOST_SECONDS", 0.2)
    assert 0.2 <= seconds_to_claim(tmp_path, "a") < 5.0


def test_a_process_does_not_wait_for_itself(tmp_path):
    assert seconds_to_claim(tmp_path, "a") < 5.0
    assert seconds_to_claim(tmp_path, "a") < 5.0
    claims.give_up(str(tmp_path), "a")
    claims.give_up(str(tmp_path), "never claimed")


def test_a_folder_that_cannot_be_written_has_no_claims(tmp_path):
    (tmp_path / "file").write_text("")
    assert seconds_to_claim(tmp_path / "file" / "folder", "a") < 5.0
    claims.give_up(str(tmp_path / "file" / "folder"), "a")


COMPILE_THREE = """
from sklearn_ltr._core.compile import KERNELS
from sklearn_ltr._core.compile.arithmetic import exp2_of, expit_of, log2_of
exp2_of([1.0]), log2_of([1.0]), expit_of([1.0])
print(sum(sum(k.stats.cache_misses.values()) for k in KERNELS.values()))
"""


def test_processes_that_begin_together_compile_each_kernel_once(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COMPILE_THREE]
    processes = [
        subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    n_compiled = [int(process.communicate()[0]) for process in processes]
    assert sum(n_compiled) == len(list(tmp_path.rglob("*.nbc"))) == 3


# --- the process that helps a first fit -----------------------------------------------


@pytest.fixture
def started(monkeypatch):
    """The commands of helpers that would have been started."""
    commands = []

    def note(command, **options):
        commands.append(command)
        raise OSError("none is started")

    monkeypatch.setattr(helper.subprocess, "Popen", note)
    monkeypatch.setattr(helper, "_started", [])
    monkeypatch.setattr(helper, "_wanted", [])
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda n_jobs: 2)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)
    return commands


@pytest.mark.parametrize(
    "options, step",
    [
        ({}, "symmetric"),  # there are few queries
        ({"grow_policy": "best_first"}, "best_first"),
        ({"categorical_features": [0]}, "symmetric, categories"),
    ],
)
def test_a_fit_wants_the_kernel_of_its_trees_compiled(started, options, step):
    data = make_ranking(5, n_features=4, n_informative=2, random_state=0)
    X = abs(data.data).astype(int)
    ranker = LambdaMARTRanker(n_estimators=1, **options)
    ranker.fit(X, data.target, groups=data.groups)
    helper.start()
    (command,) = started
    assert command == [*helper.command(step), helper.WHILE_STDIN]


def test_no_helper_is_started_where_it_would_not_help(started, monkeypatch):
    helper.start()  # no fit wants one
    helper.want("symmetric", n_jobs=1)
    helper.start()
    helper.want("symmetric", n_jobs=None)
    with monkeypatch.context() as context:
        context.setattr(joblib, "effective_n_jobs", lambda n_jobs: 1)
        helper.start()
    with monkeypatch.context() as context:  # as in a worker of joblib
        context.setattr(numba.config, "NUMBA_NUM_THREADS", 1)
        helper.start()
    with monkeypatch.context() as context:
        context.setattr(helper.sys, "executable", None)
        helper.start()
    assert started == []
    helper.start()
    assert len(started) == 1


def test_a_helper_ends_with_the_process_that_has_started_it(tmp_path):
    environment = helper.environment() | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [*helper.command("threads"), helper.WHILE_STDIN]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        assert process.stdout.readline() == b"threads\n"
        process.stdin.close()
        assert process.wait(timeout=60) == 0
    names = {path.name.partition("-")[0] for path in tmp_path.rglob("*.nbc")}
    assert {"shared_kernels.serve", "shared_kernels.release"} <= names
    assert len(names) < 10  # not all
