"""The code of README and docs runs, and what they name exists."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import pytest
import sklearn

ROOT = Path(__file__).resolve().parents[2]
RUN_BY_OTHER_TESTS = (
    "categories.md",
    "clicks.md",
    "recipes.md",
)  # which look at what they do
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python" in page.read_text(encoding="utf-8")
    and page.name not in RUN_BY_OTHER_TESTS
]


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
    if "matplotlib.pyplot" in sys.modules:  # which warns of many open figures
        sys.modules["matplotlib.pyplot"].close("all")


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
    """Import a package and the modules directly in it."""
    module = importlib.import_module(package)
    for info in pkgutil.iter_modules(module.__path__, f"{package}."):
        importlib.import_module(info.name)
    return module
