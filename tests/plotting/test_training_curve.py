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
from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.plotting import TrainingCurveDisplay
from tests.plotting.conftest import fit
from tests.plotting.layout import assert_text_is_readable

TREES = LambdaMARTRanker(
    n_estimators=4, max_leaf_nodes=3, min_samples_leaf=5, random_state=0, n_jobs=1
)
NETWORK = {"hidden_layer_sizes": (4,), "max_iter": 3, "random_state": 0, "n_jobs": 1}


def lines_of(display):
    return [line for of_set in display.lines_.values() for line in of_set.values()]


class TestTrees:
    def test_values_are_the_metric_before_the_first_tree_and_after_each(self, ax, data):
        ranker = clone(TREES).set_params(n_estimators=30, n_iter_no_change=5)
        fit(ranker, data, **data.validation)
        display = TrainingCurveDisplay.from_estimator(ranker, ax=ax)
        metric, n = NDCG(10), ranker.n_iter_
        for part, values in (
            (data.train, display.curves["train"]["NDCG@10"]),
            (data.val, display.curves["validation"]["NDCG@10"]),
        ):
            after_each = [
                metric(part.y, scores, groups=part.groups)
                for scores in ranker.staged_predict(part.X)
            ]
            before = metric(part.y, np.zeros(len(part.y)), groups=part.groups)
            # the same scores, added up in another order
            assert_allclose(values[: n + 1], [before, *after_each], rtol=1e-9)
        assert_array_equal(display.steps, np.arange(len(ranker.train_score_)))
        assert len(display.steps) > n + 1  # trees that were discarded

    def test_both_curves_share_a_panel_with_a_mark_at_the_best_tree(self, ax, mart):
        display = TrainingCurveDisplay.from_estimator(mart, ax=ax)
        assert display.ax_ is ax
        train, validation = lines_of(display)
        for line, values in (
            (train, mart.train_score_),
            (validation, mart.validation_score_),
        ):
            assert_array_equal(line.get_data(), [np.arange(len(values)), values])
        assert train.get_color() == validation.get_color()
        best = mart.n_iter_
        assert display.kept == np.argmax(mart.validation_score_) == best > 0
        assert validation.get_markevery() == [best]
        (mark,) = display.kept_lines_
        assert_array_equal(mark.get_xdata(), [best, best])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("tree", "NDCG@10")
        texts = [text.get_text() for text in display.legends_[0].get_texts()]
        assert texts == ["training", f"validation, kept at tree {best}"]
        assert_text_is_readable(display.figure_)

    def test_the_value_before_the_first_tree_does_not_extend_the_limits(self, ax, mart):
        TrainingCurveDisplay.from_estimator(mart, ax=ax)
        low, high = ax.get_ylim()
        values = np.append(mart.train_score_[1:], mart.validation_score_[1:])
        margin = 0.05 * np.ptp(values)
        assert_allclose([low, high], [values.min() - margin, values.max() + margin])
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
        self, data, options, train_measure, validation_measure
    ):
        ranker = fit(clone(TREES).set_params(**options), data)
        display = TrainingCurveDisplay.from_estimator(ranker)
        line = display.lines_["train"][train_measure]
        assert line.axes.get_ylabel() == train_measure
        train = ranker.loss_curve_ if "metric" in options else ranker.train_score_
        assert_array_equal(line.get_ydata(), train)
        assert list(display.lines_.get("validation", [None])) == [validation_measure]

    def test_without_records_an_error_says_what_to_set(self, data):
        ranker = fit(clone(TREES), data)
        message = (
            "LambdaMARTRanker has recorded no scores .* X_val, y_val and groups_val, "
            "or set early_stopping=True, or verbose=1"
        )
        with pytest.raises(ValueError, match=message):
            TrainingCurveDisplay.from_estimator(ranker)

    def test_a_warm_start_with_later_validation_leaves_a_gap(self, ax, data):
        ranker = fit(clone(TREES).set_params(warm_start=True), data)
        fit(ranker.set_params(n_estimators=8), data, **data.validation)
        display = TrainingCurveDisplay.from_estimator(ranker, ax=ax)
        values = display.curves["validation"]["NDCG@10"]
        assert_array_equal(np.isnan(values), [True] * 4 + [False] * 5)
        display.figure_.draw_without_rendering()
        assert np.isfinite(ax.get_ylim()).all()


