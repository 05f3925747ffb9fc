"""Judged pairs: first what holds for every ranker, then what trees alone have.

The lambdas of judged pairs are tested in `lambdas/test_judged_pairs.py`, the updates of
networks in `test_ranknet.py` and `test_lambdarank.py`, meta-estimators in
`ensemble/test_pairs.py`, and what pairs, probabilities and weights must not be in
`bad_inputs/test_columns.py`.
"""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.export import from_json, to_json
from tests.networks import Linear, small

DATA = make_ranking(40, n_features=12, random_state=0)
X, Y, GROUPS = np.round(DATA.data, 1), DATA.target, DATA.groups
N = len(Y)
GRADED = np.argwhere((GROUPS[:, None] == GROUPS) & (Y[:, None] > Y))
RNG = np.random.default_rng(0)
#: Few, some against the grades, some twice with other probabilities and weights
PAIRS = RNG.permutation(GRADED)[:400]
PAIRS[::9] = PAIRS[::9, ::-1]
PAIRS[-20:] = PAIRS[:20]
CHANCES = RNG.choice([0.6, 0.9, 1.0], len(PAIRS))
OF_PAIRS = RNG.choice([0.0, 0.5, 1.0, 3.0], len(PAIRS))
WEIGHTED = {"pair_probabilities": CHANCES, "pair_weights": OF_PAIRS}
WEIGHTS = 1.0 + GROUPS % 3
HELD = make_ranking(10, n_features=12, random_state=1)
VALIDATION = {"X_val": HELD.data, "y_val": HELD.target, "groups_val": HELD.groups}

TREES = {"n_estimators": 5, "max_leaf_nodes": 6, "random_state": 0}
NETWORK = {"batch_size": 4, "max_iter": 3}
RANKERS = {
    "trees without a metric": (LambdaMARTRanker, None),
    "trees, ndcg": (LambdaMARTRanker, "ndcg@10"),
    "trees, map": (LambdaMARTRanker, "map"),
    "lambdarank without a metric": (LambdaRankRanker, None),
    "lambdarank, ndcg": (LambdaRankRanker, "ndcg@10"),
    "ranknet": (RankNetRanker, None),
}
every_ranker = pytest.mark.parametrize(
    ("kind", "metric"), RANKERS.values(), ids=RANKERS
)
without_a_metric = pytest.mark.parametrize(
    "kind", [LambdaMARTRanker, LambdaRankRanker, RankNetRanker]
)
#: One query if not, or without a metric none
grouped_or_not = pytest.mark.parametrize("grouped", [True, False])


def new(kind, metric=None, **options):
    if kind is LambdaMARTRanker:
        return kind(metric, **TREES | options)
    own = {} if kind is RankNetRanker else {"metric": metric}
    return small(kind, **own | NETWORK | options)


def judging(kind, metric=None, grouped=True, *, method="fit", **given):
    """Fit to pairs, and with a metric to grades; `given` has parameters, too."""
    known = new(kind).get_params()
    options = {name: given.pop(name) for name in list(given) if name in known}
    given = {"X": X, "y": Y, "groups": GROUPS, "pairs": PAIRS} | given
    if metric is None:
        given["y"] = None
    if not grouped:
        given["groups"] = None if metric is None else np.zeros(given["X"].shape[0])
    return getattr(new(kind, metric, **options), method)(**given)


def is_pair_by_pair(kind, metric, grouped):
    """Whether batches are made of pairs, and not of queries."""
    return kind is not LambdaMARTRanker and metric is None and not grouped


def assert_same(found, expected, X=X, up_to_rounding=False):
    """Check that scores and curves are the same bits, or the same up to rounding."""
    trees = isinstance(expected, LambdaMARTRanker)
    atol = (1e-9 if trees else 1e-5) if up_to_rounding else 0
    assert_allclose(found.predict(X), expected.predict(X), rtol=0, atol=atol)
    curves = expected.evals_result_["train"]
    assert found.evals_result_["train"].keys() == curves.keys()
    for name, values in curves.items():
        curve = found.evals_result_["train"][name]
        assert_allclose(curve, values, rtol=0, atol=atol)


def differ(one, other, X=X):
    return np.abs(one.predict(X) - other.predict(X)).max() > 1e-3


# --- pairs and grades -------------------------------------------------------------


