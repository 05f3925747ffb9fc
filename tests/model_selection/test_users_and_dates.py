"""Queries of one user, and queries by date: what is held out, and compared."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.data.query_values import draw_held_out
from sklearn_ltr._core.ranking import fit_data
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.metrics import NDCG
from sklearn_ltr.model_selection import (
    GroupTimeSeriesSplit,
    RankerSearch,
    UserKFold,
    compare_rankers,
    group_train_test_split,
)

DATA = make_ranking(60, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
# of 1 to 9 queries each; the queries of a user are not in a row
USER_OF_QUERY = np.random.default_rng(1).choice(12, 60, p=np.arange(1, 13) / 78)
USERS = np.array([f"u{user}" for user in USER_OF_QUERY])[GROUPS]
DATES = pd.Timestamp("2026-03-01") + pd.to_timedelta((GROUPS * 37) % 60, unit="D")
SHUFFLED = np.random.default_rng(2).permutation(len(Y))
STOPS = LambdaMARTRanker(
    n_estimators=20, early_stopping=True, n_iter_no_change=3, random_state=0
)
SMALL = LambdaMARTRanker(n_estimators=5, random_state=0)


class Witness(BaseEstimator):
    """Ranks by the first column, and keeps the queries of each fit and prediction."""

    seen: list[tuple[str, np.ndarray]] = []

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        self.seen.append(("fit", X[:, 0].astype(int)))
        return self

    def predict(self, X):
        self.seen.append(("predict", X[:, 0].astype(int)))
        return X[:, 1]


def folds_seen(estimator, **given):
    """Fit an estimator to witnesses; return the queries of each fold of the first."""
    Witness.seen.clear()
    numbered = np.column_stack([GROUPS, X[:, 0]])
    estimator.fit(numbered, Y, groups=GROUPS, **given)
    found = [(kind, np.unique(queries)) for kind, queries in Witness.seen]
    pairs = itertools.pairwise(found)
    return [(a, b) for (one, a), (two, b) in pairs if (one, two) == ("fit", "predict")]


def measuring(cv):
    """The estimators that measure others by folds."""
    return [
        RankerSearch(
            Witness(), param_distributions={}, time=None, n_iter=1, blend=False, cv=cv
        ),
        CalibratedRanker(Witness(), cv=cv),
        BlendedRanker([Witness(), Witness()], method="sweep", cv=cv),
    ]


KINDS = ["RankerSearch", "CalibratedRanker", "BlendedRanker"]
of_measuring = pytest.mark.parametrize("number", range(3), ids=KINDS)


@of_measuring
@pytest.mark.parametrize("cv", [None, 3, GroupKFold(3), UserKFold(3)])
def test_users_are_held_out_whole(number, cv):
    folds = folds_seen(measuring(cv)[number], users=USERS)
    n_folds = 5 if cv is None else 3
    held_out = np.concatenate([test for _, test in folds[:n_folds]])
    assert_array_equal(np.sort(held_out), np.arange(60))
    for train, test in folds[:n_folds]:
        assert not {*USER_OF_QUERY[train]} & {*USER_OF_QUERY[test]}


@of_measuring
@pytest.mark.parametrize(
    "cv", [3, GroupTimeSeriesSplit(3), GroupTimeSeriesSplit(3, gap=4)]
)
@pytest.mark.parametrize("order", [DATES, (GROUPS * 37) % 60])
def test_folds_by_date_never_see_the_future(number, cv, order):
    date = (np.arange(60) * 37) % 60
    folds = folds_seen(measuring(cv)[number], order=order)[:3]
    gap = getattr(cv, "gap", 0)
    for train, test in folds:
        assert date[train].max() + gap < date[test].min()
    # 15 queries of each fold; the earliest 15 are never held out
    held_out = np.sort(np.concatenate([date[test] for _, test in folds]))
    assert_array_equal(held_out, np.arange(15, 60))


DAYS = ((np.arange(60) * 37) % 60) // 7  # of seven queries each, the last one of four


@of_measuring
@pytest.mark.parametrize("cv", [3, GroupTimeSeriesSplit(3, gap=4)])
def test_queries_of_one_date_are_on_one_side(number, cv):
    folds = folds_seen(measuring(cv)[number], order=DAYS[GROUPS])[:3]
    assert len(folds) == 3
    for train, test in folds:
        assert DAYS[train].max() < DAYS[test].min()
        if not isinstance(cv, int):
            assert (DAYS < DAYS[test].min()).sum() - len(train) >= 4
    held_out = np.concatenate([test for _, test in folds])
    assert_array_equal(np.sort(held_out), np.flatnonzero(DAYS >= DAYS[held_out].min()))


@of_measuring
def test_fewer_dates_than_parts_are_an_error(number):
    with pytest.raises(ValueError, match="order has 3 different dates for 60 queries"):
        folds_seen(measuring(3)[number], order=DAYS[GROUPS] // 4)


@pytest.mark.parametrize("ranker", [STOPS, RankNetRanker(early_stopping=True)])
def test_early_stopping_holds_out_whole_dates(ranker, monkeypatch):
    masks = []

    def kept(*arguments):
        masks.append(draw_held_out(*arguments))
        return masks[-1]

    monkeypatch.setattr(fit_data, "draw_held_out", kept)
    clone(ranker).fit(X, Y, groups=GROUPS, order=DAYS[GROUPS])
    assert_array_equal(masks[0], DAYS == 8)  # four of 60, for six
    with pytest.raises(ValueError, match="order has 1 different date for 60 queries"):
        clone(ranker).fit(X, Y, groups=GROUPS, order=0 * GROUPS)


def test_only_what_is_held_out_is_measured():
    search = RankerSearch(SMALL, time=None, n_iter=1, cv=3).fit(
        X, Y, groups=GROUPS, order=DATES
    )
    scores, kept = np.empty(len(Y)), np.zeros(len(Y), dtype=bool)
    for train, test in GroupTimeSeriesSplit(3).split(X, Y, GROUPS, DATES):
        ranker = clone(SMALL).fit(X[train], Y[train], groups=GROUPS[train])
        scores[test], kept[test] = ranker.predict(X[test]), True
    expected = NDCG(10)(Y[kept], scores[kept], groups=GROUPS[kept])
    assert_allclose(search.best_score_, expected, rtol=1e-12)
    for fold, (_, test) in enumerate(
        GroupTimeSeriesSplit(3).split(X, Y, GROUPS, DATES)
    ):
        own = NDCG(10)(Y[test], scores[test], groups=GROUPS[test])
        (found,) = search.cv_results_[f"split{fold}_test_score"]
        assert_allclose(found, own, rtol=1e-12)
    calibrated = CalibratedRanker(SMALL, cv=3).fit(X, Y, groups=GROUPS, order=DATES)
    by_hand = CalibratedRanker(clone(SMALL).fit(X, Y, groups=GROUPS), cv="prefit").fit(
        X, Y, groups=GROUPS
    )
    assert (calibrated.predict(X) == by_hand.predict(X)).all()
    assert (calibrated.predict_grade(X) != by_hand.predict_grade(X)).any()


def test_a_grade_that_is_never_held_out_has_no_map():
    y = np.where(GROUPS == np.flatnonzero((np.arange(60) * 37) % 60 == 0)[0], Y + 3, Y)
    with pytest.raises(ValueError, match="cv holds out no document of grade 5"):
        CalibratedRanker(SMALL, cv=3).fit(X, y.clip(max=5), groups=GROUPS, order=DATES)


def test_one_split_of_ones_own_holds_out_some_queries():
    split = [(np.flatnonzero(GROUPS < 40), np.flatnonzero(GROUPS >= 40))]
    search = RankerSearch(SMALL, time=None, n_iter=2, cv=split, random_state=0)
    search.fit(X, Y, groups=GROUPS)
    train, test = split[0]
    ranker = clone(SMALL).fit(X[train], Y[train], groups=GROUPS[train])
    expected = ranker.score(X[test], Y[test], groups=GROUPS[test])
    assert_allclose(search.cv_results_["mean_test_score"][0], expected, rtol=1e-12)


@pytest.mark.parametrize(
    "ranker",
    [
        STOPS,
        LambdaRankRanker(max_iter=5, early_stopping=True, random_state=0),
        RankNetRanker(max_iter=5, early_stopping=True, random_state=0),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
@pytest.mark.parametrize("given", ["users", "order"])
def test_early_stopping_holds_out_users_or_the_latest_queries(
    ranker, given, monkeypatch
):
    masks = []

    def kept(*arguments):
        masks.append(draw_held_out(*arguments))
        return masks[-1]

    monkeypatch.setattr(fit_data, "draw_held_out", kept)
    values = {"users": USERS, "order": DATES}[given]
    found = clone(ranker).fit(X, Y, groups=GROUPS, **{given: values})
    (held_out,) = masks
    if given == "users":
        assert len({*USER_OF_QUERY[held_out]}) == 1
        assert not {*USER_OF_QUERY[held_out]} & {*USER_OF_QUERY[~held_out]}
    else:
        assert_array_equal(held_out, (np.arange(60) * 37) % 60 >= 54)
    other = clone(ranker).fit(
        X[SHUFFLED], Y[SHUFFLED], groups=GROUPS[SHUFFLED],
        **{given: list(np.asarray(values)[SHUFFLED])},
    )  # fmt: skip
    assert (other.predict(X) == found.predict(X)).all()
    alone = clone(ranker).fit(X, Y, groups=GROUPS)
    assert (alone.predict(X) != found.predict(X)).any()


def test_early_stopping_in_a_bag_holds_out_copies_with_their_originals():
    bag = BaggingRanker(STOPS, n_estimators=3, bootstrap=True, random_state=0)
    for given in ({"users": USERS}, {"order": DATES}, {"order": GROUPS // 10}):
        fitted = clone(bag).fit(X, Y, groups=GROUPS, **given)
        assert all(member.n_iter_ > 0 for member in fitted.estimators_)
    with pytest.raises(ValueError, match="order has 1 different date for .* 2 dates"):
        clone(bag).fit(X, Y, groups=GROUPS, order=0 * GROUPS)


@pytest.mark.parametrize("bootstrap", [False, True])
def test_bags_draw_whole_users(bootstrap):
    bag = BaggingRanker(
        SMALL, n_estimators=4, max_samples=0.5, bootstrap=bootstrap, oob_score=True,
        random_state=0,
    ).fit(X, Y, groups=GROUPS, users=USERS)  # fmt: skip
    for drawn in bag.estimators_queries_:
        n_times = np.bincount(drawn, minlength=60)
        by_user = [n_times[USER_OF_QUERY == user] for user in {*USER_OF_QUERY}]
        assert all((times == times[0]).all() for times in by_user)
        n_drawn = sum(times[0] for times in by_user)
        assert n_drawn == len(by_user) // 2
    assert bag.oob_score_ > 0.5


def test_pipelines_and_searches_hand_users_on():
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), clone(STOPS)),
            {"lambdamartranker__max_leaf_nodes": [4, 8]},
            cv=UserKFold(3),
        ).fit(X, Y, groups=GROUPS, users=USERS)
        grid = GridSearchCV(clone(STOPS), {}, cv=GroupTimeSeriesSplit(3))
        grid.fit(X, Y, groups=GROUPS, order=DATES)
    assert search.n_splits_ == grid.n_splits_ == 3
    bag = BaggingRanker(make_pipeline(StandardScaler(), clone(STOPS)), n_estimators=2)
    assert bag.fit(X, Y, groups=GROUPS, users=USERS).estimators_
    blend = BlendedRanker([Ridge(), SMALL], method="sweep").fit(
        X, Y, groups=GROUPS, users=USERS
    )
    assert len(blend.weights_) == 2


def test_folds_of_users_do_not_depend_on_the_order_of_the_rows():
    folds = [*UserKFold(3).split(X, Y, GROUPS, USERS)]
    other = [*UserKFold(3).split(X, Y, GROUPS[SHUFFLED], USERS[SHUFFLED])]
    for (_, a), (_, b) in zip(folds, other, strict=True):
        assert {*GROUPS[a]} == {*GROUPS[SHUFFLED][b]}
        assert not {*USERS[a]} & {*np.delete(USERS, a)}
    assert UserKFold(3).get_n_splits() == 3
    drawn = UserKFold(3, shuffle=True, random_state=0)
    assert repr(drawn) == "UserKFold(n_splits=3, random_state=0, shuffle=True)"
    assert [*drawn.split(X, Y, GROUPS, USERS)][0][1].tolist() != folds[0][1].tolist()


def test_two_parts_of_whole_users():
    for stratify in (None, Y):
        parts = group_train_test_split(
            USERS, groups=GROUPS, users=USERS, test_size=3, random_state=0,
            stratify=stratify,
        )  # fmt: skip
        assert len({*parts[1]}) == 3
        assert not {*parts[0]} & {*parts[1]}


def test_weights_of_zero_leave_users_and_dates_out_with_their_queries():
    counted = GROUPS % 4 > 0
    for given in ({"users": USERS}, {"order": np.asarray(DATES)}):
        for estimator in (
            RankerSearch(SMALL, time=None, n_iter=1, cv=3),
            BaggingRanker(SMALL, n_estimators=2, max_samples=0.5, random_state=0),
            clone(STOPS),
        ):
            (name, values), weights = *given.items(), counted.astype(float)
            a = clone(estimator).fit(
                X, Y, groups=GROUPS, sample_weight=weights, **given
            )
            b = clone(estimator).fit(
                X[counted], Y[counted], groups=GROUPS[counted],
                **{name: values[counted]},
            )  # fmt: skip
            assert (a.predict(X) == b.predict(X)).all()


# --- comparisons ----------------------------------------------------------------------

N_USERS, N_EACH = 40, 5
GROUPS_2 = np.repeat(np.arange(N_USERS * N_EACH), 6)
USERS_2 = GROUPS_2 // N_EACH
WEIGHTS_2 = 1.0 + GROUPS_2 % 3
RNG = np.random.default_rng(5)
Y_2 = RNG.integers(0, 3, len(GROUPS_2))
TASTE = RNG.normal(size=N_USERS)[USERS_2]
SCORES_2 = {
    "a": Y_2 + RNG.normal(size=len(Y_2)),
    "b": (1 + TASTE) * Y_2 + RNG.normal(size=len(Y_2)),
}


def compare(**options):
    return compare_rankers(SCORES_2, None, Y_2, groups=GROUPS_2, **options)


def test_errors_by_user_are_those_of_a_mean_of_clusters():
    comparison = compare(users=USERS_2, sample_weight=WEIGHTS_2)
    (pair,), (naive,) = comparison.pairs, comparison.by_query.pairs
    assert comparison.by_query.pairs == compare(sample_weight=WEIGHTS_2).pairs
    assert (comparison.n_users, comparison.n_queries) == (40, 200)
    # the mean is the same; the errors of the queries of a user add up before squares
    a, b = (NDCG(10).per_query(Y_2, s, groups=GROUPS_2) for s in SCORES_2.values())
    w = WEIGHTS_2[::6]
    mean = np.average(b - a, weights=w)
    residuals = (w * (b - a - mean)).reshape(N_USERS, N_EACH).sum(axis=1)
    error = np.sqrt(N_USERS / (N_USERS - 1)) * np.linalg.norm(residuals) / w.sum()
    assert_allclose([pair.mean_difference, naive.mean_difference], mean, rtol=1e-9)
    assert_allclose(pair.standard_error, error, rtol=1e-9)
    assert error > 1.2 * naive.standard_error
    assert pair.high - pair.low > 1.2 * (naive.high - naive.low)
    shown = repr(comparison)
    assert "200 queries of 40 users" in shown and "users for 0.01" in shown
    assert "as if all queries were independent" in shown


def test_users_of_one_query_change_nothing():
    (pair,) = compare(users=GROUPS_2, random_state=3).pairs
    (by_query,) = compare(random_state=3).pairs
    assert_allclose(pair[2:4], by_query[2:4], rtol=1e-9)
    assert_allclose(pair[4:7], by_query[4:7], atol=0.01)


@pytest.mark.parametrize("n_each", [1, 3, 10])
def test_intervals_by_user_cover_the_true_difference(n_each):
    """Both rankers please each user more or less: the true difference is 0."""
    rng, n_users, n_tries = np.random.default_rng(n_each), 25, 120
    users = np.repeat(np.arange(n_users), n_each * 5)
    groups = np.repeat(np.arange(n_users * n_each), 5)
    y = np.tile([1, 0, 0, 0, 0], n_users * n_each)
    covered = np.zeros(2)
    for _ in range(n_tries):
        scores = [
            y * (1 + 2 * rng.normal(size=n_users)[users]) + rng.normal(size=len(y))
            for _ in range(2)
        ]
        found = compare_rankers(
            scores, None, y, groups=groups, users=users, metric="mrr", n_resamples=199
        )
        for column, one in enumerate((found, found.by_query)):
            covered[column] += one.pairs[0].low <= 0 <= one.pairs[0].high
    by_user, by_query = covered / n_tries
    low, high = stats.binom(n_tries, 0.95).ppf([0.0005, 0.9995]) / n_tries
    assert low <= by_user <= high
    if n_each > 1:
        assert by_query < low


def test_periods_have_their_own_differences():
    periods = pd.Series(pd.to_datetime("2026-01-31") + pd.to_timedelta(
        31 * (GROUPS_2 % 4), unit="D")).dt.strftime("%Y-%m")  # fmt: skip
    comparison = compare(periods=periods, users=USERS_2)
    assert [one.period for one in comparison.periods] == sorted({*periods})
    assert sum(one.n_queries for one in comparison.periods) == 200
    a, b = (NDCG(10).per_query(Y_2, s, groups=GROUPS_2) for s in SCORES_2.values())
    for one in comparison.periods:
        part = (periods == one.period).to_numpy()[::6]
        assert_allclose(one.mean_difference, (b - a)[part].mean(), rtol=1e-9)
        user = pd.Series((b - a)[part]).groupby(USERS_2[::6][part])
        n = user.count()
        residuals = (user.sum() - n * (b - a)[part].mean()).to_numpy()
        error = np.sqrt(len(n) / (len(n) - 1)) * np.linalg.norm(residuals) / n.sum()
        assert_allclose(one.standard_error, error, rtol=1e-9)
    assert compare().periods == []
    # the rest is that of a comparison without periods
    assert comparison.pairs == compare(users=USERS_2).pairs


def test_a_label_of_several_is_compared():
    labels = pd.DataFrame(
        {"click": Y_2, "purchase": np.where(GROUPS_2 % 2, np.nan, Y_2)}
    )
    judged = GROUPS_2 % 2 == 0
    found = compare_rankers(
        SCORES_2, None, labels, groups=GROUPS_2, label="purchase", users=USERS_2
    )
    expected = compare_rankers(
        {name: scores[judged] for name, scores in SCORES_2.items()}, None, Y_2[judged],
        groups=GROUPS_2[judged], users=USERS_2[judged],
    )  # fmt: skip
    assert found.pairs == expected.pairs
    assert found.n_queries == 100


def test_a_notebook_shows_the_tables_in_html():
    shown = compare_rankers(
        {"<a>": SCORES_2["a"], "b": SCORES_2["b"]}, None, Y_2, groups=GROUPS_2
    )._repr_html_()
    assert shown.count("<table>") == shown.count("</table>") == 2
    assert "<td>b - &lt;a&gt;</td>" in shown and "<a>" not in shown
