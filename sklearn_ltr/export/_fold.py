"""A tree from its leaves to its root, without recursion: depth is no limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sklearn_ltr.export._tree_model import Tree

Part = TypeVar("Part")


def fold(
    tree: Tree, leaf: Callable[[int], Part], split: Callable[[int, Part, Part], Part]
) -> Part:
    """Return what ``split(node, left, right)`` makes of the root.

    `left` and `right` are what was made of the children, which come after their
    parents; ``leaf(node)`` begins.
    """
    parts: dict[int, Part] = {}
    is_leaf = tree.is_leaf
    for node in range(len(is_leaf) - 1, -1, -1):
        if is_leaf[node]:
            parts[node] = leaf(node)
        else:
            left, right = int(tree.left[node]), int(tree.right[node])
            parts[node] = split(node, parts.pop(left), parts.pop(right))
    return parts[0]
