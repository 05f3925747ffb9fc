"""LambdaMART as an Estimator of Spark ML, and its model as a Transformer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasValidationIndicatorCol,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.cluster.arrow import numbers_of
from sklearn_ltr._core.cluster.engine import fit_ranker, local_ranker
from sklearn_ltr._core.data import COLUMNS, HELD_OUT_BY
from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.export import from_json, to_json
from sklearn_ltr.spark._engine import (
    SparkEngine,
    feature_columns,
    features_in,
    numbers_in,
    tasks_at_once,
)

PARAMETERS = LambdaMARTRanker().get_params()  # with their defaults
del PARAMETERS["warm_start"]  # an Estimator of Spark returns a new model each time


def column_param(argument: str) -> str:
    """Return the name of the Param for an argument of `fit` by row."""
    if argument == "sample_weight":
        return "weightCol"  # as all Estimators of Spark call it
    first, *others = argument.split("_")
    return f"{first}{''.join(map(str.title, others))}Col"


INIT_SCORE = "init_score"
COLUMN_PARAMS = {n: column_param(n) for n in COLUMNS if n not in HELD_OUT_BY}


class RowParams(HasFeaturesCol, HasPredictionCol):
    """The Params of an estimator and its model: what they read, and what is written."""

    featuresCols: Param[list[str]] = Param(
        Params._dummy(),
        "featuresCols",
        "columns of single features, numbers, booleans or text (categories), in place "
        "of featuresCol",
        TypeConverters.toListString,
    )
    initScoreCol: Param[str] = Param(
        Params._dummy(),
        "initScoreCol",
        "column of F_0 of each document, see LambdaMARTRanker",
        TypeConverters.toString,
    )

    def getFeaturesCols(self) -> list[str]:
        """Return the columns of single features."""
        return list(self.getOrDefault(self.featuresCols))

    def _set_known(self, params: dict[str, Any]) -> None:
        """Set Params by their names, or raise a TypeError that names an unknown one."""
        unknown = [name for name in params if not self.hasParam(name)]
        if unknown:
            known = ", ".join(param.name for param in self.params)
            raise TypeError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {known}"
            )
        self._set(**params)

    def _features(self) -> str | list[str]:
        """Return the column of vectors, or the columns of single features."""
        is_by_column = self.isDefined(self.featuresCols)
        return self.getFeaturesCols() if is_by_column else str(self.getFeaturesCol())


class SparkLambdaMARTRanker(
    Estimator,
    RowParams,
    HasLabelCol,
    HasWeightCol,
    HasValidationIndicatorCol,
    DefaultParamsReadable,
    DefaultParamsWritable,
):
    """A LambdaMARTRanker that is fitted to the rows of a Spark DataFrame.

    The model equals that of a :class:`~sklearn_ltr.LambdaMARTRanker` fitted to all rows
    in one place, bit for bit, for any number of tasks and partitions.  The tasks of one
    barrier stage fit together: all must have room to run at once.

    Columns are named by Params of Spark ML, in its style (`featuresCol`, `labelCol`,
    `weightCol`, `predictionCol`), so that Spark's pipelines, grids and
    cross-validators find them; parameters of the ranker have their own names and
    defaults, as those of scikit-learn have in ``xgboost.spark``.

    Parameters
    ----------
    featuresCol : str, default="features"
        A column of vectors or arrays, all of one length.
    featuresCols : list of str, default=None
        In its place: columns of single features.  Text is read as categories.
    labelCol : str, default="label"
        The relevance grades.
    labelCols : list of str, default=None
        In its place: several labels, see `label_weights`.
    groupCol : str
        The query of each row.  Spark brings the rows of a query together.
    weightCol, documentWeightCol, propensitiesCol, positionsCol, initScoreCol : str, \
