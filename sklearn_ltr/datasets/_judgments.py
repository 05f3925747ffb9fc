"""Read judgements as search engines and their tools write them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import Any, TypeAlias

import numpy as np

from sklearn_ltr._core.other_libraries import columns_named
from sklearn_ltr.datasets._records import (
    Record,
    Records,
    Row,
    is_missing,
    is_object,
    members,
    number_of,
    read_name,
    read_records,
    shown,
    sources,
)
from sklearn_ltr.datasets._trec import Qrels, column_of

#: keys of the lists of queries, and of the ratings of one, in letters of lower case
QUERIES = (
    "judgmentratings", "judgmentscores", "requests", "topics", "query_groups",
    "query_doc_pairs", "queries",
)  # fmt: skip
RATINGS = "ratings"
#: what RRE calls judgements, also of all queries below
JUDGED = "relevant_documents"
FORMS = (
    "give a list of objects with 'query' and 'ratings', a dict of ratings by query "
    "and document, or a table with columns such as query, docid and rating"
)
#: the arguments that name a column
ARGUMENTS = {"groups": "query", "documents": "document", "grades": "grade"}
BY = "by load_judgments(..., {}=...)"

# place, query and document, and the ratings: of several judges, or none
Judged: TypeAlias = tuple[str, Any, Any, list[Any]]
# names of columns that are given
Names: TypeAlias = Mapping[str, list[Any]]


def load_judgments(
    judgments: Records,
    *,
    query: Hashable | None = None,
    document: Hashable | None = None,
    grade: Hashable | Sequence[Hashable] | None = None,
    grades: Mapping[Any, float] | None = None,
) -> Qrels:
    r"""Read judgements of search engines and their tools: JSON, CSV, frames or dicts.

    These formats are recognized:

    - Search Relevance Workbench of OpenSearch: ``judgmentRatings`` as a list of objects
      with ``query`` and ``ratings``, or as a dict by query; the older
      ``judgmentScores``; also as the engine returns them, within ``hits``.
    - Requests to ``_rank_eval`` of Elasticsearch and OpenSearch: the ``id`` of each is
      the query.
    - Quepid: exports as CSV (``query,docid,rating``) and as JSON, of ratings or of a
      whole case.  Rows of CSV without a rating are not judged, and left out.
    - The Rated Ranking Evaluator: ``relevant_documents``, by document or by grade.
    - Lists of Elasticsearch's plugin, ``4 qid:1 # 7555 Rambo``: lines
      ``# qid:1: rambo`` name the queries, if there are any.
    - Tables with a row for each judgement: frames, dicts of columns, CSV, JSON lines.
      Columns may have the names of PyTerrier, ir_measures, BEIR, MS MARCO, Amazon and
      others, such as ``qid``, ``docno`` and ``label``; qrels of TREC, whose columns
      have no names.
    - Dicts of dicts of grades by query and document (pytrec_eval, ranx, BEIR).

    All read the same names of columns and keys.  Those of this package come first,
    ``groups``, ``documents`` and ``grades``; ``document`` and ``doc``, which may hold
    the text, and ``score`` count only where there is no other.  Two names of one
    meaning, as ``query`` and ``qid``, are an error.  So is ``id`` beside a column of an
    unknown name, because it may be the number of the row.

    Parameters
    ----------
    judgments : path, file object, dict, list or frame
        A file (JSON, JSON lines, CSV or qrels in UTF-8, plain or compressed by gzip or
        bzip2); what ``json.load`` returns; or a frame of pandas, polars or Arrow.
    query, document : str, default=None
        Name of the column, or key, that has the query, and the document.  None: it is
        found by its name.
    grade : str or list of str, default=None
        Likewise the grade.  Of several columns, as Quepid's books have one for each
        judge, the grade is the mean of what they hold.
    grades : dict, default=None
        The grade of each label, if these are no numbers, such as
        ``{"Exact": 3, "Partial": 1, "Irrelevant": 0}``, or other numbers.

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
        the file.  If a column is not found, or several may be meant; the message lists
        the columns.  If there are no ratings, or the file is damaged or of another
        format.
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
    names = {"groups": [query], "documents": [document]}
    names["grades"] = grade if isinstance(grade, list) else [grade]
    given = {column: own for column, own in names.items() if own != [None]}
    return read_judgments(judgments, "judgments", given, grades)


