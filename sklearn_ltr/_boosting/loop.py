"""Boosted trees for any cost, of rankers and MART alike.

    F_0 = the initial scores,    F_m = F_{m-1} + eta * tree m

Every fit takes the same steps: an estimator reads its arguments (`FitData`), `bin_data`
turns the rows into bins, and `boost_trees` grows trees on them.  On a cluster, workers
call the last two together, each with its own rows.  `FittedTrees` scores rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from sklearn_ltr._comm import ONE_PROCESS, Comm
from sklearn_ltr._compile import STEPS_PER_THREAD, ThreadTeam, effective_n_threads
from sklearn_ltr._data import FitData, TrainingData
from sklearn_ltr._data.categories import FeatureCategories
from sklearn_ltr._data.features import (
    check_columns,
    check_finite,
    find_features,
    name_features,
    read_feature_table,
    text_features,
)
from sklearn_ltr._data.query_index import QueryIndex
from sklearn_ltr._data.tables import Matrix
from sklearn_ltr._estimators.attributes import FEATURES, Attribute, Attributes
from sklearn_ltr._estimators.base import (
    FitParameters,
    StepListener,
    draw_seed,
    require,
)
from sklearn_ltr._estimators.monitor import (
    TRAIN,
    EvalsResult,
    Monitor,
    ScoredMeasure,
    curves_of,
    first_validation_curve,
    name_sets,
)
from sklearn_ltr._estimators.nothing_learned import warn_if_nothing_learned
from sklearn_ltr._parameters import LARGEST_SCORE
from sklearn_ltr._trees.binning import (
    BinMapper,
    BinnedData,
    BinnedTable,
    KnownBins,
    bin_training,
    fit_bins,
    hash_bins,
    reorder_rows,
    sample_rows,
    shared_category_bins,
)
from sklearn_ltr._trees.boosting import TreeObjective, boost
from sklearn_ltr._trees.categories import CategoryBins, TrainingCategories
from sklearn_ltr._trees.constraints import Constraints, read_constraints
from sklearn_ltr._trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._trees.growth.grower import TreeGrower
from sklearn_ltr._trees.growth.leaf_values import add_binned
from sklearn_ltr._trees.growth.sampling import TreeSampler
from sklearn_ltr._trees.growth.workspace import GrownTree
from sklearn_ltr._trees.parameters import TreeParameters, growth_parameters
from sklearn_ltr._typing import FeaturesLike, FloatArray, MatrixLike

CURVE = "(n_trees + 1,)"
STEPS_PER_VALUE = 4  # of X: a fit of 500,000 values is faster with two threads
#: attributes of every fitted estimator of trees
TREE_ATTRIBUTES: Attributes = {
    **FEATURES,
    "_categories": Attribute(by_reading=True),
    "_mapper": Attribute(),
    "_seed": Attribute(),
    "_is_imported": Attribute(),
    "_absent_is_missing": Attribute(when="a model of XGBoost is read"),
    "ensemble_": Attribute(),
    "n_iter_": Attribute(),
    "evals_result_": Attribute(),
    "validation_score_": Attribute(CURVE),
}


@dataclass(frozen=True, kw_only=True)
class BoostingParameters(TreeParameters, FitParameters):
    """The parameters of a fit of boosted trees."""


class Cost(Protocol):
    """The cost that the trees of a fit minimise, and the measures after each tree."""

    train_curve: str  # attribute that holds the values of the first training measure

    def learned(self, data: TrainingData) -> TrainingData:
        """Return the queries to learn from, or raise a ValueError."""

    def objective(
        self, data: TrainingData, kept: KeptTrees, index: QueryIndex, team: ThreadTeam
    ) -> TreeObjective:
        """Return the objective of the queries to learn from."""

    def training_measures(
        self,
        data: TrainingData,
        learned: TrainingData,
        index: QueryIndex,
        *,
        others_measured: bool,
    ) -> dict[str, ScoredMeasure]:
        """Return measures of all training data; they get the scores of `learned`."""

    def measures(self, data: TrainingData, comm: Comm) -> dict[str, ScoredMeasure]:
        """Return the measures of validation data, by name."""


class KeptTrees(NamedTuple):
    """The parts of the last fit that a warm start keeps; of a new fit, only a seed."""

    seed: int
    mapper: BinMapper | None = None
    ensemble: TreeEnsemble = TreeEnsemble.empty()
    evals_result: EvalsResult = {}
    attributes: Mapping[str, Any] = {}  # all attributes of the last fit

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.ensemble)

    @property
    def is_new(self) -> bool:
        """Whether there is nothing to continue."""
        return self.n_trees == 0


def keep_trees(
    attributes: Mapping[str, Any],
    parameters: BoostingParameters,
    seed: int | None = None,
) -> KeptTrees:
    """Return the parts of the last fit to continue; a ValueError if it cannot be."""
    # `seed` is for a new fit, if it was drawn already
    p = parameters
    if not p.warm_start or len(attributes.get("ensemble_", ())) == 0:
        return KeptTrees(draw_seed(p.random_state) if seed is None else seed)
    ensemble = attributes["ensemble_"]
    if p.n_estimators < len(ensemble):
        raise ValueError(
            f"n_estimators={p.n_estimators} is less than the "
            f"{len(ensemble)} trees that warm_start keeps"
        )
    if attributes.get("_is_imported", False):
        raise ValueError(
            "warm_start would keep trees that this estimator has not grown, so their "
            "bins and random numbers are unknown: continue with a new estimator, whose "
            "init is this one"
        )
    return KeptTrees(
        attributes["_seed"],
        attributes["_mapper"],
        ensemble,
        attributes["evals_result_"],
        dict(attributes),  # a copy, as the fit will replace them
    )


def fit_threads(n_jobs: int | None, n_values: int, comm: Comm) -> int:
    """Return the number of threads of a fit to so many values of X, on each worker."""
    work = STEPS_PER_VALUE * n_values
    own = effective_n_threads(n_jobs, work)
    if n_jobs is None and comm.n_threads is not None:
        own = max(1, min(comm.n_threads, work // STEPS_PER_THREAD))
    return int(min(comm.gather(own)))


def read_tree_features(
    estimator: BaseEstimator,
    X: MatrixLike,
    categories: FeatureCategories,
    name: str = "X",
    *,
    reset: bool = False,
    check_values: bool = True,
) -> Matrix:
    """Return X as a checked matrix, with numbers in its categorical columns."""
    # without `check_values`, `FittedTrees.scores` finds infinite values
    if not reset and getattr(estimator, "_absent_is_missing", False) and issparse(X):
        raise ValueError(
            f"{name} is sparse, but this model comes from XGBoost, which takes entries "
            "that a sparse matrix does not store as missing, not as 0: give a dense "
            "array, with NaN where a value is missing"
        )
    given = X
    if len(categories.feature) > 0:
        if not reset:
            check_columns(estimator, X, name)
        X = categories.encode(X, name)
    try:
        return read_feature_table(
            estimator, X, reset=reset, name=name, check_values=check_values
        )
    except ValueError as error:
        text = text_features(given) if reset else []
        if not text:
            raise
        features = sorted({*text, *categories.feature.tolist()})
        named = name_features(given, features)
        raise ValueError(
            f"{error}. For text give categorical_features={named!r}"
        ) from None


def read_categories(
    X: MatrixLike, categorical_features: FeaturesLike, kept: KeptTrees
) -> FeatureCategories:
    """Return the categories of X, or of the trees that a warm start keeps."""
    if kept.is_new:
        return FeatureCategories.learn(X, categorical_features)
    categories: FeatureCategories = kept.attributes["_categories"]
    features = find_features(X, categorical_features, "X")
    if not np.array_equal(features, categories.feature):
        raise ValueError(
            f"categorical_features are the columns {features.tolist()} of X, but the "
            f"trees that warm_start keeps have {categories.feature.tolist()}: give the "
            "same, or fit with warm_start=False"
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


# --- bins -------------------------------------------------------------------------


class BoostedSet(NamedTuple):
    """Binned rows, and the scores that trees are added to."""

    binned: BinnedData
    scores: FloatArray  # (n_rows,): F so far
    measures: Mapping[str, ScoredMeasure]  # by name


class BinnedFit(NamedTuple):
    """Binned data, which trees are grown on and measured on."""

    learned: TrainingData  # without its features: the cost is computed from it
    train: BoostedSet  # the same rows
    validation: list[BoostedSet]
    mapper: BinMapper
    query_index: QueryIndex  # of the queries to learn from
    n_threads: int


def bin_data(
    data: FitData,
    cost: Cost,
    parameters: BoostingParameters,
    categorical: NDArray[np.int64],
    kept: KeptTrees,
    comm: Comm = ONE_PROCESS,
) -> BinnedFit:
    """Turn all rows into bins: X is not needed after this; all workers call it."""
    p = parameters
    learned = cost.learned(data.train)
    index = QueryIndex.locate(learned, comm)
    n_threads = fit_threads(p.n_jobs, data.train.X.size, comm)
    with ThreadTeam(n_threads) as team:
        mapper, learned, binned = bin_learned(
            learned, p, categorical, kept, index, team
        )
        others_measured = len(data.validation) > 0 or p.verbose > 0
        measures = cost.training_measures(
            data.train, learned, index, others_measured=others_measured
        )
        scores = scores_so_far(learned, binned, mapper, kept.ensemble, team)
        train = BoostedSet(binned, scores, measures)
        validation = []
        for held in data.validation:
            measures = cost.measures(held, comm)
            binned = mapper.transform(held.X, held.rows, team)
            scores = scores_so_far(held, binned, mapper, kept.ensemble, team)
            validation.append(BoostedSet(binned, scores, measures))
    return BinnedFit(
        learned.without_features(), train, validation, mapper, index, n_threads
    )


def bin_learned(
    data: TrainingData,
    parameters: TreeParameters,
    categorical: NDArray[np.int64],
    kept: KeptTrees,
    index: QueryIndex,
    team: ThreadTeam,
) -> tuple[BinMapper, TrainingData, BinnedData]:
    """Learn the bins, unless they are known; return them, the rows, and their bins."""
    # The rows are sorted by all that trees see: bins, targets, weights and initial
    # scores.  So a change of a feature that does not change its bins, such as another
    # scale, does not change the order and the model.
    p, known = parameters, data.X.known_bins
    if known is not None:
        order = data.content_order(known.hashes[known.place[data.rows]])
        data = data.reordered(order)
        return known.mapper, data, known.mapper.transform(data.X, data.rows, team)
    trained = TrainingCategories.find(data, categorical, index)
    mapper = kept.mapper
    if mapper is None:
        mapper = learn_bins(data, p, categorical, trained, kept.seed, index, team)
    binned = bin_training(mapper, data, trained, p.category_smoothing, team)
    order = data.content_order(hash_bins(binned, team))
    reorder_rows(binned, order, team)
    return mapper, data.reordered(order), binned


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
        p.smallest_leaf(index.n_rows),
        p.category_smoothing,
    )
    sampled = sample_rows(data, index, seed, team)
    return fit_bins(data.X, sampled, p.max_bins, bins, index.comm, team)


def learn_shared_table(
    data: TrainingData,
    learned: TrainingData,
    parameters: BoostingParameters,
    categorical: NDArray[np.int64],
    seed: int,
) -> BinnedTable:
    """Learn bins from the rows to learn from, and bin all rows that fits may need."""
    # sorted as in a fit, so that fits to all of the rows share them without a copy
    p, index = parameters, QueryIndex.locate(learned, ONE_PROCESS)
    with ThreadTeam(fit_threads(p.n_jobs, data.X.size, ONE_PROCESS)) as team:
        trained = TrainingCategories.find(learned, categorical, index)
        mapper = learn_bins(learned, p, categorical, trained, seed, index, team)
        binned = bin_training(mapper, data, trained, p.category_smoothing, team)
        hashes = hash_bins(binned, team)
        columns = replace(data.columns, init_score=None)  # members may have others
        order = replace(data, columns=columns).content_order(hashes)
        reorder_rows(binned, order, team)
    n_rows = data.X.shape[0]
    place = np.full(n_rows, -1)
    place[data.rows[order]] = np.arange(data.n_rows)
    known = KnownBins(mapper, binned.columns, hashes[order], place)
    return BinnedTable(data.X, np.arange(n_rows), known)


def scores_so_far(
    data: TrainingData,
    binned: BinnedData,
    mapper: BinMapper,
    ensemble: TreeEnsemble,
    team: ThreadTeam,
) -> FloatArray:
    """Return F of the rows: their initial scores, and the trees of earlier fits."""
    if len(ensemble) == 0:  # do not read X: it may be on disk
        return data.init_score.copy()
    # a training row whose category shares a bin has another bin than in prediction
    features, bins = shared_category_bins(binned, mapper.categories)
    known = np.zeros((data.X.shape[0], 1 + len(features)))
    known[data.rows] = np.column_stack((data.init_score, bins))
    found = []
    for first, values in data.X.parts():
        own = known[first : first + values.shape[0]]
        encoded = mapper.categories.encode(values)
        if len(features) > 0:
            encoded[:, features] = own[:, 1:]
        found.append(ensemble.predict(encoded, team, own[:, 0].copy()))
    return np.asarray(np.concatenate(found)[data.rows])


# --- trees ------------------------------------------------------------------------


def boost_trees(
    fit: BinnedFit,
    cost: Cost,
    parameters: BoostingParameters,
    constraints: Constraints,
    kept: KeptTrees,
    tasks: StepListener | None,
) -> dict[str, object]:
    """Grow trees until the last or early stopping; return the fitted attributes."""
    p, (_, train, validation, mapper, index, n_threads) = parameters, fit
    monitor = new_monitor(fit, p, kept)
    trees: list[GrownTree] = []

    def record(team: ThreadTeam) -> bool:
        for one in (train, *validation):
            for measure in one.measures.values():
                measure.update(one.scores, team)
        return monitor.record(kept.n_trees + len(trees))

    def fitted() -> dict[str, Any]:
        ensemble = kept.ensemble
        if trees:
            ensemble += TreeEnsemble.from_grown(trees, mapper)
        return {
            "ensemble_": ensemble,
            "n_iter_": len(ensemble),
            cost.train_curve: monitor.train_values,
            "validation_score_": monitor.stopping_values,
            "evals_result_": monitor.result(),
            "_mapper": mapper,
            "_seed": kept.seed,
            "_is_imported": False,
            **objective.fitted(len(trees)),
        }

    with ThreadTeam(n_threads) as team:
        objective = cost.objective(fit.learned, kept, index, team)
        symmetric = p.grows_symmetric(index.n_queries)
        growth = growth_parameters(p, constraints, index.n_rows, symmetric)
        numbers = index.row_numbers.astype(np.uint32)  # modulo 2^32
        grower = TreeGrower(train.binned, growth, team, numbers, index.comm)
        n_features = len(train.binned.columns)
        n_nodes = 2 * growth.max_leaf_nodes - 1
        fraction = p.sampled_fraction(index.n_rows)
        n_drawn = p.count_features(n_features)
        sampler = TreeSampler(fraction, n_features, *n_drawn, n_nodes, kept.seed)

        # the first values are measured on the initial scores, before any tree
        record(team)
        steps = p.learning_rates(range(kept.n_trees, p.n_estimators))
        for tree in boost(grower, objective, sampler, train.scores, steps):
            # `boost` has added the tree to the scores of the training rows
            trees.append(tree)
            check_step(tree, p)
            for held in validation:
                add_binned(held.binned, tree, held.scores, team)
            stops = record(team)
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
    attributes = fitted()
    ensemble = attributes["ensemble_"].part(0, n_iter)
    warn_if_nothing_learned(
        fit.learned,
        train.binned,
        index,
        train.scores,
        p,
        ensemble,
        kept.n_trees + len(trees),
    )
    return {
        **attributes,
        "ensemble_": ensemble,
        "n_iter_": n_iter,
        **objective.fitted(max(0, n_iter - kept.n_trees)),
    }


def new_monitor(
    fit: BinnedFit, parameters: BoostingParameters, kept: KeptTrees
) -> Monitor:
    """Return the monitor of the trees; a warm start continues its curves."""
    p, names = parameters, [TRAIN, *name_sets(len(fit.validation))]
    sets = zip(names, [fit.train, *fit.validation], strict=True)
    measures = {name: one.measures for name, one in sets}
    curves = curves_of(measures, kept.evals_result, kept.n_trees)
    return Monitor(
        curves,
        first_validation_curve(curves) if p.early_stopping else None,
        p.n_iter_no_change,
        p.tol,
        p.verbose,
        "tree",
        kept.n_trees,
        p.n_estimators,
        fit.query_index.comm.print_line,
    )


def check_step(tree: GrownTree, parameters: TreeParameters) -> None:
    """Raise a ValueError if a tree leads to scores too large to compute with."""
    largest = np.abs(tree.value).max()
    if not largest <= LARGEST_SCORE:
        rate = parameters.learning_rate
        at = "" if callable(rate) else f"={rate:g}"
        raise ValueError(
            f"the scores diverge, since a tree adds {largest:.3g} to them: lower "
            f"learning_rate{at}, or raise "
            f"l2_regularization={parameters.l2_regularization:g}"
        )


class FittedTrees(NamedTuple):
    """Fitted trees, and the encoding of X that they take."""

    categories: FeatureCategories
    mapper: BinMapper
    ensemble: TreeEnsemble

    def scores(
        self, X: Matrix, base_score: FloatArray, n_jobs: int | None
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

    def stages(self, X: Matrix, base_score: FloatArray) -> Iterator[FloatArray]:
        """Yield F of each row of X after each tree."""
        encoded = self.mapper.categories.encode(X)
        yield from self.ensemble.staged_predict(encoded, base_score)

    def leaves(self, X: Matrix, n_jobs: int | None) -> NDArray[np.int64]:
        """Return the leaf of each tree that a row reaches, (n_rows, n_trees)."""
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
