"""Numbers near the ends of float64: an error that names them, or a sensible model."""

from __future__ import annotations

import inspect
import re
import tracemalloc

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.compile import INTERPRETED, KERNELS
from sklearn_ltr._core.parameters import read_parameters
from sklearn_ltr._core.trees.constraints import NO_CONSTRAINTS
from sklearn_ltr._core.trees.growth import BEST_FIRST, SYMMETRIC
from sklearn_ltr._core.trees.parameters import TreeParameters, growth_parameters
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

DATA = make_ranking(12, n_documents=8, n_features=6, n_informative=3, random_state=0)
X, Y, GROUPS = np.arctan(DATA.data), DATA.target, DATA.groups
X[:, 5] = X[:, 5].argsort().argsort() // 24  # codes 0 to 3
TREES = {"n_estimators": 3, "random_state": 0, "min_samples_leaf": 5}
NETWORK = {
    "max_iter": 3, "hidden_layer_sizes": (4,), "learning_rate_init": 0.01,
    "random_state": 0,
}  # fmt: skip
EXTREMES = (1e-320, 1e-150, 1e150, 1.7e308)
ESTIMATORS = (
    LambdaMARTRanker, LambdaRankRanker, RankNetRanker, MARTClassifier, MARTRegressor,
)  # fmt: skip
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)
#: what makes a parameter matter
NEEDS = {
    "validation_fraction": {"early_stopping": True},
    "tol": {"early_stopping": True, "n_iter_no_change": 2},
    "category_smoothing": {"categorical_features": [5]},
}
MAY_BE_0 = ("l2_regularization", "category_smoothing", "regression_weight", "alpha")


def fit(estimator, weight=None, **options):
    small = TREES if "n_estimators" in estimator().get_params() else NETWORK
    model = estimator(**small | options)
    if estimator is MARTClassifier:
        return model.fit(X, Y > 1, weight)
    if estimator is MARTRegressor:
        return model.fit(X, Y, weight)
    return model.fit(X, Y, groups=GROUPS, sample_weight=weight)


def scores(model, **options):
    of = getattr(model, "decision_function", model.predict)
    return of(X, **options)


def float_parameters(estimator):
    """Parameters that the docstring says may be a float."""
    text = inspect.getdoc(estimator)
    typed = re.findall(r"^(\w+) : .*\bfloat\b", text, flags=re.M)
    return [name for name in typed if name in estimator().get_params()]


@every_estimator
def test_every_parameter_that_is_a_float_by_default_is_found(estimator):
    defaults = estimator().get_params().items()
    floats = {name for name, value in defaults if isinstance(value, float)}
    assert floats <= set(float_parameters(estimator))


@pytest.mark.filterwarnings("ignore:.*raise subsample")
@every_estimator
@pytest.mark.parametrize("size", EXTREMES)
def test_a_parameter_is_refused_by_name_or_gives_a_sensible_model(estimator, size):
    for name in float_parameters(estimator):
        options = {name: size} | NEEDS.get(name, {})
        try:
            model = fit(estimator, **options)
        except ValueError as error:
            assert name in str(error)
            continue
        found = scores(model)
        assert np.isfinite(found).all()
        # hardly ever a row to split by
        assert name == "subsample" or np.ptp(found) > 0
        if size < 1 and name in MAY_BE_0:
            none = scores(fit(estimator, **options | {name: 0.0}))
            np.testing.assert_allclose(found, none, rtol=1e-5)


SOLVER_PARAMS = {
    "beta_1": {},
    "beta_2": {"activation": "identity"},  # whose units do not die
    "epsilon": {},
    "momentum": {"solver": "sgd"},
    "power_t": {"solver": "sgd", "learning_rate": "invscaling"},
}


