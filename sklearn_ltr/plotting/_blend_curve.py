"""Plot of a metric against the blend of two rankers, for all blends.

curve(alpha)  =  mean over queries of the metric of  alpha * s1 + (1 - alpha) * s2
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr._core.typing import FloatArray, IdsLike
from sklearn_ltr.ensemble import best_blend
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import read_items, read_names
from sklearn_ltr.plotting._display import Axes, Display, complete_display


@complete_display
class BlendCurveDisplay(Display):
    r"""A metric of all blends of two rankers, and the best blend.

    The metric of the scores :math:`\alpha s^1_i + (1 - \alpha) s^2_i` is a step
    function of :math:`\alpha` (section 7.1 of Burges, 2010), so the curve is exact.

    :meth:`from_predictions` computes and draws it.

    Parameters
    ----------
    change_points : array-like of shape (n_changes,)
        The alphas at which the metric changes: increasing, between 0 and 1.
    values : array-like of shape (n_changes + 1,)
        The metric below, between and above the change points.
    alpha : float in [0, 1], default=None
        Alpha to mark with a vertical line.  None: no line.
    {metric_name}
    names : tuple of two str, default=("1", "2")
        Names of the rankers of alpha = 1 and of alpha = 0.

    Attributes
    ----------
    line_ : matplotlib StepPatch
        The curve.
    best_line_ : matplotlib Line2D or None
        The line at the marked alpha.
    legend_ : matplotlib Legend or None
        Shows the marked alpha.
    {ax_} {figure_}

    Raises
    ------
    ValueError
        If the change points are not increasing between 0 and 1, the values are not one
        more number, alpha is not in [0, 1], or the names are not two different ones.

    See Also
    --------
    sklearn_ltr.ensemble.best_blend : Computes the curve.
    sklearn_ltr.ensemble.BlendedRanker : Its `curve_` is that of held-out scores.

    Examples
    --------
    >>> from sklearn_ltr.plotting import BlendCurveDisplay
    >>> display = BlendCurveDisplay([0.2, 0.5], [0.6, 0.8, 0.7], alpha=0.35)
    >>> display.values
    array([0.6, 0.8, 0.7])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        change_points: ArrayLike,
        values: ArrayLike,
        *,
        alpha: float | None = None,
        metric_name: str = "metric",
        names: tuple[str, str] = ("1", "2"),
    ) -> None:
        self.values: FloatArray = read_items(values, "values", "interval")
        n_changes = len(self.values) - 1
        points = np.asarray(change_points, dtype=np.float64)
        edges = np.concatenate(([0.0], np.ravel(points), [1.0]))
        if points.shape != (n_changes,) or not (np.diff(edges) > 0).all():
            raise ValueError(
                "change_points must be increasing between 0 and 1, one fewer than "
                f"values, {n_changes} in all, got {change_points!r}"
            )
        if alpha is not None and not 0 <= alpha <= 1:
            raise ValueError(f"alpha must be in [0, 1], got {alpha!r}")
        self.change_points = points
        self.alpha = alpha
        self.metric_name = metric_name
        self.names = read_names(names)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        scores_1: ArrayLike,
        scores_2: ArrayLike,
        *,
        groups: IdsLike,
        metric: str | Metric = "ndcg@10",
        sample_weight: ArrayLike | None = None,
        names: tuple[str, str] = ("1", "2"),
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> BlendCurveDisplay:
        """Draw the metric of all blends of two rankers' scores.

        Parameters
        ----------
        {y_true}
        scores_1, scores_2 : array-likes of shape (n_documents,)
            Scores of the two rankers, finite; higher is ranked first.
        {groups}
        metric : str or Metric, default="ndcg@10"
            A name or a metric object, with pessimistic ties.
        {sample_weight}
        names : tuple of two str, default=("1", "2")
            Names of the rankers.
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
        ValueError, TypeError
            For whatever :func:`~sklearn_ltr.ensemble.best_blend` refuses.
        """
        metric = get_metric(metric)
        curve = best_blend(
            scores_1,
            scores_2,
            y_true,
            groups=groups,
            metric=metric,
            sample_weight=sample_weight,
        )
        return cls(
            curve.change_points,
            curve.values,
            alpha=curve.alpha,
            metric_name=axes.name_of_metric(metric),
            names=names,
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        curve_kwargs: axes.Style | None = None,
        best_kwargs: axes.Style | None = None,
    ) -> BlendCurveDisplay:
        """Draw the curve.

        Parameters
        ----------
        {ax}
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `stairs`.
        best_kwargs : dict, default=None
            Keyword arguments of matplotlib's `axvline`.

        Raises
        ------
        {ImportError}
        """
        ax = self._set_axes(ax, grid="y")
        from matplotlib.patches import StepPatch

        edges = np.concatenate(([0.0], self.change_points, [1.0]))
        style = next(axes.next_styles(ax, markers=False)) | {"linewidth": 1.5}
        style = axes.read_style(curve_kwargs, StepPatch, baseline=None, **style)
        self.line_ = ax.stairs(self.values, edges, **style)
        self.best_line_ = None
        if self.alpha is not None:
            label = f"alpha = {self.alpha:.3g}"
            dots = {"color": self.line_.get_edgecolor(), "linestyle": ":"}
            style = axes.line_style(best_kwargs, label=label, **dots)
            self.best_line_ = ax.axvline(self.alpha, **style)
        name_1, name_0 = map(axes.escape_label, self.names)
        ax.set_xlim(0, 1)
        alphas = f"alpha (0: {name_0} alone, 1: {name_1} alone)"
        self._label_curves(alphas, self.metric_name)
        return self
