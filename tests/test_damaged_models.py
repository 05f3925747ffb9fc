"""A damaged file of a model is an error, neither a crash nor another model."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from sklearn_ltr import RankNetRanker
from sklearn_ltr.mart import MARTRegressor
from tests.bad_inputs import OF_TREES, RANKERS, TREES, N, X, fit

CODES = np.arange(N)
CATEGORIES = pd.DataFrame(
    {
        "code": pd.Categorical(CODES % 7),
        "number": X[:, 0],
        "word": pd.Categorical(np.array(["one", "two", "three"])[CODES % 3]),
    }
)
PICKLES = {
    **{one.__name__: fit(one, n_jobs=1) for one in dict.fromkeys(RANKERS + OF_TREES)},
    "sgd": fit(RankNetRanker, solver="sgd"),
    "categories": MARTRegressor(**TREES, category_smoothing=0.0).fit(
        CATEGORIES, CODES % 7 % 2 + CODES % 3 % 2 * 0.5
    ),
}
TABLES = {name: CATEGORIES if name == "categories" else X for name in PICKLES}

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
    (tmp_path / "tables").write_bytes(pickle.dumps(TABLES))
    for name, model in PICKLES.items():
        (tmp_path / f"{name}.pickle").write_bytes(pickle.dumps(model))
    answer = subprocess.run(
        [sys.executable, "-c", FLIP_BITS, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    counts = json.loads(answer.stdout)
    assert counts.keys() == PICKLES.keys()
    for outcomes in counts.values():
        assert outcomes["bad"] == 0
        assert outcomes["other"] <= 5  # the initial score of MART has no checksum
        assert min(outcomes["refused"], outcomes["same"]) > 40


@pytest.mark.parametrize("name", PICKLES)
def test_a_flipped_bit_of_the_numbers_of_a_model_is_found(name):
    model = PICKLES[name]
    is_network = hasattr(model, "network_")
    arrays = [model.network_.coefs[0] if is_network else model.ensemble_.value]
    if name == "categories":
        bins = model._mapper.categories
        arrays += [model.ensemble_.category_set, bins.value, model._categories.text[1]]
    saved = pickle.dumps(model)
    for numbers in arrays:
        start = saved.index(numbers.tobytes())
        for bit in range(0, 8 * numbers.nbytes, 7):
            changed = bytearray(saved)
            changed[start + bit // 8] ^= 1 << bit % 8
            with pytest.raises(ValueError, match="the saved .* is damaged"):
                pickle.loads(bytes(changed))


@pytest.mark.parametrize("name", PICKLES)
def test_a_model_is_loaded_after_its_arrays_were_changed_and_saved_again(name):
    model = pickle.loads(pickle.dumps(PICKLES[name]))
    if hasattr(model, "network_"):
        model.network_.coefs[-1] *= np.float32(2)
    else:
        model.ensemble_.value[...] *= 2
    again, X = pickle.loads(pickle.dumps(model)), TABLES[name]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if name != "MARTClassifier":
        assert (again.predict(X) != PICKLES[name].predict(X)).any()
