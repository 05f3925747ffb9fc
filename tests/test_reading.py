"""From arguments to a model: names of queries, grades that leave nothing to learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import Ridge

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.metrics import (
    ERR,
    MAP,
    NDCG,
    HitRate,
    Metric,
    Precision,
)

DATA = make_ranking(40, n_features=6, n_informative=3, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
RANKERS = [
    lambda **options: LambdaMARTRanker(n_estimators=3, random_state=0, **options),
    lambda **options: LambdaRankRanker(
        hidden_layer_sizes=(), max_iter=2, random_state=0, **options
    ),
]


# --- the names of queries ---------------------------------------------------------


def test_queries_named_by_ids_of_several_types_give_one_model_in_any_order_of_queries():
    ids = [lambda g: g, lambda g: f"query {g}", lambda g: (g, "a"), lambda g: ("b", g)]
    names = [ids[group % 4](group) for group in GROUPS.tolist()]
    by_query = np.argsort(
        np.random.default_rng(0).permutation(40)[GROUPS], kind="stable"
    )
    for make in RANKERS:
        shuffled = make().fit(
            X[by_query], Y[by_query], groups=[names[row] for row in by_query]
        )
        expected = make().fit(X, Y, groups=names).predict(X)
        np.testing.assert_array_equal(shuffled.predict(X), expected)


@pytest.mark.parametrize(
    "make",
    [
        *RANKERS,
        lambda: LambdaMARTRanker(n_estimators=2, init=RANKERS[0](), random_state=0),
        lambda: LambdaMARTRanker(n_estimators=2, init=Ridge(), random_state=0),
        lambda: BlendedRanker([Ridge(), RANKERS[0]()], cv=2),
        lambda: BaggingRanker(RANKERS[0](), 2, bootstrap=True, random_state=0),
    ],
)
def test_frames_of_one_column_are_the_arguments_of_fit_and_score(make):
    y, groups = pd.DataFrame({"grade": Y}), pd.DataFrame({"query": GROUPS})
    weight = pd.DataFrame({"weight": 1.0 + GROUPS % 2})
    ranker, expected = make(), make().fit(X, Y, groups=GROUPS)
    with pytest.warns(DataConversionWarning, match="A column-vector y") as warned:
        ranker.fit(X, y, groups=groups)
    assert len(warned) == 1
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    with pytest.warns(DataConversionWarning, match="A column-vector y"):
        score = ranker.score(X, y, groups=groups, sample_weight=weight)
    assert score == expected.score(X, Y, groups=GROUPS, sample_weight=1.0 + GROUPS % 2)
    np.testing.assert_array_equal(
        ranker.rank(X, groups=groups), expected.rank(X, groups=GROUPS)
    )


def test_groups_that_can_be_read_once_are_refused_before_anything_is_fitted():
    for ranker in (
        LambdaMARTRanker(init=Ridge()),
        BlendedRanker([Ridge(), RANKERS[0]()]),
        BaggingRanker(RANKERS[0]()),
        RankNetRanker(),
    ):
        with pytest.raises(ValueError, match="groups is a generator, which can be"):
            ranker.fit(X, Y, groups=(group for group in GROUPS))
        assert not [name for name in vars(ranker) if name.endswith("_")]


# --- grades that leave nothing to learn -------------------------------------------


class Constant(Metric):
    """Every list is worth the same."""

    def value(self, ranked_grades):
        return 1.0


NOTHING_TO_LEARN = {
    "all relevant": (
        MAP(),
        Y + 1,
        r"to metric=MAP\(\) every document is relevant \(the grades are 1 to 5\)",
    ),
    "none relevant": (
        Precision(2, relevant_from=9),
        Y,
        r"no document is relevant \(the grades are 0 to 4\)",
    ),
    "a name": ("map", Y + 1, "to metric='map' every document is relevant"),
    "equal gains": (
        NDCG(gain=[2, 2, 2, 2, 2]),
        Y,
        "every document is relevant",
    ),
    "relevance by query": (
        MAP(relevant_from=10),
        Y % 2 + 10 * (GROUPS % 2),
        "all documents of a query have the same gain",
    ),
    "a cutoff beyond the lists": (
        Precision(10**6),
        Y,
        "without a discount it needs a cutoff shorter than the lists",
    ),
    "no cutoff": (HitRate(), Y, "without a discount it needs a cutoff shorter"),
    "short lists": (
        NDCG(10**6, short_lists="zero"),
        Y,
        "is 0 for lists of fewer than k documents, and no list has more",
    ),
    "a metric of the user": (
        Constant(),
        Y,
        "Constant.swap_delta returns only zeros",
    ),
}


@pytest.mark.parametrize("make", RANKERS)
@pytest.mark.parametrize(
    ("metric", "y", "message"), NOTHING_TO_LEARN.values(), ids=NOTHING_TO_LEARN
)
def test_the_error_names_the_cause_for_which_no_swap_counts(make, metric, y, message):
    with pytest.raises(ValueError, match=message) as raised:
        make(metric=metric).fit(X, y, groups=GROUPS)
    assert "nothing to learn" in str(raised.value)


@pytest.mark.parametrize("make", RANKERS)
def test_queries_without_two_different_grades_are_named(make):
    for y, groups, message in (
        (np.ones(len(Y)), GROUPS, r"^y .*two different grades"),
        (Y, np.arange(len(Y)), r"^y .*two different grades.*groups"),
    ):
        with pytest.raises(ValueError, match=message):
            make().fit(X, y, groups=groups)


def test_the_error_names_scores_that_are_too_far_apart_to_be_changed():
    init_score = 1e6 * Y
    for metric in ("ndcg", None, ERR()):
        ranker = LambdaMARTRanker(metric=metric, random_state=0)
        with pytest.raises(ValueError, match="lambdas of all pairs are 0"):
            ranker.fit(X, Y, groups=GROUPS, init_score=init_score)
