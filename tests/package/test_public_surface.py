"""What is public, pinned: modules, their names, signatures, paths of saved models."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import sklearn_ltr
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.other_libraries import OTHER_CLASSES
from sklearn_ltr._core.parameters import Values, declared_values
from sklearn_ltr._core.public_names import public_names
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics._metric import METRICS

DOCS = Path(__file__).resolve().parents[2] / "docs"

#: Names by module; those of metrics follow from the registry
NAMES = {
    "sklearn_ltr": "LambdaMARTRanker LambdaRankRanker MissingGroupsWarning "
    "NewerVersionWarning NothingLearnedWarning RankNetRanker ShortClickLogWarning "
    "SplitQueriesWarning TorchNetwork UnscaledFeaturesWarning UnusedPositionsWarning "
    "ValidationRangeWarning",
    "calibration": "CalibratedRanker",
    "clicks": "CascadeModel CounterfactualEstimate DynamicBayesianNetwork "
    "InterleavingResult InterventionHarvesting PositionBasedModel RegressionEM "
    "counterfactual_score interleave interleaving_test preferences_from_clicks "
    "simulate_clicks",
    "dask": "DaskLambdaMARTRanker",
    "datasets": "dump_qrels dump_run join_features join_run load_feature_log "
    "load_judgments load_letor load_qrels load_run load_ubi make_ranking",
    "ensemble": "BaggingRanker BlendCurve BlendedRanker best_blend "
    "reciprocal_rank_fusion",
    "export": "Feature Tree TreeModel from_catboost from_json from_lightgbm "
    "from_ranklib from_tree_model from_xgboost json_schema register_skl2onnx "
    "to_catboost to_elasticsearch_ltr to_elasticsearch_ml to_json to_lightgbm to_onnx "
    "to_ranklib to_solr to_tree_model to_treelite to_vespa to_xgboost to_xgboost_dump",
    "inspection": "LocalOptimality ModelReport ScoreRegressor ShapValues WeightCurves "
    "compute_lambdas local_optimality model_report shap_values split_counts "
    "suspect_judgments trees_to_dataframe weight_curves",
    "mart": "MARTClassifier MARTRegressor",
    "metrics": " ".join(
        ["Metric get_metric rank_scores"]
        + [f"{name}_score {metric.__name__}" for name, metric in METRICS.items()]
    ),
    "model_selection": "GroupTimeSeriesSplit LetorFolds PairComparison "
    "PeriodComparison RankerComparison RankerSearch UserKFold compare_rankers "
    "group_train_test_split lambdamart_search_space",
    "plotting": "BlendCurveDisplay CutoffCurveDisplay FeatureImportancesDisplay "
    "ForcesDisplay GradeReliabilityDisplay ParetoDisplay PropensityCurveDisplay "
    "QueryComparisonDisplay RankerComparisonDisplay SearchTraceDisplay "
    "ShapBeeswarmDisplay "
    "ShapHeatmapDisplay ShapValuesDisplay TrainingCurveDisplay TreeDisplay "
    "WeightCurvesDisplay",
    "preprocessing": "CategoryPairs SmoothClipScaler TableVectorizer",
    "ray": "RayLambdaMARTRanker",
    "scorers": "MissingGroupsError RankingScorer make_ranking_scorer",
    "spark": "SparkLambdaMARTModel SparkLambdaMARTRanker",
}
PUBLIC = {
    name if name == "sklearn_ltr" else f"sklearn_ltr.{name}": names.split()
    for name, names in NAMES.items()
}
#: Without its library, the import of this module is an error that names it
HAS_PYSPARK = importlib.util.find_spec("pyspark") is not None
IMPORTED = {
    module: names
    for module, names in PUBLIC.items()
    if HAS_PYSPARK or module != "sklearn_ltr.spark"
}
ESTIMATORS = [
    value
    for module, names in IMPORTED.items()
    for value in (getattr(importlib.import_module(module), name) for name in names)
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
    if "__init__" in vars(value) and inspect.signature(value).parameters
]


def test_the_public_modules_are_these_and_no_others():
    found = {"sklearn_ltr"} | {
        module.name
        for module in pkgutil.walk_packages(sklearn_ltr.__path__, "sklearn_ltr.")
        if not any(part.startswith("_") for part in module.name.split("."))
    }
    assert found == set(PUBLIC)


@pytest.mark.parametrize("module", IMPORTED)
def test_the_names_of_a_public_module_are_these(module):
    public = importlib.import_module(module)
    assert sorted(public.__all__) == sorted(PUBLIC[module])
    assert all(hasattr(public, name) for name in public.__all__)
    assert public.__doc__
    # saved models refer to them by these places
    assert {getattr(public, name).__module__ for name in public.__all__} == {module}


IMPORT_WITHOUT = """
import sys
sys.modules["pyspark"] = None
import sklearn_ltr.spark
"""


def test_a_module_without_its_library_says_how_to_install_it():
    command = [sys.executable, "-c", IMPORT_WITHOUT]
    done = subprocess.run(command, capture_output=True, text=True)
    (*_, said) = done.stderr.splitlines()
    assert said.startswith("ImportError: sklearn_ltr.spark requires pyspark")
    assert 'python -m pip install ".[spark]"' in said


@pytest.mark.parametrize(("module", "name", "owner"), [
    ("sklearn_ltr", "compare_rankers", "sklearn_ltr.model_selection"),
    ("sklearn_ltr.ensemble", "LambdaMARTRanker", "sklearn_ltr"),
    ("sklearn_ltr.metrics", "BaggingRanker", "sklearn_ltr.ensemble"),
])  # fmt: skip
def test_a_name_of_another_module_is_an_error_that_names_it(module, name, owner):
    message = f"{name} is not in {module}: from {owner} import {name}"
    with pytest.raises(ImportError):  # by Python, in its own words
        exec(f"from {module} import {name}")
    found = importlib.import_module(module)
    with pytest.raises(AttributeError, match=f"^{re.escape(message)}$"):
        getattr(found, name)
    assert not hasattr(found, name)  # which tools ask of each module
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = found.no_such_name


@pytest.mark.parametrize(("theirs", "ours"), OTHER_CLASSES.items())
def test_a_class_of_another_library_is_told_its_name_here(theirs, ours):
    owner = "sklearn_ltr.mart" if ours.startswith("MART") else "sklearn_ltr"
    assert ours in PUBLIC[owner]
    for module in (sklearn_ltr, sklearn_ltr.mart):
        message = f"{theirs} is not in {module.__name__}: from {owner} import {ours}"
        with pytest.raises(AttributeError, match=f"^{re.escape(message)}$"):
            getattr(module, theirs)
        assert not hasattr(module, theirs)


def test_public_names_are_read_from_the_files():
    assert public_names() == {
        name: module for module, names in PUBLIC.items() for name in names
    }


ASK_FOR_A_NAME = """
import sys, sklearn_ltr
before = set(sys.modules)
print([hasattr(sklearn_ltr, name) for name in ("anything", "ndcg_score", "LightGBM")])
print(set(sys.modules) - before)
"""


def test_asking_for_a_name_imports_nothing():
    command = [sys.executable, "-c", ASK_FOR_A_NAME]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "[False, False, False]\nset()\n"


def documented(estimator: type) -> dict[str, str]:
    """Return what the docstring says of each parameter after its name."""
    (section,) = re.findall(
        r"Parameters\n-+\n(.*?)\n(?:Attributes|\w+)\n---",
        inspect.getdoc(estimator),
        re.DOTALL,
    )
    return {
        name: line
        for names, line in re.findall(r"^(\w[\w, ]*) : (.*)$", section, re.MULTILINE)
        for name in names.split(", ")
    }


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_are_documented_in_order_with_their_defaults(estimator):
    signature = inspect.signature(estimator).parameters
    assert list(documented(estimator)) == list(signature)
    for name, line in documented(estimator).items():
        default = signature[name].default
        allowed = {str(default), repr(default).replace("'", '"')}
        if isinstance(default, float):
            allowed.add(f"{default:.0e}".replace("e-0", "e-"))
        given = line.partition("default=")[2] or repr(inspect.Parameter.empty)
        assert given in allowed, name


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
            line = documented(estimator)[name]
            assert line.partition(", default=")[0] == values.in_words(), name
            default = inspect.signature(estimator).parameters[name].default
            assert values.read_as(name, default) == default


def table_of_parameters() -> dict[str, dict[str, tuple[str, str]]]:
    """Return default and advice by group and parameter, as the guide gives them."""
    page = (DOCS / "guide" / "tuning.md").read_text(encoding="utf-8")
    table = page.partition("## All parameters of LambdaMART")[2]
    groups: dict[str, dict[str, tuple[str, str]]] = {}
    _, *rows = re.findall(r"^\| (\S.*?) \| (.*?) ?\| (.*?) ?\|$", table, re.M)
    for name, default, advice in rows:
        if name.startswith("**"):
            group = groups[name.strip("*")] = {}
        else:
            group[name.strip("`")] = default.strip("`"), advice
    return groups


def test_the_guide_has_the_parameters_of_lambdamart_as_the_class_has_them():
    groups = table_of_parameters()
    rows = {name: row for group in groups.values() for name, row in group.items()}
    signature = inspect.signature(LambdaMARTRanker).parameters
    assert list(rows) == list(signature)
    docstring = " ".join(inspect.getdoc(LambdaMARTRanker).split())
    for name, (default, advice) in rows.items():
        assert default == repr(signature[name].default).replace("'", '"'), name
        entry = docstring.partition(f" {name} : ")[2].partition(" : ")[0]
        assert advice and advice in entry, name
    introduction = docstring.partition(" Parameters ---")[0].lower()
    for group, of_group in groups.items():
        first, *_, last = of_group
        words = (
            f"`{first}` to `{last}`" if len(of_group) > 2 else f"`{first}`, `{last}`"
        )
        assert f"{group} ({words})".lower() in introduction


@pytest.mark.parametrize("estimator", [MARTRegressor, MARTClassifier])
def test_mart_has_the_parameters_of_lambdamart_in_the_same_order(estimator):
    ours = list(inspect.signature(estimator).parameters)
    theirs = list(inspect.signature(LambdaMARTRanker).parameters)
    assert [p for p in ours if p in theirs] == [p for p in theirs if p in ours]
