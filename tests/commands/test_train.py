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


def n_features(folder):
    return from_json((folder / "m.json").read_text()).n_features_in_


def test_the_number_of_features_is_given(folder, capsys):
    assert main(["train", "t", *QUIET, "--n-features", "5"]) == 0
    assert n_features(folder) == 5
    for command in (["rank", "t", "--run", "r"], ["evaluate", "t"]):
        assert main([*command, "--model", "m.json", "--n-features", "5"]) == 0
        capsys.readouterr()
        error = failed(capsys, *command, "--model", "m.json", "--n-features", "4")
        assert "--n-features 4: the model m.json has 5" in error
    error = failed(capsys, "train", "t", *QUIET, "--n-features", "2")
    assert (
        "line 1: feature 3 is beyond --n-features 2, of which the first is 1" in error
    )
    error = failed(capsys, "train", "t", *QUIET, "--n-features", "9" * 18)
    assert f"--n-features {'9' * 18} makes a table of 72 x" in error
    for wrong in ("0", "-1", "x", "2.5", "1e3", ""):
        words = ["train", "t", *QUIET, "--n-features", wrong]
        assert "must be an integer >= 1" in failed(capsys, *words, status=2)


def test_features_may_be_numbered_from_zero(folder, capsys):
    zero = letor(range(1, 9)).replace(" 3:", " 4:").replace(" 1:", " 0:")
    (folder / "z").write_text(zero)
    error = failed(capsys, "train", "z", *QUIET)
    assert "line 1: feature 0 is below 1: give --zero-based yes if the file" in error
    for option in ("yes", "auto"):
        assert main(["train", "z", *QUIET, "--zero-based", option]) == 0
        assert n_features(folder) == 5
        assert capsys.readouterr().err == ""
    # all files are numbered alike, also one that lists no feature 0
    words = ["train", "z", *QUIET, "--valid", "t", "--zero-based", "auto"]
    assert main(words) == 0
    assert n_features(folder) == 5 and capsys.readouterr().err == ""
    error = failed(capsys, *words, "--n-features", "3")
    assert "feature 4 is beyond --n-features 3, of which the first is 0" in error
    (folder / "f").write_text(letor(range(1, 9), n_features=5))
    words = ["train", "z", *QUIET, "--valid", "f", "--zero-based", "auto"]
    error = failed(capsys, *words, "--n-features", "5")
    assert "f: feature 5 is beyond --n-features 5, of which the first is 0" in error
    # features of which the model knows none are named as the file does
    words = ["evaluate", "f", "--model", "m.json", "--zero-based", "yes"]
    assert main(words) == 0
    assert "features 5 to 5 are left out" in capsys.readouterr().err
    wrong = [*words[:-1], "True"]
    assert "invalid choice: 'True'" in failed(capsys, *wrong, status=2)


def test_numbers_that_may_begin_at_zero_are_said_to_begin_at_one(folder, capsys):
    assert main(["train", "t", *QUIET, "--zero-based", "auto"]) == 0
    assert n_features(folder) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("t: the features are taken to be numbered from 1")
    assert line.endswith("give --zero-based yes")


def test_options_of_features_say_nothing_to_a_run(folder, capsys):
    for option in (["--n-features", "3"], ["--zero-based", "auto"]):
        error = failed(capsys, "evaluate", "q", "r", *option, status=2)
        assert "--n-features and --zero-based are about files of a --model" in error
