"""A fit on the workers of one Dask cluster, side by side with LightGBM's and XGBoost's.

    python -m benchmarks.speed.dask_fit --preset a --workers 1 2 4
    python -m benchmarks.speed.dask_fit --preset narrow --parquet --workers 2 \
        --threads 1

The cluster has worker processes on this machine, which share its cores.  Each worker
has its rows in memory before the clock starts, or reads them from six Parquet files
within each fit: whole queries, in their order, as the other libraries need them.  "One
process" is `LambdaMARTRanker` with as many threads as all workers, its rows in memory.
Printed are medians of the repetitions: seconds; bytes over
the loopback device per tree (of all processes of this machine, so let nothing else
run), and of ours also the exchanges per tree and the bytes of its sums; the highest
memory of a worker, above that before the fit; and NDCG@10 on held-out queries.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.tools.fits import PRESETS, divided_rows, synthetic
from benchmarks.tools.measuring import in_turns, memory
from benchmarks.tools.peers import (
    BINS,
    Settings,
    add_libraries,
    make_sklearn_ltr,
    our_parameters,
    query_sizes,
    xgboost_parameters,
)
from benchmarks.tools.queries import Part, made_like_mslr
from benchmarks.tools.records import append_json, machine, parser_of

NARROW_ROWS, NARROW_FEATURES = 143_336, 50
N_FILES = 6
Predict = Callable[[np.ndarray], np.ndarray]


def loopback_bytes() -> int:
    """Return the bytes that the loopback device has received so far (Linux)."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    (line,) = (line for line in lines if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


def fit_in_one_process(
    rows: Any, parts: Any, settings: Settings
) -> tuple[Predict, dict[str, float]]:
    return rows.fit(make_sklearn_ltr(settings)).predict, {}


def fit_ours(parts: Any, settings: Settings) -> tuple[Predict, dict[str, float]]:
    from sklearn_ltr.dask import DaskLambdaMARTRanker

    X, y, groups, _ = parts
    ranker = DaskLambdaMARTRanker(**our_parameters(settings)).fit(X, y, groups=groups)
    n_trees, traffic = ranker.n_iter_, ranker.traffic_
    counted = {
        "exchanges_per_tree": traffic.n_exchanges / n_trees,
        "sum_bytes_per_tree": traffic.n_sum_bytes / n_trees,
    }
    return ranker.to_local().predict, counted


def fit_lightgbm(parts: Any, settings: Settings) -> tuple[Predict, dict[str, float]]:
    from lightgbm.dask import DaskLGBMRanker

    X, y, _, sizes = parts
    ranker = DaskLGBMRanker(
        n_estimators=settings.n_estimators,
        learning_rate=settings.learning_rate,
        num_leaves=settings.max_leaf_nodes,
        min_child_samples=settings.min_samples_leaf,
        max_bin=BINS,
        random_state=settings.random_state,
        tree_learner="data",
        verbose=-1,
    ).fit(X, y, group=sizes)
    return ranker.to_local().predict, {}


def fit_xgboost(parts: Any, settings: Settings) -> tuple[Predict, dict[str, float]]:
    import xgboost
    import xgboost.dask
    from distributed import get_client

    X, y, groups, _ = parts
    data = xgboost.dask.DaskQuantileDMatrix(
        get_client(), X, y, qid=groups, max_bin=BINS
    )
    booster = xgboost.dask.train(
        get_client(),
        xgboost_parameters(settings),
        data,
        num_boost_round=settings.n_estimators,
    )["booster"]
    return lambda X: booster.predict(xgboost.DMatrix(X)), {}


FITS = {"sklearn_ltr": fit_ours, "LightGBM": fit_lightgbm, "XGBoost hist": fit_xgboost}
ONE_PROCESS = "one process"


def made_rows(preset: str) -> tuple[Part, Part]:
    """Return made rows for training and held-out ones."""
    if preset != "narrow":
        return synthetic(preset, "float64")
    kind = {"n_features": NARROW_FEATURES, "n_informative": 15, "dtype": "float64"}
    return divided_rows(made_like_mslr(1500, **kind), NARROW_ROWS)


def cut(rows: Any, n_parts: int) -> list[Any]:
    """Divide X, y, groups and query sizes into parts, of whole queries."""
    X, y, groups = rows
    sizes = query_sizes(groups)
    offsets = np.append(0, np.cumsum(sizes))
    parts = []
    for queries in np.array_split(np.arange(len(sizes)), n_parts):
        own = slice(offsets[queries[0]], offsets[queries[-1] + 1])
        parts.append((X[own], y[own], groups[own], sizes[queries]))
    return parts


