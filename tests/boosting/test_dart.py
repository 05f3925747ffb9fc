"""DART against its definition, and what a fit says of trees that change."""

from __future__ import annotations

import json
import pickle
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.boosting import dart as module
from sklearn_ltr._core.boosting.dart import Dart, weights_of_trees
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.export import from_json, json_schema, to_json
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import ndcg_score
from sklearn_ltr.model_selection import RankerSearch
from tests.boosting import RATE, run
from tests.dask import positions_of
from tests.oracles import dart as oracle
from tests.trees import ONE_THREAD

OFTEN = {"rate_drop": 0.3, "skip_drop": 0.2}
ALL = {"rate_drop": 1, "skip_drop": 0, "max_drop": None}
SHAPE = {"n_queries": 60}
if INTERPRETED:  # kernels are slow
    SHAPE = {"n_queries": 8, "n_documents": 8, "n_features": 5, "n_informative": 3}
DATA, HELD = (make_ranking(**SHAPE, random_state=seed) for seed in (0, 1))
GIVEN = {"X": DATA.data, "y": DATA.target, "groups": DATA.groups}
VALIDATION = {"X_val": HELD.data, "y_val": HELD.target, "groups_val": HELD.groups}
N_TREES = 14 if INTERPRETED else 40
OPTIONS = {"n_estimators": N_TREES, "dart": OFTEN, "random_state": 3}
of_many_rows = pytest.mark.skipif(INTERPRETED, reason="kernels are slow")
both_policies = pytest.mark.parametrize("policy", ["best_first", "symmetric"])


def dropped_trees(options=OFTEN, n_trees=N_TREES, seed=0) -> list[list[int]]:
    return [Dart(**options).draw(seed, m) for m in range(n_trees)]


def fitted(data=GIVEN, **options):
    return LambdaMARTRanker(**OPTIONS | options).fit(**data)


def trees_of(model) -> bytes:
    return pickle.dumps(model.ensemble_)


# --- the definition ---------------------------------------------------------------


@both_policies
@pytest.mark.parametrize("options", [OFTEN, ALL, {"rate_drop": 0.5, "max_drop": 2}])
def test_trees_are_grown_without_the_dropped_ones_and_all_are_weighed(options, policy):
    trees, rows, scores, objective = run(30, dart=options, grow_policy=policy)
    dropped = dropped_trees(options, 30)
    stages = oracle.weights(dropped, RATE)
    assert max(map(len, dropped)) > 1
    final = stages[-1]
    tree_scores = [
        trees.part(m, m + 1).predict(rows, ONE_THREAD) / final[m] for m in range(30)
    ]
    for m, asked in enumerate(objective.asked):
        used = [t for t in range(m) if t not in dropped[m]]
        expected = sum(stages[m - 1][t] * tree_scores[t] for t in used)
        # both are rounded in float64
        np.testing.assert_allclose(asked, expected, rtol=1e-11, atol=1e-12)
        if policy == "best_first":  # a leaf's Newton step, its mean residual
            leaf = tree_scores[m]
            for value in np.unique(leaf):
                residual = (objective.target - asked)[leaf == value].mean()
                assert value == pytest.approx(residual, rel=1e-9, abs=1e-12)
    np.testing.assert_array_equal(scores, trees.predict(rows, ONE_THREAD))


def test_if_all_trees_are_dropped_each_is_grown_at_the_initial_scores_exactly():
    *_, objective = run(20, dart=ALL)
    for asked in objective.asked:
        np.testing.assert_array_equal(asked, 0.0)


@pytest.mark.parametrize("eta", [1.0, 0.3])
def test_weights_are_those_of_the_oracle(eta):
    stages = oracle.weights(dropped_trees(), eta)
    now: list[float] = []
    for own, expected in zip(dropped_trees(), stages, strict=True):
        new, factor = weights_of_trees(eta, len(own))
        for tree in own:
            now[tree] *= factor
        now.append(new)
        np.testing.assert_allclose(now, expected, rtol=1e-14)
    if eta == 1:  # the paper's 1 / (k + 1), k / (k + 1)
        assert weights_of_trees(1.0, 4) == (1 / 5, 4 / 5)


