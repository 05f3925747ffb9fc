"""Scorers for scikit-learn's searches and cross-validation, which bring their groups.

The score of a model is the mean of a metric Z over queries q, each counting once or its
weight::

    score(model, X, y)  =  sum_q w_q Z(y_q as model.predict(X_q) ranks it)  /  sum_q w_q

A scorer of this room requests ``groups`` from the start: once metadata routing is on,
no further call is needed.  Without ``groups`` there is no such mean, and so no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from sklearn_ltr._queries import (
    QueryGroups,
    check_grades,
    check_sample_weight,
    check_scores,
)
from sklearn_ltr.metrics import Metric, get_metric

__all__ = ["MissingGroupsError", "RankingScorer", "make_ranking_scorer"]

ResponseMethod = Literal["predict", "predict_proba", "decision_function"]
Metrics = str | Metric | Iterable[str | Metric] | Mapping[str, str | Metric]
Request = bool | str | None

RESPONSE_METHODS = ("predict", "predict_proba", "decision_function")


class MissingGroupsError(BaseException):
    """`groups` did not reach a ranking scorer.

    It derives from :class:`BaseException`, as :class:`asyncio.CancelledError` does, so
    that nothing takes it for the failure of one setting: of any :class:`Exception` in a
    scorer a search makes NaN, warns, and calls its first candidate the best.
    """


class RankingScorer:
    """What :func:`make_ranking_scorer` returns; its arguments are told there.

    Attributes
    ----------
    metrics : dict of Metric
        What is measured, by name.
    """

    def __init__(self, metric: Metrics, response_method: ResponseMethod) -> None:
        if response_method not in RESPONSE_METHODS:
            raise ValueError(
                f"response_method must be one of {RESPONSE_METHODS}, got "
                f"{response_method!r}"
            )
        self.metrics = _by_name(metric)
        self._shown = metric if isinstance(metric, str | Metric) else self.metrics
        self.response_method = response_method
        self._requests: dict[str, Request] = {"groups": True, "sample_weight": None}

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> float | dict[str, float]:
        """Score a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with the method that `response_method` names.
        X : array-like of shape (n_documents, n_features)
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0.
        groups : array-like of shape (n_documents,)
            The query of each document: any hashable values, in any row order.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the mean, constant within it.

        Returns
        -------
        score : float, or dict of float by name if there are several metrics

        Raises
        ------
        MissingGroupsError
            Without `groups`.
        ValueError
            For any other fault, naming the argument, and the row and query where there
            is one.
        """
        if groups is None:
            raise self._missing_groups()
        scores = _response(estimator, X, self.response_method)
        queries = QueryGroups.from_groups(groups, len(scores))
        grades = check_grades(y, queries)
        weights = check_sample_weight(sample_weight, queries)
        source = f"{type(estimator).__name__}.{self.response_method}(X)"
        scores = check_scores(scores, queries, source)
        values = {
            name: metric.bind(grades, queries.offsets, queries.labels).mean(
                scores, weights
            )
            for name, metric in self.metrics.items()
        }
        return values if isinstance(self._shown, dict) else next(iter(values.values()))

    def set_score_request(
        self,
        *,
        groups: Request = UNCHANGED,
        sample_weight: Request = UNCHANGED,
    ) -> RankingScorer:
        """Say what a search should hand to this scorer (metadata routing).

        Parameters
        ----------
        groups : bool, str or None, default=sklearn.utils.metadata_routing.UNCHANGED
            A name: look for groups under it.  True (from the start): as ``groups``.
        sample_weight : bool, str or None, \
default=sklearn.utils.metadata_routing.UNCHANGED
            True: weigh queries; False: do not; None (from the start): refuse weights
            until one of them is said.  A name: look for weights under it.

        Returns
        -------
        self : RankingScorer

        Raises
        ------
        ValueError
            If a request is none of these.
        """
        for name, request in (("groups", groups), ("sample_weight", sample_weight)):
            if request != UNCHANGED:
                self.get_metadata_routing().score.add_request(param=name, alias=request)
                self._requests[name] = request
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what this scorer requests, for scikit-learn to read."""
        routing = MetadataRequest(owner=repr(self))
        for name, request in self._requests.items():
            routing.score.add_request(param=name, alias=request)
        return routing

    def __sklearn_clone__(self) -> RankingScorer:
        """Return a copy, requests included."""
        return deepcopy(self)

    def __repr__(self) -> str:
        """Return the call that makes this scorer."""
        method = self.response_method
        option = "" if method == "predict" else f", response_method={method!r}"
        return f"make_ranking_scorer({self._shown!r}{option})"

    def _missing_groups(self) -> MissingGroupsError:
        """Return the error that says why groups may be missing, and what to do."""
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
        return MissingGroupsError(
            f"{self!r} got no groups. {cause} In a call of your own, give groups=, one "
            "value per row. To functions that never hand them on, such as "
            "permutation_importance, give functools.partial(scorer, groups=groups)."
        )

    def _accept_sample_weight(self) -> bool:
        # asked of scorers in a dict while routing is off; an AttributeError otherwise
        return True


