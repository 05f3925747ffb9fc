"""Spark as the engine of a cluster fit: a job that looks, a shuffle, a barrier stage.

`load` runs a job in which the tasks of a shuffle by query summarize their rows, without
the features.  `run` brings the rows of each worker together by another shuffle, and
starts all tasks at once (``DataFrame.mapInArrow`` with ``barrier=True``): a worker of
the fit is one of these tasks.  They tell each other where they listen, and fit.

An error of the data is what a task returns: a task that fails would have Spark end all
others.  So if one fails, its executor was lost; then the barrier stage is run again.
"""

from __future__ import annotations

import json
import pickle
import re
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import BarrierTaskContext, TaskContext, cloudpickle
from pyspark.errors import PySparkException
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from pyspark.sql.utils import is_remote

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.cluster.arrow import features_of, numbers_of
from sklearn_ltr._core.cluster.comm import (
    Connections,
    Endpoint,
    LostConnectionError,
    SocketComm,
)
from sklearn_ltr._core.cluster.engine import (
    NOBODY,
    Arguments,
    Loaded,
    LostWorkerError,
)
from sklearn_ltr._core.cluster.fit import WorkerData, WorkerResult, fit_on_worker
from sklearn_ltr._core.cluster.summaries import (
    BYTES_PER_ROW,
    Summary,
    read_columns,
    summarize,
)
from sklearn_ltr._core.cluster.tables import Part, Partition
from sklearn_ltr._core.compile.room_left import own_bytes_left
from sklearn_ltr._core.typing import IntArray

SETS = ("", "_val")  # suffixes: rows to learn from, and those that early stopping takes
VECTOR, FEATURE, LABEL, GROUP, IS_VALIDATION = "vector", "x:", "y:", "groups", "is_val"
WORKER = "worker"
RESULT = "result binary"  # the row that a task returns
NO_ENDPOINT = ""  # of a task that cannot listen
CONNECTING_SECONDS = 120  # for tasks, all of which are running, to connect to another
ATTEMPTS = 3  # of the barrier stage
# of barrier stages: unknown operations, dynamic allocation, and too few slots
REFUSALS = ("SPARK-24820", "SPARK-24942", "SPARK-24819")


class SparkPart(NamedTuple):
    """Some queries of the rows that a task of `load` has seen."""

    suffix: str
    task: int
    queries: IntArray | None  # their numbers among those of the task, None: all


class GivenToTask(NamedTuple):
    """What the tasks of a barrier stage are given, the same for all."""

    names: dict[str, Any]  # of columns by argument of `fit`
    key: bytes  # of the connections
    state: bytes
    numbers: list[list[IntArray]]  # by rank and set: of its queries, among all
    is_validated: bool


