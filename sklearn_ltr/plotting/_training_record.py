"""Training and validation scores that fitted rankers have recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr.metrics import get_metric
from sklearn_ltr.plotting._arguments import read_numbers
from sklearn_ltr.plotting._estimators import is_ranker
from sklearn_ltr.plotting._labels import name_of_metric

FloatArray = NDArray[np.float64]
TRAIN = "train"


@dataclass(frozen=True)
class TrainingRecord:
    """The curves of a ranker.

    Attributes
    ----------
    curves : dict of str to dict of str to (n_steps,) float64
        Of each set, the values of each measure: "cost of a pair", or the name of a
        metric.
    first_step : int
        Number of the step of the first values; 0: before any step.
    step_name : str
        "tree" or "epoch".
    kept : int or None
        Number of the step with the best validation score, whose model is kept.  None:
        without early stopping, or if it is not known.
    """

    curves: dict[str, dict[str, FloatArray]]
    first_step: int
    step_name: str
    kept: int | None


def read_record(ranker: Any) -> TrainingRecord:
    """Read the record of a fitted ranker.

    Raises
    ------
    NotFittedError
        Before `fit`.
    TypeError
        If it is not a ranker of this package, or has no record, as a BlendedRanker.
    ValueError
        If nothing was recorded.
    """
    if is_ranker(ranker) and hasattr(ranker, "metric"):
        check_is_fitted(ranker)
        if hasattr(ranker, "evals_result_"):
            return read_curves(ranker)
    raise TypeError(
        "estimator must be a fitted LambdaMARTRanker, LambdaRankRanker or "
        "RankNetRanker, or a Pipeline or a search that ends in one, got "
        f"{type(ranker).__name__}"
    )


def read_curves(ranker: Any) -> TrainingRecord:
    """Read the curves of a ranker: of trees also the values before the first."""
    curves = {
        set_name: {label_of(name): values.copy() for name, values in of_set.items()}
        for set_name, of_set in ranker.evals_result_.items()
        if of_set
    }
    if not curves:
        raise ValueError(
            f"{type(ranker).__name__} has recorded no scores in its training: give fit "
            "X_val, y_val and groups_val, or set early_stopping=True, or verbose=1 or "
            "a list as scoring for training scores only"
        )
    stopped = len(ranker.validation_score_) > 0
    if hasattr(ranker, "network_"):
        kept = kept_epoch(curves, warm_start=ranker.warm_start) if stopped else None
        return TrainingRecord(curves, 1, "epoch", kept)
    return TrainingRecord(curves, 0, "tree", ranker.n_iter_ if stopped else None)


def label_of(name: str) -> str:
    """Return the label of a measure: "NDCG@10" for "ndcg@10"."""
    if name == "cost":
        return "cost of a pair"
    try:
        return name_of_metric(get_metric(name))
    except ValueError:  # a metric of the user, or one named by its repr
        return name


def kept_epoch(
    curves: dict[str, dict[str, FloatArray]], *, warm_start: bool
) -> int | None:
    """Return the epoch with the best validation score, whose weights are kept.

    Only the epochs of the last fit are compared.  A warm start may have continued an
    earlier fit, so only its last epoch is known to belong to the last fit.
    """
    of_set = next(of_set for name, of_set in curves.items() if name != TRAIN)
    values = next(iter(of_set.values()))
    if np.isnan(values[-1]):
        return None
    best = int(np.nanargmax(values))
    if warm_start and best < len(values) - 1:
        return None
    return best + 1


def check_curves(
    curves: Any,
) -> tuple[dict[str, dict[str, FloatArray]], int]:
    """Return curves that a user gave as float64, and the number of their steps."""
    if not isinstance(curves, Mapping) or not all(
        isinstance(of_set, Mapping) for of_set in curves.values()
    ):
        raise TypeError(
            "curves must be a dict of dicts, {set: {measure: values}}, got "
            f"{type(curves).__name__}"
        )
    read: dict[str, dict[str, FloatArray]] = {}
    n: int | None = None
    for set_name, of_set in curves.items():
        read[set_name] = {}
        for measure, given in of_set.items():
            name = f"curves[{set_name!r}][{measure!r}]"
            values = read_numbers(given, name, "step", n, finite=False)
            read[set_name][measure] = values
            n = len(values)
    if n is None:
        raise ValueError("curves holds no values: nothing to draw")
    return read, n
