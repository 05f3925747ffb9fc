"""Models of treelite, scored by its own reference and by the C code of TL2cgen."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from sklearn_ltr.export import to_treelite
from tests.export.models import OF_PLAIN_ROWS, codes, rows, score, served

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
