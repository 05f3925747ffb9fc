"""Bit-sliced evaluation gives the scores of walks, bit for bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_ltr._compile import (
    INTERPRETED,
    ROW_BLOCK,
    VECTOR_LANES,
    ThreadTeam,
    bit_of_row,
    evaluate_condition,
    missing_bits,
    select_bits,
    transpose_bits,
)
from sklearn_ltr._trees import ensemble as ensemble_module
from sklearn_ltr._trees.bit_sliced import BitSlicedEvaluator, circuits, evaluator
from sklearn_ltr._trees.bit_sliced.conditions import round_down_to_float32
from sklearn_ltr._trees.tree_walk import TreeWalk
from tests import from_python
from tests.trees.forests import INF, NAN, SHAPES, VALUES, grow, nodes_of, table

ALONE = ThreadTeam(1)
evaluate = from_python(evaluate_condition)
find_missing = from_python(missing_bits)
select, transpose = from_python(select_bits), from_python(transpose_bits)
transpose_features = from_python(evaluator.transpose_features)
add_leaf_values = from_python(evaluator.add_leaf_values)


@pytest.fixture(autouse=True, scope="module")
def no_walks():
    """Let predictions of any size be bit-sliced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ensemble_module, "MOST_WALKS", -1)
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


# --- bit vectors ------------------------------------------------------------------


def bits_of(vector) -> list[int]:
    """Return a bit for each of 512 rows."""
    bits = [bit_of_row(row) for row in range(ROW_BLOCK)]
    return [int(vector[bit % VECTOR_LANES]) >> bit // VECTOR_LANES & 1 for bit in bits]


def random_vectors(n, rng) -> np.ndarray:
    return rng.integers(2**32, size=n * VECTOR_LANES, dtype=np.uint32)


def test_every_row_has_its_own_bit():
    assert sorted(bit_of_row(row) for row in range(ROW_BLOCK)) == list(range(ROW_BLOCK))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 2, 63, 64, 65, 500, ROW_BLOCK])
def test_features_are_transposed_with_each_row_at_its_bit(n_rows, dtype):
    rows = np.random.default_rng(0).normal(size=(n_rows, 7)).astype(dtype)
    feature = np.array([0, 3, 6])
    features = np.full((3, ROW_BLOCK), NAN, dtype=dtype)
    transpose_features(rows, feature, features)
    for row in range(n_rows):
        assert features[:, bit_of_row(row)].tolist() == rows[row, feature].tolist()


def in_bit_order(by_row) -> np.ndarray:
    values = np.empty_like(by_row)
    values[[bit_of_row(row) for row in range(ROW_BLOCK)]] = by_row
    return values


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_parts", [1, 2, 5, 8])
def test_a_condition_bit_tells_whether_a_row_goes_right(n_parts, dtype):
    rng = np.random.default_rng(n_parts)
    finite = [x for x in VALUES if np.isfinite(x)]
    by_row = rng.choice([*finite, NAN, NAN], ROW_BLOCK).astype(dtype)
    values = in_bit_order(by_row)
    missing, result, some = 2 * VECTOR_LANES, 3 * VECTOR_LANES, slice(64 * n_parts)
    for threshold in np.array(VALUES, dtype=dtype) + 0.0:
        for of_missing in (0, 1):
            vectors = random_vectors(5, rng)
            vectors[:VECTOR_LANES], vectors[VECTOR_LANES:missing] = 0, 2**32 - 1
            before = vectors.copy()
            find_missing(values, n_parts, vectors, missing)
            side = of_missing * VECTOR_LANES
            evaluate(values, n_parts, threshold, vectors, missing, side, result)
            expected = [of_missing if x != x else int(x > threshold) for x in by_row]
            found = vectors[result : result + VECTOR_LANES]
            assert bits_of(found)[some] == expected[some]
            others = np.r_[:missing, result + VECTOR_LANES : len(vectors)]
            assert vectors[others].tolist() == before[others].tolist()


def test_bits_are_selected_one_by_one():
    vectors = random_vectors(5, np.random.default_rng(0))
    before = vectors.copy()
    select(vectors, 3 * VECTOR_LANES, VECTOR_LANES, 0, 2 * VECTOR_LANES)
    one, zero, _, condition, _ = (
        bits_of(vector) for vector in before.reshape(5, VECTOR_LANES)
    )
    expected = [o if c else z for c, z, o in zip(condition, zero, one, strict=True)]
    assert bits_of(vectors[2 * VECTOR_LANES : 3 * VECTOR_LANES]) == expected
    before[2 * VECTOR_LANES : 3 * VECTOR_LANES] = vectors[
        2 * VECTOR_LANES : 3 * VECTOR_LANES
    ]
    assert vectors.tolist() == before.tolist()


def test_bits_are_transposed_to_one_code_for_each_row():
    rng = np.random.default_rng(0)
    vectors = random_vectors(20, rng)
    bits = (VECTOR_LANES * rng.permutation(20)[:8]).astype(np.uint32)
    codes = np.zeros(ROW_BLOCK // 8, dtype=np.int64)
    transpose(vectors, bits, codes)
    planes = [bits_of(vectors[first : first + VECTOR_LANES]) for first in bits]
    for row, code in enumerate(codes.view(np.uint8).tolist()):
        assert code == sum(plane[row] << k for k, plane in enumerate(planes))


@pytest.mark.parametrize("n_rows", [1, 8, 100, ROW_BLOCK])
@pytest.mark.parametrize("n_subtrees", [1, 4, 7])
def test_values_are_added_one_after_another(n_subtrees, n_rows):
    value = [[1e16, 0.1], [1.0, -1e16], [-1e16, 0.3], [1.0, 3.0]]
    value = np.array(value + value)[:n_subtrees]
    leaf = np.random.default_rng(0).integers(2, size=(9, ROW_BLOCK), dtype=np.uint8)
    scores = np.linspace(-1, 1, ROW_BLOCK)
    expected = scores.tolist()
    add_leaf_values(value, leaf.view(np.int64), n_rows, scores)
    for row in range(n_rows):
        for subtree in range(n_subtrees):
            expected[row] += value[subtree, leaf[subtree, row]]
    assert scores[:n_rows].tolist() == expected[:n_rows]
    whole = -(-n_rows // 8) * 8
    assert scores[whole:].tolist() == expected[whole:]
