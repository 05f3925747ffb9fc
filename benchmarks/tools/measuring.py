"""Measurement of seconds and of memory (Linux only) for all scripts."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

Name = TypeVar("Name")


def in_turns(
    calls: Mapping[Name, Callable[[], Any]], repetitions: int
) -> Iterator[tuple[Name, float, Any]]:
    """Run the calls interleaved; yield name, seconds and return value of each.

    If the machine is slow for a while, it is slow for all of them.
    """
    for _ in range(repetitions):
        for name, call in calls.items():
            start = time.perf_counter()
            result = call()
            yield name, time.perf_counter() - start, result


def take_turns(
    calls: Mapping[Name, Callable[[], Any]], repetitions: int
) -> dict[Name, list[float]]:
    """Run the calls interleaved; return the seconds of each repetition by name."""
    seconds: dict[Name, list[float]] = {name: [] for name in calls}
    for name, elapsed, _ in in_turns(calls, repetitions):
        seconds[name].append(elapsed)
    return seconds


def results_in_turns(
    calls: Mapping[Name, Callable[[], Any]], repetitions: int
) -> dict[Name, list[Any]]:
    """Run the calls interleaved; return what each repetition returns, by name."""
    results: dict[Name, list[Any]] = {name: [] for name in calls}
    for name, _, result in in_turns(calls, repetitions):
        results[name].append(result)
    return results


def cost_of(call: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Return seconds, CPU seconds and peak memory of a call, and its result.

    Peak memory is in MB above the start.
    """
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM to VmRSS
    before = memory("VmRSS")
    start, cpu_start = time.perf_counter(), time.process_time()
    result = call()
    cost = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu_start,
        "peak_mb": memory("VmHWM") - before,
    }
    return cost, result


def memory(field: str) -> float:
    """Return VmRSS or VmHWM (the highest VmRSS so far) of this process, in MB."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def in_a_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


@contextmanager
def busy_processes(n: int) -> Iterator[None]:
    """Let so many processes compute, each as fast as a CPU, during this block."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(n)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


# --- a fit on many cores, see scaling.py ----------------------------------------------

COUNTED = "sklearn_ltr, CPU time"
SUMS = "longest thread", "equal shares"


def seconds_of(counted: dict[str, Any], prices: dict[str, float], sums: str) -> float:
    """Return the seconds on free cores, by one of both sums."""
    waiting = counted["n_starts"] * prices["start"]
    if counted["n_starts"] > 0:  # by more than one thread
        waiting += counted["n_barriers"] * prices["barrier"]
    return sum(counted[sums].values()) + waiting


def extrapolated(one: float, two: float, n_threads: int) -> float:
    """Return s + p / n, given it for n = 1 and n = 2."""
    shared = 2 * (one - two)
    return (one - shared) + shared / n_threads
