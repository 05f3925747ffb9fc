"""The physical floor of a fit: how long its histograms take this machine at the least.

    python benchmarks/floor.py --preset a

A fit adds one 64-bit word to a histogram for each row and column that it looks at.
Bare loops in one thread measure what such an addition costs, its rows in order or
gathered from memory by a sparse list, and how fast memory is read.  A clock cycle is
what each of a chain of dependent additions takes.  How many additions a fit makes, its
trees tell.  The quickest of repetitions in turn are shown; of the fit, the median.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from fit import INVENTED, PRESETS, invented
from measuring import take_turns

import peers
from sklearn_ltr._compile import int64, kernel, uint64
from sklearn_ltr.learners._trees.binning import BLOCK, MISSING, N_CODES
from sklearn_ltr.learners._trees.histogram import add_rows

CHAIN = 20_000_000  # dependent additions
DENSITIES = (1, 4, 16, 64)  # one row in so many is added
BYTES = BLOCK + 8 + 4  # of a row in a block: its codes, its word, its number


@kernel
def add_in_a_chain(n: int) -> int:
    """Fibonacci's numbers: no addition can begin before the last one has ended."""
    a, b = int64(1), int64(1)
    for _ in range(n):
        a, b = b, a + b
    return b


@kernel
def add_up(words: np.ndarray) -> int:
    total = int64(0)
    for word in words:
        total += word
    return total


@kernel
def add_in_order(codes, words, histogram) -> None:
    for i in range(uint64(len(words))):
        word = words[i]
        for place in range(BLOCK):
            histogram[int64(codes[i, place]) * BLOCK + place] += word


@kernel
def add_gathered(codes, rows, words, histogram) -> None:
    for i in range(uint64(len(rows))):
        row, word = uint64(rows[i]), words[i]
        for place in range(BLOCK):
            histogram[int64(codes[row, place]) * BLOCK + place] += word


@kernel
def add_prefetched(codes, rows, words, histogram) -> None:
    add_rows(codes, rows, words, histogram, BLOCK)


def quickest_of(calls: dict, repetitions: int) -> tuple[dict, float]:
    """Seconds of the quickest of each, called in turn; and those of a clock cycle."""
    calls = {"chain": partial(add_in_a_chain, CHAIN)} | calls
    take_turns(calls, 1)  # compiles
    quickest = {what: min(s) for what, s in take_turns(calls, repetitions).items()}
    return quickest, quickest.pop("chain") / CHAIN


class Speed(NamedTuple):
    """Seconds in one thread of this machine: of a cycle, a byte, an addition."""

    cycle: float
    byte: float
    in_order: float
    gathered: dict[int, tuple[float, float]]  # by density: bare, with prefetch


def measure_speed(n_rows: int, repetitions: int) -> Speed:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, MISSING, (n_rows, BLOCK), dtype=np.uint8)
    words, histogram = np.ones(n_rows, np.int64), np.zeros(N_CODES * BLOCK, np.int64)
    much = np.ones(8 * n_rows, np.int64)  # drives everything else out of the caches
    calls = {"in order": partial(add_in_order, codes, words, histogram)}
    for density, loop in product(DENSITIES, (add_gathered, add_prefetched)):
        rows = np.flatnonzero(rng.random(n_rows) < 1 / density).astype(np.int32)
        calls["read", density, loop] = partial(add_up, much)
        calls[density, loop] = partial(loop, codes, rows, words[: len(rows)], histogram)
    quickest, cycle = quickest_of(calls, repetitions)

    def of_addition(density: int, loop) -> float:
        return quickest[density, loop] / (BLOCK * len(calls[density, loop].args[1]))

    return Speed(
        cycle,
        min(s for what, s in quickest.items() if "read" in what) / much.nbytes,
        quickest["in order"] / (BLOCK * n_rows),
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
    """Rows of all roots, and of the smaller child of each split that is cut further."""
    added = 0
    for first, last in pairwise([*ensemble.first_node, len(ensemble.feature)]):
        children = np.stack([ensemble.left[first:last], ensemble.right[first:last]])
        parents = np.flatnonzero(children[0] >= 0)
        n_rows = ensemble.n_rows[first:last].copy()
        for node in parents[::-1]:  # children come after their parents
            n_rows[node] = n_rows[children[:, node]].sum()
        of_children = n_rows[children[:, parents]]
        cut_further = of_children.max(axis=0) >= 2 * min_samples_leaf
        if len(parents) == max_leaf_nodes - 1:
            cut_further[np.argmax(children[0, parents])] = False  # the tree is full
        added += n_rows[0] + of_children.min(axis=0)[cut_further].sum()
    return int(added)


def columns_of_blocks(n_features: int) -> int:
    """Columns, in one thread, and the empty ones that fill up the last block."""
    rest = n_features % BLOCK
    return n_features - rest + next(size for size in (0, 4, 8, 16) if rest <= size)


def compare(preset: str, speed: Speed, repetitions: int) -> dict:
    """The additions of a fit, and the fit itself, in one thread."""
    (X, y, groups), _ = invented(preset, "float32")
    settings = replace(PRESETS[preset][2], n_threads=1)
    train = partial(peers.train_sklearn_ltr, X, y, groups, settings)
    ensemble = train().ensemble_
    fit = float(np.median(take_turns({"fit": train}, repetitions)["fit"]))
    added = added_rows(ensemble, settings.max_leaf_nodes, settings.min_samples_leaf)
    updates = added * columns_of_blocks(X.shape[1])
    moved = added * -(-X.shape[1] // BLOCK) * BYTES
    adding, reading = updates * speed.in_order, moved * speed.byte
    print(f"\npreset {preset}: {len(X):,} x {X.shape[1]} float32, {settings}")
    print(f"{updates:.2e} additions, rows in order{adding:9.2f} s")
    print(f"{moved:.2e} bytes, none from a cache{reading:9.2f} s")
    print(f"the fit, one thread{fit:23.2f} s, {fit / adding:.2f} times the additions")
    return {"updates": updates, "bytes": moved, "adding_s": adding, "fit_s": fit}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", choices=INVENTED, default="a")
    parser.add_argument("--rows", type=int, default=4_000_000, help="of the bare loops")
    parser.add_argument("--repetitions", type=int, default=5)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    print(peers.machine())
    speed = measure_speed(arguments.rows, arguments.repetitions)
    print_speed(speed)
    found = compare(arguments.preset, speed, arguments.repetitions)
    about = {"benchmark": "floor", "preset": arguments.preset, **speed._asdict()}
    peers.append_json(arguments.json, [about | found])


if __name__ == "__main__":
    main()
