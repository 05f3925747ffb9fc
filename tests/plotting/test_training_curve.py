"""The training curves are the scores that a ranker has recorded."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.ensemble import BlendedRanker
from sklearn_ltr.metrics import MAP
from sklearn_ltr.plotting import TrainingCurveDisplay
from sklearn_ltr.plotting._training_curve import kept_epoch
from tests.plotting.conftest import assert_text_is_readable

TREES = LambdaMARTRanker(
    n_estimators=4, max_leaf_nodes=3, min_samples_leaf=5, random_state=0, n_jobs=1
)
NETWORK = {"hidden_layer_sizes": (4,), "max_iter": 3, "random_state": 0, "n_jobs": 1}
draw = TrainingCurveDisplay.from_estimator


def lines_of(display):
    return [line for of_set in display.lines_.values() for line in of_set.values()]


def legends_of(display):
    return [
        [text.get_text() for text in legend.get_texts()] for legend in display.legends_
    ]


# --- one panel: estimators/test_curves.py compares the values with the metric ------


def test_both_curves_share_a_panel_with_a_mark_at_the_best_tree(ax, mart):
    display = draw(mart, ax=ax)
    assert display.ax_ is ax
    train, validation = lines_of(display)
    scores = (mart.train_score_, mart.validation_score_)
    for line, values in zip((train, validation), scores, strict=True):
        assert_array_equal(line.get_data(), [np.arange(len(values)), values])
    assert_array_equal(display.steps, np.arange(len(scores[0])))
    assert train.get_color() == validation.get_color()
    best = mart.n_iter_
    assert display.kept == np.argmax(mart.validation_score_) == best > 0
    assert len(display.steps) > best + 1  # trees that were discarded
    assert validation.get_markevery() == [best]
    (mark,) = display.kept_lines_
    assert_array_equal(mark.get_xdata(), [best, best])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("tree", "NDCG@10")
    assert legends_of(display) == [["training", f"validation, kept at tree {best}"]]
    assert_text_is_readable(display.figure_)
    # the value before the first tree does not extend the limits
    low, high = ax.get_ylim()
    after = np.concatenate([values[1:] for values in scores])
    margin = 0.05 * np.ptp(after)
    assert_allclose([low, high], [after.min() - margin, after.max() + margin])
    assert mart.train_score_[0] < low
    assert ax.get_xlim()[0] < 0


@pytest.mark.parametrize(
    ("options", "train_measure", "validation_measure"),
    [
        ({"scoring": "map", "early_stopping": True}, "MAP", "MAP"),
        ({"metric": None, "early_stopping": True}, "cost of a pair", "NDCG@10"),
        ({"metric": None}, "cost of a pair", None),
    ],
)
def test_a_panel_is_labelled_with_its_measure(
    data, options, train_measure, validation_measure
):
    ranker = clone(TREES).set_params(**options).fit(**data.train)
    display = draw(ranker)
    line = display.lines_["train"][train_measure]
    assert line.axes.get_ylabel() == train_measure
    train = ranker.loss_curve_ if "metric" in options else ranker.train_score_
    assert_array_equal(line.get_ydata(), train)
    assert list(display.lines_.get("validation", [None])) == [validation_measure]


def test_without_records_an_error_says_what_to_set(data):
    message = (
        "LambdaMARTRanker has recorded no scores .* X_val, y_val and groups_val, "
        "or set early_stopping=True, or verbose=1"
    )
    with pytest.raises(ValueError, match=message):
        draw(clone(TREES).fit(**data.train))


def test_a_warm_start_with_later_validation_leaves_a_gap(ax, data):
    ranker = clone(TREES).set_params(warm_start=True, early_stopping=False)
    ranker.fit(**data.train)
    ranker.set_params(n_estimators=8).fit(**data.train, **data.validation)
    display = draw(ranker, ax=ax)
    values = display.curves["validation"]["NDCG@10"]
    assert_array_equal(np.isnan(values), [True] * 4 + [False] * 5)
    display.figure_.draw_without_rendering()
    assert np.isfinite(ax.get_ylim()).all()
    assert display.kept is None  # without early stopping


# --- several panels ---------------------------------------------------------------


def test_a_cost_and_a_metric_have_a_panel_each(ranknet):
    display = draw(ranknet)
    upper, lower = display.ax_
    assert upper.get_ylabel() == "cost of a pair"
    assert (lower.get_ylabel(), lower.get_xlabel()) == ("NDCG@10", "epoch")
    train, validation = lines_of(display)
    for line, panel, values in (
        (train, upper, ranknet.loss_curve_),
        (validation, lower, ranknet.validation_score_),
    ):
        assert line.axes is panel
        assert_array_equal(line.get_data(), [np.arange(1, 9), values])
    assert [mark.axes for mark in display.kept_lines_] == [upper, lower]
    upper.set_xlim(0, 5)
    assert lower.get_xlim() == (0, 5)
    assert_text_is_readable(display.figure_)


def test_two_metrics_have_a_panel_each_and_one_metric_has_one(ax, data, lambdarank):
    display = draw(lambdarank, ax=ax)
    assert display.ax_ is ax
    assert ax.get_ylabel() == "NDCG@10"
    line = display.lines_["train"]["NDCG@10"]
    assert_array_equal(line.get_ydata(), lambdarank.train_score_)
    ranker = LambdaRankRanker(scoring=MAP(5), **NETWORK)
    display = draw(ranker.fit(**data.train, **data.validation))
    assert [panel.get_ylabel() for panel in display.ax_] == ["NDCG@10", "MAP@5"]


def test_the_mark_is_at_the_epoch_whose_weights_were_kept(data):
    steep = {"max_iter": 12, "learning_rate_init": 0.1, "alpha": 1e-4}
    ranker = RankNetRanker(**NETWORK | steep).fit(**data.train, **data.validation)
    kept = draw(ranker).kept
    assert 1 < kept < 12
    # the same fit, ended there
    again = clone(ranker).set_params(max_iter=kept, early_stopping=False)
    X = data.test["X"]
    assert_array_equal(again.fit(**data.train).predict(X), ranker.predict(X))
    # after a warm start only the last epoch is known to be kept
    ranker.set_params(warm_start=True, max_iter=3)
    found = []
    for _ in range(6):
        ranker.fit(**data.train, **data.validation)
        found.append(draw(ranker).kept)
        best = int(np.argmax(ranker.validation_score_)) + 1
        assert found[-1] == (best if best == ranker.n_iter_ else None)
    assert None in found
    for values, kept in (([0.1, 0.3], 2), ([0.3, 0.1], None)):
        curves = {"validation": {"MAP": np.array(values)}}
        assert kept_epoch(curves, warm_start=True) == kept


def test_each_set_has_a_color_and_each_metric_a_panel(data):
    ranker = clone(TREES).set_params(scoring=["ndcg@5", MAP()])
    sets = {f"{name}_val": (data.val[name], data.test[name]) for name in data.val}
    display = draw(ranker.fit(**data.train, **sets))
    assert [panel.get_ylabel() for panel in display.ax_] == ["NDCG@5", "MAP"]
    assert list(display.lines_) == ["train", "validation_0", "validation_1"]
    colors = {}
    for set_name, of_set in display.lines_.items():
        one, other = of_set.values()
        assert [one.axes, other.axes] == list(display.ax_)
        assert one.get_color() == other.get_color()
        colors[set_name] = one.get_color()
    assert colors["train"] == colors["validation_0"] != colors["validation_1"]
    assert len(display.kept_lines_) == 2
    kept = f"validation_0, kept at tree {ranker.n_iter_}"
    assert legends_of(display) == [
        ["training", kept, "validation_1"],
        ["training", "validation_0", "validation_1"],
    ]
    assert_text_is_readable(display.figure_)


# --- axes and estimators ----------------------------------------------------------


def test_one_axes_is_divided_if_two_panels_are_needed(ranknet):
    figure = Figure(figsize=(9, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    upper, lower = draw(ranknet, ax=right).ax_
    figure.draw_without_rendering()
    assert not right.axison
    boxes = [panel.get_window_extent() for panel in (left, upper, lower)]
    assert boxes[1].x0 > boxes[0].x1
    assert boxes[1].y0 > boxes[2].y1
    assert boxes[1].x0 == pytest.approx(boxes[2].x0)
    assert_text_is_readable(figure)
    with pytest.raises(ValueError, match="divided into 2 panels, .* or give 2 Axes"):
        draw(ranknet, ax=Figure().add_axes((0.1, 0.1, 0.8, 0.8)))


def test_as_many_axes_as_panels_can_be_given(ax, mart, ranknet):
    axes = Figure().subplots(1, 3)
    assert draw(mart, ax=[ax]).ax_ is ax
    assert list(draw(ranknet, ax=axes[:2]).ax_) == list(axes[:2])
    for ranker, given, n in ((ranknet, axes, 2), (mart, axes[:2], 1)):
        with pytest.raises(ValueError, match=f"for each panel, {n} in all, got"):
            draw(ranker, ax=given)


def test_another_ranker_is_drawn_on_the_same_panels(data, ranknet):
    one = draw(ranknet, name="ten units")
    ranker = RankNetRanker(**NETWORK).fit(**data.train, **data.validation)
    other = draw(ranker, name="four", ax=one.ax_)
    assert list(other.ax_) == list(one.ax_)
    upper, lower = legends_of(other)
    assert upper == ["ten units: training", "four: training"]
    assert lower[1] == f"four: validation, kept at epoch {other.kept}"
    colors = [line.get_color() for d in (one, other) for line in lines_of(d)]
    assert colors[0] == colors[1] != colors[2] == colors[3]


def test_rankers_are_found_in_pipelines_and_searches(ax, data, mart, ranknet):
    pipeline = make_pipeline(FunctionTransformer(), mart)
    for estimator in (pipeline, SimpleNamespace(best_estimator_=pipeline)):
        values = draw(estimator, ax=ax).curves["train"]["NDCG@10"]
        assert_array_equal(values, mart.train_score_)
    other = HistGradientBoostingRegressor(max_iter=2, early_stopping=True)
    other.fit(data.train["X"], data.train["y"])
    blend = BlendedRanker([mart, ranknet], cv="prefit").fit(**data.test)
    for estimator, name in (other, "HistGrad"), (blend, "Blend"), ("text", "str"):
        with pytest.raises(TypeError, match=f"or RankNetRanker, .* got {name}"):
            draw(estimator)


@pytest.mark.parametrize(("n", "first"), [(1, 0), (2, 1), (4, 0)])
def test_ticks_are_integers_for_a_few_steps_too(n, first):
    curves = {"train": {"score": np.arange(n) / 7}}
    display = TrainingCurveDisplay(curves, first_step=first).plot()
    assert_text_is_readable(display.figure_)
    ticks = display.ax_.get_xticks()
    low, high = display.ax_.get_xlim()
    visible = ticks[(low <= ticks) & (ticks <= high)]
    assert_array_equal(visible, np.round(visible))
