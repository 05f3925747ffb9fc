"""How the time of a fit grows: with rows, columns, trees, leaves, list length and k.

    python benchmarks/growth.py

One thing at a time is changed; the slope of log time over log size is printed: 1 where
time is proportional, less where something else takes its share, 2 where every pair of a
list counts.  The quickest of several fits, binning included.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from fit import MSLR_LIKE

import peers
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking

ROWS, COLUMNS, LENGTH = 120_000, 136, 120
SIZES = {
    "rows": (15_000, 30_000, 60_000, 120_000),
    "columns": (17, 34, 68, 136),
    "trees": (10, 20, 40, 80),
    "leaves": (8, 16, 32, 64, 128),
    "documents of a query": (30, 120, 480, 1_920),
    "documents of a query, all pairs": (30, 120, 480, 1_920),
    "k, 1,920 documents of a query": (1, 4, 16, 64, 256),
}


def seconds_of_fit(
    what: str, size: int, X: np.ndarray, y: np.ndarray, repetitions: int
) -> float:
    n_rows = size if what == "rows" else ROWS
    n_columns = size if what == "columns" else COLUMNS
    length = size if what.startswith("documents") else LENGTH
    metric = "ndcg@10"
    if what.endswith("all pairs"):
        metric = "ndcg"
    if what.startswith("k"):
        metric, length = f"ndcg@{size}", 1_920
    ranker = LambdaMARTRanker(
        metric,
        truncation_level=None,
        n_estimators=size if what == "trees" else 20,
        max_leaf_nodes=size if what == "leaves" else 31,
        random_state=0,
        n_jobs=peers.THREADS,
    )
    table = np.ascontiguousarray(X[:n_rows, :n_columns])
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        ranker.fit(table, y[:n_rows], groups=np.arange(n_rows) // length)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    n_queries = round(ROWS / MSLR_LIKE["n_documents"]) + 1
    made = make_ranking(n_queries, random_state=0, dtype="float32", **MSLR_LIKE)
    X, y = made.data[:ROWS], made.target[:ROWS]
    seconds_of_fit("trees", 2, X, y, 1)  # compiles
    print(peers.machine())
    print(f"{ROWS:,} x {COLUMNS}, 20 trees of 31 leaves, lists of {LENGTH}, ndcg@10")
    for what, sizes in SIZES.items():
        found = [seconds_of_fit(what, n, X, y, arguments.repetitions) for n in sizes]
        slope = np.polyfit(np.log(sizes), np.log(found), 1)[0]
        cells = (f"{n:,}: {s:.2f}" for n, s in zip(sizes, found, strict=True))
        print(f"{what:33} slope {slope:.2f}   seconds " + "   ".join(cells), flush=True)


if __name__ == "__main__":
    main()
