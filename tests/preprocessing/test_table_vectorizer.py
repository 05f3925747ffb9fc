"""The transformer of any table: by its formulas, for tables as people have them."""

from __future__ import annotations

import datetime as dt
import pickle
from collections import Counter, defaultdict
from math import nan, sqrt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from sklearn_ltr import LambdaRankRanker
from sklearn_ltr.preprocessing import (
    SmoothClipScaler,
    TableVectorizer,
    _table_vectorizer,
)
from sklearn_ltr.scorers import make_ranking_scorer
from tests.bad_inputs import refused

RNG = np.random.default_rng(0)
N = 1500
GROUPS = np.arange(N) // 10
LIKING = RNG.normal(size=80)
BRAND = RNG.integers(80, size=N)
Y = np.floor(2 * (LIKING[BRAND] + 0.5 * RNG.normal(size=N) > 0.4)).astype(int)
DAYS = RNG.integers(0, 5000, size=N)
FRAME = pd.DataFrame(
    {
        "price": np.where(RNG.random(N) < 0.1, nan, np.exp(4 * RNG.normal(size=N))),
        "shop": pd.Categorical(RNG.choice(["b", "a", None], N)),
        "brand": pd.Categorical([f"n{b:02d}" for b in BRAND]),
        "size": pd.Categorical(RNG.choice([1, 5, 40], N)),
        "word": RNG.choice(["red", "blue"], N),
        "new": RNG.random(N) < 0.2,
        "day": pd.Timestamp("2020-02-03 12:00") + pd.to_timedelta(DAYS, "h"),
        "age": pd.to_timedelta(DAYS, "min"),
        "huge": 1e12 * RNG.normal(size=N),
        "same": 7.0,
        "nothing": nan,
    }
)
FRAME.loc[::9, "day"] = pd.NaT
KINDS = (
    "number one-hot target one-hot one-hot number date duration number number number"
).split()


def fitted(X=FRAME, **parameters):
    return TableVectorizer(**parameters).fit(X, Y, groups=GROUPS)


def columns_of(vectorizer, table):
    names = vectorizer.get_feature_names_out().tolist()
    return dict(zip(names, np.asarray(table).T, strict=True))