class SparkEngine:
    """A Spark DataFrame as an `Engine`; see :mod:`sklearn_ltr._core.cluster.engine`.

    Parameters
    ----------
    dataset : DataFrame
    n_tasks : int
        Most tasks of the fit.
    validation : str or None
        A column of booleans: true for rows that early stopping evaluates.
    """

    def __init__(
        self, dataset: DataFrame, n_tasks: int, validation: str | None
    ) -> None:
        self._dataset, self._n_tasks, self._validation = dataset, n_tasks, validation
        self._names: dict[str, Any] = {}
        self._rows = dataset
        self._summaries: dict[str, list[Summary | None]] = {}

    def load(self, arguments: Arguments, suffix: str) -> Loaded:
        """Return the rows that each task of a shuffle by query has, and summaries."""
        if suffix == SETS[0]:  # both sets have the same columns
            self._names = {n: v for n, v in arguments.items() if v is not None}
            self._rows = selected(self._dataset, self._names, self._validation)
            self._summaries = summaries_of(self._rows, self._names, self._n_tasks)
            self._check_both_sets()
        numbers = range(self._n_tasks)
        parts = [SparkPart(suffix, number, None) for number in numbers]
        return parts, self._summaries[suffix]

    def _check_both_sets(self) -> None:
        """Raise a ValueError if there are only rows of training, or of validation."""
        n_tasks = [len([s for s in found if s]) for found in self._summaries.values()]
        if self._validation is not None and any(n_tasks) and not all(n_tasks):
            what = "no row" if n_tasks[0] else "every row"
            raise ValueError(
                f"validationIndicatorCol={self._validation!r} is true in {what}: mark "
                "the rows of some queries, or leave it out"
            )

    def move(
        self, part: SparkPart, suffix: str, queries: IntArray, source: str
    ) -> SparkPart:
        """Return the part of some queries; `run` brings rows where they are needed."""
        return part._replace(queries=queries)

    def run(
        self, state: object, given: dict[str, list[WorkerData]], is_validated: bool
    ) -> list[WorkerResult]:
        """Run a barrier stage of a task for each worker; return the results by rank."""
        for_task = GivenToTask(
            self._names,
            secrets.token_bytes(16),
            cloudpickle.dumps(state),
            [[own.numbers for own in sets] for sets in given.values()],
            is_validated,
        )
        together = self._brought_together(given)
        for attempt in range(1, ATTEMPTS + 1):
            # a new plan, since Spark keeps the failure of one that has run
            stage = together.mapInArrow(
                lambda batches: as_rows(fit_in_task, batches, for_task),
                RESULT,
                barrier=True,
            )
            try:
                results = sorted(collected(stage))
            except (PySparkException, Py4JJavaError) as error:
                self._tell_loss(error, attempt)
            else:
                return [result for _, result in results]
        raise AssertionError("the last attempt returns or raises")

    def _tell_loss(self, error: Exception, attempt: int) -> None:
        """Warn that the fit begins again; raise an error if it does not."""
        lines = [line.strip(" :") for line in str(error).splitlines()]
        # the first line is about the call, by which an error of Java comes here
        why = next((line for line in lines if "Exception: " in line), lines[0])
        if re.search(r"Job \d+ cancelled", why):  # by the user
            raise error
        is_refused = any(refusal in str(error) for refusal in REFUSALS)
        if is_refused or attempt == ATTEMPTS or "barrier" not in str(error):
            raise LostWorkerError(
                f"Spark could not run the {self._n_tasks} tasks of the fit, which must "
                "all run at once, so the fit stopped and left the estimator as it was: "
                f"look for a lost executor, or give a smaller numTasks. Spark: {why}"
            ) from error
        warn_caller(
            "a task of the fit was lost, and the fit begins again; the model will be "
            f"the same. Spark: {why}",
            RuntimeWarning,
        )

    def _brought_together(self, given: dict[str, list[WorkerData]]) -> DataFrame:
        """Return the rows in a partition for each worker, in the order of ranks."""
        rank_of = {(s, n): NOBODY for s in SETS for n in range(self._n_tasks)}
        moved: list[tuple[Any, bool, int]] = []
        for rank, worker_data in enumerate(given.values()):
            for part, chosen in (entry for own in worker_data for entry in own.parts):
                queries = part.queries if chosen is None else chosen
                if queries is None:
                    rank_of[part.suffix, part.task] = rank
                    continue
                ids: Any = self._summaries[part.suffix][part.task].query_ids
                is_validation = part.suffix == SETS[1]
                moved += [(plain(ids[q]), is_validation, rank) for q in queries]
        # The rank of a row is that of the task that has seen it, or of its query
        tasks = [[rank_of[s, n] for n in range(self._n_tasks)] for s in SETS]
        ranks = F.when(
            F.col(IS_VALIDATION), element(tasks[1], task_of(self._n_tasks))
        ).otherwise(element(tasks[0], task_of(self._n_tasks)))
        rows = self._rows
        if moved:
            group, flag = rows.schema[GROUP], rows.schema[IS_VALIDATION]
            kinds = StructType([group, flag]).add(WORKER, IntegerType())
            table = F.broadcast(rows.sparkSession.createDataFrame(moved, kinds))
            rows = rows.join(table, [GROUP, IS_VALIDATION], "left")
            ranks = F.coalesce(F.col(WORKER), ranks)
        # Spark puts a row into the partition of a hash: find a number for each of them
        n = len(given)
        hashes = rows.sparkSession.range(64 * n).select(
            "id", F.expr(hash_text("id", n))
        )
        number_of = {place: number for number, place in reversed(hashes.collect())}
        salts = [number_of[rank] for rank in range(n)]
        rows = rows.withColumn(WORKER, ranks).where(F.col(WORKER) != NOBODY)
        salt = element(salts, F.col(WORKER)).cast("long")
        return rows.withColumn(WORKER, salt).repartition(n, WORKER)


