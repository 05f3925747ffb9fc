"""Rankers that the workers of a Dask cluster fit together.

It needs Dask: ``pip install "sklearn_ltr[dask]"``.
"""

from sklearn_ltr._saved import publish
from sklearn_ltr.dask._ranker import DaskLambdaMARTRanker

__all__ = ["DaskLambdaMARTRanker"]
publish(globals())
