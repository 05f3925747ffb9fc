"""Requests to the interface of a search engine, and the features they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote


class Request(NamedTuple):
    """One HTTP request that a search engine expects.

    Attributes
    ----------
    method : {"PUT", "POST"}
    path : str
        After the address of the engine, of the core or collection for Solr.
    body : dict or list
        What ``json.dumps`` turns into the body.
    """

    method: str
    path: str
    body: Any


def check_name(name: Any, argument: str) -> str:
    """Return a name for a path, quoted; an error if it is no text or empty."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"{argument} must be text and not empty, got {name!r}")
    return quote(name, safe="")


def check_features(names: Sequence[str], features: Any) -> Mapping[str, Any]:
    """Return what the engine computes for each column; an error for other columns."""
    if not isinstance(features, Mapping):
        raise TypeError(
            "features must be a dict from the names of the columns to what the engine "
            f"computes for them, got {type(features).__name__}"
        )
    missing = [name for name in names if name not in features]
    unknown = [name for name in features if name not in names]
    if missing or unknown:
        raise ValueError(
            "features must have the names of the columns that the model was fitted on: "
            f"{len(missing)} are missing, {missing[:3]}, and {len(unknown)} are no "
            f"such columns, {unknown[:3]}"
        )
    for name in names:
        if not isinstance(features[name], Mapping):
            raise TypeError(
                f"features[{name!r}] must be a dict, got "
                f"{type(features[name]).__name__}"
            )
    return features
