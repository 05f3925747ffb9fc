"""Common parts of bags and blends: the rows of a fit, and the scores of members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from sklearn_ltr._data import (
    GivenColumns,
    QueryGroups,
    RowColumns,
    TrainingData,
    check_base_scores,
    count_rows,
)
from sklearn_ltr._data.features import check_columns
from sklearn_ltr._data.rows import index_rows, n_rows
from sklearn_ltr._rankers.reading import check_y_given, read_queries, read_targets
from sklearn_ltr._typing import FloatArray, IdsLike, MatrixLike


class FitRows(NamedTuple):
    """The rows of `fit` of a weight above 0, checked."""

    X: MatrixLike  # as given
    y: FloatArray  # in the order of the rows
    # groups and the other columns that were given, in the order of the rows
    metadata: dict[str, Any]
    queries: QueryGroups
    data: TrainingData  # grades and weights, in canonical order
    kept: NDArray[np.bool_]  # which of the given rows these are,
    kept_queries: NDArray[np.bool_]  # and which of the given queries


def read_rows(
    X: MatrixLike, y: ArrayLike, groups: IdsLike | None, columns: GivenColumns
) -> FitRows:
    """Check the arguments of `fit`, but the values of X, which the members check."""
    check_y_given(y)
    n_documents = count_rows(y, "y")
    queries = read_queries(groups, n_documents)
    if n_rows(X) not in (0, n_documents):  # the members refuse an X without rows
        raise ValueError(
            f"X has {n_rows(X)} rows and y {n_documents} values, inconsistent numbers "
            "of samples: give one value per row"
        )
    data = read_targets(y, queries, columns)
    grades = queries.unsort(data.y)
    read = {
        name: queries.unsort(values)
        for name, values in data.columns.by_row(data.sizes).items()
    }
    weights = data.sample_weight
    if weights.all() or n_rows(X) == 0:
        kept = np.ones(n_documents, dtype=np.bool_)
        kept_queries = np.ones(data.n_queries, dtype=np.bool_)
        metadata = {"groups": queries.column, **read}
        return FitRows(X, grades, metadata, queries, data, kept, kept_queries)
    kept = read["sample_weight"] > 0
    index = np.flatnonzero(kept)
    rows = read_rows(
        index_rows(X, index),
        grades[index],
        index_rows(queries.column, index),
        RowColumns(**{name: values[index] for name, values in read.items()}),
    )
    return rows._replace(kept=kept, kept_queries=weights > 0)


def check_taken(rows: FitRows, taken: Sequence[Mapping[str, object]]) -> None:
    """Raise a ValueError for a given column that no member is fitted with."""
    for name in rows.metadata.keys() - {"groups", "sample_weight"}:
        if not any(name in given for given in taken):
            raise ValueError(
                f"{name} was given, but no member learns from it: leave it out, or "
                "give a ranker that learns from it, such as LambdaMARTRanker"
            )


def predict_scores(
    members: Sequence[BaseEstimator], X: MatrixLike, name: str
) -> list[FloatArray]:
    """Return the scores of documents by fitted members, each (n_documents,) float64."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] == 0:  # which scikit-learn's estimators refuse
        check_columns(members[0], X, "X")
        return [np.empty(0) for _ in members]
    scores = [member.predict(X) for member in members]
    n_documents = count_rows(scores[0], f"what {name}[0] predicts")
    return [
        check_base_scores(scores_m, n_documents, f"what {name}[{m}] predicts")
        for m, scores_m in enumerate(scores)
    ]
