"""A saved model scores the same elsewhere; a damaged file of it is an error."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    NewerVersionWarning,
    RankNetRanker,
    __version__,
)
from sklearn_ltr._core.saving import KEY
from sklearn_ltr.clicks import PositionBasedModel, RegressionEM
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import ERR
from tests import files_named
from tests.bad_inputs import INF, NAN, SMALL, N, X, fit, refused
from tests.clicks.logs import columns
from tests.clicks.logs import fit as fit_to_log
from tests.clicks.logs import small as small_log

# --- models whose parts do not fit together -------------------------------------------

#: Returns another value of a part; None: the part is gone
Change = Callable[[Any], Any]
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


def apply(change: Change, holder: Any, path: list[str]) -> None:
    """Change one part of a model, which a path of attributes leads to."""
    name, *rest = path
    parts = vars(holder) if hasattr(holder, "__dict__") else holder
    key = name if isinstance(parts, dict) else int(name)
    if rest:
        apply(change, parts[key], rest)
    elif (value := change(deepcopy(parts[key]))) is None:
        del parts[key]
    else:
        parts[key] = value


def put(place: Any, number: Any) -> Change:
    def change(array: Any) -> Any:
        array[place] = number(array) if callable(number) else number
        return array

    return change


def to(value: Any) -> Change:
    return lambda part: value


def bad_byte(array: Any) -> Any:
    array.view(np.uint8)[0] = 2
    return array


ARRAY: list[Change] = [
    lambda array: array[:-1], lambda array: array[:0], lambda a: a[:, np.newaxis],
    lambda array: array.astype(np.float32),
]  # fmt: skip
LAYER: list[Change] = [
    lambda array: array[:-1], lambda array: array.ravel()[:-1],
    lambda array: array.astype(np.float64), lambda array: array + np.float32(INF),
]  # fmt: skip
GONE = to(None)
NO_TEXT = np.array([], "U1")
OF_TREES: dict[str, list[Change]] = {
    "ensemble_": [to([]), GONE],
    "ensemble_.first_node": [*ARRAY, put(0, 1), put(1, 0), put(1, 10**9)],
    "ensemble_.feature": [  # negative, a leaf, one that X has not, one of numbers
        *ARRAY, put(0, -2), put(0, -1), put(0, 3),
        lambda array: np.where(array == 2, np.int32(1), array),
    ],
    "ensemble_.threshold": [*ARRAY, put(0, NAN)],
    "ensemble_.missing_left": [*ARRAY, bad_byte],
    # a node that is its own child, a child before its parent, a leaf with a child
    "ensemble_.left": [*ARRAY, put(0, 0), put(0, -5), put(-1, 1)],
    # a child twice, one in another tree
    "ensemble_.right": [*ARRAY, put(0, lambda a: a[0] - 1), put(0, 10**6)],
    "ensemble_.value": [
        *ARRAY, put(0, NAN), put(0, INF), lambda a: np.full_like(a, 1e308),
    ],
    "ensemble_.gain": [*ARRAY, put(0, NAN), put(0, -1.0)],
    "ensemble_.n_rows": [*ARRAY, put(0, -1)],
    # a set at a leaf, at no node, at a node with another
    "ensemble_.category_node": [
        *ARRAY, put(-1, 4), put(-1, 10**9), put(0, -1), put(1, lambda a: a[0]),
    ],
    # one that sends the missing elsewhere
    "ensemble_.category_set": [*ARRAY, put((0, 31), lambda a: a[0, 31] ^ 128)],
    "n_features_in_": [to(1), to("4")],
    "n_iter_": [to(7)],
    "_mapper": [GONE],
    "_mapper.bin_thresholds": [
        to(thresholds) for thresholds in (
            [], [np.ones(2)] * 3, [np.array([NAN])] * 3, [np.arange(300.0)] * 3,
            [np.arange(3)] * 3)
    ],
    "_mapper.categories": [GONE],
    "_mapper.categories.feature": [*ARRAY, put(1, 3), put(1, 0)],
    "_mapper.categories.first": [*ARRAY, put(1, 99)],
    "_mapper.categories.value": [*ARRAY, put(0, 1.0), put(-1, NAN)],
    "_mapper.categories.bin": [*ARRAY, put(0, 7), put(-1, 255)],
    "_mapper.categories.mean_threshold": [lambda a: a[1:], put((0, 0), NAN)],
    "_mapper.categories.shared_from": [*ARRAY, put(0, 2), put(0, -1)],
    "_categories": [GONE],
    "_categories.feature": [to(np.array([0, 1]))],
    "_categories.text": [to([]), to([NO_TEXT, np.array(["b", "a", "c"])])],
    "_categories.is_text": [to(np.array([1, 1]))],
    "_seed": [GONE],
    "base_score_": [GONE, to(NAN), to("0")],
}  # fmt: skip
OF_A_NETWORK: dict[str, list[Change]] = {
    "network_": [GONE],
    "network_.coefs": [lambda layers: layers[:-1]],
    "network_.coefs.0": LAYER,
    "network_.coefs.1": LAYER,
    "network_.intercepts": [lambda layers: layers[:-1]],
    "network_.intercepts.0": LAYER,
    "network_.activation": [to("rely")],
    "n_features_in_": [to(5)],
    "_sigma": [GONE, to(0.0)],
    "_optimizer": [GONE, to(3)],
    "_optimizer.rate": [GONE, to(NAN), to("0.1")],
    "_optimizer.velocities": [lambda parts: parts[:-1]],
    "_optimizer.velocities.0": LAYER,
}
#: The trees of categories have all that others have, the network of sgd too
CHANGES: dict[str, dict[str, list[Change]]] = {
    "categories": OF_TREES,
    "LambdaMARTRanker": {"init_": [GONE], "_uses_init_score": [GONE]},
    "MARTClassifier": {
        "classes_": [GONE, to(np.array([1]))], "_sigma": [GONE, to("1")],
    },
    "LambdaRankRanker": {
        "_optimizer.moments": [lambda moments: moments[:-1]],
        "_optimizer.moments.0": LAYER,
        "_optimizer.n_steps": [to(-1)],
    },
    "sgd": OF_A_NETWORK,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "path", "change"),
    [
        pytest.param(name, path, change, id=f"{path} of {name}, {number}")
        for name, changes in CHANGES.items()
        for path, several in changes.items()
        for number, change in enumerate(several)
    ],
)
def test_a_model_whose_parts_do_not_fit_together_is_refused(name, path, change):
    model = deepcopy(saved(name))
    apply(change, model, path.split("."))
    dump = pickle.dumps(model)
    refused(lambda: pickle.loads(dump), ValueError, "is damaged (")


# --- another process ------------------------------------------------------------------

NAMES = [*CHANGES, "RankNetRanker", "MARTRegressor", "BaggingRanker", "BlendedRanker",
         "CalibratedRanker", "RankerSearch"]  # fmt: skip


def table(name: str) -> Any:
    return CATEGORIES if name == "categories" else X


# Not in this process: numpy, too, has no use for some files with a flipped bit.
LOAD_AND_FLIP_BITS = """
import json, pickle, random, sys, warnings
from pathlib import Path
import joblib, numpy as np, pandas

