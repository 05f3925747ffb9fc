"""Plot of the differences between rankers, with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._core.parameters import real
from sklearn_ltr._core.typing import FloatArray, NamesLike
from sklearn_ltr.model_selection import RankerComparison
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import read_items
from sklearn_ltr.plotting._colors import BETTER, EQUAL, WORSE
from sklearn_ltr.plotting._display import Axes, Display, complete_display

MAX_LABEL_LENGTH = 48  # characters


@complete_display
class RankerComparisonDisplay(Display):
    """Differences of a metric between rankers, with their intervals.

    Each two rankers have a row: a dot at the mean difference, and a line over its
    interval.  Both are teal if the interval is above 0, brown if it is below, and gray
    if it contains 0, so the difference may be chance.

    :meth:`from_comparison` draws what
    :func:`~sklearn_ltr.model_selection.compare_rankers` returns.

    Parameters
    ----------
    mean_differences : array-like of shape (n_pairs,)
        Mean difference of each pair, finite.
    low, high : array-like of shape (n_pairs,)
        Bounds of its interval, finite.
    names : array-like of str of shape (n_pairs,), default=None
        Names of the differences.  None: "pair 1", "pair 2", ...
    {metric_name}
    confidence_level : float in (0, 1), default=0.95
        Confidence level of the intervals.

    Attributes
    ----------
    dots_ : matplotlib PathCollection
        The mean differences.
    intervals_ : matplotlib LineCollection
        The intervals, in the same order.
    {ax_} {figure_}

    Raises
    ------
    TypeError
        If `confidence_level` is not a number.
    ValueError
        If differences and bounds are not one finite number per pair, a lower bound is
        above the upper one, there is not one name per pair, or `confidence_level` is
        not in (0, 1).

    See Also
    --------
    QueryComparisonDisplay : Differences of two rankers, query by query.

    Examples
    --------
    >>> from sklearn_ltr.model_selection import compare_rankers
    >>> from sklearn_ltr.plotting import RankerComparisonDisplay
    >>> y, groups = [2, 1, 0, 2, 1, 0], ["a", "a", "a", "b", "b", "b"]
    >>> scores = {"old": [0, 1, 2, 2, 0, 1], "new": [2, 1, 0, 2, 1, 0]}
    >>> comparison = compare_rankers(scores, None, y, groups=groups, metric="ndcg")
    >>> display = RankerComparisonDisplay.from_comparison(
    ...     comparison
    ... )  # doctest: +SKIP
    """

    def __init__(
        self,
        mean_differences: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        *,
        names: NamesLike | None = None,
        metric_name: str = "metric",
        confidence_level: float = 0.95,
    ) -> None:
        self.mean_differences = read_items(mean_differences, "mean_differences", "pair")
        n = len(self.mean_differences)
        self.low: FloatArray = read_items(low, "low", "pair", n)
        self.high: FloatArray = read_items(high, "high", "pair", n)
        if (self.low > self.high).any():
            pair = int(np.argmax(self.low > self.high))
            raise ValueError(
                f"low must not be above high, but pair {pair} has "
                f"{self.low[pair]} and {self.high[pair]}"
            )
        if names is None:
            names = [f"pair {number}" for number in range(1, n + 1)]
        if isinstance(names, str) or len(names) != n:
            raise ValueError(f"names must hold one name for each of the {n} pairs")
        self.names = [str(name) for name in names]
        self.metric_name = metric_name
        level: float = real(0, 1, "neither").read_as(
            "confidence_level", confidence_level
        )
        self.confidence_level = level

    @classmethod
    def from_comparison(
        cls, comparison: RankerComparison, *, ax: Axes | None = None, **kwargs: Any
    ) -> RankerComparisonDisplay:
        """Draw the differences of all pairs of a comparison.

        Parameters
        ----------
        comparison : RankerComparison
            As :func:`~sklearn_ltr.model_selection.compare_rankers` returns it.
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
        TypeError
            If `comparison` is not a RankerComparison.
        """
        if not isinstance(comparison, RankerComparison):
            raise TypeError(
                "comparison must be what compare_rankers returns, got an object of "
                f"{type(comparison).__name__}"
            )
        pairs = comparison.pairs
        return cls(
            [pair.mean_difference for pair in pairs],
            [pair.low for pair in pairs],
            [pair.high for pair in pairs],
            names=[f"{pair.b} − {pair.a}" for pair in pairs],
            metric_name=comparison.metric_name,
            confidence_level=comparison.confidence_level,
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        dot_kwargs: axes.Style | None = None,
        interval_kwargs: axes.Style | None = None,
    ) -> RankerComparisonDisplay:
        """Draw the differences and their intervals.

        Parameters
        ----------
        {ax}
        dot_kwargs : dict, default=None
            Keyword arguments of matplotlib's `scatter`.
        interval_kwargs : dict, default=None
            Keyword arguments of matplotlib's `hlines`.

        Raises
        ------
        {ImportError}
        """
        n = len(self.names)
        size = (6.4, min(1.6 + 0.35 * n, axes.MAX_HEIGHT))
        ax = self._set_axes(ax, size, grid="x")
        above, below = self.low > 0, self.high < 0
        colors = np.select([above, below], [BETTER, WORSE], EQUAL).tolist()
        rows = np.arange(n)
        ax.axvline(0, color="black", linewidth=0.8)
        style = axes.read_style(interval_kwargs, colors=colors, linewidths=2.5)
        self.intervals_ = ax.hlines(rows, self.low, self.high, **style)
        style = axes.read_style(dot_kwargs, color=colors, s=40, zorder=3)
        self.dots_ = ax.scatter(self.mean_differences, rows, **style)
        labels = [axes.escape_label(name, MAX_LABEL_LENGTH) for name in self.names]
        axes.label_rows(ax, n, labels)
        ax.set_xlabel(
            f"difference in {self.metric_name}, "
            f"{100 * self.confidence_level:g}% interval"
        )
        return self
