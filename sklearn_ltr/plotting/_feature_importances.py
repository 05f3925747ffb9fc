"""Plot of feature importances as bars, the most important feature on top."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr.inspection._models import find_model
from sklearn_ltr.plotting._arguments import read_numbers
from sklearn_ltr.plotting._axes import check_matplotlib, get_axes, style_axes
from sklearn_ltr.plotting._estimators import is_ranker
from sklearn_ltr.plotting._labels import escape_label

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MAX_NAMES = 250  # of more bars, only some are labelled
GAIN_LABEL = "fraction of the gain of all splits"
PERMUTATION_LABEL = "decrease of the score when shuffled (mean ± standard deviation)"


class FeatureImportancesDisplay:
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
    feature_names : array-like of shape (n_features,), default=None
        Names of the features.  None: x0, x1, ...
    importance_name : str, default="importance"
        Label of the x axis: the quantity that measures importance.

    Attributes
    ----------
    order : ndarray of shape (n_features,), int64
        The features from the most to the least important; equal ones in the order of
        their index.
    bars_ : matplotlib BarContainer
        One bar for each feature shown, in this order.
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        The figure of the axes.

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
        importances: Any,
        standard_deviations: Any = None,
        *,
        feature_names: Any = None,
        importance_name: str = "importance",
    ) -> None:
        self.importances = read_numbers(importances, "importances", "feature")
        n = len(self.importances)
        self.standard_deviations = None
        if standard_deviations is not None:
            self.standard_deviations = read_numbers(
                standard_deviations, "standard_deviations", "feature", n
            )
            if (self.standard_deviations < 0).any():
                raise ValueError(
                    f"standard_deviations must be >= 0, got {standard_deviations!r}"
                )
        if feature_names is None:
            feature_names = [f"x{feature}" for feature in range(n)]
        self.feature_names = np.asarray(feature_names, dtype=object)
        if self.feature_names.shape != (n,):
            raise ValueError(
                f"feature_names must hold one name for each of the {n} features, got "
                f"shape {self.feature_names.shape}"
            )
        self.importance_name = importance_name
        self.order: IntArray = np.argsort(-self.importances, kind="stable")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Any = None,
        ax: Any = None,
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
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : FeatureImportancesDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            Before `fit`.
        TypeError
            If the model has no `feature_importances_`.
        ValueError
            If there is not one name per feature.
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        model, names = find_model(estimator)
        check_is_fitted(model)
        if not hasattr(model, "feature_importances_"):
            raise TypeError(
                f"{type(model).__name__} has no feature_importances_; call "
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
        result: Any,
        *,
        feature_names: Any = None,
        ax: Any = None,
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
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : FeatureImportancesDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If `result` is anything else, including the results of several scorers.
        ValueError
            If there is not one name per feature.
        """
        check_matplotlib(f"{cls.__name__}.from_importances")
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
        ax: Any = None,
        *,
        n_features: int | None = 20,
        bar_kwargs: Mapping[str, Any] | None = None,
    ) -> FeatureImportancesDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        n_features : int >= 1 or None, default=20
            Number of features to show, the most important ones.  None: all.
        bar_kwargs : dict, default=None
            Keyword arguments of matplotlib's `barh`.

        Returns
        -------
        display : FeatureImportancesDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `n_features` is not an integer >= 1 or None.
        """
        shown = self.order[: check_n_features(n_features)]
        size = (6.4, 1.0 + 0.24 * min(MAX_NAMES, max(4, len(shown))))
        ax = get_axes(f"{type(self).__name__}.plot", ax, size)
        self.ax_, self.figure_ = ax, ax.figure
        style_axes(ax, grid="x")
        options: dict[str, Any] = {"height": 0.7, "ecolor": "0.2", "capsize": 2}
        if self.standard_deviations is not None:
            options["xerr"] = self.standard_deviations[shown]
        y = np.arange(len(shown))
        self.bars_ = ax.barh(
            y, self.importances[shown], **options | dict(bar_kwargs or {})
        )
        named = y[:: -(-len(shown) // MAX_NAMES)]
        names = [escape_label(name) for name in self.feature_names[shown[named]]]
        ax.set_yticks(named, names)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(shown) - 0.5, -0.5)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.spines["left"].set_visible(False)
        if not self.importances.any():
            ax.set_xlim(0, 1)
        ax.set_xlabel(self.importance_name)
        if len(shown) < len(self.order):
            ax.set_title(f"{len(shown)} of {len(self.order)} features")
        return self


def check_n_features(n_features: Any) -> int | None:
    """Return an integer >= 1 or None; raise a ValueError for anything else."""
    if n_features is None:
        return None
    is_integer = isinstance(n_features, Integral) and not isinstance(n_features, bool)
    if not is_integer or n_features < 1:
        raise ValueError(
            f"n_features must be an integer >= 1 or None, got {n_features!r}"
        )
    return int(n_features)