@every_ranker
@pytest.mark.parametrize("given", [{}, {"sample_weight": WEIGHTS}], ids=len)
def test_all_pairs_of_the_grades_train_the_model_of_the_grades(kind, metric, given):
    options = {}
    if kind is LambdaMARTRanker:
        options["regression_weight"] = 0.0 if metric is None else 2.0
        options["verbose"] = 1  # of grades, trees record no curve without it
    judged = judging(kind, metric, pairs=GRADED, **options, **given)
    rows = np.isin(GROUPS, GROUPS[GRADED[:, 0]])  # others have no part in the curve
    given = {name: values[rows] for name, values in given.items()}
    graded = new(kind, metric, **options)
    graded.fit(X[rows], Y[rows], groups=GROUPS[rows], **given)
    assert_same(judged, graded, up_to_rounding=True)
    assert np.ptp(graded.predict(X)) > 0.1


@without_a_metric
@grouped_or_not
def test_rows_that_no_pair_names_are_as_if_not_given(kind, grouped):
    more = np.concatenate([X, 100 + X[:30]])
    groups = np.concatenate([GROUPS, GROUPS[:15], 1000 + GROUPS[:15]])
    found = judging(kind, grouped=grouped, X=more, groups=groups)
    assert_same(found, judging(kind, grouped=grouped))


@pytest.mark.parametrize("kind", [LambdaMARTRanker, LambdaRankRanker])
def test_with_a_metric_all_documents_have_their_places_in_the_list(kind):
    more = np.concatenate([X, 100 + X[:30]])
    groups = np.concatenate([GROUPS, GROUPS[:15], 1000 + GROUPS[:15]])
    grades = np.concatenate([Y, np.full(30, Y.max())])
    found = judging(kind, "ndcg@10", X=more, groups=groups, y=grades)
    assert (found.predict(X) != judging(kind, "ndcg@10").predict(X)).any()


# --- what must not matter ---------------------------------------------------------


@every_ranker
@grouped_or_not
def test_the_order_of_rows_and_of_pairs_changes_no_bit(kind, metric, grouped):
    rng = np.random.default_rng(4)
    order, of_pairs = rng.permutation(N), rng.permutation(len(PAIRS))
    moved = judging(
        kind, metric, grouped, X=X[order], y=Y[order], groups=GROUPS[order],
        pairs=np.argsort(order)[PAIRS][of_pairs], pair_weights=OF_PAIRS[of_pairs],
        pair_probabilities=CHANCES[of_pairs],
    )  # fmt: skip
    assert_same(moved, judging(kind, metric, grouped, **WEIGHTED))


@every_ranker
@grouped_or_not
def test_neither_the_order_of_pairs_nor_containers_nor_threads_matter(
    kind, metric, grouped
):
    order = np.random.default_rng(5).permutation(len(PAIRS))
    moved = {"pairs": PAIRS[order], "pair_probabilities": CHANCES[order]}
    moved["pair_weights"] = OF_PAIRS[order]
    contained = {
        "X": pd.DataFrame(X), "pairs": pd.DataFrame(PAIRS),
        "pair_probabilities": pd.Series(CHANCES, index=CHANCES),
        "pair_weights": pd.Series(OF_PAIRS, index=OF_PAIRS),
    }  # fmt: skip
    others = [{"n_jobs": 2}, moved, contained]
    others += [{"pairs": PAIRS.tolist()}, {"pairs": PAIRS.astype(np.uint16)}]
    others.append({"pair_probabilities": pd.DataFrame({"p": CHANCES})})
    options = {}
    if kind is LambdaMARTRanker:
        others.append({"X": csr_array(X)})
    else:  # a network of float64, in which another order of a sum would show
        options["network"] = Linear(X.shape[1])
    expected = judging(kind, metric, grouped, **options, **WEIGHTED)
    for other in others:
        found = judging(kind, metric, grouped, **options | WEIGHTED | other)
        assert_same(found, expected, other.get("X", X))
    # pairs that are given twice, with other weights
    order = np.random.default_rng(6).permutation(2 * len(PAIRS))
    twice, weights = np.tile(PAIRS, (2, 1)), np.append(OF_PAIRS, 0.7 + OF_PAIRS)
    one, other = (
        judging(kind, metric, grouped, **options, pairs=p, pair_weights=w)
        for p, w in ((twice, weights), (twice[order], weights[order]))
    )
    assert_same(one, other)
    zero_or_one = judging(kind, metric, grouped, pair_probabilities=CHANCES > 0.6)
    numbers = judging(kind, metric, grouped, pair_probabilities=1.0 * (CHANCES > 0.6))
    assert_same(zero_or_one, numbers)


