"""What all scripts have in common: their options, the machine, and stored results."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]  # of this checkout
PACKAGES = ("scikit-learn", "numba", "lightgbm", "xgboost", "catboost")


def parser_of(description: str) -> argparse.ArgumentParser:
    """Return the parser of a script with this docstring; it has --json."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument(
        "--json", metavar="PATH", help="append the results as JSON lines"
    )
    return parser


def append_json(path: str | None, records: list[dict]) -> None:
    """Append records to a file of JSON lines, each with script, machine and date."""
    if path:
        about = {"benchmark": Path(sys.argv[0]).stem, "machine": machine()}
        about["date"] = datetime.now(UTC).date().isoformat()
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(about | record) + "\n" for record in records)


def append_runs(
    path: str | None, about: Mapping[str, Any], runs: Mapping[str, list[dict]]
) -> None:
    """Append the results of libraries, each with what it is about."""
    of_libraries = [
        {"library": library, **about, **result}
        for library, results in runs.items()
        for result in results
    ]
    append_json(path, of_libraries)


def read_json(path: str | Path) -> list[dict]:
    """Return the records of a file of JSON lines."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def machine(more: Sequence[str] = ()) -> str:
    """Return the processor and the versions of the installed libraries."""
    versions = [f"Python {platform.python_version()}"]
    for name in (*PACKAGES, *more):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{name} {metadata.version(name)}")
    return f"{processor()}, {os.cpu_count()} cores, {', '.join(versions)}"


def processor() -> str:
    """Return the name of the CPU, on Linux only, and its architecture."""
    path = Path("/proc/cpuinfo")
    text = path.read_text() if path.exists() else ""
    _, _, after = text.partition("model name\t: ")
    return f"{after.split(chr(10))[0]} {platform.machine()}".strip()
