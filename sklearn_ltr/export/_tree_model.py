"""A boosted-tree model as plain data, which most writers and readers use.

    score(x) = base_score + sum over trees of the value of the leaf that x falls into

A node that tests a number sends ``x <= threshold`` left, in float64.  A node that tests
a category sends the categories of its set left, and other known ones right.  Missing
values, NaN, go left if `missing_left` says so; unseen categories count as missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.trees.binning import MISSING_BIN
from sklearn_ltr._core.trees.evaluate.ensemble import (
    NODE_DTYPES,
    TreeEnsemble,
    check_trees,
)

__all__ = ["Feature", "Tree", "TreeModel"]

LARGEST_THRESHOLD = float(np.finfo(np.float64).max)
LARGEST_CATEGORY = 2**20  # of a category that is a number
Category = int | float | str
Part = TypeVar("Part")
# the code of each category of a feature, which is given by its index
Codes: TypeAlias = Callable[[int], Mapping[Category, int]]


@dataclass(frozen=True)
class Feature:
    """One column of X.

    Attributes
    ----------
    name : str
        Its name; "Column_0", "Column_1", ... where X had none.
    categories : tuple of str, or of int and float, or None
        The known categories, distinct and ascending; None for a feature of numbers.
    is_text : bool
        Whether the categories are text.
    """

    name: str
    categories: tuple[Category, ...] | None = None
    is_text: bool = False


@dataclass(frozen=True)
class Tree:
    """One regression tree, as arrays over its nodes; node 0 is the root.

    Children come after their parents.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,), int32
        Feature that a node tests; -1 in a leaf.
    threshold : ndarray of shape (n_nodes,), float64
        ``x <= threshold`` goes left.  Finite: a node that only separates missing values
        from all others has the largest float64.  0 in leaves and nodes of categories.
    missing_left : ndarray of shape (n_nodes,), bool
        Whether NaN goes left; False in a leaf.
    left, right : ndarrays of shape (n_nodes,), int32
        Children; -1 in a leaf.
    value : ndarray of shape (n_nodes,), float64
        What a leaf adds to the score; not used in other nodes.
    gain : ndarray of shape (n_nodes,), float64
        Gain of a split, >= 0; 0 in a leaf.  Only feature importances use it.
    n_rows : ndarray of shape (n_nodes,), int64
        Training rows in a leaf, >= 0.
    left_categories : dict of int to tuple of categories
        The nodes that test a category, and which of the known categories go left,
        ascending.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    n_rows: NDArray[np.int64]
    left_categories: Mapping[int, tuple[Category, ...]] = field(default_factory=dict)

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf, (n_nodes,) bool."""
        return self.feature < 0

    def scaled(self, factor: float) -> Tree:
        """Return the tree with its leaf values multiplied by a factor."""
        with np.errstate(over="ignore"):  # of a damaged model; check() refuses it
            return replace(self, value=self.value * factor)


@dataclass(frozen=True)
class TrainingState:
    """What a fit with `warm_start` needs besides the trees.

    Attributes
    ----------
    seed : int
        Seed of all random numbers of the fit.
    bin_thresholds : tuple of n_features tuples of float
        Thresholds between the bins of each feature, ascending; none for categories.
    category_bins : dict of int to tuple of int
        Of each categorical feature, the bin of each of its categories.
    shared_from : dict of int to int
        Of each categorical feature, the first bin that categories may share.
    mean_thresholds : dict of int to tuple of float
        Of each categorical feature, the thresholds, ascending, between the mean targets
        of the categories in its shared bins.
    curves : dict of str to tuple of float
        `train_score_`, `validation_score_` and `loss_curve_`, as far as there are any.
    evals_result : dict of str to dict of str to tuple of float
        `evals_result_`, by name of the set and of what was measured.
    position_bias : ndarray or None
        `position_bias_` of a ranker that has learned one.
    label_forces : ndarray or None
        `label_forces_` of a ranker that has learned from several labels.
    """

    seed: int
    bin_thresholds: tuple[tuple[float, ...], ...]
    category_bins: Mapping[int, tuple[int, ...]]
    shared_from: Mapping[int, int]
    mean_thresholds: Mapping[int, tuple[float, ...]]
    curves: Mapping[str, tuple[float, ...]]
    evals_result: Mapping[str, Mapping[str, tuple[float, ...]]]
    position_bias: NDArray[np.float64] | None = None
    label_forces: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class TreeModel:
    """A fitted estimator of boosted trees as plain data.

    Attributes
    ----------
    estimator : {"LambdaMARTRanker", "MARTRegressor", "MARTClassifier"}
    parameters : dict of str to object
        Parameters of the estimator, as ``get_params(deep=False)`` gives them.
    features : tuple of Feature
        The columns of X, in order.
    has_feature_names : bool
        Whether X had names; else those of `features` are made up.
    base_score : float
        The score before the first tree: F_0 of MART, 0 of a ranker.
    trees : tuple of Tree
        Their values are added to `base_score` in this order.
    classes : ndarray of shape (2,), or None
        The classes of a MARTClassifier.  A score above 0 means the second one, whose
        probability is 1 / (1 + exp(-2 sigma score)).
    sigma : float
        The sigma that the trees were grown with.
    uses_init_score : bool
        Whether `predict` adds an `init_score` that the caller gives.
    absent_is_missing : bool
        Whether entries that a sparse X does not store are missing values, as in
        XGBoost, where this model comes from: then `predict` refuses a sparse X.  Else
        they are 0.
    stages_changed : bool
        Whether `dart` has changed trees after others were added: then the sum of the
        first trees is not the model that there was after them.
    training : TrainingState or None
        None: a fit cannot continue the model with `warm_start`, but with `init`.
    """

    estimator: str
    parameters: Mapping[str, Any]
    features: tuple[Feature, ...]
    has_feature_names: bool
    base_score: float
    trees: tuple[Tree, ...]
    classes: NDArray[Any] | None = None
    sigma: float = 1.0
    uses_init_score: bool = False
    absent_is_missing: bool = False
    stages_changed: bool = False
    training: TrainingState | None = None

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return len(self.features)

    @property
    def has_categories(self) -> bool:
        """Whether there are categorical features."""
        return bool(categories_of(self.features))

    def scaled(self, factor: float) -> TreeModel:
        """Return the model with its scores multiplied by a factor."""
        trees = tuple(tree.scaled(factor) for tree in self.trees)
        return replace(self, base_score=factor * self.base_score, trees=trees)

    def with_base_score_in_leaves(self) -> TreeModel:
        """Return a model of the same scores, bit for bit, whose base score is 0.

        The base score is added to the leaves of the first tree, which is the first sum
        that `predict` computes.
        """
        first = self.trees[0]
        with np.errstate(over="ignore"):
            value = np.where(first.is_leaf, self.base_score + first.value, first.value)
        first = replace(first, value=value)
        return replace(self, base_score=0.0, trees=(first, *self.trees[1:]))

    def with_missing_as(self, number: float | NDArray[np.float64]) -> TreeModel:
        """Return a model in which a missing value goes where a number goes.

        The number is that of its feature, in an array, or one for all.  A missing
        category goes where it went.
        """
        number = np.broadcast_to(number, self.n_features)
        trees = tuple(
            replace(
                tree,
                missing_left=np.where(
                    tests_number(tree),
                    number[tree.feature] <= tree.threshold,
                    tree.missing_left,
                ),
            )
            for tree in self.trees
        )
        return replace(self, trees=trees)

    def check(self) -> None:
        """Raise a ValueError that says where, unless this is a model."""
        if not self.features or not self.trees:
            raise ValueError("there must be at least one feature and one tree")
        if not math.isfinite(self.base_score):
            raise ValueError(f"base_score is {self.base_score}, but must be finite")
        if (self.classes is not None) != (self.estimator == "MARTClassifier"):
            raise ValueError("a MARTClassifier has classes, and no other estimator")
        for j, feature in enumerate(self.features):
            check_feature(feature, f"features[{j}]")
        known = {j: set(c) for j, c in categories_of(self.features).items()}
        for m, tree in enumerate(self.trees):
            with errors_in(f"trees[{m}]"):
                check_tree(tree, self.n_features, known)
        if (training := self.training) is None:
            return
        if not 0 <= training.seed < 2**31:
            raise ValueError(
                f"training: seed must be in [0, 2**31), got {training.seed}"
            )
        if len(training.bin_thresholds) != self.n_features:
            raise ValueError(
                f"training: bin_thresholds are those of {len(training.bin_thresholds)} "
                f"features, but there are {self.n_features}"
            )
        n_categories = {j: len(c) for j, c in categories_of(self.features).items()}
        n_binned = {j: len(bins) for j, bins in training.category_bins.items()}
        bins = [b for own in training.category_bins.values() for b in own]
        if n_binned != n_categories or not all(0 <= b < MISSING_BIN for b in bins):
            raise ValueError(
                "training: category_bins must hold one of the bins from 0 to "
                f"{MISSING_BIN - 1} for each category of each categorical feature"
            )
        if not all(0 <= b <= MISSING_BIN + 1 for b in training.shared_from.values()):
            raise ValueError("training: shared_from must hold bins")
        for name in ("shared_from", "mean_thresholds"):
            if getattr(training, name).keys() != n_categories.keys():
                raise ValueError(f"training: {name} must be those of {[*n_categories]}")


class Node(NamedTuple):
    """A node, which is a leaf unless it has a feature."""

    feature: int = -1
    threshold: float = 0.0
    missing_left: bool = False
    value: float = 0.0
    gain: float = 0.0
    n_rows: int = 0
    left_categories: Iterable[Category] | None = None  # None: it tests no category


def unfold(
    root: Part,
    node_of: Callable[[Part], tuple[Node, Mapping[str, Part]]],
    most: float = math.inf,
) -> Tree:
    """Return the tree that begins with ``node_of(root)``: a node, and what is below it.

    This is nothing, or what the nodes "left" and "right" are made of, in the order of
    their numbers.  A tree of more than `most` nodes is not completed.
    """
    nodes: list[Node] = []
    children: dict[str, list[int]] = {"left": [], "right": []}
    # parts of which no node is made yet, and where they hang
    waiting: list[tuple[Part, int, str]] = [(root, -1, "left")]
    while waiting and len(nodes) <= most:
        part, parent, side = waiting.pop()
        if parent >= 0:
            children[side][parent] = len(nodes)
        node, below = node_of(part)
        waiting += [(below[side], len(nodes), side) for side in reversed([*below])]
        nodes.append(node)
        for of_side in children.values():
            of_side.append(-1)
    columns: dict[str, Any] = dict(
        zip(Node._fields, zip(*nodes, strict=True), strict=True)
    )
    sets = enumerate(columns.pop("left_categories"))
    columns |= children
    return Tree(
        **{name: np.array(v, dtype=NODE_DTYPES[name]) for name, v in columns.items()},
        left_categories={node: tuple(sorted(s)) for node, s in sets if s is not None},
    )


def categories_of(features: Sequence[Feature]) -> dict[int, tuple[Category, ...]]:
    """Return the categories of each categorical feature."""
    return {j: f.categories for j, f in enumerate(features) if f.categories is not None}


def tests_number(tree: Tree) -> NDArray[np.bool_]:
    """Return whether each node tests a number, (n_nodes,) bool."""
    found: NDArray[np.bool_] = ~tree.is_leaf
    found[list(tree.left_categories)] = False
    return found


def tests_missing(tree: Tree) -> bool:
    """Return whether a missing value may go elsewhere than the number 0."""
    elsewhere = tree.missing_left != (tree.threshold >= 0)
    return bool(elsewhere[tests_number(tree)].any())


def made_up_names(n_features: int) -> list[str]:
    """Return the names that LightGBM gives to columns without names."""
    return [f"Column_{j}" for j in range(n_features)]


@contextmanager
def errors_in(where: str) -> Iterator[None]:
    """Let ValueErrors begin with the part of a model that they are about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{where}: {error}" if where else str(error)) from None


