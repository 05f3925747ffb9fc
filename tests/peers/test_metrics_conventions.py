"""The arguments with which our metrics reproduce the values of other tools.

=====================================  ==============================================
their evaluation                       ours
=====================================  ==============================================
LightGBM ``ndcg@5``                    ``NDCG(5, no_relevant="one")``
XGBoost ``ndcg@5``                     ``NDCG(5, no_relevant="one")``
XGBoost ``ndcg@5-``                    ``NDCG(5)``
XGBoost ``ndcg@5``, no exp_gain        ``NDCG(5, no_relevant="one", gain="linear")``
XGBoost ``map``                        ``MAP(no_relevant="one")``
XGBoost ``map-``                       ``MAP()``
LightGBM, XGBoost ``map@5``            ``MAP(5, divide_by="at_most_k",``
                                       ``no_relevant="one")``
XGBoost ``map@5-``                     ``MAP(5, divide_by="at_most_k")``
CatBoost ``MAP:top=5``, Kaggle MAP@5   ``MAP(5, divide_by="at_most_k")``
CatBoost ``MRR:top=5``                 ``MRR(5)``
CatBoost ``RecallAt:top=5``            ``Recall(5, no_relevant="one")``
CatBoost ``NDCG:top=5;type=Exp``       ``NDCG(5, no_relevant="one")``
CatBoost ``NDCG:top=5;type=Base``      ``NDCG(5, no_relevant="one", gain="linear")``
CatBoost ``DCG:top=5;type=Exp``        ``DCG(5)``
CatBoost ``PrecisionAt:top=5``         ``Precision(5)``, of lists of 5 or more
XGBoost ``pre@5``                      ``Precision(5)``, of lists of 5 or more
CatBoost ``ERR:top=5``                 ``ERR(5, max_grade=53)`` of ``log2(1 + y 2^53)``
CatBoost ``PFound:top=5``              the same of an ERR with other discounts
LETOR 4.0 script NDCG@5                ``NDCG(5, discount="letor", short_lists="zero")``
LETOR 4.0 script MAP                   ``MAP()``
=====================================  ==============================================
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sklearn_ltr.metrics import DCG, ERR, MAP, MRR, NDCG, Metric, Precision, Recall
from tests.oracles import metrics as oracle
from tests.strategies import ranking_without_ties

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "mq2008.npz"
SYNTHETIC = ranking_without_ties()
SIZES = np.unique(SYNTHETIC.groups, return_counts=True)[1]


def lightgbm_prints(name: str, **options) -> float:
    lightgbm = pytest.importorskip("lightgbm")
    quiet = {"verbose": -1, "feature_pre_filter": False}
    # a constant feature allows no split: the predictions stay at init_score
    data = lightgbm.Dataset(
        np.zeros((len(SYNTHETIC.y), 1)),
        SYNTHETIC.y,
        group=SIZES,
        init_score=SYNTHETIC.scores,
        params=quiet,
    )
    name, k = name.split("@")
    printed: dict = {}
    lightgbm.train(
        {"objective": "lambdarank", "metric": name, "eval_at": int(k)}
        | quiet
        | options,
        data,
        num_boost_round=1,
        valid_sets=[data],
        valid_names=["data"],
        callbacks=[lightgbm.record_evaluation(printed)],
    )
    return printed["data"][f"{name}@{k}"][0]


def xgboost_prints(name: str, y: np.ndarray = SYNTHETIC.y, **options) -> float:
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(
        np.zeros((len(y), 1)), y, group=SIZES, base_margin=SYNTHETIC.scores
    )
    objective = {"objective": "rank:ndcg", "eval_metric": name, **options}
    printed = xgboost.train(objective, data, num_boost_round=0).eval(data)
    return float(printed.rpartition(":")[2])


def catboost_prints(name: str) -> float:
    evaluate = pytest.importorskip("catboost.utils").eval_metric
    (value,) = evaluate(SYNTHETIC.y, SYNTHETIC.scores, name, group_id=SYNTHETIC.groups)
    return value


ONE = {"no_relevant": "one"}
TABLE = [
    (lightgbm_prints, "ndcg@5", NDCG(5, **ONE)),
    (lightgbm_prints, "ndcg@10", NDCG(10, **ONE)),
    (xgboost_prints, "ndcg@5", NDCG(5, **ONE)),
    (xgboost_prints, "ndcg@10", NDCG(10, **ONE)),
    (xgboost_prints, "ndcg", NDCG(**ONE)),
    (xgboost_prints, "ndcg@5-", NDCG(5)),
    (catboost_prints, "NDCG:top=5;type=Exp", NDCG(5, **ONE)),
    (catboost_prints, "NDCG:top=10;type=Exp", NDCG(10, **ONE)),
    (catboost_prints, "NDCG:type=Exp", NDCG(**ONE)),
    (catboost_prints, "NDCG:top=5;type=Base", NDCG(5, gain="linear", **ONE)),
    (catboost_prints, "DCG:top=5;type=Exp", DCG(5)),
    (lightgbm_prints, "map@5", MAP(5, divide_by="at_most_k", **ONE)),
    (lightgbm_prints, "map@2", MAP(2, divide_by="at_most_k", **ONE)),
    (catboost_prints, "MAP:top=5", MAP(5, divide_by="at_most_k")),
    (catboost_prints, "MAP:top=2", MAP(2, divide_by="at_most_k")),
    (catboost_prints, "MRR:top=5", MRR(5)),
    (catboost_prints, "RecallAt:top=5", Recall(5, **ONE)),
]


@pytest.mark.parametrize(("prints", "name", "metric"), TABLE)
def test_these_arguments_reproduce_what_boosters_print(prints, name, metric):
    ours = metric(SYNTHETIC.y, SYNTHETIC.scores, groups=SYNTHETIC.groups)
    # the same sums over queries, in another order
    assert ours == pytest.approx(prints(name), rel=1e-9)


def test_these_arguments_reproduce_xgboost_with_linear_gain():
    ours = NDCG(5, gain="linear", **ONE)(
        SYNTHETIC.y, SYNTHETIC.scores, groups=SYNTHETIC.groups
    )
    assert ours == pytest.approx(
        xgboost_prints("ndcg@5", ndcg_exp_gain=False), rel=1e-9
    )


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("map", MAP(**ONE)),
        ("map-", MAP()),
        ("map@3", MAP(3, divide_by="at_most_k", **ONE)),
        ("map@3-", MAP(3, divide_by="at_most_k")),
    ],
)
def test_these_arguments_reproduce_the_map_of_xgboost(name, metric):
    relevant = (SYNTHETIC.y > 0).astype(float)  # all that its MAP accepts
    ours = metric(SYNTHETIC.y, SYNTHETIC.scores, groups=SYNTHETIC.groups)
    assert ours == pytest.approx(xgboost_prints(name, relevant), rel=1e-9)


class PFound(ERR):
    """As on the page on metrics."""

    def discounts(self, n, k):
        return np.where(np.arange(n) < k, 0.85 ** np.arange(n), 0.0)


@pytest.mark.parametrize(
    ("name", "make"), [("ERR", ERR), ("PFound", PFound), ("PrecisionAt", Precision)]
)
@pytest.mark.parametrize("k", [None, 1, 3, 5])
def test_these_arguments_reproduce_catboost_where_grades_are_probabilities(
    name, make, k
):
    evaluate = pytest.importorskip("catboost.utils").eval_metric
    groups = np.repeat(np.arange(40), 8)
    rng = np.random.default_rng(0)
    y = rng.random(320) * (rng.random(320) < 0.6)
    y[:8] = [0, 1, 1e-9, 0.5, 0, 1, 0, 0]
    y = y.astype(np.float32).astype(float)  # as CatBoost stores them
    scores = rng.permutation(320).astype(float)
    if name == "PrecisionAt":
        y, metric, grades = (y > 0).astype(float), make(k), y
    else:
        metric, grades = make(k, max_grade=53), np.log2(1 + y * 2.0**53)
    top = "" if k is None else f":top={k}"
    (expected,) = evaluate(y, scores, name + top, group_id=groups)
    # CatBoost computes in single precision
    assert metric(grades, scores, groups=groups) == pytest.approx(expected, rel=1e-6)


def test_the_discount_of_a_class_derived_from_err_is_that_of_its_swap_deltas():
    grades = np.array([2.0, 0, 1, 1, 0, 2])
    for k in (None, 3):
        metric = PFound(k, max_grade=2)
        np.testing.assert_allclose(
            metric.swap_delta(grades), Metric.swap_delta(metric, grades), atol=1e-15
        )


@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_precision_of_xgboost_is_ours_but_in_short_lists(k):
    relevant = (SYNTHETIC.y > 0).astype(float)
    rows = {"groups": SYNTHETIC.groups}
    ours = Precision(k).per_query(relevant, SYNTHETIC.scores, **rows)
    ours *= k / np.minimum(k, SIZES)
    assert ours.mean() == pytest.approx(xgboost_prints(f"pre@{k}", relevant), rel=1e-9)


def test_these_arguments_reproduce_the_map_of_kaggle():
    """Five relevant documents on top, and three of which the first is in rank 2."""
    y = [1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 1]
    groups, scores = np.repeat([0, 1], [6, 5]), -np.arange(11.0)
    found = MAP(3, divide_by="at_most_k").per_query(y, scores, groups=groups)
    np.testing.assert_allclose(found, [1.0, (1 / 2) / 3], rtol=1e-15)


# --- LETOR 4.0 --------------------------------------------------------------------


class MeanNDCG(Metric):
    """The LETOR 4.0 script's: the mean of NDCG@1 to NDCG@n of a list of n."""

    def value(self, ranked_grades):
        at = (NDCG(k, discount="letor") for k in range(1, len(ranked_grades) + 1))
        return float(np.mean([metric.value(ranked_grades) for metric in at]))


