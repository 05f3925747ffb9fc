"""Define a metric of your own and train LambdaMART for it
=======================================================

Run it by ``python 04_your_own_metric.py``.
Needs ``python -m pip install ".[examples]"``.

The metric is rank-biased precision (Moffat and Zobel, 2008). This package has it as
`sklearn_ltr.metrics.RBP`, but here you see how to write it. It models a reader who
continues from one document to the next with probability p::

    RBP = (1 - p) * sum over ranks r of  relevance_r * p^(r - 1).

Both metrics compare a model that is trained for it with one that is trained for
NDCG@10.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/04_your_own_metric.svg"
from __future__ import annotations

import time
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold

from python_docs import load_python_docs
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.metrics import NDCG, Metric
from sklearn_ltr.model_selection import compare_rankers
from sklearn_ltr.plotting import RankerComparisonDisplay

# %%
# The metric
# ----------
# A subclass of `Metric` with a `value` is enough to evaluate, to score a
# cross-validation, to stop early, and to train. Training then computes the change of
# the metric by a swap of two documents by trying out each swap.


@dataclass(frozen=True, repr=False)
class RBP(Metric):
    """Rank-biased precision; a document is relevant from grade 1."""

    persistence: float = 0.5

    def value(self, ranked_grades: np.ndarray) -> float:
        return float(self.weights(len(ranked_grades)) @ (ranked_grades >= 1))

    def weights(self, n: int) -> np.ndarray:
        return (1 - self.persistence) * self.persistence ** np.arange(n)


# %%
# `swap_delta` gives the changes by a formula: two documents exchange their
# weights. Up to rounding, the model is the same, and training is faster.


@dataclass(frozen=True, repr=False)
class FastRBP(RBP):
    """The same with a formula for swaps."""

    def swap_delta(self, ranked_grades: np.ndarray) -> np.ndarray:
        weights, relevance = self.weights(len(ranked_grades)), ranked_grades >= 1
        return np.abs(
            np.subtract.outer(relevance.astype(float), relevance)
            * np.subtract.outer(weights, weights)
        )


docs = load_python_docs(n_candidates=20)
X, y, groups = docs.data, docs.target, docs.groups
few = groups < 100
seconds, scores_of = {}, {}
for name, metric in (("value only", RBP()), ("with swap_delta", FastRBP())):
    ranker = LambdaMARTRanker(metric, n_estimators=5, random_state=0)
    start = time.perf_counter()
    ranker.fit(X[few], y[few], groups=groups[few])
    seconds[name] = time.perf_counter() - start
    scores_of[name] = ranker.predict(X)
    print(f"5 trees for RBP, 100 queries, {name:<16}{seconds[name]:6.2f} s")
largest_difference = np.abs(np.subtract(*scores_of.values())).max()
print(f"largest difference of their scores {largest_difference:.0e}")

# %%
# Compare the two models
# ----------------------
# In three folds, each query is ranked by a model that has not seen it. By default, a
# ranker adds a regression on the grades to the lambdas. Without it
# (`regression_weight=0`), only the metric decides what is learned. Each table compares
# the two models by one metric. The difference is the gain of training for this metric.
METRICS = {"RBP": FastRBP(), "NDCG@10": NDCG(10)}
scores = {}
for trained_for, metric in METRICS.items():
    ranker = LambdaMARTRanker(
        metric, n_estimators=30, regression_weight=0.0, random_state=0
    )
    scores[f"for {trained_for}"] = np.empty(len(y))
    for train, test in GroupKFold(3).split(X, y, groups):
        ranker.fit(X[train], y[train], groups=groups[train])
        scores[f"for {trained_for}"][test] = ranker.predict(X[test])

comparisons = {}
figure, axes = plt.subplots(2, 1, figsize=(6, 3.2), layout="constrained")
for ax, (by, metric) in zip(axes, METRICS.items(), strict=True):
    own_last = sorted(scores, key=lambda name: name == f"for {by}")
    comparisons[by] = compare_rankers(
        {name: scores[name] for name in own_last}, None, y, groups=groups, metric=metric
    )
    print(f"\n{comparisons[by]}")
    RankerComparisonDisplay.from_comparison(comparisons[by], ax=ax)
plt.show()
