r"""DART: trees are dropped while the next tree is grown.

Later trees of boosting correct the little that the sum of all earlier ones leaves, so
they serve few rows.  Here a tree is grown as if some of the earlier ones were not there
(R. Rashmi and R. Gilad-Bachrach, "DART: Dropouts meet Multiple Additive Regression
Trees", AISTATS 2015, algorithm 1):

1. With probability `skip_drop` no tree is dropped.  Else each earlier tree is dropped
   with probability `rate_drop`; of more than `max_drop`, as many at random.
2. The next tree is grown by the derivatives at the scores without the k dropped trees.
3. It makes up for the same errors as these, so all are added with less weight:

       next tree      times  eta / (k + eta)
       dropped trees  times  k / (k + eta)

That is the rule of XGBoost (``normalize_type="tree"``), and of LightGBM with
``xgboost_dart_mode=true``; with eta = 1 it is that of the paper, 1 / (k + 1) and
k / (k + 1).  Without dropped trees, the next tree is multiplied by eta, as ever.

Scores are always the sums of trees in their order, as predictions are: when the weights
of trees change, all trees are added up again, by the leaves of the rows, which are
remembered.  So a score has the bits of a prediction by the trees of this moment, and a
warm start, whose trees are kept with their weights, grows the trees of a longer fit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.parameters import (
    ReadValues,
    declared_values,
    integer,
    real,
    shown,
)
from sklearn_ltr._core.trees.growth.leaf_values import (
    LeafWorkspace,
    Leaves,
    add_values,
    leaf_nodes,
)
from sklearn_ltr._core.trees.growth.workspace import GrownTree
from sklearn_ltr._core.typing import FloatArray, IntArray

# The purpose of a stream of random numbers, beside those of `growth/sampling.py`
DROPPED_TREES = 4
TREES_PER_BLOCK = 64  # whose leaves are remembered in one array


@dataclass(frozen=True)
class Dart:
    """The parameter `dart`, read."""

    rate_drop: Annotated[float, real(0, 1, "right")] = 0.1
    skip_drop: Annotated[float, real(0, 1, "left")] = 0.5
    max_drop: Annotated[int | None, integer(1, optional=True)] = 50

    def draw(self, seed: int, tree_index: int) -> list[int]:
        """Return which of the earlier trees are dropped for a tree, ascending."""
        bits = np.random.PCG64([seed, tree_index, DROPPED_TREES])
        rng = np.random.Generator(bits)
        if rng.random() < self.skip_drop:
            return []
        drawn = rng.random(tree_index)
        dropped = np.flatnonzero(drawn < self.rate_drop)
        lowest = dropped[np.argsort(drawn[dropped])][: self.max_drop]
        return sorted(lowest.tolist())


def weights_of_trees(rate: float, n_dropped: int) -> tuple[float, float]:
    """Return the factors of the next tree and of the dropped ones, given eta."""
    if n_dropped == 0:
        return rate, 1.0
    return rate / (n_dropped + rate), n_dropped / (n_dropped + rate)


def read_dart(name: str, value: object) -> Dart | None:
    """Return the options: of None none, of a number those with this rate."""
    if value is None:
        return None
    known = declared_values(Dart)
    given = value if isinstance(value, Mapping) else {"rate_drop": value}
    if not given or not known.keys() >= given.keys():
        raise ValueError(
            f"{name} must be None, the rate of dropped trees, or a dict with some "
            f"of {', '.join(map(repr, known))}, got {shown(value)}"
        )
    options = {}
    for key, values in known.items():
        if key in given and values is not None:
            at = f"{name}[{key!r}]" if given is value else name
            options[key] = values.read_as(at, given[key])
    return Dart(**options)


DART = ReadValues(read_dart, "float in (0, 1], dict or None")


class AddedTrees:
    """The leaves of rows in all trees, by which the trees are added up again.

    Parameters
    ----------
    scores : list of ndarray of shape (n_rows,)
        Of each set of rows; F_0 as long as there is no tree.
    most_leaves : int
        Of a tree.
    team : ThreadTeam
    """

    def __init__(
        self, scores: Sequence[FloatArray], most_leaves: int, team: ThreadTeam
    ) -> None:
        self._scores, self._team, self._most_leaves = scores, team, most_leaves
        self._initial = [each.copy() for each in scores]
        self._dtype = np.min_scalar_type(most_leaves - 1)
        # of each set, (TREES_PER_BLOCK, n_rows) arrays: numbers of leaves
        self._blocks: list[list[Leaves]] = [[] for _ in scores]
        self._nodes: list[IntArray] = []  # of each tree, those of its leaves by number

    def append(self, tree: GrownTree, leaves: Sequence[LeafWorkspace]) -> None:
        """Remember the leaves of a tree, in which the rows of each set are."""
        place = len(self._nodes) % TREES_PER_BLOCK
        for blocks, own in zip(self._blocks, leaves, strict=True):
            if place == 0:
                shape = TREES_PER_BLOCK, len(own.leaves)
                blocks.append(np.empty(shape, dtype=self._dtype))
            blocks[-1][place] = own.leaves
        self._nodes.append(leaf_nodes(tree, leaves[0]).copy())

    def add_up(
        self,
        trees: Sequence[GrownTree],
        without: Collection[int] = (),
        n_sets: int | None = None,
    ) -> None:
        """Compute scores of the first sets again: F_0 plus all trees but `without`."""
        values: FloatArray = np.zeros((len(trees), self._most_leaves))
        for number, (tree, nodes) in enumerate(zip(trees, self._nodes, strict=True)):
            if number not in without:
                values[number, : len(nodes)] = tree.value[nodes]
        for number, scores in enumerate(self._scores[:n_sets]):
            scores[:] = self._initial[number]
            for k, block in enumerate(self._blocks[number]):
                own = values[k * TREES_PER_BLOCK : (k + 1) * TREES_PER_BLOCK]
                add_values(block[: len(own)], own, scores, self._team)
