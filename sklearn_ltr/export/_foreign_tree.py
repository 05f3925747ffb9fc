"""Trees of other libraries: numbered otherwise, and not to be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.export._tree_model import (
    Category,
    Feature,
    Tree,
    TreeModel,
    made_up_names,
)

# Where a node hangs: its parent's number, and whether it is the left child
Place = tuple[int, bool] | None


def check_children(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many nodes can be reached from node 0.

    Parameters
    ----------
    left, right : sequences of n_nodes int
        Children; -1 in a leaf.

    Raises
    ------
    ValueError
        If a child is no node, or has two parents: then this is no tree.
    """
    n_nodes, waiting, seen = len(left), [0], set()
    while waiting:
        node = waiting.pop()
        if not 0 <= node < n_nodes:
            raise ValueError(f"node {node} is a child, but there are {n_nodes} nodes")
        if node in seen:
            raise ValueError(f"node {node} is a child twice: this is no tree")
        seen.add(node)
        if (left[node] == -1) != (right[node] == -1):
            raise ValueError(f"node {node} has one child only")
        if left[node] != -1:
            waiting += [left[node], right[node]]
    return len(seen)


@dataclass
class TreeBuilder:
    """A tree that gets its nodes one by one, parents first."""

    numbers: list[tuple[int, float, bool, float, float, int]] = field(
        default_factory=list
    )
    children: list[list[int]] = field(default_factory=list)  # [right, left] of a node
    left_categories: dict[int, tuple[Category, ...]] = field(default_factory=dict)

    def split(
        self,
        place: Place,
        feature: int,
        threshold: float,
        missing_left: bool,
        gain: float,
    ) -> int:
        """Add a node that tests a feature; return its number."""
        return self._add(place, (feature, threshold, missing_left, 0.0, gain, 0))

    def leaf(self, place: Place, value: float, n_rows: int) -> None:
        """Add a leaf."""
        self._add(place, (-1, 0.0, False, value, 0.0, n_rows))

    def _add(
        self, place: Place, numbers: tuple[int, float, bool, float, float, int]
    ) -> int:
        node = len(self.numbers)
        self.numbers.append(numbers)
        self.children.append([-1, -1])
        if place is not None:
            parent, is_left = place
            self.children[parent][is_left] = node
        return node

    def tree(self) -> Tree:
        """Return the tree."""
        feature, threshold, missing_left, value, gain, n_rows = zip(
            *self.numbers, strict=True
        )
        right, left = zip(*self.children, strict=True)
        return Tree(
            feature=np.array(feature, dtype=np.int32),
            threshold=np.array(threshold, dtype=np.float64),
            missing_left=np.array(missing_left, dtype=np.bool_),
            left=np.array(left, dtype=np.int32),
            right=np.array(right, dtype=np.int32),
            value=np.array(value, dtype=np.float64),
            gain=np.array(gain, dtype=np.float64),
            n_rows=np.array(n_rows, dtype=np.int64),
            left_categories=self.left_categories,
        )


def foreign_model(
    features: Sequence[Feature],
    trees: Sequence[Tree],
    base_score: float = 0.0,
) -> TreeModel:
    """Return the trees of another library as the model of a ranker."""
    if not trees:
        raise ValueError("the model has no trees")
    parameters: dict[str, Any] = {"n_estimators": len(trees)}
    return TreeModel(
        estimator=LambdaMARTRanker.__name__,
        parameters=parameters,
        features=tuple(features),
        has_feature_names=[f.name for f in features] != made_up_names(len(features)),
        base_score=base_score,
        trees=tuple(trees),
    )
