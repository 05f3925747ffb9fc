"""RankNet and LambdaRank in PyTorch, with the same network, loss and Adam as ours.

With x_ij = s_j - s_i for a pair whose document i has the higher grade, the mean over
the queries of a batch of

    RankNet:     sum_ij log(1 + exp(x_ij))
    LambdaRank:  sum_ij |gain_i - gain_j| |discount_i - discount_j| / maxDCG@k
                 log(1 + exp(x_ij)),        discount = 1 / log2(1 + rank), 0 beyond k

where ranks are by the current scores. There are three implementations:

    allrank  Lists are padded to the longest list of the data, documents (b, n, d) and
             pairs (b, n, n); entries that are no pair are multiplied by 0, as in
             allRank.
    padded   The same, padded to the longest list of the batch.
    packed   Optimized: the network is applied to the documents of the batch without
             padding. RankNet uses a precomputed list of all pairs. LambdaRank uses
             the (b, k, n) pairs with a document among the first k, found by topk.

There is no Python loop over queries. torch.compile is not used.
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
    """Query q has the rows ``offsets[q]`` to ``offsets[q + 1] - 1``."""

    X: np.ndarray
    grades: np.ndarray
    offsets: np.ndarray


@dataclass
class Padded:
    """Lists of one batch, padded to the same length."""

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
        masked = scores.masked_fill(self.grades.isnan(), -torch.inf)
        order = masked.argsort(dim=1, descending=True)[:, : self.k]
        discounts = torch.zeros_like(scores)
        return discounts.scatter_(1, order, first_discounts(order))


@dataclass
class Packed:
    """Documents of one batch, concatenated."""

    X: Tensor  # (n_documents, d)
    index: Tensor  # (n_documents,), position in the flattened (b, n) table
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
        lists = scores.new_zeros(b * n).scatter(0, self.index, scores).view(b, n)
        with torch.no_grad():
            top = self._top(lists)
            position = torch.full((b, n), self.k).scatter_(
                1, top, torch.arange(top.shape[1]).expand_as(top)
            )
            discounts = torch.zeros(b, n).scatter_(1, top, first_discounts(top))
            weights = across(discounts, top).abs_()
            gaps = across(self.gains, top)
            # each pair within the first k once; no padding
            is_pair = position[:, None, :] > position.gather(1, top)[:, :, None]
            grades = self.grades
            is_pair &= ~(grades.gather(1, top)[:, :, None] + grades[:, None, :]).isnan()
            weights *= gaps.abs() * is_pair / self.ideal
        return (softplus(-gaps.sign() * across(lists, top)) * weights).sum() / b

    def _top(self, lists: Tensor) -> Tensor:
        """Return the columns of the first k documents, (b, k), by rank."""
        masked = lists.masked_fill(self.grades.isnan(), -torch.inf)
        return masked.topk(min(self.k, lists.shape[1]), dim=1).indices


def pair_costs(scores: Tensor) -> Tensor:
    """Return log(1 + exp(s_j - s_i)) of all pairs, (b, n, n)."""
    return softplus(scores[:, None, :] - scores[:, :, None])


def across(values: Tensor, top: Tensor) -> Tensor:
    """Return values of the first k minus values of all, (b, k, n)."""
    return values.gather(1, top)[:, :, None] - values[:, None, :]


def first_discounts(order: Tensor) -> Tensor:
    """Return the discounts of ranks 1, 2, ... in the shape of `order`, (b, k)."""
    return (1 / torch.log2(2 + torch.arange(order.shape[1]))).expand_as(order)


def collate(lists: Lists, queries: np.ndarray, k: int, style: str) -> Padded | Packed:
    """Make the tensors of a batch; each query has a relevant document."""
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
    tensors = [
        torch.tensor(values, dtype=torch.float32)
        for values in (grades, gains, ideal[:, None, None])
    ]
    if style != "packed":
        X = np.zeros((b, n, lists.X.shape[1]), dtype=np.float32)
        X[inside] = lists.X[rows]
        return Padded(torch.from_numpy(X), *tensors, k)
    row = np.zeros((b, n), dtype=np.int64)
    row[inside] = np.arange(len(rows))
    query, i, j = (grades[:, :, None] > grades[:, None, :]).nonzero()
    pairs = torch.from_numpy(row[query, i]), torch.from_numpy(row[query, j])
    index = torch.from_numpy(inside.ravel().nonzero()[0])
    return Packed(torch.from_numpy(lists.X[rows]), index, *tensors, k, pairs)


def perceptron(weights: Sequence[np.ndarray]) -> nn.Sequential:
    """Return ReLU layers with these initial weights, (fan_in, fan_out), and biases 0.

    The output layer has no bias, like ours.
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
    """A network and its optimizer."""

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

        Padding is timed, as gathering rows is for ours. Making the batches of "packed",
        with its lists of pairs, is not.
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
