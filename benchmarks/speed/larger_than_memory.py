"""A fit of a table on disk that is larger than the memory it is fitted in.

    python -m benchmarks.speed.larger_than_memory --gigabytes 20 --directory /large/disk

Rows of made data are written as float64, to a memory map or to Parquet files, and read
from there by the workers of a Dask cluster on this machine.  Printed are the seconds of
the fit and of the predictions, and the highest memory (RSS, every tenth of a second) of
all processes together: of the script, which is the client and has the scheduler, and of
the workers.  Pages of files that are mapped into memory count while they are mapped.
With --check the model is compared to that of `LambdaMARTRanker` on the whole table.
"""

from __future__ import annotations

import argparse
import os
import pickle
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
import psutil

from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr.metrics import ndcg_score

N_FEATURES = 136
QUERY_ROWS = 100
COLUMNS = [f"f{j}" for j in range(N_FEATURES)]


def made_rows(number: int, n_rows: int) -> dict[str, np.ndarray]:
    """Return the rows of one partition, whole queries."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((n_rows, N_FEATURES))
    raw = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.standard_normal(n_rows)
    y = np.clip(np.round(raw + 0.5), 0, 4)
    return {
        "X": X,
        "y": y,
        "groups": (number * n_rows + np.arange(n_rows)) // QUERY_ROWS,
    }


def write_maps(folder: Path, n_parts: int, part_rows: int) -> None:
    n_rows = n_parts * part_rows
    shapes = {"X": (n_rows, N_FEATURES), "y": (n_rows,), "groups": (n_rows,)}
    dtypes = {"X": np.float64, "y": np.float64, "groups": np.int64}
    for number in range(n_parts):
        for name, values in made_rows(number, part_rows).items():
            file = folder / f"{name}.npy"
            mode = "r+" if number else "w+"
            rows = np.lib.format.open_memmap(file, mode, dtypes[name], shapes[name])
            rows[number * part_rows : (number + 1) * part_rows] = values


def write_parquet(folder: Path, n_parts: int, part_rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number in range(n_parts):
        made = made_rows(number, part_rows)
        columns = [*made["X"].T, made["y"], made["groups"]]
        table = pa.table([pa.array(c) for c in columns], [*COLUMNS, "y", "groups"])
        pq.write_table(table, folder / f"part{number:05}.parquet")


def rows_of_file(file: Path, block_info: Any = None) -> np.ndarray:
    first, last = block_info[None]["array-location"][0]
    return np.load(file, mmap_mode="r")[first:last]


def mapped(file: Path, part_rows: int) -> Any:
    import dask.array as da

    whole = np.load(file, mmap_mode="r")
    chunks = da.core.normalize_chunks((part_rows, *whole.shape[1:]), whole.shape)
    return da.map_blocks(
        rows_of_file, file, chunks=chunks, dtype=whole.dtype, meta=np.array(whole[:0])
    )


def open_maps(folder: Path, part_rows: int) -> tuple[Any, Any, Any]:
    return tuple(
        mapped(folder / f"{name}.npy", part_rows) for name in ("X", "y", "groups")
    )


def open_parquet(folder: Path, part_rows: int) -> tuple[Any, Any, Any]:
    import dask.dataframe as dd

    rows = dd.read_parquet(folder)
    return rows[COLUMNS], rows["y"], rows["groups"]


FORMATS = {"map": (write_maps, open_maps), "parquet": (write_parquet, open_parquet)}


class MemoryWatch(threading.Thread):
    """Measures the memory of this process and of its children."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.together = 0.0
        self.of_process: dict[int, float] = {}
        self._ends = threading.Event()

    def run(self) -> None:
        own = psutil.Process()
        while not self._ends.wait(0.1):
            found = {}
            for process in [own, *own.children(recursive=True)]:
                try:
                    found[process.pid] = process.memory_info().rss / 1e6
                except psutil.NoSuchProcess:
                    continue
            self.together = max(self.together, sum(found.values()))
            for pid, rss in found.items():
                self.of_process[pid] = max(self.of_process.get(pid, 0.0), rss)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.set()
        self.join()


