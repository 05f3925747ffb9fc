"""A metric as a function of each weight of a network, the others as they were learned.

curve(i)  =  (w_i - w*_i, M(w* with w_i in place of w*_i)),    all through (0, M(w*))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.inspection import weight_curves
from sklearn_ltr.metrics import Metric
from sklearn_ltr.plotting._arguments import read_numbers
from sklearn_ltr.plotting._axes import (
    axes_to_draw_on,
    check_matplotlib,
    draw_legend,
    make_plain,
    read_style,
)
from sklearn_ltr.plotting._labels import as_written, name_of_metric

FloatArray = NDArray[np.float64]

OTHERS = "0.75"  # the colour of curves that have no name in the legend


class WeightCurvesDisplay:
    """A metric against each weight of a network, that should peak where it was learned.

    All curves go through one point, the mean metric M at the learned weights w*.  If it
    is the highest of each, M has no slope there (section 4.2 of the report).
    :meth:`from_estimator` computes the curves and draws them.

    Parameters
    ----------
    moved : array-like of shape (n_curves, n_points)
        Values of each weight that rise, finite.
    values : array-like of shape (n_curves, n_points)
        M at these, finite.
    learned : array-like of shape (n_curves,)
        The value that each weight has in w*.
    value : float
        M at w*.
    names : array-like of shape (n_curves,), default=None
        What the weights are called; None: w0, w1, ...
    metric_name : str, default="metric"
        What M is the mean of.

    Attributes
    ----------
    order : ndarray of shape (n_curves,), int64
        The weights by the range of M on their curves, the widest first.
    lines_ : list of matplotlib Line2D
        The curves, in this order.
    learned_line_ : matplotlib Line2D
        Upright, at w*.
    value_line_ : matplotlib Line2D
        Level, at M(w*).
    legend_ : matplotlib Legend
        Of the curves with the widest range.
    ax_ : matplotlib Axes
        What the picture is on.
    figure_ : matplotlib Figure
        What the axes are on.

    Raises
    ------
    ValueError
        For arrays that are not finite numbers of these shapes, or values of a weight
        that do not rise.

    See Also
    --------
    sklearn_ltr.inspection.local_optimality : Move all weights at once.

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
        moved: Any,
        values: Any,
        *,
        learned: Any,
        value: float,
        names: Any = None,
        metric_name: str = "metric",
    ) -> None:
        self.learned = read_numbers(learned, "learned", "curve")
        n = len(self.learned)
        self.moved = read_rows(moved, "moved", n)
        self.values = read_rows(values, "values", n, self.moved.shape[1])
        if not (np.diff(self.moved) > 0).all():
            raise ValueError("moved must hold values that rise, for each curve")
        self.value = float(read_numbers([value], "value", "display")[0])
        if names is None:
            names = [f"w{curve}" for curve in range(n)]
        self.names = np.asarray(names, dtype=object)
        if self.names.shape != (n,):
            raise ValueError(
                f"names must hold one name for each of the {n} curves, got shape "
                f"{self.names.shape}"
            )
        self.metric_name = metric_name
        self.order = np.argsort(-np.ptp(self.values, axis=1), kind="stable")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        groups: Any,
        metric: str | Metric | None = None,
        weights: Any = None,
        moves: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> WeightCurvesDisplay:
        """Draw the curves of a fitted ranker.

        Parameters
        ----------
        estimator : estimator instance
            A fitted RankNetRanker or LambdaRankRanker, or a Pipeline or a search that
            ends in one.
        X, y, groups, metric, weights, moves, sample_weight
            As in :func:`sklearn_ltr.inspection.weight_curves`; `moves` in any order.
        ax : matplotlib Axes, default=None
            Where to draw; None: on the axes of a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : WeightCurvesDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError, TypeError, ValueError
            As by :func:`sklearn_ltr.inspection.weight_curves`.
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
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
            metric_name=name_of_metric(curves.metric),
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        n_named: int = 6,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> WeightCurvesDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: on the axes of a new figure.
        n_named : int, default=6
            How many curves, those of the widest range, get a colour and a name in the
            legend; the others are drawn in grey.
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot`, for all curves.

        Returns
        -------
        display : WeightCurvesDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = axes_to_draw_on(f"{type(self).__name__}.plot", ax, (6.4, 4.2))
        self.ax_, self.figure_ = ax, ax.figure
        make_plain(ax, grid="y")
        mark: dict[str, Any] = {"color": "black", "linewidth": 0.8, "linestyle": ":"}
        self.learned_line_ = ax.axvline(0, **mark)
        self.value_line_ = ax.axhline(self.value, **mark)
        self.lines_ = self._draw_curves(n_named, curve_kwargs)
        ax.set_xlabel("weight minus its learned value")
        ax.set_ylabel(f"mean {self.metric_name}")
        self.legend_ = draw_legend(ax)
        return self

    def _draw_curves(self, n_named: int, style: Mapping[str, Any] | None) -> list[Any]:
        """Draw each curve, those without a name below the others."""
        from matplotlib.lines import Line2D

        lines = []
        for place, curve in enumerate(self.order):
            looks: dict[str, Any] = {"linewidth": 1.2}
            if place < n_named:
                looks |= {"color": f"C{place}", "zorder": 2.5}
                looks["label"] = as_written(self.names[curve])
            else:
                looks |= {"color": OTHERS, "zorder": 1.5}
                if place == n_named:
                    looks["label"] = f"{len(self.order) - n_named} others"
            lines += self.ax_.plot(
                self.moved[curve] - self.learned[curve],
                self.values[curve],
                **looks | read_style(style, Line2D),
            )
        return lines


def read_rows(
    rows: Any, argument: str, n_curves: int, n_points: int | None = None
) -> FloatArray:
    """Return one row of finite numbers for each curve; else a ValueError."""
    if np.ndim(rows) != 2 or len(rows) != n_curves:
        raise ValueError(
            f"{argument} must hold a row for each of the {n_curves} curves, got shape "
            f"{np.shape(rows)}"
        )
    read = [
        read_numbers(row, f"{argument}[{curve}]", "point", n_points)
        for curve, row in enumerate(rows)
    ]
    return np.stack(read)
