"""What is changed inside numba changes what compiling costs, and nothing else."""

from __future__ import annotations

import gc

import numba
import numpy as np
import pytest

from sklearn_ltr._core.compile import kernel, numba_internals, subkernel
from sklearn_ltr._core.compile.kernels import USES_INTERNALS
from tests import from_python

pytestmark = pytest.mark.skipif(not USES_INTERNALS, reason="numba is used as it is")


@pytest.fixture
def new_kernel(tmp_path, monkeypatch):
    """A kernel that has not been compiled, with a sub-kernel."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @subkernel
    def half(x):
        return 0.5 * x[0]

    @kernel
    def quarter(x):
        return half(x) * 0.5

    return quarter


@pytest.fixture
def collections_of_pass(monkeypatch):
    """Record whether the garbage collector is on while functions are compiled."""
    seen = []
    lower = numba_internals.NativeLowering.run_pass

    def run_pass(self, state):
        seen.append(gc.isenabled())
        return lower(self, state)

    monkeypatch.setattr(numba_internals.NativeLowering, "run_pass", run_pass)
    yield seen
    gc.enable()


def test_the_garbage_collector_is_paused_while_kernels_are_compiled(
    new_kernel, collections_of_pass
):
    assert gc.isenabled()
    assert new_kernel(np.ones(1)) == 0.25
    assert gc.isenabled()
    assert set(collections_of_pass) == {False}


def test_the_garbage_collector_goes_on_after_a_compilation_that_fails(new_kernel):
    with pytest.raises(numba.TypingError):
        new_kernel("no array")
    assert gc.isenabled()


def test_no_machine_code_is_made_of_a_sub_kernel(new_kernel, monkeypatch):
    made = []
    finalize = numba_internals.JITCodeLibrary._finalize_final_module

    def finalize_and_note(library):
        made.append(library.name)
        finalize(library)

    monkeypatch.setattr(
        numba_internals.JITCodeLibrary, "_finalize_final_module", finalize_and_note
    )
    assert new_kernel(np.ones(1)) == 0.25
    assert any("quarter" in name for name in made)
    assert not any("half" in name for name in made)


@subkernel
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


@subkernel
def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


@subkernel
def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


def test_sub_kernels_may_call_themselves_and_each_other():
    assert from_python(factorial)(10) == 3_628_800
    assert [from_python(is_even)(n) for n in range(4)] == [True, False] * 2


@subkernel
def first_items(x, n):
    """Return new memory and memory of another: both are reference counted."""
    items = np.empty(n)
    items[:] = x[:n]
    return items, x[n:]


@kernel
def sum_by_parts(x, size):
    total = 0.0
    while len(x) > 0:
        items, x = first_items(x, min(size, len(x)))
        total += items.sum()
    return total


def test_arrays_that_a_sub_kernel_returns_live_as_long_as_they_are_used():
    x = np.arange(10_000.0)
    assert sum_by_parts(x, 7) == x.sum()
    assert x.base is None
    x.resize(5)  # raises if anything still refers to the memory
