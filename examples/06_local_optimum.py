"""Test whether LambdaRank ends at a local maximum of NDCG: Burges (2010), section 4.2
===================================================================================

Run it by ``python 06_local_optimum.py``.
Needs ``python -m pip install ".[examples]"``.

The lambdas of LambdaRank are not the gradient of NDCG. Burges tests by Monte Carlo
whether training still ends at a local maximum. He draws 459 random directions in
weight space and counts those along which NDCG increases. If there is none, then with a
confidence of 99% at most 1% of all directions increase NDCG.

This example trains a linear LambdaRank for NDCG@3 and a linear RankNet on five made
collections of 2,000 queries. It keeps the epoch with the highest NDCG@3 on these same
queries.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/06_local_optimum.svg"
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.inspection import local_optimality
from sklearn_ltr.plotting import WeightCurvesDisplay

METRIC = "ndcg@3"
STEP_SIZES = (0.1, 0.3, 0.5)
EPOCHS = 60
LINEAR = {
    "hidden_layer_sizes": (),
    "alpha": 0.0,
    "batch_size": 20,
    "learning_rate_init": 0.003,
    "max_iter": EPOCHS,
    "n_iter_no_change": EPOCHS,  # no early stop; the best epoch is kept
    "tol": 0.0,
    "scoring": METRIC,
    "random_state": 0,
}
RANKERS = {
    "LambdaRank": LambdaRankRanker(METRIC, truncation_level=None, **LINEAR),
    "RankNet": RankNetRanker(**LINEAR),
}


# %%
# Train, and step in every direction
# ----------------------------------
# The result depends on the length of the step, because NDCG is a step function of the
# weights. The example tries three lengths, as parts of the length of the weight vector.
shares: dict[str, list[list[float]]] = {name: [] for name in RANKERS}
for seed in range(5):
    made = make_ranking(
        2000,
        n_documents=10,
        n_features=8,
        n_informative=7,
        n_query_features=1,
        random_state=seed,
    )
    X = StandardScaler().fit_transform(made.data)
    training = {"X": X, "y": made.target, "groups": made.groups}
    validation = {f"{name}_val": values for name, values in training.items()}
    for name, ranker in RANKERS.items():
        ranker.fit(**training, **validation)
        results = [
            local_optimality(
                ranker, **training, metric=METRIC, step_size=size, random_state=0
            )
            for size in STEP_SIZES
        ]
        shares[name].append([result.fraction_ascending for result in results])

# %%
# The result
# ----------
# The table has the mean share of directions along which NDCG increases, and the number
# of collections, of five, without such a direction.
ascending = {name: np.array(values) for name, values in shares.items()}
passed = {name: (values == 0).sum(axis=0) for name, values in ascending.items()}
print("step / |w*|" + "".join(f"{name:>22}" for name in RANKERS))
for i, step_size in enumerate(STEP_SIZES):
    cells = "".join(
        f"{ascending[name][:, i].mean():12.1%}{passed[name][i]:4d} of 5"
        for name in RANKERS
    )
    print(f"{step_size:11.0%}{cells}")

# %%
# With steps of 30% of the length of the weight vector LambdaRank passes the test on
# every collection, as in Burges (2010), and RankNet on fewer. With steps of 10%, NDCG
# increases along more directions, and again along fewer for LambdaRank than for
# RankNet.
#
# The picture
# -----------
# NDCG@3 as a function of each single weight, for the last collection.
figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, (name, ranker) in zip(axes, RANKERS.items(), strict=True):
    WeightCurvesDisplay.from_estimator(ranker, **training, metric=METRIC, ax=ax)
    ax.set_title(name)
plt.show()
