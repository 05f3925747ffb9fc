"""The parameters of a fit of boosted trees."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn_ltr._core.estimators.base import FitParameters
from sklearn_ltr._core.trees.parameters import TreeParameters


@dataclass(frozen=True, kw_only=True)
class BoostingParameters(TreeParameters, FitParameters):
    """The parameters of a fit of boosted trees.

    Attributes
    ----------
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
