"""RankNet: a network + force (sections 2 and 2.1 of the report)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._estimators.callbacks import FitTasks, with_callbacks
from sklearn_ltr._estimators.state import unchanged_on_failure
from sklearn_ltr.learners._tables import Table
from sklearn_ltr.rankers._batches import PreferenceBatches
from sklearn_ltr.rankers._data import GradedLists
from sklearn_ltr.rankers._network import NetworkRanker
from sklearn_ltr.rankers._network_parameters import with_network_parameters
from sklearn_ltr.rankers._preferences import Preferences


class PairedRows(NamedTuple):
    """A table, and preferences between its rows."""

    X: Table
    preferences: Preferences


@with_network_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class RankNetRanker(NetworkRanker):
    r"""RankNet: a neural network that learns which of two documents is better.

    The model's probability that document i beats document j, its cost against a target
    probability, and what that cost does to the weights (section 2 of the report,
    equations 3 and 4):

    .. math::

        P_{ij} = \frac{1}{1 + e^{-\sigma (s_i - s_j)}}, \qquad
        C = -\bar{P}_{ij} \log P_{ij} - (1 - \bar{P}_{ij}) \log (1 - P_{ij}), \qquad
        \lambda_{ij} = \sigma \left(1 - \bar{P}_{ij}
        - \frac{1}{1 + e^{\sigma (s_i - s_j)}}\right),

    .. math::

        \delta w_k = -\eta \sum_i \lambda_i \frac{\partial s_i}{\partial w_k}, \qquad
        \lambda_i = \sum_{j: \{i, j\} \in I} \lambda_{ij}
        - \sum_{j: \{j, i\} \in I} \lambda_{ji}.

    Grades say that the better document of a pair wins, :math:`\bar{P}_{ij} = 1`; pairs
    with measured probabilities can be given in their place.  The lambdas of a document
    are added up before anything is propagated, so an epoch costs time near linear in
    the number of documents.

    Networks learn well from columns of about unit size only: put StandardScaler before
    the ranker in a Pipeline.

    Parameters
    ----------
    tied_pairs : bool, default=False
        Whether documents of equal grade are pairs too, with target probability 1/2:
        they pull each other together.
    {network parameters}

    Attributes
    ----------
    network_ : MultilayerPerceptron, or a copy of `network`
        The trained network; the perceptron's weights are ``network_.coefs`` and
        ``network_.intercepts``.
    n_iter_ : int
        Epochs so far.
    loss_curve_ : list of float, one for each epoch
        Cost C, the mean over training pairs (weighted like their queries), each batch
        scored by the weights that it met.
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
    >>> from sklearn_ltr import RankNetRanker
    >>> X = [[0.1], [0.9], [0.4], [0.8], [0.2], [0.6]]
    >>> y = [0, 2, 1, 1, 0, 2]
    >>> groups = ["a", "b", "a", "b", "b", "a"]
    >>> ranker = RankNetRanker(random_state=0)
    >>> ranker.fit(X, y, groups=groups).rank(X, groups=groups)
    array([3, 1, 2, 2, 3, 1])
    """

    tied_pairs: bool = False

    metric = None  # the force alone

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        pairs: Any = None,
        pair_probabilities: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Learn to rank, from grades or from preferences.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Finite numbers; float32 is used as it is, and CSR stays sparse.
        y : array-like of shape (n_documents,), default=None
            Relevance grades, finite and >= 0, not necessarily integers.  None: learn
            from `pairs`.
        groups : array-like of shape (n_documents,), default=None
            The query of each document: any hashable values, in any row order.  With
            `y` and without it all are taken for one query, with a
            :class:`MissingGroupsWarning`.  With `pairs` it is not needed; if given,
            pairs must lie within queries, and those of a query are learned together.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, constant within it.
        pairs : array-like of shape (n_pairs, 2), integers, default=None
            Preferences in place of grades: rows of X, of which the first beats the
            second.  They may be inconsistent.  `batch_size` counts pairs then, unless
            `groups` is given.
        pair_probabilities : array-like of shape (n_pairs,), default=None
            Probability in [0, 1] that the first of a pair beats the second; None: 1.
        X_val, y_val, groups_val, sample_weight_val : array-likes, default=None
            Graded documents that early stopping looks at.

        Returns
        -------
        self : RankNetRanker

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, arguments of different lengths, an empty
            X, features that are not finite numbers, grades that are negative or not
            finite, weights that change within a query, if no query has two different
            grades, for both or neither of `y` and `pairs`, pairs that are not two
            different rows of X, probabilities outside [0, 1], or if the network
            diverges.  The estimator is left as it was.
        """
        self._check_parameters()
        weights = {"groups": groups, "sample_weight": sample_weight}
        tasks = FitTasks(self, "epoch", self.max_iter, X, y, **weights)
        with unchanged_on_failure(self):
            go_on = self._begin(self.warm_start)
            given = self._read_either(
                X, y, groups, sample_weight, pairs, pair_probabilities, reset=not go_on
            )
            held_out = self._read_held_out(X_val, y_val, groups_val, sample_weight_val)
            if isinstance(given, GradedLists):
                self._fit_lists(given, held_out, tasks, go_on=go_on)
            else:
                held_out = self._watch_if_asked(held_out)
                self._learn_preferences(
                    given, held_out, self.max_iter, tasks, go_on=go_on
                )
        tasks.end()
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        pairs: Any = None,
        pair_probabilities: Any = None,
    ) -> Self:
        """Learn from some more queries or pairs: one pass over them.

        Parameters
        ----------
        X, y, groups, sample_weight, pairs, pair_probabilities : array-likes
            As in `fit`.  All documents of a query belong in one call: pairs are made
            within it.

        Returns
        -------
        self : RankNetRanker

        Raises
        ------
        ValueError, TypeError
            As by `fit`.  The estimator is left as it was.
        """
        with unchanged_on_failure(self):
            self._check_parameters()
            go_on = self._begin(True)
            given = self._read_either(
                X, y, groups, sample_weight, pairs, pair_probabilities, reset=not go_on
            )
            if isinstance(given, GradedLists):
                self._pass_over_lists(given, go_on=go_on)
            else:
                self._learn_preferences(given, None, 1, go_on=go_on, keep_pace=go_on)
        return self

    def predict_pair_proba(self, X_i: Any, X_j: Any) -> NDArray[np.float64]:
        """Probability that each document of X_i is ranked above that of X_j.

        Parameters
        ----------
        X_i, X_j : array-likes of shape (n_pairs, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_pairs,), float64
            P_ij = 1 / (1 + exp(-sigma (s_i - s_j))), section 2 of the report.

        Raises
        ------
        ValueError
            If X_i and X_j have different numbers of rows.
        """
        s_i, s_j = self.predict(X_i), self.predict(X_j)
        if len(s_i) != len(s_j):
            raise ValueError(
                f"X_i and X_j must have one row for each pair, got {len(s_i)} and "
                f"{len(s_j)}"
            )
        probabilities: NDArray[np.float64] = expit(self.sigma * (s_i - s_j))
        return probabilities

    def _read_either(
        self,
        X: Any,
        y: Any,
        groups: Any,
        sample_weight: Any,
        pairs: Any,
        pair_probabilities: Any,
        *,
        reset: bool,
    ) -> GradedLists | PairedRows:
        """Read what there is to learn from: grades, or preferences."""
        if pairs is None:
            if pair_probabilities is not None:
                raise ValueError("pair_probabilities needs pairs, and pairs is None")
            return self._read_lists(X, y, groups, sample_weight, reset=reset)
        if y is not None:
            raise ValueError(
                "y and pairs were both given: learn either from grades or from "
                "preferences"
            )
        table = self._read_table(X, reset=reset)
        preferences = Preferences.read(
            pairs, pair_probabilities, groups, sample_weight, table.shape[0]
        )
        return PairedRows(table, preferences)

    def _watch_if_asked(self, held_out: GradedLists | None) -> GradedLists | None:
        """Return what early stopping looks at when there are no grades to split."""
        if not self.early_stopping:
            return None
        if held_out is None and self.early_stopping != "auto":
            raise ValueError(
                "early_stopping=True with pairs needs graded documents to look at: "
                "give X_val, y_val and groups_val"
            )
        return held_out

    def _learn_preferences(
        self,
        given: PairedRows,
        held_out: GradedLists | None,
        n_epochs: int,
        tasks: FitTasks | None = None,
        *,
        go_on: bool,
        keep_pace: bool = False,
    ) -> None:
        """Learn from preferences."""
        batches = PreferenceBatches(given.preferences, float(self.sigma))
        with ThreadTeam(effective_n_threads(self.n_jobs, given.X.size)) as team:
            training = self._training(
                batches, batches, held_out, given.X, team, go_on, keep_pace
            )
            self._learn(training, n_epochs, tasks, go_on=go_on)
