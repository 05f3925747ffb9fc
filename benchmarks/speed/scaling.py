"""Seconds of a fit on many free cores, computed from the CPU time of its threads.

    python -m benchmarks.speed.scaling --presets a b
    python -m benchmarks.speed.scaling --presets a --threads 1 2 4

A fit runs with each number of threads on the cores at hand, however few.  Its parts are
kernels and functions that the threads run together.  Threads that wait sleep here, so
that waiting takes no CPU time.  Two sums are printed, of the parts and of what the
calling thread does alone, with a price for each start of a part and for each barrier
inside:

longest thread  a part takes as long as the thread that worked longest.  Where threads
                fetch one task after another, this is too much: on few cores, the
                threads that happen to run fetch the tasks of the others.
equal shares    a part takes its CPU time divided by the number of threads.  This is too
                little: threads wait for each other.

Both assume that memory keeps up with the cores.  Beside one thread and two stands the
clock.  Seconds of peers with more threads are extrapolated from their fits with one and
with two: s + p / n (Amdahl's law).
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from benchmarks.tools import fits, peers
from benchmarks.tools.measuring import (
    COUNTED,
    SUMS,
    extrapolated,
    in_a_new_process,
    in_turns,
    seconds_of,
)
from benchmarks.tools.peers import OURS
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr._core.compile import (
    SharedKernel,
    ThreadTeam,
    atomics,
    new_barrier,
    shared_kernel,
    wait_at_barrier,
)
from sklearn_ltr._core.compile import threads as team_module
from sklearn_ltr._core.trees.growth.grower import TreeGrower

THREADS = (1, 2, 4, 8, 16, 32)
LIBRARIES = (OURS, "LightGBM", "LightGBM quantized", "XGBoost hist")
ALONE = "calling thread"


class PartClock:
    """Adds up the CPU time of the parts of fits in this process.

    Attributes
    ----------
    longest, shares : Counter
        By part, the seconds of the thread that worked longest, and their mean over
        threads; those of the calling thread are under ALONE.
    n_starts, n_barriers : int
        How often threads began a part, and met while they grew a tree.
    """

    def __init__(self) -> None:
        self.longest, self.shares = Counter[str](), Counter[str]()
        self.n_starts = self.n_barriers = 0

    def watch(self) -> None:
        """Let the teams of this process report to this clock."""
        call, grow = ThreadTeam.map, TreeGrower.grow

        def timed_map(
            team: ThreadTeam, function: Any, *arguments: Iterable[Any]
        ) -> list[Any]:
            times = Counter[int]()  # of each thread

            def timed(*item: Any) -> Any:
                start = time.thread_time()
                found = function(*item)
                times[threading.get_ident()] += time.thread_time() - start
                return found

            results = call(team, timed, *arguments)
            name = part_name(function)
            self.longest[name] += max(times.values(), default=0.0)
            self.shares[name] += sum(times.values()) / team.n_threads
            if team.n_threads > 1:
                self.n_starts += 1
            else:
                self.add_alone(-sum(times.values()))
            return results

        def share(
            team: ThreadTeam, needed: float, kernel: SharedKernel, *arguments: Any
        ) -> None:
            # by threads that return to Python after each kernel, to read their clocks
            n_threads = team.n_threads
            if needed < team_module.MIN_SHARED_TIME or n_threads == 1:
                kernel(0, 1, *arguments)
                return

            def part(thread: int) -> None:
                kernel(thread, n_threads, *arguments)

            part.__qualname__ = part_name(kernel)
            team.map(part, range(n_threads))

        def timed_grow(grower: TreeGrower, *arguments: Any) -> Any:
            barrier = grower._workspace.team.barrier
            before = int(barrier[atomics.N_PHASES])
            tree = grow(grower, *arguments)
            self.n_barriers += int(barrier[atomics.N_PHASES]) - before
            return tree

        ThreadTeam.map, ThreadTeam.share = timed_map, share
        TreeGrower.grow = timed_grow

    def add_alone(self, seconds: float) -> None:
        """Add to the CPU time of the calling thread."""
        self.longest[ALONE] += seconds
        self.shares[ALONE] += seconds


def part_name(function: Any) -> str:
    """Return the name of a function, or of the class of a callable object."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return name.rpartition(".<locals>.")[2].strip("_")


def count(folder: Path, settings: peers.Settings) -> dict[str, Any]:
    """Count the CPU time of one fit; runs in a new process."""
    if settings.n_threads > 1:  # before kernels are compiled
        atomics.LOOKS_BEFORE_SLEEP, atomics.SHORTEST_SLEEP = 0, 200
    joblib.cpu_count = lambda: settings.n_threads  # as if there were as many
    clock = PartClock()
    X, y, groups = fits.read(folder, "train")
    fits.warm_up(peers.train_sklearn_ltr, X, y, groups, settings)
    clock.watch()
    start = time.thread_time()
    peers.train_sklearn_ltr(X, y, groups, settings)
    clock.add_alone(time.thread_time() - start)
    return {
        "longest thread": dict(clock.longest),
        "equal shares": dict(clock.shares),
        "n_starts": clock.n_starts,
        "n_barriers": clock.n_barriers,
    }


