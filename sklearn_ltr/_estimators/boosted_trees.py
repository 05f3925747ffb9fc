"""Boosted trees for any objective: what rankers and MART have in common.

    F_0 = the initial scores,    F_m = F_{m-1} + eta * tree m

A fit reads its rows, and calls `bin_rows` and `boost_trees`; workers of a cluster call
them together.  Several fits to the same rows share the bins of one `bin_table`.
`FittedTrees` scores rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sklearn_ltr._comm import Comm
from sklearn_ltr._compile import STEPS_PER_THREAD, ThreadTeam, effective_n_threads
from sklearn_ltr._data import TrainingData
from sklearn_ltr._data.categories import FeatureCategories
from sklearn_ltr._data.features import (
    check_columns,
    check_finite,
    find_features,
    read_feature_table,
)
from sklearn_ltr._data.query_index import QueryIndex
from sklearn_ltr._data.tables import Table, row_parts
from sklearn_ltr._estimators.base import FitParameters, StepListener, require
from sklearn_ltr._estimators.monitor import (
    TRAIN,
    EvalsResult,
    Monitor,
    ScoredMeasure,
    curves_of,
    first_validation_curve,
    name_sets,
)
from sklearn_ltr._parameters import LARGEST_SCORE
from sklearn_ltr._trees.binning import (
    BinMapper,
    BinnedData,
    BinnedTable,
    bin_training,
    fit_bins,
    hash_bins,
    reorder_rows,
    sample_rows,
    shared_bins,
)
from sklearn_ltr._trees.boosting import TreeObjective, boost
from sklearn_ltr._trees.categories import CategoryBins, TrainingCategories
from sklearn_ltr._trees.constraints import Constraints, read_constraints
from sklearn_ltr._trees.ensemble import TreeEnsemble
from sklearn_ltr._trees.growing import TreeGrower
from sklearn_ltr._trees.leaf_values import add_binned
from sklearn_ltr._trees.parameters import TreeParameters, growth_parameters
from sklearn_ltr._trees.sampling import TreeSampler
from sklearn_ltr._trees.workspace import GrownTree

FloatArray = NDArray[np.float64]

# Attributes that every fitted estimator of trees has
FITTED_STATE = (
    "ensemble_",
    "n_features_in_",
    "n_iter_",
    "validation_score_",
    "_mapper",
    "_categories",
    "_seed",
)


@dataclass(frozen=True, kw_only=True)
class BoostingParameters(TreeParameters, FitParameters):
    """The parameters of a fit of boosted trees."""


class BoostedSet(NamedTuple):
    """Rows that trees are grown on, or evaluated on."""

    data: TrainingData
    base_score: FloatArray  # (n_rows,): F_0
    binned: BinnedData
    measures: Mapping[str, ScoredMeasure] = {}  # by name


class Kept(NamedTuple):
    """What a warm start keeps of the last fit; of a new fit, nothing but its seed."""

    seed: int
    mapper: BinMapper | None = None
    ensemble: TreeEnsemble = TreeEnsemble.empty()
    evals_result: EvalsResult = {}
    attributes: Mapping[str, Any] = {}  # all fitted attributes of the last fit

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.ensemble)


def keep(
    attributes: Mapping[str, Any],
    parameters: BoostingParameters,
    draw_seed: Callable[[], int],
) -> Kept:
    """Return what a fit continues of the last one; a ValueError if it cannot."""
    p = parameters
    if not p.warm_start or len(attributes.get("ensemble_", ())) == 0:
        return Kept(draw_seed())
    ensemble = attributes["ensemble_"]
    if p.n_estimators < len(ensemble):
        raise ValueError(
            f"n_estimators={p.n_estimators} is less than the "
            f"{len(ensemble)} trees that warm_start keeps"
        )
    if attributes.get("_is_imported", False):
        raise ValueError(
            "the trees that warm_start would keep were not grown by this "
            "estimator, so their bins and random numbers are not known: continue "
            "with a new estimator, whose init is this one"
        )
    return Kept(
        attributes["_seed"],
        attributes["_mapper"],
        ensemble,
        attributes["evals_result_"],
        dict(attributes),  # a copy, as the fit will replace them
    )


def fit_threads(n_jobs: int | None, work: int, comm: Comm) -> int:
    """Return the number of threads of a fit of about `work` steps, on each worker."""
    own = effective_n_threads(n_jobs, work)
    if n_jobs is None and comm.n_threads is not None:
        own = max(1, min(comm.n_threads, work // STEPS_PER_THREAD))
    return int(min(comm.gather(own)))


def read_tree_features(
    estimator: BaseEstimator,
    X: Any,
    categories: FeatureCategories,
    name: str = "X",
    *,
    reset: bool = False,
    check_values: bool = True,
) -> Table:
    """Return X as a checked table, with numbers in its categorical columns."""
    # without `check_values`, `FittedTrees.scores` finds infinite values
    if len(categories.feature) > 0:
        if not reset:
            check_columns(estimator, X, name)
        X = categories.encode(X, name)
    return read_feature_table(
        estimator, X, reset=reset, name=name, check_values=check_values
    )


def read_categories(X: Any, categorical_features: Any, kept: Kept) -> FeatureCategories:
    """Return the categories of X, or those of the trees that a warm start keeps."""
    if kept.n_trees == 0:
        return FeatureCategories.learn(X, categorical_features)
    categories: FeatureCategories = kept.attributes["_categories"]
    features = find_features(X, categorical_features, "X")
    if not np.array_equal(features, categories.feature):
        raise ValueError(
            f"categorical_features are the columns {features.tolist()} of X, but when "
            "the trees that warm_start keeps were grown, they were "
            f"{categories.feature.tolist()}: give the same, or fit with "
            "warm_start=False"
        )
    return categories


def constraints_of(
    parameters: TreeParameters,
    categories: FeatureCategories,
    n_features: int,
    feature_names: NDArray[Any] | None,
) -> Constraints:
    """Return the constraints of trees on the columns that a fit has read."""
    return read_constraints(
        parameters.monotonic_cst,
        parameters.interaction_cst,
        feature_names,
        categories.mask(n_features),
    )


def bin_rows(
    data: TrainingData,
    base_score: FloatArray,
    parameters: TreeParameters,
    categorical: NDArray[np.int64],
    kept: Kept,
    index: QueryIndex,
    team: ThreadTeam,
) -> tuple[BinMapper, BoostedSet]:
    """Learn the bins, unless they are known, and bin the training rows."""
    # The rows are sorted by what trees see of them: bins, targets, weights and initial
    # scores.  So a change of a feature that leaves its bins as they are, such as
    # another scale, leaves the order and the model as they are.
    table = data.X
    if isinstance(table, BinnedTable):
        places = table.place[data.rows]
        order = data.content_order(table.hashes[places], base_score)
        binned = table.take(places[order], team)
        return table.mapper, BoostedSet(
            data.reordered(order), base_score[order], binned
        )
    p, mapper = parameters, kept.mapper
    trained = TrainingCategories.of(data, categorical, index)
    if mapper is None:
        mapper = learn_bins(data, p, categorical, trained, kept.seed, index, team)
    binned = bin_training(mapper, data, trained, p.category_smoothing, team)
    order = data.content_order(hash_bins(binned, team), base_score)
    reorder_rows(binned, order, team)
    return mapper, BoostedSet(data.reordered(order), base_score[order], binned)


def learn_bins(
    data: TrainingData,
    parameters: TreeParameters,
    categorical: NDArray[np.int64],
    trained: TrainingCategories,
    seed: int,
    index: QueryIndex,
    team: ThreadTeam,
) -> BinMapper:
    """Learn the bins of all features from the training rows."""
    p = parameters
    bins = CategoryBins.fit(
        categorical,
        trained.sums,
        p.max_bins,
        p.min_samples_leaf,
        p.category_smoothing,
    )
    sampled = sample_rows(data, index, seed, team)
    return fit_bins(data.X, sampled, p.max_bins, bins, index.comm, team)


def bin_table(
    data: TrainingData,
    learned: TrainingData,
    parameters: TreeParameters,
    categorical: NDArray[np.int64],
    seed: int,
    index: QueryIndex,
    team: ThreadTeam,
) -> BinnedTable:
    """Learn the bins from the rows to learn from, and bin all that fits may need."""
    # sorted as in a fit, so that fits to all of the rows share them without a copy
    smoothing = parameters.category_smoothing
    trained = TrainingCategories.of(learned, categorical, index)
    mapper = learn_bins(learned, parameters, categorical, trained, seed, index, team)
    binned = bin_training(mapper, data, trained, smoothing, team)
    hashes = hash_bins(binned, team)
    order = data.content_order(hashes)
    reorder_rows(binned, order, team)
    place = np.full(data.X.shape[0], -1)
    place[data.rows[order]] = np.arange(data.n_rows)
    return BinnedTable(mapper, binned, hashes[order], place)


def boost_trees(
    train: BoostedSet,
    validation: list[BoostedSet],
    objective: TreeObjective,
    parameters: BoostingParameters,
    constraints: Constraints,
    mapper: BinMapper,
    kept: Kept,
    index: QueryIndex,
    team: ThreadTeam,
    tasks: StepListener | None,
) -> dict[str, Any]:
    """Grow trees until the last or early stopping; return the fitted attributes."""
    # what trees may be like, and what each is grown on
    p, n_features = parameters, train.data.X.shape[1]
    growth = growth_parameters(p, constraints, index.n_rows)
    numbers = index.row_numbers.astype(np.uint32)  # modulo 2^32
    grower = TreeGrower(train.binned, growth, team, numbers, index.comm)
    n_tree_features, n_split_features = p.count_features(n_features)
    sampler = TreeSampler(
        p.sampled_fraction(index.n_rows),
        n_features,
        n_tree_features,
        n_split_features,
        2 * growth.max_leaf_nodes - 1,
        kept.seed,
    )
    # a warm start goes on from the scores and the curves of the trees that it keeps
    sets = [train, *validation]
    scores = [scores_so_far(one, mapper, kept.ensemble, team) for one in sets]
    names = [TRAIN, *name_sets(len(validation))]
    curves = curves_of(
        {name: one.measures for name, one in zip(names, sets, strict=True)},
        kept.evals_result,
        kept.n_trees,
    )
    monitor = Monitor(
        curves,
        first_validation_curve(curves) if p.early_stopping else None,
        p.n_iter_no_change,
        p.tol,
        p.verbose,
        "tree",
        kept.n_trees,
        p.n_estimators,
        index.comm.print_line,
    )

    def record() -> bool:
        for one, of_set in zip(sets, scores, strict=True):
            for measure in one.measures.values():
                measure.update(of_set)
        return monitor.record(kept.n_trees + len(trees))

    def fitted() -> dict[str, Any]:
        ensemble = kept.ensemble
        if trees:
            ensemble += TreeEnsemble.from_grown(trees, mapper)
        return {
            "ensemble_": ensemble,
            "n_iter_": len(ensemble),
            "train_score_": monitor.train_values,
            "validation_score_": monitor.stopping_values,
            "evals_result_": monitor.result(),
            "_mapper": mapper,
            "_seed": kept.seed,
            "_is_imported": False,
            **objective.fitted(len(trees)),
        }

    # the first values are those of the initial scores, before any tree
    trees: list[GrownTree] = []
    record()
    steps = p.learning_rates(range(kept.n_trees, p.n_estimators))
    for tree in boost(grower, objective, sampler, scores[0], steps):
        # `boost` has added the tree to the scores of the training rows
        trees.append(tree)
        check_step(tree, p)
        for held, held_scores in zip(validation, scores[1:], strict=True):
            add_binned(held.binned, tree, held_scores, team)
        stops = record()
        if tasks is not None:
            stops = tasks.end_step(fitted, last=stops)
        if stops:
            break

    # with early stopping, keep the trees up to the best one
    n_iter = kept.n_trees + len(trees)
    best = None if monitor.followed is None else max(1, monitor.best_index)
    monitor.print_end(n_iter, best)
    if best is not None:
        n_iter = best
    of_all = fitted()
    return {
        **of_all,
        "ensemble_": of_all["ensemble_"].part(0, n_iter),
        "n_iter_": n_iter,
        **objective.fitted(max(0, n_iter - kept.n_trees)),
    }


def scores_so_far(
    one: BoostedSet, mapper: BinMapper, ensemble: TreeEnsemble, team: ThreadTeam
) -> FloatArray:
    """Return F of the rows: their initial scores, and the trees of earlier fits."""
    if len(ensemble) == 0:  # do not read X: it may be on disk
        return one.base_score.copy()
    data, categories = one.data, mapper.categories
    # a training row whose category shares a bin has another bin than in prediction
    features, bins = shared_bins(one.binned, categories)
    known = np.zeros((data.X.shape[0], 1 + len(features)))
    known[data.rows] = np.column_stack((one.base_score, bins))
    found = []
    for first, table in row_parts(data.X):
        of_part = known[first : first + table.shape[0]]
        encoded = categories.encode(table)
        if len(features) > 0:
            encoded[:, features] = of_part[:, 1:]
        found.append(ensemble.predict(encoded, team, of_part[:, 0].copy()))
    return np.asarray(np.concatenate(found)[data.rows])


def check_step(tree: GrownTree, parameters: TreeParameters) -> None:
    """Raise a ValueError if a tree leads to scores too large to compute with."""
    largest = np.abs(tree.value).max()
    if not largest <= LARGEST_SCORE:
        rate = parameters.learning_rate
        at = "" if callable(rate) else f"={rate:g}"
        raise ValueError(
            f"the scores diverge: a tree adds {largest:.3g} to them; lower "
            f"learning_rate{at}, or raise "
            f"l2_regularization={parameters.l2_regularization:g}"
        )


class FittedTrees(NamedTuple):
    """Fitted trees, and how they see X."""

    categories: FeatureCategories
    mapper: BinMapper
    ensemble: TreeEnsemble

    def scores(
        self, X: Table, base_score: FloatArray, n_jobs: int | None
    ) -> FloatArray:
        """Return initial score plus all trees of each row; all must be finite."""
        # the ensemble reads all of X anyway and returns NaN for an infinite value, so X
        # need not be read once more to find them
        work = X.shape[0] * len(self.ensemble)
        with ThreadTeam(effective_n_threads(n_jobs, work)) as team:
            encoded = self.mapper.categories.encode(X)
            scores = self.ensemble.predict(encoded, team, base_score)
        if np.isnan(scores).any():
            check_finite(X, "X", allow_nan=True)
        return scores

    def stages(self, X: Table, base_score: FloatArray) -> Iterator[FloatArray]:
        """Yield F of each row of X after each tree."""
        encoded = self.mapper.categories.encode(X)
        yield from self.ensemble.staged_predict(encoded, base_score)

    def leaves(self, X: Table, n_jobs: int | None) -> NDArray[np.int64]:
        """Return the leaf of each tree that a row comes to, (n_rows, n_trees)."""
        encoded = self.mapper.categories.encode(X)
        work = X.shape[0] * len(self.ensemble)
        with ThreadTeam(effective_n_threads(n_jobs, work)) as team:
            return self.ensemble.leaves(encoded, team)

    def importances(self, n_features: int) -> FloatArray:
        """Return the share of each feature in the gain of all splits."""
        gains = self.ensemble.gain_by_feature(n_features)
        total = gains.sum()
        return gains / total if total > 0 else gains

    def check(self, n_features: int, n_iter: int) -> None:
        """Raise an error unless the parts fit each other, and these numbers."""
        mapper, trees = self.mapper, self.ensemble
        mapper.check(n_features)
        self.categories.check(n_features)
        require(
            np.array_equal(self.categories.feature, mapper.categories.feature),
            "its categories are not those of its bins",
        )
        trees.check(n_features)
        require(
            np.isin(
                trees.feature[trees.category_node], mapper.categories.feature
            ).all(),
            "it has category sets of a feature without categories",
        )
        require(n_iter == len(trees), f"n_iter_ is {n_iter!r} for {len(trees)} trees")
