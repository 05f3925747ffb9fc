"""What a warm start of a fitted estimator needs, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_ltr.export._tree_model import TrainingState

CURVES = ("train_score_", "validation_score_", "loss_curve_")


def training_state(fitted: Any) -> TrainingState | None:
    """Return what a warm start needs, None if this estimator cannot continue so."""
    if fitted._is_foreign:
        return None
    mapper = fitted._mapper
    bins = mapper.categories
    categorical = bins.feature.tolist()
    return TrainingState(
        seed=fitted._seed,
        bin_thresholds=tuple(
            () if j in bins.feature else tuple(thresholds.tolist())
            for j, thresholds in enumerate(mapper.bin_thresholds)
        ),
        category_bins={
            j: tuple(bins.bin[slice(*bins.first[number : number + 2])].tolist())
            for number, j in enumerate(categorical)
        },
        shared_from=dict(zip(categorical, bins.shared_from.tolist(), strict=True)),
        mean_thresholds={
            j: tuple(thresholds[np.isfinite(thresholds)].tolist())
            for j, thresholds in zip(categorical, bins.mean_threshold, strict=True)
        },
        curves={
            name: tuple(getattr(fitted, name).tolist())
            for name in CURVES
            if hasattr(fitted, name)
        },
        evals_result={
            of_set: {name: tuple(v.tolist()) for name, v in curves.items()}
            for of_set, curves in fitted.evals_result_.items()
        },
    )
