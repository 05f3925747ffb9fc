"""Learn from click logs: estimate position bias, and compare rankers by clicks.

A *log* has one row per shown document, in five columns: ``clicks`` (0 or 1), ``groups``
(the query), ``documents``, ``positions`` (0 is shown first) and ``sessions`` (one list,
shown once).  Rows may be in any order, and no result depends on it.

*Propensity* is the probability that users examine a position, and ``propensities_[k]``
that of position k, from 0; *attractiveness* is the one that they click an examined
document.

- :class:`PositionBasedModel`, :class:`InterventionHarvesting`, :class:`RegressionEM`,
  :class:`CascadeModel` and :class:`DynamicBayesianNetwork` are fitted to a log and have
  `propensities_`.
- :func:`simulate_clicks` makes a log of known bias from grades.
- :func:`preferences_from_clicks` gives pairs of documents, for RankNet to learn from.
- :func:`counterfactual_score` estimates a metric of a ranker that was not in use.
- :func:`interleave` merges the lists of two rankers, and :func:`interleaving_test`
  tests which of them users prefer.

:class:`sklearn_ltr.plotting.PropensityCurveDisplay` draws the propensities.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.clicks._judging import (
    CounterfactualEstimate,
    InterleavingResult,
    counterfactual_score,
    interleave,
    interleaving_test,
)
from sklearn_ltr.clicks._models import (
    CascadeModel,
    DynamicBayesianNetwork,
    InterventionHarvesting,
    PositionBasedModel,
)
from sklearn_ltr.clicks._preferences import preferences_from_clicks
from sklearn_ltr.clicks._regression_em import RegressionEM
from sklearn_ltr.clicks._simulate import simulate_clicks

__all__ = [
    "CascadeModel",
    "CounterfactualEstimate",
    "DynamicBayesianNetwork",
    "InterleavingResult",
    "InterventionHarvesting",
    "PositionBasedModel",
    "RegressionEM",
    "counterfactual_score",
    "interleave",
    "interleaving_test",
    "preferences_from_clicks",
    "simulate_clicks",
]
publish(globals())
