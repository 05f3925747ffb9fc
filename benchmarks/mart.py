"""MARTClassifier and MARTRegressor beside scikit-learn's and LightGBM's boosting.

    python benchmarks/mart.py

Data sets of scikit-learn and the same settings for all: 100 trees of 31 leaves,
learning rate 0.1, at least 20 rows per leaf. Printed are means over the test parts of a
repeated five-fold cross-validation of log-likelihood and accuracy, or of R^2; higher is
better. In brackets: the difference to HistGradientBoosting and its standard error
(somewhat too small, because the training parts overlap). Seconds are medians of the
same fits, run interleaved.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    make_friedman1,
    make_hastie_10_2,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import RepeatedKFold

import peers
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

BASE = "HistGradientBoosting"
SETTINGS = {"learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20}
LIGHTGBM = {
    "learning_rate": 0.1, "num_leaves": 31, "min_child_samples": 20,
    "n_jobs": 2, "verbosity": -1,
}  # fmt: skip
CLASSIFIERS = {
    "MART": MARTClassifier(**SETTINGS),
    "MART, least squares": MARTClassifier(**SETTINGS, split_gain="least_squares"),
    BASE: HistGradientBoostingClassifier(**SETTINGS, early_stopping=False),
    "LightGBM": lightgbm.LGBMClassifier(**LIGHTGBM),
}
REGRESSORS = {
    "MART": MARTRegressor(**SETTINGS),
    BASE: HistGradientBoostingRegressor(**SETTINGS, early_stopping=False),
    "LightGBM": lightgbm.LGBMRegressor(**LIGHTGBM),
}
DATA: dict[str, tuple[dict[str, Any], Callable[[], tuple[np.ndarray, np.ndarray]]]] = {
    "breast cancer": (CLASSIFIERS, lambda: load_breast_cancer(return_X_y=True)),
    "Hastie 10.2": (CLASSIFIERS, lambda: make_hastie_10_2(12_000, random_state=0)),
    "diabetes": (REGRESSORS, lambda: load_diabetes(return_X_y=True)),
    "Friedman 1": (
        REGRESSORS,
        lambda: make_friedman1(12_000, n_features=10, noise=1.0, random_state=0),
    ),
}


def measure(model: Any, X: np.ndarray, y: np.ndarray) -> list[float]:
    if is_classifier(model):
        return [
            -log_loss(y, model.predict_proba(X)),
            accuracy_score(y, model.predict(X)),
        ]
    return [r2_score(y, model.predict(X))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=3)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    print(peers.machine())
    for title, (models, load) in DATA.items():
        X, y = load()
        values: dict[str, list[list[float]]] = {name: [] for name in models}
        seconds: dict[str, list[float]] = {name: [] for name in models}
        folds = RepeatedKFold(n_repeats=arguments.repetitions, random_state=0)
        for train, test in folds.split(X):
            for name, model in models.items():
                start = time.perf_counter()
                fitted = clone(model).fit(X[train], y[train])
                seconds[name].append(time.perf_counter() - start)
                values[name].append(measure(fitted, X[test], y[test]))
        show(title, X.shape, values, seconds)
        records = [
            {"data": title, "model": m, "values": values[m], "seconds": seconds[m]}
            for m in models
        ]
        peers.append_json(arguments.json, records)


def show(
    title: str,
    shape: tuple[int, ...],
    values: dict[str, list[list[float]]],
    seconds: dict[str, list[float]],
) -> None:
    print(f"\n{title}, {shape[0]:,} x {shape[1]}")
    base = np.array(values[BASE])
    for name, of_model in values.items():
        means = np.mean(of_model, axis=0)
        apart = np.array(of_model) - base
        errors = apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
        columns = "".join(
            f"{mean:10.4f} ({by:+.4f}, {error:.4f})"
            for mean, by, error in zip(means, apart.mean(axis=0), errors, strict=True)
        )
        print(f"  {name:22}{columns}{np.median(seconds[name]):9.3f} s")


if __name__ == "__main__":
    main()
