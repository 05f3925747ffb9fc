"""Monotonic and interaction constraints on trees.

They restrict splits (``growth/splitting.py``) and leaf values
(``growth/leaf_values.py``).  Here they are read, and features that a path must not use
are excluded.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import combinations
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import subkernel
from sklearn_ltr._core.typing import InteractionConstraints, MonotonicConstraints


class Constraints(NamedTuple):
    """Constraints on the features of a tree; arrays of length 0 mean no constraint."""

    # (n_features,) or (0,): the score must not fall as the feature grows (1), must not
    # rise (-1), or may do both (0)
    monotonic: NDArray[np.int8]
    # (n_sets, n_features) or (0, n_features): the features of a path from the root to
    # a leaf are all in one of the sets; every feature is in a set
    interaction_sets: NDArray[np.bool_]


NO_CONSTRAINTS = Constraints(np.empty(0, np.int8), np.empty((0, 0), np.bool_))


SIGNS = "-1, 0 or 1"
PAIRWISE, NO_INTERACTIONS = "pairwise", "no_interactions"


def read_constraints(
    monotonic: MonotonicConstraints,
    interaction: InteractionConstraints,
    names: NDArray[Any] | None,
    is_categorical: NDArray[np.bool_],
) -> Constraints:
    """Return the constraints that `monotonic_cst` and `interaction_cst` ask for."""
    n_features = len(is_categorical)
    signs = _read_signs(monotonic, names, n_features)
    wrong = np.flatnonzero((signs != 0) & is_categorical)
    if len(wrong) > 0:
        feature = wrong[0] if names is None else repr(str(names[wrong[0]]))
        raise ValueError(
            f"monotonic_cst has a sign for feature {feature}, which is categorical, "
            "and categories have no order: give 0 there"
        )
    sets = _read_sets(interaction, names, n_features)
    return Constraints(
        signs if signs.any() else np.empty(0, dtype=np.int8),
        np.empty((0, n_features), dtype=np.bool_) if sets.all() else sets,
    )


def _read_signs(
    given: Any, names: NDArray[Any] | None, n_features: int
) -> NDArray[np.int8]:
    """Return the sign of each feature, (n_features,)."""
    signs = np.zeros(n_features, dtype=np.int8)
    if given is None:
        return signs
    if isinstance(given, Mapping):
        for key, sign in given.items():
            signs[_feature(key, names, n_features, "monotonic_cst")] = _sign(sign, key)
        return signs
    if isinstance(given, str | Set) or not hasattr(given, "__len__"):
        raise TypeError(
            f"monotonic_cst must be None, a dict of names, or one of {SIGNS} for each "
            f"feature, got {given!r}"
        )
    if np.ndim(given) != 1 or len(given) != n_features:
        raise ValueError(
            f"monotonic_cst must hold one of {SIGNS} for each of the {n_features} "
            f"features, got shape {np.shape(given)}"
        )
    for feature, sign in enumerate(np.asarray(given, dtype=object).tolist()):
        signs[feature] = _sign(sign, feature)
    return signs


def _sign(sign: Any, key: Any) -> int:
    if isinstance(sign, bool | np.bool_) or sign not in (-1, 0, 1):
        raise ValueError(
            f"monotonic_cst must hold {SIGNS}, got {sign!r} for feature {key!r}"
        )
    return int(sign)


def _feature(
    key: Any, names: NDArray[Any] | None, n_features: int, parameter: str
) -> int:
    """Return the index of a feature given by name or index."""
    if isinstance(key, str):
        found = [] if names is None else np.flatnonzero(names == key).tolist()
        if not found:
            has = "has no names" if names is None else f"has {names.tolist()!r}"
            raise ValueError(
                f"{parameter} names {key!r}, which is not a column of X: it {has}"
            )
        return int(found[0])
    is_index = isinstance(key, Integral) and not isinstance(key, bool)
    if not is_index or not 0 <= key < n_features:
        raise ValueError(
            f"{parameter} must give features by name, or by an index from 0 to "
            f"{n_features - 1}, got {key!r}"
        )
    return int(key)


def _read_sets(
    given: Any, names: NDArray[Any] | None, n_features: int
) -> NDArray[np.bool_]:
    """Return which features each set holds, (n_sets, n_features)."""
    groups: list[Any]
    kinds = (list, tuple, range, Set, np.ndarray)
    if given is None:
        groups = [range(n_features)]
    elif isinstance(given, str):
        if given not in (PAIRWISE, NO_INTERACTIONS):
            raise ValueError(
                f'interaction_cst must be None, "{PAIRWISE}", "{NO_INTERACTIONS}" or a '
                f"list of sets of features, got {given!r}"
            )
        size = 2 if given == PAIRWISE and n_features > 1 else 1
        groups = list(combinations(range(n_features), size))
    else:
        if not isinstance(given, kinds):
            raise TypeError(
                "interaction_cst must be None, a name, or a list of sets of features, "
                f"got {given!r}"
            )
        for group in list(given):
            if isinstance(group, str) or not isinstance(group, kinds):
                raise TypeError(
                    "interaction_cst must hold sets of features, got "
                    f"{group!r} among them"
                )
        groups = [
            [_feature(key, names, n_features, "interaction_cst") for key in group]
            for group in list(given)
        ]
    in_none = set(range(n_features)).difference(*groups)
    sets = np.zeros((len(groups) + bool(in_none), n_features), dtype=np.bool_)
    for k, group in enumerate([*groups, in_none] if in_none else groups):
        sets[k, list(group)] = True
    return sets


@subkernel
def restrict_children(
    node: int,
    left: int,
    feature: int,
    interaction_sets: NDArray[np.bool_],
    open_sets: NDArray[np.bool_],
    allowed: NDArray[np.bool_],
) -> None:
    """Exclude features from the children of a node that is split by a feature."""
    # The children, nodes `left` and ``left + 1``, may use the features of every set
    # that holds all features on the path to them.
    n_sets, n_features = interaction_sets.shape
    for child in range(left, left + 2):
        for k in range(n_sets):
            open_sets[child, k] = open_sets[node, k] and interaction_sets[k, feature]
        for j in range(n_features):
            is_open = False
            for k in range(n_sets):
                is_open |= open_sets[child, k] and interaction_sets[k, j]
            allowed[child, j] &= is_open