@every_ranker
def test_equal_rows_with_other_pairs_do_not_depend_on_their_order(kind, metric):
    twice, groups = np.concatenate([X, X]), np.concatenate([GROUPS, GROUPS])
    pairs = np.concatenate([PAIRS[:200], PAIRS[200:] + N])
    given = {"y": np.tile(Y, 2), "groups": groups, "X": twice}
    found, swapped = (
        judging(kind, metric, pairs=p, **given) for p in (pairs, (pairs + N) % (2 * N))
    )
    assert_same(found, swapped)


@every_ranker
def test_models_of_pairs_are_saved_as_others_are(kind, metric):
    ranker = judging(kind, metric)
    copies = [pickle.loads(pickle.dumps(ranker))]
    if kind is LambdaMARTRanker:
        copies.append(from_json(to_json(ranker)))
    for other in copies:
        assert_array_equal(other.predict(X), ranker.predict(X))


# --- weights of pairs and of queries ----------------------------------------------

#: What counts pairs, their queries or their rows
COUNTING = {
    "drawn rows": {"subsample": 0.5},
    "symmetric": {"grow_policy": "symmetric"},
    "large leaves": {"min_samples_leaf": "auto"},
    "categories": {"categorical_features": [0, 3]},
}
COUNTED = {name: (*ranker, {}) for name, ranker in RANKERS.items()} | {
    f"{name}, {counting}": (*RANKERS[name], options)
    for name in RANKERS
    for counting, options in COUNTING.items()
    if name.startswith("trees")
}


@pytest.mark.parametrize(("kind", "metric", "options"), COUNTED.values(), ids=COUNTED)
@pytest.mark.parametrize("weighted", [False, True])
@grouped_or_not
def test_a_pair_of_weight_0_is_as_if_it_were_not_there(
    kind, metric, options, weighted, grouped
):
    kept = np.random.default_rng(6).permutation(np.arange(len(PAIRS)) % 3 > 0)
    kept[GROUPS[PAIRS[:, 0]] == GROUPS[PAIRS[5, 0]]] = False  # a whole query
    values = np.where(OF_PAIRS > 0, OF_PAIRS, 2.0) if weighted else np.ones(len(PAIRS))
    table = X.copy()
    table[:, [0, 3]] = np.round(X[:, [0, 3]]) - np.round(X[:, [0, 3]]).min()
    given = {"X": table} | options
    every = judging(kind, metric, grouped, pair_probabilities=CHANCES, **given)
    for method in ("fit", "partial_fit") if hasattr(every, "partial_fit") else ("fit",):
        found = judging(
            kind, metric, grouped, method=method, pair_probabilities=CHANCES,
            pair_weights=values * kept, **given,
        )  # fmt: skip
        expected = judging(
            kind, metric, grouped, method=method, pairs=PAIRS[kept],
            pair_probabilities=CHANCES[kept],
            pair_weights=values[kept] if weighted else None, **given,
        )  # fmt: skip
        assert_same(found, expected, table)
        assert (found.predict(table) != every.predict(table)).any()


@every_ranker
@grouped_or_not
def test_a_pair_of_weight_2_is_the_pair_twice(kind, metric, grouped):
    weights = np.where(np.arange(len(PAIRS)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(PAIRS)), weights.astype(int))
    plain, of_ones, found, expected = (
        judging(kind, metric, grouped, **given)
        for given in (
            {"pair_probabilities": CHANCES},
            {"pair_probabilities": CHANCES, "pair_weights": np.ones(len(PAIRS))},
            {"pair_probabilities": CHANCES, "pair_weights": weights},
            {"pair_probabilities": CHANCES[twice], "pairs": PAIRS[twice]},
        )
    )
    assert_same(of_ones, plain)
    assert differ(found, plain)
    if is_pair_by_pair(kind, metric, grouped):  # a batch has so many pairs
        assert differ(found, expected)
    else:
        assert_same(found, expected, up_to_rounding=True)


