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
from sklearn_ltr._core.boosting.warm_start import KeptTrees
from sklearn_ltr._core.comm import ONE_PROCESS, Comm
from sklearn_ltr._core.compile import (
    STEPS_PER_THREAD,
    ThreadTeam,
    effective_n_threads,
    helper,
)
from sklearn_ltr._core.data import FitData, TrainingData
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.trees.binning import (
    BinMapper,
    BinnedData,
    BinnedTable,
    KnownBins,
    bin_training,
    fit_bins,
    hash_bins,
    sample_rows,
)
from sklearn_ltr._core.trees.categories import CategoryBins, TrainingCategories
from sklearn_ltr._core.trees.parameters import TreeParameters, step_of_growth
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
    """Return the number of threads of a fit to so many values of X, on each worker."""
    work = STEPS_PER_VALUE * n_values
    own = effective_n_threads(n_jobs, work)
    if n_jobs is None and comm.n_threads is not None:
        own = max(1, min(comm.n_threads, work // STEPS_PER_THREAD))
    return int(min(comm.gather(own)))


def bin_data(
    data: FitData,
    parameters: BoostingParameters,
    categorical: IntArray,
    kept: KeptTrees,
    team: ThreadTeam,
    comm: Comm = ONE_PROCESS,
) -> BinnedFit:
    """Turn all rows into bins; all workers of a fit call this together."""
    index = QueryIndex.locate(data.learned, comm)
    if comm.n_workers == 1:
        kind = len(categorical) > 0, data.learned.X.is_sparse
        step = step_of_growth(parameters.policy(index.n_queries), *kind)
        helper.want(step, n_jobs=parameters.n_jobs)
    mapper, rows, bins = bin_learned(
        data.learned, parameters, categorical, kept, index, team
    )
    learned = BinnedSet(bins, rows.init_score.copy())
    validation = [
        BinnedSet(mapper.transform(held.X, held.rows, team), held.init_score.copy())
        for held in data.validation
    ]
    return BinnedFit(rows.without_features(), learned, validation, mapper, index, team)


def bin_learned(
    data: TrainingData,
    parameters: TreeParameters,
    categorical: IntArray,
    kept: KeptTrees,
    index: QueryIndex,
    team: ThreadTeam,
) -> tuple[BinMapper, TrainingData, BinnedData]:
    """Learn the bins, unless they are known; return them, the rows, and their bins."""
    # The rows are sorted by all that trees see: bins, targets, weights and initial
    # scores.  So a change of a feature that does not change its bins, such as another
    # scale, does not change the order and the model.
    p, known = parameters, data.X.known_bins
    if known is not None:
        order = data.content_order(known.hashes[known.place[data.rows]], team)
        data = data.reordered(order)
        return known.mapper, data, known.mapper.transform(data.X, data.rows, team)
    trained = TrainingCategories.find(data, categorical, index, team)
    mapper = kept.mapper
    if mapper is None:
        mapper = learn_bins(data, p, categorical, trained, kept.seed, index, team)
    binned = bin_training(mapper, data, trained, p.category_smoothing, team)
    order = data.content_order(hash_bins(binned, team), team)
    binned.stored.reorder(order, team)
    return mapper, data.reordered(order), binned


def learn_bins(
    data: TrainingData,
    parameters: TreeParameters,
    categorical: IntArray,
    trained: TrainingCategories,
    seed: int,
    index: QueryIndex,
    team: ThreadTeam,
) -> BinMapper:
    """Learn the bins of all features from the training rows."""
    p = parameters
    options = p.max_bins, p.smallest_leaf(index.n_rows), p.category_smoothing
    bins = CategoryBins.fit(categorical, trained.sums, *options)
    sampled = sample_rows(data, index, seed, team)
    return fit_bins(data.X, sampled, p.max_bins, bins, index.comm, team)


def learn_shared_table(
    data: TrainingData,
    learned: TrainingData,
    parameters: BoostingParameters,
    categorical: IntArray,
    seed: int,
) -> BinnedTable:
    """Learn bins from the rows to learn from, and bin all rows that fits may need."""
    # sorted as in a fit, so that fits to all of the rows share them without a copy
    p, index = parameters, QueryIndex.locate(learned, ONE_PROCESS)
    with ThreadTeam(fit_threads(p.n_jobs, data.X.size)) as team:
        trained = TrainingCategories.find(learned, categorical, index, team)
        mapper = learn_bins(learned, p, categorical, trained, seed, index, team)
        binned = bin_training(mapper, data, trained, p.category_smoothing, team)
        hashes = hash_bins(binned, team)
        columns = replace(data.columns, init_score=None)  # members may have others
        order = replace(data, columns=columns).content_order(hashes, team)
        binned.stored.reorder(order, team)
    n_rows = data.X.shape[0]
    place = np.full(n_rows, -1)
    place[data.rows[order]] = np.arange(data.n_rows)
    known = KnownBins(mapper, binned.stored, hashes[order], place)
    return BinnedTable(data.X, np.arange(n_rows), known)
