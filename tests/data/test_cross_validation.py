"""A warning where cross-validation cuts queries apart, and nowhere else."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    RankNetRanker,
    SplitQueriesWarning,
)
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.model_selection import RankerSearch
from sklearn_ltr.scorers import make_ranking_scorer

RELEASE = tuple(map(int, sklearn.__version__.split(".")[:2]))
DATA = make_ranking(20, n_documents=8, n_features=4, n_informative=2, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
NAMES = np.array([f"query {q}" for q in GROUPS])
SCORER = make_ranking_scorer("ndcg@5")
CUTS = KFold(4, shuffle=True, random_state=0)
WHOLE = GroupKFold(3)
pytestmark = pytest.mark.usefixtures("routing")


def trees():
    return LambdaMARTRanker(n_estimators=2, min_samples_leaf=5, random_state=0)


def network(ranker=LambdaRankRanker, **options):
    return ranker(hidden_layer_sizes=(), max_iter=1, random_state=0, **options)


PIPELINE = make_pipeline(StandardScaler(), network())


def validate(model, cv, **options):
    given = {"scoring": SCORER, "params": {"groups": GROUPS}} | options
    return cross_validate(model, X, Y, cv=cv, return_train_score=True, **given)


def search(model, cv):
    grid = {"random_state": [0, 1]} if model is PIPELINE[-1] else {}
    found = GridSearchCV(model, grid, cv=cv, scoring=SCORER, error_score="raise")
    return found.fit(X, Y, groups=GROUPS)


CALLS = {
    "trees": partial(validate, trees(), params={"groups": NAMES}),
    "LambdaRank": partial(validate, network()),
    "RankNet": partial(validate, network(RankNetRanker)),
    "pipeline": partial(validate, PIPELINE),
    "bagging": partial(
        validate, BaggingRanker(trees(), n_estimators=2, random_state=0)
    ),
    "blend": partial(validate, BlendedRanker([trees(), network()], method="equal")),
    "calibrated": partial(validate, CalibratedRanker(trees(), cv=2)),
    "searched": partial(validate, RankerSearch(trees(), n_iter=1, cv=2)),
    "search": partial(
        validate, GridSearchCV(trees(), {}, scoring=SCORER, cv=GroupKFold(2))
    ),
    "score of the ranker": partial(validate, trees(), scoring=None),
    "several metrics": partial(
        validate, trees(), scoring={"a": SCORER, "b": make_ranking_scorer("map")}
    ),
    "in a search": partial(search, PIPELINE[-1]),
    "a pipeline in a search": partial(search, PIPELINE),
    "learning_curve": lambda cv: learning_curve(
        trees(), X, Y, cv=cv, scoring=SCORER, train_sizes=[0.7, 1.0],
        params={"groups": GROUPS},
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_cross_validation_warns_if_the_splitter_cuts_queries(call):
    with pytest.warns(SplitQueriesWarning, match="cv=GroupKFold"):
        call(CUTS)
    call(WHOLE)  # warnings are errors


def test_one_cut_query_is_enough():
    parts = GROUPS % 2
    parts[0] = 1 - parts[0]
    found = "1 of 1[01] scored queries, such as query 0, have other"
    with pytest.warns(SplitQueriesWarning, match=found):
        cross_val_score(
            trees(), X, Y, cv=PredefinedSplit(parts), params={"groups": GROUPS}
        )


def test_the_ids_of_other_data_may_be_the_same():
    """Outside of the loops nobody knows that two queries of one id are the same."""
    other = make_ranking(12, n_features=4, n_informative=2, random_state=1)
    search = GridSearchCV(trees(), {}, scoring=SCORER, cv=WHOLE)
    for model in (trees(), search):
        model.fit(X, Y, groups=GROUPS)
        assert model.score(other.data, other.target, groups=other.groups) > 0
        assert SCORER(model, other.data, other.target, groups=other.groups) > 0


class ScoresOnOtherData(BaseEstimator):
    """An estimator that scores a ranker on data of its own while it is scored."""

    __metadata_request__fit = {"groups": True}
    __metadata_request__score = {"groups": True}

    def fit(self, X, y, groups):
        self.ranker_ = trees().fit(X, y, groups=groups)
        return self

    def score(self, X, y, groups):
        other = make_ranking(30, n_features=4, n_informative=2, random_state=1)
        return self.ranker_.score(other.data, other.target, groups=other.groups)


def test_inside_the_loops_other_code_may_score_other_data():
    cross_val_score(ScoresOnOtherData(), X, Y, cv=WHOLE, params={"groups": GROUPS})
    # other models have no queries
    cross_val_score(Ridge(), X, Y, cv=CUTS, scoring=SCORER, params={"groups": GROUPS})


def test_models_fitted_before_the_loop_know_no_queries_of_it():
    fitted = trees().fit(X[:80], Y[:80], groups=GROUPS[:80])
    cross_val_predict(trees(), X, Y, cv=CUTS, params={"groups": GROUPS})
    loaded = FrozenEstimator(pickle.loads(pickle.dumps(fitted)))
    assert SCORER(loaded, X, Y, groups=GROUPS) > 0


@pytest.mark.skipif(RELEASE < (1, 9), reason="older ones pass all groups to each call")
def test_partial_fits_are_not_checked():
    """Their training data came in several calls."""
    learning_curve(
        network(), X, Y, cv=WHOLE, scoring=SCORER, exploit_incremental_learning=True,
        params={"groups": GROUPS},
    )  # fmt: skip


def test_the_queries_of_the_fit_are_neither_saved_nor_copied():
    model = trees().fit(X, Y, groups=NAMES)
    assert b"query 0" not in pickle.dumps(model)
    assert pickle.loads(pickle.dumps(model))._trained_queries is None
    assert clone(model)._trained_queries is None
