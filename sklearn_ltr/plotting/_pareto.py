"""Plot of two metrics against each other, for models that weigh them differently.

point of a model  =  (mean over queries of metric 1, mean over queries of metric 2),
each with its standard error
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.data import check_scores
from sklearn_ltr._core.data.labels import label_number, read_label_grades, select_rows
from sklearn_ltr._core.typing import FloatArray, IdsLike
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.model_selection._comparison import mean_and_standard_error
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import (
    Curves,
    RowsLike,
    group_rows,
    read_curves,
    read_items,
)
from sklearn_ltr.plotting._display import Axes, Display, Line2D, complete_display

if TYPE_CHECKING:
    from matplotlib.container import ErrorbarContainer
    from matplotlib.text import Annotation

PointNames: TypeAlias = Mapping[str, Sequence[str]] | Sequence[str] | None
MODELS = "models"  # name of a single curve


@complete_display
class ParetoDisplay(Display):
    r"""Two metrics against each other, such as NDCG of clicks and of purchases.

    A point is a model, and a curve is models that weigh the two labels differently,
    such as by `label_weights`.  A line joins those of its Pareto front: no other is as
    high in both metrics and higher in one.  The others are hollow.  A point is at the
    means of both metrics over n queries, and its bars are one standard error long to
    each side:

    .. math::

        \bar{M} = \frac{1}{n} \sum_q M_q, \qquad
        \text{SE}^2 = \frac{1}{n (n - 1)} \sum_q (M_q - \bar{M})^2.

    Choose among the models of the front.  :meth:`from_predictions` computes the points
    and draws them.

    Parameters
    ----------
    x, y : dicts of str to array-like of shape (n_points,)
        The two metrics of each curve, by its name, in the order of the weights.  Or,
        without `y`, `x` is an array (n_points, 2) with both, or a dict of these.
    x_errors, y_errors : dicts of str to array-like of shape (n_points,), default=None
        Standard errors, in the form of `x` and `y`; NaN where there is none.  None: no
        bars.
    point_names : dict of str to list of str, or list of str, default=None
        What to write beside the points of some of the curves, such as the weights; a
        list for a single curve.
    x_name : str, default="x"
        Name of the metric of the x axis.
    y_name : str, default="y"
        Name of the metric of the y axis.

    Attributes
    ----------
    curves_ : list of matplotlib ErrorbarContainer
        The points of each curve and their bars.
    fronts_ : list of matplotlib Line2D
        The line over the front of each curve, by ascending x.
    texts_ : list of matplotlib Annotation
        Names of the points.
    legend_ : matplotlib Legend
        Names of all curves on the axes.
    {ax_} {figure_}

    Raises
    ------
    ValueError
        If there is no curve, curves do not have as many finite numbers in x as in y, or
        errors and names of points are not those of the curves.

    See Also
    --------
    BlendCurveDisplay : One metric of all blends of two rankers.

    Notes
    -----
    The bars are unpaired: those of two models overlap although one is better on nearly
    every query, since queries that are hard for one tend to be hard for the other.  See
    :class:`QueryComparisonDisplay` for their difference.

    Examples
    --------
    >>> from sklearn_ltr.plotting import ParetoDisplay
    >>> display = ParetoDisplay([[0.5, 0.4], [0.6, 0.2]], point_names=["1:3", "3:1"])
    >>> display.x["models"]
    array([0.5, 0.6])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        x: Mapping[str, ArrayLike] | ArrayLike,
        y: Mapping[str, ArrayLike] | None = None,
        *,
        x_errors: Mapping[str, ArrayLike] | ArrayLike | None = None,
        y_errors: Mapping[str, ArrayLike] | None = None,
        point_names: PointNames = None,
        x_name: str = "x",
        y_name: str = "y",
    ) -> None:
        means: Any = (x, y)
        bars: Any = (x_errors, y_errors)
        if y is None:
            means = split_columns(x, "x")
            if x_errors is not None and y_errors is None:
                bars = split_columns(x_errors, "x_errors")
        self.x: Curves = read_curves(means[0], "x", "curve", "point")
        self.y = self._read_like_x(means[1], "y")
        errors = dict(zip(("x_errors", "y_errors"), bars, strict=True))
        self.x_errors, self.y_errors = (
            None if given is None else self._read_like_x(given, argument, finite=False)
            for argument, given in errors.items()
        )
        if isinstance(point_names, list | tuple) and len(self.x) == 1:
            point_names = {name: point_names for name in self.x}
        if not isinstance(point_names, Mapping | None):
            raise ValueError(
                "point_names must be a dict of lists, or a list for a single curve, "
                f"got {point_names!r}"
            )
        self.point_names = {n: list(names) for n, names in (point_names or {}).items()}
        for name, names in self.point_names.items():
            if name not in self.x or len(names) != len(self.x[name]):
                raise ValueError(
                    f"point_names[{name!r}] must hold one name for each point of a "
                    f"curve of x, got {names!r}"
                )
        self.x_name, self.y_name = x_name, y_name

    def _read_like_x(
        self, curves: Mapping[str, ArrayLike], argument: str, *, finite: bool = True
    ) -> Curves:
        """Return arrays for the curves of x, of the same lengths."""
        if not isinstance(curves, Mapping) or curves.keys() != self.x.keys():
            raise ValueError(
                f"{argument} must be a dict of the curves of x, {list(self.x)}, got "
                f"{list(curves) if isinstance(curves, Mapping) else curves!r}"
            )
        return {
            name: read_items(
                curves[name], f"{argument}[{name!r}]", "point", len(x), finite=finite
            )
            for name, x in self.x.items()
        }

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: Mapping[str, RowsLike] | RowsLike,
        *,
        groups: IdsLike,
        metric: str | Metric | Sequence[str | Metric] = "ndcg@10",
        labels: Sequence[int | str] | Mapping[str, int | str] = (0, 1),
        point_names: PointNames = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ParetoDisplay:
        """Draw the metrics of two labels, of several models each.

        Parameters
        ----------
        y_true : array-like of shape (n_documents, n_labels)
            Grades of each label, finite and >= 0; NaN where it has not judged a
            document, which is then left out of its metric.
        y_score : dict of str to list of array-like of shape (n_documents,)
            Scores of the models of each curve, finite; higher is ranked first.  Or a
            list, or an array (n_models, n_documents), for a single curve.
        {groups}
        metric : str or Metric, or a list of two, default="ndcg@10"
            Metric of both labels, or one for each.
        labels : list of two int or str, or dict of str to these, default=(0, 1)
            Columns of `y_true` for the x and the y axis, by number or by name.  The
            keys of a dict are what the axes call them: ``{"clicks": 0, "sales": 1}``.
        point_names : dict of str to list of str, or list of str, default=None
            What to write beside the points of some of the curves; a list for a single
            curve.
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
        ValueError, TypeError
            For bad grades, scores, groups, labels or metrics, or if there are not two
            labels, or not one metric or two.
        """
        metrics: list[Any] = [metric] * 2
        if isinstance(metric, list | tuple):
            metrics = list(metric)
        is_list = isinstance(labels, list | tuple | Mapping)
        if not is_list or len(labels) != 2 or len(metrics) != 2:
            raise ValueError(
                "labels must be two columns of y_true, and metric one for both or two, "
                f"got labels={labels!r} and metric={metric!r}"
            )
        if isinstance(y_score, list | tuple | np.ndarray):
            y_score = {MODELS: y_score}
        if not isinstance(y_score, Mapping) or not y_score:
            raise ValueError("y_score must be a dict with a list of scores per curve")
        queries = group_rows(y_true, groups)
        grades = read_label_grades(y_true, queries, None, "y_true")
        scores = {
            name: [
                check_scores(values, queries, f"y_score[{name!r}]", only_order=True)
                for values in models
            ]
            for name, models in y_score.items()
        }
        columns = list(labels.values() if isinstance(labels, Mapping) else labels)
        numbers = [label_number(c, grades.names, "labels: label") for c in columns]
        called: Any = labels
        if not isinstance(labels, Mapping):
            called = [grades.names[number] for number in numbers]
        means: list[Curves] = []
        errors: list[Curves] = []
        names = []
        for number, name, one in zip(numbers, map(str, called), metrics, strict=True):
            one, of_label = get_metric(one), grades.values[number]
            judged = ~np.isnan(of_label)
            offsets, ids, _ = select_rows(judged, queries.offsets, queries.query_ids)
            bound = one.bind(of_label[judged], offsets, ids)
            weights = np.ones(len(offsets) - 1)
            means.append({})
            errors.append({})
            for curve, models in scores.items():
                of_models = [
                    mean_and_standard_error(bound.values(own[judged]), weights)
                    for own in models
                ]
                means[-1][curve], errors[-1][curve] = np.transpose(of_models)
            label = f"label {name}" if name.isdigit() else name
            names.append(f"{axes.name_of_metric(one)} of {label}")
        return cls(
            *means,
            x_errors=errors[0],
            y_errors=errors[1],
            point_names=point_names,
            x_name=names[0],
            y_name=names[1],
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        curve_kwargs: axes.Style | Sequence[axes.Style] | None = None,
        text_kwargs: axes.Style | None = None,
    ) -> ParetoDisplay:
        """Draw the curves.

        Parameters
        ----------
        {ax}
        curve_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `errorbar`, for all curves or one for
            each.
        text_kwargs : dict, default=None
            Keyword arguments of matplotlib's `annotate`.

        Raises
        ------
        {ImportError}
        ValueError
            If `curve_kwargs` is a list of another length.
        """
        ax = self._set_axes(ax, (6.4, 4.8), grid="both")
        from matplotlib.colors import to_rgba
        from matplotlib.text import Text

        self.curves_: list[ErrorbarContainer] = []
        self.fronts_: list[Line2D] = []
        self.texts_: list[Annotation] = []
        labels = map(axes.escape_label, self.x)
        styles = axes.line_style_of_each(ax, labels, curve_kwargs, elinewidth=0.8)
        for (name, x), style in zip(self.x.items(), styles, strict=True):
            y = self.y[name]
            for axis, errors in (("xerr", self.x_errors), ("yerr", self.y_errors)):
                if errors is not None:
                    style[axis] = errors[name]
            # the points and their bars
            linestyle = style.pop("linestyle", "-")
            style = {"ecolor": to_rgba(style["color"], 0.35)} | style
            self.curves_.append(ax.errorbar(x, y, **style, linestyle="none"))
            # others than those of the front are hollow, and a line is over the front
            (points, *_), front = self.curves_[-1].lines, is_on_front(x, y)
            order = np.argsort(x, kind="stable")
            for shown, look in (
                (~front, {"markerfacecolor": "white"}),
                (order[front[order]], {"linestyle": linestyle}),
            ):
                (line,) = ax.plot(x[shown], y[shown])
                line.update_from(points)
                line.set(zorder=points.get_zorder() + 0.1, **look)
            self.fronts_.append(line)
            # names are above the front, and below what is not on it
            names = self.point_names.get(name, ())
            for text, a, b, above in zip(names, x, y, front, strict=False):
                beside: axes.Style = {"xytext": (4, 4)}
                if not above:
                    beside = {"xytext": (-4, -4), "ha": "right", "va": "top"}
                offset = {"textcoords": "offset points", **beside}
                own = axes.read_style(text_kwargs, Text, fontsize="small", **offset)
                self.texts_.append(ax.annotate(axes.escape_label(text), (a, b), **own))
        has_bars = self.x_errors is not None or self.y_errors is not None
        suffix = " (mean ± standard error, unpaired)" if has_bars else ""
        x_name, y_name = map(axes.escape_label, (self.x_name, self.y_name))
        self._label_curves(x_name + suffix, y_name + suffix)
        return self


def split_columns(points: Any, argument: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the first and the second column of the array of each curve."""
    arrays = points if isinstance(points, Mapping) else {MODELS: points}
    for values in arrays.values():
        if np.ndim(values) != 2 or np.shape(values)[1] != 2:
            raise ValueError(
                f"{argument} must be a dict with an array for each curve, beside y, or "
                "hold two columns, one for each axis, and a row for each point, got "
                f"{points!r}"
            )
    x, y = (
        {name: np.asarray(values)[:, axis] for name, values in arrays.items()}
        for axis in (0, 1)
    )
    return x, y


def is_on_front(x: FloatArray, y: FloatArray) -> NDArray[np.bool_]:
    """Return whether no other point is as high in both and higher in one."""
    beaten = [
        bool(((x >= a) & (y >= b) & ((x > a) | (y > b))).any())
        for a, b in zip(x, y, strict=True)
    ]
    return ~np.array(beaten)
