"""An array that knows the names of its columns: what keeps and checks them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.data.features import NamedArray, has_names
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.model_selection import RankerSearch, group_train_test_split
from sklearn_ltr.preprocessing import SmoothClipScaler

DATA = make_ranking(20, n_features=4, random_state=0, n_informative=2)
NAMES = ["bm25", "price", "sales"]
X = NamedArray.of(DATA.data[:, :3], NAMES)
Y, GROUPS = DATA.target, DATA.groups
TREES = {"n_estimators": 2, "min_samples_leaf": 2, "random_state": 0}
NETWORK = {"max_iter": 1, "hidden_layer_sizes": (3,), "random_state": 0}


def test_rows_keep_the_names_and_other_parts_have_none():
    rows = np.arange(5)
    for part in (X[:5], X[rows], X[rows, ...], X[X[:, 0] > 0], X[5:5], X[::-1]):
        assert has_names(part)
        assert part.feature_names.tolist() == NAMES
    others = (
        X[:, ::-1], X[:, [0, 1]], X[:, 0], X[0], X[0, 0], X.T, X[:, None], X * 2,
        X.copy(), X.take([2, 1, 0], axis=1), np.sort(X, axis=1),
        np.concatenate([X, X]), np.asarray(X), X[..., 0], X[None],
        pickle.loads(pickle.dumps(X)),
    )  # fmt: skip
    assert not any(map(has_names, others))
    np.testing.assert_array_equal(X[rows], DATA.data[:5, :3])


ESTIMATORS = {
    "LambdaMART": LambdaMARTRanker(**TREES),
    "categories": LambdaMARTRanker(**TREES, categorical_features=[1]),
    "LambdaRank": LambdaRankRanker(**NETWORK),
    "RankNet": RankNetRanker(**NETWORK),
    "a bag": BaggingRanker(LambdaMARTRanker(**TREES), n_estimators=2, random_state=0),
    "a blend": BlendedRanker([LambdaMARTRanker(**TREES), RankNetRanker(**NETWORK)]),
    "grades": CalibratedRanker(LambdaMARTRanker(**TREES), cv=2),
    "a search": RankerSearch(
        LambdaMARTRanker(**TREES), param_distributions={"max_leaf_nodes": [3]},
        time=None, n_iter=1, cv=2, random_state=0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ESTIMATORS)
def test_rankers_keep_the_names_and_are_those_of_a_frame(name):
    estimator = ESTIMATORS[name]
    table = NamedArray.of(np.abs(X).round(), NAMES)
    frame = pd.DataFrame(np.asarray(table), columns=NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = estimator.fit(table, Y, groups=GROUPS)
        assert model.feature_names_in_.tolist() == NAMES
        scores = model.predict(table)
        np.testing.assert_array_equal(model.predict(frame), scores)
        np.testing.assert_array_equal(model.predict(table[:0]), scores[:0])
        model = estimator.fit(frame, Y, groups=GROUPS)
        np.testing.assert_array_equal(model.predict(table), scores)
    message = r"has the features \['price', 'bm25', 'sales'\], but `fit` saw \['bm25'"
    with pytest.raises(ValueError, match=message):
        model.predict(NamedArray.of(table, ["price", "bm25", "sales"]))
    with pytest.raises(ValueError, match="but `fit` saw"):
        model.predict(NamedArray.of(table[:, :2], NAMES[:2]))
    model = estimator.fit(np.asarray(table), Y, groups=GROUPS)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.predict(table), scores)


@pytest.mark.parametrize("estimator", [MARTRegressor(**TREES), MARTClassifier(**TREES)])
def test_mart_keeps_the_names(estimator):
    model = estimator.fit(X, Y > 1)
    assert model.feature_names_in_.tolist() == NAMES
    model.predict(X)


def test_validation_data_have_the_names_of_the_fit():
    X_1, X_2, y_1, y_2, groups_1, groups_2 = group_train_test_split(
        X, Y, groups=GROUPS, random_state=0
    )
    assert has_names(X_1)
    held = {"y_val": y_2, "groups_val": groups_2}
    ranker = LambdaMARTRanker(**TREES)
    ranker.fit(X_1, y_1, groups=groups_1, X_val=X_2, **held)
    other = NamedArray.of(X_2, NAMES[::-1])
    with pytest.raises(ValueError, match=r"X_val has the features \['sales', 'price'"):
        ranker.fit(X_1, y_1, groups=groups_1, X_val=other, **held)


def test_scalers_and_searches_of_scikit_learn_take_it():
    scaler = SmoothClipScaler().fit(X)
    assert scaler.feature_names_in_.tolist() == NAMES
    scaler.transform(X)
    search = GridSearchCV(LambdaMARTRanker(**TREES), {"max_leaf_nodes": [3, 5]},
                          cv=GroupKFold(2))  # fmt: skip
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, Y, groups=GROUPS)
        make_pipeline(StandardScaler(), LambdaRankRanker(**NETWORK)).fit(
            X, Y, groups=GROUPS
        )
    assert search.best_estimator_.feature_names_in_.tolist() == NAMES
