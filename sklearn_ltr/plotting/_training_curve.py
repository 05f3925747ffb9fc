"""Training and validation after each tree or epoch, a panel for each unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.inspection._pipeline_steps import last_step
from sklearn_ltr.plotting._arguments import read_numbers
from sklearn_ltr.plotting._axes import (
    check_matplotlib,
    draw_legend,
    make_plain,
    panels_to_draw_on,
    read_style,
    whole_numbers,
)
from sklearn_ltr.plotting._training_record import read_record

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class TrainingCurveDisplay:
    """Training and validation values of a ranker after each tree or epoch.

    Values in one unit share a panel.  A cost and a metric do not: RankNet's has a panel
    above that of the metric, over the same epochs.  A dot on the validation curve, and
    a dotted line through all panels, mark the step whose model was kept.

    :meth:`from_estimator` reads them from a fitted ranker and draws.

    Parameters
    ----------
    train : array-like of shape (n_steps,), default=None
        Value of training after each step; NaN where it is not known.  None: there are
        none.
    validation : array-like of shape (n_steps,), default=None
        The same of validation.
    train_measure, validation_measure : str, default="score"
        What the values measure; they share a panel if it is the same.
    first_step : int >= 0, default=1
        Number of the step that the first values are of; 0 if that is before any step.
    step_name : str, default="step"
        What a step is called: "tree", "epoch".
    kept : int, default=None
        Number of the step whose model was kept; None: it is not marked.
    name : str, default=None
        What the legend calls the ranker.

    Attributes
    ----------
    steps : ndarray of shape (n_steps,), int64
        Their numbers.
    train_line_, validation_line_ : matplotlib Line2D or None
        The curves; None for what there is no curve of.
    kept_lines_ : list of matplotlib Line2D
        The dotted line in each panel; empty if no step is marked.
    legends_ : list of matplotlib Legend
        One for each panel.
    ax_ : matplotlib Axes, or ndarray of two
        The panel, or both.
    figure_ : matplotlib Figure
        What they are on.

    Raises
    ------
    ValueError
        If there are neither values of training nor of validation, for values that are
        not one number per step, a negative `first_step`, or a `kept` that is not the
        number of a step.

    Notes
    -----
    LambdaMARTRanker measures training and validation alike: all queries, after the
    tree.  The networks measure each batch of training by the weights that it meets, in
    the course of the epoch, and only queries that have two grades.  So their curve of
    training may lie above or below that of validation without the one saying much about
    the other.

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
        """Draw what a fitted ranker has recorded of its training.

        Parameters
        ----------
        estimator : estimator instance
            A fitted LambdaMARTRanker, LambdaRankRanker or RankNetRanker, or a Pipeline
            or a search that ends in one.  A LambdaMARTRanker has recorded something if
            it has stopped early (`X_val`, or ``early_stopping=True``), or with
            ``verbose=1`` the values of training alone.
        name : str, default=None
            What the legend calls the ranker; to tell several on the same axes apart.
        ax : matplotlib Axes, sequence of two or None, default=None
            Where to draw.  One Axes is divided where two panels are needed;
            ``display.ax_`` adds to another picture; None: a new figure.
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
            If nothing was recorded, with what to set; or validation only in some fits
            of a warm start.

        Notes
        -----
        After a warm start of a network the best of its epochs so far need not be the
        one whose weights were kept, so none is marked unless it is the last.
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        ranker, _ = last_step(estimator)
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
            Where to draw.  One Axes is divided where two panels are needed; None: a new
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
        panels = panels_to_draw_on(f"{type(self).__name__}.plot", ax, len(measures))
        self.ax_ = panels[0] if len(panels) == 1 else np.array(panels)
        self.figure_ = panels[0].figure
        panel_of = dict(zip(measures, panels, strict=True))
        self._draw_curves(panel_of, train_kwargs, validation_kwargs)
        for measure, panel in panel_of.items():
            make_plain(panel, grid="y")
            panel.set_ylabel(measure)
        self.figure_.align_ylabels(panels)
        panels[-1].set_xlabel(self.step_name)
        whole_numbers(panels[-1].xaxis)
        self.legends_ = [draw_legend(panel) for panel in panels]
        return self

    def _measures(self) -> list[str]:
        """List what the panels show, from top to bottom: training first."""
        both = (
            (self.train, self.train_measure),
            (self.validation, self.validation_measure),
        )
        return list(dict.fromkeys(m for values, m in both if values is not None))

    def _draw_curves(
        self,
        panel_of: Mapping[str, Any],
        train_kwargs: Mapping[str, Any] | None,
        validation_kwargs: Mapping[str, Any] | None,
    ) -> None:
        """Draw both curves in one colour, training dashed, and the step kept."""
        from matplotlib.lines import Line2D

        self.train_line_ = self.validation_line_ = None
        looks: dict[str, Any] = {}
        if self.train is not None:
            style = {"label": self._label("training"), "linestyle": "--"}
            style |= read_style(train_kwargs, Line2D)
            panel = panel_of[self.train_measure]
            self.train_line_ = self._draw_curve(panel, self.train, style)
            looks["color"] = self.train_line_.get_color()
        if self.validation is not None:
            looks |= {"label": self._label("validation")} | self._mark()
            looks |= read_style(validation_kwargs, Line2D)
            panel = panel_of[self.validation_measure]
            self.validation_line_ = self._draw_curve(panel, self.validation, looks)
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
        """Draw a curve; limits do not reach out for its value before any step."""
        limits = panel.dataLim.frozen()
        (line,) = panel.plot(self.steps, values, **style)
        if self.first_step == 0 and len(values) > 1:
            panel.dataLim.set(limits)
            seen = np.append(values[1], values[1:])
            panel.update_datalim(np.column_stack([self.steps, seen]))
        return line

    def _label(self, kind: str) -> str:
        return kind if self.name is None else f"{self.name}: {kind}"

    def _mark(self) -> dict[str, Any]:
        """Mark the step kept on the validation curve, and say so in the legend."""
        if self.kept is None:
            return {}
        return {
            "label": self._label(f"validation, kept at {self.step_name} {self.kept}"),
            "marker": "o",
            "markevery": [int(self.kept - self.steps[0])],
        }
