"""Time, memory and quality of one fit, side by side.

    python -m benchmarks.speed.fit --preset a
    python -m benchmarks.speed.fit --preset wide --threads 1
    python -m benchmarks.speed.fit --preset fold --data PATH

Every fit runs in a new process, which has imported the library, compiled kernels and
loaded X before the clock starts. What is timed is a fit from the raw array, binning
included. The libraries are run interleaved; medians of the repetitions are printed.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import issparse, load_npz, save_npz

from benchmarks.tools import peers
from benchmarks.tools.measuring import cost_of, in_a_new_process, results_in_turns
from benchmarks.tools.peers import ALL_ROWS, BAGGED, N_MEMBERS, OURS, THREADS, Settings
from benchmarks.tools.queries import MSLR_LIKE, Part, folds, load, made_like_mslr
from benchmarks.tools.records import append_runs, machine, parser_of
from sklearn_ltr._core.rankers.lambdamart import MOST_SYMMETRIC_QUERIES

FITS = {
    **peers.FITS,
    BAGGED: peers.fit_sklearn_ltr_bagged,
    f"{OURS} symmetric": partial(peers.fit_sklearn_ltr, grow_policy="symmetric"),
    ALL_ROWS: partial(peers.fit_sklearn_ltr, subsample=1.0),
}
CATEGORICAL = {OURS: "categorical_features", "LightGBM": "categorical_feature"}
YAHOO_LIKE = {"n_features": 700, "n_informative": 100, "zeros": 1.0}
ZEROS = 0.9  # share of zeros in data like Yahoo's
# Training queries, held-out queries, settings.
PRESETS = {
    "small": (50, 20, Settings(n_estimators=10)),
    "a": (2000, 500, Settings(n_estimators=100, max_leaf_nodes=31)),
    "b": (4000, 500, Settings(n_estimators=50, max_leaf_nodes=255)),
    "mslr": (5942, 500, Settings(n_estimators=500, max_leaf_nodes=63)),
    "wide": (1232, 300, Settings(n_estimators=100, max_leaf_nodes=31)),
    "fold": (0, 0, Settings(n_estimators=200, max_leaf_nodes=15)),
}
SYNTHETIC = [preset for preset in PRESETS if preset != "fold"]


def write_data(folder: Path, arguments: argparse.Namespace) -> None:
    """Write the training queries and the held-out queries of a preset."""
    if arguments.preset == "fold":
        train, _, test = folds(load(arguments.data))[4]
    else:
        train, test = synthetic(arguments.preset, arguments.dtype)
    save(folder, train, test)


def synthetic(preset: str, dtype: str) -> tuple[Part, Part]:
    """Make exactly n_train x 121.74 training rows, and n_test held-out queries."""
    n_train, n_test, _ = PRESETS[preset]
    changes = YAHOO_LIKE if preset == "wide" else {}
    every = made_like_mslr(n_train + n_test, dtype=dtype, **changes)
    if preset == "wide":
        rng = np.random.default_rng(0)
        missing = 1 - (1 - ZEROS) / np.mean(every.X != 0)  # share to set to zero
        every.X[rng.random(every.X.shape, np.float32) < missing] = 0
    return divided(every, round(n_train * MSLR_LIKE["n_documents"]))


def divided(part: Part, n_rows: int) -> tuple[Part, Part]:
    """Return so many rows for training, and the queries after the last of them."""
    held_out = part.groups > part.groups[n_rows - 1]
    return part.subset(slice(n_rows)), part.subset(held_out)


def save(folder: Path, train: Part, test: Part) -> None:
    """Write X, y and groups of both parts, for `read`."""
    for part, values in ("train", train), ("test", test):
        for name, column in zip("Xyg", values, strict=True):
            file = folder / f"{part}_{name}"
            if issparse(column):
                save_npz(file, column, compressed=False)
            else:
                np.save(file, np.ascontiguousarray(column))


def read(folder: Path, part: str) -> Part:
    sparse = folder / f"{part}_X.npz"
    y, groups = (np.load(folder / f"{part}_{name}.npy") for name in "yg")
    if sparse.exists():
        return Part(load_npz(sparse), y, groups)
    return Part(np.load(folder / f"{part}_X.npy"), y, groups)


def warm_up(fit: Callable, X, y, groups, settings: Settings) -> None:
    """Grow two trees of the kind that a fit of all rows grows, so that it compiles."""
    few = groups < MOST_SYMMETRIC_QUERIES + 100
    fit(X[few], y[few], groups[few], replace(settings, n_estimators=2))


def measure(
    name: str,
    folder: Path,
    settings: Settings,
    categorical: Sequence[int] = (),
    validated: bool = False,
) -> dict[str, float]:
    """Measure one fit; runs in a new process."""
    # `categorical` are the columns of categories; if `validated`, NDCG@10 of the
    # held-out queries is measured after each tree
    fit = FITS[name]
    if validated:
        fit = partial(fit, validation=read(folder, "test"))
    if categorical:
        fit = partial(fit, **{CATEGORICAL[name]: list(categorical)})
    train = read(folder, "train")
    warm_up(fit, *train, settings)

    cost, scores_after = cost_of(lambda: fit(*train, settings))
    test = read(folder, "test")
    (scores,) = scores_after(test.X, [settings.n_estimators])
    return cost | {"ndcg@10": float(test.ndcg(scores).mean())}


def print_table(runs: dict[str, list[dict[str, float]]]) -> None:
    """Print medians, for the seconds also the range and the ratio, and a bag's cost."""
    seconds = {name: np.median([r["seconds"] for r in runs[name]]) for name in runs}
    of_peers = [s for name, s in seconds.items() if not name.startswith(OURS)]
    fastest_peer = min(of_peers, default=None)
    header = f"{'':26}{'seconds':>9}{'(min - max)':>17}{'peak MB':>9}{'NDCG@10':>9}"
    print(header + f"{'against the fastest peer':>26}")
    for name, repetitions in runs.items():
        all_seconds = [r["seconds"] for r in repetitions]
        spread = f"({min(all_seconds):.2f} - {max(all_seconds):.2f})"
        peak = np.median([r["peak_mb"] for r in repetitions])
        ndcg = np.median([r.get("ndcg@10", np.nan) for r in repetitions])
        quality = "-" if np.isnan(ndcg) else f"{ndcg:.4f}"
        row = f"{name:26}{seconds[name]:9.2f}{spread:>17}{peak:9.0f}{quality:>9}"
        if fastest_peer:
            row += f"{fastest_peer / seconds[name]:20.2f} times"
        print(row)
    if OURS in runs and BAGGED in runs:
        one, bag = (
            np.median([r["cpu_seconds"] for r in runs[name]]) for name in (OURS, BAGGED)
        )
        print(f"{N_MEMBERS} bagged: CPU seconds of {bag / one:.2f} fits")


