"""Rows on features beyond ranking, some of which sklearn_ltr has not."""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sklearn_ltr import inspection
from sklearn_ltr.export import from_lightgbm, to_json, to_onnx, to_xgboost
from tests.peers.offers import row
from tests.peers.offers.libraries import DATA, Data, Library, same_scores

UNKNOWN = "unexpected keyword argument"


@row("training on a GPU", sklearn_ltr=UNKNOWN)
def on_a_gpu(library):
    """The fit works, or the error is about a missing device, not about the option."""
    option = {
        "LightGBM": {"device_type": "gpu"},
        "CatBoost": {"task_type": "GPU"},
    }.get(library.name, {"device": "cuda"})
    with warnings.catch_warnings():
        for message in ("No visible GPU", "Device is changed from GPU to CPU"):
            warnings.filterwarnings("ignore", f".*{message}")  # of XGBoost
        try:
            library.fit(DATA, **option)
        except Exception as error:
            if not re.search("OpenCL device|CUDA error|GPU Tree Learner", str(error)):
                raise


NAMES = pd.Categorical(np.array(list("pqrstuvw"))[np.arange(len(DATA.y)) % 8])
CATEGORICAL = Data(
    pd.DataFrame({"name": NAMES}), (NAMES.codes % 2).astype(int), DATA.groups
)


def separates_grades(scores) -> None:
    assert scores[CATEGORICAL.y == 1].min() > scores[CATEGORICAL.y == 0].max()


@row("categorical features")
def categories(library):
    options = {
        "XGBoost": {"enable_categorical": True},
        "CatBoost": {"cat_features": ["name"]},
    }.get(library.name, {})
    separates_grades(
        library.scores(CATEGORICAL, tree_size=8, n_estimators=20, **options)
    )


@row("monotonic constraints")
def monotonic(library):
    """Scores must not decrease with a feature, although grades do."""
    X = np.random.default_rng(0).uniform(size=(len(DATA.y), 1))
    data = Data(X, np.floor(5 * (1 - X[:, 0])), DATA.groups)
    grid = np.linspace(0, 1, 50)[:, np.newaxis]
    assert np.diff(library.scores(data, grid)).min() < 0
    option = {
        "sklearn_ltr": {"monotonic_cst": [1]},
        "XGBoost": {"monotone_constraints": (1,)},
    }.get(library.name, {"monotone_constraints": [1]})
    assert np.diff(library.scores(data, grid, **option)).min() >= 0


