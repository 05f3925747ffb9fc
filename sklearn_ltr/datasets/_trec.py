"""TREC's files, judgements (qrels) and runs: read, written, and joined for metrics."""

from __future__ import annotations

import bz2
import gzip
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch

from sklearn_ltr._data import (
    QueryGroups,
    check_holds_rows,
    check_scores,
    places_in_queries,
    read_numbers,
)
from sklearn_ltr._parameters import Choice
from sklearn_ltr._typing import DataFrameLike, FloatArray, IdsLike, IntArray

Path = str | os.PathLike[str]
Number = TypeVar("Number", int, float)
Name = str | int  # of a topic or a document
Judgements = dict[tuple[Name, Name], float]
Columns = Mapping[str, object] | DataFrameLike  # by name

QRELS = "topic iteration document grade"
RUN = "topic Q0 document rank score tag"


class Qrels(Bunch):
    """Result of :func:`load_qrels`."""

    groups: NDArray[np.str_]
    documents: NDArray[np.str_]
    grades: IntArray


class Run(Bunch):
    """Result of :func:`load_run`."""

    groups: NDArray[np.str_]
    documents: NDArray[np.str_]
    scores: FloatArray
    tag: str


class JoinedRun(Bunch):
    """Result of :func:`join_run`."""

    y_true: FloatArray
    y_score: FloatArray
    groups: NDArray[np.str_] | IntArray
    y_missing: FloatArray
    groups_missing: NDArray[np.str_] | IntArray


def load_qrels(path: Path) -> Qrels:
    r"""Read a file of relevance judgements, ``topic iteration document grade``.

    Parameters
    ----------
    path : str or path-like
        The file: UTF-8 text, or compressed if its name ends in ``.gz`` or ``.bz2``.
        Fields are separated by white space; the second is ignored, as are empty lines.

    Returns
    -------
    Bunch
        ``groups``, ``documents`` : (n_judged,) str, topic and document of each line;
        ``grades`` : (n_judged,) int64.  Some collections have negative grades, see
        :func:`join_run`.

    Raises
    ------
    ValueError
        If a line does not have four fields, a grade is not an integer, or a document is
        judged twice for a topic, naming the line; or if the file is empty.
    TypeError
        If `path` is of another type.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_ltr.datasets import load_qrels
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     _ = path.write_text("301 0 FT911-3 2\n301 0 FT911-5 0\n")
    ...     qrels = load_qrels(path)
    >>> qrels.documents, qrels.grades
    (array(['FT911-3', 'FT911-5'], dtype='<U7'), array([2, 0]))
    """
    lines = list(_read_lines(path, QRELS))
    grades = [_number(path, line, "grade", text, int) for line, (*_, text) in lines]
    groups, documents = _topics_and_documents(path, lines)
    return Qrels(groups=groups, documents=documents, grades=np.array(grades, np.int64))


def load_run(path: Path) -> Run:
    r"""Read a file of ranked lists, ``topic Q0 document rank score tag``.

    Documents are ranked by their scores alone, as trec_eval does: the fourth field is
    ignored, as is the second.

    Parameters
    ----------
    path : str or path-like
        The file: UTF-8 text, or compressed if its name ends in ``.gz`` or ``.bz2``.

    Returns
    -------
    Bunch
        ``groups``, ``documents`` : (n_retrieved,) str, topic and document of each line;
        ``scores`` : (n_retrieved,) float64; ``tag`` : str, the name of the run.

    Raises
    ------
    ValueError
        If a line does not have six fields, a score is infinite or NaN, a document is
        listed twice for a topic, or lines have different tags, naming the line; or if
        the file is empty.
    TypeError
        If `path` is of another type.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_ltr.datasets import load_run
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.txt"
    ...     _ = path.write_text("301 Q0 a 1 2.5 bm25\n301 Q0 b 2 1.5 bm25\n")
    ...     run = load_run(path)
    >>> run.groups, run.scores, run.tag
    (array(['301', '301'], dtype='<U3'), array([2.5, 1.5]), 'bm25')
    """
    lines = list(_read_lines(path, RUN))
    tag = lines[0][1][-1]
    for line, fields in lines:
        if fields[-1] != tag:
            raise _fault(
                path, line, f"tag {fields[-1]!r} after {tag!r}: give one run per file"
            )
    scores = [_number(path, line, "score", fields[4], float) for line, fields in lines]
    groups, documents = _topics_and_documents(path, lines)
    return Run(groups=groups, documents=documents, scores=np.array(scores), tag=tag)


