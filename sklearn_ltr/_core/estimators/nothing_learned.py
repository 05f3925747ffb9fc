"""The warning of trees and networks that have learned nothing."""

from __future__ import annotations


class NothingLearnedWarning(UserWarning):
    """Warning: the fitted model gives all rows the same score.

    The message says why: few rows, features that are constant, or the like.

    Examples
    --------
    >>> import warnings
    >>> from sklearn_ltr import LambdaMARTRanker, NothingLearnedWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ranker = LambdaMARTRanker(n_estimators=1).fit(
    ...         [[3.0], [3.0]], [0, 1], groups=[7, 7]
    ...     )
    >>> caught[0].category is NothingLearnedWarning
    True
    """
