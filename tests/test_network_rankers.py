"""What RankNet and LambdaRank have in common, through their public face."""

from __future__ import annotations

import inspect
import io
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_ltr import (
    LambdaRankRanker,
    MissingGroupsWarning,
    RankNetRanker,
)
from sklearn_ltr.metrics import ERR, MAP, NDCG, Metric, get_metric
from tests.network import (
    DATA,
    FULL_BATCH,
    REPORT,
    VALIDATION,
    Linear,
    Lists,
    both_rankers,
    curve,
    draw,
    fitted,
    large,
    model,
    of_val,
    recorded,
    rows_of,
    small,
    toy,
    validated,
    weights,
    weights_before,
)

NAN, INF = float("nan"), float("inf")


class NDCGOfAUser(Metric):
    def value(self, ranked_grades):
        discount = 1 / np.log2(np.arange(len(ranked_grades)) + 2)
        gains = 2.0**ranked_grades - 1
        return gains @ discount / (np.sort(gains)[::-1] @ discount)


# --- it learns --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranker", "metric"),
    [
        (RankNetRanker, None),
        *((LambdaRankRanker, metric) for metric in
          ("ndcg", "ndcg@2", "map", "mrr", "err", NDCGOfAUser(), None)),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("hidden", [(), (6,)], ids=str)
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_a_separable_toy_is_ranked_perfectly(ranker, metric, hidden, solver):
    data = toy()
    options = {} if ranker is RankNetRanker else {"metric": metric}
    options["learning_rate_init"] = {"adam": 0.02, "sgd": 0.1}[solver]
    one = fitted(
        ranker, data, hidden_layer_sizes=hidden, solver=solver, max_iter=60, **options
    )
    measure = NDCG() if metric is None else get_metric(metric)
    score = measure(data.y, one.predict(data.X), groups=data.groups)
    perfect = measure(data.y, data.y, groups=data.groups)
    assert score == pytest.approx(perfect, abs=1e-12)
    if metric is None or metric == "ndcg":
        assert score == pytest.approx(1.0, abs=1e-12)


@both_rankers
@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_every_activation_learns(ranker, activation):
    one = fitted(ranker, activation=activation, max_iter=25, learning_rate_init=0.02)
    start = small(ranker, activation=activation, **REPORT | {"max_iter": 1})
    start.set_params(learning_rate_init=1e-30).fit(*DATA, groups=DATA.groups)
    score = one.score(*DATA, groups=DATA.groups)
    assert score > 0.9 > start.score(*DATA, groups=DATA.groups)


@both_rankers
def test_what_is_not_linear_is_learned_by_hidden_layers_only(ranker):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 2))
    data = Lists(X, (X[:, 0] * X[:, 1] > 0).astype(int), np.repeat(np.arange(20), 10))
    options = {"learning_rate_init": 0.02, "max_iter": 40}
    deep = fitted(ranker, data, hidden_layer_sizes=(16, 8), **options)
    linear = fitted(ranker, data, hidden_layer_sizes=(), **options)
    assert deep.score(*data, groups=data.groups) > 0.95
    assert linear.score(*data, groups=data.groups) < 0.85


# --- parameters do what they say --------------------------------------------------


@both_rankers
@pytest.mark.parametrize("rate", [0.01, 0.5])
@pytest.mark.parametrize("batch_size", [1, 3, FULL_BATCH])
def test_without_momentum_sgd_is_the_step_of_the_report(ranker, batch_size, rate):
    # w - eta dC/dw
    options = REPORT | {"batch_size": batch_size, "learning_rate_init": rate}
    one, updates = recorded(ranker, max_iter=2, **options)
    after = [update.weights for update in updates[1:]] + [weights(one)]
    for update, then in zip(updates, after, strict=True):
        for w, g, new in zip(update.weights, update.gradient, then, strict=True):
            np.testing.assert_allclose(new, w - rate * g, rtol=1e-6, atol=1e-7)


def rates_of(one, updates) -> list[float]:
    """Step sizes, told by the longest component of a step along the gradient."""
    after = [update.weights for update in updates[1:]] + [weights(one)]
    rates = []
    for update, then in zip(updates, after, strict=True):
        g = np.concatenate([part.ravel() for part in update.gradient])
        step = np.concatenate(
            [(w - new).ravel() for w, new in zip(update.weights, then, strict=True)]
        )
        rates.append(step @ g / (g @ g))
    return rates