def dump_qrels(
    path: Path, grades: ArrayLike, *, groups: IdsLike, documents: IdsLike
) -> None:
    """Write relevance judgements, ``topic 0 document grade``, in the order of rows.

    Parameters
    ----------
    path : str or path-like
        The file to write; compressed if its name ends in ``.gz`` or ``.bz2``.
    grades : array-like of shape (n_judged,)
        Integers.
    groups, documents : array-likes of shape (n_judged,)
        Topic and document of each row: strings without white space, or integers.

    Raises
    ------
    ValueError, TypeError
        If the arguments are not as described, have different lengths, or a document
        is judged twice for a topic.  Nothing is written then.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_ltr.datasets import dump_qrels
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     dump_qrels(path, [2, 0], groups=[301, 301], documents=["a", "b"])
    ...     print(path.read_text(), end="")
    301 0 a 2
    301 0 b 0
    """
    topics, names = read_run_rows(groups, documents)
    rows = read_numbers(grades, len(topics), "grades")
    whole = np.isfinite(rows) & (rows == np.rint(rows))
    if not whole.all():
        row = int(np.argmin(whole))
        raise ValueError(
            f"grades must be integers in a file of judgements, but row {row} "
            f"(query {topics[row]!r}) has {rows[row]}"
        )
    lines = zip(topics, names, rows.astype(np.int64).tolist(), strict=True)
    _write_lines(path, (f"{topic} 0 {name} {grade}" for topic, name, grade in lines))


def dump_run(
    path: Path,
    scores: ArrayLike,
    *,
    groups: IdsLike,
    documents: IdsLike,
    tag: str = "sklearn_ltr",
) -> None:
    """Write ranked lists, ``topic Q0 document rank score tag``.

    The topics are sorted, and the documents of each by decreasing score; equal scores
    stay in the order of the rows.

    Parameters
    ----------
    path : str or path-like
        The file to write; compressed if its name ends in ``.gz`` or ``.bz2``.
    scores : array-like of shape (n_documents,)
        Finite; written with all digits of float64.  (trec_eval reads scores in single
        precision.)
    groups, documents : array-likes of shape (n_documents,)
        Topic and document of each row: strings without white space, or integers.
    tag : str, default="sklearn_ltr"
        Name of the run, without white space.

    Raises
    ------
    ValueError, TypeError
        If the arguments are not as described, have different lengths, or a document
        is listed twice for a topic.  Nothing is written then.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_ltr.datasets import dump_run
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.txt"
    ...     dump_run(path, [0.5, 2.0], groups=[301, 301], documents=["a", "b"], tag="x")
    ...     print(path.read_text(), end="")
    301 Q0 b 1 2.0 x
    301 Q0 a 2 0.5 x
    """
    if not isinstance(tag, str) or len(tag.split()) != 1 or tag != tag.strip():
        raise ValueError(f"tag must be a string without white space, got {tag!r}")
    topics, names = read_run_rows(groups, documents)
    queries = QueryGroups.from_groups(topics, len(topics))
    canonical = check_scores(scores, queries, "scores")
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    order = np.lexsort((-canonical, query))
    rank = places_in_queries(queries.offsets) + 1
    rows = zip(queries.order[order].tolist(), rank, canonical[order], strict=True)
    _write_lines(
        path,
        (
            f"{topics[row]} Q0 {names[row]} {rank} {float(score)!r} {tag}"
            for row, rank, score in rows
        ),
    )


