"""The base class of all metrics: options, evaluation of rows, and the user's interface.

A :class:`Metric` is a description (a frozen dataclass, which can be compared, hashed,
cloned and pickled).  Binding it to the grades of a data set computes all that does not
depend on scores, once; the resulting :class:`BoundMetric` computes values from scores,
and swap factors from ranked lists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import (
    Labels,
    QueryGroups,
    check_canonical,
    check_sample_weight,
    check_scores,
)
from sklearn_ltr.metrics._arguments import (
    check_k,
    check_option,
    read_judged,
    read_ranked_grades,
)
from sklearn_ltr.metrics._bound import NO_RELEVANT_VALUE, BoundMetric
from sklearn_ltr.metrics._per_query import any_in_query, longest_list

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Ties = Literal["pessimistic", "average", "stable"]
NoRelevant = Literal["zero", "one", "skip", "error"]


@dataclass(frozen=True, repr=False)
class Metric(ABC):
    """A metric of a ranked list, averaged over queries.

    To write a metric of your own, derive a class and define :meth:`value`.  Define
    :meth:`swap_delta` as well if you have something faster than the default, which
    evaluates `value` once per pair.  A query whose grades are all zero has no relevant
    document.

    Parameters
    ----------
    k : int >= 1 or None, default=None
        Cutoff: documents below rank k do not count.  None, or a k longer than the
        list, means the whole list; but Precision then still divides by k, and NDCG has
        the option ``short_lists``.
    ties : {"pessimistic", "average", "stable"}, default="pessimistic"
        Order of equal scores.  "pessimistic": lower grades first, so that a constant
        model gets its worst value.  "average": the expected value over random orders
        (built-in metrics only).  "stable": the order of rows.  Swap deltas always use
        the pessimistic order.
    no_relevant : {"zero", "one", "skip", "error"}, default="zero"
        Value of a query without a relevant document: 0, 1, left out of the mean, or a
        ValueError.

    Examples
    --------
    >>> from sklearn_ltr.metrics import Metric
    >>> class BestOnTop(Metric):
    ...     def value(self, ranked_grades):
    ...         return float(ranked_grades[0] == ranked_grades.max())
    >>> BestOnTop()([2, 1, 1, 2], [0.3, 0.1, 0.9, 0.4], groups=[7, 7, 8, 8])
    0.5
    """

    k: int | None = None
    ties: Ties = field(default="pessimistic", kw_only=True)
    no_relevant: NoRelevant = field(default="zero", kw_only=True)

    short_name: ClassVar[str] = ""
    closed_form: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        check_option("ties", self.ties, ("pessimistic", "average", "stable"))
        check_option("no_relevant", self.no_relevant, (*NO_RELEVANT_VALUE, "error"))
        if self.ties == "average" and not self.closed_form:
            raise ValueError(
                'ties="average" needs a closed form of the expected value, which '
                f'{type(self).__name__} does not have; use "pessimistic" or "stable"'
            )

    def __repr__(self) -> str:
        changed = (
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if getattr(self, f.name) != f.default
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    @property
    def name(self) -> str:
        """Name with cutoff, such as ``"ndcg@10"``."""
        base = self.short_name or type(self).__name__.lower()
        return base if self.k is None else f"{base}@{self.k}"

    @abstractmethod
    def value(self, ranked_grades: FloatArray) -> float:
        """Value of one list.

        It is used only for lists with a relevant document; ``no_relevant`` determines
        the value of the others.

        Parameters
        ----------
        ranked_grades : ndarray of shape (n_documents,), float64
            Grades from rank 1 down.
        """

    def swap_delta(self, ranked_grades: FloatArray) -> FloatArray:
        """By how much the value changes if two documents swap places, never negative.

        Parameters
        ----------
        ranked_grades : ndarray of shape (n_documents,), float64
            Grades from rank 1 down.

        Returns
        -------
        ndarray of shape (n_documents, n_documents), float64
            By position; symmetric.

        Raises
        ------
        ValueError
            If the grades are not finite numbers >= 0, at least one.
        """
        ranked = read_ranked_grades(ranked_grades).copy()
        before = self.value(ranked)
        delta = np.zeros((len(ranked), len(ranked)))
        for p in range(len(ranked)):
            for q in range(p):
                ranked[[p, q]] = ranked[[q, p]]
                delta[p, q] = delta[q, p] = abs(self.value(ranked) - before)
                ranked[[p, q]] = ranked[[q, p]]
        return delta

    def bind(
        self,
        grades: FloatArray,
        offsets: IntArray,
        labels: Labels | None = None,
        is_ranked: NDArray[np.bool_] | None = None,
    ) -> BoundMetric:
        """Prepare all that does not depend on scores.

        Internal: what is returned takes arrays in canonical order.  Use
        :meth:`per_query` or the metric itself for rows of your own.

        Parameters
        ----------
        grades : ndarray of shape (n_documents,), float64
            Finite, >= 0, in canonical order.
        offsets : ndarray of shape (n_queries + 1,), int64
            Query q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``, at
            least one.
        labels : sequence of length n_queries, default=None
            Group value of each query, for error messages.
        is_ranked : ndarray of shape (n_documents,), bool, default=None
            Whether a document is in the ranked list of its query.  The others only
            count among the relevant ones, and have no scores.  None: all are.

        Raises
        ------
        ValueError
            If grades or offsets are not such arrays, or a metric of the user is to
            count documents that are not ranked.
        """
        check_canonical(grades, offsets)
        if is_ranked is not None:
            raise ValueError(
                f"y_missing cannot be given to {type(self).__name__}: its value is "
                "that of a ranked list, without the documents missing from it; only "
                "built-in metrics count these"
            )
        longest = longest_list(offsets)
        k = self.cutoff(longest)
        return BoundMetric(
            metric=self,
            grades=grades,
            offsets=offsets,
            labels=labels,
            gain=grades,
            discount=np.ones(longest),
            scale=np.ones(len(offsets) - 1),
            limit=np.full(len(offsets) - 1, k, dtype=np.int64),
            has_relevant=any_in_query(grades > 0, offsets),
            k=k,
        )

    def with_largest_grade(self, largest: float) -> Metric:
        """Return the metric for data of which this is the largest grade."""
        return self

    def at_deeper_cutoff(self, level: int | None) -> Metric:
        """Return the metric to train on: this one, with a cutoff of at least `level`.

        With a deeper cutoff more pairs have a swap delta.  Only metrics whose discount
        decreases with the position are changed: with a constant discount (as precision
        has) a deeper cutoff would no longer prefer the same documents at the top.
        `level` None: this metric.
        """
        return self

    def cutoff(self, n: int) -> int:
        """``k`` for a list of n documents: at most n."""
        return n if self.k is None else min(self.k, n)

    def per_query(
        self,
        y_true: Any,
        y_score: Any,
        *,
        groups: Any,
        y_missing: Any = None,
        groups_missing: Any = None,
    ) -> FloatArray:
        """Value of each query.

        Parameters
        ----------
        y_true : array-like of shape (n_documents,)
            Relevance grade of each document, finite and >= 0.
        y_score : array-like of shape (n_documents,)
            Score of each document, finite; higher is ranked first.  Numbers of any
            real type, compared as given.
        groups : array-like of shape (n_documents,)
            Query of each document: any sortable values, in any row order.
        y_missing, groups_missing : array-likes of shape (n_missing,), default=None
            Grade and query of each judged document that is not among the rows, because
            the ranker did not retrieve it.  Relevant ones count in the ideal list of
            NDCG and among the relevant documents of MAP, recall, R-precision and bpref
            (as in trec_eval); bpref counts the others too.  A query with missing
            documents only is a list of no documents.  Not for metrics of your own.

        Returns
        -------
        values : ndarray of shape (n_queries,), float64
            In the order of the sorted group values, those of `groups_missing`
            included.  NaN for queries that ``no_relevant="skip"`` leaves out.

        Raises
        ------
        ValueError
            For grades or scores that are not one finite number per row, negative
            grades, groups of another length or with missing values, or a query with no
            relevant document if ``no_relevant="error"``.  The message names the
            argument, and the row and query where there is one.
        """
        queries, bound = self._bind_rows(y_true, groups, y_missing, groups_missing)
        return bound.values(check_scores(y_score, queries, only_order=True))

    def __call__(
        self,
        y_true: Any,
        y_score: Any,
        *,
        groups: Any,
        sample_weight: Any = None,
        y_missing: Any = None,
        groups_missing: Any = None,
    ) -> float:
        """Weighted mean over queries.

        Parameters
        ----------
        y_true, y_score, groups : array-likes of shape (n_documents,)
            As for :meth:`per_query`.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of each row's query, >= 0 and constant within a query.  None: 1.
        y_missing, groups_missing : array-likes of shape (n_missing,), default=None
            As for :meth:`per_query`.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            As :meth:`per_query`; for weights that are negative, not finite, all zero or
            not constant within a query; for weights where a query has no row; or if
            ``no_relevant="skip"`` leaves no query.
        """
        queries, bound = self._bind_rows(y_true, groups, y_missing, groups_missing)
        weights = check_sample_weight(sample_weight, queries)
        scores = check_scores(y_score, queries, only_order=True)
        return bound.mean(scores, weights)

    def _bind_rows(
        self, y_true: Any, groups: Any, y_missing: Any, groups_missing: Any
    ) -> tuple[QueryGroups, BoundMetric]:
        """Return the queries, those without a row included, and the bound metric."""
        read = read_judged(y_true, groups, y_missing, groups_missing)
        queries, grades, offsets, is_ranked = read
        return queries, self.bind(grades, offsets, queries.labels, is_ranked)
