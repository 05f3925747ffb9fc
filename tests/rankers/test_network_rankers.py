"""What RankNet and LambdaRank have in common, through their public interface.

They share all of the training; tests of one ranker alone choose the one whose curve,
a cost or a metric, shows the fact more sharply.  Tests of both cover what each has of
its own: `fit` and `partial_fit`, the recorded curve, and when training stops.
"""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.networks.training import auto_batch_size
from sklearn_ltr.metrics import MAP, NDCG, get_metric
from tests.networks import (
    DATA,
    FULL_BATCH,
    REPORT,
    VALIDATION,
    Lists,
    both_rankers,
    curve,
    draw,
    drawn_perceptron,
    fitted,
    large,
    model,
    recorded,
    rows_of,
    small,
    threads_of_blas,
    toy,
    validated,
    weights,
)

# --- it learns --------------------------------------------------------------------


@both_rankers
@pytest.mark.parametrize("n_queries", [1, 3])
def test_the_defaults_learn_the_order_of_very_few_queries(ranker, n_queries):
    rows = toy().groups < n_queries
    data = Lists(toy().X[rows], toy().y[rows], toy().groups[rows])
    score = ranker(random_state=0).fit(*data, groups=data.groups).score
    # one feature ranks all perfectly
    assert score(*data, groups=data.groups) > 0.99
    one = ranker(random_state=0)
    for _ in range(30):
        one.partial_fit(*data, groups=data.groups)
    assert one.score(*data, groups=data.groups) > 0.99


def test_only_hidden_layers_learn_what_is_not_linear():
    ranker = LambdaRankRanker
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 2))
    data = Lists(X, (X[:, 0] * X[:, 1] > 0).astype(int), np.repeat(np.arange(20), 10))
    options = {"learning_rate_init": 0.02, "max_iter": 40}
    deep = fitted(ranker, data, hidden_layer_sizes=(16, 8), **options)
    linear = fitted(ranker, data, hidden_layer_sizes=(), **options)
    angles = np.linspace(0, 2 * np.pi, 200)
    best = max(
        NDCG(10)(data.y, X @ direction, groups=data.groups)
        for direction in np.column_stack((np.cos(angles), np.sin(angles)))
    )
    assert linear.score(*data, groups=data.groups) < best + 0.01  # 0.85
    assert deep.score(*data, groups=data.groups) > 0.95  # 1 in truth


# --- what the parameters do -------------------------------------------------------


@pytest.mark.parametrize(("batch_size", "rate"), [(3, 0.5), (FULL_BATCH, 0.01)])
def test_without_momentum_sgd_is_the_step_of_the_report(batch_size, rate):
    # w - eta dC/dw
    options = REPORT | {"batch_size": batch_size, "learning_rate_init": rate}
    one, updates = recorded(RankNetRanker, max_iter=2, **options)
    after = [update.weights for update in updates[1:]] + [weights(one)]
    for update, then in zip(updates, after, strict=True):
        for w, g, new in zip(update.weights, update.gradient, then, strict=True):
            np.testing.assert_allclose(new, w - rate * g, rtol=1e-6, atol=1e-7)


def rates_of(one, updates) -> list[float]:
    """Step sizes: the projection of each step on its gradient."""
    after = [update.weights for update in updates[1:]] + [weights(one)]
    rates = []
    for update, then in zip(updates, after, strict=True):
        g = np.concatenate([part.ravel() for part in update.gradient])
        step = np.concatenate(
            [(w - new).ravel() for w, new in zip(update.weights, then, strict=True)]
        )
        rates.append(step @ g / (g @ g))
    return rates


