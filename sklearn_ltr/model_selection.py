"""Splits that keep queries whole, where scikit-learn has none.

Cross-validation by query needs nothing from here: GroupKFold, StratifiedGroupKFold,
GroupShuffleSplit and LeaveOneGroupOut take ``groups`` as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.model_selection import BaseCrossValidator, train_test_split
from sklearn.utils import check_random_state

from sklearn_ltr.queries import QueryGroups, check_grades, describe_query

__all__ = ["LetorFolds", "group_train_test_split"]

Rows = NDArray[np.intp]
Queries = NDArray[np.intp]


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
    queries = QueryGroups.from_groups(groups, _n_rows(groups))
    for number, array in enumerate(arrays):
        if _n_rows(array) != queries.n_documents:
            raise ValueError(
                f"array number {number} (from 0), a {type(array).__name__}, has "
                f"{_n_rows(array)} rows for the {queries.n_documents} values of groups"
            )
    if not isinstance(shuffle, bool | np.bool_):
        raise ValueError(f"shuffle must be True or False, got {shuffle!r}")
    if stratify is not None and not shuffle:
        raise ValueError("stratify draws queries at random: it needs shuffle=True")
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
        train = _spread(line, len(train), rng)
    query_of_row = _query_of_row(queries)
    rows = [np.flatnonzero(np.isin(query_of_row, part)) for part in (train, test)]
    return [_take(array, part) for array in (*arrays, groups) for part in rows]


class LetorFolds(BaseCrossValidator):
    """LETOR's cyclic folds: three parts of five train, one validates, one tests.

    The queries of LETOR, MSLR-WEB and others come in five parts, S1 to S5.  Fold k
    trains on the parts k, k + 1 and k + 2, validates on k + 3 and tests on k + 4,
    cyclically [1]_.  Of n parts n - 2 train.

    As a `cv` the folds are pairs: of the training part and the part that `score_on`
    names.  The third is in neither.  :meth:`train_validation_test` gives all three.

    Parameters
    ----------
    parts : array-like of shape (n_documents,)
        The part of each row, such as 1 to 5: at least three different values, which
        follow each other when sorted.
    score_on : {"validation", "test"}, default="validation"
        What stands second in a pair: the part to choose parameters on (for
        GridSearchCV), or the part to report (for cross_validate).

    See Also
    --------
    sklearn.model_selection.PredefinedSplit : One part in turn against all others.

    References
    ----------
    .. [1] T. Qin and T.-Y. Liu, "Introducing LETOR 4.0 Datasets", arXiv:1306.2597,
       2013.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ltr.model_selection import LetorFolds
    >>> parts = [1, 1, 2, 3, 4, 5]
    >>> for train, validation in LetorFolds(parts).split():
    ...     print(train, validation)
    [0 1 2 3] [4]
    [2 3 4] [5]
    [3 4 5] [0 1]
    [0 1 4 5] [2]
    [0 1 2 5] [3]
    >>> train, validation, test = next(LetorFolds(parts).train_validation_test())
    >>> train, validation, test
    (array([0, 1, 2, 3]), array([4]), array([5]))

    LETOR's protocol chooses the parameters of each fold on its own validation part:
    inside ``for train, validation, test in folds.train_validation_test()`` that is a
    grid search with ``cv=[(train, validation)], refit=False``.
    """

    # a query in two parts is an error: hand me the queries
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self, parts: Any, *, score_on: Literal["validation", "test"] = "validation"
    ) -> None:
        self.parts = parts
        self.score_on = score_on
        if score_on not in ("validation", "test"):
            raise ValueError(
                f'score_on must be "validation" or "test", got {score_on!r}'
            )
        found = QueryGroups.from_groups(parts, len(parts), "parts")
        n_parts = found.n_queries
        if n_parts < 3:
            raise ValueError(
                "parts must have at least three different values, to train, validate "
                f"and test on, got {', '.join(map(found.describe, range(n_parts)))}"
            )
        self._labels, self._part_of_row = found.labels, _query_of_row(found)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds: that of the parts.

        Parameters
        ----------
        X, y, groups : object, default=None
            Not looked at.
        """
        return len(self._labels)

    def split(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[Rows, Rows]]:
        """Give the rows to learn from and those to score, for each fold.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features), default=None
            The rows that `parts` tells of, all of them.
        y : object, default=None
            Not looked at.
        groups : array-like of shape (n_documents,), default=None
            The query of each row; if given, a query in two parts is an error.

        Yields
        ------
        train, scored : ndarrays of rows

        Raises
        ------
        ValueError
            If there are other than one row for each value of `parts`, or a query is in
            two parts.
        """
        n_rows = len(self._part_of_row)
        if X is not None and _n_rows(X) != n_rows:
            raise ValueError(
                f"X has {_n_rows(X)} rows, but parts has {n_rows} values; give all the "
                "rows that parts tells of (these folds cannot be nested in others)"
            )
        for train, validation, test in self.train_validation_test(groups):
            yield train, validation if self.score_on == "validation" else test

    def train_validation_test(
        self, groups: Any = None
    ) -> Iterator[tuple[Rows, Rows, Rows]]:
        """Give the rows of all three parts, for each fold.

        Parameters
        ----------
        groups : array-like of shape (n_documents,), default=None
            The query of each row; if given, a query in two parts is an error.

        Yields
        ------
        train, validation, test : ndarrays of rows

        Raises
        ------
        ValueError
            If a query is in two parts.
        """
        if groups is not None:
            self._refuse_divided_queries(groups)
        n_parts = len(self._labels)
        for fold in range(n_parts):
            # how many parts after the first of the fold
            place = (self._part_of_row - fold) % n_parts
            yield (
                np.flatnonzero(place < n_parts - 2),
                np.flatnonzero(place == n_parts - 2),
                np.flatnonzero(place == n_parts - 1),
            )

    def _refuse_divided_queries(self, groups: Any) -> None:
        """Raise a ValueError that names a query in two parts."""
        queries = QueryGroups.from_groups(groups, len(self._part_of_row))
        parts = queries.sort(self._part_of_row)
        low = np.minimum.reduceat(parts, queries.offsets[:-1])
        high = np.maximum.reduceat(parts, queries.offsets[:-1])
        if (low < high).any():
            query = int(np.argmax(low < high))
            raise ValueError(
                f"query {queries.describe(query)} of groups is in parts "
                f"{describe_query(self._labels, low[query])} and "
                f"{describe_query(self._labels, high[query])}; a query must be whole"
            )


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


def _query_of_row(queries: QueryGroups) -> NDArray[np.intp]:
    """Return the number of each row's query."""
    return queries.unsort(np.repeat(np.arange(queries.n_queries), queries.sizes))


def _n_rows(array: Any) -> int:
    """Return the number of rows; 0 for what has none, None say."""
    if hasattr(array, "shape"):
        return int(array.shape[0])
    return len(array) if hasattr(array, "__len__") else 0


def _take(array: Any, rows: Rows) -> Any:
    """Return some of the rows, in a container of the same kind."""
    if hasattr(array, "iloc"):
        return array.iloc[rows]
    if type(array).__module__.partition(".")[0] == "pyarrow":
        return array.take(rows)
    if issparse(array):
        return array.tocsr()[rows]
    if hasattr(array, "shape"):
        return array[rows]
    return [array[row] for row in rows]
