"""NDCG@10 of RankerSearch after more and more candidates.

    python -m benchmarks.quality.budget --data PATH [PATH ...] --json results.jsonl

On each of the five folds of a collection (see queries.py for PATH and the folds) a
search is fitted to four parts and ranks the fifth. It tries a number of candidates, not
a number of seconds, so that a busy machine changes nothing. Beside it stand its first
candidate alone, which is LambdaMARTRanker with its defaults, and BlendedRanker(), which
searches nothing.
"""

from __future__ import annotations

import numpy as np
import sklearn

from benchmarks.tools.paired import minus, over_seeds
from benchmarks.tools.queries import (
    Part,
    add_collections,
    collections,
    has_relevant,
    splits,
)
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.ensemble import BlendedRanker
from sklearn_ltr.model_selection import RankerSearch

DEFAULTS, BLENDED = "LambdaMARTRanker()", "BlendedRanker()"


def scores_of_search(
    n_candidates: int, train: Part, X: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """Return scores by the best candidate, and by the model, which may be a blend."""
    search = RankerSearch(time=None, n_iter=n_candidates, random_state=seed)
    train.fit(search)
    best = search.best_estimator_
    if len(search.members_) > 1:
        best = best.rankers_[0]  # the best candidate is the first member
    return {
        f"best of {n_candidates}": best.predict(X),
        f"blend of {n_candidates}": search.predict(X),
    }


def measure(parts: list[Part], counts: list[int], seed: int) -> dict[str, np.ndarray]:
    """Return NDCG@10 of every query by models that were not trained on its part."""
    values: dict[str, list[np.ndarray]] = {}
    for number, (train, test) in enumerate(splits(parts)):
        scores = {
            DEFAULTS: train.fit(LambdaMARTRanker(random_state=seed)).predict(test.X),
            BLENDED: train.fit(BlendedRanker(random_state=seed)).predict(test.X),
        }
        for n_candidates in counts:
            scores |= scores_of_search(n_candidates, train, test.X, seed)
        for name, of_name in scores.items():
            values.setdefault(name, []).append(test.ndcg(of_name))
        print(f"fold {number}, seed {seed}: done", flush=True)
    return {name: np.concatenate(of_folds) for name, of_folds in values.items()}


def print_differences(values: dict[str, np.ndarray]) -> None:
    print(f"{'':20}{'NDCG@10':>9}   minus {DEFAULTS} (paired standard error)")
    for name, of_queries in values.items():
        difference = minus(of_queries, values[DEFAULTS])
        print(f"{name:20}{of_queries.mean():9.4f}   {difference}")


def main() -> None:
    parser = parser_of(__doc__)
    add_collections(parser)
    parser.add_argument("--candidates", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    sklearn.set_config(enable_metadata_routing=True)
    print(machine())
    for name, parts in collections(arguments).items():
        relevant = has_relevant(parts)
        of_seeds = [
            measure(parts, arguments.candidates, seed)
            for seed in range(arguments.seeds)
        ]
        values = {
            model: found[relevant] for model, found in over_seeds(of_seeds).items()
        }
        records = [
            {"data": name, "model": model, "seeds": arguments.seeds,
             "ndcg@10": of_queries.round(5).tolist()}
            for model, of_queries in values.items()
        ]  # fmt: skip
        append_json(arguments.json, records)
        print(f"\n{name}: {relevant.sum()} queries with a relevant document")
        print_differences(values)


if __name__ == "__main__":
    main()
