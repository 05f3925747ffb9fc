"""A RankerSearch is the best of its candidates, or their blend, by held-out queries."""

from __future__ import annotations

import itertools
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import randint
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr.ensemble import BlendedRanker
from sklearn_ltr.ensemble._shared_bins import SharedBins
from sklearn_ltr.metrics import NDCG
from sklearn_ltr.model_selection import RankerSearch, _ranker_search
from sklearn_ltr.scorers import make_ranking_scorer
from tests.meta_estimators import GROUPS, WEIGHTS, Column, Y, held_out_scores
from tests.meta_estimators import X as ALL_VALUES

# Five values of each column: the bins of all rows are those of each fold
X = np.column_stack(
    [np.digitize(x, np.quantile(x, [0.2, 0.4, 0.6, 0.8])) for x in ALL_VALUES.T]
).astype(np.float64)
TREES = LambdaMARTRanker(n_estimators=4, max_leaf_nodes=4, min_samples_leaf=2)
SPACE = {"max_leaf_nodes": [2, 3, 6], "learning_rate": [0.05, 0.3]}
NDCG_10 = NDCG(10)
FOLDS = GroupKFold(3)


class Scored:
    """A callback that scores the rows of the fit after each tree."""

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator, **_):
        assert len(fitted_estimator.predict(X)) == X.shape[0]


@pytest.fixture
def none_stops(monkeypatch):
    """Let all candidates be fitted to all folds."""
    monkeypatch.setattr(_ranker_search, "BEHIND", np.inf)


def make(ranker=TREES, **options):
    own = {"param_distributions": SPACE, "time": None, "n_iter": 4, "cv": 3}
    return RankerSearch(ranker, **own | {"random_state": 0} | options)


def fitted(ranker=TREES, rows=slice(None), **options):
    weight = options.pop("sample_weight", None)
    return make(ranker, **options).fit(
        X[rows], Y[rows], groups=GROUPS[rows], sample_weight=weight
    )


def results(search):
    """All that a fit has set, without the times."""
    known = {k: v for k, v in search.cv_results_.items() if k != "elapsed_time"}
    tables = [str(np.asarray(value).tolist()) for value in known.values()]  # NaN = NaN
    return [search.predict(X).tolist(), search.best_score_, *search.members_, tables]


# --- candidates -------------------------------------------------------------------


@pytest.mark.parametrize("weights", [{}, {"sample_weight": WEIGHTS}], ids=str)
def test_candidates_are_compared_by_the_metric_of_held_out_queries(weights, none_stops):
    ranker = clone(TREES).set_params(random_state=3)
    search = fitted(ranker, **weights)
    found = search.cv_results_
    assert found["params"][0] == {}
    for number, params in enumerate(found["params"]):
        scores = held_out_scores(
            clone(ranker).set_params(**params), FOLDS, X, **weights
        )
        value = NDCG_10(Y, scores, groups=GROUPS, **weights)
        assert found["mean_test_score"][number] == pytest.approx(value, rel=1e-12)
        for fold, (_, test) in enumerate(FOLDS.split(X, Y, GROUPS)):
            given = {name: column[test] for name, column in weights.items()}
            value = NDCG_10(Y[test], scores[test], groups=GROUPS[test], **given)
            of_fold = found[f"split{fold}_test_score"][number]
            assert of_fold == pytest.approx(value, rel=1e-12)
    best = int(np.argmax(found["mean_test_score"]))
    assert search.best_index_ == best
    assert search.best_params_ == found["params"][best]
    assert found["rank_test_score"][best] == 1
    assert (np.diff(found["elapsed_time"]) > 0).all()
    settings = pd.DataFrame(found["params"])["max_leaf_nodes"]
    assert settings.isna().tolist() == [True] + [False] * 3


def test_the_first_settings_are_the_same_however_many_are_tried_and_none_is_twice():
    few, all_of_them = fitted(n_iter=3), fitted(n_iter=100)
    tried = all_of_them.cv_results_["params"]
    assert tried[:3] == few.cv_results_["params"]
    assert_array_equal(
        all_of_them.cv_results_["mean_test_score"][:3],
        few.cv_results_["mean_test_score"],
    )
    drawn = {tuple(sorted(params.items())) for params in tried[1:]}
    assert len(tried) == 7 and len(drawn) == 6  # the space has six settings
    other = fitted(n_iter=100, random_state=1).cv_results_["params"]
    assert other != tried


