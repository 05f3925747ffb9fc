"""Trees that stand on top of the trees of another model become one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sklearn_ltr.export._tree_model import Category, Feature, Tree, TreeModel


def stack(base: TreeModel, top: TreeModel) -> TreeModel:
    """Return the model whose score is the sum of two, the trees of `base` first.

    Raises
    ------
    ValueError
        If they were fitted on other columns.
    """
    for model in (base, top):
        names = [f.name for f in model.features] if model.has_feature_names else None
        if model.n_features != base.n_features or (
            base.has_feature_names
            and names is not None
            and names != [f.name for f in base.features]
        ):
            raise ValueError(
                "init was fitted on other columns than the trees on top of it, and one "
                "model of trees has one set of columns: fit both on the same"
            )
    features = tuple(
        joined(one, other)
        for one, other in zip(top.features, base.features, strict=True)
    )
    trees = [
        extended(tree, model.features, features)
        for model in (base, top)
        for tree in model.trees
    ]
    return replace(
        top,
        parameters={**top.parameters, "n_estimators": len(trees)},
        features=features,
        base_score=base.base_score,
        trees=tuple(trees),
        training=None,
    )


def joined(one: Feature, other: Feature) -> Feature:
    """Return a feature with the categories of two."""
    if one.categories is None and other.categories is None:
        return one
    if (
        one.categories is None
        or other.categories is None
        or (one.categories and other.categories and one.is_text != other.is_text)
    ):
        raise ValueError(
            f"feature {one.name!r} is not categorical in the same way for init and for "
            "the trees on top of it: fit both with the same dtypes"
        )
    categories = sorted({*one.categories, *other.categories})
    return replace(
        one, categories=tuple(categories), is_text=one.is_text or other.is_text
    )


def extended(tree: Tree, old: Sequence[Feature], new: Sequence[Feature]) -> Tree:
    """Return a tree that knows more categories, which go where unseen ones went."""
    sets: dict[int, tuple[Category, ...]] = {}
    for node, categories in tree.left_categories.items():
        j = int(tree.feature[node])
        known, left = set(old[j].categories or ()), set(categories)
        sets[node] = tuple(
            c
            for c in new[j].categories or ()
            if c in left or (c not in known and tree.missing_left[node])
        )
    return replace(tree, left_categories=sets)
