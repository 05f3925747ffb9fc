"""What a ranker descends and what it is measured by, for trees and networks alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.comm import ONE_PROCESS, Comm
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import FitData, TrainingData
from sklearn_ltr._core.estimators.objective import Task
from sklearn_ltr._core.lambdas.position_bias import new_bias
from sklearn_ltr._core.ranking.measures import training_measures, validation_measures
from sklearn_ltr._core.ranking.objective import RankingObjective, ranking_objective
from sklearn_ltr._core.ranking.parameters import RankerParameters


def ranking_task(
    parameters: RankerParameters,
    data: FitData,
    earlier: Mapping[str, Any],
    team: ThreadTeam,
    comm: Comm = ONE_PROCESS,
) -> Task[RankingObjective]:
    """Return the task of a fit; all workers call this together."""
    # `earlier` are the attributes of the fit that is continued, empty if it is new
    p, learned = parameters, data.learned
    warn_if_clipped(learned, p.min_propensity, comm)
    known = earlier.get("position_bias_")
    bias = new_bias(p.position_bias, learned, known, p.min_propensity, comm)
    measures = [training_measures(p, data, bias, comm)]
    for held in data.validation:
        measures.append(validation_measures(p, held, comm))
    objective = ranking_objective(p, learned, bias, earlier, team, comm)
    return Task(objective, measures)


def warn_if_clipped(data: TrainingData, smallest: float, comm: Comm) -> None:
    """Warn of propensities that are all below `smallest`; all workers call this."""
    propensities = data.columns.propensities
    if propensities is None:
        return
    largest = max(comm.gather(float(propensities.max(initial=0.0))))
    if largest < smallest:
        warn_caller(
            f"propensities are all below min_propensity={smallest:g} (the largest is "
            f"{largest:.2g}), so all count as {smallest:g}, and correct nothing: give "
            "the probability that users examine the document, which is near 1 at the "
            "first position (how often a policy shows it is another thing); or lower "
            "min_propensity"
        )
