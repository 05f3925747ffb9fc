"""The training of a network: mini-batch gradient descent, epoch by epoch.

The lambdas of all pairs are first summed for each document i, and propagated then, as
in section 2.1 of Burges (2010):

    delta w_k = -eta sum_i lambda_i ds_i/dw_k

So a batch costs one forward and one backward pass, however many pairs it has.  A batch
is made of whole queries, which are visited in another random order in each epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.compile import ThreadTeam, one_blas_thread
from sklearn_ltr._core.data import FitData, TrainingData
from sklearn_ltr._core.data.tables import Table, dense_rows
from sklearn_ltr._core.estimators.base import StepListener, draw_seed
from sklearn_ltr._core.estimators.monitor import (
    EvalsResult,
    Monitor,
    curves_of,
    first_validation_curve,
)
from sklearn_ltr._core.estimators.nothing_learned import NothingLearnedWarning
from sklearn_ltr._core.estimators.objective import Objective, Task
from sklearn_ltr._core.estimators.validation_range import given_sets, warn_of_ranges
from sklearn_ltr._core.networks.network import check_network, predict
from sklearn_ltr._core.networks.optimizers import Optimizer
from sklearn_ltr._core.networks.parameters import NetworkParameters
from sklearn_ltr._core.networks.perceptron import MultilayerPerceptron
from sklearn_ltr._core.typing import FloatArray, IntArray

BIAS_RATE = 0.3  # factor of the Newton step of an additive bias after each epoch

AUTO_PAIRS = 200  # per batch, of no queries: as many as MLPRegressor takes rows
AUTO_QUERIES = 8  # per batch, if an epoch still has MIN_UPDATES updates
MIN_UPDATES = 16
SHORT_LIST = 20  # documents of an average list, below which batches have more lists
# documents per batch of short lists, if an epoch still has so many updates
DOCUMENTS_AND_UPDATES = ((160, 100), (1000, 500))

# Where sigma |s| exceeds 2^24, neighbouring float32 numbers are further apart than the
# sigmoid is wide.
LARGEST_SINGLE_SCORE = 2.0**24
# A warning is given of features of a root mean square above this,
LARGE_FEATURE = 100.0
# and of those of which a value is larger than this many root mean squares, or ones
LARGEST_OF_SIZE = 30.0
CHECKED_ROWS = 10_000  # rows whose features, and whose scores after training, are read


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


class NetworkSoFar(NamedTuple):
    """The seed of a fit, and the last one, if that is continued."""

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


def network_so_far(
    attributes: Mapping[str, Any], parameters: NetworkParameters
) -> NetworkSoFar:
    """Return what a fit begins with; a ValueError for a network of another kind."""
    p = parameters
    if "network_" not in attributes:
        return NetworkSoFar(draw_seed(p.random_state))
    if attributes["_seed"] is None:
        raise ValueError(
            "this network was read from JSON, which does not hold the state of its "
            "training, so it cannot be continued: fit with warm_start=False"
        )
    if attributes["_fitted_architecture"] != p.architecture:
        raise ValueError(
            "hidden_layer_sizes, activation or network has changed since the last fit: "
            f"it was {attributes['_fitted_architecture']} and is {p.architecture}: fit "
            "with warm_start=False"
        )
    return NetworkSoFar(attributes["_seed"], dict(attributes))


class BatchObjective(Objective, Protocol):
    """An objective that gives the derivatives of some queries at a time."""

    offsets: IntArray  # of queries, in the present order
    documents: NDArray[np.integer]  # index of each document in the data

    def derivatives(
        self, scores: FloatArray, first: int = 0, last: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of the documents of queries first to last - 1."""

    def reordered(self, queries: IntArray) -> Self:
        """Return the objective of the queries in another order."""


