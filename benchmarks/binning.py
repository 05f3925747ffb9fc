"""Time and memory of binning alone, side by side: from the raw array to binned data.

    python benchmarks/binning.py --preset a
    python benchmarks/binning.py --preset a --threads 1

As in ``fit.py`` each runs in a new process that has imported its library and loaded X,
the libraries are run interleaved, and medians are printed. (The binning of scikit-learn
is private.)
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import fit
import numpy as np
from measuring import cost_of

import peers
from peers import BINS, OURS, Settings


def bin_sklearn_ltr(X: np.ndarray, n_threads: int) -> object:
    from sklearn_ltr._comm import ONE_PROCESS
    from sklearn_ltr._compile import ThreadTeam
    from sklearn_ltr._data import TrainingData
    from sklearn_ltr._data.labels import LabelGrades
    from sklearn_ltr._data.query_index import QueryIndex
    from sklearn_ltr._data.tables import table_of
    from sklearn_ltr._trees.binning import fit_bins, sample_rows
    from sklearn_ltr._trees.categories import NO_CATEGORY_BINS

    rows, offsets = np.arange(len(X)), np.array([0, len(X)])
    table = table_of(X)
    grades = LabelGrades.of_one(np.zeros(len(X)))
    data = TrainingData(grades, offsets, None, X=table, rows=rows)
    index = QueryIndex.locate(data, ONE_PROCESS)
    with ThreadTeam(n_threads) as team:
        sampled = sample_rows(data, index, 0, team)
        mapper = fit_bins(table, sampled, BINS, NO_CATEGORY_BINS, ONE_PROCESS, team)
        return mapper.transform(table, rows, team)


def bin_lightgbm(X: np.ndarray, n_threads: int) -> object:
    import lightgbm

    parameters = {"max_bin": BINS, "num_threads": n_threads, "verbosity": -1}
    return lightgbm.Dataset(X, params=parameters).construct()


def bin_xgboost(X: np.ndarray, n_threads: int) -> object:
    import xgboost

    return xgboost.QuantileDMatrix(X, max_bin=BINS, nthread=n_threads)


def bin_catboost(X: np.ndarray, n_threads: int) -> object:
    import catboost

    pool = catboost.Pool(X, thread_count=n_threads)
    pool.quantize(border_count=BINS - 1)  # uses all cores
    return pool


BINNINGS = {
    OURS: bin_sklearn_ltr,
    "LightGBM": bin_lightgbm,
    "XGBoost hist": bin_xgboost,
    "CatBoost": bin_catboost,
}


def measure(name: str, folder: Path, settings: Settings) -> dict[str, float]:
    """Measure one binning; runs in a new process, on as many cores as threads."""
    cores = sorted(os.sched_getaffinity(0))[: settings.n_threads]
    os.sched_setaffinity(0, cores)
    X, _, _ = fit.read(folder, "train")
    BINNINGS[name](X[:1_000], settings.n_threads)  # imports and compiles
    cost, _ = cost_of(lambda: BINNINGS[name](X, settings.n_threads))
    return cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    fit.add_arguments(parser, fit.SYNTHETIC)
    peers.add_arguments(parser, [*BINNINGS])
    arguments = parser.parse_args()
    print(peers.machine())
    fit.compare(measure, arguments)


if __name__ == "__main__":
    main()
