"""Plot of training and validation scores after each tree or epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.typing import FloatArray, IntArray
from sklearn_ltr.inspection._models import find_model, hint
from sklearn_ltr.metrics import get_metric
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import is_ranker, read_items
from sklearn_ltr.plotting._display import Axes, Display, Line2D, complete_display

TRAIN_SET = "train"


@complete_display
class TrainingCurveDisplay(Display):
    """Training and validation scores of a ranker after each tree or epoch.

    Each measure has a panel: RankNet's cost is above the metric.  A set has one style;
    the training data have the color of the first validation set, with dashes.  A dot
    on the curve that decided early stopping and a dotted line in all panels mark the
    step whose model was kept.

    :meth:`from_estimator` draws the scores that a fitted ranker has recorded.

    Parameters
    ----------
    curves : dict of str to dict of str to array-like of shape (n_steps,)
        By set of data and measure, the values, as in `evals_result_` of these rankers
        and of LightGBM: ``{"train": {"NDCG@10": [...]}, ...}``.  NaN where a
        value is not known.  "train" names the training data.
    first_step : int of at least 0, default=1
        Number of the first step; 0 if its values are from before any step.
    step_name : str, default="step"
        Name of a step, such as "tree" or "epoch".
    kept : int, default=None
        Number of the step to mark, whose model was kept.  None: no mark.
    name : str, default=None
        Name of the ranker in the legend.

    Attributes
    ----------
    steps : ndarray of shape (n_steps,), int64
        Numbers of the steps.
    curves : dict of str to dict of str to ndarray of shape (n_steps,), float64
        As given.
    lines_ : dict of str to dict of str to matplotlib Line2D
        The line of each curve.
    kept_lines_ : list of matplotlib Line2D
        The dotted line in each panel; empty if no step is marked.
    legends_ : list of matplotlib Legend
        One for each panel.
    ax_ : matplotlib Axes, or ndarray of them
        The axes of one or more panels.
    {figure_}

    Raises
    ------
    ValueError
        If there is no curve, their values are not one number per step, `first_step`
        is negative, or `kept` is not the number of a step.
    TypeError
        If `curves` is not a dict of dicts.

    Notes
    -----
    LambdaMARTRanker evaluates training and validation data in the same way: all
    queries, after each tree.  The networks evaluate each training batch during the
    epoch, with the weights before its update, and only queries with at least two
    grades; validation data are evaluated after the epoch.  So the levels of the two
    curves of a network cannot be compared directly.

    Examples
    --------
    >>> from sklearn_ltr.plotting import TrainingCurveDisplay
    >>> display = TrainingCurveDisplay(
    ...     {
    ...         "train": {"NDCG@10": [0.2, 0.5, 0.6, 0.7]},
    ...         "validation": {"NDCG@10": [0.2, 0.4, 0.5, 0.4]},
    ...     },
    ...     first_step=0, step_name="tree", kept=2,
    ... )
    >>> display.steps
    array([0, 1, 2, 3])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        curves: Mapping[str, Mapping[str, ArrayLike]],
        *,
        first_step: int = 1,
        step_name: str = "step",
        kept: int | None = None,
        name: str | None = None,
    ) -> None:
        if not isinstance(curves, Mapping) or not all(
            isinstance(set_curves, Mapping) for set_curves in curves.values()
        ):
            raise TypeError(
                "curves must be a dict of dicts, {set: {measure: values}}, got "
                f"{type(curves).__name__}"
            )
        self.curves: dict[str, dict[str, FloatArray]] = {}
        n: int | None = None
        for set_name, set_curves in curves.items():
            self.curves[set_name] = {}
            for measure, given in set_curves.items():
                argument = f"curves[{set_name!r}][{measure!r}]"
                values = read_items(given, argument, "step", n, finite=False)
                self.curves[set_name][measure], n = values, len(values)
        if n is None:
            raise ValueError("curves holds no values: give at least one")
        if first_step < 0:
            raise ValueError(f"first_step must be an integer >= 0, got {first_step!r}")
        self.steps: IntArray = np.arange(first_step, first_step + n)
        if kept is not None and kept not in self.steps:
            raise ValueError(
                f"kept={kept!r} is not the number of a step: give one of "
                f"{self.steps[0]} to {self.steps[-1]}"
            )
        self.first_step, self.step_name = first_step, step_name
        self.kept, self.name = kept, name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> TrainingCurveDisplay:
        """Draw the scores that a fitted ranker has recorded in its training.

        Parameters
        ----------
        estimator : estimator instance
            A fitted LambdaMARTRanker, LambdaRankRanker or RankNetRanker, or a Pipeline,
            search or CalibratedRanker of one.  A LambdaMARTRanker records scores with
            `X_val` or ``early_stopping=True``, and training scores alone with
            ``verbose=1`` or a list as `scoring`.
        name : str, default=None
            Name of the ranker in the legend, to distinguish several on the same axes.
        ax : matplotlib Axes, sequence of Axes or None, default=None
            Axes to draw on.  One Axes is divided if several panels are needed;
            ``display.ax_`` adds to the plot of another display.  None: a new figure.
        {kwargs}

        Raises
        ------
        {ImportError}
        NotFittedError
            Before `fit`.
        TypeError
            For another estimator.
        ValueError
            If nothing was recorded (the message says what to set).

        Notes
        -----
        After a warm start of a network, the best of all epochs need not be the one
        whose weights were kept.  So none is marked unless it is the last.
        """
        ranker, _ = find_model(estimator)
        return cls(**read_record(ranker), name=name).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        train_kwargs: axes.Style | None = None,
        validation_kwargs: axes.Style | None = None,
    ) -> TrainingCurveDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, sequence of Axes or None, default=None
            Axes to draw on.  One Axes is divided if several panels are needed.  None: a
            new figure.
        train_kwargs, validation_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the curves of the training
            data, and for all others.

        Raises
        ------
        {ImportError}
        ValueError
            If there are not as many axes as panels.
        """
        measures = list(dict.fromkeys(m for c in self.curves.values() for m in c))
        panels = get_panels(ax, len(measures))
        self.ax_ = panels[0] if len(panels) == 1 else np.array(panels)
        self.figure_ = panels[0].figure
        panel_of = dict(zip(measures, panels, strict=True))
        for panel in panels:
            axes.style_axes(panel, grid="y")
        # the set that shows the step kept, on the curve of its first measure
        followed = next((name for name in self.curves if name != TRAIN_SET), TRAIN_SET)
        self.lines_: dict[str, dict[str, Line2D]] = {}
        self.kept_lines_ = []
        styles = axes.next_styles(panels[0], markers=False)
        of_set = next(styles)
        for set_name, set_curves in self.curves.items():
            if set_name not in (TRAIN_SET, followed):
                of_set = next(styles)
            given = train_kwargs if set_name == TRAIN_SET else validation_kwargs
            label = "training" if set_name == TRAIN_SET else set_name
            label = label if self.name is None else f"{self.name}: {label}"
            self.lines_[set_name] = {}
            for measure, values in set_curves.items():
                options = of_set | {"label": label}
                if set_name == TRAIN_SET:
                    options["linestyle"] = "--"
                elif (
                    self.kept is not None
                    and set_name == followed
                    and not self.lines_[set_name]
                ):
                    options |= {
                        "label": f"{label}, kept at {self.step_name} {self.kept}",
                        "marker": "o",
                        "markevery": [int(self.kept - self.steps[0])],
                    }
                style = axes.line_style(given, **options)
                panel = panel_of[measure]
                limits = panel.dataLim.frozen()
                (line,) = panel.plot(self.steps, values, **style)
                if self.first_step == 0 and len(values) > 1:
                    # the value before any step is often far from all others: it does
                    # not extend the limits of the axes
                    panel.dataLim.set(limits)
                    inside = np.append(values[1], values[1:])
                    panel.update_datalim(np.column_stack([self.steps, inside]))
                self.lines_[set_name][measure] = line
                of_set["color"] = line.get_color()
        marked = next(iter(self.lines_[followed].values()), None)
        if self.kept is not None and marked is not None:
            style = {"color": marked.get_color(), "linestyle": ":", "linewidth": 1}
            self.kept_lines_ = [panel.axvline(self.kept, **style) for panel in panels]
        for measure, panel in panel_of.items():
            axes.write_label(panel.yaxis, measure)
        self.figure_.align_ylabels(panels)
        axes.write_label(panels[-1].xaxis, self.step_name)
        axes.set_integer_ticks(panels[-1].xaxis)
        self.legends_ = [axes.draw_legend(panel) for panel in panels]
        return self


def get_panels(ax: Axes | Sequence[Axes] | None, n_panels: int) -> list[Axes]:
    """Return the axes of stacked panels: new ones, those given, or parts of one."""
    if ax is None:
        import matplotlib.pyplot as plt

        size = (6.4, 2.0 + 2.2 * n_panels)
        figure = plt.figure(figsize=size, layout="constrained")
        return list(figure.subplots(n_panels, 1, sharex=True, squeeze=False)[:, 0])
    given = [ax] if hasattr(ax, "plot") else list(ax)
    if len(given) == 1 and n_panels > 1:
        whole: Any = given[0]
        subplot = whole.get_subplotspec()
        if subplot is None:
            raise ValueError(
                f"ax must be divided into {n_panels} panels, but it is not part of a "
                f"grid of subplots: make it with subplots(), or give {n_panels} Axes"
            )
        whole.set_axis_off()
        return list(subplot.subgridspec(n_panels, 1).subplots(sharex=True))
    if len(given) != n_panels:
        raise ValueError(
            f"ax must be one matplotlib Axes, or one for each panel, {n_panels} in "
            f"all, got {len(given)}"
        )
    return given


def read_record(ranker: BaseEstimator) -> dict[str, Any]:
    """Return the arguments of the display of a fitted ranker, or raise an error."""
    is_ours = is_ranker(ranker) and hasattr(ranker, "metric")
    if is_ours:
        check_is_fitted(ranker)
    if not is_ours or not hasattr(ranker, "evals_result_"):
        raise TypeError(
            "estimator must be a fitted LambdaMARTRanker, LambdaRankRanker or "
            "RankNetRanker, or a Pipeline, search or CalibratedRanker of one, got "
            f"{type(ranker).__name__}{hint(ranker, 'evals_result_')}"
        )
    curves = {
        set_name: {label_of(name): values.copy() for name, values in set_curves.items()}
        for set_name, set_curves in ranker.evals_result_.items()
        if set_curves
    }
    if not curves:
        raise ValueError(
            f"{type(ranker).__name__} has recorded no scores in its training: give fit "
            "X_val, y_val and groups_val, or set early_stopping=True, or verbose=1 or "
            "a list as scoring for training scores only"
        )
    is_network = hasattr(ranker, "network_")
    kept = None
    if len(ranker.validation_score_) > 0:  # stopped early
        kept = kept_epoch(curves, ranker.warm_start) if is_network else ranker.n_iter_
    first, step = (1, "epoch") if is_network else (0, "tree")
    return {"curves": curves, "first_step": first, "step_name": step, "kept": kept}


def label_of(name: str) -> str:
    """Return the label of a measure: "NDCG@10" for "ndcg@10"."""
    if name == "cost":
        return "cost of a pair"
    try:
        return axes.name_of_metric(get_metric(name))
    except ValueError:  # a metric of the user, or one named by its repr
        return name


def kept_epoch(
    curves: Mapping[str, Mapping[str, FloatArray]], warm_start: bool
) -> int | None:
    """Return the epoch with the best validation score, whose weights are kept."""
    # Only the epochs of the last fit are compared.  A warm start may have continued an
    # earlier fit, so only its last epoch is known to belong to the last fit.
    set_curves = next(
        set_curves for name, set_curves in curves.items() if name != TRAIN_SET
    )
    values = next(iter(set_curves.values()))
    if np.isnan(values[-1]):
        return None
    best = int(np.nanargmax(values))
    if warm_start and best < len(values) - 1:
        return None
    return best + 1
