"""A saved model scores the same wherever it is loaded, and knows who saved it."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    NewerVersionWarning,
    RankNetRanker,
    __version__,
)
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import ERR

DATA = make_ranking(n_queries=12, random_state=0)
RANKERS = {
    "trees": LambdaMARTRanker(metric=ERR(5), n_estimators=4, random_state=0),
    "lambdarank": LambdaRankRanker(max_iter=2, random_state=0),
    "ranknet": RankNetRanker(max_iter=2, solver="sgd", random_state=0),
}
every_ranker = pytest.mark.parametrize("name", RANKERS)

LOAD_AND_SCORE = """
import pickle, sys
from pathlib import Path
import joblib, numpy as np
folder = Path(sys.argv[1])
X = np.load(folder / "X.npy")
for file in sorted(folder.glob("*.joblib")):
    np.save(f"{file}.scores.npy", joblib.load(file).predict(X))
for file in sorted(folder.glob("*.pickle")):
    scores = pickle.loads(file.read_bytes()).predict(X)
    np.save(f"{file}.scores.npy", scores)
"""


def fitted(name):
    return RANKERS[name].fit(DATA.data, DATA.target, groups=DATA.groups)


def saved_by(ranker, number):
    """Return the ranker's pickle as version `number` would have written it."""
    saved = pickle.dumps(ranker)
    assert saved.count(__version__.encode()) == 1
    assert len(number) == len(__version__)
    return saved.replace(__version__.encode(), number.encode())


def test_a_model_scores_the_same_in_another_process_of_one_thread(tmp_path):
    settings = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    np.save(tmp_path / "X.npy", DATA.data)
    expected = {}
    for name in RANKERS:
        ranker = fitted(name)
        joblib.dump(ranker, tmp_path / f"{name}.joblib")
        (tmp_path / f"{name}.pickle").write_bytes(pickle.dumps(ranker))
        expected[name] = ranker.predict(DATA.data).tobytes()
    command = [sys.executable, "-W", "error", "-c", LOAD_AND_SCORE, str(tmp_path)]
    subprocess.run(command, check=True, env=os.environ | settings)
    files = list(tmp_path.glob("*.scores.npy"))
    assert len(files) == 2 * len(RANKERS)
    for file in files:
        assert np.load(file).tobytes() == expected[file.name.split(".")[0]]


@every_ranker
def test_skops_loads_a_ranker_with_the_types_of_another_of_its_kind(name):
    skops = pytest.importorskip("skops.io")
    trusted = skops.get_untrusted_types(data=skops.dumps(fitted(name)))
    ranker = fitted(name)
    again = skops.loads(skops.dumps(ranker), trusted=trusted)
    assert again.predict(DATA.data).tobytes() == ranker.predict(DATA.data).tobytes()
    assert again.get_params().keys() == ranker.get_params().keys()


class Names(pickle.Unpickler):
    """A reader of a pickle that keeps the classes in it."""

    def __init__(self, saved):
        super().__init__(io.BytesIO(saved))
        self.classes = set()

    def find_class(self, module, name):
        self.classes.add((module, name))
        return super().find_class(module, name)


def saved_models():
    """Yield one model of each kind of state that is saved."""
    X, y, groups = DATA.data, DATA.target, DATA.groups
    trees, network = RANKERS["trees"], RANKERS["ranknet"]
    text = np.array(["a", "b"])[(X[:, 0] > 0).astype(int)]
    table = pd.DataFrame({"text": pd.Categorical(text), "number": X[:, 1]})
    yield from (clone(ranker).fit(X, y, groups=groups) for ranker in RANKERS.values())
    yield clone(trees).fit(table, y, groups=groups)
    yield BaggingRanker(trees, n_estimators=2).fit(X, y, groups=groups)
    yield BlendedRanker([trees, network], cv=2).fit(X, y, groups=groups)
    yield MARTRegressor(n_estimators=2).fit(X, y)
    yield MARTClassifier(n_estimators=2).fit(X, y > 0)


def test_saved_models_name_only_classes_whose_place_stays():
    """A public module, or `_saved`: not a file that may move."""
    for model in saved_models():
        reader = Names(pickle.dumps(model))
        reader.load()
        ours = {module for module, _ in reader.classes if "sklearn_ltr" in module}
        private = {module for module in ours if "._" in module}
        assert ours and private <= {"sklearn_ltr._saved"}, type(model).__name__


@pytest.mark.parametrize(
    ("name", "number"),
    [("trees", "0.3.1"), ("lambdarank", "0.4.0"), ("ranknet", "9.1.0")],
)
def test_loading_a_file_of_a_newer_version_warns(name, number):
    saved = saved_by(RANKERS[name], number)
    message = f"{type(RANKERS[name]).__name__} was saved by sklearn_ltr {number}"
    with pytest.warns(NewerVersionWarning, match=message) as caught:
        again = pickle.loads(saved)
    assert len(caught) == 1
    assert f"older {__version__}" in str(caught[0].message)
    assert again.get_params().keys() == RANKERS[name].get_params().keys()
    assert not any("version" in attribute for attribute in vars(again))


@pytest.mark.parametrize("number", ["0.0.9", "0.1.0"])
def test_loading_a_file_of_an_older_or_the_same_version_does_not_warn(number):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.loads(saved_by(RANKERS["trees"], number))


@pytest.mark.parametrize("name", ["trees", "lambdarank"])
def test_a_model_of_another_version_that_cannot_be_read_says_so(name):
    state = fitted(name).__getstate__() | {"_sklearn_ltr_version": "0.0.9"}
    del state["n_features_in_"]
    ranker = RANKERS[name].__class__()
    with pytest.raises(ValueError, match=r"saved by sklearn_ltr 0\.0\.9.*fit it again"):
        ranker.__setstate__(state)


def test_skops_warns_of_a_newer_file_too(monkeypatch):
    skops = pytest.importorskip("skops.io")
    with monkeypatch.context() as patch:
        patch.setattr("sklearn_ltr._estimators.base.VERSION", "7.0.0")
        saved = skops.dumps(fitted("trees"))
    with pytest.warns(NewerVersionWarning, match="7.0.0"):
        skops.loads(saved, trusted=skops.get_untrusted_types(data=saved))
