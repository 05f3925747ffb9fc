"""LightGBM's text model, read."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from sklearn_ltr.export._document import shown
from sklearn_ltr.export._estimators import from_tree_model
from sklearn_ltr.export._foreign_tree import (
    Place,
    TreeBuilder,
    check_children,
    foreign_model,
)
from sklearn_ltr.export._lightgbm_columns import Columns, read_columns
from sklearn_ltr.export._lightgbm_text import (
    Section,
    divide,
    many,
    one_integer,
    value_of,
)
from sklearn_ltr.export._source import text_of
from sklearn_ltr.export._tree_model import LARGEST_THRESHOLD, Tree, TreeModel
from sklearn_ltr.export._zero_as_missing import (
    ANYWHERE,
    BELOW_ZERO,
    ZERO,
    zero_segments,
)

# Objectives with one score for each row.  Scores are what trees add up to, before any
# function that an objective applies to them.
OBJECTIVES = frozenset(
    "lambdarank rank_xendcg regression regression_l1 huber fair poisson quantile mape "
    "gamma tweedie binary cross_entropy cross_entropy_lambda custom".split()
)
CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of decision_type
MISSING_ZERO, MISSING_NAN = 1, 2  # its next two bits
MOST_NODES = 50  # that stand for a node, on average, where 0 is taken as missing


def from_lightgbm(model: Any) -> Any:
    """Return a ranker that scores as a model trained by LightGBM.

    Parameters
    ----------
    model : lightgbm.Booster, fitted LGBMModel, str or path
        A booster; an estimator of LightGBM's; the text of a model; or a path, or text
        of one line, that names the file which holds it.

    Returns
    -------
    ranker : LambdaMARTRanker
        Fitted.  `predict` returns what LightGBM returns with ``raw_score=True``, bit
        for bit; for a random forest, the mean of its trees, up to rounding.  To
        continue it, give it to another ranker as `init`.  Categories are those of the
        pandas DataFrame that LightGBM was trained with, or codes, which here must be
        whole numbers >= 0.  Names of columns are as LightGBM stores them, with
        underscores for spaces.

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        That says where, if the text is damaged, or holds what this package has not:
        several classes, linear trees, an unknown objective, more than 255 groups of
        categories that its trees tell apart.

    Examples
    --------
    >>> import lightgbm
    >>> import numpy as np
    >>> from sklearn_ltr.export import from_lightgbm
    >>> X, y = np.array([[1.0], [2.0], [3.0]]), [0, 1, 2]
    >>> parameters = {"objective": "lambdarank", "min_data_in_leaf": 1, "verbose": -1}
    >>> data = lightgbm.Dataset(X, y, group=[3])
    >>> booster = lightgbm.train(parameters, data, num_boost_round=2)
    >>> np.array_equal(from_lightgbm(booster).predict(X), booster.predict(X))
    True
    """
    return from_tree_model(read_lightgbm(text_of(model, "LightGBM", written_by)))


def written_by(model: Any) -> str | None:
    """Return the text of a booster or an estimator, None for another object."""
    booster = getattr(model, "booster_", model)
    has_text = hasattr(booster, "model_to_string")
    return str(booster.model_to_string()) if has_text else None


def read_lightgbm(text: str) -> TreeModel:
    """Return the model that LightGBM's text describes."""
    parts = divide(text)
    check_header(parts.header)
    columns = read_columns(parts)
    trees = []
    for m, section in enumerate(parts.trees):
        try:
            trees.append(read_tree(section, columns))
        except ValueError as error:
            raise ValueError(f"Tree={m}: {error}") from None
    if "average_output" in parts.header:
        trees = [tree.scaled(1.0 / len(trees)) for tree in trees]
    return foreign_model(columns.features(), trees)


def check_header(header: Section) -> None:
    """Raise a ValueError unless each row has one score, a sum of trees."""
    for key in ("num_class", "num_tree_per_iteration"):
        if one_integer(header, key) != 1:
            raise ValueError(
                f"{key} is {shown(header[key])}: a model with several scores for each "
                "row is no ranker"
            )
    objective = header.get("objective", "custom").split(" ")[0]
    if objective not in OBJECTIVES:
        raise ValueError(
            f"objective {shown(objective)} is not known to have one score for each row"
        )


class Nodes(NamedTuple):
    """A tree as LightGBM numbers it: inner nodes, then leaves."""

    feature: list[int]  # of inner nodes
    threshold: list[float]
    decision: list[int]
    gain: list[float]
    left: list[int]  # of all nodes: -1 in a leaf
    right: list[int]
    value: list[float]  # of leaves
    n_rows: list[int]
    bitsets: list[list[int]]  # words of 32 bits


