"""The time of compiling is known, so that rates leave it out."""

from __future__ import annotations

import time

import numba
import pytest

from sklearn_ltr._core.compile import COMPILE_CLOCK, INTERPRETED, working_time
from sklearn_ltr._core.compile.compile_time import CompileClock


@pytest.fixture
def now(monkeypatch):
    """A clock that tests set."""
    now = [1000.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def test_what_is_compiled_within_another_counts_once(now):
    clock = CompileClock()
    with clock.running():
        now[0] += 1
        with clock.running():
            now[0] += 2
        assert clock.seconds() == 3
    now[0] += 10
    assert clock.seconds() == 3
    with pytest.raises(ZeroDivisionError), clock.running():
        now[0] += 4
        1 / 0  # noqa: B018
    assert clock.seconds() == 7
    assert not clock.is_running


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_the_time_of_work_stands_still_while_numba_compiles():
    @numba.njit
    def double(x):
        return 2 * x

    times = time.perf_counter(), COMPILE_CLOCK.seconds(), working_time()
    assert double(4) == 8
    passed, compiled, worked = (
        now - before
        for now, before in zip(
            (time.perf_counter(), COMPILE_CLOCK.seconds(), working_time()), times,
            strict=True,
        )
    )  # fmt: skip
    assert passed >= compiled > 0.01  # numba needs more for any function
    assert worked == pytest.approx(passed - compiled, abs=0.01)
