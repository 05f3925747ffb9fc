"""A long run: many fits, predictions and interrupts, with memory and time kept flat.

    python -m benchmarks.speed.soak
    python -m benchmarks.speed.soak --fits 50 --predictions 10000 --interrupts 5

All estimators are fitted in turn, on data of changing size; small requests are scored
by one model; and fits are interrupted by Ctrl-C at random moments.  Each part is
printed in ten stages: seconds of the stage, resident memory and number of threads at
its end.  After an interrupt the estimator must be as before, and fit as before.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

import numpy as np

from benchmarks.tools.measuring import memory
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

STAGES = 10
MODELS = {
    "LambdaMART": lambda seed: LambdaMARTRanker(n_estimators=10, random_state=seed),
    "LambdaMART, stopped": lambda seed: LambdaMARTRanker(
        n_estimators=20, early_stopping=True, subsample=0.7, random_state=seed
    ),
    "LambdaRank": lambda seed: LambdaRankRanker(max_iter=2, random_state=seed),
    "RankNet": lambda seed: RankNetRanker(max_iter=2, random_state=seed),
    "MARTClassifier": lambda seed: MARTClassifier(n_estimators=10, random_state=seed),
    "MARTRegressor": lambda seed: MARTRegressor(n_estimators=10, random_state=seed),
}


def fit(number: int) -> object:
    """Fit one of the models to data of one of ten sizes."""
    data = make_ranking(20 + 5 * (number // len(MODELS) % 10), random_state=number % 7)
    name = list(MODELS)[number % len(MODELS)]
    model = MODELS[name](number)
    if isinstance(model, MARTClassifier | MARTRegressor):
        y = data.target > 1 if isinstance(model, MARTClassifier) else data.target
        return model.fit(data.data, y)
    return model.fit(data.data, data.target, groups=data.groups)


def requests(n_features: int) -> Callable[[int], None]:
    """Return a function that scores one request of 1 to 20 documents."""
    data = make_ranking(50, n_features=n_features, random_state=0)
    ranker = LambdaMARTRanker(n_estimators=100, random_state=0, n_jobs=1)
    ranker.fit(data.data, data.target, groups=data.groups)
    expected = ranker.predict(data.data)

    def score(number: int) -> None:
        first = 7 * number % (len(expected) - 20)
        rows = slice(first, first + 1 + number % 20)
        if not np.array_equal(ranker.predict(data.data[rows]), expected[rows]):
            raise AssertionError(f"request {number} got other scores")

    return score


def interrupted_fits() -> Callable[[int], None]:
    """Return a function that interrupts a fit, and checks what is left."""
    data = make_ranking(400, n_features=40, random_state=0)
    ranker = LambdaMARTRanker(n_estimators=5, random_state=0)
    ranker.fit(data.data, data.target, groups=data.groups)
    expected = ranker.predict(data.data)
    rng = np.random.default_rng(0)

    def interrupt(number: int) -> None:
        ranker.set_params(n_estimators=2000)
        timer = threading.Timer(
            rng.uniform(0.01, 0.5), lambda: signal.raise_signal(signal.SIGINT)
        )
        timer.start()
        try:
            ranker.fit(data.data, data.target, groups=data.groups)
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError(f"fit {number} was not interrupted")
        finally:
            timer.join()
        ranker.set_params(n_estimators=5)
        if not np.array_equal(ranker.predict(data.data), expected):
            raise AssertionError(f"the model is another after interrupt {number}")

    return interrupt


def run(name: str, call: Callable[[int], object], n_calls: int) -> list[dict]:
    """Call with 0 to n_calls - 1; print and return a row for each stage."""
    rows = []
    for stage in range(STAGES):
        start = time.perf_counter()
        for number in range(n_calls * stage // STAGES, n_calls * (stage + 1) // STAGES):
            call(number)
        row = {
            "part": name,
            "calls": n_calls * (stage + 1) // STAGES,
            "seconds": time.perf_counter() - start,
            "resident_mb": memory("VmRSS"),
            "threads": threading.active_count(),
        }
        rows.append(row)
        print(
            f"{name:12} {row['calls']:>9,} calls {row['seconds']:8.2f} s "
            f"{row['resident_mb']:8.1f} MB {row['threads']:3} threads",
            flush=True,
        )
    return rows


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--fits", type=int, default=500)
    parser.add_argument("--predictions", type=int, default=1_000_000)
    parser.add_argument("--interrupts", type=int, default=50)
    arguments = parser.parse_args()
    print(machine())
    rows = run("fit", fit, arguments.fits)
    rows += run("predict", requests(n_features=40), arguments.predictions)
    rows += run("interrupt", interrupted_fits(), arguments.interrupts)
    append_json(arguments.json, rows)


if __name__ == "__main__":
    main()
