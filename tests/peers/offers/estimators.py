"""Rows on what scikit-learn asks of one estimator, and on tables."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from sklearn_ltr.metrics import NDCG
from tests.peers.offers import noticed, row
from tests.peers.offers.libraries import DATA, Data, Library, same_scores
from tests.peers.offers.queries import NOT_EQUAL

FRAME = pd.DataFrame(DATA.X, columns=list("abcde"))
ONE_WEIGHT_PER_DOCUMENT = dict.fromkeys(
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


@score.instead("XGBoost", "with a `qid` column in X")
def score_of_a_column(library):
    frame = FRAME.assign(qid=DATA.groups)
    fitted = library.new(eval_metric="ndcg@5").fit(frame, DATA.y)
    metric = NDCG(5, no_relevant="one")
    expected = metric(DATA.y, fitted.predict(frame), groups=DATA.groups)
    np.testing.assert_allclose(fitted.score(frame, DATA.y), expected, rtol=1e-6)


@row(
    "`check_estimator` passes, but for weights of single documents",
    LightGBM="fail",
    XGBoost="fail",
    CatBoost="fail",
)
def scikit_learns_checks(library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            library.new(), expected_failed_checks=ONE_WEIGHT_PER_DOCUMENT, on_fail=None
        )
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    assert not failed, f"{len(failed)} checks fail"


@row("renamed columns are noticed by `predict`", LightGBM="not noticed")
def renamed_columns(library):
    predict = library.fit(DATA._replace(X=FRAME)).predict
    noticed("feature", predict, FRAME.set_axis(list("vwxyz"), axis="columns"))


@renamed_columns.instead("LightGBM", "with `validate_features=True`")
def renamed_columns_are_looked_for(library):
    predict = library.fit(DATA._replace(X=FRAME)).predict
    renamed = FRAME.set_axis(list("vwxyz"), axis="columns")
    noticed("found 'v'", predict, renamed, validate_features=True)


@row("sparse X: the model of the same dense X", XGBoost=NOT_EQUAL)
def sparse(library):
    holes = np.random.default_rng(0).uniform(size=DATA.X.shape) < 0.5
    dense = DATA._replace(X=np.where(holes, 0.0, DATA.X))
    csr = dense._replace(X=sp.csr_matrix(dense.X))
    same_scores(library.scores(csr), library.scores(dense))


def a_weight_of_zero_teaches_nothing(library: Library) -> None:
    weight = np.arange(DATA.groups.max() + 1) % 2.0
    of_rows = weight[DATA.groups]
    argument = {
        "XGBoost": {"sample_weight": weight},
        "CatBoost": {"group_weight": of_rows},
    }.get(library.name, {"sample_weight": of_rows})
    turned = np.where(of_rows == 0, DATA.y.max() - DATA.y, DATA.y)
    some, others = (
        library.new().fit(DATA.X, y, **library.told(DATA.groups), **argument)
        for y in (DATA.y, turned)
    )
    same_scores(some.predict(DATA.X), others.predict(DATA.X))


def missing_values_are_learned_from(library: Library) -> None:
    """What is missing is all that tells the good documents."""
    X = np.where(DATA.y > 1, np.nan, 1.0)[:, np.newaxis]
    scores = library.scores(Data(X, DATA.y, DATA.groups))
    assert scores[DATA.y > 1].min() > scores[DATA.y <= 1].max()


def copies_are_equal(library: Library) -> None:
    fitted = library.fit(DATA)
    scores = fitted.predict(DATA.X)
    same_scores(pickle.loads(pickle.dumps(fitted)).predict(DATA.X), scores)
    copy = clone(fitted)
    assert copy.get_params() == clone(copy).get_params()
    copy.fit(DATA.X, DATA.y, **library.told(DATA.groups))
    same_scores(copy.predict(DATA.X), scores)
    size = library.words["tree_size"]
    assert clone(copy).set_params(**{size: 3}).get_params()[size] == 3


@row("missing values; a weight for each query; `clone`, `set_params`, pickle")
def what_all_have(library):
    missing_values_are_learned_from(library)
    a_weight_of_zero_teaches_nothing(library)
    copies_are_equal(library)
