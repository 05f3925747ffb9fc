"""Settings of hypothesis and of signals for all tests."""

from __future__ import annotations

import signal

import joblib
import pytest
from hypothesis import settings

# the first example may have to wait for the compiler
settings.register_profile("compiled kernels", deadline=None)
settings.load_profile("compiled kernels")

# a shell makes background processes ignore Ctrl-C, and some tests send it
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def four_cores(monkeypatch):
    """Let n_jobs ask for four threads, whatever this machine has."""
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)