def test_distributions_and_lists_of_spaces_are_drawn_from():
    space = [{"max_leaf_nodes": randint(2, 50)}, {"learning_rate": [0.05]}]
    drawn = fitted(param_distributions=space, n_iter=12).cv_results_["params"][1:]
    assert {name for params in drawn for name in params} == {
        "max_leaf_nodes",
        "learning_rate",
    }


def test_random_states_of_none_are_set_and_others_kept():
    search = fitted(blend=False)
    seed = search.best_estimator_.random_state
    assert isinstance(seed, int)
    assert fitted(blend=False).best_estimator_.random_state == seed
    assert fitted(blend=False, random_state=5).best_estimator_.random_state != seed
    own = clone(TREES).set_params(random_state=7)
    assert fitted(own, blend=False).best_estimator_.random_state == 7
    pipeline = make_pipeline(StandardScaler(), RankNetRanker(max_iter=1))
    network = fitted(pipeline, param_distributions={}, n_iter=1).best_estimator_[-1]
    assert isinstance(network.random_state, int)


def test_without_a_ranker_it_begins_with_trees_and_a_network_of_the_metric(
    monkeypatch,
):
    small = {"n_estimators": [2], "max_leaf_nodes": [3]}
    monkeypatch.setattr(_ranker_search, "lambdamart_search_space", lambda *a: small)
    search = make(None, param_distributions=None, metric="map", n_iter=3, cv=2)
    search.fit(ALL_VALUES, Y, groups=GROUPS)
    params = search.cv_results_["params"]
    assert params[:2] == [{}, {"ranker": "network"}]
    assert params[2]["n_estimators"] in (2, 300)
    values = search.cv_results_["mean_test_score"]
    scores = held_out_scores(LambdaMARTRanker("map", random_state=0), FOLDS)
    assert abs(values[0] - NDCG_10(Y, scores, groups=GROUPS)) < 1
    assert search.score(ALL_VALUES, Y, groups=GROUPS) > np.nanmax(values)
    holes, few = np.where(X > 2, np.nan, X), GROUPS < 14
    for table in (holes, csr_array(X), pd.DataFrame(X).round().astype("category")):
        both = make(None, param_distributions=None, n_iter=2, cv=2)
        both.fit(table[few], Y[few], groups=GROUPS[few])
        assert both.cv_results_["params"] == [{}, {"ranker": "network"}]


def test_the_default_space_is_that_of_the_trees_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), clone(TREES))
    search = fitted(pipeline, param_distributions=None, n_iter=2)
    assert "lambdamartranker__max_leaf_nodes" in search.cv_results_["params"][1]


def test_no_setting_equal_to_the_defaults_or_an_earlier_one_is_tried():
    spaces = [
        {"max_leaf_nodes": [4, 3], "learning_rate": [0.1]},
        {"max_leaf_nodes": randint(3, 6)},
        {"max_leaf_nodes": [3], "metric": [clone(TREES).metric]},
    ]
    tried = fitted(param_distributions=spaces, n_iter=99).cv_results_["params"]
    leaves = [params.get("max_leaf_nodes", 4) for params in tried]
    assert sorted(leaves) == [3, 4, 5]  # 4 is that of the defaults
    kinds = {"max_features": [1, 1.0]}  # one feature, and all features
    assert len(fitted(param_distributions=kinds, n_iter=9).cv_results_["params"]) == 2


# --- the race of candidates -------------------------------------------------------


def is_behind(scores, others, rows):
    """Whether scores are behind by more than a paired standard error, by hand."""
    values, own = (
        NDCG_10.per_query(Y[rows], s[rows], groups=GROUPS[rows])
        for s in (others, scores)
    )
    difference = own - values
    return difference.mean() < -difference.std(ddof=1) / np.sqrt(len(difference))


