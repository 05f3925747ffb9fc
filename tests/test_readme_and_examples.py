"""The code of README, docs and examples runs and prints what is documented."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import pytest
import sklearn

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
RUN_BY_OTHER_TESTS = ("clicks.md", "recipes.md")  # which look at what they do
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python" in page.read_text(encoding="utf-8")
    and page.name not in RUN_BY_OTHER_TESTS
]
MAIN_JOB = "python -m pip install -e . && python examples/01_first_ranker.py"
INSTALL = 'python -m pip install -e ".[test]"'
TEST = "python -m pytest -n auto"
PRINTED_BY_EXAMPLE = {
    "01_first_ranker.py": ("BM25", "LambdaMART", "NDCG@10", "MAP", "MRR"),
    "02_forces_on_one_query.py": (
        "RankNet",
        "LambdaRank",
        "13 pairwise",
        "11 pairwise",
    ),
    "03_grid_search_by_query.py": ("18 settings x 5 folds", "sigma", "The picture"),
    "04_your_own_metric.py": ("value only", "with swap_delta", "RankNet"),
    "05_dataframe_to_ranking.py": ("BM25", "LambdaRank", "rank", "document"),
    "06_local_optimum.py": ("none of 459", "LambdaRank", "RankNet", "of 5"),
    "07_rerank.py": (
        "BM25 alone",
        "RankNet",
        "LambdaRank",
        "LambdaMART",
        "NDCG@10",
        "MRR",
        "median",
        "95%",
    ),
    "08_explain_a_result.py": ("why rank 1", "other features", "difference of the"),
    "09_your_own_objective.py": ("lambdas, train", "ListNet, validation_1", "map"),
    "10_export_a_model.py": (
        "largest difference",
        "POST /_ltr/_featureset/python_docs/_createmodel",
        "PUT /_ml/trained_models/ranker",
        "PUT /schema/model-store",
    ),
    "11_cluster.py": ("8000 rows in 4", "brought together", "one machine: True"),
}


def fenced(language: str, page: Path = ROOT / "README.md") -> list[str]:
    """Return the code blocks of a page in one language."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_a_page_runs(page):
    blocks = fenced("python", page)
    names: dict[str, object] = {"__name__": "page"}
    with sklearn.config_context():  # restores what a block sets
        for block in blocks:
            exec(compile(block, str(page), "exec"), names)


def test_the_commands_of_the_readme_are_those_that_ci_runs():
    shown = "".join(fenced("(?:sh|bash)")).splitlines()
    assert shown == [MAIN_JOB, f"{INSTALL} && {TEST}"]
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert all(f"\nin_venv newest {command}" in run for command in (INSTALL, TEST))


def test_the_table_of_systems_names_what_exists():
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .* \| `(\S+)`.* \| `(tests/\S+)` \|$", page, flags=re.M)
    assert len(rows) == 18
    for system, pinned_by in rows:
        package, *names = f"sklearn_ltr.{system}".split(".")
        assert attrgetter(".".join(names))(import_all(package))
        path, _, test = pinned_by.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        assert f"\ndef {test}" in source


def test_every_promise_names_a_test():
    page = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    tests = re.findall(r"`(tests/\S+)::(\S+)`", page)
    assert len(tests) > 25
    rows = [row for row in page.splitlines() if row.startswith("| ")]
    assert sum("::" in row for row in rows) == len(rows) - 2  # two headers
    for path, test in tests:
        source = (ROOT / path).read_text(encoding="utf-8")
        assert f"\ndef {test}(" in source


def import_all(package: str) -> ModuleType:
    """Import a package and the modules directly in it."""
    module = importlib.import_module(package)
    for info in pkgutil.iter_modules(module.__path__, f"{package}."):
        importlib.import_module(info.name)
    return module


def run_example(path: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    process = subprocess.run(
        [sys.executable, "-W", "error", path],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=180,  # takes less than 60 s on two idle cores
    )
    return process.stdout


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_without_a_warning(path):
    printed = run_example(path)
    for word in PRINTED_BY_EXAMPLE[path.name]:
        assert word in printed


def test_every_example_is_listed_here():
    assert set(PRINTED_BY_EXAMPLE) == {path.name for path in EXAMPLES}
