"""What holds for every writer and reader, as `export.__all__` lists them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, export
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.model_selection import RankerSearch
from tests.export.models import GROUPS, TREES, grades, numbers

X, Y = np.nan_to_num(numbers()[:, :4]), grades(numbers())
NAMES = [f"Column_{j}" for j in range(X.shape[1])]
GIVEN: dict[str, Any] = {
    "name": "m",
    "feature_set": "f",
    "features": {name: {} for name in NAMES},
    "missing": "zero",
}
WRITERS = [name for name in export.__all__ if name.startswith("to_")]
READERS = [name for name in export.__all__ if name.startswith("from_")]
OF_NETWORKS = {"to_elasticsearch_ltr", "to_json", "to_onnx", "to_solr"}
OF_BAGS = {"to_json", "to_onnx"}
OWN = {"to_json", "to_tree_model"}  # which keep what other formats have no place for
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "deploying.md"
each_writer = pytest.mark.parametrize("name", WRITERS)


def write(name: str, model: Any) -> Any:
    """Write a model, with the arguments that this writer takes."""
    writer = getattr(export, name)
    taken = GIVEN.keys() & inspect.signature(writer).parameters.keys()
    return writer(model, **{argument: GIVEN[argument] for argument in taken})


def trees(**parameters: Any) -> LambdaMARTRanker:
    return LambdaMARTRanker(**TREES | {"n_estimators": 2}, **parameters)


def fitted(model: Any, **given: Any) -> Any:
    return model.fit(X, Y, groups=GROUPS, **given)


@each_writer
def test_every_writer_takes_trees_and_nothing_that_is_not_fitted(name):
    assert write(name, fitted(trees())) is not None
    with pytest.raises(NotFittedError, match="not fitted"):
        write(name, trees())


@each_writer
def test_every_writer_refuses_what_it_cannot_hold_and_says_what_to_do(name):
    bag = fitted(BaggingRanker(trees(), n_estimators=2))
    if name in OF_BAGS:
        assert write(name, bag) is not None
    else:
        with pytest.raises(TypeError, match=r"give its merge\(\)"):
            write(name, bag)
    with pytest.raises(TypeError, match="give its ranker_, whose scores are the same"):
        write(name, fitted(CalibratedRanker(trees(), cv=2)))
    with pytest.raises(TypeError, match="give its best_estimator_, which with blend"):
        write(name, fitted(RankerSearch(trees(), n_iter=1, cv=2)))
    with pytest.raises(TypeError, match="models of boosted trees"):
        write(name, Ridge().fit(X, Y))
    with pytest.raises(ValueError, match="add its scores as a feature"):
        write(name, fitted(trees(init=Ridge())))
    pipeline = make_pipeline(PCA(2), LambdaRankRanker(max_iter=1))
    pipeline.fit(X, Y, lambdarankranker__groups=GROUPS)
    message = "the step 'pca' of the Pipeline is a PCA|steps that trees cannot hold"
    with pytest.raises(TypeError, match=message):
        write(name, pipeline)


@each_writer
def test_every_writer_but_our_own_refuses_trees_on_an_init_score(name):
    model = fitted(trees(), init_score=np.zeros(len(X)))
    if name in OWN:
        assert write(name, model) is not None
        return
    with pytest.raises(ValueError, match="other formats cannot"):
        write(name, model)


@each_writer
def test_every_writer_takes_or_refuses_networks(name):
    linear = LambdaRankRanker(hidden_layer_sizes=(), max_iter=1, random_state=0)
    network = make_pipeline(StandardScaler(), linear)
    network.fit(X, Y, lambdarankranker__groups=GROUPS)
    if name in OF_NETWORKS:
        assert write(name, network) is not None
        return
    by = ": a network is written by to_onnx, to_json and to_solr, without hidden layers"
    with pytest.raises(TypeError, match=f"steps that trees cannot hold{by}"):
        write(name, network)
    with pytest.raises(TypeError, match=f"boosted trees, got LambdaRankRanker{by}"):
        write(name, network[-1])


@pytest.mark.parametrize("name", READERS)
def test_every_reader_refuses_what_is_no_model(name):
    reader = getattr(export, name)
    if name == "from_tree_model":
        return  # whose argument is typed
    for text in ("{}", '{\n"a": 1}', b"tree\n", b"\x00\xff"):
        with pytest.raises(ValueError, match="."):
            reader(text)


def test_every_writer_and_reader_has_a_row_in_the_guide():
    rows = re.findall(r"^\|.*\|$", GUIDE.read_text(encoding="utf-8"), flags=re.M)
    named = {name for row in rows for name in re.findall(r"`((?:to|from)_\w+)`", row)}
    ours = {"from_tree_model", "to_tree_model"}
    assert named == {*WRITERS, *READERS} - ours
