"""The worker of one checkout, run by `two_versions.py`.

It imports ``sklearn_ltr`` of this checkout, which may be an older one, and so nothing
else of the checkout that this file is in.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import sklearn_ltr
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker

ROWS = {"predict-query": 100, "predict-row": 1}
# short calls are timed together
CALLS = {"predict-query": 200, "predict-row": 1000}


def prepare(work: str, folder: Path, n_threads: int) -> Callable[[], np.ndarray]:
    """Return a function that does the work and returns predictions."""

    def load(name: str) -> list[np.ndarray]:
        return [np.load(folder / f"{name}_{part}.npy", mmap_mode="r") for part in "Xyg"]

    n_trees, n_leaves = (200, 15) if work == "fit-small" else (100, 31)
    trees = LambdaMARTRanker(
        n_estimators=n_trees, max_leaf_nodes=n_leaves, random_state=0, n_jobs=n_threads
    )
    part = work.partition("-")[2] if work.startswith("fit-") else "large"
    X, y, groups = (np.array(v) for v in load(part))
    if work.startswith("fit"):
        return lambda: trees.fit(X, y, groups=groups).predict(X[:1000])
    if work == "epoch":
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6)
        network = LambdaRankRanker(
            hidden_layer_sizes=(64, 32), random_state=0, n_jobs=n_threads
        )
        return lambda: network.partial_fit(X, y, groups=groups).predict(X[:1000])
    few = groups < groups[0] + 100
    trees.fit(X[few], y[few], groups=groups[few])
    rows = load("unseen")[0]
    if work in ROWS:
        trees.set_params(n_jobs=1)
        rows = np.array(rows[: ROWS[work]])
    return lambda: trees.predict(rows)


def serve(checkout: str, folder: str, n_threads: str) -> None:
    """Read names of work, write seconds and a hash of predictions."""
    assert Path(sklearn_ltr.__file__).is_relative_to(Path(checkout).resolve())
    name, call = "", None
    for line in sys.stdin:
        if line.strip() != name:
            name = line.strip()
            call = prepare(name, Path(folder), int(n_threads))
        n_calls = CALLS.get(name, 1)
        start = time.perf_counter()
        for _ in range(n_calls):
            scores = call()
        seconds = (time.perf_counter() - start) / n_calls
        digest = hashlib.sha256(np.asarray(scores, np.float64).tobytes()).hexdigest()
        print(json.dumps([seconds, digest]), flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:])
