"""Bit-sliced evaluation gives the scores of walks, bit for bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._core.compile import (
    INTERPRETED,
    ROW_BLOCK,
    ThreadTeam,
    select_bits,
    transpose_bits,
)
from sklearn_ltr._core.trees.evaluate import ensemble as ensemble_module
from sklearn_ltr._core.trees.evaluate.bit_sliced import (
    BitSlicedEvaluator,
    circuits,
    evaluator,
)
from sklearn_ltr._core.trees.evaluate.bit_sliced.circuits import (
    build_circuits,
    cut_off_subtrees,
    divide_into_subtrees,
)
from sklearn_ltr._core.trees.evaluate.bit_sliced.conditions import (
    collect_conditions,
    round_down_to_float32,
)
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.evaluate.tree_walk import TreeWalk
from tests import from_python
from tests.trees.forests import INF, SHAPES, VALUES, grow, nodes_of, table

ALONE = ThreadTeam(1)
select, transpose = from_python(select_bits), from_python(transpose_bits)


@pytest.fixture(autouse=True, scope="module")
def no_walks():
    """Let predictions of any size be bit-sliced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ensemble_module, "MOST_WALKS", -1)
        patch.setattr(TreeEnsemble, "_few_rows", -1)
        yield


def walked(ensemble, X) -> np.ndarray:
    scores = np.zeros(len(X))
    TreeWalk(nodes_of(ensemble)).add_to(scores, X)
    return scores


# --- scores ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [1, 64, 255, 256, 257, 700])
def test_scores_are_those_of_walks(n_leaves, shape, dtype):
    rng = np.random.default_rng(n_leaves)
    ensemble = grow(n_leaves, shape, rng)
    for size in (3, n_leaves, 1):
        ensemble += grow(size, shape, rng)
    X = table(40, dtype, rng)
    scores = ensemble.predict(X, ALONE)
    assert scores.tobytes() == walked(ensemble, X).tobytes()


@pytest.mark.parametrize(
    "n_rows", [1, 63, 65, ROW_BLOCK - 1, ROW_BLOCK + 1, 2 * ROW_BLOCK + 100]
)
def test_a_row_scores_the_same_in_any_company(n_rows):
    rng = np.random.default_rng(n_rows)
    ensemble = grow(100, "any", rng) + grow(20, "any", rng)
    X = table(n_rows, np.float32, rng)
    some = rng.integers(n_rows, size=20)
    alone = [ensemble.predict(X[[row]], ALONE)[0] for row in some]
    for n_threads in (1,) if INTERPRETED else (1, 3):
        with ThreadTeam(n_threads) as team:
            assert ensemble.predict(X, team)[some].tolist() == alone


def test_a_leaf_that_adds_nothing_leaves_a_zero_its_sign():
    for x in (0.0, -0.0, 1.5, INF):
        after = np.float64(x + circuits.ADDS_NOTHING)
        assert after.tobytes() == np.float64(x).tobytes()


def test_the_evaluator_is_no_part_of_the_state():
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


def test_the_evaluator_is_built_once(monkeypatch):
    rng = np.random.default_rng(0)
    ensemble, X = grow(5, "any", rng), table(3, np.float64, rng)
    expected = ensemble.predict(X, ALONE).tolist()
    monkeypatch.setattr(BitSlicedEvaluator, "__init__", None)
    assert ensemble.predict(X, ALONE).tolist() == expected


# --- kernels and their arguments ----------------------------------------------------


@given(
    t=st.one_of(st.floats(allow_nan=False), st.sampled_from(VALUES)),
    x=st.floats(allow_nan=False, width=32),
)
def test_a_threshold_rounded_down_divides_float32_alike(t, x):
    (rounded,) = round_down_to_float32(np.array([t]))
    assert rounded.dtype == np.float32
    with np.errstate(over="ignore"):
        down, up = np.nextafter(rounded, [-INF, INF], dtype=np.float32)
    for single in (np.float32(x), rounded, down, up):
        assert (single <= rounded) == (float(single) <= t)


