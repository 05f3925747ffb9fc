"""Changed weights: M by the definition, and the conclusions from random directions."""

from __future__ import annotations

import pickle
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr.inspection import LocalOptimality, local_optimality, weight_curves
from sklearn_ltr.inspection._local_optimality import directions_needed
from sklearn_ltr.metrics import NDCG, Metric
from tests.oracles import metrics as oracle
from tests.oracles import networks

N_FEATURES = 4
RANKERS = {
    "LambdaRank, linear": LambdaRankRanker("map", hidden_layer_sizes=()),
    "RankNet, hidden": RankNetRanker(hidden_layer_sizes=(3, 2), activation="tanh"),
}


def some_rows(seed=0, n_queries=30):
    """Queries of 1 to 9 documents, interleaved, some with nothing relevant."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(n_queries), rng.integers(1, 10, 30)))
    X = rng.normal(size=(len(groups), N_FEATURES))
    y = np.clip(np.rint(X[:, 0] + rng.normal(size=len(groups))), 0, 3)
    return X, y, groups


X, Y, GROUPS = some_rows()


@pytest.fixture(scope="module", params=RANKERS)
def ranker(request):
    unfitted = clone(RANKERS[request.param])
    unfitted.set_params(max_iter=3, random_state=0, n_jobs=1)
    return unfitted.fit(X, Y, groups=GROUPS)


@pytest.fixture(scope="module")
def linear():
    ranker = RankNetRanker(hidden_layer_sizes=(), max_iter=3, random_state=0)
    return ranker.fit(X, Y, groups=GROUPS)


def weights_of(ranker):
    """All weights in one vector, in double precision."""
    return np.concatenate([np.ravel(w) for w in ranker.network_.parameters]).astype(
        np.float64
    )


def mean_ndcg(ranker, flat, k):
    """Equation 8 for given weights: no network and no metric of the package."""
    weights, start = [], 0
    for w in ranker.network_.parameters:
        weights.append(flat[start : start + w.size].reshape(w.shape))
        start += w.size
    s = networks.scores(weights, X, ranker.activation)
    values = []
    for group in np.unique(GROUPS):
        scores, grades = s[GROUPS == group].tolist(), Y[GROUPS == group].tolist()
        order = oracle.ranked_against_the_model(scores, grades)
        values.append(oracle.ndcg([grades[i] for i in order], k))
    return sum(values) / len(values)


def ranker_with_weights(*w, X, y, groups):
    """A linear ranker whose weights are given, not learned."""
    ranker = RankNetRanker(hidden_layer_sizes=(), max_iter=1, random_state=0)
    ranker.fit(X, y, groups=groups)
    ranker.network_.coefs[0][:, 0] = w
    return ranker


def unit_directions(seed, n, n_weights):
    drawn = np.random.RandomState(seed).standard_normal((n, n_weights))
    return drawn / np.sqrt((drawn**2).sum(axis=1, keepdims=True))


# --- equation 9 -------------------------------------------------------------------


def test_the_number_of_directions_is_the_smallest_that_equation_9_allows(linear):
    result = local_optimality(linear, X, Y, groups=GROUPS, delta=0.1, p0=0.5)
    # log(0.1) / log(0.5) = 3.3, and log(0.01) / log(0.99) = 458.2
    assert result.n_directions == len(result.values) == 4
    assert directions_needed(0.01, 0.01) == 459
    for delta in (0.3, 0.05, 0.01, 1e-6):
        for p0 in (0.6, 0.1, 0.01, 1e-3):
            n = directions_needed(delta, p0)
            assert (1 - p0) ** n <= delta < (1 - p0) ** (n - 1)


# --- conclusions from the number of ascending directions --------------------------


def with_ascending(k, n, delta=0.01, p0=0.01):
    values = np.where(np.arange(n) < k, 0.6, 0.4)
    return LocalOptimality(NDCG(), 0.5, values, values > 0.5, 1.0, delta, p0)


def at_most(k, n, p):
    """The probability of at most k heads in n throws."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


