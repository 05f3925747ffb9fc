"""What learns inside searches and Pipelines, and what it is given."""

from __future__ import annotations

from typing import Any


def last_step(estimator: Any, names: Any = None) -> tuple[Any, Any]:
    """Find what learns inside searches and Pipelines, and what it calls its columns.

    Parameters
    ----------
    estimator : estimator instance
        Fitted.
    names : array-like of str or None
        Columns of what `estimator` was given, where they are known from outside.

    Returns
    -------
    learner : estimator instance
    names : array-like of str or None
        None: the steps before it do not say.
    """
    if hasattr(estimator, "best_estimator_"):
        return last_step(estimator.best_estimator_, names)
    if not hasattr(estimator, "steps"):
        return estimator, getattr(estimator, "feature_names_in_", names)
    before = estimator[:-1]
    if len(before):
        try:
            names = before.get_feature_names_out(names)
        except AttributeError:  # a step without that method
            names = None
    return last_step(estimator.steps[-1][1], names)


def table_of_last_step(estimator: Any, X: Any) -> Any:
    """Return what the steps before make of X."""
    if hasattr(estimator, "best_estimator_"):
        return table_of_last_step(estimator.best_estimator_, X)
    if not hasattr(estimator, "steps"):
        return X
    before = estimator[:-1]
    return table_of_last_step(
        estimator.steps[-1][1], before.transform(X) if len(before) else X
    )
