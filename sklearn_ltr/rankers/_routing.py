"""What an estimator requests through scikit-learn's metadata routing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.utils.metadata_routing import get_routing_for_object


def requested_by_fit(model: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that a model's `fit` requests; routing must be enabled."""
    requested = get_routing_for_object(model).consumes("fit", list(metadata))
    return {name: metadata[name] for name in sorted(requested)}