def test_no_tree_is_dropped_without_dart_nor_at_first():
    assert Dart(**ALL).draw(0, 0) == []
    assert Dart(**ALL).draw(0, 5) == [0, 1, 2, 3, 4]
    plain, first = fitted(dart=None, n_estimators=1), fitted(dart=ALL, n_estimators=1)
    assert trees_of(plain) == trees_of(first)
    never = fitted(dart={"skip_drop": 1 - 1e-16})
    assert trees_of(never) == trees_of(fitted(dart=None))


# --- what is drawn ----------------------------------------------------------------


def test_rates_are_those_of_the_parameters():
    seeds, n = range(2000), 40
    drawn = [Dart(0.2, 0.3, None).draw(seed, n) for seed in seeds]
    # five standard deviations of binomial distributions
    none = sum(not own for own in drawn) / len(seeds)
    assert none == pytest.approx(0.3, abs=5 * np.sqrt(0.3 * 0.7 / len(seeds)))
    counts = np.bincount(np.concatenate(drawn).astype(int), minlength=n) / len(seeds)
    assert np.abs(counts - 0.14).max() < 5 * np.sqrt(0.14 * 0.86 / len(seeds))


def test_of_more_than_the_most_any_tree_may_be_dropped():
    drawn = [Dart(0.9, 0.0, 3).draw(seed, 30) for seed in range(2000)]
    assert {len(own) for own in drawn} == {3}
    assert all(own == sorted(set(own)) for own in drawn)
    counts = np.bincount(np.concatenate(drawn)) / 2000
    assert np.abs(counts - 0.1).max() < 5 * np.sqrt(0.09 / 2000)


def test_seed_and_tree_decide_what_is_dropped():
    draw = Dart(0.5, 0.0).draw
    assert draw(1, 40) == draw(1, 40)
    assert draw(1, 40) != draw(2, 40)
    assert draw(1, 40) != [t for t in draw(1, 41) if t < 40]


# --- the kept model is the measured one -------------------------------------------


@cache
def validated(policy):
    options = {"grow_policy": policy, "early_stopping": False, "scoring": ["ndcg"]}
    return fitted(GIVEN | VALIDATION, **options)


def ndcg(model, data=HELD):
    return ndcg_score(data.target, model.predict(data.data), groups=data.groups)


@both_policies
@pytest.mark.parametrize("n_trees", [1, 2, 7, N_TREES - 1, N_TREES])
def test_every_stage_was_measured_as_the_fit_of_so_many_trees_is(n_trees, policy):
    results = validated(policy).evals_result_
    stage = fitted(n_estimators=n_trees, grow_policy=policy)
    assert results["validation"]["ndcg"][n_trees] == ndcg(stage)
    assert results["train"]["ndcg"][n_trees] == ndcg(stage, DATA)


@of_many_rows
@both_policies
def test_early_stopping_keeps_the_model_that_was_best(policy):
    data = GIVEN | VALIDATION
    model = fitted(data, grow_policy=policy, n_iter_no_change=6, scoring="ndcg")
    n_grown = len(model.validation_score_) - 1
    assert 1 < model.n_iter_ < n_grown
    # a tree that is kept was dropped after the best stage, so it has changed since
    later = dropped_trees(seed=model._seed, n_trees=n_grown)[model.n_iter_ :]
    assert any(tree < model.n_iter_ for own in later for tree in own)
    assert model.validation_score_.max() == ndcg(model)
    again = fitted(n_estimators=model.n_iter_, grow_policy=policy)
    assert trees_of(model) == trees_of(again)


@pytest.mark.parametrize("estimator", [MARTRegressor, MARTClassifier])
def test_early_stopping_of_mart_keeps_the_model_that_was_best(estimator):
    y, y_val = DATA.target, HELD.target
    if estimator is MARTClassifier:
        y, y_val = y > 1, y_val > 1
    options = OPTIONS | {"learning_rate": 0.5, "n_iter_no_change": 5}
    model = estimator(**options).fit(DATA.data, y, X_val=HELD.data, y_val=y_val)
    assert model.n_iter_ < len(model.validation_score_) - 1
    again = estimator(**options | {"n_estimators": model.n_iter_}).fit(DATA.data, y)
    assert trees_of(model) == trees_of(again)


