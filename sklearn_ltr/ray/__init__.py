"""LambdaMART for Ray datasets: actors of a Ray cluster fit together.

It needs Ray: ``python -m pip install ".[ray]"`` in a copy of the source.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.ray._ranker import RayLambdaMARTRanker

__all__ = ["RayLambdaMARTRanker"]
publish(globals())
