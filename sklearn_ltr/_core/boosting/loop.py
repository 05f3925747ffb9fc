"""The boosting loop: one tree after another, each a step down the gradient.

    F_0 = the initial scores,    F_m = F_{m-1} + eta * (value of the leaf of tree m)

or with dropped trees (:mod:`dart`), which a step multiplies by a factor.

This is algorithm LambdaMART of Burges ("From RankNet to LambdaRank to LambdaMART: An
Overview", MSR-TR-2010-82, 2010) for any objective: rankers and MART share it.  A fit
takes these steps: an estimator reads its arguments (`FitData`), `bin_data` turns the
rows into bins, and `boost_trees` grows trees on them.  On a cluster, workers call the
last two together, each with its own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_ltr._core.boosting.bins import BinnedFit
from sklearn_ltr._core.boosting.dart import AddedTrees, weights_of_trees
from sklearn_ltr._core.boosting.fitted_trees import CHANGED
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
from sklearn_ltr._core.trees.growth.leaf_values import (
    LeafWorkspace,
    add_binned,
    add_leaves,
)
from sklearn_ltr._core.trees.growth.quantization import RowDerivatives
from sklearn_ltr._core.trees.growth.sampling import TreeSampler
from sklearn_ltr._core.trees.growth.workspace import GrownTree
from sklearn_ltr._core.trees.parameters import growth_parameters
from sklearn_ltr._core.typing import FloatArray


class Boosting:
    """The trees of a fit so far, and their measures.

    Parameters
    ----------
    fit : BinnedFit
    task : Task
    parameters : BoostingParameters
    so_far : TreesSoFar
        Its trees are the first ones, and are added to all scores.
    max_leaf_nodes : int
        Of further trees.
    """

    def __init__(
        self,
        fit: BinnedFit,
        task: Task[Objective],
        parameters: BoostingParameters,
        so_far: TreesSoFar,
        max_leaf_nodes: int,
    ) -> None:
        self._fit, self._task, self._parameters = fit, task, parameters
        self._so_far, self._sets = so_far, [fit.learned, *fit.validation]
        p = parameters
        curves = curves_of(task.measures, so_far.evals_result, so_far.n_trees)
        followed = first_validation_curve(curves) if p.early_stopping else None
        steps = "tree", so_far.n_trees, p.n_estimators
        print_line = fit.query_index.comm.print_line
        # a stage of the last fit that cannot be kept any more cannot be the best one
        first_stage = so_far.n_trees if CHANGED in so_far.attributes else 0
        self.monitor = Monitor(curves, followed, p, *steps, first_stage, print_line)
        self.trees = so_far.ensemble.grown(fit.mapper)
        # (number of trees with which it changed, its number, its values before)
        self._changes: list[tuple[int, int, FloatArray]] = []
        self._added: AddedTrees | None = None
        if p.dart is not None:
            sizes = [len(tree.feature) // 2 + 1 for tree in self.trees]
            most_leaves = max(max_leaf_nodes, *sizes, 0)
            scores = [each.scores for each in self._sets]
            self._added = AddedTrees(scores, most_leaves, fit.team)
        for tree in self.trees:
            leaves = [add_binned(s.bins, tree, s.scores, fit.team) for s in self._sets]
            if self._added is not None:
                self._added.append(tree, leaves)

    def drop(self, tree_index: int) -> list[int]:
        """Draw trees to drop, take them out of the scores, and return their numbers."""
        if self._parameters.dart is None or self._added is None:
            return []
        dropped = self._parameters.dart.draw(self._so_far.seed, tree_index)
        if dropped:
            self._added.add_up(self.trees, dropped, n_sets=1)
        return dropped

    def add(
        self,
        tree: GrownTree,
        leaves: LeafWorkspace,
        dropped: Sequence[int],
        factor: float,
    ) -> None:
        """Add a tree to the scores of all rows, and dropped ones times a factor."""
        # `leaves` are those of the rows to learn from
        fit = self._fit
        self.trees.append(tree)
        add_leaves(tree, leaves, fit.learned.scores, fit.team)
        found = [add_binned(s.bins, tree, s.scores, fit.team) for s in fit.validation]
        if self._added is not None:
            self._added.append(tree, [leaves, *found])
            for number in dropped:
                changed = self.trees[number]
                self._changes.append((len(self.trees), number, changed.value))
                self.trees[number] = changed._replace(value=factor * changed.value)
            if dropped:
                self._added.add_up(self.trees)

    def measure(self) -> bool:
        """Measure the scores of all sets; return whether to stop early."""
        for measured, by_name in zip(self._sets, self._task.measures, strict=True):
            for measure in by_name.values():
                measure.update(measured.scores, self._fit.team)
        return self.monitor.record(len(self.trees))

    def fitted_to(self, n_trees: int) -> dict[str, Any]:
        """Return the fitted attributes as they were after `n_trees` trees."""
        trees, so_far = self.trees[:n_trees], self._so_far
        for n_then, number, value in reversed(self._changes):
            if n_then > n_trees > number:  # it has changed since
                trees[number] = trees[number]._replace(value=value)
        n_first = min((n_then for n_then, *_ in self._changes), default=np.inf)
        has_changed = CHANGED in so_far.attributes or n_first <= n_trees
        return {
            "ensemble_": TreeEnsemble.from_grown(trees, self._fit.mapper),
            "n_iter_": n_trees,
            self._parameters.train_curve: self.monitor.train_values,
            "validation_score_": self.monitor.stopping_values,
            "evals_result_": self.monitor.result(),
            "_mapper": self._fit.mapper,
            "_seed": so_far.seed,
            "_is_imported": False,
            **({CHANGED: True} if has_changed else {}),
            **self._task.objective.fitted(max(0, n_trees - so_far.n_trees)),
        }


def boost_trees(
    fit: BinnedFit,
    task: Task[Objective],
    parameters: BoostingParameters,
    constraints: Constraints,
    so_far: TreesSoFar,
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
    sampler = TreeSampler(fraction, n_features, *n_drawn, n_nodes, so_far.seed)

    boosting = Boosting(fit, task, p, so_far, growth.max_leaf_nodes)
    boosting.measure()  # the initial scores, before any tree
    for tree_index, rate in p.learning_rates(range(so_far.n_trees, p.n_estimators)):
        dropped = boosting.drop(tree_index)
        own_rate, factor = weights_of_trees(rate, len(dropped))
        gradient, hessian = task.objective.derivatives(fit.learned.scores)
        derivatives = RowDerivatives(gradient, hessian)
        tree = grower.grow(derivatives, sampler.draw(tree_index), own_rate)
        largest = np.abs(tree.value).max()
        if not largest <= LARGEST_SCORE:
            at = "" if callable(p.learning_rate) else f"={p.learning_rate:g}"
            raise ValueError(
                f"the scores diverge, since a tree adds {largest:.3g} to them: lower "
                f"learning_rate{at}, or raise "
                f"l2_regularization={p.l2_regularization:g}"
            )
        boosting.add(tree, grower.leaves, dropped, factor)
        task.objective.after_step(gradient, hessian, rate)
        stops = boosting.measure()
        if listener is not None:
            stops = listener.end_step(
                lambda: boosting.fitted_to(len(boosting.trees)), last=stops
            )
        if stops:
            break

    # with early stopping, keep the trees up to the best one
    monitor, n_grown = boosting.monitor, len(boosting.trees)
    best = None if monitor.followed is None else max(1, monitor.best_index)
    monitor.print_end(n_grown, best, team)
    attributes = boosting.fitted_to(n_grown if best is None else best)
    warn_if_nothing_learned(fit, p, attributes["ensemble_"], n_grown)
    return attributes
