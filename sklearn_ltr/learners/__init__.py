"""Learners: what moves the scores.  They know X, a gradient and a hessian.

Nothing here knows a query, a grade or a metric: a cost is a function that turns scores
into its derivatives.
"""

from sklearn_ltr.learners._network import TorchNetwork

__all__ = ["TorchNetwork"]
