"""Strategies of hypothesis: data sets of queries of different lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

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
