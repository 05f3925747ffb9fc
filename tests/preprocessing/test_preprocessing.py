"""Pairs of categorical columns: which are chosen, and what their columns hold."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import combinations, product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.preprocessing import CategoryPairs
from sklearn_ltr.preprocessing._category_pairs import column_name
from tests.bad_inputs import refused
from tests.package.test_scikit_learn_tools import POLARS_IS_KNOWN

N, K = 1200, 8
rng = np.random.default_rng(0)
CUSTOMER, BRAND, COLOUR = rng.integers(K, size=(3, N))
GROUPS = rng.integers(N // 10, size=N)
TASTE = rng.normal(size=(K, K))
Y = (TASTE[CUSTOMER, BRAND] + rng.normal(scale=0.5, size=N) > 0.5).astype(int)
X = pd.DataFrame(
    {
        "customer": [f"customer {c:02d}" for c in CUSTOMER],
        "price": rng.normal(size=N),
        "brand": [f"brand {b:02d}" for b in BRAND],
        "colour": [None if c == 0 else f"colour {c:02d}" for c in COLOUR],
    }
).astype({name: "category" for name in ("customer", "brand", "colour")})
CATEGORICAL = ["customer", "brand", "colour"]
PAIR = ("customer", "brand")
WEIGHT = (GROUPS % 3).astype(float)  # a third of the queries is left out


def fitted(table=X, **options):
    return CategoryPairs(**options).fit(table, Y, groups=GROUPS)


def gains_by_loops(weight=None):
    """The formula of the docstring, one row at a time."""
    weight = np.ones(N) if weight is None else weight
    used = [i for i in range(N) if weight[i] > 0]
    fold = {q: k % 5 for k, q in enumerate(sorted({GROUPS[i] for i in used}))}
    scale = np.mean([weight[GROUPS == q][0] for q in fold])
    target = {i: Y[i] - Y[GROUPS == GROUPS[i]].mean() for i in used}

    def remaining(target, category):
        left = dict(target)
        for i in used:
            others = [
                j
                for j in used
                if category[j] == category[i]
                and fold[GROUPS[j]] != fold[GROUPS[i]]
                and category[i] is not None
            ]
            total = sum(weight[j] / scale for j in others)
            if total > 0:
                of_others = sum(weight[j] / scale * target[j] for j in others)
                left[i] -= of_others / (total + 10)
        return left

    def square(target):
        return sum(weight[i] * t**2 for i, t in target.items())

    values = {name: X[name].astype(object).tolist() for name in CATEGORICAL}
    values = {
        name: [v if isinstance(v, str) else None for v in column]
        for name, column in values.items()
    }
    gains = {}
    for one, other in combinations(CATEGORICAL, 2):
        both = [
            None if None in pair else pair
            for pair in zip(values[one], values[other], strict=True)
        ]
        left = remaining(remaining(target, values[one]), values[other])
        gain = square(left) - square(remaining(left, both))
        gains[one, other] = gain / square(target)
    return gains


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_gains_are_those_of_the_formula(weight):
    pairs = CategoryPairs().fit(X, Y, groups=GROUPS, sample_weight=weight)
    expected = gains_by_loops(weight)
    assert pairs.gains_ == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert list(pairs.gains_) == sorted(expected, key=lambda pair: -expected[pair])


def test_the_pair_that_the_grades_depend_on_is_chosen_and_helps_a_ranker():
    assert fitted().pairs_ == [PAIR]
    customer, brand = rng.integers(40, size=(2, 12_000))
    taste = rng.normal(size=(40, 40))[customer, brand]
    y = (taste + rng.normal(scale=0.5, size=12_000) > 1).astype(int)
    groups = np.arange(12_000) // 20
    table = pd.DataFrame({"customer": customer, "brand": brand}).astype("category")
    new, values = groups % 4 == 0, []
    for steps in ([], [CategoryPairs()]):
        with sklearn.config_context(enable_metadata_routing=True):
            ranker = LambdaMARTRanker(n_estimators=20, random_state=0)
            model = make_pipeline(*steps, ranker)
            model.fit(table[~new], y[~new], groups=groups[~new])
            values.append(model.score(table[new], y[new], groups=groups[new]))
    assert values[1] > values[0] + 0.05  # over four seeds: 0.08 to 0.12


def test_min_gain_is_the_smallest_gain():
    gains = fitted().gains_
    for least in (0.0, gains[PAIR] - 1e-9, gains[PAIR] + 1e-9):
        chosen = {pair for pair, gain in gains.items() if gain > least}
        assert set(fitted(min_gain=least).pairs_) == chosen


def test_rows_in_another_order_and_other_dtypes_give_the_same_gains_bit_for_bit():
    expected = list(fitted().gains_.items())
    order = rng.permutation(N)
    shuffled = CategoryPairs().fit(X.iloc[order], Y[order], groups=GROUPS[order])
    assert list(shuffled.gains_.items()) == expected
    reordered = X.assign(brand=X["brand"].cat.reorder_categories(X["brand"].unique()))
    for table in (reordered, pl.from_pandas(X), pa.Table.from_pandas(X)):
        assert list(fitted(table).gains_.items()) == expected


def test_columns_of_pairs_hold_the_combinations():
    pairs = fitted(min_gain=0.0)
    pairs.pairs_ = list(combinations(CATEGORICAL, 2))
    table = pairs.transform(X)
    assert table[X.columns].equals(X)
    assert table.columns.tolist() == pairs.get_feature_names_out().tolist()
    both = table["brand and colour"]
    is_missing = X["colour"].isna()
    assert both.dtype == "category"
    assert (both.isna() == is_missing).all()
    expected = X["brand"].astype(str) + " & " + X["colour"].astype(str)
    assert (both[~is_missing].astype(str) == expected[~is_missing]).all()
    assert len(pairs.transform(X[:0])) == 0

    arrow = pairs.transform(pa.Table.from_pandas(X))
    assert (arrow["customer and brand"] == table["customer and brand"]).all()
    with_pairs = pairs.transform(pl.from_pandas(X))
    assert isinstance(with_pairs, pl.DataFrame)
    assert with_pairs["brand and colour"].to_list() == [
        None if missing else text
        for missing, text in zip(is_missing, both.astype(object), strict=True)
    ]


def test_different_combinations_have_different_text():
    labels = ["", "&", " & ", "&&", "a", "a &", "& a", "a & a", " &"]
    one, other = zip(*product(labels, labels), strict=True)
    table = pd.DataFrame({"one": one, "other": other}).astype("category")
    pairs = CategoryPairs().fit(table, np.arange(81) % 2, groups=np.zeros(81))
    pairs.pairs_ = [("one", "other")]
    assert pairs.transform(table)["one and other"].nunique() == 81


def test_no_two_pairs_have_the_same_name():
    parts = ["a", "and", "a and b", "and b", "a and", '"', '"a" and', "b c", " and "]
    names = {column_name(pair) for pair in product(parts, parts)}
    assert len(names) == len(parts) ** 2
    assert column_name(("a", "b")) == "a and b"
    assert column_name(("a and b", "band")) == '"a and b" and band'
    table = pd.DataFrame(
        CODES[:, [0, 2, 3, 0]], columns=["a", "b and c", "a and b", "c"]
    )
    table = table.astype(int).astype("category")
    pairs = fitted(table, min_gain=0.0)
    pairs.pairs_ = list(combinations(table.columns, 2))
    added = pairs.transform(table).columns
    assert added.is_unique and len(added) == 10
    assert added.tolist() == pairs.get_feature_names_out().tolist()


def test_large_numbers_are_different_categories():
    shop = np.array([2**60, 2**60 + 1])[CUSTOMER % 2]
    table = pd.DataFrame({"shop": shop, "brand": BRAND}).astype("category")
    pairs = CategoryPairs().fit(table, (CUSTOMER + BRAND) % 2, groups=GROUPS)
    assert pairs.pairs_ == [("shop", "brand")]
    both = pairs.transform(table)["shop and brand"]
    assert both[0] == f"{shop[0]} & {BRAND[0]}"
    assert both.nunique() == 2 * K
    floats = table.assign(shop=pd.Categorical(shop.astype(float)))
    assert pairs.transform(floats)["shop and brand"][0].startswith(f"{2**60} & ")


def test_columns_may_be_named_in_arrays_and_frames():
    expected = {
        tuple(f"x{X.columns.get_loc(name)}" for name in pair): gain
        for pair, gain in fitted().gains_.items()
    }
    missing = CODES.copy()
    missing[COLOUR == 0, 3] = np.nan
    words = missing.astype(object)
    words[:, 0] = X["customer"]
    for table in (missing, missing.tolist(), words, missing.astype(np.float32)):
        pairs = fitted(table, categorical_features=[0, 2, 3], min_gain=0.0)
        assert pairs.gains_ == expected
        pairs = fitted(table, categorical_features=[0, 2, 3])
        assert pairs.pairs_ == [("x0", "x2")]
        found = pairs.transform(table)
        assert (found[:, :4] == np.asarray(table))[:, :3].all()
        # the number of a combination: another for each, unseen ones are missing
        text = [f"{c} & {b}" for c, b in zip(CUSTOMER, BRAND, strict=True)]
        assert (found[:, 4] == np.unique(text, return_inverse=True)[1]).all()
        unseen = np.asarray(table)[:2].copy()
        unseen[0, 2], unseen[1, 2] = 99, np.nan
        assert np.isnan(pairs.transform(unseen)[:, 4].astype(float)).all()
        assert len(pairs.transform(np.asarray(table)[:0])) == 0
        names = pairs.get_feature_names_out(list("abcd")).tolist()
        assert names == ["a", "b", "c", "d", "a and c"]
        assert pairs.get_feature_names_out()[-1] == "x0 and x2"
    saved = pickle.loads(pickle.dumps(CODED))
    assert np.array_equal(saved.transform(CODES), CODED.transform(CODES))
    # plain numbers in a frame
    frame = pd.DataFrame(CODES, columns=X.columns).astype(
        dict.fromkeys(CATEGORICAL, int)
    )
    pairs = fitted(frame, categorical_features=CATEGORICAL)
    assert pairs.pairs_ == [PAIR]
    assert pairs.transform(frame)["customer and brand"][0] == (
        f"{CUSTOMER[0]} & {BRAND[0]}"
    )


def test_combinations_of_rows_of_weight_0_are_unseen():
    table = CODES.copy()
    table[WEIGHT == 0, 0] = 50
    pairs = CategoryPairs(categorical_features=[0, 2])
    pairs.fit(table, Y, groups=GROUPS, sample_weight=WEIGHT)
    assert pairs.pairs_ == [("x0", "x2")]
    assert (np.isnan(pairs.transform(table)[:, 4]) == (WEIGHT == 0)).all()


def test_without_two_columns_of_categories_a_warning_says_so():
    for table, found in ((X[["customer", "price"]], "got 1 "), (CODES, "got 0 ")):
        with pytest.warns(
            UserWarning, match=f"two columns or more .*{found}.*name them"
        ):
            pairs = fitted(table)
        assert (pairs.pairs_, pairs.gains_) == ([], {})
        assert pairs.transform(table).shape == table.shape


@pytest.mark.filterwarnings("ignore")  # missing groups; no columns of categories
def test_the_checks_of_scikit_learn_pass():
    """They pass no groups: all rows are one query, and a query has one weight."""
    weights = dict.fromkeys(
        (
            "check_sample_weights_not_overwritten",
            "check_sample_weight_equivalence_on_dense_data",
        ),
        "sample_weight weighs whole queries, and these checks weigh single documents",
    )
    results = check_estimator(
        CategoryPairs(), expected_failed_checks=weights, on_skip=None
    )
    status = Counter(result["status"] for result in results)
    assert status.pop("passed") > 40 and status.pop("xfail") == 2
    assert status.pop("skipped", 0) <= 1 and not status


@pytest.mark.skipif(not POLARS_IS_KNOWN, reason="this scikit-learn knows no polars")
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_set_output_and_a_column_transformer(output):
    library = {"pandas": pd, "polars": pl}[output]
    for table in (X, pa.Table.from_pandas(X)):
        pairs = CategoryPairs().set_output(transform=output)
        found = pairs.fit(table, Y, groups=GROUPS).transform(table)
        assert isinstance(found, library.DataFrame)
        assert list(found.columns) == [*X.columns, "customer and brand"]
        assert str(found["customer and brand"].dtype).lower().startswith("categor")
    numbers = clone(CODED).set_output(transform=output)
    found = numbers.fit(CODES, Y, groups=GROUPS).transform(CODES)
    assert list(found.columns) == ["x0", "x1", "x2", "x3", "x0 and x2"]
    with sklearn.config_context(enable_metadata_routing=True):
        columns = ColumnTransformer(
            [
                ("pairs", CategoryPairs(), CATEGORICAL),
                ("rest", "passthrough", ["price"]),
            ],
            verbose_feature_names_out=False,
        ).set_output(transform=output)
        ranker = LambdaMARTRanker(n_estimators=3, random_state=0)
        model = make_pipeline(columns, ranker).fit(X, Y, groups=GROUPS)
    names = [*CATEGORICAL, "customer and brand", "price"]
    assert model[0].get_feature_names_out().tolist() == names
    alone = fitted().transform(X)[names]
    expected = clone(ranker).fit(alone, Y, groups=GROUPS).predict(alone)
    assert np.array_equal(model.predict(X), expected)


def test_numbers_are_the_same_categories_in_any_dtype():
    codes = pd.DataFrame({"customer": CUSTOMER, "brand": BRAND})
    pairs = fitted(codes.astype("category"))
    as_floats = codes.astype(float).astype("category")
    for table in (codes.astype("category"), as_floats):
        assert pairs.transform(table)["customer and brand"][0] == (
            f"{CUSTOMER[0]} & {BRAND[0]}"
        )


def test_a_search_a_pickle_and_validation_data_work_in_a_pipeline():
    train = GROUPS % 4 > 0
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(
            CategoryPairs(),
            LambdaMARTRanker(n_estimators=5, random_state=0),
            transform_input=["X_val"],
        )
        search = GridSearchCV(
            model, {"categorypairs__min_gain": [0.001, 0.9]}, cv=GroupKFold(3)
        ).fit(X, Y, groups=GROUPS)
        with_pair, without = search.cv_results_["mean_test_score"]
        assert np.isfinite([with_pair, without]).all()
        assert with_pair != without
        model.fit(
            X[train],
            Y[train],
            groups=GROUPS[train],
            X_val=X[~train],
            y_val=Y[~train],
            groups_val=GROUPS[~train],
        )
        saved = pickle.loads(pickle.dumps(model))
    assert np.array_equal(saved.predict(X), model.predict(X))
    names = model[-1].feature_names_in_.tolist()
    assert names == [*X.columns, "customer and brand"]
    assert clone(model[0]).get_params() == {
        "min_gain": 0.001,
        "categorical_features": "from_dtype",
    }


def test_a_fit_that_fails_leaves_the_pairs_as_they_were():
    pairs = fitted()
    before = dict(vars(pairs))
    with pytest.raises(ValueError, match="one number for each of the 1200 rows"):
        pairs.fit(X, Y[1:], groups=GROUPS)
    assert vars(pairs) == before


def given_to(method, **given):
    """Return a call of a method of CategoryPairs with some arguments replaced."""
    if method == "fit":
        return lambda: CategoryPairs().fit(**{"X": X, "y": Y, "groups": GROUPS} | given)
    return lambda: getattr(fitted(), method)(**given)


DATES = pd.date_range("2026-01-01", periods=N)
CODES = np.column_stack([CUSTOMER, X["price"], BRAND, COLOUR]).astype(float)
CODED = CategoryPairs(categorical_features=[0, 2, 3])
CODED.fit(CODES, Y, groups=GROUPS)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (given_to("fit", X=np.zeros(N)), ValueError, "X: Expected 2D array"),
        (given_to("fit", X=sparse.csr_matrix((N, 3))), ValueError, "X is sparse"),
        (given_to("fit", X=pl.from_pandas(X).lazy()), TypeError, "got LazyFrame"),
        (given_to("fit", X=X.set_axis([0, 1, 2, 3], axis=1)), ValueError,
         "a column named 0, which is no text"),
        (given_to("fit", X=X.set_axis(["a", "b", "a", "c"], axis=1)), ValueError,
         "X has two columns 'a', and pairs are named after"),
        (given_to("fit", X=X.rename(columns={"price": 3})), ValueError,
         "a column named 3, which is no text"),
        (given_to("fit", X=X.rename(columns={"price": "brand and colour"})), ValueError,
         "X has a column 'brand and colour', which is the name of a pair"),
        (given_to("fit", X=X.assign(day=pd.Categorical(DATES))), ValueError,
         "categories are text or numbers"),
        (given_to("fit", X=X[1:]), ValueError, "groups has 1200 values for 1199 rows"),
        (given_to("fit", y=None), ValueError, "y is None"),
        (given_to("fit", y=Y[1:]), ValueError,
         "y must hold one number for each of the 1200 rows"),
        (given_to("fit", y=np.ones(N)), ValueError, "y has no query with two diff"),
        (given_to("fit", groups=None), ValueError, "groups was not given"),
        (given_to("fit", sample_weight=np.zeros(N)), ValueError, "sample_weight"),
        (lambda: CategoryPairs().transform(X), NotFittedError, "not fitted"),
        (given_to("transform", X=X.to_numpy()), TypeError, "must be a DataFrame"),
        (lambda: CODED.transform(X.set_axis(list("abcd"), axis=1)), TypeError,
         "X must be an array, as it was when the pairs were chosen, got DataFrame"),
        (given_to("transform", X=X[X.columns[::-1]]), ValueError, "same order"),
        (given_to("transform", X=X.assign(brand=pd.Categorical(BRAND))), ValueError,
         "X in column 'brand' holds numbers, but was categorical, of text"),
        (given_to("transform", X=X.assign(brand=BRAND)), ValueError,
         "X in column 'brand' holds numbers, but was categorical"),
        (given_to("get_feature_names_out", input_features=["a"]), ValueError,
         "input_features must be the columns of fit"),
    ],
)  # fmt: skip
def test_what_pairs_cannot_be_made_of_is_refused(call, error, message):
    refused(call, error, message)
