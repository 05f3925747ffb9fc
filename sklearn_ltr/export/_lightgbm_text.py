"""LightGBM's text, divided into its parts, and the numbers in it, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from sklearn_ltr.export._document import shown

Section = dict[str, str]  # key and value of lines "key=value"


class Text(NamedTuple):
    """The parts of a model."""

    header: Section
    trees: list[Section]
    categorical_feature: str  # indices, with commas
    pandas_categorical: str  # JSON


def divide(text: str) -> Text:
    """Return the parts of a model; a ValueError if one is missing."""
    lines = iter(text.split("\n"))
    if next(lines).strip() != "tree":
        raise ValueError('this is no LightGBM model: its first line is not "tree"')
    header: Section = {}
    section = header
    trees: list[Section] = []
    for number, line in enumerate(lines, start=2):
        key, _, value = line.strip().partition("=")
        if key == "end of trees":
            break
        if key == "Tree":
            if value != str(len(trees)):
                raise ValueError(f"line {number}: Tree={len(trees)} must come here")
            trees.append(section := {})
        elif key in section:
            raise ValueError(f"line {number}: {key} comes twice")
        elif key:
            section[key] = value
    else:
        raise ValueError('the text is cut off: it has no line "end of trees"')
    after = {"[categorical_feature": "", "pandas_categorical": "null"}
    for line in lines:
        key, _, value = line.strip().partition(":")
        if key in after:
            after[key] = value.strip()
    categorical, pandas = after.values()
    return Text(header, trees, categorical.rstrip("]"), pandas)


def value_of(section: Section, key: str) -> str:
    """Return the value of a key."""
    if key not in section:
        raise ValueError(f"{key} is missing")
    return section[key]


def one_integer(section: Section, key: str) -> int:
    """Return the integer of a key."""
    found = to_numbers(value_of(section, key).split(), key, int)
    if len(found) != 1:
        raise ValueError(f"{key} must be one integer, got {len(found)}")
    return int(found[0])


def many(section: Section, key: str, n: int, kind: Any) -> list[Any]:
    """Return the n finite numbers of a key."""
    found = to_numbers(value_of(section, key).split(), key, kind)
    if len(found) != n:
        raise ValueError(f"{key} must hold {n} numbers, got {len(found)}")
    return found


def to_numbers(words: Sequence[str], where: str, kind: Any) -> list[Any]:
    """Return text as finite numbers, int (of at most 18 digits) or float."""
    found = []
    for i, word in enumerate(words):
        try:
            if "_" in word or not word.isascii() or (kind is int and len(word) > 18):
                raise ValueError
            found.append(kind(word))
        except ValueError:
            raise ValueError(f"{where}[{i}] is no number: {shown(word)}") from None
        if not math.isfinite(found[-1]):
            raise ValueError(f"{where}[{i}] is {word}, but must be finite")
    return found
