"""Data for tests of meta-estimators, and what these do, step by step."""

from __future__ import annotations

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_regressor
from sklearn.model_selection import GroupKFold

from sklearn_ltr.datasets import make_ranking


def draw(n_queries=40):
    """Return interleaved queries of few features, and their order."""
    made = make_ranking(
        n_queries, noise=1.0, n_documents=8, n_features=5, n_informative=4,
        n_query_features=1, random_state=0,
    )  # fmt: skip
    rows = np.random.default_rng(0).permutation(len(made.target))
    return made.data[rows], made.target[rows], made.groups[rows], rows


X, Y, GROUPS, ROWS = draw()
WEIGHTS = np.where(GROUPS % 2, 9.0, 0.1)


def fit_alone(estimator, rows, X=X, **weights):
    """Return an estimator fitted to some rows, without a meta-estimator."""
    model = clone(estimator)
    with sklearn.config_context(enable_metadata_routing=True):
        if is_regressor(estimator):
            return model.fit(X[rows], Y[rows])
        if weights:
            model.set_fit_request(sample_weight=True)
        given = {name: column[rows] for name, column in weights.items()}
        return model.fit(X[rows], Y[rows], groups=GROUPS[rows], **given)


def held_out_scores(estimator, cv=None, X=X, **weights):
    """Return the scores of each fold by an estimator fitted to the others."""
    scores = np.empty(len(Y))
    for train, test in (cv or GroupKFold(5)).split(X, Y, GROUPS):
        scores[test] = fit_alone(estimator, train, X, **weights).predict(X[test])
    return scores


class Column(RegressorMixin, BaseEstimator):
    """Returns a column of X as its scores."""

    def __init__(self, column=0, fails=False):
        self.column, self.fails = column, fails

    def fit(self, X, y):
        if self.fails:
            raise RuntimeError("no such column")
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.asarray(X)[:, self.column]
