"""Ranking quality on real queries: five folds, settings chosen on the validation part.

    python benchmarks/quality.py --data PATH
    python benchmarks/quality.py --data PATH --libraries "RankNet linear" --seeds 5

Every library is fitted with several seeds. One setting is chosen for all seeds by the
mean validation score, and the metric of a query is its mean over seeds, so that the
libraries are not compared by the luck of one seed.

PATH is an .npz file with ``X``, ``y``, ``qid`` and the part, 1 to 5, that each row
belongs to: ``s`` (LETOR 4.0) or ``testfold`` (LETOR 2.0). The fold whose test part is t
has training parts t+1, t+2, t+3 and validation part t+4, modulo 5, as both collections
prescribe.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sklearn
from scipy.stats import sem, ttest_rel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import peers
from peers import FITS, OURS, Settings
from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr.metrics import MAP, NDCG

MEASURES = {"NDCG@1": NDCG(1), "NDCG@5": NDCG(5), "NDCG@10": NDCG(10), "MAP": MAP()}
# as computed by the evaluation script of LETOR 4.0
LETOR_MEASURES = {
    f"LETOR NDCG@{k}": NDCG(k, discount="letor", short_lists="zero") for k in (1, 5)
}
SELECTION_METRIC = "NDCG@10"

# trees
LEAVES = (4, 8, 16, 31)
MIN_SAMPLES_LEAF = (5, 20, 50)
STRIDE = 10  # trees between two evaluations on the validation part

# networks
HIDDEN = {"hidden_layer_sizes": (16,), "activation": "tanh"}
LINEAR = {"hidden_layer_sizes": ()}
NETWORKS = {
    "RankNet": partial(RankNetRanker, **HIDDEN),
    "LambdaRank": partial(LambdaRankRanker, **HIDDEN),
    "RankNet linear": partial(RankNetRanker, **LINEAR),
    "LambdaRank linear": partial(LambdaRankRanker, **LINEAR),
}
# trees trained with the chosen "LambdaRank linear" as `init`
ON_LAMBDARANK = f"{OURS} on LambdaRank"
ALPHAS = (0.01, 0.1, 1.0, 10.0, 100.0)
STEP_SIZES = (0.001, 0.003)
EPOCHS, PATIENCE = 100, 20

THREADS = 1  # time is not measured; two collections can run at the same time

# RankLib 2.1's RankNet on the five folds of MQ2008, in the measures of LETOR 4.0: the
# evaluation stored in the repository JasonWyse/letor40
PUBLISHED = {
    "mq2008.npz": {"LETOR NDCG@1": 0.3410, "LETOR NDCG@5": 0.4500, "MAP": 0.4522}
}


class Part(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


def load(path: Path) -> list[Part]:
    """Return the five parts; queries are numbered in the order of the rows."""
    data = np.load(path)
    part_of_row = data["s"] if "s" in data else data["testfold"]
    parts = []
    for number in range(1, 6):
        rows = part_of_row == number
        sizes = peers.query_sizes(data["qid"][rows])
        groups = np.repeat(np.arange(len(sizes)), sizes)
        X = np.ascontiguousarray(data["X"][rows])
        parts.append(Part(X, data["y"][rows].astype(np.int64), groups))
    return parts


def training_part(parts: list[Part], test: int) -> Part:
    """Concatenate parts test + 1, test + 2 and test + 3, modulo 5."""
    three = [parts[(test + step) % 5] for step in (1, 2, 3)]
    n_queries = np.cumsum([0] + [part.groups[-1] + 1 for part in three])
    groups = [part.groups + n for part, n in zip(three, n_queries[:3], strict=True)]
    return Part(
        np.concatenate([part.X for part in three]),
        np.concatenate([part.y for part in three]),
        np.concatenate(groups),
    )


def choose_trees(fits, train: Part, validation: Part, trees: int, seeds: Sequence[int]):
    """Fit the whole grid and select by the validation part.

    Returns
    -------
    float
        Validation score of the best setting, mean over seeds.
    list of callables
        For each seed, ``score(X)`` of its model.
    dict
        The setting.
    """
    metric = MEASURES[SELECTION_METRIC]
    stops = range(STRIDE, trees + 1, STRIDE)
    best = None
    for leaves, smallest in itertools.product(LEAVES, MIN_SAMPLES_LEAF):
        settings = Settings(trees, 0.05, leaves, smallest, n_threads=THREADS)
        models = [
            fit(*train, replace(settings, random_state=seed))
            for fit, seed in zip(fits, seeds, strict=True)
        ]
        values = [
            [
                metric(validation.y, scores, groups=validation.groups)
                for scores in scores_after(validation.X, stops)
            ]
            for scores_after in models
        ]
        means = np.mean(values, axis=0)
        highest = int(np.argmax(means))
        if best is None or means[highest] > best[0]:
            stop = stops[highest]
            score = [
                partial(score_after, scores_after, stop) for scores_after in models
            ]
            chosen = {"trees": stop, "leaves": leaves, "min_samples_leaf": smallest}
            best = means[highest], score, chosen
    return best


def score_after(scores_after, stop: int, X: np.ndarray) -> np.ndarray:
    (scores,) = scores_after(X, [stop])
    return scores


def fit_network(name: str, settings: dict, train: Part, validation: Part, seed: int):
    """Return a scaler and network, with early stopping on the validation part."""
    ranker = NETWORKS[name](
        **settings,
        max_iter=EPOCHS,
        n_iter_no_change=PATIENCE,
        tol=0.0,
        random_state=seed,
        n_jobs=THREADS,
    )
    pipeline = make_pipeline(StandardScaler(), ranker, transform_input=["X_val"])
    return pipeline.fit(
        train.X,
        train.y,
        groups=train.groups,
        X_val=validation.X,
        y_val=validation.y,
        groups_val=validation.groups,
    )


def choose_network(name: str, train: Part, validation: Part, seeds: Sequence[int]):
    """Select a network like `choose_trees`; return the fitted pipelines."""
    best = None
    for alpha, step in itertools.product(ALPHAS, STEP_SIZES):
        settings = {"alpha": alpha, "learning_rate_init": step}
        fits = [fit_network(name, settings, train, validation, seed) for seed in seeds]
        scores = [fit[-1].validation_score_ for fit in fits]
        value = np.mean([max(of_epochs) for of_epochs in scores])
        if best is None or value > best[0]:
            epochs = [int(np.argmax(of_epochs)) + 1 for of_epochs in scores]
            best = value, fits, settings | {"epochs": epochs}
    return best


def choose(name: str, train: Part, validation: Part, trees: int, seeds: Sequence[int]):
    """Select the best setting of any library, see `choose_trees`."""
    if name in NETWORKS:
        value, pipelines, settings = choose_network(name, train, validation, seeds)
        return value, [pipeline.predict for pipeline in pipelines], settings
    if name == ON_LAMBDARANK:
        _, bases, _ = choose_network("LambdaRank linear", train, validation, seeds)
        fits = [partial(peers.fit_sklearn_ltr, init=base) for base in bases]
    else:
        fits = [FITS[name]] * len(seeds)
    return choose_trees(fits, train, validation, trees, seeds)


def evaluate(
    name: str, parts: list[Part], trees: int, seeds: Sequence[int]
) -> list[dict]:
    """Return, for each seed, values per query of the five test parts and settings."""
    measures = MEASURES | LETOR_MEASURES
    values = [{measure: [] for measure in measures} for _ in seeds]
    chosen = []
    start = time.perf_counter()
    for test, part in enumerate(parts):
        train, validation = training_part(parts, test), parts[(test + 4) % 5]
        value, score, settings = choose(name, train, validation, trees, seeds)
        for of_seed, predict in zip(values, score, strict=True):
            scores = predict(part.X)
            for measure, metric in measures.items():
                of_query = metric.per_query(part.y, scores, groups=part.groups)
                of_seed[measure].extend(map(float, of_query))
        chosen.append(settings | {"validation": float(value)})
    seconds = time.perf_counter() - start
    shared = {"library": name, "seconds": seconds, "chosen": chosen}
    return [
        shared | {"seed": seed, "values": of_seed}
        for seed, of_seed in zip(seeds, values, strict=True)
    ]


def has_relevant(parts: list[Part]) -> np.ndarray:
    """Return which test queries have a relevant document, ordered as in `evaluate`."""
    best = [np.zeros(part.groups[-1] + 1) for part in parts]
    for part, highest in zip(parts, best, strict=True):
        np.maximum.at(highest, part.groups, part.y)
    return np.concatenate(best) > 0


def mean_over_seeds(results: list[dict]) -> dict[str, dict[str, np.ndarray]]:
    """Return values per query of each library and measure, means over seeds."""
    of_library: dict[str, list[dict]] = {}
    for result in results:
        of_library.setdefault(result["library"], []).append(result["values"])
    return {
        name: {m: np.mean([values[m] for values in seeds], axis=0) for m in seeds[0]}
        for name, seeds in of_library.items()
    }


def print_means(means: dict, relevant: np.ndarray) -> None:
    print(
        f"\n{len(relevant)} queries, {relevant.sum()} of them with a relevant document"
    )
    for title, kept in (
        ("a query with nothing relevant counts 0", np.full(len(relevant), True)),
        ("such queries are left out", relevant),
    ):
        print(f"\nMeans over queries and seeds; {title}")
        print(f"{'':26}" + "".join(f"{measure:>9}" for measure in MEASURES))
        for name, values in means.items():
            print(
                f"{name:26}"
                + "".join(f"{values[m][kept].mean():9.4f}" for m in MEASURES)
            )
        values = next(iter(means.values()))
        errors = [sem(values[m][kept]) for m in MEASURES]
        print(f"{'(standard error)':26}" + "".join(f"{e:9.4f}" for e in errors))


def print_spread(results: list[dict], relevant: np.ndarray, data: str) -> None:
    """Print means and standard deviations over seeds, also of LETOR's measures."""
    print("\nMean of all seeds (standard deviation); NDCG@10 without queries that have")
    print("nothing relevant, the others with such queries counting 0")
    columns = [*LETOR_MEASURES, "MAP", "NDCG@10"]
    print(f"{'':26}" + "".join(f"{column:>20}" for column in columns))
    for name in dict.fromkeys(result["library"] for result in results):
        of_seeds = [r["values"] for r in results if r["library"] == name]
        cells = ""
        for column in columns:
            kept = relevant if column == "NDCG@10" else np.full(len(relevant), True)
            means = [np.mean(np.asarray(values[column])[kept]) for values in of_seeds]
            cells += f"{np.mean(means):11.4f} ({np.std(means):.4f})"
        print(f"{name:26}" + cells)
    if published := PUBLISHED.get(data):
        cells = "".join(f"{published.get(c, np.nan):11.4f}{'':9}" for c in columns)
        print(f"{'RankLib RankNet':26}" + cells)


