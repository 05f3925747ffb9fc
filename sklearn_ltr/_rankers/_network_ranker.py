"""A ranker with a network: training on queries, fitted attributes, prediction."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_ltr._compile import ThreadTeam, effective_n_threads
from sklearn_ltr._data import TrainingData
from sklearn_ltr._data.tables import Table, dense_rows
from sklearn_ltr._estimators.base import FitTasks
from sklearn_ltr._data.features import check_finite
from sklearn_ltr._estimators.monitor import TRAIN, Measure
from sklearn_ltr._estimators.row_order import order_by_values
from sklearn_ltr._estimators.monitor import name_sets
from sklearn_ltr._data.training_data import check_weights
from sklearn_ltr._lambdas.objective import LambdaObjective, PairOptions
from sklearn_ltr._lambdas.user_objective import UserObjective
from sklearn_ltr._networks import (
    MultilayerPerceptron,
    Network,
    Optimizer,
    check_network,
    predict,
)
from sklearn_ltr._rankers._batches import QueryBatches, auto_batch_size
from sklearn_ltr._rankers._linear_weights import LinearWeights
from sklearn_ltr._rankers._network_curves import NetworkCurves
from sklearn_ltr._rankers._network_parameters import GRADIENTS, LAMBDA_TOTALS
from sklearn_ltr._rankers._network_training import (
    Batches,
    NetworkEvaluation,
    NetworkTraining,
    TrainingPlan,
    continued_optimizer,
)
from sklearn_ltr._rankers._network_warnings import warn_if_constant, warn_unless_scaled
from sklearn_ltr._rankers.reading import check_learnable
from sklearn_ltr._rankers._saved_network import FITTED_STATE, check_saved_network


class NetworkRanker(NetworkCurves, LinearWeights):
    """A ranker whose scores are the output of a network."""

    n_features_in_: int
    _optimizer: Optimizer
    _sigma: float  # of the last fit
    truncation_level: int | None = None  # a parameter of LambdaRank

    _fitted_state = FITTED_STATE
    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {
        "groups": True,
        "positions": True,
        "propensities": True,
    }

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        check_saved_network(self)

    def _begin(self, keep: bool) -> bool:
        """Return whether to continue from the last fit; else draw a new seed."""
        continues = keep and hasattr(self, "network_")
        architecture = ["network"] if self.network is not None else self._architecture()
        if not continues:
            self._draw_seed()
            self._fitted_architecture = architecture
        elif self._fitted_architecture != architecture:
            raise ValueError(
                "hidden_layer_sizes, activation or network has changed since the "
                f"network was made, of {self._fitted_architecture}, and now "
                f"{architecture}; to begin anew, fit with warm_start=False"
            )
        return continues

    def _architecture(self) -> list[Any]:
        return [self.activation, *self.hidden_layer_sizes]

    def _read_features(self, X: Any, *, reset: bool = False, name: str = "X") -> Table:
        """Return X as a checked table of float32."""
        table = super()._read_features(X, reset=reset, name=name)
        with np.errstate(over="ignore"):
            single = table.astype(np.float32, copy=False)
        if not issparse(single):
            single = np.ascontiguousarray(single)
        check_finite(single, f"{name} in single precision", allow_nan=False)
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
        model = self._fitted()
        table = model._read_features(X)
        with ThreadTeam(effective_n_threads(model.n_jobs, table.size)) as team:
            try:
                return predict(model.network_, table, team)
            except FloatingPointError:
                raise ValueError(
                    "the scores of X are not finite numbers: X holds values far beyond "
                    "those that the network has learned from"
                ) from None

    def _fit_queries(
        self,
        data: TrainingData,
        validation: list[TrainingData],
        tasks: FitTasks,
        *,
        continues: bool,
    ) -> None:
        """Train on graded queries for up to `max_iter` epochs."""
        data, held_out = self._hold_out(data, given=bool(validation))
        if held_out is not None:
            validation = [held_out]
        self._check_learnable(data)
        plan = TrainingPlan(self.max_iter, tasks, continues)
        self._train_on_queries(data, validation, plan)

    def _partial_fit_queries(self, data: TrainingData, *, continues: bool) -> None:
        """Train on graded queries for one epoch, continuing the optimizer.

        A call that continues accepts data without anything to learn from: in a stream
        some will be so.
        """
        self._trained_queries = None  # those of earlier calls are not known
        if not continues:
            self._check_learnable(data)
        if self._has_pairs(data).any():
            plan = TrainingPlan(1, None, continues, keeps_optimizer=continues)
            self._train_on_queries(data, [], plan)

    def _check_learnable(self, data: TrainingData) -> None:
        """Raise a ValueError unless a query of positive weight has pairs."""
        if not self._uses_tied_pairs:
            check_learnable(data)
        elif not self._has_pairs(data).any():
            raise ValueError(
                "no query of a weight above zero has two documents: there are no pairs "
                "to learn from; check groups and sample_weight"
            )

    def _has_pairs(self, data: TrainingData) -> NDArray[np.bool_]:
        """Return whether a query has pairs to learn from: (n_queries,) bool."""
        has_pairs = data.sizes > 1 if self._uses_tied_pairs else data.has_pairs
        return has_pairs & (data.weights > 0)

    def _train_on_queries(
        self,
        data: TrainingData,
        validation: list[TrainingData],
        plan: TrainingPlan,
    ) -> None:
        """Train on the queries that have pairs."""
        learned = data.subset(self._has_pairs(data))
        check_weights(learned.weights, "sample_weight", GRADIENTS)
        metric = self._trained_metric(self.truncation_level)
        with ThreadTeam(effective_n_threads(self.n_jobs, data.X.size)) as team:
            learned = learned.reordered(order_by_values(learned, team))
            bias = self._new_bias(learned, continues=plan.continues)
            objective: LambdaObjective | UserObjective
            if callable(self.objective):
                objective = UserObjective(learned, self.objective, needs_hessian=False)
            else:
                options = PairOptions(self.sigma)
                weights = self._pair_weights(learned, bias)
                objective = LambdaObjective(learned, metric, options, team, weights)
            # the reverse of the best order has a gradient unless every order has none
            if not (plan.continues or self._uses_tied_pairs):
                gradient, _ = objective(-learned.y)
                self._check_lambdas(gradient, LAMBDA_TOTALS, metric, learned)
            batches = QueryBatches(
                learned,
                objective,
                self._uses_tied_pairs,
                self._batch_size(auto_batch_size(learned.n_queries)),
                bias,
            )
            measures = self._train_measures(batches)
            n_kept = self._train(
                batches, measures, data.X, data.rows, validation, plan, team
            )
        if bias is not None:
            self.position_bias_ = bias.path[n_kept]

    def _batch_size(self, auto: int) -> int:
        return auto if isinstance(self.batch_size, str) else self.batch_size

    def _train(
        self,
        batches: Batches,
        measures: Mapping[str, Measure],
        X: Table,
        rows: NDArray[np.intp],
        validation: list[TrainingData],
        plan: TrainingPlan,
        team: ThreadTeam,
    ) -> int:
        """Train the network on some rows of X, and set the fitted attributes.

        Returns the number of epochs after which it had the weights that are kept.
        """
        continues = plan.continues
        network = deepcopy(self.network_) if continues else self._new_network(X, rows)
        if isinstance(network, MultilayerPerceptron):
            network.set_team(team)
        optimizer = self._new_optimizer()
        if plan.keeps_optimizer:
            optimizer = continued_optimizer(self._optimizer, optimizer)
        metrics = self._measured_metrics()
        held_out = [NetworkEvaluation(data, metrics) for data in validation]
        names = [TRAIN, *name_sets(len(held_out))]
        of_sets = [measures, *(held.measures for held in held_out)]
        training = NetworkTraining(
            network,
            optimizer,
            X,
            batches,
            self.alpha,
            self._seed,
            self._monitor(dict(zip(names, of_sets, strict=True))),
            held_out,
            team,
        )
        n_done = self.n_iter_ if continues else 0
        n_iter = training.run(n_done, plan.n_epochs, plan.tasks)
        scores = training.check_scores(rows, self.sigma)
        if isinstance(batches, QueryBatches) and not self._uses_tied_pairs:
            warn_if_constant(scores)
        if isinstance(network, MultilayerPerceptron):
            network.set_team(None)
        self.network_, self._optimizer = network, training.optimizer
        self._sigma = self.sigma
        self.n_iter_ = n_iter
        self._set_curves(training.monitor, n_done)
        return training.n_kept

    def _new_network(self, X: Table, rows: NDArray[np.intp]) -> Network:
        if self.network is not None:
            network = deepcopy(self.network)
            check_network(network, dense_rows(X, rows[[0, -1]]))
            return network
        warn_unless_scaled(X, rows)
        return MultilayerPerceptron(
            X.shape[1],
            self.hidden_layer_sizes,
            self.activation,
            np.random.default_rng([self._seed, 3]),
        )
