"""The scorer: scikit-learn's signature, its metadata requests, and its own error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import fields
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from sklearn_ltr._core.data import (
    QueryGroups,
    check_scores,
    count_rows,
    read_numbers,
)
from sklearn_ltr._core.data.cross_validation import warn_if_cut
from sklearn_ltr._core.data.labels import check_label
from sklearn_ltr._core.data.rows import n_rows
from sklearn_ltr._core.data.training_data import read_one_label
from sklearn_ltr._core.other_libraries import METRIC_ARGUMENTS
from sklearn_ltr._core.parameters import Choice
from sklearn_ltr._core.typing import IdsLike, MatrixLike
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.metrics._arguments import explain_options
from sklearn_ltr.metrics._metric import METRICS, warn_if_all_relevant

ResponseMethod = Literal["predict", "predict_proba", "decision_function"]
MetricLike = str | Metric
Metrics = MetricLike | Iterable[MetricLike] | Mapping[str, MetricLike]
RequestValue = bool | str | None

RESPONSE_METHODS = Choice(*get_args(ResponseMethod))
DEFAULT_REQUESTS: dict[str, RequestValue] = {
    "groups": True,
    "sample_weight": None,
    "init_score": True,
}

_OPTION = (
    "metric",
    'with its options: "ndcg@10", or an object as NDCG(10, gain="linear")',
)
OTHER_ARGUMENTS = (
    METRIC_ARGUMENTS
    | {option.name: _OPTION for metric in METRICS.values() for option in fields(metric)}
    | {
        "groups": ("", "they go to fit of the search, or to the scorer's call"),
        "sample_weight": ("", "see set_score_request of the scorer"),
        "greater_is_better": ("", "all metrics are; leave it out"),
        "needs_proba": ("response_method", '"predict_proba"'),
        "needs_threshold": ("response_method", '"decision_function"'),
    }
)


@partial(explain_options, others=OTHER_ARGUMENTS)
def make_ranking_scorer(
    metric: Metrics = "ndcg@10",
    *,
    response_method: ResponseMethod = "predict",
    label: int | str | None = None,
) -> RankingScorer:
    """Make a scorer for searches: the mean of a ranking metric over queries.

    It has scikit-learn's signature, ``scorer(estimator, X, y, *, groups,
    sample_weight=None)``, and can be given as any `scoring`.  With metadata routing on,
    it gets groups from ``search.fit(X, y, groups=groups)`` or
    ``cross_validate(..., params={"groups": groups})``.

    Parameters
    ----------
    metric : str or Metric, or several of them, default="ndcg@10"
        A name (``"ndcg@10"``, ``"map"``, ``"mrr@10"``, ``"err@20"``, ...) or a metric
        object.  Of a list, or a dict by name, the scorer returns all values in a dict,
        and calls the estimator once; a search needs one of the names as `refit`.
    response_method : {"predict", "predict_proba", "decision_function"}, \
default="predict"
        Method whose result ranks the documents.  For classifiers: "predict" leaves
        ties, which count against the model; "predict_proba" ranks by the expected
        grade, sum_g g P(g | x) over the grades in ``classes_`` [1]_.
    label : int or str or None, default=None
        Of a y with a column for each of several labels, the one to measure: its number,
        or its name in a DataFrame.  Documents that it has not judged (NaN) are left
        out, as if they were not there.  None: y is of one label.

    Returns
    -------
    scorer : RankingScorer
        Its method `set_score_request` makes it weigh queries
        (``sample_weight=True``), or take groups from metadata of another name
        (``groups="qid"``).

    Raises
    ------
    ValueError, TypeError
        If a metric is not known, two of a list have the same name, there is none, or
        `response_method` or `label` is none of those above.

    Notes
    -----
    Without groups the scorer raises :class:`MissingGroupsError`.  After any error of a
    scorer, searches, ``cross_validate`` and the like take their `error_score`, NaN by
    default, as the score, and warn with the message of the error.  A search whose
    scores are all NaN reports its first candidate as the best.  With
    ``error_score="raise"`` it ends with the error instead.

    Use a splitter that keeps queries whole (GroupKFold, GroupShuffleSplit, ...):
    scikit-learn's default, KFold, cuts them, and shorter lists are easier to rank.  For
    rankers of this package the scorer warns of cut queries from the second fold on
    (:class:`sklearn_ltr.SplitQueriesWarning`); it cannot check other models, or
    predictions of ``cross_val_predict``.  Successive halving draws single rows
    unless its `resource` is another one (``"n_estimators"``, ``"max_iter"``);
    ``learning_curve`` takes the first rows, so sort them by query, and do not shuffle.

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
    return RankingScorer(metric, response_method, label)


