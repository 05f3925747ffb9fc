"""Seconds of the first import, fit and prediction, from a wheel and from a clone.

    python -m build --wheel && python -m benchmarks.speed.startup --wheel dist/*.whl
    python -m benchmarks.speed.startup --imports OLD NEW

Each fit is that of a new process with an empty cache of kernels; the wheel should be
one with kernels (.ci/kernels_in_wheel.py).  LightGBM's first fit is beside them, and
what each further fit of one process waits for.  With --imports: milliseconds and number
of modules of the import, and of all until a saved ranker has scored one query, of
checkouts, interleaved.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.tools.records import ROOT, append_json, machine, parser_of

CORES = (
    os.sched_getaffinity(0)
    if hasattr(os, "sched_getaffinity")
    else set(range(os.cpu_count() or 1))
)

DATA = """
import hashlib, json, time, warnings
warnings.simplefilter("ignore")
import sklearn.ensemble
import numpy as np
rng = np.random.default_rng(0)
def data(n_queries):
    X = rng.normal(size=(20 * n_queries, 20))
    X[:, 2] = np.abs(X[:, 2] * 3).astype(int)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
    return X, y, np.repeat(np.arange(n_queries), 20)
few, many = data(100), data(600)
start = time.perf_counter()
"""
IMPORT = """
import sklearn_ltr
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
"""
END = """
end = time.perf_counter()
scores = ranker.predict(X)
predicted = time.perf_counter()
digest = hashlib.sha256(np.asarray(scores).tobytes()).hexdigest()
print(json.dumps([begun - start, end - begun, predicted - end, digest]))
"""

# What a process fits first, by name: the estimator and its data
FITS = {
    "symmetric trees": ("LambdaMARTRanker(n_estimators=20)", "few"),
    "best-first trees": ("LambdaMARTRanker(n_estimators=20)", "many"),
    "trees, a category": (
        "LambdaMARTRanker(n_estimators=20, categorical_features=[2])",
        "few",
    ),
    "RankNet": ("RankNetRanker(max_iter=5)", "few"),
    "LambdaRank": ("LambdaRankRanker(max_iter=5)", "few"),
}
DASK = """
import dask.array as da
from dask.distributed import Client
from sklearn_ltr.dask import DaskLambdaMARTRanker
if __name__ == "__main__":
    client = Client(n_workers=1, threads_per_worker=2, dashboard_address=None)
    X, y, groups = few
    begun = time.perf_counter()
    arrays = [da.from_array(a, chunks=(1_000, *a.shape[1:])) for a in (X, y, groups)]
    ranker = DaskLambdaMARTRanker(n_estimators=20, random_state=0)
    ranker.fit(arrays[0], arrays[1], groups=arrays[2])
    end = time.perf_counter()
    print(json.dumps([begun - start, end - begun, 0.0, ""]))
    client.close()
"""
LIGHTGBM = """
import lightgbm
begun = time.perf_counter()
X, y, groups = few
ranker = lightgbm.LGBMRanker(n_estimators=20, verbose=-1)
ranker.fit(X, y, group=np.full(100, 20))
"""
SAVE = """
import os, pickle
import numpy as np
from sklearn_ltr import LambdaMARTRanker
X = np.random.default_rng(0).normal(size=(2_000, 20))
groups = np.repeat(np.arange(100), 20)
ranker = LambdaMARTRanker(random_state=0).fit(X, X[:, 0] > 0, groups=groups)
with open(os.environ["SAVED"], "wb") as file:
    pickle.dump((ranker, X[:20]), file)
print(0)
"""
# What a process does before its first fit, by name
IMPORTS = {
    "import": "import sklearn_ltr",
    "load and predict": """
import os, pickle
with open(os.environ["SAVED"], "rb") as file:
    ranker, X = pickle.load(file)
ranker.predict(X)
""",
}
TIMED = """
import sys, time
n_before, start = len(sys.modules), time.perf_counter()
{}
end, n_modules = time.perf_counter(), len(sys.modules) - n_before
import json
print(json.dumps([1000 * (end - start), n_modules]))
"""


def first(name: str) -> str:
    """Return the program whose first fit is this one."""
    estimator, size = FITS[name]
    fit = f"""
begun = time.perf_counter()
X, y, groups = {size}
ranker = {estimator}.set_params(random_state=0)
ranker.fit(X, y, groups=groups)
"""
    return DATA + IMPORT + fit + END


def in_a_row() -> str:
    """Return the program of a first hour, which prints the seconds of each fit."""
    fits = "".join(
        f"""
