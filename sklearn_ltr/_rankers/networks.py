"""Rankers whose scores are the output of a network: RankNet and LambdaRank.

The weights follow the gradient of the scores (section 2.1 of C. Burges, "From RankNet
to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82).  `NetworkRanker.fit` reads
the documents, holds some out, computes lambdas for batches of the others
(`query_batches`), and trains the network on them (`run_epochs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    Self,
)

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from sklearn_ltr._compile import ThreadTeam, effective_n_threads, one_blas_thread
from sklearn_ltr._data import (
    FitData,
    GivenColumns,
    RowColumns,
    TrainingData,
    ValidationSet,
    describe_columns,
    fit_requests,
    split_validation,
)
from sklearn_ltr._data.features import check_finite
from sklearn_ltr._data.pairs import GivenPairs
from sklearn_ltr._data.tables import Matrix, Table, dense_rows
from sklearn_ltr._data.training_data import (
    check_document_weights,
    check_judged_weights,
    check_weights,
)
from sklearn_ltr._estimators.attributes import FEATURES, Attribute, Attributes
from sklearn_ltr._estimators.base import (
    FitTasks,
    draw_seed,
    refit,
    require,
    with_callbacks,
)
from sklearn_ltr._estimators.caller import warn_caller
from sklearn_ltr._estimators.monitor import (
    TRAIN,
    EvalsResult,
    Measure,
    Monitor,
    ScoredMeasure,
    append_results,
    curves_of,
    first_validation_curve,
    name_sets,
)
from sklearn_ltr._estimators.nothing_learned import NothingLearnedWarning
from sklearn_ltr._estimators.validation_range import given_sets, warn_of_ranges
from sklearn_ltr._lambdas.objective import LambdaObjective, PairOptions
from sklearn_ltr._lambdas.position_bias import (
    BiasChoice,
    BiasOptions,
    PositionBias,
    new_bias,
    pair_weights_of,
)
from sklearn_ltr._lambdas.preferences import PreferenceObjective
from sklearn_ltr._lambdas.user_objective import UserObjective
from sklearn_ltr._networks import (
    GRADIENTS,
    SMALLEST_SINGLE,
    SOLVERS,
    Batch,
    MultilayerPerceptron,
    Network,
    Optimizer,
    check_network,
    descend,
    predict,
    read_solver_params,
)
from sklearn_ltr._parameters import Choice, Or, integer, read_parameters, real
from sklearn_ltr._rankers.base import (
    BaseRanker,
    RankerParameters,
    is_among,
    name_metrics,
    reported_metric,
)
from sklearn_ltr._rankers.evaluation import MetricEvaluation, PairCostEvaluation
from sklearn_ltr._rankers.labels import (
    FORCES,
    LabelsBatches,
    check_several_labels,
    cost_measures,
    metric_measures,
)
from sklearn_ltr._rankers.preferences import (
    AUTO_PAIRS,
    PreferenceBatches,
)
from sklearn_ltr._rankers.reading import (
    NO_VALIDATION_OF_PAIRS,
    check_judged,
    check_lambdas,
    check_learnable,
    check_weighted_pairs,
    hold_out_queries,
    read_preferences,
    with_pairs,
)
from sklearn_ltr._typing import (
    ArraysLike,
    FloatArray,
    IdArraysLike,
    IdsLike,
    IntArray,
    MatricesLike,
    MatrixLike,
)
from sklearn_ltr.metrics import Metric

SINGLE_LAMBDA_TOTALS = (1e-30, 1e30)  # of all training data
BIAS_RATE = 0.3  # factor of the Newton step of an additive bias after each epoch

AUTO_QUERIES = 8  # per batch, if an epoch still has MIN_UPDATES updates
MIN_UPDATES = 16
# per batch of short lists, if an epoch still has 100 updates
AUTO_DOCUMENTS = 160
MIN_UPDATES_OF_SHORT_LISTS = 100

# Where sigma |s| exceeds 2^24, neighbouring float32 numbers are further apart than the
# sigmoid is wide.
LARGEST_SINGLE_SCORE = 2.0**24
LARGE_FEATURE = 100.0  # root mean square of a feature above which a warning is given
CHECKED_ROWS = 10_000  # rows whose features, and whose scores after training, are read


class LayerSizes:
    """The values of `hidden_layer_sizes`."""

    def read_as(self, name: str, value: ArrayLike) -> tuple[int, ...]:
        """Return the size of each layer, or raise a TypeError or ValueError."""
        sizes = np.atleast_1d(np.asarray(value, dtype=object))
        if sizes.ndim > 1:
            raise ValueError(
                f"{name} must be integers >= 1, one for each hidden layer, got "
                f"{value!r}"
            )
        values = integer(1, 2**31 - 1)
        return tuple(values.read_as(name, size) for size in sizes)

    def in_words(self) -> str:
        """Return the values as docstrings give them."""
        return "int or sequence of int, each of at least 1"


@dataclass(frozen=True, kw_only=True)
class NetworkParameters(RankerParameters):
    """The parameters that rankers with a network share, which document them."""

    sigma: Annotated[float, real(*GRADIENTS)]
    hidden_layer_sizes: Annotated[tuple[int, ...], LayerSizes()]
    activation: Annotated[str, Choice("identity", "logistic", "tanh", "relu")]
    network: Network | None
    solver: Annotated[str, Choice(*SOLVERS)]
    solver_params: Mapping[str, object] | None  # checked by new_optimizer
    alpha: Annotated[float, real(0, GRADIENTS[1])]
    batch_size: Annotated[int | Literal["auto"], Or(integer(1), ("auto",))]
    learning_rate: Annotated[str, Choice("constant", "invscaling", "adaptive")]
    learning_rate_init: Annotated[float, real(SMALLEST_SINGLE, closed="left")]
    max_iter: Annotated[int, integer(1)]
    # not "pairwise": networks ranked no better with it than without a bias
    position_bias: Annotated[BiasOptions | None, BiasChoice("additive")]
    label_weights: ArrayLike | None
    tied_pairs: bool = field(default=False, init=False)  # a parameter of RankNet
    takes_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Raise an error for values that do not go together."""
        super().__post_init__()
        self.new_optimizer()  # raises for parameters that the solver does not have

    def new_optimizer(self) -> Optimizer:
        """Return an optimizer before its first step."""
        options = read_solver_params(self.solver, self.solver_params)
        if self.solver == "sgd":
            options["schedule"] = self.learning_rate
        return SOLVERS[self.solver](self.learning_rate_init, **options)

    @property
    def architecture(self) -> list[str | int]:
        """The settings that must stay the same to continue training a network."""
        if self.network is not None:
            return ["network"]
        return [self.activation, *self.hidden_layer_sizes]

    @property
    def stops_on_train(self) -> bool:
        """Whether training stops when its own measure no longer improves."""
        # A cost does fall steadily; a metric may stand still while scores move towards
        # another order, so it only reduces the rate of "adaptive"
        is_adaptive = self.solver == "sgd" and self.learning_rate == "adaptive"
        return self.metric is None or is_adaptive

    def batch_size_or(self, auto: int) -> int:
        """Return the batch size, or what "auto" stands for."""
        return auto if isinstance(self.batch_size, str) else self.batch_size

    def has_pairs(self, data: TrainingData) -> NDArray[np.bool_]:
        """Return whether a query has pairs to learn from, (n_queries,)."""
        has_pairs, weights = data.has_weighted_pairs, data.columns.document_weight
        if self.tied_pairs:
            n_counted = data.sizes
            if weights is not None:
                n_counted = np.add.reduceat((weights > 0) * 1, data.offsets[:-1])
            has_pairs = n_counted > 1
        return has_pairs & (data.sample_weight > 0)

    def check_learnable(self, data: TrainingData) -> None:
        """Raise a ValueError unless a query of positive weight has pairs."""
        if not self.tied_pairs:
            check_learnable(data)
            check_weighted_pairs(data)
        elif not self.has_pairs(data).any():
            raise ValueError(
                "no query of a weight above zero has two documents, so there are no "
                "pairs to learn from: check groups, sample_weight and document_weight"
            )


