"""NDCG@10 of RankerSearch after more and more candidates.

    python benchmarks/budget.py --data PATH --json results.jsonl

On each of the five folds of a collection (see quality.py for PATH and the folds) a
search is fitted to four parts and ranks the fifth. It tries a number of candidates, not
a number of seconds, so that a busy machine changes nothing. Beside it stand its first
candidate alone, which is LambdaMARTRanker with its defaults, and BlendedRanker(), which
searches nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import sklearn
from quality import MEASURES, Part, has_relevant, load
from scipy.stats import sem

import peers
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BlendedRanker
from sklearn_ltr.model_selection import RankerSearch

METRIC = MEASURES["NDCG@10"]
DEFAULTS, BLENDED = "LambdaMARTRanker()", "BlendedRanker()"


def made_parts(n_queries: int) -> list[Part]:
    """Return five parts of made data, for a quick run of this script."""
    parts = []
    for seed in range(5):
        data = make_ranking(n_queries, random_state=seed)
        parts.append(Part(data.data, data.target, data.groups))
    return parts


def without(parts: list[Part], test: int) -> Part:
    """Concatenate all parts except one."""
    others = [parts[(test + step) % 5] for step in (1, 2, 3, 4)]
    offsets = np.cumsum([0] + [part.groups[-1] + 1 for part in others])
    groups = [part.groups + n for part, n in zip(others, offsets[:-1], strict=True)]
    return Part(
        np.concatenate([part.X for part in others]),
        np.concatenate([part.y for part in others]),
        np.concatenate(groups),
    )


def scores_of_search(
    n_candidates: int, train: Part, X: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """Return scores by the best candidate, and by the model, which may be a blend."""
    search = RankerSearch(time=None, n_iter=n_candidates, random_state=seed)
    search.fit(train.X, train.y, groups=train.groups)
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
    for test, part in enumerate(parts):
        train = without(parts, test)
        given = {"X": train.X, "y": train.y, "groups": train.groups}
        scores = {
            DEFAULTS: LambdaMARTRanker(random_state=seed).fit(**given).predict(part.X),
            BLENDED: BlendedRanker(random_state=seed).fit(**given).predict(part.X),
        }
        for n_candidates in counts:
            scores |= scores_of_search(n_candidates, train, part.X, seed)
        for name, of_name in scores.items():
            of_queries = METRIC.per_query(part.y, of_name, groups=part.groups)
            values.setdefault(name, []).append(of_queries)
        print(f"fold {test}, seed {seed}: done", flush=True)
    return {name: np.concatenate(of_folds) for name, of_folds in values.items()}


def print_differences(values: dict[str, np.ndarray]) -> None:
    print(f"{'':20}{'NDCG@10':>9}   minus {DEFAULTS} (paired standard error)")
    for name, of_queries in values.items():
        difference = of_queries - values[DEFAULTS]
        print(
            f"{name:20}{of_queries.mean():9.4f}   {difference.mean():+.4f} "
            f"({sem(difference):.4f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--made", type=int, help="queries of made data, without --data")
    parser.add_argument("--candidates", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--seeds", type=int, default=1)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    sklearn.set_config(enable_metadata_routing=True)
    print(peers.machine())
    made = arguments.data is None
    parts = made_parts(arguments.made) if made else load(arguments.data)
    name = "made" if made else arguments.data.name
    relevant = has_relevant(parts)
    of_seeds = [
        measure(parts, arguments.candidates, seed) for seed in range(arguments.seeds)
    ]
    values = {
        model: np.mean([of_seed[model] for of_seed in of_seeds], axis=0)[relevant]
        for model in of_seeds[0]
    }
    records = [
        {"data": name, "model": model, "seeds": arguments.seeds,
         "ndcg@10": of_queries.round(5).tolist()}
        for model, of_queries in values.items()
    ]  # fmt: skip
    peers.append_json(arguments.json, records)
    print(f"\n{name}: {relevant.sum()} queries with a relevant document")
    print_differences(values)


if __name__ == "__main__":
    main()
