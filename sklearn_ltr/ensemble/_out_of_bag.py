"""Scores of documents by the members that were not trained on their query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data.rows import index_rows, n_rows
from sklearn_ltr._rankers._initial import check_base_scores
from sklearn_ltr.ensemble._members import MembersData, rows_of_queries
from sklearn_ltr.metrics import Metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class OutOfBag(NamedTuple):
    """The out-of-bag estimate of a metric."""

    prediction: FloatArray  # (n_documents,) in the order of the rows, or NaN
    per_query: FloatArray  # (n_queries,), or NaN
    score: float
    staged_score: FloatArray | None  # (n_trees,); None: members have no stages


def out_of_bag(
    members: Sequence[Any],
    drawn: Sequence[IntArray],
    data: MembersData,
    metric: Metric,
) -> OutOfBag:
    """Return the estimate; `drawn` are the queries that each member was trained on.

    Raises
    ------
    ValueError
        If every member was trained on all queries that count in the metric.
    """
    queries, n_queries = data.queries, data.queries.n_queries
    left_out = [np.setdiff1d(np.arange(n_queries), d) for d in drawn]
    rows = [rows_of_queries(queries, of_member) for of_member in left_out]
    n_scores = np.zeros(queries.n_documents)
    for rows_m in rows:
        n_scores[rows_m] += 1
    scored = np.bincount(np.concatenate(left_out), minlength=n_queries) > 0
    if not scored.any():
        raise ValueError(
            f"oob_score=True, but each of the {len(members)} members was trained on "
            "all queries: give more members, or a smaller max_samples"
        )
    parts = [index_rows(data.X, rows_m) for rows_m in rows]
    scores = [
        check_base_scores(m.predict(part), len(rows_m), f"what estimators_[{i}] scores")
        if len(rows_m) > 0
        else np.empty(0)
        for i, (m, part, rows_m) in enumerate(zip(members, parts, rows, strict=True))
    ]

    def mean_scores(scores: Sequence[FloatArray]) -> FloatArray:
        total = np.zeros(queries.n_documents)
        for rows_m, scores_m in zip(rows, scores, strict=True):
            total[rows_m] += scores_m
        with np.errstate(invalid="ignore"):  # 0 / 0 is NaN
            return total / n_scores

    known = data.data.subset(scored)
    bound = metric.bind(known.y, known.offsets, known.labels)
    prediction = mean_scores(scores)
    per_query = np.full(n_queries, np.nan)
    per_query[scored] = bound.values(prediction[known.rows])
    staged = None
    if all(hasattr(member, "staged_predict") for member in members):
        staged = np.array(
            [
                bound.mean(mean_scores(stage)[known.rows], known.weights)
                for stage in _stages(members, parts)
            ]
        )
    score = bound.mean(prediction[known.rows], known.weights)
    return OutOfBag(prediction, per_query, score, staged)


def _stages(members: Sequence[Any], parts: Sequence[Any]) -> Iterator[list[FloatArray]]:
    """Yield the scores of all members after 1, 2, ... trees.

    Members that stopped early keep their last scores.
    """
    stages = [
        member.staged_predict(part) if n_rows(part) > 0 else iter(())
        for member, part in zip(members, parts, strict=True)
    ]
    latest = [np.empty(0) for _ in members]
    for _ in range(max(member.n_iter_ for member in members)):
        latest = [next(stage, last) for stage, last in zip(stages, latest, strict=True)]
        yield latest
