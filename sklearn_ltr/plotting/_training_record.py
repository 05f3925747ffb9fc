"""What fitted rankers remember of their training: values after each step."""

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
    """Values of training and validation, and what they measure.

    Attributes
    ----------
    train, validation : (n_steps,) float64, or None if it was not recorded
    train_measure, validation_measure : str
    first_step : int
        Number of the step that the first values are of; 0: before any.
    step_name : str
        What a step adds: "tree" or "epoch".
    kept : int or None
        Number of the step whose model validation has chosen; None: it has chosen none,
        or it is not known which.
    """

    train: FloatArray | None
    validation: FloatArray | None
    train_measure: str
    validation_measure: str
    first_step: int
    step_name: str
    kept: int | None


def read_record(ranker: Any) -> TrainingRecord:
    """Read a fitted ranker.

    Raises
    ------
    NotFittedError
        Before `fit`.
    TypeError
        If it is not a ranker of this package.
    ValueError
        If nothing was recorded, or only for some fits of a warm start.
    """
    if is_ranker(ranker) and hasattr(ranker, "metric"):
        check_is_fitted(ranker)
        if hasattr(ranker, "train_score_"):
            return read_boosted(ranker)
        if hasattr(ranker, "validation_scores_"):
            return read_network(ranker)
    raise TypeError(
        "estimator must be a fitted LambdaMARTRanker, LambdaRankRanker or "
        "RankNetRanker, or a Pipeline or a search that ends in one, got "
        f"{type(ranker).__name__}"
    )


def read_boosted(ranker: Any) -> TrainingRecord:
    """Read a ranker of trees: values before the first tree and after each."""
    by_cost = ranker.metric is None
    train = ranker.loss_curve_ if by_cost else ranker.train_score_
    validation = ranker.validation_score_
    if len(train) == len(validation) == 0:
        raise ValueError(
            f"{type(ranker).__name__} has recorded no scores of its training: give fit "
            "X_val, y_val and groups_val, or set early_stopping=True, or verbose=1 for "
            "the scores of training alone"
        )
    measure = scored_by(ranker)
    return TrainingRecord(
        known(train),
        known(validation),
        COST if by_cost else measure,
        measure,
        first_step=0,
        step_name="tree",
        kept=ranker.n_iter_ if len(validation) else None,
    )


def read_network(ranker: Any) -> TrainingRecord:
    """Read a ranker with a network: values of each epoch."""
    by_cost = ranker.metric is None
    train = ranker.loss_curve_ if by_cost else ranker.train_scores_
    validation = ranker.validation_scores_
    if len(validation) not in (0, len(train)):
        raise ValueError(
            f"{type(ranker).__name__} has {len(validation)} validation scores for "
            f"{len(train)} epochs, and it is not known for which: some of the fits it "
            "went on from had no validation; give the values to the constructor"
        )
    return TrainingRecord(
        known(train),
        known(validation),
        COST if by_cost else name_of_metric(get_metric(ranker.metric)),
        scored_by(ranker),
        first_step=1,
        step_name="epoch",
        kept=kept_epoch(known(validation), warm_start=ranker.warm_start),
    )


def known(values: Any) -> FloatArray | None:
    """Return recorded values; None if there are none."""
    return np.array(values, dtype=np.float64) if len(values) else None


def scored_by(ranker: Any) -> str:
    """Name what early stopping looks at."""
    metric = ranker.metric if ranker.scoring is None else ranker.scoring
    return name_of_metric(NDCG(10) if metric is None else get_metric(metric))


def kept_epoch(validation: FloatArray | None, *, warm_start: bool) -> int | None:
    """Find the epoch with the best validation score, whose weights were kept.

    The best is that of the last fit.  Where a warm start may have gone on from earlier
    ones, only the last epoch is known to belong to it.
    """
    if validation is None or np.isnan(validation).all():
        return None
    best = int(np.nanargmax(validation))
    if warm_start and best < len(validation) - 1:
        return None
    return best + 1
