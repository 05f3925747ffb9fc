"""Kernels that come with the package are used exactly where they are valid."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import llvmlite
import llvmlite.binding
import numba
import pytest

from sklearn_ltr import __main__
from sklearn_ltr._core.compile import cpus, keys
from sklearn_ltr._core.compile.kernels import USES_INTERNALS
from tests.compile.test_kernel_cache import (
    CALLEES,
    FIRST,
    computed,
    damaged,
    files,
    folder,
    written,
)

__all__ = ["folder"]  # a fixture

OWN = cpus.levels_of(cpus.features_of_this_cpu())
pytestmark = pytest.mark.skipif(
    not (USES_INTERNALS and OWN), reason="no level is known of this kind of CPU"
)

COMPUTE = """
import kernels
from callees import Point
print(kernels.compute(1.0, Point(1.0, 2.0)))
"""


def in_new_process(folder: Path, cache: Path, **environment: str) -> str:
    """Call the kernel in a new process, which stores it in a cache."""
    paths = os.pathsep.join([str(folder), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", COMPUTE],
        env=os.environ
        | {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(cache)}
        | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """The file of the kernel for the highest level, compiled by another process."""
    folder = tmp_path_factory.mktemp("level")
    environment = cpus.environment_for(OWN[0])
    in_new_process(written(folder / "source"), folder / "cache", **environment)
    (file,) = (folder / "cache").rglob("*.nbc")
    return file


@pytest.fixture
def kernel_of_level(made, folder, tmp_path, monkeypatch) -> Iterator[Path]:
    """The same file, as if the package had it."""
    level = tmp_path / "compiled" / OWN[0]
    level.mkdir(parents=True)
    monkeypatch.setattr(cpus, "COMPILED", str(tmp_path / "compiled"))
    yield Path(shutil.copy(made, level))
    keys._versions.cache_clear()


def codegen() -> type:
    """Return the class that knows which CPU numba compiles for."""
    return type(numba.core.registry.cpu_target.target_context.codegen())


def test_a_kernel_for_the_level_of_this_cpu_is_used(folder, kernel_of_level):
    assert computed(folder) == (FIRST, False)
    assert files(folder) == []  # nothing is compiled, so nothing is stored


def test_one_that_was_compiled_for_this_cpu_is_better(
    folder, kernel_of_level, monkeypatch
):
    with monkeypatch.context() as context:
        context.setattr(cpus, "COMPILED", "")
        assert computed(folder) == (FIRST, True)
    kernel_of_level.write_bytes(b"")  # would be a warning, which is an error here
    assert computed(folder) == (FIRST, False)


@pytest.mark.parametrize(
    "package, version",
    [
        (numba, "1.2.3"),
        (llvmlite, "1.2.3"),
        (sys.implementation, "cpython-399"),
    ],
    ids=["numba", "llvmlite", "Python"],
)
def test_another_release_compiles(
    folder, kernel_of_level, monkeypatch, package, version
):
    name = "cache_tag" if package is sys.implementation else "__version__"
    monkeypatch.setattr(package, name, version)
    keys._versions.cache_clear()
    assert computed(folder) == (FIRST, True)


def test_another_patch_of_a_release_does_not(folder, kernel_of_level, monkeypatch):
    release = ".".join(numba.__version__.split(".")[:2])
    monkeypatch.setattr(numba, "__version__", f"{release}.99")
    keys._versions.cache_clear()
    assert computed(folder) == (FIRST, False)


def test_another_source_compiles(folder, kernel_of_level):
    written(folder, CALLEES.replace("FACTOR = 2.0", "FACTOR = 4.0"))
    assert computed(folder) == (FIRST + 203.0, True)


def test_other_settings_compile(folder, kernel_of_level, monkeypatch):
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert computed(folder) == (FIRST, True)


@pytest.mark.parametrize("how", ["empty", "truncated", "one bit", "another object"])
def test_a_damaged_file_compiles_with_a_warning(folder, kernel_of_level, how):
    kernel_of_level.write_bytes(damaged(kernel_of_level.read_bytes(), how))
    with pytest.warns(UserWarning, match="cannot be used") as caught:
        assert computed(folder) == (FIRST, True)
    assert str(kernel_of_level) in str(caught[0].message)
    assert len(caught) == 1


def test_an_older_cpu_compiles(folder, kernel_of_level, monkeypatch):
    triple, name, _ = codegen().magic_tuple(
        numba.core.registry.cpu_target.target_context.codegen()
    )
    older = (triple, name, "+sse2,-avx,-avx2,-avx512f")
    monkeypatch.setattr(codegen(), "magic_tuple", lambda self: older)
    assert computed(folder) == (FIRST, True)


def test_a_user_who_wants_code_for_any_cpu_gets_it(folder, kernel_of_level, tmp_path):
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    in_new_process(folder, tmp_path / "generic", **generic)
    assert len(list((tmp_path / "generic").rglob("*.nbc"))) == 1


def test_levels_are_those_whose_instructions_a_cpu_has(monkeypatch):
    monkeypatch.setattr(cpus, "LEVELS", cpus._X86_64)
    features = {
        level: "+" + ",+".join(added.split()) for level, added in cpus._X86_64.items()
    }
    so_far, levels = [], []
    for level, added in features.items():
        so_far, levels = [*so_far, added], [level, *levels]
        assert cpus.levels_of(",".join(so_far)) == levels
        assert cpus.levels_of(",".join(so_far) + ",+other,-avx10") == levels
    # AVX-512 without AVX2 is no level
    without = [features[level] for level in features if level != "x86-64-v3"]
    assert cpus.levels_of(",".join(without)) == ["x86-64-v2", "x86-64"]
    assert cpus.levels_of(features["x86-64"].replace("+", "-")) == []
    assert cpus.levels_of("") == []


def test_llvm_knows_all_levels_and_features():
    known = llvmlite.binding.get_host_cpu_features()
    needed = {name for added in cpus.LEVELS.values() for name in added.split()}
    assert needed <= known.keys()


@pytest.mark.parametrize("given", [["--cpu", OWN[0] if OWN else ""], ["--into", "x"]])
def test_a_cpu_without_a_folder_and_the_reverse_are_refused(given, capsys, tmp_path):
    with pytest.raises(SystemExit):
        __main__.main(["compile", *given])
    assert "--cpu and --into go together" in capsys.readouterr().err


def test_code_that_this_cpu_cannot_run_is_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(cpus, "features_of_this_cpu", lambda: "")
    assert __main__.main(["compile", "--cpu", OWN[0], "--into", str(tmp_path)]) == 1
    assert f"cannot run code for {OWN[0]}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
