"""The model inside searches and Pipelines, and the X that reaches it."""

from __future__ import annotations

from typing import Any


def find_model(estimator: Any, feature_names: Any = None) -> tuple[Any, Any]:
    """Return the last step inside searches and Pipelines, and its feature names.

    Parameters
    ----------
    estimator : estimator instance
        Fitted.
    feature_names : array-like of str or None
        Names of the features that `estimator` has been given, if known.

    Returns
    -------
    model : estimator instance
    feature_names : array-like of str or None
        Names of the features that the model has been given.  None: they are not known.
    """
    if hasattr(estimator, "best_estimator_"):
        return find_model(estimator.best_estimator_, feature_names)
    if not hasattr(estimator, "steps"):
        return estimator, getattr(estimator, "feature_names_in_", feature_names)
    transformers = estimator[:-1]
    if len(transformers):
        try:
            feature_names = transformers.get_feature_names_out(feature_names)
        except AttributeError:  # a transformer without that method
            feature_names = None
    return find_model(estimator.steps[-1][1], feature_names)


def transform_for_model(estimator: Any, X: Any) -> Any:
    """Return X as transformed by the steps before the model of :func:`find_model`."""
    if hasattr(estimator, "best_estimator_"):
        return transform_for_model(estimator.best_estimator_, X)
    if not hasattr(estimator, "steps"):
        return X
    transformers = estimator[:-1]
    if len(transformers):
        X = transformers.transform(X)
    return transform_for_model(estimator.steps[-1][1], X)
