"""The same bytes on other CPUs: by code made for them, on this one, or in emulation."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from sklearn_ltr._core.compile import INTERPRETED

PROGRAM = str(Path(__file__).with_name("digests.py"))

# The features that code may use: of numba's kernels, of numpy and of the C library.
NO_AVX512 = {
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL "
    "AVX512_ICL AVX512_SPR X86_V4",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ",
}
NO_AVX = {
    "NPY_DISABLE_CPU_FEATURES": NO_AVX512["NPY_DISABLE_CPU_FEATURES"]
    + " X86_V3 AVX2 FMA3 F16C AVX",
    "GLIBC_TUNABLES": NO_AVX512["GLIBC_TUNABLES"]
    + ",-AVX2,-AVX,-FMA,-FMA4,-AVX_Fast_Unaligned_Load",
}
CPUS = {
    "AVX2": {"NUMBA_CPU_NAME": "haswell", "OPENBLAS_CORETYPE": "Haswell"} | NO_AVX512,
    "SSE4": {
        "NUMBA_CPU_NAME": "x86-64-v2",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": "Nehalem",
    }
    | NO_AVX,
}
ARM64 = "ARM64_PYTHON"  # a command that runs Python for ARM64, made by .ci/emulated

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or INTERPRETED, reason="needs x86-64 code"
)


def digests(*kinds: str, python: str = sys.executable, **environment: str) -> list[str]:
    """Run the program of `digests.py` in a process of its own."""
    # numpy warns of features that it or this CPU does not have
    command = [python, "-W", "ignore", PROGRAM, *kinds]
    done = subprocess.run(
        command,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=7200,  # an emulated CPU compiles everything, maybe beside others
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("cpu", "kinds"),
    [
        pytest.param("AVX2", (), marks=pytest.mark.long),
        # neither wide vectors nor FMA
        pytest.param("SSE4", ("fits",), marks=pytest.mark.slow),
        pytest.param("SSE4", (), marks=pytest.mark.long),
    ],
)
def test_trees_and_metrics_are_the_same_on_another_cpu(cpu, kinds):
    assert digests(*kinds, **CPUS[cpu]) == digests(*kinds)


@pytest.mark.long
@pytest.mark.skipif(ARM64 not in os.environ, reason=f"needs .ci/emulated ({ARM64})")
def test_trees_and_metrics_are_the_same_on_arm64():
    assert digests(python=os.environ[ARM64]) == digests()


@pytest.mark.long
def test_networks_are_the_same_with_the_same_blas():
    of_haswell = digests("networks", OPENBLAS_CORETYPE="Haswell")
    assert digests("networks", **CPUS["AVX2"]) == of_haswell
