"""A check of every plot: its text is readable."""

from __future__ import annotations

from itertools import combinations

from matplotlib.figure import SubFigure


def visible_tick_labels(axis):
    """Labels of the ticks within the limits of the axis."""
    low, high = sorted(axis.get_view_interval())
    margin = 1e-9 * (high - low)
    return [
        tick.label1
        for tick in axis.get_major_ticks()
        if low - margin <= tick.get_loc() <= high + margin and tick.label1.get_visible()
    ]


def text_boxes(ax):
    """Texts of the axes with their bounding boxes; a legend is one box."""
    texts = [
        ax.title,
        ax.xaxis.label,
        ax.yaxis.label,
        *visible_tick_labels(ax.xaxis),
        *visible_tick_labels(ax.yaxis),
    ]
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
    whole = figure.figure if isinstance(figure, SubFigure) else figure
    whole.draw_without_rendering()
    boxes = [box for ax in figure.axes if ax.axison for box in text_boxes(ax)]
    assert len(boxes) > 3
    for (text, box), (other_text, other_box) in combinations(boxes, 2):
        assert not box.overlaps(other_box), (text, other_text)
    for text, box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0, text
        assert box.x1 <= whole.bbox.x1 and box.y1 <= whole.bbox.y1, text
