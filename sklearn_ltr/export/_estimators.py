"""Convert a fitted estimator to a TreeModel, and a TreeModel to an estimator.

Sets of categories become sets of bins, which the trees of an estimator test.
Categories that no tree separates can share a bin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.boosting.fitted_trees import CURVE
from sklearn_ltr._core.data.categories import FeatureCategories
from sklearn_ltr._core.parameters import Choice, read_parameters
from sklearn_ltr._core.trees.binning import MISSING_BIN, BinMapper
from sklearn_ltr._core.trees.categories import CategoryBins
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.evaluate.tree_walk import unpack_sets
from sklearn_ltr.export._pipelines import (
    Imputation,
    active_steps,
    column_names,
    is_network,
    split_pipeline,
)
from sklearn_ltr.export._tree_model import (
    LARGEST_THRESHOLD,
    Category,
    Feature,
    TrainingState,
    Tree,
    TreeModel,
    categories_of,
    stack,
)
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

__all__ = ["from_tree_model", "to_tree_model"]

BoostedTrees: TypeAlias = LambdaMARTRanker | MARTRegressor | MARTClassifier
TreesLike: TypeAlias = BoostedTrees | Pipeline
ESTIMATORS: dict[str, type[BoostedTrees]] = {
    cls.__name__: cls for cls in (LambdaMARTRanker, MARTRegressor, MARTClassifier)
}
MISSING = Choice("branch", "zero")
FROZEN = "holds a fitted model: give its estimator"
OF_NETWORKS = (
    ": a network is written by to_onnx, to_json and to_solr, without hidden layers by "
    "to_elasticsearch_ltr, too"
)
# why these estimators are not one model of trees, and what to give
OTHERS = {
    "BaggingRanker": "is several models: give its merge(); of members that are not "
    "made of trees, each of its estimators_, and take the mean of their scores, or "
    "write it by to_onnx or to_json",
    "BlendedRanker": "is several models: write it by to_onnx or to_json, or give each "
    "of its rankers_, and add their scores times its weights_",
    "CalibratedRanker": "has maps of scores, which a model of trees cannot hold: give "
    "its ranker_, whose scores are the same, and save the numbers of its maps_ "
    "separately",
    "FrozenEstimator": FROZEN,
    "ScoreRegressor": FROZEN,
    "RankerSearch": "holds the model that it has found: give its best_estimator_, "
    "which with blend=False is one ranker",
}
NODE_ARRAYS = ("missing_left", "left", "right", "value", "gain", "n_rows")
CURVES = tuple(
    name for name, a in LambdaMARTRanker._attributes.items() if a.shape == CURVE
)


def to_tree_model(estimator: TreesLike) -> TreeModel:
    """Return a fitted estimator of boosted trees as plain data.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted.  A ranker with a base model, `init`, that is itself one of boosted trees
        on the same columns becomes one model of the trees of both.  Also a Pipeline of
        one of them after a SimpleImputer: missing values go where the numbers go that
        stand for them.

    Returns
    -------
    model : TreeModel
        With the same scores, bit for bit.

    Raises
    ------
    TypeError
        For any other estimator.
    ValueError
        If `init` is a model of another kind, or a SimpleImputer adds or leaves out
        columns, or puts in categories.
    NotFittedError
        Before `fit`.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_tree_model
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, subsample=1)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> model = to_tree_model(ranker)
    >>> model.features, len(model.trees), model.training is not None
    ((Feature(name='Column_0', categories=None, is_text=False),), 2, True)
    >>> tree = model.trees[0]
    >>> tree.threshold[tree.feature >= 0]
    array([1.5, 2.5])
    """
    if isinstance(estimator, Pipeline):
        return imputed_trees(estimator)
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        if name in OTHERS:
            raise TypeError(f"a {name} {OTHERS[name]}")
        found = ": give its best_estimator_" * hasattr(estimator, "best_estimator_")
        found += OF_NETWORKS * is_network(estimator)
        raise TypeError(
            f"only {', '.join(ESTIMATORS)} are models of boosted trees, got {name}"
            f"{found}"
        )
    fitted = estimator._fitted()
    features, parameters = features_of(fitted), fitted.get_params(deep=False)
    model = TreeModel(
        estimator=name,
        parameters={n: None if n == "init" else v for n, v in parameters.items()},
        features=features,
        has_feature_names=hasattr(fitted, "feature_names_in_"),
        base_score=float(getattr(fitted, "base_score_", 0.0)),
        trees=trees_of(fitted, features),
        classes=getattr(fitted, "classes_", None),
        sigma=float(getattr(fitted, "_sigma", parameters.get("sigma", 1.0))),
        uses_init_score=getattr(fitted, "_uses_init_score", False),
        absent_is_missing=vars(fitted).get("_absent_is_missing", False),
        stages_changed=fitted._stages_changed,
        training=training_state(fitted),
    )
    base = getattr(fitted, "init_", None)
    if base is None:
        return model
    if type(base) not in (LambdaMARTRanker, MARTRegressor):
        raise ValueError(
            f"init, the base model, is a {type(base).__name__}, which a model of trees "
            "cannot hold: add its scores as a feature and fit without init, or fit "
            "with an init that is a LambdaMARTRanker or a MARTRegressor"
        )
    return stack(to_tree_model(base), model)


def imputed_trees(pipeline: Pipeline) -> TreeModel:
    """Return trees that send missing values where the numbers of an imputer go."""
    active = [step for _, step in active_steps(pipeline)]
    if not all(isinstance(step, SimpleImputer) for step in active[:-1]):
        advice = (
            ": give its last step, and apply the other steps to X before it scores, "
            "unless they are a SimpleImputer"
        )
        advice = OF_NETWORKS if is_network(pipeline) else advice
        raise TypeError(f"a Pipeline has steps that trees cannot hold{advice}")
    steps, last, names = split_pipeline(pipeline)
    imputations = [step for step in steps if isinstance(step, Imputation)]
    model = to_tree_model(last)
    if hasattr(active[0], "feature_names_in_"):
        features = tuple(
            replace(feature, name=name)
            for feature, name in zip(model.features, names, strict=True)
        )
        model = replace(model, features=features, has_feature_names=True)
    if not imputations:
        return model
    if model.has_categories:
        raise ValueError(
            "a category that was not seen in training goes where missing ones go, also "
            "in other programs, but the Pipeline puts in a category for missing ones "
            "only: fit the trees without the imputer, as they need none"
        )
    return replace(model.with_missing_as(imputations[0].value), training=None)


def trees_alone(estimator: TreesLike, missing: str) -> TreeModel:
    """Return a fitted estimator as a sum of trees only, as most formats hold it."""
    # `missing` says whether the reader has missing values, or takes them for 0
    MISSING.read_as("missing", missing)
    model = to_tree_model(estimator)
    if model.uses_init_score:
        raise ValueError(
            "the trees were grown on top of an init_score, which other formats cannot "
            "hold: fit without it, or with a model as init"
        )
    model = model.with_base_score_in_leaves()
    return model.with_missing_as(0.0) if missing == "zero" else model


def features_of(fitted: BoostedTrees) -> tuple[Feature, ...]:
    """Return the columns that an estimator was fitted on."""
    features = [Feature(name) for name in column_names(fitted)]
    bins, labels = fitted._mapper.categories, fitted._categories
    by_feature = divided(bins, bins.value)
    for number, (j, values) in enumerate(by_feature.items()):
        is_text = bool(labels.is_text[number])
        categories: Sequence[Category]
        if is_text:
            categories = labels.text[number][values.astype(np.intp)].tolist()
        else:
            categories = [int(v) if v.is_integer() else v for v in values.tolist()]
        features[j] = Feature(features[j].name, tuple(categories), is_text)
    return tuple(features)


def divided(bins: CategoryBins, of_categories: NDArray[Any]) -> dict[int, NDArray[Any]]:
    """Split an array over all categories into the parts of single features."""
    parts = np.split(of_categories, bins.first[1:])[:-1]
    return dict(zip(bins.feature.tolist(), parts, strict=True))


def trees_of(fitted: BoostedTrees, features: Sequence[Feature]) -> tuple[Tree, ...]:
    """Return the trees of an estimator."""
    ensemble, bins = fitted.ensemble_, fitted._mapper.categories
    bins_of = divided(bins, bins.bin)
    bounds = np.append(ensemble.first_node, len(ensemble.feature)).tolist()
    sets = dict(
        zip(ensemble.category_node.tolist(), ensemble.category_set, strict=True)
    )
    trees = []
    for start, stop in pairwise(bounds):
        nodes, by_category = slice(start, stop), {}
        feature = ensemble.feature[nodes]
        for node in range(stop - start):
            if start + node in sets:
                j = int(feature[node])
                goes_left = unpack_sets(sets[start + node][np.newaxis])[0][bins_of[j]]
                known = features[j].categories or ()
                by_category[node] = tuple(
                    c for c, left in zip(known, goes_left.tolist(), strict=True) if left
                )
        trees.append(
            Tree(
                feature=feature,
                threshold=np.minimum(ensemble.threshold[nodes], LARGEST_THRESHOLD),
                left_categories=by_category,
                **{name: getattr(ensemble, name)[nodes] for name in NODE_ARRAYS},
            )
        )
    return tuple(trees)


def from_tree_model(model: TreeModel) -> BoostedTrees:
    """Return the fitted estimator that a model describes.

    Parameters
    ----------
    model : TreeModel

    Returns
    -------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        It predicts the scores of the model, bit for bit.  Without `training` a fit
        with ``warm_start=True`` raises an error; `init` continues it.

    Raises
    ------
    ValueError
        That says where, if the arrays are not trees, do not fit together, or hold what
        this package cannot evaluate.
    TypeError
        If `model` is not a TreeModel.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import from_tree_model, to_tree_model
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> again = from_tree_model(to_tree_model(ranker))
    >>> again.predict([[2.0]]) == ranker.predict([[2.0]])
    array([ True])
    """
    if not isinstance(model, TreeModel):
        raise TypeError(
            f"model must be a TreeModel, as from to_tree_model, got an object of "
            f"{type(model).__name__}"
        )
    if model.estimator not in ESTIMATORS:
        raise ValueError(
            f"estimator must be one of {', '.join(ESTIMATORS)}, got {model.estimator!r}"
        )
    model.check()
    if model.estimator == LambdaMARTRanker.__name__:  # which has no base score
        model = model.with_base_score_in_leaves()
    cls = ESTIMATORS[model.estimator]
    unknown = set(model.parameters) - set(cls().get_params())
    if unknown:
        raise ValueError(f"parameters: {model.estimator} has no {sorted(unknown)}")
    estimator = cls(**model.parameters)
    training = model.training or unknown_training(model)
    estimator.n_features_in_ = model.n_features
    if model.has_feature_names:
        names = [feature.name for feature in model.features]
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._categories = feature_categories(model.features)
    estimator._mapper = bin_mapper(model.features, training)
    estimator._is_imported = model.training is None
    if model.absent_is_missing:
        estimator._absent_is_missing = True
    if model.stages_changed:
        estimator._stages_changed = True
    estimator._seed = training.seed
    estimator.ensemble_ = ensemble_of(model, training.category_bins)
    estimator.n_iter_ = len(model.trees)
    curves = training.curves
    training_curve = "loss_curve_" if "loss_curve_" in curves else "train_score_"
    for name in (training_curve, "validation_score_", *curves):
        setattr(estimator, name, np.array(curves.get(name, ()), dtype=np.float64))
    estimator.evals_result_ = {
        set_name: {name: np.array(values) for name, values in set_curves.items()}
        for set_name, set_curves in training.evals_result.items()
    }
    if isinstance(estimator, LambdaMARTRanker):
        estimator.init_, estimator._uses_init_score = None, model.uses_init_score
    else:
        estimator.base_score_ = model.base_score
    if model.classes is not None:
        estimator.classes_, estimator._sigma = model.classes, model.sigma
    if training.position_bias is not None:
        estimator.position_bias_ = np.array(training.position_bias, dtype=np.float64)
    if training.label_forces is not None:
        estimator.label_forces_ = np.array(training.label_forces, dtype=np.float64)
    try:
        parameters = read_parameters(cls._parameters, estimator)
        parameters.constraints(estimator._features)
    except (TypeError, ValueError) as error:
        raise ValueError(f"parameters: {error}") from None
    estimator._check_state()
    return estimator


def unknown_training(model: TreeModel) -> TrainingState:
    """Return what stands for the training of another library's trees."""
    bins: dict[int, tuple[int, ...]] = {}
    shared_from = {}
    for j, known in categories_of(model.features).items():
        position = {category: i for i, category in enumerate(known)}
        group = np.zeros(len(position), dtype=np.int64)
        for tree in model.trees:
            for node, categories in tree.left_categories.items():
                if tree.feature[node] == j:
                    goes_left = np.zeros(len(position), dtype=np.int64)
                    goes_left[[position[category] for category in categories]] = 1
                    # categories that are in the same sets stay in one group
                    group = np.unique(2 * group + goes_left, return_inverse=True)[1]
        n_bins = int(group.max(initial=-1)) + 1
        if n_bins > MISSING_BIN:
            raise ValueError(
                f"its trees separate {n_bins} groups of the categories of feature "
                f"{model.features[j].name!r}, but here a feature has at most "
                f"{MISSING_BIN}: train with fewer"
            )
        bins[j] = tuple(group.tolist())
        shared_from[j] = n_bins if n_bins == len(known) else n_bins - 1
    return TrainingState(
        seed=0,
        bin_thresholds=((),) * model.n_features,
        category_bins=bins,
        shared_from=shared_from,
        mean_thresholds=dict.fromkeys(bins, ()),
        curves={},
        evals_result={},
    )


