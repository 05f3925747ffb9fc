"""Thresholds of readers that compute in float32: the same rows go left."""

from __future__ import annotations

import numpy as np

from sklearn_ltr.export._float32 import above, at_most, rounded_at_most, rounded_below


def test_the_rules_of_thresholds_in_float32():
    rng = np.random.default_rng(0)
    t = np.concatenate(
        [
            rng.normal(size=20_000) * 10.0 ** rng.integers(-45, 39, 20_000),
            [0.0, 1e-46, -1e-46, 1e300, -1e300, 3.4028234663852886e38],
        ]
    )
    limit = np.concatenate([at_most(t), above(t)])
    with np.errstate(over="ignore"):
        x = np.concatenate([limit, np.nextafter(limit, np.float32(np.inf)),
                            np.nextafter(limit, -np.float32(np.inf))])  # fmt: skip
    x, t = np.where(np.isfinite(x), x, np.float32(0)), np.tile(t, 6)
    np.testing.assert_array_equal(x <= at_most(t), x.astype(np.float64) <= t)
    np.testing.assert_array_equal(x < above(t), x.astype(np.float64) <= t)


def test_the_rules_of_readers_that_round_to_float32():
    rng = np.random.default_rng(0)
    t = (rng.normal(size=20_000) * 10.0 ** rng.integers(-44, 38, 20_000)).astype(
        np.float32
    )
    middle = t.astype(np.float64) / 2 + np.nextafter(t, np.float32(np.inf)) / 2.0
    below = t.astype(np.float64) / 2 + np.nextafter(t, -np.float32(np.inf)) / 2.0
    for x in (t.astype(np.float64), middle, below):
        for side in (x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)):
            with np.errstate(under="ignore", over="ignore"):
                rounded = side.astype(np.float32)
            np.testing.assert_array_equal(side <= rounded_at_most(t), rounded <= t)
            np.testing.assert_array_equal(
                side <= rounded_below(t.astype(np.float64)), rounded < t
            )
