"""A display of each kind, made from numbers: this file does not need matplotlib."""

from __future__ import annotations

import numpy as np

from sklearn_ltr.plotting import (
    BlendCurveDisplay,
    CutoffCurveDisplay,
    FeatureImportancesDisplay,
    ForcesDisplay,
    PropensityCurveDisplay,
    QueryComparisonDisplay,
    ShapHeatmapDisplay,
    ShapValuesDisplay,
    TrainingCurveDisplay,
    WeightCurvesDisplay,
)

DISPLAYS = [
    BlendCurveDisplay([0.2, 0.5], [0.6, 0.8, 0.7], alpha=0.35),
    CutoffCurveDisplay(
        k=[1, 2, 3],
        means={"a": [0.2, 0.3, 0.5], "b": [0.3, 0.4, 0.5]},
        standard_errors={"a": [0.1, 0.1, 0.1], "b": [0.1, 0.1, np.nan]},
        metric_name="NDCG",
    ),
    FeatureImportancesDisplay([0.1, 0.7, 0.2], [0.1, 0.1, 0.2]),
    ForcesDisplay([0, 1, 0], [3, 2, 1], {"RankNet": [1.5, -2, 0.5]}),
    PropensityCurveDisplay(
        {"a": [1, 0.5, 0.4], "b": [1, 0.6]},
        {"a": [0, 0.1, np.nan]},
        true_propensities=[1, 0.5],
    ),
    QueryComparisonDisplay([0.1, 0.5, 0.3], [0.4, 0.1, 0.3]),
    ShapHeatmapDisplay([[0.1, -0.5, 0.0], [0.2, 0.6, 0.1], [0.3, 0.0, 0.0]]),
    ShapValuesDisplay([0.1, 0.7, -0.2], bias=0.5, feature_values=[1.0, 2.5, 3]),
    TrainingCurveDisplay(
        {"train": {"score": [1, 2, 3]}, "validation": {"score": [1, 3, 2]}}, kept=2
    ),
    WeightCurvesDisplay(
        [[0, 1, 2], [-1, 0, 1]],
        [[0.5, 0.6, 0.5], [0.2, 0.6, 0.7]],
        learned=[1, 0],
        value=0.6,
    ),
]
