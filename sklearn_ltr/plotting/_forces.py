"""Plot of the lambdas of the documents of one query: figure 1 of the report.

    arrow of document i, upwards  =  -lambda_i / max |lambda|  x  longest arrow

in ranks.  "You can think of the lambdas as little arrows (or forces), one attached to
each (sorted) url, the direction of which indicates the direction we'd like the url to
move (to increase relevance), the length of which indicates by how much" (section 2.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._data import check_grades, check_scores
from sklearn_ltr.plotting._arguments import Metrics, read_one_query
from sklearn_ltr.plotting._arrows import draw_arrows
from sklearn_ltr.plotting._axes import check_matplotlib, get_axes
from sklearn_ltr.plotting._query_forces import (
    compute_forces,
    count_pairwise_errors,
    order_of_query,
    read_lambdas,
)
from sklearn_ltr.plotting._ranked_list import draw_ranked_list

IntArray = NDArray[np.int64]

MAX_HEIGHT = 60.0  # of a new figure, in inches


class ForcesDisplay:
    r"""Lambdas of the documents of one query, as in figure 1 of the report.

    Bars are documents, the first rank on top: gray if not relevant, else a darker blue
    for a higher grade.  Beside each bar there is an arrow for each force, which points
    up if training raises the score of the document.  The arrows of one force are
    scaled together, so that the longest spans `arrow_length` ranks:

    .. math::

        a_i = \frac{-\lambda_i}{\max_j |\lambda_j|} \times \text{arrow\_length}.

    So the shapes of two forces can be compared, whatever their units; their sizes are
    printed below, as :math:`\max |\lambda|`.  The title has the number of pairwise
    errors: pairs of documents of which the one with the higher grade is ranked below
    the other.

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
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        The figure of the axes.

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
        y_true: Any,
        y_score: Any,
        lambdas: Mapping[str, Any],
        *,
        name: str | None = None,
    ) -> None:
        query = read_one_query(y_true)
        self.y_true = check_grades(y_true, query, "y_true")
        self.y_score = check_scores(y_score, query, "y_score")
        self.lambdas = read_lambdas(lambdas, query)
        self.name = name
        self._order = order_of_query(self.y_score, self.y_true)
        self.ranks: IntArray = np.argsort(self._order) + 1
        self.pairwise_errors = count_pairwise_errors(self.y_true[self._order])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        metrics: Metrics = (None, "ndcg@10"),
        sigma: float = 1.0,
        name: str | None = None,
        ax: Any = None,
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

        Returns
        -------
        display : ForcesDisplay

        Raises
        ------
        ImportError, ValueError, TypeError
            As in :meth:`from_predictions`.
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        return cls.from_predictions(
            y,
            estimator.predict(X),
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
        y_true: Any,
        y_score: Any,
        *,
        groups: Any = None,
        metrics: Metrics = (None, "ndcg@10"),
        sigma: float = 1.0,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> ForcesDisplay:
        """Draw the lambdas of one query for given scores of its documents.

        Parameters
        ----------
        y_true : array-like of shape (n_documents,)
            Grades of the documents of one query, finite and >= 0.
        y_score : array-like of shape (n_documents,)
            Scores, finite; higher is ranked first; of equal scores, the lower grade.
        groups : array-like of shape (n_documents,), default=None
            The query of each document, to check that there is only one.
        metrics : str, Metric, None, sequence or dict of these, \
                default=(None, "ndcg@10")
            One force for each; the first is drawn left of the bars and the others right
            of them.  None is RankNet's force; a metric multiplies it by the swap delta
            of each pair.  The keys of a dict are the names of the forces.  There is no
            normalisation and no truncation level, whatever the ranker was trained with.
        sigma : float > 0, default=1.0
            Steepness of the sigmoid.
        name : str, default=None
            Name of the ranked list in the title.
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`plot`.

        Returns
        -------
        display : ForcesDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `groups` names several queries, two metrics have one name, or for
            grades, scores, metrics or a sigma that
            :func:`~sklearn_ltr.inspection.compute_lambdas` refuses.
        TypeError
            If a metric is neither a name, a metric object nor None.
        """
        check_matplotlib(f"{cls.__name__}.from_predictions")
        lambdas = compute_forces(y_true, y_score, groups, metrics, sigma)
        return cls(y_true, y_score, lambdas, name=name).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        arrow_length: float = 4.0,
        bar_kwargs: Mapping[str, Any] | None = None,
        arrow_kwargs: Mapping[str, Any] | None = None,
    ) -> ForcesDisplay:
        """Draw the ranked list and the arrows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on.  None: axes of a new figure.
        name : str, default=None
            Name of the ranked list in the title.  None: the `name` of the display.
        arrow_length : float > 0, default=4.0
            Length of the longest arrow of each force, in ranks.
        bar_kwargs, arrow_kwargs : dict, default=None
            Keyword arguments of matplotlib's `barh` and `quiver`.

        Returns
        -------
        display : ForcesDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `arrow_length` is not a finite number > 0.
        """
        if not (np.isfinite(arrow_length) and arrow_length > 0):
            raise ValueError(
                f"arrow_length must be a finite number > 0, got {arrow_length!r}"
            )
        size = (
            1.5 + 1.6 * len(self.lambdas),
            min(MAX_HEIGHT, 2.0 + 0.25 * len(self.ranks)),
        )
        ax = get_axes(f"{type(self).__name__}.plot", ax, size)
        order = self._order
        self.ax_, self.figure_ = ax, ax.figure
        self.bars_, self.legend_ = draw_ranked_list(
            ax, self.y_true[order], bar_kwargs or {}
        )
        by_rank = {force: values[order] for force, values in self.lambdas.items()}
        self.arrows_ = draw_arrows(ax, by_rank, arrow_length, arrow_kwargs or {})
        errors = f"{self.pairwise_errors} pairwise errors"
        errors = errors.removesuffix("s") if self.pairwise_errors == 1 else errors
        name = self.name if name is None else name
        ax.set_title(errors if name is None else f"{name}: {errors}")
        ax.spines[:].set_visible(False)
        return self
