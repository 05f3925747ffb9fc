"""Positions and propensities that `fit` cannot use, and the parameters around them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from tests.bad_inputs import Case, accepted

NAN, INF = float("nan"), float("inf")
X = np.random.default_rng(0).normal(size=(12, 3))
CLICKS = [1, 0, 0, 0, 1, 0] * 2
GROUPS = ["a"] * 3 + ["b"] * 3 + ["c"] * 6
SHOWN: list[Any] = [0, 1, 2, 2, 1, 0, 0, 1, 2, 3, 4, 5]
KNOWN: list[Any] = [1.0, 0.5, 0.3] * 4
SMALL: dict[type, dict[str, Any]] = {
    LambdaMARTRanker: {"n_estimators": 2, "min_samples_leaf": 2},
    LambdaRankRanker: {"max_iter": 2, "hidden_layer_sizes": ()},
    RankNetRanker: {"max_iter": 2, "hidden_layer_sizes": ()},
}


def fit(ranker: type, parameters: dict[str, Any], **changed: Any) -> Any:
    given = {"X": X, "y": CLICKS, "groups": GROUPS} | changed
    return ranker(random_state=0, **SMALL[ranker] | parameters).fit(**given)


def partial_fit(ranker: type, parameters: dict[str, Any], **changed: Any) -> Any:
    model = ranker(random_state=0, **SMALL[ranker] | parameters)
    return model.partial_fit(**{"X": X, "y": CLICKS, "groups": GROUPS} | changed)


def with_value(values: list[Any], row: int, value: Any) -> list[Any]:
    return [*values[:row], value, *values[row + 1 :]]


INTEGERS = (
    "positions must be integers from 0 (shown first) to 999, but row 4 (query 'b'"
)
POSITIONS: dict[str, tuple[Any, str]] = {
    "None": (None, "positions is None, but position_bias='additive' learns the bias"),
    "a negative one": (with_value(SHOWN, 4, -1), f"{INTEGERS}) has -1"),
    "half a position": (with_value(SHOWN, 4, 0.5), f"{INTEGERS}) has 0.5"),
    "NaN": (with_value(SHOWN, 4, NAN), f"{INTEGERS}) has nan"),
    "infinity": (with_value(SHOWN, 4, INF), f"{INTEGERS}) has inf"),
    "1000": (with_value(SHOWN, 4, 1000), f"{INTEGERS}) has 1000"),
    "10**400": (with_value(SHOWN, 4, 10**400), "positions must fit in float64, but"),
    "a missing one": (with_value(SHOWN, 4, None), "positions must be numeric, but row"),
    "text": (list("012" * 4), "positions must be numeric, got dtype"),
    "a position twice": (
        with_value(SHOWN, 4, 2),
        "positions has 2 twice in one list: row 3 (query 'b') and row 4 have it; "
        "groups must name each list that was shown (a session), not only its query",
    ),
    "the same everywhere": (
        [0] * 12, "positions has 0 twice in one list: row 0 (query 'a') and row 1",
    ),
    "too few": (SHOWN[:-1], "positions must hold one number for each of the 12 rows"),
    "two columns": (np.zeros((12, 2)), "positions must hold one number for each of"),
    "a number": (0, "positions must hold one number per row, got 0"),
    "a dict": ({}, "positions is a dict, which has no order of rows"),
    "an iterator": (iter(SHOWN), "positions is a list_iterator, which can be"),
}  # fmt: skip
PROBABILITIES = (
    "propensities are probabilities of examination, in (0, 1], but row 4 (que"
)
PROPENSITIES: dict[str, tuple[Any, str]] = {
    "0": (with_value(KNOWN, 4, 0), f"{PROBABILITIES}ry 'b') has 0"),
    "a negative one": (with_value(KNOWN, 4, -0.1), f"{PROBABILITIES}ry 'b') has -0.1"),
    "above 1": (with_value(KNOWN, 4, 1.5), f"{PROBABILITIES}ry 'b') has 1.5"),
    "NaN": (with_value(KNOWN, 4, NAN), f"{PROBABILITIES}ry 'b') has nan"),
    "infinity": (with_value(KNOWN, 4, INF), f"{PROBABILITIES}ry 'b') has inf"),
    "text": (list("111" * 4), "propensities must be numeric, got dtype"),
    "one per position": (
        KNOWN[:3],
        "propensities must hold one number for each of the",
    ),
    "a number": (0.5, "propensities must hold one number per row, got 0.5"),
}
COMBINATIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "propensities with a position bias": (
        {"position_bias": "additive"},
        {"positions": SHOWN, "propensities": KNOWN},
        "propensities are known, but position_bias='additive' would learn the bias",
    ),
    "another bias": (
        {"position_bias": "multiplicative"},
        {"positions": SHOWN},
        "position_bias must be one of (None, 'additive'",
    ),
    "True as a bias": (
        {"position_bias": True}, {}, "position_bias must be one of (None, 'additive'",
    ),
    "a negative regularization": (
        {"bias_regularization": -1.0},
        {},
        "bias_regularization must be a number in [0, 1e+50] or None, got -1.0",
    ),
    "a smallest propensity of 0": (
        {"min_propensity": 0.0}, {}, "min_propensity must be a number in [1e-06, 1], ",
    ),
    "a smallest propensity above 1": (
        {"min_propensity": 1.5}, {}, "min_propensity must be a number in [1e-06, 1], ",
    ),
}  # fmt: skip


def returns(scores: Any, grades: Any, offsets: Any) -> Any:
    return scores - grades, np.ones(len(scores))


BIASED = {"position_bias": "additive"}
TREES, RANKNET = partial(fit, LambdaMARTRanker), partial(fit, RankNetRanker)
CASES = [
    *(
        Case(f"{name} as positions of {ranker.__name__}",
             partial(fit, ranker, BIASED, positions=value), ValueError, message)
        for name, (value, message) in POSITIONS.items()
        for ranker in SMALL
        if name != "an iterator" or ranker is LambdaMARTRanker
    ),
    *(
        Case(f"{name} as unused positions", partial(TREES, {}, positions=value),
             ValueError, message)
        for name, (value, message) in POSITIONS.items()
        if name not in ("None", "an iterator")
    ),
    *(
        Case(f"{name} as propensities of {ranker.__name__}",
             partial(fit, ranker, {}, propensities=value), ValueError, message)
        for name, (value, message) in PROPENSITIES.items()
        for ranker in SMALL
    ),
    *(
        Case(f"{name} of {ranker.__name__}", partial(fit, ranker, parameters, **given),
             ValueError, message)
        for name, (parameters, given, message) in COMBINATIONS.items()
        for ranker in SMALL
    ),
    Case(
        "partial_fit without positions",
        partial(partial_fit, LambdaRankRanker, BIASED),
        ValueError,
        "positions is None, but position_bias='additive' learns the bias",
    ),
    Case(
        "positions from 1 for ratios",
        partial(TREES, {"position_bias": "pairwise"}, positions=np.array(SHOWN) + 1),
        ValueError,
        "positions has no 0 in the lists that have a clicked document and another",
    ),
    Case(
        "ratios of a network",
        partial(RANKNET, {"position_bias": "pairwise"}, positions=SHOWN),
        ValueError,
        "position_bias must be one of (None, 'additive'), got 'pairwise'",
    ),
    Case(
        "ratios and an objective of one's own",
        partial(TREES, {"position_bias": "pairwise", "objective": returns}),
        ValueError,
        "position_bias='pairwise' weighs pairs, and objective is a function",
    ),
    Case(
        "propensities and an objective of one's own",
        partial(TREES, {"objective": returns}, propensities=KNOWN),
        ValueError,
        "propensities weigh pairs, and objective is a function",
    ),
    Case(
        "propensities and tied pairs",
        partial(RANKNET, {"tied_pairs": True}, propensities=KNOWN),
        ValueError,
        "propensities weigh a pair by its clicked document, and with tied_pairs=True",
    ),
    Case(
        "propensities and preferences",
        partial(RANKNET, {}, y=None, pairs=[[0, 1]], propensities=KNOWN),
        ValueError,
        "propensities corrects clicks, and pairs are preferences in place of clicks",
    ),
    Case(
        "a position bias and preferences",
        partial(RANKNET, BIASED, y=None, pairs=[[0, 1]], positions=SHOWN),
        ValueError,
        "position_bias corrects clicks, and pairs are preferences in place of clicks",
    ),
    accepted("floats", partial(TREES, BIASED, positions=np.float32(SHOWN))),
    accepted("positions from 1", partial(TREES, BIASED, positions=np.array(SHOWN) + 1)),
    accepted("gaps", partial(TREES, BIASED, positions=np.array(SHOWN) * 7)),
    accepted("a Series", partial(TREES, BIASED, positions=pd.Series(SHOWN))),
    accepted("a column", partial(TREES, BIASED, positions=np.array([SHOWN]).T)),
    accepted("unused positions", partial(TREES, {}, positions=SHOWN)),
    accepted("no regularization", partial(
        TREES, BIASED | {"bias_regularization": 0}, positions=SHOWN)),
    accepted("propensities as a Series", partial(
        TREES, {}, propensities=pd.Series(KNOWN))),
    accepted("positions and propensities", partial(
        TREES, {}, positions=SHOWN, propensities=KNOWN)),
    accepted("tiny propensities", partial(TREES, {}, propensities=[1e-300] * 12)),
]  # fmt: skip
