"""The cost of a query's lambdas against its length.

    python benchmarks/lambdas.py

For a metric at 10 only pairs with a document in the top 10 count: the slope of log time
over log length should be near 1.  Without a cutoff all pairs do: near 2.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import peers
from sklearn_ltr.lambdas import compute_lambdas
from sklearn_ltr.queries import QueryGroups

LENGTHS = {
    "ndcg@10": (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000),
    "map": (100, 300, 1_000, 3_000),
    "mrr": (100, 300, 1_000, 3_000),
    "err": (100, 300, 1_000, 3_000),
    "ndcg": (100, 300, 1_000, 3_000),
}


def seconds_per_query(n: int, metric: str, repetitions: int) -> float:
    """Quickest of several calls over as many queries of n documents as fill 3,000."""
    n_queries = max(1, 3_000 // n)
    rng = np.random.default_rng(0)
    scores = rng.normal(size=n * n_queries)
    grades = rng.choice(5, size=len(scores), p=(0.52, 0.32, 0.13, 0.02, 0.01))
    groups = np.repeat(np.arange(n_queries), n)
    queries = QueryGroups.from_groups(groups, len(groups))

    def call() -> None:
        compute_lambdas(scores, grades, queries, metric, n_jobs=1)

    call()  # compiles
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds) / n_queries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--longest", type=int, default=100_000)
    parser.add_argument("--repetitions", type=int, default=7)
    arguments = parser.parse_args()
    print(peers.machine())
    print("milliseconds per query")
    for metric, lengths in LENGTHS.items():
        lengths = [n for n in lengths if n <= arguments.longest]
        seconds = [seconds_per_query(n, metric, arguments.repetitions) for n in lengths]
        slope = np.polyfit(np.log(lengths), np.log(seconds), 1)[0]
        cells = (
            f"n={n:,}: {1e3 * s:.3f}" for n, s in zip(lengths, seconds, strict=True)
        )
        print(f"{metric:8} slope {slope:.2f}   " + "   ".join(cells))


if __name__ == "__main__":
    main()
