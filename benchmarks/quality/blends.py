"""NDCG@10 of one model, a bag, a blend and its parts, all with their defaults.

    python -m benchmarks.quality.blends --data PATH [PATH ...] --json results.jsonl

On each of the five folds of a collection (see queries.py for PATH and the folds) every
model is fitted to four parts and ranks the fifth. "Blend, StandardScaler" has the
network behind a StandardScaler in place of the TableVectorizer that BlendedRanker()
has. Other libraries grow as many trees with the learning rate, leaves and smallest leaf
of our defaults. Values of a query are means over the seeds. Seconds are CPU time of all
fits of a seed, in one thread, without compiling.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.tools.paired import minus, over_seeds
from benchmarks.tools.peers import FITS, Settings
from benchmarks.tools.queries import (
    Part,
    add_collections,
    collections,
    has_relevant,
    splits,
)
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, UnscaledFeaturesWarning
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.preprocessing import TableVectorizer

ONE, BLEND = "LambdaMARTRanker()", "BlendedRanker()"
PEERS = ("CatBoost symmetric", "XGBoost hist", "LightGBM")


def network(scaler, seed: int):
    return make_pipeline(scaler, LambdaRankRanker(random_state=seed, n_jobs=1))


def rankers(seed: int) -> dict:
    """Return our models, in one thread."""
    trees = LambdaMARTRanker(random_state=seed, n_jobs=1)
    bag = BaggingRanker(LambdaMARTRanker(n_jobs=1), 5, random_state=seed)
    former = [bag, network(StandardScaler(), seed)]
    return {
        ONE: trees,
        "its trees, BaggingRanker of five": bag,
        "its network": network(TableVectorizer(), seed),
        "blend, StandardScaler": BlendedRanker(former),
        BLEND: BlendedRanker([bag, network(TableVectorizer(), seed)]),
    }


def settings_of_defaults(seed: int) -> Settings:
    """Return the size of our defaults, for other libraries."""
    ours = LambdaMARTRanker()
    return Settings(
        ours.n_estimators, ours.learning_rate, ours.max_leaf_nodes, 20, seed, 1
    )


def measure(
    parts: list[Part], seed: int, peers: list[str]
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return NDCG@10 of every query by each model, and the seconds of its fits."""
    values: dict[str, list[np.ndarray]] = {}
    seconds: dict[str, float] = {}
    for train, test in splits(parts):
        for name, ranker in rankers(seed).items():
            start = time.process_time()
            train.fit(ranker)
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - start
            values.setdefault(name, []).append(test.ndcg(ranker.predict(test.X)))
        settings = settings_of_defaults(seed)
        for name in peers:
            start = time.process_time()
            scores_after = FITS[name](*train, settings)
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - start
            (scores,) = scores_after(test.X, [settings.n_estimators])
            values.setdefault(name, []).append(test.ndcg(scores))
    return {
        name: np.concatenate(of_folds) for name, of_folds in values.items()
    }, seconds


def main() -> None:
    parser = parser_of(__doc__)
    add_collections(parser)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    arguments = parser.parse_args()
    sklearn.set_config(enable_metadata_routing=True)
    warnings.simplefilter("ignore", UnscaledFeaturesWarning)  # of StandardScaler
    print(machine())
    for data, parts in collections(arguments).items():
        relevant = has_relevant(parts)
        measure([part.of_queries(np.arange(3)) for part in parts], 0, [])  # compile
        of_seeds = [
            measure(parts, seed, arguments.peers) for seed in range(arguments.seeds)
        ]
        values, seconds = map(over_seeds, zip(*of_seeds, strict=True))
        values = {model: of_model[relevant] for model, of_model in values.items()}
        print(f"\n{data}: {relevant.sum()} queries with a relevant document")
        print(f"{'':34}{'NDCG@10':>8}   minus {ONE}   minus {BLEND}   CPU s")
        for model, of_queries in values.items():
            differences = (minus(of_queries, values[of]) for of in (ONE, BLEND))
            cells = "".join(f"{cell:>20}" for cell in differences)
            print(f"{model:34}{of_queries.mean():8.4f}{cells}{seconds[model]:9.1f}")
        append_json(
            arguments.json,
            [
                {"data": data, "model": model, "seeds": arguments.seeds,
                 "seconds": round(float(seconds[model]), 2),
                 "ndcg@10": of_queries.round(5).tolist()}
                for model, of_queries in values.items()
            ],
        )  # fmt: skip


if __name__ == "__main__":
    main()
