"""The copies of a query that a bag has drawn several times are never divided."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    GradientBoostingRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.linear_model import Ridge, RidgeCV, SGDRegressor
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.data.groups import QueryCopy, QueryGroups, first_copies
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.model_selection import (
    GroupTimeSeriesSplit,
    RankerSearch,
    UserKFold,
    group_train_test_split,
)
from sklearn_ltr.preprocessing import CategoryPairs, TableVectorizer
from tests.oracles import draws

N_QUERIES, SIZE = 40, 6
RNG = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(N_QUERIES), SIZE)
X = np.column_stack([GROUPS, RNG.normal(size=(len(GROUPS), 4))])
Y = np.digitize(X[:, 1:].sum(axis=1) + RNG.normal(size=len(GROUPS)), [0.5, 1.5])
USERS, DAYS = GROUPS % 13, (GROUPS * 7) % N_QUERIES // 3
TREES = LambdaMARTRanker(n_estimators=3, max_leaf_nodes=4, min_samples_leaf=2)


def bag(member, n_estimators=2, **options):
    options = {"bootstrap": True, "random_state": 0} | options
    return BaggingRanker(member, n_estimators, **options)


class Witness(BaseEstimator):
    """Ranks by a column; keeps the queries, in the first one, of all it is given."""

    seen: list[tuple[str, set[float]]] = []

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        self.seen.append(("fit", {*X[:, 0]}))
        return self

    def predict(self, X):
        self.seen.append(("predict", {*X[:, 0]}))
        return X[:, 1]


def search(ranker, cv=3, **options):
    options = {"n_iter": 1, "time": None, "blend": False, "cv": cv} | options
    return RankerSearch(ranker, param_distributions={}, **options)


MEMBERS = {
    "search": search,
    "calibration": lambda ranker, cv: CalibratedRanker(ranker, cv=cv),
    "blend": lambda ranker, cv: BlendedRanker([ranker, ranker], method="sweep", cv=cv),
    "Pipeline": lambda ranker, cv: make_pipeline(StandardScaler(), search(ranker, cv)),
}


@pytest.mark.parametrize("kind", MEMBERS)
@pytest.mark.parametrize(
    ("cv", "given"),
    [
        (None, {}),
        (3, {}),
        (GroupKFold(3), {}),
        (GroupTimeSeriesSplit(3), {}),
        (3, {"users": USERS}),
        (3, {"order": DAYS}),
        (GroupTimeSeriesSplit(3), {"order": DAYS}),
    ],
)
def test_copies_are_on_one_side_of_all_folds_of_a_member(kind, cv, given):
    Witness.seen.clear()
    bag(MEMBERS[kind](Witness(), cv)).fit(X, Y, groups=GROUPS, **given)
    pairs = itertools.pairwise(Witness.seen)
    folds = [(a, b) for (one, a), (two, b) in pairs if (one, two) == ("fit", "predict")]
    n_folds = 5 if cv is None else 3
    assert len(folds) == 2 * n_folds * (1 + (kind == "blend"))
    assert not any(train & test for train, test in folds)


# --- early stopping ---------------------------------------------------------------


def held_out_of(drawn, seed, given, fraction=0.4):
    """Return which of the drawn queries a fit that stops early holds out."""
    originals = np.unique(drawn)
    if "order" in given:
        days = DAYS[::SIZE][originals]
        n_before = [(days < day).sum() for day in np.unique(days)[1:]]
        wanted = len(originals) - round(fraction * len(originals))
        distance = np.abs(np.subtract(n_before, wanted))
        return originals[days >= np.unique(days)[1:][np.argmin(distance)]]
    unit = USERS[::SIZE][originals] if "users" in given else originals
    units, number = np.unique(unit, return_inverse=True)
    return originals[draws.held_out(len(units), fraction, seed)[number]]


@pytest.mark.parametrize("given", [{}, {"users": USERS}, {"order": DAYS}], ids=list)
def test_a_pipeline_stops_early_on_queries_without_copies(given):
    network = RankNetRanker(
        hidden_layer_sizes=(3,), max_iter=4, early_stopping=True,
        validation_fraction=0.4,
    )  # fmt: skip
    pipelines = bag(make_pipeline(StandardScaler(), network))
    pipelines.fit(X, Y, groups=GROUPS, **given)
    for member, drawn in zip(
        pipelines.estimators_, pipelines.estimators_queries_, strict=True
    ):
        seed = draws.seed_of(member[-1].random_state)
        held_out = held_out_of(drawn, seed, given)
        learned = [query for query in drawn if query not in held_out]
        scaler = StandardScaler().fit(np.concatenate([X[GROUPS == q] for q in drawn]))
        scaled, part = scaler.transform(X), np.isin(GROUPS, held_out)
        rows = np.concatenate([np.flatnonzero(GROUPS == q) for q in learned])
        alone = clone(member[-1]).fit(
            scaled[rows], Y[rows], groups=np.repeat(np.arange(len(learned)), SIZE),
            X_val=scaled[part], y_val=Y[part], groups_val=GROUPS[part],
        )  # fmt: skip
        np.testing.assert_array_equal(
            alone.validation_score_, member[-1].validation_score_
        )


@pytest.mark.parametrize("given", [{}, {"users": USERS}, {"order": DAYS}], ids=list)
def test_a_regressor_that_would_hold_out_rows_is_given_those_of_queries(given):
    regressor = MARTRegressor(n_estimators=20, early_stopping=True, tol=0.01)
    regressors = bag(regressor).fit(X, Y, groups=GROUPS, **given)
    for member, drawn in zip(
        regressors.estimators_, regressors.estimators_queries_, strict=True
    ):
        fraction = member.validation_fraction
        held_out = held_out_of(drawn, member.random_state, given, fraction)
        learned = [query for query in drawn if query not in held_out]
        rows = np.concatenate([np.flatnonzero(GROUPS == q) for q in learned])
        part = np.isin(GROUPS, held_out)
        alone = clone(member).fit(X[rows], Y[rows], X_val=X[part], y_val=Y[part])
        np.testing.assert_array_equal(alone.predict(X), member.predict(X))


# --- categories -------------------------------------------------------------------


def table_of_ids(n=1500):
    """Return numbers, and a category of its own in each row, which says nothing."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(n, 3))).add_prefix("x")
    y = np.digitize(table.sum(axis=1) + rng.normal(size=n), [0.5, 1.5])
    table["id"] = pd.Categorical([f"d{i}" for i in rng.permutation(n)])
    return table, y, np.arange(n) // 10