class TestNetworks:
    def test_a_cost_and_a_metric_have_a_panel_each(self, ranknet):
        display = TrainingCurveDisplay.from_estimator(ranknet)
        upper, lower = display.ax_
        assert upper.get_ylabel() == "cost of a pair"
        assert (lower.get_ylabel(), lower.get_xlabel()) == ("NDCG@10", "epoch")
        epochs = np.arange(1, 9)
        train, validation = lines_of(display)
        for line, panel, values in (
            (train, upper, ranknet.loss_curve_),
            (validation, lower, ranknet.validation_score_),
        ):
            assert line.axes is panel
            assert_array_equal(line.get_data(), [epochs, values])
        assert [mark.axes for mark in display.kept_lines_] == [upper, lower]
        upper.set_xlim(0, 5)
        assert lower.get_xlim() == (0, 5)
        assert_text_is_readable(display.figure_)

    def test_the_mark_is_at_the_epoch_whose_weights_were_kept(self, ax, data):
        steep = {"max_iter": 12, "learning_rate_init": 0.1, "alpha": 1e-4}
        ranker = RankNetRanker(**NETWORK | steep)
        fit(ranker, data, **data.validation)
        display = TrainingCurveDisplay.from_estimator(ranker, ax=ax)
        assert 1 < display.kept < 12
        # the same fit, ended there
        again = clone(ranker).set_params(max_iter=display.kept, early_stopping=False)
        assert_array_equal(
            fit(again, data).predict(data.test.X), ranker.predict(data.test.X)
        )

    def test_two_metrics_have_a_panel_each_and_one_metric_has_one(
        self, ax, data, lambdarank
    ):
        display = TrainingCurveDisplay.from_estimator(lambdarank, ax=ax)
        assert display.ax_ is ax
        assert ax.get_ylabel() == "NDCG@10"
        line = display.lines_["train"]["NDCG@10"]
        assert_array_equal(line.get_ydata(), lambdarank.train_score_)
        ranker = LambdaRankRanker(scoring=MAP(5), **NETWORK)
        display = TrainingCurveDisplay.from_estimator(
            fit(ranker, data, **data.validation)
        )
        assert [panel.get_ylabel() for panel in display.ax_] == ["NDCG@10", "MAP@5"]

    def test_after_a_warm_start_only_the_last_epoch_is_known_to_be_kept(self, data):
        ranker = RankNetRanker(warm_start=True, **NETWORK | {"learning_rate_init": 0.1})
        kept = []
        for _ in range(6):
            fit(ranker, data, **data.validation)
            display = TrainingCurveDisplay.from_estimator(ranker)
            best = int(np.argmax(ranker.validation_score_)) + 1
            assert display.kept == (best if best == ranker.n_iter_ else None)
            kept.append(display.kept)
        assert None in kept


