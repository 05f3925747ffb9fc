"""LambdaRank: a network + force x swap delta (section 4 of the report)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from sklearn_ltr._estimators.callbacks import FitTasks, with_callbacks
from sklearn_ltr._estimators.parameters import at_least, check_ranges
from sklearn_ltr._estimators.state import unchanged_on_failure
from sklearn_ltr.metrics import Metric
from sklearn_ltr.rankers._network import NetworkRanker
from sklearn_ltr.rankers._network_parameters import with_network_parameters


@with_network_parameters
@dataclass(eq=False, repr=False)
class LambdaRankRanker(NetworkRanker):
    r"""LambdaRank: a neural network that learns from lambdas.

    For a pair whose document i has the higher grade (section 4.1 of the report,
    equation 6),

    .. math::

        \lambda_{ij} = \frac{-\sigma}{1 + e^{\sigma (s_i - s_j)}} |\Delta Z_{ij}|,
        \qquad \delta w_k = -\eta \sum_i \lambda_i \frac{\partial s_i}{\partial w_k},
        \qquad \lambda_i = \sum_{j: i \triangleright j} \lambda_{ij}
        - \sum_{j: j \triangleright i} \lambda_{ji},

    where Z is the metric, and Delta its change if i and j swap places in the list
    ranked by the present scores.  The weights follow the lambdas of one query (or
    `batch_size` of them) at a time.

    Networks learn well from columns of about unit size only: put StandardScaler before
    the ranker in a Pipeline.

    Parameters
    ----------
    metric : str, Metric or None, default="ndcg@10"
        What to optimise, report and stop early by: a name (``"ndcg@10"``, ``"map"``,
        ``"mrr@10"``, ``"err@20"``, ...), a metric object, or an object of a class of
        your own derived from :class:`sklearn_ltr.metrics.Metric`.  None: pairwise
        errors alone, RankNet; NDCG@10 is reported then.
    truncation_level : int >= 1 or None, default=30
        Learn from the metric at this cutoff if the metric's own is smaller: a deeper
        list has more pairs to learn from.  None: from the metric as it is.
    {network parameters}

    Attributes
    ----------
    network_ : MultilayerPerceptron, or a copy of `network`
        The trained network; the perceptron's weights are ``network_.coefs`` and
        ``network_.intercepts``.
    n_iter_ : int
        Epochs so far.
    train_scores_ : list of float, one for each epoch
        Metric of the training queries that have two grades, each query scored by the
        weights that its batch met.  With ``metric=None`` there is RankNet's
        `loss_curve_` instead.
    validation_scores_ : list of float
        Of each epoch; empty without early stopping.
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
    >>> from sklearn_ltr import LambdaRankRanker
    >>> X = [[0.1], [0.9], [0.4], [0.8], [0.2], [0.6]]
    >>> y = [0, 2, 1, 1, 0, 2]
    >>> groups = ["a", "b", "a", "b", "b", "a"]
    >>> ranker = LambdaRankRanker(random_state=0)
    >>> ranker.fit(X, y, groups=groups).rank(X, groups=groups)
    array([3, 1, 2, 2, 3, 1])
    """

    metric: str | Metric | None = "ndcg@10"
    truncation_level: int | None = field(default=30, kw_only=True)

    @property
    def _truncation_level(self) -> int | None:
        return self.truncation_level

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ranges(self, [at_least("truncation_level", 1, optional=True)])

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
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Finite numbers; float32 is used as it is, and CSR stays sparse.
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
        self : LambdaRankRanker

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, arguments of different lengths, an empty
            X, features that are not finite numbers, grades that are negative, not
            finite or too large for the metric's gain, weights that change within a
            query, if no query has two different grades, or if the network diverges.
            The estimator is left as it was.
        """
        self._check_parameters()
        weights = {"groups": groups, "sample_weight": sample_weight}
        tasks = FitTasks(self, "epoch", self.max_iter, X, y, **weights)
        with unchanged_on_failure(self):
            go_on = self._begin(self.warm_start)
            lists = self._read_lists(X, y, groups, sample_weight, reset=not go_on)
            held_out = self._read_held_out(X_val, y_val, groups_val, sample_weight_val)
            self._fit_lists(lists, held_out, tasks, go_on=go_on)
        tasks.end()
        return self

    def partial_fit(
        self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from some more queries: one pass over them, going on from before.

        Parameters
        ----------
        X, y, groups, sample_weight : array-likes
            As in `fit`.  All documents of a query belong in one call: pairs are made
            within it.

        Returns
        -------
        self : LambdaRankRanker

        Raises
        ------
        ValueError, TypeError
            As by `fit`.  The estimator is left as it was.
        """
        with unchanged_on_failure(self):
            self._check_parameters()
            go_on = self._begin(True)
            lists = self._read_lists(X, y, groups, sample_weight, reset=not go_on)
            self._pass_over_lists(lists, go_on=go_on)
        return self
