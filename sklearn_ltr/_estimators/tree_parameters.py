"""The parameters of boosted trees: what they are, and their ranges."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

from sklearn_ltr._estimators.base import Model
from sklearn_ltr._estimators.parameters import (
    Range,
    at_least,
    check_choice,
    check_n_jobs,
    check_ranges,
    not_negative,
    positive,
)

RANGES = (
    at_least("n_estimators", 1),
    positive("learning_rate"),
    at_least("max_leaf_nodes", 2),
    at_least("max_depth", 1, optional=True),
    at_least("min_samples_leaf", 1),
    not_negative("l2_regularization"),
    Range("max_bins", Integral, 2, 255, "both"),
    Range("subsample", Real, 0, 1, "right"),
    not_negative("split_noise"),
    Range("validation_fraction", Real, 0, 1, "neither"),
    at_least("n_iter_no_change", 1),
    not_negative("tol"),
    at_least("verbose", 0),
)


@dataclass(kw_only=True, eq=False, repr=False)
class TreeParameters(Model):
    """An estimator of boosted trees.

    Parameters
    ----------
    n_estimators : int >= 1, default=100
        Number of trees, at the most.
    learning_rate : float > 0, default=0.1
        The report's eta: what a tree's step is multiplied by.
    max_leaf_nodes : int >= 2, default=31
        Leaves of a tree; the report's L.  The leaf whose split gains most is split
        first.
    max_depth : int >= 1 or None, default=None
        Splits between the root and a leaf; None: no limit.
    min_samples_leaf : int >= 1, default=20
        Rows of a leaf, at least, exactly counted.
    l2_regularization : float >= 0, default=0.0
        Added to the sum of hessians of a leaf, in its value and, with second-order
        splits, in the gain.
    max_bins : int in [2, 255], default=255
        Quantile bins of a column; missing values have one more.
    max_features : float in (0, 1] or int >= 1, default=1.0
        Columns drawn for each tree: a share or a number of them.
    subsample : float in (0, 1], default=1.0
        Share of the {drawn} drawn for each tree, without replacement.
    split_gain : {"second_order", "least_squares"}, default="second_order"
        A split is good if it lowers the cost's second-order expansion most; or, as in
        the report (equation 11), if it leaves the smallest squared error of a tree that
        models the gradients.
    split_noise : float >= 0, default={split_noise}
        Standard deviation of the logarithm of a random factor, by which a column's best
        gain is multiplied before the columns are compared at a node.  It regularises:
        weaker columns get their turn.  0: none.
    early_stopping : bool or "auto", default="auto"
        Stop when the validation score has not improved for `n_iter_no_change` trees,
        and keep the trees up to the best.  "auto": if `X_val` is given to `fit`.
        False: `X_val` is checked, but not looked at.
    validation_fraction : float in (0, 1), default=0.1
        Share of the {drawn} held out for early stopping without `X_val`.
    n_iter_no_change : int >= 1, default=20
        Trees to wait for a better validation score.
    tol : float >= 0, default=0.0
        By how much a score must be better to count as such.
    warm_start : bool, default=False
        Keep the trees of the last `fit` and add to them, up to `n_estimators`.
    random_state : int, RandomState instance or None, default=None
        Draws the noise of the splits, the columns and {drawn} of each tree, what is
        held out, and the rows for bins (above 200,000).  Only an integer makes two fits
        the same.
    verbose : int, default=0
        Print the scores of every `verbose`-th tree.
    n_jobs : int or None, default=None
        Threads.  None: as many as the data are worth and this process may use.  The
        model is the same, bit for bit, for any number.
    """

    n_estimators: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    l2_regularization: float = 0.0
    max_bins: int = 255
    max_features: float = 1.0
    subsample: float = 1.0
    split_gain: Literal["second_order", "least_squares"] = "second_order"
    split_noise: float = 0.0
    early_stopping: bool | Literal["auto"] = "auto"
    validation_fraction: float = 0.1
    n_iter_no_change: int = 20
    tol: float = 0.0
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0
    n_jobs: int | None = None

    def _check_parameters(self) -> None:
        """Raise an error that names the parameter if one is out of its range."""
        check_ranges(self, RANGES)
        whole = isinstance(self.max_features, Integral)
        share = Range("max_features", Real, 0, 1, "right")
        check_ranges(self, [at_least("max_features", 1) if whole else share])
        check_choice(self, "split_gain", ("second_order", "least_squares"))
        check_choice(self, "early_stopping", (True, False, "auto"))
        check_choice(self, "warm_start", (True, False))
        check_n_jobs(self.n_jobs)
