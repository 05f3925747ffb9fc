"""Judged pairs against grades given in the same time: NDCG@10 of the test queries.

    python -m benchmarks.quality.pairs --data mq2008.npz --json RESULTS

A judge has some hours for the documents of the training part of a fold, whose grades
stand for what the judge would say: a pair takes `--seconds-pair`, a grade
`--seconds-grade`.  Pairs and documents to grade are drawn at random from the same
queries, `--depth` of each, until the time is over.  The judge errs: of `--error` of
the pairs the other document is named, and as large a part of the grades is that of a
random document.  Of two documents of equal grade the judge names any, or, in *pairs,
ties said*, says that they are equal: the probability of the pair is 1/2.

Rankers learn from what is judged alone, with default parameters: LambdaMARTRanker and
RankNetRanker from pairs, and from grades; the networks with a StandardScaler. In
*grades and pairs*, half of the time is for grades, and half for pairs of the documents
that were graded, whose swaps weigh by these grades. The metric of a query is its mean
over seeds, of which each has other queries, pairs and errors. Printed is the mean over
all test queries of the five folds, and the difference from LambdaMARTRanker on grades
with its paired standard error over queries.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.tools.paired import paired, with_error
from benchmarks.tools.queries import Part, add_collections, collections, folds
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker, RankNetRanker

ON_GRADES = "LambdaMARTRanker, grades"
Scorer = Callable[[np.ndarray], np.ndarray]


def judge_pairs(
    part: Part, n: int, depth: int, error: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, 2) of which a judge prefers the first, and whether they tie."""
    pairs: list[np.ndarray] = []
    for query in in_turns(part, rng):
        rows = np.flatnonzero(part.groups == query)
        if len(rows) < 2:
            continue
        every = rows[np.stack(np.triu_indices(len(rows), 1), axis=1)]
        pairs.extend(rng.permuted(rng.permutation(every)[:depth], axis=1))
        if len(pairs) >= n:
            break
    found = np.array(pairs[:n])
    first, second = part.y[found].T
    is_wrong = (first < second) ^ (rng.random(len(found)) < error)
    found[is_wrong] = found[is_wrong, ::-1]  # of a tie the order is random already
    return found, first == second


def judge_grades(
    part: Part, n: int, depth: int, error: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows, and the grades that a judge gives them."""
    chosen: list[int] = []
    for query in in_turns(part, rng):
        rows = np.flatnonzero(part.groups == query)
        chosen.extend(rng.permutation(rows)[:depth])
        if len(chosen) >= n:
            break
    rows = np.array(chosen[:n])
    drawn = rng.choice(part.y, len(rows))
    return rows, np.where(rng.random(len(rows)) < error, drawn, part.y[rows])


def in_turns(part: Part, rng: np.random.Generator) -> np.ndarray:
    """Return the queries in random order."""
    return rng.permutation(np.unique(part.groups))


def fits(
    train: Part, n_pairs: int, n_grades: int, given: argparse.Namespace, seed: int
) -> dict[str, Scorer]:
    """Return a function that scores rows, of each ranker and kind of judgement."""
    judged = given.depth, given.error

    def rng() -> np.random.Generator:
        return np.random.default_rng([seed, 0])  # the same queries for all

    pairs, is_tie = judge_pairs(train, n_pairs, *judged, rng())
    rows, grades = judge_grades(train, n_grades, *judged, rng())
    half, half_grades = judge_grades(train, n_grades // 2, *judged, rng())
    graded = train.subset(half)
    graded = graded._replace(groups=np.unique(graded.groups, return_inverse=True)[1])
    among, _ = judge_pairs(graded, n_pairs // 2, *judged, rng())
    options: dict[str, Any] = {"random_state": seed, "n_jobs": 1}
    scaler = StandardScaler().fit(train.X)
    scaled = scaler.transform(train.X)
    of_query = {"groups": train.groups[rows]}

    def network(fitted: RankNetRanker) -> Scorer:
        return lambda X: fitted.predict(scaler.transform(X))

    trees, net = LambdaMARTRanker(None, **options), RankNetRanker(**options)
    own = {"groups": train.groups, "pairs": pairs}
    ties = own | {"pair_probabilities": np.where(is_tie, 0.5, 1.0)}
    both = {"groups": graded.groups, "pairs": among}
    return {
        ON_GRADES: LambdaMARTRanker(**options)
        .fit(train.X[rows], grades, **of_query)
        .predict,
        "LambdaMARTRanker, pairs": trees.fit(train.X, **own).predict,
        "LambdaMARTRanker, pairs, ties said": LambdaMARTRanker(None, **options)
        .fit(train.X, **ties)
        .predict,
        "LambdaMARTRanker, grades and pairs": LambdaMARTRanker(**options)
        .fit(graded.X, half_grades, **both)
        .predict,
        "RankNetRanker, grades": network(
            RankNetRanker(**options).fit(scaled[rows], grades, **of_query)
        ),
        "RankNetRanker, pairs": network(net.fit(scaled, **own)),
        "RankNetRanker, pairs, ties said": network(
            RankNetRanker(**options).fit(scaled, **ties)
        ),
    }


def evaluate(
    parts: list[Part], hours: float, given: argparse.Namespace
) -> dict[str, np.ndarray]:
    """Return NDCG@10 of each test query, the mean over seeds."""
    n_pairs, n_grades = (
        round(3600 * hours / seconds)
        for seconds in (given.seconds_pair, given.seconds_grade)
    )
    values: dict[str, list[np.ndarray]] = {}
    for train, _, test in folds(parts):
        of_seeds: dict[str, list[np.ndarray]] = {}
        for seed in range(given.seeds):
            for name, score in fits(train, n_pairs, n_grades, given, seed).items():
                of_seeds.setdefault(name, []).append(test.ndcg(score(test.X)))
        for name, found in of_seeds.items():
            values.setdefault(name, []).append(np.mean(found, axis=0))
    return {name: np.concatenate(found) for name, found in values.items()}


def main() -> None:
    parser = parser_of(__doc__)
    add_collections(parser)
    parser.add_argument("--hours", nargs="+", type=float, default=[1, 2, 4, 8])
    parser.add_argument("--seconds-pair", type=float, default=15.0)
    parser.add_argument("--seconds-grade", type=float, default=15.0)
    parser.add_argument("--depth", type=int, default=10)
    parser.add_argument("--error", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    print(machine())
    settings = {"seconds_pair": given.seconds_pair, "depth": given.depth}
    settings |= {"seconds_grade": given.seconds_grade, "error": given.error}
    settings |= {"seeds": given.seeds}
    for (name, parts), hours in product(collections(given).items(), given.hours):
        values = evaluate(parts, hours, given)
        n_pairs = round(3600 * hours / given.seconds_pair)
        print(f"{name}: {hours:g} hours, {n_pairs} pairs")
        for ranker, found in values.items():
            gain, error = paired(found, values[ON_GRADES])
            record = {"ranker": ranker, "hours": hours, "ndcg@10": float(found.mean())}
            record |= {"difference": gain, "error_of": error, "data": name}
            row = f"  {ranker:36}{found.mean():8.4f}"
            if ranker != ON_GRADES:
                row += f"{with_error(gain, error):>19}"
            print(row, flush=True)
            append_json(given.json, [record | settings])


if __name__ == "__main__":
    main()