def read_nodes(section: Section, n_features: int) -> Nodes:
    """Return the arrays of a tree, each checked by itself."""
    if section.get("is_linear", "0") != "0":
        raise ValueError(
            "its leaves are linear functions, which this package has not: train with "
            "linear_tree=false"
        )
    n_leaves = one_integer(section, "num_leaves")
    value = many(section, "leaf_value", n_leaves, float)
    if n_leaves == 1:
        return Nodes([], [], [], [], [-1], [-1], value, [0], [])
    n = n_leaves - 1
    feature = many(section, "split_feature", n, int)
    if not all(0 <= j < n_features for j in feature):
        raise ValueError(f"split_feature holds numbers that are none of {n_features}")
    children = [many(section, f"{s}_child", n, int) for s in ("left", "right")]
    if not all(-n_leaves <= child < n for side in children for child in side):
        raise ValueError(f"children are not among {n} nodes and {n_leaves} leaves")
    left, right = (
        [child if child >= 0 else n + ~child for child in side] + [-1] * n_leaves
        for side in children
    )
    n_rows = many(section, "leaf_count", n_leaves, int)
    # inf: the node separates missing values from all others
    words = value_of(section, "threshold").replace("inf", repr(LARGEST_THRESHOLD))
    finite = {"threshold": words}
    return Nodes(
        feature,
        many(section | finite, "threshold", n, float),
        many(section, "decision_type", n, int),
        [max(0.0, gain) for gain in many(section, "split_gain", n, float)],
        left,
        right,
        value,
        [max(0, count) for count in n_rows],
        read_bitsets(section),
    )


def as_read(threshold: float) -> float:
    """Return a threshold for numbers of which LightGBM takes the closest to 0 for 0."""
    if -ZERO <= threshold <= ZERO:
        return ZERO if threshold >= 0 else BELOW_ZERO
    return threshold


def read_bitsets(section: Section) -> list[list[int]]:
    """Return the words of each bitset."""
    n_sets = one_integer(section, "num_cat")
    if n_sets == 0:
        return []
    bounds = many(section, "cat_boundaries", n_sets + 1, int)
    if bounds[0] != 0 or any(first > last for first, last in pairwise(bounds)):
        raise ValueError("cat_boundaries do not ascend from 0")
    words = many(section, "cat_threshold", bounds[-1], int)
    if not all(0 <= word < 2**32 for word in words):
        raise ValueError("cat_threshold holds numbers that are no words of 32 bits")
    return [words[first:last] for first, last in pairwise(bounds)]


def read_tree(section: Section, columns: Columns) -> Tree:
    """Return a tree."""
    nodes = read_nodes(section, len(columns.names))
    most = MOST_NODES * check_children(nodes.left, nodes.right)
    builder, n_inner = TreeBuilder(), len(nodes.feature)
    # nodes to be added: number, place, and the regions of features that reach it
    waiting: list[tuple[int, Place, dict[int, int]]] = [(0, None, {})]
    while waiting:
        node, place, regions = waiting.pop()
        if len(builder.numbers) > most:
            raise ValueError(
                f"more than {most} nodes would stand for its nodes that take 0 as "
                "missing: train with zero_as_missing=false"
            )
        if node >= n_inner:
            leaf = node - n_inner
            builder.leaf(place, nodes.value[leaf], nodes.n_rows[leaf])
        elif nodes.decision[node] >> 2 & 3 == MISSING_ZERO and not (
            nodes.decision[node] & CATEGORICAL
        ):
            waiting += add_zero_node(builder, nodes, node, place, regions)
        else:
            number = add_node(builder, nodes, node, place, columns)
            waiting.append((nodes.right[node], (number, False), regions))
            waiting.append((nodes.left[node], (number, True), regions))
    return builder.tree()


def add_node(
    builder: TreeBuilder, nodes: Nodes, node: int, place: Place, columns: Columns
) -> int:
    """Add a node that does not take 0 as missing; return its number."""
    j, threshold, gain = nodes.feature[node], nodes.threshold[node], nodes.gain[node]
    decision = nodes.decision[node]
    if not decision & CATEGORICAL:
        # where there were no missing values, NaN is taken as 0
        to_left = threshold >= 0.0
        if decision >> 2 & 3 == MISSING_NAN:
            to_left = bool(decision & DEFAULT_LEFT)
        return builder.split(place, j, as_read(threshold), to_left, gain)
    if not (threshold.is_integer() and 0 <= threshold < len(nodes.bitsets)):
        raise ValueError(f"node {node} has the set {threshold:g}, which is none")
    words = nodes.bitsets[int(threshold)]
    codes = [
        32 * w + bit
        for w, word in enumerate(words)
        for bit in range(32)
        if word >> bit & 1
    ]
    columns.codes.setdefault(j, set()).update(codes)
    number = builder.split(place, j, 0.0, False, gain)
    categories = {columns.category(j, code) for code in codes}
    builder.left_categories[number] = tuple(sorted(categories))
    return number


def add_zero_node(
    builder: TreeBuilder, nodes: Nodes, node: int, place: Place, regions: dict[int, int]
) -> list[tuple[int, Place, dict[int, int]]]:
    """Add nodes for one that takes 0 as missing; return what hangs below them."""
    j, gain = nodes.feature[node], nodes.gain[node]
    segments = zero_segments(
        nodes.threshold[node],
        bool(nodes.decision[node] & DEFAULT_LEFT),
        regions.get(j, ANYWHERE),
    )
    below: list[tuple[int, Place, dict[int, int]]] = []
    for i, segment in enumerate(segments):
        child = nodes.left[node] if segment.goes_left else nodes.right[node]
        reached = regions | {j: segment.regions}
        if i == len(segments) - 1:
            below.append((child, place, reached))
            break
        number = builder.split(place, j, segment.last, segment.has_zero, gain)
        below.append((child, (number, True), reached))
        place = (number, False)
    return below
