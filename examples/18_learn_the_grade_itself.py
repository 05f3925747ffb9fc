"""Learn the grade itself: regression and classification
=====================================================

Run it by ``python 18_learn_the_grade_itself.py``.
Needs ``python -m pip install ".[plot]"``.

A regressor that predicts the grade of each document ranks, too. So do classifiers, by
the expected relevance, as in McRank (Li, Burges and Wu, 2007). The example compares
both with LambdaMART, which learns the order, and with a LambdaMART that begins with a
regressor. It then measures which of them also says how good a document is.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/18_learn_the_grade_itself.svg"
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import r2_score

from python_docs import make_data, read_documents
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.model_selection import compare_rankers, group_train_test_split
from sklearn_ltr.plotting import RankerComparisonDisplay

# %%
# The data
# --------
# The data are made like those of the first example, with fewer queries and shorter
# lists. Half of the queries are held out.
docs = make_data(read_documents(), 900, 30)
X, X_test, y, y_test, groups, groups_test = group_train_test_split(
    docs.data, docs.target, groups=docs.groups, test_size=1 / 2, random_state=0
)
shares = np.bincount(y) / len(y)
print(", ".join(f"grade {grade}: {share:.1%}" for grade, share in enumerate(shares)))

# %%
# Four models
# -----------
# A MARTRegressor is fitted without groups: it learns from each row for itself. It has
# 100 trees, the default, as LambdaMART has.
regressor = MARTRegressor(random_state=0).fit(X, y)

# %%
# A classifier for each grade but the lowest predicts the probability of this grade or a
# better one. NDCG counts a document of grade y as 2^y - 1. The expected value of this
# adds up, from grade to grade, what the grade has more than the one below.
expected = np.zeros(len(X_test))
for grade in range(1, y.max() + 1):
    classifier = MARTClassifier(random_state=0).fit(X, y >= grade)
    more = 2**grade - 2 ** (grade - 1)
    expected += more * classifier.predict_proba(X_test)[:, 1]

# %%
# LambdaMART learns from pairs of documents of a query. With ``init=``, half of the
# trees are those of a regressor, which is fitted first, and the others correct its
# order.
ranker = LambdaMARTRanker(random_state=0).fit(X, y, groups=groups)
half = {"n_estimators": 50, "random_state": 0}
with_base = LambdaMARTRanker(init=MARTRegressor(**half), **half)
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
# The share of the variance of unseen grades that the predictions explain: below 0 if
# they are farther from the grades than their mean is. The trees of LambdaMART move the
# scores away from the grades. (A CalibratedRanker maps scores to grades again.)
explained = {
    name: r2_score(y_test, scores[name])
    for name in ("regressor", "regressor, then LambdaMART", "LambdaMART")
}
for name, value in explained.items():
    print(f"{name:26}{value:8.2f}")
