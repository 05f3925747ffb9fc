"""``train``: its files and options."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.__main__ import main
from sklearn_ltr.datasets import load_letor
from sklearn_ltr.export import from_json
from sklearn_ltr.metrics import map_score

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
    needed = "give the LETOR files to train on, got none"
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
        "line 1: feature 3 is beyond --n-features 2, counted from 1: raise it" in error
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
    assert "feature 4 is beyond --n-features 3, counted from 0" in error
    (folder / "f").write_text(letor(range(1, 9), n_features=5))
    words = ["train", "z", *QUIET, "--valid", "f", "--zero-based", "auto"]
    error = failed(capsys, *words, "--n-features", "5")
    assert "f: feature 5 is beyond --n-features 5, counted from 0" in error
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
    for option in (["--n-features", "3"], ["--zero-based", "auto"], ["--sizes", ".q"]):
        error = failed(capsys, "evaluate", "q", "r", *option, status=2)
        assert "--n-features, --zero-based and --sizes are about files of a" in error


SMALL = ["--set", "n_estimators=3", "min_samples_leaf=2"]


def test_rows_of_several_files_are_joined(folder, capsys):
    (folder / "a").write_text(letor(range(1, 4), n_features=2))
    (folder / "b").write_text(letor(range(4, 9), n_features=3))
    lines = letor(range(1, 4), 2) + letor(range(4, 9), 3)
    (folder / "both").write_text(lines)
    for files in (["a", "b"], ["b", "a"], ["a", "--seed", "0", "b"]):
        assert main(["train", *files, *QUIET, *SMALL]) == 0
        joined = (folder / "m.json").read_text()
        assert main(["train", "both", *QUIET, *SMALL]) == 0
        assert joined == (folder / "m.json").read_text()


def test_sizes_of_queries_are_in_a_second_file_of_each(folder, capsys):
    def write(name, queries):
        (folder / name).write_text(re.sub("qid:[0-9]* ", "", letor(queries)))
        (folder / f"{name}.group").write_text("9\n" * len(queries))

    write("a", range(1, 4))
    write("b", range(4, 9))
    write("v", [9, 10])
    (folder / "held").write_text(letor([9, 10]))
    sizes = ["--sizes", ".group"]
    assert main(["train", "a", "b", *sizes, "--valid", "v", *QUIET, *SMALL]) == 0
    joined = (folder / "m.json").read_text()
    assert main(["train", "t", "--valid", "held", *QUIET, *SMALL]) == 0
    assert joined == (folder / "m.json").read_text()
    capsys.readouterr()
    printed = []
    for words in (["v", *sizes], ["held"]):
        assert main(["evaluate", *words, "--model", "m.json", "-m", "map"]) == 0
        assert main(["rank", *words, "--model", "m.json", "--run", "run"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]

    error = failed(capsys, "train", "v", *QUIET)
    assert (
        "the sizes of queries (.query, .group), give the end of its name, as" in error
    )
    assert "in --sizes .query;" in error
    error = failed(capsys, "train", "t", "--sizes", ".group", *QUIET)
    assert "t.group" in error and "o such file" in error
    (folder / "v.group").write_text("9\n8\n")
    error = failed(capsys, "train", "v", *sizes, *QUIET)
    assert "--sizes: 'v.group' has 2 queries of 17 documents, but 'v' has 18" in error
    (folder / "t.group").write_text("9\n" * 8)
    error = failed(capsys, "train", "t", *sizes, *QUIET)
    assert "'qid:1' names the query: leave --sizes out" in error


@pytest.mark.parametrize("other", [letor([8]), letor(["08", 8])])
def test_a_query_in_two_files_is_named(folder, capsys, other):
    (folder / "b").write_text(other)
    error = failed(capsys, "train", "t", "b", *QUIET)
    assert "query 8 is in t and in b: if its lines belong together" in error
    assert not (folder / "m.json").exists()


def test_query_ids_are_text_in_all_files_if_one_begins_with_a_zero(folder, capsys):
    (folder / "b").write_text(letor(["07"]))
    (folder / "one").write_text(letor([*range(1, 9), "07"]))
    assert main(["train", "t", "b", *QUIET, *SMALL]) == 0
    joined = (folder / "m.json").read_text()
    assert main(["train", "one", *QUIET, *SMALL]) == 0
    assert joined == (folder / "m.json").read_text()


@pytest.mark.parametrize("option", ["--folds", "-kcv"])
def test_folds_are_those_of_scikit_learn(folder, capsys, option):
    words = ["train", "t", "--metric", "map@5", *SMALL, option, "3"]
    assert main(words) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    data = load_letor("t")
    scores = []
    for train, test in GroupKFold(3).split(data.data, groups=data.groups):
        ranker = LambdaMARTRanker(
            "map@5", n_estimators=3, min_samples_leaf=2, random_state=0
        )
        groups = data.groups
        ranker.fit(data.data[train], data.target[train], groups=groups[train])
        found = ranker.predict(data.data[test])
        scores.append(map_score(data.target[test], found, groups=groups[test], k=5))
    expected = [*scores, np.mean(scores), np.std(scores)]
    labels = ["fold_1", "fold_2", "fold_3", "mean", "std"]
    assert lines == [
        ["map@5", label, f"{value:.4f}"]
        for label, value in zip(labels, expected, strict=True)
    ]


def test_folds_and_a_model_of_all_rows(folder, capsys):
    assert main(["train", "t", *QUIET, *SMALL]) == 0
    of_all = (folder / "m.json").read_text()
    (folder / "m.json").unlink()
    for ranker, options in (
        ("lambdamart", SMALL),
        ("mart", [*SMALL, "--metric", "map"]),
        ("ranknet", ["--set", "max_iter=2"]),
        ("lambdarank", ["--set", "max_iter=2", "metric=mrr"]),
    ):
        words = ["train", "t", "--ranker", ranker, "--folds", "2", *options]
        assert main([*words, "--quiet"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 2 + 2
    assert not (folder / "m.json").exists()
    assert main(["train", "t", *QUIET, *SMALL, "--folds", "2"]) == 0
    assert (folder / "m.json").read_text() == of_all


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["t"], 2, "give --model FILE to write, or --folds K"),
        (["t", "--folds", "1"], 2, "must be an integer >= 2, got '1'"),
        (["t", "--folds", "x"], 2, "must be an integer >= 2, got 'x'"),
        (["t", "--folds", "9"], 1, "--folds 9: the files have 8 queries"),
        (["t", "--folds", "2", "--valid", "t"], 2, "--valid is for one model"),
        (["t", "--folds", "2", "--metric", "ndgc"], 1, "Did you mean 'ndcg'?"),
        (["t", *QUIET, "--ranker", "mart", "--metric", "map"], 2, "give --folds"),
        (["t", *QUIET, "--ranker", "ranknet", "--metric", "map"], 2, "on ranknet"),
        (["t", "x", *QUIET], 1, "'x'"),
        (["t", *QUIET, "--seed", "1_0"], 2, "an integer from 0 to 4294967295, got"),
        (["t", *QUIET, "--seed", "-1"], 2, "an integer from 0 to 4294967295, got"),
        (["t", *QUIET, "--set", "leaves=3"], 1, "leaves"),
    ],
)
def test_wrong_options_of_a_training_are_named(folder, capsys, words, status, message):
    assert message in failed(capsys, "train", *words, status=status)
    assert not (folder / "m.json").exists()


def test_a_ranker_without_a_fit_is_refused(folder, capsys):
    (folder / "m.pkl").write_bytes(pickle.dumps(LambdaMARTRanker()))
    for words in (["rank", "t", "--run", "r"], ["evaluate", "t"]):
        error = failed(capsys, *words, "--model", "m.pkl")
        assert "m.pkl holds a LambdaMARTRanker that is not fitted" in error