@pytest.mark.parametrize("estimator", [LambdaRankRanker, RankNetRanker])
@pytest.mark.parametrize("name", SOLVER_PARAMS)
def test_a_parameter_of_a_solver_is_refused_by_name_or_sensible(estimator, name):
    options = SOLVER_PARAMS[name]
    for size in EXTREMES:
        try:
            found = scores(fit(estimator, **options, solver_params={name: size}))
        except ValueError as error:
            assert name in str(error)
            continue
        assert np.isfinite(found).all()
        assert np.ptp(found) > 0
        if size < 1 and name in ("beta_1", "momentum", "power_t"):
            none = scores(fit(estimator, **options, solver_params={name: 0.0}))
            np.testing.assert_allclose(found, none, rtol=1e-5)


SHOWN = {"positions": np.arange(len(Y)) - np.searchsorted(GROUPS, GROUPS)}
OF_POSITIONS = [
    *(("regularization", {"position_bias": {"method": method}}, SHOWN)
      for method in ("additive", "pairwise")),
    ("min_propensity", {"position_bias": "pairwise"}, SHOWN),
    ("min_propensity", {}, {"propensities": np.full(len(Y), 1e-300)}),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:propensities are all below min_propensity")
@pytest.mark.parametrize("size", EXTREMES)
@pytest.mark.parametrize(("name", "options", "shown"), OF_POSITIONS)
def test_parameters_of_positions_are_refused_or_give_a_sensible_model(
    name, options, shown, size
):
    if name == "regularization":
        options = {"position_bias": options["position_bias"] | {name: size}}
    else:
        options = options | {name: size}
    try:
        model = LambdaMARTRanker(**TREES | options).fit(X, Y, groups=GROUPS, **shown)
    except ValueError as error:
        assert name in str(error)
        return
    assert np.isfinite(scores(model)).all()
    assert np.ptp(scores(model)) > 0


@every_estimator
@pytest.mark.parametrize("size", EXTREMES)
def test_a_weight_is_refused_by_name_or_gives_a_sensible_model(estimator, size):
    for rows in (GROUPS == GROUPS[0], np.ones(len(Y), dtype=bool)):
        try:
            found = scores(fit(estimator, np.where(rows, size, 1.0)))
        except ValueError as error:
            assert str(error).startswith("sample_weight has a largest value of ")
            assert size > 1 or rows.all()
            continue
        assert not rows.all()
        assert np.isfinite(found).all()
        assert np.ptp(found) > 0.5 * np.ptp(scores(fit(estimator)))


@pytest.mark.parametrize("size", EXTREMES)
def test_init_scores_are_refused_by_name_or_give_a_sensible_model(size):
    for start in (np.full(len(Y), size), np.where(np.arange(len(Y)) % 2, size, -size)):
        model = LambdaMARTRanker(**TREES)
        try:
            model.fit(X, Y, groups=GROUPS, init_score=start)
        except ValueError as error:
            assert "init_score" in str(error)
            assert size > 1
            continue
        found = scores(model, init_score=start)
        assert np.isfinite(found).all()
        assert np.ptp(found) > 0.5 * np.ptp(scores(fit(LambdaMARTRanker)))


@pytest.mark.parametrize("exponent", [-160, 160])
@pytest.mark.parametrize("estimator", [LambdaMARTRanker, MARTClassifier])
def test_sigma_only_scales_the_scores_up_to_the_ends_of_its_range(estimator, exponent):
    sigma = 2.0**exponent  # powers of two change no digit
    one, other = fit(estimator), fit(estimator, sigma=sigma)
    np.testing.assert_array_equal(sigma * scores(other), scores(one))
    if estimator is MARTClassifier:
        probabilities = [model.predict_proba(X).tobytes() for model in (one, other)]
        assert probabilities[0] == probabilities[1]
    np.testing.assert_array_equal(other.feature_importances_, one.feature_importances_)


@pytest.mark.parametrize("exponent", [-290, 290])
def test_a_common_factor_of_all_targets_scales_the_predictions(exponent):
    one, other = MARTRegressor(**TREES), MARTRegressor(**TREES)
    expected = one.fit(X, Y).predict(X) * 2.0**exponent
    found = other.fit(X, Y * 2.0**exponent).predict(X)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("sigma", [1e-50, 1e50])
def test_lambdas_are_finite_at_the_ends_of_the_range_of_sigma(sigma):
    gradient, hessian = compute_lambdas(X[:, 0], Y, sigma=sigma, groups=GROUPS)
    assert np.isfinite(gradient).all() and gradient.any()
    assert np.isfinite(hessian).all()


def test_steps_that_diverge_end_the_fit_and_keep_no_model():
    model = MARTRegressor(**TREES | {"n_estimators": 1000}, learning_rate=50.0)
    with pytest.raises(ValueError, match="scores diverge, .*learning_rate=50"):
        model.fit(X, Y)
    assert not hasattr(model, "ensemble_")


# --- sizes of trees -------------------------------------------------------------------

TREE_ESTIMATORS = [LambdaMARTRanker, MARTClassifier, MARTRegressor]
DRAWN = {"max_features": 3, "subsample": 0.7}


@pytest.mark.parametrize("estimator", TREE_ESTIMATORS)
def test_more_leaves_than_the_rows_fill_cost_nothing_and_change_nothing(estimator):
    options = DRAWN | {"min_samples_leaf": 2, "n_estimators": 3}
    enough = fit(estimator, max_leaf_nodes=len(Y), **options)
    tracemalloc.start()
    many = fit(estimator, max_leaf_nodes=10**6, **options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    for name, array in enough.ensemble_.__getstate__().items():
        assert np.array_equal(array, getattr(many.ensemble_, name, array))
    assert peak < 100 * 2**20  # of histograms alone it would be 30 GiB


@pytest.mark.filterwarnings("ignore::sklearn_ltr.NothingLearnedWarning")
@pytest.mark.parametrize("n_rows", [1, 2, 3, 39, 40, 41])
def test_memory_is_allocated_for_the_leaves_that_depth_and_rows_allow(n_rows):
    def limits(policy=BEST_FIRST, **options):
        parameters = read_parameters(TreeParameters, MARTRegressor(**options))
        return growth_parameters(parameters, NO_CONSTRAINTS, n_rows, policy)

    by_rows = limits(min_samples_leaf=20, max_leaf_nodes=10**9)
    assert by_rows.max_leaf_nodes == 2
    assert by_rows.min_samples_leaf == min(20, n_rows)
    by_depth = limits(max_leaf_nodes=10**6, max_depth=2, min_samples_leaf=1)
    assert by_depth.max_leaf_nodes == max(2, min(4, n_rows))
    by_level = limits(SYMMETRIC, max_leaf_nodes=10**6, min_samples_leaf=1)
    assert by_level.max_leaf_nodes == 2**by_level.max_depth <= 2 * n_rows + 2
    model = MARTRegressor(**TREES, max_leaf_nodes=99)
    assert model.fit(X[:n_rows], Y[:n_rows]).predict(X).shape == Y.shape


@pytest.mark.parametrize("estimator", TREE_ESTIMATORS)
def test_depth_limits_leaves(estimator):
    deep, narrow = (
        fit(estimator, max_leaf_nodes=n, max_depth=2, min_samples_leaf=1)
        for n in (10**6, 4)
    )
    assert scores(deep).tobytes() == scores(narrow).tobytes()


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_numbers_of_numpy_compile_no_kernel_again():
    def compiled():
        return {name: len(kernel.signatures) for name, kernel in KERNELS.items()}

    fit(MARTRegressor)
    before = compiled()
    fit(
        MARTRegressor,
        max_leaf_nodes=np.int8(100),
        max_depth=np.int32(31),
        min_samples_leaf=np.uint16(5),
        l2_regularization=np.float32(0.5),
        learning_rate=np.float16(0.5),
    )
    assert compiled() == before
