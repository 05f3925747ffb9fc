"""Splits of whole queries."""

from __future__ import annotations

import pickle
from copy import deepcopy
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    TimeSeriesSplit,
    check_cv,
    cross_val_score,
    cross_validate,
)

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.data.rows import index_rows
from sklearn_ltr.model_selection import (
    GroupTimeSeriesSplit,
    LetorFolds,
    group_train_test_split,
    lambdamart_search_space,
)
from sklearn_ltr.scorers import make_ranking_scorer
from tests.strategies import rankings

RNG = np.random.default_rng(0)
SIZES = RNG.integers(1, 9, 40)
GROUPS = RNG.permutation(np.repeat(np.arange(40), SIZES))
N = len(GROUPS)
X = np.arange(N * 2.0).reshape(N, 2)
Y = RNG.integers(0, 4, N)


def split_rows(groups=GROUPS, **options):
    """Training and test rows, as row numbers."""
    train, test, *_ = group_train_test_split(
        np.arange(len(groups)), groups=groups, **options
    )
    return train, test


# --- whole queries ----------------------------------------------------------------


@given(
    rankings(max_queries=9),
    st.integers(0, 2**32 - 1),
    st.sampled_from([None, 0.3, 0.5, 1]),
    st.booleans(),
)
def test_every_query_is_on_one_side_and_rows_keep_their_order(
    ranking, seed, size, stratified
):
    n_queries = len(set(ranking.groups))
    if n_queries < 2:
        return
    train, test = split_rows(
        ranking.groups,
        test_size=size,
        random_state=seed,
        stratify=ranking.y if stratified else None,
    )
    assert sorted([*train, *test]) == list(range(len(ranking.groups)))
    assert (np.diff(train) > 0).all()
    assert (np.diff(test) > 0).all()
    n_test = len(set(ranking.groups[test]))
    assert n_test + len(set(ranking.groups[train])) == n_queries
    share = 0.25 if size is None else size
    assert n_test == (1 if size == 1 else int(np.ceil(share * n_queries)))


@pytest.mark.parametrize(
    "how",
    [{}, {"shuffle": False}, {"stratify": Y}],
    ids=["at random", "without shuffling", "stratified"],
)
def test_sizes_count_queries(how):
    for sizes, n_train, n_test in (
        ({}, 30, 10),
        ({"test_size": 0.2}, 32, 8),
        ({"test_size": 7}, 33, 7),
        ({"train_size": 0.3}, 12, 28),
        ({"train_size": 5, "test_size": 6}, 5, 6),
        ({"train_size": 0.5, "test_size": 0.25}, 20, 10),
    ):
        train, test = split_rows(**sizes, **how)
        queries = set(GROUPS[train]), set(GROUPS[test])
        assert tuple(map(len, queries)) == (n_train, n_test)
        assert not queries[0] & queries[1]
        for rows, inside in zip((train, test), queries, strict=True):
            expected = np.flatnonzero(np.isin(GROUPS, [*inside]))
            np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("stratified", [False, True])
def test_queries_are_drawn_by_random_state_in_any_order_of_rows(stratified):
    def drawn(state, rows=range(N)):
        rows = np.array(rows)
        grades = Y[rows] if stratified else None
        _, test = split_rows(GROUPS[rows], random_state=state, stratify=grades)
        return frozenset(GROUPS[rows][test])

    assert drawn(3) == drawn(3) == drawn(np.random.RandomState(3))
    assert len({drawn(seed) for seed in range(20)}) == 20
    for rows in (np.random.default_rng(1).permutation(N), np.argsort(GROUPS)):
        assert drawn(3, rows) == drawn(3)


def test_without_shuffling_the_queries_that_appear_last_are_tested():
    groups = ["d", "b", "d", "c", "b", "a"]
    *_, train, test = group_train_test_split(groups=groups, shuffle=False, test_size=2)
    assert train == ["d", "b", "d", "b"]
    assert test == ["c", "a"]


# --- types of arrays --------------------------------------------------------------

