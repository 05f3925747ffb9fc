"""What search engines write: judgements, logged features, events; joined for fit."""

from __future__ import annotations

import bz2
import copy
import gzip
import inspect
import io
import json
import re
import warnings
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.clicks import DynamicBayesianNetwork, counterfactual_score
from sklearn_ltr.datasets import (
    join_features,
    join_run,
    load_feature_log,
    load_judgments,
    load_qrels,
    load_ubi,
)
from tests.bad_inputs import INF, NAN, refused

RATED = {"red hat": {"a1": 3.0, "b2": 0.0}, "scarf": {"a1": 0.5}}
ROWS = [(q, d, grade) for q, listed in RATED.items() for d, grade in listed.items()]


def entries(document: str, rating: str, as_text: bool = True) -> dict[str, list[dict]]:
    """Return a list of ratings for each query."""
    return {
        query: [
            {document: name, rating: f"{grade:.3f}" if as_text else grade}
            for name, grade in listed.items()
        ]
        for query, listed in RATED.items()
    }


LISTED = [
    {"query": query, "ratings": listed}
    for query, listed in entries("docId", "rating").items()
]
WORKBENCH = {"name": "mine", "type": "IMPORT_JUDGMENT", "judgmentRatings": LISTED}
#: the same judgements in each format
JUDGMENTS = {
    "the workbench's list": WORKBENCH,
    "its list alone": LISTED,
    "its dict of queries": {
        "name": "mine",
        "judgmentRatings": entries("docId", "rating"),
    },
    "its older scores": {"judgmentScores": entries("docId", "score")},
    "its older scores as stored": {"judgmentScores": RATED},
    "as the engine returns it": {
        "took": 1, "hits": {"hits": [{"_id": "7", "_source": WORKBENCH}]},
    },
    "_rank_eval": {
        "requests": [
            {
                "id": query,
                "request": {"query": {"match": {"title": query}}},
                "ratings": [{"_index": "shop", **one} for one in listed],
            }
            for query, listed in entries("_id", "rating", as_text=False).items()
        ],
        "metric": {"precision": {"k": 5}},
    },
    "Quepid's JSON": {
        "queries": [{"query": q, "ratings": listed} for q, listed in RATED.items()]
    },
    "rows of JSON": [{"query": q, "docid": d, "rating": g} for q, d, g in ROWS],
    "a dict of dicts": RATED,
    "columns": {
        "groups": [row[0] for row in ROWS],
        "documents": np.array([row[1] for row in ROWS]),
        "grades": pd.Series([row[2] for row in ROWS], index=[5, 6, 7]),
    },
}  # fmt: skip
QUEPID = (
    'query,docid,rating\r\nred hat,a1,3\r\n" red hat",b2,0.0\r\nnothing found,,\r\n'
    "red hat,c3,\r\nscarf,a1,.5\r\n"
)


#: queries of which lists of ratings look like lists of queries, or like a row
AMBIGUOUS = ("queries x", "requests", "judgmentRatings", "query docid label")


def as_rows(judged):
    names = ("groups", "documents", "grades")
    return list(zip(*(judged[name].tolist() for name in names), strict=True))


@pytest.mark.parametrize("form", JUDGMENTS)
def test_judgements_are_read_in_each_form(tmp_path, form):
    given = JUDGMENTS[form]
    judged = load_judgments(given)
    assert as_rows(judged) == ROWS
    assert (judged.grades.dtype, judged.groups.dtype.kind) == (np.float64, "U")
    if form == "columns":
        return
    for indent in (None, 2):
        text = json.dumps(given, indent=indent)
        (tmp_path / "judgments").write_text(text)
        assert as_rows(load_judgments(tmp_path / "judgments")) == ROWS
        assert as_rows(load_judgments(io.StringIO(text))) == ROWS
        assert as_rows(load_judgments(io.BytesIO(text.encode()))) == ROWS


@pytest.mark.parametrize(
    "names",
    [
        "qid docno label", "query_id doc_id relevance", "query-id corpus-id score",
        "qid pid rel", "keywords docId grade",
    ],
)  # fmt: skip
def test_tables_may_have_the_names_of_other_tools(tmp_path, names):
    columns = dict(zip(names.split(), zip(*ROWS, strict=True), strict=True))
    frame = pd.DataFrame(columns)[names.split()[::-1]]
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert as_rows(load_judgments(table)) == ROWS
    for sign in ",\t;":
        frame.to_csv(tmp_path / "table", sep=sign, index=False)
        assert as_rows(load_judgments(str(tmp_path / "table"))) == ROWS


@pytest.mark.parametrize("opened", [open, gzip.open, bz2.open])
def test_exports_of_quepid_leave_out_what_is_not_judged(tmp_path, opened):
    with opened(tmp_path / "quepid.csv", "wt", encoding="utf-8-sig") as file:
        file.write(QUEPID)
    assert as_rows(load_judgments(tmp_path / "quepid.csv")) == ROWS


