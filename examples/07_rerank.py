"""Search in two stages: BM25 finds 50 documents, a ranker reorders them
=====================================================================

Run it by ``python examples/07_rerank.py``.

A learned ranker computes dozens of features for every document that it scores, which is
too slow for all documents. A cheap score therefore selects a few: here BM25 keeps 50 of
the 7,000 functions, methods and classes of Python's documentation. Only these are
scored by the ranker, here by each of the three in turn.

The second stage cannot find what the first stage has lost. The table is about queries
whose source document is among the 50; over all queries MRR is about the recall times
that.

Latency is measured for one query at a time: one call of `predict` from Python with the
50 documents of a query (including feature scaling for the networks).

Nothing is downloaded: the data are made on this machine in some seconds. With Python
3.11.7, on two cores shared with other processes, the output ends like this::

    600 unseen queries    NDCG@10      MRR   ms: median     95%
    BM25 alone              0.556    0.494
    then RankNet            0.685    0.561         0.22    0.41
    then LambdaRank         0.712    0.603         0.23    4.43
    then LambdaMART         0.716    0.604         0.03    0.04

RankNet weights all pairs of documents equally, the other two by the change of NDCG.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import sklearn
from python_docs import SOURCE_GRADE, load_python_docs
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.metrics import mrr_score, ndcg_score

NETWORK = {"hidden_layer_sizes": (32,), "early_stopping": True, "random_state": 0}
RERANKERS = {
    "RankNet": make_pipeline(StandardScaler(), RankNetRanker(**NETWORK)),
    "LambdaRank": make_pipeline(StandardScaler(), LambdaRankRanker(**NETWORK)),
    "LambdaMART": LambdaMARTRanker(random_state=0),
}


def milliseconds_per_query(reranker, queries: list[np.ndarray]) -> np.ndarray:
    """Return the time of `predict` for each query."""
    for X in queries[:20]:  # warm up: the first calls are slower
        reranker.predict(X)
    times = []
    for X in queries:
        start = perf_counter()
        reranker.predict(X)
        times.append(1e3 * (perf_counter() - start))
    return np.array(times)


def quality(y: np.ndarray, scores: np.ndarray, groups: np.ndarray) -> str:
    ndcg = ndcg_score(y, scores, groups=groups, k=10)
    mrr = mrr_score(y, scores, groups=groups, relevant_from=SOURCE_GRADE)
    return f"{ndcg:9.3f}{mrr:9.3f}"


def main() -> None:
    sklearn.set_config(enable_metadata_routing=True)  # Pipelines pass `groups` on

    # First stage
    docs = load_python_docs(n_candidates=50)
    X, y, groups = docs.data, docs.target, docs.groups
    print(f"BM25 finds 50 documents; its recall of the source is {docs.recall:.0%}.")

    split = GroupShuffleSplit(n_splits=1, test_size=0.3, random_state=0)
    train, test = next(split.split(X, y, groups))
    unseen = np.unique(groups[test])
    print(f"\n{len(unseen)} unseen queries    NDCG@10      MRR   ms: median     95%")
    bm25 = X[test, docs.feature_names.index("bm25_all")]
    print(f"{'BM25 alone':20}{quality(y[test], bm25, groups[test])}")

    # Second stage
    one_by_one = [X[groups == query] for query in unseen]
    for name, reranker in RERANKERS.items():
        reranker.fit(X[train], y[train], groups=groups[train])
        after = quality(y[test], reranker.predict(X[test]), groups[test])
        times = milliseconds_per_query(reranker, one_by_one)
        median, slow = np.percentile(times, [50, 95])
        print(f"{'then ' + name:20}{after}{median:13.2f}{slow:8.2f}")


if __name__ == "__main__":
    main()