def read_judgments(
    judgments: Any,
    name: str,
    given: Names | None = None,
    labels: Mapping[Any, float] | None = None,
) -> Qrels:
    """Read judgements, the argument `name`, by the given columns and labels."""
    if labels is not None and not is_object(labels):
        raise TypeError(f"grades must be a dict of grades by label, got {labels!r}")
    grade_of = {_label(label): grade for label, grade in (labels or {}).items()}
    grades: dict[tuple[str, str], float] = {}
    judged = (
        one
        for record in read_records(_as_rows(judgments, name), name)
        for held in sources(record)
        for one in _of_object(held, given or {})
    )
    for place, query, document, ratings in judged:
        key = (
            read_name(query, place, "the query"),
            read_name(document, place, "the document"),
        )
        numbers, what = [], ""
        for rating in ratings:
            value = rating if labels is None else grade_of.get(_label(rating))
            numbers.append(math.nan if (n := number_of(value)) is None else n)
            if n is None:
                what = f"must be a number, got {shown(rating)}"
                if isinstance(rating, str):
                    what += f": give grades of labels {BY.format('grades')}"
            elif not 0 <= n < math.inf:
                what = f"must be finite and at least 0, got {shown(rating)}: leave "
                what += "out what is not judged (join_run takes negative grades)"
        grade = numbers[0] if what or len(numbers) == 1 else mean(numbers)
        if not what and grades.setdefault(key, grade) != grade:
            what = f"is {grade:g}, but {grades[key]:g} before: keep one, or the mean"
        if what:
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


def _label(value: Any) -> Any:
    """Return a label to look up, a number for text such as "1.0"."""
    number = number_of(value)
    return str(value).strip() if number is None else number


def _as_rows(value: Any, name: str) -> Any:
    """Return the rows of a dict of columns, and any other value as it is."""
    held = value if is_object(value) else {}
    columns = {
        key: np.asarray(one, dtype=object).tolist()
        for key, one in held.items()
        if hasattr(one, "__len__")
        and not isinstance(one, Mapping | str)
        and len(one) > 0
        and _is_plain(next(iter(one)))
    }
    found = (columns_named(tuple(columns), column) for column in ARGUMENTS)
    if not columns or not (len(columns) == len(held) or all(found)):
        return value
    if len(set(map(len, columns.values()))) > 1:
        raise ValueError(
            f"{name} has columns of different lengths: give a value for each row"
        )
    rows = zip(*columns.values(), strict=True)
    return [Row(zip(columns, row, strict=True)) for row in rows]


def _key(
    names: Iterable[Any],
    column: str,
    place: str,
    given: Names,
    wanted: Iterable[str] = (),
) -> list[Any]:
    """Return the name of a column, or those of several judges."""
    by = BY.format(ARGUMENTS[column])
    more = ", or a list for the mean of several judges" * (column == "grades")
    more, own = f"; or name it {by}{more}", given.get(column)
    return column_of(names, column, place, f"name one {by}", wanted, more, own)


def _of_row(
    place: str, row: Mapping[str, Any], table: str, given: Names
) -> Iterator[Judged]:
    """Yield the judgement of a row, if there is one."""
    query, document, grade = (
        _key(row, column, table, given, ARGUMENTS) for column in ARGUMENTS
    )
    ratings = [row[key] for key in grade]
    if len(ratings) > 1:
        ratings = [rating for rating in ratings if not is_missing(rating)]
    if ratings and not (isinstance(ratings[0], str) and ratings[0] == ""):
        yield place, row[query[0]], row[document[0]], ratings


# --- objects of JSON ------------------------------------------------------------------