def test_qrels_are_judgements_too(tmp_path):
    (tmp_path / "qrels").write_text("# mine\n7 0 a 2\n7\t0\tb\t0\n\n8 0 a 1\n")
    judged, qrels = (load(tmp_path / "qrels") for load in (load_judgments, load_qrels))
    assert as_rows(judged) == as_rows(qrels)


def test_integers_become_text_and_equal_ratings_count_once():
    rows = [
        {"qid": 7, "docid": 12, "label": 1},
        {"qid": "7", "docid": 12, "label": "1"},
    ]
    assert as_rows(load_judgments(rows)) == [("7", "12", 1.0)]
    assert as_rows(load_judgments(WORKBENCH["judgmentRatings"] * 2)) == ROWS


def test_rows_and_responses_of_other_libraries_are_read():
    Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration")
    rows = [Qrel(*row, 0) for row in ROWS]
    assert as_rows(load_judgments(rows)) == ROWS
    with pytest.raises(TypeError, match=r"got generator: give list\(judgments\)"):
        load_judgments(row for row in rows)
    clients = [("body", ELASTIC), ("json", VESPA), ("raw_response", SOLR)]
    for attribute, by_query in clients:
        held = {q: SimpleNamespace(**{attribute: r}) for q, r in by_query.items()}
        check_log(load_feature_log(held))
        check_log(load_feature_log(list(held.values()), groups=list(held)))


@pytest.mark.parametrize(
    "queries",
    ["queries x", "ratings", "query ratings", "hits", "requests", "query docid label",
     "_source", "judgmentRatings"],
)  # fmt: skip
def test_queries_may_be_called_as_keys_are(queries):
    nested = {query: {"a": 2, "b": 0} for query in queries.split()}
    expected = [(q, d, g) for q, listed in nested.items() for d, g in listed.items()]
    if queries != "_source":  # a hit
        assert as_rows(load_judgments(nested)) == expected
    listed = {
        q: [{"docId": d, "rating": g} for d, g in nested[q].items()] for q in nested
    }
    if queries not in AMBIGUOUS:
        assert as_rows(load_judgments(listed)) == expected


def test_runs_are_joined_with_judgements_of_queries_in_words():
    joined = join_run({"red hat": {"a1": 0.3, "b2": 0.7}}, load_judgments(WORKBENCH))
    assert joined.y_true.tolist() == [0.0, 3.0]


def of(second, **more):
    return {"judgmentRatings": [
        {"query": "hat", "ratings": [{"docId": "a", "rating": "1"}, second | more]}
    ]}  # fmt: skip


B = {"docId": "b"}
NO_RATINGS = "judgments has no ratings: give a list of objects with 'query' and 'rat"
BAD_JUDGMENTS = [
    *((of(B, rating=bad), ValueError,
       f"judgments, query 0, query 'hat', document 'b': the {w}")
      for bad, w in (
          (NAN, "rating must be finite and at least 0, got nan"),
          ("NaN", "rating must be finite and at least 0, got 'NaN'"),
          (INF, "rating must be finite"), (-1, "rating must be finite and at"),
          ("good", "rating must be a number, got 'good'"),
          ("1_0", "rating must be a number"), (None, "rating must be a number, got N"),
          (True, "rating must be a number, got True"), ([1], "rating must be a numb"),
          (10**400, "rating must be finite"))),
    (of(B), ValueError, "rating 1: {'docId': 'b'} is no rating: give an object with"),
    (of({"docId": "a", "rating": 2}), ValueError,
     "document 'a': the rating is 2, but 1 before: keep one"),
    (of({"docId": " ", "rating": 2}), ValueError, "the document is '': give it a"),
    (of({"docId": 1.5, "rating": 2}), TypeError, "must be text or a whole number, got"),
    ({"judgmentRatings": []}, ValueError, NO_RATINGS),
    ({"judgmentRatings": {}}, ValueError, NO_RATINGS),
    ([], ValueError, NO_RATINGS),
    ({}, ValueError, NO_RATINGS),
    ([{"query": "hat", "ratings": []}], ValueError, NO_RATINGS),
    ({"name": "mine"}, ValueError, "query 'name': 'mine' is no list of ratings: give"),
    ([{"query": "hat"}], ValueError, "judgments, item 0, query 'hat' has no ratings: "),
    ([3], ValueError, "judgments, item 0: 3 holds no judgements: give a list"),
    ({"hat": {"a": 1}, "cap": 5}, ValueError, "query 'cap': 5 is no list of ratings"),
    ({"hat": {"a": {"rate": 1}}}, ValueError, "the rating must be a number, got {'r"),
    (3, TypeError, "judgments must be a path, a file, a frame, or what json.load"),
    (b"{}", TypeError, "judgments must be a path"),
    ('[{"query"', ValueError, "judgments is JSON, not a path: give json.loads(judgm"),
    (pl.LazyFrame({"query": ["a"]}), TypeError, "got LazyFrame: collect it"),
    (pd.DataFrame({"query": ["a"], "docid": ["b"]}), ValueError,
     "judgments has no 'grades': give groups, documents, grades"),
    (pd.DataFrame({"query": ["a"], "docid": ["b"], "rating": [NAN]}), ValueError,
     "judgments, row 0, query 'a', document 'b': the rating must be finite"),
    ({"groups": ["a"], "documents": ["b", "c"], "grades": [1]}, ValueError,
     "judgments has columns of different lengths"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "error", "message"), BAD_JUDGMENTS)