def test_a_candidate_behind_the_best_by_its_error_is_fitted_to_no_more_folds():
    rng = np.random.default_rng(0)
    columns = [Y + s * rng.normal(size=len(Y)) for s in (1.0, 0.5, 0.6, 1.2, 9.0)]
    table = np.column_stack(columns)
    search = make(
        Column(), param_distributions={"column": [0, 1, 2, 3, 4]}, n_iter=9, blend=False
    ).fit(table, Y, groups=GROUPS)
    found, best = search.cv_results_, None
    tests = [test for _, test in FOLDS.split(table, Y, GROUPS)]
    for number, params in enumerate(found["params"]):
        scores = columns[params.get("column", 0)]
        n_fitted = next(
            (n for n in (1, 2) if best is not None
             and is_behind(scores, best, np.concatenate(tests[:n]))), 3
        )  # fmt: skip
        of_folds = [found[f"split{fold}_test_score"][number] for fold in range(3)]
        assert np.isfinite(of_folds).tolist() == [n < n_fitted for n in range(3)]
        assert found["stopped"][number] == (n_fitted < 3)
        value = found["mean_test_score"][number]
        assert np.isnan(value) == found["stopped"][number]
        if best is None or value > NDCG_10(Y, best, groups=GROUPS):
            best = scores
    assert found["stopped"].sum() == 2
    assert (found["rank_test_score"][found["stopped"]] == 4).all()
    assert search.best_params_ == {"column": 1}


def test_the_network_is_neither_stopped_nor_a_rival(monkeypatch):
    small = {"n_estimators": [2], "max_leaf_nodes": [3, 4]}
    monkeypatch.setattr(_ranker_search, "lambdamart_search_space", lambda *a: small)
    monkeypatch.setattr(_ranker_search, "BEHIND", -np.inf)  # all others are stopped
    search = make(None, param_distributions=None, n_iter=4).fit(X, Y, groups=GROUPS)
    assert search.cv_results_["stopped"].tolist() == [False, False, True, True]
    assert 2 not in search.members_ and 3 not in search.members_


def test_a_candidate_that_would_not_end_in_time_is_left_out(monkeypatch):
    class Slow(Column):
        def fit(self, X, y):
            seconds[0] += 1.0 + 99.0 * self.column
            return super().fit(X, y)

    seconds = [0.0]
    monkeypatch.setattr(_ranker_search, "perf_counter", lambda: seconds[0])
    space = {"column": [1]}
    search = fitted(Slow(), param_distributions=space, time=50.0, n_iter=None)
    assert search.cv_results_["params"] == [{}]
    assert seconds[0] == 3 + 100 + 1  # a fold of the slow one shows that it is slow


@pytest.mark.parametrize(
    ("options", "n_tables"),
    [
        ({}, 1),
        ({"param_distributions": SPACE | {"max_bins": [9]}}, 2),
        ({"ranker": make_pipeline(StandardScaler(), TREES),
          "param_distributions": {"lambdamartranker__max_leaf_nodes": [2, 3]}}, 0),
        ({"ranker": clone(TREES).set_params(categorical_features=[0])}, 0),
        ({"ranker": clone(TREES).set_params(early_stopping=True)}, 1),
    ],
    ids=["trees", "other bins", "Pipeline", "categories", "early stopping"],
)  # fmt: skip
def test_candidates_share_one_table_of_bins(options, n_tables, monkeypatch):
    learn, tables = SharedBins.learn, []
    monkeypatch.setattr(
        SharedBins, "learn", lambda *given: tables.append(learn(*given)) or tables[-1]
    )
    fitted(**options)
    assert len(tables) == n_tables


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_of_a_candidate_see_the_table_that_was_given(n_jobs):
    pytest.importorskip("sklearn.callback", reason="since scikit-learn 1.9")
    ranker = clone(TREES).set_callbacks(Scored())
    search = fitted(ranker, n_jobs=n_jobs, n_iter=3)
    assert results(search) == results(fitted(n_jobs=n_jobs, n_iter=3))


# --- the model --------------------------------------------------------------------


def test_without_a_blend_the_model_is_the_best_candidate_fitted_to_all_queries():
    ranker = clone(TREES).set_params(random_state=3)
    search = fitted(ranker, blend=False)
    expected = clone(ranker).set_params(**search.best_params_).fit(X, Y, groups=GROUPS)
    assert_array_equal(search.predict(X), expected.predict(X))
    assert search.members_.tolist() == [search.best_index_]
    assert search.best_score_ == np.nanmax(search.cv_results_["mean_test_score"])
    assert search.n_features_in_ == 5


