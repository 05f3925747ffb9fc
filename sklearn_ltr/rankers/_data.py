"""Raw training input, checked and cut into queries, in canonical order."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._queries import (
    Labels,
    QueryGroups,
    check_grades,
    check_sample_weight,
)
from sklearn_ltr.learners._tables import Table


class MissingGroupsWarning(UserWarning):
    """`groups` was not given, and all rows were taken for one query."""


MISSING_GROUPS = (
    "groups was not given, so all rows were taken for one query. Either it was "
    "forgotten: pass groups=, one value per row. Or a meta-estimator (GridSearchCV, "
    "Pipeline, ...) dropped it, because metadata routing is off: call "
    "sklearn.set_config(enable_metadata_routing=True) once."
)


def nothing_moves(metric: Any) -> str:
    """Say that no lambda of a whole data set is other than zero."""
    return (
        f"no swap of two documents changes metric={metric!r}, so there is nothing to "
        "learn: without a discount it needs a cutoff shorter than the lists (and "
        "sample_weight must not vanish)"
    )


def calls_above_package() -> int:
    """Return the stacklevel, for the caller, of the code that called this package."""
    level, frame = 0, inspect.currentframe()
    ours = ("sklearn_ltr", "sklearn.callback")  # whose decorator wraps `fit`
    while frame and frame.f_globals.get("__name__", "").startswith(ours):
        level, frame = level + 1, frame.f_back
    return level


def read_queries(groups: Any, n_documents: int, suffix: str = "") -> QueryGroups:
    """Return the queries of the rows; warn, and take one query, without `groups`.

    `suffix` ends the name in messages.
    """
    if groups is None:
        warnings.warn(
            MISSING_GROUPS.replace("groups", f"groups{suffix}", 1),
            MissingGroupsWarning,
            stacklevel=calls_above_package(),
        )
        return QueryGroups.single(n_documents)
    return QueryGroups.from_groups(groups, n_documents, f"groups{suffix}")


@dataclass(frozen=True)
class GradedLists:
    """Documents by query: which rows of X they are, and how good.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
        The table as given.
    rows : ndarray of shape (n_documents,), intp
        The row of each document, in canonical order.
    grades : ndarray of shape (n_documents,), float64
    offsets : ndarray of shape (n_queries + 1,), int64
        Query q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``.
    weights : ndarray of shape (n_queries,), float64
    labels : sequence of length n_queries
        The group value of each query.
    """

    X: Table
    rows: NDArray[np.intp]
    grades: NDArray[np.float64]
    offsets: NDArray[np.int64]
    weights: NDArray[np.float64]
    labels: Labels

    @classmethod
    def read(
        cls,
        X: Table,
        y: Any,
        groups: Any,
        sample_weight: Any,
        suffix: str = "",
    ) -> GradedLists:
        """Check and sort; `suffix` ends the argument names in messages ("_val")."""
        n_rows = X.shape[0]
        if y is None:
            raise ValueError(
                f"y{suffix} is None: a ranker requires y to be passed, but the target "
                "y is None; give one relevance grade per row"
            )
        queries = read_queries(groups, n_rows, suffix)
        return cls(
            X,
            queries.order,
            check_grades(y, queries, f"y{suffix}"),
            queries.offsets,
            check_sample_weight(sample_weight, queries, f"sample_weight{suffix}"),
            queries.labels,
        )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.weights)

    @property
    def has_pairs(self) -> NDArray[np.bool_]:
        """Whether a query has documents of different grades: (n_queries,) bool."""
        starts = self.offsets[:-1]
        highest = np.maximum.reduceat(self.grades, starts)
        return highest > np.minimum.reduceat(self.grades, starts)

    def check_that_there_is_something_to_learn(self) -> None:
        """Raise a ValueError unless a query of some weight has pairs."""
        if not self.has_pairs.any():
            raise ValueError(
                "y has no query with two different grades (n_queries="
                f"{self.n_queries}, n_samples={len(self.rows)}): there is no order to "
                "learn; check y and groups"
            )
        if not self.weights[self.has_pairs].any():
            raise ValueError(
                "sample_weight is zero for every query with two different grades: "
                "there is nothing to learn"
            )

    def take(self, chosen: NDArray[np.bool_]) -> GradedLists:
        """Return some of the queries, given as a mask."""
        sizes = np.diff(self.offsets)
        documents = np.repeat(chosen, sizes)
        return GradedLists(
            self.X,
            self.rows[documents],
            self.grades[documents],
            np.concatenate(([0], np.cumsum(sizes[chosen]))).astype(np.int64),
            self.weights[chosen],
            [label for label, c in zip(self.labels, chosen, strict=True) if c],
        )

    def split(self, fraction: float, seed: int) -> tuple[GradedLists, GradedLists]:
        """Hold out a share of the queries, at least one: (the others, held out)."""
        n_out = max(1, round(fraction * self.n_queries))
        if n_out >= self.n_queries:
            raise ValueError(
                f"validation_fraction={fraction} of {self.n_queries} queries leaves "
                "none to learn from; give X_val, y_val and groups_val, or more queries"
            )
        out = np.zeros(self.n_queries, dtype=np.bool_)
        drawn = np.random.default_rng([seed, 1]).permutation(self.n_queries)[:n_out]
        out[drawn] = True
        if not self.weights[out].any():
            raise ValueError(
                "sample_weight is zero for all queries that were held out for early "
                "stopping; give X_val, y_val and groups_val"
            )
        return self.take(~out), self.take(out)
