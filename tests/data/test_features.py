"""Feature tables: frames and sparse tables give the models of the same arrays."""

from __future__ import annotations

import itertools
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.data.features import (
    CHUNK_SIZE,
    check_finite,
    read_feature_table,
)
from sklearn_ltr._core.networks import MultilayerPerceptron
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.model_selection import RankerSearch

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


OF_ARROW = {n: f"{t}[pyarrow]" for n, t in zip(NAMES, ARROW_TYPES, strict=True)}
DECIMALS = pd.ArrowDtype(pa.decimal128(9, 2))
SIZE = WHOLE.shape
FORMS = {
    "pandas, float32": FRAME.astype("float32"),
    "pandas, int8": FRAME.astype("int8"),
    "pandas, a boolean": FRAME.astype({"in_stock": bool}),
    "polars, small dtypes": pl.from_pandas(FRAME).cast(
        {"price": pl.Int8, "stars": pl.Float32, "in_stock": pl.Boolean}
    ),
    "polars, a decimal": pl.from_pandas(FRAME).cast({"price": pl.Decimal(10, 2)}),
    "Arrow, a boolean": pa.Table.from_pandas(FRAME.astype({"in_stock": bool})),
    "bytes": WHOLE.astype(np.int8),
    "half precision": WHOLE.astype(np.float16),
    "extended precision": WHOLE.astype(np.longdouble),
    "another byte order": WHOLE.astype(">f8"),
    "decimals": np.vectorize(Decimal, otypes=[object])(WHOLE),
    "lists": WHOLE.tolist(),
    "tuples": tuple(map(tuple, WHOLE.tolist())),
    "columns after columns": np.asfortranarray(WHOLE),
    "a view of every other row": np.repeat(WHOLE, 2, axis=0)[::2],
    "a read-only array": np.frombuffer(WHOLE.tobytes()).reshape(SIZE),
    "nothing masked": np.ma.masked_greater(WHOLE, 999),
    "CSR array": sparse.csr_array(WHOLE),
    **{form: sparse.csr_matrix(WHOLE).asformat(form)
       for form in ("csc", "coo", "lil", "bsr")},
}  # fmt: skip
FORMS_WITH_HOLES = {
    "pandas, Int64": NULLABLE,
    "pandas, Float32": WITH_HOLES.astype("Float32"),
    "pandas, mixed": WITH_HOLES.astype(
        {"price": "Int8", "stars": "float32", "in_stock": "boolean"}
    ),
    "pandas on Arrow": WITH_HOLES.astype(OF_ARROW),
    "pandas on Arrow, decimals": WITH_HOLES.astype(DECIMALS),
    "pandas, objects": WITH_HOLES.astype(object),
    "pandas, objects with NA": NULLABLE.astype(object),
    "pandas, objects with None": with_none(WITH_HOLES),
    "objects with NA": NULLABLE.astype(object).to_numpy(),
    "polars, null": pl.from_pandas(NULLABLE),
    "polars, NaN": pl.DataFrame(HOLES, schema=NAMES),
    "polars, a boolean with null": pl.from_pandas(
        WITH_HOLES.astype({"in_stock": "boolean"})
    ),
    "Arrow, null": pa.Table.from_pandas(NULLABLE),
    "Arrow, decimals": pa.Table.from_pandas(WITH_HOLES.astype(DECIMALS)),
    "Arrow, in chunks": pa.concat_tables(
        pa.Table.from_pandas(part, preserve_index=False)
        for part in (NULLABLE[:50], NULLABLE[50:])
    ),
}  # fmt: skip
#: For models that leave X to others
A_FEW = ("pandas, float32", "polars, small dtypes", "Arrow, a boolean", "polars, null",
         "pandas on Arrow")  # fmt: skip
