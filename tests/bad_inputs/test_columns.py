"""What cannot be one number per row: grades, targets, weights, scores, positions.

One reader makes a column of numbers, and is given all that is none (as is that of
targets, which asks scikit-learn); each argument has rules of its own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr._core.data import QueryGroups, check_scores
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import NDCG, ndcg_score, rank_scores
from sklearn_ltr.model_selection import RankerSearch
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
    "weights of documents": (
        lambda w: fit(LambdaMARTRanker, {"document_weight": w}), "document_weight",
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
#: More entries, with rules of their own
PLACES = np.concatenate([np.arange(size) for size in np.bincount(GROUPS)])
KNOWN = 1 / (1.0 + PLACES)
CLICKS = {"y": (Y > 1).astype(int)}
ADDITIVE = {"position_bias": "additive"}
TWO = [[0, 1], [2, 3]]


def prefer(pairs: Any, probabilities: Any = None, **given: Any) -> Any:
    ranker = RankNetRanker(**SMALL[RankNetRanker])
    return ranker.fit(X, pairs=pairs, pair_probabilities=probabilities, **given)


def prefer_by_trees(pairs: Any, probabilities: Any = None, **given: Any) -> Any:
    ranker = LambdaMARTRanker(None, **SMALL[LambdaMARTRanker])
    return ranker.fit(X, pairs=pairs, pair_probabilities=probabilities, **given)


def prefer_by_metric(pairs: Any, probabilities: Any = None, **given: Any) -> Any:
    ranker = LambdaRankRanker(**SMALL[LambdaRankRanker])
    given |= {"groups": GROUPS, "pair_probabilities": probabilities}
    return ranker.fit(X, Y, pairs=pairs, **given)


def prefer_by_bag(pairs: Any, probabilities: Any = None) -> Any:
    bag = BaggingRanker(**SMALL[BaggingRanker])
    given = {"groups": GROUPS, "pair_probabilities": probabilities}
    return bag.fit(X, Y, pairs=pairs, **given)


OTHERS: dict[str, Entry] = {
    "classes": (lambda y: fit(MARTClassifier, {"y": y}), "y"),
    "positions": (
        lambda p: fit(LambdaMARTRanker, CLICKS | {"positions": p}, **ADDITIVE),
        "positions",
    ),
    "positions that are not used": (
        lambda p: fit(LambdaMARTRanker, CLICKS | {"positions": p}), "positions",
    ),
    "propensities": (
        lambda p: fit(LambdaMARTRanker, CLICKS | {"propensities": p}), "propensities",
    ),
    "pairs": (prefer, "pairs"),
    "pair_probabilities": (lambda p: prefer(TWO, p), "pair_probabilities"),
    "pair_weights": (lambda w: prefer(TWO, pair_weights=w), "pair_weights"),
    "pairs of trees": (prefer_by_trees, "pairs"),
    "probabilities of trees": (lambda p: prefer_by_trees(TWO, p), "pair_prob"),
    "weights of pairs of trees": (
        lambda w: prefer_by_trees(TWO, pair_weights=w), "pair_weights",
    ),
    "weights of pairs of a metric": (
        lambda w: prefer_by_metric(TWO, pair_weights=w), "pair_weights",
    ),
    "pairs of a metric": (prefer_by_metric, "pairs"),
    "probabilities of a metric": (lambda p: prefer_by_metric(TWO, p), "pair_prob"),
    "pairs of a bag": (prefer_by_bag, "pairs"),
    "probabilities of a bag": (lambda p: prefer_by_bag(TWO, p), "pair_prob"),
    "weights of lambdas": (
        lambda w: compute_lambdas(Y, Y, groups=GROUPS, document_weight=w),
        "document_weight",
    ),
}  # fmt: skip
#: What their number of rows is compared with
COUNTED = ("grades of a metric", "scores", "scores of lambdas")
DAYS = np.datetime64("2020-01-01") + NUMBERS
NO_NUMBERS: Table = {
    "a dict": (dict(enumerate(NUMBERS)), "is a dict, which has no order of rows"),
    "a string": ("0" * N, "must hold one number per row, got '000"),
    "a number": (1, "must hold one number per row, got 1"),
    "a generator": (None, "is a generator, which can be read only once"),
    "strings": (NUMBERS.astype(str), "must be numeric, got dtype <U"),
    "numbers as text": (
        ["1"] * N, "must be numeric, got dtype <U1: convert it, as in numpy.asarray("),
    "text": (["good"] * N, "must be numeric, got dtype <U4: give a number for each te"),
    "text as objects": (np.array(["good"] * N, object), "must be numeric, but row 0"),
    "None": (last(None), "must be numeric, but row 29"),
    "NA of pandas": (last(pd.NA), "must be numeric, but row 29"),
    "complex numbers": (last(1j), "must be numeric"),
    "dates": (DAYS, "must be numeric, got dtype"),
    "a list of dates": (list(DAYS), "must be numeric"),
    "a time span": (last(dt.timedelta(1)), "must be numeric"),
    "a number beyond float64": (last(HUGE), "must fit in float64, but row 29"),
    "a signalling NaN": (last(Decimal("sNaN")), "must be numeric, but row 29"),
    "lists of several lengths": ([[1], [1, 2]] * (N // 2), "must be numeric"),
    "masked values": (
        np.ma.array(NUMBERS, mask=NUMBERS == 1), "is a masked array with masked values",
    ),
}  # fmt: skip


def some(entry: str, kinds: Mapping[str, Any], few: tuple[str, ...]) -> Any:
    """Return all kinds for the readers, a few for other entries."""
    return [k for k in kinds if k in few or entry in ("scores", "targets")]


FEW = ("a dict", "strings", "None", "masked values")


@pytest.mark.parametrize(
    ("entry", "kind"), [(e, k) for e in ENTRIES for k in some(e, NO_NUMBERS, FEW)]
)
def test_what_is_no_column_of_numbers_is_refused(entry, kind):
    (call, name), (value, message) = ENTRIES[entry], NO_NUMBERS[kind]
    if entry == "targets" and message == "must be numeric":  # says scikit-learn
        message = ""
    if kind == "a generator":
        value = (number for number in NUMBERS)
    refused(lambda: call(value), ValueError, f"{name} {message}".rstrip())


@pytest.mark.parametrize("form", [list, np.array, pd.Series, pd.Categorical])
def test_text_grades_are_told_how_to_become_numbers(form):
    exact = form(np.where(NUMBERS > 1, "Exact", "Partial").tolist())
    advice = ": give a number for each text, as in [{'Partial': 0, ...}[t] for t in y]"
    refused(lambda: fit(LambdaMARTRanker, {"y": exact}), ValueError, advice)
    both = pd.DataFrame({"a": exact, "b": NUMBERS})
    advice = "'Partial': 0, ...}[t] for t in y[:, a]]"
    refused(lambda: fit(LambdaMARTRanker, {"y": both}), ValueError, advice)


@pytest.mark.parametrize("entry", ENTRIES)
def test_columns_of_other_lengths_and_shapes_are_refused(entry):
    call, name = ENTRIES[entry]
    one_each = f"{name} must hold one number for each of the 30 rows, got shape"
    others = dict.fromkeys(COUNTED, "groups has 30 values for 29 rows")
    others["targets"] = "y has 29 values for 30 rows of X"
    if entry not in others:
        sparse_column = sparse.csr_array(NUMBERS[:, None])
        # two columns of grades are two labels
        table = np.zeros((N, 2, 2) if entry == "grades" else (N, 2))
        for value, shape in (
            (table, f"{table.shape}"), (sparse_column, "()"),
            (NUMBERS[None, :], "(1, 30)"),
        ):  # fmt: skip
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
        (last(NAN), f"{GRADES} {ROW} nan; if it stands for a document that was no"),
        (last(INF), f"{GRADES} {ROW} inf"),
        (last(-1), f"{GRADES} {ROW} -1.0; if it stands for a document that was not "
         "judged, as -1 does in files of TREC, drop the row. For returns, or "),
        (last(-0.0027), f"{GRADES} {ROW} -0.0027; if it stands for a document that"),
        (pd.Series(last(None), dtype="float64"), f"{GRADES} {ROW} nan"),
        (pa.array(last(None)), f"{GRADES} {ROW} nan"),
        (MERGED, MERGES),
        (None, "is None: a ranker requires y to be passed"),
    ],
    "weights": [
        (last(INF), f"must be finite and >= 0, but {ROW} inf"),
        (last(-1), f"must be finite and >= 0, but {ROW} -1.0"),
        (np.arange(1.0, N + 1), "weighs whole queries, so it must be constant within"),
        (np.arange(1.0, N + 1), "weights of single documents give document_weight"),
        (np.zeros(N), "is zero for every query: give some a weight above 0"),
        *((np.where(GROUPS == 0, size, 0.5), f"has a largest value of {size:.3g}, out")
          for size in (1e51, 1e308)),
    ],
    "weights of documents": [
        *((last(value), f"must be finite and >= 0, but {ROW} {value}")
          for value in (NAN, INF, -1.0)),
        (np.where(GROUPS == 4, 0, 0.5), "is zero for every document of query 4, so no"),
        (PLACES == 0, "is zero for so many documents that no query has two"),
        *((np.where(GROUPS == 0, size, 0.5), f"has a largest value of {size:.3g}, out")
          for size in (1e26, 1e308)),
    ],
    "initial scores": [
        (last(NAN), "must be finite, but is nan at row 29"),
        (MERGED, MERGES),
    ],
    "scores": [
        (None, "is None: give one number per row"),
        (last(NAN), f"{TO_RANK} {ROW} nan"),
        (last(-INF), f"{TO_RANK} {ROW} -inf; leave documents that were not ranked out "
         "of the rows, and give their grades to a metric by y_missing"),
    ],
    "targets": [
        (last(NAN), "must be finite"),
        (last(-INF), "must be finite"),
        (np.c_[NUMBERS, NUMBERS], "y should be a 1d array"),
        (None, "is None: MARTRegressor requires y to be passed"),
        *((Y * size, "must be finite, and at most 1e+90 in size, but row")
          for size in (1e91, 1e300)),
        *((Y * size, "holds no number larger than") for size in (1e-100, 1e-320)),
    ],
    "weights of rows": [
        (last(NAN), "must be finite"),
        (last(-1.0), "must be finite and >= 0, but row 29 has -1.0"),
        (np.zeros(N), "is zero for every row: give some a weight above 0"),
        (np.where(GROUPS == 0, 1e51, 0.5), "has a largest value of 1e+51, out of ["),
    ],
}  # fmt: skip
INTEGERS = f"must be integers from 0 (shown first) to 999, but {ROW}"
RULES["classes"] = [
    (np.zeros(N), "has only one class, [0.0]"),
    (NUMBERS, "3 classes; scikit-learn's HistGradientBoostingC"),
    (NUMBERS + 0.5 * X[:, 0], "Unknown label type"),
    (np.array(last("a", LABELS), dtype=object), "Unknown label type"),
    (np.where(NUMBERS == 2, NAN, LABELS), "must hold classes, but row"),
    (LABELS[:-1], "has 29 values for 30 rows of X"),
    (np.c_[LABELS, LABELS], "y should be a 1d array"),
    (np.ma.masked_array(LABELS, LABELS), "is a masked array"),
    ({"a": 1}, "is a dict"),
    (None, "is None: MARTClassifier requires y to be passed"),
]
RULES["positions"] = [
    *((last(value, PLACES), f"{INTEGERS} {value}")
      for value in (-1, 0.5, NAN, INF, 1000)),
    (PLACES.astype(str), "must be numeric, got dtype"),
    (PLACES[1:], "must hold one number for each of the 30 rows"),
    (np.where(np.arange(N) == 25, 0, PLACES),
     "has 0 twice in one list: row 24 (query 4) and row 25: name each list that was "
     "shown (a session)"),
]  # fmt: skip
RULES["positions that are not used"] = RULES["positions"]
RULES["propensities"] = [
    *((last(value, KNOWN), f"are probabilities of examination, in (0, 1], but {ROW}"
       f" {value:g}") for value in (0.0, -0.1, 1.5, NAN, INF)),
    (KNOWN.astype(str), "must be numeric, got dtype"),
    (KNOWN[:3], "must hold one number for each of the"),
]  # fmt: skip
RULES["pairs"] = [
    ([], "must have shape (n_pairs, 2) with at least one pair"),
    *((pairs, "must have shape (n_pairs, 2)")
      for pairs in (3, [[0], [1]], [0, 1], [[0, 1], [2]], (pair for pair in TWO))),
    *((pairs, "must hold integers, rows of X; got dtype")
      for pairs in ([[0.0, 1.0]], [[True, False]])),
    ([[0, 1], [0, N]], "must hold rows of X, 0 to 29, but pair 1 is [0, 30]"),
    ([[0, -1]], "but pair 0 is [0, -1]"),
    ([[0, 1], [2, 2]], "two rows, but pair 1 is [2, 2]"),
]  # fmt: skip
RULES["pair_probabilities"] = [
    (0.5, "must hold one number per row, got 0.5"),
    ([0.5], "must hold one number for each of the 2 pairs, got shape"),
    ([None, 1], "must be numeric, but pair 0 has None"),
    *(([0.5, value], f"must lie in [0, 1], but pair 1 has {value}")
      for value in (NAN, 1.5, -0.5)),
]  # fmt: skip
RULES["pair_weights"] = [
    (2.0, "must hold one number per row, got 2.0"),
    ([0.5], "must hold one number for each of the 2 pairs, got shape"),
    ([None, 1], "must be numeric, but pair 0 has None"),
    *(([0.5, value], f"must be finite and >= 0, but pair 1 has {value}")
      for value in (NAN, INF, -0.5)),
    ([0.0, 0.0], "is zero for every pair: there is nothing to learn"),
]  # fmt: skip
for taker in ("trees", "a metric"):
    RULES[f"weights of pairs of {taker}"] = RULES["pair_weights"]
for taker in ("trees", "a metric", "a bag"):
    RULES[f"pairs of {taker}"] = RULES["pairs"]
    RULES[f"probabilities of {taker}"] = RULES["pair_probabilities"]
RULES["weights of lambdas"] = [
    *((last(value), f"must be finite and >= 0, but {ROW} {value}")
      for value in (-1.0, NAN, INF)),
    (np.zeros(N), "is zero for every document of query"),
]  # fmt: skip
RULES["grades of a metric"] = RULES["grades"][:-1]
RULES["scores of lambdas"] = RULES["scores"]


@pytest.mark.parametrize(
    ("entry", "value", "message"), [(e, *row) for e in RULES for row in RULES[e]]
)
def test_numbers_that_an_argument_must_not_hold_are_refused(entry, value, message):
    call, name = (ENTRIES | OTHERS)[entry]
    with pytest.raises(ValueError) as raised:
        call(value)
    assert raised.type is ValueError
    assert str(raised.value).startswith((name, "Only binary classification is"))
    assert message in str(raised.value)


GOOD: dict[str, Callable[[Any], Any]] = {
    "a list": lambda numbers: numbers.tolist(),
    "a column of numpy": lambda numbers: numbers[:, None],
    "a frame": lambda numbers: pd.DataFrame({"y": numbers}),
    "a table of pyarrow": lambda numbers: pa.table({"y": numbers}),
    "objects": lambda numbers: numbers.astype(object),
    "decimals": lambda numbers: [Decimal(n) for n in numbers.tolist()],
    "unsigned bytes": lambda numbers: numbers.astype(np.uint8),
    "another byte order": lambda numbers: numbers.astype(">f8"),
    "a strided array": lambda numbers: np.repeat(numbers, 2)[::2],
}


def outcome(result: Any) -> Any:
    return result.predict(X) if hasattr(result, "predict") else np.asarray(result)


@pytest.mark.filterwarnings("ignore:A column-vector")
@pytest.mark.parametrize(
    ("entry", "form"),
    [(e, f) for e in ENTRIES for f in some(e, GOOD, ("a frame", "a strided array"))],
)
def test_the_same_numbers_in_another_form_have_the_same_outcome(entry, form):
    call, _ = ENTRIES[entry]
    if entry == "targets" and form == "a table of pyarrow":
        return  # scikit-learn takes a Series of other libraries, but no table
    numbers = Y if entry.startswith("grades") else 1 + GROUPS % 3
    numbers = numbers.astype(np.int64)
    np.testing.assert_array_equal(
        outcome(call(GOOD[form](numbers))), outcome(call(numbers))
    )


#: Different numbers that float64 cannot tell apart, in the order of SEVEN
SEVEN = np.arange(N) % 7
LARGE: dict[str, Any] = {
    "integers": 2**53 + SEVEN,
    "unsigned integers": np.uint64(2**63) + SEVEN.astype(np.uint64),
    "integers beyond 64 bits": [2**80 + n for n in SEVEN.tolist()],
    "integers of both signs": [2**63 + n if n else -1 for n in SEVEN.tolist()],
    "decimals": [Decimal(n) / 10**20 + 1 for n in SEVEN.tolist()],
    "longdouble": 1 + SEVEN * np.finfo(np.longdouble).eps,
    "a frame": pd.DataFrame({"score": 2**53 + SEVEN}),
}


@pytest.mark.parametrize("kind", LARGE)
def test_numbers_that_float64_merges_are_ranked_exactly_or_refused(kind):
    for call in (
        lambda scores: rank_scores(scores, groups=GROUPS),
        lambda scores: NDCG(ties="average").per_query(Y, scores, groups=GROUPS),
    ):
        np.testing.assert_array_equal(call(LARGE[kind]), call(SEVEN))
    call = lambda: compute_lambdas(LARGE[kind], Y, groups=GROUPS)  # noqa: E731
    refused(call, ValueError, f"scores {MERGES}: row ")


@pytest.mark.parametrize(
    "numbers", [[2**60, 2**61, 0], [2.0**60, 1e300, -1e300], [2**53 + 2, 2**53, 1]]
)
def test_large_numbers_that_float64_tells_apart_are_taken(numbers):
    grades, groups = [1, 0, 2], [1, 0, 1]
    found, expected = (
        compute_lambdas(scores, grades, groups=groups)
        for scores in (numbers, [float(number) for number in numbers])
    )
    np.testing.assert_array_equal(found, expected)


def test_checked_arrays_are_contiguous_and_writeable():
    """Numba would compile kernels once more for others."""
    read_only = np.arange(6.0)[::2]
    read_only.flags.writeable = False
    rows = check_scores(read_only, QueryGroups.single(3))
    assert rows.flags.c_contiguous and rows.flags.writeable


# --- classes --------------------------------------------------------------------------


def test_other_classes_of_a_validation_set_are_refused():
    given = {"X_val": X, "y_val": np.where(LABELS, 7, 0)}
    message = "y_val has the classes [0, 7], but y has [False, True]"
    refused(lambda: fit(MARTClassifier, given), ValueError, message)


CLASS_WEIGHT = "class_weight[True] must be a number in [1e-50, 1e+50], got "


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        *(({True: w, False: 1}, ValueError, CLASS_WEIGHT)
          for w in (0, 1e-51, 1e51, NAN, HUGE)),
        *(({True: w, False: 1}, TypeError, CLASS_WEIGHT) for w in ("1", None, True)),
        *((w, ValueError, "class_weight")
          for w in ("other", {"no class": 2.0}, [1.0, 2.0], 3)),
    ],
)  # fmt: skip
def test_weights_of_classes_are_read(weight, error, message):
    refused(lambda: fit(MARTClassifier, class_weight=weight), error, message)


# --- positions, propensities and weights of documents ---------------------------------


def returns(scores: Any, grades: Any, offsets: Any) -> Any:
    return scores - grades, np.ones(len(scores))


SHOWN, KNOW = {"positions": PLACES}, {"propensities": KNOWN}
SURE = {"document_weight": KNOWN}
LEARNS = "positions is None, but position_bias='additive' learns a bias"
COMBINATIONS: list[tuple[type, dict[str, Any], dict[str, Any], str]] = [
    *((ranker, {}, ADDITIVE, LEARNS) for ranker in RANKERS),
    *((ranker, SHOWN | KNOW, ADDITIVE,
       "propensities were given, but position_bias='additive' learns the bias")
      for ranker in RANKERS),
    (LambdaMARTRanker, {"positions": PLACES + 1}, {"position_bias": "pairwise"},
     "positions has no 0 in the lists that have a clicked document and another"),
    (RankNetRanker, SHOWN, {"position_bias": "pairwise"},
     "position_bias must be one of (None, 'additive')"),
    (LambdaMARTRanker, {}, {"position_bias": "pairwise", "objective": returns},
     "position_bias='pairwise' weighs pairs, but objective is a function"),
    (LambdaMARTRanker, KNOW, {"objective": returns},
     "propensities weigh pairs, but objective is a function"),
    (RankNetRanker, KNOW, {"tied_pairs": True},
     "propensities weigh a pair by its clicked document, and with tied_pairs=True"),
    *((ranker, SURE, {"objective": returns},
       "document_weight weighs pairs, but objective is a function")
      for ranker in (LambdaMARTRanker, LambdaRankRanker)),
    *((RankNetRanker, {"document_weight": PLACES == 0}, {"tied_pairs": tied},
       message) for tied, message in (
           (False, "document_weight is zero for so many documents that no query has"),
           (True, "pairs to learn from: check groups, sample_weight and"),
       )),
]  # fmt: skip


@pytest.mark.parametrize(("ranker", "given", "parameters", "message"), COMBINATIONS)
def test_columns_and_parameters_that_do_not_go_together_are_refused(
    ranker, given, parameters, message
):
    call = lambda: fit(ranker, CLICKS | given, **parameters)  # noqa: E731
    refused(call, ValueError, message)


def test_partial_fit_needs_positions_too():
    ranker = LambdaRankRanker(**SMALL[LambdaRankRanker], **ADDITIVE)
    refused(lambda: ranker.partial_fit(X, Y, groups=GROUPS), ValueError, LEARNS)


@pytest.mark.parametrize(
    "positions",
    [np.float32(PLACES), PLACES * 7 + 1, pd.Series(PLACES), PLACES[:, None]],
)
def test_positions_of_other_forms_and_with_gaps_are_taken(positions):
    given = CLICKS | {"positions": positions}
    assert fit(LambdaMARTRanker, given, **ADDITIVE)
    with pytest.warns(UserWarning, match="are all below min_propensity=0.05"):
        assert fit(LambdaMARTRanker, given | KNOW | {"propensities": [1e-300] * N})


# --- judged pairs of the parts of a model ---------------------------------------------

PAIRS: dict[str, Any] = {"y": None, "pairs": [[0, 1]]}
FOLDS = [(range(12), range(12, N)), (range(12, N), range(12, N))]
ODD = np.arange(N) % 2
CUT = [(np.flatnonzero(ODD == i), np.flatnonzero(ODD != i)) for i in (0, 1)]
# what cuts the queries apart, and folds without a split
NO_FOLDS: list[tuple[Any, str]] = [
    *((cv, "cv cuts queries apart: in split 0, ")
      for cv in (KFold(2), KFold(2, shuffle=True, random_state=0), PredefinedSplit(ODD),
                 CUT)),
    ([], "cv has no splits: give a list of them"),
    (iter([]), "cv has no splits: give a list of them"),
]  # fmt: skip
OF_PAIRS = LambdaMARTRanker(None, **SMALL[LambdaMARTRanker])
STEPS = make_pipeline(StandardScaler(), LambdaMARTRanker(**SMALL[LambdaMARTRanker]))
OF_EACH = [[row, row + 1] for row in range(0, N, 5)]  # query
NOBODY = "pairs was given, but no member learns from it: leave it out, or give"
#: estimator, its parameters, what `fit` is given, error, message
IN_PARTS: list[tuple[type, dict[str, Any], dict[str, Any], type, str]] = [
    *((kind, {name: Ridge()} | more, {"pairs": TWO}, ValueError, NOBODY)
      for kind, name, more in (
          (BaggingRanker, "estimator", {}), (CalibratedRanker, "ranker", {}),
          (RankerSearch, "ranker", {"param_distributions": {"alpha": [1.0]}}),
      )),
    (BlendedRanker, {"rankers": [Ridge(), Ridge()]}, {"pairs": TWO}, ValueError,
     NOBODY),
    (BlendedRanker, {"rankers": [STEPS, STEPS]}, {"pairs": TWO},
     UnsetMetadataPassedError, "are passed but are not explicitly set as requested"),
    (BaggingRanker, {"estimator": OF_PAIRS}, {"pairs": TWO}, ValueError,
     "y and pairs were both given"),
    (BaggingRanker, {"estimator": OF_PAIRS, "bootstrap": True, "oob_score": True},
     PAIRS, ValueError, "oob_score=True measures grades, and y is None: give y, or"),
    (BaggingRanker, {"estimator": clone(OF_PAIRS).set_params(early_stopping=True),
                     "bootstrap": True, "n_estimators": 1, "random_state": 1},
     {"y": None, "pairs": OF_EACH}, ValueError,
     "early_stopping=True with pairs needs graded documents to measure"),
    (BaggingRanker, {}, {"y": None}, ValueError, "y is None: a ranker requires y"),
    (BaggingRanker, {"max_samples": 1, "n_estimators": 6}, {"pairs": [[0, 1]]},
     ValueError, "no pair lies within the queries that a part of the model learns"),
    (BaggingRanker, {}, {"pairs": [[0, 1]], "y": np.column_stack([Y, Y])}, ValueError,
     "pairs are weighed by the metric of one label, but y has 2 columns"),
    (BlendedRanker, {"rankers": [OF_PAIRS, OF_PAIRS]}, PAIRS, ValueError,
     "method='sweep' chooses weights by a metric of grades, and y is None: give y"),
    (BlendedRanker, {}, {"pairs": [[0, 1]]}, ValueError, "no pair lies within the q"),
    (CalibratedRanker, {"ranker": OF_PAIRS}, PAIRS, ValueError,
     "y is None, and the maps are of grades: give y beside the pairs, and a ranker"),
    (RankerSearch, {"ranker": OF_PAIRS}, PAIRS, ValueError,
     "y is None, and candidates are compared by a metric of grades: give y beside"),
    *((kind, {"ranker": OF_PAIRS}, {"y": None}, ValueError, "y is None: a ranker req")
      for kind in (CalibratedRanker, RankerSearch)),
    *((kind, {"cv": FOLDS}, {}, ValueError, "cv must hold out each row at most once")
      for kind in (BlendedRanker, CalibratedRanker, RankerSearch)),
    *((kind, {"cv": cv}, given, ValueError, message)
      for kind in (BlendedRanker, CalibratedRanker, RankerSearch)
      for cv, given, message in (
          (FOLDS[:1], {}, "cv cuts queries apart: in split 0, 1 queries"),
          ([(range(15, N), range(12))], {}, "cv cuts queries apart: it holds out some"),
          (3, {"users": GROUPS // 5}, "cv must be at least 2 folds and no more than "
           "there are users, got 3 folds for 2 users"),
          (6, {"order": GROUPS}, "cv must be at least 2 folds and less than there are "
           "queries, got 6 folds for 6 queries"),
          (GroupKFold(2), {"order": GROUPS}, "order was given, and cv, a GroupKFold, "
           "does not hold out by date: give a number of folds, or a GroupTimeSeriesSp"),
          (2, {"order": GROUPS, "users": GROUPS}, "users and order were both given"),
          ([(np.flatnonzero(GROUPS < 3), np.flatnonzero(GROUPS >= 3))],
           {"users": GROUPS % 3}, "cv cuts users apart: in split 0, the user of query"),
          (2, {"users": np.arange(N)}, "query 0 of groups has the users "),
          (2, {"users": GROUPS[1:]}, "users has 29 values for 30 rows"),
      )),
    *((kind, {"cv": 2}, {"order": [str(g) for g in GROUPS]}, TypeError,
       "order must hold dates or numbers")
      for kind in (BlendedRanker, CalibratedRanker, RankerSearch)),
    *((kind, {"cv": cv}, {}, ValueError, message)
      for kind in (BlendedRanker, CalibratedRanker, RankerSearch)
      for cv, message in NO_FOLDS),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
@pytest.mark.parametrize(("kind", "parameters", "given", "error", "message"), IN_PARTS)
def test_pairs_that_no_part_can_learn_from_are_refused(
    kind, parameters, given, error, message
):
    refused(lambda: fit(kind, given, **parameters), error, message)


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
