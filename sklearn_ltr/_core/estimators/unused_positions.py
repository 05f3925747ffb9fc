"""The warning of positions that no ranker of a fit learns from."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from sklearn.base import BaseEstimator

OTHER_WORKER = ("joblib.externals.loky", "multiprocessing.pool")


class UnusedPositionsWarning(UserWarning):
    """Warning: `positions` were given, but no ranker has a `position_bias`.

    Examples
    --------
    >>> import warnings
    >>> from sklearn_ltr import LambdaMARTRanker, UnusedPositionsWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ranker = LambdaMARTRanker(n_estimators=1, min_samples_leaf=1).fit(
    ...         [[1.0], [2.0]], [0, 1], groups=[7, 7], positions=[0, 1]
    ...     )
    >>> caught[0].category is UnusedPositionsWarning
    True
    """


def positions_are_used() -> bool:
    """Return whether an estimator that is being fitted has a `position_bias`."""
    # Bags, blends, searches, and scikit-learn's, fit rankers with and without one.  The
    # workers of a search do not know what the other candidates have.
    frame = inspect.currentframe()
    while frame:
        if frame.f_globals.get("__name__", "").startswith(OTHER_WORKER):
            return True
        if "fit" in frame.f_code.co_name and has_bias(frame.f_locals.get("self")):
            return True
        frame = frame.f_back
    return False


def has_bias(value: object) -> bool:
    """Return whether an estimator has a `position_bias`, or a grid or member of it."""
    if isinstance(value, list | tuple):
        return any(map(has_bias, value))
    if isinstance(value, Mapping):
        return any(str(key).endswith("position_bias") for key in value)
    if not isinstance(value, BaseEstimator):
        return False
    params = value.get_params(deep=False)
    return params.get("position_bias") is not None or has_bias([*params.values()])
