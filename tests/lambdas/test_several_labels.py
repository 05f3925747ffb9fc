"""Several labels: each has its own lambdas, added up with shares of the force."""

from __future__ import annotations

import json
import pickle
from math import fsum

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import QueryGroups, RowColumns
from sklearn_ltr._core.parameters import read_parameters
from sklearn_ltr._core.rankers.lambdamart import LambdaMARTParameters
from sklearn_ltr._core.ranking.objective import ranking_objective
from sklearn_ltr._core.ranking.reading import LabelChoice, read_targets
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.export import from_json, to_json
from sklearn_ltr.metrics import MAP, NDCG, get_metric
from sklearn_ltr.scorers import make_ranking_scorer
from tests.oracles.lambdas import lambdas_by_symmetry

RNG = np.random.default_rng(0)
DATA = make_ranking(60, n_features=14, random_state=0)
X, GROUPS = np.round(DATA.data, 2), DATA.groups
CLICKS = DATA.target.astype(float)
PURCHASES = (RNG.random(len(X)) < 0.15 * CLICKS).astype(float)
Y = np.column_stack([CLICKS, PURCHASES])
JUDGED = Y.copy()  # with documents that a label has not judged
JUDGED[RNG.random(len(X)) < 0.3, 1] = np.nan
JUDGED[GROUPS == GROUPS[0], 1] = np.nan
JUDGED[RNG.random(len(X)) < 0.1, 0] = np.nan
TREES = {"n_estimators": 6, "max_leaf_nodes": 8, "random_state": 0}
PLAIN = {"regression_weight": 0, "truncation_level": None, "normalize_lambdas": False}


def fitted(y=Y, X=X, groups=GROUPS, **parameters):
    return LambdaMARTRanker(**TREES | parameters).fit(X, y, groups=groups)


def objective(y, init_score=None, **columns):
    """Return the objective of y, and its data, for parameters of the ranker."""
    parameters = columns.pop("parameters", {})
    p = read_parameters(LambdaMARTParameters, LambdaMARTRanker(**parameters))
    queries = QueryGroups.from_groups(GROUPS, len(X))
    given = RowColumns(init_score=init_score, **columns)
    data = read_targets(y, queries, given, "", LabelChoice(True, p.label_weights))
    return ranking_objective(p, data, None, {}, ThreadTeam(1), ONE_PROCESS)


def oracle(y, scores, metrics, weights, start):
    """Sum of the labels' lambdas, pair by pair, of documents that each has judged."""
    parts, forces = [], []
    for label, metric in enumerate(metrics):
        judged = ~np.isnan(y[:, label])
        found, at_start = np.zeros((2, len(y))), np.zeros(len(y))
        for query in np.unique(GROUPS):
            own = np.flatnonzero(judged & (query == GROUPS))
            if len(own) == 0 or np.ptp(y[own, label]) == 0:
                continue
            grades = y[own, label]
            found[:, own] = lambdas_by_symmetry(scores[own], grades, metric, 1.0)
            at_start[own] = lambdas_by_symmetry(start[own], grades, metric, 1.0)[0]
        parts.append(found)
        forces.append(fsum(abs(at_start)))
    shares = np.array(weights) / np.sum(weights)
    mean = shares @ forces
    return sum(w * mean / f * p for w, f, p in zip(shares, forces, parts, strict=True))


@pytest.mark.parametrize("y", [Y, JUDGED], ids=["all", "some judged"])
@pytest.mark.parametrize(
    "metrics", [["ndcg@3", "ndcg@3"], ["ndcg", "map"], [None, None]], ids=str
)
def test_lambdas_are_sums_over_labels_whose_weights_are_shares(metrics, y):
    start, scores = np.round(RNG.normal(size=(2, len(X))), 3)
    is_one = len(set(metrics)) == 1
    found = objective(
        y,
        start,
        parameters={
            **PLAIN,
            "metric": metrics[0] if is_one else metrics,
            "label_weights": [1, 3],
        },
    )
    order = QueryGroups.from_groups(GROUPS, len(X)).order
    objects = [name and get_metric(name) for name in metrics]
    expected = oracle(y, scores, objects, [1, 3], start)
    for one, other in zip(found.derivatives(scores[order]), expected, strict=True):
        assert_allclose(one, other[order], rtol=1e-8, atol=1e-11)


