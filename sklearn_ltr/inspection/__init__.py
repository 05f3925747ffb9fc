"""Explain a fitted model, report on it, and test whether its training is complete.

- :func:`model_report` writes an HTML page, or a notebook cell, on what a model is,
  what it has learned and how well it ranks.
- :func:`shap_values` computes what each feature adds to the score of each document, for
  boosted trees.  :class:`sklearn_ltr.plotting.ShapValuesDisplay`,
  :class:`sklearn_ltr.plotting.ShapHeatmapDisplay` and
  :class:`sklearn_ltr.plotting.ShapBeeswarmDisplay` draw its result.
- :func:`trees_to_dataframe` has a row for each node of boosted trees, and
  :func:`split_counts` counts the nodes that test each feature.
  :class:`sklearn_ltr.plotting.TreeDisplay` draws one tree.
- :func:`compute_lambdas` returns the lambdas of given scores and grades, from which a
  ranker learns in one step.
- :func:`suspect_judgments` lists the grades that a ranker contradicts which has not
  seen them, the most doubtful first.
- :class:`ScoreRegressor` makes rankers usable in tools that take regressors only:
  scikit-learn's partial dependence and ICE curves.

Is a trained network at a local maximum of the metric?  (Burges 2010, MSR-TR-2010-82,
section 4.2.)  Lambdas are not the gradient of the metric, so this has to be tested.
Both functions accept any fitted RankNetRanker or LambdaRankRanker, and any metric:

- :func:`local_optimality` changes all weights along random directions and counts the
  directions along which the metric rises: the one-sided Monte Carlo test of Burges
  (2010).
- :func:`weight_curves` changes one weight at a time.
  :class:`sklearn_ltr.plotting.WeightCurvesDisplay` draws its result.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.inspection._lambdas import compute_lambdas
from sklearn_ltr.inspection._local_optimality import (
    LocalOptimality,
    WeightCurves,
    local_optimality,
    weight_curves,
)
from sklearn_ltr.inspection._model_report import ModelReport, model_report
from sklearn_ltr.inspection._models import ScoreRegressor
from sklearn_ltr.inspection._shap_values import ShapValues, shap_values
from sklearn_ltr.inspection._suspect_judgments import suspect_judgments
from sklearn_ltr.inspection._trees import split_counts, trees_to_dataframe

__all__ = [
    "LocalOptimality",
    "ModelReport",
    "ScoreRegressor",
    "ShapValues",
    "WeightCurves",
    "compute_lambdas",
    "local_optimality",
    "model_report",
    "shap_values",
    "split_counts",
    "suspect_judgments",
    "trees_to_dataframe",
    "weight_curves",
]
publish(globals())
