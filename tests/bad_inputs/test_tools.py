"""What the tools around rankers cannot use: splits, scorers, inspection, exports."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr import export as exporting
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.export import (
    to_elasticsearch_ltr,
    to_elasticsearch_ml,
    to_onnx,
    to_ranklib,
    to_solr,
    to_treelite,
)
from sklearn_ltr.inspection import (
    ScoreRegressor,
    local_optimality,
    shap_values,
    weight_curves,
)
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.model_selection import LetorFolds, group_train_test_split
from sklearn_ltr.scorers import MissingGroupsError, make_ranking_scorer
from tests.bad_inputs import (
    GROUPS,
    HUGE,
    INF,
    NAN,
    NETWORK,
    TREES,
    N,
    X,
    Y,
    each,
    fit,
    fitted,
    refused,
)

QUERIES = {"groups": GROUPS}
Row = tuple[dict[str, Any], type[Exception], str]

# --- splitting ------------------------------------------------------------------------

SPLITS: list[Row] = [
    *(({"test_size": size}, ValueError, "test_size") for size in (0, 1.5, NAN, "half")),
    ({"test_size": 7}, ValueError, "there are 6"),
    ({"train_size": 0.0}, ValueError, "train_size"),
    ({"train_size": 6}, ValueError, "there are 6"),
    *(({"shuffle": value}, ValueError, f"shuffle must be True or False, got {value!r}")
      for value in (None, "no", 1)),
    ({"shuffle": False, "stratify": Y}, ValueError,
     "stratify draws queries at random: it needs shuffle=True"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "error", "message"), SPLITS)
def test_a_split_that_cannot_be_made_is_refused(given, error, message):
    refused(lambda: group_train_test_split(X, **QUERIES, **given), error, message)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (X[1:], ", a ndarray, has 29 rows for the 30 values of groups"),
        (None, ", a NoneType, has 0 rows for the 30 values"),
        (3, ", a int, has 0 rows for the 30 values"),
        (np.array(3), ", a ndarray, has 0 rows for the 30 values"),
        ((x for x in X), ", a generator, has 0 rows for the 30 values"),
        (dict(enumerate(Y)), " is a dict, which has no rows that can be split"),
        (set(range(N)), " is a set, which has no rows that can be split"),
        ("a" * N, " is a str, which has no rows that can be split"),
    ],
)
def test_arrays_without_rows_cannot_be_split(array, message):
    call = lambda: group_train_test_split(X, array, **QUERIES)  # noqa: E731
    refused(call, ValueError, f"array number 1 (from 0){message}")


PARTS = GROUPS % 3
FOLDS: list[tuple[Any, str]] = [
    (lambda: LetorFolds(None), "parts is None: give one value per row"),
    (lambda: LetorFolds([]), "parts is empty"),
    (lambda: LetorFolds([1, 2, 1]), "parts must have at least three different values"),
    (lambda: LetorFolds(PARTS, score_on="train"),
     'score_on must be "validation" or "test", got \'train\''),
    (lambda: list(LetorFolds(PARTS).split(X[1:])),
     "X has 29 rows, but parts has 30 values"),
    (lambda: list(LetorFolds(PARTS).split(np.array(3))),
     "X has 0 rows, but parts has 30 values"),
    (lambda: list(LetorFolds(PARTS).split(X, Y, GROUPS // 2)), "a query must be whole"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), FOLDS)
def test_folds_that_cannot_be_made_are_refused(call, message):
    refused(call, ValueError, message)


# --- scorers --------------------------------------------------------------------------

NO_METRIC = "metric must be a name such as"
SCORERS: list[Row] = [
    ({"metric": "auc"}, ValueError, "unknown metric 'auc'"),
    *(({"metric": metric}, TypeError, NO_METRIC)
      for metric in (None, NDCG, ["map", None])),
    *(({"metric": metric}, ValueError, "metric is empty") for metric in ([], {})),
    ({"metric": ["map", MAP()]}, ValueError, "two of one name"),
    *(({"response_method": method}, ValueError, "response_method must be")
      for method in ("transform", None)),
]  # fmt: skip


@pytest.mark.parametrize(("given", "error", "message"), SCORERS)
def test_a_scorer_that_cannot_be_made_is_refused(given, error, message):
    refused(lambda: make_ranking_scorer(**given), error, message)


class Told(BaseEstimator):
    """Answers what it is told to."""

    def __init__(self, answer: Any = None, classes: Any = (0, 1)) -> None:
        self.answer = answer
        self.classes_ = classes

    def fit(self, X: Any, y: Any = None) -> Told:
        return self

    def predict(self, X: Any) -> Any:
        return self.answer

    predict_proba = predict


HALVES = np.full((N, 2), 0.5)


@pytest.mark.parametrize(
    ("answer", "classes", "message"),
    [
        (HALVES, ["a", "b"], "Told.classes_, the grades, must be numeric"),
        (HALVES, [0, 1, 2],
         "one probability for each of the 3 classes, got shape (30, 2)"),
        (HALVES[:, 0], [0, 1],
         "one probability for each of the 2 classes, got shape (30,)"),
        (None, [0, 1], "one probability for each of the 2 classes, got shape ()"),
        (HALVES, [0, NAN], "Told.predict_proba(X) must be finite to be ranked"),
    ],
)  # fmt: skip
def test_a_scorer_reads_the_probabilities_of_grades(answer, classes, message):
    scorer = make_ranking_scorer(response_method="predict_proba")
    refused(lambda: scorer(Told(answer, classes), X, Y, **QUERIES), ValueError, message)


def test_a_scorer_reads_what_it_is_given():
    scorer, trees = make_ranking_scorer("map"), fitted(LambdaMARTRanker)
    with pytest.raises(MissingGroupsError, match="got no groups"):
        scorer(trees, X, Y)
    with pytest.raises(MissingGroupsError, match="enable_metadata_routing=True"):
        scorer(trees, X, Y, groups=None)
    for answer, message in (
        (
            [NAN, *range(N - 1)],
            "Told.predict(X) must be finite to be ranked, but",
        ),
        (range(N - 1), "groups has 30 values for 29 rows"),
    ):
        call = lambda a=answer: scorer(Told(list(a)), X, Y, **QUERIES)  # noqa: E731
        refused(call, ValueError, message)
    for model, y, error, message in (
        (trees, None, ValueError, "y is None"),
        (RankNetRanker(), Y, NotFittedError, "not fitted"),
        (object(), Y, AttributeError, "predict"),
    ):
        refused(lambda m=model, y=y: scorer(m, X, y, **QUERIES), error, message)
    call = lambda: scorer(trees, X, Y, init_score=[1], **QUERIES)  # noqa: E731
    refused(call, ValueError, "init_score")


# --- inspection -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "model", "error", "message"),
    [
        (shap_values, lambda: fitted(RankNetRanker), TypeError,
         "RankNetRanker is not made of boosted trees"),
        (shap_values, lambda: Ridge().fit(X, Y), TypeError,
         "Ridge is not made of boosted trees of this package"),
        (shap_values, LambdaMARTRanker, NotFittedError, "not fitted"),
        (shap_values, lambda: LambdaMARTRanker, TypeError, "is a class, not an instan"),
        (shap_values, object, TypeError, "is not an estimator instance"),
        *((partial(call, y=Y, **QUERIES), *row)
          for call in (local_optimality, weight_curves)
          for row in (
              (lambda: fitted(LambdaMARTRanker), TypeError,
               "is not a network, so it has no weights"),
              (lambda: Ridge().fit(X, Y), TypeError, "Ridge is not a network"),
              (RankNetRanker, NotFittedError, "not fitted"))),
    ],
)  # fmt: skip
def test_models_that_have_nothing_to_inspect_are_refused(call, model, error, message):
    refused(lambda: call(model(), X=X), error, message)


NUMBER = "must be the number of a row of X, got "
DIRECTIONS, CHANCE = "n_directions must be an integer >= 1 or None, got", "in (0, 1)"
MOVES, WEIGHTS = "moves must be a list of finite numbers", "weights must be a list of i"
OF_NETWORK: dict[str, tuple[Any, list[Row]]] = {
    "local_optimality": (local_optimality, [
        *(({"n_directions": v}, ValueError, DIRECTIONS) for v in (0, -1)),
        *(({"n_directions": v}, TypeError, DIRECTIONS) for v in (2.0, "3", True, NAN)),
        *(({name: v}, ValueError, f"{name} must be a number {CHANCE}, got ")
          for name in ("delta", "p0") for v in (0, 1, -0.1, NAN, INF, HUGE)),
        *(({name: v}, TypeError, f"{name} must be a number {CHANCE}, got ")
          for name in ("delta", "p0") for v in ("0.1", None, True)),
        *(({"step_size": v}, ValueError, "step_size must be a number")
          for v in (0, -1, NAN, INF, HUGE)),
        *(({"step_size": v}, TypeError, "step_size must be a number")
          for v in ("1", None, True)),
        ({"metric": "auc"}, ValueError, "unknown metric 'auc'"),
        ({"metric": 3}, TypeError, NO_METRIC),
    ]),
    "weight_curves": (weight_curves, [
        ({"moves": []}, ValueError, f"{MOVES}, at least one"),
        *(({"moves": v}, ValueError, MOVES) for v in ([0, NAN], [INF])),
        ({"moves": ["1"]}, ValueError, "moves must be numeric"),
        *(({"moves": v}, ValueError, f"moves must hold one number per row, got {v!r}")
          for v in ("1", 1)),
        ({"moves": np.eye(2)}, ValueError, "moves must hold one number for each of"),
        ({"moves": [0, None]}, ValueError, "moves must be numeric, but point 1 has No"),
        ({"weights": []}, ValueError, "weights is empty"),
        *(({"weights": v}, ValueError, WEIGHTS) for v in ("x0", 0, {0: 1}, {0})),
        *(({"weights": [v]}, ValueError, f"weights holds {v!r}, but the")
          for v in (99, -1, True, 0.0, None, "bm25")),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_NETWORK)
def test_options_of_inspection_are_read(name):
    call, rows = OF_NETWORK[name]
    linear = fit(RankNetRanker, hidden_layer_sizes=())
    for given, error, message in rows:
        refused(lambda g=given: call(linear, X, Y, **QUERIES, **g), error, message)
    curves = weight_curves(
        linear, X, Y, weights=iter([0, 1]), moves=[0, 1], **QUERIES
    )  # fmt: skip
    assert curves.names == ["x0", "x1"]


def test_rows_of_shap_values_are_counted():
    explained = shap_values(fitted(LambdaMARTRanker), X)
    for name in ("document", "other"):
        for value in (N, -N - 1, HUGE):
            given = {"document": 0, "other": 0, name: value}
            message = f"{name} is row {value}, but X has {N} rows"
            refused(lambda g=given: explained.difference(**g), ValueError, message)
        for value in (1.0, "0", None, True, NAN):
            given = {"document": 0, "other": 0, name: value}
            message = f"{name} {NUMBER}"
            refused(lambda g=given: explained.difference(**g), TypeError, message)


def test_partial_dependence_is_of_a_fitted_score_regressor():
    ranker = fitted(LambdaMARTRanker)
    depend = partial(partial_dependence, features=[0])
    message = "must be a fitted regressor or classifier"
    refused(lambda: depend(ranker, X=X), ValueError, message)
    assert depend(ScoreRegressor(ranker), X=X)
    unfitted = ScoreRegressor(LambdaMARTRanker())
    refused(lambda: depend(unfitted, X=X), NotFittedError, "is not fitted yet")
    regressor = ScoreRegressor(ranker)
    refused(lambda: depend(regressor, X=X[:, 1:]), ValueError, "features, but ")


# --- blends and bags ------------------------------------------------------------------

NO_LIST, NO_MODEL = "rankers must be a list of rankers, got", "must be an estimator"
TWO_RANKERS = "rankers must hold at least two rankers, got"
FRACTION = "max_samples must be a number in (0, 1]"
ENSEMBLES: list[tuple[type, dict[str, Any], type[Exception], str]] = [
    *((BlendedRanker, {"rankers": v}, TypeError, f"{NO_LIST} {v!r}")
      for v in (None, "two")),
    (BlendedRanker, {"rankers": []}, ValueError, f"{TWO_RANKERS} 0"),
    (BlendedRanker, {"rankers": [Ridge()]}, ValueError, f"{TWO_RANKERS} 1"),
    *((BlendedRanker, {"rankers": v}, TypeError, f"rankers[1] {NO_MODEL}")
      for v in ([Ridge(), Ridge], [("a", Ridge()), ("b", 3)], [Ridge(), None])),
    *((BlendedRanker, {"rankers": [(name, Ridge()), other]}, ValueError,
       f"no '__'; got '{name}'")
      for name, other in (("a", ("a", Ridge())), ("cv", Ridge()), ("a__b", Ridge()))),
    (BlendedRanker, {"metric": "auc"}, ValueError, "unknown metric 'auc'"),
    (BlendedRanker, {"metric": None}, TypeError, NO_METRIC),
    (BlendedRanker, {"metric": NDCG(ties="average")}, ValueError,
     "metric must break ties pessimistically"),
    *((BlendedRanker, {"method": v}, ValueError, "method must be one of")
      for v in ("mean", None)),
    (BlendedRanker, {"cv": 1}, ValueError, "cv must be at least 2 folds and no more"),
    (BlendedRanker, {"cv": 7}, ValueError, "got 7 folds for 6 queries"),
    (BlendedRanker, {"cv": "none"}, ValueError,
     "cv must be a number of folds, a splitter, splits or"),
    (BlendedRanker, {"rankers": [Ridge(), Ridge()], "cv": "prefit"}, NotFittedError,
     "rankers[0], a Ridge, is not fitted, as cv='prefit' says it is"),
    *((BaggingRanker, {"estimator": v}, TypeError,
       "estimator must be an estimator with fit and predict")
      for v in (Ridge, "ridge", 3)),
    (BaggingRanker, {"max_samples": 0}, ValueError,
     "max_samples must be an integer >= 1, got 0"),
    *((BaggingRanker, {"max_samples": v}, ValueError, f"{FRACTION}, got {v}")
      for v in (0.0, 1.5, NAN)),
    (BaggingRanker, {"max_samples": "all"}, TypeError, f"{FRACTION}, got 'all'"),
    (BaggingRanker, {"max_samples": 7}, ValueError,
     "max_samples=7 is more than the 6 queries"),
    (BaggingRanker, {"oob_score": True, "bootstrap": False}, ValueError,
     "oob_score=True needs queries that a member is not"),
    (BaggingRanker, {"metric": "auc"}, ValueError, "unknown metric 'auc'"),
    (BaggingRanker, {"metric": None}, TypeError, NO_METRIC),
]  # fmt: skip


@pytest.mark.parametrize(("estimator", "parameters", "error", "message"), ENSEMBLES)
def test_ensembles_that_cannot_be_made_are_refused(
    estimator, parameters, error, message
):
    refused(lambda: fit(estimator, **parameters), error, message)


def test_bags_of_other_models_cannot_be_merged():
    call = lambda: fit(BaggingRanker, {"X": X[1:]}, bootstrap=True)  # noqa: E731
    refused(call, ValueError, f"X has {N - 1} rows and y {N} values")
    bag = fit(BaggingRanker, estimator=Ridge())
    refused(bag.merge, TypeError, "estimators_[0] is a Ridge")
    on_base = LambdaMARTRanker(**TREES, init=Ridge())
    bag = fit(BaggingRanker, estimator=on_base)
    refused(bag.merge, ValueError, "estimators_[0] adds trees to a base model (init)")


# --- exports --------------------------------------------------------------------------

NAMES = [f"Column_{j}" for j in range(X.shape[1])]
PLUGIN = partial(to_elasticsearch_ltr, name="m", feature_set="f")
ELASTIC = partial(to_elasticsearch_ml, name="m", features={n: {} for n in NAMES})
SOLR = partial(to_solr, name="m")
#: Arguments that a writer needs
NEEDED: dict[str, Any] = {
    "to_elasticsearch_ltr": PLUGIN, "to_elasticsearch_ml": ELASTIC, "to_solr": SOLR,
    "to_ranklib": partial(to_ranklib, missing="zero"),
}  # fmt: skip
#: Formats of libraries, which hold more
LIBRARIES = ("to_json", "to_lightgbm", "to_tree_model", "to_xgboost", "to_xgboost_dump")
WRITERS = {
    name: NEEDED.get(name, getattr(exporting, name))
    for name in exporting.__all__
    if name.startswith("to_") and name not in LIBRARIES
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_no_engine_can_hold_is_refused(name):
    write = WRITERS[name]
    assert write(fitted(LambdaMARTRanker))
    refused(lambda: write(LambdaMARTRanker()), NotFittedError, "not fitted")
    for model, error, message in (
        (fitted(BaggingRanker), TypeError, "give its merge()"),
        (Ridge().fit(X, Y), TypeError, "models of boosted trees"),
        (fit(LambdaMARTRanker, init=Ridge().fit(X, Y)), ValueError,
         "Add its scores as a feature"),
        (fit(LambdaMARTRanker, {"init_score": np.zeros(N)}), ValueError,
         "no place for"),
    ):  # fmt: skip
        refused(lambda m=model: write(m), error, message)


def on_codes(codes: list[float]) -> MARTRegressor:
    """Return a regressor of one column of categories that are numbers."""
    x = np.resize(np.array(codes), (40, 1))
    model = MARTRegressor(n_estimators=2, categorical_features=[0], min_samples_leaf=1)
    return model.fit(x, x[:, 0])


def trees() -> Any:
    return fitted(LambdaMARTRanker)


def after(*steps: Any) -> Any:
    pipeline = make_pipeline(*steps, LambdaRankRanker(**NETWORK))
    return pipeline.fit(X, Y, lambdarankranker__groups=GROUPS)


TEXT = "must be text and not empty, got"
EXPORTS: dict[str, tuple[Any, type[Exception], str]] = {
    "categories below 0 in ONNX": (
        lambda: to_onnx(on_codes([-1, 0, 1])), ValueError, "make the column text",
    ),
    "fractions in treelite": (
        lambda: to_treelite(on_codes([0.5, 1, 2])), ValueError, "make the column text",
    ),
    "large codes in ONNX": (
        lambda: to_onnx(on_codes([1, 2, 2**30])), ValueError, "make the column text",
    ),
    **{f"a step that is no scaler: {name}": (
           lambda write=write: write(after(PCA(2))), TypeError,
           "the step 'pca' of the Pipeline is a PCA")
       for name, write in (("ONNX", to_onnx), ("Solr", SOLR))},
    "an unfitted Pipeline": (
        lambda: to_onnx(make_pipeline(StandardScaler(), LambdaRankRanker())),
        NotFittedError, "not fitted",
    ),
    "trees after a scaler in Solr": (
        lambda: SOLR(make_pipeline(StandardScaler(), LambdaMARTRanker(**TREES))),
        TypeError, "a Pipeline has steps that trees cannot hold",
    ),
    "RankLib: missing": (
        lambda: to_ranklib(trees(), missing="nan"), ValueError,
        "missing must be 'error' or 'zero', got 'nan'",
    ),
    "Solr: missing": (
        lambda: SOLR(trees(), missing="nan"), ValueError,
        "missing must be 'branch' or 'zero', got 'nan'",
    ),
    "Solr: name": (lambda: to_solr(trees(), name=""), ValueError, f"name {TEXT} ''"),
    "Solr: store": (
        lambda: SOLR(trees(), store=None), ValueError, f"store {TEXT} None",
    ),
    "plugin: feature_set": (
        lambda: PLUGIN(trees(), feature_set=1), ValueError, f"feature_set {TEXT} 1",
    ),
    "plugin: features in a list": (
        lambda: PLUGIN(trees(), features=NAMES), TypeError,
        "must be a dict from the names of the columns",
    ),
    "plugin: features of other names": (
        lambda: PLUGIN(trees(), features={"title": {}, NAMES[0]: {}}), ValueError,
        "1 are no such columns, ['title']",
    ),
    "Solr: a feature that is text": (
        lambda: SOLR(trees(), features=dict.fromkeys(NAMES, "price")), TypeError,
        "features['Column_0'] must be a dict, got str",
    ),
    "Elastic: no features": (
        lambda: ELASTIC(trees(), features={}), ValueError, "are missing, ['Column_0'",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), each(EXPORTS))
def test_what_an_export_cannot_use_is_refused(call, error, message):
    refused(call, error, message)
