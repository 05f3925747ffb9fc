"""Networks, Pipelines, bags and blends as JSON: what comes back is what left."""

from __future__ import annotations

import json
import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.export import from_json, to_json
from sklearn_ltr.metrics import MAP
from sklearn_ltr.preprocessing import SmoothClipScaler, TableVectorizer
from tests.export.models import (
    GROUPS,
    LENGTH,
    N_ROWS,
    TREES,
    N,
    grades,
    networks,
    numbers,
    table,
)
from tests.export.readers.own_json import predict
from tests.export.test_json import SCHEMA, assert_changed_digits_are_noticed
from tests.networks import Linear

NETWORK = {"hidden_layer_sizes": (5,), "max_iter": 3, "random_state": 0}
SCALERS = {
    "standard": StandardScaler(),
    "no mean": StandardScaler(with_mean=False),
    "no scale": StandardScaler(with_std=False),
    "neither": StandardScaler(with_mean=False, with_std=False),
    "limits": MinMaxScaler(feature_range=(-2, 1), clip=True),
    "smooth": SmoothClipScaler(),
}


def dated(seed=0, n=N, extra=False):
    """Rows with gaps, categories, some unseen, dates, and a constant."""
    X = table(seed, n, extra)
    day = pd.Timestamp("2025-01-01") + pd.to_timedelta(np.arange(n) % 900, "h")
    return X.assign(day=pd.Series(day).where(np.arange(n) % 7 > 0), same=1.0)


def piped(*steps, X, y=None):
    """Return a Pipeline, fitted with the groups of all steps that take them."""
    pipeline = make_pipeline(*steps)
    takers = [
        name
        for name, step in pipeline.steps
        if hasattr(step, "rank") or isinstance(step, TableVectorizer)
    ]
    y = grades(numbers()) if y is None else y
    return pipeline.fit(X, y, **{f"{name}__groups": GROUPS for name in takers})


@cache
def models():
    """Return models by name, each with rows to score."""
    X, rows = numbers(), numbers(7, N_ROWS)
    filled, filled_rows = np.nan_to_num(X[:, :4]), np.nan_to_num(rows[:, :4])
    named = pd.DataFrame(filled, columns=["title", "é fresh", "n/a", "price"])
    named_rows = pd.DataFrame(filled_rows, columns=named.columns)
    C, unseen = dated(), dated(5, N_ROWS, extra=True)
    y, plain = grades(C), C.drop(columns="day")  # which trees refuse
    trees, network = LambdaMARTRanker(**TREES), LambdaRankRanker(**NETWORK)

    found = {name: (model, filled_rows) for name, model in networks().items()}
    for name, scaler in SCALERS.items():
        of_trees = piped(clone(scaler), "passthrough", clone(trees), X=X)
        found[f"trees, {name}"] = of_trees, rows
        found[name] = piped(clone(scaler), clone(network), X=filled), filled_rows
    steps = SimpleImputer(strategy="median"), SmoothClipScaler(), clone(network)
    found["imputed"] = piped(*steps, X=X), rows
    constant = SimpleImputer(strategy="constant", fill_value=-1.5)
    steps = constant, StandardScaler(), clone(network)
    found["constant"] = piped(*steps, X=X[:, :4]), rows[:, :4]
    steps = SimpleImputer(), StandardScaler(), clone(network)
    single = X[:, :4].astype(np.float32)  # so that float32 numbers are put in
    found["float32"] = piped(*steps, X=single), rows[:, :4]
    scaler = StandardScaler().set_output(transform="pandas")
    found["named"] = piped(scaler, clone(network), X=named), named_rows
    for name, threshold in (("one-hot", 40), ("target", 1)):
        steps = TableVectorizer(cardinality_threshold=threshold), clone(network)
        found[name] = piped(*steps, X=C, y=y), unseen
    only = ["site", "kind"]
    found["categories"] = (
        piped(TableVectorizer(), clone(network), X=C[only], y=y), unseen[only]
    )  # fmt: skip
    bag = BaggingRanker(clone(network), 3, bootstrap=True, random_state=0)
    bag.fit(filled, grades(X), groups=GROUPS)
    found["bag of networks"] = bag, filled_rows
    found["bag of trees"] = (
        BaggingRanker(trees, 3, random_state=0).fit(plain, y, groups=GROUPS),
        unseen[plain.columns],
    )  # fmt: skip
    found["piped bag"] = (
        piped(TableVectorizer(), BaggingRanker(network, 2), X=C, y=y),
        unseen,
    )
    rankers = [
        ("bag", BaggingRanker(trees, 2, random_state=1)),
        make_pipeline(TableVectorizer(), clone(network)),
    ]
    blend = BlendedRanker(rankers, metric=MAP(), method="sweep", cv=2, random_state=0)
    found["blend"] = blend.fit(plain, y, groups=GROUPS), unseen[plain.columns]
    return found


