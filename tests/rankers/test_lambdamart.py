"""LambdaMART through its public interface."""

from __future__ import annotations

import pickle
import weakref
from functools import partial

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker, NothingLearnedWarning
from sklearn_ltr._core.rankers import lambdamart
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.export import to_tree_model
from sklearn_ltr.metrics import NDCG, Metric, get_metric
from tests import networks
from tests.networks import Lists, of_val
from tests.oracles.metrics import DEFINITIONS
from tests.user_metrics import NDCGOfAUser

NAN, INF = float("nan"), float("inf")
REPORT = {
    "grow_policy": "best_first",
    "split_gain": "least_squares",
    "subsample": 1.0,
    "regression_weight": 0.0,
    "truncation_level": None,
    "normalize_lambdas": False,
}
# nothing that is drawn for each tree
NO_DRAWS = {"subsample": 1.0}
ALL_DRAWN = {
    "subsample": 0.5,
    "colsample_bytree": 3,
    "max_features": 2,
}


draw = partial(networks.draw, longest=10, decimals=1)
DATA = draw()
VALIDATION = draw(12, seed=1)
OF_VAL = of_val(VALIDATION)


def small(**options) -> LambdaMARTRanker:
    """A ranker that is fitted quickly."""
    quick = {
        "n_estimators": 6,
        "max_leaf_nodes": 5,
        "min_samples_leaf": 3,
        "max_bins": 16,
        "random_state": 0,
        "n_jobs": 1,
    }
    return LambdaMARTRanker(**(quick | options))


def fitted(data: Lists = DATA, weight=None, **options) -> LambdaMARTRanker:
    return small(**options).fit(*data, groups=data.groups, sample_weight=weight)


def validated(
    data: Lists = DATA, val: Lists = VALIDATION, **options
) -> LambdaMARTRanker:
    return small(**options).fit(*data, groups=data.groups, **of_val(val))


def model(ranker: LambdaMARTRanker) -> bytes:
    return pickle.dumps(ranker.ensemble_)


# --- it learns --------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "mode"), [("ndcg", {}), (None, REPORT)])
def test_separable_grades_are_ranked_perfectly(metric, mode):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(8), 6)
    y = np.tile([0, 0, 1, 1, 2, 2], 8)
    X = np.column_stack([rng.normal(size=48).round(1), y + rng.uniform(0, 0.9, 48)])
    ranker = small(
        metric=metric, n_estimators=15, learning_rate=0.5, min_samples_leaf=1, **mode
    )
    ranker.fit(X, y, groups=groups)
    measure = NDCG() if metric is None else get_metric(metric)
    perfect = measure(y, y, groups=groups)
    score = measure(y, ranker.predict(X), groups=groups)
    assert score == pytest.approx(perfect, abs=1e-12)


@pytest.mark.parametrize(
    ("metric", "mode"), [("ndcg", {"subsample": 1.0}), (None, REPORT)]
)
def test_scores_stay_finite_when_the_lambdas_of_separable_grades_vanish(metric, mode):
    # the scores of a pair differ by about 8 more with every tree
    X, y = np.arange(10.0)[:, None], (np.arange(10) >= 5).astype(int)
    ranker = small(
        metric=metric, n_estimators=250, learning_rate=4.0, max_leaf_nodes=2,
        min_samples_leaf=1, **mode,
    )  # fmt: skip
    ranker.fit(X, y, groups=np.zeros(10))
    scores = ranker.predict(X)
    assert np.isfinite(scores).all()
    assert scores[:5].max() < scores[5:].min()
    assert ranker.feature_importances_.tolist() == [1.0]


@pytest.mark.parametrize(
    "metric",
    [*(f"{name}@2" for name in DEFINITIONS), "map", "r_precision", "bpref", None],
)
def test_every_metric_trains(metric):
    ranker = fitted(metric=metric)
    assert len(ranker.ensemble_) == ranker.n_estimators
    assert np.isfinite(ranker.predict(DATA.X)).all()
    measure = NDCG(10) if metric is None else get_metric(metric)
    worst = measure(DATA.y, np.zeros(len(DATA.y)), groups=DATA.groups)
    assert ranker.score(*DATA, groups=DATA.groups) > worst


