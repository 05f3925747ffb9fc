"""Axes to draw on, fitted rankers to draw, and a check that text is readable."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import combinations
from types import SimpleNamespace

import pytest
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking

collect_ignore_glob = [] if find_spec("matplotlib") else ["test_*.py"]


@pytest.fixture(autouse=True)
def close_all_figures():
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure(layout="constrained").subplots()


def shown_texts(ax):
    """Texts of the axes with their bounding boxes; a legend is one box."""
    texts = [ax.title, ax.xaxis.label, ax.yaxis.label]
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        margin = 1e-9 * (high - low)
        for tick in axis.get_major_ticks():
            if low - margin <= tick.get_loc() <= high + margin:
                texts.append(tick.label1)
    boxes = [
        (text.get_text(), text.get_window_extent())
        for text in texts
        if text.get_text() and text.get_visible()
    ]
    if legend := ax.get_legend():
        boxes.append(("the legend", legend.get_window_extent()))
    return boxes


def assert_text_is_readable(figure):
    """No two texts overlap, and none is cut off at the edge."""
    figure.draw_without_rendering()
    boxes = [box for ax in figure.axes if ax.axison for box in shown_texts(ax)]
    assert len(boxes) > 3  # a title, labels and ticks were found
    for (text, box), (other_text, other_box) in combinations(boxes, 2):
        assert not box.overlaps(other_box), (text, other_text)
    for text, box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0, text
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, text


def legend_of(display) -> list[str]:
    return [text.get_text() for text in display.legend_.get_texts()]


def widths(display) -> list[float]:
    return [bar.get_width() for bar in display.bars_]


def labels(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


@pytest.fixture(scope="session")
def data():
    """Synthetic queries in three parts."""
    ranking = make_ranking(
        60, n_documents=12, n_features=8, n_informative=5, random_state=0
    )
    X, part = StandardScaler().fit_transform(ranking.data), ranking.groups % 3
    train, val, test = (
        {
            "X": X[part == i],
            "y": ranking.target[part == i],
            "groups": ranking.groups[part == i],
        }
        for i in range(3)
    )
    validation = {f"{name}_val": values for name, values in val.items()}
    return SimpleNamespace(train=train, val=val, test=test, validation=validation)


@pytest.fixture(scope="session")
def mart(data):
    ranker = LambdaMARTRanker(
        n_estimators=30, max_leaf_nodes=4, n_iter_no_change=5, random_state=0, n_jobs=1
    )
    return ranker.fit(**data.train, **data.validation)


def network(kind, data):
    ranker = kind(hidden_layer_sizes=(10,), max_iter=8, random_state=0, n_jobs=1)
    return ranker.fit(**data.train, **data.validation)


@pytest.fixture(scope="session")
def lambdarank(data):
    return network(LambdaRankRanker, data)


@pytest.fixture(scope="session")
def ranknet(data):
    return network(RankNetRanker, data)