OF_TREES = {
    "LambdaMART": LambdaMARTRanker(n_estimators=4, min_samples_leaf=3, random_state=0),
    "MARTRegressor": MARTRegressor(n_estimators=4, random_state=0),
    "MARTClassifier": MARTClassifier(n_estimators=4, random_state=0),
}
OF_NUMBERS = ("network", "pipeline")
NETWORK = LambdaRankRanker(hidden_layer_sizes=(3,), max_iter=2, random_state=0)
MODELS = OF_TREES | {
    "network": NETWORK,
    "pipeline": make_pipeline(SimpleImputer(), NETWORK),
    "bagging": BaggingRanker(OF_TREES["LambdaMART"], n_estimators=2, random_state=0),
    "blend": BlendedRanker([OF_TREES["LambdaMART"]] * 2, method="equal"),
    "calibrated": CalibratedRanker(OF_TREES["LambdaMART"], cv=2),
    "searched": RankerSearch(OF_TREES["LambdaMART"], n_iter=2, cv=2, random_state=0),
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


def forms_for(name):
    """Names of forms: all for trees and dense ones for a network, a few for others."""
    forms = FORMS if name in OF_NUMBERS else FORMS | FORMS_WITH_HOLES
    if name == "network":
        return [form for form in forms if not sparse.issparse(forms[form])]
    return [form for form in forms if form in A_FEW or name == "MARTRegressor"]


@needs_scaling
@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name in MODELS for form in forms_for(name)]
)
def test_a_table_of_any_form_gives_the_model_of_the_array(name, form):
    table, array = (FORMS | FORMS_WITH_HOLES)[form], WHOLE
    if form in FORMS_WITH_HOLES:
        array = HOLES
    is_frame = hasattr(table, "columns")
    before = table.copy(deep=True) if hasattr(table, "iloc") else None
    expected, found = fit(name, array), fit(name, table)
    assert scores(found, table) == scores(expected, array)
    if is_frame and hasattr(expected, "n_features_in_") and knows_names_of(table):
        assert found.feature_names_in_.tolist() == NAMES
    if before is not None:
        pd.testing.assert_frame_equal(table, before)


def test_a_model_scores_other_forms_than_that_of_its_fit():
    names = "pandas on Arrow", "polars, null", "Arrow, null", "pandas, objects with NA"
    forms = [form for form in map(FORMS_WITH_HOLES.get, names) if knows_names_of(form)]
    for one, other in itertools.product(forms, forms):
        model = fit("LambdaMART", one)
        assert scores(model, other) == scores(model, one)


# --- sparse tables: never made dense as a whole ---

RNG = np.random.default_rng(0)
QUERIES = RNG.permutation(np.repeat(np.arange(60), 12))
DENSE = RNG.normal(size=(len(QUERIES), 30)) * (RNG.random((len(QUERIES), 30)) < 0.2)
GRADES = np.digitize(DENSE[:, :6].sum(axis=1), [0.0, 0.5, 1.2]).astype(float)
LINEAR = RankNetRanker(hidden_layer_sizes=(), max_iter=3, random_state=0)
HIDDEN = LambdaRankRanker(
    hidden_layer_sizes=(8,), max_iter=3, batch_size=16, random_state=0
)


@pytest.mark.parametrize(
    ("form", "max_bins"),
    [(sparse.csr_matrix, 255), (sparse.csc_array, 7), (sparse.coo_matrix, 255)],
)
def test_trees_of_sparse_tables_are_the_same_bit_for_bit(form, max_bins):
    ranker = LambdaMARTRanker(n_estimators=8, max_bins=max_bins, random_state=0)
    dense = ranker.fit(DENSE, GRADES, groups=QUERIES).predict(DENSE)
    table = form(DENSE)
    ranker.fit(table, GRADES, groups=QUERIES)
    assert ranker.predict(table).tobytes() == dense.tobytes()
    assert ranker.predict(DENSE).tobytes() == dense.tobytes()
    *_, last = ranker.staged_predict(table)
    assert last.tobytes() == dense.tobytes()


@pytest.mark.parametrize(
    ("ranker", "form"),
    [(LINEAR, sparse.csr_array), (HIDDEN, sparse.csc_array)],
    ids=["linear", "hidden layer"],
)
def test_networks_of_sparse_tables_are_the_same_up_to_rounding(ranker, form):
    dense = ranker.fit(DENSE, GRADES, groups=QUERIES).predict(DENSE)
    table = form(DENSE)
    ranker.fit(table, GRADES, groups=QUERIES)
    np.testing.assert_allclose(ranker.predict(table), dense, rtol=1e-4, atol=1e-5)
    one_by_one = [ranker.predict(table.tocsr()[[row]])[0] for row in range(20)]
    assert one_by_one == ranker.predict(table)[:20].tolist()


def test_duplicate_entries_are_summed_and_the_given_table_is_not_changed():
    table = sparse.csr_matrix(DENSE)
    halves = sparse.csr_matrix(
        (np.repeat(table.data / 2, 2), np.repeat(table.indices, 2), 2 * table.indptr),
        shape=table.shape,
    )
    ranker = LambdaMARTRanker(n_estimators=5, random_state=0)
    expected = ranker.fit(DENSE, GRADES, groups=QUERIES).predict(DENSE)
    found = ranker.fit(halves, GRADES, groups=QUERIES).predict(halves)
    assert found.tolist() == expected.tolist()
    assert halves.nnz == 2 * table.nnz


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_indices_that_were_changed_after_scipy_looked_at_them_count_as_they_are(form):
    table = form(DENSE)
    assert table.has_canonical_format  # which it remembers
    table.indices[:] = RNG.integers(0, 30, table.nnz)
    row = np.repeat(np.arange(len(DENSE)), np.diff(table.indptr))
    dense = sparse.coo_array((table.data, (row, table.indices)), DENSE.shape).toarray()
    assert not np.array_equal(dense != 0, DENSE != 0)
    ranker = LambdaMARTRanker(n_estimators=5, random_state=0)
    expected = ranker.fit(dense, GRADES, groups=QUERIES).predict(dense)
    found = ranker.fit(table, GRADES, groups=QUERIES).predict(table)
    assert found.tobytes() == expected.tobytes()


