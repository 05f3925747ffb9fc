"""The parameters that all estimators of boosted trees share, and their ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import check_n_jobs, effective_n_threads
from sklearn_ltr._estimators.base import BaseModel
from sklearn_ltr._parameters import (
    LARGEST,
    Range,
    at_least,
    check_choice,
    check_fraction_or_count,
    check_ranges,
    count_of,
    not_negative,
    positive,
)
from sklearn_ltr.learners._boosting import TreeSampler
from sklearn_ltr.learners._trees.growth_parameters import Constraints, GrowthParameters

LARGEST_NOISE = 100.0  # exp(100 z) is finite for any z that is ever drawn from N(0, 1)
LARGEST_TEMPERATURE = 10.0  # weights are up to about 15^10
RANGES = (
    at_least("n_estimators", 1),
    at_least("max_leaf_nodes", 2),
    at_least("max_depth", 1, optional=True),
    at_least("min_samples_leaf", 1),
    Range("l2_regularization", Real, 0, LARGEST, "both"),
    Range("max_bins", Integral, 2, 255, "both"),
    Range("category_smoothing", Real, 0, LARGEST, "both"),
    at_least("min_samples_category", 1),
    at_least("max_split_categories", 1),
    Range("subsample", Real, 0, 1, "right"),
    Range("split_noise", Real, 0, LARGEST_NOISE, "both"),
    Range("bagging_temperature", Real, 0, LARGEST_TEMPERATURE, "both"),
    Range("validation_fraction", Real, 0, 1, "neither"),
    at_least("n_iter_no_change", 1),
    not_negative("tol"),
    at_least("verbose", 0),
)


class TreeParameters(BaseModel):
    """An estimator of boosted trees: its parameters, and what they mean to the loop.

    The public estimators document the parameters; each has them in its ``__init__``.
    """

    n_estimators: int
    learning_rate: float | Callable[[int], float]
    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: int
    l2_regularization: float
    max_bins: int
    categorical_features: Any
    category_smoothing: float
    min_samples_category: int
    max_split_categories: int
    monotonic_cst: Any
    interaction_cst: Any
    max_features: float
    colsample_bytree: float
    subsample: float
    split_gain: Literal["second_order", "least_squares"]
    split_noise: float
    bagging_temperature: float
    early_stopping: bool | Literal["auto"]
    validation_fraction: float
    n_iter_no_change: int
    tol: float
    warm_start: bool
    random_state: Any
    verbose: int
    n_jobs: int | None
    n_features_in_: int
    _monotonic: NDArray[np.int8]
    _interaction_sets: NDArray[np.bool_]

    def _check_parameters(self) -> None:
        """Make the parameters plain values; an error names one out of its range."""
        check_ranges(self, RANGES)
        if not callable(self.learning_rate):
            check_ranges(self, [positive("learning_rate")])
        check_fraction_or_count(self, "max_features")
        check_fraction_or_count(self, "colsample_bytree")
        check_choice(self, "split_gain", ("second_order", "least_squares"))
        check_choice(self, "early_stopping", (True, False, "auto"))
        check_choice(self, "warm_start", (True, False))
        check_n_jobs(self.n_jobs)

    def _n_threads(self, work: int) -> int:
        """Return the number of threads of a fit of about so many steps."""
        return effective_n_threads(self.n_jobs, work)

    def _score_noise(self) -> float:
        """Return the standard deviation of the noise of scores; for rankers only."""
        return 0.0

    def _growth_parameters(self, n_rows: int) -> GrowthParameters:
        """Return the parameters of trees grown on so many rows.

        Limits that such trees cannot reach are lowered: memory is allocated for
        `max_leaf_nodes`, and kernels take numbers of 64 bits.
        """
        min_samples_leaf = min(self.min_samples_leaf, n_rows)
        max_leaf_nodes = min(self.max_leaf_nodes, max(2, n_rows // min_samples_leaf))
        max_depth = min(self.max_depth or max_leaf_nodes, max_leaf_nodes)
        return GrowthParameters(
            max_leaf_nodes=min(max_leaf_nodes, 2 ** min(max_depth, 62)),
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            l2_regularization=self.l2_regularization,
            learning_rate=1.0,  # each tree is given its own
            second_order=self.split_gain == "second_order",
            category_smoothing=self.category_smoothing,
            min_samples_category=min(self.min_samples_category, n_rows + 1),
            max_split_categories=min(self.max_split_categories, self.max_bins),
            constraints=Constraints(self._monotonic, self._interaction_sets),
        )

    def _learning_rates(self, tree_indices: range) -> Iterator[tuple[int, float]]:
        """Yield the index of each tree and its learning rate.

        Raises
        ------
        TypeError, ValueError
            That names the tree, where a callable returns no number in the range.
        """
        for tree_index in tree_indices:
            rate: Any = self.learning_rate
            if callable(rate):
                rate = positive(f"learning_rate({tree_index})").read(rate(tree_index))
            yield tree_index, rate

    def _tree_sampler(self, offsets: Any, max_leaf_nodes: int) -> TreeSampler:
        n_features = self.n_features_in_
        n_tree_features = count_of(
            self.colsample_bytree, n_features, "colsample_bytree"
        )
        if isinstance(self.max_features, Integral):
            n_split_features = count_of(self.max_features, n_features, "max_features")
        else:  # a fraction of the features of the tree
            n_split_features = count_of(
                self.max_features, n_tree_features, "max_features"
            )
        return TreeSampler(
            offsets=offsets,
            subsample=self.subsample,
            n_features=n_features,
            n_tree_features=n_tree_features,
            n_split_features=min(n_split_features, n_tree_features),
            split_noise=self.split_noise,
            bagging_temperature=self.bagging_temperature,
            score_noise=self._score_noise(),
            n_nodes=2 * max_leaf_nodes - 1,
            seed=self._seed,
        )
