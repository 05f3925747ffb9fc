"""LambdaMART for data on several machines: the workers of a Dask cluster fit together.

It needs Dask: ``python -m pip install ".[dask]"`` in a copy of the source.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.dask._ranker import DaskLambdaMARTRanker

__all__ = ["DaskLambdaMARTRanker"]
publish(globals())