def join_run(
    run: Columns,
    qrels: Columns,
    *,
    topics: Literal["qrels", "both"] = "qrels",
    unjudged: Literal["zero", "drop"] = "zero",
    negative: Literal["error", "unjudged"] = "error",
) -> JoinedRun:
    """Join ranked lists with relevance judgements, for the metrics.

    What is returned are arguments by name: ``ndcg_score(**join_run(run, qrels))``.

    Parameters
    ----------
    run : Bunch, dict or pandas.DataFrame
        ``groups``, ``documents`` and ``scores`` of the retrieved documents, as
        :func:`load_run` returns them; names are strings or integers.
    qrels : Bunch, dict or pandas.DataFrame
        ``groups``, ``documents`` and ``grades`` of the judged documents, as
        :func:`load_qrels` returns them.
    topics : {"qrels", "both"}, default="qrels"
        Topics that count: all that have judgements, those without a line in the run
        as lists of no documents, of value 0 (``trec_eval -c``); or those in both
        (trec_eval without ``-c``).  Topics without judgements never count.
    unjudged : {"zero", "drop"}, default="zero"
        Retrieved documents without a judgement: have grade 0, as in trec_eval; or are
        taken out of the lists, those below move up.  :class:`~sklearn_ltr.metrics.\
BPref` needs "drop".
    negative : {"error", "unjudged"}, default="error"
        Documents of a grade below zero (spam, in some collections): raise an error; or
        count as if they had no judgement, as in trec_eval.

    Returns
    -------
    Bunch
        ``y_true``, ``y_score`` : (n_rows,) float64, and ``groups`` : (n_rows,), of the
        retrieved documents.  Equal scores are ordered by document, the last name
        first, so that ``ties="stable"`` is the order of trec_eval (which compares
        scores in single precision).
        ``y_missing`` : (n_missing,) float64, and ``groups_missing`` : (n_missing,), of
        the judged documents that were not retrieved.

    Raises
    ------
    ValueError
        If the arguments are not as described, no topic of the run has judgements (or
        no document, with ``unjudged="drop"``), or a grade is negative.
    TypeError
        If a name is neither a string nor an integer, or names are strings in one of
        both and integers in the other.

    Examples
    --------
    >>> from sklearn_ltr.datasets import join_run
    >>> from sklearn_ltr.metrics import map_score
    >>> run = {"groups": [7, 7], "documents": ["a", "x"], "scores": [0.9, 0.4]}
    >>> qrels = {"groups": [7, 7], "documents": ["a", "b"], "grades": [1, 1]}
    >>> map_score(**join_run(run, qrels))
    0.5
    """
    Choice("qrels", "both").read_as("topics", topics)
    Choice("zero", "drop").read_as("unjudged", unjudged)
    Choice("error", "unjudged").read_as("negative", negative)
    retrieved, scores = _read_run(run)
    judgements = _read_qrels(qrels)
    _check_same_types(retrieved[0], next(iter(judgements)))
    # only topics that somebody has judged count, as in trec_eval
    counted = {topic for topic, _ in judgements}
    common = counted & {topic for topic, _ in retrieved}
    if not common:
        raise ValueError(
            f"run and qrels have no topic in common: run.groups has "
            f"{retrieved[0][0]!r}, qrels.groups has {next(iter(judgements))[0]!r}"
        )
    if topics == "both":
        counted = common
    judgements = _without_negative(judgements, negative)
    rows = [
        row
        for row, key in enumerate(retrieved)
        if key[0] in counted and (unjudged == "zero" or key in judgements)
    ]
    if not rows:
        raise ValueError(
            'run has no judged document: unjudged="drop" leaves nothing; check that '
            f"run.documents, such as {retrieved[0][1]!r}, and qrels.documents, such as "
            f"{next(iter(judgements), ('', 'none'))[1]!r}, name documents alike"
        )
    # trec_eval's order: by score, equal scores by descending document id
    rows.sort(key=lambda row: str(retrieved[row][1]), reverse=True)
    rows.sort(key=lambda row: -scores[row])
    missing = {key: grade for key, grade in judgements.items() if key[0] in counted}
    for key in retrieved:
        missing.pop(key, None)
    groups_missing = [topic for topic, _ in missing]
    # A topic of negative grades only has nothing relevant, but counts.
    left = sorted(counted - {retrieved[row][0] for row in rows}.union(groups_missing))
    return JoinedRun(
        y_true=np.array([judgements.get(retrieved[row], 0.0) for row in rows]),
        y_score=scores[rows],
        groups=np.array([retrieved[row][0] for row in rows]),
        y_missing=np.array([*missing.values()] + [0.0] * len(left)),
        groups_missing=np.array(groups_missing + left),
    )


