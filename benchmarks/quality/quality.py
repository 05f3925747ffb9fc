"""Ranking quality on real queries: five folds, several seeds, with paired errors.

    python -m benchmarks.quality.quality --data PATH [PATH ...]
    python -m benchmarks.quality.quality --data PATH --libraries "RankNet linear" \
        --seeds 5

Every library is fitted with the same settings, a small grid, and several seeds. Two
comparisons are printed, of the same models:

- the mean over all settings: nothing is chosen, so that differences are not those of
  the luck of small validation parts (trees only);
- the setting that is best on the validation part, by the mean over seeds.

The metric of a query is its mean over seeds. With several collections, the differences
are also pooled over all their queries. The time of a library is the CPU time of all its
fits, in one thread, so that it can be compared while other processes run.

``queries.py`` says what PATH and the folds are.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sklearn
from scipy.stats import sem, ttest_1samp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.tools import peers
from benchmarks.tools.paired import minus
from benchmarks.tools.peers import FITS, OURS, Settings
from benchmarks.tools.queries import Fold, Part, folds, has_relevant, load
from benchmarks.tools.records import append_json, machine, parser_of, read_json
from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr.metrics import MAP, NDCG

MEASURES = {"NDCG@1": NDCG(1), "NDCG@5": NDCG(5), "NDCG@10": NDCG(10), "MAP": MAP()}
# as computed by the evaluation script of LETOR 4.0
LETOR_MEASURES = {
    f"LETOR NDCG@{k}": NDCG(k, discount="letor", short_lists="zero") for k in (1, 5)
}
ALL_MEASURES = MEASURES | LETOR_MEASURES
SELECTION_METRIC = "NDCG@10"

# trees
LEAVES = (7, 31)
MIN_SAMPLES_LEAF = (20, 100)
STOPS = (50, 100, 200, 300)
TREES = {
    peers.BAGGED: peers.fit_sklearn_ltr_bagged,
    peers.BLENDED: peers.fit_sklearn_ltr_blended,
    **FITS,
}

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

THREADS = 1

TITLES = {
    "means": "mean over all settings, queries with a relevant document",
    "chosen": "setting chosen on the validation part, the same queries",
}

# RankLib 2.1's RankNet on the five folds of MQ2008, in the measures of LETOR 4.0: the
# evaluation stored in the repository JasonWyse/letor40
PUBLISHED = {
    "mq2008.npz": {"LETOR NDCG@1": 0.3410, "LETOR NDCG@5": 0.4500, "MAP": 0.4522}
}


class Values(NamedTuple):
    """The test queries of one fold, by a library with one seed."""

    means: np.ndarray | None  # (n_measures, n_queries), mean over all settings
    chosen: np.ndarray  # the same of the chosen setting
    settings: dict  # the chosen setting
    seconds: float  # CPU time of all fits


def evaluate_trees(fits, fold: Fold, seeds: Sequence[int]) -> list[Values]:
    """Fit the whole grid; return the values of the test part for each seed."""
    train, validation, test = fold
    chosen_by, of_settings, settings_of = [], [], []
    seconds = 0.0
    for leaves, smallest in itertools.product(LEAVES, MIN_SAMPLES_LEAF):
        settings = Settings(max(STOPS), 0.05, leaves, smallest, n_threads=THREADS)
        start = time.process_time()
        models = [
            fit(*train, replace(settings, random_state=seed))
            for fit, seed in zip(fits, seeds, strict=True)
        ]
        seconds += time.process_time() - start
        metric = MEASURES[SELECTION_METRIC]
        validated = [
            [
                metric(validation.y, scores, groups=validation.groups)
                for scores in scores_after(validation.X, STOPS)
            ]
            for scores_after in models
        ]
        chosen_by.extend(np.mean(validated, axis=0))
        tested = [
            [measured(test, scores) for scores in scores_after(test.X, STOPS)]
            for scores_after in models
        ]
        of_settings.extend(zip(*tested, strict=True))
        for stop in STOPS:
            chosen = {"leaves": leaves, "min_samples_leaf": smallest, "trees": stop}
            settings_of.append(chosen)
    best = int(np.argmax(chosen_by))
    return [
        Values(
            means=np.mean([values[seed] for values in of_settings], axis=0),
            chosen=of_settings[best][seed],
            settings=settings_of[best] | {"validation": float(chosen_by[best])},
            seconds=seconds / len(seeds),
        )
        for seed in range(len(seeds))
    ]


def measured(test: Part, scores: np.ndarray) -> np.ndarray:
    """Return all measures of the test queries, (n_measures, n_queries)."""
    return np.array([test.values(metric, scores) for metric in ALL_MEASURES.values()])


def fit_network(name: str, settings: dict, fold: Fold, seed: int):
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
    return fold.train.fit(pipeline, **fold.validation.as_validation())


def evaluate_networks(name: str, fold: Fold, seeds: Sequence[int]) -> list[Values]:
    """Select a network by the validation part; nothing is averaged over settings."""
    start = time.process_time()
    best, fits, chosen = choose_network(name, fold, seeds)
    seconds = (time.process_time() - start) / len(seeds)
    return [
        Values(
            None, measured(fold.test, fit.predict(fold.test.X)), chosen | best, seconds
        )
        for fit in fits
    ]


def choose_network(name: str, fold: Fold, seeds: Sequence[int]):
    """Return the validation score of the best setting, its pipelines, and itself."""
    best = None
    for alpha, step in itertools.product(ALPHAS, STEP_SIZES):
        settings = {"alpha": alpha, "learning_rate_init": step}
        fits = [fit_network(name, settings, fold, seed) for seed in seeds]
        scores = [fit[-1].validation_score_ for fit in fits]
        value = float(np.mean([max(of_epochs) for of_epochs in scores]))
        if best is None or value > best[0]["validation"]:
            epochs = [int(np.argmax(of_epochs)) + 1 for of_epochs in scores]
            best = {"validation": value}, fits, settings | {"epochs": epochs}
    return best


def evaluate_fold(name: str, fold: Fold, seeds: Sequence[int]) -> list[Values]:
    """Return the values of a library for each seed."""
    if name in NETWORKS:
        return evaluate_networks(name, fold, seeds)
    if name == ON_LAMBDARANK:
        _, bases, _ = choose_network("LambdaRank linear", fold, seeds)
        fits = [partial(peers.fit_sklearn_ltr, init=base) for base in bases]
    else:
        fits = [TREES[name]] * len(seeds)
    return evaluate_trees(fits, fold, seeds)


def evaluate(name: str, parts: list[Part], seeds: Sequence[int]) -> list[dict]:
    """Return, for each seed, values per query of the five test parts and settings."""
    of_folds = [evaluate_fold(name, fold, seeds) for fold in folds(parts)]
    return [
        {
            "library": name,
            "seed": seed,
            "seconds": sum(values.seconds for values in of_seed),
            "settings": [values.settings for values in of_seed],
            "chosen": joined([values.chosen for values in of_seed]),
            "means": joined([values.means for values in of_seed]),
        }
        for seed, of_seed in zip(seeds, zip(*of_folds, strict=True), strict=True)
    ]


def joined(of_folds: list[np.ndarray | None]) -> dict[str, np.ndarray] | None:
    """Return the values of all test queries by measure."""
    if of_folds[0] is None:
        return None
    return dict(zip(ALL_MEASURES, np.concatenate(of_folds, axis=1), strict=True))


def mean_over_seeds(results: list[dict], which: str) -> dict[str, dict]:
    """Return values per query of each library and measure, means over seeds."""
    of_library: dict[str, list[dict]] = {}
    for result in results:
        if result[which] is not None:
            of_library.setdefault(result["library"], []).append(result[which])
    return {
        name: {m: np.mean([values[m] for values in seeds], axis=0) for m in seeds[0]}
        for name, seeds in of_library.items()
    }


def print_means(means: dict, kept: np.ndarray, title: str) -> None:
    print(f"\n{title}")
    print(f"{'':26}" + "".join(f"{measure:>9}" for measure in MEASURES))
    for name, values in means.items():
        cells = "".join(f"{values[m][kept].mean():9.4f}" for m in MEASURES)
        print(f"{name:26}{cells}")
    values = next(iter(means.values()))
    errors = "".join(f"{sem(values[m][kept]):9.4f}" for m in MEASURES)
    print(f"{'(standard error)':26}{errors}")


def print_differences(means: dict, relevant: np.ndarray, title: str) -> None:
    """Print NDCG@10 of each of our rankers minus that of each peer, over queries."""
    ours = [name for name in means if name.startswith(OURS)]
    others = [name for name in means if name not in (*ours, *NETWORKS)]
    if not (ours and others):
        return
    print(f"\n{title}: NDCG@10 minus the peer's (standard error), p of a paired t test")
    print(f"{'':26}" + "".join(f"{name:>30}" for name in ours))
    for peer in others:
        cells = ""
        for name in ours:
            difference = (means[name]["NDCG@10"] - means[peer]["NDCG@10"])[relevant]
            p = ttest_1samp(difference, 0).pvalue
            cells += f"{f'{minus(difference, 0)} p={p:.4f}':>30}"
        print(f"{peer:26}{cells}")


def print_seconds(results: list[dict]) -> None:
    print("\nCPU seconds of all fits of a seed, one thread")
    for name in dict.fromkeys(result["library"] for result in results):
        seconds = [r["seconds"] for r in results if r["library"] == name]
        print(f"{name:26}{np.mean(seconds):9.0f}")


def print_spread(results: list[dict], relevant: np.ndarray, data: str) -> None:
    """Print means and standard deviations over seeds, also of LETOR's measures."""
    print("\nChosen setting, mean of all seeds (standard deviation); NDCG@10 without")
    print("queries that have nothing relevant, the others with such queries counting 0")
    columns = [*LETOR_MEASURES, "MAP", "NDCG@10"]
    print(f"{'':26}" + "".join(f"{column:>20}" for column in columns))
    for name in dict.fromkeys(result["library"] for result in results):
        of_seeds = [r["chosen"] for r in results if r["library"] == name]
        cells = ""
        for column in columns:
            kept = relevant if column == "NDCG@10" else np.full(len(relevant), True)
            means = [values[column][kept].mean() for values in of_seeds]
            cells += f"{np.mean(means):11.4f} ({np.std(means):.4f})"
        print(f"{name:26}" + cells)
    if published := PUBLISHED.get(data):
        cells = "".join(f"{published.get(c, np.nan):11.4f}{'':9}" for c in columns)
        print(f"{'RankLib RankNet':26}" + cells)


