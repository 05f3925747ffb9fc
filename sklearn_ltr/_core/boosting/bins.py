"""From rows to bins: what trees are grown from, and measured on.

The bins are learned from the rows to learn from, unless a warm start keeps them or the
members of a bag share them.  Then X is not needed any more.  On a cluster, workers call
`bin_data` together, each with its own rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sklearn_ltr._core.boosting.parameters import BoostingParameters
from sklearn_ltr._core.boosting.warm_start import TreesSoFar
from sklearn_ltr._core.comm import ONE_PROCESS, Comm
from sklearn_ltr._core.compile import (
    STEPS_PER_THREAD,
    ThreadTeam,
    effective_n_threads,
    stage,
)
from sklearn_ltr._core.data import FitData, TrainingData
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.data.training_data import NO_FEATURES
from sklearn_ltr._core.trees.binning import (
    BinMapper,
    BinnedData,
    bin_training,
    fit_bins,
    hash_bins,
    sample_rows,
)
from sklearn_ltr._core.trees.categories import CategoryBins, TrainingCategories
from sklearn_ltr._core.trees.growth import ahead_of_time
from sklearn_ltr._core.trees.parameters import TreeParameters
from sklearn_ltr._core.typing import FloatArray, IntArray

STEPS_PER_VALUE = 4  # of X: a fit of 500,000 values is faster with two threads


class BinnedSet(NamedTuple):
    """Binned rows, and the scores that trees are added to."""

    bins: BinnedData
    scores: FloatArray  # (n_rows,): F_0 at first


class BinnedFit(NamedTuple):
    """Binned data, which trees are grown on and measured on."""

    rows: TrainingData  # to learn from, without features, in the order of their bins
    learned: BinnedSet
    validation: list[BinnedSet]
    mapper: BinMapper
    query_index: QueryIndex  # of the queries to learn from
    team: ThreadTeam  # that has made the bins, and grows the trees


def fit_threads(n_jobs: int | None, n_values: int, comm: Comm = ONE_PROCESS) -> int:
    """Return how many threads each worker uses to fit `n_values` values of X."""
    work = STEPS_PER_VALUE * n_values
    own = effective_n_threads(n_jobs, work)
    if n_jobs is None and comm.n_threads is not None:
        own = max(1, min(comm.n_threads, work // STEPS_PER_THREAD))
    return int(min(comm.gather(own)))


def bin_data(
    data: FitData,
    parameters: BoostingParameters,
    so_far: TreesSoFar,
    team: ThreadTeam,
    comm: Comm = ONE_PROCESS,
) -> BinnedFit:
    """Turn all rows into bins; all workers of a fit call this together."""
    index = QueryIndex.locate(data.learned, comm)
    categorical = data.reader.categories.feature
    if comm is ONE_PROCESS:
        policy = parameters.policy(index.n_queries)
        kind = policy, len(categorical) > 0, data.learned.X.is_sparse
        ahead_of_time.want_growth(*kind, n_jobs=parameters.n_jobs)
    stage("binning")
    # The rows are sorted by all that trees see: bins, targets, weights and initial
    # scores.  So a change of a feature that does not change its bins, such as another
    # scale, does not change the order and the model.
    p, rows, known = parameters, data.learned, data.learned.X.known_bins
    if known is not None:
        mapper, hashes = known.mapper, known.hashes[known.place[rows.rows]]
        rows = rows.reordered(rows.content_order(hashes, team))
        bins = mapper.transform(rows.X, rows.rows, team)
    else:
        mapper, bins = learn_bins(rows, rows, p, categorical, so_far, index, team)
        order = rows.content_order(hash_bins(bins, team), team)
        bins.stored.reorder(order, team)
        rows = rows.reordered(order)
    learned = BinnedSet(bins, rows.init_score.copy())
    validation = [
        BinnedSet(mapper.transform(held.X, held.rows, team), held.init_score.copy())
        for held in data.validation
    ]
    # the rows that they are of are for messages, and as int32 they take less memory
    rows = replace(rows, X=NO_FEATURES, rows=rows.rows.astype(np.int32))
    return BinnedFit(rows, learned, validation, mapper, index, team)


def learn_bins(
    data: TrainingData,
    rows: TrainingData,
    parameters: TreeParameters,
    categorical: IntArray,
    so_far: TreesSoFar,
    index: QueryIndex,
    team: ThreadTeam,
) -> tuple[BinMapper, BinnedData]:
    """Learn the bins of all features, unless a warm start has them; bin `rows`."""
    p, mapper = parameters, so_far.mapper
    trained = TrainingCategories.find(data, categorical, index, team)
    if mapper is None:
        options = p.max_bins, p.smallest_leaf(index.n_rows), p.category_smoothing
        bins = CategoryBins.fit(categorical, trained.sums, *options)
        sampled = sample_rows(data, index, so_far.seed, team)
        mapper = fit_bins(data.X, sampled, p.max_bins, bins, index.comm, team)
    return mapper, bin_training(mapper, rows, trained, p.category_smoothing, team)
