"""Categories in XGBoost's JSON: those of columns, and those that nodes send right."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_ltr.export._document import array, checked, items, member
from sklearn_ltr.export._tree_model import Category

MOST_CODES = 2**20


def read_sets(tree: Any, n_nodes: int) -> dict[int, list[int]]:
    """Return the codes that nodes of categories send right."""
    types = array({"split_type": [0] * n_nodes} | tree, "split_type", np.int64, "tree")
    if not types.any():
        return {}
    nodes, starts, sizes, codes = (
        array(tree, key, np.int64, "tree").tolist()
        for key in (
            "categories_nodes",
            "categories_segments",
            "categories_sizes",
            "categories",
        )
    )
    if not (
        len(nodes) == len(starts) == len(sizes)
        and len(types) == n_nodes
        and nodes == np.flatnonzero(types).tolist()
        and all(
            0 <= i and 0 <= n <= len(codes) - i
            for i, n in zip(starts, sizes, strict=True)
        )
        and sum(sizes) <= len(codes)
    ):
        raise ValueError("categories_... do not divide the categories among nodes")
    if not all(0 <= code < MOST_CODES for code in codes):
        raise ValueError(f"categories holds codes that are not from 0 to {MOST_CODES}")
    return {
        node: codes[i : i + n] for node, i, n in zip(nodes, starts, sizes, strict=True)
    }


def stored_categories(model: Mapping[str, Any]) -> dict[int, list[Category]]:
    """Return the categories of a DataFrame's columns, which XGBoost >= 3.1 stores."""
    if "cats" not in model:
        return {}
    encoded = items(member(model["cats"], "enc", list, "cats"), dict, "cats.enc")
    return {
        j: stored_column(column, f"cats.enc[{j}]") for j, column in enumerate(encoded)
    }


def stored_column(column: Mapping[str, Any], where: str) -> list[Category]:
    """Return the categories of a column: numbers, or text as bytes and offsets."""
    values = member(column, "values", list, where)
    if "offsets" not in column:
        return [
            v if type(v) is int else checked(v, float, f"{where}.values[{i}]")
            for i, v in enumerate(values)
        ]
    offsets = array(column, "offsets", np.int64, where).tolist()
    codes = array(column, "values", np.int64, where)
    if ((codes < 0) | (codes >= 128)).any():
        raise ValueError(
            f"{where} holds text that is not ASCII, of which XGBoost (up to 3.2) has "
            "counted the characters in place of the bytes: train with other names"
        )
    if any(not 0 <= first <= last <= len(codes) for first, last in pairwise(offsets)):
        raise ValueError(f"{where}.offsets do not divide the text")
    text = codes.astype(np.uint8).tobytes()
    return [text[first:last].decode() for first, last in pairwise(offsets)]