def test_an_inversely_scaled_rate_counts_all_queries_seen():
    power_t = 0.25
    options = REPORT | {"learning_rate": "invscaling", "learning_rate_init": 0.5}
    options["solver_params"] = {"momentum": 0.0, "power_t": power_t}
    one, updates = recorded(RankNetRanker, max_iter=3, **options)
    n = DATA.with_pairs().n_queries
    expected = [0.5 / (1 + seen) ** power_t for seen in (0, n, 2 * n)]
    np.testing.assert_allclose(rates_of(one, updates), expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("ranker", "patience"), [(RankNetRanker, 1), (LambdaRankRanker, 2)]
)
def test_an_adaptive_rate_is_divided_by_5_after_n_iter_no_change_epochs(
    ranker, patience
):
    options = REPORT | {"learning_rate": "adaptive", "learning_rate_init": 1e-3}
    one, updates = recorded(
        ranker, max_iter=100, tol=100.0, n_iter_no_change=patience, **options
    )
    falls = [0] * (1 + patience)  # only the first epoch counts as an improvement
    for n in range(1, 6):
        falls += [n] * patience
    assert one.n_iter_ == len(updates) == len(falls)
    expected = 1e-3 / 5.0 ** np.array(falls)
    assert expected[-1] < 1e-6 < expected[-1 - patience]
    # steps at the smallest rates are below the rounding of the weights
    np.testing.assert_allclose(rates_of(one, updates)[:4], expected[:4], rtol=0.02)


def test_an_adaptive_rate_follows_the_validation_score_if_there_is_one():
    options = {"learning_rate": "adaptive", "early_stopping": "auto"}
    options |= {"learning_rate_init": 1e-3, "tol": 1.0, "n_iter_no_change": 1}
    one = validated(RankNetRanker, **REPORT | options, max_iter=50)
    # one epoch that improves, one that does not, and five more until the rate is below
    # 1e-6, which ends training
    assert one.n_iter_ == 2 + 5


def test_adam_ignores_the_schedule_of_the_learning_rate():
    ranker = RankNetRanker
    expected = model(fitted(ranker, solver="adam"))
    for schedule in ("invscaling", "adaptive"):
        one = fitted(ranker, solver="adam", learning_rate=schedule)
        assert model(one) == expected
    # nor does it stop where "adaptive" would reduce the rate of "sgd"
    options = {"n_iter_no_change": 1, "tol": 2.0, "max_iter": 7}
    one = fitted(LambdaRankRanker, learning_rate="adaptive", **options)
    assert one.n_iter_ == 7


@pytest.mark.parametrize("batch_size", [3, FULL_BATCH])
def test_alpha_shrinks_weights_but_not_biases(batch_size):
    # in one update by eta * alpha / (queries of the batch) * w
    ranker = RankNetRanker
    data = DATA.take(DATA.groups < 3)
    n = data.with_pairs().n_queries
    assert n == 3
    network = drawn_perceptron(np.random.default_rng(0))
    options = REPORT | {"learning_rate_init": 0.1, "max_iter": 1, "network": network}
    options["batch_size"] = batch_size
    start = [np.array(w, dtype=np.float64) for w in network.parameters]
    plain = weights(fitted(ranker, data, **options))
    shrunk = weights(fitted(ranker, data, **options | {"alpha": 2.0}))
    for w, without, found in zip(start, plain, shrunk, strict=True):
        share = 0.1 * 2.0 / n if w.ndim > 1 else 0.0
        np.testing.assert_allclose(found, without - share * w, rtol=1e-5, atol=1e-6)
        assert (found != without).any() == (w.ndim > 1)


