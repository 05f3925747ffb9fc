"""NDCG@10 that a given time of training buys, and its picture.

    python benchmarks/tuning.py --data websearch.npz --json results.jsonl
    python benchmarks/tuning.py --from-json results.jsonl --picture tuning.png

On each of the five folds every library draws the same settings at random, fits them one
after the other, and keeps the one that is best on the validation part, number of trees
included. At time t its value is the NDCG@10, on the test part, of the best of the
models that are finished by then. "sklearn_ltr bagged" draws for a third of the time,
and then fits members with the best setting for the rest; it scores with their mean.

Time is the CPU time of the fits, in one thread, so that other processes do not count.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from quality import MEASURES, Part, has_relevant, load, training_part
from scipy.stats import sem

import peers
from peers import BAGGED, FITS, OURS, ScoresAfter, Settings

METRIC = MEASURES["NDCG@10"]
LIBRARIES = [OURS, BAGGED, "LightGBM", "XGBoost hist", "CatBoost symmetric"]
# the first settings are small, for a result at short times; the others are drawn
FIRST = [Settings(30, 0.1, 15, 20, 0, 1), Settings(100, 0.1, 15, 20, 0, 1)]
LEAVES, MIN_SAMPLES_LEAF = (4, 7, 15, 31, 63), (5, 20, 50, 100, 200)
LEARNING_RATES = (0.03, 0.05, 0.08, 0.12)
TREES, STRIDE = 300, 10
N_TIMES = 9  # of a curve
SEARCH_SHARE = 1 / 3  # of the time of a bagged ranker


class Fit(NamedTuple):
    """A model of the search."""

    seconds: float  # CPU time of all fits so far
    validation: float
    settings: Settings
    stop: int  # number of trees that is best on the validation part
    scores: np.ndarray  # of the test part


def drawn_settings(seed: int):
    """Yield settings without end."""
    yield from FIRST
    rng = np.random.default_rng(seed)
    while True:
        yield Settings(
            TREES,
            float(rng.choice(LEARNING_RATES)),
            int(rng.choice(LEAVES)),
            int(rng.choice(MIN_SAMPLES_LEAF)),
            int(rng.integers(2**31)),
            1,
        )


def timed_fit(name: str, train: Part, settings: Settings) -> tuple[float, ScoresAfter]:
    start = time.process_time()
    scores_after = FITS[name](*train, settings)
    return time.process_time() - start, scores_after


def search(name: str, train: Part, validation: Part, test: Part, budget: float):
    """Return the models of a search that begin within the budget."""
    fits, seconds = [], 0.0
    for settings in drawn_settings(seed=0):
        spent, scores_after = timed_fit(name, train, settings)
        seconds += spent
        stops = list(range(STRIDE, settings.n_estimators + 1, STRIDE))
        values = [
            METRIC(validation.y, scores, groups=validation.groups)
            for scores in scores_after(validation.X, stops)
        ]
        stop = stops[int(np.argmax(values))]
        (scores,) = scores_after(test.X, [stop])
        fits.append(Fit(seconds, max(values), settings, stop, scores))
        if seconds > budget:
            return fits


def best_by(fits: list[Fit], seconds: float) -> Fit | None:
    """Return the best of the models that are finished at a time."""
    done = [fit for fit in fits if fit.seconds <= seconds]
    return max(done, key=lambda fit: fit.validation) if done else None


def single_curve(fits: list[Fit], times: np.ndarray) -> list[np.ndarray | None]:
    """Return the scores of the test part at each time; None: no model yet."""
    found = [best_by(fits, seconds) for seconds in times]
    return [None if fit is None else fit.scores for fit in found]


def bagged_curve(
    fits: list[Fit], times: np.ndarray, train: Part, test: Part
) -> list[np.ndarray | None]:
    """Return the mean scores of members with the best setting of a shorter search."""
    curve: list[np.ndarray | None] = []
    for seconds in times:
        best = best_by(fits, SEARCH_SHARE * seconds)
        if best is None:
            curve.append(None)
            continue
        settings = replace(best.settings, n_estimators=best.stop)
        left, total, n_members = (1 - SEARCH_SHARE) * seconds, best.scores, 1
        while True:
            member = replace(settings, random_state=n_members)
            spent, scores_after = timed_fit(OURS, train, member)
            left -= spent
            if left < 0:
                break
            (scores,) = scores_after(test.X, [best.stop])
            total, n_members = total + scores, n_members + 1
        curve.append(total / n_members)
    return curve


def evaluate_fold(name: str, parts: list[Part], test: int, times: np.ndarray):
    """Return NDCG@10 of each query at each time; NaN before the first model."""
    train, validation = training_part(parts, test), parts[(test + 4) % 5]
    part = parts[test]
    library = OURS if name == BAGGED else name
    share = SEARCH_SHARE if name == BAGGED else 1.0
    fits = search(library, train, validation, part, share * times[-1])
    if name == BAGGED:
        curve = bagged_curve(fits, times, train, part)
    else:
        curve = single_curve(fits, times)
    n_queries = part.groups[-1] + 1
    return np.array(
        [
            np.full(n_queries, np.nan)
            if scores is None
            else METRIC.per_query(part.y, scores, groups=part.groups)
            for scores in curve
        ]
    )


def print_table(records: list[dict]) -> None:
    times = records[0]["seconds"]
    print("\nNDCG@10 against CPU seconds of training, one thread")
    print(f"{'':22}" + "".join(f"{seconds:9.1f}" for seconds in times))
    for record in records:
        cells = "".join(f"{v:9.4f}" if v else f"{'-':>9}" for v in record["ndcg@10"])
        print(f"{record['library']:22}{cells}")
    errors = "".join(f"{v:9.4f}" if v else f"{'-':>9}" for v in records[0]["error"])
    print(f"{'(standard error)':22}{errors}")


def draw(records: list[dict], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for record in records:
        is_ours = record["library"].startswith(OURS)
        known = [(t, v) for t, v in zip(record["seconds"], record["ndcg@10"],
                                        strict=True) if v]  # fmt: skip
        axes.plot(
            *zip(*known, strict=True),
            marker="o",
            linewidth=2.5 if is_ours else 1.2,
            label=record["library"],
        )
    n_queries = records[0]["n_queries"]
    axes.set_xscale("log")
    ticks = [1, 2, 5, 10, 20, 50]
    axes.set_xticks(ticks, [str(seconds) for seconds in ticks])
    axes.set_xticks([], minor=True)
    axes.set(
        xlabel="CPU seconds of training, search included (one thread)",
        ylabel=f"NDCG@10 ({n_queries:,} queries, {Path(records[0]['data']).stem})",
    )
    axes.legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seconds", type=float, default=300.0, help="the longest time")
    parser.add_argument("--from-json", type=Path, help="results to draw")
    parser.add_argument("--picture", type=Path)
    peers.add_arguments(parser, LIBRARIES)
    arguments = parser.parse_args()
    if arguments.from_json is not None:
        lines = arguments.from_json.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
    else:
        print(peers.machine())
        parts = load(arguments.data)
        relevant = has_relevant(parts)
        times = np.geomspace(arguments.seconds / 10 ** (N_TIMES / 3 - 1 / 3),
                             arguments.seconds, N_TIMES)  # fmt: skip
        records = []
        for name in arguments.libraries:
            folds = [evaluate_fold(name, parts, test, times) for test in range(5)]
            values = np.concatenate(folds, axis=1)[:, relevant]
            record = {
                "data": arguments.data.name,
                "library": name,
                "n_queries": int(relevant.sum()),
                "seconds": times.tolist(),
                "ndcg@10": [None if np.isnan(v) else v for v in values.mean(axis=1)],
                "error": [None if np.isnan(v) else v for v in sem(values, axis=1)],
            }
            records.append(record)
            peers.append_json(arguments.json, [record])
            print(f"{name}: done", flush=True)
    print_table(records)
    if arguments.picture is not None:
        draw(records, arguments.picture)


if __name__ == "__main__":
    main()