def test_a_blend_is_of_candidates_each_of_which_raises_the_held_out_metric(none_stops):
    search = fitted(n_iter=7, random_state=4)
    assert len(search.members_) > 1
    assert search.members_[0] == search.best_index_
    assert isinstance(search.best_estimator_, BlendedRanker)
    settings = [search.cv_results_["params"][m] for m in search.members_]
    rankers = [ranker for _, ranker in search.best_estimator_.rankers]
    for params, ranker in zip(settings, rankers, strict=True):
        expected = clone(TREES).set_params(**params, random_state=ranker.random_state)
        assert ranker.get_params() == expected.get_params()
    # the blend by hand: scores that vary as much within queries, one more at a time
    parts = []
    for ranker in rankers:
        scores = held_out_scores(ranker, FOLDS, X)
        means = pd.Series(scores).groupby(GROUPS).transform("mean")
        parts.append(scores / np.std(scores - means))
    values = [
        NDCG_10(Y, np.sum(parts[:n], axis=0), groups=GROUPS)
        for n in range(1, len(parts) + 1)
    ]
    assert (np.diff(values) > 0).all()
    assert search.best_score_ == pytest.approx(values[-1], rel=1e-12)
    again = BlendedRanker(rankers).fit(X, Y, groups=GROUPS)
    assert_array_equal(search.predict(X), again.predict(X))


def test_a_blend_of_two_columns_is_found_where_neither_ranks_alone(none_stops):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=len(Y))
    columns = np.column_stack([Y + noise, Y - noise, rng.normal(size=(len(Y), 2))])
    space = {"column": [1, 2, 3]}
    search = make(Column(), param_distributions=space, n_iter=4)
    search.fit(columns, Y, groups=GROUPS)
    chosen = {search.cv_results_["params"][m].get("column", 0) for m in search.members_}
    assert chosen == {0, 1}
    best = NDCG_10(Y, Y, groups=GROUPS)
    assert search.best_score_ == search.score(columns, Y, groups=GROUPS) == best


def test_only_the_scores_of_the_best_candidates_are_kept_for_a_blend(monkeypatch):
    monkeypatch.setattr(_ranker_search, "MOST_SCORES_KEPT", 2)
    search = fitted(n_iter=7)
    ranks = search.cv_results_["rank_test_score"][search.members_]
    assert ranks.max() <= 2


# --- determinism ------------------------------------------------------------------


def test_neither_the_order_of_rows_nor_jobs_nor_routing_change_a_bit():
    expected = results(fitted())
    order = np.random.default_rng(1).permutation(len(Y))
    with sklearn.config_context(enable_metadata_routing=True):
        assert results(fitted(rows=order)) == expected
    assert results(fitted(n_jobs=2)) == expected
    weighted = np.append(np.ones(len(Y)), np.zeros(5))
    rows = np.append(np.arange(len(Y)), np.arange(5))
    ids = np.append(GROUPS, np.full(5, 1000))
    search = make().fit(X[rows], Y[rows], groups=ids, sample_weight=weighted)
    assert results(search) == expected