def test_callbacks_see_the_model_of_each_stage():
    pytest.importorskip("sklearn.callback", reason="since scikit-learn 1.9")
    seen = []

    class Watch:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context, *, fitted_estimator, **_):
            if context.task_name == "tree":
                seen.append(ndcg(fitted_estimator))

    ranker = LambdaMARTRanker(**OPTIONS, early_stopping=False, grow_policy="symmetric")
    ranker.set_callbacks(Watch()).fit(**GIVEN)
    measured = validated("symmetric").evals_result_["validation"]["ndcg"]
    assert seen == measured[1:].tolist()


# --- one model --------------------------------------------------------------------


@pytest.mark.parametrize("learning_rate", [0.1, lambda m: 0.3 * 0.9**m])
def test_the_order_of_rows_and_threads_do_not_change_the_model(learning_rate):
    order = np.random.default_rng(0).permutation(len(DATA.target))
    shuffled = {name: values[order] for name, values in GIVEN.items()}
    expected = trees_of(fitted(learning_rate=learning_rate))
    for n_jobs in (1, 2):
        model = fitted(shuffled, n_jobs=n_jobs, learning_rate=learning_rate)
        assert trees_of(model) == expected


WARM = {
    "plain": {},
    "categories": {"categorical_features": [0, 1], "min_samples_leaf": 2},
    "monotonic": {"monotonic_cst": [1] + [0] * (DATA.data.shape[1] - 1)},
    "all": {"dart": ALL},
    "smoothed": {"path_smooth": 3.0},
    "additive bias": {"position_bias": "additive"},
    "pairwise bias": {"position_bias": "pairwise"},
}


def data_of(name):
    X, y = DATA.data.copy(), DATA.target
    if name == "categories":
        X[:, :2] = np.abs(np.round(5 * X[:, :2]))
    if "bias" not in name:
        return GIVEN | {"X": X}
    positions = positions_of(DATA.groups)
    return GIVEN | {"y": (y > 1) * 1.0, "positions": positions}


@both_policies
@pytest.mark.filterwarnings("ignore::sklearn_ltr.ShortClickLogWarning")
@pytest.mark.parametrize("name", WARM)
def test_a_warm_start_grows_the_trees_of_one_fit(name, policy):
    options, data = {"grow_policy": policy, **WARM[name]}, data_of(name)
    model = fitted(data, **options, n_estimators=9, warm_start=True)
    for n_estimators in (10, N_TREES):
        model.set_params(n_estimators=n_estimators).fit(**data)
    assert trees_of(model) == trees_of(fitted(data, **options))


def test_a_warm_start_on_sparse_rows_grows_the_trees_of_one_fit():
    table = csr_matrix(np.where(np.abs(DATA.data) > 0.8, DATA.data, 0))
    data = GIVEN | {"X": table}
    model = fitted(data, n_estimators=9, warm_start=True)
    model.set_params(n_estimators=N_TREES).fit(**data)
    assert trees_of(model) == trees_of(fitted(data))


def test_a_warm_start_measures_as_one_fit():
    data, one = GIVEN | VALIDATION, validated("best_first")
    options = {
        "grow_policy": "best_first",
        "early_stopping": False,
        "scoring": ["ndcg"],
    }
    model = fitted(data, **options, n_estimators=9, warm_start=True)
    model.set_params(n_estimators=N_TREES).fit(**data)
    for name, values in one.evals_result_.items():
        found = model.evals_result_[name]["ndcg"]
        np.testing.assert_array_equal(found, values["ndcg"])


@of_many_rows
def test_a_warm_start_cannot_return_to_a_stage_whose_trees_have_changed():
    data = GIVEN | VALIDATION
    options = {"scoring": "ndcg", "n_iter_no_change": 3, "warm_start": True}
    options |= {"learning_rate": 0.7}
    for dart in (OFTEN, None):
        model = fitted(data, **options, early_stopping=False)
        curve = model.evals_result_["validation"]["ndcg"]
        assert curve.argmax() < N_TREES  # which early stopping would have kept
        model.set_params(early_stopping=True, n_estimators=N_TREES + 9, dart=dart)
        model.fit(**data)
        assert model.n_iter_ >= N_TREES
        assert model.validation_score_[model.n_iter_] == ndcg(model)


