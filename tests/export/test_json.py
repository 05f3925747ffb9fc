"""Models as JSON: what comes back is the model that left."""

from __future__ import annotations

import json
import pickle
import re
import warnings

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

from sklearn_ltr import LambdaMARTRanker, NewerVersionWarning, RankNetRanker
from sklearn_ltr.export import (
    from_json,
    from_tree_model,
    json_schema,
    to_json,
    to_tree_model,
)
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import ERR, MAP, NDCG
from tests import files_named
from tests.export.models import (
    GROUPS,
    LENGTH,
    N_QUERIES,
    TREES,
    fitted,
    grades,
    numbers,
    plain_score,
    rows_of,
    score,
    table,
)

MODELS = fitted()
SCHEMA = jsonschema.Draft202012Validator(json_schema())
SCHEMA.check_schema(json_schema())


@pytest.mark.parametrize("name", MODELS)
def test_what_comes_back_predicts_the_same_bytes(name):
    model = MODELS[name]
    text = to_json(model)
    again = from_json(text)
    assert type(again) is type(model)
    rows = rows_of(model)
    assert score(again, rows).tobytes() == score(model, rows).tobytes()
    assert to_json(again) == text
    SCHEMA.validate(json.loads(text))
    loaded = pickle.loads(pickle.dumps(again))
    assert score(loaded, rows).tobytes() == score(model, rows).tobytes()
    if name != "on top":
        expected = model.feature_importances_
        np.testing.assert_array_equal(again.feature_importances_, expected)


@pytest.mark.parametrize("name", MODELS)
def test_the_description_scores_as_its_documentation_says(name):
    model, X = MODELS[name], rows_of(MODELS[name])
    np.testing.assert_array_equal(plain_score(to_tree_model(model), X), score(model, X))


@pytest.mark.parametrize("name", ["ranker", "regressor", "classifier", "categories"])
def test_a_warm_start_continues_in_the_same_way(name):
    model = MODELS[name]
    X = table() if name == "categories" else numbers()
    y = grades(X)
    given = {"groups": GROUPS} if isinstance(model, LambdaMARTRanker) else {}
    target = y > 1 if isinstance(model, MARTClassifier) else y
    scores = []
    for start in (pickle.loads(pickle.dumps(model)), from_json(to_json(model))):
        start.set_params(warm_start=True, n_estimators=12)
        scores.append(score(start.fit(X, target, **given), X))
    assert scores[0].tobytes() == scores[1].tobytes()


def test_bins_that_categories_share_come_back():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (len(GROUPS), 2)).astype(float)
    y = X[:, 0] % 3
    model = LambdaMARTRanker(
        **TREES, max_bins=48, categorical_features=[0, 1], verbose=1
    ).fit(X, y, groups=GROUPS)
    assert np.isfinite(model._mapper.categories.mean_threshold).any()
    again = from_json(to_json(model))
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    curves = []
    for start in (model, again):
        start.set_params(warm_start=True, n_estimators=12)
        start.fit(X, y, groups=GROUPS)
        curves.append(start.evals_result_["train"]["ndcg@10"].tolist())
    assert len(curves[0]) == 13 and curves[0] == curves[1]
    assert again.predict(X).tobytes() == model.predict(X).tobytes()


def test_curves_constraints_and_parameters_come_back():
    X, y = numbers(), grades(numbers())
    model = LambdaMARTRanker(
        NDCG(7, gain=[0, 1, 3, 7.5]), **TREES, early_stopping=True, verbose=0
    ).fit(X, y, groups=GROUPS)
    model.set_params(
        scoring=ERR(no_relevant="one"),
        monotonic_cst={0: 1, 2: -1},
        interaction_cst=[{0, 1}, (2, np.int64(3))],
        max_features=np.float64(0.5),
    )
    again = from_json(to_json(model))
    assert again.metric == model.metric and again.scoring == model.scoring
    assert again.monotonic_cst == {0: 1, 2: -1}
    assert again.interaction_cst == [[0, 1], [2, 3]]
    np.testing.assert_array_equal(again.validation_score_, model.validation_score_)
    assert again.score(X, y, groups=GROUPS) == model.score(X, y, groups=GROUPS)
    model = LambdaMARTRanker(None, **TREES).fit(X, y, groups=GROUPS)
    again = from_json(to_json(model))
    np.testing.assert_array_equal(again.loss_curve_, model.loss_curve_)


