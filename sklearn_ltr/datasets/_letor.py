"""Read the text format of LETOR, MSLR-WEB and Istella: SVMlight with a query id."""

from __future__ import annotations

import os
import re
from typing import cast

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from sklearn_ltr._parameters import integer
from sklearn_ltr._typing import FloatArray, IntArray
from sklearn_ltr.datasets._trec import open_text


class LetorData(Bunch):
    """Result of :func:`load_letor`."""

    data: NDArray[np.floating]
    target: FloatArray
    groups: IntArray


def load_letor(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
) -> LetorData:
    r"""Read one file of graded documents, ``grade qid:query 1:value 2:value ...``.

    Text after a ``#`` (LETOR writes ``#docid = ...``) is ignored.  Features are
    numbered from 1; a feature that a line does not list is 0.  The file is read by
    :func:`sklearn.datasets.load_svmlight_file`.

    Parameters
    ----------
    path : str or path-like
        The file: plain text, or compressed if its name ends in ``.gz`` or ``.bz2``.
    n_features : int, default=None
        Number of columns of ``data``.  None: the highest feature number in the file.
        Set it when several files must have the same columns.
    dtype : dtype, default=numpy.float64
        Floating type of the features.

    Returns
    -------
    Bunch
        ``data`` : (n_documents, n_features) dense array of `dtype`;
        ``target`` : (n_documents,) float64, the grades;
        ``groups`` : (n_documents,) int64, the query ids.

    Raises
    ------
    ValueError
        If the file is empty, a line has no ``qid``, a feature's number is 0 or above
        `n_features`, a value is not a number, or `dtype` is not a floating type.
    TypeError
        If `path`, `n_features` or `dtype` is of another type.

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
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a string or a path-like object, got {path!r}")
    n_features = integer(1, optional=True).read_as("n_features", n_features)
    dtype = check_floating(dtype)
    try:
        data, target, groups = load_svmlight_file(
            os.fspath(path),
            n_features=n_features,
            dtype=dtype,
            query_id=True,
            zero_based=False,
        )
    except ValueError as error:
        raise ValueError(f"path: {_first_fault(path, n_features) or error}") from error
    _check_query_ids(path, target, groups)
    return LetorData(data=data.toarray(), target=target, groups=groups)


def _check_query_ids(
    path: str | os.PathLike[str], target: FloatArray, groups: IntArray
) -> None:
    """Raise a ValueError unless there are documents and each has a query id."""
    if len(target) == 0:
        raise ValueError(f"path: {os.fspath(path)!r} holds no documents.")
    if len(groups) != len(target):
        raise ValueError(
            f"path: {os.fspath(path)!r} has {len(target)} documents but only "
            f"{len(groups)} of its lines name a query. Every line must read "
            "'grade qid:query 1:value 2:value ...'; without queries use "
            "sklearn.datasets.load_svmlight_file. The first that does not: "
            f"{_first_fault(path, None)}."
        )


def _first_fault(path: str | os.PathLike[str], n_features: int | None) -> str | None:
    """Return what is wrong with the first bad line of a file, None if none is found."""
    with open_text(path, "rt") as file:
        for number, line in enumerate(file, 1):
            if fault := _fault_of(line.partition("#")[0].split(), n_features):
                return f"{os.fspath(path)!r}, line {number}: {fault}"
    return None


def _fault_of(fields: list[str], n_features: int | None) -> str | None:
    """Return what is wrong with the fields of a line, None if nothing is."""
    if not fields:
        return None
    if not _is_number(fields[0]):
        return f"the grade is not a number: {fields[0]!r}"
    if not re.fullmatch(r"qid:-?\d+", "".join(fields[1:2])):
        return f"'qid:' and a number must follow the grade, not {fields[1:2]}"
    last = 0
    for field in fields[2:]:
        feature, found, value = field.partition(":")
        if not (found and feature.isdecimal() and _is_number(value)):
            return f"{field!r} is no feature, 'number:value'"
        if int(feature) <= last:
            where = f"follows {last}" if last else "is below 1"
            return f"feature {feature} {where}: features are numbered from 1, ascending"
        last = int(feature)
    if n_features is not None and last > n_features:
        return f"feature {last} is beyond n_features={n_features}"
    return None


def _is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_document_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the name of each document, ``# docid = name``; else its line's number."""
    names = []
    with open_text(path, "rt") as file:
        for number, line in enumerate(file, 1):
            fields, _, comment = line.partition("#")
            if fields.strip():
                named = re.match(r"\s*docid\s*=\s*(\S+)", comment)
                names.append(named[1] if named else str(number))
    return names


def check_floating(dtype: DTypeLike) -> np.dtype[np.floating]:
    """Return a floating type; a TypeError or ValueError that names it if it is none."""
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"dtype must be a floating type, got {dtype!r}") from error
    if found.kind != "f":
        raise ValueError(f"dtype must be a floating type, got {dtype!r}")
    return cast(np.dtype[np.floating], found)
