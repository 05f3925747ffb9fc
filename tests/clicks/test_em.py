"""EM: its steps are those of the definitions, and its likelihood never falls."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from sklearn_ltr.clicks import (
    CascadeModel,
    DynamicBayesianNetwork,
    InterventionHarvesting,
    PositionBasedModel,
)
from sklearn_ltr.clicks._em import (
    Cells,
    cells_log_likelihood,
    cells_step,
    count_cells,
    propensity_errors,
)
from sklearn_ltr.clicks._log import count_patterns, read_click_log
from sklearn_ltr.clicks._models import Rates, em_step, log_likelihood
from tests.clicks.logs import columns, fit, rows_of, sessions_of, simulated, small
from tests.oracles import clicks as oracle

ROUNDING = 1e-10  # of sums of a few hundred terms
BY_POSITION = [PositionBasedModel, InterventionHarvesting]


def shortened(log):
    """The same log with lists of 2, 3 and 4 documents."""
    rows = log.positions < 4 - np.minimum(log.sessions % 5, 2)
    return Bunch(**{name: log[name][rows] for name in ("clicks", *columns(log))})


LOG, DBN_LOG = small(), shortened(small("dbn"))


def random_rates(n, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 0.9, n)


def test_a_step_of_the_position_based_model_is_that_of_the_hidden_events():
    model = fit(PositionBasedModel(), LOG)
    rows = rows_of(LOG, model)
    cells, _ = count_cells(read_click_log(LOG.clicks, **columns(LOG)))
    theta, gamma = random_rates(4), random_rates(len(model.groups_), 1)
    expected = oracle.pbm_log_likelihood(rows, theta, gamma)
    assert_allclose(cells_log_likelihood(cells, theta, gamma), expected, ROUNDING)
    new_theta, new_gamma = cells_step(cells, theta, gamma)
    of_position, of_unit = oracle.pbm_em_step(rows, theta, gamma)
    assert_allclose(new_theta, [of_position[k] for k in range(4)], ROUNDING)
    assert_allclose(new_gamma, [of_unit[u] for u in range(len(gamma))], ROUNDING)


def test_the_position_based_model_is_a_maximum_of_the_likelihood():
    model = fit(PositionBasedModel(tol=1e-9), LOG)
    rows = rows_of(LOG, model)
    theta, gamma = model.propensities_, np.maximum(model.attractiveness_, 1e-12)
    best = oracle.pbm_log_likelihood(rows, theta, gamma)
    assert_allclose(best, model.log_likelihoods_[-1], 1e-6)  # gamma of 0
    for factor in (0.97, 1.03):
        for other in theta * (1 + (factor - 1) * np.eye(4)[1:]):
            assert oracle.pbm_log_likelihood(rows, other, gamma) < best


def test_intervention_harvesting_maximises_the_sum_over_sets_of_positions():
    model = fit(InterventionHarvesting(tol=1e-10), LOG)
    rows = rows_of(LOG, model)
    cells = oracle.all_pairs_cells(rows)
    theta = dict(enumerate(model.propensities_))

    def profile(theta):
        """The sum with each r at its best, found by bisection of its derivative."""
        r = {}
        for pair in {pair for pair, _ in cells}:
            low, high = 0.0, 1 / max(theta.values())  # as theta, a probability
            for _ in range(60):
                r[pair] = (low + high) / 2
                slope = sum(
                    c / r[pair] - (n - c) * theta[k] / (1 - theta[k] * r[pair])
                    for (of, k), (c, n) in cells.items()
                    if of == pair
                )
                low, high = (r[pair], high) if slope > 0 else (low, r[pair])
        return oracle.all_pairs_objective(cells, theta, r)

    best = profile(theta)
    assert_allclose(best, model.log_likelihoods_[-1], 1e-8)
    for k in range(1, 4):
        for factor in (0.99, 1.01):
            assert profile(theta | {k: factor * theta[k]}) < best
    # attractiveness is clicks per expected examination
    for unit, found in enumerate(model.attractiveness_):
        examined = sum(theta[k] for u, k, _ in rows if u == unit)
        clicks = sum(c for u, _, c in rows if u == unit)
        assert_allclose(found, clicks / examined, ROUNDING)


def test_a_step_of_the_network_is_that_of_all_hidden_paths():
    model = fit(DynamicBayesianNetwork(), DBN_LOG)
    sessions, n = sessions_of(DBN_LOG, model), len(model.groups_)
    patterns = count_patterns(read_click_log(DBN_LOG.clicks, **columns(DBN_LOG)))
    rates = Rates(random_rates(n), random_rates(n, 1), 0.7)
    assert patterns.n_sessions.sum() == 80 > len(patterns.n_sessions)
    expected = oracle.dbn_log_likelihood(sessions, *rates)
    assert_allclose(log_likelihood(patterns, rates), expected, ROUNDING)
    new = em_step(patterns, rates)
    attraction, satisfaction, perseverance = oracle.dbn_em_step(sessions, *rates)
    assert_allclose(new.attraction, [attraction[u] for u in range(n)], ROUNDING)
    # without evidence a rate stays
    expected = [satisfaction.get(u, rates.satisfaction[u]) for u in range(n)]
    assert_allclose(new.satisfaction, expected, ROUNDING)
    assert_allclose(new.perseverance, perseverance, ROUNDING)


def test_examination_in_the_network_is_that_of_all_hidden_paths():
    model = fit(DynamicBayesianNetwork(perseverance=0.8), DBN_LOG)
    assert model.perseverance_ == 0.8
    attraction, satisfaction = (
        np.nan_to_num(rates, nan=0.5)
        for rates in (model.attractiveness_, model.satisfaction_)
    )
    examined, shown = np.zeros((2, 4))
    for session in sessions_of(DBN_LOG, model):
        pairs, clicks = map(list, zip(*session, strict=True))
        paths = list(
            oracle.dbn_paths(attraction[pairs], satisfaction[pairs], 0.8, clicks)
        )
        total = sum(p for p, _, _ in paths)
        of_session = sum(p / total * np.array(path) for p, path, _ in paths)
        examined[: len(pairs)] += of_session
        shown[: len(pairs)] += 1
    assert_allclose(model.propensities_, examined / shown, ROUNDING)


def test_the_cascade_model_is_the_maximum_of_the_likelihood():
    log = small("cascade")
    model = fit(CascadeModel(), log)
    sessions = sessions_of(log, model)
    attraction = np.clip(model.attractiveness_, 1e-12, 1)
    best = oracle.cascade_log_likelihood(sessions, attraction)
    for unit in np.flatnonzero((attraction > 1e-12) & (attraction < 1)):
        for factor in (0.98, 1.02):
            other = attraction.copy()
            other[unit] *= factor
            if other[unit] < 1:
                assert oracle.cascade_log_likelihood(sessions, other) < best
    for k in range(4):
        no_click_above = [not any(c for _, c in s[:k]) for s in sessions]
        assert_allclose(model.propensities_[k], np.mean(no_click_above), ROUNDING)


@pytest.mark.parametrize("model", [*BY_POSITION, DynamicBayesianNetwork])
@pytest.mark.parametrize("clicks", ["pbm", "dbn"])
def test_the_likelihood_never_falls_and_em_that_is_cut_off_warns(model, clicks):
    log = small(clicks, seed=1)
    curve = fit(model(), log).log_likelihoods_
    assert (np.diff(curve) >= -1e-9).all()  # the rounding of a sum
    with pytest.warns(ConvergenceWarning, match="max_iter=2 iterations"):
        short = fit(model(max_iter=2, tol=1e-8), log)
    assert short.n_iter_ == 2
    assert_allclose(short.log_likelihoods_, curve[:3], ROUNDING)
    assert curve[-1] > curve[2] > curve[0]


# --- standard errors ------------------------------------------------------------------


def test_standard_errors_are_the_sandwich_of_all_parameters():
    """The full sandwich, with derivatives by differences, has the same variances."""
    rng = np.random.default_rng(0)
    unit, position = np.divmod(np.arange(18), 3)
    shown = rng.integers(20, 40, 18).astype(float)
    query = unit // 2
    clicked = np.round(shown * rng.uniform(0.2, 0.6, 18))
    cells = Cells(unit, position, shown, clicked)
    theta, gamma = np.array([1.0, 0.7, 0.4]), rng.uniform(0.3, 0.9, 6)
    errors = propensity_errors(cells, query, theta, gamma)

    def f(x):
        """Log-likelihoods of queries."""
        p = np.exp(np.append(0.0, x[:2])[position] + x[2:][unit])
        terms = clicked * np.log(p) + (shown - clicked) * np.log(1 - p)
        return np.bincount(query, weights=terms)

    at, h = np.log(np.concatenate((theta[1:], gamma))), 1e-4
    steps = h * np.eye(len(at))
    scores = np.array([(f(at + s) - f(at - s)) / (2 * h) for s in steps])
    hessian = [
        [(f(at + s + t) - f(at + s - t) - f(at - s + t) + f(at - s - t)).sum()
         for t in steps] for s in steps
    ]  # fmt: skip
    inverse = np.linalg.inv(np.array(hessian) / (4 * h * h))
    variance = np.diag(inverse @ scores @ scores.T @ inverse) * 3 / 2  # Q / (Q - 1)
    assert errors[0] == 0
    expected = theta[1:] * np.sqrt(variance[:2])
    assert_allclose(errors[1:], expected, rtol=1e-4)  # of differences


def test_one_query_has_a_curve_without_standard_errors():
    log = small("cascade", n_sessions=300)
    for model in (PositionBasedModel(), InterventionHarvesting(), CascadeModel()):
        fit(model, log, log.groups == 3)
        assert np.isfinite(model.propensities_).all()
        assert model.standard_errors_[0] == 0
        assert np.isnan(model.standard_errors_[1:]).all()


# --- the truth comes back -------------------------------------------------------------


@pytest.mark.parametrize("model", BY_POSITION)
def test_simulated_propensities_come_back_within_their_errors(model):
    log = simulated()
    fitted = fit(model(), log)
    z = (fitted.propensities_ - log.propensities)[1:] / fitted.standard_errors_[1:]
    # 9 dependent values; beyond 4 or with an rms of 2 by chance once in thousands
    assert np.abs(z).max() < 4
    assert np.sqrt((z**2).mean()) < 2
    assert (fitted.standard_errors_[1:] < 0.1).all()  # 0.02 at most


@pytest.mark.long
@pytest.mark.parametrize("model", BY_POSITION)
def test_errors_of_many_logs_have_the_size_of_the_standard_errors(model):
    z = []
    for seed in range(20):
        log = simulated(seed=seed)
        fitted = fit(model(), log)
        error = fitted.propensities_ - log.propensities
        z.append(error[1:] / fitted.standard_errors_[1:])
    # 180 values: an rms of 1 has a standard error of about 0.1
    assert 0.7 < np.sqrt(np.mean(np.square(z))) < 1.4


def test_pairs_shown_a_few_times_need_intervention_harvesting():
    log = simulated(n_sessions=5_000, n_queries=1000)
    harvested, by_pair = (
        np.abs(fit(model(), log).propensities_ - log.propensities).mean()
        for model in (InterventionHarvesting, PositionBasedModel)
    )
    # over five seeds: 0.01 to 0.02, and 0.06 to 0.10; of clicks as they are 0.71
    assert harvested < 0.05 < by_pair


def test_the_cascade_and_the_network_find_what_was_simulated():
    log = simulated("cascade")
    model = fit(CascadeModel(), log)
    z = (model.propensities_ - log.propensities)[1:] / model.standard_errors_[1:]
    assert np.abs(z).max() < 4
    log = simulated("dbn", n_queries=10)
    model = fit(DynamicBayesianNetwork(), log)
    # pairs that are seldom clicked look more satisfying than they are
    assert_allclose(model.propensities_, log.propensities, atol=0.03)
    assert abs(model.perseverance_ - 0.9) < 0.01
    truth = log.attractiveness[model.documents_]
    known = ~np.isnan(model.attractiveness_)
    # over five seeds: 0.89
    assert np.corrcoef(truth[known], model.attractiveness_[known])[0, 1] > 0.8