def _of_object(record: Record, given: Names, judged: Any = None) -> Iterator[Judged]:
    """Yield the judgements of an object: lists of queries, one query, or one rating."""
    place, value = record
    if isinstance(value, Row):
        yield from _of_row(place, value, place.rpartition(",")[0], given)
        return
    if not is_object(value):
        raise ValueError(f"{place}: {shown(value)} holds no judgements: {FORMS}")
    plain = {str(key).lower(): key for key in reversed(list(value))}
    held = next((value[plain[name]] for name in QUERIES if name in plain), None)
    cells = {key: one for key, one in value.items() if _is_plain(one)}
    judged, words = value.get(JUDGED, judged), value.get("placeholders")
    query = [] if _is_nested(held) else _key(cells, "groups", place, given)
    if not query and {"request", "template_id"} & plain.keys():  # of _rank_eval
        query = ["id"] if "id" in cells else []
    if is_object(held) and _is_nested(held):
        yield from _of_queries(Record(place, held), given)
    elif _is_nested(held):
        for one in members(Record(place, held), "query"):
            yield from _of_object(one, given, judged)
    elif is_object(words) and (judged is not None or "template" in value):
        yield from _of_rre(place, words, {} if judged is None else judged, given)
    elif query and RATINGS in plain:
        yield from _of_query(place, cells[query[0]], value[plain[RATINGS]], given)
    elif (cells and RATINGS in plain) or (
        len(cells) > 2 and (query or len(cells) == len(value))
    ):
        yield from _of_row(place, cells, place, given)
    elif query:
        of = f"query {shown(cells[query[0]])}"
        raise ValueError(f"{place}, {of} has no ratings: {FORMS}")
    else:
        yield from _of_queries(record, given)


def _is_plain(value: Any) -> bool:
    """Return whether a value is neither a list nor an object."""
    return not isinstance(value, Mapping | list | tuple)


def _is_nested(value: Any) -> bool:
    """Return whether a value is a list or an object that holds such."""
    if _is_plain(value):
        return False
    held = value.values() if is_object(value) else value
    return not held or not all(map(_is_plain, held))


def _of_queries(record: Record, given: Names) -> Iterator[Judged]:
    """Yield the judgements of a dict by query."""
    for query, ratings in record.value.items():
        yield from _of_query(record.place, query, ratings, given)


def _of_query(place: str, query: Any, ratings: Any, given: Names) -> Iterator[Judged]:
    """Yield the judgements of a query: a list of objects, or a dict by document."""
    where = f"{place}, query {shown(query)}"
    if is_object(ratings):
        for document, rating in ratings.items():
            yield place, query, document, [rating]
        return
    if _is_plain(ratings):
        raise ValueError(f"{where}: {shown(ratings)} is no list of ratings: {FORMS}")
    for one, rating in members(Record(where, ratings), "rating"):
        entry: Mapping[str, Any] = rating if is_object(rating) else {}
        found, grade = (
            _key(entry, column, one, given) for column in ("documents", "grades")
        )
        if not found or not grade:
            raise ValueError(
                f"{one}: {shown(rating)} is no rating: give an object with a document "
                "and a rating, such as docId and rating, or _id and rating"
            )
        yield place, query, entry[found[0]], [entry[key] for key in grade]


def _of_rre(
    place: str, words: Mapping[str, Any], judged: Any, given: Names
) -> Iterator[Judged]:
    """Yield the judgements of a query of RRE: by document, or documents by grade."""
    query = given.get("groups", ["$query"] if "$query" in words else list(words))
    if len(query) != 1 or query[0] not in words:
        raise ValueError(
            f"{place}: name the placeholder of the query {BY.format('query')}, one of "
            f"{', '.join(map(repr, words)) or 'none'}"
        )
    if not is_object(judged) or any(map(_is_plain, judged.values())):
        raise ValueError(
            f"{place}: {JUDGED} is {shown(judged)}: give lists of documents by grade, "
            "or objects with a gain by document"
        )
    for name, held in judged.items():
        if is_object(held):
            yield place, words[query[0]], name, [held.get("gain", held.get("rating"))]
        else:
            yield from ((place, words[query[0]], document, [name]) for document in held)