@both_rankers
@pytest.mark.parametrize("power_t", [0.25, 0.5])
def test_an_inversely_scaled_rate_counts_all_queries_seen(ranker, power_t):
    options = REPORT | {"learning_rate": "invscaling", "learning_rate_init": 0.5}
    one, updates = recorded(ranker, max_iter=3, power_t=power_t, **options)
    n = DATA.with_pairs().n_queries
    expected = [0.5 / (1 + seen) ** power_t for seen in (0, n, 2 * n)]
    np.testing.assert_allclose(rates_of(one, updates), expected, rtol=1e-4)


@both_rankers
def test_an_inversely_scaled_rate_goes_on_falling_over_chunks(ranker):
    # sensitive to the sizes of chunks if these were not added up
    options = REPORT | {"learning_rate": "invscaling", "learning_rate_init": 0.5}
    chunks = [DATA.take(DATA.groups < 13), DATA.take(DATA.groups >= 18)]
    network = recorded(ranker)[0].network
    network.passes.clear()
    one = small(ranker, network=network, **options)
    rates, n_seen = [], 0
    for chunk in chunks:
        one.partial_fit(*chunk, groups=chunk.groups)
        rates += rates_of(one, network.updates[-1:])
        expected = 0.5 / np.sqrt(1 + n_seen)
        assert rates[-1] == pytest.approx(expected, rel=1e-4)
        n_seen += chunk.with_pairs().n_queries


@both_rankers
@pytest.mark.parametrize("patience", [1, 2])
def test_an_adaptive_rate_is_divided_by_five_when_patience_ends(ranker, patience):
    options = REPORT | {"learning_rate": "adaptive", "learning_rate_init": 1e-3}
    one, updates = recorded(
        ranker, max_iter=100, tol=100.0, n_iter_no_change=patience, **options
    )
    falls = [0] * (1 + patience)  # only the first epoch counts as better
    for n in range(1, 6):
        falls += [n] * patience
    assert one.n_iter_ == len(updates) == len(falls)
    expected = 1e-3 / 5.0 ** np.array(falls)
    assert expected[-1] < 1e-6 < expected[-1 - patience]
    # steps of the smallest rates drown in the rounding of the weights
    np.testing.assert_allclose(rates_of(one, updates)[:4], expected[:4], rtol=0.02)


@both_rankers
def test_an_adaptive_rate_watches_the_validation_part_if_there_is_one(ranker):
    options = REPORT | {"learning_rate": "adaptive", "early_stopping": "auto"}
    one = validated(
        ranker, tol=1.0, n_iter_no_change=1, max_iter=50, learning_rate_init=1e-3,
        **{k: v for k, v in options.items() if k != "learning_rate_init"},
    )  # fmt: skip
    assert one.n_iter_ == 2 + 5


@both_rankers
def test_a_constant_rate_is_constant(ranker):
    one, updates = recorded(ranker, max_iter=3, **REPORT)
    np.testing.assert_allclose(rates_of(one, updates), 0.01, rtol=1e-3)
    flat = REPORT | {"learning_rate": "invscaling"}
    assert model(fitted(ranker, power_t=0.0, **flat)) == model(fitted(ranker, **REPORT))


@both_rankers
def test_schedules_are_of_sgd_alone(ranker):
    expected = model(fitted(ranker, solver="adam"))
    for schedule in ("invscaling", "adaptive"):
        one = fitted(ranker, solver="adam", learning_rate=schedule)
        assert model(one) == expected


@both_rankers
@pytest.mark.parametrize("batch_size", [3, FULL_BATCH])
def test_alpha_shrinks_weights_but_not_biases(ranker, batch_size):
    # after one update: (alpha / batch) w more of a step
    data = DATA.take(DATA.groups < 3)
    n = data.with_pairs().n_queries
    assert n == 3
    options = REPORT | {"learning_rate_init": 0.1, "max_iter": 1}
    options["batch_size"] = batch_size
    start = weights_before(ranker, data)
    plain = weights(fitted(ranker, data, **options))
    shrunk = weights(fitted(ranker, data, **options | {"alpha": 2.0}))
    for w, without, found in zip(start, plain, shrunk, strict=True):
        share = 0.1 * 2.0 / n if w.ndim > 1 else 0.0
        np.testing.assert_allclose(found, without - share * w, rtol=1e-5, atol=1e-6)
        assert (found != without).any() == (w.ndim > 1)


@both_rankers
def test_a_strong_penalty_makes_small_scores(ranker):
    options = {"max_iter": 30, "solver": "sgd", "learning_rate_init": 0.01}
    strong = fitted(ranker, alpha=1.0, **options).predict(DATA.X)
    weak = fitted(ranker, alpha=0.0, **options).predict(DATA.X)
    assert np.ptp(strong) < 0.5 * np.ptp(weak)


