"""The picture of a tree has its nodes, where its children are, and what they say."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.export import to_tree_model
from sklearn_ltr.inspection import trees_to_dataframe
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.plotting import TreeDisplay
from sklearn_ltr.plotting._colors import BETTER, WORSE
from tests.plotting.conftest import assert_text_is_readable

pytest.importorskip("pandas")


def test_texts_are_those_of_the_table_and_children_are_joined(ax, mart):
    display = TreeDisplay.from_estimator(mart, tree=2, ax=ax)
    table = trees_to_dataframe(mart)
    table = table[table["tree"] == 2].set_index("node")
    assert set(display.texts_) == set(table.index)
    place = {node: text.get_position() for node, text in display.texts_.items()}
    lines = {tuple(map(tuple, line.get_xydata())) for line in display.lines_}
    for node, row in table.iterrows():
        says = display.texts_[node].get_text()
        assert f"{row['n_rows']} rows" in says
        assert place[node][0] == row["depth"]
        if isinstance(row["feature"], str):
            assert says.startswith(f"{row['feature']}\n≤ {row['threshold']:.4g}")
            assert (", or missing" in says) == (row["missing"] == "left")
            assert f"gain {row['gain']:.4g}, " in says
            left, right = row["left"], row["right"]
            assert place[left][1] < place[node][1] < place[right][1]
            for child in (left, right):
                assert (place[node], place[child]) in lines
                lines.remove((place[node], place[child]))
        else:
            assert says.startswith(f"{row['value']:+.4g}\n")
            edge = display.texts_[node].get_bbox_patch().get_edgecolor()
            assert to_hex(edge) == (BETTER if row["value"] > 0 else WORSE)
    assert not lines
    assert ax.yaxis_inverted()  # left children are above
    assert ax.get_title() == f"tree 2 of 0 to {mart.n_iter_ - 1}"


@pytest.mark.parametrize("max_depth", [1, 3, None])
def test_nodes_below_a_depth_are_left_out(data, max_depth):
    model = LambdaMARTRanker(n_estimators=2, min_samples_leaf=5, random_state=0)
    model.fit(**data.train)
    display = TreeDisplay.from_estimator(model, tree=-1, max_depth=max_depth)
    table = trees_to_dataframe(model)
    table = table[table["tree"] == 1]
    deepest = table["depth"].max() if max_depth is None else max_depth
    shown = table[table["depth"] <= deepest]
    assert set(display.texts_) == set(shown["node"])
    assert len(display.lines_) == len(shown) - 1
    ends = shown[shown["left"].isna() | (shown["depth"] == deepest)]
    heights = [display.texts_[node].get_position()[1] for node in ends["node"]]
    assert_allclose(np.sort(heights), np.arange(len(ends)))
    assert_text_is_readable(display.figure_)
    assert_boxes_are_apart(display)


def assert_boxes_are_apart(display):
    boxes = [text.get_window_extent() for text in display.texts_.values()]
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:number])
        assert display.figure_.bbox.x0 <= box.x0 < box.x1 <= display.figure_.bbox.x1


def test_categories_missing_values_and_unknown_rows_are_named(ax):
    x = np.column_stack([np.arange(60) % 3, np.where(np.arange(60) % 2, 1, np.nan)])
    y = (x[:, 0] == 1) * 5 + np.isnan(x[:, 1])
    model = MARTRegressor(n_estimators=1, categorical_features=[0]).fit(x, y)
    display = TreeDisplay.from_estimator(model, ax=ax)
    texts = [text.get_text() for text in display.texts_.values()]
    assert texts[0].startswith(("x0\nin 1", "x0\nin 0, 2"))
    assert any(text.startswith("x1\nis not missing\n") for text in texts)
    (tree,) = to_tree_model(model).trees
    tree.n_rows[:] = 0
    texts = TreeDisplay(tree, feature_names=["$", "b"]).plot(ax).texts_
    assert texts[0].get_text().startswith("\\$\nin ")
    assert not any("rows" in text.get_text() for text in texts.values())


def test_trees_that_do_not_exist_are_refused(ax, mart, ranknet):
    draw = TreeDisplay.from_estimator
    n = mart.n_iter_
    for tree in (n, -n - 1):
        with pytest.raises(ValueError, match="tree must be an integer in"):
            draw(mart, tree=tree, ax=ax)
    with pytest.raises(TypeError, match="tree must be an integer in"):
        draw(mart, tree=0.0, ax=ax)
    with pytest.raises(TypeError, match="RankNetRanker is not made of boosted trees"):
        draw(ranknet, ax=ax)
    with pytest.raises(NotFittedError):
        draw(LambdaMARTRanker(), ax=ax)
    with pytest.raises(ValueError, match="max_depth must be an integer >= 0 or None"):
        draw(mart, ax=ax, max_depth=-1)
