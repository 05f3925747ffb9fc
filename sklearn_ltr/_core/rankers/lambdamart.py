"""LambdaMART: boosted trees, lambdas, and the change of a metric by a swap.

The gradient of a document is a sum over its pairs: RankNet's term times the swap delta
(C. Burges, MSR-TR-2010-82, 2010, section 7).  `LambdaMARTRanker.fit` reads the
documents, turns them into bins, and boosts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
)

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from sklearn_ltr._core.boosting.base_model import (
    base_scores,
    check_base_score_size,
    check_init_score_given,
    start_from_base_model,
)
from sklearn_ltr._core.boosting.bins import bin_data, fit_threads
from sklearn_ltr._core.boosting.fitted_trees import (
    CURVE,
    TREE_ATTRIBUTES,
    TreeEstimator,
)
from sklearn_ltr._core.boosting.loop import boost_trees
from sklearn_ltr._core.boosting.parameters import BoostingParameters, DartValue
from sklearn_ltr._core.boosting.warm_start import trees_so_far
from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import FitArguments, TrainingData, describe_columns
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.estimators.base import FitTasks, refit, with_callbacks
from sklearn_ltr._core.estimators.docstrings import describe_parameters
from sklearn_ltr._core.estimators.preparation import prepare
from sklearn_ltr._core.estimators.unused_positions import (
    positions_may_be_used_by,
    warn_if_unused,
)
from sklearn_ltr._core.lambdas.pair import NORMALIZATIONS, PairOptions
from sklearn_ltr._core.lambdas.position_bias import number_of_lists
from sklearn_ltr._core.lambdas.user_function import ObjectiveFunction
from sklearn_ltr._core.parameters import Choice, Or, read_parameters, real
from sklearn_ltr._core.rankers.base import BaseRanker
from sklearn_ltr._core.ranking.fit_data import RankerFitParameters
from sklearn_ltr._core.ranking.objective import FORCES
from sklearn_ltr._core.ranking.parameters import (
    MetricChoice,
    PositionBiasValue,
    ScoringChoice,
)
from sklearn_ltr._core.ranking.task import ranking_task
from sklearn_ltr._core.trees.growth import BEST_FIRST, POLICIES, SYMMETRIC
from sklearn_ltr._core.trees.growth.loop import GrowthPolicy
from sklearn_ltr._core.trees.parameters import GrowPolicy, LearningRate
from sklearn_ltr._core.typing import (
    ArraysLike,
    FeaturesLike,
    FloatArray,
    IdArraysLike,
    IdsLike,
    InteractionConstraints,
    LabelWeightsLike,
    MatricesLike,
    MatrixLike,
    MonotonicConstraints,
    Seed,
)

F = TypeVar("F", bound=Callable[..., Any])
Normalization: TypeAlias = bool | Literal["distance", "query"]
# regression_weight="auto"
REGRESSION_WEIGHT = 5.0
FULL_WEIGHT_ROWS = 20_000
# grow_policy="auto", see benchmarks/quality/learning_curves.py
MOST_SYMMETRIC_QUERIES = 500
# Lists with a click and a document without one.  On made data of 500 queries an
# additive bias costs 0.08 NDCG@10 at 1,000 sessions, about 500 of them such lists; at
# 10,000 sessions, with 5,000 such lists, it gains: benchmarks/clicks/clicks_protocol.py
FEW_LISTS = 3_000
LAMBDA_TOTALS = (1e-150, 1e150)  # so that their squares, gains of splits, are finite


@dataclass(frozen=True, kw_only=True)
class LambdaMARTParameters(RankerFitParameters, BoostingParameters):
    """The parameters of LambdaMART, which documents them."""

    grow_policy: Annotated[GrowPolicy, Choice("auto", *POLICIES)]
    regression_weight: Annotated[float | Literal["auto"], Or(real(0, 1e6), ("auto",))]
    normalize_lambdas: Annotated[Normalization, NORMALIZATIONS]
    init: BaseEstimator | None
    lambda_totals: ClassVar[tuple[float, float]] = LAMBDA_TOTALS
    starts_from_scores: ClassVar[bool] = True

    @property
    def pair_options(self) -> PairOptions:
        """How a pair counts."""
        return PairOptions.read(self.sigma, self.normalize_lambdas)

    def measures_metrics(self, has_validation: bool) -> bool:
        """Return whether training data are measured by metrics."""
        by_default = self.metric is not None and (has_validation or self.verbose > 0)
        return self.measures_train or by_default

    def weight_of_regression(self, n_rows: int) -> float:
        """Return the weight of the regression on the grades of `n_rows` documents."""
        if self.regression_weight == "auto":
            return REGRESSION_WEIGHT * min(1.0, (FULL_WEIGHT_ROWS / n_rows) ** 2)
        return float(self.regression_weight)

    def policy(self, n_queries: int) -> GrowthPolicy:
        """Return the policy of growth, given the queries to learn from."""
        if self.grow_policy == "auto":
            return SYMMETRIC if n_queries <= MOST_SYMMETRIC_QUERIES else BEST_FIRST
        return super().policy(n_queries)

    def with_start(
        self,
        given: FitArguments,
        sets: list[TrainingData],
        found: dict[str, Any],
        comm: Comm,
    ) -> list[TrainingData]:
        """Return training data and validation sets with F_0, by a base model."""
        start_from_base_model(self.init, given, sets[0].rows, found)
        for one in given.sets():
            init_score = one.columns.init_score
            check_init_score_given(found["_uses_init_score"], init_score, one.suffix)
        if found["init_"] is None:
            return sets
        scores = [
            base_scores(found["init_"], one.X, data.X.shape[0], None)
            for one, data in zip(given.sets(), sets, strict=False)
        ]
        scores += scores[:1] * (len(sets) - len(scores))  # rows held out of X
        return [
            data.with_init_score(own[data.rows])
            for data, own in zip(sets, scores, strict=True)
        ]

    def warn_if_short(self, weights: FloatArray) -> None:
        """Warn of an additive bias from few lists, given their weights."""
        bias = self.position_bias
        if bias is None or bias.method != "additive" or len(weights) == 0:
            return
        n_lists = number_of_lists(weights)
        if n_lists < FEW_LISTS:
            warn_caller(
                f"position_bias='additive' is learned from {n_lists:,.0f} lists with a "
                "click and a document without one; on such short logs it ranked worse "
                "than no correction: give position_bias=None, or a longer log",
                ShortClickLogWarning,
            )


class ShortClickLogWarning(UserWarning):
    """Warning: the click log is too short to learn an additive position bias.

    Examples
    --------
    >>> import warnings
    >>> from sklearn_ltr import LambdaMARTRanker, ShortClickLogWarning
    >>> ranker = LambdaMARTRanker(n_estimators=1, position_bias="additive")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ranker = ranker.fit(
    ...         [[1.0], [2.0]], [0, 1], groups=[7, 7], positions=[0, 1]
    ...     )
    >>> caught[0].category is ShortClickLogWarning
    True
    """


def documents_init_score(method: F) -> F:
    """Document a method like that of every ranker, with `init_score` in addition."""
    # indented alike by every Python: from 3.13 on, docstrings are not
    text = inspect.cleandoc(getattr(BaseRanker, method.__name__).__doc__ or "")
    returns = "\n\nReturns"
    method.__doc__ = text.replace(
        returns,
        "\ninit_score : array-like of shape (n_documents,), default=None"
        f"\n    As for `predict`.{returns}",
    )
    return method


@describe_parameters(row="document", units="queries")
class LambdaMARTRanker(TreeEstimator, BaseRanker):
    r"""Boosted trees that rank the items of a list, such as the results of a search.

    They are trained for a metric such as NDCG.  The parameters come in groups: what to
    tune (`metric` to `regression_weight`), regularisation (`grow_policy` to
    `max_bins`), the cost (`objective` to `label_weights`), categories and constraints
    (`categorical_features` to `interaction_cst`), clicks (`position_bias`,
    `min_propensity`), and running (`early_stopping` to `n_jobs`).

    Queries whose grades are all equal have no pairs: the trees learn nothing from them,
    and `min_samples_leaf` does not count their documents.  Judged pairs can be given to
    `fit` in place of those of the grades.

    The defaults add to Burges (2010) what ranked real data better: a sample of the rows
    for each tree, a regression on the grades for few documents, splits by second-order
    gain, and normalized lambdas of a deeper list.  The
    published algorithm is ``LambdaMARTRanker(grow_policy="best_first", subsample=1,
    split_gain="least_squares", regression_weight=0, truncation_level=None,
    normalize_lambdas=False)``.

    Parameters
    ----------
    metric : str, Metric, None or list of these, default="ndcg@10"
        Metric to optimise, to report and to stop early by: a name (``"ndcg@10"``,
        ``"map"``, ``"mrr@10"``, ``"err@20"``, ...), or an object of a class derived
        from :class:`sklearn_ltr.metrics.Metric`.  None: learn from pairwise errors
        alone (RankNet) and report NDCG@10.  Choose the one that you report.  Of several
        labels (see `label_weights`) one metric for all, or a list of one for each.
    {n_estimators} {learning_rate}
        If you halve it, double the trees: 0.05 with 300 is a good pair.
    max_leaf_nodes : int of at least 2, default=31
        Maximum number of leaves of a best-first tree; L in Burges (2010).  The leaf
        whose best split has the largest gain is split first.  A symmetric tree takes
        its number of levels from it (see `grow_policy`).  Tune it: larger for many
        documents, smaller if the model overfits.
    {min_samples_leaf} {max_features}
    regression_weight : float in [0, 1e6] or "auto", default="auto"
        Weight of a regression of a query's scores on its grades, both centred, relative
        to its pairs: the ratio of their mean hessians.  The regression helps if there
        are few documents.  "auto": 5, times ``(20,000 / n)^2`` if there are
        n > 20,000 documents (in queries of different grades).  0: pairs alone.  Tune
        it: 2 and 10 are worth a try; set 0 if only the order of grades has a meaning.
        Squares of residuals, and means, are weighted by `document_weight`.  Judged
        pairs without grades have no regression.
    {grow_policy}
        "auto": symmetric with at most 500 queries (of different grades, or with judged
        pairs; without `groups` these are one), which such trees rank better, else best
        first.  Try both if there are about 500 queries.
    {max_depth} {l2_regularization} {path_smooth} {colsample_bytree} {subsample}
        Leave it, or set 1 for the published algorithm.
    {dart} {max_bins}
    objective : "lambdarank" or callable, default="lambdarank"
        What trees learn from: lambdas of the metric, or the derivatives of a cost of
        your own, ``objective(scores, grades, offsets) -> (gradient, hessian)``.  It
        gets arrays: float64 scores and grades, and int64 offsets; query q owns the
        documents ``offsets[q]`` to ``offsets[q + 1] - 1``.  It returns dC/ds and
        d2C/ds2 >= 0 of each document; of ones, the value of a leaf is minus its mean
        gradient.  The fit multiplies both by the query's weight.
        Each query has at least two different grades.  The content of queries and
        documents decides their order, not X.  `metric` then only reports and stops;
        `sigma`, `truncation_level`, `normalize_lambdas` and `regression_weight` are not
        used.  To pickle the ranker, use a function defined in a module.  Leave it,
        unless you have a cost of your own.
    {truncation_level}
        Raise it if relevant documents are often ranked below it.  For lists of more
        than 500 documents, try 300.
    normalize_lambdas : bool, "distance" or "query", default=True
        "distance": divide a pair's swap delta by ``0.01 + sigma |s_i - s_j|``.
        "query": multiply the lambdas of a query by ``log2(1 + S) / S``, with S the sum
        of ``2 |lambda_ij| / sigma`` over its pairs, so that long lists do not dominate
        short ones.  True: both.  Leave it, or set False for the published algorithm.
    sigma : float above 0, default=1.0
        Steepness of the sigmoid.  With ``l2_regularization=0`` and without `init`, it
        only scales the scores by 1 / sigma (Burges 2010, section 7).  Leave
        it, unless `l2_regularization` is above 0.
    {split_gain}
    init : estimator or None, default=None
        The base model F_0, to which trees are added: a ranker, a regressor, or a
        Pipeline that ends in one.  A fitted model is used as it is (model adaptation);
        an unfitted model is cloned and fitted first, on the same data.  In a search,
        wrap a fitted model in :class:`sklearn.frozen.FrozenEstimator`.  None:
        F_0 = 0, or the `init_score` given to `fit`.  Use it to improve on a model that
        you have.
    label_weights : array-like of shape (n_labels,), dict or None, default=None
        Shares of several labels, where y has a column for each, in their order or by
        their names, ``{"clicks": 1, "purchases": 3}``; None: equal.  Label l
        has lambdas and hessians of its own, with its regression; they are multiplied by
        :math:`w_l \bar F / F_l` and added up, where :math:`F_l` is the sum of
        :math:`|\lambda_i|` over its documents at the scores that training starts from,
        weights w sum to 1, and :math:`\bar F = \sum_l w_l F_l`.  So label l has the
        share w_l of the force at the start, whatever the sizes of the labels are.
        0: as if the label were not there, but in validation data it is measured.  Try
        a few, and look at the curve (:class:`sklearn_ltr.plotting.ParetoDisplay`).
    {categorical_features}
        The others share one sixteenth of the bins: categories share a bin if the
        average grades of their documents, relative to the query's mean, are similar.
        (In training this average leaves out the row's own fold, of five folds of whole
        queries.)  Categories unseen in `fit`, and those of fewer than
        `min_samples_leaf` rows of a node, go where missing values go.  Name the
        features if X is an array, or if the dtypes of the frame do not say so.
    {category_smoothing}
    {monotonic_cst}
        It holds for the trees, not for a base model.  Use it where you know the
        direction: more sales must not lower a score.
    {interaction_cst}
    position_bias : "additive", "pairwise", dict or None, default=None
        What to learn about the `positions` given to `fit`, if y are clicks.
        "additive": a bias of each position, which training adds to the scores.
        "pairwise": ratios that divide pairs (Hu et al.).  Predictions leave it out.
        A dict has one of these as "method" and a "regularization" p, a number >= 0 that
        shrinks it towards no bias.  Additive: :math:`b_k \leftarrow b_k - \eta (G_k + p
        \bar H b_k) / (H_k + p \bar H)` with each tree, G and H being the sums of
        gradients and hessians at position k and :math:`\bar H` the mean of H; by
        default ``p = 0.3 min(1, 5,000 / n)`` for n lists with a click and a document
        without one, or for the sum of their weights if that is larger.  Pairwise:
        ratios of costs are raised to ``1 / (1 + p)``, by default p = 1.  Use it if y
        are clicks on lists whose positions you know.
    min_propensity : float in [1e-6, 1], default=0.05
        Smaller `propensities` given to `fit`, and ratios of "pairwise", are set to it;
        a warning says so if all are smaller.  Raise it if a few documents of small
        propensity outweigh the others.
    {early_stopping} {validation_fraction} {n_iter_no_change} {tol}
    scoring : str, Metric, list or dict of these or None, default=None
        Metric measured during the fit, which decides early stopping; None: `metric`.
        The first of a list decides.  Use it to stop
        by another metric than the one that is optimised.  Of several labels each is
        measured, and the weighted mean, which is followed; or, of a dict from labels
        (names or numbers of columns) to metrics, its first label.
    warm_start : bool, default=False
        Keep the trees, bins, seed and base model of the last `fit`, and add trees up to
        `n_estimators`.  Use it to add trees without growing the first ones again.
    {random_state} {verbose} {n_jobs}

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees, as arrays.
    n_iter_ : int
        Number of trees kept; with early stopping, those up to the best score (like
        LightGBM's ``best_iteration_`` and XGBoost's ``best_iteration + 1``).
    init_ : estimator or None
        The base model.
    evals_result_ : dict of str to dict of str to ndarray of shape (n_trees + 1,)
        By set, "train" and "validation" (several: "validation_0", "validation_1", ...),
        and metric: the values before the first tree and after each tree, including
        trees that early stopping drops.  "train" is measured if a validation set is,
        with ``verbose > 0``, if `scoring` is a list, or, by RankNet's cost, with
        ``metric=None``.
    train_score_, validation_score_ : ndarrays of shape (n_trees + 1,), float64
        The training scores by the first metric, and the scores that decided early
        stopping; empty if there are none.
    loss_curve_ : ndarray of shape (n_trees + 1,), float64
        With ``metric=None``, in place of `train_score_`: RankNet's cost, the mean over
        the pairs of the training queries, with the weights given to `fit`.
    position_bias_ : ndarray of shape (n_positions,) or (2, n_positions), float64
        Of "additive", in units of scores: 0 for position 0.  Of "pairwise", t+ of the
        clicked document of a pair and t- of the other: 1 for position 0.
    {label_forces_}
    feature_importances_ : ndarray of shape (n_features,), float64
        Share of each feature in the gain of all splits.  Shares sum to 1; without
        splits all are 0.
    is_categorical_ : ndarray of shape (n_features,), bool
        Whether each feature is categorical.
    {n_features_in_} {feature_names_in_}

    Notes
    -----
    Each tree predicts the gradient of a cost, and each leaf takes a Newton step
    (Burges, MSR-TR-2010-82, 2010, section 7):

    .. math::

        \frac{\partial C}{\partial s_i} = \sum_{\{i,j\} \rightleftharpoons I}
        \frac{-\sigma |\Delta Z_{ij}|}{1 + e^{\sigma (s_i - s_j)}},

        \gamma = - \frac{\sum_{i \in R} \partial C / \partial s_i}
        {\sum_{i \in R} \partial^2 C / \partial s_i^2}, \qquad
        F_m(x) = F_{m-1}(x) + \eta \gamma.

    References
    ----------
    C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82.
    Z. Hu et al., "Unbiased LambdaMART", WWW 2019.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> X = [[0.1], [0.9], [0.4], [0.8], [0.2], [0.6]]
    >>> y, groups = [0, 2, 1, 1, 0, 2], ["a", "b", "a", "b", "b", "a"]
    >>> ranker = LambdaMARTRanker(n_estimators=5, min_samples_leaf=1)
    >>> ranker.fit(X, y, groups=groups).rank(X, groups=groups)
    array([3, 1, 2, 2, 3, 1])
    """

    def __init__(
        self,
        metric: MetricChoice = "ndcg@10",
        *,
        n_estimators: int = 100,
        learning_rate: LearningRate = 0.1,
        max_leaf_nodes: int = 31,
        min_samples_leaf: int | Literal["auto"] = "auto",
        max_features: float = 1.0,
        regression_weight: float | Literal["auto"] = "auto",
        grow_policy: GrowPolicy = "auto",
        max_depth: int | None = None,
        l2_regularization: float = 0.0,
        path_smooth: float = 0.0,
        colsample_bytree: float = 1.0,
        subsample: float | Literal["auto"] = "auto",
        dart: DartValue = None,
        max_bins: int = 255,
        objective: Literal["lambdarank"] | ObjectiveFunction = "lambdarank",
        truncation_level: int | None = 30,
        normalize_lambdas: Normalization = True,
        sigma: float = 1.0,
        split_gain: Literal["second_order", "least_squares"] = "second_order",
        init: BaseEstimator | None = None,
        label_weights: LabelWeightsLike | None = None,
        categorical_features: FeaturesLike = "from_dtype",
        category_smoothing: float = 10.0,
        monotonic_cst: MonotonicConstraints = None,
        interaction_cst: InteractionConstraints = None,
        position_bias: PositionBiasValue = None,
        min_propensity: float = 0.05,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        tol: float = 0.0,
        scoring: ScoringChoice = None,
        warm_start: bool = False,
        random_state: Seed = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.regression_weight = regression_weight
        self.grow_policy = grow_policy
        self.max_depth = max_depth
        self.l2_regularization = l2_regularization
        self.path_smooth = path_smooth
        self.colsample_bytree = colsample_bytree
        self.subsample = subsample
        self.dart = dart
        self.max_bins = max_bins
        self.objective = objective
        self.truncation_level = truncation_level
        self.normalize_lambdas = normalize_lambdas
        self.sigma = sigma
        self.split_gain = split_gain
        self.init = init
        self.label_weights = label_weights
        self.categorical_features = categorical_features
        self.category_smoothing = category_smoothing
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.position_bias = position_bias
        self.min_propensity = min_propensity
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    _parameters = LambdaMARTParameters
    init_: BaseEstimator | None
    _uses_init_score: bool
    _takes_labels = True
    _attributes: ClassVar[Attributes] = {  # JSON has curves in this order
        "train_score_": Attribute(CURVE, when="metric is not None"),
        **TREE_ATTRIBUTES,
        "init_": Attribute(by_reading=True),
        "_uses_init_score": Attribute(by_reading=True),
        "loss_curve_": Attribute(CURVE, when="metric=None"),
        "position_bias_": Attribute(
            "(n_positions,) or (2, n_positions)", when="position_bias is given"
        ),
        FORCES: Attribute("(n_labels,)", when="y has several labels"),
    }

    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "init_score": True,
        "init_score_val": True,
    }
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"init_score": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"init_score": True}

    @with_callbacks
    @describe_columns
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        document_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        propensities: ArrayLike | None = None,
        users: IdsLike | None = None,
        order: IdsLike | None = None,
        pairs: ArrayLike | None = None,
        pair_probabilities: ArrayLike | None = None,
        pair_weights: ArrayLike | None = None,
        X_val: MatricesLike | None = None,
        y_val: ArraysLike | None = None,
        groups_val: IdArraysLike | None = None,
        sample_weight_val: ArraysLike | None = None,
        init_score_val: ArraysLike | None = None,
    ) -> Self:
        """Learn to rank, from grades or from judged pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Numbers, and text in categorical features.  NaN means missing; each split
            sends it to the better side.  float32, float64 and CSR are not converted.
        y : array-like of shape (n_documents,) or (n_documents, n_labels), default=None
            Relevance grades, finite and >= 0, not necessarily integers.  Columns are
            several labels, such as clicks and purchases; NaN in one of them: the label
            has not judged this document, which then takes no part in the label.  None:
            with ``metric=None``, learn from `pairs`.
        {groups}
        {sample_weight}
        {document_weight}
        {init_score}
        {positions}
        {propensities}
        {users}
        {order}
        {judgements}
        X_val, y_val, groups_val, sample_weight_val, init_score_val : array-likes or \
