"""The parameters of a fit of boosted trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from sklearn_ltr._core.boosting.dart import DART, Dart
from sklearn_ltr._core.estimators.base import FitParameters
from sklearn_ltr._core.trees.parameters import TreeParameters

DartValue = float | Mapping[str, float | None] | None


@dataclass(frozen=True, kw_only=True)
class BoostingParameters(TreeParameters, FitParameters):
    """The parameters of a fit of boosted trees.

    Attributes
    ----------
    dart
        Drop earlier trees while a tree is grown (DART: Rashmi and Gilad-Bachrach,
        AISTATS 2015).  A dict of "rate_drop" (default: 0.1), "skip_drop" (0.5) and
        "max_drop" (50; None: no limit), or a number, the rate.  With probability
        1 - skip_drop, each earlier tree is dropped with probability rate_drop, at most
        max_drop of them.  The tree is fitted to the scores without the k dropped trees,
        at the rate ``learning_rate / (k + learning_rate)``, and these are multiplied by
        ``k / (k + learning_rate)``, as in XGBoost.  Early stopping keeps the model that
        was measured best, with the weights of that time.  Takes a byte of memory for
        each {row} and tree, two with more than 256 leaves.  None: no tree is dropped.
        Try it if many trees overfit.
    early_stopping
        Stop when the validation score has not improved for `n_iter_no_change` trees,
        and keep the trees up to the best score.  "auto": if `X_val` is given to `fit`.
        False: only measure `X_val`.  The first of several sets decides.  Set
        True to have {units} held out if you have no `X_val`.
    {validation_fraction}
        Raise it if this is only a few dozen {units}: their mean is uncertain.
    n_iter_no_change
        Number of trees without a better validation score before the fit stops.  Raise
        it if `learning_rate` is small.
    tol
        Smallest increase of the validation score that counts as an improvement.  Raise
        it to stop earlier, with fewer trees.
    random_state : int, RandomState instance or None
        Seed of all draws: features and rows of each tree, held-out {units}, and above
        200,000 rows those that bins are computed from.  Only an integer makes two fits
        the same.
    verbose
        1: print every few seconds the progress of the fit, the seconds per tree and the
        best score so far, and at the end where it stopped.  2: print after every tree.
        Set 1 to watch a long fit.
    {n_jobs}
        Set 1 if several fits run at once, as in a search with its own `n_jobs`.
    """

    dart: Annotated[Dart | None, DART]

    def check_continues(self, attributes: Mapping[str, Any]) -> None:
        """Raise a ValueError unless the trees of the last fit can be continued."""
        n_kept = len(attributes["ensemble_"])
        if self.n_estimators < n_kept:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {n_kept} trees "
                "that warm_start keeps"
            )
        if attributes.get("_is_imported", False):
            raise ValueError(
                "warm_start would keep trees that this estimator has not grown, so "
                "their bins and random numbers are unknown: continue with a new "
                "estimator, whose init is this one"
            )
