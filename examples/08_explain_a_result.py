"""Explain why one result is above another: SHAP values of trees
=============================================================

Run it by ``python 08_explain_a_result.py``.
Needs ``python -m pip install ".[examples]"``.

A LambdaMART ranker is trained on queries about Python's documentation. For one unseen
query, SHAP values say what each feature adds to the score of each document. They add up
to the score. The difference of the values of two documents explains why one is above
the other: a feature with a positive number favours the upper one.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/08_explain_a_result.svg"
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from python_docs import load_python_docs
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.model_selection import group_train_test_split
from sklearn_ltr.plotting import ShapHeatmapDisplay, ShapValuesDisplay

# %%
# Train
# -----
# The ranker is trained on a DataFrame. Its columns are the names of the features.
docs = load_python_docs()
table = pd.DataFrame(docs.data, columns=docs.feature_names)
table.index = pd.Index(docs.documents)
X, X_test, y, y_test, groups, groups_test = group_train_test_split(
    table, docs.target, groups=docs.groups, test_size=0.3, random_state=0
)
ranker = LambdaMARTRanker(random_state=0).fit(X, y, groups=groups)

# %%
# The list of one query
# ---------------------
query = groups_test[0]
documents = X_test[groups_test == query]
scores = ranker.predict(documents)
upper, lower = (int(i) for i in np.argsort(-scores, kind="stable")[:2])
print(f'"{docs.queries[query]}"')
for rank, document in enumerate((upper, lower), start=1):
    name = documents.index[document]
    print(f"rank {rank}, document {document}, score {scores[document]:+.3f}: {name}")

# %%
# Why is rank 1 above rank 2?
# ---------------------------
# The table has what each feature adds to the difference of the scores, the largest
# first, and its values in both documents. A feature with equal values may still add
# more to one document, because trees combine it with other features.
result = shap_values(ranker, documents)
difference = pd.Series(result.difference(upper, lower), index=table.columns)
order = difference.abs().sort_values(ascending=False, kind="stable").index
for name in order[:5]:
    values = ", ".join(f"{x:.3g}" for x in documents[name].iloc[[upper, lower]])
    print(f"{name:20}{values:>16}{difference[name]:+10.3f}")
print(f"{f'{len(order) - 5} other features':36}{difference[order[5:]].sum():+10.3f}")
print(f"{'difference of the scores':36}{difference.sum():+10.3f}")

ShapValuesDisplay.from_estimator(
    ranker,
    documents,
    document=upper,
    other=lower,
    document_names=documents.index,
)
plt.show()

# %%
# The whole list
# --------------
# A row is a document, by rank. The plots of the package shap take
# ``result.to_explanation()``.
ShapHeatmapDisplay.from_estimator(ranker, documents)
plt.show()