def lists_of(y, scores, groups) -> list[list[float]]:
    """Grades of each query by decreasing score, ties in row order."""
    ranked = []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        ranked.append(y[rows[np.argsort(-scores[rows], kind="stable")]].tolist())
    return ranked


def agrees_with_the_letor_script(y, scores, groups):
    ranked = lists_of(y, scores, groups)
    for k in (1, 2, 5, 10):
        metric = NDCG(k, discount="letor", short_lists="zero", ties="stable")
        ours = metric.per_query(y, scores, groups=groups)
        expected = [oracle.letor4_ndcg(grades, k) for grades in ranked]
        np.testing.assert_allclose(ours, expected, rtol=1e-12)
    ours = MeanNDCG(ties="stable").per_query(y, scores, groups=groups)
    expected = [oracle.letor4_mean_ndcg(grades) for grades in ranked]
    np.testing.assert_allclose(ours, expected, rtol=1e-12)
    ours = MAP(ties="stable").per_query(y, scores, groups=groups)
    expected = [oracle.average_precision(grades) for grades in ranked]
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_these_arguments_reproduce_the_letor_script():
    agrees_with_the_letor_script(SYNTHETIC.y, SYNTHETIC.scores, SYNTHETIC.groups)


@pytest.fixture(scope="module")
def mq2008_fold_1():
    """Grades, features and queries of the test part of MQ2008's first fold."""
    if not REAL.exists():
        pytest.skip("MQ2008 is not available")
    with np.load(REAL) as data:
        part = data["s"] == 5
        return data["y"][part].astype(float), data["X"][part], data["qid"][part]


