"""Redraw figure 1 of Burges (2010): the lambdas of the documents of one query
===========================================================================

Run it by ``python 02_forces_on_one_query.py``.
Needs ``python -m pip install ".[examples]"``.

A query has sixteen documents, two of them relevant. Scores decrease evenly from 1 to 0.
From the left list to the right list, the upper relevant document moves down by three
ranks and the lower one up by five. There are fewer pairwise errors, but NDCG decreases.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/02_forces_on_one_query.svg"
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.metrics import ndcg_score
from sklearn_ltr.plotting import ForcesDisplay

N_DOCUMENTS = 16
ONE_QUERY = np.zeros(N_DOCUMENTS)
SCORES = np.linspace(1, 0, N_DOCUMENTS)
RELEVANT_RANKS = {"Left list": [1, 15], "Right list": [1 + 3, 15 - 5]}
METRICS = {"RankNet": None, "LambdaRank": "ndcg"}

# %%
# The forces
# ----------
# The numbers are minus the lambda of each relevant document, divided by sigma. If they
# are positive, training raises the score. RankNet's force comes from all pairs of a
# relevant and another document. LambdaRank multiplies it by the change of NDCG if the
# two documents swap.
forces = {}
displays = {}
for name, ranks in RELEVANT_RANKS.items():
    relevant = np.array(ranks) - 1  # scores decrease: row 0 has rank 1
    grades = np.isin(np.arange(N_DOCUMENTS), relevant).astype(float)
    ndcg = ndcg_score(grades, SCORES, groups=ONE_QUERY)
    lambdas = {
        (ranker, sigma): compute_lambdas(
            SCORES, grades, metric, sigma, groups=ONE_QUERY
        )[0]
        / sigma
        for sigma in (1.0, 16.0)
        for ranker, metric in METRICS.items()
    }
    title = f"{name}, NDCG {ndcg:.3f}"
    displays[name] = ForcesDisplay(
        grades, SCORES, {ranker: lambdas[ranker, 1.0] for ranker in METRICS}, name=title
    )
    print(f"{title}: {displays[name].pairwise_errors} pairwise errors")
    print(" " * 25 + "".join(f"{f'rank {rank}':>10}" for rank in ranks))
    for (ranker, sigma), values in lambdas.items():
        forces[name, ranker, sigma] = -values[relevant]
        shown = "".join(f"{force:10.2f}" for force in -values[relevant])
        print(f"  {ranker:<11}sigma {sigma:>4.0f}  {shown}")
    print()

# %%
# In both lists, RankNet's force is larger on the lower relevant document. LambdaRank's
# force is larger on the upper document in the left list, and equal on both in the right
# list, although more irrelevant documents are above the lower one.
#
# With a large sigma only pairs in the wrong order have a force. RankNet's forces are
# then the numbers of errors, and LambdaRank's are also larger on the lower document. So
# the red arrows of Burges' figure, which are largest on the upper document, appear
# only while scores are close to each other.
#
# The picture shows the forces for sigma 1, all in the same scale.
largest = max(
    np.abs(values).max()
    for display in displays.values()
    for values in display.lambdas.values()
)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 6.5), layout="constrained")
for display, ax in zip(displays.values(), axes, strict=True):
    display.plot(ax, largest=largest, arrow_length=8.0)
axes[1].set_ylim(axes[0].get_ylim())
plt.show()
