"""Hybrid search: learn how much BM25 and vectors count
====================================================

Run it by ``python 13_hybrid_search.py``.
Needs ``python -m pip install ".[examples]"``.

A search for words and a search for near vectors find different documents.  Most
engines join their lists by reciprocal rank fusion, or by weights that somebody chose.
Some judged queries are enough to learn the weights, and more than two scores can count.
The example searches the documentation of Python: words by SQLite, vectors by latent
semantic analysis.  Vectors of any model take their place.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/13_hybrid_search.svg"
from __future__ import annotations

from contextlib import closing

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sklearn
from scipy.stats import sem
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from python_docs import build_index, find, grade, query_sources, read_documents
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.ensemble import BlendedRanker, reciprocal_rank_fusion
from sklearn_ltr.metrics import NDCG
from sklearn_ltr.model_selection import compare_rankers
from sklearn_ltr.preprocessing import TableVectorizer

sklearn.set_config(enable_metadata_routing=True)  # Pipelines pass `groups` on
N_CANDIDATES, N_TEST = 30, 150
JUDGED = [10, 20, 40, 80, 150]

# %%
# Two retrievers
# --------------
# Each finds 30 documents.  A document that only one of them has found has no score of
# the other: it is missing.
documents = read_documents()
sources = query_sources(documents)[: max(JUDGED) + N_TEST]
queries = [documents[source].summary for source in sources]
texts = [f"{d.name} {' '.join(d.arguments)} {d.rest}" for d in documents]
embed = make_pipeline(
    TfidfVectorizer(sublinear_tf=True, stop_words="english"),
    TruncatedSVD(100, random_state=0),
    Normalizer(),
)
cosine = embed.fit(texts).transform(queries) @ embed.transform(texts).T

lists = []
with closing(build_index(documents)) as index:
    for number, (source, query) in enumerate(zip(sources, queries, strict=True)):
        words = find(index, query, N_CANDIDATES)
        near = np.argsort(-cosine[number])[:N_CANDIDATES]
        rows = pd.DataFrame(words[:, 1:4], words[:, 0].astype(int))
        rows = rows.set_axis(["bm25", "bm25_name", "bm25_class"], axis=1)
        rows = rows.reindex(np.union1d(rows.index, near))
        rows["cosine"] = cosine[number, rows.index]
        rows["query"] = number
        rows["grade"] = [grade(documents[source], documents[d]) for d in rows.index]
        lists.append(rows)
table = pd.concat(lists, ignore_index=True)
features = ["bm25", "bm25_name", "bm25_class", "cosine"]
print(table.groupby(table["bm25"].isna())["grade"].agg(["size", "mean"]).round(2))

# %%
# Fusion, weights by hand, and weights learned
# --------------------------------------------
# A linear network of two columns learns two weights; a search engine has a place for
# these.  Trees and blends learn from all columns.
test = table[table["query"] >= max(JUDGED)]
groups = test["query"]


def learned(ranker, columns, n_judged):
    train = table[table["query"] < n_judged]
    model = sklearn.clone(ranker)
    model.fit(train[columns], train["grade"], groups=train["query"])
    return model.predict(test[columns])


def unit(scores):
    """Divide scores by their spread within the queries; a missing one is 0."""
    centred = scores - scores.groupby(groups).transform("mean")
    return (centred / centred.std()).fillna(0).to_numpy()


linear = make_pipeline(
    TableVectorizer(), LambdaRankRanker(hidden_layer_sizes=(), random_state=0)
)
FUSION = "reciprocal rank fusion"
scores = {
    FUSION: reciprocal_rank_fusion([test["bm25"], test["cosine"]], groups=groups),
    "half and half": unit(test["bm25"]) + unit(test["cosine"]),
    "linear, two columns": learned(linear, ["bm25", "cosine"], max(JUDGED)),
    "LambdaMART": learned(LambdaMARTRanker(random_state=0), features, max(JUDGED)),
    "blend": learned(BlendedRanker(random_state=0), features, max(JUDGED)),
}
print(compare_rankers(scores, None, test["grade"], groups=groups, baseline=FUSION))

# %%
# How many judged queries it takes
# --------------------------------
# The mean over the test queries, minus reciprocal rank fusion, with its paired standard
# error.
ndcg = NDCG(10)
base = ndcg.per_query(test["grade"], scores[FUSION], groups=groups)
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for (name, ranker, columns), marker in zip(
    [
        ("linear, two columns", linear, ["bm25", "cosine"]),
        ("LambdaMART", LambdaMARTRanker(random_state=0), features),
        ("blend", BlendedRanker(random_state=0), features),
    ],
    "osD",
    strict=True,
):
    gains = [
        ndcg.per_query(test["grade"], learned(ranker, columns, n), groups=groups) - base
        for n in JUDGED
    ]
    means = [gain.mean() for gain in gains]
    ax.errorbar(JUDGED, means, yerr=[sem(g) for g in gains], fmt=f"{marker}-",
                capsize=3, label=name)  # fmt: skip
ax.axhline(0, color="0.4", linestyle=":")
ax.set_xlabel("judged queries")
ax.set_ylabel(f"NDCG@10 minus {FUSION}")
ax.legend()
plt.show()
