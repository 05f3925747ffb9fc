r"""The bias of positions in clicks, learned along with the scores.

**Additive** (the idea is LightGBM's).  Clicks are explained by s_i + b_k for document i
at position k: by its relevance and by its place.  The derivatives of the cost by b_k
are the sums of those by the scores,

    G_k = sum over i at k of dC/ds_i,        H_k = sum over i at k of d2C/ds_i^2

(without the mixed terms, as for the leaf of a tree), so a Newton step like a leaf's,
regularised by p times the mean curvature Hbar of the positions, is

    b_k  <-  b_k  -  eta (G_k + p Hbar b_k) / (H_k + p Hbar).

By default p falls with the number of lists, once these are more than FULL_LISTS: then
p Hbar is as large as for FULL_LISTS lists, however many there are.

Costs of pairs do not change if the b of a list grow by a constant, so b_0 = 0.

**Pairwise** (Unbiased LambdaMART, Hu et al., WWW 2019).  Where a document at position k
was clicked and one at l was not, the cost of their pair is divided by t+_k t-_l
(:mod:`sklearn_ltr._core.lambdas.pairs`).  After each step

    t+_k  =  (sum of better_cost_i over i at k  /  that at position 0) ^ (1 / (1 + p))
    t-_l  =  (sum of worse_cost_j over j at l  /  that at position 0) ^ (1 / (1 + p)).

With weights w of documents, L_ij is w_i w_j times as large.

Sums are of integers, multiples of a power of two: they have the same bits for any
number of threads and workers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import ONE_PROCESS, Comm
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.lambdas.pairs import COSTS, WEIGHTS
from sklearn_ltr._core.parameters import (
    LARGEST,
    LARGEST_SCORE,
    Choice,
    ReadValues,
    real,
    shown,
)
from sklearn_ltr._core.typing import FloatArray, IntArray

REGULARIZATION = {"additive": 0.3, "pairwise": 1.0}  # where none is given
FULL_LISTS = 5_000  # above it, the default of "additive" falls with the number of lists
MOST_EQUAL = 1e6  # most equal lists that one weighted list may represent


class BiasOptions(NamedTuple):
    """The parameter `position_bias`, read."""

    method: str
    regularization: float | None  # None: the default


def bias_choice(*methods: str) -> ReadValues:
    """Return the values of `position_bias`: None, a method, or a dict with options."""

    def read(name: str, value: object) -> BiasOptions | None:
        """Return the method and its regularization, None for None."""
        if value is None:
            return None
        if not isinstance(value, Mapping):
            return BiasOptions(Choice(None, *methods).read_as(name, value), None)
        unknown = set(value) - {"method", "regularization"}
        if unknown or "method" not in value:
            raise ValueError(
                f"{name} must be one of {(None, *methods)}, or a dict with "
                f'"method" and "regularization", got {shown(value)}'
            )
        method = Choice(*methods).read_as(f'{name}["method"]', value["method"])
        strength = None
        if "regularization" in value:
            strength = real(0, LARGEST).read_as(
                f'{name}["regularization"]', value["regularization"]
            )
        return BiasOptions(method, strength)

    words = ", ".join(f'"{method}"' for method in methods)
    return ReadValues(read, f"{words}, dict or None")


class PositionBias(ABC):
    """The bias of each position: `path` has its values at first and after each step."""

    # (4, n_documents) weights of pairs that the values give, updated in place, and the
    # costs of pairs, which the objective writes to it; None: pairs have no weights
    pair_weights: FloatArray | None = None

    def __init__(
        self,
        positions: IntArray,
        values: FloatArray,
        regularization: float,
        comm: Comm,
    ) -> None:
        self.positions, self.regularization = positions, regularization
        self.path = [values]
        self._comm, self._n_rows = comm, sum(comm.gather(len(positions)))

    @property
    def values(self) -> FloatArray:
        """The values after the last step."""
        return self.path[-1]

    def _sums(self, arrays: FloatArray) -> FloatArray:
        """Return the sums over all documents at each position, of each array."""
        largest = self._comm.gather(np.abs(arrays).max(axis=1, initial=0.0))
        _, exponents = np.frexp(np.max(largest, axis=0))
        # times 2^shift, as many values as there are documents sum up to below 2^62
        shifts = (62 - self._n_rows.bit_length() - exponents)[:, None]
        multiples = np.rint(np.ldexp(arrays, shifts)).astype(np.int64)
        sums = np.zeros((len(multiples), self.values.shape[-1]), dtype=np.int64)
        for sums_of_array, addends in zip(sums, multiples, strict=True):
            np.add.at(sums_of_array, self.positions, addends)
        total: FloatArray = np.ldexp(self._comm.sum(sums).astype(np.float64), -shifts)
        return total

    def as_shown(
        self, scores: FloatArray, documents: NDArray[np.integer] | slice = slice(None)
    ) -> FloatArray:
        """Return the scores of some or all documents with the bias of positions."""
        return scores

    @abstractmethod
    def step(self, gradient: FloatArray, hessian: FloatArray, rate: float) -> None:
        """Make a step after dC/ds and d2C/ds2 of all documents have been computed."""


class AdditiveBias(PositionBias):
    """b: 0 at position 0, and at positions that no document has."""

    def as_shown(
        self, scores: FloatArray, documents: NDArray[np.integer] | slice = slice(None)
    ) -> FloatArray:
        """Return the scores of some or all documents with the bias of positions."""
        return scores + self.values[self.positions[documents]]

    def step(self, gradient: FloatArray, hessian: FloatArray, rate: float) -> None:
        """Make a Newton step times `rate`; a ValueError if the bias diverges."""
        slope, curvature = self._sums(np.stack((gradient, hessian)))
        n_curved = max(1, np.count_nonzero(curvature))
        shrinkage = self.regularization * curvature.sum() / n_curved
        change = np.zeros_like(slope)
        np.divide(
            slope + shrinkage * self.values,
            curvature + shrinkage,
            out=change,
            where=curvature > 0,
        )
        values = self.values - rate * change
        values -= values[0]
        largest = np.abs(values).max()
        if not largest <= LARGEST_SCORE:
            raise ValueError(
                f"the bias of a position diverges to {largest:.3g}, since scores are "
                "too far apart: divide those of init or init_score, lower the learning "
                "rate, or give a smaller sigma"
            )
        self.path.append(values)


class PairwiseBias(PositionBias):
    """The ratios t+ and t-, one row each; 1 at positions that are in no pair.

    Ratios below `smallest` are replaced by it, so that weights stay moderate.
    """

    pair_weights: FloatArray

    def __init__(
        self,
        positions: IntArray,
        values: FloatArray,
        regularization: float,
        smallest: float,
        comm: Comm,
        document_weight: FloatArray | None,
    ) -> None:
        super().__init__(positions, values, regularization, comm)
        self._smallest, self._document_weight = smallest, document_weight
        self.pair_weights = np.zeros((4, len(positions)))
        self._weigh_pairs()

    def _weigh_pairs(self) -> None:
        """Set the weights of pairs by the ratios, and by the weights of documents."""
        weights = 1.0 if self._document_weight is None else self._document_weight
        self.pair_weights[WEIGHTS] = weights / self.values[:, self.positions]

    def step(self, gradient: FloatArray, hessian: FloatArray, rate: float) -> None:
        """Set the ratios by the costs in `pair_weights`."""
        values = np.ones_like(self.values)
        costs = self.pair_weights[COSTS]
        if self._document_weight is not None:  # those of the other one are in the costs
            costs = costs * self._document_weight
        totals = self._sums(costs)
        for ratios, total in zip(values, totals, strict=True):
            if total[0] > 0:  # ratios are relative to position 0
                known = total > 0
                power = 1.0 / (1.0 + self.regularization)
                ratios[known] = (total[known] / total[0]) ** power
        np.maximum(values, self._smallest, out=values)
        self.path.append(values)
        self._weigh_pairs()


def new_bias(
    options: BiasOptions | None,
    data: TrainingData,
    earlier: FloatArray | None,
    smallest: float,
    comm: Comm,
) -> PositionBias | None:
    """Return the position bias to learn, None if there is none."""
    # a warm start continues the values of the earlier fit if they are of the same
    # method
    positions = data.columns.positions
    if options is None or positions is None:
        return None
    is_pairwise = options.method == "pairwise"
    n_rows, none = (2, 1.0) if is_pairwise else (1, 0.0)
    if earlier is None or (earlier.ndim == 2) != is_pairwise:
        earlier = np.empty((n_rows, 0))
    ends = int(positions.min()), int(positions.max())
    first, last = zip(*comm.gather(ends), strict=True)
    if is_pairwise and min(first) > 0:
        raise ValueError(
            "positions has no 0 in the lists that have a clicked document and "
            "another, but ratios are relative to position 0: number positions from 0"
        )
    n_positions = max(last) + 1
    values = np.full((n_rows, max(n_positions, earlier.shape[-1])), none)
    values[:, : earlier.shape[-1]] = earlier
    strength = options.regularization
    if strength is None:
        strength = REGULARIZATION[options.method]
        if not is_pairwise:
            n_lists = number_of_lists(data.sample_weight, comm)
            strength *= min(1.0, FULL_LISTS / n_lists)
    if is_pairwise:
        weights = data.columns.document_weight
        return PairwiseBias(positions, values, strength, smallest, comm, weights)
    return AdditiveBias(positions, values[0], strength, comm)


def number_of_lists(weights: FloatArray, comm: Comm = ONE_PROCESS) -> float:
    """Return the number of lists, or the sum of their weights if that is larger."""
    # equal lists may be one, with their number as its weight; sums of integers are the
    # same for any number of workers
    thousandths = np.rint(1000 * np.minimum(weights, MOST_EQUAL)).astype(np.int64)
    counts = np.array([1000 * len(weights), thousandths.sum()], dtype=np.int64)
    return float(comm.sum(counts).max()) / 1000


def pair_weights_of(
    data: TrainingData, bias: PositionBias | None, smallest: float
) -> FloatArray | None:
    """Return the weights of pairs, None if all weigh the same."""
    # propensities below `smallest` count as `smallest`, which bounds the weights
    propensities, weights = data.columns.propensities, data.columns.document_weight
    if bias is not None and bias.pair_weights is not None:
        return bias.pair_weights
    if propensities is None:
        return None if weights is None else np.stack((weights, weights))
    clipped = np.maximum(propensities, smallest)
    inverse = np.stack((1.0 / clipped, np.ones(data.n_rows)))
    return inverse if weights is None else inverse * weights
