"""Frames of any library and dtype give the model and the scores of the same array."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.plotting import FeatureImportancesDisplay

DATA = make_ranking(20, n_features=4, n_informative=2, random_state=0)
Y, GROUPS = DATA.target, DATA.groups
# Small integers, so that every dtype holds them; the last column is 0 or 1
WHOLE = np.round(DATA.data * 4).clip(-100, 100)
WHOLE[:, 3] = WHOLE[:, 3] > 0
HOLES = WHOLE.copy()
HOLES[::5, 0] = HOLES[::7, 3] = np.nan
NAMES = ["price", "stars", "age", "in_stock"]
FRAME = pd.DataFrame(WHOLE, columns=NAMES)
WITH_HOLES = pd.DataFrame(HOLES, columns=NAMES)
NULLABLE = WITH_HOLES.astype("Int64")
ARROW_TYPES = ["int64", "double", "float", "bool"]


def with_none(frame):
    """Booleans and None in an object column."""
    flags = [None if np.isnan(x) else bool(x) for x in frame["in_stock"]]
    return frame.assign(in_stock=pd.Series(flags, dtype=object))


FORMS = {
    "pandas, float32": FRAME.astype("float32"),
    "pandas, int64": FRAME.astype("int64"),
    "pandas, int8": FRAME.astype("int8"),
    "pandas, a boolean": FRAME.astype({"in_stock": bool}),
    "polars": pl.from_pandas(FRAME),
    "polars, small dtypes": pl.from_pandas(FRAME).cast(
        {"price": pl.Int8, "stars": pl.Float32, "in_stock": pl.Boolean}
    ),
    "polars, a decimal": pl.from_pandas(FRAME).cast({"price": pl.Decimal(10, 2)}),
    "Arrow": pa.Table.from_pandas(FRAME),
    "Arrow, a boolean": pa.Table.from_pandas(FRAME.astype({"in_stock": bool})),
}
FORMS_WITH_HOLES = {
    "pandas, NaN": WITH_HOLES,
    "pandas, Int64": NULLABLE,
    "pandas, Float64": WITH_HOLES.astype("Float64"),
    "pandas, Float32": WITH_HOLES.astype("Float32"),
    "pandas, mixed": WITH_HOLES.astype(
        {"price": "Int8", "stars": "float32", "in_stock": "boolean"}
    ),
    "pandas on Arrow": WITH_HOLES.astype(
        {n: f"{t}[pyarrow]" for n, t in zip(NAMES, ARROW_TYPES, strict=True)}
    ),
    "pandas on Arrow, decimals": WITH_HOLES.astype(pd.ArrowDtype(pa.decimal128(9, 2))),
    "pandas, objects": WITH_HOLES.astype(object),
    "pandas, objects with NA": NULLABLE.astype(object),
    "pandas, objects with None": with_none(WITH_HOLES),
    "polars, null": pl.from_pandas(NULLABLE),
    "polars, NaN": pl.DataFrame(HOLES, schema=NAMES),
    "polars, a boolean with null": pl.from_pandas(
        WITH_HOLES.astype({"in_stock": "boolean"})
    ),
    "Arrow, null": pa.Table.from_pandas(NULLABLE),
    "Arrow, NaN": pa.table({n: HOLES[:, i] for i, n in enumerate(NAMES)}),
    "Arrow, decimals": pa.Table.from_pandas(
        WITH_HOLES.astype(pd.ArrowDtype(pa.decimal128(9, 2)))
    ),
    "Arrow, in chunks": pa.concat_tables(
        pa.Table.from_pandas(part, preserve_index=False)
        for part in (NULLABLE[:50], NULLABLE[50:])
    ),
}
OF_TREES = {
    "LambdaMART": LambdaMARTRanker(n_estimators=4, min_samples_leaf=3, random_state=0),
    "MARTRegressor": MARTRegressor(n_estimators=4, random_state=0),
    "MARTClassifier": MARTClassifier(n_estimators=4, random_state=0),
}
NETWORK = LambdaRankRanker(hidden_layer_sizes=(3,), max_iter=2, random_state=0)
MODELS = OF_TREES | {
    "network": NETWORK,
    "pipeline": make_pipeline(SimpleImputer(), NETWORK),
    "bagging": BaggingRanker(OF_TREES["LambdaMART"], n_estimators=2, random_state=0),
    "blend": BlendedRanker([OF_TREES["LambdaMART"]] * 2, method="equal"),
}
needs_scaling = pytest.mark.filterwarnings(
    "ignore::sklearn_ltr.UnscaledFeaturesWarning"
)


RELEASE = tuple(map(int, sklearn.__version__.split(".")[:2]))


def knows_names_of(table):
    """Whether this scikit-learn reads names from polars and Arrow.

    Up to 1.8 it does so by a protocol that newer ones of them have dropped.
    """
    return hasattr(table, "iloc") or RELEASE >= (1, 9)


def fit(name, table):
    model, y = clone(MODELS[name]), Y > 0 if name == "MARTClassifier" else Y
    if name.startswith("MART"):
        return model.fit(table, y)
    with sklearn.config_context(enable_metadata_routing=True):
        return model.fit(table, y, groups=GROUPS)


def scores(model, table):
    predict = getattr(model, "predict_proba", model.predict)
    return predict(table).tolist()


def assert_equal_to_the_array(name, table, array):
    expected, found = fit(name, array), fit(name, table)
    assert scores(found, table) == scores(expected, array)
    if hasattr(expected, "n_features_in_") and knows_names_of(table):
        assert found.feature_names_in_.tolist() == NAMES


@needs_scaling
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_a_frame_gives_the_model_of_the_array(name, form):
    assert_equal_to_the_array(name, FORMS[form], WHOLE)


@pytest.mark.parametrize("form", FORMS_WITH_HOLES)
@pytest.mark.parametrize("name", [*OF_TREES, "bagging", "blend"])
def test_missing_values_of_a_frame_are_nan(name, form):
    assert_equal_to_the_array(name, FORMS_WITH_HOLES[form], HOLES)


def test_a_model_scores_other_forms_than_that_of_its_fit():
    forms = [
        "pandas on Arrow",
        "polars, null",
        "Arrow, null",
        "pandas, objects with NA",
    ]
    known = [form for form in forms if knows_names_of(FORMS_WITH_HOLES[form])]
    for one, other in itertools.product(known, known):
        model = fit("LambdaMART", FORMS_WITH_HOLES[one])
        expected = scores(model, FORMS_WITH_HOLES[one])
        assert scores(model, FORMS_WITH_HOLES[other]) == expected


def test_a_frame_is_not_changed():
    table = NULLABLE.astype(object)
    before = table.copy(deep=True)
    fit("LambdaMART", table)
    pd.testing.assert_frame_equal(table, before)


def test_an_array_of_objects_may_hold_na():
    array = NULLABLE.astype(object).to_numpy()
    model = fit("LambdaMART", array)
    assert scores(model, array) == scores(fit("LambdaMART", HOLES), HOLES)


@pytest.mark.parametrize("form", ["pandas, int64", "polars", "Arrow"])
def test_importances_have_the_names_of_the_columns(form):
    if not knows_names_of(FORMS[form]):
        pytest.skip("this scikit-learn may not know the names")
    model = fit("LambdaMART", FORMS[form])
    with mpl.rc_context({"backend": "agg"}):
        display = FeatureImportancesDisplay.from_estimator(model)
    shown = {label.get_text() for label in display.ax_.get_yticklabels()}
    assert shown <= set(NAMES) and shown


@pytest.mark.parametrize("form", ["pandas, int64", "polars", "Arrow"])
def test_columns_in_another_order_are_refused(form):
    if not knows_names_of(table := FORMS[form]):
        pytest.skip("this scikit-learn may not know the names")
    model = fit("LambdaMART", table)
    other = table[NAMES[::-1]] if hasattr(table, "iloc") else table.select(NAMES[::-1])
    with pytest.raises(ValueError, match="same order"):
        model.predict(other)
