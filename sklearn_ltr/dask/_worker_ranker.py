"""A ranker as one worker fits it: on its own queries, together with other workers.

Wherever a fit depends on more than single queries, it is on those of all workers: what
is added up, counted, drawn or numbered here is what one machine would have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import STEPS_PER_THREAD, ThreadTeam
from sklearn_ltr._estimators.categories import FeatureCategories
from sklearn_ltr._estimators.category_training import (
    TrainingCategories,
    fit_category_bins,
)
from sklearn_ltr._estimators.monitor import Monitor, ScoredMeasure
from sklearn_ltr._estimators.row_order import order_by_values
from sklearn_ltr._estimators.tree_binning import BoostedData
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.dask._bins import find_categories, fit_bins, sampled_rows
from sklearn_ltr.dask._evaluation import (
    SharedCostEvaluation,
    SharedMetricEvaluation,
    of_scale,
)
from sklearn_ltr.dask._standing import Standing
from sklearn_ltr.lambdas._regression import GradeSpread, Regression, spread_of_grades
from sklearn_ltr.learners._boosting import TreeSampler
from sklearn_ltr.learners._collective import Collective
from sklearn_ltr.learners._row_draws import RowNumbers
from sklearn_ltr.learners._trees.binning import MAX_SAMPLE_ROWS, BinMapper, BinnedData
from sklearn_ltr.learners._trees.distributed_growing import DistributedTreeGrower
from sklearn_ltr.learners._trees.growth_parameters import GrowthParameters
from sklearn_ltr.metrics import Metric
from sklearn_ltr.rankers import LambdaMARTRanker
from sklearn_ltr.rankers._evaluation import (
    AllQueriesEvaluation,
    MetricEvaluation,
    PairCostEvaluation,
)
from sklearn_ltr.rankers._reading import draw_held_out
from sklearn_ltr.rankers._tree_objective import TreeObjective

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class WorkerSampler(TreeSampler):
    """Draws this worker's part of what one machine would draw."""

    standing: Standing

    @property
    def n_queries(self) -> int:
        """Number of queries of all workers."""
        return self.standing.n_queries

    @cached_property
    def row_numbers(self) -> RowNumbers:
        """Return the numbers of this worker's rows among those of all workers."""
        return self.standing.row_numbers()

    def _drawn_queries(self, tree_index: int, n_drawn: int) -> NDArray[np.bool_]:
        return super()._drawn_queries(tree_index, n_drawn)[self.standing.position]


class WorkerRanker(LambdaMARTRanker):
    """A ranker of which each worker has a copy, and calls `fit` on its own rows.

    Each worker has queries with different grades that are not held out; it may have no
    query to validate on.  The fitted copies are all the same.
    """

    _collective: Collective
    _numbers: dict[str, dict[Any, int]]  # of the queries, by label; "", "_val"
    _is_validated: bool  # whether some worker has validation data of its own
    _most_threads: int
    _learned: Standing
    _largest_grade: float

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
        return ranker

    def _draw_seed(self) -> None:
        """Keep the seed, which is that of all workers."""

    def _n_threads(self, work: int) -> int:
        own = max(1, min(self._most_threads, work // STEPS_PER_THREAD))
        if self.n_jobs is not None:
            own = super()._n_threads(work)
        return int(min(self._collective.gather(own)))

    def _standing(self, data: TrainingData, suffix: str = "") -> Standing:
        numbers = self._numbers.get(suffix, {})  # none of a worker without any
        labels = [] if data.labels is None else data.labels
        own = np.array([numbers[label] for label in labels], dtype=np.int64)
        return Standing.of(own, data.sizes, self._collective)

    def _largest_of(self, y: FloatArray) -> float:
        """Return the largest number of all workers, those >= 0."""
        return float(max(self._collective.gather(float(y.max(initial=0.0)))))

    # --- reading ----------------------------------------------------------------------

    def _learn_categories(self, X: Any, name: str) -> FeatureCategories:
        own = super()._learn_categories(X, name)
        others = self._collective.gather(own)
        text, is_text = [], np.empty(len(own.feature), dtype=np.bool_)
        for number in range(len(own.feature)):
            found = set().union(*(other.text[number].tolist() for other in others))
            text.append(np.array(sorted(found), dtype=np.str_))
            # a worker on which all are missing does not know
            is_text[number] = bool(found) or all(o.is_text[number] for o in others)
        return replace(own, text=text, is_text=is_text)

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
        return super()._base_score(X, n_rows, init_score, suffix)

    def _split(self, data: TrainingData) -> tuple[TrainingData, TrainingData]:
        standing = self._standing(data)
        held_out = draw_held_out(
            standing.n_queries, self.validation_fraction, self._seed
        )[standing.position]
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
        self._learned = self._standing(data)
        return super()._bin_training(data, base_score, team, continues=continues)

    def _find_categories(self, data: TrainingData) -> TrainingCategories:
        return find_categories(data, self._categories.feature, self._learned)

    def _fit_bins(
        self, data: TrainingData, categories: TrainingCategories, team: ThreadTeam
    ) -> BinMapper:
        standing = self._learned
        if standing.n_rows > MAX_SAMPLE_ROWS:
            data = data.reordered(order_by_values(data, team))
        sampled = sampled_rows(data, standing, self._seed)
        bins = fit_category_bins(categories, self._categories.feature, self)
        return fit_bins(data, sampled, self.max_bins, bins, self._collective, team)

    def _growth_parameters(self, n_rows: int) -> GrowthParameters:
        return super()._growth_parameters(self._learned.n_rows)

    def _tree_sampler(self, offsets: IntArray, max_leaf_nodes: int) -> TreeSampler:
        sampler = super()._tree_sampler(offsets, max_leaf_nodes)
        drawn = {field.name: getattr(sampler, field.name) for field in fields(sampler)}
        return WorkerSampler(**drawn, standing=self._learned)

    def _tree_grower(
        self, binned: BinnedData, growth: GrowthParameters, team: ThreadTeam
    ) -> DistributedTreeGrower:
        numbers = self._learned.row_numbers()
        return DistributedTreeGrower(binned, growth, team, numbers, self._collective)

    def _objective(
        self, data: TrainingData, team: ThreadTeam, *others: Any
    ) -> TreeObjective:
        self._largest_grade = self._largest_of(data.y)
        return super()._objective(data, team, *others)

    def _trained_metric(self, truncation_level: int | None) -> Metric | None:
        metric = super()._trained_metric(truncation_level)
        return None if metric is None else of_scale(metric, self._largest_grade)

    def _sum_of_lambdas(self, gradient: NDArray[np.float64]) -> float:
        return float(sum(self._collective.gather(super()._sum_of_lambdas(gradient))))

    def _regression(self, data: TrainingData) -> Regression:
        spread = self._spread_of_grades(data)
        return Regression(data, self.regression_weight, self.sigma, spread)

    def _spread_of_grades(self, data: TrainingData) -> GradeSpread:
        """Return the spread of the grades of all workers.

        It is a sum of floats, of which one machine determines the order: so the grades
        of the rows, one byte each if there are at most 256, travel to the first worker.
        """
        collective, standing = self._collective, self._learned
        grades, codes = np.unique(data.y, return_inverse=True)
        codes = codes.astype(np.min_scalar_type(len(grades) - 1))
        gathered = collective.gather_to(0, (grades, codes, data.sizes, data.weights))
        spread: GradeSpread | None = None
        if collective.rank == 0:
            y = np.concatenate([table[codes] for table, codes, _, _ in gathered])
            sizes = np.concatenate([sizes for _, _, sizes, _ in gathered])
            weights = np.concatenate([weights for *_, weights in gathered])
            order = standing.order
            starts = (np.cumsum(sizes) - sizes)[order]
            offsets = np.concatenate(([0], np.cumsum(sizes[order])))
            rows = np.arange(len(y)) + np.repeat(starts - offsets[:-1], sizes[order])
            spread = spread_of_grades(y[rows], offsets, weights[order])
        found: GradeSpread = collective.gather(spread)[0]
        return found

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
        standing = self._standing(data, "_val" if is_given else "")
        return SharedMetricEvaluation(metric, own, standing)

    def _monitor(self, sets: Mapping[str, BoostedData]) -> Monitor:
        monitor = super()._monitor(sets)
        monitor.print_line = self._collective.print_line
        return monitor
