"""Plot of how often users examine each position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.data.rows import check_each
from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.inspection._models import find_model, hint
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import Curves, read_items
from sklearn_ltr.plotting._display import Axes, Display, Line2D, complete_display


@complete_display
class PropensityCurveDisplay(Display):
    """How often users examine each position, estimated from clicks.

    :meth:`from_estimators` takes the numbers of fitted click models and draws them.

    :meth:`from_estimator` takes the bias that a ranker has learned from clicks.

    Parameters
    ----------
    propensities : dict of str to array-like of shape (n_positions,)
        Propensity of each position, 0 is shown first, by the name of the estimate; NaN
        where there is none.  Curves may have different lengths.
    standard_errors : dict of str to array-like of shape (n_positions,), default=None
        Standard errors, for all names or some; NaN where there is none.
    true_propensities : array-like of shape (n_positions,), default=None
        The propensities that a simulation used.

    Attributes
    ----------
    lines_ : list of matplotlib ErrorbarContainer
        One for each estimate.
    true_line_ : matplotlib Line2D or None
        The true propensities.
    legend_ : matplotlib Legend
        Names of the curves.
    {ax_} {figure_}

    Raises
    ------
    ValueError
        If there is no curve, a curve holds no numbers >= 0, or standard errors are of
        another length or of a name that has no curve.

    See Also
    --------
    sklearn_ltr.clicks : Click models.

    Examples
    --------
    >>> from sklearn_ltr.plotting import PropensityCurveDisplay
    >>> display = PropensityCurveDisplay({"AllPairs": [1, 0.6, 0.4]})
    >>> display.propensities["AllPairs"]
    array([1. , 0.6, 0.4])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        propensities: Mapping[str, ArrayLike],
        standard_errors: Mapping[str, ArrayLike] | None = None,
        *,
        true_propensities: ArrayLike | None = None,
    ) -> None:
        if not isinstance(propensities, Mapping) or not propensities:
            raise ValueError(
                "propensities must be a dict of one curve or several, such as "
                f'{{"AllPairs": [1, 0.6]}}, got {propensities!r}'
            )
        self.propensities: Curves = {
            name: read_curve(curve, f"propensities[{name!r}]")
            for name, curve in propensities.items()
        }
        self.standard_errors: Curves = {}
        for name, errors in (standard_errors or {}).items():
            if name not in self.propensities:
                raise ValueError(
                    f"standard_errors has {name!r}, but the curves are "
                    f"{list(self.propensities)}: give their names"
                )
            argument, n = f"standard_errors[{name!r}]", len(self.propensities[name])
            self.standard_errors[name] = read_curve(errors, argument, n)
        self.true_propensities = (
            None
            if true_propensities is None
            else read_curve(true_propensities, "true_propensities")
        )

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, BaseEstimator] | Sequence[BaseEstimator],
        *,
        true_propensities: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> PropensityCurveDisplay:
        """Draw the propensities of fitted click models.

        Parameters
        ----------
        estimators : dict of str to estimator, or list of estimators
            Fitted click models of :mod:`sklearn_ltr.clicks`; in a list, they are named
            by their classes.
        true_propensities : array-like of shape (n_positions,), default=None
            The `propensities` of a simulated log.
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
        NotFittedError
            If an estimator is not fitted.
        ValueError, TypeError
            If two estimators of a list are of one class, or `estimators` is neither a
            list nor a dict of estimators.
        """
        if not isinstance(estimators, Mapping):
            names = [type(estimator).__name__ for estimator in estimators]
            if len(set(names)) < len(names):
                raise ValueError(
                    f"estimators holds two of one class, {names}: give names in a dict "
                    "{name: estimator}"
                )
            estimators = dict(zip(names, estimators, strict=True))
        for estimator in estimators.values():
            check_is_fitted(estimator, "propensities_")
        return cls(
            {name: e.propensities_ for name, e in estimators.items()},
            {
                name: e.standard_errors_
                for name, e in estimators.items()
                if hasattr(e, "standard_errors_")
            },
            true_propensities=true_propensities,
        ).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        ranker: BaseEstimator,
        *,
        true_propensities: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> PropensityCurveDisplay:
        """Draw the bias of positions that a ranker has learned from clicks.

        Parameters
        ----------
        ranker : ranker
            Fitted with a `position_bias`.  Of "additive" it is exp(sigma b) that is
            drawn, the odds of a click relative to position 0; of "pairwise" t+ and t-.
        true_propensities : array-like of shape (n_positions,), default=None
            The `propensities` of a simulated log.
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
        NotFittedError
            If the ranker was not fitted with a `position_bias`.
        ValueError, TypeError
            If `ranker` is no estimator, or for true propensities that are no numbers.
        """
        ranker, _ = find_model(ranker)
        name = "position_bias_"
        missing = (
            f"this %(name)s has learned no position_bias{hint(ranker, name)}: set it, "
            "and fit"
        )
        check_is_fitted(ranker, name, msg=missing)
        bias = ranker.position_bias_
        if bias.ndim == 1:
            curves = {"exp(bias)": np.exp(ranker.sigma * bias)}
        else:
            curves = {"t+ (clicked)": bias[0], "t- (not clicked)": bias[1]}
        return cls(curves, true_propensities=true_propensities).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        curve_kwargs: axes.Style | Sequence[axes.Style] | None = None,
        true_kwargs: axes.Style | None = None,
    ) -> PropensityCurveDisplay:
        """Draw the curves.

        Parameters
        ----------
        {ax}
        curve_kwargs : dict or list of dict, default=None
            Keyword arguments of matplotlib's `errorbar`, for all curves or one for
            each.
        true_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot`, for the true propensities.

        Raises
        ------
        {ImportError}
        ValueError
            If `curve_kwargs` is a list of another length.
        """
        ax = self._set_axes(ax, grid="y")
        labels = map(axes.escape_label, self.propensities)
        bars = {"linewidth": 1.2, "capsize": 2}
        styles = axes.line_style_of_each(ax, labels, curve_kwargs, **bars)
        self.true_line_ = None
        if self.true_propensities is not None:
            dashes = {"color": "black", "linestyle": "--", "linewidth": 1.0}
            (self.true_line_,) = ax.plot(
                np.arange(len(self.true_propensities)),
                self.true_propensities,
                **axes.line_style(true_kwargs, label="true", **dashes),
            )
        self.lines_: list[Line2D] = []
        for (name, curve), style in zip(self.propensities.items(), styles, strict=True):
            errors = self.standard_errors.get(name)
            position = np.arange(len(curve))
            self.lines_.append(ax.errorbar(position, curve, yerr=errors, **style))
        axes.set_integer_ticks(ax.xaxis)
        ax.set_ylim(bottom=0)
        has_errors = any(np.isfinite(e).any() for e in self.standard_errors.values())
        y = f"propensity{' ± standard error' if has_errors else ''}"
        self._label_curves("position (0 is shown first)", y)
        return self


def read_curve(values: ArrayLike, argument: str, n: int | None = None) -> FloatArray:
    """Return numbers >= 0 or NaN; raise a ValueError for others."""
    curve = read_items(values, argument, "position", n, finite=False)
    valid = np.isnan(curve) | ((curve >= 0) & (curve < np.inf))
    requirement = f"{argument} must be finite and >= 0, or NaN"
    check_each(valid, curve, lambda number: f"position {number}", requirement)
    return curve
