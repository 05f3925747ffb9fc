"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# the first example may wait for the compiler
settings.register_profile("compiled kernels", deadline=None)
settings.load_profile("compiled kernels")