tuples, default=None
            The same for validation data, which are measured after each tree.  Tuples
            are several sets: ``X_val=(X_1, X_2), y_val=(y_1, y_2), ...``; the first
            decides early stopping.  A Pipeline transforms X_val only with
            ``transform_input=["X_val"]``.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, arguments of different lengths, an empty
            X, infinite features, columns that are not numbers, grades that are
            negative, not finite or too large for the metric's gain, weights that
            change within a query, if no query has two different grades, for pairs that
            are not two different rows of X or of one query, probabilities outside
            [0, 1] or weights of pairs that are negative, not finite or all zero, for
            both `y` and `pairs` with ``metric=None``, or one of them alone with a
            metric.  The estimator is left as it was.
        """
        arguments = dict(locals())
        with refit(self) as model:
            # read
            p = read_parameters(LambdaMARTParameters, model)
            so_far = trees_so_far(vars(self), p)
            given = FitArguments.of(**arguments)
            tasks = FitTasks(
                self, model, "tree", p.n_estimators - so_far.n_trees, given
            )
            with positions_may_be_used_by(self):  # no warning if `init` uses them
                data = prepare(given, p, so_far)
            check_base_score_size(data, p.sigma)
            p.warn_if_short(data.train.sample_weight[data.train.has_pairs])
            warn_if_unused(self, data.train.columns)
            model.__dict__.update(data.attributes)

            # bin, boost
            with ThreadTeam(fit_threads(p.n_jobs, data.train.X.size)) as team:
                binned = bin_data(data, p, so_far, team)
                data = data._replace(learned=binned.rows)
                task = ranking_task(p, data, so_far.attributes, team)
                constraints = p.constraints(data.reader)
                del data  # trees need no X, and no rows in the order they came in
                fitted = boost_trees(binned, task, p, constraints, so_far, tasks)
                model.__dict__.update(fitted)
        tasks.end()
        return self

    def predict(
        self, X: MatrixLike, *, init_score: ArrayLike | None = None
    ) -> FloatArray:
        """Score documents; scores are comparable within a query.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Real and finite, or NaN.
        init_score : array-like of shape (n_documents,), default=None
            F_0 of each document; needed if `fit` got an `init_score`.

        Returns
        -------
        scores : ndarray of shape (n_documents,), float64
            Higher is ranked first: F_0 plus the sum of the trees.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X has other columns than at `fit`, an infinite value or no numbers, or
            if `init_score` was given to one of `fit` and `predict` only.
        """
        model = self._fitted()
        # infinite values are refused before the base model gets them
        check_values = model.init_ is not None
        features = model._features.read(X, check_values=check_values)
        check_init_score_given(model._uses_init_score, init_score)
        base_score = base_scores(model.init_, X, features.shape[0], init_score)
        return model._trees.scores(features, base_score, model.n_jobs)

    def staged_predict(
        self, X: MatrixLike, *, init_score: ArrayLike | None = None
    ) -> Iterator[FloatArray]:
        """Score documents after each tree.

        Parameters
        ----------
        X, init_score : array-likes
            As for `predict`.

        Yields
        ------
        scores : ndarray of shape (n_documents,), float64
            F_0 plus the first 1, 2, ..., `n_iter_` trees.

        Raises
        ------
        NotFittedError, ValueError, TypeError
            As `predict`.  Also if `dart` has dropped trees: it has changed their
            weights since, so the first trees are not the model of that time.
        """
        model = self._fitted()
        features = model._features.read(X)
        check_init_score_given(model._uses_init_score, init_score)
        base_score = base_scores(model.init_, X, features.shape[0], init_score)
        yield from model._trees.stages(features, base_score)

    @documents_init_score
    def rank(
        self,
        X: MatrixLike,
        *,
        groups: IdsLike | None = None,
        init_score: ArrayLike | None = None,
    ) -> NDArray[np.int64]:
        return self._ranks(self.predict(X, init_score=init_score), groups, X)

    @documents_init_score
    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        label: int | str | None = None,
        init_score: ArrayLike | None = None,
    ) -> float:
        scores = self.predict(X, init_score=init_score)
        return self._mean_metric(scores, y, groups, sample_weight, label, X)
