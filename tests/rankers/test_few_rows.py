"""A row scores the same alone and in a table, whatever has happened to the model."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.trees.evaluate import ensemble as ensemble_module
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker

DATA = make_ranking(20, n_features=6, n_informative=3, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
N = 40


@pytest.fixture(autouse=True)
def by_kernels(monkeypatch):
    """Let kernels make the first predictions, too."""
    monkeypatch.setattr(ensemble_module, "MOST_WALKS", -1)


def fitted(X=X, **options) -> LambdaMARTRanker:
    ranker = LambdaMARTRanker(n_estimators=5, min_samples_leaf=3, random_state=0)
    return ranker.set_params(**options).fit(X, Y, groups=GROUPS)


def check_alone(ranker, X=X) -> bytes:
    """Check that rows alone score as in their table; return these scores."""
    rows = X.iloc if hasattr(X, "iloc") else X
    scores = ranker.predict(rows[:N])
    alone = [ranker.predict(rows[i : i + 1])[0] for i in range(N)]
    assert np.array(alone).tobytes() == scores.tobytes()
    return scores.tobytes()


@pytest.mark.parametrize("policy", ["best_first", "symmetric"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_alone_scores_as_in_its_table(policy, dtype):
    values = X.astype(dtype)
    values[::3, 1] = np.nan
    scores = check_alone(fitted(values, grow_policy=policy), values)
    frame = pd.DataFrame(values, columns=list("abcdef"))
    assert check_alone(fitted(frame, grow_policy=policy), frame) == scores
    walked = fitted(values, grow_policy=policy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ensemble_module, "MOST_WALKS", 10**9)
        assert check_alone(walked, values) == scores


@pytest.mark.parametrize("policy", ["best_first", "symmetric"])
def test_a_row_alone_of_a_frame_with_categories_or_of_a_sparse_matrix_or_a_bag(policy):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["a"] = pd.Categorical(np.digitize(X[:, 0], [-1, 0, 1]).astype(str))
    check_alone(fitted(frame, grow_policy=policy), frame)
    sparse = csr_matrix(np.where(np.abs(X) < 0.5, 0, X))
    check_alone(fitted(sparse, grow_policy=policy), sparse)
    member = LambdaMARTRanker(n_estimators=3, grow_policy=policy)
    bag = BaggingRanker(member, n_estimators=2, random_state=0)
    check_alone(bag.fit(X, Y, groups=GROUPS))


def test_a_model_that_has_predicted_and_then_changes_scores_as_a_new_one():
    ranker = fitted()
    first = check_alone(ranker)
    assert check_alone(pickle.loads(pickle.dumps(ranker))) == first
    assert check_alone(clone(ranker).fit(X, Y, groups=GROUPS)) == first
    ranker.set_params(n_estimators=9, warm_start=True)
    assert check_alone(ranker) == first  # parameters alone change nothing
    more = check_alone(ranker.fit(X, Y, groups=GROUPS))
    assert more != first
    ranker.set_params(n_estimators=5, warm_start=False).fit(X, Y, groups=GROUPS)
    assert check_alone(ranker) == first
    state = ranker.__getstate__()
    assert state.keys() == fitted().__getstate__().keys()
    again = LambdaMARTRanker()
    again.__setstate__(state)
    assert check_alone(again) == first


@pytest.mark.parametrize("table", [np.asarray, pd.DataFrame])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_value_of_a_row_alone_is_an_error(value, table):
    ranker, row = fitted(), X[:1].copy()
    row[0, 2] = value
    with pytest.raises(ValueError, match="infinity .inf. at row 0, column 2"):
        ranker.predict(table(row))


def test_threads_score_rows_at_the_same_time():
    ranker = fitted()
    expected = ranker.predict(X)

    def score(i: int) -> bool:
        size = 1 + i % 5
        return np.array_equal(ranker.predict(X[i : i + size]), expected[i : i + size])

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(score, list(range(len(X) - 5)) * 3))


def score_in_child(ranker, results) -> None:
    results.put(check_alone(ranker))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks safely")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_scores_rows_as_its_parent():
    ranker = fitted()
    expected = check_alone(ranker)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=score_in_child, args=(ranker, results))
    child.start()
    try:
        assert results.get(timeout=60) == expected
    finally:
        child.join(60)
    assert child.exitcode == 0
