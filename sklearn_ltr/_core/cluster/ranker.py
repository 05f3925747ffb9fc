"""What the `fit` of any cluster's ranker does, whichever engine it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.boosting.base_model import start_from_base_model
from sklearn_ltr._core.boosting.warm_start import trees_so_far
from sklearn_ltr._core.cluster.engine import Engine, fit_on_cluster
from sklearn_ltr._core.data import COLUMNS, FitArguments
from sklearn_ltr._core.estimators.base import refit
from sklearn_ltr._core.estimators.preparation import found_by_reading
from sklearn_ltr._core.estimators.unused_positions import warn_if_unused
from sklearn_ltr._core.parameters import read_parameters
from sklearn_ltr._core.rankers.lambdamart import LambdaMARTParameters, LambdaMARTRanker


def fit_ranker(
    ranker: LambdaMARTRanker,
    connect: Callable[[], Engine],
    arguments: dict[str, Any],
    validation: dict[str, Any],
    columns: dict[str, Any],
) -> None:
    """Fit a ranker on the cluster that `connect` returns, once the arguments are good.

    `arguments` are X, y and groups, `validation` X_val, y_val and groups_val; further
    columns of both are in `columns`.
    """
    arguments |= {name: columns.get(name) for name in COLUMNS}
    validation |= {f"{name}_val": columns.get(f"{name}_val") for name in COLUMNS}
    kind = type(ranker).__name__
    with refit(ranker) as model:
        p = read_parameters(LambdaMARTParameters, model)
        row_columns = {name: arguments[name] for name in COLUMNS}
        rows = np.empty(0, dtype=np.intp)  # a fitted model needs none
        given = FitArguments.of(rows, rows, **row_columns)
        p.check_clicks(given.columns)
        # what a fit on a cluster cannot take
        for named, suffix in ((arguments, ""), (validation, "_val")):
            if suffix and all(values is None for values in named.values()):
                continue
            for name in ("X", "y", "groups"):
                if named[f"{name}{suffix}"] is None:
                    raise ValueError(
                        f"{name}{suffix} is None: {kind} needs X, y and groups of all "
                        "rows (without groups all would be one query, on one worker)"
                    )
        if ranker.init is not None:
            try:
                check_is_fitted(ranker.init)
            except NotFittedError as error:
                raise ValueError(
                    f"init is not fitted, and {kind} fits no base model: fit it first"
                ) from error
        warn_if_unused(ranker, given.columns)
        engine = connect()
        so_far = trees_so_far(vars(ranker), p)
        known = found_by_reading(ranker._attributes, so_far.attributes)
        start_from_base_model(p.init, given, rows, known)
        # the trees that a warm start keeps, and the base model
        start = local_ranker(ranker)
        start.__dict__.update(known)
        fitted, traffic = fit_on_cluster(
            engine, start, p, so_far.seed, arguments, validation
        )
        model.__dict__.update(known | fitted, traffic_=traffic)


def refuse_callbacks(callbacks: tuple[object, ...]) -> None:
    """Raise a ValueError if there are callbacks."""
    if callbacks:
        raise ValueError(
            "callbacks are not called on the workers of a cluster: fit a "
            "LambdaMARTRanker to have them called"
        )


def local_ranker(ranker: LambdaMARTRanker) -> LambdaMARTRanker:
    """Return a plain ranker with the same attributes, but for the cluster's."""
    local = LambdaMARTRanker()
    local.__dict__ = {n: v for n, v in vars(ranker).items() if n != "traffic_"}
    return local
