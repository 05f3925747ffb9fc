"""LambdaMART: boosted trees + force x swap delta (section 7 of the report)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal

from sklearn.utils import check_random_state

from sklearn_ltr._compile import Team, effective_threads
from sklearn_ltr.metrics import Metric
from sklearn_ltr.rankers._base import unchanged_on_failure
from sklearn_ltr.rankers._boosted import BoostedRanker
from sklearn_ltr.rankers._callbacks import FitTasks, with_callbacks
from sklearn_ltr.rankers._parameters import (
    Range,
    at_least,
    check_choice,
    check_n_jobs,
    check_ranges,
    not_negative,
    positive,
)

RANGES = (
    positive("sigma"),
    at_least("n_estimators", 1),
    positive("learning_rate"),
    at_least("max_leaf_nodes", 2),
    at_least("max_depth", 1, optional=True),
    at_least("min_samples_leaf", 1),
    not_negative("l2_regularization"),
    Range("max_bins", Integral, 2, 255, "both"),
    Range("subsample", Real, 0, 1, "right"),
    not_negative("split_noise"),
    at_least("truncation_level", 1, optional=True),
    Range("validation_fraction", Real, 0, 1, "neither"),
    at_least("n_iter_no_change", 1),
    not_negative("tol"),
    at_least("verbose", 0),
)


class LambdaMARTRanker(BoostedRanker):
    r"""LambdaMART: gradient boosted trees that learn from lambdas.

    Every tree models the gradient of a cost by its scores, and its leaves make a
    Newton step (section 7 of the report):

    .. math::

        \frac{\partial C}{\partial s_i} = \sum_{\{i,j\} \rightleftharpoons I}
        \frac{-\sigma |\Delta Z_{ij}|}{1 + e^{\sigma (s_i - s_j)}}, \qquad
        \gamma = - \frac{\sum_{i \in R} \partial C / \partial s_i}
        {\sum_{i \in R} \partial^2 C / \partial s_i^2}, \qquad
        F_m(x) = F_{m-1}(x) + \eta \gamma.

    The report's own algorithm, to the letter, is ``split_gain="least_squares",
    split_noise=0, truncation_level=None, distance_normalization=False,
    query_normalization=False``.  The defaults depart from it where rankings of real
    data were better for it.

    Parameters
    ----------
    metric : str, Metric or None, default="ndcg@10"
        What to optimise, report and stop early by: a name (``"ndcg@10"``, ``"map"``,
        ``"mrr@10"``, ``"err@20"``, ...), a metric object, or an object of a class of
        your own derived from :class:`sklearn_ltr.metrics.Metric`.  None: pairwise
        errors alone, RankNet on trees; NDCG@10 is reported then.
    sigma : float > 0, default=1.0
        Steepness of the sigmoid.  With ``l2_regularization=0`` it only scales the
        scores by 1 / sigma.
    n_estimators : int >= 1, default=100
        Number of trees, at the most.
    learning_rate : float > 0, default=0.1
        The report's eta: what a tree's step is multiplied by.
    max_leaf_nodes : int >= 2, default=31
        Leaves of a tree; the report's L.  The leaf whose split gains most is split
        first.
    max_depth : int >= 1 or None, default=None
        Splits between the root and a leaf; None: no limit.
    min_samples_leaf : int >= 1, default=20
        Documents of a leaf, at least, exactly counted.  Documents of queries whose
        grades are all equal have no pairs and are not counted.
    l2_regularization : float >= 0, default=0.0
        Added to the sum of hessians of a leaf, in its value and, with second-order
        splits, in the gain.
    max_bins : int in [2, 255], default=255
        Quantile bins of a column; missing values have one more.
    max_features : float in (0, 1] or int >= 1, default=1.0
        Columns drawn for each tree: a share or a number of them.
    subsample : float in (0, 1], default=1.0
        Share of the queries drawn for each tree; whole queries, without replacement.
    split_gain : {"second_order", "least_squares"}, default="second_order"
        A split is good if it lowers the cost's second-order expansion most; or, as in
        the report (equation 11), if it leaves the smallest squared error of a tree that
        models the gradients.
    split_noise : float >= 0, default=0.5
        Standard deviation of the logarithm of a random factor, by which a column's best
        gain is multiplied before the columns are compared at a node.  It regularises:
        weaker columns get their turn.  0: none.
    truncation_level : int >= 1 or None, default=30
        Learn from the metric at this cutoff if the metric's own is smaller: a deeper
        list has more pairs to learn from.  None: from the metric as it is.
    distance_normalization : bool, default=True
        Divide a pair's swap delta by ``0.01 + sigma |s_i - s_j|``.
    query_normalization : bool, default=True
        Multiply the lambdas of a query by ``log2(1 + S) / S``, with S their absolute
        sum, so that long lists do not drown short ones.
    early_stopping : bool or "auto", default="auto"
        Stop when the validation score has not improved for `n_iter_no_change` trees,
        and keep the trees up to the best.  "auto": if `X_val` is given to `fit`.
        False: `X_val` is checked, but not looked at.
    validation_fraction : float in (0, 1), default=0.1
        Share of the queries held out for early stopping without `X_val`.
    n_iter_no_change : int >= 1, default=20
        Trees to wait for a better validation score.
    tol : float >= 0, default=0.0
        By how much a score must be better to count as such.
    scoring : str, Metric or None, default=None
        What early stopping looks at; None: `metric`.
    warm_start : bool, default=False
        Keep the trees of the last `fit` and add to them, up to `n_estimators`.
    random_state : int, RandomState instance or None, default=None
        Draws the noise of the splits, the columns and queries of each tree, held-out
        queries, and the rows for bins (above 200,000).  Only an integer makes two fits
        the same.
    verbose : int, default=0
        Print the scores of every `verbose`-th tree.
    n_jobs : int or None, default=None
        Threads.  None: as many as the data are worth and this process may use.  The
        model is the same, bit for bit, for any number.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees, as arrays.
    n_iter_ : int
        Number of trees kept.
    train_score_, validation_score_ : ndarrays of shape (n_trees + 1,), float64
        Score before the first tree and after each, those dropped by early stopping
        included; empty where nothing was scored (`train_score_` without early stopping
        and with ``verbose=0``; `validation_score_` without early stopping).
    feature_importances_ : ndarray of shape (n_features,), float64
        Share of each column in the gain of all splits; they sum to 1.
    n_features_in_ : int
        Number of columns at `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they were strings.

    References
    ----------
    C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", Microsoft
    Research Technical Report MSR-TR-2010-82, 2010.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> X = [[0.1], [0.9], [0.4], [0.8], [0.2], [0.6]]
    >>> y = [0, 2, 1, 1, 0, 2]
    >>> groups = ["a", "b", "a", "b", "b", "a"]
    >>> ranker = LambdaMARTRanker(n_estimators=5, min_samples_leaf=1)
    >>> ranker.fit(X, y, groups=groups).rank(X, groups=groups)
    array([3, 1, 2, 2, 3, 1])
    """

    def __init__(
        self,
        metric: str | Metric | None = "ndcg@10",
        *,
        sigma: float = 1.0,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        max_features: float = 1.0,
        subsample: float = 1.0,
        split_gain: Literal["second_order", "least_squares"] = "second_order",
        split_noise: float = 0.5,
        truncation_level: int | None = 30,
        distance_normalization: bool = True,
        query_normalization: bool = True,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        tol: float = 0.0,
        scoring: str | Metric | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.sigma = sigma
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.max_features = max_features
        self.subsample = subsample
        self.split_gain = split_gain
        self.split_noise = split_noise
        self.truncation_level = truncation_level
        self.distance_normalization = distance_normalization
        self.query_normalization = query_normalization
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @with_callbacks
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
    ) -> LambdaMARTRanker:
        """Learn to rank.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Numbers; NaN means missing and goes to the better side of a split.
            float32 and float64 are used as they are, and CSR stays sparse.
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0, not necessarily integers.
        groups : array-like of shape (n_documents,), default=None
            The query of each document: any hashable values, in any row order.  Without
            it all are taken for one query, with a :class:`MissingGroupsWarning`.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, constant within it.
        X_val, y_val, groups_val, sample_weight_val : array-likes, default=None
            The same for the documents that early stopping looks at.

        Returns
        -------
        self : LambdaMARTRanker

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, arguments of different lengths, an empty
            X, infinite features, columns that are not numbers, grades that are
            negative, not finite or too large for the metric's gain, weights that
            change within a query, or if no query has two different grades.  The
            estimator is left as it was.
        """
        self._check_parameters()
        grow_on = self.warm_start and hasattr(self, "ensemble_")
        n_old = len(self.ensemble_) if grow_on else 0
        tasks = FitTasks(
            self,
            "tree",
            self.n_estimators - n_old,
            X,
            y,
            groups=groups,
            sample_weight=sample_weight,
        )
        with unchanged_on_failure(self):
            if self.n_estimators < n_old:
                raise ValueError(
                    f"n_estimators={self.n_estimators} is less than the {n_old} trees "
                    "that warm_start keeps"
                )
            if not grow_on:
                self._seed = int(check_random_state(self.random_state).randint(2**31))
            lists = self._read_lists(X, y, groups, sample_weight, reset=not grow_on)
            held_out = self._read_held_out(X_val, y_val, groups_val, sample_weight_val)
            lists, held_out = self._hold_out(lists, held_out)
            lists.check_that_there_is_something_to_learn()
            with Team(effective_threads(self.n_jobs, lists.X.size)) as team:
                self._boost(lists, held_out, team, tasks, grow_on=grow_on)
        tasks.end()
        return self

    def _check_parameters(self) -> None:
        """Raise an error that names the parameter if one is out of its range."""
        check_ranges(self, RANGES)
        whole = isinstance(self.max_features, Integral)
        share = Range("max_features", Real, 0, 1, "right")
        check_ranges(self, [at_least("max_features", 1) if whole else share])
        check_choice(self, "split_gain", ("second_order", "least_squares"))
        check_choice(self, "early_stopping", (True, False, "auto"))
        for flag in ("distance_normalization", "query_normalization", "warm_start"):
            check_choice(self, flag, (True, False))
        check_n_jobs(self.n_jobs)