try:
    import resource  # a flipped length may ask pickle for all memory
    resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
except ImportError:
    pass
folder, counts = Path(sys.argv[1]), {}
warnings.simplefilter("error")
for file in sorted(folder.glob("*.joblib")):
    X, scores = pickle.loads(file.with_suffix(".data").read_bytes())
    assert joblib.load(file).predict(X).tobytes() == scores.tobytes()
warnings.simplefilter("ignore")  # "saved by a newer version"
for file in sorted(folder.glob("*.pickle")):
    saved, rng = file.read_bytes(), random.Random(0)
    X, scores = pickle.loads(file.with_suffix(".data").read_bytes())
    assert pickle.loads(saved).predict(X).tobytes() == scores.tobytes()
    outcomes = counts[file.stem] = {"refused": 0, "same": 0, "other": 0}
    for _ in range(80):
        changed = bytearray(saved)
        changed[rng.randrange(len(saved))] ^= 1 << rng.randrange(8)
        try:
            found = pickle.loads(bytes(changed)).predict(X)
        except Exception:
            outcomes["refused"] += 1
            continue
        outcomes["same" if np.array_equal(found, scores) else "other"] += 1
print(json.dumps(counts))
"""


def test_another_process_of_one_thread_scores_the_same_or_refuses_flipped_bits(
    tmp_path,
):
    for name in NAMES:
        model = saved(name)
        data = table(name), model.predict(table(name))
        (tmp_path / f"{name}.data").write_bytes(pickle.dumps(data))
        (tmp_path / f"{name}.pickle").write_bytes(pickle.dumps(model))
        joblib.dump(model, tmp_path / f"{name}.joblib")
    settings = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", LOAD_AND_FLIP_BITS, str(tmp_path)],
        capture_output=True, text=True, timeout=300, env=os.environ | settings,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-2000:]
    counts = json.loads(answer.stdout)
    assert sorted(counts) == sorted(NAMES)
    for outcomes in counts.values():
        assert outcomes["other"] == 0
        # of 80 changes; some are of names, or of numbers that no score depends on
        assert min(outcomes["refused"], outcomes["same"]) > 3


# --- numbers of saved models, each changed alone --------------------------------------


def more_models() -> dict[str, Any]:
    """Return models that hold what those of CHANGES do not."""
    shown = {"positions": np.arange(N)}
    log = small_log()
    regression = RegressionEM(LogisticRegression(), max_iter=2, tol=1.0)
    return {
        "BaggingRanker": saved("BaggingRanker"),
        "BlendedRanker": saved("BlendedRanker"),
        "CalibratedRanker": saved("CalibratedRanker"),
        "RankerSearch": saved("RankerSearch"),
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
        if key == KEY or is_checked(value) or isinstance(value, type):
            continue
        if isinstance(value, str) and value == __version__:
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


@pytest.mark.parametrize("name", [*NAMES[:-2], "others"])
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


@pytest.mark.parametrize("name", ["sgd", "categories", "LambdaMARTRanker"])
def test_a_model_is_loaded_after_its_arrays_were_changed_and_saved_again(name):
    model = pickle.loads(pickle.dumps(saved(name)))
    if hasattr(model, "network_"):
        model.network_.coefs[-1] *= np.float32(2)
    else:
        model.ensemble_.value[...] *= 2
    again, X = pickle.loads(pickle.dumps(model)), table(name)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert (again.predict(X) != saved(name).predict(X)).any()


# --- names and versions in a file -----------------------------------------------------


class Names(pickle.Unpickler):
    """A reader of a pickle that keeps the modules in it."""

    def __init__(self, model):
        super().__init__(io.BytesIO(pickle.dumps(model)))
        self.modules = set()

    def find_class(self, module, name):
        self.modules.add(module)
        return super().find_class(module, name)


@pytest.mark.parametrize("name", NAMES)
def test_saved_models_name_only_classes_whose_place_stays(name):
    """A public module, or `_saved`: not a file that may move."""
    reader = Names(saved(name))
    reader.load()
    ours = {module for module in reader.modules if "sklearn_ltr" in module}
    private = {module for module in ours if "._" in module}
    assert ours and private <= {"sklearn_ltr._saved"}


def saved_by(model: Any, number: str) -> bytes:
    """Return the model's pickle as version `number` would have written it."""
    file = pickle.dumps(model)
    assert file.count(__version__.encode()) == 1
    assert len(number) == len(__version__)
    return file.replace(__version__.encode(), number.encode())


