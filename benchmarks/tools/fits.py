"""One fit of a library, measured, and the data of its presets."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import issparse, load_npz, save_npz

from benchmarks.tools import peers
from benchmarks.tools.measuring import cost_of, in_a_new_process, results_in_turns
from benchmarks.tools.peers import ALL_ROWS, BAGGED, OURS, Settings
from benchmarks.tools.queries import MSLR_LIKE, Part, made_like_mslr
from sklearn_ltr._core.rankers.lambdamart import MOST_SYMMETRIC_QUERIES

FITS = {
    **peers.FITS,
    BAGGED: peers.fit_sklearn_ltr_bagged,
    f"{OURS} symmetric": partial(peers.fit_sklearn_ltr, grow_policy="symmetric"),
    ALL_ROWS: partial(peers.fit_sklearn_ltr, subsample=1.0),
}
CATEGORICAL = {OURS: "categorical_features", "LightGBM": "categorical_feature"}
YAHOO_LIKE = {"n_features": 700, "n_informative": 100, "zeros": 1.0}
ZEROS = 0.9  # share of zeros in data like Yahoo's
# Training queries, held-out queries, settings.
PRESETS = {
    "small": (50, 20, Settings(n_estimators=10)),
    "a": (2000, 500, Settings(n_estimators=100, max_leaf_nodes=31)),
    "b": (4000, 500, Settings(n_estimators=50, max_leaf_nodes=255)),
    "mslr": (5942, 500, Settings(n_estimators=500, max_leaf_nodes=63)),
    "wide": (1232, 300, Settings(n_estimators=100, max_leaf_nodes=31)),
}


def synthetic(preset: str, dtype: str) -> tuple[Part, Part]:
    """Make exactly n_train x 121.74 training rows, and n_test held-out queries."""
    n_train, n_test, _ = PRESETS[preset]
    changes = YAHOO_LIKE if preset == "wide" else {}
    every = made_like_mslr(n_train + n_test, dtype=dtype, **changes)
    if preset == "wide":
        rng = np.random.default_rng(0)
        missing = 1 - (1 - ZEROS) / np.mean(every.X != 0)  # share to set to zero
        every.X[rng.random(every.X.shape, np.float32) < missing] = 0
    return divided_rows(every, round(n_train * MSLR_LIKE["n_documents"]))


def divided_rows(part: Part, n_rows: int) -> tuple[Part, Part]:
    """Return so many rows for training, and the queries after the last of them."""
    held_out = part.groups > part.groups[n_rows - 1]
    return part.subset(slice(n_rows)), part.subset(held_out)


def save(folder: Path, train: Part, test: Part) -> None:
    """Write X, y and groups of both parts, for `read`."""
    for part, values in ("train", train), ("test", test):
        for name, column in zip("Xyg", values, strict=True):
            file = folder / f"{part}_{name}"
            if issparse(column):
                save_npz(file, column, compressed=False)
            else:
                np.save(file, np.ascontiguousarray(column))


def read(folder: Path, part: str) -> Part:
    sparse = folder / f"{part}_X.npz"
    y, groups = (np.load(folder / f"{part}_{name}.npy") for name in "yg")
    if sparse.exists():
        return Part(load_npz(sparse), y, groups)
    return Part(np.load(folder / f"{part}_X.npy"), y, groups)


def warm_up(fit: Callable, X, y, groups, settings: Settings) -> None:
    """Grow two trees of the kind that a fit of all rows grows, so that it compiles."""
    few = groups < MOST_SYMMETRIC_QUERIES + 100
    fit(X[few], y[few], groups[few], replace(settings, n_estimators=2))


def measure(
    name: str,
    folder: Path,
    settings: Settings,
    categorical: Sequence[int] = (),
    validated: bool = False,
) -> dict[str, float]:
    """Measure one fit; runs in a new process."""
    # `categorical` are the columns of categories; if `validated`, NDCG@10 of the
    # held-out queries is measured after each tree
    fit = FITS[name]
    if validated:
        fit = partial(fit, validation=read(folder, "test"))
    if categorical:
        fit = partial(fit, **{CATEGORICAL[name]: list(categorical)})
    train = read(folder, "train")
    warm_up(fit, *train, settings)

    cost, scores_after = cost_of(lambda: fit(*train, settings))
    test = read(folder, "test")
    (scores,) = scores_after(test.X, [settings.n_estimators])
    return cost | {"ndcg@10": float(test.ndcg(scores).mean())}


def measure_in_turns(
    libraries: Sequence[str],
    train: Part,
    test: Part,
    settings: Settings,
    repetitions: int,
    categorical: Sequence[int] = (),
    validated: bool = False,
) -> dict[str, list[dict[str, float]]]:
    """Run the libraries interleaved, each fit in a new process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(folder, train, test)
        given = folder, settings, categorical, validated
        calls = {
            library: partial(in_a_new_process, measure, library, *given)
            for library in libraries
            if library in CATEGORICAL or not categorical
        }
        return results_in_turns(calls, repetitions)


def seconds_and_fastest(
    runs: dict[str, list[dict[str, float]]],
) -> tuple[dict[str, float], str | None]:
    """Return the median seconds of each library, and the fastest that is not ours."""
    seconds = {
        library: float(np.median([r["seconds"] for r in of_library]))
        for library, of_library in runs.items()
    }
    of_peers = [library for library in seconds if not library.startswith(OURS)]
    return seconds, min(of_peers, key=seconds.__getitem__, default=None)
