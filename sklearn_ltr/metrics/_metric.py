"""The base class of all metrics, and their names.

A :class:`Metric` is a description (a frozen dataclass, which can be compared, hashed,
cloned and pickled).  Binding it to the grades of a data set computes all that does not
depend on scores, once; the resulting :class:`BoundMetric` computes values from scores.

The built-in metrics enter the table ``METRICS`` when their classes are made
(``ClosedFormMetric.__init_subclass__``).  Whatever must cover all metrics reads it.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.compile import ONE_THREAD, RangeKernel, ThreadTeam
from sklearn_ltr._core.data import (
    QueryGroups,
    QueryIds,
    check_grades,
    check_sample_weight,
    check_scores,
    count_rows,
    describe_query,
    rescale,
)
from sklearn_ltr._core.other_libraries import metric_here
from sklearn_ltr._core.parameters import Choice
from sklearn_ltr._core.typing import BoolArray, FloatArray, IdsLike, IntArray
from sklearn_ltr.metrics._arguments import CLOSE, explain_call
from sklearn_ltr.metrics._missing import JudgedQueries, count_missing
from sklearn_ltr.metrics._ranked_list import rank_documents

__all__ = ["Metric", "get_metric"]

Ties = Literal["pessimistic", "average", "stable"]
NoRelevant = Literal["zero", "one", "skip", "error"]

NO_RELEVANT_VALUE = {"zero": 0.0, "one": 1.0, "skip": np.nan}
LARGEST_K = 2**63 - 1
NANOSECONDS_PER_ROW = 5.0  # to rank documents, or to compute values of their lists
MOST_DIGITS = 18  # of a cutoff in a name; k must fit in int64

METRICS: dict[str, type[Metric]] = {}  # the built-in metrics by name

F = TypeVar("F", bound=Callable[..., float])
SCORE_SECTIONS = """
Parameters
----------
y_true, y_score, groups : array-likes of shape (n_documents,)
    Grade (finite, >= 0), score (finite, higher is ranked first) and query (a
    number, text, date or tuple of these, in any row order) of each document.
{options}
    Parameters of :class:`{metric}`.
sample_weight : array-like of shape (n_documents,), default=None
    Weight of each row's query, >= 0 and constant within a query.  None: 1.
y_missing, groups_missing : array-likes of shape (n_missing,), default=None
    Grade and query of each judged document that is not among the rows, see
    :meth:`Metric.per_query`.

Returns
-------
float
    Weighted mean over queries, {values}.

Raises
------
ValueError, TypeError
    For y_true, y_score or sample_weight that are not one finite number per row,
    negative grades or weights, groups of another length,
    {refused}a parameter out of its range, or if no query counts.