def test_a_warm_start_may_return_to_a_stage_before_trees_were_dropped():
    data = GIVEN | VALIDATION
    options = {"scoring": "ndcg", "n_iter_no_change": 3, "warm_start": True}
    options |= {"learning_rate": 0.5}
    model = fitted(data, **options, early_stopping=False, dart=None)
    best = int(model.evals_result_["validation"]["ndcg"].argmax())
    assert best < N_TREES
    model.set_params(early_stopping=True, n_estimators=N_TREES + 9, dart=ALL)
    model.fit(**data)
    assert model.n_iter_ == best
    expected = fitted(learning_rate=0.5, dart=None, n_estimators=best)
    assert trees_of(model) == trees_of(expected)
    assert len([*model.staged_predict(HELD.data)]) == best


@of_many_rows
def test_trees_of_many_leaves_and_more_trees_than_a_block_are_added_up():
    options = {"max_leaf_nodes": 600, "min_samples_leaf": 1, "learning_rate": 0.5}
    for more in (options, {"n_estimators": 2 * module.TREES_PER_BLOCK + 3}):
        trees, rows, scores, _ = run(20, dart=OFTEN, **more)
        np.testing.assert_array_equal(scores, trees.predict(rows, ONE_THREAD))
    n = 700
    table = np.random.default_rng(0).normal(size=(n, 2))
    target = table[:, 0] * np.sin(9 * table[:, 1])
    model = MARTRegressor(**OPTIONS | options | {"n_estimators": 6, "verbose": 0})
    model.fit(table, target, X_val=table, y_val=target)
    assert np.diff(model.ensemble_.first_node).max() > 2 * 256
    cost = -0.5 * np.mean((target - model.predict(table)) ** 2)
    assert model.evals_result_["validation"]["minus half the squared error"][
        model.n_iter_
    ] == pytest.approx(cost, rel=1e-12)
    # fewer leaves from now on than the kept trees have
    model = MARTRegressor(**OPTIONS | options | {"n_estimators": 2, "warm_start": True})
    model.fit(table, target).set_params(n_estimators=6, max_leaf_nodes=4)
    model.fit(table, target)
    assert np.isfinite(model.predict(table)).all()


# --- stages -----------------------------------------------------------------------


def test_stages_are_refused_where_trees_have_changed_since():
    model = fitted()
    with pytest.raises(ValueError, match="dart has dropped trees .* evals_result_"):
        next(model.staged_predict(HELD.data))
    assert model.apply(HELD.data).shape == (len(HELD.target), N_TREES)
    regressor = MARTRegressor(**OPTIONS).fit(DATA.data, DATA.target)
    classifier = MARTClassifier(**OPTIONS).fit(DATA.data, DATA.target > 1)
    for stages in (regressor.staged_predict, classifier.staged_predict_proba):
        with pytest.raises(ValueError, match="dart has dropped trees"):
            next(stages(HELD.data))
    again = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="dart has dropped trees"):
        next(again.set_params(dart=None).staged_predict(HELD.data))
    # and a warm start without dart keeps such trees
    model.set_params(dart=None, warm_start=True, n_estimators=N_TREES + 1).fit(**GIVEN)
    with pytest.raises(ValueError, match="dart has dropped trees"):
        next(model.staged_predict(HELD.data))
    model.set_params(warm_start=False).fit(**GIVEN)
    assert len([*model.staged_predict(HELD.data)]) == N_TREES + 1


def test_a_model_that_has_dropped_no_tree_has_stages():
    first = next(m for m, own in enumerate(dropped_trees(seed=fitted()._seed)) if own)
    model = fitted(n_estimators=first)
    *_, last = model.staged_predict(HELD.data)
    np.testing.assert_array_equal(last, model.predict(HELD.data))
    with pytest.raises(ValueError, match="dart has dropped"):
        next(fitted(n_estimators=first + 1).staged_predict(HELD.data))


# --- what else takes a ranker -----------------------------------------------------