@pytest.mark.parametrize(("k", "n"), [(0, 459), (1, 10), (7, 10), (40, 459)])
def test_at_the_bound_so_few_ascents_have_probability_delta(k, n):
    result = with_ascending(k, n, delta=0.05, p0=0.02)
    assert result.n_ascending == k
    assert result.fraction_ascending == k / n
    more = sum(comb(n, i) * 0.02**i * 0.98 ** (n - i) for i in range(k + 1, n + 1))
    assert_allclose(result.confidence, more, rtol=1e-9)
    assert_allclose(at_most(k, n, result.upper_bound), 0.05, rtol=1e-9)
    assert result.upper_bound > result.fraction_ascending


# --- M by the definition ----------------------------------------------------------


def test_values_are_the_mean_ndcg_of_the_changed_weights(ranker):
    w = weights_of(ranker)
    result = local_optimality(
        ranker,
        X,
        Y,
        groups=GROUPS,
        metric="ndcg@5",
        n_directions=12,
        step_size=0.4,
        random_state=3,
    )
    norm = np.sqrt((w**2).sum())
    assert_allclose(result.step, 0.4 * norm, rtol=1e-12)
    value = mean_ndcg(ranker, w, k=5)
    expected = [
        mean_ndcg(ranker, w + 0.4 * norm * u, k=5)
        for u in unit_directions(3, 12, len(w))
    ]
    # the same rankings; only the rounding of a sum of thirty terms differs
    assert_allclose(result.values, expected, rtol=1e-13)
    assert_allclose(result.value, value, rtol=1e-13)
    assert_array_equal(result.ascends, np.array(expected) > value)
    assert len(set(expected)) > 6


def test_a_difference_by_rounding_is_no_ascent():
    """Of 0.1 + 0.2 + 0.3 in two orders one is larger."""

    class Rounded(Metric):
        def value(self, ranked_grades):
            return {0.1: 0.3, 0.2: 0.1 + 0.2}[ranked_grades[0]]

    X, y, groups = [[0.0], [1.0]], [0.1, 0.2], [0, 0]
    ranker = ranker_with_weights(-1, X=X, y=y, groups=groups)
    result = local_optimality(
        ranker, X, y, groups=groups, metric=Rounded(), step_size=3, random_state=0
    )
    assert (result.values > result.value).any()
    assert result.n_ascending == 0


# --- curves -----------------------------------------------------------------------


def test_curves_are_the_mean_ndcg_with_one_weight_moved(ranker):
    w = weights_of(ranker)
    moves = [-1.5, -0.2, 0, 0.7]
    curves = weight_curves(ranker, X, Y, groups=GROUPS, metric="ndcg", moves=moves)
    root_mean_square = np.sqrt((w**2).mean())
    assert curves.values.shape == curves.moved.shape == (len(w), 4)
    assert_array_equal(curves.learned, w)
    for i in range(len(w)):
        for j, move in enumerate(moves):
            moved = w.copy()
            moved[i] += move * root_mean_square
            assert_allclose(curves.moved[i, j], moved[i], rtol=1e-12)
            expected = mean_ndcg(ranker, moved, k=None)
            assert_allclose(curves.values[i, j], expected, rtol=1e-13)
    assert_array_equal(curves.values[:, 2], curves.value)
    highest = curves.values.max(axis=1)
    assert_array_equal(curves.peaks, highest <= curves.value * (1 + 1e-12))


def test_the_name_of_a_weight_finds_it_in_the_network():
    ranker = clone(RANKERS["RankNet, hidden"]).fit(X, Y, groups=GROUPS)
    curves = weight_curves(ranker, X, Y, groups=GROUPS, moves=[0])
    assert curves.names[:2] == ["coefs[0][0, 0]", "coefs[0][0, 1]"]
    assert curves.names[-1] == "intercepts[1][1]"
    found = [eval(f"network.{n}", {"network": ranker.network_}) for n in curves.names]
    assert_array_equal(found, curves.learned)


