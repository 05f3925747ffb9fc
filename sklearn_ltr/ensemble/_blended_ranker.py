"""A ranker that is a blend of rankers (Burges 2010, section 7.1).

blend  =  sum over rankers m of  w_m * scores_m

The weights are chosen on the scores of queries that the rankers have not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeGuard, cast

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr._core.data import FitArguments
from sklearn_ltr._core.data.cross_validation import KnownQueries
from sklearn_ltr._core.data.features import column_kinds, find_features
from sklearn_ltr._core.data.pairs import PAIR_ARGUMENTS
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.estimators.base import draw_seed, refit
from sklearn_ltr._core.networks import MultilayerPerceptron
from sklearn_ltr._core.parameters import N_JOBS, Choice, read_parameters
from sklearn_ltr._core.ranking.measures import bind_labels, mean_of_bound
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike, Seed
from sklearn_ltr.ensemble._bagging import BaggingRanker
from sklearn_ltr.ensemble._best_blend import BlendCurve, check_ties, sweep_alphas
from sklearn_ltr.ensemble._held_out import (
    PREFIT,
    HeldOut,
    SplitsLike,
    check_splits_word,
    fit_and_score,
)
from sklearn_ltr.ensemble._members import (
    centred_within_queries,
    predict_scores,
    read_rows,
)
from sklearn_ltr.ensemble._meta_estimators import (
    NO_VALIDATION,
    MetaRanker,
    is_estimator,
    takes_columns,
    with_seeds,
)
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.preprocessing import TableVectorizer

ROUNDING = 1e-12  # scores that vary by less, as a part of the largest, are the same

RankersLike: TypeAlias = Sequence[BaseEstimator | tuple[str, BaseEstimator]]


@dataclass(frozen=True, kw_only=True)
class BlendingParameters:
    """The parameters of BlendedRanker, which documents them."""

    rankers: RankersLike | None
    metric: str | Metric
    method: Annotated[
        Literal["equal", "sweep", "lambdarank"], Choice("equal", "sweep", "lambdarank")
    ]
    cv: SplitsLike
    n_jobs: Annotated[int | None, N_JOBS]
    random_state: Seed

    def __post_init__(self) -> None:
        """Raise an error for values that are invalid, or do not go together."""
        check_splits_word(self.cv)
        given = self.random_state
        if given is not None and not isinstance(given, np.random.RandomState):
            draw_seed(given)  # raises an error unless it is a seed
        metric = get_metric(self.metric)
        if self.method == "sweep":
            check_ties(metric)
        if self.rankers is None:
            if isinstance(self.cv, str):
                raise ValueError(
                    f"cv={PREFIT!r} needs fitted rankers, but rankers is None"
                )
            return
        if isinstance(self.rankers, str) or not hasattr(self.rankers, "__len__"):
            raise TypeError(f"rankers must be a list of rankers, got {self.rankers!r}")
        if len(self.rankers) < 2:
            raise ValueError(
                f"rankers must hold at least two rankers, got {len(self.rankers)}"
            )
        names = [name for name, _ in named(self.rankers)]
        parameters = [field.name for field in fields(self)]
        for name in names:
            if names.count(name) > 1 or name in parameters or "__" in name:
                raise ValueError(
                    "names of rankers must differ from each other and from the "
                    f"parameters of the blend, and have no '__'; got {name!r}"
                )
        for m, ranker in enumerate(unnamed(self.rankers)):
            if not is_estimator(ranker):
                raise TypeError(
                    f"rankers[{m}] must be an estimator with fit and predict, got "
                    f"{ranker!r}"
                )


class BlendedRanker(MetaRanker):
    r"""A ranker that scores by a weighted sum of the scores of several rankers.

    .. math::

        s_i = \sum_m w_m s^m_i.

    Every ranker is fitted to all queries.  The weights are equal, or chosen on
    out-of-fold scores, from cross-validation by query.

    ``BlendedRanker()`` blends five LambdaMARTRankers and a network of LambdaRank behind
    a TableVectorizer: two kinds of model that err on different documents.

    Parameters
    ----------
    rankers : list of two or more estimators or (name, estimator), or None, default=None
        Rankers, or Pipelines that end in one.  Regressors too; they are fitted without
        groups.  A search reaches the parameters of named ones by ``name__parameter``.
        None: ``BaggingRanker(n_estimators=5)`` of LambdaMARTRankers, and a Pipeline of
        a :class:`~sklearn_ltr.preprocessing.TableVectorizer` and a LambdaRankRanker,
        all for `metric`; X may be any that a TableVectorizer takes, which comes before
        the trees, too, if X holds dates, durations, or text that is not categorical.
    metric : str or Metric, default="ndcg@10"
        The metric that the weights maximise and that `score` returns, of all labels: a
        name or a metric object.  Of several labels, the weighted mean by the
        `label_weights` of the rankers, which must agree where it is needed.
    method : {"equal", "sweep", "lambdarank"}, default="equal"
        How the weights are chosen.  "equal": all scores vary as much within queries
        (the weight is 0 if a ranker gives all documents of a query the same score); no
        queries are held out, and `cv` is not used.  "sweep": for two rankers the best
        of all blends with weights >= 0, exactly (:func:`best_blend`); for more, the
        blend so far is blended with one ranker at a time, until no ranker improves it;
        worth its time if one ranker may be much worse than another.  "lambdarank": a
        linear LambdaRank is trained on the standardised scores.  It does not guarantee
        the maximum, and weights may be negative.
    cv : int, splitter, iterable of splits or "prefit", default=None
        How queries are held out: the number of folds of a GroupKFold, a scikit-learn
        splitter, or pairs of (training rows, held-out rows).  Each row is held out
        once, and no query is cut apart.  None: five folds.  "prefit": the rankers are
        already fitted, and the data given to `fit` are only used to choose the weights.
    n_jobs : int or None, default=None
        Number of folds to run in parallel, as in
        :func:`sklearn.model_selection.cross_val_predict`.
    random_state : int, RandomState instance or None, default=None
        Seed of "lambdarank", and of every `random_state` of the rankers that is None,
        also within a Pipeline.  Only an integer makes two fits the same.

    Attributes
    ----------
    rankers_ : list of estimators
        The fitted rankers.
    weights_ : ndarray of shape (n_rankers,), float64
        Weights of the rankers' scores; their absolute values add up to 1.
    blend_score_ : float or None
        The metric of the blend on the held-out queries that the weights were chosen on;
        None if `method` is "equal", which holds out none.
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

    __metadata_request__fit: ClassVar[dict[str, str]] = NO_VALIDATION

    def __init__(
        self,
        rankers: RankersLike | None = None,
        *,
        metric: str | Metric = "ndcg@10",
        method: Literal["equal", "sweep", "lambdarank"] = "equal",
        cv: SplitsLike = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.rankers = rankers
        self.metric = metric
        self.method = method
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    _parts = "rankers_"
    _attributes: ClassVar[Attributes] = {
        "weights_": Attribute("(n_rankers,)"),
        "blend_score_": Attribute(),
        "curve_": Attribute(),
        "rankers_": Attribute(),
    }

    def _rankers(self) -> list[BaseEstimator]:
        """Return the rankers, without their names."""
        if self.rankers is None:
            return make_rankers(self.metric)
        return unnamed(self.rankers)

    @takes_columns(pairs=True)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        users: IdsLike | None = None,
        order: IdsLike | None = None,
        **columns: ArrayLike | None,
    ) -> Self:
        """Choose the weights, then fit the rankers to all queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of all rankers.
        y : array-like of shape (n_documents,) or (n_documents, n_labels), default=None
            Relevance grades, finite and >= 0; of several labels, NaN where a label has
            not judged a document.  None: rankers learn from `pairs` alone, with
            ``method="equal"``.
        {groups}
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the metric, constant within it.  0: as if it were not
            there.  Rankers are fitted with it if their `fit` has weights; the steps of
            a Pipeline must say whether they request it (scikit-learn's metadata
            routing).
        {folds}
        columns : array-likes, default=None
            Passed to rankers that learn from them, see
            :meth:`LambdaMARTRanker.fit <sklearn_ltr.LambdaMARTRanker.fit>`.  The
            metric, by which weights are chosen, is that of grades or clicks as they
            are.  `pairs` are rows of X; rankers are given those within the rows that
            they learn from.

        Returns
        -------
        self : BlendedRanker

        Raises
        ------
        ValueError, TypeError
            For an invalid parameter, more folds than queries, invalid grades or
            weights, columns or pairs that no ranker is fitted with, several labels for
            rankers that learn from one, or, where weights are chosen, for rankers of
            different `label_weights`, no y where they are chosen, or whatever a ranker
            refuses.  The estimator is then unchanged.
        NotFittedError
            If a ranker is not fitted and ``cv="prefit"``.
        UnsetMetadataPassedError
            For a `sample_weight` if a step of a Pipeline does not say whether it
            requests it.
        """
        # read
        p = read_parameters(BlendingParameters, self)
        columns |= {"sample_weight": sample_weight}
        given = FitArguments.of(X, y, groups, users=users, order=order, **columns)
        chooses = p.method != "equal"
        without_grades = (
            f"method={p.method!r} chooses weights by a metric of grades, and y is "
            'None: give y, or method="equal"'
        )
        rows = read_rows(
            given,
            self._labels_of(y, measured=chooses),
            without_grades * chooses,
        )
        if p.rankers is None:
            candidates = make_rankers(p.metric, draw_seed(p.random_state), X)
        else:
            candidates = unnamed(p.rankers)
            if p.random_state is not None and not isinstance(p.cv, str):
                seed = draw_seed(p.random_state)
                candidates = [
                    with_seeds(r, np.random.default_rng([seed, m]), only_unset=True)
                    for m, r in enumerate(candidates)
                ]

        # fit and score, on held-out queries if there are folds
        names = [f"rankers[{m}]" for m in range(len(candidates))]
        rankers, held_out = fit_and_score(
            candidates, names, rows, p.cv, p.n_jobs, by_folds=chooses
        )

        # choose the weights, and keep
        curve, value = None, None
        metric = get_metric(p.metric)
        if p.method == "sweep":
            weights, curve = sweep_weights(held_out, metric)
        elif p.method == "lambdarank":
            weights = lambdarank_weights(held_out, metric, p.random_state)
        else:
            weights = equal_weights(held_out.scores, held_out.query)
        if chooses:
            blended = weighted_sum(weights, held_out.scores)
            value = mean_of_bound(bind_labels(metric, held_out.data), blended)
        with refit(self) as model:
            model.blend_score_ = value
            model.weights_ = weights
            model.curve_ = curve if len(rankers) == 2 else None
            model.rankers_ = rankers
            model._trained_queries = KnownQueries.of(rows.data)
        return self

    def predict(self, X: MatrixLike) -> FloatArray:
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
        ValueError, TypeError
            For what a ranker refuses, or scores that are not finite.
        """
        model = self._fitted()
        return weighted_sum(
            model.weights_, predict_scores(model.rankers_, X, "rankers")
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Also the rankers by their names, and their parameters.

        Returns
        -------
        params : dict of str to object
        """
        params: dict[str, Any] = super().get_params(deep=False)
        for name, ranker in named(self.rankers) if deep else ():
            params[name] = ranker
            if hasattr(ranker, "get_params"):
                own = ranker.get_params(deep=True)
                params |= {f"{name}__{key}": value for key, value in own.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, rankers by their names, or parameters of rankers.

        Parameters
        ----------
        **params
            As returned by `get_params`.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        if "rankers" in params:
            self.rankers = params.pop("rankers")
        rankers: Any = self.rankers
        names = [name for name, _ in named(rankers)]
        if given := {name: params.pop(name) for name in names if name in params}:
            self.rankers = [
                (entry[0], given.get(entry[0], entry[1])) if is_named(entry) else entry
                for entry in rankers
            ]
        return super().set_params(**params)


def make_rankers(
    metric: str | Metric | None, seed: int | None = None, X: MatrixLike | None = None
) -> list[BaseEstimator]:
    """Return the rankers that are blended if none are given, to be fitted to X."""
    trees = BaggingRanker(LambdaMARTRanker(metric=metric), 5, random_state=seed)
    network = LambdaRankRanker(metric=metric, random_state=seed)
    requests = dict.fromkeys(("sample_weight", *PAIR_ARGUMENTS), True)
    vectorized = []
    with sklearn.config_context(enable_metadata_routing=True):
        for ranker in (trees, network):
            # what transformers put out for users is not what rankers here are given
            vectorizer = TableVectorizer().set_output(transform="default")
            ranker.set_fit_request(**requests)
            vectorized.append(make_pipeline(vectorizer, ranker))
    # trees read numbers and categories, and no dates, durations, or other text
    kinds = [] if X is None else column_kinds(X)
    others = [j for j, kind in enumerate(kinds) if kind != "number"]
    if len(np.setdiff1d(others, find_features(X, "from_dtype", "X"))) > 0:
        return vectorized
    return [trees, vectorized[1]]


def is_named(entry: object) -> TypeGuard[tuple[str, BaseEstimator]]:
    """Whether an entry is a pair of a name and a ranker."""
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)


