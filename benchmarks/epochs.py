"""An epoch of RankNet and of LambdaRank, beside PyTorch: ``fit.py --preset networks``.

Both sides train the same network from the same first weights with the same loss, the
same Adam and the same number of queries per update, for the same number of epochs, each
in its own order of the queries.  Each library has a process of its own that holds the
data; they take turns.

The time of ours is from one line that ``verbose=1`` prints to the next, so gathering
rows and measuring the training queries are in it.  PyTorch's has the padding of its
batches in it, but for "packed", whose batches are made before the clock starts.  The
first epoch of a run is not timed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import sem

import peers
from peers import OURS, THREADS
from sklearn_ltr.learners._network import MultilayerPerceptron
from sklearn_ltr.metrics import NDCG

HIDDEN = (64, 32)
LEARNING_RATE = 1e-3
RANKERS = ("ranknet", "lambdarank")
GIVE_UP = 3  # times slower than with the best batch: larger ones are not tried


class Part(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


class Data(NamedTuple):
    """What is learned from, and what NDCG@10 is measured on."""

    train: Part
    test: Part


@dataclass(frozen=True)
class Run:
    ranker: str
    batch_size: int
    epochs: int
    seed: int = 0


class Result(NamedTuple):
    seconds: list[float]  # one for each epoch but the first
    ndcg: float


# By library and batch size; one for each seed.
Results = dict[tuple[str, int], list[Result]]


def first_network(data: Data, run: Run) -> MultilayerPerceptron:
    """Ours, as hidden_layer_sizes=HIDDEN makes it; PyTorch's has the same weights."""
    rng = np.random.default_rng(run.seed)
    return MultilayerPerceptron(data.train.X.shape[1], HIDDEN, "relu", rng)