def tasks_at_once(session: SparkSession, n_tasks: int | None) -> int:
    """Return how many tasks fit, of those asked for: no more than run at once."""
    if is_remote():
        if n_tasks is None:
            raise ValueError(
                "numTasks is None, and Spark Connect does not tell how many tasks run "
                "at once: give a numTasks that Spark has room for"
            )
        return n_tasks
    # `defaultParallelism` is a number of the user, where there is one
    context = session.sparkContext._jsc.sc()
    profile = context.resourceProfileManager().defaultResourceProfile()
    most = max(1, int(context.maxNumConcurrentTasks(profile)))
    return most if n_tasks is None else min(n_tasks, most)  # Spark would wait for more


def hash_text(column: str, n: int) -> str:
    """Return the SQL of the partition that a shuffle by a column gives a row."""
    return f"pmod(hash({column}), {n})"


def task_of(n_tasks: int) -> Column:
    """Return which task of `load` has seen a row."""
    return F.expr(hash_text(GROUP, n_tasks))


def element(values: list[int], index: Column) -> Column:
    """Return the element of a list at an index."""
    return F.element_at(F.array(*map(F.lit, values)), (index + 1).cast("int"))


def plain(query_id: Any) -> Any:
    """Return the id of a query as an object of Python."""
    return query_id.item() if isinstance(query_id, np.generic) else query_id


# --- columns --------------------------------------------------------------------------


def selected(
    dataset: DataFrame, names: Mapping[str, Any], validation: str | None
) -> DataFrame:
    """Return the columns that a fit needs, by the names that `partition_of` knows."""
    columns = feature_columns(dataset, names["X"])
    for number, name in enumerate(names["y"]):
        columns[f"{LABEL}{number}"] = numbers_in(dataset, name)
    columns[GROUP] = queries_in(dataset, names["groups"])
    columns |= {
        argument: numbers_in(dataset, name)
        for argument, name in names.items()
        if argument not in ("X", "y", "groups")
    }
    columns[IS_VALIDATION] = F.lit(False)
    if validation is not None:
        column, kind = typed_column(dataset, validation)
        if not isinstance(kind, BooleanType | NumericType):
            found = words_for(validation, kind)
            raise TypeError(f"{found}, not of booleans or of 0 and 1")
        columns[IS_VALIDATION] = column.cast("boolean")
    return dataset.select(*(c.alias(name) for name, c in columns.items()))


def feature_columns(dataset: DataFrame, features: Any) -> dict[str, Column]:
    """Return the columns of features, by the names that `features_in` knows."""
    if not isinstance(features, str):
        if len(features) == 0:
            raise ValueError("featuresCols is empty: name a column of features")
        twice = [name for name in features if features.count(name) > 1]
        if twice:
            raise ValueError(f"featuresCols has {twice[0]!r} twice")
        return {f"{FEATURE}{name}": feature_in(dataset, name) for name in features}
    column, kind = typed_column(dataset, features)
    if isinstance(kind, VectorUDT):
        return {VECTOR: vector_to_array(column)}
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
        return {VECTOR: column.cast("array<double>")}
    raise TypeError(
        f"featuresCol: {words_for(features, kind)}, not of vectors or arrays of "
        "numbers: name columns of single features by featuresCols, or assemble them by "
        "pyspark.ml.feature.VectorAssembler"
    )


def feature_in(dataset: DataFrame, name: str) -> Column:
    """Return a column of text or numbers."""
    column, kind = typed_column(dataset, name)
    return column if isinstance(kind, StringType) else numbers_in(dataset, name)


def numbers_in(dataset: DataFrame, name: str) -> Column:
    """Return a column of numbers or booleans."""
    column, kind = typed_column(dataset, name)
    if isinstance(kind, NumericType | BooleanType):
        return column
    raise TypeError(f"{words_for(name, kind)}, not of numbers")


def queries_in(dataset: DataFrame, name: str) -> Column:
    """Return a column of ids, times and decimals as those of another type."""
    # `_brought_together` makes a DataFrame of them, in which they must be the same
    column, kind = typed_column(dataset, name)
    if isinstance(kind, TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, DateType | TimestampNTZType):
        return column.cast("string")
    if isinstance(kind, DecimalType) and kind.scale == 0 and kind.precision <= 18:
        return column.cast("long")
    if isinstance(kind, NumericType | StringType | BooleanType | BinaryType):
        if not isinstance(kind, DecimalType):
            return column
    raise TypeError(f"groupCol: {words_for(name, kind)}: cast it to numbers or text")


def words_for(name: str, kind: DataType) -> str:
    """Return words that say which type a column has."""
    return f"{name!r} is a column of {kind.simpleString()}"


