"""Plot of the SHAP values of many documents, a row of points for each feature."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator

from sklearn_ltr._inspection.shap_values import shap_values
from sklearn_ltr._typing import FloatArray, MatrixLike
from sklearn_ltr.plotting._arguments import RowsLike, read_item_names
from sklearn_ltr.plotting._axes import (
    Style,
    escape_label,
    label_rows,
)
from sklearn_ltr.plotting._display import Display, complete_display
from sklearn_ltr.plotting._features import (
    MAX_FEATURES,
    MAX_NAME_LENGTH,
    check_n_features,
    read_shap_table,
    rows_of,
    title_if_some,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_BINS = 100  # of a feature's row of points, within which points are stacked
HALF_WIDTH = 0.4  # of a row of points; rows are 1 apart
FROM_LOW_TO_HIGH, NO_NUMBER = "coolwarm", "0.6"  # colors


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
        self.values = read_shap_table(values)
        self.feature_values = None
        if feature_values is not None:
            self.feature_values = np.asarray(feature_values, dtype=object)
            if self.feature_values.shape != self.values.shape:
                raise ValueError(
                    "feature_values must have the shape of values, "
                    f"{self.values.shape}, got {self.feature_values.shape}"
                )
        self.feature_names = read_item_names(feature_names, self.values.shape[1])
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
    ) -> ShapBeeswarmDisplay:
        """Draw the values of many documents.

        Parameters
        ----------
        estimator : estimator instance
            A fitted model of trees, as in :func:`sklearn_ltr.inspection.shap_values`.
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Documents, of one query or of many.

        Raises
        ------
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
        scatter_kwargs: Style | None = None,
    ) -> ShapBeeswarmDisplay:
        """Draw the points.

        Parameters
        ----------
        n_features : int of at least 1 or None, default=12
            Number of features to show, those of the largest effects.  None: up to 200.
        scatter_kwargs : dict, default=None
            Keyword arguments of matplotlib's `scatter`.

        Raises
        ------
        ValueError
            If `n_features` is not an integer >= 1 or None.
        """
        shown = self.order[: check_n_features(n_features) or MAX_FEATURES]
        size = (7.0, 1.4 + 0.34 * max(3, len(shown)))
        ax = self._set_axes(ax, size, grid="x")
        ax.axvline(0, color="black", linewidth=0.8)
        from matplotlib import colormaps

        options: dict[str, object] = {
            "cmap": colormaps[FROM_LOW_TO_HIGH].with_extremes(bad=NO_NUMBER),
            "vmin": 0.0,
            "vmax": 1.0,
            "s": 9,
            "linewidths": 0,
            "plotnonfinite": True,
        }
        options |= dict(scatter_kwargs or {})
        bins = bin_values(self.values[:, shown])
        self.points_ = []
        for row, feature in enumerate(shown):
            ranks = np.full(len(self.values), np.nan)
            if self.feature_values is not None:
                ranks = ranks_of(self.feature_values[:, feature])
            x = self.values[:, feature]
            y = row + stack_points(bins[:, row], ranks, x)
            self.points_.append(ax.scatter(x, y, c=ranks, **options))
        self.colorbar_ = None
        if self.feature_values is not None:
            self.colorbar_ = self.figure_.colorbar(
                self.points_[0], ax=ax, label="value of the feature", aspect=40
            )
            self.colorbar_.set_ticks([0, 1], labels=["low", "high"])
        names = [escape_label(x, MAX_NAME_LENGTH) for x in self.feature_names[shown]]
        label_rows(ax, len(shown), names)
        ax.set_xlabel("SHAP value: what the feature adds to the score")
        title_if_some(ax, len(shown), len(self.order))
        return self


def bin_values(values: FloatArray) -> NDArray[np.int64]:
    """Return the bin of each value, of N_BINS from the lowest to the highest of all."""
    low, high = float(values.min()), float(values.max())
    width = (high - low) or 1.0
    bins = np.floor(N_BINS * ((values - low) / width))
    return np.minimum(bins, N_BINS - 1).astype(np.int64)


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
