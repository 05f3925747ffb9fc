"""NDCG@10 after a given time of training, and its picture.

    python -m benchmarks.quality.tuning --data websearch.npz --json results.jsonl
    python -m benchmarks.quality.tuning --from-json results.jsonl --picture tuning.png

On each of the five folds every library fits the same settings, drawn at random, and
keeps the one that is best on the validation part, number of trees included. At time t
its value is the NDCG@10, on the test part, of the best of the models that are finished
by then: the mean over random orders of the settings, and when all are fitted the curve
is level. "sklearn_ltr bagged" searches for a third of the time, and then fits members
with the best setting for the rest; it scores with their mean.

Time is the CPU time of the fits, in one thread, so that other processes do not count.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import sem

from benchmarks.tools import peers
from benchmarks.tools.peers import BAGGED, FITS, OURS, ScoresAfter, Settings
from benchmarks.tools.queries import Fold, Part, folds, has_relevant, load
from benchmarks.tools.records import append_json, machine, parser_of, read_json
from sklearn_ltr.plotting._colors import LINES, MARKERS

LIBRARIES = [OURS, BAGGED, "LightGBM", "XGBoost hist", "CatBoost symmetric"]
# the first settings are small, for a result at short times; the others are drawn
FIRST = [Settings(30, 0.1, 15, 20, 0, 1), Settings(100, 0.1, 15, 20, 0, 1)]
LEAVES, MIN_SAMPLES_LEAF = (4, 7, 15, 31, 63), (5, 20, 50, 100, 200)
LEARNING_RATES = (0.03, 0.05, 0.08, 0.12)
TREES, STRIDE = 300, 10
TIMES = np.geomspace(1, 1000, 25)
N_ORDERS = 20
SEARCH_SHARE = 1 / 3  # of the time of a bagged ranker
MAX_MEMBERS = 10


class Fit(NamedTuple):
    """A model of the search."""

    seconds: float  # CPU time
    validation: float
    settings: Settings
    stop: int  # number of trees that is best on the validation part
    scores: np.ndarray  # of the test part


def drawn_settings(n_settings: int) -> Iterator[Settings]:
    yield from FIRST
    rng = np.random.default_rng(0)
    for _ in range(n_settings - len(FIRST)):
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


def search(name: str, fold: Fold, n_settings: int) -> list[Fit]:
    """Return the model of each setting, with its best number of trees."""
    train, validation, test = fold
    fits = []
    for settings in drawn_settings(n_settings):
        seconds, scores_after = timed_fit(name, train, settings)
        stops = list(range(STRIDE, settings.n_estimators + 1, STRIDE))
        values = [
            validation.ndcg(scores).mean()
            for scores in scores_after(validation.X, stops)
        ]
        stop = stops[int(np.argmax(values))]
        (scores,) = scores_after(test.X, [stop])
        fits.append(Fit(seconds, max(values), settings, stop, scores))
    return fits


def in_random_orders(fits: list[Fit]) -> Iterator[list[Fit]]:
    """Yield the models with the first settings first and the others shuffled."""
    n_first, rng = len(FIRST), np.random.default_rng(0)
    for _ in range(N_ORDERS):
        others = n_first + rng.permutation(len(fits) - n_first)
        yield fits[:n_first] + [fits[i] for i in others]


def best_by(fits: list[Fit], seconds: float) -> Fit | None:
    """Return the best of the models that are finished at a time."""
    finished = np.cumsum([fit.seconds for fit in fits]) <= seconds
    done = fits[: int(finished.sum())]
    return max(done, key=lambda fit: fit.validation) if done else None


class Members:
    """Members of bags, each fitted once: their seconds and their scores."""

    def __init__(self, train: Part, test: Part):
        self.train, self.test = train, test
        self.fitted: dict[Settings, list[tuple[float, np.ndarray]]] = {}

    def scores_by(self, best: Fit, seconds: float) -> np.ndarray:
        """Return the mean scores of the best model and of members fitted in a time."""
        settings = replace(best.settings, n_estimators=best.stop)
        fitted = self.fitted.setdefault(settings, [])
        total, n_members = best.scores, 1
        while n_members < MAX_MEMBERS:
            if len(fitted) < n_members:
                member = replace(settings, random_state=n_members)
                spent, scores_after = timed_fit(OURS, self.train, member)
                (scores,) = scores_after(self.test.X, [best.stop])
                fitted.append((spent, scores))
            spent, scores = fitted[n_members - 1]
            seconds -= spent
            if seconds < 0:
                break
            total, n_members = total + scores, n_members + 1
        return total / n_members


def curve(fits: list[Fit], part: Part, members: Members | None) -> np.ndarray:
    """Return NDCG@10 of each query at each time; NaN before the first model.

    With members, the models are found in a part of the time, and bagged in the rest.
    """
    total = np.zeros((len(TIMES), part.n_queries))
    for ordered in in_random_orders(fits):
        for seconds, values in zip(TIMES, total, strict=True):
            share = 1.0 if members is None else SEARCH_SHARE
            best = best_by(ordered, share * seconds)
            if best is None:
                values += np.nan
                continue
            scores = best.scores
            if members is not None:
                scores = members.scores_by(best, (1 - share) * seconds)
            values += part.ndcg(scores)
    return total / N_ORDERS


def measure(parts: list[Part], arguments: argparse.Namespace) -> list[dict]:
    """Return the curves of all libraries on each fold, which are printed as well."""
    records = []
    all_folds = folds(parts)
    for number in arguments.folds:
        fold = all_folds[number]
        relevant = has_relevant([fold.test])
        fits_of: dict[str, list[Fit]] = {}
        for name in arguments.libraries:
            library = OURS if name == BAGGED else name
            if library not in fits_of:
                fits_of[library] = search(library, fold, arguments.settings)
            fits = fits_of[library]
            members = Members(fold.train, fold.test) if name == BAGGED else None
            values = curve(fits, fold.test, members)[:, relevant]
            record = {
                "data": arguments.data.name,
                "fold": number,
                "library": name,
                "settings": arguments.settings,
                "search_seconds": sum(fit.seconds for fit in fits),
                "n_queries": int(relevant.sum()),
                "seconds": TIMES.tolist(),
                "ndcg@10": without_nan(values.mean(axis=1)),
                "last": values[-1].round(5).tolist(),  # of each query
            }
            append_json(arguments.json, [record])
            records.append(record)
            print(f"fold {number}, {name}: {values[-1].mean():.4f}", flush=True)
    return records


def without_nan(values: np.ndarray) -> list[float | None]:
    """Return None for NaN, which JSON does not have."""
    return [None if np.isnan(value) else float(value) for value in values]


def over_folds(records: list[dict]) -> list[dict]:
    """Return one record per library: means over the queries of the folds."""
    result = []
    for name in dict.fromkeys(record["library"] for record in records):
        of_name = [record for record in records if record["library"] == name]
        values = np.array([r["ndcg@10"] for r in of_name], dtype=float)
        sizes = [record["n_queries"] for record in of_name]
        last = np.concatenate([record["last"] for record in of_name])
        search_seconds = np.mean([record["search_seconds"] for record in of_name])
        result.append(
            of_name[0]
            | {
                "n_queries": sum(sizes),
                "search_seconds": float(search_seconds),
                "ndcg@10": without_nan(np.average(values, axis=0, weights=sizes)),
                "last": last,
            }
        )
    return result


def print_table(records: list[dict]) -> None:
    every = slice(0, None, 4)
    print("\nNDCG@10 against CPU seconds of training, one thread")
    times = records[0]["seconds"][every]
    print(f"{'':22}" + "".join(f"{seconds:9.1f}" for seconds in times))
    for record in records:
        shown = record["ndcg@10"][every]
        cells = "".join(f"{v:9.4f}" if v else f"{'-':>9}" for v in shown)
        print(f"{record['library']:22}{cells}")
    best = best_peer(records)
    goal = highest(best)
    needs = first_time(best, goal)
    print(f"\nBest of the peers: {best['library']}, {goal:.4f} after {needs:.0f} s")
    for record in records:
        if record["library"].startswith(OURS):
            difference = record["last"] - best["last"]
            reached = first_time(record, goal)
            share = "never" if reached is None else f"{reached / needs:.2f} of its time"
            print(
                f"{record['library']} reaches it in {share}; at the end "
                f"{difference.mean():+.4f} (standard error {sem(difference):.4f})"
            )


def best_peer(records: list[dict]) -> dict:
    """Return the record of the peer whose curve has the highest point."""
    others = [r for r in records if not r["library"].startswith(OURS)]
    return max(others, key=highest)


def highest(record: dict) -> float:
    """Return the highest point of a curve."""
    return max(value for value in record["ndcg@10"] if value)


def first_time(record: dict, goal: float) -> float | None:
    """Return the first time at which a curve is as high as the goal."""
    pairs = zip(record["seconds"], record["ndcg@10"], strict=True)
    return next((seconds for seconds, v in pairs if v and v >= goal), None)


def draw(records: list[dict], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    for record, color, marker in zip(records, LINES, MARKERS, strict=False):
        is_ours = record["library"].startswith(OURS)
        known = [(t, v) for t, v in zip(record["seconds"], record["ndcg@10"],
                                        strict=True) if v]  # fmt: skip
        axes.plot(
            *zip(*known, strict=True),
            linewidth=2.8 if is_ours else 1.6,
            color=color,
            marker=marker,
            markersize=5,
            label=record["library"],
        )
    axes.set_xscale("log")
    ticks = [1, 3, 10, 30, 100, 300, 1000]
    axes.set_xticks(ticks, [f"{seconds:,} s" for seconds in ticks])
    axes.set_xticks([], minor=True)
    axes.grid(alpha=0.25)
    axes.set(
        title="NDCG@10 after a given time of training and searching",
        xlabel="CPU time of training and searching settings, one thread",
        ylabel=f"NDCG@10 of {records[0]['n_queries']:,} test queries",
    )
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--folds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--settings", type=int, default=60, help="number of settings")
    parser.add_argument("--from-json", type=Path, help="results to draw")
    parser.add_argument("--picture", type=Path)
    peers.add_libraries(parser, LIBRARIES)
    arguments = parser.parse_args()
    if arguments.from_json is not None:
        records = read_json(arguments.from_json)
    else:
        print(machine())
        records = measure(load(arguments.data), arguments)
    records = over_folds(records)
    print_table(records)
    if arguments.picture is not None:
        draw(records, arguments.picture)


if __name__ == "__main__":
    main()
