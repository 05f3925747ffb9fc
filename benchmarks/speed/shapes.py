"""Time and quality of a fit for tables of many shapes, one row each.

    python -m benchmarks.speed.shapes
    python -m benchmarks.speed.shapes --shapes lists-of-3 mq2008 --threads 1

Short lists, small tables, few columns: the shapes of shops, feeds and first
experiments, where `fit.py` has long lists in large tables.  Each fit is measured as in
`fit.py`, and the libraries take turns.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import NamedTuple

import numpy as np

from benchmarks.tools import peers
from benchmarks.tools.fits import measure_in_turns, seconds_and_fastest
from benchmarks.tools.peers import OURS, Settings
from benchmarks.tools.queries import Part, divided, made
from benchmarks.tools.records import append_runs, machine, parser_of

N_HELD_OUT_DOCUMENTS = 40_000
N_CATEGORIES = 100
LIBRARIES = (OURS, "LightGBM", "LightGBM quantized", "XGBoost hist")


class Shape(NamedTuple):
    """Training data: lists have `n_documents` on average.

    The last `n_categorical` columns hold categories, N_CATEGORIES in each.  If
    `validated`, NDCG@10 of the held-out queries is measured after each tree.
    """

    n_queries: int
    n_documents: int
    n_features: int
    n_estimators: int
    n_categorical: int = 0
    validated: bool = False

    @property
    def categorical(self) -> list[int]:
        return list(range(self.n_features - self.n_categorical, self.n_features))


SHAPES = {
    "tiny": Shape(2_000, 10, 10, 100),
    "lists-of-3": Shape(100_000, 3, 20, 100),
    "lists-of-8": Shape(50_000, 8, 30, 100),
    "mq2008": Shape(500, 20, 46, 200),
    "lists-of-40": Shape(1_500, 40, 23, 150),
    "categories": Shape(1_500, 40, 23, 150, n_categorical=3),
    "validated-40": Shape(1_500, 40, 23, 150, validated=True),
    "validated-8": Shape(20_000, 8, 30, 100, validated=True),
    "narrow": Shape(1_500, 122, 23, 100),
    # LightGBM takes lists of up to 10,000 documents
    "few-queries": Shape(30, 3_000, 30, 100),
    "long-lists": Shape(200, 1_000, 50, 100),
    "many-columns": Shape(2_000, 40, 300, 100),
}


def made_parts(shape: Shape) -> tuple[Part, Part]:
    """Return the training queries and the held-out queries of a shape."""
    n_held_out = max(20, N_HELD_OUT_DOCUMENTS // shape.n_documents)
    every = made(
        shape.n_queries + n_held_out,
        n_documents=shape.n_documents,
        n_features=shape.n_features,
        n_informative=shape.n_features // 2,
        heavy_tails=0.3,
        integers=0.3,
        random_state=0,
        dtype="float32",
    )
    for column in shape.categorical:
        # equally frequent categories, whose numbers have nothing to do with their order
        values = every.X[:, column]
        inner = np.linspace(0, 1, N_CATEGORIES + 1)[1:-1]
        codes = np.searchsorted(np.quantile(values, inner), values)
        renumbered = np.random.default_rng(column).permutation(N_CATEGORIES)
        every.X[:, column] = renumbered[codes]
    return divided(every, shape.n_queries)


def print_row(name: str, shape: Shape, runs: dict[str, list[dict]]) -> None:
    """Print the median seconds of each library, the ratio, and NDCG@10."""
    seconds, fastest = seconds_and_fastest(runs)
    rows = f"{shape.n_queries:,} x {shape.n_documents} x {shape.n_features}"
    line = f"{name:14}{rows:>22}"
    line += "".join(f"{seconds.get(library, np.nan):20.2f}" for library in LIBRARIES)
    if OURS in seconds and fastest is not None:
        line += f"{seconds[fastest] / seconds[OURS]:8.2f} times"
        quality = [runs[library][0]["ndcg@10"] for library in (OURS, fastest)]
        line += "   NDCG@10 {:.4f}, {:.4f}".format(*quality)
    print(line, flush=True)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=peers.THREADS)
    peers.add_libraries(parser, LIBRARIES)
    arguments = parser.parse_args()

    print(machine())
    print(f"{arguments.threads} threads; seconds; NDCG@10: ours, the fastest peer's")
    print(f"{'':36}" + "".join(f"{name:>20}" for name in LIBRARIES))
    for name in arguments.shapes:
        shape = SHAPES[name]
        settings = Settings(shape.n_estimators, n_threads=arguments.threads)
        runs = measure_in_turns(
            arguments.libraries,
            *made_parts(shape),
            settings,
            arguments.repetitions,
            shape.categorical,
            shape.validated,
        )
        print_row(name, shape, runs)
        about = {"shape": name, **shape._asdict(), **asdict(settings)}
        append_runs(arguments.json, about, runs)


if __name__ == "__main__":
    main()
