"""What cannot be one number per row: grades, targets, weights, scores, positions.

One reader makes a column of numbers, and is given all that is none; each argument has
rules of its own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import Ridge

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.ensemble import BaggingRanker, best_blend
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import NDCG, ndcg_score, rank_scores
from tests.bad_inputs import (
    GROUPS,
    HUGE,
    INF,
    NAN,
    RANKERS,
    SMALL,
    N,
    X,
    Y,
    each,
    fit,
    last,
    refused,
)

NUMBERS = GROUPS % 3  # constant within queries, so that they may be anything
LABELS = Y > 1
Entry = tuple[Callable[[Any], Any], str]
Table = dict[str, tuple[Any, str]]
#: A caller of the reader for each kind of column, and the name of the argument
ENTRIES: dict[str, Entry] = {
    "grades": (lambda y: fit(LambdaMARTRanker, {"y": y}), "y"),
    "grades of a metric": (lambda y: ndcg_score(y, X[:, 0], groups=GROUPS), "y_true"),
    "weights": (
        lambda w: fit(LambdaMARTRanker, {"sample_weight": w}), "sample_weight",
    ),
    "initial scores": (
        lambda s: fit(LambdaMARTRanker, {"init_score": s}).predict(X, init_score=s),
        "init_score",
    ),
    "scores": (lambda s: rank_scores(s, groups=GROUPS), "y_score"),
    "scores of lambdas": (lambda s: compute_lambdas(s, Y, groups=GROUPS), "scores"),
    "targets": (lambda y: fit(MARTRegressor, {"y": y}), "y"),
    "weights of rows": (
        lambda w: fit(MARTRegressor, {"sample_weight": w}), "sample_weight",
    ),
}  # fmt: skip
#: What their number of rows is compared with
COUNTED = ("grades of a metric", "scores", "scores of lambdas")
DAYS = np.datetime64("2020-01-01") + NUMBERS
NO_NUMBERS: Table = {
    "a dict": (dict(enumerate(NUMBERS)), "is a dict, which has no order of rows"),
    "a set": (set(range(N)), "is a set, which has no order of rows"),
    "a string": ("0" * N, "must hold one number per row, got '000"),
    "a number": (1, "must hold one number per row, got 1"),
    "a generator": (iter(NUMBERS), "is a iterator, which can be read only once"),
    "strings": (NUMBERS.astype(str), "must be numeric, got dtype <U"),
    "a string among numbers": (last("1"), "must be numeric, got dtype <U"),
    "strings of pandas": (pd.Series(NUMBERS.astype(str)), "must be numeric, but row 0"),
    "bytes": (NUMBERS.astype(bytes), "must be numeric"),
    "None": (last(None), "must be numeric, but row 29"),
    "NA of pandas": (last(pd.NA), "must be numeric, but row 29"),
    "an object": (last(object()), "must be numeric, but row 29"),
    "complex numbers": (last(1j), "must be numeric"),
    "dates": (DAYS, "must be numeric, got dtype"),
    "time spans": (NUMBERS.astype("timedelta64[h]"), "must be numeric"),
    "a list of dates": (list(DAYS), "must be numeric"),
    "one date": (last(dt.date(2020, 1, 1)), "must be numeric"),
    "a time span": (last(dt.timedelta(1)), "must be numeric"),
    "zoned dates": (pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("UTC"), "must be"),
    "a number beyond float64": (last(HUGE), "must fit in float64, but row 29"),
    "a signalling NaN": (last(Decimal("sNaN")), "must be numeric, but row 29"),
    "lists of several lengths": ([[1], [1, 2]] * (N // 2), "must be numeric"),
    "masked values": (
        np.ma.array(NUMBERS, mask=NUMBERS == 1), "is a masked array with masked values",
    ),
}  # fmt: skip
SHAPES: Table = {
    "two columns": (np.zeros((N, 2)), "(30, 2)"),
    "a frame of two columns": (
        pd.DataFrame({"a": NUMBERS, "b": NUMBERS}), "(30, 2)",
    ),
    "a row": (NUMBERS[None, :], "(1, 30)"),
    "a sparse column": (sparse.csr_array(NUMBERS[:, None]), "()"),
}  # fmt: skip


@pytest.mark.parametrize(("value", "message"), each(NO_NUMBERS))
@pytest.mark.parametrize("entry", ENTRIES)
def test_what_is_no_column_of_numbers_is_refused(entry, value, message):
    call, name = ENTRIES[entry]
    if entry == "targets" and message == "must be numeric":  # says scikit-learn
        refused(lambda: call(value), ValueError, name)
        return
    if message.startswith("is a iterator"):
        value, message = (number for number in NUMBERS), "is a generator, which can be"
    refused(lambda: call(value), ValueError, f"{name} {message}")


@pytest.mark.parametrize("entry", ENTRIES)
def test_columns_of_other_lengths_and_shapes_are_refused(entry):
    call, name = ENTRIES[entry]
    one_each = f"{name} must hold one number for each of the 30 rows, got shape"
    counted = "groups has 30 values for 29 rows"
    others = {entry: counted for entry in COUNTED}
    others["targets"] = "y has 29 values for 30 rows of X"
    for value, shape in SHAPES.values() if entry not in others else ():
        refused(lambda v=value: call(v), ValueError, f"{one_each} {shape}")
    message = others.get(entry, f"{one_each} (29,)")
    refused(lambda: call(NUMBERS[1:]), ValueError, message)


ROW = "row 29 (query 5) has"
GRADES = "must hold finite relevance grades >= 0, but"
MERGED = [2**53 + row % 2 for row in range(N)]
MERGES = "has different numbers that are equal in float64"
TO_RANK = "must be finite to be ranked, but"
#: What is wrong with numbers: entry, value, message
RULES: dict[str, list[tuple[Any, str]]] = {
    "grades": [
        (last(NAN), f"{GRADES} {ROW} nan"),
        (last(INF), f"{GRADES} {ROW} inf"),
        (last(-1), f"{GRADES} {ROW} -1.0"),
        (pd.Series(last(None), dtype="float64"), f"{GRADES} {ROW} nan"),
        (pl.Series(last(None)), f"{GRADES} {ROW} nan"),
        (pa.array(last(None)), f"{GRADES} {ROW} nan"),
        (MERGED, MERGES),
        (None, "is None: a ranker requires y to be passed"),
    ],
    "weights": [
        (last(NAN), f"must be finite and >= 0, but {ROW} nan"),
        (last(INF), f"must be finite and >= 0, but {ROW} inf"),
        (last(-1), f"must be finite and >= 0, but {ROW} -1.0"),
        (np.arange(1.0, N + 1), "weighs whole queries, so it must be constant within"),
        (np.zeros(N), "is zero for every query: nothing would count"),
        *((np.where(GROUPS == 0, size, 0.5), f"has a largest value of {size:.3g}, out")
          for size in (1e51, 1e150, 1e308)),
    ],
    "initial scores": [
        (last(NAN), "must be finite, but is nan at row 29"),
        (last(INF), "must be finite, but is inf at row 29"),
        (MERGED, MERGES),
    ],
    "scores": [
        (None, "is None: give one number per row"),
        (last(NAN), f"{TO_RANK} {ROW} nan"),
        (last(INF), f"{TO_RANK} {ROW} inf"),
        (last(Decimal("NaN")), f"{TO_RANK} {ROW}"),
        (last(-INF), f"{TO_RANK} {ROW} -inf; leave documents that were not ranked out "
         "of the rows, and give their grades to a metric by y_missing"),
    ],
    "targets": [
        (last(NAN), "must be finite"),
        (last(-INF), "must be finite"),
        (NUMBERS[:0], "has 0 values for 30 rows of X"),
        (np.append(NUMBERS, 1), "has 31 values for 30 rows of X"),
        (np.c_[NUMBERS, NUMBERS], "y should be a 1d array"),
        (None, "is None: MARTRegressor requires y to be passed"),
        *((Y * size, "must be finite, and at most 1e+90 in size, but row")
          for size in (1e91, 1e300)),
        *((Y * size, "holds no number larger than") for size in (1e-100, 1e-320)),
    ],
    "weights of rows": [
        (last(NAN), "must be finite"),
        (last(-1.0), "must be finite and >= 0, but row 29 has -1.0"),
        (np.zeros(N), "is zero for every row: nothing would count"),
        (np.where(GROUPS == 0, 1e51, 0.5), "has a largest value of 1e+51, out of ["),
    ],
}  # fmt: skip
RULES["grades of a metric"] = RULES["grades"][:-1]
RULES["scores of lambdas"] = RULES["scores"]


@pytest.mark.parametrize(
    ("entry", "value", "message"), [(e, *row) for e in RULES for row in RULES[e]]
)
def test_numbers_that_an_argument_must_not_hold_are_refused(entry, value, message):
    call, name = ENTRIES[entry]
    with pytest.raises(ValueError) as raised:
        call(value)
    assert raised.type is ValueError and str(raised.value).startswith(name)
    assert message in str(raised.value)


@pytest.mark.parametrize("estimator", [e for e in SMALL if e in RANKERS])
def test_every_ranker_refuses_weights_out_of_range(estimator):
    weights = np.where(GROUPS == 0, 1e51, 0.5)
    message = "sample_weight has a largest value of 1e+51, out of ["
    refused(lambda: fit(estimator, {"sample_weight": weights}), ValueError, message)


@pytest.mark.parametrize("size", [1e13, -1e13, 1e300])
def test_initial_scores_that_would_overflow_are_refused(size):
    refused(
        lambda: fit(LambdaMARTRanker, {"init_score": np.full(N, size)}), ValueError,
        "sigma=1 times init_score (or what init predicts) is as large as",
    )  # fmt: skip


GOOD: dict[str, Callable[[Any], Any]] = {
    "a list": lambda numbers: numbers.tolist(),
    "a tuple": lambda numbers: tuple(numbers.tolist()),
    "a column of numpy": lambda numbers: numbers[:, None],
    "a list of lists": lambda numbers: numbers[:, None].tolist(),
    "a frame": lambda numbers: pd.DataFrame({"y": numbers}),
    "a nullable frame": lambda numbers: pd.DataFrame({"y": numbers}, dtype="Int64"),
    "a series": lambda numbers: pd.Series(numbers, index=np.arange(N)[::-1]),
    "a frame of polars": lambda numbers: pl.DataFrame({"y": numbers}),
    "a table of pyarrow": lambda numbers: pa.table({"y": numbers}),
    "an array of pyarrow": lambda numbers: pa.array(numbers),
    "objects": lambda numbers: numbers.astype(object),
    "decimals": lambda numbers: [Decimal(n) for n in numbers.tolist()],
    "fractions": lambda numbers: [Fraction(n) for n in numbers.tolist()],
    "longdouble": lambda numbers: numbers.astype(np.longdouble),
    "float16": lambda numbers: numbers.astype(np.float16),
    "unsigned bytes": lambda numbers: numbers.astype(np.uint8),
    "another byte order": lambda numbers: numbers.astype(">f8"),
    "a strided array": lambda numbers: np.repeat(numbers, 2)[::2],
    "a read-only array": lambda numbers: np.broadcast_to(numbers, N),
}


def outcome(result: Any) -> Any:
    return result.predict(X) if hasattr(result, "predict") else np.asarray(result)


@pytest.mark.filterwarnings("ignore:A column-vector")
@pytest.mark.parametrize("form", GOOD)
@pytest.mark.parametrize("entry", ENTRIES)
def test_the_same_numbers_in_another_form_have_the_same_outcome(entry, form):
    call, _ = ENTRIES[entry]
    if entry == "targets" and form == "a table of pyarrow":
        return  # scikit-learn takes a Series of other libraries, but no table
    numbers = Y if entry.startswith("grades") else 1 + GROUPS % 3
    numbers = numbers.astype(np.int64)
    np.testing.assert_array_equal(
        outcome(call(GOOD[form](numbers))), outcome(call(numbers))
    )


def test_grades_in_a_column_get_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector .*1d array was"):
        ENTRIES["grades"][0](Y[:, None])


#: Different numbers that float64 cannot tell apart, in the order of SEVEN
SEVEN = np.arange(N) % 7
LARGE: dict[str, Any] = {
    "integers": 2**53 + SEVEN,
    "negative integers": SEVEN - 2**60,
    "unsigned integers": np.uint64(2**63) + SEVEN.astype(np.uint64),
    "a list of integers": [2**53 + n for n in SEVEN.tolist()],
    "integers beyond 64 bits": [2**80 + n for n in SEVEN.tolist()],
    "integers of both signs": [2**63 + n if n else -1 for n in SEVEN.tolist()],
    "integers and a float": [2**53 + n if n else 0.5 for n in SEVEN.tolist()],
    "decimals": [Decimal(n) / 10**20 + 1 for n in SEVEN.tolist()],
    "longdouble": 1 + SEVEN * np.finfo(np.longdouble).eps,
    "a nullable series": pd.Series(2**53 + SEVEN, dtype="Int64"),
    "a frame": pd.DataFrame({"score": 2**53 + SEVEN}),
}


@pytest.mark.parametrize("kind", LARGE)
def test_numbers_that_float64_merges_are_ranked_exactly_or_refused(kind):
    for call in (
        lambda scores: rank_scores(scores, groups=GROUPS),
        lambda scores: NDCG(ties="average").per_query(Y, scores, groups=GROUPS),
    ):
        np.testing.assert_array_equal(call(LARGE[kind]), call(SEVEN))
    values: dict[str, Callable[[Any], Any]] = {
        "scores": lambda scores: compute_lambdas(scores, Y, groups=GROUPS),
        "scores_1": lambda scores: best_blend(scores, X[:, 0], Y, groups=GROUPS),
    }
    for name, call in values.items():
        refused(lambda c=call: c(LARGE[kind]), ValueError, f"{name} {MERGES}: row ")


# --- classes --------------------------------------------------------------------------

CLASSES: Table = {
    "one class": (np.zeros(N), "y has only one class, [0.0]"),
    "three classes": (NUMBERS, "3 classes; scikit-learn's HistGradientBoostingC"),
    "numbers with fractions": (NUMBERS + 0.5 * X[:, 0], "y: Unknown label type"),
    "NaN": (np.where(NUMBERS == 2, NAN, LABELS), "y must hold classes, but row"),
    "too few labels": (LABELS[:-1], "y has 29 values for 30 rows of X"),
    "two columns": (np.c_[LABELS, LABELS], "y: y should be a 1d array"),
    "masked labels": (np.ma.masked_array(LABELS, LABELS), "y is a masked array"),
    "a dict": ({"a": 1}, "y is a dict"),
    "nothing": (None, "y is None: MARTClassifier requires y to be passed"),
    "labels that cannot be sorted": (
        np.array(last("a", LABELS), dtype=object),
        "y: Unknown label type",
    ),
}


@pytest.mark.parametrize(("y", "message"), each(CLASSES))
def test_what_are_no_two_classes_is_refused(y, message):
    refused(lambda: fit(MARTClassifier, {"y": y}), ValueError, message)


def test_other_classes_of_a_validation_set_are_refused():
    given = {"X_val": X, "y_val": np.where(LABELS, 7, 0)}
    message = "y_val has the classes [0, 7], but y has [False, True]"
    refused(lambda: fit(MARTClassifier, given), ValueError, message)


CLASS_WEIGHT = "class_weight[True] must be a number in [1e-50, 1e+50], got "


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        *(({True: w, False: 1}, ValueError, CLASS_WEIGHT)
          for w in (0, -1, 1e-320, 1e-51, 1e51, 1e308, INF, NAN, HUGE)),
        *(({True: w, False: 1}, TypeError, CLASS_WEIGHT)
          for w in ("1", None, True, [1.0])),
        *((w, ValueError, "class_weight")
          for w in ("other", {"no class": 2.0}, [1.0, 2.0], 3)),
    ],
)  # fmt: skip
def test_weights_of_classes_are_read(weight, error, message):
    refused(lambda: fit(MARTClassifier, class_weight=weight), error, message)


# --- positions and propensities -------------------------------------------------------

PLACES = np.concatenate([np.arange(size) for size in np.bincount(GROUPS)])
KNOWN = 1 / (1.0 + PLACES)
CLICKS = {"y": (Y > 1).astype(int)}
INTEGERS = f"must be integers from 0 (shown first) to 999, but {ROW}"
POSITIONS: Table = {
    **{str(value): (last(value, PLACES), f"{INTEGERS} {value}")
       for value in (-1, 0.5, NAN, INF, 1000)},
    "10**400": (last(HUGE, PLACES), "must fit in float64, but"),
    "a missing one": (last(None, PLACES), "must be numeric, but row"),
    "text": (PLACES.astype(str), "must be numeric, got dtype"),
    "a position twice": (
        np.where(np.arange(N) == 25, 0, PLACES),
        "has 0 twice in one list: row 24 (query 4) and row 25 have it; groups must "
        "name each list that was shown (a session), not only its query",
    ),
    "too few": (PLACES[1:], "must hold one number for each of the 30 rows"),
    "two columns": (np.zeros((N, 2)), "must hold one number for each of"),
    "a number": (0, "must hold one number per row, got 0"),
    "a dict": ({}, "is a dict, which has no order of rows"),
}  # fmt: skip
CHANCES = f"are probabilities of examination, in (0, 1], but {ROW}"
PROPENSITIES: Table = {
    **{str(value): (last(value, KNOWN), f"{CHANCES} {value:g}")
       for value in (0.0, -0.1, 1.5, NAN, INF)},
    "text": (KNOWN.astype(str), "must be numeric, got dtype"),
    "one per position": (KNOWN[:3], "must hold one number for each of the"),
    "a number": (0.5, "must hold one number per row, got 0.5"),
}  # fmt: skip
ADDITIVE = {"position_bias": "additive"}


@pytest.mark.parametrize(("value", "message"), each(POSITIONS))
@pytest.mark.parametrize("parameters", [ADDITIVE, {}])
def test_bad_positions_are_refused_even_if_unused(parameters, value, message):
    given = CLICKS | {"positions": value}
    call = lambda: fit(LambdaMARTRanker, given, **parameters)  # noqa: E731
    refused(call, ValueError, f"positions {message}")


@pytest.mark.parametrize(("value", "message"), each(PROPENSITIES))
def test_bad_propensities_are_refused(value, message):
    given = CLICKS | {"propensities": value}
    call = lambda: fit(LambdaMARTRanker, given)  # noqa: E731
    refused(call, ValueError, f"propensities {message}")


def returns(scores: Any, grades: Any, offsets: Any) -> Any:
    return scores - grades, np.ones(len(scores))


SHOWN, KNOW = {"positions": PLACES}, {"propensities": KNOWN}
PAIRS: dict[str, Any] = {"y": None, "pairs": [[0, 1]]}
LEARNS = "positions is None, but position_bias='additive' learns the bias"
COMBINATIONS: list[tuple[type, dict[str, Any], dict[str, Any], str]] = [
    *((ranker, {}, ADDITIVE, LEARNS) for ranker in RANKERS),
    *((ranker, SHOWN | KNOW, ADDITIVE,
       "propensities are known, but position_bias='additive' would learn the bias")
      for ranker in RANKERS),
    (LambdaMARTRanker, {"positions": PLACES + 1}, {"position_bias": "pairwise"},
     "positions has no 0 in the lists that have a clicked document and another"),
    (RankNetRanker, SHOWN, {"position_bias": "pairwise"},
     "position_bias must be one of (None, 'additive')"),
    (LambdaMARTRanker, {}, {"position_bias": "pairwise", "objective": returns},
     "position_bias='pairwise' weighs pairs, and objective is a function"),
    (LambdaMARTRanker, KNOW, {"objective": returns},
     "propensities weigh pairs, and objective is a function"),
    (RankNetRanker, KNOW, {"tied_pairs": True},
     "propensities weigh a pair by its clicked document, and with tied_pairs=True"),
    (RankNetRanker, PAIRS | KNOW, {},
     "propensities corrects clicks, and pairs are preferences in place of clicks"),
    (RankNetRanker, PAIRS | SHOWN, ADDITIVE,
     "position_bias corrects clicks, and pairs are preferences in place of clicks"),
]  # fmt: skip


@pytest.mark.parametrize(("ranker", "given", "parameters", "message"), COMBINATIONS)
def test_corrections_of_clicks_that_do_not_go_together_are_refused(
    ranker, given, parameters, message
):
    call = lambda: fit(ranker, CLICKS | given, **parameters)  # noqa: E731
    refused(call, ValueError, message)


def test_partial_fit_needs_positions_too():
    ranker = LambdaRankRanker(**SMALL[LambdaRankRanker], **ADDITIVE)
    refused(lambda: ranker.partial_fit(X, Y, groups=GROUPS), ValueError, LEARNS)


@pytest.mark.parametrize(
    "positions",
    [np.float32(PLACES), PLACES + 1, PLACES * 7, pd.Series(PLACES), PLACES[:, None]],
)
def test_positions_of_other_forms_and_with_gaps_are_taken(positions):
    assert fit(LambdaMARTRanker, CLICKS | {"positions": positions}, **ADDITIVE)


@pytest.mark.parametrize("given", [SHOWN, SHOWN | KNOW, {"propensities": [1e-300] * N}])
def test_positions_and_propensities_may_be_given_without_a_bias_to_learn(given):
    assert fit(LambdaMARTRanker, CLICKS | given)


# --- preferences of pairs -------------------------------------------------------------

TWO = [[0, 1], [2, 3]]
TABLE_OF_PAIRS = "pairs must have shape (n_pairs, 2)"
NO_PAIRS: Table = {
    "nothing": ([], f"{TABLE_OF_PAIRS} with at least one pair"),
    **{str(pairs): (pairs, TABLE_OF_PAIRS) for pairs in (3, [[0], [1]], [0, 1])},
    "lists of two lengths": ([[0, 1], [2]], TABLE_OF_PAIRS),
    "a generator": ((pair for pair in TWO), TABLE_OF_PAIRS),
    "floats": ([[0.0, 1.0]], "pairs must hold integers, rows of X; got dtype"),
    "strings": ([["0", "1"]], "pairs must hold integers, rows of X; got dtype <U1"),
    "booleans": ([[True, False]], "pairs must hold integers, rows of X; got dtype"),
    "a row beyond X": ([[0, 1], [0, N]], "but pair 1 is [0, 30]"),
    "a negative row": ([[0, -1]], "but pair 0 is [0, -1]"),
    "a huge row": ([[0, 2**62]], "pairs must hold rows of X, 0 to 29, but pair 0"),
    "one row twice": ([[0, 1], [2, 2]], "two rows, but pair 1 is [2, 2]"),
}
ONE_EACH = "must hold one number for each of the 2 pairs, got shape"
NO_CHANCES: Table = {
    "a number": (0.5, "must hold one number per row, got 0.5"),
    "too few": ([0.5], ONE_EACH),
    "a table": (np.eye(2), ONE_EACH),
    "strings": (["1", "0"], "must be numeric, got dtype <U1"),
    "None": ([None, 1], "must be numeric, but pair 0 has None"),
    "NaN": ([0.5, NAN], "must lie in [0, 1], but pair 1 has nan"),
    "more than 1": ([1.5, 0], "must lie in [0, 1], but pair 0 has 1.5"),
    "less than 0": ([1, -0.5], "must lie in [0, 1], but pair 1 has -0.5"),
    "a dict": ({0: 1, 1: 0}, "is a dict"),
}


def prefer(pairs: Any, probabilities: Any = None, **given: Any) -> Any:
    ranker = RankNetRanker(**SMALL[RankNetRanker])
    return ranker.fit(X, pairs=pairs, pair_probabilities=probabilities, **given)


@pytest.mark.parametrize(("pairs", "message"), each(NO_PAIRS))
def test_what_are_no_pairs_is_refused(pairs, message):
    refused(lambda: prefer(pairs), ValueError, message)


@pytest.mark.parametrize(("value", "message"), each(NO_CHANCES))
def test_what_are_no_probabilities_of_pairs_is_refused(value, message):
    refused(lambda: prefer(TWO, value), ValueError, f"pair_probabilities {message}")


def test_pairs_and_queries_must_agree():
    refused(
        lambda: prefer(TWO, sample_weight=np.ones(N)), ValueError,
        "sample_weight weighs queries, and without groups",
    )  # fmt: skip
    refused(
        lambda: prefer([[0, N - 1]], groups=GROUPS), ValueError,
        "pairs must lie within queries when groups are given",
    )  # fmt: skip
    assert prefer(pd.DataFrame(TWO), pd.DataFrame({"p": [0.5, 1.0]}))


# --- what others predict --------------------------------------------------------------


class Broken(Ridge):
    """Predicts NaN for another X than it was fitted to."""

    def predict(self, X: Any) -> Any:
        scores = super().predict(X)
        return scores if len(scores) > 1 else scores * NAN


class Wide(Ridge):
    """Predicts in one column, as a regressor of several targets does."""

    def predict(self, X: Any) -> Any:
        return super().predict(X)[:, None]


def test_what_a_member_or_a_base_model_predicts_is_read():
    bag = BaggingRanker(Broken(), 2).fit(X, Y, groups=GROUPS)
    message = "what estimators_[0] predicts must be finite, but is nan at row 0"
    refused(lambda: bag.predict(X[:1]), ValueError, message)
    plain, wide = (fit(LambdaMARTRanker, init=init) for init in (Ridge(), Wide()))
    np.testing.assert_array_equal(plain.predict(X), wide.predict(X))
