"""Read judgements as search engines and their tools write them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sklearn_ltr._core.data.features import is_arrow, is_frame
from sklearn_ltr.datasets._records import (
    Record,
    Records,
    is_object,
    key_of,
    members,
    number_of,
    read_name,
    read_records,
    shown,
    sources,
)
from sklearn_ltr.datasets._trec import Qrels, read_table

#: keys of the lists of queries, and of the ratings of one, in letters of lower case
QUERIES = ("judgmentratings", "judgmentscores", "requests", "queries")
RATINGS = "ratings"
#: further names of the query of a list of ratings, and of a document within it
OF_QUERY, OF_DOCUMENT = "id", "id objectid productid"
FORMS = (
    "give a list of objects with 'query' and 'ratings', a dict of ratings by query "
    "and document, or a table with columns such as query, docid and rating"
)


def load_judgments(judgments: Records) -> Qrels:
    r"""Read judgements of search engines and their tools: JSON, CSV, frames or dicts.

    These formats are recognized:

    - Search Relevance Workbench of OpenSearch: ``judgmentRatings`` as a list of objects
      with ``query`` and ``ratings``, or as a dict by query; the older
      ``judgmentScores``; also as the engine returns them, within ``hits``.
    - Requests to ``_rank_eval`` of Elasticsearch and OpenSearch: the ``id`` of each is
      the query.
    - Quepid: exports as CSV (``query,docid,rating``) and as JSON.  Rows of CSV without
      a rating are not judged, and left out.
    - Tables with a row for each judgement: frames, CSV, JSON lines.  Columns may have
      the names of PyTerrier, ir_measures, BEIR, MS MARCO and others, such as ``qid``,
      ``docno`` and ``label``; qrels of TREC, whose columns have no names.
    - Dicts of dicts of grades by query and document (pytrec_eval, ranx, BEIR).

    Parameters
    ----------
    judgments : path, file object, dict, list or frame
        A file (JSON, JSON lines, CSV or qrels in UTF-8, plain or compressed by gzip or
        bzip2); what ``json.load`` returns; or a frame of pandas, polars or Arrow.

    Returns
    -------
    Bunch
        ``groups``, ``documents`` : (n_judged,) str, query and document of each
        judgement, in the order of the source (numbers become text);
        ``grades`` : (n_judged,) float64, at least 0.  :func:`join_run` and
        :func:`join_features` take it.

    Raises
    ------
    ValueError
        If a rating is no number, is negative, infinite or NaN, a document of a query
        has two different ratings, or a name is empty; the message names the place in
        the file.  If there are no ratings, or the file is damaged or of another format.
    TypeError
        If a name is neither text nor a whole number, or `judgments` is of another type.

    Examples
    --------
    >>> from sklearn_ltr.datasets import load_judgments
    >>> rated = [{"docId": "B07", "rating": "3.0"}, {"docId": "B09", "rating": "0.0"}]
    >>> workbench = {"judgmentRatings": [{"query": "red dress", "ratings": rated}]}
    >>> judged = load_judgments(workbench)
    >>> judged.groups
    array(['red dress', 'red dress'], dtype='<U9')
    >>> judged.documents, judged.grades
    (array(['B07', 'B09'], dtype='<U3'), array([3., 0.]))
    """
    return read_judgments(judgments, "judgments")


def read_judgments(judgments: Any, name: str) -> Qrels:
    """Read judgements, an argument of this name."""
    grades: dict[tuple[str, str], float] = {}
    for place, query, document, rating in _ratings(judgments, name):
        key = (
            read_name(query, place, "the query"),
            read_name(document, place, "the document"),
        )
        grade = number_of(rating)
        if grade is None:
            what = f"must be a number, got {shown(rating)}"
        elif not 0 <= grade < math.inf:
            what = (
                f"must be finite and at least 0, got {shown(rating)}: leave out what "
                "is not judged (join_run takes negative grades)"
            )
        elif grades.setdefault(key, grade) != grade:
            what = f"is {grade:g}, but {grades[key]:g} before: keep one, or the mean"
        else:
            continue
        of = f"query {shown(key[0])}, document {shown(key[1])}"
        raise ValueError(f"{place}, {of}: the rating {what}")
    if not grades:
        raise ValueError(f"{name} has no ratings: {FORMS}")
    groups, documents = zip(*grades, strict=True)
    return Qrels(
        groups=np.array(groups),
        documents=np.array(documents),
        grades=np.array(list(grades.values())),
    )


def _ratings(judgments: Any, name: str) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield place, query, document and rating of each judgement."""
    if is_frame(judgments) or is_arrow(judgments) or _is_table(judgments):
        columns = [
            np.asarray(column, dtype=object).tolist()
            for column in read_table(judgments, name, "grades")
        ]
        if len(set(map(len, columns))) > 1:
            raise ValueError(
                f"{name} has columns of different lengths: give a value for each row"
            )
        for row, entry in enumerate(zip(*columns, strict=True)):
            yield (f"{name}, row {row}", *entry)
        return
    for record in read_records(judgments, name):
        for one in sources(record):
            yield from _of_object(one)