@both_rankers
def test_the_gradient_of_a_batch_is_the_mean_of_its_queries(ranker):
    options = REPORT | {"learning_rate_init": 0.1, "max_iter": 1, "activation": "tanh"}
    start = weights_before(ranker, **options)
    data = DATA.with_pairs()
    steps = []
    for query in sorted(set(data.groups)):
        alone = fitted(ranker, data.take(data.groups == query), **options)
        steps.append([w - v for w, v in zip(weights(alone), start, strict=True)])
    together = weights(fitted(ranker, data, **options))
    for number, w in enumerate(start):
        mean = np.mean([step[number] for step in steps], axis=0)
        np.testing.assert_allclose(together[number] - w, mean, rtol=0, atol=2e-6)
        assert np.abs(mean).max() > 1e-3


@both_rankers
@pytest.mark.parametrize("batch_size", [1, 3, 7])
def test_an_epoch_goes_through_all_queries_in_an_order_of_its_own(ranker, batch_size):
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


@both_rankers
def test_hidden_layer_sizes_may_be_given_in_any_form(ranker):
    expected = model(fitted(ranker, hidden_layer_sizes=(4, 3)))
    for sizes in ([4, 3], np.array([4, 3]), (np.int64(4), np.int32(3))):
        assert model(fitted(ranker, hidden_layer_sizes=sizes)) == expected
    expected = model(fitted(ranker, hidden_layer_sizes=(4,)))
    assert model(fitted(ranker, hidden_layer_sizes=4)) == expected
    shapes = [w.shape for w in fitted(ranker, hidden_layer_sizes=()).network_.coefs]
    assert shapes == [(4, 1)]


@both_rankers
def test_every_batch_size_beyond_the_data_is_all_of_it(ranker):
    n = DATA.with_pairs().n_queries
    expected = model(fitted(ranker, batch_size=n))
    for batch_size in (n + 1, 10**9, np.int64(10**6), 10**30):
        assert model(fitted(ranker, batch_size=batch_size)) == expected
    assert model(fitted(ranker, batch_size=n - 1)) != expected


@both_rankers
def test_an_automatic_batch_is_one_query(ranker):
    assert model(fitted(ranker, batch_size="auto")) == model(fitted(ranker))


@both_rankers
def test_verbose_prints_every_so_many_epochs(ranker, capsys):
    one = validated(ranker, verbose=2, max_iter=5, scoring="map")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert f"{curve(one)[3]:.4f}" in lines[-1]
    assert f"map {one.validation_scores_[3]:.4f}" in lines[-1]
    fitted(ranker, verbose=0)
    assert capsys.readouterr().out == ""


@both_rankers
def test_parameters_are_named_as_those_of_mlp_regressor(ranker):
    shared = """hidden_layer_sizes activation solver alpha batch_size learning_rate
        learning_rate_init power_t max_iter random_state tol verbose warm_start momentum
        nesterovs_momentum early_stopping validation_fraction beta_1 beta_2 epsilon
        n_iter_no_change""".split()
    ours, theirs = ranker().get_params(), MLPRegressor().get_params()
    assert set(shared) <= ours.keys() & theirs.keys()
    for name in ours:
        assert f"{name}" in inspect.getdoc(ranker), name
    assert "{" not in inspect.getdoc(ranker).split("Parameters")[1].split("-----")[0]
    assert "{network parameters}" not in inspect.getdoc(ranker)


# --- what must not matter ---------------------------------------------------------


@both_rankers
@pytest.mark.parametrize("options", [{}, {"batch_size": FULL_BATCH, "max_iter": 2}])
def test_the_number_of_threads_does_not_matter(ranker, options):
    data = large()
    models, scores = set(), set()
    for n_jobs in (1, 2, 3, -1, None):
        one = validated(ranker, data, data, n_jobs=n_jobs, **options)
        models.add((model(one), *curve(one), *one.validation_scores_))
        scores.add(one.predict(data.X).tobytes())
    assert len(models) == len(scores) == 1


@both_rankers
def test_two_python_threads_may_fit_at_once(ranker):
    data = large()
    seeds = range(4)

    def fit(seed, n_jobs):
        one = fitted(ranker, data, random_state=seed, batch_size=20, n_jobs=n_jobs)
        return model(one), one.predict(data.X).tobytes()

    expected = [fit(seed, 1) for seed in seeds]
    for n_jobs in (1, 2):
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(fit, seeds, [n_jobs] * 4)) == expected


@both_rankers
def test_threads_may_predict_with_one_ranker_at_once(ranker):
    data, one = large(), fitted(ranker, large(), n_jobs=2)
    expected = one.predict(data.X).tobytes()
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: one.predict(data.X).tobytes(), range(8)))
    assert found == {expected}


