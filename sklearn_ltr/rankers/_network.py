"""A ranker with a network: its parameters, and what it learns from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, check_scalar

from sklearn_ltr._compile import Team, effective_threads
from sklearn_ltr.lambdas import LambdaGradient
from sklearn_ltr.learners.network import (
    SGD,
    Adam,
    MultilayerPerceptron,
    Network,
    Optimizer,
    check_network,
    predict,
)
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.rankers._base import BaseRanker, refuse_values
from sklearn_ltr.rankers._batches import ListBatches
from sklearn_ltr.rankers._data import (
    GradedLists,
    calls_above_package,
    nothing_moves,
)
from sklearn_ltr.rankers._parameters import (
    Range,
    at_least,
    check_choice,
    check_n_jobs,
    check_ranges,
    not_negative,
    positive,
)
from sklearn_ltr.rankers._stopping import Progress, Scored, ScoredLists
from sklearn_ltr.rankers._training import Batches, HeldOut, Training

RANGES = (
    positive("sigma"),
    not_negative("alpha"),
    at_least("batch_size", 1),
    positive("learning_rate_init"),
    not_negative("power_t"),
    at_least("max_iter", 1),
    not_negative("tol"),
    Range("momentum", Real, 0, 1, "both"),
    Range("beta_1", Real, 0, 1, "left"),
    Range("beta_2", Real, 0, 1, "left"),
    positive("epsilon"),
    Range("validation_fraction", Real, 0, 1, "neither"),
    at_least("n_iter_no_change", 1),
    at_least("verbose", 0),
)
CHOICES: dict[str, tuple[Any, ...]] = {
    "activation": ("identity", "logistic", "tanh", "relu"),
    "solver": ("adam", "sgd"),
    "learning_rate": ("constant", "invscaling", "adaptive"),
    "nesterovs_momentum": (True, False),
    "early_stopping": (True, False, "auto"),
    "warm_start": (True, False),
}
T = TypeVar("T")

TOO_LARGE = 100.0  # root mean square of a column
ROWS_LOOKED_AT = 10_000


class UnscaledFeaturesWarning(UserWarning):
    """Columns of X are so large that a network will hardly learn from them."""


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkRanker(BaseRanker):
    """A ranker whose scores are the output of a network.

    Parameters
    ----------
    sigma : float > 0, default=1.0
        Steepness of the sigmoid.
    hidden_layer_sizes : sequence of int >= 1, default=(100,)
        Units of each hidden layer; ``()``: a linear model.
    activation : {"relu", "tanh", "logistic", "identity"}, default="relu"
        Of the hidden layers.
    network : object or None, default=None
        A model of your own in place of the perceptron (the two parameters above are not
        looked at then): an object with ``forward(X) -> scores``, ``backward(dC/ds) ->
        list of gradients`` and ``parameters``, a list of arrays that are changed in
        place; :class:`sklearn_ltr.learners.TorchNetwork` makes one of a PyTorch module.
        A copy of it is trained.
    solver : {"adam", "sgd"}, default="adam"
        How weights follow their gradient.  ``solver="sgd", momentum=0`` is the report's
        step.
    alpha : float >= 0, default=1e-4
        Strength of the L2 penalty on weights (not on biases), divided by the size of
        the batch.
    batch_size : int >= 1, default=1
        Queries per update; the report has one.  The gradient of a batch is the mean of
        its queries' gradients.
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        Schedule of "sgd": as it is; divided by ``(1 + t_) ** power_t`` after each
        epoch; or divided by 5 whenever `n_iter_no_change` epochs have not bettered the
        validation score, without early stopping the cost (RankNet) or the metric
        (LambdaRank) of training.  It stops below 1e-6.
    learning_rate_init : float > 0, default=0.001
        The report's eta: step size at the start.
    power_t : float, default=0.5
        For "invscaling".
    max_iter : int >= 1, default=200
        Epochs, at the most: passes over all queries, in an order drawn for each.
    tol : float >= 0, default=1e-4
        By how much a value must be better to count as such.
    momentum : float in [0, 1], default=0.9
        For "sgd".
    nesterovs_momentum : bool, default=True
        For "sgd".
    beta_1, beta_2 : float in [0, 1), default=0.9 and 0.999
        For "adam": how much of the running means of the gradient and of its square is
        kept at an update.
    epsilon : float > 0, default=1e-8
        For "adam".
    early_stopping : bool or "auto", default="auto"
        Stop when the validation score has not improved for `n_iter_no_change` epochs,
        and keep the best weights.  "auto": if `X_val` is given to `fit`.  False:
        `X_val` is checked, but not looked at.
    validation_fraction : float in (0, 1), default=0.1
        Share of the queries held out for early stopping without `X_val`.
    n_iter_no_change : int >= 1, default=10
        Epochs to wait for a better validation score.  Without early stopping RankNet
        waits for a lower cost, and LambdaRank goes on to the end: a metric may stand
        still for long and then rise.
    scoring : str, Metric or None, default=None
        What early stopping looks at; None: the metric of `score`.
    warm_start : bool, default=False
        Go on from the weights of the last `fit`.
    random_state : int, RandomState instance or None, default=None
        Draws the first weights, the order of the queries and those held out.  Only an
        integer makes two fits the same.
    verbose : int >= 0, default=0
        Print the values of every `verbose`-th epoch.
    n_jobs : int or None, default=None
        Threads.  None: as many as the data are worth and this process may use.  The
        model is the same, bit for bit, for any number.
    """

    sigma: float = 1.0
    hidden_layer_sizes: Sequence[int] = (100,)
    activation: Literal["relu", "tanh", "logistic", "identity"] = "relu"
    network: Network | None = None
    solver: Literal["adam", "sgd"] = "adam"
    alpha: float = 1e-4
    batch_size: int = 1
    learning_rate: Literal["constant", "invscaling", "adaptive"] = "constant"
    learning_rate_init: float = 0.001
    power_t: float = 0.5
    max_iter: int = 200
    tol: float = 1e-4
    momentum: float = 0.9
    nesterovs_momentum: bool = True
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    early_stopping: bool | Literal["auto"] = "auto"
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    scoring: str | Metric | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0
    n_jobs: int | None = None

    def _check_parameters(self) -> None:
        """Raise an error that names the parameter if one is out of its range."""
        check_ranges(self, RANGES)
        for name, choices in CHOICES.items():
            check_choice(self, name, choices)
        check_n_jobs(self.n_jobs)
        sizes = self.hidden_layer_sizes
        if isinstance(sizes, str) or not isinstance(sizes, Sequence | np.ndarray):
            raise TypeError(
                "hidden_layer_sizes must be a sequence of integers >= 1, one for each "
                f"hidden layer, got {sizes!r}"
            )
        for size in sizes:
            check_scalar(size, "hidden_layer_sizes", Integral, min_val=1)

    # What a subclass says of itself: where its training curve is kept, whether
    # documents of equal grade are pairs, and what it watches while it learns.
    _curve = "train_scores_"

    @property
    def _tied_pairs(self) -> bool:
        return False

    @property
    def _watches_training(self) -> bool:
        # a metric stands still for long while scores move towards a change of order
        return self.solver == "sgd" and self.learning_rate == "adaptive"

    def _training_measure(self, batches: ListBatches) -> Scored:
        measure = ScoredLists(batches.lists, self._reported_metric())
        measure.scores = batches.scores
        return measure

    def _begin(self, keep: bool) -> bool:
        """Check the parameters; return whether to go on from what there is."""
        self._check_parameters()
        go_on = keep and hasattr(self, "network_")
        if not go_on:
            self._seed = int(check_random_state(self.random_state).randint(2**31))
        return go_on

    def _read_table(
        self, X: Any, *, reset: bool = False, name: str = "X"
    ) -> NDArray[np.floating]:
        """Check a table, and turn it into single precision."""
        table = super()._read_table(X, reset=reset, name=name)
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(table, dtype=np.float32)
        refuse_values(single, f"{name} in single precision", allow_nan=False)
        return single

    def _scores(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        with Team(effective_threads(self.n_jobs, X.size)) as team:
            try:
                return predict(self.network_, X.astype(np.float32, copy=False), team)
            except FloatingPointError:
                raise ValueError(
                    "the scores of X are not finite numbers: X holds values far beyond "
                    "those that the network has learned from"
                ) from None

    def _fit_lists(
        self, lists: GradedLists, held_out: GradedLists | None, *, go_on: bool
    ) -> None:
        """Learn from graded lists, in up to `max_iter` epochs."""
        lists, held_out = self._hold_out(lists, held_out)
        if not self._tied_pairs:
            lists.check_that_there_is_something_to_learn()
        self._learn_lists(lists, held_out, self.max_iter, go_on=go_on)

    def _pass_over_lists(self, lists: GradedLists, *, go_on: bool) -> None:
        """Learn from graded lists in one epoch, as fast as before."""
        if not self._tied_pairs:
            lists.check_that_there_is_something_to_learn()
        self._learn_lists(lists, None, 1, go_on=go_on, keep_pace=go_on)

    def _learn_lists(
        self,
        lists: GradedLists,
        held_out: GradedLists | None,
        n_epochs: int,
        *,
        go_on: bool,
        keep_pace: bool = False,
    ) -> None:
        """Learn from the queries that have pairs."""
        learned = lists.take(self._teaches(lists))
        with Team(effective_threads(self.n_jobs, lists.X.size)) as team:
            lambdas = self._lambdas(learned, team)
            batches = ListBatches(learned, lambdas, self._tied_pairs)
            measure = self._training_measure(batches)
            training = self._training(
                batches, measure, held_out, lists.X, team, go_on, keep_pace
            )
            self._learn(training, n_epochs, go_on=go_on)
        if not batches.moved:
            raise ValueError(nothing_moves(self.metric))

    def _training(
        self,
        batches: Batches,
        measure: Scored,
        held_out: GradedLists | None,
        X: NDArray[np.floating],
        team: Team,
        go_on: bool,
        keep_pace: bool,
    ) -> Training:
        """Prepare a copy of the network and of the optimizer, or new ones."""
        table: NDArray[np.float32] = X.astype(np.float32, copy=False)
        watched = (
            None if held_out is None else HeldOut(held_out, self._stopping_metric())
        )
        return Training(
            deepcopy(self.network_) if go_on else self._new_network(table),
            deepcopy(self._optimizer) if keep_pace else self._new_optimizer(),
            table,
            batches,
            self.batch_size,
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

    def _learn(self, training: Training, n_epochs: int, *, go_on: bool) -> None:
        """Train, and set the fitted attributes."""
        network, progress = training.network, training.progress
        if not go_on:
            self.n_iter_ = 0
            self.validation_scores_: list[float] = []
            setattr(self, self._curve, [])
        if isinstance(network, MultilayerPerceptron):
            network.train_with(training.team)
        n_iter = training.run(self.n_iter_, n_epochs)
        if isinstance(network, MultilayerPerceptron):
            network.train_with(None)
        self.network_, self._optimizer, self.n_iter_ = (
            network,
            training.optimizer,
            n_iter,
        )
        setattr(self, self._curve, getattr(self, self._curve) + progress.train_values)
        self.validation_scores_ = self.validation_scores_ + progress.validation_values
        warn_if_constant(predict(network, training.X[:ROWS_LOOKED_AT], training.team))

    def _lambdas(self, lists: GradedLists, team: Team) -> LambdaGradient:
        """Prepare the force, times the swap deltas of the metric if there is one."""
        return LambdaGradient(
            lists.grades,
            lists.offsets,
            None if self.metric is None else get_metric(self.metric),
            float(self.sigma),
            labels=lists.labels,
            query_weight=lists.weights,
            distance_normalization=False,
            query_normalization=False,
            team=team,
        )

    def _teaches(self, lists: GradedLists) -> NDArray[np.bool_]:
        """Whether a query has pairs to learn from: (n_queries,) bool."""
        return np.diff(lists.offsets) > 1 if self._tied_pairs else lists.has_pairs

    def _stopping_metric(self) -> Metric:
        if self.scoring is None:
            return self._reported_metric()
        return get_metric(self.scoring)

    def _new_network(self, X: NDArray[np.float32]) -> Network:
        if self.network is not None:
            network = deepcopy(self.network)
            check_network(network, X[[0, -1]])
            return network
        warn_unless_scaled(X)
        return MultilayerPerceptron(
            X.shape[1],
            [int(size) for size in self.hidden_layer_sizes],
            self.activation,
            np.random.default_rng([self._seed, 3]),
        )

    def _new_optimizer(self) -> Optimizer:
        rate = float(self.learning_rate_init)
        if self.solver == "adam":
            return Adam(rate, self.beta_1, self.beta_2, self.epsilon)
        return SGD(
            rate,
            self.momentum,
            self.nesterovs_momentum,
            self.learning_rate,
            self.power_t,
        )


def with_network_parameters(ranker: type[T]) -> type[T]:
    """Write the parameters of every network into the docstring of a ranker."""
    if ranker.__doc__ and NetworkRanker.__doc__:  # python -OO has none
        _, _, shared = NetworkRanker.__doc__.partition("----------\n")
        ranker.__doc__ = ranker.__doc__.replace(
            "    {network parameters}\n", shared.rstrip() + "\n"
        )
    return ranker


def warn_unless_scaled(X: NDArray[np.float32]) -> None:
    """Warn of columns that are far from unit size; looks at some rows only."""
    sample = X[:: max(1, len(X) // ROWS_LOOKED_AT)].astype(np.float64)
    size = np.sqrt(np.mean(sample**2, axis=0))
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