def test_categories_do_not_tell_copies_their_grades():
    table, y, groups = table_of_ids()
    trees = LambdaMARTRanker(n_estimators=10)
    for member in (trees, make_pipeline("passthrough", trees), bag(trees, 1)):
        fitted = bag(member, 1).fit(table, y, groups=groups).estimators_[0]
        while not hasattr(fitted, "ensemble_"):
            last = hasattr(fitted, "steps")
            fitted = fitted[-1] if last else fitted.estimators_[0]
        assert fitted.feature_importances_[-1] < 0.01


class Seen(LambdaRankRanker):
    """Keeps the table of its fit."""

    tables: list[np.ndarray] = []

    def fit(self, X, y, *, groups=None, **columns):
        self.tables.append(X)
        return super().fit(X, y, groups=groups)


def test_means_of_a_vectorizer_do_not_tell_copies_their_grades():
    table, y, groups = table_of_ids()
    network = make_pipeline(TableVectorizer(), Seen(max_iter=1))
    for member in (network, BlendedRanker([network, clone(network)])):
        Seen.tables.clear()
        bag(member, 1).fit(table, y, groups=groups)
        assert Seen.tables
        # no other query has the id: in training its mean is that of none
        assert not any(seen[:, -1].any() for seen in Seen.tables)


def test_pairs_of_categories_are_not_chosen_by_copies():
    table, y, groups = table_of_ids()
    table["shop"] = pd.Categorical(np.arange(len(y)) % 3)
    model = make_pipeline(CategoryPairs(), TREES)
    (fitted,) = bag(model, 1).fit(table, y, groups=groups).estimators_
    assert fitted[0].gains_["id", "shop"] == 0


def test_regressors_that_learn_means_of_categories_are_refused():
    table, y, groups = table_of_ids(600)
    mart = MARTRegressor(n_estimators=2)
    message = r"holds out rows \(for means of categories\).* bootstrap=False"
    for member in (
        mart,
        make_pipeline("passthrough", mart),
        LambdaMARTRanker(n_estimators=2, init=mart),
        BlendedRanker([mart, TREES]),
    ):
        with pytest.raises(ValueError, match=message):
            bag(member).fit(table, y, groups=groups)
    bag(mart, bootstrap=False, max_samples=0.63).fit(table, y, groups=groups)
    table["id"] = pd.Categorical(np.arange(len(y)) % 7)  # of which each has a bin
    bag(mart).fit(table, y, groups=groups)


# --- members that divide rows themselves ------------------------------------------


