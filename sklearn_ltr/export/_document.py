"""Check the values of a JSON document before use; errors name their place."""

from __future__ import annotations

import math
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sklearn_ltr._core.strict_json import load_json

K = TypeVar("K")

NAMES: dict[type, str] = {
    int: "an integer",
    float: "a finite number",
    bool: "true or false",
    str: "text",
    list: "a list",
    dict: "an object",
}


def parse(text: str | bytes) -> Any:
    """Return what a JSON text holds; a ValueError if it is none, or holds NaN."""

    def no_number(name: str) -> NoReturn:
        raise ValueError(f"it holds {name}")

    try:
        return load_json(text, parse_constant=no_number)
    except (ValueError, OverflowError) as error:  # UnicodeDecodeError is one
        if "integer string conversion" in str(error):  # Python's words
            raise ValueError("the JSON has an integer of thousands of digits") from None
        raise ValueError(f"this is no valid JSON: {error}") from None


def checked(value: object, kind: type[K], where: str) -> K:
    """Return a value if it is of a kind, a key of NAMES; else raise a ValueError."""
    if kind is float and type(value) is int and abs(value) <= 2**1023:
        value = float(value)
    is_infinite = isinstance(value, float) and not math.isfinite(value)
    if type(value) is not kind or is_infinite:
        raise ValueError(f"{where} must be {NAMES[kind]}, got {excerpt(value)}")
    return value


def place(where: str, key: str) -> str:
    """Return where a member of an object is."""
    return f"{where}.{key}" if where else key


def member(document: object, key: str, kind: type[K], where: str = "") -> K:
    """Return the checked value of a key of an object."""
    path = place(where, key)
    if type(document) is not dict or key not in document:
        raise ValueError(f"{path} is missing")
    return checked(document[key], kind, path)


def items(values: object, kind: type[K], where: str) -> list[K]:
    """Return a list of which all items are of a kind."""
    found = checked(values, list, where)
    if set(map(type, found)) == {kind} and (
        kind is not float or all(map(math.isfinite, found))
    ):
        return found
    return [checked(value, kind, f"{where}[{i}]") for i, value in enumerate(found)]


def items_of(document: object, key: str, kind: type[K], where: str = "") -> list[K]:
    """Return a member that is a list of which all items are of a kind."""
    return items(member(document, key, list, where), kind, place(where, key))


def objects(
    document: object, key: str, where: str = ""
) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of a member that is a list, each after its place."""
    found = items_of(document, key, dict, where)
    return [(f"{place(where, key)}[{i}]", value) for i, value in enumerate(found)]


def array(
    document: object, key: str, dtype: DTypeLike, where: str = ""
) -> NDArray[Any]:
    """Return a member that is a list of numbers or booleans as an array."""
    kind: type = {"b": bool, "i": int, "f": float}[np.dtype(dtype).kind]
    values: list[float] = items_of(document, key, kind, where)
    if kind is int:
        limits = np.iinfo(np.dtype(dtype).name)
        lowest, highest = int(limits.min), int(limits.max)
        if values and not (lowest <= min(values) and max(values) <= highest):
            i = next(i for i, v in enumerate(values) if not lowest <= v <= highest)
            path = f"{place(where, key)}[{i}]"
            raise ValueError(f"{path} is out of range: {excerpt(values[i])}")
    return np.array(values, dtype=dtype)


def excerpt(value: object) -> str:
    """Return a value for a message, cut to a line."""
    if isinstance(value, list | dict):
        return f"{NAMES[type(value)]} of {len(value)}"
    if isinstance(value, int) and abs(value) > 2**63:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