@both_rankers
def test_the_threads_of_blas_do_not_matter_and_are_left_as_they_were(ranker):
    data = large()
    models = set()
    for n_threads in (1, 2, 4):
        with threadpool_limits(n_threads, user_api="blas"):
            before = threads_of_blas()
            one = fitted(
                ranker, data, batch_size=FULL_BATCH, hidden_layer_sizes=(64, 32)
            )
            models.add((model(one), one.predict(data.X).tobytes()))
            assert threads_of_blas() == before
    assert len(models) == 1


def threads_of_blas() -> list[int]:
    """What every BLAS of this process may use."""
    pools = threadpool_info()
    return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]


@both_rankers
def test_the_interleaving_of_queries_does_not_matter(ranker):
    expected = model(fitted(ranker, batch_size=3))
    backwards = np.argsort(-DATA.groups, kind="stable")
    for order in (np.argsort(DATA.groups, kind="stable"), backwards):
        assert model(fitted(ranker, DATA.take(order), batch_size=3)) == expected


@both_rankers
def test_the_order_of_the_rows_of_a_query_does_not_matter_much(ranker):
    shuffle = np.random.default_rng(5).permutation(len(DATA.y))
    one, other = fitted(ranker), fitted(ranker, DATA.take(shuffle))
    # sums are rounded differently
    np.testing.assert_allclose(
        other.predict(DATA.X), one.predict(DATA.X), rtol=0, atol=1e-4
    )


@both_rankers
@pytest.mark.parametrize("kind", ["strings", "tuples", "floats", "series"])
def test_what_the_queries_are_called_does_not_matter(ranker, kind):
    names = {
        "strings": [f"query {g:02}" for g in DATA.groups],
        "tuples": [("q", int(g)) for g in DATA.groups],
        "floats": DATA.groups / 7 - 1,
        "series": pd.Series(DATA.groups, index=np.arange(len(DATA.y)) + 5),
    }[kind]
    assert model(fitted(ranker, Lists(DATA.X, DATA.y, names))) == model(fitted(ranker))


@both_rankers
def test_scores_do_not_depend_on_the_company_at_prediction(ranker):
    data, one = large(), fitted(ranker, hidden_layer_sizes=(32, 16))
    data.X = data.X[:, :4]
    expected = one.predict(data.X)
    shuffled = np.random.default_rng(0).permutation(len(expected))
    for rows in ([7], [0, 1, 2], shuffled, [3] * 20, np.arange(5, 600), shuffled[:33]):
        np.testing.assert_array_equal(one.predict(data.X[rows]), expected[rows])
    far = np.concatenate([data.X[:10], 1e6 * data.X])
    np.testing.assert_array_equal(one.predict(far)[:10], expected[:10])
    for n_jobs in (2, 3, None):
        one.set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(one.predict(data.X), expected)


@both_rankers
def test_the_form_of_the_table_does_not_matter(ranker):
    X = DATA.X.astype(np.float32)
    expected = fitted(ranker, Lists(X, DATA.y, DATA.groups))
    names = ["a", "b", "c", "d"]
    tables = [
        X.astype(np.float64),
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        X.tolist(),
        X.astype(">f4"),
        pd.DataFrame(X),
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X.astype(np.float64), schema=names),
    ]
    for table in tables:
        one = fitted(ranker, Lists(table, DATA.y, DATA.groups))
        assert model(one) == model(expected)
        np.testing.assert_array_equal(one.predict(table), expected.predict(X))


@both_rankers
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.float16])
def test_other_numbers_are_numbers(ranker, dtype):
    X = (np.maximum(DATA.X, 0) * (1 if dtype is np.bool_ else 5)).astype(dtype)
    one = fitted(ranker, Lists(X, DATA.y.astype(int), DATA.groups))
    assert model(one) == model(
        fitted(ranker, Lists(X.astype(np.float64), DATA.y, DATA.groups))
    )


@both_rankers
def test_nothing_that_is_passed_is_changed(ranker):
    data = [DATA.X.copy(), DATA.y.copy(), DATA.groups.copy(), np.ones(len(DATA.y))]
    for array in [*data, VALIDATION.X]:
        array.flags.writeable = False
    X, y, groups, weight = data
    one = small(ranker).fit(X, y, groups=groups, sample_weight=weight, **of_val())
    one.partial_fit(X.astype(np.float32), y, groups=groups, sample_weight=weight)
    one.predict(X)
    one.score(X, y, groups=groups, sample_weight=weight)
    one.rank(X, groups=groups)
    np.testing.assert_array_equal(X, DATA.X)
    VALIDATION.X.flags.writeable = True


