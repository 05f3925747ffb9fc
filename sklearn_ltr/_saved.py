"""Where saved models find the classes of their parts, wherever these are defined."""

from typing import Any

from sklearn_ltr._core.saving import PARTS


def __getattr__(name: str) -> Any:
    """Return the class of a part by its name."""
    if name not in PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return PARTS[name]
