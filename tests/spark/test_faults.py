"""What a fit on Spark refuses, and what becomes of it if a task is lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pyspark")
from py4j.protocol import Py4JError  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from sklearn_ltr._core.cluster.comm import (  # noqa: E402
    Connections,
    LostConnectionError,
    SocketComm,
)
from sklearn_ltr.spark import SparkLambdaMARTRanker, _engine  # noqa: E402
from tests.dask import bytes_of  # noqa: E402
from tests.spark import fit_with_faults  # noqa: E402
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


@pytest.mark.parametrize("query", [4, 5, 6])
def test_a_bad_row_of_any_task_ends_all(df, query):
    """The others wait for the task that finds it."""
    is_bad = F.col("query") == query
    rows = df.withColumn("f2", F.when(is_bad, np.inf).otherwise(F.col("f2")))
    with pytest.raises(ValueError, match="X contains infinity"):
        fit(rows, numTasks=4)


@pytest.mark.slow
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


# --- tasks that do not meet -----------------------------------------------------------


def errors_of(function, n):
    """The errors that calls in threads raise, by their number."""
    errors = dict.fromkeys(range(n))

    def call(number):
        try:
            function(number)
        except Exception as error:
            errors[number] = error

    threads = [threading.Thread(target=call, args=[k], daemon=True) for k in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    return list(errors.values())


@pytest.mark.parametrize("other", range(4))
def test_tasks_with_different_keys_all_end(other):
    """Nobody else would end them."""
    places = [
        Connections(
            b"another" if rank == other else b"the key", f"task {rank}",
            "127.0.0.1", "127.0.0.1", seconds=2,
        )
        for rank in range(4)
    ]  # fmt: skip
    endpoints = [connections.endpoint() for connections in places]

    def work(rank):
        with SocketComm(rank, endpoints, places[rank], 1, print) as comm:
            comm.sum(np.ones(1, dtype=np.int64))

    errors = errors_of(work, 4)
    assert {type(error) for error in errors} == {LostConnectionError}
    messages = "".join(map(str, errors))
    assert re.search("task . has not connected to this one for 2 seconds", messages)


def test_a_task_that_cannot_listen_ends_all(monkeypatch):
    hosts = ["127.0.0.1", "203.0.113.1"]  # the second is nobody's
    infos = [SimpleNamespace(address=f"{host}:0") for host in hosts]
    texts, barrier, own = [""] * 2, threading.Barrier(2), threading.local()

    def all_gather(text):
        texts[own.rank] = text
        barrier.wait()
        return texts

    context = SimpleNamespace(
        partitionId=lambda: own.rank, getTaskInfos=lambda: infos, allGather=all_gather
    )
    task_context = SimpleNamespace(get=lambda: context)
    monkeypatch.setattr(_engine, "BarrierTaskContext", task_context)

    def work(rank):
        own.rank = rank
        _engine.fit_in_task(iter([]), _engine.GivenToTask({}, b"", b"", [], False))

    other, error = errors_of(work, 2)
    assert type(other) is LostConnectionError and "task 1 cannot listen" in str(other)
    assert "task 1 cannot listen at 203.0.113.1" in str(error)
    assert type(error) is RuntimeError


# --- tasks that are lost, or hang -----------------------------------------------------


def let_tasks(monkeypatch, what, when, folder, **more):
    faults = partial(fit_with_faults, what=what, when=when, folder=folder, **more)
    monkeypatch.setattr(_engine, "fit_in_task", faults)


@pytest.mark.slow
@pytest.mark.parametrize(
    "when", ["before it listens", "after two trees", "after the last tree"]
)
def test_a_fit_begins_again_if_a_task_is_lost(df, tmp_path, monkeypatch, when):
    let_tasks(monkeypatch, "exit", when, tmp_path)
    with pytest.warns(RuntimeWarning, match="was lost, and the fit begins again"):
        model = fit(df, numTasks=3)
    assert len(list(tmp_path.iterdir())) == 1
    assert bytes_of(model.to_local()) == bytes_of(local_fit())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:a task of the fit was lost")
def test_a_fit_whose_tasks_are_lost_again_and_again_ends(df, tmp_path, monkeypatch):
    let_tasks(monkeypatch, "exit", "after two trees", tmp_path, n_times=99)
    with pytest.raises(RuntimeError, match="Spark could not run the 2 tasks of the f"):
        fit(df)
    monkeypatch.undo()
    assert bytes_of(fit(df).to_local()) == bytes_of(local_fit())


def wait_until(condition, seconds=60):
    stop = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < stop
        time.sleep(0.1)


def runs(pid):
    """Whether a process is there that is no zombie."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return found.rpartition(")")[2].split()[0] != "Z"


