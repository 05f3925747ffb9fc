"""Errors of network rankers name their cause, and leave the ranker unchanged."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import (
    RankNetRanker,
    UnscaledFeaturesWarning,
    ValidationRangeWarning,
)
from sklearn_ltr.metrics import NDCG
from tests import files_named
from tests.networks import (
    BEST_FEATURE,
    DATA,
    VALIDATION,
    Linear,
    Lists,
    both_rankers,
    curve,
    drawn_perceptron,
    fitted,
    model,
    small,
    toy,
    validated,
)


@both_rankers
@pytest.mark.parametrize(
    ("solver", "activation", "rate"),
    # the last two rates overflow single precision
    [("adam", "relu", 1e30), ("sgd", "tanh", 1e39), ("sgd", "identity", 1e300),
     ("adam", "logistic", 1e300)],
)  # fmt: skip
def test_scores_that_overflow_raise_an_error(ranker, solver, activation, rate):
    one = small(
        ranker, learning_rate_init=rate, solver=solver, activation=activation,
        max_iter=15,
    )  # fmt: skip
    with pytest.raises(
        ValueError, match=r"(?s)diverged.*finite.*[sS]cale.*learning_rate_init"
    ):
        one.fit(*DATA, groups=DATA.groups)


@both_rankers
def test_scores_too_large_for_the_sigmoid_raise_an_error(ranker):
    for activation in ("relu", "identity"):
        one = small(ranker, learning_rate_init=1e6, activation=activation)
        with pytest.raises(
            ValueError, match=r"(?s)diverged.*grown to \de\+1\d.*learning_rate_init"
        ):
            one.fit(*DATA, groups=DATA.groups)


@both_rankers
def test_equal_scores_of_saturated_units_are_warned_of(ranker):
    for activation in ("tanh", "logistic"):
        network = drawn_perceptron(np.random.default_rng(0), activation=activation)
        one = small(ranker, learning_rate_init=1e6, network=network)
        with pytest.warns(UserWarning, match=r"(?s)same score.*learning_rate_init"):
            one.fit(*DATA, groups=DATA.groups)
        assert np.ptp(one.predict(DATA.X)) == 0


# only kernels that run as plain Python warn of overflow
@pytest.mark.filterwarnings("ignore:.*in scalar:RuntimeWarning")
@both_rankers
@pytest.mark.parametrize(
    "fit", [fitted, validated], ids=["no validation data", "validation data"]
)
def test_huge_features_are_warned_of_before_the_network_diverges(ranker, fit):
    for size in (1e20, 1e37):
        data = Lists(DATA.X * size, DATA.y, DATA.groups)
        with (
            pytest.warns(UnscaledFeaturesWarning, match=r"\d .*TableVectorizer"),
            pytest.raises(ValueError, match=r"(?s)diverged.*StandardScaler"),
        ):
            fit(ranker, data)


@both_rankers
def test_predict_raises_an_error_only_if_scores_overflow(ranker):
    one = fitted(ranker, max_iter=20)
    signs = np.clip(DATA.X, -1, 1)
    assert 1e30 < np.abs(one.predict(1e30 * signs)).max() < np.inf
    with pytest.raises(ValueError, match="so its scores are not finite"):
        one.predict(3e38 * signs)


@both_rankers
def test_divergence_on_validation_data_alone_raises_an_error(ranker):
    val = Lists(VALIDATION.X * 1e38, VALIDATION.y, VALIDATION.groups)
    with (
        pytest.warns(ValidationRangeWarning),
        pytest.raises(ValueError, match="diverged.*finite"),
    ):
        validated(ranker, DATA, val, learning_rate_init=1.0)


@both_rankers
def test_unscaled_features_are_warned_of_at_the_line_that_calls_fit(ranker):
    X = DATA.X.copy()
    X[:, 2] += 1000.0
    with pytest.warns(
        UnscaledFeaturesWarning, match=r"2 .*1e\+03.*TableVectorizer"
    ) as caught:
        fitted_here = small(ranker, max_iter=1)
        fitted_here.fit(X, DATA.y, groups=DATA.groups)
    assert files_named(caught, __file__) == [__file__]
    # once, not again when training continues
    fitted_here.partial_fit(X, DATA.y, groups=DATA.groups)
    with pytest.warns(UnscaledFeaturesWarning) as caught:
        small(ranker).partial_fit(X, DATA.y, groups=DATA.groups)
    assert files_named(caught, __file__) == [__file__]


@both_rankers
def test_with_a_scaler_unscaled_features_are_learned_without_a_warning(ranker):
    X = DATA.X * [1e-6, 1.0, 1e4, 1e9] + [0.0, 1e3, 0.0, 1e12]
    pipeline = make_pipeline(StandardScaler(), small(ranker, max_iter=15))
    step = pipeline.steps[-1][0]
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline.fit(X, DATA.y, groups=DATA.groups)  # a warning would be an error
    scores = pipeline.predict(X)
    assert NDCG(10)(DATA.y, scores, groups=DATA.groups) > 0.99 * BEST_FEATURE
    assert pipeline[step].n_iter_ == 15


@both_rankers
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_a_failed_partial_fit_leaves_the_optimizer_unchanged(ranker, solver):
    options = {"solver": solver, "learning_rate": "invscaling", "network": Linear()}
    one, other = (small(ranker, **options) for _ in range(2))
    for each in (one, other):
        each.partial_fit(*DATA, groups=DATA.groups)
    row = int(np.flatnonzero(DATA.groups == DATA.with_pairs().groups[0])[0])
    X = DATA.X.copy()
    X[row] = 1e38  # diverges at one query, after updates by others
    with (
        pytest.raises(ValueError, match="diverged"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        one.partial_fit(X, DATA.y, groups=DATA.groups)
    for each in (one, other):
        each.partial_fit(*VALIDATION, groups=VALIDATION.groups)
    assert model(one) == model(other)
    assert curve(one) == curve(other)


@both_rankers
def test_identical_rows_are_warned_of(ranker):
    same = Lists(np.ones((len(DATA.y), 2)), DATA.y, DATA.groups)
    with pytest.warns(UserWarning, match="same score") as caught:
        one = small(ranker).fit(*same, groups=same.groups)
    assert files_named(caught, __file__) == [__file__]
    assert len(set(one.predict([[1, 1], [1, 1]]))) == 1


def test_long_training_on_separable_data_stays_finite():
    data = toy()
    one = fitted(
        RankNetRanker, data, solver="sgd", learning_rate_init=5.0, max_iter=150,
        tol=0.0, hidden_layer_sizes=(), n_iter_no_change=150,
    )  # fmt: skip
    assert np.isfinite(one.predict(data.X)).all()
    assert np.isfinite(curve(one)).all()
    assert one.score(*data, groups=data.groups) == pytest.approx(1.0)
