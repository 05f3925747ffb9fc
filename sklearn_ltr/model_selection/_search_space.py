"""Settings of LambdaMARTRanker to search over."""

from __future__ import annotations


def lambdamart_search_space(prefix: str = "") -> dict[str, list[float | str]]:
    """Return the parameters of LambdaMARTRanker to search over, and their values.

    They suit scikit-learn's ``HalvingRandomSearchCV`` with the number of trees as its
    resource: it tries many settings with few trees, then the better ones with three
    times as many, until one is left.  ``learning_rate`` is left out because a small
    rate looks bad with few trees; 0.05 with 300 trees is a good value.

    Parameters
    ----------
    prefix : str, default=""
        Put before the names: ``"lambdamartranker__"`` for a Pipeline made by
        ``make_pipeline``, ``"estimator__"`` for a BaggingRanker.

    Returns
    -------
    space : dict of lists
        ``max_leaf_nodes``, ``grow_policy``, ``min_samples_leaf``, ``max_features`` and
        ``regression_weight``, with all values equally likely.

    Raises
    ------
    TypeError
        If `prefix` is not a string.

    Examples
    --------
    >>> from sklearn import config_context
    >>> from sklearn.experimental import enable_halving_search_cv
    >>> from sklearn.model_selection import GroupKFold, HalvingRandomSearchCV
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr.model_selection import lambdamart_search_space
    >>> from sklearn_ltr.scorers import make_ranking_scorer
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> search = HalvingRandomSearchCV(
    ...     LambdaMARTRanker(learning_rate=0.05, random_state=0),
    ...     lambdamart_search_space(),
    ...     resource="n_estimators",
    ...     min_resources=2,
    ...     max_resources=18,
    ...     scoring=make_ranking_scorer("ndcg@10"),
    ...     cv=GroupKFold(2),
    ...     random_state=0,
    ... )
    >>> with config_context(enable_metadata_routing=True):
    ...     search = search.fit(data.data, data.target, groups=data.groups)
    >>> search.n_resources_, search.n_candidates_
    ([2, 6, 18], [9, 3, 1])
    >>> search.best_estimator_.n_iter_
    18
    """
    if not isinstance(prefix, str):
        raise TypeError(f"prefix must be a string, got {prefix!r}")
    values: dict[str, list[float | str]] = {
        "max_leaf_nodes": [4, 7, 15, 31, 63],
        "grow_policy": ["auto", "best_first", "symmetric"],
        "min_samples_leaf": [5, "auto", 50, 100, 200],
        "max_features": [0.5, 0.7, 1.0],
        "regression_weight": ["auto", 2.0, 10.0],
    }
    return {f"{prefix}{name}": distribution for name, distribution in values.items()}
