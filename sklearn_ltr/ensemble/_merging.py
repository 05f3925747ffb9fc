"""One ranker whose trees are those of several: its scores are the mean of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._estimators.base import copy_attributes


def merge_rankers(members: Sequence[Any]) -> LambdaMARTRanker:
    """Return the mean of LambdaMART rankers, one ranker; an error if it has none."""
    for m, member in enumerate(members):
        if not isinstance(member, LambdaMARTRanker):
            raise TypeError(
                "only members that are LambdaMARTRanker have trees to merge, and "
                f"estimators_[{m}] is a {type(member).__name__}"
            )
        if member.init_ is not None:
            raise ValueError(
                f"estimators_[{m}] adds trees to a base model (init), which trees "
                "cannot hold: merge members without init"
            )
    first = members[0]
    for m, member in enumerate(members):
        if not has_same_categories(first, member):
            raise ValueError(
                f"estimators_[{m}] has seen other categories than estimators_[0], and "
                "trees hold the numbers of categories: merge members of max_samples=1.0"
            )
    factor = 1.0 / len(members)
    ensemble = reduce(add, (m.ensemble_.scaled(factor) for m in members))
    merged: LambdaMARTRanker = copy_attributes(first).set_params(
        n_estimators=len(ensemble)
    )
    merged.ensemble_, merged.n_iter_ = ensemble, len(ensemble)
    merged.train_score_ = merged.validation_score_ = np.empty(0)
    merged.evals_result_ = {}
    merged.__dict__.pop("loss_curve_", None)
    return merged


def has_same_categories(one: Any, other: Any) -> bool:
    """Return whether two rankers have the same numbers for the same categories."""
    return all(
        np.array_equal(a, b)
        for a, b in (
            (one._categories.feature, other._categories.feature),
            (one._mapper.categories.first, other._mapper.categories.first),
            (one._mapper.categories.value, other._mapper.categories.value),
            (one._mapper.categories.bin, other._mapper.categories.bin),
            *zip(one._categories.text, other._categories.text, strict=False),
        )
    )
