"""NDCG@10 and CPU seconds with dropped trees (DART), and with smooth paths.

    python -m benchmarks.quality.dart --data mq2008.npz ohsumed_letor2.npz websearch.npz
    python -m benchmarks.quality.dart --data websearch.npz --only path_smooth

Beside the same of LightGBM and of XGBoost. Five folds train on three parts and on the
validation part, and are tested on the fifth part. Each number of trees is a fit of its
own, since with dropped trees a model of fewer trees is no part of one of more. Printed
are, for each library, the mean NDCG@10 of the test queries without both, the difference
that each option makes, and the CPU seconds of all fits: means over numbers of trees,
settings (learning rate, leaves) and seeds, with the standard error over the queries.
The last column is the difference of the option's NDCG@10 from ours without both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.tools import peers
from benchmarks.tools.measuring import cost_of
from benchmarks.tools.paired import minus, paired
from benchmarks.tools.peers import OURS, Settings
from benchmarks.tools.queries import Part, Split, add_collections, collections, splits
from benchmarks.tools.records import append_json, machine, parser_of

STOPS = (100, 300)
SETTINGS = [(0.05, 7), (0.05, 31), (0.1, 31)]  # learning rate, leaves
RATES = [(0.1, 0.5), (0.1, 0.0), (0.03, 0.5), (0.3, 0.5)]  # of drops and of skips
SMOOTH = (1.0, 10.0, 100.0)


class Library(NamedTuple):
    train: Callable[..., Any]
    predict: Callable[[Any, np.ndarray], np.ndarray]
    dart: Callable[[float, float], dict[str, Any]]  # given rate_drop and skip_drop
    path_smooth: bool


LIBRARIES = {
    OURS: Library(
        peers.train_sklearn_ltr,
        lambda model, X: model.predict(X),
        lambda rate, skip: {"dart": {"rate_drop": rate, "skip_drop": skip}},
        path_smooth=True,
    ),
    "LightGBM": Library(
        peers.train_lightgbm,
        lambda model, X: model.predict(X, num_threads=1),
        lambda rate, skip: {
            "boosting": "dart", "drop_rate": rate, "skip_drop": skip,
        },
        path_smooth=True,
    ),
    "LightGBM, weights as XGBoost": Library(
        peers.train_lightgbm,
        lambda model, X: model.predict(X, num_threads=1),
        lambda rate, skip: {
            "boosting": "dart", "drop_rate": rate, "skip_drop": skip,
            "xgboost_dart_mode": True, "uniform_drop": True,
        },
        path_smooth=False,
    ),
    "XGBoost hist": Library(
        peers.train_xgboost,
        lambda model, X: model.inplace_predict(X),
        lambda rate, skip: {
            "booster": "dart", "rate_drop": rate, "skip_drop": skip, "verbosity": 0,
        },
        path_smooth=False,
    ),
}  # fmt: skip


def options_of(library: Library, only: str) -> dict[str, dict[str, Any]]:
    """Return the options to compare, by the name of a row; the first has none."""
    found: dict[str, dict[str, Any]] = {"": {}}
    if only != "path_smooth":
        for rate, skip in RATES:
            found[f"dart, rate {rate:g}, skip {skip:g}"] = library.dart(rate, skip)
    if only != "dart" and library.path_smooth:
        found |= {f"path_smooth={s:g}": {"path_smooth": s} for s in SMOOTH}
    return found


def measure(
    library: Library,
    options: dict[str, Any],
    of_folds: list[Split],
    arguments: argparse.Namespace,
) -> tuple[np.ndarray, float]:
    """Return NDCG@10 of each test query, and the CPU seconds of a round of folds."""
    values, seconds = [], []
    for seed in range(arguments.seeds):
        for rate, leaves in SETTINGS[: arguments.settings]:
            for stop in arguments.trees:
                chosen = Settings(stop, rate, leaves, 20, seed, n_threads=1)
                tested: list[np.ndarray] = []
                for train, test in of_folds:
                    fit = partial(library.train, *train, chosen, **options)
                    cost, model = cost_of(fit)
                    seconds.append(cost["cpu_seconds"])
                    tested.append(test.ndcg(library.predict(model, test.X)))
                values.append(np.concatenate(tested))
    return np.mean(values, axis=0), float(np.mean(seconds)) * len(of_folds)


def compare(name: str, parts: list[Part], arguments: argparse.Namespace) -> None:
    """Fit everything on one collection, and print as results come."""
    of_folds, ours = splits(parts), None
    for library_name in arguments.libraries:
        library, plain = LIBRARIES[library_name], None
        rows = options_of(library, arguments.only)
        library.train(*of_folds[0].train, Settings(2, n_threads=1))  # compiles
        for row, options in rows.items():
            values, seconds = measure(library, options, of_folds, arguments)
            plain = values if plain is None else plain
            ours = values if ours is None else ours
            line = f"{name:20} {library_name:28} {row:26} {values.mean():.4f}"
            line += f" {minus(values, plain):>17} {seconds:8.1f} s"
            print(f"{line} {minus(values, ours):>17}", flush=True)
            record = {
                "data": name,
                "library": library_name,
                "option": row,
                "trees": list(arguments.trees),
                "settings": SETTINGS[: arguments.settings],
                "seeds": arguments.seeds,
                "ndcg@10": float(values.mean()),
                "difference": paired(values, plain),
                "minus ours": paired(values, ours),
                "cpu_seconds": seconds,
            }
            append_json(arguments.json, [record])


def main() -> None:
    parser = parser_of(__doc__)
    add_collections(parser)
    parser.add_argument("--trees", type=int, nargs="+", default=STOPS)
    parser.add_argument("--settings", type=int, default=len(SETTINGS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", choices=("dart", "path_smooth", ""), default="")
    peers.add_libraries(parser, tuple(LIBRARIES))
    arguments = parser.parse_args()
    print(machine())
    for name, parts in collections(arguments).items():
        compare(name, parts, arguments)


if __name__ == "__main__":
    main()