class Batch(NamedTuple):
    """The rows of an update, each of which is scored once."""

    rows: NDArray[np.intp]
    place: NDArray[np.intp] | None  # of each document among them; None: in order

    @classmethod
    def of(cls, rows: NDArray[np.intp], is_repeated: bool) -> Self:
        """Return the batch of documents, whose rows may repeat."""
        if not is_repeated:
            return cls(rows, None)
        _, first, place = np.unique(rows, return_index=True, return_inverse=True)
        order = np.argsort(first)  # the order in which they come, not their numbers
        return cls(rows[first[order]], np.argsort(order)[place])

    def to_documents(self, values: FloatArray) -> FloatArray:
        """Return the value of each document, given those of rows."""
        return values if self.place is None else values[self.place]

    def to_rows(self, values: FloatArray) -> FloatArray:
        """Return the sum of the values of documents for each row."""
        if self.place is None:
            return values
        return np.asarray(np.bincount(self.place, values, len(self.rows)))


class Training:
    """The training of a network on the queries of `data.learned`.

    Parameters
    ----------
    data : FitData
    task : Task
    optimizer : Optimizer
    parameters : NetworkParameters
    so_far : NetworkSoFar
    team : ThreadTeam
    """

    def __init__(
        self,
        data: FitData,
        task: Task[BatchObjective],
        optimizer: Optimizer,
        parameters: NetworkParameters,
        so_far: NetworkSoFar,
        team: ThreadTeam,
    ) -> None:
        p, X, rows = parameters, data.train.X, data.train.rows
        self._data, self._parameters, self._so_far = data, p, so_far
        self._objective = task.objective
        self._measures, self._optimizer, self._team = task.measures, optimizer, team
        auto = auto_batch_size(data.learned)
        self._batch_size = auto if isinstance(p.batch_size, str) else p.batch_size
        if not so_far.is_new:
            self._network = deepcopy(so_far.attributes["network_"])
        elif p.network is not None:  # of the user, which may have scales of its own
            self._network = deepcopy(p.network)
            tried = X.take(rows[[0, -1]])
            check_network(self._network, dense_rows(tried, slice(None)))
            warn_of_ranges(X, rows, data.validation)
        else:
            rng, layers = np.random.default_rng([so_far.seed, 3]), p.hidden_layer_sizes
            self._network = MultilayerPerceptron(X.shape[1], layers, p.activation, rng)
            is_warned = warn_unless_scaled(X, rows, "X")
            if not (warn_of_ranges(X, rows, data.validation) or is_warned):
                for name, held in given_sets(X, data.validation).items():
                    warn_unless_scaled(held.X, held.rows, name)
        if isinstance(self._network, MultilayerPerceptron):
            self._network.set_team(team)
        self._held_out = [held.X.take(held.rows) for held in data.validation]
        self._n_epochs = so_far.n_epochs  # so far

    def run(self, n_epochs: int, listener: StepListener | None) -> dict[str, object]:
        """Train for up to `n_epochs` epochs; return the fitted attributes."""
        p, so_far, optimizer = self._parameters, self._so_far, self._optimizer
        curves = curves_of(self._measures, {}, 0)
        held_out_curve = first_validation_curve(curves) if p.early_stopping else None
        followed = held_out_curve
        if followed is None and p.stops_on_train:
            followed = curves[0]
        last = so_far.n_epochs + n_epochs
        monitor = Monitor(curves, followed, p, "epoch", so_far.n_epochs, last)
        best_weights: list[NDArray[np.floating]] | None = None
        for epoch in range(so_far.n_epochs, last):
            # visit all queries once, in the epoch's own random order
            rng = np.random.default_rng([so_far.seed, epoch, 2])
            order = rng.permutation(self._data.learned.n_queries)
            with scores_are_finite(optimizer.rate):
                self._descend(order)
                self._score_held_out()
            optimizer.end_epoch(len(order))
            self._n_epochs = epoch + 1

            # measure, keep the best weights, reduce the rate or stop
            stops = monitor.record(self._n_epochs)
            if held_out_curve is not None and monitor.is_best:
                best_weights = [w.copy() for w in self._network.parameters]
            if stops and optimizer.reduce_rate():
                monitor.restart_waiting()
                stops = False
            if listener is not None:
                stops = listener.end_step(self._fitted, last=stops)
            if stops:
                break

        # the weights of the best epoch, where early stopping follows a validation set
        n_kept = self._n_epochs - so_far.n_epochs
        if best_weights is None:
            monitor.print_end(self._n_epochs, None, self._team)
        else:
            n_kept = monitor.best_index + 1
            monitor.print_end(self._n_epochs, so_far.n_epochs + n_kept, self._team)
            for w, best in zip(self._network.parameters, best_weights, strict=True):
                w[...] = best
        self._check_end()
        recorded = {
            p.train_curve: monitor.train_values,
            "validation_score_": monitor.stopping_values,
        }
        earlier, n_new = so_far.attributes, self._n_epochs - so_far.n_epochs
        curves_before = earlier.get("evals_result_", {})
        joined = append_results(curves_before, so_far.n_epochs, monitor.result(), n_new)
        return {
            **self._fitted(),
            **{
                n: np.append(earlier.get(n, []), values)
                for n, values in recorded.items()
            },
            "evals_result_": joined,
            **self._objective.fitted(n_kept),
        }

    def _descend(self, queries: IntArray) -> None:
        """Update the network after each batch of queries, and measure their scores."""
        # the measures are of the scores that each batch had before its update
        objective = self._objective.reordered(queries)
        offsets, documents = objective.offsets, objective.documents
        rows = self._data.learned.rows[documents]
        # a row may be in several judged pairs, each of which is a query
        is_repeated = len(rows) > len(self._data.train.rows)
        scores, gradient, hessian = np.zeros((3, len(documents)))
        # threads that have shared larger tasks wait for the next one on busy cores,
        # until they are called from Python: what a batch shares is worth less
        self._team.rest()
        with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
            # overflow shows in scores that are not finite
            for first in range(0, len(queries), self._batch_size):
                last = min(first + self._batch_size, len(queries))
                own = slice(offsets[first], offsets[last])
                batch = Batch.of(rows[own], is_repeated)
                scores[own] = batch.to_documents(self._forward(batch.rows))
                gradient[own], hessian[own] = objective.derivatives(scores, first, last)
                self._update(batch.to_rows(gradient[own]), last - first)
        found = np.empty((3, len(documents)))
        for values, present in zip(found, (scores, gradient, hessian), strict=True):
            values[documents] = present
        for measure in self._measures[0].values():
            measure.update(found[0])
        self._objective.after_step(found[1], found[2], BIAS_RATE)

    def _forward(self, rows: NDArray[np.intp]) -> FloatArray:
        """Return the scores of a batch; a FloatingPointError if one is infinite."""
        features = self._data.learned.X.take(rows)
        if not isinstance(self._network, MultilayerPerceptron):  # takes no sparse X
            features = dense_rows(features, slice(None))
        scores = np.asarray(self._network.forward(features), dtype=np.float64)
        if not np.isfinite(scores).all():
            raise FloatingPointError("a score is not finite")
        return scores

    def _update(self, gradient: FloatArray, n_queries: int) -> None:
        """Make a step after dC/ds of a batch."""
        network, decay = self._network, self._parameters.alpha / n_queries
        gradients = network.backward(gradient / n_queries)
        self._optimizer.step(network.parameters, gradients, decay)

    def _score_held_out(self) -> None:
        """Hand the scores of validation data to their measures."""
        for X, measures in zip(self._held_out, self._measures[1:], strict=True):
            scores = predict(self._network, X, self._team)
            for measure in measures.values():
                measure.update(scores, self._team)

    def _check_end(self) -> None:
        """Raise a ValueError if training diverged; warn of equal scores."""
        train, network, p = self._data.train, self._network, self._parameters
        checked, rate = train.X.take(train.rows[:CHECKED_ROWS]), self._optimizer.rate
        if not all(np.isfinite(array).all() for array in self._optimizer.arrays):
            raise divergence_error("have gradients beyond single precision", rate)
        with scores_are_finite(rate):
            scores = predict(network, checked, self._team)
        largest = float(np.abs(scores).max())
        if p.sigma * largest > LARGEST_SINGLE_SCORE:
            raise divergence_error(f"have grown to {largest:.1g}", rate)
        may_tie = p.may_tie(self._data.learned)
        if not may_tie and len(scores) > 1 and np.ptp(scores) == 0:
            warn_caller(
                "the network gives all documents the same score: scale the columns of "
                "X, or lower learning_rate_init or alpha",
                NothingLearnedWarning,
            )
        if isinstance(network, MultilayerPerceptron):
            network.set_team(None)

    def _fitted(self) -> dict[str, object]:
        """Return the fitted attributes after the epochs so far."""
        return {
            "network_": self._network,
            "n_iter_": self._n_epochs,
            "_optimizer": self._optimizer,
            "_sigma": self._parameters.sigma,
            "_seed": self._so_far.seed,
            "_fitted_architecture": self._parameters.architecture,
        }


