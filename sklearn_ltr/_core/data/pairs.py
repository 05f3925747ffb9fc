"""The pairs that a ranker learns from: those of grades, or those that were judged.

Training data have either `GradedPairs`, all documents of a query whose grades differ,
or `JudgedPairs`, which say of two rows which one is better, and how probably.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.compile import float64_bits, int64, kernel, uint64
from sklearn_ltr._core.data.groups import QueryGroups
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.data.row_hashes import COLUMN_STEP, FACTOR_1, HashArray, mix_bits
from sklearn_ltr._core.data.rows import check_each, read_numbers, read_weights
from sklearn_ltr._core.typing import FloatArray, IntArray


class GivenPairs(NamedTuple):
    """The arguments of `fit` that judge pairs, as they were given."""

    pairs: ArrayLike | None = None
    probabilities: ArrayLike | None = None
    weights: ArrayLike | None = None

    @property
    def in_words(self) -> str:
        """What was judged, for messages."""
        return "pairs"

    def are_given(self) -> bool:
        """Return whether there are any; an error for probabilities or weights alone."""
        if self.pairs is None:
            for name in self.given():
                raise ValueError(f"{name} needs pairs, and pairs is None")
        return self.pairs is not None

    def as_arrays(self) -> Self:
        """Return the same, as arrays."""
        return type(self)(*(v if v is None else np.asarray(v) for v in self))

    def given(self) -> dict[str, ArrayLike]:
        """Return the arguments that there are, by name."""
        named = dict(zip(PAIR_ARGUMENTS, self, strict=True))
        return {name: values for name, values in named.items() if values is not None}

    def select(self, rows: NDArray[np.intp]) -> Self:
        """Return the pairs within some rows, numbered by their places among these.

        Rows that are there twice are two rows, and their pairs two pairs.  Pairs of
        weight 0 are left out.
        """
        if self.pairs is None:
            return self
        pairs = np.asarray(self.pairs)
        counts = np.ones(len(pairs), dtype=np.bool_)
        if self.weights is not None:
            counts = np.asarray(self.weights) > 0
        # of rows that are there several times, the first ones make the first copy
        order = np.argsort(rows, kind="stable")
        copy = np.empty(len(rows), dtype=np.intp)
        copy[order] = np.arange(len(rows)) - np.searchsorted(rows[order], rows[order])
        largest = max(pairs.max(initial=0), rows.max(initial=0))
        numbered, kept = [], []
        for number in range(copy.max(initial=0) + 1):
            places = np.flatnonzero(copy == number)
            place = np.full(largest + 1, -1)
            place[rows[places]] = places
            inside = np.flatnonzero((place[pairs] >= 0).all(axis=1) & counts)
            numbered.append(place[pairs[inside]])
            kept.append(inside)
        selected = np.concatenate(kept)
        if len(selected) == 0:
            raise ValueError(
                "no pair lies within the queries that a part of the model learns from "
                "(a member of a bag, a fold, or those of a sample_weight above zero), "
                "or only pairs of weight 0 do: judge pairs of more queries, or leave "
                "fewer queries out"
            )
        others = (None if v is None else np.asarray(v)[selected] for v in self[1:])
        return type(self)(np.concatenate(numbered), *others)

    def check(self, y: ArrayLike | None, metric: object) -> None:
        """Raise a ValueError if y does not go with pairs."""
        if metric is None and y is not None:
            raise ValueError(
                "y and pairs were both given: learn either from grades or from "
                "preferences; only a metric needs both, the grades for its changes"
            )
        if metric is not None and y is None:
            raise ValueError(
                f"y is None, but metric={metric!r} weighs each of the pairs by how "
                "much a swap of its documents changes it: give y, the grades, or "
                "metric=None to learn from pairs alone"
            )

    def read(self, queries: QueryGroups, *, by_query: bool) -> JudgedPairs:
        """Return the pairs of a weight above zero; all are checked."""
        # rows
        n_rows = queries.n_documents
        try:
            rows = np.asarray(self.pairs)
        except ValueError as error:
            raise ValueError(f"pairs must have shape (n_pairs, 2): {error}") from None
        if rows.ndim != 2 or rows.shape[1:] != (2,) or len(rows) == 0:
            raise ValueError(
                "pairs must have shape (n_pairs, 2) with at least one pair, got "
                f"{rows.shape}"
            )
        if rows.dtype.kind not in "iu":
            raise ValueError(
                f"pairs must hold integers, rows of X; got dtype {rows.dtype}"
            )
        outside = ((rows < 0) | (rows >= n_rows)).any(axis=1)
        required = {
            f"hold rows of X, 0 to {n_rows - 1}": outside,
            "compare two rows": rows[:, 0] == rows[:, 1],
        }
        for what, is_wrong in required.items():
            if is_wrong.any():
                number = int(np.argmax(is_wrong))
                raise ValueError(
                    f"pairs must {what}, but pair {number} is {rows[number].tolist()}"
                )

        # probabilities and weights
        n_pairs, chances, weights = len(rows), self.probabilities, self.weights
        if chances is not None:
            name = "pair_probabilities"
            chances = read_numbers(chances, n_pairs, name, "pair")
            valid = (chances >= 0) & (chances <= 1)
            check_each(valid, chances, "pair {}".format, f"{name} must lie in [0, 1]")
        if weights is not None:
            weights = read_weights(weights, n_pairs, "pair_weights", "pair")
            if not weights.any():
                raise ValueError(
                    "pair_weights is zero for every pair: there is nothing to learn"
                )

        # both rows of one query, by which pairs are sorted
        query_of_row = queries.query_of_row
        first, second = query_of_row[rows[:, 0]], query_of_row[rows[:, 1]]
        if (first != second).any():
            number = int(np.argmax(first != second))
            i, j = rows[number].tolist()
            raise ValueError(
                "pairs must lie within queries when groups are given, but pair "
                f"{number} compares row {i} of query {queries.describe(first[number])} "
                f"with row {j} of query {queries.describe(second[number])}"
            )
        read = JudgedPairs(
            np.argsort(queries.order)[rows.astype(np.int64)],
            np.ones(n_pairs) if chances is None else chances,
            np.ones(n_pairs) if weights is None else weights,
            queries.offsets,
            by_query,
        )
        read = read.sorted(queries.offsets)
        return read.take(np.flatnonzero(read.weights), queries.offsets)


PAIRS_TEXT = inspect.cleandoc(
    r"""
    pairs : array-like of shape (n_pairs, 2), integers, default=None
        Judged pairs: rows of X, of which the first beats the second.  They may be
        inconsistent.  With `groups` they must lie within queries.  Without a metric
        they stand in place of `y`, and only the rows that they name are learned from.
        With a metric `y` is needed, too: the pairs say who should be above whom, and
        the grades how much that is worth.  With P the probability of a pair, v its
        weight and w that of its query, its cost is, as in sections 2 and 7 of Burges
        (2010),

        .. math::

            C_{ij} = w v \, |\Delta Z_{ij}| \left((1 - P) \, \sigma (s_i - s_j)
            + \log(1 + e^{-\sigma (s_i - s_j)})\right), \qquad
            \lambda_{ij} = w v \, |\Delta Z_{ij}| \, \sigma \left(1 - P
            - \frac{1}{1 + e^{\sigma (s_i - s_j)}}\right),

        where Z is the metric by `y`; without one its change is 1.  With a metric a
        pair of equal grades counts nothing: its swap changes no metric.
    pair_probabilities : array-like of shape (n_pairs,), default=None
        Probability in [0, 1] that the first of a pair beats the second; None: 1.
    pair_weights : array-like of shape (n_pairs,), default=None
        Weight of each pair, finite and >= 0, such as the number of judges who compared
        the two; None: 1.  0: as if the pair were not there; 2: as if it were there
        twice.
    """
)


PAIR_ARGUMENTS = ("pairs", "pair_probabilities", "pair_weights")  # as in GivenPairs
UNITS = 2.0**32  # of probabilities
BITS_OF_1 = np.float64(1.0).view(np.uint64)


class GradedPairs:
    """The pairs that grades make: documents of a query whose grades differ."""

    are_judged, stand_for_grades, by_query = False, False, True
    in_words = "different grades"
    NONE_LEFT = (
        "y has no query with two different grades{those} ({sizes}): there is no "
        "order to learn: check y and groups"
    )

    def in_queries(self, grades: LabelGrades, offsets: IntArray) -> NDArray[np.bool_]:
        """Return whether a query has pairs, (n_queries,)."""
        return grades.have_pairs(offsets[:-1])

    def select(self, kept: NDArray[np.bool_], query_offsets: IntArray) -> Self:
        """Return the same: grades, which are selected, make the pairs."""
        return self

    def reordered(self, order: NDArray[np.intp], query_offsets: IntArray) -> Self:
        """Return the same: grades, which are reordered, make the pairs."""
        return self

    def content_keys(self, columns: Sequence[NDArray[Any]]) -> list[HashArray]:
        """Return nothing: what rows hold says which pairs they make."""
        return []


GRADED_PAIRS = GradedPairs()


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """Judged pairs of training data, sorted by query.

    Attributes
    ----------
    rows : ndarray of shape (n_pairs, 2), int64
        Entries of the training data; the first beats the second.
    probabilities : ndarray of shape (n_pairs,), float64
        That it does.
    weights : ndarray of shape (n_pairs,), float64, > 0
    offsets : ndarray of shape (n_queries + 1,), int64
        Query q owns the pairs ``offsets[q]`` to ``offsets[q + 1] - 1``.
    by_query : bool
        Whether queries were given; without them networks learn pair by pair.
    stand_for_grades : bool
        Whether there are no grades.
    """

    rows: IntArray
    probabilities: FloatArray
    weights: FloatArray
    offsets: IntArray
    by_query: bool = True
    stand_for_grades: bool = False

    are_judged: ClassVar[bool] = True
    in_words: ClassVar[str] = "pairs"
    NONE_LEFT: ClassVar[str] = (
        "no query that is left to learn from has judged pairs of documents of "
        "different grades: lower validation_fraction, or give X_val, y_val and "
        "groups_val"
    )

    def in_queries(self, grades: LabelGrades, offsets: IntArray) -> NDArray[np.bool_]:
        """Return whether a query has pairs, (n_queries,)."""
        return np.diff(self.offsets) > 0

    def sorted(self, query_offsets: IntArray) -> Self:
        """Return the pairs in an order that does not depend on the given one."""
        # the rows of a query stand together, so pairs in their order are by query
        keys = self.weights, self.probabilities, self.rows[:, 1], self.rows[:, 0]
        return self.take(np.lexsort(keys), query_offsets)

    def take(self, taken: NDArray[np.intp], query_offsets: IntArray) -> Self:
        """Return some of the pairs, sorted by query."""
        rows = self.rows[taken]
        return replace(
            self,
            rows=rows,
            probabilities=self.probabilities[taken],
            weights=self.weights[taken],
            offsets=np.searchsorted(rows[:, 0], query_offsets).astype(np.int64),
        )

    def select(self, kept: NDArray[np.bool_], query_offsets: IntArray) -> Self:
        """Return the pairs of the entries that are kept, given the offsets of these."""
        place = np.cumsum(kept) - 1
        moved = replace(self, rows=place[self.rows])
        of_kept = np.flatnonzero(kept[self.rows].all(axis=1))
        return moved.take(of_kept, query_offsets)

    def reordered(self, order: NDArray[np.intp], query_offsets: IntArray) -> Self:
        """Return the same pairs where entry ``order[i]`` has become entry i."""
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return replace(self, rows=place[self.rows]).sorted(query_offsets)

    def content_keys(self, columns: Sequence[NDArray[Any]]) -> list[HashArray]:
        """Return a hash of the pairs of each entry, given the columns of all."""
        contents = np.zeros(len(columns[0]), dtype=np.uint64)
        for column in columns:
            is_hash = column.dtype == np.uint64
            bits = column if is_hash else (column + 0.0).view(np.uint64)  # -0.0 is 0.0
            contents = (contents ^ bits) * FACTOR_1
            contents ^= contents >> np.uint64(31)
        hashes = np.zeros(len(contents), dtype=np.uint64)
        if len(self.rows) > 0:
            weights = self.weights / self.weights.max()  # a common factor is left out
            add_pair_hashes(self.rows, self.probabilities, weights, contents, hashes)
        return [hashes]

    def shares_won(self, n_rows: int) -> FloatArray:
        """Return the mean probability of each entry to win its pairs, (n_rows,)."""
        # each entry is in a pair; its terms are added in the order of their sizes
        units = np.rint(self.probabilities * UNITS)
        chances = np.concatenate([units, UNITS - units])
        rows, weights = self.rows.T.ravel(), np.tile(self.weights, 2)
        order = np.lexsort((chances, weights))
        rows, weights, chances = rows[order], weights[order], chances[order]
        won = np.bincount(rows, weights * chances, n_rows)
        return won / (UNITS * np.bincount(rows, weights, n_rows))


@kernel
def add_pair_hashes(
    rows: IntArray,
    probabilities: FloatArray,
    weights: FloatArray,
    contents: HashArray,
    hashes: HashArray,
) -> None:
    """Add to the hash of each row those of the rows that it is compared with."""
    for p in range(len(rows)):
        i, j = rows[p, 0], rows[p, 1]
        chance = mix_bits(uint64(int64(float64_bits(probabilities[p]))) + COLUMN_STEP)
        chance += mix_bits(uint64(int64(float64_bits(weights[p]))) - BITS_OF_1)
        hashes[i] += mix_bits(contents[j] ^ chance)
        hashes[j] += mix_bits(contents[i] ^ (chance + COLUMN_STEP))
