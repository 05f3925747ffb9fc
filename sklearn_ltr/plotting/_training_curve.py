"""Plot of training and validation scores after each tree or epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.inspection._pipeline_steps import find_model
from sklearn_ltr.plotting._arguments import read_numbers
from sklearn_ltr.plotting._axes import (
    check_matplotlib,
    draw_legend,
    get_panels,
    read_style,
    set_integer_ticks,
    style_axes,
)
from sklearn_ltr.plotting._training_record import read_record

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class TrainingCurveDisplay:
    """Training and validation scores of a ranker after each tree or epoch.

    Values of the same measure share a panel.  A cost and a metric have a panel each:
    RankNet's cost is above the metric.  A dot on the validation curve and a dotted line
    in all panels mark the step whose model was kept.

    :meth:`from_estimator` draws the scores that a fitted ranker has recorded.

    Parameters
    ----------
    train : array-like of shape (n_steps,), default=None
        Training score or cost of each step; NaN where it is not known.  None: no
        curve.
    validation : array-like of shape (n_steps,), default=None
        Validation score of each step; NaN where it is not known.  None: no curve.
    train_measure, validation_measure : str, default="score"
        Names of the measures; the curves share a panel if these are equal.
    first_step : int >= 0, default=1
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
    train_line_, validation_line_ : matplotlib Line2D or None
        The curves.
    kept_lines_ : list of matplotlib Line2D
        The dotted line in each panel; empty if no step is marked.
    legends_ : list of matplotlib Legend
        One for each panel.
    ax_ : matplotlib Axes, or ndarray of two
        The axes of one or two panels.
    figure_ : matplotlib Figure
        The figure of the axes.

    Raises
    ------
    ValueError
        If both curves are None, their values are not one number per step, `first_step`
        is negative, or `kept` is not the number of a step.

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
    ...     train=[0.2, 0.5, 0.6, 0.7], validation=[0.2, 0.4, 0.5, 0.4],
    ...     first_step=0, step_name="tree", kept=2,
    ... )
    >>> display.steps
    array([0, 1, 2, 3])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        train: Any = None,
        validation: Any = None,
        train_measure: str = "score",
        validation_measure: str = "score",
        first_step: int = 1,
        step_name: str = "step",
        kept: int | None = None,
        name: str | None = None,
    ) -> None:
        if train is None and validation is None:
            raise ValueError("train and validation are both None: nothing to draw")
        self.train = self.validation = None
        n = None
        if train is not None:
            self.train = read_numbers(train, "train", "step", finite=False)
            n = len(self.train)
        if validation is not None:
            self.validation = read_numbers(
                validation, "validation", "step", n, finite=False
            )
            n = len(self.validation)
        assert n is not None
        if first_step < 0:
            raise ValueError(f"first_step must be an integer >= 0, got {first_step!r}")
        self.steps: IntArray = np.arange(first_step, first_step + n)
        if kept is not None and kept not in self.steps:
            raise ValueError(
                f"kept={kept!r} is not the number of a step; the steps are "
                f"{self.steps[0]} to {self.steps[-1]}"
            )
        self.train_measure, self.validation_measure = train_measure, validation_measure
        self.first_step, self.step_name = first_step, step_name
        self.kept, self.name = kept, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> TrainingCurveDisplay:
        """Draw the scores that a fitted ranker has recorded in its training.

        Parameters
        ----------
        estimator : estimator instance
            A fitted LambdaMARTRanker, LambdaRankRanker or RankNetRanker, or a Pipeline
            or a search that ends in one.  A LambdaMARTRanker records scores with early
            stopping (`X_val`, or ``early_stopping=True``), or training scores alone
            with ``verbose=1``.
        name : str, default=None
            Name of the ranker in the legend, to distinguish several on the same axes.
        ax : matplotlib Axes, sequence of two or None, default=None
            Axes to draw on.  One Axes is divided if two panels are needed;
            ``display.ax_`` adds to the plot of another display.  None: a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : TrainingCurveDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            Before `fit`.
        TypeError
            For another estimator.
        ValueError
            If nothing was recorded (the message says what to set), or validation scores
            only in some fits of a warm start.

        Notes
        -----
        After a warm start of a network, the best of all epochs need not be the one
        whose weights were kept.  So none is marked unless it is the last.
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        ranker, _ = find_model(estimator)
        return cls(**vars(read_record(ranker)), name=name).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        train_kwargs: Mapping[str, Any] | None = None,
        validation_kwargs: Mapping[str, Any] | None = None,
    ) -> TrainingCurveDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, sequence of two or None, default=None
            Axes to draw on.  One Axes is divided if two panels are needed.  None: a new
            figure.
        train_kwargs, validation_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot`.

        Returns
        -------
        display : TrainingCurveDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there are not as many axes as panels.
        """
        measures = self._measures()
        panels = get_panels(f"{type(self).__name__}.plot", ax, len(measures))
        self.ax_ = panels[0] if len(panels) == 1 else np.array(panels)
        self.figure_ = panels[0].figure
        panel_of = dict(zip(measures, panels, strict=True))
        self._draw_curves(panel_of, train_kwargs, validation_kwargs)
        for measure, panel in panel_of.items():
            style_axes(panel, grid="y")
            panel.set_ylabel(measure)
        self.figure_.align_ylabels(panels)
        panels[-1].set_xlabel(self.step_name)
        set_integer_ticks(panels[-1].xaxis)
        self.legends_ = [draw_legend(panel) for panel in panels]
        return self

    def _measures(self) -> list[str]:
        """Return the measure of each panel from top to bottom: training first."""
        curves = (
            (self.train, self.train_measure),
            (self.validation, self.validation_measure),
        )
        return list(dict.fromkeys(m for values, m in curves if values is not None))

    def _draw_curves(
        self,
        panel_of: Mapping[str, Any],
        train_kwargs: Mapping[str, Any] | None,
        validation_kwargs: Mapping[str, Any] | None,
    ) -> None:
        """Draw both curves in one color, training dashed, and mark the step kept."""
        from matplotlib.lines import Line2D

        self.train_line_ = self.validation_line_ = None
        options: dict[str, Any] = {}
        if self.train is not None:
            train_options = {"label": self._label("training"), "linestyle": "--"}
            train_options |= read_style(train_kwargs, Line2D)
            panel = panel_of[self.train_measure]
            self.train_line_ = self._draw_curve(panel, self.train, train_options)
            options["color"] = self.train_line_.get_color()
        if self.validation is not None:
            options |= {"label": self._label("validation")} | self._kept_marker()
            options |= read_style(validation_kwargs, Line2D)
            panel = panel_of[self.validation_measure]
            self.validation_line_ = self._draw_curve(panel, self.validation, options)
        self.kept_lines_ = []
        if self.kept is not None:
            line = self.validation_line_ or self.train_line_
            assert line is not None
            self.kept_lines_ = [
                panel.axvline(
                    self.kept, color=line.get_color(), linestyle=":", linewidth=1
                )
                for panel in panel_of.values()
            ]

    def _draw_curve(
        self, panel: Any, values: FloatArray, style: Mapping[str, Any]
    ) -> Any:
        """Draw a curve; its value before any step does not extend the axis limits.

        That value is often far from all others.
        """
        limits = panel.dataLim.frozen()
        (line,) = panel.plot(self.steps, values, **style)
        if self.first_step == 0 and len(values) > 1:
            panel.dataLim.set(limits)
            inside = np.append(values[1], values[1:])
            panel.update_datalim(np.column_stack([self.steps, inside]))
        return line

    def _label(self, kind: str) -> str:
        return kind if self.name is None else f"{self.name}: {kind}"

    def _kept_marker(self) -> dict[str, Any]:
        """Return the options that mark the step kept on the validation curve."""
        if self.kept is None:
            return {}
        return {
            "label": self._label(f"validation, kept at {self.step_name} {self.kept}"),
            "marker": "o",
            "markevery": [int(self.kept - self.steps[0])],
        }
