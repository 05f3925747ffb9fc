"""Growth of the time of a fit with rows, features, trees, leaves, list length and k.

    python benchmarks/growth.py

One size at a time is changed. Printed is the slope of log time over log size: 1 means
proportional, less means that other work dominates, 2 that every pair of a list counts.
The sizes are run interleaved; the fastest fit of each is shown, binning included.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from fit import MSLR_LIKE
from measuring import slope, take_turns

import peers
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking

ROWS, FEATURES, LENGTH = 120_000, 136, 120
LONG = 1_920  # documents of a query when k is varied


def sizes_of(n_rows: int) -> dict[str, tuple[int, ...]]:
    return {
        "rows": (n_rows // 8, n_rows // 4, n_rows // 2, n_rows),
        "features": (17, 34, 68, 136),
        "trees": (10, 20, 40, 80),
        "leaves": (8, 16, 32, 64, 128),
        "documents of a query": (30, 120, 480, 1_920),
        "documents of a query, all pairs": (30, 120, 480, 1_920),
        f"k, {LONG:,} documents of a query": (1, 4, 16, 64, 256),
    }


def fit_of(what: str, size: int, X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    """Return a fit in which one size differs from its default."""
    n_rows = size if what == "rows" else len(X)
    n_features = size if what == "features" else FEATURES
    length = size if what.startswith("documents") else LENGTH
    metric = "ndcg@10"
    if what.endswith("all pairs"):
        metric = "ndcg"
    if what.startswith("k"):
        metric, length = f"ndcg@{size}", LONG
    ranker = LambdaMARTRanker(
        metric,
        truncation_level=None,
        n_estimators=size if what == "trees" else 20,
        max_leaf_nodes=size if what == "leaves" else 31,
        random_state=0,
        n_jobs=peers.THREADS,
    )
    table = np.ascontiguousarray(X[:n_rows, :n_features])
    groups = np.arange(n_rows) // length
    return partial(ranker.fit, table, y[:n_rows], groups=groups)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repetitions", type=int, default=3)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    n_rows = arguments.rows
    n_queries = round(n_rows / MSLR_LIKE["n_documents"]) + 1
    made = make_ranking(n_queries, random_state=0, dtype="float32", **MSLR_LIKE)
    X, y = made.data[:n_rows], made.target[:n_rows]
    fit_of("trees", 2, X, y)()  # warm up
    print(peers.machine())
    print(f"{n_rows:,} x {FEATURES}, 20 trees of 31 leaves, lists of {LENGTH}, ndcg@10")
    for what, sizes in sizes_of(n_rows).items():
        calls = {size: fit_of(what, size, X, y) for size in sizes}
        seconds = take_turns(calls, arguments.repetitions)
        cells = "   ".join(f"{n:,}: {min(seconds[n]):.2f}" for n in sizes)
        print(f"{what:33} slope {slope(seconds):.2f}   seconds {cells}", flush=True)
        records = [
            {"what": what, "size": n, "seconds": runs} for n, runs in seconds.items()
        ]
        peers.append_json(arguments.json, records)


if __name__ == "__main__":
    main()
