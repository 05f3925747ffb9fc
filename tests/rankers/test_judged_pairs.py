"""Trees that learn from judged pairs, with and without grades."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._data import RowColumns, TrainingData
from sklearn_ltr._data.labels import LabelGrades
from sklearn_ltr._data.pairs import JudgedPairs
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.export import from_json, to_json

DATA = make_ranking(40, n_features=12, random_state=0)
X, Y, GROUPS = np.round(DATA.data, 1), DATA.target, DATA.groups
N = len(Y)
GRADED = np.argwhere((GROUPS[:, None] == GROUPS) & (Y[:, None] > Y))
RNG = np.random.default_rng(0)
#: Few, some against the grades
PAIRS = RNG.permutation(GRADED)[:400]
PAIRS[::9] = PAIRS[::9, ::-1]
CHANCES = RNG.choice([0.6, 0.9, 1.0], len(PAIRS))
OF_PAIRS = RNG.choice([0.0, 0.5, 1.0, 3.0], len(PAIRS))
SMALL = {"n_estimators": 5, "max_leaf_nodes": 6, "random_state": 0}
WEIGHTS = 1.0 + GROUPS % 3
HELD = make_ranking(10, n_features=12, random_state=1)
VALIDATION = {"X_val": HELD.data, "y_val": HELD.target, "groups_val": HELD.groups}


def preferring(metric=None, *, pairs=PAIRS, X=X, y=Y, groups=GROUPS, **given):
    options = {
        name: given.pop(name)
        for name in list(given)
        if hasattr(LambdaMARTRanker(), name)
    }
    ranker = LambdaMARTRanker(metric, **SMALL | options)
    grades = None if metric is None else y
    return ranker.fit(X, grades, groups=groups, pairs=pairs, **given)


@pytest.mark.parametrize("metric", [None, "ndcg@10", "map"])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_pairs_of_the_grades_grow_the_trees_of_the_grades(metric, weighted):
    options = SMALL | {"regression_weight": 0.0 if metric is None else 2.0}
    given = {"sample_weight": WEIGHTS} if weighted else {}
    graded = LambdaMARTRanker(metric, **options).fit(X, Y, groups=GROUPS, **given)
    judged = preferring(metric, pairs=GRADED, **options, **given)
    assert_allclose(judged.predict(X), graded.predict(X), rtol=0, atol=1e-9)
    assert np.ptp(graded.predict(X)) > 0.1
    if metric is None:
        assert_allclose(judged.loss_curve_, graded.loss_curve_, rtol=1e-9)
    else:
        # queries without pairs have no part in the curve
        measured = np.isin(GROUPS, GROUPS[GRADED[:, 0]])
        score = graded.score(
            X[measured],
            Y[measured],
            groups=GROUPS[measured],
            **{name: values[measured] for name, values in given.items()},
        )
        assert judged.train_score_[-1] == pytest.approx(score, rel=1e-9)


def test_without_grades_there_is_no_regression_on_them():
    expected = preferring(regression_weight=0).predict(X)
    assert_array_equal(preferring(regression_weight=3).predict(X), expected)
    with_grades = [
        preferring("ndcg", regression_weight=weight).predict(X) for weight in (0, 3)
    ]
    assert (with_grades[0] != with_grades[1]).any()


def test_pairs_are_learned_without_grades_and_groups():
    ranker = preferring(groups=None, n_estimators=30, min_samples_leaf=5)
    scores = ranker.predict(X)
    assert np.mean(scores[PAIRS[:, 0]] > scores[PAIRS[:, 1]]) > 0.75
    assert ranker.loss_curve_[0] == pytest.approx(np.log(2))
    assert (np.diff(ranker.loss_curve_) < 0).all()
    assert ranker.evals_result_.keys() == {"train"}
    # one query: its lambdas have one factor, which no leaf value shows
    other = preferring(groups=np.zeros(N), n_estimators=30, min_samples_leaf=5).predict(
        X
    )
    assert_array_equal(scores, other)


@pytest.mark.parametrize("metric", [None, "ndcg@10"])
@pytest.mark.parametrize("grouped", [True, False])
def test_neither_order_nor_container_nor_threads_matter(metric, grouped):
    groups = GROUPS if grouped else None
    if metric is not None and not grouped:
        groups = np.zeros(N)
    given = {"pair_probabilities": CHANCES, "pair_weights": OF_PAIRS}
    expected = preferring(metric, groups=groups, n_jobs=1, **given).predict(X)
    rng = np.random.default_rng(4)
    order, of_pairs = rng.permutation(N), rng.permutation(len(PAIRS))
    place = np.argsort(order)
    moved = preferring(
        metric, X=X[order], y=Y[order], pairs=place[PAIRS][of_pairs],
        groups=None if groups is None else groups[order],
        pair_probabilities=CHANCES[of_pairs], pair_weights=OF_PAIRS[of_pairs],
        n_jobs=2,
    )  # fmt: skip
    assert_array_equal(moved.predict(X), expected)
    for container in (csr_array, pd.DataFrame):
        given = container(X)
        found = preferring(
            metric, X=given, groups=groups, pair_probabilities=CHANCES,
            pairs=pd.DataFrame(PAIRS), pair_weights=pd.Series(OF_PAIRS),
        )  # fmt: skip
        assert_array_equal(found.predict(given), expected)


#: What counts pairs, their queries or their rows
COUNTING = {
    "": {},
    "drawn rows": {"subsample": 0.5},
    "symmetric": {"grow_policy": "symmetric"},
    "large leaves": {"min_samples_leaf": "auto"},
    "categories": {"categorical_features": [0, 3]},
}


@pytest.mark.parametrize("metric", [None, "ndcg@10", "map"])
@pytest.mark.parametrize("options", COUNTING.values(), ids=COUNTING)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_pair_of_weight_0_is_as_if_it_were_not_there(metric, options, weighted):
    kept = RNG.permutation(np.arange(len(PAIRS)) % 3 > 0)
    kept[GROUPS[PAIRS[:, 0]] == GROUPS[PAIRS[5, 0]]] = False  # a whole query
    values = np.where(OF_PAIRS > 0, OF_PAIRS, 2.0) if weighted else np.ones(len(PAIRS))
    columns = np.round(X[:, [0, 3]]) - np.round(X[:, [0, 3]]).min()
    table = X.copy()
    table[:, [0, 3]] = columns
    found = preferring(
        metric, X=table, pair_probabilities=CHANCES, pair_weights=values * kept,
        **options,
    )  # fmt: skip
    expected = preferring(
        metric, X=table, pairs=PAIRS[kept], pair_probabilities=CHANCES[kept],
        pair_weights=values[kept] if weighted else None, **options,
    )  # fmt: skip
    assert_array_equal(found.predict(table), expected.predict(table))
    for name, curves in expected.evals_result_["train"].items():
        assert_array_equal(found.evals_result_["train"][name], curves)
    every = preferring(metric, X=table, pair_probabilities=CHANCES, **options)
    assert (found.predict(table) != every.predict(table)).any()


@pytest.mark.parametrize("metric", [None, "ndcg@10", "map"])
@pytest.mark.parametrize("grouped", [True, False])
def test_a_pair_of_weight_2_is_the_pair_twice(metric, grouped):
    groups = GROUPS if grouped or metric else None
    weights = np.where(np.arange(len(PAIRS)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(PAIRS)), weights.astype(int))
    found = preferring(
        metric, groups=groups, pair_probabilities=CHANCES, pair_weights=weights
    )
    expected = preferring(
        metric, groups=groups, pairs=PAIRS[twice], pair_probabilities=CHANCES[twice]
    )
    assert_allclose(found.predict(X), expected.predict(X), rtol=0, atol=1e-9)
    for name, curves in expected.evals_result_["train"].items():
        assert_allclose(found.evals_result_["train"][name], curves, rtol=1e-9)
    plain = preferring(metric, groups=groups, pair_probabilities=CHANCES)
    assert np.abs(found.predict(X) - plain.predict(X)).max() > 1e-3


@pytest.mark.parametrize("metric", [None, "ndcg@10"])
def test_a_common_factor_of_the_weights_of_pairs_changes_no_bit(metric):
    plain = preferring(metric).predict(X)
    assert_array_equal(preferring(metric, pair_weights=np.ones(400)).predict(X), plain)
    twice, groups = np.concatenate([X, X]), np.concatenate([GROUPS, GROUPS])
    given = {"X": twice, "groups": groups, "normalize_lambdas": "distance"}
    given |= {"y": np.tile(Y, 2), "regression_weight": 0.0, "subsample": 0.7}
    pairs = np.concatenate([PAIRS[:200], PAIRS[200:] + N])  # of equal rows, one has any
    found = [
        preferring(metric, pairs=pairs, pair_weights=c * OF_PAIRS, **given).predict(X)
        for c in (1.0, 2.0**-7)
    ]
    assert_array_equal(*found)
    scaled = [
        preferring(
            metric, pairs=pairs, pair_weights=c * OF_PAIRS, l2_regularization=c, **given
        ).predict(X)
        for c in (1.0, 4.0)
    ]
    assert_array_equal(*scaled)
    assert (scaled[0] != found[0]).any()


def test_equal_rows_with_other_pairs_do_not_depend_on_their_order():
    twice, groups = np.concatenate([X, X]), np.concatenate([GROUPS, GROUPS])
    pairs = np.concatenate([PAIRS[:200], PAIRS[200:] + N])
    swapped = (pairs + N) % (2 * N)
    for metric in (None, "ndcg"):
        given = {"y": np.tile(Y, 2), "groups": groups, "X": twice}
        found = [preferring(metric, pairs=p, **given) for p in (pairs, swapped)]
        assert_array_equal(*(ranker.predict(X) for ranker in found))


def test_a_factor_of_weights_does_not_change_the_order_of_equal_rows():
    judged = np.array([[0, 1], [2, 3], [2, 1]])
    offsets = np.array([0, 4])
    pairs = JudgedPairs(judged, *np.ones((2, 3)), offsets).sorted(offsets)
    orders = {
        tuple(
            TrainingData(
                LabelGrades.of_one(np.zeros(4)),
                offsets,
                ["a"],
                RowColumns(sample_weight=np.array([2.0**-k])),
                rows=np.arange(4),
                pairs=pairs,
            ).content_order(np.zeros(4, dtype=np.uint64))
        )
        for k in range(20)
    }
    assert len(orders) == 1


def test_rows_that_no_pair_names_are_as_if_not_given():
    expected = preferring().predict(X)
    more = np.concatenate([X, 100 + X[:30]])
    groups = np.concatenate([GROUPS, GROUPS[:15], 1000 + GROUPS[:15]])
    assert_array_equal(preferring(X=more, groups=groups).predict(X), expected)
    # with a metric all documents of the list count: they have their places in it
    grades = np.concatenate([Y, np.full(30, Y.max())])
    with_metric = preferring("ndcg@10", X=more, groups=groups, y=grades)
    assert (with_metric.predict(X) != preferring("ndcg@10").predict(X)).any()


@pytest.mark.parametrize("metric", [None, "ndcg@10"])
def test_weights_of_queries_multiply_their_pairs(metric):
    weights = np.where(GROUPS < 10, 0.0, np.where(GROUPS < 20, 2.0, 1.0))
    once = PAIRS[GROUPS[PAIRS[:, 0]] >= 10]
    if metric is None:
        twice = np.concatenate([once, once[GROUPS[once[:, 0]] < 20]])
        options = {"normalize_lambdas": False}
        found = preferring(sample_weight=weights, **options)
        expected = preferring(pairs=twice, **options)
        assert_allclose(found.predict(X), expected.predict(X), rtol=0, atol=1e-9)
    else:
        kept = GROUPS >= 10
        place = np.cumsum(kept) - 1
        found = preferring(metric, sample_weight=weights)
        expected = preferring(
            metric, X=X[kept], y=Y[kept], groups=GROUPS[kept], pairs=place[once],
            sample_weight=weights[kept],
        )  # fmt: skip
        assert_array_equal(found.predict(X), expected.predict(X))


@pytest.mark.parametrize("metric", [None, "ndcg@10"])
def test_graded_validation_data_stop_the_fit(metric):
    options = {"n_estimators": 60, "n_iter_no_change": 3, "early_stopping": True}
    ranker = preferring(metric, **options, **VALIDATION)
    scores = ranker.validation_score_
    best = int(np.argmax(scores))
    assert ranker.n_iter_ == max(1, best) < len(scores) - 1 < 60
    kept = ranker.score(HELD.data, HELD.target, groups=HELD.groups)
    assert kept == pytest.approx(scores[ranker.n_iter_], rel=1e-12)


def test_queries_with_grades_can_be_held_out():
    ranker = preferring("ndcg@10", early_stopping=True, pairs=GRADED)
    assert len(ranker.validation_score_) > 1
    with pytest.raises(ValueError, match="early_stopping=True with pairs needs graded"):
        preferring(early_stopping=True)


@pytest.mark.parametrize("metric", [None, "ndcg@10"])
def test_a_warm_start_goes_on(metric):
    whole = preferring(metric)
    ranker = LambdaMARTRanker(metric, **SMALL | {"n_estimators": 2, "warm_start": True})
    grades = None if metric is None else Y
    ranker.fit(X, grades, groups=GROUPS, pairs=PAIRS)
    ranker.set_params(n_estimators=5).fit(X, grades, groups=GROUPS, pairs=PAIRS)
    assert_array_equal(ranker.predict(X), whole.predict(X))


def test_models_of_pairs_are_saved_as_others_are():
    ranker = preferring()
    for other in (pickle.loads(pickle.dumps(ranker)), from_json(to_json(ranker))):
        assert_array_equal(other.predict(X), ranker.predict(X))


def test_small_trees_of_few_compared_rows():
    """min_samples_leaf and grow_policy count what is compared."""
    few = GRADED[GROUPS[GRADED[:, 0]] == GROUPS[GRADED[0, 0]]]
    ranker = preferring(pairs=few, groups=None, min_samples_leaf="auto")
    assert np.ptp(ranker.predict(X)) > 0


def test_categories_are_sorted_by_the_share_of_pairs_that_they_win():
    letters = np.array(list("cabd"))
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, N)
    frame = pd.DataFrame({"letter": pd.Categorical(letters[codes])})
    order = np.array([2, 0, 3, 1])  # of codes: who wins
    worth = order[codes]
    pairs = rng.permutation(np.argwhere(worth[:, None] > worth))[:2000]
    ranker = preferring(
        X=frame, groups=None, pairs=pairs, n_estimators=20, category_smoothing=0
    )
    by_code = [ranker.predict(frame)[codes == code][0] for code in range(4)]
    assert_array_equal(np.argsort(by_code), np.argsort(order))


def test_initial_scores_and_a_fitted_base_model_are_taken():
    base = LinearRegression().fit(X, Y)
    scores = base.predict(X)
    found = preferring(init=base).predict(X)
    ranker = preferring(init_score=scores)
    assert_allclose(ranker.predict(X, init_score=scores), found, rtol=1e-12)
    with pytest.raises(ValueError, match="init is a LinearRegression that is not fit"):
        preferring(init=LinearRegression())


POSITIONS = np.arange(N) - np.searchsorted(GROUPS, GROUPS)


@pytest.mark.parametrize(
    ("metric", "given", "message"),
    [
        (None, {}, "y is None"),
        (None, {"y": Y, "pairs": PAIRS}, "y and pairs were both given"),
        ("map", {"pairs": PAIRS}, "y is None, but metric='map' weighs each"),
        (None, {"y": Y, "pair_probabilities": CHANCES}, "needs pairs, and pairs is No"),
        ("ndcg", {"y": Y, "pair_weights": CHANCES}, "pair_weights needs pairs"),
        ("ndcg", {"y": Y, "pairs": GRADED[:2], "pair_weights": [0, 0]},
         "pair_weights is zero for every pair"),
        ("ndcg", {"y": np.append(1.0, np.zeros(N - 1)), "pairs": [[0, 1], [1, 2]],
                  "pair_weights": [0, 1]},
         "or weigh nothing themselves"),
        (None, {"pairs": [[0, 1], [2, 3]], "pair_weights": [1e60, 1]},
         "pair_weights has a largest value of 1e\\+60"),
        (None, {"pairs": PAIRS, "pair_weights": np.full(400, 1e-30),
                "sample_weight": np.full(N, 1e-30)},
         "sample_weight times pair_weights has a largest value of 1e-60"),
        ("ndcg", {"y": np.ones(N), "pairs": PAIRS}, "only documents of equal grades"),
        (None, {"pairs": PAIRS, "document_weight": np.ones(N)}, "document_weight says"),
        (None, {"pairs": PAIRS, "propensities": np.ones(N)}, "propensities corrects"),
        (None, {"pairs": [[0, 1], [1, 0]]}, "contradict each other evenly"),
        (None, {"pairs": PAIRS, "groups": None, "sample_weight": np.ones(N)},
         "without groups pairs have none"),
        (None, {"pairs": PAIRS[:3], "sample_weight":
                1.0 * ~np.isin(GROUPS, GROUPS[PAIRS[:3, 0]])},
         "sample_weight is zero for every query that has pairs"),
        (None, {"pairs": [[0, 1], [2, N - 1]]},
         f"pair 1 compares row 2 of query 0 with row {N - 1} of query 39"),
        ("ndcg", {"y": Y, "pairs": [[0, N - 1]]},
         f"pair 0 compares row 0 of query 0 with row {N - 1} of query 39"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_go_together_are_refused(metric, given, message):
    ranker = LambdaMARTRanker(metric, **SMALL)
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, **{"groups": GROUPS} | given)
    assert not hasattr(ranker, "ensemble_")


def test_an_objective_and_a_bias_of_positions_know_no_pairs():
    def returns(scores, grades, offsets):
        return scores, scores

    with pytest.raises(
        ValueError, match="objective is a function, which does not get pairs"
    ):
        preferring("ndcg", objective=returns)
    with pytest.raises(ValueError, match="position_bias corrects clicks"):
        preferring(position_bias="additive", positions=POSITIONS)


def test_held_out_queries_may_leave_no_pair():
    one = GRADED[GROUPS[GRADED[:, 0]] == GROUPS[GRADED[0, 0]]]
    message = "no query that is left to learn from has judged pairs"
    with pytest.raises(ValueError, match=message):
        preferring("ndcg", pairs=one, early_stopping=True, validation_fraction=0.97)
