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
    """Return the nodes that node 0 leads to; raise an error if they are no tree."""
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


def imported_ranker(
    names: Sequence[str],
    trees: Sequence[Tree],
    codes: CategoryCodes,
    base_score: float = 0.0,
    *,
    library: str = "",
    unknown: Sequence[str] = (),
    theirs: Scores | None = None,
    absent_is_missing: bool = False,
    factor: float = 1.0,
) -> LambdaMARTRanker:
    """Return the fitted ranker of trees of another library.

    If the model has parts that its reader does not know, `theirs` must return the same
    raw scores, for rows with the `codes` of its categories; None if the library is not
    installed.  Then scores are multiplied by a factor.
    """
    if not trees:
        raise ValueError("the model has no trees")
    features = []
    for j, name in enumerate(names):
        known = tuple(sorted(codes[j])) if j in codes else None
        is_text = any(isinstance(category, str) for category in known or ())
        features.append(Feature(name, known, is_text))
    model = TreeModel(
        estimator=LambdaMARTRanker.__name__,
        parameters={"n_estimators": len(trees)},
        features=tuple(features),
        has_feature_names=list(names) != made_up_names(len(names)),
        base_score=base_score,
        trees=tuple(trees),
        # of no consequence where missing values go with 0
        absent_is_missing=absent_is_missing and any(map(tests_missing, trees)),
    )
    if unknown:
        unknown = list(dict.fromkeys(unknown))
        parts = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        unchecked = f"this reader of models of {library} has not been checked with"
        if theirs is None:
            raise ValueError(
                f"{unchecked} {parts}: give the object of {library}, not its text or "
                "file, to compare the scores of some rows; or save the model by an "
                f"older {library}"
            )
        # rows whose numbers are thresholds or between them, or missing; with codes as
        # the library has them, and as the trees of a ranker do
        rng = np.random.default_rng(0)
        X, table = np.empty((2, N_PROBES, model.n_features))
        for j, feature in enumerate(features):
            known = feature.categories
            if known is not None:
                values = np.array([codes[j][category] for category in known])
                own = np.array(range(len(known)) if feature.is_text else known)
            else:
                thresholds = [tree.threshold[tree.feature == j] for tree in trees]
                at = np.unique(np.concatenate([*thresholds, [0.0]]))
                at = at.clip(-LARGEST_PROBE, LARGEST_PROBE)
                middles = at[:-1] / 2 + at[1:] / 2
                own = np.concatenate([at, middles, at[[0]] - 1, at[[-1]] + 1])
                values = own
            drawn = rng.integers(len(own) + 1, size=N_PROBES)
            X[:, j], table[:, j] = (np.append(v, np.nan)[drawn] for v in (values, own))
        ranker = cast(LambdaMARTRanker, from_tree_model(model))
        found = ranker._trees.scores(table, np.zeros(N_PROBES), None)
        scale = sum((np.abs(tree.value).max() for tree in model.trees), 0.0)
        off = np.abs(found - np.asarray(theirs(X), np.float64)).max()
        if not off <= FLOAT32_ROUNDING * (abs(model.base_score) + scale):
            raise ValueError(
                f"{unchecked} {parts}, and {library} scores the model differently, by "
                f"up to {off:.3g}: use an older {library}, or a newer sklearn_ltr"
            )
    return cast(LambdaMARTRanker, from_tree_model(model.scaled(factor)))
