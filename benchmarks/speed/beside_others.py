"""Seconds of fits and of predictions beside other programs that use the CPUs.

    python -m benchmarks.speed.beside_others
    python -m benchmarks.speed.beside_others --busy 0 1 --threads 2 --calls 0

Other programs are processes that compute without a pause.  Each library fits the same
rows with each number of threads, in a process of its own, which has loaded the rows and
compiled before; libraries take turns.  Printed are median seconds, and how many times
as long the most threads take as a single one.  Then one process fits with two threads
and with one by turns, which varies less.  Then a process predicts one query of 100
documents, and one row, again and again: the median and the 99th percentile of
microseconds.  `two_versions.py --busy 1` compares two checkouts of this package.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, replace
from functools import partial

import numpy as np

from benchmarks.tools import peers
from benchmarks.tools.fits import measure_in_turns
from benchmarks.tools.measuring import busy_processes, in_a_new_process, take_turns
from benchmarks.tools.peers import OURS, Settings
from benchmarks.tools.queries import made_like_mslr
from benchmarks.tools.records import append_json, append_runs, machine, parser_of

LIBRARIES = (OURS, "LightGBM", "LightGBM quantized", "XGBoost hist")
N_QUERIES, N_TEST = 700, 50  # of about 122 documents: 85,000 rows


def fit_table(busy: int, arguments: argparse.Namespace) -> None:
    """Print the seconds of fits beside so many busy processes."""
    n_queries = round(arguments.scale * N_QUERIES)
    every = made_like_mslr(n_queries + N_TEST, dtype="float32")
    is_test = every.groups >= np.unique(every.groups)[-N_TEST]
    train, test = every.subset(~is_test), every.subset(is_test)
    seconds: dict[tuple[str, int], float] = {}
    for _ in range(arguments.rounds):
        for n_threads in arguments.threads:
            settings = Settings(n_estimators=arguments.trees, n_threads=n_threads)
            with busy_processes(busy):
                runs = measure_in_turns(arguments.libraries, train, test, settings, 1)
            about = {"busy": busy, "n_rows": len(train.y), **asdict(settings)}
            append_runs(arguments.json, about, runs)
            for library, (run,) in runs.items():
                seconds.setdefault((library, n_threads), []).append(run["seconds"])
    for library in arguments.libraries:
        of_library = [np.median(seconds[library, n]) for n in arguments.threads]
        row = "".join(f"{value:9.2f}" for value in of_library)
        ratio = of_library[0] / of_library[-1]
        print(f"{busy:5} {library:22}{row}{ratio:12.2f}", flush=True)


def pairs_of_fits(settings: Settings, n_pairs: int, scale: float) -> list[float]:
    """Return how many times as long two threads take as one; in a new process."""
    data = made_like_mslr(round(scale * N_QUERIES), dtype="float32")
    kinds = [replace(settings, n_threads=n) for n in (2, 1)]
    calls = {s.n_threads: partial(peers.train_sklearn_ltr, *data, s) for s in kinds}
    take_turns(calls, 1)  # compiles
    seconds = take_turns(calls, n_pairs)
    return list(np.divide(seconds[2], seconds[1]))


def latencies(library: str, n_rows: int, n_calls: int, scale: float) -> list[float]:
    """Return the microseconds of predictions; runs in a new process."""
    data = made_like_mslr(round(scale * 100) + 20, dtype="float32")
    settings = Settings(n_estimators=100)
    if library == OURS:
        ranker = peers.make_sklearn_ltr(replace(settings, n_threads=None))
        predict = ranker.fit(data.X, data.y, groups=data.groups).predict
    else:
        booster = peers.train_lightgbm(*data, settings)
        predict = partial(booster.predict, num_threads=1)
    tables = [np.array(data.X[k : k + n_rows]) for k in range(0, 1000, 10)]
    found = []
    for call in range(n_calls + 1000):
        start = time.perf_counter()
        predict(tables[call % len(tables)])
        found.append(1e6 * (time.perf_counter() - start))
    return found[1000:]  # the first of them compile


def latency_table(busy: int, arguments: argparse.Namespace) -> None:
    """Print microseconds of few rows beside so many busy processes."""
    for n_rows in (100, 1):
        for library in (OURS, "LightGBM"):
            if library not in arguments.libraries:
                continue
            given = library, n_rows, arguments.calls, arguments.scale
            with busy_processes(busy):
                found = in_a_new_process(latencies, *given)
            median, late = np.percentile(found, [50, 99])
            print(f"{busy:5} {library:22}{n_rows:9}{median:9.0f}{late:12.0f}")
            record = {"busy": busy, "library": library, "n_rows": n_rows}
            record |= {"microseconds": median, "99th percentile": late}
            append_json(arguments.json, [record])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3, help="0: predictions only")
    parser.add_argument("--pairs", type=int, default=10, help="of our fits in turns")
    parser.add_argument("--calls", type=int, default=5000, help="predictions")
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all rows")
    peers.add_libraries(parser, LIBRARIES)
    arguments = parser.parse_args()
    print(machine())
    if arguments.rounds:
        threads = "".join(f"{n:7} th" for n in arguments.threads)
        print(f"{'busy':5} {'fits, seconds':22}{threads}  most / fewest", flush=True)
        for busy in arguments.busy:
            fit_table(busy, arguments)
    if arguments.pairs:
        print(f"{'busy':5} fits in turns, two threads / one: median (quartiles)")
        for busy in arguments.busy:
            given = Settings(n_estimators=arguments.trees), arguments.pairs
            with busy_processes(busy):
                found = in_a_new_process(pairs_of_fits, *given, arguments.scale)
            low, ratio, high = np.percentile(found, [25, 50, 75])
            print(f"{busy:5} {ratio:.2f} ({low:.2f} - {high:.2f})", flush=True)
            append_json(arguments.json, [{"busy": busy, "two / one": found}])
    if arguments.calls:
        print(f"{'busy':5} {'predictions, us':22}{'rows':>9}{'median':>9}{'99%':>12}")
        for busy in arguments.busy:
            latency_table(busy, arguments)


if __name__ == "__main__":
    main()