def test_weights_are_shares_of_the_force_at_the_start():
    parts = []
    for weights in ([1, 0], [0, 1], [1, 3]):
        options = {**PLAIN, "label_weights": weights}
        gradient, _ = objective(JUDGED, parameters=options).derivatives(
            np.zeros(len(X))
        )
        parts.append(gradient.copy())
    forces = [fsum(abs(part)) for part in parts[:2]]
    mean = (forces[0] + 3 * forces[1]) / 4
    assert forces[0] > 1.5 * forces[1]  # which are of other sizes by themselves
    expected = mean * (parts[0] / forces[0] + 3 * parts[1] / forces[1]) / 4
    assert_allclose(parts[2], expected, rtol=1e-9, atol=1e-12)


def test_each_label_has_the_regression_on_its_own_grades():
    """It is that of a fit to the label alone, on the documents that it has judged."""
    weights, scores = np.array([0.25, 0.75]), np.round(RNG.normal(size=len(X)), 3)
    order = QueryGroups.from_groups(GROUPS, len(X)).order
    options = {"label_weights": [1, 3], "regression_weight": 2.0}
    found = objective(JUDGED, parameters=options).derivatives(scores[order])
    expected, forces = np.zeros((2, 2, len(X))), np.zeros(2)
    for label in (0, 1):
        one_hot = np.eye(2)[label]
        alone = {"label_weights": one_hot, "regression_weight": 2.0}
        expected[label] = objective(JUDGED, parameters=alone).derivatives(scores[order])
        pairs = {"label_weights": one_hot, "regression_weight": 0.0}
        gradient, _ = objective(JUDGED, parameters=pairs).derivatives(np.zeros(len(X)))
        forces[label] = fsum(abs(gradient))
    factors = weights * (weights @ forces) / forces
    assert_allclose(found, np.tensordot(factors, expected, 1), rtol=1e-9, atol=1e-12)
    judged = ~np.isnan(JUDGED[order, 1])
    assert not expected[1][:, ~judged].any()
    # a regression acts on all that are judged, beyond the cutoff of the pairs as well
    bought = np.isin(GROUPS[order], GROUPS[JUDGED[:, 1] == 1])
    assert expected[1][1, judged & bought].all()


@pytest.mark.parametrize(
    ("y", "weights"),
    [
        (np.column_stack([CLICKS, CLICKS]), None),
        (np.column_stack([CLICKS, CLICKS]), [2, 2]),
        (Y, [1, 0]),
        (Y[:, ::-1], [0, 5]),
        (np.column_stack([CLICKS, np.where(GROUPS < 3, CLICKS, np.nan)]), [1, 0]),
    ],
    ids=["equal", "weights", "weight 0", "first weight 0", "missing, weight 0"],
)
def test_equal_labels_and_weights_of_0_change_no_bit(y, weights):
    one, several = fitted(CLICKS), fitted(y, label_weights=weights)
    assert pickle.dumps(one.ensemble_) == pickle.dumps(several.ensemble_)


def test_a_label_of_weight_0_changes_no_bit_where_rows_have_equal_features():
    coarse = RNG.integers(0, 2, (len(X), 2)).astype(float)
    noise = RNG.integers(0, 5, len(X))
    counted = np.column_stack([CLICKS, RNG.permutation(CLICKS)])
    one = fitted(counted, coarse, label_weights=[1, 2])
    for y, weights in [
        (np.column_stack([counted, noise]), [1, 2, 0]),
        (np.column_stack([noise, counted]), [0, 1, 2]),
    ]:
        several = fitted(y, coarse, label_weights=weights)
        assert pickle.dumps(one.ensemble_) == pickle.dumps(several.ensemble_)


