"""``python -m sklearn_ltr``: what RankLib and trec_eval do, on the same files."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.__main__ import main
from sklearn_ltr.datasets import load_letor, load_qrels, load_run, make_ranking
from sklearn_ltr.export import from_json, from_lightgbm
from sklearn_ltr.metrics import MAP, NDCG

DATA = make_ranking(40, n_features=5, n_informative=3, random_state=0)
SETTINGS = ["--set", "n_estimators=12", "min_samples_leaf=5"]


def letor(rows) -> str:
    """Lines of LETOR; a feature that is 0 is left out."""
    return "".join(
        f"{DATA.target[i]:g} qid:{DATA.groups[i]} "
        + " ".join(f"{j}:{v!r}" for j, v in enumerate(DATA.data[i].tolist(), 1))
        + f" #docid = D{i}\n"
        for i in rows
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of 30 queries to train on and of 10 to test on."""
    monkeypatch.chdir(tmp_path)
    rows = np.split(np.arange(len(DATA.target)), [int((DATA.groups < 30).sum())])
    for name, part in zip(("train", "test"), rows, strict=True):
        (tmp_path / f"{name}.txt").write_text(letor(part))
    judged = (f"{DATA.groups[i]} 0 D{i} {DATA.target[i]:g}\n" for i in rows[1])
    (tmp_path / "qrels.txt").write_text("".join(judged))
    return tmp_path


def printed(capsys, *words):
    assert main(list(words)) == 0
    return capsys.readouterr().out.splitlines()


def values(lines):
    return {tuple(line.split()[:2]): float(line.split()[2]) for line in lines}


def test_a_model_is_trained_ranks_and_is_measured_as_in_python(folder, capsys):
    lines = printed(capsys, "train", "train.txt", "--model", "m.json", *SETTINGS)
    assert lines[0].startswith("tree 12 of 12: train ndcg@10 ")
    assert lines[1:] == ["wrote m.json"]
    train, test = load_letor("train.txt"), load_letor("test.txt")
    options = {"n_estimators": 12, "min_samples_leaf": 5, "random_state": 0}
    ranker = LambdaMARTRanker(**options).fit(
        train.data, train.target, groups=train.groups
    )
    scores = ranker.predict(test.data)
    saved = from_json((folder / "m.json").read_text())
    assert saved.predict(test.data).tolist() == scores.tolist()

    metrics = ["ndcg@10", "map", "ndcg"]
    lines = printed(
        capsys, "evaluate", "test.txt", "--model", "m.json", "--metric", *metrics
    )
    found = values(lines)
    for metric, of in zip(metrics, (NDCG(10), MAP(), NDCG()), strict=True):
        expected = of(test.target, scores, groups=test.groups)
        assert found[metric, "all"] == pytest.approx(expected, abs=5e-5)

    assert printed(capsys, "rank", "test.txt", "--model", "m.json", "--run", "r") == []
    run = load_run("r")
    of_document = dict(zip(run.documents, run.scores, strict=True))
    names = load_qrels("qrels.txt").documents
    assert [of_document[name] for name in names] == scores.tolist()
    lines = printed(
        capsys, "evaluate", "qrels.txt", "--run", "r", "-q", "--metric", "ndcg@10"
    )
    assert len(lines) == 10 + 1  # of each query, and of all
    assert values(lines)["ndcg@10", "all"] == found["ndcg@10", "all"]


MEASURES = [
    "map", "ndcg", "ndcg_cut_5", "map_cut_5", "P_5", "recall_5", "success_1",
    "recip_rank", "Rprec", "bpref",
]  # fmt: skip


