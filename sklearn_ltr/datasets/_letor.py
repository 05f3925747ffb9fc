"""Read the text format of LETOR, MSLR-WEB and Istella: SVMlight with a query id."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.data.features import NamedArray
from sklearn_ltr._core.parameters import Choice, integer
from sklearn_ltr._core.typing import FloatArray, IntArray
from sklearn_ltr.datasets._files import Path, TextLines, printable, read_float
from sklearn_ltr.datasets._trec import Qrels

INSTEAD = "read it with its own reader, and give its columns to fit"
QUERY = re.compile(rb"qid:-?[0-9]+")
SIZE = re.compile(rb"[0-9]{1,18}(\.0*)?")
FEATURE = re.compile(rb"[0-9]{1,4300}|[1-9][0-9]*")  # Python reads 4,300 digits
WHOLE = re.compile(r"0|-?[1-9][0-9]*")  # as Python writes integers
# docid = name, anywhere; or the first word, as of SVM-rank and RankLib, if it is no key
DOCUMENT = re.compile(
    rb"(?i:(.*?\bdoc_?(?:id|no)\s*[=:])|(?!\s*\w+\s*=))\s*(?P<name>\S+)"
)
#: comments that name a query, as of Elasticsearch's plugin, with a weight; or a feature
NAME = re.compile(rb"\s*#\s*(qid:|feature )(0|-?[1-9][0-9]*)(?::| =)\s*(\S.*?)\s*$")
WEIGHT = re.compile(r"\*[0-9]+$")
OF_LETOR = re.compile(rb"\s*[^\s#]+\s+qid:")
MOST_FEATURES = 2**31 - 1  # scikit-learn overflows beyond 2^63, and memory before


class LetorData(Bunch):
    """Result of :func:`load_letor`."""

    data: NDArray[np.floating]
    target: FloatArray
    groups: IntArray | NDArray[np.str_]
    documents: NDArray[np.str_]
    zero_based: bool

    def __getitem__(self, key: Any) -> Any:
        """Return an entry by its name, or data, target and groups by their places."""
        if isinstance(key, int | slice):  # as of what load_svmlight_file returns
            return (self.data, self.target, self.groups)[key]
        return super().__getitem__(key)


def load_letor(
    path: Path,
    *,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = False,
    dtype: DTypeLike = np.float64,
    sizes: Path | None = None,
) -> LetorData:
    r"""Read one file of graded documents, ``grade qid:query 1:value 2:value ...``.

    Text after a ``#`` is ignored, but for the name of a document: ``#docid = name``, or
    the first word, as in files of SVM-rank and RankLib.  Features may have any order; a
    feature that a line does not list is 0.  The numbers are read by
    :func:`sklearn.datasets.load_svmlight_file`.

    Parameters
    ----------
    path : str or path-like
        The file: UTF-8 text, plain or compressed by gzip or bzip2; a pipe can be read.
    n_features : int, default=None
        Number of columns of ``data``.  None: that of the highest feature in the file.
        Set it when several files must have the same columns.
    zero_based : bool or "auto", default=False
        Whether the features are numbered from 0, as
        :func:`sklearn.datasets.dump_svmlight_file` does by default, or from 1, as in
        LETOR.  Files do not say which: where column 0 is 0 in all rows, its number does
        not occur.  "auto" takes features to be numbered from 0 if the number 0 occurs;
        else from 1, and warns that it does.
    dtype : dtype, default=numpy.float64
        Floating type of the features.
    sizes : str or path-like, default=None
        For lines without ``qid:``, a second file that has the number of documents of
        each query, in their order, as LightGBM's ``.query`` and XGBoost's ``.group``.

    Returns
    -------
    Bunch
        ``data`` : (n_documents, n_features) dense array of `dtype`.  If comments name
        the features, ``# feature 1 = bm25``, it has ``feature_names``, which `fit`
        keeps;
        ``target`` : (n_documents,) float64, the grades;
        ``groups`` : (n_documents,) int64, the query ids; str, as written, if one begins
        with a zero, since "007" and "7" are different topics of a run; 0, 1, ... with
        `sizes`.
        ``groups.astype(str)`` has the written ids in both cases: use it to combine ids
        of several files, or of a file and a run;
        ``documents`` : (n_documents,) str, the name behind ``#`` of each line, or the
        line's number where there is none; numbers only, if the first words of comments
        name two documents of a query alike (:func:`join_run` joins a run with
        ``{"groups": groups.astype(str), "documents": documents, "grades": target}``);
        ``zero_based`` : bool, whether features were numbered from 0.

    Raises
    ------
    ValueError
        If a line has no ``qid`` or one that is no integer of 64 bits, a feature is
        there twice, is below the first or above `n_features`, or a number is not
        written in digits or infinite in `dtype`; the message names the line.  If the
        file has no documents or features, is cut off, or of another format or
        encoding; if comments name some of the features only, or one differently; if
        `sizes` have another sum, or lines have a ``qid``, too; or if `dtype` is not a
        floating type.
    TypeError
        If `path`, `sizes`, `n_features` or `dtype` is of another type.

    Warns
    -----
    UserWarning
        If ``zero_based="auto"`` finds no feature 0.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_ltr.datasets import load_letor
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "train.txt"
    ...     text = "2 qid:7 1:0.5 3:1 #docid = A\n0 qid:7 2:4 #docid = B\n"
    ...     _ = path.write_text(text)
    ...     letor = load_letor(path)
    >>> letor.data
    array([[0.5, 0. , 1. ],
           [0. , 4. , 0. ]])
    >>> letor.target, letor.groups
    (array([2., 0.]), array([7, 7]))
    """
    n_features = integer(1, optional=True).read_as("n_features", n_features)
    zero_based = Choice(True, False, "auto").read_as("zero_based", zero_based)
    dtype = check_floating(dtype)
    listed: list[int] = []
    if sizes is not None:
        lines = TextLines(sizes, "give a text file of the size of each query", "sizes")
        for line in lines:
            for field in line.partition(b"#")[0].split():
                if not SIZE.fullmatch(field):
                    raise lines.fault(
                        f"{printable(field)} is no size: give the number of documents "
                        "of each query"
                    )
                listed.append(int(field.partition(b".")[0]))
    documents, data, target = _read_rows(path, sizes is not None, zero_based, dtype)
    documents.check_found()
    first = documents.highest + 1 - data.shape[1]
    if zero_based == "auto" and first == 1:
        warn_caller(
            "zero_based='auto' took the features to be numbered from 1, since none has "
            "number 0. A file that counts from 0 and has no values in column 0 looks "
            "the same: give zero_based=True if this is one, else zero_based=False"
        )
    documents.check_finite(data, target, first)
    if n_features is not None:
        documents.check_highest(first, n_features)
        data.resize(len(target), n_features)
    names = documents.feature_names(first, data.shape[1], n_features is not None)
    if sizes is None:
        groups = documents.groups()
    elif sum(listed) == len(target):
        groups = np.repeat(np.arange(len(listed)), listed)
    else:
        raise ValueError(
            f"sizes: {os.fspath(sizes)!r} has {len(listed)} queries of {sum(listed)} "
            f"documents, but {documents.lines.path!r} has {len(target)} documents: "
            "give the file of sizes that belongs to it"
        )
    return LetorData(
        data=documents.dense(data, names),
        target=target,
        groups=groups,
        documents=documents.names_in(groups),
        zero_based=first == 0,
    )


def _read_rows(
    path: Path,
    has_sizes: bool,
    zero_based: bool | Literal["auto"],
    dtype: DTypeLike,
    in_order: bool = True,
) -> tuple[Documents, Any, FloatArray]:
    """Return the lines of a file, and what scikit-learn reads of them."""
    documents = Documents(TextLines(path, INSTEAD), has_sizes)
    # a pipe is read only once
    documents.in_order = in_order = in_order and os.path.isfile(documents.lines.path)
    try:
        with np.errstate(over="ignore"):  # `check_finite` refuses infinities
            data, target = load_svmlight_file(
                documents, dtype=dtype, zero_based=zero_based
            )
    except (ValueError, OverflowError) as error:
        fault = documents.fault(lowest=int(zero_based is False))
        if fault is None and in_order:  # scikit-learn refuses features in other orders
            return _read_rows(path, has_sizes, zero_based, dtype, False)
        raise fault or error from error
    return documents, data, target


def is_letor(path: Path) -> bool:
    """Return whether a file begins as files of LETOR; a pipe can be read only once."""
    if not os.path.isfile(path):
        return False
    lines = iter(TextLines(path, INSTEAD))
    first = next((line for line in lines if line.partition(b"#")[0].split()), b"")
    return OF_LETOR.match(first) is not None


def load_letor_judgements(path: Path) -> Qrels:
    """Read the grades of a file of LETOR as judgements; rows need no features."""
    documents = Documents(TextLines(path, INSTEAD))
    grades: list[float] = []
    first: dict[tuple[str, str], int] = {}
    for number, query, name, grade in judged_lines(documents):
        before = first.setdefault((query, name), number)
        if before != number:
            raise documents.lines.fault(
                f"document {name!r} of query {query} is in line {before} already"
            )
        grades.append(grade)
    groups, names = zip(*first, strict=True)
    columns = {"groups": groups, "documents": names, "grades": grades}
    return Qrels(**{name: np.array(column) for name, column in columns.items()})


def judged_lines(documents: Documents) -> Iterator[tuple[int, str, str, float]]:
    """Yield number, query, document and grade of each line."""
    lines = documents.lines
    try:
        for row in documents:
            grade = read_float(row.split(None, 1)[0])
            if not math.isfinite(grade):
                raise lines.fault(f"the grade must be finite, but it is {grade}")
            if documents.unnamed:
                raise lines.fault(
                    "no '#docid = name' names the document: write these comments "
                    "(or, to judge a run, measure the model that made it)"
                )
            query = documents.queries[-1].removeprefix(b"qid:").decode()
            yield lines.number, query, documents.names[-1], grade
    except ValueError as error:
        raise documents.fault(lowest=0) or error from error


class Documents:
    """The lines that are documents, for scikit-learn, which reads them fast.

    It does not number lines, takes "1_0" for 10, and copies all query ids for each line
    (a million lines take hours).  These are read here.
    """

    def __init__(
        self,
        lines: TextLines,
        has_sizes: bool = False,
        rows: Iterable[bytes] | None = None,
    ) -> None:
        self.lines = lines
        self.rows = lines if rows is None else rows  # some may have been read
        self.has_sizes = has_sizes  # lines have no queries
        self.in_order = True  # features are taken to ascend
        self.line = b""
        self.names: list[str] = []
        self.queries: list[bytes] = []
        self.numbers: list[int] = []  # of the lines
        self.highest, self.line_of_highest = -1, 0
        self.unnamed = 0  # the first line without a name
        self.has_words = False  # names that may be words of another comment
        # names of queries and of features, in comments
        self.named: dict[str, dict[str, str]] = {"qid:": {}, "feature ": {}}

    def read(self) -> bytes:
        """Scikit-learn knows a file by this method, and iterates."""
        raise io.UnsupportedOperation("read")

    def __iter__(self) -> Iterator[bytes]:
        """Yield grade and features of each document."""
        query, n_first = b"", 1 if self.has_sizes else 2
        for line in self.rows:
            self.line = line
            content, _, comment = line.partition(b"#")
            fields = content.split(None, n_first)
            if not fields:
                self._read_comment(line)
                continue
            if b"_" in content or not content.isascii() or len(fields) < n_first:
                raise ValueError  # `fault` says why
            if not self.has_sizes and fields[1] != query:
                query = fields[1]
                if not _is_query(query):
                    raise ValueError
            features = fields[n_first] if len(fields) > n_first else b""
            if features:
                if not self.in_order:
                    ordered = sorted(features.split(), key=_feature)
                    features = b" ".join(ordered)
                last = _feature(features.rsplit(None, 1)[-1])
                if features.startswith(b"q") or last > MOST_FEATURES:
                    raise ValueError
                if last > self.highest:
                    self.highest, self.line_of_highest = last, self.lines.number
            name = comment and DOCUMENT.match(comment)
            if name and name[1] is not None:
                self.names.append(self.lines.decode(name["name"]))
            elif name:
                self.names.append(name["name"].decode(errors="replace"))
                self.has_words = True
            else:
                self.names.append(str(self.lines.number))
                self.unnamed = self.unnamed or self.lines.number
            self.queries.append(query)
            self.numbers.append(self.lines.number)
            yield b"%s %s" % (fields[0], features)

    def _read_comment(self, line: bytes) -> None:
        """Keep the words of a query, or the name of a feature, that a comment gives."""
        found = NAME.match(line)
        if found is not None:
            kind, number, name = map(self.lines.decode, found.groups())
            known = self.named[kind].setdefault(number, name)
            if known != name:
                raise self.lines.fault(
                    f"{printable(line)} names another than {known!r} before: take one "
                    "out"
                )

    def fault(self, lowest: int) -> ValueError | None:
        """Return what is wrong with the last line; None if it is none of its fields."""
        fields = self.line.partition(b"#")[0].split()
        what = _fault_of(fields, lowest, self.has_sizes)
        return self.lines.fault(what) if what else None

    def check_found(self) -> None:
        """Raise a ValueError unless there are documents, and features."""
        if not self.numbers:
            raise ValueError(f"path: {self.lines.path!r} holds no documents: check it")
        if self.highest < 0:
            raise self.lines.fault(
                "no features, nor has any other line: to learn, add them; judgements "
                "alone go to join_run as a frame",
                self.numbers[0],
            )

    def check_highest(self, first: int, n_features: int) -> None:
        """Raise a ValueError if a feature is beyond the last column."""
        if self.highest - first >= n_features:
            raise self.lines.fault(
                f"feature {self.highest} is beyond n_features={n_features}, counted "
                f"from {first}: raise it",
                self.line_of_highest,
            )

    def feature_names(self, first: int, n_features: int, is_exact: bool) -> list[str]:
        """Return the names of the columns; none if no comment names one."""
        named = self.named["feature "]
        numbers = [str(number) for number in range(first, first + len(named))]
        fits = len(named) == n_features if is_exact else len(named) >= n_features
        if named and not (fits and named.keys() == set(numbers)):
            raise ValueError(
                f"path: {self.lines.path!r} has features {first} to "
                f"{first + n_features - 1}, and comments name {', '.join(named)}: name "
                f"all by '# feature {first} = name', or none"
            )
        return [named[number] for number in numbers]

    def check_finite(self, data: Any, target: FloatArray, first: int) -> None:
        """Raise a ValueError if a grade is not finite, or a feature is infinite."""
        if not np.isfinite(target).all():
            row = int(np.argmin(np.isfinite(target)))
            raise self.lines.fault(
                f"the grade must be finite, but it is {target[row]} in float64",
                self.numbers[row],
            )
        infinite = np.isinf(data.data)
        if infinite.any():
            place = int(np.argmax(infinite))
            row = int(np.searchsorted(data.indptr, place, side="right")) - 1
            narrow = data.dtype.itemsize < np.dtype(np.float64).itemsize
            wider = "give dtype=numpy.float64, or " if narrow else ""
            raise self.lines.fault(
                f"feature {data.indices[place] + first} is infinite in {data.dtype}: "
                f"{wider}write nan if it is missing",
                self.numbers[row],
            )

    def dense(self, data: Any, names: list[str]) -> NDArray[np.floating]:
        """Return an array; a ValueError names the longest line if it is too large."""
        if names:
            data.resize(data.shape[0], len(names))
        try:
            array = cast(NDArray[np.floating], data.toarray())
            return NamedArray.of(array, names) if names else array
        except (MemoryError, ValueError) as error:
            n_rows, n_columns = data.shape
            is_given = n_columns > self.highest + 1
            cause = f"n_features={n_columns}" if is_given else f"feature {self.highest}"
            advice = "give fewer" if is_given else "number the features without gaps"
            raise self.lines.fault(
                f"{cause} makes a table of {n_rows} x {n_columns} numbers, too large "
                f"for the memory: {advice}, or read sparse data by "
                "sklearn.datasets.load_svmlight_file",
                self.line_of_highest,
            ) from error

    def names_in(self, groups: NDArray[Any]) -> NDArray[np.str_]:
        """Return the names of documents; of lines, if a query has words twice."""
        if self.has_words:
            rows = zip(groups.tolist(), self.names, strict=True)
            if len(set(rows)) < len(self.names):
                return np.array(self.numbers).astype(str)
        return np.array(self.names)

    def groups(self) -> IntArray | NDArray[np.str_]:
        """Return the query ids: numbers, or text if one of them begins with a zero."""
        texts = {query: query.removeprefix(b"qid:").decode() for query in self.queries}
        if all(map(WHOLE.fullmatch, texts.values())):
            numbers = {query: int(text) for query, text in texts.items()}
            return np.array([numbers[query] for query in self.queries], dtype=np.int64)
        return np.array([texts[query] for query in self.queries])


def _feature(field: bytes) -> int:
    """Return the number of a feature, which `_fault_of` checks."""
    return int(field.partition(b":")[0])


def _is_query(field: bytes) -> bool:
    """Return whether a field is ``qid:`` and an integer of 64 bits."""
    if not QUERY.fullmatch(field):
        return False
    return len(field) < 23 or -(2**63) <= _integer(field[4:]) < 2**63


def _integer(digits: bytes) -> int:
    """Return an integer, of its first 20 digits: more than 64 bits hold."""
    # Python refuses more than 4,300
    sign = b"-" if digits.startswith(b"-") else b""
    return int(b"%s0%s" % (sign, digits.lstrip(b"-0")[:20]))


def _fault_of(fields: list[bytes], lowest: int, has_sizes: bool) -> str | None:
    """Return what is wrong with the fields of a line, None if nothing is."""
    if not fields:
        return None
    if not _is_number(fields[0]):
        return f"the grade is not a number: {printable(fields[0])}"
    query = fields[1] if len(fields) > 1 else b""
    if has_sizes:
        if query.startswith(b"qid:"):
            return f"{printable(query)} names the query: leave sizes= out"
    elif not QUERY.fullmatch(query):
        found = printable(query) if query else "the end of the line"
        return (
            f"'qid:' and a number must follow the grade, not {found}; if a second file "
            "has the sizes of queries (.query, .group), give its path by sizes=; files "
            "without queries are read by sklearn.datasets.load_svmlight_file"
        )
    elif not _is_query(query):
        return (
            f"{printable(query)} is beyond integers of 64 bits: number the queries anew"
        )
    seen = set()
    for field in fields[1 if has_sizes else 2 :]:
        digits, _, value = field.partition(b":")
        if not (FEATURE.fullmatch(digits) and _is_number(value)):
            return f"{printable(field)} is no feature, 'number:value'"
        feature = _integer(digits)
        if feature > MOST_FEATURES:
            return (
                f"feature {printable(digits)} is beyond {MOST_FEATURES}: number the "
                "features 1, 2, ..., or read sparse data by "
                "sklearn.datasets.load_svmlight_file"
            )
        if feature < lowest:
            return (
                f"feature {feature} is below {lowest}: give zero_based=True if the "
                "file counts features from 0"
            )
        if feature in seen:
            return f"feature {feature} is there twice: leave one out"
        seen.add(feature)
    return None


def _is_number(text: bytes) -> bool:
    """Return whether a text is a number in ASCII."""
    try:
        read_float(text)
    except ValueError:
        return False
    return True


def check_floating(dtype: DTypeLike) -> np.dtype[np.floating]:
    """Return a floating type; a TypeError or ValueError that names it if it is none."""
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"dtype must be a floating type, got {dtype!r}") from error
    if found.kind != "f":
        raise ValueError(f"dtype must be a floating type, got {dtype!r}")
    return cast(np.dtype[np.floating], found)
