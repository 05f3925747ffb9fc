"""Search within a time limit, and estimate for new users
======================================================

Run it by ``python 17_search_for_new_users.py``.
Needs ``python -m pip install ".[plot]"``.

The queries of one user are alike. If some of them are in the training part and others
in the test, a model that knows the users scores well, and a search prefers such models.
New users get less. With ``users=``, RankerSearch holds users out with all their
queries. The example searches both ways, and then measures both models on users whom
neither search has seen.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/17_search_for_new_users.svg"
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.model_selection import (
    RankerSearch,
    UserKFold,
    compare_rankers,
    group_train_test_split,
)
from sklearn_ltr.plotting import SearchTraceDisplay

# %%
# Users
# -----
# Each of 200 users has made 10 queries, and graded 10 documents for each. Users differ
# in taste. Three columns describe the user. They have nothing to do with taste, but
# they tell users apart. Three tenths of the users are there to learn from; the others are
# the new ones.
rng = np.random.default_rng(0)
n_users, n_queries, n_documents = 200, 10, 10
n = n_users * n_queries * n_documents
users = np.repeat(np.arange(n_users), n_queries * n_documents)
groups = np.repeat(np.arange(n_users * n_queries), n_documents)
taste, description = rng.normal(size=(n_users, 4)), rng.normal(size=(n_users, 3))
documents = rng.normal(size=(n, 4))
liking = (documents * (0.5 + taste[users])).sum(axis=1) + rng.normal(size=n)
y = np.digitize(liking, [1.5, 3])
X = np.hstack([documents, description[users]])
X, X_new, y, y_new, users, users_new, groups, groups_new = group_train_test_split(
    X, y, users, groups=groups, users=users, test_size=0.7, random_state=0
)
print(f"{len(np.unique(users))} users to learn from, {len(np.unique(users_new))} new")

# %%
# Two searches
# ------------
# Both try the same settings. A search ends after `n_iter` candidates, or after about
# `time` seconds if this is earlier. The folds of the first keep queries whole, and
# those of the second keep users whole. (With `users`, UserKFold is what ``cv=5``
# means.)
SPACE = {"max_leaf_nodes": [2, 4, 8, 16, 64], "max_features": [0.5, 1.0]}
given = {
    "by query": (GroupKFold(5), {}),
    "by user": (UserKFold(5), {"users": users}),
}
searches = {}
for name, (folds, columns) in given.items():
    searches[name] = RankerSearch(
        LambdaMARTRanker(n_estimators=40, random_state=0),
        param_distributions=SPACE,
        n_iter=8,
        time=60,
        blend=False,
        cv=folds,
        random_state=0,
    ).fit(X, y, groups=groups, **columns)

# %%
# Each estimate is that of the best candidate, and beside it is the NDCG@10 of its model
# on the new users. The estimate by user is not exact, either: there are few users, and it
# is the best of several.
print("\nfolds       estimate  new users  chosen")
estimates, truths = {}, {}
for name, search in searches.items():
    estimates[name] = search.best_score_
    truths[name] = search.score(X_new, y_new, groups=groups_new)
    chosen = search.best_params_ or "the settings given"
    print(f"{name:10}{estimates[name]:10.3f}{truths[name]:11.3f}  {chosen}")

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (name, search) in zip(axes, searches.items(), strict=True):
    SearchTraceDisplay.from_search(search, ax=ax)
    ax.axhline(truths[name], color="0.4", linestyle=":", label="new users")
    ax.set_title(f"folds {name}")
    ax.legend()
plt.show()

# %%
# Is one of the models better for new users?
# ------------------------------------------
# With ``users=``, the comparison draws users, not queries. The last column is what it
# would have said without.
comparison = compare_rankers(searches, X_new, y_new, groups=groups_new, users=users_new)
print(comparison)