@pytest.mark.parametrize("batch_size", [1, 7])
def test_each_epoch_visits_all_queries_in_a_new_random_order(batch_size):
    ranker = RankNetRanker
    _, updates = recorded(ranker, batch_size=batch_size, max_iter=3)
    n = DATA.with_pairs().n_queries
    n_updates = -(-n // batch_size)
    orders = []
    for epoch in range(3):
        order: list[int] = []
        for update in updates[epoch * n_updates : (epoch + 1) * n_updates]:
            queries = list(dict.fromkeys(DATA.groups[rows_of(update, DATA)]))
            assert len(queries) == batch_size or len(order) + len(queries) == n
            order += queries
        assert sorted(order) == sorted(set(DATA.with_pairs().groups))
        orders.append(tuple(order))
    assert len(set(orders)) == 3


def test_a_batch_size_beyond_the_number_of_queries_is_all_of_them():
    n = DATA.with_pairs().n_queries
    expected = model(fitted(RankNetRanker, batch_size=n))
    assert model(fitted(RankNetRanker, batch_size=10**30)) == expected
    assert model(fitted(RankNetRanker, batch_size=n - 1)) != expected


@pytest.mark.parametrize(
    ("n_queries", "batch_size"), [(2, 1), (31, 1), (32, 2), (100, 6), (300, 8)]
)
def test_batch_size_auto_is_a_sixteenth_of_the_queries_with_pairs(
    n_queries, batch_size
):
    data = draw(400, seed=5).with_pairs()
    data = data.take(np.isin(data.groups, np.unique(data.groups)[:n_queries]))
    options = {"max_iter": 1}
    auto = model(fitted(RankNetRanker, data, batch_size="auto", **options))
    same = fitted(RankNetRanker, data, batch_size=batch_size, **options)
    assert auto == model(same)
    other = fitted(RankNetRanker, data, batch_size=batch_size + 1, **options)
    assert auto != model(other)


@pytest.mark.parametrize(
    ("n_queries", "n_documents", "batch_size"),
    [
        (1_000, 8, 10),  # 100 updates
        (5_000, 8, 20),  # 160 documents
        (20_000, 8, 40),  # 500 updates
        (100_000, 8, 125),  # 1,000 documents
        (10_000, 19, 20),
        (10_000, 20, 8),  # these are not short
    ],
)
def test_batch_size_auto_takes_more_short_lists(n_queries, n_documents, batch_size):
    n_rows, pairs = n_queries * n_documents, SimpleNamespace(by_query=True)
    data = SimpleNamespace(n_queries=n_queries, n_rows=n_rows, pairs=pairs)
    assert auto_batch_size(data) == batch_size


@both_rankers
def test_shared_parameters_have_the_names_of_mlp_regressor(ranker):
    shared = """hidden_layer_sizes activation solver alpha batch_size learning_rate
        learning_rate_init max_iter random_state tol verbose warm_start early_stopping
        validation_fraction n_iter_no_change""".split()
    ours, theirs = ranker().get_params(), MLPRegressor().get_params()
    assert set(shared) <= ours.keys() & theirs.keys()


# --- what must not matter ---------------------------------------------------------


def test_the_number_of_blas_threads_does_not_matter_and_is_restored():
    data, models = large(), set()
    options = {"batch_size": FULL_BATCH, "hidden_layer_sizes": (64, 32)}
    for n_threads in (1, 2, 4):
        with threadpool_limits(n_threads, user_api="blas"):
            before = threads_of_blas()
            one = fitted(LambdaRankRanker, data, **options)
            models.add((model(one), one.predict(data.X).tobytes()))
            assert threads_of_blas() == before
    assert len(models) == 1


# --- weights ----------------------------------------------------------------------


@both_rankers
def test_queries_without_pairs_are_left_out(ranker):
    data = DATA.with_queries_without_pairs()
    one, other = fitted(ranker, data), fitted(ranker)
    assert model(one) == model(other)
    np.testing.assert_array_equal(curve(one), curve(other))


# --- early stopping ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranker", "scoring", "patience"),
    [
        (RankNetRanker, "map@3", 3),
        (LambdaRankRanker, None, 1),
    ],
)
def test_early_stopping_keeps_the_best_weights(ranker, scoring, patience):
    one = validated(
        ranker, scoring=scoring, max_iter=60, n_iter_no_change=patience, tol=0.0,
        learning_rate_init=0.05,
    )  # fmt: skip
    scores = one.validation_score_
    best = int(np.argmax(scores))
    assert len(scores) == len(curve(one)) == one.n_iter_ == best + 1 + patience < 60
    measure = NDCG(10) if scoring is None else get_metric(scoring)
    val = VALIDATION
    kept = measure(val.y, one.predict(val.X), groups=val.groups)
    assert kept == max(scores)
    # the weights are those of a fit that ended there
    short = fitted(ranker, max_iter=best + 1, learning_rate_init=0.05, tol=0.0)
    assert model(one) == model(short)


def test_early_stopping_of_lambdarank_follows_its_metric_without_scoring():
    one = validated(LambdaRankRanker, metric="map@3", max_iter=1)
    val = VALIDATION
    expected = MAP(3)(val.y, one.predict(val.X), groups=val.groups)
    assert one.validation_score_.tolist() == [expected]


def test_validation_fraction_holds_out_whole_queries_of_the_training_data():
    ranker = RankNetRanker
    for share, n_out in ((0.5, 10), (0.001, 1)):
        one, updates = recorded(
            ranker, early_stopping=True, validation_fraction=share, max_iter=1
        )
        seen = np.concatenate([rows_of(update, DATA) for update in updates])
        learned = set(DATA.groups[seen])
        out = set(DATA.groups) - learned
        no_pairs = set(DATA.groups) - set(DATA.with_pairs().groups)
        assert n_out <= len(out) <= n_out + len(no_pairs)
        for query in learned:
            rows = np.flatnonzero(DATA.groups == query)
            assert np.isin(rows, seen).all()
        assert len(one.validation_score_) == 1


