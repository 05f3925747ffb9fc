"""Train a ranker, explain it, and upload it to a search engine
=============================================================

Run it by ``python 10_export_a_model.py``.
Needs ``python -m pip install ".[examples]"``.

The documents are the functions, methods and classes of the standard library. A search
engine would have them in an index with the fields `name` and `text`. LambdaMART is
trained on features that the engine can compute itself. The example prints the requests
that upload the features and the model: for the plugins Learning to Rank of
Elasticsearch and OpenSearch, for Elastic's own learning to rank, and for Solr. If you
have a running engine, send each request by::

    requests.request(request.method, "http://localhost:9200" + request.path,
                     json=request.body)

The exported model is the trained model: a few lines read the printed JSON as the plugin
does, and their scores differ from those of `predict` only by the rounding of a sum in
float32.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/10_export_a_model.svg"
from __future__ import annotations

import json
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import sem

from python_docs import load_python_docs
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.export import to_elasticsearch_ltr, to_elasticsearch_ml, to_solr
from sklearn_ltr.metrics import NDCG
from sklearn_ltr.model_selection import group_train_test_split
from sklearn_ltr.plotting import ShapValuesDisplay

# %%
# The features
# ------------
# These are the features as the engines compute them. In production, train a ranker on
# values that the engine has logged: then training and serving use the same analyzers
# and the same BM25.
MATCHES = {
    "bm25": "text",
    "bm25_name": "name",
    "bm25_class": "class",
    "bm25_arguments": "arguments",
}
FIELDS = ["name_length", "n_arguments", "is_class", "is_method"]
ELASTIC: dict[str, Any] = {}
SOLR: dict[str, Any] = {}
for feature, searched in MATCHES.items():
    ELASTIC[feature] = {"match": {searched: "{{keywords}}"}}
    SOLR[feature] = {
        "class": "org.apache.solr.ltr.feature.SolrFeature",
        "params": {
            "q": f"{{!edismax qf={searched}}}${{keywords}}",
            "defaultValue": "NaN",
        },
    }
for field in FIELDS:
    ELASTIC[field] = {
        "function_score": {
            "query": {"match_all": {}},
            "field_value_factor": {"field": field},
            "boost_mode": "replace",
        }
    }
    SOLR[field] = {
        "class": "org.apache.solr.ltr.feature.FieldValueFeature",
        "params": {"field": field, "defaultValue": "NaN"},
    }

# %%
# Train
# -----
# If a query does not match a document, the document has a missing value.
docs = load_python_docs()
table = pd.DataFrame(docs.data, columns=docs.feature_names)[list(ELASTIC)]
table[list(MATCHES)] = table[list(MATCHES)].replace(0.0, np.nan)
X, X_test, y, y_test, groups, groups_test = group_train_test_split(
    table, docs.target, groups=docs.groups, test_size=0.4, random_state=0
)
ranker = LambdaMARTRanker(n_estimators=50, max_leaf_nodes=15, random_state=0)
ranker.fit(X, y, groups=groups)
ours, bm25 = (
    NDCG(10).per_query(y_test, scores, groups=groups_test)
    for scores in (ranker.predict(X_test), X_test["bm25"].fillna(0))
)
gain = ours - bm25
print(
    f"NDCG@10 on {len(ours)} unseen queries: {ours.mean():.3f} (BM25 {bm25.mean():.3f},"
    f" difference {gain.mean():+.3f} ± {sem(gain):.3f})"
)

# %%
# Explain: why is the best document of the first query above the second?
query = X_test[groups_test == groups_test[0]]
first, second = (int(i) for i in np.argsort(-ranker.predict(query))[:2])
ShapValuesDisplay.from_estimator(ranker, query, document=first, other=second)
plt.show()

# %%
# Export
# ------
plugin = to_elasticsearch_ltr(
    ranker, name="ranker", feature_set="python_docs", features=ELASTIC
)
elastic = to_elasticsearch_ml(ranker, name="ranker", features=ELASTIC)
solr = to_solr(ranker, name="ranker", store="python_docs", features=SOLR)

# %%
# The same scores there
# ---------------------


def score(splits: list[dict[str, Any]], x: dict[str, np.float32]) -> np.float32:
    """Score one document as the plugin does, in float32."""
    total = np.float32(0)
    for node in splits:
        while "leaf" not in node:
            value = x[node["split"]]
            goes = node["missing"] if np.isnan(value) else node["no"]
            if value < np.float32(node["split_condition"]):
                goes = node["yes"]
            node = next(child for child in node["children"] if child["nodeid"] == goes)
        total += np.float32(node["leaf"])
    return total


# Engines have values of features in float32
served = X_test[:500].astype(np.float32)
definition = json.loads(plugin[-1].body["model"]["model"]["definition"])
rows = [dict(zip(served, row, strict=True)) for row in served.to_numpy()]
there = np.array([score(definition["splits"], row) for row in rows])
here = ranker.predict(served)
print(
    f"largest score {np.abs(here).max():.2f}, "
    f"largest difference {np.abs(here - there).max():.1g}"
)

# %%
# The requests
# ------------


def show(title: str, requests: list[Any], most: int = 700) -> None:
    print(f"\n{title}")
    for request in requests:
        body = json.dumps(request.body, indent=1)
        shown = body if len(body) <= most else body[:most] + " ..."
        print(f"{request.method} {request.path}\n{shown}")


show("Elasticsearch and OpenSearch, the plugin Learning to Rank", plugin)
show("Elasticsearch, Elastic's own learning to rank", elastic)
show("Solr", solr)
