"""Training and test split of whole queries, optionally stratified by grade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from sklearn_ltr._data import QueryGroups, check_grades
from sklearn_ltr._data.rows import Queries, index_rows, n_rows


def group_train_test_split(
    *arrays: Any,
    groups: Any,
    test_size: float | None = None,
    train_size: float | None = None,
    random_state: int | RandomState | None = None,
    shuffle: bool = True,
    stratify: Any = None,
) -> list[Any]:
    """Split rows into a training and a test part, each of whole queries.

    Like :func:`sklearn.model_selection.train_test_split`, but queries are drawn, not
    rows.  Rows keep their order, and the queries drawn do not depend on that order.

    Parameters
    ----------
    *arrays : sequences of length n_documents
        Numpy arrays, pandas, polars or pyarrow tables and columns, scipy sparse
        matrices, lists.  Parts have the type of the array, except that sparse matrices
        become CSR and tuples become lists.
    groups : sequence of length n_documents
        The query of each row: any sortable values, in any row order.
    test_size, train_size : float in (0, 1) or int >= 1, default=None
        Fraction or number of queries, not of rows.  None: the complement of the other;
        if both are None, `test_size` is 0.25.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the draw.
    shuffle : bool, default=True
        False: the test part consists of the queries whose first rows come last.
    stratify : array-like of shape (n_documents,), default=None
        Relevance grades, usually y.  Queries are stratified by their best grade (0 if
        no document is relevant): the number of test queries with a given best grade
        differs from its expected value by less than 2, even for rare or continuous
        grades.  Queries are sorted by best grade, then by mean grade, and drawn by
        ordered pivotal sampling, each with the same probability.

    Returns
    -------
    parts : list of length 2 * len(arrays) + 2
        Training and test part of each array, then of `groups`: ``X_train, X_test,
        y_train, y_test, groups_train, groups_test``.

    Raises
    ------
    ValueError
        If an array does not have one row for each value of `groups`, a part would have
        no queries, grades are negative or not finite, or `stratify` is given with
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
        by_grade = _sorted_by_grade(grades, queries.offsets, rng)
        test = _pivotal_sample(by_grade, len(test), rng)
        rest = by_grade[~np.isin(by_grade, test)]
        train = _pivotal_sample(rest, len(train), rng)
    query_of_row = queries.query_of_row
    rows = [np.flatnonzero(np.isin(query_of_row, part)) for part in (train, test)]
    return [index_rows(array, part) for array in (*arrays, groups) for part in rows]


def _check(
    arrays: Sequence[Any], n_documents: int, shuffle: Any, stratify: Any
) -> None:
    """Raise a ValueError for an array of wrong length or for invalid options."""
    for number, array in enumerate(arrays):
        if isinstance(array, str | bytes | Mapping | Set):
            raise ValueError(
                f"array number {number} (from 0) is a {type(array).__name__}, which "
                "has no rows that can be split"
            )
        if n_rows(array) != n_documents:
            raise ValueError(
                f"array number {number} (from 0), a {type(array).__name__}, has "
                f"{n_rows(array)} rows for the {n_documents} values of groups"
            )
    if not isinstance(shuffle, bool | np.bool_):
        raise ValueError(f"shuffle must be True or False, got {shuffle!r}")
    if stratify is not None and not shuffle:
        raise ValueError("stratify draws queries at random: it needs shuffle=True")


def _split_queries(queries: Queries, **options: Any) -> tuple[Queries, Queries]:
    """Split by train_test_split; its errors are extended by the number of queries."""
    try:
        train, test = train_test_split(queries, **options)
    except ValueError as error:
        raise ValueError(
            f"{error} (The sizes count whole queries, and there are {len(queries)}.)"
        ) from error
    return train, test


def _by_appearance(queries: QueryGroups) -> Queries:
    """Return the queries in the order of their first rows."""
    return np.argsort(queries.order[queries.offsets[:-1]])


def _sorted_by_grade(
    grades: NDArray[np.float64], offsets: NDArray[np.int64], rng: RandomState
) -> Queries:
    """Return the queries sorted by best grade, then mean grade, then at random."""
    best = np.maximum.reduceat(grades, offsets[:-1])
    mean = np.add.reduceat(grades, offsets[:-1]) / np.diff(offsets)
    return np.lexsort((rng.permutation(len(best)), mean, best))


def _pivotal_sample(queries: Queries, n: int, rng: RandomState) -> Queries:
    """Draw n queries by ordered pivotal sampling, each with the same probability.

    Every query starts with the inclusion probability n / len(queries).  Going through
    the queries in order, one undecided query and the next one compete.  If their
    probabilities sum to less than 1, one of the two is rejected and the other gets the
    sum.  Otherwise one of the two is drawn, and the other gets the sum minus 1.  The
    winner is random, so that inclusion probabilities are kept.  It follows that of any
    first k queries, k n / len(queries) are drawn, rounded down or up.

    G. Chauvet, "On a characterization of ordered pivotal sampling", Bernoulli 18(4),
    2012.
    """
    one = len(queries)  # integers in units of 1 / len(queries) keep the sums exact
    if n == one:
        return queries
    drawn, undecided, probability = [], queries[0], n
    for query in queries[1:]:
        both = probability + n
        if both < one:
            undecided = query if rng.uniform(0, both) < n else undecided
            probability = both
        else:
            next_is_drawn = rng.uniform(0, 2 * one - both) < one - probability
            drawn.append(query if next_is_drawn else undecided)
            undecided = undecided if next_is_drawn else query
            probability = both - one
    return np.array(drawn)
