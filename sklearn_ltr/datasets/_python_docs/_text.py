"""Words, and how often each text has them.

A word is a run of letters or of digits; identifiers fall apart at underscores and
where the case changes (``BaseHTTPServer`` is base, http, server).  Plurals lose their
s by the three rules of Harman's S stemmer (1991, "How effective is suffixing?").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy.sparse import csr_array

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@cache
def stem(word: str) -> str:
    """Return the singular of a lower-case English word, more or less."""
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


def words(text: str) -> list[str]:
    """Return the words of a text or identifier, lower case and stemmed, in order."""
    return [stem(word.lower()) for word in WORD.findall(text)]


def trigrams(text: str) -> list[str]:
    """Return the runs of three letters of each word, ends marked: ^pa, par, ... e$."""
    return [
        marked[i : i + 3]
        for marked in (f"^{word}$" for word in words(text))
        for i in range(len(marked) - 2)
    ]


def pairs_of_words(text: str) -> list[str]:
    """Return the pairs of neighbouring words."""
    found = words(text)
    return [f"{a} {b}" for a, b in zip(found, found[1:], strict=False)]


def numbered(texts: Sequence[list[str]]) -> dict[str, int]:
    """Return a number for each distinct word, in alphabetical order."""
    distinct = {word for text in texts for word in text}
    return {word: number for number, word in enumerate(sorted(distinct))}


def count(texts: Sequence[list[str]], numbers: dict[str, int]) -> csr_array:
    """Return (n_texts, n_words) float64 counts; words without a number are left out."""
    indices: list[int] = []
    stops = [0]
    for text in texts:
        indices += [numbers[word] for word in text if word in numbers]
        stops.append(len(indices))
    counts = csr_array(
        (np.ones(len(indices)), np.array(indices, dtype=np.int32), stops),
        shape=(len(texts), len(numbers)),
    )
    counts.sum_duplicates()
    return counts
