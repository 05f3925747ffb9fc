"""TREC's files, judgements (qrels) and runs: read, written, and joined for metrics."""

from __future__ import annotations

import bz2
import gzip
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch

from sklearn_ltr._core.data import (
    QueryGroups,
    check_holds_rows,
    check_scores,
    places_in_queries,
    read_numbers,
)
from sklearn_ltr._core.data.features import is_arrow, is_frame, is_lazy
from sklearn_ltr._core.data.rows import check_each
from sklearn_ltr._core.other_libraries import OTHER_COLUMNS, columns_named, plain_name
from sklearn_ltr._core.parameters import Choice, real
from sklearn_ltr._core.typing import DataFrameLike, FloatArray, IdsLike, IntArray
from sklearn_ltr.datasets._files import (
    Path,
    TextLines,
    printable,
    read_float,
    read_path,
)

Name = str | int  # of a topic or a document
Judgements = dict[tuple[Name, Name], float]
NamedColumns = Mapping[Any, Any] | DataFrameLike  # by name, or a dict of dicts

QRELS = "topic iteration document grade"
RUN = "topic Q0 document rank score tag"
INSTEAD = "read it with its own reader, and give a frame to join_run"
INTEGER = re.compile(rb"[+-]?[0-9]+(\.0*)?")
WHITE_SPACE = re.compile(r"[ \t\n\r\f\v]")
WITHOUT_SPACE = "must hold names without white space, but row"


class Qrels(Bunch):
    """Result of :func:`load_qrels` and :func:`load_judgments`."""

    groups: NDArray[np.str_]
    documents: NDArray[np.str_]
    grades: IntArray | FloatArray


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
        The file: UTF-8 text, plain or compressed by gzip or bzip2; a pipe can be read.
        Fields are separated by white space; the second is ignored, as are empty lines
        and those that begin with ``#`` (comments, as in trec_eval 10).

    Returns
    -------
    Bunch
        ``groups``, ``documents`` : (n_judged,) str, topic and document of each line;
        ``grades`` : (n_judged,) int64; ``1.0`` is read as 1.  Some collections have
        negative grades, see :func:`join_run`.

    Raises
    ------
    ValueError
        If a line does not have four fields, a grade is not an integer, or a document is
        judged twice for a topic, naming the line; if the file is empty, cut off, or of
        another format or encoding.
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
    groups, documents, grades, _ = _read_columns(path, QRELS, 3, _grade)
    return Qrels(groups=groups, documents=documents, grades=np.array(grades, np.int64))


