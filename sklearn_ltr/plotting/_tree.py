"""One tree of a model as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from sklearn_ltr._core.parameters import integer
from sklearn_ltr._core.typing import FloatArray
from sklearn_ltr.export import Tree
from sklearn_ltr.export._tree_model import depths
from sklearn_ltr.inspection._trees import named_trees, values_and_rows
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import read_item_names
from sklearn_ltr.plotting._colors import BETTER, EQUAL, WORSE
from sklearn_ltr.plotting._display import Axes, Display, complete_display


@complete_display
class TreeDisplay(Display):
    """One tree of a model, from its root on the left to its leaves on the right.

    A node shows what it tests, the gain of its split and its training rows.  Documents
    that pass the test go up, and the others down.  A leaf shows what it adds to the
    score; teal leaves raise the score, and brown ones lower it.

    Parameters
    ----------
    tree : Tree
        As in the `trees` of :func:`sklearn_ltr.export.to_tree_model`.
    {feature_names}
    name : str, default=None
        Title.  None: no title.

    Attributes
    ----------
    texts_ : dict of int to matplotlib Text
        The text of each node shown, by its number.
    lines_ : list of matplotlib Line2D
        The lines from each node shown to its children.
    {ax_} {figure_}

    Raises
    ------
    TypeError
        If `tree` is not a Tree.
    ValueError
        If there is not one name per feature.

    See Also
    --------
    sklearn_ltr.inspection.trees_to_dataframe : The nodes of all trees as a table.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_tree_model
    >>> from sklearn_ltr.plotting import TreeDisplay
    >>> ranker = LambdaMARTRanker(n_estimators=1, min_samples_leaf=1, subsample=1)
    >>> ranker = ranker.fit([[1.0], [2.0], [4.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> display = TreeDisplay(to_tree_model(ranker).trees[0], feature_names=["bm25"])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        tree: Tree,
        *,
        feature_names: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        if not isinstance(tree, Tree):
            raise TypeError(
                "tree must be a Tree, one of sklearn_ltr.export.to_tree_model(ranker)"
                f".trees, got an object of {type(tree).__name__}"
            )
        n_features = int(tree.feature.max(initial=-1)) + 1
        if feature_names is not None:
            n_features = max(n_features, len(np.atleast_1d(feature_names)))
        self.tree, self.name = tree, name
        self.feature_names = read_item_names(feature_names, n_features)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        tree: int = 0,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> TreeDisplay:
        """Draw a tree of a fitted model.

        Parameters
        ----------
        estimator : estimator instance
            Fitted, as in :func:`sklearn_ltr.inspection.trees_to_dataframe`.
        tree : int, default=0
            Number of the tree, from 0; negative ones are counted from the end.
        {ax} {kwargs}

        Raises
        ------
        {ImportError}
        NotFittedError
            Before `fit`.
        TypeError
            If the estimator is not made of trees, or `tree` is not an integer.
        ValueError
            If there is no such tree.
        """
        trees, names = named_trees(estimator)
        n_trees = len(trees)
        number = integer(-n_trees, n_trees - 1).read_as("tree", tree) % n_trees
        return cls(
            trees[number],
            feature_names=names,
            name=f"tree {number} of 0 to {n_trees - 1}",
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_depth: int | None = None,
        text_kwargs: axes.Style | None = None,
        line_kwargs: axes.Style | None = None,
    ) -> TreeDisplay:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure, which is as large as the tree.
        max_depth : int of at least 0 or None, default=None
            Depth of the last nodes to draw; the root has 0.  None: all.
        text_kwargs : dict, default=None
            Keyword arguments of matplotlib's `text`.
        line_kwargs : dict, default=None
            Keyword arguments of matplotlib's `plot`, for the lines between nodes.

        Raises
        ------
        {ImportError}
        TypeError, ValueError
            If `max_depth` is not an integer >= 0 or None.
        """
        deepest = integer(0, optional=True).read_as("max_depth", max_depth)
        tree, depth = self.tree, depths(self.tree)
        shown = np.flatnonzero(depth <= (depth.max() if deepest is None else deepest))
        height = self._heights(shown)
        value, n_rows = values_and_rows(tree)
        n_levels, n_last = int(depth[shown].max()) + 1, int(height.max()) + 1
        size = 1.0 + 1.9 * n_levels, 1.2 + 0.5 * n_last
        ax = self._set_axes(ax, size)
        self.lines_ = []
        line = axes.read_style(line_kwargs, color="0.6", linewidth=1.0, zorder=1)
        for node in shown[~tree.is_leaf[shown]]:
            for child in (tree.left[node], tree.right[node]):
                if child in shown:
                    ends = [node, child]
                    self.lines_ += ax.plot(depth[ends], height[ends], **line)
        centered = {"ha": "center", "va": "center"}
        self.texts_ = {}
        for node in shown.tolist():
            color = EQUAL
            if tree.is_leaf[node]:
                color = BETTER if value[node] > 0 else WORSE
            box = {"boxstyle": "round", "facecolor": "white", "edgecolor": color}
            text = self._text(node, float(value[node]), int(n_rows[node]))
            style = axes.read_style(text_kwargs, bbox=box, fontsize=8, **centered)
            self.texts_[node] = ax.text(depth[node], height[node], text, **style)
        ax.set_xlim(-0.5, n_levels - 0.5)
        ax.set_ylim(n_last - 0.5, -0.5)
        axes.set_integer_ticks(ax.xaxis)
        ax.set_xlabel("depth (if the test is passed: up)")
        ax.set_yticks([])
        ax.spines[["left", "top", "right"]].set_visible(False)
        if self.name is not None:
            ax.set_title(self.name)
        return self

    def _heights(self, shown: NDArray[np.intp]) -> FloatArray:
        """Return the height of each node shown; the ends have 0, 1, ... from above."""
        tree, among = self.tree, set(shown.tolist())
        height = np.zeros(len(tree.feature))
        stack, n_ends, inner = [0], 0, []
        while stack:  # left children, which are above, first
            node = stack.pop()
            children = [int(tree.right[node]), int(tree.left[node])]
            if tree.is_leaf[node] or not among.issuperset(children):
                height[node], n_ends = n_ends, n_ends + 1
            else:
                inner.append(node)
                stack += children
        for node in reversed(inner):  # children before parents
            height[node] = height[[tree.left[node], tree.right[node]]].mean()
        return height

    def _text(self, node: int, value: float, n_rows: int) -> str:
        """Return the text of a node."""
        tree = self.tree
        rows = "" if n_rows < 0 else f"{n_rows:,} rows"
        if tree.is_leaf[node]:
            return f"{value:+.4g}\n{rows}".strip()
        if node in tree.left_categories:
            among = ", ".join(map(str, tree.left_categories[node]))
            test = f"in {axes.short_label(among)}"
        elif tree.threshold[node] == np.finfo(np.float64).max:
            test = "is not missing"
        else:
            test = f"≤ {tree.threshold[node]:.4g}"
        test += ", or missing" if tree.missing_left[node] else ""
        name = axes.short_label(self.feature_names[tree.feature[node]])
        says = [f"gain {tree.gain[node]:.4g}", rows]
        return f"{name}\n{test}\n{', '.join(filter(None, says))}"
