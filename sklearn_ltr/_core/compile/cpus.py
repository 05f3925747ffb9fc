"""Kinds of CPU for which kernels are compiled before they are needed.

numba compiles for the CPU of the machine.  Kernels that come with the package are for a
*level*, a set of instructions that many CPUs have: those of x86-64 are levels 2 to 4 of
the x86-64 psABI, under LLVM's names; any 64-bit ARM has the instructions of "generic".
"""

from __future__ import annotations

import os
import platform
import sys

import llvmlite.binding

# What each level adds to the one before, by LLVM's names
_X86_64 = {
    "x86-64": "sse2",
    "x86-64-v2": "cx16 sahf popcnt sse3 sse4.1 sse4.2 ssse3",
    "x86-64-v3": "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
}
_LEVELS = {
    "x86_64": _X86_64,
    "amd64": _X86_64,
    "aarch64": {"generic": "neon"},
    "arm64": {"generic": "neon"},
}

MACHINE = platform.machine().lower()
LEVELS = _LEVELS.get(MACHINE, {})  # of this machine's kind, the lowest first

# Of each level, the kernels that come with the package are in a folder of its name
COMPILED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiled")


def levels_of(features: str) -> list[str]:
    """Return the levels of a CPU, the highest first, by its features, "+avx,-...".

    An empty string, from a user who wants code for all CPUs, has no level.
    """
    levels: list[str] = []
    has = {name[1:] for name in features.split(",") if name.startswith("+")}
    for level, added in LEVELS.items():
        if not has.issuperset(added.split()):
            break
        levels.insert(0, level)
    return levels


def features_of_this_cpu() -> str:
    """Return the features of the CPU of this machine, "+avx,-..."."""
    features: str = llvmlite.binding.get_host_cpu_features().flatten()
    return features


def described(cpu: tuple[str, str, str]) -> tuple[str, ...]:
    """Return what tells the target of machine code: LLVM's triple, name and features.

    A level is described without the triple, which may have the version of the system.
    """
    _, name, features = cpu
    return level_described(name) if name in LEVELS and not features else cpu


def level_described(level: str) -> tuple[str, ...]:
    """Return what tells that machine code is for a level."""
    return sys.platform, MACHINE, level


def environment_for(level: str) -> dict[str, str]:
    """Return the environment variables that let numba compile for a level."""
    return {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
