r"""The kernels of Shapley values: paths of trees, quadrature, and tables.

`shapley.py` has the definitions of v, b, p and w.

**Paths**: which edges test the same feature, and which rows follow them.
An edge leads from a node to a child and has the number of the child.  A path may test a
feature more than once, but the feature is one player: its condition is that all edges
which test it are followed.

**Path-dependent values**, by quadrature.
The factorials of a coalition's weight are an integral,

    s! (d - 1 - s)! / d!  =  integral from 0 to 1 of  t^s (1 - t)^(d - 1 - s) dt,

so that the sum over the 2^(d - 1) coalitions of a leaf's game factorises:

    phi_j  =  w  integral of  (b_j - p_j)  prod over k other than j of f_k(t)  dt,
    f_k(t) =  t b_k + (1 - t) p_k

Feature k joins before "time" t with probability t; f_k is the expectation of its factor
in v.  The product is a polynomial of degree d - 1, and Gauss-Legendre quadrature with
ceil(d / 2) points integrates it exactly.

At each point, walk down the tree, multiplying: P = prod of f_k over the path.  Then
walk up, adding: A = the sum of w P over the leaves below.  An edge of feature j adds
the integral of A (b_j - p_j) / f_j.  If an edge above it tests j, too, the last such
edge has added this integral for the same leaves, with its own b_j and p_j: it is taken
back.  A tree of L leaves and
depth D takes O(L D) steps.  As all points and weights are positive, so is P: nothing
cancels on the way down, however long the path.

**Interventional values**, by tables.
The values of a leaf depend only on B, the set of features on its path whose conditions
x satisfies.  There are 2^d such sets, and 1 to 8 features on most paths, so phi is
tabulated for each leaf and B; for a row, B is found and phi looked up.

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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import int64, kernel, subkernel, uint64
from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.trees.evaluate.tree_walk import TreeNodes
from sklearn_ltr._core.typing import FloatArray, IntArray

Masks = NDArray[np.uint64]  # of features: bit s stands for the feature of slot s

# Rows that go through a tree together.  With 64, loops over them are long enough, and
# the numbers that a tree of 31 leaves needs for each of them stay in the cache.
LANES = 64

# The state of an edge for a row.  Consider the edges above it that test its feature.
# If one of them is not followed, the state is DECIDED.  If all are, the state tells
# whether this edge is followed.
NOT_FOLLOWED, FOLLOWED, DECIDED = 0.0, 1.0, 2.0

NEWTON_STEPS = 5  # from an error of 0.01 at most; each squares it

MOST_SLOTS = 64
MOST_TABLE_SLOTS = 9  # a table of 512 sets and 9 features takes 36 KiB
# r(a, c) = 1 / (a comb(a + c, a)), 0 for a = 0
COALITION_WEIGHT = np.array(
    [
        [1 / (a * comb(a + c, a)) if a > 0 else 0.0 for c in range(MOST_SLOTS + 1)]
        for a in range(MOST_SLOTS + 1)
    ]
)


# --- paths ---------------------------------------------------------------------------


class TreePaths(NamedTuple):
    """Arrays over the nodes of all trees; children come after their parents.

    All nodes are counted from the first tree's root.
    """

    first_node: IntArray  # (n_trees + 1,): the root of each tree, and n_nodes
    column: IntArray  # place of a node's feature in `tested`; -1 in a leaf
    threshold: FloatArray
    missing_left: NDArray[np.bool_]
    left: IntArray
    right: IntArray
    value: FloatArray
    cover: FloatArray  # training rows
    set_number: IntArray  # row of `category_set`; -1: the threshold decides
    category_set: NDArray[np.uint8]  # (n_sets, 32)
    # of the edge that ends in a node (-1 in a root):
    parent: IntArray
    same_feature: IntArray  # the last edge above that tests its feature; or -1
    slot: IntArray  # place of its feature among the features of the path
    n_slots: IntArray  # distinct features on the path to a node
    tested: IntArray  # (n_tested,): the features that nodes test, ascending


def find_paths(nodes: TreeNodes, n_rows: IntArray) -> TreePaths:
    """Return the paths of trees, of which `n_rows` are the training rows of leaves."""
    n_nodes = len(nodes.feature)
    root = np.repeat(nodes.first_node[:-1], np.diff(nodes.first_node))
    is_inner = nodes.feature >= 0
    tested = np.unique(nodes.feature[is_inner]).astype(np.int64)
    set_number = np.full(n_nodes, -1)
    set_number[nodes.category_node] = np.arange(len(nodes.category_node))
    paths = TreePaths(
        first_node=nodes.first_node,
        column=np.where(is_inner, np.searchsorted(tested, nodes.feature), -1),
        threshold=nodes.threshold,
        missing_left=nodes.missing_left,
        left=np.where(is_inner, root + nodes.left, -1),
        right=np.where(is_inner, root + nodes.right, -1),
        value=nodes.value,
        cover=np.where(is_inner, 0.0, n_rows),
        set_number=set_number,
        category_set=nodes.category_set,
        parent=np.full(n_nodes, -1),
        same_feature=np.full(n_nodes, -1),
        slot=np.full(n_nodes, -1),
        n_slots=np.zeros(n_nodes, dtype=np.int64),
        tested=tested,
    )
    follow_edges(paths)
    return paths


@kernel
def follow_edges(paths: TreePaths) -> None:
    """Fill the arrays of edges, from the roots down, and the covers of inner nodes."""
    for node in range(len(paths.column)):
        column = paths.column[node]
        if column < 0:
            continue
        same, edge = int64(-1), int64(node)
        while same < 0 and paths.parent[edge] >= 0:
            if paths.column[paths.parent[edge]] == column:
                same = edge
            edge = paths.parent[edge]
        n_slots = paths.n_slots[node]
        for child in (paths.left[node], paths.right[node]):
            paths.parent[child] = node
            paths.same_feature[child] = same
            paths.slot[child] = n_slots if same < 0 else paths.slot[same]
            paths.n_slots[child] = n_slots + 1 if same < 0 else n_slots
    for node in range(len(paths.column) - 1, -1, -1):
        if paths.parent[node] >= 0:
            paths.cover[paths.parent[node]] += paths.cover[node]


@subkernel
def find_left_rows(
    paths: TreePaths, node: int, columns: FloatArray, goes_left: NDArray[Any]
) -> None:
    """Write whether each of LANES rows goes left at a node, 1.0 or 0.0."""
    # `columns` has the tested features of these rows, (n_tested, LANES).
    x = columns[paths.column[node]]
    if paths.set_number[node] >= 0:
        members = paths.category_set[paths.set_number[node]]
        for lane in range(LANES):
            b = int64(MISSING_BIN) if np.isnan(x[lane]) else int64(x[lane])
            goes_left[lane] = members[b >> 3] >> (b & 7) & 1
        return
    threshold = paths.threshold[node]
    if paths.missing_left[node]:
        for lane in range(LANES):
            goes_left[lane] = 0.0 if x[lane] > threshold else 1.0
    else:
        for lane in range(LANES):
            goes_left[lane] = 1.0 if x[lane] <= threshold else 0.0


# --- path-dependent values -----------------------------------------------------------


class EdgeWeights(NamedTuple):
    """The factors and shares of edges, at each quadrature point and in each state."""

    n_points: IntArray  # (n_trees,)
    first: IntArray  # (n_nodes,): where the points of an edge begin below
    # (n, 3): f_k, divided by f_k of the last edge above that tests feature k
    factor: FloatArray
    # (n, 2): (b_k - p_k) / f_k, less the same of that edge above, times the quadrature
    # weight; in the state DECIDED it is 0
    share: FloatArray


class PathDependentBuffers(NamedTuple):
    """Scratch memory of one thread, for the nodes of one tree."""

    state: FloatArray  # (n_nodes, LANES)
    # (n_nodes, n_points, LANES): P on the way down, A on the way up
    product: FloatArray


def weigh_edges(paths: TreePaths) -> EdgeWeights:
    """Compute the weights of all edges; covers must be above 0."""
    sizes = np.diff(paths.first_node)
    deepest = np.maximum.reduceat(paths.n_slots, paths.first_node[:-1])
    n_points = np.maximum(1, (deepest + 1) // 2)
    points_of_node = np.repeat(n_points, sizes)
    first = np.cumsum(points_of_node) - points_of_node
    edge = np.repeat(np.arange(len(paths.column)), points_of_node)
    most = n_points.max()
    rules = np.zeros((2, 1 + most, most))  # points and weights on (0, 1), by number
    for n in range(1, 1 + most):
        points, weights = gauss_legendre(n)
        rules[0, n, :n], rules[1, n, :n] = (1 + points) / 2, weights / 2
    t, weight = rules[:, points_of_node[edge], np.arange(len(edge)) - first[edge]]
    kept = np.ones(len(paths.column))
    multiply_fractions(paths, kept)
    same = paths.same_feature[edge]
    p, p_above = kept[edge], np.where(same >= 0, kept[same], 1.0)
    f, f_above = t + (1 - t) * p, t + (1 - t) * p_above  # of b = 1
    h_above = (1 - p_above) / f_above
    factor = [(1 - t) * p / f_above, f / f_above, p / p_above]
    share = [-1 / (1 - t) - h_above, (1 - p) / f - h_above]
    return EdgeWeights(
        n_points,
        first,
        np.stack(factor, axis=1),
        weight[:, np.newaxis] * np.stack(share, axis=1),
    )


def gauss_legendre(n: int) -> tuple[FloatArray, FloatArray]:
    """Return the roots of the Legendre polynomial P_n on (-1, 1), and their weights."""
    # In plain arithmetic, which is the same on every CPU: numpy's `leggauss` has roots
    # from LAPACK.  The last digits of a cosine may differ, and are rounded away.
    x = np.round(-np.cos(np.pi * (np.arange(n) + 0.75) / (n + 0.5)), 8)
    for _ in range(NEWTON_STEPS):
        p_before, p = np.zeros(n), np.ones(n)
        for k in range(1, n + 1):
            p_before, p = p, ((2 * k - 1) * x * p - (k - 1) * p_before) / k
        slope = n * (p_before - x * p) / (1 - x * x)
        x = x - p / slope
    return x, 2 / ((1 - x * x) * slope * slope)


@kernel
def multiply_fractions(paths: TreePaths, kept: FloatArray) -> None:
    """Multiply the p_k of edges: fractions of the rows that follow them."""
    for node in range(len(kept)):
        parent, same = paths.parent[node], paths.same_feature[node]
        if parent >= 0:
            kept[node] = paths.cover[node] / paths.cover[parent]
            if same >= 0:
                kept[node] *= kept[same]


@kernel
def add_path_dependent(
    paths: TreePaths,
    weights: EdgeWeights,
    columns: FloatArray,
    buffers: PathDependentBuffers,
    values: FloatArray,
) -> None:
    """Add the values of all trees for blocks of rows, (n_blocks, n_tested, LANES)."""
    for block in range(len(columns)):
        for tree in range(len(paths.first_node) - 1):
            multiply_down(paths, weights, tree, columns[block], buffers)
            add_up(paths, weights, tree, buffers, values[block])


@subkernel
def multiply_down(
    paths: TreePaths,
    weights: EdgeWeights,
    tree: int,
    columns: FloatArray,
    buffers: PathDependentBuffers,
) -> None:
    """Compute the states of the edges of a tree and P of its nodes, in each row."""
    root, stop = paths.first_node[tree], paths.first_node[tree + 1]
    n_points, product = weights.n_points[tree], buffers.product
    for point in range(n_points):
        for lane in range(LANES):
            product[0, point, lane] = 1.0
    for node in range(root, stop):
        if paths.column[node] < 0:
            continue
        left, right = paths.left[node], paths.right[node]
        state, other = buffers.state[left - root], buffers.state[right - root]
        find_left_rows(paths, node, columns, state)
        for lane in range(LANES):
            other[lane] = 1.0 - state[lane]
        if paths.same_feature[left] >= 0:
            above = buffers.state[paths.same_feature[left] - root]
            for lane in range(LANES):
                is_decided = above[lane] != FOLLOWED
                state[lane] = DECIDED if is_decided else state[lane]
                other[lane] = DECIDED if is_decided else other[lane]
        for child in (left, right):
            first = weights.first[child]
            factor = weights.factor[first : first + n_points]
            multiply_edge(
                factor,
                buffers.state[child - root],
                product[node - root],
                product[child - root],
            )


@subkernel
def multiply_edge(
    factor: FloatArray, state: FloatArray, product: FloatArray, result: FloatArray
) -> None:
    """Compute P at the end of an edge from P at its beginning."""
    for point in range(len(factor)):
        f0, f1, f2 = factor[point, 0], factor[point, 1], factor[point, 2]
        for lane in range(LANES):
            s = state[lane]
            f = f1 if s == FOLLOWED else (f0 if s == NOT_FOLLOWED else f2)
            result[point, lane] = product[point, lane] * f


@subkernel
def add_up(
    paths: TreePaths,
    weights: EdgeWeights,
    tree: int,
    buffers: PathDependentBuffers,
    values: FloatArray,
) -> None:
    """Compute A of the nodes of a tree, and add the integrals of its edges."""
    root, stop = paths.first_node[tree], paths.first_node[tree + 1]
    n_points = weights.n_points[tree]
    for node in range(stop - 1, root - 1, -1):
        own = buffers.product[node - root]
        if paths.column[node] < 0:
            for point in range(n_points):
                for lane in range(LANES):
                    own[point, lane] *= paths.value[node]
            continue
        for child in (paths.left[node], paths.right[node]):
            first = weights.first[child]
            add_edge(
                weights.share[first : first + n_points],
                buffers.state[child - root],
                buffers.product[child - root],
                values[paths.column[node]],
            )
        left = buffers.product[paths.left[node] - root]
        right = buffers.product[paths.right[node] - root]
        for point in range(n_points):
            for lane in range(LANES):
                own[point, lane] = left[point, lane] + right[point, lane]


@subkernel
def add_edge(
    share: FloatArray, state: FloatArray, below: FloatArray, values: FloatArray
) -> None:
    """Add the integral over A at the end of an edge to the values of its feature."""
    for point in range(len(share)):
        h0, h1 = share[point, 0], share[point, 1]
        for lane in range(LANES):
            s = state[lane]
            h = h1 if s == FOLLOWED else (h0 if s == NOT_FOLLOWED else 0.0)
            values[lane] += below[point, lane] * h


# --- interventional values -----------------------------------------------------------


class LeafTables(NamedTuple):
    """For each leaf a table of phi, or its distinct background rows."""

    n_slots: IntArray  # (n_leaves,): d
    first_slot: IntArray  # (n_leaves + 1,): where its features begin below
    column: IntArray  # the features on the path
    value: FloatArray  # (n_leaves,): w
    first_phi: IntArray  # (n_leaves + 1,): where its table begins below
    phi: FloatArray  # of each B its d values; B is read as a binary number
    # (n_leaves + 1,): without a table, where its distinct background rows begin below
    first_background: IntArray
    satisfied: Masks  # C of each
    share: FloatArray  # the fraction of the background rows that have this C
    coalition_weight: FloatArray


def tabulate(
    paths: TreePaths, columns: FloatArray, n_rows: int, masks: Masks
) -> LeafTables:
    """Return the tables of all leaves for the `n_rows` rows of a background."""
    # `columns` (n_blocks, n_tested, LANES) is padded after these rows; `masks`
    # (n_nodes, LANES) is scratch memory, for the nodes of one tree.  There are at most
    # MOST_SLOTS features on a path.
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


def offsets_of(sizes: IntArray) -> IntArray:
    """Return where parts of these sizes begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


@subkernel
def all_slots(n_slots: int) -> int:
    """Return F, the set of n_slots <= 64 features."""
    return ~uint64(0) >> uint64(64 - n_slots) if n_slots > 0 else uint64(0)


@subkernel
def satisfied_masks(
    paths: TreePaths, tree: int, columns: FloatArray, masks: Masks
) -> None:
    """Write the features whose conditions on the path to a node are satisfied."""
    # Bits of slots that the path does not have are 1.
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
                path_slots = all_slots(paths.n_slots[node])
                for lane in range(LANES):
                    mask = masks[node - root, lane] & path_slots
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
    """Add the values of all trees for blocks of rows, (n_blocks, n_tested, LANES)."""
    # `masks` (n_nodes, LANES) is scratch memory, for the nodes of one tree.
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
