"""Metrics of one list, written from their definitions: slow, obvious, no numba.

Each takes the grades of one list from first to last, the cutoff, and the grades of the
judged documents that are missing from the list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, permutations, product
from math import log2

Value = Callable[[Sequence[float]], float]


def exponential(grade: float) -> float:
    return 2.0**grade - 1.0


def linear(grade: float) -> float:
    return grade


def discount_log2(rank: int) -> float:
    return 1.0 / log2(1 + rank)


def discount_letor(rank: int) -> float:
    return 1.0 if rank <= 2 else 1.0 / log2(rank)


def dcg(ranked, k=None, gain=exponential, discount=discount_log2, *, missing=()):
    """Equation 5 of Burges (2010), with logarithms to the base 2."""
    top = list(ranked)[: len(ranked) if k is None else k]
    return sum(gain(grade) * discount(rank) for rank, grade in enumerate(top, 1))


def cg(ranked, k=None, *, missing=()):
    return dcg(ranked, k, discount=lambda rank: 1.0)


def ndcg(ranked, k=None, gain=exponential, discount=discount_log2, *, missing=()):
    best = dcg(sorted([*ranked, *missing], reverse=True), k, gain, discount)
    return dcg(ranked, k, gain, discount) / best if best else 0.0


def precision(ranked, k=None, *, missing=()):
    """As in trec_eval: over k even when the list is shorter."""
    k = len(ranked) if k is None else k
    return sum(grade > 0 for grade in ranked[:k]) / k


def recall(ranked, k=None, at_most_k=False, *, missing=()):
    n_relevant = sum(grade > 0 for grade in [*ranked, *missing])
    divisor = min(n_relevant, k) if at_most_k and k is not None else n_relevant
    k = len(ranked) if k is None else k
    return sum(grade > 0 for grade in ranked[:k]) / divisor if divisor else 0.0


def average_precision(ranked, k=None, at_most_k=False, *, missing=()):
    """As in trec_eval's map_cut: over all relevant documents of the query.

    With `at_most_k`, over k of them if there are more, as in Kaggle's MAP@k.
    """
    n_relevant = sum(grade > 0 for grade in [*ranked, *missing])
    divisor = min(n_relevant, k) if at_most_k and k is not None else n_relevant
    k = len(ranked) if k is None else k
    total = 0.0
    for rank in range(1, min(k, len(ranked)) + 1):
        if ranked[rank - 1] > 0:
            total += precision(ranked, rank)
    return total / divisor if divisor else 0.0


def reciprocal_rank(ranked, k=None, *, missing=()):
    k = len(ranked) if k is None else k
    for rank, grade in enumerate(ranked[:k], 1):
        if grade > 0:
            return 1.0 / rank
    return 0.0


def hit_rate(ranked, k=None, *, missing=()):
    return float(reciprocal_rank(ranked, k) > 0)


def err(ranked, k=None, max_grade=None, *, missing=()):
    """Section 3 of Burges (2010), one factor after another."""
    max_grade = max(ranked) if max_grade is None else max_grade
    satisfies = [(2.0**grade - 1.0) / 2.0**max_grade for grade in ranked]
    total = 0.0
    for r in range(1, min(len(ranked), len(ranked) if k is None else k) + 1):
        probability = satisfies[r - 1]
        for i in range(1, r):
            probability *= 1.0 - satisfies[i - 1]
        total += probability / r
    return total


def r_precision(ranked, k=None, *, missing=()):
    """trec_eval's Rprec."""
    n_relevant = sum(grade > 0 for grade in [*ranked, *missing])
    top = ranked[: n_relevant if k is None else min(n_relevant, k)]
    return sum(grade > 0 for grade in top) / n_relevant if n_relevant else 0.0


def bpref(ranked, k=None, *, missing=()):
    """trec_eval's bpref of a list in which every document is judged."""
    n_relevant = sum(grade > 0 for grade in [*ranked, *missing])
    n_others = len(ranked) + len(missing) - n_relevant
    total, others_above = 0.0, 0
    for grade in ranked[: len(ranked) if k is None else k]:
        if grade <= 0:
            others_above += 1
        elif others_above == 0:
            total += 1.0
        else:
            most = min(n_relevant, n_others)
            total += 1.0 - min(others_above, n_relevant) / most
    return total / n_relevant if n_relevant else 0.0


def rbp(ranked, k=None, persistence=0.8, *, missing=()):
    """A user looks at rank r with probability p^(r - 1)."""
    k = len(ranked) if k is None else k
    found = [rank for rank, grade in enumerate(ranked[:k], 1) if grade > 0]
    return (1 - persistence) * sum(persistence ** (rank - 1) for rank in found)


#: By the name of a metric: its definition, and the options it has in tests.
DEFINITIONS = {
    "ndcg": (ndcg, {}),
    "dcg": (dcg, {}),
    "cg": (cg, {}),
    "map": (average_precision, {}),
    "mrr": (reciprocal_rank, {}),
    "hit_rate": (hit_rate, {}),
    "precision": (precision, {}),
    "recall": (recall, {}),
    "r_precision": (r_precision, {}),
    "bpref": (bpref, {}),
    "rbp": (rbp, {}),
    "err": (partial(err, max_grade=3.0), {"max_grade": 3.0}),
}


def letor4_ndcg(ranked, k):
    """The LETOR 4.0 evaluation script: 0 for a list shorter than k."""
    if len(ranked) < k or not any(grade > 0 for grade in ranked):
        return 0.0
    return ndcg(ranked, k, exponential, discount_letor)


def letor4_mean_ndcg(ranked):
    """The script's MeanNDCG: the mean of NDCG@1 to NDCG@n of a list of n."""
    return sum(letor4_ndcg(ranked, k) for k in range(1, len(ranked) + 1)) / len(ranked)


def ranked_against_the_model(scores, grades):
    """Documents by score; among equal scores the lower grade first."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i], grades[i], i))


def ranked_in_row_order(scores):
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


def mean_over_orders_of_ties(value: Value, scores, grades) -> float:
    """Mean value over all orders of documents with equal scores."""
    by_score = sorted(range(len(scores)), key=lambda i: -scores[i])
    runs = [list(run) for _, run in groupby(by_score, key=lambda i: scores[i])]
    values = [
        value([grades[i] for run in orders for i in run])
        for orders in product(*(permutations(run) for run in runs))
    ]
    return sum(values) / len(values)


def change_by_swap(value: Value, ranked: Sequence[float], p: int, q: int) -> float:
    """Value of the list less its value with positions p and q swapped."""
    swapped = list(ranked)
    swapped[p], swapped[q] = swapped[q], swapped[p]
    return value(ranked) - value(swapped)
