"""``train``: its files and options."""

from __future__ import annotations

import pytest

from sklearn_ltr.__main__ import main
from sklearn_ltr.export import from_json

QUIET = ["--quiet", "--model", "m.json"]


def letor(queries, n_features=3):
    """Lines of LETOR in which feature 1 is the grade."""
    return "".join(
        f"{d % 3} qid:{q} 1:{d % 3}"
        + "".join(f" {j}:{(d * j + int(q)) % 7}" for j in range(2, n_features + 1))
        + f" #docid = D{d}\n"
        for q in queries
        for d in range(9)
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_text(letor(range(1, 9)))
    return tmp_path


def failed(capsys, *words, status=1):
    """The last line of an error."""
    if status == 2:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        assert ended.value.code == 2
    else:
        assert main(list(words)) == 1
    out, error = capsys.readouterr()
    assert out == ""
    lines = error.splitlines()
    assert len(lines) == 1 or lines[0].startswith("usage: ")
    return lines[-1]


def test_a_file_may_stand_behind_a_list_of_parameters(folder, capsys):
    words = ["--set", "n_estimators=3", "max_leaf_nodes=4", "t"]
    assert main(["train", *QUIET, *words]) == 0
    model = from_json((folder / "m.json").read_text())
    assert model.n_estimators == 3 and model.max_leaf_nodes == 4


def test_a_file_that_is_missing_is_named(folder, capsys):
    needed = "give one LETOR file to train on, got none"
    assert needed in failed(capsys, "train", *QUIET, status=2)
    words = ["train", *QUIET, "--set", "n_estimators=3", "x"]
    assert f"{needed}; there is no file 'x'" in failed(capsys, *words, status=2)
