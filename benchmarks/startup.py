"""What a newcomer waits for: import, the first fit ever, the first fit of a process.

    python benchmarks/startup.py

Each round starts from an empty kernel cache, which its second process then finds full.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import peers

FIRST_FIT = """
import json, time
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
sklearn_ltr.LambdaMARTRanker(n_estimators=20).fit(X, y, groups=groups).predict(X)
print(json.dumps([imported - start, time.perf_counter() - made]))
"""


def new_process(cache: str) -> list[float]:
    """Seconds of `import sklearn_ltr` beyond scikit-learn's, and of fit and predict."""
    answer = subprocess.run(
        [sys.executable, "-c", FIRST_FIT],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(answer.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    cold, warm = [], []
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(new_process(cache))
            warm.append(new_process(cache))
    print(peers.machine())
    print(f"medians of {arguments.rounds} rounds, seconds")
    print(f"import, beyond sklearn.ensemble     {np.median(warm, axis=0)[0]:6.2f}")
    print(f"first fit, nothing compiled yet     {np.median(cold, axis=0)[1]:6.2f}")
    print(f"first fit in a process, cache full  {np.median(warm, axis=0)[1]:6.2f}")
    records = [
        {"benchmark": "startup", "cache": cache, "import_s": imported, "fit_s": fitted}
        for cache, rounds in (("empty", cold), ("full", warm))
        for imported, fitted in rounds
    ]
    peers.append_json(arguments.json, records)


if __name__ == "__main__":
    main()
