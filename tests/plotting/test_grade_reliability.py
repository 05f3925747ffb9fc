"""The display of predicted and given grades shows the means of its bins."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.plotting import GradeReliabilityDisplay
from tests.plotting.conftest import assert_text_is_readable, legend_of

RNG = np.random.default_rng(0)
GROUPS = RNG.permutation(np.repeat(np.arange(40), RNG.integers(1, 13, 40)))
Y = RNG.choice([0, 0, 1, 2], len(GROUPS))
PREDICTED = np.round(0.4 * Y + RNG.normal(0.5, 0.3, len(Y)), 2)  # some are equal
WEIGHTS = np.where(GROUPS % 3 == 0, 4.0, 1.0)


def bins(rows, y, predicted, query, weight, n_bins):
    """Means and standard errors, one bin after the other, by plain loops."""
    edges = sorted({np.quantile(predicted, k / n_bins) for k in range(1, n_bins)})
    for low, high in zip([-np.inf, *edges], [*edges, np.inf], strict=True):
        inside = [i for i in rows if low <= predicted[i] < high]
        if not inside:
            continue
        total = sum(weight[i] for i in inside)
        p = sum(weight[i] * predicted[i] for i in inside) / total
        mean = sum(weight[i] * y[i] for i in inside) / total
        of_query = {query[i]: 0.0 for i in inside}
        for i in inside:
            of_query[query[i]] += weight[i] * (y[i] - mean)
        n = len(of_query)
        squares = sum(value**2 for value in of_query.values())
        error = (n / (n - 1) * squares) ** 0.5 / total if n > 1 else np.nan
        yield p, mean, error, total


@pytest.mark.parametrize("unit", ["document", "query"])
def test_a_bin_has_the_means_of_its_documents_or_queries(unit, ax):
    y, predicted, query, weight = Y, PREDICTED, GROUPS, WEIGHTS
    if unit == "query":
        query = np.unique(GROUPS)
        y, predicted, weight = (
            np.array([each[q == GROUPS].mean() for q in query])
            for each in (Y, PREDICTED, WEIGHTS)
        )
    expected = np.array([*bins(range(len(y)), y, predicted, query, weight, 7)]).T
    display = GradeReliabilityDisplay.from_predictions(
        Y, PREDICTED, groups=GROUPS, n_bins=7, unit=unit, sample_weight=WEIGHTS,
        name="$mine", ax=ax,
    )  # fmt: skip
    found = display.predicted, display.given, display.standard_errors, display.weights
    assert_allclose(found, expected, rtol=1e-12)
    p, mean, _, total = expected
    error = np.sum(total * np.abs(p - mean)) / total.sum()
    assert display.calibration_error == pytest.approx(error, rel=1e-12)
    line = display.bars_.lines[0]
    assert_allclose(line.get_xydata(), np.column_stack((p, mean)))
    assert legend_of(display) == [rf"\$mine: calibration error {error:.3f}"]
    assert_text_is_readable(display.figure_)


def test_the_standard_error_is_the_usual_one_where_each_query_has_one_document():
    n = len(Y)
    display = GradeReliabilityDisplay.from_predictions(
        Y, PREDICTED, groups=np.arange(n), n_bins=1
    )
    assert_allclose(display.standard_errors, [Y.std(ddof=1) / np.sqrt(n)])
    assert_allclose(display.given, [Y.mean()])


def test_predictions_that_are_all_equal_are_one_bin():
    for n_bins in (1, 5):
        display = GradeReliabilityDisplay.from_predictions(
            Y, np.ones(len(Y)), groups=np.zeros(len(Y)), n_bins=n_bins
        )
        assert display.predicted.tolist() == [1.0]
        assert np.isnan(display.standard_errors).all()  # one query


def test_of_a_model_predicted_grades_are_drawn(data, mart):
    given = data.train["X"], data.train["y"]
    calibrated = CalibratedRanker(
        LambdaMARTRanker(n_estimators=5, random_state=0),
        method="query_isotonic", cv=2,
    ).fit(**data.train)  # fmt: skip
    regressor = MARTRegressor(n_estimators=5, random_state=0).fit(*given)
    groups = data.test["groups"]
    for model, grades in (
        (calibrated, calibrated.predict_grade(data.test["X"], groups=groups)),
        (regressor, regressor.predict(data.test["X"])),
    ):
        display = GradeReliabilityDisplay.from_estimator(model, **data.test)
        expected = GradeReliabilityDisplay.from_predictions(
            data.test["y"], grades, groups=groups
        )
        assert display.calibration_error == expected.calibration_error
        assert legend_of(display)[0].startswith(f"{type(model).__name__}: ")
    with pytest.raises(TypeError, match="wrap a ranker in sklearn_ltr.calibration"):
        GradeReliabilityDisplay.from_estimator(mart, **data.test)
