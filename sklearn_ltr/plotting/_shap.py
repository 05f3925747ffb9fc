"""Plots of SHAP values: of a document, of a ranked list, and of many documents."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.stats import rankdata
from sklearn.base import BaseEstimator

from sklearn_ltr._core.data import QueryGroups
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike
from sklearn_ltr.inspection._shap_values import shap_values
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import (
    RowsLike,
    check_n_features,
    read_item_names,
    read_items,
    read_rows,
)
from sklearn_ltr.plotting._colors import BETTER, WORSE, WORSE_TO_BETTER
from sklearn_ltr.plotting._display import Axes, Display, complete_display

MAX_VALUE_LENGTH = 10  # characters
MAX_FEATURES = 200
SUM_ROUNDING = 1e-12  # of a sum, relative to what is added
N_BINS = 100  # of a feature's row of points, within which points are stacked
HALF_WIDTH = 0.4  # of a row of points; rows are 1 apart
FROM_LOW_TO_HIGH, NO_NUMBER = "coolwarm", "0.6"  # colors


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
    {feature_names}
    feature_values : array-like of shape (n_features,) or (2, n_features), default=None
        Feature values of the document, or of two, to write beside the names.
    documents : list of one or two str, default=None
        Names of the document, or of both, in the order of the feature values.  None:
        not written.
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
    {ax_} {figure_}

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
        documents: Sequence[str] | None = None,
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
        if documents is not None and (
            isinstance(documents, str) or len(documents) not in (1, 2)
        ):
            raise ValueError(f"documents must be one or two names, got {documents!r}")
        self.documents = None if documents is None else list(documents)
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
        groups: IdsLike | None = None,
        document_names: ArrayLike | None = None,
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
        groups : array-like of shape (n_documents,), default=None
            The query of each document, for the title.  None: it names no query.
        document_names : array-like of shape (n_documents,), default=None
            What to call each document.  None: "document 0", ...
        {background} {ax} {kwargs}

        Raises
        ------
        {ImportError}
        NotFittedError, TypeError, ValueError
            As by :func:`sklearn_ltr.inspection.shap_values`, if there is no such row,
            there is not one name for each document, or the two are of two queries.
        """
        result = shap_values(estimator, X, background=background)
        if other is None:
            rows, values, bias = [document], result.row(document), result.bias
        else:
            rows, values = [document, other], result.difference(document, other)
            bias = 0.0
        documents = [f"document {row}" for row in rows]
        if document_names is not None:
            item = "document_names", "document"
            names = read_item_names(document_names, len(result.values), *item)
            documents = [str(name) for name in names[rows]]
        called = [axes.escape_label(name) for name in documents]
        if other is None:
            score_name = "score"
            name = (
                f"Score of {called[0]}: {bias + values.sum():.4g}\n"
                f"({bias:.4g} without any feature)"
            )
        else:
            score_name = f"score of {called[0]} minus that of {called[1]}"
            name = why(called[0], called[1], values)
        if groups is not None:
            queries = QueryGroups.from_groups(groups, len(result.values))
            of_ends = queries.query_of_row[[rows[0], rows[-1]]]
            first, last = map(queries.describe, of_ends)
            if first != last:
                raise ValueError(
                    f"document and other are of two queries, {first} and {last}, so "
                    "neither is ranked above the other: give two documents of one query"
                )
            name = f"Query {axes.escape_label(first)}\n{name}"
        return cls(
            values,
            bias=bias,
            feature_names=result.feature_names,
            feature_values=rows_of(result.X, rows),
            documents=documents,
            score_name=score_name,
            name=name,
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        n_features: int | None = 12,
        bar_kwargs: axes.Style | None = None,
    ) -> ShapValuesDisplay:
        """Draw the bars.

        Parameters
        ----------
        {ax}
        n_features : int of at least 1 or None, default=12
            Number of features with their own bar, those of the largest effects;
            the others have one together.  None: up to 200.
        bar_kwargs : dict, default=None
            Keyword arguments of matplotlib's `barh`.

        Raises
        ------
        {ImportError}
        ValueError
            If `n_features` is not an integer >= 1 or None.
        """
        n_shown = check_n_features(n_features) or MAX_FEATURES
        shown, others = self.order[:n_shown], self.order[n_shown:]
        widths, labels = self.values[shown], [self._label(j) for j in shown]
        if len(others):
            widths = np.append(widths, self.values[others].sum())
            labels.append(f"{len(others)} other features")
        ends = self.score - np.append(0.0, np.cumsum(widths)[:-1])
        size = (6.4, 1.4 + 0.26 * max(4, len(widths)))
        ax = self._set_axes(ax, size, grid="x")
        colors = np.where(widths > 0, BETTER, WORSE)
        style = axes.read_style(bar_kwargs, height=0.7, color=colors)
        ax.use_sticky_edges = False  # bars that end at the frame would look cut off
        y = np.arange(len(widths))
        self.bars_ = ax.barh(y, widths, left=ends - widths, **style)
        beside = {"xytext": (2, 0), "textcoords": "offset points", "va": "center"}
        for x, row, added in zip(
            np.maximum(ends, ends - widths), y, widths, strict=True
        ):
            ax.annotate(f"{added:+.3g}", (x, row), fontsize="x-small", **beside)
        ax.margins(x=0.15)  # room for these numbers
        # each bar begins where the one below it ends
        ax.vlines((ends - widths)[:-1], y[:-1], y[1:], color="0.5", linewidth=0.8)
        for x in (self.bias, self.score):
            ax.axvline(x, color="black", linewidth=0.8, linestyle=":")
        axes.label_rows(ax, len(widths), labels)
        if self.documents is not None and self.feature_values is not None:
            names = [axes.short_label(name) for name in self.documents]
            ax.set_ylabel("feature = " + ",\n".join(names), fontsize="small")
        # from the right, where no labels are
        if self.name is not None:
            ax.set_title(axes.wrap_lines(self.name), x=1, ha="right")
        ax.set_xlabel(axes.wrap_lines(self.score_name), loc="right")
        return self

    def _label(self, feature: int) -> str:
        """Return the name of a feature, and what the documents have for it."""
        name = axes.short_label(self.feature_names[feature])
        if self.feature_values is None:
            return name
        values = [
            f"{value:.4g}" if isinstance(value, float | np.floating) else value
            for value in np.atleast_2d(self.feature_values)[:, feature]
        ]
        shown = [axes.escape_label(value, MAX_VALUE_LENGTH) for value in values]
        return f"{name} = {', '.join(shown)}"


