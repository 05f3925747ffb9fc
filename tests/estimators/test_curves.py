"""Curves of several sets and several metrics, recorded during a fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import MAP, NDCG, Metric, get_metric

SETS = [
    make_ranking(n, n_documents=10, n_features=6, n_informative=3, random_state=n)
    for n in (30, 12, 9)
]
TRAIN, *VALIDATION = [(d.data, d.target, d.groups) for d in SETS]
SEVERAL = dict(
    zip(("X_val", "y_val", "groups_val"), zip(*VALIDATION, strict=True), strict=True)
)
ONE = {name: values[0] for name, values in SEVERAL.items()}
TREES = {"n_estimators": 8, "min_samples_leaf": 5, "random_state": 0}
NETWORK = {"max_iter": 6, "hidden_layer_sizes": (4,), "random_state": 0}
RANKERS = [LambdaMARTRanker, LambdaRankRanker, RankNetRanker]
every_ranker = pytest.mark.parametrize("ranker", RANKERS)


def new(ranker, **options):
    small = TREES if ranker is LambdaMARTRanker else NETWORK
    return ranker(**small | options)


def fitted(ranker, validation=None, **options):
    X, y, groups = TRAIN
    return new(ranker, **options).fit(X, y, groups=groups, **validation or {})


def model(ranker):
    return ranker.predict(TRAIN[0]).tobytes()


def shapes(ranker):
    return {
        set_name: {name: len(values) for name, values in of_set.items()}
        for set_name, of_set in ranker.evals_result_.items()
    }


def stages(ranker, X):
    """Scores before the first tree and after each."""
    return [np.zeros(len(X)), *ranker.staged_predict(X)]


# --- what is recorded ---------------------------------------------------------------


def test_the_curves_of_trees_are_the_metrics_of_every_stage():
    metrics = {"map": MAP(), "ndcg@5": NDCG(5), "err@3": get_metric("err@3")}
    ranker = fitted(
        LambdaMARTRanker, SEVERAL, scoring=list(metrics), early_stopping=False
    )
    assert list(ranker.evals_result_) == ["train", "validation_0", "validation_1"]
    for of_set, (X, y, groups) in zip(
        ranker.evals_result_.values(), (TRAIN, *VALIDATION), strict=True
    ):
        assert list(of_set) == list(metrics)
        for name, values in of_set.items():
            expected = [
                metrics[name](y, scores, groups=groups) for scores in stages(ranker, X)
            ]
            assert values.dtype == np.float64
            np.testing.assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.parametrize("ranker", [LambdaRankRanker, RankNetRanker])
def test_the_validation_curves_of_networks_are_the_metrics_of_every_epoch(ranker):
    scoring = [NDCG(5), MAP()]
    whole = fitted(ranker, SEVERAL, scoring=scoring, early_stopping=False)
    for epochs in (1, 6):
        part = fitted(ranker, max_iter=epochs)
        for i, (X, y, groups) in enumerate(VALIDATION):
            for metric in scoring:
                found = whole.evals_result_[f"validation_{i}"][metric.name]
                expected = metric(y, part.predict(X), groups=groups)
                assert found[epochs - 1] == pytest.approx(expected, rel=1e-12)


N = {LambdaMARTRanker: 9, LambdaRankRanker: 6, RankNetRanker: 6}
OWN = {
    LambdaMARTRanker: {},
    LambdaRankRanker: {"ndcg@10": 6},
    RankNetRanker: {"cost": 6},
}


@every_ranker
def test_nothing_more_is_measured_than_was_asked(ranker):
    own, n = OWN[ranker], N[ranker]
    train = {"train": own} if own else {}
    assert shapes(fitted(ranker)) == train
    asked = dict.fromkeys(("map", "mrr"), n)
    assert shapes(fitted(ranker, scoring=["map", "mrr"])) == {"train": own | asked}
    quiet = {"early_stopping": False}
    found = shapes(fitted(ranker, ONE, scoring="map", **quiet))
    of_train = own or {"map": n}
    assert found == {"train": of_train, "validation": {"map": n}}
    found = shapes(fitted(ranker, SEVERAL, scoring=["map", "mrr"], **quiet))
    assert found == {"train": own | asked, "validation_0": asked, "validation_1": asked}
    # held-out queries are a set, too, unless validation data are given
    held_out = fitted(ranker, early_stopping=True, scoring=["map", "mrr"])
    n = len(held_out.validation_score_)
    assert shapes(held_out)["validation"] == {"map": n, "mrr": n}
    given = fitted(ranker, SEVERAL, early_stopping=True)
    assert "validation" not in given.evals_result_


def test_only_what_is_asked_is_computed():
    calls = []

    class Counted(Metric):
        def value(self, ranked_grades):
            calls.append(len(ranked_grades))
            return float(ranked_grades[0])

    fitted(LambdaMARTRanker, scoring=Counted())
    assert calls == []
    fitted(LambdaMARTRanker, scoring=[Counted()])
    with_relevant = np.unique(TRAIN[2][TRAIN[1] > 0])
    assert len(calls) == (1 + TREES["n_estimators"]) * len(with_relevant)


@every_ranker
def test_early_stopping_follows_the_first_metric_of_the_first_set(ranker):
    options = {"n_iter_no_change": 2, "tol": 0.0}
    options |= {"n_estimators": 40} if ranker is LambdaMARTRanker else {"max_iter": 40}
    alone = fitted(ranker, ONE, scoring="map", **options)
    several = fitted(ranker, SEVERAL, scoring=("map", "ndcg@3"), **options)
    assert model(several) == model(alone)
    np.testing.assert_array_equal(several.validation_score_, alone.validation_score_)
    np.testing.assert_array_equal(
        several.evals_result_["validation_0"]["map"], alone.validation_score_
    )
    lengths = {n for of_set in shapes(several).values() for n in of_set.values()}
    assert lengths == {len(alone.validation_score_)}  # cut are trees, not curves
    other = fitted(ranker, SEVERAL, scoring=["ndcg@3", "map"], **options)
    np.testing.assert_array_equal(
        other.validation_score_, other.evals_result_["validation_0"]["ndcg@3"]
    )


@every_ranker
def test_without_early_stopping_measuring_changes_no_bit(ranker):
    plain = fitted(ranker)
    measured = fitted(
        ranker, SEVERAL, scoring=["map", "err"], early_stopping=False, tol=1.0
    )
    assert model(measured) == model(plain)
    assert len(measured.validation_score_) == 0


def test_initial_scores_of_several_sets_are_those_of_each():
    starts = [np.arctan(X[:, 0]) for X, _, _ in (TRAIN, *VALIDATION)]
    given = {"init_score": starts[0], "init_score_val": tuple(starts[1:])}
    ranker = fitted(LambdaMARTRanker, SEVERAL | given)
    for i, (_, y, groups) in enumerate(VALIDATION):
        found = ranker.evals_result_[f"validation_{i}"]["ndcg@10"][0]
        assert found == pytest.approx(NDCG(10)(y, starts[i + 1], groups=groups))
    with pytest.raises(ValueError, match="no init_score_val"):
        fitted(LambdaMARTRanker, SEVERAL | given | {"init_score_val": None})


def test_metrics_of_one_name_are_told_apart():
    scoring = ["ndcg@5", NDCG(5, gain="linear"), NDCG(5, gain=np.arange(9.0))]
    found = fitted(LambdaMARTRanker, ONE, scoring=scoring).evals_result_["validation"]
    first, second, third = found
    assert first == "ndcg@5"
    assert second == "NDCG(k=5, gain='linear')"
    assert third.startswith("NDCG(k=5, gain=")
    np.testing.assert_array_equal(found[second], found[third])


# --- warm starts --------------------------------------------------------------------


def test_a_warm_start_of_trees_continues_the_curves():
    options = {"scoring": ["map", "mrr"], "early_stopping": False}
    whole = fitted(LambdaMARTRanker, SEVERAL, **options)
    ranker = new(LambdaMARTRanker, warm_start=True, **options)
    X, y, groups = TRAIN
    for n in (3, 8):
        ranker.set_params(n_estimators=n).fit(X, y, groups=groups, **SEVERAL)
    for set_name, of_set in whole.evals_result_.items():
        for name, values in of_set.items():
            found = ranker.evals_result_[set_name][name]
            np.testing.assert_array_equal(found, values)


def test_a_curve_that_begins_later_is_nan_before():
    ranker = new(LambdaMARTRanker, warm_start=True, n_estimators=3)
    X, y, groups = TRAIN
    ranker.fit(X, y, groups=groups)
    ranker.set_params(n_estimators=5, scoring=["map"]).fit(X, y, groups=groups, **ONE)
    for of_set in ranker.evals_result_.values():
        assert np.isnan(of_set["map"]).tolist() == [True] * 3 + [False] * 3


@pytest.mark.parametrize("ranker", [LambdaRankRanker, RankNetRanker])
def test_the_curves_of_a_network_have_a_value_for_each_epoch(ranker):
    X, y, groups = TRAIN
    one = new(ranker, warm_start=True, max_iter=2, early_stopping=False)
    one.fit(X, y, groups=groups, **ONE).partial_fit(X, y, groups=groups)
    one.set_params(scoring=["map"]).fit(X, y, groups=groups, **ONE)
    assert one.n_iter_ == 5
    own = "ndcg@10" if ranker is LambdaRankRanker else "cost"
    expected = {
        ("train", own): [1, 1, 1, 1, 1],
        ("train", "map"): [0, 0, 0, 1, 1],
        ("validation", "ndcg@10"): [1, 1, 0, 0, 0],
        ("validation", "map"): [0, 0, 0, 1, 1],
    }
    found = {
        (set_name, name): np.isfinite(values).astype(int).tolist()
        for set_name, of_set in one.evals_result_.items()
        for name, values in of_set.items()
    }
    assert found == expected


# --- tools --------------------------------------------------------------------------


def test_a_pipeline_transforms_all_sets():
    X, y, groups = TRAIN
    with config_context(enable_metadata_routing=True):
        pipeline = Pipeline(
            [("scale", StandardScaler()), ("rank", new(LambdaRankRanker))],
            transform_input=["X_val"],
        )
        pipeline.fit(X, y, groups=groups, **SEVERAL)
    curves = pipeline["rank"].evals_result_
    best = int(np.argmax(curves["validation_0"]["ndcg@10"]))
    for i, (X_of, y_of, groups_of) in enumerate(VALIDATION):
        expected = NDCG(10)(y_of, pipeline.predict(X_of), groups=groups_of)
        found = curves[f"validation_{i}"]["ndcg@10"][best]
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("estimator", [MARTRegressor, MARTClassifier])
def test_mart_records_its_own_measure(estimator):
    def target(y):
        return y > 1 if estimator is MARTClassifier else y

    X_val = SEVERAL["X_val"]
    y_val = tuple(target(y) for y in SEVERAL["y_val"])
    mart = estimator(**TREES, early_stopping=False)
    mart.fit(TRAIN[0], target(TRAIN[1]), X_val=X_val, y_val=y_val)
    assert list(mart.evals_result_) == ["train", "validation_0", "validation_1"]
    assert {n for of in shapes(mart).values() for n in of.values()} == {9}
    alone = estimator(**TREES).fit(
        TRAIN[0], target(TRAIN[1]), X_val=X_val[1], y_val=y_val[1]
    )
    (found,) = mart.evals_result_["validation_1"].values()
    np.testing.assert_array_equal(found, alone.validation_score_)
    # what is empty where nothing was measured
    quiet = estimator(**TREES).fit(TRAIN[0], target(TRAIN[1]))
    assert [len(m.train_score_) for m in (quiet, mart, alone)] == [0, 9, 9]
    assert [len(m.validation_score_) for m in (quiet, mart, alone)] == [0, 0, 9]


def test_pairs_with_several_validation_sets():
    X, y, groups = TRAIN
    better = np.flatnonzero((groups[:-1] == groups[1:]) & (y[:-1] > y[1:]))
    pairs = np.column_stack([better, better + 1])
    ranker = new(RankNetRanker, scoring=["map", "mrr"]).fit(X, pairs=pairs, **SEVERAL)
    assert list(ranker.evals_result_["train"]) == ["cost"]
    assert list(ranker.evals_result_["validation_1"]) == ["map", "mrr"]