class TestAxes:
    def test_one_axes_is_divided_if_two_panels_are_needed(self, ranknet):
        figure = Figure(figsize=(9, 5), layout="constrained")
        left, right = figure.subplots(1, 2)
        display = TrainingCurveDisplay.from_estimator(ranknet, ax=right)
        upper, lower = display.ax_
        figure.draw_without_rendering()
        assert not right.axison
        boxes = [panel.get_window_extent() for panel in (left, upper, lower)]
        assert boxes[1].x0 > boxes[0].x1
        assert boxes[1].y0 > boxes[2].y1
        assert boxes[1].x0 == pytest.approx(boxes[2].x0)
        assert_text_is_readable(figure)

    def test_axes_outside_a_grid_cannot_be_divided(self, ranknet):
        ax = Figure().add_axes((0.1, 0.1, 0.8, 0.8))
        message = "divided into 2 panels, .* or give 2 Axes"
        with pytest.raises(ValueError, match=message):
            TrainingCurveDisplay.from_estimator(ranknet, ax=ax)

    def test_as_many_axes_as_panels_can_be_given(self, ax, mart, ranknet):
        axes = Figure().subplots(1, 3)
        assert TrainingCurveDisplay.from_estimator(mart, ax=[ax]).ax_ is ax
        display = TrainingCurveDisplay.from_estimator(ranknet, ax=axes[:2])
        assert list(display.ax_) == list(axes[:2])
        for ranker, given, n in ((ranknet, axes, 2), (mart, axes[:2], 1)):
            with pytest.raises(ValueError, match=f"for each panel, {n} in all, got"):
                TrainingCurveDisplay.from_estimator(ranker, ax=given)

    def test_another_ranker_is_drawn_on_the_same_panels(self, data, ranknet):
        one = TrainingCurveDisplay.from_estimator(ranknet, name="ten units")
        ranker = fit(RankNetRanker(**NETWORK), data, **data.validation)
        other = TrainingCurveDisplay.from_estimator(ranker, name="four", ax=one.ax_)
        assert list(other.ax_) == list(one.ax_)
        upper, lower = (
            [text.get_text() for text in legend.get_texts()]
            for legend in other.legends_
        )
        assert upper == ["ten units: training", "four: training"]
        assert lower[1] == f"four: validation, kept at epoch {other.kept}"
        colors = [line.get_color() for d in (one, other) for line in lines_of(d)]
        assert colors[0] == colors[1] != colors[2] == colors[3]


class TestEstimators:
    def test_rankers_are_found_in_pipelines_and_searches(self, ax, mart):
        pipeline = make_pipeline(FunctionTransformer(), mart)
        search = SimpleNamespace(best_estimator_=make_pipeline(pipeline))
        for estimator in (pipeline, search):
            display = TrainingCurveDisplay.from_estimator(estimator, ax=ax)
            values = display.curves["train"]["NDCG@10"]
            assert_array_equal(values, mart.train_score_)

    def test_estimators_without_a_record_are_refused(self, data, mart, ranknet):
        other = HistGradientBoostingRegressor(max_iter=2, early_stopping=True)
        other.fit(data.train.X, data.train.y)
        assert len(other.train_score_)
        test = data.test
        blend = BlendedRanker([mart, ranknet], cv="prefit")
        blend.fit(test.X, test.y, groups=test.groups)
        for estimator, name in (other, "HistGrad"), (blend, "Blend"), ("text", "str"):
            with pytest.raises(TypeError, match=f"or RankNetRanker, .* got {name}"):
                TrainingCurveDisplay.from_estimator(estimator)


class TestConstructor:
    @pytest.mark.parametrize(("n", "first"), [(1, 0), (2, 1), (4, 0)])
    def test_ticks_are_integers_for_a_few_steps_too(self, n, first):
        curves = {"train": {"score": np.arange(n) / 7}}
        display = TrainingCurveDisplay(curves, first_step=first).plot()
        assert_text_is_readable(display.figure_)
        ticks = display.ax_.get_xticks()
        low, high = display.ax_.get_xlim()
        visible = ticks[(low <= ticks) & (ticks <= high)]
        assert_array_equal(visible, np.round(visible))


class TestSeveralSets:
    def test_each_set_has_a_color_and_each_metric_a_panel(self, data):
        ranker = clone(TREES).set_params(scoring=["ndcg@5", MAP()])
        ranker.fit(
            data.train.X,
            data.train.y,
            groups=data.train.groups,
            X_val=(data.val.X, data.test.X),
            y_val=(data.val.y, data.test.y),
            groups_val=(data.val.groups, data.test.groups),
        )
        display = TrainingCurveDisplay.from_estimator(ranker)
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
        upper, lower = (
            [text.get_text() for text in legend.get_texts()]
            for legend in display.legends_
        )
        kept = f"validation_0, kept at tree {ranker.n_iter_}"
        assert upper == ["training", kept, "validation_1"]
        assert lower == ["training", "validation_0", "validation_1"]
        assert_text_is_readable(display.figure_)

    def test_without_early_stopping_no_step_is_marked(self, ax, data):
        ranker = fit(
            clone(TREES).set_params(early_stopping=False), data, **data.validation
        )
        display = TrainingCurveDisplay.from_estimator(ranker, ax=ax)
        assert display.kept is None
        assert len(lines_of(display)) == 2
