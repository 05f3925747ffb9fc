"""Quality on real queries: five folds, everything chosen on the validation part.

    python benchmarks/quality.py --data PATH

PATH is an .npz file with ``X``, ``y``, ``qid`` and the part, 1 to 5, that each row
belongs to: ``s`` (LETOR 4.0) or ``testfold`` (LETOR 2.0).  The fold whose test part is
t trains on parts t+1, t+2, t+3 and chooses on part t+4, counted in a circle: the rule
of both collections.
"""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import sem, ttest_rel

import peers
from peers import FITS, OURS, Settings
from sklearn_ltr.metrics import MAP, NDCG

MEASURES = {"NDCG@1": NDCG(1), "NDCG@5": NDCG(5), "NDCG@10": NDCG(10), "MAP": MAP()}
CHOSEN_BY = "NDCG@10"
LEAVES = (4, 8, 16, 31)
MIN_SAMPLES_LEAF = (5, 20, 50)
STRIDE = 10  # trees between two looks at the validation part


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


def choose(name: str, train: Part, validation: Part, trees: int, seed: int):
    """Fit the whole grid; return what did best on the validation part."""
    metric = MEASURES[CHOSEN_BY]
    stops = range(STRIDE, trees + 1, STRIDE)
    best = None
    for leaves, smallest in itertools.product(LEAVES, MIN_SAMPLES_LEAF):
        settings = Settings(trees, 0.05, leaves, smallest, seed)
        scores_after = FITS[name](*train, settings)
        for stop, scores in zip(stops, scores_after(validation.X, stops), strict=True):
            value = metric(validation.y, scores, groups=validation.groups)
            if best is None or value > best[0]:
                best = value, settings, stop, scores_after
    return best


def evaluate(name: str, parts: list[Part], trees: int, seed: int) -> dict:
    """Per-query values on the five test parts, and what was chosen for each."""
    values = {measure: [] for measure in MEASURES}
    chosen = []
    start = time.perf_counter()
    for test, part in enumerate(parts):
        train, validation = training_part(parts, test), parts[(test + 4) % 5]
        value, settings, stop, scores_after = choose(
            name, train, validation, trees, seed
        )
        (scores,) = scores_after(part.X, [stop])
        for measure, metric in MEASURES.items():
            values[measure].extend(metric.per_query(part.y, scores, groups=part.groups))
        chosen.append(asdict(settings) | {"trees": stop, "validation": float(value)})
    return {
        "library": name,
        "seconds": time.perf_counter() - start,
        "chosen": chosen,
        "values": {measure: list(map(float, v)) for measure, v in values.items()},
    }


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
        print(f"{'':22}" + "".join(f"{measure:>9}" for measure in MEASURES))
        for result in results:
            means = [np.asarray(v)[kept].mean() for v in result["values"].values()]
            print(f"{result['library']:22}" + "".join(f"{m:9.4f}" for m in means))
        errors = [sem(np.asarray(v)[kept]) for v in results[0]["values"].values()]
        print(f"{'(standard error)':22}" + "".join(f"{e:9.4f}" for e in errors))


def print_differences(results: list[dict], relevant: np.ndarray) -> None:
    """Ours minus each peer, query by query, over queries with a relevant document."""
    (ours,) = (result for result in results if result["library"] == OURS)
    print("\nOurs minus the peer: mean (standard error), p of a paired t test")
    for result in results:
        if result is ours:
            continue
        cells = []
        for measure in MEASURES:
            a = np.asarray(ours["values"][measure])[relevant]
            b = np.asarray(result["values"][measure])[relevant]
            p = ttest_rel(a, b).pvalue
            cells.append(
                f"{measure} {(a - b).mean():+.4f} ({sem(a - b):.4f}) p={p:.3f}"
            )
        print(f"{result['library']:22}" + "   ".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument(
        "--trees", type=int, default=300, help="at most; the best is kept"
    )
    parser.add_argument("--seed", type=int, default=0)
    peers.add_arguments(parser)
    arguments = parser.parse_args()

    peers.THREADS = 1  # figures, not seconds: leave a core for another collection
    print(peers.machine())
    parts = load(arguments.data)
    results = []
    for name in arguments.libraries:
        result = evaluate(name, parts, arguments.trees, arguments.seed)
        results.append({"data": arguments.data.name, **result})
        print(f"{name}: {result['seconds']:.0f} s")
    print_means(results, has_relevant(parts))
    if OURS in arguments.libraries:
        print_differences(results, has_relevant(parts))
    peers.append_json(arguments.json, results)


if __name__ == "__main__":
    main()
