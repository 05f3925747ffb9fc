"""Plot of given grades against predicted ones, by bins of the predicted ones.

x of a bin  =  mean of its predicted grades,
y of a bin  =  mean of its given grades, +- a standard error over queries
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_regressor

from sklearn_ltr._core.data import check_grades, check_sample_weight, check_scores
from sklearn_ltr._core.parameters import Choice, integer
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike
from sklearn_ltr.inspection._models import hint
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import group_rows, read_items
from sklearn_ltr.plotting._display import Axes, Display, complete_display

Unit = Literal["document", "query"]
UNITS = Choice("document", "query")


@complete_display
class GradeReliabilityDisplay(Display):
    r"""How well predicted grades agree with given ones, by bins of predictions.

    For a bin B of documents i with weights w, those of their queries,

    .. math::

        \bar p = \frac{\sum_{i \in B} w_i p_i}{\sum_{i \in B} w_i}, \qquad
        \bar y = \frac{\sum_{i \in B} w_i y_i}{\sum_{i \in B} w_i}, \qquad
        \mathrm{SE}^2 = \frac{n}{n - 1}
        \frac{\sum_q \big(\sum_{i \in B \cap q} w_i (y_i - \bar y)\big)^2}
        {\big(\sum_{i \in B} w_i\big)^2}

    with n the number of its queries q, since documents of a query are not independent.
    On the diagonal both means are equal.  :meth:`from_estimator` and
    :meth:`from_predictions` compute and draw it, for queries that the model has not
    seen.

    Parameters
    ----------
    predicted : array-like of shape (n_bins,)
        Mean predicted grade of each bin.
    given : array-like of shape (n_bins,)
        Mean given grade of each bin.
    standard_errors : array-like of shape (n_bins,), default=None
        Of the given grades; NaN where there is none.  None: not drawn.
    weights : array-like of shape (n_bins,), default=None
        Weight of each bin in `calibration_error`, >= 0.  None: equal weights.
    unit : {"document", "query"}, default="document"
        What is in the bins, for the labels.
    name : str, default=None
        Name of the model in the legend.  None: no name.

    Attributes
    ----------
    calibration_error : float
        The mean of the distances of bins from the diagonal, by their weights.
    bars_ : matplotlib ErrorbarContainer
        The points, their line and their standard errors.
    diagonal_ : matplotlib Line2D
        Where predicted and given grades are equal.
    legend_ : matplotlib Legend
        Shows name and calibration error.
    {ax_} {figure_}

    Raises
    ------
    ValueError, TypeError
        If the arrays are not of finite numbers, one for each bin, or an argument is not
        one of its values.

    See Also
    --------
    sklearn_ltr.calibration.CalibratedRanker : Predicts grades from the scores of a
        ranker.
    sklearn.calibration.CalibrationDisplay : The same of probabilities of classes.

    Examples
    --------
    >>> from sklearn_ltr.plotting import GradeReliabilityDisplay
    >>> display = GradeReliabilityDisplay([0.1, 0.8], [0.2, 0.7])
    >>> round(display.calibration_error, 12)
    0.1
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        predicted: ArrayLike,
        given: ArrayLike,
        *,
        standard_errors: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        unit: Unit = "document",
        name: str | None = None,
    ) -> None:
        self.predicted: FloatArray = read_items(predicted, "predicted", "bin")
        n_bins = len(self.predicted)
        self.given: FloatArray = read_items(given, "given", "bin", n_bins)
        self.standard_errors: FloatArray | None = None
        if standard_errors is not None:
            self.standard_errors = read_items(
                standard_errors, "standard_errors", "bin", n_bins, finite=False
            )
        of_bins = np.ones(n_bins) if weights is None else weights
        self.weights: FloatArray = read_items(of_bins, "weights", "bin", n_bins)
        if self.weights.min() < 0 or not self.weights.any():
            raise ValueError("weights must be >= 0, and at least one > 0")
        self.unit = UNITS.read_as("unit", unit)
        self.name = name
        distance = np.abs(self.predicted - self.given)
        self.calibration_error = float(np.average(distance, weights=self.weights))

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike,
        n_bins: int = 10,
        unit: Unit = "document",
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> GradeReliabilityDisplay:
        """Draw the reliability of a fitted model that predicts grades.

        Parameters
        ----------
        estimator : estimator instance
            A fitted CalibratedRanker, or a regressor, such as a MARTRegressor.
        {X} {y}
        groups, n_bins, unit, sample_weight, ax, **kwargs
            As in :meth:`from_predictions`.
        name : str, default=None
            Name in the legend.  None: the class of the estimator.

        Raises
        ------
        ImportError, ValueError
            As in :meth:`from_predictions`.
        TypeError
            If the estimator has no method `predict_grade` and is not a regressor.
        """
        if hasattr(estimator, "predict_grade"):
            grades = estimator.predict_grade(X, groups=groups)
        elif isinstance(estimator, BaseEstimator) and is_regressor(estimator):
            grades = estimator.predict(X)
        else:
            raise TypeError(
                "estimator must be a fitted CalibratedRanker or regressor, whose "
                f"predictions are grades, got an object of {type(estimator).__name__}"
                f"{hint(estimator, 'predict_grade')}: wrap a ranker in "
                "sklearn_ltr.calibration.CalibratedRanker"
            )
        return cls.from_predictions(
            y,
            grades,
            groups=groups,
            n_bins=n_bins,
            unit=unit,
            sample_weight=sample_weight,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        groups: IdsLike,
        n_bins: int = 10,
        unit: Unit = "document",
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> GradeReliabilityDisplay:
        """Draw the reliability of predicted grades, or of probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_documents,)
            Grades, finite and >= 0; for probabilities, whether each document is
            relevant.
        y_pred : array-like of shape (n_documents,)
            Predicted grades, or probabilities; finite.
        {groups}
        n_bins : int of at least 1, default=10
            Number of bins, between quantiles of what is predicted; fewer if many
            predictions are equal.
        unit : {"document", "query"}, default="document"
            What is in the bins.  "query": the mean predicted and the mean given grade
            of each query, to see whether a model knows which queries have high grades.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, or of its documents, constant within it.
        name : str, default=None
            Name in the legend.  None: no name.
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
        ValueError, TypeError
            For grades, predictions, groups or weights that cannot be used, or an
            argument that is not one of its values.
        """
        queries = group_rows(y_true, groups)
        grades = check_grades(y_true, queries, "y_true")
        predicted = check_scores(y_pred, queries, "y_pred")
        of_query = check_sample_weight(sample_weight, queries)
        n_bins = integer(1).read_as("n_bins", n_bins)
        unit = UNITS.read_as("unit", unit)
        if unit == "query":
            starts, sizes = queries.offsets[:-1], queries.sizes
            grades = np.add.reduceat(grades, starts) / sizes
            predicted = np.add.reduceat(predicted, starts) / sizes
            query, weight = np.arange(queries.n_queries), of_query
        else:
            query = queries.query
            weight = of_query[query]
        bins = reliability(grades, predicted, query, weight, n_bins)
        return cls(**bins, unit=unit, name=name).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        curve_kwargs: axes.Style | None = None,
        diagonal_kwargs: axes.Style | None = None,
    ) -> GradeReliabilityDisplay:
        """Draw the bins, and the diagonal.

        Parameters
        ----------
        {ax}
        curve_kwargs : dict, default=None
            Keyword arguments of matplotlib's `errorbar`.
        diagonal_kwargs : dict, default=None
            Keyword arguments of matplotlib's `axline`.

        Raises
        ------
        {ImportError}
        """
        ax = self._set_axes(ax, (4.8, 4.8), grid="both")

        style = axes.line_style(diagonal_kwargs, color="0.4", linestyle=":")
        self.diagonal_ = ax.axline((0, 0), slope=1, **style)
        error = f"calibration error {self.calibration_error:.3f}"
        name = "" if self.name is None else f"{axes.escape_label(self.name)}: "
        label = axes.wrap_lines(name + error, "y")
        (style,) = axes.line_style_of_each(ax, [label], curve_kwargs, capsize=2)
        self.bars_ = ax.errorbar(
            self.predicted, self.given, self.standard_errors, **style
        )
        what = f"grade, mean of {'a query' if self.unit == 'query' else 'documents'}"
        self._label_curves(f"predicted {what}", f"given {what}")
        return self


def reliability(
    grades: FloatArray,
    predicted: FloatArray,
    query: IntArray,
    weight: FloatArray,
    n_bins: int,
) -> dict[str, FloatArray]:
    """Return means of bins between quantiles of predictions, of rows by query."""
    inner = np.linspace(0, 1, n_bins + 1)[1:-1]
    edges = np.unique(np.quantile(predicted, inner)) if n_bins > 1 else np.empty(0)
    bin_of_row = np.searchsorted(edges, predicted, side="right")
    rows = []
    for k in np.unique(bin_of_row[weight > 0]):
        inside = (bin_of_row == k) & (weight > 0)
        w, y, p, q = (each[inside] for each in (weight, grades, predicted, query))
        total, mean = w.sum(), np.average(y, weights=w)
        starts = np.flatnonzero(np.diff(q, prepend=-1))
        of_query, n = np.add.reduceat(w * (y - mean), starts), len(starts)
        error = np.nan
        if n > 1:
            error = np.sqrt(n / (n - 1) * np.sum(of_query**2)) / total
        rows.append((np.average(p, weights=w), mean, error, total))
    names = "predicted", "given", "standard_errors", "weights"
    return dict(zip(names, np.array(rows).T, strict=True))
