"""Differences between models on the same queries, with paired standard errors."""

from __future__ import annotations

import numpy as np
from scipy.stats import sem


def paired(values: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """Return the mean difference of values of queries, and its standard error."""
    differences = np.asarray(values) - others
    return float(differences.mean()), float(sem(differences))


def over_seeds(of_seeds: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the means over seeds of the values of each model."""
    return {
        model: np.mean([values[model] for values in of_seeds], axis=0)
        for model in of_seeds[0]
    }


def with_error(difference: float, error: float, digits: int = 4) -> str:
    """Return "+0.0012 (0.0034)"."""
    return f"{difference:+.{digits}f} ({error:.{digits}f})"


def minus(values: np.ndarray, others: np.ndarray, digits: int = 4) -> str:
    """Return the mean difference and its standard error as text."""
    return with_error(*paired(values, others), digits)
