"""Search in two stages: BM25 finds 50 documents, a ranker reorders them
=====================================================================

Run it by ``python 07_rerank.py``.
Needs ``python -m pip install ".[examples]"``.

A learned ranker needs dozens of features for every document that it scores. This is
too slow for all documents. So a cheap score first selects a few: BM25 keeps 50 of
the 7,000 functions, methods and classes of Python's documentation. A ranker scores only
these. The example tries each of the three rankers.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/07_rerank.svg"
from __future__ import annotations

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from scipy.stats import sem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from python_docs import load_python_docs
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.metrics import MRR, NDCG
from sklearn_ltr.model_selection import group_train_test_split

sklearn.set_config(enable_metadata_routing=True)  # Pipelines pass `groups` on

# %%
# First stage
# -----------
# The second stage cannot find documents that the first stage has lost. So the tables
# below use only queries whose source document is among the 50. Over all queries, MRR is
# about the recall times the MRR of the table.
docs = load_python_docs(n_candidates=50)
print(f"BM25 finds 50 documents; its recall of the source is {docs.recall:.0%}.")
X, X_test, y, y_test, groups, groups_test = group_train_test_split(
    docs.data, docs.target, groups=docs.groups, test_size=0.4, random_state=0
)

# %%
# Second stage
# ------------
# The difference is that of NDCG@10 from BM25 alone, with its standard error over the
# queries. The latency is that of one call of `predict` with the 50 documents of
# one query (including feature scaling for the networks).
NETWORK = {"hidden_layer_sizes": (32,), "early_stopping": True, "random_state": 0}
RERANKERS = {
    "RankNet": make_pipeline(StandardScaler(), RankNetRanker(**NETWORK)),
    "LambdaRank": make_pipeline(StandardScaler(), LambdaRankRanker(**NETWORK)),
    "LambdaMART": LambdaMARTRanker(random_state=0),
}
ndcg, mrr = NDCG(10), MRR(relevant_from=3)  # the source
bm25 = X_test[:, docs.feature_names.index("bm25")]
values = {"BM25 alone": ndcg.per_query(y_test, bm25, groups=groups_test)}
one_by_one = [X_test[groups_test == query] for query in np.unique(groups_test)]
milliseconds = {}
print(
    f"\n{len(one_by_one)} unseen queries   NDCG@10   (difference)      MRR   ms, median"
)
print(
    f"{'BM25 alone':20}{values['BM25 alone'].mean():7.3f}{'':16}"
    f"{mrr(y_test, bm25, groups=groups_test):9.3f}"
)
for name, reranker in RERANKERS.items():
    reranker.fit(X, y, groups=groups)
    scores = reranker.predict(X_test)
    values[name] = ndcg.per_query(y_test, scores, groups=groups_test)
    gain = values[name] - values["BM25 alone"]
    times = []
    for query in one_by_one:
        start = perf_counter()
        reranker.predict(query)
        times.append(1e3 * (perf_counter() - start))
    milliseconds[name] = np.median(times)
    print(
        f"{'then ' + name:20}{values[name].mean():7.3f}"
        f"{gain.mean():+8.3f} ± {sem(gain):.3f}"
        f"{mrr(y_test, scores, groups=groups_test):9.3f}{milliseconds[name]:13.2f}"
    )

# %%
# RankNet weights all pairs of documents equally. The other two rankers weight them by
# the change of NDCG.
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name in RERANKERS:
    mean, error = values[name].mean(), sem(values[name] - values["BM25 alone"])
    ax.errorbar(milliseconds[name], mean, yerr=error, fmt="o", capsize=4, label=name)
ax.axhline(values["BM25 alone"].mean(), color="0.4", linestyle=":", label="BM25 alone")
ax.set_xlim(left=0)
ax.set_xlabel("milliseconds for a query of 50 documents (median)")
ax.set_ylabel("NDCG@10")
ax.legend()
plt.show()
