"""Two rankers blended (section 7.1 of the report): how fast, and what it is worth.

    python benchmarks/blending.py
    python benchmarks/blending.py --data PATH

Without data: seconds of one sweep over all blends of two rankers, against the number of
documents.  With: LambdaMART, a linear LambdaRank, their blends, and LambdaMART's trees
added to the linear LambdaRank (`init`), on the official five folds of a collection (see
quality.py for PATH and the folds).  All parameters are fixed beforehand, so a ranker
learns from the validation part too; the weights of a blend are chosen by
cross-validation within these four parts.
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
from sklearn_ltr.blending import BlendedRanker, best_blend
from sklearn_ltr.metrics import NDCG

N_DOCUMENTS = 100  # of a query
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SWEPT = ("ndcg@10", "ndcg", "map", "err@10")
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
    "blend by the sweep": BlendedRanker([TREES, LINEAR]),
    "blend by LambdaRank": BlendedRanker(
        [TREES, LINEAR], method="lambdarank", random_state=0
    ),
}


def seconds_of_sweep(n: int, metric: str, repetitions: int) -> tuple[float, int]:
    """Median seconds, and the number of changes, for two rankers that are related."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    groups = np.arange(n) // N_DOCUMENTS
    common = y + rng.normal(0, 2, n)
    one, other = common + rng.normal(0, 1, (2, n))
    sweep = partial(best_blend, one, other, y, groups=groups, metric=metric)
    runs = [*in_turns({n: sweep}, repetitions)]
    seconds = [elapsed for _, elapsed, _ in runs]
    return float(np.median(seconds)), len(runs[-1][2].change_points)


def print_seconds(repetitions: int) -> None:
    print(f"Seconds of a sweep, lists of {N_DOCUMENTS} documents (changes of the mean)")
    print(f"{'':10}" + "".join(f"{n:>22,}" for n in SIZES) + f"{'slope':>8}")
    for metric in SWEPT:
        seconds_of_sweep(SIZES[0], metric, 1)  # compiles
        found = [seconds_of_sweep(n, metric, repetitions) for n in SIZES]
        cells = "".join(f"{s:10.4f} ({c:>9,})" for s, c in found)
        logs = np.log(SIZES), np.log([seconds for seconds, _ in found])
        print(f"{metric:10}" + cells + f"{np.polyfit(*logs, 1)[0]:8.2f}", flush=True)


def without(parts: list[Part], test: int) -> Part:
    """All parts but one, as one."""
    others = [parts[(test + step) % 5] for step in (1, 2, 3, 4)]
    shifts = np.cumsum([0] + [part.groups[-1] + 1 for part in others])
    groups = [part.groups + n for part, n in zip(others, shifts[:-1], strict=True)]
    return Part(
        np.concatenate([part.X for part in others]),
        np.concatenate([part.y for part in others]),
        np.concatenate(groups),
    )


def evaluate(name: str, parts: list[Part]) -> np.ndarray:
    """NDCG@10 of every query, each by the ranker that has not seen its part."""
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


def print_quality(path: Path) -> None:
    parts = load(path)
    relevant = has_relevant(parts)
    values = {name: evaluate(name, parts)[relevant] for name in RANKERS}
    print(f"\n{path.stem}: NDCG@10, {relevant.sum()} queries with a relevant document")
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
    arguments = parser.parse_args()
    sklearn.set_config(enable_metadata_routing=True)
    print(peers.machine())
    if arguments.data is None:
        print_seconds(arguments.repetitions)
    else:
        print_quality(arguments.data)


if __name__ == "__main__":
    main()
