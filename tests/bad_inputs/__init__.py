"""What cannot be used: each reader of an argument is tested once, with all that is bad.

That every argument and every parameter goes through a reader is tested by
`test_every_argument.py` and `test_every_parameter.py`, which read what is public. The
other files have a table of bad values for each reader, given to one of its callers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.model_selection import RankerSearch

NAN, INF, HUGE = float("nan"), float("inf"), 10**400  # the last is beyond float64
DATA = make_ranking(6, n_documents=5, n_features=4, n_informative=2, random_state=0)
X, Y, GROUPS = np.arctan(DATA.data), DATA.target, DATA.groups
N = len(Y)
TREES = {"n_estimators": 2, "min_samples_leaf": 2, "random_state": 0}
NETWORK = {"max_iter": 2, "hidden_layer_sizes": (3,), "random_state": 0}
SMALL: dict[type, dict[str, Any]] = {
    LambdaMARTRanker: TREES,
    LambdaRankRanker: NETWORK,
    RankNetRanker: NETWORK,
    MARTRegressor: TREES,
    MARTClassifier: TREES,
    BaggingRanker: {
        "estimator": LambdaMARTRanker(**TREES), "n_estimators": 2, "random_state": 0,
    },
    BlendedRanker: {
        "rankers": [LambdaMARTRanker(**TREES), Ridge()], "method": "sweep", "cv": 2,
    },
    CalibratedRanker: {"ranker": LambdaMARTRanker(**TREES), "cv": 2},
    RankerSearch: {
        "ranker": LambdaMARTRanker(**TREES), "time": None, "n_iter": 2, "cv": 2,
        "param_distributions": {"max_leaf_nodes": [3]},
    },
}  # fmt: skip
RANKERS = (LambdaMARTRanker, LambdaRankRanker, RankNetRanker)
OF_TREES = (LambdaMARTRanker, MARTRegressor, MARTClassifier)
Bad = tuple[Any, type[Exception], str]


def targets(estimator: type) -> dict[str, Any]:
    """Return what `fit` needs beside X."""
    if estimator in (MARTRegressor, MARTClassifier):
        return {"y": Y > 1 if estimator is MARTClassifier else Y}
    return {"y": Y, "groups": GROUPS}


def fit(estimator: type, given: Mapping[str, Any] = {}, /, **parameters: Any) -> Any:  # noqa: B006
    """Fit a small model with some parameters, and some arguments replaced."""
    model = estimator(**SMALL[estimator] | parameters)
    return model.fit(**{"X": X, **targets(estimator), **given})


@cache
def fitted(estimator: type) -> Any:
    """Return the small model, which no test changes."""
    return fit(estimator)


def refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    """Check the type of the error of a call, and a part of its message."""
    with pytest.raises(error) as raised:
        call()
    assert raised.type is error, raised.value
    assert message in str(raised.value), raised.value


def each(*tables: Mapping[str, tuple[Any, ...]]) -> Iterable[Any]:
    """Return the rows of tables as parameters of a test, named by their keys."""
    return [pytest.param(*row, id=k) for table in tables for k, row in table.items()]


def last(value: Any, column: Any = GROUPS % 3) -> list[Any]:
    """Return a column of numbers of which the last, row 29 of query 5, is another."""
    return [*np.asarray(column).tolist()[:-1], value]