def test_what_is_no_judgement_is_refused(given, error, message):
    refused(lambda: load_judgments(given), error, message)


BAD_FILES = [
    ("", "is empty: check it"),
    ('{"a": {"b": 1}\n', "line 1: this is not JSON: Expecting ',' delimiter"),
    ('\n[\n{"a": 1}\n{"a": 2}]', "line 4: this is not JSON: Expecting ',' delimiter"),
    ('[\n{"a": 1,\n"a": 2}]', "line 1: this is not JSON: 'a' is given twice in one"),
    ('{"a": {"b": 1}}\n{"c": {"d": x}}\n', "line 2: this is not JSON: Expecting value"),
    ('{"a": {"b": 1}}\n\n{"c": {"d": -1}}\n', "line 3, query 'c', document 'd': the"),
    ("[" * 100_000, "line 1: this is not JSON: it is nested too deeply"),
    ("query,docid,rating\na,b,1\na,c\n", "line 3: 2 fields instead of the 3 of 'query"),
    ('query,docid,rating\na,"b,1\n', "this is not CSV: unexpected end of data"),
    ("query,docid,docid\na,b,1\n", "line 1: two columns have the same name: 'query,d"),
    ("query,docid,rating\na,b,good\n", "line 2, query 'a', document 'b': the rating m"),
    ("a,b,1\n", "judgments has no ratings"),
    ("hello\n", "judgments has no ratings"),
    ("<response>\n", "line 1: this is XML or HTML: ask for JSON, as by wt=json of So"),
    ("7 0 a 1\n7 0 b\n", "line 2: 3 fields instead of the 4 of 'topic iteration do"),
    ("PAR1", "line 1: this is a Parquet file: read it with its own reader, and give"),
    ('{"a\xe9": 1}'.encode("latin1"), "line 1: '{\"a\\xe9\": 1}' is not in UTF-8"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), BAD_FILES)
def test_errors_in_files_name_the_file_and_the_line(tmp_path, content, message):
    path = tmp_path / "judged"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(lambda: load_judgments(path), ValueError, message)
    with pytest.raises(ValueError, match="BytesIO|judgments has no ratings"):
        load_judgments(io.BytesIO(path.read_bytes()))


# --- logged features ------------------------------------------------------------------

FEATURES = {
    ("hat", "a"): {"bm25": 9.5, "price": 3.0},
    ("hat", "b"): {"bm25": NAN, "price": 0.0},
    ("cap", "a"): {"bm25": 0.25, "price": -1e-3},
}
DATA = np.array([[9.5, 3.0], [NAN, 0.0], [0.25, -1e-3]])


def elastic(features):
    pairs = [
        {"name": name} | ({} if np.isnan(value) else {"value": value})
        for name, value in features.items()
    ]
    return {"main": [*pairs, {"name": "extra_logging", "value": {"note": 1}}]}


def responses(hit, listed):
    """Return the response of each query."""
    found: dict[str, list[dict]] = {}
    for (query, document), features in FEATURES.items():
        found.setdefault(query, []).append(hit(document, features))
    return {query: listed(hits) for query, hits in found.items()}


def in_hits(hits):
    return {"took": 1, "hits": {"total": {"value": len(hits)}, "hits": hits}}


ELASTIC = responses(
    lambda name, features: {
        "_id": name, "_source": {"sku": f"s{name}"},
        "fields": {"_ltrlog": [elastic(features)], "code": [f"c{name}"]},
    },
    in_hits,
)  # fmt: skip
SOLR = responses(
    lambda name, features: {
        "id": name,
        "[features]": ",".join(f"{key}={value}" for key, value in features.items()),
    },
    lambda docs: {"responseHeader": {}, "response": {"numFound": 2, "docs": docs}},
)
VESPA = responses(
    lambda name, features: {
        "id": f"index:content/0/{name}",
        "fields": {
            "documentid": name,
            "matchfeatures": {
                k: None if np.isnan(v) else v for k, v in features.items()
            }
            | {"vespa.summaryFeatures.cached": 0.0},
        },
    },
    lambda children: {"root": {"fields": {"totalCount": 2}, "children": children}},
)
ENGINES = {"elastic": ELASTIC, "solr": SOLR, "vespa": VESPA}


