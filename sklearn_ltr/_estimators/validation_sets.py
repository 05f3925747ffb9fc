"""The validation data that `fit` was given: one set, or a tuple of several."""

from __future__ import annotations

from typing import Any


def read_validation_sets(X_val: Any, **others: Any) -> list[tuple[str, Any, list[Any]]]:
    """Divide the arguments among the validation sets.

    As in scikit-learn's Pipeline (`transform_input`), a tuple of tables is several
    sets; the other arguments are tuples of as many then, or None.

    Parameters
    ----------
    X_val : array-like, tuple of array-likes or None
    **others
        The arguments that belong to it, by name.

    Returns
    -------
    sets : list of (str, X, list)
        Suffix of the names of arguments in messages: "_val", "_val[1]"; X; and the
        other arguments, in the given order.  Empty if there is no validation data.

    Raises
    ------
    ValueError
        For arguments without `X_val`, an empty tuple, or numbers of sets that differ.
    """
    if X_val is None:
        if any(value is not None for value in others.values()):
            *first, last = others
            names = f"{', '.join(first)} or {last}" if first else last
            raise ValueError(f"X_val is None, but {names} is not: give X_val with them")
        return []
    if not isinstance(X_val, tuple):
        return [("_val", X_val, list(others.values()))]
    n = len(X_val)
    if n == 0:
        raise ValueError("X_val is an empty tuple: give a table for each set, or None")
    columns = []
    for name, value in others.items():
        column = (None,) * n if value is None else value
        if not isinstance(column, tuple) or len(column) != n:
            got = f"{len(value)}" if isinstance(value, tuple) else type(value).__name__
            raise ValueError(
                f"X_val is a tuple of {n} sets, so {name} must be a tuple of {n}, or "
                f"None; got {got}"
            )
        columns.append(column)
    return [
        (f"_val[{i}]", X, [column[i] for column in columns])
        for i, X in enumerate(X_val)
    ]


def name_sets(n_sets: int) -> list[str]:
    """Return the names of validation sets: "validation", or "validation_0", ..."""
    if n_sets == 1:
        return ["validation"]
    return [f"validation_{i}" for i in range(n_sets)]
