"""The parameters of boosted trees: as users give them, and as the kernels take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from sklearn_ltr._parameters import (
    LARGEST,
    POSITIVE,
    Choice,
    FractionOrCount,
    Or,
    count_of,
    integer,
    real,
)
from sklearn_ltr._trees.constraints import NO_CONSTRAINTS, Constraints
from sklearn_ltr._typing import (
    FeaturesLike,
    InteractionConstraints,
    MonotonicConstraints,
)

# subsample="auto"
SAMPLED_FRACTION = 0.2
LEAST_SAMPLED_ROWS = 500
LARGEST_FRACTION = 0.8  # trees of a bag differ, however few rows there are

# min_samples_leaf="auto", see benchmarks/smallest_leaf.py: 20 from 100 rows on
LARGEST_MINIMUM = 20
ROWS_PER_MINIMUM_ROW = 5

GrowPolicy: TypeAlias = Literal["auto", "best_first", "symmetric"]
GROW_POLICIES = ("best_first", "symmetric")
LearningRate = float | Callable[[int], float]


@dataclass(frozen=True, kw_only=True)
class TreeParameters:
    """The parameters that all estimators of boosted trees share."""

    n_estimators: Annotated[int, integer(1)]
    learning_rate: Annotated[LearningRate, Or(POSITIVE, callables=True)]
    max_leaf_nodes: Annotated[int, integer(2)]
    min_samples_leaf: Annotated[int | Literal["auto"], Or(integer(1), ("auto",))]
    max_features: Annotated[float, FractionOrCount()]
    max_depth: Annotated[int | None, integer(1, optional=True)]
    l2_regularization: Annotated[float, real(0, LARGEST)]
    colsample_bytree: Annotated[float, FractionOrCount()]
    subsample: Annotated[float | Literal["auto"], Or(real(0, 1, "right"), ("auto",))]
    max_bins: Annotated[int, integer(2, 255)]
    grow_policy: Annotated[GrowPolicy, Choice(*GROW_POLICIES)]
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

    def grows_symmetric(self, n_queries: int) -> bool:
        """Return whether trees are symmetric, given the queries to learn from."""
        return self.grow_policy == "symmetric"

    def count_features(self, n_features: int) -> tuple[int, int]:
        """Return how many features are drawn for each tree, and for each node."""
        n_tree = count_of(self.colsample_bytree, n_features, "colsample_bytree")
        # a fraction means a fraction of the features of the tree
        is_fraction = isinstance(self.max_features, float)
        n_split = count_of(
            self.max_features, n_tree if is_fraction else n_features, "max_features"
        )
        return n_tree, min(n_split, n_tree)


class GrowthParameters(NamedTuple):
    """Size of the trees and values of their leaves."""

    max_leaf_nodes: int  # >= 2
    max_depth: int  # of a leaf; the root has depth 0
    min_samples_leaf: int
    # added to the sum of hessians: in leaf values, and in second-order gains
    l2_regularization: float
    second_order: bool  # in gains, W is the sum of hessians, else the number of rows
    category_smoothing: float = 0.0  # see growth/splitting.py
    constraints: Constraints = NO_CONSTRAINTS
    # all leaves of a level are split by one condition, in `max_depth` levels, else the
    # leaf of the highest gain is split first
    symmetric: bool = False


def growth_parameters(
    parameters: TreeParameters, constraints: Constraints, n_rows: int, symmetric: bool
) -> GrowthParameters:
    """Return the parameters of trees that are grown on a sample of `n_rows` rows."""
    # Limits that such trees cannot reach are lowered: memory is allocated for
    # `max_leaf_nodes`, and kernels take numbers of 64 bits.  Numbers of rows, which the
    # user gives for all rows, become numbers of rows of a sample.
    p, fraction = parameters, parameters.sampled_fraction(n_rows)
    min_samples_leaf = max(1, round(min(p.smallest_leaf(n_rows), n_rows) * fraction))
    max_leaf_nodes = min(p.max_leaf_nodes, max(2, n_rows // min_samples_leaf))
    max_depth = min(p.max_depth or max_leaf_nodes, max_leaf_nodes)
    if symmetric:
        # A level more than a full tree of as many leaves has: many leaves stay whole
        max_depth = min(max_depth, (max_leaf_nodes + 1).bit_length())
        max_leaf_nodes = 2**max_depth
    return GrowthParameters(
        max_leaf_nodes=min(max_leaf_nodes, 2 ** min(max_depth, 62)),
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        l2_regularization=p.l2_regularization,
        second_order=p.split_gain == "second_order",
        category_smoothing=p.category_smoothing * fraction,
        constraints=constraints,
        symmetric=symmetric,
    )