def check_log(log, order=slice(None)):
    np.testing.assert_array_equal(log.data, DATA[:, order])
    assert log.data.dtype == np.float64
    keys = zip(log.groups.tolist(), log.documents.tolist(), strict=True)
    assert list(keys) == [*FEATURES]
    assert log.feature_names.tolist() == np.array(["bm25", "price"])[order].tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_features_are_read_from_each_engine(tmp_path, engine):
    by_query = ENGINES[engine]
    queries, listed = list(by_query), list(by_query.values())
    check_log(load_feature_log(by_query))
    check_log(load_feature_log([{"query": q} | r for q, r in by_query.items()]))
    check_log(load_feature_log(listed, groups=queries))
    check_log(load_feature_log({"took": 2, "responses": listed}, groups=queries))
    with_ids = [{"qid": q, "response": r} for q, r in by_query.items()]
    for name, text in (
        ("log.json", json.dumps(by_query, indent=1)),
        ("log.jsonl", "\n".join(map(json.dumps, with_ids))),
    ):
        (tmp_path / name).write_text(text)
        check_log(load_feature_log(tmp_path / name))
    columns = load_feature_log(by_query, feature_names=np.array(["price", "bm25"]))
    check_log(columns, slice(None, None, -1))
    assert load_feature_log(by_query, feature_names=["price"]).data.shape == (3, 1)


def test_hits_may_be_logged_one_by_one():
    hits = [
        {"query": query} | hit
        for query, r in ELASTIC.items()
        for hit in r["hits"]["hits"]
    ]
    check_log(load_feature_log(hits))


@pytest.mark.parametrize(
    ("field", "first"), [("sku", "sa"), ("code", "ca"), ("_id", "a")]
)
def test_documents_may_be_named_by_a_field(field, first):
    assert load_feature_log(ELASTIC, id_field=field).documents[0] == first


def test_what_sparse_logs_leave_out_is_missing():
    docs = [{"id": 1, "fv": "a=1.0"}, {"id": 2, "fv": ""}, {"id": 3, "fv": "b=2,a=0.0"}]
    log = load_feature_log({"q": {"response": {"docs": docs}}}, log="fv")
    np.testing.assert_array_equal(log.data, [[1, NAN], [NAN, NAN], [0, 2]])


def test_one_of_several_logs_is_read():
    fields = {"matchfeatures": {"f": 1}, "summaryfeatures": {"g": 2}}
    response = {"root": {"children": [{"id": "id:a:b::c", "fields": fields}]}}
    log = load_feature_log({"q": response}, log="summaryfeatures")
    assert (log.feature_names.tolist(), log.data.tolist()) == (["g"], [[2]])
    message = "query 'q', hit 0 has several logs: give log, one of 'matchfeatures', '"
    refused(lambda: load_feature_log({"q": response}), ValueError, message)


def changed(change):
    """Return responses of Elasticsearch of which the second hit is changed."""
    given = copy.deepcopy(ELASTIC)
    hit = given["hat"]["hits"]["hits"][1]
    change(hit, hit["fields"]["_ltrlog"][0]["main"])
    return given


AT = "responses, query 'hat', hit 1"
BAD_LOGS = [
    (changed(lambda hit, log: log[0].update(value="x")), {}, ValueError,
     f"{AT}, feature 'bm25' must be a number, got 'x'"),
    (changed(lambda hit, log: log[0].update(value={"cells": []})), {}, ValueError,
     f"{AT}, feature 'bm25' must be a number, got {{'cells'"),
    (changed(lambda hit, log: log[0].update(value=-INF)), {}, ValueError,
     f"{AT}, feature 'bm25' is infinite: bound it"),
    (changed(lambda hit, log: log[0].update(value=True)), {}, ValueError, "a number"),
    (changed(lambda hit, log: log[0].pop("name")), {}, ValueError,
     f"{AT}, log 'main': [{{}}, {{'name'"),
    (changed(lambda hit, log: log.append(log[1])), {}, ValueError,
     f"{AT}, feature 'price' is there twice"),
    (changed(lambda hit, log: hit.pop("fields")), {}, ValueError,
     f"{AT} has no log of features, but none: ask for it (ext.ltr_log"),
    (changed(lambda hit, log: hit.pop("_id")), {}, ValueError,
     f"{AT} has no documentid or _id or id: give id_field"),
    (changed(lambda hit, log: hit.update(_id="a")), {}, ValueError,
     f"{AT}: document 'a' of query 'hat' is there before with other features"),
    (ELASTIC, {"log": "other"}, ValueError,
     "has no log 'other' of features, but 'main'"),
    (ELASTIC, {"id_field": "isbn"}, ValueError, "has no isbn: give id_field"),
    (ELASTIC, {"feature_names": ["recency"]}, ValueError,
     "feature_names has 'recency', which no hit has: the log has 'bm25', 'price'"),
    (ELASTIC, {"feature_names": ["bm25", "bm25"]}, ValueError, "has a name twice"),
    (ELASTIC, {"groups": []}, ValueError, "groups is empty: give at least one name"),
    (ELASTIC, {"feature_names": "bm25"}, TypeError,
     "feature_names must be a list of names, got 'bm25'"),
    (ELASTIC, {"groups": ["hat"]}, ValueError,
     "groups has 1 values for the 2 responses: give the query of each"),
    (list(ELASTIC.values()), {}, ValueError,
     "responses, item 0 has no query: give a dict of responses by query"),
    ({"hat": ELASTIC["hat"] | {"query": "cap"}}, {}, ValueError,
     "responses, query 'hat' is of query 'hat' and of 'cap': give one"),
    ({"hat": {"error": {"type": "x"}, "status": 400}}, {}, ValueError,
     "responses, query 'hat' is an error, {'type': 'x'}: search again"),
    ({"hat": {"root": {"errors": [{"code": 4}]}}}, {}, ValueError, "is an error"),
    ({"hat": in_hits([3])}, {}, ValueError, "hit 0: 3 is no hit"),
    ({"hat": in_hits([])}, {}, ValueError, "responses has no hits: give"),
    ([], {}, ValueError, "responses has no hits: give"),
    ({"hat": {"took": 3}}, {}, ValueError, "3 is no response of a search engine"),
    ({"hat": {"response": {"docs": [{"id": 1, "[features]": "a=1,b"}]}}}, {},
     ValueError, "'a=1,b' has a feature without a name"),
    ({"hat": {"root": {"children": [
        {"id": "index:c/0/1", "fields": {"matchfeatures": {"f": 1}}}]}}}, {},
     ValueError, "'index:c/0/1' is Vespa's own name: ask for documentid in"),
    (pd.DataFrame({"a": [1]}), {}, ValueError, "responses, row 0, query 'a': 1 is no"),
    (3, {}, TypeError, "responses must be a path"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "options", "error", "message"), BAD_LOGS)
