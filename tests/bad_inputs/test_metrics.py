"""What cannot be a metric, a parameter of one, or what a metric of the user returns."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from sklearn_ltr import metrics
from sklearn_ltr.ensemble import best_blend
from sklearn_ltr.metrics import ERR, MAP, NDCG, Metric, get_metric, ndcg_score
from tests.bad_inputs import (
    GROUPS,
    HUGE,
    INF,
    NAN,
    Bad,
    N,
    X,
    Y,
    refused,
)

CLASSES = [
    cls
    for cls in map(metrics.__dict__.get, metrics.__all__)
    if inspect.isclass(cls) and issubclass(cls, Metric) and cls is not Metric
]
NUMBERS = np.arange(N) % 7


def bad(error: type[Exception], message: str, *values: Any) -> list[Bad]:
    return [(value, error, message) for value in values]


TABLE = "gain must hold finite values >= 0"
#: Of every metric that has the parameter
PARAMETERS: dict[str, list[Bad]] = {
    "k": bad(ValueError, "k must be an integer >= 1", 0, -3, 2**63)
    + bad(TypeError, "k must be an integer >= 1 or None, got ",
          2.0, NAN, True, "3", [1, 2]),
    "ties": bad(ValueError, "ties must be one of", "random", None, ["stable"]),
    "no_relevant": bad(ValueError, "no_relevant must be one of", "nan", 0),
    "gain": bad(ValueError, 'gain must be "exponential", "linear"', "square", None, 3)
    + bad(ValueError, TABLE, [], [0, NAN], [0, INF], [-1, 0])
    + bad(ValueError, "gain is a dict, which has no order", {0: 1})
    + bad(ValueError, "that do not fall from one grade to the next", [0, 2, 1])
    + bad(ValueError, "gain must be numeric, got dtype <U1", ["0", "1"])
    + bad(ValueError, "gain must be numeric, but grade 1 has None", [0, None])
    + bad(ValueError, "gain must fit in float64, but grade 1 has", [0, HUGE])
    + bad(ValueError, "gain must hold one number for each of the", [[0, 1], [1, 2]]),
    "discount": bad(ValueError, "discount must be one of", "log", None),
    "short_lists": bad(ValueError, "short_lists must be one of", "skip"),
    "divide_by": bad(ValueError, "divide_by must be one of", "k", None),
    "max_grade": bad(ValueError, "max_grade must be a number in [0, 53] or None",
                     -1, 54, NAN, HUGE)
    + bad(TypeError, "max_grade must be a number in [0, 53]", "4", True),
    "persistence": bad(ValueError, "persistence must be a number in (0, 1), got ",
                       0, 1.0, NAN)
    + bad(TypeError, "persistence must be a number in (0, 1), got ", None, "0.5"),
    "relevant_from": bad(ValueError, "relevant_from must be a number > 0 or None",
                         0, -1, NAN, INF, HUGE)
    + bad(TypeError, "relevant_from must be a number > 0 or None", "1", True),
}  # fmt: skip


@pytest.mark.parametrize("cls", CLASSES)
def test_every_parameter_of_every_metric_is_read(cls):
    for name in inspect.signature(cls).parameters:
        for value, error, message in PARAMETERS[name]:
            refused(lambda n=name, v=value: cls(**{n: v}), error, message)


NO_METRIC = "metric must be a name such as 'ndcg@10'"
NO_CUTOFF = "must be an integer >= 1"
NAMES: list[Bad] = [
    ("ncdg", ValueError, "unknown metric 'ncdg'. Did you mean"),
    ("iprec@3", ValueError, "unknown metric 'iprec@3'. The names are"),
    *((theirs, ValueError, f"unknown metric {theirs!r}. Did you mean {ours!r}? (If ")
      for ours, names in {
          "ndcg": "nDCG NDCG:type=Exp ndcg- lambdarank rank:ndcg ndcg_score NDCGMetric",
          "ndcg@3": "NDCG@3 ndcg@3- NDCG:top=3;type=Exp NDCG:type=Base;top=3 ndcg_3 "
          "ndcg_cut_3 ndcg_cut.3 nDCG@3 metric/ndcg_3 ndcg_at_3 ndcg@3,5 ndcg3",
          "map": "AP map- AP(rel=2) rank:map mean_average_precision",
          "map@5": "MAP:top=5 AP@5 map_cut_5 map@5- MeanAveragePrecision@5",
          "mrr": "RR recip_rank mean-reciprocal-rank",
          "mrr@10": "MRR:top=10 RR@10 mrr_10",
          "precision@5": "pre@5 pre@5- P@5 P_5 P.5,10 P(rel=2)@5 PrecisionAt:top=5",
          "recall@100": "R@100 RecallAt:top=100 recall_at_100 recall_100",
          "hit_rate@1": "success_1 Success@1 hits@1 HitRate@1 hit_ratio@1",
          "r_precision": "Rprec R-precision RPrecision",
          "err@5": "ERR@5 ERR:top=5 PFound:top=5",
      }.items() for theirs in names.split()),
    ("", ValueError, "unknown metric ''"),
    *((name, ValueError, NO_CUTOFF)
      for name in ("ndcg@", "ndcg@0", "ndcg@-1", "map@1.5", "map@1@2")),
    ("map@" + "9" * 5000, ValueError, "k, the part after '@', must be"),
    *((value, TypeError, NO_METRIC) for value in (NDCG, ndcg_score, None, 10)),
]  # fmt: skip


@pytest.mark.parametrize(("value", "error", "message"), NAMES)
def test_what_is_no_metric_is_refused(value, error, message):
    refused(lambda: get_metric(value), error, message)


# --- grades that a metric cannot take ---------------------------------------------


@pytest.mark.parametrize(
    ("gain", "message"),
    [
        (lambda grades: 1.0, "gain must return one value per grade"),
        (lambda grades: None, "gain must return numbers, got dtype object"),
        (lambda grades: grades * 1j, "gain must return numbers, got"),
        (lambda grades: grades * NAN, "must be >= 0 and have a finite"),
        (lambda grades: grades - 9, "must be >= 0 and have a finite"),
    ],
)
def test_what_a_function_of_gains_returns_is_read(gain, message):
    refused(lambda: NDCG(gain=gain)(Y, NUMBERS, groups=GROUPS), ValueError, message)


@pytest.mark.parametrize(
    ("metric", "grades", "groups", "message"),
    [
        (NDCG(gain=[0, 1]), [0, 2], "aa",
         "gain is a table of 2 values for the grades 0 to 1, but query 'a' has gr"),
        (NDCG(gain=[0, 1]), [0, 0.5], "aa", "but query 'a' has grade 0.5"),
        (NDCG(), [0, 1024], "aa",
         "have a finite float64 sum over any list, but it is inf where query 'a' has "
         'grade 1024.0: give a metric of gain="linear", such as'),
        (NDCG(gain="linear"), [0, 1.5e308], "aa", "divide the grades, or give their"),
        (ERR(max_grade=2), [0, 3], "aa",
         "ERR takes grades up to max_grade=2, but query 'a' has grade 3.0: merge"),
        (MAP(no_relevant="error"), [1, 0], "ab",
         "query 'b' has no relevant document, an error for map"),
        (MAP(no_relevant="skip"), [0, 0], "ab",
         'map has no query to average: no_relevant="skip" leaves out all'),
    ],
)  # fmt: skip
def test_grades_that_a_metric_cannot_take_are_refused(metric, grades, groups, message):
    refused(lambda: metric(grades, [1, 0], groups=list(groups)), ValueError, message)


# --- documents missing from the lists ---------------------------------------------


class Returns(Metric):
    """A metric of the user."""

    answer: Any = None

    def value(self, ranked_grades: Any) -> Any:
        return self.answer


def with_missing(metric: Metric, **missing: Any) -> Any:
    return metric([1, 0], [2, 1], groups=["a", "a"], **missing)


@pytest.mark.parametrize(
    ("metric", "y_missing", "groups_missing", "more", "message"),
    [
        (Returns(), [1], ["a"], {},
         "y_missing was given, but Returns cannot count what is missing from a list"),
        (MAP(), None, ["a"], {}, "y_missing is None: give each missing document a gr"),
        (MAP(), [], ["a"], {}, "groups_missing has 1 values, but y_missing has none"),
        (MAP(), [1], [7], {},
         "groups_missing has queries such as 7, but groups such as 'a'"),
        (MAP(), [1], ["b"], {"sample_weight": [1, 1]},
         "sample_weight is given per row, but query 'b' has no row"),
        (NDCG(), [2000], ["a"], {},
         "float64 sum over any list, but it is inf where query 'a' has grade 2000"),
    ],
)  # fmt: skip
def test_missing_documents_that_cannot_be_judged_are_refused(
    metric, y_missing, groups_missing, more, message
):
    given = {"y_missing": y_missing, "groups_missing": groups_missing, **more}
    refused(lambda: with_missing(metric, **given), ValueError, message)


def test_missing_documents_may_be_none_and_come_in_frames():
    assert with_missing(MAP(), y_missing=[], groups_missing=[]) == 1.0
    frame = pd.DataFrame({"q": ["a"]})
    series = pd.Series([1], index=[9])
    assert with_missing(MAP(), y_missing=series, groups_missing=frame) == 0.5


# --- metrics of the user, and arrays in canonical order ---------------------------


def metric_that_returns(value: Any) -> Metric:
    return type("Returns", (Returns,), {"answer": value})()


@pytest.mark.parametrize("value", [None, NAN, INF, "1", np.ones(2), 1j])
def test_a_metric_of_the_user_must_return_a_number(value):
    metric = metric_that_returns(value)
    message = "Returns.value must return a finite number, got"
    for call in (metric, metric.per_query):
        refused(lambda c=call: c(Y, NUMBERS, groups=GROUPS), ValueError, message)
    blend = lambda: best_blend(NUMBERS, X[:, 0], Y, groups=GROUPS, metric=metric)  # noqa: E731
    refused(blend, ValueError, message)


RANKED, OFFSETS = np.array([2.0, 0.0, 1.0]), np.array([0, 3])
OBJECTS = [NDCG(3), MAP(), ERR(2), metric_that_returns(1.0)]
STARTS, GRADES = "offsets must be a 1-D", "grades must be a 1-D float64 array"
UNBINDABLE: list[tuple[Any, Any, str]] = [
    *((RANKED, np.array(offsets), STARTS)
      for offsets in ([0, 9], [0, -5, 3], [1, 3], [0, 2], [0, 1, 1, 3], [0], [0.0, 3.0],
                      [[0, 3]])),
    (RANKED, [0, 3], "offsets must be a 1-D int64 array"),
    *((grades, OFFSETS, GRADES)
      for grades in ([2.0, 0, 1], np.array([2, 0, 1]), RANKED[None])),
    *((np.array(grades), OFFSETS, "of finite numbers >= 0")
      for grades in ([2, NAN, 1], [2, -1.0, 1])),
]  # fmt: skip
UNSCORABLE = [np.zeros(2), np.zeros(4), np.zeros((3, 1)), np.array([1, 2, 3]),
              np.zeros(3, dtype=np.float32), [1.0, 2.0, 3.0], None]  # fmt: skip
UNRANKED: list[tuple[Any, str]] = [
    (None, "ranked_grades is None"),
    ([], "give at least one row to rank"),
    (["1", "0"], "ranked_grades must be numeric"),
    ([1, NAN], "ranked_grades must hold finite relevance grades >= 0"),
    (np.ones((2, 2)), "ranked_grades must hold one number for each"),
]


@pytest.mark.parametrize("metric", OBJECTS)
def test_arrays_that_no_metric_can_take_are_refused(metric):
    for grades, offsets, message in UNBINDABLE:
        call = lambda g=grades, o=offsets: metric.bind(g, o)  # noqa: E731
        refused(call, ValueError, message)
    bound = metric.bind(RANKED, OFFSETS)
    message = "scores must be a float64 array of shape (3,), got"
    for scores in UNSCORABLE:
        refused(lambda s=scores: bound.values(s), ValueError, message)
        refused(lambda s=scores: bound.mean(s), ValueError, message)
    message = "weights must be a float64 array of shape (1,), got"
    refused(lambda: bound.mean(np.zeros(3), np.ones(2)), ValueError, message)
    for grades, message in UNRANKED:
        refused(lambda g=grades: metric.swap_delta(g), ValueError, message)


# --- calls as other libraries have them -----------------------------------------------

SCORES = [getattr(metrics, n) for n in metrics.__all__ if n.endswith("_score")]
TABLES = [
    ([[3, 2, 1]], [[0.3, 0.2, 0.1]]),
    (np.array([[3, 2, 1], [0, 1, 2]]), np.ones((2, 3))),
    (np.array([[3, 2, 1], [0, 1, 2]]).tolist(), np.ones((2, 3))),
]


@pytest.mark.parametrize("score", [*SCORES, metrics.NDCG(), metrics.MAP().per_query])
@pytest.mark.parametrize(("y_true", "y_score"), TABLES)
def test_lists_of_scikit_learn_are_told_how_to_become_rows(score, y_true, y_score):
    for groups in ({}, {"groups": np.arange(len(y_true))}):
        with pytest.raises(
            ValueError, match="give np.ravel.*groups=np.repeat"
        ) as error:
            score(y_true, y_score, **groups)
    code = re.search(r"np\.repeat\(.*\)", str(error.value))[0]
    sizes = {"n_queries": len(y_true), "n_documents": 3, "np": np}
    rows = np.ravel(y_true), np.ravel(y_score)
    assert np.isfinite(score(*rows, groups=eval(code, sizes))).all()


@pytest.mark.parametrize("score", [*SCORES, metrics.NDCG(), metrics.MAP().per_query])
def test_calls_of_metrics_say_what_they_take(score):
    y_true, y_score = [3, 2, 1], [0.3, 0.2, 0.1]
    with pytest.raises(TypeError, match=r"\(\) needs groups, the query of each row"):
        score(y_true, y_score)
    with pytest.raises(TypeError, match="'group': give groups, one value per row\nIt"):
        score(y_true, y_score, group=[3])
    with pytest.raises(TypeError, match=r"no argument 'colour'\nIt takes y_true, y_sc"):
        score(y_true, y_score, groups=[0, 0, 0], colour=1)
    with pytest.raises(TypeError, match="as `scoring` of .* make_ranking_scorer"):
        score(None, y_true, y_score, [0, 0, 0])
    with pytest.warns(DataConversionWarning):  # a column has one value for each row
        score(np.array(y_true)[:, None], y_score, groups=[0, 0, 0])


@pytest.mark.parametrize(
    ("theirs", "ours"),
    {
        "mean_average_precision": "map_score",
        "average_precision_score": "map_score",
        "mapk": "map_score",
        "reciprocal_rank": "mrr_score",
        "ndcg_at_k": "ndcg_score",
        "precision_at_k": "precision_score",
        "hit_rate": "hit_rate_score",
        "expected_reciprocal_rank": "err_score",
    }.items(),
)
def test_names_of_other_libraries_are_told_what_to_import(theirs, ours):
    with pytest.raises(AttributeError, match=f"has no {theirs}: import {ours}, "):
        getattr(metrics, theirs)
    with pytest.raises(ImportError):  # by Python, in its own words
        exec(f"from sklearn_ltr.metrics import {theirs}")
    assert ours in metrics.__all__
    assert not hasattr(metrics, theirs)
    assert not hasattr(metrics, "nothing_of_the_kind")
    assert not hasattr(metrics, "__wrapped__")
