"""Effect of each departure from Burges (2010) and of each option on NDCG@10.

    python benchmarks/variants.py --data PATH
    python benchmarks/variants.py            # Python's own documentation

Printed is NDCG@10 of variants of LambdaMARTRanker on held-out queries, the mean over 7
and 31 leaves, 20 and 100 rows per leaf, 50 to 300 trees (learning rate 0.05) and three
seeds, as in `quality.py`. No setting is selected, so the differences vary less than
those of best settings. Queries without a relevant document are left out.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np
from quality import LEAVES, MIN_SAMPLES_LEAF, STOPS, Part, load, training_part
from scipy.stats import sem

import peers
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import load_python_docs
from sklearn_ltr.metrics import NDCG

METRIC = NDCG(10, no_relevant="skip")
SEEDS = (0, 1, 2)
PAIRS_ALONE = {"subsample": 1.0, "regression_weight": 0.0}
REPORT = {
    **PAIRS_ALONE,
    "grow_policy": "best_first",
    "split_gain": "least_squares",
    "truncation_level": None,
    "normalize_lambdas": False,
}
VARIANTS = {
    "defaults": {},
    "as in Burges (2010)": REPORT,
    "best-first trees": {"grow_policy": "best_first"},
    "least-squares splits": {"split_gain": "least_squares"},
    "truncation_level=None": {"truncation_level": None},
    "truncation_level=100": {"truncation_level": 100},
    "no distance normalization": {"normalize_lambdas": "query"},
    "no query normalization": {"normalize_lambdas": "distance"},
    "l2_regularization=0.1": {"l2_regularization": 0.1},
    "l2_regularization=1": {"l2_regularization": 1.0},
    "max_features=0.5": {"max_features": 0.5},
    "colsample_bytree=0.5": {"colsample_bytree": 0.5},
    "subsample=0.15": {"subsample": 0.15},
    "subsample=0.6": {"subsample": 0.6},
    "subsample=1": {"subsample": 1.0},
    "regression_weight=0": {"regression_weight": 0.0},
    "regression_weight=2": {"regression_weight": 2.0},
    "regression_weight=10": {"regression_weight": 10.0},
    "neither": PAIRS_ALONE,
}


def python_docs() -> list[Part]:
    """Return five parts of the search data of the examples."""
    docs = load_python_docs()
    query_of_row = np.unique(docs.groups, return_inverse=True)[1]
    part_of_query = np.random.default_rng(0).permutation(query_of_row.max() + 1) % 5
    parts = []
    for number in range(5):
        rows = part_of_query[query_of_row] == number
        groups = np.unique(query_of_row[rows], return_inverse=True)[1]
        parts.append(Part(docs.data[rows], docs.target[rows], groups))
    return parts


def held_out_values(train: Part, test: Part, options: dict) -> np.ndarray:
    """Return NDCG@10 of each test query, the mean over settings and seeds."""
    values = []
    for seed, leaves, smallest in itertools.product(SEEDS, LEAVES, MIN_SAMPLES_LEAF):
        ranker = LambdaMARTRanker(
            n_estimators=max(STOPS),
            learning_rate=0.05,
            max_leaf_nodes=leaves,
            min_samples_leaf=smallest,
            random_state=seed,
            n_jobs=1,
            **options,
        ).fit(train.X, train.y, groups=train.groups)
        for trees, scores in enumerate(ranker.staged_predict(test.X), start=1):
            if trees in STOPS:
                values.append(METRIC.per_query(test.y, scores, groups=test.groups))
    return np.mean(values, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), metavar="NAME")
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    print(peers.machine())
    parts = python_docs() if arguments.data is None else load(arguments.data)
    base = None
    print(f"{'':28}  NDCG@10   minus the first (standard error)")
    for name in arguments.variants:
        values = np.concatenate(
            [
                held_out_values(training_part(parts, test), part, VARIANTS[name])
                for test, part in enumerate(parts)
            ]
        )
        values = values[~np.isnan(values)]
        base = values if base is None else base
        difference = values - base
        print(
            f"{name:28}{values.mean():9.4f}{difference.mean():+11.4f} "
            f"({sem(difference):.4f})",
            flush=True,
        )
        data = "python_docs" if arguments.data is None else arguments.data.name
        record = {"data": data, "variant": name, "ndcg@10": values.tolist()}
        peers.append_json(arguments.json, [record])


if __name__ == "__main__":
    main()