def test_what_is_no_log_of_features_is_refused(given, options, error, message):
    refused(lambda: load_feature_log(given, **options), error, message)


# --- joined ---------------------------------------------------------------------------

LOG = load_feature_log(ELASTIC)


def test_features_follow_the_rows_of_judgements():
    joined = join_features({"cap": {"a": 1}, "hat": {"b": 0, "a": 2}}, LOG)
    np.testing.assert_array_equal(joined.data, DATA[[2, 1, 0]])
    assert joined.target.tolist() == [1, 0, 2]
    assert joined.groups.tolist() == ["cap", "hat", "hat"]
    assert joined.documents.tolist() == ["a", "b", "a"]
    assert joined.feature_names.tolist() == ["bm25", "price"]
    assert (joined.n_unlogged, joined.n_unused) == (0, 0)
    ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, subsample=1.0)
    ranker.fit(joined.data, joined.target, groups=joined.groups)


def test_what_joins_nothing_is_counted_and_told():
    judged = {"hat": {"a": 2, "z": 1, "y": 0}}
    with pytest.warns(UserWarning, match=re.escape(
        "left out: 2 judgements without features, first document 'y' of query 'hat'; 2 "
        "logged documents that are in no row, first document 'a' of query 'cap'"
    )):  # fmt: skip
        joined = join_features(judged, LOG)
    assert (joined.n_unlogged, joined.n_unused, len(joined.data)) == (2, 2, 1)
    with pytest.warns(UserWarning, match="2 judgements without features"):
        joined = join_features(judged, LOG, unjudged=0.5)  # of judged queries only
    assert joined.documents.tolist() == ["a", "b"]
    assert joined.target.tolist() == [2, 0.5]
    assert (joined.n_unlogged, joined.n_unused) == (2, 1)


