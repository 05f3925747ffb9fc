"""ONNX models, scored by onnxruntime."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.export import to_onnx
from sklearn_ltr.preprocessing import SmoothClipScaler, TableVectorizer
from tests.export.models import (
    GROUPS,
    N_ROWS,
    OF_PLAIN_ROWS,
    TREES,
    WORDS,
    codes,
    fitted,
    grades,
    networks,
    numbers,
    onnx_session,
    rows,
    score,
    served,
    table,
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


def table_and_codes(n=N_ROWS, seed=5, gaps=0.1):
    """Rows with gaps, categories that are unseen, dates, and all of it as numbers."""
    X, rng = table(seed, n, extra=True), np.random.default_rng(seed)
    day = pd.Timestamp("2025-01-01") + pd.to_timedelta(np.arange(n) % 900, "h")
    X = X.assign(day=day, huge=1e12 * rng.normal(size=n), same=1.0)
    for column in ("price", "site", "day", "huge"):
        X[column] = X[column].mask(rng.random(n) < gaps)
    known = sorted({*WORDS} & {*X["site"].cat.categories})
    codes = X["site"].map({word: code for code, word in enumerate(known)})
    days = (X["day"] - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    return X, X.assign(site=codes, day=days).astype(float).to_numpy()


@pytest.mark.parametrize("gaps", [0.0, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("threshold", [1, 40])  # codes by means, or one-hot
def test_any_table_that_a_network_learns_from_is_one_graph(threshold, gaps):
    X, _ = table_and_codes(len(GROUPS), 0, gaps)
    X = X[~(X["site"] == "unseen")]
    groups = GROUPS[X.index]
    vectorizer = TableVectorizer(cardinality_threshold=threshold)
    network = LambdaRankRanker(hidden_layer_sizes=(5,), max_iter=3, random_state=0)
    y = grades(X.assign(price=X["price"].fillna(0.0)))
    pipeline = make_pipeline(vectorizer, network).fit(
        X, y, tablevectorizer__groups=groups, lambdarankranker__groups=groups
    )
    rows, C = table_and_codes(gaps=gaps)
    expected = pipeline.predict(rows)
    atol = 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(run(pipeline, C), expected, atol=atol)
    # a number that is missing is 0, a category stays missing
    numeric = ["price", "missing", "huge"]
    day = rows["day"].fillna(pd.Timestamp("1970-01-01"))
    zero = pipeline.predict(rows.fillna(dict.fromkeys(numeric, 0.0)).assign(day=day))
    session = onnx_session(to_onnx(pipeline, missing="zero"), 1)
    found = session.run(["scores"], {"X": C})[0]
    np.testing.assert_allclose(found, zero, atol=1e-5 * np.abs(zero).max())


def test_blends_and_bags_are_one_graph():
    X = table()
    rows = table(5, N_ROWS, extra=True)
    C = codes(fitted()["categories"], rows)
    trees = LambdaMARTRanker(**TREES)
    bag = BaggingRanker(trees, 3, random_state=0).fit(X, grades(X), groups=GROUPS)
    np.testing.assert_array_equal(run(bag, C), bag.predict(rows))
    two = BlendedRanker([trees, clone(trees).set_params(max_leaf_nodes=3)])
    two.fit(X, grades(X), groups=GROUPS)
    np.testing.assert_array_equal(run(two, C), two.predict(rows))
    blend = BlendedRanker(random_state=0).fit(X, grades(X), groups=GROUPS)
    expected = blend.predict(rows)
    atol = 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(run(blend, C), expected, atol=atol)
    with_ridge = BlendedRanker([trees, Ridge()]).fit(
        numbers()[:, :2], grades(numbers()), groups=GROUPS
    )
    with pytest.raises(TypeError, match="are models of boosted trees, got Ridge"):
        to_onnx(with_ridge)
    with pytest.raises(NotFittedError):
        to_onnx(clone(blend))


def test_the_smallest_numbers_are_scaled_as_here():
    X = 5e-324 * (np.arange(3.0 * len(GROUPS)).reshape(-1, 3) % 7)
    pipeline = make_pipeline(SmoothClipScaler(), LambdaMARTRanker(**TREES))
    pipeline.fit(X, grades(numbers()), lambdamartranker__groups=GROUPS)
    assert len(np.unique(pipeline.predict(X))) > 1
    np.testing.assert_array_equal(run(pipeline, X), pipeline.predict(X))


def test_a_blend_of_a_table_with_text_and_dates_is_one_graph():
    X, _ = table_and_codes(len(GROUPS), 0)
    X = X[~(X["site"] == "unseen")]
    y = grades(X.assign(price=X["price"].fillna(0.0)))
    blend = BlendedRanker(random_state=0).fit(X, y, groups=GROUPS[X.index])
    assert isinstance(blend.rankers_[0][0], TableVectorizer)  # before the bag
    rows, C = table_and_codes()
    expected = blend.predict(rows)
    atol = 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(run(blend, C), expected, atol=atol)


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