@both_rankers
def test_random_state_decides_everything_that_is_drawn(ranker):
    one = model(fitted(ranker, random_state=3))
    assert model(fitted(ranker, random_state=3)) == one
    assert model(fitted(ranker, random_state=np.random.RandomState(3))) == one
    assert model(fitted(ranker, random_state=4)) != one
    np.random.seed(0)  # noqa: NPY002
    assert model(fitted(ranker, random_state=3)) == one
    assert model(fitted(ranker, random_state=None)) != model(
        fitted(ranker, random_state=None)
    )


# --- weights ----------------------------------------------------------------------


@both_rankers
def test_a_weight_of_one_is_no_weight(ranker):
    assert model(fitted(ranker, weight=np.ones(len(DATA.y)))) == model(fitted(ranker))


@both_rankers
def test_a_weight_of_two_is_the_query_twice(ranker):
    """The gradient of a batch is a mean: of n queries, or of the n + m there are."""
    twice = DATA.groups < 7
    copies = DATA.take(twice)
    data = Lists(
        np.concatenate([DATA.X, copies.X]),
        np.concatenate([DATA.y, copies.y]),
        np.concatenate([DATA.groups, copies.groups + 100]),
    )
    n, m = DATA.with_pairs().n_queries, copies.with_pairs().n_queries
    options = REPORT | {"max_iter": 3}
    weighted = fitted(ranker, weight=1.0 + twice, learning_rate_init=0.1, **options)
    doubled = fitted(ranker, data, learning_rate_init=0.1 * (n + m) / n, **options)
    plain = fitted(ranker, learning_rate_init=0.1, **options)
    np.testing.assert_allclose(
        weighted.predict(DATA.X), doubled.predict(DATA.X), rtol=0, atol=1e-5
    )
    assert np.abs(weighted.predict(DATA.X) - plain.predict(DATA.X)).max() > 1e-3
    np.testing.assert_allclose(curve(weighted), curve(doubled), rtol=1e-5)


@both_rankers
@pytest.mark.parametrize("solver", ["adam", "sgd"])
@pytest.mark.parametrize("batch_size", [1, 4, FULL_BATCH])
def test_a_weight_of_zero_takes_a_query_away(ranker, batch_size, solver):
    kept = DATA.groups >= 4
    options = {"batch_size": batch_size, "solver": solver, "alpha": 0.1}
    one = fitted(ranker, weight=1.0 * kept, **options)
    other = fitted(ranker, DATA.take(kept), **options)
    assert model(one) == model(other)
    assert curve(one) == curve(other)


@both_rankers
def test_queries_without_pairs_do_no_harm(ranker):
    single = Lists(DATA.X[:5], DATA.y[:5], np.arange(100, 105))
    equal = Lists(DATA.X[5:15], np.full(10, 2.0), np.repeat([200, 201], 5))
    nothing = Lists(DATA.X[5:15], np.zeros(10), np.repeat([300, 301], 5))
    parts = [DATA, single, equal, nothing]
    data = Lists(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.groups for part in parts]),
    )
    one, other = fitted(ranker, data), fitted(ranker)
    assert model(one) == model(other)
    assert curve(one) == curve(other)


@both_rankers
def test_weights_count_in_validation(ranker):
    weight_val = 1.0 + VALIDATION.groups % 3
    one = small(ranker, max_iter=1).fit(
        *DATA, groups=DATA.groups, **of_val(), sample_weight_val=weight_val
    )
    score = one.score(*VALIDATION, groups=VALIDATION.groups, sample_weight=weight_val)
    assert one.validation_scores_ == [score]
    assert score != one.score(*VALIDATION, groups=VALIDATION.groups)


# --- early stopping ---------------------------------------------------------------


@both_rankers
@pytest.mark.parametrize("patience", [1, 3])
@pytest.mark.parametrize("scoring", [None, "map@3", ERR(max_grade=3), NDCGOfAUser()])
def test_early_stopping_keeps_the_best_weights(ranker, scoring, patience):
    one = validated(
        ranker, scoring=scoring, max_iter=60, n_iter_no_change=patience, tol=0.0,
        learning_rate_init=0.05,
    )  # fmt: skip
    scores = one.validation_scores_
    best = int(np.argmax(scores))
    assert len(scores) == len(curve(one)) == one.n_iter_ == best + 1 + patience < 60
    measure = NDCG(10) if scoring is None else get_metric(scoring)
    val = VALIDATION
    kept = measure(val.y, one.predict(val.X), groups=val.groups)
    assert kept == max(scores)
    # and they are those of a fit that ended there
    short = fitted(ranker, max_iter=best + 1, learning_rate_init=0.05, tol=0.0)
    assert model(one) == model(short)


