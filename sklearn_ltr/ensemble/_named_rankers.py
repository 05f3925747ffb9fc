"""The rankers of a blend, which may have names, as the steps of a Pipeline have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sklearn_ltr._rankers.base import BaseRanker


class NamedRankers(BaseRanker):
    """A ranker made of rankers, with ``name__parameter`` for those that have names."""

    rankers: Sequence[Any]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Also the rankers by their names, and their parameters.

        Returns
        -------
        params : dict of str to object
        """
        params: dict[str, Any] = super().get_params(deep=False)
        for name, ranker in named(self.rankers) if deep else ():
            params[name] = ranker
            if hasattr(ranker, "get_params"):
                own = ranker.get_params(deep=True)
                params |= {f"{name}__{key}": value for key, value in own.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, rankers by their names, or parameters of rankers.

        Parameters
        ----------
        **params
            As returned by `get_params`.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        if "rankers" in params:
            self.rankers = params.pop("rankers")
        names = [name for name, _ in named(self.rankers)]
        if given := {name: params.pop(name) for name in names if name in params}:
            self.rankers = [
                (entry[0], given.get(entry[0], entry[1])) if is_named(entry) else entry
                for entry in self.rankers
            ]
        return super().set_params(**params)  # type: ignore[no-any-return]

    def _checked_rankers(self) -> list[Any]:
        """Return the rankers without names; raise an error for what is none."""
        if isinstance(self.rankers, str) or not hasattr(self.rankers, "__len__"):
            raise TypeError(f"rankers must be a list of rankers, got {self.rankers!r}")
        if len(self.rankers) < 2:
            raise ValueError(
                f"rankers must hold at least two rankers, got {len(self.rankers)}"
            )
        names = [name for name, _ in named(self.rankers)]
        for name in names:
            parameters = super().get_params(deep=False)
            if names.count(name) > 1 or name in parameters or "__" in name:
                raise ValueError(
                    "names of rankers must differ from each other and from the "
                    f"parameters of the blend, and have no '__'; got {name!r}"
                )
        rankers = unnamed(self.rankers)
        for m, ranker in enumerate(rankers):
            if isinstance(ranker, type) or not hasattr(ranker, "predict"):
                raise TypeError(
                    f"rankers[{m}] must be an estimator with fit and predict, got "
                    f"{ranker!r}"
                )
        return rankers


def is_named(entry: Any) -> bool:
    """Whether an entry is a pair of a name and a ranker."""
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)


def named(rankers: Any) -> list[tuple[str, Any]]:
    """Return the entries that have a name."""
    if isinstance(rankers, str) or not hasattr(rankers, "__iter__"):
        return []  # `fit` raises the error
    return [entry for entry in rankers if is_named(entry)]


def unnamed(rankers: Sequence[Any]) -> list[Any]:
    """Return the rankers of all entries."""
    return [entry[1] if is_named(entry) else entry for entry in rankers]
