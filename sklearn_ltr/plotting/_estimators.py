"""What displays are given: fitted estimators, bare or inside others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import get_tags


def name_each(given: Any, name: str | None, argument: str) -> dict[str, Any]:
    """Return several things as a dict names them, or one thing under its name.

    Parameters
    ----------
    given : object, or dict of str to object
    name : str or None
        Of the one; None: the class of an estimator, "Ranker" for scores.
    argument : str
        What to call `given` in messages.

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
    """Whether an estimator calls itself a ranker, as those of this package do."""
    # others need not have tags
    known = isinstance(estimator, BaseEstimator)
    return known and get_tags(estimator).estimator_type == "ranker"
