"""Time and quality of blends of two rankers, section 7.1 of Burges (2010).

    python benchmarks/blending.py
    python benchmarks/blending.py --data PATH

Without data: seconds of one sweep over all blends of two rankers for a growing number
of documents. With data: NDCG@10 of LambdaMART, a linear LambdaRank, their blends, and
LambdaMART with the linear LambdaRank as `init`, on the official five folds of a
collection (see quality.py for PATH and the folds). All parameters are fixed, so
training includes the validation part; the weights of a blend are chosen by
cross-validation within the four training parts.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import sklearn
from measuring import in_turns
from quality import Part, has_relevant, load
from scipy.stats import sem
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import peers
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.ensemble import BlendedRanker, best_blend
from sklearn_ltr.metrics import NDCG

N_DOCUMENTS = 100  # of a query
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SWEEP_METRICS = ("ndcg@10", "ndcg", "map", "err@10")
METRIC = NDCG(10)

TREES = LambdaMARTRanker(
    n_estimators=150, learning_rate=0.05, max_leaf_nodes=8, random_state=0, n_jobs=1
)
LINEAR = make_pipeline(
    StandardScaler(),
    LambdaRankRanker(
        hidden_layer_sizes=(), max_iter=30, alpha=1.0, random_state=0, n_jobs=1
    ),
)
RANKERS = {
    "LambdaMART": TREES,
    "LambdaRank, linear": LINEAR,
    "LambdaMART on LambdaRank": clone(TREES).set_params(init=LINEAR),
    "blend by the sweep": BlendedRanker([TREES, LINEAR], method="sweep"),
    "blend, equal": BlendedRanker([TREES, LINEAR]),
    "blend by LambdaRank": BlendedRanker(
        [TREES, LINEAR], method="lambdarank", random_state=0
    ),
}


def seconds_of_sweep(n: int, metric: str, repetitions: int) -> tuple[float, int]:
    """Return median seconds and the number of changes, for two correlated rankers."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    groups = np.arange(n) // N_DOCUMENTS
    common = y + rng.normal(0, 2, n)
    one, other = common + rng.normal(0, 1, (2, n))
    sweep = partial(best_blend, one, other, y, groups=groups, metric=metric)
    runs = [*in_turns({n: sweep}, repetitions)]
    seconds = [elapsed for _, elapsed, _ in runs]
    return float(np.median(seconds)), len(runs[-1][2].change_points)


def print_seconds(repetitions: int, path: str | None) -> None:
    print(f"Seconds of a sweep, lists of {N_DOCUMENTS} documents (changes of the mean)")
    print(f"{'':10}" + "".join(f"{n:>22,}" for n in SIZES) + f"{'slope':>8}")
    for metric in SWEEP_METRICS:
        seconds_of_sweep(SIZES[0], metric, 1)  # warm up
        results = [seconds_of_sweep(n, metric, repetitions) for n in SIZES]
        cells = "".join(f"{s:10.4f} ({c:>9,})" for s, c in results)
        logs = np.log(SIZES), np.log([seconds for seconds, _ in results])
        print(f"{metric:10}" + cells + f"{np.polyfit(*logs, 1)[0]:8.2f}", flush=True)
        records = [
            {"metric": metric, "documents": n, "seconds": s, "changes": c}
            for n, (s, c) in zip(SIZES, results, strict=True)
        ]
        peers.append_json(path, records)


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


def evaluate(name: str, parts: list[Part]) -> np.ndarray:
    """Return NDCG@10 of every query by the ranker not trained on its part."""
    start, values, weights = time.perf_counter(), [], []
    for test, part in enumerate(parts):
        train = without(parts, test)
        ranker = clone(RANKERS[name]).fit(train.X, train.y, groups=train.groups)
        values.append(
            METRIC.per_query(part.y, ranker.predict(part.X), groups=part.groups)
        )
        weights.append(getattr(ranker, "weights_", np.ones(1)))
    seconds = time.perf_counter() - start
    of_trees = ", ".join(f"{w[0]:.3f}" for w in weights if len(w) > 1)
    print(
        f"{name}: {seconds:.0f} s; weight of LambdaMART: {of_trees or '-'}", flush=True
    )
    return np.concatenate(values)


def print_quality(data: Path, path: str | None) -> None:
    parts = load(data)
    relevant = has_relevant(parts)
    values = {name: evaluate(name, parts)[relevant] for name in RANKERS}
    records = [
        {"data": data.name, "ranker": name, "ndcg@10": of_queries.tolist()}
        for name, of_queries in values.items()
    ]
    peers.append_json(path, records)
    print(f"\n{data.stem}: NDCG@10, {relevant.sum()} queries with a relevant document")
    for name, of_queries in values.items():
        print(f"{name:26}{of_queries.mean():9.4f} ({sem(of_queries):.4f})")
    print("Differences, mean (paired standard error)")
    for a, b in combinations(reversed(RANKERS), 2):
        apart = values[a] - values[b]
        print(f"{a} - {b}: {apart.mean():+.4f} ({sem(apart):.4f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--repetitions", type=int, default=3)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    sklearn.set_config(enable_metadata_routing=True)
    print(peers.machine())
    if arguments.data is None:
        print_seconds(arguments.repetitions, arguments.json)
    else:
        print_quality(arguments.data, arguments.json)


if __name__ == "__main__":
    main()