"""


@dataclass(frozen=True, repr=False, eq=False)
class Metric(ABC):
    """A metric of a ranked list, averaged over queries.

    To write a metric of your own, derive a class and define :meth:`value`.  It may have
    an `__init__` of its own: what this sets is shown and compared, too.  Define
    :meth:`swap_delta` as well if you have something faster than the default, which
    evaluates `value` once per pair of different grades: for each tree, up to
    :math:`n (n - 1) / 2` times for a list of n documents, and :math:`k n` times with a
    cutoff k.  A query whose grades are all zero has no relevant document.

    Parameters
    ----------
    k : int of at least 1 or None, default=None
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
        Choice("pessimistic", "average", "stable").read_as("ties", self.ties)
        options = Choice(*NO_RELEVANT_VALUE, "error")
        options.read_as("no_relevant", self.no_relevant)
        if self.ties == "average" and not self.closed_form:
            raise ValueError(
                'ties="average" needs a closed form of the expected value, which '
                f'{type(self).__name__} does not have: use "pessimistic" or "stable"'
            )

    # attributes that an `__init__` of the user's sets count, too

    def __repr__(self) -> str:
        default = {f.name: f.default for f in fields(self)}
        changed = (
            f"{name}={value!r}"
            for name, value in (default | vars(self)).items()
            if name not in default or value != default[name]
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or vars(other).keys() != vars(self).keys():
            return False
        pairs = [(value, vars(other)[name]) for name, value in vars(self).items()]
        return all(one is two or np.array_equal(one, two) for one, two in pairs)

    def __hash__(self) -> int:
        return hash((type(self), self.k, self.ties, self.no_relevant))

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
        """Return how much the value changes if two documents swap places, at least 0.

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
        n = len(ranked)
        delta = np.zeros((n, n))
        # equal grades make the same list, and documents below rank k do not count
        for p in range(n if self.k is None else min(n, self.k)):
            for q in range(p + 1, n):
                if ranked[p] != ranked[q]:
                    ranked[[p, q]] = ranked[[q, p]]
                    delta[p, q] = delta[q, p] = abs(self.value(ranked) - before)
                    ranked[[p, q]] = ranked[[q, p]]
        return delta

    def bind(
        self,
        grades: FloatArray,
        offsets: IntArray,
        query_ids: QueryIds | None = None,
        is_ranked: NDArray[np.bool_] | None = None,
    ) -> BoundMetric:
        """Prepare all that does not depend on scores.

        Internal: the result takes arrays in canonical order.  For your own rows use
        :meth:`per_query` or the metric itself.

        Parameters
        ----------
        grades : ndarray of shape (n_documents,), float64
            Finite, >= 0, in canonical order.
        offsets : ndarray of shape (n_queries + 1,), int64
            Query q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``, at
            least one.
        query_ids : sequence of length n_queries, default=None
            Group value of each query, for error messages.
        is_ranked : ndarray of shape (n_documents,), bool, default=None
            Whether a document is in the ranked list of its query.  The others only
            count among the relevant ones, and have no scores.  None: all are.

        Raises
        ------
        ValueError
            If grades or offsets are not such arrays, or if a user's metric gets
            documents that are not ranked.
        """
        check_canonical(grades, offsets)
        if is_ranked is not None:
            raise ValueError(
                f"y_missing was given, but {type(self).__name__} cannot count what is "
                "missing from a list: leave it out, or use a built-in metric"
            )
        longest = int(np.diff(offsets).max())
        k = self.cutoff(longest)
        return BoundMetric(
            metric=self,
            grades=grades,
            offsets=offsets,
            query_ids=query_ids,
            gain=grades,
            discount=np.ones(longest),
            scale=np.ones(len(offsets) - 1),
            limit=np.full(len(offsets) - 1, k, dtype=np.int64),
            has_relevant=np.logical_or.reduceat(grades > 0, offsets[:-1]),
            k=k,
        )

    def at_deeper_cutoff(self, level: int | None) -> Metric:
        """Return the metric to train on: this one, with a cutoff of at least `level`.

        With a deeper cutoff more pairs have a swap delta.  Only metrics whose discount
        decreases with the position are changed: with a constant discount (as precision
        has) a deeper cutoff would no longer prefer the same documents at the top.
        `level` None: this metric.
        """
        return self

    def with_largest_grade(self, grade: float) -> Metric:
        """Return this metric for a part of the data, given the largest grade of all.

        `grade` is the largest of all the data.  Only metrics that take their scale from
        the data (ERR without `max_grade`) are changed.
        """
        return self

    def _with(self, **values: object) -> Self:
        """Return a copy with other values of fields, whatever `__init__` takes."""
        changed = copy(self)
        for name, value in values.items():
            object.__setattr__(changed, name, value)
        changed.__post_init__()
        return changed

    def cutoff(self, n: int) -> int:
        """``k`` for a list of n documents: at most n."""
        return n if self.k is None else min(self.k, n)

    @explain_call
    def per_query(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        groups: IdsLike,
        y_missing: ArrayLike | None = None,
        groups_missing: IdsLike | None = None,
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
            Query of each document: numbers, text, dates, or tuples of these.
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

    @explain_call
    def __call__(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        groups: IdsLike,
        sample_weight: ArrayLike | None = None,
        y_missing: ArrayLike | None = None,
        groups_missing: IdsLike | None = None,
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
        self,
        y_true: ArrayLike,
        groups: IdsLike,
        y_missing: ArrayLike | None,
        groups_missing: IdsLike | None,
    ) -> tuple[QueryGroups, BoundMetric]:
        """Return the queries, those without a row included, and the bound metric."""
        queries = QueryGroups.from_groups(groups, count_rows(y_true, "y_true"))
        grades = check_grades(y_true, queries, "y_true")
        n_missing = count_missing(y_missing, groups_missing)
        if n_missing == 0:
            bound = self.bind(grades, queries.offsets, queries.query_ids)
            warn_if_all_relevant(bound)
            return queries, bound
        judged = JudgedQueries.read(queries, groups_missing, n_missing)
        grades_missing = check_grades(y_missing, judged.missing, "y_missing")
        merged, queries = judged.merge(grades, grades_missing), judged.rows
        bound = self.bind(merged, judged.offsets, queries.query_ids, judged.is_row)
        return queries, bound


@dataclass(frozen=True, eq=False)
class BoundMetric:
    """The part of a metric that does not depend on scores; turns scores into values.

    Internal: its methods are called in every boosting iteration and for every
    mini-batch, so they check no more than the type and shape of their arguments.  All
    arrays are in canonical order (:mod:`sklearn_ltr._core.data`): query q owns the
    documents ``offsets[q]`` to ``offsets[q + 1] - 1``.
    """

    metric: Metric
    grades: FloatArray  # (n_documents,)
    offsets: IntArray  # (n_queries + 1,)
    query_ids: QueryIds | None  # (n_queries,) group value of each, for error messages
    gain: FloatArray  # (n_documents,) gain, relevance (0 or 1), or probability R
    discount: FloatArray  # (longest list,) by position; falls; zero from position k on
    scale: FloatArray  # (n_queries,) factor of a query's value and swap deltas
    limit: IntArray  # (n_queries,) cutoff of each query, at most k counts
    # (n_queries,) of a gain above zero, in the list or missing from it
    has_relevant: BoolArray
    k: int  # cutoff; where the metric has none, the most documents of a query

    def subset(self, queries: IntArray, documents: IntArray, offsets: IntArray) -> Self:
        """Return the metric of some queries, which own `documents` by `offsets`."""
        query_ids = self.query_ids
        return replace(
            self,
            grades=self.grades[documents],
            offsets=offsets,
            query_ids=None if query_ids is None else [query_ids[q] for q in queries],
            gain=self.gain[documents],
            scale=self.scale[queries],
            limit=self.limit[queries],
            has_relevant=self.has_relevant[queries],
        )

    def values(self, scores: FloatArray, team: ThreadTeam = ONE_THREAD) -> FloatArray:
        """Return the value of each query, (n_queries,), for (n_documents,) scores."""
        # threads of a team share the queries, but not a user's metric, which is Python
        _check_array(scores, "scores", len(self.grades))
        values = self._list_values(scores, team.divide(self.offsets), team)
        if self.has_relevant.all():
            return values
        if self.metric.no_relevant == "error":
            query = int(np.argmin(self.has_relevant))
            raise ValueError(
                f"query {describe_query(self.query_ids, query)} has no relevant "
                f'document, an error for {self.metric.name} with no_relevant="error": '
                "drop the query, or change no_relevant"
            )
        values[~self.has_relevant] = NO_RELEVANT_VALUE[self.metric.no_relevant]
        return values

    def mean(self, scores: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the mean over queries, weighted by (n_queries,) weights or equally."""
        values = self.values(scores)
        if weights is None:
            weights = np.ones(len(values))
        _check_array(weights, "weights", len(values))
        return mean_of_values(self.metric, values, weights, self.has_relevant)

    def _list_values(
        self, scores: FloatArray, bounds: IntArray, team: ThreadTeam
    ) -> FloatArray:
        """Return the value of each list with a relevant document (else undefined)."""
        order = self._rank(scores, len(self.discount), bounds, team)
        values = np.empty(len(self.offsets) - 1)
        for query in np.flatnonzero(self.has_relevant):
            ranked = order[self.offsets[query] : self.offsets[query + 1]]
            values[query] = value_of_list(self.metric, self.grades[ranked])
        return values

    def _rank(
        self, scores: FloatArray, k: int, bounds: IntArray, team: ThreadTeam
    ) -> IntArray:
        """Return the ranked lists, in order down to position k."""
        order = np.empty(len(self.grades), dtype=np.int64)
        is_stable = self.metric.ties == "stable"
        lists = scores, self.grades, self.offsets, k, order, is_stable
        self._in_ranges(bounds, team, rank_documents, *lists)
        return order

    def _in_ranges(
        self, bounds: IntArray, team: ThreadTeam, kernel: RangeKernel, *arguments: Any
    ) -> None:
        """Call a kernel for ranges of queries, by the threads of a team."""
        n_rows = self.offsets[bounds[-1]] - self.offsets[bounds[0]]
        team.share_ranges(NANOSECONDS_PER_ROW * n_rows, bounds, kernel, *arguments)


def warn_if_all_relevant(bound: BoundMetric) -> None:
    """Warn if a metric tells no grade from another, as of stars from 1 to 5."""
    grades, first = bound.grades, bound.offsets[:-1]
    if grades.min() == 0 or np.ptp(grades) == 0 or np.ptp(bound.gain) > 0:
        return
    low, high = np.minimum.reduceat(grades, first), np.maximum.reduceat(grades, first)
    if np.count_nonzero(low < high) > 1:  # a single list may have no other documents
        warn_caller(
            f"to {bound.metric!r} every document is relevant (the grades are "
            f"{low.min():g} to {high.max():g}): give relevant_from, the lowest "
            "relevant grade (or another gain), if low grades are not"
        )


def mean_of_values(
    metric: Metric, values: FloatArray, weights: FloatArray, has_relevant: BoolArray
) -> float:
    """Return the weighted mean over (n_queries,) values; ValueError if none counts."""
    if metric.no_relevant == "skip":
        values, weights = values[has_relevant], weights[has_relevant]
    weights, _ = rescale(weights)
    values, exponent = rescale(values)
    total = weights.sum()
    if not total > 0:
        raise ValueError(
            f'{metric.name} has no query to average: no_relevant="skip" leaves out all '
            "queries of a weight above zero; change it, or check y_true"
        )
    return float(np.ldexp((values * weights).sum() / total, exponent))


def value_of_list(metric: Metric, ranked_grades: FloatArray) -> float:
    """Return the value of a user's metric, which may keep or change the array."""
    value = np.asarray(metric.value(ranked_grades))
    if value.shape != () or value.dtype.kind not in "biuf" or not np.isfinite(value):
        raise ValueError(
            f"{type(metric).__name__}.value must return a finite number, got {value} "
            f"for a list of {len(ranked_grades)} documents"
        )
    return float(value)


def check_canonical(grades: object, offsets: object) -> None:
    """Raise a ValueError unless kernels can take these grades and offsets."""
    if not (
        isinstance(grades, np.ndarray)
        and grades.dtype == np.float64
        and grades.ndim == 1
        and ((grades >= 0) & (grades < np.inf)).all()
    ):
        raise ValueError("grades must be a 1-D float64 array of finite numbers >= 0")
    if not (
        isinstance(offsets, np.ndarray)
        and offsets.dtype == np.int64
        and offsets.ndim == 1
        and len(offsets) > 1
        and offsets[0] == 0
        and offsets[-1] == len(grades)
        and (offsets[1:] > offsets[:-1]).all()
    ):
        raise ValueError(
            f"offsets must be a 1-D int64 array that rises from 0 to {len(grades)}, "
            f"the number of grades, got {offsets!r}"
        )


def _check_array(array: FloatArray, name: str, n: int) -> None:
    """Raise a ValueError unless an array is float64 and of length n."""
    is_float = isinstance(array, np.ndarray) and array.dtype == np.float64
    if not is_float or array.shape != (n,):
        raise ValueError(
            f"{name} must be a float64 array of shape ({n},), got "
            f"{type(array).__name__} of shape {np.shape(array)}"
        )


def check_k(k: object) -> int | None:
    """Return a cutoff as int or None; TypeError or ValueError naming k otherwise."""
    if k is None:
        return None
    if isinstance(k, bool) or not isinstance(k, Integral):
        raise TypeError(f"k must be an integer >= 1 or None, got {k!r}")
    if not 1 <= int(k) <= LARGEST_K:
        raise ValueError(f"k must be an integer >= 1 (below 2^63) or None, got {k!r}")
    return int(k)


def read_ranked_grades(ranked_grades: ArrayLike) -> FloatArray:
    """Return the grades of one list, (n_documents,) float64, checked."""
    name = "ranked_grades"
    query = QueryGroups.single(count_rows(ranked_grades, name))
    return check_grades(ranked_grades, query, name)


def get_metric(metric: str | Metric) -> Metric:
    """Return the metric of a name such as ``"ndcg"`` or ``"ndcg@10"``.

    Parameters
    ----------
    metric : str or Metric
        The name of a metric is that of its function without ``_score``: ``"ndcg"``,
        ``"map"``, ``"hit_rate"``, ..., with or without a cutoff ``"@k"``.  A metric
        object is returned as it is.

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        If the name is unknown, or the part after ``@`` is not an integer >= 1.
    TypeError
        If ``metric`` is neither a string nor a metric object.

    Examples
    --------
    >>> from sklearn_ltr.metrics import get_metric
    >>> get_metric("mrr@10")
    MRR(k=10)
    """
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        raise TypeError(
            "metric must be a name such as 'ndcg@10' or a metric object such as "
            f"NDCG(10), got {metric!r}"
        )
    name, at, cutoff = metric.partition("@")
    is_cutoff = cutoff.isdecimal() and len(cutoff) <= MOST_DIGITS and int(cutoff) > 0
    if name in METRICS and (is_cutoff or not at):
        return METRICS[name](int(cutoff) if at else None)
    hint, ours = "", metric_here(metric, METRICS)
    if ours is not None:
        hint = (
            f"Did you mean {ours!r}? (If another library gives another value, see "
            "'Metrics and conventions' in the documentation.) "
        )
    elif name in METRICS:
        raise ValueError(
            f"metric {metric!r}: k, the part after '@', must be an integer >= 1"
        )
    elif close := get_close_matches(name.lower(), METRICS, 1, CLOSE):
        hint = f"Did you mean {close[0] + at + cutoff!r}? "
    raise ValueError(
        f"unknown metric {metric!r}. {hint}The names are {', '.join(METRICS)}, "
        "each with or without a cutoff k, as in 'ndcg@10'"
    )


def score_function(
    metric: type[Metric], *, values: str = "between 0 and 1", refused: str = ""
) -> Callable[[F], F]:
    """Document a function that computes a metric, by what all of these share."""
    # its own docstring has the definition and examples

    def document(function: F) -> F:
        function = explain_call(function)
        if function.__doc__ is None:  # python -OO
            return function
        names = list(inspect.signature(function).parameters)
        options = names[names.index("groups") + 1 : names.index("sample_weight")]
        shared = SCORE_SECTIONS.format(
            options=", ".join(options),
            metric=metric.__name__,
            values=values,
            refused=refused and f"{refused}, ",
        )
        own = inspect.cleandoc(function.__doc__)
        function.__doc__ = own.replace("\nExamples\n", f"{shared}Examples\n")
        return function

    return document


def compute_score(metric: type[Metric], **given: Any) -> float:
    """Return the mean of a metric, given the arguments of its score function."""
    options = {field.name: given.pop(field.name) for field in fields(metric)}
    return metric(**options)(**given)
