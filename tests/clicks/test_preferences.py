"""Preferences are those of the definitions, and RankNet learns from them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import RankNetRanker
from sklearn_ltr.clicks import preferences_from_clicks, simulate_clicks
from sklearn_ltr.clicks._preferences import STRATEGIES
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.metrics import ndcg_score
from tests.clicks.logs import columns, small
from tests.oracles import clicks as oracle


def padded_sessions(log):
    """Lists of ((query, document), click), None where nothing was shown."""
    n, width = int(log.sessions.max()) + 1, int(log.positions.max()) + 1
    lists = [[None] * width for _ in range(n)]
    rows = (log[name].tolist() for name in ("sessions", "positions", "groups"))
    for session, position, group, document, click in zip(
        *rows, log.documents.tolist(), log.clicks.tolist(), strict=True
    ):
        lists[session][position] = ((group, document), click)
    return lists


def found(log, rows=slice(None), **options):
    return preferences_from_clicks(log.clicks[rows], **columns(log, rows), **options)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("users", ["pbm", "dbn"])
def test_counts_are_those_of_a_loop_over_sessions(strategy, users):
    log = small(users, seed=1)
    expected = oracle.preferences(padded_sessions(log), strategy)
    result = found(log, strategy=strategy, smoothing=0.5)
    counts = {}
    rows = zip(
        result.groups.tolist(),
        result.pairs.tolist(),
        result.counts.tolist(),
        result.probabilities.tolist(),
        strict=True,
    )
    for group, (i, j), (wins, losses), probability in rows:
        assert wins >= losses
        assert probability == (wins + 0.5) / (wins + losses + 1)
        assert ((group, i), (group, j)) not in counts
        counts[(group, i), (group, j)] = wins
        counts[(group, j), (group, i)] = losses
    assert {pair: n for pair, n in counts.items() if n} == expected
    assert result.counts.dtype == np.int64


def test_rows_in_another_order_give_the_same_preferences():
    log = small("dbn")
    rows = np.random.default_rng(0).permutation(len(log.clicks))
    one, other = found(log), found(log, rows)
    for name in one:
        assert_array_equal(one[name], other[name], strict=True)


def test_a_position_that_was_not_logged_is_neither_clicked_nor_skipped():
    given = {"groups": ["q"] * 2, "documents": ["a", "b"], "sessions": [1, 1]}
    result = preferences_from_clicks(
        [0, 1], positions=[0, 2], strategy="skip_above", **given
    )
    assert result.pairs.tolist() == [["b", "a"]]
    with pytest.raises(ValueError, match="finds no preference, as no session has a cl"):
        preferences_from_clicks(
            [0, 1], positions=[0, 2], strategy="skip_previous", **given
        )


def test_a_document_of_two_queries_is_compared_within_each():
    result = preferences_from_clicks(
        [0, 1, 0, 1],
        groups=["r", "r", "q", "q"],
        documents=[7, 8, 8, 7],
        positions=[0, 1, 0, 1],
        sessions=[1, 1, 2, 2],
        smoothing=0,
    )
    assert result.groups.tolist() == ["q", "r"]
    assert result.pairs.tolist() == [[7, 8], [8, 7]]
    assert result.probabilities.tolist() == [1.0, 1.0]


def test_counts_of_several_strategies_are_added():
    log = small()
    sessions = padded_sessions(log)
    above, below = (
        oracle.preferences(sessions, strategy)
        for strategy in ("skip_previous", "no_click_next")
    )
    default = found(log)
    assert default.counts.sum() == sum(above.values()) + sum(below.values())
    given = found(log, strategy=["no_click_next", "skip_previous"])
    for name in default:
        assert_array_equal(default[name], given[name])


@pytest.fixture(scope="module")
def learned_from():
    """NDCG@10 on other queries of the ranker in use, and learned from its clicks."""
    data = make_ranking(400, random_state=0)
    noise = np.random.default_rng(0).normal(size=(len(data.target), 3))
    scores = data.utility[:, None] + 1.5 * noise
    old, X = data.groups < 200, StandardScaler().fit_transform(data.data)
    log = simulate_clicks(
        data.target[old], scores[old], groups=data.groups[old], random_state=0
    )

    def ndcg(values):
        new = ~old
        return ndcg_score(data.target[new], values[new], groups=data.groups[new], k=10)

    def learn(**options):
        result = found(log, **options)
        ranker = RankNetRanker(random_state=0).fit(
            X[old],
            pairs=result.pairs,
            pair_probabilities=result.probabilities,
            groups=data.groups[old],
        )
        return ndcg(ranker.predict(X))

    return ndcg(scores[:, 0]), learn


def test_ranknet_learns_more_from_preferences_than_the_lists_had(learned_from):
    shown, learn = learned_from
    assert learn() > shown + 0.05  # 0.13 more


def test_preferences_against_the_order_shown_alone_teach_the_reverse(learned_from):
    shown, learn = learned_from
    assert learn(strategy="skip_above") < shown - 0.1  # 0.27 less
