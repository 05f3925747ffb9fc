"""LambdaMART: boosted trees + force x swap delta (section 7 of the report)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from sklearn_ltr.metrics import Metric
from sklearn_ltr.rankers._tree_ranker import TreeRanker


class LambdaMARTRanker(TreeRanker):
    r"""LambdaMART: gradient boosted trees that learn from lambdas.

    Every tree models the gradient of a cost by its scores, and its leaves make a
    Newton step (section 7 of the report):

    .. math::

        \frac{\partial C}{\partial s_i} = \sum_{\{i,j\} \rightleftharpoons I}
        \frac{-\sigma |\Delta Z_{ij}|}{1 + e^{\sigma (s_i - s_j)}}, \qquad
        \gamma = - \frac{\sum_{i \in R} \partial C / \partial s_i}
        {\sum_{i \in R} \partial^2 C / \partial s_i^2}, \qquad
        F_m(x) = F_{m-1}(x) + \eta \gamma.

    Queries whose grades are all equal have no pairs: nothing is learned from them, and
    `min_samples_leaf` does not count their documents.

    The report's own algorithm, to the letter, is ``split_gain="least_squares",
    split_noise=0, bagging_temperature=0, score_noise=0, regression_weight=0,
    truncation_level=None, distance_normalization=False, query_normalization=False``.
    The defaults depart from it where rankings of real data were better for it.

    Parameters
    ----------
    metric : str, Metric or None, default="ndcg@10"
        Metric to optimise, to report and to stop early by: a name (``"ndcg@10"``,
        ``"map"``, ``"mrr@10"``, ``"err@20"``, ...), or an object of a class derived
        from :class:`sklearn_ltr.metrics.Metric`.  None: pairwise errors alone, RankNet
        on trees; NDCG@10 is reported then.
    objective : "lambdarank" or callable, default="lambdarank"
        What trees learn from: lambdas of the metric, or the derivatives of a cost of
        your own, ``objective(scores, grades, offsets) -> (gradient, hessian)``.  Query
        q owns the documents ``offsets[q]`` to ``offsets[q + 1] - 1``.  All are arrays:
        float64 scores and grades and int64 offsets go in, dC/ds and d2C/ds2 >= 0 of
        each document come out (the scores follow minus the gradient).  We multiply both
        by the weight of the query.  Queries have two different grades or more; they
        and their documents come in an order of their content, not of X.  `metric` only
        reports and stops then, and `sigma`, `truncation_level`, both normalizations,
        `score_noise` and `regression_weight` are not used.  Only a function of a
        module can be pickled.
    sigma : float in [1e-50, 1e50], default=1.0
        Steepness of the sigmoid.  With ``l2_regularization=0`` it only scales the
        scores by 1 / sigma (section 7 of the report), those of `init` left aside.
    truncation_level : int >= 1 or None, default=30
        Learn from the metric at this cutoff if the metric's own is smaller: a deeper
        list has more pairs to learn from.  None: from the metric as it is.
    distance_normalization : bool, default=True
        Divide a pair's swap delta by ``0.01 + sigma |s_i - s_j|``.
    query_normalization : bool, default=True
        Multiply the lambdas of a query by ``log2(1 + S) / S``, with S their absolute
        sum, so that long lists do not dominate short ones.
    scoring : str, Metric, list of these or None, default=None
        Metric to measure by during the fit, which early stopping follows; None:
        `metric`.  A list: all are measured, and the first is followed.
    init : estimator or None, default=None
        The base model F_0, on top of which trees are added: a ranker, a regressor, or a
        Pipeline that ends in one.  A fitted one is used as it is (model adaptation); of
        an unfitted one, a clone is fitted first, on the same data.  In a search, which
        clones, wrap a fitted one in :class:`sklearn.frozen.FrozenEstimator`.  None:
        F_0 = 0, or the `init_score` given to `fit`.
    n_estimators : int >= 1, default=100
        Maximum number of trees.
    learning_rate : float in [1e-50, 1e50] or callable, default=0.1
        The report's eta: factor of each tree's step.  A callable gives that of
        each tree from its index, 0, 1, ...: ``lambda m: 0.3 * 0.98**m``.  A warm start
        goes on counting.  Only a function of a module can be pickled, not a lambda.
    max_leaf_nodes : int >= 2, default=31
        Maximum number of leaves of a tree; the report's L.  The leaf whose best split
        has the largest gain is split first.
    max_depth : int >= 1 or None, default=None
        Maximum number of splits between the root and a leaf; None: no limit.
    min_samples_leaf : int >= 1, default=20
        Minimum number of rows of a leaf, exactly counted.
    l2_regularization : float in [0, 1e50], default=0.0
        Added to the sum of hessians of a leaf, in its value and, with second-order
        splits, in the gain.
    max_bins : int in [2, 255], default=255
        Maximum number of bins of a feature; missing values have one more.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Features that hold categories: names, indices or a mask.  "from_dtype": the
        columns of a DataFrame that have a categorical dtype (categories of pandas and
        polars, enums, Arrow dictionaries).  Categories are text or whole numbers, in a
        dense X, and a split sends a set of them left.  If there are more than
        `max_bins`, the most frequent have a bin each, and the others share one bin in
        16 with those of similar mean grades (less the mean of the query).  For a row in
        training, that is the mean over the rows of the other queries, in five folds.
        Categories unseen in `fit` go where missing values go.
    category_smoothing : float in [0, 1e50], default=10.0
        Rows of a node's mean gradient and hessian that are added to those of each
        category before the categories are sorted by gradient over hessian, to be split
        in this order.  It regularises: small categories move to the middle.  As many
        rows of the mean are added to the mean of a category that shares a bin.
    min_samples_category : int >= 1, default=20
        A category with fewer rows in a node goes where missing values go.  If there are
        more than `max_bins`, one with fewer rows in all shares a bin.
    max_split_categories : int >= 1, default=32
        Maximum number of categories on one side of a split; the other may hold more.
    monotonic_cst : array-like of int, dict or None, default=None
        How the score may depend on each feature, all others fixed: 1: it never falls
        as the feature grows; -1: never rises; 0: both.  One number for each feature, or
        a dict from names.  It holds for the trees, not for a base model.
    interaction_cst : list of sets, str or None, default=None
        Features that may be on the same path of a tree, as sets of indices or names;
        those in no set are one more.  "pairwise", "no_interactions": sets of two, of
        one.  None: all.
    max_features : float in (0, 1] or int >= 1, default=1.0
        Features drawn for each split, among those of the tree: a fraction or a number.
    colsample_bytree : float in (0, 1] or int >= 1, default=1.0
        Features drawn for each tree: a fraction or a number.
    subsample : float in (0, 1], default=1.0
        Fraction of the queries drawn for each tree, without replacement.
    split_gain : {"second_order", "least_squares"}, default="second_order"
        A split's gain is the decrease of the cost's second-order expansion; or (the
        report, equation 11) of the squared error of a tree of the gradients.
    split_noise : float in [0, 100], default=0.5
        Standard deviation of the logarithm of a random factor of a feature's best gain
        at a node: weaker features are chosen now and then.  0: no noise.
    bagging_temperature : float in [0, 10], default=1.0
        Bayesian bootstrap: while splits are sought, gradient and hessian of a document
        are multiplied by a weight (-ln u)^t, u uniform in (0, 1) and new for each tree,
        t this temperature.  Leaf values do without.  0: no weights.
    score_noise : float in [0, 100], default=0.5
        Standard deviation, in units of 1 / `sigma`, of logistic noise that is added to
        the scores of which lambdas are computed, new for each tree: orders near that
        of the scores are learned from, too.  0: no noise.
    regression_weight : float in [0, 1e6], default=5.0
        Weight of a regression of the scores of a query on its grades, both centred,
        relative to its pairs: the ratio of their mean hessians.  0: pairs alone.
    position_bias : "additive", "pairwise" or None, default=None
        What to learn about the `positions` given to `fit`, if y are clicks.
        "additive": a bias of each position, which training adds to the scores.
        "pairwise": ratios that divide pairs (Hu et al.).  Predictions are without it.
    bias_regularization : float in [0, 1e50] or None, default=None
        Shrinks it towards no bias.  None: 0.3 for "additive", 1 for "pairwise".
    min_propensity : float in [1e-6, 1], default=0.05
        Smaller `propensities` given to `fit`, and ratios of "pairwise", count as this.
    early_stopping : bool or "auto", default="auto"
        Stop when the validation score has not improved for `n_iter_no_change` trees,
        and keep the trees up to the best.  "auto": if `X_val` is given to `fit`.
        False: `X_val` is only measured.  Of several sets the first is followed.
    validation_fraction : float in (0, 1), default=0.1
        Fraction of the queries held out for early stopping without `X_val`.
    n_iter_no_change : int >= 1, default=20
        Trees to wait for a better validation score.
    tol : float >= 0, default=0.0
        Smallest increase of the validation score that counts as an improvement.
    warm_start : bool, default=False
        Keep the trees of the last `fit` (its bins, seed and base model, too), and add
        to them, up to `n_estimators`.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn: for each tree noise, weights, features and queries;
        held-out queries; above 200,000 rows those that bins are computed from.  Only an
        integer makes two fits the same.
    verbose : int >= 0, default=0
        Print the scores of every `verbose`-th tree.
    n_jobs : int or None, default=None
        Number of threads, at most the cores this process may use.  None: as many of
        these as the data are worth.  The model is the same, bit for bit, for any.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees, as arrays.
    n_iter_ : int
        Number of trees kept.
    init_ : estimator or None
        The base model.
    evals_result_ : dict of str to dict of str to ndarray of shape (n_trees + 1,)
        Of each set, "train" and "validation" ("validation_0", "validation_1", ... of
        several), the values of each metric before the first tree and after each, those
        dropped by early stopping included.  Training data are measured where anything
        else is, with ``verbose > 0``, and if `scoring` is a list.
    train_score_, validation_score_ : ndarrays of shape (n_trees + 1,), float64
        Of these, the training scores by the first metric, and the scores that early
        stopping has followed; empty if there are none.
    loss_curve_ : ndarray of shape (n_trees + 1,), float64
        With ``metric=None`` only, and in place of `train_score_`: RankNet's cost, the
        mean over the pairs of the training queries.
    position_bias_ : ndarray of shape (n_positions,) or (2, n_positions), float64
        Of "additive", in units of scores: 0 for position 0.  Of "pairwise", t+ of the
        clicked document of a pair and t- of the other: 1 for position 0.
    feature_importances_ : ndarray of shape (n_features,), float64
        Share of each feature in the gain of all splits; they sum to 1.
    is_categorical_ : ndarray of shape (n_features,), bool
        Whether each feature is categorical.
    n_features_in_ : int
        Number of features at `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they were strings.

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
        metric: str | Metric | None = "ndcg@10",
        *,
        objective: Literal["lambdarank"] | Callable[..., Any] = "lambdarank",
        sigma: float = 1.0,
        truncation_level: int | None = 30,
        distance_normalization: bool = True,
        query_normalization: bool = True,
        scoring: str | Metric | Sequence[str | Metric] | None = None,
        init: Any = None,
        n_estimators: int = 100,
        learning_rate: float | Callable[[int], float] = 0.1,
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        category_smoothing: float = 10.0,
        min_samples_category: int = 20,
        max_split_categories: int = 32,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        max_features: float = 1.0,
        colsample_bytree: float = 1.0,
        subsample: float = 1.0,
        split_gain: Literal["second_order", "least_squares"] = "second_order",
        split_noise: float = 0.5,
        bagging_temperature: float = 1.0,
        score_noise: float = 0.5,
        regression_weight: float = 5.0,
        position_bias: Literal["additive", "pairwise"] | None = None,
        bias_regularization: float | None = None,
        min_propensity: float = 0.05,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        tol: float = 0.0,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.objective = objective
        self.sigma = sigma
        self.truncation_level = truncation_level
        self.distance_normalization = distance_normalization
        self.query_normalization = query_normalization
        self.scoring = scoring
        self.init = init
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.category_smoothing = category_smoothing
        self.min_samples_category = min_samples_category
        self.max_split_categories = max_split_categories
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.max_features = max_features
        self.colsample_bytree = colsample_bytree
        self.subsample = subsample
        self.split_gain = split_gain
        self.split_noise = split_noise
        self.bagging_temperature = bagging_temperature
        self.score_noise = score_noise
        self.regression_weight = regression_weight
        self.position_bias = position_bias
        self.bias_regularization = bias_regularization
        self.min_propensity = min_propensity
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
