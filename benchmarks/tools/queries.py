"""Queries to train on and to test with: collections in five parts, and made data.

A collection is an .npz file with ``X``, ``y``, ``qid`` and the part, 1 to 5, that each
row belongs to: ``s`` (LETOR 4.0) or ``testfold`` (LETOR 2.0); without it, queries are
drawn into parts, and ``X_train``, ``X_test``, ... are put together. The fold whose test
part is t has training parts t+1, t+2, t+3 and validation part t+4, modulo 5, as both
collections prescribe.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.tools.peers import query_sizes
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.metrics import NDCG, Metric

NDCG_10 = NDCG(10)
MSLR_LIKE = {
    "n_documents": 121.74,
    "n_features": 136,
    "n_informative": 40,
    "n_query_features": 5,
    "heavy_tails": 0.6,
    "integers": 0.3,
    "zeros": 0.4,
}


class Part(NamedTuple):
    """The rows of some queries."""

    X: Any
    y: np.ndarray
    groups: np.ndarray

    @property
    def n_queries(self) -> int:
        return len(np.unique(self.groups))

    def subset(self, rows) -> Part:
        return Part(*(column[rows] for column in self))

    def of_queries(self, queries: np.ndarray) -> Part:
        return self.subset(np.isin(self.groups, queries))

    def fit(self, ranker, **more):
        return ranker.fit(self.X, self.y, groups=self.groups, **more)

    def as_validation(self) -> dict[str, Any]:
        """Return the arguments of `fit` for validation data."""
        return {"X_val": self.X, "y_val": self.y, "groups_val": self.groups}

    def values(self, metric: Metric, scores: np.ndarray) -> np.ndarray:
        """Return the metric of each query."""
        return metric.per_query(self.y, scores, groups=self.groups)

    def ndcg(self, scores: np.ndarray) -> np.ndarray:
        """Return NDCG@10 of each query; 0 without a relevant document."""
        return self.values(NDCG_10, scores)


class Split(NamedTuple):
    train: Part
    test: Part


class Fold(NamedTuple):
    train: Part
    validation: Part
    test: Part


def load(path: Path) -> list[Part]:
    """Return the five parts; queries are numbered in the order of the rows."""
    data = dict(np.load(path))
    if "group_train" in data:  # sizes of queries
        sizes = np.concatenate([data["group_train"], data["group_test"]])
        data["qid"] = np.repeat(np.arange(len(sizes)), sizes)
    elif "X_train" in data:
        data["qid"] = np.concatenate([data["qid_train"], data["qid_test"]])
    if "X_train" in data:
        for name in ("X", "y"):
            data[name] = np.concatenate([data[f"{name}_train"], data[f"{name}_test"]])
    part_of_row = data.get("s", data.get("testfold"))
    if part_of_row is None:  # parts of drawn queries
        query = numbered(data["qid"])
        drawn = np.random.default_rng(0).permutation(query[-1] + 1)
        part_of_row = 1 + drawn[query] % 5
    parts = []
    for number in range(1, 6):
        rows = part_of_row == number
        X, y = np.ascontiguousarray(data["X"][rows]), data["y"][rows].astype(np.int64)
        parts.append(Part(X, y, numbered(data["qid"][rows])))
    return parts


def add_collections(parser: argparse.ArgumentParser) -> None:
    """Add the options of a script that reads collections, and makes one."""
    parser.add_argument("--data", type=Path, nargs="+", default=[], help=".npz files")
    parser.add_argument("--made", type=int, metavar="QUERIES", help="of make_ranking")


def collections(arguments: argparse.Namespace) -> dict[str, list[Part]]:
    """Return the five parts of each collection that these options name."""
    found = {path.name: load(path) for path in arguments.data}
    if arguments.made is not None:
        found[f"made, {arguments.made}"] = made_parts(arguments.made)
    if not found:
        raise SystemExit("neither --data nor --made is given")
    return found


def numbered(groups: np.ndarray) -> np.ndarray:
    """Number queries in the order of their rows, which are consecutive."""
    sizes = query_sizes(groups)
    return np.repeat(np.arange(len(sizes)), sizes)


def joined(parts: Sequence[Part]) -> Part:
    """Concatenate parts, and number their queries on."""
    before = np.cumsum([0, *(part.n_queries for part in parts)])
    groups = [part.groups + n for part, n in zip(parts, before, strict=False)]
    return Part(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate(groups),
    )


def folds(parts: list[Part]) -> list[Fold]:
    """Return the fold of each test part."""
    return [
        Fold(joined([parts[(t + step) % 5] for step in (1, 2, 3)]), parts[t - 1], part)
        for t, part in enumerate(parts)
    ]


def splits(parts: list[Part]) -> list[Split]:
    """Return the fold of each test part, in which all other parts train."""
    return [Split(joined([train, held]), test) for train, held, test in folds(parts)]


def divided(part: Part, n_queries: int) -> tuple[Part, Part]:
    """Return the first queries of a part, and the others, numbered anew."""
    is_first = part.groups < n_queries
    others = part.subset(~is_first)
    others = others._replace(groups=others.groups - n_queries)
    return part.subset(is_first), others


def has_relevant(parts: list[Part]) -> np.ndarray:
    """Return which queries have a relevant document, part by part."""
    best = [np.zeros(part.n_queries) for part in parts]
    for part, highest in zip(parts, best, strict=True):
        np.maximum.at(highest, part.groups, part.y)
    return np.concatenate(best) > 0


def made(n_queries: int, **options: Any) -> Part:
    """Return queries of `make_ranking`."""
    data = make_ranking(n_queries, **options)
    return Part(data.data, data.target, data.groups)


def made_like_mslr(n_queries: int, seed: int = 0, **changes: Any) -> Part:
    """Return float32 queries in the shape of MSLR-WEB, but for the changes."""
    options = {"random_state": seed, "dtype": "float32"} | MSLR_LIKE | changes
    return made(n_queries, **options)


def made_parts(n_queries: int) -> list[Part]:
    """Return five parts of made queries of one ranking function."""
    every = made(n_queries, n_query_features=2, random_state=0)
    parts = [every.subset(every.groups % 5 == number) for number in range(5)]
    return [part._replace(groups=part.groups // 5) for part in parts]