def bin_mapper(features: Sequence[Feature], training: TrainingState) -> BinMapper:
    """Return the bins of all features; features of numbers may have none."""
    thresholds: list[NDArray[Any]]
    thresholds = [np.array(t, dtype=np.float64) for t in training.bin_thresholds]
    categories = categories_of(features)
    bins = [np.array(training.category_bins[j], dtype=np.uint8) for j in categories]
    for j, own in zip(categories, bins, strict=True):
        thresholds[j] = np.arange(int(own.max(initial=0))) + 0.5
    values = [
        np.array(np.arange(len(c)) if features[j].is_text else c, np.float64)
        for j, c in categories.items()
    ]
    means = [training.mean_thresholds[j] for j in categories]
    mean_threshold = np.full((len(means), max(map(len, means), default=0)), np.inf)
    for row, known in zip(mean_threshold, means, strict=True):
        row[: len(known)] = known
    of_categories = CategoryBins(
        feature=np.array([*categories], dtype=np.int64),
        first=np.cumsum([0, *map(len, values)], dtype=np.int64),
        value=np.concatenate([np.empty(0), *values]),
        bin=np.concatenate([np.empty(0, dtype=np.uint8), *bins]),
        shared_from=np.array([training.shared_from[j] for j in categories], np.int64),
        mean_threshold=mean_threshold,
    )
    return BinMapper(thresholds, of_categories)


