"""Cost of each part of `predict`: number of steps, and CPU cycles of one step.

    python benchmarks/scoring_floor.py --preset 63

One block of 512 rows is evaluated repeatedly in one thread, one part of the work at a
time, with the same ensemble as in `predict.py`; input and output of the parts are in
the caches, as far as they fit. A clock cycle is the time of one of a chain of dependent
additions. Printed are the fastest of interleaved repetitions.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from floor import fastest_of
from predict import ENSEMBLES, new_rows, trained

import peers
from peers import OURS
from sklearn_ltr._compile import (
    ROW_BLOCK,
    as_kernel_argument,
    kernel,
    transpose_bits,
)
from sklearn_ltr._trees.evaluate.bit_sliced.evaluator import (
    SUBTREE_GROUP,
    add_leaf_values,
    evaluate_conditions,
    evaluate_gates,
    mark_infinite_rows,
    transpose_features,
)

LOOPS = 20  # repetitions of a part within one measurement


@kernel
def loop_rows(X, conditions, buffers) -> None:
    for _ in range(LOOPS):
        mark_infinite_rows(X, buffers.scores)
        transpose_features(X, conditions.feature, buffers.features)


@kernel
def loop_conditions(conditions, buffers) -> None:
    for _ in range(LOOPS):
        evaluate_conditions(conditions, buffers, ROW_BLOCK)


@kernel
def loop_gates(circuits, buffers) -> None:
    for _ in range(LOOPS):
        for subtree in range(len(circuits.code_bit)):
            evaluate_gates(circuits, subtree, buffers.vectors)


@kernel
def loop_leaf_codes(circuits, buffers) -> None:
    for _ in range(LOOPS):
        for subtree in range(len(circuits.code_bit)):
            leaf_codes = buffers.leaf_codes[subtree % SUBTREE_GROUP]
            transpose_bits(buffers.vectors, circuits.code_bit[subtree], leaf_codes)


@kernel
def loop_leaf_values(circuits, buffers) -> None:
    for _ in range(LOOPS):
        for first in range(0, len(circuits.code_bit), SUBTREE_GROUP):
            value = circuits.value[first : first + SUBTREE_GROUP]
            add_leaf_values(value, buffers.leaf_codes, ROW_BLOCK, buffers.scores)


def measure(ranker, X: np.ndarray, repetitions: int) -> dict:
    """Return, for each part, steps and seconds for one block of rows."""
    evaluator = ranker.ensemble_._evaluator
    circuits, buffers = evaluator._circuits, evaluator._new_buffers(X.dtype)
    conditions = evaluator._by_dtype[X.dtype][0].conditions
    rows = as_kernel_argument(X)
    n_subtrees = len(circuits.code_bit)
    parts = {
        "values read": (X.size, partial(loop_rows, rows, conditions, buffers)),
        "conditions": (
            len(conditions.threshold),
            partial(loop_conditions, conditions, buffers),
        ),
        "gates": (len(circuits.gate), partial(loop_gates, circuits, buffers)),
        "leaf codes": (n_subtrees, partial(loop_leaf_codes, circuits, buffers)),
        "leaf values": (
            n_subtrees * ROW_BLOCK,
            partial(loop_leaf_values, circuits, buffers),
        ),
    }
    calls = {name: call for name, (_, call) in parts.items()}
    fastest, cycle = fastest_of(calls, repetitions)
    return {
        "cycle_s": cycle,
        "parts": {
            name: {"steps": parts[name][0], "seconds": seconds / LOOPS}
            for name, seconds in fastest.items()
        },
    }


def print_table(costs: dict) -> None:
    cycle, parts = costs["cycle_s"], costs["parts"]
    total = sum(part["seconds"] for part in parts.values())
    print(f"{1e-9 / cycle:.2f} GHz; {1e9 * total / ROW_BLOCK:.1f} ns a row, all parts")
    print(f"{'of 512 rows':16}{'steps':>12}{'cycles of one':>16}{'share':>8}")
    for name, part in parts.items():
        each = part["seconds"] / part["steps"] / cycle
        share = part["seconds"] / total
        print(f"{name:16}{part['steps']:12,}{each:16.2f}{share:8.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", choices=ENSEMBLES, default="31")
    parser.add_argument("--repetitions", type=int, default=5)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    print(peers.machine())
    settings = ENSEMBLES[arguments.preset]
    ((_, ranker),) = trained([OURS], settings)
    print(f"\n{settings}")
    costs = measure(ranker, new_rows(ROW_BLOCK), arguments.repetitions)
    print_table(costs)
    peers.append_json(arguments.json, [{"preset": arguments.preset} | costs])


if __name__ == "__main__":
    main()
