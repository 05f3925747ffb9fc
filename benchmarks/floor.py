"""Lower bound of the time of a fit: its additions to histograms on this machine.

    python benchmarks/floor.py --preset a

A fit on all rows (``subsample=1``) adds one 64-bit value to a histogram for each row
and feature of each node for which it builds a histogram. Bare loops in one thread
measure the time of one addition, with rows in order or gathered by a sparse index, and
the speed at which memory is read. A clock cycle is the time of one of a chain of
dependent additions. The number of additions of a fit follows from its trees. Printed
are the fastest of interleaved repetitions; for the fit, the median.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from fit import PRESETS, SYNTHETIC, synthetic
from measuring import take_turns

import peers
from sklearn_ltr._compile import int64, kernel, uint64
from sklearn_ltr._trees.binning import MISSING_BIN
from sklearn_ltr._trees.growth.blocks import FEATURE_BLOCK, HISTOGRAM_BINS
from sklearn_ltr._trees.growth.histograms import add_rows_to_histogram

CHAIN = 20_000_000  # dependent additions
DENSITIES = (1, 4, 16, 64)  # one row in so many is gathered
# read for a row in a block of features: its bins, its 64-bit value, its index
BYTES = FEATURE_BLOCK + 8 + 4


@kernel
def add_in_a_chain(n: int) -> int:
    """Compute a Fibonacci number: each addition depends on the one before."""
    a, b = int64(1), int64(1)
    for _ in range(n):
        a, b = b, a + b
    return b


@kernel
def sum_of(values: np.ndarray) -> int:
    total = int64(0)
    for value in values:
        total += value
    return total


@kernel
def add_in_order(bins, packed, histogram) -> None:
    for i in range(uint64(len(packed))):
        value = packed[i]
        for slot in range(FEATURE_BLOCK):
            histogram[int64(bins[i, slot]) * FEATURE_BLOCK + slot] += value


@kernel
def add_gathered(bins, rows, packed, histogram) -> None:
    for i in range(uint64(len(rows))):
        row, value = uint64(rows[i]), packed[i]
        for slot in range(FEATURE_BLOCK):
            histogram[int64(bins[row, slot]) * FEATURE_BLOCK + slot] += value


@kernel
def add_prefetched(bins, rows, packed, histogram) -> None:
    add_rows_to_histogram(bins, rows, packed, histogram, FEATURE_BLOCK)


def fastest_of(calls: dict, repetitions: int) -> tuple[dict, float]:
    """Return the fastest run of each call in seconds, and the seconds of a cycle."""
    calls = {"chain": partial(add_in_a_chain, CHAIN)} | calls
    take_turns(calls, 1)  # warm up
    fastest = {what: min(s) for what, s in take_turns(calls, repetitions).items()}
    return fastest, fastest.pop("chain") / CHAIN


class Speed(NamedTuple):
    """Seconds, in one thread, of a clock cycle, of reading a byte, of an addition."""

    cycle: float
    byte: float
    in_order: float
    gathered: dict[int, tuple[float, float]]  # by density: without, with prefetch


def measure_speed(n_rows: int, repetitions: int) -> Speed:
    rng = np.random.default_rng(0)
    bins = rng.integers(0, MISSING_BIN, (n_rows, FEATURE_BLOCK), dtype=np.uint8)
    packed = np.ones(n_rows, np.int64)
    histogram = np.zeros(HISTOGRAM_BINS * FEATURE_BLOCK, np.int64)
    large = np.ones(8 * n_rows, np.int64)  # reading it evicts all else from the caches
    calls = {"in order": partial(add_in_order, bins, packed, histogram)}
    for density, loop in product(DENSITIES, (add_gathered, add_prefetched)):
        rows = np.flatnonzero(rng.random(n_rows) < 1 / density).astype(np.int32)
        calls["read", density, loop] = partial(sum_of, large)
        calls[density, loop] = partial(loop, bins, rows, packed[: len(rows)], histogram)
    fastest, cycle = fastest_of(calls, repetitions)

    def of_addition(density: int, loop) -> float:
        return fastest[density, loop] / (
            FEATURE_BLOCK * len(calls[density, loop].args[1])
        )

    return Speed(
        cycle,
        min(s for what, s in fastest.items() if "read" in what) / large.nbytes,
        fastest["in order"] / (FEATURE_BLOCK * n_rows),
        {
            d: (of_addition(d, add_gathered), of_addition(d, add_prefetched))
            for d in DENSITIES
        },
    )


def print_speed(speed: Speed) -> None:
    def cell(seconds: float) -> str:
        return f"{1e9 * seconds:9.2f} ({seconds / speed.cycle:6.2f})"

    print(f"{1e-9 / speed.cycle:.2f} GHz, memory read at {1e-9 / speed.byte:.1f} GB/s")
    print(f"ns (cycles) of an addition{'bare':>10}{'with prefetch':>20}")
    print(f"{'rows in order':18}{cell(speed.in_order)}")
    for density, (bare, prefetched) in speed.gathered.items():
        print(f"{f'1 row in {density}':18}{cell(bare)}{cell(prefetched)}")


def added_rows(ensemble, max_leaf_nodes: int, min_samples_leaf: int) -> int:
    """Return the number of rows of all nodes whose histogram is built row by row.

    These are the root and, for each split, the smaller child, if one of the children is
    large enough to be split and the tree is not yet full.
    """
    n_added = 0
    for first, last in pairwise([*ensemble.first_node, len(ensemble.feature)]):
        children = np.stack([ensemble.left[first:last], ensemble.right[first:last]])
        parents = np.flatnonzero(children[0] >= 0)
        n_rows = ensemble.n_rows[first:last].copy()
        for node in parents[::-1]:  # children come after their parents
            n_rows[node] = n_rows[children[:, node]].sum()
        of_children = n_rows[children[:, parents]]
        searched = of_children.max(axis=0) >= 2 * min_samples_leaf
        if len(parents) == max_leaf_nodes - 1:
            searched[np.argmax(children[0, parents])] = False  # the tree is full
        n_added += n_rows[0] + of_children.min(axis=0)[searched].sum()
    return int(n_added)


def padded_features(n_features: int) -> int:
    """Return the number of features with the last block padded to 4, 8 or 16."""
    rest = n_features % FEATURE_BLOCK
    return n_features - rest + next(size for size in (0, 4, 8, 16) if rest <= size)


def compare(preset: str, speed: Speed, repetitions: int) -> dict:
    """Count the additions of a fit, and time the fit, in one thread."""
    (X, y, groups), _ = synthetic(preset, "float32")
    settings = replace(PRESETS[preset][2], n_threads=1)
    train = partial(peers.train_sklearn_ltr, X, y, groups, settings, subsample=1.0)
    ensemble = train().ensemble_
    fit = float(np.median(take_turns({"fit": train}, repetitions)["fit"]))
    n_added = added_rows(ensemble, settings.max_leaf_nodes, settings.min_samples_leaf)
    updates = n_added * padded_features(X.shape[1])
    moved = n_added * -(-X.shape[1] // FEATURE_BLOCK) * BYTES
    adding, reading = updates * speed.in_order, moved * speed.byte
    print(f"\npreset {preset}: {len(X):,} x {X.shape[1]} float32, {settings}")
    print(f"{updates:.2e} additions, rows in order{adding:9.2f} s")
    print(f"{moved:.2e} bytes, none from a cache{reading:9.2f} s")
    print(f"the fit, one thread{fit:23.2f} s, {fit / adding:.2f} times the additions")
    return {"updates": updates, "bytes": moved, "adding_s": adding, "fit_s": fit}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", choices=SYNTHETIC, default="a")
    parser.add_argument(
        "--rows", type=int, default=4_000_000, help="rows of the bare loops"
    )
    parser.add_argument("--repetitions", type=int, default=5)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    print(peers.machine())
    speed = measure_speed(arguments.rows, arguments.repetitions)
    print_speed(speed)
    costs = compare(arguments.preset, speed, arguments.repetitions)
    about = {"preset": arguments.preset, **speed._asdict()}
    peers.append_json(arguments.json, [about | costs])


if __name__ == "__main__":
    main()
