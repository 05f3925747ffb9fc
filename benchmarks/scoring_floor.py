"""Where the time of scoring goes: how many steps of a kind, and what one of them takes.

    python benchmarks/scoring_floor.py --preset 63

A block of 512 rows is scored again and again by one thread, one part of the work at a
time and the same forest as in `predict.py`; what the parts read and write is in the
caches, as far as it fits.  A clock cycle is what each of a chain of dependent additions
takes.  The quickest of repetitions in turn are shown.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from floor import quickest_of
from predict import FORESTS, new_rows, trained

import peers
from peers import OURS
from sklearn_ltr._compile import ROWS, kernel, transpose_bits
from sklearn_ltr.learners._trees.bit_sliced.evaluator import (
    GROUP,
    add_values,
    ask,
    make_choices,
    mark_infinite,
    turn,
)

AGAIN = 20  # times that a part is done before the clock is read


@kernel
def read_rows(X, questions, memory) -> None:
    for _ in range(AGAIN):
        mark_infinite(X, memory.scores)
        turn(X, questions.feature, memory.columns)


@kernel
def ask_questions(questions, threshold, memory) -> None:
    for _ in range(AGAIN):
        ask(questions, threshold, memory.columns, ROWS, memory.words)


@kernel
def choose_words(circuits, memory) -> None:
    for _ in range(AGAIN):
        for piece in range(len(circuits.bit)):
            make_choices(circuits, piece, memory.words)


@kernel
def join_numbers(circuits, memory) -> None:
    for _ in range(AGAIN):
        for piece in range(len(circuits.bit)):
            leaves = memory.leaves[piece % GROUP]
            transpose_bits(memory.words, circuits.bit[piece], leaves)


@kernel
def add_leaves(circuits, memory) -> None:
    for _ in range(AGAIN):
        for piece in range(0, len(circuits.bit), GROUP):
            value = circuits.value[piece : piece + GROUP]
            add_values(value, memory.leaves, ROWS, memory.scores)


def measure(ranker, X: np.ndarray, repetitions: int) -> dict:
    """Steps of each kind for a block of rows, and seconds of all of them together."""
    scorer = ranker.ensemble_._scorer
    questions, circuits = scorer._questions, scorer._circuits
    memory, threshold = scorer._memory(X.dtype), scorer._threshold[X.dtype]
    n_pieces = len(circuits.bit)
    parts = {
        "values read": (X.size, partial(read_rows, X, questions, memory)),
        "questions": (
            len(questions.threshold),
            partial(ask_questions, questions, threshold, memory),
        ),
        "choices": (len(circuits.choice), partial(choose_words, circuits, memory)),
        "numbers joined": (n_pieces, partial(join_numbers, circuits, memory)),
        "values added": (n_pieces * ROWS, partial(add_leaves, circuits, memory)),
    }
    calls = {name: call for name, (_, call) in parts.items()}
    quickest, cycle = quickest_of(calls, repetitions)
    return {
        "cycle_s": cycle,
        "parts": {
            name: {"steps": parts[name][0], "seconds": seconds / AGAIN}
            for name, seconds in quickest.items()
        },
    }


def print_table(found: dict) -> None:
    cycle, parts = found["cycle_s"], found["parts"]
    total = sum(part["seconds"] for part in parts.values())
    print(f"{1e-9 / cycle:.2f} GHz; {1e9 * total / ROWS:.1f} ns a row, all parts")
    print(f"{'of 512 rows':16}{'steps':>12}{'cycles of one':>16}{'share':>8}")
    for name, part in parts.items():
        each = part["seconds"] / part["steps"] / cycle
        share = part["seconds"] / total
        print(f"{name:16}{part['steps']:12,}{each:16.2f}{share:8.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", choices=FORESTS, default="31")
    parser.add_argument("--repetitions", type=int, default=5)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    print(peers.machine())
    settings = FORESTS[arguments.preset]
    ((_, ranker),) = trained([OURS], settings)
    print(f"\n{settings}")
    found = measure(ranker, new_rows(ROWS), arguments.repetitions)
    print_table(found)
    about = {"benchmark": "scoring_floor", "preset": arguments.preset}
    peers.append_json(arguments.json, [about | found])


if __name__ == "__main__":
    main()
