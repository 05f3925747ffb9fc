"""Rank for clicks and for purchases: one model, two labels
========================================================

Run it by ``python 12_clicks_and_purchases.py``.
Needs ``python -m pip install ".[examples]"``.

Customers of a shop do not buy all that they click: a nice picture gets clicks, and a
good price gets purchases. One model can learn from both labels, each a column of `y`.
``label_weights`` sets the share of each label in the force. The example makes the data
of the shop, so it downloads nothing.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/12_clicks_and_purchases.svg"
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.model_selection import group_train_test_split
from sklearn_ltr.plotting import ParetoDisplay
from sklearn_ltr.scorers import make_ranking_scorer

sklearn.set_config(enable_metadata_routing=True)  # the search passes `groups` on

# %%
# The shop
# --------
# Each of 900 searches shows 20 products. A click depends on relevance and on looks. A
# purchase depends on a click, the price and the quality. The model sees the price, and
# the others with noise.
rng = np.random.default_rng(0)
shape = (900, 20)
relevance, looks, price, quality = rng.standard_normal((4, *shape))
clicks = rng.random(shape) < 1 / (1 + np.exp(2 - 1.5 * relevance - looks))
purchases = clicks & (rng.random(shape) < 1 / (1 + np.exp(1 + 1.5 * price - quality)))
seen = [
    column + 0.5 * rng.standard_normal(shape) for column in (relevance, looks, quality)
]
data = np.stack([*seen, price], axis=-1).reshape(-1, 4)
target = np.stack([clicks, purchases], axis=-1).reshape(-1, 2).astype(float)
searches = np.repeat(np.arange(900), 20)
# The latest 40% of the searches are put aside before anything is learned.
X, X_test, y, y_test, groups, groups_test = group_train_test_split(
    data, target, groups=searches, order=searches, test_size=0.4
)
print(f"Of {len(data):,} products shown, {clicks.mean():.0%} were clicked and", end=" ")
print(f"{purchases.mean():.0%} bought.")

# %%
# Weights are shares
# ------------------
# There are almost three times as many clicks as purchases. This does not matter,
# because the ranker divides the lambdas of a label by their sum of absolute values at
# the start. So ``[1, 1]`` gives both labels the same force.
SHARES = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]
ranker = LambdaMARTRanker(n_estimators=60, random_state=0)
scores, values = [], []
print("\nshare of purchases   NDCG@10 of clicks   of purchases")
for share in SHARES:
    ranker.set_params(label_weights=[1 - share, share]).fit(X, y, groups=groups)
    scores.append(ranker.predict(X_test))
    found = [
        ranker.score(X_test, y_test, groups=groups_test, label=label)
        for label in (0, 1)
    ]
    values.append(found)
    print(f"{share:18.0%}{found[0]:20.3f}{found[1]:15.3f}")

# %%
# The curve
# ---------
# A blend of two rankers, one for each label, is another way. It takes twice the trees.
# A line joins the models that no other one of their kind beats for both labels.
ends = [scores[0], scores[-1]]
scaled = [s / s.std() for s in ends]
blends = [(1 - share) * scaled[0] + share * scaled[1] for share in SHARES]
display = ParetoDisplay.from_predictions(
    y_test,
    {"one model, by its weights": scores, "blend of two models": blends},
    groups=groups_test,
    labels={"clicks": 0, "purchases": 1},
    point_names={"one model, by its weights": [f"{share:.0%}" for share in SHARES]},
)
display.ax_.set_title("Models by their share of purchases")
plt.show()


# %%
# A choice
# --------
# Decide how much a click and a purchase are worth to you. Here a purchase counts as
# much as three clicks. The search measures both labels on held-out queries, and chooses
# the weights with the highest worth. (`score` cannot choose the weights, because it
# measures each model by the model's own weights.)
def most_worth(results):
    """Return the index of the candidate whose clicks and purchases are worth most."""
    clicked, bought = (results[f"mean_test_{label}"] for label in ("clicks", "bought"))
    return int(np.argmax(clicked + 3 * bought))


search = GridSearchCV(
    ranker,
    {"label_weights": [[1 - share, share] for share in SHARES]},
    scoring={
        "clicks": make_ranking_scorer("ndcg@10", label=0),
        "bought": make_ranking_scorer("ndcg@10", label=1),
    },
    cv=GroupKFold(3),
    refit=most_worth,
)
search.fit(X, y, groups=groups)
best_share = search.best_params_["label_weights"][1]
print(f"\nBest on held-out searches: {best_share:.0%} of the force for purchases.")
