"""Memory maps in Dask arrays: what travels is the name of the file, not its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class FileArray:
    """An array in a file, which is mapped into memory while some of it is read.

    Attributes
    ----------
    filename : str
    dtype : dtype
    shape : tuple of int
        The array is C-contiguous.
    offset : int
        Bytes before it in the file.
    """

    filename: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int

    @classmethod
    def of_map(cls, mapped: Any) -> Self | None:
        """Return the array of a memory map, None if it is not as in its file."""
        root = mapped
        while isinstance(root.base, np.memmap):
            root = root.base
        changes = root.mode == "c"  # in memory only
        if changes or root.filename is None or not mapped.flags.c_contiguous:
            return None
        offset = mapped.ctypes.data - root.ctypes.data + root.offset
        return cls(str(root.filename), mapped.dtype, mapped.shape, int(offset))

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __getitem__(self, key: Any) -> NDArray[Any]:
        """Return a part, of which only the pages that are used are read."""
        mapped = np.memmap(self.filename, self.dtype, "r", self.offset, self.shape)
        part: NDArray[Any] = mapped[key]
        return part


def from_files(values: Any) -> Any:
    """Return a Dask array that opens the files of its memory maps where it is computed.

    Dask would send the rows of the whole file.  Other values are returned as they are.
    """
    if not hasattr(values, "rechunk"):
        return values
    from dask.array import Array

    graph = dict(values.__dask_graph__())
    files = {}
    for key, node in graph.items():
        value = getattr(node, "value", node)
        file = FileArray.of_map(value) if isinstance(value, np.memmap) else None
        if file is not None:
            files[key] = file
    if not files:
        return values
    return Array(graph | files, values.name, values.chunks, values.dtype)
