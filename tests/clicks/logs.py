"""Small logs, and logs of a known bias."""

from __future__ import annotations

from functools import cache

import numpy as np

from sklearn_ltr.clicks import simulate_clicks
from sklearn_ltr.datasets import make_ranking

COLUMNS = ("groups", "documents", "positions", "sessions")


def columns(log, rows=slice(None)):
    """The keyword arguments of `fit`."""
    return {name: log[name][rows] for name in COLUMNS}


def fit(model, log, rows=slice(None)):
    return model.fit(log.clicks[rows], **columns(log, rows))


@cache
def ranking(n_queries=60, n_rankers=5):
    """Documents, and the scores of noisy rankers."""
    data = make_ranking(n_queries, n_documents=12, random_state=0)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(len(data.target), n_rankers))
    return data, data.utility[:, None] + noise


@cache
def simulated(model="pbm", n_sessions=20_000, n_queries=60, seed=0, **options):
    data, scores = ranking(n_queries)
    return simulate_clicks(
        data.target,
        scores,
        groups=data.groups,
        model=model,
        n_sessions=n_sessions,
        random_state=seed,
        **options,
    )


def small(model="pbm", n_sessions=80, seed=0):
    """A log of three queries of four documents, as slow oracles need it."""
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1, 2, 0], 3)
    return simulate_clicks(
        y,
        rng.normal(size=(12, 6)),
        groups=np.repeat([5, 3, 9], 4),
        model=model,
        n_sessions=n_sessions,
        noise=0.3,
        random_state=seed,
    )


def rows_of(log, model):
    """(unit, position, click) of each row, units as in `attractiveness_`."""
    unit = {
        (g, d): u
        for u, (g, d) in enumerate(
            zip(model.groups_.tolist(), model.documents_.tolist(), strict=True)
        )
    }
    return [
        (unit[g, d], p, c)
        for g, d, p, c in zip(
            log.groups.tolist(),
            log.documents.tolist(),
            log.positions.tolist(),
            log.clicks.tolist(),
            strict=True,
        )
    ]


def sessions_of(log, model):
    """Lists of (pair, click), by session."""
    rows = rows_of(log, model)
    lists = [[] for _ in range(int(log.sessions.max()) + 1)]
    for session, (pair, _, click) in zip(log.sessions.tolist(), rows, strict=True):
        lists[session].append((pair, click))
    return lists
