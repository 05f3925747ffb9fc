"""What a second thread gains, by the shape of the table: growth of trees, whole fits.

    python -m benchmarks.speed.second_thread
    python -m benchmarks.speed.second_thread --shapes 60000x23 --pairs 20

One process for each shape fits with one thread and with two by turns, after both have
compiled.  Printed are the median milliseconds of a tree while its leaves are split, and
the median seconds of the fit; and how many times as fast two threads are, the median of
the pairs.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.tools import peers
from benchmarks.tools.measuring import in_a_new_process, take_turns
from benchmarks.tools.peers import Settings
from benchmarks.tools.queries import MSLR_LIKE, made_like_mslr
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr._core.trees.growth.grower import TreeGrower

SHAPES = ["243480x136", "183197x23", "61816x136", "60000x23"]
DOCUMENTS = int(MSLR_LIKE["n_documents"])  # of a query


def measure(shape: str, settings: Settings, n_pairs: int) -> dict[str, list[float]]:
    """Return milliseconds of a tree and seconds of a fit; runs in a new process."""
    n_rows, n_features = map(int, shape.split("x"))
    informative = {"n_features": n_features, "n_informative": n_features // 3}
    given = made_like_mslr(n_rows // DOCUMENTS, dtype="float32", **informative)
    split, milliseconds = TreeGrower._split_leaves, list[float]()

    def timed_split(grower: TreeGrower, *arguments: object) -> None:
        start = time.perf_counter()
        split(grower, *arguments)
        milliseconds.append(1e3 * (time.perf_counter() - start))

    TreeGrower._split_leaves = timed_split
    kinds = {n: replace(settings, n_threads=n) for n in (1, 2)}
    trees: dict[str, list[float]] = {"1": [], "2": []}

    def fit(n_threads: int) -> None:
        milliseconds.clear()
        peers.train_sklearn_ltr(*given, kinds[n_threads])
        trees[str(n_threads)].append(float(np.median(milliseconds)))

    calls = {n: partial(fit, n) for n in kinds}
    take_turns(calls, 1)  # compiles
    for of_threads in trees.values():
        of_threads.clear()
    seconds = take_turns(calls, n_pairs)
    return trees | {f"fit {n}": list(found) for n, found in seconds.items()}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--shapes", nargs="+", default=SHAPES, help="rows x features")
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=9, help="of fits in turns")
    arguments = parser.parse_args()
    settings = Settings(n_estimators=arguments.trees)
    print(machine())
    print(f"{'shape':12}{'ms a tree':>18}{'times':>8}{'s a fit':>16}{'times':>8}")
    for shape in arguments.shapes:
        given = shape, settings, arguments.pairs
        found = in_a_new_process(measure, *given)
        row = f"{shape:12}"
        for one, two, width in (("1", "2", 9), ("fit 1", "fit 2", 8)):
            pair = np.array([found[one], found[two]])
            medians = "".join(f"{m:{width}.2f}" for m in np.median(pair, axis=1))
            row += f"{medians}{np.median(pair[0] / pair[1]):8.2f}"
        print(row, flush=True)
        about = {"shape": shape, "n_trees": arguments.trees, "machine": machine()}
        append_json(arguments.json, [about | found])


if __name__ == "__main__":
    main()