def ensemble_of(model: TreeModel, bins: Mapping[int, Sequence[int]]) -> TreeEnsemble:
    """Return the trees in the form that an estimator stores."""
    sizes = [len(tree.feature) for tree in model.trees]
    first_node = np.cumsum([0, *sizes], dtype=np.int64)[:-1]
    category_nodes, left_bins = [], []  # which bins go left at a node of categories
    for m, (first, tree) in enumerate(zip(first_node, model.trees, strict=True)):
        for node, categories in sorted(tree.left_categories.items()):
            j = int(tree.feature[node])
            goes_left = np.zeros(MISSING_BIN + 1, dtype=np.bool_)
            right = set()
            feature, left = model.features[j], set(categories)
            for category, b in zip(feature.categories or (), bins[j], strict=True):
                if category in left:
                    goes_left[b] = True
                else:
                    right.add(b)
            if goes_left[list(right)].any():
                raise ValueError(
                    f"trees[{m}]: node {node} divides categories of {feature.name!r} "
                    "that share a bin"
                )
            goes_left[MISSING_BIN] = tree.missing_left[node]
            category_nodes.append(first + node)
            left_bins.append(goes_left)
    sets = np.array(left_bins, dtype=np.bool_).reshape(-1, MISSING_BIN + 1)
    return TreeEnsemble(
        first_node=first_node,
        category_node=np.array(category_nodes, dtype=np.int64),
        category_set=np.packbits(sets, axis=1, bitorder="little"),
        **{
            name: np.concatenate([getattr(tree, name) for tree in model.trees])
            for name in ("feature", "threshold", *NODE_ARRAYS)
        },
    )


