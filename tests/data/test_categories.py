"""Categorical features of the estimators: frames, codes, and what does not matter."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr._core.data import RowColumns, TrainingData
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.trees.categories import TargetUnit, row_targets
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests.docs.installation import extras_of, only

N, K = 480, 30
NAN = float("nan")
rng = np.random.default_rng(0)
CODE = rng.integers(0, K, N)
CODE[:K] = np.arange(K)
OTHER = rng.integers(0, 4, N)
NUMBER = rng.normal(size=N)
EFFECT = rng.normal(scale=2, size=K)
Y = EFFECT[CODE] + NUMBER + rng.normal(scale=0.3, size=N)
GROUPS = np.arange(N) // 12
GRADES = np.digitize(Y, [-2, 0, 2])
WORDS = np.array([f"word {i:02d}" for i in range(K)])
COLOURS = np.array(["blue", "green", "red", "yellow"])
X = np.column_stack([CODE, NUMBER, OTHER]).astype(np.float64)
NAMES = ["word", "number", "colour"]
OPTIONS = {
    "n_estimators": 8,
    "min_samples_leaf": 5,
    "random_state": 0,
}


def frame(word=WORDS[CODE], colour=COLOURS[OTHER], dtype="category"):
    columns = {"word": word, "number": NUMBER, "colour": colour}
    return pd.DataFrame(columns).astype({"word": dtype, "colour": dtype})


def fit(name="regressor", table=X, rows=slice(None), **options):
    if "categorical_features" not in options and isinstance(table, np.ndarray):
        options["categorical_features"] = [0, 2]
    table = table.iloc[rows] if hasattr(table, "iloc") else table[rows]
    if name == "ranker":
        model = LambdaMARTRanker(**OPTIONS | options)
        return model.fit(table, GRADES[rows], groups=GROUPS[rows])
    if name == "classifier":
        return MARTClassifier(**OPTIONS | options).fit(table, Y[rows] > 0)
    return MARTRegressor(**OPTIONS | options).fit(table, Y[rows])


def trees(model) -> bytes:
    return pickle.dumps(model.ensemble_)


every_estimator = pytest.mark.parametrize("name", ["ranker", "regressor", "classifier"])
FITTED = {name: fit(name) for name in ("ranker", "regressor", "classifier")}


# --- the same categories in other forms -------------------------------------------

shuffled = rng.permutation(WORDS)
FORMS = {
    "pandas": frame(),
    "pandas, categories in another order": frame(
        pd.Categorical(WORDS[CODE], categories=shuffled)
    ),
    "pandas, ordered, with categories that do not occur": frame(
        pd.Categorical(WORDS[CODE], categories=["a", *shuffled, "z"], ordered=True)
    ),
    "pandas, numbers": frame(CODE, OTHER),
    "polars": pl.DataFrame(
        {
            "word": pl.Series(WORDS[CODE], dtype=pl.Categorical),
            "number": NUMBER,
            "colour": pl.Series(COLOURS[OTHER], dtype=pl.Enum(COLOURS[::-1].tolist())),
        }
    ),
    "Arrow": pa.table(
        {
            "word": pa.array(WORDS[CODE]).dictionary_encode(),
            "number": NUMBER,
            "colour": pa.array(COLOURS[OTHER]).dictionary_encode(),
        }
    ),
    "Arrow in pandas": frame(dtype=pd.ArrowDtype(pa.dictionary("int8", pa.string()))),
}
#: with categorical_features=[0, 2]
NAMED_FORMS = {
    "a frame of text": frame(dtype=object),
    "a frame of strings": frame(dtype="string"),
    "a frame of integers": frame(CODE, OTHER, dtype=int),
    "a frame of nullable integers": frame(CODE, OTHER, dtype="Int64"),
    "polars, text": pl.DataFrame(
        {"word": WORDS[CODE], "number": NUMBER, "colour": COLOURS[OTHER]}
    ),
    "objects": frame(dtype=object).to_numpy(),
    "lists": frame(dtype=object).to_numpy().tolist(),
    "lists of numbers": X.tolist(),
    "columns after columns": np.asfortranarray(X),
    "codes in steps": X * [7, 1, 3],
}


@every_estimator
@pytest.mark.parametrize("form", FORMS)
def test_categories_of_a_dtype_give_the_model_of_codes(name, form):
    model = fit(name, FORMS[form])
    assert model.is_categorical_.tolist() == [True, False, True]
    assert trees(model) == trees(FITTED[name])
    assert model.predict(FORMS[form]).tolist() == FITTED[name].predict(X).tolist()


@pytest.mark.parametrize("form", NAMED_FORMS)
def test_named_features_of_any_table_give_the_model_of_codes(form):
    table = NAMED_FORMS[form]
    model = fit(table=table, categorical_features=[0, 2])
    assert trees(model) == trees(FITTED["regressor"])
    assert model.predict(table).tolist() == FITTED["regressor"].predict(X).tolist()


def test_single_precision_gives_the_model_of_codes():
    # numbers of 24 bits, so that the thresholds between them are the same
    table = X.astype(np.float32)
    single = fit(table=table)
    assert trees(single) == trees(fit(table=table.astype(np.float64)))
    assert (
        single.predict(table).tolist() == single.predict(table.astype(float)).tolist()
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_model_of_text_scores_any_form_of_the_same_text(form):
    if form == "pandas, numbers":
        pytest.skip("no text")
    model = fit(table=frame())
    expected = model.predict(frame())
    assert model.predict(FORMS[form]).tolist() == expected.tolist()
    objects = frame(dtype=object)
    assert model.predict(objects).tolist() == expected.tolist()


# --- unseen, missing and rare categories ------------------------------------------


@every_estimator
@pytest.mark.parametrize("missing", [None, NAN, pd.NA, "new"])
def test_an_unseen_category_scores_as_a_missing_one(name, missing):
    model = fit(name, frame())
    column = WORDS[CODE].astype(object)
    column[::3] = missing
    expected = X.copy()
    expected[::3, 0] = NAN
    found = model.predict(frame(pd.Categorical(column)))
    assert found.tolist() == FITTED[name].predict(expected).tolist()
    expected[::3, 0] = K + 5
    assert found.tolist() == FITTED[name].predict(expected).tolist()


# 60 categories in 32 bins: at most 30 of their own, 2 shared
FINE = CODE + K * (np.arange(N) % 3 == 0)
FINE_X = np.column_stack([FINE, NUMBER, OTHER]).astype(np.float64)
FINE_WORDS = np.array([f"word {i:02d}" for i in range(2 * K)])[FINE]
FINE_FRAME = frame(FINE_WORDS)
SHARED = {"max_bins": 32}


def test_targets_are_relative_to_the_query_whose_rows_are_in_one_fold():
    weights = np.array([1.0, 3.0, 2.0])
    query, offsets = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 2, 3, 6])
    y = np.array([0.0, 2, 4, 1, 1, 4])
    columns = RowColumns(sample_weight=weights)
    data = TrainingData(LabelGrades.of_one(y), offsets, [7, 8, 9], columns)
    weighted, weight, fold = row_targets(data, np.arange(3), TargetUnit(4, 2, 3, 6))
    target = weighted / weight
    np.testing.assert_allclose(target * 4, [-1, 1, 0, -1, -1, 2])  # 4: the largest |y|
    np.testing.assert_allclose(weight, (weights / 2)[query])
    assert fold.tolist() == query.tolist()
    rows = TrainingData(LabelGrades.of_one(y), np.arange(7), query_ids=None)
    weighted, weight, fold = row_targets(rows, np.arange(6), TargetUnit(4, 1, 1, 6))
    np.testing.assert_allclose(weighted * 4, y - 2)
    assert (weight == 1).all()
    assert fold.tolist() == [0, 1, 2, 3, 4, 0]


@every_estimator
def test_shared_bins_do_not_depend_on_the_order_of_rows_or_on_units(name):
    rows = np.random.default_rng(1).permutation(N)
    expected = trees(fit(name, FINE_FRAME, **SHARED))
    assert trees(fit(name, FINE_FRAME, rows, **SHARED)) == expected
    if name == "ranker":  # the others deal rows into folds by their values
        assert trees(fit(name, FINE_X * [7, 1, 3], **SHARED)) == expected
    assert trees(fit(name, FINE_FRAME, n_jobs=2, **SHARED)) == expected


@pytest.mark.skipif(INTERPRETED, reason="loops over many rows")
def test_rare_categories_are_learned():
    noise = np.random.default_rng(7)
    effect = noise.normal(size=1000)
    codes = noise.integers(0, 1000, 12_000)
    y = effect[codes] + noise.normal(size=12_000)
    train, test = slice(0, 8000), slice(8000, None)
    model = MARTRegressor(categorical_features=[0], random_state=0)
    model.fit(codes[train, np.newaxis], y[train])
    n_rows = np.maximum(1, np.bincount(codes[train], minlength=1000))
    means = np.bincount(codes[train], y[train], 1000) / n_rows
    score = model.score(codes[test, np.newaxis], y[test])
    assert score > 0.9 * r2_score(y[test], means[codes[test]])
    # without an effect nothing is learned; the means of 8 rows would have about -1/8
    model.fit(codes[train, np.newaxis], noise.permutation(y[train]))
    assert model.score(codes[test, np.newaxis], noise.permutation(y[test])) > -0.05


# --- the page of the guide ----------------------------------------------------------


@pytest.mark.skipif(INTERPRETED, reason="loops over many rows")
def test_combinations_of_the_guide_are_learned_and_are_features_like_others():
    page = Path(__file__).resolve().parents[2] / "docs" / "guide" / "categories.md"
    programs = re.findall(
        r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S
    )
    page_names: dict = {}
    with sklearn.config_context(), mpl.rc_context({"backend": "agg"}):
        with only(extras_of(page.read_text("utf-8"))):
            for program in programs:
                exec(compile(program, str(page), "exec"), page_names)
        visits, bought, visit, new, alone, paired = (
            page_names[name]
            for name in ("visits", "bought", "visit", "new", "alone", "paired")
        )
        test = visits[new], bought[new]
        gain = paired.score(*test, groups=visit[new])
        gain -= alone.score(*test, groups=visit[new])
        assert gain > 0.02  # 0.12
    (pairs, ranker), name = (step for _, step in paired.steps), "customer and brand"
    table = pairs.transform(visits)
    assert ranker.feature_names_in_.tolist() == ["customer", "brand", "colour", name]
    np.testing.assert_array_equal(ranker.predict(table), paired.predict(visits))
    # a combination that is new, or of which a part is missing, is missing
    unseen, missing = (visits.astype(object).iloc[:5].copy() for _ in range(2))
    unseen["brand"], missing["brand"] = "new", None
    unseen, missing = (t.astype("category") for t in (unseen, missing))
    np.testing.assert_array_equal(paired.predict(unseen), paired.predict(missing))
    values = shap_values(ranker, table.iloc[:50]).values
    assert np.abs(values[:, 3]).sum() > np.abs(values[:, :3]).sum()


# --- quality ----------------------------------------------------------------------


@pytest.mark.skipif(INTERPRETED, reason="loops over many rows")
def test_trees_are_as_good_as_those_of_scikit_learn():
    train, test = slice(0, 360), slice(360, N)
    shared = {"learning_rate": 0.3, "random_state": 0}
    ours = MARTRegressor(**shared, n_estimators=30, min_samples_leaf=10)
    ours.fit(frame()[train], Y[train])
    # many threads on few rows wait for each other
    with threadpool_limits(1, user_api="openmp"):
        theirs = HistGradientBoostingRegressor(**shared, max_iter=30)
        theirs.fit(frame()[train], Y[train])
    score = ours.score(frame()[test], Y[test])
    assert score > theirs.score(frame()[test], Y[test]) - 0.02
    assert score > 0.5  # the words alone are four fifths of the variance


# --- the life of a model ----------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("table", [X, frame()], ids=["codes", "frame"])
def test_a_model_scores_the_same_when_saved_in_stages_and_for_many_rows(name, table):
    model = fit(name, table)
    predict = "predict_proba" if name == "classifier" else "predict"
    expected = getattr(model, predict)(table)
    again = pickle.loads(pickle.dumps(model))
    assert getattr(again, predict)(table).tolist() == expected.tolist()
    assert again.is_categorical_.tolist() == [True, False, True]
    (*_, last) = getattr(model, f"staged_{predict}")(table)
    assert last.tolist() == expected.tolist()
    if not INTERPRETED and table is not X:  # loops over many rows
        many = pd.concat([table] * 40, ignore_index=True)
        assert getattr(model, predict)(many).tolist() == expected.tolist() * 40


@every_estimator
@pytest.mark.parametrize("shared", [{}, SHARED], ids=["own bins", "shared bins"])
def test_a_warm_start_keeps_the_categories(name, shared):
    word = FINE_WORDS if shared else WORDS[CODE]
    model = fit(name, frame(word), n_estimators=4, warm_start=True, **shared)
    first = model.ensemble_
    y = {"ranker": GRADES, "regressor": Y, "classifier": Y > 0}[name]
    groups = {"groups": GROUPS} if name == "ranker" else {}
    other_order = frame(pd.Categorical(word, np.random.default_rng(2).permutation(
        np.unique(word)
    )))  # fmt: skip
    model = pickle.loads(pickle.dumps(model)).set_params(n_estimators=8)
    model.fit(other_order, y, **groups)
    assert trees(model) == trees(fit(name, frame(word), **shared))
    assert pickle.dumps(model.ensemble_.part(0, 4)) == pickle.dumps(first)
    assert model.score(other_order, y, **groups) > 0


def test_bagged_members_see_categories_of_their_own():
    bagging = BaggingRanker(
        LambdaMARTRanker(**OPTIONS), n_estimators=3, max_samples=0.05, random_state=0
    ).fit(frame(), GRADES, groups=GROUPS)
    assert np.isfinite(bagging.predict(frame())).all()
    with pytest.raises(ValueError, match="other categories"):
        bagging.merge()
    whole = BaggingRanker(
        LambdaMARTRanker(**OPTIONS), n_estimators=3, random_state=0
    ).fit(frame(), GRADES, groups=GROUPS)
    np.testing.assert_allclose(
        whole.merge().predict(frame()), whole.predict(frame()), rtol=1e-12
    )


@pytest.mark.parametrize("table", [FINE_X, FINE_FRAME], ids=["codes", "frame"])
@pytest.mark.parametrize(
    ("options", "n_of_tree", "n_of_path", "depth"),
    [
        ({"colsample_bytree": 1}, 1, 1, 30),
        ({"max_features": 1, "max_depth": 3}, 3, 3, 3),
        ({"colsample_bytree": 2, "max_features": 1, "max_depth": 2}, 2, 2, 2),
        ({"interaction_cst": "no_interactions", "max_depth": 4}, 1, 1, 4),
        ({"interaction_cst": [[0, 1]], "monotonic_cst": [0, 1, 0]}, 2, 2, 30),
    ],
    ids=str,
)
def test_what_limits_trees_also_limits_splits_of_categories(
    options, n_of_tree, n_of_path, depth, table
):
    model = fit(table=table, **SHARED | {"n_estimators": 30} | options)
    trees = model.ensemble_
    bounds = [*trees.first_node, len(trees.feature)]
    of_trees, of_paths, depths = set(), set(), set()
    for first, last in zip(bounds[:-1], bounds[1:], strict=True):
        of_trees.add(frozenset(trees.feature[first:last].tolist()) - {-1})
        paths = {0: []}
        for node in range(last - first):
            feature = int(trees.feature[first + node])
            if feature >= 0:
                for child in (trees.left[first + node], trees.right[first + node]):
                    paths[int(child)] = [*paths[node], feature]
        of_paths |= {frozenset(path) for path in paths.values()}
        depths |= set(map(len, paths.values()))
    assert max(map(len, of_trees)) == n_of_tree
    assert max(map(len, of_paths)) == n_of_path
    assert max(depths) == depth if depth < 30 else max(depths) > 3
    assert {0, 1} <= set().union(*of_trees)
    if "monotonic_cst" in options:
        assert all(path <= {0, 1} or path == {2} for path in of_paths)
        swept = np.tile(FINE_X[:20], (9, 1)).reshape(9, 20, 3)
        swept[:, :, 1] = np.linspace(-3, 3, 9)[:, np.newaxis]
        if table is FINE_X:
            scores = model.predict(swept.reshape(-1, 3)).reshape(9, 20)
            assert (np.diff(scores, axis=0) >= 0).all()


def test_without_categories_it_does_not_matter_how_that_is_said():
    plain = fit(categorical_features=None)
    assert not plain.is_categorical_.any()
    for none in ([], np.zeros(3, dtype=bool), "from_dtype"):
        assert trees(fit(categorical_features=none)) == trees(plain)
    smoothed = fit(categorical_features=None, category_smoothing=0.0)
    assert trees(smoothed) == trees(plain)
