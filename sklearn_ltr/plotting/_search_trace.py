"""Plot of the candidates of a search, and the best so far."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.parameters import Choice, real
from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.metrics import get_metric
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import read_items
from sklearn_ltr.plotting._display import Axes, Display, Line2D, complete_display


@complete_display
class SearchTraceDisplay(Display):
    """The candidates of a search in their order, and the best so far.

    A dot shows the score of a candidate, and the line the highest score so far.  If
    the search has blended candidates, a dotted line shows the score of the blend.

    :meth:`from_search` draws a fitted
    :class:`~sklearn_ltr.model_selection.RankerSearch`, or a search of scikit-learn.

    Parameters
    ----------
    scores : array-like of shape (n_candidates,)
        Score of each candidate, higher is better; NaN where there is none, as of
        candidates that a RankerSearch has stopped.
    elapsed : array-like of shape (n_candidates,), default=None
        Seconds from the start of the search to the end of each candidate, not
        decreasing.  None: the axis has the numbers of the candidates, from 0.
    blend_score : float, default=None
        Score of a blend of candidates.  None: there is none.
    metric_name : str, default="score"
        Name of the metric.

    Attributes
    ----------
    dots_ : matplotlib PathCollection
        The candidates.
    best_line_ : matplotlib Line2D
        The best so far.
    blend_line_ : matplotlib Line2D or None
        The blend.
    legend_ : matplotlib Legend
        The legend.
    {ax_} {figure_}

    Raises
    ------
    TypeError
        If `blend_score` is not a number.
    ValueError
        If there is no score, `elapsed` is not one finite number per candidate or
        decreases, or `blend_score` is not finite.

    See Also
    --------
    TrainingCurveDisplay : Metrics after each step of a fit.

    Examples
    --------
    >>> from sklearn_ltr.plotting import SearchTraceDisplay
    >>> display = SearchTraceDisplay([0.5, 0.4, 0.6], metric_name="NDCG@10")
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        scores: ArrayLike,
        *,
        elapsed: ArrayLike | None = None,
        blend_score: float | None = None,
        metric_name: str = "score",
    ) -> None:
        self.scores = read_items(scores, "scores", "candidate", finite=False)
        self.elapsed: FloatArray | None = None
        if elapsed is not None:
            n_candidates = len(self.scores)
            self.elapsed = read_items(elapsed, "elapsed", "candidate", n_candidates)
            if (np.diff(self.elapsed) < 0).any():
                raise ValueError(
                    "elapsed must not decrease: give the seconds from the start of the "
                    "search to the end of each candidate"
                )
        value: float | None = real(-np.inf, optional=True).read_as(
            "blend_score", blend_score
        )
        self.blend_score = value
        self.metric_name = metric_name

    @classmethod
    def from_search(
        cls,
        search: BaseEstimator,
        *,
        x: Literal["candidate", "time"] = "candidate",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> SearchTraceDisplay:
        """Draw a fitted search.

        Parameters
        ----------
        search : estimator
            A RankerSearch, or a search with ``cv_results_`` of one metric, such as
            scikit-learn's GridSearchCV.
        x : {"candidate", "time"}, default="candidate"
            What is on the axis: the number of a candidate, or, for a RankerSearch, the
            seconds after which it was finished.
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
        NotFittedError
            If the search is not fitted.
        TypeError
            If the object is not a search.
        ValueError
            If `x` is none of these, or the search has no times or no scores.
        """
        by: str = Choice("candidate", "time").read_as("x", x)
        if not hasattr(search, "fit"):
            raise TypeError(
                f"search must be a fitted search, got an object of "
                f"{type(search).__name__}"
            )
        check_is_fitted(search)
        results = getattr(search, "cv_results_", {})
        name = type(search).__name__
        if "mean_test_score" not in results:
            raise ValueError(
                f"the {name} has no mean_test_score in cv_results_: give a search of "
                "one metric"
            )
        elapsed = results.get("elapsed_time") if by == "time" else None
        if by == "time" and elapsed is None:
            raise ValueError(
                f"x='time' needs the times of a RankerSearch, but a {name} has none: "
                "give x='candidate'"
            )
        is_blend = len(getattr(search, "members_", ())) > 1
        metric = getattr(search, "metric", None)
        return cls(
            results["mean_test_score"],
            elapsed=elapsed,
            blend_score=search.best_score_ if is_blend else None,
            metric_name="score"
            if metric is None
            else axes.name_of_metric(get_metric(metric)),
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        dot_kwargs: axes.Style | None = None,
        best_kwargs: axes.Style | None = None,
        blend_kwargs: axes.Style | None = None,
    ) -> SearchTraceDisplay:
        """Draw the candidates and the best so far.

        Parameters
        ----------
        {ax}
        dot_kwargs : dict, default=None
            Keyword arguments of matplotlib's `scatter`.
        best_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot` for the best so far.
        blend_kwargs : dict, default=None
            Keyword arguments of matplotlib's `axhline` for the blend.

        Raises
        ------
        {ImportError}
        """
        ax = self._set_axes(ax, grid="y")
        from matplotlib.collections import PathCollection

        x = np.arange(len(self.scores)) if self.elapsed is None else self.elapsed
        dots = {"s": 18, "color": "0.5", "label": "candidate"}
        steps = {"drawstyle": "steps-post", "linewidth": 1.8}
        steps |= next(axes.next_styles(ax, markers=False))
        style = axes.read_style(dot_kwargs, PathCollection, **dots)
        self.dots_ = ax.scatter(x, self.scores, **style)
        style = axes.line_style(best_kwargs, label="best so far", **steps)
        (self.best_line_,) = ax.plot(x, np.fmax.accumulate(self.scores), **style)
        self.blend_line_: Line2D | None = None
        if self.blend_score is not None:
            dots = {"label": "blend", "color": "black", "linestyle": ":"}
            style = axes.line_style(blend_kwargs, **dots)
            self.blend_line_ = ax.axhline(self.blend_score, **style)
        what = "seconds of the search"
        if self.elapsed is None:
            axes.set_integer_ticks(ax.xaxis)
            what = "candidate"
        y = f"{self.metric_name} of held-out queries"
        self._label_curves(what, y, loc="lower right")
        return self