class UnscaledFeaturesWarning(UserWarning):
    """Warning: features of X are too large for a network to learn from them.

    Examples
    --------
    >>> import warnings
    >>> from sklearn_ltr import RankNetRanker, UnscaledFeaturesWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ranker = RankNetRanker(max_iter=1, random_state=0).fit(
    ...         [[1000.0], [2000.0]], [0, 1], groups=[7, 7]
    ...     )
    >>> caught[0].category is UnscaledFeaturesWarning
    True
    """


class KeptNetwork(NamedTuple):
    """The fit that is continued; of a new fit, only a seed."""

    seed: int
    attributes: Mapping[str, Any] = {}  # all fitted attributes of the last fit

    @property
    def is_new(self) -> bool:
        """Whether there is nothing to continue."""
        return not self.attributes

    @property
    def n_epochs(self) -> int:
        """Epochs of earlier fits."""
        return int(self.attributes.get("n_iter_", 0))


def keep_network(
    attributes: Mapping[str, Any], parameters: NetworkParameters
) -> KeptNetwork:
    """Return the fit to continue; a ValueError if its network is of another kind."""
    p = parameters
    if "network_" not in attributes:
        return KeptNetwork(draw_seed(p.random_state))
    if attributes["_fitted_architecture"] != p.architecture:
        raise ValueError(
            "hidden_layer_sizes, activation or network has changed since the last fit: "
            f"it was {attributes['_fitted_architecture']} and is {p.architecture}: fit "
            "with warm_start=False"
        )
    return KeptNetwork(attributes["_seed"], dict(attributes))


