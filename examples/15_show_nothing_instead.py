"""Show nothing rather than poor results: probabilities of relevance
================================================================

Run it by ``python 15_show_nothing_instead.py``.
Needs ``python -m pip install ".[plot]"``.

A search for what a shop does not have still finds something. The scores of a ranker
order the products of one search, and do not say whether any of them fits: they are not
comparable between searches. A CalibratedRanker maps them to probabilities, which are.
The shop then drops each product that is more likely poor than good, and shows an empty
page where none is left. The example makes the data of the shop.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/15_show_nothing_instead.svg"
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import sem

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.model_selection import group_train_test_split
from sklearn_ltr.plotting import GradeReliabilityDisplay

# %%
# The shop
# --------
# Each of 900 searches finds 20 products. A judge has called each of them good (1) or
# poor (0). How well the shop is stocked for a search raises or lowers all its products.
# The table has the rating of each product, how well its words match, with noise, and
# how often the same search has led to a purchase before, the same for all its products.
rng = np.random.default_rng(0)
shape = (900, 20)
stock = rng.normal(0, 1.5, (900, 1))
match, rating = rng.standard_normal((2, *shape))
is_good = stock + 1.5 * match + rating + rng.standard_normal(shape) > 2
words = 0.3 * stock + match + 0.7 * rng.standard_normal(shape)
bought = np.broadcast_to(stock + rng.standard_normal((900, 1)), shape)
data = np.stack([words, rating, bought], axis=-1).reshape(-1, 3)
target, searches = is_good.ravel().astype(int), np.repeat(np.arange(900), 20)
X, X_test, y, y_test, groups, groups_test = group_train_test_split(
    data, target, groups=searches, test_size=1 / 3, random_state=0
)
has_good = is_good.any(axis=1)
print(f"{is_good.mean():.0%} of the products are good; "
      f"{1 - has_good.mean():.0%} of the searches have none.")  # fmt: skip

# %%
# Probabilities
# -------------
# Each CalibratedRanker learns its map from searches that were held out from the ranker,
# in five folds. A third of the searches has no part in this, and is measured below.
# Lambdas of a search add up to zero, so LambdaMART does not learn how good all its
# products are. A MARTRegressor as `init` does, and so does the mean score of a search,
# which ``method="query_isotonic"`` reads, too.
trees = {"n_estimators": 50, "random_state": 0}
with_base = LambdaMARTRanker(init=MARTRegressor(**trees), **trees)
models = {
    "LambdaMART": CalibratedRanker(LambdaMARTRanker(**trees)),
    "with mean scores": CalibratedRanker(
        LambdaMARTRanker(**trees), method="query_isotonic"
    ),
    "with a base model": CalibratedRanker(with_base),
    "with both": CalibratedRanker(with_base, method="query_isotonic"),
}
probabilities = {
    name: model.fit(X, y, groups=groups).predict_relevance(X_test, groups=groups_test)
    for name, model in models.items()
}

# %%
# On the diagonal, a product that is good with probability p is good in a share p of the
# cases. With ``unit="query"`` a point is a tenth of the searches, not of the products.
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for unit, ax in zip(["document", "query"], axes, strict=True):
    for name in ("LambdaMART", "with both"):
        GradeReliabilityDisplay.from_predictions(
            y_test, probabilities[name], groups=groups_test, unit=unit, name=name, ax=ax
        )
plt.show()

# %%
# What the shop shows
# -------------------
# A good product shown is worth 1, a poor one costs 1. So a product is worth showing if
# it is good with a probability above one half. Raw scores give no such limit: the one
# here is the best one on the searches that the ranker was trained on. The gain is over
# this limit, search by search, with its paired standard error.
costs = 2 * y_test - 1
queries = np.unique(groups_test)


def worth(is_shown):
    """Return what the page of each search is worth."""
    return np.array([costs[is_shown & (groups_test == q)].sum() for q in queries])


ranker = models["LambdaMART"]  # predict and rank are those of its ranker
scores, train_scores = ranker.predict(X_test), ranker.predict(X)
by_score = np.argsort(-train_scores, kind="stable")
limit = train_scores[by_score[np.argmax(np.cumsum(2 * y[by_score] - 1))]]
shown = {
    "the first five": ranker.rank(X_test, groups=groups_test) <= 5,
    "raw scores": scores >= limit,
}
shown |= {name: p > 0.5 for name, p in probabilities.items()}
worths = {name: worth(rows) for name, rows in shown.items()}
base = worths["raw scores"]
print("                     shown  of these good  empty pages   worth     gain (error)")
for name, rows in shown.items():
    empty = ~np.isin(queries, groups_test[rows])
    gain = worths[name] - base
    print(
        f"{name:19}{rows.sum():7,}{y_test[rows].mean():15.0%}{empty.mean():13.0%}"
        f"{worths[name].mean():8.2f}{gain.mean():+9.2f} ({sem(gain):.2f})"
    )

# %%
# The empty pages
# ---------------
# How many of the pages that are left empty had something good to show?
found = np.isin(queries, groups_test[shown["with both"]])
had_good = np.isin(queries, groups_test[y_test == 1])
print(
    f"Of {np.sum(~found)} empty pages, {np.sum(~found & had_good)} had a good product;"
)
print(f"of {np.sum(found)} others, {np.sum(found & ~had_good)} had none.")
