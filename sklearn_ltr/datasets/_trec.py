"""Read and write TREC's files: judgements (qrels) and runs."""

from __future__ import annotations

import bz2
import gzip
import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, TypeVar

import numpy as np
from sklearn.utils import Bunch

from sklearn_ltr._data import QueryGroups, check_scores, read_numbers
from sklearn_ltr.datasets._documents import read_names

Path = str | os.PathLike[str]
Number = TypeVar("Number", int, float)

QRELS = "topic iteration document grade"
RUN = "topic Q0 document rank score tag"


def load_qrels(path: Path) -> Bunch:
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
        If a line has not four fields, a grade is not an integer, or a document is
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
    return Bunch(groups=groups, documents=documents, grades=np.array(grades, np.int64))


def load_run(path: Path) -> Bunch:
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
        If a line has not six fields, a score is not a finite number, a document is
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
    return Bunch(groups=groups, documents=documents, scores=np.array(scores), tag=tag)


def dump_qrels(path: Path, grades: Any, *, groups: Any, documents: Any) -> None:
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
    topics, names = read_names(groups, documents)
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
    path: Path, scores: Any, *, groups: Any, documents: Any, tag: str = "sklearn_ltr"
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
    topics, names = read_names(groups, documents)
    queries = QueryGroups.from_groups(topics, len(topics))
    canonical = check_scores(scores, queries, "scores")
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    order = np.lexsort((-canonical, query))
    rank = np.arange(len(order)) - np.repeat(queries.offsets[:-1], queries.sizes) + 1
    rows = zip(queries.order[order].tolist(), rank, canonical[order], strict=True)
    _write_lines(
        path,
        (
            f"{topics[row]} Q0 {names[row]} {rank} {float(score)!r} {tag}"
            for row, rank, score in rows
        ),
    )


def _open(path: Path, mode: str) -> IO[str]:
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
    with _open(path, "rt") as file:
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
) -> tuple[Any, Any]:
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
    return ValueError(f"path: {os.fspath(path)!r}, line {line}: {what}")


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    with _open(path, "wt") as file:
        file.writelines(f"{line}\n" for line in lines)
