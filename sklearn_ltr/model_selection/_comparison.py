r"""Rankers compared on the same queries: intervals and tests of paired differences.

With d_q = M_q(b) - M_q(a) the difference of a metric on query q, and w_q the weight of
the query, all that is computed here is about the mean

    d = sum_q w_q d_q / sum_q w_q.

Queries differ far more than rankers do.  A difference leaves out how hard its query is.
Queries count as independent draws from all those that users may ask.
"""

from __future__ import annotations

import html
import inspect
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.data import (
    QueryGroups,
    as_array,
    check_scores,
    count_rows,
    rescale,
)
from sklearn_ltr._core.data.query_values import number_users, units_of_queries
from sklearn_ltr._core.data.training_data import read_one_label
from sklearn_ltr._core.parameters import POSITIVE, integer, real
from sklearn_ltr._core.parts import nested
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike, Seed
from sklearn_ltr.metrics import Metric, get_metric

RankersLike: TypeAlias = (
    Mapping[str, BaseEstimator | ArrayLike] | Sequence[BaseEstimator | ArrayLike]
)

# Relative difference below which two values are equal: sums of the same numbers in
# another order.
TIE_ROUNDING = 1e-12
SIGNIFICANCE, POWER = 0.05, 0.8  # that `n_needed` is for
BATCH_SIZE = 2**22  # numbers that resampling holds at once
FEW_QUERIES = 10  # below it, draws of the bootstrap have too few different means
# Weights are warned of if they make n queries count like fewer than 0.75 n, and fewer
# than 5, of equal weight.
EVEN, ENOUGH = 0.75, 5
OF_SEARCHES = (
    "Intervals and p-values are about the models that the searches have found: other "
    "folds\nor another seed may find others."
)


class PairComparison(NamedTuple):
    """The difference between two rankers, b minus a.

    Attributes
    ----------
    a, b : str
        Names of the rankers.
    mean_difference : float
        Mean of the metric of b minus that of a; above 0, b is better.
    standard_error : float
        Standard error of this difference.
    low, high : float
        Bounds of the interval of the difference.
    p_value : float
        P-value of the two-sided permutation test, as :func:`compare_rankers` defines
        it.
    adjusted_p_value : float
        The same, corrected by Holm for the number of pairs.
    n_needed : int
        Number of queries needed to see the given difference; 0 if all queries have the
        same difference.
    """

    a: str
    b: str
    mean_difference: float
    standard_error: float
    low: float
    high: float
    p_value: float
    adjusted_p_value: float
    n_needed: int


