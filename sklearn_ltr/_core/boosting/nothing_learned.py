"""Warn of trees that have learned nothing, and say why."""

from __future__ import annotations

import numpy as np

from sklearn_ltr._core.boosting.bins import BinnedFit
from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.estimators.nothing_learned import NothingLearnedWarning
from sklearn_ltr._core.trees.binning import MISSING_BIN, BinnedData
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.parameters import TreeParameters
from sklearn_ltr._core.typing import FloatArray

FEATURES_PER_COUNT = 64  # whose rows are counted together


def warn_if_nothing_learned(
    fit: BinnedFit, parameters: TreeParameters, ensemble: TreeEnsemble, n_grown: int
) -> None:
    """Warn of trees that do not order rows; all workers of a fit call this."""
    data, index, scores = fit.rows, fit.query_index, fit.learned.scores
    n_trees = len(ensemble)
    has_base = any(index.comm.gather(bool(np.ptp(data.init_score) > 0)))
    if not (ensemble.feature >= 0).any():
        if has_base and n_trees < n_grown:
            return  # early stopping has found the base model better alone
        reason = (
            why_no_split(data, fit.learned.bins, index, parameters)
            if n_trees == n_grown
            else f"early stopping keeps {n_trees} of {n_grown} trees, since no later "
            "one improved the validation score"
        )
        message = (
            f"no tree has a split, so the trees give all rows the same score: {reason}"
        )
    elif (
        data.query_ids is not None
        and not has_base
        and not any(index.comm.gather(orders(data, scores)))
    ):
        message = (
            f"no tree tells documents of a query apart: in the {index.n_rows:,} rows "
            f"of the {index.n_queries:,} queries to learn from, the features that "
            "trees split are the same for all documents of a query; add features of "
            "documents, and check groups"
        )
    else:
        return
    warn_caller(message, NothingLearnedWarning)


def orders(data: TrainingData, scores: FloatArray) -> bool:
    """Return whether documents of a query have different scores."""
    starts = data.offsets[:-1]
    highest = np.maximum.reduceat(scores, starts)
    return bool((highest > np.minimum.reduceat(scores, starts)).any())


def why_no_split(
    data: TrainingData,
    binned: BinnedData,
    index: QueryIndex,
    parameters: TreeParameters,
) -> str:
    """Return the reason, and what to do."""
    comm, n_rows = index.comm, index.n_rows
    min_samples_leaf = parameters.smallest_leaf(n_rows)
    stored, n_categories = binned.stored, binned.n_categories.tolist()
    own = data.y.min(initial=np.inf), data.y.max(initial=-np.inf)
    lowest, highest = np.transpose(comm.gather(own))
    if not data.pairs.are_judged and lowest.min() == highest.max():
        return f"y is {lowest.min():g} in all {n_rows:,} rows; check y"
    n_features, smaller = len(n_categories), 0
    for first in range(0, n_features, FEATURES_PER_COUNT):
        last = min(first + FEATURES_PER_COUNT, n_features)
        columns = stored.columns_of(np.arange(first, last))
        counts = comm.sum(np.array([np.bincount(c, minlength=256) for c in columns]))
        for own, n in zip(counts, n_categories[first:last], strict=True):
            left = own[:n]  # a set of categories is at least one
            if n == 0:
                left = np.cumsum(own[:MISSING_BIN])
                left = np.concatenate((left, left + own[MISSING_BIN]))
            smaller = max(smaller, int(np.minimum(left, own.sum() - left).max()))
    has_queries = data.query_ids is not None
    rows = f"the {n_rows:,} rows to learn from"
    if has_queries:
        rows += f" (of queries with {data.pairs.in_words})"
    if smaller == 0:
        return (
            f"all features ({n_features:,}) are constant in {rows}, or missing, or "
            "categories that are seen once; check X"
        )
    if smaller < min_samples_leaf:
        return (
            f"min_samples_leaf={min_samples_leaf}, and of {rows} no split has more "
            f"than {smaller:,} in its smaller leaf; give a lower min_samples_leaf"
        )
    n_drawn = n_rows * parameters.sampled_fraction(n_rows)
    if n_drawn < 2:
        return (
            f"subsample={parameters.subsample!r} draws {n_drawn:.2g} of {rows} for a "
            "tree on average; raise subsample"
        )
    within = " within queries" if has_queries else ""
    return (
        f"no split of {rows} lowers the cost; check that the rows of X are those of y, "
        f"that features differ{within}, and that monotonic_cst is not opposite to y"
    )
