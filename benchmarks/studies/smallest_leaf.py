"""NDCG@10 of defaults on few queries, by the smallest number of rows of a leaf.

    python -m benchmarks.studies.smallest_leaf --data mq2008.npz --seeds 6
    python -m benchmarks.studies.smallest_leaf --made 20 --seeds 30

Models of all defaults but `min_samples_leaf` are trained on a few queries with
different grades, drawn anew for each seed and fold, and measured on the whole test
part. Made data have lists of the given mean length, and 500 test queries. "n / 5" is
a fifth of the rows, at least 1 and at most 20. Printed are the mean with
`min_samples_leaf=20`, and the differences from it, with their standard errors over the
draws.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.tools.paired import paired, with_error
from benchmarks.tools.queries import (
    NDCG_10,
    Part,
    Split,
    divided,
    folds,
    load,
    made_like_mslr,
)
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.mart import MARTRegressor

DEFAULT = 20
FIXED = (DEFAULT, 10, 5, 1)
DIVISORS = (5, 8, 10, 20, 40)
MADE_TEST_QUERIES = 500
ESTIMATORS = {"LambdaMARTRanker": LambdaMARTRanker, "MARTRegressor": MARTRegressor}


def smallest_leaves(n_rows: int) -> dict[str, int]:
    """Return the values to compare, by the name of the rule."""
    rules = {f"n / {k}": max(1, min(DEFAULT, n_rows // k)) for k in DIVISORS}
    return {str(value): value for value in FIXED} | rules


def has_pairs(part: Part) -> np.ndarray:
    """Return the queries with two different grades."""
    return np.unique(
        part.groups[part.y != part.y[np.searchsorted(part.groups, part.groups)]]
    )


def drawn(part: Part, n_queries: int, rng: np.random.Generator) -> Part:
    """Return so many of the queries with two different grades."""
    return part.of_queries(rng.permutation(has_pairs(part))[:n_queries])


def splits(arguments: argparse.Namespace, n_queries: int, seed: int) -> list[Split]:
    """Return the draws of one seed: one for each fold, or one of new data."""
    rng = np.random.default_rng([seed, n_queries])
    if arguments.data is not None:
        return [
            Split(drawn(train, n_queries, rng), test)
            for train, _, test in folds(load(arguments.data))
        ]
    n_made = 3 * n_queries + MADE_TEST_QUERIES  # some have no two grades
    options = {"n_documents": arguments.made, "dtype": "float64"}
    every = made_like_mslr(n_made, 10 + seed, **options)
    test, others = divided(every, MADE_TEST_QUERIES)
    return [Split(drawn(others, n_queries, rng), test)]


def value_of(split: Split, kind: str, smallest: int, seed: int) -> float:
    """Return the mean NDCG@10 of the test queries."""
    model = ESTIMATORS[kind](min_samples_leaf=smallest, random_state=seed, n_jobs=1)
    train, test = split
    groups = {"groups": train.groups} if kind == "LambdaMARTRanker" else {}
    scores = model.fit(train.X, train.y, **groups).predict(test.X)
    return NDCG_10(test.y, scores, groups=test.groups)


def measure(arguments: argparse.Namespace, n_queries: int, kind: str) -> list[dict]:
    """Fit with all values, and return what is printed and stored of a size."""
    values: dict[str, list[float]] = {}
    n_rows = []
    for seed in range(arguments.seeds):
        for split in splits(arguments, n_queries, seed):
            n_rows.append(len(split.train.y))
            known: dict[int, float] = {}
            for rule, smallest in smallest_leaves(n_rows[-1]).items():
                if smallest not in known:
                    known[smallest] = value_of(split, kind, smallest, seed)
                values.setdefault(rule, []).append(known[smallest])
    default = np.array(values[str(DEFAULT)])
    name = f"made, {arguments.made:g} a query"
    records = []
    for rule, own in values.items():
        difference, error = paired(own, default)
        record = {
            "data": arguments.data.name if arguments.data is not None else name,
            "estimator": kind,
            "n_queries": n_queries,
            "n_documents": float(np.mean(n_rows)),
            "seeds": arguments.seeds,
            "rule": rule,
            "ndcg@10": float(np.mean(own)),
            "difference": difference,
            "error": error,
        }
        records.append(record)
    return records


def print_line(records: list[dict]) -> None:
    first, *others = records
    pairs = [with_error(r["difference"], r["error"], 3) for r in others]
    cells = "".join(f"{pair:>16}" for pair in pairs)
    print(
        f"{first['n_queries']:7,} {first['n_documents']:9,.0f} "
        f"{first['ndcg@10']:8.4f}{cells}",
        flush=True,
    )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument(
        "--made", type=float, default=20.0, help="mean length of made lists"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 3, 5, 10, 20])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument(
        "--estimators", nargs="+", choices=ESTIMATORS, default=ESTIMATORS
    )
    arguments = parser.parse_args()
    print(machine())
    rules = "".join(f"{rule:>16}" for rule in list(smallest_leaves(0))[1:])
    for kind in arguments.estimators:
        data = "made" if arguments.data is None else arguments.data.name
        print(f"\n{data}, {kind}\nqueries documents  of {DEFAULT:2}  {rules}")
        for n_queries in arguments.sizes:
            records = measure(arguments, n_queries, kind)
            print_line(records)
            append_json(arguments.json, records)


if __name__ == "__main__":
    main()