@every_ranker
def test_pairs_of_a_query_of_weight_0_are_not_there(kind, metric):
    weights = np.where(GROUPS < 10, 0.0, WEIGHTS)
    rows, kept = GROUPS >= 10, GROUPS[PAIRS[:, 0]] >= 10
    place = np.cumsum(rows) - 1
    found = judging(kind, metric, sample_weight=weights)
    expected = judging(
        kind, metric, X=X[rows], y=Y[rows], groups=GROUPS[rows],
        pairs=place[PAIRS[kept]], sample_weight=weights[rows],
    )  # fmt: skip
    assert_same(found, expected)


@every_ranker
def test_a_query_of_weight_2_has_its_pairs_twice(kind, metric):
    options = {}
    if kind is LambdaMARTRanker:
        # not the factor of a query, nor its regression on grades, which has no pairs
        options = {"normalize_lambdas": False, "regression_weight": 0.0}
    weights = np.where(GROUPS < 20, 2.0, 1.0)
    twice = np.concatenate([PAIRS, PAIRS[GROUPS[PAIRS[:, 0]] < 20]])
    found = judging(kind, metric, sample_weight=weights, **options)
    expected = judging(kind, metric, pairs=twice, **options)
    if metric is None:
        assert_same(found, expected, up_to_rounding=True)
    else:  # the curve is of the metric, in which weights of queries count
        atol = 1e-9 if kind is LambdaMARTRanker else 1e-5
        assert_allclose(found.predict(X), expected.predict(X), rtol=0, atol=atol)
    assert differ(found, judging(kind, metric, **options))


@pytest.mark.parametrize("metric", [None, "ndcg@10"])
def test_a_common_factor_of_the_weights_of_pairs_changes_no_bit_of_trees(metric):
    twice, groups = np.concatenate([X, X]), np.concatenate([GROUPS, GROUPS])
    given = {"X": twice, "groups": groups, "normalize_lambdas": "distance"}
    given |= {"y": np.tile(Y, 2), "regression_weight": 0.0, "subsample": 0.7}
    # of equal rows, one has any
    given["pairs"] = np.concatenate([PAIRS[:200], PAIRS[200:] + N])
    plain, factored, one, scaled = (
        judging(
            LambdaMARTRanker, metric, pair_weights=c * OF_PAIRS, l2_regularization=l2,
            **given,
        )
        for c, l2 in ((1.0, 0.0), (2.0**-7, 0.0), (1.0, 1.0), (4.0, 4.0))
    )  # fmt: skip
    assert_same(factored, plain)
    assert_same(scaled, one)
    assert (scaled.predict(X) != plain.predict(X)).any()


# --- early stopping, and fits that go on ------------------------------------------


@every_ranker
def test_graded_validation_data_stop_the_fit(kind, metric):
    options = {"n_iter_no_change": 3, "early_stopping": True}
    if kind is LambdaMARTRanker:
        options |= {"n_estimators": 60}
    else:
        options |= {"max_iter": 60, "tol": 0.0, "learning_rate_init": 0.05}
    ranker = judging(kind, metric, **options, **VALIDATION)
    scores = ranker.validation_score_
    best = int(np.argmax(scores))
    if kind is LambdaMARTRanker:
        at = max(1, best)  # the first score is of no tree
        assert ranker.n_iter_ == at < len(scores) - 1 < 60
    else:
        at = best
        assert ranker.n_iter_ == len(scores) == best + 4 < 60
    kept = ranker.score(HELD.data, HELD.target, groups=HELD.groups)
    assert kept == pytest.approx(scores[at], rel=1e-12)
    ignored = judging(kind, metric, early_stopping=False, **VALIDATION)
    assert_array_equal(ignored.predict(X), judging(kind, metric).predict(X))
    assert len(ignored.validation_score_) == 0


@every_ranker
def test_only_queries_with_grades_can_be_held_out(kind, metric):
    if metric is None:
        message = "early_stopping=True with pairs needs graded documents.*X_val"
        with pytest.raises(ValueError, match=message):
            judging(kind, early_stopping=True)
        return
    ranker = judging(kind, metric, early_stopping=True, pairs=GRADED)
    assert len(ranker.validation_score_) > 1
    one = GRADED[GROUPS[GRADED[:, 0]] == GROUPS[GRADED[0, 0]]]
    message = "no query that is left to learn from has judged pairs"
    with pytest.raises(ValueError, match=message):
        judging(kind, metric, pairs=one, early_stopping=True, validation_fraction=0.97)


