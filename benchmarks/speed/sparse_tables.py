"""Time, memory and quality of a fit to sparse tables, one row each.

    python -m benchmarks.speed.sparse_tables
    python -m benchmarks.speed.sparse_tables --tables words one-hot --repetitions 1

One-hot columns, words and hashed numbers: made data of one seed, and the words of the
documentation of Python beside the features of ``examples/python_docs.py``.  Each fit is
measured as in `fit.py`, from a CSR matrix, and the libraries take turns.  The last
table is that of the first as categories, in a dense array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, random_array

from benchmarks.tools import peers
from benchmarks.tools.fits import measure_in_turns, seconds_and_fastest
from benchmarks.tools.peers import OURS, Settings
from benchmarks.tools.queries import Part
from benchmarks.tools.records import ROOT, append_runs, machine, parser_of

N_HELD_OUT_ROWS = 20_000
LIST_LENGTH = 20
N_NUMBERS = 20
GRADE_QUANTILES = (0.5, 0.75, 0.9, 0.97)  # shares of the rows up to grades 0 to 3
LIBRARIES = (OURS, "LightGBM", "XGBoost hist", "CatBoost YetiRank")


def one_hot(n_rows: int, n_levels: int, rng) -> tuple[Any, np.ndarray]:
    """Return 20 numbers and three one-hot columns, and a value for each row."""
    codes = rng.integers(n_levels, size=(3, n_rows))
    numbers = rng.normal(size=(n_rows, N_NUMBERS))
    effects = rng.normal(size=(3, n_levels))
    columns = [csr_matrix((np.ones(n_rows), (np.arange(n_rows), c))) for c in codes]
    u = numbers[:, 0] + 0.7 * np.take_along_axis(effects, codes, axis=1).sum(axis=0)
    return hstack([csr_matrix(numbers), *columns]).tocsr(), u


def categories(n_rows: int, n_levels: int, rng) -> tuple[Any, np.ndarray]:
    """Return eight categories and a number, and a value for each row."""
    codes = rng.integers(n_levels, size=(8, n_rows))
    number = rng.normal(size=n_rows)
    effects = rng.normal(size=(8, n_levels))
    u = number + 0.5 * np.take_along_axis(effects, codes, axis=1).sum(axis=0)
    return np.column_stack([*codes, number]).astype(np.float32), u


def words(n_rows: int, n_words: int, rng) -> tuple[Any, np.ndarray]:
    """Return counts of words, whose frequency falls with their rank."""
    share = 1 / np.arange(1, n_words + 1)
    n_drawn = 32  # of a row, with repetitions
    drawn = rng.choice(n_words, size=n_rows * n_drawn, p=share / share.sum())
    rows = np.repeat(np.arange(n_rows), n_drawn)
    X = csr_matrix((np.ones(len(rows)), (rows, drawn)), shape=(n_rows, n_words))
    return X, 0.4 * (X @ rng.normal(size=n_words))


def numbers(n_rows: int, n_columns: int, rng, density: float) -> tuple[Any, np.ndarray]:
    """Return positive numbers in random places."""
    X = random_array(
        (n_rows, n_columns),
        density=density,
        format="csr",
        rng=rng,
        data_sampler=lambda size: rng.exponential(size=size),
    )
    return csr_matrix(X), X @ rng.normal(size=n_columns)


class Table(NamedTuple):
    """A table of `make`, of so many rows to learn from."""

    make: Callable[..., tuple[Any, np.ndarray]]
    n_rows: int
    n_columns: int  # as `make` is given
    n_estimators: int
    is_categorical: bool = False


TABLES = {
    "tiny": Table(one_hot, 2_000, 100, 10),
    "one-hot": Table(one_hot, 100_000, 1_000, 100),
    "wide-one-hot": Table(one_hot, 200_000, 5_000, 50),
    "words": Table(words, 60_000, 10_000, 100),
    "hashed": Table(partial(numbers, density=0.002), 100_000, 20_000, 50),
    "wide-hashed": Table(partial(numbers, density=0.001), 20_000, 50_000, 50),
    "narrow-hashed": Table(partial(numbers, density=0.01), 50_000, 2_000, 50),
    "categories": Table(categories, 400_000, 1_000, 50, is_categorical=True),
}
PYTHON_DOCS, PYTHON_TREES = "python-docs", 100


def made(table: Table) -> tuple[Part, Part]:
    """Return the training rows and the held-out rows of a table."""
    rng = np.random.default_rng(0)
    n_rows = table.n_rows + N_HELD_OUT_ROWS
    X, u = table.make(n_rows, table.n_columns, rng)
    u = u + rng.normal(size=n_rows)
    y = np.digitize(u, np.quantile(u, GRADE_QUANTILES))
    every = Part(X, y, np.arange(n_rows) // LIST_LENGTH)
    return every.subset(slice(table.n_rows)), every.subset(slice(table.n_rows, None))


def python_docs() -> tuple[Part, Part]:
    """Return queries of the documentation of Python, and others that are held out."""
    from sklearn.feature_extraction.text import CountVectorizer

    sys.path.append(str(ROOT / "examples"))
    from python_docs import load_python_docs, read_documents

    data = load_python_docs()
    texts = {d.name: f"{d.module} {d.name} {d.rest}" for d in read_documents()}
    counts = CountVectorizer().fit_transform([texts[name] for name in data.documents])
    X = hstack([csr_matrix(data.data), counts.astype(np.float32)]).tocsr()
    every = Part(X, data.target, data.groups)
    held_out = np.isin(data.groups, np.unique(data.groups)[::4])
    return every.subset(~held_out), every.subset(held_out)


def print_row(name: str, about: dict[str, Any], runs: dict[str, list[dict]]) -> None:
    """Print the medians of each library, and the ratio to the fastest peer."""
    size = "{n_rows:,} x {n_columns:,}, {n_nonzeros:,} nonzeros".format(**about)
    print(f"{name}: {size}, {about['n_estimators']} trees")
    seconds, fastest = seconds_and_fastest(runs)
    for library, results in runs.items():
        peak, ndcg = (
            np.median([r[k] for r in results]) for k in ("peak_mb", "ndcg@10")
        )
        line = f"  {library:20}{seconds[library]:8.2f} s{peak:8.0f} MB{ndcg:9.4f}"
        if fastest is not None:
            line += f"{seconds[fastest] / seconds[library]:8.2f} times"
        print(line, flush=True)


def main() -> None:
    names = [*TABLES, PYTHON_DOCS]
    parser = parser_of(__doc__)
    parser.add_argument("--tables", nargs="+", choices=names, default=names[1:])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=peers.THREADS)
    peers.add_libraries(parser, LIBRARIES)
    arguments = parser.parse_args()

    print(machine())
    print(f"{arguments.threads} threads; seconds, memory above the data, NDCG@10")
    for name in arguments.tables:
        table = TABLES.get(name)
        train, test = python_docs() if table is None else made(table)
        n_trees = PYTHON_TREES if table is None else table.n_estimators
        is_categorical = table is not None and table.is_categorical
        settings = Settings(n_trees, n_threads=arguments.threads)
        categorical = list(range(train.X.shape[1] - 1)) if is_categorical else []
        data = train, test
        runs = measure_in_turns(
            arguments.libraries, *data, settings, arguments.repetitions, categorical
        )
        about = {
            "table": name,
            "n_rows": train.X.shape[0],
            "n_columns": train.X.shape[1],
            "n_nonzeros": int(train.X.size),
            **asdict(settings),
        }
        print_row(name, about, runs)
        append_runs(arguments.json, about, runs)


if __name__ == "__main__":
    main()
