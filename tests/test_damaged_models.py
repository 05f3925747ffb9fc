"""A damaged file of a model is an error, neither a crash nor another model."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._estimators.base import VERSION_KEY
from sklearn_ltr._saved import KEY
from sklearn_ltr.clicks import PositionBasedModel, RegressionEM
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import ERR
from tests.bad_inputs import INF, NAN, SMALL, N, X, fit, refused
from tests.clicks.logs import columns
from tests.clicks.logs import fit as fit_to_log
from tests.clicks.logs import small as small_log

# --- saved models, one part of which is changed
Change = Callable[[Any], None]
CATEGORIES = pd.DataFrame(
    {
        "code": pd.Categorical(np.arange(N) % 7),
        "number": X[:, 0],
        "word": pd.Categorical(np.array(["one", "two", "three"])[np.arange(N) % 3]),
    }
)
OF_CATEGORIES = np.arange(N) % 7 % 2 + np.arange(N) % 3 % 2 * 0.5


@cache
def saved(name: str) -> Any:
    """Return the model of a name, which no test changes."""
    if name == "categories":
        given = {"X": CATEGORIES, "y": OF_CATEGORIES}
        return fit(MARTRegressor, given, category_smoothing=0.0, min_samples_leaf=1)
    if name == "sgd":
        return fit(RankNetRanker, solver="sgd")
    return fit(next(e for e in SMALL if e.__name__ == name), n_jobs=1)


def saved_with(key: Any, change: Change) -> Any:
    """Return a model that was changed, saved and loaded."""
    model = deepcopy(saved(key))
    change(model)
    return pickle.loads(pickle.dumps(model))


def in_trees(name: str, change: Callable[[Any], Any]) -> Change:
    """Return a change of one array of the ensemble."""

    def apply(model: Any) -> None:
        arrays = vars(model.ensemble_)
        arrays[name] = change(arrays[name].copy())

    return apply


def put(place: int, number: Any) -> Callable[[Any], Any]:
    def apply(array: Any) -> Any:
        array[place] = number
        return array

    return apply


def set_to(*path: str, value: Any) -> Change:
    """Return a change of one attribute."""

    def apply(model: Any) -> None:
        for name in path[:-1]:
            model = getattr(model, name)
        vars(model)[path[-1]] = value

    return apply


def without(name: str) -> Change:
    return lambda model: vars(model).pop(name)


def bad_byte(array: Any) -> Any:
    array.view(np.uint8)[0] = 2
    return array


ARRAY_CHANGES: dict[str, Callable[[Any], Any]] = {
    "short": lambda array: array[:-1],
    "long": lambda array: np.append(array, array[-1:], axis=0),
    "empty": lambda array: array[:0],
    "a table": lambda array: array[:, np.newaxis],
    "of another type": lambda array: array.astype(np.float32),
    "of objects": lambda array: array.astype(object),
}
CHANGES_OF_TREES: dict[str, Change] = {
    **{
        f"{name} {how}": in_trees(name, change)
        for name in ("first_node", "feature", "threshold", "missing_left", "left",
                     "right", "value", "gain", "n_rows")
        for how, change in ARRAY_CHANGES.items()
        if (name, how) != ("first_node", "long")
    },
    "a first node after its tree": in_trees("first_node", put(0, 1)),
    "a second tree that begins with the first": in_trees("first_node", put(1, 0)),
    "a tree that begins behind the nodes": in_trees("first_node", put(1, 10**9)),
    "a negative feature": in_trees("feature", put(0, -2)),
    "an inner node as a leaf": in_trees("feature", put(0, -1)),
    "a feature that X has not": in_trees("feature", put(0, 4)),
    "a huge feature": in_trees("feature", put(0, 2**31 - 1)),
    "a threshold NaN": in_trees("threshold", put(0, NAN)),
    "no truth value": in_trees("missing_left", bad_byte),
    "a node that is its own child": in_trees("left", put(0, 0)),
    "a child twice": in_trees("right", lambda array: put(0, array[0] - 1)(array)),
    "a child before its parent": in_trees("left", put(0, -5)),
    "a child in another tree": in_trees("right", put(0, 10**6)),
    "a leaf with a child": in_trees("left", put(-1, 1)),
    "a value NaN": in_trees("value", put(0, NAN)),
    "a value inf": in_trees("value", put(0, INF)),
    "values whose sum overflows": in_trees("value", lambda a: np.full_like(a, 1e308)),
    "a gain NaN": in_trees("gain", put(0, NAN)),
    "a gain below 0": in_trees("gain", put(0, -1.0)),
    "rows below 0": in_trees("n_rows", put(0, -1)),
    "another number of features": set_to("n_features_in_", value=1),
    "more features": set_to("n_features_in_", value=40),
    "no number of features": set_to("n_features_in_", value="4"),
    "another number of trees": set_to("n_iter_", value=7),
    "an ensemble that is none": set_to("ensemble_", value=[]),
    "no ensemble": without("ensemble_"),
    "no bins": without("_mapper"),
    "no seed": without("_seed"),
    "bins of too few features": set_to("_mapper", "bin_thresholds", value=[]),
    "bins that fall": set_to(
        "_mapper", "bin_thresholds", value=[np.array([2.0, 1.0])] * 4
    ),
    "bins NaN": set_to("_mapper", "bin_thresholds", value=[np.array([NAN])] * 4),
    "too many bins": set_to("_mapper", "bin_thresholds", value=[np.arange(300.0)] * 4),
    "bins of integers": set_to("_mapper", "bin_thresholds", value=[np.arange(3)] * 4),
}  # fmt: skip


def in_categories(name: str, change: Callable[[Any], Any]) -> Change:
    """Return a change of one array of the bins of categories."""

    def apply(model: Any) -> None:
        arrays = vars(model._mapper.categories)
        arrays[name] = change(arrays[name].copy())

    return apply


CHANGES_OF_CATEGORIES: dict[str, Change] = {
    **{
        f"{name} {how}": in_trees(name, change)
        for name in ("category_node", "category_set")
        for how, change in ARRAY_CHANGES.items()
    },
    **{
        f"the categories' {name} {how}": in_categories(name, change)
        for name in ("feature", "first", "value", "bin", "shared_from")
        for how, change in ARRAY_CHANGES.items()
    },
    "a set at a leaf": in_trees("category_node", put(-1, 4)),
    "a set at no node": in_trees("category_node", put(-1, 10**9)),
    "a set at a negative node": in_trees("category_node", put(0, -1)),
    "two sets at a node": in_trees("category_node", lambda a: put(1, a[0])(a)),
    "a set that sends the missing elsewhere": in_trees(
        "category_set", lambda a: put((0, 31), a[0, 31] ^ 128)(a)
    ),
    "categories of a feature that X has not": in_categories("feature", put(1, 3)),
    "categories of a negative feature": in_categories("feature", put(0, -1)),
    "categories of a feature twice": in_categories("feature", put(1, 0)),
    "categories that begin behind the others": in_categories("first", put(1, 99)),
    "categories that begin before the others": in_categories("first", put(1, -1)),
    "categories that fall": in_categories("value", put(0, 1.0)),
    "a category NaN": in_categories("value", put(-1, NAN)),
    "a category inf": in_categories("value", put(-1, INF)),
    "a category in a bin too many": in_categories("bin", put(0, 7)),
    "a category in the missing bin": in_categories("bin", put(-1, 255)),
    "thresholds of too few features": in_categories("mean_threshold", lambda a: a[1:]),
    "thresholds of one number": in_categories("mean_threshold", np.ravel),
    "thresholds in single precision": in_categories(
        "mean_threshold", lambda a: a.astype(np.float32)
    ),
    "thresholds that fall": in_categories("mean_threshold", put((0, 0), NAN)),
    "bins of categories that share them too early": in_categories(
        "shared_from", put(0, 2)
    ),
    "a negative number of bins": in_categories("shared_from", put(0, -1)),
    "no categories of the features": without("_categories"),
    "no bins of the categories": lambda model: vars(model._mapper).pop("categories"),
    "other categorical features": set_to(
        "_categories", "feature", value=np.array([0, 1])
    ),
    "a set of a feature of numbers": in_trees(
        "feature", lambda array: np.where(array == 2, np.int32(1), array)
    ),
    "text of too few features": set_to("_categories", "text", value=[]),
    "text that falls": set_to(
        "_categories", "text", value=[np.array([], "U1"), np.array(["b", "a", "c"])]
    ),
    "text of bytes": set_to(
        "_categories", "text", value=[np.array([], "U1"), np.array([b"a", b"b"])]
    ),
    "text of numbers": set_to("_categories", "is_text", value=np.array([1, 1])),
}
CHANGES_OF_MART: dict[str, Change] = {
    "a base score NaN": set_to("base_score_", value=NAN),
    "a base score inf": set_to("base_score_", value=INF),
    "a base score of text": set_to("base_score_", value="0"),
    "no base score": without("base_score_"),
}
CHANGES_OF_CLASSES: dict[str, Change] = {
    "one class": set_to("classes_", value=np.array([1])),
    "no classes": without("classes_"),
    "no sigma": without("_sigma"),
    "a sigma NaN": set_to("_sigma", value=NAN),
    "a sigma of text": set_to("_sigma", value="1"),
}
CHANGES_OF_LAMBDAMART: dict[str, Change] = {
    "no base model": without("init_"),
    "no record of scores": without("_uses_init_score"),
}


def in_layer(kind: str, number: int, change: Callable[[Any], Any]) -> Change:
    def apply(model: Any) -> None:
        layers = getattr(model.network_, kind)
        layers[number] = change(layers[number].copy())

    return apply


CHANGES_OF_NETWORKS: dict[str, Change] = {
    **{
        f"{kind} {number} {how}": in_layer(kind, number, change)
        for kind, number in (("coefs", 0), ("coefs", 1), ("intercepts", 0))
        for how, change in {
            "short": lambda array: array[:-1],
            "flat": lambda array: array.ravel()[:-1],
            "of another type": lambda array: array.astype(np.float64),
            "with NaN": lambda array: array * np.float32(NAN),
            "with inf": lambda array: array + np.float32(INF),
        }.items()
    },
    "a layer missing": lambda model: model.network_.coefs.pop(),
    "a bias missing": lambda model: model.network_.intercepts.pop(),
    "an unknown activation": set_to("network_", "activation", value="rely"),
    "another number of features": set_to("n_features_in_", value=5),
    "no network": without("network_"),
    "no optimizer": without("_optimizer"),
    "an optimizer that is none": set_to("_optimizer", value=3),
    "no sigma": without("_sigma"),
    "a sigma of 0": set_to("_sigma", value=0.0),
    "a rate NaN": set_to("_optimizer", "rate", value=NAN),
    "a rate of text": set_to("_optimizer", "rate", value="0.1"),
    "no rate": lambda model: vars(model._optimizer).pop("rate"),
}
CHANGES_OF_ADAM: dict[str, Change] = {
    "moments short": lambda model: model._optimizer.moments.pop(),
    "moments of one weight": set_to(
        "_optimizer", "moments", value=[np.zeros((2, 1), np.float32)] * 3
    ),
    "moments of another type": lambda model: model._optimizer.moments.__setitem__(
        0, model._optimizer.moments[0].astype(np.float64)
    ),
    "moments NaN": lambda model: model._optimizer.moments[0].fill(NAN),
    "a negative step": set_to("_optimizer", "n_steps", value=-1),
}
CHANGES_OF_SGD: dict[str, Change] = {
    "velocities short": lambda model: model._optimizer.velocities.pop(),
    "velocities inf": lambda model: model._optimizer.velocities[0].fill(INF),
    "velocities of one weight": set_to(
        "_optimizer", "velocities", value=[np.zeros(1, np.float32)] * 3
    ),
}
CHANGES: dict[Any, dict[str, Change]] = {
    "LambdaMARTRanker": CHANGES_OF_TREES | CHANGES_OF_LAMBDAMART,
    "MARTClassifier": CHANGES_OF_TREES | CHANGES_OF_MART | CHANGES_OF_CLASSES,
    "MARTRegressor": CHANGES_OF_TREES | CHANGES_OF_MART,
    "categories": CHANGES_OF_CATEGORIES,
    "LambdaRankRanker": CHANGES_OF_NETWORKS | CHANGES_OF_ADAM,
    "RankNetRanker": CHANGES_OF_NETWORKS | CHANGES_OF_ADAM,
    "sgd": CHANGES_OF_NETWORKS | CHANGES_OF_SGD,
}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param(name, change, id=f"{what} in {name}")
        for name, changes in CHANGES.items()
        for what, change in changes.items()
    ],
)
def test_a_model_whose_parts_do_not_fit_together_is_refused(name, change):
    refused(lambda: saved_with(name, change), ValueError, "is damaged (")


# --- files with flipped bits


def table(name: str) -> Any:
    return CATEGORIES if name == "categories" else X


# In a process of its own: numpy, too, has no use for some of these files.
FLIP_BITS = """
import json, pickle, random, sys, warnings
from pathlib import Path
import numpy as np, pandas