def test_the_kernel_is_compiled_once_for_each_dtype_whatever_the_layout(tmp_path):
    rng = np.random.default_rng(0)
    ensemble = grow(20, "any", rng) + grow(9, "any", rng)
    bit_sliced = BitSlicedEvaluator(nodes_of(ensemble))
    for dtype in (np.float32, np.float64):
        X = table(100, dtype, rng)
        read_only = X.copy()
        read_only.flags.writeable = False
        X.tofile(tmp_path / "X")
        mapped = np.memmap(tmp_path / "X", dtype, mode="r", shape=X.shape)
        unaligned = np.frombuffer(b"x" + X.tobytes(), dtype, offset=1).reshape(X.shape)
        assert not unaligned.flags.aligned
        strided = np.repeat(np.hstack([X, X]), 2, axis=0)[::2, : X.shape[1]]
        layouts = [X, np.asfortranarray(X), strided, read_only, mapped, unaligned]
        for layout in layouts:
            scores = np.zeros(len(X))
            writeable = layout.flags.writeable
            bit_sliced.add_to(scores, layout)
            assert scores.tobytes() == walked(ensemble, X).tobytes()
            assert layout.flags.writeable == writeable
    if not INTERPRETED:
        assert len(evaluator.evaluate_ensemble.signatures) == 2
        for kernel in (
            circuits.cut_off_subtrees,
            circuits.assign_by_halving,
            circuits.build_gates,
            circuits.find_levels,
        ):
            assert len(kernel.signatures) == 1


# --- circuits ---------------------------------------------------------------------


def built(ensemble):
    nodes = nodes_of(ensemble)
    conditions, condition_of_node = collect_conditions(nodes)
    circuits, n_vectors = build_circuits(
        nodes, condition_of_node, len(conditions.threshold)
    )
    return conditions, circuits, n_vectors


def perfect(depth) -> TreeEnsemble:
    """Return a tree whose leaves are all equally deep."""
    rng = np.random.default_rng(depth)
    tree = grow(2**depth, "any", rng)
    size, n_inner = 2 ** (depth + 1) - 1, 2**depth - 1
    nodes = np.arange(n_inner)
    left, right = np.full((2, size), -1, dtype=np.int32)
    left[:n_inner], right[:n_inner] = 2 * nodes + 1, 2 * nodes + 2
    return TreeEnsemble(
        **{
            **vars(tree),
            "left": left,
            "right": right,
            "feature": np.where(left >= 0, rng.integers(5, size=size), -1).astype("i4"),
            "threshold": rng.normal(size=size),
            "value": np.where(left >= 0, 0, rng.normal(size=size)),
        }
    )


# --- conditions -------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3, 6, 7])
def test_a_perfect_tree_takes_a_gate_for_each_node_but_a_few(depth):
    _, circuits, _ = built(perfect(depth))
    assert len(circuits.gate) == 2**depth - 1 - depth


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [1, 255, 256, 257, 1000, 3000])
def test_a_subtree_has_at_most_256_leaves_with_the_one_outside(n_leaves, shape):
    tree = grow(n_leaves, shape, np.random.default_rng(n_leaves))
    subtrees = divide_into_subtrees(nodes_of(tree))
    sizes = subtrees.n_leaves[subtrees.root].tolist()
    assert subtrees.root[0] == 0 and sizes[0] <= 256
    assert all(127 < size <= 255 for size in sizes[1:])
    # a leaf of a subtree is one of the tree, or the alias leaf of another subtree
    assert sum(sizes) == n_leaves + len(sizes) - 1


def test_two_children_as_large_as_can_be_are_both_cut_off():
    left, right = np.array([[1, -1, 3, -1, -1], [2, -1, 4, -1, -1]])
    n_leaves, is_root = np.array([1, 1, 1, 255, 255]), np.array([True] + 4 * [False])
    cut_off_subtrees(left, right, n_leaves, is_root)
    assert n_leaves.tolist() == [3, 1, 2, 255, 255]
    assert is_root.tolist() == [True, False, False, True, True]
