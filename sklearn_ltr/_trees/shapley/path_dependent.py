r"""Path-dependent Shapley values, by quadrature.

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
the integral of A (b_j - p_j) / f_j, and takes back what the last edge above it that
tests j, with its b_j and p_j, has added for the same leaves.  A tree of L leaves and
depth D takes O(L D) steps.  As all points and weights are positive, so is P: nothing
cancels on the way down, however long the path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import kernel, subkernel
from sklearn_ltr._trees.shapley.paths import LANES, TreePaths, find_left_rows

FloatArray = NDArray[np.float64]

# The state of an edge in a row: it is not followed, although all edges above it that
# test its feature are; it is followed, and so are those; one of those is not followed.
NOT_FOLLOWED, FOLLOWED, DECIDED = 0.0, 1.0, 2.0


class EdgeWeights(NamedTuple):
    """What edges multiply and add, at each point and in each state."""

    n_points: NDArray[np.int64]  # (n_trees,)
    first: NDArray[np.int64]  # (n_nodes,): where the points of an edge begin below
    factor: FloatArray  # (n, 3): f_k / f_k of the last edge above of feature k
    # (n, 2): (b_k - p_k) / f_k less the same of that edge, times the quadrature weight;
    # 0 where it is decided
    share: FloatArray


class PathDependentBuffers(NamedTuple):
    """Scratch memory of one thread, for the nodes of one tree."""

    state: FloatArray  # (n_nodes, LANES)
    product: (
        FloatArray  # (n_nodes, n_points, LANES): P on the way down, A on the way up
    )


def weigh_edges(paths: TreePaths) -> EdgeWeights:
    """Compute the weights of all edges; covers must be above 0."""
    sizes = np.diff(paths.first_node)
    deepest = np.maximum.reduceat(paths.n_slots, paths.first_node[:-1])
    n_points = np.maximum(1, (deepest + 1) // 2)
    points_of_node = np.repeat(n_points, sizes)
    first = np.cumsum(points_of_node) - points_of_node
    edge = np.repeat(np.arange(len(paths.column)), points_of_node)
    t, weight = quadrature(n_points.max())[
        :, points_of_node[edge], np.arange(len(edge)) - first[edge]
    ]
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


def quadrature(most_points: int) -> FloatArray:
    """Return [points, weights] on (0, 1) of each rule: (2, 1 + most, most)."""
    rules = np.zeros((2, 1 + most_points, most_points))
    for n in range(1, 1 + most_points):
        points, weights = np.polynomial.legendre.leggauss(n)
        rules[0, n, :n], rules[1, n, :n] = (1 + points) / 2, weights / 2
    return rules


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
    """Add the Shapley values of all trees.

    Parameters
    ----------
    paths : TreePaths
    weights : EdgeWeights
    columns : ndarray of shape (n_blocks, n_tested, LANES), float64
        The tested features of blocks of rows.
    buffers : PathDependentBuffers
    values : ndarray of shape (n_blocks, n_tested, LANES), float64
        Changed in place.
    """
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
    """Compute A of the nodes of a tree, and add what its edges add."""
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