class PeriodComparison(NamedTuple):
    """The difference between two rankers in one period.

    Attributes
    ----------
    period : object
        As given.
    a, b : str
        Names of the rankers.
    n_queries : int
        Number of queries compared in the period.
    mean_difference : float
        Mean of the metric of b minus that of a, in the period.
    standard_error : float
        Standard error of this difference; NaN for one query, or one user.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ltr.model_selection import compare_rankers
    >>> y, groups = np.tile([1, 0], 6), np.repeat(np.arange(6), 2)
    >>> months = np.repeat(["2026-03", "2026-04"], 6)
    >>> better = np.where(groups < 3, y, 1 - y)  # in March
    >>> comparison = compare_rankers(
    ...     [y, better], None, y, groups=groups, periods=months
    ... )
    >>> [(one.period, round(one.mean_difference, 3)) for one in comparison.periods]
    [('2026-03', 0.0), ('2026-04', -0.369)]
    """

    period: Any
    a: str
    b: str
    n_queries: int
    mean_difference: float
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class RankerComparison:
    """Result of :func:`compare_rankers`; printed, it is a table.

    Attributes
    ----------
    metric_name : str
        Name of the metric.
    n_queries : int
        Number of queries compared: of weight above 0, and not left out by the metric.
    means : dict of str to float
        Mean of the metric of each ranker, by name.
    pairs : list of PairComparison
        One for each two rankers, or for each ranker but the baseline.
    difference : float
        The difference that `n_needed` queries show.
    confidence_level : float
        Of the intervals.
    n_users : int or None
        Number of users of these queries; None if `users` were not given.
    by_query : RankerComparison or None
        With `users`, the comparison that takes all queries for independent, as if the
        queries of a user were not alike: what would have been said without `users`.
    periods : list of PeriodComparison
        With `periods`, one for each pair and period, in the order of periods.
    searches : list of str
        Names of the rankers that are fitted searches.
    """

    metric_name: str
    n_queries: int
    means: dict[str, float]
    pairs: list[PairComparison]
    difference: float
    confidence_level: float
    n_users: int | None = None
    by_query: RankerComparison | None = None
    periods: list[PeriodComparison] = field(default_factory=list)
    searches: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        """Return a table of the rankers, one of the pairs, and one of the periods."""
        tables = ["\n".join(aligned(table)) for table in self._tables()]
        return "\n\n".join([*tables, *[OF_SEARCHES] * bool(self.searches)])

    def _repr_html_(self) -> str:
        """Return the same tables for notebooks."""
        below = [f"<p>{OF_SEARCHES}</p>"] * bool(self.searches)
        return "\n".join([*map(as_html, self._tables()), *below])

    def _tables(self) -> list[list[list[str]]]:
        """Return the rows of the tables, the first one with the titles."""
        n = f"{self.n_queries:,} queries"
        unit = "queries"
        if self.n_users is not None:
            n, unit = f"{n} of {self.n_users:,} users", "users"
        rankers = [
            [f"{self.metric_name}, {n}", "mean"],
            *([name, f"{mean:.4f}"] for name, mean in self.means.items()),
        ]
        interval = f"{100 * self.confidence_level:g}% interval"
        needed = f"{unit} for {self.difference:.4g}"
        pairs = [["difference", "mean", interval, "p", "p (Holm)", needed]]
        for pair in self.pairs:
            row = [
                f"{pair.b} - {pair.a}",
                f"{pair.mean_difference:+.4f}",
                f"{pair.low:+.4f} to {pair.high:+.4f}",
                f"{pair.p_value:.4f}",
                f"{pair.adjusted_p_value:.4f}",
                f"{pair.n_needed:,}",
            ]
            pairs.append(row)
        tables = [rankers, pairs]
        if self.by_query is not None:
            pairs[0].append("as if all queries were independent")
            for row, pair in zip(pairs[1:], self.by_query.pairs, strict=True):
                row.append(f"{pair.low:+.4f} to {pair.high:+.4f}")
        if self.periods:
            title = ["period", "difference", "queries", "mean", "standard error"]
            tables.append([title])
            for one in self.periods:
                row = [str(one.period), f"{one.b} - {one.a}", f"{one.n_queries:,}"]
                row += [f"{one.mean_difference:+.4f}", f"{one.standard_error:.4f}"]
                tables[-1].append(row)
        return tables