@both_rankers
def test_every_validation_score_is_that_of_the_epoch(ranker):
    one = validated(ranker, max_iter=3)
    for epochs, found in enumerate(one.validation_scores_, 1):
        then = fitted(ranker, max_iter=epochs)
        assert found == then.score(*VALIDATION, groups=VALIDATION.groups)


@both_rankers
def test_a_score_must_be_better_by_tol_to_count(ranker):
    one = validated(ranker, max_iter=40, n_iter_no_change=4, tol=2.0)
    assert len(one.validation_scores_) == 5
    one = validated(ranker, max_iter=60, n_iter_no_change=3, tol=0.02)
    best = 0
    for n, score in enumerate(one.validation_scores_):
        if score > one.validation_scores_[best] + 0.02:
            best = n
    assert len(one.validation_scores_) == best + 4 < 60
    # the best are kept all the same, by however little they were better
    kept = one.score(*VALIDATION, groups=VALIDATION.groups)
    assert kept == max(one.validation_scores_)


def test_the_metric_of_lambdarank_is_what_stops_it_unless_scoring_is_given():
    one = validated(LambdaRankRanker, metric="map@3", max_iter=1)
    val = VALIDATION
    expected = MAP(3)(val.y, one.predict(val.X), groups=val.groups)
    assert one.validation_scores_ == [expected]


@both_rankers
def test_auto_means_if_there_is_a_validation_part(ranker):
    assert len(validated(ranker).validation_scores_) == 4
    assert len(validated(ranker, early_stopping=True).validation_scores_) == 4
    assert len(fitted(ranker, early_stopping=True).validation_scores_) == 4
    assert fitted(ranker, early_stopping="auto").validation_scores_ == []
    ignored = validated(ranker, early_stopping=False)
    assert ignored.validation_scores_ == []
    assert model(ignored) == model(fitted(ranker))


@both_rankers
def test_the_held_out_share_is_whole_queries_of_the_training_data(ranker):
    for share, n_out in ((0.1, 2), (0.5, 10), (0.001, 1)):
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
        assert len(one.validation_scores_) == 1


@both_rankers
def test_the_held_out_share_follows_from_random_state(ranker):
    options = {"early_stopping": True, "validation_fraction": 0.3}
    one, again, other = (fitted(ranker, random_state=s, **options) for s in (1, 1, 2))
    assert one.validation_scores_ == again.validation_scores_
    assert model(one) == model(again)
    assert one.validation_scores_ != other.validation_scores_


@both_rankers
def test_held_out_queries_without_weight_are_told_as_such(ranker):
    weight = np.where(DATA.groups < 18, 0.0, 1.0)
    told = 0
    for seed in range(6):
        try:
            small(ranker, early_stopping=True, random_state=seed, max_iter=1).fit(
                *DATA, groups=DATA.groups, sample_weight=weight
            )
        except ValueError as error:
            assert "sample_weight" in str(error)
            told += 1
    assert told > 0


@both_rankers
@pytest.mark.parametrize("flag", [np.True_, 1])
def test_early_stopping_is_never_silently_ignored(ranker, flag):
    try:
        one = fitted(ranker, early_stopping=flag)
    except (TypeError, ValueError) as error:
        assert "early_stopping" in str(error)
    else:
        assert len(one.validation_scores_) > 0


# --- one epoch after another ------------------------------------------------------


@both_rankers
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_partial_fits_over_all_are_the_epochs_of_a_fit(ranker, solver):
    one = small(ranker, solver=solver, learning_rate="invscaling", batch_size=3)
    for epochs in (1, 2, 3):
        assert one.partial_fit(*DATA, groups=DATA.groups) is one
        whole = fitted(
            ranker, solver=solver, learning_rate="invscaling", batch_size=3,
            max_iter=epochs,
        )  # fmt: skip
        assert model(one) == model(whole)
        assert curve(one) == curve(whole)
        assert one.n_iter_ == epochs


@both_rankers
def test_a_stream_of_chunks_is_learned_from(ranker):
    one = small(ranker)
    data = large()
    for _ in range(6):
        for first in range(0, 50, 10):
            chunk = data.take((data.groups >= first) & (data.groups < first + 10))
            one.partial_fit(*chunk, groups=chunk.groups)
    assert one.n_iter_ == len(curve(one)) == 30
    assert one.validation_scores_ == []
    assert one.score(*data, groups=data.groups) > 0.9


@both_rankers
def test_chunks_with_nothing_to_learn_are_passed_over(ranker):
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


