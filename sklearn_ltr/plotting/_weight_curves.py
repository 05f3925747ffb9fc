"""Plot of a metric as a function of each weight of a network, with all others fixed.

Curve i has the points (w_i - w*_i, M(w* with w_i in place of w*_i)), where w* are the
trained weights and M is the mean metric.  All curves go through (0, M(w*)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike
from sklearn_ltr.inspection._local_optimality import weight_curves
from sklearn_ltr.metrics import Metric
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import (
    RowsLike,
    read_item_names,
    read_items,
    read_rows,
)
from sklearn_ltr.plotting._colors import UNNAMED
from sklearn_ltr.plotting._display import Axes, Display, Line2D, complete_display


@complete_display
class WeightCurvesDisplay(Display):
    """A metric against each weight of a network, around its trained value.

    All curves go through one point, the mean metric M at the trained weights w*.  If it
    is the maximum of every curve, the gradient of M vanishes at w* (Burges 2010,
    section 4.2).  :meth:`from_estimator` computes the curves and draws them.

    Parameters
    ----------
    moved : array-like of shape (n_curves, n_points)
        Increasing values of each weight, finite.
    values : array-like of shape (n_curves, n_points)
        M at these values, finite.
    learned : array-like of shape (n_curves,)
        Value of each weight in w*.
    value : float
        M at w*.
    names : array-like of shape (n_curves,), default=None
        Names of the weights.  None: w0, w1, ...
    {metric_name}

    Attributes
    ----------
    order : ndarray of shape (n_curves,), int64
        The weights by the range of M on their curves, the widest range first.
    lines_ : list of matplotlib Line2D
        The curves, in this order.
    learned_line_ : matplotlib Line2D
        Vertical line at w*.
    value_line_ : matplotlib Line2D
        Horizontal line at M(w*).
    legend_ : matplotlib Legend
        Names of the curves with the widest range.
    {ax_} {figure_}

    Raises
    ------
    ValueError
        If an array does not hold finite numbers of these shapes, or the values of a
        weight are not increasing.

    See Also
    --------
    sklearn_ltr.inspection.local_optimality : Change all weights at once.

    Examples
    --------
    >>> from sklearn_ltr.plotting import WeightCurvesDisplay
    >>> display = WeightCurvesDisplay(
    ...     [[0, 1, 2], [-1, 0, 1]],
    ...     [[0.5, 0.6, 0.5], [0.2, 0.6, 0.7]],
    ...     learned=[1, 0],
    ...     value=0.6,
    ... )
    >>> display.order
    array([1, 0])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        moved: RowsLike,
        values: RowsLike,
        *,
        learned: ArrayLike,
        value: float,
        names: ArrayLike | None = None,
        metric_name: str = "metric",
    ) -> None:
        self.learned = read_items(learned, "learned", "curve")
        n = len(self.learned)
        self.moved = read_curve_points(moved, "moved", n)
        self.values = read_curve_points(values, "values", n, self.moved.shape[1])
        if not (np.diff(self.moved) > 0).all():
            raise ValueError("moved must hold increasing values for each curve")
        self.value = float(read_items([value], "value", "display")[0])
        self.names = read_item_names(names, n, "names", "curve", "w")
        self.metric_name = metric_name
        self.order = np.argsort(-np.ptp(self.values, axis=1), kind="stable")

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike,
        metric: str | Metric | None = None,
        weights: Sequence[int | str] | IntArray | None = None,
        moves: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> WeightCurvesDisplay:
        """Draw the curves of a fitted ranker.

        Parameters
        ----------
        estimator : estimator instance
            A fitted RankNetRanker or LambdaRankRanker, or a Pipeline,
            search or CalibratedRanker of one.
        X, y, groups, metric, weights, moves, sample_weight
            As in :func:`sklearn_ltr.inspection.weight_curves`; `moves` in any order.
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
        NotFittedError, TypeError, ValueError
            As by :func:`sklearn_ltr.inspection.weight_curves`.
        """
        curves = weight_curves(
            estimator,
            X,
            y,
            groups=groups,
            metric=metric,
            weights=weights,
            moves=moves if moves is None else np.unique(moves),
            sample_weight=sample_weight,
        )
        return cls(
            curves.moved,
            curves.values,
            learned=curves.learned,
            value=curves.value,
            names=curves.names,
            metric_name=axes.name_of_metric(curves.metric),
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        n_named: int = 6,
        curve_kwargs: axes.Style | None = None,
    ) -> WeightCurvesDisplay:
        """Draw the curves.

        Parameters
        ----------
        {ax}
        n_named : int, default=6
            Number of curves, those of the widest range, with a color and a name in the
            legend.  The others are gray.
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot`, for all curves.

        Raises
        ------
        {ImportError}
        """
        ax = self._set_axes(ax, grid="y")
        dotted: axes.Style = {"color": "black", "linewidth": 0.8, "linestyle": ":"}
        self.learned_line_ = ax.axvline(0, **dotted)
        self.value_line_ = ax.axhline(self.value, **dotted)
        self.lines_: list[Line2D] = []
        styles = axes.next_styles(ax, markers=False)
        for i, curve in enumerate(self.order):
            # those without a name are behind the others
            options: dict[str, object] = {"color": UNNAMED, "zorder": 1.5}
            if i < n_named:
                options = next(styles) | {"zorder": 2.5}
                options["label"] = axes.escape_label(self.names[curve])
            elif i == n_named:
                options["label"] = f"{len(self.order) - n_named} others"
            self.lines_ += ax.plot(
                self.moved[curve] - self.learned[curve],
                self.values[curve],
                **axes.line_style(curve_kwargs, linewidth=1.2, **options),
            )
        y = f"mean {self.metric_name}"
        self._label_curves("weight minus its trained value", y)
        return self


def read_curve_points(
    rows: RowsLike, argument: str, n_curves: int, n_points: int | None = None
) -> FloatArray:
    """Return a row of finite numbers per curve; raise a ValueError for other input."""
    if np.ndim(rows) != 2 or len(rows) != n_curves:
        raise ValueError(
            f"{argument} must hold a row for each of the {n_curves} curves, got shape "
            f"{np.shape(rows)}"
        )
    return read_rows(rows, argument, "point", n_points)