try:
    import resource  # a flipped length may ask pickle for all memory
    resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
except ImportError:
    pass
folder = Path(sys.argv[1])
tables, counts = pickle.loads((folder / "tables").read_bytes()), {}
warnings.simplefilter("ignore")  # "saved by a newer version"
for file in sorted(folder.glob("*.pickle")):
    saved, rng = file.read_bytes(), random.Random(0)
    X = tables[file.stem]
    expected = pickle.loads(saved).predict(X)
    outcomes = counts[file.stem] = {"refused": 0, "same": 0, "other": 0, "bad": 0}
    for _ in range(250):
        changed = bytearray(saved)
        changed[rng.randrange(len(saved))] ^= 1 << rng.randrange(8)
        try:
            found = pickle.loads(bytes(changed)).predict(X)
        except Exception:
            outcomes["refused"] += 1
            continue
        if np.array_equal(found, expected):
            outcomes["same"] += 1
        else:
            finite = np.isfinite(np.asarray(found, dtype=float)).all()
            outcomes["other" if finite else "bad"] += 1
print(json.dumps(counts))
"""


def test_a_file_with_a_flipped_bit_is_refused_or_predicts_the_same(tmp_path):
    names = [*CHANGES, "BaggingRanker", "BlendedRanker"]
    tables = {name: table(name) for name in names}
    (tmp_path / "tables").write_bytes(pickle.dumps(tables))
    for name in names:
        (tmp_path / f"{name}.pickle").write_bytes(pickle.dumps(saved(name)))
    answer = subprocess.run(
        [sys.executable, "-c", FLIP_BITS, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    counts = json.loads(answer.stdout)
    assert sorted(counts) == sorted(names)
    for outcomes in counts.values():
        assert outcomes["bad"] == outcomes["other"] == 0
        assert min(outcomes["refused"], outcomes["same"]) > 10


# --- numbers of saved models, each changed alone


def more_models() -> dict[str, Any]:
    """Return models that hold what those of CHANGES do not."""
    shown = {"positions": np.arange(N)}
    log = small_log()
    regression = RegressionEM(LogisticRegression(), max_iter=2, tol=1.0)
    return {
        "BaggingRanker": saved("BaggingRanker"),
        "BlendedRanker": saved("BlendedRanker"),
        "on a Ridge": fit(
            LambdaMARTRanker, init=make_pipeline(MinMaxScaler(), Ridge())
        ),
        "of positions": fit(LambdaMARTRanker, shown, position_bias="additive"),
        "stopped early": fit(
            LambdaRankRanker, early_stopping=True, scoring=["map", ERR(5)]
        ),
        "of clicks": fit_to_log(PositionBasedModel(), log),
        "of clicks and features": regression.fit(
            np.eye(12)[:, :4], log.clicks, **columns(log)
        ),
    }


def is_checked(value: Any) -> bool:
    """Return whether a part of a model is saved with checksums of its own."""
    state = getattr(value, "__getstate__", dict)()
    return isinstance(state, dict) and KEY in state


def places(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place of a state that holds a number, as (dict or list, key)."""
    items = holder.items() if isinstance(holder, dict) else enumerate(holder)
    for key, value in list(items):
        if isinstance(value, tuple):
            holder[key] = value = list(value)
        if key in (KEY, VERSION_KEY) or is_checked(value) or isinstance(value, type):
            continue
        if isinstance(value, dict | list):
            yield from places(value)
        elif isinstance(value, bool | int | float | str | np.ndarray | np.generic):
            yield holder, key
        else:
            yield from places(getattr(value, "__dict__", {}))


