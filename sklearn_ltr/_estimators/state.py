"""The state of an estimator: what a fit changes, and what a saved model must hold."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, ClassVar, TypeVar

from sklearn.base import BaseEstimator

VERSION = version("sklearn_ltr")
VERSION_KEY = "_sklearn_ltr_version"  # in the pickled state of an estimator

E = TypeVar("E", bound=BaseEstimator)


class NewerVersionWarning(UserWarning):
    """A model is loaded that was saved by a newer version of sklearn_ltr.

    Examples
    --------
    >>> import warnings
    >>> from sklearn_ltr import NewerVersionWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", NewerVersionWarning)
    ...     # models that are loaded here are refused if a newer version saved them
    """


class SavedState:
    """Store the package's version in a pickle, and check the state that is loaded."""

    # Attributes that every fitted estimator has; others depend on its parameters
    _fitted_state: ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes and the version, without the queries of the fit."""
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        state.pop("_trained_queries", None)
        return state | {VERSION_KEY: VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes; warn if a newer version saved them.

        Raises
        ------
        ValueError
            If the state of a fitted estimator is not one that a fit produces: kernels
            would read beyond the ends of damaged arrays.
        """
        name, saved_by = type(self).__name__, VERSION
        try:
            attributes = dict(state)
            saved_by = attributes.pop(VERSION_KEY, VERSION)
            is_newer = release_numbers(saved_by) > release_numbers(VERSION)
            super().__setstate__(attributes)  # type: ignore[misc]
            if not vars(self).keys().isdisjoint(self._fitted_state):
                self._check_state()
        except Exception as error:
            raise ValueError(
                f"the saved {name} is damaged ({error}): load it from another copy, or "
                "fit it again"
                if saved_by == VERSION
                else f"this {name} was saved by sklearn_ltr {saved_by}, and {VERSION} "
                f"cannot read it ({error}): score with {saved_by}, or fit it again"
            ) from error
        if is_newer:
            warnings.warn(
                f"this {name} was saved by sklearn_ltr {saved_by}, and this is the "
                f"older {VERSION}: it may fail, or score otherwise. Upgrade, or fit it "
                "again.",
                NewerVersionWarning,
                stacklevel=2,
            )

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        missing = [name for name in self._fitted_state if name not in vars(self)]
        require(not missing, f"it has no {missing}")


def require(condition: Any, message: str) -> None:
    """Raise a ValueError unless the condition holds."""
    if not condition:
        raise ValueError(message)


def release_numbers(version: str) -> list[int]:
    """Return the numbers of a release: [1, 2, 0] for "1.2.0rc1"."""
    leading = re.split(r"[^\d.]", version)[0]
    return [int(part) for part in leading.split(".") if part]


def copy_attributes(estimator: E) -> E:
    """Return an estimator with the same attributes at this moment.

    They are read in one step: those of one fit, even while another thread fits.
    """
    copied = object.__new__(type(estimator))
    copied.__dict__ = dict(vars(estimator))
    return copied


@contextmanager
def refit(estimator: E) -> Iterator[E]:
    """Give a copy to fit; at the end, the estimator gets its fitted attributes.

    It gets all of them in one step, so that predictions in other threads and in
    callbacks use either the old model or the new one; and none of them if the block
    raises (KeyboardInterrupt included).  The parameters of the copy may be changed.
    """
    before = set(vars(estimator))
    model = copy_attributes(estimator)
    yield model
    dropped = before - vars(model).keys()
    kept = {n: value for n, value in vars(estimator).items() if n not in dropped}
    estimator.__dict__ = kept | fitted_attributes(model, estimator)


def fitted_attributes(model: E, estimator: E) -> dict[str, Any]:
    """Return the fitted attributes of a model that an estimator has not."""
    parameters, other = estimator.get_params(deep=False), vars(estimator)
    return {
        name: value
        for name, value in vars(model).items()
        if name not in parameters and other.get(name, model) is not value
    }
