"""Rank the rows of a pandas DataFrame
===================================

Run it by ``python examples/05_dataframe_to_ranking.py``.

The table is what a search engine might log: the text of the query, columns of numbers,
columns of categories, and a grade for each document. A ColumnTransformer makes features
of columns selected by name, a LambdaRank network is trained, and the output are the
rows of the table, query by query, best document first. With Python 3.11.7::

    NDCG@10 on 120 unseen queries
      BM25        0.549
      LambdaRank  0.634

    A context manager for assertLogs() and assertNoLogs()
     rank                              document   kind  score  grade
        1   unittest.case.TestCase.assertNoLogs method   6.55      0
        2      unittest._log._AssertLogsContext  class   5.59      3
        3     unittest.case.TestCase.assertLogs method   4.72      0
"""

from __future__ import annotations

import pandas as pd
import sklearn
from python_docs import load_python_docs
from sklearn.compose import make_column_transformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer

from sklearn_ltr import LambdaRankRanker
from sklearn_ltr.metrics import ndcg_score, rank_scores
from sklearn_ltr.model_selection import group_train_test_split

sklearn.set_config(enable_metadata_routing=True)

NUMBERS = ["bm25_all", "bm25_name", "name_words_in_query", "class_share", "rest_length"]
CATEGORIES = ["kind", "package"]


def make_table() -> pd.DataFrame:
    """Return one row for each pair of a query and a document."""
    docs = load_python_docs(max_queries=600)
    table = pd.DataFrame(docs.data, columns=docs.feature_names)[NUMBERS]
    names = pd.Series(docs.documents)
    is_class, is_method = (
        docs.data[:, docs.feature_names.index(kind)]
        for kind in ("is_class", "is_method")
    )
    table["kind"] = "function"
    table.loc[is_class == 1, "kind"] = "class"
    table.loc[is_method == 1, "kind"] = "method"
    table["package"] = names.str.split(".").str[0].astype("category")
    table["document"] = names
    table["query"] = [docs.queries[group] for group in docs.groups]
    table["grade"] = docs.target
    return table


def make_ranker() -> Pipeline:
    """Return a pipeline of preprocessing by column name and a network."""
    features = make_column_transformer(
        (QuantileTransformer(output_distribution="normal", random_state=0), NUMBERS),
        (
            OneHotEncoder(min_frequency=0.05, handle_unknown="infrequent_if_exist"),
            CATEGORIES,
        ),
    )
    network = LambdaRankRanker(hidden_layer_sizes=(16,), max_iter=20, random_state=0)
    return make_pipeline(features, network)


def main() -> None:
    table = make_table()
    train, test, _, _ = group_train_test_split(
        table, groups=table["query"], test_size=0.2, random_state=0
    )
    ranker = make_ranker()
    ranker.fit(train, train["grade"], groups=train["query"])
    scores = ranker.predict(test)

    print(f"NDCG@10 on {test['query'].nunique()} unseen queries")
    for name, s in (("BM25", test["bm25_all"]), ("LambdaRank", scores)):
        ndcg = ndcg_score(test["grade"], s, groups=test["query"], k=10)
        print(f"  {name:<12}{ndcg:.3f}")

    ranked = test.assign(
        score=scores.round(2), rank=rank_scores(scores, groups=test["query"])
    ).sort_values(["query", "rank"])
    for query, documents in list(ranked.groupby("query"))[:2]:
        print(f"\n{query}")
        columns = ["rank", "document", "kind", "score", "grade"]
        print(documents[columns].head(5).to_string(index=False))


if __name__ == "__main__":
    main()
