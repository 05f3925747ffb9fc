"""The warning of positions that no ranker of a fit learns from.

A ranker warns for itself.  An estimator that fits rankers within it knows whether one
of them learns from positions, and then drops the warnings of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator

from sklearn_ltr._core.caller import collected_warnings, warn_caller
from sklearn_ltr._core.data import RowColumns


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


def warn_if_unused(ranker: BaseEstimator, columns: RowColumns[Any]) -> None:
    """Warn of positions from which neither a ranker nor its base model learns."""
    given = columns.positions is not None and columns.propensities is None
    if given and not has_bias(ranker):
        warn_caller(
            "positions were given, but position_bias=None learns nothing from them: if "
            "y are clicks, give position_bias='additive', or 'pairwise' of trees; else "
            "leave positions out",
            UnusedPositionsWarning,
        )


@contextmanager
def positions_may_be_used_by(others: object) -> Iterator[None]:
    """Drop the warnings of unused positions in this block if others learn from them.

    The others are all that are fitted together, a list of them or what holds them.
    """
    with collected_warnings() as found:
        yield
    for message, category in found:
        if category is not UnusedPositionsWarning or not has_bias(others):
            warn_caller(message, category)


def has_bias(value: object) -> bool:
    """Return whether it, a part of it, or a search grid sets `position_bias`."""
    if isinstance(value, list | tuple):
        return any(map(has_bias, value))
    if isinstance(value, Mapping):
        return any(str(key).endswith("position_bias") for key in value)
    if not isinstance(value, BaseEstimator):
        return False
    # None, too, if a search has set it: other candidates have another value
    if "position_bias" in getattr(value, "_set_before_fit", ()):
        return True
    params = value.get_params(deep=False)
    return params.get("position_bias") is not None or has_bias([*params.values()])