def test_a_metric_of_the_user_trains_like_its_closed_form():
    own, built_in = fitted(metric=NDCGOfAUser()), fitted(metric="ndcg")
    # swap deltas differ by some ulp, and no two split gains here are that close
    np.testing.assert_allclose(own.predict(DATA.X), built_in.predict(DATA.X), rtol=1e-6)
    score = own.score(*DATA, groups=DATA.groups)
    assert score == pytest.approx(built_in.score(*DATA, groups=DATA.groups), rel=1e-12)


def test_the_first_tree_makes_newton_steps_on_the_lambdas():
    """Section 7 of Burges (2010), on two queries of one pair and one split, by hand.

    At equal scores rho = 1/2, and the swap delta is 1 - 1 / log2(3) for both pairs.
    """
    X, y = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0, 1, 0, 1])
    ranker = small(
        metric="ndcg", n_estimators=1, learning_rate=1.0, min_samples_leaf=1, **REPORT
    )
    scores = ranker.fit(X, y, groups=[0, 0, 1, 1]).predict(X)
    # of each document: |gradient| = delta / 2, hessian = delta / 4
    np.testing.assert_allclose(scores, [-2, 2, -2, 2], rtol=1e-14)


# --- what the parameters do -------------------------------------------------------


def sizes_of_trees(ranker) -> list[int]:
    """Number of leaves of each tree."""
    bounds = [*ranker.ensemble_.first_node, len(ranker.ensemble_.feature)]
    return [(b - a + 1) // 2 for a, b in zip(bounds[:-1], bounds[1:], strict=True)]


def rows_of_trees(ranker) -> np.ndarray:
    """Number of training rows of each tree."""
    return np.add.reduceat(ranker.ensemble_.n_rows, ranker.ensemble_.first_node)


def test_the_size_of_a_tree_is_limited_by_leaves_depth_and_samples():
    ranker = fitted(max_leaf_nodes=7, min_samples_leaf=2, grow_policy="best_first")
    assert max(sizes_of_trees(ranker)) == 7
    ranker = fitted(max_depth=1)
    assert set(sizes_of_trees(ranker)) == {2}
    ranker = fitted(min_samples_leaf=11, max_leaf_nodes=50, subsample=1)
    leaves = ranker.ensemble_.feature < 0
    assert ranker.ensemble_.n_rows[leaves].min() >= 11
    options = {"subsample": 0.5, "grow_policy": "best_first"}
    sampled = fitted(min_samples_leaf=11, max_leaf_nodes=50, **options)
    leaves = sampled.ensemble_.feature < 0
    assert 6 <= sampled.ensemble_.n_rows[leaves].min() < 11  # 6 of the sample
    assert len(ranker.ensemble_) == ranker.n_iter_ == ranker.n_estimators


def test_min_samples_leaf_does_not_count_documents_of_queries_without_pairs():
    alone = DATA.take(DATA.groups < 3)
    equal = DATA.take(DATA.groups >= 3)
    equal.y[:] = 1.0
    data = Lists(*(np.concatenate(pair) for pair in (
        (alone.X, equal.X), (alone.y, equal.y), (alone.groups, equal.groups)
    )))  # fmt: skip
    with_pairs = [g for g in range(3) if len(set(alone.y[alone.groups == g])) > 1]
    expected = np.isin(alone.groups, with_pairs).sum()
    assert (rows_of_trees(fitted(data)) == expected).all()
    np.testing.assert_array_equal(
        fitted(data).predict(DATA.X), fitted(alone).predict(DATA.X)
    )


@pytest.mark.parametrize(
    "random",
    [
        {"subsample": 0.5},
        {"colsample_bytree": 0.5},
        {"max_features": 0.5},
    ],
    ids=lambda random: next(iter(random)),
)
def test_what_is_drawn_depends_on_random_state_alone(random):
    random = NO_DRAWS | random
    one = model(fitted(random_state=3, **random))
    assert model(fitted(random_state=3, **random)) == one
    assert model(fitted(random_state=np.random.RandomState(3), **random)) == one
    assert model(fitted(random_state=4, **random)) != one
    assert model(fitted(random_state=3, **NO_DRAWS)) != one


def test_if_nothing_is_drawn_random_state_does_not_matter():
    one = fitted(random_state=1, **NO_DRAWS)
    assert model(one) == model(fitted(random_state=None, **NO_DRAWS))


# --- features drawn for each tree and for each split ------------------------------

N_DRAWN_TREES = 40


def features_of_trees(**options) -> list[list[int]]:
    """The features that the nodes of each tree split on; the root's is the first.

    Without split noise only what is drawn makes a weaker feature win a node.
    """
    options = NO_DRAWS | {"n_estimators": N_DRAWN_TREES} | options
    ensemble = fitted(**options).ensemble_
    trees = (ensemble.part(m, m + 1) for m in range(N_DRAWN_TREES))
    return [tree.feature[tree.feature >= 0].tolist() for tree in trees]


@pytest.mark.parametrize(
    ("colsample_bytree", "n_drawn"), [(1, 1), (0.5, 2), (0.01, 1), (0.99, 3)]
)
def test_a_tree_splits_only_on_the_features_drawn_for_it(colsample_bytree, n_drawn):
    used = [set(t) for t in features_of_trees(colsample_bytree=colsample_bytree)]
    assert max(map(len, used)) == n_drawn
    assert set.union(*used) == {0, 1, 2, 3}


@pytest.mark.parametrize("name", ["max_features", "colsample_bytree"])
def test_a_fraction_of_one_and_the_number_of_all_features_draw_nothing(name):
    expected = model(fitted())
    assert model(fitted(**{name: 1.0})) == expected
    assert model(fitted(**{name: 4})) == expected
    assert model(fitted(**{name: 0.99})) != expected


# --- truncation, regularization ---------------------------------------------------


def test_the_truncation_level_deepens_a_small_cutoff_only():
    def same(*pairs):
        return 1 == len({model(fitted(metric=m, truncation_level=t)) for m, t in pairs})

    assert same(("ndcg@3", 6), ("ndcg@6", None))
    assert same(("ndcg@6", 3), ("ndcg@6", None))
    assert same(("ndcg", 3), ("ndcg", None))
    assert not same(("ndcg@3", 6), ("ndcg@3", None))
    # the reported metric keeps its own cutoff
    ranker = fitted(metric="ndcg@3", truncation_level=6)
    expected = NDCG(3)(DATA.y, ranker.predict(DATA.X), groups=DATA.groups)
    assert ranker.score(*DATA, groups=DATA.groups) == expected


def test_l2_regularization_shrinks_the_scores():
    regular = fitted(n_estimators=1, l2_regularization=50.0, max_leaf_nodes=2)
    plain = fitted(n_estimators=1, max_leaf_nodes=2)
    assert np.abs(regular.predict(DATA.X)).max() < np.abs(plain.predict(DATA.X)).max()


# --- unusual data -----------------------------------------------------------------


def test_missing_values_are_learned_from():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 6)
    y = np.tile([0, 1, 0, 1, 0, 1], 10)
    X = np.column_stack([np.where(y == 1, NAN, rng.normal(size=60)), np.full(60, NAN)])
    ranker = fitted(Lists(X, y, groups))
    assert ranker.score(X, y, groups=groups) == 1.0
    assert ranker.feature_importances_.tolist() == [1.0, 0.0]
    assert np.isfinite(ranker.predict(np.full((3, 2), NAN))).all()


