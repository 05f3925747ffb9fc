"""Time of import, first fit and first prediction, with empty and full kernel cache.

    python benchmarks/startup.py

Each round runs two processes: the first finds an empty kernel cache and fills it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from records import append_json, machine, parser_of

FIRST_FIT = """
import hashlib, json, time
import sklearn.ensemble
start = time.perf_counter()
import sklearn_ltr
imported = time.perf_counter()
import numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(2_000, 20))
y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
groups = np.repeat(np.arange(100), 20)
made = time.perf_counter()
ranker = sklearn_ltr.LambdaMARTRanker(n_estimators=20, random_state=0)
ranker.fit(X, y, groups=groups)
fitted = time.perf_counter()
scores = ranker.predict(X)
end = time.perf_counter()
digest = hashlib.sha256(scores.tobytes()).hexdigest()
print(json.dumps([[imported - start, fitted - made, end - fitted], digest]))
"""


def new_process(cache: str, **environment: str) -> tuple[list[float], str]:
    """Return seconds of the import beyond scikit-learn's, of fit and of predict.

    And a hash of the scores.
    """
    process = subprocess.run(
        [sys.executable, "-c", FIRST_FIT],
        env=os.environ | {"NUMBA_CACHE_DIR": cache} | environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return tuple(json.loads(process.stdout))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    cold, warm = [], []
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(new_process(cache)[0])
            warm.append(new_process(cache)[0])
    print(machine())
    print(f"medians of {arguments.rounds} rounds, seconds")
    imported, fit, predict = np.median(warm, axis=0)
    _, cold_fit, cold_predict = np.median(cold, axis=0)
    print(f"import, beyond sklearn.ensemble            {imported:6.2f}")
    print(f"first fit, cache empty                     {cold_fit:6.2f}")
    print(f"first prediction, cache empty              {cold_predict:6.2f}")
    print(f"first fit in a process, cache full         {fit:6.2f}")
    print(f"first prediction in a process, cache full  {predict:6.2f}")
    columns = ("import_s", "fit_s", "predict_s")
    records = [
        {"cache": cache} | dict(zip(columns, seconds, strict=True))
        for cache, rounds in (("empty", cold), ("full", warm))
        for seconds in rounds
    ]
    append_json(arguments.json, records)


if __name__ == "__main__":
    main()
