"""Plot of a metric against its cutoff k, for one ranker or several.

curve(k)  =  mean over queries of metric@k,
band(k)   =  curve(k) +- its standard error
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from sklearn_ltr._core.data import check_grades, check_sample_weight, check_scores
from sklearn_ltr._core.typing import IdsLike, IntArray, MatrixLike
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.model_selection._comparison import (
    differences_of,
    mean_and_standard_error,
)
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import group_rows, predicted_scores, read_curves
from sklearn_ltr.plotting._display import Axes, Display, Line2D, complete_display

if TYPE_CHECKING:
    from matplotlib.collections import PolyCollection

T = TypeVar("T")
RankerScores = (
    ArrayLike | Mapping[str, ArrayLike]
)  # of one ranker, or of several by name

# The axis is logarithmic if the largest gap between cutoffs exceeds this multiple of
# the smallest.
MAX_GAP_RATIO = 5
# Smallest distance between two tick labels: as a fraction of the width of the axes, of
# one digit and for each that follows.
LABEL_DISTANCE, DIGIT_WIDTH = 0.07, 0.025
MAX_DIGITS = 30  # of all tick labels together


@complete_display
class CutoffCurveDisplay(Display):
    r"""Plot of a metric against its cutoff k, for one ranker or several.

    With :math:`M_q@k` the metric of query q at cutoff k, a curve is the mean over n
    queries, and its band is the mean plus and minus one standard error, "unpaired":

    .. math::

        \bar{M}(k) = \frac{1}{n} \sum_q M_q@k, \qquad
        \text{SE}(k)^2 = \frac{1}{n (n - 1)} \sum_q (M_q@k - \bar{M}(k))^2.

    The bands of two rankers may overlap although one is better on nearly every query,
    since queries that are hard for one tend to be hard for the other.  With a
    `baseline`, :math:`M_q@k` is the difference from this ranker on the same query, and
    the standard error is that of a paired test.

    :meth:`from_estimator` and :meth:`from_predictions` compute the curves and draw
    them.

    Parameters
    ----------
    k : array-like of shape (n_cutoffs,), increasing integers of at least 1
        The cutoffs.
    means : dict of str to array-like of shape (n_cutoffs,)
        Mean of each ranker at each cutoff, by the name of the ranker.
    standard_errors : dict of str to array-like of shape (n_cutoffs,), default=None
        Standard errors of the means, by the same names; NaN where there is none.  None:
        no bands.
    metric_name : str, default="metric"
        Name of the metric, without its cutoff.
    baseline : str, default=None
        Name of the ranker whose values are subtracted in `means`.  None: they are the
        values themselves.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One for each ranker.
    bands_ : list of matplotlib FillBetweenPolyCollection
        One for each ranker; empty if no bands were drawn.
    legend_ : matplotlib Legend
        Names of all curves on the axes.
    {ax_} {figure_}

    Raises
    ------
    ValueError
        If the cutoffs are not increasing integers >= 1, there are no means, the means
        or standard errors are not one number per cutoff, or their names differ.

    See Also
    --------
    QueryComparisonDisplay : Differences of two rankers, query by query.

    Examples
    --------
    >>> from sklearn_ltr.plotting import CutoffCurveDisplay
    >>> display = CutoffCurveDisplay(
    ...     k=[1, 2, 3], means={"mine": [0.5, 0.6, 0.6]}, metric_name="NDCG"
    ... )
    >>> display.means["mine"]
    array([0.5, 0.6, 0.6])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        k: ArrayLike,
        means: Mapping[str, ArrayLike],
        standard_errors: Mapping[str, ArrayLike] | None = None,
        metric_name: str = "metric",
        baseline: str | None = None,
    ) -> None:
        self.k: IntArray = read_cutoffs(k)
        n = len(self.k)
        self.means = read_curves(means, "means", "ranker", "cutoff", n)
        self.standard_errors = None
        if standard_errors is not None:
            argument = "standard_errors"
            self.standard_errors = read_curves(
                standard_errors, argument, "ranker", "cutoff", n, finite=False
            )
            if self.standard_errors.keys() != self.means.keys():
                raise ValueError(
                    f"standard_errors has the names {list(self.standard_errors)}, but "
                    f"means has {list(self.means)}: give the same names"
                )
        self.metric_name = metric_name
        self.baseline = check_baseline(baseline, self.means)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator | Mapping[str, BaseEstimator],
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike,
        metric: str | Metric = "ndcg",
        k: ArrayLike = range(1, 21),
        sample_weight: ArrayLike | None = None,
        baseline: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> CutoffCurveDisplay:
        """Draw the curve of a fitted ranker, or of several.

        Parameters
        ----------
        estimator : estimator instance, or dict of str to estimator instance
            Fitted; its `predict` returns scores, higher is ranked first.  A ranker, a
            Pipeline that ends in one, or a regressor; or several by name.
        {X} {y}
        groups, metric, k, sample_weight, baseline, ax, **kwargs
            As in :meth:`from_predictions`.
        name : str, default=None
            Name of a single ranker in the legend.  None: its class.

        Raises
        ------
        ImportError, ValueError, TypeError
            As in :meth:`from_predictions`.
        """
        rankers = name_each(estimator, name, "estimator")
        return cls.from_predictions(
            y,
            {
                name: predicted_scores(ranker, X, "estimator")
                for name, ranker in rankers.items()
            },
            groups=groups,
            metric=metric,
            k=k,
            sample_weight=sample_weight,
            baseline=baseline,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: RankerScores,
        *,
        groups: IdsLike,
        metric: str | Metric = "ndcg",
        k: ArrayLike = range(1, 21),
        sample_weight: ArrayLike | None = None,
        baseline: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> CutoffCurveDisplay:
        """Draw the curve of a ranker's scores, or of several rankers'.

        Parameters
        ----------
        {y_true}
        y_score : array-like of shape (n_documents,), or dict of str to array-like
            Scores, finite; higher is ranked first.  Or those of several rankers, by
            name.
        {groups}
        metric : str or Metric, default="ndcg"
            A name or a metric object, without a cutoff.
        k : array-like of increasing integers of at least 1, default=range(1, 21)
            The cutoffs.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the means, constant within it.
        baseline : str, default=None
            Name of one of several rankers: draw differences from it, with paired
            standard errors.  None: draw the values of each.
        name : str, default=None
            Name of a single ranker in the legend.  None: "Ranker".
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
        ValueError
            For a metric that has a cutoff, cutoffs that are not increasing integers
            >= 1, a `name` with a dict, a `baseline` that is no ranker, or grades,
            scores, groups or weights that the metric refuses.
        TypeError
            If `metric` is neither a name nor a metric object.
        """
        metric, cutoffs = get_metric(metric), read_cutoffs(k)
        if metric.k is not None:
            raise ValueError(
                f"metric {metric.name!r} has a cutoff, but the cutoffs are given by k: "
                f"give {metric.name.partition('@')[0]!r} or a metric object with k=None"
            )
        queries = group_rows(y_true, groups)
        grades = check_grades(y_true, queries, "y_true")
        weights = check_sample_weight(sample_weight, queries)
        several = isinstance(y_score, Mapping)
        scores = {
            ranker: check_scores(
                values,
                queries,
                f"y_score[{ranker!r}]" if several else "y_score",
                only_order=True,
            )
            for ranker, values in name_each(y_score, name, "y_score").items()
        }
        check_baseline(baseline, scores)
        means = {ranker: np.empty(len(cutoffs)) for ranker in scores}
        errors = {ranker: np.empty(len(cutoffs)) for ranker in scores}
        for i, k_i in enumerate(cutoffs):
            bound = metric._with(k=int(k_i)).bind(
                grades, queries.offsets, queries.query_ids
            )
            found = {ranker: bound.values(own) for ranker, own in scores.items()}
            for ranker, values in found.items():
                if baseline is not None:
                    values = differences_of(found[baseline], values)
                means[ranker][i], errors[ranker][i] = mean_and_standard_error(
                    values, weights
                )
        return cls(
            k=cutoffs,
            means=means,
            standard_errors=errors,
            metric_name=axes.name_of_metric(metric),
            baseline=baseline,
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        band: bool = True,
        curve_kwargs: axes.Style | Sequence[axes.Style] | None = None,
        band_kwargs: axes.Style | None = None,
    ) -> CutoffCurveDisplay:
        """Draw the curves.

        Parameters
        ----------
        {ax}
        band : bool, default=True
            Whether to draw standard errors, if there are any.
        curve_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `plot`, for all curves or one for each.
        band_kwargs : dict, default=None
            Keyword arguments of matplotlib's `fill_between`.

        Raises
        ------
        {ImportError}
        ValueError
            If `curve_kwargs` is a list of another length.
        """
        ax = self._set_axes(ax, grid="y")
        styles = axes.line_style_of_each(ax, self.means, curve_kwargs)
        self.lines_: list[Line2D] = []
        for mean, style in zip(self.means.values(), styles, strict=True):
            self.lines_ += ax.plot(self.k, mean, **style)
        errors = (self.standard_errors or {}) if band else {}
        has_bands = any(np.isfinite(error).any() for error in errors.values())
        self.bands_: list[PolyCollection] = []
        for line, name in zip(self.lines_, self.means, strict=True):
            if has_bands:
                color = line.get_color()
                style = axes.read_style(
                    band_kwargs, color=color, alpha=0.15, linewidth=0
                )
                low, high = (self.means[name] + s * errors[name] for s in (-1, 1))
                self.bands_.append(ax.fill_between(self.k, low, high, **style))
        scale_cutoffs(ax, self.k)
        what, statistic = f"{self.metric_name}@k", "mean"
        if has_bands:
            statistic += " ± standard error"
        if self.baseline is not None:
            what += f" minus that of {axes.escape_label(self.baseline)}"
        elif has_bands and len(self.means) > 1:
            statistic += ", unpaired"
        self._label_curves("cutoff k", f"{what} ({statistic})")
        return self


def read_cutoffs(k: ArrayLike) -> IntArray:
    """Return cutoffs as an array; raise a ValueError unless they are valid."""
    cutoffs = np.asarray(k)
    if not (
        cutoffs.ndim == 1
        and cutoffs.size > 0
        and cutoffs.dtype.kind in "iu"
        and cutoffs[0] >= 1
        and (cutoffs[1:] > cutoffs[:-1]).all()
    ):
        raise ValueError(
            "k must hold increasing integers >= 1, the cutoffs to evaluate, such as "
            f"range(1, 21), got {k!r}"
        )
    return cutoffs.astype(np.int64)


def check_baseline(baseline: str | None, rankers: Mapping[str, Any]) -> str | None:
    """Return a name of a ranker, or None; raise a ValueError for anything else."""
    if baseline is not None and baseline not in list(rankers):
        raise ValueError(
            f"baseline must be one of the rankers, {list(rankers)}, got {baseline!r}"
        )
    return baseline


def name_each(
    given: T | Mapping[str, T], name: str | None, argument: str
) -> dict[str, T]:
    """Return estimators or scores by name, also a single one."""
    if isinstance(given, Mapping):
        if not given:
            raise ValueError(f"{argument} is an empty dict: give at least one entry")
        if name is not None:
            raise ValueError(
                f"name={name!r} was given, but the keys of the dict {argument} are "
                "the names: leave name out"
            )
        return dict(given)
    if name is None:
        name = type(given).__name__ if hasattr(given, "predict") else "Ranker"
    return {name: given}


def scale_cutoffs(ax: Axes, k: IntArray) -> None:
    """Set the scale of the x axis, logarithmic if gaps differ much, and its ticks."""
    gaps, first, last = np.diff(k), int(k[0]), int(k[-1])
    if len(gaps) and gaps.max() > MAX_GAP_RATIO * gaps.min():
        # the first cutoff, and others whose labels do not overlap
        x, kept = np.log(k), [0]
        for i in range(len(x)):
            distance = LABEL_DISTANCE + DIGIT_WIDTH * (len(str(k[i])) - 1)
            if x[i] - x[kept[-1]] >= distance * (x[-1] - x[0]):
                kept.append(i)
        ax.set_xscale("log")
        ax.set_xticks(k[kept], [str(cutoff) for cutoff in k[kept]])
        ax.set_xticks([], minor=True)
    else:
        # the first cutoff and multiples of 1, 5, 10, 50, ...: of the smallest step that
        # gives at most ten multiples, fewer of large numbers
        most = max(1, min(10, MAX_DIGITS // len(str(last))))
        steps = (factor * 10**power for power in range(18) for factor in (1, 5))
        step = next(s for s in steps if last - first < most * s)
        multiples = np.arange(step, last + 1, step)
        ax.set_xticks(np.append(first, multiples[multiples >= first + 0.8 * step]))
