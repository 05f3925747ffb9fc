"""Learn the grade itself: regression and classification
=====================================================

Run it by ``python 18_learn_the_grade_itself.py``. It needs matplotlib.

A regressor that predicts the grade of each document ranks, too. So do classifiers, by
the expected relevance, as in McRank (Li, Burges and Wu, 2007). The example compares both
with LambdaMART, which learns the order alone, and with a LambdaMART that begins with the
regressor. Only models that have learned grades also say how good a document is.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/18_learn_the_grade_itself.svg"
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import r2_score

from python_docs import load_python_docs
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.model_selection import compare_rankers, group_train_test_split
from sklearn_ltr.plotting import RankerComparisonDisplay

# %%
# The data
# --------
# The data are those of the first example. A third of the queries is held out.
docs = load_python_docs()
X, X_test, y, y_test, groups, groups_test = group_train_test_split(
    docs.data, docs.target, groups=docs.groups, test_size=1 / 3, random_state=0
)
shares = np.bincount(y) / len(y)
print(", ".join(f"grade {grade}: {share:.1%}" for grade, share in enumerate(shares)))

# %%
# Four models
# -----------
# A MARTRegressor is fitted without groups: it learns from each row for itself.
trees = {"n_estimators": 50, "random_state": 0}
regressor = MARTRegressor(**trees).fit(X, y)

# %%
# A classifier for each grade but the lowest predicts the probability of this grade or a
# better one. NDCG counts a document of grade y as 2^y - 1. The expected value of this
# adds up, from grade to grade, what the grade has more than the one below.
expected = np.zeros(len(X_test))
for grade in range(1, y.max() + 1):
    classifier = MARTClassifier(**trees).fit(X, y >= grade)
    more = 2**grade - 2 ** (grade - 1)
    expected += more * classifier.predict_proba(X_test)[:, 1]

# %%
# LambdaMART learns from pairs of documents of a query. With ``init=``, its trees correct
# the order of the regressor, which is fitted first.
ranker = LambdaMARTRanker(**trees).fit(X, y, groups=groups)
with_base = LambdaMARTRanker(init=MARTRegressor(**trees), **trees)
with_base.fit(X, y, groups=groups)

# %%
# Which one ranks best?
# ---------------------
scores = {
    "LambdaMART": ranker.predict(X_test),
    "regressor": regressor.predict(X_test),
    "expected relevance": expected,
    "regressor, then LambdaMART": with_base.predict(X_test),
}
comparison = compare_rankers(
    scores, None, y_test, groups=groups_test, baseline="LambdaMART"
)
print(comparison)
RankerComparisonDisplay.from_comparison(comparison)
plt.show()

# %%
# Which one predicts the grade?
# -----------------------------
# The share of the variance of unseen grades that the predictions explain. It is below 0
# if predictions are worse than the mean grade. A LambdaMARTRanker that began with a
# regressor no longer predicts grades; a CalibratedRanker maps its scores to grades.
explained = {
    name: r2_score(y_test, scores[name])
    for name in ("regressor", "regressor, then LambdaMART", "LambdaMART")
}
for name, value in explained.items():
    print(f"{name:26}{value:8.2f}")