def named(rankers: RankersLike | None) -> list[tuple[str, BaseEstimator]]:
    """Return the entries that have a name."""
    if isinstance(rankers, str | None) or not hasattr(rankers, "__iter__"):
        return []  # `fit` raises the error
    return [entry for entry in rankers if is_named(entry)]


def unnamed(rankers: RankersLike) -> list[BaseEstimator]:
    """Return the rankers of all entries."""
    return [entry[1] if is_named(entry) else entry for entry in rankers]


def weighted_sum(weights: FloatArray, scores: Sequence[FloatArray]) -> FloatArray:
    """Return the blend, added up from the first ranker to the last."""
    # with two rankers this is bit for bit the sum that :func:`best_blend` evaluates
    total: FloatArray = weights[0] * scores[0]
    for weight, scores_m in zip(weights[1:], scores[1:], strict=True):
        total = total + weight * scores_m
    return total


def sweep_weights(held_out: HeldOut, metric: Metric) -> tuple[FloatArray, BlendCurve]:
    """Return the best weights by coordinate-wise sweeps, and the last curve used."""
    # The blend so far is swept against one ranker after another, until no ranker raises
    # the metric.  The curve is from the last sweep that has raised it.
    scores, labels = held_out.scores, bind_labels(metric, held_out.data)
    n = len(scores)
    one_hot = np.eye(n)
    weights, best = one_hot[0], None
    others, raised = range(1, n), True
    while raised:
        raised = False
        for m in others:
            blended = weighted_sum(weights, scores)
            curve = sweep_alphas(labels, blended, scores[m])
            if best is None or curve.value > best.value:
                weights = curve.alpha * weights + (1.0 - curve.alpha) * one_hot[m]
                best, raised = curve, True
        # two rankers need one sweep; of more, the first may be raised in the next round
        others = range(n if n > 2 else 0)
    assert best is not None
    return weights, best


