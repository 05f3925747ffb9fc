"""Common parts of the readers of other libraries' models.

Readers check everything, since a model may come from anyone.  A reader knows which
versions and parts of a format it has been tested with.  It reads a model with others
only from an object of its library, which then scores some rows for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.export._estimators import from_tree_model
from sklearn_ltr.export._tree_model import (
    Category,
    Feature,
    Tree,
    TreeModel,
    made_up_names,
    tests_missing,
)

# The code of each category of the categorical features, as the library has it
CategoryCodes = Mapping[int, Mapping[Category, int]]
Scores = Callable[[FloatArray], ArrayLike]

N_PROBES = 500  # rows that another library scores as well
FLOAT32_ROUNDING = 1e-5  # of sums in float32, relative to the largest values of leaves
LARGEST_PROBE = 1e30
MOST_WITHOUT_NAMES = 2**20  # features


def unknown_parts(document: Mapping[str, object], known: str, where: str) -> list[str]:
    """Return the members of an object that a reader does not know."""
    names = set(known.split())
    return [f"{where}.{key}" for key in document if key not in names]


def check_children(left: Sequence[int], right: Sequence[int]) -> set[int]:
    """Return the nodes that node 0 leads to; an error if they are not a tree."""
    n_nodes, waiting = len(left), [0]
    seen: set[int] = set()
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
    return seen


def imported_model(
    names: Sequence[str],
    trees: Sequence[Tree],
    codes: CategoryCodes,
    base_score: float = 0.0,
    *,
    absent_is_missing: bool = False,
) -> TreeModel:
    """Return the trees of another library as the model of a ranker."""
    if not trees:
        raise ValueError("the model has no trees")
    features = []
    for j, name in enumerate(names):
        known = tuple(sorted(codes[j])) if j in codes else None
        is_text = any(isinstance(category, str) for category in known or ())
        features.append(Feature(name, known, is_text))
    return TreeModel(
        estimator=LambdaMARTRanker.__name__,
        parameters={"n_estimators": len(trees)},
        features=tuple(features),
        has_feature_names=list(names) != made_up_names(len(names)),
        base_score=base_score,
        trees=tuple(trees),
        # of no consequence where missing values go with 0
        absent_is_missing=absent_is_missing and any(map(tests_missing, trees)),
    )


def to_ranker(model: TreeModel) -> LambdaMARTRanker:
    """Return the fitted ranker of a model of another library."""
    return cast(LambdaMARTRanker, from_tree_model(model))


def check_unknown(
    unknown: Sequence[str],
    library: str,
    model: TreeModel,
    codes: CategoryCodes,
    theirs: Scores | None,
) -> None:
    """Raise a ValueError if a model has unknown parts and unchecked scores."""
    # `theirs` returns the library's own raw scores, for rows with the `codes` of its
    # categories; None if the library is not installed.
    if not unknown:
        return
    unknown = list(dict.fromkeys(unknown))
    parts = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
    if theirs is None:
        raise ValueError(
            f"this reader of models of {library} has not been checked with {parts}: "
            f"give the object of {library}, not its text or file, to compare the "
            f"scores of some rows; or save the model by an older {library}"
        )
    model.check()
    # rows whose numbers are thresholds or between them, or missing
    rng = np.random.default_rng(0)
    X = np.empty((N_PROBES, model.n_features))
    for j in range(model.n_features):
        values = np.array(list(codes.get(j, {}).values()), dtype=np.float64)
        if j not in codes:
            thresholds = [tree.threshold[tree.feature == j] for tree in model.trees]
            known = np.unique(np.concatenate([*thresholds, [0.0]]))
            known = known.clip(-LARGEST_PROBE, LARGEST_PROBE)
            middles = known[:-1] / 2 + known[1:] / 2
            values = np.concatenate([known, middles, known[[0]] - 1, known[[-1]] + 1])
        X[:, j] = rng.choice(np.append(values, np.nan), N_PROBES)
    # their scores, from the description alone
    found = np.full(N_PROBES, model.base_score)
    for tree in model.trees:
        waiting = [(0, np.arange(N_PROBES))]
        while waiting:
            node, rows = waiting.pop()
            j = int(tree.feature[node])
            if j < 0:
                found[rows] += tree.value[node]
                continue
            x = X[rows, j]
            if node in tree.left_categories:
                left = np.isin(x, [codes[j][c] for c in tree.left_categories[node]])
            else:
                left = x <= tree.threshold[node]
            left[np.isnan(x)] = tree.missing_left[node]
            waiting.append((int(tree.left[node]), rows[left]))
            waiting.append((int(tree.right[node]), rows[~left]))
    expected = np.asarray(theirs(X), np.float64)
    scale = sum((np.abs(tree.value).max() for tree in model.trees), 0.0)
    off = np.abs(found - expected).max()
    if not off <= FLOAT32_ROUNDING * (abs(model.base_score) + scale):
        raise ValueError(
            f"this reader of models of {library} has not been checked with {parts}, "
            f"and {library} scores the model differently, by up to {off:.3g}: use an "
            f"older {library}, or a newer sklearn_ltr"
        )