def check_feature(feature: Feature, where: str) -> None:
    """Raise a ValueError unless categories are distinct, ascending, of one kind."""
    kinds = str if feature.is_text else int | float
    categories = feature.categories or ()
    if not all(
        isinstance(c, kinds) and (feature.is_text or abs(c) <= 2**53)  # type: ignore[arg-type]
        for c in categories
    ):
        kind = "text" if feature.is_text else "numbers of up to 2**53 in size"
        raise ValueError(f"{where}: its categories are not all {kind}")
    for i in range(1, len(categories)):
        if not categories[i - 1] < categories[i]:  # type: ignore[operator]
            raise ValueError(f"{where}: its categories do not ascend at number {i}")


def check_tree(tree: Tree, n_features: int, known: Mapping[int, set[Category]]) -> None:
    """Raise a ValueError unless the arrays are a tree that tests these features."""
    arrays: dict[str, NDArray[Any]] = {
        name: getattr(tree, name) for name in NODE_DTYPES
    }
    empty = TreeEnsemble.empty()
    arrays["first_node"] = np.zeros(1, dtype=np.int64)
    arrays |= {"category_node": empty.category_node, "category_set": empty.category_set}
    check_trees(arrays, n_features)
    is_finite = np.isfinite(tree.threshold)
    if not is_finite.all():
        raise ValueError(f"threshold[{int(np.argmin(is_finite))}] is infinite")
    by_category = set(np.flatnonzero(np.isin(tree.feature, list(known))).tolist())
    if by_category != set(tree.left_categories):
        node = min(by_category.symmetric_difference(tree.left_categories))
        raise ValueError(
            f"node {node} must have a set of categories if, and only if, it tests a "
            "feature that has categories"
        )
    for node, categories in tree.left_categories.items():
        unknown = set(categories) - known[int(tree.feature[node])]
        if unknown or len(set(categories)) < len(categories):
            raise ValueError(
                f"the set of node {node} holds a category twice, or one that its "
                f"feature does not have: {sorted(unknown, key=str)[:3]}"
            )


