"""Validation data on another scale than the training data are warned of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    RankNetRanker,
    UnscaledFeaturesWarning,
    ValidationRangeWarning,
)
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from tests import files_named

TRAIN, VALID = (
    make_ranking(30, n_documents=10, n_features=6, n_informative=3, random_state=i)
    for i in (0, 1)
)
TREES = {"n_estimators": 2, "min_samples_leaf": 5, "random_state": 0}
NETWORK = {"max_iter": 2, "random_state": 0}
SINGLE = {
    LambdaMARTRanker: TREES,
    MARTClassifier: TREES,
    MARTRegressor: TREES,
    LambdaRankRanker: NETWORK,
    RankNetRanker: NETWORK,
}
every_single = pytest.mark.parametrize("estimator", SINGLE)


def fit(estimator, X, X_val, transform_input=None, scaler=None):
    """Fit to X, and measure X_val, in a Pipeline if there is a scaler."""
    model = estimator(**SINGLE[estimator]) if isinstance(estimator, type) else estimator
    is_class = isinstance(model, MARTClassifier)
    y, y_val = (d.target > 0 if is_class else d.target for d in (TRAIN, VALID))
    given = {"X_val": X_val, "y_val": y_val}
    if not isinstance(model, (MARTClassifier, MARTRegressor)):
        given |= {"groups": TRAIN.groups, "groups_val": VALID.groups}
    if scaler is None:
        return model.fit(X, y, **given)
    with sklearn.config_context(enable_metadata_routing=True):
        if isinstance(model, (MARTClassifier, MARTRegressor)):
            model.set_fit_request(X_val=True, y_val=True)
        pipeline = make_pipeline(scaler, model, transform_input=transform_input)
        return pipeline.fit(X, y, **given)


@every_single
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
def test_what_a_pipeline_does_not_transform_is_warned_of(estimator, scaler):
    X, X_val = TRAIN.data * 10 + 50, VALID.data * 10 + 50
    with pytest.warns(ValidationRangeWarning, match="transform_input") as caught:
        fit(estimator, X, X_val, scaler=scaler)
    (message,) = {str(w.message) for w in caught}
    assert "of the 6 columns that vary, 6 have most of their values" in message
    fit(estimator, X, X_val, ["X_val"], scaler)


@every_single
def test_the_warning_names_the_line_that_calls_fit_and_the_set(estimator):
    model = estimator(**SINGLE[estimator])
    is_class = estimator is MARTClassifier
    y, y_val = (d.target > 0 if is_class else d.target for d in (TRAIN, VALID))
    groups = {"groups": TRAIN.groups, "groups_val": (VALID.groups, VALID.groups)}
    with pytest.warns(ValidationRangeWarning, match=r"X_val\[1\] is on") as caught:
        model.fit(
            TRAIN.data,
            y,
            X_val=(VALID.data, VALID.data + 50),
            y_val=(y_val, y_val),
            **{} if "MART" in estimator.__name__[:4] else groups,
        )
    assert files_named(caught, __file__) == [__file__]


def test_a_bag_warns_once():
    bag = BaggingRanker(LambdaMARTRanker(**TREES), 3, random_state=0)
    with pytest.warns(ValidationRangeWarning, match="3 of 3 members") as caught:
        fit(bag, TRAIN.data, VALID.data + 50)
    assert len(caught) == 1


@every_single
def test_data_of_other_queries_are_not_warned_of(estimator):
    shifts = (0.0, 1.5, -1.5, [50, 0, 0, 0, 0, 0], [50, 90, 0, 0, 0, 0])
    for shift in shifts:
        fit(estimator, TRAIN.data, VALID.data + shift)
    fit(estimator, TRAIN.data, VALID.data * 3)
    constant = [0, 0, 0, 0, 0, 1]
    fit(estimator, TRAIN.data * constant, VALID.data + [9, 9, 9, 9, 9, 0])


@every_single
def test_counts_and_ranks_of_other_queries_are_not_warned_of(estimator):
    def skewed(data):
        return np.floor(np.exp(2 * data))

    fit(estimator, skewed(TRAIN.data) % 99, skewed(VALID.data) % 99)
    for scaler in (StandardScaler(), QuantileTransformer(n_quantiles=50)):
        fit(estimator, skewed(TRAIN.data), skewed(VALID.data), ["X_val"], scaler)


@every_single
def test_zeros_that_are_not_stored_count(estimator):
    few = np.random.default_rng(0).random(TRAIN.data.shape) < 0.1
    X, X_val = np.where(few, TRAIN.data, 0.0), np.where(few, VALID.data, 0.0)
    fit(estimator, csr_matrix(X), csr_matrix(X_val))
    for far in (X_val + 50, np.where(few, VALID.data, 50)):
        messages = []
        for kind in (csr_matrix, np.asarray):
            with pytest.warns(ValidationRangeWarning) as caught:
                fit(estimator, kind(X), kind(far))
            messages.append(str(caught[0].message))
        assert messages[0] == messages[1]
    # no zero is in the range of X
    with pytest.warns(ValidationRangeWarning):
        fit(estimator, csr_matrix(X + 50), csr_matrix(X_val))


def test_missing_values_are_in_no_range():
    X, X_val = TRAIN.data.copy(), VALID.data.copy()
    X[::3] = X_val[1:] = np.nan
    fit(LambdaMARTRanker, X, X_val)
    X_val[:] = np.nan
    fit(LambdaMARTRanker, X, X_val)


def test_categories_have_no_range():
    def frame(data, first):
        codes = first + (np.abs(data.data[:, :4]) * 3).astype(int)
        columns = {f"c{j}": pd.Categorical(codes[:, j]) for j in range(4)}
        return pd.DataFrame(columns | {"x": data.data[:, 4]})

    fit(LambdaMARTRanker, frame(TRAIN, 0), frame(VALID, 500))


@pytest.mark.parametrize("estimator", [LambdaRankRanker, RankNetRanker])
def test_a_large_column_of_validation_data_is_named(estimator):
    far = VALID.data * [1, 1, 1, 1, 1000, 1]
    with pytest.warns(
        UnscaledFeaturesWarning, match=r"column 4 of X_val has .*transform_input"
    ):
        fit(estimator, TRAIN.data, far)
