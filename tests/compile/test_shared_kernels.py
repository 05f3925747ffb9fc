"""Kernels that threads share: each part once however late threads are; their errors."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import numba
import numpy as np
import pytest

from sklearn_ltr._core.compile import (
    INTERPRETED,
    ThreadTeam,
    atomics,
    int64,
    kernels,
    shared_kernel,
    shared_kernels,
    subkernel,
    threads,
)
from sklearn_ltr._core.compile.atomics import (
    atomic_add,
    atomic_exchange,
    sleep,
    wait_while,
)

pytestmark = pytest.mark.skipif(INTERPRETED, reason="one thread interprets")

# --- threads that are delayed at a step -----------------------------------------------

# Cells that nothing else uses: how many steps the threads of a team have made (changes
# and waits), and before which of them its thread is delayed
N_STEPS, DELAYED = shared_kernels.N_CELLS - 2, shared_kernels.N_CELLS - 1
MICROSECONDS = 2_000


@subkernel
def count_step(cells):
    if atomic_add(cells, N_STEPS, int64(1)) == cells[DELAYED]:
        sleep(int64(MICROSECONDS))


@subkernel
def delayed_add(cells, cell, value):
    count_step(cells)
    return atomic_add(cells, cell, value)


@subkernel
def delayed_exchange(cells, cell, value):
    count_step(cells)
    return atomic_exchange(cells, cell, value)


@subkernel
def delayed_wait_while(cells, cell, value):
    count_step(cells)
    wait_while(cells, cell, value)


@pytest.fixture(scope="module")
def delaying() -> ModuleType:
    """The source of `shared_kernels`, compiled with steps that may be delayed."""
    spec = importlib.util.find_spec(shared_kernels.__name__)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "KERNELS", {})
        patch.setattr(atomics, "atomic_add", delayed_add)
        patch.setattr(atomics, "atomic_exchange", delayed_exchange)
        patch.setattr(atomics, "wait_while", delayed_wait_while)
        spec.loader.exec_module(module)
    return module


def note_part(thread, n_threads, visits, n_parts):
    visits[thread] += 1
    n_parts[thread] = n_threads


@pytest.mark.parametrize("n_wanted", [2, 3])
@pytest.mark.parametrize("time", [1e3, 1e6, np.inf])
def test_a_thread_may_be_delayed_at_any_step(delaying, monkeypatch, time, n_wanted):
    for name in ("new_announcements", "release", "serve"):
        monkeypatch.setattr(threads, name, getattr(delaying, name))
    monkeypatch.setattr(threads, "MIN_SHARED_TIME", 0)
    monkeypatch.setattr(threads, "MIN_TIME_TO_BEGIN", 0)
    kernel = delaying.SharedKernel(note_part)
    for delayed in range(40):
        kept = []
        with ThreadTeam(3) as team:
            team._announcements[DELAYED] = delayed
            monkeypatch.setattr(team._cpus_left, "note", lambda wall, cpu: None)
            for k in range(4):
                visits, n_parts = np.zeros((2, 3))
                # by turns, so that a thread that is late meets another number
                most = n_wanted if k % 2 == 0 and time < np.inf else 3
                monkeypatch.setattr(team._cpus_left, "ask", lambda most=most: most)
                team.share(time, kernel, visits, n_parts)
                done = int(n_parts[0])
                assert 1 <= done <= most and (time < np.inf or done == 3)
                assert (n_parts[:done] == done).all() and (n_parts[done:] == 0).all()
                assert (visits[:done] == 1).all() and (visits[done:] == 0).all()
                kept.append((visits, visits.copy()))
                if k == 1:
                    team.map(abs, range(3))
            assert team._announcements[N_STEPS] > 25
        for visits, at_the_end in kept:  # no thread has come later
            np.testing.assert_array_equal(visits, at_the_end)


# --- errors ---------------------------------------------------------------------------

NO_MEMORY, INDEX, VALUE, DIVISION = range(4)
ERRORS = {
    NO_MEMORY: (MemoryError, "Allocation failed"),
    INDEX: (IndexError, "tuple index out of range"),
    VALUE: (ValueError, "array is too big"),
    DIVISION: (ZeroDivisionError, "by nothing"),
}


@shared_kernel
def fail(thread, n_threads, fails, kind, x):
    x[thread] += 1
    if fails[thread]:
        if kind == NO_MEMORY:
            np.empty(2**57)[0] = 1.0
        elif kind == INDEX:
            x[0] = (1.0, 2.0)[thread + 2]
        elif kind == VALUE:
            np.empty(2**60)[0] = 1.0
        elif kind == DIVISION:
            raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize("failing", [[0], [1], [2], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("kind", ERRORS)
def test_the_error_of_a_thread_is_raised_as_what_it_is_when_all_have_ended(
    kind, failing
):
    error, message = ERRORS[kind]
    fails = np.isin(np.arange(3), failing)
    with ThreadTeam(3) as team:
        x = np.zeros(3)
        with pytest.raises(error, match=message) as raised:
            team.share(np.inf, fail, fails, kind, x)
        assert raised.value.__notes__ == ["in the kernel fail"]
        np.testing.assert_array_equal(x, 1)
        team.share(np.inf, fail, np.zeros(3, dtype=bool), kind, x)  # nothing is left
        np.testing.assert_array_equal(x, 2)


@pytest.mark.parametrize("kind", ERRORS)
def test_one_thread_raises_the_same_error(kind):
    error, message = ERRORS[kind]
    with pytest.raises(error, match=message) as raised:
        ThreadTeam(1).share(np.inf, fail, np.ones(1, dtype=bool), kind, np.zeros(3))
    assert raised.value.__notes__ == ["in the kernel fail"]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_kernel_that_fails_keeps_no_arguments(failing):
    fails, x = np.arange(2) == failing, np.zeros(2)
    with ThreadTeam(2) as team:
        team.share(np.inf, fail, np.zeros(2, dtype=bool), DIVISION, x)
        kept = fails, x, team._announcements
        before = [sys.getrefcount(array) for array in kept]
        for _ in range(5):
            with pytest.raises(ZeroDivisionError):
                team.share(np.inf, fail, fails, DIVISION, x)
        assert [sys.getrefcount(array) for array in kept] == before


def raise_value(thread, n_threads, value):
    if thread == 1:
        raise ValueError("found", value)


def test_an_error_tells_its_values(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for _ in range(2):  # compiled, and read from the cache
        kernel = shared_kernels.SharedKernel(raise_value)
        with ThreadTeam(2) as team, pytest.raises(ValueError) as raised:
            team.share(np.inf, kernel, 2.5)
        assert raised.value.args == ("found", 2.5)