@both_rankers
def test_partial_fit_goes_on_from_a_fit_and_a_fit_begins_anew(ranker):
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
def test_partial_fit_survives_a_pickle(ranker):
    one = small(ranker).partial_fit(*DATA, groups=DATA.groups)
    other = pickle.loads(pickle.dumps(one))
    for each in (one, other):
        each.partial_fit(*VALIDATION, groups=VALIDATION.groups)
    assert model(one) == model(other)
    assert curve(one) == curve(other)


@both_rankers
def test_a_warm_start_goes_on_from_the_weights(ranker):
    # without state of the optimizer two fits are one
    options = REPORT | {"max_iter": 3, "batch_size": 2}
    one = fitted(ranker, warm_start=True, **options)
    one.fit(*DATA, groups=DATA.groups)
    whole = fitted(ranker, **options | {"max_iter": 6})
    assert model(one) == model(whole)
    assert one.n_iter_ == 6
    assert curve(one) == curve(whole)


@both_rankers
def test_a_warm_start_begins_with_a_new_optimizer(ranker):
    # as in MLPRegressor: the first step of Adam is +-rate again
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


@both_rankers
def test_a_warm_start_with_a_validation_part_appends_to_the_history(ranker):
    one = validated(ranker, warm_start=True)
    first = list(one.validation_scores_)
    one.fit(*DATA, groups=DATA.groups, **of_val())
    assert one.validation_scores_[:4] == first
    assert len(one.validation_scores_) == len(curve(one)) == one.n_iter_ == 8
    kept = one.score(*VALIDATION, groups=VALIDATION.groups)
    assert kept in one.validation_scores_[4:]


@both_rankers
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_going_on_with_other_columns_or_another_network_is_refused(ranker, method):
    one = fitted(ranker, warm_start=True)
    kept = model(one)
    go_on = getattr(one, method)
    with pytest.raises(ValueError, match="features"):
        go_on(DATA.X[:, :2], DATA.y, groups=DATA.groups)
    for name, value in (
        ("hidden_layer_sizes", (7,)),
        ("activation", "tanh"),
        ("network", Linear()),
    ):
        before = one.get_params()[name]
        one.set_params(**{name: value})
        with pytest.raises(ValueError, match=name):
            go_on(*DATA, groups=DATA.groups)
        one.set_params(**{name: before})
    assert model(one) == kept
    one.set_params(warm_start=False, hidden_layer_sizes=(7,))
    assert one.fit(*DATA, groups=DATA.groups).network_.coefs[0].shape == (4, 7)


# --- a scikit-learn estimator -----------------------------------------------------


