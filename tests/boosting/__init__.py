"""Tests of boosting: fits of a few rows whose steps are noted."""

from __future__ import annotations

import numpy as np

from sklearn_ltr._core.boosting.bins import bin_data
from sklearn_ltr._core.boosting.loop import boost_trees
from sklearn_ltr._core.boosting.warm_start import TreesSoFar
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import FitData, RowColumns, TrainingData
from sklearn_ltr._core.data.feature_reader import FeatureReader
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.data.tables import table_of
from sklearn_ltr._core.estimators.objective import Task
from sklearn_ltr._core.parameters import read_parameters
from sklearn_ltr._core.trees.constraints import NO_CONSTRAINTS
from sklearn_ltr.mart import MARTRegressor

MAX_LEAF_NODES, N, RATE = 4, 80, 0.5
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
TARGET = 2 * X[:, 0] + np.sin(3 * X[:, 1])


class SquaredError:
    """Half the squared error; notes the scores that it is asked about, and steps."""

    def __init__(self, target):
        self.target, self.asked, self.n_steps = target, [], 0

    def derivatives(self, scores):
        assert len(self.asked) == self.n_steps
        self.asked.append(scores.copy())
        return scores - self.target, np.ones(len(scores))

    def after_step(self, gradient, hessian, rate):
        assert rate == RATE
        np.testing.assert_array_equal(gradient, self.asked[-1] - self.target)
        self.n_steps += 1

    def fitted(self, n_steps):
        return {"n_steps": n_steps}


def run(n_trees, objective=SquaredError, features=(0, 1, 2), **options):
    """Return the trees, the rows of X in the order of the fit, scores, objective."""
    options = {
        "n_estimators": n_trees, "learning_rate": RATE, "min_samples_leaf": 2,
        "max_leaf_nodes": MAX_LEAF_NODES, "early_stopping": False,
    } | options  # fmt: skip
    regressor = MARTRegressor(**options)
    p, so_far = read_parameters(regressor._parameters, regressor), TreesSoFar(0)
    table, rows, ones = table_of(X[:, features]), np.arange(N), np.ones(N)
    grades, offsets = LabelGrades.of_one(TARGET), np.arange(N + 1)
    columns = RowColumns(sample_weight=ones, init_score=np.zeros(N))
    data = TrainingData(
        grades, offsets, query_ids=None, columns=columns, X=table, rows=rows
    )
    with ThreadTeam(1) as team:
        reader = FeatureReader(MARTRegressor, {})
        fit = bin_data(FitData(data, data, [], reader, {}), p, so_far, team)
        task = Task(objective(fit.rows.y), [{}])
        found = boost_trees(fit, task, p, NO_CONSTRAINTS, so_far, None)
    order = X[fit.rows.rows][:, features]
    return found["ensemble_"], order, fit.learned.scores, task.objective
