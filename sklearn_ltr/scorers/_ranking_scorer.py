"""The scorer object: scikit-learn's scorer signature, and its metadata requests."""

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

ResponseMethod = Literal["predict", "predict_proba", "decision_function"]
Metrics = str | Metric | Iterable[str | Metric] | Mapping[str, str | Metric]
Request = bool | str | None

RESPONSE_METHODS = ("predict", "predict_proba", "decision_function")


class MissingGroupsError(BaseException):
    """`groups` did not reach a ranking scorer.

    It derives from :class:`BaseException`, as :class:`asyncio.CancelledError` does: a
    search turns any :class:`Exception` of a scorer into NaN with a warning, and then
    reports its first candidate as the best.
    """


class RankingScorer:
    """A scorer made by :func:`make_ranking_scorer`, which documents its arguments.

    Attributes
    ----------
    metrics : dict of Metric
        The metrics, by name.
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
        self._requests: dict[str, Request] = {
            "groups": True,
            "sample_weight": None,
            "init_score": True,
        }

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        init_score: Any = None,
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
        init_score : array-like of shape (n_documents,), default=None
            Passed on to the estimator's `predict` if given: F_0 of each document, for a
            LambdaMARTRanker that was fitted with the `init_score` of its own.

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
        given = {} if init_score is None else {"init_score": init_score}
        scores = _response(estimator, X, self.response_method, **given)
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
        init_score: Request = UNCHANGED,
    ) -> RankingScorer:
        """Set which metadata a search passes to this scorer (metadata routing).

        Parameters
        ----------
        groups : bool, str or None, default=sklearn.utils.metadata_routing.UNCHANGED
            A name: metadata of this name are the groups.  True (the default): those
            named ``groups``.
        sample_weight : bool, str or None, \
default=sklearn.utils.metadata_routing.UNCHANGED
            True: weigh queries; False: do not; None (the default): an error if weights
            are passed.  A name: metadata of this name are the weights.
        init_score : bool, str or None, default=sklearn.utils.metadata_routing.UNCHANGED
            True (the default): pass ``init_score`` on to `predict`.

        Returns
        -------
        self : RankingScorer

        Raises
        ------
        ValueError
            If a request is none of these.
        """
        requests = {
            "groups": groups,
            "sample_weight": sample_weight,
            "init_score": init_score,
        }
        for name, request in requests.items():
            if request != UNCHANGED:
                self.get_metadata_routing().score.add_request(param=name, alias=request)
                self._requests[name] = request
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata requests of this scorer."""
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
        return MissingGroupsError(
            f"{self!r} got no groups. {cause} In a call of your own, give groups=, one "
            "value per row. To functions that never hand them on, such as "
            "permutation_importance, give functools.partial(scorer, groups=groups)."
        )

    def _accept_sample_weight(self) -> bool:
        # scikit-learn calls this on scorers in a dict while routing is disabled
        return True


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


def _response(
    estimator: Any, X: Any, method: ResponseMethod, **given: Any
) -> NDArray[Any]:
    """Return the scores that documents are ranked by."""
    response = np.asarray(getattr(estimator, method)(X, **given))
    if method == "predict_proba":
        return np.asarray(response @ np.asarray(estimator.classes_))
    return response
