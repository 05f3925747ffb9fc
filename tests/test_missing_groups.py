"""Nobody gets a number made without queries: `groups` are given, or rows are few."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    MissingGroupsWarning,
    RankNetRanker,
)
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker

DATA = make_ranking(n_queries=60, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
TREES = LambdaMARTRanker(n_estimators=2, random_state=0)
RANKERS = {
    "LambdaMART": TREES,
    "LambdaRank": LambdaRankRanker(max_iter=1, random_state=0),
    "RankNet": RankNetRanker(max_iter=1, random_state=0),
    "bag": BaggingRanker(TREES, n_estimators=2, random_state=0),
    "blend": BlendedRanker([("a", TREES), ("b", TREES)], method="equal"),
}
MANY = r"groups was not given, and 1,\d+ rows are more than one query.*numpy\.zeros"

every_ranker = pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)


@pytest.fixture(autouse=True)
def _settings_of_a_user():
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield


@every_ranker
def test_fit_and_score_of_many_rows_need_groups(ranker):
    before = dict(vars(ranker))
    with pytest.raises(ValueError, match=MANY):
        ranker.fit(X, Y)
    assert vars(ranker) == before
    fitted = ranker.fit(X, Y, groups=GROUPS)
    with pytest.raises(ValueError, match=MANY):
        fitted.score(X, Y)
    # one list, if the user says so
    assert 0 < fitted.score(X, Y, groups=np.zeros(len(X))) < 1


@every_ranker
def test_200_rows_may_be_one_list(ranker):
    with pytest.warns(MissingGroupsWarning, match="so all rows were taken for one"):
        ranker.fit(X[:200], Y[:200])
    with pytest.raises(ValueError, match="and 201 rows are more"):
        ranker.fit(X[:201], Y[:201])


def test_validation_data_of_many_rows_need_groups():
    validation = {"X_val": X, "y_val": Y}
    with pytest.raises(ValueError, match="groups_val was not given, and 1,"):
        TREES.fit(X, Y, groups=GROUPS, **validation)


@every_ranker
def test_with_routing_off_a_search_fails_and_says_why(ranker):
    search = GridSearchCV(ranker, {"random_state": [0]}, cv=GroupKFold(3))
    with pytest.raises(ValueError, match="set_config.enable_metadata_routing=True"):
        search.fit(X, Y, groups=GROUPS)


def test_with_routing_off_cross_validation_of_a_pipeline_fails_and_says_why():
    model = make_pipeline(StandardScaler(), TREES)
    with pytest.raises(ValueError, match="set_config.enable_metadata_routing=True"):
        cross_val_score(model, X, Y, groups=GROUPS, cv=GroupKFold(3))
    with pytest.raises(ValueError, match=r"groups was not given, and \d+ rows"):
        cross_val_score(
            model, X, Y, groups=GROUPS, cv=GroupKFold(3), error_score="raise"
        )