class Stopwatch(io.StringIO):
    """Notes when an epoch ends: that is when a ranker prints a line."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def write(self, text: str) -> int:
        if text.startswith("step"):
            self.times.append(time.perf_counter())
        return len(text)


def run_sklearn_ltr(data: Data, run: Run) -> Result:
    from sklearn_ltr import LambdaRankRanker, RankNetRanker

    # the pairs of the top 10, as on the other side
    lambdarank = partial(LambdaRankRanker, truncation_level=None)
    kind = {"ranknet": RankNetRanker, "lambdarank": lambdarank}[run.ranker]
    ranker = kind(
        network=first_network(data, run),
        alpha=0.0,
        batch_size=run.batch_size,
        learning_rate_init=LEARNING_RATE,
        max_iter=run.epochs + 1,
        n_iter_no_change=run.epochs + 1,
        random_state=run.seed,
        verbose=1,
        n_jobs=THREADS,
    )
    with contextlib.redirect_stdout(Stopwatch()) as stopwatch:
        ranker.fit(data.train.X, data.train.y, groups=data.train.groups)
    return Result(np.diff(stopwatch.times).tolist(), ndcg_of(ranker.predict, data))


def run_pytorch(data: Data, run: Run, style: str) -> Result:
    import torch
    from torch_peer import Lists, Training

    torch.set_num_threads(THREADS)
    X, y, groups = only_with_pairs(data.train)
    offsets = np.concatenate(([0], np.cumsum(peers.query_sizes(groups))))
    weights = first_network(data, run).coefs
    training = Training(Lists(X, y, offsets), weights, LEARNING_RATE, run.seed)
    seconds = [
        training.epoch(run.ranker, style, run.batch_size) for _ in range(run.epochs + 1)
    ]
    return Result(seconds[1:], ndcg_of(training.predict, data))


def run_pytorch_allrank(data: Data, run: Run) -> Result:
    return run_pytorch(data, run, "allrank")


def run_pytorch_padded(data: Data, run: Run) -> Result:
    return run_pytorch(data, run, "padded")


def run_pytorch_packed(data: Data, run: Run) -> Result:
    return run_pytorch(data, run, "packed")


LIBRARIES: dict[str, Callable[[Data, Run], Result]] = {
    OURS: run_sklearn_ltr,
    "PyTorch, as allRank": run_pytorch_allrank,
    "PyTorch padded": run_pytorch_padded,
    "PyTorch packed": run_pytorch_packed,
}


def only_with_pairs(part: Part) -> Part:
    """Leave out queries whose documents are all equally good, as ours does."""
    starts = np.flatnonzero(np.r_[True, part.groups[1:] != part.groups[:-1]])
    varied = np.maximum.reduceat(part.y, starts) > np.minimum.reduceat(part.y, starts)
    rows = np.repeat(varied, peers.query_sizes(part.groups))
    return Part(*(values[rows] for values in part))


def ndcg_of(predict: Callable[[np.ndarray], np.ndarray], data: Data) -> float:
    X, y, groups = data.test
    return float(NDCG(10)(y, predict(X), groups=groups))


def standardized(train: Part, test: Part) -> Data:
    """Columns of mean 0 and variance 1, by the training part."""
    mean, scale = train.X.mean(axis=0), train.X.std(axis=0)
    scale[scale == 0] = 1
    return Data(
        *(
            part._replace(X=((part.X - mean) / scale).astype(np.float32))
            for part in (train, test)
        )
    )


def first_fold(path: Path) -> Data:
    """Training and test part of fold 1 of a collection, as ``quality.py`` reads it."""
    import quality

    parts = quality.load(path)
    return standardized(Part(*quality.training_part(parts, 4)), Part(*parts[4]))


_data: Data  # of a worker process


def _keep(data: Data) -> None:
    global _data
    _data = data


def _measure(library: str, run: Run) -> Result:
    return LIBRARIES[library](_data, run)


def compare(data: Data, arguments: argparse.Namespace) -> None:
    """Print a table for each ranker, and what follows from it."""
    print(f"torch {metadata.version('torch')}, {THREADS} threads")
    rows, columns = data.train.X.shape
    print(f"{rows:,} x {columns}, {len(np.unique(data.train.groups)):,} queries")
    print(f"network {HIDDEN}, Adam {LEARNING_RATE}, {arguments.epochs + 1} epochs")
    with contextlib.ExitStack() as stack:
        workers = {
            library: stack.enter_context(
                ProcessPoolExecutor(1, get_context("spawn"), _keep, (data,))
            )
            for library in arguments.implementations
        }
        for ranker in RANKERS:
            results: Results = {}
            for batch_size in sorted(arguments.batch_sizes):
                run = Run(ranker, batch_size, arguments.epochs)
                willing = {
                    library: worker
                    for library, worker in workers.items()
                    if not has_given_up(library, results)
                }
                results |= take_turns(willing, run, arguments.repetitions)
            print_table(ranker, results)
            peers.append_json(arguments.json, records(ranker, results, arguments))


def has_given_up(library: str, results: Results) -> bool:
    """Whether larger batches have made a peer so slow that no more are tried."""
    tried = [seconds_of(r) for (name, _), r in results.items() if name == library]
    return bool(tried) and library != OURS and tried[-1] > GIVE_UP * min(tried)


def take_turns(
    workers: dict[str, ProcessPoolExecutor], run: Run, repetitions: int
) -> Results:
    results: Results = {(library, run.batch_size): [] for library in workers}
    for seed in range(repetitions):
        own = replace(run, seed=seed)
        for library, worker in workers.items():
            result = worker.submit(_measure, library, own).result()
            results[library, run.batch_size].append(result)
    return results


def seconds_of(several: list[Result]) -> float:
    return float(np.median([s for result in several for s in result.seconds]))


def print_table(ranker: str, results: Results) -> None:
    libraries = list(dict.fromkeys(library for library, _ in results))
    batch_sizes = list(dict.fromkeys(batch_size for _, batch_size in results))
    print(f"\n{ranker}: seconds per epoch, NDCG@10 of held-out queries")
    print("queries per update" + "".join(f"{name:>28}" for name in libraries))
    for batch_size in batch_sizes:
        cells = [cell(library, batch_size, results) for library in libraries]
        print(f"{batch_size:18}" + "".join(cells), flush=True)
    for library in libraries:
        if library != OURS and OURS in libraries:
            print_headline(library, results)


def cell(library: str, batch_size: int, results: Results) -> str:
    """Seconds, NDCG@10, and how much faster ours is."""
    several = results.get((library, batch_size))
    if several is None:
        return f"{'-':>12}{'':16}"
    seconds = seconds_of(several)
    ndcg = np.mean([result.ndcg for result in several])
    ratio = ""
    if library != OURS and (OURS, batch_size) in results:
        ratio = f"{seconds / seconds_of(results[OURS, batch_size]):.1f} x"
    return f"{seconds:12.4f} {ndcg:7.4f}{ratio:>8}"


def print_headline(library: str, results: Results) -> None:
    """Its best batch size against ours: at the same size, and at our best."""

    def fastest(name: str) -> int:
        sizes = [size for other, size in results if other == name]
        return min(sizes, key=lambda size: seconds_of(results[name, size]))

    size, own_size = fastest(library), fastest(OURS)
    theirs, ours = results[library, size], results[OURS, size]
    seconds = seconds_of(theirs)
    gaps = [o.ndcg - t.ndcg for o, t in zip(ours, theirs, strict=True)]
    error = f" (standard error {sem(gaps):.4f})" if len(gaps) > 1 else ""
    print(
        f"{library} is fastest at {size}: there ours is "
        f"{seconds / seconds_of(ours):.1f} times as fast, NDCG@10 "
        f"{np.mean(gaps):+.4f}{error}; at its own fastest, {own_size}, "
        f"{seconds / seconds_of(results[OURS, own_size]):.1f} times"
    )


def records(
    ranker: str, results: Results, arguments: argparse.Namespace
) -> list[dict[str, object]]:
    return [
        {
            "preset": "networks",
            "data": str(arguments.data),
            "library": library,
            **asdict(Run(ranker, batch_size, arguments.epochs, seed)),
            **result._asdict(),
        }
        for (library, batch_size), several in results.items()
        for seed, result in enumerate(several)
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("--preset networks")
    group.add_argument(
        "--data", type=Path, help="real queries, as quality.py reads them"
    )
    group.add_argument("--epochs", type=int, default=3, help="that are timed")
    group.add_argument(
        "--batch-sizes", type=int, nargs="+", default=[1, 4, 16, 64, 256]
    )
    group.add_argument(
        "--implementations", nargs="+", choices=LIBRARIES, default=list(LIBRARIES)
    )
