"""Runs and judgements: TREC's files, documents missing from the lists, trec_eval."""

from __future__ import annotations

import bz2
import gzip
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import Bunch

from sklearn_ltr import metrics
from sklearn_ltr.datasets import (
    dump_qrels,
    dump_run,
    join_run,
    load_qrels,
    load_run,
)
from sklearn_ltr.metrics import (
    ERR,
    MAP,
    MRR,
    NDCG,
    Precision,
    Recall,
)
from tests.oracles import metrics as oracle

QRELS = "301 0 a 2\n301 0 b 0\n301\t0\tc 1\n\n302 0 a 1\n"
RUN = "301 Q0 a 1 0.5 mine\n301 Q0 x 2 1e-3 mine\n302 Q0 b 1 -7 mine\n"


def as_lists(joined):
    return {name: array.tolist() for name, array in joined.items()}


# --- files ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "opened"), [("a.txt", open), ("a.gz", gzip.open), ("a.bz2", bz2.open)]
)
def test_files_are_read_and_written_plain_and_compressed(tmp_path, name, opened):
    path = tmp_path / name
    with opened(path, "wt") as file:
        file.write(QRELS)
    qrels = load_qrels(path)
    assert as_lists(qrels) == {
        "groups": ["301", "301", "301", "302"],
        "documents": ["a", "b", "c", "a"],
        "grades": [2, 0, 1, 1],
    }
    assert qrels.grades.dtype == np.int64
    with opened(path, "wt") as file:
        file.write(RUN)
    run = load_run(str(path))
    assert run.pop("tag") == "mine"
    assert as_lists(run) == {
        "groups": ["301", "301", "302"],
        "documents": ["a", "x", "b"],
        "scores": [0.5, 0.001, -7.0],
    }
    dump_qrels(path, [2, -1, 0], groups=[7, 7, 8], documents=["d1", "d2", "é"])
    assert as_lists(load_qrels(path)) == {
        "groups": ["7", "7", "8"],
        "documents": ["d1", "d2", "é"],
        "grades": [2, -1, 0],
    }
    dump_run(path, [1 / 3, 0.5, 0], groups=["b", "b", "a"], documents=[1, 2, 3])
    run = load_run(path)
    assert (run.documents.tolist(), run.scores.tolist()) == (
        ["3", "2", "1"], [0, 0.5, 1 / 3],
    )  # fmt: skip


def test_a_run_is_written_with_ranks_and_equal_scores_in_row_order(tmp_path):
    path = tmp_path / "run"
    given = {"groups": [1, 1, 0, 1], "documents": list("abcd")}
    dump_run(path, [1, 2, 1, 1], **given, tag="t")
    assert load_run(path).tag == "t"
    dump_run(path, [1, 2, 1, 1], **given)
    assert path.read_text().splitlines() == [
        "0 Q0 c 1 1.0 sklearn_ltr",
        "1 Q0 b 1 2.0 sklearn_ltr",
        "1 Q0 a 2 1.0 sklearn_ltr",
        "1 Q0 d 3 1.0 sklearn_ltr",
    ]


# --- documents that are missing from the lists --------------------------------------


CASES = {
    name: (partial(type(metrics.get_metric(name)), **options), definition)
    for name, (definition, options) in oracle.DEFINITIONS.items()
}
every_metric = pytest.mark.parametrize("case", CASES)
grades = st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), max_size=6)
Lists = st.lists(st.tuples(grades, grades), min_size=1, max_size=4)


@pytest.mark.filterwarnings("ignore:to .* every document is relevant")
@every_metric
@given(lists=Lists, k=st.sampled_from([None, 1, 3, 20]), random=st.randoms())
def test_missing_documents_count_as_the_definition_says(case, lists, k, random):
    make, definition = CASES[case]
    lists = [both for both in lists if both[0] or both[1]]
    if not any(ranked for ranked, _ in lists):
        return
    rows = [
        (grade, -rank, query)
        for query, (ranked, _) in enumerate(lists)
        for rank, grade in enumerate(ranked)
    ]
    missing = [
        (grade, query) for query, (_, absent) in enumerate(lists) for grade in absent
    ]
    random.shuffle(rows)
    random.shuffle(missing)
    y, scores, groups = map(np.array, zip(*rows, strict=True))
    expected = [
        definition(ranked, k, missing=absent) if ranked else 0.0
        for ranked, absent in lists
    ]
    given_missing = {
        "y_missing": [grade for grade, _ in missing],
        "groups_missing": [query for _, query in missing],
    }
    values = make(k).per_query(y, scores, groups=groups, **given_missing)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-14)
    mean = make(k)(y, scores, groups=groups, **given_missing)
    assert mean == pytest.approx(np.mean(expected), rel=1e-12, abs=1e-14)


