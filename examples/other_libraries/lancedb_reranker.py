"""A LanceDB reranker that orders what a hybrid search finds by a ranker.

Needs ``python -m pip install lancedb pandas``, and this package.
"""

import tempfile

import lancedb
import numpy as np
import pandas as pd
import pyarrow as pa
from lancedb.index import FTS
from lancedb.rerankers import Reranker

from sklearn_ltr import LambdaMARTRanker


class LearnedReranker(Reranker):
    """Scores rows by a fitted ranker of their columns, bm25 and distance among them."""

    def __init__(self, ranker):
        super().__init__()
        self.ranker = ranker

    def rerank_hybrid(self, query, vector_results, fts_results):
        found = pd.concat([vector_results.to_pandas(), fts_results.to_pandas()])
        # a row for what both have found; what one has not found has no score there
        found = found.groupby("_rowid", sort=False).first().reset_index()
        # LanceDB has scaled these to between 0 and 1, and puts the others back in
        # columns of the old names, so keep what the ranker is given for its next fit
        found = found.rename(columns={"_distance": "distance", "_score": "bm25"})
        features = found.reindex(columns=self.ranker.feature_names_in_)
        found["_relevance_score"] = self.ranker.predict(features)
        found = found.sort_values("_relevance_score", ascending=False, kind="stable")
        return pa.Table.from_pandas(found, preserve_index=False)


# a table of what the two searches found for 50 queries, and judged
rng = np.random.default_rng(0)
judged = pd.DataFrame(rng.random((500, 3)), columns=["bm25", "distance", "stars"])
grades = np.digitize(judged["bm25"] - judged["distance"], [-0.3, 0, 0.3])
judged["bm25"] = judged["bm25"].where(judged["bm25"] > 0.2)  # not found by it
ranker = LambdaMARTRanker(n_estimators=20, random_state=0)
ranker.fit(judged, grades, groups=np.repeat(np.arange(50), 10))

with tempfile.TemporaryDirectory() as folder:
    table = lancedb.connect(folder).create_table(
        "products",
        [
            {"text": "a red tent", "vector": [0.1, 0.9], "stars": 0.2},
            {"text": "a tent for two", "vector": [0.7, 0.4], "stars": 0.9},
            {"text": "a tent, a lamp, a tent", "vector": [0.2, 0.1], "stars": 0.6},
            {"text": "a shelter from rain", "vector": [0.8, 0.5], "stars": 0.7},
        ],
    )
    table.create_index("text", config=FTS())
    search = table.search(query_type="hybrid").vector([0.8, 0.4]).text("tent")
    ranked = search.rerank(LearnedReranker(ranker)).limit(100).to_pandas()

assert len(ranked) == 4
assert ranked["bm25"].isna().sum() == 1  # the shelter is found by its vector only
scores = ranker.predict(ranked[judged.columns])
assert ranked["_relevance_score"].tolist() == scores.tolist()
assert scores.tolist() == sorted(scores, reverse=True)
print(ranked[["text", *judged.columns, "_relevance_score"]].to_string(index=False))