def test_equal_labels_and_weights_of_0_change_no_bit_of_categories():
    table = np.column_stack([RNG.integers(0, 300, len(X)), X])
    options = {"categorical_features": [0], "max_bins": 20}
    one = fitted(CLICKS, table, **options)
    for y, weights in [(np.column_stack([CLICKS, CLICKS]), None), (Y, [1, 0])]:
        several = fitted(y, table, label_weights=weights, **options)
        assert pickle.dumps(one.ensemble_) == pickle.dumps(several.ensemble_)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_order_of_rows_and_threads_change_no_bit(n_jobs):
    rows = RNG.permutation(len(X))
    options = {"early_stopping": True, "metric": ["ndcg@5", "map"]}
    one = fitted(JUDGED, **options)
    other = fitted(JUDGED[rows], X[rows], GROUPS[rows], **options, n_jobs=n_jobs)
    assert pickle.dumps(one.ensemble_) == pickle.dumps(other.ensemble_)
    assert_array_equal(one.label_forces_, other.label_forces_)
    for name, values in one.evals_result_["validation"].items():
        assert_array_equal(values, other.evals_result_["validation"][name])


def test_a_warm_start_makes_the_model_of_one_fit():
    whole, part = fitted(JUDGED), fitted(JUDGED, n_estimators=2, warm_start=True)
    for model in (part, from_json(to_json(part)), pickle.loads(pickle.dumps(part))):
        model.set_params(n_estimators=6).fit(X, JUDGED, groups=GROUPS)
        assert_array_equal(model.predict(X), whole.predict(X))
        assert_array_equal(model.label_forces_, whole.label_forces_)


def test_queries_and_documents_have_weights():
    weights = np.where(GROUPS % 3 == 0, 0.0, 1.0)
    some = weights > 0
    model = LambdaMARTRanker(**TREES).fit(
        X, JUDGED, groups=GROUPS, sample_weight=weights
    )
    without = fitted(JUDGED[some], X[some], GROUPS[some])
    assert_array_equal(model.predict(X), without.predict(X))
    sure = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(X))
    sure[GROUPS == GROUPS[5]] = 0.0
    sure[np.flatnonzero(GROUPS == GROUPS[5])[-1]] = 1.0
    one = LambdaMARTRanker(**TREES).fit(X, CLICKS, groups=GROUPS, document_weight=sure)
    several = LambdaMARTRanker(**TREES, label_weights=[1, 0])
    several.fit(X, Y, groups=GROUPS, document_weight=sure)
    assert_array_equal(one.predict(X), several.predict(X))
    both = LambdaMARTRanker(**TREES).fit(X, JUDGED, groups=GROUPS, document_weight=sure)
    assert np.ptp(both.predict(X)) > 0


# --- measures -----------------------------------------------------------------------


def mean_of_judged(metric, y, label, scores):
    """The metric of the documents that a label has judged."""
    judged = ~np.isnan(y[:, label])
    return metric(y[judged, label], scores[judged], groups=GROUPS[judged])


def test_each_label_and_their_mean_are_measured_after_each_tree():
    model = LambdaMARTRanker(["ndcg@5", "map"], **TREES, label_weights=[1, 3])
    data = {"X_val": X, "y_val": JUDGED, "groups_val": GROUPS}
    model.fit(X, JUDGED, groups=GROUPS, **data)
    for curves in model.evals_result_.values():
        assert list(curves) == ["mean", "0: ndcg@5", "1: map"]
        for step, scores in enumerate([np.zeros(len(X)), *model.staged_predict(X)]):
            values = [
                mean_of_judged(metric, JUDGED, label, scores)
                for label, metric in enumerate([NDCG(5), MAP()])
            ]
            assert_allclose(curves["0: ndcg@5"][step], values[0], rtol=1e-12)
            assert_allclose(curves["1: map"][step], values[1], rtol=1e-12)
            mean = 0.25 * values[0] + 0.75 * values[1]
            assert_allclose(curves["mean"][step], mean, rtol=1e-12)
    assert_array_equal(model.validation_score_, curves["mean"])
    assert model.n_iter_ == max(1, curves["mean"].argmax())


