"""The weights of a network without hidden layers, under scikit-learn's names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._networks import MultilayerPerceptron, Network
from sklearn_ltr._rankers._network_parameters import NetworkParameters


class LinearWeights(NetworkParameters):
    """A ranker with a network: its weights, if the network is a linear model."""

    network_: Network

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weight of each feature, (n_features,) float64: ``s = X @ coef_``.

        An AttributeError if the network is not linear.
        """
        network = self._linear_network("coef_")
        return network.coefs[0][:, 0].astype(np.float64)

    @property
    def intercept_(self) -> float:
        """0.0: ranking costs depend on differences of scores only.

        An AttributeError if the network is not linear.
        """
        self._linear_network("intercept_")
        return 0.0

    def _linear_network(self, name: str) -> MultilayerPerceptron:
        """Return the network; an AttributeError that names the attribute if hidden."""
        network = self._fitted().network_
        if isinstance(network, MultilayerPerceptron) and not network.intercepts:
            return network
        raise AttributeError(
            f"{name} exists only for a network without hidden layers, "
            "hidden_layer_sizes=(); the weights of others are in network_"
        )
