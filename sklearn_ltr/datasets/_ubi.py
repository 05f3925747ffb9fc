"""Read queries and events of users (User Behavior Insights) into a log of clicks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.typing import IntArray
from sklearn_ltr.datasets._records import (
    Record,
    Records,
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
ORDINAL = ("event_attributes.position.ordinal", "ordinal", "position")
IMPRESSION = "impression"
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
) -> UbiLog:
    """Read queries and events of User Behavior Insights into a log of clicks.

    Each search is a session: one list, shown once.  The list is
    ``query_response_hit_ids`` (in early versions of the specification
    ``query_response_objects_ids``).  If a ``query_id`` has none, it is the objects of
    its events, at their ordinals, if there are impressions among them.  Lists without
    a click are included.

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

    Returns
    -------
    Bunch
        ``clicks`` : (n_shown,) int64, 1 for a shown document with an event of
        `actions`, else 0;
        ``groups``, ``documents`` : (n_shown,) str, ``user_query`` and object;
        ``positions`` : (n_shown,) int64, place in the list, from 0.  Ordinals of events
        count from 0 if one of them is 0, else from 1;
        ``sessions`` : (n_shown,) str, ``query_id``; with ``user_query`` behind it if
        several have a list under one id, as where users see results while they type.
        Click models take all five: ``InterventionHarvesting().fit(**log)``.

    Raises
    ------
    ValueError
        If an object is neither a query nor an event, or has a name or ordinal that is
        none, naming the place; if no event is one of `actions`, or none belongs to a
        list, or there are no lists; if the file is damaged or of another format.
    TypeError
        If a name is neither text nor a whole number, or an argument is of another type.

    Warns
    -----
    UserWarning
        If clicks or lists are left out, with the number and the first of each kind:
        clicks whose list is unknown, or does not have the object; lists without
        ``user_query``; and contradictory lists (two of one search, or an
        object at two positions).

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
    log = _Log()
    for source, name in ((queries, "queries"), (events, "events")):
        for record in read_records(source, name) if source is not None else ():
            for one in sources(record):
                log.add(one)
    log.assign_events(counted)
    rows = log.rows()
    left_out = "; ".join(
        f"{len(which)} {what} (first: {shown(which[0])})"
        for what, which in log.left_out.items()
    )
    if not rows:
        raise ValueError(
            "queries has no lists: log query_response_hit_ids with the queries, or "
            f"{IMPRESSION!r} events with ordinals; left out: {left_out or 'nothing'}"
        )
    if not any(row[0] for row in rows):
        counts = Counter(event.action for event in log.events).most_common(9)
        found = ", ".join(f"{n} {shown(action)}" for action, n in counts)
        raise ValueError(
            f"events has no {' or '.join(map(shown, actions))} on an object of a list; "
            f"it has {found or 'nothing'}; left out: {left_out or 'nothing'}.  Give "
            "actions, or name objects as the lists do (OpenSearch's plugin lists "
            "Lucene's numbers of documents if a search has no object_id_field)"
        )
    if left_out:
        warn_caller(f"left out: {left_out}")
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
    impressed: bool = False

    def positions(self, first: int) -> dict[str, int] | None:
        """Return the position of each shown object; None: they contradict."""
        places = [(at - first, name) for name in self.seen for at in self.seen[name]]
        if self.listed:
            places = list(enumerate(self.listed))
        elif not self.impressed:
            places = []
        shown_at = {name: place for place, name in sorted(places)}
        n = len(places)
        is_list = len(shown_at) == n == len(set(shown_at.values()))
        return shown_at if is_list and not self.contradicts else None