def compare_rankers(
    rankers: RankersLike,
    X: MatrixLike | None,
    y: ArrayLike,
    *,
    groups: IdsLike,
    metric: str | Metric = "ndcg@10",
    baseline: str | None = None,
    label: int | str | None = None,
    users: IdsLike | None = None,
    periods: IdsLike | None = None,
    sample_weight: ArrayLike | None = None,
    difference: float = 0.01,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    random_state: Seed = 0,
) -> RankerComparison:
    r"""Compare rankers on the same queries: intervals and tests of each difference.

    For each two rankers a and b, with :math:`d_q = M_q(b) - M_q(a)` the difference of
    the metric on query q:

    - the mean :math:`\bar d` of the differences, and its interval by the bootstrap:
      queries are drawn with replacement, each with both its values, and the interval
      holds the middle 95% of the means of these draws (percentile interval; with few
      queries it holds more than 95%, because Student's t has longer tails than the
      normal distribution [1]_, and with fewer than 10, whose draws have too few
      different means, it is at least as wide as the interval of Student's t);
    - the p-value of a two-sided permutation test.  If the rankers did not differ, each
      :math:`d_q` could as well have the other sign: p is how often random signs give a
      mean at least as far from 0 (with n queries and :math:`2^n \le` `n_resamples`, all
      signs are tried).  [2]_ finds this test and the bootstrap to agree with Student's
      t on lists of documents, and advises against the sign and Wilcoxon tests;
    - the p-value corrected by Holm [3]_ for the number of pairs: if you call all pairs
      below 0.05 different, the chance of any error is at most 5%;
    - the number of queries needed to see a `difference` [4]_: with s the standard
      deviation of the :math:`d_q`, in 80% of all collections of

      .. math::

          n = \left( \frac{(z_{0.975} + z_{0.8}) \, s}{\text{difference}} \right)^2

      queries, a true difference of this size has a p-value below 5%.

    Parameters
    ----------
    rankers : dict of str to ranker or array-like, or list of these
        At least two: fitted rankers, Pipelines that end in one or regressors, whose
        `predict` returns scores; or the scores of the documents themselves, finite,
        higher is ranked first.  In a list, rankers are named by their classes and
        scores "Ranker", with a number where a name occurs twice.  Put the ranker in use
        first: a difference is a later ranker minus an earlier one.
    X : array-like of shape (n_documents, n_features) or None
        Documents of queries that no ranker has learned from.  None if all `rankers` are
        scores.
    y : array-like of shape (n_documents,) or (n_documents, n_labels)
        Relevance grades, finite and >= 0; of several labels, NaN where a label has not
        judged a document.
    groups : array-like of shape (n_documents,)
        The query of each document: numbers, text, dates, or tuples of these.
    metric : str or Metric, default="ndcg@10"
        A name or a metric object.  Queries without a relevant document are left out
        if its ``no_relevant`` is "skip"; otherwise they count as ties.
    baseline : str or None, default=None
        Name of the ranker that all others are compared with: n - 1 pairs of n rankers,
        each the other one minus the baseline.  None: every two rankers.
    label : int or str or None, default=None
        Of a y with several columns, the one that is compared: its number, or its name
        in a DataFrame; documents that it has not judged are left out.
    users : array-like of shape (n_documents,), default=None
        The user (customer, session, device) of each query, constant within it: numbers,
        text, dates, or tuples of these.  The queries of a user are alike; draws and
        signs are then of users, each with all queries of theirs.  None: queries are
        independent.
    periods : array-like of shape (n_documents,), default=None
        The period (month, week, fold) of each query, constant within it: the
        differences are also given for each, to see whether they last.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of a query in the means, constant within it.  A warning says so if a few
        queries outweigh all others.
    difference : float above 0, default=0.01
        The smallest difference that matters to you.
    confidence_level : float in (0, 1), default=0.95
        Confidence level of the intervals.
    n_resamples : int of at least 100, default=9999
        Number of draws of the bootstrap, and of signs of the permutation test.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws, which are the same for all pairs.

    Returns
    -------
    comparison : RankerComparison
        Means, and a list of ``pairs``; printed, it is a table.

    Raises
    ------
    NotFittedError
        If a ranker is not fitted.
    TypeError
        If `rankers` is neither a dict nor a list, `metric` neither a name nor a metric
        object, or an option is not a number.
    ValueError
        For fewer than two rankers or queries, an option out of its range, or data that
        the metric or a ranker refuses; the message names the argument.

    See Also
    --------
    sklearn_ltr.plotting.RankerComparisonDisplay : The intervals as a picture.
    sklearn_ltr.plotting.QueryComparisonDisplay : Differences query by query.

    Notes
    -----
    With weights :math:`w_q` that sum to 1, means are weighted,
    :math:`s^2 / n` is :math:`\frac{n}{n - 1} \sum_q w_q^2 (d_q - \bar d)^2`, and the
    number of queries needed is of queries with weights like these.

    The level of the percentiles is :math:`2 \Phi(\sqrt{n / (n - 1)} \, t) - 1`, with t
    the quantile of Student's distribution of n - 1 degrees of freedom for
    `confidence_level`.  Intervals are each of one pair, without a correction for their
    number.

    A p-value is twice the smaller of two fractions, at most 1: that of the signs that
    give a mean of at least :math:`\bar d`, and that of at most :math:`\bar d`.  Of n
    queries whose signs are all tried, none is below :math:`2^{1-n}`, so fewer than 6
    queries never have one below 5%.  Of signs at random, each fraction is
    ``(c + 1) / (n_resamples + 1)``, with c the number of draws, so none is below
    ``2 / (n_resamples + 1)``.

    With `users`, of which u has the queries :math:`Q_u`, all of this is about users of
    weight :math:`W_u = \sum_{q \in Q_u} w_q` and difference
    :math:`D_u = \sum_{q \in Q_u} w_q d_q / W_u`, in place of queries: the mean is the
    same, and the number needed is one of users.  Without `users`, queries count as
    independent.  The interval does not include the effect of another training run or
    another seed; where a search is compared, the printed table says so.

    References
    ----------
    .. [1] T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American
       Statistician 69(4), 2015.
    .. [2] M. Smucker, J. Allan and B. Carterette, "A comparison of statistical
       significance tests for information retrieval evaluation", CIKM 2007.
    .. [3] S. Holm, "A simple sequentially rejective multiple test procedure",
       Scandinavian Journal of Statistics 6(2), 1979.
    .. [4] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval
       experimentation", CIKM 2008.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr.model_selection import compare_rankers
    >>> data = make_ranking(120, random_state=0)
    >>> train, test = data.groups < 60, data.groups >= 60
    >>> rankers = {
    ...     f"{n} trees": LambdaMARTRanker(n_estimators=n, random_state=0).fit(
    ...         data.data[train], data.target[train], groups=data.groups[train]
    ...     )
    ...     for n in (5, 50)
    ... }
    >>> comparison = compare_rankers(
    ...     rankers, data.data[test], data.target[test], groups=data.groups[test]
    ... )
    >>> comparison  # doctest: +SKIP
    ndcg@10, 60 queries    mean
    5 trees              0.6937
    50 trees             0.7437
    <BLANKLINE>
    difference             mean        95% interval       p  p (Holm)  queries for 0.01
    50 trees - 5 trees  +0.0500  +0.0130 to +0.0862  0.0070    0.0070             1,576
    >>> (pair,) = comparison.pairs
    >>> round(pair.mean_difference, 3), pair.low > 0, pair.n_needed
    (0.061, True, 1069)
    """
    metric = get_metric(metric)
    POSITIVE.read_as("difference", difference)
    real(0, 1, "neither").read_as("confidence_level", confidence_level)
    integer(100).read_as("n_resamples", n_resamples)
    rng = check_random_state(random_state)
    entries = name_rankers(rankers)
    is_dict = isinstance(rankers, Mapping)
    arguments = {
        name: f"rankers[{name!r}]" if is_dict else f"rankers[{number}]"
        for number, name in enumerate(entries)
    }
    scores = {
        arguments[name]: scores_of(entry, X, arguments[name])
        for name, entry in entries.items()
    }
    if baseline is not None and baseline not in entries:
        raise ValueError(
            f"baseline must be the name of a ranker, {list(entries)!r}, or None, got "
            f"{baseline!r}"
        )
    compared = query_values(
        metric, y, scores, groups, sample_weight, y_name="y", label=label
    )
    values = dict(zip(entries, compared.values, strict=True))
    compare = partial(
        compare_values,
        metric_name=metric.name,
        baseline=baseline,
        difference=float(difference),
        confidence_level=float(confidence_level),
        n_resamples=int(n_resamples),
        rng=rng,
    )
    comparison = compare(values, compared.weights)
    # without users, each query is as one of its own
    user = np.arange(len(compared.weights))
    if users is not None:
        user = number_users(users, compared.groups)[compared.included]
        of_users, weights = means_by_user(values, compared.weights, user)
        comparison = replace(
            compare(of_users, weights, unit="users"),
            n_queries=comparison.n_queries,
            n_users=len(weights),
            by_query=comparison,
        )
    if periods is not None:
        known, number = units_of_queries(periods, compared.groups, "periods")
        for period, label in enumerate(known.query_ids):
            part = (number[compared.included] == period) & (compared.weights > 0)
            if not part.any():
                continue
            of_part = {name: of_ranker[part] for name, of_ranker in values.items()}
            means, weights = means_by_user(of_part, compared.weights[part], user[part])
            n = int(part.sum())
            for a, b, *_ in comparison.pairs:
                d = differences_of(means[a], means[b])
                of_pair = mean_and_standard_error(d, weights)
                comparison.periods.append(PeriodComparison(label, a, b, n, *of_pair))
    comparison.searches.extend(
        name
        for name, entry in entries.items()
        if any(hasattr(part, "best_estimator_") for part in nested(entry))
    )
    return comparison


