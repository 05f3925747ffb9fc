"""Several labels: what is refused of y, of their weights, metrics and names."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.model_selection import RankerSearch
from sklearn_ltr.scorers import make_ranking_scorer
from tests.bad_inputs import refused

NAN, INF = np.nan, np.inf
GROUPS = np.repeat(np.arange(6), 5)
N = len(GROUPS)
X = np.random.default_rng(0).normal(size=(N, 3))
ONE = np.tile([0.0, 1.0, 2.0, 0.0, 1.0], 6)
Y = np.column_stack([ONE, ONE[::-1]])
NO_ORDER = "y has no query with two different grades of label '1': there is no order"


def last(value):
    """Y with another last grade of the second label."""
    changed = Y.copy()
    changed[-1, 1] = value
    return changed


def fit(y=Y, given=(), **parameters):
    model = LambdaMARTRanker(n_estimators=2, random_state=0).set_params(**parameters)
    return model.fit(X, y, groups=GROUPS, **dict(given))


def named(y):
    """A frame of two columns of one name."""
    return pytest.importorskip("pandas").DataFrame(y, columns=["a", "a"])


def validation(y_val):
    return {"X_val": X, "y_val": y_val, "groups_val": GROUPS}


def returns(scores, grades, offsets):
    return scores, np.ones(len(scores))


CONSTANT = np.column_stack([ONE, np.ones(N)])
#: y, what else `fit` is given, parameters, message
FITS = [
    (last(-1), {}, {}, "y[:, 1] must hold finite relevance grades >= 0, or NaN for"),
    (last(INF), {}, {}, "row 29 (query 5) has inf"),
    (Y * [1, NAN], {}, {}, "y[:, 1] is NaN in every row"),
    (Y.astype(str), {}, {}, "y must be numeric"),
    (Y[1:], {}, {}, "y must hold one number for each of the 30 rows, got shape (29"),
    (CONSTANT, {}, {}, NO_ORDER),
    (np.where(GROUPS[:, None] * [0, 1] > 0, NAN, CONSTANT), {}, {}, NO_ORDER),
    (Y * [1, 0], {}, {"regression_weight": 0}, NO_ORDER),
    (Y, {}, {"metric": ["ndcg@3", "ndcg@3"], "objective": returns},
     "objective is a function of the grades of one label, but y has 2 columns"),
    (Y, {"positions": np.tile(np.arange(5), 6)}, {"position_bias": "additive"},
     "position_bias='additive' learns from the clicks of one label"),
    (Y, {}, {"label_weights": [1, 2, 3]}, "label_weights must hold one number for"),
    (Y, {}, {"label_weights": [0, 0]}, "label_weights must be finite and >= 0, and"),
    (Y, {}, {"label_weights": [1, -1]}, "label_weights must be finite and >= 0"),
    (Y, {}, {"label_weights": [1, NAN]}, "label_weights must be finite and >= 0"),
    (Y, {}, {"label_weights": {"0": 1}}, "label_weights has no weight of label '1'"),
    (Y, {}, {"label_weights": {}}, "label_weights has no weight of label '0': give o"),
    (Y, {}, {"label_weights": {"a": 1}}, "label_weights: label='a' is no column of y"),
    (Y, {}, {"label_weights": {0: 0, 1: 0}}, "label_weights must be finite and >= 0"),
    (Y, {}, {"label_weights": "equal"}, "label_weights must hold one number per label"),
    (Y, {}, {"label_weights": 1}, "label_weights must hold one number per label, got"),
    (Y, {}, {"metric": ["ndcg"]}, "metric is a list of 1, but y has 2 labels"),
    (Y, {}, {"metric": ["ndcg", "no"]}, "unknown metric 'no'"),
    (Y, {}, {"scoring": {2: "ndcg"}}, "scoring: label=2 is no column of y"),
    (Y, {}, {"scoring": {"a": "ndcg"}}, "or one of the names ['0', '1']"),
    (Y, {}, {"scoring": {}}, "scoring is an empty dict"),
    (Y, validation(ONE), {}, "y has the labels ['0', '1'], but y_val of one column"),
    (Y, validation(np.column_stack([Y, ONE])), {}, "but y_val ['0', '1', '2']"),
    (ONE, validation(Y), {}, "y has the labels of one column, but y_val ['0', '1']"),
    (ONE, {}, {"label_weights": [1, 1]}, "label_weights=[1, 1] is for several labels"),
    (ONE, {}, {"metric": ["ndcg", "map"]}, "is for several labels, but y has one"),
    (ONE, {}, {"scoring": {0: "ndcg"}}, "scoring={0: 'ndcg'} is for several labels"),
]  # fmt: skip


@pytest.mark.parametrize(("y", "given", "parameters", "message"), FITS)
def test_a_fit_refuses_labels_that_it_cannot_learn(y, given, parameters, message):
    refused(lambda: fit(y, given, **parameters), ValueError, message)


def test_columns_need_different_names():
    refused(lambda: fit(named(Y)), ValueError, "y has two columns of one name")


def test_a_label_that_one_part_of_the_data_has_not_judged_is_refused():
    y = np.where((GROUPS > 0)[:, None] * [False, True], NAN, Y)
    data = {"validation_fraction": 0.2, "early_stopping": True, "random_state": 1}
    message = "no document of the training data is judged by label '1'"
    refused(lambda: fit(y, **data), ValueError, message)
    message = "no document of the validation data is judged by label '1'"
    refused(lambda: fit(y, **data | {"random_state": 0}), ValueError, message)


def test_a_warm_start_refuses_other_labels():
    model = fit(label_weights=[1, 0], warm_start=True)
    refused(
        lambda: model.set_params(n_estimators=3, label_weights=[1, 1]).fit(
            X, Y, groups=GROUPS
        ),
        ValueError,
        "label '1' had the weight 0 in the fit that this one continues",
    )
    one = fit(ONE, warm_start=True).set_params(n_estimators=3)
    message = "y has 2 labels, but it had 1 in the fit that this one continues"
    refused(lambda: one.fit(X, Y, groups=GROUPS), ValueError, message)


SCORES = [
    (Y, 2, "label=2 is no column of y: give an integer from 0 to 1"),
    (Y, "a", "label='a' is no column of y"),
    (Y, True, "label=True is no column of y"),
    (ONE, 0, "label=0 names one of several labels, but y has one column"),
    (ONE, None, "metric is a list of 2, one for each label, but y has one column"),
    (np.column_stack([Y, ONE]), None, "metric is a list of 2, but y has 3 labels"),
]


@pytest.mark.parametrize(("y", "label", "message"), SCORES)
def test_score_refuses_labels_that_y_does_not_have(y, label, message):
    model = fit(metric=["ndcg", "map"])
    call = lambda: model.score(X, y, groups=GROUPS, label=label)  # noqa: E731
    refused(call, ValueError, message)


def test_scorers_refuse_labels_that_y_does_not_have():
    model = fit()

    def score(y, label=None):
        return lambda: make_ranking_scorer("map", label=label)(
            model, X, y, groups=GROUPS
        )

    refused(score(Y), ValueError, "y has 2 columns, one for each label: name one of")
    refused(score(Y, 3), ValueError, "label=3 is no column of y")
    refused(score(ONE, 0), ValueError, "label=0 names one of several labels, but y has")
    message = "label must be the number or the name of a column of y, got 1.5"
    refused(score(Y, 1.5), ValueError, message)


# --- bags, blends, searches and calibrated rankers ------------------------------------

TREES = LambdaMARTRanker(n_estimators=2, random_state=0)
PREFERS = LambdaMARTRanker(n_estimators=2, label_weights=[1, 3], random_state=0)
PIPELINE = make_pipeline(StandardScaler(), Ridge())
OF_ONE = "y has 2 columns, one for each label, and "
DIFFER = "which differ: [0.5, 0.5] and [0.25, 0.75]; give rankers of the same"
SEARCH = {"param_distributions": {"alpha": [1.0]}, "time": None, "n_iter": 1}
#: estimator, y, message
METAS = [
    (BaggingRanker(MARTRegressor()), Y, OF_ONE + "estimator, a MARTRegressor, learns"),
    (BaggingRanker(PIPELINE), Y, OF_ONE + "estimator, a Ridge, learns from one: give"),
    (BlendedRanker([TREES, Ridge()]), Y, OF_ONE + "rankers[1], a Ridge, learns from"),
    (RankerSearch(Ridge(), **SEARCH), Y, OF_ONE + "ranker, a Ridge, learns from one"),
    (CalibratedRanker(Ridge(), label=0), Y, OF_ONE + "ranker, a Ridge, learns from"),
    (BlendedRanker([TREES, PREFERS], method="sweep"), Y, DIFFER),
    (BaggingRanker(BlendedRanker([TREES, PREFERS]), max_samples=0.5, oob_score=True), Y,
     DIFFER),
    (BaggingRanker(PREFERS), np.column_stack([Y, ONE]),
     "label_weights must hold one number for each of the 3 labels"),
    (BaggingRanker(TREES), last(-1), "y[:, 1] must hold finite relevance grades >= 0"),
    (BaggingRanker(TREES), Y * [1, NAN], "y[:, 1] is NaN in every row"),
    (CalibratedRanker(TREES), Y,
     "the maps are of one: name it, as in CalibratedRanker(label='0')"),
    (CalibratedRanker(TREES, label=2), Y, "label=2 is no column of y: give an integer"),
    (CalibratedRanker(TREES, label="a"), Y, "or one of the names ['0', '1']"),
    (CalibratedRanker(TREES, label=1), ONE,
     "label=1 names one of several labels, but y has one column"),
    (CalibratedRanker(TREES, label=1.5), Y,
     "label must be the number or the name of a column of y, got 1.5"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "y", "message"), METAS)
def test_estimators_of_rankers_refuse_labels_that_have_no_clear_meaning(
    model, y, message
):
    refused(lambda: clone(model).fit(X, y, groups=GROUPS), ValueError, message)


def test_a_mean_over_labels_needs_rankers_that_agree_on_weights():
    blend = BlendedRanker([TREES, PREFERS]).fit(X, Y, groups=GROUPS)
    refused(lambda: blend.score(X, Y, groups=GROUPS), ValueError, DIFFER)
    assert blend.score(X, Y, groups=GROUPS, label=0) > 0
    assert blend.score(X, ONE, groups=GROUPS) > 0


def test_a_bag_measures_labels_that_were_left_out_of_it():
    seen = GROUPS != 0
    y = np.where(seen[:, None] & [False, True], NAN, Y)
    bag = BaggingRanker(TREES, 1, max_samples=0.9, oob_score=True, random_state=1)
    message = "no document that is measured is judged by label '1'"
    refused(lambda: bag.fit(X, y, groups=GROUPS), ValueError, message)
