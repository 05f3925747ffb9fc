"""F_0: the scores that boosting starts from (algorithm LambdaMART of the report).

F_0(x) = BaseModel(x),    or the caller's own scores,    or 0
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._queries import one_column_of, read_numbers
from sklearn_ltr.rankers._routing import requested_by_fit

FloatArray = NDArray[np.float64]
LARGEST_BASE_SCORE = 1e12  # of sigma F_0; trees add about 1 to it


def fitted_base_model(init: Any, X: Any, y: Any, **metadata: Any) -> Any:
    """Return a fitted model as it is; of an unfitted one, a clone that is fitted.

    The clone is given the metadata that it requests: groups, if it is a ranker.
    """
    if not (hasattr(init, "fit") and hasattr(init, "predict")):
        raise TypeError(
            f"init must be a ranker, a regressor or None, got {type(init).__name__}"
        )
    try:
        check_is_fitted(init)
    except NotFittedError:
        given = {name: value for name, value in metadata.items() if value is not None}
        with sklearn.config_context(enable_metadata_routing=True):
            fit_metadata = requested_by_fit(init, given)
            return clone(init).fit(X, one_column_of(y), **fit_metadata)
    return init


def check_base_scores(scores: Any, n_rows: int, name: str) -> FloatArray:
    """Return F_0 of each row, (n_rows,) float64, or raise a ValueError."""
    base_score = read_numbers(scores, n_rows, name)
    bad = ~np.isfinite(base_score)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{name} must be finite, but is {base_score[row]} at row {row}"
        )
    return base_score.copy()


def check_base_score_size(sigma: float, base_score: FloatArray) -> None:
    """Raise a ValueError if float64 could not tell what trees add to F_0."""
    largest = sigma * np.abs(base_score).max(initial=0.0)
    if largest > LARGEST_BASE_SCORE:
        raise ValueError(
            f"sigma={sigma:g} times init_score (or what init predicts) is as large as "
            f"{largest:.3g}, and above {LARGEST_BASE_SCORE:g} the trees would be lost "
            "in rounding: subtract a constant from the scores of each query, or divide "
            "them"
        )
