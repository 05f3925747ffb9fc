"""MART with least squares (section 5 of the report)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import check_array

from sklearn_ltr._estimators.parameters import with_parameters_of
from sklearn_ltr._estimators.tree_parameters import TreeParameters
from sklearn_ltr.mart._base import BoostedMART, Examples
from sklearn_ltr.mart._objectives import SquaredError

FloatArray = NDArray[np.float64]


@with_parameters_of(
    TreeParameters,
    "{tree parameters}",
    drawn="rows",
    split_noise="0.0",
)
@dataclass(eq=False, repr=False)
class MARTRegressor(RegressorMixin, BoostedMART):
    r"""MART for numbers: gradient boosted trees and least squares.

    Every tree models the residuals, and its leaves are their means (section 5 of the
    report, equation 12, for half the squared error):

    .. math::

        L(y, F) = \tfrac{1}{2} (y - F)^2, \qquad
        \gamma_{jm} = \frac{\sum_{x_i \in R_{jm}} (y_i - F_{m-1}(x_i))}{|R_{jm}|},
        \qquad F_m(x) = F_{m-1}(x) + \eta \gamma_{jm}.

    F_0 is the mean of y.  Both split gains are the same here, up to `sample_weight` and
    `l2_regularization`.

    Trained on relevance grades it is the pointwise baseline of learning to rank.

    Parameters
    ----------
    {tree parameters}

    Attributes
    ----------
    base_score_ : float
        F_0.
    ensemble_ : TreeEnsemble
        The trees, as arrays.
    n_iter_ : int
        Number of trees kept.
    train_score_, validation_score_ : ndarrays of shape (n_trees + 1,), float64
        Minus half the mean squared error before the first tree and after each, those
        dropped by early stopping included; empty where nothing was measured
        (`train_score_` without early stopping and with ``verbose=0``;
        `validation_score_` without early stopping).
    feature_importances_ : ndarray of shape (n_features,), float64
        Share of each column in the gain of all splits; they sum to 1.
    n_features_in_ : int
        Number of columns at `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they were strings.

    References
    ----------
    J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
    Statistics 29(5), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ltr.mart import MARTRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> MARTRegressor(n_estimators=20, max_leaf_nodes=5).fit(X, y).predict(X[:1]).shape
    (1,)
    """

    def predict(self, X: Any) -> FloatArray:
        """Return F, (n_samples,) float64."""
        return self._scores(X)

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield F after each tree, (n_samples,) float64."""
        yield from self._staged_scores(X)

    def _targets(self, y: Any, name: str, *, reset: bool) -> FloatArray:
        targets: FloatArray = check_array(
            y, ensure_2d=False, dtype=np.float64, input_name=name
        )
        return targets

    def _cost(self, examples: Examples) -> SquaredError:
        return SquaredError(examples.y, examples.weights)
