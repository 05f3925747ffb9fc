"""What is public, pinned: modules, their names, signatures, paths of saved models."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys

import pytest
from sklearn.base import BaseEstimator

import sklearn_ltr
from sklearn_ltr._parameters import Values, declared_values
from sklearn_ltr.metrics._metric import METRICS

PUBLIC = {
    "sklearn_ltr": [
        "LambdaMARTRanker",
        "LambdaRankRanker",
        "MissingGroupsWarning",
        "NewerVersionWarning",
        "RankNetRanker",
        "SplitQueriesWarning",
        "TorchNetwork",
        "UnscaledFeaturesWarning",
    ],
    "sklearn_ltr.clicks": [
        "CascadeModel",
        "CounterfactualEstimate",
        "DynamicBayesianNetwork",
        "InterleavingResult",
        "InterventionHarvesting",
        "PositionBasedModel",
        "RegressionEM",
        "counterfactual_score",
        "interleave",
        "interleaving_test",
        "preferences_from_clicks",
        "simulate_clicks",
    ],
    "sklearn_ltr.dask": ["DaskLambdaMARTRanker"],
    "sklearn_ltr.datasets": [
        "dump_qrels",
        "dump_run",
        "join_run",
        "load_letor",
        "load_qrels",
        "load_run",
        "make_ranking",
    ],
    "sklearn_ltr.ensemble": [
        "BaggingRanker",
        "BlendCurve",
        "BlendedRanker",
        "best_blend",
    ],
    "sklearn_ltr.export": [
        "Feature",
        "Tree",
        "TreeModel",
        "from_catboost",
        "from_json",
        "from_lightgbm",
        "from_tree_model",
        "from_xgboost",
        "json_schema",
        "to_elasticsearch_ltr",
        "to_elasticsearch_ml",
        "to_json",
        "to_lightgbm",
        "to_onnx",
        "to_ranklib",
        "to_solr",
        "to_tree_model",
        "to_treelite",
        "to_vespa",
        "to_xgboost",
        "to_xgboost_dump",
    ],
    "sklearn_ltr.inspection": [
        "LocalOptimality",
        "ScoreRegressor",
        "ShapValues",
        "WeightCurves",
        "compute_lambdas",
        "local_optimality",
        "shap_values",
        "weight_curves",
    ],
    "sklearn_ltr.mart": ["MARTClassifier", "MARTRegressor"],
    "sklearn_ltr.metrics": sorted(
        [
            "Metric",
            "get_metric",
            "rank_scores",
            *(metric.__name__ for metric in METRICS.values()),
            *(f"{name}_score" for name in METRICS),
        ]
    ),
    "sklearn_ltr.model_selection": [
        "LetorFolds",
        "group_train_test_split",
        "lambdamart_search_space",
    ],
    "sklearn_ltr.plotting": [
        "BlendCurveDisplay",
        "CutoffCurveDisplay",
        "FeatureImportancesDisplay",
        "ForcesDisplay",
        "PropensityCurveDisplay",
        "QueryComparisonDisplay",
        "ShapHeatmapDisplay",
        "ShapValuesDisplay",
        "TrainingCurveDisplay",
        "WeightCurvesDisplay",
    ],
    "sklearn_ltr.scorers": [
        "MissingGroupsError",
        "RankingScorer",
        "make_ranking_scorer",
    ],
}

ESTIMATORS = [
    value
    for module, names in PUBLIC.items()
    for value in (getattr(importlib.import_module(module), name) for name in names)
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
    if "__init__" in vars(value)
]


def test_the_public_modules_are_these_and_no_others():
    found = {"sklearn_ltr"} | {
        module.name
        for module in pkgutil.walk_packages(sklearn_ltr.__path__, "sklearn_ltr.")
        if not any(part.startswith("_") for part in module.name.split("."))
    }
    assert found == set(PUBLIC)


@pytest.mark.parametrize("module", PUBLIC)
def test_the_names_of_a_public_module_are_these(module):
    public = importlib.import_module(module)
    assert sorted(public.__all__) == sorted(PUBLIC[module])
    assert all(hasattr(public, name) for name in public.__all__)
    assert public.__doc__


@pytest.mark.parametrize("module", PUBLIC)
def test_saved_models_refer_to_public_places_of_public_names(module):
    public = importlib.import_module(module)
    assert {getattr(public, name).__module__ for name in public.__all__} == {module}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_estimator_documents_its_parameters_in_the_order_of_its_signature(estimator):
    (section,) = re.findall(
        r"Parameters\n-+\n(.*?)\n(?:Attributes|\w+)\n---",
        inspect.getdoc(estimator),
        re.DOTALL,
    )
    documented = [
        name
        for names in re.findall(r"^(\w[\w, ]*) : ", section, re.MULTILINE)
        for name in names.split(", ")
    ]
    assert documented == list(inspect.signature(estimator).parameters)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_documented_defaults_are_those_of_the_signature(estimator):
    for name, parameter in inspect.signature(estimator).parameters.items():
        (line,) = re.findall(
            rf"^(?:\w+, )*{name}(?:, \w+)* : (.*)$", inspect.getdoc(estimator), re.M
        )
        documented = line.partition("default=")[2] or repr(inspect.Parameter.empty)
        allowed = {str(parameter.default), repr(parameter.default).replace("'", '"')}
        if isinstance(parameter.default, float):
            allowed.add(f"{parameter.default:.0e}".replace("e-0", "e-"))
        assert documented in allowed, name


def declared(estimator: type) -> dict[str, Values | None]:
    """Return the values of parameters: of the class that declares the most of them."""
    modules = [m for m in sys.modules.values() if m.__name__.startswith("sklearn_ltr.")]
    parts = {
        value for m in modules for value in vars(m).values() if inspect.isclass(value)
    }
    found = [
        declared_values(part)
        for part in parts
        if part.__name__.endswith("Parameters") and dataclasses.is_dataclass(part)
    ]
    names = set(inspect.signature(estimator).parameters)
    return max((values for values in found if values.keys() <= names), key=len)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_documented_values_are_those_that_are_declared(estimator):
    for name, values in declared(estimator).items():
        if values is not None:
            (line,) = re.findall(
                rf"^(?:\w+, )*{name}(?:, \w+)* : (.*)$", inspect.getdoc(estimator), re.M
            )
            assert line.partition(", default=")[0] == values.in_words(), name
            default = inspect.signature(estimator).parameters[name].default
            assert values.read_as(name, default) == default
