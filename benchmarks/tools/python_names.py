"""Ranking data with categories: which names does a Python function use?

Made on this machine, by the reader of ``examples/python_docs.py``, from the sources of
the standard library and of the packages below; nothing is downloaded, and the data
depend on their versions.

A query is a documented function or method that uses 3 to 25 different names (of
variables, functions, attributes), those of its arguments not counted.  Its documents
are these names, and other names up to 40, drawn with the frequency that names have in
all functions.  Grade 2: it uses the name more than once; 1: once; 0: not.

Categories are the name (about 10,000 different ones), package, module, class and verb
(the first word of its own name) of the function, and the name together with the package
and with the verb (70,000 and 170,000).  The other features are words that the
documentation and the name have in common, and what the name looks like.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.tools.records import ROOT

sys.path.append(str(ROOT / "examples"))
from python_docs import Document, read_documents  # noqa: E402

PACKAGES = ("numba", "numpy", "pandas", "scipy", "sklearn")
N_NAMES = 40  # documents of a query
MIN_USED, MAX_USED = 3, 25
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
MIN_FUNCTIONS = 3  # names that fewer functions use are left out


def words(text: str) -> list[str]:
    """Return words in lower case and singular: ``BaseServers`` is base, server."""
    return [singular(word.lower()) for word in WORD.findall(text)]


@cache
def singular(word: str) -> str:
    """Remove a plural s by the three rules of Harman (1991), the "S stemmer"."""
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


class Function(NamedTuple):
    document: Document
    used: dict[str, int]  # name: how often it is used

    @property
    def categories(self) -> dict[str, str]:
        """What is the same for all names."""
        d = self.document
        return {
            "package": d.module.partition(".")[0],
            "module": d.module,
            "class": d.owner or d.module,
            "verb": (words(d.short_name) or [""])[0],
        }

    @property
    def texts(self) -> dict[str, set[str]]:
        """The words of its parts."""
        d = self.document
        texts = {
            "own_name": d.short_name,
            "arguments": " ".join(d.arguments),
            "docstring": f"{d.summary} {d.rest}",
            "module_name": d.module,
            "class_name": d.owner.rpartition(".")[2],
        }
        return {key: set(words(text)) for key, text in texts.items()}


def python_names(n_queries: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return X, y and groups of so many queries, or of all if there are fewer."""
    functions, frequency = read_functions()
    rng = np.random.default_rng(0)
    names = np.array(sorted(frequency), dtype=object)
    share = np.array([frequency[name] for name in names], dtype=float)
    share /= share.sum()
    rows, grades, sizes = [], [], []
    for number in rng.permutation(len(functions))[:n_queries]:
        function = functions[number]
        drawn = rng.choice(names, 2 * N_NAMES, p=share)
        excluded = {*function.used, *function.document.arguments}
        others = [name for name in dict.fromkeys(drawn) if name not in excluded]
        documents = [*function.used, *others][:N_NAMES]
        rows += describe(function, documents)
        grades += [min(function.used.get(name, 0), 2) for name in documents]
        sizes.append(len(documents))
    X = pd.DataFrame(rows)
    X = X.astype(dict.fromkeys(X.select_dtypes(exclude="number"), "category"))
    return X, np.array(grades), np.repeat(np.arange(len(sizes)), sizes)


def read_functions() -> tuple[list[Function], dict[str, int]]:
    """Return the functions, and the number of functions that use each name."""
    documents = read_documents()
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent.parent
            documents += read_documents(folder, [package])
    uses = [
        (d, Counter(n for n in d.identifiers if n not in {*d.arguments, "self", "cls"}))
        for d in documents
        if d.kind != "class"
    ]
    frequency = Counter(name for _, used in uses for name in used)
    known = {name: n for name, n in frequency.items() if n >= MIN_FUNCTIONS}
    functions = [
        Function(d, {name: n for name, n in sorted(used.items()) if name in known})
        for d, used in uses
    ]
    kept = [f for f in functions if MIN_USED <= len(f.used) <= MAX_USED]
    return kept, known


def describe(function: Function, names: list[str]) -> list[dict[str, Any]]:
    """Return the features of a function and each of some names."""
    document, texts, categories = function.document, function.texts, function.categories
    of_function = {
        "n_arguments": len(document.arguments),
        "docstring_length": len(texts["docstring"]),
        "own_name_length": len(texts["own_name"]),
        "is_method": document.kind == "method",
        "is_private": document.is_private,
        "is_dunder": document.is_dunder,
    }
    rows = []
    for name in names:
        parts = set(words(name))
        row: dict[str, Any] = {
            f"words_in_{key}": len(parts & text) for key, text in texts.items()
        }
        row |= {
            "share_in_docstring": row["words_in_docstring"] / max(1, len(parts)),
            "length": len(name),
            "n_words": len(parts),
            "is_capitalized": name[:1].isupper(),
            "is_upper": name.isupper(),
            "starts_with_underscore": name.startswith("_"),
        }
        row |= of_function
        row = {key: float(value) for key, value in row.items()} | categories
        row |= {
            "name": name,
            "package_and_name": f"{categories['package']} {name}",
            "verb_and_name": f"{categories['verb']} {name}",
        }
        rows.append(row)
    return rows
