"""Whole queries for training and for testing, drawn at random or by grade."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from sklearn_ltr._queries import QueryGroups, check_grades
from sklearn_ltr.model_selection._rows import Queries, n_rows, take


def group_train_test_split(
    *arrays: Any,
    groups: Any,
    test_size: float | None = None,
    train_size: float | None = None,
    random_state: int | RandomState | None = None,
    shuffle: bool = True,
    stratify: Any = None,
) -> list[Any]:
    """Split rows into a training and a test part, whole queries each.

    Like :func:`sklearn.model_selection.train_test_split`, but what is drawn are
    queries.  Rows keep their order, and which queries are drawn does not depend on it.

    Parameters
    ----------
    *arrays : sequences of length n_documents
        Numpy arrays, pandas, polars or pyarrow tables and columns, scipy sparse
        matrices, lists: each part is of the same kind (a sparse matrix comes out as
        CSR, a tuple as a list).
    groups : sequence of length n_documents
        The query of each row: any hashable values, in any row order.
    test_size, train_size : float in (0, 1) or int >= 1, default=None
        Share or number of queries, not of rows.  None: what the other leaves, and 0.25
        for the test part if both are None.
    random_state : int, RandomState instance or None, default=None
        Draws the queries.
    shuffle : bool, default=True
        False: the queries that appear last are the test part.
    stratify : array-like of shape (n_documents,), default=None
        Relevance grades, usually y: the queries of every best grade (0: of those with
        nothing relevant) have their share of the test part, give or take less than two
        queries, however rare or fine the grades are.  For that, the queries are lined
        up by best grade and, where it is equal, by mean grade, and drawn from all along
        the line, each with the same chance.

    Returns
    -------
    parts : list of length 2 * len(arrays) + 2
        Training and test part of each array, then of `groups`: ``X_train, X_test,
        y_train, y_test, groups_train, groups_test``.

    Raises
    ------
    ValueError
        If an array has not one row for each value of `groups`, a size leaves a part
        without queries, grades are negative or not finite, or `stratify` is given with
        ``shuffle=False``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ltr.model_selection import group_train_test_split
    >>> X, y = np.arange(12).reshape(6, 2), [1, 0, 0, 2, 0, 1]
    >>> groups = ["a", "b", "a", "c", "c", "b"]
    >>> X_train, X_test, y_train, y_test, groups_train, groups_test = (
    ...     group_train_test_split(X, y, groups=groups, test_size=1, random_state=0)
    ... )
    >>> groups_train, groups_test
    (['a', 'b', 'a', 'b'], ['c', 'c'])
    >>> X_test
    array([[6, 7],
           [8, 9]])
    """
    if isinstance(groups, Iterator):
        groups = list(groups)
    queries = QueryGroups.from_groups(groups, n_rows(groups))
    _check(arrays, queries.n_documents, shuffle, stratify)
    train, test = _split_queries(
        np.arange(queries.n_queries) if shuffle else _by_appearance(queries),
        test_size=test_size,
        train_size=train_size,
        random_state=random_state,
        shuffle=shuffle and stratify is None,
    )
    if stratify is not None:
        rng = check_random_state(random_state)
        grades = check_grades(stratify, queries, "stratify")
        line = _by_grade(grades, queries.offsets, rng)
        test = _spread(line, len(test), rng)
        train = _spread(line[~np.isin(line, test)], len(train), rng)
    numbers = queries.query_of_row
    rows = [np.flatnonzero(np.isin(numbers, part)) for part in (train, test)]
    return [take(array, part) for array in (*arrays, groups) for part in rows]


def _check(
    arrays: Sequence[Any], n_documents: int, shuffle: Any, stratify: Any
) -> None:
    """Raise a ValueError for arrays of another length, or options that do not fit."""
    for number, array in enumerate(arrays):
        if n_rows(array) != n_documents:
            raise ValueError(
                f"array number {number} (from 0), a {type(array).__name__}, has "
                f"{n_rows(array)} rows for the {n_documents} values of groups"
            )
    if not isinstance(shuffle, bool | np.bool_):
        raise ValueError(f"shuffle must be True or False, got {shuffle!r}")
    if stratify is not None and not shuffle:
        raise ValueError("stratify draws queries at random: it needs shuffle=True")


def _split_queries(line: Queries, **options: Any) -> tuple[Queries, Queries]:
    """Split a line of queries; messages say that sizes count queries."""
    try:
        train, test = train_test_split(line, **options)
    except ValueError as error:
        raise ValueError(
            f"{error} (The sizes count whole queries, and there are {len(line)}.)"
        ) from error
    return train, test


def _by_appearance(queries: QueryGroups) -> Queries:
    """Put queries in the order of their first rows."""
    return np.argsort(queries.order[queries.offsets[:-1]])


def _by_grade(
    grades: NDArray[np.float64], offsets: NDArray[np.int64], rng: RandomState
) -> Queries:
    """Line up queries by best grade, then mean grade, then at random."""
    best = np.maximum.reduceat(grades, offsets[:-1])
    mean = np.add.reduceat(grades, offsets[:-1]) / np.diff(offsets)
    return np.lexsort((rng.permutation(len(best)), mean, best))


def _spread(line: Queries, n: int, rng: RandomState) -> Queries:
    """Draw n queries from all along a line, each with the same chance.

    Ordered pivotal sampling: every query brings the chance n / len(line), and two
    contend at a time.  While their chances are less than 1 together, one drops out and
    leaves its chance to the other; else one is drawn, and the other keeps the rest.  So
    of any first k queries k n / len(line) are drawn, rounded down or up.

    G. Chauvet, "On a characterization of ordered pivotal sampling", Bernoulli 18(4),
    2012.
    """
    one = len(line)  # chances are counted in units of 1 / len(line), to be exact
    if n == one:
        return line
    drawn, held, chance = [], line[0], n
    for query in line[1:]:
        both = chance + n
        if both < one:
            held = query if rng.uniform(0, both) < n else held
            chance = both
        else:
            wins = rng.uniform(0, 2 * one - both) < one - chance
            drawn.append(query if wins else held)
            held = held if wins else query
            chance = both - one
    return np.array(drawn)
