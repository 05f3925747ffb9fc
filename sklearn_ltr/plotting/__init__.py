"""Plots that follow scikit-learn's Display convention.

A display holds numbers, and its `plot` method draws them.  Its constructor does not
need matplotlib, so the numbers can be used without a plot.  ``from_estimator`` and
``from_predictions`` compute the numbers and draw them.  All three draw on the given
axes, or on new ones, and return the display; attributes that end in ``_`` are the
matplotlib artists.

- :class:`BlendCurveDisplay`: a metric against the blend of two rankers.
- :class:`CutoffCurveDisplay`: a metric against its cutoff k, for several rankers.
- :class:`FeatureImportancesDisplay`: the features that a model uses most.
- :class:`ForcesDisplay`: the lambdas of the documents of one query, as arrows.
- :class:`GradeReliabilityDisplay`: given grades against predicted ones.
- :class:`ParetoDisplay`: two metrics against each other, over weights of labels.
- :class:`PropensityCurveDisplay`: how often users examine each position, by clicks.
- :class:`QueryComparisonDisplay`: difference of two rankers on each query.
- :class:`RankerComparisonDisplay`: intervals of the differences between rankers.
- :class:`SearchTraceDisplay`: the candidates of a search, and the best so far.
- :class:`ShapBeeswarmDisplay`: SHAP values of many documents.
- :class:`ShapHeatmapDisplay`: SHAP values of the documents of a list.
- :class:`ShapValuesDisplay`: SHAP values of a document, or of a pair.
- :class:`TrainingCurveDisplay`: training and validation scores after each iteration.
- :class:`TreeDisplay`: one tree of a model.
- :class:`WeightCurvesDisplay`: a metric against each weight of a network.

matplotlib is imported only when something is drawn:
``python -m pip install matplotlib``.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.plotting._blend_curve import BlendCurveDisplay
from sklearn_ltr.plotting._cutoff_curve import CutoffCurveDisplay
from sklearn_ltr.plotting._feature_importances import FeatureImportancesDisplay
from sklearn_ltr.plotting._forces import ForcesDisplay
from sklearn_ltr.plotting._grade_reliability import GradeReliabilityDisplay
from sklearn_ltr.plotting._pareto import ParetoDisplay
from sklearn_ltr.plotting._propensity_curve import PropensityCurveDisplay
from sklearn_ltr.plotting._query_comparison import QueryComparisonDisplay
from sklearn_ltr.plotting._ranker_comparison import RankerComparisonDisplay
from sklearn_ltr.plotting._search_trace import SearchTraceDisplay
from sklearn_ltr.plotting._shap import (
    ShapBeeswarmDisplay,
    ShapHeatmapDisplay,
    ShapValuesDisplay,
)
from sklearn_ltr.plotting._training_curve import TrainingCurveDisplay
from sklearn_ltr.plotting._tree import TreeDisplay
from sklearn_ltr.plotting._weight_curves import WeightCurvesDisplay

__all__ = [
    "BlendCurveDisplay",
    "CutoffCurveDisplay",
    "FeatureImportancesDisplay",
    "ForcesDisplay",
    "GradeReliabilityDisplay",
    "ParetoDisplay",
    "PropensityCurveDisplay",
    "QueryComparisonDisplay",
    "RankerComparisonDisplay",
    "SearchTraceDisplay",
    "ShapBeeswarmDisplay",
    "ShapHeatmapDisplay",
    "ShapValuesDisplay",
    "TrainingCurveDisplay",
    "TreeDisplay",
    "WeightCurvesDisplay",
]
publish(globals())