def changed(value: Any) -> Iterator[Any]:
    """Yield a number with its last bit flipped; an array, with one of each part."""
    if isinstance(value, str):
        yield value + "s"
    elif isinstance(value, float):
        yield 0.0 if np.isnan(value) else np.nextafter(value, 2 * value + 1)
    elif isinstance(value, int):
        yield type(value)(value ^ 1)
    elif value.dtype != object:
        for byte in {0, value.nbytes // 2, value.nbytes - 1} if value.nbytes else ():
            copy = np.array(value, order="C")
            copy.reshape(-1).view(np.uint8)[byte] ^= 1
            yield copy


def checked_parts(value: Any) -> Iterator[Any]:
    """Yield the parts of a value that have checksums of their own, itself included."""
    if is_checked(value):
        yield value
        value = value.__getstate__()
    elif not isinstance(value, dict | list | tuple):
        value = {} if isinstance(value, type) else getattr(value, "__dict__", {})
    for part in value.values() if isinstance(value, dict) else value:
        yield from checked_parts(part)


def loaded(part: Any, state: Any) -> Any:
    new = object.__new__(type(part))
    new.__setstate__(state)
    return new


@pytest.mark.parametrize("name", [*CHANGES, "others"])
def test_every_number_of_a_saved_model_is_under_a_checksum(name):
    models = more_models().values() if name == "others" else [saved(name)]
    found = set()
    for part in (part for model in models for part in checked_parts(model)):
        state = deepcopy(part.__getstate__())
        for holder, key in places(state):
            before = holder[key]
            for holder[key] in changed(before):
                with pytest.raises(ValueError, match="damaged"):
                    loaded(part, state)
                found.add(key)
            holder[key] = before
        loaded(part, state)
    expected = {
        "others": {"weights_", "coef_", "propensities_", "position_bias_", "scale_"},
        "MARTRegressor": {"base_score_", "value", "learning_rate"},
        "categories": {"base_score_", "feature", "is_text", "category_set"},
        "RankNetRanker": {"_sigma", "n_iter_", "beta_1", "loss_curve_"},
    }
    assert expected.get(name, {"n_features_in_", "_seed"}) <= found


@pytest.mark.parametrize("name", CHANGES)
def test_a_flipped_bit_of_the_numbers_of_a_model_is_found(name):
    model = saved(name)
    is_network = hasattr(model, "network_")
    arrays = [model.network_.coefs[0] if is_network else model.ensemble_.value]
    if name == "categories":
        bins = model._mapper.categories
        arrays += [model.ensemble_.category_set, bins.value, model._categories.text[1]]
    dump = pickle.dumps(model)
    for numbers in arrays:
        start = dump.index(numbers.tobytes())
        for bit in range(0, 8 * numbers.nbytes, 7):
            changed = bytearray(dump)
            changed[start + bit // 8] ^= 1 << bit % 8
            with pytest.raises(ValueError, match="the saved .* is damaged"):
                pickle.loads(bytes(changed))


@pytest.mark.parametrize("name", CHANGES)
def test_a_model_is_loaded_after_its_arrays_were_changed_and_saved_again(name):
    model = pickle.loads(pickle.dumps(saved(name)))
    if hasattr(model, "network_"):
        model.network_.coefs[-1] *= np.float32(2)
    else:
        model.ensemble_.value[...] *= 2
    again, X = pickle.loads(pickle.dumps(model)), table(name)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if name != "MARTClassifier":
        assert (again.predict(X) != saved(name).predict(X)).any()
