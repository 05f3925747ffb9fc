"""The boosting loop: one tree after another, each a step down the gradient.

    F_0 = the initial scores,    F_m = F_{m-1} + eta * (value of the leaf of tree m)

This is algorithm LambdaMART of Burges ("From RankNet to LambdaRank to LambdaMART: An
Overview", MSR-TR-2010-82, 2010) for any objective: rankers and MART share it.  A fit
takes these steps: an estimator reads its arguments (`FitData`), `bin_data` turns the
rows into bins, and `boost_trees` grows trees on them.  On a cluster, workers call the
last two together, each with its own rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_ltr._core.boosting.bins import BinnedFit
from sklearn_ltr._core.boosting.nothing_learned import warn_if_nothing_learned
from sklearn_ltr._core.boosting.parameters import BoostingParameters
from sklearn_ltr._core.boosting.warm_start import KeptTrees
from sklearn_ltr._core.estimators.base import StepListener
from sklearn_ltr._core.estimators.monitor import (
    Monitor,
    curves_of,
    first_validation_curve,
)
from sklearn_ltr._core.estimators.objective import Task
from sklearn_ltr._core.parameters import LARGEST_SCORE
from sklearn_ltr._core.trees.constraints import Constraints
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
from sklearn_ltr._core.trees.growth.grower import TreeGrower
from sklearn_ltr._core.trees.growth.leaf_values import add_binned
from sklearn_ltr._core.trees.growth.quantization import RowDerivatives
from sklearn_ltr._core.trees.growth.sampling import TreeSampler
from sklearn_ltr._core.trees.growth.workspace import GrownTree
from sklearn_ltr._core.trees.parameters import growth_parameters


class Boosting:
    """The trees of a fit so far, and their measures.

    Parameters
    ----------
    fit : BinnedFit
    task : Task
    parameters : BoostingParameters
    kept : KeptTrees
        Its trees are the first ones, and are added to all scores.
    """

    def __init__(
        self,
        fit: BinnedFit,
        task: Task,
        parameters: BoostingParameters,
        kept: KeptTrees,
    ) -> None:
        self._fit, self._task, self._parameters = fit, task, parameters
        self._kept, self._sets = kept, [fit.learned, *fit.validation]
        p = parameters
        curves = curves_of(task.measures, kept.evals_result, kept.n_trees)
        followed = first_validation_curve(curves) if p.early_stopping else None
        steps = "tree", kept.n_trees, p.n_estimators
        print_line = fit.query_index.comm.print_line
        self.monitor = Monitor(curves, followed, p, *steps, print_line)
        self.trees = kept.ensemble.grown(fit.mapper)
        for tree in self.trees:
            for each in self._sets:
                add_binned(each.bins, tree, each.scores, fit.team)

    def add(self, tree: GrownTree, grower: TreeGrower) -> None:
        """Add the tree that was grown last to the scores of all rows."""
        self.trees.append(tree)
        grower.add_last(tree, self._fit.learned.scores)
        for held in self._fit.validation:
            add_binned(held.bins, tree, held.scores, self._fit.team)

    def measure(self) -> bool:
        """Measure the scores of all sets; return whether to stop early."""
        for measured, by_name in zip(self._sets, self._task.measures, strict=True):
            for measure in by_name.values():
                measure.update(measured.scores, self._fit.team)
        return self.monitor.record(len(self.trees))

    def fitted(self) -> dict[str, Any]:
        """Return the fitted attributes, with all trees so far."""
        return self.fitted_to(len(self.trees))

    def fitted_to(self, n_trees: int) -> dict[str, Any]:
        """Return the fitted attributes, as they were after so many trees."""
        trees = self.trees[:n_trees]
        return {
            "ensemble_": TreeEnsemble.from_grown(trees, self._fit.mapper),
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
    kept: KeptTrees,
    listener: StepListener | None,
) -> dict[str, object]:
    """Grow trees until the last or early stopping; return the fitted attributes."""
    p, index, team, bins = parameters, fit.query_index, fit.team, fit.learned.bins
    policy, n_features = p.policy(index.n_queries), len(bins.n_bins)
    growth = growth_parameters(p, constraints, index.n_rows, policy)
    numbers = index.row_numbers(np.uint32)
    grower = TreeGrower(bins, policy, growth, team, numbers, index.comm)
    fraction, n_drawn = p.sampled_fraction(index.n_rows), p.count_features(n_features)
    n_nodes = 2 * growth.max_leaf_nodes - 1
    sampler = TreeSampler(fraction, n_features, *n_drawn, n_nodes, kept.seed)

    boosting = Boosting(fit, task, p, kept)
    boosting.measure()  # the initial scores, before any tree
    for tree_index, rate in p.learning_rates(range(kept.n_trees, p.n_estimators)):
        gradient, hessian = task.objective.derivatives(fit.learned.scores)
        derivatives = RowDerivatives(gradient, hessian)
        tree = grower.grow(derivatives, sampler.draw(tree_index), rate)
        largest = np.abs(tree.value).max()
        if not largest <= LARGEST_SCORE:
            at = "" if callable(p.learning_rate) else f"={p.learning_rate:g}"
            raise ValueError(
                f"the scores diverge, since a tree adds {largest:.3g} to them: lower "
                f"learning_rate{at}, or raise "
                f"l2_regularization={p.l2_regularization:g}"
            )
        boosting.add(tree, grower)
        task.objective.after_step(gradient, hessian, rate)
        stops = boosting.measure()
        if listener is not None:
            stops = listener.end_step(boosting.fitted, last=stops)
        if stops:
            break

    # with early stopping, keep the trees up to the best one
    monitor, n_grown = boosting.monitor, len(boosting.trees)
    best = None if monitor.followed is None else max(1, monitor.best_index)
    monitor.print_end(n_grown, best)
    attributes = boosting.fitted_to(n_grown if best is None else best)
    warn_if_nothing_learned(fit, p, attributes["ensemble_"], n_grown)
    return attributes
