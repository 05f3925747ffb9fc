"""Every parameter of every public estimator has its range, which `fit` checks first."""

from __future__ import annotations

import dataclasses
import sys
from decimal import Decimal
from fractions import Fraction
from functools import cache
from numbers import Integral
from typing import Any

import numpy as np
import pytest

from sklearn_ltr._core.parameters import (
    FRACTION_OR_COUNT,
    Choice,
    Or,
    Range,
    declared_values,
)
from tests.bad_inputs import HUGE, INF, NAN, SMALL, X, targets

NO_NUMBERS = ["1", b"1", np.timedelta64(3, "D"), True, np.True_, [1], 1j, Decimal(1)]
NO_NUMBERS += [{}, np.array(1), object()]
NO_INTEGERS = [1.0, 2.5, np.float64(2), Fraction(2), INF, NAN]
NO_FLAGS = ["no", 2, None, 1.0, [True], np.array([1, 0]), b"yes", object()]
#: Not declared, or with values of their own, that are wrong
OTHERS: dict[str, list[Any]] = {
    "batch_size": [0, -1, 1.5, "all", None],
    "dart": [0, 0.0, 1.5, -0.1, NAN, INF, "0.1", True, [], [0.1], {0.1}, {},
             {"drop_rate": 0.1}, {"rate_drop": 0}, {"rate_drop": None},
             {"skip_drop": 1}, {"skip_drop": NAN}, {"max_drop": 0}, {"max_drop": 2.5},
             {"max_drop": True}],
    "hidden_layer_sizes": [0, (3, 0), (2**31,), 1.5, "3", (True,), None],
    "metric": ["auc", 3, ["ndcg"]],
    "n_jobs": [0, 1.5, 2.0, "2", True, np.True_, [1], NAN, 0j, np.int64(0)],
    "objective": ["rank:ndcg", "", b"lambdarank", None, 1, ["lambdarank"]],
    "position_bias": ["both", True, {}, {"method": "both"}, {"regularization": 1},
                      {"method": "additive", "strength": 1},
                      {"method": "additive", "regularization": -1}],
    "random_state": [-1, 2**32, HUGE, "seed", 1.5, NAN, np.random.default_rng(0)],
    "solver_params": [3, "momentum", {"speed": 1}, {"momentum": NAN}],
}  # fmt: skip
#: What the message speaks of in place of the parameter
SAYS = {"scoring": "metric"}


def out_of(values: Range) -> list[tuple[Any, type[Exception]]]:
    """Return values out of a range, and of other types, and the errors."""
    step = 1 if values.kind is Integral else abs(values.low) * 1e-6 + 5e-324
    beyond = [values.low - step, -INF if values.kind is not Integral else -(10**30)]
    if values.kind is not Integral:
        beyond += [INF, NAN, HUGE, np.float32("inf"), np.longdouble("1e400")]
    if values.closed in ("right", "neither"):
        beyond.append(values.low)
    if values.high < np.inf:
        beyond.append(values.high + (step if values.kind is Integral else 1e-6))
        beyond[-1] *= 1 if values.high < 1e9 else 1.001
    if values.closed in ("left", "neither") and values.high < np.inf:
        beyond.append(values.high)
    if values.kind is Integral:
        beyond = [int(value) for value in beyond]
    types = NO_NUMBERS + (NO_INTEGERS if values.kind is Integral else [])
    types = types if values.optional else [*types, None]
    return [(v, ValueError) for v in beyond] + [(v, TypeError) for v in types]


def wrong(values: Any) -> list[tuple[Any, type[Exception]]]:
    """Return values that a parameter must not have, and the errors."""
    if isinstance(values, Range):
        return out_of(values)
    if values is FRACTION_OR_COUNT:
        beyond = [0.0, 1.5, NAN, INF, 0, -1, -(10**30), 999, 10**30]
        return [(v, ValueError) for v in beyond] + [
            (v, TypeError) for v in ("all", None, True)
        ]
    if isinstance(values, Or):
        return [
            (v, error)
            for v, error in out_of(values.values)
            if not (isinstance(v, str) and v in values.words)
        ]
    if isinstance(values, Choice):
        known = values.values
        words = [v.upper() for v in known if isinstance(v, str)]
        words += [v.encode() for v in known if isinstance(v, str)]
        others = [v for v in NO_FLAGS if not (v is None and None in known)]
        return [(v, ValueError) for v in [*words, "", 0.0, -1, *others]]
    return []


@cache
def declared(estimator: type) -> dict[str, Any]:
    """Return the declared values by parameter: those of the class with these fields."""
    names = set(estimator(**SMALL[estimator]).get_params(deep=False))
    for module in list(sys.modules.values()):
        if module.__name__.startswith("sklearn_ltr."):
            for part in vars(module).values():
                if isinstance(part, type) and dataclasses.is_dataclass(part):
                    if {f.name for f in dataclasses.fields(part) if f.init} == names:
                        return declared_values(part)
    raise AssertionError(f"the parameters of {estimator} are nowhere declared")


def parameters() -> list[Any]:
    return [
        pytest.param(estimator, name, id=f"{estimator.__name__} {name}")
        for estimator in SMALL
        for name in estimator(**SMALL[estimator]).get_params(deep=False)
    ]


def check_refused(estimator: type, name: str, value: Any, errors: Any) -> None:
    """Check that `fit` refuses a value by name, and leaves the model as it was."""
    model = estimator(**SMALL[estimator] | {name: value})
    before = dict(vars(model))
    with pytest.raises(errors) as raised:
        model.fit(X, **targets(estimator))
    assert SAYS.get(name, name) in str(raised.value), f"{value!r}: {raised.value}"
    after = vars(model)
    assert before.keys() == after.keys()
    assert all(after[attribute] is before[attribute] for attribute in before)


@pytest.mark.parametrize(("estimator", "name"), parameters())
def test_fit_refuses_what_a_parameter_must_not_be(estimator, name):
    check_refused(estimator, name, object(), (TypeError, ValueError))
    for value, error in wrong(declared(estimator)[name]):
        check_refused(estimator, name, value, error)
    for value in OTHERS.get(name, []):
        check_refused(estimator, name, value, (TypeError, ValueError))
