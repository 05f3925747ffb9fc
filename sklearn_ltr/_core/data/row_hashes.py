"""A hash of each row's content, by which rows are sorted.

Rounding, sampling and the order of sums depend on the position of a row.  Rows that are
sorted by their hashes have positions that depend on their content only, not on the
order in which they were given.  Equal rows have equal hashes; the probability that any
two of a million different rows have the same is 3e-8.

The hash of a row is the sum of a hash of each value with its column, so columns can be
read in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import (
    float64_bits,
    int64,
    kernel,
    subkernel,
    uint64,
)

HashArray = NDArray[np.uint64]

ROWS_PER_HASH_TASK = 2048
# Constants of SplitMix64 (Steele, Lea and Flood, 2014).
COLUMN_STEP = np.uint64(0x9E3779B97F4A7C15)
FACTOR_1, FACTOR_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@subkernel
def mix_bits(key: Any) -> Any:
    """Return a pseudo-random number for a key, 0 for 0."""
    key = (key ^ (key >> uint64(30))) * FACTOR_1
    key = (key ^ (key >> uint64(27))) * FACTOR_2
    return key ^ (key >> uint64(31))


@subkernel
def hash_value(value: Any, column_key: Any) -> Any:
    """Return the hash of a value in a column."""
    # Values that compare equal must have equal hashes: -0.0 and 0.0, all NaN, and the
    # same number in single and double precision.
    value = float(value) + 0.0  # turns -0.0 into 0.0
    # int64(): numpy refuses to make a negative Python integer unsigned
    bits = uint64(int64(float64_bits(value))) if value == value else uint64(1)
    return mix_bits(bits + column_key)


@kernel
def add_value_hashes(
    X: NDArray[np.floating],
    rows: NDArray[np.intp],
    column_keys: HashArray,
    hashes: HashArray,
) -> None:
    """Add the hash of row ``rows[i]`` of X to ``hashes[i]``."""
    for i in range(len(rows)):
        row, total = uint64(rows[i]), uint64(0)
        for j in range(X.shape[1]):
            total += hash_value(X[row, j], column_keys[j])
        hashes[i] += total


@kernel
def add_nonzero_hashes(
    data: NDArray[np.floating],
    indices: NDArray[np.integer],
    indptr: NDArray[np.integer],
    column_keys: HashArray,
    hashes: HashArray,
) -> None:
    """Add the hash of each row of a CSR matrix."""
    of_zeros = uint64(0)  # of a row without nonzeros
    for key in column_keys:
        of_zeros += hash_value(0.0, key)
    for row in range(len(hashes)):
        total = of_zeros
        for i in range(indptr[row], indptr[row + 1]):
            key = column_keys[indices[i]]
            total += hash_value(data[i], key) - hash_value(0.0, key)
        hashes[row] += total


def keys_of_columns(columns: NDArray[np.integer]) -> HashArray:
    """Return a key for each column number; 0 for -1."""
    return (columns + 1).astype(np.uint64) * COLUMN_STEP