class Batches(Protocol):
    """The units (queries, or single preferences) that a network learns from."""

    X: Table
    rows: NDArray[np.intp]  # of X that were given to learn from
    size: int  # number of units
    may_tie: bool  # whether equal scores may be the best

    @property
    def measures(self) -> Mapping[str, Measure]:
        """Measures of the scores that batches had in the last epoch, by name."""

    def in_order(self, units: IntArray) -> Iterator[Batch]:
        """Yield the batches of an epoch that visits the units in this order."""

    def fitted(self, n_epochs: int) -> dict[str, object]:
        """Return further attributes, as learned by the first epochs of this fit."""


class QueryBatches:
    """Batches of whole queries, whose lambdas come from grades.

    The bias of positions makes a step after each epoch.  Measures use the scores that
    each batch had in the last epoch; the cost adds the bias of positions, as the
    gradients do.
    """

    def __init__(
        self,
        data: TrainingData,
        rows: NDArray[np.intp],
        objective: LambdaObjective
        | PreferenceObjective
        | UserObjective
        | LabelsBatches,
        parameters: NetworkParameters,
        bias: PositionBias | None,
    ) -> None:
        self.X, self.rows = data.X, rows
        self._data, self._objective, self._bias = data, objective, bias
        self._tied_pairs = self.may_tie = parameters.tied_pairs
        self.size = data.n_queries
        auto = auto_batch_size(self.size, data.n_rows)
        self._batch_size = parameters.batch_size_or(auto)
        self._scores = np.zeros(data.n_rows)
        self._shown_scores = self._scores if bias is None else np.zeros(data.n_rows)
        self.measures = training_measures(data, parameters)
        self._update_measures()

    def _update_measures(self) -> None:
        """Give the measures the scores of the last epoch."""
        for name, measure in self.measures.items():
            measure.update(self._shown_scores if name == "cost" else self._scores)

    def in_order(self, queries: IntArray) -> Iterator[Batch]:
        """Yield the batches of an epoch that visits the queries in this order."""
        objective = self._objective.reordered(queries)
        documents, offsets = objective.documents, objective.offsets
        scores, shown = np.zeros((2, len(documents)))
        derivatives = np.zeros((2, len(documents)))  # gradient and hessian
        shift = np.zeros(len(documents))
        if self._bias is not None:
            shift = self._bias.as_shown(shift)[documents]
        for first in range(0, len(queries), self._batch_size):
            last = min(first + self._batch_size, len(queries))
            own = slice(offsets[first], offsets[last])

            def gradient(
                batch_scores: FloatArray,
                own: slice = own,
                first: int = first,
                last: int = last,
            ) -> FloatArray:
                scores[own] = batch_scores
                shown[own] = batch_scores + shift[own]
                lambdas, hessian = objective.differentiate(shown, first, last)
                if self._tied_pairs and isinstance(objective, LambdaObjective):
                    objective.add_tied_pairs(shown, first, last)
                derivatives[:, own] = lambdas, hessian
                return lambdas

            yield Batch(self._data.rows[documents[own]], last - first, gradient)
        self._scores[documents], self._shown_scores[documents] = scores, shown
        self._update_measures()  # those of a label have copies of its own scores
        if self._bias is not None:
            gradients, hessians = np.zeros((2, len(documents)))
            gradients[documents], hessians[documents] = derivatives
            self._bias.step(gradients, hessians, BIAS_RATE)

    def fitted(self, n_epochs: int) -> dict[str, object]:
        """Return the bias of positions after the first epochs of this fit."""
        if isinstance(self._objective, LabelsBatches):
            return self._objective.fitted()
        if self._bias is None:
            return {}
        return {"position_bias_": self._bias.path[n_epochs]}


