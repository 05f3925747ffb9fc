"""Bagging of rankers: queries are drawn whole, and scores are averaged."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._estimators.base import refit
from sklearn_ltr._parameters import count_of
from sklearn_ltr._rankers._part_scores import predict_scores
from sklearn_ltr.ensemble._bagging_parameters import BaggingParameters
from sklearn_ltr.ensemble._members import (
    MembersData,
    draw_queries,
    fit_members,
    new_member,
    read_members_data,
)
from sklearn_ltr.ensemble._merging import merge_rankers
from sklearn_ltr.ensemble._out_of_bag import OutOfBag, out_of_bag
from sklearn_ltr.ensemble._scores import deviations, mean_scores
from sklearn_ltr.metrics import Metric, get_metric

FloatArray = NDArray[np.float64]


class BaggingRanker(BaggingParameters):
    r"""The mean of rankers trained with different seeds, or on different queries.

    .. math::

        s_i = \frac{1}{M} \sum_{m=1}^{M} s^m_i.

    The members differ in what is random in their training: for LambdaMART the noise of
    the splits, `bagging_temperature` and `score_noise`, for networks the initial
    weights.  With `max_samples` below 1 or `bootstrap`, each member is also trained on
    queries of its own, and those left out estimate the metric on new queries.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A ranker, a Pipeline that ends in one, or a regressor, which is fitted without
        groups.  None: ``LambdaMARTRanker()``.
    n_estimators : int >= 1, default=10
        Number of members, M.
    max_samples : float in (0, 1] or int >= 1, default=1.0
        Queries drawn for each member: a fraction or a number.
    bootstrap : bool, default=False
        Draw queries with replacement; one that is drawn twice counts as two queries.
    oob_score : bool, default=False
        Whether to score the documents of each query by the members that were not
        trained on it.
    metric : str or Metric, default="ndcg@10"
        The metric that `score` and the out-of-bag estimate report: a name or a metric
        object.  What the members are trained for is a parameter of `estimator`.
    random_state : int, RandomState instance or None, default=None
        Seed of the queries drawn and of every `random_state` of the members, also
        within a Pipeline.  Only an integer makes two fits the same.
    verbose : int >= 0, default=0
        Print how many members are fitted, as joblib does.
    n_jobs : int or None, default=None
        Number of members fitted at the same time, in threads; each then uses one thread
        unless its own `n_jobs` is set.  None: one after the other, each with as many
        threads as it wants.  The model is the same, bit for bit, for any.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    estimators_queries_ : list of ndarrays of shape (n_drawn,), int64
        Indices, in the sorted group values, of the queries that each member was
        trained on; ascending, with repetitions if `bootstrap`.
    oob_score_ : float
        With ``oob_score=True``, as all attributes below: mean of the metric over the
        queries that at least one member was not trained on.
    oob_per_query_ : ndarray of shape (n_queries,), float64
        The metric of each query, in the order of the sorted group values; NaN for
        queries that all members were trained on, and for those that the metric leaves
        out.
    oob_prediction_ : ndarray of shape (n_documents,), float64
        Mean score of each document by these members; NaN where there is none.
    oob_staged_score_ : ndarray of shape (n_trees,), float64, or None
        `oob_score_` after 1, 2, ... trees of every member, to choose the number of
        trees by; None if a member is not made of trees.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if all were strings.
    feature_importances_ : ndarray of shape (n_features,), float64
        Mean of the members' importances, if they have any.

    References
    ----------
    L. Breiman, "Bagging predictors", Machine Learning 24(2), 1996.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr.ensemble import BaggingRanker
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> X, y, groups = data.data, data.target, data.groups
    >>> trees = LambdaMARTRanker(n_estimators=20)
    >>> ranker = BaggingRanker(
    ...     trees, n_estimators=5, max_samples=0.8, oob_score=True, random_state=0
    ... ).fit(X, y, groups=groups)
    >>> ranker.oob_staged_score_.shape, ranker.oob_score_ > 0.5
    ((20,), True)
    """

    _fitted_state: ClassVar[tuple[str, ...]] = ("estimators_", "estimators_queries_")

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: float = 1.0,
        bootstrap: bool = False,
        oob_score: bool = False,
        metric: str | Metric = "ndcg@10",
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.metric = metric
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by `fit`."""
        return int(self.estimators_[0].n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features seen by `fit`."""
        names: NDArray[np.object_] = self.estimators_[0].feature_names_in_
        return names

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean of the members' importances, (n_features,) float64."""
        members = self._fitted().estimators_
        shares = np.array([member.feature_importances_ for member in members])
        return np.asarray(shares.mean(axis=0))

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of `estimator`.
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0.
        groups : array-like of shape (n_documents,), default=None
            The query of each document: any sortable values, in any row order.  None:
            all belong to one query, with a :class:`MissingGroupsWarning`.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, constant within it.  Rankers of this package are fitted
            with it; others if they request it (metadata routing).
        X_val, y_val, groups_val, sample_weight_val : array-likes, default=None
            Passed to members that request them: validation data, tuples of several.

        Returns
        -------
        self : BaggingRanker

        Raises
        ------
        ValueError, TypeError
            For an invalid parameter, invalid grades or weights, ``oob_score=True``
            where no query is left out, or whatever a member refuses.  The estimator
            is then unchanged.
        """
        with refit(self) as model:
            model._check_parameters()
            model._draw_seed()
            validation = (X_val, y_val, groups_val, sample_weight_val)
            data = read_members_data(X, y, groups, sample_weight, validation)
            model._fit_members(data)
            for name in OutOfBag._fields:
                model.__dict__.pop(f"oob_{name}_", None)
            if model.oob_score:
                metric = get_metric(model.metric)
                estimate = out_of_bag(
                    model.estimators_, model.estimators_queries_, data, metric
                )
                for name, value in estimate._asdict().items():
                    setattr(model, f"oob_{name}_", value)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Score documents; scores are comparable within a query.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of the members.

        Returns
        -------
        scores : ndarray of shape (n_documents,), float64
            The mean of the members' scores; higher is ranked first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            For what a member refuses, or scores that are not finite.
        """
        return mean_scores(predict_scores(self._fitted().estimators_, X, "estimators_"))

    def predict_std(self, X: Any, *, groups: Any = None) -> FloatArray:
        r"""Compute how much the members disagree about the score of each document.

        .. math::

            \sqrt{\tfrac{1}{M} \sum_m (t^m_i - \bar t_i)^2}, \qquad
            t^m_i = s^m_i - \text{mean of } s^m \text{ over the query of } i.

        A member's mean score of a query is subtracted because it does not change the
        order.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of the members.
        groups : array-like of shape (n_documents,), default=None
            The query of each document; None: all belong to one query.

        Returns
        -------
        deviations : ndarray of shape (n_documents,), float64
            In units of the scores.

        Raises
        ------
        NotFittedError, ValueError
            As `predict`, and for invalid groups.
        """
        scores = predict_scores(self._fitted().estimators_, X, "estimators_")
        return deviations(scores, groups)

    def merge(self) -> LambdaMARTRanker:
        """Return the trees of all members as one ranker, with the same scores.

        Leaf values are divided by the number of members, so the scores are those of
        `predict` up to rounding.  The ranker has the parameters of the first member,
        but for `n_estimators`, the number of all trees.

        Returns
        -------
        ranker : LambdaMARTRanker

        Raises
        ------
        NotFittedError
            Before `fit`.
        TypeError, ValueError
            If a member is no LambdaMARTRanker, or has a base model (`init`).
        """
        return merge_rankers(self._fitted().estimators_)

    def _fit_members(self, data: MembersData) -> None:
        """Set `estimators_` and `estimators_queries_`."""
        n_queries = data.queries.n_queries
        n_drawn = count_of(self.max_samples, n_queries, "max_samples", "queries")
        members, drawn = [], []
        for m in range(self.n_estimators):
            rng = np.random.default_rng([self._seed, m])
            drawn.append(draw_queries(rng, n_queries, n_drawn, self.bootstrap))
            members.append(new_member(self._estimator(), rng))
        self.estimators_ = fit_members(members, drawn, data, self.n_jobs, self.verbose)
        self.estimators_queries_ = drawn
        self._trained_queries = data.queries.labels, data.queries.sizes
