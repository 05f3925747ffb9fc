"""What saved models refer to: places of classes that stay, and a checksum of arrays."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray


def publish(namespace: dict[str, Any]) -> None:
    """Make a module the place of the classes and functions in its ``__all__``."""
    # saved models name classes by their place, so classes may move between private
    # files
    for name in namespace["__all__"]:
        namespace[name].__module__ = namespace["__name__"]


C = TypeVar("C")


def saved_part(part: type[C]) -> type[C]:
    """Make this module the place of a class that saved models hold."""
    part.__module__ = __name__
    globals()[part.__name__] = part
    return part


KEY = "_checksum"  # in the pickled state of trees and networks


def checksum(arrays: Iterable[NDArray[Any]]) -> int:
    """Return the CRC-32 of the numbers of arrays, the same on every machine."""
    crc = 0
    for array in arrays:
        little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
        crc = zlib.crc32(little_endian.tobytes(), crc)
    return crc


def check_checksum(arrays: Iterable[NDArray[Any]], saved: int | None) -> None:
    """Raise a ValueError if arrays are not those that were saved, if that is known."""
    given = list(arrays)
    is_array = all(isinstance(array, np.ndarray) for array in given)
    if saved is not None and not (is_array and checksum(given) == saved):
        raise ValueError(
            "the saved model is damaged (its numbers are not those that were saved): "
            "load it from another copy, or fit it again"
        )


class ChecksummedArrays:
    """A dataclass of arrays, which are saved with their checksum and nothing else."""

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}

    def __getstate__(self) -> dict[str, Any]:
        """Return the arrays and their checksum."""
        arrays = self._arrays()
        return arrays | {KEY: checksum(arrays.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the arrays; a ValueError if they are not those that were saved."""
        arrays = dict(state)
        saved = arrays.pop(KEY, None)
        vars(self).update(arrays)
        check_checksum(arrays.values(), saved)
