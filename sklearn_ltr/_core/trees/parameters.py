"""The parameters of boosted trees, as users give them and as growth takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from sklearn_ltr._core.data.feature_reader import FeatureReader
from sklearn_ltr._core.parameters import (
    FRACTION_OR_COUNT,
    LARGEST,
    POSITIVE,
    Choice,
    Or,
    count_of,
    integer,
    real,
)
from sklearn_ltr._core.trees.constraints import Constraints, read_constraints
from sklearn_ltr._core.trees.growth import POLICIES
from sklearn_ltr._core.trees.growth.loop import GrowthPolicy
from sklearn_ltr._core.trees.growth.workspace import GrowthParameters
from sklearn_ltr._core.typing import (
    FeaturesLike,
    InteractionConstraints,
    MonotonicConstraints,
)

# subsample="auto"
SAMPLED_FRACTION = 0.2
LEAST_SAMPLED_ROWS = 500
LARGEST_FRACTION = 0.8  # trees of a bag differ, however few rows there are

# min_samples_leaf="auto", see benchmarks/studies/smallest_leaf.py: 20 from 100 rows on
LARGEST_MINIMUM = 20
ROWS_PER_MINIMUM_ROW = 5

GrowPolicy: TypeAlias = Literal["auto", "best_first", "symmetric"]


LearningRate = float | Callable[[int], float]


@dataclass(frozen=True, kw_only=True)
class TreeParameters:
    """The parameters that all estimators of boosted trees share.

    Attributes
    ----------
    n_estimators
        Maximum number of trees.  Give more than you need and let early stopping choose,
        or tune it.
    learning_rate
        Factor of each tree's step, eta in Burges (2010).  A callable returns the factor
        for the tree's index 0, 1, ...: ``lambda m: 0.3 * 0.98**m``.  A warm start
        continues the index.  To pickle the model, use a function defined in a module.
    min_samples_leaf
        Minimum number of rows in a leaf.  "auto": 20, or with fewer
        than 100 rows a fifth of them, at least 1.  Tune it: larger if the model
        overfits, smaller for few {row}s.
    max_features
        Features drawn for each split among those of the tree: a fraction or a number.
        Tune it: 0.5 and 0.7 are worth a try.
    max_depth
        Maximum number of splits between the root and a leaf.  None: no limit.  Rarely
        needed: `max_leaf_nodes` limits trees already.
    l2_regularization
        Term added to the sum of hessians of a leaf, in the leaf value and, for
        second-order splits, in the gain.  Raise it if the model overfits.
    path_smooth
        Draw the value v of each node of n {row}s towards that of its parent, from the
        root down: it becomes ``(n v + path_smooth v_parent) / (n + path_smooth)``.  So
        leaves of few {row}s differ less from those beside them.  Splits are chosen
        without it.  Raise it if the model overfits.
    colsample_bytree
        Features drawn for each tree: a fraction or a number.  Lower it if there are
        many features and the model overfits.
    subsample
        Fraction of the {row}s on which each tree finds its splits.  "auto": 0.2, or
        500 {row}s if that is more, up to 0.8.  A {row} is drawn with probability
        ``p = min(1, sqrt(g^2 + lambda h^2) / mu)`` and counts as 1 / p, where g and h
        are its gradient and hessian, ``lambda = (sum |g| / sum h)^2``, and mu fits the
        fraction.  No other sample of this size gives gains a smaller variance
        (Ibragimov and Gusev, NeurIPS 2019).  Leaf values use all {row}s.
        `min_samples_leaf` and `category_smoothing` are multiplied by the fraction.  1:
        all {row}s.
    max_bins
        Maximum number of bins of a feature; missing values have their own.  Leave it;
        fewer bins blur small differences between values.
    grow_policy
        "best_first": the leaf whose best split has the largest gain is split first, up
        to `max_leaf_nodes` leaves.  "symmetric": one condition splits all leaves of a
        level, in ``1 + floor(log2(max_leaf_nodes + 1))`` levels (31: 6), or `max_depth`
        if that is less.  A leaf stays whole if the condition has no gain in it, or
        would leave a child with fewer than `min_samples_leaf` rows.  Three times the
        mean hessian of a {row} is added to `l2_regularization`.
    split_gain
        What the gain of a split is: the decrease of the cost's second-order expansion;
        or that of the squared error of a tree that models the gradients (Burges 2010,
        equation 11).  Leave it, or set "least_squares" for the published algorithm.
    categorical_features : array-like, "from_dtype" or None
        Features that hold categories: names, indices or a mask.  "from_dtype": the
        columns of a DataFrame that have a categorical dtype (categories of pandas and
        polars, enums, Arrow dictionaries).  Categories are text or whole numbers, in a
        dense X; a split sends a set of them left.  If there are more than `max_bins`,
        each of the most frequent has its own bin.
    category_smoothing
        Number of rows with the node's mean gradient and hessian that are added to each
        category.  The categories are then sorted by gradient over hessian and split in
        this order.  It regularises: small categories move to the middle.  The averages
        by which categories share bins are smoothed by as many rows.  Raise it if many
        categories have few rows.
    monotonic_cst : array-like of int, dict or None
        How the score may change as a feature grows and the others stay fixed: 1: it
        never falls; -1: it never rises; 0: both.  One number for each feature, or a
        dict by name.
    interaction_cst : list of sets, str or None
        Sets of features, by index or name, that may share a path of a tree; features in
        no set form one more.  "pairwise": all sets of two; "no_interactions": of one.
        None: any features.  Use it if features must not be combined.
    """

    n_estimators: Annotated[int, integer(1)]
    learning_rate: Annotated[LearningRate, Or(POSITIVE, callables=True)]
    max_leaf_nodes: Annotated[int, integer(2)]
    min_samples_leaf: Annotated[int | Literal["auto"], Or(integer(1), ("auto",))]
    max_features: Annotated[float, FRACTION_OR_COUNT]
    max_depth: Annotated[int | None, integer(1, optional=True)]
    l2_regularization: Annotated[float, real(0, LARGEST)]
    path_smooth: Annotated[float, real(0, LARGEST)]
    colsample_bytree: Annotated[float, FRACTION_OR_COUNT]
    subsample: Annotated[float | Literal["auto"], Or(real(0, 1, "right"), ("auto",))]
    max_bins: Annotated[int, integer(2, 255)]
    grow_policy: Annotated[GrowPolicy, Choice(*POLICIES)]
    split_gain: Annotated[
        Literal["second_order", "least_squares"],
        Choice("second_order", "least_squares"),
    ]
    categorical_features: FeaturesLike
    category_smoothing: Annotated[float, real(0, LARGEST)]
    monotonic_cst: MonotonicConstraints
    interaction_cst: InteractionConstraints

    def learning_rates(self, tree_indices: range) -> Iterator[tuple[int, float]]:
        """Yield index and learning rate of each tree; an error names the tree."""
        for tree_index in tree_indices:
            rate: Any = self.learning_rate
            if callable(rate):
                name = f"learning_rate({tree_index})"
                rate = POSITIVE.read_as(name, rate(tree_index))
            yield tree_index, rate

    def smallest_leaf(self, n_rows: int) -> int:
        """Return the minimum number of the `n_rows` rows that a leaf has."""
        if self.min_samples_leaf == "auto":
            return max(1, min(LARGEST_MINIMUM, n_rows // ROWS_PER_MINIMUM_ROW))
        return self.min_samples_leaf

    def sampled_fraction(self, n_rows: int) -> float:
        """Return the expected fraction of `n_rows` rows that a tree is grown on."""
        if self.subsample == "auto":
            fraction = max(SAMPLED_FRACTION, LEAST_SAMPLED_ROWS / n_rows)
            return min(fraction, LARGEST_FRACTION)
        return float(self.subsample)

    def policy(self, n_queries: int) -> GrowthPolicy:
        """Return the policy of growth, given the queries to learn from."""
        return POLICIES[self.grow_policy]

    def count_features(self, n_features: int) -> tuple[int, int]:
        """Return how many features are drawn for each tree, and for each node."""
        n_tree = count_of(self.colsample_bytree, n_features, "colsample_bytree")
        # a fraction means a fraction of the features of the tree
        is_fraction = isinstance(self.max_features, float)
        n_split = count_of(
            self.max_features, n_tree if is_fraction else n_features, "max_features"
        )
        return n_tree, min(n_split, n_tree)

    def constraints(self, reader: FeatureReader) -> Constraints:
        """Return the constraints on the columns that a fit has read."""
        is_categorical = reader.categories.mask(reader.n_features)
        given = self.monotonic_cst, self.interaction_cst
        return read_constraints(*given, reader.names, is_categorical)


def growth_parameters(
    parameters: TreeParameters,
    constraints: Constraints,
    n_rows: int,
    policy: GrowthPolicy,
) -> GrowthParameters:
    """Return the parameters of trees that are grown on a sample of `n_rows` rows."""
    # Limits that such trees cannot reach are lowered: memory is allocated for
    # `max_leaf_nodes`, and kernels take numbers of 64 bits.  Numbers of rows, which the
    # user gives for all rows, become numbers of rows of a sample.
    p, fraction = parameters, parameters.sampled_fraction(n_rows)
    min_samples_leaf = max(1, round(min(p.smallest_leaf(n_rows), n_rows) * fraction))
    most_leaves = min(p.max_leaf_nodes, max(2, n_rows // min_samples_leaf))
    most_levels = min(p.max_depth or most_leaves, most_leaves)
    max_leaf_nodes, max_depth = policy.limits(most_leaves, most_levels)
    return GrowthParameters(
        max_leaf_nodes=max_leaf_nodes,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        l2_regularization=p.l2_regularization,
        second_order=p.split_gain == "second_order",
        category_smoothing=p.category_smoothing * fraction,
        constraints=constraints,
        path_smooth=p.path_smooth,
    )
