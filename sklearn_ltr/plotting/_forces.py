"""Plot of the lambdas of the documents of one query: Burges (2010), figure 1.

    arrow of document i, upwards  =  -lambda_i / max |lambda|  x  longest arrow

in ranks.  "You can think of the lambdas as little arrows (or forces), one attached to
each (sorted) url, the direction of which indicates the direction we'd like the url to
move (to increase relevance), the length of which indicates by how much" (section 2.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from sklearn_ltr._core.data import QueryGroups, check_grades, check_scores, count_rows
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike
from sklearn_ltr.inspection._lambdas import compute_lambdas
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.metrics._ranked_list import rank_documents
from sklearn_ltr.plotting import _axes as axes
from sklearn_ltr.plotting._arguments import Curves, check_dict, predicted_scores
from sklearn_ltr.plotting._colors import DARK, FORCES, NOT_RELEVANT, PALE
from sklearn_ltr.plotting._display import Axes, Display, complete_display

if TYPE_CHECKING:
    from matplotlib.container import BarContainer
    from matplotlib.legend import Legend
    from matplotlib.quiver import Quiver

OneMetric = str | Metric | None
ForceMetrics = OneMetric | Iterable[OneMetric] | Mapping[str, OneMetric]


ARROW_STYLE = {
    "angles": "xy",
    "scale_units": "xy",
    "scale": 1.0,
    "units": "inches",
    "width": 0.024,
    "zorder": 3,
}
# Widths of a lane (one arrow) and minimum width of a column (the lanes of one force),
# in units of the length of a bar.
LANE_WIDTH, COLUMN_WIDTH = 0.16, 0.75
# Smallest vertical distance between two arrows in one lane, in ranks.
ARROW_CLEARANCE = 0.3

MAX_RANK_LABELS, MAX_GRADE_LABELS = 50, 5
MAX_LABEL_LENGTH = 18  # of the name of a force, in characters
# of the label of a rank, and of an entry of the legend, in inches
RANK_HEIGHT, GRADE_WIDTH = 0.18, 1.1
# Distance of the legend below the axes, in points: two lines of text.
LEGEND_OFFSET = -34


@complete_display
class ForcesDisplay(Display):
    r"""How training pulls each document of a query up or down, as arrows.

    As in figure 1 of Burges (2010), an arrow is a lambda, a force on a document:
    RankNet's, or RankNet's times the change of a metric if two documents swap places.

    Bars are documents, the first rank on top: gray if not relevant, else a darker blue
    for a higher grade.  Beside each bar there is an arrow for each force, which points
    up if training raises the score of the document.  The arrows of one force are
    scaled together, so that the longest spans `arrow_length` ranks:

    .. math::

        a_i = \frac{-\lambda_i}{\max_j |\lambda_j|} \times \text{arrow\_length}.

    So arrows show the shape of a force, not its size.  The size,
    :math:`\max |\lambda|`, is printed below; `largest` of :meth:`plot` sets one scale
    for all.  The title has the number of pairwise errors: pairs whose document of
    higher grade is ranked below the other.

    :meth:`from_estimator` and :meth:`from_predictions` compute the lambdas and draw
    them.

    Parameters
    ----------
    y_true : array-like of shape (n_documents,)
        Grades of the documents of one query, finite and >= 0.
    y_score : array-like of shape (n_documents,)
        Scores, finite; higher is ranked first; of equal scores, the lower grade.
    lambdas : dict of str to array-like of shape (n_documents,)
        Gradient of each force, by the name of the force: finite, positive for a
        document whose score training lowers, as from
        :func:`~sklearn_ltr.inspection.compute_lambdas`.
    name : str, default=None
        Name of the ranked list in the title.

    Attributes
    ----------
    ranks : ndarray of shape (n_documents,), int64
        Rank of each document; 1 is first.
    pairwise_errors : int
        Number of pairs whose document of higher grade is ranked below the other.
    bars_ : matplotlib BarContainer
        The documents, by rank.
    arrows_ : list of matplotlib Quiver
        The arrows of each force, by rank; ``V`` is their length in ranks, negative
        upwards.
    legend_ : matplotlib Legend
        Color of each grade.
    {ax_} {figure_}

    Raises
    ------
    ValueError
        If the grades, scores or lambdas are not one finite number per document, a grade
        is negative, or there are no documents or no lambdas.

    Notes
    -----
    All documents are drawn.  ``display.ax_.set_ylim(20.5, -4)`` shows the first 20
    ranks of a long list.

    References
    ----------
    C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", Microsoft
    Research Technical Report MSR-TR-2010-82, 2010, figure 1.

    Examples
    --------
    >>> from sklearn_ltr.inspection import compute_lambdas
    >>> from sklearn_ltr.plotting import ForcesDisplay
    >>> y, scores = [0, 1, 0, 1], [0.9, 0.1, 0.4, 0.6]
    >>> gradient, _ = compute_lambdas(scores, y, metric=None, groups=["a"] * 4)
    >>> display = ForcesDisplay(y, scores, {"RankNet": gradient})
    >>> display.ranks
    array([1, 4, 3, 2])
    >>> display.pairwise_errors
    3
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        lambdas: Mapping[str, ArrayLike],
        *,
        name: str | None = None,
    ) -> None:
        query = read_one_query(y_true)
        self.y_true = check_grades(y_true, query, "y_true")
        self.y_score = check_scores(y_score, query, "y_score")
        check_dict(lambdas, "lambdas", "force to show")
        self.lambdas: Curves = {
            force: check_scores(values, query, f"lambdas[{force!r}]")
            for force, values in lambdas.items()
        }
        self.name = name
        self._order = order_of_query(self.y_score, self.y_true)
        self.ranks: IntArray = np.argsort(self._order) + 1
        ranked = self.y_true[self._order]
        self.pairwise_errors = sum(
            int(np.count_nonzero(ranked[p + 1 :] > grade))
            for p, grade in enumerate(ranked)
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike | None = None,
        metrics: ForceMetrics = (None, "ndcg@10"),
        sigma: float = 1.0,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ForcesDisplay:
        """Draw the lambdas of one query, as ranked by a fitted ranker.

        Parameters
        ----------
        estimator : estimator instance
            Fitted; its `predict` returns scores, higher is ranked first.  A ranker, a
            Pipeline that ends in one, or a regressor.
        X : array-like of shape (n_documents, n_features)
            The documents of one query.
        y : array-like of shape (n_documents,)
            Their grades, finite and >= 0.
        groups, metrics, sigma, ax, **kwargs
            As in :meth:`from_predictions`.
        name : str, default=None
            Name of the ranked list in the title.  None: the class of the estimator.

        Raises
        ------
        ImportError, ValueError, TypeError
            As in :meth:`from_predictions`.
        """
        return cls.from_predictions(
            y,
            predicted_scores(estimator, X, "estimator"),
            groups=groups,
            metrics=metrics,
            sigma=sigma,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        groups: IdsLike | None = None,
        metrics: ForceMetrics = (None, "ndcg@10"),
        sigma: float = 1.0,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ForcesDisplay:
        """Draw the lambdas of one query for given scores of its documents.

        Parameters
        ----------
        {y_true} {y_score}
        groups : array-like of shape (n_documents,), default=None
            The query of each document, to check that there is only one.
        metrics : str, Metric, None, sequence or dict of these, \
                default=(None, "ndcg@10")
            One force for each; the first is drawn left of the bars and the others right
            of them.  None is RankNet's force; a metric multiplies it by the swap delta
            of each pair.  The keys of a dict are the names of the forces.  There is no
            normalization and no truncation level, whatever the ranker was trained with.
        sigma : float above 0, default=1.0
            Steepness of the sigmoid.
        {name} {ax} {kwargs}

        Raises
        ------
        {ImportError}
        ValueError
            If `groups` names several queries, two metrics have one name, or for
            grades, scores, metrics or a sigma that
            :func:`~sklearn_ltr.inspection.compute_lambdas` refuses.
        TypeError
            If a metric is neither a name, a metric object nor None.
        """
        query = read_one_query(y_true, groups)
        grades = check_grades(y_true, query, "y_true")
        scores = check_scores(y_score, query, "y_score")
        if isinstance(metrics, Mapping):
            named = dict(metrics)
        else:
            if isinstance(metrics, str) or not isinstance(metrics, Iterable):
                metrics = (metrics,)
            named = {}
            for metric in metrics:
                force = "RankNet" if metric is None else get_metric(metric).name
                if force in named:
                    raise ValueError(
                        f"metrics holds {force!r} twice: give them different names in "
                        "a dict {name: metric}"
                    )
                named[force] = metric
        if not named:
            raise ValueError("metrics is empty: give at least one, or None for RankNet")
        one_query = np.zeros(query.n_documents, dtype=np.int64)
        lambdas = {
            force: compute_lambdas(scores, grades, metric, sigma, groups=one_query)[0]
            for force, metric in named.items()
        }
        return cls(y_true, y_score, lambdas, name=name).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        arrow_length: float = 4.0,
        largest: float | None = None,
        bar_kwargs: axes.Style | None = None,
        arrow_kwargs: axes.Style | None = None,
    ) -> ForcesDisplay:
        """Draw the ranked list and the arrows.

        Parameters
        ----------
        {ax}
        name : str, default=None
            Name of the ranked list in the title.  None: the `name` of the display.
        arrow_length : float above 0, default=4.0
            Length of the longest arrow of each force, in ranks.
        largest : float above 0, default=None
            The absolute lambda whose arrow spans `arrow_length` ranks, for all forces;
            with the same number, arrows of several lists compare.  None: the largest
            of each force.
        bar_kwargs, arrow_kwargs : dict, default=None
            Keyword arguments of matplotlib's `barh` and `quiver`.

        Raises
        ------
        {ImportError}
        ValueError
            If `arrow_length` or `largest` is not a finite number > 0.
        """
        if not (np.isfinite(arrow_length) and arrow_length > 0):
            raise ValueError(
                f"arrow_length must be a finite number > 0, got {arrow_length!r}"
            )
        if largest is not None and not (np.isfinite(largest) and largest > 0):
            raise ValueError(
                f"largest must be a finite number > 0, or None, got {largest!r}"
            )
        size = (
            1.5 + 1.6 * len(self.lambdas),
            min(axes.MAX_HEIGHT, 2.0 + 0.25 * len(self.ranks)),
        )
        ax = self._set_axes(ax, size)
        order = self._order
        grades = self.y_true[order]
        self.bars_, self.legend_ = draw_ranked_list(ax, grades, bar_kwargs)
        by_rank = {force: values[order] for force, values in self.lambdas.items()}
        lengths = {}  # a |lambda| of `largest` is `arrow_length` ranks long
        for force, values in by_rank.items():
            most = np.abs(values).max() if largest is None else largest
            scaled = np.zeros_like(values) if most == 0 else values / most
            lengths[force] = scaled * arrow_length
        self.arrows_ = draw_arrows(ax, lengths, arrow_kwargs)
        # the name of a force and its largest |lambda| are below its column
        names = [axes.escape_label(force, MAX_LABEL_LENGTH) for force in by_rank]
        labels = [
            f"{name}\nmax $|\\lambda|$ = {np.abs(lambdas).max():.3g}"
            for name, lambdas in zip(names, by_rank.values(), strict=True)
        ]
        width, n_letters = np.ptp(ax.get_xlim()), max(14, *map(len, names))
        narrowest = np.diff(np.sort(ax.get_xticks())).min(initial=width)
        ax.set_xticks(ax.get_xticks(), labels)
        axes.fit_labels(ax.xaxis, width / narrowest, 0.45 * n_letters)
        ax.tick_params(length=0)
        for label, column in zip(ax.get_xticklabels(), self.arrows_, strict=True):
            label.set_color(column.get_facecolor()[0])
        errors = f"{self.pairwise_errors} pairwise errors"
        errors = errors.removesuffix("s") if self.pairwise_errors == 1 else errors
        name = self.name if name is None else name
        ax.set_title(errors if name is None else f"{name}: {errors}")
        ax.spines[:].set_visible(False)
        return self


def read_one_query(y_true: ArrayLike, groups: IdsLike | None = None) -> QueryGroups:
    """Return all rows as one query; raise a ValueError if `groups` names several."""
    n = count_rows(y_true, "y_true")
    if groups is not None:
        queries = QueryGroups.from_groups(groups, n)
        if queries.n_queries > 1:
            raise ValueError(
                f"groups names {queries.n_queries} queries ({queries.describe(0)}, "
                f"{queries.describe(1)}, ...), but this display shows one: give the "
                "rows of one query only"
            )
    return QueryGroups.from_groups(np.zeros(n, dtype=np.int64), n, "y_true")


def order_of_query(scores: FloatArray, grades: FloatArray) -> IntArray:
    """Return the documents by rank; of equal scores, the lower grade is first."""
    n = len(scores)
    order = np.empty(n, dtype=np.int64)
    offsets = np.array([0, n], dtype=np.int64)
    rank_documents(0, 1, scores, grades, offsets, n, order, False)
    return order


def assign_lanes(lengths: FloatArray) -> IntArray:
    """Return the lane of each arrow, (n,), such that no two arrows overlap."""
    # The arrow at position p reaches from rank p + 1 to p + 1 + lengths[p].  Lanes are
    # counted from the bars.  The first lanes hold arrows that point up, the others
    # those that point down; of each direction, longer arrows are assigned first, to the
    # first lane that is free.
    start = np.arange(1.0, len(lengths) + 1)
    upper = np.minimum(start, start + lengths) - ARROW_CLEARANCE / 2
    lower = np.maximum(start, start + lengths) + ARROW_CLEARANCE / 2
    lanes = np.full(len(lengths), -1)
    for direction in (lengths < 0, lengths >= 0):
        first = lanes.max() + 1
        arrows = np.flatnonzero(direction)
        for arrow in arrows[np.argsort(-np.abs(lengths[arrows]), kind="stable")]:
            overlaps = (upper < lower[arrow]) & (lower > upper[arrow])
            occupied = lanes[direction & overlaps]
            free = np.setdiff1d(first + np.arange(len(occupied) + 1), occupied)
            lanes[arrow] = free[0]
    return lanes


def draw_arrows(
    ax: Axes, lengths: Mapping[str, FloatArray], given: axes.Style | None
) -> list[Quiver]:
    """Draw a column of arrows per force, the first one left of the bars."""
    arrows: list[Quiver] = []
    centers, edges = [], [0.0, 1.0]
    y = np.arange(1.0, len(next(iter(lengths.values()))) + 1)
    for force_lengths, color in zip(lengths.values(), cycle(FORCES), strict=False):
        lanes = assign_lanes(force_lengths)
        side, away = (1, 1.0) if arrows else (0, -1.0)  # right or left of the bars
        width = max(COLUMN_WIDTH, LANE_WIDTH * (lanes.max() + 1))
        centers.append(edges[side] + away * width / 2)
        edges[side] += away * width
        x = centers[-1] + away * LANE_WIDTH * (lanes - lanes.max() / 2)
        style = axes.read_style(given, color=color, **ARROW_STYLE)
        arrows.append(ax.quiver(x, y, np.zeros_like(x), force_lengths, **style))
    tips = y + np.stack(list(lengths.values()))
    ax.set_xlim(*edges)
    ax.set_ylim(max(len(y) + 0.5, tips.max()) + 0.3, min(0.5, tips.min()) - 0.3)
    ax.set_xticks(centers, lengths)
    return arrows


def draw_ranked_list(
    ax: Axes, grades: FloatArray, given: axes.Style | None
) -> tuple[BarContainer, Legend]:
    """Draw a bar from x = 0 to 1 per document, by rank, and a legend of the grades."""
    from matplotlib.transforms import offset_copy

    ranks = np.arange(1, len(grades) + 1)
    highest = grades.max()
    darkness = grades / highest if highest > 0 else grades
    blues = PALE + darkness[:, np.newaxis] * (DARK - PALE)
    colors = np.where(grades[:, np.newaxis] > 0, blues, NOT_RELEVANT)
    style = axes.read_style(given, height=0.7, color=colors, zorder=2)
    bars = ax.barh(ranks, 1.0, **style)
    box, dpi = ax.get_window_extent(), ax.get_figure(root=True).dpi
    most = min(MAX_RANK_LABELS, max(1, int(box.height / dpi / RANK_HEIGHT)))
    ax.set_yticks(ranks[:: -(-len(ranks) // most)])
    ax.set_ylabel("rank")
    ax.grid(axis="y", color="0.93", zorder=0)
    shown = np.unique(grades)
    evenly = np.linspace(0, len(shown) - 1, MAX_GRADE_LABELS).round().astype(np.int64)
    shown = shown[np.unique(evenly)]
    relevant = "relevant" if np.count_nonzero(shown) == 1 else "grade {:g}"
    legend = ax.legend(
        [bars.patches[np.argmax(grades == grade)] for grade in shown],
        [relevant.format(g) if g > 0 else "not relevant" for g in shown],
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=offset_copy(
            ax.transAxes, ax.figure, y=LEGEND_OFFSET, units="points"
        ),
        ncols=min(len(shown), max(1, int(box.width / dpi / GRADE_WIDTH))),
        frameon=False,
    )
    return bars, legend
