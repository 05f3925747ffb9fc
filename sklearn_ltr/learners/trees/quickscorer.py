"""QuickScorer: which leaf a row reaches, found without following it down the tree.

Number the leaves of a tree from left to right, and give a row one bit for each:

    bits = 1...1,    and for every node that sends the row right    bits &= ~L(node)

where L(node) are the bits of the leaves under the node's left child.  The leaf that
the row reaches is the lowest bit that is left: whatever lies to the left of the row's
path was struck out by the node where the path turned right, and no node on the path
strikes out the leaf itself.  The order of the nodes does not matter, and nothing
branches: a node is asked of many rows at once, sixteen of them by each instruction of
a CPU with AVX-512.

A word has 32 bits.  A tree with more leaves is cut into pieces of at most 32, in each
of which some leaves are doors to another piece.  A row that does not come through a
piece's door has no bit there from the start; nothing is added to its score, nor in a
piece that it leaves by a door.

Lucchese, Nardini, Orlando, Perego, Tonellotto, Venturini: QuickScorer: a Fast Algorithm
to Rank Documents with Additive Ensembles of Regression Trees, SIGIR 2015, section 3
(there sorted by thresholds; here tree by tree, so that sums keep their order).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import LANES, int64, kernel, registers, trailing_zeros, uint32

WORD = 32  # leaves of a piece
ALL = np.uint32(2**WORD - 1)
TILE = 640  # rows that pass through all trees together
LINE = 64  # bytes of a cache line
NOTHING = -0.0  # x + -0.0 is x, the sign of a zero included


class Trees(NamedTuple):
    """Arrays over the nodes of all trees, as in a :class:`TreeEnsemble`."""

    first_node: NDArray[np.int64]  # (n_trees + 1,): the last one's end, too
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]


class Pieces(NamedTuple):
    """Trees in pieces of at most 32 leaves, tree by tree, each from the top down."""

    place: NDArray[np.int64]  # in its tree: 1, 2, ...
    above: NDArray[np.int64]  # place of the piece above; 0: it is the tree's top
    door: NDArray[np.uint32]  # the bit of the leaf there that it hangs on
    first: NDArray[np.int64]  # its nodes are first[p] ... first[p + 1] - 1
    middle: NDArray[np.int64]  # NaN goes left before this node, and then right
    feature: NDArray[np.int32]  # of a node
    kept: NDArray[np.uint32]  # ~L(node)
    value: NDArray[np.float64]  # (n_pieces, 33), of its leaves; the last: of no leaf


class Memory(NamedTuple):
    """What one thread writes on."""

    columns: NDArray[np.floating]  # (n_features, n_padded): the rows, turned
    bits: NDArray[np.uint32]  # (1 + pieces of a tree, LANES); row 0 is 1


class QuickScorer:
    """Trees, made ready once to score many rows.

    Parameters
    ----------
    trees : Trees
        Their nodes; a child comes after its parent.
    """

    def __init__(self, trees: Trees) -> None:
        n_leaves, is_top = cut(trees)
        place, above, door, value, piece, kept = lay_out(trees, n_leaves, is_top)
        nodes = np.flatnonzero(trees.feature >= 0)
        # the nodes of piece p have the keys 2 p, if they send NaN left, and 2 p + 1
        keys = 2 * piece[nodes] + ~trees.missing_left[nodes]
        order = np.argsort(keys, kind="stable")
        nodes, keys = nodes[order], keys[order]
        starts = np.searchsorted(keys, np.arange(2 * len(place) + 1))
        self._pieces = Pieces(
            place,
            above,
            door,
            first=np.ascontiguousarray(starts[::2]),
            middle=np.ascontiguousarray(starts[1::2]),
            feature=trees.feature[nodes],
            kept=kept[nodes],
            value=value,
        )
        self._n_places = 1 + int(place.max())
        self._threshold: dict[Any, NDArray[Any]] = {
            np.dtype(np.float64): trees.threshold[nodes],
            np.dtype(np.float32): rounded_down(trees.threshold[nodes]),
        }

    def memory(self, n_rows: int, n_features: int, dtype: Any) -> Memory:
        """Return what :meth:`add_to` needs for up to `n_rows` rows at once."""
        n_padded = -(-n_rows // LANES) * LANES
        bits = aligned((self._n_places, LANES), np.uint32)
        bits[0] = 1
        return Memory(aligned((n_features, n_padded), dtype), bits)

    def add_to(
        self, scores: NDArray[np.float64], X: NDArray[np.floating], memory: Memory
    ) -> None:
        """Add the trees, one after another, to the score of each row of X."""
        memory.columns[:, : len(X)] = X.T
        threshold = self._threshold[X.dtype]
        add_pieces(memory.columns, self._pieces, threshold, memory.bits, scores)


def rounded_down(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest float32 t' <= t: x <= t' just where x <= t, x a float32."""
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest > threshold, below, nearest)


