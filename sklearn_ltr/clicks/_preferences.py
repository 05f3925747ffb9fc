r"""Preferences between documents from clicks, by the strategies of Joachims and others.

Users who click a document but skip one above it, which they have seen, prefer the
clicked one.  So preferences compare examined documents, whatever the position bias is.
But most strategies find only preferences that contradict the order shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch

from sklearn_ltr._core.parameters import real
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray
from sklearn_ltr.clicks._log import count_patterns, read_click_log, sum_by

STRATEGIES = {
    "skip_above": "below one that was not",
    "last_click_skip_above": "last, and below one that was not",
    "earlier_click": "below another clicked one",
    "skip_previous": "directly below one that was not",
    "no_click_next": "directly above one that was not",
}


class ClickPreferences(Bunch):
    """Result of :func:`preferences_from_clicks`."""

    pairs: NDArray[Any]
    probabilities: FloatArray
    counts: IntArray
    groups: NDArray[Any]


def preferences_from_clicks(
    clicks: ArrayLike,
    *,
    groups: IdsLike,
    documents: IdsLike,
    positions: ArrayLike,
    sessions: IdsLike,
    strategy: str | Sequence[str] = ("skip_previous", "no_click_next"),
    smoothing: float = 1.0,
) -> ClickPreferences:
    r"""Find which documents users prefer to which, from their clicks.

    A session in which the strategy finds that document i is preferred to j counts once
    for i.  With :math:`n_{ij}` such sessions, and the smoothing :math:`a`,

    .. math:: \bar{P}_{ij} = \frac{n_{ij} + a}{n_{ij} + n_{ji} + 2 a}

    is the target probability of the pair, from which
    :class:`~sklearn_ltr.RankNetRanker` learns.

    Parameters
    ----------
    clicks, groups, documents, positions, sessions : array-likes of shape (n_rows,)
        The log: a row per shown document, in any order, as for the click models.  If
        `documents` are rows of a feature table, so are the pairs.
    strategy : str or sequence of str, default=("skip_previous", "no_click_next")
        Which documents of a list are preferred to which; of several strategies, the
        counts are added.  The default compares a clicked document with both neighbours.

        - "skip_above": a clicked one to all above it that were not clicked;
        - "last_click_skip_above": the last clicked one to these, as users may click
          less relevant documents before;
        - "earlier_click": a clicked one to all clicked before;
        - "skip_previous": a clicked one to the one directly above it, if that was not
          clicked;
        - "no_click_next": a clicked one to the one directly below it, if that was not
          clicked.

        A log has no times: users are taken to click from the top down.
    smoothing : float of at least 0, default=1.0
        The count a that is added to both sides, so that a pair seen once does not get
        the probability 1.

    Returns
    -------
    Bunch
        A row for each two documents that were compared, by query and documents:
        ``pairs`` : (n_pairs, 2) array, values of `documents`; the first was preferred
        at least as often;
        ``probabilities`` : (n_pairs,) float64, in [1/2, 1];
        ``counts`` : (n_pairs, 2) int64, sessions that preferred the first, the second;
        ``groups`` : (n_pairs,) array, the query.

    Raises
    ------
    ValueError, TypeError
        For columns that are no click log, an unknown strategy, a negative smoothing, or
        if no session has a preference.

    See Also
    --------
    sklearn_ltr.RankNetRanker : Learns from pairs with probabilities.

    Notes
    -----
    Preferences of "no_click_next" agree with the order shown; those of all others
    contradict it, so a ranker that reverses the list fulfils them.  The default has
    both directions.  Use the others alone only if documents were shown in both orders
    about equally often, as by random swaps; else users who skip unseen documents teach
    the reversed order.

    A pair that was seen often counts in training like one that was seen once, but with
    ``pair_weights=counts.sum(axis=1)`` by the number of its sessions.

    References
    ----------
    T. Joachims, "Optimizing Search Engines using Clickthrough Data", KDD 2002;
    T. Joachims, L. Granka, B. Pan, H. Hembrooke and G. Gay, "Accurately Interpreting
    Clickthrough Data as Implicit Feedback", SIGIR 2005; E. Agichtein, E. Brill, S.
    Dumais and R. Ragno, "Learning User Interaction Models for Predicting Web Search
    Result Preferences", SIGIR 2006, for the two together.

    Examples
    --------
    >>> from sklearn_ltr.clicks import preferences_from_clicks
    >>> found = preferences_from_clicks(
    ...     [0, 1, 0, 1, 0, 1],
    ...     groups=["q"] * 6,
    ...     documents=[4, 5, 6, 4, 6, 5],
    ...     positions=[0, 1, 2, 0, 1, 2],
    ...     sessions=[1, 1, 1, 2, 2, 2],
    ... )
    >>> found.pairs.tolist(), found.probabilities.round(2)
    ([[5, 4], [4, 6], [5, 6]], array([0.67, 0.67, 0.75]))
    """
    strategies: list[str] = [strategy]  # type: ignore[list-item]
    if isinstance(strategy, list | tuple) and len(strategy) > 0:
        strategies = list(strategy)
    for name in strategies:
        if not isinstance(name, str) or name not in STRATEGIES:
            raise ValueError(
                f"strategy must be one of {tuple(STRATEGIES)} or several of them, got "
                f"{strategy!r}"
            )
    if len(set(strategies)) < len(strategies):
        raise ValueError(f"strategy must name each once, got {strategy!r}")
    smoothing = real(0).read_as("smoothing", smoothing)
    log = read_click_log(clicks, groups, documents, positions, sessions)
    patterns, n = count_patterns(log), log.n_pairs
    pair, clicked = patterns.pair, patterns.clicked
    skipped = ~clicked & (pair < n)
    # winner * n + loser of each preference, and how many sessions have it
    keys, sizes = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for name in strategies:
        is_adjacent = name in ("skip_previous", "no_click_next")
        chosen = clicked
        if name == "last_click_skip_above":
            chosen = clicked & (patterns.position == patterns.last_click)
        # of all sessions, two documents at each distance of their positions
        for distance in range(1, 2 if is_adjacent else pair.shape[1]):
            above, below = np.s_[:, :-distance], np.s_[:, distance:]
            if name == "no_click_next":
                winners, losers = pair[above], pair[below]
                is_preferred = clicked[above] & skipped[below]
            else:
                winners, losers = pair[below], pair[above]
                other = clicked if name == "earlier_click" else skipped
                is_preferred = chosen[below] & other[above]
            keys.append(winners[is_preferred] * n + losers[is_preferred])
            sizes.append(patterns.n_sessions[np.nonzero(is_preferred)[0], 0])
    winner, loser = np.divmod(np.concatenate(keys), n)
    if len(winner) == 0:
        raise ValueError(
            f"clicks: strategy={strategy!r} finds no preference, as no session has a "
            f"clicked document {' or '.join(map(STRATEGIES.__getitem__, strategies))}: "
            "give another strategy"
        )
    # of both directions of each two documents, the more frequent one comes first
    low, high = np.minimum(winner, loser), np.maximum(winner, loser)
    distinct, number = np.unique(low * n + high, return_inverse=True)
    side = (winner == high).astype(np.int64)
    sums = sum_by(2 * number + side, np.concatenate(sizes), 2 * len(distinct))
    counts = sums.reshape(-1, 2)
    both = np.stack(np.divmod(distinct, n), axis=1)
    swapped = counts[:, 1] > counts[:, 0]
    both[swapped], counts[swapped] = both[swapped, ::-1], counts[swapped, ::-1]
    return ClickPreferences(
        pairs=log.documents[both],
        probabilities=(counts[:, 0] + smoothing) / (counts.sum(axis=1) + 2 * smoothing),
        counts=counts.astype(np.int64),
        groups=log.groups[both[:, 0]],
    )
