"""Read queries and events of users (User Behavior Insights) into a log of clicks."""

from __future__ import annotations

import contextlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.strict_json import load_json
from sklearn_ltr._core.typing import IntArray
from sklearn_ltr.datasets._records import (
    Record,
    Records,
    is_missing,
    is_object,
    number_of,
    read_name,
    read_names,
    read_records,
    shown,
    sources,
)

ACTION, QUERY_ID, TEXT = "action_name", "query_id", "user_query"
#: of a query, by the versions of the specification
LIST = ("query_response_hit_ids", "query_response_objects_ids")
#: of an event: fields, and columns of a table
OBJECT = ("event_attributes.object.object_id", "object_id")
ORDINAL = (
    "event_attributes.position.ordinal", "event_attributes.rank", "ordinal", "position",
    "rank",
)  # fmt: skip
COLUMNS = ("clicks", "groups", "documents", "positions", "sessions")


class UbiLog(Bunch):
    """Result of :func:`load_ubi`."""

    clicks: IntArray
    groups: NDArray[np.str_]
    documents: NDArray[np.str_]
    positions: IntArray
    sessions: NDArray[np.str_]


def load_ubi(
    queries: Records,
    events: Records | None = None,
    *,
    actions: Sequence[str] = ("click",),
    impressions: Sequence[str] = ("impression",),
) -> UbiLog:
    """Read queries and events of User Behavior Insights into a log of clicks.

    Each search is a session: one list, shown once.  The list is
    ``query_response_hit_ids`` (in early versions of the specification
    ``query_response_objects_ids``).  If a ``query_id`` has none, it is the objects of
    its impressions and clicks, at their ordinals, if there are impressions.  Lists
    without a click are included.

    Ordinals count from 0 or from 1: from 0 if the first impression of a list has 0, or
    events of a recorded list stand at their place counted from 0, in at least half of
    the lists that tell.  Other events than impressions and clicks do not count, nor do
    those of objects that are on no list.  If ordinals go on from page to page, the
    recorded list of a later page begins where they say, at its own length or behind it.

    Parameters
    ----------
    queries : path, file object, dict, list or frame
        Queries: a file (JSON, JSON lines, a bulk request or CSV in UTF-8, plain or
        compressed by gzip or bzip2); what ``json.load`` returns, a list of objects or
        a search response; or a frame of pandas, polars or Arrow.  Nested fields of
        tables are columns such as ``event_attributes.object.object_id`` or
        ``object_id``.
    events : path, file object, dict, list or frame, default=None
        Events, likewise.  None: `queries` has both.  (An object with ``action_name`` is
        an event, in either of the two.)
    actions : sequence of str, default=("click",)
        Values of ``action_name`` that count as a click, such as ``add_to_cart``.
    impressions : sequence of str, default=("impression",)
        Values that say that an object was shown, such as ``view``.

    Returns
    -------
    Bunch
        ``clicks`` : (n_shown,) int64, 1 for a shown document with an event of
        `actions`, else 0;
        ``groups``, ``documents`` : (n_shown,) str, ``user_query`` and object;
        ``positions`` : (n_shown,) int64, place in the list, from 0;
        ``sessions`` : (n_shown,) str, ``query_id``; with ``user_query`` behind it if
        several have a list under one id, as where users see results while they type;
        both as JSON where these would be the same for two.
        Click models take all five: ``InterventionHarvesting().fit(**log)``.

    Raises
    ------
    ValueError
        If an object is neither a query nor an event, has a name or ordinal that is
        none, or two that differ, naming the place; if no event is one of `actions`, or
        none belongs to a list, or there are no lists, saying which actions there are;
        if the file is damaged or of another format.
    TypeError
        If a name is neither text nor a whole number, or an argument is of another type.

    Warns
    -----
    UserWarning
        If clicks or lists are left out, with the number and the first of each kind:
        clicks whose list is unknown, or does not have the object; lists without
        ``user_query``; contradictory lists (two of one search, or an object at two
        positions); and recorded lists that the ordinals of their events contradict.
        If some lists are later pages, by the ordinals of their events, and others have
        none, which are taken for first pages.

    Examples
    --------
    >>> from sklearn_ltr.datasets import load_ubi
    >>> search = {"query_id": "s1", "user_query": "hats"}
    >>> search["query_response_hit_ids"] = ["a", "b", "c"]
    >>> at = {"object": {"object_id": "b"}, "position": {"ordinal": 2}}
    >>> click = {"action_name": "click", "query_id": "s1", "event_attributes": at}
    >>> log = load_ubi([search], [click])
    >>> log.documents, log.positions, log.clicks
    (array(['a', 'b', 'c'], dtype='<U1'), array([0, 1, 2]), array([0, 1, 0]))
    """
    counted = frozenset(read_names(actions, "actions"))
    showing = frozenset(read_names(impressions, "impressions"))
    if both := counted & showing:
        raise ValueError(f"actions and impressions both have {min(both)!r}: give one")
    log = _Log()
    for source, name in ((queries, "queries"), (events, "events")):
        for record in read_records(source, name) if source is not None else ():
            for one in sources(record):
                log.add(one)
    log.assign_events(counted, showing)
    rows = log.rows()
    left_out = "; ".join(
        f"{len(which)} {what} (first: {shown(which[0])})"
        for what, which in log.left_out.items()
    )
    counts = Counter(event.action for event in log.events).most_common(9)
    found = ", ".join(f"{n} {shown(action)}" for action, n in counts) or "nothing"
    found += f"; left out: {left_out or 'nothing'}"
    if not rows:
        raise ValueError(
            "queries has no lists: log query_response_hit_ids with the queries, or "
            "impressions with ordinals, and give impressions, the name of their "
            f"action; events has {found}"
        )
    if not any(row[0] for row in rows):
        raise ValueError(
            f"events has no {' or '.join(map(shown, actions))} on an object of a list; "
            f"it has {found}.  Give "
            "actions, or name objects as the lists do (OpenSearch's plugin lists "
            "Lucene's numbers of documents if a search has no object_id_field)"
        )
    told = f"left out: {left_out}" if left_out else ""
    if log.first_pages and log.later_pages:
        told += "; " * bool(told) + (
            f"{len(log.first_pages)} lists without ordinals were taken for first pages "
            f"(first: {shown(log.first_pages[0])}), but ordinals show that there are "
            f"later ones (first: {shown(log.later_pages[0])}): log impressions, too"
        )
    if told:
        warn_caller(told)
    columns = map(np.array, zip(*rows, strict=True))
    return UbiLog(**dict(zip(COLUMNS, columns, strict=True)))


