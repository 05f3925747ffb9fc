"""The arguments of `fit`, as they were given: training data, and validation sets."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from sklearn_ltr._core.data.columns import COLUMNS, GivenColumns, RowColumns
from sklearn_ltr._core.data.pairs import PAIR_ARGUMENTS, GivenPairs
from sklearn_ltr._core.typing import (
    ArraysLike,
    IdArraysLike,
    IdsLike,
    IntArray,
    MatricesLike,
    MatrixLike,
)

ROWS_CHANGED = (
    "a partition of {} had other rows when a fit read it again: do not write the data "
    "during a fit, compute them deterministically, or persist() them"
)


class ValidationSet(NamedTuple):
    """One of the validation sets, as it was given."""

    suffix: str  # of its arguments in messages: "_val", or "_val[1]" of several
    X: MatrixLike  # or a `SuppliedX`, of bags, searches and workers
    y: ArrayLike | None
    groups: IdsLike | None
    columns: GivenColumns
    numbers: IntArray | None = None  # of the queries, see `TrainingData`


class FitArguments(NamedTuple):
    """The arguments of `fit`, as they were given."""

    X: MatrixLike
    y: ArrayLike | None
    groups: IdsLike | None
    columns: GivenColumns
    pairs: GivenPairs
    validation: list[ValidationSet | None]  # None: only other workers have its rows
    numbers: IntArray | None = None  # of the queries, see `TrainingData`
    estimator: type[Any] = BaseEstimator  # that is fitted
    suffix: str = ""  # of its arguments in messages, as of validation sets

    @classmethod
    def of(
        cls,
        X: MatrixLike,
        y: ArrayLike | None = None,
        groups: IdsLike | None = None,
        **others: Any,
    ) -> FitArguments:
        """Sort all arguments by their names, which may be the `locals` of `fit`."""
        estimator = type(others.pop("self", None))
        pairs = GivenPairs(*(others.pop(name, None) for name in PAIR_ARGUMENTS))
        columns: GivenColumns = RowColumns(
            **{name: others.pop(name) for name in COLUMNS if name in others}
        )
        validation: list[ValidationSet | None] = []
        if others:
            validation += split_validation(**others)
        return cls(X, y, groups, columns, pairs, validation, estimator=estimator)

    def sets(self) -> list[FitArguments | ValidationSet]:
        """Return the training data, and the validation sets."""
        return [self, *(one for one in self.validation if one is not None)]

    @property
    def metadata(self) -> dict[str, Any]:
        """What the rows have beside X and y, by name."""
        return {"groups": self.groups, **self.columns.given()}


def split_validation(
    X_val: MatricesLike | None, **others: ArraysLike | IdArraysLike | None
) -> list[ValidationSet]:
    """Return the validation sets; `others` are the other arguments, by their names."""
    # As in scikit-learn's Pipeline (`transform_input`), a tuple of tables is several
    # sets; the other arguments are then tuples of as many, or None.
    if X_val is None:
        if any(value is not None for value in others.values()):
            *first, last = others
            raise ValueError(
                f"X_val is None, but {', '.join(first)} or {last} was given: give "
                "X_val with it"
            )
        return []
    items: list[Any] = list(X_val) if isinstance(X_val, list | tuple) else []
    if is_pair(X_val) or any(map(is_pair, items[:1])):
        ids = ", groups_val=groups" if "groups_val" in others else ""
        raise ValueError(
            "X_val holds pairs such as (X, y), as eval_set of other libraries does: "
            f"give X_val=X, y_val=y{ids}, and tuples of several sets, "
            "X_val=(X_1, X_2), y_val=(y_1, y_2), ..."
        )
    if not isinstance(X_val, tuple):
        if items and n_dimensions(items[0]) == 2:
            raise ValueError(
                "X_val is a list of tables: give a tuple for several sets, "
                "X_val=(X_1, X_2), y_val=(y_1, y_2), ..., and the table itself for one"
            )
        return [one_set("_val", X_val, others)]
    n = len(X_val)
    if n == 0:
        raise ValueError("X_val is an empty tuple: give a table for each set, or None")
    several: dict[str, tuple[Any, ...]] = {}
    for name, value in others.items():
        if value is None:
            several[name] = (None,) * n
        elif not isinstance(value, tuple) or len(value) != n:
            got = f"{len(value)}" if isinstance(value, tuple) else type(value).__name__
            raise ValueError(
                f"X_val is a tuple of {n} sets, so {name} must be a tuple of {n}, or "
                f"None; got {got}"
            )
        else:
            several[name] = value
    return [
        one_set(f"_val[{i}]", X, {name: values[i] for name, values in several.items()})
        for i, X in enumerate(X_val)
    ]


def n_dimensions(values: Any) -> int:
    """Return the number of dimensions of an array, a frame or nested lists."""
    if isinstance(values, list | tuple):
        return 1 + n_dimensions(values[0]) if len(values) > 0 else 1
    return len(getattr(values, "shape", ()))


def is_pair(values: Any) -> bool:
    """Return whether values are (X, y), or more than that."""
    return (
        isinstance(values, list | tuple)
        and len(values) > 1
        and n_dimensions(values[0]) == 2
        and n_dimensions(values[1]) == 1
    )


def one_set(suffix: str, X: MatrixLike, others: dict[str, Any]) -> ValidationSet:
    """Return a validation set, given its arguments by name."""
    given = {name.removesuffix("_val"): value for name, value in others.items()}
    y, groups = given.pop("y"), given.pop("groups", None)
    return ValidationSet(suffix, X, y, groups, RowColumns(**given))