def fold(
    tree: Tree, leaf: Callable[[int], Part], split: Callable[[int, Part, Part], Part]
) -> Part:
    """Return what ``split(node, left, right)`` makes of the root, leaves first."""
    parts: dict[int, Part] = {}
    is_leaf = tree.is_leaf
    # children come after their parents: no recursion, so that depth is no limit
    for node in range(len(is_leaf) - 1, -1, -1):
        if is_leaf[node]:
            parts[node] = leaf(node)
        else:
            left, right = int(tree.left[node]), int(tree.right[node])
            parts[node] = split(node, parts.pop(left), parts.pop(right))
    return parts[0]


def category_codes(feature: Feature) -> dict[Category, int] | None:
    """Return the code of each category in other formats; None for numbers."""
    if feature.categories is None:
        return None
    if feature.is_text:
        return {category: code for code, category in enumerate(feature.categories)}
    for category in feature.categories:
        if not (isinstance(category, int) and 0 <= category <= LARGEST_CATEGORY):
            raise ValueError(
                f"feature {feature.name!r} has the category {category!r}, but the "
                f"format has whole numbers from 0 to {LARGEST_CATEGORY}: make the "
                "column text and fit again"
            )
    return {category: int(category) for category in feature.categories}


def codes_of(model: TreeModel) -> Codes:
    """Return a function of a feature that computes the codes of its categories."""
    return cache(lambda j: category_codes(model.features[j]) or {})


