"""Pipelines that skl2onnx has converted, scored by onnxruntime."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.export import register_skl2onnx, to_tree_model
from tests.export.models import (
    GROUPS,
    OF_PLAIN_ROWS,
    TREES,
    N,
    codes,
    grades,
    networks,
    numbers,
    onnx_session,
    rows,
    score,
    served,
)
from tests.networks import Linear

skl2onnx = pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")
from skl2onnx.common.data_types import (  # noqa: E402
    DoubleTensorType,
    FloatTensorType,
    StringTensorType,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True, scope="module")
def registered():
    register_skl2onnx()
    register_skl2onnx()


def run(exported, given):
    session = onnx_session(exported)
    (output,) = session.get_outputs()
    assert output.name == "scores"
    assert output.type == "tensor(double)"
    return session.run(None, given)[0]


@pytest.mark.parametrize("name", OF_PLAIN_ROWS)
def test_rows_on_and_beside_thresholds_come_to_the_same_leaves(name):
    model = served()[name]
    X = rows(model)
    C, expected = codes(model, X), score(model, X)
    exported = skl2onnx.to_onnx(model, C[:1])
    found = run(exported, {"X": C})
    assert found.shape == expected.shape
    assert found.dtype == np.float64
    # the same values of leaves, added in another order
    np.testing.assert_allclose(found, expected, rtol=0, atol=at_rounding(expected))
    np.testing.assert_allclose(
        run(exported, {"X": C[:1]}), expected[:1], rtol=0, atol=at_rounding(expected)
    )


def at_rounding(expected):
    return 1e-13 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["relu", "tanh", "linear"])
def test_networks_score_the_same_within_float32(name):
    X = np.nan_to_num(numbers(3, 500)[:, :4])
    model = networks()[name]
    found, expected = run(skl2onnx.to_onnx(model, X[:1]), {"X": X}), model.predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


# --- Pipelines --------------------------------------------------------------------

RNG = np.random.default_rng(0)
# numbers that float32 holds, so that both types of inputs are the same numbers
FRAME = pd.DataFrame(
    {
        "price": numbers()[:, 0].astype(np.float32).astype(float),
        "rating": np.where(RNG.random(N) < 0.3, np.nan, RNG.integers(0, 5, N)),
        "site": RNG.choice(["news", "shop", "wiki"], N),
        "brand": RNG.choice([f"brand {i}" for i in range(12)], N),
    }
)
NUMBERS, TEXT = ["price", "rating"], ["site", "brand"]
PREPARED = {
    "imputed and scaled": make_pipeline(SimpleImputer(), StandardScaler()),
    "imputed": SimpleImputer(strategy="median"),
    "as they are": "passthrough",
}
RANKERS = {
    "trees": LambdaMARTRanker(**TREES, categorical_features=[5]),
    "network": LambdaRankRanker(hidden_layer_sizes=(5,), max_iter=3, random_state=0),
}


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize(
    ("prepared", "kind"),
    [
        ("imputed and scaled", FloatTensorType),
        ("imputed", FloatTensorType),  # onnxruntime has no Imputer of float64
        ("as they are", FloatTensorType),
        ("as they are", DoubleTensorType),
    ],
)
def test_a_pipeline_of_columns_imputers_and_encoders_leaves_whole(
    ranker, prepared, kind
):
    if ranker == "network" and prepared == "as they are":
        frame = FRAME.fillna({"rating": 2.0})
    else:
        frame = FRAME
    pipeline = make_pipeline(
        make_column_transformer(
            (PREPARED[prepared], NUMBERS),
            (OneHotEncoder(), ["site"]),
            (OrdinalEncoder(), ["brand"]),
        ),
        RANKERS[ranker],
    )
    y = np.clip(np.floor(frame["price"] + 1 + (frame["site"] == "shop")), 0, 3)
    y += frame["brand"].isin(["brand 3", "brand 7"])
    pipeline.fit(frame, y, **{f"{pipeline.steps[-1][0]}__groups": GROUPS})
    types = [(name, kind([None, 1])) for name in NUMBERS]
    types += [(name, StringTensorType([None, 1])) for name in TEXT]
    exported = skl2onnx.convert_sklearn(pipeline, initial_types=types)
    dtype = np.float64 if kind is DoubleTensorType else np.float32
    found = run(
        exported,
        {name: frame[[name]].to_numpy(dtype) for name in NUMBERS}
        | {name: frame[[name]].to_numpy(object) for name in TEXT},
    )
    expected = pipeline.predict(frame)
    assert len(np.unique(expected)) > 15
    if ranker == "trees":
        assert any(tree.left_categories for tree in to_tree_model(pipeline[-1]).trees)
    digits = 1e-5 if ranker == "network" else 1e-13
    np.testing.assert_allclose(found, expected, atol=digits * np.abs(expected).max())


def test_several_inputs_are_the_columns_of_one_model():
    X, y = numbers()[:, :3], grades(numbers())
    model = LambdaMARTRanker(**TREES).fit(X, y, groups=GROUPS)
    types = [("a", DoubleTensorType([None, 1])), ("b", FloatTensorType([None, 2]))]
    exported = skl2onnx.convert_sklearn(model, initial_types=types)
    rest = X[:, 1:].astype(np.float32)
    found = run(exported, {"a": X[:, :1], "b": rest})
    expected = model.predict(np.column_stack([X[:, 0], rest]))
    np.testing.assert_allclose(found, expected, rtol=0, atol=at_rounding(expected))


# --- what cannot be converted -----------------------------------------------------


def test_what_to_onnx_refuses_is_refused_with_the_same_error():
    X, y = np.nan_to_num(numbers()[:, :4]), grades(numbers())
    with pytest.raises(NotFittedError, match="not fitted"):
        skl2onnx.to_onnx(LambdaMARTRanker(), X[:1])
    on_base = LambdaMARTRanker(**TREES, init=Ridge()).fit(X, y, groups=GROUPS)
    with pytest.raises(ValueError, match="add its scores as a feature"):
        skl2onnx.to_onnx(on_base, X[:1])
    own = LambdaRankRanker(network=Linear(), max_iter=1, random_state=0)
    with pytest.raises(TypeError, match="network=Linear, but only networks of hidden"):
        skl2onnx.to_onnx(own.fit(X, y, groups=GROUPS), X[:1])


def test_without_skl2onnx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match="register_skl2onnx requires skl2onnx: inst"):
        register_skl2onnx()
