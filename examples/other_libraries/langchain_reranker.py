"""A LangChain compressor that orders the documents of a query by a ranker.

Needs ``python -m pip install langchain-classic pandas``, and this package.
"""

from typing import Any

import numpy as np
import pandas as pd
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import chain
from langchain_core.vectorstores import InMemoryVectorStore

from sklearn_ltr import LambdaMARTRanker


class LearnedReranker(BaseDocumentCompressor):
    """Keeps the best documents by a fitted ranker of the fields of their metadata."""

    ranker: Any
    top_n: int = 10

    def compress_documents(self, documents, query, callbacks=None):
        rows = [document.metadata for document in documents]
        # a field that a document does not have is missing
        features = pd.DataFrame(rows, columns=self.ranker.feature_names_in_)
        scores = self.ranker.predict(features).tolist()
        ranked = [
            document.model_copy(
                update={"metadata": document.metadata | {"relevance_score": score}}
            )
            for document, score in zip(documents, scores, strict=True)
        ]
        ranked.sort(key=lambda d: d.metadata["relevance_score"], reverse=True)
        return ranked[: self.top_n]


# a table of what the retriever found for 50 queries, with its scores, and judged
rng = np.random.default_rng(0)
table = pd.DataFrame(rng.random((500, 3)), columns=["score", "stars", "price"])
grades = np.digitize(table["score"] + table["stars"], [0.8, 1.2, 1.6])
ranker = LambdaMARTRanker(n_estimators=20, random_state=0)
ranker.fit(table, grades, groups=np.repeat(np.arange(50), 10))

store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
store.add_documents(
    [
        Document("a red tent", metadata={"stars": 0.2, "price": 0.9}),
        Document("a tent for two", metadata={"stars": 0.9, "price": 0.5}),
        Document("a tent, a lamp, a tent", metadata={"stars": 0.6}),
    ]
)


@chain
def retriever(query):
    """Find documents with their scores, which the retriever of a store leaves out."""
    return [
        Document(found.page_content, metadata=found.metadata | {"score": score})
        for found, score in store.similarity_search_with_score(query, k=100)
    ]


reranking = ContextualCompressionRetriever(
    base_compressor=LearnedReranker(ranker=ranker), base_retriever=retriever
)
ranked = reranking.invoke("tent")

found = retriever.invoke("tent")
scores = ranker.predict(pd.DataFrame([d.metadata for d in found])[table.columns])
best_first = np.argsort(-scores)
assert [d.page_content for d in ranked] == [found[i].page_content for i in best_first]
assert [d.metadata["relevance_score"] for d in ranked] == scores[best_first].tolist()
for document in ranked:
    print(f"{document.metadata['relevance_score']:.3f} {document.page_content}")