@pytest.mark.parametrize("weights", [["x2", "x0"], np.array([2, 0])])
def test_weights_are_chosen_by_index_or_by_name(linear, weights):
    every = weight_curves(linear, X, Y, groups=GROUPS, moves=[-1, 1])
    assert every.names == ["x0", "x1", "x2", "x3"]
    some = weight_curves(linear, X, Y, groups=GROUPS, moves=[-1, 1], weights=weights)
    assert some.names == ["x2", "x0"]
    assert_array_equal(some.learned, every.learned[[2, 0]])
    assert_array_equal(some.moved, every.moved[[2, 0]])
    assert_array_equal(some.values, every.values[[2, 0]])
    assert_array_equal(some.peaks, every.peaks[[2, 0]])


# --- the ranker -------------------------------------------------------------------


def test_the_ranker_is_not_changed(ranker):
    before = pickle.dumps(ranker)
    local_optimality(ranker, X, Y, groups=GROUPS, n_directions=3)
    weight_curves(ranker, X, Y, groups=GROUPS, moves=[-1, 1])
    assert pickle.dumps(ranker) == before


def test_the_weights_of_the_last_step_of_a_pipeline_are_changed():
    pandas = pytest.importorskip("pandas")
    raw = pandas.DataFrame(5 * X + 3, columns=list("abcd"))
    ranker = RankNetRanker(hidden_layer_sizes=(), max_iter=2, random_state=0)
    pipeline = make_pipeline(StandardScaler(), StandardScaler(), ranker)
    pipeline.fit(raw, Y, ranknetranker__groups=GROUPS)
    scaled = csr_matrix(pipeline[:-1].transform(raw))
    options = {"groups": GROUPS, "n_directions": 5, "random_state": 0}
    expected = local_optimality(pipeline[-1], scaled, Y, **options).values
    search = Bunch(best_estimator_=make_pipeline(pipeline))
    for estimator, table in (
        (pipeline, raw),
        (search, raw),
        (make_pipeline(pipeline[-1]), scaled),
    ):
        result = local_optimality(estimator, table, Y, **options)
        assert_array_equal(result.values, expected)
    # those of a linear model have the names of features
    curves = weight_curves(pipeline, raw, Y, groups=GROUPS, weights=["c"], moves=[0])
    assert curves.names == ["c"]
    assert curves.learned == ranker.network_.coefs[0][2, 0]


def test_values_depend_on_neither_rows_nor_threads_but_on_random_state(ranker):
    def values(rows=slice(None), random_state=0):
        return local_optimality(
            ranker, X[rows], Y[rows], groups=GROUPS[rows], n_directions=7,
            random_state=random_state,
        ).values  # fmt: skip

    expected = values()
    shuffled = np.random.default_rng(5).permutation(len(X))
    assert_array_equal(values(shuffled), expected)
    assert_array_equal(values(random_state=np.random.RandomState(0)), expected)
    assert (values(random_state=1) != expected).any()
    before = ranker.n_jobs
    ranker.n_jobs = 3
    assert_array_equal(values(), expected)
    ranker.n_jobs = before


# --- errors -----------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"step_size": 1e41}, {"moves": [1e41]}])
def test_steps_beyond_float32_are_refused(linear, options):
    call = local_optimality if "step_size" in options else weight_curves
    with pytest.raises(ValueError, match="take smaller steps"):
        call(linear, X, Y, groups=GROUPS, **options)


def test_weights_that_are_all_zero_are_refused():
    ranker = ranker_with_weights(0, 0, 0, 0, X=X, y=Y, groups=GROUPS)
    with pytest.raises(ValueError, match="weights of the ranker are all zero"):
        local_optimality(ranker, X, Y, groups=GROUPS)
