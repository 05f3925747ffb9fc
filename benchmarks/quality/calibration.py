"""Are the grades that calibrated rankers predict as right as those of pointwise models?

    python -m benchmarks.quality.calibration --data PATH [PATH ...]

Rankers are calibrated by each method (`CalibratedRanker`). Beside them stand pointwise
models, a `MARTRegressor` of grades and a `MARTClassifier` of relevance (grade 1 or
better), as they are, and the regressor calibrated, too. All have default settings; the
test parts of five folds are measured.

- grade: the mean squared error of the expected grade of a document;
- bins, queries: the calibration error, the mean distance of predicted from given grades
  in ten bins of documents by their predicted grade, or in ten bins of queries by their
  mean predicted grade;
- relevant, bins: the same two errors of the probability of relevance;
- NDCG@10 of `predict`, which calibration must not change.

Differences are from the pointwise models, with standard errors: of sums over queries,
and for calibration errors, which are no sums, from 1,000 draws of the queries, the same
for both models.

PATH and the folds are those of `queries.py`; with `--made N` the data are N queries of
`make_ranking`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.tools import peers
from benchmarks.tools.paired import with_error
from benchmarks.tools.queries import (
    NDCG_10,
    Part,
    add_collections,
    collections,
    folds,
    joined,
)
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

N_BINS, N_DRAWS = 10, 1000
SEED = {"random_state": 0, "n_jobs": peers.THREADS}
POINTWISE = "pointwise"
METHODS = ("isotonic", "sigmoid", "query_isotonic")
RANKERS: dict[str, Callable[[], Any]] = {
    "MARTRegressor": lambda: MARTRegressor(**SEED),
    "LambdaMARTRanker": lambda: LambdaMARTRanker(**SEED),
    "no regression": lambda: LambdaMARTRanker(regression_weight=0, **SEED),
    "on MARTRegressor": lambda: LambdaMARTRanker(init=MARTRegressor(**SEED), **SEED),
}
Predicted = dict[str, np.ndarray]  # grade, relevance and score of each document


def pointwise(train: Part, test: Part) -> Predicted:
    """The models of single documents, not calibrated."""
    regressor = MARTRegressor(**SEED).fit(train.X, train.y)
    classifier = MARTClassifier(**SEED).fit(train.X, train.y >= 1)
    grade = regressor.predict(test.X)
    relevance = classifier.predict_proba(test.X)[:, 1]
    return {"grade": grade, "relevance": relevance, "score": grade}


def calibrated(ranker: Any, method: str, train: Part, test: Part) -> Predicted:
    model = train.fit(CalibratedRanker(ranker, method=method))
    return {
        "grade": model.predict_grade(test.X, groups=test.groups),
        "relevance": model.predict_relevance(test.X, groups=test.groups),
        "score": model.predict(test.X),
    }


def predict_all(parts: list[Part], rankers: list[str]) -> dict[tuple[str, str], Any]:
    """Return what each model and method predicts for all test parts."""
    found: dict[tuple[str, str], list[Predicted]] = {}
    for train, _, test in folds(parts):
        found.setdefault((POINTWISE, "none"), []).append(pointwise(train, test))
        for name in rankers:
            for method in METHODS:
                predicted = calibrated(RANKERS[name](), method, train, test)
                found.setdefault((name, method), []).append(predicted)
    return {
        key: {k: np.concatenate([fold[k] for fold in of_folds]) for k in of_folds[0]}
        for key, of_folds in found.items()
    }


def sums_in_bins(
    predicted: np.ndarray, given: np.ndarray, row: np.ndarray, n_rows: int
) -> np.ndarray:
    """Return sums of given - predicted by row and bin: (n_rows, N_BINS)."""
    edges = np.unique(np.quantile(predicted, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    bin_of = np.searchsorted(edges, predicted, side="right")
    sums = np.bincount(row * N_BINS + bin_of, given - predicted, n_rows * N_BINS)
    return sums.reshape(n_rows, N_BINS)


class Measures:
    """Errors of a model on all test queries, and of its differences from another."""

    def __init__(self, y: np.ndarray, query: np.ndarray) -> None:
        self.y, self.query = y, query
        self.sizes = np.bincount(query)
        n = len(self.sizes)
        rng = np.random.default_rng(0)
        self.draws = rng.multinomial(n, np.full(n, 1 / n), N_DRAWS)

    def squared(self, predicted: np.ndarray, given: np.ndarray):
        """Return the mean squared error, and a function of draws of queries."""
        sums = np.bincount(self.query, (predicted - given) ** 2)
        return lambda counts: counts @ sums / (counts @ self.sizes)

    def in_bins(self, predicted: np.ndarray, given: np.ndarray):
        sums = sums_in_bins(predicted, given, self.query, len(self.sizes))
        return lambda counts: np.abs(counts @ sums).sum(-1) / (counts @ self.sizes)

    def of_queries(self, predicted: np.ndarray, given: np.ndarray):
        p, y = (np.bincount(self.query, v) / self.sizes for v in (predicted, given))
        n = len(self.sizes)
        sums = sums_in_bins(p, y, np.arange(n), n)
        return lambda counts: np.abs(counts @ sums).sum(-1) / n

    def of(self, predicted: Predicted) -> dict[str, Callable]:
        """Return the errors, each a function of how often each query counts."""
        grade, relevance, score = predicted.values()
        relevant = (self.y >= 1).astype(float)
        ndcg = NDCG_10.per_query(self.y, score, groups=self.query)
        return {
            "grade": self.squared(grade, self.y),
            "grade bins": self.in_bins(grade, self.y),
            "grade queries": self.of_queries(grade, self.y),
            "relevant": self.squared(relevance, relevant),
            "relevant bins": self.in_bins(relevance, relevant),
            "ndcg@10": lambda counts: counts @ ndcg / len(ndcg),
        }

    def compare(self, ours: Predicted, other: Predicted) -> dict[str, list[float]]:
        """Return each error, its difference from another model's, and its error."""
        one, two = self.of(ours), self.of(other)
        every = np.ones(len(self.sizes))
        found = {}
        for name, error in one.items():
            value = float(error(every))
            drawn = error(self.draws) - two[name](self.draws)
            difference = value - float(two[name](every))
            found[name] = [value, difference, float(drawn.std())]
        return found


def evaluate(parts: list[Part], data: str, rankers: list[str]) -> list[dict]:
    """Print a row for each model, and return what is stored."""
    every = joined(parts)
    measures = Measures(every.y.astype(float), every.groups)
    predicted = predict_all(parts, rankers)
    records = []
    print(f"\n{data}: {every.n_queries} queries, {len(every.y)} documents")
    for (ranker, method), ours in predicted.items():
        found = measures.compare(ours, predicted[POINTWISE, "none"])
        if not records:
            print(f"{'':34}" + "".join(f"{name:>25}" for name in found))
        cells = (f"{v:.4f} {with_error(d, e)}" for v, d, e in found.values())
        print(f"{ranker:18}{method:16}" + "".join(f"{cell:>25}" for cell in cells))
        record = {"data": data, "ranker": ranker, "method": method}
        records.append(record | {"queries": every.n_queries, **found})
    return records


def main() -> None:
    parser = parser_of(__doc__)
    add_collections(parser)
    parser.add_argument("--rankers", nargs="+", choices=RANKERS, default=list(RANKERS))
    arguments = parser.parse_args()
    print(machine())
    for name, parts in collections(arguments).items():
        records = evaluate(parts, name, arguments.rankers)
        append_json(arguments.json, records)


if __name__ == "__main__":
    main()
