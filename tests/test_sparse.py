"""Sparse tables: the same models as dense ones, and never made dense as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._networks import MultilayerPerceptron

RNG = np.random.default_rng(0)
GROUPS = RNG.permutation(np.repeat(np.arange(60), 12))
DENSE = RNG.normal(size=(len(GROUPS), 30)) * (RNG.random((len(GROUPS), 30)) < 0.2)
GRADES = np.digitize(DENSE[:, :6].sum(axis=1), [0.0, 0.5, 1.2]).astype(float)
LINEAR = RankNetRanker(hidden_layer_sizes=(), max_iter=3, random_state=0)
HIDDEN = LambdaRankRanker(
    hidden_layer_sizes=(8,), max_iter=3, batch_size=16, random_state=0
)


@pytest.mark.parametrize(
    ("form", "max_bins"),
    [(sparse.csr_matrix, 255), (sparse.csc_array, 7), (sparse.coo_matrix, 255)],
)
def test_boosted_trees_are_the_same_bit_for_bit(form, max_bins):
    ranker = LambdaMARTRanker(n_estimators=8, max_bins=max_bins, random_state=0)
    dense = ranker.fit(DENSE, GRADES, groups=GROUPS).predict(DENSE)
    table = form(DENSE)
    ranker.fit(table, GRADES, groups=GROUPS)
    assert ranker.predict(table).tobytes() == dense.tobytes()
    assert ranker.predict(DENSE).tobytes() == dense.tobytes()
    *_, last = ranker.staged_predict(table)
    assert last.tobytes() == dense.tobytes()


@pytest.mark.parametrize(
    ("ranker", "form"),
    [(LINEAR, sparse.csr_array), (HIDDEN, sparse.csc_array)],
    ids=["linear", "hidden layer"],
)
def test_networks_are_the_same_up_to_rounding(ranker, form):
    dense = ranker.fit(DENSE, GRADES, groups=GROUPS).predict(DENSE)
    table = form(DENSE)
    ranker.fit(table, GRADES, groups=GROUPS)
    np.testing.assert_allclose(ranker.predict(table), dense, rtol=1e-4, atol=1e-5)
    one_by_one = [ranker.predict(table.tocsr()[[row]])[0] for row in range(20)]
    assert one_by_one == ranker.predict(table)[:20].tolist()


def test_duplicate_entries_are_summed_and_the_given_table_is_not_changed():
    table = sparse.csr_matrix(DENSE)
    halves = sparse.csr_matrix(
        (
            np.repeat(table.data / 2, 2),
            np.repeat(table.indices, 2),
            2 * table.indptr,
        ),
        shape=table.shape,
    )
    ranker = LambdaMARTRanker(n_estimators=5, random_state=0)
    expected = ranker.fit(DENSE, GRADES, groups=GROUPS).predict(DENSE)
    found = ranker.fit(halves, GRADES, groups=GROUPS).predict(halves)
    assert found.tolist() == expected.tolist()
    assert halves.nnz == 2 * table.nnz


def test_a_network_of_the_users_own_is_given_dense_batches():
    class Own(MultilayerPerceptron):
        """Not known to accept sparse tables."""

    class Wrapped:
        def __init__(self):
            self.inside = Own(30, (), "identity", np.random.default_rng(0))
            self.seen = []

        @property
        def parameters(self):
            return self.inside.parameters

        def forward(self, X):
            self.seen.append(type(X))
            return self.inside.forward(X)

        def backward(self, score_gradient):
            return self.inside.backward(score_gradient)

    ranker = RankNetRanker(network=Wrapped(), max_iter=2, random_state=0)
    ranker.fit(sparse.csr_array(DENSE), GRADES, groups=GROUPS)
    ranker.predict(sparse.csr_array(DENSE))
    assert set(ranker.network_.seen) == {np.ndarray}
