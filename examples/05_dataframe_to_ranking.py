"""Rank the rows of a pandas DataFrame
===================================

Run it by ``python 05_dataframe_to_ranking.py``.
Needs ``python -m pip install ".[examples]"``.

The table is what a search engine might log: the text of the query, columns of numbers,
columns of categories, and a grade for each document. A ColumnTransformer selects
columns by name and makes features of them. A LambdaRank network is trained on these.
The output is the rows of the table, query by query, the best document first.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/05_dataframe_to_ranking.svg"
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer

from python_docs import load_python_docs
from sklearn_ltr import LambdaRankRanker
from sklearn_ltr.metrics import rank_scores
from sklearn_ltr.model_selection import compare_rankers, group_train_test_split
from sklearn_ltr.plotting import QueryComparisonDisplay

sklearn.set_config(enable_metadata_routing=True)  # Pipelines pass `groups` on

# %%
# The table
# ---------
NUMBERS = ["bm25", "bm25_name", "name_in_query", "class_share", "docstring_length"]
CATEGORIES = ["kind", "package"]

docs = load_python_docs()
features = pd.DataFrame(docs.data, columns=docs.feature_names)
kinds = [features["is_class"] == 1, features["is_method"] == 1]
names = pd.Series(docs.documents)
table = features[NUMBERS].assign(
    kind=np.select(kinds, ["class", "method"], "function"),
    package=names.str.split(".").str[0].astype("category"),
    document=names,
    query=[docs.queries[group] for group in docs.groups],
    grade=docs.target,
)
print(table.drop(columns="query").head().to_string(index=False))

# %%
# Train
# -----
columns = make_column_transformer(
    (QuantileTransformer(output_distribution="normal", random_state=0), NUMBERS),
    (
        OneHotEncoder(min_frequency=0.05, handle_unknown="infrequent_if_exist"),
        CATEGORIES,
    ),
)
network = LambdaRankRanker(hidden_layer_sizes=(16,), max_iter=20, random_state=0)
ranker = make_pipeline(columns, network)
train, test, _, _ = group_train_test_split(
    table, groups=table["query"], test_size=0.4, random_state=0
)
ranker.fit(train, train["grade"], groups=train["query"])

# %%
# Gain over BM25
# --------------
scores = ranker.predict(test)
rankings = {"BM25": test["bm25"], "LambdaRank": scores}
comparison = compare_rankers(rankings, None, test["grade"], groups=test["query"])
print(comparison)
QueryComparisonDisplay.from_predictions(
    test["grade"], *rankings.values(), groups=test["query"], names=list(rankings)
)
plt.show()

# %%
# The ranked rows
# ---------------
# These are the first queries in alphabetical order.
ranked = test.assign(
    score=scores.round(2), rank=rank_scores(scores, groups=test["query"])
).sort_values(["query", "rank"])
for query, documents in list(ranked.groupby("query"))[:2]:
    print(f"\n{query}")
    shown = ["rank", "document", "kind", "score", "grade"]
    print(documents[shown].head(5).to_string(index=False))
