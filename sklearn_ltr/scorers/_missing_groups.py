"""The error for groups that did not reach a scorer, and how it stops a search."""

from __future__ import annotations

import inspect
from types import FrameType

from sklearn import get_config

from sklearn_ltr._data.cross_validation import is_of, loop_options


class MissingGroupsError(BaseException):
    """`groups` did not reach a ranking scorer.

    It is raised as a :class:`ValueError` too, except from a loop of scikit-learn that
    would turn an :class:`Exception` of a scorer into its ``error_score``, NaN by
    default.  A search whose scores are all NaN reports its first candidate as the best.
    There it derives from :class:`BaseException` only, as
    :class:`asyncio.CancelledError` does, and so ends the search.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.scorers import MissingGroupsError, make_ranking_scorer
    >>> ranker = LambdaMARTRanker(n_estimators=1)
    >>> ranker = ranker.fit([[1.0], [2.0]], [0, 1], groups=[7, 7])
    >>> try:
    ...     make_ranking_scorer("ndcg@10")(ranker, [[1.0], [2.0]], [0, 1])
    ... except MissingGroupsError:
    ...     print("a scorer needs groups")
    a scorer needs groups
    """


class MissingGroupsValueError(MissingGroupsError, ValueError):
    """The :class:`MissingGroupsError` that is an ordinary error."""


def missing_groups_error(scorer: object) -> MissingGroupsError:
    """Return the error with the likely cause of missing groups and the remedy."""
    if get_config()["enable_metadata_routing"]:
        cause = (
            "They were not passed: give groups= to the fit of a search, "
            'params={"groups": groups} to cross_validate and its siblings.'
        )
    else:
        cause = (
            "Metadata routing is off, and scikit-learn then hands groups to the "
            "splitter only: call sklearn.set_config(enable_metadata_routing=True) "
            "once, before."
        )
    message = (
        f"{scorer!r} got no groups. {cause} In a call of your own, give groups=, one "
        "value per row. To functions that never hand them on, such as "
        "permutation_importance, give functools.partial(scorer, groups=groups)."
    )
    if becomes_a_score(inspect.currentframe()):
        return MissingGroupsError(message)
    return MissingGroupsValueError(message)


def becomes_a_score(frame: FrameType | None) -> bool:
    """Return whether scikit-learn makes an exception raised in this frame a score.

    In its scoring loops any `error_score` but "raise" stands in for the score.  Frames
    below those of scikit-learn are the scorer's, and of functions that wrap it.
    Whoever called scikit-learn may catch exceptions.
    """
    while frame and not is_of(frame, "sklearn"):
        frame = frame.f_back
    return any(
        not (isinstance(error_score, str) and error_score == "raise")
        for error_score in loop_options(frame)
    )
