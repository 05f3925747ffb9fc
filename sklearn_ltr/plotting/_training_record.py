"""Training and validation scores that fitted rankers have recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr.metrics import NDCG, get_metric
from sklearn_ltr.plotting._estimators import is_ranker
from sklearn_ltr.plotting._labels import name_of_metric

FloatArray = NDArray[np.float64]
COST = "cost of a pair"


@dataclass(frozen=True)
class TrainingRecord:
    """Training and validation values of each step, and what they measure.

    Attributes
    ----------
    train, validation : (n_steps,) float64, or None if not recorded
    train_measure, validation_measure : str
        "cost of a pair", or the name of a metric.
    first_step : int
        Number of the step of the first values; 0: before any step.
    step_name : str
        "tree" or "epoch".
    kept : int or None
        Number of the step with the best validation score, whose model is kept.  None:
        without validation, or if it is not known.
    """

    train: FloatArray | None
    validation: FloatArray | None
    train_measure: str
    validation_measure: str
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
        If nothing was recorded, or only in some fits of a warm start.
    """
    if is_ranker(ranker) and hasattr(ranker, "metric"):
        check_is_fitted(ranker)
        if hasattr(ranker, "network_"):
            return read_network(ranker)
        if hasattr(ranker, "validation_score_"):
            return read_trees(ranker)
    raise TypeError(
        "estimator must be a fitted LambdaMARTRanker, LambdaRankRanker or "
        "RankNetRanker, or a Pipeline or a search that ends in one, got "
        f"{type(ranker).__name__}"
    )


def read_trees(ranker: Any) -> TrainingRecord:
    """Read a ranker of trees: values before the first tree and after each."""
    train, validation = recorded_values(ranker)
    if train is None and validation is None:
        raise ValueError(
            f"{type(ranker).__name__} has recorded no scores in its training: give fit "
            "X_val, y_val and groups_val, or set early_stopping=True, or verbose=1 for "
            "training scores only"
        )
    measure = stopping_measure(ranker)
    return TrainingRecord(
        train,
        validation,
        COST if ranker.metric is None else measure,
        measure,
        first_step=0,
        step_name="tree",
        kept=None if validation is None else ranker.n_iter_,
    )


def read_network(ranker: Any) -> TrainingRecord:
    """Read a ranker with a network: values of each epoch."""
    train, validation = recorded_values(ranker)
    n_epochs = 0 if train is None else len(train)
    if validation is not None and len(validation) != n_epochs:
        raise ValueError(
            f"{type(ranker).__name__} has {len(validation)} validation scores for "
            f"{n_epochs} epochs, and it is not known for which: some of the fits of "
            "this warm start had no validation data; give the values to the constructor"
        )
    by_cost = ranker.metric is None
    return TrainingRecord(
        train,
        validation,
        COST if by_cost else name_of_metric(get_metric(ranker.metric)),
        stopping_measure(ranker),
        first_step=1,
        step_name="epoch",
        kept=kept_epoch(validation, warm_start=ranker.warm_start),
    )


def recorded_values(ranker: Any) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the training and validation values; None for an empty curve."""
    train = ranker.loss_curve_ if ranker.metric is None else ranker.train_score_
    validation = ranker.validation_score_
    return (
        train.copy() if len(train) else None,
        validation.copy() if len(validation) else None,
    )


def stopping_measure(ranker: Any) -> str:
    """Return the name of the metric that early stopping follows."""
    metric = ranker.metric if ranker.scoring is None else ranker.scoring
    return name_of_metric(NDCG(10) if metric is None else get_metric(metric))


def kept_epoch(validation: FloatArray | None, *, warm_start: bool) -> int | None:
    """Return the epoch with the best validation score, whose weights are kept.

    Only the epochs of the last fit are compared.  A warm start may have continued an
    earlier fit, so only its last epoch is known to belong to the last fit.
    """
    if validation is None or np.isnan(validation).all():
        return None
    best = int(np.nanargmax(validation))
    if warm_start and best < len(validation) - 1:
        return None
    return best + 1