FRAME = pd.DataFrame(X, columns=["a", "b"], index=np.arange(N)[::-1] // 2)
TABLES = [
    X, np.asfortranarray(X, dtype=np.float32), X[:, 0].astype(object),
    FRAME, FRAME["a"], FRAME.convert_dtypes(dtype_backend="pyarrow")["a"],
    pd.Index(X[:, 0]), pd.Categorical(X[:, 0]),
    pl.DataFrame(X, schema=["a", "b"]), pl.Series("a", X[:, 0]),
    pa.table({"a": X[:, 0], "b": X[:, 1]}), pa.array(X[:, 0]),
    pa.chunked_array([X[:5, 0], X[5:, 0]]), sp.csr_array(X), sp.csr_matrix(X),
    X[:, 0].tolist(), X.tolist(),
]  # fmt: skip


def as_array(table):
    return table.toarray() if sp.issparse(table) else np.asarray(table, dtype=float)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: type(table).__name__)
def test_parts_are_copies_of_the_type_of_the_array(table):
    before = deepcopy(as_array(table))
    sides = split_rows(random_state=2)
    parts = group_train_test_split(table, groups=GROUPS, random_state=2)[:2]
    for part, rows in zip(parts, sides, strict=True):
        assert type(part) is type(table)
        if isinstance(table, pd.DataFrame):
            pd.testing.assert_frame_equal(part, table.iloc[rows])
        np.testing.assert_array_equal(as_array(part), before[rows])
        if hasattr(table, "dtype"):
            assert part.dtype == table.dtype
        if isinstance(part, np.ndarray):
            part[:] = -1
    np.testing.assert_array_equal(as_array(table), before)


def test_other_sparse_matrices_come_out_as_csr():
    train, _ = split_rows(random_state=2)
    for make in (sp.coo_array, sp.csc_matrix, sp.bsr_array, sp.lil_matrix):
        part = group_train_test_split(make(X), groups=GROUPS, random_state=2)[0]
        assert part.format == "csr"
        np.testing.assert_array_equal(part.toarray(), X[train])


@pytest.mark.parametrize("as_column", [pl.Series, pd.Series, pa.array, list])
def test_groups_come_last_and_keep_their_type(as_column):
    groups = as_column(GROUPS)
    parts = group_train_test_split(np.arange(N), Y, groups=groups, random_state=4)
    assert len(parts) == 6
    for part, side in zip(parts[4:], parts[:2], strict=True):
        assert type(part) is type(groups)
        np.testing.assert_array_equal(np.asarray(part), GROUPS[side])
    np.testing.assert_array_equal(parts[2], Y[parts[0]])


# --- strata -----------------------------------------------------------------------


def best_grades(y, groups):
    return {g: y[groups == g].max() for g in np.unique(groups)}


@given(
    rankings(max_queries=25, max_documents=3),
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.integers(0, 5),
)
def test_every_best_grade_has_its_share_within_less_than_two_queries(
    ranking, seed, n_test, left_out
):
    best = best_grades(ranking.y, ranking.groups)
    n_train = len(best) - n_test - left_out
    if n_train < 1:
        return
    _, test = split_rows(
        ranking.groups, test_size=n_test, train_size=n_train, random_state=seed,
        stratify=ranking.y,
    )  # fmt: skip
    drawn = [best[g] for g in set(ranking.groups[test])]
    of_all = list(best.values())
    for grade in set(of_all):
        share = of_all.count(grade) * n_test / len(of_all)
        assert abs(drawn.count(grade) - share) < 2


def shares_of_relevant_documents():
    """Every query has a relevant document; they differ in how many."""
    y = np.random.default_rng(2).integers(0, 2, N)
    y[np.unique(GROUPS, return_index=True)[1]] = 1
    return {g: y[GROUPS == g].mean() for g in range(40)}, y


def different_best_grades():
    y = np.random.default_rng(2).uniform(0, 4, size=N)
    return best_grades(y, GROUPS), y


@pytest.mark.parametrize("draw", [different_best_grades, shares_of_relevant_documents])
def test_stratified_parts_have_similar_queries(draw):
    value_of_query, y = draw()
    deviation = {}
    for stratify in (None, y):
        means = [
            [np.mean([value_of_query[g] for g in set(GROUPS[rows])]) for rows in split]
            for split in (
                split_rows(random_state=seed, stratify=stratify) for seed in range(50)
            )
        ]
        deviation[stratify is None] = np.std(np.diff(means))
    assert deviation[False] < deviation[True] / 3  # a fifth


