"""scikit-learn's partial dependence and ICE of rankers, by ScoreRegressor."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_regressor
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.inspection import (
    partial_dependence,
)
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.inspection import ScoreRegressor
from sklearn_ltr.scorers import make_ranking_scorer

RELEASE = tuple(map(int, sklearn.__version__.split(".")[:2]))
DATA = make_ranking(20, n_documents=10, n_features=4, n_informative=2, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
BRAND = np.array(["anchor", "beacon", "comet"])[np.arange(len(Y)) * 7 % 3]
FRAME = pd.DataFrame(X, columns=list("wxyz")).assign(brand=pd.Categorical(BRAND))
GRID = 5


def trees(table=X, **options):
    ranker = LambdaMARTRanker(n_estimators=5, random_state=0, **options)
    return ranker.fit(table, Y, groups=GROUPS)


def network():
    return LambdaRankRanker(hidden_layer_sizes=(4,), max_iter=3, random_state=0)


def curves_by_hand(model, table, feature, grid):
    """The score of each row with one feature at each value of the grid."""
    curves = np.empty((len(table), len(grid)))
    for number, value in enumerate(grid):
        moved = table.copy()
        if isinstance(table, pd.DataFrame):
            column = [value] * len(table)
            kind = table[feature].dtype
            moved[feature] = pd.Series(column, index=table.index, dtype=kind)
        else:
            moved[:, feature] = value
        curves[:, number] = model.predict(moved)
    return curves


@pytest.mark.parametrize("kind", ["trees", "pipeline", "search", "bagging"])
def test_curves_are_the_scores_with_a_feature_moved(kind):
    model = {
        "trees": trees,
        "pipeline": lambda: make_pipeline(StandardScaler(), network()).fit(
            X, Y, lambdarankranker__groups=GROUPS
        ),
        "search": search,
        "bagging": lambda: BaggingRanker(
            trees(), n_estimators=2, random_state=0
        ).fit(X, Y, groups=GROUPS),
    }[kind]()  # fmt: skip
    found = partial_dependence(
        ScoreRegressor(model), X, [0], kind="both", grid_resolution=GRID
    )
    expected = curves_by_hand(model, X, 0, found["grid_values"][0])
    np.testing.assert_array_equal(found["individual"][0], expected)
    np.testing.assert_allclose(found["average"][0], expected.mean(axis=0), rtol=1e-12)


def search():
    scoring = make_ranking_scorer("ndcg@5")
    search = GridSearchCV(
        trees(), {"max_leaf_nodes": [3, 5]}, scoring=scoring, cv=GroupKFold(2)
    )
    with sklearn.config_context(enable_metadata_routing=True):
        return search.fit(X, Y, groups=GROUPS)


def one_hot():
    columns = make_column_transformer(
        (OneHotEncoder(), ["brand"]),
        (StandardScaler(), make_column_selector(dtype_include="number")),
    )
    model = make_pipeline(columns, network())
    return model.fit(FRAME, Y, lambdarankranker__groups=GROUPS)


@pytest.mark.parametrize("make", [lambda: trees(FRAME), one_hot], ids=["trees", "net"])
def test_categories_of_a_frame(make):
    model = make()
    found = partial_dependence(
        ScoreRegressor(model),
        FRAME,
        ["brand"],
        categorical_features=["brand"],
        kind="individual",
    )
    (grid,) = found["grid_values"]
    assert grid.tolist() == ["anchor", "beacon", "comet"]
    expected = curves_by_hand(model, FRAME, "brand", grid)
    np.testing.assert_array_equal(found["individual"][0], expected)


@pytest.mark.skipif(RELEASE < (1, 7), reason="custom_values came with 1.7")
def test_missing_values_take_a_grid_without_them():
    holes = np.random.default_rng(0).uniform(size=X.shape) < 0.2
    table = np.where(holes, np.nan, X)
    model, grid = trees(table), np.linspace(-1, 1, GRID)
    found = partial_dependence(
        ScoreRegressor(model), table, [1], custom_values={1: grid}
    )
    expected = curves_by_hand(model, table, 1, grid).mean(axis=0)
    np.testing.assert_allclose(found["average"][0], expected, rtol=1e-12)


def test_it_is_the_ranker_in_all_but_its_type():
    ranker = trees(FRAME)
    model = ScoreRegressor(ranker)
    assert is_regressor(model) and not is_regressor(ranker)
    with pytest.raises(NotFittedError, match="not fitted"):
        partial_dependence(ScoreRegressor(LambdaMARTRanker()), X, [0])
    np.testing.assert_array_equal(model.predict(FRAME), ranker.predict(FRAME))
    assert model.score(FRAME, Y, groups=GROUPS) == ranker.score(FRAME, Y, groups=GROUPS)
    assert model.feature_names_in_.tolist() == FRAME.columns.tolist()
    assert model.fit(FRAME, -Y) is model
    assert clone(model).estimator is ranker
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(FRAME), ranker.predict(FRAME))
    assert repr(model).startswith("ScoreRegressor(estimator=LambdaMARTRanker(")
    assert "ScoreRegressor" in model._repr_html_()
