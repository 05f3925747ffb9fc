"""Plot of SHAP values as bars: how features lead from the bias to a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_ltr.inspection import shap_values
from sklearn_ltr.plotting._arguments import read_numbers
from sklearn_ltr.plotting._axes import check_matplotlib, get_axes, style_axes
from sklearn_ltr.plotting._difference_bars import LOST_COLOR, WON_COLOR
from sklearn_ltr.plotting._feature_importances import check_n_features
from sklearn_ltr.plotting._labels import escape_label

FloatArray = NDArray[np.float64]

MAX_NAME_LENGTH, MAX_VALUE_LENGTH = 24, 10  # characters
MAX_BARS = 200


class ShapValuesDisplay:
    """The features of one document, or of a pair, from the largest effect down.

    The bars form a staircase: from the bias at the bottom to the score at the top.  For
    a pair, "why is a above b?", they are the differences of the values of both
    documents, and lead from 0 to the difference of their scores.

    Parameters
    ----------
    values : array-like of shape (n_features,)
        SHAP values of a document, or the differences of those of two; finite.
    bias : float, default=0.0
        Where the bars begin: the score without any feature, and 0 for a pair.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features.  None: x0, x1, ...
    feature_values : array-like of shape (n_features,) or (2, n_features), default=None
        What the document has for each feature, or each of two documents; it is written
        beside the names.
    score_name : str, default="score"
        Label of the x axis.

    Attributes
    ----------
    order : ndarray of shape (n_features,), int64
        The features from the largest to the smallest effect, whatever its sign; equal
        ones in the order of their index.
    score : float
        Where the bars end: `bias` plus the sum of `values`.
    bars_ : matplotlib BarContainer
        One bar for each feature shown, in this order, and one for all others together.
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        The figure of the axes.

    Raises
    ------
    ValueError
        If the values are not one finite number per feature, or there is not one name,
        or one feature value, for each.

    See Also
    --------
    sklearn_ltr.inspection.shap_values : Compute the values.
    ShapHeatmapDisplay : The values of a list of documents.

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
        values: Any,
        *,
        bias: float = 0.0,
        feature_names: Any = None,
        feature_values: Any = None,
        score_name: str = "score",
    ) -> None:
        self.values = read_numbers(values, "values", "feature")
        n = len(self.values)
        self.bias = float(read_numbers([bias], "bias", "display")[0])
        if feature_names is None:
            feature_names = [f"x{feature}" for feature in range(n)]
        self.feature_names = np.asarray(feature_names, dtype=object)
        if self.feature_names.shape != (n,):
            raise ValueError(
                f"feature_names must hold one name for each of the {n} features, got "
                f"shape {self.feature_names.shape}"
            )
        self.feature_values = None
        if feature_values is not None:
            self.feature_values = np.asarray(feature_values, dtype=object)
            if self.feature_values.shape not in ((n,), (1, n), (2, n)):
                raise ValueError(
                    f"feature_values must hold one for each of the {n} features, for "
                    f"one or two documents, got shape {self.feature_values.shape}"
                )
        self.score_name = score_name
        self.order = np.argsort(-np.abs(self.values), kind="stable")
        self.score = self.bias + float(self.values.sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        document: int = 0,
        other: int | None = None,
        background: Any = None,
        ax: Any = None,
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
        background : array-like or sparse matrix of shape (n_background, n_features), \
default=None
            As in :func:`sklearn_ltr.inspection.shap_values`.
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : ShapValuesDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError, TypeError, ValueError
            As by :func:`sklearn_ltr.inspection.shap_values`, or if there is no such
            row.
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        result = shap_values(estimator, X, background=background)
        if other is None:
            values, bias, rows = result.row(document), result.bias, [document]
            name = "score"
        else:
            values, bias = result.difference(document, other), 0.0
            rows = [document, other]
            name = f"score of document {document} minus that of document {other}"
        return cls(
            values,
            bias=bias,
            feature_names=result.feature_names,
            feature_values=rows_of(result.X, rows),
            score_name=name,
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        n_features: int | None = 12,
        bar_kwargs: Mapping[str, Any] | None = None,
    ) -> ShapValuesDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        n_features : int >= 1 or None, default=12
            Number of features with a bar of their own, those of the largest effects;
            the others have one together.  None: up to 200.
        bar_kwargs : dict, default=None
            Keyword arguments of matplotlib's `barh`.

        Returns
        -------
        display : ShapValuesDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
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
        ax = get_axes(
            f"{type(self).__name__}.plot", ax, (6.4, 1.4 + 0.26 * len(widths))
        )
        self.ax_, self.figure_ = ax, ax.figure
        style_axes(ax, grid="x")
        options: dict[str, Any] = {
            "height": 0.7,
            "color": np.where(widths > 0, WON_COLOR, LOST_COLOR),
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
        ax.set_yticks(y, labels)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(widths) - 0.5, -0.5)
        ax.spines["left"].set_visible(False)
        ax.set_title(f"from {self.bias:.4g} to {self.score:.4g}")
        ax.set_xlabel(self.score_name)
        return self

    def _label(self, feature: int) -> str:
        """Return the name of a feature, and what the documents have for it."""
        name = escape_label(self.feature_names[feature], MAX_NAME_LENGTH)
        if self.feature_values is None:
            return name
        given = np.atleast_2d(self.feature_values)[:, feature]
        return f"{name} = {', '.join(label_of_value(value) for value in given)}"


def label_of_value(value: Any) -> str:
    """Return a value of a feature in a few characters."""
    is_real = isinstance(value, float | np.floating)
    return escape_label(f"{value:.4g}" if is_real else value, MAX_VALUE_LENGTH)


def rows_of(X: Any, rows: list[int]) -> NDArray[Any]:
    """Return some rows of a table of any kind: (n_rows, n_features) object."""
    table = X.toarray() if issparse(X) else np.asarray(X)
    return table[rows].astype(object)
