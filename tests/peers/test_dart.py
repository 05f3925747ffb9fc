"""Weights of trees against those of XGBoost and LightGBM, where all are dropped."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.oracles.dart import weights

N_TREES, ETA = 12, 0.3
EVERY = [list(range(m)) for m in range(N_TREES)]  # each step drops all earlier trees
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X[:, 0] + RNG.normal(size=200)


def test_xgboost_has_the_weights_of_the_oracle():
    xgboost = pytest.importorskip("xgboost")
    parameters = {
        "booster": "dart", "rate_drop": 1.0, "skip_drop": 0.0, "eta": ETA,
        "normalize_type": "tree", "sample_type": "uniform", "nthread": 1,
        "verbosity": 0,
    }  # fmt: skip
    booster = xgboost.train(parameters, xgboost.DMatrix(X, Y), N_TREES)
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    part = model if "weight_drop" in model else model["model"]  # since 3.4
    found = np.array(part["weight_drop"])  # of trees whose leaves have eta
    expected = np.array(weights(EVERY, ETA)[-1]) / ETA
    np.testing.assert_allclose(found, expected, rtol=1e-5)  # in float32


def test_lightgbm_has_them_in_the_mode_of_xgboost():
    lightgbm = pytest.importorskip("lightgbm")
    parameters = {
        "boosting": "dart", "drop_rate": 1.0, "skip_drop": 0.0, "max_drop": -1,
        "uniform_drop": True, "xgboost_dart_mode": True, "learning_rate": ETA,
        "boost_from_average": False, "num_threads": 1, "verbosity": -1,
    }  # fmt: skip
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, Y), N_TREES)
    found = [tree["shrinkage"] for tree in booster.dump_model()["tree_info"]]
    np.testing.assert_allclose(found, weights(EVERY, ETA)[-1], rtol=1e-4)  # as text