@pytest.mark.parametrize(
    ("ranker", "number"),
    [
        (LambdaMARTRanker, "0.3.1"),
        (LambdaRankRanker, "0.4.0"),
        (RankNetRanker, "9.1.0"),
    ],
)
def test_only_loading_a_file_of_a_newer_version_warns(ranker, number):
    file = saved_by(ranker(), number)
    message = (
        f"{ranker.__name__} was saved by sklearn_ltr {number}.*older {__version__}"
    )
    with pytest.warns(NewerVersionWarning, match=message) as caught:
        again = pickle.loads(file)
    assert files_named(caught, __file__) == [__file__]
    assert again.get_params().keys() == ranker().get_params().keys()
    assert not any("version" in attribute for attribute in vars(again))
    for number in ("0.0.9", "0.1.0", __version__):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pickle.loads(saved_by(ranker(), number))


@pytest.mark.parametrize("ranker", [LambdaMARTRanker, LambdaRankRanker])
def test_a_model_of_another_version_that_cannot_be_read_says_so(ranker):
    state = saved(ranker.__name__).__getstate__() | {"_sklearn_ltr_version": "0.0.9"}
    del state["n_features_in_"]
    with pytest.raises(ValueError, match=r"saved by sklearn_ltr 0\.0\.9.*fit it again"):
        ranker().__setstate__(state)


def test_skops_loads_rankers_and_warns_of_newer_files_too(monkeypatch):
    skops = pytest.importorskip("skops.io")
    for name in NAMES:
        model = saved(name)
        file = skops.dumps(model)
        trusted = skops.get_untrusted_types(data=file)
        if name in ("LambdaMARTRanker", "RankNetRanker"):
            # the types of another of its kind
            other = skops.dumps(fit(type(model)))
            assert skops.get_untrusted_types(data=other) == trusted
        again = skops.loads(file, trusted=trusted)
        expected = model.predict(table(name))
        assert again.predict(table(name)).tobytes() == expected.tobytes()
        assert again.get_params().keys() == model.get_params().keys()
    with monkeypatch.context() as patch:
        patch.setattr("sklearn_ltr._core.estimators.base.VERSION", "7.0.0")
        file = skops.dumps(model)
    with pytest.warns(NewerVersionWarning, match="7.0.0"):
        skops.loads(file, trusted=skops.get_untrusted_types(data=file))