def equal_weights(scores: Sequence[FloatArray], groups: IntArray) -> FloatArray:
    """Return weights with which all scores vary as much within queries."""
    # 1 over the standard deviation of the scores minus their query's mean; 0 for scores
    # that order no documents, unless none do
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    deviations, largest = np.empty((2, len(scores)))
    for m, scores_m in enumerate(scores):
        deviations[m] = np.std(centred_within_queries(scores_m, starts))
        largest[m] = np.abs(scores_m).max()
    varies = deviations > ROUNDING * largest
    if not varies.any():
        return np.full(len(scores), 1.0 / len(scores))
    weights = np.divide(1.0, deviations, out=np.zeros(len(scores)), where=varies)
    weights /= weights.sum()
    return weights


def lambdarank_weights(
    held_out: HeldOut, metric: Metric, random_state: Seed
) -> FloatArray:
    """Return the weights of a linear LambdaRank trained on the standardised scores."""
    scaler = StandardScaler().set_output(transform="default")
    X = scaler.fit_transform(np.column_stack(held_out.scores))
    grades = held_out.data.grades
    ranker = LambdaRankRanker(
        metric,
        hidden_layer_sizes=(),
        label_weights=grades.weights if grades.n_labels > 1 else None,
        random_state=random_state,
        n_jobs=1,
    ).fit(X, held_out.y, groups=held_out.query, sample_weight=held_out.sample_weight)
    (layer,) = cast(MultilayerPerceptron, ranker.network_).coefs
    weights: FloatArray = layer[:, 0] / scaler.scale_
    weights /= np.abs(weights).sum()
    return weights