def grid(ranker, cv):
    return GridSearchCV(ranker, {"max_leaf_nodes": [3, 4]}, cv=cv)


@pytest.mark.parametrize(
    ("member", "parameter"),
    [
        (grid(TREES, GroupKFold(3)), "cv"),
        (grid(TREES, 3), "cv"),
        (RidgeCV(), "cv"),
        (StackingRegressor([("ridge", Ridge())], Ridge()), "cv"),
        (make_pipeline(TargetEncoder(), Ridge()), "targetencoder__cv"),
        (SGDRegressor(early_stopping=True), "early_stopping"),
        (GradientBoostingRegressor(n_iter_no_change=3), "n_iter_no_change"),
        (
            make_pipeline(StandardScaler(), MARTRegressor(early_stopping=True)),
            "martregressor__early_stopping",
        ),
        (BlendedRanker([RidgeCV(), TREES]), r"rankers\[0\]__cv"),
        (BlendedRanker([("ridge", RidgeCV()), TREES]), "ridge__cv"),
        (LambdaMARTRanker(init=RidgeCV()), "init__cv"),
        (bag(RidgeCV()), "estimator__cv"),
    ],
    ids=str,
)
@pytest.mark.parametrize("given", [{}, {"users": USERS}, {"order": DAYS}], ids=list)
def test_members_that_divide_rows_are_refused(member, parameter, given):
    message = rf"holds out rows \({parameter}\), and of a query .* bootstrap=False"
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match=message):
            bag(member).fit(X, Y, groups=GROUPS, **given)


def test_searches_of_scikit_learn_may_divide_by_users_or_dates():
    with sklearn.config_context(enable_metadata_routing=True):
        for cv, given in (
            (UserKFold(3), {"users": USERS}),
            (GroupTimeSeriesSplit(3), {"order": DAYS}),
        ):
            fitted = bag(grid(TREES, cv)).fit(X, Y, groups=GROUPS, **given)
            assert fitted.estimators_[0].n_splits_ == 3
            with pytest.raises(ValueError, match=r"holds out rows \(cv\)"):
                bag(grid(TREES, cv)).fit(X, Y, groups=GROUPS)
        # others that divide nothing
        bag(GradientBoostingRegressor(n_estimators=2)).fit(X, Y, groups=GROUPS)
        bag(VotingRegressor([("ridge", Ridge())])).fit(X, Y, groups=GROUPS)
        # without copies nothing is divided
        alone = bag(grid(TREES, GroupKFold(3)), bootstrap=False, max_samples=0.63)
        alone.fit(X, Y, groups=GROUPS, users=USERS)


def test_a_bag_of_bags_draws_copies_together():
    inner = BaggingRanker(TREES, 3, max_samples=0.5, oob_score=True)
    outer = bag(inner).fit(X, Y, groups=GROUPS)
    for member, drawn in zip(outer.estimators_, outer.estimators_queries_, strict=True):
        for of_member in member.estimators_queries_:
            n_times = np.bincount(of_member, minlength=len(drawn))
            for query in np.unique(drawn):
                assert len({*n_times[drawn == query]}) == 1


# --- ids ----------------------------------------------------------------------------

COPIES = [QueryCopy(number, number // 2) for number in range(6)]


def test_ids_of_copies_know_their_query_wherever_they_go():
    for ids in (COPIES, pickle.loads(pickle.dumps(COPIES)), copy.deepcopy(COPIES)):
        assert ids == list(range(6))
        queries = QueryGroups.from_groups(np.array(ids, dtype=object), 6)
        assert first_copies(queries.query_ids).tolist() == [0, 0, 2, 2, 4, 4]
    chosen = queries.subset(np.array([False, True, True, True, False, True]))
    assert first_copies(chosen.query_ids).tolist() == [0, 1, 1, 3]
    assert first_copies([]).tolist() == []
    assert first_copies(["a", "b"]).tolist() == [0, 1]


def test_splits_within_a_member_keep_copies_together():
    groups = np.repeat(np.array(COPIES, dtype=object), 2)
    original = np.array([each.original for each in groups])
    for options in (
        {"random_state": 0}, {"shuffle": False}, {"stratify": original % 2},
        {"order": original},
    ):  # fmt: skip
        train, test = group_train_test_split(
            original, groups=groups, test_size=1, **options
        )[:2]  # fmt: skip
        assert not {*train} & {*test} and len({*test}) == 1
    for train, test in GroupTimeSeriesSplit(2).split(groups=groups[::-1]):
        assert not {*original[::-1][train]} & {*original[::-1][test]}
