"""NDCG@10 of many queries at once, beside scikit-learn, ranx and trec_eval.

    python benchmarks/metrics.py

All documents of all queries are scored once, every query with 100 documents, so that
scikit-learn's dense function can take part.  The others than ours know the linear gain
only; the scores have no ties, so all must print the same value.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytrec_eval
import ranx
from sklearn.metrics import ndcg_score

import peers
from sklearn_ltr.metrics import NDCG

N_DOCUMENTS = 100  # of a query


def timed(call: Callable[[], Any], repetitions: int) -> tuple[float, Any]:
    """Median seconds of a call, and what it returned; one call to warm up."""
    answer = call()
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        answer = call()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), answer


def as_dicts(values: np.ndarray) -> dict[str, dict[str, Any]]:
    """What ranx and trec_eval read: query id -> document id -> value."""
    names = [f"d{i}" for i in range(values.shape[1])]
    return {
        f"q{i}": dict(zip(names, row, strict=True))
        for i, row in enumerate(values.tolist())
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()

    rng = np.random.default_rng(0)
    shape = (arguments.queries, N_DOCUMENTS)
    grades, scores = rng.integers(0, 5, shape), rng.permutation(np.prod(shape))
    scores = scores.reshape(shape) / np.prod(shape)
    y_true, y_score = grades.ravel(), scores.ravel()
    groups = np.repeat(np.arange(shape[0]), shape[1])

    start = time.perf_counter()
    judged, run = as_dicts(grades), as_dicts(scores)
    seconds_dicts = time.perf_counter() - start
    ranx.Qrels(as_dicts(grades[:1])), ranx.Run(as_dicts(scores[:1]))  # compiles
    start = time.perf_counter()
    qrels, ranx_run = ranx.Qrels(judged), ranx.Run(run)
    seconds_ranx = time.perf_counter() - start
    trec_eval = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"})

    def trec() -> float:
        answers = trec_eval.evaluate(run).values()
        return float(np.mean([answer["ndcg_cut_10"] for answer in answers]))

    exponential, linear = NDCG(10), NDCG(10, gain="linear")
    calls = {
        "sklearn_ltr": lambda: linear(y_true, y_score, groups=groups),
        "sklearn_ltr, gain 2^y - 1": lambda: exponential(
            y_true, y_score, groups=groups
        ),
        "scikit-learn, ties ignored": lambda: ndcg_score(
            grades, scores, k=10, ignore_ties=True
        ),
        "scikit-learn": lambda: ndcg_score(grades, scores, k=10),
        "ranx": lambda: ranx.evaluate(qrels, ranx_run, "ndcg@10"),
        "pytrec_eval": trec,
    }
    print(peers.machine())
    print(f"{y_true.size:,} documents in {shape[0]:,} queries")
    print(f"building dicts {seconds_dicts:.2f} s, ranx's objects {seconds_ranx:.2f} s")
    print(f"{'':28}{'seconds':>9}{'NDCG@10':>10}")
    for name, call in calls.items():
        seconds, value = timed(call, arguments.repetitions)
        print(f"{name:28}{seconds:9.3f}{value:10.6f}")


if __name__ == "__main__":
    main()
