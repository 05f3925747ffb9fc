"""Rows on query ids, grades, and conventions of metrics."""

from __future__ import annotations

import numpy as np

from sklearn_ltr.metrics import NDCG
from tests.oracles import metrics as oracle
from tests.peers.offers import check_error, row
from tests.peers.offers.libraries import DATA, Data, same_scores
from tests.peers.test_metrics_conventions import (
    SYNTHETIC,
    catboost_prints,
    lightgbm_prints,
    xgboost_prints,
)

DIFFERS = "differs from the length of #data"
NOT_EQUAL = "Not equal to tolerance"


@row("one query id per row", LightGBM=DIFFERS)
def ids(library):
    fitted = library.new().fit(DATA.X, DATA.y, **{library.queries: DATA.groups})
    same_scores(fitted.predict(DATA.X), library.scores(DATA))


@row(
    "query ids that are strings",
    LightGBM="invalid literal for int",
    XGBoost="Unicode-3 is not supported",
)
def strings(library):
    names = np.array([f"q{i:02d}" for i in DATA.groups])
    fitted = library.new().fit(DATA.X, DATA.y, **{library.queries: names})
    same_scores(fitted.predict(DATA.X), library.scores(DATA))


@row(
    "rows of a query need not be consecutive",
    LightGBM=DIFFERS,
    XGBoost="must be sorted",
    CatBoost="should be grouped",
)
def interleaved(library):
    rows = np.random.default_rng(0).permutation(len(DATA.y))
    mixed = DATA.subset(rows)
    fitted = library.new().fit(mixed.X, mixed.y, **{library.queries: mixed.groups})
    same_scores(fitted.predict(DATA.X), library.scores(DATA))


@row("`fit` without queries raises an error")
def fit_without_queries(library):
    check_error("group", library.new().fit, DATA.X, DATA.y)


@row(
    "`score` without queries raises an error",
    LightGBM="no attribute 'score'",
    XGBoost="no error",
)
def score_without_queries(library):
    check_error("group", library.fit(DATA).score, DATA.X, DATA.y)


@score_without_queries.workaround("LightGBM", "has no `score`")
def there_is_no_score(library):
    assert not hasattr(library.fit(DATA), "score")


def learns_grades(library, y, **options) -> None:
    """Check that a few trees learn the order by a feature equal to the grades."""
    data = Data(y[:, np.newaxis], y, DATA.groups)
    of_ties, reached = (
        NDCG(5)(y, scores, groups=DATA.groups)
        for scores in (np.zeros(len(y)), library.scores(data, **options))
    )
    assert reached > (1 + of_ties) / 2


REAL = np.random.default_rng(0).uniform(0, 4, len(DATA.y))
HIGH = np.floor(10 * REAL)


@row("real-valued grades", LightGBM="should be int type", XGBoost="label_is_integer")
def real_grades(library):
    learns_grades(library, REAL)


@row(
    "grades above 31",
    LightGBM="number of label mappings",
    XGBoost="than or equal to 31",
)
def high_grades(library):
    learns_grades(library, HIGH)


@real_grades.workaround("XGBoost", "with `ndcg_exp_gain=False`")
def linear_gain_takes_real_grades(library):
    learns_grades(library, REAL, ndcg_exp_gain=False)


@high_grades.workaround("XGBoost", "with `ndcg_exp_gain=False`")
def linear_gain_takes_high_grades(library):
    learns_grades(library, HIGH, ndcg_exp_gain=False)


@high_grades.workaround("LightGBM", "with `label_gain`")
def gains_for_all_grades(library):
    learns_grades(library, HIGH, label_gain=list(range(41)))


def sklearn_ltr_prints() -> float:
    metric = NDCG(5, gain="linear")
    return metric(SYNTHETIC.y, SYNTHETIC.scores, groups=SYNTHETIC.groups)


@row(
    "reports the NDCG of trec_eval",
    LightGBM=NOT_EQUAL,
    CatBoost=NOT_EQUAL,
)
def ndcg_of_trec_eval(library):
    printed = {
        "sklearn_ltr": sklearn_ltr_prints,
        "LightGBM": lambda: lightgbm_prints("ndcg@5", label_gain=list(range(31))),
        "XGBoost": lambda: xgboost_prints("ndcg@5-", ndcg_exp_gain=False),
        "CatBoost": lambda: catboost_prints("NDCG:top=5;type=Base"),
    }[library.name]()
    order = np.lexsort((-SYNTHETIC.scores, SYNTHETIC.groups))
    ends = np.flatnonzero(np.diff(SYNTHETIC.groups)) + 1
    lists = np.split(SYNTHETIC.y[order], ends)
    expected = np.mean([oracle.ndcg(grades, 5, oracle.linear) for grades in lists])
    np.testing.assert_allclose(printed, expected, rtol=1e-9)
