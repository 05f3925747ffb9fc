"""Hybrid search: BM25 and vectors joined by fusion, by hand, and by rankers.

    python -m benchmarks.quality.hybrid --data FOLDER --json results.jsonl

FOLDER has the Cranfield collection as cran.all, cran.qry and cranqrel. Candidates of a
query are the 100 best by BM25 and the 100 best by vectors (latent semantic analysis
with 100 dimensions). Fifteen columns describe a query and a candidate, among them the
two scores. Rankers have their defaults, and networks a TableVectorizer before them.
Printed is NDCG@10 over held-out queries in five folds, minus reciprocal rank fusion,
with paired standard errors; then the same by the number of judged queries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import sklearn
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from benchmarks.tools.paired import minus
from benchmarks.tools.peers import FITS, Settings
from benchmarks.tools.queries import Part, joined
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker, reciprocal_rank_fusion
from sklearn_ltr.preprocessing import TableVectorizer

N_CANDIDATES, N_DIMENSIONS = 100, 100
GRADE = {1: 4, 2: 3, 3: 2, 4: 1, 5: 0}  # of Cranfield's codes, -1 for all others: 1
COUNTS = (10, 20, 40, 70, 110)
BM25, VECTORS = 0, 3  # columns
FUSION = "reciprocal rank fusion"


# --- the collection ---------------------------------------------------------------


def records_of(path: Path) -> Iterator[dict[str, str]]:
    """Yield the fields of each record of a file with lines such as ".I 1" and ".W"."""
    for record in re.split(r"^\.I .*\n", path.read_text("latin-1"), flags=re.M)[1:]:
        parts = re.split(r"^\.([A-Z])\s*\n", record, flags=re.M)
        yield dict(zip(parts[1::2], parts[2::2], strict=True))


def judgements(path: Path) -> dict[tuple[int, int], int]:
    """Return the grades by the numbers, from 0, of query and document."""
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    return {
        (int(query) - 1, int(document) - 1): GRADE.get(int(code), 1)
        for query, document, code in lines
    }


def counter(**options) -> CountVectorizer:
    words = sorted(ENGLISH_STOP_WORDS)
    return CountVectorizer(token_pattern="[a-z0-9]+", stop_words=words, **options)


def bm25(counts: csr_matrix, queries: csr_matrix, k1=1.2, b=0.75) -> np.ndarray:
    """Return the score of each query and document."""
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    in_documents = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log1p((len(lengths) - in_documents + 0.5) / (in_documents + 0.5))
    norm = k1 * (1 - b + b * lengths / max(lengths.mean(), 1e-9))
    weights = counts.astype(np.float64)
    rows = np.repeat(np.arange(len(lengths)), np.diff(counts.indptr))
    weights.data *= (k1 + 1) / (weights.data + norm[rows])
    return ((queries > 0).multiply(idf).tocsr() @ weights.T.tocsr()).toarray()


def columns_of(folder: Path) -> tuple[np.ndarray, int, int]:
    """Return (15, n_queries, n_documents) numbers."""
    documents = list(records_of(folder / "cran.all"))
    titles = [document.get("T", "") for document in documents]
    texts = [f"{d.get('T', '')} {d.get('W', '')}" for d in documents]
    asked = [record["W"] for record in records_of(folder / "cran.qry")]
    words = counter().fit(texts)
    body, title, query = map(words.transform, (texts, titles, asked))
    n_documents = body.shape[0]
    of_word = np.bincount(body.indices, minlength=body.shape[1])
    idf = np.log1p((n_documents - of_word + 0.5) / (of_word + 0.5))
    lexical, has_word = bm25(body, query), (query > 0).astype(float)
    tfidf = normalize(body.astype(float).log1p().multiply(idf).tocsr())
    of_query = normalize(query.astype(float).multiply(idf).tocsr())
    svd = TruncatedSVD(N_DIMENSIONS, random_state=0).fit(tfidf)
    vectors = normalize(svd.transform(of_query)) @ normalize(svd.transform(tfidf)).T
    pairs = counter(ngram_range=(2, 2)).fit(texts)
    two_words = (pairs.transform(asked) > 0).astype(float) @ (
        pairs.transform(texts) > 0
    ).astype(float).T
    shared = (has_word @ (body > 0).astype(float).T).toarray()
    counted = (has_word @ body.astype(float).T).toarray()
    lengths = np.asarray(body.sum(axis=1)).ravel().astype(float)
    asked_words = np.asarray(query.sum(axis=1)).astype(float)
    n_words = np.asarray(has_word.sum(axis=1))

    def ranks(scores: np.ndarray) -> np.ndarray:
        return np.argsort(np.argsort(-scores, axis=1), axis=1)

    columns = [
        lexical, bm25(title, query), (of_query @ tfidf.T).toarray(), vectors,
        two_words.toarray(), shared,
        (has_word.multiply(idf).tocsr() @ (body > 0).astype(float).T).toarray(),
        counted, lengths[np.newaxis], asked_words, shared / np.maximum(n_words, 1),
        lexical / np.maximum(lexical.max(axis=1, keepdims=True), 1e-9),
        ranks(lexical), ranks(vectors), counted / np.maximum(lengths, 1),
    ]  # fmt: skip
    shape = lexical.shape
    return np.stack([np.broadcast_to(column, shape) for column in columns])


def load(folder: Path) -> list[Part]:
    """Return the candidates of each query with a relevant one, a query a part."""
    columns, grades = columns_of(folder), judgements(folder / "cranqrel")
    parts = []
    for query in range(columns.shape[1]):
        of_query = columns[:, query]
        best = (np.argsort(-of_query[c])[:N_CANDIDATES] for c in (BM25, VECTORS))
        found = np.union1d(*best)
        y = np.array([grades.get((query, int(d)), 0) for d in found])
        if y.any():
            parts.append(Part(of_query[:, found].T, y, np.zeros(len(found), int)))
    return parts


# --- what ranks them --------------------------------------------------------------


def fusion(part: Part) -> np.ndarray:
    scores = [part.X[:, column] for column in (BM25, VECTORS)]
    return reciprocal_rank_fusion(scores, groups=part.groups)


def weighted(share: float, part: Part) -> np.ndarray:
    """Both scores divided by their standard deviation within the query, and added."""
    total = np.zeros(len(part.y))
    for column, weight in ((BM25, share), (VECTORS, 1 - share)):
        for query in np.unique(part.groups):
            rows = part.groups == query
            total[rows] += weight * part.X[rows, column] / part.X[rows, column].std()
    return total


def learned(ranker, columns, train: Part, test: Part) -> np.ndarray:
    ranker = train._replace(X=train.X[:, columns]).fit(sklearn.clone(ranker))
    return ranker.predict(test.X[:, columns])


def by_peer(name: str, train: Part, test: Part) -> np.ndarray:
    settings = Settings(n_threads=1)  # whose other values are our defaults
    return FITS[name](*train, settings)(test.X, [settings.n_estimators])[0]


def unlearned(score: Callable[[Part], np.ndarray], _: Part, test: Part) -> np.ndarray:
    return score(test)


def network(**options):
    ranker = LambdaRankRanker(random_state=0, n_jobs=1, **options)
    return make_pipeline(TableVectorizer(), ranker)


EVERY = slice(None)
TREES = LambdaMARTRanker(random_state=0, n_jobs=1)
# BlendedRanker(), in one thread
BLEND = BlendedRanker([BaggingRanker(TREES, 5, random_state=0), network()])
WAYS: dict[str, Callable[[Part, Part], np.ndarray]] = {
    FUSION: partial(unlearned, fusion),
    "BM25": partial(unlearned, lambda part: part.X[:, BM25]),
    "vectors": partial(unlearned, lambda part: part.X[:, VECTORS]),
    "half and half": partial(unlearned, partial(weighted, 0.5)),
    "0.7 BM25, 0.3 vectors": partial(unlearned, partial(weighted, 0.7)),
    "two weights learned": partial(
        learned, network(hidden_layer_sizes=()), [BM25, VECTORS]
    ),
    "linear, 15 columns": partial(learned, network(hidden_layer_sizes=()), EVERY),
    "LambdaRankRanker": partial(learned, network(), EVERY),
    "LambdaMARTRanker": partial(learned, TREES, EVERY),
    "BlendedRanker": partial(learned, BLEND, EVERY),
    "LightGBM": partial(by_peer, "LightGBM"),
    "CatBoost": partial(by_peer, "CatBoost symmetric"),
}
CURVES = ["half and half", "two weights learned", "LambdaMARTRanker", "BlendedRanker"]


def measure(parts: list[Part], seeds: int, n_judged: int | None) -> dict:
    """Return NDCG@10 of each query, the mean over seeds, by what ranked it."""
    values: dict[str, np.ndarray] = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        fold = rng.permutation(len(parts)) % 5
        for test_fold in range(5):
            tested = np.flatnonzero(fold == test_fold)
            others = rng.permutation(np.flatnonzero(fold != test_fold))
            train = joined([parts[q] for q in np.sort(others[:n_judged])])
            test = joined([parts[q] for q in tested])
            for name in WAYS if n_judged is None else [FUSION, *CURVES]:
                found = test.ndcg(WAYS[name](train, test))
                of_way = values.setdefault(name, np.zeros(len(parts)))
                of_way[tested] += found / seeds
    return values


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    sklearn.set_config(enable_metadata_routing=True)
    print(machine())
    parts = load(arguments.data)
    sizes = [len(part.y) for part in parts]
    print(f"{len(parts)} queries, {np.mean(sizes):.0f} candidates in the mean")
    for n_judged in (None, *COUNTS):
        values = measure(parts, arguments.seeds, n_judged)
        print(f"\n{n_judged or 'four fifths of the'} judged queries")
        print(f"{'':24}{'NDCG@10':>8}   minus {FUSION}")
        for name, of_way in values.items():
            difference = minus(of_way, values[FUSION])
            print(f"{name:24}{of_way.mean():8.4f}   {difference}")
        append_json(
            arguments.json,
            [
                {"data": arguments.data.name, "judged": n_judged, "way": name,
                 "seeds": arguments.seeds, "ndcg@10": of_way.round(5).tolist()}
                for name, of_way in values.items()
            ],
        )  # fmt: skip


if __name__ == "__main__":
    main()
