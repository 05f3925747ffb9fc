"""Columns that are no click log, and logs that models cannot be estimated from."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
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
from tests.bad_inputs import NAN, each, refused

LOG: dict[str, Any] = {
    "clicks": [1, 0, 0, 0, 1, 0],
    "groups": ["q"] * 6,
    "documents": ["a", "b", "c", "b", "a", "c"],
    "positions": [0, 1, 2, 0, 1, 2],
    "sessions": [1, 1, 1, 2, 2, 2],
}


def fit(model: type, parameters: dict[str, Any] = {}, **changed: Any) -> Any:  # noqa: B006
    return model(**parameters).fit(**LOG | changed)


def regress(classifier: Any = None, parameters: Any = {}, **changed: Any) -> Any:  # noqa: B006
    given = {"X": [[1.0], [0.0], [0.5]], "documents": [0, 1, 2, 1, 0, 2]} | changed
    model = RegressionEM(classifier=classifier or LogisticRegression(), **parameters)
    return model.fit(**LOG | given)


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


def with_value(column: str, row: int, value: Any) -> dict[str, Any]:
    values = list(LOG[column])
    values[row] = value
    return {column: values}


CLICK = "clicks must be 1 for a clicked and 0 for another document, but row 4 (query 'q"
PLACE = "positions must be integers from 0 (shown first) to 999, but row 4 (query 'q', "
#: what replaces columns of a log, and the message
COLUMNS: dict[str, tuple[dict[str, Any], str]] = {
    "no rows": ({name: [] for name in LOG}, "clicks is empty: give at least one row"),
    **{f"a click of {value}": (with_value("clicks", 4, value),
                               f"{CLICK}', session 2) has {value}")
       for value in (0.5, -1, NAN)},
    "a click of 2": (
        with_value("clicks", 4, 2), f"{CLICK}', session 2) has 2: if these are the cli"
        "cks of one user on one list, give numpy.minimum(clicks, 1); sums over lists",
    ),
    "no click": ({"clicks": [0] * 6}, "clicks has no 1: give a log"),
    **{f"a position of {value}": (with_value("positions", 4, value),
                                  f"{PLACE}session 2) has {value:g}")
       for value in (-1, 0.5, NAN, 10**6)},
    "too few positions": (
        {"positions": [0, 1]}, "positions must hold one number for each of the 6 rows",
    ),
    "a repeated position": (
        with_value("positions", 2, 1),
        "position 1 is repeated by row 1 (query 'q', session 1) and row 2 of the",
    ),
    "too few sessions": (
        {"sessions": [1, 2]}, "sessions has 2 values for the 6 rows of the log: give t",
    ),
    "a missing session": (with_value("sessions", 0, NAN), "sessions has a missing val"),
    "a session of two queries": (
        with_value("groups", 4, "r"),
        "session 2 has rows of the queries 'q' and 'r': give each list its own",
    ),
    "a missing query": (with_value("groups", 0, None), "groups has a missing value"),
    "too many documents": (
        {"documents": list("abcabca")}, "documents has 7 values for the 6 rows of the",
    ),
    "a document twice in a list": (
        with_value("documents", 1, "a"),
        "documents has 'a' twice in one list, row 0 (query 'q', session 1) and row 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "message"), each(COLUMNS))
def test_columns_that_are_no_log_are_refused(changed, message):
    refused(lambda: fit(DynamicBayesianNetwork, **changed), ValueError, message)


@pytest.mark.parametrize(
    "read",
    [partial(fit, PositionBasedModel), partial(fit, InterventionHarvesting),
     partial(fit, CascadeModel), regress, judge, prefer],
)  # fmt: skip
def test_all_that_take_a_log_read_it(read):
    for kind in ("a click of 2", "a position of 0.5", "a session of two queries",
                 "no click", "a repeated position"):  # fmt: skip
        changed, message = COLUMNS[kind]
        refused(lambda changed=changed: read(**changed), ValueError, message)


@pytest.mark.parametrize(
    "make",
    [
        lambda clicks: np.array(clicks, dtype=bool)[:, None],
        lambda clicks: pd.Series(clicks, dtype="Int64"),
    ],
)
def test_clicks_may_come_in_other_forms(make):
    model = fit(CascadeModel, clicks=make(LOG["clicks"]))
    assert model.propensities_[1] == 0.5


SWAPPED = {"documents": ["a", "b", "c"] * 2, "clicks": [1, 1, 0, 1, 0, 1]}
GAP = {name: values[:2] for name, values in LOG.items()} | {"positions": [0, 2]}
TURNED = {
    "clicks": [1, 1, 0],
    "groups": ["q"] * 3,
    "documents": ["a", "b", "b"],
    "positions": [0, 1, 0],
    "sessions": [1, 1, 2],
}
CHAIN = {
    "clicks": [1, 0, 0, 1],
    "groups": ["q"] * 4,
    "documents": ["a", "b", "a", "b"],
    "positions": [0, 1, 1, 2],
    "sessions": [1, 1, 2, 2],
}
NO_ESTIMATE: list[tuple[type, dict[str, Any], str]] = [
    (PositionBasedModel, {"clicks": [0, 1, 0, 0, 1, 0]},
     "positions: no click is at position 0, but propensities are relative to"),
    *((model, {"positions": [1, 2, 3] * 2},
       "positions: no row is at position 0, but propensities")
      for model in (InterventionHarvesting, PositionBasedModel, CascadeModel,
                    DynamicBayesianNetwork)),
    (InterventionHarvesting, TURNED,
     "positions: no document that was shown at position 0 and at another for the"),
    # nobody clicked at position 1, so it does not connect 0 and 2
    *((model, CHAIN, "positions 2 cannot be compared with position 0, because no")
      for model in (InterventionHarvesting, PositionBasedModel)),
    (PositionBasedModel, SWAPPED,
     "positions 1, 2 cannot be compared with position 0, because no chain"),
    (InterventionHarvesting, SWAPPED,
     "documents: none was shown at two positions for the same query, so effects of "
     "positions and documents cannot be separated: log lists of several rankers, or "
     "with random swaps; or give the features of documents to RegressionEM"),
    (PositionBasedModel, {}, "positions 2 cannot be compared with position 0"),
    (InterventionHarvesting, {}, "position 2 shows no document that was shown at"),
    *((model, GAP, "positions: session 1 shows position 2 but not 1, and the model")
      for model in (CascadeModel, DynamicBayesianNetwork)),
    (CascadeModel, {"clicks": [1, 0, 0, 1, 1, 0]},
     "clicks: session 2 has several, but in the cascade model a user stops at the"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "changed", "message"), NO_ESTIMATE)
def test_logs_without_an_estimate_are_refused(model, changed, message):
    refused(lambda: fit(model, **changed), ValueError, message)


def rows_of(*values: Any) -> dict[str, Any]:
    return {"documents": [0, 1, *values, 1, 0, 2]}


SCIKIT = "classifier must be a scikit-learn classifier with predict_proba, such as"
NO_WEIGHT = "classifier must take sample_weight in fit, but KNeighborsClassifier does n"
REGRESSION: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"X": None}, ValueError, "X has no rows: give"),
    ({"X": [[NAN], [1], [0]]}, ValueError, "Input X contains NaN"),
    *((rows_of(row), ValueError,
       f"documents must hold rows of X, 0 to 2, but row 2 has {row}")
      for row in (3, -1, 0.5, NAN)),
    ({"documents": [0, 0, 2, 1, 0, 2]}, ValueError,
     "documents has 0 twice in one list, row 0 (query 'q', session 1) and row 1"),
    ({"clicks": [0, 1, 0, 0, 1, 0]}, ValueError,
     "positions: no click is at position 0, but propensities are relative to"),
    *(({"classifier": wrong}, TypeError, SCIKIT)
      for wrong in (LinearRegression(), LogisticRegression, "trees")),
    *(({"classifier": wrong}, TypeError, NO_WEIGHT)
      for wrong in (KNeighborsClassifier(),
                    make_pipeline(StandardScaler(), KNeighborsClassifier()))),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "error", "message"), REGRESSION)
def test_what_regression_em_cannot_use_is_refused(changed, error, message):
    refused(lambda: regress(**changed), error, message)


PARAMETERS: list[tuple[str, Any, type[Exception], str]] = [
    ("max_iter", 0, ValueError, "max_iter must be an integer >= 1"),
    ("max_iter", 0.5, TypeError, "max_iter must be an integer >= 1"),
    ("tol", -1.0, ValueError, "tol must be a number in ["),
    ("tol", "x", TypeError, "tol must be a number in ["),
    ("perseverance", 0, ValueError, "perseverance must be a number in (0, 1] or None"),
    ("perseverance", 1.5, ValueError, "perseverance must be a number in (0, 1]"),
    ("perseverance", "x", TypeError, "perseverance must be a number in (0, 1]"),
]


@pytest.mark.parametrize(("name", "value", "error", "message"), PARAMETERS)
@pytest.mark.parametrize(
    "model",
    [PositionBasedModel, InterventionHarvesting, DynamicBayesianNetwork, RegressionEM],
)
def test_parameters_of_models_have_ranges(model, name, value, error, message):
    if model is RegressionEM and name != "perseverance":
        refused(lambda: regress(parameters={name: value}), error, message)
    elif name in model().get_params():
        refused(lambda: fit(model, {name: value}), error, message)


SUM = "is not a sum of weights of ranks over documents"
WEIGHT = "max_weight must be a number > 0 or None"
TEAMS = "teams must be 'a' or 'b', got"
STRATEGY = "strategy must be one of ('skip_above', 'last_click_skip_above', 'earlier_c"
OTHERS: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    *((judge, {"metric": name}, ValueError, SUM) for name in ("ndcg@10", "map")),
    (judge, {"estimator": "dr"}, ValueError,
     "estimator must be one of ('ips', 'snips'), got 'dr'"),
    (judge, {"max_weight": 0}, ValueError, WEIGHT),
    (judge, {"propensities": [1, 0.5]}, ValueError,
     "propensities has 2 values, but the log has position 2: give one for each"),
    (judge, {"propensities": [1, 0.5, 0.3] * 2}, ValueError,
     "propensities has a value for each of the 6 rows, but is read as one for each "
     "position: give those of positions 0 to 2 alone"),
    (judge, {"positions": [1, 2, 3] * 2, "propensities": [1, 0.5, 0.3, 0.2]},
     ValueError, "positions: no row is at position 0, but propensities are relative"),
    (judge, {"propensities": [1, 0, 0.5]}, ValueError,
     "propensities must be finite and > 0 at every position of the log, but posi"),
    (judge, {"propensities": [1, 0.5, NAN]}, ValueError, "position 2 has nan: l"),
    (judge, {"y_score": [1, 2, NAN, 1, 2, 3]}, ValueError,
     "y_score must be finite, but row 2 has nan"),
    (judge, {"baseline_score": [1]}, ValueError,
     "baseline_score must hold one number for each of the 6 rows, got shape (1,)"),
    # interleaving
    (interleave, {"scores_a": [1, 2], "scores_b": [1], "groups": [1, 1]}, ValueError,
     "scores_b must hold one number for each of the 2 rows, got shape (1,)"),
    (interleave, {"scores_a": [1, NAN], "scores_b": [1, 2], "groups": [1, 1]},
     ValueError, "scores_a must be finite to be ranked, but row 1 (query 1) has nan"),
    (interleave, {"scores_a": [1], "scores_b": [1], "groups": [1], "k": 0}, ValueError,
     "k must be an integer >= 1, got 0"),
    *((interleaving_test, {"clicks": [1, 0], "teams": teams, "sessions": [1, 1]},
       ValueError, TEAMS)
      for teams in (["a", "c"], [0, 1])),
    (interleaving_test, {"clicks": [1, 0], "teams": ["a"], "sessions": [1, 1]},
     ValueError, "teams has 1 values for the 2 rows of the log: give the team of"),
    # preferences
    (prefer, {"strategy": "skip"}, ValueError, STRATEGY),
    (prefer, {"strategy": ["skip_above", 1]}, ValueError, "got ['skip_above', 1]"),
    (prefer, {"strategy": ["skip_above"] * 2}, ValueError,
     "strategy must name each once, got ['skip_above', 'skip_above']"),
    (prefer, {"smoothing": -1}, ValueError, "smoothing must be a number >= 0"),
    (prefer, {"clicks": [1, 0, 0] * 2, "strategy": ("skip_above", "earlier_click")},
     ValueError,
     "clicks: strategy=('skip_above', 'earlier_click') finds no preference, as no "
     "session has a clicked document below one that was not or below another clic"),
    # simulation
    (simulate, {"model": "ubm"}, ValueError,
     "model must be one of ('pbm', 'cascade', 'dbn'), got 'ubm'"),
    (simulate, {"n_sessions": 0}, ValueError, "n_sessions must be an integer"),
    (simulate, {"k": 2000}, ValueError, "k must be an integer in [1, 1000], got 2000"),
    (simulate, {"eta": -1}, ValueError, "eta must be a number"),
    (simulate, {"noise": 2}, ValueError, "noise must be a number"),
    (simulate, {"perseverance": 2}, ValueError, "perseverance must be a number"),
    (simulate, {"y": [0, 0, 0]}, ValueError, "y holds grades of 0 only: give one"),
    (simulate, {"y": [0, -1, 1]}, ValueError, "y must hold finite relevance"),
    (simulate, {"scores": [[1, 2], [3, NAN], [1, 1]]}, ValueError,
     "scores[:, 1] must be finite to be ranked, but row 1 (query 1) has nan"),
    (simulate, {"scores": np.zeros((3, 0))}, ValueError, "scores has no column"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "changed", "error", "message"), OTHERS)
def test_what_else_clicks_cannot_be_used_with_is_refused(call, changed, error, message):
    refused(lambda: call(**changed), error, message)
