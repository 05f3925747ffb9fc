"""Scores by circuits are the scores of walks from the root to a leaf, bit for bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_ltr._compile import (
    INTERPRETED,
    ROWS,
    VECTOR_LANES,
    ThreadTeam,
    aligned,
    answer,
    missing_bits,
    place,
    select_bits,
    transpose_bits,
)
from sklearn_ltr.learners._trees.bit_sliced.evaluator import (
    Scorer,
    add_values,
    rounded_down,
    turn,
)
from sklearn_ltr.learners._trees.bit_sliced.leaf_codes import NOTHING
from sklearn_ltr.learners._trees.ensemble import TreeEnsemble
from tests import from_python
from tests.trees import ALONE
from tests.trees.forests import INF, NAN, SHAPES, VALUES, by_walking, grow, table

answers, missed = from_python(answer), from_python(missing_bits)
chosen, joined = from_python(select_bits), from_python(transpose_bits)
turned, added = from_python(turn), from_python(add_values)


# --- scores ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_leaves", [1, 2, 3, 31, 64, 255, 256, 257, 700])
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


@pytest.mark.parametrize("n_rows", [1, 63, 65, ROWS - 1, ROWS + 1, 2 * ROWS + 100])
def test_a_row_scores_the_same_in_any_company(n_rows):
    rng = np.random.default_rng(n_rows)
    ensemble = grow(100, "any", rng) + grow(20, "any", rng)
    X = table(n_rows, np.float32, rng)
    some = rng.integers(n_rows, size=20)
    alone = [ensemble.predict(X[[row]], ALONE)[0] for row in some]
    for n_threads in (1,) if INTERPRETED else (1, 3):
        with ThreadTeam(n_threads) as team:
            assert ensemble.predict(X, team)[some].tolist() == alone


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [INF, -INF])
def test_a_row_with_an_infinite_value_has_no_score_and_others_have_theirs(dtype, value):
    rng = np.random.default_rng(0)
    ensemble = grow(30, "any", rng)  # asks about some of the columns
    X = np.hstack([table(ROWS + 70, dtype, rng), np.ones((ROWS + 70, 40), dtype)])
    expected = by_walking(ensemble, X)
    rows, columns = [0, 63, 64, ROWS - 1, ROWS, ROWS + 69], [44, 0, 17, 43, 4, 1]
    X[rows, columns] = value
    expected[rows] = NAN
    np.testing.assert_array_equal(ensemble.predict(X, ALONE), expected)


def test_scores_begin_with_the_base_and_keep_the_order_of_the_trees():
    rng = np.random.default_rng(0)
    ensemble = grow(60, "any", rng) + grow(60, "any", rng) + grow(2, "any", rng)
    X = table(30, np.float32, rng)
    base = rng.normal(scale=1e3, size=30)
    expected = base.copy()
    for tree in range(3):
        expected += by_walking(ensemble.part(tree, tree + 1), X)
    assert ensemble.predict(X, ALONE, base).tolist() == expected.tolist()


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
    monkeypatch.setattr(Scorer, "__init__", None)
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


def test_memory_begins_with_a_cache_line():
    for dtype in (np.float32, np.float64, np.uint32):
        cells = aligned((3, 64), dtype)
        assert (cells.shape, cells.dtype) == ((3, 64), dtype)
        assert cells.ctypes.data % 64 == 0
        assert cells.flags.c_contiguous and cells.flags.writeable


# --- words of 512 bits --------------------------------------------------------------


def bits_of(word) -> list[int]:
    """One bit for each of 512 rows."""
    return [
        int(word[place(row) % VECTOR_LANES]) >> (place(row) // VECTOR_LANES) & 1
        for row in range(ROWS)
    ]


def random_words(n, rng) -> np.ndarray:
    return rng.integers(2**32, size=n * VECTOR_LANES, dtype=np.uint32)


def test_every_row_has_its_own_place():
    assert sorted(place(row) for row in range(ROWS)) == list(range(ROWS))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 2, 63, 64, 65, 500, ROWS])
def test_columns_are_turned_with_each_row_at_its_place(n_rows, dtype):
    rows = np.random.default_rng(0).normal(size=(n_rows, 7)).astype(dtype)
    feature = np.array([0, 3, 6])
    columns = np.full((3, ROWS), NAN, dtype=dtype)
    turned(rows, feature, columns)
    for row in range(n_rows):
        assert columns[:, place(row)].tolist() == rows[row, feature].tolist()


def column_of(by_row) -> np.ndarray:
    column = np.empty_like(by_row)
    column[[place(row) for row in range(ROWS)]] = by_row
    return column


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_parts", [1, 2, 5, 8])
def test_a_row_answers_whether_it_goes_right(n_parts, dtype):
    rng = np.random.default_rng(n_parts)
    finite = [x for x in VALUES if np.isfinite(x)]
    by_row = rng.choice([*finite, NAN, NAN], ROWS).astype(dtype)
    column = column_of(by_row)
    missing, result, some = 2 * VECTOR_LANES, 3 * VECTOR_LANES, slice(64 * n_parts)
    for threshold in np.array(VALUES, dtype=dtype) + 0.0:
        for of_nan in (0, 1):
            words = random_words(5, rng)
            words[:VECTOR_LANES], words[VECTOR_LANES:missing] = 0, 2**32 - 1
            before = words.copy()
            missed(column, n_parts, words, missing)
            side = of_nan * VECTOR_LANES
            answers(column, n_parts, threshold, words, missing, side, result)
            expected = [of_nan if x != x else int(x > threshold) for x in by_row]
            found = words[result : result + VECTOR_LANES]
            assert bits_of(found)[some] == expected[some]
            others = np.r_[:missing, result + VECTOR_LANES : len(words)]
            assert words[others].tolist() == before[others].tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_parts", [1, 4, 8])
def test_missing_values_are_found(n_parts, dtype):
    rng = np.random.default_rng(n_parts)
    by_row = rng.choice([*VALUES, NAN, -np.float64(NAN)], ROWS).astype(dtype)
    words = random_words(3, rng)
    before = words.copy()
    missed(column_of(by_row), n_parts, words, VECTOR_LANES)
    found, some = bits_of(words[VECTOR_LANES : 2 * VECTOR_LANES]), slice(64 * n_parts)
    assert found[some] == np.isnan(by_row).tolist()[some]
    others = np.r_[:VECTOR_LANES, 2 * VECTOR_LANES : 3 * VECTOR_LANES]
    assert words[others].tolist() == before[others].tolist()


def test_bits_are_chosen_one_by_one():
    words = random_words(5, np.random.default_rng(0))
    before = words.copy()
    chosen(words, 3 * VECTOR_LANES, VECTOR_LANES, 0, 2 * VECTOR_LANES)
    one, zero, _, answer, _ = (
        bits_of(word) for word in before.reshape(5, VECTOR_LANES)
    )
    expected = [o if a else z for a, z, o in zip(answer, zero, one, strict=True)]
    assert bits_of(words[2 * VECTOR_LANES : 3 * VECTOR_LANES]) == expected
    before[2 * VECTOR_LANES : 3 * VECTOR_LANES] = words[
        2 * VECTOR_LANES : 3 * VECTOR_LANES
    ]
    assert words.tolist() == before.tolist()


def test_bits_are_joined_to_one_number_for_each_row():
    rng = np.random.default_rng(0)
    words = random_words(20, rng)
    bits = (VECTOR_LANES * rng.permutation(20)[:8]).astype(np.uint32)
    numbers = np.zeros(ROWS // 8, dtype=np.int64)
    joined(words, bits, numbers)
    planes = [bits_of(words[first : first + VECTOR_LANES]) for first in bits]
    for row, number in enumerate(numbers.view(np.uint8).tolist()):
        assert number == sum(plane[row] << k for k, plane in enumerate(planes))


@pytest.mark.parametrize("n_rows", [1, 8, 100, ROWS])
@pytest.mark.parametrize("n_pieces", [1, 4, 7])
def test_values_are_added_one_after_another(n_pieces, n_rows):
    value = [[1e16, 0.1], [1.0, -1e16], [-1e16, 0.3], [1.0, 3.0]]
    value = np.array(value + value)[:n_pieces]
    leaf = np.random.default_rng(0).integers(2, size=(9, ROWS), dtype=np.uint8)
    scores = np.linspace(-1, 1, ROWS)
    expected = scores.tolist()
    added(value, leaf.view(np.int64), n_rows, scores)
    for row in range(n_rows):
        for piece in range(n_pieces):
            expected[row] += value[piece, leaf[piece, row]]
    assert scores[:n_rows].tolist() == expected[:n_rows]
    whole = -(-n_rows // 8) * 8
    assert scores[whole:].tolist() == expected[whole:]
