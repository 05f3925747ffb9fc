"""Columns of Arrow, which Spark and Ray have, as what a ranker's fit takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def values_of(column: Any) -> Any:
    """Return a ChunkedArray as an ndarray, with NaN or None for what is missing."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_decimal(column.type) or kinds.is_null(column.type):
        column = column.cast("double")  # numpy has neither
    return column.to_numpy()


def features_of(table: Any, names: Mapping[str, str] | Iterable[str]) -> Any:
    """Return columns as a DataFrame: text as categories, missing values as NaN.

    Where `names` is a mapping, it has the name in the DataFrame by that in the table.
    """
    import pandas as pd
    import pyarrow as pa

    kinds, columns = pa.types, {}
    renamed = names if isinstance(names, Mapping) else {name: name for name in names}
    for name, feature in renamed.items():
        column = table[name]
        kind = column.type
        if kinds.is_dictionary(kind):
            kind = kind.value_type
        if kinds.is_string(kind) or kinds.is_large_string(kind):
            columns[feature] = pd.Categorical(column.to_pylist())
        elif kinds.is_boolean(kind):
            columns[feature] = values_of(column.cast("double"))  # some may be missing
        else:
            columns[feature] = values_of(column)
    return pd.DataFrame(columns)
