"""The arrows beside a ranked list show the lambdas of its documents."""

from __future__ import annotations

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.plotting import ForcesDisplay
from sklearn_ltr.plotting._forces import ARROW_CLEARANCE, assign_lanes
from tests.plotting.conftest import assert_text_is_readable, labels, legend_of

Y = np.array([0, 2, 1, 0, 0, 1, 3])
SCORES = np.array([0.3, -0.2, 0.9, 0.4, -0.6, 0.1, 0.2])
ORDER = np.argsort(-SCORES)


def expected_lambdas(metric, sigma):
    return compute_lambdas(SCORES, Y, metric, sigma, groups=np.zeros(len(Y)))[0]


def list_with_relevant_at(*ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """Grades and decreasing scores of 16 documents, as in figure 1 of Burges (2010)."""
    return np.isin(np.arange(1, 17), ranks).astype(int), np.linspace(1, 0, 16)


# --- numbers ----------------------------------------------------------------------


def test_figure_1_has_the_errors_that_the_report_counts(ax):
    before = ForcesDisplay(*list_with_relevant_at(1, 15), {"none": np.zeros(16)})
    assert before.pairwise_errors == 13
    # with a steep sigmoid a RankNet lambda is the number of errors of a document
    y, scores = list_with_relevant_at(4, 10)
    after = ForcesDisplay.from_predictions(y, scores * 1000, metrics=None, ax=ax)
    assert after.pairwise_errors == 11
    assert_allclose(-after.lambdas["RankNet"][y == 1], [3, 8], rtol=1e-12)


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2.5]), st.integers(0, 3)), min_size=1))
def test_errors_are_pairs_with_the_higher_grade_below(documents):
    y, scores = np.array(documents, dtype=float).T
    display = ForcesDisplay(y, scores, {"none": np.zeros(len(y))})
    # of equal scores the lower grade is ranked first
    assert display.pairwise_errors == sum(
        (y[i] > y[j] and scores[i] <= scores[j])
        or (y[j] > y[i] and scores[j] <= scores[i])
        for i, j in combinations(range(len(y)), 2)
    )
    order = sorted(range(len(y)), key=lambda i: (-scores[i], y[i], i))
    assert display.ranks[order].tolist() == list(range(1, len(y) + 1))


# --- the plot ---------------------------------------------------------------------


@pytest.mark.parametrize("metric", [None, "ndcg@2"])
def test_arrows_are_the_lambdas_scaled_to_the_longest(ax, metric):
    display = ForcesDisplay.from_predictions(
        Y, SCORES, metrics=metric, sigma=2.0, ax=ax, arrow_length=3.0
    )
    (arrows,) = display.arrows_
    lambdas = expected_lambdas(metric, 2.0)[ORDER]
    largest = np.abs(lambdas).max()
    assert_allclose(arrows.V, 3.0 * lambdas / largest, rtol=1e-12)
    assert_array_equal(arrows.U, 0.0)
    assert_array_equal(arrows.Y, np.arange(1, 8))
    assert f"{largest:.3g}" in labels(ax.xaxis)[0]


def test_arrows_of_several_forces_and_lists_have_one_scale(ax):
    lambdas = {
        "RankNet": expected_lambdas(None, 1.0),
        "map": expected_lambdas("map", 1.0),
    }
    display = ForcesDisplay(Y, SCORES, lambdas).plot(ax, largest=5.0, arrow_length=2.0)
    for arrows, values in zip(display.arrows_, lambdas.values(), strict=True):
        assert_allclose(arrows.V, 2.0 * values[ORDER] / 5.0, rtol=1e-12)
    for largest in (0, -1, np.nan):
        with pytest.raises(ValueError, match="largest must be a finite number > 0"):
            display.plot(ax, largest=largest)


def test_the_arrow_of_a_document_that_should_rise_points_up(ax):
    y, scores = list_with_relevant_at(1, 15)
    display = ForcesDisplay.from_predictions(y, scores, metrics=None, ax=ax)
    display.figure_.draw_without_rendering()
    (arrows,) = display.arrows_
    points_up = []
    for x, rank, length in zip(arrows.X, arrows.Y, arrows.V, strict=True):
        start, tip = ax.transData.transform([(x, rank), (x, rank + length)])
        points_up.append(tip[1] > start[1])
        assert ax.bbox.contains(*tip)
    assert_array_equal(points_up, y == 1)


def test_the_first_force_is_left_of_the_bars_and_the_others_right(ax):
    display = ForcesDisplay.from_predictions(
        Y, SCORES, metrics=(None, "ndcg", "map"), ax=ax
    )
    left, right, far_right = (arrows.X for arrows in display.arrows_)
    assert left.max() < 0 < 1 < right.min() < right.max() < far_right.min()
    names = [label.split("\n")[0] for label in labels(ax.xaxis)]
    assert names == ["RankNet", "ndcg", "map"]
    colors = [label.get_color() for label in ax.get_xticklabels()]
    assert len({tuple(color) for color in colors}) == 3


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=40))
def test_no_two_arrows_overlap(lengths):
    lanes = assign_lanes(np.array(lengths))
    ends = [sorted((p, p + length)) for p, length in enumerate(lengths)]
    for i, j in combinations(range(len(lengths)), 2):
        if lanes[i] == lanes[j]:
            gap = max(ends[i][0], ends[j][0]) - min(ends[i][1], ends[j][1])
            assert gap >= ARROW_CLEARANCE - 1e-9  # up to rounding
    up = np.array(lengths) < 0
    assert lanes.min() == 0
    assert not up.any() or up.all() or lanes[up].max() < lanes[~up].min()


