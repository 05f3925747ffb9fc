"""A saved network whose state is not one that a fit produces is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from tests.networks import DATA, fitted

NAN, INF = float("nan"), float("inf")
MODELS = {
    "adam": fitted(LambdaRankRanker),
    "sgd": fitted(RankNetRanker, solver="sgd"),
}


def drop(name, of=None):
    def change(model):
        vars(model if of is None else getattr(model, of)).pop(name)

    return change


def put(name, value, of=None):
    def change(model):
        setattr(model if of is None else getattr(model, of), name, value)

    return change


def of_layer(kind, number, function):
    def change(model):
        layers = getattr(model.network_, kind)
        layers[number] = function(layers[number].copy())

    return change


def of_state(function):
    """Change the optimizer's arrays, a list that it keeps."""
    return lambda model: function(model._optimizer.arrays)


CHANGES = {
    **{
        f"{kind} {number} {how}": of_layer(kind, number, function)
        for kind, number in (("coefs", 0), ("coefs", 1), ("intercepts", 0))
        for how, function in {
            "short": lambda array: array[:-1],
            "flat": lambda array: array.ravel()[:-1],
            "of another type": lambda array: array.astype(np.float64),
            "with NaN": lambda array: array * np.float32(NAN),
            "with inf": lambda array: array + np.float32(INF),
        }.items()
    },
    "a layer missing": lambda model: model.network_.coefs.pop(),
    "a bias missing": lambda model: model.network_.intercepts.pop(),
    "an unknown activation": put("activation", "rely", of="network_"),
    "another number of features": put("n_features_in_", 5),
    "no network": drop("network_"),
    "no number of epochs": drop("n_iter_"),
    "no sigma": drop("_sigma"),
    "a sigma of 0": put("_sigma", 0.0),
    "a sigma of text": put("_sigma", "1"),
    "no optimizer": drop("_optimizer"),
    "an optimizer that is none": put("_optimizer", 3),
    "no rate": drop("rate", of="_optimizer"),
    "a rate NaN": put("rate", NAN, of="_optimizer"),
    "a rate of text": put("rate", "0.1", of="_optimizer"),
    "negative queries": put("t_", -1, of="_optimizer"),
    "an array missing": of_state(lambda arrays: arrays.pop()),
    "an array short": of_state(lambda a: a.__setitem__(0, a[0][..., :-1].copy())),
    "an array of another type": of_state(
        lambda arrays: arrays.__setitem__(0, arrays[0].astype(np.float64))
    ),
    "an array with NaN": of_state(lambda arrays: arrays[1].fill(NAN)),
    "an array that is none": of_state(lambda arrays: arrays.__setitem__(0, [0.0])),
}
OF_ONE = {
    ("adam", "moments in Fortran order"): of_state(
        lambda arrays: arrays.__setitem__(0, np.asfortranarray(arrays[0]))
    ),
    ("adam", "a negative step"): put("n_steps", -1, of="_optimizer"),
    ("adam", "a decay of 1"): put("beta_1", 1.0, of="_optimizer"),
    ("sgd", "an exponent of text"): put("power_t", "1", of="_optimizer"),
    ("sgd", "no initial rate"): drop("initial_rate", of="_optimizer"),
}
CASES = {(solver, what): CHANGES[what] for solver in MODELS for what in CHANGES}
CASES |= OF_ONE


@pytest.mark.parametrize(("solver", "what"), CASES)
def test_a_damaged_state_is_refused(solver, what):
    model = pickle.loads(pickle.dumps(MODELS[solver]))
    assert pickle.loads(pickle.dumps(model)).predict(DATA.X).tobytes() == (
        MODELS[solver].predict(DATA.X).tobytes()
    )
    CASES[solver, what](model)
    with pytest.raises(ValueError, match=r"^the saved (Lambda)?Rank.* is damaged \("):
        pickle.loads(pickle.dumps(model))