@every_ranker
@grouped_or_not
def test_fits_that_go_on_are_one_long_fit(kind, metric, grouped):
    whole, given = judging(kind, metric, grouped), {"pairs": PAIRS}
    if metric is not None or grouped:
        given["groups"] = GROUPS if grouped else np.zeros(N)
    if metric is not None:
        given["y"] = Y
    if kind is LambdaMARTRanker:
        ranker = new(kind, metric, n_estimators=2, warm_start=True).fit(X, **given)
        ranker.set_params(n_estimators=5).fit(X, **given)
    else:
        ranker = new(kind, metric)
        for _ in range(3):
            ranker.partial_fit(X, **given)
    assert_same(ranker, whole)
    assert ranker.n_iter_ == whole.n_iter_


# --- arguments that do not go together --------------------------------------------

ONES, POSITIONS = np.ones(N), np.arange(N) - np.searchsorted(GROUPS, GROUPS)
FIRST = GROUPS[PAIRS[:3, 0]]


def returns(scores, grades, offsets):
    return scores, scores


#: metric, arguments and parameters, message
REFUSED = [
    (None, {}, "y is None"),
    (None, {"y": Y, "pairs": PAIRS}, "y and pairs were both given: learn either from"),
    ("ndcg@10", {"pairs": PAIRS}, "y is None, but metric='ndcg@10' weighs each of the"),
    (None, {"y": Y, "pair_probabilities": CHANCES}, "needs pairs, and pairs is None"),
    ("ndcg@10", {"y": Y, "pair_weights": CHANCES}, "pair_weights needs pairs"),
    ("ndcg@10", {"y": Y, "pairs": GRADED[:2], "pair_weights": [0, 0]},
     "pair_weights is zero for every pair"),
    ("ndcg@10", {"y": np.append(1.0, np.zeros(N - 1)), "pairs": [[0, 1], [1, 2]],
                 "pair_weights": [0, 1]}, "or weigh nothing themselves"),
    ("ndcg@10", {"y": ONES, "pairs": PAIRS}, "only documents of equal grades"),
    (None, {"pairs": [[0, 1], [2, 3]], "pair_weights": [1e60, 1]},
     r"pair_weights has a largest value of 1e\+60"),
    (None, {"pairs": [[0, 1], [2, 3]], "pair_weights": [1e-60, 0]},
     "pair_weights has a largest value of 1e-60"),
    (None, {"pairs": PAIRS, "sample_weight": 1e60 * ONES},
     r"sample_weight has a largest value of 1e\+60"),
    (None, {"pairs": PAIRS, "groups": None, "sample_weight": ONES},
     "sample_weight weighs queries, and without groups pairs have none"),
    (None, {"pairs": PAIRS[:3], "sample_weight": 1.0 * ~np.isin(GROUPS, FIRST)},
     "sample_weight is zero for every query that has pairs"),
    (None, {"pairs": [[0, 1], [2, N - 1]]},
     f"pair 1 compares row 2 of query 0 with row {N - 1} of query 39"),
    ("ndcg@10", {"y": Y, "pairs": [[0, N - 1]]},
     f"pair 0 compares row 0 of query 0 with row {N - 1} of query 39"),
    ("ndcg@10", {"y": Y, "pairs": PAIRS, "objective": returns},
     "objective is a function, which does not get pairs"),
    *((metric, {"y": y, "pairs": PAIRS} | given, message)
      for metric, y in (("ndcg@10", Y), (None, None))
      for given, message in (
          ({"document_weight": ONES}, "document_weight says how certain grades are"),
          ({"propensities": ONES}, "propensities corrects clicks, but pairs are judg"),
          ({"positions": POSITIONS, "position_bias": "additive"},
           "position_bias corrects clicks, but pairs are judgements"),
      )),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "metric", "given", "message"),
    [
        (kind, metric, given, message)
        for metric, given, message in REFUSED
        for kind, of_kind in RANKERS.values()
        if of_kind == metric
    ],
)
def test_arguments_that_do_not_go_together_are_refused(kind, metric, given, message):
    known = new(kind).get_params()
    options = {name: value for name, value in given.items() if name in known}
    given = {name: value for name, value in given.items() if name not in known}
    ranker = new(kind, metric, **options)
    for method in {"fit", "partial_fit"} & set(dir(ranker)):
        with pytest.raises(ValueError, match=message):
            getattr(ranker, method)(X, **{"groups": GROUPS} | given)
    assert not hasattr(ranker, "n_features_in_")