@every_metric
@pytest.mark.parametrize("k", [None, 3])
def test_ties_are_broken_as_without_missing_documents(case, k):
    make, definition = CASES[case]
    scores, y, missing = [2, 1, 1, 1, 1, 0], [0, 1, 0, 2, 0, 1], [1, 0, 0]

    def value(ranked):
        return definition(ranked, k, missing=missing)

    expected = {
        "average": oracle.mean_over_orders_of_ties(value, scores, y),
        "stable": value([y[i] for i in oracle.ranked_in_row_order(scores)]),
        "pessimistic": value(
            [y[i] for i in oracle.ranked_against_the_model(scores, y)]
        ),
    }
    rest = {"groups": [0] * 6, "y_missing": missing, "groups_missing": [0] * 3}
    for ties, wanted in expected.items():
        actual = make(k, ties=ties)(y, scores, **rest)
        assert actual == pytest.approx(wanted, rel=1e-12)


def test_a_query_with_missing_documents_only_is_a_list_of_none():
    rows = {"y_true": [1, 0], "y_score": [2, 1], "groups": ["b", "b"]}
    missing = {"y_missing": [1, 0, 1], "groups_missing": ["c", "a", "c"]}
    # "a" has nothing relevant, "b" a perfect list, "c" retrieved nothing
    for rule, of_a in (("zero", 0.0), ("one", 1.0), ("skip", np.nan)):
        values = MAP(no_relevant=rule).per_query(**rows, **missing)
        np.testing.assert_array_equal(values, [of_a, 1.0, 0.0])
    assert MAP()(**rows, **missing) == pytest.approx(1 / 3)
    assert MAP(no_relevant="skip")(**rows, **missing) == 1 / 2
    with pytest.raises(ValueError, match="query 'a' has no relevant document"):
        MAP(no_relevant="error")(**rows, **missing)


def test_missing_documents_belong_to_their_query():
    given = {"y_missing": [2], "groups_missing": [1]}
    for metric in (MRR(no_relevant="error"), NDCG(no_relevant="one")):
        assert metric([0], [1], groups=[1], **given) == 0.0
    assert ERR()([1], [0], groups=[1], **given) == 1 / 4  # of the largest grade of all
    # but a list is as long as its rows
    rows = {"y_true": [1, 0], "y_score": [2, 1], "groups": [1, 1]}
    assert NDCG(3, short_lists="zero")(**rows, **given) == 0.0
    assert Precision()(**rows, **given) == 1 / 2
    weighted = MAP()([1, 1], [0, 0], groups=[1, 5], sample_weight=[3, 1], **given)
    assert weighted == (3 * 0.5 + 1) / 4


def test_queries_are_matched_by_value():
    """Whatever they are stored in, and in the order of all."""
    for groups, groups_missing in (
        (np.array([3, 1], np.int32), [1.0, 2.0]),
        ([3, 1], np.array([1, 2], np.uint64)),
        (np.array(["2024-03", "2024-01"], "M8[M]"),
         np.array(["2024-01-01", "2024-02-01"], "M8[s]")),
        (["c", "a"], ["a", "b"]),
        ([("x", 3), ("x", 1)], [("x", 1), ("x", 2)]),
    ):  # fmt: skip
        values = Recall().per_query(
            [1, 1], [0, 0], groups=groups, y_missing=[1, 1],
            groups_missing=groups_missing,
        )  # fmt: skip
        np.testing.assert_array_equal(values, [0.5, 0.0, 1.0])


# --- the join -----------------------------------------------------------------------


def bunches():
    run = Bunch(
        groups=["1", "1", "1", "2", "9"],
        documents=["a", "x", "c", "a", "a"],
        scores=[3.0, 2.0, 2.0, 1.0, 1.0],
    )
    qrels = Bunch(
        groups=["1", "1", "1", "2", "3", "3"],
        documents=["a", "b", "c", "d", "a", "b"],
        grades=[2, 1, 0, 1, 1, 0],
    )
    return run, qrels


