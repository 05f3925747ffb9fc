"""A fit by the tasks of a Spark session, side by side with XGBoost's on Spark.

    python -m benchmarks.speed.spark_fit
    python -m benchmarks.speed.spark_fit --queries 700 --tasks 1 2 --repetitions 5

It needs pyspark and Java.  The session is local, its tasks share the cores of this
machine, one each.  Every fit reads its rows from four Parquet files.  Printed are
median seconds after a first fit of each, which compiles; of ours also those of the job
that looks at the queries before; and NDCG@10 on held-out queries.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tools.measuring import results_in_turns
from benchmarks.tools.peers import Settings, our_parameters, xgboost_parameters
from benchmarks.tools.queries import Part, made_like_mslr
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr.metrics import ndcg_score

N_FILES, N_TEST = 4, 50


def write_files(folder: str, rows: Part) -> list[str]:
    """Write rows to Parquet files; return the names of their features."""
    import pyarrow as pa
    from pyarrow import parquet

    features = [f"x{j}" for j in range(rows.X.shape[1])]
    columns = dict(zip(features, rows.X.T, strict=True))
    given = {"label": np.float64(rows.y), "query": np.int64(rows.groups)}
    table = pa.table({name: np.ascontiguousarray(x) for name, x in columns.items()})
    for name, values in given.items():
        table = table.append_column(name, pa.array(values))
    bounds = np.linspace(0, len(table), N_FILES + 1).astype(int)
    for number, (first, last) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        parquet.write_table(table[first:last], Path(folder, f"{number}.parquet"))
    return features


def fit_ours(
    dataset: Any, features: list[str], settings: Settings, n_tasks: int, test: Part
) -> dict[str, float]:
    """Return seconds and NDCG of a fit of ours."""
    import pandas as pd

    from sklearn_ltr.spark import SparkLambdaMARTRanker
    from sklearn_ltr.spark._engine import SparkEngine

    load, looked = SparkEngine.load, list[float]()

    def timed_load(engine: SparkEngine, *given: Any) -> Any:
        begin = time.perf_counter()
        loaded = load(engine, *given)
        looked.append(time.perf_counter() - begin)
        return loaded

    SparkEngine.load = timed_load
    start = time.perf_counter()
    try:
        model = SparkLambdaMARTRanker(
            featuresCols=features,
            groupCol="query",
            numTasks=n_tasks,
            early_stopping=False,
            **our_parameters(settings),
        ).fit(dataset)
    finally:
        SparkEngine.load = load
    seconds = time.perf_counter() - start
    scores = model.to_local().predict(pd.DataFrame(test.X, columns=features))
    return {"seconds": seconds, "look": sum(looked), "ndcg@10": of(scores, test)}


def fit_xgboost(
    dataset: Any, features: list[str], settings: Settings, n_tasks: int, test: Part
) -> dict[str, float]:
    """Return seconds and NDCG of a fit of XGBoost."""
    from xgboost.spark import SparkXGBRanker

    given = xgboost_parameters(settings)
    start = time.perf_counter()
    model = SparkXGBRanker(
        features_col=features,
        label_col="label",
        qid_col="query",
        num_workers=n_tasks,
        n_estimators=settings.n_estimators,
        random_state=given.pop("seed"),
        **given,
    ).fit(dataset)
    seconds = time.perf_counter() - start
    scores = model.get_booster().inplace_predict(test.X)
    return {"seconds": seconds, "ndcg@10": of(scores, test)}


def of(scores: np.ndarray, test: Part) -> float:
    """Return NDCG@10 of the scores of held-out queries."""
    return float(ndcg_score(test.y, scores, groups=test.groups, k=10))


FITS = {"sklearn_ltr": fit_ours, "XGBoost hist": fit_xgboost}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--queries", type=int, default=700, help="of 122 documents")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--tasks", type=int, nargs="+", default=[2])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--libraries", nargs="+", choices=FITS, default=list(FITS))
    arguments = parser.parse_args()

    from pyspark.sql import SparkSession

    most = max(arguments.tasks)
    session = SparkSession.builder.master(f"local[{most}]")
    session = session.config("spark.ui.enabled", "false")
    spark = session.config("spark.driver.memory", "4g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    every = made_like_mslr(arguments.queries + N_TEST, dtype="float32")
    is_test = every.groups >= np.unique(every.groups)[-N_TEST]
    train, test = every.subset(~is_test), every.subset(is_test)
    settings = Settings(n_estimators=arguments.trees)
    print(machine(["pyspark"]))
    print(f"{len(train.y):,} x {train.X.shape[1]}, {arguments.trees} trees")
    print(f"{'':18}{'tasks':>6}{'seconds':>10}{'queries':>10}{'NDCG@10':>10}")
    with tempfile.TemporaryDirectory() as folder:
        features = write_files(folder, train)
        dataset = spark.read.parquet(folder)
        for n_tasks in arguments.tasks:
            given = dataset, features, settings, n_tasks, test
            calls = {name: partial(FITS[name], *given) for name in arguments.libraries}
            results_in_turns(calls, 1)  # compiles
            for name, runs in results_in_turns(calls, arguments.repetitions).items():
                seconds, look, ndcg = (
                    np.median([run.get(key, np.nan) for run in runs])
                    for key in ("seconds", "look", "ndcg@10")
                )
                looked = "" if np.isnan(look) else f"{look:.1f}"
                row = f"{name:18}{n_tasks:6}{seconds:10.1f}{looked:>10}{ndcg:10.4f}"
                print(row, flush=True)
                about = {"library": name, "n_tasks": n_tasks, "n_rows": len(train.y)}
                records = [about | {"n_trees": arguments.trees} | run for run in runs]
                append_json(arguments.json, records)
    spark.stop()


if __name__ == "__main__":
    main()