def test_queries_without_pairs_count_in_the_metric_only():
    data = DATA.with_queries_without_pairs()
    np.testing.assert_array_equal(
        fitted(data).predict(DATA.X), fitted().predict(DATA.X)
    )
    ranker = fitted(data, verbose=1)
    stages = [np.zeros(len(data.y)), *ranker.staged_predict(data.X)]
    expected = [NDCG(10)(data.y, s, groups=data.groups) for s in stages]
    np.testing.assert_allclose(ranker.train_score_, expected, rtol=1e-14)


# --- early stopping ---------------------------------------------------------------


@pytest.mark.parametrize(("metric", "patience"), [("map", 3), (None, 1)])
def test_early_stopping_keeps_the_best_iteration(metric, patience):
    ranker = validated(
        metric=metric, n_estimators=40, learning_rate=0.7, min_samples_leaf=1,
        n_iter_no_change=patience,
    )  # fmt: skip
    scores = ranker.validation_score_
    n_grown = len(scores) - 1
    best = int(np.argmax(scores))
    assert n_grown == best + patience < 40
    assert ranker.n_iter_ == len(ranker.ensemble_) == max(1, best)
    train = ranker.loss_curve_ if metric is None else ranker.train_score_
    assert len(train) == n_grown + 1
    measure = NDCG(10) if metric is None else get_metric(metric)
    histories = [(DATA, ranker.train_score_)] if metric is not None else []
    for data, history in [*histories, (VALIDATION, scores)]:
        if len(history) == 0:  # the cost is recorded instead
            continue
        stages = [np.zeros(len(data.y)), *ranker.staged_predict(data.X)]
        expected = [measure(data.y, s, groups=data.groups) for s in stages]
        np.testing.assert_array_equal(history[: len(stages)], expected)
        score = ranker.score(*data, groups=data.groups)
        assert score == history[ranker.n_iter_]


