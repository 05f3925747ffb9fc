"""What docstrings state of arguments, attributes and errors is so, read from them."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker, plotting
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.clicks import (
    CascadeModel,
    DynamicBayesianNetwork,
    InterventionHarvesting,
    PositionBasedModel,
    RegressionEM,
    counterfactual_score,
    interleaving_test,
)
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker, best_blend
from sklearn_ltr.export import to_tree_model
from sklearn_ltr.inspection import (
    local_optimality,
    model_report,
    shap_values,
    weight_curves,
)
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.model_selection import RankerSearch, compare_rankers
from sklearn_ltr.preprocessing import CategoryPairs, SmoothClipScaler, TableVectorizer
from sklearn_ltr.scorers import make_ranking_scorer
from tests.bad_inputs import GROUPS, X, Y, fit, fitted
from tests.bad_inputs.test_every_argument import (
    LOG,
    PLACES,
    public_modules,
    sections,
)
from tests.plotting.test_convention import DISPLAYS

# --- reading a docstring ----------------------------------------------------------

ENTRY = re.compile(r"^(\*{0,2}\w[\w, *.]*?)(?: : (.*))?$", re.M)


def entries(section: str) -> list[tuple[list[str], str]]:
    """Return names, which may share an entry, and what is said of their type."""
    return [
        (names.replace("*", "").split(", "), kind)
        for names, kind in ENTRY.findall(section)
    ]


# --- arguments --------------------------------------------------------------------


def documented_calls() -> dict[str, tuple[Any, Any]]:
    """Return each public function, class and method that documents its arguments."""
    found: dict[str, tuple[Any, Any]] = {}
    for module in public_modules():
        for name in module.__all__:
            value = getattr(module, name)
            found[name] = value, value
            if inspect.isclass(value):
                for method, function in inspect.getmembers(value, callable):
                    owner = inspect.unwrap(getattr(function, "__func__", function))
                    if str(getattr(owner, "__module__", "")).startswith("sklearn_ltr"):
                        found[f"{name}.{method}"] = function, owner
    return {
        name: (function, owner)
        for name, (function, owner) in found.items()
        if "Parameters" in sections(owner) and not name.split(".")[-1].startswith("__")
    }


CALLS = documented_calls()
SCOPE = {"numpy": np, "sklearn": sklearn}  # of the defaults


@pytest.mark.parametrize("call", CALLS)
def test_arguments_are_documented_in_order_with_their_defaults(call):
    function, owner = CALLS[call]
    signature = dict(inspect.signature(function).parameters)
    signature.pop("self", None)
    found = entries(sections(owner)["Parameters"])
    assert {name for names, _ in found for name in names} == set(signature)
    order = [list(signature).index(names[0]) for names, _ in found]
    assert order == sorted(order)
    for names, kind in found:
        _, _, stated = kind.partition("default=")
        defaults = [signature[name].default for name in names]
        if stated:
            assert all(eval(stated, SCOPE) == default for default in defaults), names
        elif kind and len(names) == 1:  # others are as elsewhere
            assert defaults == [inspect.Parameter.empty], names


# --- attributes -------------------------------------------------------------------

VALIDATED = {"X_val": X, "y_val": Y, "groups_val": GROUPS}
CLICKED = VALIDATED | {"positions": PLACES}
LINEAR = {"hidden_layer_sizes": ()}
TWO = np.column_stack([Y, Y])  # labels
COLUMNS = {
    name: LOG[name]
    for name in ("clicks", "groups", "documents", "positions", "sessions")
}
FIRST_CLICKS = COLUMNS | {"clicks": (LOG["positions"] == 0).astype(int)}


def with_oob() -> BaggingRanker:
    return fit(BaggingRanker, max_samples=0.6, oob_score=True)


def compared() -> Any:
    given = {"users": GROUPS, "periods": GROUPS % 2}
    return compare_rankers([X[:, 0], X[:, 1]], None, Y, groups=GROUPS, **given)


def drawn(name: str) -> Any:
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")
    display = getattr(plotting, name)(**DISPLAYS[name][0]).plot()
    plt.close("all")
    return display


#: Objects that have, together, the attributes that a class documents
OBJECTS: dict[str, Any] = {
    "LambdaMARTRanker": lambda: [
        fit(LambdaMARTRanker, CLICKED, position_bias="additive"),
        fit(LambdaMARTRanker, VALIDATED, metric=None),
        LambdaMARTRanker().fit(X, TWO, groups=GROUPS),
    ],
    "LambdaRankRanker": lambda: [
        fit(LambdaRankRanker, CLICKED, position_bias="additive", **LINEAR),
        LambdaRankRanker(early_stopping=True).fit(X, TWO, groups=GROUPS),
    ],
    "RankNetRanker": lambda: [
        fit(RankNetRanker, CLICKED, position_bias="additive", **LINEAR),
        RankNetRanker(early_stopping=True).fit(X, TWO, groups=GROUPS),
    ],
    "MARTRegressor": lambda: [fitted(MARTRegressor)],
    "MARTClassifier": lambda: [fitted(MARTClassifier)],
    "BaggingRanker": lambda: [with_oob()],
    "BlendedRanker": lambda: [fitted(BlendedRanker)],
    "CalibratedRanker": lambda: [fitted(CalibratedRanker)],
    "RankerSearch": lambda: [fitted(RankerSearch)],
    **{
        model.__name__: lambda model=model: [model().fit(**COLUMNS)]
        for model in (PositionBasedModel, InterventionHarvesting)
    },
    "DynamicBayesianNetwork": lambda: [DynamicBayesianNetwork().fit(**COLUMNS)],
    "CascadeModel": lambda: [CascadeModel().fit(**FIRST_CLICKS)],
    "RegressionEM": lambda: [RegressionEM(LogisticRegression()).fit(X, **COLUMNS)],
    "CategoryPairs": lambda: [
        CategoryPairs().fit(
            pd.DataFrame(X, columns=list("abcd")).round().astype("category"),
            Y,
            groups=GROUPS,
        )
    ],
    "SmoothClipScaler": lambda: [
        SmoothClipScaler().fit(pd.DataFrame(X, columns=list("abcd")))
    ],
    "TableVectorizer": lambda: [
        TableVectorizer().fit(pd.DataFrame(X, columns=list("abcd")))
    ],
    "RankingScorer": lambda: [make_ranking_scorer("map")],
    "ModelReport": lambda: [
        model_report(fitted(LambdaMARTRanker), X, Y, groups=GROUPS)
    ],
    "ShapValues": lambda: [shap_values(fitted(LambdaMARTRanker), X)],
    "LocalOptimality": lambda: [
        local_optimality(fitted(RankNetRanker), X, Y, groups=GROUPS, n_directions=3)
    ],
    "WeightCurves": lambda: [weight_curves(fitted(RankNetRanker), X, Y, groups=GROUPS)],
    "BlendCurve": lambda: [best_blend(X[:, 0], X[:, 1], Y, groups=GROUPS)],
    "RankerComparison": lambda: [compared()],
    "PairComparison": lambda: compared().pairs,
    "PeriodComparison": lambda: compared().periods,
    "TreeModel": lambda: [to_tree_model(fitted(LambdaMARTRanker))],
    "Tree": lambda: list(to_tree_model(fitted(LambdaMARTRanker)).trees),
    "Feature": lambda: list(to_tree_model(fitted(LambdaMARTRanker)).features),
    "CounterfactualEstimate": lambda: [
        counterfactual_score(
            LOG["clicks"], -LOG["positions"], groups=LOG["groups"],
            positions=LOG["positions"], sessions=LOG["sessions"],
            propensities=LOG["propensities"],
        )
    ],
    "InterleavingResult": lambda: [
        interleaving_test([1, 0], teams=["a", "b"], sessions=[1, 1])
    ],
    **{name: lambda name=name: [drawn(name)] for name in DISPLAYS},
}  # fmt: skip
CLASSES = {
    name: getattr(module, name)
    for module in public_modules()
    for name in module.__all__
    if "Attributes" in sections(getattr(module, name))
}
ARRAY = re.compile(r"ndarrays? of shape \((.*?)\)(?:, (float64|int\d+|bool))?")


@cache
def objects(name: str) -> list[Any]:
    return OBJECTS[name]()


def check(value: Any, kind: str, sizes: dict[str, int]) -> None:
    """Check that a value is of the kind that a docstring states."""
    if found := ARRAY.match(kind):
        shape = [size for size in found[1].split(", ") if size.strip(",")]
        shape = [size.strip(",") for size in shape]
        assert isinstance(value, np.ndarray)
        assert value.ndim == len(shape)
        assert found[2] is None or value.dtype == found[2]
        for words, size in zip(shape, value.shape, strict=True):
            name, _, more = words.partition(" + ")
            if name.isidentifier():
                assert (
                    sizes.setdefault(name, size - int(more or 0)) + int(more or 0)
                    == size
                )
            else:
                assert int(name) == size
    elif found := re.match(r"(list of )?matplotlib (\w+)", kind):
        for artist in value if found[1] else [value]:
            one = artist.flat[0] if isinstance(artist, np.ndarray) else artist
            assert found[2] in {kind.__name__ for kind in type(one).__mro__}
    elif kind.startswith("float"):
        assert isinstance(value, float)
    elif kind == "int":
        assert isinstance(value, (int, np.integer))
        assert not isinstance(value, bool)
    elif kind.startswith(("dict", "list", "bool", "str", "tuple")):
        of = {"dict": dict, "list": list, "bool": bool, "str": str, "tuple": tuple}
        assert isinstance(value, of[re.match(r"\w+", kind)[0]])


@pytest.mark.parametrize("name", CLASSES)
def test_attributes_are_what_their_docstring_states(name):
    found = {
        attribute: kind
        for names, kind in entries(sections(CLASSES[name])["Attributes"])
        for attribute in names
    }
    for one in objects(name):
        sizes = {
            of: getattr(one, attribute)
            for of, attribute in {
                "n_iter": "n_iter_",
                "n_features": "n_features_in_",
            }.items()
            if hasattr(one, attribute)
        }
        for attribute, kind in found.items():
            value = getattr(one, attribute, None)
            if value is not None:
                check(value, kind, sizes)
            elif hasattr(one, attribute):
                assert "None" in kind, attribute
    there = {a for one in objects(name) for a in dir(one)}
    assert set(found) - there <= {"feature_names_in_"}  # X has no names
    if issubclass(CLASSES[name], BaseEstimator):
        learned = {a for a in there if a.endswith("_") and not a.startswith("_")}
        assert learned - set(found) <= {"intercept_"}  # named beside `coef_`


@pytest.mark.parametrize(
    "name", [name for name, cls in CLASSES.items() if hasattr(cls, "_attributes")]
)
def test_fitted_attributes_are_declared_with_the_shape_of_their_docstring(name):
    kinds = {
        attribute: kind
        for names, kind in entries(sections(CLASSES[name])["Attributes"])
        for attribute in names
    }
    declared = CLASSES[name]._attributes
    for one in objects(name):
        found = set(vars(one)) - set(one.get_params(deep=False))
        assert found <= declared.keys()
        assert {n for n, a in declared.items() if not a.when} <= found
    for attribute, kind in kinds.items():
        if attribute in declared:  # others are properties
            assert declared[attribute].shape in kind, attribute


@pytest.mark.parametrize(
    "name", [name for name, cls in CLASSES.items() if hasattr(cls, "_parameters")]
)
def test_no_word_of_shared_entries_is_left_to_fill_in(name):
    words = r"(?<![\w\\^}])\{[a-z_]{3,}\}"  # braces of formulas are not alone
    assert not re.findall(words, inspect.getdoc(CLASSES[name]))