def test_a_search_of_a_time_is_that_of_the_number_it_has_tried(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(_ranker_search, "perf_counter", lambda: float(next(ticks)))
    search = fitted(time=24.0, n_iter=None)
    n_tried = len(search.cv_results_["params"])
    # up to seven ticks each, and as many for the members that are then fitted to all
    assert 2 < n_tried < 7
    assert results(fitted(n_iter=n_tried)) == results(search)
    assert search.cv_results_["elapsed_time"][-1] < 24
    alone = fitted(time=24.0, n_iter=None, blend=False)
    assert len(alone.cv_results_["params"]) > n_tried
    assert len(fitted(time=1e-9, n_iter=None).cv_results_["params"]) == 1


# --- interrupts and lines ---------------------------------------------------------


def interrupt_after(monkeypatch, n_calls):
    """Let Ctrl-C come in a candidate after some folds have been fitted."""
    calls = itertools.count()
    out_of_fold = _ranker_search.out_of_fold

    def or_interrupt(*arguments):
        if next(calls) == n_calls:
            raise KeyboardInterrupt
        return out_of_fold(*arguments)

    monkeypatch.setattr(_ranker_search, "out_of_fold", or_interrupt)


@pytest.mark.parametrize("n_folds", [6, 7])
def test_ctrl_c_ends_the_search_and_keeps_the_best_so_far(
    n_folds, none_stops, monkeypatch, capsys
):
    expected = results(fitted(n_iter=2))
    interrupt_after(monkeypatch, n_folds)
    search = fitted(n_iter=7)
    assert (
        "interrupted after 2 candidates: fitting the best so far"
        in capsys.readouterr().out
    )
    assert results(search) == expected


def test_ctrl_c_in_the_first_candidate_or_the_last_fit_leaves_the_search_unchanged(
    none_stops, monkeypatch
):
    search = fitted(n_iter=7, random_state=4)
    assert len(search.members_) > 1
    expected, kept = results(search), vars(search).copy()
    with monkeypatch.context() as patched:
        interrupt_after(patched, 0)
        with pytest.raises(KeyboardInterrupt):
            search.fit(X[:80], Y[:80], groups=GROUPS[:80])

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(BlendedRanker, "fit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            search.fit(X, Y, groups=GROUPS)
    assert vars(search) == kept
    assert results(search) == expected


def test_it_prints_candidates_that_are_better_or_all_and_the_end(capsys):
    fitted()
    assert capsys.readouterr().out == ""
    search = fitted(verbose=1)
    lines = capsys.readouterr().out.splitlines()
    values = search.cv_results_["mean_test_score"]
    better = [m for m, value in enumerate(values) if value > max([0, *values[:m]])]
    starts = [f"candidate {m} of 4: ndcg@10 {values[m]:.4f} (best " for m in better]
    assert len(lines) == len(better) + 1
    for line, begin in zip(lines, starts, strict=False):
        assert line.startswith(begin)
    assert lines[-1].startswith("4 candidates in ")
    assert f"ndcg@10 {search.best_score_:.4f} by " in lines[-1]
    fitted(verbose=2)
    assert len(capsys.readouterr().out.splitlines()) == 5
    fitted(verbose=1, n_iter=1)
    last = capsys.readouterr().out.splitlines()[-1]
    assert " by candidate 0, the defaults, fitted now to all queries" in last


def test_an_error_of_a_candidate_names_its_settings():
    space = {"fails": [True]}
    with pytest.raises(RuntimeError, match="no such column") as raised:
        fitted(Column(), param_distributions=space, n_iter=2)
    assert raised.value.__notes__ == [
        "of candidate 1, with the settings {'fails': True}"
    ]


# --- as an estimator --------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_candidates_that_learn_nothing_do_not_warn_whatever_the_jobs(n_jobs):
    never = 10**6  # leaves of so many rows: a candidate without splits is not chosen
    options = {"param_distributions": {"min_samples_leaf": [never]}, "n_iter": 2}
    with joblib.parallel_config("threading"):  # a warning would be an error
        search = fitted(n_jobs=n_jobs, blend=False, **options)
    assert search.cv_results_["params"] == [{}, {"min_samples_leaf": never}]
    assert search.best_params_ == {}


def test_sparse_tables_and_data_frames_give_the_same():
    expected = fitted()
    frame = pd.DataFrame(X, columns=list("abcde"))
    for table in (csr_array(X), frame):
        search = make().fit(table, Y, groups=GROUPS)
        assert_array_equal(search.predict(table), expected.predict(X))
    assert search.feature_names_in_.tolist() == list("abcde")


def test_what_transformers_put_out_elsewhere_changes_no_search():
    search, few = RankerSearch(n_iter=2, time=None, cv=2, random_state=0), GROUPS < 14
    table, given = csr_array(X[few]), {"y": Y[few], "groups": GROUPS[few]}
    expected = clone(search).fit(table, **given)
    for output in ("pandas", "polars"):
        with sklearn.config_context(transform_output=output):
            found = clone(search).fit(table, **given)
            assert_array_equal(found.predict(table), expected.predict(table))
        for name in ("mean_test_score", "split0_test_score"):
            assert_array_equal(found.cv_results_[name], expected.cv_results_[name])


def test_it_is_pickled_cloned_and_cross_validated():
    search = fitted()
    loaded = pickle.loads(pickle.dumps(search))
    assert results(loaded) == results(search)
    assert results(clone(search).fit(X, Y, groups=GROUPS)) == results(search)
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            make(n_iter=2, cv=2), X, Y, cv=GroupKFold(2), params={"groups": GROUPS},
            scoring=make_ranking_scorer("ndcg@10"), error_score="raise",
        )  # fmt: skip
    assert np.isfinite(scores).all()
    assert search.get_params()["ranker__n_estimators"] == 4


def test_columns_go_to_the_rankers_that_take_them():
    positions = pd.Series(GROUPS).groupby(GROUPS).cumcount().to_numpy()
    ranker = clone(TREES).set_params(position_bias="additive")
    search = make(ranker, n_iter=1).fit(X, Y, groups=GROUPS, positions=positions)
    assert hasattr(search.best_estimator_, "position_bias_")
    with pytest.raises(ValueError, match="no member learns from it"):
        make(Ridge(), param_distributions={}).fit(
            X, Y, groups=GROUPS, positions=positions
        )