def auto_batch_size(data: TrainingData) -> int:
    """Return the queries per update: 8, more of short lists, fewer of few queries."""
    n_queries, n_documents = data.n_queries, data.n_rows
    if not data.pairs.by_query:
        return AUTO_PAIRS
    sizes = [1, min(AUTO_QUERIES, n_queries // MIN_UPDATES)]
    if n_documents < SHORT_LIST * n_queries:
        sizes += [
            min(most_documents * n_queries // n_documents, n_queries // min_updates)
            for most_documents, min_updates in DOCUMENTS_AND_UPDATES
        ]
    return max(sizes)


def continued_optimizer(
    so_far: NetworkSoFar, parameters: NetworkParameters
) -> Optimizer:
    """Return a copy of the last fit's optimizer; a ValueError if settings differ."""
    new = parameters.new_optimizer()
    if so_far.is_new:
        return new
    old = so_far.attributes["_optimizer"]
    if type(old) is not type(new) or old.settings != new.settings:
        raise ValueError(
            "solver or solver_params has changed since the last fit, whose optimizer "
            f"partial_fit continues: it was {old.settings} and is {new.settings}: fit "
            "with warm_start=True to begin a new optimizer"
        )
    return deepcopy(old)


def append_results(
    earlier: EvalsResult, n_earlier: int, later: EvalsResult, n_later: int
) -> EvalsResult:
    """Return the curves of a fit and its continuation; NaN where one has none."""
    joined: EvalsResult = {}
    for set_name in {**earlier, **later}:
        before, after = earlier.get(set_name, {}), later.get(set_name, {})
        joined[set_name] = {
            name: np.append(
                before.get(name, np.full(n_earlier, np.nan)),
                after.get(name, np.full(n_later, np.nan)),
            )
            for name in {**before, **after}
        }
    return joined


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


def warn_unless_scaled(X: Table, rows: NDArray[np.intp], name: str) -> bool:
    """Warn of features far larger than 1 in these rows; say whether there are any."""
    # reads some of the rows only
    sample = X.take(rows[:: max(1, len(rows) // CHECKED_ROWS)]).astype(np.float64)
    sample = abs(sample)
    squares = sample.multiply(sample) if issparse(sample) else sample**2
    size = np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
    largest = sample.max(axis=0)
    largest = (largest.toarray() if issparse(largest) else largest).ravel()
    is_far = largest > LARGEST_OF_SIZE * np.maximum(size, 1.0)
    columns = np.flatnonzero((size > LARGE_FEATURE) | is_far)
    if len(columns) == 0:
        return False
    first = columns[np.argmax(largest[columns])]
    others = f", and {len(columns) - 1} more such columns" if len(columns) > 1 else ""
    transforms = "" if name == "X" else ', with transform_input=["X_val"]'
    warn_caller(
        f"column {first} of {name} has numbers up to {largest[first]:.3g}, root mean "
        f"square {size[first]:.3g}{others}, but networks learn well from columns of "
        "about unit size, without a few values that are far larger than the others: "
        "put sklearn_ltr.preprocessing.TableVectorizer before the ranker in a Pipeline"
        f"{transforms}, which brings each column to this form",
        UnscaledFeaturesWarning,
    )
    return True
