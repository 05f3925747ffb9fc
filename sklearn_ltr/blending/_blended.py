"""A ranker that is a blend of rankers (section 7.1 of the report)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._queries import check_grades, check_sample_weight, check_scores
from sklearn_ltr.blending._held_out import (
    PREFIT,
    fit_and_score_held_out,
    fitted_and_scores,
    splits_of,
)
from sklearn_ltr.blending._sweep import check_ties
from sklearn_ltr.blending._weights import (
    linear_lambdarank,
    sweep_in_turn,
    weighted_sum,
)
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.rankers import BaseRanker, read_queries

FloatArray = NDArray[np.float64]

METHODS = ("sweep", "lambdarank")


class BlendedRanker(BaseRanker):
    r"""A weighted sum of the scores of several rankers.

    .. math::

        s_i = \sum_m w_m s^m_i.

    The weights are chosen on scores of queries that the rankers have not learned from,
    by cross-validation; then every ranker learns from all queries.

    Parameters
    ----------
    rankers : list of estimators, two at least
        Rankers, or Pipelines that end in one.  Regressors too: they learn without
        groups.
    metric : str or Metric, default="ndcg@10"
        What the blend is chosen by and reports: a name or a metric object.
    method : {"sweep", "lambdarank"}, default="sweep"
        How the weights are chosen.  "sweep": of two rankers the best of all blends with
        weights >= 0, exactly (:func:`best_blend`); of more, the best blend of the blend
        so far and one ranker more, in turn, until no ranker improves it.  "lambdarank":
        a linear LambdaRank learns them, without that guarantee, from scores that have
        been standardised; weights may be negative.
    cv : int, splitter, iterable of splits or "prefit", default=None
        How queries are held out: the number of folds of a GroupKFold, a splitter of
        scikit-learn's, or pairs of (rows to learn from, rows to score) in which each
        row is scored once.  None: five folds.  "prefit": the rankers are fitted
        already, and the data given to `fit` only choose the weights.
    n_jobs : int or None, default=None
        Folds at a time, as in :func:`sklearn.model_selection.cross_val_predict`.
    random_state : int, RandomState instance or None, default=None
        Of "lambdarank"; the rankers have their own.

    Attributes
    ----------
    rankers_ : list of estimators
        The rankers, fitted.
    weights_ : ndarray of shape (n_rankers,), float64
        Of their scores; the absolute values add up to 1.
    blend_score_ : float
        The metric of the blend of the scores that it was chosen on.
    curve_ : BlendCurve or None
        The metric of every blend, if there are two rankers and `method` is "sweep".
    n_features_in_ : int
        Number of columns at `fit`, as the first ranker tells.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they were strings.

    See Also
    --------
    best_blend : The best blend of scores at hand.

    Notes
    -----
    Clones are not fitted, so a search or a cross-validation cannot use
    ``cv="prefit"``, unless the rankers are wrapped in
    :class:`sklearn.frozen.FrozenEstimator`.

    References
    ----------
    Q. Wu, C. Burges, K. Svore and J. Gao, "Adapting boosting for information retrieval
    measures", Information Retrieval 13(3), 2010.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.blending import BlendedRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> X, y, groups = data.data, data.target, data.groups
    >>> trees = LambdaMARTRanker(n_estimators=20, random_state=0)
    >>> blend = BlendedRanker([trees, Ridge()]).fit(X, y, groups=groups)
    >>> blend.weights_.shape, len(blend.predict(X)) == len(y)
    ((2,), True)
    """

    # of BaseRanker's, a blend has no use for the validation part
    __metadata_request__fit: ClassVar[dict[str, Any]] = {
        "groups": True,
        "X_val": UNUSED,
        "y_val": UNUSED,
        "groups_val": UNUSED,
        "sample_weight_val": UNUSED,
    }

    metric: str | Metric

    def __init__(
        self,
        rankers: Sequence[Any],
        *,
        metric: str | Metric = "ndcg@10",
        method: Literal["sweep", "lambdarank"] = "sweep",
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.rankers = rankers
        self.metric = metric
        self.method = method
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: what all rankers can read."""
        tags = super().__sklearn_tags__()
        inputs = [get_tags(ranker).input_tags for ranker in self.rankers]
        tags.input_tags.sparse = all(of_one.sparse for of_one in inputs)
        tags.input_tags.allow_nan = all(of_one.allow_nan for of_one in inputs)
        return tags

    @property
    def n_features_in_(self) -> int:
        """Number of columns at `fit`."""
        return int(self.rankers_[0].n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the columns at `fit`."""
        names: NDArray[np.object_] = self.rankers_[0].feature_names_in_
        return names

    def fit(
        self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None
    ) -> Self:
        """Choose the weights, then fit the rankers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            What the rankers read.
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0.
        groups : array-like of shape (n_documents,), default=None
            The query of each document: any hashable values, in any row order.  Without
            it all are taken for one query, with a :class:`MissingGroupsWarning`.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the metric, constant within it.  The rankers of this
            package are fitted with it; of a Pipeline and all else, those steps that
            request it.

        Returns
        -------
        self : BlendedRanker

        Raises
        ------
        ValueError, TypeError
            For fewer than two rankers, an unknown `method` or `metric`, more folds than
            queries, grades or weights that are refused, or what a ranker refuses.  The
            estimator is left as it was.
        NotFittedError
            If a ranker is not fitted and ``cv="prefit"``.
        """
        metric = self._check_parameters()
        if y is None:
            raise ValueError(
                "a ranker requires y to be passed, but the target y is None; give one "
                "relevance grade per row"
            )
        queries = read_queries(groups, len(np.asarray(y)))
        grades = check_grades(y, queries)
        weights = check_sample_weight(sample_weight, queries)
        if isinstance(self.cv, str):
            rankers, scores = fitted_and_scores(self.rankers, X)
        else:
            given = {"groups": queries.query_of_row if groups is None else groups}
            if sample_weight is not None:
                given["sample_weight"] = sample_weight
            splits = splits_of(self.cv, X, y, queries)
            rankers, scores = fit_and_score_held_out(
                self.rankers, X, y, splits, given, self.n_jobs
            )
        self._choose_weights(
            [
                check_scores(of_one, queries, f"scores of rankers[{m}]")
                for m, of_one in enumerate(scores)
            ],
            y=grades,
            groups=np.repeat(np.arange(queries.n_queries), queries.sizes),
            sample_weight=np.repeat(weights, queries.sizes),
            metric=metric,
        )
        self.rankers_ = rankers
        return self

    def predict(self, X: Any) -> FloatArray:
        """Score documents; scores are comparable within a query.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            What the rankers read.

        Returns
        -------
        scores : ndarray of shape (n_documents,), float64
            Higher is ranked first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            For what a ranker refuses.
        """
        check_is_fitted(self)
        return weighted_sum(
            self.weights_, [ranker.predict(X) for ranker in self.rankers_]
        )

    def _choose_weights(
        self, scores: Sequence[FloatArray], metric: Metric, **lists: Any
    ) -> None:
        """Set the fitted attributes that tell of the blend."""
        if self.method == "sweep":
            weights, curve = sweep_in_turn(scores, metric=metric, **lists)
        else:
            curve = None
            weights = linear_lambdarank(
                scores, metric=metric, random_state=self.random_state, **lists
            )
        y = lists.pop("y")
        self.blend_score_ = metric(y, weighted_sum(weights, scores), **lists)
        self.weights_ = weights
        self.curve_ = curve if len(scores) == 2 else None

    def _check_parameters(self) -> Metric:
        """Return the metric; raise an error that names a parameter that will not do."""
        if isinstance(self.rankers, str) or not hasattr(self.rankers, "__len__"):
            raise TypeError(f"rankers must be a list of rankers, got {self.rankers!r}")
        if len(self.rankers) < 2:
            raise ValueError(
                f"rankers must be two at least to blend, got {len(self.rankers)}"
            )
        for m, ranker in enumerate(self.rankers):
            if isinstance(ranker, type) or not hasattr(ranker, "predict"):
                raise TypeError(
                    f"rankers[{m}] must be an estimator with fit and predict, got "
                    f"{ranker!r}"
                )
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}, got {self.method!r}")
        if isinstance(self.cv, str) and self.cv != PREFIT:
            raise ValueError(
                f'cv must be a number of folds, a splitter, splits or "{PREFIT}", got '
                f"{self.cv!r}"
            )
        metric = get_metric(self.metric)
        if self.method == "sweep":
            check_ties(metric)
        return metric
