"""``convert``: the requests of search engines, and the options of formats."""

from __future__ import annotations

import json

import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.__main__ import main
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.export import (
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
