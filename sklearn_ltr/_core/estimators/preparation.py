"""From the arguments of `fit` to the data of a fit, once for all estimators.

Trees and networks, rankers and MART, members of a bag and the workers of a cluster are
prepared by `prepare`.  Where kinds of estimators differ, it asks their parameters: how
rows are read, which are held out, where the scores start (F_0), and which rows there is
something to learn from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sklearn_ltr._core.comm import ONE_PROCESS, Comm
from sklearn_ltr._core.data import FitArguments, FitData
from sklearn_ltr._core.data.feature_reader import (
    FeatureReader,
    SuppliedX,
    given_values,
)
from sklearn_ltr._core.estimators.attributes import Attributes
from sklearn_ltr._core.estimators.base import FitParameters
from sklearn_ltr._core.estimators.validation_range import warn_of_ranges


class SoFar(Protocol):
    """What a fit begins with: its seed, and the last fit, if it continues that."""

    @property
    def seed(self) -> int:
        """The seed of all draws."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The fitted attributes of the last fit; empty for a new one."""


def found_by_reading(declared: Attributes, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes that were found while arguments were read."""
    names = [name for name, attribute in declared.items() if attribute.by_reading]
    return {name: values[name] for name in names if name in values}


def prepare(
    given: FitArguments,
    parameters: FitParameters,
    so_far: SoFar,
    comm: Comm = ONE_PROCESS,
    *,
    is_partial: bool = False,
) -> FitData:
    """Return the data of a fit; all workers of a fit call this together.

    Of a part of a stream (`is_partial`, as by `partial_fit`) nothing is held out, and
    if others came before, there need be nothing to learn from.
    """
    # read: the columns of X, then all rows, which add to the attributes `found`
    p, X, is_new = parameters, given.X, not so_far.attributes
    found = found_by_reading(given.estimator._attributes, so_far.attributes)
    of_columns = dict(X.known) if is_new and isinstance(X, SuppliedX) else {}
    reader = FeatureReader(given.estimator, found | of_columns)
    if not (of_columns or reader.is_for_network):
        features = getattr(p, "categorical_features", None)
        reader.learn_categories(given_values(X), features)
    train, sets = p.read_rows(given, reader, found, comm)
    if comm is ONE_PROCESS and not reader.is_for_network:  # these warn of scales, too
        warn_of_ranges(train.X, train.rows, sets, reader.categories.feature)

    # hold out
    if p.holds_out and not sets and not is_partial:
        train, *sets = p.hold_out(train, found, so_far.seed, comm)

    # start from F_0, and choose what to learn from
    train, *sets = p.with_start(given, [train, *sets], found, comm)
    learned = p.choose_learned(train, comm, may_be_none=is_partial and not is_new)
    return FitData(train, learned, sets, reader, found | reader.attributes)