def test_early_stopping_follows_a_label_that_scoring_names():
    pd = pytest.importorskip("pandas")
    y = pd.DataFrame(JUDGED, columns=["clicks", "purchases"])
    model = LambdaMARTRanker(**TREES, early_stopping=True)
    model.set_params(scoring={"purchases": "map"}).fit(X, y, groups=GROUPS)
    curves = model.evals_result_["validation"]
    assert list(curves) == ["purchases: map", "mean", "clicks: ndcg@10"]
    assert_array_equal(model.validation_score_, curves["purchases: map"])
    by_number = clone(model).set_params(scoring={1: "map"}).fit(X, y, groups=GROUPS)
    assert_array_equal(model.predict(X), by_number.predict(X))


def test_each_metric_of_a_list_is_measured_of_each_label():
    model = fitted(JUDGED, scoring=["map", "ndcg@3"])
    assert list(model.evals_result_["train"]) == [
        "mean map", "0: map", "1: map", "mean ndcg@3", "0: ndcg@3", "1: ndcg@3",
    ]  # fmt: skip


def test_a_label_of_weight_0_is_measured_in_validation_data_only():
    """Its queries without pairs of the other label are not among those learned from."""
    model = LambdaMARTRanker(**TREES, label_weights=[0, 1], scoring=["map", NDCG(3)])
    data = {"X_val": X, "y_val": Y, "groups_val": GROUPS}
    curves = model.fit(X, Y, groups=GROUPS, **data).evals_result_
    assert list(curves["train"]) == [
        "mean map", "1: map", "mean ndcg@3", "1: ndcg@3",
    ]  # fmt: skip
    values = curves["validation"]
    assert_array_equal(values["mean map"], values["1: map"])
    assert_array_equal(curves["train"]["1: map"], values["1: map"])
    found = MAP()(CLICKS, model.predict(X), groups=GROUPS)
    assert_allclose(values["0: map"][model.n_iter_], found, rtol=1e-12)
    linear = NDCG(3, gain="linear")
    both = fitted(Y, scoring=[NDCG(3), linear]).evals_result_["train"]
    assert len(both) == 6


def test_pairs_without_a_metric_report_the_mean_cost():
    model = fitted(JUDGED, metric=None, label_weights=[1, 3])
    curves = model.evals_result_["train"]
    assert list(curves) == ["mean cost", "0: cost", "1: cost"]
    assert_array_equal(model.loss_curve_, curves["mean cost"])
    mean = 0.25 * curves["0: cost"] + 0.75 * curves["1: cost"]
    assert_allclose(curves["mean cost"], mean, rtol=1e-12)
    assert (np.diff(model.loss_curve_) < 0).all()


def test_score_is_the_weighted_mean_or_that_of_a_label():
    pd = pytest.importorskip("pandas")
    y = pd.DataFrame(JUDGED, columns=["clicks", "purchases"])
    model = fitted(y, metric=["ndcg@5", "map"], label_weights=[1, 3])
    scores = model.predict(X)
    clicks = mean_of_judged(NDCG(5), JUDGED, 0, scores)
    purchases = mean_of_judged(MAP(), JUDGED, 1, scores)
    assert_allclose(model.score(X, y, groups=GROUPS, label="clicks"), clicks)
    assert_allclose(model.score(X, JUDGED, groups=GROUPS, label=1), purchases)
    mean = 0.25 * clicks + 0.75 * purchases
    assert_allclose(model.score(X, y, groups=GROUPS), mean, rtol=1e-12)
    # a model of one label is measured by any
    network = LambdaRankRanker(max_iter=2, random_state=0).fit(X, CLICKS, groups=GROUPS)
    expected = mean_of_judged(NDCG(10), JUDGED, 1, network.predict(X))
    assert_allclose(network.score(X, y, groups=GROUPS, label=1), expected)


