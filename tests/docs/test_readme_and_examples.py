"""The code of README and docs runs, and what they name exists."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import tomllib
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sklearn

from sklearn_ltr import LambdaMARTRanker, export
from sklearn_ltr.metrics._metric import METRICS
from tests.docs.installation import COMMAND, extras_of, imports, modules_of, only

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
RUN_BY_OTHER_TESTS = (
    "categories.md",
    "clicks.md",
    "judgments.md",
    "recipes.md",
    "search_engines.md",
)  # which look at what they do
PROGRAMS = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if "```python" in page.read_text(encoding="utf-8")
]
PAGES = [page for page in PROGRAMS if page.name not in RUN_BY_OTHER_TESTS]


def fenced(language: str, page: Path = README) -> list[str]:
    """Return the code blocks of a page in one language."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.M | re.S)


def check_comparisons(printed: str) -> int:
    """Check that the rankers of each printed comparison differ; count comparisons."""
    head = r"^difference .* p  p \(Holm\) .*\n"
    tables = re.findall(rf"{head}((?:.* [+-]\d.* to .*\n)+)", f"{printed}\n", re.M)
    for table in tables:
        rows = re.findall(r" (\S+)  (\S+) to (\S+)  +(\S+)  +\S+  +[\d,]+", table)
        assert len(rows) == table.count("\n")
        for mean, low, high, _ in rows:
            assert any(map(float, (mean, low, high))), table
        assert any(float(p) < 1 for *_, p in rows), table
    assert len(tables) == printed.count("p (Holm)")
    return len(tables)


def run(page: Path, capsys: Any) -> str:
    """Run the Python of a page where nothing else is installed; return its output."""
    names: dict[str, object] = {"__name__": "page"}
    extras = extras_of(page.read_text(encoding="utf-8"))
    with sklearn.config_context(), only(extras):  # restores what a block sets
        for block in fenced("python", page):
            exec(compile(block, str(page), "exec"), names)
    return capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_a_page_runs_and_compares_rankers_that_differ(page, capsys):
    compared = check_comparisons(run(page, capsys))
    assert compared >= "".join(fenced("python", page)).count("print(compare_rankers(")
    if "matplotlib.pyplot" in sys.modules:  # which warns of many open figures
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_imports_what_its_installation_brings(page):
    text = page.read_text(encoding="utf-8")
    assert COMMAND.search(text).start() < text.index("```python")
    imported = set().union(*map(imports, fenced("python", page)))
    assert imported <= {"sklearn_ltr"} | modules_of(extras_of(text))


def test_the_python_of_the_readme_does_what_stands_above_it(capsys):
    names: dict[str, Any] = {"__name__": "page"}
    first, search, cluster = (compile(b, "README.md", "exec") for b in fenced("python"))
    with sklearn.config_context():
        exec(first, names)
        printed = float(capsys.readouterr().out)
        assert printed == names["ranker"].score(
            names["X_test"], names["y_test"], groups=names["groups_test"]
        )
        assert not set(names["groups_train"]) & set(names["groups_test"])
        exec(search, names)
        assert "{'lambdarankranker__sigma':" in capsys.readouterr().out
        exec(cluster, names)
    model, X = names["model"], names["features"].compute()
    assert type(model) is LambdaMARTRanker
    alone = LambdaMARTRanker(n_estimators=20, random_state=0)
    alone.fit(X, names["y"], groups=names["groups"])
    assert (model.predict(X) == alone.predict(X)).all()


@pytest.mark.parametrize(
    "row", ["+0.0000  +0.0000 to +0.0000", "+0.0100  -0.1000 to +0.1200"]
)
def test_a_comparison_of_equal_rankers_is_found(row):
    head = "difference  mean  95% interval  p  p (Holm)  queries for 0.01"
    with pytest.raises(AssertionError, match="two - fusion"):
        check_comparisons(f"{head}\ntwo - fusion  {row}  1.0000    1.0000      9\n")


def test_most_of_the_first_suspects_are_wrong_as_the_page_says(capsys):
    page = ROOT / "docs" / "guide" / "judgments.md"
    assert "Most of the first hundred are wrong." in page.read_text(encoding="utf-8")
    first, every = map(int, re.findall(r"(\d+)%", run(page, capsys))[:2])
    assert 2 * every < 50 < first


def test_the_readme_names_metrics_and_formats_that_exist():
    text = README.read_text(encoding="utf-8")
    assert len(METRICS) == 4 + 8
    assert "NDCG, MAP, MRR, ERR, eight more, or" in text
    formats = " ".join(text.partition("models\n[for ")[2].partition("]")[0].split())
    named = formats.replace(" and ", ", ").split(", ")
    writers = {
        "Elasticsearch": "elasticsearch_ltr",
        "OpenSearch": "elasticsearch_ltr",  # the same plugin
    }
    assert len(named) == 9
    for name in named:
        assert hasattr(export, f"to_{writers.get(name, name.lower())}")


def test_the_package_is_pure_python_as_the_readme_says():
    files = [path for path in (ROOT / "sklearn_ltr").rglob("*.*") if path.is_file()]
    kinds = {path.suffix for path in files if path.parent.name != "__pycache__"}
    assert kinds == {".py", ".typed", ".json"}  # the schema of models
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert built["build-system"]["requires"][0].startswith("hatchling")


def test_every_section_of_the_report_has_a_row():
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d(?:\.\d)?)[,:]", page, flags=re.M)
    # 1 is the introduction
    sections = ["2", "2.1", "3", "4", "4.1", "4.2", "4.3", "5", "6", "6.1", "7", "7.1"]
    assert sorted(set(rows)) == sections


def test_pages_agree_that_no_package_index_has_the_package():
    pages = ("README.md", "docs/index.md", "docs/getting_started.md")
    says = [
        "on no package index yet" in (ROOT / page).read_text(encoding="utf-8")
        for page in pages
    ]
    changelog = (ROOT / "docs" / "changelog.md").read_text(encoding="utf-8")
    assert set(says) == {"No version is on a package index yet." in changelog}


def test_the_commands_of_the_readme_are_those_that_ci_runs():
    shown = "".join(fenced("(?:sh|bash)")).replace(" && ", "\n").splitlines()
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    run_by_ci = re.findall(r"^in_venv newest (.+)$", run, flags=re.M)
    assert shown
    assert [command for command in run_by_ci if command in shown] == shown


def test_the_table_of_systems_names_what_exists():
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .* \| `(\S+)`.* \| `(tests/\S+)` \|$", page, flags=re.M)
    assert len(rows) == page.count("\n| ") - 1  # the header
    for system, pinned_by in rows:
        package, *names = f"sklearn_ltr.{system}".split(".")
        assert attrgetter(".".join(names))(import_all(package))
        path, _, test = pinned_by.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        assert f"\ndef {test}" in source


def test_every_promise_names_a_test():
    page = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    tests = re.findall(r"`(tests/\S+)::(\S+)`", page)
    rows = [row for row in page.splitlines() if row.startswith("| ")]
    assert sum("::" in row for row in rows) == len(rows) - 2  # two headers
    for path, test in tests:
        source = (ROOT / path).read_text(encoding="utf-8")
        assert f"\ndef {test}(" in source


def import_all(package: str) -> ModuleType:
    """Import a package and the modules directly in it, if their libraries are here."""
    module = importlib.import_module(package)
    for info in pkgutil.iter_modules(module.__path__, f"{package}."):
        with suppress(ImportError):
            importlib.import_module(info.name)
    return module
