"""Bins of the rows that trees are grown on, or evaluated on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam
from sklearn_ltr._estimators.category_training import (
    TargetScale,
    TrainingCategories,
    bin_training,
    fit_category_bins,
)
from sklearn_ltr._estimators.monitor import ScoredMeasure
from sklearn_ltr._estimators.row_order import order_by_bins, order_by_values
from sklearn_ltr._estimators.tree_inspection import TreeInspection
from sklearn_ltr._queries import TrainingData
from sklearn_ltr.learners._trees.binning import (
    MAX_SAMPLE_ROWS,
    BinMapper,
    BinnedData,
    reorder_rows,
)

FloatArray = NDArray[np.float64]


class BoostedData(NamedTuple):
    """Data that trees are grown on, or evaluated on."""

    data: TrainingData
    base_score: FloatArray  # (n_rows,): F_0 of each row of the data
    binned: BinnedData  # its rows
    measures: Mapping[str, ScoredMeasure] = {}  # by name


class TreeBinning(TreeInspection):
    """An estimator of trees that learns their bins."""

    def _bin_training(
        self,
        data: TrainingData,
        base_score: FloatArray,
        team: ThreadTeam,
        *,
        continues: bool,
    ) -> BoostedData:
        """Learn the bins, unless the fit continues another, and bin the rows.

        The rows come out in the order of what trees see of them, to which the initial
        scores belong, (n_rows,).
        """
        categories = self._find_categories(data)
        if not continues:
            self._mapper = self._fit_bins(data, categories, team)
        binned = bin_training(
            self._mapper, data, categories, self.category_smoothing, team
        )
        order = order_by_bins(data, binned, base_score, team)
        reorder_rows(binned, order, team)
        return BoostedData(data.reordered(order), base_score[order], binned)

    def _find_categories(self, data: TrainingData) -> TrainingCategories:
        """Return what the bins of categories are learned from."""
        numbers, features = np.arange(data.n_queries), self._categories.feature
        return TrainingCategories.of(data, features, numbers, TargetScale.of(data))

    def _fit_bins(
        self, data: TrainingData, categories: TrainingCategories, team: ThreadTeam
    ) -> BinMapper:
        """Learn the bins."""
        X, rows = data.X, data.rows
        if data.n_rows > MAX_SAMPLE_ROWS:
            rows = rows[order_by_values(data, team)]
        bins = fit_category_bins(categories, self._categories.feature, self)
        return BinMapper.fit(X, rows, self.max_bins, self._seed, team, bins)

    def _bin_validation(
        self, data: TrainingData, base_score: FloatArray, team: ThreadTeam
    ) -> BoostedData:
        """Bin the rows by the bins of the training data."""
        binned = self._mapper.transform(data.X, data.rows, team)
        return BoostedData(data, base_score, binned)
