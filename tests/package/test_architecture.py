"""The architecture, read from the source: which room imports which."""

from __future__ import annotations

import ast
import functools
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

PACKAGE = Path(__file__).resolve().parents[2] / "sklearn_ltr"

# A room is a file or a folder directly under the package, or under `_core`.
# The core, from which every fit is made, in the order of its arrows, ...
CORE = {
    "caller": set(),
    "compile": set(),
    "docstrings": set(),
    "typing": set(),
    "parameters": set(),
    "saving": set(),
    "public_names": set(),
    "strict_json": set(),
    "_core": set(),
    "comm": set(),
    "optional": set(),
    "parts": set(),
    "other_libraries": set(),
    "data": set(),
    "metrics": {"data"},
    "scorers": {"data", "metrics"},
    "lambdas": {"data", "metrics"},
    "estimators": {"data"},
    "trees": {"data"},
    "networks": {"data", "estimators"},
    "boosting": {"data", "trees", "estimators"},
    "ranking": {"data", "metrics", "lambdas", "estimators"},
    "rankers": {
        "data",
        "metrics",
        "lambdas",
        "trees",
        "networks",
        "estimators",
        "boosting",
        "ranking",
    },
    "cluster": {"data", "estimators", "boosting", "rankers", "ranking"},
    "__init__": {"data", "networks", "estimators", "ranking", "rankers"},
}
# ... and the annexes, which no core room imports.  They may import from the front door.
ANNEXES = {
    "mart": {"data", "trees", "estimators", "boosting"},
    "ensemble": {
        "__init__",
        "data",
        "metrics",
        "trees",
        "networks",
        "estimators",
        "boosting",
        "ranking",
        "rankers",
        "preprocessing",
    },
    "calibration": {"data", "metrics", "estimators", "ranking", "ensemble"},
    "dask": {"__init__", "data", "cluster", "ensemble"},
    "ray": {"__init__", "cluster", "ensemble"},
    "spark": {"__init__", "data", "cluster", "export"},
    "model_selection": {
        "__init__",
        "data",
        "metrics",
        "estimators",
        "ranking",
        "ensemble",
    },
    "preprocessing": {"data", "trees", "estimators", "ranking"},
    "clicks": {"data", "metrics", "estimators", "mart"},
    "plotting": {
        "data",
        "metrics",
        "model_selection",
        "inspection",
        "ensemble",
        "export",
    },
    "inspection": {
        "data",
        "metrics",
        "trees",
        "estimators",
        "ranking",
        "lambdas",
        "networks",
        "ensemble",
        "export",
        "model_selection",
    },
    "datasets": {"data"},
    "export": {
        "__init__",
        "data",
        "metrics",
        "trees",
        "networks",
        "estimators",
        "boosting",
        "mart",
        "ensemble",
        "preprocessing",
    },
    "_commands": {
        "__init__",
        "data",
        "trees",
        "cluster",
        "ensemble",
        "metrics",
        "scorers",
        "datasets",
        "export",
        "inspection",
        "mart",
        "model_selection",
    },
    "__main__": {"__init__", "_commands"},
    "_saved": set(),
}
ROOMS_A_ROOM_MAY_IMPORT = CORE | ANNEXES
# pictures are imported where they are drawn
DRAWS = {"inspection"}
# every room may import these
SHARED = {
    "caller",
    "compile",
    "docstrings",
    "parameters",
    "other_libraries",
    "saving",
    "public_names",
    "strict_json",
    "comm",
    "optional",
    "parts",
    "typing",
}
OPTIONAL = {
    "catboost",
    "cloudpickle",
    "dask",
    "distributed",
    "lightgbm",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "pandas",
    "polars",
    "py4j",
    "pyarrow",
    "pyspark",
    "pytrec_eval",
    "ranx",
    "ray",
    "shap",
    "skl2onnx",
    "tl2cgen",
    "torch",
    "treelite",
    "xgboost",
}
# its import without its libraries is an error that names them
ALL_OPTIONAL = {"spark"}
COMPILERS = {"numba", "llvmlite"}


