"""LightGBM's text model, written and read.

Its nodes test ``x <= threshold`` in float64 as ours do.  Its sets of categories are
bitsets of codes, and send all others right, including missing values; so a
node that sends missing values left is written with its children exchanged.

Some of LightGBM's nodes take 0 as missing.  Such a node sends numbers from -1e-35 to
1e-35, and NaN, to its default side, and others by its threshold.  So its sides may
alternate: left below the threshold, but right at 0, and left again.  Then the reader
makes several nodes of it and repeats subtrees.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.export._document import checked, excerpt, items, parse
from sklearn_ltr.export._estimators import TreesLike, trees_alone
from sklearn_ltr.export._imported import check_children, imported_ranker, unknown_parts
from sklearn_ltr.export._model_files import TextOrFile, no_model, text_of
from sklearn_ltr.export._tree_model import (
    LARGEST_THRESHOLD,
    Category,
    Node,
    Tree,
    category_codes,
    category_tests,
    check_names,
    errors_in,
    node_means,
    unfold,
)

if TYPE_CHECKING:
    from lightgbm import Booster, LGBMModel

    from sklearn_ltr import LambdaMARTRanker

__all__ = ["from_lightgbm", "to_lightgbm"]

CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of decision_type
MISSING_ZERO, MISSING_NAN = 1, 2  # its next two bits
LIGHTGBM_OBJECTIVES = {"LambdaMARTRanker": "lambdarank", "MARTRegressor": "regression"}

# Objectives of one score for each row, which is what trees add up to, before any
# function that an objective applies to it
ONE_SCORE = frozenset(
    "lambdarank rank_xendcg regression regression_l1 huber fair poisson quantile mape "
    "gamma tweedie binary cross_entropy cross_entropy_lambda custom".split()
)
MOST_NODES = 50  # that stand for a node, on average, where 0 is taken as missing
ZERO = float(np.float32(1e-35))  # the largest number that counts as 0
BELOW_ZERO = float(np.nextafter(-ZERO, -np.inf))
NEGATIVE, AT_ZERO, POSITIVE = 1, 2, 4
ANYWHERE = NEGATIVE | AT_ZERO | POSITIVE

# What the reader has been checked with: the versions of the text that LightGBM 2.0 to
# 4.7 write, and their parts
NEWEST_LIGHTGBM = 4
OLD_END = "feature importances:"  # what comes after the trees, before 2.2
HEADER = (
    "version num_class num_tree_per_iteration label_index max_feature_idx objective "
    "average_output feature_names monotone_constraints feature_infos tree_sizes"
)
TREE = (
    "num_leaves num_cat split_feature split_gain threshold decision_type left_child "
    "right_child leaf_value leaf_weight leaf_count internal_value internal_weight "
    "internal_count cat_boundaries cat_threshold is_linear shrinkage"
)

Section = dict[str, str]  # key and value of lines "key=value"
N = TypeVar("N", int, float)


def to_lightgbm(estimator: TreesLike, *, missing: str = "branch") -> str:
    """Return a fitted model as the text of a LightGBM model.

    ``lightgbm.Booster(model_str=text)`` and the programs that read `model.txt` load it.
    Its scores (``raw_score=True``) are those of ``predict``, or of the classifier's
    ``decision_function``, bit for bit.  Exceptions are numbers of up to 1e-35 in size,
    which LightGBM takes for 0.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted, or a Pipeline of one of them after a SimpleImputer.
    missing : {"branch", "zero"}, default="branch"
        What a missing value is.  "branch": missing, as here.  "zero": the number 0.
        A missing category, which is no number, goes the same way with both.

    Returns
    -------
    text : str
        Spaces in names of features become underscores.  Categories are codes: numbers
        stand for themselves, text for its position among the sorted text of the
        column.  LightGBM makes these codes itself where it is given a pandas DataFrame
        in which all categorical columns, and no others, have a categorical dtype.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_tree_model`; for categories that are numbers, but not whole numbers
        from 0 to 1,048,576; for trees on top of an `init_score`; and for names with
        quotation marks, backslashes and control characters, at which LightGBM's
        ``dump_model`` breaks.

    Examples
    --------
    >>> import lightgbm
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_lightgbm
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> booster = lightgbm.Booster(model_str=to_lightgbm(ranker))
    >>> booster.predict([[2.0]]) == ranker.predict([[2.0]])
    array([ True])
    """
    model = trees_alone(estimator, missing)
    features = model.features
    codes = [category_codes(feature) for feature in features]
    trees = [
        f"Tree={m}\n{tree_text(tree, codes)}\n\n" for m, tree in enumerate(model.trees)
    ]
    objective = LIGHTGBM_OBJECTIVES.get(
        model.estimator, f"binary sigmoid:{2 * model.sigma!r}"
    )
    refused = r'["\\\x00-\x08\x0e-\x1b]'
    check_names(features, refused, "LightGBM's dump_model breaks at")
    names = [re.sub(r"\s", "_", feature.name) for feature in features]
    for j, name in enumerate(names):
        if not name or name in names[:j]:
            raise ValueError(
                f"feature {features[j].name!r} needs another name: names must be "
                "different, also when their spaces have become underscores, and not "
                "empty: rename columns and fit again"
            )
    infos = []  # the codes of a feature, or a range, which no reader uses
    listed = []  # the categories that LightGBM turns into codes, in the order of codes
    for feature, code in zip(features, codes, strict=True):
        infos.append("[0:1]" if code is None else ":".join(map(str, code.values())))
        if feature.is_text:
            listed.append(list(feature.categories or ()))
        elif code is not None:
            listed.append([*range(max(code.values(), default=-1) + 1)])
    header = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": model.n_features - 1,
        "objective": objective,
        "feature_names": join_values(names),
        "feature_infos": join_values(info or "none" for info in infos),
        "tree_sizes": join_values(len(tree.encode()) for tree in trees),
    }
    categorical = [j for j, code in enumerate(codes) if code is not None]
    lines = [
        "tree",
        *(f"{key}={value}" for key, value in header.items()),
        "",
        "".join(trees) + "end of trees",
        "",
        "parameters:",
        "[boosting: gbdt]",
        f"[objective: {objective.partition(' ')[0]}]",
        f"[categorical_feature: {','.join(map(str, categorical))}]",
        "",
        "end of parameters",
        "",
        f"pandas_categorical:{json.dumps(listed or None)}",
        "",
    ]
    return "\n".join(lines)


def join_values(values: Iterable[object]) -> str:
    """Return values as text with spaces between them, floats with all their digits."""
    return " ".join(map(str, values))


def tree_text(tree: Tree, codes: Sequence[dict[Category, int] | None]) -> str:
    """Return the text of a tree, whose leaves are numbered apart from other nodes."""
    inner, leaves = np.flatnonzero(~tree.is_leaf), np.flatnonzero(tree.is_leaf)
    # a child is a node if its number is >= 0, else leaf ~number
    number = np.empty(len(tree.feature), dtype=np.int64)
    number[inner], number[leaves] = np.arange(len(inner)), ~np.arange(len(leaves))
    value, n_rows = node_means(tree)
    left, right = tree.left.copy(), tree.right.copy()
    decision = (MISSING_NAN << 2) + DEFAULT_LEFT * tree.missing_left.astype(np.int64)
    threshold: list[float | int] = tree.threshold.tolist()
    bitsets: list[NDArray[np.uint32]] = []
    for node, test in category_tests(tree, lambda j: codes[j] or {}).items():
        # LightGBM sends missing values right at a set
        left[node], right[node] = test.child, test.other
        decision[node], threshold[node] = CATEGORICAL, len(bitsets)
        words = np.zeros(max(test.codes, default=0) // 32 + 1, dtype=np.uint32)
        for code in test.codes:
            words[code // 32] |= np.uint32(1 << code % 32)
        bitsets.append(words)
    fields: dict[str, int | Iterable[object]] = {
        "num_leaves": len(leaves),
        "num_cat": len(bitsets),
        "split_feature": tree.feature[inner],
        "split_gain": tree.gain[inner].tolist(),
        "threshold": [threshold[node] for node in inner],
        "decision_type": decision[inner],
        "left_child": number[left[inner]],
        "right_child": number[right[inner]],
        "leaf_value": tree.value[leaves].tolist(),
        "leaf_weight": n_rows[leaves],
        "leaf_count": n_rows[leaves],
        "internal_value": value[inner].tolist(),
        "internal_weight": n_rows[inner],
        "internal_count": n_rows[inner],
    }
    if bitsets:
        fields["cat_boundaries"] = np.cumsum([0, *map(len, bitsets)])
        fields["cat_threshold"] = np.concatenate(bitsets)
    fields |= {"is_linear": 0, "shrinkage": 1}
    return "".join(
        f"{name}={field if isinstance(field, int) else join_values(field)}\n"
        for name, field in fields.items()
    )


def from_lightgbm(model: Booster | LGBMModel | TextOrFile) -> LambdaMARTRanker:
    """Return a ranker that scores as a model trained by LightGBM.

    Parameters
    ----------
    model : lightgbm.Booster, fitted LGBMModel, str, bytes or path
        A booster; an estimator of LightGBM's; the text of a model; or a path, or text
        of one line, that names the file which holds it.  After early stopping all of
        them, like ``predict`` of LightGBM, have the trees up to the best iteration.

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
        That names the place, if the text is damaged, or holds what this package cannot
        read: several classes, linear trees, an unknown objective, more than 255 groups
        of categories that its trees separate.  Also for text of a newer version than
        "v4", which LightGBM 4.7 writes, or unknown parts, unless `model` is an object
        of LightGBM that scores some rows as the ranker does.

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
    booster: Any = getattr(model, "booster_", model)
    theirs = None
    if hasattr(booster, "model_to_string"):
        model = str(booster.model_to_string())
        theirs = partial(booster.predict, raw_score=True)
    wanted = "model must be a fitted model of LightGBM, its text or its file"
    parts = split_sections(text_of(model, wanted))
    header = parts.header
    for key in ("num_class", "num_tree_per_iteration"):
        if one_integer(header, key) != 1:
            raise ValueError(
                f"{key} is {excerpt(header[key])}, so the model has several scores for "
                "each row: give a model with one score"
            )
    objective = header.get("objective", "custom").split(" ")[0]
    if objective not in ONE_SCORE:
        raise ValueError(
            f"objective {excerpt(objective)} is not known to have one score for each "
            "row: train with another"
        )
    # parts that this reader does not know are collected, and judged at the end
    unknown = unknown_parts(header, HEADER, "header")
    version = value_of(header, "version")
    if version not in [f"v{number}" for number in range(1, NEWEST_LIGHTGBM + 1)]:
        unknown.append(f"version {excerpt(version)} of its text")
    columns = read_lightgbm_columns(parts)
    trees = []
    for m, section in enumerate(parts.trees):
        with errors_in(f"Tree={m}"):
            trees.append(read_lightgbm_tree(section, columns))
            unknown += unknown_parts(section, TREE, f"Tree={m}")
    codes = {}  # of each category of each categorical feature
    for j, known in columns.codes.items():
        listed = dict(enumerate(columns.categories.get(j, ())))
        listed |= {code: columns.category(j, code) for code in known}
        codes[j] = {category: code for code, category in listed.items()}
    # the raw scores of a random forest are sums, too, but its scores are means
    is_mean = "average_output" in header and trees
    return imported_ranker(
        columns.names,
        trees,
        codes,
        library="LightGBM",
        unknown=unknown,
        theirs=theirs,
        factor=1.0 / len(trees) if is_mean else 1.0,
    )


class LightGBMNodes(NamedTuple):
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

    def missing_type(self, node: int) -> int:
        """Return what an inner node takes as missing; 0: there was nothing missing."""
        return 0 if self.decision[node] & CATEGORICAL else self.decision[node] >> 2


def read_lightgbm_nodes(section: Section, n_features: int) -> LightGBMNodes:
    """Return the arrays of a tree, each checked by itself."""
    if section.get("is_linear", "0") != "0":
        raise ValueError(
            "its leaves are linear functions, which this package lacks: train with "
            "linear_tree=false"
        )
    n_leaves = one_integer(section, "num_leaves")
    value = many(section, "leaf_value", n_leaves, float)
    if n_leaves == 1:
        return LightGBMNodes([], [], [], [], [-1], [-1], value, [0], [])
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
    decision = many(section, "decision_type", n, int)
    if not all(0 <= d < 16 and d >> 2 <= MISSING_NAN for d in decision):
        raise ValueError("decision_type holds numbers whose meaning is not known")
    # inf: the node separates missing values from all others
    words = value_of(section, "threshold").replace("inf", repr(LARGEST_THRESHOLD))
    threshold = many(section | {"threshold": words}, "threshold", n, float)
    gain = [max(0.0, gain) for gain in many(section, "split_gain", n, float)]
    bitsets: list[list[int]] = []
    if (n_sets := one_integer(section, "num_cat")) != 0:
        bounds = many(section, "cat_boundaries", n_sets + 1, int)
        if bounds[0] != 0 or any(first > last for first, last in pairwise(bounds)):
            raise ValueError("cat_boundaries do not ascend from 0")
        bits = many(section, "cat_threshold", bounds[-1], int)
        if not all(0 <= word < 2**32 for word in bits):
            raise ValueError("cat_threshold holds numbers that are no words of 32 bits")
        bitsets = [bits[first:last] for first, last in pairwise(bounds)]
    counts = [max(0, count) for count in n_rows]
    return LightGBMNodes(
        feature, threshold, decision, gain, left, right, value, counts, bitsets
    )


def read_lightgbm_tree(section: Section, columns: Columns) -> Tree:
    """Return the tree that a section describes."""
    nodes = read_lightgbm_nodes(section, len(columns.names))
    most = MOST_NODES * len(check_children(nodes.left, nodes.right))
    n_inner = len(nodes.feature)

    def node_of(reached: Reached) -> tuple[Node, dict[str, Reached]]:
        node, regions, segments = reached
        while node < n_inner and nodes.missing_type(node) == MISSING_ZERO:
            j = nodes.feature[node]
            first, *others = segments or zero_segments(nodes, node, regions)
            child = nodes.left[node] if first.goes_left else nodes.right[node]
            below: Reached = (child, regions | {j: first.regions}, [])
            if others:
                # NaN is in the interval that 0 is in
                has_zero, gain = bool(first.regions & AT_ZERO), nodes.gain[node]
                split = Node(j, first.last, missing_left=has_zero, gain=gain)
                return split, {"right": (node, regions, others), "left": below}
            node, regions, segments = below
        if node >= n_inner:
            leaf = node - n_inner
            return Node(value=nodes.value[leaf], n_rows=nodes.n_rows[leaf]), {}
        j, decision = nodes.feature[node], nodes.decision[node]
        threshold, gain = nodes.threshold[node], nodes.gain[node]
        if decision & CATEGORICAL:
            if not (threshold.is_integer() and 0 <= threshold < len(nodes.bitsets)):
                raise ValueError(
                    f"node {node} has the set {threshold:g}, which is none"
                )
            codes = [
                32 * w + bit
                for w, word in enumerate(nodes.bitsets[int(threshold)])
                for bit in range(32)
                if word >> bit & 1
            ]
            columns.codes.setdefault(j, set()).update(codes)
            categories = {columns.category(j, code) for code in codes}
            split = Node(j, gain=gain, left_categories=categories)
        else:
            # where there were no missing values, NaN is taken as 0
            to_left = threshold >= 0.0
            if nodes.missing_type(node) == MISSING_NAN:
                to_left = bool(decision & DEFAULT_LEFT)
            if -ZERO <= threshold <= ZERO:  # numbers between these are taken for 0
                threshold = ZERO if threshold >= 0 else BELOW_ZERO
            split = Node(j, threshold, missing_left=to_left, gain=gain)
        left, right = nodes.left[node], nodes.right[node]
        return split, {"left": (left, regions, []), "right": (right, regions, [])}

    root: Reached = (0, {}, [])
    tree = unfold(root, node_of, most)
    if len(tree.feature) > most:
        raise ValueError(
            f"more than {most} nodes would stand for its nodes that take 0 as "
            "missing: train with zero_as_missing=false"
        )
    return tree


class Segment(NamedTuple):
    """An interval of numbers that go to one side."""

    last: float  # its largest number
    regions: int  # which of NEGATIVE, AT_ZERO and POSITIVE it meets
    goes_left: bool


# A node, the regions of features that reach it, and, of a node that takes 0 as missing,
# the segments that no node stands for yet
Reached: TypeAlias = tuple[int, dict[int, int], list[Segment]]


def zero_segments(
    nodes: LightGBMNodes, node: int, regions: dict[int, int]
) -> list[Segment]:
    """Return the segments of a node that takes 0 as missing, in what reaches it."""
    threshold, segments = nodes.threshold[node], list[Segment]()
    for last in sorted({threshold, BELOW_ZERO, ZERO, LARGEST_THRESHOLD}):
        region = POSITIVE
        if last <= ZERO:
            region = NEGATIVE if last <= BELOW_ZERO else AT_ZERO
        if not region & regions.get(nodes.feature[node], ANYWHERE):
            continue
        goes_left = last <= threshold
        if region == AT_ZERO:
            goes_left = bool(nodes.decision[node] & DEFAULT_LEFT)
        if segments and segments[-1].goes_left == goes_left:
            region |= segments.pop().regions
        segments.append(Segment(last, region, goes_left))
    return segments


class Columns(NamedTuple):
    """The columns of X."""

    names: list[str]
    codes: dict[int, set[int]]  # known codes of the categorical features
    categories: dict[int, list[Category]]  # what codes stand for, if known

    def category(self, feature: int, code: int) -> Category:
        """Return the category of a code."""
        if feature not in self.categories:
            return code
        if code >= len(self.categories[feature]):
            raise ValueError(
                f"feature {feature} has the code {code}, which is not in "
                "pandas_categorical"
            )
        return self.categories[feature][code]


def read_lightgbm_columns(parts: Text) -> Columns:
    """Return names and categories of the columns."""
    names = value_of(parts.header, "feature_names").split(" ")
    infos = value_of(parts.header, "feature_infos").split(" ")
    if not len(names) == len(infos) == one_integer(parts.header, "max_feature_idx") + 1:
        raise ValueError(
            "feature_names, feature_infos and max_feature_idx are of different numbers "
            "of features"
        )
    codes: dict[int, set[int]] = {}
    words = parts.categorical_feature.split(",") if parts.categorical_feature else []
    for j in to_numbers(words, "categorical_feature", int):
        if not 0 <= j < len(names):
            raise ValueError(f"categorical_feature {j} is none of {len(names)}")
        codes[j] = set()
    for j, info in enumerate(infos):
        if not info.startswith("[") and info != "none":
            own = to_numbers(info.split(":"), f"feature_infos[{j}]", int)
            codes[j] = {code for code in own if code >= 0}  # -1: missing
    # what the codes of categorical features stand for, if that is known
    listed = parse(parts.pandas_categorical)
    if listed is None or listed == []:
        return Columns(names, codes, {})
    if len(items(listed, list, "pandas_categorical")) != len(codes):
        raise ValueError(
            f"pandas_categorical has the categories of {len(listed)} features, but "
            f"{len(codes)} are categorical, so their features are unknown: train "
            "with a DataFrame in which all of these, and no others, have a categorical "
            "dtype"
        )
    categories: dict[int, list[Category]] = {}
    for i, (j, given) in enumerate(zip(sorted(codes), listed, strict=True)):
        where = f"pandas_categorical[{i}]"
        categories[j] = [
            c if type(c) in (str, int) else checked(c, float, f"{where}[{k}]")
            for k, c in enumerate(given)
        ]
        if len(set(categories[j])) < len(categories[j]):
            raise ValueError(f"{where} has a category twice")
        if len({isinstance(category, str) for category in categories[j]}) > 1:
            raise ValueError(f"{where} has categories that are text, and others")
    return Columns(names, codes, categories)


class Text(NamedTuple):
    """The parts of the text of a model."""

    header: Section
    trees: list[Section]
    categorical_feature: str  # indices, with commas
    pandas_categorical: str  # JSON


def split_sections(text: str) -> Text:
    """Return the parts of a text; raise a ValueError if one is missing."""
    lines = enumerate(text.split("\n"), start=1)
    first = next((line for _, line in lines if line.strip()), "")
    if first.strip() != "tree":
        message = 'this is no LightGBM model: its first line is not "tree"'
        raise no_model(text, message)
    header: Section = {}
    section = header
    trees: list[Section] = []
    for number, line in lines:
        key, _, value = line.strip().partition("=")
        # versions before 2.2 have no line at the end, but know how many trees there are
        n_trees = len(header.get("tree_sizes", "").split())
        if key == "end of trees" or (key == OLD_END and len(trees) == n_trees):
            break
        if key == "Tree":
            if value != str(len(trees)):
                raise ValueError(f"line {number}: Tree={len(trees)} must come here")
            trees.append(section := {})
        elif key in section:
            raise ValueError(f"line {number}: {key} comes twice")
        elif key:
            section[key] = value
    else:
        raise ValueError('the text is cut off: it has no line "end of trees"')
    after = {"[categorical_feature": "", "pandas_categorical": "null"}
    for _, line in lines:
        key, _, value = line.strip().partition(":")
        if key in after:
            after[key] = value.strip()
    categorical, pandas = after.values()
    return Text(header, trees, categorical.rstrip("]"), pandas)


def value_of(section: Section, key: str) -> str:
    """Return the value of a key."""
    if key not in section:
        raise ValueError(f"{key} is missing")
    return section[key]


def one_integer(section: Section, key: str) -> int:
    """Return the integer of a key."""
    found = to_numbers(value_of(section, key).split(), key, int)
    if len(found) != 1:
        raise ValueError(f"{key} must be one integer, got {len(found)}")
    return int(found[0])


def many(section: Section, key: str, n: int, kind: type[N]) -> list[N]:
    """Return the n finite numbers of a key."""
    found = to_numbers(value_of(section, key).split(), key, kind)
    if len(found) != n:
        raise ValueError(f"{key} must hold {n} numbers, got {len(found)}")
    return found


def to_numbers(words: Sequence[str], where: str, kind: type[N]) -> list[N]:
    """Return words as finite numbers, int (of at most 18 digits) or float."""
    found: list[N] = []
    for i, word in enumerate(words):
        try:
            if "_" in word or not word.isascii() or (kind is int and len(word) > 18):
                raise ValueError
            found.append(kind(word))
        except ValueError:
            raise ValueError(f"{where}[{i}] is no number: {excerpt(word)}") from None
        if not math.isfinite(found[-1]):
            raise ValueError(f"{where}[{i}] is {excerpt(word)}, but must be finite")
    return found
