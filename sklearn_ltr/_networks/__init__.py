"""Networks: forward pass to scores, backward pass to gradients, optimizer steps."""

from sklearn_ltr._networks.network import (
    Network,
    check_network,
    predict,
)
from sklearn_ltr._networks.optimizers import (
    GRADIENTS,
    SMALLEST_SINGLE,
    SOLVERS,
    Optimizer,
    read_solver_params,
)
from sklearn_ltr._networks.perceptron import MultilayerPerceptron
from sklearn_ltr._networks.torch import TorchNetwork
