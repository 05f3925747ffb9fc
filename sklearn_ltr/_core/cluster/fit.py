"""The fit on the workers: each reads its rows, and learns together with the others.

Every worker calls `fit_on_worker`, which does what `LambdaMARTRanker.fit` does alone;
`one_model` takes what they return.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.boosting.base_model import check_base_score_size
from sklearn_ltr._core.boosting.bins import bin_data, fit_threads
from sklearn_ltr._core.boosting.loop import boost_trees
from sklearn_ltr._core.boosting.warm_start import trees_so_far
from sklearn_ltr._core.caller import DeferredWarning, collected_warnings, warn_caller
from sklearn_ltr._core.cluster.comm import SocketComm
from sklearn_ltr._core.cluster.summaries import join_rows, rows_in_queries
from sklearn_ltr._core.cluster.tables import Part, Partition, PartRows, read_part
from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import FitArguments, ValidationSet
from sklearn_ltr._core.data.rows import index_rows, n_rows
from sklearn_ltr._core.estimators.base import FittedAttributes
from sklearn_ltr._core.estimators.preparation import prepare
from sklearn_ltr._core.parameters import read_parameters
from sklearn_ltr._core.rankers.lambdamart import LambdaMARTParameters, LambdaMARTRanker
from sklearn_ltr._core.ranking.task import ranking_task
from sklearn_ltr._core.saving import saved_part
from sklearn_ltr._core.typing import IntArray, MatrixLike


@saved_part
class Traffic(NamedTuple):
    """The data that were sent between the workers during a fit, in numbers."""

    # queries that were on several workers, or on one with nothing to learn from, and
    # were brought together; and their rows that were sent, of X and all columns
    n_moved_queries: int
    n_moved_rows: int
    n_exchanges: int  # between all workers, sums and others
    n_sum_bytes: int  # sent and received by the busiest one in sums, histograms mostly


class WorkerData(NamedTuple):
    """The data that one worker fits, of training or of validation."""

    # what the engine knows a partition by, and the chosen queries of it, None: all
    parts: list[tuple[Any, IntArray | None]]
    numbers: IntArray  # of its queries, in the order of their ids


class WorkerResult(NamedTuple):
    """What a worker returns after the fit."""

    digest: str  # of the trees
    fitted: bytes  # the pickled attributes; b"" of all but rank 0
    warnings: list[DeferredWarning]  # for the user
    n_exchanges: int
    n_bytes: int  # sent and received in sums


def fit_on_worker(
    state: bytes,
    comm: SocketComm,
    parts: Iterable[list[tuple[Part, IntArray | None]]],
    numbers: list[IntArray],
    is_validated: bool,
) -> WorkerResult:
    """Learn from the rows of one worker together with the other workers; run on it."""
    # `state`, pickled, has the attributes of the ranker, and the seed.  The others have
    # an entry for the training data and, if this worker has any, for the validation
    # data (`is_validated`: if any has): each partition, and its chosen queries, None:
    # all; and the `numbers` of these queries among all, in the order of their ids.
    with comm:
        arguments = list(map(read_worker_rows, parts, numbers, ("", "_val")))
        attributes, seed = pickle.loads(state)
        with collected_warnings() as found:
            keep = comm.connections.keep
            fitted = fit_rows(attributes, seed, arguments, is_validated, comm, keep)
    saved = pickle.dumps(fitted) if comm.rank == 0 else b""
    digest = hashlib.sha256(pickle.dumps(fitted["ensemble_"])).hexdigest()
    return WorkerResult(digest, saved, found, comm.n_exchanges, comm.n_bytes)


def one_model(results: list[WorkerResult]) -> dict[str, object]:
    """Return the attributes that all workers have fitted, and warn of what they say."""
    if len({result.digest for result in results}) > 1:
        raise RuntimeError(
            "the workers have fitted different models: install the same versions of "
            "numpy and sklearn_ltr on all"
        )
    for message, category in results[0].warnings:  # all workers have found the same
        warn_caller(message, category)
    return dict(pickle.loads(results[0].fitted))


class WorkerRows(NamedTuple):
    """The arguments of `fit` that one worker has, of training or of validation."""

    X: PartRows
    others: Partition  # by their names in training
    numbers: IntArray  # of its queries

    def arguments(self) -> FitArguments:
        """Return them as the arguments of a ranker's fit."""
        given = FitArguments.of(cast(MatrixLike, self.X), **self.others)
        return given._replace(numbers=self.numbers, estimator=LambdaMARTRanker)


