"""Networks: forward pass to scores, backward pass to gradients, optimizer steps."""

from sklearn_ltr._core.networks.network import Network, predict
from sklearn_ltr._core.networks.optimizers import GRADIENTS, Optimizer
from sklearn_ltr._core.networks.perceptron import MultilayerPerceptron
from sklearn_ltr._core.networks.torch import TorchNetwork