def test_each_kind_of_column_becomes_what_the_docstring_says():
    vectorizer = fitted()
    assert vectorizer.kinds_.tolist() == KINDS
    found = columns_of(vectorizer, vectorizer.transform(FRAME))
    assert list(found) == [
        "price", "new", "day", "age", "huge", "same", "nothing",
        "missingindicator_price", "missingindicator_day",
        "shop_a", "shop_b", "missingindicator_shop", "brand",
        "size_1", "size_5", "size_40", "word_blue", "word_red",
    ]  # fmt: skip
    day = (FRAME["day"] - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    numbers = {
        "price": FRAME["price"], "new": FRAME["new"], "day": day, "age": DAYS / 1440,
        "huge": FRAME["huge"], "same": FRAME["same"], "nothing": FRAME["nothing"],
    }  # fmt: skip
    for name, values in numbers.items():
        scaled = SmoothClipScaler().fit_transform(np.c_[values.astype(float)])[:, 0]
        assert_allclose(found[name], np.nan_to_num(scaled), rtol=1e-12, err_msg=name)
    for name in ("price", "day"):
        assert_array_equal(found[f"missingindicator_{name}"], FRAME[name].isna())
    assert_array_equal(found["missingindicator_shop"], FRAME["shop"].isna())
    for column in ("shop", "size", "word"):
        for value in FRAME[column].dropna().unique():
            assert_array_equal(found[f"{column}_{value}"], FRAME[column] == value)


def mean_of(rows, targets):
    return sum(targets[i] for i in rows) / (10 + len(rows))


def test_many_categories_are_their_mean_grades_of_other_queries():
    mean_grade = pd.Series(Y).groupby(GROUPS).transform("mean")
    targets = (Y - mean_grade).tolist()
    rows_of, everywhere = defaultdict(list), []
    for i, brand in enumerate(FRAME["brand"]):
        rows_of[brand].append(i)
    means = {brand: mean_of(rows, targets) for brand, rows in rows_of.items()}
    everywhere = [means[brand] for brand in FRAME["brand"]]
    size = sqrt(sum(m * m for m in everywhere) / N)
    vectorizer = TableVectorizer()
    trained = columns_of(vectorizer, vectorizer.fit_transform(FRAME, Y, groups=GROUPS))
    found = columns_of(vectorizer, vectorizer.transform(FRAME))
    assert_allclose(found["brand"], np.divide(everywhere, size), rtol=1e-9, atol=1e-12)
    assert np.sqrt((found["brand"] ** 2).mean()) == pytest.approx(1)
    elsewhere = [
        mean_of([i for i in rows_of[b] if GROUPS[i] % 5 != GROUPS[row] % 5], targets)
        for row, b in enumerate(FRAME["brand"])
    ]
    assert_allclose(trained["brand"], np.divide(elsewhere, size), rtol=1e-9, atol=1e-12)
    others = [name for name in found if name != "brand"]
    for name in others:
        assert_array_equal(trained[name], found[name])


def test_training_rows_do_not_see_their_own_grades():
    noise = pd.DataFrame({"id": pd.Categorical(RNG.integers(400, size=N))})
    vectorizer = TableVectorizer()
    trained = vectorizer.fit_transform(noise, Y, groups=GROUPS)[:, 0]
    leaked = vectorizer.transform(noise)[:, 0]
    assert np.corrcoef(leaked, Y)[0, 1] > 0.2
    assert abs(np.corrcoef(trained, Y)[0, 1]) < 0.15


def test_the_rows_may_be_in_any_order_and_in_any_library():
    expected = TableVectorizer().fit_transform(FRAME, Y, groups=GROUPS)
    order = RNG.permutation(N)
    shuffled = TableVectorizer().fit_transform(
        FRAME.iloc[order], Y[order], groups=GROUPS[order]
    )
    assert shuffled.tobytes() == expected[order].tobytes()
    text = FRAME.assign(size="s" + FRAME["size"].astype(str))
    expected = TableVectorizer().fit_transform(text, Y, groups=GROUPS)
    single = text.assign(huge=text["huge"].astype("float32"))
    for table in (
        pl.from_pandas(text),
        pa.Table.from_pandas(text),
        text.convert_dtypes(dtype_backend="pyarrow"),
        text.assign(day=text["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
        text.assign(shop=text["shop"].cat.reorder_categories(["b", "a"])),
    ):
        found = TableVectorizer().fit_transform(table, Y, groups=GROUPS)
        assert found.tobytes() == expected.tobytes()
    assert_allclose(fitted(single).transform(single), fitted(text).transform(text),
                    rtol=1e-6, atol=1e-6)  # fmt: skip


def test_unseen_categories_are_missing_ones():
    vectorizer = fitted()
    new = FRAME.assign(
        shop=pd.Categorical(["c"] * N), brand=pd.Categorical(["n99"] * N), word="green"
    )
    found = columns_of(vectorizer, vectorizer.transform(new))
    assert found["missingindicator_shop"].all() and not found["shop_a"].any()
    assert not found["brand"].any()
    assert not (found["word_red"].any() or found["word_blue"].any())
    gaps = FRAME.assign(brand=FRAME["brand"].where(np.arange(N) % 2 == 0))
    taught = columns_of(fitted(gaps), fitted(gaps).transform(gaps))["brand"][1::2]
    assert len(np.unique(taught)) == 1 and taught[0] != 0  # missing says something


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array])
def test_a_sparse_table_stays_sparse(form):
    dense = np.where(RNG.random((300, 6)) < 0.7, 0, RNG.pareto(1, (300, 6)))
    dense[::7, 2] = nan
    vectorizer = TableVectorizer().fit(form(dense))
    found = vectorizer.transform(form(dense))
    assert sparse.issparse(found) and found.shape == (300, 7)
    assert vectorizer.get_feature_names_out()[-1] == "missingindicator_x2"
    assert_array_equal(found.toarray()[:, -1], np.isnan(dense[:, 2]))
    assert_array_equal(found.toarray()[:, 2] == 0, np.nan_to_num(dense[:, 2]) == 0)
    assert_array_equal(vectorizer.transform(dense), found.toarray())
    assert_array_equal(TableVectorizer().fit_transform(form(dense)).toarray(),
                       found.toarray())  # fmt: skip
    refused(
        lambda: TableVectorizer(categorical_features=[1]).fit(form(dense)),
        ValueError,
        "X is sparse",
    )


def test_names_containers_and_pickles():
    vectorizer = fitted()
    expected = vectorizer.transform(FRAME)
    again = pickle.loads(pickle.dumps(vectorizer))
    assert again.transform(FRAME).tobytes() == expected.tobytes()
    table = vectorizer.set_output(transform="pandas").transform(FRAME)
    assert table.columns.tolist() == vectorizer.get_feature_names_out().tolist()
    codes = np.c_[BRAND % 3, RNG.normal(size=N)]
    chosen = TableVectorizer(categorical_features=[0]).fit(codes)
    names = ["x1", "x0_0", "x0_1", "x0_2"]
    assert chosen.get_feature_names_out().tolist() == names
    assert chosen.transform(codes[:0]).shape == (0, 4)


def test_what_cannot_be_is_refused_by_name():
    vectorizer = fitted()
    for X, message in (
        (FRAME.assign(day=1.0), "X in column 'day' holds numbers, but held dates with"),
        (FRAME.assign(price=np.inf), "contains infinity"),
        (FRAME.assign(word=1.0), "X in column 'word' holds numbers, but its categor"),
        (FRAME.assign(size="a"), "X in column 'size' holds text, but its categories"),
        (FRAME.drop(columns="price"), "feature names"),
        (FRAME[FRAME.columns[::-1]], "feature names"),
    ):
        refused(lambda given=X: vectorizer.transform(given), ValueError, message)
    without = TableVectorizer()
    many = "X in column 'brand' has 80 categories, more than cardinality_threshold=40"
    refused(lambda: without.fit(FRAME), ValueError, many)
    refused(lambda: without.fit(FRAME, Y), ValueError, "groups was not given")
    assert vars(without) == vars(TableVectorizer())
    assert TableVectorizer(cardinality_threshold=80).fit(FRAME).kinds_[2] == "one-hot"
    nested = FRAME.assign(word=[["a"]] * N)
    refused(lambda: without.fit(nested), ValueError, "X in column 'word'")
    refused(lambda: without.transform(FRAME), NotFittedError, "not fitted")


def test_the_checks_of_scikit_learn_pass():
    results = check_estimator(TableVectorizer(), on_skip=None)
    status = Counter(result["status"] for result in results)
    assert status.pop("passed") > 40
    assert status.pop("skipped", 0) <= 1 and not status


# --- what columns hold ----------------------------------------------------------------

TIMES = [dt.datetime(2026, 1, 1) + dt.timedelta(hours=5 * i) for i in range(60)]
TOKYO = dt.timezone(dt.timedelta(hours=9))
SPANS = [time - TIMES[0] for time in TIMES]


def beside_a_number(column):
    return pd.DataFrame({"a": column, "x": np.arange(60.0)})


def of_lists(column):
    return [[value, float(i)] for i, value in enumerate(column)]


def in_each_container(values):
    """The same dates or durations, as people have them."""
    numbers = {"x": np.arange(60.0)}
    series = pd.Series(values)
    yield beside_a_number(series.astype(object))
    yield beside_a_number(series)
    yield beside_a_number(series.dt.as_unit("s"))
    yield beside_a_number(series.dt.as_unit("ns"))
    yield beside_a_number(series.convert_dtypes(dtype_backend="pyarrow"))
    yield pl.DataFrame({"a": pl.Series(values), **numbers})
    yield pa.table({"a": pa.array(values), **numbers})
    yield of_lists(values)
    yield np.array(of_lists(values), dtype=object)


HELD = {
    "date": TIMES,
    "zoned date": [time.replace(tzinfo=TOKYO) for time in TIMES],
    "duration": SPANS,
}


@pytest.mark.parametrize("kind", HELD)
def test_dates_and_durations_are_read_from_any_container(kind):
    unit = dt.datetime(1970, 1, 1, tzinfo=TOKYO if kind == "zoned date" else None)
    numbers = [
        (v if kind == "duration" else v - unit) / dt.timedelta(days=1)
        - (0.375 if kind == "zoned date" else 0.0)  # UTC is nine hours behind
        for v in HELD[kind]
    ]
    plain = np.c_[numbers, np.arange(60.0)]
    expected = TableVectorizer().fit_transform(plain)
    forms = list(in_each_container(HELD[kind]))
    for table in forms:
        vectorizer = TableVectorizer()
        assert_allclose(vectorizer.fit_transform(table), expected, rtol=1e-12)
        assert vectorizer.kinds_.tolist() == [kind, "number"]
        assert vectorizer.transform(table).tobytes() == (
            TableVectorizer().fit_transform(forms[0]).tobytes()
        )
        if hasattr(vectorizer, "feature_names_in_"):
            again = vectorizer.transform(forms[0])
            assert again.tobytes() == vectorizer.transform(table).tobytes()


def test_days_alone_are_dates_in_any_container():
    days = [time.date() for time in TIMES]
    expected = TableVectorizer().fit_transform(beside_a_number(pd.to_datetime(days)))
    date = pd.ArrowDtype(pa.date32())
    for table in (
        beside_a_number(pd.Series(days, dtype=object)),
        beside_a_number(pd.Series(days, dtype=date)),
        pl.DataFrame({"a": days, "x": np.arange(60.0)}),
        pa.table({"a": pa.array(days, pa.date32()), "x": np.arange(60.0)}),
        pa.table({"a": pa.array(days, pa.date64()), "x": np.arange(60.0)}),
        of_lists(days),
    ):
        vectorizer = TableVectorizer()
        assert vectorizer.fit_transform(table).tobytes() == expected.tobytes()
        assert vectorizer.kinds_.tolist() == ["date", "number"]
    both = np.array([days, days], dtype="datetime64[D]").T
    assert TableVectorizer().fit(both).kinds_.tolist() == ["date", "date"]


IN_WORDS = {
    "date": "dates without a time zone", "zoned date": "dates with a time zone",
    "duration": "durations", "number": "numbers", "text": "text",
}  # fmt: skip
COLUMNS = HELD | {"number": np.arange(60), "text": list("ab") * 30}
NOTHING = [np.nan, None, pd.NaT, pd.NA]


@pytest.mark.parametrize("was", ["date", "zoned date", "duration", "number"])
@pytest.mark.parametrize("form", [pd.Series, lambda v: pd.Series(v, dtype=object)])
def test_a_column_holds_what_it_held_at_fit_or_nothing(was, form):
    vectorizer = TableVectorizer().fit(beside_a_number(form(COLUMNS[was])))
    for now, values in COLUMNS.items():
        table = beside_a_number(form(values))
        if now == was:
            assert np.isfinite(vectorizer.transform(table)).all()
            continue
        words = f"X in column 'a' holds {IN_WORDS[now]}, but held {IN_WORDS[was]} when"
        refused(lambda t=table: vectorizer.transform(t), ValueError, words)
        refused(lambda t=table: vectorizer.transform(pl.from_pandas(t)), ValueError,
                words)  # fmt: skip
    for missing in NOTHING:
        found = vectorizer.transform(beside_a_number([missing] * 60))
        assert not found[:, 0].any()
    empty = pl.DataFrame({"a": [None] * 60, "x": np.arange(60.0)})
    assert not vectorizer.transform(empty)[:, 0].any()


@pytest.mark.parametrize("was", HELD)
def test_a_sparse_table_holds_no_dates(was):
    vectorizer = TableVectorizer().fit(of_lists(HELD[was]))
    message = f"X in column 0 holds numbers, but held {IN_WORDS[was]} when"
    table = sparse.csr_array(np.ones((60, 2)))
    refused(lambda: vectorizer.transform(table), ValueError, message)


@pytest.mark.parametrize(
    ("values", "found"),
    [([b"a"], "bytes"), ([dt.time(1)], "time"),
     ([dt.date(2020, 1, 1), 3], "date and number"),
     ([TIMES[0], HELD["zoned date"][0]], "date and zoned date"),
     (pd.period_range("2020", periods=60), "Period")],
)  # fmt: skip
def test_what_a_column_cannot_hold_is_named_and_the_transformer_does_not_advise_itself(
    values, found
):
    column = pd.Series([*values] * (60 // len(values)))
    with pytest.raises(ValueError, match=f"X in column 'a' holds .* {found}") as error:
        TableVectorizer().fit(beside_a_number(column))
    assert "TableVectorizer" not in str(error.value)
    vectorizer = TableVectorizer().fit(beside_a_number(np.arange(60)))
    with pytest.raises(ValueError, match=f"{found}.*, but held numbers") as error:
        vectorizer.transform(beside_a_number(column))
    assert "TableVectorizer" not in str(error.value)


def test_text_that_is_not_named_as_categories_is_refused_by_name():
    for given in (None, ["x"]):
        message = "X in column 'a' holds text: name it in categorical_features, or give"
        table = pd.DataFrame({"a": list("ab") * 30, "x": np.arange(60)})
        call = TableVectorizer(categorical_features=given).fit
        refused(lambda c=call, t=table: c(t), ValueError, message)


@pytest.mark.parametrize("unit", ["datetime64[s]", "timedelta64[s]"])
def test_times_beyond_microseconds_keep_their_order(unit):
    seconds = 10 ** np.arange(1, 15)
    values = np.array([*-seconds[::-1], 0, *seconds])
    days = _table_vectorizer.days(pd.DataFrame({"a": values.astype(unit)}), 0)
    assert_allclose(days, values / 86_400, rtol=1e-15)
    whole = 10 ** np.arange(1, 10)  # in days, of 32 bits
    dates = pl.DataFrame({"a": pl.Series(whole, dtype=pl.Int32).cast(pl.Date)})
    assert_array_equal(_table_vectorizer.days(dates, 0), whole)


# --- names and containers of the output -----------------------------------------------


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"a": list("bc"), "a_b": [0, 1]}, ["a_b", '"a"_"b"', "a_c"]),
        ({"a": ["b_c", "d"], "a_b": ["c", "e"]},
         ['"a"_"b_c"', "a_d", '"a_b"_"c"', "a_b_e"]),
        ({"p": [nan, 1], "missingindicator_p": [1, 2]},
         ["p", "missingindicator_p", 'missingindicator_"p"']),
        ({"missingindicator": ["shop", "x"], "shop": ["a", None]},
         ['"missingindicator"_"shop"', "missingindicator_x", "shop_a",
          'missingindicator_"shop"']),
        ({"id": pd.Categorical([12345678, 12345679])}, ["id_12345678", "id_12345679"]),
        ({"id": pd.Categorical([2**53 - 1, 0.1])}, ["id_0.1", "id_9007199254740991"]),
        ({"{}": ["{0}", "é"]}, ["{}_{0}", "{}_é"]),
    ],
)  # fmt: skip
def test_names_of_columns_are_exact_and_each_its_own(columns, names):
    X = pd.DataFrame(columns)
    vectorizer = TableVectorizer().fit(X)
    assert vectorizer.get_feature_names_out().tolist() == names
    for output in ("pandas", "polars"):
        table = vectorizer.set_output(transform=output).transform(X)
        assert list(table.columns) == names