def test_bars_and_legend_are_darker_for_higher_grades(ax):
    display = ForcesDisplay.from_predictions(Y, SCORES, ax=ax)
    colors = np.array([bar.get_facecolor()[:3] for bar in display.bars_])
    shades = {g: colors[g == Y[ORDER]].mean(axis=0) for g in np.unique(Y)}
    assert np.ptp(shades[0]) == 0
    brightness = [shades[g].sum() for g in (1, 2, 3)]
    assert brightness == sorted(brightness, reverse=True)
    assert all(shades[g][2] > shades[g][0] for g in (1, 2, 3))
    for patch, g in zip(display.legend_.get_patches(), shades, strict=True):
        assert_allclose(patch.get_facecolor()[:3], shades[g], rtol=1e-12)


@pytest.mark.parametrize(
    ("grades", "n_entries", "last"),
    [
        ([0, 1, 0], 2, "relevant"),
        ([0, 1, 2, 3], 4, "grade 3"),
        (np.arange(30) / 2, 5, "grade 14.5"),
    ],
)
def test_the_legend_has_at_most_five_grades(ax, grades, n_entries, last):
    scores = -np.arange(len(grades))
    texts = legend_of(ForcesDisplay.from_predictions(grades, scores, ax=ax))
    assert (len(texts), texts[0], texts[-1]) == (n_entries, "not relevant", last)


def test_the_title_has_the_number_of_errors(ax):
    display = ForcesDisplay.from_predictions([0, 0, 1], [3, 2, 1], ax=ax)
    assert ax.get_title() == "2 pairwise errors"
    display.plot(ax, name="Mine")
    assert ax.get_title() == "Mine: 2 pairwise errors"
    ForcesDisplay.from_predictions([0, 1], [2, 1], name="Own", ax=ax)
    assert ax.get_title() == "Own: 1 pairwise error"


def test_text_is_readable_for_any_number_of_lanes_and_documents():
    metrics = (None, "ndcg@10", "map", "err")
    for y, scores in ((Y, SCORES), ([0, 0, 1], [2, 1, 0]), ([0], [0])):
        display = ForcesDisplay.from_predictions(
            y, scores, metrics=metrics, name="Four forces"
        )
        assert_text_is_readable(display.figure_)
    rng = np.random.default_rng(0)
    display = ForcesDisplay.from_predictions(
        rng.integers(0, 2, 400), rng.normal(size=400)
    )
    # at most 50 labels of ranks, in at most 60 inches
    assert 25 < len(display.ax_.get_yticks()) <= 50
    assert len(display.bars_) == 400
    assert display.figure_.get_figheight() <= 60


# --- input ------------------------------------------------------------------------


def test_an_estimator_scores_the_documents_of_one_query(ax, ranknet, data):
    X = np.column_stack([SCORES, Y])
    ranker = make_pipeline(StandardScaler(), LinearRegression()).fit(X, SCORES)
    display = ForcesDisplay.from_estimator(
        ranker, X, Y, metrics="map", sigma=3.0, ax=ax, arrow_length=2.0
    )
    assert_allclose(display.y_score, ranker.predict(X))
    assert_array_equal(display.y_true, Y)
    # the scores are those of a regression: equal up to its rounding
    assert_allclose(display.lambdas["map"], expected_lambdas("map", 3.0), rtol=1e-9)
    assert np.abs(display.arrows_[0].V).max() == 2.0
    assert ax.get_title() == f"Pipeline: {display.pairwise_errors} pairwise errors"

    X, y, groups = data.test.values()
    one = groups == groups[0]
    display = ForcesDisplay.from_estimator(
        ranknet, X[one], y[one], groups=groups[one], ax=ax
    )
    assert_array_equal(display.y_score, ranknet.predict(X[one]))
    with pytest.raises(ValueError, match=r"groups names 20 queries \("):
        ForcesDisplay.from_estimator(ranknet, X, y, groups=groups, ax=ax)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": {}}, r"metrics is empty"),
        ({"metrics": ["map", "map"]}, r"metrics holds 'map' twice: .* in a dict"),
        ({"groups": [7, 7, 8]}, r"groups names 2 queries \(7, 8, ...\)"),
        ({"arrow_length": 0}, r"arrow_length must be a finite number > 0, got 0"),
        ({"metrics": 3}, "metric must be a name"),
        ({"metrics": [None, 3]}, "metric must be a name"),
    ],
)
def test_an_invalid_argument_is_named(change, message):
    rows = {"y_true": [1, 0, 0], "y_score": [1, 2, 3]}
    with pytest.raises((ValueError, TypeError), match=message):
        ForcesDisplay.from_predictions(**rows | change)
    assert not plt.get_fignums()
