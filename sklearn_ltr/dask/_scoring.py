"""What a fitted ranker does with the partitions of Dask collections."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr import LambdaMARTRanker

FloatArray = NDArray[np.float64]


def computed(*values: Any) -> tuple[Any, ...]:
    """Return what Dask collections hold, and other values as they are."""
    import dask

    found: tuple[Any, ...] = dask.compute(*values)
    return found


def score_frame(X: Any, model: LambdaMARTRanker, *init_score: Any) -> Any:
    """Return the scores of a partition of a DataFrame, a Series."""
    import pandas as pd

    scores = score_block(X, *init_score, model=model)
    return pd.Series(scores, index=X.index, name="score")


def score_block(X: Any, *init_score: Any, model: LambdaMARTRanker) -> FloatArray:
    """Return the scores of a partition."""
    if X.shape[0] == 0:
        return np.empty(0)
    given = np.ravel(init_score[0]) if init_score else None
    return model.predict(X, init_score=given)
