"""Time, memory and quality of one fit, side by side.

    python -m benchmarks.speed.fit --preset a
    python -m benchmarks.speed.fit --preset wide --threads 1
    python -m benchmarks.speed.fit --preset fold --data PATH

Every fit runs in a new process, which has imported the library, compiled kernels and
loaded X before the clock starts. What is timed is a fit from the raw array, binning
included. The libraries are run interleaved; medians of the repetitions are printed.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from benchmarks.tools import peers
from benchmarks.tools.fits import (
    FITS,
    PRESETS,
    measure_in_turns,
    seconds_and_fastest,
    synthetic,
)
from benchmarks.tools.peers import BAGGED, N_MEMBERS, OURS, THREADS, Settings
from benchmarks.tools.queries import folds, load
from benchmarks.tools.records import append_runs, machine, parser_of

FOLD, OF_FOLD = "fold", Settings(n_estimators=200, max_leaf_nodes=15)


def print_table(runs: dict[str, list[dict[str, float]]]) -> None:
    """Print medians, for the seconds also the range and the ratio, and a bag's cost."""
    seconds, fastest = seconds_and_fastest(runs)
    header = f"{'':26}{'seconds':>9}{'(min - max)':>17}{'peak MB':>9}{'NDCG@10':>9}"
    print(header + f"{'against the fastest peer':>26}")
    for name, repetitions in runs.items():
        all_seconds = [r["seconds"] for r in repetitions]
        spread = f"({min(all_seconds):.2f} - {max(all_seconds):.2f})"
        peak, ndcg = (
            np.median([r[field] for r in repetitions])
            for field in ("peak_mb", "ndcg@10")
        )
        row = f"{name:26}{seconds[name]:9.2f}{spread:>17}{peak:9.0f}{ndcg:9.4f}"
        if fastest is not None:
            row += f"{seconds[fastest] / seconds[name]:20.2f} times"
        print(row)
    if OURS in runs and BAGGED in runs:
        one, bag = (
            np.median([r["cpu_seconds"] for r in runs[name]]) for name in (OURS, BAGGED)
        )
        print(f"{N_MEMBERS} bagged: CPU seconds of {bag / one:.2f} fits")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--preset", choices=[*PRESETS, FOLD], default="small")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--data", type=Path, help="of the preset fold, see queries.py")
    peers.add_libraries(parser, tuple(FITS))
    arguments = parser.parse_args()

    print(machine())
    if arguments.preset == FOLD:
        train, _, test = folds(load(arguments.data))[4]
        settings = OF_FOLD
    else:
        train, test = synthetic(arguments.preset, arguments.dtype)
        settings = PRESETS[arguments.preset][2]
    settings = replace(settings, n_threads=arguments.threads)
    rows, columns = train.X.shape
    print(f"{rows:,} x {columns} {arguments.dtype}, {settings}")
    runs = measure_in_turns(
        arguments.libraries, train, test, settings, arguments.repetitions
    )
    print_table(runs)
    about = {"preset": arguments.preset, "dtype": arguments.dtype, **asdict(settings)}
    append_runs(arguments.json, about, runs)


if __name__ == "__main__":
    main()