def test_scorers_measure_a_label_in_searches():
    pd = pytest.importorskip("pandas")
    y = pd.DataFrame(JUDGED, columns=["clicks", "purchases"])
    scorers = {
        "clicks": make_ranking_scorer("ndcg@5", label="clicks"),
        "bought": make_ranking_scorer(["map", "mrr"], label=1),
    }
    model = fitted(y)
    found = scorers["bought"](model, X, y, groups=GROUPS)
    assert_allclose(found["map"], mean_of_judged(MAP(), JUDGED, 1, model.predict(X)))
    assert repr(scorers["clicks"]) == "make_ranking_scorer('ndcg@5', label='clicks')"
    assert scorers["clicks"] != make_ranking_scorer("ndcg@5", label=0)
    pipeline = make_pipeline(StandardScaler(), LambdaMARTRanker(**TREES))
    grid = {"lambdamartranker__label_weights": [[1, 0], [1, 1], [0, 1]]}
    cv = GroupKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        for scoring in (None, scorers["clicks"]):
            search = GridSearchCV(pipeline, grid, cv=cv, scoring=scoring)
            search.fit(X, y, groups=GROUPS)
            assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.best_params_ == {"lambdamartranker__label_weights": [1, 0]}
        scores = cross_validate(
            LambdaMARTRanker(**TREES), X, JUDGED, cv=cv, params={"groups": GROUPS},
            scoring=make_ranking_scorer("map", label=1), error_score="raise",
        )  # fmt: skip
    assert (scores["test_score"] > 0).all()


# --- other inputs and estimators ----------------------------------------------------


def test_tables_of_labels_of_all_kinds_are_read():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = ["clicks", "purchases"]
    frame = pd.DataFrame(JUDGED, columns=names)
    expected = fitted(JUDGED).predict(X)
    for y in (
        JUDGED.tolist(), frame, frame.astype("Int64"), pl.DataFrame(JUDGED, names),
        frame.astype(object).where(frame.notna(), None),
    ):  # fmt: skip
        assert_array_equal(fitted(y).predict(X), expected)
    assert_array_equal(fitted(JUDGED, csr_array(X)).predict(X), expected)


def test_a_table_of_one_column_is_one_label():
    with pytest.warns(sklearn.exceptions.DataConversionWarning, match="column-vector"):
        model = fitted(CLICKS[:, None])
    assert not hasattr(model, "label_forces_")
    assert_array_equal(model.predict(X), fitted(CLICKS).predict(X))


def test_models_of_several_labels_are_saved_like_others():
    model = fitted(JUDGED, label_weights=[1, 3], metric=["ndcg@5", "map"])
    text = to_json(model)
    again = from_json(text)
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.label_forces_, model.label_forces_)
    assert again.get_params()["label_weights"] == [1, 3]
    document = json.loads(text)
    del document["checksum"]
    document["training"]["label_forces"] = [1.0, -1.0]
    with pytest.raises(ValueError, match="label_forces must be two numbers >= 0"):
        from_json(json.dumps(document))


# --- networks -----------------------------------------------------------------------

NETWORK = {"max_iter": 3, "hidden_layer_sizes": (5,), "random_state": 0}
SMALL = np.arctan(X)  # networks learn well from such features
networks = pytest.mark.parametrize("ranker", [LambdaRankRanker, RankNetRanker])


