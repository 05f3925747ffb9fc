"""Saved models: module names of their classes, and checksums of their numbers."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

C = TypeVar("C")
PARTS: dict[str, type] = {}  # by name


def saved_part(part: type[C]) -> type[C]:
    """Let saved models find a class that they hold in `sklearn_ltr._saved`."""
    part.__module__ = "sklearn_ltr._saved"
    # a class of a module that is not loaded is sent by cloudpickle with all its code
    import_module(part.__module__)
    PARTS[part.__name__] = part
    return part


KEY = "_checksum"  # in the pickled state of trees, networks and estimators
PLAIN = (bool, int, float, complex, str, bytes, type(None))


def checksum_of(value: object) -> int:
    """Return the CRC-32 of all numbers and text of a value, the same on any machine."""
    crc = 0
    for part in contents(value, []):
        crc = zlib.crc32(part, crc)
    return crc


def contents(value: object, outer: list[object]) -> Iterator[bytes]:
    """Yield the numbers and the text of a value; `outer` are the values around it."""
    if type(value) in PLAIN:
        yield repr(value).encode(errors="surrogatepass")
    elif isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        yield f"{array.dtype.newbyteorder('<').str} {array.shape}".encode()
        if array.dtype.hasobject:
            yield from contents(array.ravel().tolist(), outer)
        else:
            yield array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    elif not any(value is each for each in outer):
        parts: Iterable[object] = ()
        if isinstance(value, list | tuple):
            parts = value
        elif isinstance(value, dict):
            parts = (part for item in value.items() for part in item)
        elif is_saved_by_attributes(value):
            parts = (part for item in vars(value).items() for part in item)
        for part in parts:
            yield b","
            yield from contents(part, [*outer, value])


def is_saved_by_attributes(value: object) -> bool:
    """Return whether a pickle holds an object's attributes, as they are."""
    # others, most of other libraries included, are saved in ways of their own
    methods = ("__reduce_ex__", "__reduce__", "__getstate__", "__setstate__")
    return (
        isinstance(getattr(value, "__dict__", None), dict)
        and not hasattr(value, "__qualname__")  # classes and functions are named
        and all(
            getattr(type(value), name, None)
            in (getattr(object, name, None), getattr(BaseEstimator, name))
            for name in methods
        )
    )


class ChecksummedArrays:
    """A class of arrays, which are saved with their checksum and nothing else."""

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name: the fields of a dataclass."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}

    def __getstate__(self) -> dict[str, object]:
        """Return the arrays and their checksum."""
        arrays = self._arrays()
        return arrays | {KEY: checksum_of(arrays)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the arrays; a ValueError if they differ from the saved ones."""
        arrays = dict(state)
        saved = arrays.pop(KEY, None)
        vars(self).update(arrays)
        if saved is not None and checksum_of(arrays) != saved:
            raise ValueError(
                "the saved model is damaged (its numbers have changed): load it from "
                "another copy, or fit it again"
            )
