"""From arguments to a model: no groups, names of queries, nothing to learn."""

from __future__ import annotations

import re
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import Ridge
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
from sklearn_ltr.metrics import ERR, MAP, NDCG, HitRate, Metric, Precision, ndcg_score

DATA = make_ranking(40, n_features=6, n_informative=3, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
TREES = LambdaMARTRanker(n_estimators=2, random_state=0)
RANKERS = [
    lambda **options: LambdaMARTRanker(n_estimators=2, random_state=0, **options),
    lambda **options: LambdaRankRanker(
        hidden_layer_sizes=(), max_iter=1, random_state=0, **options
    ),
]

# --- no groups: an error, or a warning for few rows -------------------------------

MODELS = {
    "LambdaMART": TREES,
    "LambdaRank": RANKERS[1](),
    "RankNet": RankNetRanker(hidden_layer_sizes=(), max_iter=1, random_state=0),
    "bag": BaggingRanker(TREES, n_estimators=2, random_state=0),
    "blend": BlendedRanker([("a", TREES), ("b", TREES)], method="equal"),
}
MANY = r"groups was not given, and [\d,]+ rows are more than one query.*numpy\.zeros"


@pytest.mark.parametrize("ranker", MODELS.values(), ids=MODELS)
def test_only_up_to_200_rows_may_be_one_query_without_groups(ranker):
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as users have it
        before = dict(vars(ranker))
        with pytest.raises(ValueError, match=MANY):
            ranker.fit(X[:201], Y[:201])
        assert vars(ranker) == before
        with pytest.warns(MissingGroupsWarning, match="so all rows were taken for one"):
            ranker.fit(X[:200], Y[:200])
        with pytest.raises(ValueError, match=MANY):
            ranker.score(X, Y)
        assert 0 <= ranker.score(X, Y, groups=np.zeros(len(X))) < 1
        for model in (ranker, make_pipeline(StandardScaler(), ranker)):
            search = GridSearchCV(model, {}, cv=GroupKFold(3))
            with pytest.raises(ValueError, match="set_config.enable_metadata_routing="):
                search.fit(X, Y, groups=GROUPS)
        with pytest.raises(ValueError, match=r"groups was not given, and \d+ rows"):
            cross_val_score(
                ranker, X, Y, groups=GROUPS, cv=GroupKFold(3), error_score="raise"
            )


@pytest.mark.parametrize("name", ["qid", "Query_ID", "srch-id"])
@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"]
)
def test_a_column_that_may_hold_the_queries_is_named(kind, name):
    said = re.escape(f"such as X['{name}'], which is then no feature")
    columns = {**{f"x{j}": x for j, x in enumerate(X.T)}, name: GROUPS}
    of_text = columns | {name: [f"q{group}" for group in GROUPS.tolist()]}
    for model in (TREES, MODELS["bag"]):
        for given in (columns, of_text):
            with pytest.raises(ValueError, match=said):
                model.fit(kind(given), Y)
        few = {column: values[:50] for column, values in columns.items()}
        with pytest.warns(MissingGroupsWarning, match=said):
            model.fit(kind(few), Y[:50])
    fitted = TREES.fit(kind(columns), Y, groups=GROUPS)
    for call in (fitted.rank, lambda given: fitted.score(given, Y)):
        with pytest.raises(ValueError, match=said):
            call(kind(columns))
    validation = {"X_val": kind(columns), "y_val": Y}
    with pytest.raises(ValueError, match=said.replace("X", "X_val")):
        TREES.fit(kind(columns), Y, groups=GROUPS, **validation)


def test_validation_data_of_many_rows_need_groups():
    with pytest.raises(ValueError, match=r"groups_val was not given, and \d+ rows"):
        TREES.fit(X, Y, groups=GROUPS, X_val=X, y_val=Y)


# --- the names of queries ---------------------------------------------------------


@pytest.mark.parametrize("make", RANKERS)
def test_ids_of_several_types_give_one_model_in_any_order_of_queries(make):
    ids = [lambda g: g, lambda g: f"query {g}", lambda g: (g, "a"), lambda g: ("b", g)]
    names = [ids[group % 4](group) for group in GROUPS.tolist()]
    by_query = np.argsort(
        np.random.default_rng(0).permutation(40)[GROUPS], kind="stable"
    )
    shuffled = make().fit(
        X[by_query], Y[by_query], groups=[names[row] for row in by_query]
    )
    expected = make().fit(X, Y, groups=names).predict(X)
    np.testing.assert_array_equal(shuffled.predict(X), expected)


@pytest.mark.parametrize(
    "make",
    [
        *RANKERS,
        lambda: RANKERS[0](init=RANKERS[0]()),
        lambda: RANKERS[0](init=Ridge()),
        lambda: BlendedRanker([Ridge(), RANKERS[0]()], cv=2),
        lambda: BaggingRanker(RANKERS[0](), 2, bootstrap=True, random_state=0),
    ],
)
def test_groups_and_grades_of_one_column_or_read_once(make):
    y, groups = pd.DataFrame({"grade": Y}), pd.DataFrame({"query": GROUPS})
    weight = pd.DataFrame({"weight": 1.0 + GROUPS % 2})
    ranker, expected = make(), make().fit(X, Y, groups=GROUPS)
    with pytest.raises(ValueError, match="groups is a generator, which can be"):
        ranker.fit(X, Y, groups=(group for group in GROUPS))
    assert not [name for name in vars(ranker) if name.endswith("_")]
    with pytest.warns(DataConversionWarning, match="A column-vector y") as warned:
        ranker.fit(X, y, groups=groups)
    assert len(warned) == 1
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    with pytest.warns(DataConversionWarning, match="A column-vector y"):
        score = ranker.score(X, y, groups=groups, sample_weight=weight)
    assert score == expected.score(X, Y, groups=GROUPS, sample_weight=1.0 + GROUPS % 2)
    ranks = expected.rank(X, groups=GROUPS)
    np.testing.assert_array_equal(ranker.rank(X, groups=groups), ranks)