def test_json_keeps_what_a_warm_start_and_stages_need():
    jsonschema = pytest.importorskip("jsonschema")
    model = fitted(n_estimators=9, warm_start=True)
    text = to_json(model)
    assert json.loads(text)["stages_changed"] is True
    assert "stages_changed" not in to_json(fitted(dart=None))
    jsonschema.validate(json.loads(text), json_schema())
    again = from_json(text)
    assert again.dart == OFTEN
    np.testing.assert_array_equal(again.predict(HELD.data), model.predict(HELD.data))
    with pytest.raises(ValueError, match="dart has dropped trees"):
        next(again.staged_predict(HELD.data))
    again.set_params(n_estimators=N_TREES).fit(**GIVEN)
    np.testing.assert_array_equal(again.predict(HELD.data), fitted().predict(HELD.data))


def test_bags_blends_searches_and_calibration_take_it():
    ranker = LambdaMARTRanker(**OPTIONS | {"n_estimators": 6})
    bag = BaggingRanker(ranker, 3, bootstrap=True, oob_score=True, random_state=0)
    bag.fit(**GIVEN)
    assert bag.oob_staged_score_ is None
    assert np.isfinite(bag.oob_score_)
    expected = np.mean([m.predict(HELD.data) for m in bag.estimators_], axis=0)
    merged = bag.merge()
    np.testing.assert_allclose(merged.predict(HELD.data), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="dart has dropped trees"):
        next(merged.staged_predict(HELD.data))
    other = LambdaMARTRanker(n_estimators=3, random_state=0)
    blend = BlendedRanker([("dart", ranker), ("plain", other)]).fit(**GIVEN)
    assert blend.rankers_[0].dart == OFTEN
    space = {"dart": [None, 0.5, OFTEN]}
    options = {"n_iter": 3, "cv": 2, "random_state": 0, "blend": False}
    search = RankerSearch(ranker, param_distributions=space, **options)
    search.fit(**GIVEN)
    tried = search.cv_results_["params"]
    assert all(p.get("dart", OFTEN) in space["dart"] for p in tried)
    assert len(tried) == 3
    calibrated = CalibratedRanker(ranker, cv=2).fit(**GIVEN)
    assert np.isfinite(calibrated.predict_grade(HELD.data)).all()


@of_many_rows
def test_a_number_is_the_rate_and_a_dict_gives_what_it_names():
    assert trees_of(fitted(dart=0.1)) == trees_of(fitted(dart={"rate_drop": 0.1}))
    every = {"rate_drop": 0.1, "skip_drop": 0.5, "max_drop": 50}
    assert trees_of(fitted(dart=0.1)) == trees_of(fitted(dart=every))
    assert trees_of(fitted(dart={"skip_drop": 0})) != trees_of(fitted(dart=every))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, r"dart must be None, the rate .* 'rate_drop', 'skip_drop', 'max_drop'"),
        ({"drop_rate": 0.1}, r"some of 'rate_drop', 'skip_drop', 'max_drop', got"),
        ({"rate_drop": 1.5}, r"dart\['rate_drop'\] must be a number in \(0, 1\]"),
        ({"skip_drop": 1}, r"dart\['skip_drop'\] must be a number in \[0, 1\)"),
        ({"max_drop": 0}, r"dart\['max_drop'\] must be an integer >= 1 or None"),
        (0, r"dart must be a number in \(0, 1\]"),
    ],
)
def test_a_wrong_value_is_named(value, message):
    with pytest.raises(ValueError, match=message):
        fitted(dart=value)


def test_monotonic_constraints_hold_for_all_trees_together():
    rng, y = np.random.default_rng(0), DATA.target
    noise = rng.normal(size=(2, len(y)))
    table = np.column_stack([y + noise[0], noise[1] - y, DATA.data])
    signs = [1, -1] + [0] * DATA.data.shape[1]
    model = fitted(GIVEN | {"X": table}, monotonic_cst=signs, path_smooth=5.0)
    rows = np.repeat(table[:20], 30, axis=0)
    for feature, sign in ((0, 1), (1, -1)):
        moved = rows.copy()
        moved[:, feature] = np.tile(np.linspace(-5, 5, 30), 20)
        steps = np.diff(model.predict(moved).reshape(20, 30), axis=1)
        assert (sign * steps >= 0).all()
        assert (sign * steps > 0).any()


def test_objectives_of_a_user_are_asked_without_dropped_trees():
    seen = []

    def objective(scores, grades, offsets):
        seen.append(scores.copy())
        return scores - grades, np.ones(len(scores))

    fitted(objective=objective, dart=ALL)
    assert all((scores == 0).all() for scores in seen)