def test_every_query_is_drawn_with_the_same_probability():
    """Two of five, 200 times: 80 draws of each, with a standard deviation of 7.

    (One from each half of the sorted queries would give probabilities 1/2 and 1/3.)
    """
    counts = np.zeros(5)
    for seed in range(200):
        _, test = split_rows(
            np.arange(5), random_state=seed, stratify=np.arange(5), test_size=2
        )
        counts[test] += 1
    assert counts.sum() == 400
    assert np.abs(counts - 80).max() < 20


# --- LETOR's folds ----------------------------------------------------------------

PARTS = GROUPS % 5 + 1


def test_the_folds_are_letors():
    """Fold 1 of LETOR 4.0 trains on S1 to S3, validates on S4 and tests on S5."""
    table = {1: "12345", 2: "23451", 3: "34512", 4: "45123", 5: "51234"}
    folds = list(LetorFolds(PARTS).train_validation_test(GROUPS))
    assert len(folds) == 5
    for (*train, validation, test), found in zip(table.values(), folds, strict=True):
        for names, rows in zip((train, validation, test), found, strict=True):
            inside = np.isin(PARTS, [int(name) for name in names])
            np.testing.assert_array_equal(rows, np.flatnonzero(inside))


@pytest.mark.parametrize("n_parts", [3, 4, 7])
def test_there_may_be_any_number_of_parts_from_three_on(n_parts):
    parts = np.arange(N) % n_parts
    triples = list(LetorFolds(parts).train_validation_test())
    for train, validation, test in triples:
        assert sorted([*train, *validation, *test]) == list(range(N))
        sizes = [len(set(parts[rows])) for rows in (train, validation, test)]
        assert sizes == [n_parts - 2, 1, 1]
    for one, next_one in pairwise(triples):
        np.testing.assert_array_equal(next_one[1], one[2])
    for score_on, second in (("validation", 1), ("test", 2)):
        folds = LetorFolds(parts, score_on=score_on)
        pairs = list(folds.split(X, Y))
        assert folds.get_n_splits() == len(pairs) == len(triples) == n_parts
        for pair, triple in zip(pairs, triples, strict=True):
            np.testing.assert_array_equal(pair[0], triple[0])
            np.testing.assert_array_equal(pair[1], triple[second])


def test_scikit_learn_accepts_the_folds_as_a_splitter():
    folds = LetorFolds(PARTS, score_on="test")
    assert check_cv(folds) is folds
    assert folds.get_metadata_routing().split.requests == {"groups": True}
    assert repr(LetorFolds([1, 2, 3])) == (
        "LetorFolds(parts=[1, 2, 3], score_on='validation')"
    )
    search = clone(GridSearchCV(Ridge(), {}, cv=folds))
    for copy in (search.cv, pickle.loads(pickle.dumps(folds))):
        for one, other in zip(copy.split(), folds.split(), strict=True):
            np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("routing", [False, True])
def test_a_grid_search_refuses_a_query_in_two_parts(routing):
    parts = PARTS.copy()
    longest = int(np.argmax(SIZES))
    row = np.flatnonzero(GROUPS == longest)[0]
    parts[row] = 1 + parts[row] % 5
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(Ridge(), {}, cv=LetorFolds(parts))
        with pytest.raises(
            ValueError, match=f"query {longest} of groups is in parts . and .: put"
        ):
            search.fit(X, Y, groups=GROUPS)


# --- the search space -------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn_ltr.NothingLearnedWarning")
def test_the_search_space_holds_valid_settings_and_the_defaults():
    space, defaults = lambdamart_search_space(), LambdaMARTRanker().get_params()
    for name, values in space.items():
        assert defaults[name] in values
    # one fit of each value, not of all combinations
    for number in range(max(map(len, space.values()))):
        setting = {name: vals[number % len(vals)] for name, vals in space.items()}
        ranker = LambdaMARTRanker(**setting | {"n_estimators": 1})
        ranker.fit(np.arange(12.0)[:, None], np.arange(12) % 3, groups=[0, 1] * 6)
    assert list(lambdamart_search_space("estimator__")) == [
        f"estimator__{name}" for name in space
    ]
    with pytest.raises(TypeError, match="prefix must be a string, got 3"):
        lambdamart_search_space(3)


# --- the order of time ------------------------------------------------------------

