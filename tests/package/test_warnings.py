"""Warnings name the line of the user, whichever part of the package gives them."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.caller import collected_warnings, warn_caller
from sklearn_ltr.datasets import load_letor
from sklearn_ltr.metrics import MAP, map_score
from sklearn_ltr.preprocessing import CategoryPairs
from sklearn_ltr.scorers import make_ranking_scorer
from tests import files_named

RANKER = LambdaMARTRanker(n_estimators=1, min_samples_leaf=1, random_state=0)
X, Y, GROUPS = np.arange(8.0)[:, None], np.arange(8) % 3, np.arange(8) // 4
FITTED = RANKER.fit(X, Y, groups=GROUPS)


def written(tmp_path, text):
    path = tmp_path / "file.txt"
    path.write_text(text)
    return path


CALLS = {
    "groups": lambda _: RANKER.fit(X, Y),
    "groups in a loop": lambda _: [FITTED.score(X, Y) for _ in range(1)],
    "a column vector": lambda _: RANKER.fit(X, Y[:, None], groups=GROUPS),
    "a file": lambda path: load_letor(
        written(path, "1 qid:1 1:2\n"), zero_based="auto"
    ),
    "a metric": lambda _: map_score(Y + 1, Y, groups=GROUPS),
    "a metric object": lambda _: MAP()(Y + 1, Y, groups=GROUPS),
    "a scorer": lambda _: make_ranking_scorer("map")(FITTED, X, Y + 1, groups=GROUPS),
    "preprocessing": lambda _: CategoryPairs().fit(X, Y, groups=GROUPS),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_warnings_name_the_line_of_the_user(call, tmp_path):
    with pytest.warns(UserWarning) as caught:
        call(tmp_path)
    assert files_named(caught, __file__) == [__file__]


def test_the_line_is_that_of_scikit_learn_where_it_calls():
    with pytest.warns(UserWarning, match="groups was not given") as caught:
        make_pipeline(RANKER).fit(X, Y)
    (file,) = files_named(caught, "pipeline.py")
    assert file.endswith("pipeline.py")


def test_warnings_of_other_threads_are_said_and_not_collected():
    """A thread begins without the context of the one that starts it."""
    with warnings.catch_warnings(record=True) as said, collected_warnings() as found:
        warnings.simplefilter("always")
        thread = threading.Thread(target=warn_caller, args=("there",))
        thread.start()
        thread.join()
        warn_caller("here")
        warn_caller("now", at_once=True)
        with collected_warnings() as within:
            warn_caller("within")
    assert [str(warning.message) for warning in said] == ["there", "now"]
    assert [one.message for one in found] == ["here"]
    assert [one.message for one in within] == ["within"]
