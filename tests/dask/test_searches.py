"""Searches whose candidates are fitted by the workers of a cluster."""

from __future__ import annotations

import joblib
import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.scorers import make_ranking_scorer
from tests.dask import bytes_of, make_data


def test_a_grid_search_on_workers_finds_what_one_machine_finds(client):
    data = make_data()
    X, y, groups = data["X"], data["y"], data["groups"]
    search = GridSearchCV(
        LambdaMARTRanker(n_estimators=3, random_state=0, n_jobs=1),
        {"max_leaf_nodes": [4, 8], "learning_rate": [0.1, 0.5]},
        scoring=make_ranking_scorer("ndcg@10"),
        cv=GroupKFold(3),
    )
    with sklearn.config_context(enable_metadata_routing=True):
        expected = clone(search).fit(X, y, groups=groups)
        with joblib.parallel_config(backend="dask", scatter=[X]):
            found = search.fit(X, y, groups=groups)
    for name in ("mean_test_score", "std_test_score", "rank_test_score"):
        np.testing.assert_array_equal(
            found.cv_results_[name], expected.cv_results_[name]
        )
    assert found.best_params_ == expected.best_params_
    assert bytes_of(found.best_estimator_) == bytes_of(expected.best_estimator_)
