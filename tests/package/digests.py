"""Fit models of many kinds, and print digests of their bits.

    python tests/package/digests.py [NAME ...]

Two CPUs (or two versions of a library) fit the same models if they print the same.
Without names, all fits but networks run.  `test_other_cpus.py` compares the digests.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import Metric
from sklearn_ltr.metrics._metric import METRICS

Digests = Iterator[tuple[str, tuple[Any, ...]]]

# The data are made of sums and products of single numbers: numpy's exponentials and
# its normal numbers may have other last bits on another CPU.
RNG = np.random.default_rng(0)
SIZES = RNG.integers(1, 40, 60)
GROUPS = np.repeat(np.arange(len(SIZES)), SIZES)
POSITIONS = np.concatenate([np.arange(size) for size in SIZES])
X = RNG.random((len(GROUPS), 10)) - RNG.random((len(GROUPS), 10))
UTILITY = X[:, 0] + 2 * X[:, 1] * X[:, 2] + RNG.random(len(X))
# 2^y and 2^-y are not whole numbers
Y = np.digitize(UTILITY, [0.6, 1.0, 1.5, 2.0]) / 2
X[RNG.random(X.shape) < 0.1] = np.nan
CATEGORIES = RNG.integers(0, 12, (len(X), 2))
OPTIONS: dict[str, Any] = {"n_estimators": 12, "random_state": 0}
POLICIES = ("best_first", "symmetric")


@dataclass(frozen=True)
class BestOnTop(Metric):
    """A metric without a closed form, whose swap deltas are differences of values."""

    def value(self, ranked_grades):
        return float(ranked_grades[0])


def parts(ranker: Any, X: np.ndarray = X) -> tuple[Any, ...]:
    """Return what must be the same of a model of trees."""
    trees = ranker.ensemble_
    curve = getattr(ranker, "loss_curve_", 0.0)
    scores = ranker.predict(X)
    return scores, trees.feature, trees.threshold, trees.value, trees.gain, curve


def lambdamart(X: np.ndarray = X, y: np.ndarray = Y, **parameters: Any) -> Any:
    columns = {
        name: parameters.pop(name)
        for name in ("positions", "document_weight", "propensities")
        if name in parameters
    }
    return LambdaMARTRanker(**OPTIONS | parameters).fit(X, y, groups=GROUPS, **columns)


def fits() -> Digests:
    for policy in POLICIES:
        yield policy, parts(lambdamart(grow_policy=policy))
        yield f"{policy} err", parts(lambdamart(metric="err@10", grow_policy=policy))
    yield "far apart", parts(lambdamart(sigma=200.0, learning_rate=5.0))
    yield "cost", parts(lambdamart(metric=None))
    yield "all rows", parts(lambdamart(subsample=1.0))
    yield "dropped trees", parts(lambdamart(dart=0.5, path_smooth=3.0))


def metrics() -> Digests:
    scores = lambdamart().predict(X)
    for name, metric in METRICS.items():
        for k in (None, 5):
            per_query = metric(k).per_query(Y, scores, groups=GROUPS)
            yield f"{name} {k}", (per_query, metric(k)(Y, scores, groups=GROUPS))


def mart() -> Digests:
    classifier = MARTClassifier(**OPTIONS, early_stopping=True).fit(X, Y > 0.5)
    yield "classifier", (classifier.predict_proba(X), classifier.validation_score_)
    yield "regressor", parts(MARTRegressor(**OPTIONS).fit(X, Y))
    symmetric = MARTRegressor(**OPTIONS, grow_policy="symmetric").fit(X, Y)
    yield "symmetric regressor", parts(symmetric)


def more_fits() -> Digests:
    with_categories = np.column_stack([X, CATEGORIES])
    for policy in POLICIES:
        options = {"categorical_features": [10, 11], "grow_policy": policy}
        ranker = lambdamart(with_categories, **options)
        yield f"categories, {policy}", parts(ranker, with_categories)
    constrained = lambdamart(monotonic_cst=[1] * X.shape[1], max_features=0.5)
    yield "monotonic constraints, drawn features", parts(constrained)
    labels = np.column_stack([Y, X[:, 3] > 0.5])
    labels[GROUPS % 7 == 0, 1] = np.nan
    several = lambdamart(y=labels, metric=["ndcg", "map"], label_weights=[1, 0.3])
    yield "several labels", parts(several)
    for bias in ("pairwise", "additive"):
        options = {"position_bias": bias, "positions": POSITIONS}
        ranker = lambdamart(y=(Y > 0.5) * 1.0, **options)
        yield f"{bias} position bias", (*parts(ranker), ranker.position_bias_)
    clicks = {"propensities": 1 / (1.0 + POSITIONS), "document_weight": Y + 1 / 3}
    yield "weights", parts(lambdamart(y=(Y > 0.5) * 1.0, **clicks))
    yield "no closed form", parts(lambdamart(metric=BestOnTop(3)))
    early = lambdamart(early_stopping=True, n_estimators=30)
    yield "early stopping", (*parts(early), early.validation_score_)
    for name, metric in METRICS.items():
        yield f"trained for {name}", parts(lambdamart(metric=metric(5)))
    yield "SHAP values", (shap_values(early, X[:50]).values,)


def networks() -> Digests:
    filled = np.nan_to_num(X).astype(np.float32)
    for ranker in LambdaRankRanker(random_state=0), RankNetRanker(random_state=0):
        scores = ranker.fit(filled, Y, groups=GROUPS).predict(filled)
        yield type(ranker).__name__, (scores,)


KINDS: dict[str, Callable[[], Digests]] = {
    function.__name__: function for function in (fits, metrics, mart, more_fits)
}


def main(names: list[str]) -> None:
    kinds = KINDS | {"networks": networks}
    start = time.perf_counter()
    for kind in names or KINDS:
        for name, arrays in kinds[kind]():
            content = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)
            print(f"{hashlib.sha256(content).hexdigest()[:12]} {name}", flush=True)
        spent = time.perf_counter() - start
        print(f"{kind}: {spent:.0f} s so far", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
