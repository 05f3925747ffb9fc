"""Time of an epoch of RankNet and LambdaRank, beside PyTorch.

    python benchmarks/fit.py --preset networks [--data PATH]

Both sides train the same network from the same initial weights with the same loss, the
same Adam and the same number of queries per update, for the same number of epochs, each
in its own order of the queries. Each library runs in its own process, which holds the
data; they are run interleaved.

Our time is from one line printed by ``verbose=1`` to the next, so it includes gathering
rows and evaluating the training queries. PyTorch's time includes the padding of its
batches, except for "packed", whose batches are made before the clock starts. The first
epoch of a run is not timed.
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
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import sem

import peers
from peers import OURS, THREADS
from sklearn_ltr._networks import MultilayerPerceptron
from sklearn_ltr.metrics import NDCG

HIDDEN = (64, 32)
LEARNING_RATE = 1e-3
RANKERS = ("ranknet", "lambdarank")
SLOWDOWN_LIMIT = 3  # larger batches are skipped once a peer is this much slower


class Part(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


class Data(NamedTuple):
    """Training part, and the part on which NDCG@10 is evaluated."""

    train: Part
    test: Part


@dataclass(frozen=True)
class Run:
    ranker: str
    batch_size: int
    epochs: int
    seed: int = 0


class Result(NamedTuple):
    seconds: list[float]  # of each epoch except the first
    ndcg: float


# By library and batch size, one result per seed.
Results = dict[tuple[str, int], list[Result]]


def initial_network(data: Data, run: Run) -> MultilayerPerceptron:
    """Return the network of hidden_layer_sizes=HIDDEN; PyTorch gets its weights."""
    rng = np.random.default_rng(run.seed)
    return MultilayerPerceptron(data.train.X.shape[1], HIDDEN, "relu", rng)


class Stopwatch(io.StringIO):
    """Record when an epoch ends, which is when a ranker prints a line."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def write(self, text: str) -> int:
        if text.startswith("step"):
            self.times.append(time.perf_counter())
        return len(text)


def run_sklearn_ltr(data: Data, run: Run) -> Result:
    from sklearn_ltr import LambdaRankRanker, RankNetRanker

    # all pairs with a document in the top 10, as on PyTorch's side
    lambdarank = partial(LambdaRankRanker, truncation_level=None)
    kind = {"ranknet": RankNetRanker, "lambdarank": lambdarank}[run.ranker]
    ranker = kind(
        network=initial_network(data, run),
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
    weights = initial_network(data, run).coefs
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
    """Remove queries whose documents all have the same grade, as ours does."""
    starts = np.flatnonzero(np.r_[True, part.groups[1:] != part.groups[:-1]])
    varied = np.maximum.reduceat(part.y, starts) > np.minimum.reduceat(part.y, starts)
    rows = np.repeat(varied, peers.query_sizes(part.groups))
    return Part(*(values[rows] for values in part))


def ndcg_of(predict: Callable[[np.ndarray], np.ndarray], data: Data) -> float:
    X, y, groups = data.test
    return float(NDCG(10)(y, predict(X), groups=groups))


def standardized(train: Part, test: Part) -> Data:
    """Scale features to mean 0 and variance 1 on the training part."""
    mean, scale = train.X.mean(axis=0), train.X.std(axis=0)
    scale[scale == 0] = 1
    return Data(
        *(
            part._replace(X=((part.X - mean) / scale).astype(np.float32))
            for part in (train, test)
        )
    )


def first_fold(path: Path) -> Data:
    """Read training and test part of fold 1 of a collection, see ``quality.py``."""
    import quality

    parts = quality.load(path)
    return standardized(Part(*quality.training_part(parts, 4)), Part(*parts[4]))


_data: Data  # set in each worker process


def _keep(data: Data) -> None:
    global _data
    _data = data


def _measure(library: str, run: Run) -> Result:
    return LIBRARIES[library](_data, run)


def compare(data: Data, arguments: argparse.Namespace) -> None:
    """Print a table for each ranker."""
    rows, columns = data.train.X.shape
    n_queries = len(np.unique(data.train.groups))
    print(f"{rows:,} x {columns}, {n_queries:,} queries, {THREADS} threads")
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
                remaining = {
                    library: worker
                    for library, worker in workers.items()
                    if not is_too_slow(library, results)
                }
                results |= take_turns(remaining, run, arguments.repetitions)
            print_table(ranker, results)
            peers.append_json(arguments.json, records(ranker, results, arguments))


def is_too_slow(library: str, results: Results) -> bool:
    """Whether the last batch size made a peer so slow that larger ones are skipped."""
    tried = [seconds_of(r) for (name, _), r in results.items() if name == library]
    return bool(tried) and library != OURS and tried[-1] > SLOWDOWN_LIMIT * min(tried)


def take_turns(
    workers: dict[str, ProcessPoolExecutor], run: Run, repetitions: int
) -> Results:
    results: Results = {(library, run.batch_size): [] for library in workers}
    for seed in range(repetitions):
        of_seed = replace(run, seed=seed)
        for library, worker in workers.items():
            result = worker.submit(_measure, library, of_seed).result()
            results[library, run.batch_size].append(result)
    return results


def seconds_of(runs: list[Result]) -> float:
    return float(np.median([s for result in runs for s in result.seconds]))


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
    """Format seconds, NDCG@10, and how many times as fast ours is."""
    runs = results.get((library, batch_size))
    if runs is None:
        return f"{'-':>12}{'':16}"
    seconds = seconds_of(runs)
    ndcg = np.mean([result.ndcg for result in runs])
    ratio = ""
    if library != OURS and (OURS, batch_size) in results:
        ratio = f"{seconds / seconds_of(results[OURS, batch_size]):.1f} x"
    return f"{seconds:12.4f} {ndcg:7.4f}{ratio:>8}"


def print_headline(library: str, results: Results) -> None:
    """Compare its best batch size with ours at the same size, and with our best."""

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
        for (library, batch_size), runs in results.items()
        for seed, result in enumerate(runs)
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("--preset networks")
    group.add_argument("--data", type=Path, help="real queries, see quality.py")
    group.add_argument("--epochs", type=int, default=3, help="number of timed epochs")
    group.add_argument(
        "--batch-sizes", type=int, nargs="+", default=[1, 4, 16, 64, 256]
    )
    group.add_argument(
        "--implementations", nargs="+", choices=LIBRARIES, default=list(LIBRARIES)
    )
