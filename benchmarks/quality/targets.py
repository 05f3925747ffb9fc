"""Which metric to train for: models trained for each metric, evaluated by all.

    python -m benchmarks.quality.targets --data PATH
    python -m benchmarks.quality.targets --data PATH --targets ndcg@5 map mrr@10 err@20

Section 4.1 of Burges (2010): to optimise another metric, replace the swap delta by that
metric's. Section 2: without a swap delta, RankNet, on a network or on boosted trees,
reduces pairwise errors. Trees and a linear network are trained for each metric and for
pairs alone; the tables show each model by each metric.

PATH and the folds are those of `queries.py`. There is no search: every model has the
settings below, with early stopping on the validation part by the metric it is trained
for. Values are means over seeds, then over the test queries with a relevant document.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import sklearn
from scipy.stats import sem

from benchmarks.quality.quality import fit_network
from benchmarks.tools import peers
from benchmarks.tools.queries import Fold, Part, folds, has_relevant, load
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.metrics import Metric, get_metric

TARGETS = ("ndcg@10", "map", "mrr", "err")
PAIRS = "pairs"
TREES = {
    "n_estimators": 300,
    "learning_rate": 0.05,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 20,
    "n_iter_no_change": 50,
}
NETWORK = {"alpha": 1.0, "learning_rate_init": 0.003}


@dataclass(frozen=True, repr=False)
class PairsInOrder(Metric):
    """Share of the pairs of different grade that are in the right order."""

    def value(self, ranked_grades: np.ndarray) -> float:
        is_pair = np.greater.outer(ranked_grades, ranked_grades)
        n_pairs = np.count_nonzero(is_pair)
        n_in_order = np.count_nonzero(np.triu(is_pair))
        return n_in_order / n_pairs if n_pairs else 1.0


def metric_of(target: str) -> Metric:
    return PairsInOrder() if target == PAIRS else get_metric(target)


def fit_trees(target: str, fold: Fold, seed: int):
    ranker = LambdaMARTRanker(
        metric=None if target == PAIRS else target,
        scoring=metric_of(target),
        random_state=seed,
        n_jobs=peers.THREADS,
        **TREES,
    )
    return fold.train.fit(ranker, **fold.validation.as_validation())


def fit_linear(target: str, fold: Fold, seed: int):
    if target == PAIRS:
        name, metric = "RankNet linear", {}
    else:
        name, metric = "LambdaRank linear", {"metric": target}
    settings = {**NETWORK, **metric, "scoring": metric_of(target)}
    return fit_network(name, settings, fold, seed)


LEARNERS = {"LambdaMART": fit_trees, "LambdaRank, linear": fit_linear}


def values_of(
    learner: str, target: str, parts: list[Part], targets: list[str], seeds: range
) -> np.ndarray:
    """Return (n_targets, n_queries): one learner trained for one target, by each."""
    of_folds = []
    for fold in folds(parts):
        of_seeds = []
        for seed in seeds:
            scores = LEARNERS[learner](target, fold, seed).predict(fold.test.X)
            of_seeds.append([fold.test.values(metric_of(t), scores) for t in targets])
        of_folds.append(np.mean(of_seeds, axis=0))
    return np.concatenate(of_folds, axis=1)


def print_table(targets: list[str], values: np.ndarray) -> None:
    """Print means of `values`, (trained for, evaluated by, query)."""
    means = values.mean(axis=2)
    differences = [a - b for a, b in combinations(values, 2)]
    errors = np.sqrt(np.mean(sem(differences, axis=2) ** 2, axis=0))
    print(f"{'trained for':17}" + "".join(f"{target:>9} " for target in targets))
    for target, row in zip(targets, means, strict=True):
        name = f"{target} (RankNet)" if target == PAIRS else target
        marks = np.where(row == means.max(axis=0), "*", " ")
        cells = (f"{mean:9.4f}{mark}" for mean, mark in zip(row, marks, strict=True))
        print(f"{name:17}" + "".join(cells))
    print(f"{'(standard error':17}" + "".join(f"{error:9.4f} " for error in errors))
    print(" of a difference, on average)")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--targets", nargs="+", default=TARGETS, metavar="METRIC")
    parser.add_argument("--learners", nargs="+", default=LEARNERS, choices=LEARNERS)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()

    sklearn.set_config(enable_metadata_routing=True)
    print(machine())
    parts, targets = load(arguments.data), [*arguments.targets, PAIRS]
    relevant = has_relevant(parts)
    print(f"{arguments.data.name}: {relevant.sum()} queries, {arguments.seeds} seeds")
    for learner in arguments.learners:
        start = time.perf_counter()
        values = [
            values_of(learner, target, parts, targets, range(arguments.seeds))
            for target in targets
        ]
        seconds = time.perf_counter() - start
        print(f"\n{learner}, {seconds:.0f} s; * best by this metric")
        kept = np.array(values)[:, :, relevant]
        print_table(targets, kept)
        records = [
            {"data": arguments.data.name, "learner": learner, "trained_for": target}
            | dict(zip(targets, of_target.mean(axis=1).tolist(), strict=True))
            for target, of_target in zip(targets, kept, strict=True)
        ]
        append_json(arguments.json, records)


if __name__ == "__main__":
    main()
