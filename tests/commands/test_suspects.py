"""``suspects``: the rows that Python lists, with their documents."""

from __future__ import annotations

import sys

import numpy as np

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.__main__ import main
from sklearn_ltr.datasets import load_letor, make_ranking
from sklearn_ltr.inspection import suspect_judgments

DATA = make_ranking(20, n_features=4, n_informative=2, random_state=0)


def test_the_most_doubtful_grades_are_those_of_python(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{grade:g} qid:{query} "
        + " ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1))
        + f" # docid = D{i}\n"
        for i, (row, grade, query) in enumerate(
            zip(DATA.data.tolist(), DATA.target, DATA.groups, strict=True)
        )
    ]
    (tmp_path / "letor").write_text("".join(lines))
    words = ["suspects", "letor", "--top", "7", "--folds", "3", "--seed", "2"]
    assert main(words) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    read = load_letor("letor")
    expected = suspect_judgments(
        LambdaMARTRanker(random_state=2), read.data, read.target, groups=read.groups,
        cv=3,
    ).head(7)  # fmt: skip
    assert head.split("\t") == ["query", "document", *expected.columns[1:]]
    for row, (number, values) in zip(rows, expected.iterrows(), strict=True):
        cells = row.split("\t")
        assert cells[:2] == [str(values["query"]), f"D{number}"]
        np.testing.assert_allclose(float(cells[4]), values["doubt"], rtol=1e-3)
        assert cells[6] == values["suggests"]


def test_without_pandas_it_says_so_before_it_reads(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert main(["suspects", str(tmp_path / "none")]) == 1
    message = "suspects requires pandas: install it by python -m pip install pandas"
    assert message in capsys.readouterr().err
