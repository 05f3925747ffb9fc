"""A ranker as one worker fits it: on its own queries, together with other workers.

Wherever a fit depends on more than single queries, it is on those of all workers: what
is added up, counted, drawn or numbered here is what one machine would have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._comm import Collective
from sklearn_ltr._compile import STEPS_PER_THREAD, ThreadTeam
from sklearn_ltr._data import TrainingData
from sklearn_ltr._data.tables import Table
from sklearn_ltr._data.categories import FeatureCategories
from sklearn_ltr._estimators.category_training import (
    TrainingCategories,
    fit_category_bins,
    shared_bins,
)
from sklearn_ltr._estimators.monitor import Monitor, ScoredMeasure
from sklearn_ltr._estimators.tree_binning import BoostedData
from sklearn_ltr._lambdas.regression import Regression
from sklearn_ltr._rankers.evaluation import (
    AllQueriesEvaluation,
    MetricEvaluation,
    PairCostEvaluation,
)
from sklearn_ltr._rankers._initial import check_base_scores
from sklearn_ltr._rankers.reading import draw_held_out
from sklearn_ltr._trees.binning import MAX_SAMPLE_ROWS, BinMapper, BinnedData
from sklearn_ltr._trees.boosting import TreeSampler
from sklearn_ltr._trees.distributed_growing import DistributedTreeGrower
from sklearn_ltr._trees.parameters import GrowthParameters
from sklearn_ltr.dask._bins import (
    find_categories,
    fit_bins,
    merge_categories,
    sampled_rows,
)
from sklearn_ltr.dask._evaluation import (
    SharedCostEvaluation,
    SharedMetricEvaluation,
    of_scale,
    spread_of_all_grades,
)
from sklearn_ltr.dask._global_index import GlobalIndex
from sklearn_ltr.dask._sampling import WorkerSampler
from sklearn_ltr.dask._tables import PartBinMapper, PartRows, PartTable, hash_rows
from sklearn_ltr.metrics import Metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class WorkerRanker(LambdaMARTRanker):
    """A ranker of which each worker has a copy, and calls `fit` on its own rows.

    Each worker has queries with different grades that are not held out; it may have no
    query to validate on.  The fitted copies are all the same.
    """

    _collective: Collective
    _numbers: dict[str, dict[Any, int]]  # of the queries, by label; "", "_val"
    _is_validated: bool  # whether some worker has validation data of its own
    _most_threads: int
    _learned: GlobalIndex
    _largest_grade: float
    _whole: PartRows  # X of the training data, of which the categories are learned

    @classmethod
    def of(cls, state: dict[str, Any]) -> Self:
        """Return a ranker with the attributes of a LambdaMARTRanker."""
        own = cls()
        own.__dict__ = dict(state)
        return own

    def join(
        self,
        collective: Collective,
        numbers: dict[str, dict[Any, int]],
        *,
        is_validated: bool,
        most_threads: int = 1,
    ) -> Self:
        """Set what `fit` needs besides the data; return self.

        Parameters
        ----------
        collective : Collective
        numbers : dict
            Number of each query by its label, which rise with the labels of the queries
            of all workers; of the training data ("") and the validation data ("_val").
        is_validated : bool
            Whether some worker gives validation data to `fit`.
        most_threads : int, default=1
            Threads that this worker may use without an `n_jobs`.
        """
        self._collective, self._numbers = collective, numbers
        self._is_validated, self._most_threads = is_validated, most_threads
        return self

    def fitted_ranker(self) -> LambdaMARTRanker:
        """Return the fitted model, which needs no other worker."""
        ranker = LambdaMARTRanker()
        own = set(WorkerRanker.__annotations__)
        ranker.__dict__ = {n: v for n, v in vars(self).items() if n not in own}
        bins = self._mapper
        ranker._mapper = BinMapper(bins.bin_thresholds, bins.categories)
        return ranker

    def _draw_seed(self) -> None:
        """Keep the seed, which is that of all workers."""

    def _n_threads(self, work: int) -> int:
        own = max(1, min(self._most_threads, work // STEPS_PER_THREAD))
        if self.n_jobs is not None:
            own = super()._n_threads(work)
        return int(min(self._collective.gather(own)))

    def _global_index(self, data: TrainingData, suffix: str = "") -> GlobalIndex:
        numbers = self._numbers.get(suffix, {})  # none of a worker without any
        labels = [] if data.labels is None else data.labels
        own = np.array([numbers[label] for label in labels], dtype=np.int64)
        return GlobalIndex.of(own, data.sizes, self._collective)

    def _largest_of(self, y: FloatArray) -> float:
        """Return the largest number of all workers, those >= 0."""
        return float(max(self._collective.gather(float(y.max(initial=0.0)))))

    # --- reading ----------------------------------------------------------------------

    def _read_features(self, X: Any, *, reset: bool = False, name: str = "X") -> Table:
        read = super()._read_features
        if not isinstance(X, PartRows):
            return read(X, reset=reset, name=name)
        if reset:
            self._whole = X
            read(X.read(0), reset=True, name=name)
        return PartTable(X, partial(read, name=name), self.n_features_in_)

    def _learn_categories(self, X: Any, name: str) -> FeatureCategories:
        own = super()._learn_categories(X, name)
        if len(own.feature) > 0 and hasattr(self, "_whole"):
            learn = super()._learn_categories
            parts = self._whole.read_all()
            parts = self._whole.read_all()
            own = merge_categories(own, [learn(part, name) for part in parts])
        return merge_categories(own, self._collective.gather(own))

    def _read_training_data(self, *arguments: Any, reset: bool) -> TrainingData:
        data = super()._read_training_data(*arguments, reset=reset)
        if not isinstance(data.X, PartTable):
            return data
        return replace(data, rows=data.rows.astype(np.int32))  # to save memory

    def _read_validation_sets(
        self, X_val: Any, **others: Any
    ) -> list[tuple[str, Any, list[Any]]]:
        if X_val is None and self._is_validated:
            return [("_val", None, [None] * len(others))]
        return super()._read_validation_sets(X_val, **others)

    def _read_validation_set(
        self, suffix: str, X: Any, y: Any, groups: Any, sample_weight: Any
    ) -> TrainingData:
        if X is None:
            nothing, numbers = np.empty(0), np.empty(0, dtype=np.int64)
            X = np.empty((0, self.n_features_in_))
            return TrainingData(X, numbers, nothing, np.zeros(1, np.int64), nothing, [])
        return super()._read_validation_set(suffix, X, y, groups, sample_weight)

    def _base_score(
        self, X: Any, n_rows: int, init_score: Any, suffix: str = ""
    ) -> FloatArray:
        if n_rows == 0:
            return np.empty(0)
        if self.init_ is None or init_score is not None or not isinstance(X, PartRows):
            return super()._base_score(X, n_rows, init_score, suffix)
        scores = np.concatenate([self.init_.predict(part) for part in X.read_all()])
        return check_base_scores(scores, n_rows, "what init predicts")

    def _split(self, data: TrainingData) -> tuple[TrainingData, TrainingData]:
        global_index = self._global_index(data)
        held_out = draw_held_out(
            global_index.n_queries, self.validation_fraction, self._seed
        )[global_index.position]
        return data.subset(~held_out), data.subset(held_out)

    # --- learning ---------------------------------------------------------------------

    def _bin_training(
        self,
        data: TrainingData,
        base_score: FloatArray,
        team: ThreadTeam,
        *,
        continues: bool,
    ) -> BoostedData:
        self._learned = self._global_index(data)
        self._largest_grade = self._largest_of(data.y)
        if continues:
            bins = self._mapper
            self._mapper = PartBinMapper(bins.bin_thresholds, bins.categories)
        return super()._bin_training(data, base_score, team, continues=continues)

    def _find_categories(self, data: TrainingData) -> TrainingCategories:
        return find_categories(data, self._categories.feature, self._learned)

    def _fit_bins(
        self, data: TrainingData, categories: TrainingCategories, team: ThreadTeam
    ) -> BinMapper:
        global_index = self._learned
        if global_index.n_rows > MAX_SAMPLE_ROWS:
            order = data.content_order(hash_rows(data.X, data.rows, team))
            data = data.reordered(order)
        sampled = sampled_rows(data, global_index, self._seed)
        categorical = fit_category_bins(categories, self._categories.feature, self)
        bins = fit_bins(
            data, sampled, self.max_bins, categorical, self._collective, team
        )
        return PartBinMapper(bins.bin_thresholds, bins.categories)

    def _scores_so_far(self, boosted: BoostedData) -> FloatArray:
        data, categories = boosted.data, self._mapper.categories
        if len(self.ensemble_) == 0:
            return boosted.base_score  # which is not needed again
        if not isinstance(data.X, PartTable):
            return super()._scores_so_far(boosted)
        features, bins = shared_bins(boosted.binned, categories)
        of_rows = np.zeros((data.X.shape[0], 1 + len(features)))
        of_rows[data.rows] = np.column_stack((boosted.base_score, bins))

        def score(table: Table, of_rows: FloatArray) -> FloatArray:
            encoded = categories.encode(table)
            if len(features) > 0:
                encoded[:, features] = of_rows[:, 1:]
            return self._add_trees(table, of_rows[:, 0].copy(), encoded)

        return data.X.map(score, of_rows)[data.rows]

    def _growth_parameters(self, n_rows: int) -> GrowthParameters:
        return super()._growth_parameters(self._learned.n_rows)

    def _tree_sampler(self, offsets: IntArray, max_leaf_nodes: int) -> TreeSampler:
        sampler = super()._tree_sampler(offsets, max_leaf_nodes)
        return WorkerSampler.of(sampler, self._learned)

    def _tree_grower(
        self, binned: BinnedData, growth: GrowthParameters, team: ThreadTeam
    ) -> DistributedTreeGrower:
        numbers = self._learned.row_numbers()
        return DistributedTreeGrower(binned, growth, team, numbers, self._collective)

    def _trained_metric(self, truncation_level: int | None) -> Metric | None:
        metric = super()._trained_metric(truncation_level)
        return None if metric is None else of_scale(metric, self._largest_grade)

    def _sum_of_lambdas(self, gradient: NDArray[np.float64]) -> float:
        return float(sum(self._collective.gather(super()._sum_of_lambdas(gradient))))

    def _regression(self, data: TrainingData) -> Regression:
        spread = spread_of_all_grades(data, self._learned)
        return Regression(data, self.regression_weight, self.sigma, spread)

    # --- measuring --------------------------------------------------------------------

    def _cost_measure(self, data: TrainingData) -> ScoredMeasure:
        own = PairCostEvaluation(data, self.sigma, tied_pairs=False)
        return SharedCostEvaluation(own, self._learned)

    def _metric_measure(
        self, data: TrainingData, metric: Metric, learned: TrainingData | None = None
    ) -> ScoredMeasure:
        metric = of_scale(metric, self._largest_of(data.y))
        own: MetricEvaluation | None = None
        if learned is not None:
            own = AllQueriesEvaluation(data, learned, metric)
        elif data.n_rows > 0:
            own = MetricEvaluation(data, metric)
        is_given = learned is None and self._is_validated
        global_index = self._global_index(data, "_val" if is_given else "")
        return SharedMetricEvaluation(metric, own, global_index)

    def _monitor(self, sets: Mapping[str, BoostedData]) -> Monitor:
        monitor = super()._monitor(sets)
        monitor.print_line = self._collective.print_line
        return monitor
