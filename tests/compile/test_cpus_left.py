"""Beside other programs, fewer threads share kernels, and all do again afterwards."""

from __future__ import annotations

import os
import pickle
import re
import sys

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr._core.compile import INTERPRETED, cpus_left
from sklearn_ltr._core.compile.cpus_left import CpusLeft
from sklearn_ltr.datasets import make_ranking

WINDOW = 0.01


@pytest.fixture(autouse=True)
def _as_for_users(monkeypatch):
    monkeypatch.setattr(cpus_left, "SHORTEST_WINDOW", WINDOW)


class Clock:
    """Kernels on CPUs of which some are taken, and the time that they take."""

    def __init__(self, monkeypatch, n_threads: int) -> None:
        self.now = 1000.0
        monkeypatch.setattr(cpus_left, "perf_counter", lambda: self.now)
        self.left = CpusLeft(n_threads)

    def run(self, free: int, n_kernels: int, time: float = 0.002) -> list[int]:
        """Run kernels that one thread does in `time`; return numbers of threads."""
        numbers = []
        for _ in range(n_kernels):
            n = self.left.ask()
            numbers.append(n)
            work = time / n
            wall = work if n <= free else 4 * work  # others are waited for
            self.now += wall
            if n > 1:
                self.left.note(wall, work)
        return numbers


@pytest.mark.parametrize("n_threads", [2, 16])
def test_all_threads_share_where_nothing_is_lost(n_threads, monkeypatch):
    assert set(Clock(monkeypatch, n_threads).run(n_threads, 500)) == {n_threads}


@pytest.mark.parametrize("n_threads, free", [(2, 1), (4, 3), (16, 15), (16, 9), (8, 1)])
def test_as_many_share_as_have_a_cpu(n_threads, free, monkeypatch):
    clock = Clock(monkeypatch, n_threads)
    clock.run(free, 300)
    before = clock.now
    numbers = clock.run(free, 5000)
    assert set(numbers) <= {free, free + 1}
    # trials cost little
    assert clock.now - before < 1.1 * 5000 * 0.002 / free
    # and the others come back as soon as there are CPUs
    clock.run(n_threads, 3000)
    assert set(clock.run(n_threads, 100)) == {n_threads}


def test_short_kernels_are_judged_together(monkeypatch):
    clock = Clock(monkeypatch, 2)
    numbers = clock.run(1, 200, time=WINDOW / 50)
    first = numbers.index(1)
    assert 4 * first * WINDOW / 100 == pytest.approx(WINDOW, rel=0.1)


def test_what_is_lost_now_and_then_is_borne(monkeypatch):
    clock = Clock(monkeypatch, 2)
    for _ in range(100):
        assert clock.run(1, 1) + clock.run(2, 20) == [2] * 21
    assert np.isfinite(clock.now)


def test_the_mean_number_of_threads_is_told(monkeypatch):
    clock = Clock(monkeypatch, 4)
    clock.now += 1.0
    assert clock.left.mean() == 4
    clock.left.note(3.0, 1.0)  # one fewer
    clock.now += 1.0
    assert clock.left.mean() == 3.5


# --- fits ---------------------------------------------------------------------------


@pytest.fixture
def one_cpu(four_cores):
    """Let two threads be started that have to share a CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})  # threads that start later inherit it
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.skipif(INTERPRETED, reason="one thread interprets")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux binds threads to CPUs")
@pytest.mark.usefixtures("one_cpu")
@pytest.mark.parametrize("kind", ["trees", "network"])
def test_of_two_threads_on_one_cpu_one_does_the_work(kind, capsys):
    made = make_ranking(60, n_documents=100, random_state=0)
    X = (made.data - made.data.mean(axis=0)) / made.data.std(axis=0)
    model = LambdaMARTRanker(n_estimators=100, random_state=0, n_jobs=1)
    if kind == "network":
        model = LambdaRankRanker(max_iter=20, random_state=0, n_jobs=1)
    expected = pickle.dumps(model.fit(X, made.target, groups=made.groups).predict(X))
    model.set_params(n_jobs=2, verbose=1)
    model.fit(X, made.target, groups=made.groups)
    assert pickle.dumps(model.predict(X)) == expected
    end = capsys.readouterr().out.splitlines()[-1]
    assert float(re.search(r" s with ([\d.]+) of 2 threads", end)[1]) < 2