def test_the_trees_up_to_the_best_are_those_of_a_plain_fit():
    ranker = validated(n_estimators=40, learning_rate=0.7, n_iter_no_change=3)
    assert 1 < ranker.n_iter_ < 40
    assert model(ranker) == model(
        fitted(n_estimators=ranker.n_iter_, learning_rate=0.7)
    )


def test_early_stopping_follows_scoring_if_it_is_given():
    ranker = validated(metric="ndcg@5", scoring="mrr", n_estimators=5)
    stages = [np.zeros(len(VALIDATION.y)), *ranker.staged_predict(VALIDATION.X)]
    expected = [
        get_metric("mrr")(VALIDATION.y, s, groups=VALIDATION.groups) for s in stages
    ]
    np.testing.assert_array_equal(ranker.validation_score_[: len(stages)], expected)


SEEN: list[int] = []


class Length(Metric):
    """Records the number of documents of each query that it measures."""

    def value(self, ranked_grades):
        SEEN.append(len(ranked_grades))
        return 0.5


def test_validation_fraction_holds_out_whole_queries_of_the_training_data():
    sizes = np.arange(2, 22)  # 20 queries of different lengths
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(20), sizes))
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(len(groups), 2)).round(1), rng.integers(1, 4, len(groups))
    for share, n_out in ((0.1, 2), (0.25, 5), (0.001, 1), (0.5, 10)):
        SEEN.clear()
        ranker = small(
            scoring=Length(), early_stopping=True, validation_fraction=share,
            n_estimators=2,
        ).fit(X, y, groups=groups)  # fmt: skip
        first, then = SEEN[:20], SEEN[20:40]
        assert sorted(first) == sorted(then) == sizes.tolist()
        out = first[-n_out:]  # the training queries are measured before
        learned = set(sizes) - set(out)
        assert rows_of_trees(ranker)[0] <= sum(learned)
        assert rows_of_trees(ranker)[0] >= sum(learned) - 4  # short ones lack pairs


# --- warm start -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("validation", "options"),
    [
        (False, {}),
        (False, {"grow_policy": "best_first"}),
        (False, ALL_DRAWN | {"verbose": 1, "metric": "map"}),
        (True, ALL_DRAWN),
        (False, {"early_stopping": True, "validation_fraction": 0.3}),
        (True, {"n_iter_no_change": 2, "learning_rate": 0.9}),
    ],
)
def test_a_warm_start_grows_the_trees_of_one_long_fit(validation, options, capsys):
    fit = validated if validation else fitted
    whole = fit(n_estimators=10, **options)
    ranker = fit(n_estimators=6, warm_start=True, **options)
    given = OF_VAL if validation else {}
    ranker.set_params(n_estimators=10).fit(*DATA, groups=DATA.groups, **given)
    assert model(ranker) == model(whole)
    assert ranker.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(ranker.train_score_, whole.train_score_)
    np.testing.assert_array_equal(ranker.validation_score_, whole.validation_score_)