@pytest.mark.parametrize(
    "classes",
    [[0, 1], [False, True], ["no", "yes"], np.array(["no", "yes"], object), [1.0, 2.0],
     [np.uint8(3), 4]],
)  # fmt: skip
def test_classes_come_back(classes):
    X = numbers()
    y = np.asarray(classes)[(X[:, 0] > 0).astype(int)]
    weight = {c: 2.0 for c in np.unique(y).tolist()}
    model = MARTClassifier(**TREES, class_weight=weight).fit(X, y)
    again = from_json(to_json(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.class_weight == weight


def test_trees_of_init_and_on_top_become_one_model():
    model = to_tree_model(MODELS["on top"])
    assert len(model.trees) == 16 and model.training is None
    again = from_tree_model(model)
    assert again.init_ is None and again.n_estimators == 16
    with pytest.raises(ValueError, match="continue with a new estimator, whose init"):
        again.set_params(warm_start=True, n_estimators=20).fit(
            numbers(), grades(numbers()), groups=GROUPS
        )
    again.set_params(warm_start=False, n_estimators=2)
    again.fit(numbers(), grades(numbers()), groups=GROUPS)
    again.set_params(warm_start=True, n_estimators=3)
    assert again.fit(numbers(), grades(numbers()), groups=GROUPS).n_iter_ == 3


def test_init_may_have_seen_other_categories():
    X = table()
    few = X[X["site"].isin(["alpha", "beta"]) & (X["kind"] != 9)]
    few = few.assign(site=few["site"].cat.remove_unused_categories())
    base = MARTRegressor(**TREES).fit(few, grades(few))
    model = LambdaMARTRanker(**TREES, init=base).fit(X, grades(X), groups=GROUPS)
    again, rows = from_json(to_json(model)), rows_of(model)
    assert again.predict(rows).tobytes() == model.predict(rows).tobytes()


@pytest.mark.parametrize("names", [None, list("vwxyz")])
def test_init_on_other_columns_is_refused(names):
    model = pickle.loads(pickle.dumps(MODELS["ranker"]))
    X = pd.DataFrame(numbers(), columns=names) if names else numbers()[:, :4]
    model.init_ = MARTRegressor(**TREES).fit(X, grades(numbers()))
    if names:
        model.feature_names_in_ = np.array(list("abcde"), dtype=object)
    with pytest.raises(ValueError, match="init was fitted on other columns"):
        to_json(model)


def test_init_score_is_still_required():
    X = numbers()
    given = np.linspace(0, 1, len(X))
    model = LambdaMARTRanker(**TREES).fit(X, grades(X), groups=GROUPS, init_score=given)
    again = from_json(to_json(model))
    assert (
        again.predict(X, init_score=given) == model.predict(X, init_score=given)
    ).all()
    with pytest.raises(ValueError, match="fit was given init_score"):
        again.predict(X)


def ranker(**parameters):
    X = numbers()
    return LambdaMARTRanker(**TREES | parameters).fit(X, grades(X), groups=GROUPS)


class Own(MAP):
    pass


class OwnRanker(LambdaMARTRanker):
    pass


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: LambdaMARTRanker(), NotFittedError, "not fitted yet"),
        (lambda: ranker(init=DummyRegressor()), ValueError,
         "init, the base model, is a DummyRegressor"),
        (lambda: ranker(random_state=np.random.RandomState(0)), ValueError,
         "random_state is a RandomState, which JSON cannot hold: change it by set_p"),
        (lambda: ranker(metric=Own()), ValueError, "metric is a Own"),
        (lambda: ranker(metric=NDCG(gain=np.sqrt)), ValueError,
         "metric.gain is a ufunc"),
        (lambda: RankNetRanker(), NotFittedError, "RankNetRanker instance is not fi"),
        (lambda: DummyRegressor(), TypeError,
         "only LambdaMARTRanker, .* got DummyReg"),
        (lambda: OwnRanker(), TypeError, "got OwnRanker"),
        (lambda: make_pipeline(StandardScaler(), ranker()), NotFittedError,
         "StandardScaler instance is not fi"),
        (lambda: make_pipeline(RobustScaler(), ranker()), TypeError,
         "'robustscaler' of the Pipeline is a RobustScaler"),
        (lambda: None, TypeError, "got NoneType"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused_with_a_reason(make, error, message):
    with pytest.raises(error, match=message):
        to_json(make())


def changed(*path, value, name="ranker"):
    document = json.loads(to_json(MODELS[name]))
    part = document
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    del document["checksum"]  # as one who changes a model on purpose
    return json.dumps(document)


def assert_changed_digits_are_noticed(text, n):
    """Change n digits, and the last ones, one at a time."""
    rng = np.random.default_rng(0)
    digits = [place for place, character in enumerate(text) if character.isdigit()]
    chosen = rng.choice(digits, n, replace=False)
    for place in (*chosen.tolist(), *digits[-9:]):
        digit = rng.choice(sorted(set("0123456789") - {text[place]}))
        damaged = f"{text[:place]}{digit}{text[place + 1 :]}"
        try:
            is_same = json.loads(damaged) == json.loads(text)
        except ValueError:  # 07 is no number of JSON
            is_same = False
        if is_same:  # read, and the same model
            assert to_json(from_json(damaged)) == text
        else:
            with (
                warnings.catch_warnings(action="ignore", category=NewerVersionWarning),
                pytest.raises(ValueError),
            ):
                from_json(damaged)


@pytest.mark.parametrize("name", MODELS)
def test_a_changed_digit_is_refused_unless_it_is_the_same_number(name):
    assert_changed_digits_are_noticed(to_json(MODELS[name]), 60)


def test_the_checksum_is_that_of_the_values_however_they_are_written():
    text = to_json(MODELS["categories"])
    document = json.loads(text)
    shortened = re.sub(
        r"(?<![.\d])(\d+)\.0(?![.\de])", r"\1", text
    )  # as JavaScript does
    assert len(shortened) < len(text)
    for written in (
        json.dumps(document, indent=2, sort_keys=True),
        json.dumps(document, ensure_ascii=False, separators=(",", ":")),
    ):
        assert to_json(from_json(written)) == text
    rows = rows_of(MODELS["categories"])
    scores = from_json(shortened).predict(rows)
    assert scores.tobytes() == from_json(text).predict(rows).tobytes()
    for names in (["checksum"], ["checksum", "library_version"]):
        changed_on_purpose = {n: v for n, v in document.items() if n not in names}
        changed_on_purpose |= {"library_version": "0.2.9"}
        again = from_json(json.dumps(changed_on_purpose))
        assert to_json(again) == text
    document["base_score"] += 1.0
    with pytest.raises(ValueError, match='checksum is .* damaged.*remove "checksum"'):
        from_json(json.dumps(document))
    document["checksum"] = "0"
    with pytest.raises(ValueError, match="checksum must be an integer, got '0'"):
        from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the JSON of a model, .* it is empty"),
        ("[" * 100_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "an integer of thousands of digits"),
        ("[]", 'no model written by to_json: "format"'),
        ('{"format": "sklearn_ltr"}', "format_version is missing"),
        (changed("format_version", value=2), "format_version is 2"),
        (changed("format", value="other"), 'no model written by to_json: "format"'),
        (changed("estimator", value="os.system"), "estimator must be one of"),
        (changed("base_score", value=float("nan")), "it holds NaN"),
        (changed("base_score", value=10**400), "base_score must be a finite number"),
        (changed("trees", value=[]), "at least one feature and one tree"),
        (changed("trees", 3, "threshold", 0, value="1"),
         r"trees\[3\].threshold\[0\] must be a finite number, got '1'"),
        (changed("trees", 3, "left", 0, value=2**40),
         r"trees\[3\].left\[0\] is out of"),
        (changed("trees", 2, "left", 0, value=0),
         r"trees\[2\]: left and right are not"),
        (changed("trees", 2, "feature", 0, value=99),
         r"trees\[2\]: feature is not one"),
        (changed("trees", 1, "left_categories", value={"0": ["a"]}), r"trees\[1\]"),
        (changed("trees", 1, "left_categories", value={"-1": []}), "its key must be"),
        (changed("trees", 0, "left_categories", value={}, name="categories"),
         r"trees\[0\]: node \d must have a set"),
        (changed("features", 1, "categories", value=["b", "a"], name="categories"),
         r"features\[1\]: its categories do not ascend"),
        (changed("features", 1, "categories", value=["b", 1], name="categories"),
         r"features\[1\].categories\[1\] must be text"),
        (changed("features", 2, "categories", value=[2**60], name="categories"),
         r"features\[2\]: its categories are not all numbers"),
        (changed("parameters", "n_estimators", value="many"),
         "parameters: n_estimators"),
        (changed("parameters", "depth", value=1), r"has no \['depth'\]"),
        (changed("parameters", "metric", value={"metric": "Metric", "parameters": {}}),
         "parameters.metric.metric must be one of"),
        (changed("parameters", "metric",
                 value={"metric": "MAP", "parameters": {"z": 1}}),
         "parameters.metric: "),
        (changed("parameters", "monotonic_cst", value=[9]), "monotonic_cst must"),
        (changed("training", "seed", value=-1), "seed must be in"),
        (changed("training", "shared_from", "1", value=2**70, name="categories"),
         "shared_from must hold bins"),
        (changed("training", "bin_thresholds", value=[]),
         "bin_thresholds are those of 0"),
        (changed("training", "bin_thresholds", 0, value=[2.0, 1.0]), "do not ascend"),
        (changed("training", "category_bins", value={}, name="categories"),
         "category_bins must hold"),
        (changed("classes", value=None, name="classifier"),
         "a MARTClassifier has class"),
        (changed("classes", "kind", value="<U99999999", name="classifier"),
         "classes.kind must be one of"),
        (changed("sigma", value=-1.0, name="classifier"), "sigma"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_model_is_refused_and_says_where(text, message):
    with pytest.raises(ValueError, match=message):
        from_json(text)


def test_a_text_of_a_newer_version_warns():
    with pytest.warns(NewerVersionWarning, match="written by sklearn_ltr 99.1") as told:
        from_json(changed("library_version", value="99.1.0"))
    assert files_named(told, __file__) == [__file__]


@pytest.mark.parametrize("method", ["additive", "pairwise"])
def test_a_position_bias_comes_back_and_is_continued(method):
    X = numbers()
    y = (grades(X) > 1).astype(float)
    positions = np.tile(np.arange(LENGTH), N_QUERIES)
    model = LambdaMARTRanker(**TREES, position_bias=method)
    model.fit(X, y, groups=GROUPS, positions=positions)
    again = from_json(to_json(model))
    np.testing.assert_array_equal(again.position_bias_, model.position_bias_)
    assert again.position_bias_.shape == model.position_bias_.shape
    document = json.loads(to_json(model))
    SCHEMA.validate(document)
    scores = []
    for start in (model, again):
        start.set_params(warm_start=True, n_estimators=12)
        scores.append(start.fit(X, y, groups=GROUPS, positions=positions).predict(X))
    assert scores[0].tobytes() == scores[1].tobytes()
    document["training"]["position_bias"] = [[0.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match="position_bias must be one row of numbers"):
        from_json(json.dumps(document))