def fit_rows(
    attributes: dict[str, Any],
    seed: int,
    arguments: list[WorkerRows],
    is_validated: bool,
    comm: Comm,
    keep_trees_so_far: Callable[[int, FittedAttributes], None] | None = None,
) -> dict[str, object]:
    """Return the fitted attributes of a ranker; all workers call this together."""
    # `attributes` are the ranker's parameters and the trees of a warm start;
    # `arguments` hold the rows of training and, if this worker has any, of validation
    p = read_parameters(LambdaMARTParameters, SimpleNamespace(**attributes))
    so_far = trees_so_far(attributes, p, seed)
    if so_far.is_new:
        arguments[0].X.learn_columns(LambdaMARTRanker, p.categorical_features, comm)
    train, *validation = (rows.arguments() for rows in arguments)
    sets: list[ValidationSet | None] = [
        ValidationSet("_val", one.X, one.y, one.groups, one.columns, one.numbers)
        for one in validation
    ]
    if is_validated and not sets:
        sets = [None]
    data = prepare(train._replace(validation=sets), p, so_far, comm)
    check_base_score_size(data, p.sigma)
    # `init_`, which the worker was given, is not sent back
    known = data.reader.attributes
    steps = None
    if keep_trees_so_far is not None:
        steps = Steps(keep_trees_so_far, so_far.n_trees, known)
    with ThreadTeam(fit_threads(p.n_jobs, data.train.X.size, comm)) as team:
        binned = bin_data(data, p, so_far, team, comm)
        data = data._replace(learned=binned.rows)
        task = ranking_task(p, data, so_far.attributes, team, comm)
        constraints = p.constraints(data.reader)
        del data  # trees need no X, and no rows in the order they came in
        return known | boost_trees(binned, task, p, constraints, so_far, steps)


@dataclass
class Steps:
    """Stores the trees so far, to be found if another worker is lost."""

    keep: Callable[[int, FittedAttributes], None]
    n_trees: int  # of a warm start, at first
    read: dict[str, object]  # the attributes before the first tree

    def end_step(self, fitted: FittedAttributes, *, last: bool) -> bool:
        """Store the attributes so far; return whether it was the last tree."""
        self.n_trees += 1
        self.keep(self.n_trees, lambda: self.read | fitted())
        return last


def read_worker_rows(
    given: list[tuple[Part, IntArray | None]], numbers: IntArray, suffix: str
) -> WorkerRows:
    """Return the arguments of one worker: X as `PartRows`, the others read."""
    parts = [part for part, _ in given]
    rows: list[NDArray[np.intp] | None] = []
    others: list[Partition] = []
    for part, queries in given:
        names = list(part) if isinstance(part, dict) else part.names
        names = [name for name in names if name != f"X{suffix}"]
        other = {
            name.removesuffix(suffix): values
            for name, values in read_part(part, names).items()
        }
        own = None if queries is None else rows_in_queries(other["groups"], queries)
        if own is not None:
            other = {name: index_rows(values, own) for name, values in other.items()}
        rows.append(own)
        others.append(other)
    sizes = [n_rows(other["groups"]) for other in others]
    joined = {name: narrowed(values) for name, values in join_rows(others).items()}
    return WorkerRows(PartRows(f"X{suffix}", parts, rows, sizes), joined, numbers)


def narrowed(values: Any) -> Any:
    """Return the same numbers in fewer bytes, where they are an array of integers."""
    if isinstance(getattr(values, "dtype", None), np.dtype):
        values = np.asarray(values)  # of pandas
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        return values
    low, high = values.min(initial=0), values.max(initial=0)
    if not np.isfinite([low, high]).all():
        return values
    narrow = values.astype(
        np.result_type(*map(np.min_scalar_type, map(int, (low, high))))
    )
    return narrow if np.array_equal(narrow, values) else values