def compare(measure: Callable[..., dict], arguments: argparse.Namespace) -> None:
    """Run the libraries interleaved on a preset, each run in a new process."""
    settings = replace(PRESETS[arguments.preset][2], n_threads=arguments.threads)
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder), arguments)
        rows, columns = np.load(Path(folder, "train_X.npy"), mmap_mode="r").shape
        print(f"{rows:,} x {columns} {arguments.dtype}, {settings}")
        calls = {
            name: partial(in_a_new_process, measure, name, Path(folder), settings)
            for name in arguments.libraries
        }
        runs = results_in_turns(calls, arguments.repetitions)
    print_table(runs)
    about = {"preset": arguments.preset, "dtype": arguments.dtype, **asdict(settings)}
    append_runs(arguments.json, about, runs)


def add_arguments(parser: argparse.ArgumentParser, presets: Sequence[str]) -> None:
    """Add the options for data and repetitions."""
    parser.add_argument("--preset", choices=presets, default="small")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")


def main() -> None:
    parser = parser_of(__doc__)
    add_arguments(parser, list(PRESETS))
    parser.add_argument("--data", type=Path, help="of the preset fold, see queries.py")
    peers.add_libraries(parser, tuple(FITS))
    arguments = parser.parse_args()

    print(machine())
    compare(measure, arguments)


if __name__ == "__main__":
    main()
