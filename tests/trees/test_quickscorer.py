"""Scores by bits are the scores of a walk from the root to a leaf, bit for bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr._compile import (
    INTERPRETED,
    LANES,
    Team,
    kernel,
    registers,
    trailing_zeros,
)
from sklearn_ltr.learners.trees.predicting import TreeEnsemble
from sklearn_ltr.learners.trees.quickscorer import (
    NOTHING,
    TILE,
    WORD,
    QuickScorer,
    Trees,
    aligned,
    cut,
    lay_out,
    rounded_down,
)
from tests.oracles import trees as oracle
from tests.trees import ALONE

NAN, INF = float("nan"), float("inf")
N_FEATURES = 5
VALUES = [-INF, -3e38, -1.0, -0.0, 0.0, 1e-45, 0.1, 1.0, 1.0000001, 3e38, INF]
SHAPES = ["any", "left", "right"]


@kernel
def number_of_lowest_bit(words):
    return trailing_zeros(words[0])


@kernel
def through_registers(words, out):
    own = registers()
    for i in range(LANES):
        own[i] = words[i]
    for i in range(LANES):
        out[i] = own[i]


def grow(n_leaves, shape, rng) -> TreeEnsemble:
    """One tree that asks at random: bushy, or a chain to one side."""
    size = 2 * n_leaves - 1
    left, right = np.full((2, size), -1, dtype=np.int32)
    leaves = [0]
    for new in range(1, size, 2):
        chosen = {"any": rng.integers(len(leaves)), "left": 0, "right": -1}[shape]
        node = leaves.pop(chosen)
        left[node], right[node] = new, new + 1
        leaves = [new, *leaves] if shape == "left" else [*leaves, new]
        leaves = [*leaves, new + 1]
    inner = left >= 0
    threshold = np.where(
        rng.uniform(size=size) < 0.5, rng.normal(size=size), rng.choice(VALUES, size)
    )
    return TreeEnsemble(
        first_node=np.zeros(1, dtype=np.int64),
        feature=np.where(inner, rng.integers(N_FEATURES, size=size), -1).astype("i4"),
        threshold=threshold,
        missing_left=rng.uniform(size=size) < 0.5,
        left=left,
        right=right,
        value=np.where(inner, 0.0, rng.normal(size=size)),
        gain=np.zeros(size),
        n_rows=np.zeros(size, dtype=np.int64),
    )


def table(n_rows, dtype, rng) -> np.ndarray:
    """Values that lie on thresholds, beside them, and nowhere."""
    values = [x for x in VALUES if np.isfinite(x)] + [NAN]
    X = np.where(
        rng.uniform(size=(n_rows, N_FEATURES)) < 0.5,
        rng.normal(size=(n_rows, N_FEATURES)),
        rng.choice(values, (n_rows, N_FEATURES)),
    )
    return X.astype(dtype)


def by_walking(ensemble, X) -> np.ndarray:
    scores = np.zeros(len(X))
    X = X.astype(np.float64)  # numpy would round a Python float to single precision
    for tree in range(len(ensemble)):
        part = ensemble.part(tree, tree + 1)
        for row in range(len(X)):
            scores[row] += part.value[oracle.route(X, row, part)]
    return scores


def nodes_of(ensemble) -> Trees:
    ends = np.append(ensemble.first_node, len(ensemble.feature))
    return Trees(ends, *(getattr(ensemble, name) for name in Trees._fields[1:]))


def pieces_of(ensemble) -> dict[int, list[int]]:
    """Nodes of each piece of an ensemble, leaves included."""
    trees = nodes_of(ensemble)
    n_leaves, is_top = cut(trees)
    *_, piece, _ = lay_out(trees, n_leaves, is_top)
    return {p: np.flatnonzero(piece == p).tolist() for p in set(piece.tolist())}


# --- the bits ---------------------------------------------------------------------


@settings(max_examples=60)
@given(
    n_leaves=st.integers(1, 40),
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 10_000),
)
def test_the_lowest_bit_left_is_the_leaf_at_the_end_of_the_walk(n_leaves, shape, seed):
    rng = np.random.default_rng(seed)
    tree = grow(n_leaves, shape, rng)
    X = table(5, np.float64, rng)
    for row in range(len(X)):
        assert oracle.leaf_by_bits(X, row, tree) == oracle.route(X, row, tree)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [1, 2, 31, 32, 33, 34, 64, 65, 150])
def test_scores_are_those_of_walks(n_leaves, shape, dtype):
    rng = np.random.default_rng(n_leaves)
    ensemble = grow(n_leaves, shape, rng)
    for size in (3, n_leaves, 1):
        ensemble += grow(size, shape, rng)
    X = table(40, dtype, rng)
    scores = ensemble.predict(X, ALONE)
    assert scores.tobytes() == by_walking(ensemble, X).tobytes()


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 100), min_size=1, max_size=6),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 10_000),
)
def test_scores_are_those_of_walks_whatever_the_trees(sizes, shape, dtype, seed):
    rng = np.random.default_rng(seed)
    ensemble = TreeEnsemble.empty()
    for size in sizes:
        ensemble += grow(size, shape, rng)
    X = table(10, dtype, rng)
    assert ensemble.predict(X, ALONE).tolist() == by_walking(ensemble, X).tolist()


@pytest.mark.parametrize("n_rows", [1, LANES - 1, LANES + 1, TILE, 2 * TILE + 3])
def test_a_row_scores_the_same_in_any_company(n_rows):
    rng = np.random.default_rng(n_rows)
    ensemble = grow(100, "any", rng) + grow(20, "any", rng)
    X = table(n_rows, np.float32, rng)
    some = rng.integers(n_rows, size=20)
    alone = [ensemble.predict(X[[row]], ALONE)[0] for row in some]
    for n_threads in (1,) if INTERPRETED else (1, 3):
        with Team(n_threads) as team:
            assert ensemble.predict(X, team)[some].tolist() == alone


def test_scores_begin_with_the_base_and_keep_the_order_of_the_trees():
    rng = np.random.default_rng(0)
    ensemble = grow(60, "any", rng) + grow(60, "any", rng) + grow(2, "any", rng)
    X = table(30, np.float32, rng)
    base = rng.normal(scale=1e3, size=30)
    expected = base.copy()
    for tree in range(3):
        expected += by_walking(ensemble.part(tree, tree + 1), X)
    assert ensemble.predict(X, ALONE, base).tolist() == expected.tolist()


def test_two_children_that_fill_a_word_each_are_both_cut_off():
    rng = np.random.default_rng(0)
    one, two = grow(32, "left", rng), grow(32, "left", rng)
    joined = one + two
    n_one = len(one.feature)
    shift = np.repeat([1, 1 + n_one], n_one).astype(np.int32)

    def with_root(name, of_root):
        return np.insert(getattr(joined, name), 0, of_root)

    moved = {
        side: np.where(getattr(joined, side) >= 0, getattr(joined, side) + shift, -1)
        for side in ("left", "right")
    }
    tree = TreeEnsemble(
        np.zeros(1, dtype=np.int64),
        **{
            name: with_root(name, 0)
            for name in (
                "feature",
                "threshold",
                "missing_left",
                "value",
                "gain",
                "n_rows",
            )
        },
        left=np.insert(moved["left"], 0, 1).astype(np.int32),
        right=np.insert(moved["right"], 0, 1 + n_one).astype(np.int32),
    )
    assert [len(nodes) for nodes in pieces_of(tree).values()] == [1, 63, 63]
    X = table(200, np.float64, rng)
    assert tree.predict(X, ALONE).tolist() == by_walking(tree, X).tolist()


# --- pieces -----------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [1, 32, 33, 64, 255, 1000])
def test_a_piece_has_at_most_32_leaves_and_one_that_hangs_more_than_16(n_leaves, shape):
    tree = grow(n_leaves, shape, np.random.default_rng(n_leaves))
    pieces = pieces_of(tree)
    assert sorted(sum(pieces.values(), [])) == list(range(len(tree.feature)))
    for number, nodes in pieces.items():
        # a binary tree has a leaf more than it has nodes that ask
        size = 1 + int((tree.feature[nodes] >= 0).sum())
        assert size <= WORD
        assert number == 0 or size > WORD // 2
    assert len(pieces) <= 1 + max(0, n_leaves - WORD + 15) // 16


def test_what_adds_nothing_leaves_a_zero_its_sign():
    for x in (0.0, -0.0, 1.5, INF):
        assert np.float64(x + NOTHING).tobytes() == np.float64(x).tobytes()


def test_what_was_prepared_is_no_part_of_the_state():
    rng = np.random.default_rng(0)
    ensemble = grow(40, "any", rng)
    before = pickle.dumps(ensemble)
    scores = ensemble.predict(table(9, np.float64, rng), ALONE)
    assert pickle.dumps(ensemble) == before
    again = pickle.loads(before)
    assert vars(again).keys() == set(ensemble.__dataclass_fields__)
    X = table(9, np.float64, np.random.default_rng(1))
    assert again.predict(X, ALONE).tolist() == ensemble.predict(X, ALONE).tolist()
    assert len(scores) == 9


def test_trees_are_prepared_once(monkeypatch):
    rng = np.random.default_rng(0)
    ensemble, X = grow(5, "any", rng), table(3, np.float64, rng)
    expected = ensemble.predict(X, ALONE).tolist()
    monkeypatch.setattr(QuickScorer, "__init__", None)
    assert ensemble.predict(X, ALONE).tolist() == expected


# --- numbers ----------------------------------------------------------------------


@given(
    t=st.one_of(st.floats(allow_nan=False), st.sampled_from(VALUES)),
    x=st.floats(allow_nan=False, width=32),
)
def test_a_threshold_rounded_down_divides_single_precision_alike(t, x):
    (rounded,) = rounded_down(np.array([t]))
    assert rounded.dtype == np.float32
    with np.errstate(over="ignore"):
        down, up = np.nextafter(rounded, [-INF, INF], dtype=np.float32)
    for single in (np.float32(x), rounded, down, up):
        assert (single <= rounded) == (float(single) <= t)


@pytest.mark.parametrize("word", [0, 1, 2, 12, 2**31, 2**31 + 2**7, 2**32 - 1])
def test_trailing_zeros_are_counted(word):
    expected = next((i for i in range(32) if word >> i & 1), 32)
    assert number_of_lowest_bit(np.array([word], dtype=np.uint32)) == expected


def test_memory_begins_with_a_cache_line():
    for dtype in (np.float32, np.float64, np.uint32):
        cells = aligned((3, 64), dtype)
        assert (cells.shape, cells.dtype) == ((3, 64), dtype)
        assert cells.ctypes.data % 64 == 0
        assert cells.flags.c_contiguous and cells.flags.writeable


def test_registers_hold_what_is_put_there():
    words = np.random.default_rng(0).integers(2**32, size=LANES, dtype=np.uint32)
    out = np.zeros_like(words)
    through_registers(words, out)
    assert out.tolist() == words.tolist()
