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


@pytest.mark.parametrize("strategy", [*STRATEGIES, ("no_click_next", "skip_previous")])
@pytest.mark.parametrize("users", ["pbm", "dbn"])
def test_counts_are_those_of_a_loop_over_sessions(strategy, users):
    log = small(users, seed=1)
    expected = {}
    for one in [strategy] if isinstance(strategy, str) else strategy:
        for pair, n in oracle.preferences(padded_sessions(log), one).items():
            expected[pair] = expected.get(pair, 0) + n
    rows = np.random.default_rng(0).permutation(len(log.clicks))
    result = found(log, rows, strategy=strategy, smoothing=0.5)
    counts = {}
    names = ("groups", "pairs", "counts", "probabilities")
    for group, (i, j), (wins, losses), probability in zip(
        *(result[name].tolist() for name in names), strict=True
    ):
        assert wins >= losses
        assert probability == (wins + 0.5) / (wins + losses + 1)
        assert ((group, i), (group, j)) not in counts
        counts[(group, i), (group, j)] = wins
        counts[(group, j), (group, i)] = losses
    assert {pair: n for pair, n in counts.items() if n} == expected
    assert result.counts.dtype == np.int64
    other = found(log, strategy=strategy, smoothing=0.5)
    for name in result:
        assert_array_equal(result[name], other[name], strict=True)
    if not isinstance(strategy, str):  # the default
        assert_array_equal(found(log).counts, result.counts)


def test_a_position_that_was_not_logged_is_neither_clicked_nor_skipped():
    given = {"groups": ["q"] * 2, "documents": ["a", "b"], "sessions": [1, 1]}
    given |= {"clicks": [0, 1], "positions": [0, 2]}
    result = preferences_from_clicks(**given, strategy="skip_above")
    assert result.pairs.tolist() == [["b", "a"]]
    with pytest.raises(ValueError, match="finds no preference, as no session has a cl"):
        preferences_from_clicks(**given, strategy="skip_previous")


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


def test_ranknet_learns_more_than_the_lists_had_and_the_reverse_from_skips_alone():
    data = make_ranking(120, n_documents=30, random_state=0)
    noise = np.random.default_rng(0).normal(size=(len(data.target), 3))
    scores = data.utility[:, None] + 1.5 * noise
    old, X = data.groups < 60, StandardScaler().fit_transform(data.data)
    log = simulate_clicks(
        data.target[old], scores[old], groups=data.groups[old], random_state=0
    )

    def ndcg(values):
        new = data.groups[~old]
        return ndcg_score(data.target[~old], values[~old], groups=new, k=10)

    def learn(**options):
        result = found(log, **options)
        given = {"pairs": result.pairs, "pair_probabilities": result.probabilities}
        ranker = RankNetRanker(max_iter=30, random_state=0)
        return ndcg(ranker.fit(X[old], groups=data.groups[old], **given).predict(X))

    assert learn() > ndcg(scores[:, 0]) + 0.02  # by 0.04
    # preferences are all against the order shown
    assert learn(strategy="skip_above") < ndcg(scores[:, 0]) - 0.1
