r"""Interventional Shapley values, by tables.

The values of a leaf depend only on B, the set of features on its path whose conditions
x satisfies.  There are 2^d such sets, and 1 to 8 features on most paths, so phi is
tabulated for each leaf and B; what remains for a row is to find B and to look up.

Let q(T) be the share of background rows that satisfy the conditions of all features in
T, F the set of all d, and r(a, c) = (a - 1)! c! / (a + c)!, the weight of a coalition
of a - 1 players where c others stay out.  With the sums over subsets

    M(B)  =  sum over S in B, S not empty, of  r(|S|, d - |S|)          q(F - S),
    N(B)  =  sum over S in B, S not F, of      r(|S| + 1, d - 1 - |S|)  q(F - S),

the values of a leaf of value w are

    phi_j(B)  =   w (M(B) - M(B - j) - N(B - j))     if j is in B,
    phi_j(B)  =  -w N(B)                             if it is not.

q, M and N are sums over supersets or subsets, which take d 2^d additions.

Where d is large, the table would be; the sum over distinct background rows is
computed instead.  x and z, which satisfy B and C, lead to the leaf for some coalition
if B and C together are F; then each of the a features only in B is given w r(a, c), and
each of the c features only in C is given -w r(c, a).
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import int64, kernel, subkernel, uint64
from sklearn_ltr._trees.shapley.paths import LANES, TreePaths, find_left_rows

FloatArray = NDArray[np.float64]
Masks = NDArray[np.uint64]  # of features: bit s stands for the feature of slot s

MOST_SLOTS = 64
MOST_TABLE_SLOTS = 9  # a table of 512 sets and 9 features takes 36 KiB
# r(a, c) = 1 / (a comb(a + c, a)), 0 for a = 0
COALITION_WEIGHT = np.array(
    [
        [1 / (a * comb(a + c, a)) if a > 0 else 0.0 for c in range(MOST_SLOTS + 1)]
        for a in range(MOST_SLOTS + 1)
    ]
)


class LeafTables(NamedTuple):
    """What rows look up, for each leaf."""

    n_slots: NDArray[np.int64]  # (n_leaves,): d
    first_slot: NDArray[np.int64]  # (n_leaves + 1,): where its features begin below
    column: NDArray[np.int64]  # the features on the path
    value: FloatArray  # (n_leaves,): w
    first_phi: NDArray[np.int64]  # (n_leaves + 1,): where its table begins below
    phi: FloatArray  # of each B its d values; B is read as a binary number
    # (n_leaves + 1,): without a table, where its distinct background rows begin below
    first_background: NDArray[np.int64]
    satisfied: Masks  # C of each
    share: FloatArray  # the fraction of the background rows that are so
    coalition_weight: FloatArray


def tabulate(
    paths: TreePaths, columns: FloatArray, n_rows: int, masks: Masks
) -> LeafTables:
    """Return the tables of all leaves for background rows.

    Parameters
    ----------
    paths : TreePaths
        With at most MOST_SLOTS features on a path.
    columns : ndarray of shape (n_blocks, n_tested, LANES), float64
        The background, padded after `n_rows` rows.
    n_rows : int
    masks : ndarray of shape (n_nodes, LANES), uint64
        Scratch memory, for the nodes of one tree.
    """
    leaves = np.flatnonzero(paths.column < 0)
    n_slots = paths.n_slots[leaves]
    satisfied = np.empty((len(leaves), len(columns) * LANES), dtype=np.uint64)
    find_masks(paths, columns, masks, satisfied)
    has_table = n_slots <= MOST_TABLE_SLOTS
    distinct = [
        (np.empty(0, dtype=np.uint64), np.empty(0))
        if tabulated
        else np.unique(rows, return_counts=True)
        for tabulated, rows in zip(has_table, satisfied[:, :n_rows], strict=True)
    ]
    tables = LeafTables(
        n_slots=n_slots,
        first_slot=offsets_of(n_slots),
        column=np.empty(n_slots.sum(), dtype=np.int64),
        value=paths.value[leaves],
        first_phi=offsets_of(np.where(has_table, n_slots << n_slots, 0)),
        phi=np.empty(np.sum(np.where(has_table, n_slots << n_slots, 0))),
        first_background=offsets_of(np.array([len(rows) for rows, _ in distinct])),
        satisfied=np.concatenate([rows for rows, _ in distinct]),
        share=np.concatenate([counts for _, counts in distinct]) / n_rows,
        coalition_weight=COALITION_WEIGHT,
    )
    list_features(paths, tables)
    most = 1 << MOST_TABLE_SLOTS
    fill_tables(tables, satisfied[:, :n_rows].copy(), np.empty((3, most)))
    return tables


def offsets_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


@subkernel
def all_slots(n_slots: int) -> int:
    """Return F, the set of n_slots <= 64 features."""
    return ~uint64(0) >> uint64(64 - n_slots) if n_slots > 0 else uint64(0)


@subkernel
def satisfied_masks(
    paths: TreePaths, tree: int, columns: FloatArray, masks: Masks
) -> None:
    """Write the features whose conditions on the path to a node are satisfied.

    Bits of slots that the path does not have are 1.
    """
    root, stop = paths.first_node[tree], paths.first_node[tree + 1]
    goes_left = np.empty(LANES)
    for lane in range(LANES):
        masks[0, lane] = ~uint64(0)
    for node in range(root, stop):
        if paths.column[node] < 0:
            continue
        find_left_rows(paths, node, columns, goes_left)
        own = masks[node - root]
        left, right = paths.left[node], paths.right[node]
        bit = uint64(1) << uint64(paths.slot[left])
        below, other = masks[left - root], masks[right - root]
        for lane in range(LANES):
            is_left = goes_left[lane] == 1.0
            below[lane] = own[lane] & ~(uint64(0) if is_left else bit)
            other[lane] = own[lane] & ~(bit if is_left else uint64(0))


@kernel
def find_masks(
    paths: TreePaths, columns: FloatArray, masks: Masks, satisfied: Masks
) -> None:
    """Write B of each leaf (row of `satisfied`) and row (column)."""
    for block in range(len(columns)):
        leaf = 0
        for tree in range(len(paths.first_node) - 1):
            satisfied_masks(paths, tree, columns[block], masks)
            root = paths.first_node[tree]
            for node in range(root, paths.first_node[tree + 1]):
                if paths.column[node] >= 0:
                    continue
                of_path = all_slots(paths.n_slots[node])
                for lane in range(LANES):
                    mask = masks[node - root, lane] & of_path
                    satisfied[leaf, LANES * block + lane] = mask
                leaf += 1


@kernel
def list_features(paths: TreePaths, tables: LeafTables) -> None:
    """Write the features on the path to each leaf, by slot."""
    leaf = 0
    for node in range(len(paths.column)):
        if paths.column[node] >= 0:
            continue
        edge = node
        while paths.parent[edge] >= 0:
            column = paths.column[paths.parent[edge]]
            tables.column[tables.first_slot[leaf] + paths.slot[edge]] = column
            edge = paths.parent[edge]
        leaf += 1


@kernel
def fill_tables(tables: LeafTables, satisfied: Masks, sums: FloatArray) -> None:
    """Fill the tables of phi; `sums` is scratch memory for q, M and N."""
    weight = tables.coalition_weight
    q, m, n = sums[0], sums[1], sums[2]
    n_players = np.zeros(len(q), dtype=np.int64)
    for players in range(1, len(q)):
        n_players[players] = n_players[players >> 1] + (players & 1)
    for leaf in range(len(tables.n_slots)):
        d = tables.n_slots[leaf]
        if tables.first_phi[leaf] == tables.first_phi[leaf + 1]:
            continue
        everyone = (1 << d) - 1
        q[: everyone + 1] = 0.0
        for row in range(satisfied.shape[1]):
            q[int64(satisfied[leaf, row])] += 1.0 / satisfied.shape[1]
        for slot in range(d):
            for players in range(everyone + 1):
                if players >> slot & 1 == 0:
                    q[players] += q[players | 1 << slot]
        for players in range(everyone + 1):
            s = n_players[players]
            others = q[everyone ^ players]
            m[players] = weight[s, d - s] * others
            n[players] = weight[s + 1, d - 1 - s] * others if s < d else 0.0
        for slot in range(d):
            for players in range(everyone + 1):
                if players >> slot & 1 == 1:
                    m[players] += m[players ^ 1 << slot]
                    n[players] += n[players ^ 1 << slot]
        w, first = tables.value[leaf], tables.first_phi[leaf]
        for players in range(everyone + 1):
            for slot in range(d):
                phi = -n[players]
                if players >> slot & 1 == 1:
                    others = players ^ 1 << slot
                    phi = m[players] - m[others] - n[others]
                tables.phi[first + players * d + slot] = w * phi


@kernel
def add_interventional(
    paths: TreePaths,
    tables: LeafTables,
    columns: FloatArray,
    masks: Masks,
    values: FloatArray,
) -> None:
    """Add the Shapley values of all trees.

    Parameters
    ----------
    paths : TreePaths
    tables : LeafTables
    columns : ndarray of shape (n_blocks, n_tested, LANES), float64
        The tested features of blocks of rows.
    masks : ndarray of shape (n_nodes, LANES), uint64
        Scratch memory, for the nodes of one tree.
    values : ndarray of shape (n_blocks, n_tested, LANES), float64
        Changed in place.
    """
    for block in range(len(columns)):
        leaf = int64(0)
        for tree in range(len(paths.first_node) - 1):
            satisfied_masks(paths, tree, columns[block], masks)
            root = paths.first_node[tree]
            for node in range(root, paths.first_node[tree + 1]):
                if paths.column[node] < 0:
                    if tables.first_phi[leaf] < tables.first_phi[leaf + 1]:
                        look_up(tables, leaf, masks[node - root], values[block])
                    else:
                        add_pairs(tables, leaf, masks[node - root], values[block])
                    leaf += 1


@subkernel
def look_up(tables: LeafTables, leaf: int, masks: Masks, values: FloatArray) -> None:
    """Add the values of a leaf, from its table."""
    d, everyone = tables.n_slots[leaf], all_slots(tables.n_slots[leaf])
    first = tables.first_phi[leaf]
    phi = tables.phi[first : tables.first_phi[leaf + 1]]
    column = tables.column[tables.first_slot[leaf] : tables.first_slot[leaf + 1]]
    for lane in range(LANES):
        own = int64(masks[lane] & everyone) * d
        for slot in range(d):
            values[column[slot], lane] += phi[own + slot]


@subkernel
def add_pairs(tables: LeafTables, leaf: int, masks: Masks, values: FloatArray) -> None:
    """Add the values of a leaf, from the pairs of a row and a background row."""
    d, everyone = tables.n_slots[leaf], all_slots(tables.n_slots[leaf])
    column = tables.column[tables.first_slot[leaf] : tables.first_slot[leaf + 1]]
    for lane in range(LANES):
        b = masks[lane] & everyone
        for row in range(
            tables.first_background[leaf], tables.first_background[leaf + 1]
        ):
            c = tables.satisfied[row]
            if b | c != everyone:
                continue
            n_own = n_other = 0
            for slot in range(d):
                n_own += int64(~c >> uint64(slot) & uint64(1))
                n_other += int64(~b >> uint64(slot) & uint64(1))
            share = tables.share[row] * tables.value[leaf]
            gain = share * tables.coalition_weight[n_own, n_other]
            loss = share * tables.coalition_weight[n_other, n_own]
            for slot in range(d):
                if ~c >> uint64(slot) & uint64(1) == 1:
                    values[column[slot], lane] += gain
                elif ~b >> uint64(slot) & uint64(1) == 1:
                    values[column[slot], lane] -= loss