def name_rankers(rankers: RankersLike) -> dict[str, Any]:
    """Return rankers or scores by name; those of a list are named by their classes."""
    if not isinstance(rankers, Mapping | list | tuple):
        raise TypeError(
            "rankers must be a dict of names to fitted rankers or scores, or a list of "
            f"these, got an object of {type(rankers).__name__}"
        )
    if len(rankers) < 2:
        raise ValueError(
            f"rankers must hold at least two rankers to compare, got {len(rankers)}"
        )
    if isinstance(rankers, Mapping):
        if strange := [name for name in rankers if not isinstance(name, str)]:
            raise TypeError(f"rankers must have text as names, got {strange[0]!r}")
        return dict(rankers)
    names = [
        type(ranker).__name__ if hasattr(ranker, "predict") else "Ranker"
        for ranker in rankers
    ]
    count, seen = Counter(names), Counter[str]()
    named = {}
    for name, ranker in zip(names, rankers, strict=True):
        seen[name] += 1
        named[f"{name} {seen[name]}" if count[name] > 1 else name] = ranker
    return named


def scores_of(entry: Any, X: MatrixLike | None, argument: str) -> ArrayLike:
    """Return the scores that a ranker predicts, or scores as they are."""
    if not hasattr(entry, "predict"):
        scores: ArrayLike = entry
        return scores
    if inspect.isclass(entry):
        raise TypeError(f"{argument} is a class: give a fitted {entry.__name__}")
    if X is None:
        raise ValueError(
            f"X is None, but {argument} is a ranker: give the documents that it ranks"
        )
    predicted: ArrayLike = entry.predict(X)
    return predicted


