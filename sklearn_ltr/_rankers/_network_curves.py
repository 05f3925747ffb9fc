"""What a ranker with a network measures after each epoch, and keeps as curves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._estimators.monitor import (
    EvalsResult,
    Measure,
    Monitor,
    ScoredMeasure,
    append_results,
    curves_of,
    first_validation_curve,
)
from sklearn_ltr._rankers.base import is_among, name_metrics
from sklearn_ltr._rankers._batches import QueryBatches
from sklearn_ltr._rankers.evaluation import MetricEvaluation, PairCostEvaluation
from sklearn_ltr._rankers._network_parameters import NetworkParameters


class NetworkCurves(NetworkParameters):
    """A ranker with a network: its measures, its monitor and its curves."""

    n_iter_: int
    validation_score_: NDArray[np.float64]
    evals_result_: EvalsResult

    @property
    def _train_curve(self) -> str:
        """Name of the attribute that holds the training's costs or metric values."""
        return "loss_curve_" if self.metric is None else "train_score_"

    def _train_measures(self, batches: QueryBatches) -> dict[str, Measure]:
        """Return what measures the scores of the batches, by name."""
        data, measures = batches.data, dict[str, ScoredMeasure]()
        metrics = list(self._measured_metrics().values())
        wanted = metrics if self._measures_train else []
        if self.metric is None:
            measures["cost"] = PairCostEvaluation(
                data, self.sigma, self._uses_tied_pairs
            )
        else:
            own = self._reported_metric()
            wanted = [own, *(m for m in wanted if not is_among(m, [own]))]
        for name, metric in name_metrics(wanted).items():
            measures[name] = MetricEvaluation(data, metric)
        for name, measure in measures.items():
            is_cost = name == "cost"  # which is what falls, with the bias
            measure.update(batches.shown_scores if is_cost else batches.scores)
        return dict(measures)

    def _monitor(self, sets: Mapping[str, Mapping[str, Measure]]) -> Monitor:
        curves = curves_of(sets, {}, 0)
        followed = first_validation_curve(curves) if self.early_stopping else None
        if followed is None and self._stops_on_train:
            followed = curves[0]
        return Monitor(curves, followed, self.n_iter_no_change, self.tol, self.verbose)

    def _set_curves(self, monitor: Monitor, n_done: int) -> None:
        """Set the recorded curves, appended to those of the fit that is continued.

        That had `n_done` epochs, 0 if none is continued.
        """
        measured = {
            self._train_curve: monitor.train_values,
            "validation_score_": monitor.stopping_values,
        }
        for name in ("loss_curve_", "train_score_", "validation_score_"):
            before = self.__dict__.pop(name, np.empty(0))
            if name in measured:
                values = measured[name]
                setattr(self, name, np.append(before if n_done else [], values))
        earlier = getattr(self, "evals_result_", {}) if n_done else {}
        self.evals_result_ = append_results(
            earlier, n_done, monitor.result(), self.n_iter_ - n_done
        )