def print_differences(means: dict, relevant: np.ndarray) -> None:
    """Print differences per query between each of our rankers and each peer."""
    ours = [name for name in means if name in (OURS, ON_LAMBDARANK, *NETWORKS)]
    others = [name for name in means if name not in ours]
    for name in ours if others else []:
        print(f"\n{name} minus the peer: mean (standard error), p of a paired")
        print("t test, over queries with a relevant document")
        for peer in others:
            cells = []
            for measure in MEASURES:
                a, b = (means[of][measure][relevant] for of in (name, peer))
                p = ttest_rel(a, b).pvalue
                cells.append(
                    f"{measure} {(a - b).mean():+.4f} ({sem(a - b):.4f}) p={p:.3f}"
                )
            print(f"{peer:26}" + "   ".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument(
        "--trees", type=int, default=300, help="maximum; the best number is chosen"
    )
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    peers.add_arguments(parser, [*FITS, ON_LAMBDARANK, *NETWORKS])
    arguments = parser.parse_args()

    sklearn.set_config(enable_metadata_routing=True)
    print(peers.machine())
    parts = load(arguments.data)
    results = []
    for name in arguments.libraries:
        of_seeds = evaluate(name, parts, arguments.trees, range(arguments.seeds))
        results += of_seeds
        records = [{"data": arguments.data.name, **result} for result in of_seeds]
        peers.append_json(arguments.json, records)
        print(f"{name}: {of_seeds[0]['seconds']:.0f} s", flush=True)
    relevant, means = has_relevant(parts), mean_over_seeds(results)
    print_means(means, relevant)
    print_differences(means, relevant)
    print_spread(results, relevant, arguments.data.name)


if __name__ == "__main__":
    main()
