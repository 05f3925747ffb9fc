r"""Clicks simulated from grades, with a known bias.

A document of grade y has, with y_max the highest grade,

    relevance       R = (2^y - 1) / (2^y_max - 1),
    attraction      A = noise + (1 - noise) R.

- "pbm": position k (from 0) is examined with probability (1 / (k + 1))^eta,
  and an examined document is clicked with probability A.
- "cascade": users read from the top, click each document with probability A, and stop
  at the first click.
- "dbn": users read from the top and click with probability A; after a click they
  are satisfied with probability R and stop; else they read on with probability
  `perseverance`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_random_state

from sklearn_ltr._core.data import (
    MOST_POSITIONS,
    QueryGroups,
    as_array,
    check_grades,
    check_scores,
    count_rows,
)
from sklearn_ltr._core.parameters import Choice, integer, real
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, Seed


class SimulatedLog(Bunch):
    """Result of :func:`simulate_clicks`."""

    clicks: IntArray
    groups: NDArray[Any]
    documents: IntArray
    positions: IntArray
    sessions: IntArray
    propensities: FloatArray
    attractiveness: FloatArray


def simulate_clicks(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    groups: IdsLike,
    model: str = "pbm",
    n_sessions: int | None = 10_000,
    k: int = 10,
    eta: float = 1.0,
    noise: float = 0.1,
    perseverance: float = 0.9,
    random_state: Seed = None,
) -> SimulatedLog:
    r"""Simulate the click log of users who see the lists of a ranker.

    A session draws a query and one of the logging rankers, all equally likely, and
    shows the first k documents.  With y_max the highest grade, a document has the
    relevance :math:`R = (2^y - 1) / (2^{y_{max}} - 1)` and attracts a click with
    probability :math:`A = \epsilon + (1 - \epsilon) R`, with the noise
    :math:`\epsilon`.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Grades, finite and >= 0, at least one above 0.
    scores : array-like of shape (n_documents,) or (n_documents, n_rankers)
        Scores of the logging ranker, or a column for each of several; higher is shown
        first, and of equal scores the lower grade.  For given positions, their
        negatives.
    groups : array-like of shape (n_documents,)
        The query of each document: numbers, text, dates or tuples of these, in any
        row order.
    model : {"pbm", "cascade", "dbn"}, default="pbm"
        How users click.  "pbm": position-based, position k, from 0, is examined with
        probability :math:`(k + 1)^{-\eta}`, whatever else happens.  "cascade": from the
        top to the first click.  "dbn": the dynamic Bayesian network, in which users
        read from the top; after a click they are satisfied with probability R and stop;
        else they go on with probability `perseverance`.
    n_sessions : int of at least 1 or None, default=10000
        Number of sessions.  None: one session for each query.
    k : int in [1, 1000], default=10
        Number of documents shown; all, where a query has fewer.
    eta : float of at least 0, default=1.0
        Strength of the bias of "pbm"; 0 is none.  Other models do not use it.
    noise : float in [0, 1], default=0.1
        Probability :math:`\epsilon` that a document of grade 0 attracts a click.
    perseverance : float in [0, 1], default=0.9
        Probability that an unsatisfied user of "dbn" reads on.  Other models do not use
        it.
    random_state : int, RandomState or None, default=None
        Seed or generator; the same integer gives the same log.

    Returns
    -------
    Bunch
        The log, a row per shown document, by session and position:
        ``clicks`` : (n_rows,) int64, 0 or 1;
        ``groups`` : (n_rows,) array, the query;
        ``documents`` : (n_rows,) int64, the row of y;
        ``positions`` : (n_rows,) int64, from 0;
        ``sessions`` : (n_rows,) int64, from 0.

        The truth behind it:
        ``propensities`` : (n_positions,) float64, mean probability that a shown
        document was examined at each position (1 at position 0);
        ``attractiveness`` : (n_documents,) float64, A of each row of y.

    Raises
    ------
    ValueError, TypeError
        If an argument is of the wrong type or out of range, scores are not a number for
        each document and ranker, or all grades are 0.

    Examples
    --------
    >>> from sklearn_ltr.clicks import simulate_clicks
    >>> log = simulate_clicks(
    ...     [2, 0, 1], [3, 2, 1], groups=[7, 7, 7], n_sessions=2, random_state=0
    ... )
    >>> log.documents
    array([0, 1, 2, 0, 1, 2])
    >>> log.propensities.round(2)
    array([1.  , 0.5 , 0.33])
    """
    Choice("pbm", "cascade", "dbn").read_as("model", model)
    integer(1, optional=True).read_as("n_sessions", n_sessions)
    integer(1, MOST_POSITIONS).read_as("k", k)
    real(0).read_as("eta", eta)
    real(0, 1).read_as("noise", noise)
    real(0, 1).read_as("perseverance", perseverance)
    queries = QueryGroups.from_groups(groups, count_rows(y, "y"))
    grades = check_grades(y, queries)
    if not grades.any():
        raise ValueError("y holds grades of 0 only: give one above 0")
    columns = {"scores": scores}
    if np.ndim(scores) == 2:
        columns = {f"scores[:, {j}]": c for j, c in enumerate(np.asarray(scores).T)}
    if not columns:
        raise ValueError("scores has no column: give one for each logging ranker")
    # of each ranker, the documents of each query from rank 1 down
    of_query = queries.query
    rankings = []
    for name, column in columns.items():
        canonical = check_scores(column, queries, name, only_order=True)
        rankings.append(np.lexsort((grades, -canonical, of_query)))
    ranked = np.stack(rankings)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    # a session shows one query, ranked by one of the rankers, both drawn at random
    if n_sessions is None:
        query = np.arange(queries.n_queries)
    else:
        query = rng.integers(queries.n_queries, size=int(n_sessions))
    ranker = rng.integers(len(ranked), size=len(query))
    k = min(int(k), int(queries.sizes.max()))
    # (n_sessions, k): canonical positions of the documents shown; -1 below the list
    shown = np.full((len(query), k), -1)
    for position in range(k):
        has_one = queries.sizes[query] > position
        at = queries.offsets[query[has_one]] + position
        shown[has_one, position] = ranked[ranker[has_one], at]
    # R of each grade, written so that no power of 2 overflows, and A
    ln_2, top = np.log(2.0), grades.max()
    relevance = np.exp((grades - top) * ln_2) * (
        np.expm1(-grades * ln_2) / np.expm1(-top * ln_2)
    )
    attraction = noise + (1 - noise) * relevance
    attracts = np.append(attraction, 0.0)[shown]
    satisfies = np.append(relevance, 0.0)[shown]
    attracted = rng.random(shown.shape) < attracts
    if model == "pbm":
        propensity = (1.0 / np.arange(1, k + 1)) ** eta
        examined = np.broadcast_to(propensity, shown.shape)
        clicked = attracted & (rng.random(shown.shape) < examined)
    else:
        if model == "cascade":
            stops, stop_rate = attracted, attracts
        else:
            goes = rng.random(shown.shape) < perseverance
            is_satisfied = rng.random(shown.shape) < satisfies
            stops = ~goes | (attracted & is_satisfied)
            stop_rate = 1 - perseverance * (1 - attracts * satisfies)
        # users read on while they have not stopped above
        before = np.hstack((np.zeros((len(query), 1), bool), stops[:, :-1]))
        clicked = attracted & ~np.logical_or.accumulate(before, axis=1)
        goes_on = np.hstack((np.ones((len(query), 1)), 1 - stop_rate[:, :-1]))
        examined = np.cumprod(goes_on, axis=1, dtype=np.float64)
    is_row = shown >= 0
    session, shown_at = np.nonzero(is_row)
    return SimulatedLog(
        clicks=clicked[is_row].astype(np.int64),
        groups=as_array(queries.query_ids)[query[session]],
        documents=queries.order[shown[is_row]].astype(np.int64),
        positions=shown_at,
        sessions=session,
        propensities=(examined * is_row).sum(axis=0) / is_row.sum(axis=0),
        attractiveness=queries.unsort(attraction),
    )
