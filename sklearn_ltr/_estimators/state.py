"""The state of an estimator: restored when a fit fails, versioned when saved."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from sklearn.base import BaseEstimator

VERSION = version("sklearn_ltr")
VERSION_KEY = "_sklearn_ltr_version"  # in the pickled state of an estimator


class NewerVersionWarning(UserWarning):
    """A model is loaded that was saved by a newer version of sklearn_ltr."""


class VersionedState:
    """Store the package's version in a pickle, and check it when it is loaded."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes and the version."""
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        return state | {VERSION_KEY: VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes; warn if a newer version saved them."""
        attributes = dict(state)
        saved_by = attributes.pop(VERSION_KEY, VERSION)
        if release_numbers(saved_by) > release_numbers(VERSION):
            warnings.warn(
                f"this {type(self).__name__} was saved by sklearn_ltr {saved_by}, and "
                f"this is the older {VERSION}: it may fail, or score otherwise. "
                "Upgrade, or fit it again.",
                NewerVersionWarning,
                stacklevel=2,
            )
        super().__setstate__(attributes)  # type: ignore[misc]


def release_numbers(version: str) -> list[int]:
    """Return the numbers of a release: [1, 2, 0] for "1.2.0rc1"."""
    leading = re.split(r"[^\d.]", version)[0]
    return [int(part) for part in leading.split(".") if part]


@contextmanager
def unchanged_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """Restore all attributes if the block raises (KeyboardInterrupt included)."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
