"""Time and memory of `predict`, side by side.

    python -m benchmarks.speed.predict --preset 31 --rows 1000000 100
    python -m benchmarks.speed.predict --preset 255 \
        --libraries sklearn_ltr "XGBoost in place"
    python -m benchmarks.speed.predict --preset 31 --rows 1 100 --threads 1
    python -m benchmarks.speed.predict --preset 31 --rows 100 --threads 1 \
        --libraries sklearn_ltr "sklearn_ltr, a DataFrame"

Every library trains an ensemble of the same size on the same data and predicts the
same unseen float32 rows in memory through its public Python interface. The calls are
run interleaved; medians are printed. Of few rows, such as one query, every call of a
round predicts other rows, because a processor learns the branches of rows that it sees
again and again. With "a DataFrame" a library learns from, and
predicts, the same numbers in a pandas DataFrame of named columns. TL2cgen, treelite and
lleaves predict with LightGBM's trees, if they are installed and work (TL2cgen needs a C
compiler).
"Here": sklearn_ltr predicts with the same trees, read from the other library.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tools import peers
from benchmarks.tools.measuring import cost_of, in_turns
from benchmarks.tools.peers import OURS, Settings
from benchmarks.tools.queries import MSLR_LIKE, made_like_mslr
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr.export import from_lightgbm, from_xgboost

Predict = Callable[[Any], np.ndarray]

# With so small a learning rate the last tree has as much to fit as the first, so that
# all trees reach their maximum size.
SMALL_STEP = {"learning_rate": 0.01, "min_samples_leaf": 1}
ENSEMBLES = {
    "small": Settings(n_estimators=10, max_leaf_nodes=8, **SMALL_STEP),
    "31": Settings(n_estimators=100, max_leaf_nodes=31, **SMALL_STEP),
    "63": Settings(n_estimators=1000, max_leaf_nodes=63, **SMALL_STEP),
    "255": Settings(n_estimators=500, max_leaf_nodes=255, **SMALL_STEP),
}
TRAINING_QUERIES = 100
MANY_ROWS = 10_000  # with fewer rows there are more repetitions
FEW_ROWS, N_TABLES = 1_000, 100  # up to so few rows, each of these tables is predicted


def of_sklearn_ltr(ranker, n_threads: int) -> Predict:
    ranker.set_params(n_jobs=n_threads)
    return ranker.predict


def of_lightgbm(booster, n_threads: int) -> Predict:
    return lambda X: booster.predict(X, num_threads=n_threads)


def of_xgboost_in_place(booster, n_threads: int) -> Predict:
    booster.set_param({"nthread": n_threads})
    return booster.inplace_predict


def of_xgboost_matrix(booster, n_threads: int) -> Predict:
    import xgboost

    booster.set_param({"nthread": n_threads})
    return lambda X: booster.predict(xgboost.DMatrix(X, nthread=n_threads))


def of_catboost(model, n_threads: int) -> Predict:
    return lambda X: model.predict(X, thread_count=n_threads)


def of_tl2cgen(booster, n_threads: int) -> Predict:
    import tl2cgen
    from treelite.frontend import from_lightgbm

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ensemble.so")
        settings = {"parallel_comp": n_threads}
        tl2cgen.export_lib(
            from_lightgbm(booster), toolchain="gcc", libpath=path, params=settings
        )
        predictor = tl2cgen.Predictor(path, nthread=n_threads)
    return lambda X: predictor.predict(tl2cgen.DMatrix(X)).ravel()


def of_treelite(booster, n_threads: int) -> Predict:
    from treelite import gtil
    from treelite.frontend import from_lightgbm

    model = from_lightgbm(booster)
    return lambda X: gtil.predict(model, X, nthread=n_threads).ravel()


def of_lightgbm_read(booster, n_threads: int) -> Predict:
    return of_sklearn_ltr(from_lightgbm(booster), n_threads)


def of_xgboost_read(booster, n_threads: int) -> Predict:
    return of_sklearn_ltr(from_xgboost(booster), n_threads)


def of_lleaves(booster, n_threads: int) -> Predict:
    import lleaves

    with tempfile.TemporaryDirectory() as folder:
        booster.save_model(Path(folder, "ensemble.txt"))
        model = lleaves.Model(model_file=Path(folder, "ensemble.txt"))
        model.compile()
    return lambda X: model.predict(X, n_jobs=n_threads)


# How to train and how to predict; each training function is called once.
train_best_first = partial(peers.train_sklearn_ltr, grow_policy="best_first")
train_symmetric = partial(peers.train_sklearn_ltr, grow_policy="symmetric")
LIBRARIES = {
    OURS: (train_best_first, of_sklearn_ltr),
    "sklearn_ltr symmetric": (train_symmetric, of_sklearn_ltr),
    "LightGBM": (peers.train_lightgbm, of_lightgbm),
    "LightGBM's trees here": (peers.train_lightgbm, of_lightgbm_read),
    "XGBoost's trees here": (peers.train_xgboost, of_xgboost_read),
    "XGBoost in place": (peers.train_xgboost, of_xgboost_in_place),
    "XGBoost DMatrix": (peers.train_xgboost, of_xgboost_matrix),
    "CatBoost": (peers.train_catboost, of_catboost),
    "CatBoost symmetric": (peers.train_catboost_symmetric, of_catboost),
    "TL2cgen": (peers.train_lightgbm, of_tl2cgen),
    "treelite": (peers.train_lightgbm, of_treelite),
    "lleaves": (peers.train_lightgbm, of_lleaves),
}
IN_A_FRAME = ", a DataFrame"
LIBRARIES |= {
    name + IN_A_FRAME: LIBRARIES[name]
    for name in (
        OURS,
        "sklearn_ltr symmetric",
        "LightGBM",
        "XGBoost in place",
        "CatBoost",
    )
}


def table_for(name: str, X: np.ndarray) -> Any:
    """Return the rows as a library is given them: an array, or a DataFrame."""
    if not name.endswith(IN_A_FRAME):
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=[f"feature_{j}" for j in range(X.shape[1])])


def n_leaves(model, n_trees: int) -> float:
    """Return the mean number of leaves per tree."""
    if hasattr(model, "ensemble_"):
        return np.sum(model.ensemble_.feature < 0) / n_trees
    if hasattr(model, "trees_to_dataframe") and hasattr(model, "inplace_predict"):
        return (model.trees_to_dataframe().Feature == "Leaf").sum() / n_trees
    if hasattr(model, "dump_model") and hasattr(model, "num_trees"):
        return np.mean([t["num_leaves"] for t in model.dump_model()["tree_info"]])
    return len(model.get_leaf_values()) / n_trees


def trained(names: list[str], settings: Settings) -> Iterator[tuple[str, object]]:
    """Train the models of the libraries; print their size."""
    X, y, groups = made_like_mslr(TRAINING_QUERIES)
    models: dict[tuple[Callable, bool], object] = {}
    for name in names:
        train, _ = LIBRARIES[name]
        of = train, name.endswith(IN_A_FRAME)
        if of not in models:
            start = time.perf_counter()
            models[of] = train(table_for(name, X), y, groups, settings)
            size = n_leaves(models[of], settings.n_estimators)
            seconds = time.perf_counter() - start
            print(f"{name}: trained in {seconds:.0f} s, {size:.1f} leaves per tree")
        yield name, models[of]


def predictors(models: dict[str, object], n_threads: int) -> dict[str, Predict]:
    """Return the predict functions; print which libraries do not work, and why."""
    working = {}
    for name, model in models.items():
        try:
            working[name] = LIBRARIES[name][1](model, n_threads)
        except Exception as error:  # any error of another library
            print(f"{name} left out: {type(error).__name__}: {error}")
    return working


def measure(
    models: dict[str, object], tables: np.ndarray, n_threads: int, repetitions: int
) -> list[dict]:
    """Time the calls interleaved; check that repeated calls return equal scores."""
    # `tables` is (n_tables, n_rows, n_features); the time of a call is the mean of all
    calls = predictors(models, n_threads)
    predictions = {
        name: partial(each, call, [table_for(name, X) for X in tables])
        for name, call in calls.items()
    }
    first = {name: np.array(call()) for name, call in predictions.items()}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for name, elapsed, scores in in_turns(predictions, repetitions):
        seconds[name].append(elapsed / len(tables))
        np.testing.assert_array_equal(scores, first[name], err_msg=name)
    return measured(predictions, seconds, threads=n_threads, rows=tables.shape[1])


def each(predict: Predict, tables: list[Any]) -> list[np.ndarray]:
    """Predict one table after another."""
    return [predict(table) for table in tables]


def measured(
    calls: dict[str, Callable[[], Any]], seconds: dict[str, list[float]], **about: Any
) -> list[dict]:
    """Return a record of each library: what it is about, seconds, and peak memory."""
    return [
        {"library": name, **about, "seconds": seconds[name]}
        | {"peak_mb": cost_of(call)[0]["peak_mb"]}
        for name, call in calls.items()
    ]


def print_table(records: list[dict]) -> None:
    medians = {record["library"]: np.median(record["seconds"]) for record in records}
    ours = medians.get(OURS)
    header = f"{'':29}{'milliseconds':>13}{'(min - max)':>23}{'us per row':>12}"
    print(header + f"{'peak MB':>9}{'times ours':>12}")
    for record in records:
        times = 1e3 * np.array(record["seconds"])
        median = medians[record["library"]]
        spread = f"({times.min():.3f} - {times.max():.3f})"
        row = f"{record['library']:29}{1e3 * median:13.3f}{spread:>23}"
        row += f"{1e6 * median / record['rows']:12.3f}{record['peak_mb']:9.1f}"
        print(row + (f"{median / ours:12.2f}" if ours else ""))


def compare(arguments: argparse.Namespace) -> None:
    """Compare the libraries for each number of rows and threads."""
    settings = ENSEMBLES[arguments.preset]
    models = dict(trained(arguments.libraries, settings))
    X = new_rows(max(n_tables(n_rows) * n_rows for n_rows in arguments.rows))
    for n_rows, n_threads in product(arguments.rows, arguments.threads):
        tables = X[: n_tables(n_rows) * n_rows].reshape(-1, n_rows, X.shape[1])
        print(f"\n{n_rows:,} x {X.shape[1]} float32, {settings}")
        print(f"threads of predict: {n_threads}")
        times = 1 if n_rows > MANY_ROWS else 60
        records = measure(models, tables, n_threads, times * arguments.repetitions)
        print_table(records)
        about = {"preset": arguments.preset} | asdict(settings)
        append_json(arguments.json, [about | record for record in records])


def n_tables(n_rows: int) -> int:
    """Return how many tables of so many rows are predicted in a round."""
    return N_TABLES if n_rows <= FEW_ROWS else 1


def new_rows(n_rows: int) -> np.ndarray:
    n_queries = int(n_rows / MSLR_LIKE["n_documents"]) + 10
    return np.ascontiguousarray(made_like_mslr(n_queries, seed=1).X[:n_rows])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--preset", choices=ENSEMBLES, default="small")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 100])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repetitions", type=int, default=5)
    peers.add_libraries(parser, [*LIBRARIES])
    arguments = parser.parse_args()

    print(machine(more=("tl2cgen", "treelite", "lleaves")))
    compare(arguments)


if __name__ == "__main__":
    main()