default=None
        Columns of `sample_weight`, `document_weight`, `propensities`, `positions` and
        `init_score` of :class:`~sklearn_ltr.LambdaMARTRanker`.
    validationIndicatorCol : str, default=None
        Booleans: true for the rows of queries that early stopping evaluates, and that
        nothing is learned from.
    predictionCol : str, default="prediction"
        Where the model writes scores.
    numTasks : int, default=None
        Most tasks that fit together, no more than Spark runs at once.  None: so many
        (not with Spark Connect, which does not tell).
        Each has as many threads as ``spark.task.cpus``, or `n_jobs`.
    **parameters
        Those of :class:`~sklearn_ltr.LambdaMARTRanker` but `warm_start`.  `init` must
        be fitted.  What `verbose` prints is in the log of an executor.

    See Also
    --------
    sklearn_ltr.LambdaMARTRanker : Documents the parameters.

    Notes
    -----
    Errors name arguments of :class:`~sklearn_ltr.LambdaMARTRanker` (X, y, groups) and
    the number of a task's partition.  If an executor is lost, the fit begins again
    (twice at most), and a RuntimeWarning says so.  sklearn_ltr must be installed on all
    executors, in the same version.

    Examples
    --------
    >>> from sklearn_ltr.spark import SparkLambdaMARTRanker
    >>> ranker = SparkLambdaMARTRanker(
    ...     featuresCols=["bm25", "clicks"], labelCol="grade", groupCol="query",
    ...     random_state=0,
    ... )
    >>> model = ranker.fit(spark.read.parquet("judgements/"))  # doctest: +SKIP
    >>> model.transform(documents).write.parquet("scores/")  # doctest: +SKIP
    >>> local = model.to_local()  # a LambdaMARTRanker  # doctest: +SKIP
    """

    labelCols: Param[list[str]] = Param(
        Params._dummy(),
        "labelCols",
        "columns of several labels, in place of labelCol",
        TypeConverters.toListString,
    )
    groupCol: Param[str] = Param(
        Params._dummy(), "groupCol", "column of the query", TypeConverters.toString
    )
    numTasks: Param[int | None] = Param(
        Params._dummy(), "numTasks", "most tasks that fit together"
    )

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(numTasks=None, **PARAMETERS)
        self._set_known(params)

    def _fit(self, dataset: DataFrame) -> SparkLambdaMARTModel:
        """Fit to the rows of a DataFrame."""
        if not self.isDefined(self.groupCol):
            raise ValueError("groupCol is not set: name the column of the query")
        n_tasks = self.getOrDefault(self.numTasks)
        is_number = isinstance(n_tasks, int) and not isinstance(n_tasks, bool)
        if n_tasks is not None and (not is_number or n_tasks < 1):
            raise ValueError(f"numTasks must be None or at least 1, got {n_tasks!r}")
        n_tasks = tasks_at_once(dataset.sparkSession, n_tasks)
        several = self.isDefined(self.labelCols)
        labels = self.getOrDefault(self.labelCols) if several else [self.getLabelCol()]
        names = {
            "X": self._features(),
            "y": labels,
            "groups": self.getOrDefault(self.groupCol),
        }
        columns = {
            argument: self.getOrDefault(param)
            for argument, param in COLUMN_PARAMS.items()
            if self.isDefined(param)
        }
        indicator, validation = None, {}
        if self.isDefined(self.validationIndicatorCol):
            indicator = self.getValidationIndicatorCol()
            validation = {f"{name}_val": values for name, values in names.items()}
            columns |= {f"{name}_val": values for name, values in columns.items()}
        ranker = LambdaMARTRanker(**{n: self.getOrDefault(n) for n in PARAMETERS})
        engine = SparkEngine(dataset, n_tasks, indicator)
        fit_ranker(ranker, lambda: engine, names, validation, columns)
        model = SparkLambdaMARTModel(local_ranker(ranker))
        self._copyValues(model)
        return model


for argument, column in COLUMN_PARAMS.items():
    if not hasattr(SparkLambdaMARTRanker, column):
        doc = f"column of {argument}, see LambdaMARTRanker"
        given = Param(Params._dummy(), column, doc, TypeConverters.toString)
        setattr(SparkLambdaMARTRanker, column, given)
for parameter in PARAMETERS:
    doc = f"{parameter} of LambdaMARTRanker"
    setattr(SparkLambdaMARTRanker, parameter, Param(Params._dummy(), parameter, doc))


class SparkLambdaMARTModel(Model, RowParams, MLWritable, MLReadable):
    """A fitted ranker that scores Spark DataFrames.

    Parameters
    ----------
    ranker : LambdaMARTRanker, default=None
        Fitted; also one that was fitted without Spark.
    **params
        `featuresCol` or `featuresCols`, `predictionCol`, and `initScoreCol`.

    Examples
    --------
    >>> from sklearn_ltr.spark import SparkLambdaMARTModel
    >>> SparkLambdaMARTModel.load("model/").transform(documents)  # doctest: +SKIP
    """

    def __init__(self, ranker: LambdaMARTRanker | None = None, **params: Any) -> None:
        super().__init__()
        self._ranker = ranker
        self._set_known(params)

    def to_local(self) -> LambdaMARTRanker:
        """Return the ranker, which needs no Spark.

        Returns
        -------
        ranker : LambdaMARTRanker
        """
        if self._ranker is None:
            raise ValueError("the model has no ranker: fit or load one")
        return self._ranker

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """Add the column of scores."""
        model = local_ranker(self.to_local()).set_params(n_jobs=1)  # a task has one CPU
        features = self._features()
        columns = feature_columns(dataset, features)
        if self.isDefined(self.initScoreCol):
            init_score = self.getOrDefault(self.initScoreCol)
            columns[INIT_SCORE] = numbers_in(dataset, init_score)
        given = F.struct(*(column.alias(name) for name, column in columns.items()))
        # Arrow's types, which pandas' columns of nothing but missing values have not
        row = dataset.select(given.alias("row")).schema["row"].dataType
        types = to_arrow_schema(StructType(list(row)))

        def scores_of(frames: Iterator[pd.DataFrame]) -> Iterator[pd.Series]:
            for frame in frames:
                yield pd.Series(scores_of_rows(model, frame, types, features))

        scores = F.pandas_udf(scores_of, "double")(given)
        return dataset.withColumn(self.getPredictionCol(), scores)

    def write(self) -> MLWriter:
        """Return the writer of Spark ML."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[Self]:
        """Return the reader of Spark ML."""
        return ModelReader()


class ModelWriter(MLWriter):
    """Writes Params as Spark does, and beside them the ranker as JSON."""

    def __init__(self, model: SparkLambdaMARTModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:
        """Write to a path, which does not exist."""
        more = {"ranker": to_json(self._model.to_local())}
        DefaultParamsWriter.saveMetadata(self._model, path, self.sc, more)


class ModelReader(MLReader):
    """Reads what `ModelWriter` has written."""

    def load(self, path: str) -> SparkLambdaMARTModel:
        """Return the model at a path."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sc)
        model = SparkLambdaMARTModel(from_json(metadata["ranker"]))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def scores_of_rows(
    ranker: LambdaMARTRanker,
    frame: pd.DataFrame,
    types: pa.Schema,
    features: str | list[str],
) -> FloatArray:
    """Return the scores of some rows, whose columns are those of `feature_columns`."""
    if len(frame) == 0:
        return np.empty(0)
    table = pa.Table.from_pandas(frame, types, preserve_index=False)
    init_score = numbers_of(table[INIT_SCORE]) if INIT_SCORE in frame else None
    return ranker.predict(features_in(table, features), init_score=init_score)
