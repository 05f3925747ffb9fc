"""Read objects of JSON and rows of CSV: from files, frames, or what json.load gave.

Each comes with its place, for messages: "'events.json', line 3, hit 7".
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from numbers import Integral, Real
from typing import IO, Any, NamedTuple, TypeAlias, TypeGuard

from sklearn_ltr._core.data import as_array
from sklearn_ltr._core.data.features import is_arrow, is_frame, is_lazy
from sklearn_ltr._core.strict_json import load_json
from sklearn_ltr._core.typing import DataFrameLike
from sklearn_ltr.datasets._files import Path, TextLines, printable, read_float
from sklearn_ltr.datasets._letor import OF_LETOR, WEIGHT, Documents, judged_lines
from sklearn_ltr.datasets._trec import QRELS

Records: TypeAlias = Path | IO[Any] | Mapping[Any, Any] | list[Any] | DataFrameLike

INSTEAD = "read it with its own reader, and give a frame or what json.load returns"
#: a bulk request says where the next line goes
BULK_ACTIONS = ("index", "create", "update", "delete")
BULK_TARGET = frozenset(
    "_id _index _type routing _routing pipeline version version_type require_alias "
    "dynamic_templates if_seq_no if_primary_term retry_on_conflict".split()
)
OF_FLOATS = (
    ": pandas makes a column floats where one is missing; read it with dtype=str, or "
    "give .astype('Int64'), and leave out rows without a name"
)


class Record(NamedTuple):
    """A value and its place."""

    place: str
    value: Any


class Row(dict[str, Any]):
    """A row of a table, by the names of its columns."""


def read_records(source: Any, name: str) -> Iterator[Record]:
    """Yield the objects of a source, the argument `name`, and the members of lists."""
    for place, value in _read_source(as_json(source), name):
        action = next(iter(value)) if is_object(value) and len(value) == 1 else None
        target = value[action] if action in BULK_ACTIONS else None
        if not is_object(target) or not BULK_TARGET >= target.keys():
            yield Record(place, value)
        elif action not in ("index", "create"):
            raise ValueError(
                f"{place}: a bulk request that would {action}: leave it out"
            )


def _read_source(source: Any, name: str) -> Iterator[Record]:
    """Yield the objects of a source, and the actions of a bulk request."""
    if isinstance(source, Mapping | list | tuple):
        yield from members(Record(name, source), "item")
    elif is_arrow(source) or is_frame(source):
        names = list(source.column_names if is_arrow(source) else source.columns)
        if len(set(names)) < len(names):
            raise ValueError(f"{name}: two columns have the same name: {shown(names)}")
        kinds = ("to_dicts", "to_pylist")  # of polars and of Arrow
        own = next((kind for kind in kinds if hasattr(source, kind)), None)
        rows: Any = source.to_dict("records") if own is None else getattr(source, own)()
        for row, value in enumerate(rows):
            yield Record(f"{name}, row {row}", Row(value))
    elif isinstance(source, str | os.PathLike) or hasattr(source, "read"):
        for record in _read_file(_open(source, name)):
            yield from members(record, "item")
    else:
        advice = f": give list({name})" if isinstance(source, Iterator) else ""
        advice = ": give its to_dict()" if hasattr(source, "to_dict") else advice
        raise TypeError(
            f"{name} must be a path, a file, a frame, or what json.load returns, a "
            f"dict or list, got {type(source).__name__}"
            + (": collect it" if is_lazy(source) else advice)
        )


def as_json(value: Any) -> Any:
    """Return the dict in the response of an engine's client, or the value itself."""
    if isinstance(value, Mapping | list | tuple | str | int | float | None):
        return value
    held = (getattr(value, name, None) for name in ("body", "json", "raw_response"))
    return next(filter(is_object, held), value)


def members(record: Record, word: str) -> Iterator[Record]:
    """Yield the members of a list and of lists in it, or the value itself."""
    place, value = record
    if not isinstance(value, list | tuple):
        yield record
    elif hasattr(value, "_asdict"):  # a row of ir_measures or ir_datasets
        yield Record(place, Row(value._asdict()))
    else:
        for number, member in enumerate(value):
            yield from members(Record(f"{place}, {word} {number}", member), word)


def sources(record: Record) -> Iterator[Record]:
    """Yield the documents in a search response, or the value itself."""
    place, value = record
    found = hits_of(value)
    if found is not None:
        for hit in members(Record(place, found), "hit"):
            yield from sources(hit)
    elif is_object(value) and is_object(value.get("_source")):
        yield Record(place, value["_source"])
    else:
        yield record


def hits_of(value: Any) -> list[Any] | None:
    """Return the hits of a response of Elasticsearch, None if it is no response."""
    hits = value.get("hits") if is_object(value) else None
    found = hits.get("hits") if is_object(hits) else None
    return found if isinstance(found, list) else None


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a value is an object of JSON."""
    return isinstance(value, dict | Mapping)  # of most, the first is faster


# --- values ---------------------------------------------------------------------------


def read_name(value: Any, place: str, what: str) -> str:
    """Return the name of a query or document as text."""
    if not isinstance(value, str | Integral) or isinstance(value, bool):
        raise TypeError(
            f"{place}: {what} must be text or a whole number, got {shown(value)}"
            + OF_FLOATS * isinstance(value, float)
        )
    text = str(value)
    if not text.strip() or "\0" in text:
        raise ValueError(f"{place}: {what} is {shown(text)}: give it a name")
    return text


def read_names(values: Any, name: str) -> list[str]:
    """Return an argument's names, of a list or an array."""
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise TypeError(f"{name} must be a list of names, got {shown(values)}")
    if not len(values):
        raise ValueError(f"{name} is empty: give at least one name")
    return [read_name(value, name, "a name") for value in as_array(values).tolist()]


