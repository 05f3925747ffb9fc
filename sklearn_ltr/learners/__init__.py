"""Models that are trained on gradients: networks and boosted trees.

A learner sees features, gradients and hessians.  It knows nothing of queries, grades or
metrics: the cost is passed to it as a function from scores to derivatives.
"""

from sklearn_ltr.learners._network import TorchNetwork

__all__ = ["TorchNetwork"]
