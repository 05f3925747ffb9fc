"""A Haystack component that orders the documents of a query by a model.

Needs ``python -m pip install haystack-ai pandas``, and this package.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from haystack import Document, Pipeline, component
from haystack.components.retrievers import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.export import from_json, to_json


@component
class LearnedRanker:
    """Scores documents by the text of a model, which a saved pipeline keeps."""

    def __init__(self, model: str):
        self.model = model
        self._ranker = from_json(model)

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None):
        rows = [document.meta | {"score": document.score} for document in documents]
        # a field that a document does not have is missing
        features = pd.DataFrame(rows, columns=self._ranker.feature_names_in_)
        scores = self._ranker.predict(features).tolist()
        ranked = [
            replace(document, score=score)
            for document, score in zip(documents, scores, strict=True)
        ]
        ranked.sort(key=lambda document: document.score, reverse=True)
        return {"documents": ranked[:top_k]}


# a table of what the retriever found for 50 queries, with its scores, and judged
rng = np.random.default_rng(0)
table = pd.DataFrame(rng.random((500, 3)), columns=["score", "stars", "price"])
grades = np.digitize(table["score"] + table["stars"], [0.8, 1.2, 1.6])
ranker = LambdaMARTRanker(n_estimators=20, random_state=0)
ranker.fit(table, grades, groups=np.repeat(np.arange(50), 10))

store = InMemoryDocumentStore()
store.write_documents(
    [
        Document(content="a red tent", meta={"stars": 0.2, "price": 0.9}),
        Document(content="a tent for two", meta={"stars": 0.9, "price": 0.5}),
        Document(content="a tent, a lamp, a tent", meta={"stars": 0.6}),
    ]
)
pipeline = Pipeline()
pipeline.add_component("retriever", InMemoryBM25Retriever(store, scale_score=True))
pipeline.add_component("ranker", LearnedRanker(to_json(ranker)))
pipeline.connect("retriever.documents", "ranker.documents")
# the text of a pipeline has the model within
pipeline = Pipeline.loads(pipeline.dumps(), allowed_modules=[__name__])

query = {"query": "tent"}
answer = pipeline.run(
    {"retriever": query, "ranker": query}, include_outputs_from={"retriever"}
)
found, ranked = (answer[name]["documents"] for name in ("retriever", "ranker"))
rows = pd.DataFrame([d.meta | {"score": d.score} for d in found])
scores = ranker.predict(rows[table.columns])
assert [d.id for d in ranked] == [found[i].id for i in np.argsort(-scores)]
assert [d.score for d in ranked] == sorted(scores, reverse=True)
for document in ranked:
    print(f"{document.score:.3f} {document.content}")
