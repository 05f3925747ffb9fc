"""Query, document and grade are found by the same names in every container."""

from __future__ import annotations

import io
import itertools
import json
import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklearn_ltr._core.other_libraries import OTHER_COLUMNS
from sklearn_ltr.datasets import (
    join_features,
    join_run,
    load_feature_log,
    load_judgments,
)
from tests.bad_inputs import refused


def columns_of(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def written(rows, sign):
    return io.StringIO(pd.DataFrame(rows).to_csv(index=False, sep=sign))


CONTAINERS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "Arrow": pa.Table.from_pylist,
    "lists by column": columns_of,
    "arrays by column": lambda rows: {
        name: np.array(column) for name, column in columns_of(rows).items()
    },
    "dicts": list,
    "JSON": lambda rows: io.StringIO(json.dumps(rows, indent=1)),
    "JSON lines": lambda rows: io.StringIO("\n".join(map(json.dumps, rows))),
    "CSV": lambda rows: written(rows, ","),
    "tabs": lambda rows: written(rows, "\t"),
}
#: rows of a table, arguments, and what is read, or what the error says
TABLES = {
    "WANDS": (
        [{"id": 0, "query_id": 7, "product_id": 25434, "label": 2},
         {"id": 1, "query_id": 7, "product_id": 12088, "label": 0}],
        {}, [("7", "25434", 2), ("7", "12088", 0)],
    ),
    "WANDS with its labels": (
        [{"id": 0, "query_id": 7, "product_id": 25, "label": "Exact"},
         {"id": 1, "query_id": 7, "product_id": 12, "label": "Partial"}],
        {"grades": {"Exact": 2, "Partial": 1, "Irrelevant": 0}},
        [("7", "25", 2), ("7", "12", 1)],
    ),
    "a label without a grade": (
        [{"query_id": 7, "product_id": 25, "label": "Exact"}],
        {"grades": {"Partial": 1}},
        ["query '7', document '25': the rating must be a number, got 'Exact'",
         "give grades of labels by load_judgments(..., grades=...)"],
    ),
    "ESCI": (
        [{"example_id": 4, "query": "hat", "query_id": 7, "product_id": "B1",
          "esci_label": "E"}], {},
        ["has several names for groups, 'query', 'query_id' (all: 'example_id', ",
         "'product_id', 'esci_label'): name one by load_judgments(..., query=...)"],
    ),
    "ESCI, decided": (
        [{"example_id": 4, "query": "hat", "query_id": 7, "product_id": "B1",
          "esci_label": "E"}],
        {"query": "query", "grade": "esci_label", "grades": {"E": 3}},
        [("hat", "B1", 3)],
    ),
    "a number of the row and a name that is unknown": (
        [{"id": 0, "query": "hat", "sku": "B1", "rating": 3}], {},
        ["has several names for documents, 'id', 'sku' (all: 'id', 'query', 'sku', ",
         "name one by load_judgments(..., document=...)"],
    ),
    "the same, decided": (
        [{"id": 0, "query": "hat", "sku": "B1", "rating": 3}], {"document": "sku"},
        [("hat", "B1", 3)],
    ),
    "id alone": (
        [{"id": "a", "query": "hat", "rating": 3}], {}, [("hat", "a", 3)],
    ),
    "id beside the id of an object": (
        [{"id": 5, "query": "hat", "object_id": "a", "rating": 3}], {},
        [("hat", "a", 3)],
    ),
    "a text beside an id": (
        [{"query": "hat", "document": "A red hat", "docid": "a", "rating": 3}], {},
        [("hat", "a", 3)],
    ),
    "a score beside a label": (
        [{"query": "hat", "docid": "a", "score": 0.5, "label": 3}], {},
        [("hat", "a", 3)],
    ),
    "two documents": (
        [{"query": "hat", "docid": "a", "product_id": "b", "rating": 3}], {},
        ["has several names for documents, 'docid', 'product_id'", "document=...)"],
    ),
    "two grades": (
        [{"query": "hat", "docid": "a", "rating": 3, "grade": 1}], {},
        ["has several names for grades, 'rating', 'grade'", "grade=...)"],
    ),
    "two queries": (
        [{"query": "hat", "qid": 7, "docid": "a", "rating": 3}], {},
        ["has several names for groups, 'query', 'qid'", "query=...)"],
    ),
    "two spellings": (
        [{"query": "hat", "Query": "cap", "docid": "a", "rating": 3}], {},
        ["has several names for groups, 'query', 'Query'"],
    ),
    "PyTerrier": (
        [{"qid": "1", "docid": 5, "docno": "a", "rank": 0, "score": 0.5, "query": "hat",
          "label": 1}], {}, [("1", "a", 1)],
    ),
    "our names come first": (
        [{"groups": "1", "query": "hat", "documents": "a", "grades": 2}], {},
        [("1", "a", 2)],
    ),
    "Quepid's details": (
        [{"Team Name": "t", "Case ID": 1, "Query Text": "hat", "Doc ID": "a",
          "Doc Position": 1, "Title": "Hat", "Rating": 3}], {}, [("hat", "a", 3)],
    ),
    "unknown names": (
        [{"visitor": "v", "item": "i", "stars": 4}], {},
        ["has no 'groups': give groups, documents, grades",
         "it has 'visitor', 'item', 'stars', and groups may be called qid",
         "or name it by load_judgments(..., query=...)"],
    ),
    "judges": (
        [{"query": "hat", "docid": "a", "Ann": 3, "Bob": 1},
         {"query": "hat", "docid": "b", "Ann": None, "Bob": 2}], {},
        ["has no 'grades'", "grade=...), or a list for the mean of several judges"],
    ),
    "the mean of judges": (
        [{"query": "hat", "docid": "a", "Ann": 3, "Bob": 2},
         {"query": "hat", "docid": "b", "Ann": None, "Bob": 2},
         {"query": "hat", "docid": "c", "Ann": None, "Bob": None}],
        {"grade": ["Ann", "Bob"]}, [("hat", "a", 2.5), ("hat", "b", 2)],
    ),
    "a name that is not there": (
        [{"query": "hat", "docid": "a", "Ann": 3}], {"grade": ["Ann", "Bob"]},
        ["has no 'Bob': give groups, documents, grades", "it has 'query', 'docid', 'A",
         "or name it by load_judgments(..., grade=...), or a list for the mean"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("table", TABLES)
def test_the_same_names_decide_in_every_container(table, container):
    rows, given, expected = TABLES[table]
    if container == "arrays by column" and table == "the mean of judges":
        rows = [row | {"Ann": row["Ann"] or np.nan, "Bob": row["Bob"]} for row in rows]
        rows[2]["Bob"] = np.nan
    if isinstance(expected[0], tuple):
        read = load_judgments(CONTAINERS[container](rows), **given)
        columns = read.groups.tolist(), read.documents.tolist(), read.grades.tolist()
        assert list(zip(*columns, strict=True)) == expected
        return
    with pytest.raises(ValueError, match="judgments") as caught:
        load_judgments(CONTAINERS[container](rows), **given)
    for words in expected:
        assert words in str(caught.value)


@pytest.mark.parametrize("table", TABLES)
def test_the_order_of_columns_and_rows_does_not_matter(table):
    """Of files and frames; the message may list names in another order."""
    rows, given, expected = TABLES[table]
    names = list(rows[0])
    orders = list(itertools.islice(itertools.permutations(names), 0, None, 7))
    for order in orders[:40]:
        other = [{name: row[name] for name in order} for row in rows[::-1]]
        for container in ("pandas", "lists by column", "dicts", "CSV"):
            given_table = CONTAINERS[container](other)
            if isinstance(expected[0], str):
                with pytest.raises(ValueError, match="judgments"):
                    load_judgments(given_table, **given)
                continue
            read = load_judgments(given_table, **given)
            columns = (
                read.groups.tolist(),
                read.documents.tolist(),
                read.grades.tolist(),
            )
            assert sorted(zip(*columns, strict=True)) == sorted(expected)


@pytest.mark.parametrize("container", ["pandas", "CSV", "JSON lines", "dicts"])
def test_every_known_name_is_read_and_every_two_of_one_rank_are_refused(container):
    good = {"groups": "hat", "documents": "a", "grades": 1}
    for column in good:
        for group in OTHER_COLUMNS[column].split("|"):
            names = group.split()
            for name in names:
                row = {name if key == column else key: v for key, v in good.items()}
                assert load_judgments(CONTAINERS[container]([row])).grades == [1]
            for one, other in itertools.combinations(names, 2):
                row = {key: v for key, v in good.items() if key != column}
                row |= {one: good[column], other: good[column]}
                with pytest.raises(ValueError, match=f"'{one}', '{other}'"):
                    load_judgments(CONTAINERS[container]([row]))


def test_ids_that_became_floats_are_told_in_every_reader():
    row = {"query": "hat", "docid": 15.0, "rating": 1}
    for container in ("pandas", "polars", "Arrow", "lists by column", "dicts", "JSON"):
        with pytest.raises(TypeError, match=r"got 15\.0: pandas makes .* dtype=str"):
            load_judgments(CONTAINERS[container]([row]))
    whole = pd.DataFrame([row]).astype({"docid": "Int64"})
    assert load_judgments(whole).documents.tolist() == ["15"]
    # Arrow knows integers beside missing ones
    rows = [{"query": "hat", "docid": 15, "Ann": 1, "Bob": 2},
            {"query": "hat", "docid": 16, "Ann": None, "Bob": 2}]  # fmt: skip
    for frame in (pa.Table.from_pylist, pl.DataFrame):
        read = load_judgments(frame(rows), grade=["Ann", "Bob"])
        assert (read.documents.tolist(), read.grades.tolist()) == (
            ["15", "16"],
            [1.5, 2],
        )


def test_frames_with_a_name_twice_are_refused():
    names = ["query", "docid", "rating", "rating"]
    message = "judgments: two columns have the same name: ['query', 'docid', 'rating'"
    refused(
        lambda: load_judgments(pd.DataFrame([["a", "b", 1, 2]], columns=names)),
        ValueError, message,
    )  # fmt: skip
    table = pa.table([["a"], ["b"], [1], [2]], names=names)
    refused(lambda: load_judgments(table), ValueError, message)


def test_runs_are_read_by_the_same_names():
    run = pd.DataFrame({"query": ["hat"], "qid": ["1"], "docid": ["a"], "score": [1.0]})
    message = "run has several names for groups, 'query', 'qid' (all: 'query', 'qid', "
    refused(lambda: join_run(run, {"1": {"a": 1}}), ValueError, message)
    run = pd.DataFrame({"query": ["1"], "product_id": ["a"], "score": [1.0]})
    assert join_run(run, {"1": {"a": 1}}).y_true.tolist() == [1]


def test_responses_with_two_queries_are_refused():
    docs = {"docs": [{"id": "a", "[features]": "f=1"}]}
    one = {"query": "hat", "topic": "cap", "response": docs}
    refused(lambda: load_feature_log([one]), ValueError,
            "responses, item 0 has several names for groups, 'query', 'topic'"
            " (all: 'query', 'topic'): give groups")  # fmt: skip
    log = load_feature_log({"hat": {"response": docs}})
    rows = {"query": ["hat"], "qid": [1], "docid": ["a"], "rating": [1]}
    refused(lambda: join_features(rows, log), ValueError,
            "rows has several names for groups, 'query', 'qid'")  # fmt: skip


# --- objects of JSON, and lists of the plugin -----------------------------------------

OF_RRE = {
    "index": "films",
    "topics": [
        {
            "description": "films",
            "query_groups": [
                {
                    "name": "one",
                    "queries": [
                        {"template": "t", "placeholders": {"$query": "hat", "$n": 4}},
                        {"template": "t", "placeholders": {"$query": "cap"}},
                    ],
                    "relevant_documents": {"a": {"gain": 3}, "b": {"rating": 1}},
                },
                {
                    "queries": [
                        {"template": "t", "placeholders": {"$q": "coat"}},
                        {"template": "t", "placeholders": {"$q": "not judged"},
                         "relevant_documents": {}},
                    ],
                    "relevant_documents": {"2": ["c"], "0": ["d", "e"]},
                },
            ],
        }
    ],
}  # fmt: skip
READ = {
    "a case of Quepid": (
        {"case_name": "c", "scorer": {"name": "nDCG", "scale": [0, 1]}, "queries": [
            {"query_text": "hat", "notes": None, "options": {}, "ratings": [
                {"doc_id": "1", "rating": 3, "user_email": "x"}]},
            {"query_text": "none", "ratings": []}], "try": {"name": "t", "n": 7}},
        {}, [("hat", "1", 3)],
    ),
    "RRE": (
        OF_RRE, {},
        [("hat", "a", 3), ("hat", "b", 1), ("cap", "a", 3), ("cap", "b", 1),
         ("coat", "c", 2), ("coat", "d", 0), ("coat", "e", 0)],
    ),
    "RRE without judgements of a query": (
        {"queries": [{"template": "t", "placeholders": {"$query": 5}},
                     {"placeholders": {"$query": "hat"},
                      "relevant_documents": {"a": {"gain": 1}}}]},
        {}, [("hat", "a", 1)],
    ),
    "a placeholder that is named": (
        {"queries": [{"placeholders": {"$a": "x", "$b": "hat"},
                      "relevant_documents": {"1": ["a"]}}]},
        {"query": "$b"}, [("hat", "a", 1)],
    ),
    "names of keys": (
        [{"search": "hat", "ratings": [{"sku": "a", "stars": 2, "id": 7}]}],
        {"query": "search", "document": "sku", "grade": "stars"}, [("hat", "a", 2)],
    ),
    "_rank_eval with a template": (
        {"requests": [{"id": "hat", "template_id": "t", "params": {"q": "hat"},
                       "ratings": [{"_index": "i", "_id": "1", "rating": 3}]}]},
        {}, [("hat", "1", 3)],
    ),
    "a query called index": ({"index": {"a": 1}}, {}, [("index", "a", 1)]),
    "a bulk request": (
        [{"index": {"_id": "7", "_index": "j"}},
         {"query": "hat", "docid": "a", "rating": 1},
         {"create": {}}, {"query": "hat", "docid": "b", "rating": 0}],
        {}, [("hat", "a", 1), ("hat", "b", 0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_judgements_of_other_tools_are_read(tmp_path, name):
    given, options, expected = READ[name]
    text = json.dumps(given, indent=1)
    (tmp_path / "judged.json").write_text(text)
    found = [given, tmp_path / "judged.json", io.StringIO(json.dumps(given))]
    if isinstance(given, list):
        found.append(io.StringIO("\n".join(map(json.dumps, given))))
    for one in found:
        read = load_judgments(one, **options)
        columns = read.groups.tolist(), read.documents.tolist(), read.grades.tolist()
        assert list(zip(*columns, strict=True)) == expected


REFUSED = [
    ([{"query": "hat", "ratings": [{"docid": "a", "product_id": "b", "rating": 1}]}],
     "query 'hat', rating 0 has several names for documents, 'docid', 'product_id'"),
    ([{"query": "hat", "ratings": [{"id": 7, "sku": "b", "rating": 1}]}],
     "query 'hat', rating 0 has several names for documents, 'id', 'sku'"),
    ([{"query": "hat", "qid": 7, "ratings": []}],
     "several names for groups, 'query', 'qid'"),
    ([{"id": 17, "search": "hat", "ratings": [{"docid": "a", "rating": 1}]}],
     "item 0 has no 'groups': give groups, documents, grades, or a dict of dicts by "
     "topic and document; it has 'id', 'search'"),
    ([{"search": "hat", "ratings": [{"docid": "a", "rating": 1}]}],
     "it has 'search', and groups may be called"),
    ({"queries": [{"placeholders": {"$a": "x", "$b": "y"},
                   "relevant_documents": {"1": ["a"]}}]},
     "query 0: name the placeholder of the query by load_judgments(..., query=...), "
     "one of '$a', '$b'"),
    ({"queries": [{"placeholders": {"$query": "x"}, "relevant_documents": {"a": 3}}]},
     "query 0: relevant_documents is {'a': 3}: give lists of documents by grade"),
    ({"queries": [{"placeholders": {"$query": "x"}, "relevant_documents": {"a": {}}}]},
     "query 'x', document 'a': the rating must be a number, got None"),
    ({"name": "b", "query_doc_pairs": [
        {"query_text": "hat", "doc_id": 1, "position": 2, "judgements": [{"rating": 1}]}
    ]}, "query 0 has no 'grades'"),
    ([{"delete": {"_id": "7"}}], "item 0: a bulk request that would delete: leave it"),
    ([{"update": {"_id": "7"}}, {"doc": {"query": "hat"}}], "that would update"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_may_be_meant_otherwise_is_refused(given, message):
    for one in (given, io.StringIO(json.dumps(given, indent=1))):
        refused(lambda one=one: load_judgments(one), ValueError, message)


def test_grades_are_a_dict_by_label():
    refused(lambda: load_judgments({"q": {"a": 1}}, grades=[1]), TypeError,
            "grades must be a dict of grades by label, got [1]")  # fmt: skip
    table = [{"query": "hat", "docid": "a", "rating": "1.0"},
             {"query": "hat", "docid": "b", "rating": 5}]  # fmt: skip
    read = load_judgments(table, grades={1: 4, "5": 0})  # as Cranfield counts
    assert read.grades.tolist() == [4, 0]
    bad = {
        -1: "must be finite and at least 0, got 'x'",
        "good": "must be a number, got",
    }
    for grade, message in bad.items():
        read_it = partial(load_judgments, {"q": {"a": "x"}}, grades={"x": grade})
        refused(read_it, ValueError, f"query 'q', document 'a': the rating {message}")


LIST = """# grade (0-4)\tqueryid\tdocId\ttitle
# qid:1: rambo*1
# qid:2: rocky ii

4\tqid:1 #\t7555\tRambo
0 qid:1 1:0.5 2:nan # 1368 First Blood
# between
3.5 qid:2 # docid = 1367 Rocky II
"""
OF_LIST = [("rambo", "7555", 4.0), ("rambo", "1368", 0.0), ("rocky ii", "1367", 3.5)]


def test_lists_of_the_plugin_are_read(tmp_path):
    (tmp_path / "list.txt").write_text(LIST)
    numbers = LIST.replace("# qid:", "# query ")
    for source, names in (
        (tmp_path / "list.txt", {}),
        (io.StringIO(LIST), {}),
        (io.StringIO(numbers), {"rambo": "1", "rocky ii": "2"}),
    ):
        read = load_judgments(source)
        columns = read.groups.tolist(), read.documents.tolist(), read.grades.tolist()
        expected = [(names.get(query, query), *more) for query, *more in OF_LIST]
        assert list(zip(*columns, strict=True)) == expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# qid:2: rocky ii\n", "", "line 7: no line '# qid:2: words' names query 2"),
        ("# qid:2: rocky", "# qid:1: rocky",
         "line 3: '# qid:1: rocky ii' names another than 'rambo*1' before: take one"),
        (" #\t7555\tRambo", "", "line 5: no '#docid = name' names the document"),
        ("4\tqid", "four\tqid", "line 5: the grade is not a number: 'four'"),
        ("0 qid:1", "-1 qid:1", "line 6, query 'rambo', document '1368': the rating m"),
        ("0 qid:1", "x qid:1", "line 6: the grade is not a number: 'x'"),
        ("0 qid:1", "0 qid:one", "line 6: 'qid:' and a number must follow the grade"),
        ("1368", "7555", "line 6, query 'rambo', document '7555': the rating is 0, b"),
    ],
)  # fmt: skip
def test_faults_of_lists_of_the_plugin_are_named(old, new, message):
    text = LIST.replace(old, new)
    assert text != LIST
    refused(lambda: load_judgments(io.StringIO(text)), ValueError, message)


# --- logged features ------------------------------------------------------------------


def test_features_that_nobody_asks_for_may_hold_anything():
    held = {"bm25": 1.5, "tensor": {"type": "tensor(x[2])", "values": [1, 2]},
            "far": np.inf, "text": "x"}  # fmt: skip
    hit = {"fields": {"documentid": "a", "matchfeatures": held}}
    responses = {"hat": {"root": {"children": [hit, hit]}}}
    log = load_feature_log(responses, feature_names=["bm25"])
    assert (log.data.tolist(), log.feature_names.tolist()) == ([[1.5]], ["bm25"])
    for name in ("tensor", "far", "text"):
        refused(lambda name=name: load_feature_log(responses, feature_names=[name]),
                ValueError, f"hit 0, feature '{name}' ")  # fmt: skip
    refused(lambda: load_feature_log(responses, feature_names=["price"]), ValueError,
            "which no hit has: the log has 'bm25', 'tensor', 'far', ")  # fmt: skip


def test_without_pandas_joined_features_are_an_array_with_names(monkeypatch):
    docs = [
        {"id": name, "[features]": f"bm25={i},price=2"} for i, name in enumerate("ab")
    ]
    log = load_feature_log({"hat": {"response": {"docs": docs}}})
    judged = {"hat": {"b": 1, "a": 0}}
    frame = join_features(judged, log).data
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == ["bm25", "price"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    joined = join_features(judged, log)
    assert joined.data.feature_names.tolist() == ["bm25", "price"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(joined.data, frame.to_numpy())
