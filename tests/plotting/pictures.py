"""What must hold for every picture: its text can be read."""

from __future__ import annotations

from itertools import combinations

from matplotlib.figure import SubFigure


def visible_ticks(axis):
    """Labels of the ticks within the limits."""
    low, high = sorted(axis.get_view_interval())
    margin = 1e-9 * (high - low)
    return [
        tick.label1
        for tick in axis.get_major_ticks()
        if low - margin <= tick.get_loc() <= high + margin and tick.label1.get_visible()
    ]


def boxes_of(ax):
    """What is written on axes, and where; a legend is one box."""
    texts = [
        ax.title,
        ax.xaxis.label,
        ax.yaxis.label,
        *visible_ticks(ax.xaxis),
        *visible_ticks(ax.yaxis),
    ]
    boxes = [
        (text.get_text(), text.get_window_extent())
        for text in texts
        if text.get_text() and text.get_visible()
    ]
    if legend := ax.get_legend():
        boxes.append(("the legend", legend.get_window_extent()))
    return boxes


def assert_text_can_be_read(figure):
    """No two texts overlap, and none is cut off by the edge."""
    top = figure.figure if isinstance(figure, SubFigure) else figure
    top.draw_without_rendering()
    boxes = [box for ax in figure.axes if ax.axison for box in boxes_of(ax)]
    assert len(boxes) > 3
    for (one, box), (other, other_box) in combinations(boxes, 2):
        assert not box.overlaps(other_box), (one, other)
    for text, box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0, text
        assert box.x1 <= top.bbox.x1 and box.y1 <= top.bbox.y1, text