class CategoryTest(NamedTuple):
    """A node that sends some categories to a child, and all else to the other one.

    All else is other, unseen and missing categories: so formats that do not know unseen
    categories send them the missing way, as here.
    """

    codes: list[int]  # ascending, of those that go another way than missing ones
    child: int
    other: int


def category_tests(tree: Tree, codes: Codes) -> dict[int, CategoryTest]:
    """Return the nodes of a tree that test categories, by ascending number."""
    tests = {}
    for node, categories in sorted(tree.left_categories.items()):
        code, among = codes(int(tree.feature[node])), set(categories)
        child, other = int(tree.left[node]), int(tree.right[node])
        if tree.missing_left[node]:
            child, other, among = other, child, set(code) - among
        listed = sorted(code[category] for category in among)
        tests[node] = CategoryTest(listed, child, other)
    return tests


def check_no_categories(model: TreeModel, readers_know: str) -> None:
    """Raise a ValueError if a model has categories, which some formats lack."""
    if model.has_categories:
        raise ValueError(
            f"{readers_know} no categories: encode them as numbers, by OrdinalEncoder "
            "or OneHotEncoder, and fit again"
        )


def check_names(features: Sequence[Feature], bad: str, reader: str) -> None:
    """Raise a ValueError for the first name in which a pattern is found."""
    for feature in features:
        # half of a surrogate pair, which no encoding holds
        found = re.search(f"{bad}|[\ud800-\udfff]", feature.name)
        if found is not None:
            raise ValueError(
                f"feature {feature.name!r} has {found[0]!r} in its name, which "
                f"{reader}: rename the column and fit again"
            )