# --- grades that leave nothing to learn -------------------------------------------


class Constant(Metric):
    """Every list is worth the same."""

    def value(self, ranked_grades):
        return 1.0


BY_QUERY = Y % 2 + 10 * (GROUPS % 2)
CUTOFF = "without a discount it needs a cutoff shorter than the lists"
NOTHING_TO_LEARN = [
    (MAP(), Y + 1,
     r"to metric=MAP\(\) every document is relevant \(the grades are 1 to 5\)"),
    ("map", Y + 1, "to metric='map' every document is relevant"),
    (Precision(2, relevant_from=9), Y,
     r"no document is relevant \(the grades are 0 to 4\)"),
    (NDCG(gain=[2, 2, 2, 2, 2]), Y, "every document is relevant"),
    (MAP(relevant_from=10), BY_QUERY, "all documents of a query have the same gain"),
    (Precision(10**6), Y, CUTOFF),
    (HitRate(), Y, CUTOFF),
    (NDCG(10**6, short_lists="zero"), Y,
     "is 0 for lists of fewer than k documents, and no list has more"),
    (Constant(), Y, "Constant.swap_delta returns only zeros"),
]  # fmt: skip


@pytest.mark.parametrize("make", RANKERS)
@pytest.mark.parametrize(("metric", "y", "message"), NOTHING_TO_LEARN)
def test_the_error_names_the_cause_for_which_no_swap_counts(make, metric, y, message):
    with pytest.raises(ValueError, match=message) as raised:
        make(metric=metric).fit(X, y, groups=GROUPS)
    assert "nothing to learn" in str(raised.value)


@pytest.mark.parametrize("make", RANKERS)
def test_a_debugger_adds_no_argument_to_a_fit(make):
    """Until Python 3.12, tracing writes new local variables into those of the start."""

    def trace(frame, event, argument):
        return trace if frame.f_code.co_name == "fit" else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        make().fit(X, Y, groups=GROUPS)
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("make", RANKERS)
def test_queries_without_two_different_grades_are_named(make):
    for y, groups in ((np.ones(len(Y)), GROUPS), (Y, np.arange(len(Y)))):
        with pytest.raises(ValueError, match="^y .*two different grades.*groups"):
            make().fit(X, y, groups=groups)


@pytest.mark.parametrize("make", RANKERS)
def test_weights_are_named_only_where_they_were_given(make):
    ones = np.ones(len(Y))
    weighted = " among those of a sample_weight above zero"
    for given, said in (({}, ""), ({"sample_weight": ones}, weighted)):
        message = f"y has no query with two different grades{said} \\(n_queries=40"
        with pytest.raises(ValueError, match=message):
            make().fit(X, ones, groups=GROUPS, **given)
        message = f"two different grades of label '1'{said}: there is no order to learn"
        with pytest.raises(ValueError, match=message):
            make().fit(X, np.c_[Y, ones], groups=GROUPS, **given)


@pytest.mark.parametrize("make", RANKERS)
def test_early_stopping_that_leaves_no_order_to_learn_says_so(make):
    rows = GROUPS < 2
    found = []
    for other in (0, 1):  # only the other query has different grades
        y = np.where(GROUPS == other, Y, 1)[rows]
        try:
            make(early_stopping=True).fit(X[rows], y, groups=GROUPS[rows])
        except ValueError as error:
            found.append(str(error))
    (message,) = found  # of the query that is held out
    assert message.startswith("early_stopping holds out 1 of 2 queries, and of those l")
    assert "give X_val, y_val and groups_val, or more queries" in message


@pytest.mark.parametrize("metric", ["ndcg", None, ERR()])
def test_the_error_names_scores_that_are_too_far_apart_to_be_changed(metric):
    with pytest.raises(ValueError, match="lambdas of all pairs are 0"):
        RANKERS[0](metric=metric).fit(X, Y, groups=GROUPS, init_score=1e6 * Y)


@pytest.mark.parametrize("is_on", [True, False])
def test_missing_groups_blame_metadata_routing_only_if_it_is_off(is_on):
    X, y = np.zeros((300, 1)), np.arange(300) % 3
    positional = LambdaMARTRanker(position_bias="pairwise")
    groups = np.arange(300) // 10
    calls = [
        lambda: LambdaMARTRanker().fit(X, y),
        lambda: LambdaMARTRanker().fit(
            X[:9], y[:9], groups=groups[:9], X_val=X, y_val=y
        ),
        lambda: positional.fit(X, y, groups=groups),
        lambda: ndcg_score(y, y, groups=None),
    ]
    with sklearn.config_context(enable_metadata_routing=is_on):
        for call in calls:
            with pytest.raises(ValueError, match="meta-estimator") as error:
                call()
            said = str(error.value)
            assert ("routing is off" in said or "set_config" in said) != is_on
    assert "OptunaSearchCV" not in said