@shared_kernel
def meet(thread: int, n_threads: int, barrier: np.ndarray, n_times: int) -> None:
    """Wait at a barrier many times."""
    for _ in range(n_times):
        wait_at_barrier(barrier, n_threads)


def find_prices(
    n_threads: int, n_barriers: int = 20_000, n_starts: int = 1_000
) -> dict[str, float]:
    """Return the seconds of a start and of a barrier of so many threads."""
    # At both, all threads write one cache line in turn: the price is that of as many
    # threads as cores, times their number.
    n_cores = max(2, int(joblib.cpu_count()))

    def seconds_of_runs(n_runs: int, n_times: int) -> float:
        with ThreadTeam(n_cores) as team:
            barrier = new_barrier()
            team.share(np.inf, meet, barrier, 10)  # compiles
            start = time.perf_counter()
            for _ in range(n_runs):
                team.share(np.inf, meet, barrier, n_times)
            return time.perf_counter() - start

    return {
        "barrier": seconds_of_runs(1, n_barriers) / n_barriers * n_threads / n_cores,
        "start": seconds_of_runs(n_starts, 0) / n_starts * n_threads / n_cores,
    }


def print_table(
    counted: dict[int, list[dict[str, Any]]],
    clocks: dict[str, dict[int, list[float]]],
    prices: dict[int, dict[str, float]],
) -> None:
    """Print seconds by number of threads, part by part, and those of peers."""
    n_threads = list(counted)
    print(f"{'':26}" + "".join(f"{n:>8}" for n in n_threads) + "  threads")

    def line(name: str, values: Sequence[float]) -> None:
        print(f"{name:26}" + "".join(f"{v:8.3f}" for v in values))

    def middle(of: Sequence[float]) -> float:
        return float(np.median(of))

    parts = {part for runs in counted.values() for c in runs for part in c[SUMS[0]]}
    for part in sorted(parts):
        line(
            part,
            [
                middle([c[SUMS[0]].get(part, 0.0) for c in counted[n]])
                for n in n_threads
            ],
        )
    for price in "start", "barrier":
        line(f"microseconds: {price}", [1e6 * prices[n][price] for n in n_threads])
    for sums in SUMS:
        totals = [
            middle([seconds_of(c, prices[n], sums) for c in counted[n]])
            for n in n_threads
        ]
        line(f"{OURS}, {sums}", totals)
        line("times one thread", [totals[0] / total for total in totals])
    for library, of in clocks.items():
        one, two = (min(of[n]) for n in (1, 2))
        line(f"{library}, the clock", [one, two])
        line(
            f"{library}, extrapolated",
            [extrapolated(one, two, n) for n in n_threads],
        )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--presets", nargs="+", choices=fits.PRESETS, default=["a"])
    parser.add_argument("--threads", nargs="+", type=int, default=THREADS)
    parser.add_argument("--repetitions", type=int, default=3)
    peers.add_libraries(parser, LIBRARIES)
    arguments = parser.parse_args()
    print(machine())
    prices = {n: in_a_new_process(find_prices, n) for n in arguments.threads}
    for preset in arguments.presets:
        print(preset)
        *_, settings = fits.PRESETS[preset]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            fits.save(folder, *fits.synthetic(preset, "float32"))
            calls: dict[tuple[str, int], Any] = {
                (COUNTED, n): partial(
                    in_a_new_process, count, folder, replace(settings, n_threads=n)
                )
                for n in arguments.threads
            }
            for library in arguments.libraries:
                for n in (1, 2):
                    calls[library, n] = partial(
                        in_a_new_process,
                        fits.measure,
                        library,
                        folder,
                        replace(settings, n_threads=n),
                    )
            counted: dict[int, list[dict[str, Any]]] = {
                n: [] for n in arguments.threads
            }
            clocks: dict[str, dict[int, list[float]]] = {
                library: {1: [], 2: []} for library in arguments.libraries
            }
            for (what, n), _, result in in_turns(calls, arguments.repetitions):
                if what == COUNTED:
                    counted[n].append(result)
                    result = result | {"prices": prices[n]}
                else:
                    clocks[what][n].append(result["seconds"])
                about = {"preset": preset, "what": what}
                about |= asdict(replace(settings, n_threads=n))
                append_json(arguments.json, [about | result])
        print_table(counted, clocks, prices)


if __name__ == "__main__":
    main()
