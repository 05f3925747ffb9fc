"""Runs the table of bad inputs."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import tests.bad_inputs
from tests.bad_inputs import Case

TABLE = {
    f"{module.name}: {case.name}": case
    for module in pkgutil.iter_modules(tests.bad_inputs.__path__)
    if not module.name.startswith("test_")
    for case in importlib.import_module(f"tests.bad_inputs.{module.name}").CASES
}


@pytest.mark.parametrize("case", TABLE.values(), ids=TABLE.keys())
def test_each_bad_input_has_its_exact_outcome(case: Case) -> None:
    if case.error is None:
        assert case.call()
        return
    with pytest.raises(case.error) as raised:
        case.call()
    assert raised.type is case.error
    assert case.message and case.message in str(raised.value)
