"""What each tree is grown on: a worker's part of what one machine would draw."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._trees.boosting import TreeSampler
from sklearn_ltr._trees.row_draws import RowNumbers
from sklearn_ltr.dask._global_index import GlobalIndex


@dataclass(frozen=True)
class WorkerSampler(TreeSampler):
    """Draws this worker's part of what one machine would draw."""

    global_index: GlobalIndex

    @classmethod
    def of(cls, sampler: TreeSampler, global_index: GlobalIndex) -> Self:
        """Return one that draws as another, for all workers."""
        drawn = {field.name: getattr(sampler, field.name) for field in fields(sampler)}
        return cls(**drawn, global_index=global_index)

    @property
    def n_queries(self) -> int:
        """Number of queries of all workers."""
        return self.global_index.n_queries

    @cached_property
    def row_numbers(self) -> RowNumbers:
        """Return the numbers of this worker's rows among those of all workers."""
        return self.global_index.row_numbers()

    def _drawn_queries(self, tree_index: int, n_drawn: int) -> NDArray[np.bool_]:
        return super()._drawn_queries(tree_index, n_drawn)[self.global_index.position]
