"""Train LambdaMART on an objective of your own, with curves of several data sets
==============================================================================

Run it by ``python 09_your_own_objective.py``.
Needs ``python -m pip install ".[examples]"``.

An objective is a function of the scores, the grades and the queries. It returns the
first and second derivatives of a cost by each score.  ListNet (Cao et al., 2007) is the
cross entropy of two distributions over the documents of a query, one of the gains and
one of the scores::

    C = - sum_i t_i log p_i,    t_i = gain_i / sum_j gain_j,
                                p_i = exp(s_i) / sum_j exp(s_j),

    dC/ds_i = p_i - t_i,        d2C/ds_i^2 = p_i (1 - p_i).

The learning rate is a function of the tree's index, and falls from tree to tree.  Two
metrics measure two validation sets after each tree.  No fit stops early.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/09_your_own_objective.svg"
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from python_docs import load_python_docs
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.model_selection import group_train_test_split
from sklearn_ltr.plotting import TrainingCurveDisplay

# %%
# The objective and the learning rate
# -----------------------------------


def listnet(
    scores: np.ndarray, grades: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return gradient and hessian; query q is offsets[q] to offsets[q + 1] - 1."""
    starts, sizes = offsets[:-1], np.diff(offsets)

    def share(values: np.ndarray) -> np.ndarray:
        return values / np.repeat(np.add.reduceat(values, starts), sizes)

    highest = np.repeat(np.maximum.reduceat(scores, starts), sizes)
    p, t = share(np.exp(scores - highest)), share(2**grades - 1)
    return p - t, p * (1 - p)


def falling_rate(tree_index: int) -> float:
    """Return the learning rate of a tree."""
    return 0.2 * 0.98**tree_index


# %%
# Train on both objectives
# ------------------------
# Half of the queries of the first example are for training, the others for two
# validation sets.
docs = load_python_docs(n_candidates=20)
X, X_rest, y, y_rest, groups, groups_rest = group_train_test_split(
    docs.data, docs.target, groups=docs.groups, test_size=0.5, random_state=0
)
sets = group_train_test_split(
    X_rest, y_rest, groups=groups_rest, test_size=0.5, random_state=0
)
X_val, y_val, groups_val = (tuple(sets[i : i + 2]) for i in (0, 2, 4))
rankers = {}
SHOWN = [0, 10, 30, 100]
print("NDCG@10 after trees" + "".join(f"{n_trees:9}" for n_trees in SHOWN))
for name, objective in (("lambdas", "lambdarank"), ("ListNet", listnet)):
    ranker = LambdaMARTRanker(
        objective=objective,
        learning_rate=falling_rate,
        scoring=["ndcg@10", "map"],
        early_stopping=False,
        random_state=0,
    )
    ranker.fit(X, y, groups=groups, X_val=X_val, y_val=y_val, groups_val=groups_val)
    rankers[name] = ranker
    for set_name, curves in ranker.evals_result_.items():
        values = "".join(f"{curves['ndcg@10'][n_trees]:9.4f}" for n_trees in SHOWN)
        print(f"{name}, {set_name:<{17 - len(name)}}{values}")

# %%
# Against overfitting, the ranker adds a regression on the grades to the lambdas.
# ListNet has no such regression, and fits the training queries more closely.
figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained", sharey="row")
for column, (name, ranker) in zip(axes.T, rankers.items(), strict=True):
    TrainingCurveDisplay.from_estimator(ranker, ax=column)
    column[0].set_title(name)
plt.show()
