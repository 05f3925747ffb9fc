"""We read what CatBoost writes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sklearn_ltr.export import from_catboost
from tests.export.models import GROUPS, grades, numbers, rows_of

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
