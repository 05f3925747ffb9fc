"""Read JSON in which no object has a key twice, which Python's reader lets pass."""

from __future__ import annotations

import json
from typing import Any


def load_json(text: str | bytes, **options: Any) -> Any:
    """Return what a JSON text holds; a ValueError if it is none.

    `options` are arguments of :func:`json.loads`.
    """
    try:
        return json.loads(text, object_pairs_hook=_object, **options)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a ValueError names a key that it has twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{twice!r} is given twice in one object: remove one")
    return members
