"""Plots of features: their importances, and the SHAP values of documents."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._inspection.models import find_model
from sklearn_ltr._inspection.shap_values import shap_values
from sklearn_ltr._typing import FloatArray, IntArray, MatrixLike
from sklearn_ltr.plotting._arguments import (
    RowsLike,
    is_ranker,
    read_item_names,
    read_items,
)
from sklearn_ltr.plotting._axes import (
    Style,
    escape_label,
    label_rows,
    set_integer_ticks,
)
from sklearn_ltr.plotting._colors import BETTER, WORSE, WORSE_TO_BETTER
from sklearn_ltr.plotting._display import Display, complete_display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_NAMES = 250  # of more bars, only some are labelled
GAIN_LABEL = "fraction of the gain of all splits"
PERMUTATION_LABEL = "decrease of the score when shuffled (mean ± standard deviation)"
MAX_NAME_LENGTH, MAX_VALUE_LENGTH = 24, 10  # characters
MAX_BARS = 200
MAX_FEATURES = 200
SUM_ROUNDING = 1e-12  # of a sum, relative to what is added


@complete_display
class FeatureImportancesDisplay(Display):
    """Feature importances as horizontal bars, the most important feature on top.

    :meth:`from_estimator` draws the `feature_importances_` of a fitted model,
    :meth:`from_importances` the result of
    :func:`sklearn.inspection.permutation_importance`.

    Parameters
    ----------
    importances : array-like of shape (n_features,)
        Finite; may be negative.
    standard_deviations : array-like of shape (n_features,), default=None
        Finite and >= 0; drawn as error bars.  None: no error bars.
    importance_name : str, default="importance"
        Label of the x axis: the quantity that measures importance.

    Attributes
    ----------
    order : ndarray of shape (n_features,), int64
        The features from the most to the least important; equal ones in the order of
        their index.
    bars_ : matplotlib BarContainer
        One bar for each feature shown, in this order.

    Raises
    ------
    ValueError
        If the importances or standard deviations are not one finite number per feature,
        a standard deviation is negative, or there is not one name per feature.

    Examples
    --------
    >>> from sklearn_ltr.plotting import FeatureImportancesDisplay
    >>> display = FeatureImportancesDisplay(
    ...     [0.1, 0.7, 0.2], feature_names=["length", "bm25", "age"]
    ... )
    >>> display.feature_names[display.order].tolist()
    ['bm25', 'age', 'length']
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        importances: ArrayLike,
        standard_deviations: ArrayLike | None = None,
        *,
        feature_names: ArrayLike | None = None,
        importance_name: str = "importance",
    ) -> None:
        self.importances = read_items(importances, "importances", "feature")
        n = len(self.importances)
        self.standard_deviations = None
        if standard_deviations is not None:
            self.standard_deviations = read_items(
                standard_deviations, "standard_deviations", "feature", n
            )
            if (self.standard_deviations < 0).any():
                raise ValueError(
                    f"standard_deviations must be >= 0, got {standard_deviations!r}"
                )
        self.feature_names = read_item_names(feature_names, n)
        self.importance_name = importance_name
        self.order: IntArray = np.argsort(-self.importances, kind="stable")

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        feature_names: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> FeatureImportancesDisplay:
        """Draw the `feature_importances_` of a fitted model.

        Parameters
        ----------
        estimator : estimator instance
            Fitted: a LambdaMARTRanker or another model with `feature_importances_`, or
            a Pipeline or a search that ends in one.
        feature_names : array-like of shape (n_features,), default=None
            Names of the features that the model inside a Pipeline has been fitted to.
            None: the names seen by `fit`, those that the other steps of the Pipeline
            return, or else x0, x1, ...

        Raises
        ------
        NotFittedError
            Before `fit`.
        TypeError
            If the model has no `feature_importances_`.
        ValueError
            If there is not one name per feature.
        """
        model, names = find_model(estimator)
        check_is_fitted(model)
        if not hasattr(model, "feature_importances_"):
            raise TypeError(
                f"{type(model).__name__} has no feature_importances_: call "
                "sklearn.inspection.permutation_importance, and draw its result with "
                f"{cls.__name__}.from_importances"
            )
        return cls(
            model.feature_importances_,
            feature_names=names if feature_names is None else feature_names,
            importance_name=GAIN_LABEL if is_ranker(model) else "importance",
        ).plot(ax, **kwargs)

    @classmethod
    def from_importances(
        cls,
        result: Bunch,
        *,
        feature_names: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> FeatureImportancesDisplay:
        """Draw the result of :func:`sklearn.inspection.permutation_importance`.

        Parameters
        ----------
        result : Bunch
            With `importances_mean` and `importances_std`, ndarrays of shape
            (n_features,): decrease of the score when a feature is shuffled.
        feature_names : array-like of shape (n_features,), default=None
            Names of the features, such as ``X.columns``.  None: x0, x1, ...

        Raises
        ------
        TypeError
            If `result` is anything else, including the results of several scorers.
        ValueError
            If there is not one name per feature.
        """
        if not hasattr(result, "importances_mean"):
            several = list(result) if isinstance(result, Mapping) else []
            hint = f"; give the result of one of {several}" if several else ""
            raise TypeError(
                "result must be what sklearn.inspection.permutation_importance returns "
                f"for one scorer, with importances_mean{hint}, got {type(result)}"
            )
        return cls(
            result.importances_mean,
            result.importances_std,
            feature_names=feature_names,
            importance_name=PERMUTATION_LABEL,
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        n_features: int | None = 20,
        bar_kwargs: Style | None = None,
    ) -> FeatureImportancesDisplay:
        """Draw the bars.

        Parameters
        ----------
        n_features : int of at least 1 or None, default=20
            Number of features to show, the most important ones.  None: all.
        bar_kwargs : dict, default=None
            Keyword arguments of matplotlib's `barh`.

        Raises
        ------
        ValueError
            If `n_features` is not an integer >= 1 or None.
        """
        shown = self.order[: check_n_features(n_features)]
        size = (6.4, 1.0 + 0.24 * min(MAX_NAMES, max(4, len(shown))))
        ax = self._set_axes(ax, size, grid="x")
        options: dict[str, object] = {"height": 0.7, "ecolor": "0.2", "capsize": 2}
        if self.standard_deviations is not None:
            options["xerr"] = self.standard_deviations[shown]
        y = np.arange(len(shown))
        self.bars_ = ax.barh(
            y, self.importances[shown], **options | dict(bar_kwargs or {})
        )
        step = -(-len(shown) // MAX_NAMES)
        names = [escape_label(name) for name in self.feature_names[shown[::step]]]
        label_rows(ax, len(shown), names, step)
        ax.axvline(0, color="black", linewidth=0.8)
        if not self.importances.any():
            ax.set_xlim(0, 1)
        ax.set_xlabel(self.importance_name)
        title_if_some(ax, len(shown), len(self.order))
        return self


@complete_display
class ShapValuesDisplay(Display):
    """What each feature adds to the score of a document, or to the lead over another.

    The bars form a staircase from the bias at the bottom to the score at the top, with
    the largest effect on top.  For a pair ("why is a above b?") they show differences,
    and lead from 0 to the difference of the two scores.  Teal bars raise the
    score, or the difference, and brown ones lower it.

    Parameters
    ----------
    values : array-like of shape (n_features,)
        SHAP values of a document, or the differences of those of two; finite.
    bias : float, default=0.0
        Where the bars begin: the score without any feature, and 0 for a pair.
    feature_values : array-like of shape (n_features,) or (2, n_features), default=None
        Feature values of the document, or of two, to write beside the names.
    score_name : str, default="score"
        Label of the x axis.
    name : str, default=None
        Title: what the bars explain.  None: no title.

    Attributes
    ----------
    order : ndarray of shape (n_features,), int64
        The features from the largest to the smallest effect, whatever its sign; equal
        ones in the order of their index.
    score : float
        Where the bars end: `bias` plus the sum of `values`.
    bars_ : matplotlib BarContainer
        One bar for each feature shown, in this order, and one for all others together.

    Raises
    ------
    ValueError
        If the values are not one finite number per feature, or there is not one name,
        or one feature value, for each.

    See Also
    --------
    sklearn_ltr.inspection.shap_values : Compute the values.
    ShapHeatmapDisplay : The values of a list of documents.
    ShapBeeswarmDisplay : The values of many documents.

    Examples
    --------
    >>> from sklearn_ltr.plotting import ShapValuesDisplay
    >>> display = ShapValuesDisplay(
    ...     [0.1, 0.7, -0.2], bias=0.5, feature_names=["length", "bm25", "age"]
    ... )
    >>> display.feature_names[display.order].tolist()
    ['bm25', 'age', 'length']
    >>> round(display.score, 6)
    1.1
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        values: ArrayLike,
        *,
        bias: float = 0.0,
        feature_names: ArrayLike | None = None,
        feature_values: ArrayLike | None = None,
        score_name: str = "score",
        name: str | None = None,
    ) -> None:
        self.values = read_items(values, "values", "feature")
        n = len(self.values)
        self.bias = float(read_items([bias], "bias", "display")[0])
        self.feature_names = read_item_names(feature_names, n)
        self.feature_values = None
        if feature_values is not None:
            self.feature_values = np.asarray(feature_values, dtype=object)
            if self.feature_values.shape not in ((n,), (1, n), (2, n)):
                raise ValueError(
                    f"feature_values must hold one for each of the {n} features, for "
                    f"one or two documents, got shape {self.feature_values.shape}"
                )
        self.score_name, self.name = score_name, name
        self.order = np.argsort(-np.abs(self.values), kind="stable")
        self.score = self.bias + float(self.values.sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        *,
        document: int = 0,
        other: int | None = None,
        background: MatrixLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ShapValuesDisplay:
        """Draw the values of a document, or of a pair.

        Parameters
        ----------
        estimator : estimator instance
            A fitted model of trees, as in :func:`sklearn_ltr.inspection.shap_values`.
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Documents.
        document : int, default=0
            The row of X to explain; negative ones are counted from the end.
        other : int or None, default=None
            The row to compare it with: why is `document` above `other`, or below?
            None: `document` alone.

        Raises
        ------
        NotFittedError, TypeError, ValueError
            As by :func:`sklearn_ltr.inspection.shap_values`, or if there is no such
            row.
        """
        result = shap_values(estimator, X, background=background)
        if other is None:
            values, bias, rows = result.row(document), result.bias, [document]
            score_name = "score"
            name = (
                f"Score of document {document}: {bias + values.sum():.4g}\n"
                f"({bias:.4g} without any feature)"
            )
        else:
            values, bias = result.difference(document, other), 0.0
            rows = [document, other]
            score_name = f"score of document {document} minus that of document {other}"
            name = why(document, other, values)
        return cls(
            values,
            bias=bias,
            feature_names=result.feature_names,
            feature_values=rows_of(result.X, rows),
            score_name=score_name,
            name=name,
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        n_features: int | None = 12,
        bar_kwargs: Style | None = None,
    ) -> ShapValuesDisplay:
        """Draw the bars.

        Parameters
        ----------
        n_features : int of at least 1 or None, default=12
            Number of features with their own bar, those of the largest effects;
            the others have one together.  None: up to 200.
        bar_kwargs : dict, default=None
            Keyword arguments of matplotlib's `barh`.

        Raises
        ------
        ValueError
            If `n_features` is not an integer >= 1 or None.
        """
        n_shown = check_n_features(n_features) or MAX_BARS
        shown, others = self.order[:n_shown], self.order[n_shown:]
        widths, labels = self.values[shown], [self._label(j) for j in shown]
        if len(others):
            widths = np.append(widths, self.values[others].sum())
            labels.append(f"{len(others)} other features")
        ends = self.score - np.append(0.0, np.cumsum(widths)[:-1])
        ax = self._set_axes(ax, (6.4, 1.4 + 0.26 * len(widths)), grid="x")
        options: dict[str, object] = {
            "height": 0.7,
            "color": np.where(widths > 0, BETTER, WORSE),
        }
        ax.use_sticky_edges = False  # bars that end at the frame would look cut off
        y = np.arange(len(widths))
        self.bars_ = ax.barh(
            y, widths, left=ends - widths, **options | dict(bar_kwargs or {})
        )
        # each bar begins where the one below it ends
        ax.vlines((ends - widths)[:-1], y[:-1], y[1:], color="0.5", linewidth=0.8)
        for x in (self.bias, self.score):
            ax.axvline(x, color="black", linewidth=0.8, linestyle=":")
        label_rows(ax, len(widths), labels)
        if self.name is not None:
            ax.set_title(self.name)
        ax.set_xlabel(self.score_name)
        return self

    def _label(self, feature: int) -> str:
        """Return the name of a feature, and what the documents have for it."""
        name = escape_label(self.feature_names[feature], MAX_NAME_LENGTH)
        if self.feature_values is None:
            return name
        given = np.atleast_2d(self.feature_values)[:, feature]
        return f"{name} = {', '.join(label_of_value(value) for value in given)}"


def why(document: int, other: int, values: FloatArray) -> str:
    """Return the title of a pair of documents, by the differences of their values."""
    difference = float(values.sum())
    if abs(difference) <= SUM_ROUNDING * np.abs(values).sum():
        return f"Documents {document} and {other} have the same score"
    place, sign = ("above", "higher") if difference > 0 else ("below", "lower")
    return (
        f"Why is document {document} {place} document {other}?\n"
        f"(its score is {sign} by {abs(difference):.4g})"
    )


def label_of_value(value: object) -> str:
    """Return a value of a feature in a few characters."""
    is_real = isinstance(value, float | np.floating)
    return escape_label(f"{value:.4g}" if is_real else value, MAX_VALUE_LENGTH)


def rows_of(X: Any, rows: list[int] | slice) -> NDArray[np.object_]:
    """Return some rows of a table of any kind: (n_rows, n_features) object."""
    table: NDArray[Any] = X.toarray() if issparse(X) else np.asarray(X)
    return table[rows].astype(object)


@complete_display
class ShapHeatmapDisplay(Display):
    """SHAP values of a ranked list, as colors: documents by rank, and features.

    A row is a document, and the first rank is on top.  A column is a feature, and the
    one with the largest mean effect is on the left.  Teal values raise the score of a
    document, and brown ones lower it.

    Parameters
    ----------
    values : array-like of shape (n_documents, n_features)
        SHAP values; finite.

    Attributes
    ----------
    ranking : ndarray of shape (n_documents,), int64
        The documents by descending sum of their values, that is, by score; equal ones
        in the order of the rows.
    order : ndarray of shape (n_features,), int64
        The features by descending mean of the absolute values; equal ones in the order
        of their index.
    image_ : matplotlib AxesImage
        The colors.
    colorbar_ : matplotlib Colorbar
        Their scale, from minus the largest absolute value to plus that.

    Raises
    ------
    ValueError
        If the values are not one finite number per document and feature, or there is
        not one name per feature.

    See Also
    --------
    sklearn_ltr.inspection.shap_values : Compute the values.
    ShapValuesDisplay : The values of a document, or of a pair.

    Examples
    --------
    >>> from sklearn_ltr.plotting import ShapHeatmapDisplay
    >>> display = ShapHeatmapDisplay([[0.1, -0.5, 0.0], [0.2, 0.6, 0.1]])
    >>> display.ranking, display.order
    (array([1, 0]), array([1, 0, 2]))
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self, values: RowsLike, *, feature_names: ArrayLike | None = None
    ) -> None:
        self.values = read_shap_table(values)
        n = self.values.shape[1]
        self.feature_names = read_item_names(feature_names, n)
        self.ranking = np.argsort(-self.values.sum(axis=1), kind="stable")
        self.order = np.argsort(-np.abs(self.values).mean(axis=0), kind="stable")

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        *,
        background: MatrixLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ShapHeatmapDisplay:
        """Draw the values of a list of documents.

        Parameters
        ----------
        estimator : estimator instance
            A fitted model of trees, as in :func:`sklearn_ltr.inspection.shap_values`.
        X : array-like or sparse matrix of shape (n_documents, n_features)
            The documents of one query, or of several, as one list.

        Raises
        ------
        NotFittedError, TypeError, ValueError
            As by :func:`sklearn_ltr.inspection.shap_values`.
        """
        result = shap_values(estimator, X, background=background)
        names = result.feature_names
        return cls(result.values, feature_names=names).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        n_features: int | None = 12,
        image_kwargs: Style | None = None,
    ) -> ShapHeatmapDisplay:
        """Draw the colors.

        Parameters
        ----------
        n_features : int of at least 1 or None, default=12
            Number of features to show, those of the largest effects.  None: up to 200.
        image_kwargs : dict, default=None
            Keyword arguments of matplotlib's `imshow`.

        Raises
        ------
        ValueError
            If `n_features` is not an integer >= 1 or None.
        """
        shown = self.order[: check_n_features(n_features) or MAX_FEATURES]
        n = len(self.ranking)
        size = max(5.0, 2.0 + 0.35 * len(shown)), min(12.0, 2.5 + 0.15 * n)
        ax = self._set_axes(ax, size)
        largest = np.abs(self.values).max() or 1.0
        options: dict[str, object] = {
            "cmap": WORSE_TO_BETTER,
            "vmin": -largest,
            "vmax": largest,
            "aspect": "auto",
            "interpolation": "nearest",
            "extent": (-0.5, len(shown) - 0.5, n + 0.5, 0.5),  # ranks from 1
        }
        self.image_ = ax.imshow(
            self.values[np.ix_(self.ranking, shown)],
            **options | dict(image_kwargs or {}),
        )
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, label="SHAP value")
        names = [escape_label(x, MAX_NAME_LENGTH) for x in self.feature_names[shown]]
        ax.set_xticks(np.arange(len(shown)), names, rotation=90, fontsize="small")
        set_integer_ticks(ax.yaxis)
        ax.set_ylabel("rank")
        title_if_some(ax, len(shown), len(self.order))
        return self


def read_shap_table(values: RowsLike) -> FloatArray:
    """Return one finite number for each document and feature, 2-D float64."""
    if np.ndim(values) != 2 or np.size(values) == 0:
        raise ValueError(
            "values must hold a row for each document and a column for each feature, "
            f"got shape {np.shape(values)}"
        )
    n = np.shape(values)[1]
    return np.stack(
        [
            read_items(row, f"values[{document}]", "feature", n)
            for document, row in enumerate(values)
        ]
    )


def title_if_some(ax: Axes, n_shown: int, n_features: int) -> None:
    """Say in the title how many features are shown, unless all are."""
    if n_shown < n_features:
        ax.set_title(f"{n_shown} of {n_features} features")


def check_n_features(n_features: int | None) -> int | None:
    """Return an integer >= 1 or None; raise a ValueError for anything else."""
    if n_features is None:
        return None
    is_integer = isinstance(n_features, Integral) and not isinstance(n_features, bool)
    if not is_integer or n_features < 1:
        raise ValueError(
            f"n_features must be an integer >= 1 or None, got {n_features!r}"
        )
    return int(n_features)
