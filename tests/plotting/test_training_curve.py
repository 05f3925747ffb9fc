"""The curves of training are what a ranker has recorded, and the mark what it kept."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.plotting import TrainingCurveDisplay
from tests.plotting.conftest import fit

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from tests.plotting.pictures import assert_text_can_be_read  # noqa: E402

TREES = LambdaMARTRanker(
    n_estimators=4, max_leaf_nodes=3, min_samples_leaf=5, random_state=0, n_jobs=1
)
NETWORK = {"hidden_layer_sizes": (4,), "max_iter": 3, "random_state": 0, "n_jobs": 1}


def curve(line):
    return line.get_xdata(), line.get_ydata()


class TestTrees:
    def test_values_are_the_metric_after_each_tree(self, ax, data, mart):
        display = TrainingCurveDisplay.from_estimator(mart, ax=ax)
        metric, n = NDCG(10), mart.n_iter_
        for part, values in (
            (data.train, display.train),
            (data.val, display.validation),
        ):
            known = [
                metric(part.y, scores, groups=part.groups)
                for scores in mart.staged_predict(part.X)
            ]
            before = metric(part.y, np.zeros(len(part.y)), groups=part.groups)
            # the same scores, added up in another order
            assert_allclose(values[: n + 1], [before, *known], rtol=1e-9)
        assert_array_equal(display.steps, np.arange(len(mart.train_score_)))
        assert len(display.steps) > n + 1  # trees that were dropped again

    def test_both_curves_share_a_panel_and_the_mark_is_at_the_trees_kept(
        self, ax, mart
    ):
        display = TrainingCurveDisplay.from_estimator(mart, ax=ax)
        assert display.ax_ is ax
        n_steps = np.arange(len(mart.train_score_))
        for line, values in (
            (display.train_line_, mart.train_score_),
            (display.validation_line_, mart.validation_score_),
        ):
            assert_array_equal(curve(line), [n_steps, values])
        colors = display.train_line_.get_color(), display.validation_line_.get_color()
        assert colors[0] == colors[1]
        assert display.kept == mart.n_iter_
        assert display.kept == np.argmax(mart.validation_score_) > 0
        assert display.validation_line_.get_markevery() == [mart.n_iter_]
        (mark,) = display.kept_lines_
        assert_array_equal(mark.get_xdata(), [mart.n_iter_] * 2)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("tree", "NDCG@10")
        texts = [text.get_text() for text in display.legends_[0].get_texts()]
        assert texts == ["training", f"validation, kept at tree {mart.n_iter_}"]
        assert_text_can_be_read(display.figure_)

    def test_the_first_value_does_not_stretch_the_limits(self, ax, mart):
        TrainingCurveDisplay.from_estimator(mart, ax=ax)
        low, high = ax.get_ylim()
        values = np.append(mart.train_score_[1:], mart.validation_score_[1:])
        margin = 0.05 * np.ptp(values)
        assert_allclose([low, high], [values.min() - margin, values.max() + margin])
        assert mart.train_score_[0] < low
        assert ax.get_xlim()[0] < 0

    def test_early_stopping_by_another_metric(self, ax, data):
        ranker = clone(TREES).set_params(scoring="map", early_stopping=True)
        display = TrainingCurveDisplay.from_estimator(fit(ranker, data), ax=ax)
        assert display.train_measure == display.validation_measure == "MAP"

    def test_no_tree_is_marked_where_nothing_was_validated(self, ax, data, capsys):
        ranker = fit(clone(TREES).set_params(verbose=1), data)
        capsys.readouterr()
        display = TrainingCurveDisplay.from_estimator(ranker, ax=ax)
        assert display.validation is display.validation_line_ is display.kept is None
        assert display.kept_lines_ == []
        assert_array_equal(curve(display.train_line_)[1], ranker.train_score_)

    def test_ranknet_on_trees_shows_its_cost(self, ax, data):
        ranker = fit(clone(TREES).set_params(metric=None), data)
        display = TrainingCurveDisplay.from_estimator(ranker, ax=ax)
        assert_array_equal(curve(display.train_line_)[1], ranker.loss_curve_)
        assert display.ax_.get_ylabel() == "cost of a pair"
        assert display.validation is None

    def test_ranknet_on_trees_has_a_panel_for_the_metric_that_stops_it(self, ax, data):
        ranker = clone(TREES).set_params(metric=None, early_stopping=True)
        display = TrainingCurveDisplay.from_estimator(fit(ranker, data), ax=ax)
        assert display.train_measure == "cost of a pair"
        assert display.validation_measure == "NDCG@10"

    def test_nothing_recorded_is_an_error_that_says_what_to_set(self, data):
        ranker = fit(clone(TREES), data)
        message = (
            "LambdaMARTRanker has recorded no scores .* X_val, y_val and groups_val, "
            "or set early_stopping=True, or verbose=1"
        )
        with pytest.raises(ValueError, match=message):
            TrainingCurveDisplay.from_estimator(ranker)

    def test_a_warm_start_that_validates_late_leaves_a_gap(self, ax, data):
        ranker = fit(clone(TREES).set_params(warm_start=True), data)
        fit(ranker.set_params(n_estimators=8), data, **data.held_out)
        display = TrainingCurveDisplay.from_estimator(ranker, ax=ax)
        assert_array_equal(np.isnan(display.validation), [True] * 4 + [False] * 5)
        display.figure_.draw_without_rendering()
        assert np.isfinite(ax.get_ylim()).all()


class TestNetworks:
    def test_a_cost_and_a_metric_have_a_panel_each(self, ranknet):
        display = TrainingCurveDisplay.from_estimator(ranknet)
        upper, lower = display.ax_
        assert upper.get_ylabel() == "cost of a pair"
        assert (lower.get_ylabel(), lower.get_xlabel()) == ("NDCG@10", "epoch")
        epochs = np.arange(1, 9)
        assert display.train_line_.axes is upper
        assert_array_equal(curve(display.train_line_), [epochs, ranknet.loss_curve_])
        assert display.validation_line_.axes is lower
        values = ranknet.validation_scores_
        assert_array_equal(curve(display.validation_line_), [epochs, values])
        assert [mark.axes for mark in display.kept_lines_] == [upper, lower]
        upper.set_xlim(0, 5)
        assert lower.get_xlim() == (0, 5)
        assert_text_can_be_read(display.figure_)

    def test_the_mark_is_at_the_epoch_whose_weights_were_kept(self, ax, data):
        ranker = RankNetRanker(**NETWORK | {"max_iter": 12, "learning_rate_init": 0.1})
        fit(ranker, data, **data.held_out)
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
        assert_array_equal(curve(display.train_line_)[1], lambdarank.train_scores_)
        ranker = LambdaRankRanker(scoring=MAP(5), **NETWORK)
        other = TrainingCurveDisplay.from_estimator(fit(ranker, data, **data.held_out))
        assert [panel.get_ylabel() for panel in other.ax_] == ["NDCG@10", "MAP@5"]

    def test_lambdarank_without_a_metric_shows_a_cost(self, ax, data):
        ranker = fit(LambdaRankRanker(None, **NETWORK), data)
        display = TrainingCurveDisplay.from_estimator(ranker, ax=ax)
        assert_array_equal(display.train, ranker.loss_curve_)
        assert display.train_measure == "cost of a pair"
        assert display.kept is None

    def test_after_a_warm_start_only_the_last_epoch_is_known_to_be_kept(self, data):
        ranker = RankNetRanker(warm_start=True, **NETWORK | {"learning_rate_init": 0.1})
        kept = []
        for _ in range(6):
            fit(ranker, data, **data.held_out)
            display = TrainingCurveDisplay.from_estimator(ranker)
            best = int(np.argmax(ranker.validation_scores_)) + 1
            assert display.kept == (best if best == ranker.n_iter_ else None)
            kept.append(display.kept)
        assert None in kept

    def test_epochs_that_cannot_be_told_apart_are_an_error(self, data):
        ranker = fit(RankNetRanker(**NETWORK), data, **data.held_out)
        ranker.partial_fit(data.train.X, data.train.y, groups=data.train.groups)
        with pytest.raises(ValueError, match="3 validation scores for 4 epochs"):
            TrainingCurveDisplay.from_estimator(ranker)


class TestAxes:
    def test_one_axes_is_divided_where_two_panels_are_needed(self, ranknet):
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
        assert_text_can_be_read(figure)

    def test_axes_with_a_place_of_their_own_cannot_be_divided(self, ranknet):
        ax = Figure().add_axes((0.1, 0.1, 0.8, 0.8))
        with pytest.raises(
            ValueError, match="divided into 2 panels, .* or give 2 Axes"
        ):
            TrainingCurveDisplay.from_estimator(ranknet, ax=ax)

    def test_two_axes_are_drawn_on(self, ranknet):
        axes = Figure(layout="constrained").subplots(1, 2)
        display = TrainingCurveDisplay.from_estimator(ranknet, ax=axes)
        assert list(display.ax_) == list(axes)

    def test_another_ranker_is_drawn_on_the_same_panels(self, data, ranknet):
        one = TrainingCurveDisplay.from_estimator(ranknet, name="ten units")
        ranker = fit(RankNetRanker(**NETWORK), data, **data.held_out)
        other = TrainingCurveDisplay.from_estimator(ranker, name="four", ax=one.ax_)
        assert list(other.ax_) == list(one.ax_)
        upper, lower = (
            [text.get_text() for text in legend.get_texts()]
            for legend in other.legends_
        )
        assert upper == ["ten units: training", "four: training"]
        assert lower[1] == f"four: validation, kept at epoch {other.kept}"
        lines = one.train_line_, one.validation_line_
        assert len({line.get_color() for line in lines}) == 1
        assert one.train_line_.get_color() != other.train_line_.get_color()

    def test_axes_for_each_panel_or_one(self, mart, ranknet):
        axes = Figure().subplots(1, 3)
        for ranker, ax, n in ((ranknet, axes, 2), (mart, axes[:2], 1)):
            with pytest.raises(ValueError, match=f"for each panel, {n} in all, got"):
                TrainingCurveDisplay.from_estimator(ranker, ax=ax)

    def test_a_single_panel_given_in_a_list(self, ax, mart):
        assert TrainingCurveDisplay.from_estimator(mart, ax=[ax]).ax_ is ax


class TestEstimators:
    def test_rankers_are_found_in_pipelines_and_searches(self, ax, mart):
        pipeline = make_pipeline(FunctionTransformer(), mart)
        search = SimpleNamespace(best_estimator_=make_pipeline(pipeline))
        for estimator in (pipeline, search):
            display = TrainingCurveDisplay.from_estimator(estimator, ax=ax)
            assert_array_equal(display.train, mart.train_score_)

    def test_a_ranker_must_be_fitted(self):
        for ranker in (LambdaMARTRanker(), RankNetRanker(), LambdaRankRanker()):
            with pytest.raises(NotFittedError):
                TrainingCurveDisplay.from_estimator(ranker)

    def test_other_estimators_are_refused(self, data):
        other = HistGradientBoostingRegressor(max_iter=2, early_stopping=True)
        other.fit(data.train.X, data.train.y)
        assert len(other.train_score_)
        with pytest.raises(TypeError, match="or RankNetRanker, .* got HistGrad"):
            TrainingCurveDisplay.from_estimator(other)
        with pytest.raises(TypeError, match="got str"):
            TrainingCurveDisplay.from_estimator("a ranker")


class TestNumbers:
    def test_values_are_kept_and_steps_are_counted(self, ax):
        display = TrainingCurveDisplay(
            validation=[0.2, 0.4, 0.3], first_step=0, step_name="tree", kept=1
        ).plot(ax)
        assert_array_equal(display.steps, [0, 1, 2])
        assert display.train is display.train_line_ is None
        assert_array_equal(curve(display.validation_line_)[1], [0.2, 0.4, 0.3])
        assert ax.get_ylabel() == "score"

    @pytest.mark.parametrize("n", [1, 2, 4])
    @pytest.mark.parametrize("first", [0, 1])
    def test_a_few_steps_have_whole_numbers(self, n, first):
        display = TrainingCurveDisplay(train=np.arange(n) / 7, first_step=first).plot()
        assert_text_can_be_read(display.figure_)
        ticks = display.ax_.get_xticks()
        low, high = display.ax_.get_xlim()
        seen = ticks[(low <= ticks) & (ticks <= high)]
        assert_array_equal(seen, np.round(seen))

    def test_style_reaches_matplotlib_by_its_short_names_too(self, ax):
        display = TrainingCurveDisplay(train=[1, 2], validation=[1, 2], kept=2).plot(
            ax, train_kwargs={"c": "red", "ls": ":"}, validation_kwargs={"c": "blue"}
        )
        assert display.train_line_.get_color() == "red"
        assert display.train_line_.get_linestyle() == ":"
        assert display.validation_line_.get_color() == "blue"
        assert display.kept_lines_[0].get_color() == "blue"

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({}, r"train and validation are both None"),
            ({"train": []}, r"train must hold one number for each step"),
            (
                {"train": [1, 2], "validation": [1]},
                r"validation .* step, 2 in all, got",
            ),
            ({"train": ["a"]}, r"train must be numeric"),
            ({"train": [1, 2], "kept": 0}, r"kept=0 is not .* the steps are 1 to 2"),
            ({"train": [1, 2], "kept": 3}, r"kept=3 is not the number of a step"),
            ({"train": [1], "first_step": -1}, r"first_step must be an integer >= 0"),
        ],
    )
    def test_it_is_named_what_is_wrong(self, given, message):
        with pytest.raises(ValueError, match=message):
            TrainingCurveDisplay(**given)
        assert not plt.get_fignums()