DATE_OF_QUERY = np.random.default_rng(5).permutation(40)
DATES = pd.Timestamp("2026-01-01") + pd.to_timedelta(DATE_OF_QUERY[GROUPS], unit="D")
TIME_OPTIONS = [
    {}, {"n_splits": 3}, {"gap": 2}, {"test_size": 4}, {"max_train_size": 7},
    {"n_splits": 2, "test_size": 5, "gap": 1, "max_train_size": 6},
]  # fmt: skip


def queries_of(rows):
    return set(GROUPS[rows].tolist())


def queries_by_definition(n, n_splits=5, max_train_size=None, test_size=None, gap=0):
    """Yield the places in time that train and test, by the docstring's formula."""
    size = n // (n_splits + 1) if test_size is None else test_size
    for fold in range(n_splits):
        start = n - (n_splits - fold) * size
        before = list(range(start - gap))
        kept = before if max_train_size is None else before[-max_train_size:]
        yield kept, list(range(start, start + size))


@pytest.mark.parametrize("options", TIME_OPTIONS, ids=str)
def test_folds_by_date_are_those_of_the_definition(options):
    by_date = np.argsort(DATE_OF_QUERY)
    folds = list(GroupTimeSeriesSplit(**options).split(X, Y, GROUPS, DATES))
    expected = list(queries_by_definition(40, **options))
    assert len(folds) == len(expected) == options.get("n_splits", 5)
    for (train, test), places in zip(folds, expected, strict=True):
        for rows, part in zip((train, test), places, strict=True):
            queries = by_date[part]
            np.testing.assert_array_equal(
                rows, np.flatnonzero(np.isin(GROUPS, queries))
            )
        assert DATES[train].max() < DATES[test].min()


@pytest.mark.parametrize("options", TIME_OPTIONS, ids=str)
def test_with_one_row_for_each_query_folds_are_those_of_scikit_learn(options):
    rows = np.arange(30)
    ours = GroupTimeSeriesSplit(**options).split(groups=rows[::-1])
    theirs = TimeSeriesSplit(**{"n_splits": 5} | options).split(rows)
    for fold, expected in zip(ours, theirs, strict=True):
        for part, rows_of_part in zip(fold, expected, strict=True):
            np.testing.assert_array_equal(part, rows_of_part)


@pytest.mark.parametrize(
    "dates",
    [
        DATES, DATES.to_numpy(), DATES.to_series().reset_index(drop=True),
        DATES.tz_localize("Europe/Rome"), DATES.date.tolist(), DATES.to_period("D"),
        pl.Series(DATES.to_numpy()), pa.array(DATES), DATE_OF_QUERY[GROUPS],
        DATE_OF_QUERY[GROUPS] / 7 - 3, [(d.year, d.month, d.day) for d in DATES],
    ],
    ids=["index", "array", "series", "zone", "dates", "periods", "polars", "arrow",
         "integers", "floats", "tuples"],
)  # fmt: skip
def test_dates_of_all_types_give_the_same_folds_in_any_order_of_rows(dates):
    def tested(rows):
        folds = GroupTimeSeriesSplit(4).split(
            groups=GROUPS[rows], order=index_rows(dates, rows)
        )
        return [frozenset(GROUPS[rows][test]) for _, test in folds]

    expected = [
        frozenset(np.argsort(DATE_OF_QUERY)[places])
        for _, places in queries_by_definition(40, 4)
    ]
    for seed in (1, 2):
        rows = np.random.default_rng(seed).permutation(N)
        assert tested(rows) == tested(np.arange(N)) == expected


def test_queries_of_one_date_are_in_one_part():
    groups = np.array(["d", "b", "c", "a", "b", "e"])
    days = {"a": 1, "b": 2, "c": 2, "d": 2, "e": 3}
    for rows in ([0, 1, 2, 3, 4, 5], [3, 5, 4, 2, 1, 0]):
        ids = groups[rows]
        order = [days[name] for name in ids]
        (train, test), *_ = GroupTimeSeriesSplit(2).split(groups=ids, order=order)
        assert {*ids[train]} == {"a"} and {*ids[test]} == {"b", "c", "d"}
        # tuples divide a date
        order = [(days[name], ord(name)) for name in ids]
        folds = GroupTimeSeriesSplit(4).split(groups=ids, order=order)
        assert [{*ids[test]} for _, test in folds] == [{"b"}, {"c"}, {"d"}, {"e"}]
        order = [days[name] for name in ids]
        for size, expected in ((1, {"e"}), (2, {"e"}), (3, {"b", "c", "d", "e"})):
            _, test = group_train_test_split(groups=ids, order=order, test_size=size)
            assert {*test} == expected


