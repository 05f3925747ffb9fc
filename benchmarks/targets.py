"""Which measure to train for: each of them, judged by all of them.

    python benchmarks/targets.py --data PATH
    python benchmarks/targets.py --data PATH --targets ndcg@5 map mrr@10 err@20

Section 4.1 of the report: to optimise another measure, replace the swap delta by that
measure's.  Section 2: without one, RankNet, on a network or on boosted trees, learns
to make few pairwise errors.  So trees and a linear network are trained for each
measure, and for pairs alone; the tables say how good each model is by each measure.

PATH and the folds are those of `quality.py`.  Nothing is searched for: every model has
the settings below, and is stopped by the validation part, judged by the measure that
it is trained for.  Values are means over seeds, then over the test queries that have a
relevant document.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import sklearn
from quality import Part, fit_network, has_relevant, load, training_part
from scipy.stats import sem

import peers
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
    """Share of the pairs of different grade that stand in the right order."""

    def value(self, ranked_grades: np.ndarray) -> float:
        better = np.greater.outer(ranked_grades, ranked_grades)
        n_pairs = np.count_nonzero(better)
        in_order = np.count_nonzero(np.triu(better))
        return in_order / n_pairs if n_pairs else 1.0


def measure_of(target: str) -> Metric:
    return PairsInOrder() if target == PAIRS else get_metric(target)


def fit_trees(target: str, train: Part, validation: Part, seed: int):
    ranker = LambdaMARTRanker(
        metric=None if target == PAIRS else target,
        scoring=measure_of(target),
        random_state=seed,
        n_jobs=peers.THREADS,
        **TREES,
    )
    return ranker.fit(
        train.X,
        train.y,
        groups=train.groups,
        X_val=validation.X,
        y_val=validation.y,
        groups_val=validation.groups,
    )


def fit_linear(target: str, train: Part, validation: Part, seed: int):
    if target == PAIRS:
        name, own = "RankNet linear", {}
    else:
        name, own = "LambdaRank linear", {"metric": target}
    settings = {**NETWORK, **own, "scoring": measure_of(target)}
    return fit_network(name, settings, train, validation, seed)


LEARNERS = {"LambdaMART": fit_trees, "LambdaRank, linear": fit_linear}


def values_of(
    learner: str, target: str, parts: list[Part], targets: list[str], seeds: range
) -> np.ndarray:
    """By each measure, (n_targets, n_queries): one learner, trained for one target."""
    folds = []
    for test, part in enumerate(parts):
        train, validation = training_part(parts, test), parts[(test + 4) % 5]
        of_seeds = []
        for seed in seeds:
            model = LEARNERS[learner](target, train, validation, seed)
            scores = model.predict(part.X)
            of_seeds.append(
                [
                    measure_of(measure).per_query(part.y, scores, groups=part.groups)
                    for measure in targets
                ]
            )
        folds.append(np.mean(of_seeds, axis=0))
    return np.concatenate(folds, axis=1)


def print_table(targets: list[str], values: np.ndarray) -> None:
    """Print means of `values`, (trained for, measured by, query)."""
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
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--targets", nargs="+", default=TARGETS, metavar="METRIC")
    parser.add_argument("--learners", nargs="+", default=LEARNERS, choices=LEARNERS)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()

    sklearn.set_config(enable_metadata_routing=True)
    print(peers.machine())
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
        print(f"\n{learner}, {seconds:.0f} s; * best by this measure")
        print_table(targets, np.array(values)[:, :, relevant])


if __name__ == "__main__":
    main()
