"""One model of two labels, by weights, beside blends of two models and summed grades.

    python -m benchmarks.quality.several_labels --data PATH --shop 400

Ways to give the second label the share w of what counts:

- weights: one LambdaMARTRanker with ``label_weights=[1 - w, w]``;
- blend: ``(1 - w) s1 + w s2`` of the scores of a model for each label, each divided by
  its mean deviation within queries;
- sum of grades: one model of ``(1 - w) y1 + w y2``, each grade divided by the largest.

Both labels are measured by NDCG@10 on the test parts of five folds. "front" is the area
below the lines between the best points of a way, as a share of the rectangle between
the two models of one label: 1 if a model were best by both, 0.5 if all were on the
straight line between the two. Differences of it are from weights, with standard errors
over 200 draws of the queries.

PATH is that of MQ2008, whose second label is made: the third of the documents of a
query that is highest by PageRank with noise has grade 1, and PageRank is left out of
the features. The shop has N queries of 20 products; clicks come from relevance and
looks, purchases from clicks, price and quality.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.tools.paired import with_error
from benchmarks.tools.peers import THREADS
from benchmarks.tools.queries import Part, folds, load
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
N_DRAWS = 200
PAGE_RANK = 40
WAYS = ("weights", "blend", "sum of grades")


def mq2008(path: Path) -> list[Part]:
    """Return MQ2008 with a second label, in five parts."""
    rng, parts = np.random.default_rng(0), []
    for X, y, groups in load(path):
        wanted = X[:, PAGE_RANK] + 0.2 * rng.standard_normal(len(y))
        popular = np.zeros(len(y))
        for query in range(groups[-1] + 1):
            rows = np.flatnonzero(groups == query)
            best = rows[np.argsort(-wanted[rows])[: len(rows) // 3]]
            popular[best] = 1.0
        features = np.delete(X, PAGE_RANK, axis=1)
        parts.append(Part(features, np.column_stack([y, popular]), groups))
    return parts


def shop(n_queries: int, n_products: int = 20) -> list[Part]:
    """Return clicks and purchases of a shop, in five parts."""
    rng = np.random.default_rng(0)
    size = (n_queries, n_products)
    relevance, looks, price, quality = rng.standard_normal((4, *size))
    chance = 1 / (1 + np.exp(2 - 1.5 * relevance - looks))
    clicks = rng.random(size) < chance
    chance = 1 / (1 + np.exp(1 - 0.3 * relevance + 1.5 * price - quality))
    bought = clicks & (rng.random(size) < chance)
    seen = [c + 0.5 * rng.standard_normal(size) for c in (relevance, looks, quality)]
    noise = rng.standard_normal((4, *size))
    X = np.stack([*seen, price, *noise], axis=-1)
    Y = np.stack([clicks, bought], axis=-1).astype(float)
    parts = []
    for number in range(5):
        own = np.arange(n_queries) % 5 == number
        groups = np.repeat(np.arange(own.sum()), n_products)
        parts.append(
            Part(X[own].reshape(-1, X.shape[-1]), Y[own].reshape(-1, 2), groups)
        )
    return parts


def fitted_scores(train: Part, y: np.ndarray, X: np.ndarray, weights=None):
    model = LambdaMARTRanker(random_state=0, n_jobs=THREADS, label_weights=weights)
    return train._replace(y=y).fit(model).predict(X)


def deviation(scores: np.ndarray, groups: np.ndarray) -> float:
    """Return the mean standard deviation of scores within queries."""
    sizes = np.bincount(groups)
    means = np.bincount(groups, scores) / sizes
    squares = np.bincount(groups, (scores - means[groups]) ** 2) / sizes
    return float(np.sqrt(squares).mean())


def scores_of(train: Part, X: np.ndarray, groups: np.ndarray):
    """Return the scores of each way at each share: {way: (n_shares, n_documents)}."""
    ends = [fitted_scores(train, train.y[:, label], X) for label in (0, 1)]
    scaled = [scores / deviation(scores, groups) for scores in ends]
    units = train.y / train.y.max(axis=0)
    found: dict[str, list[np.ndarray]] = {way: [] for way in WAYS}
    for w in SHARES:
        if w in (0.0, 1.0):
            for way in WAYS:
                found[way].append(ends[int(w)])
            continue
        weights = [1 - w, w]
        found["weights"].append(fitted_scores(train, train.y, X, weights))
        found["blend"].append((1 - w) * scaled[0] + w * scaled[1])
        found["sum of grades"].append(fitted_scores(train, units @ weights, X))
    return found


def front(points: np.ndarray) -> float:
    """Return the share of the rectangle below the front of (n_shares, 2) points."""
    low = np.array([points[-1, 0], points[0, 1]])
    high = np.array([points[0, 0], points[-1, 1]])
    inside = np.maximum((points - low) / (high - low), 0.0)
    inside = inside[np.argsort(-inside[:, 0], kind="stable")]  # best by label 1 first
    reached = np.maximum.accumulate(inside[:, 1])
    best = np.append(True, np.diff(reached) > 0)
    x, y = np.append(inside[best, 0], 0.0), np.append(reached[best], reached[-1])
    return float((-np.diff(x) * (y[1:] + y[:-1]) / 2).sum())


def evaluate(parts: list[Part], data: str) -> list[dict]:
    """Print a row for each point, and return what is stored."""
    values: dict[str, list[np.ndarray]] = {way: [] for way in WAYS}
    for train, _, test in folds(parts):
        of_labels = [test._replace(y=y) for y in test.y.T]
        scores = scores_of(train, test.X, test.groups)
        for way, of_shares in scores.items():
            found = [[label.ndcg(s) for label in of_labels] for s in of_shares]
            values[way].append(np.array(found))  # (n_shares, 2, n_queries)
    every = {way: np.concatenate(found, axis=-1) for way, found in values.items()}
    n = every["weights"].shape[-1]
    draws = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), N_DRAWS) / n
    drawn = {
        way: np.array([front(v @ draw) for draw in draws]) for way, v in every.items()
    }
    records = []
    print(f"\n{data}: {n} queries")
    for way, found in every.items():
        area = front(found.mean(-1))
        difference = area - front(every["weights"].mean(-1))
        error = float((drawn[way] - drawn["weights"]).std())
        print(f"{way}: front {area:.3f}, {with_error(difference, error, 3)}")
        means = found.mean(-1)
        errors = found.std(-1, ddof=1) / np.sqrt(n)
        for w, mean, own in zip(SHARES, means, errors, strict=True):
            cells = (f"{m:.4f} ({e:.4f})" for m, e in zip(mean, own, strict=True))
            print(f"  {w:<5}", *cells)
        record = {"data": data, "queries": n, "way": way, "shares": SHARES}
        record |= {"means": means.tolist(), "errors": errors.tolist()}
        records.append(record | {"front": [area, difference, error]})
    return records


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--shop", type=int, metavar="QUERIES")
    arguments = parser.parse_args()
    print(machine())
    collections = {}
    if arguments.data is not None:
        collections["MQ2008"] = mq2008(arguments.data)
    if arguments.shop is not None:
        collections["shop"] = shop(arguments.shop)
    for name, parts in collections.items():
        append_json(arguments.json, evaluate(parts, name))


if __name__ == "__main__":
    main()