def place(client: Any, rows: Any) -> Any:
    """Deal whole queries to the workers: Dask arrays X, y, groups and query sizes."""
    import dask.array as da

    workers = sorted(client.nthreads())
    parts: list[list[Any]] = [[], [], [], []]
    for worker, values in zip(workers, cut(rows, len(workers)), strict=True):
        for name, value in zip(parts, values, strict=True):
            future = client.scatter(value, workers=[worker], hash=False)
            name.append(da.from_delayed(future, value.shape, value.dtype))
    return tuple(da.concatenate(part) for part in parts)


def write_parquet(folder: str, rows: Any) -> None:
    import pandas as pd

    for number, (X, y, groups, _) in enumerate(cut(rows, N_FILES)):
        frame = pd.DataFrame(X).add_prefix("x").assign(y=y, query=groups)
        frame.to_parquet(Path(folder, f"{number}.parquet"))


def open_parquet(folder: str) -> Any:
    """Return Dask collections X, y, groups and query sizes, which read the files."""
    import dask.dataframe as dd
    import pandas as pd

    # not `dd.read_parquet`, which may read several files together for y, and not for X
    files = sorted(Path(folder).glob("*.parquet"))
    table = dd.from_map(pd.read_parquet, files)
    sizes = table["query"].map_partitions(sizes_of, meta=("size", np.int64))
    X = table[[name for name in table if name.startswith("x")]]
    return X, table["y"], table["query"], sizes


def sizes_of(groups: Any) -> Any:
    import pandas as pd

    return pd.Series(query_sizes(groups.to_numpy()), name="size")


def reset_memory() -> float:
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def measure(client: Any, fit: Any, parts: Any, settings: Settings, test: Part) -> dict:
    before = client.run(reset_memory)
    start_bytes = loopback_bytes()
    predict, counted = fit(parts, settings)
    moved = loopback_bytes() - start_bytes
    peaks = client.run(memory, "VmHWM")
    scores = np.asarray(predict(test.X), dtype=np.float64)
    return counted | {
        "bytes_per_tree": moved / settings.n_estimators,
        "peak_mb": max(peaks[worker] - before[worker] for worker in peaks),
        "ndcg": float(test.ndcg(scores).mean()),
    }


def main() -> None:
    parser = parser_of(__doc__)
    presets = ["small", "a", "b", "narrow"]
    parser.add_argument("--preset", choices=presets, default="small")
    parser.add_argument("--parquet", action="store_true", help="read rows in each fit")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument(
        "--threads", type=int, help="of each worker; default: all cores"
    )
    add_libraries(parser, [*FITS, ONE_PROCESS])
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    from distributed import Client, LocalCluster

    settings = PRESETS.get(arguments.preset, PRESETS["a"])[2]
    train, test = made_rows(arguments.preset)
    about = {"preset": arguments.preset, "parquet": arguments.parquet}
    print(machine(["dask", "distributed"]))
    cores = len(os.sched_getaffinity(0))
    fits = FITS | {ONE_PROCESS: partial(fit_in_one_process, train)}
    results = []
    print(
        f"{'workers x threads':<18}{'library':<13}{'seconds':>8}{'MB/tree':>9}"
        f"{'peak MB':>9}{'NDCG@10':>9}{'exchanges/tree':>16}{'MB of sums':>14}"
    )
    for n_workers in arguments.workers:
        threads = arguments.threads or max(1, cores // n_workers)
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=threads, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
            tempfile.TemporaryDirectory() as folder,
        ):
            if arguments.parquet:
                write_parquet(folder, train)
                parts = open_parquet(folder)
            else:
                parts = place(client, train)
            settings = replace(settings, n_threads=n_workers * threads)
            calls = {
                name: partial(measure, client, fits[name], parts, settings, test)
                for name in arguments.libraries
            }
            list(in_turns(calls, 1))  # imports and compiled kernels
            runs: dict[str, list[dict]] = {name: [] for name in calls}
            for name, seconds, found in in_turns(calls, arguments.repetitions):
                runs[name].append({"seconds": seconds} | found)
        for name, found in runs.items():
            row = {key: median(run[key] for run in found) for key in found[0]}
            of_run = {"library": name, "workers": n_workers, "threads": threads}
            results.append(of_run | about | row)
            counted = "exchanges_per_tree" in row
            print(
                f"{f'{n_workers} x {threads}':<18}{name:<13}{row['seconds']:8.2f}"
                f"{row['bytes_per_tree'] / 1e6:9.2f}{row['peak_mb']:9.0f}"
                f"{row['ndcg']:9.4f}"
                + (f"{row['exchanges_per_tree']:16.1f}" if counted else "")
                + (f"{row['sum_bytes_per_tree'] / 1e6:14.2f}" if counted else ""),
                flush=True,
            )
    append_json(arguments.json, results)


if __name__ == "__main__":
    main()
