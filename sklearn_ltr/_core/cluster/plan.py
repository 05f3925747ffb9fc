"""Plan which worker fits which queries, and which rows to send for that.

A query that lies on several workers goes to the one that has most of its rows, among
those that would not have more rows than before.  Nothing else is sent, unless a worker
has no query to learn from: then it gives its rows to the others, and takes no part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.cluster.summaries import Summary, check_alike
from sklearn_ltr._core.data import QueryGroups, QueryIds, describe_query
from sklearn_ltr._core.data.columns import BY_DOCUMENT
from sklearn_ltr._core.data.groups import sort_key
from sklearn_ltr._core.data.labels import check_have_judged, label_shares
from sklearn_ltr._core.typing import FloatArray, IntArray, LabelWeightsLike

# of ids, by the kind of their dtype
NUMBERS = dict.fromkeys("iuf", "numbers")
KINDS = NUMBERS | {"b": "booleans", "M": "datetime64", "m": "timedelta64"}


@dataclass(frozen=True, eq=False)
class QueryLocations:
    """The queries of all partitions, with an entry for each query of each partition."""

    queries: QueryGroups  # its "rows" are the entries
    partition: IntArray  # (n_entries,), as of the next three
    local: IntArray  # number of the query in its partition
    size: IntArray  # rows of the query in the partition
    worker: IntArray  # index in `workers` of the worker that has the partition
    workers: list[str]  # names
    has_pairs: NDArray[np.bool_]  # of each query: two different grades that count
    weight: FloatArray  # of each query

    @property
    def query(self) -> NDArray[np.intp]:
        """Return the query of each entry, a position in the sorted ids."""
        return self.queries.query_of_row


def locate_queries(
    summaries: list[Summary | None],
    suffix: str,
    label_weights: LabelWeightsLike | None,
    workers: list[str],
) -> QueryLocations:
    """Merge the summaries of all partitions; raise an error if they do not fit."""
    # `workers` are known already; the workers of the summaries are added to them
    check_alike(summaries, suffix)
    found = [(n, s) for n, s in enumerate(summaries) if s is not None]
    if not found:
        raise ValueError(f"X{suffix} is empty: give a partition with rows")
    parts = {number: summary.query_ids for number, summary in found}
    check_same_kinds(parts, f"groups{suffix}")
    # the ids, as one machine would be given them
    given: list[Any] = list(parts.values())
    query_ids: Any = [query_id for part in given for query_id in part]
    if all(isinstance(part, np.ndarray) for part in given):
        query_ids = np.concatenate(given)
    queries = QueryGroups.from_groups(query_ids, len(query_ids), f"groups{suffix}")
    known = workers + sorted({summary.worker for _, summary in found} - set(workers))
    n_entries = [len(summary.sizes) for _, summary in found]
    starts = queries.offsets[:-1]

    def reduce_queries(name: str, reduce: Any) -> Any:
        entries = np.concatenate([getattr(summary, name) for _, summary in found])
        return reduce.reduceat(queries.sort(entries), starts)

    low = reduce_queries("lowest", np.fmin)
    high = reduce_queries("highest", np.fmax)
    counts, names = np.ones(1, dtype=np.bool_), found[0][1].y_columns
    if names:
        counts = label_shares(label_weights, names) > 0
        check_have_judged(~np.isnan(high).all(axis=0), names, f"y{suffix}")
    weight = reduce_queries("lowest_weight", np.minimum)
    heaviest = reduce_queries("highest_weight", np.maximum)
    differs = weight != heaviest
    if (differs & np.isfinite(weight) & np.isfinite(heaviest)).any():
        query = int(np.argmax(differs))
        raise ValueError(
            f"sample_weight{suffix} weighs whole queries, so it must be constant "
            f"within a query, but query {queries.describe(query)} has both "
            f"{weight[query]} and {heaviest[query]}{BY_DOCUMENT}"
        )
    return QueryLocations(
        queries,
        np.repeat([number for number, _ in found], n_entries),
        np.concatenate([np.arange(n) for n in n_entries]),
        np.concatenate([summary.sizes for _, summary in found]),
        np.repeat([known.index(summary.worker) for _, summary in found], n_entries),
        known,
        (high > low)[:, counts].any(axis=1),
        weight,
    )


def check_same_kinds(parts: Mapping[int, QueryIds], name: str) -> None:
    """Raise a ValueError if one query may be named by different ids in two partitions.

    The ids are by the number of the partition.  One machine would take text and
    numbers for the ids of different queries; of these partitions, too, which may be
    files that were read by different rules.
    """
    kinds = {number: kinds_of(query_ids) for number, query_ids in parts.items()}
    first: dict[frozenset[str], int] = {}
    for number, found in kinds.items():
        first.setdefault(found, number)
    for (one, a), (other, b) in combinations(first.items(), 2):
        if not one & other:
            found_there = (
                f"{', '.join(sorted(kinds))} in partition {number}, such as "
                f"{describe_query(parts[number], 0)}"
                for kinds, number in ((one, a), (other, b))
            )
            raise ValueError(
                f"{name} has {', and '.join(found_there)}: a query with rows in both "
                "would become two: convert them alike, by ddf.astype(...) or when the "
                "files are read"
            )
    arrays = {n: p for n, p in parts.items() if isinstance(p, np.ndarray)}
    dtypes = {query_ids.dtype: n for n, query_ids in arrays.items()}
    for (number, ids), another in product(arrays.items(), dtypes.values()):
        ours, theirs = ids.dtype, arrays[another].dtype
        if ours == theirs:
            continue
        if ours.kind == theirs.kind == "f":
            may_differ = bool((ids != np.floor(ids)).any())
        else:  # int64 and uint64, or floats, are rounded in one array
            is_rounded = np.result_type(ours, theirs).kind == "f" and ours.kind in "iu"
            may_differ = is_rounded and max(map(abs, ids[[0, -1]].tolist())) >= 2**53
        if may_differ:
            raise ValueError(
                f"{name} is {ours} in partition {number} and {theirs} in partition "
                f"{another}, which hold different numbers, such as "
                f"{describe_query(ids, -1)}: convert them alike, by ddf.astype(...) or "
                "when the files are read"
            )


def kinds_of(query_ids: QueryIds) -> frozenset[str]:
    """Return the kinds of some ids."""
    if isinstance(query_ids, np.ndarray):
        return frozenset([KINDS[query_ids.dtype.kind]])
    # ids of most types are alike; tuples by what they hold
    some = {type(label): label for label in query_ids}
    kinds = {kind_of(label) for label in some.values()}
    if tuple in some:
        kinds |= {kind_of(label) for label in query_ids if isinstance(label, tuple)}
    return frozenset(kinds)


def kind_of(label: Any) -> str:
    """Return the kind of an id, such as numbers, text or dates."""
    if isinstance(label, tuple):
        return f"tuples of {', '.join(map(kind_of, label))}"
    if isinstance(label, bool | np.bool_):
        return KINDS["b"]
    if isinstance(label, np.datetime64 | np.timedelta64):
        return KINDS[label.dtype.kind]
    kind, _ = sort_key(label)
    return {"number": KINDS["i"], "str": "text"}.get(kind, kind)


def own_queries(
    locations: QueryLocations, learned: NDArray[np.bool_] | None, takers: list[int]
) -> IntArray:
    """Return the worker that fits each query, (n_queries,)."""
    # Training data come with `learned`, whether a query is learned from: the workers
    # that own such a query take part in the fit.  They are the `takers` of validation
    # data.
    n_workers = len(locations.workers)
    # rows of each query on each worker that has some
    both = locations.query * n_workers + locations.worker
    keys, place = np.unique(both, return_inverse=True)
    n_rows = np.bincount(place, locations.size).astype(np.int64)
    query, worker = np.divmod(keys, n_workers)
    starts = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
    owner: IntArray = worker[starts].astype(np.int64)
    n_holders = np.diff(np.append(starts, len(query)))
    size = np.add.reduceat(n_rows, starts)
    is_whole = n_holders == 1
    # a worker shall have as many rows as before
    room = np.bincount(worker, n_rows, n_workers)
    room -= np.bincount(owner[is_whole], size[is_whole], n_workers)
    for number in np.flatnonzero(~is_whole).tolist():
        holders = slice(starts[number], starts[number] + n_holders[number])
        fits = room[worker[holders]] >= size[number]
        most = np.where(fits, n_rows[holders], room[worker[holders]] - size[number])
        owner[number] = worker[holders][np.argmax(most)]
        room[owner[number]] -= size[number]
    if learned is not None:
        takers = np.unique(owner[learned]).tolist()
    given = np.flatnonzero(~np.isin(owner, takers))
    if len(given) > 0:
        # to the workers in turn, the one with the fewest rows first
        rows = np.bincount(owner, size, n_workers)[takers]
        turns = np.array(takers)[np.argsort(rows, kind="stable")]
        owner[given] = np.resize(turns, len(given))
    return owner