# --- partial_fit and warm_start ---------------------------------------------------


@pytest.mark.parametrize(
    ("ranker", "solver"), [(RankNetRanker, "adam"), (LambdaRankRanker, "sgd")]
)
def test_partial_fits_on_all_the_data_are_the_epochs_of_a_fit(ranker, solver):
    one = small(ranker, solver=solver, learning_rate="invscaling", batch_size=3)
    for epochs in (1, 2, 3):
        assert one.partial_fit(*DATA, groups=DATA.groups) is one
        whole = fitted(
            ranker, solver=solver, learning_rate="invscaling", batch_size=3,
            max_iter=epochs,
        )  # fmt: skip
        assert model(one) == model(whole)
        np.testing.assert_array_equal(curve(one), curve(whole))
        assert one.n_iter_ == epochs


def test_chunks_without_pairs_change_nothing_after_the_first_partial_fit():
    ranker = RankNetRanker
    equal = Lists(DATA.X, np.ones(len(DATA.y)), DATA.groups)
    one = small(ranker)
    with pytest.raises(ValueError, match="two different grades"):
        one.partial_fit(*equal, groups=equal.groups)
    assert not hasattr(one, "network_")
    one.partial_fit(*DATA, groups=DATA.groups)
    before = model(one)
    one.partial_fit(*equal, groups=equal.groups)
    assert model(one) == before
    one.partial_fit(*DATA, groups=DATA.groups)
    whole = small(ranker).partial_fit(*DATA, groups=DATA.groups)
    whole.partial_fit(*DATA, groups=DATA.groups)
    assert model(one) == model(whole)


def test_partial_fit_continues_a_fit_and_fit_starts_anew():
    ranker = LambdaRankRanker
    one = fitted(ranker, max_iter=2)
    one.partial_fit(*DATA, groups=DATA.groups)
    assert model(one) == model(fitted(ranker, max_iter=3))
    assert one.n_iter_ == 3
    one.fit(*DATA, groups=DATA.groups)
    assert model(one) == model(fitted(ranker, max_iter=2))
    assert one.n_iter_ == len(curve(one)) == 2
    other = one.fit(VALIDATION.X[:, :2], VALIDATION.y, groups=VALIDATION.groups)
    assert other.n_features_in_ == 2


@both_rankers
def test_a_warm_start_continues_from_the_weights(ranker):
    # for an optimizer without state two fits are one long fit
    options = REPORT | {"max_iter": 3, "batch_size": 2}
    one = fitted(ranker, warm_start=True, **options)
    one.fit(*DATA, groups=DATA.groups)
    whole = fitted(ranker, **options | {"max_iter": 6})
    assert model(one) == model(whole)
    assert one.n_iter_ == 6
    np.testing.assert_array_equal(curve(one), curve(whole))


def test_a_warm_start_begins_with_a_new_optimizer():
    # as in MLPRegressor: the first step of Adam is +-rate again
    ranker = RankNetRanker
    one = fitted(ranker, solver="adam", warm_start=True, batch_size=FULL_BATCH)
    before = weights(one)
    one.set_params(max_iter=1, learning_rate_init=1e-3, alpha=0.0)
    one.fit(*DATA, groups=DATA.groups)
    steps = np.concatenate(
        [np.abs(w - v).ravel() for w, v in zip(weights(one), before, strict=True)]
    )
    moved = steps[steps > 0]
    assert len(moved) > 0.5 * len(steps)
    np.testing.assert_allclose(moved, 1e-3, rtol=1e-2)


# --- a scikit-learn estimator -----------------------------------------------------


def test_a_pickle_does_not_grow_with_the_training_data():
    ranker = LambdaRankRanker
    options = {"batch_size": FULL_BATCH, "max_iter": 1}
    few = len(pickle.dumps(fitted(ranker, draw(3), **options)))
    many = len(pickle.dumps(fitted(ranker, draw(300), **options)))
    assert abs(many - few) < 100