class _Event(NamedTuple):
    """An event; empty text or -1 is missing."""

    place: str
    query_id: str
    text: str
    action: str
    object: str
    ordinal: int


@dataclass
class _Search:
    """The search of a query_id and a user_query."""

    listed: list[str] = field(default_factory=list)  # empty: unknown
    contradicts: bool = False  # there is another list
    clicked: set[str] = field(default_factory=set)
    seen: dict[str, set[int]] = field(default_factory=dict)  # ordinals of objects
    impressed: set[str] = field(default_factory=set)

    def offsets(self) -> set[int]:
        """Return the differences between ordinals and places in the recorded list."""
        return {
            ordinal - place
            for place, name in enumerate(self.listed)
            for ordinal in self.seen.get(name, ())
        }

    def first_ordinal(self) -> int | None:
        """Return the ordinal of the first place, None if the search does not tell."""
        offsets = self.offsets()
        ordinals = {at for name in self.impressed for at in self.seen[name]}
        first = min(offsets if self.listed else ordinals, default=None)
        return first if len(offsets) < 2 and first in (0, 1) else None

    def positions(self, first: int) -> dict[str, int] | str:
        """Return the position of each shown object, or what is wrong with the list."""
        places = [
            (at - first, name)
            for name in self.seen
            for at in self.seen[name]
            if at >= first or name in self.impressed  # a click beside the list
        ]
        if self.listed:
            starts = {offset - first for offset in self.offsets()} or {0}
            start = min(starts)
            is_page = start == 0 or start >= max(2, len(self.listed))
            if len(starts) > 1 or not is_page:
                return "lists that the ordinals of their events contradict"
            places = list(enumerate(self.listed, start))
        elif not self.impressed:
            places = []
        shown_at = {name: place for place, name in sorted(places)}
        is_list = len(shown_at) == len(places) == len(set(shown_at.values()))
        if self.contradicts or not is_list or min(shown_at.values(), default=0) < 0:
            return "contradictory lists"
        return shown_at


