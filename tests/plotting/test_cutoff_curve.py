"""The curve over cutoffs is the mean of the metric at each cutoff."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import sem
from sklearn.linear_model import LinearRegression

from sklearn_ltr.metrics import MAP, NDCG, Metric
from sklearn_ltr.plotting import CutoffCurveDisplay
from tests.oracles import metrics as oracle
from tests.plotting.conftest import assert_text_is_readable, legend_of

K = [1, 2, 5, 8]
N_QUERIES = 40
# forty queries of 1 to 12 documents, interleaved, some with nothing relevant
RNG = np.random.default_rng(0)
GROUPS = RNG.permutation(np.repeat(np.arange(N_QUERIES), RNG.integers(1, 13, 40)))
Y = RNG.choice([0, 0, 0, 1, 2], len(GROUPS))
SCORES = {"noisy": Y + RNG.normal(size=len(Y)), "random": RNG.random(len(Y))}
RELEVANT = np.array([Y[GROUPS == query].any() for query in range(N_QUERIES)])


def linear_ndcg(ranked, k):
    return oracle.ndcg(ranked, k, gain=oracle.linear)


def mean_and_error(value, scores, weights, k):
    """Weighted mean and standard error over the queries of weight > 0."""
    x, w = np.empty(N_QUERIES), weights
    for query in range(N_QUERIES):
        s, grades = scores[GROUPS == query].tolist(), Y[GROUPS == query].tolist()
        order = oracle.ranked_against_the_model(s, grades)
        x[query] = value([grades[i] for i in order], k)
    mean, n = sum(w * x) / sum(w), np.count_nonzero(w)
    return mean, np.sqrt(n / (n - 1) * sum(w**2 * (x - mean) ** 2)) / sum(w)


@pytest.mark.parametrize(
    ("metric", "value", "weights", "given"),
    [
        ("ndcg", oracle.ndcg, np.ones(N_QUERIES), False),
        ("recall", oracle.recall, np.arange(N_QUERIES) % 4.0, True),
        (NDCG(no_relevant="skip"), oracle.ndcg, 1.0 * RELEVANT, False),
        (NDCG(gain="linear"), linear_ndcg, np.full(N_QUERIES, 3.0), True),
    ],
    ids=["ndcg", "weights", "skipped queries", "options of the metric, equal weights"],
)
def test_the_plot_shows_means_and_standard_errors(ax, metric, value, weights, given):
    weight = weights[GROUPS] if given else None
    display = CutoffCurveDisplay.from_predictions(
        Y, SCORES, groups=GROUPS, metric=metric, k=K, sample_weight=weight, ax=ax
    )
    assert list(display.means) == list(SCORES)
    for name, line, band in zip(SCORES, display.lines_, display.bands_, strict=True):
        assert_array_equal(line.get_data(), [K, display.means[name]])
        corners = band.get_paths()[0].vertices
        for i, k in enumerate(K):
            mean, error = mean_and_error(value, SCORES[name], weights, k)
            # a sum of forty numbers, in another order
            assert_allclose(display.means[name][i], mean, rtol=1e-12)
            assert_allclose(display.standard_errors[name][i], error, rtol=1e-12)
            at_k = corners[corners[:, 0] == k, 1]
            ends = [mean - error, mean + error]
            assert_allclose([at_k.min(), at_k.max()], ends, rtol=1e-12)
        assert_array_equal(band.get_facecolor()[0, :3], to_rgb(line.get_color()))


def test_a_single_query_has_no_standard_error(ax):
    display = CutoffCurveDisplay.from_predictions(
        [0, 1, 2], [3, 2, 1], groups=[7, 7, 7], k=[1, 2], ax=ax
    )
    assert_array_equal(display.standard_errors["Ranker"], [np.nan, np.nan])
    assert display.bands_ == []
    assert ax.get_ylabel() == "NDCG@k (mean)"


def test_a_user_defined_metric_is_evaluated_at_each_cutoff(ax):
    class GradeFraction(Metric):
        def value(self, ranked_grades):
            return ranked_grades[: self.k].sum() / ranked_grades.sum()

    display = CutoffCurveDisplay.from_predictions(
        Y, SCORES["noisy"], groups=GROUPS, metric=GradeFraction(), k=[1, 12], ax=ax
    )
    first, whole = display.means["Ranker"]
    assert 0 < first < whole
    assert_allclose(whole, RELEVANT.mean(), rtol=1e-12)
    assert ax.get_ylabel() == "GradeFraction@k (mean ± standard error)"


def test_fitted_rankers_are_drawn_by_name_each_in_a_color(ax, data, mart, ranknet):
    X, y, groups = data.test.values()
    linear = LinearRegression().fit(data.train["X"], data.train["y"])
    rankers = {"trees": mart, "network": ranknet, "linear": linear}
    display = CutoffCurveDisplay.from_estimator(
        rankers, X, y, groups=groups, metric=MAP(), k=K, ax=ax
    )
    for name, ranker in rankers.items():
        expected = [MAP(k)(y, ranker.predict(X), groups=groups) for k in K]
        assert_allclose(display.means[name], expected, rtol=1e-12)
    assert legend_of(display) == list(rankers)
    assert_text_is_readable(display.figure_)
    # another display adds its curve
    one = CutoffCurveDisplay.from_estimator(mart, X, y, groups=groups)
    assert_array_equal(one.k, np.arange(1, 21))
    other = CutoffCurveDisplay.from_predictions(
        y, X[:, 0], groups=groups, name="one feature", ax=one.ax_
    )
    assert legend_of(other) == ["LambdaMARTRanker", "one feature"]
    colors = [line.get_color() for line in one.ax_.get_lines()]
    assert len(colors) == len(set(colors)) == 2
    assert_text_is_readable(one.figure_)


@pytest.mark.parametrize(
    ("k", "scale", "ticks"),
    [
        (range(1, 21), "linear", [1, 5, 10, 15, 20]),
        (range(9, 110), "linear", [9, 50, 100]),
        ([1, 2, 7], "linear", range(1, 8)),
        ([1, 2, 8], "log", [1, 2, 8]),
        ([7], "linear", [7]),
        ([1, 2, 3, 8, 9, 10, 1000], "log", [1, 2, 8, 1000]),
        ([10**4, 12000, 14000, 20000, 10**5], "log", [10**4, 20000, 10**5]),
        (range(10**4, 10**4 + 100), "linear", [10**4, 10050]),
    ],
)
def test_cutoffs_with_unequal_gaps_have_a_logarithmic_axis(k, scale, ticks):
    display = CutoffCurveDisplay(k=list(k), means={"a": np.linspace(0, 1, len(k))})
    display.plot()
    assert display.ax_.get_xscale() == scale
    assert_array_equal(display.ax_.get_xticks(), list(ticks))
    assert_text_is_readable(display.figure_)


def test_styles_can_be_given_for_each_curve_and_the_band_left_out(ax):
    means = {"a": [0.1, 0.2], "b": [0.3, 0.4]}
    errors = {name: [0.1, 0.1] for name in means}
    display = CutoffCurveDisplay(k=[1, 2], means=means, standard_errors=errors)
    styles = [{"c": "red", "ls": ":"}, {"color": "black", "marker": "s"}]
    a, b = display.plot(ax, curve_kwargs=styles).lines_
    assert (a.get_color(), a.get_linestyle()) == ("red", ":")
    assert (b.get_color(), b.get_marker()) == ("black", "s")
    assert len(display.bands_) == 2
    display.plot(ax, curve_kwargs={"lw": 4}, band=False)
    assert {line.get_linewidth() for line in display.lines_} == {4}
    assert display.bands_ == []
    assert CutoffCurveDisplay(k=[1, 2], means=means).plot(ax, band=False).bands_ == []


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


def test_differences_from_a_baseline_have_paired_errors(ax):
    scores = SCORES | {"same": SCORES["noisy"]}
    display = CutoffCurveDisplay.from_predictions(
        Y, scores, groups=GROUPS, metric="map", k=K, baseline="noisy", ax=ax
    )
    for name, values in scores.items():
        for i, k in enumerate(K):
            a, b = (
                MAP(k).per_query(Y, s, groups=GROUPS) for s in (scores["noisy"], values)
            )
            assert_allclose(display.means[name][i], np.mean(b - a), atol=1e-12)
            assert_allclose(display.standard_errors[name][i], sem(b - a), atol=1e-12)
    assert not display.means["same"].any() and not display.means["noisy"].any()
    label = "MAP@k minus that of noisy (mean ± standard error)"
    assert ax.get_ylabel().replace("\n", " ") == label
    assert_text_is_readable(display.figure_)
    message = r"baseline must be one of the rankers, \['a'\], got 'b'"
    with pytest.raises(ValueError, match=message):
        CutoffCurveDisplay(k=[1, 2], means={"a": [0, 0]}, baseline="b")
    with pytest.raises(ValueError, match=r"baseline must .* \['Ranker'\], got 'b'"):
        CutoffCurveDisplay.from_predictions(
            Y, SCORES["noisy"], groups=GROUPS, baseline="b", ax=ax
        )


def test_several_bands_are_said_to_be_unpaired(ax):
    given = {"groups": GROUPS, "k": K, "ax": ax}
    CutoffCurveDisplay.from_predictions(Y, SCORES, **given)
    assert ax.get_ylabel() == "NDCG@k (mean ± standard error, unpaired)"
    CutoffCurveDisplay.from_predictions(Y, SCORES, **given, band=False)
    assert ax.get_ylabel().splitlines()[1:] == ["NDCG@k (mean)"]


class OfBest(Metric):
    """A metric of the user with an `__init__` of its own, which has the cutoff, too."""

    def __init__(self, n):
        super().__init__()
        self.n = n

    def value(self, ranked_grades):
        first = ranked_grades[: self.k] >= self.n
        return float(first.any())


def test_a_metric_with_an_init_of_its_own_has_a_curve(ax):
    display = CutoffCurveDisplay.from_predictions(
        Y, SCORES["noisy"], groups=GROUPS, metric=OfBest(2), k=K, ax=ax
    )
    assert display.metric_name == "OfBest"
    (curve,) = display.means.values()
    assert (np.diff(curve) >= 0).all() and curve[0] < curve[-1]
