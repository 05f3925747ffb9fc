"""Plot of the SHAP values of a list: documents by features, as colors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sklearn_ltr.inspection import shap_values
from sklearn_ltr.plotting._arguments import read_numbers
from sklearn_ltr.plotting._axes import check_matplotlib, get_axes, set_integer_ticks
from sklearn_ltr.plotting._feature_importances import check_n_features
from sklearn_ltr.plotting._labels import escape_label

MAX_NAME_LENGTH = 24  # characters
MAX_FEATURES = 200


class ShapHeatmapDisplay:
    """SHAP values of the documents of a list, by rank, and of their features.

    A row is a document, and the first rank is on top.  A column is a feature, and the
    one with the largest mean effect is on the left.

    Parameters
    ----------
    values : array-like of shape (n_documents, n_features)
        SHAP values; finite.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features.  None: x0, x1, ...

    Attributes
    ----------
    ranking : ndarray of shape (n_documents,), int64
        The documents by descending sum of their values, which is that of their scores;
        equal ones in the order of the rows.
    order : ndarray of shape (n_features,), int64
        The features by descending mean of the absolute values; equal ones in the order
        of their index.
    image_ : matplotlib AxesImage
        The colors.
    colorbar_ : matplotlib Colorbar
        Their scale, from minus the largest absolute value to plus that.
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        The figure of the axes.

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

    def __init__(self, values: Any, *, feature_names: Any = None) -> None:
        if np.ndim(values) != 2 or np.size(values) == 0:
            raise ValueError(
                "values must hold a row for each document and a column for each "
                f"feature, got shape {np.shape(values)}"
            )
        n = np.shape(values)[1]
        self.values = np.stack(
            [
                read_numbers(row, f"values[{document}]", "feature", n)
                for document, row in enumerate(values)
            ]
        )
        if feature_names is None:
            feature_names = [f"x{feature}" for feature in range(n)]
        self.feature_names = np.asarray(feature_names, dtype=object)
        if self.feature_names.shape != (n,):
            raise ValueError(
                f"feature_names must hold one name for each of the {n} features, got "
                f"shape {self.feature_names.shape}"
            )
        self.ranking = np.argsort(-self.values.sum(axis=1), kind="stable")
        self.order = np.argsort(-np.abs(self.values).mean(axis=0), kind="stable")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        background: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> ShapHeatmapDisplay:
        """Draw the values of a list of documents.

        Parameters
        ----------
        estimator : estimator instance
            A fitted model of trees, as in :func:`sklearn_ltr.inspection.shap_values`.
        X : array-like or sparse matrix of shape (n_documents, n_features)
            The documents of one query, or of several, as one list.
        background : array-like or sparse matrix of shape (n_background, n_features), \
default=None
            As in :func:`sklearn_ltr.inspection.shap_values`.
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : ShapHeatmapDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError, TypeError, ValueError
            As by :func:`sklearn_ltr.inspection.shap_values`.
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        result = shap_values(estimator, X, background=background)
        names = result.feature_names
        return cls(result.values, feature_names=names).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        n_features: int | None = 12,
        image_kwargs: Mapping[str, Any] | None = None,
    ) -> ShapHeatmapDisplay:
        """Draw the colors.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        n_features : int >= 1 or None, default=12
            Number of features to show, those of the largest effects.  None: up to 200.
        image_kwargs : dict, default=None
            Keyword arguments of matplotlib's `imshow`.

        Returns
        -------
        display : ShapHeatmapDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `n_features` is not an integer >= 1 or None.
        """
        shown = self.order[: check_n_features(n_features) or MAX_FEATURES]
        n = len(self.ranking)
        size = max(5.0, 2.0 + 0.35 * len(shown)), min(12.0, 2.5 + 0.15 * n)
        ax = get_axes(f"{type(self).__name__}.plot", ax, size)
        self.ax_, self.figure_ = ax, ax.figure
        largest = np.abs(self.values).max() or 1.0
        options: dict[str, Any] = {
            "cmap": "RdBu",
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
        if len(shown) < len(self.order):
            ax.set_title(f"{len(shown)} of {len(self.order)} features")
        return self