def why(document: str, other: str, values: FloatArray) -> str:
    """Return the title of a pair of documents, by the differences of their values."""
    difference = float(values.sum())
    if abs(difference) <= SUM_ROUNDING * np.abs(values).sum():
        return f"{document[:1].upper()}{document[1:]} and {other} have the same score"
    place, sign = ("above", "higher") if difference > 0 else ("below", "lower")
    return (
        f"Why is {document} {place} {other}?\n"
        f"(its score is {sign} by {abs(difference):.4g})"
    )


def rows_of(X: Any, rows: list[int] | slice) -> NDArray[np.object_]:
    """Return some rows of a table of any kind, (n_rows, n_features) of objects."""
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
    {feature_names}

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
    {ax_} {figure_}

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
        table = read_shap_table(values, feature_names)
        self.values, self.feature_names, self.order = table
        self.ranking = np.argsort(-self.values.sum(axis=1), kind="stable")

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
        {background} {ax} {kwargs}

        Raises
        ------
        {ImportError}
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
        image_kwargs: axes.Style | None = None,
    ) -> ShapHeatmapDisplay:
        """Draw the colors.

        Parameters
        ----------
        {ax}
        n_features : int of at least 1 or None, default=12
            Number of features to show, those of the largest effects.  None: up to 200.
        image_kwargs : dict, default=None
            Keyword arguments of matplotlib's `imshow`.

        Raises
        ------
        {ImportError}
        ValueError
            If `n_features` is not an integer >= 1 or None.
        """
        shown = self.order[: check_n_features(n_features) or MAX_FEATURES]
        n = len(self.ranking)
        size = max(5.0, 2.0 + 0.35 * len(shown)), min(12.0, 2.5 + 0.15 * n)
        ax = self._set_axes(ax, size)
        largest = np.abs(self.values).max() or 1.0
        style = axes.read_style(
            image_kwargs,
            cmap=WORSE_TO_BETTER,
            vmin=-largest,
            vmax=largest,
            aspect="auto",
            interpolation="nearest",
            extent=(-0.5, len(shown) - 0.5, n + 0.5, 0.5),  # ranks from 1
        )
        self.image_ = ax.imshow(self.values[np.ix_(self.ranking, shown)], **style)
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, label="SHAP value")
        names = [axes.short_label(x) for x in self.feature_names[shown]]
        ax.set_xticks(np.arange(len(shown)), names, rotation=90, fontsize="small")
        axes.fit_labels(ax.xaxis, len(shown))
        axes.set_integer_ticks(ax.yaxis)
        ax.set_ylabel("rank")
        axes.write_n_shown(ax, len(shown), len(self.order))
        return self


