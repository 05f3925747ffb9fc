"""What a page or an example may import: the installation that it names."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
COMMAND = re.compile(r'python -m pip install (?:-e )?"?\.(?:\[([\w,]+)\])?')


def extras_of(text: str) -> frozenset[str]:
    """Return the extras of the first installation that a text names."""
    command = COMMAND.search(text)
    assert command, "names no installation"
    return frozenset((command[1] or "").split(",")) - {""}


def imports(code: str) -> set[str]:
    """Return the packages beside the standard library that code always imports."""
    every = list(ast.walk(ast.parse(code)))
    optional = {n for i in every if isinstance(i, ast.If) for n in ast.walk(i)}
    nodes = [n for n in every if n not in optional]
    names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    names += [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


def needed_by(requirement: Requirement) -> Iterator[Requirement]:
    """Yield what a distribution with these extras needs."""
    if requirement.name == PROJECT["name"]:  # what is installed may be older
        needed = sum((EXTRAS[e] for e in requirement.extras), PROJECT["dependencies"])
    else:
        try:
            needed = metadata.requires(requirement.name) or []
        except metadata.PackageNotFoundError:
            needed = []
    for other in map(Requirement, needed):
        extras = [{"extra": extra} for extra in ("", *requirement.extras)]
        if other.marker is None or any(map(other.marker.evaluate, extras)):
            yield other


@cache
def modules_of(extras: frozenset[str]) -> frozenset[str]:
    """Return the modules that an installation brings, by the metadata of packages."""
    found = [Requirement(f"{PROJECT['name']}[{','.join(extras)}]")]
    for requirement in found:
        known = {(r.name, *sorted(r.extras)) for r in found}
        new = {(r.name, *sorted(r.extras)): r for r in needed_by(requirement)}
        found += [r for key, r in new.items() if key not in known]
    names = {canonicalize_name(r.name) for r in found}
    return frozenset(m for m, packages in installed().items() if names & packages)


@cache
def installed() -> dict[str, set[str]]:
    """Return the modules that can be imported, and the distributions they are of."""
    found = metadata.packages_distributions().items()
    return {module: set(map(canonicalize_name, names)) for module, names in found}


@contextmanager
def only(extras: frozenset[str]) -> Iterator[None]:
    """Hide the packages of all extras but these, as if they were not installed."""
    own = modules_of(extras)
    direct = {
        canonicalize_name(Requirement(text).name)
        for extra in EXTRAS.keys() - {"docs", "test"}
        for text in EXTRAS[extra]
    }
    hidden = {m for m, names in installed().items() if m not in own and direct & names}
    found, finders = dict(sys.modules), list(sys.meta_path)
    for name in found:
        if name.partition(".")[0] in hidden:
            del sys.modules[name]
    sys.meta_path[:] = [Without(finder, hidden) for finder in finders]
    try:
        yield
    finally:
        sys.meta_path[:] = finders
        sys.modules.update(found)


class Without:
    """A finder of modules that does not find some packages."""

    def __init__(self, finder: Any, hidden: set[str]):
        self.finder, self.hidden = finder, hidden

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)

    def find_spec(self, name: str, *arguments: Any) -> Any:
        if name.partition(".")[0] in self.hidden:
            return None
        return self.finder.find_spec(name, *arguments)
