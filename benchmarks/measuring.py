"""How the scripts measure seconds and memory (as Linux reports it): once, for all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Name = TypeVar("Name")


def in_turns(
    calls: Mapping[Name, Callable[[], Any]], repetitions: int
) -> Iterator[tuple[Name, float, Any]]:
    """Make each call in turn, over and over: its name, its seconds, what it returned.

    A machine that is slow for a while is then slow for all of them.
    """
    for _ in range(repetitions):
        for name, call in calls.items():
            start = time.perf_counter()
            answer = call()
            yield name, time.perf_counter() - start, answer


def take_turns(
    calls: Mapping[Name, Callable[[], Any]], repetitions: int
) -> dict[Name, list[float]]:
    """All seconds of each call."""
    seconds: dict[Name, list[float]] = {name: [] for name in calls}
    for name, elapsed, _ in in_turns(calls, repetitions):
        seconds[name].append(elapsed)
    return seconds


def slope(seconds: Mapping[int, Sequence[float]]) -> float:
    """Slope of log time over log size, by the quickest run of each size."""
    quickest = [min(several) for several in seconds.values()]
    return np.polyfit(np.log(list(seconds)), np.log(quickest), 1)[0]


def cost_of(call: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Seconds of a call, MB by which it raised this process's memory; its answer."""
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM falls back to VmRSS
    before = memory("VmRSS")
    start = time.perf_counter()
    answer = call()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "peak_mb": memory("VmHWM") - before}, answer


def memory(field: str) -> float:
    """VmRSS or VmHWM (the highest VmRSS so far) of this process, in MB."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def in_a_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