begun = time.perf_counter()
X, y, groups = {size}
{estimator}.set_params(random_state=0).fit(X, y, groups=groups).predict(X)
seconds.append(time.perf_counter() - begun)
"""
        for estimator, size in FITS.values()
    )
    return f"{DATA}{IMPORT}seconds = []\n{fits}print(json.dumps(seconds))"


def run(program: str, place: Path, cache: str, n_cores: int, **more: str) -> list:
    """Return what a program prints, run with the package of a place."""
    limit = None
    if hasattr(os, "sched_setaffinity"):  # on Linux
        limit = partial(os.sched_setaffinity, 0, sorted(CORES)[:n_cores])
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "first.py"
        script.write_text(program, "utf-8")
        process = subprocess.run(
            [sys.executable, str(script)],
            env=os.environ
            | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(place)}
            | more,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            preexec_fn=limit,
        )
    return json.loads(process.stdout)


def new_process(cache: str, **environment: str) -> tuple[list[float], str]:
    """Return seconds of import, fit and predict with a cache, and a hash of scores."""
    place = Path(environment.pop("PYTHONPATH", ROOT))
    program = first("symmetric trees")
    *seconds, digest = run(program, place, cache, len(CORES), **environment)
    return seconds, digest


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wheel", type=Path, help="a wheel with kernels")
    parser.add_argument(
        "--imports", type=Path, nargs="+", metavar="CHECKOUT", help="only their imports"
    )
    arguments = parser.parse_args()
    if arguments.imports is not None:
        records = measure_imports(arguments.imports, arguments.rounds)
        print(machine())
        print(f"medians of {arguments.rounds} rounds, milliseconds and modules")
        for record in records:
            print(
                f"{record['what']:<20}{record['place']:<30}"
                f"{record['milliseconds']:8.0f}{record['modules']:8.0f}"
            )
        append_json(arguments.json, records)
        return
    with tempfile.TemporaryDirectory() as unpacked:
        places = {"clone": ROOT}
        if arguments.wheel is not None:
            zipfile.ZipFile(arguments.wheel).extractall(unpacked)
            places["wheel"] = Path(unpacked)
            megabytes = arguments.wheel.stat().st_size / 1e6
            print(f"{arguments.wheel.name}: {megabytes:.1f} MB")
        records = measure(places, arguments.rounds)
    print(machine())
    print(f"medians of {arguments.rounds} rounds, seconds")
    for record in records:
        print(
            f"{record['what']:<24}{record['place']:<10}{record['cores']} cores"
            f"{record['import_s']:8.2f}{record['fit_s']:8.2f}{record['predict_s']:8.2f}"
        )
    append_json(arguments.json, records)


def measure_imports(checkouts: list[Path], rounds: int) -> list[dict]:
    """Return a record of each import, in each checkout."""
    values: dict[tuple, list] = {(n, place): [] for n in IMPORTS for place in checkouts}
    with tempfile.TemporaryDirectory() as folder:
        saved = {place: f"{folder}/{i}.pkl" for i, place in enumerate(checkouts)}
        for place in checkouts:
            run(SAVE, place.resolve(), folder, len(CORES), SAVED=saved[place])
        for _ in range(rounds):
            for (name, place), found in values.items():
                task = TIMED.format(IMPORTS[name]), place.resolve(), folder, len(CORES)
                found.append(run(*task, SAVED=saved[place]))
    return [
        {"what": name, "place": str(place), "cores": len(CORES)}
        | dict(zip(("milliseconds", "modules"), np.median(found, axis=0), strict=True))
        for (name, place), found in values.items()
    ]


def measure(places: dict[str, Path], rounds: int) -> list[dict]:
    """Return a record of each first fit, in each place, with one and all cores."""
    most = len(CORES)
    programs = {name: first(name) for name in FITS} | {"on a Dask cluster": DATA + DASK}
    tasks = {
        (name, place, n_cores): (program, path)
        for name, program in programs.items()
        for place, path in places.items()
        for n_cores in (most, 1)
    }
    tasks["LightGBM", "", most] = DATA + LIGHTGBM + END, ROOT
    seconds: dict[tuple, list] = {task: [] for task in tasks}
    rows: dict[str, list] = {place: [] for place in places}
    for _ in range(rounds):
        for (name, place, n_cores), (program, path) in tasks.items():
            with tempfile.TemporaryDirectory() as cache:
                *values, _ = run(program, path, cache, n_cores)
            seconds[name, place, n_cores].append(values)
        for place, path in places.items():
            with tempfile.TemporaryDirectory() as cache:
                rows[place].append(run(in_a_row(), path, cache, most))
    columns = ("import_s", "fit_s", "predict_s")
    found = [
        {"what": name, "place": place, "cores": n_cores}
        | dict(zip(columns, np.median(values, axis=0).tolist(), strict=True))
        for (name, place, n_cores), values in seconds.items()
    ]
    for place, values in rows.items():
        for name, value in zip(FITS, np.median(values, axis=0), strict=True):
            row = {"what": f"then {name}", "place": place, "cores": most}
            found.append(row | {"import_s": 0.0, "fit_s": value, "predict_s": 0.0})
    return found


if __name__ == "__main__":
    main()