def load_run(path: Path) -> Run:
    r"""Read a file of ranked lists, ``topic Q0 document rank score tag``.

    Documents are ranked by their scores alone, as trec_eval does: the fourth field, the
    rank, is ignored whatever it holds, as are the second and what follows the sixth.

    Parameters
    ----------
    path : str or path-like
        The file: UTF-8 text, plain or compressed by gzip or bzip2; a pipe can be read.
        Empty lines and those that begin with ``#`` are ignored, as in trec_eval 10.

    Returns
    -------
    Bunch
        ``groups``, ``documents`` : (n_retrieved,) str, topic and document of each line,
        as they are written (``007`` is not 7); ``scores`` : (n_retrieved,) float64;
        ``tag`` : str, the name of the run, which is the tag of the last line.

    Raises
    ------
    ValueError
        If a line has fewer than six fields, a score is infinite or NaN, or a document
        is listed twice for a topic, naming the line; if the file is empty, cut off, or
        of another format or encoding.
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
    groups, documents, scores, last = _read_columns(path, RUN, 4, _score)
    return Run(groups=groups, documents=documents, scores=np.array(scores), tag=last[5])


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
        Topics do not begin with ``#``, which makes a line a comment.

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
    write_lines(path, qrels_lines(grades, groups, documents))


def qrels_lines(
    grades: ArrayLike, groups: IdsLike, documents: IdsLike
) -> Iterable[str]:
    """Return the lines of a file of judgements."""
    topics, names = _rows_to_write(groups, documents)
    rows = read_numbers(grades, len(topics), "grades")
    check_each(
        np.isfinite(rows) & (rows == np.rint(rows)),
        rows,
        lambda row: f"row {row} (query {topics[row]!r})",
        "grades must be integers in a file of judgements",
        ": round all, or multiply them; LETOR files hold others",
    )
    columns = zip(topics, names, rows.astype(np.int64).tolist(), strict=True)
    return (f"{topic} 0 {name} {grade}" for topic, name, grade in columns)


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
        Finite; written with all digits of float64, which trec_eval 10 compares.
        (trec_eval 9 reads them in single precision.)
    groups, documents : array-likes of shape (n_documents,)
        Topic and document of each row: strings without white space, or integers.
        Topics do not begin with ``#``, which makes a line a comment.
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
    topics, names = _rows_to_write(groups, documents)
    queries = QueryGroups.from_groups(topics, len(topics))
    canonical = check_scores(scores, queries, "scores")
    query = queries.query
    order = np.lexsort((-canonical, query))
    rank = places_in_queries(queries.offsets) + 1
    rows = zip(queries.order[order].tolist(), rank, canonical[order], strict=True)
    lines = (
        f"{topics[row]} Q0 {names[row]} {rank} {float(score)!r} {tag}"
        for row, rank, score in rows
    )
    write_lines(path, lines)


def join_run(
    run: NamedColumns,
    qrels: NamedColumns,
    *,
    topics: Literal["qrels", "both"] = "qrels",
    unjudged: Literal["zero", "drop"] | float = "zero",
    negative: Literal["error", "unjudged"] = "error",
) -> JoinedRun:
    """Join ranked lists with relevance judgements, for the metrics.

    What is returned are arguments by name: ``ndcg_score(**join_run(run, qrels))``.

    Parameters
    ----------
    run : Bunch, dict or frame
        ``groups``, ``documents`` and ``scores`` of the retrieved documents, as
        :func:`load_run` returns them; or a dict that has a dict of scores by document
        for each topic.  Names of topics and documents are strings or integers.
        Frames are those of pandas, polars or Arrow.  Columns may have the names of
        PyTerrier, ir_measures, BEIR, MS MARCO or ranx, such as ``qid``, ``docno`` and
        ``score``, in any order; others are ignored.
    qrels : Bunch, dict or frame
        ``groups``, ``documents`` and ``grades`` (or ``label``, ``relevance``, ...) of
        the judged documents, as :func:`load_qrels` returns them; or a dict of dicts.
    topics : {"qrels", "both"}, default="qrels"
        Topics that count: all with judgements, where a topic without a line in the run
        has value 0 (``trec_eval -c``, ir_measures); or only those in both
        (trec_eval without ``-c``).  Topics without judgements never count.
    unjudged : {"zero", "drop"} or float of at least 0, default="zero"
        Retrieved documents without a judgement get grade 0, as in trec_eval; or this
        grade, such as the lowest of a scale from 1; or are taken out of the lists, and
        those below move up.  :class:`~sklearn_ltr.metrics.BPref` needs "drop".
    negative : {"error", "unjudged"}, default="error"
        Documents of a grade below zero (spam, in some collections): raise an error; or
        count as if they had no judgement, as in trec_eval.

    Returns
    -------
    Bunch
        ``y_true``, ``y_score`` : (n_rows,) float64, and ``groups`` : (n_rows,), of the
        retrieved documents.  Equal scores are ordered by document, the last name
        first, so that ``ties="stable"`` is the order of trec_eval 10.  (trec_eval 9
        compares scores in single precision, and has more ties: round them,
        ``scores.astype(numpy.float32)``, to have its order.)
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
    grade = grade_of_unjudged(unjudged) or 0.0
    Choice("error", "unjudged").read_as("negative", negative)
    groups, documents, given = read_table(run, "run", "scores")
    groups, documents = read_run_rows(groups, documents, "run.")
    queries = QueryGroups.from_groups(groups, len(groups))
    scores = queries.unsort(check_scores(given, queries, "run.scores"))
    retrieved = list(zip(groups, documents, strict=True))
    groups, documents, given = read_table(qrels, "qrels", "grades")
    groups, documents = read_run_rows(groups, documents, "qrels.")
    grades = read_numbers(given, len(groups), "qrels.grades")
    check_each(
        np.isfinite(grades),
        grades,
        lambda row: f"row {row} (query {groups[row]!r})",
        "qrels.grades must be finite",
    )
    keys = zip(groups, documents, strict=True)
    judgements = dict(zip(keys, grades.tolist(), strict=True))
    firsts = zip(retrieved[0], next(iter(judgements)), strict=True)
    for column, (a, b) in zip(("groups", "documents"), firsts, strict=True):
        if isinstance(a, str) != isinstance(b, str):
            raise TypeError(
                f"run.{column} has names such as {a!r} and qrels.{column} such as "
                f"{b!r}: give strings in both, or integers; those of load_letor "
                "become what is written by groups.astype(str)"
            )
    # only judged topics count, as in trec_eval
    counted = {topic for topic, _ in judgements}
    common = counted & {topic for topic, _ in retrieved}
    if not common:
        raise ValueError(
            f"run and qrels have no topic in common: run.groups has "
            f"{retrieved[0][0]!r}, qrels.groups has {next(iter(judgements))[0]!r}; "
            "name topics alike"
        )
    if topics == "both":
        counted = common
    for (topic, document), own in judgements.items():
        if own < 0 and negative == "error":
            raise ValueError(
                f"qrels.grades has the negative grade {own:g} (document {document!r} "
                f'of query {topic!r}): give negative="unjudged" to count such '
                "documents as not judged, as trec_eval does, or "
                "np.maximum(qrels.grades, 0) to count them as judged not relevant"
            )
    judgements = {key: own for key, own in judgements.items() if own >= 0}
    rows = [
        row
        for row, key in enumerate(retrieved)
        if key[0] in counted and (unjudged != "drop" or key in judgements)
    ]
    if not rows:
        raise ValueError(
            'run has no judged document, so unjudged="drop" leaves nothing: check that '
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
        y_true=np.array([judgements.get(retrieved[row], grade) for row in rows]),
        y_score=scores[rows],
        groups=np.array([retrieved[row][0] for row in rows]),
        y_missing=np.array([*missing.values()] + [0.0] * len(left)),
        groups_missing=np.array(groups_missing + left),
    )


