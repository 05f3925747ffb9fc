"""Every argument of what is public is read: what cannot be one is refused by name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import sklearn_ltr
from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.clicks import RegressionEM, simulate_clicks
from sklearn_ltr.export import to_json, to_lightgbm, to_ranklib, to_tree_model
from sklearn_ltr.inspection import ScoreRegressor
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.model_selection import LetorFolds, RankerSearch, compare_rankers
from sklearn_ltr.preprocessing import CategoryPairs, SmoothClipScaler, TableVectorizer
from tests.bad_inputs import GROUPS, SMALL, X, Y, fit, fitted

pytest.importorskip("matplotlib")

PLACES = np.concatenate([np.arange(size) for size in np.bincount(GROUPS)])
#: A good value of each argument that has no default, by its name
ONES = np.ones(len(Y))
GOOD: dict[str, Any] = {
    "X": X, "X_i": X, "X_j": X, "X_val": X, "y": Y, "y_val": Y, "y_true": Y,
    "grades": Y, "groups": GROUPS, "groups_val": GROUPS, "y_score": X[:, 0],
    "y_pred": X[:, 0],
    "y_score_a": X[:, 0], "y_score_b": X[:, 1], "scores": X[:, 0],
    "scores_1": X[:, 0], "scores_2": X[:, 1], "scores_a": X[:, 0],
    "scores_b": X[:, 1], "metric": "ndcg", "parts": GROUPS % 3,
    "response_method": "predict", "name": "m", "feature_set": "f",
    "features": {f"Column_{j}": {} for j in range(X.shape[1])},
    "path": "/nowhere", "missing": "zero", "y_scores": [X[:, 0], X[:, 1]],
}  # fmt: skip
FRAME = pd.DataFrame({"a": GROUPS, "b": Y}).astype("category")
LOG = simulate_clicks(Y, X, groups=GROUPS, n_sessions=400, k=5, eta=0.5, random_state=0)
#: The same for some of them
OTHERS: dict[str, dict[str, Any]] = {
    "sklearn_ltr.clicks": {
        name: LOG[name]
        for name in ("clicks", "groups", "documents", "positions", "sessions")
    } | {"propensities": LOG["propensities"], "y_score": LOG["positions"] * 1.0},
    "CascadeModel.fit": {"clicks": LOG["positions"] == 0},
    "simulate_clicks": {"groups": GROUPS},
    "interleave": {"groups": GROUPS},
    "interleaving_test": {
        "clicks": [1, 0], "teams": ["a", "b"], "sessions": [1, 1],
    },
    "MARTClassifier.fit": {"y": Y > 1, "y_val": Y > 1},
    "join_run": {
        "run": {"groups": [1], "documents": ["a"], "scores": [1]},
        "qrels": {"groups": [1], "documents": ["a"], "grades": [1]},
    },
    "load_judgments": {
        "judgments": {"groups": ["q"], "documents": ["a"], "grades": [1]},
        "grades": {1: 1},
    },
    "load_feature_log": {
        "responses": {"q": {"response": {"docs": [{"id": "a", "[features]": "f=1"}]}}},
        "groups": ["q"], "log": "[features]",
    },
    "join_features": {
        "rows": {"q": {"a": 1}},
        "log": {
            "data": np.ones((1, 1)), "groups": ["q"], "documents": ["a"],
            "feature_names": ["f"],
        },
    },
    "load_ubi": {
        "queries": [
            {"query_id": "s", "user_query": "q", "query_response_hit_ids": ["a"]},
            {"query_id": "s", "action_name": "click", "object_id": "a"},
        ],
    },
    "dump_qrels": {"groups": [1, 1], "documents": ["a", "b"], "grades": [1, 0]},
    "dump_run": {"groups": [1, 1], "documents": ["a", "b"], "scores": [1, 0]},
    **{
        f"ForcesDisplay.from_{what}": {
            "X": X[GROUPS == 0], "y": Y[GROUPS == 0], "groups": GROUPS[GROUPS == 0],
            "y_true": Y[GROUPS == 0], "y_score": X[GROUPS == 0, 0],
        }
        for what in ("estimator", "predictions")
    },
    "LambdaMARTRanker.fit": {"init_score": ONES},
    "ParetoDisplay.from_predictions": {
        "y_true": np.column_stack([Y, Y]), "y_score": {"a": [X[:, 0]]},
    },
    "sklearn_ltr.preprocessing": {"X": FRAME},
}  # fmt: skip
#: Options of estimators, with which they read all arguments
OPTIONS = SMALL | {TableVectorizer: {"cardinality_threshold": 1}}
#: Not read, or any object is one
FREE = {
    "ax": "of matplotlib",
    "name": "shown as it is",
    "LetorFolds.split y": "ignored, as scikit-learn's splitters do",
    "GroupTimeSeriesSplit.split y": "the same",
    "UserKFold.split y": "the same",
    "ScoreRegressor.fit": "the ranker is fitted",
    "SmoothClipScaler.fit y": "ignored, as scikit-learn's scalers do",
    "names": "shown as they are",
    "FeatureImportancesDisplay.from_importances": "of what scikit-learn returns",
}
#: What a message speaks of in place of an argument
SAYS = {
    "estimators": "object", "model": "object",
    "X_i": "X:", "X_j": "X:", "metrics": "metric",
    "random_state": "seed", "text": "JSON", "y_true": "y must",
    "BlendedRanker.fit X": "Input should have at least 1 dimension",
    "CalibratedRanker.fit X": "Input should have at least 1 dimension",
    "suspect_judgments X": "Input should have at least 1 dimension",
    "RankerSearch.fit X": "Input should have at least 1 dimension",
    **dict.fromkeys(("estimator", "estimator_a", "estimator_b", "ranker"), "object"),
}  # fmt: skip


@cache
def good_model(call: str) -> Any:
    """Return a good estimator for the call."""
    if "weight_curves" in call or "WeightCurves" in call or "optimality" in call:
        return fitted(RankNetRanker)
    if call == "PropensityCurveDisplay.from_estimators":
        return {"a": new(RegressionEM)}
    if "Propensity" in call:
        return fit(LambdaMARTRanker, {"positions": PLACES}, position_bias="additive")
    if "GradeReliability" in call:
        return fitted(CalibratedRanker)
    if "SearchTrace" in call:
        return fitted(RankerSearch)
    if "TrainingCurve" in call:
        return fit(LambdaMARTRanker, {"X_val": X, "y_val": Y, "groups_val": GROUPS})
    if call == "compare_rankers":
        return [fitted(LambdaMARTRanker), X[:, 0]]
    if "RankerComparison" in call:
        return compare_rankers([X[:, 0], X[:, 1]], None, Y, groups=GROUPS)
    if call.startswith("from_"):
        writers = {
            "from_json": to_json, "from_lightgbm": to_lightgbm,
            "from_ranklib": partial(to_ranklib, missing="zero"),
            "from_tree_model": to_tree_model,
        }  # fmt: skip
        return writers[call](fitted(MARTRegressor))
    return fitted(LambdaMARTRanker)


@cache
def new(cls: type) -> Any:
    """Return an instance, fitted if it is an estimator."""
    if cls in SMALL:
        return fitted(cls)
    if cls is LetorFolds:
        return LetorFolds(GROUPS % 3)
    if cls is RegressionEM:
        names = ("clicks", "groups", "documents", "positions", "sessions")
        return RegressionEM().fit(X, **{name: LOG[name] for name in names})
    if cls is CategoryPairs:
        return CategoryPairs().fit(FRAME, Y, groups=GROUPS)
    if cls is SmoothClipScaler:
        return SmoothClipScaler().fit(X)
    if cls is TableVectorizer:
        return TableVectorizer(**OPTIONS[cls]).fit(X)
    if cls is ScoreRegressor:
        return ScoreRegressor(fitted(LambdaMARTRanker))
    return cls()


def public_modules() -> list[Any]:
    names = [m.name for m in pkgutil.iter_modules(sklearn_ltr.__path__)]
    others = ("dask", "ray", "spark")  # have tests of their own
    names = [name for name in names if name[0] != "_" and name not in others]
    return [importlib.import_module(f"sklearn_ltr.{name}") for name in names] + [
        sklearn_ltr
    ]


def is_made(cls: type) -> bool:
    """Whether users make objects of a class: it is no result, warning or error."""
    is_optional = cls.__name__ == "TorchNetwork"  # see tests/networks
    is_result = is_dataclass(cls) or issubclass(cls, tuple | BaseException)
    return not (is_optional or is_result)


def methods(cls: type) -> dict[str, Any]:
    """Return the methods of our own that take data."""
    wanted = ("fit", "partial_fit", "predict", "rank", "score", "apply", "per_query")
    wanted += ("staged_", "decision_", "from_", "split", "train_", "swap_delta")
    wanted += ("transform",)
    return {
        name: method
        for name, method in inspect.getmembers(cls, callable)
        if name.startswith(wanted)
        and inspect.unwrap(getattr(method, "__func__", method)).__module__.startswith(
            "sklearn_ltr"
        )
    }


def public_calls() -> dict[str, tuple[Any, str, type | None]]:
    """Return each public function, class and method by name, its module and class."""
    found: dict[str, tuple[Any, str, type | None]] = {}
    for module in public_modules():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                found[name] = value, module.__name__, None
            elif inspect.isclass(value) and is_made(value):
                is_drawn = module.__name__.endswith("plotting")  # see tests/plotting
                if not (is_drawn or issubclass(value, BaseEstimator)):
                    found[name] = value, module.__name__, None
                for method, function in methods(value).items():
                    found[f"{name}.{method}"] = function, module.__name__, value
    return found


CALLS = public_calls()
KEYWORDS = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
ARGUMENTS = [
    (call, name)
    for call, (function, _, _) in CALLS.items()
    for name, argument in inspect.signature(function).parameters.items()
    if name != "self" and argument.kind not in KEYWORDS
]


SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n(.*?)(?=^\w[\w ]*\n-{3,}\n|\Z)", re.M | re.S)


def sections(documented: Any) -> dict[str, str]:
    """Return the text of each section of a docstring by its title."""
    return dict(SECTION.findall(inspect.getdoc(documented) or ""))


def documented_errors(call: str) -> set[str]:
    """Return the names of the errors that a docstring says are raised."""
    function = CALLS[call][0]
    owner = inspect.unwrap(getattr(function, "__func__", function))
    raises = sections(owner).get("Raises", "")
    return {
        name for line in re.findall(r"^\S.*", raises, re.M) for name in line.split(", ")
    }


def bound(call: str) -> Callable[..., Any]:
    """Return what is called: a method of an object, fitted but for `fit`."""
    function, _, cls = CALLS[call]
    method = call.partition(".")[2]
    if cls is None or inspect.ismethod(function):  # of the class
        return function
    if method in ("fit", "partial_fit"):
        return getattr(cls(**OPTIONS.get(cls, {})), method)
    return getattr(new(cls), method)


def good_arguments(call: str, argument: str) -> dict[str, Any]:
    """Return good values of the arguments that `argument` needs beside it."""
    signature = inspect.signature(CALLS[call][0]).parameters
    known = GOOD | OTHERS.get(CALLS[call][1], {}) | OTHERS.get(call, {})
    needed = {n for n, p in signature.items() if p.default is p.empty} & {
        n for n, p in signature.items() if p.kind not in KEYWORDS
    } - {"self"}
    # which may stand in place of grades
    if not argument.startswith("pair") or "y" in needed:
        needed |= {"y", "groups"} & set(signature)
    if argument.endswith("_val"):
        needed |= {"X_val", "y_val", "groups_val"} & set(signature)
    if argument == "init_score_val":
        needed.add("init_score")
    return {
        name: known[name] if name in known else good_model(call)
        for name in needed - {argument}
    }


@pytest.mark.parametrize(("call", "argument"), ARGUMENTS)
def test_what_is_no_value_of_an_argument_is_refused_by_name(call, argument):
    if {argument, call, f"{call} {argument}"} & FREE.keys():
        return
    given = good_arguments(call, argument) | {argument: object()}
    with pytest.raises((TypeError, ValueError, AttributeError)) as raised:
        result = bound(call)(**given)
        if inspect.isgenerator(result):
            next(result)
    words = {argument, SAYS.get(argument), SAYS.get(f"{call} {argument}")} - {None}
    assert any(word in str(raised.value) for word in words), raised.value
    documented = documented_errors(call)
    kinds = {kind.__name__ for kind in raised.type.__mro__}
    assert not documented or documented & kinds, raised.type
