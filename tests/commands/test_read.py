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
from sklearn_ltr.export import from_json, to_json

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
        ("j.json out --actions buy", "--actions and --impressions need --ubi"),
        (
            "ubi.json out --ubi --grade rating",
            "--query, --document, --grade and --grades need judgements",
        ),
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


def test_what_was_written_is_told(folder, capsys):
    for words, told in (
        (["j.json", "out"], "wrote out: 4 judgements of 2 queries"),
        (["j.json", "out", "--features", "log.json"],
         "wrote out: 3 rows of 2 queries, 2 features"),
        (["ubi.json", "out", "--ubi"], "wrote out: 2 shown documents of 1 lists"),
    ):  # fmt: skip
        assert main(["read", *words]) == 0
        out, error = capsys.readouterr()
        assert (out, error.splitlines()[-1]) == ("", told)  # the output may be a pipe


def test_columns_and_grades_of_labels_are_given_by_options(folder, capsys):
    (folder / "t.csv").write_text(
        "id,search,query_id,sku,esci,Ann,Bob\n0,hat,1,a,E,3,1\n1,hat,1,b,I,0,\n"
    )
    words = ["read", "t.csv", "out", "--document", "sku", "--grade", "esci"]
    assert main([*words, "--grades", "E=3", "I=0"]) == 0
    assert (folder / "out").read_text() == "1 0 a 3\n1 0 b 0\n"
    words = ["read", "t.csv", "out", "--query", "search", "--document", "sku"]
    assert main([*words, "--grade", "Ann", "Bob"]) == 0
    assert (folder / "out").read_text() == "hat 0 a 2\nhat 0 b 0\n"
    capsys.readouterr()
    for more, message in (
        (
            [],
            "has several names for documents, 'id', 'search', 'sku', 'esci', 'Ann', '",
        ),
        ([], "name one by --document"),
        (["--document", "sku"], "or name it by --grade, or a list for the mean of sev"),
        (
            ["--document", "sku", "--grade", "esci"],
            "got 'E': give grades of labels by --",
        ),
        (
            ["--document", "sku", "--grade", "x"],
            "'t.csv' has no 'x': give ",
        ),
    ):
        assert main(["read", "t.csv", "no", *more]) == 1
        assert message in capsys.readouterr().err
    assert not (folder / "no").exists()


def test_other_events_are_given_by_options(folder):
    events = [{"query_id": "s", "user_query": "hat"}]
    events += [
        {"query_id": "s", "action_name": action, "object_id": name, "position": at}
        for action, name, at in (("view", "a", 1), ("view", "b", 2), ("buy", "b", 2))
    ]
    (folder / "e.json").write_text(json.dumps(events))
    words = ["read", "e.json", "clicks.csv", "--ubi", "--actions", "tap", "buy"]
    assert main([*words, "--impressions", "view"]) == 0
    assert pd.read_csv("clicks.csv").clicks.tolist() == [0, 1]


def test_real_grades_become_a_letor_file_and_no_qrels(folder, capsys):
    """Ratings from 0 to 1, of language models and of clicks."""
    (folder / "real.json").write_text('{"red hat": {"a": 0.9, "b": 0.25}}')
    assert main(["read", "real.json", "out"]) == 1
    message = "grades must be integers in a file of judgements, but row 0 (query '1') "
    error = capsys.readouterr().err
    assert message in error and "multiply them; LETOR files hold others" in error
    assert main(["read", "real.json", "out", "--features", "log.json"]) == 0
    assert load_letor("out").target.tolist() == [0.9, 0.25]


def test_names_of_features_that_a_line_cannot_hold_are_refused(folder, capsys):
    for name in ("a\nb", " a", "a\u2028b"):
        features = {"name": name, "value": 1.0}
        hit = {"_id": "a", "fields": {"_ltrlog": [{"main": [features]}]}}
        log = {"red hat": {"hits": {"hits": [hit]}}}
        (folder / "names.json").write_text(json.dumps(log))
        assert main(["read", "j.json", "no", "--features", "names.json"]) == 1
        assert "LETOR cannot name the feature" in capsys.readouterr().err
    assert not (folder / "no").exists()


def test_names_go_with_the_files(folder, capsys):
    words = ["read", "j.json", "train.txt", "--features", "log.json"]
    assert main(words) == 0
    assert load_letor("train.txt").data.feature_names.tolist() == ["bm25", "price"]
    assert main(["train", "train.txt", "--model", "m.json", "--quiet"]) == 0
    model = from_json((folder / "m.json").read_text())
    assert model.feature_names_in_.tolist() == ["bm25", "price"]
    (folder / "plain.txt").write_text(
        "".join(
            line
            for line in (folder / "train.txt").read_text().splitlines(keepends=True)
            if line[0] != "#"
        )
    )
    (folder / "other.txt").write_text(
        (folder / "train.txt").read_text().replace("bm25", "tf")
    )
    capsys.readouterr()
    for file in ("train.txt", "plain.txt"):  # numbers are enough
        assert main(["evaluate", file, "--model", "m.json"]) == 0
        assert capsys.readouterr().err == ""
        assert main(["rank", file, "--model", "m.json", "--run", "run"]) == 0
        valid = ["--valid", file, "--model", "v.json", "--quiet"]
        assert main(["train", "train.txt", *valid]) == 0
        assert main(["train", "plain.txt", *valid]) == 0
        model = from_json((folder / "v.json").read_text())
        assert hasattr(model, "feature_names_in_") is (file == "train.txt")
    message = "feature 1 is 'tf' in other.txt and 'bm25' in "
    for words, source in (
        (["evaluate", "other.txt", "--model", "m.json"], "m.json"),
        (["rank", "other.txt", "--model", "m.json", "--run", "run"], "m.json"),
        (["train", "train.txt", "other.txt", "--model", "x.json"], "train.txt"),
        (["train", "train.txt", "--valid", "other.txt", "--model", "x.json"],
         "train.txt"),
    ):  # fmt: skip
        assert main(words) == 1
        assert f"{message}{source}: write the file again" in capsys.readouterr().err
    (folder / "more.txt").write_text("1 qid:7 1:1 2:2 3:3 # docid = x\n")
    assert main(["train", "train.txt", "more.txt", "--model", "x.json"]) == 1
    assert "train.txt names 2 features, but a file has 3" in capsys.readouterr().err
    assert main(["evaluate", "more.txt", "--model", "m.json"]) == 0  # left out, told
    words = ["read", "j.json", "again.txt", "--features", "log.json", "--model"]
    assert main([*words, "m.json"]) == 0
    assert (folder / "again.txt").read_text() == (folder / "train.txt").read_text()