def feature_categories(features: Sequence[Feature]) -> FeatureCategories:
    """Return the categorical features in the form that an estimator stores."""
    known = categories_of(features)
    return FeatureCategories(
        np.array([*known], dtype=np.int64),
        np.array([features[j].is_text for j in known], dtype=np.bool_),
        [np.array(c if features[j].is_text else (), np.str_) for j, c in known.items()],
    )


def training_state(fitted: BoostedTrees) -> TrainingState | None:
    """Return what a warm start needs; None if it cannot continue this estimator."""
    if fitted._is_imported:
        return None
    mapper = fitted._mapper
    bins = mapper.categories
    categorical = bins.feature.tolist()
    return TrainingState(
        seed=fitted._seed,
        bin_thresholds=tuple(
            () if j in bins.feature else tuple(thresholds.tolist())
            for j, thresholds in enumerate(mapper.bin_thresholds)
        ),
        category_bins={
            j: tuple(own.tolist()) for j, own in divided(bins, bins.bin).items()
        },
        shared_from=dict(zip(categorical, bins.shared_from.tolist(), strict=True)),
        mean_thresholds={
            j: tuple(thresholds[np.isfinite(thresholds)].tolist())
            for j, thresholds in zip(categorical, bins.mean_threshold, strict=True)
        },
        curves={
            name: tuple(getattr(fitted, name).tolist())
            for name in CURVES
            if hasattr(fitted, name)
        },
        evals_result={
            set_name: {name: tuple(v.tolist()) for name, v in curves.items()}
            for set_name, curves in fitted.evals_result_.items()
        },
        position_bias=getattr(fitted, "position_bias_", None),
        label_forces=getattr(fitted, "label_forces_", None),
    )
