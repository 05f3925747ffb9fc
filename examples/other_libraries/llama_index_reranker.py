"""A LlamaIndex postprocessor that orders the nodes of a query by a ranker.

Needs ``python -m pip install llama-index-core pandas``, and this package.
"""

from typing import Any

import numpy as np
import pandas as pd
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from sklearn_ltr import LambdaMARTRanker


class LearnedReranker(BaseNodePostprocessor):
    """Keeps the best nodes by a fitted ranker of the fields of their metadata."""

    ranker: Any
    top_n: int = 10

    @classmethod
    def class_name(cls):
        return "LearnedReranker"

    def _postprocess_nodes(self, nodes, query_bundle=None):
        rows = [found.node.metadata | {"score": found.score} for found in nodes]
        # a field that a node does not have is missing
        features = pd.DataFrame(rows, columns=self.ranker.feature_names_in_)
        scores = self.ranker.predict(features).tolist()
        ranked = [
            NodeWithScore(node=found.node, score=score)
            for found, score in zip(nodes, scores, strict=True)
        ]
        ranked.sort(key=lambda found: found.score, reverse=True)
        return ranked[: self.top_n]


# a table of what the retriever found for 50 queries, with its scores, and judged
rng = np.random.default_rng(0)
table = pd.DataFrame(rng.random((500, 3)), columns=["score", "stars", "price"])
grades = np.digitize(table["score"] + table["stars"], [0.8, 1.2, 1.6])
ranker = LambdaMARTRanker(n_estimators=20, random_state=0)
ranker.fit(table, grades, groups=np.repeat(np.arange(50), 10))

index = VectorStoreIndex(
    [
        TextNode(text="a red tent", metadata={"stars": 0.2, "price": 0.9}),
        TextNode(text="a tent for two", metadata={"stars": 0.9, "price": 0.5}),
        TextNode(text="a tent, a lamp, a tent", metadata={"stars": 0.6}),
    ],
    embed_model=MockEmbedding(embed_dim=16),
)
engine = index.as_query_engine(
    llm=MockLLM(),
    similarity_top_k=100,
    node_postprocessors=[LearnedReranker(ranker=ranker)],
)
ranked = engine.query("tent").source_nodes

found = index.as_retriever(similarity_top_k=100).retrieve("tent")
rows = pd.DataFrame([f.node.metadata | {"score": f.score} for f in found])
scores = ranker.predict(rows[table.columns])
best_first = np.argsort(-scores)
assert [r.node_id for r in ranked] == [found[i].node_id for i in best_first]
assert [r.score for r in ranked] == scores[best_first].tolist()
for node in ranked:
    print(f"{node.score:.3f} {node.text}")