def auto_batch_size(n_queries: int, n_documents: int) -> int:
    """Return the queries per update: 8, more of short lists, fewer of few queries."""
    in_short_lists = min(
        AUTO_DOCUMENTS * n_queries // n_documents,
        n_queries // MIN_UPDATES_OF_SHORT_LISTS,
    )
    return max(1, min(AUTO_QUERIES, n_queries // MIN_UPDATES), in_short_lists)


def training_measures(
    data: TrainingData, parameters: NetworkParameters
) -> dict[str, ScoredMeasure]:
    """Return measures of the training data by name, the cost or the metric first."""
    p, measures = parameters, dict[str, ScoredMeasure]()
    if data.label_grades is not None:
        measured = metric_measures(p, data, "the training data", data)
        if p.metric is not None:
            return measured
        return cost_measures(p, data) | (measured if p.measures_train else {})
    wanted = list(p.measured_metrics().values()) if p.measures_train else []
    if p.metric is None:
        measures["cost"] = PairCostEvaluation(data, p.sigma, p.tied_pairs)
    else:
        own = reported_metric(p.metric)
        wanted = [own, *(metric for metric in wanted if not is_among(metric, [own]))]
    for name, metric in name_metrics(wanted).items():
        measures[name] = MetricEvaluation(data, metric)
    return measures


def query_batches(
    data: TrainingData,
    parameters: NetworkParameters,
    kept: KeptNetwork,
    team: ThreadTeam,
) -> QueryBatches:
    """Return batches of the queries that have pairs, and their lambdas."""
    p = parameters
    learned = data.subset(p.has_pairs(data))
    check_weights(learned.sample_weight, "sample_weight", GRADIENTS)
    check_document_weights(learned, GRADIENTS)
    check_judged_weights(learned, GRADIENTS)

    # rows are sorted by content, so that their given order does not change the model
    hashes = learned.X.hashes(learned.rows, team)
    learned = learned.reordered(learned.content_order(hashes))

    # the lambdas: metric, bias of positions, weights of pairs
    if learned.label_grades is not None:
        labels = labels_batches(learned, p, kept, team)
        return QueryBatches(learned, data.rows, labels, p, None)
    metric = p.trained_metric()
    earlier = kept.attributes.get("position_bias_")
    bias = new_bias(p.position_bias, learned, earlier, p.min_propensity)
    objective: LambdaObjective | PreferenceObjective | UserObjective
    options = PairOptions(p.sigma)
    if callable(p.objective):
        objective = UserObjective(learned, p.objective, needs_hessian=False)
    elif learned.pairs is not None:
        objective = PreferenceObjective(learned, metric, options, team)
    else:
        weights = pair_weights_of(learned, bias, p.min_propensity)
        objective = LambdaObjective(learned, metric, options, team, weights)

    if kept.is_new and not p.tied_pairs and learned.pairs is None:
        check_gradient(objective, learned, metric, p)
    return QueryBatches(learned, data.rows, objective, p, bias)


def check_gradient(
    objective: LambdaObjective | PreferenceObjective | UserObjective,
    data: TrainingData,
    metric: Metric | None,
    parameters: NetworkParameters,
) -> None:
    """Raise a ValueError if no order of the documents has a gradient."""
    # if not even the reverse of the best order has one
    gradient, _ = objective(-data.y)
    p, total = parameters, float(np.abs(gradient).sum())
    by_function = callable(p.objective)
    totals = SINGLE_LAMBDA_TOTALS
    check_lambdas(total, totals, p.metric, metric, data, by_function=by_function)


def labels_batches(
    data: TrainingData,
    parameters: NetworkParameters,
    kept: KeptNetwork,
    team: ThreadTeam,
) -> LabelsBatches:
    """Return the lambdas of several labels."""

    def of_label(number: int, own: TrainingData) -> LambdaObjective:
        p = parameters.of_label(number)
        metric = p.trained_metric()
        weights = pair_weights_of(own, None, p.min_propensity)
        objective = LambdaObjective(own, metric, PairOptions(p.sigma), team, weights)
        check_gradient(objective, own, metric, p)
        return objective

    return LabelsBatches(data, kept.attributes, kept.is_new, of_label)


def preference_batches(
    data: TrainingData, parameters: NetworkParameters
) -> PreferenceBatches:
    """Return batches of preferences: of queries, or of pairs where there are none."""
    auto = AUTO_PAIRS
    if data.pairs is not None and data.pairs.by_query:
        auto = auto_batch_size(data.n_queries, data.n_rows)
    return PreferenceBatches(data, parameters.sigma, parameters.batch_size_or(auto))


def new_batches(
    data: TrainingData,
    parameters: NetworkParameters,
    kept: KeptNetwork,
    team: ThreadTeam,
) -> Batches:
    """Return batches of graded queries, or of preferences alone."""
    if data.pairs is not None and parameters.metric is None:
        return preference_batches(data, parameters)
    return query_batches(data, parameters, kept, team)


def learn(
    data: FitData,
    optimizer: Optimizer,
    parameters: NetworkParameters,
    kept: KeptNetwork,
    n_epochs: int,
    tasks: FitTasks | None,
) -> dict[str, object]:
    """Divide data into batches and descend; return the fitted attributes."""
    p, size = parameters, data.train.X.size
    with ThreadTeam(effective_n_threads(p.n_jobs, size)) as team:
        batches = new_batches(data.train, p, kept, team)
        return run_epochs(
            batches, optimizer, data.validation, p, kept, n_epochs, tasks, team
        )


def held_out_measures(
    data: TrainingData, parameters: NetworkParameters
) -> Mapping[str, ScoredMeasure]:
    """Return the metrics of validation data by name."""
    if data.label_grades is not None:
        return metric_measures(parameters, data, "the validation data")
    metrics = parameters.measured_metrics()
    return {name: MetricEvaluation(data, metric) for name, metric in metrics.items()}


def run_epochs(
    batches: Batches,
    optimizer: Optimizer,
    validation: list[TrainingData],
    parameters: NetworkParameters,
    kept: KeptNetwork,
    n_epochs: int,
    tasks: FitTasks | None,
    team: ThreadTeam,
) -> dict[str, object]:
    """Train a network for up to `n_epochs` epochs; return the fitted attributes."""
    p, X, rows = parameters, batches.X, batches.rows
    if kept.is_new:
        network = new_network(p, kept.seed, X, rows)
        warn_of_features(X, rows, validation, is_drawn=p.network is None)
    else:
        network = deepcopy(kept.attributes["network_"])
    if isinstance(network, MultilayerPerceptron):
        network.set_team(team)

    # the measures after each epoch
    held_out = [held.X.take(held.rows) for held in validation]
    measures = [held_out_measures(held, p) for held in validation]
    names = [TRAIN, *name_sets(len(validation))]
    sets = zip(names, [batches.measures, *measures], strict=True)
    curves = curves_of(dict(sets), {}, 0)
    held_out_curve = first_validation_curve(curves) if p.early_stopping else None
    followed = held_out_curve
    if followed is None and p.stops_on_train:
        followed = curves[0]
    monitor = Monitor(
        curves,
        followed,
        p.n_iter_no_change,
        p.tol,
        p.verbose,
        "epoch",
        kept.n_epochs,
        kept.n_epochs + n_epochs,
    )

    def fitted() -> dict[str, object]:
        return {
            "network_": network,
            "n_iter_": n_iter,
            "_optimizer": optimizer,
            "_sigma": p.sigma,
            "_seed": kept.seed,
            "_fitted_architecture": p.architecture,
        }

    n_iter = kept.n_epochs
    best_weights: list[NDArray[np.floating]] | None = None
    for epoch in range(kept.n_epochs, kept.n_epochs + n_epochs):
        # visit all units once, in the epoch's own random order
        rng = np.random.default_rng([kept.seed, epoch, 2])
        order = rng.permutation(batches.size)
        with scores_are_finite(optimizer.rate):
            # overflow shows in scores that are not finite
            with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
                descend(network, optimizer, X, batches.in_order(order), p.alpha)
            for X_held, measured in zip(held_out, measures, strict=True):
                scores = predict(network, X_held, team)
                for measure in measured.values():
                    measure.update(scores, team)
        optimizer.end_epoch(batches.size)
        n_iter = epoch + 1

        # measure, keep the best weights, reduce the rate or stop
        stops = monitor.record(n_iter)
        if held_out_curve is not None and monitor.is_best:
            best_weights = [w.copy() for w in network.parameters]
        if stops and optimizer.reduce_rate():
            monitor.restart_waiting()
            stops = False
        if tasks is not None:
            stops = tasks.end_step(fitted, last=stops)
        if stops:
            break

    # the weights of the best epoch, where early stopping follows a validation set
    n_kept = n_iter - kept.n_epochs
    if best_weights is None:
        monitor.print_end(n_iter, None)
    else:
        n_kept = monitor.best_index + 1
        monitor.print_end(n_iter, kept.n_epochs + n_kept)
        for w, best in zip(network.parameters, best_weights, strict=True):
            w[...] = best
    checked = X.take(rows[:CHECKED_ROWS])
    scores = scores_after(network, optimizer, checked, p.sigma, team)
    if not batches.may_tie:
        warn_if_constant(scores)
    if isinstance(network, MultilayerPerceptron):
        network.set_team(None)
    return (
        fitted() | continued_curves(monitor, p, kept, n_iter) | batches.fitted(n_kept)
    )


def new_network(
    parameters: NetworkParameters, seed: int, X: Table, rows: NDArray[np.intp]
) -> Network:
    """Return the network that training starts from: a copy of the user's, or drawn."""
    p = parameters
    if p.network is not None:
        network = deepcopy(p.network)
        check_network(network, dense_rows(X.take(rows[[0, -1]]), slice(None)))
        return network
    rng = np.random.default_rng([seed, 3])
    return MultilayerPerceptron(X.shape[1], p.hidden_layer_sizes, p.activation, rng)


def continued_optimizer(kept: KeptNetwork, parameters: NetworkParameters) -> Optimizer:
    """Return a copy of the last fit's optimizer; a ValueError if settings differ."""
    new = parameters.new_optimizer()
    if kept.is_new:
        return new
    old = kept.attributes["_optimizer"]
    if type(old) is not type(new) or old.settings != new.settings:
        raise ValueError(
            "solver or solver_params has changed since the last fit, whose optimizer "
            f"partial_fit continues: it was {old.settings} and is {new.settings}: fit "
            "with warm_start=True to begin a new optimizer"
        )
    return deepcopy(old)


def continued_curves(
    monitor: Monitor, parameters: NetworkParameters, kept: KeptNetwork, n_iter: int
) -> dict[str, object]:
    """Return the curves of the continued fit, with the recorded ones appended."""
    earlier, n_earlier = kept.attributes, kept.n_epochs
    recorded = {
        parameters.train_curve: monitor.train_values,
        "validation_score_": monitor.stopping_values,
    }
    result = append_results(
        earlier.get("evals_result_", {}),
        n_earlier,
        monitor.result(),
        n_iter - n_earlier,
    )
    return {
        name: np.append(earlier.get(name, []), values)
        for name, values in recorded.items()
    } | {"evals_result_": result}


class NetworkRanker(BaseRanker):
    """A ranker whose scores are the output of a network."""

    n_features_in_: int
    network_: Network
    n_iter_: int
    n_jobs: int | None
    validation_score_: FloatArray
    evals_result_: EvalsResult
    _optimizer: Optimizer
    _sigma: float  # of the last fit

    _parameters: ClassVar[type[NetworkParameters]] = NetworkParameters
    _takes_labels = True
    _attributes: ClassVar[Attributes] = {
        **FEATURES,
        "network_": Attribute(),
        "n_iter_": Attribute(),
        "evals_result_": Attribute(),
        "loss_curve_": Attribute("(n_iter,)", when="metric=None"),
        "train_score_": Attribute("(n_iter,)", when="metric is not None"),
        "validation_score_": Attribute("(n_iter,)"),
        "position_bias_": Attribute("(n_positions,)", when="position_bias is given"),
        FORCES: Attribute("(n_labels,)", when="y has several labels"),
        "_fitted_architecture": Attribute(),
        "_optimizer": Attribute(),
        "_seed": Attribute(),
        "_sigma": Attribute(),
    }

    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {
        "groups": True,
        **fit_requests(),
    }

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
        positions: ArrayLike | None = None,
        propensities: ArrayLike | None = None,
        pairs: ArrayLike | None = None,
        pair_probabilities: ArrayLike | None = None,
        pair_weights: ArrayLike | None = None,
        X_val: MatricesLike | None = None,
        y_val: ArraysLike | None = None,
        groups_val: IdArraysLike | None = None,
        sample_weight_val: ArraysLike | None = None,
    ) -> Self:
        """Learn to rank, from grades or from judged pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Finite numbers; float32 is used as it is, and CSR stays sparse.
        y : array-like of shape (n_documents,) or (n_documents, n_labels), default=None
            Relevance grades, finite and >= 0, not necessarily integers; of several
            labels, NaN where a label has not judged a document.  None: without a
            metric, learn from `pairs`.
        {groups}
        {sample_weight}
        {document_weight}
        {positions}
        {propensities}
        {pairs}
        X_val, y_val, groups_val, sample_weight_val : array-likes or tuples, \
default=None
            The same for validation data, which are measured after each epoch.  Tuples
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
            X, features that are not finite numbers, grades that are negative, not
            finite or too large for the metric's gain, weights that change within a
            query, if no query has two different grades, for pairs that are not two
            different rows of X or of one query, probabilities outside [0, 1] or
            weights of pairs that are negative, not finite or all zero, for both `y` and
            `pairs` without a metric, or one of them alone with one, or if the network
            diverges.  The estimator is left as it was.
        """
        judged = GivenPairs(pairs, pair_probabilities, pair_weights)
        columns: GivenColumns = RowColumns(
            sample_weight=sample_weight,
            document_weight=document_weight,
            positions=positions,
            propensities=propensities,
        )

        def read(model: Self, p: NetworkParameters, kept: KeptNetwork) -> FitData:
            validation = split_validation(
                X_val,
                y_val=y_val,
                groups_val=groups_val,
                sample_weight_val=sample_weight_val,
            )
            data = model._read(X, y, groups, columns, judged, validation, p, kept)
            data = hold_out_queries(data, p, kept.seed)
            p.check_learnable(data.train)
            return data

        given = {"groups": groups, **columns.given()}
        return self._fit(X, y, given, read)

    def _fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None,
        metadata: Mapping[str, object],
        read: Callable[[Self, Any, KeptNetwork], FitData],
    ) -> Self:
        """Read and descend; callbacks are told of X, y and the metadata."""
        with refit(self) as model:
            p = read_parameters(self._parameters, model)
            kept = keep_network(vars(self) if p.warm_start else {}, p)
            tasks = FitTasks(self, model, "epoch", p.max_iter, X, y, **metadata)
            data = read(model, p, kept)
            optimizer = p.new_optimizer()
            fitted = learn(data, optimizer, p, kept, p.max_iter, tasks)
            model.__dict__.update(fitted)
        tasks.end()
        return self

    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        document_weight: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        propensities: ArrayLike | None = None,
        pairs: ArrayLike | None = None,
        pair_probabilities: ArrayLike | None = None,
        pair_weights: ArrayLike | None = None,
    ) -> Self:
        """Continue the last fit with one pass over more queries or pairs.

        Parameters
        ----------
        X, y, groups, sample_weight, document_weight, positions, propensities, \
pairs, pair_probabilities, pair_weights : array-likes
            As in `fit`.  All documents of a query belong in one call: pairs are made
            within it.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            As by `fit`.  The estimator is left as it was.
        """
        columns: GivenColumns = RowColumns(
            sample_weight=sample_weight,
            document_weight=document_weight,
            positions=positions,
            propensities=propensities,
        )

        judged = GivenPairs(pairs, pair_probabilities, pair_weights)

        def read(
            model: Self, p: NetworkParameters, kept: KeptNetwork
        ) -> FitData | None:
            data = model._read(X, y, groups, columns, judged, [], p, kept)
            if kept.is_new:
                p.check_learnable(data.train)
            # in a stream some data have nothing to learn from
            return data if p.has_pairs(data.train).any() else None

        return self._partial_fit(read)

    def _partial_fit(
        self,
        read: Callable[[Self, Any, KeptNetwork], FitData | None],
    ) -> Self:
        """Read and descend for one epoch, if there is anything to learn from."""
        with refit(self) as model:
            p = read_parameters(self._parameters, model)
            kept = keep_network(vars(self), p)
            data = read(model, p, kept)
            fitted = kept.attributes
            if data is not None:
                optimizer = continued_optimizer(kept, p)
                fitted = learn(data, optimizer, p, kept, 1, None)
            model.__dict__.update(fitted)
            model._trained_queries = None  # the queries of earlier calls are not known
        return self

    def predict(self, X: MatrixLike) -> FloatArray:
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
        ValueError, TypeError
            If X has other columns than at `fit`, or a value that is not finite in
            float32, or so large that a score is not.
        """
        model = self._fitted()
        features = model._read_features(X)
        with ThreadTeam(effective_n_threads(model.n_jobs, features.size)) as team:
            try:
                return predict(model.network_, features, team)
            except FloatingPointError:
                raise ValueError(
                    "X holds values far beyond those of fit, so its scores are not "
                    "finite: check X, or clip its values"
                ) from None

    @property
    def coef_(self) -> FloatArray:
        """Weight of each feature, (n_features,) float64: ``s = X @ coef_``.

        An AttributeError if the network is not linear.
        """
        network = self._linear_network("coef_")
        return network.coefs[0][:, 0].astype(np.float64)

    @property
    def intercept_(self) -> float:
        """0.0: ranking costs depend on differences of scores only.

        An AttributeError if the network is not linear.
        """
        self._linear_network("intercept_")
        return 0.0

    def _linear_network(self, name: str) -> MultilayerPerceptron:
        """Return the network; an AttributeError that names the attribute if hidden."""
        network = self._fitted().network_
        if isinstance(network, MultilayerPerceptron) and not network.intercepts:
            return network
        raise AttributeError(
            f"{name} exists only with hidden_layer_sizes=(), without hidden layers: "
            "network_ has the weights of all networks"
        )

    def _read_features(
        self, X: MatrixLike, *, reset: bool = False, name: str = "X"
    ) -> Matrix:
        """Return X as a checked matrix of float32."""
        features = super()._read_features(X, reset=reset, name=name)
        with np.errstate(over="ignore"):
            single = features.astype(np.float32, copy=False)
        if not issparse(single):
            single = np.ascontiguousarray(single)
        check_finite(single, f"{name} in single precision", allow_nan=False)
        return single

    def _read(
        self,
        X: MatrixLike,
        y: ArrayLike | None,
        groups: IdsLike | None,
        columns: GivenColumns,
        judged: GivenPairs,
        validation: list[ValidationSet],
        parameters: NetworkParameters,
        kept: KeptNetwork,
    ) -> FitData:
        """Read graded documents, or preferences in place of grades."""
        p = parameters
        has_pairs = check_judged(judged, y, p.metric)
        if has_pairs:
            p.check_no_clicks(columns)
        p.check_clicks(columns)
        if has_pairs and y is None:
            table = self._read_table(X, reset=kept.is_new, name="X")
            train = read_preferences(table, judged, groups, columns)
            if p.holds_out and not validation:
                raise ValueError(NO_VALIDATION_OF_PAIRS)
            return FitData(train, self._read_validation(validation))
        train = self._read_data(X, y, groups, columns, reset=kept.is_new)
        if has_pairs:
            train = with_pairs(train, judged, groups)
        sets = self._read_validation(validation)
        check_several_labels(parameters, parameters.label_weights, train, sets)
        if parameters.tied_pairs and train.label_grades is not None:
            raise ValueError(
                "tied_pairs=True makes pairs of documents of equal grade of one label, "
                f"but y has {train.label_grades.n_labels} columns: give one of them, "
                "or tied_pairs=False"
            )
        return FitData(train, sets)

    def _read_validation(self, validation: list[ValidationSet]) -> list[TrainingData]:
        """Read the validation sets that `fit` was given."""
        return [
            self._read_data(one.X, one.y, one.groups, one.columns, one.suffix)
            for one in validation
        ]

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        if isinstance(self.network_, MultilayerPerceptron):
            self.network_.check(self.n_features_in_)
        optimizer, sigma = self._optimizer, self._sigma
        require(isinstance(optimizer, Optimizer), f"its optimizer is {optimizer!r}")
        optimizer.check(self.network_.parameters)
        require(0 < sigma < np.inf, f"its sigma was {sigma!r}")


# --- errors and warnings ----------------------------------------------------------


def divergence_error(how: str, rate: float) -> ValueError:
    """Return the error that says how the scores diverged, and what to do."""
    return ValueError(
        f"the network diverged: its scores {how}. Scale the columns of X, for example "
        "with StandardScaler in a Pipeline, or take smaller steps than "
        f"learning_rate_init={rate:g}; large values of sigma, alpha, momentum or "
        "sample_weight, or a small beta_2, also make it diverge"
    )


@contextmanager
def scores_are_finite(rate: float) -> Iterator[None]:
    """Raise a ValueError that says what to do where a score is not finite."""
    try:
        yield
    except FloatingPointError:
        raise divergence_error("are no longer finite numbers", rate) from None


def scores_after(
    network: Network, optimizer: Optimizer, X: Matrix, sigma: float, team: ThreadTeam
) -> FloatArray:
    """Return the scores of some trained rows; a ValueError if training diverged."""
    rate = optimizer.rate
    if not all(np.isfinite(array).all() for array in optimizer.arrays):
        raise divergence_error("have gradients beyond single precision", rate)
    with scores_are_finite(rate):
        scores = predict(network, X, team)
    largest = float(np.abs(scores).max())
    if sigma * largest > LARGEST_SINGLE_SCORE:
        raise divergence_error(f"have grown to {largest:.1g}", rate)
    return scores


def warn_of_features(
    X: Table,
    rows: NDArray[np.intp],
    validation: list[TrainingData],
    *,
    is_drawn: bool,
) -> None:
    """Warn of features that are large, or on another scale in validation data."""
    # a network that the user has made may have scales of its own
    is_warned = is_drawn and warn_unless_scaled(X, rows, "X")
    if warn_of_ranges(X, rows, validation) or is_warned or not is_drawn:
        return
    for name, held in given_sets(X, validation).items():
        warn_unless_scaled(held.X, held.rows, name)


def warn_unless_scaled(X: Table, rows: NDArray[np.intp], name: str) -> bool:
    """Warn of features far larger than 1 in these rows; say whether there are any."""
    # reads some of the rows only
    sample = X.take(rows[:: max(1, len(rows) // CHECKED_ROWS)]).astype(np.float64)
    squares = sample.multiply(sample) if issparse(sample) else sample**2
    size = np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
    if size.max() <= LARGE_FEATURE:
        return False
    column = int(size.argmax())
    transforms = "" if name == "X" else ', with transform_input=["X_val"]'
    warn_caller(
        f"column {column} of {name} has root mean square {size[column]:.3g}, but "
        "networks learn well from columns of about unit size: put StandardScaler "
        f"before the ranker in a Pipeline{transforms}",
        UnscaledFeaturesWarning,
    )
    return True


def warn_if_constant(scores: FloatArray) -> None:
    """Warn of a network that gives all documents the same score."""
    if len(scores) > 1 and np.ptp(scores) == 0:
        warn_caller(
            "the network gives all documents the same score: scale the columns of X, "
            "or lower learning_rate_init or alpha",
            NothingLearnedWarning,
        )
