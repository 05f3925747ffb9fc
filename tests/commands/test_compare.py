"""``compare``: runs and models on the same queries, with the numbers of Python."""

from __future__ import annotations

import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.__main__ import main
from sklearn_ltr.datasets import dump_run, load_letor, make_ranking
from sklearn_ltr.export import to_json
from sklearn_ltr.metrics import MAP
from sklearn_ltr.model_selection import compare_rankers

DATA = make_ranking(30, n_features=5, n_informative=3, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups


@pytest.fixture(scope="module")
def rankers():
    return {
        f"{n}.json": LambdaMARTRanker(n_estimators=n, random_state=0).fit(
            X, Y, groups=GROUPS
        )
        for n in (1, 5, 20)
    }


@pytest.fixture
def folder(tmp_path, monkeypatch, rankers):
    """A LETOR file, qrels, and of each ranker its model and its run."""
    monkeypatch.chdir(tmp_path)
    letor, qrels = [], []
    for i, row in enumerate(X.tolist()):
        values = " ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1))
        letor.append(f"{Y[i]:g} qid:{GROUPS[i]} {values} # docid = D{i}\n")
        qrels.append(f"{GROUPS[i]} 0 D{i} {Y[i]:g}\n")
    (tmp_path / "letor").write_text("".join(letor))
    (tmp_path / "qrels").write_text("".join(qrels))
    names = {"groups": GROUPS, "documents": [f"D{i}" for i in range(len(Y))]}
    for path, ranker in rankers.items():
        (tmp_path / path).write_text(to_json(ranker))
        dump_run(path.replace("json", "run"), ranker.predict(X), **names)
    return tmp_path


def printed(capsys, *words):
    assert main(["compare", *words]) == 0
    return capsys.readouterr().out


def refused(capsys, *words, status=1):
    if status == 2:
        with pytest.raises(SystemExit) as ended:
            main(["compare", *words])
        assert ended.value.code == 2
        return capsys.readouterr().err.splitlines()[-1]
    assert main(["compare", *words]) == 1
    out, error = capsys.readouterr()
    assert out == ""
    (line,) = error.splitlines()
    return line


def test_models_are_compared_as_in_python(folder, capsys, rankers):
    test = load_letor("letor")
    data = (test.data, test.target)
    options = {"groups": test.groups, "difference": 0.02, "random_state": 3}
    expected = compare_rankers(rankers, *data, **options)
    words = ["letor", "--difference", "0.02", "--seed", "3", "--models", *rankers]
    assert printed(capsys, *words) == f"{expected}\n"
    # a file may stand behind the models
    words = ["--difference", "0.02", "--seed", "3", "--models", *rankers, "letor"]
    assert printed(capsys, *words) == f"{expected}\n"
    first = compare_rankers(rankers, *data, baseline=next(iter(rankers)), **options)
    assert printed(capsys, "--baseline", *words) == f"{first}\n"
    of_map = compare_rankers(rankers, *data, metric=MAP(), **options)
    words += ["-m", "ndcg@10", "map"]
    assert printed(capsys, *words) == f"{expected}\n\n{of_map}\n"


def test_the_means_of_runs_are_those_that_evaluate_prints(folder, capsys, rankers):
    runs = [path.replace("json", "run") for path in rankers]
    lines = printed(capsys, "qrels", *runs, "-m", "nDCG@5").splitlines()
    assert lines[0].split() == ["nDCG@5,", "30", "queries", "mean"]
    for run, line in zip(runs, lines[1:4], strict=True):
        assert main(["evaluate", "qrels", "--run", run, "-m", "nDCG@5"]) == 0
        assert line.split() == [run, capsys.readouterr().out.split()[-1]]
    assert [line.partition("  ")[0] for line in lines[6:]] == [
        "5.run - 1.run", "20.run - 1.run", "20.run - 5.run",
    ]  # fmt: skip


def test_a_query_that_one_run_lacks_is_named_or_counts_0(folder, capsys):
    lines = (folder / "5.run").read_text().splitlines(keepends=True)
    (folder / "some.run").write_text(
        "".join(line for line in lines if line.split()[0] != "7")
    )
    message = refused(capsys, "qrels", "5.run", "some.run")
    assert "query 7 is judged and in 5.run, but not in some.run: give -c" in message
    found = printed(capsys, "qrels", "5.run", "some.run", "-c", "-m", "map")
    means = [float(line.split()[1]) for line in found.splitlines()[1:3]]
    assert means[0] > means[1]
    assert found.startswith("map, 30 queries")


def test_words_that_cannot_be_compared_are_refused_in_a_line(folder, capsys):
    for words, message in (
        ([], "give judgements and two or more runs, or a LETOR file and --models, got"),
        (["qrels", "5.run"], "give judgements and two or more runs"),
        (["qrels", "5.run", "5.run"], "5.run is given twice"),
        (["letor", "--models", "1.json"], "give two or more --models, got 1.json"),
        (
            ["--models", "1.json", "5.json"],
            "give one LETOR file for --models, got none",
        ),
        (["letor", "-c", "--models", "1.json", "5.json"], "--complete is about runs"),
        (["qrels", "1.run", "5.run", "--n-features", "3"], "--n-features, --zero-b"),
        (["qrels", "1.run", "5.run", "--difference", "0"], "must be a number > 0"),
    ):
        assert message in refused(capsys, *words, status=2)
    for words, message in (
        (["letor", "--models", "1.json", "no.json"], "no.json"),
        (["qrels", "1.run", "no.run"], "no.run"),
        (["qrels", "1.run", "5.run", "-m", "auc"], "unknown metric 'auc'"),
        (["qrels", "1.run", "5.run", "-m", "num_q"], "'num_q' is not a mean over"),
        (["qrels", "1.run", "5.run", "-m", "gm_map"], "'gm_map' is not a mean over"),
    ):
        assert message in refused(capsys, *words)


def test_one_query_is_too_few(folder, capsys):
    for name in ("1.run", "5.run"):
        lines = (folder / name).read_text().splitlines(keepends=True)
        first = [line for line in lines if line.split()[0] == "0"]
        (folder / name).write_text("".join(first))
    message = refused(capsys, "qrels", "1.run", "5.run")
    assert "at least two queries that count for ndcg@10, got 1" in message