@complete_display
class ShapBeeswarmDisplay(Display):
    """SHAP values of many documents: a row of points for each feature.

    A point is a document, placed at what the feature adds to its score.  Points of
    about equal value are stacked, so the width of a row shows how many there are.
    The color shows the rank of the document's feature value among all documents: blue
    is low, and red is high.  Missing values and text are gray.

    Parameters
    ----------
    values : array-like of shape (n_documents, n_features)
        SHAP values; finite.
    feature_values : array-like of shape (n_documents, n_features), default=None
        Feature values of each document.  None: all points are gray.
    {feature_names}

    Attributes
    ----------
    order : ndarray of shape (n_features,), int64
        The features by descending mean of the absolute values; equal ones in the order
        of their index.
    points_ : list of matplotlib PathCollection
        The points of each feature shown, in this order, from above; the documents in
        the order of their rows.
    colorbar_ : matplotlib Colorbar or None
        The scale of the colors; None without `feature_values`.
    {ax_} {figure_}

    Raises
    ------
    ValueError
        If the values are not one finite number per document and feature, or there is
        not one feature value for each, or not one name per feature.

    See Also
    --------
    sklearn_ltr.inspection.shap_values : Compute the values.
    ShapHeatmapDisplay : The values of the documents of one list, by rank.

    Examples
    --------
    >>> from sklearn_ltr.plotting import ShapBeeswarmDisplay
    >>> display = ShapBeeswarmDisplay(
    ...     [[0.1, -0.5], [0.2, 0.6]], [[3, 70.0], [5, 10.0]]
    ... )
    >>> display.order
    array([1, 0])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        values: RowsLike,
        feature_values: ArrayLike | None = None,
        *,
        feature_names: ArrayLike | None = None,
    ) -> None:
        table = read_shap_table(values, feature_names)
        self.values, self.feature_names, self.order = table
        self.feature_values = None
        if feature_values is not None:
            self.feature_values = np.asarray(feature_values, dtype=object)
            if self.feature_values.shape != self.values.shape:
                raise ValueError(
                    "feature_values must have the shape of values, "
                    f"{self.values.shape}, got {self.feature_values.shape}"
                )

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        *,
        background: MatrixLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ShapBeeswarmDisplay:
        """Draw the values of many documents.

        Parameters
        ----------
        estimator : estimator instance
            A fitted model of trees, as in :func:`sklearn_ltr.inspection.shap_values`.
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Documents, of one query or of many.
        {background} {ax} {kwargs}

        Raises
        ------
        {ImportError}
        NotFittedError, TypeError, ValueError
            As by :func:`sklearn_ltr.inspection.shap_values`.
        """
        result = shap_values(estimator, X, background=background)
        return cls(
            result.values,
            rows_of(result.X, slice(None)),
            feature_names=result.feature_names,
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        n_features: int | None = 12,
        scatter_kwargs: axes.Style | None = None,
    ) -> ShapBeeswarmDisplay:
        """Draw the points.

        Parameters
        ----------
        {ax}
        n_features : int of at least 1 or None, default=12
            Number of features to show, those of the largest effects.  None: up to 200.
        scatter_kwargs : dict, default=None
            Keyword arguments of matplotlib's `scatter`.

        Raises
        ------
        {ImportError}
        ValueError
            If `n_features` is not an integer >= 1 or None.
        """
        shown = self.order[: check_n_features(n_features) or MAX_FEATURES]
        size = (7.0, 1.4 + 0.34 * max(3, len(shown)))
        ax = self._set_axes(ax, size, grid="x")
        ax.axvline(0, color="black", linewidth=0.8)
        from matplotlib import colormaps

        style = axes.read_style(
            scatter_kwargs,
            cmap=colormaps[FROM_LOW_TO_HIGH].with_extremes(bad=NO_NUMBER),
            vmin=0.0,
            vmax=1.0,
            s=9,
            linewidths=0,
            plotnonfinite=True,
        )
        # the bin of each value, from the lowest to the highest of all
        values = self.values[:, shown]
        low, high = float(values.min()), float(values.max())
        bins = np.floor(N_BINS * ((values - low) / ((high - low) or 1.0)))
        bins = np.minimum(bins, N_BINS - 1).astype(np.int64)
        self.points_ = []
        for row, feature in enumerate(shown):
            ranks = np.full(len(self.values), np.nan)
            if self.feature_values is not None:
                ranks = ranks_of(self.feature_values[:, feature])
            x = self.values[:, feature]
            y = row + stack_points(bins[:, row], ranks, x)
            self.points_.append(ax.scatter(x, y, c=ranks, **style))
        self.colorbar_ = None
        if self.feature_values is not None:
            self.colorbar_ = self.figure_.colorbar(
                self.points_[0], ax=ax, label="value of the feature", aspect=40
            )
            self.colorbar_.set_ticks([0, 1], labels=["low", "high"])
        names = [axes.short_label(x) for x in self.feature_names[shown]]
        axes.label_rows(ax, len(shown), names)
        ax.set_xlabel("SHAP value, added to the score")
        axes.write_n_shown(ax, len(shown), len(self.order))
        return self


def read_shap_table(
    values: RowsLike, names: ArrayLike | None
) -> tuple[FloatArray, NDArray[np.object_], IntArray]:
    """Return the values of each document, and names and the order of features."""
    if np.ndim(values) != 2 or np.size(values) == 0:
        raise ValueError(
            "values must hold a row for each document and a column for each feature, "
            f"got shape {np.shape(values)}"
        )
    read = read_rows(values, "values", "feature")
    order = np.argsort(-np.abs(read).mean(axis=0), kind="stable")
    return read, read_item_names(names, len(order)), order


def ranks_of(column: NDArray[np.object_]) -> FloatArray:
    """Return the ranks of numbers, from 0 to 1; NaN for what is not a number."""
    numbers = np.array(
        [float(v) if isinstance(v, Real | Decimal) else np.nan for v in column]
    )
    known = ~np.isnan(numbers)
    ranks = np.full(len(numbers), np.nan)
    ranks[known] = rankdata(numbers[known], method="dense") - 1.0
    highest = float(ranks[known].max(initial=0.0))
    ranks[known] = ranks[known] / highest if highest > 0 else 0.5
    return ranks


def stack_points(
    bins: NDArray[np.int64], ranks: FloatArray, values: FloatArray
) -> FloatArray:
    """Return the distance of each point from the middle of its feature's row."""
    # the points of a bin alternate between both sides, from the lowest rank on, so that
    # places do not depend on the order of the documents
    order = np.lexsort((values, ranks, bins))
    first = np.searchsorted(bins[order], bins[order])
    place = np.arange(len(order)) - first  # 0, 1, ... within each bin
    steps = np.empty(len(order))
    steps[order] = (place + 1) // 2 * np.where(place % 2, 1, -1)
    most = max(np.abs(steps).max(), 5.0)  # a few points stay close to the middle
    distance: FloatArray = HALF_WIDTH * steps / most
    return distance