def test_without_dates_the_first_rows_of_queries_are_the_order_of_time():
    groups = ["d", "b", "d", "c", "b", "a"]
    folds = list(GroupTimeSeriesSplit(3).split(groups=groups))
    assert [test.tolist() for _, test in folds] == [[1, 4], [3], [5]]
    assert [train.tolist() for train, _ in folds] == [
        [0, 2], [0, 1, 2, 4], [0, 1, 2, 3, 4],
    ]  # fmt: skip


class DateMemory(Ridge):
    """Notes the dates, in the last column of X, that it learns from and predicts."""

    seen: list[tuple[str, float, float]] = []

    def fit(self, X, y):
        self.seen.append(("fit", X[:, -1].min(), X[:, -1].max()))
        return super().fit(X, y)

    def predict(self, X):
        self.seen.append(("predict", X[:, -1].min(), X[:, -1].max()))
        return super().predict(X)


def test_tools_of_scikit_learn_train_on_the_past_and_test_on_the_future():
    dated = np.column_stack([X, DATE_OF_QUERY[GROUPS]])
    columns = {"groups": GROUPS, "order": DATES}
    folds = GroupTimeSeriesSplit(4)

    def check(n_fits):
        seen = DateMemory.seen[:]
        DateMemory.seen.clear()
        assert [kind for kind, *_ in seen] == ["fit", "predict"] * n_fits
        for (_, _, last), (_, first, _) in zip(seen[::2], seen[1::2], strict=True):
            assert last < first

    with sklearn.config_context(enable_metadata_routing=True):
        GridSearchCV(DateMemory(), {"alpha": [1, 2]}, cv=folds, refit=False).fit(
            dated, Y, **columns
        )
        check(8)
        cross_val_score(DateMemory(), dated, Y, cv=folds, params=columns)
        check(4)
    # without routing: the folds as a list
    cross_val_score(DateMemory(), dated, Y, cv=list(folds.split(dated, Y, **columns)))
    check(4)


def test_a_search_of_a_ranker_within_each_fold_has_its_own_dates():
    columns = {"groups": GROUPS, "order": DATES}
    search = GridSearchCV(
        LambdaMARTRanker(random_state=0),
        {"n_estimators": [1, 2]},
        cv=GroupTimeSeriesSplit(2, gap=1),
        scoring=make_ranking_scorer("ndcg"),
        error_score="raise",
    )
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            search,
            X,
            Y,
            cv=GroupTimeSeriesSplit(3),
            scoring=make_ranking_scorer("ndcg"),
            params=columns,
            return_indices=True,
            error_score="raise",
        )
    expected = [
        set(np.argsort(DATE_OF_QUERY)[places].tolist())
        for _, places in queries_by_definition(40, 3)
    ]
    assert list(map(queries_of, result["indices"]["test"])) == expected
    assert np.isfinite(result["test_score"]).all()


def test_time_folds_are_printed_and_copied_with_their_parameters():
    folds = GroupTimeSeriesSplit(3, gap=2)
    assert repr(folds) == (
        "GroupTimeSeriesSplit(gap=2, max_train_size=None, n_splits=3, test_size=None)"
    )
    for copy in (pickle.loads(pickle.dumps(folds)), clone(folds, safe=False)):
        assert copy.get_n_splits() == 3
        assert vars(copy) == vars(folds)
    assert check_cv(folds) is folds


def test_the_latest_queries_are_the_test_part():
    by_date = np.argsort(DATE_OF_QUERY)
    for sizes, n_train, n_test in (
        ({}, 30, 10), ({"test_size": 7}, 33, 7), ({"train_size": 0.3}, 12, 28),
        ({"test_size": 7, "random_state": 3, "shuffle": False}, 33, 7),
    ):  # fmt: skip
        for rows in (np.arange(N), np.random.default_rng(6).permutation(N)):
            train, test = split_rows(GROUPS[rows], order=DATES[rows], **sizes)
            assert queries_of(rows[train]) == set(by_date[:n_train].tolist())
            assert queries_of(rows[test]) == set(by_date[-n_test:].tolist())