def number_of(value: Any) -> float | None:
    """Return a number, which may be written as text, or None."""
    try:
        if isinstance(value, str):
            return read_float(value.encode())
        if isinstance(value, float | Real) and not isinstance(value, bool):
            return float(value)
    except ValueError:
        pass
    except OverflowError:
        return math.inf
    return None


def shown(value: Any) -> str:
    """Return a value for a message, shortened if it is long."""
    if isinstance(value, str):
        return printable(value.encode(errors="replace"))
    text = repr(value)
    return text if len(text) < 60 else f"{text[:55]} ..."


def is_missing(value: Any) -> bool:
    """Return whether a field has no value, as in JSON, CSV and frames."""
    if isinstance(value, str | float):
        return value == "" or value != value
    return value is None or type(value).__name__ == "NAType"  # of pandas


# --- files ----------------------------------------------------------------------------


def _open(source: Any, name: str) -> TextLines:
    """Return the lines of a path or of a file object."""
    if not hasattr(source, "read"):
        if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
            raise ValueError(f"{name} is JSON, not a path: give json.loads({name})")
        return TextLines(source, INSTEAD, name, takes_json=True)
    content = source.read()
    if isinstance(content, str):
        content = content.encode(errors="surrogatepass")
    path = str(getattr(source, "name", None) or type(source).__name__)
    return TextLines(path, INSTEAD, name, file=io.BytesIO(content), takes_json=True)


def _read_file(lines: TextLines) -> Iterator[Record]:
    """Yield the values of JSON or JSON lines, or the rows of CSV or of qrels."""
    remaining = iter(lines)
    comments: list[bytes] = []
    for first in remaining:
        if first.partition(b"#")[0].split():
            break
        comments.append(first)
    else:
        raise ValueError(f"{lines.name}: {lines.path!r} is empty: check it")
    if first.lstrip().startswith(b"<"):
        raise lines.fault("this is XML or HTML: ask for JSON, as by wt=json of Solr")
    if first.lstrip()[:1] in (b"{", b"["):
        yield from _read_json(lines, first, remaining)
    elif OF_LETOR.match(first):
        documents = Documents(lines, rows=_again(lines, [*comments, first], remaining))
        judged, words = list(judged_lines(documents)), documents.named["qid:"]
        for number, query, document, grade in judged:
            if words and query not in words:
                raise lines.fault(
                    f"no line '# qid:{query}: words' names query {query}, but others "
                    "are named: name all or none",
                    number,
                )
            name = WEIGHT.sub("", words.get(query, query))
            row = Row(query=name, document=document, grade=grade)
            yield Record(f"{lines.name}: {lines.path!r}, line {number}", row)
    else:
        yield from _read_rows(lines, first, remaining)


def _again(
    lines: TextLines, read: list[bytes], remaining: Iterator[bytes]
) -> Iterator[bytes]:
    """Yield lines that have been read, with their numbers, and the others."""
    for lines.number, line in enumerate(read, start=1):  # noqa: B007
        yield line
    yield from remaining


def _read_json(
    lines: TextLines, first: bytes, remaining: Iterator[bytes]
) -> Iterator[Record]:
    """Yield the value of each line, or of the file if the first line is no value."""
    file, start = f"{lines.name}: {lines.path!r}", lines.number
    for line in chain([first], remaining):
        if line.isspace():
            continue
        try:
            yield Record(f"{file}, line {lines.number}", load_json(lines.decode(line)))
        except ValueError as error:
            if line is not first:
                raise lines.fault(_no_json(error)) from error
            break
    else:
        return
    rest = [lines.decode(line).rstrip("\r\n") for line in chain([first], remaining)]
    try:
        yield Record(file, load_json("\n".join(rest)))
    except ValueError as error:
        at = start + getattr(error, "lineno", 1) - 1
        raise lines.fault(_no_json(error), at) from error


def _no_json(error: ValueError) -> str:
    """Return what is wrong with a text for a message."""
    return f"this is not JSON: {getattr(error, 'msg', error)}"


def _read_rows(
    lines: TextLines, first: bytes, remaining: Iterable[bytes]
) -> Iterator[Record]:
    """Yield the rows of CSV or of qrels, by the names of their columns."""
    texts = (
        lines.decode(line).rstrip("\r\n") + "\n" for line in chain([first], remaining)
    )
    heading = lines.decode(first)
    delimiter = max(",\t;", key=heading.count)
    fields = first.split()
    rows: Iterator[list[str]]
    is_number = number_of(lines.decode(fields[-1])) is not None
    if is_number and len(fields) == len(QRELS.split()):
        header = QRELS.split()
        rows = (text.split() for text in texts if not text.startswith("#"))
    else:
        rows = iter(csv.reader(texts, delimiter=delimiter, strict=True))
        header = []
    try:
        header = header or list(map(str.strip, next(rows)))
        if len(set(header)) < len(header):
            raise lines.fault(f"two columns have the same name: {shown(heading)}")
        for row in filter(None, rows):
            if len(row) != len(header):
                raise lines.fault(
                    f"{len(row)} fields instead of the {len(header)} of "
                    f"{shown(' '.join(header))}"
                )
            yield Record(
                f"{lines.name}: {lines.path!r}, line {lines.number}",
                Row(zip(header, map(str.strip, row), strict=True)),
            )
    except csv.Error as error:
        raise lines.fault(f"this is not CSV: {error}") from error