needs_proc = pytest.mark.skipif(not Path("/proc").exists(), reason="it reads /proc")


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("what", ["sleep", "stop"])
@pytest.mark.parametrize("how", ["interrupt", "cancel"])
def test_who_ends_a_fit_that_hangs_ends_its_tasks(
    spark, df, tmp_path, monkeypatch, what, how
):
    """By Ctrl-C, or from another thread."""
    let_tasks(monkeypatch, what, "after two trees", tmp_path)
    mark = tmp_path / "0"

    def end():
        with suppress(AssertionError):  # the fit must end anyway
            wait_until(lambda: mark.exists() and mark.read_text(), 180)
        time.sleep(1)
        if how == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        else:
            spark.sparkContext.cancelAllJobs()

    ending = threading.Thread(target=end)
    ending.start()
    with pytest.raises(BaseException) as raised:
        fit(df)
    ending.join()
    if how == "interrupt":
        assert raised.type in (KeyboardInterrupt, Py4JError)  # of PySpark 3.5
    else:
        assert "cancelled" in str(raised.value)
        assert "lost executor" not in str(raised.value)
    wait_until(lambda: not runs(int(mark.read_text())))
    monkeypatch.undo()
    assert bytes_of(fit(df).to_local()) == bytes_of(local_fit())


DRIVER = """
import sys
from functools import partial
from pathlib import Path
from pyspark.sql import SparkSession
from sklearn_ltr.spark import _engine
from tests.spark import fit_with_faults
from tests.spark.conftest import CONF
from tests.spark.test_fit import FRAME, fit, on_spark

master, folder, what = sys.argv[1:]
CONF = CONF | {"spark.executor.memory": "512m"}
spark = SparkSession.builder.master(master).config(map=CONF).getOrCreate()
_engine.fit_in_task = partial(
    fit_with_faults, what=what, when="after two trees", folder=Path(folder)
)
fit(on_spark(spark, FRAME))
"""


@pytest.mark.long
@needs_proc
@pytest.mark.parametrize(
    ("who", "what"), [("Python", "sleep"), ("Java", "sleep"), ("Java", "stop")]
)
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_no_task_outlives_its_driver(spark, tmp_path, master, who, what):
    command = [sys.executable, "-c", DRIVER, master, str(tmp_path), what]
    with (
        open(tmp_path.with_suffix(".log"), "w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as driver,
    ):
        try:
            mark = tmp_path / "0"
            wait_until(lambda: mark.exists() and mark.read_text(), 180)
            children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children")
            (java,) = map(int, children.read_text().split())
            os.kill(driver.pid if who == "Python" else java, signal.SIGKILL)
            wait_until(lambda: not runs(int(mark.read_text())) and not runs(java))
        finally:
            driver.kill()


SMALL = """
from pyspark.sql import SparkSession, functions as F
from tests.spark.conftest import CONF
from tests.spark.test_fit import FEATURES
from sklearn_ltr.spark import SparkLambdaMARTRanker

CONF = CONF | {"spark.executor.pyspark.memory": "900m"}
spark = SparkSession.builder.master("local[1]").config(map=CONF).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
number = F.col("id")
features = [(number % 7 + j).cast("double").alias(f"f{j}") for j in range(9)]
rows = spark.range(1_000_000).select(
    (number % 1000).alias("query"), (number % 3).alias("label"), *features
)
SparkLambdaMARTRanker(featuresCols=FEATURES, groupCol="query").fit(rows)
"""


@pytest.mark.long
def test_a_task_without_room_says_what_it_needs(spark):
    """Spark limits the addresses of its Python processes."""
    command = [sys.executable, "-c", SMALL]
    found = subprocess.run(command, capture_output=True, text=True)
    message = r"MemoryError: a task of the fit has .* rows or more, which need .* GB"
    assert re.search(message, found.stderr)
