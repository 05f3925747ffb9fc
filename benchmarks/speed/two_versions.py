"""Time of two checkouts of the package on the same work, interleaved.

    python -m benchmarks.speed.two_versions OLD NEW
    python -m benchmarks.speed.two_versions OLD NEW --what fit predict --repetitions 15
    python -m benchmarks.speed.two_versions . . --cpus native x86-64-v3

OLD and NEW are folders that contain ``sklearn_ltr``. Each is imported by one worker
process, which is kept; the workers run the same work on the same data alternately, in
changing order. Printed are median seconds, the median of the ratios NEW / OLD of the
repetitions with its quartiles, and whether the predictions are equal bit by bit. The
first run of each work is a warm-up and compiles, but for "cold", each run of which is
a process of its own with an empty cache of compiled code. With --cpus the two have
machine code for levels of CPUs ("python -m sklearn_ltr compile --help").  With --busy
so many other processes compute meanwhile.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.speed.startup import new_process
from benchmarks.tools.measuring import busy_processes
from benchmarks.tools.peers import THREADS
from benchmarks.tools.queries import MSLR_LIKE
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr.datasets import make_ranking

Run: TypeAlias = Callable[[], tuple[float, str]]
WORK = {
    "fit": "243,480 x 136, 100 trees of 31 leaves",
    "fit-small": "9,630 x 46, 200 trees of 15 leaves",
    "fit-eights": "400,000 x 30 in lists of 8, 100 trees of 31 leaves",
    "fit-threes": "300,000 x 20 in lists of 3, 100 trees of 31 leaves",
    "epoch": "LambdaRank, 243,480 x 136, one pass over the queries",
    "predict": "1,000,000 x 136, 100 trees of 31 leaves",
    "predict-query": "100 x 136, 100 trees of 31 leaves, one thread",
    "predict-row": "1 x 136, 100 trees of 31 leaves, one thread",
    "cold": "first fit, 2,000 x 20, 20 trees, nothing compiled",
}
NATIVE = "native"  # machine code for the CPU that runs it
WORKER = Path(__file__).with_name("two_versions_worker.py")


def write_data(folder: Path, scale: float) -> None:
    mq2008_like = MSLR_LIKE | {"n_documents": 20.45, "n_features": 46}
    for name, n_queries, n_rows, shape in (
        ("large", 2000, 243_480, MSLR_LIKE),
        ("small", 471, 9_630, mq2008_like),
        ("eights", 50_000, 400_000, {"n_documents": 8, "n_features": 30}),
        ("threes", 100_000, 300_000, {"n_documents": 3, "n_features": 20}),
        ("unseen", 8300, 1_000_000, MSLR_LIKE),
    ):
        n_queries, n_rows = max(10, int(scale * n_queries)), int(scale * n_rows)
        made = make_ranking(n_queries, random_state=0, dtype="float32", **shape)
        for part, values in zip(
            "Xyg", (made.data, made.target, made.groups), strict=True
        ):
            np.save(folder / f"{name}_{part}.npy", values[:n_rows])


def start_worker(
    checkout: Path, cpu: str, folder: str, n_threads: int
) -> subprocess.Popen:
    code = {} if cpu == NATIVE else {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""}
    # -P: imports come from the checkout, not from the folder of the worker
    return subprocess.Popen(
        [sys.executable, "-P", WORKER, checkout, folder, str(n_threads)],
        env=os.environ | {"PYTHONPATH": str(checkout.resolve())} | code,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(worker: subprocess.Popen, work: str) -> tuple[float, str]:
    """Return the seconds of the work, and a hash of its predictions."""
    print(work, file=worker.stdin, flush=True)
    return tuple(json.loads(worker.stdout.readline()))


def run_cold(checkout: Path) -> tuple[float, str]:
    with tempfile.TemporaryDirectory() as cache:
        seconds, digest = new_process(cache, PYTHONPATH=str(checkout.resolve()))
    return seconds[1], digest


def compare(
    run_old: Run, run_new: Run, work: str, repetitions: int
) -> dict[str, object]:
    runs = run_old, run_new
    equal = len({call()[1] for call in runs}) == 1
    seconds = np.empty((repetitions, 2))
    for repetition in range(repetitions):
        for i in (0, 1) if repetition % 2 else (1, 0):
            seconds[repetition, i] = runs[i]()[0]
    old, new = np.median(seconds, axis=0)
    low, ratio, high = np.percentile(seconds[:, 1] / seconds[:, 0], [25, 50, 75])
    row = f"{work:14}{old:12.6f}{new:12.6f}{ratio:9.3f} ({low:.3f} - {high:.3f})"
    print(f"{row}   {'yes' if equal else 'no':6}{WORK[work]}", flush=True)
    return {"what": work, "seconds": seconds.tolist(), "equal": equal}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--cpus", nargs=2, default=[NATIVE, NATIVE])
    parser.add_argument("--what", nargs="+", choices=WORK, default=list(WORK))
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all rows")
    parser.add_argument("--busy", type=int, default=0, help="other busy processes")
    arguments = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder), arguments.scale)
        checkouts = arguments.old, arguments.new
        workers = [
            start_worker(checkout, cpu, folder, arguments.threads)
            for checkout, cpu in zip(checkouts, arguments.cpus, strict=True)
        ]
        header = f"{'':14}{'old, s':>12}{'new, s':>12}{'new/old':>9}"
        print(f"{header} (quartiles)       equal")
        for work in arguments.what:
            if work == "cold":
                calls = [partial(run_cold, checkout) for checkout in checkouts]
            else:
                calls = [partial(run, worker, work) for worker in workers]
            with busy_processes(arguments.busy):
                record = compare(*calls, work, arguments.repetitions)
            about = {"checkouts": [str(c) for c in checkouts], "cpus": arguments.cpus}
            about |= {"scale": arguments.scale, "busy": arguments.busy}
            append_json(arguments.json, [about | record])
        for worker in workers:
            worker.stdin.close()
            worker.wait()


if __name__ == "__main__":
    main()
