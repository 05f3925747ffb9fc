"""ONNX models, scored by onnxruntime."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.export import to_onnx
from sklearn_ltr.preprocessing import SmoothClipScaler
from tests.export.models import (
    GROUPS,
    N_ROWS,
    OF_PLAIN_ROWS,
    TREES,
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

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


def run(model, X, n_threads=1):
    session = onnx_session(to_onnx(model), n_threads)
    return session.run(["scores"], {"X": X})[0]


@pytest.mark.parametrize("name", OF_PLAIN_ROWS)
def test_onnxruntime_scores_trees_bit_for_bit(name):
    model = served()[name]
    X = rows(model)
    C = codes(model, X)
    expected = score(model, X)
    np.testing.assert_array_equal(run(model, C), expected)
    np.testing.assert_array_equal(run(model, C[:1]), expected[:1])
    # more threads add the trees in another order
    scale = np.abs(expected).max()
    np.testing.assert_allclose(run(model, C, 2), expected, atol=1e-13 * scale)


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler(clip=True), SmoothClipScaler()]
)
def test_trees_after_a_scaler_are_the_same_bit_for_bit(scaler):
    X = numbers()
    pipeline = make_pipeline(scaler, "passthrough", LambdaMARTRanker(**TREES))
    pipeline.fit(X, grades(X), lambdamartranker__groups=GROUPS)
    rows = numbers(7, N_ROWS)
    np.testing.assert_array_equal(run(pipeline, rows), pipeline.predict(rows))


def assert_close(model, rows):
    """Networks are in float32."""
    expected = model.predict(rows)
    atol = 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(run(model, rows), expected, atol=atol)


@pytest.mark.parametrize("name", ["identity", "logistic", "tanh", "relu", "linear"])
def test_networks_score_the_same_within_float32(name):
    assert_close(networks()[name], np.nan_to_num(numbers(3, 5000)[:, :4]))


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler(feature_range=(-2, 1), clip=True),
        SmoothClipScaler(),
    ],
)
def test_networks_after_a_scaler_score_the_same_within_float32(scaler):
    X = np.nan_to_num(numbers()[:, :3])
    network = LambdaRankRanker(hidden_layer_sizes=(5,), max_iter=3, random_state=0)
    pipeline = make_pipeline(scaler, network)
    pipeline.fit(X, grades(numbers()), lambdarankranker__groups=GROUPS)
    assert_close(pipeline, np.nan_to_num(numbers(4, 5000)[:, :3]))


def test_the_metadata_names_the_columns():
    (entry,) = to_onnx(served()["named"]).metadata_props
    assert entry.key == "feature_names"
    assert json.loads(entry.value) == ["title", "é fresh", "n/a", "price"]


def test_networks_of_your_own_and_other_steps_are_refused():
    X, y = np.nan_to_num(numbers()[:, :4]), grades(numbers())
    ranker = LambdaRankRanker(network=Linear(), max_iter=1, random_state=0)
    with pytest.raises(TypeError, match="network=Linear, but only networks of hidden"):
        to_onnx(ranker.fit(X, y, groups=GROUPS))
    pipeline = make_pipeline(RobustScaler(), LambdaMARTRanker(**TREES))
    pipeline.fit(X, y, lambdamartranker__groups=GROUPS)
    with pytest.raises(TypeError, match="'robustscaler' of the Pipeline"):
        to_onnx(pipeline)
