"""Saved models: module names of their classes, and checksums of their numbers."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from functools import partial
from itertools import islice
from traceback import walk_stack
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator


def publish(namespace: dict[str, Any]) -> None:
    """Set a module as `__module__` of the classes and functions in its ``__all__``.

    Names of other public modules are then errors that say which.
    """
    # pickles name a class by its module; with this name it may move to another file
    module = namespace["__name__"]
    for name in namespace["__all__"]:
        namespace[name].__module__ = module
    namespace["__getattr__"] = partial(find_elsewhere, module)


def find_elsewhere(module: str, name: str) -> NoReturn:
    """Raise an error for a name that a module does not have, with where it is."""
    if not name.startswith("_") and (owner := module_of(name)):
        raise missing(f"{name} is not in {module}: from {owner} import {name}")
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def missing(message: str) -> ImportError | AttributeError:
    """Return the error of a name that a module does not have."""
    # `from module import name` would replace an AttributeError by one without the
    # message, and `hasattr` expects no other error
    callers = islice(walk_stack(inspect.currentframe()), 4)
    is_import = any(f.f_code.co_name == "_handle_fromlist" for f, _ in callers)
    return ImportError(message) if is_import else AttributeError(message)


def module_of(name: str) -> str | None:
    """Return the public module of the package that has a name, if any."""
    package = importlib.import_module(__package__)
    parts = [m.name for m in pkgutil.iter_modules(package.__path__) if m.name[0] != "_"]
    if name in parts:  # which Python imports
        return None
    for module in (__package__, *(f"{__package__}.{part}" for part in parts)):
        with suppress(ImportError):  # of a library that is not installed
            if name in getattr(importlib.import_module(module), "__all__", ()):
                return module
    return None


C = TypeVar("C")


def saved_part(part: type[C]) -> type[C]:
    """Set this module as `__module__` of a class that saved models hold."""
    part.__module__ = __name__
    globals()[part.__name__] = part
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


def check_checksum(value: object, saved: int | None) -> None:
    """Raise a ValueError if a value has another checksum than the saved, if any."""
    if saved is not None and checksum_of(value) != saved:
        raise ValueError(
            "the saved model is damaged (its numbers have changed): load it from "
            "another copy, or fit it again"
        )


class ChecksummedArrays:
    """A dataclass of arrays, which are saved with their checksum and nothing else."""

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
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
        check_checksum(arrays, saved)
