"""Ranked lists with their judgements, and trec_eval's measures of them.

The measures here are for reports only: a ranker cannot be trained for them, as it can
for the metrics of :mod:`sklearn_ltr.metrics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.typing import BoolArray, FloatArray, IntArray

# what trec_eval adds to a share of the relevant documents, before it cuts off digits
TREC_EVAL_10, TREC_EVAL_9 = 0.5, 0.9

Rows: TypeAlias = Mapping[str, NDArray[Any]]  # arguments of metrics, by name


class EvaluatedLists(NamedTuple):
    """The ranked lists of all queries, and how many documents these have."""

    tag: str  # name of the run, or of the model
    labels: NDArray[Any]  # (n_queries,) the queries, in the order of metrics' values
    relevant: list[BoolArray]  # of each query: is rank 1, 2, ... relevant?
    n_relevant: IntArray  # (n_queries,) those that were not retrieved included

    @property
    def n_retrieved(self) -> IntArray:
        """Return the number of documents of each list."""
        return np.array([len(ranked) for ranked in self.relevant], dtype=np.int64)

    @property
    def n_found(self) -> IntArray:
        """Return the number of relevant documents of each list."""
        return np.array([ranked.sum() for ranked in self.relevant], dtype=np.int64)


def rank_lists(
    rows: Rows, level: float | None, stable: bool, tag: str
) -> EvaluatedLists:
    """Return ranked lists; of equal scores, lower grades are first unless `stable`."""
    grades, groups = rows["y_true"], rows["groups"]
    is_missing = len(rows.get("y_missing", [])) > 0  # an empty column has no dtype
    if is_missing:
        groups = np.concatenate([groups, rows["groups_missing"]])
    labels, query = np.unique(groups, return_inverse=True)
    of_row, of_missing = np.split(query, [len(grades)])
    order, _ = rank_rows(of_row, rows["y_score"], None if stable else grades)
    relevant = is_relevant(grades[order], level)
    ends = np.cumsum(np.bincount(of_row, minlength=len(labels)))
    n_relevant = np.bincount(of_row[order][relevant], minlength=len(labels))
    if is_missing:
        others = of_missing[is_relevant(rows["y_missing"], level)]
        n_relevant += np.bincount(others, minlength=len(labels))
    return EvaluatedLists(tag, labels, np.split(relevant, ends[:-1]), n_relevant)


def rank_rows(
    query: IntArray, scores: FloatArray, ties: NDArray[Any] | None
) -> tuple[IntArray, IntArray]:
    """Return the rows by query and rank, and the position of each row in its list.

    Equal scores are ordered by `ties`, ascending; None: by row.
    """
    keys = (-scores, query) if ties is None else (ties, -scores, query)
    order = np.lexsort(keys)
    ranked = query[order]
    positions = np.empty_like(order)
    positions[order] = np.arange(len(order)) - np.searchsorted(ranked, ranked)
    return order, positions


def is_relevant(grades: FloatArray, level: float | None) -> BoolArray:
    """Return which grades are relevant: at least `level`, or above zero without it."""
    return grades > 0 if level is None else grades >= level


def interpolated_precision(
    lists: EvaluatedLists, recall: float, rounding: float = TREC_EVAL_10
) -> FloatArray:
    """Return the highest precision at the ranks where so much recall is reached.

    For recall x and R relevant documents, with m = floor(x R + `rounding`), this is the
    maximum over ranks r with at least m relevant documents of the number of these,
    divided by r; 0 if the list has fewer (trec_eval's ``iprec_at_recall``).
    """
    values = np.zeros(len(lists.labels))
    for query, relevant in enumerate(lists.relevant):
        found = np.cumsum(relevant)
        needed = np.floor(recall * lists.n_relevant[query] + rounding)
        precision = (found / np.arange(1, len(found) + 1))[found >= needed]
        values[query] = precision.max(initial=0.0)
    return values


def mean_interpolated_precision(lists: EvaluatedLists) -> FloatArray:
    """Return the mean of these at recall 0, 0.1, ..., 1 (11pt_avg of trec_eval 10)."""
    tenths = [interpolated_precision(lists, tenth / 10) for tenth in range(11)]
    return np.array(np.mean(tenths, axis=0))
