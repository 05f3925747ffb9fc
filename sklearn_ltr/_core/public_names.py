"""The names that the package publishes: where each is, and errors that say so."""

from __future__ import annotations

import ast
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

from sklearn_ltr._core.other_libraries import OTHER_CLASSES

PACKAGE = Path(__file__).parents[1]


def publish(namespace: dict[str, Any]) -> None:
    """Set a module as `__module__` of the classes and functions in its ``__all__``.

    Names of other public modules are then errors that say which.
    """
    # pickles name a class by its module; with this name it may move to another file
    module = namespace["__name__"]
    for name in namespace["__all__"]:
        namespace[name].__module__ = module
    namespace["__getattr__"] = partial(find_elsewhere, module)


def find_elsewhere(module: str, name: str) -> NoReturn:
    """Raise an AttributeError for a name that a module has not, with where it is."""
    ours = OTHER_CLASSES.get(name, name)
    if not name.startswith("_") and (owner := public_names().get(ours)):
        raise AttributeError(f"{name} is not in {module}: from {owner} import {ours}")
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


@cache
def public_names() -> dict[str, str]:
    """Return the public module of each name, as the files say: nothing is imported."""
    found: dict[str, str] = {}
    for file in (*PACKAGE.glob("[!_]*/__init__.py"), PACKAGE / "__init__.py"):
        module = ".".join(file.parent.relative_to(PACKAGE.parent).parts)
        found |= dict.fromkeys(names_in(file), module)
    return found


def names_in(file: Path) -> list[str]:
    """Return what a file publishes: the names in `__all__`, or what it defines."""
    tree = ast.parse(file.read_text("utf-8"))
    names = []
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name("__all__")], ast.List(elements)):
                return [ast.literal_eval(element) for element in elements]
            case ast.ImportFrom(str(module), [ast.alias("*")]):
                path = PACKAGE.parent.joinpath(*module.split("."))
                names += names_in(path.with_suffix(".py"))
            case ast.ClassDef(name) | ast.FunctionDef(name) if name[0] != "_":
                names.append(name)
    return names
