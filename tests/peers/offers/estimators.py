"""Rows on the estimator interface of scikit-learn, and on kinds of X."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from sklearn_ltr.metrics import NDCG
from tests.peers.offers import check_error, row
from tests.peers.offers.libraries import DATA, Data, Library, same_scores
from tests.peers.offers.queries import NOT_EQUAL

FRAME = pd.DataFrame(DATA.X, columns=list("abcde"))
EXPECTED_FAILURES = dict.fromkeys(
    (
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "weights of single documents have no meaning in a mean over queries",
)


@row(
    "`score` is a ranking metric",
    LightGBM="no attribute 'score'",
    XGBoost="unexpected keyword argument 'qid'",
)
def score(library):
    fitted = library.fit(DATA)
    value = fitted.score(DATA.X, DATA.y, **{library.queries: DATA.groups})
    catboosts = NDCG(gain="linear", no_relevant="one")
    documented = NDCG(10) if library.name == "sklearn_ltr" else catboosts
    expected = documented(DATA.y, fitted.predict(DATA.X), groups=DATA.groups)
    np.testing.assert_allclose(value, expected)


@score.workaround("XGBoost", "with a `qid` column in X")
def score_of_a_column(library):
    frame = FRAME.assign(qid=DATA.groups)
    fitted = library.new(eval_metric="ndcg@5").fit(frame, DATA.y)
    metric = NDCG(5, no_relevant="one")
    expected = metric(DATA.y, fitted.predict(frame), groups=DATA.groups)
    np.testing.assert_allclose(fitted.score(frame, DATA.y), expected, rtol=1e-6)


@row(
    "`check_estimator` passes, except for weights of single documents",
    LightGBM="fail",
    XGBoost="fail",
    CatBoost="fail",
)
def scikit_learns_checks(library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            library.new(), expected_failed_checks=EXPECTED_FAILURES, on_fail=None
        )
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    assert not failed, f"{len(failed)} checks fail"


@row("`predict` raises an error for renamed columns", LightGBM="no error")
def renamed_columns(library):
    predict = library.fit(DATA._replace(X=FRAME)).predict
    check_error("feature", predict, FRAME.set_axis(list("vwxyz"), axis="columns"))


@renamed_columns.workaround("LightGBM", "with `validate_features=True`")
def renamed_columns_with_validation(library):
    predict = library.fit(DATA._replace(X=FRAME)).predict
    renamed = FRAME.set_axis(list("vwxyz"), axis="columns")
    check_error("found 'v'", predict, renamed, validate_features=True)


@row("sparse X: the model of the same dense X", XGBoost=NOT_EQUAL)
def sparse(library):
    holes = np.random.default_rng(0).uniform(size=DATA.X.shape) < 0.5
    dense = DATA._replace(X=np.where(holes, 0.0, DATA.X))
    csr = dense._replace(X=sp.csr_matrix(dense.X))
    same_scores(library.scores(csr), library.scores(dense))


def check_weight_of_zero(library: Library) -> None:
    weight = np.arange(DATA.groups.max() + 1) % 2.0
    of_rows = weight[DATA.groups]
    argument = {
        "XGBoost": {"sample_weight": weight},
        "CatBoost": {"group_weight": of_rows},
    }.get(library.name, {"sample_weight": of_rows})
    reversed_ = np.where(of_rows == 0, DATA.y.max() - DATA.y, DATA.y)
    first, second = (
        library.new().fit(DATA.X, y, **library.group_argument(DATA.groups), **argument)
        for y in (DATA.y, reversed_)
    )
    same_scores(first.predict(DATA.X), second.predict(DATA.X))


def check_missing_values(library: Library) -> None:
    """Only missing values distinguish the relevant documents."""
    X = np.where(DATA.y > 1, np.nan, 1.0)[:, np.newaxis]
    scores = library.scores(Data(X, DATA.y, DATA.groups))
    assert scores[DATA.y > 1].min() > scores[DATA.y <= 1].max()


def check_copies(library: Library) -> None:
    fitted = library.fit(DATA)
    scores = fitted.predict(DATA.X)
    same_scores(pickle.loads(pickle.dumps(fitted)).predict(DATA.X), scores)
    copy = clone(fitted)
    assert copy.get_params() == clone(copy).get_params()
    copy.fit(DATA.X, DATA.y, **library.group_argument(DATA.groups))
    same_scores(copy.predict(DATA.X), scores)
    size = library.parameters["tree_size"]
    assert clone(copy).set_params(**{size: 3}).get_params()[size] == 3


@row("missing values; a weight for each query; `clone`, `set_params`, pickle")
def common_features(library):
    check_missing_values(library)
    check_weight_of_zero(library)
    check_copies(library)
