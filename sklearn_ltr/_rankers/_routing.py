"""What an estimator requests through scikit-learn's metadata routing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.utils.metadata_routing import get_routing_for_object

from sklearn_ltr._rankers.base import BaseRanker


def requested_by_fit(model: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that a model's `fit` requests; routing must be enabled."""
    requested = get_routing_for_object(model).consumes("fit", list(metadata))
    return {name: metadata[name] for name in sorted(requested)}


def request_sample_weight(model: Any) -> None:
    """Make a ranker of ours request sample weights, unless the user has set that."""
    if isinstance(model, BaseRanker):
        requests = model.get_metadata_routing().fit.requests
        if requests.get("sample_weight") is None:
            model.set_fit_request(sample_weight=True)
