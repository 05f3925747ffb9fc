"""Rows whose bins are known, shared by members of a bag or candidates of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.boosting.bins import fit_threads, learn_bins
from sklearn_ltr._core.boosting.warm_start import TreesSoFar
from sklearn_ltr._core.caller import collected_warnings
from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import FitArguments
from sklearn_ltr._core.data.binned_columns import BinnedColumns
from sklearn_ltr._core.data.feature_reader import (
    FeatureReader,
    SuppliedX,
    given_values,
)
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.data.row_hashes import HashArray
from sklearn_ltr._core.data.rows import index_rows
from sklearn_ltr._core.data.tables import ColumnReader, Matrix, RowBinner, Table
from sklearn_ltr._core.estimators.preparation import prepare
from sklearn_ltr._core.parameters import read_parameters
from sklearn_ltr._core.trees.binning import KnownBins, hash_bins
from sklearn_ltr._core.typing import IntArray, MatrixLike


@dataclass(frozen=True, eq=False)
class SharedBins(SuppliedX):
    """Some rows of a table, whose bins are known.

    Attributes
    ----------
    values : array-like, sparse matrix or DataFrame
        These rows, as they were given to the bag or the search.
    known : mapping of str to object
        Fitted attributes of their columns.
    source : Table
    index : ndarray of shape (n_rows,), intp
        Row of the source that each row is.
    known_bins : KnownBins
        Of these rows.
    """

    values: MatrixLike
    known: Mapping[str, Any]
    source: Table
    index: NDArray[np.intp]
    known_bins: KnownBins

    @classmethod
    def learn(
        cls, ranker: LambdaMARTRanker, given: FitArguments, seed: int, hold_out: bool
    ) -> SharedBins:
        """Read and bin rows for rankers with the bins of this one."""
        # Bins of categories depend on the grades: with them, all learn from all rows,
        # and none of them may `hold_out` queries
        p = read_parameters(ranker._parameters, ranker)
        # each of them holds out, starts from its base model, and warns, itself
        p = replace(p, early_stopping=False, init=None)
        with collected_warnings():
            so_far = TreesSoFar(seed)
            data = prepare(given._replace(estimator=type(ranker)), p, so_far)
        # rows of queries without pairs are needed only where they are held out
        rows, learned = data.train if hold_out else data.learned, data.learned
        categorical = data.reader.categories.feature

        # sorted as in a fit, so that fits to all of the rows share them without a copy
        index = QueryIndex.locate(learned, ONE_PROCESS)
        with ThreadTeam(fit_threads(p.n_jobs, rows.X.size)) as team:
            mapper, binned = learn_bins(
                learned, rows, p, categorical, so_far, index, team
            )
            hashes = hash_bins(binned, team)
            columns = replace(rows.columns, init_score=None)  # members may have others
            order = replace(rows, columns=columns).content_order(hashes, team)
            binned.stored.reorder(order, team)
        n_rows = rows.X.shape[0]
        place = np.full(n_rows, -1)
        place[rows.rows[order]] = np.arange(rows.n_rows)
        bins = KnownBins(mapper, binned.stored, hashes[order], place)
        attributes = data.reader.attributes
        return cls(given_values(given.X), attributes, rows.X, np.arange(n_rows), bins)

    def as_given(self) -> MatrixLike:
        """Return the rows as they were given."""
        return self.values

    def table(self, reader: FeatureReader, name: str) -> SharedBins:
        """Return the rows, which have been read."""
        return self

    def __getitem__(self, rows: NDArray[np.intp]) -> SharedBins:
        """Return some of the rows."""
        return replace(
            self,
            values=index_rows(self.values, rows),
            index=self.index[rows],
            known_bins=self.known_bins._replace(place=self.known_bins.place[rows]),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return len(self.index), self.source.shape[1]

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.index) * self.source.shape[1]

    @property
    def is_sparse(self) -> bool:
        """Whether its columns may be stored by their entries."""
        return self.source.is_sparse

    def take(self, rows: NDArray[np.intp], features: IntArray | None = None) -> Matrix:
        """Return the values of some rows, of some or of all features."""
        return self.source.take(self.index[rows], features)

    def columns(self, rows: NDArray[np.intp]) -> ColumnReader:
        """Return a function of (first, last) that reads these features of rows."""
        return self.source.columns(self.index[rows])

    def by_column(self, rows: NDArray[np.intp]) -> Matrix | None:
        """Return some rows as a CSC matrix of nonzeros; None if they are not sparse."""
        return self.source.by_column(self.index[rows])

    def hashes(self, rows: NDArray[np.intp], team: ThreadTeam) -> HashArray:
        """Return the hash of the content of each of these rows."""
        return self.source.hashes(self.index[rows], team)

    def bin(
        self, binner: RowBinner, rows: NDArray[np.intp], team: ThreadTeam
    ) -> BinnedColumns:
        """Return the known bins of some rows."""
        return self.known_bins.stored.take(self.known_bins.place[rows], team)

    def parts(self) -> Iterator[tuple[int, Matrix]]:
        """Yield (0, values): there is one part."""
        yield 0, self.source.take(self.index)
