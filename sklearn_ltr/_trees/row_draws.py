"""Random numbers of rows: new for each tree, and in plain arithmetic for speed.

The number of a row among all rows of a fit, those of other workers included, is its
number in a stream (`RowNumbers`).  Number i of a stream is a hash of i, turned into a
uniform u in (0, 1).  From it follow

    an exponential weight    w = -ln u                           mean 1
    logistic noise           z = ln(u / (1 - u)) sqrt(3) / pi    standard deviation 1
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import exp, kernel, log, subkernel, uint64
from sklearn_ltr._data.query_index import RowNumbers
from sklearn_ltr._data.row_hashes import COLUMN_STEP, mix_bits

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
UNIT_DEVIATION = 0.5513288954217921  # sqrt(3) / pi


@subkernel
def uniform(stream: Any, i: int) -> float:
    """Return number i of a stream, in (0, 1)."""
    bits = mix_bits(stream + (uint64(i) + uint64(1)) * COLUMN_STEP)
    return (float(bits >> uint64(11)) + 0.5) / 9007199254740992.0  # 2^53


@kernel
def _fill_weights(
    stream: int, numbers: RowNumbers, temperature: float, weights: FloatArray
) -> None:
    for run in range(len(numbers.first)):
        start, stop = numbers.offsets[run], numbers.offsets[run + 1]
        own = stream + uint64(numbers.first[run] - start) * COLUMN_STEP
        for i in range(start, stop):
            weights[i] = -log(uniform(own, i))
    if temperature != 1.0:
        for i in range(len(weights)):
            weights[i] = exp(temperature * log(weights[i]))


@kernel
def _add_noise(
    stream: int,
    numbers: RowNumbers,
    size: float,
    scores: FloatArray,
    noisy: FloatArray,
) -> None:
    for run in range(len(numbers.first)):
        start, stop = numbers.offsets[run], numbers.offsets[run + 1]
        own = stream + uint64(numbers.first[run] - start) * COLUMN_STEP
        for i in range(start, stop):
            u = uniform(own, i)
            noisy[i] = scores[i] + size * (log(u) - log(1.0 - u))


def bayesian_weights(
    rng: np.random.Generator, numbers: RowNumbers, temperature: float
) -> FloatArray:
    """Return an exponential weight of each row to the power of the temperature."""
    weights = np.empty(numbers.offsets[-1])
    with np.errstate(over="ignore"):  # numpy warns where nothing is compiled
        _fill_weights(_new_stream(rng), numbers, temperature, weights)
    return weights


def noisy_scores(
    rng: np.random.Generator, numbers: RowNumbers, scores: FloatArray, deviation: float
) -> FloatArray:
    """Return scores with logistic noise of this standard deviation added."""
    noisy = np.empty(len(scores))
    with np.errstate(over="ignore"):
        size = deviation * UNIT_DEVIATION
        _add_noise(_new_stream(rng), numbers, size, scores, noisy)
    return noisy


def _new_stream(rng: np.random.Generator) -> Any:
    return rng.integers(2**64, dtype=np.uint64)
