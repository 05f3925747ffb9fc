"""The boosting loop: one tree after another, each a step down the gradient.

    F_0 = the initial scores,    F_m = F_{m-1} + eta * (value of the leaf of tree m)

This is algorithm LambdaMART of Burges ("From RankNet to LambdaRank to LambdaMART: An
Overview", MSR-TR-2010-82, 2010) for any objective: rankers and MART share it.  A fit
takes these steps: an estimator reads its arguments (`FitData`), `bin_data` turns the
rows into bins, and `boost_trees` grows trees on them.  On a cluster, workers call the
last two together, each with its own rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sklearn_ltr._core.boosting.bins import BinnedFit
from sklearn_ltr._core.boosting.nothing_learned import warn_if_nothing_learned
from sklearn_ltr._core.boosting.parameters import BoostingParameters
from sklearn_ltr._core.boosting.warm_start import TreesSoFar
from sklearn_ltr._core.estimators.base import StepListener
from sklearn_ltr._core.estimators.monitor import (
    Monitor,
    curves_of,
    first_validation_curve,
)
from sklearn_ltr._core.estimators.objective import Objective, Task
from sklearn_ltr._core.parameters import LARGEST_SCORE
from sklearn_ltr._core.trees.constraints import Constraints
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.growth.grower import TreeGrower
from sklearn_ltr._core.trees.growth.leaf_values import add_binned
from sklearn_ltr._core.trees.growth.quantization import RowDerivatives
from sklearn_ltr._core.trees.growth.sampling import TreeSampler
from sklearn_ltr._core.trees.growth.workspace import GrownTree
from sklearn_ltr._core.trees.parameters import TreeParameters, growth_parameters
from sklearn_ltr._core.typing import FloatArray


def boost(
    grower: TreeGrower,
    objective: Objective,
    sampler: TreeSampler,
    scores: FloatArray,
    steps: Iterable[tuple[int, float]],
) -> Iterator[GrownTree]:
    """Grow one tree after another; yield each when it has been added to `scores`."""
    # `scores` are the scores of the training rows, (n_rows,); `steps` gives the index
    # of each tree, which seeds its random numbers, and its learning rate
    for tree_index, rate in steps:
        gradient, hessian = objective.derivatives(scores)
        objective.after_step(gradient, hessian, rate)
        derivatives = RowDerivatives(gradient, hessian)
        yield grower.grow(derivatives, sampler.draw(tree_index), rate, scores)


class Boosting:
    """The trees of a fit so far, and their measures.

    Parameters
    ----------
    fit : BinnedFit
    task : Task
    parameters : BoostingParameters
    kept : TreesSoFar
    """

    def __init__(
        self,
        fit: BinnedFit,
        task: Task,
        parameters: BoostingParameters,
        kept: TreesSoFar,
    ) -> None:
        self._fit, self._task, self._parameters = fit, task, parameters
        self._kept, self._sets = kept, [fit.learned, *fit.validation]
        p = parameters
        curves = curves_of(task.measures, kept.evals_result, kept.n_trees)
        self.trees: list[GrownTree] = []
        followed = first_validation_curve(curves) if p.early_stopping else None
        steps = "tree", kept.n_trees, p.n_estimators
        print_line = fit.query_index.comm.print_line
        self.monitor = Monitor(curves, followed, p, *steps, print_line)

    @property
    def n_trees(self) -> int:
        """Number of trees, with those of earlier fits."""
        return self._kept.n_trees + len(self.trees)

    def add(self, tree: GrownTree) -> None:
        """Add a tree to the scores of validation data; training data have it."""
        self.trees.append(tree)
        for held in self._fit.validation:
            add_binned(held.bins, tree, held.scores, self._fit.team)

    def measure(self) -> bool:
        """Measure the scores of all sets; return whether to stop early."""
        for measured, by_name in zip(self._sets, self._task.measures, strict=True):
            for measure in by_name.values():
                measure.update(measured.scores, self._fit.team)
        return self.monitor.record(self.n_trees)

    def fitted(self) -> dict[str, Any]:
        """Return the fitted attributes, with all trees so far."""
        return self.fitted_to(self.n_trees)

    def fitted_to(self, n_trees: int) -> dict[str, Any]:
        """Return the fitted attributes, with the first trees."""
        ensemble = self._kept.ensemble
        if self.trees:
            ensemble += TreeEnsemble.from_grown(self.trees, self._fit.mapper)
        if n_trees < len(ensemble):
            ensemble = ensemble.part(0, n_trees)
        return {
            "ensemble_": ensemble,
            "n_iter_": n_trees,
            self._parameters.train_curve: self.monitor.train_values,
            "validation_score_": self.monitor.stopping_values,
            "evals_result_": self.monitor.result(),
            "_mapper": self._fit.mapper,
            "_seed": self._kept.seed,
            "_is_imported": False,
            **self._task.objective.fitted(max(0, n_trees - self._kept.n_trees)),
        }


def boost_trees(
    fit: BinnedFit,
    task: Task,
    parameters: BoostingParameters,
    constraints: Constraints,
    kept: TreesSoFar,
    listener: StepListener | None,
) -> dict[str, object]:
    """Grow trees until the last or early stopping; return the fitted attributes."""
    p, index, team = parameters, fit.query_index, fit.team
    boosting = Boosting(fit, task, p, kept)
    symmetric = p.grows_symmetric(index.n_queries)
    growth = growth_parameters(p, constraints, index.n_rows, symmetric)
    numbers = index.row_numbers(np.uint32)
    grower = TreeGrower(fit.learned.bins, growth, team, numbers, index.comm)
    sampler = new_sampler(fit, p, growth.max_leaf_nodes, kept.seed)

    boosting.measure()  # the initial scores, before any tree
    steps = p.learning_rates(range(kept.n_trees, p.n_estimators))
    for tree in boost(grower, task.objective, sampler, fit.learned.scores, steps):
        check_step(tree, p)
        boosting.add(tree)
        stops = boosting.measure()
        if listener is not None:
            stops = listener.end_step(boosting.fitted, last=stops)
        if stops:
            break

    # with early stopping, keep the trees up to the best one
    monitor, n_grown = boosting.monitor, boosting.n_trees
    best = None if monitor.followed is None else max(1, monitor.best_index)
    monitor.print_end(n_grown, best)
    attributes = boosting.fitted_to(n_grown if best is None else best)
    warn_if_nothing_learned(fit, p, attributes["ensemble_"], n_grown)
    return attributes


def new_sampler(
    fit: BinnedFit, parameters: TreeParameters, max_leaf_nodes: int, seed: int
) -> TreeSampler:
    """Return what draws the rows and features of each tree."""
    p, n_features = parameters, len(fit.learned.bins.n_bins)
    fraction = p.sampled_fraction(fit.query_index.n_rows)
    n_nodes = 2 * max_leaf_nodes - 1
    n_drawn = p.count_features(n_features)
    return TreeSampler(fraction, n_features, *n_drawn, n_nodes, seed)


def check_step(tree: GrownTree, parameters: TreeParameters) -> None:
    """Raise a ValueError if a tree leads to scores too large to compute with."""
    largest = np.abs(tree.value).max()
    if not largest <= LARGEST_SCORE:
        rate = parameters.learning_rate
        at = "" if callable(rate) else f"={rate:g}"
        raise ValueError(
            f"the scores diverge, since a tree adds {largest:.3g} to them: lower "
            f"learning_rate{at}, or raise "
            f"l2_regularization={parameters.l2_regularization:g}"
        )
