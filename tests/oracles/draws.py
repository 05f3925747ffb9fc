"""What a fit draws from its `random_state`: its seed, and the queries it holds out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def seed_of(random_state: int) -> int:
    """The seed of all that a fit draws."""
    return int(np.random.RandomState(random_state).randint(2**31))


def held_out(n_queries: int, fraction: float, seed: int) -> NDArray[np.bool_]:
    """Whether each query, in the order of their labels, is among those held out."""
    order = np.random.default_rng([seed, 1]).permutation(n_queries)
    return np.isin(np.arange(n_queries), order[: max(1, round(fraction * n_queries))])
