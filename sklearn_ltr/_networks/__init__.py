"""Networks: forward pass to scores, backward pass to gradients, optimizer steps."""

from sklearn_ltr._networks.network import Network, predict
from sklearn_ltr._networks.optimizers import GRADIENTS, Optimizer
from sklearn_ltr._networks.perceptron import MultilayerPerceptron
from sklearn_ltr._networks.torch import TorchNetwork
