"""Strategies of hypothesis: data sets of queries of different lengths."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

grades = st.one_of(
    st.integers(0, 4).map(float),
    st.sampled_from([0.0, 0.5, 1.0, 2.5]),
)

#: Scores with many ties, ordinary scores, and scores far apart.
scores = st.one_of(
    st.integers(-1, 1).map(float),
    st.floats(-10, 10, allow_subnormal=False),
    st.sampled_from([-1e300, -1e9, 1e9, 1e300]),
)


@dataclass(frozen=True)
class Ranking:
    """Grades, scores and queries of rows; the rows of queries are interleaved."""

    y: NDArray[np.float64]
    scores: NDArray[np.float64]
    groups: NDArray[np.int64]

    def lists(self) -> list[tuple[list[float], list[float]]]:
        """Scores and grades of each query, sorted by group value, in row order."""
        return [
            (self.scores[self.groups == g].tolist(), self.y[self.groups == g].tolist())
            for g in np.unique(self.groups)
        ]


@st.composite
def rankings(
    draw: st.DrawFn,
    max_queries: int = 4,
    max_documents: int = 7,
    grades: st.SearchStrategy[float] = grades,
    scores: st.SearchStrategy[float] = scores,
) -> Ranking:
    """Queries of single documents, of equal grades, with ties; rows in any order."""
    sizes = draw(
        st.lists(st.integers(1, max_documents), min_size=1, max_size=max_queries)
    )
    n = sum(sizes)
    rows = draw(
        st.permutations(np.repeat(np.arange(len(sizes)) * 3 - 4, sizes).tolist())
    )
    column = lambda values: np.array(  # noqa: E731
        draw(st.lists(values, min_size=n, max_size=n)), dtype=np.float64
    )
    return Ranking(column(grades), column(scores), np.array(rows, dtype=np.int64))


def ranking_without_ties(seed: int = 0) -> Ranking:
    """Queries of 1 to 25 documents, one without relevant ones; all scores differ.

    In a form that every other library reads: integer grades 0 to 4, sorted by query.
    """
    rng = np.random.default_rng(seed)
    sizes = [12, 3, 1, 8, 25, 5, 2, 17]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    y = rng.integers(0, 5, len(groups)).astype(np.float64)
    y[groups == 3] = 0.0
    return Ranking(y, rng.permutation(len(groups)) / 8.0, groups)


class Rows:
    """Queries with all kinds of features, NaN among them, and repeated documents.

    Every column that an argument of `fit` may be is drawn: `columns`, by its name.
    """

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 12, rng.integers(3, 20))
        sizes[:2] = 5
        groups = np.repeat(rng.permutation(100)[: len(sizes)], sizes)
        n = len(groups)
        y = rng.integers(0, 4, n).astype(float)
        y[:10] = np.tile([0, 1, 2, 3, 0], 2)
        X = np.column_stack(
            (
                rng.normal(size=(n, 2)),
                rng.integers(0, 5, (n, 1)),
                np.exp(3 * rng.normal(size=(n, 1))) - 1,
            )
        )
        X[rng.uniform(size=X.shape) < rng.choice([0, 0.2])] = np.nan
        rows = np.concatenate((np.arange(n), rng.integers(0, n, 3)))  # some are twice
        self.X, self.y, self.groups = X[rows], y[rows], groups[rows]
        n = len(rows)
        in_query = np.lexsort((rng.uniform(size=n), self.groups))
        first = np.searchsorted(self.groups[in_query], self.groups)
        self.columns = {
            "sample_weight": rng.uniform(0.5, 2, 100)[self.groups],
            "document_weight": rng.choice([0.2, 0.5, 1.0, 1.7], n),
            "init_score": rng.normal(size=n),
            "positions": in_query.argsort() - first,
            "propensities": rng.uniform(0.1, 1, n),
        }
        pairs = np.argwhere(
            (self.groups == self.groups[:, np.newaxis])
            & (self.y > self.y[:, np.newaxis]).T
        )
        self.pairs = pairs[rng.permutation(len(pairs))[:30]]  # rows; the first wins
        self.pair_probabilities = rng.uniform(size=len(self.pairs))
        self.pair_weights = rng.choice([0.0, 0.5, 1.0, 3.0], len(self.pairs))
        self.pair_weights[:1] = 2.0

    @property
    def trained_on(self) -> list[bool]:
        """Rows of the queries with pairs.

        Others may fall between a threshold and its transform, or to different sides of
        two splits that divide the training rows alike.
        """
        return [np.ptp(self.y[self.groups == group]) > 0 for group in self.groups]

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Return some of the rows, in this order."""
        taken = copy(self)
        taken.X, taken.y, taken.groups = self.X[rows], self.y[rows], self.groups[rows]
        taken.columns = {name: column[rows] for name, column in self.columns.items()}
        place = np.full(len(self.y), -1)
        place[rows] = np.arange(len(rows))
        kept = (place[self.pairs] >= 0).all(axis=1)
        taken.pairs = place[self.pairs][kept]
        taken.pair_probabilities = self.pair_probabilities[kept]
        taken.pair_weights = self.pair_weights[kept]
        return taken

    def shuffled(self) -> Rows:
        """Return the same in another order of the rows, and of the pairs."""
        moved = self.take(self.rng.permutation(len(self.y)))
        order = self.rng.permutation(len(moved.pairs))
        moved.pairs = moved.pairs[order]
        moved.pair_probabilities = moved.pair_probabilities[order]
        moved.pair_weights = moved.pair_weights[order]
        return moved

    def with_weights(self, weights: NDArray[np.float64]) -> Rows:
        """Return the same rows with other weights."""
        other = copy(self)
        other.columns = self.columns | {"sample_weight": weights}
        return other

    def with_weights_of_0(self) -> Rows:
        """Return rows of which some queries have weight 0, and strange features."""
        queries = np.unique(self.groups)
        in_two = np.isin(self.groups, self.groups[[0, 5]])  # with all grades
        left_out = np.isin(
            self.groups, queries[self.rng.uniform(size=len(queries)) < 0.4]
        )
        left_out &= ~in_two
        other = self.with_weights(np.where(left_out, 0, self.columns["sample_weight"]))
        other.X = np.where(left_out[:, np.newaxis], 7.0, self.X)
        other.y = np.where(left_out, 3 - self.y, self.y)
        return other