# --- files ----------------------------------------------------------------------------


def _read_columns(
    path: Path, form: str, column: int, read: Callable[[bytes], Any]
) -> tuple[NDArray[np.str_], NDArray[np.str_], list[Any], list[str]]:
    """Return topics, documents, the numbers of a column, and the last line's fields."""
    first: dict[tuple[str, str], int] = {}
    numbers = []
    fields: list[bytes] = []
    n_fields = len(form.split())
    lines = TextLines(path, INSTEAD)
    for line in lines:
        split = line.split(None, n_fields)
        if not split or split[0].startswith(b"#"):
            continue
        if len(split) < n_fields or (len(split) > n_fields and form is QRELS):
            raise lines.fault(
                f"{len(line.split())} fields instead of the {n_fields} of {form!r}: "
                f"{printable(line)}; if this is a table of another form, give a "
                "frame to join_run"
            )
        fields = split
        key = (lines.decode(fields[0]), lines.decode(fields[2]))
        before = first.setdefault(key, lines.number)
        if before != lines.number:
            raise lines.fault(
                f"document {key[1]!r} of topic {key[0]!r} is in line {before} already"
            )
        try:
            numbers.append(read(fields[column]))
        except ValueError as error:
            raise lines.fault(str(error)) from None
    if not first:
        raise ValueError(f"path: {lines.path!r} holds no lines {form!r}")
    topics, documents = zip(*first, strict=True)
    last = [lines.decode(field) for field in fields[:n_fields]]
    return np.array(topics), np.array(documents), numbers, last


def _grade(text: bytes) -> int:
    """Return a grade, or raise a ValueError if it is no integer of 64 bits."""
    if not INTEGER.fullmatch(text):
        raise ValueError(
            f"the grade is not an integer, {printable(text)}: give other grades to "
            "join_run in a frame"
        )
    digits = text.partition(b".")[0]
    grade = int(digits) if len(digits) < 40 else 2**63  # Python reads 4,300 digits
    if not -(2**63) <= grade < 2**63:
        raise ValueError(f"the grade is beyond integers of 64 bits: {printable(text)}")
    return grade


def _score(text: bytes) -> float:
    """Return a score, or raise a ValueError if it is not finite."""
    try:
        score = read_float(text)
    except ValueError:
        raise ValueError(f"the score is not a number: {printable(text)}") from None
    if math.isfinite(score):
        return score
    if text.strip(b"+-")[:1].isdigit():
        raise ValueError(f"the score is beyond float64: {printable(text)}")
    raise ValueError(
        f"the score is {printable(text)}: leave documents that are not ranked out of "
        "the run"
    )