@networks
def test_lambdas_of_batches_of_networks_are_the_weighted_sums(ranker):
    metric = None if ranker is RankNetRanker else "ndcg"
    options = {"truncation_level": None} if metric else {}
    model = ranker(**NETWORK, **options, label_weights=[1, 3], batch_size=4)
    if metric:
        model.set_params(metric=metric)
    p = read_parameters(ranker._parameters, model)
    queries = QueryGroups.from_groups(GROUPS, len(X))
    choice = LabelChoice(True, p.label_weights)
    data = read_targets(JUDGED, queries, RowColumns(), "", choice)
    with ThreadTeam(1) as team:
        batches = ranking_objective(p, data, None, {}, team, ONE_PROCESS)
        order = np.random.default_rng(2).permutation(data.n_queries)
        moved = batches.reordered(order)
        scores = np.round(RNG.normal(size=len(X)), 3)
        given = scores[moved.documents]
        found = np.hstack(
            [
                moved.derivatives(given, first, min(first + 4, data.n_queries))
                for first in range(0, data.n_queries, 4)
            ]
        )
    own = queries.order[moved.documents]
    by_row = np.empty(len(X))
    by_row[own] = given
    objects = [metric and get_metric(metric)] * 2
    expected = oracle(JUDGED, by_row, objects, [1, 3], np.zeros(len(X)))
    assert_allclose(found, expected[:, own], rtol=1e-8, atol=1e-11)


@networks
@pytest.mark.parametrize(
    ("y", "weights"),
    [(np.column_stack([CLICKS, CLICKS]), None), (Y, [1, 0]), (Y[:, ::-1], [0, 5])],
    ids=["equal", "weight 0", "first weight 0"],
)
def test_equal_labels_and_weights_of_0_change_no_bit_of_networks(ranker, y, weights):
    one = ranker(**NETWORK).fit(SMALL, CLICKS, groups=GROUPS)
    several = ranker(**NETWORK, label_weights=weights).fit(SMALL, y, groups=GROUPS)
    assert_array_equal(one.predict(SMALL), several.predict(SMALL))


@networks
def test_networks_of_several_labels_do_not_depend_on_the_order_of_rows(ranker):
    rows = RNG.permutation(len(X))
    model = ranker(**NETWORK, early_stopping=True, label_weights=[1, 3])
    one = model.fit(SMALL, JUDGED, groups=GROUPS).predict(SMALL)
    curves = model.evals_result_["validation"]
    assert list(curves) == ["mean ndcg@10", "0: ndcg@10", "1: ndcg@10"]
    assert_array_equal(model.validation_score_, curves["mean ndcg@10"])
    other = clone(model).set_params(n_jobs=2)
    other.fit(SMALL[rows], JUDGED[rows], groups=GROUPS[rows])
    assert_array_equal(one, other.predict(SMALL))
    again = pickle.loads(pickle.dumps(model)).partial_fit(SMALL, JUDGED, groups=GROUPS)
    assert_array_equal(again.label_forces_, model.label_forces_)


@networks
def test_networks_measure_each_label_as_its_batches_met_it(ranker):
    model = ranker(**NETWORK, label_weights=[1, 3], batch_size=10_000, scoring=["map"])
    curves = model.fit(SMALL, JUDGED, groups=GROUPS).evals_result_["train"]
    mean = 0.25 * curves["0: map"] + 0.75 * curves["1: map"]
    assert_allclose(curves["mean map"], mean, rtol=1e-12)
    assert (np.diff(curves["mean map"]) != 0).any()  # not those of the first epoch
    if ranker is RankNetRanker:
        cost = 0.25 * curves["0: cost"] + 0.75 * curves["1: cost"]
        assert_allclose(model.loss_curve_, cost, rtol=1e-12)
        assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_networks_refuse_tied_pairs_of_several_labels():
    with pytest.raises(ValueError, match="tied_pairs=True makes pairs of documents"):
        RankNetRanker(tied_pairs=True).fit(SMALL, Y, groups=GROUPS)


@pytest.mark.parametrize("ranker", [LambdaMARTRanker, LambdaRankRanker])
def test_judged_pairs_are_not_weighed_by_several_labels(ranker):
    """Within a query: the message is of the labels, not of the pair."""
    pair = np.flatnonzero(GROUPS == GROUPS[0])[:2]
    with pytest.raises(ValueError, match="metric of one label, but y has 2 columns"):
        ranker("ndcg").fit(SMALL, Y, groups=GROUPS, pairs=[pair])
