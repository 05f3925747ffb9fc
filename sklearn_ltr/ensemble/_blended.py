"""A ranker that is a blend of rankers (section 7.1 of the report)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import UNUSED

from sklearn_ltr._compile import check_n_jobs
from sklearn_ltr._data import (
    check_grades,
    check_sample_weight,
    check_scores,
    count_rows,
    one_column_of,
)
from sklearn_ltr._estimators.base import refit
from sklearn_ltr._rankers._part_scores import predict_scores
from sklearn_ltr._rankers.reading import check_y_given, read_queries
from sklearn_ltr.ensemble._held_out import (
    PREFIT,
    fit_and_score,
    make_splits,
    score_prefit,
)
from sklearn_ltr.ensemble._named_rankers import NamedRankers, unnamed
from sklearn_ltr.ensemble._sweep import check_ties
from sklearn_ltr.ensemble._weights import (
    equal_weights,
    lambdarank_weights,
    sweep_weights,
    weighted_sum,
)
from sklearn_ltr.metrics import Metric, get_metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

METHODS = ("sweep", "lambdarank", "equal")


class BlendedRanker(NamedRankers):
    r"""A weighted sum of the scores of several rankers.

    .. math::

        s_i = \sum_m w_m s^m_i.

    The weights are chosen on out-of-fold scores, from cross-validation by query, or are
    equal.  Every ranker is fitted to all queries.

    Parameters
    ----------
    rankers : list of at least two estimators, or of pairs (name, estimator)
        Rankers, or Pipelines that end in one.  Regressors too; they are fitted without
        groups.  A search reaches the parameters of named ones by ``name__parameter``.
    metric : str or Metric, default="ndcg@10"
        The metric that the weights maximise and that `score` returns: a name or a
        metric object.
    method : {"sweep", "lambdarank", "equal"}, default="sweep"
        How the weights are chosen.  "sweep": for two rankers the best of all blends
        with weights >= 0, exactly (:func:`best_blend`); for more, the blend so far is
        blended with one ranker at a time, until no ranker improves it.  "lambdarank": a
        linear LambdaRank is trained on the standardised scores.  It does not guarantee
        the maximum, and weights may be negative.  "equal": all scores vary as much
        within queries; no queries are held out, and `cv` is not used.
    cv : int, splitter, iterable of splits or "prefit", default=None
        How queries are held out: the number of folds of a GroupKFold, a scikit-learn
        splitter, or pairs of (training rows, held-out rows) in which each row is held
        out once.  None: five folds.  "prefit": the rankers are already fitted, and the
        data given to `fit` are only used to choose the weights.
    n_jobs : int or None, default=None
        Number of folds to run in parallel, as in
        :func:`sklearn.model_selection.cross_val_predict`.
    random_state : int, RandomState instance or None, default=None
        Seed of "lambdarank".  The rankers have their own.

    Attributes
    ----------
    rankers_ : list of estimators
        The fitted rankers.
    weights_ : ndarray of shape (n_rankers,), float64
        Weights of the rankers' scores; their absolute values add up to 1.
    blend_score_ : float
        The metric of the blend on the scores that the weights were chosen on; those of
        the training data if `method` is "equal".
    curve_ : BlendCurve or None
        The metric for all alphas if there are two rankers and `method` is "sweep", else
        None.
    n_features_in_ : int
        Number of features seen by `fit`, as the first ranker has it.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if all were strings.

    See Also
    --------
    best_blend : The best blend of two arrays of scores.

    Notes
    -----
    A search or a cross-validation fits clones, and clones are not fitted.  So they
    cannot use ``cv="prefit"``, unless the rankers are wrapped in
    :class:`sklearn.frozen.FrozenEstimator`.

    References
    ----------
    Q. Wu, C. Burges, K. Svore and J. Gao, "Adapting boosting for information retrieval
    measures", Information Retrieval 13(3), 2010.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.ensemble import BlendedRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> X, y, groups = data.data, data.target, data.groups
    >>> trees = LambdaMARTRanker(n_estimators=20, random_state=0)
    >>> blend = BlendedRanker([trees, Ridge()]).fit(X, y, groups=groups)
    >>> blend.weights_.shape, len(blend.predict(X)) == len(y)
    ((2,), True)
    """

    # the validation arguments of BaseRanker do not apply to a blend
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
        method: Literal["sweep", "lambdarank", "equal"] = "sweep",
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
        """Return the tags: inputs that all rankers accept."""
        tags = super().__sklearn_tags__()
        input_tags = [get_tags(ranker).input_tags for ranker in unnamed(self.rankers)]
        tags.input_tags.sparse = all(each.sparse for each in input_tags)
        tags.input_tags.allow_nan = all(each.allow_nan for each in input_tags)
        return tags

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by `fit`."""
        return int(self.rankers_[0].n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features seen by `fit`."""
        names: NDArray[np.object_] = self.rankers_[0].feature_names_in_
        return names

    def fit(
        self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None
    ) -> Self:
        """Choose the weights, then fit the rankers to all queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of all rankers.
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0.
        groups : array-like of shape (n_documents,), default=None
            The query of each document: any sortable values, in any row order.  None:
            all belong to one query, with a :class:`MissingGroupsWarning`.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the metric, constant within it.  Rankers of this
            package are fitted with it; others if they request it (metadata routing).

        Returns
        -------
        self : BlendedRanker

        Raises
        ------
        ValueError, TypeError
            For an invalid parameter, more folds than queries, invalid grades or
            weights, or whatever a ranker refuses.  The estimator is then unchanged.
        NotFittedError
            If a ranker is not fitted and ``cv="prefit"``.
        """
        metric = self._check_parameters()
        candidates = self._checked_rankers()
        check_y_given(y)
        queries = read_queries(groups, count_rows(y, "y"))
        grades = check_grades(y, queries)
        weights = check_sample_weight(sample_weight, queries)
        if isinstance(self.cv, str):
            rankers, scores = score_prefit(candidates, X)
        else:
            metadata, targets = {"groups": queries.column}, one_column_of(y)
            if sample_weight is not None:
                metadata["sample_weight"] = one_column_of(sample_weight)
            splits = None
            if self.method != "equal":
                splits = make_splits(self.cv, X, targets, queries)
            rankers, scores = fit_and_score(
                candidates, X, targets, splits, metadata, self.n_jobs
            )
        scores = [
            check_scores(scores_m, queries, f"scores of rankers[{m}]")
            for m, scores_m in enumerate(scores)
        ]
        canonical = {
            "groups": np.repeat(np.arange(queries.n_queries), queries.sizes),
            "sample_weight": np.repeat(weights, queries.sizes),
        }
        with refit(self) as model:
            model._choose_weights(scores, grades, metric, canonical)
            model.rankers_ = rankers
            model._trained_queries = queries.labels, queries.sizes
        return self

    def predict(self, X: Any) -> FloatArray:
        """Score documents; scores are comparable within a query.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of all rankers.

        Returns
        -------
        scores : ndarray of shape (n_documents,), float64
            Higher is ranked first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            For what a ranker refuses, or scores that are not finite.
        """
        model = self._fitted()
        return weighted_sum(
            model.weights_, predict_scores(model.rankers_, X, "rankers")
        )

    def _choose_weights(
        self,
        scores: Sequence[FloatArray],
        y: FloatArray,
        metric: Metric,
        queries: dict[str, Any],
    ) -> None:
        """Set `weights_`, `blend_score_` and `curve_`."""
        curve = None
        if self.method == "sweep":
            weights, curve = sweep_weights(scores, y, metric=metric, **queries)
        elif self.method == "equal":
            weights = equal_weights(scores, queries["groups"])
        else:
            weights = lambdarank_weights(
                scores, y, metric=metric, random_state=self.random_state, **queries
            )
        self.blend_score_ = metric(y, weighted_sum(weights, scores), **queries)
        self.weights_ = weights
        self.curve_ = curve if len(scores) == 2 else None

    def _check_parameters(self) -> Metric:
        """Return the metric; raise an error that names an invalid parameter."""
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}, got {self.method!r}")
        if isinstance(self.cv, str) and self.cv != PREFIT:
            raise ValueError(
                f'cv must be a number of folds, a splitter, splits or "{PREFIT}", got '
                f"{self.cv!r}"
            )
        check_n_jobs(self.n_jobs)
        metric = get_metric(self.metric)
        if self.method == "sweep":
            check_ties(metric)
        return metric
