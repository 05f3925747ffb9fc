"""The function that makes scorers."""

from __future__ import annotations

from sklearn_ltr.scorers._ranking_scorer import Metrics, RankingScorer, ResponseMethod


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
        and calls the estimator once; a search needs one of the names as `refit`.
    response_method : {"predict", "predict_proba", "decision_function"}, \
default="predict"
        Method whose result documents are ranked by.  For classifiers: "predict" leaves
        ties, which count against the model; "predict_proba" ranks by the expected
        grade, sum_g g P(g | x) over the grades in ``classes_`` [1]_.

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
        `response_method` is none of those above.

    Notes
    -----
    Without groups the scorer raises :class:`MissingGroupsError`, also inside searches,
    whatever their `error_score` is: a search of NaN would report its first candidate.

    Queries should stay whole.  Use a splitter that keeps them so (GroupKFold,
    GroupShuffleSplit, ...): scikit-learn's default, KFold, cuts them, and shorter lists
    are easier to rank.  If the model is a ranker of this package, the scorer warns of
    it (:class:`sklearn_ltr.SplitQueriesWarning`); other models, and predictions of
    ``cross_val_predict``, cannot be checked.  Successive halving draws single rows
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
    return RankingScorer(metric, response_method)