def test_these_arguments_reproduce_the_letor_script_on_mq2008(mq2008_fold_1):
    y, X, queries = mq2008_fold_1
    agrees_with_the_letor_script(y, X[:, 37].astype(float), queries)


@pytest.mark.parametrize(("no_relevant", "value"), [("one", 1.0), ("zero", 0.0)])
def test_published_conventions_on_mq2008_are_reproduced(
    mq2008_fold_1, no_relevant, value
):
    """NDCG@10 of the best single feature, and of a constant in its worst tie order."""
    y, X, queries = mq2008_fold_1
    for scores in (X[:, 37], np.zeros(len(y))):
        expected = []
        for query in np.unique(queries):
            grades = y[queries == query].tolist()
            order = oracle.ranked_against_the_model(scores[queries == query], grades)
            ranked = [grades[i] for i in order]
            expected.append(oracle.ndcg(ranked, 10) if any(grades) else np.nan)
        skipped = NDCG(10, no_relevant="skip")(y, scores, groups=queries)
        assert skipped == pytest.approx(np.nanmean(expected), rel=1e-12)
        found = NDCG(10, no_relevant=no_relevant)(y, scores, groups=queries)
        expected = np.nan_to_num(expected, nan=value).mean()
        assert found == pytest.approx(expected, rel=1e-12)
