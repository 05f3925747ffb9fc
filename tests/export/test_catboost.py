"""We read what CatBoost writes, and CatBoost what we write."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.export import from_catboost, to_catboost
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.export.models import (
    GROUPS,
    TREES,
    fitted,
    float32_rows,
    grades,
    numbers,
    rows_of,
    score,
)

catboost = pytest.importorskip("catboost")


def trained(X, y, **parameters):
    given = {
        "loss_function": "YetiRank",
        "iterations": 15,
        "depth": 4,
        "verbose": 0,
        "allow_writing_files": False,
        "thread_count": 1,
        "random_seed": 0,
    }
    groups = GROUPS if "Rank" in (given | parameters)["loss_function"] else None
    model = catboost.CatBoost(given | parameters)
    return model.fit(catboost.Pool(X, y, group_id=groups))


@pytest.mark.parametrize("nan_mode", ["Min", "Max"])
@pytest.mark.parametrize("loss", ["YetiRank", "RMSE"])
def test_we_score_models_of_catboost(nan_mode, loss):
    X = np.clip(numbers(), -1e30, 1e30)
    booster = trained(X, grades(X), nan_mode=nan_mode, loss_function=loss)
    model = from_catboost(booster)
    rows = np.clip(rows_of(model), -1e30, 1e30)
    found, expected = model.predict(rows), booster.predict(rows)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)  # order of sums


def test_what_catboost_has_and_we_have_not_is_refused():
    X = np.clip(numbers(), -1e30, 1e30)
    y = grades(X)
    with pytest.raises(ValueError, match="grow_policy='SymmetricTree'"):
        from_catboost(trained(X, y, grow_policy="Lossguide"))
    with pytest.raises(ValueError, match="splits, .* leaf_values|scores for each row"):
        from_catboost(trained(X, y, loss_function="MultiClass"))
    C = pd.DataFrame({"a": X[:, 0], "b": (X[:, 2]).astype(int).astype(str)})
    model = catboost.CatBoost(
        {"iterations": 2, "verbose": 0, "allow_writing_files": False}
    )
    model.fit(catboost.Pool(C, y, cat_features=["b"]))
    with pytest.raises(
        ValueError, match="only features that are numbers|tests no number"
    ):
        from_catboost(model)
    with pytest.raises(TypeError, match="must be a fitted model of CatBoost"):
        from_catboost(catboost.CatBoost())


def text():
    X = np.clip(numbers(), -1e30, 1e30)
    booster = trained(X, grades(X), iterations=2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        booster.save_model(str(path), format="json")
        document = json.loads(path.read_text())
    document.pop("model_info", None)
    return document


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("oblivious_trees", 0, "splits"), [{}] * 60,
         r"oblivious_trees\[0\]: it has 60"),
        (("oblivious_trees", 0, "splits", 0, "border"), "x",
         r"splits\[0\].border must"),
        (("oblivious_trees", 0, "splits", 0, "float_feature_index"), 9, "that is none"),
        (("oblivious_trees", 1, "leaf_values", 0), None,
         r"leaf_values\[0\] must be a f"),
        (("scale_and_bias",), [1, [0, 1]], "2 scores for each row"),
        (("features_info", "float_features", 0, "nan_value_treatment"), "x",
         "_treatment"),
        (("oblivious_trees",), [], "at least one feature and one tree|has no trees"),
    ],
)  # fmt: skip
def test_a_damaged_text_is_refused_and_says_where(path, value, message):
    document = part = text()
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        from_catboost(json.dumps(document))


def test_a_tree_without_splits_is_a_constant():
    document = text()
    expected = from_catboost(json.dumps(document)).predict(numbers())
    constant = {"leaf_values": [0.75], "leaf_weights": [600], "splits": None}
    document["oblivious_trees"].append(constant)
    scale, _ = document["scale_and_bias"]
    found = from_catboost(json.dumps(document)).predict(numbers())
    np.testing.assert_allclose(found, expected + 0.75 * scale, rtol=0, atol=1e-12)


# --- written ----------------------------------------------------------------------


def catboost_model(text: str):
    """Return the model of CatBoost that a text describes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(text, encoding="utf-8")
        return catboost.CatBoost().load_model(str(path), format="json")


def symmetric(**parameters):
    return TREES | {"grow_policy": "symmetric"} | parameters


@cache
def models():
    """Return models by name."""
    X = numbers()
    y = grades(X)
    few = {"grow_policy": "best_first", "max_leaf_nodes": 8}
    deep = symmetric(max_leaf_nodes=255, min_samples_leaf=1)
    return {
        "ranker": LambdaMARTRanker(**symmetric()).fit(X, y, groups=GROUPS),
        "deep": LambdaMARTRanker(**deep).fit(X, y, groups=GROUPS),
        "few leaves": LambdaMARTRanker(**TREES | few).fit(X, y, groups=GROUPS),
        "regressor": MARTRegressor(**symmetric()).fit(X, y),
        "classifier": MARTClassifier(**symmetric(sigma=0.7)).fit(X, y > 1),
        "on top": LambdaMARTRanker(**TREES, init=fitted()["ranker"]).fit(
            X, y, groups=GROUPS
        ),
    }


def test_catboost_scores_as_we_do():
    for name, model in models().items():
        text, rows = to_catboost(model), float32_rows(model)
        # where -3.4e38 is below all borders, it cannot be told from a missing value
        rows = np.where(rows == -np.finfo(np.float32).max, -3e38, rows)
        expected = score(model, rows)
        found = catboost_model(text).predict(rows, prediction_type="RawFormulaVal")
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13, err_msg=name)
        again = from_catboost(text).predict(rows)
        np.testing.assert_allclose(again, expected, rtol=0, atol=1e-13, err_msg=name)


@pytest.mark.filterwarnings("ignore::sklearn_ltr.NothingLearnedWarning")
def test_a_tree_without_splits_is_written_as_a_constant():
    X = numbers()
    model = MARTRegressor(n_estimators=2).fit(X, np.full(len(X), 0.75))
    assert catboost_model(to_catboost(model)).predict(X[:1]) == model.predict(X[:1])


def test_missing_values_of_a_feature_may_go_to_both_sides():
    model = models()["deep"]
    sides = model.ensemble_.missing_left[model.ensemble_.feature == 3]
    assert sides.any() and not sides.all()
    treated = json.loads(to_catboost(model))["features_info"]["float_features"]
    assert treated[3]["nan_value_treatment"] == "AsFalse"


def test_trees_of_many_conditions_and_categories_are_refused():
    X = numbers()
    trees = {**TREES, "max_leaf_nodes": 63, "grow_policy": "best_first"}
    wide = LambdaMARTRanker(**trees).fit(X, grades(X), groups=GROUPS)
    with pytest.raises(ValueError, match=r"trees\[0\] has .* grow_policy='symmetric'"):
        to_catboost(wide)
    with pytest.raises(ValueError, match="no categories"):
        to_catboost(fitted()["categories"])