@pytest.mark.parametrize(
    ("rows", "log", "error", "message"),
    [
        ({"rambo": {"x": 1}}, LOG, ValueError,
         "rows and log have nothing in common: rows has document 'x' of query 'rambo', "
         "log has document 'a' of query 'hat': name queries and documents alike"),
        ({"hat": {"a": -1}}, LOG, ValueError, "rows, query 'hat', document 'a': the"),
        ({"hat": {"a": 1}}, {"groups": ["hat"]}, TypeError,
         "log must be a Bunch or dict of groups, documents, data, as a reader returns"),
        ({"clicks": [1]}, LOG, TypeError, "rows must be a Bunch or dict of groups"),
        ({"hat": {"a": 1}}, LOG | {"groups": ["hat"]}, ValueError,
         "log has columns of different lengths: {'groups': 1, 'documents': 3, 'data'"),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_is_refused(rows, log, error, message):
    refused(lambda: join_features(rows, log), error, message)


# --- queries and events ---------------------------------------------------------------


def query(query_id="s1", text="hat", listed=("a", "b", "c"), **more):
    found = {} if listed is None else {"query_response_hit_ids": list(listed)}
    return {"query_id": query_id, "user_query": text, "client_id": "x"} | found | more


def event(action, name, ordinal=None, query_id="s1", **more):
    position = {} if ordinal is None else {"ordinal": ordinal}
    return {
        "action_name": action, "query_id": query_id, "timestamp": "2026-11-28",
        "event_attributes": {"object": {"object_id": name}, "position": position},
    } | more  # fmt: skip


QUERIES = [
    query(),
    query("s2", "hat", ["b", "a"]),
    query("s3", "cap", ["a", "d"]),
    query("s4", "none", []),
]
EVENTS = [
    event("impression", "b", 1, "s2"),
    event("click", "b", 1, "s2"),
    event("click", "b", 2),
    event("click", "b", 2),
    event("click", "d", None, "s3"),
    event("add_to_cart", "a", 1, "s1"),
    {"action_name": "page_exit", "query_id": None},
]
SHOWN = [
    (0, "hat", "a", 0, "s1"), (1, "hat", "b", 1, "s1"), (0, "hat", "c", 2, "s1"),
    (1, "hat", "b", 0, "s2"), (0, "hat", "a", 1, "s2"),
    (0, "cap", "a", 0, "s3"), (1, "cap", "d", 1, "s3"),
]  # fmt: skip


def columns_of(log):
    assert [*log] == ["clicks", "groups", "documents", "positions", "sessions"]
    assert log.clicks.dtype == log.positions.dtype == np.int64
    return list(zip(*(log[name].tolist() for name in log), strict=True))


def as_hits(records):
    return in_hits([{"_index": "ubi", "_source": record} for record in records])


def as_bulk(records):
    action = {"index": {"_index": "ubi"}}
    return "\n".join(json.dumps(one) for record in records for one in (action, record))


JSON_FORMS = [
    lambda records: records,
    as_hits,
    lambda records: io.StringIO(json.dumps(records, indent=1)),
    lambda records: io.StringIO(json.dumps(as_hits(records))),
    lambda records: io.BytesIO("\n".join(map(json.dumps, records)).encode()),
    lambda records: io.StringIO(as_bulk(records)),
]
TABLES = [
    pd.DataFrame,
    pd.json_normalize,
    lambda records: pd.json_normalize(records).convert_dtypes(),
    lambda records: pl.from_pandas(pd.json_normalize(records)),
    pa.Table.from_pylist,
    lambda records: pa.Table.from_pylist(records).to_pandas(),
]


@pytest.mark.parametrize("form", JSON_FORMS + TABLES)
def test_queries_and_events_become_a_log_of_clicks(form):
    assert columns_of(load_ubi(form(QUERIES), form(EVENTS))) == SHOWN


@pytest.mark.parametrize("form", JSON_FORMS)
def test_queries_and_events_may_be_in_one_file(form):
    assert columns_of(load_ubi(form(EVENTS[:2] + QUERIES + EVENTS[2:]))) == SHOWN


def test_click_models_and_scores_take_the_log():
    log = load_ubi(QUERIES, EVENTS)
    DynamicBayesianNetwork().fit(**log)
    del log["documents"]
    scores = -log.positions.astype(float)
    counterfactual_score(
        log.pop("clicks"), scores, **log, propensities=[1, 0.5, 0.2], metric="dcg@2"
    )


def test_clicks_get_the_features_of_their_query():
    log = load_ubi(QUERIES, EVENTS)
    for rows in (log, pd.DataFrame(log)):
        with pytest.warns(UserWarning, match="2 shown documents without features"):
            joined = join_features(rows, LOG)
        np.testing.assert_array_equal(joined.data, DATA[[0, 1, 1, 0, 2]])
        assert joined.clicks.tolist() == [0, 1, 1, 0, 0]
        assert joined.positions.tolist() == [0, 1, 0, 1, 0]
        assert joined.sessions.tolist() == ["s1", "s1", "s2", "s2", "s3"]


def test_other_actions_may_count():
    log = load_ubi(QUERIES, EVENTS, actions=["add_to_cart", "purchase"])
    assert log.clicks.tolist() == [1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("first", [0, 1])
def test_impressions_show_lists_that_queries_do_not_have(tmp_path, first):
    events = [
        event("impression", name, at + first) for at, name in enumerate("abc")
    ] + [event("click", "b", 1 + first), event("click", "e", 4 + first)]
    expected = [(int(n in "be"), "hat", n, "abcde".index(n), "s1") for n in "abce"]
    assert columns_of(load_ubi([query(listed=None)], events)) == expected
    told = [one | {"user_query": "hat"} for one in events]
    assert columns_of(load_ubi(told)) == expected
    flat = pd.DataFrame(
        {
            "action_name": one["action_name"], "query_id": "s1", "user_query": "hat",
            "object_id": one["event_attributes"]["object"]["object_id"],
            "position": one["event_attributes"]["position"]["ordinal"],
        }
        for one in events
    )  # fmt: skip
    flat.to_csv(tmp_path / "events.csv", index=False)
    assert columns_of(load_ubi(tmp_path / "events.csv")) == expected


def test_results_while_typing_are_sessions_of_their_own():
    queries = [query(text="ha"), query(text="hat", listed="xb"), query(text="hat")]
    queries = [*queries[:2], query(text="hat", listed=[])]  # asks for facets
    events = [event("click", "b", user_query="hat"), event("click", "b")]
    with pytest.warns(UserWarning, match="1 clicks on one of several lists of a query"):
        log = load_ubi(queries, events)
    assert log.sessions.tolist() == ["s1 ha"] * 3 + ["s1 hat"] * 2
    assert log.clicks.tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("queries", "events", "message"),
    [
        ([], [event("click", "a", query_id="s9")], "1 clicks of which no list (fi"),
        ([], [event("click", "z")], "1 clicks of which no list has the clicked obj"),
        ([], [event("click", "a", query_id=None)], "1 clicks without query_id (fir"),
        ([], [event("click", None)], "1 clicks without object_id (first: 'events, it"),
        ([query("s9", "x"), query("s9", "x", "ab")], [], "1 contradictory lists"),
        ([query("s9", "x", "aba")], [], "1 contradictory lists (first: "),
        ([query("s9", None)], [], "1 lists without user_query (first: 's9')"),
        ([query("s9", "x", None)],
         [event("impression", n, 1, "s9") for n in "ab"], "1 contradictory lists"),
    ],
)  # fmt: skip
def test_what_is_left_out_is_told(queries, events, message):
    with pytest.warns(UserWarning, match=re.escape(f"left out: {message}")):
        log = load_ubi(QUERIES + queries, EVENTS + events)
    assert columns_of(log) == SHOWN


NO_CLICKS = "events has no 'click' on an object of a list; it has "
BAD_EVENTS = [
    ([3], None, ValueError, "queries, item 0: 3 is neither a query (with query"),
    ([{"id": 1}], None, ValueError, "queries, item 0: {'id': 1} is neither a query"),
    ([query(None)], None, ValueError, "queries, item 0: the query has no query_id"),
    ([query(listed="a") | {"query_response_hit_ids": "a"}], None, ValueError,
     "item 0: query_response_hit_ids must be a list, got 'a'"),
    ([query(listed=[None])], None, TypeError, "one of query_response_hit_ids must"),
    ([query([1])], None, TypeError, "query_id must be text or a whole number, got [1]"),
    *((QUERIES, [event("click", "a", bad)], ValueError,
       "events, item 0: event_attributes.position.ordinal must be a")
      for bad in (-1, 1.5, "x", True, INF, [1])),
    (QUERIES, [event("click", ["a"])], TypeError,
     "events, item 0: event_attributes.object.object_id must be text or a whole"),
    ([], None, ValueError, "queries has no lists: log query_response_hit_ids with the"),
    ([], EVENTS, ValueError, "queries has no lists"),
    (QUERIES, None, ValueError, NO_CLICKS + "nothing; left out: nothing.  Give"),
    (QUERIES, [event("tap", "a")] * 2, ValueError, NO_CLICKS + "2 'tap'; left out"),
    (QUERIES, [event("click", 8)], ValueError,
     NO_CLICKS + "1 'click'; left out: 1 clicks of which no list has the clicked obje"),
    (3, None, TypeError, "queries must be a path"),
    (QUERIES, 3, TypeError, "events must be a path"),
    (QUERIES, [event("click", "a", query_id=1.5)], TypeError, "query_id must be text"),
]  # fmt: skip


@pytest.mark.parametrize(("queries", "events", "error", "message"), BAD_EVENTS)
def test_what_is_no_query_or_event_is_refused(queries, events, error, message):
    refused(lambda: load_ubi(queries, events), error, message)


# --- damaged files --------------------------------------------------------------------

WHOLE = {
    "workbench": (load_judgments, json.dumps(WORKBENCH, indent=1)),
    "_rank_eval": (load_judgments, json.dumps(JUDGMENTS["_rank_eval"])),
    "dicts": (load_judgments, json.dumps(RATED)),
    "quepid": (load_judgments, QUEPID),
    **{
        name: (load_feature_log, json.dumps(log, indent=1))
        for name, log in ENGINES.items()
    },
    "hits": (load_ubi, json.dumps(as_hits(QUERIES + EVENTS), indent=1)),
    "bulk": (load_ubi, as_bulk(QUERIES + EVENTS)),
    "a case of Quepid": (
        load_judgments,
        json.dumps(
            {"case_name": "mine", "queries": [
                {"query_text": query, "options": {}, "ratings": [
                    {"doc_id": name, "rating": grade} for name, grade in listed.items()
                ]} for query, listed in RATED.items()
            ]},
            indent=1,
        ),
    ),
    "RRE": (
        load_judgments,
        json.dumps(
            {"index": "shop", "queries": [
                {"placeholders": {"$query": query}, "relevant_documents": {
                    name: {"gain": grade} for name, grade in listed.items()
                }} for query, listed in RATED.items()
            ]},
        ),
    ),
    "the plugin's list": (
        load_judgments,
        "# qid:1: red hat\n# qid:2: scarf\n3 qid:1 # a1 x\n0 qid:1 1:2 # b2\n"
        "0.5 qid:2 # a1\n",
    ),
    "WANDS": (
        load_judgments,
        "id\tquery_id\tproduct_id\tlabel\n0\t7\t25434\t2\n1\t7\t12088\t0\n",
    ),
    "judgements as JSON lines": (load_judgments, as_bulk(JUDGMENTS["rows of JSON"])),
    "a sample of OpenSearch": (
        load_ubi,
        "query_id,user_query,action_name,object_id,rank\ns1,hat,,,\n"
        + "".join(f"s1,hat,impression,{name},{at}\n" for at, name in enumerate("abc"))
        + "s1,hat,click,b,1\n",
    ),
}  # fmt: skip
PIECES = (
    "null",
    "NaN",
    "-1",
    "1e999",
    '"',
    "{}",
    "[]",
    "\n",
    ",",
    "\0",
    "\xff",
    "é",
    "x",
)

OTHER_VALUES = (
    None,
    True,
    -1,
    1.5,
    7,
    NAN,
    INF,
    "",
    " ",
    "x",
    "9",
    [],
    {},
    [[1]],
    {"a": 1},
)


def damaged(text, rng):
    """Return bytes of a text of which pieces are cut out, doubled or replaced."""
    content = text.encode()
    for _ in range(rng.integers(1, 4)):
        a, b = np.sort(rng.integers(0, len(content) + 1, 2))
        b = min(int(b), a + int(rng.choice([1, 4, 30, len(content)])))
        piece = rng.choice(PIECES).encode("latin1")
        new = (b"", 2 * content[a:b], piece, content[b:])[rng.integers(4)]
        content = content[:a] + new + content[b:]
    return content


def with_other_value(text, rng):
    """Return JSON of which a value is another one, or is not there."""
    lines = text.splitlines() if "\n{" in text else [text]
    row = rng.integers(len(lines))
    holder = whole = [json.loads(lines[row])]
    while isinstance(holder, dict | list) and holder:
        above = holder
        key = rng.choice([*above] if isinstance(above, dict) else np.arange(len(above)))
        holder = above[key] if rng.random() < 0.9 else None
    above[key] = OTHER_VALUES[rng.integers(len(OTHER_VALUES))]
    return "\n".join([*lines[:row], json.dumps(whole[0]), *lines[row + 1 :]]).encode()


def read_damaged(form, seed):
    """Read a damaged file: an error that names it, or a table; return which."""
    load, text = WHOLE[form]
    is_json = text.startswith(("{", "["))
    change = with_other_value if is_json and seed % 2 == 0 else damaged
    file = io.BytesIO(change(text, np.random.default_rng(seed)))
    file.name = "damaged.json"
    argument = next(iter(inspect.signature(load).parameters))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            read = load(file)
    except (ValueError, TypeError) as error:
        named = "damaged.json" in str(error)
        known = (f"{argument} has no", f"{argument} is empty", "events has no")
        assert named or str(error).startswith(known), error
        return "refused"
    lengths = {len(read[name]) for name in read if name != "feature_names"}
    assert len(lengths) == 1
    assert min(lengths) > 0
    for column in read.values():
        if column.dtype.kind == "U":
            assert all(name.strip() for name in column.tolist())
        elif load is not load_feature_log:
            assert (column >= 0).all()
            assert np.isfinite(column).all()
    return "read"


@pytest.mark.parametrize("form", WHOLE)
def test_damaged_files_are_read_or_refused_by_their_name(form):
    results = {read_damaged(form, seed) for seed in range(40)}
    assert results == {"read", "refused"}


def shuffled(value, rng):
    """Return JSON with its keys, and its lists of objects, in another order."""
    if isinstance(value, dict):
        keys = [list(value)[i] for i in rng.permutation(len(value))]
        return {key: shuffled(value[key], rng) for key in keys}
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return [shuffled(value[i], rng) for i in rng.permutation(len(value))]
    return value


def rows_of(read):
    """Return the rows of what was read, sorted, and features by name."""
    columns = {n: read[n].tolist() for n in read if n not in ("data", "feature_names")}
    if "data" in read:
        names = read.feature_names.tolist()
        columns |= {n: read.data[:, names.index(n)].tolist() for n in sorted(names)}
    return sorted(map(str, zip(*columns.values(), strict=True)))


@pytest.mark.parametrize("form", WHOLE)
def test_the_order_within_a_file_does_not_matter(form):
    load, text = WHOLE[form]
    expected = rows_of(load(io.StringIO(text)))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        if not text.startswith(("{", "[")):
            head = [one for one in text.splitlines() if one[:1] in "#iq"][:2]
            head = head if head[0][0] == "#" else head[:1]
            lines = [one for one in text.splitlines() if one not in head]
            other = "\n".join(head + [lines[i] for i in rng.permutation(len(lines))])
        elif "\n{" in text:
            lines = text.splitlines()
            pairs = [lines[i : i + 2] for i in range(0, len(lines), 2)]
            pairs = [pairs[i] for i in rng.permutation(len(pairs))]
            other = "\n".join(
                json.dumps(shuffled(json.loads(one), rng))
                for pair in pairs
                for one in pair
            )
        else:
            other = json.dumps(shuffled(json.loads(text), rng))
        assert rows_of(load(io.StringIO(other))) == expected