class RankingScorer:
    """A scorer made by :func:`make_ranking_scorer`, which documents its arguments.

    Attributes
    ----------
    metrics : dict of Metric
        The metrics, by name.
    """

    def __init__(
        self,
        metric: Metrics,
        response_method: ResponseMethod,
        label: int | str | None = None,
    ) -> None:
        RESPONSE_METHODS.read_as("response_method", response_method)
        check_label(label)
        self._shown: MetricLike | list[MetricLike] | dict[str, MetricLike]
        if isinstance(metric, Mapping):
            self._shown = dict(metric)
            self.metrics = {name: get_metric(one) for name, one in metric.items()}
        elif isinstance(metric, str | Metric) or not isinstance(metric, Iterable):
            self._shown, one = metric, get_metric(metric)
            self.metrics = {one.name: one}
        else:
            self._shown = list(metric)
            several = [get_metric(one) for one in self._shown]
            self.metrics = {one.name: one for one in several}
            if len(self.metrics) < len(several):
                raise ValueError(
                    f"metric has two of one name, {[one.name for one in several]}: "
                    "give a dict with a name for each"
                )
        if not self.metrics:
            raise ValueError("metric is empty: give at least one")
        self.response_method, self.label = response_method, label
        self._requests: dict[str, RequestValue] = dict(DEFAULT_REQUESTS)

    def __call__(
        self,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
    ) -> float | dict[str, float]:
        """Score a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with the method that `response_method` names.
        X : array-like of shape (n_documents, n_features)
        y : array-like of shape (n_documents,), or with `label` (n_documents, n_labels)
            Relevance grades, finite and >= 0.
        groups : array-like of shape (n_documents,)
            The query of each document: numbers, text, dates, or tuples of these.
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
            For any other bad argument; the message names it, and the row and query if
            there is one.
        """
        if groups is None:
            raise missing_groups_error(self)
        given = {} if init_score is None else {"init_score": init_score}
        scores = _response(estimator, X, self.response_method, **given)
        source = f"{type(estimator).__name__}.{self.response_method}(X)"
        n_documents = count_rows(scores, source)
        if n_rows(groups) > n_documents:
            raise ValueError(
                f"groups has {n_rows(groups)} values for {n_documents} rows that are "
                "scored: score whole queries, with one value per row (a tool that "
                "draws rows, as permutation_importance does with max_samples, must "
                "take all of them: max_samples=1.0)"
            )
        queries = QueryGroups.from_groups(groups, n_documents)
        data, label = read_one_label(y, queries, self.label, sample_weight)
        warn_if_cut(estimator, data)
        checked = check_scores(scores, queries, source, only_order=True)
        own, values = label.data, {}
        for name, metric in self.metrics.items():
            bound = metric.bind(own.y, own.offsets, own.query_ids)
            warn_if_all_relevant(bound)
            values[name] = bound.mean(checked[label.rows], own.sample_weight)
        return next(iter(values.values())) if self._has_one else values

    def set_score_request(
        self,
        *,
        groups: RequestValue = UNCHANGED,
        sample_weight: RequestValue = UNCHANGED,
        init_score: RequestValue = UNCHANGED,
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

    def __eq__(self, other: object) -> bool:
        """Return whether the other is a scorer that does the same."""
        return type(other) is type(self) and self._identity() == other._identity()

    def __hash__(self) -> int:
        """Return a hash that a change of the requests does not change."""
        own = self._has_one, self.response_method, self.label
        return hash((tuple(self.metrics.items()), *own))

    def __repr__(self) -> str:
        """Return the call that makes this scorer."""
        method = self.response_method
        option = "" if method == "predict" else f", response_method={method!r}"
        option += "" if self.label is None else f", label={self.label!r}"
        changed = ", ".join(
            f"{name}={request!r}"
            for name, request in self._requests.items()
            if request != DEFAULT_REQUESTS[name]
        )
        requests = f".set_score_request({changed})" if changed else ""
        return f"make_ranking_scorer({self._shown!r}{option}){requests}"

    @property
    def _has_one(self) -> bool:
        """Whether the score is a number, not a dict."""
        return isinstance(self._shown, str | Metric)

    def _identity(self) -> tuple[object, ...]:
        own = self._has_one, self.response_method, self.label
        return self.metrics, *own, self._requests

    def _accept_sample_weight(self) -> bool:
        # scikit-learn calls this on scorers in a dict while routing is disabled
        return True


class MissingGroupsError(ValueError):
    """Error: `groups` did not reach a ranking scorer.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.scorers import MissingGroupsError, make_ranking_scorer
    >>> ranker = LambdaMARTRanker(n_estimators=1, subsample=1.0)
    >>> ranker = ranker.fit([[1.0], [2.0]], [0, 1], groups=[7, 7])
    >>> try:
    ...     make_ranking_scorer("ndcg@10")(ranker, [[1.0], [2.0]], [0, 1])
    ... except MissingGroupsError:
    ...     print("a scorer needs groups")
    a scorer needs groups
    """


def missing_groups_error(scorer: RankingScorer) -> MissingGroupsError:
    """Return the error with the likely cause of missing groups and the remedy."""
    if get_config()["enable_metadata_routing"]:
        cause = (
            "They were not passed: give groups= to the fit of a search, "
            'params={"groups": groups} to cross_validate and its siblings. A search '
            "that takes no part in metadata routing, such as Optuna's OptunaSearchCV, "
            "never hands them on."
        )
    else:
        cause = (
            "Metadata routing is off, and scikit-learn then hands groups to the "
            "splitter only: call sklearn.set_config(enable_metadata_routing=True) "
            "once, before."
        )
    return MissingGroupsError(
        f"{scorer!r} got no groups. {cause} In a call of your own, give groups=, one "
        "value per row. To functions that never hand them on, such as "
        "permutation_importance, give functools.partial(scorer, groups=groups)."
    )


def _response(
    estimator: BaseEstimator, X: MatrixLike, method: ResponseMethod, **given: ArrayLike
) -> ArrayLike:
    """Return the scores that documents are ranked by."""
    response: ArrayLike = getattr(estimator, method)(X, **given)
    if method != "predict_proba":
        return response
    name, classes = type(estimator).__name__, estimator.classes_
    source = f"{name}.classes_, the grades,"
    grades = read_numbers(classes, count_rows(classes, source), source)
    probabilities = np.asarray(response)
    if probabilities.ndim != 2 or probabilities.shape[1] != len(grades):
        raise ValueError(
            f"{name}.predict_proba(X) must hold one probability for each of the "
            f"{len(grades)} classes, got shape {probabilities.shape}"
        )
    return probabilities @ grades