class QueryValues(NamedTuple):
    """Values of rankers on each query that the metric includes."""

    values: FloatArray  # (n_rankers, n_queries)
    queries: NDArray[Any]  # (n_queries,) labels
    weights: FloatArray  # (n_queries,)
    groups: QueryGroups  # all queries,
    included: NDArray[np.bool_]  # and which of them these are


def query_values(
    metric: Metric,
    y_true: ArrayLike,
    scores: Mapping[str, ArrayLike],
    groups: IdsLike,
    sample_weight: ArrayLike | None,
    *,
    y_name: str,
    label: int | str | None = None,
) -> QueryValues:
    """Evaluate a metric on each query, for scores by the names of their arguments."""
    queries = QueryGroups.from_groups(groups, count_rows(y_true, y_name))
    data, judged = read_one_label(y_true, queries, label, sample_weight, y_name)
    own, weights = judged.data, data.sample_weight
    bound = metric.bind(own.y, own.offsets, own.query_ids)
    values = np.full((len(scores), queries.n_queries), np.nan)
    for row, (name, column) in zip(values, scores.items(), strict=True):
        checked = check_scores(column, queries, name, only_order=True)
        row[judged.queries_of(data)] = bound.values(checked[judged.rows])
    included = ~np.isnan(values[0])
    if not weights[included].any():
        raise ValueError(
            f'{metric.name} has no query to compare: no_relevant="skip" leaves out '
            "all queries of a weight above zero; change it, or check y"
        )
    return QueryValues(
        values[:, included],
        as_array(queries.query_ids)[included],
        weights[included],
        queries,
        included,
    )


