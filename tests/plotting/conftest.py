"""Axes to draw on, and fitted rankers to draw."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking

collect_ignore_glob = [] if find_spec("matplotlib") else ["test_*.py"]


@pytest.fixture(autouse=True, scope="session")
def without_windows():
    import matplotlib

    matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_all_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure(layout="constrained").subplots()


@pytest.fixture(scope="session")
def data():
    """Synthetic queries in three parts."""
    ranking = make_ranking(
        90, n_documents=12, n_features=8, n_informative=5, random_state=0
    )
    X, part = StandardScaler().fit_transform(ranking.data), ranking.groups % 3
    train, val, test = (
        SimpleNamespace(
            X=X[part == i],
            y=ranking.target[part == i],
            groups=ranking.groups[part == i],
        )
        for i in range(3)
    )
    validation = {"X_val": val.X, "y_val": val.y, "groups_val": val.groups}
    return SimpleNamespace(train=train, val=val, test=test, validation=validation)


def fit(ranker, data, **validation):
    train = data.train
    return ranker.fit(train.X, train.y, groups=train.groups, **validation)


@pytest.fixture(scope="session")
def mart(data):
    ranker = LambdaMARTRanker(
        n_estimators=30, max_leaf_nodes=4, n_iter_no_change=5, random_state=0, n_jobs=1
    )
    return fit(ranker, data, **data.validation)


@pytest.fixture(scope="session")
def lambdarank(data):
    ranker = LambdaRankRanker(
        hidden_layer_sizes=(10,), max_iter=8, random_state=0, n_jobs=1
    )
    return fit(ranker, data, **data.validation)


@pytest.fixture(scope="session")
def ranknet(data):
    ranker = RankNetRanker(
        hidden_layer_sizes=(10,), max_iter=8, random_state=0, n_jobs=1
    )
    return fit(ranker, data, **data.validation)