def print_collection(results: list[dict], relevant: np.ndarray, data: str) -> None:
    n_relevant = relevant.sum()
    print(f"\n{data}: {len(relevant)} queries, {n_relevant} with a relevant document")
    for which, title in TITLES.items():
        if means := mean_over_seeds(results, which):
            print_means(means, relevant, title)
            print_differences(means, relevant, title)
    print_spread(results, relevant, data)
    print_seconds(results)


def print_pooled(records: list[dict]) -> None:
    """Print differences over the queries of all collections, from what is stored."""
    names = list(dict.fromkeys(record["library"] for record in records))
    collections = list(dict.fromkeys(record["data"] for record in records))
    for which, title in TITLES.items():
        means: dict[str, dict] = {}
        for name in names:
            of_collections = [
                [
                    r[f"{which} ndcg@10"]
                    for r in records
                    if (r["library"], r["data"]) == (name, data) and which in r
                ]
                for data in collections
            ]
            if all(of_collections):
                values = [np.mean(of_seeds, axis=0) for of_seeds in of_collections]
                means[name] = {"NDCG@10": np.concatenate(values)}
        print_differences(means, slice(None), f"{', '.join(collections)}, {title}")


def record(result: dict, data: str, relevant: np.ndarray) -> dict:
    """Return what is stored: NDCG@10 of queries with something relevant, and means."""
    stored = {"data": data} | {
        name: result[name] for name in ("library", "seed", "seconds", "settings")
    }
    for which in TITLES:
        if (values := result[which]) is not None:
            stored[which] = {m: float(values[m].mean()) for m in values}
            of_query = values["NDCG@10"][relevant]
            stored[f"{which} ndcg@10"] = of_query.round(4).tolist()
    return stored


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, nargs="+", default=[])
    parser.add_argument("--from-json", type=Path, help="earlier results, to be pooled")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    peers.add_libraries(parser, [*TREES, ON_LAMBDARANK, *NETWORKS])
    arguments = parser.parse_args()

    sklearn.set_config(enable_metadata_routing=True)
    print(machine())
    stored = [] if arguments.from_json is None else read_json(arguments.from_json)
    for path in arguments.data:
        parts = load(path)
        relevant = has_relevant(parts)
        results = []
        for name in arguments.libraries:
            of_seeds = evaluate(name, parts, range(arguments.seeds))
            results += of_seeds
            records = [record(result, path.name, relevant) for result in of_seeds]
            stored += records
            append_json(arguments.json, records)
            print(f"{path.name}, {name}: done", flush=True)
        print_collection(results, relevant, path.name)
    if len({record["data"] for record in stored}) > 1:
        print_pooled(stored)


if __name__ == "__main__":
    main()