def test_a_name_that_cannot_be_told_apart_is_an_error():
    X = pd.DataFrame({'"a"_"b"': [0, 1], "a": list("bc"), "a_b": [0, 1]})
    vectorizer = TableVectorizer().fit(X)
    message = "two columns of the output would have the name"
    refused(vectorizer.get_feature_names_out, ValueError, message)
    assert vectorizer.transform(X).shape == (2, 4)


@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_what_transformers_put_out_elsewhere_changes_no_number(output, form):
    X = form(FRAME)
    expected = TableVectorizer().fit_transform(X, Y, groups=GROUPS)
    with sklearn.config_context(transform_output=output):
        vectorizer = TableVectorizer()
        found = vectorizer.fit_transform(X, Y, groups=GROUPS)
        again = vectorizer.transform(X)
    assert type(found).__module__.startswith(output)
    assert_array_equal(np.asarray(found), expected)
    assert_array_equal(np.asarray(again), fitted(X).transform(X))


def test_several_labels_count_with_their_mean():
    both = np.c_[Y, np.where(np.arange(N) % 3 == 0, nan, Y[::-1])].astype(float)
    found = TableVectorizer().fit(FRAME, both, groups=GROUPS).transform(FRAME)
    assert found.shape == (N, 18) and np.isfinite(found).all()


def test_a_network_in_a_pipeline_learns_from_what_it_is_given():
    with sklearn.config_context(enable_metadata_routing=True):
        network = LambdaRankRanker(max_iter=20, random_state=0)
        model = make_pipeline(TableVectorizer(), network)
        values = cross_val_score(
            model, FRAME, Y, cv=GroupKFold(3), scoring=make_ranking_scorer("ndcg@10"),
            params={"groups": GROUPS},
        )  # fmt: skip
        numbers = cross_val_score(
            model, FRAME.drop(columns="brand"), Y, cv=GroupKFold(3),
            scoring=make_ranking_scorer("ndcg@10"), params={"groups": GROUPS},
        )  # fmt: skip
    assert values.mean() > numbers.mean() + 0.1