@cache
def default_blend():
    """Return a blend of the defaults, and rows to score."""
    n = 6 * LENGTH  # whose trees are small: there are hundreds
    X = table(n=n)
    blend = BlendedRanker(random_state=0).fit(X, grades(X), groups=GROUPS[:n])
    return blend, table(5, N_ROWS, extra=True)


NAMES = [*models(), "default blend"]


def model_and_rows(name):
    return default_blend() if name == "default blend" else models()[name]


def parameters_of(estimator):
    """Return all parameters, as text: estimators are not compared by ==."""
    return str(sorted((n, str(v)) for n, v in estimator.get_params().items()))


@pytest.mark.parametrize("name", NAMES)
def test_what_comes_back_predicts_the_same_bytes(name):
    model, rows = model_and_rows(name)
    text = to_json(model)
    again = from_json(text)
    assert type(again) is type(model)
    expected = model.predict(rows).tobytes()
    assert again.predict(rows).tobytes() == expected
    assert to_json(again) == text
    SCHEMA.validate(json.loads(text))
    assert pickle.loads(pickle.dumps(again)).predict(rows).tobytes() == expected
    assert again.n_features_in_ == model.n_features_in_
    names = [getattr(m, "feature_names_in_", None) for m in (again, model)]
    np.testing.assert_array_equal(*names)
    if "passthrough" not in str(model):
        assert parameters_of(again) == parameters_of(model)


