"""SparkLambdaMARTRanker: the model of one machine, from any rows and tasks."""

from __future__ import annotations

import datetime
import decimal
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pyspark")
import pandas as pd  # noqa: E402
from pyspark.ml import Pipeline, PipelineModel  # noqa: E402
from pyspark.ml.evaluation import RegressionEvaluator  # noqa: E402
from pyspark.ml.feature import VectorAssembler  # noqa: E402
from pyspark.ml.functions import array_to_vector  # noqa: E402
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from sklearn_ltr import LambdaMARTRanker  # noqa: E402
from sklearn_ltr.spark import (  # noqa: E402
    SparkLambdaMARTModel,
    SparkLambdaMARTRanker,
)
from tests.dask import bytes_of, make_data, positions_of  # noqa: E402

OPTIONS = {"n_estimators": 3, "max_leaf_nodes": 6, "random_state": 1}
FEATURES = [f"f{j}" for j in range(9)]
COLUMNS = [*FEATURES, "color"]
NAMES = {"labelCol": "y", "groupCol": "query"}


def make_frame(seed=0):
    """The data, with a column of text and one of arrays."""
    data = make_data(seed)
    frame = pd.DataFrame(data["X"], columns=FEATURES)
    rng = np.random.default_rng(5 + seed)
    frame["color"] = rng.choice(["red", "green", "blue", None], len(frame))
    frame["all"] = data["X"].tolist()
    frame["position"] = positions_of(data["groups"])
    frame["start"] = rng.normal(size=len(frame))
    return frame.assign(y=data["y"], query=data["groups"], weight=data["sample_weight"])


FRAME = make_frame()


def on_spark(spark, frame, n_partitions=5):
    """The rows of a frame, shuffled."""
    rows = frame.sample(frac=1.0, random_state=n_partitions)
    rows = rows.astype(object).where(rows.notna(), None).to_numpy().tolist()
    kinds = {"O": "string", "f": "double", "i": "long", "b": "boolean"}
    schema = ", ".join(
        f"`{name}` {'array<double>' if name == 'all' else kinds[kind.kind]}"
        for name, kind in frame.dtypes.items()
    )
    return spark.createDataFrame(rows, schema).repartition(n_partitions)


@pytest.fixture(scope="module")
def df(spark):
    return on_spark(spark, FRAME).cache()


def X_of(frame):
    return frame[COLUMNS].astype({"color": "category"})


def local_fit(X=None, y=None, frame=FRAME, groups=None, options=None, **given):
    ranker = LambdaMARTRanker(**OPTIONS | (options or {}))
    X = X_of(frame) if X is None else X
    groups = frame["query"] if groups is None else groups
    return ranker.fit(X, frame["y"] if y is None else y, groups=groups, **given)


def fit(df, options=None, **params):
    params = {"featuresCols": COLUMNS, "numTasks": 2} | NAMES | params
    if "featuresCol" in params:
        del params["featuresCols"]
    return SparkLambdaMARTRanker(**OPTIONS | (options or {}), **params).fit(df)


def check_same(model, expected):
    assert type(model.to_local()) is LambdaMARTRanker
    assert bytes_of(model.to_local()) == bytes_of(expected)


@pytest.mark.parametrize("n_tasks", [1, None, 99])
def test_the_model_is_that_of_one_machine(df, n_tasks):
    model = fit(df, numTasks=n_tasks, weightCol="weight")
    check_same(model, local_fit(sample_weight=FRAME["weight"]))


@pytest.mark.slow
def test_vectors_and_arrays_are_features_and_numpys_types_are_no_limit(spark, df):
    expected = local_fit(X=FRAME[FEATURES].to_numpy())
    # floats, and grades as decimals; a name with a point
    rows = df.select(
        array_to_vector("all").alias("a.b"), F.col("y").cast("decimal(9, 1)"), "query"
    )
    check_same(fit(rows, featuresCol="a.b"), expected)
    rows = df.withColumn("y", F.col("y").cast("byte"))
    check_same(fit(rows, featuresCol="all"), expected)


def test_columns_of_all_numbers(df):
    """Missing booleans and integers, decimals and floats."""
    table = FRAME.assign(
        f0=FRAME["f0"].astype("float32"),
        f1=(FRAME["f1"] > 0).where(FRAME["f1"].notna()).astype(float),
        f2=FRAME["f2"].round(3),
        f5=FRAME["f5"] > 0,
    )
    rows = (
        df.withColumn("f0", F.col("f0").cast("float"))
        .withColumn("f1", F.col("f1") > 0)
        .withColumn("f2", F.round("f2", 3).cast("decimal(9, 3)"))
        .withColumn("f3", F.col("f3").cast("int"))
        .withColumn("f5", F.coalesce(F.col("f5") > 0, F.lit(False)))
    )
    expected = local_fit(frame=table)
    model = fit(rows)
    check_same(model, expected)
    scored = model.transform(rows.coalesce(1).orderBy("f8")).select("f8", "prediction")
    found = scored.toPandas().set_index("f8")["prediction"].dropna()
    wanted = pd.Series(expected.predict(X_of(table)), table["f8"])
    found, wanted = (s[s.index.notna()].sort_index() for s in (found, wanted))
    pd.testing.assert_series_equal(found, wanted, check_names=False)