@pytest.mark.parametrize("complete", [False, True])
def test_the_numbers_of_a_run_are_those_of_trec_eval(folder, capsys, complete):
    """With equal scores, documents that nobody judged, and lists that are missing."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(0)
    qrels, run = load_qrels("qrels.txt"), {}
    for topic in np.unique(qrels.groups).tolist()[1:]:
        known = qrels.documents[qrels.groups == topic].tolist()
        some = [name for name in [*known, "X1", "X2"] if rng.random() < 0.6]
        run[topic] = {name: float(rng.integers(0, 6)) / 2 for name in some}
    (folder / "run").write_text(
        "".join(
            f"{topic} Q0 {name} 0 {score} x\n"
            for topic, scores in run.items()
            for name, score in scores.items()
        )
    )
    judged: dict = {}
    for topic, name, grade in zip(*qrels.values(), strict=True):
        judged.setdefault(str(topic), {})[str(name)] = int(grade)
    asked = {
        f"{name.rpartition('_')[0]}.{name.rpartition('_')[2]}"
        if name[-1].isdigit()
        else name
        for name in MEASURES
    }
    theirs = pytrec_eval.RelevanceEvaluator(judged, asked).evaluate(run)
    words = ["evaluate", "qrels.txt", "--run", "run", "-q", "--metric", *MEASURES]
    ours = values(printed(capsys, *words, *(["-c"] if complete else [])))
    for measure in MEASURES:
        total = sum(theirs[topic][measure] for topic in theirs)
        mean = total / (len(judged) if complete else len(theirs))
        assert ours[measure, "all"] == pytest.approx(mean, abs=5.1e-5), measure
        for topic in theirs:
            expected = theirs[topic][measure]
            assert ours[measure, topic] == pytest.approx(expected, abs=5.1e-5)


def test_early_stopping_networks_and_regressors(folder, capsys):
    arguments = ["--valid", "test.txt", "--model", "m.json", *SETTINGS]
    (line, _) = printed(capsys, "train", "train.txt", *arguments)
    assert ", best " in line and "validation ndcg@10" in line
    quiet = ["train", "train.txt", "--quiet"]
    for ranker, name in (
        ("lambdarank", "n.json"),
        ("ranknet", "n.pkl"),
        ("mart", "r.json"),
    ):
        options = ["--set", "max_iter=2"] if ranker != "mart" else SETTINGS
        words = ["--ranker", ranker, "--model", name, "--valid", "test.txt"]
        assert printed(capsys, *quiet, *words, *options) == []
        (line,) = printed(capsys, "evaluate", "test.txt", "--model", name)
        assert 0 < float(line.split()[-1]) <= 1


@pytest.mark.filterwarnings("default")
def test_a_model_without_a_split_is_warned_of_in_a_line(folder, capsys):
    words = ["train", "train.txt", "--model", "m.json", "--set", "min_samples_leaf=999"]
    assert main(words) == 0
    out, error = capsys.readouterr()
    assert out.splitlines()[-1] == "wrote m.json"
    (line,) = error.splitlines()
    assert line.startswith("python -m sklearn_ltr train: warning: no tree has a split")


def test_models_are_converted_between_formats(folder, capsys):
    X = load_letor("test.txt").data
    words = ["--model", "m.json", "--quiet", *SETTINGS]
    printed(capsys, "train", "train.txt", *words)
    expected = from_json((folder / "m.json").read_text()).predict(X).tolist()
    printed(capsys, "convert", "m.json", "m.txt", "--to", "lightgbm")
    assert from_lightgbm(folder / "m.txt").predict(X).tolist() == expected
    words = ["convert", "m.txt", "m.pkl", "--from", "lightgbm", "--to", "pickle"]
    printed(capsys, *words)
    again = pickle.loads((folder / "m.pkl").read_bytes())
    assert again.predict(X).tolist() == expected


GOOD = "1 qid:1 1:2\n"
BAD_LINES = {
    "1 qid:1 1:a": "line 2: '1:a' is no feature, 'number:value'",
    "1 1:2": "line 2: 'qid:' and a number must follow the grade",
    "x qid:1 1:2": "line 2: the grade is not a number: 'x'",
    "1 qid:1 0:2": "line 2: feature 0 is below 1: give --zero-based yes if the",
    "1 qid:1 2:2 1:3 2:1": "line 2: feature 2 is there twice: leave one out",
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_bad_line_of_a_file_is_named(folder, capsys, line):
    (folder / "bad.txt").write_text(f"{GOOD}{line}\n{GOOD}")
    assert main(["train", "bad.txt", "--model", "m.json"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("python -m sklearn_ltr train: error: path: 'bad.txt'")
    assert BAD_LINES[line] in error
    assert not (folder / "m.json").exists()


ERRORS = {
    "no file": (["train", "none.txt", "--model", "m.json"], "none.txt"),
    "name of a model": (["train", "train.txt", "--model", "m.bin"], "*.json or *.pkl"),
    "peer": (
        ["train", "train.txt", "--model", "m.json", "--set", "num_leaves=3"],
        "give max_leaf_nodes",
    ),
    "no value": (
        ["train", "train.txt", "--model", "m.json", "--set", "sigma"],
        "--set sigma: give NAME=VALUE",
    ),
    "range": (
        ["train", "train.txt", "--model", "m.json", "--set", "n_estimators=0"],
        "n_estimators must be an integer >= 1",
    ),
    "metric": (
        ["evaluate", "qrels.txt", "--run", "train.txt", "--metric", "ndgc@10"],
        "Did you mean 'ndcg@10'?",
    ),
    "run": (["evaluate", "qrels.txt", "--run", "train.txt"], "line 1: "),
    "model": (["rank", "test.txt", "--model", "test.txt", "--run", "r"], "*.json"),
    "damaged": (
        ["convert", "test.txt", "m", "--from", "xgboost", "--to", "json"],
        "test.txt cannot be read as xgboost",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_is_one_message_and_the_status_1(folder, capsys, case):
    words, message = ERRORS[case]
    assert main(words) == 1
    out, error = capsys.readouterr()
    assert out == "" and message in error
    assert error.startswith(f"python -m sklearn_ltr {words[0]}: error: ")


def test_words_that_are_no_command_have_the_status_2(capsys):
    for words in ([], ["learn"], ["train"], ["evaluate", "qrels.txt"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert "usage: python -m sklearn_ltr" in capsys.readouterr().err


def test_as_a_process(folder):
    command = [sys.executable, "-m", "sklearn_ltr"]
    done = subprocess.run([*command, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    for name in ("train", "rank", "evaluate", "convert", "compile"):
        assert f"\n    {name} " in done.stdout
    done = subprocess.run(
        [*command, "rank", "none", "--model", "m.json", "--run", "r"],
        capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 1 and "Traceback" not in done.stderr


# --- as users of trec_eval, ir_measures and RankLib type it ---------------------------


@pytest.mark.parametrize(
    ("typed", "own"),
    [
        (["ndcg_cut.2"], {"ndcg_cut_2": "ndcg_cut_2"}),
        (["P.1,2"], {"P_1": "P_1", "P_2": "P_2"}),
        (["AP"], {"AP": "map"}),
        (["RR@10"], {"RR@10": "recip_rank"}),
        (["nDCG@2"], {"nDCG@2": "ndcg_cut_2"}),
        (["NDCG@2"], {"NDCG@2": "ndcg@2"}),
        (["MAP"], {"MAP": "map"}),
        (["map", "-m", "P_1"], {"map": "map", "P_1": "P_1"}),
    ],
)
def test_names_of_other_tools_are_known(tmp_path, monkeypatch, capsys, typed, own):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").write_text("1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 a 0\n2 0 b 1\n")
    (tmp_path / "r").write_text("1 Q0 c 1 3 t\n1 Q0 a 2 2 t\n2 Q0 b 1 1 t\n")
    lines = printed(capsys, "evaluate", "q", "--run", "r", "-m", *typed)
    found = {line.split()[0]: line.split()[-1] for line in lines}
    assert found.keys() == own.keys()
    for name, same in own.items():
        (line,) = printed(capsys, "evaluate", "q", "--run", "r", "--metric", same)
        assert found[name] == line.split()[-1]


def test_counts_and_the_geometric_mean_are_those_of_trec_eval(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").write_text("1 0 a 2\n1 0 b 1\n1 0 d 0\n2 0 a 1\n3 0 a 1\n")
    (tmp_path / "r").write_text("1 Q0 c 1 3 t\n1 Q0 a 2 2 t\n2 Q0 b 1 1 t\n")
    names = ["num_ret", "num_rel", "num_rel_ret", "gm_map"]

    def printed_values(*options):
        lines = printed(capsys, "evaluate", "q", "--run", "r", "-m", *names, *options)
        return [line.split()[-1] for line in lines]

    # AP of query 1 is 1/4, that of query 2 is 0 and counts 0.00001
    assert printed_values() == ["3", "3", "1", f"{(0.25 * 1e-5) ** 0.5:.4f}"]
    assert printed_values("-c")[:3] == ["3", "4", "1"]  # query 3 was not retrieved
    assert printed_values("-l", "2")[:3] == ["3", "1", "1"]
    assert printed_values("-q")[:3] == ["2", "1", "3"]


def test_a_level_of_relevance_is_given(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").write_text("1 0 a 2\n1 0 b 1\n")
    (tmp_path / "r").write_text("1 Q0 b 1 3 t\n1 Q0 a 2 2 t\n")
    words = ["evaluate", "q", "--run", "r", "-m", "map", "ndcg"]
    assert [line.split()[-1] for line in printed(capsys, *words)][0] == "1.0000"
    values = [line.split()[-1] for line in printed(capsys, *words, "-l", "2")]
    assert values == ["0.5000", printed(capsys, *words)[1].split()[-1]]


def test_a_run_without_a_judged_document_counts_zero(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "r").write_text("1 Q0 x 1 2.5 t\n1 Q0 y 2 1.5 t\n")
    lines = printed(capsys, "evaluate", "q", "--run", "r", "-m", "map", "bpref", "P_5")
    assert [line.split()[-1] for line in lines] == ["0.0000"] * 3


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("sklearn_ltr ")


def test_a_folder_that_does_not_exist_is_found_out_before_training(folder, capsys):
    assert main(["train", "train.txt", "--model", "no/such/m.json"]) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert "no/such/m.json: there is no folder 'no/such'" in error


def test_features_that_only_the_test_file_has_are_left_out(folder, capsys):
    printed(capsys, "train", "train.txt", "--model", "m.json", "--quiet", *SETTINGS)
    n_features = load_letor("train.txt").data.shape[1]
    lines = (folder / "test.txt").read_text().splitlines()
    further = [f"{line.partition('#')[0]} {n_features + 2}:5" for line in lines]
    (folder / "more.txt").write_text("\n".join(further))
    assert main(["evaluate", "more.txt", "--model", "m.json"]) == 0
    out, error = capsys.readouterr()
    assert f"features {n_features + 1} to {n_features + 2} are left out" in error
    assert printed(capsys, "evaluate", "test.txt", "--model", "m.json") == (
        out.splitlines()
    )


def test_a_model_goes_to_ranklib_and_back(folder, capsys):
    printed(capsys, "train", "train.txt", "--model", "m.json", "--quiet", *SETTINGS)
    words = ["convert", "m.json", "m.xml", "--to", "ranklib", "--missing", "zero"]
    printed(capsys, *words)
    words = ["convert", "m.xml", "n.json", "--from", "ranklib", "--to", "json"]
    printed(capsys, *words)
    X = load_letor("test.txt").data
    model, again = (from_json(folder / name) for name in ("m.json", "n.json"))
    scores = again.predict(X[:, : again.n_features_in_])
    np.testing.assert_allclose(scores, model.predict(X), rtol=1e-5, atol=1e-5)
    words = ["convert", "m.json", "o.json", "--to", "json", "--missing", "zero"]
    assert main(words) == 1
    assert "--missing does not apply to the format json" in capsys.readouterr().err