def joined(parts: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Return arrays over all trees by name, given those of each tree."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def depths(tree: Tree) -> NDArray[np.int64]:
    """Return the depth of each node, (n_nodes,)."""
    depth = np.zeros(len(tree.feature), np.int64)
    for node in np.flatnonzero(~tree.is_leaf):  # parents before children
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    return depth


def node_means(tree: Tree) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return mean value and number of training rows of each node."""
    value, n_rows = tree.value.copy(), tree.n_rows.copy()
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:  # children before parents
        children = [tree.left[node], tree.right[node]]
        n_rows[node] = n_rows[children].sum()
        weights = n_rows[children] if n_rows[node] > 0 else None
        value[node] = np.average(value[children], weights=weights)
    return value, n_rows


def stack(base: TreeModel, top: TreeModel) -> TreeModel:
    """Return the model whose score is the sum of two, the trees of `base` first."""
    for model in (base, top):
        names = [f.name for f in model.features] if model.has_feature_names else None
        if model.n_features != base.n_features or (
            base.has_feature_names
            and names is not None
            and names != [f.name for f in base.features]
        ):
            raise ValueError(
                "init was fitted on other columns than the trees on top of it, but one "
                "model of trees has one set of columns: fit both on the same"
            )
    features = []
    for one, other in zip(top.features, base.features, strict=True):
        if one.categories is None and other.categories is None:
            features.append(one)
            continue
        if (
            one.categories is None
            or other.categories is None
            or (one.categories and other.categories and one.is_text != other.is_text)
        ):
            raise ValueError(
                f"feature {one.name!r} is not categorical in the same way for init and "
                "for the trees on top of it: fit both with the same dtypes"
            )
        categories = tuple(sorted({*one.categories, *other.categories}))
        is_text = one.is_text or other.is_text
        features.append(replace(one, categories=categories, is_text=is_text))
    trees = []
    for model in (base, top):
        for tree in model.trees:
            sets: dict[int, tuple[Category, ...]] = {}
            for node, given in tree.left_categories.items():
                j, left = int(tree.feature[node]), set(given)
                known = set(model.features[j].categories or ())
                # categories that this model does not know go where unseen ones went
                sets[node] = tuple(
                    c
                    for c in features[j].categories or ()
                    if c in left or (c not in known and tree.missing_left[node])
                )
            trees.append(replace(tree, left_categories=sets))
    return replace(
        top,
        parameters={**top.parameters, "n_estimators": len(trees)},
        features=tuple(features),
        base_score=base.base_score,
        trees=tuple(trees),
        absent_is_missing=base.absent_is_missing or top.absent_is_missing,
        stages_changed=base.stages_changed or top.stages_changed,
        training=None,
    )
