"""Categorical features beside LightGBM and CatBoost: quality, and seconds of a fit.

    python benchmarks/categories.py --preset a
    python benchmarks/categories.py --preset a --libraries sklearn_ltr LightGBM

Data are made by `make_ranking` with 136 columns, the last five of which are replaced by
categorical features of 10 to 10,000 values.  Values are drawn by a power law, so that
most of the many are rare, and each has an effect of its own on the grades.  Every
library gets them as categories, and once as plain numbers.  NDCG@10 is that of held-out
queries, whose rare categories may be new.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from fit import MSLR_LIKE
from measuring import in_turns

import peers
from peers import OURS, THREADS, Settings
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.metrics import NDCG

SIZES = (10, 100, 1000, 3000, 10_000)
# Training queries, held-out queries, settings
PRESETS = {
    "small": (40, 20, Settings(n_estimators=5)),
    "a": (2000, 500, Settings(n_estimators=100)),
}
GRADE_SHARES = (0.5, 0.8, 0.93, 0.98)  # quantiles where the grades 1 to 4 begin


def make_data(preset: str, seed: int):
    """Return training and held-out (X, y, groups); X is a frame with categories."""
    n_train, n_test, _ = PRESETS[preset]
    made = make_ranking(n_train + n_test, random_state=seed, **MSLR_LIKE)
    rng, n_rows = np.random.default_rng(seed), len(made.target)
    X = pd.DataFrame(made.data).add_prefix("x")
    latent = made.target + rng.normal(scale=0.3, size=n_rows)
    for name, size in zip(X.columns[-len(SIZES) :], SIZES, strict=True):
        # the k-th most frequent value has a share of about 1 / (k + 10); its number is
        # drawn
        share = 1.0 / (np.arange(size) + 10)
        codes = rng.choice(rng.permutation(size), n_rows, p=share / share.sum())
        latent += rng.normal(scale=0.5, size=size)[codes]
        X[name] = pd.Categorical.from_codes(codes, np.arange(size))
    y = np.digitize(latent, np.quantile(latent, GRADE_SHARES))
    is_train = made.groups < np.unique(made.groups)[n_train]
    parts = is_train, ~is_train
    return [(X[part], y[part], made.groups[part]) for part in parts]


def as_numbers(X: pd.DataFrame) -> np.ndarray:
    return X.astype(np.float32).to_numpy()


def fit_ours(X, y, groups, settings: Settings):
    return peers.train_sklearn_ltr(X, y, groups, settings).predict


def fit_ours_on_numbers(X, y, groups, settings: Settings):
    model = peers.train_sklearn_ltr(as_numbers(X), y, groups, settings)
    return lambda X: model.predict(as_numbers(X))


def fit_lightgbm(X, y, groups, settings: Settings):
    columns = ",".join(map(str, range(X.shape[1] - len(SIZES), X.shape[1])))
    model = peers.train_lightgbm(
        as_numbers(X), y, groups, settings, categorical_feature=columns
    )
    return lambda X: model.predict(as_numbers(X))


def fit_lightgbm_on_numbers(X, y, groups, settings: Settings):
    model = peers.train_lightgbm(as_numbers(X), y, groups, settings)
    return lambda X: model.predict(as_numbers(X))


def fit_catboost(X, y, groups, settings: Settings):
    import catboost

    names = list(X.columns[-len(SIZES) :])

    def pool(X, **more):
        integers = X.astype(dict.fromkeys(names, np.int64))
        return catboost.Pool(integers, cat_features=names, **more)

    model = catboost.CatBoost(
        {
            "loss_function": "YetiRank",
            "iterations": settings.n_estimators,
            "learning_rate": settings.learning_rate,
            "depth": round(np.log2(settings.max_leaf_nodes)),
            "thread_count": settings.n_threads,
            "random_seed": settings.random_state,
            "allow_writing_files": False,
            "verbose": False,
        }
    ).fit(pool(X, label=y, group_id=groups))
    return lambda X: model.predict(pool(X))


FITS: dict[str, Callable] = {
    OURS: fit_ours,
    "LightGBM": fit_lightgbm,
    "CatBoost symmetric": fit_catboost,
    f"{OURS}, numbers": fit_ours_on_numbers,
    "LightGBM, numbers": fit_lightgbm_on_numbers,
}


def compare(arguments: argparse.Namespace) -> list[dict]:
    """Fit every library on data of each seed; return seconds and NDCG@10."""
    settings = replace(PRESETS[arguments.preset][2], n_threads=arguments.threads)
    names = [name for name in FITS if name.split(",")[0] in arguments.libraries]
    records = []
    for seed in range(arguments.repetitions):
        train, (X_test, y_test, groups_test) = make_data(arguments.preset, seed)
        X, y, groups = train
        few = groups < np.unique(groups)[20]
        for name in names if seed == 0 else ():  # warm up
            FITS[name](X[few], y[few], groups[few], replace(settings, n_estimators=2))
        calls = {name: partial(FITS[name], *train, settings) for name in names}
        for name, seconds, predict in in_turns(calls, 1):
            ndcg = NDCG(10)(y_test, predict(X_test), groups=groups_test)
            result = {"seconds": seconds, "ndcg@10": float(ndcg)}
            records.append({"library": name, "seed": seed, **result})
    return records


def print_table(records: list[dict]) -> None:
    """Print medians of the seconds, means of NDCG@10 and of its differences to ours."""
    table = pd.DataFrame(records)
    ndcg = table.pivot(index="seed", columns="library", values="ndcg@10")
    print(f"{'':22}{'seconds':>9}{'NDCG@10':>9}{'minus ours':>20}")
    for name, rows in table.groupby("library", sort=False):
        row = f"{name:22}{rows['seconds'].median():9.2f}{rows['ndcg@10'].mean():9.4f}"
        if OURS in ndcg and name != OURS:
            difference = ndcg[name] - ndcg[OURS]
            row += f"{difference.mean():+13.4f}"
            if len(difference) > 1:
                row += f" ({difference.sem():.4f})"
        print(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", choices=PRESETS, default="small")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=THREADS)
    libraries = [name for name in FITS if "," not in name]
    peers.add_arguments(parser, libraries)
    arguments = parser.parse_args()

    print(peers.machine())
    records = compare(arguments)
    print_table(records)
    about = {"preset": arguments.preset, "threads": arguments.threads}
    peers.append_json(arguments.json, [about | record for record in records])


if __name__ == "__main__":
    main()
