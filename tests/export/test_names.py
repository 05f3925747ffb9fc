"""Feature names of any text: every writer writes them, or refuses them by name."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sklearn_ltr import LambdaMARTRanker, export
from tests.export.models import GROUPS, TREES, grades, numbers
from tests.export.test_all_formats import GIVEN, WRITERS, write

ODD = [
    'a "b"', "c\\d", "e, f", "[g].h", "{i}", "j=k", "l: m", "n<o", "<p>&q", "'r'", "%s",
    "ключ", "é", "名", "😀", "tab\there", "two\nlines", "nul\0", "bell\x07", "a\u2028b",
    "\xa0", "-1", "#",
]  # fmt: skip


def model_of(name: str) -> tuple[LambdaMARTRanker, pd.DataFrame]:
    X = pd.DataFrame(np.nan_to_num(numbers()[:, :2]), columns=[name, "plain"])
    X = X.astype(np.float32).astype(np.float64)
    model = LambdaMARTRanker(**TREES | {"n_estimators": 2})
    return model.fit(X, grades(numbers()), groups=GROUPS), X


def read_lightgbm(text: str, name: str, X: pd.DataFrame) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.Booster(model_str=text)
    dumped = json.loads(json.dumps(booster.dump_model()))["feature_names"]
    assert dumped == booster.feature_name() == ["_".join(name.split(" ")), "plain"] or (
        any(c.isspace() and c != " " for c in name)
    )
    assert not any(c.isspace() for c in "".join(dumped))
    assert export.from_lightgbm(booster).feature_names_in_.tolist() == dumped
    return booster.predict(X)


def read_xgboost(text: str, name: str, X: pd.DataFrame) -> Any:
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(text, "utf-8"))
    again = export.from_xgboost(booster)
    for names in (booster.feature_names, again.feature_names_in_.tolist()):
        assert names == [name, "plain"]
    return booster.predict(xgboost.DMatrix(X, nthread=1))


def read_catboost(text: str, name: str, X: pd.DataFrame) -> Any:
    again = export.from_catboost(text)
    assert again.feature_names_in_.tolist() == [name, "plain"]
    pytest.importorskip("catboost")
    from tests.export.test_catboost import catboost_model

    theirs = catboost_model(text)
    assert theirs.feature_names_ == [name, "plain"]
    return theirs.predict(X)


def read_json(text: str, name: str, X: pd.DataFrame) -> Any:
    again = export.from_json(text)
    assert again.feature_names_in_.tolist() == [name, "plain"]
    return again.predict(X)


READ = {
    "to_lightgbm": read_lightgbm,
    "to_xgboost": read_xgboost,
    "to_catboost": read_catboost,
    "to_json": read_json,
}


def names_in(written: Any) -> str:
    """Return what a writer has written, as JSON; empty if it has no names."""
    if isinstance(written, str):
        return written if written.startswith(("{", "[")) else ""
    if isinstance(written, list):
        return json.dumps([request.body for request in written])
    if hasattr(written, "metadata_props"):
        return str(written.metadata_props[0].value)
    return ""


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", ODD)
def test_every_writer_takes_every_name_or_refuses_it_by_name(writer, name, monkeypatch):
    model, X = model_of(name)
    monkeypatch.setitem(GIVEN, "features", {name: {}, "plain": {}})
    try:
        written = write(writer, model)
    except ValueError as error:
        assert repr(name) in str(error) and "rename" in str(error)
        assert writer in {"to_lightgbm", "to_xgboost", "to_vespa"}
        return
    if writer in READ:
        np.testing.assert_allclose(
            READ[writer](written, name, X), model.predict(X), rtol=1e-5, atol=1e-6
        )  # the rounding of XGBoost's sums
    text = names_in(written)
    if text:
        assert json.dumps(name)[1:-1] in json.dumps(json.loads(text))


def test_names_that_become_one_in_lightgbm_are_refused_by_name():
    X = pd.DataFrame(np.nan_to_num(numbers()[:, :2]), columns=["a b", "a_b"])
    model = LambdaMARTRanker(**TREES | {"n_estimators": 2})
    model.fit(X, grades(numbers()), groups=GROUPS)
    with pytest.raises(ValueError, match="feature 'a_b' needs another name"):
        export.to_lightgbm(model)
