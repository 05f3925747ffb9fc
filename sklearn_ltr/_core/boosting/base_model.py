"""F_0: the scores that boosting starts from (Burges 2010, algorithm LambdaMART).

F_0(x) = Estimator(x),    or the caller's own scores,    or 0
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.data import FitArguments, FitData, check_base_scores
from sklearn_ltr._core.data.feature_reader import SuppliedX, given_values
from sklearn_ltr._core.data.rows import index_rows, only_column
from sklearn_ltr._core.data.rows import n_rows as n_rows_of
from sklearn_ltr._core.estimators.routing import requested_metadata
from sklearn_ltr._core.typing import FloatArray, MatrixLike

LARGEST_BASE_SCORE = 1e12  # limit of sigma F_0; trees add about 1


def start_from_base_model(
    init: BaseEstimator | None,
    given: FitArguments,
    rows: NDArray[np.intp],
    found: dict[str, Any],
) -> None:
    """Put the base model into `found`: the kept one, else `init`, if need be fitted."""
    if init is not None and given.columns.init_score is not None:
        raise ValueError("init and init_score were both given: give one of the two")
    if "init_" in found:  # of the trees that a warm start keeps
        if (init is None) != (found["init_"] is None):
            raise ValueError(
                f"init is {'no' if init is None else 'a'} model, unlike in the "
                "fit whose trees warm_start keeps: fit with warm_start=False"
            )
        return
    found |= {"init_": init, "_uses_init_score": given.columns.init_score is not None}
    if init is None:
        return
    if not (hasattr(init, "fit") and hasattr(init, "predict")):
        raise TypeError(
            f"init must be a ranker, a regressor or None, got {type(init).__name__}"
        )
    try:
        check_is_fitted(init)
    except NotFittedError:
        X, y = given_values(given.X), given.y
        if y is None:
            raise ValueError(
                f"init is a {type(init).__name__} that is not fitted, and there is no "
                "y to fit it to: give a fitted model, or init_score"
            ) from None
        columns = {n: v for n, v in given.metadata.items() if v is not None}
        with sklearn.config_context(enable_metadata_routing=True):
            model = clone(init)
            metadata = requested_metadata(model, columns)
            if len(rows) < n_rows_of(X):  # without those held out, or of weight 0
                rows = np.sort(rows)
                X, y = index_rows(X, rows), index_rows(y, rows)
                metadata = {n: index_rows(v, rows) for n, v in metadata.items()}
            found["init_"] = model.fit(X, one_column_of(y), **metadata)


def one_column_of(values: ArrayLike) -> ArrayLike:
    """Return the column of a table that has one, most other things as they are."""
    # for y of other estimators: to many of them a table is several targets, and older
    # ones cannot read arrays without a shape, such as pyarrow's
    shape = getattr(values, "shape", None)
    is_table = isinstance(shape, tuple) and len(shape) == 2
    if is_table or (shape is None and hasattr(values, "__array__")):
        return only_column(np.asarray(values))
    return values


def check_base_score_size(data: FitData, sigma: float) -> None:
    """Raise a ValueError if trees added to F_0 would be lost in rounding."""
    for scored in (data.learned, *data.validation):
        largest = sigma * np.abs(scored.init_score).max(initial=0.0)
        if largest > LARGEST_BASE_SCORE:
            raise ValueError(
                f"sigma={sigma:g} times init_score (or what init predicts) is as large "
                f"as {largest:.3g}; above {LARGEST_BASE_SCORE:g} rounding would erase "
                "the trees: subtract a constant from the scores of each query, or "
                "divide them"
            )


def check_init_score_given(
    uses_init_score: bool, init_score: ArrayLike | None, suffix: str = ""
) -> None:
    """Raise a ValueError if initial scores were given to one of two calls only."""
    if uses_init_score != (init_score is not None):
        had, has = ("", "no ") if uses_init_score else ("no ", "an ")
        raise ValueError(
            f"fit was given {had}init_score, but this call got {has}init_score"
            f"{suffix}: give it to both calls, or to neither"
        )


def base_scores(
    base_model: BaseEstimator | None,
    X: MatrixLike,
    n_rows: int,
    init_score: ArrayLike | None,
) -> FloatArray:
    """Return F_0 of the rows of X, from the base model or the given `init_score`."""
    if base_model is not None and n_rows > 0:  # a model may refuse an X of no rows
        scores = (
            X.predict(base_model) if isinstance(X, SuppliedX) else base_model.predict(X)
        )
        return check_base_scores(scores, n_rows, "what init predicts")
    if init_score is not None:
        return check_base_scores(init_score, n_rows, "init_score")
    return np.zeros(n_rows)
