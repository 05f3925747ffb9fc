"""Is a trained network at a maximum of the metric?  Section 4.2 of the report.

The report's lambdas are not the gradient of the metric, so whether they lead to one of
its maxima is a question of experience.  Two ways to look, for any fitted RankNetRanker
or LambdaRankRanker, and any metric:

- :func:`local_optimality` moves all weights along random directions, and counts those
  along which the metric rises: the report's one-sided Monte Carlo test.
- :func:`weight_curves` moves one weight at a time;
  :class:`sklearn_ltr.plotting.WeightCurvesDisplay` draws what it finds.
"""

from sklearn_ltr.inspection._local_optimality import LocalOptimality, local_optimality
from sklearn_ltr.inspection._weight_curves import WeightCurves, weight_curves

__all__ = ["LocalOptimality", "WeightCurves", "local_optimality", "weight_curves"]
