"""What cannot be scores to rank by, or a parameter of a metric."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from sklearn_ltr.ensemble import best_blend
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.metrics import (
    CG,
    DCG,
    ERR,
    MAP,
    MRR,
    NDCG,
    RBP,
    BPref,
    HitRate,
    Metric,
    Precision,
    Recall,
    RPrecision,
    bpref_score,
    cg_score,
    dcg_score,
    err_score,
    get_metric,
    hit_rate_score,
    map_score,
    mrr_score,
    ndcg_score,
    precision_score,
    r_precision_score,
    rank_scores,
    rbp_score,
    recall_score,
)
from sklearn_ltr.scorers import make_ranking_scorer
from tests.bad_inputs import Case, accepted
from tests.bad_inputs.groups import GROUPS, N, X, Y, outcome
from tests.bad_inputs.targets import GOOD

Entry = tuple[Callable[[Any], Any], str]
NAN, INF = float("nan"), float("inf")
FUNCTIONS = (
    ndcg_score, dcg_score, cg_score, map_score, mrr_score, err_score, precision_score,
    recall_score, hit_rate_score, r_precision_score, bpref_score, rbp_score,
)  # fmt: skip
METRICS = (
    NDCG, DCG, CG, MAP, MRR, ERR, Precision, Recall, HitRate, RPrecision, BPref, RBP,
)  # fmt: skip
CLASSES = {metric.__name__: metric for metric in METRICS}


class Told(BaseEstimator):
    """Predicts what it is told to."""

    def __init__(self, scores: Any = None) -> None:
        self.scores = scores

    def fit(self, X: Any, y: Any = None) -> Told:
        return self

    def predict(self, X: Any) -> Any:
        return self.scores


def score_by_scorer(scores: Any) -> Any:
    return make_ranking_scorer("map")(Told(scores), X, Y, groups=GROUPS)


ONLY_ORDER: dict[str, Entry] = {
    **{
        function.__name__: (
            lambda scores, function=function: function(Y, scores, groups=GROUPS),
            "y_score",
        )
        for function in FUNCTIONS
    },
    "per_query": (
        lambda scores: NDCG(ties="average").per_query(Y, scores, groups=GROUPS),
        "y_score",
    ),
    "rank_scores": (lambda scores: rank_scores(scores, groups=GROUPS), "y_score"),
    "scorer": (score_by_scorer, "Told.predict(X)"),
}
VALUES: dict[str, Entry] = {
    "compute_lambdas": (
        lambda scores: compute_lambdas(scores, Y, groups=GROUPS),
        "scores",
    ),
    "best_blend, first": (
        lambda scores: best_blend(scores, X[:, 0], Y, groups=GROUPS),
        "scores_1",
    ),
    "best_blend, second": (
        lambda scores: best_blend(X[:, 0], scores, Y, groups=GROUPS),
        "scores_2",
    ),
}
COUNT_THEIR_ROWS = ("rank_scores", "compute_lambdas", "scorer")
NUMBERS = np.arange(N) % 7


def last(value: Any) -> Any:
    numbers: list[Any] = NUMBERS.tolist()
    return [*numbers[:-1], value]


ROW = "row 29 (query 5) has"
BAD_SCORES: dict[str, tuple[Any, str]] = {
    "None": (None, "is None: give one number per row"),
    "a dict": (dict(enumerate(NUMBERS)), "is a dict, which has no order of rows"),
    "a set": (set(range(N)), "is a set, which has no order of rows"),
    "a string": ("0" * N, "must hold one number per row, got '000"),
    "a number": (1, "must hold one number per row, got 1"),
    "two columns": (
        np.zeros((N, 2)),
        "must hold one number for each of the 30 rows, got shape (30, 2)",
    ),
    "strings": (NUMBERS.astype(str), "must be numeric, got dtype <U"),
    "None among numbers": (last(None), f"must be numeric, but {ROW} None"),
    "NA of pandas": (last(pd.NA), f"must be numeric, but {ROW} <NA>"),
    "complex numbers": (last(1j), "must be numeric, got dtype complex128"),
    "times": (np.arange(N).astype("M8[s]"), "must be numeric, got dtype datetime64"),
    "NaN": (last(NAN), f"must be finite to be ranked, but {ROW} nan"),
    "infinity": (last(INF), f"must be finite to be ranked, but {ROW} inf"),
    "minus infinity": (
        last(-INF),
        f"must be finite to be ranked, but {ROW} -inf; leave documents that were not "
        "ranked out of the rows, and give their grades to a metric by y_missing",
    ),
    "a decimal NaN": (last(Decimal("NaN")), f"must be finite to be ranked, but {ROW}"),
    "a number beyond float64": (last(10**400), "must fit in float64, but row 29"),
    "masked values": (
        np.ma.array(NUMBERS, mask=NUMBERS == 1),
        "is a masked array with masked values",
    ),
}
#: Different numbers that float64 cannot tell apart, in the order of NUMBERS
LARGE: dict[str, Any] = {
    "integers": 2**53 + NUMBERS,
    "negative integers": NUMBERS - 2**60,
    "unsigned integers": np.uint64(2**63) + NUMBERS.astype(np.uint64),
    "a list of integers": [2**53 + number for number in NUMBERS.tolist()],
    "integers beyond 64 bits": [2**80 + number for number in NUMBERS.tolist()],
    "integers of both signs": [
        2**63 + number if number else -1 for number in NUMBERS.tolist()
    ],
    "integers and a float": [
        2**53 + number if number else 0.5 for number in NUMBERS.tolist()
    ],
    "decimals": [Decimal(number) / 10**20 + 1 for number in NUMBERS.tolist()],
    "longdouble": 1 + NUMBERS * np.finfo(np.longdouble).eps,
    "a nullable series": pd.Series(2**53 + NUMBERS, dtype="Int64"),
    "a frame": pd.DataFrame({"score": 2**53 + NUMBERS}),
}

CASES = [
    Case(f"{what} to {entry}", partial(call, value), ValueError, f"{name} {message}")
    for entry, (call, name) in (ONLY_ORDER | VALUES).items()
    for what, (value, message) in BAD_SCORES.items()
]
CASES += [
    Case(
        f"a generator to {entry}",
        lambda call=call: call(number for number in NUMBERS),
        ValueError,
        f"{name} is a generator, which can be read only once: give list(",
    )
    for entry, (call, name) in (ONLY_ORDER | VALUES).items()
]
CASES += [
    Case(
        f"too few scores to {entry}",
        partial(call, NUMBERS[1:]),
        ValueError,
        "groups has 30 values for 29 rows"
        if entry in COUNT_THEIR_ROWS
        else f"{name} must hold one number for each of the 30 rows, got shape (29,)",
    )
    for entry, (call, name) in (ONLY_ORDER | VALUES).items()
]
CASES += [
    Case(
        f"large {what} to {entry}",
        partial(call, value),
        ValueError,
        f"{name} has different numbers that are equal in float64: row ",
    )
    for entry, (call, name) in VALUES.items()
    for what, value in LARGE.items()
]


def ranks_as(call: Callable[[Any], Any], values: Any, like: Any) -> bool:
    """Whether values have the outcome of others of the same order."""
    return bool(np.array_equal(outcome(call(values)), outcome(call(like))))


CASES += [
    accepted(f"large {what} to {entry}", partial(ranks_as, call, value, NUMBERS))
    for entry, (call, _) in ONLY_ORDER.items()
    for what, value in LARGE.items()
]
CASES += [
    accepted(f"{what} to {entry}", partial(ranks_as, call, like(NUMBERS), NUMBERS))
    for entry, (call, _) in (ONLY_ORDER | VALUES).items()
    for what, like in GOOD.items()
]

# --- parameters -------------------------------------------------------------------

PARAMETERS: dict[str, list[tuple[Any, type[Exception], str]]] = {
    "k": [
        (0, ValueError, "k must be an integer >= 1"),
        (-3, ValueError, "k must be an integer >= 1"),
        (2**63, ValueError, "k must be an integer >= 1 (below 2^63) or None, got 9223"),
        (2.0, TypeError, "k must be an integer >= 1 or None, got 2.0"),
        (NAN, TypeError, "k must be an integer >= 1 or None, got nan"),
        (True, TypeError, "k must be an integer >= 1 or None, got True"),
        ("3", TypeError, "k must be an integer >= 1 or None, got '3'"),
        ([1, 2], TypeError, "k must be an integer >= 1 or None, got [1, 2]"),
    ],
    "ties": [
        ("random", ValueError, "ties must be one of"),
        (None, ValueError, "ties must be one of"),
        (["stable"], ValueError, "ties must be one of"),
    ],
    "no_relevant": [
        ("nan", ValueError, "no_relevant must be one of"),
        (0, ValueError, "no_relevant must be one of"),
    ],
}
SOME: dict[tuple[str, ...], dict[str, list[tuple[Any, type[Exception], str]]]] = {
    ("NDCG", "DCG", "CG"): {
        "gain": [
            ("square", ValueError, 'gain must be "exponential", "linear"'),
            (None, ValueError, 'gain must be "exponential", "linear"'),
            (3, ValueError, 'gain must be "exponential", "linear"'),
            ({0: 1}, ValueError, "gain is a dict, which has no order"),
            ([], ValueError, "gain must hold finite values >= 0"),
            ([0, NAN], ValueError, "gain must hold finite values >= 0"),
            ([0, INF], ValueError, "gain must hold finite values >= 0"),
            ([-1, 0], ValueError, "gain must hold finite values >= 0"),
            ([0, 2, 1], ValueError, "that do not fall from one grade to the next"),
            (["0", "1"], ValueError, "gain must be numeric, got dtype <U1"),
            ([0, None], ValueError, "gain must be numeric, but grade 1 has None"),
            ([0, 10**400], ValueError, "gain must fit in float64, but grade 1 has"),
            ([[0, 1], [1, 2]], ValueError, "gain must hold one number for each of the"),
        ],
    },
    ("NDCG", "DCG"): {
        "discount": [("log", ValueError, "discount must be one of"),
                     (None, ValueError, "discount must be one of")],
    },
    ("NDCG",): {
        "short_lists": [("skip", ValueError, "short_lists must be one of")],
    },
    ("ERR",): {
        "max_grade": [
            (-1, ValueError, "max_grade must be a number in [0, 53] or None, got -1"),
            (54, ValueError, "max_grade must be a number in [0, 53] or None, got 54"),
            (NAN, ValueError, "max_grade must be a number in [0, 53] or None, got nan"),
            ("4", TypeError, "max_grade must be a number in [0, 53] or None, got '4'"),
            (True, TypeError, "max_grade must be a number in [0, 53] or None"),
            (10**400, ValueError, "max_grade must be a number in [0, 53] or None"),
        ],
    },
    ("RBP",): {
        "persistence": [
            (0, ValueError, "persistence must be a number in (0, 1), got 0"),
            (1.0, ValueError, "persistence must be a number in (0, 1), got 1.0"),
            (NAN, ValueError, "persistence must be a number in (0, 1), got nan"),
            (None, TypeError, "persistence must be a number in (0, 1), got None"),
            ("0.5", TypeError, "persistence must be a number in (0, 1), got '0.5'"),
        ],
    },
    ("MAP", "MRR", "Precision", "Recall", "HitRate", "RPrecision", "BPref", "RBP"): {
        "relevant_from": [
            (0, ValueError, "relevant_from must be a number > 0 or None, got 0"),
            (-1, ValueError, "relevant_from must be a number > 0 or None, got -1"),
            (NAN, ValueError, "relevant_from must be a number > 0 or None, got nan"),
            (INF, ValueError, "relevant_from must be a number > 0 or None, got inf"),
            ("1", TypeError, "relevant_from must be a number > 0 or None, got '1'"),
            (True, TypeError, "relevant_from must be a number > 0 or None, got True"),
            (10**400, ValueError, "relevant_from must be a number > 0 or None, got 1"),
        ],
    },
}  # fmt: skip


def parameter_cases(
    classes: Any, table: dict[str, list[tuple[Any, type[Exception], str]]]
) -> list[Case]:
    return [
        Case(
            f"{parameter} number {number} of {name}",
            partial(CLASSES[name], **{parameter: value}),
            error,
            message,
        )
        for name in classes
        for parameter, rows in table.items()
        for number, (value, error, message) in enumerate(rows)
    ]


CASES += parameter_cases(CLASSES, PARAMETERS)
for classes, table in SOME.items():
    CASES += parameter_cases(classes, table)

NAMES: dict[str, tuple[Any, type[Exception], str]] = {
    "an unknown name": ("ncdg", ValueError, "unknown metric 'ncdg'. Did you mean"),
    "a name in capitals": ("NDCG@3", ValueError, "Did you mean 'ndcg@3'?"),
    "no name": ("", ValueError, "unknown metric ''"),
    "no cutoff": ("ndcg@", ValueError, "must be an integer >= 1"),
    "a cutoff of 0": ("ndcg@0", ValueError, "must be an integer >= 1"),
    "a negative cutoff": ("ndcg@-1", ValueError, "must be an integer >= 1"),
    "a cutoff that is no integer": ("map@1.5", ValueError, "must be an integer >= 1"),
    "two cutoffs": ("map@1@2", ValueError, "must be an integer >= 1"),
    "a cutoff of 5,000 digits": (
        "map@" + "9" * 5000,
        ValueError,
        "k, the part after '@', must be an integer >= 1",
    ),
    "a class": (NDCG, TypeError, "metric must be a name such as 'ndcg@10'"),
    "a function": (ndcg_score, TypeError, "metric must be a name such as 'ndcg@10'"),
    "None": (None, TypeError, "metric must be a name such as 'ndcg@10'"),
    "a number": (10, TypeError, "metric must be a name such as 'ndcg@10'"),
}
CASES += [
    Case(f"{what} to get_metric", partial(get_metric, value), error, message)
    for what, (value, error, message) in NAMES.items()
]

# --- grades that a metric cannot take ---------------------------------------------


def gains_as(gain: Callable[[Any], Any]) -> Any:
    return NDCG(gain=gain)(Y, NUMBERS, groups=GROUPS)


GAINS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "one number": (lambda grades: 1.0, "gain must return one value per grade"),
    "too few": (lambda grades: grades[1:], "gain must return one value per grade"),
    "nothing": (lambda grades: None, "gain must return numbers, got dtype object"),
    "strings": (lambda grades: grades.astype(str), "gain must return numbers, got"),
    "complex numbers": (lambda grades: grades * 1j, "gain must return numbers, got"),
    "negative numbers": (lambda grades: grades - 9, "must be >= 0 and have a finite"),
    "NaN": (lambda grades: grades * NAN, "must be >= 0 and have a finite"),
}
CASES += [
    Case(f"a gain that returns {what}", partial(gains_as, gain), ValueError, message)
    for what, (gain, message) in GAINS.items()
]
CASES += [
    Case(
        "grades beyond a table of gains",
        partial(NDCG(gain=[0, 1]), [0, 2], [1, 0], groups=["a", "a"]),
        ValueError,
        "gain is a table of 2 values for the grades 0 to 1, but query 'a' has grade 2",
    ),
    Case(
        "grades between those of a table",
        partial(NDCG(gain=[0, 1]), [0, 0.5], [1, 0], groups=["a", "a"]),
        ValueError,
        "but query 'a' has grade 0.5",
    ),
    Case(
        "grades whose gain overflows",
        partial(NDCG(), [0, 1024], [1, 0], groups=["a", "a"]),
        ValueError,
        "have a finite float64 sum over any list, but it is inf where query 'a'",
    ),
    Case(
        "grades beyond max_grade",
        partial(ERR(max_grade=2), [0, 3], [1, 0], groups=["a", "a"]),
        ValueError,
        "ERR takes grades up to max_grade=2, but query 'a' has grade 3",
    ),
    Case(
        "nothing relevant",
        partial(MAP(no_relevant="error"), [1, 0], [1, 0], groups=["a", "b"]),
        ValueError,
        "query 'b' has no relevant document, an error for map",
    ),
    Case(
        "nothing to average",
        partial(MAP(no_relevant="skip"), [0, 0], [1, 0], groups=["a", "b"]),
        ValueError,
        'map has no query to average: no_relevant="skip" left out all',
    ),
]

# --- documents missing from the lists -----------------------------------------------


def with_missing(metric: Metric, **missing: Any) -> Any:
    return metric([1, 0], [2, 1], groups=["a", "a"], **missing)


CASES += [
    Case(
        "documents missing from the lists of a metric of the user",
        lambda: with_missing(Returns(), y_missing=[1], groups_missing=["a"]),
        ValueError,
        "y_missing cannot be given to Returns: its value is that of a ranked list",
    ),
    Case(
        "groups_missing without y_missing",
        partial(with_missing, MAP(), groups_missing=["a"]),
        ValueError,
        "y_missing is None: give each missing document a grade",
    ),
    Case(
        "groups_missing with an empty y_missing",
        partial(with_missing, MAP(), y_missing=[], groups_missing=["a"]),
        ValueError,
        "groups_missing has 1 values, but y_missing has none",
    ),
    Case(
        "groups_missing of another type than groups",
        partial(with_missing, MAP(), y_missing=[1], groups_missing=[7]),
        ValueError,
        "groups_missing has queries such as 7, but groups such as 'a'",
    ),
    Case(
        "weights of queries without a row",
        partial(
            with_missing, MAP(), y_missing=[1], groups_missing=["b"],
            sample_weight=[1, 1],
        ),
        ValueError,
        "sample_weight is given per row, but query 'b' has no row",
    ),
    Case(
        "a missing grade whose gain overflows",
        partial(with_missing, NDCG(), y_missing=[2000], groups_missing=["a"]),
        ValueError,
        "float64 sum over any list, but it is inf where query 'a' has grade 2000",
    ),
    accepted(
        "no missing documents",
        lambda: with_missing(MAP(), y_missing=[], groups_missing=[]) == 1.0,
    ),
    accepted(
        "missing documents in frames",
        lambda: with_missing(
            MAP(),
            y_missing=pd.Series([1], index=[9]),
            groups_missing=pd.DataFrame({"q": ["a"]}),
        )
        == 0.5,
    ),
]  # fmt: skip

# --- metrics of the user, and arrays in canonical order ---------------------------


class Returns(Metric):
    """A metric of the user."""

    answer: Any = None

    def value(self, ranked_grades: Any) -> Any:
        return self.answer


def metric_that_returns(value: Any) -> Metric:
    return type("Returns", (Returns,), {"answer": value})()


JUNK: dict[str, Any] = {
    "nothing": None,
    "NaN": NAN,
    "infinity": INF,
    "a string": "1",
    "an array": np.ones(2),
    "a complex number": 1j,
}
CASES += [
    Case(
        f"a metric that returns {what} to {entry}",
        partial(call, metric_that_returns(value)),
        ValueError,
        "Returns.value must return a finite number, got",
    )
    for what, value in JUNK.items()
    for entry, call in {
        "a call": lambda metric: metric(Y, NUMBERS, groups=GROUPS),
        "per_query": lambda metric: metric.per_query(Y, NUMBERS, groups=GROUPS),
        "best_blend": lambda metric: best_blend(
            NUMBERS, X[:, 0], Y, groups=GROUPS, metric=metric
        ),
    }.items()
]

RANKED = np.array([2.0, 0.0, 1.0])
OFFSETS = np.array([0, 3])
UNBINDABLE: dict[str, tuple[Any, Any, str]] = {
    "offsets beyond the grades": (RANKED, np.array([0, 9]), "offsets must be a 1-D"),
    "negative offsets": (RANKED, np.array([0, -5, 3]), "offsets must be a 1-D int64"),
    "offsets that do not begin at 0": (RANKED, np.array([1, 3]), "offsets must be"),
    "offsets that end early": (RANKED, np.array([0, 2]), "from 0 to 3, the number of"),
    "an empty query": (RANKED, np.array([0, 1, 1, 3]), "offsets must be a 1-D int64"),
    "no query": (RANKED, np.array([0]), "offsets must be a 1-D int64 array that rises"),
    "offsets of another type": (RANKED, np.array([0.0, 3.0]), "offsets must be a 1-D"),
    "a list of offsets": (RANKED, [0, 3], "offsets must be a 1-D int64 array"),
    "a table of offsets": (RANKED, OFFSETS[None], "offsets must be a 1-D int64 array"),
    "a list of grades": ([2.0, 0, 1], OFFSETS, "grades must be a 1-D float64 array"),
    "integers as grades": (np.array([2, 0, 1]), OFFSETS, "grades must be a 1-D float"),
    "a table of grades": (RANKED[None], OFFSETS, "grades must be a 1-D float64 array"),
    "NaN as grade": (np.array([2, NAN, 1]), OFFSETS, "of finite numbers >= 0"),
    "a negative grade": (np.array([2, -1.0, 1]), OFFSETS, "of finite numbers >= 0"),
}
OBJECTS = [NDCG(3), MAP(), ERR(2), metric_that_returns(1.0)]
CASES += [
    Case(f"{what} to bind of {metric!r}", partial(metric.bind, grades, offsets),
         ValueError, message)
    for metric in OBJECTS
    for what, (grades, offsets, message) in UNBINDABLE.items()
]  # fmt: skip
UNSCORABLE: dict[str, Any] = {
    "too few scores": np.zeros(2),
    "too many scores": np.zeros(4),
    "a table of scores": np.zeros((3, 1)),
    "integers as scores": np.array([1, 2, 3]),
    "float32 scores": np.zeros(3, dtype=np.float32),
    "a list of scores": [1.0, 2.0, 3.0],
    "no scores": None,
}
CASES += [
    Case(
        f"{what} to {method} of a bound {metric!r}",
        partial(getattr(metric.bind(RANKED, OFFSETS), method), scores),
        ValueError,
        "scores must be a float64 array of shape (3,), got",
    )
    for metric in OBJECTS
    for method in ("values", "mean")
    for what, scores in UNSCORABLE.items()
]
CASES += [
    Case(
        f"too many weights to a bound {metric!r}",
        partial(metric.bind(RANKED, OFFSETS).mean, np.zeros(3), np.ones(2)),
        ValueError,
        "weights must be a float64 array of shape (1,), got",
    )
    for metric in OBJECTS
]
CASES += [
    Case(f"{what} to swap_delta of {metric!r}", partial(metric.swap_delta, grades),
         ValueError, message)
    for metric in OBJECTS
    for what, (grades, message) in {
        "nothing": (None, "ranked_grades is None"),
        "an empty list": ([], "there are no rows to rank"),
        "a number": (3, "ranked_grades must hold one number per row, got 3"),
        "strings": (["1", "0"], "ranked_grades must be numeric"),
        "NaN": ([1, NAN], "ranked_grades must hold finite relevance grades >= 0"),
        "a negative grade": ([1, -1], "ranked_grades must hold finite relevance"),
        "a table": (np.ones((2, 2)), "ranked_grades must hold one number for each"),
    }.items()
]  # fmt: skip
