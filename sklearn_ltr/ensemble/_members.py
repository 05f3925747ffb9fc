"""The members of an ensemble: the queries each is trained on, its seed, its fit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import joblib
import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ltr._data import QueryGroups, TrainingData, count_rows
from sklearn_ltr._data.rows import index_rows, n_rows
from sklearn_ltr._rankers.reading import check_y_given, read_queries, read_targets
from sklearn_ltr._rankers._routing import request_sample_weight, requested_by_fit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
VALIDATION = ("X_val", "y_val", "groups_val", "sample_weight_val")


class MembersData(NamedTuple):
    """What `fit` was given, checked; `y` and `of_rows` in the order of the rows."""

    X: Any  # as given
    y: FloatArray
    of_rows: dict[str, Any]  # groups, and sample_weight if it was given
    validation: dict[str, Any]  # X_val and the arguments that come with it, if given
    queries: QueryGroups
    data: TrainingData  # grades and weights, in canonical order


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
    data = read_targets(y, queries, sample_weight)
    of_rows = {"groups": queries.column}
    if sample_weight is not None:
        weights = np.repeat(data.weights, queries.sizes)
        of_rows["sample_weight"] = queries.unsort(weights)
    given = {
        name: value
        for name, value in zip(VALIDATION, validation, strict=True)
        if value is not None
    }
    return MembersData(X, queries.unsort(data.y), of_rows, given, queries, data)


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
    queries, X, y = data.queries, data.X, data.y
    metadata = data.of_rows | data.validation
    if n_rows(X) > 0 and not np.array_equal(drawn, np.arange(queries.n_queries)):
        rows = rows_of_queries(queries, drawn)
        X, y = index_rows(X, rows), y[rows]
        # a query that is drawn twice is two queries
        metadata["groups"] = np.repeat(np.arange(len(drawn)), queries.sizes[drawn])
        if "sample_weight" in metadata:
            metadata["sample_weight"] = metadata["sample_weight"][rows]
    threads = joblib.parallel_config("sequential") if in_parallel else nullcontext()
    with sklearn.config_context(enable_metadata_routing=True), threads:
        if "sample_weight" in metadata:
            request_sample_weight(member)
        return member.fit(X, y, **requested_by_fit(member, metadata))
