"""The time of a query's lambdas against its length, and against divisions alone.

    python benchmarks/lambdas.py

For a metric at 10 only pairs with a document in the top 10 count: the slope of log time
over log length should be near 1.  Without a cutoff all pairs do: near 2.

Short lists are measured apart, as nanoseconds per document.

Each pair takes at least one division.  The lower bound is a loop of divisions only, one
for every pair that counts: of different grades, one document in the top k.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from measuring import slope, take_turns

import peers
from sklearn_ltr._compile import ThreadTeam, kernel, uint64
from sklearn_ltr._data import TrainingData
from sklearn_ltr._data.labels import LabelGrades
from sklearn_ltr._lambdas.graded_pairs import GradedLambdas
from sklearn_ltr._lambdas.pairs import PairOptions
from sklearn_ltr.metrics import get_metric

LENGTHS = {
    "ndcg@10": (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000),
    "map": (100, 300, 1_000, 3_000),
    "mrr": (100, 300, 1_000, 3_000),
    "err": (100, 300, 1_000, 3_000),
    "ndcg": (100, 300, 1_000, 3_000),
}
DOCUMENTS = 30_000  # as many queries as fill this
SHORT_LENGTHS = (2, 3, 5, 8, 10, 15, 20, 32, 40)
DOCUMENTS_IN_SHORT_LISTS = 300_000


@kernel
def divide(exp_scores: np.ndarray, n_pairs: int) -> float:
    """Add up n_pairs quotients."""
    total, n = 0.0, len(exp_scores)
    for start in range(0, n_pairs, n):
        exp_score = exp_scores[start % 7]
        for i in range(uint64(min(n, n_pairs - start))):
            total += 1.0 / (exp_score + exp_scores[i])
    return total


def pairs_that_count(scores: np.ndarray, grades: np.ndarray, k: int) -> int:
    ranked = grades[np.argsort(-scores)]
    return sum(np.count_nonzero(ranked[p + 1 :] != ranked[p]) for p in range(k))


def seconds_per_query(
    n: int, metric: str, repetitions: int, n_documents: int = DOCUMENTS
) -> dict[str, list[float]]:
    """Time the lambdas, as a fit computes them, and the divisions alone, in turn."""
    n_queries = max(1, n_documents // n)
    rng = np.random.default_rng(0)
    scores = rng.normal(size=n * n_queries)
    grades = rng.choice(5, size=len(scores), p=(0.52, 0.32, 0.13, 0.02, 0.01))
    grades = grades.astype(np.float64)
    offsets = n * np.arange(n_queries + 1)
    data = TrainingData(
        LabelGrades.of_one(grades),
        offsets=offsets,
        labels=None,
    )
    objective = GradedLambdas(
        data, get_metric(metric), PairOptions(sigma=1.0), ThreadTeam(1)
    )
    k = min(objective.k, n)
    n_pairs = sum(
        pairs_that_count(scores[lo : lo + n], grades[lo : lo + n], k)
        for lo in offsets[:-1]
    )
    exp_scores = np.exp(scores[:1_000])
    calls = {
        "lambdas": partial(objective.derivatives, scores),
        "divisions": partial(divide, exp_scores, n_pairs),
    }
    take_turns(calls, 1)  # compiles
    seconds = take_turns(calls, repetitions)
    return {what: [s / n_queries for s in several] for what, several in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--longest", type=int, default=100_000)
    parser.add_argument("--repetitions", type=int, default=7)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    print(peers.machine())
    print("microseconds per query: lambdas / divisions = ratio")
    for metric, lengths in LENGTHS.items():
        found = {
            n: seconds_per_query(n, metric, arguments.repetitions)
            for n in lengths
            if n <= arguments.longest
        }
        of_lambdas = {n: seconds["lambdas"] for n, seconds in found.items()}
        print(f"{metric:8} slope {slope(of_lambdas):.2f}")
        for n, seconds in found.items():
            ours, floor = (min(several) for several in seconds.values())
            times = f"{1e6 * ours:10.2f} / {1e6 * floor:9.2f}"
            print(f"    n={n:<8,} {times} = {ours / floor:.1f}")
        records = [
            {"metric": metric, "documents": n, **seconds}
            for n, seconds in found.items()
        ]
        peers.append_json(arguments.json, records)
    print("nanoseconds per document in short lists, ndcg")
    for n in SHORT_LENGTHS:
        found = seconds_per_query(
            n, "ndcg", arguments.repetitions, DOCUMENTS_IN_SHORT_LISTS
        )
        print(f"    n={n:<8,} {1e9 * min(found['lambdas']) / n:10.1f}")
        peers.append_json(arguments.json, [{"metric": "ndcg", "documents": n, **found}])


if __name__ == "__main__":
    main()
