"""What a fit on Spark refuses, and what becomes of it if a task is lost."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

pytest.importorskip("pyspark")
from pyspark.sql import functions as F  # noqa: E402

from sklearn_ltr.spark import SparkLambdaMARTRanker  # noqa: E402
from tests.dask import bytes_of  # noqa: E402
from tests.spark import KillsItsProcess  # noqa: E402
from tests.spark.test_fit import FRAME, fit, local_fit, on_spark  # noqa: E402

ROWS = FRAME.assign(no=np.arange(len(FRAME)), text="a", val=FRAME["query"] > 80)


@pytest.fixture(scope="module")
def df(spark):
    return on_spark(spark, ROWS).cache()


WRONG = {
    "no such feature": ({"featuresCols": ["f0", "f99"]}, ValueError, "no column 'f99'"),
    "no such query": ({"groupCol": "qid"}, ValueError, "no column 'qid'; it has f0, f"),
    "no such start": ({"initScoreCol": "s"}, ValueError, "no column 's'"),
    "no features": ({"featuresCols": []}, ValueError, "featuresCols is empty"),
    "twice": ({"featuresCols": ["f0", "f0"]}, ValueError, "featuresCols has 'f0' twic"),
    "no vectors": ({"featuresCol": "f0"}, TypeError, "featuresCol: 'f0' is a column of "
                   "double, not of vectors"),
    "arrays": ({"featuresCols": ["f0", "all"]}, TypeError, "'all' is a column of arr"),
    "grades of text": ({"labelCol": "text"}, TypeError, "'text' is a column of string"),
    "queries of arrays": ({"groupCol": "all"}, TypeError, "groupCol: 'all' is a colu"),
    "indicator of text": ({"validationIndicatorCol": "text"}, TypeError, "'text' is a "
                          "column of string, not of booleans"),
    "no tasks": ({"numTasks": 0}, ValueError, "numTasks must be None or at least 1"),
    "half a task": ({"numTasks": 1.5}, ValueError, "numTasks must be None or at least"),
    "rate": ({"learning_rate": -1}, ValueError, "learning_rate"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_refused(df, name):
    params, kind, message = WRONG[name]
    with pytest.raises(kind, match=re.escape(message)):
        fit(df, **params)


def test_a_query_is_needed_and_unknown_parameters_are_none(df):
    with pytest.raises(ValueError, match="groupCol is not set"):
        SparkLambdaMARTRanker(featuresCols=["f0"], labelCol="y").fit(df)
    with pytest.raises(TypeError, match="no parameter 'n_trees'; it has .*groupCol"):
        SparkLambdaMARTRanker(n_trees=3)
    with pytest.raises(TypeError, match="no parameter 'warm_start'"):
        SparkLambdaMARTRanker(warm_start=True)
    joined = df.join(df.select("no", "y"), "no")
    with pytest.raises(ValueError, match="the DataFrame has 2 columns 'y'"):
        fit(joined)


BAD = {
    "a missing grade": ("y", None, {}, r"partition \d: y must .*query"),
    "a negative grade": ("y", -1.0, {}, r"partition \d: y must .*query"),
    "a missing query": ("query", None, {}, r"partition \d: groups has"),
    "a missing weight": ("weight", None, {"weightCol": "weight"}, "sample_weight"),
    "unknown whether to validate": (
        "val", None, {"validationIndicatorCol": "val"},
        r"validationIndicatorCol is null in \d rows",
    ),
    "no vector": ("all", None, {"featuresCol": "all"}, "'all' has . rows without a v"),
    "a short vector": (
        "all", [1.0], {"featuresCol": "all"}, "'all' has vectors of 1 and of 9 numbers"
    ),
    "infinity": ("f2", np.inf, {}, "X contains infinity.*'f2'"),
    "a missing start": ("start", None, {"initScoreCol": "start"}, "init_score"),
    "a huge start": ("start", 1e300, {"initScoreCol": "start"}, "rounding would erase"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_refused(df, name):
    """By some tasks; the others end."""
    column, value, params, message = BAD[name]
    given = F.array(*map(F.lit, value)) if isinstance(value, list) else F.lit(value)
    kind = df.schema[column].dataType
    rows = df.withColumn(
        column,
        F.when(F.expr("no in (7, 1400)"), given.cast(kind)).otherwise(F.col(column)),
    )
    with pytest.raises(ValueError, match=message):
        fit(rows, **params)


def test_vectors_of_two_lengths_in_two_tasks_are_refused(df):
    rows = df.withColumn(
        "all", F.slice("all", 1, F.when(F.col("query") < 3, 5).otherwise(9))
    )
    with pytest.raises(ValueError, match="features"):
        fit(rows, featuresCol="all", numTasks=4)


@pytest.mark.parametrize(("given", "message"), [
    (False, "validationIndicatorCol=.* is true in no row"),
    (True, "validationIndicatorCol=.* is true in every row"),
])  # fmt: skip
def test_there_must_be_rows_to_validate_and_to_learn_from(df, given, message):
    with pytest.raises(ValueError, match=message):
        fit(df.withColumn("val", F.lit(given)), validationIndicatorCol="val")


def test_a_table_without_rows_is_refused(df):
    with pytest.raises(ValueError, match="X is empty"):
        fit(df.limit(0))


def of_killers(folder, n_times):
    init = KillsItsProcess(str(folder), n_times)
    return {"init": init}


@pytest.mark.slow
def test_a_fit_begins_again_if_a_task_is_lost(df, tmp_path):
    expected = local_fit(options=of_killers(tmp_path, 0))
    with pytest.warns(RuntimeWarning, match="was lost, and the fit begins again"):
        model = fit(df, of_killers(tmp_path, 1), numTasks=3)
    same = [pickle.dumps(m.ensemble_) for m in (model.to_local(), expected)]
    assert same[0] == same[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:a task of the fit was lost")
def test_a_fit_whose_tasks_are_lost_again_and_again_ends(df, tmp_path):
    with pytest.raises(RuntimeError, match="Spark could not run the 2 tasks of the f"):
        fit(df, of_killers(tmp_path, 99))
    assert bytes_of(fit(df).to_local()) == bytes_of(local_fit())