class _Log:
    """Searches and events, and what is left out."""

    def __init__(self) -> None:
        self.searches: dict[str, dict[str, _Search]] = {}
        self.events: list[_Event] = []
        self.left_out: defaultdict[str, list[str]] = defaultdict(list)
        self.first_pages: list[str] = []  # recorded lists without ordinals
        self.later_pages: list[str] = []

    def add(self, record: Record) -> None:
        """Add a query or an event, or raise a ValueError if it is neither."""
        place, value = record
        if not is_object(value) or not {ACTION, QUERY_ID} & value.keys():
            raise ValueError(
                f"{place}: {shown(value)} is neither a query (with {QUERY_ID}) nor an "
                f"event (with {ACTION})"
            )
        query_id, text, action = (
            _name(value.get(key), key, place) for key in (QUERY_ID, TEXT, ACTION)
        )
        if action:
            name = _name(_field(value, OBJECT, place), OBJECT[0], place)
            at = _ordinal(_field(value, ORDINAL, place), place)
            self.events.append(_Event(place, query_id, text, action, name, at))
            return
        if not query_id:
            raise ValueError(f"{place}: the query has no {QUERY_ID}")
        listed: Any = next(
            (value[one] for one in LIST if not is_missing(value.get(one))), []
        )
        with contextlib.suppress(ValueError):  # a table has lists as text
            listed = load_json(listed) if isinstance(listed, str) else listed
        if isinstance(listed, Mapping | str) or not hasattr(listed, "__len__"):
            raise ValueError(
                f"{place}: {LIST[0]} must be a list, got {shown(listed)}: write it as "
                "JSON in a table"
            )
        search = self.searches.setdefault(query_id, {}).setdefault(text, _Search())
        if len(listed):  # without one, it asked for facets, or found nothing
            found = [read_name(one, place, f"one of {LIST[0]}") for one in listed]
            search.contradicts |= search.listed not in ([], found)
            search.listed = found

    def assign_events(
        self, actions: frozenset[str], impressions: frozenset[str]
    ) -> None:
        """Give each event to the search of its query_id and text, or the only one."""
        texts_of = {
            query_id: {text for text in texts if texts[text].listed} or set(texts)
            for query_id, texts in self.searches.items()
        }
        for event in self.events:
            texts = texts_of.get(event.query_id, {event.text})
            is_click = event.action in actions
            if not event.query_id or not event.object:
                what = QUERY_ID if event.object else "object_id"
                problem = f"clicks without {what}"
            elif event.text not in texts and len(texts) > 1:
                problem = f"clicks on one of several lists of a {QUERY_ID}"
            else:
                text = event.text if event.text in texts else next(iter(texts))
                of_id = self.searches.setdefault(event.query_id, {})
                search = of_id.setdefault(text, _Search())
                is_impression = event.action in impressions
                if event.ordinal >= 0 and (is_click or is_impression):
                    search.seen.setdefault(event.object, set()).add(event.ordinal)
                if event.ordinal >= 0 and is_impression:
                    search.impressed.add(event.object)
                if is_click:
                    search.clicked.add(event.object)
                continue
            if is_click:
                self.left_out[problem].append(event.place)

    def rows(self) -> list[tuple[int, str, str, int, str]]:
        """Return the columns of each shown object."""
        searches = {
            (query_id, text): search
            for query_id, texts in self.searches.items()
            for text, search in texts.items()
        }
        tells = Counter(search.first_ordinal() for search in searches.values())
        first = 0 if tells[0] and tells[0] >= tells[1] else 1
        lists: dict[tuple[str, str], dict[str, int]] = {}
        for (query_id, text), search in searches.items():
            positions = search.positions(first)
            if isinstance(positions, str):
                self.left_out[positions].append(query_id)
            elif positions and not text:
                self.left_out[f"lists without {TEXT}"].append(query_id)
            else:
                lists[query_id, text] = positions
                if search.listed and not search.offsets():
                    self.first_pages.append(query_id)
                elif search.listed and min(positions.values()) > 0:
                    self.later_pages.append(query_id)
                for name in sorted(search.clicked - positions.keys()):
                    what = "list has the clicked object" if positions else "list"
                    self.left_out[f"clicks of which no {what}"].append(
                        f"{name} of {query_id}"
                    )
        keys = [key for key, positions in lists.items() if positions]
        n_lists = Counter(query_id for query_id, _ in keys)
        names = [id_ if n_lists[id_] == 1 else f"{id_} {text}" for id_, text in keys]
        if len(set(names)) < len(names):
            names = [json.dumps(key, ensure_ascii=False) for key in keys]
        return [
            (int(name in searches[key].clicked), key[1], name, position, session)
            for key, session in zip(keys, names, strict=True)
            for name, position in lists[key].items()
        ]


def _field(record: Mapping[str, Any], names: tuple[str, ...], place: str) -> Any:
    """Return the value of a field that has several names, nested or in a table."""
    found: dict[str, Any] = {}
    for name in names:
        value: Any = record.get(name)
        if value is None:
            value = record
            for key in name.split("."):
                value = value.get(key) if is_object(value) else None
        if not is_missing(value) and ("." in name or not isinstance(value, Mapping)):
            found[name] = value
    numbers = [(number_of(value), value) for value in found.values()]
    if len({str(value if number is None else number) for number, value in numbers}) > 1:
        both = ", ".join(f"{name} {shown(value)}" for name, value in found.items())
        raise ValueError(f"{place} has {both}: leave out all but one")
    return next(iter(found.values()), None)


def _name(value: Any, key: str, place: str) -> str:
    """Return the text of a field, empty if it is missing."""
    return "" if is_missing(value) else read_name(value, place, key)


def _ordinal(value: Any, place: str) -> int:
    """Return the ordinal of an event, -1 if it is missing."""
    if is_missing(value):
        return -1
    number = number_of(value)
    if number is None or not 0 <= number < 2**31 or number % 1:
        raise ValueError(
            f"{place}: {ORDINAL[0]} must be a whole number, 0 or more, got "
            f"{shown(value)}"
        )
    return int(number)
