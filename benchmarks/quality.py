"""Quality on real queries: five folds, everything chosen on the validation part.

    python benchmarks/quality.py --data PATH
    python benchmarks/quality.py --data PATH --libraries "RankNet linear" --seeds 5

PATH is an .npz file with ``X``, ``y``, ``qid`` and the part, 1 to 5, that each row
belongs to: ``s`` (LETOR 4.0) or ``testfold`` (LETOR 2.0).  The fold whose test part is
t trains on parts t+1, t+2, t+3 and chooses on part t+4, counted in a circle: the rule
of both collections.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from dataclasses import asdict
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
# as the evaluation script of LETOR 4.0 counts
LETOR_MEASURES = {
    f"LETOR NDCG@{k}": NDCG(k, discount="letor", short_lists="zero") for k in (1, 5)
}
CHOSEN_BY = "NDCG@10"

# trees
LEAVES = (4, 8, 16, 31)
MIN_SAMPLES_LEAF = (5, 20, 50)
STRIDE = 10  # trees between two looks at the validation part

# networks
HIDDEN = {"hidden_layer_sizes": (16,), "activation": "tanh"}
LINEAR = {"hidden_layer_sizes": ()}
NETWORKS = {
    "RankNet": partial(RankNetRanker, **HIDDEN),
    "LambdaRank": partial(LambdaRankRanker, **HIDDEN),
    "RankNet linear": partial(RankNetRanker, **LINEAR),
    "LambdaRank linear": partial(LambdaRankRanker, **LINEAR),
}
#: trees that are added to the first seed of "LambdaRank linear", chosen before them
ON_LAMBDARANK = f"{OURS} on LambdaRank"
ALPHAS = (0.01, 0.1, 1.0, 10.0, 100.0)
STEP_SIZES = (0.001, 0.003)
EPOCHS, PATIENCE = 100, 20

THREADS = 1  # figures, not seconds: leave a core for another collection

# RankLib 2.1's RankNet on the five folds of MQ2008, by a third party: the evaluation
# stored in the repository JasonWyse/letor40, in the measures of LETOR 4.0
PUBLISHED = {
    "mq2008.npz": {"LETOR NDCG@1": 0.3410, "LETOR NDCG@5": 0.4500, "MAP": 0.4522}
}


class Part(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


def load(path: Path) -> list[Part]:
    """The five parts, queries numbered in the order of the rows."""
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
    """Parts test + 1, + 2 and + 3 in a circle, as one."""
    three = [parts[(test + step) % 5] for step in (1, 2, 3)]
    n_queries = np.cumsum([0] + [part.groups[-1] + 1 for part in three])
    groups = [part.groups + n for part, n in zip(three, n_queries[:3], strict=True)]
    return Part(
        np.concatenate([part.X for part in three]),
        np.concatenate([part.y for part in three]),
        np.concatenate(groups),
    )


def choose_trees(fit, train: Part, validation: Part, trees: int, seed: int):
    """Fit the whole grid; return what did best on the validation part.

    That is: its validation score, how to score documents with it, and its settings.
    """
    metric = MEASURES[CHOSEN_BY]
    stops = range(STRIDE, trees + 1, STRIDE)
    best = None
    for leaves, smallest in itertools.product(LEAVES, MIN_SAMPLES_LEAF):
        settings = Settings(trees, 0.05, leaves, smallest, seed, THREADS)
        scores_after = fit(*train, settings)
        for stop, scores in zip(stops, scores_after(validation.X, stops), strict=True):
            value = metric(validation.y, scores, groups=validation.groups)
            if best is None or value > best[0]:
                chosen = asdict(settings) | {"trees": stop}
                best = value, partial(score_after, scores_after, stop), chosen
    return best


def score_after(scores_after, stop: int, X: np.ndarray) -> np.ndarray:
    (scores,) = scores_after(X, [stop])
    return scores


def fit_network(name: str, settings: dict, train: Part, validation: Part, seed: int):
    """Return a network behind a scaler, stopped by the validation part."""
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
    """Do the same for a network: one choice, by the mean over seeds, and all of them.

    The luck of the first weights and of the order of the queries is no setting.
    """
    best = None
    for alpha, step in itertools.product(ALPHAS, STEP_SIZES):
        settings = {"alpha": alpha, "learning_rate_init": step}
        fits = [fit_network(name, settings, train, validation, seed) for seed in seeds]
        scores = [fit[-1].validation_scores_ for fit in fits]
        value = np.mean([max(of_epochs) for of_epochs in scores])
        if best is None or value > best[0]:
            epochs = [int(np.argmax(of_epochs)) + 1 for of_epochs in scores]
            best = value, fits, settings | {"epochs": epochs}
    return best


def trees_of(name: str, train: Part, validation: Part, seed: int):
    """How a library fits trees; ours on top of a network, which is chosen here."""
    if name != ON_LAMBDARANK:
        return FITS[name]
    _, (base,), _ = choose_network("LambdaRank linear", train, validation, [seed])
    return partial(peers.fit_sklearn_ltr, init=base)


def evaluate(
    name: str, parts: list[Part], trees: int, seeds: Sequence[int]
) -> list[dict]:
    """Per-query values on the five test parts, and what was chosen for each.

    One result for each seed of a network, one for the first seed of trees.
    """
    seeds = seeds if name in NETWORKS else seeds[:1]
    measures = MEASURES | LETOR_MEASURES
    values = [{measure: [] for measure in measures} for _ in seeds]
    chosen = []
    start = time.perf_counter()
    for test, part in enumerate(parts):
        train, validation = training_part(parts, test), parts[(test + 4) % 5]
        if name in NETWORKS:
            value, fits, settings = choose_network(name, train, validation, seeds)
            score = [fit.predict for fit in fits]
        else:
            fit = trees_of(name, train, validation, seeds[0])
            value, one, settings = choose_trees(fit, train, validation, trees, seeds[0])
            score = [one]
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
    """Which test queries, in the order of `evaluate`, hold a relevant document."""
    best = [np.zeros(part.groups[-1] + 1) for part in parts]
    for part, highest in zip(parts, best, strict=True):
        np.maximum.at(highest, part.groups, part.y)
    return np.concatenate(best) > 0


def print_means(results: list[dict], relevant: np.ndarray) -> None:
    print(
        f"\n{len(relevant)} queries, {relevant.sum()} of them with a relevant document"
    )
    for title, kept in (
        ("a query with nothing relevant counts 0", np.full(len(relevant), True)),
        ("such queries are left out", relevant),
    ):
        print(f"\nMeans over queries; {title}")
        print(f"{'':26}" + "".join(f"{measure:>9}" for measure in MEASURES))
        for result in results:
            means = [np.mean(np.asarray(result["values"][m])[kept]) for m in MEASURES]
            print(f"{result['library']:26}" + "".join(f"{m:9.4f}" for m in means))
        values = results[0]["values"]
        errors = [sem(np.asarray(values[m])[kept]) for m in MEASURES]
        print(f"{'(standard error)':26}" + "".join(f"{e:9.4f}" for e in errors))


def print_spread(results: list[dict], relevant: np.ndarray, data: str) -> None:
    """Means of the networks over seeds, in LETOR's measures too."""
    print("\nNetworks: mean of all seeds (standard deviation); NDCG@10 without queries")
    print("that have nothing relevant, the others with such queries counting 0")
    columns = [*LETOR_MEASURES, "MAP", "NDCG@10"]
    print(f"{'':26}" + "".join(f"{column:>20}" for column in columns))
    for name in NETWORKS:
        mine = [result["values"] for result in results if result["library"] == name]
        if not mine:
            continue
        cells = ""
        for column in columns:
            kept = relevant if column == "NDCG@10" else np.full(len(relevant), True)
            means = [np.mean(np.asarray(values[column])[kept]) for values in mine]
            cells += f"{np.mean(means):11.4f} ({np.std(means):.4f})"
        print(f"{name:26}" + cells)
    if published := PUBLISHED.get(data):
        cells = "".join(f"{published.get(c, np.nan):11.4f}{'':9}" for c in columns)
        print(f"{'RankLib RankNet':26}" + cells)


