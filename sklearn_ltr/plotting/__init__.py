"""Pictures, by scikit-learn's convention for displays.

A display holds numbers; `plot` draws them.  Building one takes no matplotlib, so its
numbers can be read without a picture.  ``from_estimator`` and ``from_predictions``
compute the numbers and draw at once; all three draw on the axes they are given, or on
new ones, and return the display, whose attributes that end in ``_`` are what was drawn.

- :class:`BlendCurveDisplay`: a metric against the blend of two rankers.
- :class:`CutoffCurveDisplay`: a metric against its cutoff k, for several rankers.
- :class:`FeatureImportancesDisplay`: which columns the model looks at.
- :class:`ForcesDisplay`: what pulls at the documents of one query.
- :class:`QueryComparisonDisplay`: gain or loss of one ranker against another, by query.
- :class:`TrainingCurveDisplay`: values of training and validation after each step.
- :class:`WeightCurvesDisplay`: a metric against each weight of a network.

matplotlib is imported when something is drawn, and only then:
``pip install "sklearn_ltr[plot]"``.
"""

from sklearn_ltr.plotting._blend_curve import BlendCurveDisplay
from sklearn_ltr.plotting._cutoff_curve import CutoffCurveDisplay
from sklearn_ltr.plotting._feature_importances import FeatureImportancesDisplay
from sklearn_ltr.plotting._forces import ForcesDisplay
from sklearn_ltr.plotting._query_comparison import QueryComparisonDisplay
from sklearn_ltr.plotting._training_curve import TrainingCurveDisplay
from sklearn_ltr.plotting._weight_curves import WeightCurvesDisplay

__all__ = [
    "BlendCurveDisplay",
    "CutoffCurveDisplay",
    "FeatureImportancesDisplay",
    "ForcesDisplay",
    "QueryComparisonDisplay",
    "TrainingCurveDisplay",
    "WeightCurvesDisplay",
]