class _Log:
    """Searches and events, and what is left out."""

    def __init__(self) -> None:
        self.searches: dict[str, dict[str, _Search]] = {}
        self.events: list[_Event] = []
        self.left_out: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, record: Record) -> None:
        """Add a query or an event; a ValueError if it is neither."""
        place, value = record
        if is_object(value) and len(value) == 1 and {"index", "create"} & value.keys():
            return  # a bulk request says where to index the next line
        if not is_object(value) or not {ACTION, QUERY_ID} & value.keys():
            raise ValueError(
                f"{place}: {shown(value)} is neither a query (with {QUERY_ID}) nor an "
                f"event (with {ACTION})"
            )
        query_id, text, action = (
            _name(value.get(key), key, place) for key in (QUERY_ID, TEXT, ACTION)
        )
        if action:
            name = _name(_field(value, OBJECT), OBJECT[0], place)
            at = _ordinal(_field(value, ORDINAL), place)
            self.events.append(_Event(place, query_id, text, action, name, at))
            return
        if not query_id:
            raise ValueError(f"{place}: the query has no {QUERY_ID}")
        listed: Any = next(
            (value[one] for one in LIST if not _is_missing(value.get(one))), []
        )
        if isinstance(listed, str) or not hasattr(listed, "__len__"):
            raise ValueError(f"{place}: {LIST[0]} must be a list, got {shown(listed)}")
        search = self.searches.setdefault(query_id, {}).setdefault(text, _Search())
        if len(listed):  # without one, it asked for facets, or found nothing
            found = [read_name(one, place, f"one of {LIST[0]}") for one in listed]
            search.contradicts |= search.listed not in ([], found)
            search.listed = found

    def assign_events(self, actions: frozenset[str]) -> None:
        """Give each event to its search: of its query_id and text, or the only one."""
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
                if event.ordinal >= 0:
                    search.seen.setdefault(event.object, set()).add(event.ordinal)
                    search.impressed |= event.action == IMPRESSION
                if is_click:
                    search.clicked.add(event.object)
                continue
            if is_click:
                self.left_out[problem].append(event.place)

    def rows(self) -> list[tuple[int, str, str, int, str]]:
        """Return the columns of each shown object."""
        rows = []
        first = min(
            [1, *(event.ordinal for event in self.events if event.ordinal >= 0)]
        )
        for query_id, texts in self.searches.items():
            lists = {text: search.positions(first) for text, search in texts.items()}
            n_lists = sum(map(bool, lists.values()))
            for text, positions in lists.items():
                if positions is None:
                    self.left_out["contradictory lists"].append(query_id)
                    continue
                if positions and not text:
                    self.left_out[f"lists without {TEXT}"].append(query_id)
                    continue
                clicked = texts[text].clicked
                for name in sorted(clicked - positions.keys()):
                    what = "list has the clicked object" if positions else "list"
                    self.left_out[f"clicks of which no {what}"].append(
                        f"{name} of {query_id}"
                    )
                session = query_id if n_lists == 1 else f"{query_id} {text}"
                rows += [
                    (int(name in clicked), text, name, position, session)
                    for name, position in positions.items()
                ]
        return rows


def _is_missing(value: Any) -> bool:
    """Return whether a field has no value, as in JSON, CSV and frames."""
    if isinstance(value, str | float):
        return value == "" or value != value
    return value is None or type(value).__name__ == "NAType"  # of pandas


def _field(record: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Return a field within others, or the column of a table of one of its names."""
    value: Any = record
    for key in names[0].split("."):
        value = value.get(key) if is_object(value) else None
    if value is None:
        columns = [record[name] for name in names if name in record]
        value = next((one for one in columns if not isinstance(one, Mapping)), None)
    return value


def _name(value: Any, key: str, place: str) -> str:
    """Return the text of a field, empty if it is missing."""
    return "" if _is_missing(value) else read_name(value, place, key)


def _ordinal(value: Any, place: str) -> int:
    """Return the ordinal of an event, -1 if it is missing."""
    if _is_missing(value):
        return -1
    number = number_of(value)
    if number is None or not 0 <= number < 2**31 or number % 1:
        raise ValueError(
            f"{place}: {ORDINAL[0]} must be a whole number, 0 or more, got "
            f"{shown(value)}"
        )
    return int(number)