@row("interaction constraints", CatBoost="interaction_constraints")
def interactions(library):
    """Scores must be a sum of functions of one feature, although grades are not."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(len(DATA.y), 2))
    data = Data(X, 4 * (X[:, 0] * X[:, 1] > 0).astype(int), DATA.groups)
    corners = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]])
    signs = np.array([1, -1, -1, 1])
    assert abs(signs @ library.scores(data, corners)) > 0.1
    option = {
        "sklearn_ltr": {"interaction_cst": "no_interactions"},
        "XGBoost": {"interaction_constraints": "[[0], [1]]"},
    }.get(library.name, {"interaction_constraints": [[0], [1]]})
    assert abs(signs @ library.scores(data, corners, **option)) < 1e-4


@row("SHAP values")
def shap_values(library):
    """Contributions of all features and a constant sum to the score."""
    fitted = library.fit(DATA)
    same_scores(contributions(library, fitted).sum(axis=1), fitted.predict(DATA.X))


def contributions(library: Library, fitted) -> np.ndarray:
    if library.name == "sklearn_ltr":
        return inspection.shap_values(fitted, DATA.X).contributions
    module = pytest.importorskip(library.module)
    if library.name == "XGBoost":
        table = module.DMatrix(DATA.X)
        return fitted.get_booster().predict(table, pred_contribs=True)
    if library.name == "CatBoost":
        pool = module.Pool(DATA.X, DATA.y, group_id=DATA.groups)
        return fitted.get_feature_importance(pool, type="ShapValues")
    return fitted.predict(DATA.X, pred_contrib=True)


@row("the leaf of each tree that a document comes to")
def leaves(library):
    """Two documents in the same leaves have the same score."""
    fitted = library.fit(DATA)
    if library.name == "LightGBM":
        found = fitted.predict(DATA.X, pred_leaf=True)
    elif library.name == "CatBoost":
        found = fitted.calc_leaf_indexes(DATA.X)
    else:
        found = fitted.apply(DATA.X)
    assert found.shape == (len(DATA.y), 5)
    _, first, same = np.unique(found, axis=0, return_index=True, return_inverse=True)
    scores = fitted.predict(DATA.X)
    same_scores(scores, scores[first][same.ravel()])


@row("export of the model as JSON")
def as_json(library):
    fitted = library.fit(DATA)
    if library.name == "sklearn_ltr":
        assert json.loads(to_json(fitted))
        return
    if library.name == "LightGBM":
        assert json.dumps(fitted.booster_.dump_model())
        return
    options = {"format": "json"} if library.name == "CatBoost" else {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        fitted.save_model(path, **options)
        assert json.loads(path.read_text())


@row("export as ONNX", LightGBM="INVALID_PROTOBUF", XGBoost="INVALID_PROTOBUF")
def as_onnx(library):
    """What the library saves is loaded by onnxruntime, and scores the same."""
    onnxruntime = pytest.importorskip("onnxruntime")
    fitted = library.fit(DATA)
    dtype = np.float64 if library.name == "sklearn_ltr" else np.float32
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(.|\n)*Saving model in the UBJSON")
        path = Path(folder, "model.onnx")
        if library.name == "sklearn_ltr":
            path.write_bytes(to_onnx(fitted).SerializeToString())
        elif library.name == "LightGBM":
            fitted.booster_.save_model(path)
        elif library.name == "XGBoost":
            fitted.save_model(path)
        else:
            fitted.save_model(path, format="onnx")
        session = onnxruntime.InferenceSession(path)
        (name,) = (column.name for column in session.get_inputs())
        scores = session.run(None, {name: DATA.X.astype(dtype)})[0]
    same_scores(scores.ravel(), fitted.predict(DATA.X))


@row(
    "scores a model that another library has trained, with the same leaves",
    LightGBM="Model file doesn't specify the number of classes",
    XGBoost="Unknown construct",
    CatBoost="Incorrect model file descriptor",
)
def of_another_library(library):
    """LightGBM's model; XGBoost's, where LightGBM itself is the library."""
    lightgbm = pytest.importorskip("lightgbm")
    sizes = np.unique(DATA.groups, return_counts=True)[1]
    order = np.argsort(DATA.groups, kind="stable")
    theirs = lightgbm.LGBMRanker(n_estimators=3, verbose=-1)
    theirs.fit(DATA.X[order], DATA.y[order], group=sizes)
    text = theirs.booster_.model_to_string()
    if library.name == "sklearn_ltr":
        expected = theirs.booster_.predict(DATA.X)
        np.testing.assert_array_equal(from_lightgbm(text).predict(DATA.X), expected)
        return
    module = pytest.importorskip(library.module)
    if library.name == "LightGBM":
        lightgbm.Booster(model_str=to_xgboost(from_lightgbm(text)))
    elif library.name == "XGBoost":
        module.Booster().load_model(bytearray(text.encode()))
    else:
        module.CatBoost().load_model(blob=text.encode())


POSITIONS = np.arange(len(DATA.y)) - np.searchsorted(DATA.groups, DATA.groups)


@row(
    "correction of position bias in clicks",
    LightGBM=UNKNOWN,
    CatBoost=UNKNOWN,
)
def position_bias(library):
    option, given = {}, {"position": POSITIONS}
    if library.name == "XGBoost":
        option, given = {"lambdarank_unbiased": True}, {}
    elif library.name == "sklearn_ltr":
        option, given = {"position_bias": "additive"}, {"positions": POSITIONS}
    clicks = DATA._replace(y=(DATA.y > 1).astype(int))
    fitted = library.new(**option).fit(
        clicks.X, clicks.y, **library.group_argument(clicks.groups), **given
    )
    assert np.ptp(fitted.predict(clicks.X) - library.scores(clicks)) > 1e-3


@position_bias.workaround("LightGBM", "with `lightgbm.train`")
def position_bias_in_a_dataset(library):
    lightgbm = pytest.importorskip("lightgbm")
    options = {"objective": "lambdarank", "num_threads": 1, "verbosity": -1}

    def train(**more):
        sizes = library.convert_groups(DATA.groups)
        data = lightgbm.Dataset(DATA.X, DATA.y > 1, group=sizes, **more)
        return lightgbm.train(options, data, num_boost_round=5).predict(DATA.X)

    assert np.ptp(train(position=POSITIONS) - train()) > 1e-3


@row(
    "known propensities of examination, a weight of each clicked document",
    LightGBM=UNKNOWN,
    XGBoost=UNKNOWN,
    CatBoost=UNKNOWN,
)
def known_propensities(library):
    clicks = DATA._replace(y=(DATA.y > 1).astype(int))
    fitted = library.new().fit(
        clicks.X,
        clicks.y,
        **library.group_argument(clicks.groups),
        propensities=1 / (1 + POSITIONS),
    )
    assert np.ptp(fitted.predict(clicks.X) - library.scores(clicks)) > 1e-3
