"""The members of an ensemble: the queries each is trained on, its seed, its fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import joblib
import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ltr._queries import (
    QueryGroups,
    TrainingData,
    check_grades,
    check_sample_weight,
    count_rows,
)
from sklearn_ltr._queries.rows import index_rows, n_rows
from sklearn_ltr.rankers._reading import check_y_given, read_queries
from sklearn_ltr.rankers._routing import request_sample_weight, requested_by_fit

IntArray = NDArray[np.int64]
VALIDATION = ("X_val", "y_val", "groups_val", "sample_weight_val")


class MembersData(NamedTuple):
    """What `fit` was given, checked."""

    X: Any  # as given
    queries: QueryGroups
    data: TrainingData  # grades and weights, in canonical order
    is_weighted: bool  # whether there was a sample_weight
    validation: dict[str, Any]  # X_val and the arguments that come with it, if given


def read_members_data(
    X: Any, y: Any, groups: Any, sample_weight: Any, validation: tuple[Any, ...]
) -> MembersData:
    """Check the arguments of `fit`, but the values of X and of `validation`.

    Those are checked by the members.
    """
    check_y_given(y)
    n_documents = count_rows(y, "y")
    queries = read_queries(groups, n_documents)
    if n_rows(X) not in (0, n_documents):  # what has no rows, the members refuse
        raise ValueError(
            f"X has {n_rows(X)} rows and y {n_documents} values: give one per row"
        )
    data = TrainingData(
        None,
        queries.order,
        check_grades(y, queries),
        queries.offsets,
        check_sample_weight(sample_weight, queries),
        queries.labels,
    )
    given = {
        name: value
        for name, value in zip(VALIDATION, validation, strict=True)
        if value is not None
    }
    return MembersData(X, queries, data, sample_weight is not None, given)


def draw_queries(
    rng: np.random.Generator, n_queries: int, n_drawn: int, bootstrap: bool
) -> IntArray:
    """Return the queries of a member, ascending; a bootstrap repeats some."""
    if bootstrap:
        return np.sort(rng.integers(n_queries, size=n_drawn))
    return np.sort(rng.choice(n_queries, n_drawn, replace=False))


def rows_of_queries(queries: QueryGroups, drawn: IntArray) -> NDArray[np.intp]:
    """Return the rows of some queries, one query after the other."""
    if len(drawn) == 0:
        return np.empty(0, dtype=np.intp)
    parts = [queries.order[slice(*queries.offsets[q : q + 2])] for q in drawn]
    return np.concatenate(parts)


def new_member(estimator: Any, rng: np.random.Generator) -> Any:
    """Return a clone with new seeds for all that has a `random_state`."""
    member = clone(estimator)
    seeded = [
        name
        for name in sorted(member.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]
    return member.set_params(**{name: int(rng.integers(2**31)) for name in seeded})


def fit_members(
    members: Sequence[Any],
    drawn: Sequence[IntArray],
    data: MembersData,
    n_jobs: int | None,
    verbose: int,
) -> list[Any]:
    """Return the members fitted to their queries.

    Members that are fitted at the same time use one thread each, unless their own
    `n_jobs` is set.
    """
    parallel = joblib.effective_n_jobs(n_jobs) > 1
    jobs = (
        delayed(_fit_member)(member, queries, data, parallel)
        for member, queries in zip(members, drawn, strict=True)
    )
    # kernels release the GIL, so threads do, and X is not copied to processes
    return list(Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose)(jobs))


def _fit_member(
    member: Any, drawn: IntArray, data: MembersData, in_parallel: bool
) -> Any:
    """Fit one member to the queries drawn for it."""
    queries, sizes = data.queries, data.queries.sizes
    X, y = data.X, queries.unsort(data.data.y)
    metadata = {"groups": queries.column, **data.validation}
    if data.is_weighted:
        weights = np.repeat(data.data.weights, sizes)
        metadata["sample_weight"] = queries.unsort(weights)
    if n_rows(X) > 0 and not np.array_equal(drawn, np.arange(queries.n_queries)):
        rows = rows_of_queries(queries, drawn)
        X, y = index_rows(X, rows), y[rows]
        # a query that is drawn twice is two queries
        metadata["groups"] = np.repeat(np.arange(len(drawn)), sizes[drawn])
        if data.is_weighted:
            metadata["sample_weight"] = metadata["sample_weight"][rows]
    with sklearn.config_context(enable_metadata_routing=True):
        if data.is_weighted:
            request_sample_weight(member)
        given = requested_by_fit(member, metadata)
        if in_parallel:
            with joblib.parallel_config("sequential"):
                return member.fit(X, y, **given)
        return member.fit(X, y, **given)