def _rows_to_write(groups: object, documents: object) -> tuple[list[Name], list[Name]]:
    """Return the topic and the document of each row, which a file must hold."""
    topics, names = read_run_rows(groups, documents)
    for name, column in (("groups", topics), ("documents", names)):
        for row, value in enumerate(column):
            if WHITE_SPACE.search(str(value)):  # separates the fields
                raise ValueError(f"{name} {WITHOUT_SPACE} {row} has {value!r}")
    for row, topic in enumerate(topics):
        if str(topic).startswith("#"):
            raise ValueError(
                f"groups has {topic!r} at row {row}, but a line that begins with '#' "
                "is a comment: give the topic another name"
            )
    return topics, names


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines of text, compressed if the name of the file says so."""
    name = read_path(path)
    if name.endswith(".gz"):
        opened: Any = gzip.open
    else:
        opened = bz2.open if name.endswith(".bz2") else open
    file: IO[str]
    with opened(name, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def grade_of_unjudged(unjudged: Any) -> float | None:
    """Return the grade of documents without a judgement, None to leave them out."""
    if isinstance(unjudged, str):
        return {"zero": 0.0, "drop": None}[
            Choice("zero", "drop").read_as("unjudged", unjudged)
        ]
    return float(real(0, closed="left").read_as("unjudged", unjudged))


# --- columns of a run and of judgements -----------------------------------------------


def read_run_rows(
    groups: object, documents: object, prefix: str = ""
) -> tuple[list[Name], list[Name]]:
    """Return the checked topic and document of each row; messages have the prefix."""
    topics = _column(groups, f"{prefix}groups")
    names = _column(documents, f"{prefix}documents")
    if len(topics) != len(names):
        raise ValueError(
            f"{prefix}groups has {len(topics)} values for the {len(names)} of "
            f"{prefix}documents: give one of each per row"
        )
    if not names:
        raise ValueError(f"{prefix}documents is empty: give at least one row")
    first: dict[tuple[str, str], int] = {}
    for row, (topic, name) in enumerate(zip(topics, names, strict=True)):
        before = first.setdefault((str(topic), str(name)), row)
        if before != row:
            raise ValueError(
                f"{prefix}documents has {name!r} twice for query {topic!r}, at rows "
                f"{before} and {row}: drop one"
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
    column = [one.item() if isinstance(one, np.generic) else one for one in array]
    for row, value in enumerate(column):
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise TypeError(
                f"{name} must hold strings or integers, but row {row} has {value!r}"
            )
        if isinstance(value, str) and not value.strip():
            raise ValueError(f"{name} {WITHOUT_SPACE} {row} has {value!r}")
        if isinstance(value, str) != isinstance(column[0], str):
            raise TypeError(
                f"{name} has both strings and integers, {column[0]!r} at row 0 and "
                f"{value!r} at row {row}: give one type"
            )
    return column


def read_table(values: Any, name: str, numbers: str) -> list[Any]:
    """Return topics, documents and numbers of a table or of a dict of dicts."""
    wanted = ("groups", "documents", numbers)
    table = values.to_pandas() if is_arrow(values) else values
    is_dict = isinstance(table, Mapping)
    if is_dict and any(isinstance(listed, Mapping) for listed in table.values()):
        for topic, listed in table.items():
            if not isinstance(listed, Mapping):
                raise TypeError(
                    f"{name}[{topic!r}] is a {type(listed).__name__}: give a dict of "
                    f"{numbers} by document for each topic"
                )
        rows = [(q, d, n) for q, listed in table.items() for d, n in listed.items()]
        return [[row[place] for row in rows] for place in range(3)]
    if not is_dict and not is_frame(table):
        advice = "a list of rows becomes a frame by pandas.DataFrame(rows)"
        if is_lazy(table):
            advice = "collect it"
        elif hasattr(table, "to_dict"):  # of ranx
            advice = "give its to_dict()"
        raise TypeError(
            f"{name} must be a Bunch, dict or frame of {', '.join(wanted)}, or a dict "
            f"of dicts by topic and document, got {type(values).__name__}: {advice}"
        )
    names = [*table.keys()] if is_dict else [*table.columns]
    more = "; of ranks give -rank" * ("rank" in map(plain_name, names))
    advice = "drop or rename the others"
    found = (column_of(names, one, name, advice, wanted, more) for one in wanted)
    return [table[key] for (key,) in found]


def column_of(
    names: Iterable[Any],
    column: str,
    place: str,
    advice: str,
    wanted: Iterable[str] = (),
    more: str = "",
    given: list[Any] | None = None,
) -> list[Any]:
    """Return the one name of a column, or those given; [] if it may be missing."""
    names = tuple(names)
    found = columns_named(names, column) if given is None else given
    missing = [name for name in found or [column] if name not in names]
    listed = ", ".join(map(repr, names[:20])) or "nothing"
    listed += f" and {len(names) - 20} more" * (len(names) > 20)
    if given is None and len(found) > 1:
        raise ValueError(
            f"{place} has several names for {column}, {', '.join(map(repr, found))} "
            f"(all: {listed}): {advice}"
        )
    if missing and wanted:
        known = [n for n in OTHER_COLUMNS[column].split() if n not in ("|", column)]
        raise ValueError(
            f"{place} has no {missing[0]!r}: give {', '.join(wanted)}, or a dict of "
            f"dicts by topic and document; it has {listed}, and {column} may be called "
            f"{', '.join(known)}{more}"
        )
    return [] if missing else found
