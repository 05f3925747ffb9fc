"""The metadata that an estimator within another one is fitted with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object

M = TypeVar("M")  # of metadata


def requested_metadata(
    estimator: BaseEstimator, metadata: Mapping[str, M]
) -> dict[str, M]:
    """Return the metadata that an estimator's `fit` requests, with routing enabled."""
    # A ranker or regressor gets every argument that its `fit` takes, unless the user
    # has set other requests.  For a Pipeline or another meta-estimator only the user
    # knows which part takes what: without requests, an UnsetMetadataPassedError.
    routing = get_routing_for_object(estimator)
    if isinstance(routing, MetadataRouter):
        routing.route_params(caller="fit", params=dict(metadata))
    else:
        requests = routing.fit.requests
        unset = [name for name in metadata if requests.get(name, False) is None]
        if unset:
            estimator.set_fit_request(**dict.fromkeys(unset, True))
    names = get_routing_for_object(estimator).consumes("fit", list(metadata))
    requested = {name: metadata[name] for name in sorted(names)}
    if "X_val" in requested:
        from sklearn.pipeline import Pipeline  # with all transformers: not at import

        is_transformed = isinstance(estimator, Pipeline) and len(estimator) > 1
        if is_transformed and "X_val" not in (estimator.transform_input or ()):
            raise ValueError(
                "the Pipeline transforms X but not X_val: give the Pipeline "
                'transform_input=["X_val"]'
            )
    return requested