def test_a_run_is_joined_with_judgements():
    assert as_lists(join_run(*bunches())) == {
        "y_true": [2.0, 0.0, 0.0, 0.0],
        "y_score": [3.0, 2.0, 2.0, 1.0],
        "groups": ["1", "1", "1", "2"],
        "y_missing": [1.0, 1.0, 1.0, 0.0],
        "groups_missing": ["1", "2", "3", "3"],
    }


NAMES = {
    "ours": "groups documents scores grades",
    "PyTerrier": "qid docno score label",
    "ir_measures": "query_id doc_id score relevance",
    "BEIR": "query-id corpus-id score score",
    "MS MARCO": "qid pid score rel",
    "ranx": "q_id doc_id score score",
    "capital letters": "Query_ID DocNo SCORE Relevance",
}
FRAMES = {
    "dict": lambda columns: columns,
    "pandas": pd.DataFrame,
    "pandas, Arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "Arrow": lambda columns: pytest.importorskip("pyarrow").table(columns),
    "categories": lambda columns: pd.DataFrame(columns).astype("category"),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("names", NAMES)
def test_tables_may_have_the_names_of_other_libraries(names, frame):
    *ids, score, grade = NAMES[names].split()

    def table(bunch, number):
        columns = dict(zip([*ids, number], bunch.values(), strict=True))
        other = {"rank": range(len(bunch.groups)), "tag": ["t"] * len(bunch.groups)}
        return FRAMES[frame](other | dict(reversed(columns.items())))

    run, qrels = bunches()
    joined = join_run(table(run, score), table(qrels, grade))
    assert as_lists(joined) == as_lists(join_run(run, qrels))


def test_the_column_of_names_is_taken_not_those_of_texts_and_numbers():
    run, qrels = bunches()
    frame = pd.DataFrame({"query": "some words", "docid": range(5), "rank": 0}).assign(
        qid=run.groups, docno=run.documents, score=run.scores
    )
    assert as_lists(join_run(frame, qrels)) == as_lists(join_run(run, qrels))


@pytest.mark.parametrize("of_document", [str, ord])
@pytest.mark.parametrize("of_topic", [str, int])
def test_a_run_may_be_a_dict_of_dicts(of_topic, of_document):
    run, qrels = bunches()

    def nested(bunch):
        found: dict = {"7": {}}  # no document, or no judgement
        for topic, document, number in zip(*bunch.values(), strict=True):
            found.setdefault(topic, {})[of_document(document)] = number
        return {of_topic(topic): listed for topic, listed in found.items()}

    expected = join_run(run, qrels)
    joined = join_run(nested(run), nested(qrels))
    for name in ("y_true", "y_score", "y_missing"):
        np.testing.assert_array_equal(joined[name], expected[name])
    np.testing.assert_array_equal(joined.groups, list(map(of_topic, expected.groups)))


def test_unjudged_documents_may_get_a_grade():
    joined = join_run(*bunches(), unjudged=0.5)
    assert joined.y_true.tolist() == [2.0, 0.5, 0.0, 0.5]
    assert as_lists(join_run(*bunches(), unjudged=0)) == as_lists(join_run(*bunches()))


def test_negative_grades_count_as_unjudged_only_where_asked_for():
    run, qrels = bunches()
    qrels.grades = [2, -1, -2, 1, -2, -2]
    joined = join_run(run, qrels, negative="unjudged")
    assert joined.y_true.tolist() == [2.0, 0.0, 0.0, 0.0]
    # topic 3 has nothing but negative grades, and still counts
    assert joined.y_missing.tolist() == [1.0, 0.0]
    assert joined.groups_missing.tolist() == ["2", "3"]
    joined = join_run(run, qrels, negative="unjudged", unjudged="drop", topics="both")
    assert as_lists(joined) == {
        "y_true": [2.0],
        "y_score": [3.0],
        "groups": ["1"],
        "y_missing": [1.0],
        "groups_missing": ["2"],
    }


def test_everything_judged_may_be_retrieved():
    run, _ = bunches()
    qrels = {"groups": ["1"], "documents": ["x"], "grades": [1]}
    joined = join_run(run, qrels)
    assert len(joined.y_missing) == len(joined.groups_missing) == 0
    assert metrics.mrr_score(**joined, ties="stable") == 1 / 2
