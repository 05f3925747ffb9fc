"""What workers that fit a model together must be able to do."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Collective(Protocol):
    """Operations that all workers of a fit call together, in the same order.

    Each returns the same on all of them.

    Attributes
    ----------
    rank : int
        Number of this worker, from 0.
    n_workers : int
    """

    rank: int
    n_workers: int

    def sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the workers' arrays, which are of the same shape."""

    def gather(self, value: Any) -> list[Any]:
        """Return what each worker gave, by rank."""

    def gather_to(self, rank: int, value: Any) -> list[Any]:
        """Return what each worker gave, by rank, on one of them; [] on the others."""

    def print_line(self, line: str) -> None:
        """Print a line once, whichever workers call this."""