# --- files ----------------------------------------------------------------------------


def open_text(path: Path, mode: str) -> IO[str]:
    """Open a file of text, which is compressed if its name says so."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a string or a path-like object, got {path!r}")
    name = os.fspath(path)
    if name.endswith(".gz"):
        opened: Any = gzip.open
    else:
        opened = bz2.open if name.endswith(".bz2") else open
    text: IO[str] = opened(name, mode, encoding="utf-8")
    return text


def _read_lines(path: Path, fields: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and fields of each line that is not empty, at least one."""
    found, n_fields = False, len(fields.split())
    with open_text(path, "rt") as file:
        for number, line in enumerate(file, 1):
            split = line.split()
            if not split:
                continue
            if len(split) != n_fields:
                raise _fault(
                    path,
                    number,
                    f"{len(split)} fields instead of the {n_fields} of {fields!r}: "
                    f"{line.strip()[:80]!r}",
                )
            found = True
            yield number, split
    if not found:
        raise ValueError(f"path: {os.fspath(path)!r} holds no lines {fields!r}")


def _number(
    path: Path, line: int, name: str, text: str, kind: Callable[[str], Number]
) -> Number:
    """Return a finite number; a ValueError that names the line if it is none."""
    what = "an integer" if kind is int else "a number"
    try:
        number = kind(text)
    except ValueError:
        raise _fault(path, line, f"the {name} is not {what}: {text!r}") from None
    if not math.isfinite(number):
        raise _fault(
            path,
            line,
            f"the {name} is {text}: leave documents that are not ranked out of the run",
        )
    return number


def _topics_and_documents(
    path: Path, lines: Sequence[tuple[int, list[str]]]
) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    """Return both columns; a ValueError if a document is twice in a topic."""
    first: dict[tuple[str, str], int] = {}
    for line, (topic, _, document, *_rest) in lines:
        before = first.setdefault((topic, document), line)
        if before != line:
            raise _fault(
                path,
                line,
                f"document {document!r} of topic {topic!r} is in line {before} already",
            )
    topics, documents = zip(*first, strict=True)
    return np.array(topics), np.array(documents)


def _fault(path: Path, line: int, what: str) -> ValueError:
    """Return the error that names a line of a file."""
    return ValueError(f"path: {os.fspath(path)!r}, line {line}: {what}")


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    """Write lines of text."""
    with open_text(path, "wt") as file:
        file.writelines(f"{line}\n" for line in lines)


# --- columns of a run and of judgements -----------------------------------------------


def read_run_rows(
    groups: object, documents: object, prefix: str = ""
) -> tuple[list[Name], list[Name]]:
    """Return topic and document of each row, checked; `prefix` is for messages."""
    topics = _column(groups, f"{prefix}groups")
    names = _column(documents, f"{prefix}documents")
    if len(topics) != len(names):
        raise ValueError(
            f"{prefix}groups has {len(topics)} values for the {len(names)} of "
            f"{prefix}documents; give one of each per row"
        )
    if not names:
        raise ValueError(f"{prefix}documents is empty: there are no rows")
    first: dict[tuple[str, str], int] = {}
    for row, (topic, name) in enumerate(zip(topics, names, strict=True)):
        before = first.setdefault((str(topic), str(name)), row)
        if before != row:
            raise ValueError(
                f"{prefix}documents has {name!r} twice for query {topic!r}, at rows "
                f"{before} and {row}"
            )
    return topics, names


