"""Splits of whole queries: by LETOR's parts, by time, by user, and into two parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import (
    BaseCrossValidator,
    GroupKFold,
    TimeSeriesSplit,
    train_test_split,
)
from sklearn.utils import check_random_state

from sklearn_ltr._core.data import (
    QueryGroups,
    check_grades,
    check_holds_rows,
)
from sklearn_ltr._core.data.groups import QueryCopy, first_copies
from sklearn_ltr._core.data.query_values import (
    check_one_way,
    forward_folds,
    number_dates,
    units_of_queries,
    value_of_query,
)
from sklearn_ltr._core.data.rows import Rows, index_rows, n_rows
from sklearn_ltr._core.parameters import BOOL, integer
from sklearn_ltr._core.typing import IdsLike, IntArray, MatrixLike, Seed


class LetorFolds(BaseCrossValidator):
    """LETOR's cyclic folds: three of five parts train, one validates, one tests.

    The queries of LETOR, MSLR-WEB and others come in five parts, S1 to S5.  Fold k
    trains on the parts k, k + 1 and k + 2, validates on k + 3 and tests on k + 4,
    cyclically [1]_.  With n parts, n - 2 of them train.

    As a `cv`, each fold is a pair of training rows and of the rows that `score_on`
    selects; the remaining rows are not used.  :meth:`train_validation_test` yields all
    three sets of rows.

    Parameters
    ----------
    parts : array-like of shape (n_documents,)
        The part of each row, such as 1 to 5: at least three different values, taken
        in sorted order.
    score_on : {"validation", "test"}, default="validation"
        Rows to score: "validation" to choose parameters (GridSearchCV), "test" to
        report the result (cross_validate).

    See Also
    --------
    sklearn.model_selection.PredefinedSplit : Test each part, train on all others.

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

    LETOR's protocol chooses the parameters of each fold on its own validation part.
    That is a grid search with ``cv=[(train, validation)], refit=False`` in a loop
    ``for train, validation, test in folds.train_validation_test()``.
    """

    # scikit-learn passes groups to split(), which checks that no query is in two parts
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self, parts: IdsLike, *, score_on: Literal["validation", "test"] = "validation"
    ) -> None:
        self.parts = parts
        self.score_on = score_on
        if score_on not in ("validation", "test"):
            raise ValueError(
                f'score_on must be "validation" or "test", got {score_on!r}'
            )
        # here the "queries" of QueryGroups are the parts
        check_holds_rows(parts, "parts", "value")
        known = QueryGroups.from_groups(parts, n_rows(parts), "parts")
        n_parts = known.n_queries
        if n_parts < 3:
            raise ValueError(
                "parts must have at least three different values, to train, validate "
                f"and test on, got {', '.join(map(known.describe, range(n_parts)))}"
            )
        self._parts = known

    def get_n_splits(
        self, X: object = None, y: object = None, groups: object = None
    ) -> int:
        """Return the number of folds, which is the number of parts.

        Parameters
        ----------
        X, y, groups : object, default=None
            Ignored.
        """
        return self._parts.n_queries

    def split(
        self,
        X: MatrixLike | None = None,
        y: object = None,
        groups: IdsLike | None = None,
    ) -> Iterator[tuple[Rows, Rows]]:
        """Yield the training rows and the rows to score of each fold.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features), default=None
            If given, it must have one row for each value of `parts`.
        y : object, default=None
            Ignored.
        groups : array-like of shape (n_documents,), default=None
            The query of each row; if given, a query in two parts is an error.

        Yields
        ------
        train, scored : ndarrays of row numbers, intp

        Raises
        ------
        ValueError
            If X has another number of rows than `parts`, or a query is in two parts.
        """
        if X is not None and n_rows(X) != self._parts.n_documents:
            raise ValueError(
                f"X has {n_rows(X)} rows, but parts has {self._parts.n_documents} "
                "values: give all rows of parts (these folds cannot be nested in "
                "others)"
            )
        for train, validation, test in self.train_validation_test(groups):
            yield train, validation if self.score_on == "validation" else test

    def train_validation_test(
        self, groups: IdsLike | None = None
    ) -> Iterator[tuple[Rows, Rows, Rows]]:
        """Yield the rows to train, validate and test on, for each fold.

        Parameters
        ----------
        groups : array-like of shape (n_documents,), default=None
            The query of each row; if given, a query in two parts is an error.

        Yields
        ------
        train, validation, test : ndarrays of row numbers, intp

        Raises
        ------
        ValueError
            If a query is in two parts.
        """
        if groups is not None:
            value_of_query(
                self._parts,
                QueryGroups.from_groups(groups, self._parts.n_documents),
                "is in parts {} and {}: put all rows of a query into one part",
            )
        n_parts = self._parts.n_queries
        for fold in range(n_parts):
            # number of parts between the first part of the fold and that of each row
            step = (self._parts.query_of_row - fold) % n_parts
            yield (
                np.flatnonzero(step < n_parts - 2),
                np.flatnonzero(step == n_parts - 2),
                np.flatnonzero(step == n_parts - 1),
            )


class GroupTimeSeriesSplit(BaseCrossValidator):
    r"""Folds in the order of time: earlier queries train, later ones test.

    Like scikit-learn's :class:`~sklearn.model_selection.TimeSeriesSplit`, but with
    whole queries in place of rows: queries are sorted by date, and all sizes
    count queries.  The dates are metadata, as `groups` are: with metadata routing on,
    give ``order=dates`` beside ``groups`` to the `fit` of a search, or in the `params`
    of :func:`~sklearn.model_selection.cross_validate`.  Without `order`, queries are in
    the order of their first rows, as TimeSeriesSplit takes rows to be.

    Parameters
    ----------
    n_splits : int of at least 2, default=5
        Number of folds.
    max_train_size : int of at least 1 or None, default=None
        Largest number of queries that train: the latest ones.  None: all.
    test_size : int of at least 1 or None, default=None
        Number of queries that test in each fold, about, where several have one date.
        None: the number of queries divided by ``n_splits + 1``, rounded down.
    gap : int of at least 0, default=0
        Least number of unused queries between those that train and those that test, for
        example because their clicks are not known yet when the model is trained.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not an integer in its range.

    See Also
    --------
    group_train_test_split : One training and test part, with `order`, too.
    sklearn.model_selection.TimeSeriesSplit : The same of single rows.

    Notes
    -----
    With n queries, numbered from 0 in the order of time, fold i of k tests on
    `test_size` queries from number :math:`t_i` on, and trains on those before
    :math:`t_i - gap`, with

    .. math:: t_i = n - (k - i) \, test\_size, \qquad i = 0, \ldots, k - 1.

    Queries of one date are on one side: each :math:`t_i` moves to the nearest number at
    which a date begins, of two the earlier one.  To divide a date, give ``(date,
    number)`` tuples as `order`.  The folds do not depend on the order of the rows if
    `order` is given.

    Examples
    --------
    >>> from sklearn_ltr.model_selection import GroupTimeSeriesSplit
    >>> groups = ["a", "b", "a", "c", "d"]
    >>> dates = [2026, 2024, 2026, 2025, 2023]
    >>> folds = GroupTimeSeriesSplit(n_splits=2, test_size=1)
    >>> for train, test in folds.split(groups=groups, order=dates):
    ...     print(train, test)
    [1 4] [3]
    [1 3 4] [0 2]

    In a search, with metadata routing on:

    >>> from sklearn import config_context
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> data = make_ranking(12, random_state=0)
    >>> search = GridSearchCV(
    ...     LambdaMARTRanker(n_estimators=5, random_state=0),
    ...     {"max_leaf_nodes": [4, 15]},
    ...     cv=GroupTimeSeriesSplit(n_splits=2),
    ... )
    >>> with config_context(enable_metadata_routing=True):
    ...     search = search.fit(
    ...         data.data, data.target, groups=data.groups, order=100 - data.groups
    ...     )
    >>> search.n_splits_
    2
    """

    _holds_out_by: ClassVar[str] = "order"
    # scikit-learn passes both to split() and to get_n_splits()
    __metadata_request__split: ClassVar[dict[str, bool]] = {
        "groups": True,
        "order": True,
    }

    def __init__(
        self,
        n_splits: int = 5,
        *,
        max_train_size: int | None = None,
        test_size: int | None = None,
        gap: int = 0,
    ) -> None:
        self.n_splits = integer(2).read_as("n_splits", n_splits)
        optional = integer(1, optional=True)
        self.max_train_size = optional.read_as("max_train_size", max_train_size)
        self.test_size = optional.read_as("test_size", test_size)
        self.gap = integer(0).read_as("gap", gap)

    def get_n_splits(
        self,
        X: object = None,
        y: object = None,
        groups: object = None,
        order: object = None,
    ) -> int:
        """Return the number of folds, `n_splits`.

        Parameters
        ----------
        X, y, groups, order : object, default=None
            Ignored.
        """
        return int(self.n_splits)

    def split(
        self,
        X: MatrixLike | None = None,
        y: object = None,
        groups: IdsLike | None = None,
        order: IdsLike | None = None,
    ) -> Iterator[tuple[Rows, Rows]]:
        """Yield the training rows and the test rows of each fold.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features), default=None
            If given, it must have one row for each value of `groups`.
        y : object, default=None
            Ignored.
        groups : array-like of shape (n_documents,), default=None
            The query of each row: numbers, text, dates, or tuples of these.  None is
            an error.
        order : array-like of shape (n_documents,), default=None
            The date of each row, constant within a query: dates, times, numbers or
            tuples of these, smaller is earlier.  None: queries are in the order of
            their first rows.

        Yields
        ------
        train, test : ndarrays of row numbers, intp

        Raises
        ------
        TypeError
            If `order` holds text, which may sort differently than the dates that it
            means, or values of several kinds, such as dates and times, which have no
            order.
        ValueError
            If `groups` is None, X, `groups` and `order` differ in length, a value is
            missing, a query has two dates, or there are too few queries or dates.
        """
        queries = _queries_of(X, groups)
        dates, n = _dates_of(queries, order), queries.n_queries
        folds = TimeSeriesSplit(self.n_splits, test_size=self.test_size, gap=self.gap)
        with _counting(n):
            bounds = [int(test[0]) for _, test in folds.split(dates)]
        for train, test in forward_folds(
            dates, [*bounds, n], gap=self.gap, max_train_size=self.max_train_size
        ):
            yield queries.rows_of(train), queries.rows_of(test)


class UserKFold(BaseCrossValidator):
    """Folds of whole users: all queries of a user are in one fold.

    The queries of one user (customer, session, device) are alike.  Folds by query put
    some into the training part and others into the test part, where they score better
    than those of a new user do.  Each user is in the test part of one fold, and folds
    have about the same number of rows, as those of
    :class:`~sklearn.model_selection.GroupKFold`, by which users are divided.

    In a search give `users` to `fit`, beside `groups`: with metadata routing on, it
    hands on both.

    Parameters
    ----------
    n_splits : int of at least 2, default=5
        Number of folds.
    shuffle : bool, default=False
        Whether users are divided at random.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw, with ``shuffle=True``.

    See Also
    --------
    group_train_test_split : Two parts, with ``users=``.
    GroupTimeSeriesSplit : Folds in the order of time.

    Examples
    --------
    >>> from sklearn_ltr.model_selection import UserKFold
    >>> groups = [1, 1, 2, 3, 4]
    >>> users = ["ann", "ann", "bob", "ann", "cy"]
    >>> for train, test in UserKFold(2).split(groups=groups, users=users):
    ...     print(train, test)
    [2 4] [0 1 3]
    [0 1 3] [2 4]
    """

    _holds_out_by: ClassVar[str] = "users"
    __metadata_request__split: ClassVar[dict[str, bool]] = {
        "groups": True,
        "users": True,
    }

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: Seed = None
    ) -> None:
        self.n_splits = integer(2).read_as("n_splits", n_splits)
        self.shuffle = BOOL.read_as("shuffle", shuffle)
        self.random_state = random_state
        self._folds()  # refuses a seed without shuffle

    def _folds(self) -> GroupKFold:
        """Return the splitter of scikit-learn, to which users are groups."""
        seed = self.random_state
        return GroupKFold(self.n_splits, shuffle=self.shuffle, random_state=seed)

    def get_n_splits(
        self,
        X: object = None,
        y: object = None,
        groups: object = None,
        users: object = None,
    ) -> int:
        """Return the number of folds, `n_splits`.

        Parameters
        ----------
        X, y, groups, users : object, default=None
            Ignored.
        """
        return int(self.n_splits)

    def split(
        self,
        X: MatrixLike | None = None,
        y: object = None,
        groups: IdsLike | None = None,
        users: IdsLike | None = None,
    ) -> Iterator[tuple[Rows, Rows]]:
        """Yield the training rows and the test rows of each fold.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features), default=None
            If given, it must have one row for each value of `groups`.
        y : object, default=None
            Ignored.
        groups : array-like of shape (n_documents,), default=None
            The query of each row.  None is an error.
        users : array-like of shape (n_documents,), default=None
            The user of each row, constant within a query: numbers, text, dates, or
            tuples of these.  None is an error.

        Yields
        ------
        train, test : ndarrays of row numbers, intp

        Raises
        ------
        ValueError
            If `groups` or `users` is None, X, `groups` and `users` differ in length, a
            value is missing, a query has two users, or there are fewer users than
            folds.
        """
        queries = _queries_of(X, groups)
        known, _ = units_of_queries(users, queries)
        with _counting(known.n_queries, "users"):
            yield from self._folds().split(known.order, groups=known.query_of_row)


def group_train_test_split(
    *arrays: MatrixLike | IdsLike,
    groups: IdsLike,
    test_size: float | None = None,
    train_size: float | None = None,
    random_state: Seed = None,
    shuffle: bool = True,
    stratify: ArrayLike | None = None,
    order: IdsLike | None = None,
    users: IdsLike | None = None,
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
        The query of each row: numbers, text, dates, or tuples of these.
    test_size, train_size : float in (0, 1), or int of at least 1, default=None
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
    order : sequence of length n_documents, default=None
        The date of each row, constant within a query: dates, times, numbers or tuples
        of these, smaller is earlier.  The latest queries are the test part, and nothing
        is drawn, whatever `shuffle` and `random_state` are.  Queries of one date are in
        one part, which ends where the date changes that is nearest to its size.
    users : sequence of length n_documents, default=None
        The user of each row (customer, session, device), constant within a query.
        Users are drawn in place of queries, each with all queries of theirs: sizes,
        `shuffle` and `stratify` then count users, not queries.

    Returns
    -------
    parts : list of length 2 * len(arrays) + 2
        Training and test part of each array, then of `groups`: ``X_train, X_test,
        y_train, y_test, groups_train, groups_test``.

    Raises
    ------
    TypeError
        If `order` holds text, which may sort differently than the dates that it means,
        or values of several kinds, such as dates and times, which have no order.
    ValueError
        If an array does not have one row for each value of `groups`, a part would have
        no queries, grades are negative or not finite, `stratify` is given with
        ``shuffle=False`` or with `order`, `order` with `users`, a query has two dates
        or users, or there are too few dates.

    See Also
    --------
    GroupTimeSeriesSplit : Several folds in the order of time.
    UserKFold : Several folds of whole users.

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
    _check(arrays, queries.n_documents, shuffle, stratify, order, users)
    # whole queries are drawn, or whole users, which are groups of rows like these
    units, what = queries, "queries"
    if users is not None:
        (units, _), what = units_of_queries(users, queries), "users"
    elif isinstance(queries.query_ids[0], QueryCopy):  # in a member of a bag
        original = first_copies(queries.query_ids)[queries.query_of_row]
        units, _ = units_of_queries(original, queries)
    is_drawn, n = shuffle and order is None, units.n_queries
    with _counting(n, what):
        train, test = train_test_split(
            np.arange(n),
            test_size=test_size,
            train_size=train_size,
            random_state=random_state,
            shuffle=is_drawn and stratify is None,
        )
    if not is_drawn:
        bounds = [len(train), len(train) + len(test)]
        ((train, test),) = forward_folds(_dates_of(units, order), bounds)
    if stratify is not None:
        rng = check_random_state(random_state)
        grades = check_grades(stratify, units, "stratify")
        by_grade = _sorted_by_grade(grades, units.offsets, rng)
        test = _pivotal_sample(by_grade, len(test), rng)
        rest = by_grade[~np.isin(by_grade, test)]
        train = _pivotal_sample(rest, len(train), rng)
    rows = [units.rows_of(part) for part in (train, test)]
    return [index_rows(array, part) for array in (*arrays, groups) for part in rows]


def _check(
    arrays: Sequence[Any],
    n_documents: int,
    shuffle: Any,
    stratify: Any,
    order: Any,
    users: Any,
) -> None:
    """Raise a ValueError for an array of wrong length or for invalid options."""
    for number, array in enumerate(arrays):
        if isinstance(array, str | bytes | Mapping | Set):
            raise ValueError(
                f"array number {number} (from 0) is a {type(array).__name__}, which "
                "has no rows to split: give an array, table or list"
            )
        if n_rows(array) != n_documents:
            raise ValueError(
                f"array number {number} (from 0), a {type(array).__name__}, has "
                f"{n_rows(array)} rows for the {n_documents} values of groups"
            )
    if not isinstance(shuffle, bool | np.bool_):
        raise ValueError(f"shuffle must be True or False, got {shuffle!r}")
    if stratify is not None and not shuffle:
        raise ValueError(
            "stratify draws queries at random, but shuffle is False: give shuffle=True"
        )
    if stratify is not None and order is not None:
        raise ValueError(
            "stratify draws queries at random, but order puts the latest into the test "
            "part: give one of the two"
        )
    check_one_way(users, order)


def _queries_of(X: MatrixLike | None, groups: IdsLike | None) -> QueryGroups:
    """Return the queries of rows; a ValueError unless X, if given, has as many."""
    queries = QueryGroups.from_groups(groups, n_rows(groups))
    if X is not None and n_rows(X) != queries.n_documents:
        raise ValueError(
            f"X has {n_rows(X)} rows, but groups has {queries.n_documents} values: "
            "give one value per row"
        )
    return queries


@contextmanager
def _counting(n_units: int, what: str = "queries") -> Iterator[None]:
    """Extend an error of scikit-learn about sizes by the number of units."""
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"{error} (The sizes count whole {what}, and there are {n_units}.)"
        ) from error


def _dates_of(queries: QueryGroups, order: IdsLike | None) -> IntArray:
    """Return the rank of each query's date; without dates the number of its row."""
    if order is None:
        return queries.order[queries.offsets[:-1]][first_copies(queries.query_ids)]
    return number_dates(order, queries)


def _sorted_by_grade(
    grades: NDArray[np.float64], offsets: NDArray[np.int64], rng: RandomState
) -> IntArray:
    """Return the queries sorted by best grade, then mean grade, then at random."""
    best = np.maximum.reduceat(grades, offsets[:-1])
    mean = np.add.reduceat(grades, offsets[:-1]) / np.diff(offsets)
    return np.lexsort((rng.permutation(len(best)), mean, best))


def _pivotal_sample(queries: IntArray, n: int, rng: RandomState) -> IntArray:
    """Draw n queries by ordered pivotal sampling, each with the same probability."""
    # Every query starts with the inclusion probability n / len(queries).  Going through
    # the queries in order, one undecided query and the next one compete.  If their
    # probabilities sum to less than 1, one of the two is rejected and the other gets
    # the sum.  Otherwise one of the two is drawn, and the other gets the sum minus 1.
    # The winner is random, so that inclusion probabilities are kept.  So of any first k
    # queries, k n / len(queries) are drawn, rounded down or up.  (G. Chauvet, "On a
    # characterization of ordered pivotal sampling", Bernoulli 18(4), 2012.)
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
