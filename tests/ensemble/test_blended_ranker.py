"""A BlendedRanker does what the same steps do one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedGroupKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker, best_blend
from sklearn_ltr.metrics import MAP, NDCG, ndcg_score
from sklearn_ltr.preprocessing import TableVectorizer
from sklearn_ltr.scorers import make_ranking_scorer
from tests.meta_estimators import (
    GROUPS,
    WEIGHTS,
    Column,
    X,
    Y,
    fit_alone,
    held_out_scores,
)
from tests.oracles import draws

TREES = LambdaMARTRanker(
    n_estimators=4, max_leaf_nodes=4, min_samples_leaf=2, random_state=0
)
NETWORK = RankNetRanker(hidden_layer_sizes=(), max_iter=3, random_state=0)
PIPELINE = make_pipeline(StandardScaler(), clone(NETWORK))
ALL = np.arange(len(Y))
FOLDS = list(GroupKFold(3).split(X, Y, GROUPS))
FEW = GROUPS < 14  # enough for the default rankers, whose many trees are slow


def blend(*rankers, **options):
    options = {"method": "sweep"} | options
    return BlendedRanker(list(rankers or (TREES, NETWORK)), **options)


def fitted(*rankers, **options):
    return blend(*rankers, **options).fit(X, Y, groups=GROUPS)


def test_a_seed_is_also_that_of_rankers_that_have_none():
    drawn = LambdaMARTRanker(n_estimators=4, subsample=0.5)
    kinds = [drawn, make_pipeline(StandardScaler(), RankNetRanker(max_iter=2)), drawn]
    a, b = (fitted(*kinds, random_state=3) for _ in range(2))
    assert (a.predict(X) == b.predict(X)).all()
    # copies of one ranker differ, and a seed of their own is kept
    first, _, third = a.rankers_
    assert first.random_state != third.random_state
    own = clone(drawn).set_params(random_state=5)
    assert fitted(own, NETWORK, random_state=3).rankers_[0].random_state == 5
    assert a.rankers[0].random_state is None


# --- the weights ------------------------------------------------------------------


@pytest.mark.parametrize(
    "rankers",
    [(TREES, PIPELINE), (NETWORK, Ridge())],
    ids=["ranker and pipeline", "ranker and regressor"],
)
def test_the_blend_is_the_best_of_held_out_scores(rankers):
    found = fitted(*rankers, metric="map")
    assert not sklearn.get_config()["enable_metadata_routing"]
    curve = best_blend(*map(held_out_scores, rankers), Y, groups=GROUPS, metric="map")
    assert found.weights_.tolist() == [curve.alpha, 1 - curve.alpha]
    assert found.blend_score_ == curve.value
    assert found.curve_.values.tobytes() == curve.values.tobytes()
    first, second = (fit_alone(ranker, ALL).predict(X) for ranker in rankers)
    expected = curve.alpha * first + (1 - curve.alpha) * second
    assert found.predict(X).tobytes() == expected.tobytes()
    assert found.score(X, Y, groups=GROUPS) == MAP()(Y, expected, groups=GROUPS)


def test_a_linear_lambdarank_learns_the_weights_of_standardised_scores():
    found = fitted(method="lambdarank", random_state=3)
    table = np.column_stack([held_out_scores(ranker) for ranker in (TREES, NETWORK)])
    learned = make_pipeline(
        StandardScaler(), LambdaRankRanker(hidden_layer_sizes=(), random_state=3)
    ).fit(table, Y, lambdarankranker__groups=GROUPS)
    scores = learned.predict(table)
    blended = table @ found.weights_
    assert np.corrcoef(scores, blended)[0, 1] == pytest.approx(1, abs=1e-9)
    assert np.abs(found.weights_).sum() == pytest.approx(1)
    expected = ndcg_score(Y, scores, groups=GROUPS, k=10)
    assert found.blend_score_ == pytest.approx(expected)
    assert found.curve_ is None


def test_of_three_rankers_no_sweep_improves_the_blend():
    rankers = [TREES, NETWORK, Ridge(alpha=1e3)]
    found = fitted(*rankers)
    scores = [held_out_scores(ranker) for ranker in rankers]
    total = sum(w * each for w, each in zip(found.weights_, scores, strict=True))
    assert (found.weights_ >= 0).all()
    assert found.weights_.sum() == pytest.approx(1)
    assert found.blend_score_ == ndcg_score(Y, total, groups=GROUPS, k=10)
    for each in scores:
        curve = best_blend(total, each, Y, groups=GROUPS)
        assert curve.value <= found.blend_score_ + 1e-15
        assert ndcg_score(Y, each, groups=GROUPS, k=10) <= found.blend_score_
    assert found.curve_ is None


def test_a_third_ranker_that_returns_the_grades_gets_most_of_the_weight():
    noise = np.random.default_rng(0).normal(size=(2, len(Y)))
    table = np.column_stack([*noise, Y])
    found = blend(*map(Column, range(3))).fit(table, Y, groups=GROUPS)
    assert found.blend_score_ == ndcg_score(Y, Y, groups=GROUPS, k=10)
    assert found.weights_[2] > 0.5


def test_with_equal_weights_all_scores_vary_as_much_within_queries():
    rankers = TREES, PIPELINE, Ridge()
    found = fitted(*rankers, method="equal", cv=1000)  # which is not used
    table = pd.DataFrame([fit_alone(ranker, ALL).predict(X) for ranker in rankers]).T
    centred = table - table.groupby(GROUPS).transform("mean")
    weights = 1 / centred.std(ddof=0).to_numpy()
    np.testing.assert_allclose(found.weights_, weights / weights.sum(), rtol=1e-6)
    total = table.to_numpy() @ found.weights_
    np.testing.assert_allclose(found.predict(X), total, rtol=1e-6)
    assert found.blend_score_ is None
    assert found.curve_ is None


def test_with_equal_weights_a_ranker_that_orders_nothing_has_none():
    found = fitted(Ridge(), DummyRegressor(), method="equal")
    assert found.weights_.tolist() == [1.0, 0.0]
    none = fitted(*[DummyRegressor()] * 2, method="equal")
    assert none.weights_.tolist() == [0.5, 0.5]
    # differences as of rounding errors
    table = np.column_stack([Y, 1 + 1e-15 * X[:, 0]])
    columns = blend(Column(0), Column(1), method="equal").fit(table, Y, groups=GROUPS)
    assert columns.weights_.tolist() == [1.0, 0.0]


def test_with_equal_weights_each_ranker_is_fitted_once():
    class Counting(Ridge):
        fits = 0

        def fit(self, X, y):
            Counting.fits += 1
            return super().fit(X, y)

    fitted(Counting(), Ridge(9), method="equal")
    assert Counting.fits == 1


# --- weights of queries -----------------------------------------------------------


@pytest.mark.parametrize("method", ["sweep", "lambdarank"])
def test_sample_weights_are_used_by_the_rankers_and_for_the_blend(method):
    metadata = {"groups": GROUPS, "sample_weight": WEIGHTS}
    found = blend(method=method, random_state=0).fit(X, Y, **metadata)
    scores = [
        held_out_scores(ranker, sample_weight=WEIGHTS) for ranker in (TREES, NETWORK)
    ]
    if method == "sweep":
        curve = best_blend(*scores, Y, **metadata)
        assert found.weights_[0] == curve.alpha
    total = found.weights_[0] * scores[0] + found.weights_[1] * scores[1]
    assert found.blend_score_ == NDCG(10)(Y, total, **metadata)
    assert found.blend_score_ != NDCG(10)(Y, total, groups=GROUPS)
    alone = fit_alone(TREES, ALL, sample_weight=WEIGHTS)
    assert found.rankers_[0].predict(X).tobytes() == alone.predict(X).tobytes()


@pytest.mark.parametrize("method", ["sweep", "equal"])
def test_columns_go_to_the_rankers_that_learn_from_them(method):
    positions = pd.Series(X[:, 0]).groupby(GROUPS).rank().to_numpy().astype(int) - 1
    biased = clone(TREES).set_params(position_bias="pairwise")
    examined = clone(TREES)
    for ranker, name, column in (
        (biased, "positions", positions),
        (examined, "propensities", 1 / (1 + positions)),
        (clone(TREES), "document_weight", 1 / (1 + positions)),
    ):
        given = {"groups": GROUPS, name: column}
        model = blend(ranker, Ridge(), method=method).fit(X, Y, **given)
        alone = clone(ranker).fit(X, Y, **given)
        expected = alone.predict(X)
        np.testing.assert_array_equal(model.rankers_[0].predict(X), expected)
        assert not np.array_equal(fit_alone(TREES, ALL).predict(X), expected)
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(
                blend(ranker, Ridge(), method="equal"), {}, cv=GroupKFold(2),
                scoring=make_ranking_scorer("ndcg"), error_score="raise",
            ).fit(X, Y, **given)  # fmt: skip
        found = search.best_estimator_.rankers_[0].predict(X)
        np.testing.assert_array_equal(found, expected)
        rankers = [model.rankers_[0]], [Ridge()]
        for members, options in zip(rankers, ({"cv": "prefit"}, {}), strict=True):
            with pytest.raises(ValueError, match=f"{name} was given, but no member"):
                blend(*members, Ridge(), method=method, **options).fit(X, Y, **given)
    # where a ranker is scored, it has learned the bias of the other queries
    if method == "sweep":
        given = {"groups": GROUPS, "positions": positions}
        with sklearn.config_context(enable_metadata_routing=True):
            folds = list(GroupKFold(5).split(X, Y, GROUPS))
            scores = cross_val_predict(biased, X, Y, cv=folds, params=given)
        model = blend(biased, NETWORK).fit(X, Y, groups=GROUPS, positions=positions)
        curve = best_blend(scores, held_out_scores(NETWORK), Y, groups=GROUPS)
        assert model.curve_.value == curve.value


# --- how queries are held out -----------------------------------------------------


def test_folds_are_a_number_a_splitter_or_splits():
    scores = [held_out_scores(ranker, GroupKFold(3)) for ranker in (TREES, NETWORK)]
    alpha = best_blend(*scores, Y, groups=GROUPS).alpha
    for cv in (3, GroupKFold(3), FOLDS):
        assert fitted(cv=cv).weights_[0] == alpha


def test_all_rankers_have_the_same_folds_from_a_random_splitter():
    options = {"shuffle": True, "random_state": np.random.RandomState(5)}
    found = blend(Ridge(), Ridge(), cv=StratifiedGroupKFold(4, **options))
    found.fit(X, Y, groups=GROUPS)
    assert found.curve_.change_points.tolist() == []


def test_prefit_and_frozen_rankers_are_not_fitted_again():
    train, test = np.flatnonzero(GROUPS % 2 == 0), np.flatnonzero(GROUPS % 2)
    models = [fit_alone(ranker, train) for ranker in (TREES, NETWORK)]
    data = {"X": X[test], "y": Y[test], "groups": GROUPS[test]}
    found = BlendedRanker(models, method="sweep", cv="prefit").fit(**data)
    assert found.rankers_[0] is models[0]
    curve = best_blend(
        *(m.predict(X[test]) for m in models), Y[test], groups=GROUPS[test]
    )
    assert found.weights_.tolist() == [curve.alpha, 1 - curve.alpha]
    frozen = blend(*map(FrozenEstimator, models)).fit(**data)
    assert frozen.weights_.tolist() == found.weights_.tolist()
    assert frozen.predict(X).tobytes() == found.predict(X).tobytes()
    models = [fit_alone(ranker, ALL) for ranker in (TREES, NETWORK)]
    prefit = fitted(*models, method="equal", cv="prefit")
    assert prefit.predict(X).tobytes() == fitted(method="equal").predict(X).tobytes()


# --- as an estimator of scikit-learn ----------------------------------------------


def test_routing_and_jobs_change_no_result():
    expected = fitted(TREES, PIPELINE, cv=2).predict(X).tobytes()
    with sklearn.config_context(enable_metadata_routing=True):
        assert fitted(TREES, PIPELINE, cv=2).predict(X).tobytes() == expected
    jobs = fitted(TREES, PIPELINE, cv=2, n_jobs=2)
    assert jobs.predict(X).tobytes() == expected


@pytest.mark.parametrize("method", ["sweep", "lambdarank", "equal"])
def test_the_order_of_the_rows_changes_no_bit(method):
    models = set()
    for seed in range(4):
        rows = np.random.default_rng(seed).permutation(len(Y))
        model = blend(method=method, random_state=0)
        model.fit(X[rows], Y[rows], groups=GROUPS[rows])
        models.add((model.weights_.tobytes(), model.predict(X).tobytes()))
    assert len(models) == 1


def test_its_tags_allow_what_all_its_rankers_allow():
    tags = get_tags(blend(TREES, TREES))
    assert tags.estimator_type == "ranker"
    assert (tags.input_tags.allow_nan, tags.input_tags.sparse) == (True, True)
    assert not get_tags(blend(TREES, NETWORK)).input_tags.allow_nan
    stumps = clone(TREES).set_params(max_leaf_nodes=2)
    sparse = blend(TREES, stumps, cv=2).fit(csr_array(X), Y, groups=GROUPS)
    dense = fitted(TREES, stumps, cv=2)
    assert sparse.predict(csr_array(X)).tobytes() == dense.predict(X).tobytes()


def test_data_frames_with_text_are_passed_to_the_rankers_unchanged():
    table = pd.DataFrame(X, columns=list("abcde"))
    table["kind"] = np.where(X[:, 0] > 0, "news", "blog")
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["kind"]), remainder=StandardScaler()
    )
    rankers = [make_pipeline(encode, ranker) for ranker in (Ridge(), NETWORK)]
    model = blend(*rankers).fit(table, Y, groups=pd.Series(GROUPS).astype(str))
    assert model.feature_names_in_.tolist() == [*"abcde", "kind"]
    assert model.n_features_in_ == 6
    assert len(model.predict(table)) == len(Y)
    assert not hasattr(blend(), "n_features_in_")


def test_without_rankers_a_bag_of_trees_and_a_network_are_blended():
    of_few = X[FEW], Y[FEW]
    found = BlendedRanker(metric="map", random_state=5)
    found.fit(*of_few, groups=GROUPS[FEW])
    seed = draws.seed_of(5)
    trees = BaggingRanker(LambdaMARTRanker("map"), 5, random_state=seed)
    network = LambdaRankRanker("map", random_state=seed)
    expected = BlendedRanker(
        [trees, make_pipeline(TableVectorizer(), network)], metric="map"
    ).fit(*of_few, groups=GROUPS[FEW])
    assert found.predict(X).tobytes() == expected.predict(X).tobytes()
    assert found.score(X, Y, groups=GROUPS) == expected.score(X, Y, groups=GROUPS)
    weighted, again = (
        clone(found).fit(*of_few, groups=GROUPS[FEW], sample_weight=weights[FEW])
        for weights in (WEIGHTS, np.ones(len(Y)))
    )
    assert not np.allclose(weighted.predict(X), found.predict(X))
    assert again.predict(X).tobytes() == found.predict(X).tobytes()


def test_without_rankers_any_form_of_the_same_numbers_gives_the_same_bits():
    single = (X * [1, 100, 0.001, 7, 1] + [0, 1e4, 5, 0, 0]).astype(np.float32)
    double = single.astype(np.float64)
    model, y, groups = BlendedRanker(random_state=0), Y[FEW], GROUPS[FEW]
    single, double = single[FEW], double[FEW]
    expected = clone(model).fit(double, y, groups=groups).predict(double).tobytes()
    names = list("abcde")
    for table in (
        single,
        np.asfortranarray(double),
        pd.DataFrame(single, columns=names),
        pd.DataFrame(double, columns=names),
    ):
        found = clone(model).fit(table, y, groups=groups)
        assert found.predict(table).tobytes() == expected
        assert hasattr(found, "feature_names_in_") == hasattr(table, "columns")


def test_numbers_of_any_size_have_a_place():
    large = X.copy()
    large[np.flatnonzero(FEW)[3], 1] = -1e300
    model = BlendedRanker(random_state=0)
    model.fit(large[FEW], Y[FEW], groups=GROUPS[FEW])
    assert np.isfinite(model.predict(large)).all()


def test_no_rows_have_no_scores_whatever_the_rankers():
    default = BlendedRanker().fit(X[FEW], Y[FEW], groups=GROUPS[FEW])
    for model in (fitted(TREES, Ridge()), default):
        assert model.predict(X[:0]).shape == (0,)
        with pytest.raises(ValueError, match="X has 3 features, but "):
            model.predict(X[:0, :3])
    bag = BaggingRanker(Ridge(), 2).fit(X, Y, groups=GROUPS)
    assert bag.predict(csr_array(X[:0])).shape == (0,)


def test_without_rankers_any_table_that_trees_take_is_taken():
    with_gaps = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
    frame = pd.DataFrame(with_gaps, columns=list("abcde")).assign(
        kind=pd.Categorical(GROUPS % 3),
        shop=pd.Categorical([f"s{i % 50}" for i in range(len(Y))]),
        nothing=np.nan,
        same=1.0,
    )
    model = BlendedRanker(random_state=0)
    tags = get_tags(model).input_tags
    assert tags.sparse and tags.allow_nan
    few = frame[FEW]
    scores = []
    for table in (csr_array(X[FEW]), with_gaps[FEW], pl.from_pandas(few[["a"]]), few):
        found = clone(model).fit(table, Y[FEW], groups=GROUPS[FEW])
        assert found.score(table, Y[FEW], groups=GROUPS[FEW]) > 0.5
        assert len(found.weights_) == 2 and (found.weights_ > 0).all()
        scores.append(found.predict(table).tobytes())
    order = np.random.default_rng(0).permutation(np.flatnonzero(FEW))
    again = clone(model).fit(frame.iloc[order], Y[order], groups=GROUPS[order])
    assert again.predict(few).tobytes() == scores[-1]


N = len(Y)
MIXED = pd.DataFrame(
    {
        "day": pd.date_range("2026-01-01", periods=N),
        "age": pd.to_timedelta(np.arange(N) % 50, "min"),
        "shop": [f"s{i % 50}" for i in range(N)],
        "kind": pd.Categorical([f"k{i % 3}" for i in range(N)]),
        "price": X[:, 0],
    }
)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_without_rankers_dates_durations_and_text_are_read_for_trees_as_well(form):
    table, y, groups = form(MIXED[FEW].reset_index(drop=True)), Y[FEW], GROUPS[FEW]
    model = BlendedRanker(random_state=0).fit(table, y, groups=groups)
    seed = draws.seed_of(0)
    trees, network = (
        make_pipeline(TableVectorizer(), ranker)
        for ranker in (
            BaggingRanker(LambdaMARTRanker(), 5, random_state=seed),
            LambdaRankRanker("ndcg@10", random_state=seed),
        )
    )
    expected = BlendedRanker([trees, network]).fit(table, y, groups=groups)
    assert model.predict(table).tobytes() == expected.predict(table).tobytes()
    assert model.predict(table[:0]).shape == (0,)
    assert model.feature_names_in_.tolist() == list(MIXED.columns)
    weights = {"sample_weight": WEIGHTS[FEW], "document_weight": np.ones(len(y))}
    weighted = clone(model).fit(table, y, groups=groups, **weights)
    assert not np.allclose(weighted.predict(table), model.predict(table))


@pytest.mark.parametrize("column", ["day", "age", "shop", "kind"])
def test_without_rankers_a_column_that_trees_do_not_read_makes_them_vectorize(column):
    some, model = MIXED.loc[FEW, [column, "price"]], BlendedRanker(random_state=0)
    trees = model.fit(some, Y[FEW], groups=GROUPS[FEW]).rankers_[0]
    if column == "kind":
        assert isinstance(trees, BaggingRanker)
    else:
        assert isinstance(trees[0], TableVectorizer)


# each kind of table, and each method, with either output
@pytest.mark.parametrize(
    ("table", "method"),
    [(csr_array(X[FEW]), "equal"), (X[FEW], "equal"), (MIXED[FEW], "lambdarank")],
    ids=["csr", "X", "mixed"],
)
def test_what_transformers_put_out_elsewhere_changes_no_blend(table, method):
    model = BlendedRanker(method=method, cv=2, random_state=0)
    given = {"X": table, "y": Y[FEW], "groups": GROUPS[FEW]}
    expected = clone(model).fit(**given).predict(table)
    for output in ("pandas", "polars"):
        with sklearn.config_context(transform_output=output):
            found = clone(model).fit(**given)
            assert found.predict(table).tobytes() == expected.tobytes()
        assert found.predict(table).tobytes() == expected.tobytes()


def test_names_change_nothing_but_the_parameters():
    rankers = [("trees", clone(TREES)), ("network", clone(PIPELINE))]
    found = blend(*rankers, cv=2).fit(X, Y, groups=GROUPS)
    expected = fitted(TREES, PIPELINE, cv=2)
    assert found.predict(X).tobytes() == expected.predict(X).tobytes()
    assert not hasattr(found, "feature_names_in_")
    assert get_tags(found).input_tags == get_tags(expected).input_tags
    params = found.get_params()
    assert params["trees"] is rankers[0][1]
    assert params["network__ranknetranker__max_iter"] == 3
    assert "trees" not in found.get_params(deep=False)
    assert clone(found).get_params()["trees__n_estimators"] == 4


def test_a_search_reaches_rankers_and_their_parameters_by_name():
    rankers = [("trees", clone(TREES)), ("other", Ridge())]
    grid = {"trees__max_leaf_nodes": [2, 3], "other": [Ridge(5), clone(NETWORK)]}
    model = blend(*rankers, cv=2)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            model, grid, cv=GroupKFold(2), scoring=make_ranking_scorer("ndcg@10")
        ).fit(X, Y, groups=GROUPS)
    train, test = next(GroupKFold(2).split(X, Y, GROUPS))
    for i, setting in enumerate(search.cv_results_["params"]):
        alone = clone(model).set_params(**setting)
        alone.fit(X[train], Y[train], groups=GROUPS[train])
        expected = NDCG(10)(Y[test], alone.predict(X[test]), groups=GROUPS[test])
        assert search.cv_results_["split0_test_score"][i] == expected
    changed = BlendedRanker(rankers).set_params(rankers=[("a", Ridge()), ("b", TREES)])
    assert changed.set_params(a__alpha=3.0).rankers[0][1].alpha == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'trees'"):
        changed.set_params(trees__max_leaf_nodes=3)