ONE_HOT = pd.get_dummies(pd.Series(["a", "b", "c"] * 240), sparse=True)
SOME = np.where(np.arange(720) % 4, 0, np.arange(720) % 9)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
def test_sparse_columns_of_booleans_and_numbers_are_one_table(dtype):
    column = pd.arrays.SparseArray(
        SOME.astype(dtype), fill_value=np.dtype(dtype).type(0)
    )
    table = ONE_HOT.assign(price=column)
    dense = table.sparse.to_dense().astype(float)
    ranker = LambdaMARTRanker(n_estimators=3, random_state=0)
    expected = ranker.fit(dense, GRADES, groups=QUERIES).predict(dense)
    assert ranker.fit(table, GRADES, groups=QUERIES).predict(table).tobytes() == (
        expected.tobytes()
    )
    assert ranker.feature_names_in_.tolist() == ["a", "b", "c", "price"]
    assert ranker.predict(table[:7]).tolist() == expected[:7].tolist()


@pytest.mark.parametrize("fill", [np.nan, 1.0, True])
def test_sparse_columns_that_leave_out_others_than_0_are_told_what_to_do(fill):
    values = np.where(SOME == 0, fill, 2.0) if fill is not True else SOME > 0
    column = pd.arrays.SparseArray(values, fill_value=fill)
    table = ONE_HOT.assign(price=column)
    ranker = LambdaMARTRanker(n_estimators=3, random_state=0)
    message = (
        f"X in column 'price' is sparse with the fill value {fill}, and only 0 can"
    )
    with pytest.raises(ValueError, match=f"{message}.*give sparse.to_dense\\(\\)"):
        ranker.fit(table, GRADES, groups=QUERIES)
    dense = table.sparse.to_dense()
    assert len(ranker.fit(dense, GRADES, groups=QUERIES).predict(dense)) == 720


class Own:
    """A network that is not known to accept sparse tables."""

    def __init__(self):
        self.inside = MultilayerPerceptron(30, (), "identity", np.random.default_rng(0))
        self.parameters, self.backward = self.inside.parameters, self.inside.backward
        self.seen = []

    def forward(self, X):
        self.seen.append(type(X))
        return self.inside.forward(X)


def test_a_network_of_the_users_own_is_given_dense_batches():
    ranker = RankNetRanker(network=Own(), max_iter=2, random_state=0)
    ranker.fit(sparse.csr_array(DENSE), GRADES, groups=QUERIES)
    ranker.predict(sparse.csr_array(DENSE))
    assert set(ranker.network_.seen) == {np.ndarray}


# --- values that are not finite ---

N_COLUMNS = 7
N_ROWS = 3 * CHUNK_SIZE // N_COLUMNS + 1  # the last chunk is a single row


@pytest.mark.parametrize(
    ("dtype", "value", "row"),
    [(np.float64, np.inf, 0), (np.float64, -np.inf, 1000),
     (np.float32, np.nan, N_ROWS - 1)],
)  # fmt: skip
def test_a_value_that_is_not_finite_is_found_in_every_chunk(dtype, value, row):
    table = np.full((N_ROWS, N_COLUMNS), 3e38, dtype=dtype)  # whose sum overflows
    check_finite(table, "X", allow_nan=False)
    table[row, 5] = value
    for allow_nan in (False, True):
        if np.isnan(value) and allow_nan:
            check_finite(table, "X", allow_nan=True)
            continue
        with pytest.raises(ValueError, match=f"X contains .* at row {row}, column 5"):
            check_finite(table, "X", allow_nan=allow_nan)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
def test_values_are_not_checked_if_the_caller_does_so_later(form):
    table = WHOLE.copy()
    table[3, 1] = np.inf
    reading = {"reset": False, "name": "X_val"}
    ranker = fit("LambdaMART", WHOLE)
    read = read_feature_table(ranker, form(table), check_values=False, **reading)
    np.testing.assert_array_equal(read, table)
    with pytest.raises(ValueError, match="X_val contains infinity.*row 3, column 1"):
        read_feature_table(ranker, form(table), **reading)
