"""A ranker with a network: what it learns from, and what is kept."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._estimators.callbacks import FitTasks
from sklearn_ltr._estimators.feature_table import refuse_values
from sklearn_ltr._estimators.monitor import Progress, Scored
from sklearn_ltr.lambdas import LambdaGradient
from sklearn_ltr.learners._network import (
    MultilayerPerceptron,
    Network,
    check_network,
    predict,
)
from sklearn_ltr.learners._tables import Table, dense_rows
from sklearn_ltr.rankers._batches import ListBatches
from sklearn_ltr.rankers._data import (
    GradedLists,
    calls_above_package,
    nothing_moves,
)
from sklearn_ltr.rankers._evaluation import PairCost, ScoredLists
from sklearn_ltr.rankers._network_parameters import NetworkParameters
from sklearn_ltr.rankers._network_training import (
    ROWS_LOOKED_AT,
    Batches,
    HeldOut,
    Training,
)

TOO_LARGE = 100.0  # root mean square of a column


class UnscaledFeaturesWarning(UserWarning):
    """Columns of X are so large that a network will hardly learn from them."""


class NetworkRanker(NetworkParameters):
    """A ranker whose scores are the output of a network."""

    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {"groups": True}

    @property
    def _curve(self) -> str:
        """Where the values of training are kept: costs, or values of the metric."""
        return "loss_curve_" if self.metric is None else "train_scores_"

    @property
    def _truncation_level(self) -> int | None:
        """At which cutoff to learn, at least; a parameter of LambdaRank's."""
        return None

    @property
    def _watches_training(self) -> bool:
        # a cost falls; a metric stands still while scores move towards a new order
        adaptive = self.solver == "sgd" and self.learning_rate == "adaptive"
        return self.metric is None or adaptive

    def _training_measure(self, batches: ListBatches) -> Scored:
        lists = batches.lists
        measure: PairCost | ScoredLists
        if self.metric is None:
            measure = PairCost(lists, float(self.sigma), self.tied_pairs)
        else:
            measure = ScoredLists(lists, self._reported_metric())
        measure.take(batches.scores)
        return measure

    def _begin(self, keep: bool) -> bool:
        """Return whether to go on from what there is; else draw a new seed."""
        go_on = keep and hasattr(self, "network_")
        plan = ["network"] if self.network is not None else self._plan()
        if not go_on:
            self._draw_seed()
            self._built = plan
        elif self._built != plan:
            raise ValueError(
                "hidden_layer_sizes, activation or network has changed since the "
                f"network was made, of {self._built}, and now {plan}; to begin anew, "
                "fit with warm_start=False"
            )
        return go_on

    def _plan(self) -> list[Any]:
        return [self.activation, *np.atleast_1d(self.hidden_layer_sizes).tolist()]

    def _read_table(self, X: Any, *, reset: bool = False, name: str = "X") -> Table:
        """Check a table, and turn it into single precision."""
        table = super()._read_table(X, reset=reset, name=name)
        with np.errstate(over="ignore"):
            single = table.astype(np.float32, copy=False)
        if not issparse(single):
            single = np.ascontiguousarray(single)
        refuse_values(single, f"{name} in single precision", allow_nan=False)
        return single

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Score documents; scores are comparable within a query.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Real and finite.

        Returns
        -------
        scores : ndarray of shape (n_documents,), float64
            Higher is ranked first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X has other columns than at `fit`, or a value that is not finite or far
            beyond those that the network has learned from.
        """
        check_is_fitted(self)
        table = self._read_table(X)
        with ThreadTeam(effective_n_threads(self.n_jobs, table.size)) as team:
            try:
                return predict(self.network_, table, team)
            except FloatingPointError:
                raise ValueError(
                    "the scores of X are not finite numbers: X holds values far beyond "
                    "those that the network has learned from"
                ) from None

    def _fit_lists(
        self,
        lists: GradedLists,
        held_out: GradedLists | None,
        tasks: FitTasks,
        *,
        go_on: bool,
    ) -> None:
        """Learn from graded lists, in up to `max_iter` epochs."""
        lists, held_out = self._hold_out(lists, held_out)
        self._check_that_there_is_something_to_learn(lists)
        self._learn_lists(lists, held_out, self.max_iter, tasks, go_on=go_on)

    def _pass_over_lists(self, lists: GradedLists, *, go_on: bool) -> None:
        """Learn from graded lists in one epoch, as fast as before.

        In a stream some lists will have nothing to learn from; they are passed over.
        """
        if not go_on:
            self._check_that_there_is_something_to_learn(lists)
        if self._teaches(lists).any():
            self._learn_lists(lists, None, 1, go_on=go_on, keep_pace=go_on)

    def _check_that_there_is_something_to_learn(self, lists: GradedLists) -> None:
        """Raise a ValueError unless a query of some weight has pairs that count."""
        if not self.tied_pairs:
            lists.check_that_there_is_something_to_learn()
        elif not self._teaches(lists).any():
            raise ValueError(
                "no query of a weight above zero has two documents: there are no pairs "
                "to learn from; check groups and sample_weight"
            )

    def _learn_lists(
        self,
        lists: GradedLists,
        held_out: GradedLists | None,
        n_epochs: int,
        tasks: FitTasks | None = None,
        *,
        go_on: bool,
        keep_pace: bool = False,
    ) -> None:
        """Learn from the queries that have pairs."""
        learned = lists.take(self._teaches(lists))
        with ThreadTeam(effective_n_threads(self.n_jobs, lists.X.size)) as team:
            lambdas = self._lambdas(learned, team)
            if not (go_on or self.tied_pairs or lambdas(-learned.grades)[0].any()):
                raise ValueError(nothing_moves(self.metric))  # not the worst of orders
            batches = ListBatches(learned, lambdas, self.tied_pairs)
            measure = self._training_measure(batches)
            training = self._training(
                batches, measure, held_out, lists.X, team, go_on, keep_pace
            )
            self._learn(training, n_epochs, tasks, go_on=go_on)

    def _training(
        self,
        batches: Batches,
        measure: Scored,
        held_out: GradedLists | None,
        X: Table,
        team: ThreadTeam,
        go_on: bool,
        keep_pace: bool,
    ) -> Training:
        """Prepare a copy of the network and of the optimizer, or new ones."""
        watched = (
            None if held_out is None else HeldOut(held_out, self._stopping_metric())
        )
        return Training(
            deepcopy(self.network_) if go_on else self._new_network(X),
            deepcopy(self._optimizer) if keep_pace else self._new_optimizer(),
            X,
            batches,
            batches.usual_size if self.batch_size == "auto" else int(self.batch_size),
            self.alpha,
            self._seed,
            Progress(
                measure,
                watched,
                self.n_iter_no_change,
                self.tol,
                self.verbose,
                self._watches_training,
            ),
            watched,
            team,
        )

    def _learn(
        self, training: Training, n_epochs: int, tasks: FitTasks | None, *, go_on: bool
    ) -> None:
        """Train, and set the fitted attributes."""
        network, progress = training.network, training.progress
        if not go_on:
            self.n_iter_ = 0
            self.validation_scores_: list[float] = []
            self.__dict__.pop("loss_curve_", None)
            self.__dict__.pop("train_scores_", None)
        if isinstance(network, MultilayerPerceptron):
            network.train_with(training.team)
        n_iter = training.run(self.n_iter_, n_epochs, tasks)
        scores = training.look(float(self.sigma))
        if isinstance(training.batches, ListBatches) and not self.tied_pairs:
            warn_if_constant(scores)
        if isinstance(network, MultilayerPerceptron):
            network.train_with(None)
        self.network_, self._optimizer, self.n_iter_ = (
            network,
            training.optimizer,
            n_iter,
        )
        curve = getattr(self, self._curve, [])
        setattr(self, self._curve, curve + progress.train_values)
        self.validation_scores_ = self.validation_scores_ + progress.validation_values

    def _lambdas(self, lists: GradedLists, team: ThreadTeam) -> LambdaGradient:
        """Prepare the force, times the swap deltas of the metric if there is one."""
        return LambdaGradient(
            lists.grades,
            lists.offsets,
            self._learned_metric(self._truncation_level),
            float(self.sigma),
            labels=lists.labels,
            query_weight=lists.weights,
            distance_normalization=False,
            query_normalization=False,
            team=team,
        )

    def _teaches(self, lists: GradedLists) -> NDArray[np.bool_]:
        """Whether a query has pairs to learn from: (n_queries,) bool."""
        several = np.diff(lists.offsets) > 1 if self.tied_pairs else lists.has_pairs
        return several & (lists.weights > 0)

    def _new_network(self, X: Table) -> Network:
        if self.network is not None:
            network = deepcopy(self.network)
            check_network(network, dense_rows(X, [0, -1]))
            return network
        warn_unless_scaled(X)
        return MultilayerPerceptron(
            X.shape[1],
            [int(size) for size in np.atleast_1d(self.hidden_layer_sizes)],
            self.activation,
            np.random.default_rng([self._seed, 3]),
        )


def warn_unless_scaled(X: Table) -> None:
    """Warn of columns that are far from unit size; looks at some rows only."""
    sample = X[:: max(1, X.shape[0] // ROWS_LOOKED_AT)].astype(np.float64)
    squares = sample.multiply(sample) if issparse(sample) else sample**2
    size = np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
    if size.max() > TOO_LARGE:
        column = int(size.argmax())
        warnings.warn(
            f"column {column} of X has root mean square {size[column]:.3g}, and "
            "networks learn well from columns of about unit size; put StandardScaler "
            "before the ranker in a Pipeline",
            UnscaledFeaturesWarning,
            stacklevel=calls_above_package(),
        )


def warn_if_constant(scores: NDArray[np.float64]) -> None:
    """Warn of a network that has stopped to tell documents from each other."""
    if len(scores) > 1 and np.ptp(scores) == 0:
        warnings.warn(
            "the network gives all documents the same score: its units no longer react "
            "to X. Scale the columns of X, or lower learning_rate_init",
            UserWarning,
            stacklevel=calls_above_package(),
        )