@both_rankers
def test_the_checks_of_scikit_learn_pass_but_for_weights_within_a_query(ranker):
    """Its checks give no groups: all rows are one query, and that has one weight."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            ranker(hidden_layer_sizes=(4,), max_iter=3), on_fail=None, on_skip=None
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["exception"]}
    for name, error in list(failed.items()):
        if "sample_weight weighs whole queries" in str(error):
            assert "sample_weight" in name
            del failed[name]
        elif "array_api" in name:  # needs a variable of the environment: skipped
            del failed[name]
    assert failed == {}
    assert len(results) > 40


@both_rankers
def test_parameters_can_be_read_set_cloned_and_shown(ranker):
    one = small(ranker, scoring=MAP(3), sigma=2.0)
    assert clone(one).get_params() == one.get_params()
    assert not hasattr(clone(one.fit(*DATA, groups=DATA.groups)), "network_")
    assert one.set_params(sigma=3.0).sigma == 3.0
    assert repr(ranker()) == f"{ranker.__name__}()"
    shown = repr(one).replace("\n", "").replace(" ", "")
    assert "scoring=MAP(k=3)" in shown
    assert "sigma=3.0" in shown
    assert "hidden_layer_sizes=(5,)" in shown
    for other in (copy(one), deepcopy(one)):
        np.testing.assert_array_equal(other.predict(DATA.X), one.predict(DATA.X))


@both_rankers
def test_parameters_are_stored_as_they_are_given(ranker):
    given = {name: object() for name in ranker().get_params()}
    one = ranker(**given)
    assert all(getattr(one, name) is value for name, value in given.items())
    assert one.get_params(deep=False) == given
    assert inspect.signature(ranker).parameters.keys() == given.keys()


@both_rankers
def test_fit_changes_no_parameter_and_returns_itself(ranker):
    one = small(ranker, early_stopping=True)
    before = dict(one.get_params())
    assert one.fit(*DATA, groups=DATA.groups) is one
    assert one.get_params() == before


@both_rankers
def test_a_ranker_survives_pickle_and_joblib(ranker):
    one = validated(ranker, warm_start=True)
    held = io.BytesIO()
    joblib.dump(one, held)
    held.seek(0)
    expected = one.predict(DATA.X).tobytes()
    others = [pickle.loads(pickle.dumps(one)), joblib.load(held), deepcopy(one)]
    one.fit(*DATA, groups=DATA.groups, **of_val())
    for other in others:
        assert other.predict(DATA.X).tobytes() == expected
        other.fit(*DATA, groups=DATA.groups, **of_val())
        assert model(other) == model(one)
        assert other.validation_scores_ == one.validation_scores_


@both_rankers
def test_a_pickle_does_not_grow_with_the_data_it_was_trained_on(ranker):
    options = {"batch_size": FULL_BATCH, "max_iter": 1}
    few = len(pickle.dumps(fitted(ranker, draw(3), **options)))
    many = len(pickle.dumps(fitted(ranker, draw(300), **options)))
    assert abs(many - few) < 100


@both_rankers
def test_the_tags_say_what_it_is(ranker):
    tags = get_tags(ranker())
    assert tags.estimator_type == "ranker"
    assert not tags.input_tags.allow_nan
    assert tags.target_tags.required


@both_rankers
def test_column_names_are_remembered(ranker):
    names = ["a", "b", "c", "d"]
    table = pd.DataFrame(DATA.X, columns=names)
    one = fitted(ranker, Lists(table, DATA.y, DATA.groups))
    assert one.feature_names_in_.tolist() == names
    assert one.n_features_in_ == 4
    np.testing.assert_array_equal(one.predict(table), fitted(ranker).predict(DATA.X))
    with pytest.raises(ValueError, match="feature names"):
        one.predict(table[names[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        one.partial_fit(table[names[::-1]], DATA.y, groups=DATA.groups)
    with pytest.warns(UserWarning, match="feature names"):
        one.predict(DATA.X)
    one.partial_fit(table, DATA.y, groups=DATA.groups)
    assert not hasattr(one.fit(*DATA, groups=DATA.groups), "feature_names_in_")


@both_rankers
def test_nothing_works_before_fit(ranker):
    one = ranker()
    calls = [
        lambda: one.predict(DATA.X),
        lambda: one.rank(DATA.X),
        lambda: one.score(*DATA, groups=DATA.groups),
    ]
    if ranker is RankNetRanker:
        calls.append(lambda: one.predict_pair_proba(DATA.X, DATA.X))
    for call in calls:
        with pytest.raises(NotFittedError):
            call()


@both_rankers
def test_ranks_and_score_are_those_of_the_scores(ranker):
    one = fitted(ranker)
    scores, ranks = one.predict(DATA.X), one.rank(DATA.X, groups=DATA.groups)
    for g in np.unique(DATA.groups):
        rows = np.flatnonzero(DATA.groups == g)
        best_first = sorted(rows, key=lambda row: (-scores[row], row))
        assert [ranks[row] for row in best_first] == list(range(1, len(rows) + 1))
    weight = 1.0 + DATA.groups % 4
    expected = NDCG(10)(DATA.y, scores, groups=DATA.groups, sample_weight=weight)
    assert one.score(*DATA, groups=DATA.groups, sample_weight=weight) == expected


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8),
    reason="a grid search hands no groups to the score of a Pipeline before 1.8",
)
@both_rankers
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search_over_a_pipeline_routes_the_groups(ranker, n_jobs):
    name = ranker.__name__.lower()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), small(ranker, n_jobs=None)),
            {f"{name}__hidden_layer_sizes": [(), 3, (3, 2)], f"{name}__sigma": [1, 2]},
            cv=GroupKFold(2),
            error_score="raise",
            n_jobs=n_jobs,
        )
        with joblib.parallel_config("threading"):
            search.fit(*DATA, groups=DATA.groups)
    results = search.cv_results_["mean_test_score"]
    assert len(set(results)) > 2
    assert search.best_score_ > 0.7


@both_rankers
def test_missing_groups_are_warned_of_where_they_are_missing(ranker):
    with pytest.warns(MissingGroupsWarning, match="enable_metadata_routing") as fit:
        one = small(ranker).fit(*DATA)
    with pytest.warns(MissingGroupsWarning, match="groups") as score:
        one.score(*DATA)
    with pytest.warns(MissingGroupsWarning, match="groups_val") as validate:
        small(ranker).fit(*DATA, groups=DATA.groups, X_val=DATA.X, y_val=DATA.y)
    with pytest.warns(MissingGroupsWarning, match="groups") as partial:
        small(ranker).partial_fit(*DATA)
    for caught in (fit, score, validate, partial):
        assert len(caught) == 1
        assert caught[0].filename == __file__
    one_query = Lists(DATA.X, DATA.y, np.zeros(len(DATA.y)))
    assert model(one) == model(fitted(ranker, one_query))
