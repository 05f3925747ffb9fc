"""NDCG@10 of many queries at once, beside scikit-learn, ranx and trec_eval.

    python benchmarks/metrics.py

All documents of all queries are scored once, every query with 100 documents, so that
scikit-learn's function on dense arrays can be compared.  The other tools have only the
linear gain; the scores have no ties, so all must print the same value.  The calls
alternate; medians are printed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytrec_eval
import ranx
from measuring import cost_of, take_turns
from sklearn.metrics import ndcg_score

import peers
from peers import OURS
from sklearn_ltr.metrics import NDCG

N_DOCUMENTS = 100  # of a query

Call = Callable[[], float]


def as_dicts(values: np.ndarray) -> dict[str, dict[str, Any]]:
    """What ranx and trec_eval read: query id -> document id -> value."""
    names = [f"d{i}" for i in range(values.shape[1])]
    return {
        f"q{i}": dict(zip(names, row, strict=True))
        for i, row in enumerate(values.tolist())
    }


def random_lists(n_queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Grades and scores, (n_queries, 100) each; no two scores are equal."""
    rng = np.random.default_rng(0)
    shape = (n_queries, N_DOCUMENTS)
    grades, scores = rng.integers(0, 5, shape), rng.permutation(np.prod(shape))
    return grades, scores.reshape(shape) / np.prod(shape)


def calls_of_dicts(grades: np.ndarray, scores: np.ndarray) -> dict[str, Call]:
    """ranx and trec_eval; prints the time to build the objects that they read."""
    start = time.perf_counter()
    judged, run = as_dicts(grades), as_dicts(scores)
    seconds_dicts = time.perf_counter() - start
    ranx.Qrels(as_dicts(grades[:1])), ranx.Run(as_dicts(scores[:1]))  # compiles
    start = time.perf_counter()
    qrels, ranx_run = ranx.Qrels(judged), ranx.Run(run)
    seconds_ranx = time.perf_counter() - start
    print(f"building dicts {seconds_dicts:.2f} s, ranx's objects {seconds_ranx:.2f} s")
    trec_eval = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"})

    def trec() -> float:
        queries = trec_eval.evaluate(run).values()
        return float(np.mean([measures["ndcg_cut_10"] for measures in queries]))

    return {
        "ranx": lambda: ranx.evaluate(qrels, ranx_run, "ndcg@10"),
        "pytrec_eval": trec,
    }


def calls_of_arrays(grades: np.ndarray, scores: np.ndarray) -> dict[str, Call]:
    """Ours on rows and groups, scikit-learn's on the dense table."""
    lists = {
        "y_true": grades.ravel(),
        "y_score": scores.ravel(),
        "groups": np.repeat(np.arange(len(grades)), N_DOCUMENTS),
    }
    dense = partial(ndcg_score, grades, scores, k=10)
    return {
        OURS: partial(NDCG(10, gain="linear"), **lists),
        f"{OURS}, gain 2^y - 1": partial(NDCG(10), **lists),
        "scikit-learn, ties ignored": partial(dense, ignore_ties=True),
        "scikit-learn": dense,
    }


def measure(calls: dict[str, Call], repetitions: int) -> list[dict]:
    """Time the calls alternately, after one call of each that may compile."""
    values = {name: call() for name, call in calls.items()}
    seconds = take_turns(calls, repetitions)
    return [
        {
            "library": name,
            "seconds": seconds[name],
            "peak_mb": cost_of(call)[0]["peak_mb"],
            "ndcg@10": float(values[name]),
        }
        for name, call in calls.items()
    ]


def print_table(records: list[dict]) -> None:
    ours = np.median(records[0]["seconds"])
    print(f"{'':28}{'seconds':>9}{'times ours':>12}{'peak MB':>9}{'NDCG@10':>10}")
    for record in records:
        median = np.median(record["seconds"])
        row = f"{record['library']:28}{median:9.4f}{median / ours:12.2f}"
        print(row + f"{record['peak_mb']:9.1f}{record['ndcg@10']:10.6f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--repetitions", type=int, default=5)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    grades, scores = random_lists(arguments.queries)

    print(peers.machine(more=("pytrec_eval-terrier",)))
    print(f"{grades.size:,} documents in {len(grades):,} queries")
    calls = calls_of_arrays(grades, scores) | calls_of_dicts(grades, scores)
    records = measure(calls, arguments.repetitions)
    print_table(records)
    about = {"queries": arguments.queries}
    peers.append_json(arguments.json, [about | record for record in records])


if __name__ == "__main__":
    main()
