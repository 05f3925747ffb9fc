"""Team-draft interleaving: two rankers share one list, and clicks say who is better.

As captains choose teams: in each round a coin decides who is first, and each ranker
adds its best document that is not in the list yet.  A click counts for the ranker that
added the document.  A session is won by the ranker with more clicks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.utils import Bunch, check_random_state

from sklearn_ltr._data import QueryGroups, check_scores, count_rows
from sklearn_ltr._parameters import at_least
from sklearn_ltr.clicks._log import as_array, read_clicks, read_labels

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TEAMS = ("a", "b")


def interleave(
    scores_a: Any,
    scores_b: Any,
    *,
    groups: Any,
    k: int = 10,
    random_state: Any = None,
) -> Bunch:
    """Make one list of two rankers for each query, by team draft.

    For several lists of a query, give it as several groups.

    Parameters
    ----------
    scores_a, scores_b : array-likes of shape (n_documents,)
        Scores of the two rankers, finite; higher is ranked first.
    groups : array-like of shape (n_documents,)
        The query of each document: any sortable values, in any row order.
    k : int >= 1, default=10
        Number of documents shown; all, where a query has fewer.
    random_state : int, RandomState or None, default=None
        Seed or generator of the coins.

    Returns
    -------
    Bunch
        A row for each shown document, by query and position:
        ``documents`` : (n_rows,) int64, the row of the scores;
        ``groups`` : (n_rows,) array, the query;
        ``positions`` : (n_rows,) int64, from 0;
        ``teams`` : (n_rows,) array of "a" and "b", the ranker that added the document.

    Raises
    ------
    ValueError, TypeError
        If scores are not one finite number per row, groups are of another length, or k
        is no integer >= 1.

    Notes
    -----
    Documents of equal score are in a random order, drawn for each list and the same for
    both rankers.

    References
    ----------
    F. Radlinski, M. Kurup and T. Joachims, "How Does Clickthrough Data Reflect
    Retrieval Quality?", CIKM 2008.

    Examples
    --------
    >>> from sklearn_ltr.clicks import interleave
    >>> lists = interleave([3, 2, 1], [1, 2, 3], groups=[7] * 3, k=2, random_state=0)
    >>> sorted(zip(lists.documents.tolist(), lists.teams.tolist()))
    [(0, 'a'), (2, 'b')]
    """
    at_least("k", 1).read(k)
    queries = QueryGroups.from_groups(groups, count_rows(scores_a, "scores_a"))
    a, b = (
        check_scores(scores, queries, name, only_order=True)
        for scores, name in ((scores_a, "scores_a"), (scores_b, "scores_b"))
    )
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    tie_break = rng.random(queries.n_documents)
    best_a, best_b = (np.lexsort((tie_break, -scores, query)) for scores in (a, b))
    sizes = np.minimum(queries.sizes, k)
    rounds = int(sizes.max() + 1) // 2
    a_is_first = rng.random((queries.n_queries, rounds)) < 0.5
    shown, teams = [], []
    for q in range(queries.n_queries):
        rows = slice(queries.offsets[q], queries.offsets[q + 1])
        documents, by_a = draft(
            best_a[rows].tolist(), best_b[rows].tolist(), int(sizes[q]),
            a_is_first[q].tolist(),
        )  # fmt: skip
        shown += documents
        teams += by_a
    of_list = np.repeat(np.arange(queries.n_queries), sizes)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return Bunch(
        documents=queries.order[shown].astype(np.int64),
        groups=as_array(queries.labels)[of_list],
        positions=np.arange(len(shown)) - starts,
        teams=np.where(teams, *TEAMS),
    )


def draft(
    best_a: list[int], best_b: list[int], n: int, a_is_first: list[bool]
) -> tuple[list[int], list[bool]]:
    """Return the n documents of one list, and whether A added each."""
    shown: list[int] = []
    by_a: list[bool] = []
    chosen: set[int] = set()
    remaining = {True: iter(best_a), False: iter(best_b)}
    for a_begins in a_is_first:
        for is_a in (a_begins, not a_begins):
            if len(shown) == n:
                return shown, by_a
            document = next(d for d in remaining[is_a] if d not in chosen)
            shown.append(document)
            by_a.append(is_a)
            chosen.add(document)
    return shown, by_a


@dataclass(frozen=True)
class InterleavingResult:
    """Result of :func:`interleaving_test`.

    Attributes
    ----------
    n_wins_a, n_wins_b, n_ties : int
        Sessions in which more clicks were on documents of A, of B, or as many.
    preference_a : float
        Fraction of the sessions won by A, ties counted half; above 0.5, A is preferred.
    p_value : float
        Of the two-sided sign test: the probability of wins at least as unequal, if both
        rankers were equally good.  1 if there are only ties.
    """

    n_wins_a: int
    n_wins_b: int
    n_ties: int
    preference_a: float
    p_value: float


def interleaving_test(clicks: Any, *, teams: Any, sessions: Any) -> InterleavingResult:
    """Test which of two interleaved rankers users prefer.

    A session is won by the ranker whose documents got more clicks.  Without a
    difference between the rankers, each wins with probability 1/2, and the number of
    wins is binomial.

    Parameters
    ----------
    clicks : array-like of shape (n_rows,)
        1 if the document was clicked in this session, else 0.
    teams : array-like of shape (n_rows,)
        "a" or "b": the ranker that added the document.
    sessions : array-like of shape (n_rows,)
        The session: any sortable values.  Sessions without a click are ties; give them,
        too.

    Returns
    -------
    InterleavingResult
        Wins, ties, preference and the p-value.

    Raises
    ------
    ValueError
        For columns of different lengths, clicks other than 0 and 1, or teams other than
        "a" and "b".

    Notes
    -----
    The test takes sessions for independent.  Where a few users or queries have most
    sessions, give one session of each.

    References
    ----------
    O. Chapelle, T. Joachims, F. Radlinski and Y. Yue, "Large-Scale Validation and
    Analysis of Interleaved Search Evaluation", ACM TOIS 30(1), 2012.

    Examples
    --------
    >>> from sklearn_ltr.clicks import interleaving_test
    >>> result = interleaving_test(
    ...     [1, 0, 1, 0, 0, 1], teams=["a", "b"] * 3, sessions=[1, 1, 2, 2, 3, 3]
    ... )
    >>> result.n_wins_a, result.n_wins_b, result.p_value
    (2, 1, 1.0)
    """
    n = count_rows(clicks, "clicks")
    if n == 0:
        raise ValueError("clicks is empty: the log has no rows")
    clicked = read_clicks(clicks, n, lambda row: f"row {row}")
    by_session = read_labels(sessions, n, "sessions", "session")
    by_team = read_labels(teams, n, "teams", "team")
    for label in by_team.labels:
        if label not in TEAMS:
            raise ValueError(f"teams must be 'a' or 'b', got {label!r}")
    is_a = np.array([label == "a" for label in by_team.labels])[by_team.query_of_row]
    lead = np.bincount(
        by_session.query_of_row, weights=np.where(is_a, clicked, -clicked)
    )
    wins_a, wins_b = int((lead > 0).sum()), int((lead < 0).sum())
    n_ties = len(lead) - wins_a - wins_b
    decided = wins_a + wins_b
    return InterleavingResult(
        wins_a,
        wins_b,
        n_ties,
        (wins_a + n_ties / 2) / len(lead),
        float(binomtest(wins_a, decided).pvalue) if decided else 1.0,
    )
