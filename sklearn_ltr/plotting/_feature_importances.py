"""Plot of feature importances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.typing import IntArray
from sklearn_ltr.inspection._models import find_model, hint
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import (
    check_n_features,
    is_ranker,
    read_item_names,
    read_items,
)
from sklearn_ltr.plotting._display import Axes, Display, complete_display

MAX_NAMES = 250  # of more bars, only some are labelled
GAIN_LABEL = "fraction of the gain of all splits"
PERMUTATION_LABEL = "decrease of the score when shuffled (mean ± standard deviation)"


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
    {feature_names}
    importance_name : str, default="importance"
        Label of the x axis: the quantity that measures importance.

    Attributes
    ----------
    order : ndarray of shape (n_features,), int64
        The features from the most to the least important; equal ones in the order of
        their index.
    bars_ : matplotlib BarContainer
        One bar for each feature shown, in this order.
    {ax_} {figure_}

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
            a Pipeline, search or CalibratedRanker of one.
        feature_names : array-like of shape (n_features,), default=None
            Names of the features that the model inside a Pipeline has been fitted to.
            None: the names seen by `fit`, those that the other steps of the Pipeline
            return, or else x0, x1, ...
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
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
            name = "feature_importances_"
            raise TypeError(
                f"{type(model).__name__} has no {name}{hint(model, name)}: call "
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
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
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
        bar_kwargs: axes.Style | None = None,
    ) -> FeatureImportancesDisplay:
        """Draw the bars.

        Parameters
        ----------
        {ax}
        n_features : int of at least 1 or None, default=20
            Number of features to show, the most important ones.  None: all.
        bar_kwargs : dict, default=None
            Keyword arguments of matplotlib's `barh`.

        Raises
        ------
        {ImportError}
        ValueError
            If `n_features` is not an integer >= 1 or None.
        """
        shown = self.order[: check_n_features(n_features)]
        size = (6.4, 1.0 + 0.24 * min(MAX_NAMES, max(4, len(shown))))
        ax = self._set_axes(ax, size, grid="x")
        style = axes.read_style(bar_kwargs, height=0.7, ecolor="0.2", capsize=2)
        if self.standard_deviations is not None:
            style = {"xerr": self.standard_deviations[shown]} | style
        y = np.arange(len(shown))
        self.bars_ = ax.barh(y, self.importances[shown], **style)
        step = -(-len(shown) // MAX_NAMES)
        names = [axes.escape_label(name) for name in self.feature_names[shown[::step]]]
        axes.label_rows(ax, len(shown), names, step)
        ax.axvline(0, color="black", linewidth=0.8)
        if not self.importances.any():
            ax.set_xlim(0, 1)
        ax.set_xlabel(self.importance_name)
        axes.write_n_shown(ax, len(shown), len(self.order))
        return self
