"""What the pages of the documentation name exists."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker, TorchNetwork
from sklearn_ltr._core.estimators.base import PAGE, Estimator, page_template
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.export import json_schema
from sklearn_ltr.mart import MARTRegressor
from tests import coming_from
from tests.package.test_public_surface import IMPORTED, PUBLIC

DOCS = Path(__file__).resolve().parents[2] / "docs"
KEYWORD = re.compile(r"\b([A-Za-z_][A-Za-z_0-9]*)=")
DATA = make_ranking(20, random_state=0)
X, Y, GROUPS = StandardScaler().fit_transform(DATA.data), DATA.target, DATA.groups
FEW = {"random_state": 0, "max_iter": 2}
OURS: dict[str, dict[str, tuple[Any, dict[str, Any]]]] = {
    "ranklib": {
        "`-ranker 0` (MART)": (MARTRegressor, {}),
        "`-ranker 1` (RankNet)": (RankNetRanker, FEW),
        "`-ranker 5` (LambdaRank)": (LambdaRankRanker, FEW),
        "`-ranker 6` (LambdaMART)": (LambdaMARTRanker, {}),
        "`-ranker 9` (linear regression)": (LinearRegression, {}),
        "`-metric2t NDCG@10`": (LambdaMARTRanker, {"metric": "ndcg@10"}),
        "`-tree`, `-leaf`, `-shrinkage`": (
            LambdaMARTRanker,
            {"n_estimators": 5, "max_leaf_nodes": 10, "learning_rate": 0.1},
        ),
        "`-mls`": (LambdaMARTRanker, {"min_samples_leaf": 1}),
        "`-tc 256`": (LambdaMARTRanker, {"max_bins": 255}),
        "`-estop 100`": (
            LambdaMARTRanker,
            {"n_iter_no_change": 100, "early_stopping": True},
        ),
        "`-epoch`, `-layer`, `-node`, `-lr`": (
            RankNetRanker,
            {"max_iter": 2, "hidden_layer_sizes": (5,), "learning_rate_init": 0.01},
        ),
        "`-tvs 0.8`": (
            LambdaMARTRanker,
            {"early_stopping": True, "validation_fraction": 0.2},
        ),
    },
    "allrank": {
        "`loss: lambdaLoss`, `weighing_scheme: ndcgLoss1` to `lambdaRank_scheme`": (
            LambdaRankRanker,
            FEW | {"metric": "ndcg"},
        ),
        "`loss: rankNet`": (RankNetRanker, FEW),
        "`model.fc_model.sizes`": (
            LambdaRankRanker,
            FEW | {"hidden_layer_sizes": (8, 4)},
        ),
        "`model.fc_model.activation`": (LambdaRankRanker, FEW | {"activation": "tanh"}),
        "`optimizer: Adam`, `lr`": (
            LambdaRankRanker,
            FEW | {"solver": "adam", "learning_rate_init": 0.01},
        ),
        "`training.epochs`": (LambdaRankRanker, FEW),
        "`training.early_stopping_patience`": (
            LambdaRankRanker,
            FEW | {"n_iter_no_change": 1, "early_stopping": True},
        ),
        "`data.slate_length` (padding)": (LambdaRankRanker, FEW),
        '`metrics: ["ndcg_5"]`': (LambdaRankRanker, FEW | {"metric": "ndcg@5"}),
    },
}
RUN = [(page, cell) for page, cells in OURS.items() for cell in cells]
# shown by the pages of metrics, tuning and the reference, which the tests run
ELSEWHERE = {
    "`-metric2T MAP`",
    "`-norm zscore`",
    "`-kcv 5`",
    "a model of your own",  # tests/networks/
}


@pytest.mark.parametrize(("page", "cell"), RUN)
def test_what_replaces_the_setting_of_ranklib_or_allrank_runs(page, cell):
    model, settings = OURS[page][cell]
    fit = {} if model in (MARTRegressor, LinearRegression) else {"groups": GROUPS}
    assert np.isfinite(model(**settings).fit(X, Y, **fit).predict(X)).all()
    (ours,) = [ours for theirs, ours in coming_from.rows(page) if theirs == cell]
    named = {*KEYWORD.findall(ours), *re.findall(r"`([a-z_]+)`", ours)}
    assert named <= set(settings), ours


@pytest.mark.parametrize("page", OURS)
def test_every_row_of_the_page_runs(page):
    cells = [theirs for theirs, _ in coming_from.rows(page)]
    assert [cell for cell in cells if cell not in ELSEWHERE] == list(OURS[page])


def test_the_reference_lists_every_public_name_and_module_once():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   ~?(sklearn_ltr\S*)$", text, flags=re.M)
    names = [f"{module}.{name}" for module, names in PUBLIC.items() for name in names]
    assert sorted(listed) == sorted([*PUBLIC, *names])


@pytest.mark.parametrize("page", ["guide/index", "coming_from/index", "more"])
def test_a_page_that_lists_pages_says_a_line_about_each_in_their_order(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    lines = re.findall(r"^(?:-|\d\.) (\[.+?\): \S.*)$", text, flags=re.M)
    linked = [name for line in lines for name in re.findall(r"\]\((\w+)\.md\)", line)]
    tree = text.partition("```{toctree}")[2].partition("\n\n")[2].partition("\n```")[0]
    assert linked == tree.splitlines()


def test_the_page_of_the_json_format_describes_every_key_of_the_schema():
    text = (DOCS / "model_format.md").read_text(encoding="utf-8")
    schema = json_schema()
    document, trees, node = text.split("\n| key | value")[1:]
    listed = [
        re.findall(r"`(\w+)`", line.partition(" | ")[0])
        for part in (document, trees, node)
        for line in part.split("\n\n")[0].splitlines()
    ]
    definitions = schema["$defs"]
    keys = {*schema["properties"], *definitions["trees"]["properties"]}
    keys_of_nodes = definitions["tree"]["properties"]
    assert sorted(sum(listed, [])) == sorted([*keys, *keys_of_nodes])
    training = text.partition("**Training.**")[2].partition("\n\n")[0]
    for key in definitions["training"]["properties"]:
        assert f"`{key}`" in training
    others = text.partition("## Networks")[2]
    for name in ("network", "pipeline", "transformer", "bag", "blend"):
        for key in keys_of(definitions[name]):
            assert f"`{key}`" in others, key


def keys_of(schema):
    """Yield the keys that a part of a JSON schema has, within it as well."""
    for name, value in schema.items() if isinstance(schema, dict) else ():
        yield from value if name == "properties" else ()
        yield from keys_of(value)
    for value in schema if isinstance(schema, list) else ():
        yield from keys_of(value)


# Names without an example of their own, and the one whose example shows them.
SHOWN_BY = {
    "BlendCurve": "best_blend",
    "CounterfactualEstimate": "counterfactual_score",
    "InterleavingResult": "interleaving_test",
    "Feature": "to_tree_model",
    "LocalOptimality": "local_optimality",
    "ModelReport": "model_report",
    "PairComparison": "compare_rankers",
    "RankerComparison": "compare_rankers",
    "RankingScorer": "make_ranking_scorer",
    "ShapValues": "shap_values",
    "Tree": "to_tree_model",
    "TreeModel": "to_tree_model",
    "WeightCurves": "weight_curves",
    "to_xgboost_dump": "to_xgboost",
}


def test_every_public_name_has_an_example_that_pytest_runs():
    modules = {name: importlib.import_module(name) for name in IMPORTED}
    examples = {
        name: doctest.DocTestParser().get_examples(
            getattr(modules[module], name).__doc__
        )
        for module, names in IMPORTED.items()
        for name in names
    }
    without = {name for name, lines in examples.items() if not lines}
    assert without == set(SHOWN_BY)
    assert not without & set(SHOWN_BY.values())


def test_the_example_of_torch_runs(capsys):
    pytest.importorskip("torch")
    text = inspect.getdoc(TorchNetwork).replace("# doctest: +SKIP", "")
    test = doctest.DocTestParser().get_doctest(text, {}, "TorchNetwork", None, None)
    assert doctest.DocTestRunner().run(test).failed == 0, capsys.readouterr().out


def test_the_version_is_the_same_everywhere():
    root = DOCS.parent
    (changelog, *_) = re.findall(
        r"^## (\S+)$", (DOCS / "changelog.md").read_text("utf-8"), flags=re.M
    )
    assert f'\nversion = "{changelog}"\n' in (root / "pyproject.toml").read_text(
        "utf-8"
    )
    citation = root / "CITATION.cff"
    if citation.exists():  # not in the tests of the wheel
        assert f"\nversion: {changelog}\n" in citation.read_text("utf-8")


# --- links of notebooks ---------------------------------------------------------------


def public_estimators() -> list[type[BaseEstimator]]:
    """Return every estimator that is public."""
    public = [
        getattr(importlib.import_module(module), name)
        for module, names in IMPORTED.items()
        for name in names
    ]
    return [c for c in public if inspect.isclass(c) and issubclass(c, BaseEstimator)]


@pytest.mark.parametrize("estimator", public_estimators())
def test_notebooks_link_each_estimator_to_its_page(estimator, monkeypatch):
    urls = ["Source, https://a.example", "Documentation, https://docs.example/stable/"]
    monkeypatch.setattr(estimator, "_doc_link_module", "sklearn_ltr")
    monkeypatch.setattr(estimator, "_doc_link_template", page_template(urls))
    made = object.__new__(estimator)
    listed = re.findall(r"^   ~(\S+)$", (DOCS / "api.md").read_text("utf-8"), re.M)
    pages = {f"https://docs.example/stable/_generated/{name}.html" for name in listed}
    assert made._get_doc_link() in pages
    assert made._get_doc_link().endswith(f".{estimator.__name__}.html")
    if not inspect.signature(estimator).parameters.get("estimators"):
        with contextlib.suppress(TypeError):  # without a required argument
            assert f'href="{made._get_doc_link()}' in estimator()._repr_html_()


def test_without_an_address_there_is_no_link():
    assert page_template([]) == page_template(["Source, https://a.example"]) == ""
    if not PAGE:
        assert LambdaMARTRanker()._get_doc_link() == ""


def test_an_estimator_of_the_user_does_not_link_to_our_pages(monkeypatch):
    class Own(LambdaMARTRanker):
        pass

    monkeypatch.setattr(Estimator, "_doc_link_module", "sklearn_ltr")
    assert Own()._get_doc_link() == ""