@pytest.mark.parametrize("kind", ["text", "long", "double", "time", "decimal", "date"])
def test_ids_of_queries(df, kind):
    """Some are moved from task to task, so that all have as much to do."""
    query = F.col("query")
    day = F.date_add(F.lit("2024-01-01").cast("date"), query.cast("int"))
    column, ids = {
        "text": (F.concat(F.lit("q"), query), "q" + FRAME["query"].astype(str)),
        "long": (query, FRAME["query"]),
        "double": (query / 2, FRAME["query"] / 2),
        # an hour of these is there twice in New York, and one is not
        "time": (F.timestamp_seconds(1_730_610_000 + query * 600), FRAME["query"]),
        "decimal": (query.cast("decimal(12, 0)"), FRAME["query"]),
        "date": (day, FRAME["query"]),
    }[kind]
    options = {"early_stopping": True, "learning_rate": 0.5}
    model = fit(df.withColumn("query", column), options, numTasks=3)
    check_same(model, local_fit(groups=ids, options=options))


def test_more_tasks_than_queries(spark):
    """Some have no row, and some nothing to learn; and one query is large."""
    frame = FRAME.assign(query=np.minimum(FRAME["query"] // 30, 1))
    frame.loc[frame["query"] == 0, "y"] = 2.0
    df = on_spark(spark, frame, 11)
    check_same(fit(df, numTasks=4), local_fit(frame=frame))


@pytest.mark.slow
def test_all_that_a_fit_by_row_takes(spark, df):
    propensity = 1.0 / (1 + FRAME["position"] % 7)
    rows = df.withColumn("p", 1.0 / (1 + F.col("position") % 7))
    check_same(fit(rows, propensitiesCol="p"), local_fit(propensities=propensity))
    check_same(fit(rows, documentWeightCol="p"), local_fit(document_weight=propensity))


def test_the_bias_of_positions(df):
    options = {"position_bias": "additive"}
    expected = local_fit(options=options, positions=FRAME["position"])
    check_same(fit(df, options, positionsCol="position"), expected)
    assert np.ptp(expected.position_bias_) > 0


def test_several_labels(spark):
    bought = np.where(FRAME["f1"] > 0.5, 1.0, 0.0)
    bought[(FRAME["query"] % 3 == 0).to_numpy()] = np.nan
    bought[::7] = np.nan
    frame = FRAME.assign(bought=bought)
    options = {"label_weights": [1, 3]}
    model = fit(on_spark(spark, frame), options, labelCols=["y", "bought"], numTasks=3)
    check_same(model, local_fit(y=frame[["y", "bought"]], options=options))


def test_initial_scores(df):
    expected = local_fit(init_score=FRAME["start"])
    model = fit(df, initScoreCol="start")
    check_same(model, expected)
    found = model.transform(df).toPandas().sort_values("start")
    scores = expected.predict(X_of(FRAME), init_score=FRAME["start"])
    order = FRAME["start"].argsort()
    np.testing.assert_array_equal(found["prediction"], scores[order])
    model.clear(model.initScoreCol)
    with pytest.raises(Exception, match="init_score"):
        model.transform(df).collect()


@pytest.fixture(scope="module")
def frame_of_both():
    """The data, and rows to validate, of which some have the ids of other queries."""
    return pd.concat([FRAME.assign(val=False), make_frame(1)[:300].assign(val=True)])


@pytest.mark.slow
@pytest.mark.parametrize("n_tasks", [1, 3])
def test_early_stopping(spark, frame_of_both, n_tasks):
    options = {"n_estimators": 12, "learning_rate": 1.0, "n_iter_no_change": 2}
    is_val = frame_of_both["val"]
    # all text, since a column of pandas would have the categories of its own rows
    X = X_of(frame_of_both)
    val = {"X_val": X[is_val], "y_val": frame_of_both["y"][is_val]}
    val["groups_val"] = frame_of_both["query"][is_val]
    ranker = LambdaMARTRanker(**OPTIONS | options)
    ranker.fit(X[~is_val], FRAME["y"], groups=FRAME["query"], **val)
    df = on_spark(spark, frame_of_both)
    model = fit(df, options, validationIndicatorCol="val", numTasks=n_tasks)
    check_same(model, ranker)
    assert ranker.n_iter_ < 12


@pytest.mark.slow
def test_a_model_is_saved_and_scores_as_on_one_machine(spark, df, tmp_path):
    expected = local_fit()
    params = {"featuresCols": COLUMNS, "predictionCol": "score"}
    model = SparkLambdaMARTModel(expected, **params)
    model.save(str(tmp_path / "model"))
    again = SparkLambdaMARTModel.load(str(tmp_path / "model"))
    assert again.uid == model.uid
    # columns in another order, partitions without rows, and rows without text
    some = FRAME.assign(number=np.arange(len(FRAME)))
    wide = on_spark(spark, some.iloc[:20].drop(columns=["all"])[::-1], 30)
    wide = wide.select(*wide.columns[::-1])
    for one in (model, again):
        scored = one.transform(wide)
        assert scored.columns == [*wide.columns, "score"]
        found = scored.toPandas().sort_values("number")["score"]
        np.testing.assert_array_equal(found, expected.predict(X_of(FRAME))[:20])
    without = wide.withColumn("color", F.lit(None).cast("string"))
    found = model.transform(without).toPandas().sort_values("number")["score"]
    table = X_of(FRAME)[:20].assign(color=pd.Categorical([None] * 20, ["red"]))
    np.testing.assert_array_equal(found, expected.predict(table))
    with pytest.raises(ValueError, match="no ranker"):
        SparkLambdaMARTModel().transform(df)


def test_an_estimator_is_saved(spark, tmp_path):
    ranker = SparkLambdaMARTRanker(
        featuresCols=COLUMNS, groupCol="q", metric="ndcg@5", numTasks=3
    )
    ranker.save(str(tmp_path / "ranker"))
    again = SparkLambdaMARTRanker.load(str(tmp_path / "ranker"))
    assert type(again) is SparkLambdaMARTRanker

    def by_name(one):
        return {param.name: value for param, value in one.extractParamMap().items()}

    assert by_name(again) == by_name(ranker)
    copied = again.copy({again.n_estimators: 7})
    assert by_name(copied) == by_name(ranker) | {"n_estimators": 7}


@pytest.mark.slow
def test_in_a_pipeline_and_a_search(spark, df, tmp_path):
    assembler = VectorAssembler(
        inputCols=FEATURES, outputCol="features", handleInvalid="keep"
    )
    ranker = SparkLambdaMARTRanker(**OPTIONS | NAMES, numTasks=2)
    pipeline = Pipeline(stages=[assembler, ranker])
    fitted = pipeline.fit(df)
    expected = local_fit(X=FRAME[FEATURES].to_numpy())
    check_same(fitted.stages[-1], expected)
    fitted.save(str(tmp_path / "fitted"))
    again = PipelineModel.load(str(tmp_path / "fitted"))
    check_same(again.stages[-1], expected)
    # whole queries are held out, by a column of their folds
    grid = ParamGridBuilder().addGrid(ranker.learning_rate, [0.01, 0.9]).build()
    search = CrossValidator(
        estimator=pipeline,
        estimatorParamMaps=grid,
        evaluator=RegressionEvaluator(labelCol="y"),
        numFolds=2,
        foldCol="fold",
    )
    found = search.fit(df.withColumn("fold", (F.col("query") % 2).cast("int")))
    assert len(set(found.avgMetrics)) == 2
    assert isinstance(found.bestModel.stages[-1], SparkLambdaMARTModel)


@pytest.mark.slow
def test_values_of_python_are_ids(spark):
    """Bytes, and decimals as Python has them."""
    ids = [bytes([q]) for q in FRAME["query"]]
    numbers = [decimal.Decimal(int(q)) for q in FRAME["query"]]
    moments = [
        datetime.datetime(2024, 11, 3) + datetime.timedelta(minutes=int(q))
        for q in FRAME["query"]
    ]
    rows = list(zip(FRAME["all"], FRAME["y"], ids, numbers, moments, strict=True))
    schema = "all array<double>, y double, a binary, b decimal(9, 0), c timestamp_ntz"
    df = spark.createDataFrame(rows, schema)
    expected = local_fit(X=FRAME[FEATURES].to_numpy())
    for name in "abc":
        model = fit(df, featuresCol="all", groupCol=name, numTasks=3)
        check_same(model, expected)


REMOTE = """
import pytest
from pyspark.sql import SparkSession
from tests.spark.test_fit import FEATURES, FRAME, check_same, fit, local_fit

spark = SparkSession.builder.remote("local[2]").getOrCreate()
df = spark.createDataFrame(FRAME[[*FEATURES, "y", "query"]])
with pytest.raises(ValueError, match="numTasks is None, and Spark Connect"):
    fit(df, featuresCols=FEATURES, numTasks=None)
model = fit(df, featuresCols=FEATURES, numTasks=2)
expected = local_fit(X=FRAME[FEATURES])
check_same(model, expected)
found = model.transform(df).toPandas()
assert found["prediction"].tolist() == expected.predict(found[FEATURES]).tolist()
spark.stop()
"""


@pytest.mark.slow
def test_spark_connect(spark):
    pytest.importorskip("grpc")
    # one process has sessions of one kind
    command = [sys.executable, "-W", "ignore", "-c", REMOTE]
    is_of_session = ("SPARK_", "PYSPARK_GATEWAY_")
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(is_of_session)
    }
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
