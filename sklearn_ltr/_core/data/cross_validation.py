"""Warn if scikit-learn's cross-validation cuts queries apart.

Splitters such as KFold draw single rows.  Then a model trains on some documents of a
query and scores the others, as a shorter list.  The score looks plausible.

Equal query ids in training and test data do not prove a cut: they may be numbered from
0 in each file.  But scikit-learn's loops get all rows, with one column of groups, in
one call.  So rankers remember the queries of the last fit, without saving or copying
them, and compare inside these loops.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Hashable
from types import FrameType

from sklearn.base import BaseEstimator

from sklearn_ltr._core.data.groups import QueryGroups, QueryIds
from sklearn_ltr._core.parts import nested
from sklearn_ltr._core.typing import IntArray

# Labels of the queries, and the documents of each, (n_queries,)
KnownQueries = tuple[QueryIds, IntArray]

CUT = (
    "the splitter cuts queries apart: {n_cut} of {n_scored} scored queries, such as "
    "query {example}, have other documents among the training rows. Shorter lists are "
    "easier to rank, and the model has seen the query, so the score is not that of new "
    "queries: use a splitter that keeps queries whole, such as cv=GroupKFold(5)"
)


class SplitQueriesWarning(UserWarning):
    """Warning: cross-validation trains and scores on documents of the same query.

    Examples
    --------
    >>> import warnings
    >>> import sklearn
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> from sklearn_ltr import LambdaMARTRanker, SplitQueriesWarning
    >>> from sklearn_ltr.datasets import make_ranking
    >>> data = make_ranking(10, random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     with warnings.catch_warnings(record=True) as caught:
    ...         warnings.simplefilter("always")
    ...         scores = cross_val_score(
    ...             LambdaMARTRanker(n_estimators=1, random_state=0),
    ...             data.data,
    ...             data.target,
    ...             cv=KFold(2, shuffle=True, random_state=0),
    ...             params={"groups": data.groups},
    ...         )
    >>> {warning.category for warning in caught} == {SplitQueriesWarning}
    True
    """


def warn_if_cut(estimator: BaseEstimator, scored: QueryGroups) -> None:
    """Warn if a loop of scikit-learn scores other rows of a query trained on."""
    # Scores of the training data themselves, with whole queries, raise no warning.  The
    # ranker may be inside of Pipelines and searches; other estimators have no groups.
    known = (getattr(part, "_trained_queries", None) for part in nested(estimator))
    trained: KnownQueries | None = next(filter(None, known), None)
    if trained is None or not is_called_by_loop(caller_of_package()):
        return
    query_ids, sizes = trained
    size = dict(zip(as_list(query_ids), sizes.tolist(), strict=True))
    found = [size.get(label) for label in as_list(scored.query_ids)]
    cut = [query for query, n_documents in enumerate(found) if n_documents]
    if cut and found != scored.sizes.tolist():
        message = CUT.format(
            n_scored=scored.n_queries, n_cut=len(cut), example=scored.describe(cut[0])
        )
        warnings.warn(message, SplitQueriesWarning, stacklevel=2)


def as_list(query_ids: QueryIds) -> list[Hashable]:
    """Return ids as a list of hashable objects."""
    return list(getattr(query_ids, "tolist", lambda: query_ids)())


def caller_of_package() -> FrameType | None:
    """Return the frame that called this package."""
    frame = inspect.currentframe()
    while frame and is_of(frame, "sklearn_ltr"):
        frame = frame.f_back
    return frame


def is_called_by_loop(frame: FrameType | None) -> bool:
    """Return whether a frame belongs to one of scikit-learn's loops, or is in one."""
    # GridSearchCV.fit, cross_validate, learning_curve and the like, and the functions
    # that they run in other processes; but a search's own `score` is not a loop
    while frame and is_of(frame, "sklearn"):
        if is_of(frame, "sklearn.model_selection") and frame.f_code.co_name != "score":
            return True
        frame = frame.f_back
    return False


def is_of(frame: FrameType, package: str) -> bool:
    """Return whether a frame runs code of a package."""
    name: str = frame.f_globals.get("__name__", "")
    return f"{name}.".startswith(f"{package}.")
