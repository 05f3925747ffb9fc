"""``read``: files of search engines become qrels, LETOR files and logs of clicks."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.__main__ import main
from sklearn_ltr.clicks import DynamicBayesianNetwork
from sklearn_ltr.datasets import load_letor, load_qrels
from sklearn_ltr.export import to_json

JUDGED = {"red hat": {"a": 2, "b": 0}, "cap": {"a": 1, "c": 1}}
FEATURES = {("red hat", "a"): (0.1, 3.0), ("red hat", "b"): (None, 0.0)}
FEATURES |= {("cap", "a"): (1e-7, 7.0), ("cap", "d"): (1.0, 1.0)}
LOG = {
    query: {
        "hits": {
            "hits": [
                {
                    "_id": name,
                    "_source": {"sku": name},
                    "fields": {
                        "_ltrlog": [
                            {
                                "main": [
                                    {"name": feature, "value": value}
                                    for feature, value in zip(
                                        ("bm25", "price"), values, strict=True
                                    )
                                ]
                            }
                        ]
                    },
                }
                for (of, name), values in FEATURES.items()
                if of == query
            ]
        }
    }
    for query in JUDGED
}
EVENTS = [
    {"query_id": "s", "user_query": "hat, red", "query_response_hit_ids": ["a", "b"]},
    {"query_id": "s", "action_name": "click", "object_id": "a"},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in (("j", JUDGED), ("log", LOG), ("ubi", EVENTS)):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    return tmp_path


def test_judgements_become_qrels(folder):
    assert main(["read", "j.json", "qrels"]) == 0
    first = "# query 1 = red hat\n# query 2 = cap\n1 0 a 2\n"
    assert (folder / "qrels").read_text().startswith(first)
    assert load_qrels("qrels").groups.tolist() == ["1", "1", "2", "2"]
    (folder / "ids.json").write_text('{"q1": {"a": 1}}')
    assert main(["read", "ids.json", "qrels.gz"]) == 0
    assert load_qrels("qrels.gz").groups.tolist() == ["q1"]


def test_judgements_with_features_become_a_letor_file(folder, capsys):
    options = ["--features", "log.json", "--log", "main", "--id-field", "sku"]
    assert main(["read", "j.json", "train.txt", *options]) == 0
    error = capsys.readouterr().err
    assert error.startswith("left out: 1 judgements without features, first document")
    assert "# feature 2 = price" in (folder / "train.txt").read_text()
    read = load_letor("train.txt")
    np.testing.assert_array_equal(read.data, [[0.1, 3], [np.nan, 0], [1e-7, 7]])
    assert (read.target.tolist(), read.groups.tolist()) == ([2, 0, 1], [1, 1, 2])
    assert read.documents.tolist() == ["a", "b", "a"]
    X = pd.DataFrame(read.data, columns=["bm25", "price"])[["price"]]
    model = LambdaMARTRanker(n_estimators=1, min_samples_leaf=1, subsample=1.0)
    model.fit(X, read.target, groups=read.groups)
    (folder / "m.json").write_text(to_json(model))
    words = ["read", "j.json", "test.txt", "--features", "log.json", "--model"]
    assert main([*words, "m.json"]) == 0
    np.testing.assert_array_equal(load_letor("test.txt").data, read.data[:, 1:])


def test_events_become_a_table_of_clicks(folder):
    assert main(["read", "ubi.json", "clicks.csv", "--ubi"]) == 0
    log = pd.read_csv("clicks.csv")
    assert log.groups.tolist() == ["hat, red"] * 2
    DynamicBayesianNetwork().fit(**log)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("none.json out", "No such file"),
        ("log.json out", "judgments: 'log.json', line 1"),
        ("j.json ubi.json out", "too many inputs: j.json ubi.json"),
        ("j.json out --log main", "--log, --id-field and --model need --features"),
        ("ubi.json out --ubi --features log.json", "leave --features out"),
        (
            "j.json out --features j.json",
            "responses: 'j.json', line 1, query 'red hat'",
        ),
        ("j.json out --features log.json --log x", "has no log 'x' of features, but"),
        ("j.json out --features log.json --model n.json", "n.json has no names of fea"),
        ("space.json out", "documents must hold names without white space"),
        ("space.json out --features spaces.json", "LETOR cannot name 'a b': it has"),
        ("real.json out", "grades must be integers in a file of judgements"),
    ],
)
def test_what_cannot_be_read_is_told(folder, capsys, words, message):
    model = LambdaMARTRanker(n_estimators=1, min_samples_leaf=1, subsample=1.0)
    (folder / "n.json").write_text(
        to_json(model.fit([[1], [2]], [0, 1], groups=[1, 1]))
    )
    (folder / "space.json").write_text('{"q": {"a b": 1}}')
    docs = {"response": {"docs": [{"id": "a b", "[features]": "f=1"}]}}
    (folder / "spaces.json").write_text(json.dumps({"q": docs}))
    (folder / "real.json").write_text('{"q": {"a": 0.5}}')
    assert main(["read", *words.split()]) == 1
    assert message in capsys.readouterr().err
    assert not (folder / "out").exists()
