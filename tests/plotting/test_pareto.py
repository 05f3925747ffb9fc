"""The two metrics of models, with their standard errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import sem

from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.plotting import ParetoDisplay

RNG = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(20), 6)
Y = np.column_stack([RNG.integers(0, 3, 120), RNG.integers(0, 2, 120)]).astype(float)
Y[RNG.random(120) < 0.2, 1] = np.nan
SCORES = RNG.normal(size=(4, 120))
CURVES = {"weights": list(SCORES[:3]), "one": [SCORES[3]]}


def test_points_are_means_of_the_metrics_with_standard_errors(ax):
    names = {"weights": ["1:0", "1:1", "0:1"]}
    display = ParetoDisplay.from_predictions(
        Y, CURVES, groups=GROUPS, metric=["ndcg@3", "map"], ax=ax, point_names=names
    )
    judged = ~np.isnan(Y[:, 1])
    for name, models in CURVES.items():
        for i, scores in enumerate(models):
            x = NDCG(3).per_query(Y[:, 0], scores, groups=GROUPS)
            own = Y[judged, 1], scores[judged]
            y = MAP().per_query(*own, groups=GROUPS[judged])
            assert_allclose(display.x[name][i], x.mean())
            assert_allclose(display.y[name][i], y.mean())
            assert_allclose(display.x_errors[name][i], sem(x))
            assert_allclose(display.y_errors[name][i], sem(y))
    assert [text.get_text() for text in display.texts_] == names["weights"]
    suffix = " (mean ± standard error, unpaired)"
    assert ax.get_xlabel().replace("\n", " ") == f"NDCG@3 of label 0{suffix}"
    assert ax.get_ylabel().replace("\n", " ") == f"MAP of label 1{suffix}"
    drawn = display.curves_[0].lines[0].get_xydata()
    assert_allclose(drawn, np.transpose([display.x["weights"], display.y["weights"]]))


def test_labels_are_columns_of_a_frame(ax):
    frame = pytest.importorskip("pandas").DataFrame(Y, columns=["clicks", "bought"])
    found = ParetoDisplay.from_predictions(
        frame, CURVES, groups=GROUPS, labels=["bought", "clicks"], ax=ax
    )
    other = ParetoDisplay.from_predictions(Y, CURVES, groups=GROUPS, ax=ax)
    assert found.x_name == "NDCG@10 of bought"
    assert_allclose(found.x["weights"], other.y["weights"])


def test_axes_name_the_labels_by_the_keys_of_a_dict(ax):
    labels = {"purchases": 1, "clicks": 0}
    display = ParetoDisplay.from_predictions(
        Y, CURVES, groups=GROUPS, metric=["map", "ndcg@3"], labels=labels, ax=ax
    )
    assert (display.x_name, display.y_name) == ("MAP of purchases", "NDCG@3 of clicks")


def test_a_line_joins_the_front_only_and_the_others_are_hollow(ax):
    # the fourth is beaten by the first, the fifth by an equal x and a higher y
    x, y = [0.4, 0.2, 0.6, 0.3, 0.4], [0.3, 0.5, 0.1, 0.3, 0.2]
    display = ParetoDisplay({"a": x}, {"a": y}, point_names=list("abcde")).plot(ax)
    (front,) = display.fronts_
    assert_allclose(front.get_xydata(), [[0.2, 0.5], [0.4, 0.3], [0.6, 0.1]])
    assert front.get_linestyle() == "-"
    points = display.curves_[0].lines[0]
    assert points.get_linestyle() == "None"
    (hollow,) = (line for line in ax.get_lines() if line not in (front, points))
    assert_allclose(hollow.get_xydata(), [[0.3, 0.3], [0.4, 0.2]])
    assert hollow.get_markerfacecolor() == "white"
    assert hollow.get_linestyle() == "None"
    below = [text.get_position()[1] < 0 for text in display.texts_]
    assert below == [False, False, False, True, True]
    # equal points are not beaten by each other
    equal = ParetoDisplay([[1, 2], [1, 2]]).plot(curve_kwargs={"ls": ":", "c": "red"})
    assert len(equal.fronts_[0].get_xdata()) == 2
    assert equal.fronts_[0].get_linestyle() == ":"
    assert equal.fronts_[0].get_color() == "red"


def test_one_array_holds_both_metrics_of_each_model(ax):
    points = np.array([[0.5, 0.4], [0.6, 0.2]])
    one = ParetoDisplay(points, x_errors=points / 10, point_names=["1:3", "3:1"])
    several = ParetoDisplay({"a": points, "b": points[:1]})
    by_name = ParetoDisplay(
        {"a": [0.5, 0.6], "b": [0.5]}, {"a": [0.4, 0.2], "b": [0.4]}
    )
    for name in "ab":
        assert_allclose(several.x[name], by_name.x[name])
        assert_allclose(several.y[name], by_name.y[name])
    assert_allclose(one.x["models"], points[:, 0])
    assert_allclose(one.y_errors["models"], points[:, 1] / 10)
    assert [text.get_text() for text in one.plot(ax).texts_] == ["1:3", "3:1"]
    drawn = ParetoDisplay.from_predictions(Y, SCORES, groups=GROUPS, ax=ax)
    listed = ParetoDisplay.from_predictions(Y, {"models": SCORES}, groups=GROUPS, ax=ax)
    assert_allclose(drawn.x["models"], listed.x["models"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": [0.5, 0.4]}, "x must be a dict .* or hold two columns"),
        ({"x": {"a": [[1, 2, 3]]}}, "x must be a dict .* a row for each point, got"),
        ({"x": [[1, 2]], "x_errors": [1]}, "x_errors must .* hold two columns"),
        ({"x": [[1, 2]], "x_errors": [[1, 2]] * 2}, r"x_errors\['models'\] .* 1 in"),
        ({"x": [[1, 2]], "point_names": ["a", "b"]}, r"point_names\['models'\] must"),
        ({"x": {"a": [[1, 2]], "b": [[1, 2]]}, "point_names": ["a"]},
         "point_names must be a dict of lists, or a list for a single curve"),
    ],
)  # fmt: skip
def test_arrays_that_are_not_points_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        ParetoDisplay(**given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": [0]}, "labels must be two columns of y_true"),
        ({"labels": [0, 2]}, "labels: label=2 is no column of y"),
        ({"metric": ["map"]}, "metric one for both or two"),
        ({"y_score": {}}, "y_score must be a dict with a list of scores"),
        ({"y_score": None}, "y_score must be a dict with a list of scores"),
        ({"y_score": SCORES[0]}, r"y_score\['models'\] must"),
        ({"labels": {"clicks": 0}}, "labels must be two columns of y_true"),
        ({"y_score": {"a": [SCORES[0][1:]]}}, r"y_score\['a'\] must hold one number"),
        ({"y_true": -Y}, r"y_true\[:, 0\] must hold finite relevance grades >= 0, or"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changes, message):
    given = {"y_true": Y, "y_score": CURVES, "groups": GROUPS} | changes
    with pytest.raises(ValueError, match=message):
        ParetoDisplay.from_predictions(**given)
