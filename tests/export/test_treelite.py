"""Models of treelite, scored by its own reference and by the C code of TL2cgen."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sklearn_ltr.export import to_treelite
from tests.export.models import OF_PLAIN_ROWS, codes, numbers, rows, score, served

treelite = pytest.importorskip("treelite")


@pytest.mark.parametrize("name", OF_PLAIN_ROWS)
def test_treelite_scores_bit_for_bit(name):
    model = served()[name]
    X = rows(model)
    expected = score(model, X)
    built = to_treelite(model)
    C = codes(model, X)
    found = treelite.gtil.predict(built, C, pred_margin=True, nthread=1)
    np.testing.assert_array_equal(found.ravel(), expected)
    if name == "classifier":
        found = treelite.gtil.predict(built, C[:1000], nthread=1).ravel()
        np.testing.assert_allclose(found, model.predict_proba(X[:1000])[:, 1])


def test_a_model_for_sparse_rows_scores_them_in_treelite_as_here():
    model = served()["ranker"]
    X = csr_matrix(np.nan_to_num(numbers()))
    expected = model.predict(X)
    branch, zero = to_treelite(model), to_treelite(model, missing="zero")
    found = treelite.gtil.predict(branch, X, pred_margin=True, nthread=1).ravel()
    assert np.abs(found - expected).max() > 0.01
    found = treelite.gtil.predict(zero, X, pred_margin=True, nthread=1).ravel()
    np.testing.assert_array_equal(found, expected)
    # categories, which no sparse matrix has, stay as they are
    model = served()["categories"]
    rows_without = rows(model).fillna({"price": 0.0, "missing": 0.0})
    found = treelite.gtil.predict(
        to_treelite(model, missing="zero"),
        codes(model, rows_without),
        pred_margin=True,
        nthread=1,
    )
    np.testing.assert_array_equal(found.ravel(), score(model, rows_without))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("name", ["ranker", "categories"])
def test_compiled_trees_score_bit_for_bit(name, tmp_path):
    tl2cgen = pytest.importorskip("tl2cgen")
    model = served()[name]
    X = rows(model)
    # TL2cgen changes the threshold between missing and all other values, which is the
    # largest float64, so rows that hold this very number are left out
    coded = codes(model, X)
    X = X[~(np.abs(coded) > 1e308).any(axis=1)]
    library = tmp_path / "ranker.so"
    tl2cgen.export_lib(to_treelite(model), toolchain="gcc", libpath=library)
    predictor = tl2cgen.Predictor(library, nthread=1)
    matrix = tl2cgen.DMatrix(codes(model, X), dtype="float64")
    found = predictor.predict(matrix, pred_margin=True).ravel()
    np.testing.assert_array_equal(found, score(model, X))
