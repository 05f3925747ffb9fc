"""LightGBM reads what we write, and we read what it writes: the same bytes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.ensemble import BlendedRanker
from sklearn_ltr.export import from_json, from_lightgbm, to_json, to_lightgbm
from sklearn_ltr.export._lightgbm import ZERO
from sklearn_ltr.mart import MARTRegressor
from tests.export.models import (
    GROUPS,
    OF_PLAIN_ROWS,
    TREES,
    grades,
    numbers,
    rows,
    rows_of,
    score,
    served,
    table,
)

lightgbm = pytest.importorskip("lightgbm")
MODELS = served()


def without_tiny(X):
    """Return rows without the numbers that LightGBM takes for 0."""
    if isinstance(X, pd.DataFrame):
        tiny = [c for c in X if X[c].dtype == float]
        return X.assign(**{c: X[c].where(X[c].abs() > ZERO, 0.0) for c in tiny})
    return np.where(np.abs(X) <= ZERO, 0.0, X)


@pytest.mark.parametrize("name", OF_PLAIN_ROWS)
def test_lightgbm_scores_our_models_bit_for_bit(name):
    model = MODELS[name]
    text = to_lightgbm(model)
    booster = lightgbm.Booster(model_str=text)
    X = without_tiny(rows(model))
    expected = score(model, X)
    assert booster.predict(X, raw_score=True).tobytes() == expected.tobytes()
    back = from_lightgbm(text)
    assert back.predict(X).tobytes() == expected.tobytes()
    assert from_json(to_json(back)).predict(X).tobytes() == expected.tobytes()
    again = lightgbm.Booster(model_str=booster.model_to_string())
    assert from_lightgbm(again).predict(X).tobytes() == expected.tobytes()


def test_text_of_any_language():
    X = pd.DataFrame({"ä b": pd.Categorical(["ä", "日本", 'c"d', "\n"] * 40)})
    model = MARTRegressor(**TREES).fit(X, np.arange(160) % 4)
    for again in (
        from_json(to_json(model)),
        lightgbm.Booster(model_str=to_lightgbm(model)),
    ):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    back = from_lightgbm(to_lightgbm(model))
    expected = model.predict(X)
    np.testing.assert_array_equal(back.predict(X.set_axis(["ä_b"], axis=1)), expected)


def test_codes_can_be_given_as_numbers():
    model = MODELS["categories"]
    rows = rows_of(model, 2000)
    codes = rows.assign(
        site=rows["site"].cat.set_categories(sorted(model._categories.text[0])).cat.codes,
        kind=rows["kind"].astype(float),
    ).to_numpy(dtype=float)  # fmt: skip
    booster = lightgbm.Booster(model_str=to_lightgbm(model))
    np.testing.assert_array_equal(
        booster.predict(codes, raw_score=True), model.predict(rows)
    )


def test_probabilities_are_those_of_lightgbm():
    model, X = MODELS["classifier"], numbers()
    booster = lightgbm.Booster(model_str=to_lightgbm(model))
    np.testing.assert_allclose(  # another exp
        booster.predict(X), model.predict_proba(X)[:, 1], rtol=1e-14
    )


PARAMETERS = {
    "default": {},
    "dart": {"boosting": "dart", "drop_rate": 0.5},
    "goss": {"data_sample_strategy": "goss"},
    "zero as missing": {"zero_as_missing": True},
    "no missing": {"use_missing": False},
    "extra trees": {"extra_trees": True},
    "one against the rest": {"max_cat_to_onehot": 100},
    "squares": {"objective": "regression"},
    "two classes": {"objective": "binary"},
    "counts": {"objective": "poisson"},
    "xendcg": {"objective": "rank_xendcg"},
}


def trained(X, y, parameters, groups=None, n_trees=20):
    given = {
        "objective": "lambdarank",
        "verbose": -1,
        "num_leaves": 15,
        "min_data_in_leaf": 3,
        "min_data_per_group": 1,
        "cat_smooth": 0.0,
        "seed": 1,
        "num_threads": 1,
    } | parameters
    if given["objective"] == "binary":
        y = y > 1
    sizes = np.unique(GROUPS if groups is None else groups, return_counts=True)[1]
    data = lightgbm.Dataset(X, y, group=sizes)
    return lightgbm.train(given, data, n_trees)


CASES = [
    *((numbers, name) for name in PARAMETERS if name != "one against the rest"),
    *((table, n) for n in ("default", "dart", "no missing", "one against the rest")),
]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_we_score_models_of_lightgbm_bit_for_bit(kind, name):
    X = kind()
    booster = trained(X, grades(X), PARAMETERS[name])
    model = from_lightgbm(booster)
    rows = rows_of(model)
    expected = booster.predict(rows, raw_score=True)
    assert model.predict(rows).tobytes() == expected.tobytes()
    assert model.n_iter_ == booster.num_trees()
    text = to_lightgbm(model)
    written = lightgbm.Booster(model_str=text).predict(
        without_tiny(rows), raw_score=True
    )
    assert written.tobytes() == model.predict(without_tiny(rows)).tobytes()


def test_a_random_forest_is_the_mean_of_its_trees():
    X = numbers()
    forest = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    booster = trained(X, grades(X), forest)
    rows = rows_of(from_lightgbm(booster))
    np.testing.assert_allclose(  # a sum of 20 quotients, for the quotient of the sum
        from_lightgbm(booster).predict(rows), booster.predict(rows), rtol=0, atol=1e-13
    )


def test_a_model_of_lightgbm_is_continued_and_blended():
    X, y = numbers(), grades(numbers())
    base = from_lightgbm(trained(X, y, {}))
    more = LambdaMARTRanker(**TREES, init=base).fit(X, y, groups=GROUPS)
    assert more.score(X, y, groups=GROUPS) > base.score(X, y, groups=GROUPS)
    booster = lightgbm.Booster(model_str=to_lightgbm(more))
    np.testing.assert_array_equal(booster.predict(X), more.predict(X))
    blend = BlendedRanker([("a", base), ("b", MODELS["ranker"])], cv="prefit")
    assert np.isfinite(blend.fit(X, y, groups=GROUPS).predict(X)).all()
    with pytest.raises(ValueError, match="this estimator has not grown"):
        base.set_params(warm_start=True, n_estimators=99).fit(X, y, groups=GROUPS)


C = table()
TEXT = to_lightgbm(
    LambdaMARTRanker(**TREES, grow_policy="best_first").fit(C, grades(C), groups=GROUPS)
)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tree\n", "wood\n", "no LightGBM model"),
        ("end of trees", "", "cut off"),
        ("Tree=1", "Tree=2", "Tree=1 must come here"),
        ("num_class=1", "num_class=3", "num_class is '3'"),
        ("num_class=1", "num_class=" + "9" * 5000, "num_class.* is no number"),
        ("objective=lambdarank", "objective=multiclass",
         "objective 'multiclass' is not"),
        ("is_linear=0", "is_linear=1", "Tree=0: its leaves are linear"),
        ("max_feature_idx=3", "max_feature_idx=99999999",
         "different numbers of features"),
        ("num_leaves=8", "num_leaves=99999999",
         "Tree=0: leaf_value must hold 99999999"),
        ("left_child=", "left_child=0 ", "Tree=0: left_child must hold 7"),
        ("leaf_value=", "leaf_value=nan ",
         r"leaf_value\[0\] is 'nan', but must be finite"),
        ("leaf_value=", "leaf_value=" + "9" * 400 + " ",
         r"leaf_value\[0\] is '9{39}\.\.\., but must be finite"),
        ("leaf_value=", "leaf_value=1_0 ", r"leaf_value\[0\] is no number"),
        ("pandas_categorical:[[", "pandas_categorical:[[[", "is no valid JSON"),
        ("pandas_categorical:[", "pandas_categorical:[[],",
         "so their features are unknown"),
        ('"alpha"', "7", "categories that are text, and others"),
        ("cat_boundaries=0", "cat_boundaries=1",
         "Tree=.: cat_boundaries do not ascend"),
    ],
)  # fmt: skip
def test_a_damaged_text_is_refused_and_says_where(old, new, message):
    assert old in TEXT
    with pytest.raises(ValueError, match=message):
        from_lightgbm(TEXT.replace(old, new, 1))


def model_on(X, **parameters):
    y = np.arange(len(X)) % 2
    return LambdaMARTRanker(**TREES | parameters).fit(
        X, y, groups=np.arange(len(X)) // 10
    )


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pd.DataFrame({"a": pd.Categorical([-1, 1] * 50)}), "has the category -1"),
        (pd.DataFrame({"a": pd.Categorical([0.5, 1] * 50)}), "has the category 0.5"),
        (pd.DataFrame({"a": pd.Categorical([1, 2**30] * 50)}),
         "numbers from 0 to 1048576"),
        (pd.DataFrame(numbers()[:100, :2], columns=["a b", "a_b"]),
         "must be different"),
    ],
)  # fmt: skip
def test_what_lightgbm_cannot_hold_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        to_lightgbm(model_on(X))


def test_categories_that_need_too_many_bins_are_refused():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": pd.Categorical(np.repeat(np.arange(400), 10))})
    y = rng.normal(size=400)[X["a"].cat.codes] + 5
    booster = trained(
        X,
        y,
        {"objective": "regression", "num_leaves": 400, "max_bin": 1000,
         "min_data_in_bin": 1, "max_cat_threshold": 400, "cat_l2": 0.0},
        groups=np.arange(len(X)) // 10,
    )  # fmt: skip
    with pytest.raises(ValueError, match="groups of the categories of feature 'a'"):
        from_lightgbm(booster)


def test_deep_duplication_of_nodes_ends_in_an_error():
    """Nodes whose sides alternate around 0, one below the other: 3**30 leaves."""
    n = 30
    lines = {
        "num_leaves": n + 1,
        "num_cat": 0,
        "split_feature": " ".join(map(str, range(n))),
        "split_gain": " ".join(["1"] * n),
        "threshold": " ".join(["5"] * n),
        "decision_type": " ".join(["4"] * n),
        "left_child": " ".join([*(str(i + 1) for i in range(n - 1)), "-1"]),
        "right_child": " ".join(str(~(i + 1)) for i in range(n)),
        "leaf_value": " ".join(["1.5"] * (n + 1)),
        "leaf_count": " ".join(["3"] * (n + 1)),
    }
    text = "\n".join(
        ["tree", "version=v4", "num_class=1", "num_tree_per_iteration=1",
         f"max_feature_idx={n - 1}",
         "feature_names=" + " ".join(f"f{j}" for j in range(n)),
         "feature_infos=" + " ".join(["[0:9]"] * n), "", "Tree=0",
         *(f"{key}={value}" for key, value in lines.items()), "end of trees", ""]
    )  # fmt: skip
    with pytest.raises(ValueError, match="Tree=0: more than .* zero_as_missing=false"):
        from_lightgbm(text)


def test_every_combination_of_sides_and_missing_values():
    """One node of each kind, written and read: decision_type says what it does."""
    rows = np.array([[x] for x in (-1.0, -ZERO, 0.0, ZERO, 1.0, 3.0, np.nan)])
    for decision, threshold in product((0, 2, 4, 6, 8, 10), (-0.5, 0.0, 2.0)):
        text = (
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
            "max_feature_idx=0\nobjective=regression\nfeature_names=a\n"
            "feature_infos=[-9:9]\n\nTree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\n"
            f"split_gain=1\nthreshold={threshold}\ndecision_type={decision}\n"
            "left_child=-1\nright_child=-2\nleaf_value=1 2\nleaf_weight=1 1\n"
            "leaf_count=1 1\ninternal_value=0\ninternal_weight=0\ninternal_count=2\n"
            "is_linear=0\nshrinkage=1\n\n\nend of trees\n"
        )
        expected = lightgbm.Booster(model_str=text).predict(rows)
        found = from_lightgbm(text.replace("=a\n", "=Column_0\n")).predict(rows)
        np.testing.assert_array_equal(found, expected)


def test_a_node_of_an_unknown_kind_is_refused():
    text = to_lightgbm(MODELS["ranker"])
    with pytest.raises(ValueError, match="decision_type holds numbers whose meaning"):
        from_lightgbm(text.replace("decision_type=", "decision_type=1", 1))