rows = st.builds(Rows, st.integers(0, 10**6))


def sparse_columns(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Return n rows of columns that are mostly 0, and of others, in any order."""
    few = lambda: rng.uniform(size=n) < rng.choice([0.01, 0.03, 0.06, 0.1])  # noqa: E731
    words = np.where(
        rng.uniform(size=(n, 6)) < 0.05, rng.integers(1, 9, (n, 6)), np.zeros((n, 6))
    )
    missing = np.full(n, np.nan)
    level = rng.integers(0, 25, n)
    columns = [
        *words.T,
        words[:, 0],  # splits with equal gains
        *(level[:, np.newaxis] == np.arange(5)).astype(float).T,
        np.where(few(), -rng.integers(1, 4, n), 0),  # 0 is above all others
        np.where(few(), rng.normal(size=n).round(1), -0.0),
        np.where(few(), rng.normal(size=n), 0),
        np.where(few(), np.where(rng.uniform(size=n) < 0.5, np.nan, 2), 0),
        np.where(few(), missing, 0),
        np.where(few(), rng.integers(0, 3, n), missing),
        np.where(few(), rng.integers(0, 3, n), 5),  # most rows have the same nonzero
        np.where(few(), missing, rng.normal(size=n)),
        rng.normal(size=n).round(1),
        np.zeros(n),
        missing,
        np.full(n, 3),
    ]
    return np.column_stack(columns)[:, rng.permutation(len(columns))]


class SparseRows(Rows):
    """Queries of 30 rows or more, whose features are `sparse_columns`."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 15, rng.integers(8, 40))
        sizes[:3] = 10
        self.groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        n = len(self.groups)
        self.X = sparse_columns(rng, n)
        signal = np.nan_to_num(self.X) @ rng.choice([-1, 0, 1], self.X.shape[1])
        signal += rng.normal(size=n)
        limits = np.quantile(signal, [0.5, 0.7, 0.9])
        self.y = np.digitize(signal, limits).astype(float)
        self.columns = {"init_score": rng.normal(size=n)}
        self.pairs = np.empty((0, 2), dtype=np.int64)
        self.pair_probabilities = self.pair_weights = np.empty(0)

    @property
    def csr(self) -> csr_matrix:
        """The features as a sparse table, in which some zeros are stored."""
        is_stored = (self.X != 0) | (self.rng.uniform(size=self.X.shape) < 0.02)
        row, column = np.nonzero(is_stored)
        values = self.X[row, column]
        return csr_matrix((values, (row, column)), shape=self.X.shape)


sparse_rows = st.builds(SparseRows, st.integers(0, 10**6))
