"""Test whether LambdaRank ends at a local maximum (Burges 2010, section 4.2).

    python benchmarks/local_optimality.py --data PATH
    python benchmarks/local_optimality.py --data PATH --metrics map --seeds 5

PATH is a file as for quality.py. On the training part of each of the five folds, a
linear LambdaRank and a linear RankNet are trained from several initial weights; the
epoch with the best mean metric on these same queries is kept. Then follows his
one-sided Monte Carlo test: 459 random directions, with steps of several lengths
relative to the length of the weight vector. A ranker passes if the metric increases
along none.

Constant features are removed: their weights change no score, but would count in the
length of the weights and of the directions.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from quality import Part, load, training_part
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import peers
from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr.inspection import LocalOptimality, local_optimality

STEP_SIZES = (0.01, 0.03, 0.1, 0.3, 0.4, 0.5, 0.6, 1.0)
EPOCHS = 300
LINEAR = {
    "hidden_layer_sizes": (),
    "alpha": 1e-6,
    "batch_size": 20,
    "learning_rate_init": 0.002,
    "max_iter": EPOCHS,
    "n_iter_no_change": EPOCHS,  # no early stop; the best epoch is kept
    "tol": 0.0,
    "n_jobs": 1,
}


def ranker_of(name: str, metric: str, seed: int):
    options = LINEAR | {"scoring": metric, "random_state": seed}
    if name == "RankNet":
        return RankNetRanker(**options)
    return LambdaRankRanker(metric, truncation_level=None, **options)


def results_of(
    name: str, metric: str, parts: list[Part], seeds: range
) -> list[list[LocalOptimality]]:
    """Return one list per fold and seed, with the result of each step size."""
    results = []
    for test in range(len(parts)):
        part = training_part(parts, test)
        X = make_pipeline(VarianceThreshold(), StandardScaler()).fit_transform(part.X)
        validation = {"X_val": X, "y_val": part.y, "groups_val": part.groups}
        for seed in seeds:
            ranker = ranker_of(name, metric, seed)
            ranker.fit(X, part.y, groups=part.groups, **validation)
            results.append(
                [
                    local_optimality(
                        ranker,
                        X,
                        part.y,
                        groups=part.groups,
                        metric=metric,
                        step_size=step_size,
                        random_state=seed,
                    )
                    for step_size in STEP_SIZES
                ]
            )
    return results


def print_table(name: str, results: list[list[LocalOptimality]]) -> None:
    values = [of_fit[0].value for of_fit in results]
    print(f"  {name}: {len(values)} fits, M(w*) {np.mean(values):.4f} on average")
    for i, step_size in enumerate(STEP_SIZES):
        of_step = [of_fit[i] for of_fit in results]
        shares = [result.fraction_ascending for result in of_step]
        passed = sum(result.n_ascending == 0 for result in of_step)
        gains = [result.values.max() - result.value for result in of_step]
        print(
            f"    {step_size:5g}{np.mean(shares):12.3f}{np.min(shares):9.3f}"
            f"{np.max(shares):9.3f}{passed:8d} of {len(of_step)}"
            f"{np.mean(gains):+14.4f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--metrics", nargs="+", default=["ndcg@10"])
    parser.add_argument("--seeds", type=int, default=3)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    print(peers.machine())
    parts = load(arguments.data)
    for metric in arguments.metrics:
        print(f"\n{metric} of the training queries, shares of directions that ascend")
        print(f"    {'step':>5}{'mean':>12}{'least':>9}{'most':>9}", end="")
        print(f"{'passed':>13}{'highest M':>15} - M(w*), mean")
        for name in ("LambdaRank", "RankNet"):
            seeds = range(arguments.seeds)
            results = results_of(name, metric, parts, seeds)
            print_table(name, results)
            records = [
                {
                    "data": arguments.data.name,
                    "ranker": name,
                    "metric": metric,
                    "value": of_fit[0].value,
                    "step_sizes": STEP_SIZES,
                    "fraction_ascending": [r.fraction_ascending for r in of_fit],
                }
                for of_fit in results
            ]
            peers.append_json(arguments.json, records)


if __name__ == "__main__":
    main()
