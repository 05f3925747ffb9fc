"""NDCG@10 against the number of training queries, with and without parts of defaults.

    python -m benchmarks.quality.learning_curves --data websearch.npz \
        --sizes 100 300 1200
    python -m benchmarks.quality.learning_curves --made 120 --sizes 100 300 1000 2000
    python -m benchmarks.quality.learning_curves --from-json results.jsonl \
        --picture curves.png
    (docs/images/learning_curves.png: with --before 2026-11-26)

Of a real collection, each of the five folds trains on that many queries, drawn anew for
each seed from those of four parts without the test part's neighbour; made data are like
those of `fit.py`, with lists of the given mean length and 1,500 test queries. Every
library and variant is fitted on the same queries, and its NDCG@10 on the test queries
is taken after several numbers of trees. What is printed is the mean of the defaults,
and the differences from it: means over seeds and settings, with the standard error over
queries (for made data over queries and seeds, each of which has new data).
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import sem

from benchmarks.tools import peers
from benchmarks.tools.paired import with_error
from benchmarks.tools.peers import FITS, OURS, Fit, Settings
from benchmarks.tools.queries import (
    Part,
    Split,
    divided,
    folds,
    load,
    made_like_mslr,
)
from benchmarks.tools.records import append_json, machine, parser_of, read_json
from sklearn_ltr.plotting._colors import LINES, MARKERS

STOPS = (25, 50, 100, 200, 400)
# learning rate, leaves and smallest leaves
REAL_SETTINGS = [(0.05, 7, 20), (0.05, 31, 20), (0.05, 31, 100)]
MADE_SETTINGS = [(0.1, 31, 20)]
MADE_TEST_QUERIES = 1500
N_PANELS = 3  # of the picture, beside each other
LETTERS = "●■▲◆▼"  # what the markers of up to five sizes look like
PARTS = {
    'grow_policy="best_first"': {"grow_policy": "best_first"},
    'grow_policy="symmetric"': {"grow_policy": "symmetric"},
    "regression_weight=0": {"regression_weight": 0.0},
    "regression_weight=5": {"regression_weight": 5.0},
    "subsample=1": {"subsample": 1.0},
    "normalize_lambdas=False": {"normalize_lambdas": False},
    'normalize_lambdas="query"': {"normalize_lambdas": "query"},
    "truncation_level=None": {"truncation_level": None},
}
PEERS = ("LightGBM", "XGBoost hist", "CatBoost symmetric")
LIBRARIES: dict[str, Fit] = {
    OURS: peers.fit_sklearn_ltr,
    **{
        name: partial(peers.fit_sklearn_ltr, **options)
        for name, options in PARTS.items()
    },
    peers.BLENDED: peers.fit_sklearn_ltr_blended,
    **{name: FITS[name] for name in PEERS},
}


def real_splits(parts: list[Part], n_queries: int, seed: int) -> list[Split]:
    """Return the five folds, each with so many training queries."""
    rng, splits = np.random.default_rng(seed), []
    for train, _, test in folds(parts):
        drawn = rng.permutation(train.n_queries)[:n_queries]
        splits.append(Split(train.of_queries(drawn), test))
    return splits


def made_splits(n_documents: float, n_queries: int, seed: int) -> list[Split]:
    """Return one split of new data in the shape of MSLR-WEB."""
    n_made = n_queries + MADE_TEST_QUERIES
    every = made_like_mslr(n_made, 10 + seed, n_documents=n_documents)
    return [Split(*divided(every, n_queries))]


def values_of(
    fit: Fit, splits: list[Split], settings: list, stops: list[int], seed: int
) -> np.ndarray:
    """Return NDCG@10 of the test queries after each stop: (n_stops, n_queries)."""
    of_settings = []
    for rate, leaves, smallest in settings:
        chosen = Settings(max(stops), rate, leaves, smallest, seed, n_threads=1)
        of_splits = []
        for train, test in splits:
            scores_after = fit(*train, chosen)
            of_splits.append([test.ndcg(s) for s in scores_after(test.X, stops)])
        of_settings.append(np.concatenate(of_splits, axis=1))
    return np.mean(of_settings, axis=0)


def measure(arguments: argparse.Namespace) -> list[dict]:
    """Fit all libraries at all sizes, print as results come, and return them."""
    is_made = arguments.data is None
    parts = [] if is_made else load(arguments.data)
    settings = MADE_SETTINGS if is_made else REAL_SETTINGS
    name = f"made, {arguments.made:g} a query" if is_made else arguments.data.name
    records, stops = [], sorted(arguments.trees)
    for n_queries in arguments.sizes:
        of_library: dict[str, list[np.ndarray]] = {n: [] for n in arguments.libraries}
        n_documents = []
        for seed in range(arguments.seeds):
            splits = (
                made_splits(arguments.made, n_queries, seed)
                if is_made
                else real_splits(parts, n_queries, seed)
            )
            n_documents += [len(split.train.y) for split in splits]
            for library, values in of_library.items():
                fit = LIBRARIES[library]
                values.append(values_of(fit, splits, settings, stops, seed))
        print(f"\n{name}: {n_queries} queries, {np.mean(n_documents):,.0f} documents")
        of_size = [
            {
                "data": name,
                "n_queries": n_queries,
                "n_documents": float(np.mean(n_documents)),
                "seeds": arguments.seeds,
                "trees": stops,
                "library": library,
                **compared(values, of_library[OURS], is_made),
            }
            for library, values in of_library.items()
        ]
        print_table(of_size)
        append_json(arguments.json, of_size)
        records += of_size
    return records


def compared(values: list, defaults: list, is_made: bool) -> dict[str, list[float]]:
    """Return means after each stop, and differences from the defaults with errors."""
    # queries of made data differ between seeds, those of a collection do not
    join = partial(np.concatenate, axis=1) if is_made else partial(np.mean, axis=0)
    own, difference = join(values), join(values) - join(defaults)
    over_stops = difference.mean(axis=0)
    return {
        "ndcg@10": own.mean(axis=1).tolist(),
        "difference": [*difference.mean(axis=1).tolist(), float(over_stops.mean())],
        "error": [*sem(difference, axis=1).tolist(), float(sem(over_stops))],
    }


def print_table(records: list[dict]) -> None:
    stops = "".join(f"{f'{stop} trees':>17}" for stop in records[0]["trees"])
    print(f"{'':26}{stops}{'mean':>17}")
    for record in records:
        if record["library"] == OURS:
            own = [*record["ndcg@10"], np.mean(record["ndcg@10"])]
            cells = "".join(f"{value:17.4f}" for value in own)
        else:
            pairs = zip(record["difference"], record["error"], strict=True)
            cells = "".join(f"{with_error(*pair):>17}" for pair in pairs)
        print(f"{record['library']:26}{cells}", flush=True)


def draw(records: list[dict], path: Path) -> None:
    """Draw the mean over stops of each library, by the number of queries."""
    import matplotlib.pyplot as plt

    records = [r for r in records if r.get("trees", list(STOPS)) == list(STOPS)]
    collections = list(dict.fromkeys(record["data"] for record in records))
    libraries = list(
        dict.fromkeys(r["library"] for r in records if r["library"] != OURS)
    )
    n_rows = -(-len(collections) // N_PANELS)
    size = 2.4 + 2.6 * N_PANELS, n_rows * (1.2 + 0.3 * len(libraries))
    figure, all_axes = plt.subplots(
        n_rows, N_PANELS, figsize=size, layout="constrained", sharey=True, squeeze=False
    )
    for axes in all_axes.flat[len(collections) :]:
        axes.set_axis_off()
    for axes, name in zip(all_axes.flat, collections, strict=False):
        of_data = [r for r in records if r["data"] == name and r["library"] != OURS]
        sizes = sorted({record["n_queries"] for record in of_data})
        for i, n_queries in enumerate(sizes):
            points = [
                (r["difference"][-1], libraries.index(r["library"]), r["error"][-1])
                for r in of_data
                if r["n_queries"] == n_queries
            ]
            x, row, error = np.transpose(points)
            y = row + 0.7 * ((i + 0.5) / len(sizes) - 0.5)
            axes.errorbar(
                x, y, xerr=error, color=LINES[i], marker=MARKERS[i], linestyle="none"
            )
        axes.axvline(0, color="black", linewidth=0.8)
        shown = [f"{LETTERS[i]} {size:,}" for i, size in enumerate(sizes)]
        axes.set_title(f"{Path(name).stem}\n{'  '.join(shown)} queries", fontsize=10)
        axes.grid(axis="y", color="0.92")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel("NDCG@10 minus that of sklearn_ltr", fontsize=9)
    axes = all_axes[0, 0]
    axes.set_yticks(range(len(libraries)), libraries)
    axes.set_ylim(len(libraries) - 0.5, -0.5)  # the first is on top
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument(
        "--made", type=float, default=120.0, help="mean length of made lists"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--trees", type=int, nargs="+", default=STOPS)
    parser.add_argument("--from-json", type=Path, help="results to draw")
    parser.add_argument("--before", default="9", help="draw results of earlier dates")
    parser.add_argument("--picture", type=Path)
    peers.add_libraries(parser, tuple(LIBRARIES))
    arguments = parser.parse_args()
    if OURS not in arguments.libraries:
        parser.error(f"--libraries must have {OURS}, the others are compared with it")
    if arguments.from_json is not None:
        records = read_json(arguments.from_json)
        records = [r for r in records if r["date"] < arguments.before]
    else:
        print(machine())
        records = measure(arguments)
    if arguments.picture is not None:
        draw(records, arguments.picture)


if __name__ == "__main__":
    main()
