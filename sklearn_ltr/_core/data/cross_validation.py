"""Warn if cross-validation cuts queries apart.

Splitters such as KFold draw single rows.  Then a model trains on some documents of a
query and scores the others, as a shorter list.  The score looks plausible.

Equal query ids in training and scored data do not prove a cut: they may be numbered
from 0 in each file.  Two evaluations prove it.  Of a query, let t be a sum over the
documents trained on, of hashes of their grades, and s that over the documents scored.
If t + s is the same in two evaluations for each query, both have divided one table.
Two files that change places, and whole queries that do, exchange t and s, and leave
t s as it is.  If t s differs, documents of a query are divided in two ways.

So a single split proves nothing, nor do two folds, which may be two files; and splits
that leave other rows out each time have no table in common.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.data.groups import QueryIds, as_array, describe_query
from sklearn_ltr._core.data.row_hashes import COLUMN_STEP, FACTOR_1, FACTOR_2, HashArray
from sklearn_ltr._core.data.training_data import TrainingData
from sklearn_ltr._core.parts import nested
from sklearn_ltr._core.typing import IntArray

FEWEST_QUERIES = 20  # fewer short lists may add up to the same by chance
TABLES = 64  # whose evaluations are remembered, in some 600 bytes each

CUT = (
    "the splitter cuts queries apart: {n_cut} of {n_scored} scored queries, such as "
    "query {example}, have other documents among the training rows. Shorter lists are "
    "easier to rank, and the model has seen the query, so the score is not that of new "
    "queries: use a splitter that keeps queries whole, such as cv=GroupKFold(5)"
)


class SplitQueriesWarning(UserWarning):
    """Warning: cross-validation trains and scores on documents of the same query.

    It is given from the second fold on that one process scores: one split alone may
    be of two files whose queries are numbered alike, and two folds may be such files.
    Nothing tells of splits that leave rows out, or of tables of fewer than 20 queries.

    Examples
    --------
    >>> import warnings
    >>> import sklearn
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> from sklearn_ltr import LambdaMARTRanker, SplitQueriesWarning
    >>> from sklearn_ltr.datasets import make_ranking
    >>> data = make_ranking(20, random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     with warnings.catch_warnings(record=True) as caught:
    ...         warnings.simplefilter("always")
    ...         scores = cross_val_score(
    ...             LambdaMARTRanker(n_estimators=1, random_state=0),
    ...             data.data,
    ...             data.target,
    ...             cv=KFold(3, shuffle=True, random_state=0),
    ...             params={"groups": data.groups},
    ...         )
    >>> {warning.category for warning in caught} == {SplitQueriesWarning}
    True
    """


@dataclass(frozen=True, eq=False)
class KnownQueries:
    """The queries that a model was fitted to, or that are scored.

    Attributes
    ----------
    query_ids : sequence of length n_queries
    sizes : (n_queries,) int64 array
    contents : (n_queries,) uint64 array
        Sum over the documents of a hash of the grade; with several labels, of the hash
        of a constant.
    """

    query_ids: QueryIds
    sizes: IntArray
    contents: HashArray

    @classmethod
    def of(cls, data: TrainingData) -> Self:
        """Return the queries of graded documents."""
        assert data.query_ids is not None
        grades = data.y if data.n_labels == 1 else np.zeros(data.n_rows)
        hashes = (grades + 0.0).view(np.uint64) + COLUMN_STEP  # -0.0 is 0.0
        for factor in (FACTOR_1, FACTOR_2):
            hashes = (hashes ^ (hashes >> np.uint64(31))) * factor
        contents = np.add.reduceat(hashes, data.offsets[:-1])
        return cls(data.query_ids, data.sizes, contents)

    @cached_property
    def number_of(self) -> dict[Hashable, int]:
        """The number of each query, by its id."""
        labels = as_array(self.query_ids).tolist()
        return {label: query for query, label in enumerate(labels)}

    @cached_property
    def keys(self) -> HashArray:
        """A pseudo-random number for each id, and its square, (2, n_queries)."""
        hashes = [hash((label,)) for label in self.number_of]
        keys = np.array(hashes).astype(np.uint64)
        return np.stack([keys, keys * keys])

    @cached_property
    def sums(self) -> HashArray:
        """Sums of keys times contents, times sizes, and of keys alone, (3, 2)."""
        sizes = self.sizes.astype(np.uint64)
        return np.stack([self.contents, sizes, np.ones_like(sizes)]) @ self.keys.T


class Evaluation(NamedTuple):
    """Rows of a table that were trained on while the others were scored."""

    sums: HashArray  # of the rows trained on
    products: int  # of the contents of a query trained on and scored; summed with keys

    def cuts_otherwise(self, other: Evaluation) -> bool:
        """Return whether the documents of a query are divided in another way."""
        # not if lists of 10 and 10 documents become lists of 15 and 5, all of them
        moved, again = (self.sums - other.sums)[1].tolist()
        one, two = self.sums[2].tolist()
        are_cut_alike = moved != 0 and (moved * two - again * one) % 2**64 == 0
        return self.products != other.products and not are_cut_alike


@lru_cache(TABLES)
def evaluations_of(table: bytes) -> list[Evaluation]:
    """Return the list that takes the first two different evaluations of a table."""
    return []


def warn_if_cut(estimator: BaseEstimator, data: TrainingData) -> None:
    """Warn if queries are cut, and an earlier evaluation of the same table proves it.

    The ranker may be inside of Pipelines and searches; other estimators have no groups.
    """
    known = (getattr(part, "_trained_queries", None) for part in nested(estimator))
    trained: KnownQueries | None = next(filter(None, known), None)
    if trained is None:
        return
    scored = KnownQueries.of(data)
    cut = [
        (trained.number_of[label], query)
        for label, query in scored.number_of.items()
        if label in trained.number_of
    ]
    in_trained, in_scored = np.array(cut, dtype=np.intp).reshape(-1, 2).T
    factors = trained.keys[0, in_trained] * trained.contents[in_trained]
    products = int(factors @ scored.contents[in_scored])
    now = Evaluation(trained.sums, products)
    earlier = evaluations_of((trained.sums + scored.sums)[0].tobytes())
    n_scored = len(scored.sizes)
    n_queries = len(trained.sizes) + n_scored - len(cut)
    is_proven = n_queries >= FEWEST_QUERIES and any(map(now.cuts_otherwise, earlier))
    if len(earlier) < 2 and products not in [other.products for other in earlier]:
        earlier.append(now)
    if cut and is_proven:
        example = describe_query(scored.query_ids, cut[0][1])
        message = CUT.format(n_scored=n_scored, n_cut=len(cut), example=example)
        warn_caller(message, SplitQueriesWarning)
