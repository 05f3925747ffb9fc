"""Time of a grid search over 27 settings and 5 folds, on two cores.

    python benchmarks/grid.py --data PATH

PATH is an .npz file with ``X``, ``y`` and ``qid``, rows of a query consecutive. Ours
is one GridSearchCV. For LightGBM's native interface the same 135 fits are written by
hand: group sizes, joblib, one thread per fit, two fits at a time; once with a Dataset
for every fit, and once with a Dataset shared by up to 14 settings on a fold. NDCG@10 of
held-out queries is computed by our metric for both. Processes are started and kernels
loaded before the clock starts. There is no final fit on all rows.

CPU seconds are those of the worker processes. They vary less than seconds when the
machine does other work.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sklearn
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV, GroupKFold

import peers
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.metrics import NDCG
from sklearn_ltr.scorers import make_ranking_scorer

TREES = 100
FOLDS = GroupKFold(5)
PROCESSES = peers.THREADS
SETTINGS = {  # our name and LightGBM's
    ("learning_rate", "learning_rate"): (0.05, 0.1, 0.2),
    ("max_leaf_nodes", "num_leaves"): (7, 15, 31),
    ("sigma", "sigmoid"): (0.5, 1.0, 2.0),
}


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


class Best(NamedTuple):
    """Mean NDCG@10 over folds of the best setting, and the setting."""

    ndcg: float
    setting: dict[str, float]


class Run(NamedTuple):
    seconds: float
    cpu_seconds: float
    best: Best


def load(path: Path) -> Data:
    with np.load(path) as data:
        return Data(data["X"], data["y"].astype(np.int64), data["qid"])


def ours(data: Data, grid: dict) -> Best:
    ranker = LambdaMARTRanker(n_estimators=TREES, random_state=0, n_jobs=1)
    search = GridSearchCV(
        ranker,
        {ours: values for (ours, _), values in grid.items()},
        scoring=make_ranking_scorer("ndcg@10"),
        cv=FOLDS,
        n_jobs=PROCESSES,
        refit=False,
    )
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(data.X, data.y, groups=data.groups)
    best = search.cv_results_["mean_test_score"][search.best_index_]
    return Best(float(best), search.best_params_)


def lightgbm_ndcg(data: Data, train, test, settings: list[dict]) -> list[float]:
    """Return NDCG@10 of each setting on one fold, trained from one Dataset."""
    import lightgbm

    fixed = {
        "objective": "lambdarank",
        "min_data_in_leaf": 20,
        "max_bin": peers.BINS,
        "num_threads": 1,
        "seed": 0,
        "verbosity": -1,
    }
    sizes = peers.query_sizes(data.groups[train])
    table = lightgbm.Dataset(data.X[train], data.y[train], group=sizes, params=fixed)
    values = []
    for setting in settings:
        booster = lightgbm.train(fixed | setting, table, TREES)
        scores = booster.predict(data.X[test], num_threads=1)
        values.append(NDCG(10)(data.y[test], scores, groups=data.groups[test]))
    return values


def lightgbm(data: Data, grid: dict, per_dataset: int) -> Best:
    """Run the grid search by hand; `per_dataset` settings share a Dataset."""
    names = [theirs for _, theirs in grid]
    settings = [dict(zip(names, v, strict=True)) for v in product(*grid.values())]
    parts = [
        settings[start : start + per_dataset]
        for start in range(0, len(settings), per_dataset)
    ]
    folds = list(FOLDS.split(*data))
    values = Parallel(n_jobs=PROCESSES)(
        delayed(lightgbm_ndcg)(data, train, test, part)
        for part in parts
        for train, test in folds
    )
    of_parts = np.array_split(np.arange(len(values)), len(parts))
    means = np.concatenate(
        [np.mean([values[job] for job in jobs], axis=0) for jobs in of_parts]
    )
    best = int(np.argmax(means))
    return Best(float(means[best]), settings[best])


LIBRARIES: dict[str, Callable[[Data, dict], Best]] = {
    peers.OURS: ours,
    "LightGBM": lambda data, grid: lightgbm(data, grid, 1),
    "LightGBM, Datasets shared": lambda data, grid: lightgbm(data, grid, 14),
}


def cpu_seconds_of_children() -> float:
    """Return the CPU time used so far by the child processes of this one."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # the process has just ended
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(data: Data, repetitions: int) -> Iterator[tuple[str, Run]]:
    """Run the libraries interleaved, after a small grid as warm-up."""
    smallest = {names: values[:1] for names, values in SETTINGS.items()}
    for search in LIBRARIES.values():
        search(data, smallest)
    for _ in range(repetitions):
        for name, search in LIBRARIES.items():
            cpu, start = cpu_seconds_of_children(), time.perf_counter()
            best = search(data, SETTINGS)
            seconds = time.perf_counter() - start
            yield name, Run(seconds, cpu_seconds_of_children() - cpu, best)


def print_table(runs: dict[str, list[Run]]) -> None:
    """Print medians and their ratios to ours."""
    medians = {
        name: np.median([run[:2] for run in of_name], axis=0)
        for name, of_name in runs.items()
    }
    print(f"{'':26}{'seconds':>17}{'CPU seconds':>17}   best NDCG@10")
    for name, median in medians.items():
        ratios = median / medians[peers.OURS]
        row = "".join(
            f"{value:9.2f}{f'{ratio:.2f} x':>8}"
            for value, ratio in zip(median, ratios, strict=True)
        )
        ndcg, setting = runs[name][-1].best
        print(f"{name:26}{row}   {ndcg:.5f} {setting}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repetitions", type=int, default=3)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    data = load(arguments.data)

    print(peers.machine())
    n_settings = int(np.prod([len(values) for values in SETTINGS.values()]))
    print(
        f"{data.X.shape[0]:,} x {data.X.shape[1]}, {len(np.unique(data.groups))} "
        f"queries, {n_settings} settings, 5 folds, {TREES} trees, {PROCESSES} processes"
    )
    runs: dict[str, list[Run]] = {name: [] for name in LIBRARIES}
    for name, run in measure(data, arguments.repetitions):
        runs[name].append(run)
        record = {"library": name, **run._asdict(), "best": run.best._asdict()}
        peers.append_json(arguments.json, [record])
    print_table(runs)


if __name__ == "__main__":
    main()