@pytest.mark.parametrize(
    ("kind", "of_pairs", "of_queries", "message"),
    [
        (
            LambdaMARTRanker,
            1e-30,
            1e-30,
            "sample_weight times pair_weights has .* 1e-60",
        ),
        (RankNetRanker, 1e10, 1e10, r"sample_weight times pair_weights has .* 1e\+20"),
        (RankNetRanker, 1e-20, 1.0, "^pair_weights has a largest value of 1e-20"),
        (RankNetRanker, 1.0, 1e30, r"^sample_weight has a largest value of 1e\+30"),
    ],
)
def test_weights_have_a_range(kind, of_pairs, of_queries, message):
    weights = {"sample_weight": of_queries * ONES}
    with pytest.raises(ValueError, match=message):
        judging(kind, pair_weights=np.full(len(PAIRS), of_pairs), **weights)


# --- trees alone ------------------------------------------------------------------


def test_without_grades_there_is_no_regression_on_them():
    one, other = (
        judging(LambdaMARTRanker, regression_weight=weight) for weight in (0, 3)
    )
    assert_same(one, other)
    one, other = (
        judging(LambdaMARTRanker, "ndcg", regression_weight=weight) for weight in (0, 3)
    )
    assert (one.predict(X) != other.predict(X)).any()


def test_pairs_are_learned_without_grades_and_groups():
    options = {"n_estimators": 30, "min_samples_leaf": 5}
    ranker = judging(LambdaMARTRanker, grouped=False, **options)
    scores = ranker.predict(X)
    assert np.mean(scores[PAIRS[:, 0]] > scores[PAIRS[:, 1]]) > 0.75
    assert ranker.loss_curve_[0] == pytest.approx(np.log(2))
    assert (np.diff(ranker.loss_curve_) < 0).all()
    assert ranker.evals_result_.keys() == {"train"}
    # one query: its lambdas have one factor, which no leaf value shows
    other = judging(LambdaMARTRanker, groups=np.zeros(N), **options)
    assert_array_equal(scores, other.predict(X))


def test_small_trees_of_few_compared_rows():
    """min_samples_leaf and grow_policy count what is compared."""
    few = GRADED[GROUPS[GRADED[:, 0]] == GROUPS[GRADED[0, 0]]]
    ranker = judging(
        LambdaMARTRanker, grouped=False, pairs=few, min_samples_leaf="auto"
    )
    assert np.ptp(ranker.predict(X)) > 0


def test_categories_are_sorted_by_the_share_of_pairs_that_they_win():
    letters = np.array(list("cabd"))
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, N)
    frame = pd.DataFrame({"letter": pd.Categorical(letters[codes])})
    order = np.array([2, 0, 3, 1])  # of codes: who wins
    worth = order[codes]
    pairs = rng.permutation(np.argwhere(worth[:, None] > worth))[:2000]
    options = {"n_estimators": 20, "category_smoothing": 0}
    ranker = judging(LambdaMARTRanker, grouped=False, X=frame, pairs=pairs, **options)
    by_code = [ranker.predict(frame)[codes == code][0] for code in range(4)]
    assert_array_equal(np.argsort(by_code), np.argsort(order))


def test_initial_scores_and_a_fitted_base_model_are_taken():
    base = LinearRegression().fit(X, Y)
    scores = base.predict(X)
    found = judging(LambdaMARTRanker, init=base).predict(X)
    ranker = judging(LambdaMARTRanker, init_score=scores)
    assert_allclose(ranker.predict(X, init_score=scores), found, rtol=1e-12)
    with pytest.raises(ValueError, match="init is a LinearRegression that is not fit"):
        judging(LambdaMARTRanker, init=LinearRegression())


def test_pairs_that_contradict_each_other_are_refused():
    with pytest.raises(ValueError, match="contradict each other evenly"):
        judging(LambdaMARTRanker, pairs=[[0, 1], [1, 0]])
