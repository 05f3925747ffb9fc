"""The curve over cutoffs is the mean of the metric at each cutoff."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr.metrics import MAP, NDCG, Metric
from sklearn_ltr.plotting import CutoffCurveDisplay
from tests.oracles import metrics as oracle
from tests.plotting.layout import assert_text_is_readable

ORACLES = {"ndcg": oracle.ndcg, "recall": oracle.recall}
K = [1, 2, 3, 5, 8]
N_QUERIES = 40


def linear_ndcg(ranked, k):
    return oracle.ndcg(ranked, k, gain=oracle.linear)


def values_of_queries(value, y, scores, groups, k):
    """Value of each query by the definition, in the order of the sorted groups."""
    values = []
    for group in np.unique(groups):
        s, g = scores[groups == group].tolist(), y[groups == group].tolist()
        ranked = [g[i] for i in oracle.ranked_against_the_model(s, g)]
        values.append(value(ranked, k))
    return np.array(values)


def mean_and_error(x, w):
    """Weighted mean and standard error of the queries of weight > 0."""
    mean = sum(w * x) / sum(w)
    n = np.count_nonzero(w)
    return mean, np.sqrt(n / (n - 1) * sum(w**2 * (x - mean) ** 2)) / sum(w)


@pytest.fixture(scope="module")
def rows():
    """Forty queries of 1 to 12 documents, interleaved, some with nothing relevant."""
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(N_QUERIES), rng.integers(1, 13, 40)))
    y = rng.choice([0, 0, 0, 1, 2], len(groups))
    scores = {"noisy": y + rng.normal(size=len(y)), "random": rng.random(len(y))}
    return y, scores, groups


@pytest.mark.parametrize("metric", ORACLES)
def test_the_plot_shows_means_and_standard_errors_by_the_definition(ax, rows, metric):
    y, scores, groups = rows
    display = CutoffCurveDisplay.from_predictions(
        y, scores, groups=groups, metric=metric, k=K, ax=ax
    )
    assert list(display.means) == list(scores)
    for name, line, band in zip(scores, display.lines_, display.bands_, strict=True):
        means, errors = display.means[name], display.standard_errors[name]
        assert_array_equal(line.get_data(), [K, means])
        corners = band.get_paths()[0].vertices
        for k, mean, error in zip(K, means, errors, strict=True):
            values = values_of_queries(ORACLES[metric], y, scores[name], groups, k)
            # a sum of forty numbers, in another order
            assert_allclose(mean, values.mean(), rtol=1e-12)
            assert_allclose(error, values.std(ddof=1) / np.sqrt(N_QUERIES), rtol=1e-12)
            at_k = corners[corners[:, 0] == k, 1]
            expected = [mean - error, mean + error]
            assert_allclose([at_k.min(), at_k.max()], expected, rtol=1e-12)
        color = matplotlib.colors.to_rgb(line.get_color())
        assert_array_equal(band.get_facecolor()[0, :3], color)


@pytest.mark.parametrize(
    ("metric", "value", "weight_of"),
    [
        ("ndcg", oracle.ndcg, lambda q, grades: q % 4),  # 0 for every fourth query
        (NDCG(no_relevant="skip"), oracle.ndcg, lambda q, grades: grades.any()),
        (NDCG(gain="linear"), linear_ndcg, lambda q, grades: 3),
    ],
    ids=["weights", "skipped queries", "options of the metric, equal weights"],
)
def test_weights_and_options_of_the_metric_are_used(ax, rows, metric, value, weight_of):
    y, scores, groups = rows
    weights = np.array([weight_of(q, y[groups == q]) for q in range(N_QUERIES)], float)
    skips = getattr(metric, "no_relevant", "zero") == "skip"
    display = CutoffCurveDisplay.from_predictions(
        y,
        scores["noisy"],
        groups=groups,
        metric=metric,
        k=K,
        sample_weight=None if skips else weights[groups],
        ax=ax,
    )
    values = values_of_queries(value, y, scores["noisy"], groups, 5)
    mean, error = mean_and_error(values, weights)
    assert_allclose(display.means["Ranker"][K.index(5)], mean, rtol=1e-12)
    assert_allclose(display.standard_errors["Ranker"][K.index(5)], error, rtol=1e-12)


def test_a_single_query_has_no_standard_error(ax):
    display = CutoffCurveDisplay.from_predictions(
        [0, 1, 2], [3, 2, 1], groups=[7, 7, 7], k=[1, 2], ax=ax
    )
    assert_array_equal(display.standard_errors["Ranker"], [np.nan, np.nan])
    assert display.bands_ == []
    assert ax.get_ylabel() == "NDCG@k (mean)"


def test_a_user_defined_metric_is_evaluated_at_each_cutoff(ax, rows):
    class GradeFraction(Metric):
        def value(self, ranked_grades):
            return ranked_grades[: self.k].sum() / ranked_grades.sum()

    y, scores, groups = rows
    display = CutoffCurveDisplay.from_predictions(
        y, scores["noisy"], groups=groups, metric=GradeFraction(), k=[1, 12], ax=ax
    )
    first, whole = display.means["Ranker"]
    has_relevant = [y[groups == q].any() for q in range(N_QUERIES)]
    assert 0 < first < whole
    assert_allclose(whole, np.mean(has_relevant), rtol=1e-12)
    assert ax.get_ylabel() == "GradeFraction@k (mean ± standard error)"


def test_fitted_rankers_are_drawn_by_name(ax, data, mart, ranknet):
    test = data.test
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    pipeline.fit(data.train.X, data.train.y)
    rankers = {"trees": mart, "network": ranknet, "linear": pipeline}
    display = CutoffCurveDisplay.from_estimator(
        rankers, test.X, test.y, groups=test.groups, metric=MAP(), k=K, ax=ax
    )
    for name, ranker in rankers.items():
        scores = ranker.predict(test.X)
        expected = [MAP(k)(test.y, scores, groups=test.groups) for k in K]
        assert_allclose(display.means[name], expected, rtol=1e-12)
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == list(rankers)
    assert_text_is_readable(display.figure_)


def test_another_display_adds_its_curve_in_another_color(data, mart):
    test = data.test
    one = CutoffCurveDisplay.from_estimator(mart, test.X, test.y, groups=test.groups)
    assert_array_equal(one.k, np.arange(1, 21))
    other = CutoffCurveDisplay.from_predictions(
        test.y, test.X[:, 0], groups=test.groups, name="one feature", ax=one.ax_
    )
    assert len(one.ax_.get_lines()) == 2
    texts = [text.get_text() for text in other.legend_.get_texts()]
    assert texts == ["LambdaMARTRanker", "one feature"]
    assert one.lines_[0].get_color() != other.lines_[0].get_color()
    assert_text_is_readable(one.figure_)


def test_the_band_can_be_left_out(ax):
    curves = {"k": [1, 2], "means": {"a": [0.1, 0.2]}}
    errors = {"standard_errors": {"a": [0.1, 0.1]}}
    for display in (
        CutoffCurveDisplay(**curves),
        CutoffCurveDisplay(**curves, **errors),
    ):
        assert display.plot(ax, band=False).bands_ == []
    assert display.plot(ax).bands_ != []


@pytest.mark.parametrize(
    ("k", "scale", "ticks"),
    [
        (range(1, 21), "linear", [1, 5, 10, 15, 20]),
        (range(9, 110), "linear", [9, 50, 100]),
        ([1, 2, 7], "linear", range(1, 8)),
        ([1, 2, 8], "log", [1, 2, 8]),
        ([7], "linear", [7]),
        ([1, 2, 3, 8, 9, 10, 1000], "log", [1, 2, 8, 1000]),
    ],
)
def test_cutoffs_with_unequal_gaps_have_a_logarithmic_axis(k, scale, ticks):
    display = CutoffCurveDisplay(k=list(k), means={"a": np.linspace(0, 1, len(k))})
    display.plot()
    assert display.ax_.get_xscale() == scale
    assert_array_equal(display.ax_.get_xticks(), list(ticks))
    assert_text_is_readable(display.figure_)


def test_styles_can_be_given_for_each_curve_or_for_all(ax):
    means = {"a": [0.1, 0.2], "b": [0.3, 0.4]}
    errors = {name: [0.1, 0.1] for name in means}
    display = CutoffCurveDisplay(k=[1, 2], means=means, standard_errors=errors)
    display.plot(
        ax,
        curve_kwargs=[{"c": "red", "ls": ":"}, {"color": "black", "marker": "s"}],
        band_kwargs={"alpha": 0.5},
    )
    a, b = display.lines_
    assert (a.get_color(), a.get_linestyle()) == ("red", ":")
    assert (b.get_color(), b.get_marker()) == ("black", "s")
    assert {band.get_alpha() for band in display.bands_} == {0.5}
    display.plot(ax, curve_kwargs={"lw": 4})
    assert {line.get_linewidth() for line in display.lines_} == {4}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "ndcg@10"}, r"metric 'ndcg@10' has a cutoff, .* give 'ndcg'"),
        ({"y_score": {"m": [1, 2, np.inf]}}, r"y_score\['m'\] must be finite"),
        ({"y_score": {}}, r"y_score is an empty dict"),
        ({"y_score": {"m": [1, 2, 3]}, "name": "n"}, r"name='n' was given, but the"),
        (
            {"metric": NDCG(no_relevant="skip"), "y_true": [0, 0, 0]},
            r"no query to average",
        ),
        ({"curve_kwargs": [{}, {}]}, r"curve_kwargs must .* a list of 1, .* got 2"),
    ],
)
def test_an_invalid_argument_is_named(ax, change, message):
    rows = {"y_true": [1, 0, 0], "y_score": [1, 2, 3], "groups": [7, 7, 8]}
    with pytest.raises(ValueError, match=message):
        CutoffCurveDisplay.from_predictions(**rows | {"ax": ax} | change)
