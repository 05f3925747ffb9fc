"""What the trees of a ranker learn from: lambdas, or the function of a user."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.lambdas._objective import LambdaObjective, PairOptions
from sklearn_ltr.lambdas._position_bias import PositionBias
from sklearn_ltr.lambdas._regression import Regression
from sklearn_ltr.lambdas._user_objective import UserObjective
from sklearn_ltr.rankers._tree_ranker_parameters import TreeRankerParameters

FloatArray = NDArray[np.float64]
LAMBDA_TOTALS = (1e-150, 1e150)  # whose squares, the gains of splits, are finite


class TreeObjective:
    """Gradient and hessian of the training rows, and the position bias along with them.

    They are those of lambdas and of the regression on the grades, or of the user's
    function alone.  Where a bias is learned, all see the scores with the bias of the
    row's position.

    Parameters
    ----------
    ranker : TreeRankerParameters
        Its `position_bias_` is set at each call.
    data : TrainingData
    team : ThreadTeam
    bias : PositionBias or None
        What is learned of the positions along with the trees.
    steps : iterator of (int, float)
        Index and learning rate of each tree.
    """

    def __init__(
        self,
        ranker: TreeRankerParameters,
        data: TrainingData,
        team: ThreadTeam,
        bias: PositionBias | None,
        steps: Iterator[tuple[int, float]],
    ) -> None:
        self._ranker, self._data, self.bias, self._steps = ranker, data, bias, steps
        self._metric = ranker._trained_metric(ranker.truncation_level)
        self._lambdas: LambdaObjective | UserObjective
        self._regression: Regression | None = None
        if callable(ranker.objective):
            self._lambdas = UserObjective(data, ranker.objective, needs_hessian=True)
        else:
            options = PairOptions(
                ranker.sigma, ranker.distance_normalization, ranker.query_normalization
            )
            self._lambdas = LambdaObjective(
                data, self._metric, options, team, ranker._pair_weights(data, bias)
            )
            if ranker.regression_weight > 0:
                weight = ranker.regression_weight
                self._regression = Regression(data, weight, ranker.sigma)
        self._is_first = True

    def __call__(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of all rows for their scores, (n_rows,) each."""
        ranker = self._ranker
        if self.bias is not None:
            scores = self.bias.as_shown(scores)
        gradient, hessian = self._lambdas(scores)
        if self._is_first:
            ranker._check_lambdas(gradient, LAMBDA_TOTALS, self._metric, self._data)
        self._is_first = False
        if self._regression is not None:
            self._regression.add(scores, gradient, hessian)
        if self.bias is not None:
            _, rate = next(self._steps)
            self.bias.step(gradient, hessian, rate)
            ranker.position_bias_ = self.bias.values
        return gradient, hessian

    def set_bias_after(self, n_trees: int) -> None:
        """Set the ranker's bias to that after so many of the trees of this fit."""
        if self.bias is not None:
            self._ranker.position_bias_ = self.bias.path[max(0, n_trees)]
