"""Estimators given to a display: their names, and which of them are rankers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import get_tags


def name_each(given: Any, name: str | None, argument: str) -> dict[str, Any]:
    """Return a dict of several objects, or one object under its name.

    Parameters
    ----------
    given : object, or dict of str to object
        Estimators or arrays of scores.
    name : str or None
        Name of a single object.  None: the class of an estimator, "Ranker" for scores.
    argument : str
        Name of `given` in error messages.

    Raises
    ------
    ValueError
        If `given` is an empty dict, or a dict and `name` is given as well.
    """
    if isinstance(given, Mapping):
        if not given:
            raise ValueError(f"{argument} is an empty dict: there is nothing to draw")
        if name is not None:
            raise ValueError(
                f"name={name!r} was given, but the keys of the dict {argument} are "
                "the names"
            )
        return dict(given)
    if name is None:
        name = type(given).__name__ if hasattr(given, "predict") else "Ranker"
    return {name: given}


def is_ranker(estimator: Any) -> bool:
    """Return whether an estimator has the type "ranker", as those of this package."""
    # estimators of other packages may have no tags
    has_tags = isinstance(estimator, BaseEstimator)
    return has_tags and get_tags(estimator).estimator_type == "ranker"
