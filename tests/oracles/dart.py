"""DART by the paper and by XGBoost's documentation: weights of trees, step by step."""

from __future__ import annotations


def weights(dropped: list[list[int]], eta: float) -> list[list[float]]:
    """Return the weights of all trees after each step, given which each step dropped.

    Algorithm 1 of Rashmi and Gilad-Bachrach (2015) normalises by 1 / (k + 1) and
    k / (k + 1).  XGBoost's `normalize_type="tree"` has, for a learning rate eta, "the
    weight of new trees are 1 / (k + learning_rate), dropped trees are scaled by a
    factor of k / (k + learning_rate)", where a tree of weight 1 has eta in its leaves.
    """
    stages, now = [], list[float]()
    for own in dropped:
        k = len(own)
        for tree in own:
            now[tree] *= k / (k + eta)
        now.append(eta if k == 0 else eta * 1 / (k + eta))
        stages.append(list(now))
    return stages
