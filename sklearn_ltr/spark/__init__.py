"""LambdaMART for Spark DataFrames: the tasks of a barrier stage fit together.

It needs PySpark: ``python -m pip install ".[spark]"`` in a copy of the source.
"""

from sklearn_ltr._core.public_names import publish

try:
    from sklearn_ltr.spark._ranker import SparkLambdaMARTModel, SparkLambdaMARTRanker
except ModuleNotFoundError as error:
    library = (error.name or "").partition(".")[0]
    if library not in ("pyspark", "pandas", "pyarrow"):
        raise
    raise ImportError(
        f"sklearn_ltr.spark requires {library}: install it by "
        'python -m pip install ".[spark]" in a copy of the source'
    ) from error

__all__ = ["SparkLambdaMARTModel", "SparkLambdaMARTRanker"]
publish(globals())