def is_model_of_one_machine(model: Any, X: Any, y: Any, groups: Any) -> bool:
    from sklearn_ltr import LambdaMARTRanker

    values = [np.asarray(rows.compute()) for rows in (X, y, groups)]
    if hasattr(X, "columns"):
        values[0] = X.compute()
    whole = LambdaMARTRanker(**model.get_params(deep=False))
    whole.fit(values[0], values[1], groups=values[2])
    return pickle.dumps(whole.ensemble_) == pickle.dumps(model.ensemble_)


def measure(folder: Path, arguments: argparse.Namespace, n_parts: int) -> dict:
    from distributed import Client, LocalCluster

    from sklearn_ltr.dask import DaskLambdaMARTRanker

    write, open_table = FORMATS[arguments.format]
    if not any(folder.iterdir()):
        write(folder, n_parts, arguments.partition_rows)
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{size / 1e9:.2f} GB in files", flush=True)
    threads = arguments.threads or max(
        1, len(os.sched_getaffinity(0)) // arguments.workers
    )
    limit = f"{arguments.memory_limit / arguments.workers}GB"
    n_rows = n_parts * arguments.partition_rows
    row: dict[str, Any] = {
        "format": arguments.format,
        "rows": n_rows,
        "table_gb": size / 1e9,
        "workers": arguments.workers,
        "threads": threads,
    }
    with (
        LocalCluster(
            n_workers=arguments.workers,
            threads_per_worker=threads,
            memory_limit=limit,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster),
    ):
        X, y, groups = open_table(folder, arguments.partition_rows)
        ranker = DaskLambdaMARTRanker(n_estimators=arguments.trees, random_state=0)
        for step in ("fit", "predict"):
            with MemoryWatch() as watch:
                start = time.perf_counter()
                if step == "fit":
                    ranker.fit(X, y, groups=groups)
                else:
                    scores = np.asarray(ranker.predict(X).compute())
                row[f"{step}_s"] = time.perf_counter() - start
            row[f"{step}_peak_gb"] = watch.together / 1e3
            processes = sorted(watch.of_process.values(), reverse=True)
            row[f"{step}_bytes_per_row"] = watch.together * 1e6 / n_rows
            largest = ", ".join(f"{rss:.0f}" for rss in processes[:4])
            print(
                f"{step:<8}{row[f'{step}_s']:8.1f} s  highest memory of all processes "
                f"{row[f'{step}_peak_gb']:.2f} GB ({row[f'{step}_bytes_per_row']:.0f} "
                f"bytes per row); of each, MB: {largest}",
                flush=True,
            )
        model = ranker.to_local()
        grades, queries = (np.asarray(rows.compute()) for rows in (y, groups))
        row["ndcg"] = ndcg_score(grades, scores, groups=queries, k=10)
        print(f"NDCG@10 on the training rows {row['ndcg']:.4f}")
        if arguments.check:
            row["same"] = is_model_of_one_machine(model, X, y, groups)
            print(f"the model of one machine: {row['same']}")
    return row


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--format", choices=list(FORMATS), default="map")
    parser.add_argument("--partition-rows", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--threads", type=int, default=None, help="of each worker; None: all cores"
    )
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument(
        "--memory-limit", type=float, default=6.0, help="of the workers, in GB"
    )
    parser.add_argument("--directory", default=None, help="where the table is written")
    parser.add_argument(
        "--table", type=Path, default=None, help="a folder that is kept, and read again"
    )
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    arguments.partition_rows -= arguments.partition_rows % QUERY_ROWS
    n_rows = arguments.gigabytes * 1e9 / (8 * N_FEATURES)
    n_parts = max(1, round(n_rows / arguments.partition_rows))
    print(machine(["dask", "distributed"]))
    folder = arguments.table or Path(tempfile.mkdtemp(dir=arguments.directory))
    folder.mkdir(exist_ok=True)
    try:
        row = measure(folder, arguments, n_parts)
    finally:
        if arguments.table is None:
            shutil.rmtree(folder)
    append_json(arguments.json, [row])


if __name__ == "__main__":
    main()
