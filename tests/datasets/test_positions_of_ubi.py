"""Positions of a log of User Behavior Insights are those that users saw."""

from __future__ import annotations

import io
import json
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklearn_ltr.datasets import load_ubi
from tests.bad_inputs import refused


def event(query_id, action, name=None, ordinal=None, **more):
    held = {} if name is None else {"object": {"object_id": name}}
    held |= {} if ordinal is None else {"position": {"ordinal": ordinal}}
    return {
        "query_id": query_id,
        "action_name": action,
        "event_attributes": held,
    } | more


def search(query_id, listed=None, text="hats"):
    found = {} if listed is None else {"query_response_hit_ids": list(listed)}
    return {"query_id": query_id, "user_query": text} | found


def seen(query_id, names, first, action="impression"):
    return [event(query_id, action, n, at) for at, n in enumerate(names, start=first)]


def read(queries, events=None, **options):
    """Return (session, document, position, click) of each row, and what is told."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        log = load_ubi(queries, events, **options)
    columns = (log[name].tolist() for name in ("sessions", "documents", "positions"))
    rows = list(zip(*columns, log.clicks.tolist(), strict=True))
    return rows, "".join(str(warning.message) for warning in caught)


def listed(query_id, names, clicked, start=0):
    return [(query_id, n, at, int(n in clicked)) for at, n in enumerate(names, start)]


CLICKED = [event("s", "click", "b", 2)]
LISTED = listed("s", "abc", "b")


@pytest.mark.parametrize(
    "other",
    [
        event("s", "scroll", None, 0), event("s", "hover", "a", 0),
        event("s", "hover", "a", 17), event("s", "impression", None, 0),
        event(None, "click", "x", 0), event(None, "page_exit", None, 0),
        event("s", "add_to_cart", "b", 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("recorded", [None, "abc"])
def test_an_event_on_no_list_moves_nothing(other, recorded):
    shown = [] if recorded else seen("s", "abc", 1)
    for events in ([*shown, *CLICKED, other], [other, *shown, *CLICKED]):
        assert read([search("s", recorded)], events)[0] == LISTED


def test_a_click_beside_the_list_is_left_out():
    events = [*seen("s", "abc", 1), *CLICKED, event("s", "click", "banner", 0)]
    rows, told = read([search("s")], events)
    assert rows == LISTED
    assert (
        "1 clicks of which no list has the clicked object (first: 'banner of s'" in told
    )


def test_the_first_ordinal_is_that_of_most_lists():
    searches = [search(name) for name in "stu"]
    events = [one for name in "stu" for one in seen(name, "abc", 1)] + CLICKED
    events.append(event("u", "impression", "banner", 0))
    rows, told = read(searches, events)
    assert rows == LISTED + listed("t", "abc", "")
    assert told == "left out: 1 contradictory lists (first: 'u')"
    # of a list that counts from 0 the first impression may be missing
    events = [*seen("s", "abc", 0), *seen("t", "bc", 1), event("s", "click", "b", 1)]
    rows, told = read(searches[:2], events)
    assert (rows, told) == (LISTED + listed("t", "bc", "", 1), "")


PAGES = [
    search(f"p{page}", [f"d{5 * page + i}" for i in range(5)]) for page in range(3)
]


@pytest.mark.parametrize("first", [0, 1])
def test_a_later_page_begins_where_the_one_before_ends(first):
    events = [event(f"p{n // 5}", "click", f"d{n}", n + first) for n in (0, 7, 14)]
    rows, told = read(PAGES, events)
    names = [f"d{n}" for n in range(15)]
    assert [row[1:] for row in rows] == [
        (name, at, int(at in (0, 7, 14))) for at, name in enumerate(names)
    ]
    assert told == ""


def test_lists_that_may_be_later_pages_are_told():
    events = [event("p0", "click", "d2", 3), event("p1", "click", "d7", 8)]
    rows, told = read(PAGES, events)
    assert ("p2", "d10", 0, 0) in rows
    assert told == (
        "1 lists without ordinals were taken for first pages (first: 'p2'), but "
        "ordinals show that there are later ones (first: 'p1'): log impressions, too"
    )


@pytest.mark.parametrize(
    "events",
    [
        [event("t", "click", "c", 1)],
        [event("t", "click", "a", 3)],
        seen("t", "cba", 1),
        [*seen("t", "abc", 1), event("t", "click", "a", 2)],
        [event("t", "click", "a", 0)],
        [event("t", "click", "b", 4)],
    ],
)
def test_lists_that_their_ordinals_contradict_are_told(events):
    searches = [search("s", "abc"), search("t", "abc"), search("u", "abc")]
    events = [*CLICKED, event("u", "click", "c", 3), *events]
    rows, told = read(searches, events)
    assert rows == LISTED + listed("u", "abc", "c")
    assert told == (
        "left out: 1 lists that the ordinals of their events contradict (first: 't')"
    )
    refused(lambda: load_ubi(searches[1:2], [event("t", "click", "c", 1)]), ValueError,
            "queries has no lists: log query_response_hit_ids with the queries, or impr"
            )  # fmt: skip


def test_other_actions_may_show_objects():
    events = [*seen("s", "abc", 1, "view"), *CLICKED]
    assert read([search("s")], events, impressions=["view", "impression"])[0] == LISTED
    refused(lambda: load_ubi([search("s")], events), ValueError,
            "give impressions, the name of their action; events has 3 'view', 1 'click'"
            )  # fmt: skip
    refused(lambda: load_ubi([search("s")], events, impressions=["click"]), ValueError,
            "actions and impressions both have 'click': give one")  # fmt: skip
    refused(lambda: load_ubi([search("s")], events, impressions="view"), TypeError,
            "impressions must be a list of names, got 'view'")  # fmt: skip


# --- columns and fields ---------------------------------------------------------------

FLAT = [
    {"query_id": "s", "action_name": "impression", "object_id": name, "rank": at}
    for at, name in enumerate("abc")
] + [{"query_id": "s", "action_name": "click", "object_id": "b", "rank": 1}]


@pytest.mark.parametrize("name", ["ordinal", "position", "rank"])
@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame, pl.DataFrame, pa.Table.from_pylist, list,
        lambda rows: io.StringIO(pd.DataFrame(rows).to_csv(index=False)),
        lambda rows: io.StringIO("\n".join(map(json.dumps, rows))),
    ],
)  # fmt: skip
def test_columns_of_events_have_known_names(table, name):
    rows = [{name if k == "rank" else k: v for k, v in row.items()} for row in FLAT]
    assert read([search("s")], table(rows))[0] == LISTED
    nested = [
        {"query_id": row["query_id"], "action_name": row["action_name"],
         "event_attributes": {"object": {"object_id": row["object_id"]},
                              "rank": row["rank"]}}
        for row in FLAT
    ]  # fmt: skip
    assert read([search("s")], nested)[0] == LISTED


def test_fields_that_differ_are_refused():
    both = [row | {"position": row["rank"]} for row in FLAT]
    assert read([search("s")], both)[0] == LISTED
    both = [row | {"position": str(float(row["rank"]))} for row in FLAT]
    assert read([search("s")], both)[0] == LISTED
    both = [row | {"position": row["rank"] + 1} for row in FLAT]
    refused(lambda: load_ubi([search("s")], both), ValueError,
            "events, item 0 has position 1, rank 0: leave out all but one")  # fmt: skip
    both = [event("s", "click", "b", 2, object_id="c")]
    refused(lambda: load_ubi([search("s", "abc")], both), ValueError,
            "item 0 has event_attributes.object.object_id 'b', object_id 'c'"
            )  # fmt: skip


def test_lists_in_tables_are_json(tmp_path):
    path = tmp_path / "queries.csv"
    for field in ("query_response_hit_ids", "query_response_objects_ids"):
        pd.DataFrame([{"query_id": "s", "user_query": "hats", field: '["a","b","c"]'},
                      {"query_id": "t", "user_query": "none", field: ""}]
                     ).to_csv(path, index=False)  # fmt: skip
        assert read(path, CLICKED)[0] == LISTED
    for text, shown in (("['a', 'b']", "\"['a', 'b']\""), ('{"a": 1}', "{'a': 1}"),
                        ("7", "7"), ("a b", "'a b'"), ("[[", "'[['")):  # fmt: skip
        query = search("s") | {"query_response_hit_ids": text}
        with pytest.raises(
            ValueError, match="must be a list, got .*: write it as JSON"
        ):
            load_ubi([query], CLICKED)
        assert shown
    query = search("s") | {"query_response_hit_ids": '[["a"]]'}
    refused(lambda: load_ubi([query], CLICKED), TypeError, "one of query_response_hit_")


def test_sessions_stay_apart_where_ids_and_texts_join_to_the_same():
    searches = [
        search("a", "xy", "b c"), search("a", "x", "z"),
        search("a b", "xy", "c"), search("a b", "x", "d"),
    ]  # fmt: skip
    events = [event("a", "click", "x", 1, user_query="b c")]
    rows, _ = read(searches, events)
    assert [row[0] for row in rows[::2]] == [
        '["a", "b c"]', '["a", "z"]', '["a b", "c"]'
    ]  # fmt: skip
    assert len({row[0] for row in rows}) == 4
    # an id of one list, and an id with a text
    searches = [search("a", "xy", "b"), search("a", "x", "c"), search("a b", "xy", "d")]
    rows, _ = read(searches, [event("a b", "click", "x", 1)])
    assert len({row[0] for row in rows}) == 3
    rows, _ = read(searches[:2], [event("a", "click", "x", 1, user_query="b")])
    assert {row[0] for row in rows} == {"a b", "a c"}


def test_ids_that_became_floats_are_told():
    events = pd.DataFrame([row | {"object_id": 15} for row in FLAT[3:]])
    events = pd.concat([events, pd.DataFrame([{"action_name": "scroll"}])])
    message = (
        "event_attributes.object.object_id must be text or a whole number, got 15.0"
    )
    refused(lambda: load_ubi([search("s", [15])], events), TypeError,
            message + ": pandas makes a column floats where one is missing"
            )  # fmt: skip


# --- made logs ------------------------------------------------------------------------


def made_log(seed):
    """Return a log, and the rows that users saw."""
    rng = np.random.default_rng(seed)
    first, of_all_pages = int(rng.integers(2)), bool(rng.integers(2))
    size = int(rng.integers(2, 6))
    queries, events, expected = [], [], []
    for number in range(8):
        recorded, page = bool(rng.integers(2)), int(rng.integers(3))
        page = page if of_all_pages and number > 2 else 0
        name, names = f"q{number}", [f"d{number}-{i}" for i in range(size)]
        start = page * size
        clicked = [n for n in names if rng.random() < 0.4] or names[:1]
        queries.append(search(name, names if recorded else None, f"text {number}"))
        own = [event(name, "click", n, start + names.index(n) + first) for n in clicked]
        own += (
            [] if recorded and rng.random() < 0.5 else seen(name, names, start + first)
        )
        own += [event(name, "scroll", None, int(rng.integers(9)))]
        own += [event(name, "hover", names[0], int(rng.integers(9)))]
        events += own
        expected += listed(name, names, clicked, start)
    events = [events[i] for i in rng.permutation(len(events))]
    return queries, events, expected


@pytest.mark.parametrize("seed", range(60))
def test_positions_are_those_that_users_saw(seed):
    queries, events, expected = made_log(seed)
    rows, told = read(queries, events)
    assert (sorted(rows), told) == (sorted(expected), "")
    # in another order, in one file, in a table
    order = np.random.default_rng(seed).permutation(len(queries))
    again, _ = read([*events, *(queries[i] for i in order)])
    assert sorted(again) == sorted(expected)
    text = "\n".join(
        json.dumps(one)
        for record in queries + events
        for one in ({"index": {"_index": "ubi"}}, record)
    )
    assert read(io.StringIO(text))[0] == rows
    frame = pd.json_normalize(events)
    as_text = [
        query | {"query_response_hit_ids": json.dumps(query["query_response_hit_ids"])}
        if "query_response_hit_ids" in query
        else query
        for query in queries
    ]
    assert read(pd.DataFrame(as_text), frame)[0] == rows
    table = io.StringIO(frame.to_csv(index=False, float_format="%d"))
    assert read(as_text, table)[0] == rows
    assert re.match("q[0-7]$", rows[0][0])
