"""The state of an estimator: kept when a fit fails, and versioned when it is saved."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from sklearn.base import BaseEstimator

VERSION = version("sklearn_ltr")
SAVED_BY = "_sklearn_ltr_version"  # in the state of an estimator


class NewerVersionWarning(UserWarning):
    """A model is loaded that a newer sklearn_ltr saved."""


class VersionedState:
    """Put the version into a pickle, and look at it when it is loaded."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, and the version."""
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        return state | {SAVED_BY: VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes; warn if they are of a newer version."""
        attributes = dict(state)
        saved_by = attributes.pop(SAVED_BY, VERSION)
        if release(saved_by) > release(VERSION):
            warnings.warn(
                f"this {type(self).__name__} was saved by sklearn_ltr {saved_by}, and "
                f"this is the older {VERSION}: it may fail, or score otherwise. "
                "Upgrade, or fit it again.",
                NewerVersionWarning,
                stacklevel=2,
            )
        super().__setstate__(attributes)  # type: ignore[misc]


def release(number: str) -> list[int]:
    """Return what of a version can be compared: [1, 2, 0] for "1.2.0rc1"."""
    leading = re.split(r"[^\d.]", number)[0]
    return [int(part) for part in leading.split(".") if part]


@contextmanager
def unchanged_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """Undo every change of the attributes if the block raises, Ctrl-C included."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