def print_differences(results: list[dict], relevant: np.ndarray) -> None:
    """Each of ours minus each peer, query by query, over queries that are relevant."""
    names = (OURS, ON_LAMBDARANK, *NETWORKS)
    of_ours = [result for result in results if result["library"] in names]
    for ours in of_ours:
        print(
            f"\n{ours['library']} minus the peer: mean (standard error), p of a paired"
        )
        print("t test, over queries with a relevant document")
        for result in results:
            if result in of_ours:
                continue
            cells = []
            for measure in MEASURES:
                a = np.asarray(ours["values"][measure])[relevant]
                b = np.asarray(result["values"][measure])[relevant]
                p = ttest_rel(a, b).pvalue
                cells.append(
                    f"{measure} {(a - b).mean():+.4f} ({sem(a - b):.4f}) p={p:.3f}"
                )
            print(f"{result['library']:26}" + "   ".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument(
        "--trees", type=int, default=300, help="at most; the best is kept"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seeds", type=int, default=5, help="of the networks, from --seed on"
    )
    peers.add_arguments(parser, [*FITS, ON_LAMBDARANK, *NETWORKS])
    arguments = parser.parse_args()

    sklearn.set_config(enable_metadata_routing=True)
    print(peers.machine())
    parts = load(arguments.data)
    results = []
    seeds = range(arguments.seed, arguments.seed + arguments.seeds)
    for name in arguments.libraries:
        of_seeds = evaluate(name, parts, arguments.trees, seeds)
        results += [{"data": arguments.data.name, **result} for result in of_seeds]
        print(f"{name}: {of_seeds[0]['seconds']:.0f} s", flush=True)
    relevant = has_relevant(parts)
    of_one_seed = [result for result in results if result["seed"] == arguments.seed]
    print_means(of_one_seed, relevant)
    print_differences(of_one_seed, relevant)
    if set(NETWORKS) & set(arguments.libraries):
        print_spread(results, relevant, arguments.data.name)
    peers.append_json(arguments.json, results)


if __name__ == "__main__":
    main()