def make_ranking_scorer(
    metric: Metrics = "ndcg@10", *, response_method: ResponseMethod = "predict"
) -> RankingScorer:
    """Make a scorer: rank the documents of each query, average a metric over queries.

    It has scikit-learn's signature, ``scorer(estimator, X, y, *, groups,
    sample_weight=None)``, and goes wherever a `scoring` is taken.  With metadata
    routing on it gets its groups by itself, from ``search.fit(X, y, groups=groups)`` or
    ``cross_validate(..., params={"groups": groups})``.

    Parameters
    ----------
    metric : str or Metric, or several of them, default="ndcg@10"
        A name (``"ndcg@10"``, ``"map"``, ``"mrr@10"``, ``"err@20"``, ...) or a metric
        object.  Of a list, or a dict by name, the scorer returns all values in a dict,
        and asks the estimator but once; a search needs one of the names as `refit`.
    response_method : {"predict", "predict_proba", "decision_function"}, \
default="predict"
        What to rank by.  For classifiers: "predict" leaves ties, which count against
        the model; "predict_proba" ranks by the expected grade, sum_g g P(g | x) over
        the grades in ``classes_`` [1]_.

    Returns
    -------
    scorer : RankingScorer
        Its method `set_score_request` has it weigh queries
        (``sample_weight=True``), or look for groups under another name
        (``groups="qid"``).

    Raises
    ------
    ValueError, TypeError
        If a metric is not known, two of a list have the same name, there is none, or
        `response_method` is none of those above.

    Notes
    -----
    Without groups the scorer raises :class:`MissingGroupsError`, also inside searches.

    Queries should stay whole.  Use a splitter that keeps them so (GroupKFold,
    GroupShuffleSplit, ...): scikit-learn's default, KFold, cuts them, and shorter lists
    are easier to rank.  Successive halving draws single rows unless its `resource` is
    another one (``"n_estimators"``, ``"max_iter"``); ``learning_curve`` takes the first
    rows, so sort them by query, and do not shuffle.

    Functions that never hand on groups, such as ``permutation_importance``, take the
    scorer with the groups of their rows in it: ``functools.partial(scorer,
    groups=groups)``.

    References
    ----------
    .. [1] P. Li, C. Burges and Q. Wu, "McRank: Learning to Rank Using Multiple
       Classification and Gradient Boosting", NIPS 2007.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV, GroupKFold
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr.scorers import make_ranking_scorer
    >>> data = make_ranking(30, random_state=0)
    >>> X, y, groups = data.data, data.target, data.groups
    >>> search = GridSearchCV(
    ...     LambdaMARTRanker(random_state=0),
    ...     {"n_estimators": [1, 30]},
    ...     scoring=make_ranking_scorer("ndcg@10"),
    ...     cv=GroupKFold(3),
    ... )
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = search.fit(X, y, groups=groups)
    >>> search.best_params_
    {'n_estimators': 30}
    >>> list(make_ranking_scorer(["ndcg@10", "map"])(search, X, y, groups=groups))
    ['ndcg@10', 'map']
    """
    return RankingScorer(metric, response_method)


def _by_name(metric: Metrics) -> dict[str, Metric]:
    """Return the metrics of a scorer by name, at least one."""
    if isinstance(metric, Mapping):
        named = {name: get_metric(one) for name, one in metric.items()}
    elif isinstance(metric, str | Metric) or not isinstance(metric, Iterable):
        one = get_metric(metric)
        named = {one.name: one}
    else:
        several = [get_metric(one) for one in metric]
        named = {one.name: one for one in several}
        if len(named) < len(several):
            raise ValueError(
                f"metric has two of one name, {[one.name for one in several]}; give a "
                "dict with a name for each"
            )
    if not named:
        raise ValueError("metric is empty: give at least one")
    return named


def _response(estimator: Any, X: Any, method: ResponseMethod) -> NDArray[Any]:
    """Return what documents are ranked by."""
    response = np.asarray(getattr(estimator, method)(X))
    if method == "predict_proba":
        return np.asarray(response @ np.asarray(estimator.classes_))
    return response
