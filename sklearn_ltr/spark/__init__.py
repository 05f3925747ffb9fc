"""LambdaMART for the rows of Spark DataFrames: the tasks of a barrier stage fit together.

It needs PySpark: ``python -m pip install ".[spark]"`` in a copy of the source.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.spark._ranker import SparkLambdaMARTModel, SparkLambdaMARTRanker

__all__ = ["SparkLambdaMARTModel", "SparkLambdaMARTRanker"]
publish(globals())
