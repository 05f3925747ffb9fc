"""What every measure has in common: its options, and the ways to ask for its value.

A :class:`Metric` is a description (a frozen dataclass: it compares, hashes, clones and
pickles).  Binding it to the grades of a data set prepares all that does not depend on
scores, once; the :class:`BoundMetric` then turns scores into values, and ranked lists
into the terms of their swap deltas.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._queries import (
    Labels,
    QueryGroups,
    check_grades,
    check_sample_weight,
    check_scores,
)
from sklearn_ltr.metrics._bound import NO_RELEVANT_VALUE, BoundMetric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Ties = Literal["pessimistic", "average", "stable"]
NoRelevant = Literal["zero", "one", "skip", "error"]


@dataclass(frozen=True, repr=False)
class Metric(ABC):
    """A measure of a ranked list, averaged over queries.

    To bring a measure of your own, derive a class and define :meth:`value`; define
    :meth:`swap_delta` too if you have something faster than trying out each swap.  A
    query whose grades are all zero has nothing relevant.

    Parameters
    ----------
    k : int >= 1 or None, default=None
        Cutoff: documents below rank k count nothing.  None, or a k longer than the
        list, means the whole list.
    ties : {"pessimistic", "average", "stable"}, default="pessimistic"
        Equal scores: the lower grade stands first (a constant model earns its worst
        case); or the expected value over their random orders; or the order of rows.
        Swap deltas order ties pessimistically, whatever is said here.
    no_relevant : {"zero", "one", "skip", "error"}, default="zero"
        A query without a relevant document counts 0 or 1, does not count, or is a
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
        rules = (*NO_RELEVANT_VALUE, "error")
        check_option("no_relevant", self.no_relevant, rules)
        if self.ties == "average" and not self.closed_form:
            raise ValueError(
                'ties="average" needs a closed form of the expected value, which '
                f'{type(self).__name__} has not; use "pessimistic" or "stable"'
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
        """Value of one list, given its grades from first to last.

        What a list with nothing relevant counts is not for this method to say but for
        ``no_relevant``.
        """

    def swap_delta(self, ranked_grades: FloatArray) -> FloatArray:
        """|change of the value| if two documents swap places, (n, n) by position."""
        ranked = np.array(ranked_grades, dtype=np.float64)
        before = self.value(ranked)
        delta = np.zeros((len(ranked), len(ranked)))
        for p in range(len(ranked)):
            for q in range(p):
                ranked[[p, q]] = ranked[[q, p]]
                delta[p, q] = delta[q, p] = abs(self.value(ranked) - before)
                ranked[[p, q]] = ranked[[q, p]]
        return delta

    def bind(
        self, grades: FloatArray, offsets: IntArray, labels: Labels | None = None
    ) -> BoundMetric:
        """Prepare everything that does not depend on scores.

        Parameters
        ----------
        grades : (n_documents,) float64
            Finite, >= 0, in canonical order.
        offsets : (n_queries + 1,) int64
            Query q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``, at
            least one.
        labels : sequence of length n_queries, default=None
            What to call the queries in error messages.
        """
        longest = longest_list(offsets)
        return BoundMetric(
            metric=self,
            grades=grades,
            offsets=offsets,
            labels=labels,
            gain=grades,
            discount=np.ones(longest),
            scale=np.ones(len(offsets) - 1),
            has_relevant=any_in_query(grades > 0, offsets),
            k=self.cutoff(longest),
        )

    def at_deeper_cutoff(self, level: int | None) -> Metric:
        """Return the measure to learn from: this one, or at a deeper cutoff.

        Only a measure whose discount falls from position to position still says the
        same at a deeper cutoff.
        """
        return self

    def deepened(self, level: int | None) -> Metric:  # TEMPORARY
        """Old name."""
        return self.at_deeper_cutoff(level)

    def cutoff(self, n: int) -> int:
        """``k`` for a list of n documents: at most n."""
        return n if self.k is None else min(self.k, n)

    def per_query(self, y_true: Any, y_score: Any, *, groups: Any) -> FloatArray:
        """Value of each query.

        Parameters
        ----------
        y_true : (n_documents,) array-like
            Grades, finite and >= 0.
        y_score : (n_documents,) array-like
            Scores, finite; higher is ranked first.
        groups : (n_documents,) array-like
            The query of each row: any hashable values, in any row order.

        Returns
        -------
        (n_queries,) float64
            In the order of the sorted group values.  NaN marks the queries that
            ``no_relevant="skip"`` leaves out.

        Raises
        ------
        ValueError
            Naming the argument, and the row and query where there is one.
        """
        queries = QueryGroups.from_groups(groups, len(y_true))
        bound = self._bind_raw(y_true, queries)
        return bound.values(check_scores(y_score, queries))

    def __call__(
        self, y_true: Any, y_score: Any, *, groups: Any, sample_weight: Any = None
    ) -> float:
        """Mean over queries, each counting once or its weight.

        Parameters are those of :meth:`per_query`; ``sample_weight`` gives a query's
        weight on each of its rows, constant within a query.
        """
        queries = QueryGroups.from_groups(groups, len(y_true))
        weights = check_sample_weight(sample_weight, queries)
        bound = self._bind_raw(y_true, queries)
        return bound.mean(check_scores(y_score, queries), weights)

    def _bind_raw(self, y_true: Any, queries: QueryGroups) -> BoundMetric:
        grades = check_grades(y_true, queries, "y_true")
        return self.bind(grades, queries.offsets, queries.labels)


def check_k(k: object) -> int | None:
    """Return a cutoff as int or None; TypeError or ValueError naming k otherwise."""
    if k is None:
        return None
    if isinstance(k, bool) or not isinstance(k, Integral):
        raise TypeError(f"k must be an integer >= 1 or None, got {k!r}")
    if k < 1:
        raise ValueError(f"k must be an integer >= 1 or None, got {k!r}")
    return int(k)


def check_option(name: str, value: object, options: tuple[str, ...]) -> None:
    """Raise a ValueError naming the argument unless it is one of its options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {options}, got {value!r}")


def longest_list(offsets: IntArray) -> int:
    """Documents of the longest list."""
    return int(np.diff(offsets).max())


def any_in_query(flags: NDArray[np.bool_], offsets: IntArray) -> NDArray[np.bool_]:
    """Whether any document of each query has its flag set."""
    return np.logical_or.reduceat(flags, offsets[:-1])
