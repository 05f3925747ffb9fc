"""The boosting loop: one tree after another, each a step down the gradient.

    F_m(x) = F_{m-1}(x) + eta * (value of the leaf of tree m that x falls into)

This is algorithm LambdaMART of Burges ("From RankNet to LambdaRank to LambdaMART: An
Overview", MSR-TR-2010-82, 2010) for any objective: rankers and MART share it.  Only the
objective, a function that turns scores into gradient and hessian, knows the cost that
is minimised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from sklearn_ltr._trees.growth.grower import TreeGrower
from sklearn_ltr._trees.growth.quantization import RowDerivatives
from sklearn_ltr._trees.growth.sampling import TreeSampler
from sklearn_ltr._trees.growth.workspace import GrownTree
from sklearn_ltr._typing import FloatArray


class TreeObjective(Protocol):
    """The cost that trees minimise, by its derivatives."""

    def __call__(
        self, scores: FloatArray, learning_rate: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return dC/ds and d2C/ds2 of all rows for their scores, (n_rows,) each."""

    def fitted(self, n_trees: int) -> dict[str, object]:
        """Return the fitted attributes of the objective after these trees, by name."""


def boost(
    grower: TreeGrower,
    objective: TreeObjective,
    sampler: TreeSampler,
    scores: FloatArray,
    steps: Iterable[tuple[int, float]],
) -> Iterator[GrownTree]:
    """Grow one tree after another; yield each when it has been added to `scores`."""
    # `scores` are the scores of the training rows, (n_rows,); `steps` gives the index
    # of each tree, which seeds its random numbers, and its learning rate
    for tree_index, learning_rate in steps:
        derivatives = RowDerivatives(*objective(scores, learning_rate))
        sample = sampler.draw(tree_index)
        yield grower.grow(derivatives, sample, learning_rate, scores)