def _column(values: object, name: str) -> list[Name]:
    """Return a column of names, all strings or all integers."""
    check_holds_rows(values, name, "name")
    array = values if isinstance(values, list | tuple) else np.asarray(values)
    if isinstance(array, np.ndarray):
        if array.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got shape {array.shape}")
        array = array.tolist()
    column = [
        value.item() if isinstance(value, np.generic) else value for value in array
    ]
    for row, value in enumerate(column):
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise TypeError(
                f"{name} must hold strings or integers, but row {row} has {value!r}"
            )
        if isinstance(value, str) and value.split() != [value]:
            raise ValueError(
                f"{name} must hold names without white space, but row {row} has "
                f"{value!r}"
            )
        if isinstance(value, str) != isinstance(column[0], str):
            raise TypeError(
                f"{name} has both strings and integers, {column[0]!r} at row 0 and "
                f"{value!r} at row {row}: give one type"
            )
    return column


def _read_run(
    run: Columns,
) -> tuple[list[tuple[Name, Name]], NDArray[np.float64]]:
    """Return topic and document of each row, and the scores."""
    _check_has(run, "run", ("groups", "documents", "scores"))
    topics, documents = read_run_rows(run["groups"], run["documents"], "run.")
    queries = QueryGroups.from_groups(topics, len(topics))
    scores = queries.unsort(check_scores(run["scores"], queries, "run.scores"))
    return list(zip(topics, documents, strict=True)), scores


def _read_qrels(qrels: Columns) -> Judgements:
    """Return the grade of each topic and document."""
    _check_has(qrels, "qrels", ("groups", "documents", "grades"))
    topics, documents = read_run_rows(qrels["groups"], qrels["documents"], "qrels.")
    grades = read_numbers(qrels["grades"], len(topics), "qrels.grades")
    if not np.isfinite(grades).all():
        row = int(np.argmin(np.isfinite(grades)))
        raise ValueError(
            f"qrels.grades must be finite, but row {row} (query {topics[row]!r}) has "
            f"{grades[row]}"
        )
    return dict(zip(zip(topics, documents, strict=True), grades.tolist(), strict=True))


def _without_negative(judgements: Judgements, negative: str) -> Judgements:
    """Leave out judgements below zero, or raise a ValueError that names the first."""
    if negative == "error":
        for (topic, document), grade in judgements.items():
            if grade < 0:
                raise ValueError(
                    f"qrels.grades has the negative grade {grade:g} (document "
                    f'{document!r} of query {topic!r}): give negative="unjudged" to '
                    "count such documents as not judged, as trec_eval does, or "
                    "np.maximum(qrels.grades, 0) to count them as judged not relevant"
                )
    return {key: grade for key, grade in judgements.items() if grade >= 0}


def _check_same_types(one: tuple[Name, Name], other: tuple[Name, Name]) -> None:
    """Raise a TypeError if run and judgements name things by other types."""
    for column, a, b in zip(("groups", "documents"), one, other, strict=True):
        if isinstance(a, str) != isinstance(b, str):
            raise TypeError(
                f"run.{column} has names such as {a!r} and qrels.{column} such as "
                f"{b!r}: give strings in both, or integers"
            )


def _check_has(values: Any, name: str, columns: tuple[str, ...]) -> None:
    """Raise a TypeError or ValueError unless a mapping has its columns."""
    if not hasattr(values, "keys"):  # as Bunch, dict and the frames of pandas have
        raise TypeError(
            f"{name} must be a Bunch, dict or frame of {', '.join(columns)}, got "
            f"{type(values).__name__}"
        )
    for column in columns:
        if column not in values:
            raise ValueError(f"{name} has no {column!r}; it needs {', '.join(columns)}")
