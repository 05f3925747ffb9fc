"""Search for the best settings of a Pipeline, query by query
==========================================================

Run it by ``python 03_grid_search_by_query.py``.
Needs ``python -m pip install ".[examples]"``.

GroupKFold keeps each query whole. Three metrics evaluate every setting, and the search
fits the best one by NDCG@10 again. scikit-learn's metadata routing, enabled once,
passes `groups` to each fit and each scorer.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/03_grid_search_by_query.svg"
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.feature_selection import VarianceThreshold
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline

from python_docs import load_python_docs
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.model_selection import compare_rankers, group_train_test_split
from sklearn_ltr.plotting import CutoffCurveDisplay
from sklearn_ltr.scorers import make_ranking_scorer

sklearn.set_config(enable_metadata_routing=True)

# %%
# Search
# ------
# The data are those of the first example, with fewer queries. The search does not use
# a third of the queries.
SCORING = {name: make_ranking_scorer(name) for name in ("ndcg@10", "map", "mrr")}
GRID = {
    "ranker__learning_rate": [0.05, 0.1, 0.2],
    "ranker__max_leaf_nodes": [8, 16, 32],
}
docs = load_python_docs()
few = docs.groups < 900
X, X_test, y, y_test, groups, groups_test = group_train_test_split(
    docs.data[few],
    docs.target[few],
    groups=docs.groups[few],
    test_size=1 / 3,
    random_state=0,
)
ranker = LambdaMARTRanker(n_estimators=40, random_state=0, n_jobs=1)
pipeline = Pipeline([("varying", VarianceThreshold()), ("ranker", ranker)])
search = GridSearchCV(
    pipeline, GRID, scoring=SCORING, refit="ndcg@10", cv=GroupKFold(5), n_jobs=2
)
search.fit(X, y, groups=groups)

# %%
# The table has every setting, the best first. (sd) is the standard deviation over the
# folds.
results = search.cv_results_
print(f"{'':11}learning_rate  max_leaf_nodes   NDCG@10   (sd)     MAP     MRR")
for row in np.argsort(results["rank_test_ndcg@10"], kind="stable"):
    rate, leaves = (results[f"param_{name}"][row] for name in GRID)
    means = {name: results[f"mean_test_{name}"][row] for name in SCORING}
    spread = results["std_test_ndcg@10"][row]
    print(
        f"{rate:24.2f}{leaves:16}{means['ndcg@10']:10.3f}{spread:7.3f}"
        f"{means['map']:8.3f}{means['mrr']:8.3f}"
    )

# %%
# The best setting on the other queries
# -------------------------------------
# The table compares it with BM25, query by query.
rankings = {
    "BM25": X_test[:, docs.feature_names.index("bm25")],
    "best setting": search.predict(X_test),
}
comparison = compare_rankers(rankings, None, y_test, groups=groups_test)
print(comparison)

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
CutoffCurveDisplay.from_predictions(y_test, rankings, groups=groups_test, ax=ax)
plt.show()
