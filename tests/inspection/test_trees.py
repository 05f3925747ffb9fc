"""The table of trees: walked by hand, it gives the scores; peers count the same."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.export import from_ranklib, to_lightgbm, to_ranklib
from sklearn_ltr.inspection import split_counts, trees_to_dataframe
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

pd = pytest.importorskip("pandas")

DATA = make_ranking(30, n_features=4, n_informative=2, missing=0.2, random_state=0)
Y, GROUPS = DATA.target, DATA.groups
NOISE = np.random.default_rng(1).integers(0, 3, len(Y))
SITES = np.array(["blog", "news", "shop", "wiki"])[(Y.astype(int) + NOISE) % 4]
X = pd.DataFrame(DATA.data, columns=["length", "bm25", "age", "links"])
X["site"] = SITES
TREES = {"n_estimators": 5, "max_leaf_nodes": 8, "random_state": 0}
ON_ALL_ROWS = {"categorical_features": ["site"], "subsample": 1.0}
MODELS = {
    "LambdaMART": (LambdaMARTRanker, Y, {"groups": GROUPS}),
    "regressor": (MARTRegressor, Y, {}),
    "classifier": (MARTClassifier, Y > 1, {}),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    cls, y, columns = MODELS[request.param]
    return cls(**TREES, **ON_ALL_ROWS).fit(X, y, **columns)


def goes_left(node, row) -> bool:
    """What the docstring says of the columns, for a row of the data."""
    value = row[node.feature]
    if isinstance(node.categories, tuple):
        seen = {"blog", "news", "shop", "wiki"}
        return value in node.categories if value in seen else node.missing == "left"
    return node.missing == "left" if np.isnan(value) else value <= node.threshold


def walk(table, rows):
    """Return the scores of rows, and how many came to each node of each tree."""
    nodes = {(node.tree, node.node): node for node in table.itertuples()}
    visits = dict.fromkeys(nodes, 0)
    scores = []
    for _, row in rows.iterrows():
        score = 0.0
        for tree in range(table["tree"].max() + 1):
            node = nodes[tree, 0]
            visits[tree, 0] += 1
            while isinstance(node.feature, str):
                side = "left" if goes_left(node, row) else "right"
                node = nodes[tree, int(getattr(node, side))]
                visits[tree, node.node] += 1
            score += node.value
        scores.append(score)
    return np.array(scores), visits


def test_a_walk_through_the_table_gives_the_scores_and_the_rows(model):
    table = trees_to_dataframe(model)
    scores, visits = walk(table, X)
    method = "decision_function" if isinstance(model, MARTClassifier) else "predict"
    base = getattr(model, "base_score_", 0.0)
    expected = getattr(model, method)(X)
    assert_allclose(base + scores, expected, rtol=1e-12, atol=1e-12)
    assert len(np.unique(expected)) > 20
    assert_array_equal(table["n_rows"].astype(int), list(visits.values()))
    unseen = X[:20].assign(site="unseen")
    scores, _ = walk(table, unseen)
    expected = getattr(model, method)(unseen)
    assert_allclose(base + scores, expected, rtol=1e-12, atol=1e-12)
    assert table["categories"].notna().any()
    assert {"left", "right"} <= set(table["missing"].dropna())


def test_values_gains_and_depths_are_those_of_the_definition(model):
    table = trees_to_dataframe(model)
    gains = table.groupby("feature")["gain"].sum().reindex(X.columns).fillna(0)
    assert_allclose(gains / gains.sum(), model.feature_importances_)
    counts = table["feature"].value_counts().reindex(X.columns).fillna(0)
    assert_array_equal(counts, split_counts(model))
    assert split_counts(model).dtype == np.int64
    for _, tree in table.groupby("tree"):
        tree = tree.set_index("node")
        assert_array_equal(tree.index, np.arange(len(tree)))
        assert tree.loc[0, "depth"] == 0
        for node, row in tree[tree["left"].notna()].iterrows():
            children = tree.loc[[row["left"], row["right"]]]
            assert (children["depth"] == row["depth"] + 1).all()
            assert (children.index > node).all()
            rows = children["n_rows"].to_numpy(float)
            assert rows.sum() == row["n_rows"]
            mean = rows @ children["value"].to_numpy() / rows.sum()
            assert_allclose(row["value"], mean, rtol=1e-9, atol=1e-12)
        leaves = tree[tree["left"].isna()]
        absent = ["feature", "threshold", "categories", "missing", "right", "gain"]
        assert leaves[absent].isna().all(axis=None)


def test_lightgbm_has_the_same_table_and_counts(model):
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.Booster(model_str=to_lightgbm(model))
    assert_array_equal(booster.feature_importance("split"), split_counts(model))
    theirs, ours = booster.trees_to_dataframe(), trees_to_dataframe(model)
    assert len(theirs) == len(ours)
    for name, other in {
        "gain": "split_gain", "n_rows": "count", "depth": "node_depth",
    }.items():  # fmt: skip
        first = 1 if name == "depth" else 0  # of theirs
        for tree in range(TREES["n_estimators"]):
            a = ours[ours["tree"] == tree][name].dropna().astype(float) + first
            b = theirs[theirs["tree_index"] == tree][other].dropna().astype(float)
            assert_allclose(np.sort(a), np.sort(b), rtol=1e-6)


def test_a_split_of_missing_values_alone_has_an_infinite_threshold():
    x = np.where(np.arange(40) % 2, 1.0, np.nan).reshape(-1, 1)
    model = MARTRegressor(n_estimators=1).fit(x, np.arange(40) % 2)
    root = trees_to_dataframe(model).iloc[0]
    assert root["threshold"] == np.inf
    assert root["missing"] == "right"


def test_names_are_those_of_pipelines_searches_and_bags():
    numbers = X[["length", "bm25", "age", "links"]]
    groups = {"lambdamartranker__groups": GROUPS}
    pipeline = make_pipeline(StandardScaler(), LambdaMARTRanker(**TREES))
    pipeline.fit(numbers, Y, **groups)
    for estimator in (pipeline, Bunch(best_estimator_=pipeline)):
        named = trees_to_dataframe(estimator)
        assert set(named["feature"].dropna()) <= set(numbers.columns)
    plain = LambdaMARTRanker(**TREES).fit(numbers.to_numpy(), Y, groups=GROUPS)
    tested = trees_to_dataframe(plain)["feature"]
    assert set(tested.dropna()) <= {"x0", "x1", "x2", "x3"}
    bag = BaggingRanker(LambdaMARTRanker(**TREES), 3, random_state=0)
    bag.fit(numbers, Y, groups=GROUPS)
    table = trees_to_dataframe(bag)
    assert table["tree"].nunique() == 3 * TREES["n_estimators"]
    counts = sum(split_counts(member) for member in bag.estimators_)
    assert_array_equal(split_counts(bag), counts)


def test_trees_on_a_base_model_are_those_of_the_ranker_alone():
    dense = np.nan_to_num(DATA.data)
    base = Ridge().fit(dense, Y)
    model = LambdaMARTRanker(**TREES, init=base).fit(dense, Y, groups=GROUPS)
    assert trees_to_dataframe(model)["tree"].nunique() == TREES["n_estimators"]


def test_rows_that_a_file_does_not_have_are_missing():
    dense = np.nan_to_num(DATA.data)
    model = LambdaMARTRanker(**TREES).fit(dense, Y, groups=GROUPS)
    table = trees_to_dataframe(from_ranklib(to_ranklib(model, missing="zero")))
    assert table["n_rows"].isna().all()
    is_leaf = table["left"].isna()
    assert table.loc[is_leaf, "value"].notna().all()
    assert table.loc[~is_leaf, "value"].isna().all()


def test_a_model_that_learned_nothing_has_leaves_only():
    model = MARTRegressor(n_estimators=2)
    with pytest.warns(UserWarning, match="no tree has a split"):
        model.fit(np.zeros((40, 2)), np.arange(40))
    table = trees_to_dataframe(model)
    assert table["left"].isna().all()
    assert len(table) == model.n_iter_
    assert_array_equal(split_counts(model), [0, 0])


def test_without_pandas_the_table_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="trees_to_dataframe requires pandas"):
        trees_to_dataframe(model)
