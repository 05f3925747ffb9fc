"""``evaluate``: names, options and numbers of trec_eval."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr.__main__ import main
from sklearn_ltr._commands.lists import EvaluatedLists, interpolated_precision
from sklearn_ltr._commands.measures import (
    DEFAULTS,
    IR_MEASURES,
    LIST_MEASURES,
    SEVERAL,
)

# query 1: relevant at ranks 2 and 4, "x" is not judged, "e" was not retrieved; query 2:
# nothing relevant was retrieved; query 3 has no list
QRELS = "1 0 a 1\n1 0 b 0\n1 0 c 2\n1 0 e 1\n2 0 a 1\n3 0 a 1\n"
RUN = (
    "1 Q0 b 1 9 mine\n1 Q0 a 2 8 mine\n1 Q0 x 3 7 mine\n1 Q0 c 4 6 mine\n"
    "2 Q0 y 1 5 mine\n"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").write_text(QRELS)
    (tmp_path / "r").write_text(RUN)
    return tmp_path


def printed(capsys, *words):
    assert main(["evaluate", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    return {tuple(line.split()[:2]): line.split()[2] for line in lines}


def refused(capsys, *words):
    """The single line of an error of status 1."""
    assert main(["evaluate", *words]) == 1
    out, error = capsys.readouterr()
    assert out == ""
    (line,) = error.splitlines()
    return line


def test_official_measures_are_what_trec_eval_prints_by_default(folder, capsys):
    found = printed(capsys, "q", "--run", "r", "-m", "official")
    assert list(found.items())[:10] == [
        (("runid", "all"), "mine"),
        (("num_q", "all"), "2"),
        (("num_ret", "all"), "5"),
        (("num_rel", "all"), "4"),
        (("num_rel_ret", "all"), "2"),
        (("map", "all"), f"{(1 / 2 + 2 / 4) / 3 / 2:.4f}"),
        (("gm_map", "all"), f"{(1e-5 / 3) ** 0.5:.4f}"),
        (("Rprec", "all"), f"{1 / 3 / 2:.4f}"),
        (("bpref", "all"), "0.0000"),
        (("recip_rank", "all"), "0.2500"),
    ]
    rest = [name for name, _ in list(found)[10:]]
    assert rest == [f"iprec_at_recall_{tenth / 10:.2f}" for tenth in range(11)] + [
        f"P_{cutoff}" for cutoff in (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    ]
    # recall 2/3 is reached with precision 1/2, recall 1 is not
    precisions = [found[name, "all"] for name in rest[:11]]
    assert precisions == ["0.2500"] * 9 + ["0.0000"] * 2


def test_measures_of_sets_are_those_of_the_definitions(folder, capsys):
    names = ["set_P", "set_recall", "set_relative_P", "set_map", "set_F"]
    found = printed(capsys, "q", "--run", "r", "-q", "-m", *names)
    expected = [2 / 4, 2 / 3, 2 / 3, 1 / 3, 2 * (1 / 2 * 2 / 3) / (1 / 2 + 2 / 3)]
    for name, value in zip(names, expected, strict=True):
        assert found[name, "1"] == f"{value:.4f}"
        assert found[name, "2"] == "0.0000"
        assert found[name, "all"] == f"{value / 2:.4f}"


def test_names_that_stand_for_all_queries_have_no_line_of_a_query(folder, capsys):
    names = ["num_q", "runid", "num_ret"]
    found = printed(capsys, "q", "--run", "r", "-q", "-c", "-m", *names)
    assert found == {
        ("num_q", "all"): "3",
        ("runid", "all"): "mine",
        ("num_ret", "1"): "4",
        ("num_ret", "2"): "1",
        ("num_ret", "3"): "0",
        ("num_ret", "all"): "5",
    }


def brute_interpolated_precision(relevant, n_relevant, recall, rounding):
    """For all ranks, as in the definition."""
    needed = int(recall * n_relevant + rounding)
    precisions = [
        sum(relevant[:rank]) / rank
        for rank in range(1, len(relevant) + 1)
        if sum(relevant[:rank]) >= needed
    ]
    return max(precisions, default=0.0)


@pytest.mark.parametrize("rounding", [0.5, 0.9])
def test_interpolated_precision_is_the_highest_from_a_recall_on(rounding):
    rng = np.random.default_rng(0)
    for _ in range(100):
        relevant = rng.random(rng.integers(0, 12)) < 0.4
        n_relevant = np.array([relevant.sum() + rng.integers(0, 3)])
        lists = EvaluatedLists("", np.array(["1"]), [relevant], n_relevant)
        for recall in (0.0, 0.1, 0.25, 0.5, 0.7, 1.0):
            (value,) = interpolated_precision(lists, recall, rounding)
            assert value == brute_interpolated_precision(
                relevant.tolist(), n_relevant[0], recall, rounding
            )


def test_levels_of_recall_are_rounded_as_by_the_owner_of_the_name(folder, capsys):
    # 0.2 of seven relevant documents are 1.4: two documents, or one
    (folder / "q").write_text(QRELS + "".join(f"1 0 z{i} 1\n" for i in range(4)))
    (folder / "r").write_text("1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n1 Q0 c 3 7 t\n")
    found = printed(capsys, "q", "r", "-m", "IPrec@0.2", "iprec_at_recall.0.2")
    assert found["IPrec@0.2", "all"] == "0.6667"
    assert found["iprec_at_recall_0.20", "all"] == "1.0000"


@pytest.mark.parametrize("name", SEVERAL)
def test_names_of_several_measures_print_each(folder, capsys, name):
    found = printed(capsys, "q", "r", "-q", "-m", name)
    assert found == printed(capsys, "q", "r", "-q", "-m", *SEVERAL[name])
    assert found.items() <= printed(capsys, "q", "r", "-q", "-m", "all_trec").items()
    assert (("set_P", "all") in found) == (name != "official")


@pytest.mark.parametrize("grades", [(-1, -2), (-1, 1), (-1, 0)])
def test_negative_judgements_are_as_none_to_bpref(folder, capsys, grades):
    (folder / "q").write_text("".join(f"1 0 d{i} {g}\n" for i, g in enumerate(grades)))
    (folder / "r").write_text("1 Q0 d0 1 9 t\n1 Q0 x 2 8 t\n")
    assert printed(capsys, "q", "r", "-m", "bpref") == {("bpref", "all"): "0.0000"}


def test_a_measure_may_have_its_own_level(folder, capsys):
    found = printed(capsys, "q", "r", "-m", "P(rel=2)@4", "AP(rel=2)", "AP")
    assert found["P(rel=2)@4", "all"] == "0.1250"
    assert found["AP(rel=2)", "all"] == "0.1250"
    assert found["AP", "all"] == printed(capsys, "q", "r", "-m", "map")["map", "all"]
    for theirs, name in (
        ("SetP", "set_P"),
        ("SetR", "set_recall"),
        ("NumRel", "num_rel"),
        ("IPrec", "IPrec"),
    ):
        at = "@0.5" if name == "IPrec" else ""
        found = printed(capsys, "q", "r", "-q", "-m", f"{theirs}(rel=2){at}")
        expected = printed(capsys, "q", "r", "-q", "-l", "2", "-m", f"{name}{at}")
        assert list(found.values()) == list(expected.values())
    assert "unknown metric" in refused(capsys, "q", "r", "-m", "NumRet(rel=1)")
    error = refused(capsys, "q", "r", "-m", "P(judged_only=True)@5")
    assert "Did you mean 'precision@5'?" in error


def test_grades_from_one_are_told(folder, capsys):
    qrels = "1 0 a 1\n1 0 b 3\n1 0 c 2\n"
    (folder / "q").write_text(qrels)
    told = "every judged document is relevant (the grades are 1 to 3): give -l"
    for names, is_told in (
        (["map"], True),
        (["nDCG@5", "set_P"], True),
        (["ndcg@5", "P(rel=2)@5"], False),
        (["map", "-l", "2"], False),
    ):
        assert main(["evaluate", "q", "r", "-m", *names]) == 0
        assert (told in capsys.readouterr().err) == is_told
    for others in ("1 0 d 0\n", "1 0 d -1\n"):
        (folder / "q").write_text(qrels + others)
        assert main(["evaluate", "q", "r", "-m", "map"]) == 0
        assert capsys.readouterr().err == ""


def test_only_the_first_documents_of_a_list_count(folder, capsys):
    names = ["num_ret", "map", "P_5", "bpref", "num_rel"]
    found = printed(capsys, "q", "--run", "r", "-M", "2", "-m", *names)
    (folder / "cut").write_text(
        "".join(RUN.splitlines(keepends=True)[i] for i in (0, 1, 4))
    )
    assert found == printed(capsys, "q", "--run", "cut", "-m", *names)
    assert found["num_ret", "all"] == "3" and found["num_rel", "all"] == "4"
    # equal scores in trec_eval's order: the last name first
    (folder / "ties").write_text("1 Q0 a 1 1 t\n1 Q0 c 2 1 t\n1 Q0 b 3 1 t\n")
    found = printed(capsys, "q", "--run", "ties", "-M", "1", "-l", "2", "-m", "P_1")
    assert found["P_1", "all"] == "1.0000"


def test_names_of_ir_measures_are_those_of_trec_eval(folder, capsys):
    for theirs, name in IR_MEASURES.items():
        if name in DEFAULTS:
            theirs, name = f"{theirs}@1", f"{name}_1"
        if name == "IPrec":
            theirs, name = "IPrec@1", "iprec_at_recall_1.00"
        found = printed(capsys, "q", "--run", "r", "-m", theirs)
        expected = printed(capsys, "q", "--run", "r", "-m", name)
        assert list(found) == [(theirs, "all")]
        assert list(found.values()) == list(expected.values())


def test_cutoffs_are_those_of_trec_eval_where_none_is_given(folder, capsys):
    for name, cutoffs in DEFAULTS.items():
        found = printed(capsys, "q", "--run", "r", "-m", name)
        listed = printed(capsys, "q", "--run", "r", "-m", f"{name}.{','.join(cutoffs)}")
        assert found == listed and len(found) == len(cutoffs)
    found = printed(capsys, "q", "--run", "r", "-m", "iprec_at_recall..25,.5")
    assert [name for name, _ in found] == [f"iprec_at_recall_0.{n}" for n in (25, 50)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("P.0", "metric 'P.0': a cutoff must be an integer >= 1, got '0'"),
        ("P_0", "metric 'P_0': a cutoff must be an integer >= 1, got '0'"),
        ("P.5,x", "a cutoff must be an integer >= 1, got 'x'"),
        ("P.", "a cutoff must be an integer >= 1, got ''"),
        ("P_１", "a cutoff must be an integer >= 1, got '１'"),
        ("nDCG@1.5", "a cutoff must be an integer >= 1, got '1.5'"),
        ("nDCG@", "a cutoff must be an integer >= 1, got ''"),
        ("P." + "9" * 5000, "a cutoff must be an integer >= 1"),
        ("SetP@5", "set_P takes no cutoff"),
        ("IPrec", "give the recall, a number from 0 to 1"),
        ("iprec_at_recall.1.5", "give the recall, a number from 0 to 1"),
        ("iprec_at_recall.nan", "give the recall, a number from 0 to 1"),
        ("infAP", "trec_eval's are official, set, all_trec, P, "),
    ],
)
def test_a_wrong_name_says_what_is_taken(folder, capsys, name, message):
    assert message in refused(capsys, "q", "--run", "r", "-m", name)


@pytest.mark.parametrize(
    "words",
    [
        ("-M", "0"),
        ("-M", "x"),
        ("-M", "1.5"),
        ("-l", "0"),
        ("-l", "nan"),
        ("-l", "-1"),
        ("-l", "１"),
    ],
)
def test_a_wrong_number_names_the_option(folder, capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", "q", "--run", "r", *words])
    assert ended.value.code == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert f"argument {words[0]}/" in error
    assert (
        f"must be a{'n integer >= 1' if words[0] == '-M' else ' number > 0'}" in error
    )


def test_measures_of_a_model_are_those_of_its_run(folder, capsys):
    rows = [(q, d, (q * 7 + d * 3) % 4) for q in range(1, 6) for d in range(8)]
    lines = (f"{g} qid:{q} 1:{(d * 5) % 8} 2:{g} #docid = D{d}\n" for q, d, g in rows)
    (folder / "t").write_text("".join(lines))
    judged = (f"{q} 0 D{d} {g}\n" for q, d, g in rows)
    (folder / "j").write_text("".join(judged))
    words = ["--model", "m.json", "--quiet", "--set", "n_estimators=2"]
    assert main(["train", "t", *words]) == 0
    assert main(["rank", "t", "--model", "m.json", "--run", "s"]) == 0
    names = [*(name for name in LIST_MEASURES if name != "runid"), "map", "P"]
    for more in ([], ["-M", "3"], ["-l", "2"]):
        found = printed(capsys, "t", "--model", "m.json", *more, "-m", *names)
        counts = {n: v for (n, _), v in found.items() if n.startswith("num")}
        of_run = printed(capsys, "j", "--run", "s", *more, "-m", *names)
        assert counts == {n: v for (n, _), v in of_run.items() if n in counts}
        assert found.keys() == of_run.keys()


@pytest.mark.parametrize(
    "words",
    [
        "q r -m map P_1",
        "q -m map P_1 --run r",
        "-m map P_1 q r",
        "-m map P_1 q --run r",
        "-m map q -m P_1 r",
        "q -m map P_1 -c r",
        "-m map -c q -m P_1 r",
        "--metric map P_1 -- q r",
        "-m map P_1 --run r q",
        "-mmap -mP_1 q r",
    ],
)
def test_files_may_stand_behind_a_list_of_metrics(folder, capsys, words):
    plain = ["q", "--run", "r", "-m", "map", "P_1", *(["-c"] if "-c" in words else [])]
    assert printed(capsys, *words.split()) == printed(capsys, *plain)


def test_a_file_that_is_named_as_a_metric_is_given_behind_dashes(folder, capsys):
    (folder / "q").rename("map")
    expected = printed(capsys, "map", "r", "-m", "P_1")
    assert expected == printed(capsys, "-m", "P_1", "--", "map", "r")
    usage_error(capsys, "-m", "P_1", "map", "r", message="got r")


def usage_error(capsys, *words, message):
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", *words])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "give judgements and a run, or a LETOR file and --model, got none"),
        ("q", "give judgements and a run, or a LETOR file and --model, got q"),
        ("-m map z", "got none; there is no file 'z'"),
        (
            "-m map z --run r",
            "one file with the judgements, got none; there is no file",
        ),
        ("q r r", "or a LETOR file and --model, got q, r, r"),
        ("q r --run r", "give one file with the judgements, got q, r"),
        ("q r --model m.json", "give one file with the judgements, got q, r"),
        ("-m map " + "z" * 999, "there is no file 'zzz"),
        ("q r --frob", "unrecognized arguments: --frob"),
        ("q --run r --model m.json", "not allowed with argument"),
    ],
)
def test_files_that_are_missing_or_too_many_are_named(folder, capsys, words, message):
    usage_error(capsys, *words.split(), message=message)


def test_a_misspelt_metric_is_no_file(folder, capsys):
    words = ["q", "--run", "r", "-m", "ndgc@10"]
    assert "Did you mean 'ndcg@10'?" in refused(capsys, *words)
    assert "Did you mean 'ndcg@10'?" in refused(
        capsys, "-m", "ndgc@10", "map", "q", "r"
    )


LETOR = "1 qid:1 1:3 #docid = a\n0 qid:1 1:2 #docid = b\n2 qid:1 #docid = c\n"
LETOR += "1 qid:1 2:1 #docid = e\n1 qid:2 #docid=a x\n1 qid:3 # docid = a\n"


def test_judgements_may_be_a_file_of_letor(folder, capsys):
    (folder / "l").write_text("# judged\n\n" + LETOR)
    words = ["-m", "official", "ndcg_cut", "-q", "-c"]
    assert printed(capsys, "l", "r", *words) == printed(capsys, "q", "r", *words)
    # real grades, and queries as they are written
    (folder / "l").write_text("0.5 qid:007 1:1 #docid = a\n0 qid:7 1:1 #docid = a\n")
    (folder / "r").write_text("007 Q0 a 1 1 t\n7 Q0 a 1 1 t\n")
    found = printed(capsys, "l", "r", "-q", "-m", "map")
    assert found == {
        ("map", "007"): "1.0000",
        ("map", "7"): "0.0000",
        ("map", "all"): "0.5000",
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 qid:1 1:2", "line 7: no '#docid = name' names the document"),
        ("1 qid:1 1:2 # inc = 5", "line 7: no '#docid = name' names the document"),
        ("1 qid:1 1:2 # e D5", "document 'e' of query 1 is in line 4 already"),
        ("1 qid:1 1:2 #docid = a", "document 'a' of query 1 is in line 1 already"),
        ("nan qid:1 1:2 #docid = z", "line 7: the grade must be finite"),
        ("x qid:1 1:2 #docid = z", "line 7: the grade is not a number: 'x'"),
        ("1 1:2 #docid = z", "line 7: 'qid:' and a number must follow"),
        ("1 0 z 1", "line 7: 'qid:' and a number must follow"),
    ],
)
def test_a_bad_judgement_of_letor_is_named(folder, capsys, line, message):
    (folder / "l").write_text(f"{LETOR}{line}\n")
    error = refused(capsys, "l", "r")
    assert "path: 'l', line 7: " in error and message in error
