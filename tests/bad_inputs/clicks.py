"""Columns that are no click log, and logs that models cannot be estimated from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr.clicks import (
    CascadeModel,
    DynamicBayesianNetwork,
    InterventionHarvesting,
    PositionBasedModel,
    RegressionEM,
    counterfactual_score,
    interleave,
    interleaving_test,
    preferences_from_clicks,
    simulate_clicks,
)
from tests.bad_inputs import Case, accepted

NAN, INF = float("nan"), float("inf")
LOG: dict[str, Any] = {
    "clicks": [1, 0, 0, 0, 1, 0],
    "groups": ["q"] * 6,
    "documents": ["a", "b", "c", "b", "a", "c"],
    "positions": [0, 1, 2, 0, 1, 2],
    "sessions": [1, 1, 1, 2, 2, 2],
}
MODELS = {
    model.__name__: model
    for model in (
        PositionBasedModel,
        InterventionHarvesting,
        CascadeModel,
        DynamicBayesianNetwork,
    )
}


def fit(name: str, parameters: dict[str, Any] | None = None, **changed: Any) -> Any:
    return MODELS[name](**parameters or {}).fit(**LOG | changed)


def regress(parameters: dict[str, Any] | None = None, **changed: Any) -> Any:
    given = {"X": [[1.0], [0.0], [0.5]], "documents": [0, 1, 2, 1, 0, 2]} | changed
    classifier = {"classifier": LogisticRegression()}
    return RegressionEM(**classifier | (parameters or {})).fit(**LOG | given)


def judge(**changed: Any) -> Any:
    given = {name: value for name, value in LOG.items() if name != "documents"}
    given |= {"y_score": [1, 2, 3, 1, 2, 3], "propensities": [1, 0.5, 0.3]}
    return counterfactual_score(**given | changed)


def prefer(**changed: Any) -> Any:
    return preferences_from_clicks(**LOG | changed)


def simulate(**changed: Any) -> Any:
    return simulate_clicks(
        **{"y": [0, 1, 2], "scores": [3, 2, 1], "groups": [1, 1, 1]} | changed
    )


def replaced(column: str, row: int, value: Any) -> dict[str, Any]:
    values = list(LOG[column])
    values[row] = value
    return {column: values}


#: what replaces columns of a log, and the message of the ValueError
COLUMNS: dict[str, tuple[dict[str, Any], str]] = {
    "no rows": ({name: [] for name in LOG}, "clicks is empty: the log has no rows"),
    "a click of 2": (
        replaced("clicks", 1, 2),
        "clicks must be 1 for a clicked and 0 for another document, but row 1 (query "
        "'q', session 1) has 2",
    ),
    "half a click": (replaced("clicks", 4, 0.5), "(query 'q', session 2) has 0.5"),
    "a negative click": (replaced("clicks", 0, -1), "session 1) has -1"),
    "a missing click": (replaced("clicks", 0, NAN), "session 1) has nan"),
    "None as a click": (replaced("clicks", 0, None), "clicks must be numeric, but row"),
    "clicks as text": ({"clicks": list("010101")}, "clicks must be numeric, got dtype"),
    "None as clicks": ({"clicks": None}, "clicks is None: give one number per row"),
    "two columns of clicks": (
        {"clicks": np.zeros((6, 2))}, "clicks must hold one number for each of the 6 r",
    ),
    "no click": ({"clicks": [0] * 6}, "clicks has no 1: a log without a click says"),
    "a negative position": (
        replaced("positions", 3, -1),
        "positions must be integers from 0 (shown first) to 999, but row 3 (query 'q', "
        "session 2) has -1; leave rows that were not shown",
    ),
    "half a position": (replaced("positions", 1, 0.5), "session 1) has 0.5"),
    "a missing position": (replaced("positions", 1, NAN), "session 1) has nan"),
    "None as a position": (replaced("positions", 1, None), "positions must be numeric"),
    "an infinite position": (replaced("positions", 1, INF), "session 1) has inf"),
    "a huge position": (replaced("positions", 1, 10**6), "session 1) has 1e+06"),
    "None as positions": ({"positions": None}, "positions is None: give one number"),
    "too few positions": (
        {"positions": [0, 1]}, "positions must hold one number for each of the 6 rows",
    ),
    "a repeated position": (
        replaced("positions", 2, 1),
        "position 1 is repeated: row 1 (query 'q', session 1) and row 2 of the same",
    ),
    "None as sessions": ({"sessions": None}, "sessions is None: give the session"),
    "too few sessions": (
        {"sessions": [1, 2]}, "sessions has 2 values for the 6 rows of the log: give t",
    ),
    "a missing session": (replaced("sessions", 0, NAN), "sessions has a missing value"),
    "a session of two queries": (
        replaced("groups", 4, "r"),
        "session 2 has rows of the queries 'q' and 'r': a session is one list that was",
    ),
    "None as groups": ({"groups": None}, "groups is None: give the query of each row"),
    "a missing query": (replaced("groups", 0, None), "groups has a missing value"),
    "a dict of groups": ({"groups": {}}, "groups is a dict, which has no order of row"),
}  # fmt: skip
DOCUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "None as documents": (
        {"documents": None}, "documents is None: give the document of each row",
    ),
    "too many documents": (
        {"documents": list("abcabca")}, "documents has 7 values for the 6 rows of the",
    ),
    "a missing document": (replaced("documents", 0, None), "documents has a missing"),
    "a document twice in a list": (
        replaced("documents", 1, "a"),
        "documents has 'a' twice in one list: row 0 (query 'q', session 1) and row 1",
    ),
}  # fmt: skip
CASES = [
    Case(f"{kind} to {name}", partial(fit, name, **changed), ValueError, message)
    for name in MODELS
    for kind, (changed, message) in (COLUMNS | DOCUMENTS).items()
]
CASES += [
    Case(f"{kind} to an estimate", partial(judge, **changed), ValueError, message)
    for kind, (changed, message) in COLUMNS.items()
    if kind != "no rows"
]
CASES += [
    Case(f"{kind} to preferences", partial(prefer, **changed), ValueError, message)
    for kind, (changed, message) in (COLUMNS | DOCUMENTS).items()
]
CASES += [
    Case(f"{kind} to regression EM", partial(regress, **changed), ValueError, message)
    for kind, (changed, message) in COLUMNS.items()
]
REGRESSION: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no features": (lambda: regress(X=None), ValueError, "X has no rows: give"),
    "features without rows": (
        lambda: regress(X=np.zeros((0, 2))), ValueError, "X has no rows",
    ),
    "a document beyond X": (
        lambda: regress(documents=[0, 1, 3, 1, 0, 2]), ValueError,
        "documents must hold rows of X, 0 to 2, but row 2 has 3",
    ),
    "a negative document": (
        lambda: regress(documents=[0, 1, -1, 1, 0, 2]), ValueError, "row 2 has -1",
    ),
    "half a document": (
        lambda: regress(documents=[0, 1, 0.5, 1, 0, 2]), ValueError, "row 2 has 0.5",
    ),
    "a missing document of X": (
        lambda: regress(documents=[0, 1, NAN, 1, 0, 2]), ValueError, "row 2 has nan",
    ),
    "documents of text": (
        lambda: regress(documents=list("abcbac")), ValueError,
        "documents must be numeric, got dtype",
    ),
    "None as documents of X": (
        lambda: regress(documents=None), ValueError, "documents is None: give one",
    ),
    "a document twice in a list of X": (
        lambda: regress(documents=[0, 0, 2, 1, 0, 2]), ValueError,
        "documents has 0 twice in one list: row 0 (query 'q', session 1) and row 1",
    ),
    "no click at position 0 to regression EM": (
        lambda: regress(clicks=[0, 1, 0, 0, 1, 0]), ValueError,
        "positions: no click is at position 0, and propensities are relative to",
    ),
    "NaN as a feature": (
        lambda: regress(X=[[NAN], [1], [0]]), ValueError, "Input X contains NaN",
    ),
    "a regressor as classifier": (
        lambda: regress({"classifier": LinearRegression()}), TypeError,
        "classifier must be a scikit-learn classifier with predict_proba, such as",
    ),
    "a class as classifier": (
        lambda: regress({"classifier": LogisticRegression}), TypeError,
        "classifier must be a scikit-learn classifier with predict_proba, such as",
    ),
    "text as classifier": (
        lambda: regress({"classifier": "trees"}), TypeError, "LogisticRegression(), go",
    ),
    "a classifier without weights": (
        lambda: regress({"classifier": KNeighborsClassifier()}), TypeError,
        "classifier must take sample_weight in fit, and KNeighborsClassifier does not",
    ),
    "a pipeline without weights": (
        lambda: regress(
            {"classifier": make_pipeline(StandardScaler(), KNeighborsClassifier())}
        ),
        TypeError, "and KNeighborsClassifier does not",
    ),
    "no iteration of regression EM": (
        lambda: regress({"max_iter": 0}), ValueError, "max_iter must be an integer",
    ),
    "a negative tol of regression EM": (
        lambda: regress({"tol": -1.0}), ValueError, "tol must be a number in [1e-50",
    ),
}  # fmt: skip
CASES += [Case(what, *row) for what, row in REGRESSION.items()]
GAP: dict[str, Any] = {
    "clicks": [1, 0], "groups": ["q"] * 2, "documents": ["a", "b"],
    "positions": [0, 2], "sessions": [1, 1],
}  # fmt: skip
NO_SWAPS = {
    "documents": ["a", "b", "c"] * 2,
    "clicks": [1, 1, 0, 1, 0, 1],
}
NO_ESTIMATE: dict[str, tuple[str, dict[str, Any], str]] = {
    "no click at position 0": (
        "PositionBasedModel", {"clicks": [0, 1, 0, 0, 1, 0]},
        "positions: no click is at position 0, and propensities are relative to",
    ),
    "no row at position 0": (
        "InterventionHarvesting", {"positions": [1, 2, 3] * 2},
        "positions: no row is at position 0, and propensities",
    ),
    "one order": (
        "PositionBasedModel", NO_SWAPS,
        "positions 1, 2 cannot be compared with position 0: no chain of clicked",
    ),
    "one order to harvest": (
        "InterventionHarvesting", NO_SWAPS,
        "documents: none was shown at two positions for the same query",
    ),
    "a position without swaps": (
        "PositionBasedModel", {}, "positions 2 cannot be compared with position 0",
    ),
    "a position without swaps to harvest": (
        "InterventionHarvesting", {}, "position 2 shows no document that was shown at",
    ),
    "a gap": (
        "CascadeModel", GAP,
        "positions: session 1 shows position 2 but not 1, and what a user who reads",
    ),
    "a gap in a network": (
        "DynamicBayesianNetwork", GAP, "positions: session 1 shows position 2 but not",
    ),
    "two clicks in a cascade": (
        "CascadeModel", {"clicks": [1, 0, 0, 1, 1, 0]},
        "clicks: session 2 has several, and in the cascade model a user stops at the",
    ),
}  # fmt: skip
CASES += [
    Case(kind, partial(fit, name, **changed), ValueError, message)
    for kind, (name, changed, message) in NO_ESTIMATE.items()
]
EM = ("PositionBasedModel", "InterventionHarvesting", "DynamicBayesianNetwork")
PARAMETERS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no iteration": ({"max_iter": 0}, ValueError, "max_iter must be an integer >= 1"),
    "half an iteration": ({"max_iter": 0.5}, TypeError, "max_iter must be an integer"),
    "a negative tol": ({"tol": -1.0}, ValueError, "tol must be a number in [1e-50"),
    "a tol of text": ({"tol": "x"}, TypeError, "tol must be a number"),
}  # fmt: skip
CASES += [
    Case(f"{kind} of {name}", partial(fit, name, parameters), error, message)
    for name in EM
    for kind, (parameters, error, message) in PARAMETERS.items()
]
CASES += [
    Case(
        f"a perseverance of {value!r}",
        partial(fit, "DynamicBayesianNetwork", {"perseverance": value}),
        error,
        "perseverance must be a number in (0, 1] or None",
    )
    for value, error in ((0, ValueError), (1.5, ValueError), ("x", TypeError))
]

# --- judging --------------------------------------------------------------------------

SUM = "is no sum of weights of ranks over documents"
OTHERS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "NDCG to an estimate": (lambda: judge(metric="ndcg@10"), ValueError, SUM),
    "MAP to an estimate": (lambda: judge(metric="map"), ValueError, SUM),
    "an unknown metric": (lambda: judge(metric="dgc"), ValueError, "unknown metric"),
    "a number as metric": (lambda: judge(metric=3), TypeError, "metric must be a name"),
    "an unknown estimator": (
        lambda: judge(estimator="dr"), ValueError,
        "estimator must be one of ('ips', 'snips'), got 'dr'",
    ),
    "a weight of 0": (
        lambda: judge(max_weight=0), ValueError, "max_weight must be a number > 0 or N",
    ),
    "a weight of text": (
        lambda: judge(max_weight="x"), TypeError, "max_weight must be a number > 0 or",
    ),
    "too few propensities": (
        lambda: judge(propensities=[1, 0.5]), ValueError,
        "propensities has 2 values, but the log has position 2: give one for each",
    ),
    "a propensity of 0": (
        lambda: judge(propensities=[1, 0, 0.5]), ValueError,
        "propensities must be finite and > 0 at every position of the log, but posi",
    ),
    "a missing propensity": (
        lambda: judge(propensities=[1, 0.5, NAN]), ValueError, "position 2 has nan: l",
    ),
    "None as propensities": (
        lambda: judge(propensities=None), ValueError, "propensities is None: give one",
    ),
    "NaN as a score": (
        lambda: judge(y_score=[1, 2, NAN, 1, 2, 3]), ValueError,
        "y_score must be finite, but row 2 has nan",
    ),
    "too few scores of a baseline": (
        lambda: judge(baseline_score=[1]), ValueError,
        "baseline_score must hold one number for each of the 6 rows, got shape (1,)",
    ),
    "too few scores to interleave": (
        lambda: interleave([1, 2], [1], groups=[1, 1]), ValueError,
        "scores_b must hold one number for each of the 2 rows, got shape (1,)",
    ),
    "NaN to interleave": (
        lambda: interleave([1, NAN], [1, 2], groups=[1, 1]), ValueError,
        "scores_a must be finite to be ranked, but row 1 (query 1) has nan",
    ),
    "a k of 0 to interleave": (
        lambda: interleave([1], [1], groups=[1], k=0), ValueError,
        "k must be an integer >= 1, got 0",
    ),
    "no groups to interleave": (
        lambda: interleave([1], [1], groups=None), ValueError, "groups is None: give",
    ),
    "no rows to a test": (
        lambda: interleaving_test([], teams=[], sessions=[]), ValueError,
        "clicks is empty: the log has no rows",
    ),
    "a third team": (
        lambda: interleaving_test([1, 0], teams=["a", "c"], sessions=[1, 1]),
        ValueError, "teams must be 'a' or 'b', got 'c'",
    ),
    "teams that are numbers": (
        lambda: interleaving_test([1, 0], teams=[0, 1], sessions=[1, 1]),
        ValueError, "teams must be 'a' or 'b', got",
    ),
    "too few teams": (
        lambda: interleaving_test([1, 0], teams=["a"], sessions=[1, 1]),
        ValueError, "teams has 1 values for the 2 rows of the log: give the team of",
    ),
    "a click of 3 to a test": (
        lambda: interleaving_test([1, 3], teams=["a", "b"], sessions=[1, 1]),
        ValueError, "clicks must be 1 for a clicked and 0 for another document",
    ),
    # preferences
    "an unknown strategy": (
        lambda: prefer(strategy="skip"), ValueError,
        "strategy must be one of ('skip_above', 'last_click_skip_above', 'earlier_clic",
    ),
    "no strategy": (lambda: prefer(strategy=[]), ValueError, "strategy must be one of"),
    "a number among strategies": (
        lambda: prefer(strategy=["skip_above", 1]), ValueError, "got ['skip_above', 1]",
    ),
    "a strategy twice": (
        lambda: prefer(strategy=["skip_above"] * 2), ValueError,
        "strategy names one twice: ['skip_above', 'skip_above']",
    ),
    "a negative smoothing": (
        lambda: prefer(smoothing=-1), ValueError, "smoothing must be a number >= 0",
    ),
    "a smoothing of text": (
        lambda: prefer(smoothing="x"), TypeError, "smoothing must be a number >= 0",
    ),
    "clicks without a preference": (
        lambda: prefer(clicks=[1, 0, 0] * 2, strategy=("skip_above", "earlier_click")),
        ValueError,
        "clicks: strategy=('skip_above', 'earlier_click') finds no preference, as no "
        "session has a clicked document below one that was not or below another clic",
    ),
    # simulation
    "an unknown user": (
        lambda: simulate(model="ubm"), ValueError,
        "model must be one of ('pbm', 'cascade', 'dbn'), got 'ubm'",
    ),
    "no session": (
        lambda: simulate(n_sessions=0), ValueError, "n_sessions must be an integer",
    ),
    "half a session": (
        lambda: simulate(n_sessions=0.5), TypeError, "n_sessions must be an integer",
    ),
    "a list of no document": (lambda: simulate(k=0), ValueError, "k must be an"),
    "a list of 2,000 documents": (
        lambda: simulate(k=2000), ValueError, "k must be at most 1000, got 2000",
    ),
    "a negative eta": (lambda: simulate(eta=-1), ValueError, "eta must be a number"),
    "NaN as eta": (lambda: simulate(eta=NAN), ValueError, "eta must be a number"),
    "a noise of 2": (lambda: simulate(noise=2), ValueError, "noise must be a number"),
    "a perseverance of 2 to simulate": (
        lambda: simulate(perseverance=2), ValueError, "perseverance must be a number",
    ),
    "grades of 0 only": (
        lambda: simulate(y=[0, 0, 0]), ValueError, "y holds grades of 0 only: no docum",
    ),
    "a negative grade": (
        lambda: simulate(y=[0, -1, 1]), ValueError, "y must hold finite relevance",
    ),
    "too few scores to simulate": (
        lambda: simulate(scores=[1, 2]), ValueError, "scores must hold one number for",
    ),
    "NaN as a score of a ranker": (
        lambda: simulate(scores=[[1, 2], [3, NAN], [1, 1]]), ValueError,
        "scores[:, 1] must be finite to be ranked, but row 1 (query 1) has nan",
    ),
    "no ranker": (
        lambda: simulate(scores=np.zeros((3, 0))), ValueError, "scores has no column",
    ),
    "None as scores": (lambda: simulate(scores=None), ValueError, "scores is None"),
    "a seed of text": (
        lambda: simulate(random_state="x"), ValueError, "cannot be used to seed",
    ),
}  # fmt: skip
CASES += [Case(what, *row) for what, row in OTHERS.items()]
CASES += [
    accepted(
        f"clicks as {what}",
        lambda make=make: (
            fit("CascadeModel", clicks=make(LOG["clicks"])).propensities_[1] == 0.5
        ),
    )
    for what, make in {
        "booleans": lambda clicks: np.array(clicks, dtype=bool),
        "floats": lambda clicks: np.array(clicks, dtype=float),
        "a series": pd.Series,
        "a nullable series": lambda clicks: pd.Series(clicks, dtype="Int64"),
        "a column": lambda clicks: np.array(clicks)[:, None],
    }.items()
]