def typed_column(dataset: DataFrame, name: str) -> tuple[Column, DataType]:
    """Return a column and its type; raise a ValueError that names those there are."""
    n_columns = dataset.columns.count(name)
    if n_columns != 1:
        what = "no column" if n_columns == 0 else f"{n_columns} columns"
        raise ValueError(
            f"the DataFrame has {what} {name!r}; it has {', '.join(dataset.columns)}"
        )
    quoted = name.replace("`", "``")  # a point in it names no field
    return dataset[f"`{quoted}`"], dataset.schema[name].dataType


# --- in tasks -------------------------------------------------------------------------


def summaries_of(
    rows: DataFrame, names: dict[str, Any], n_tasks: int
) -> dict[str, list[Summary | None]]:
    """Return the summaries of the tasks of a shuffle by query, by suffix."""
    features = (VECTOR, FEATURE)
    needed = [name for name in rows.columns if not name.startswith(features)]
    looked = rows.select(*needed).repartition(n_tasks, GROUP)
    others = {argument: name for argument, name in names.items() if argument != "X"}
    found: dict[str, list[Summary | None]] = {s: [None] * n_tasks for s in SETS}
    stage = looked.mapInArrow(
        lambda batches: as_rows(summarize_in_task, batches, others), RESULT
    )
    for number, summaries in collected(stage):
        for suffix, summary in summaries.items():
            found[suffix][number] = summary
    return found


def summarize_in_task(
    batches: Iterator[pa.RecordBatch], names: dict[str, Any]
) -> tuple[int, dict[str, Summary | None]]:
    """Return the number of this task, and the summaries of its rows."""
    number = TaskContext.get().partitionId()
    worker = f"task {number:06}"  # in this order they are ranks
    table, found = table_of(batches), {}
    if table is not None:
        for suffix, rows in sets_of(table).items():
            part = partition_of(rows, names, suffix)
            part[f"X{suffix}"] = np.empty((rows.num_rows, 0))  # not looked at here
            found[suffix] = summarize(part, number, suffix, worker, "", np.inf)
    return number, found


def fit_in_task(
    batches: Iterator[pa.RecordBatch], given: GivenToTask
) -> tuple[int, WorkerResult]:
    """Fit the rows of this task together with all others; return rank and result."""
    # 1. Every task listens, and tells the others where
    context = BarrierTaskContext.get()
    rank = context.partitionId()
    host = context.getTaskInfos()[rank].address.rpartition(":")[0]
    try:
        connections = Connections(
            given.key, f"task {rank}", host, host, seconds=CONNECTING_SECONDS
        )
    except OSError as error:
        context.allGather(NO_ENDPOINT)  # the others wait for it
        raise RuntimeError(
            f"task {rank} cannot listen at {host}, as Spark calls it ({error})"
        ) from error
    texts = context.allGather(json.dumps(connections.endpoint()))
    if NO_ENDPOINT in texts:
        connections.close()
        raise LostConnectionError(f"task {texts.index(NO_ENDPOINT)} cannot listen")
    endpoints = [Endpoint(*json.loads(text)) for text in texts]
    comm = SocketComm(rank, endpoints, connections, context.cpus(), print_in_log)
    # 2. They connect, read their rows and fit: if one fails, it closes its connections
    parts = parts_of(with_room(batches, given.names["X"]), given.names)
    numbers = given.numbers[rank]
    return rank, fit_on_worker(given.state, comm, parts, numbers, given.is_validated)


def parts_of(
    batches: Iterator[pa.RecordBatch], names: dict[str, Any]
) -> Iterator[list[tuple[Part, IntArray | None]]]:
    """Yield the rows of this task as `fit_on_worker` takes them, a set at a time."""
    table = table_of(batches)
    for suffix, rows in ({} if table is None else sets_of(table)).items():
        part = partition_of(rows, names, suffix)
        read_columns(part[f"X{suffix}"], f"X{suffix}")  # names one of infinity
        yield [(part, None)]


def print_in_log(line: str) -> None:
    """Print a line in the log of the executor, which a local session shows."""
    print(line, file=sys.stderr, flush=True)


def with_room(
    batches: Iterator[pa.RecordBatch], features: Any
) -> Iterator[pa.RecordBatch]:
    """Yield batches, as long as a fit of their rows has room in this task."""
    # how many features vectors have is not known here
    n_features = 0 if isinstance(features, str) else len(features)
    n_rows, n_read = 0, 0
    for batch in batches:
        n_rows, n_read = n_rows + batch.num_rows, n_read + batch.nbytes
        needed = n_read + n_rows * (BYTES_PER_ROW + 9 * n_features)
        left = own_bytes_left()
        if needed - n_read > left:
            raise MemoryError(
                f"a task of the fit has {n_rows:,} rows or more, which need "
                f"{needed / 1e9:.1f} GB, and {left / 1e9:.1f} GB are left: "
                "give a larger numTasks on more executors, or executors of more memory"
            )
        yield batch


