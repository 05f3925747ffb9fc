"""Columns of Arrow, which Spark and Ray have, as what a ranker's fit takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def numbers_of(column: Any) -> Any:
    """Return a ChunkedArray as an ndarray, with NaN for what is missing."""
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        # by their text: Arrow's cast of decimals to doubles does not round correctly
        column = column.cast("string").cast("double")
    elif pa.types.is_boolean(column.type) or pa.types.is_null(column.type):
        column = column.cast("double")  # of booleans, some may be missing
    return column.to_numpy()


def features_of(table: Any, names: Iterable[str]) -> Any:
    """Return columns as a DataFrame: text as categories, all others as numbers."""
    import pandas as pd
    import pyarrow as pa

    kinds, columns = pa.types, {}
    for name in names:
        column, kind = table[name], table[name].type
        if kinds.is_dictionary(kind):
            kind = kind.value_type
        is_text = kinds.is_string(kind) or kinds.is_large_string(kind)
        columns[name] = (
            pd.Categorical(column.to_pylist()) if is_text else numbers_of(column)
        )
    return pd.DataFrame(columns)
