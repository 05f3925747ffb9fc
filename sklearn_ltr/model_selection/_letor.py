"""LETOR's cyclic folds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from sklearn_ltr._data import QueryGroups, check_holds_rows, describe_query
from sklearn_ltr._data.rows import Rows, n_rows


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
    Do so with a grid search with ``cv=[(train, validation)], refit=False`` in a loop
    ``for train, validation, test in folds.train_validation_test()``.
    """

    # scikit-learn passes groups to split(), which checks that no query is in two parts
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
        # here the "queries" of QueryGroups are the parts
        check_holds_rows(parts, "parts", "value")
        groups = QueryGroups.from_groups(parts, n_rows(parts), "parts")
        n_parts = groups.n_queries
        if n_parts < 3:
            raise ValueError(
                "parts must have at least three different values, to train, validate "
                f"and test on, got {', '.join(map(groups.describe, range(n_parts)))}"
            )
        self._labels, self._part_of_row = groups.labels, groups.query_of_row

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds, which is the number of parts.

        Parameters
        ----------
        X, y, groups : object, default=None
            Ignored.
        """
        return len(self._labels)

    def split(
        self, X: Any = None, y: Any = None, groups: Any = None
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
        if X is not None and n_rows(X) != len(self._part_of_row):
            raise ValueError(
                f"X has {n_rows(X)} rows, but parts has {len(self._part_of_row)} "
                "values; X must hold all rows of parts (these folds cannot be nested "
                "in others)"
            )
        for train, validation, test in self.train_validation_test(groups):
            yield train, validation if self.score_on == "validation" else test

    def train_validation_test(
        self, groups: Any = None
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
            self._check_queries_are_whole(groups)
        n_parts = len(self._labels)
        for fold in range(n_parts):
            # number of parts between the first part of the fold and that of each row
            step = (self._part_of_row - fold) % n_parts
            yield (
                np.flatnonzero(step < n_parts - 2),
                np.flatnonzero(step == n_parts - 2),
                np.flatnonzero(step == n_parts - 1),
            )

    def _check_queries_are_whole(self, groups: Any) -> None:
        """Raise a ValueError that names a query with rows in two parts."""
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