def table_of(batches: Iterator[pa.RecordBatch]) -> pa.Table | None:
    """Return the rows of a task, None if there are none."""
    kept = [batch for batch in batches if batch.num_rows > 0]
    return pa.Table.from_batches(kept) if kept else None


def sets_of(table: pa.Table) -> dict[str, pa.Table]:
    """Return the rows of training, and those of validation, by suffix."""
    flags = table[IS_VALIDATION]
    if flags.null_count > 0:
        raise ValueError(
            f"validationIndicatorCol is null in {flags.null_count} rows: give true or "
            "false"
        )
    is_validation = flags.to_numpy().astype(bool)
    if not is_validation.any():
        return {SETS[0]: table}
    chosen = {SETS[0]: ~is_validation, SETS[1]: is_validation}
    return {s: table.filter(pa.array(rows)) for s, rows in chosen.items() if rows.any()}


def partition_of(table: pa.Table, names: Mapping[str, Any], suffix: str) -> Partition:
    """Return rows as arguments of `LambdaMARTRanker.fit`."""
    part: Partition = {}
    for argument, name in names.items():
        if argument == "y":
            labels = [numbers_of(table[f"{LABEL}{n}"]) for n in range(len(name))]
            part[f"y{suffix}"] = labels[0]
            if len(name) > 1:
                frame = pd.DataFrame(dict(zip(name, labels, strict=True)))
                part[f"y{suffix}"] = frame
        elif argument == "X":
            part[f"X{suffix}"] = features_in(table, name)
        elif argument == "groups":
            part[f"groups{suffix}"] = table[argument].to_numpy()
        else:
            part[f"{argument}{suffix}"] = numbers_of(table[argument])
    return part


def features_in(table: pa.Table, features: Any) -> Any:
    """Return X of some rows: an array of vectors, or a DataFrame of columns."""
    if not isinstance(features, str):
        columns = table.select([f"{FEATURE}{name}" for name in features])
        return features_of(columns.rename_columns(features), features)
    vectors = pa.concat_arrays(table[VECTOR].chunks)
    if vectors.null_count > 0:
        raise ValueError(
            f"featuresCol={features!r} has {vectors.null_count} rows without a vector: "
            "drop them, or give vectors of NaN"
        )
    sizes = np.diff(vectors.offsets.to_numpy())
    if sizes.min() != sizes.max():
        raise ValueError(
            f"featuresCol={features!r} has vectors of {sizes.min()} and of "
            f"{sizes.max()} numbers: give all the same features"
        )
    numbers = vectors.flatten().to_numpy(zero_copy_only=False)
    return numbers.reshape(len(vectors), -1)


def as_rows(
    work: Callable[..., Any], batches: Iterator[pa.RecordBatch], *given: Any
) -> Iterator[pa.RecordBatch]:
    """Yield what a function returns, or its error, as the only row of a task."""
    try:
        found = work(batches, *given)
    except Exception as error:
        found = error
    yield pa.RecordBatch.from_pydict({"result": [cloudpickle.dumps(found)]})


def collected(stage: DataFrame) -> list[Any]:
    """Return what the tasks have returned; raise the error of one that failed."""
    session = stage.sparkSession
    if is_remote():
        add, cancel, remove = session.addTag, session.interruptTag, session.removeTag
    else:  # PySpark 3.5 has these only
        context = session.sparkContext
        add, cancel = context.addJobTag, context.cancelJobsWithTag
        remove = context.removeJobTag
    tag = f"sklearn_ltr {secrets.token_hex(8)}"
    add(tag)
    try:
        found = [pickle.loads(row[0]) for row in stage.collect()]
    except BaseException:
        # After Ctrl-C: PySpark asks Java to end all tasks, but on the connection that
        # waits for them, so that it fails; PySpark 3.5 raises a Py4JError then
        cancel(tag)
        raise
    finally:
        remove(tag)
    errors = [value for value in found if isinstance(value, Exception)]
    # a task whose connection was lost does not know the cause: another one's error
    errors.sort(key=lambda error: isinstance(error, LostConnectionError))
    for error in errors:
        raise error
    return found