def means_by_user(
    values: Mapping[str, FloatArray], weights: FloatArray, user: IntArray
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Return the mean values of the queries of each user, and the sums of weights."""
    counted = weights > 0
    weights, _ = rescale(weights[counted])
    _, unit = np.unique(user[counted], return_inverse=True)
    total = np.bincount(unit, weights).astype(np.float64)
    means = {
        name: np.bincount(unit, weights * of_ranker[counted]) / total
        for name, of_ranker in values.items()
    }
    return means, total


def differences_of(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return b minus a, exactly 0 where they are equal up to rounding."""
    tied = np.abs(b - a) <= TIE_ROUNDING * np.maximum(np.abs(a), np.abs(b))
    return np.where(tied, 0.0, b - a)


def mean_and_standard_error(
    values: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    """Return the mean over queries and its standard error (NaN for one query)."""
    # mean = sum w x / sum w,
    # SE^2 = n / (n - 1)  sum w^2 (x - mean)^2 / (sum w)^2,
    # with n the number of queries of weight > 0 whose value is not NaN.  With equal
    # weights SE is s / sqrt(n), where s is the standard deviation of the sample.
    included = ~np.isnan(values) & (weights > 0)
    n = int(np.count_nonzero(included))
    if n == 0:
        raise ValueError(
            'there is no query to average: no_relevant="skip" leaves out all queries '
            "of a weight above zero; change it, or check y"
        )
    x, exponent = rescale(values[included])
    w, _ = rescale(weights[included])
    w = w / w.sum()
    mean = float(w @ x)
    error = np.nan
    if n > 1:
        error = np.sqrt(n / (n - 1)) * np.linalg.norm(w * (x - mean))
    return float(np.ldexp(mean, exponent)), float(np.ldexp(error, exponent))


def compare_values(
    values: Mapping[str, FloatArray],
    weights: FloatArray,
    metric_name: str,
    *,
    baseline: str | None = None,
    difference: float,
    confidence_level: float,
    n_resamples: int,
    rng: np.random.RandomState,
    unit: str = "queries",
) -> RankerComparison:
    """Compare rankers by their (n_queries,) values on the same queries, or users."""
    counted = weights > 0
    n = int(np.count_nonzero(counted))
    if n < 2:
        raise ValueError(
            f"a comparison needs at least two {unit} that count for {metric_name}, "
            f"got {n}: give more {unit}"
        )
    weights = weights[counted]
    warn_if_unequal(weights, unit)
    values = {name: of_ranker[counted] for name, of_ranker in values.items()}
    names = list(combinations(values, 2))
    if baseline is not None:
        names = [(baseline, name) for name in values if name != baseline]
    d = np.stack([differences_of(values[a], values[b]) for a, b in names])
    seed = rng.randint(2**31)
    low, high = bootstrap_intervals(d, weights, confidence_level, n_resamples, seed)
    p_values = permutation_p_values(d, weights, n_resamples, seed)
    moments = [mean_and_standard_error(row, weights) for row in d]
    if n < FEW_QUERIES:
        mean, error = np.transpose(moments)
        margin = error * stats.t.isf((1 - confidence_level) / 2, n - 1)
        low, high = np.minimum(low, mean - margin), np.maximum(high, mean + margin)
    pairs = []
    for i, adjusted in enumerate(holm(p_values)):
        mean, error = moments[i]
        pairs.append(
            PairComparison(
                *names[i],
                mean_difference=mean,
                standard_error=error,
                low=float(low[i]),
                high=float(high[i]),
                p_value=float(p_values[i]),
                adjusted_p_value=float(adjusted),
                n_needed=queries_needed(error, n, difference),
            )
        )
    means = {
        name: mean_and_standard_error(of_ranker, weights)[0]
        for name, of_ranker in values.items()
    }
    return RankerComparison(metric_name, n, means, pairs, difference, confidence_level)


def warn_if_unequal(weights: FloatArray, unit: str) -> None:
    """Warn of weights of which a few outweigh all others."""
    n, (weights, _) = len(weights), rescale(weights)
    shares = weights / weights.sum()
    n_effective = 1 / float(shares @ shares)
    if n_effective < min(EVEN * n, ENOUGH):
        what, way = "sample_weight is", "give weights that differ less"
        if unit == "users":
            what, way = "the queries of users are", "give more users"
        warn_caller(
            f"{what} so unequal that {n} {unit} count like {n_effective:.2g} of equal "
            f"weight (one has {shares.max():.3%} of all), so intervals and p-values "
            f"are not reliable: {way}"
        )


def resampling(d: FloatArray, n_resamples: int, seed: int) -> dict[str, Any]:
    """Return the arguments that scipy's methods of resampling share."""
    return {
        "vectorized": True,
        "axis": -1,
        "n_resamples": n_resamples,
        "batch": max(1, BATCH_SIZE // d.size),
        "random_state": np.random.default_rng(seed),
    }


def bootstrap_intervals(
    d: FloatArray, weights: FloatArray, level: float, n_resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of the interval of each row of (n_pairs, n_queries)."""
    d, exponent = rescale(d)
    weights, _ = rescale(weights)
    # means of draws vary by sqrt((n - 1) / n) of the standard error
    n = d.shape[1]
    t = stats.t.ppf((1 + level) / 2, n - 1)
    level = 2 * stats.norm.cdf(np.sqrt(n / (n - 1)) * t) - 1

    def mean(d: FloatArray, w: FloatArray, axis: int) -> FloatArray:
        return np.asarray((d * w).sum(axis=axis) / w.sum(axis=axis))

    low, high = stats.bootstrap(
        (d, np.broadcast_to(weights, d.shape)),
        mean,
        paired=True,
        confidence_level=level,
        method="percentile",
        **resampling(d, n_resamples, seed),
    ).confidence_interval
    return np.ldexp(low, exponent), np.ldexp(high, exponent)


def permutation_p_values(
    d: FloatArray, weights: FloatArray, n_resamples: int, seed: int
) -> FloatArray:
    """Return the p-value of each pair: (n_pairs, n_queries) differences change sign."""
    d, _ = rescale(d)
    weights, _ = rescale(weights)
    found = stats.permutation_test(
        (d * (weights / weights.max()),),
        np.sum,
        permutation_type="samples",
        **resampling(d, n_resamples, seed),
    )
    p_values: FloatArray = np.asarray(found.pvalue, dtype=np.float64)
    return p_values


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values that are corrected for their number by Holm's procedure."""
    # The smallest is multiplied by their number m, the next by m - 1, and so on.  The
    # results never decrease and are at most 1.
    m = len(p_values)
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(m, 0, -1))
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def queries_needed(standard_error: float, n: int, difference: float) -> int:
    """Return the queries on which a difference is seen, by the error of n of them."""
    z = stats.norm.ppf(1 - SIGNIFICANCE / 2) + stats.norm.ppf(POWER)
    # the standard deviation is standard_error * sqrt(n); fractions do not overflow
    return math.ceil(n * Fraction(float(z) * standard_error / difference) ** 2)


def as_html(
    rows: Iterable[Sequence[object]], attributes: str = "", between: str = ""
) -> str:
    """Return a table in HTML, its first row as titles; `between` separates lines."""

    def line(row: Sequence[object], tag: str) -> str:
        cells = (f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in row)
        return f"<tr>{''.join(cells)}</tr>"

    title, *body = rows
    head = f"<thead>{line(title, 'th')}</thead>"
    lines = between.join(line(row, "td") for row in body)
    parts = f"<table{attributes}>", head, "<tbody>", lines, "</tbody></table>"
    return between.join(parts)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, of which only the first column is left-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