def objects(X):
    """Return rows as a program has them: days for dates, None for missing values."""
    if isinstance(X, np.ndarray):
        return X
    if "day" in X:
        days = (X["day"] - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
        X = X.assign(day=days)
    return X.astype(object).where(X.notna(), None).to_numpy()


@pytest.mark.parametrize("name", models())
def test_another_program_scores_by_the_documentation(name):
    model, rows = model_and_rows(name)
    found = predict(json.loads(to_json(model)), objects(rows))
    expected = model.predict(rows)
    if name == "bag of trees" or name.startswith("trees"):
        np.testing.assert_array_equal(found, expected)
    atol = 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("name", ["relu", "smooth", "one-hot", "bag of trees", "blend"])
def test_a_clone_and_a_new_fit_are_those_of_the_parameters(name):
    model, rows = model_and_rows(name)
    X = numbers()[:, :4] if isinstance(rows, np.ndarray) else dated()[rows.columns]
    y = grades(X)
    X = np.nan_to_num(X) if isinstance(X, np.ndarray) else X
    steps = dict(getattr(model, "steps", []))
    takers = [
        n for n, s in steps.items() if n in ("lambdarankranker", "tablevectorizer")
    ]
    groups = {f"{n}__groups": GROUPS for n in takers} or {"groups": GROUPS}
    scores = []
    for start in (
        clone(model),
        clone(from_json(to_json(model))),
        from_json(to_json(model)),
    ):
        scores.append(start.fit(X, y, **groups).predict(rows).tobytes())
    assert scores[0] == scores[1] == scores[2]


def test_a_table_vectorizer_comes_back_with_all_that_it_knows():
    for name in ("one-hot", "target", "categories"):
        model, rows = models()[name]
        old, new = model[0], from_json(to_json(model))[0]
        assert (
            new.get_feature_names_out().tolist() == old.get_feature_names_out().tolist()
        )
        assert new.kinds_.tolist() == old.kinds_.tolist()
        assert new.transform(rows).tobytes() == old.transform(rows).tobytes()


def test_a_table_vectorizer_comes_back_with_the_kinds_of_its_dates():
    day = pd.date_range("2025-01-01", periods=N, freq="h")
    age = pd.to_timedelta(np.arange(N), "h")
    X = pd.DataFrame({"day": day, "zoned": day.tz_localize("Asia/Tokyo"), "age": age})
    old = piped(TableVectorizer(), LambdaMARTRanker(**TREES), X=X)
    new = from_json(to_json(old))
    assert new[0].kinds_.tolist() == ["date", "zoned date", "duration"]
    assert new.predict(X).tobytes() == old.predict(X).tobytes()
    with pytest.raises(
        ValueError, match="'zoned' holds dates without a time zone, but"
    ):
        new.predict(X.assign(zoned=day))


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_what_transformers_put_out_elsewhere_changes_no_score(output):
    from scipy.sparse import csr_array

    X = csr_array(np.nan_to_num(numbers()))
    model = piped(TableVectorizer(), LambdaRankRanker(**NETWORK), X=X)
    again, expected = from_json(to_json(model)), model.predict(X)
    with sklearn.config_context(transform_output=output):
        assert again.predict(X).tobytes() == expected.tobytes()


def test_sparse_tables_are_scored_after_reading():
    from scipy.sparse import csr_array

    X = numbers()
    X[:, 3:] = 0.0
    sparse = csr_array(X)
    model = piped(TableVectorizer(), LambdaRankRanker(**NETWORK), X=sparse)
    again = from_json(to_json(model))
    assert again.predict(sparse).tobytes() == model.predict(sparse).tobytes()


def test_a_network_does_not_continue():
    X, y = np.nan_to_num(numbers()[:, :4]), grades(numbers())
    again = from_json(to_json(networks()["relu"]))
    expected = again.predict(X)
    message = "read from JSON, .* fit with warm_start=False"
    with pytest.raises(ValueError, match=message):
        again.partial_fit(X, y, groups=GROUPS)
    again.set_params(warm_start=True)
    with pytest.raises(ValueError, match=message):
        again.fit(X, y, groups=GROUPS)
    np.testing.assert_array_equal(again.predict(X), expected)
    again.set_params(warm_start=False).fit(X, y, groups=GROUPS)
    again.set_params(warm_start=True, max_iter=1).fit(X, y, groups=GROUPS)
    assert again.n_iter_ == 4


class OwnRanker(LambdaRankRanker):
    pass


class OwnScaler(StandardScaler):
    pass


def overflown():
    """Return trees after a StandardScaler of a column of infinite variance."""
    pipeline = piped(StandardScaler(), LambdaMARTRanker(**TREES), X=numbers())
    pipeline[0].scale_[1] = np.inf  # as of numbers of 1e200
    return pipeline


def fitted(ranker, X=None):
    X = np.nan_to_num(numbers()[:, :4]) if X is None else X
    return ranker.fit(X, grades(numbers()), groups=GROUPS)


FINITE = np.nan_to_num(numbers()[:, :4])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: BlendedRanker(), NotFittedError, "BlendedRanker instance is not fit"),
        (lambda: make_pipeline(LambdaRankRanker()), NotFittedError, "not fitted yet"),
        (lambda: fitted(OwnRanker(**NETWORK)), TypeError, "got OwnRanker"),
        (lambda: fitted(LambdaRankRanker(network=Linear(), max_iter=1)), TypeError,
         "network=Linear, but only networks of hidden_layer_sizes can be exported"),
        (lambda: fitted(LambdaRankRanker(**NETWORK)).set_params(network=Linear()),
         ValueError, "parameter network is a Linear, which JSON cannot hold"),
        (lambda: piped(RobustScaler(), LambdaRankRanker(**NETWORK), X=FINITE),
         TypeError, "'robustscaler' of the Pipeline is a RobustScaler, but only a"),
        (lambda: piped(OwnScaler(), LambdaRankRanker(**NETWORK), X=FINITE), TypeError,
         "'ownscaler' of the Pipeline is a OwnScaler, a class of your own"),
        (lambda: piped(SimpleImputer(add_indicator=True), LambdaRankRanker(**NETWORK),
                       X=FINITE), ValueError, "and add no column"),
        (overflown, ValueError, "scale_ of 'standardscaler' is infinite"),
        (lambda: fitted(BlendedRanker([LambdaMARTRanker(**TREES), Ridge()])), TypeError,
         "are models of boosted trees, got Ridge"),
        (lambda: fitted(BlendedRanker([LambdaMARTRanker(**TREES),
                                       LambdaRankRanker(**NETWORK)], cv=GroupKFold(2))),
         ValueError, "parameter cv is a GroupKFold, which JSON cannot hold"),
        (lambda: fitted(BlendedRanker(
            [FrozenEstimator(fitted(LambdaMARTRanker(**TREES))),
             FrozenEstimator(networks()["relu"])], cv="prefit")),
         TypeError, "a FrozenEstimator holds a fitted model"),
        (lambda: fitted(CalibratedRanker(LambdaMARTRanker(**TREES))), TypeError,
         "a CalibratedRanker has maps of scores"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused_with_a_reason(make, error, message):
    with pytest.raises(error, match=message):
        to_json(make())


def changed(name, *path, value=None):
    """Return a text without its checksum, in which a member is another."""
    document = json.loads(to_json(models()[name][0]))
    del document["checksum"]
    part = document
    for key in path[:-1]:
        part = part[key]
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed("relu", "estimator", value="StandardScaler"),
         "^estimator must be one of LambdaMARTRanker, .*, got 'StandardScaler'"),
        (changed("relu", "parameters", "depth", value=1), "^parameters: .*'depth'"),
        (changed("relu", "parameters", "max_iter", value="many"), "^parameters: max_"),
        (changed("relu", "activation", value="gelu"), "its activation is 'gelu'"),
        (changed("relu", "sigma", value=-1.0), "its sigma was -1.0"),
        (changed("relu", "layers", value=[]), "^layers must end with one unit"),
        (changed("relu", "layers", 2), "^layers must end with one unit"),
        (changed("relu", "layers", 2, "bias", value=[1.0]), "^layers must end with"),
        (changed("relu", "layers", 0, "matrix", 2, 1, value="x"),
         r"^layers\[0\].matrix\[2\]\[1\] must be a finite number, got 'x'"),
        (changed("relu", "layers", 0, "matrix", 2, value=[0.5]),
         r"^layers\[0\].matrix must hold 6 rows of 4 numbers each"),
        (changed("relu", "layers", 1, "bias", 0, value=1e39),
         r"^layers\[1\] holds a number that is infinite in float32"),
        (changed("relu", "features", value=[]), "^features must hold at least one"),
        (changed("relu", "features", 3),
         r"^layers\[0\].matrix must hold 6 rows of 3 numbers"),
        (changed("relu", "features", 1, value={"name": "a", "type": "text_category",
                                               "categories": ["b"]}),
         r"^features\[1\].type must be 'number'"),
        (changed("standard", "steps", value=[]), "^steps must hold at least one"),
        (changed("standard", "steps", 0, "name"), r"^steps\[0\].name is missing"),
        (changed("standard", "steps", 0, "estimator", value="Pipeline"),
         r"^steps\[0\].estimator must be one of SimpleImputer, "),
        (changed("standard", "steps", 0, "scale", 3, value="1"),
         r"^steps\[0\].scale\[3\] must be a finite number, got '1'"),
        (changed("standard", "steps", 0, "mean", value=[1.0]),
         r"^steps\[0\].mean must hold 4 numbers, got 1"),
        (changed("standard", "steps", 0, "parameters", "with_mean", value="no"),
         r"^steps\[0\].parameters: The 'with_mean' parameter"),
        (changed("limits", "steps", 0, "parameters", "feature_range", value=[]),
         r"^steps\[0\].parameters: "),
        (changed("blend", "parameters", "rankers", 1, "parameters", "steps", value=5),
         r"^parameters.rankers\[1\].parameters.steps must be pairs of a name and an"),
        (changed("standard", "steps", 0, "features", 3), r"\[0\].mean must hold 3"),
        (changed("trees, smooth", "steps", 0, "center", 0, value=[]),
         r"steps\[0\].center\[0\] must be a finite number"),
        (changed("trees, smooth", "steps", 0, "scale", 0, value=0.0),
         r"steps\[0\].scale\[0\] must be above 0"),
        (changed("trees, smooth", "steps", 1, "trees", 0, "left", 0, value=0),
         r"^steps\[1\]: trees\[0\]: left and right are not"),
        (changed("imputed", "steps", 0, "parameters", "add_indicator", value=True),
         r"^steps\[0\]: the step 'simpleimputer' .* add no column"),
        (changed("constant", "steps", 0, "parameters", "fill_value",
                               value="x"), r"^steps\[0\].parameters: "),
        (changed("imputed", "steps", 1, "estimator", value="TableVectorizer"),
         r"^steps\[1\].indicated is missing"),
        (changed("one-hot", "steps", 0, "indicated", value=[1]),
         r"^steps\[0\].indicated must be indices of columns of numbers, ascending"),
        (changed("one-hot", "steps", 0, "dates", value=[4, 0]),
         r"^steps\[0\].dates must be indices of columns of numbers, ascending"),
        (changed("one-hot", "steps", 0, "durations", value=[1]),
         r"^steps\[0\].durations must be indices of columns of numbers, ascending"),
        (changed("one-hot", "steps", 0, "indicated", value=[0]),
         r"^steps\[1\] takes 22 columns, but the step before it makes 21"),
        (changed("one-hot", "steps", 0, "tables", 1),
         r"^steps\[0\].tables must be 2, one for each"),
        (changed("one-hot", "steps", 0, "tables", 0, "encoding", value="hash"),
         r"^steps\[0\].tables\[0\].encoding must be 'one-hot' or 'target'"),
        (changed("target", "steps", 0, "tables", 0, "rows", 2, value=[1.0, 2.0]),
         r"^steps\[0\].tables\[0\].rows must hold 7 rows of 1 numbers each"),
        (changed("one-hot", "steps", 0, "features", 1, "categories", 0, value="zzz"),
         r"^steps\[0\].features\[1\]: its categories do not ascend"),
        (changed("bag of networks", "estimators", value=[]), "^estimators must be"),
        (changed("bag of networks", "estimators", 1, "layers", 0, "bias", 0, value="a"),
         r"^estimators\[1\].layers\[0\].bias\[0\] must be a finite number"),
        (changed("bag of networks", "estimators", 1, "queries", 0, value=0.5),
         r"^estimators\[1\].queries\[0\] must be an integer"),
        (changed("bag of networks", "parameters", "estimator", "parameters", "z",
                 value=1), "^parameters.estimator.parameters: .*'z'"),
        (changed("bag of networks", "parameters", "estimator", "estimator",
                 value="os.system"), "^parameters.estimator.estimator must be one of"),
        (changed("bag of networks", "parameters", "estimator", value=5),
         "^parameters: estimator must be an estimator with fit and predict"),
        (changed("blend", "parameters", "method", value="mean"), "^parameters: method"),
        (changed("blend", "weights", value=[1.0]), "^weights must hold 2 numbers"),
        (changed("blend", "rankers", 1, "steps", 0, "scale", 0, value="x"),
         r"^rankers\[1\].steps\[0\].scale\[0\] must be a finite number"),
        (changed("blend", "rankers", 0, "estimators", 1, "trees", 0, "value", 0,
                 value="x"),
         r"^rankers\[0\].estimators\[1\]: trees\[0\].value\[0\] must be a finite"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_model_is_refused_and_says_where(text, message):
    with pytest.raises(ValueError, match=message):
        from_json(text)


@pytest.mark.parametrize(
    ("n_levels", "message"),
    [(400, "nested too deeply|estimators must be models of"), (4_000, "too deeply")],
)
def test_models_nested_beyond_all_measure_are_refused(n_levels, message):
    inner = '{"estimator": "BaggingRanker", "parameters": {}, "estimators": ['
    head = '{"format": "sklearn_ltr", "format_version": 1, "library_version": "0.1", '
    text = head + inner[1:] + inner * n_levels + "]}" * (n_levels + 1)
    with pytest.raises(ValueError, match=message):
        from_json(text)


@pytest.mark.parametrize("name", ["relu", "one-hot", "blend"])
def test_a_changed_digit_is_refused_unless_it_is_the_same_number(name):
    assert_changed_digits_are_noticed(to_json(models()[name][0]), 40)


@pytest.mark.parametrize("name", ["relu", "standard", "imputed", "one-hot", "blend"])
def test_a_member_of_another_kind_raises_a_value_error_or_changes_nothing(name):
    model, rows = models()[name]
    document = json.loads(to_json(model))
    del document["checksum"]
    expected = model.predict(rows[:50])
    paths = list(members(document))
    rng = np.random.default_rng(0)
    for index in rng.choice(len(paths), min(len(paths), 50), replace=False):
        *path, key = paths[index]
        part = document
        for each in path:
            part = part[each]
        old = part[key]
        for value in (None, [], {}, "x", -1, True):
            part[key] = value
            try:
                again = from_json(json.dumps(document))
                with warnings.catch_warnings(action="ignore"):  # of names of columns
                    found = again.predict(rows[:50])
            except ValueError:
                continue
            finally:
                part[key] = old
            if "parameters" in path:
                np.testing.assert_array_equal(found, expected)


def members(value, path=()):
    """Yield the paths to all members of an object, of lists the first three."""
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value[:3])
    else:
        return
    for key, item in pairs:
        yield (*path, key)
        yield from members(item, (*path, key))
