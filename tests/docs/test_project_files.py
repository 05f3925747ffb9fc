"""Versions, addresses and actions are the same in all files of the project."""

from __future__ import annotations

import datetime
import importlib.util
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
PINNED = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def text(*path: str) -> str:
    return ROOT.joinpath(*path).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    return tomllib.loads(text("pyproject.toml"))["project"]


def workflow(name: str) -> dict[str, Any]:
    return yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))


def minor(python: str) -> tuple[int, ...]:
    return tuple(map(int, python.split(".")))


def lower_bounds() -> dict[str, str]:
    found = dict(line.split(">=") for line in project()["dependencies"])
    return found | {"Python": project()["requires-python"].removeprefix(">=")}


def test_the_versions_of_python_are_those_that_the_workflows_test():
    classifiers = re.findall(
        r"Python :: (3\.\d+)\b", "\n".join(project()["classifiers"])
    )
    jobs = workflow("ci.yml")["jobs"]
    tested = jobs["newest"]["strategy"]["matrix"]["python-version"]
    coming = jobs["coming"]["strategy"]["matrix"]["python-version"]
    assert classifiers == sorted(tested, key=minor)
    assert f">={classifiers[0]}" == project()["requires-python"]
    assert jobs["coming"]["continue-on-error"] is True
    assert not set(coming) & set(classifiers)
    page = text("docs", "versions.md")
    *others, newest = classifiers
    assert f"Tests run on Python {', '.join(others)} and {newest} with" in page
    for python in coming:
        assert f"tests on Python {python}, or on Python without its global lock" in page


def test_the_systems_of_the_classifiers_are_those_where_all_tests_have_run():
    rows = re.findall(
        r"^\| (\w+)[^|]*\|[^|]*\| all tests \|", text("docs", "versions.md"), flags=re.M
    )
    classifiers = [f"Operating System :: POSIX :: {name}" for name in rows]
    assert classifiers == [c for c in project()["classifiers"] if "System" in c]


def test_the_table_of_supported_versions_has_the_lower_bounds():
    rows = re.findall(
        r"^\| ([\w-]+) \| ([\d.]+) \|", text("docs", "versions.md"), flags=re.M
    )
    assert dict(rows) == lower_bounds()


def test_the_conda_recipe_has_the_version_and_the_dependencies():
    recipe = yaml.safe_load(text(".github", "conda", "recipe.yaml"))
    assert recipe["context"]["version"] == project()["version"]
    assert recipe["context"]["python_min"] == lower_bounds()["Python"]
    _, *needed = recipe["requirements"]["run"]
    assert [line.replace(" ", "") for line in needed] == project()["dependencies"]
    backend = tomllib.loads(text("pyproject.toml"))["build-system"]["requires"]
    host = [line.replace(" ", "") for line in recipe["requirements"]["host"]]
    assert set(backend) <= set(host)


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load(text("CITATION.cff"))
    assert (cited["type"], cited["version"]) == ("software", project()["version"])
    assert cited["license"] == project()["license"]
    assert isinstance(cited["date-released"], datetime.date)


@pytest.mark.parametrize("name", sorted(path.name for path in WORKFLOWS.iterdir()))
def test_actions_are_pinned_and_workflows_may_only_read(name):
    used = re.findall(r"uses: *(.+)", text(".github", "workflows", name))
    assert used
    assert [line for line in used if not PINNED.fullmatch(line)] == []
    assert len(set(used)) == len({line.partition("@")[0] for line in used})
    assert workflow(name)["permissions"] == {"contents": "read"}


def test_a_scheduled_job_runs_each_program_of_another_library_with_what_it_needs():
    job = workflow("ci.yml")["jobs"]["other-libraries"]
    assert job["if"] == "github.event_name == 'schedule'"
    needs = {
        path.stem: re.search(r"``python -m pip install (.+)``", text(path))[1]
        for path in (ROOT / "examples" / "other_libraries").glob("*.py")
    }
    rows = job["strategy"]["matrix"]["include"]
    assert {row["program"]: row["packages"] for row in rows} == needs
    *_, run = job["steps"]
    assert run == {"run": "python examples/other_libraries/${{ matrix.program }}.py"}


def test_forms_and_other_files_of_yaml_can_be_read():
    forms = list((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert len(forms) > 1
    for path in (*forms, ROOT / ".github" / "dependabot.yml"):
        assert yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_links_of_the_files_for_contributors_exist():
    for page in (ROOT / ".github").glob("*.md"):
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            path = target.partition("#")[0]
            assert target.startswith("https:") or (page.parent / path).exists(), target


def addresses() -> Any:
    path = ROOT / ".ci" / "addresses.py"
    specification = importlib.util.spec_from_file_location("addresses", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


REPOSITORY, SITE = "https://code.example/us/ranking", "https://docs.example/"


@pytest.fixture
def published(tmp_path):
    """A copy of the files whose addresses are known, as those of a published sdist."""
    if "urls" in project():  # this is one
        pytest.skip("the addresses are written already")
    for name in ("README.md", "pyproject.toml", "CITATION.cff", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("docs", "examples", ".github"):
        (tmp_path / name).symlink_to(ROOT / name)
    addresses().write_addresses(tmp_path, REPOSITORY, SITE)
    return tmp_path


def test_links_and_pictures_of_the_published_readme_hold_everywhere(published):
    links = LINK.findall((published / "README.md").read_text("utf-8"))
    assert links and all(link.startswith(("https:", "#")) for link in links)
    tag = f"v{project()['version']}"
    pictures = re.findall(r"!\[[^\]]*\]\((\S+)\)", text("README.md"))
    assert pictures
    for picture in pictures:
        assert f"{REPOSITORY}/raw/{tag}/{picture}" in links


def test_published_metadata_and_citation_name_the_repository(published):
    written = tomllib.loads((published / "pyproject.toml").read_text("utf-8"))
    urls = written["project"].pop("urls")
    assert (urls["Source"], urls["Documentation"]) == (REPOSITORY, SITE)
    assert written == tomllib.loads(text("pyproject.toml"))
    cited = yaml.safe_load((published / "CITATION.cff").read_text("utf-8"))
    assert cited.pop("repository-code") == REPOSITORY
    assert cited == yaml.safe_load(text("CITATION.cff"))


def test_a_link_of_the_readme_to_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"links to docs/gone\.md, which does not"):
        addresses().absolute("[gone](docs/gone.md)", tmp_path, REPOSITORY, "v1")


def test_the_readme_is_short():
    relative = re.sub(r"https://\S+/(blob|tree|raw)/v[\d.]+/", "", text("README.md"))
    assert len(relative) <= 7000