def _is_table(value: Any) -> bool:
    """Return whether a dict has columns, not queries."""
    if not is_object(value):
        return False
    columns = [key_of(value, name) for name in ("groups", "documents", "grades")]
    return None not in columns and not any(
        isinstance(value[key], Mapping) or np.ndim(value[key]) == 0 for key in columns
    )


def _of_object(record: Record) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the judgements of an object: lists of queries, one query, or one rating."""
    place, value = record
    if not is_object(value):
        raise ValueError(f"{place}: {shown(value)} holds no judgements: {FORMS}")
    plain = {str(key).lower(): key for key in reversed(list(value))}
    held = next((value[plain[name]] for name in QUERIES if name in plain), None)
    row = [
        key_of(value, column, OF_DOCUMENT if column == "documents" else "")
        for column in ("groups", "documents", "grades")
    ]
    query = key_of(value, "groups", OF_QUERY)
    if is_object(held) and _is_nested(held):
        yield from _of_queries(Record(place, held))
    elif _is_nested(held):
        for one in members(Record(place, held), "query"):
            yield from _of_object(one)
    elif RATINGS in plain and query is not None and _is_plain(value[query]):
        yield from _of_query(place, value[query], value[plain[RATINGS]])
    elif None not in row and all(_is_plain(value[key]) for key in row):
        if value[row[2]] != "":  # of CSV: not judged
            yield (place, *(value[key] for key in row))
    elif row[0] is not None and _is_plain(value[row[0]]):
        raise ValueError(
            f"{place}, query {shown(value[row[0]])} has no ratings: {FORMS}"
        )
    else:
        yield from _of_queries(record)


def _is_plain(value: Any) -> bool:
    """Return whether a value is neither a list nor an object."""
    return not isinstance(value, Mapping | list | tuple)


def _is_nested(value: Any) -> bool:
    """Return whether a value is a list, or an object of lists or objects."""
    if is_object(value):
        return not value or not all(map(_is_plain, value.values()))
    return not _is_plain(value)


def _of_queries(record: Record) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the judgements of a dict by query."""
    for query, ratings in record.value.items():
        yield from _of_query(record.place, query, ratings)


def _of_query(
    place: str, query: Any, ratings: Any
) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the judgements of a query: a list of objects, or a dict by document."""
    where = f"{place}, query {shown(query)}"
    if is_object(ratings):
        for document, rating in ratings.items():
            yield place, query, document, rating
        return
    if _is_plain(ratings):
        raise ValueError(f"{where}: {shown(ratings)} is no list of ratings: {FORMS}")
    for one, rating in members(Record(where, ratings), "rating"):
        entry = rating if is_object(rating) else {}
        document = key_of(entry, "documents", OF_DOCUMENT)
        grade = key_of(entry, "grades")
        if None in (document, grade):
            raise ValueError(
                f"{one}: {shown(rating)} is no rating: give an object with a document "
                "and a rating, such as docId and rating, or _id and rating"
            )
        yield place, query, entry[document], entry[grade]
