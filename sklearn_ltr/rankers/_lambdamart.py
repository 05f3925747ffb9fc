"""LambdaMART: boosted trees + force x swap delta (section 7 of the report)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._estimators.callbacks import with_callbacks
from sklearn_ltr._estimators.parameters import (
    at_least,
    check_choice,
    check_ranges,
    positive,
    with_parameters_of,
)
from sklearn_ltr._estimators.state import unchanged_on_failure
from sklearn_ltr._estimators.tree_parameters import TreeParameters
from sklearn_ltr.metrics import Metric
from sklearn_ltr.rankers._boosted import BoostedRanker


@with_parameters_of(
    TreeParameters,
    "{tree parameters}",
    drawn="queries",
    split_noise="0.5",
)
@dataclass(eq=False, repr=False)
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

    Queries whose grades are all equal have no pairs: nothing is learned from them, and
    `min_samples_leaf` does not count their documents.

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
        scores by 1 / sigma (section 7 of the report), those of `init` left aside.
    truncation_level : int >= 1 or None, default=30
        Learn from the metric at this cutoff if the metric's own is smaller: a deeper
        list has more pairs to learn from.  None: from the metric as it is.
    distance_normalization : bool, default=True
        Divide a pair's swap delta by ``0.01 + sigma |s_i - s_j|``.
    query_normalization : bool, default=True
        Multiply the lambdas of a query by ``log2(1 + S) / S``, with S their absolute
        sum, so that long lists do not drown short ones.
    scoring : str, Metric or None, default=None
        What early stopping looks at; None: `metric`.
    init : estimator or None, default=None
        The base model F_0, on top of which trees are added: a ranker, a regressor, or a
        Pipeline that ends in one.  One that is fitted is used as it is (model
        adaptation); of one that is not, a clone is fitted first, on the same data.  In
        a search, which clones, wrap a fitted one in
        :class:`sklearn.frozen.FrozenEstimator`.  None: F_0 = 0, or the `init_score`
        given to `fit`.
    {tree parameters}

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees, as arrays.
    n_iter_ : int
        Number of trees kept.
    init_ : estimator or None
        The fitted base model.
    train_score_, validation_score_ : ndarrays of shape (n_trees + 1,), float64
        Score before the first tree and after each, those dropped by early stopping
        included; empty where nothing was scored (`train_score_` without early stopping
        and with ``verbose=0``; `validation_score_` without early stopping).
    loss_curve_ : ndarray of shape (n_trees + 1,), float64
        With ``metric=None`` only, and in place of `train_score_`: RankNet's cost, the
        mean over the pairs of the training queries.
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

    metric: str | Metric | None = "ndcg@10"
    sigma: float = field(default=1.0, kw_only=True)
    truncation_level: int | None = field(default=30, kw_only=True)
    distance_normalization: bool = field(default=True, kw_only=True)
    query_normalization: bool = field(default=True, kw_only=True)
    scoring: str | Metric | None = field(default=None, kw_only=True)
    init: Any = field(default=None, kw_only=True)
    split_noise: float = field(default=0.5, kw_only=True)

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        init_score: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: Any = None,
        sample_weight_val: Any = None,
        init_score_val: Any = None,
    ) -> Self:
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
        init_score : array-like of shape (n_documents,), default=None
            F_0 of each document, in place of the model `init`: scores computed
            elsewhere.  `predict` needs them for its documents then.
        X_val, y_val, groups_val, sample_weight_val, init_score_val : array-likes, \
default=None
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
        given = {"groups": groups, "sample_weight": sample_weight}
        tasks = self._fit_tasks(X, y, **given)
        with unchanged_on_failure(self):
            grow_on = self._begin()
            lists = self._read_lists(X, y, groups, sample_weight, reset=not grow_on)
            held_out = self._read_held_out(X_val, y_val, groups_val, sample_weight_val)
            if not grow_on:
                self._prepare_base(X, y, init_score, **given)
            base = base_val = self._base(X, len(lists.rows), init_score)
            if held_out is not None:
                n_val = len(held_out.rows)
                base_val = self._base(X_val, n_val, init_score_val, "_val")
            lists, held_out = self._hold_out(lists, held_out)
            lists.check_that_there_is_something_to_learn()
            with ThreadTeam(effective_n_threads(self.n_jobs, lists.X.size)) as team:
                self._boost_lists(lists, held_out, base, base_val, team, tasks, grow_on)
        tasks.end()
        return self

    def _check_parameters(self) -> None:
        """Raise an error that names the parameter if one is out of its range."""
        super()._check_parameters()
        check_ranges(
            self, [positive("sigma"), at_least("truncation_level", 1, optional=True)]
        )
        for flag in ("distance_normalization", "query_normalization"):
            check_choice(self, flag, (True, False))
