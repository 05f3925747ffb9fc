"""RankNet and LambdaRank in PyTorch: the same network, the same loss, the same Adam.

With x_ij = s_j - s_i for a pair whose document i has the higher grade, the mean over
the queries of a batch of

    RankNet:     sum_ij log(1 + exp(x_ij))
    LambdaRank:  sum_ij |gain_i - gain_j| |discount_i - discount_j| / maxDCG@k
                 log(1 + exp(x_ij)),        discount = 1 / log2(1 + rank), 0 beyond k

where ranks are those of the present scores.  Three ways to write it down:

    allrank  Lists are padded to the longest one of all, documents (b, n, d) and pairs
             (b, n, n), and what is no pair is multiplied by zero: what allRank does.
    padded   The same, but padded to the longest list of the batch.
    packed   What somebody writes who wants it fast.  The network sees the documents of
             the batch and no padding.  RankNet: a list of all pairs, drawn up
             beforehand.  LambdaRank: (b, k, n) pairs, one document of which is among
             the first k, found without sorting.

There is no Python loop over queries, and nothing is compiled (torch.compile).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus


class Lists(NamedTuple):
    """Query q owns the rows ``offsets[q]`` to ``offsets[q + 1] - 1``."""

    X: np.ndarray
    grades: np.ndarray
    offsets: np.ndarray


@dataclass
class Padded:
    """Lists of one batch, padded to the longest, its own or of all."""

    X: Tensor  # (b, n, d)
    grades: Tensor  # (b, n), NaN beyond the end of a list
    gains: Tensor  # (b, n), 0 there
    ideal: Tensor  # (b, 1, 1), maxDCG@k
    k: int

    def scores(self, network: nn.Module) -> Tensor:
        return network(self.X)[..., 0]

    def ranknet(self, scores: Tensor) -> Tensor:
        return (pair_costs(scores) * self._better()).sum() / len(scores)

    def lambdarank(self, scores: Tensor) -> Tensor:
        with torch.no_grad():
            discounts = self._discounts(scores)
            weights = self._better() / self.ideal
            weights *= (self.gains[:, :, None] - self.gains[:, None, :]).abs_()
            weights *= (discounts[:, :, None] - discounts[:, None, :]).abs_()
        return (pair_costs(scores) * weights).sum() / len(scores)

    def _better(self) -> Tensor:
        """1 where i has the higher grade, else 0 (and where one is no document)."""
        return (self.grades[:, :, None] > self.grades[:, None, :]).float()

    def _discounts(self, scores: Tensor) -> Tensor:
        nowhere = scores.masked_fill(self.grades.isnan(), -torch.inf)
        order = nowhere.argsort(dim=1, descending=True)[:, : self.k]
        discounts = torch.zeros_like(scores)
        return discounts.scatter_(1, order, first_discounts(order))


@dataclass
class Packed:
    """Documents of one batch, one after another."""

    X: Tensor  # (n_documents, d)
    places: Tensor  # (n_documents,), where they are in a padded table, flat
    grades: Tensor  # (b, n), as in Padded
    gains: Tensor
    ideal: Tensor
    k: int
    pairs: tuple[Tensor, Tensor]  # rows of X, the better document first

    def scores(self, network: nn.Module) -> Tensor:
        return network(self.X)[:, 0]

    def ranknet(self, scores: Tensor) -> Tensor:
        better, worse = (scores.index_select(0, rows) for rows in self.pairs)
        return softplus(worse - better).sum() / len(self.grades)

    def lambdarank(self, scores: Tensor) -> Tensor:
        b, n = self.grades.shape
        lists = scores.new_zeros(b * n).scatter(0, self.places, scores).view(b, n)
        with torch.no_grad():
            top = self._top(lists)
            position = torch.full((b, n), self.k).scatter_(
                1, top, torch.arange(top.shape[1]).expand_as(top)
            )
            discounts = torch.zeros(b, n).scatter_(1, top, first_discounts(top))
            weights = across(discounts, top).abs_()
            gaps = across(self.gains, top)
            # a pair within the first k counts once, and padding not at all
            counts = position[:, None, :] > position.gather(1, top)[:, :, None]
            grades = self.grades
            counts &= ~(grades.gather(1, top)[:, :, None] + grades[:, None, :]).isnan()
            weights *= gaps.abs() * counts / self.ideal
        return (softplus(-gaps.sign() * across(lists, top)) * weights).sum() / b

    def _top(self, lists: Tensor) -> Tensor:
        """Columns of the first k documents, (b, k), in order."""
        nowhere = lists.masked_fill(self.grades.isnan(), -torch.inf)
        return nowhere.topk(min(self.k, lists.shape[1]), dim=1).indices


def pair_costs(scores: Tensor) -> Tensor:
    """log(1 + exp(s_j - s_i)) of all pairs: (b, n, n)."""
    return softplus(scores[:, None, :] - scores[:, :, None])


def across(values: Tensor, top: Tensor) -> Tensor:
    """Values of the first k minus those of all: (b, k, n)."""
    return values.gather(1, top)[:, :, None] - values[:, None, :]


def first_discounts(order: Tensor) -> Tensor:
    """Discounts of ranks 1, 2, ...: of the shape of `order`, (b, k)."""
    return (1 / torch.log2(2 + torch.arange(order.shape[1]))).expand_as(order)


def collate(lists: Lists, queries: np.ndarray, k: int, style: str) -> Padded | Packed:
    """Make tensors of some queries, each with something relevant."""
    sizes = np.diff(lists.offsets)[queries]
    longest = np.diff(lists.offsets) if style == "allrank" else sizes
    b, n = len(queries), longest.max()
    inside = np.arange(n) < sizes[:, None]  # (b, n)
    rows = (lists.offsets[queries][:, None] + np.arange(n))[inside]
    grades = np.full((b, n), np.nan, dtype=np.float32)
    grades[inside] = lists.grades[rows]
    gains = np.where(inside, 2**grades - 1, 0)
    discounts = 1 / np.log2(2 + np.arange(min(k, n)))
    ideal = -np.sort(-gains, axis=1)[:, :k] @ discounts
    known = [
        torch.tensor(values, dtype=torch.float32)
        for values in (grades, gains, ideal[:, None, None])
    ]
    if style != "packed":
        X = np.zeros((b, n, lists.X.shape[1]), dtype=np.float32)
        X[inside] = lists.X[rows]
        return Padded(torch.from_numpy(X), *known, k)
    row = np.zeros((b, n), dtype=np.int64)
    row[inside] = np.arange(len(rows))
    query, i, j = (grades[:, :, None] > grades[:, None, :]).nonzero()
    pairs = torch.from_numpy(row[query, i]), torch.from_numpy(row[query, j])
    places = torch.from_numpy(inside.ravel().nonzero()[0])
    return Packed(torch.from_numpy(lists.X[rows]), places, *known, k, pairs)


def perceptron(weights: Sequence[np.ndarray]) -> nn.Sequential:
    """ReLU layers that begin with these weights, (fan_in, fan_out), and no bias.

    The output has none at all, like that of ours.
    """
    layers: list[nn.Module] = []
    for w in weights:
        layer = nn.Linear(*w.shape, bias=w is not weights[-1])
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(w.T))
            if layer.bias is not None:
                layer.bias.zero_()
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Training:
    """A network, and epochs of Adam."""

    def __init__(
        self, lists: Lists, weights: Sequence[np.ndarray], rate: float, seed: int
    ) -> None:
        self.lists, self.rng = lists, np.random.default_rng(seed)
        self.network = perceptron(weights)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=rate, fused=True
        )

    def epoch(self, ranker: str, style: str, batch_size: int, k: int = 10) -> float:
        """Make one update per batch; return the seconds.

        Padding is part of it, as gathering rows is part of ours; what "packed" makes of
        a batch is not, so that its lists of pairs cost nothing.
        """
        start = time.perf_counter()
        order = self.rng.permutation(len(self.lists.offsets) - 1)
        batches = [
            collate(self.lists, order[first : first + batch_size], k, style)
            for first in range(0, len(order), batch_size)
        ]
        if style == "packed":
            start = time.perf_counter()
        for batch in batches:
            loss = getattr(batch, ranker)(batch.scores(self.network))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return time.perf_counter() - start

    def predict(self, X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return self.network(torch.from_numpy(X))[:, 0].numpy()
