"""A hook of the build that puts compiled kernels into a wheel.

    SKLEARN_LTR_KERNELS="x86-64-v3 x86-64-v4" python -m build --wheel

makes a wheel for the Python, the system and the kind of CPU on which it is built, with
the kernels of these levels (``python -m sklearn_ltr compile --help``).  Without the
variable, or for an editable installation, a wheel is pure Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# numba has no wheels for older systems; machine code needs no library but those that
# numba has loaded
OLDEST_LINUX = "manylinux_2_17"


def levels() -> list[str]:
    """Return the levels of CPUs to compile for."""
    return os.environ.get("SKLEARN_LTR_KERNELS", "").split()


def platform_tag() -> str:
    """Return the tag of this system and kind of CPU."""
    tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return tag.replace("linux", OLDEST_LINUX, 1) if tag.startswith("linux") else tag


class KernelsInWheel(BuildHookInterface):
    """Compiles kernels into the wheel, if levels are given."""

    def dependencies(self) -> list[str]:
        """Return what the package needs when it runs."""
        return self.metadata.core.dependencies if levels() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say which files the wheel takes and what it is for."""
        if not levels() or version == "editable":
            return
        self.made = tempfile.TemporaryDirectory()
        found, kernels = Path(self.made.name, "found"), Path(self.made.name, "kernels")
        # the package asks for its version, which is in the keys of kernels
        name = self.metadata.core.raw_name
        about = (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {self.metadata.version}\n"
        )
        info = found / f"{name}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(about, "utf-8")
        paths = os.pathsep.join([self.root, str(found)])
        for level in levels():
            command = [sys.executable, "-m", "sklearn_ltr", "compile"]
            subprocess.run(
                [*command, "--cpu", level, "--into", str(kernels / level)],
                cwd=found, env=os.environ | {"PYTHONPATH": paths}, check=True,
            )  # fmt: skip
            inside = f"sklearn_ltr/_core/compile/compiled/{level}"
            build_data["force_include"][str(kernels / level)] = inside
        build_data["pure_python"] = False
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["tag"] = f"{python}-none-{platform_tag()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact: str) -> None:
        """Remove what the wheel has taken."""
        if hasattr(self, "made"):
            self.made.cleanup()