def aligned(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Return an array, not filled, that begins with a cache line."""
    n_bytes = shape[0] * shape[1] * np.dtype(dtype).itemsize
    memory = np.empty(n_bytes + LINE, dtype=np.uint8)
    start = -memory.ctypes.data % LINE
    cells: NDArray[Any] = memory[start : start + n_bytes].view(dtype)
    return cells.reshape(shape)


@kernel
def cut(trees: Trees) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return how many leaves of its piece are under a node, and whether it is the top.

    From the bottom up, the larger of two children is cut off where both together have
    too many leaves (and both are, if each fills a word): a piece that hangs on another
    has more than 16.
    """
    n_leaves = np.ones(len(trees.feature), dtype=np.int64)
    is_top = np.zeros(len(trees.feature), dtype=np.bool_)
    for tree in range(len(trees.first_node) - 1):
        root = trees.first_node[tree]
        for node in range(trees.first_node[tree + 1] - 1, root - 1, -1):
            if trees.feature[node] < 0:
                continue
            small, large = root + trees.left[node], root + trees.right[node]
            if n_leaves[small] > n_leaves[large]:
                small, large = large, small
            n_leaves[node] = n_leaves[small] + n_leaves[large]
            for child in (large, small):
                if n_leaves[node] > WORD:
                    is_top[child] = True
                    n_leaves[node] -= n_leaves[child] - 1
        is_top[root] = True
    return n_leaves, is_top


@kernel
def lay_out(
    trees: Trees, n_leaves: NDArray[np.int64], is_top: NDArray[np.bool_]
) -> tuple[NDArray[Any], ...]:
    """Give each piece a number, and from left to right each of its leaves.

    Return place, above, door and value as in :class:`Pieces`, and for each node its
    piece and ~L(node).
    """
    n_pieces = is_top.sum()
    place, above = np.zeros(n_pieces, np.int64), np.zeros(n_pieces, np.int64)
    door = np.ones(n_pieces, dtype=np.uint32)
    value = np.full((n_pieces, WORD + 1), NOTHING)
    piece = np.zeros(len(is_top), dtype=np.int64)
    leftmost = np.zeros(len(is_top), dtype=np.int64)  # leaf under a node
    kept = np.zeros(len(is_top), dtype=np.uint32)
    new = int64(0)
    for tree in range(len(trees.first_node) - 1):
        root, before = trees.first_node[tree], new - 1
        for node in range(root, trees.first_node[tree + 1]):
            if is_top[node]:
                place[new] = new - before
                if node > root:
                    above[new] = place[piece[node]]
                    door[new] = uint32(int64(1) << leftmost[node])
                piece[node], leftmost[node] = new, 0
                new += 1
            if trees.feature[node] < 0:
                value[piece[node], leftmost[node]] = trees.value[node]
                continue
            left, right = root + trees.left[node], root + trees.right[node]
            n_left = int64(1) if is_top[left] else n_leaves[left]
            struck = ((int64(1) << n_left) - 1) << leftmost[node]
            kept[node] = uint32(ALL - struck)
            piece[left] = piece[right] = piece[node]
            leftmost[left], leftmost[right] = leftmost[node], leftmost[node] + n_left
    return place, above, door, value, piece, kept


@kernel
def add_pieces(
    columns: NDArray[np.floating],
    pieces: Pieces,
    threshold: NDArray[np.floating],
    bits: NDArray[np.uint32],
    scores: NDArray[np.float64],
) -> None:
    """Add the value of its leaf in every tree to the score of each row, in tree order.

    In one function: a callee that writes on `own` would keep it out of the registers,
    which takes twice as long.

    Parameters
    ----------
    columns : ndarray of shape (n_features, n_padded), float32 or float64
        The rows, turned; `n_padded` is a multiple of `LANES`, and the last few may hold
        anything.
    pieces : Pieces
    threshold : ndarray of shape (n_nodes,), of the dtype of `columns`
        ``x <= threshold`` goes left.
    bits : ndarray of shape (1 + pieces of a tree, LANES), uint32
        Memory for the bits of each piece of a tree; row 0 is 1.
    scores : ndarray of shape (n_rows,), float64
        Changed in place.
    """
    own = registers()
    for start in range(0, len(scores), LANES):
        n_rows = min(LANES, len(scores) - start)
        for piece in range(len(pieces.place)):
            place, above = pieces.place[piece], bits[pieces.above[piece]]
            door = pieces.door[piece]
            up_to_door = uint32(2 * int64(door) - 1)
            entered = uint32(0)
            for i in range(LANES):
                own[i] = ALL if above[i] & up_to_door == door else uint32(0)
                entered = uint32(entered | own[i])
            if entered != 0:
                for node in range(pieces.first[piece], pieces.middle[piece]):
                    x = columns[pieces.feature[node], start : start + LANES]
                    t, kept = threshold[node], pieces.kept[node]
                    for i in range(LANES):
                        own[i] &= kept if x[i] > t else ALL
                for node in range(pieces.middle[piece], pieces.first[piece + 1]):
                    x = columns[pieces.feature[node], start : start + LANES]
                    t, kept = threshold[node], pieces.kept[node]
                    for i in range(LANES):
                        own[i] &= ALL if x[i] <= t else kept
            for i in range(LANES):
                bits[place, i] = own[i]
            if entered != 0:
                value = pieces.value[piece]
                for i in range(n_rows):
                    scores[start + i] += value[trailing_zeros(bits[place, i])]
