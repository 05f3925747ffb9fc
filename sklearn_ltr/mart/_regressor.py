"""MART with least squares (section 5 of the report)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from sklearn_ltr._data import TrainingData, read_numbers
from sklearn_ltr._parameters import LARGEST_SCORE
from sklearn_ltr.mart._base import BaseMART
from sklearn_ltr.mart._objectives import HalfSquaredError

FloatArray = NDArray[np.float64]


class MARTRegressor(RegressorMixin, BaseMART):
    r"""MART for numbers: gradient boosted trees and least squares.

    Every tree models the residuals, and its leaves are their means (section 5 of the
    report, equation 12, for half the squared error):

    .. math::

        L(y, F) = \tfrac{1}{2} (y - F)^2, \qquad
        \gamma_{jm} = \frac{\sum_{x_i \in R_{jm}} (y_i - F_{m-1}(x_i))}{|R_{jm}|},
        \qquad F_m(x) = F_{m-1}(x) + \eta \gamma_{jm}.

    F_0 is the mean of y.  Both split gains are the same here, up to `sample_weight` and
    `l2_regularization`.

    Trained on relevance grades it is the pointwise baseline of learning to rank.  For
    other losses use :class:`sklearn.ensemble.HistGradientBoostingRegressor`.

    Parameters
    ----------
    n_estimators : int >= 1, default=100
        Maximum number of trees.
    learning_rate : float in [1e-50, 1e50] or callable, default=0.1
        The report's eta: factor of each tree's step.  A callable gives that of
        each tree from its index, 0, 1, ...: ``lambda m: 0.3 * 0.98**m``.  A warm start
        goes on counting.  Only a function of a module can be pickled, not a lambda.
    max_leaf_nodes : int >= 2, default=31
        Maximum number of leaves of a tree; the report's L.  The leaf whose best split
        has the largest gain is split first.
    max_depth : int >= 1 or None, default=None
        Maximum number of splits between the root and a leaf; None: no limit.
    min_samples_leaf : int >= 1, default=20
        Minimum number of rows of a leaf, exactly counted.
    l2_regularization : float in [0, 1e50], default=0.0
        Added to the sum of hessians of a leaf, in its value and, with second-order
        splits, in the gain.
    max_bins : int in [2, 255], default=255
        Maximum number of bins of a feature; missing values have one more.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Features that hold categories: names, indices or a mask.  "from_dtype": the
        columns of a DataFrame that have a categorical dtype (categories of pandas and
        polars, enums, Arrow dictionaries).  Categories are text or whole numbers, in a
        dense X, and a split sends a set of them left.  If there are more than
        `max_bins`, the most frequent have a bin each, and the others share one bin in
        16 with those of similar mean targets.  For a row in training, that is the mean
        over other rows, in five folds.  Categories unseen in `fit` go where missing
        values go.
    category_smoothing : float in [0, 1e50], default=10.0
        Rows of a node's mean gradient and hessian that are added to those of each
        category before the categories are sorted by gradient over hessian, to be split
        in this order.  It regularises: small categories move to the middle.  As many
        rows of the mean are added to the mean of a category that shares a bin.
    min_samples_category : int >= 1, default=20
        A category with fewer rows in a node goes where missing values go.  If there are
        more than `max_bins`, one with fewer rows in all shares a bin.
    max_split_categories : int >= 1, default=32
        Maximum number of categories on one side of a split; on the other side there
        may be more.
    monotonic_cst : array-like of int, dict or None, default=None
        How the score may depend on each feature, all others fixed: 1: it never falls
        as the feature grows; -1: never rises; 0: both.  One number for each feature, or
        a dict from names.
    interaction_cst : list of sets, str or None, default=None
        Features that may be on the same path of a tree, as sets of indices or names;
        those in no set are one more.  "pairwise", "no_interactions": sets of two, of
        one.  None: all.
    max_features : float in (0, 1] or int >= 1, default=1.0
        Features drawn for each split, among those of the tree: a fraction or a number.
    colsample_bytree : float in (0, 1] or int >= 1, default=1.0
        Features drawn for each tree: a fraction or a number.
    subsample : float in (0, 1], default=1.0
        Fraction of the rows drawn for each tree, without replacement.
    split_gain : {"second_order", "least_squares"}, default="second_order"
        A split's gain is the decrease of the cost's second-order expansion; or, as in
        the report (equation 11), of the squared error of a tree that models the
        gradients.
    split_noise : float in [0, 100], default=0.0
        Standard deviation of the logarithm of a random factor that multiplies a
        feature's best gain before the features are compared at a node.  It
        regularises: weaker features are chosen now and then.  0: no noise.
    bagging_temperature : float in [0, 10], default=0.0
        Bayesian bootstrap: while splits are sought, gradient and hessian of a row
        are multiplied by a weight (-ln u)^t, u uniform in (0, 1) and new for each tree,
        t this temperature.  Leaf values do without.  It regularises.  0: no weights.
    early_stopping : bool or "auto", default="auto"
        Stop when the validation score has not improved for `n_iter_no_change` trees,
        and keep the trees up to the best.  "auto": if `X_val` is given to `fit`.
        False: `X_val` is only measured.
    validation_fraction : float in (0, 1), default=0.1
        Fraction of the rows held out for early stopping without `X_val`.
    n_iter_no_change : int >= 1, default=20
        Trees to wait for a better validation score.
    tol : float >= 0, default=0.0
        Smallest increase of the validation score that counts as an improvement.
    warm_start : bool, default=False
        Keep the trees of the last `fit` and add to them, up to `n_estimators`.  Its
        bins and seed are kept, too.
    random_state : int, RandomState instance or None, default=None
        Seed of the noise of the splits, the features and rows of each tree, the
        held-out rows, and the rows that bins are computed from (above 200,000).
        Only an integer makes two fits the same.
    verbose : int >= 0, default=0
        Print the scores of every `verbose`-th tree.
    n_jobs : int or None, default=None
        Number of threads, at most the cores this process may use.  None: as many of
        these as the data are worth.  The model is the same, bit for bit, for any.

    Attributes
    ----------
    base_score_ : float
        F_0.
    ensemble_ : TreeEnsemble
        The trees, as arrays.
    n_iter_ : int
        Number of trees kept.
    evals_result_ : dict of str to dict of str to ndarray of shape (n_trees + 1,)
        Of each set, "train" and "validation" ("validation_0", "validation_1", ... of
        several), the values of the measure below.
    train_score_, validation_score_ : ndarrays of shape (n_trees + 1,), float64
        Minus half the mean squared error before the first tree and after each, those
        dropped by early stopping included; empty where nothing was measured
        (`train_score_` without early stopping and with ``verbose=0``;
        `validation_score_` without early stopping).
    feature_importances_ : ndarray of shape (n_features,), float64
        Share of each feature in the gain of all splits; they sum to 1.
    is_categorical_ : ndarray of shape (n_features,), bool
        Whether each feature is categorical.
    n_features_in_ : int
        Number of features at `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
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

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        learning_rate: float | Callable[[int], float] = 0.1,
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        category_smoothing: float = 10.0,
        min_samples_category: int = 20,
        max_split_categories: int = 32,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        max_features: float = 1.0,
        colsample_bytree: float = 1.0,
        subsample: float = 1.0,
        split_gain: Literal["second_order", "least_squares"] = "second_order",
        split_noise: float = 0.0,
        bagging_temperature: float = 0.0,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        tol: float = 0.0,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.category_smoothing = category_smoothing
        self.min_samples_category = min_samples_category
        self.max_split_categories = max_split_categories
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.max_features = max_features
        self.colsample_bytree = colsample_bytree
        self.subsample = subsample
        self.split_gain = split_gain
        self.split_noise = split_noise
        self.bagging_temperature = bagging_temperature
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def predict(self, X: Any) -> FloatArray:
        """Return F, (n_samples,) float64."""
        return self._scores(X)

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield F after each tree, (n_samples,) float64."""
        yield from self._staged_scores(X)

    def _check_targets(self, y: NDArray[Any], name: str) -> FloatArray:
        targets = read_numbers(y, len(y), name)
        valid = np.abs(targets) <= LARGEST_SCORE
        if not valid.all():
            row = int(np.argmin(valid))
            raise ValueError(
                f"{name} must be finite, and at most {LARGEST_SCORE:g} in size, but "
                f"row {row} has {targets[row]}"
            )
        largest = np.abs(targets).max()
        if 0 < largest < 1 / LARGEST_SCORE:
            raise ValueError(
                f"{name} holds no number larger than {largest:.3g}, and squares of "
                "such differences are zero: divide all by it"
            )
        return targets

    def _targets(self, y: FloatArray, name: str, *, reset: bool) -> FloatArray:
        return y

    def _objective(self, data: TrainingData) -> HalfSquaredError:
        return HalfSquaredError(data)