@functools.cache
def sources(package: Path) -> list[tuple[Path, ast.Module]]:
    """Every file of the package, relative to it, and its syntax tree."""
    return [
        (path.relative_to(package), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(package.rglob("*.py"))
    ]


def imported_modules(node: ast.AST) -> Iterator[str]:
    """Full dotted names of what one import statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        start = "." * node.level + (node.module or "")
        yield from (f"{start}.{alias.name}" for alias in node.names)


def nodes_run_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node outside functions, and not for type checkers only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from nodes_run_at_import(node)


def room_of(module: str) -> str:
    """Room of a module of the package, by its full dotted name."""
    return room_at(module.split(".")[1:])


def room_at(names: Sequence[str]) -> str:
    """Room of what is at a place in the package."""
    for name in names[names[:1] == ["_core"] and len(names) > 1 :][:1]:
        if name in ROOMS_A_ROOM_MAY_IMPORT:
            return name
    return "__init__"  # other names are those of the front door


def room_of_file(inside: Path) -> str:
    """Room of a file of the package, also if it is not in the table."""
    names = inside.with_suffix("").parts
    return names[names[0] == "_core" and names[1] != "__init__"]


def fault(room: str, module: str) -> str | None:
    """Say what is wrong when `room` imports `module`, None if nothing is."""
    top, *rest = module.split(".")
    if top == "":
        return "is relative: write the full name"
    if top == "sklearn" and any(
        part.startswith("_") and not part.startswith("__") for part in rest
    ):
        return "is private to scikit-learn"
    if top in COMPILERS and room != "compile":
        return "belongs in compile"
    if top != "sklearn_ltr":
        return None
    if room_of(module) in ROOMS_A_ROOM_MAY_IMPORT[room] | SHARED | {room}:
        return None
    return f"is not among the rooms that {room} may import"


def broken_arrows(package: Path) -> list[str]:
    """One line for every import under `package` that breaks a rule."""
    found = []
    for inside, tree in sources(package):
        room = room_of_file(inside)
        if room not in ROOMS_A_ROOM_MAY_IMPORT:
            found.append(f"{inside}: a new room, give it its row in the table")
            continue
        at_import = set(nodes_run_at_import(tree))
        for node in ast.walk(tree):
            for module in imported_modules(node):
                if is_drawn(room, module) and node not in at_import:
                    continue
                if reason := fault(room, module):
                    found.append(f"{inside}:{node.lineno}: {module} {reason}")
        for node in nodes_run_at_import(tree):
            for module in imported_modules(node):
                if module.split(".")[0] in OPTIONAL and room not in ALL_OPTIONAL:
                    found.append(
                        f"{inside}:{node.lineno}: {module} is optional: "
                        "import it in the function that uses it"
                    )
    return found


def test_every_import_follows_the_table_of_rooms():
    rooms = {room_of_file(inside) for inside, _ in sources(PACKAGE)}
    assert rooms == set(ROOMS_A_ROOM_MAY_IMPORT)
    assert broken_arrows(PACKAGE) == []


def is_drawn(room: str, module: str) -> bool:
    """Whether a room imports a module for its pictures."""
    return room in DRAWS and module.startswith("sklearn_ltr.plotting")


def arrows(package: Path) -> dict[str, set[str]]:
    """Which other rooms each room imports, in functions or outside of them."""
    found: dict[str, set[str]] = {}
    for inside, tree in sources(package):
        room = room_of_file(inside)
        modules = {name for node in ast.walk(tree) for name in imported_modules(node)}
        targets = {
            room_of(m)
            for m in modules
            if m.split(".")[0] == "sklearn_ltr" and not is_drawn(room, m)
        }
        found[room] = found.get(room, set()) | targets - {room}
    return found


def circle(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The part of a graph that is left without its leaves, again and again."""
    while leaves := [name for name, targets in graph.items() if not targets]:
        for leaf in leaves:
            graph = {n: t - {leaf} for n, t in graph.items() if n != leaf}
    return graph


def test_the_table_has_no_arrow_that_no_import_needs():
    found = arrows(PACKAGE)
    assert {r: found[r] - SHARED for r in found} == ROOMS_A_ROOM_MAY_IMPORT


def test_no_core_room_imports_an_annex():
    assert set.union(*CORE.values()) <= CORE.keys()


def test_no_two_rooms_import_each_other_in_a_circle():
    assert circle(arrows(PACKAGE)) == {}


def test_a_circle_through_a_function_is_found(tmp_path):
    for path, source in {
        "plotting/a.py": "import sklearn_ltr.metrics, sklearn_ltr.export",
        "export.py": "def f():\n from sklearn_ltr import metrics, plotting",
        "metrics.py": "import numpy",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(source)
    assert circle(arrows(tmp_path)) == {
        "plotting": {"export"}, "export": {"plotting"}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "source", "message"),
    [
        ("metrics/ndcg.py", "import sklearn_ltr._core.lambdas", "metrics may import"),
        ("_core/trees/a.py", "import sklearn_ltr.metrics", "trees may import"),
        ("metrics/a.py", "def f():\n import sklearn_ltr", "may import"),
        ("metrics/a.py", "from . import map", "is relative"),
        ("_core/rankers/a.py", "from sklearn.utils._tags import Tags", "is private"),
        ("_core/rankers/a.py", "from sklearn import _loss", "is private"),
        ("metrics/a.py", "def f():\n import llvmlite.ir", "belongs in compile"),
        ("metrics/a.py", "try:\n import pandas as pd\nexcept E: pass", "is optional"),
        ("metrics/a.py", "if TYPE_CHECKING:\n import sklearn_ltr", "may import"),
        ("helpers.py", "", "a new room"),
    ],
)
def test_an_import_against_the_rules_is_found(tmp_path, path, source, message):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(source)
    (line,) = broken_arrows(tmp_path)
    assert line.startswith(path)
    assert message in line


def called_names(tree: ast.AST) -> Iterator[str]:
    """Full dotted names of attributes, and names imported from modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield ast.unparse(node)
        yield from imported_modules(node)


FRAMES = {
    "currentframe", "_getframe", "_getframemodulename", "_current_frames",
    "walk_stack", "extract_stack", "format_stack", "print_stack", "stack", "trace",
    "f_back", "tb_frame", "gi_frame", "cr_frame", "setprofile", "settrace",
}  # fmt: skip


def test_nobody_looks_at_the_stack_of_the_caller():
    """What a caller knows is handed down, or follows from what was called before."""
    found = [
        f"{inside}: {name}"
        for inside, tree in sources(PACKAGE)
        for name in called_names(tree)
        if (last := name.rpartition(".")[2]) in FRAMES
        and (last not in ("stack", "trace") or name.startswith("inspect."))
    ]
    assert found == []


def test_all_warnings_go_the_same_way():
    """The line of the user is found in one place, and members' are collected there."""
    found = {
        str(inside)
        for inside, tree in sources(PACKAGE)
        for name in called_names(tree)
        if name in ("warnings.warn", "warnings.warn_explicit")
    }
    assert found == {"_core/caller.py"}


def module_of(inside: Path) -> str:
    parts = ["sklearn_ltr", *inside.with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph() -> dict[str, set[str]]:
    """What each module of the package imports of it, functions left aside."""
    modules = {module_of(inside): tree for inside, tree in sources(PACKAGE)}
    graph: dict[str, set[str]] = {}
    for module, tree in modules.items():
        names = {
            name
            for node in nodes_run_at_import(tree)
            for name in imported_modules(node)
            if name.startswith("sklearn_ltr.")
        }
        found = {n if n in modules else n.rpartition(".")[0] for n in names}
        graph[module] = found & set(modules) - {module}
    return graph


def test_no_two_modules_import_each_other_in_a_circle():
    assert circle(import_graph()) == {}


# what estimators, tables, threads and compiled functions of others import anyway
OF_OTHERS = """
import sklearn.base, scipy.sparse, joblib, threadpoolctl, numba.core.registry
numba.core.registry.cpu_target.target_context.refresh()
"""
# of which `sklearn.callback` shows its progress
OF_CALLBACKS = "sklearn.callback", "rich"
NEVER = {"asyncio", "sqlite3", "unittest"}
# rooms of the core that a fit does not need
LATER = {"cluster", "optional", "scorers", "strict_json"}


def check_modules(added: set[str], more_rooms: set[str]) -> None:
    """Check that the core is imported, some rooms more, and nothing of others."""
    ours = {name for name in added if name.split(".")[0] == "sklearn_ltr"}
    assert {room_of(name) for name in ours} == CORE.keys() - LATER | more_rooms
    theirs = {name for name in added - ours if not name.startswith(OF_CALLBACKS)}
    tops = {name.split(".")[0] for name in theirs}
    assert tops <= sys.stdlib_module_names - NEVER | {"sklearn"}
    of_sklearn = {name for name in theirs if name.startswith("sklearn.")}
    assert {name.split(".")[1] for name in of_sklearn} <= {"utils", "frozen"}


# one process, as each takes longer to begin than all of this
IMPORT_AND_PREDICT = f"""
import json, pickle, sys
{OF_OTHERS}
before = set(sys.modules)
def tell():
    print(json.dumps(sorted(set(sys.modules) - before)))
import sklearn_ltr
tell()
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        model, X = pickle.load(file)
    model.predict(X)  # numpy walks down the trees
    model.predict(X.repeat(1000, axis=0))  # a kernel does
    tell()
"""


def test_neither_the_package_nor_saved_models_import_rooms_that_they_do_not_use(
    tmp_path,
):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    groups, paths = {"groups": np.repeat([0, 1, 2], 20)}, []
    for model, given in (
        (LambdaMARTRanker(n_estimators=2), groups),
        (RankNetRanker(max_iter=1), groups),
        (MARTRegressor(n_estimators=2), {}),
        (MARTClassifier(n_estimators=2), {}),
    ):
        paths.append(tmp_path / f"{type(model).__name__}.pkl")
        paths[-1].write_bytes(pickle.dumps((model.fit(X, y, **given), X)))
    answer = subprocess.run(
        [sys.executable, "-c", IMPORT_AND_PREDICT, *map(str, paths)],
        check=True,
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,
    )
    package, trees, network, *of_mart = map(json.loads, answer.stdout.splitlines())
    check_modules(set(package), {"_saved"})
    for added in (trees, network):
        check_modules(set(added), {"_saved"})
    for added in of_mart:
        check_modules(set(added), {"_saved", "mart"})


SEND_BY_CLOUDPICKLE = """
import pickle
import cloudpickle
import numpy as np
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr._core.saving import PARTS

X = np.random.default_rng(0).normal(size=(60, 3))
y, groups = 1 * (X[:, 0] > 0), np.repeat(np.arange(6), 10)
for ranker in (LambdaMARTRanker(n_estimators=2), LambdaRankRanker(max_iter=1)):
    ranker.fit(X, y, groups=groups)
    sent = cloudpickle.dumps(ranker)
    assert (pickle.loads(sent).predict(X) == ranker.predict(X)).all()
for part in PARTS.values():
    assert pickle.loads(cloudpickle.dumps(part)) is part
"""


def test_parts_of_models_are_sent_to_other_processes_by_their_names():
    # Dask, Ray, Spark and joblib send classes of modules that are not loaded by value
    pytest.importorskip("cloudpickle")
    subprocess.run([sys.executable, "-c", SEND_BY_CLOUDPICKLE], check=True)
