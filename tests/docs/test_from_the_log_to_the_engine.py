"""The road from the log of an engine to the upload, as the pages say it."""

from __future__ import annotations

import json
import shlex

import pytest

from sklearn_ltr.__main__ import main
from tests.docs.installation import only
from tests.docs.test_readme_and_examples import ROOT, fenced

GUIDE = ROOT / "docs" / "guide"
NAMES = ["title_bm25", "body_bm25", "price", "clicks"]


def block_with(words, page):
    """Return the only block of a page that has some words."""
    (found,) = (code for code in fenced("python", page) if words in code)
    return found


@pytest.mark.parametrize("extras", [frozenset(), frozenset({"examples"})])
def test_the_pages_lead_from_the_log_to_the_upload(extras, capsys):
    names: dict[str, object] = {"__name__": "page"}
    with only(extras):
        for code in fenced("python", GUIDE / "search_engines.md"):
            exec(compile(code, "search_engines.md", "exec"), names)
        assert names["ranker"].feature_names_in_.tolist() == NAMES
        capsys.readouterr()
        names["trees"] = names["ranker"]
        deploying = GUIDE / "deploying.md"
        for words in (
            "for request in to_elasticsearch_ltr(",
            "to_elasticsearch_ml(trees",
            "for request in to_solr(",
            "to_vespa(trees",
        ):
            exec(compile(block_with(words, deploying), words, "exec"), names)
        printed = capsys.readouterr().out
    assert "POST /_ltr/_featureset/my_features/_createmodel" in printed
    assert "PUT /schema/model-store" in printed
    for request in (names["request"].body, names["text"]):
        text = request if isinstance(request, str) else json.dumps(request)
        assert "title_bm25" in text and "Column_" not in text


def test_the_commands_lead_from_the_log_to_the_upload(tmp_path, monkeypatch, capsys):
    names: dict[str, object] = {"__name__": "page"}
    exec(fenced("python", GUIDE / "search_engines.md")[0], names)  # writes the files
    features = {name: {"match": {"title": "{{keywords}}"}} for name in NAMES}
    (tmp_path / "features.json").write_text(json.dumps(features))
    for name in ("judgments.json", "log.json"):
        (tmp_path / name).write_bytes((names["folder"] / name).read_bytes())
    program = "\n".join(fenced("sh", GUIDE / "search_engines.md"))
    lines = program.replace("\\\n", "").splitlines()
    lines = [line for line in lines if line and "--ubi" not in line]
    assert [line.split()[3] for line in lines] == ["read", "read", "train", "convert"]
    monkeypatch.chdir(tmp_path)
    for line in lines:
        assert line.startswith("python -m sklearn_ltr ")
        assert main(shlex.split(line)[3:]) == 0
    told = capsys.readouterr().err
    assert "wrote qrels.txt: " in told
    assert "wrote train.txt: " in told and ", 4 features" in told
    requests = json.loads((tmp_path / "requests.json").read_text())
    listed = requests[0]["body"]["featureset"]["features"]
    assert [feature["name"] for feature in listed] == NAMES
    upload = json.dumps(requests[1])
    assert "title_bm25" in upload and "Column_" not in upload
