"""``convert``: the requests of search engines, and the options of formats."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.__main__ import main
from sklearn_ltr._commands.files import WRITERS
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.export import (
    from_tree_model,
    to_elasticsearch_ltr,
    to_elasticsearch_ml,
    to_json,
    to_solr,
    to_tree_model,
)

DATA = make_ranking(20, n_features=4, n_informative=2, random_state=0)
RANKER = LambdaMARTRanker(n_estimators=2, random_state=0)
RANKER.fit(DATA.data, DATA.target, groups=DATA.groups)
NAMES = [feature.name for feature in to_tree_model(RANKER).features]
FEATURES = {name: {"match": {"title": f"{{{{{name}}}}} é"}} for name in NAMES}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.json").write_text(to_json(RANKER))
    (tmp_path / "f.json").write_text(json.dumps(FEATURES))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "write", "options"),
    [
        (
            "elasticsearch --name mine --feature-set shop",
            to_elasticsearch_ltr,
            {"name": "mine", "feature_set": "shop"},
        ),
        (
            "elasticsearch --name mine --feature-set shop --features f.json",
            to_elasticsearch_ltr,
            {"name": "mine", "feature_set": "shop", "features": FEATURES},
        ),
        (
            "elasticsearch --name mine --feature-set shop --engine opensearch-3.5",
            to_elasticsearch_ltr,
            {"name": "mine", "feature_set": "shop", "engine": "opensearch-3.5"},
        ),
        (
            "elasticsearch-ml --name mine --features f.json",
            to_elasticsearch_ml,
            {"name": "mine", "features": FEATURES},
        ),
        ("solr --name mine", to_solr, {"name": "mine"}),
        (
            "solr --name mine --store shop --missing zero --features f.json",
            to_solr,
            {"name": "mine", "store": "shop", "missing": "zero", "features": FEATURES},
        ),
    ],
)
def test_requests_of_search_engines_are_those_of_python(folder, words, write, options):
    assert main(["convert", "m.json", "out", "--to", *words.split()]) == 0
    requests = json.loads((folder / "out").read_text(encoding="utf-8"))
    assert requests == [request._asdict() for request in write(RANKER, **options)]


NEEDED = {
    "elasticsearch": ["--name", "m", "--feature-set", "f"],
    "elasticsearch-ml": ["--name", "m", "--features", "f.json"],
    "solr": ["--name", "m"],
}


@pytest.mark.parametrize("name", [n for n in WRITERS if n not in ("json", "pickle")])
def test_every_format_of_another_program_takes_missing_values_for_0(folder, name):
    if name == "onnx":
        pytest.importorskip("onnx")
    model = imputed()
    (folder / "m.pkl").write_bytes(pickle.dumps(model))
    (folder / "m.json").write_text(to_json(model[-1]))
    words = ["--to", name, *NEEDED.get(name, [])]
    zero = ["convert", "m.json", "zero", *words, "--missing", "zero"]
    assert main(zero) == 0
    assert main(["convert", "m.pkl", "imputed", "--from", "pickle", *words]) == 0
    assert name in ("onnx", "solr") or (  # which write the same otherwise
        (folder / "zero").read_bytes() == (folder / "imputed").read_bytes()
    )
    if name != "ranklib":
        assert main(["convert", "m.json", "branch", *words]) == 0
        assert (folder / "zero").read_bytes() != (folder / "branch").read_bytes()


def imputed():
    """Return an imputer of zeros, and trees that send missing values right."""
    imputer = SimpleImputer(strategy="constant", fill_value=0)
    ranker = LambdaMARTRanker(n_estimators=2, max_leaf_nodes=4, random_state=0)
    X = np.where(DATA.data < -0.5, np.nan, DATA.data)
    pipeline = make_pipeline(imputer, ranker)
    pipeline.fit(X, DATA.target, lambdamartranker__groups=DATA.groups)
    described = to_tree_model(pipeline[-1]).with_missing_as(np.inf)
    pipeline.steps[-1] = ("ranker", from_tree_model(described))
    return pipeline


TWICE = '{"a": {}, "b": {}, "a": {}}'


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        ("elasticsearch", "", "--to elasticsearch needs --name and --feature-set"),
        ("elasticsearch --name x", "", "--to elasticsearch needs --feature-set"),
        ("elasticsearch-ml --name x", "", "--to elasticsearch-ml needs --features"),
        ("solr", "", "--to solr needs --name"),
        ("solr --name x --feature-set y", "", "--feature-set does not apply to the"),
        ("elasticsearch --store y", "", "--store does not apply to the format elast"),
        ("json --name x", "", "--name does not apply to the format json"),
        ("solr --name x --features none.json", "", "'none.json'"),
        ("solr --name x --features g", "{", "--features g must be a JSON object"),
        ("solr --name x --features g", "[" * 99999, "--features g must be a JSON obj"),
        ("solr --name x --features g", "[1]", "a JSON object, {"),
        ("solr --name x --features g", TWICE, "'a' is given twice in one object: "),
        ("solr --name x --features g", '{"a": {}}', "4 are missing"),
        ("solr --name x --features g", "{}", "4 are missing"),
        ("solr --name x --features g", json.dumps(dict.fromkeys(NAMES, 1)), "a dict"),
    ],
)
def test_what_a_format_needs_or_does_not_take_is_named(
    folder, capsys, words, text, message
):
    (folder / "g").write_text(text)
    assert main(["convert", "m.json", "out", "--to", *words.split()]) == 1
    out, error = capsys.readouterr()
    (line,) = error.splitlines()
    assert line.startswith("python -m sklearn_ltr convert: error: ")
    assert message in line and out == ""
    assert not (folder / "out").exists()


def test_an_empty_name_is_refused(folder, capsys):
    words = ["convert", "m.json", "out", "--to", "solr", "--name", ""]
    assert main(words) == 1
    assert "name must be text and not empty, got ''" in capsys.readouterr().err


def test_what_ranklib_needs_is_named_by_its_option(folder, capsys):
    (folder / "m.json").write_text(to_json(imputed()[-1]))
    assert main(["convert", "m.json", "out", "--to", "ranklib"]) == 1
    error = capsys.readouterr().err
    assert "give --missing zero if the data" in error
