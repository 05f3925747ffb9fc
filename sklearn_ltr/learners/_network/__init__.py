"""Networks: forward pass to scores, backward pass to gradients, optimizer steps."""

from sklearn_ltr.learners._network.descent import (
    Batch,
    Network,
    check_network,
    descend,
    predict,
)
from sklearn_ltr.learners._network.optimizers import SGD, Adam, Optimizer
from sklearn_ltr.learners._network.perceptron import MultilayerPerceptron
from sklearn_ltr.learners._network.torch import TorchNetwork

__all__ = [
    "SGD",
    "Adam",
    "Batch",
    "MultilayerPerceptron",
    "Network",
    "Optimizer",
    "TorchNetwork",
    "check_network",
    "descend",
    "predict",
]
