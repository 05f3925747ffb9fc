"""A fit on the workers of one Dask cluster, side by side with LightGBM's and XGBoost's.

    python benchmarks/dask_fit.py --preset a --workers 1 2 4

The cluster has worker processes on this machine, which share its cores.  Each worker
has its rows in memory before the clock starts: whole queries, in their order, as the
other libraries need them.  Printed are medians of the repetitions: seconds; bytes over
the loopback device per tree (of all processes of this machine, so let nothing else
run), and of ours also the exchanges per tree and the bytes of its sums; the highest
memory of a worker, above that before the fit; and NDCG@10 on held-out queries.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from fit import PRESETS, synthetic
from measuring import in_turns, memory

from peers import BINS, Settings, add_json_argument, append_json, machine, query_sizes
from sklearn_ltr.metrics import NDCG

Predict = Callable[[np.ndarray], np.ndarray]


def loopback_bytes() -> int:
    """Return the bytes that the loopback device has received so far (Linux)."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    (line,) = (line for line in lines if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


def fit_ours(parts: Any, settings: Settings) -> tuple[Predict, dict[str, float]]:
    from sklearn_ltr.dask import DaskLambdaMARTRanker

    X, y, groups, _ = parts
    ranker = DaskLambdaMARTRanker(
        n_estimators=settings.n_estimators,
        learning_rate=settings.learning_rate,
        max_leaf_nodes=settings.max_leaf_nodes,
        min_samples_leaf=settings.min_samples_leaf,
        max_bins=BINS,
        random_state=settings.random_state,
    ).fit(X, y, groups=groups)
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
    parameters = {
        "objective": "rank:ndcg",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": 0,
        "max_leaves": settings.max_leaf_nodes,
        "eta": settings.learning_rate,
        "min_child_weight": settings.min_samples_leaf / 20,
        "max_bin": BINS,
        "seed": settings.random_state,
    }
    booster = xgboost.dask.train(
        get_client(), parameters, data, num_boost_round=settings.n_estimators
    )["booster"]
    return lambda X: booster.predict(xgboost.DMatrix(X)), {}


FITS = {"sklearn_ltr": fit_ours, "LightGBM": fit_lightgbm, "XGBoost hist": fit_xgboost}


def place(client: Any, X: Any, y: Any, groups: Any) -> Any:
    """Deal whole queries to the workers: Dask arrays X, y, groups and query sizes."""
    import dask.array as da

    sizes = query_sizes(groups)
    workers = sorted(client.nthreads())
    offsets = np.append(0, np.cumsum(sizes))
    of_worker = np.array_split(np.arange(len(sizes)), len(workers))
    parts: list[list[Any]] = [[], [], [], []]
    for worker, queries in zip(workers, of_worker, strict=True):
        rows = slice(offsets[queries[0]], offsets[queries[-1] + 1])
        values = X[rows], y[rows], groups[rows], sizes[queries]
        for name, value in zip(parts, values, strict=True):
            future = client.scatter(value, workers=[worker], hash=False)
            name.append(da.from_delayed(future, value.shape, value.dtype))
    return tuple(da.concatenate(part) for part in parts)


def reset_memory() -> float:
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def measure(client: Any, fit: Any, parts: Any, settings: Settings, test: Any) -> dict:
    before = client.run(reset_memory)
    start_bytes = loopback_bytes()
    predict, counted = fit(parts, settings)
    moved = loopback_bytes() - start_bytes
    peaks = client.run(memory, "VmHWM")
    X, y, groups = test
    scores = np.asarray(predict(X), dtype=np.float64)
    return counted | {
        "bytes_per_tree": moved / settings.n_estimators,
        "peak_mb": max(peaks[worker] - before[worker] for worker in peaks),
        "ndcg": NDCG(10)(y, scores, groups=groups),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    presets = ["small", "a", "b"]
    parser.add_argument("--preset", choices=presets, default="small")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument(
        "--libraries", nargs="+", choices=list(FITS), default=list(FITS)
    )
    parser.add_argument("--repetitions", type=int, default=3)
    add_json_argument(parser)
    arguments = parser.parse_args()
    from distributed import Client, LocalCluster

    settings = PRESETS[arguments.preset][2]
    train, test = synthetic(arguments.preset, "float64")
    print(machine(["dask", "distributed"]))
    cores = len(os.sched_getaffinity(0))
    results = []
    for n_workers in arguments.workers:
        threads = max(1, cores // n_workers)
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=threads, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            parts = place(client, *train)
            calls = {
                name: partial(measure, client, FITS[name], parts, settings, test)
                for name in arguments.libraries
            }
            list(in_turns(calls, 1))  # imports and compiled kernels
            runs: dict[str, list[dict]] = {name: [] for name in calls}
            for name, seconds, found in in_turns(calls, arguments.repetitions):
                runs[name].append({"seconds": seconds} | found)
        for name, found in runs.items():
            row = {key: median(run[key] for run in found) for key in found[0]}
            results.append({"library": name, "workers": n_workers} | row)
            print(
                f"{n_workers} x {threads} threads  {name:<13}"
                f"{row['seconds']:8.2f} s {row['bytes_per_tree'] / 1e6:8.2f} MB/tree "
                f"{row['peak_mb']:7.0f} MB  NDCG@10 {row['ndcg']:.4f}"
                + (
                    f"  {row['exchanges_per_tree']:.1f} exchanges/tree, "
                    f"{row['sum_bytes_per_tree'] / 1e6:.2f} MB/tree in sums"
                    if "exchanges_per_tree" in row
                    else ""
                ),
                flush=True,
            )
    append_json(arguments.json, results)


if __name__ == "__main__":
    main()
