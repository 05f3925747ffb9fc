"""Which columns a model looks at: bars, the most important one on top."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr.inspection._pipeline_steps import last_step
from sklearn_ltr.plotting._arguments import read_numbers
from sklearn_ltr.plotting._axes import axes_to_draw_on, check_matplotlib, make_plain
from sklearn_ltr.plotting._estimators import is_ranker
from sklearn_ltr.plotting._labels import as_written

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_NAMES = 250  # that are written out
GAIN = "share of the gain of all splits"
SHUFFLED = "fall of the score when shuffled (mean ± standard deviation)"


class FeatureImportancesDisplay:
    """Importances of columns as horizontal bars, the most important column on top.

    :meth:`from_estimator` takes those that a fitted model has, :meth:`from_importances`
    the result of :func:`sklearn.inspection.permutation_importance`.

    Parameters
    ----------
    importances : array-like of shape (n_features,)
        Finite; negative ones are legal.
    standard_deviations : array-like of shape (n_features,), default=None
        Finite and >= 0, drawn as error bars; None: there are none.
    feature_names : array-like of shape (n_features,), default=None
        What the columns are called; None: x0, x1, ...
    importance_name : str, default="importance"
        What is measured.

    Attributes
    ----------
    order : ndarray of shape (n_features,), int64
        The columns from the most important to the least; equal ones as they stand.
    bars_ : matplotlib BarContainer
        The columns that are shown, in this order.
    ax_ : matplotlib Axes
        What the picture is on.
    figure_ : matplotlib Figure
        What the axes are on.

    Raises
    ------
    ValueError
        For importances or standard deviations that are not one finite number per
        column, negative standard deviations, or another number of names.

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
        self.importances = read_numbers(importances, "importances", "column")
        n = len(self.importances)
        self.standard_deviations = None
        if standard_deviations is not None:
            self.standard_deviations = read_numbers(
                standard_deviations, "standard_deviations", "column", n
            )
            if (self.standard_deviations < 0).any():
                raise ValueError(
                    f"standard_deviations must be >= 0, got {standard_deviations!r}"
                )
        if feature_names is None:
            feature_names = [f"x{column}" for column in range(n)]
        self.feature_names = np.asarray(feature_names, dtype=object)
        if self.feature_names.shape != (n,):
            raise ValueError(
                f"feature_names must hold one name for each of the {n} columns, got "
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
            What the columns are called that the model, not the Pipeline, has seen.
            None: the names at `fit`, those that the steps of a Pipeline give them, or
            else x0, x1, ...
        ax : matplotlib Axes, default=None
            Where to draw; None: on the axes of a new figure.
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
            For another number of names than columns.
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        model, names = last_step(estimator)
        check_is_fitted(model)
        if not hasattr(model, "feature_importances_"):
            raise TypeError(
                f"{type(model).__name__} has no feature_importances_; measure them by "
                "sklearn.inspection.permutation_importance, and draw its result with "
                f"{cls.__name__}.from_importances"
            )
        return cls(
            model.feature_importances_,
            feature_names=names if feature_names is None else feature_names,
            importance_name=GAIN if is_ranker(model) else "importance",
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
            (n_features,): how much the score falls when a column is shuffled.
        feature_names : array-like of shape (n_features,), default=None
            What the columns are called, ``X.columns``, say; None: x0, x1, ...
        ax : matplotlib Axes, default=None
            Where to draw; None: on the axes of a new figure.
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
            If `result` is something else, the results of several scorers too.
        ValueError
            For another number of names than columns.
        """
        check_matplotlib(f"{cls.__name__}.from_importances")
        if not hasattr(result, "importances_mean"):
            several = list(result) if isinstance(result, Mapping) else []
            hint = f"; give one of those of {several}" if several else ""
            raise TypeError(
                "result must be what sklearn.inspection.permutation_importance returns "
                f"for one scorer, with importances_mean{hint}, got {type(result)}"
            )
        return cls(
            result.importances_mean,
            result.importances_std,
            feature_names=feature_names,
            importance_name=SHUFFLED,
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
            Where to draw; None: on the axes of a new figure.
        n_features : int >= 1 or None, default=20
            How many columns to show, the most important ones; None: all.
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
        shown = self.order[: check_number(n_features)]
        size = (6.4, 1.0 + 0.24 * min(MOST_NAMES, max(4, len(shown))))
        ax = axes_to_draw_on(f"{type(self).__name__}.plot", ax, size)
        self.ax_, self.figure_ = ax, ax.figure
        make_plain(ax, grid="x")
        looks: dict[str, Any] = {"height": 0.7, "ecolor": "0.2", "capsize": 2}
        if self.standard_deviations is not None:
            looks["xerr"] = self.standard_deviations[shown]
        places = np.arange(len(shown))
        self.bars_ = ax.barh(
            places, self.importances[shown], **looks | dict(bar_kwargs or {})
        )
        named = places[:: -(-len(shown) // MOST_NAMES)]
        names = [as_written(name) for name in self.feature_names[shown[named]]]
        ax.set_yticks(named, names)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(shown) - 0.5, -0.5)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.spines["left"].set_visible(False)
        if not self.importances.any():
            ax.set_xlim(0, 1)
        ax.set_xlabel(self.importance_name)
        if len(shown) < len(self.order):
            ax.set_title(f"{len(shown)} of {len(self.order)} columns")
        return self


def check_number(n_features: Any) -> int | None:
    """Return how many columns to show; a ValueError unless it is a number or None."""
    if n_features is None:
        return None
    whole = isinstance(n_features, Integral) and not isinstance(n_features, bool)
    if not whole or n_features < 1:
        raise ValueError(
            f"n_features must be an integer >= 1 or None, got {n_features!r}"
        )
    return int(n_features)
