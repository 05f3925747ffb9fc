"""Who imports whom: the arrows of the house, read from the source."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "sklearn_ltr"

# A room is a file or a folder directly under the package; all may import _compile.
ROOMS_A_ROOM_MAY_IMPORT = {
    "_compile": set(),
    "queries": set(),
    "metrics": {"queries"},
    "lambdas": {"queries", "metrics"},
    "learners": set(),
    "estimators": {"learners"},
    "rankers": {"queries", "metrics", "lambdas", "learners", "estimators"},
    "mart": {"learners", "estimators"},
    "blending": {"queries", "metrics", "learners", "rankers"},
    "scorers": {"queries", "metrics"},
    "model_selection": {"queries"},
    "inspection": {"queries", "metrics", "learners"},
    "plotting": {"queries", "metrics", "lambdas", "inspection", "blending"},
    "datasets": set(),
    "__init__": {"rankers"},
}
OPTIONAL = {
    "catboost",
    "lightgbm",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "pytrec_eval",
    "ranx",
    "torch",
    "xgboost",
}
COMPILERS = {"numba", "llvmlite"}


def imported_modules(node: ast.AST) -> Iterator[str]:
    """Full dotted names of what one import statement brings in."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        start = "." * node.level + (node.module or "")
        yield from (f"{start}.{alias.name}" for alias in node.names)


def nodes_run_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that stands outside functions."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            yield from nodes_run_at_import(node)


def fault(room: str, module: str) -> str | None:
    """Say what is wrong when `room` imports `module`, None if nothing is."""
    top, *rest = module.split(".")
    if top == "":
        return "is relative: write the full name"
    if top == "sklearn" and any(
        part.startswith("_") and not part.startswith("__") for part in rest
    ):
        return "is private to scikit-learn"
    if top in COMPILERS and room != "_compile":
        return "belongs in _compile"
    if top != "sklearn_ltr":
        return None
    target = next(iter(rest), "__init__")
    if target in ROOMS_A_ROOM_MAY_IMPORT[room] | {room, "_compile"}:
        return None
    return f"is not among the rooms that {room} may import"


def broken_arrows(package: Path) -> list[str]:
    """One line for every import under `package` that breaks a rule."""
    found = []
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        room = inside.parts[0].removesuffix(".py")
        if room not in ROOMS_A_ROOM_MAY_IMPORT:
            found.append(f"{inside}: a new room, give it its row in the table")
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            for module in imported_modules(node):
                if reason := fault(room, module):
                    found.append(f"{inside}:{node.lineno}: {module} {reason}")
        for node in nodes_run_at_import(tree):
            for module in imported_modules(node):
                if module.split(".")[0] in OPTIONAL:
                    found.append(
                        f"{inside}:{node.lineno}: {module} is optional: "
                        "import it in the function that uses it"
                    )
    return found


def test_no_arrow_of_the_house_is_broken():
    assert broken_arrows(PACKAGE) == []


def test_the_house_is_where_this_test_looks_for_it():
    assert (PACKAGE / "_compile").is_dir()
    assert len(list(PACKAGE.rglob("*.py"))) > 10


@pytest.mark.parametrize(
    ("path", "source", "message"),
    [
        ("queries.py", "from sklearn_ltr.metrics import NDCG", "queries may import"),
        ("metrics/ndcg.py", "import sklearn_ltr.lambdas", "metrics may import"),
        ("lambdas/pairs.py", "from sklearn_ltr import learners", "lambdas may import"),
        ("learners/boosting.py", "import sklearn_ltr._queries", "learners may import"),
        ("learners/trees/b.py", "import sklearn_ltr.metrics", "learners may import"),
        ("scorers.py", "from sklearn_ltr import rankers", "scorers may import"),
        ("rankers/_base.py", "from sklearn_ltr import scorers", "rankers may import"),
        ("plotting/_a.py", "import sklearn_ltr.rankers", "plotting may import"),
        ("inspection/_a.py", "import sklearn_ltr.plotting", "inspection may import"),
        ("inspection/_a.py", "import sklearn_ltr.rankers", "inspection may import"),
        ("datasets.py", "from sklearn_ltr._queries import x", "datasets may import"),
        ("queries.py", "from sklearn_ltr import RankNetRanker", "queries may import"),
        ("queries.py", "import sklearn_ltr", "queries may import"),
        (
            "_compile/kernels.py",
            "from sklearn_ltr._queries import x",
            "_compile may import",
        ),
        ("metrics/ndcg.py", "def f():\n import sklearn_ltr.rankers", "may import"),
        ("metrics/ndcg.py", "from ..queries import QueryGroups", "is relative"),
        ("metrics/ndcg.py", "from . import map", "is relative"),
        ("rankers/_base.py", "from sklearn.utils._tags import Tags", "is private"),
        ("rankers/_base.py", "import sklearn._loss", "is private"),
        ("rankers/_base.py", "from sklearn import _loss", "is private"),
        ("metrics/ndcg.py", "from numba import njit", "belongs in _compile"),
        ("metrics/ndcg.py", "def f():\n import llvmlite.ir", "belongs in _compile"),
        ("queries.py", "try:\n import pandas as pd\nexcept E: pass", "is optional"),
        ("queries.py", "class A:\n from polars import Series", "is optional"),
        ("helpers.py", "", "a new room"),
    ],
)
def test_a_broken_arrow_is_found(tmp_path, path, source, message):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(source)
    (line,) = broken_arrows(tmp_path)
    assert line.startswith(path)
    assert message in line


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("_compile/a.py", "import numba\nfrom llvmlite import ir"),
        ("queries.py", "from sklearn_ltr._compile import kernel"),
        ("metrics/ndcg.py", "import sklearn_ltr.metrics._gain, sklearn_ltr._queries"),
        ("rankers/_base.py", "from sklearn import __version__, base"),
        ("datasets.py", "def f():\n import pandas"),
        ("__init__.py", "from sklearn_ltr.rankers._ranknet import RankNetRanker"),
    ],
)
def test_a_lawful_import_is_let_through(tmp_path, path, source):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(source)
    assert broken_arrows(tmp_path) == []


IMPORT_AND_REPORT = """
import json, sys, time
import sklearn.ensemble  # which may itself bring in pandas
before = set(sys.modules)
import numba
start = time.perf_counter()
import sklearn_ltr
seconds = time.perf_counter() - start
print(json.dumps([seconds, sorted(set(sys.modules) - before)]))
"""


def import_in_a_new_process() -> tuple[float, set[str]]:
    """Seconds and modules that `import sklearn_ltr` adds.

    The modules come on top of scikit-learn's, the seconds on top of numba's too, which
    takes from 0.1 to 0.4 of them depending on its version.
    """
    answer = subprocess.run(
        [sys.executable, "-c", IMPORT_AND_REPORT],
        check=True,
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,
    )
    seconds, added = json.loads(answer.stdout)
    return seconds, {name.split(".")[0] for name in added}


def test_importing_the_package_is_quick_and_brings_in_nothing_optional():
    runs = [import_in_a_new_process() for _ in range(5)]
    assert not OPTIONAL & runs[0][1]
    # With numba, under 0.5 s; the quickest run, because what else this machine is doing
    # can only add to it.
    assert min(seconds for seconds, _ in runs) < 0.25
