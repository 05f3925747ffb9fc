"""The dots of a search, the best so far and the blend."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_ltr.model_selection import RankerSearch
from sklearn_ltr.plotting import SearchTraceDisplay
from tests.bad_inputs import GROUPS, X, Y, fitted

NAN = float("nan")


def test_the_line_is_at_the_highest_score_so_far_and_nan_is_left_out(ax):
    display = SearchTraceDisplay([NAN, 0.4, 0.2, NAN, 0.5], metric_name="MAP").plot(ax)
    x, y = display.best_line_.get_data()
    assert_array_equal(x, np.arange(5))
    assert_array_equal(y, [NAN, 0.4, 0.4, 0.4, 0.5])
    assert display.best_line_.get_drawstyle() == "steps-post"
    dots = np.ma.getdata(display.dots_.get_offsets())
    assert_array_equal(dots, np.column_stack([x, display.scores]))
    assert display.blend_line_ is None
    assert ax.get_ylabel() == "MAP of held-out queries"
    assert ax.get_xlabel() == "candidate"


def test_a_search_is_drawn_by_candidates_or_by_time(ax):
    search = fitted(RankerSearch)
    results = search.cv_results_
    display = SearchTraceDisplay.from_search(search, x="time", ax=ax)
    assert_array_equal(display.scores, results["mean_test_score"])
    assert_array_equal(display.best_line_.get_xdata(), results["elapsed_time"])
    assert ax.get_ylabel() == "NDCG@10 of held-out queries"
    assert ax.get_xlabel() == "seconds of the search"
    is_blend = len(search.members_) > 1
    assert display.blend_score == (search.best_score_ if is_blend else None)


def test_a_blend_is_a_line_at_its_score(ax):
    display = SearchTraceDisplay([0.4, 0.5], blend_score=0.6).plot(ax)
    assert_array_equal(display.blend_line_.get_ydata(), [0.6, 0.6])
    shown = [text.get_text() for text in display.legend_.get_texts()]
    assert shown == ["candidate", "best so far", "blend"]


def test_searches_of_scikit_learn_are_drawn_by_candidates_only(ax):
    search = GridSearchCV(Ridge(), {"alpha": [1, 9]}, cv=KFold(2)).fit(X, Y)
    display = SearchTraceDisplay.from_search(search, ax=ax)
    assert_array_equal(display.scores, search.cv_results_["mean_test_score"])
    assert ax.get_ylabel() == "score of held-out queries"
    with pytest.raises(ValueError, match="x='time' needs the times of a RankerSearch"):
        SearchTraceDisplay.from_search(search, x="time", ax=ax)
    with pytest.raises(ValueError, match="the Ridge has no mean_test_score"):
        SearchTraceDisplay.from_search(Ridge().fit(X, Y), ax=ax)
    with pytest.raises(ValueError, match="x must be one of"):
        SearchTraceDisplay.from_search(search, x="seconds", ax=ax)
    with pytest.raises(TypeError, match="a fitted search, got an object of ndarray"):
        SearchTraceDisplay.from_search(GROUPS, ax=ax)
