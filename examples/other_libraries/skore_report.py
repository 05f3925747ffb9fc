"""A skore report compares rankers by cross-validation that keeps queries whole.

Needs ``python -m pip install skore pandas``, and this package.
"""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GroupKFold
from skore import evaluate

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.metrics import ndcg_score


class QueryColumnRanker(RegressorMixin, BaseEstimator):
    """A ranker of tables with a column of query ids, as skore passes no groups."""

    def __init__(self, ranker):
        self.ranker = ranker

    def fit(self, X, y):
        features = X.drop(columns="query")
        self.ranker_ = clone(self.ranker).fit(features, y, groups=X["query"])
        return self

    def predict(self, X):
        return self.ranker_.predict(X.drop(columns="query"))


def ndcg_10(ranker, X, y):
    return ndcg_score(y, ranker.predict(X), groups=X["query"], k=10)


rng = np.random.default_rng(0)
features = pd.DataFrame(rng.random((500, 3)), columns=["bm25", "stars", "price"])
liking = features["bm25"] + features["stars"] + rng.normal(scale=0.3, size=500)
grades = np.digitize(liking, [0.8, 1.2, 1.6])
queries = np.repeat(np.arange(50), 10)
table = features.assign(query=queries)
folds = list(GroupKFold(5).split(table, groups=queries))

rankers = {
    f"{n_trees} trees": LambdaMARTRanker(n_estimators=n_trees, random_state=0)
    for n_trees in (5, 50)
}
report = evaluate(
    {name: QueryColumnRanker(ranker) for name, ranker in rankers.items()},
    table,
    grades,
    splitter=folds,
)
report.metrics.add(ndcg_10)
print(report.metrics.get("ndcg_10").T)

by_fold = report.metrics.get("ndcg_10", aggregate=None).loc["ndcg_10"]
for name, ranker in rankers.items():
    for found, (train, test) in zip(by_fold[name], folds, strict=True):
        ranker.fit(features.iloc[train], grades[train], groups=queries[train])
        expected = ranker.score(features.iloc[test], grades[test], groups=queries[test])
        assert found == expected