def test_a_warm_start_keeps_the_trees_it_started_with():
    """Validation data given later can drop only the trees grown since."""
    for n_estimators in (6, 7, 30):
        ranker = fitted(warm_start=True, n_iter_no_change=2, learning_rate=0.9)
        ranker.set_params(n_estimators=n_estimators)
        ranker.fit(*DATA, groups=DATA.groups, **OF_VAL)
        assert ranker.n_iter_ == len(ranker.ensemble_) >= 6
        first = ranker.ensemble_.part(0, 6)
        assert pickle.dumps(first) == model(fitted(learning_rate=0.9))


def test_what_was_read_is_free_while_trees_grow(monkeypatch):
    """Of many rows, their unsorted grades would take memory that the trees need."""
    found = []

    def prepare(*arguments):
        data = prepared(*arguments)
        found.append(weakref.ref(data.train.y))
        return data

    def boost_trees(*arguments):
        assert found[-1]() is None
        return boost(*arguments)

    prepared, boost = lambdamart.prepare, lambdamart.boost_trees
    monkeypatch.setattr(lambdamart, "prepare", prepare)
    monkeypatch.setattr(lambdamart, "boost_trees", boost_trees)
    fitted()
    assert len(found) == 1


# --- scores, ranks, importances ---------------------------------------------------


def test_feature_importances_are_shares_of_the_gain():
    ranker = fitted()
    importances = ranker.feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1.0, abs=1e-14)
    assert (importances >= 0).all()
    assert importances.argmax() == 0  # the grades depend on it
    with pytest.warns(NothingLearnedWarning):
        unsplit = fitted(min_samples_leaf=10**6)
    assert not unsplit.feature_importances_.any()


# --- symmetric trees --------------------------------------------------------------


def queries(n_queries: int, n_equal: int = 0) -> Lists:
    """Queries of two documents, and others whose grades are equal."""
    n = n_queries + n_equal
    X = np.random.default_rng(0).normal(size=(2 * n, 2)).round(1)
    y = np.tile([0.0, 1.0], n)
    y[2 * n_queries :] = 1.0
    return Lists(X, y, np.repeat(np.arange(n), 2))


@pytest.mark.parametrize(
    ("data", "policy"),
    [
        (queries(500), "symmetric"),
        (queries(501), "best_first"),
        (queries(500, 300), "symmetric"),
    ],
    ids=["500", "501", "500 that have pairs"],
)
def test_few_queries_with_pairs_grow_symmetric_trees(data, policy):
    assert model(fitted(data)) == model(fitted(data, grow_policy=policy))
    (other,) = {"symmetric", "best_first"} - {policy}
    assert model(fitted(data)) != model(fitted(data, grow_policy=other))


def test_a_symmetric_tree_has_a_level_more_than_a_full_one_of_as_many_leaves():
    for max_leaf_nodes, n_levels in ((2, 2), (3, 3), (6, 3), (7, 4), (31, 6)):
        ranker = fitted(
            grow_policy="symmetric", max_leaf_nodes=max_leaf_nodes, min_samples_leaf=1
        )
        described = to_tree_model(ranker)
        conditions = [
            set(zip(tree.feature, tree.threshold, tree.missing_left, strict=True))
            for tree in described.trees
        ]
        assert max(map(len, conditions)) == n_levels + 1  # with that of leaves
    ranker = fitted(grow_policy="symmetric", max_depth=2)
    assert max(sizes_of_trees(ranker)) == 4


def test_symmetric_trees_of_few_queries_rank_new_ones_better():
    # one column of signal and many of noise, as in data of few queries
    gain = []
    for seed in range(6):
        made = make_ranking(360, n_documents=15, n_features=30, random_state=seed)
        trained, held = (made.groups < 60), (made.groups >= 60)
        values = [
            LambdaMARTRanker(grow_policy=policy, random_state=0)
            .fit(made.data[trained], made.target[trained], groups=made.groups[trained])
            .score(made.data[held], made.target[held], groups=made.groups[held])
            for policy in ("symmetric", "best_first")
        ]
        gain.append(values[0] - values[1])
    assert np.mean(gain) > 2 * np.std(gain, ddof=1) / np.sqrt(len(gain))
