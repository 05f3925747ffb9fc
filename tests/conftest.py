"""Settings of hypothesis, of signals and of warnings for all tests."""

from __future__ import annotations

import gc
import signal

import joblib
import numpy as np
import pytest
import sklearn
from hypothesis import settings

from sklearn_ltr._core.compile import INTERPRETED, cpus_left, helper, threads
from sklearn_ltr._core.networks import perceptron

# no deadline, as the first example may have to wait for the compiler
settings.register_profile("short", deadline=None, max_examples=40)
settings.register_profile("long", deadline=None, max_examples=400, print_blob=True)
settings.load_profile("short")

# a shell makes background processes ignore Ctrl-C, and some tests send it
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    """Let interpreted kernels count modulo 2^64, of which NumPy's scalars warn."""
    if INTERPRETED:
        of_scalars = "ignore:overflow encountered in scalar:RuntimeWarning"
        config.addinivalue_line("filterwarnings", of_scalars)


def pytest_collection_finish():
    """Let the collector leave aside what all tests have: it takes longer than most."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _all_work_is_shared():
    """Let all threads share what is too short for that, since most tests are small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "MIN_SHARED_TIME", -np.inf)
        patch.setattr(threads, "MIN_TIME_TO_BEGIN", -np.inf)
        patch.setattr(perceptron, "MIN_SHARED_PRODUCTS", 0)
        # also beside other tests
        patch.setattr(cpus_left, "SHORTEST_WINDOW", np.inf)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_helper_is_started():
    """Let no process compile beside the tests what they may not need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(helper.SWITCH, "0")
        yield


@pytest.fixture
def four_cores(monkeypatch):
    """Let n_jobs ask for four threads, whatever this machine has."""
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)


@pytest.fixture
def routing():
    """Switch scikit-learn's metadata routing on."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield
