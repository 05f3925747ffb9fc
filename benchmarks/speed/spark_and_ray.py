"""Fits by the tasks of Spark and by the actors of Ray, side by side with others'.

    python -m benchmarks.speed.spark_and_ray
    python -m benchmarks.speed.spark_and_ray --engines ray --workers 1 2 --queries 2000

It needs pyspark with Java, or ray.  Spark's session and Ray's cluster are local:
workers of one thread share the cores of this machine.  Every fit reads its rows from
Parquet files, of whole queries in their order, one for each worker; Ray's datasets are
in its object store before the clock starts.  XGBoost and LightGBM are Ray's Trainers,
of which each worker sorts its rows by query.  "One process" is `LambdaMARTRanker` with
as many threads as all workers, its rows in memory.

Printed are medians after a first fit of each, which compiles: seconds of a fit of one
tree, most of which are for starting workers, moving and reading rows; seconds of a fit
of all trees; milliseconds of a tree, by the difference of the two; and NDCG@10 on
held-out queries.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tools.measuring import results_in_turns
from benchmarks.tools.peers import (
    BINS,
    Settings,
    lightgbm_parameters,
    make_sklearn_ltr,
    our_parameters,
    query_sizes,
    xgboost_parameters,
)
from benchmarks.tools.queries import Part, made_like_mslr
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr.metrics import ndcg_score

N_TEST = 50  # queries
ALONE = "one process"
PACKAGES = {"spark": "pyspark", "ray": "ray"}
Predict = Callable[[np.ndarray], np.ndarray]


def names_of(rows: Part) -> list[str]:
    """Return the names of the columns of features."""
    return [f"x{j}" for j in range(rows.X.shape[1])]


def write_files(folder: Path, rows: Part, n_files: int) -> None:
    """Write rows to Parquet files of whole queries."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = dict(
        zip(names_of(rows), map(np.ascontiguousarray, rows.X.T), strict=True)
    )
    columns |= {"label": np.float64(rows.y), "query": np.int64(rows.groups)}
    table = pa.table(columns)
    ends = np.flatnonzero(np.diff(rows.groups)) + 1
    cuts = ends[np.arange(1, n_files) * len(ends) // n_files].tolist()
    bounds = [0, *cuts, len(table)]
    for number, (first, last) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        part = table.slice(first, last - first)
        parquet.write_table(part, folder / f"{number}.parquet")


def fit_in_one_process(
    train: Part, n_workers: int, dataset: Any, settings: Settings
) -> Predict:
    ranker = make_sklearn_ltr(replace(settings, n_threads=n_workers))
    return ranker.fit(train.X, train.y, groups=train.groups).predict


def of_frame(ranker: Any, train: Part) -> Predict:
    """Return the predictions of a ranker that knows names of columns."""
    import pandas as pd

    return lambda X: ranker.predict(pd.DataFrame(X, columns=names_of(train)))


def spark_ours(
    train: Part, n_workers: int, dataset: Any, settings: Settings
) -> Predict:
    from sklearn_ltr.spark import SparkLambdaMARTRanker

    ranker = SparkLambdaMARTRanker(
        featuresCols=names_of(train),
        groupCol="query",
        numTasks=n_workers,
        early_stopping=False,
        **our_parameters(settings),
    )
    return of_frame(ranker.fit(dataset).to_local(), train)


def spark_xgboost(
    train: Part, n_workers: int, dataset: Any, settings: Settings
) -> Predict:
    from xgboost.spark import SparkXGBRanker

    given = xgboost_parameters(settings)
    ranker = SparkXGBRanker(
        features_col=names_of(train),
        label_col="label",
        qid_col="query",
        num_workers=n_workers,
        n_estimators=settings.n_estimators,
        random_state=given.pop("seed"),
        **given,
    )
    return ranker.fit(dataset).get_booster().inplace_predict


def ray_ours(train: Part, n_workers: int, dataset: Any, settings: Settings) -> Predict:
    from sklearn_ltr.ray import RayLambdaMARTRanker

    given = our_parameters(settings) | {"n_jobs": 1, "early_stopping": False}
    ranker = RayLambdaMARTRanker(**given)
    ranker.fit(dataset, "label", groups="query", n_workers=n_workers)
    return of_frame(ranker.to_local(), train)


def ray_xgboost(
    train: Part, n_workers: int, dataset: Any, settings: Settings
) -> Predict:
    import xgboost
    from ray.train.xgboost import XGBoostTrainer

    parameters = xgboost_parameters(settings) | {"nthread": 1}
    model = fit_by_trainer(
        XGBoostTrainer, train_xgboost_on_ray, parameters, n_workers, dataset, settings
    )
    booster = xgboost.Booster()
    booster.load_model(bytearray(model))
    return booster.inplace_predict


def ray_lightgbm(
    train: Part, n_workers: int, dataset: Any, settings: Settings
) -> Predict:
    import lightgbm
    from ray.train.lightgbm import LightGBMTrainer

    parameters = lightgbm_parameters(settings) | {"num_threads": 1}
    model = fit_by_trainer(
        LightGBMTrainer, train_lightgbm_on_ray, parameters, n_workers, dataset, settings
    )
    return lightgbm.Booster(model_str=model.decode()).predict


def fit_by_trainer(
    trainer: Any,
    function: Callable[[dict[str, Any]], None],
    parameters: dict[str, Any],
    n_workers: int,
    dataset: Any,
    settings: Settings,
) -> bytes:
    """Let Ray's Trainer call a function on each worker; return the model's file."""
    from ray.train import RunConfig, ScalingConfig

    config = {"parameters": parameters, "n_trees": settings.n_estimators}
    with tempfile.TemporaryDirectory() as folder:
        found = trainer(
            function,
            train_loop_config=config,
            datasets={"train": dataset},
            scaling_config=ScalingConfig(num_workers=n_workers),
            run_config=RunConfig(storage_path=folder),
        ).fit()
        return Path(found.checkpoint.path, "model.json").read_bytes()


def train_xgboost_on_ray(config: dict[str, Any]) -> None:
    """Train a model; run on each worker."""
    import xgboost

    rows, y, qid = rows_of_worker()
    data = xgboost.QuantileDMatrix(rows, y, qid=qid, max_bin=BINS)
    report_model(xgboost.train(config["parameters"], data, config["n_trees"]))


def train_lightgbm_on_ray(config: dict[str, Any]) -> None:
    """Train a model; run on each worker."""
    import lightgbm
    from ray.train.lightgbm import get_network_params

    rows, y, qid = rows_of_worker()
    parameters = config["parameters"] | get_network_params()
    parameters |= {"tree_learner": "data", "pre_partition": True}
    data = lightgbm.Dataset(rows, y, group=query_sizes(qid), params=parameters)
    report_model(lightgbm.train(parameters, data, config["n_trees"]))


def rows_of_worker() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the features, grades and ids of a worker's rows, sorted by query."""
    import pandas as pd
    import ray.train

    shard = ray.train.get_dataset_shard("train")
    tables = list(shard.iter_batches(batch_format="pandas", batch_size=None))
    rows = pd.concat(tables).sort_values("query", kind="stable")
    y, qid = rows.pop("label").to_numpy(), rows.pop("query").to_numpy()
    return rows.to_numpy(), y, qid


def report_model(model: Any) -> None:
    """Hand the model of a worker to Ray: once, as after each tree it takes seconds."""
    import ray.train

    with tempfile.TemporaryDirectory() as folder:
        model.save_model(str(Path(folder, "model.json")))
        is_first = ray.train.get_context().get_world_rank() == 0
        checkpoint = ray.train.Checkpoint.from_directory(folder) if is_first else None
        ray.train.report({}, checkpoint=checkpoint)


Fit = Callable[[Part, int, Any, Settings], Predict]
FITS: dict[str, dict[str, Fit]] = {
    "spark": {"sklearn_ltr": spark_ours, "XGBoost hist": spark_xgboost},
    "ray": {
        "sklearn_ltr": ray_ours,
        "XGBoost hist": ray_xgboost,
        "LightGBM": ray_lightgbm,
    },
}


def dataset_on_spark(folder: Path, n_workers: int) -> Any:
    """Return the files as a DataFrame of a local session."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{n_workers}]")
    builder = builder.config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "4g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session.read.parquet(str(folder))


def dataset_on_ray(folder: Path, n_workers: int) -> Any:
    """Return the files as a Dataset of a local cluster."""
    import ray

    # XGBoost's Trainer needs a CPU for reading beside those of its workers
    ray.init(
        "local",
        num_cpus=n_workers + 2,
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
        ignore_reinit_error=True,
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    return ray.data.read_parquet(str(folder)).materialize()


def end_spark() -> None:
    from pyspark.sql import SparkSession

    SparkSession.getActiveSession().stop()


def end_ray() -> None:
    import ray

    ray.shutdown()


CLUSTERS = {"spark": (dataset_on_spark, end_spark), "ray": (dataset_on_ray, end_ray)}


def measured(
    fit: Fit, given: tuple[Any, ...], settings: Settings, test: Part
) -> dict[str, float]:
    """Return seconds of a fit of one tree and of all, and NDCG@10."""
    seconds = []
    for one in (replace(settings, n_estimators=1), settings):
        start = time.perf_counter()
        predict = fit(*given, one)
        seconds.append(time.perf_counter() - start)
    ndcg = ndcg_score(test.y, predict(test.X), groups=test.groups, k=10)
    return {"one_tree": seconds[0], "seconds": seconds[1], "ndcg": float(ndcg)}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--engines", nargs="+", choices=FITS, default=list(FITS))
    parser.add_argument("--queries", type=int, default=700, help="of 122 documents")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--repetitions", type=int, default=3)
    names = ["sklearn_ltr", "XGBoost hist", "LightGBM", ALONE]
    parser.add_argument("--libraries", nargs="+", choices=names, default=names)
    arguments = parser.parse_args()

    every = made_like_mslr(arguments.queries + N_TEST, dtype="float32")
    is_test = every.groups >= np.unique(every.groups)[-N_TEST]
    train, test = every.subset(~is_test), every.subset(is_test)
    settings = Settings(n_estimators=arguments.trees)
    print(machine([PACKAGES[engine] for engine in arguments.engines]))
    print(f"{len(train.y):,} x {train.X.shape[1]}, {arguments.trees} trees")
    print(
        f"{'':8}{'workers':>8}  {'':14}{'one tree':>10}{'seconds':>9}{'ms/tree':>9}"
        f"{'NDCG@10':>9}"
    )
    for engine in arguments.engines:
        make_dataset, end = CLUSTERS[engine]
        for n_workers in arguments.workers:
            with tempfile.TemporaryDirectory() as folder:
                write_files(Path(folder), train, n_workers)
                given = train, n_workers, make_dataset(Path(folder), n_workers)
                fits = FITS[engine] | {ALONE: fit_in_one_process}
                calls = {
                    name: partial(measured, fits[name], given, settings, test)
                    for name in arguments.libraries
                    if name in fits
                }
                results_in_turns(calls, 1)  # compiles
                found = results_in_turns(calls, arguments.repetitions)
                end()
            for library, runs in found.items():
                row: dict[str, Any] = {"engine": engine, "library": library}
                row |= {"workers": n_workers, "rows": len(train.y)}
                row |= {"n_trees": arguments.trees}
                for name in runs[0]:
                    row[name] = float(np.median([run[name] for run in runs]))
                more = row["seconds"] - row["one_tree"]
                row["ms_per_tree"] = 1000 * more / (arguments.trees - 1)
                print(
                    f"{engine:8}{n_workers:8}  {library:14}{row['one_tree']:10.1f}"
                    f"{row['seconds']:9.1f}{row['ms_per_tree']:9.1f}{row['ndcg']:9.4f}",
                    flush=True,
                )
                append_json(arguments.json, [row])


if __name__ == "__main__":
    main()
